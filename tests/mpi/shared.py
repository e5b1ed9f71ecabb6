#!/usr/bin/env python3
"""Steps that several ranks measure and one maps: the report has the bytes that one rank gives, whatever the rules, with damage in
such a step, with little memory, when the run is stopped and resumed, and when one of the ranks fails; and so where the ranks divide
the tensors instead of the steps, and where steps move from a rank that is slow to others.

    shared.py --assay PROGRAM --ranks 1 2 3 ... -- WHAT...     WHAT: rules, modes, damaged, memory, tensors, moved, waiting, stopped, faults

ASSAY_SEED sets what is drawn.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import SUITE, Checks, mpirun  # noqa: E402
from made import MODES, Made  # noqa: E402
from records import field, fields, frame, inside  # noqa: E402
from reports import digest_of  # noqa: E402
from slow_run import STOPPED, Run  # noqa: E402

STEPS, LARGE_STEPS, LIGHT = 10, 6, 240
LONG = 60  # steps of the trial whose steps move
HEAVY = {4: 60000, 7: 25000}  # elements of most tensors of these steps; the others have LIGHT
ALL = {"tensor_regex": ".*"}
RULES = [("compared", "SimilarAcrossRuns", {"other_trial": "other", "collection_names": "weights"}),
         ("pooled", "DeadRelu", {"tensor_regex": "act._output", "window": 3}),
         ("channels", "DeadRelu", {"tensor_regex": "act._output", "unit": "channel"}),
         ("current", "UnchangedTensor", {**ALL, "num_steps": 3, "against": "current"}),
         ("every change", "UnchangedTensor", dict(ALL, rtol=0.1)),
         ("replicas", "ReplicaDivergence", dict(ALL, replicated="always")),
         ("synchronized", "GradientNotSynchronized", {}),
         ("shards", "DuplicateShard", {}),
         ("halves", "HalfPrecisionRisk", {"format": "fp8_e4m3"}),
         ("labels", "LabelOutOfRange", {}),
         ("frozen", "WeightFrozenDespiteGradient", {}),
         ("spikes", "NormSpike", {"min_history": 2, "ratio": 2, "threshold": 1}),
         ("collapse", "PredictionCollapse", {"num_steps": 1}),
         ("stragglers", "StragglerWorker", {"num_steps": 1}),
         ("quantiles", "PoorWeightInitialization", {"activation_inputs_regex": "act._input", "distribution_range": 100})]
AGGREGATIONS = [{"name": "losses", "kind": "loss_curve", "tensor_regex": "output_0"},
                {"name": "curves", "kind": "tensor_curves", "tensor_regex": ".*"},
                {"name": "pictures", "kind": "wrong_predictions", "tensor": "ConvNet_input_0",
                 "labels": "CrossEntropyLoss_input_1", "predictions": "CrossEntropyLoss_input_0"}]


def tensors(rng, size):
    """One worker's, saved reductions among them, of which one lies apart from its raw tensor."""
    saved = {}
    for i in range(3):
        weight = rng.normal(0, 0.1, (8, size // 8)).astype("float32")
        saved["net_fc%d.weight" % i] = weight
        saved["smdebug/reductions/abs_mean/net_fc%d.weight" % i] = numpy.abs(weight).mean()
        saved["gradient/net_fc%d.weight" % i] = rng.normal(0, 1e-3, (8, size // 8))
        saved["act%d_output_0" % i] = numpy.maximum(rng.normal(-1, 1, (16, 3, size // 48)), 0).astype("float32")
        saved["act%d_input_0" % i] = rng.normal(0, 5, (16, size // 16)).astype("float32")
    side, batch = int((size / 12) ** 0.5), size // 40
    saved["smdebug/reductions/max/act2_output_0"] = saved["act2_output_0"].max()
    saved["ConvNet_input_0"] = rng.integers(0, 255, (batch, 3, 4, 4)).astype("uint8")
    saved["more_input_0"] = rng.normal(0, 1, (4, 3, side, side)).astype("float32")
    saved["CrossEntropyLoss_input_0"] = rng.normal(0, 1, (batch, 10)).astype("float32")
    saved["CrossEntropyLoss_input_1"] = rng.integers(0, 10, batch)
    saved["CrossEntropyLoss_output_0"] = numpy.float32(rng.normal(1, 0.1))
    return saved


def make(folder, seed, part):
    made = Made(folder, 2, {"weights": r"^net_.*weight$", "gradients": "^gradient/", "losses": r"[Ll]oss_output"})
    rng = numpy.random.default_rng(seed)
    for step in range(STEPS):
        size = HEAVY[step] // part if step in HEAVY else LIGHT
        saved = {worker: tensors(rng, size) for worker in made.workers}
        if step in HEAVY:
            saved["worker_1"]["act1_input_0"][3, 5] = numpy.nan
            saved["worker_1"]["net_fc1.weight"] = saved["worker_0"]["net_fc1.weight"]
        made.step(step, "EVAL" if step in HEAVY else "TRAIN", step, saved)
    return made.end()


class Place:
    """Two trials, a job on them with every kind of measure, and runs of it."""

    def __init__(self, checks, args, where):
        self.checks, self.args, self.where = checks, args, Path(where)
        self.trial = make(self.where / "trial", 1, 1)
        make(self.where / "other", 2, 2)
        suite = json.loads(SUITE.read_text())
        suite["trials"] = [{"path": str(self.where / name), "name": name} for name in ("trial", "other")]
        suite["rules"] += [{"name": n, "rule": r, "parameters": p} for n, r, p in RULES]
        suite["rules"].append({"name": "when", "when": "l2(weights) / l2('gradient/{}') > 3"})
        suite["aggregations"] += AGGREGATIONS
        self.job = self.where / "job.json"
        self.job.write_text(json.dumps(suite))

    def command(self, *more):
        return [self.args.assay, "run", self.job, "--out", self.where / "out", "--digest", "--progress", "0", *more]

    def run(self, ranks, *more, env=None):
        return mpirun(ranks, self.command(*more), env=env)

    def report(self):
        return json.loads((self.where / "out" / "report.json").read_text())

    def compare(self, name, code, shared, *more, env=None, most=None):
        """Every number of ranks gives the digest of the first; `shared`: whether steps have to be, None: that depends."""
        first = None
        for ranks in self.args.ranks[:most]:
            done = self.run(ranks, *more, env=env)
            if not self.checks.expect(done.code == code, "%s, %d ranks: %s" % (name, ranks, done)):
                continue
            steps = self.report()["run"]["steps_shared"]
            print("%s, %d ranks: %s, %d steps shared" % (name, ranks, digest_of(done.out), steps), flush=True)
            first = first or digest_of(done.out)
            self.checks.expect(digest_of(done.out) == first, "%s: another report on %d ranks" % (name, ranks))
            if ranks > 1 and shared is not None:
                self.checks.expect((steps > 0) == shared, "%s, %d ranks: %d steps shared" % (name, ranks, steps))
        return first


def test_rules(place):
    plain = place.compare("rules", 0, True)
    verdicts = place.report()["trials"][0]["rules"]
    place.checks.expect(sum(r["status"] in ("IssuesFound", "NoIssuesFound") for r in verdicts) > len(verdicts) * 2 // 3,
                        "too few rules see the trial: %s" % [(r["name"], r["status"]) for r in verdicts])
    ranks = place.args.ranks[-1]
    done = place.run(ranks, env={"ASSAY_SIMD": "scalar"})
    place.checks.expect(digest_of(done.out) == plain, "scalar code gives another report: %s" % done)
    place.checks.expect(place.compare("measured before their turn", 0, True, env={"ASSAY_FAULT": "ahead:1+"}, most=3) == plain,
                        "tensors that were measured before their step's turn give another report")
    planned = place.run(ranks, "--dry-run").out
    said = re.search(r"(\d+) steps? (is|are) shared", planned)
    place.checks.expect(said and int(said.group(1)) > 0, "--dry-run does not say what is shared: %s" % planned)


def index_of(trial, step, worker):
    return trial / "index" / "000000000" / ("%012d_worker_%d.json" % (step, worker))


def entries(trial, step, worker):
    index = json.loads(index_of(trial, step, worker).read_text())
    return trial / index["meta"]["event_file_name"], index["tensor_payload"]


def restated(record, meta):
    """A record that says the mode and mode step of its step's meta."""
    said = {b"mode_step": str(meta["mode_step"]).encode(), b"mode": MODES[meta["mode"]]}

    def plugin(value):
        name, content = (v for _, _, v in fields(value))
        return field(1, name) + field(2, said.get(name, content))

    payload = record[12:-4]
    changed = inside(payload, (5, 1, 9, 1), plugin)
    return frame(changed, record[-4:] == frame(payload, True)[-4:])


def say(trial, step, worker, twice=0, **meta):
    """Makes a worker say something else of a step, in its index and in its records, and list its first tensors once more."""
    path = index_of(trial, step, worker)
    index = json.loads(path.read_text())
    index["meta"].update(meta)
    file, events, places = trial / index["meta"]["event_file_name"], b"", {}
    before = file.read_bytes()
    for entry in index["tensor_payload"]:
        at = entry["start_idx"]
        if at not in places:
            record = restated(before[at:at + entry["length"]], index["meta"])
            places[at] = {"start_idx": len(events), "length": len(record)}
            events += record
        entry.update(places[at])
    index["tensor_payload"] += index["tensor_payload"][:twice]
    file.write_bytes(events)
    path.write_text(json.dumps(index))


def test_modes(place):
    """A TRAIN step is compared with the one before it, though another rank has both that one and the evaluation between them.
    Where workers disagree on the mode of a step, each has a step of its own, whoever measures it; and windows reach as far back."""
    place.job.write_text(json.dumps({"trials": [str(place.trial)], "rules": [
        {"name": "ratios", "rule": "WeightUpdateRatio", "parameters": {}}]}))
    place.compare("evaluation between", 0, True)
    everything = {"num_steps": 2, "large_threshold": 1e-9, "small_threshold": 1e-12}
    place.job.write_text(json.dumps({"trials": [str(place.trial)], "rules": [
        {"name": "norms", "rule": "Expression", "parameters": {"when": "l2(weights) > 0", "mode": "EVAL"}},
        {"name": "ratios", "rule": "WeightUpdateRatio", "parameters": everything}]}))
    say(place.trial, 4, 1, mode="TRAIN")
    for step in range(STEPS):
        say(place.trial, step, 1, mode_step=0, twice=step // 8)  # two more problems, named in an order, too
    place.compare("workers disagree", 3, None)  # as many steps again, so shares end between them
    for step in range(STEPS):
        for worker in (0, 1):
            say(place.trial, step, worker, mode_step=step + STEPS if step < 8 else step - 8)
    again = place.compare("mode steps begin again", 0, True)
    place.checks.expect(place.compare("before their turn", 0, True, env={"ASSAY_FAULT": "ahead:1+"}, most=3) == again,
                        "tensors that were measured before their step's turn give another report")


def spoil(trial, step, worker, *tensor):
    """Makes the event of each tensor something that is none."""
    file, list_ = entries(trial, step, worker)
    data = bytearray(file.read_bytes())
    for entry in list_:
        if entry["tensorname"] in tensor:
            at = entry["start_idx"] + 12
            data[at:at + 30] = b"\xff" * 30
    file.write_bytes(data)


def name_one_place(trial, step, worker):
    """Makes the index give three tensors one place, and name them the other way round."""
    path = index_of(trial, step, worker)
    index = json.loads(path.read_text())
    first = index["tensor_payload"][:3]
    for entry in first:
        entry.update(start_idx=first[0]["start_idx"], length=first[0]["length"])
    index["tensor_payload"][:3] = first[::-1]
    path.write_text(json.dumps(index))


def test_damaged(place):
    spoil(place.trial, 4, 0, "net_fc0.weight", "act2_output_0", "CrossEntropyLoss_input_1")
    spoil(place.trial, 4, 1, "smdebug/reductions/abs_mean/net_fc1.weight", "net_fc2.weight", "CrossEntropyLoss_input_0")
    spoil(place.trial, 3, 1, "net_fc0.weight")
    place.compare("damaged records", 3, True)
    for step in (STEPS - 2, STEPS - 1):
        for worker in (0, 1):
            name_one_place(place.trial, step, worker)
    place.compare("tensors at one place", 3, True)
    file, _ = entries(place.trial, 7, 1)
    file.write_bytes(file.read_bytes()[:file.stat().st_size // 3])
    place.compare("a file cut", 3, True)
    entries(place.trial, 4, 1)[0].unlink()
    missing = place.compare("a file missing", 3, None)
    place.checks.expect(place.compare("before their turn", 3, None, env={"ASSAY_FAULT": "ahead:1+"}, most=3) == missing,
                        "damaged tensors that were measured before their step's turn give another report")
    problems = place.report()["trials"][0]["problems"]
    place.checks.expect(sum(p["kind"] == "missing-event-file" for p in problems) == 1, "named once: %s" % problems)


def test_memory(place):
    """From far too little for one tensor of the heavy steps up to enough for all."""
    refused = 0
    for kibi in (2048, 2560, 3072, 4096, 6144, 8192, 12288, 65536):
        done = place.run(1, "--memory", "%dKiB" % kibi)
        place.compare("%d KiB" % kibi, done.code, True if kibi == 65536 else None, "--memory", "%dKiB" % kibi)
        refused += any(p["kind"] == "memory-budget" for t in place.report()["trials"] for p in t["problems"])
    place.checks.expect(0 < refused < 8, "%d of the budgets were too small" % refused)


def test_tensors(place):
    """Few steps of large tensors: every rank measures some of the tensors at all steps. Workers are compared, or not; records are
    damaged, and results do not fit."""
    made = Made(place.where / "large", 2, {"weights": r"^net_.*weight$", "gradients": "^gradient/", "losses": r"[Ll]oss_output"})
    rng = numpy.random.default_rng(5)
    for step in range(LARGE_STEPS):
        made.step(step, "EVAL" if step == 3 else "TRAIN", step, {worker: tensors(rng, 60000) for worker in made.workers})
    trial = made.end()
    job = json.loads(place.job.read_text())
    job["trials"] = [str(trial)]
    job["rules"] = [rule for rule in job["rules"] if rule.get("rule") != "SimilarAcrossRuns"]
    between = ("ReplicaDivergence", "GradientNotSynchronized", "DuplicateShard")
    apart = dict(job, rules=[rule for rule in job["rules"] if rule.get("rule") not in between])
    for name, rules in (("workers compared", job), ("workers apart", apart)):
        place.job.write_text(json.dumps(rules))
        place.compare(name, 0, True)
        place.checks.expect(place.report()["run"]["steps_shared"] == LARGE_STEPS, "%s: not all steps are measured by all" % name)
    for kibi in (2560, 12288, 65536):
        code = place.run(1, "--memory", "%dKiB" % kibi).code
        place.compare("%d KiB" % kibi, code, None, "--memory", "%dKiB" % kibi)
    read = {}
    for ranks in (1, 2):
        place.checks.expect(place.run(ranks, "--memory", "64MiB").code == 0, "64 MiB, %d ranks: it failed" % ranks)
        read[ranks] = place.report()["run"]["bytes_read"]
    print("without room for results: %s bytes read" % read, flush=True)
    place.checks.expect(read[2] <= read[1] * (1 + 2 / LARGE_STEPS), "two ranks read more than two steps again: %s" % read)
    checkpoint = place.where / "large.ckpt"
    place.checks.expect(place.run(2, "--checkpoint", checkpoint).code == 0 and place.report()["run"]["steps_shared"] < LARGE_STEPS,
                        "a run that writes checkpoints divides the tensors")
    spoil(trial, 2, 1, "net_fc0.weight", "act2_output_0")
    entries(trial, LARGE_STEPS - 1, 0)[0].unlink()
    place.compare("damaged", 3, True)


def test_moved(place):
    """Each rank in turn is slow, so that others measure its last steps: windows, damage and little memory all the same."""
    made = Made(place.where / "long", 2, {"weights": r"^net_.*weight$", "gradients": "^gradient/", "losses": r"[Ll]oss_output"})
    rng = numpy.random.default_rng(3)
    for step in range(LONG):
        made.step(step, "EVAL" if step % 7 == 6 else "TRAIN", step, {worker: tensors(rng, 960) for worker in made.workers})
    trial = made.end()
    for step in range(3, LONG, 10):
        spoil(trial, step, step % 2, "net_fc0.weight", "act2_output_0")
    entries(trial, LONG - 4, 1)[0].unlink()
    job = json.loads(place.job.read_text())
    job["trials"] = [str(trial)]
    job["rules"] = [rule for rule in job["rules"] if rule.get("rule") != "SimilarAcrossRuns"]
    place.job.write_text(json.dumps(job))
    for more in ([], ["--memory", "2560KiB"]):
        alone = place.run(1, *more)
        moved = 0
        for ranks in place.args.ranks[1:]:
            for slow in range(min(ranks, 3)):
                for ahead in ("", ",ahead:1+"):
                    done = place.run(ranks, *more, env={"ASSAY_FAULT": "slow:12@rank%d%s" % (slow, ahead)})
                    name = "rank %d of %d slow%s %s" % (slow, ranks, ahead, more)
                    if place.checks.expect(done.code == alone.code, "%s: %s" % (name, done)):
                        steps = place.report()["run"]["steps_moved"]
                        moved += steps
                        print("%s: %s, %d steps moved" % (name, digest_of(done.out), steps), flush=True)
                        place.checks.expect(digest_of(done.out) == digest_of(alone.out), "%s: another report" % name)
        place.checks.expect(moved > 0 or more, "no step moved")
    saved = place.run(2, "--checkpoint", place.where / "run.ckpt", env={"ASSAY_FAULT": "slow:5@rank0"})
    place.checks.expect(saved.code == 3 and place.report()["run"]["steps_moved"] == 0, "with a checkpoint: %s" % saved)


def test_waiting(place):
    """Ranks that wait for one that sleeps leave their processors alone; where trials are compared, no step moves to them."""
    run = None
    if place.checks.expect(place.run(3, env={"ASSAY_FAULT": "slow:300@rank0"}).code == 0, "waiting: the run failed"):
        run = place.report()["run"]
        print("waiting: %.2f s of %.2f s by the clock" % (run["processor_seconds"], run["seconds"]), flush=True)
    place.checks.expect(run and run["processor_seconds"] < run["seconds"] / 2, "ranks that wait keep processors busy: %s" % run)


def test_stopped(place):
    rng = random.Random(place.args.seed)
    expected = digest_of(place.run(1).out)
    stops = 0
    for _ in range(6):
        ranks, resumed = rng.choice(place.args.ranks), (place.where / "run.ckpt").exists()
        run = Run(place.command, place.where, ranks, "--resume")
        pids = run.wait_until_listening()
        time.sleep(rng.uniform(0, 0.5))
        for pid in rng.choice(([rng.choice(pids)], pids)) if pids else []:
            try:
                os.kill(pid, rng.choice((signal.SIGUSR1, signal.SIGTERM)))
            except ProcessLookupError:
                pass  # the run was faster
        code, out, err = run.end()
        print("%d ranks, %s: exit %s" % (ranks, "resumed" if resumed else "anew", code), flush=True)
        stops += code == STOPPED
        place.checks.expect(code == STOPPED or (code == 0 and digest_of(out) == expected), "stopped: %s\n%s" % (code, err))
    done = place.run(rng.choice(place.args.ranks), "--checkpoint", place.where / "run.ckpt", "--resume")
    place.checks.expect(digest_of(done.out) == expected, "resumed: %s" % done)
    place.checks.expect(stops > 1, "only %d runs were stopped" % stops)


def test_faults(place):
    """Memory or a file fails on a rank that helps, or on one that is helped: an agreed end, the same report, or one that names it."""
    expected = digest_of(place.run(1).out)
    ranks, ends = place.args.ranks[-1], {}
    for rank in (0, 1, ranks - 1):
        for fault in ["alloc:%d" % n for n in (6000, 7000, 8000)] + ["read:%d" % n for n in (70, 120)]:
            shutil.rmtree(place.where / "out", ignore_errors=True)
            done = mpirun(ranks, place.command(), env={"ASSAY_FAULT": "%s@rank%d" % (fault, rank)}, timeout=60)
            name = "%s@rank%d" % (fault, rank)
            ends.setdefault(done.code, []).append(name)
            place.checks.expect(not done.hung and done.code in (0, 3, 4), "%s: %s" % (name, done))
            place.checks.expect(done.code != 0 or digest_of(done.out) == expected, "%s: another report" % name)
            place.checks.expect(done.code != 3 or any(t["problems"] for t in place.report()["trials"]), "%s: no problem" % name)
    print(ends)
    place.checks.expect(ends.get(4) or ends.get(3), "no fault showed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ASSAY_SEED", "1")))
    parser.add_argument("what", nargs="+")
    args = parser.parse_args()
    checks = Checks()
    for what in args.what:
        with tempfile.TemporaryDirectory() as where:
            globals()["test_" + what](Place(checks, args, where))
    checks.done()


if __name__ == "__main__":
    main()
