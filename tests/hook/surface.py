"""surface.py - the hook as programs written for the reference use it: every name, before, during and after a training.

Usage: surface.py WORK_DIR
"""
import copy
import io
import json
import os
import shutil
import sys
import time
import warnings

import numpy
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import assay_hook as smd  # noqa: E402
import tfevents  # noqa: E402
from assay_hook import Collection, CollectionKeys, CollectionManager, ReductionConfig, SaveConfig, SaveConfigMode, modes  # noqa: E402

WORK = sys.argv[1]
EVERY = dict(save_config=SaveConfig(save_interval=1))


def fresh(name="trial"):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def raises(kind, call, *words):
    try:
        call()
    except kind as error:
        assert all(word in str(error) for word in words), error
    else:
        raise SystemExit("nothing was said: %s" % (words,))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.act(self.first(x)))


def train(net, steps, loss=None):
    for _ in range(steps):
        (loss or nn.CrossEntropyLoss())(net(torch.ones(5, 3)), torch.zeros(5).long()).backward()


def test_one_hook_is_known():
    smd.del_hook()
    assert smd.get_hook() is None and smd.get_hook(create_if_not_exists=True) is None
    hook = smd.Hook(fresh())
    assert smd.get_hook() is hook and smd.get_hook("anything", True) is hook
    other = smd.Hook(fresh("other"))
    assert smd.get_hook() is other
    smd.set_hook(hook)
    assert smd.get_hook() is hook
    raises(TypeError, lambda: smd.set_hook("a hook"))
    smd.del_hook()
    assert smd.get_hook() is None
    hook.close(), other.close()


def test_configurations_and_json():
    rules = {modes.TRAIN: SaveConfigMode(save_interval=10), modes.EVAL: SaveConfigMode(start_step=1, end_step=9, save_steps=[3])}
    for made in (SaveConfig(save_interval=11, start_step=10, save_steps=[50]), SaveConfig(), SaveConfig(rules), SaveConfig.parse(rules),
                 SaveConfig.parse(None), SaveConfig.parse(SaveConfigMode(7)), SaveConfig({"TRAIN": {"save_interval": 3}})):
        again = SaveConfig.from_json(made.to_json())
        assert again == made and again.to_json() == made.to_json() and not made == SaveConfig(save_interval=99)
    one = SaveConfig(rules)
    assert one.should_save_step(modes.TRAIN, 20) and not one.should_save_step(modes.TRAIN, 25)
    assert [s for s in range(12) if SaveConfigMode(4, 3, 9, [10]).should_save_step(s)] == [4, 8, 10]
    assert not SaveConfig(end_step=0).should_save_step(modes.GLOBAL, 0)
    raises(ValueError, lambda: one.get_save_config(modes.PREDICT), "PREDICT")
    one.merge_default_save_config(SaveConfig(save_interval=5))
    assert one.get_save_config("PREDICT").save_interval == 5 and one.get_save_config(modes.TRAIN).save_interval == 10
    one.set_save_config(modes.PREDICT, SaveConfigMode(6))
    assert one.should_save_step(modes.PREDICT, 6)
    for made in (ReductionConfig(["min"], ["max"], ["l1"], ["l2"]), ReductionConfig(), ReductionConfig(save_raw_tensor=True, save_shape=True)):
        assert ReductionConfig.from_json(made.to_json()) == made
    assert ReductionConfig(["min"], ["mean"], ["l2"], ["l1"]).to_json_dict()["reductions"] == "min,l2_norm,abs_mean,abs_l1_norm"
    for made in (Collection("mine", ["conv"], ["a", "b"], ReductionConfig(["min"]), SaveConfig(rules)), Collection("empty")):
        again = Collection.from_json(made.to_json())
        assert again == made and again.tensor_names == made.tensor_names and isinstance(again.tensor_names, set)
    manager = CollectionManager()
    manager.create_collection("mine")
    manager.get("mine").include(["a", ["b"]])
    manager.add(Collection("second"))
    manager.add("third")
    manager.get("third").tensor_names = ["x", "y"]
    manager.set_num_workers(3)
    manager.export(fresh("manager"), "worker_0_collections.json")
    loaded = CollectionManager.load(os.path.join(WORK, "manager", "collections", "000000000", "worker_0_collections.json"))
    assert loaded == manager and loaded.get_num_workers() == 3 and loaded.get("mine").include_regex == ["a", "b"]


def test_mistakes_are_told_where_they_are_made():
    for call, *words in ((lambda: SaveConfig(save_interval="ten"), "save_interval", "ten"),
                         (lambda: SaveConfigMode(save_steps="1,2"), "save_steps"),
                         (lambda: SaveConfig({"TRIAN": {}}), "TRIAN", "TRAIN"),
                         (lambda: SaveConfig({modes.EVAL: {"save_intervall": 1}}), "save_intervall", "save_interval"),
                         (lambda: ReductionConfig(["meen"]), "meen", "mean"), (lambda: ReductionConfig(norms=["l3"]), "l3"),
                         (lambda: ReductionConfig(save_shape="yes"), "save_shape"),
                         (lambda: smd.Hook(fresh()).get_collection("weigths"), "weigths", "weights")):
        raises(ValueError, call, *words)
    for call in (lambda: SaveConfig.parse(5), lambda: Collection("a").include(5), lambda: Collection("a", tensor_names="b"),
                 lambda: Collection("a", reduction_config="min"), lambda: smd.Hook(fresh()).add_collection("weights")):
        raises(TypeError, call)
    path = fresh()
    os.makedirs(path)
    with open(os.path.join(path, "training_job_end.ts"), "w"):
        pass
    raises(RuntimeError, lambda: smd.Hook(path), "holds something")


def test_modules_are_named_later():
    """add_module_tensors() before register_module(); one that is in no network is one warning."""
    net, stranger = Net(), nn.Tanh()
    hook = smd.Hook(fresh(), include_collections=["relus", CollectionKeys.BIASES], **EVERY)
    hook.get_collection("relus").add_module_tensors(net.act, inputs=True)
    hook.get_collection("relus").add_module_tensors(stranger)
    hook.register_module(net)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        train(net, 2)
    assert [str(w.message) for w in told if "Tanh" in str(w.message)], told
    names = hook.get_collection("relus").tensor_names
    assert names == {"act_input_0", "act_output_0"}, names
    hook.close()
    trial = tfevents.Trial(os.path.join(WORK, "trial"))
    assert {"act_input_0", "act_output_0", "Net_first.bias"} <= set(trial.steps[0, "worker_0"].tensors)
    assert "first_output_0" not in trial.steps[0, "worker_0"].tensors


def test_what_it_says_of_itself():
    hook = smd.Hook(fresh(), include_regex=["a"], export_tensorboard=True, include_workers="all")
    assert hook.out_dir == os.path.join(WORK, "trial") and hook.tensorboard_dir == os.path.join(hook.out_dir, "tensorboard")
    assert set(hook.include_collections) == {"losses", "default"} and hook.save_all_workers and not hook.save_all
    assert hook._get_worker_name() == "worker_0" == hook.worker and not hook.dry_run and hook.mode == modes.GLOBAL
    assert not hook.has_default_hook_configuration() and hook.save_config == SaveConfig() and "trial" in repr(hook)
    hook.close()
    hook = smd.Hook(fresh(), tensorboard_dir=os.path.join(WORK, "board"), dry_run=True)
    assert hook.tensorboard_dir == os.path.join(WORK, "board") and hook.dry_run and hook.has_default_hook_configuration()
    assert smd.Hook(fresh()).tensorboard_dir is None
    assert {"weights", "biases", "gradients", "losses", "default", "all"} <= set(hook.get_collections())
    assert "all" in smd.Hook(fresh(), save_all=True).include_collections


def test_before_and_after_steps():
    """Scalars and tensors before the first step; scalars that everything has in it are not thinned; times of scalars."""
    net, loss = Net(), nn.CrossEntropyLoss()
    hook = smd.Hook(fresh(), save_all=True, save_config=SaveConfig(save_steps=[2, 4], start_step=1000), export_tensorboard=True)
    hook.register_module(net), hook.register_loss(loss)
    then = time.time() - 1e5
    hook.save_scalar("before", 5, sm_metric=True, timestamp=then)
    value = torch.tensor([[1.0, -1.0]])
    hook.save_tensor("early", value)
    value += 7  # what is saved is what it was
    hook.save_tensor("labels_of_it", numpy.arange(3), ["labels", "never_declared"])
    hook.set_mode("TRAIN")
    train(net, 6, loss)
    hook.save_scalar("after", torch.tensor(1), timestamp=then + 1)
    assert hook.mode_steps == {modes.GLOBAL: 5, modes.TRAIN: 5}
    hook.close()
    trial = tfevents.Trial(hook.out_dir)
    found = {name: (step, s.tensors[name][1].tolist()) for (step, _), s in sorted(trial.steps.items()) for name in s.tensors}
    assert found["scalar/before"] == (0, [5.0]) and found["scalar/after"] == (5, [1.0]), found
    assert found["early"] == (2, [[1.0, -1.0]]) and found["labels_of_it"] == (2, [0, 1, 2])
    assert {step for (step, _), s in trial.steps.items() if "Net_input_0" in s.tensors} == {2, 4}
    times = sorted(t for s in trial.steps.values() for t in s.wall_times)
    assert times[:2] == [then, then + 1], times[:3]
    assert "labels_of_it" in trial.collections["worker_0"]["collections"]["labels"]["tensor_names"]


def test_nothing_stops_the_training():
    net = Net()
    hook = smd.Hook(fresh(), **EVERY)
    hook.register_module(net)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        train(net, 1)
        hook.set_mode("TRAINING")
        hook.save_scalar("x", [1, 2, 3])
        hook.save_tensor(5, object())
        hook.record_tensor_value("x", None)
        hook.record_trace_events("yesterday")
        hook.seek(1, "NOWHERE", 2)
        train(net, 2)
    assert len([w for w in told if "goes on" in str(w.message)]) == 1, [str(w.message) for w in told]
    assert hook.mode == modes.GLOBAL
    hook.close()
    hook.close()
    train(net, 1)  # and after it


def test_networks_go_elsewhere_without_it():
    net = Net()
    hook = smd.Hook(fresh(), save_all=True, **EVERY)
    hook.register_module(net)
    train(net, 1)
    room = io.BytesIO()
    torch.save(net, room)
    room.seek(0)
    for other in (torch.load(room), copy.deepcopy(net)):
        before = hook.mode_steps[modes.GLOBAL]
        other(torch.ones(1, 3))
        assert hook.mode_steps[modes.GLOBAL] == before
        torch.save(other, io.BytesIO())
    hook._cleanup()


def test_which_would_be_saved():
    hook = smd.Hook(fresh(), include_collections=["gradients", "mine"], save_config=SaveConfig(save_interval=2))
    hook.get_collection("mine").add_tensor_name("named")
    assert not hook.should_save_tensor_or_collection("named", "mine")  # before the first step
    hook.set_mode(modes.TRAIN)
    hook.step()
    assert hook.should_save_tensor_or_collection("gradient/x", "gradients") and hook.should_save_tensor_or_collection("named", "default")
    assert hook.should_save_tensor_or_collection("whatever", "mine") and not hook.should_save_tensor_or_collection("other", "weights")
    hook.step()
    assert not hook.should_save_tensor_or_collection("gradient/x", "gradients")
    hook.set_mode(modes.EVAL)
    hook.step()
    assert not hook.should_save_tensor_or_collection("gradient/x", "gradients")
    hook.close()


def test_events_of_its_own():
    hook = smd.Hook(fresh())
    begun = time.time()
    hook.record_trace_events(training_phase="Training", op_name="Begin", phase="B", timestamp=begun, epoch=0)
    hook.record_trace_events(training_phase="Training", op_name="End", phase="E", timestamp=begun + 2, epoch=0)
    hook.record_trace_events(begun + 1, "io", "read", duration=0.5)
    hook.step()
    hook.close()
    (file,) = [os.path.join(at, name) for at, _, names in os.walk(os.path.join(hook.out_dir, "framework", "pevents")) for name in names]
    with open(file) as opened:
        events = json.load(opened)
    base = events[0]["args"]["start_time_since_epoch_in_micros"]
    rows = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
    found = {(rows[e["pid"]], e["name"]): (e["ts"] + base, e["dur"]) for e in events if e["ph"] == "X"}
    assert all(e["ts"] >= 0 for e in events if e["ph"] == "X")
    assert abs(found["Training", "Begin"][0] - begun * 1e6) < 2 and abs(found["Training", "Begin"][1] - 2e6) < 2, found
    assert abs(found["io", "read"][1] - 5e5) < 2


def test_a_file_is_asked_for():
    """SMDEBUG_CONFIG_FILE_PATH counts for a hook that is asked of it, and for no other; what the program then changes counts more."""
    config = os.path.join(WORK, "config.json")
    with open(config, "w") as file:
        json.dump({"LocalPath": fresh("from_file"), "HookParameters": {"save_steps": "0, 3", "include_workers": "all"},
                   "CollectionConfigurations": [
                       {"CollectionName": "relu", "CollectionParameters": {"include_regex": "act*, nothing", "save_steps": "1,2",
                                                                           "reductions": "min,abs_max"}},
                       {"CollectionName": "biases", "CollectionParameters": None}]}, file)
    os.environ["SMDEBUG_CONFIG_FILE_PATH"] = config
    try:
        mine = smd.Hook(fresh())
        assert mine.out_dir == os.path.join(WORK, "trial") and mine.has_default_hook_configuration()
        smd.del_hook()
        for hook in (smd.Hook(), smd.Hook.create_from_json_file(), smd.Hook.create_from_json_file(config)):
            assert hook.out_dir == os.path.join(WORK, "from_file") and hook.save_all_workers
            relu = hook.get_collection("relu")
            assert relu.include_regex == ["act*", "nothing"] and relu.reduction_config == ReductionConfig(["min"], ["max"])
            assert relu.save_config.get_save_config(modes.TRAIN).save_steps == [1, 2]
            assert set(hook.include_collections) == {"relu", "biases", "losses"}
        smd.del_hook()
        hook = smd.get_hook(create_if_not_exists=True)
        hook.get_collection("biases").save_config = SaveConfig(save_steps=[4])
        net = Net()
        hook.register_module(net)
        train(net, 6)
        hook.close()
        trial = tfevents.Trial(hook.out_dir)
        steps = {name: [s for (s, _), at in sorted(trial.steps.items()) if name in at.tensors] for name in (
            "smdebug/reductions/min/act_output_0", "Net_last.bias")}
        assert list(steps.values()) == [[0, 1, 2], [0, 4]], steps
        os.environ["SMDEBUG_CONFIG_FILE_PATH"] = os.path.join(WORK, "missing.json")
        smd.del_hook()
        assert smd.get_hook(create_if_not_exists=True) is None
    finally:
        del os.environ["SMDEBUG_CONFIG_FILE_PATH"]


def test_relus_by_their_type():
    """Whatever the layers are called; what no ReLU made is not recorded."""
    for wanted, names in ((["relu_outputs"], {"1_output_0", "3_output_0"}), (["weights"], None)):
        hook = smd.Hook(fresh(), include_collections=wanted, **EVERY)
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.ReLU6(), nn.Tanh())
        hook.register_module(net)
        net(torch.ones(4, 2))
        hook.close()
        trial = tfevents.Trial(hook.out_dir)
        collections = trial.collections["worker_0"]["collections"]
        if names is None:
            assert "relu_outputs" not in collections
        else:
            assert set(trial.steps[0, "worker_0"].tensors) == names == set(collections["relu_outputs"]["tensor_names"]), collections["relu_outputs"]


def test_a_configuration_of_the_profiler():
    """SageMaker's file switches the samples and the timeline on; what the program says counts more."""
    path = os.path.join(WORK, "profilerconfig.json")
    os.environ["SMPROFILER_CONFIG_PATH"] = path

    def files(said, **given):
        with open(path, "w") as file:
            file.write(said if isinstance(said, str) else json.dumps(said))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            hook = smd.Hook(fresh(), **EVERY, **given)
            hook.step()
            hook.close()
        made = {name for name in ("system", "framework") if os.path.isdir(os.path.join(hook.out_dir, name))}
        return made, [str(w.message) for w in heard]

    try:
        on = {"ProfilingIntervalInMilliseconds": 10, "ProfilingParameters": {"ProfilerEnabled": True}}
        assert files(on) == ({"system", "framework"}, [])
        assert files(dict(on, DisableProfiler=True)) == (set(), []) and files({}) == (set(), [])
        assert files(on, system_metrics_interval=0, timeline=True) == ({"framework"}, [])
        made, said = files({"ProfilingParameters": {"DetailedProfilingConfig": "{'StartStep': 3}"}})
        assert made == {"system", "framework"} and len(said) == 1 and "detailedprofilingconfig" in said[0], said
        made, said = files('{"ProfilingParameters')
        assert made == set() and len(said) == 1 and path in said[0], said
        made, said = files(dict(on, ProfilingIntervalInMilliseconds="ten"))
        assert made == set() and "ProfilingIntervalInMilliseconds" in said[0], said
    finally:
        del os.environ["SMPROFILER_CONFIG_PATH"]


def main():
    os.makedirs(WORK, exist_ok=True)
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    for name, test in tests:
        test()
        print("passed " + name)
    sys.exit(0 if len(tests) >= 11 else 1)


if __name__ == "__main__":
    main()
