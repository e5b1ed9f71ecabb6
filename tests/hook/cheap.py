"""cheap.py - recording statistics and digests in place of tensors, tensors of devices, and what is told about mistakes and cost.

Usage: cheap.py WORK_DIR ASSAY
"""
import json
import os
import re
import shutil
import subprocess
import sys

import numpy
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import assay_hook  # noqa: E402
import tfevents  # noqa: E402
from assay_hook import Collection, ReductionConfig, SaveConfig, modes  # noqa: E402
from assay_recording import devices  # noqa: E402

WORK, ASSAY = sys.argv[1:3]
X = numpy.array([[-1.5, 2.0, 0.25], [4.0, -3.0, 0.5]], numpy.float32)
EVERY = dict(save_config=SaveConfig(save_interval=1))
KEPT = {"min", "max", "mean", "std", "l1", "l2", "abs_max", "abs_mean"}


def fresh(name="trial"):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def saved(step, name):
    """The reductions of a tensor, by their names."""
    found = {}
    for tag, (_, value) in step.tensors.items():
        if tag.startswith("smdebug/reductions/") and tag.split("/", 3)[3] == name:
            found[tag.split("/")[2]] = float(value)
    return found


def figures(x):
    x = x.astype(numpy.float64)
    return {"min": x.min(), "max": x.max(), "mean": x.mean(), "std": x.std(), "l1": numpy.abs(x).sum(), "l2": numpy.sqrt((x * x).sum()),
            "abs_max": numpy.abs(x).max(), "abs_mean": numpy.abs(x).mean()}


def expect_figures(got, x, tolerance=1e-6):
    assert set(got) == KEPT, got
    for name, wanted in figures(x).items():
        assert numpy.isclose(got[name], wanted, rtol=tolerance, atol=1e-12, equal_nan=True), (name, got[name], wanted)


def histograms(path):
    import glob
    found = {}
    for name in glob.glob(os.path.join(path, "tensorboard", "*", "events.out.tfevents.*")):
        with open(name, "rb") as file:
            for _, _, payload, _ in tfevents.records(file.read(), name):
                event = tfevents.Event.FromString(payload)
                found.update({(event.step, v.tag): v.histo for v in event.summary.value})
    return found


def test_statistics():
    """Statistics and a histogram of weights, losses as they are."""
    path = fresh()
    hook = assay_hook.Hook(path, include_collections=[Collection("weights", record="statistics")], **EVERY)
    rng = numpy.random.default_rng(1)
    values = {"net.weight": X, "wide.weight": rng.normal(0, 1, 20000), "half.weight": X.astype(numpy.float16),
              "tiny.weight": numpy.array([0.0, -0.0, 1e-13, -1e-13, 1e-12, -1e25, 1e25, 1e20, -1e-40], numpy.float64),
              "nan.weight": numpy.array([1, numpy.nan], numpy.float32)}
    hook.step()
    for name, value in values.items():
        hook.save_tensor(name, value, ())
    hook.save_tensor("loss_output_0", numpy.float32(2), ())
    hook.close()
    (step,) = tfevents.Trial(path).steps.values()
    assert not set(values) & set(step.tensors) and step.tensors["loss_output_0"][1] == 2
    shown = histograms(path)
    assert set(shown) == {(0, "weights/" + n) for n in values if n != "nan.weight"}, set(shown)
    for name, value in values.items():
        expect_figures(saved(step, name), value, 1e-6)
        assert step.shapes[name] == list(value.shape)
        if name != "nan.weight":
            histogram = shown[0, "weights/" + name]
            limits, wide = list(histogram.bucket_limit), value.astype(numpy.float64).reshape(-1)
            counts = numpy.bincount(numpy.searchsorted(limits, wide, side="right"), minlength=len(limits))
            assert limits == sorted(limits) and counts.tolist() == list(histogram.bucket), (name, limits, counts, histogram.bucket)


def test_statistics_and_more():
    """Reductions that were asked for besides, and the tensor itself; a collection without a histogram writes none."""
    path = fresh()
    hook = assay_hook.Hook(path, include_collections=["weights"], **EVERY)
    hook.add_collection(Collection("weights", record="statistics", save_histogram=False,
                                   reduction_config=ReductionConfig(["prod"], ["min"], save_raw_tensor=True)))
    hook.step()
    hook.save_tensor("net.weight", X, ())
    hook.close()
    (step,) = tfevents.Trial(path).steps.values()
    got = saved(step, "net.weight")
    assert set(got) == KEPT | {"prod", "abs_min"} and (step.tensors["net.weight"][1] == X).all()
    assert numpy.isclose(got["prod"], X.astype(float).prod()) and got["abs_min"] == 0.25
    assert not os.path.exists(os.path.join(path, "tensorboard"))


def test_digests():
    """Equal tensors have equal digests, and only they; of a tensor with one value it is negative."""
    path = fresh()
    hook = assay_hook.Hook(path, record="digest", include_collections=["weights"], **EVERY)
    other = X.copy()
    other[1, 2] = numpy.nextafter(other[1, 2], 1, dtype=numpy.float32)
    values = {"a.weight": X, "b.weight": X.copy(), "c.weight": other, "d.weight": X.reshape(3, 2), "e.weight": X.view(numpy.int32),
              "f.weight": numpy.zeros((2, 3), numpy.float32), "g.weight": numpy.ones((2, 3), numpy.float32)}
    hook.step()
    for name, value in values.items():
        hook.save_tensor(name, value, ())
    hook.save_tensor("loss_output_0", numpy.float32(2), ())
    hook.close()
    (step,) = tfevents.Trial(path).steps.values()
    assert set(step.tensors) == {"assay/digest/" + n for n in values} | {"loss_output_0"}
    digest = {name: int(step.tensors["assay/digest/" + name][1]) for name in values}
    assert digest["a.weight"] == digest["b.weight"] and len(set(digest.values())) == len(values) - 1, digest
    assert {n for n, d in digest.items() if d < 0} == {"f.weight", "g.weight"}


def mistake(make, *said):
    try:
        make()
    except ValueError as error:
        for text in said:
            assert text in str(error), error
    else:
        raise SystemExit("%s was taken" % (said,))


def test_mistakes_are_told_with_what_was_meant():
    hook_with = lambda **arguments: lambda: assay_hook.Hook(fresh(), **arguments)  # noqa: E731
    mistake(hook_with(include_collections=["weigths"]), 'no collection "weigths"', 'did you mean "weights"?')
    mistake(hook_with(include_collections=["gradient"]), 'did you mean "gradients"?')
    mistake(hook_with(queue_memroy=1 << 20), "queue_memroy", 'did you mean "queue_memory"?')
    mistake(hook_with(record="statistic"), 'did you mean "statistics"?', "raw, statistics or digest")
    mistake(hook_with(record="everything"), "raw, statistics or digest")
    mistake(hook_with(include_collections=[Collection("weights", record="digets")]), "weights: record", 'did you mean "digest"?')
    mistake(hook_with(save_config={"TRIAN": {"save_interval": 1}}), 'no mode "TRIAN"', 'did you mean "TRAIN"?')
    mistake(hook_with(**{"trian.save_interval": 1}), 'no mode "trian"', 'did you mean "train"?')
    mistake(hook_with(**{"train.save_intervall": 1}), 'did you mean "save_interval"?')
    hook = assay_hook.Hook(fresh())
    mistake(lambda: hook.get_collection("weigths"), 'did you mean "weights"?')
    hook.close()
    config = os.path.join(WORK, "config.json")
    for collections, said in (([{"CollectionName": "weigths"}], 'did you mean "weights"?'),
                              ([{"CollectionName": "weights", "CollectionParameters": {"record": "digst"}}], '"digest"?')):
        with open(config, "w") as file:
            json.dump({"LocalPath": fresh(), "CollectionConfigurations": collections}, file)
        mistake(hook_with(config_file=config), said)
    # A name of one's own may be like a built-in one if it has patterns, or is a word of its own.
    for names in ([Collection("weight", include_regex=["kernel"])], ["layers", "loss", "mine"]):
        assay_hook.Hook(fresh(), include_collections=names).close()


def test_interval_may_change():
    path = fresh()
    hook = assay_hook.Hook(path, include_collections=["weights"], **EVERY)
    hook.set_mode(modes.TRAIN)
    for step in range(10):
        hook.step()
        hook.save_tensor("net.weight", X, ())
        hook.save_tensor("loss_output_0", numpy.float32(step), ())
        if step == 3:
            hook.set_interval("weights", 3)
    hook.close()
    trial = tfevents.Trial(path)
    steps = lambda name: [step for (step, _), s in sorted(trial.steps.items()) if name in s.tensors]  # noqa: E731
    assert steps("net.weight") == [0, 1, 2, 3, 6, 9] and steps("loss_output_0") == list(range(10))
    assert trial.collections["worker_0"]["collections"]["weights"]["save_config"]["TRAIN"]["save_interval"] == 3


class Slow:
    """A device whose copies are not done before somebody waits for them: the CPU stands in for it."""

    waited = 0

    def __init__(self, device):
        assert device.type == "cpu"

    def host(self, tensor):
        return torch.full(tensor.shape, 7, dtype=tensor.dtype)

    def start(self, tensor, host):
        class Copied:
            @staticmethod
            def synchronize():
                Slow.waited += 1
                host.copy_(tensor)
        return Copied


def test_devices():
    """What the training changes after it was saved is recorded as it was, in its own step; statistics are taken on the device."""
    devices.COPIERS["cpu"] = Slow
    path = fresh()
    hook = assay_hook.Hook(path, include_collections=["weights", Collection("gradients", record="statistics"),
                                                      Collection("biases", record="digest")], **EVERY)
    hook._host = "none"
    tensors = {"net.weight": torch.from_numpy(X.copy()), "gradient/net.weight": torch.from_numpy(X.copy()),
               "gradient/half": torch.tensor([1.0, -2.0, 0.5]).half(), "gradient/ints": torch.tensor([3, -4]),
               "gradient/one": torch.tensor([2.5]), "gradient/nan": torch.tensor([1.0, float("nan")]),
               "net.bias": torch.from_numpy(X[0].copy()), "turned.weight": torch.from_numpy(X.copy()).t()}
    for _ in range(2):
        hook.step()
        for name, tensor in tensors.items():
            hook.save_tensor(name, tensor, ())
        hook.save_tensor("unwanted", tensors["net.weight"], ())
        assert Slow.waited == 0 or _ == 1
        tensors["net.weight"].add_(1)
        tensors["gradient/net.weight"].mul_(2)
    counts = hook.counts()
    hook.close()
    del devices.COPIERS["cpu"]
    trial = tfevents.Trial(path)
    assert counts["errors"] == 0 and Slow.waited == 2 * len(tensors) and len(trial.steps) == 2
    for number in range(2):
        step = trial.steps[number, "worker_0"]
        assert (step.tensors["net.weight"][1] == X + number).all() and (step.tensors["turned.weight"][1] == X.T).all()
        assert "unwanted" not in step.tensors and "gradient/net.weight" not in step.tensors
        expect_figures(saved(step, "gradient/net.weight"), X * (1 + number))
        expect_figures(saved(step, "gradient/half"), numpy.array([1.0, -2.0, 0.5]))
        expect_figures(saved(step, "gradient/ints"), numpy.array([3, -4]))
        expect_figures(saved(step, "gradient/one"), numpy.array([2.5]))
        assert numpy.isnan(saved(step, "gradient/nan")["max"]) and "assay/digest/net.bias" in step.tensors


def test_one_line_at_the_end():
    code = ("import sys, numpy, assay_hook\n"
            "hook = assay_hook.Hook(sys.argv[1], include_collections=['weights'], save_config=assay_hook.SaveConfig(save_interval=2),\n"
            "                       queue_memory=65536, queue_policy='drop')\n"
            "for _ in range(4):\n"
            "    hook.step(); hook.save_tensor('net.weight', numpy.ones(int(sys.argv[2])))\n"
            "hook.close()\n")
    for size, dropped in ((10, "nothing dropped"), (1 << 20, "2 tensors dropped")):
        done = subprocess.run([sys.executable, "-c", code, fresh(), str(size)], stderr=subprocess.PIPE, text=True, check=True)
        assert re.fullmatch(r"assay: \S+/trial: recorded 2 of 4 GLOBAL steps \(every 2nd\), as configured \(no report can judge the "
                            r"rest\): \d+ records? of \d steps?, [\d.]+ \w+; %s; cost [\d.]+ s of [\d.]+ s, and [\d.]+ s in a "
                            r"background thread\n" % dropped, done.stderr), done.stderr


def record_workers(form, odd):
    """Two workers with the same weights, one of which goes astray at step 2, and a bias that both have as zeros."""
    path = fresh()
    kept = assay_hook._rank_and_workers
    hooks = []
    for rank in range(2):
        hooks.append(assay_hook.Hook(path, include_collections=["weights", "biases"], record=form, include_workers="all",
                                     rank_and_workers=(rank, 2), **EVERY))
    rng = numpy.random.default_rng(5)
    frozen = rng.normal(0, 1, 50).astype(numpy.float32)
    for step in range(4):
        weight = rng.normal(0, 1, (20, 5)).astype(numpy.float32)
        for rank, hook in enumerate(hooks):
            hook.set_mode(modes.TRAIN)
            hook.step()
            astray = weight + (numpy.float32(1e-3) if rank == 1 and odd and step >= 2 else 0)
            hook.save_tensor("net.weight", astray, ())
            hook.save_tensor("still.weight", frozen, ())
            hook.save_tensor("net.bias", numpy.zeros(7, numpy.float32) + (rank if step == 3 else 0), ())
    for hook in hooks:
        hook.close()
    assert assay_hook._rank_and_workers is kept
    return path


def verdicts(path):
    job = os.path.join(WORK, "job.json")
    with open(job, "w") as file:
        json.dump({"trials": [path], "rules": [{"rule": "ReplicaDivergence"}, {
            "rule": "UnchangedTensor", "parameters": {"collection_names": "weights", "only_trained": True}}]}, file)
    out = fresh("report")
    done = subprocess.run([ASSAY, "run", job, "--out", out, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode in (0, 1), done
    with open(os.path.join(out, "report.json")) as file:
        report = json.load(file)["trials"][0]
    return {rule["rule"]: [(f["step"], f["tensor"], f["worker"]) for f in rule.get("findings", [])] for rule in report["rules"]}


def test_rules_read_digests():
    """Rules that compare for equality find the same in digests as in the tensors."""
    raw = verdicts(record_workers("raw", True))
    assert raw["ReplicaDivergence"] == [(2, "net.weight", "worker_1"), (3, "net.weight", "worker_1")], raw
    assert raw["UnchangedTensor"] == [(step, "still.weight", "worker_%d" % w) for step in (2, 3) for w in (0, 1)], raw
    assert verdicts(record_workers("digest", True)) == raw
    assert verdicts(record_workers("digest", False)) == dict(raw, ReplicaDivergence=[])


def test_rules_read_statistics():
    """Rules that can do with saved reductions find a gradient that explodes."""
    path = fresh()
    hook = assay_hook.Hook(path, include_collections=[Collection("gradients", record="statistics")], **EVERY)
    for step in range(3):
        hook.step()
        hook.save_tensor("gradient/net.weight", X * (numpy.inf if step == 2 else 1), ())
    hook.close()
    job = os.path.join(WORK, "job.json")
    with open(job, "w") as file:
        json.dump({"trials": [path], "rules": [
            {"rule": "ExplodingTensor", "parameters": {"collection_names": "gradients"}}]}, file)
    out = fresh("report")
    subprocess.run([ASSAY, "run", job, "--out", out, "--quiet"], stdout=subprocess.DEVNULL)
    with open(os.path.join(out, "report.json")) as file:
        (rule,) = json.load(file)["trials"][0]["rules"]
    assert [f["step"] for f in rule["findings"]] == [2], rule


def main():
    os.makedirs(WORK, exist_ok=True)
    torch.set_num_threads(1)
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    for name, test in tests:
        test()
        print("passed " + name)
    sys.exit(0 if len(tests) >= 9 else 1)


if __name__ == "__main__":
    main()
