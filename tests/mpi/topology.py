#!/usr/bin/env python3
"""Trials in which workers have pieces of tensors: the same training at 1, 2 and 4 tensor-parallel ranks has the same figures, bit for bit, and the
same findings; a copy of a normalisation that is one unit in the last place off is the only finding, and pieces never are; what is wrong in a
topology is one message with its place; a large mesh fits a small memory. At any number of ranks the report is the same bytes.

    topology.py --assay PROGRAM --ranks 1 2 3 ...
"""
import copy
import gzip
import json
import pickle
import shutil
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoint_trials import check_all  # noqa: E402
from checkpoints import save_safetensors  # noqa: E402
from launch import mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402

STEPS = (10, 20, 30)
JOB = {"rules": [{"rule": "ExplodingTensor"}, {"rule": "ReplicaDivergence"}, {"rule": "MissingWorker"}, {"rule": "CheckpointStructure"},
                 {"rule": "UnchangedTensor", "parameters": {"collection_names": "weights,biases", "num_steps": 2}},
                 {"rule": "WeightUpdateRatio"}, {"rule": "GradientNotSynchronized"},
                 {"rule": "DuplicateShard", "parameters": {"tensor_regex": "labels", "min_elements": 2, "num_steps": 1}}]}
TENSORS = [{"match": "fc1", "split": {"tp": {"axis": 0, "parts": [0.5, 0.5]}}, "replicate": ["dp"]},
           {"match": "qkv|embed", "split": {"tp": {"axis": 0}}, "replicate": ["dp"]},
           {"match": "fc2.weight", "split": {"tp": {"axis": -1}}, "replicate": ["dp"]},
           {"match": "norm|fc2.bias", "replicate": ["dp", "tp"]},
           {"match": "labels", "own": ["dp"], "replicate": ["tp"]},
           {"match": "partial", "sum": ["tp"], "replicate": ["dp"]}]


def model(step):
    rng = numpy.random.default_rng(step)
    shapes = {"layers.0.fc1.weight": (16, 6), "layers.0.fc1.bias": (16,), "layers.0.fc2.weight": (6, 8), "layers.0.fc2.bias": (6,),
              "layers.0.norm.weight": (6,), "layers.0.qkv.weight": (24, 6), "embed.weight": (40, 6), "large.qkv.weight": (1024, 300)}
    tensors = {name: rng.normal(0, 1, shape).astype("float32") for name, shape in shapes.items()}
    tensors["embed.weight"][7, 3] = numpy.nan if step == 30 else 1
    tensors["optimizer/embed.weight/step"] = numpy.array(step, "float32")
    return tensors


def piece(name, value, tp, at):
    """What a tensor-parallel rank has of a tensor."""
    if value.ndim == 0 or "norm" in name or "fc2.bias" in name:
        return value
    if "fc1" in name:
        return numpy.concatenate([numpy.split(half, tp)[at] for half in numpy.split(value, 2)])
    return numpy.split(value, tp, axis=-1 if "fc2.weight" in name else 0)[at]


def save(root, tp, dp=1, change=None, tensors=TENSORS, steps=STEPS):
    for step in steps:
        for rank in range(tp * dp):
            own = {name: piece(name, value, tp, rank % tp).copy() for name, value in model(step).items()}
            if change:
                change(step, rank, own)
            save_safetensors(root / ("step-%d" % step) / ("rank_%d" % rank) / "model.safetensors", own)
    (root / "topology.json").write_text(json.dumps({"schema": "assay-topology/1", "meshes": {"dense": {"axes": [["dp", dp], ["tp", tp]]}},
                                                    "tensors": tensors}))


def report_of(test, trial, ranks=None, options=(), code=0):
    """The report, which is the same at every number of ranks."""
    bodies, report = set(), None
    for n in ranks or test.args.ranks:
        out = test.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        done = mpirun(n, [test.args.assay, "run", test.work / "topology-job.json", "--trial", trial, "--out", out, "--quiet", *options])
        if not test.checks.expect(done.code == code and (out / "report.json").exists(), "%s at %d ranks: %s" % (trial.name, n, done)):
            return None
        report = (out / "report.json").read_bytes()
        bodies.add(body_of(report))
    test.checks.expect(len(bodies) == 1, "%s: the reports at %s ranks differ" % (trial.name, test.args.ranks))
    return json.loads(report)["trials"][0]


def findings(trial):
    """(rule, step, tensor, worker) of each."""
    return sorted((r["rule"], f["step"], f.get("tensor", ""), f["worker"]) for r in trial["rules"] for f in r["findings"])


def figures(test, trial):
    """What the lowest worker's rows say; names of workers left out."""
    done = run([test.args.assay, "show", trial, ".", "--regex", "--csv", "--worker", "rank_0"])
    test.checks.expect(done.code == 0, "%s: show: %s" % (trial.name, done.err))
    return done.out


def check_same(test):
    said, seen = set(), {}
    for tp in (1, 2, 4):
        root = test.work / ("tp%d" % tp)
        save(root, tp)
        said.add(figures(test, root))
        trial = report_of(test, root)
        if trial:
            seen[tp] = sorted({f[:3] for f in findings(trial)})
            test.checks.expect(not trial["problems"], "tp %d: %s" % (tp, trial["problems"]))
    test.checks.expect(len(said) == 1 and len(said.pop()) > 1000, "the figures of tp 1, 2 and 4 differ")
    test.checks.expect(seen == {tp: [("ExplodingTensor", 30, "embed.weight")] for tp in (1, 2, 4)}, "findings: %s" % seen)
    trial = report_of(test, test.work / "tp4", test.args.ranks[:1])
    test.checks.expect(findings(trial) == [("ExplodingTensor", 30, "embed.weight", "*")], "one copy of several workers: %s" % findings(trial))
    done = run([test.args.assay, "compare", test.work / "tp1", test.work / "tp4", "--tensors"])
    test.checks.expect(done.out.startswith("equal: ") or "equal" in done.out.splitlines()[0], "compare: %s" % done.out[:200])


def check_copies(test):
    def off_by_one(step, rank, own):
        if step == 20 and rank == 3:
            own["layers.0.norm.weight"][2] = numpy.nextafter(own["layers.0.norm.weight"][2], numpy.float32(9))
        if step == 30 and rank == 6:  # the piece of tp 2 in the second copy
            own["layers.0.fc2.weight"][1, 1] += 1
        own["labels"] = numpy.arange(4, dtype="int64") + (rank // 4 if step != 30 else 0)
        own["partial.weight"] = numpy.full((3, 2), rank % 4, "float32") + numpy.arange(6, dtype="float32").reshape(3, 2)
        own["nobody.weight"] = model(step)["layers.0.norm.weight"][:3] + rank
    root = test.work / "copies"
    save(root, 4, 2, off_by_one)
    trial = report_of(test, root)
    wanted = [("ExplodingTensor", 30, "embed.weight", "rank_0"), ("ExplodingTensor", 30, "embed.weight", "rank_4"),
              ("ReplicaDivergence", 20, "layers.0.norm.weight", "rank_3"), ("ReplicaDivergence", 30, "layers.0.fc2.weight", "rank_6"),
              ("DuplicateShard", 30, "labels", "rank_4")]
    wanted += [("DuplicateShard", 30, "labels", "rank_%d" % r) for r in (5, 6, 7)]
    test.checks.expect(findings(trial) == sorted(wanted), "copies: %s, not %s" % (findings(trial), sorted(wanted)))
    notes = {f["worker"]: f.get("note") for r in trial["rules"] if r["rule"] == "ExplodingTensor" for f in r["findings"]}
    test.checks.expect(notes == {"rank_0": "a copy with rank_1, rank_2, rank_3", "rank_4": "a copy with rank_5, rank_6, rank_7"},
                       "who has the copies: %s" % notes)
    alone = test.work / "unknown"
    save(alone, 2, 1, None, [])
    trial = report_of(test, alone)
    message = {r["rule"]: (r["status"], r["message"]) for r in trial["rules"]}["ReplicaDivergence"]
    test.checks.expect(message[0] == "NoData" and "does not say what workers along some axis have" in message[1], "unknown: %s" % (message,))


def check_missing(test):
    root = test.work / "missing"
    save(root, 2)
    shutil.rmtree(root / "step-20" / "rank_1")
    trial = report_of(test, root)
    test.checks.expect(findings(trial) == [("ExplodingTensor", 30, "embed.weight", "*"), ("MissingWorker", 20, "", "rank_1")],
                       "a missing worker: %s" % findings(trial))
    holes = test.work / "holes"
    save(holes, 2, 1, lambda step, rank, own: own.pop("embed.weight") if (step, rank) == (20, 1) else None)
    trial = report_of(test, holes, code=3)
    problems = [(p["kind"], p["step"]) for p in trial["problems"]]
    test.checks.expect(problems == [("incomplete-tensor", 20)] and "embed.weight" in trial["problems"][0]["text"] and
                       "rank_1" in trial["problems"][0]["text"], "a hole: %s" % trial["problems"])
    odd = test.work / "odd"
    save(odd, 2, 1, lambda step, rank, own: own.update({"embed.weight": own["embed.weight"][:, :5]}) if (step, rank) == (20, 1) else None)
    trial = report_of(test, odd, code=3)
    said = {(p["kind"], "embed.weight" in p["text"] and "cannot be put together" in p["text"]) for p in trial["problems"]}
    test.checks.expect(said == {("damaged-record", True)}, "pieces that do not fit: %s" % trial["problems"])


def check_wrong(test):
    root, good = test.work / "tp2", json.loads((test.work / "tp2" / "topology.json").read_text())
    path = test.work / "wrong.json"
    spoil = {"no such key": (lambda t: t.update(tensor=[]), "unknown key"),
             "axes": (lambda t: t["meshes"].update(other={"axes": [["ep", 3]]}), "meshes.other"),
             "one place": (lambda t: t.update(workers={"rank_1": {"dense": {"tp": 0}}}), "rank_0 and rank_1 are at one place"),
             "too few": (lambda t: t["meshes"].update(dense={"axes": [["dp", 1], ["tp", 1]]}), "rank_1"),
             "parts": (lambda t: t["tensors"][0]["split"]["tp"].update(parts=[0.5]), "tensors[0].split.tp.parts")}
    for name, (change, said) in spoil.items():
        wrong = copy.deepcopy(good)
        change(wrong)
        path.write_text(json.dumps(wrong))
        for argv in (["topology", root, "--topology", path],
                     ["run", test.work / "topology-job.json", "--trial", root, "--topology", path, "--out", test.work / "no", "--quiet"]):
            done = run([test.args.assay, *argv])
            test.checks.expect(done.code == 2 and said in done.err and done.err.count("error:") == 1, "%s: %s" % (name, done))
    job = dict(JOB, trials=[{"path": str(root), "topology": good}])
    path.write_text(json.dumps(job))
    done = run([test.args.assay, "run", path, "--out", test.work / "inside", "--quiet"])
    test.checks.expect(done.code == 0, "a topology in the job: %s" % done)


def check_command(test):
    root = test.work / "tp2"
    done = run([test.args.assay, "topology", root])
    test.checks.expect(done.code == 0 and json.loads(done.out) == json.loads((root / "topology.json").read_text()) and "put together" in done.err,
                       "what is there: %s" % done)
    for preset in ("megatron", "fsdp", "deepspeed", "hf-tp"):
        axes = "dp=2" if preset == "fsdp" else "dp=1,tp=2"
        done = run([test.args.assay, "topology", root, "--preset", preset, "--axes", axes])
        made = json.loads(done.out) if done.code == 0 else {}
        test.checks.expect(made.get("schema") == "assay-topology/1" and made.get("tensors"), "%s: %s" % (preset, done))
    done = run([test.args.assay, "topology", root, "--preset", "megatron", "--axes", "tp=two"])
    test.checks.expect(done.code == 2 and "--axes" in done.err, "axes: %s" % done)


# groups of 16 ranks, as Megatron-LM makes them for tp 2, cp 2, dp 2, pp 2; and experts over ep 4
MEGATRON = {"TENSOR_MODEL_PARALLEL_GROUP": [[r, r + 1] for r in range(0, 16, 2)],
            "CONTEXT_PARALLEL_GROUP": [[r, r + 2] for r in range(16) if not r & 2],
            "DATA_PARALLEL_GROUP_WITH_CP": [[r, r + 2, r + 4, r + 6] for r in (0, 1, 8, 9)],
            "PIPELINE_MODEL_PARALLEL_GROUP": [[r, r + 8] for r in range(8)],
            "EXPERT_MODEL_PARALLEL_GROUP": [list(range(r, r + 4)) for r in range(0, 16, 4)],
            "EXPERT_DATA_PARALLEL_GROUP": [[r, r + 4] for r in (0, 1, 2, 3, 8, 9, 10, 11)],
            "INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP": [list(range(16))]}


def groups_of(rank, groups=None):
    return [(name, ranks) for name, list_ in (groups or MEGATRON).items() for ranks in list_ if rank in ranks]


def write_dump(path, rank, pickled, groups=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    config = {str(i): {"name": str(i), "desc": name, "ranks": str(ranks)} for i, (name, ranks) in enumerate(groups_of(rank, groups))}
    dump = {"version": "2.9", "pg_config": config, "pg_status": {}, "entries": []}
    path.write_bytes(pickle.dumps(dump, 2) if pickled else json.dumps(dict(sorted(dump.items()))).encode())


def write_trace(path, rank, older):
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [{"ph": "X", "cat": "kernel", "name": "nccl", "ts": 1, "dur": 2,
               "args": {"Process Group Name": "7", "Process Group Description": name, "Process Group Ranks": str(ranks)}}
              for name, ranks in groups_of(rank)]
    config = [{"pg_name": str(i), "pg_desc": name, "ranks": ranks} for i, (name, ranks) in enumerate(groups_of(rank))]
    info = {} if older else {"distributedInfo": {"rank": rank, "pg_config": config}}
    trace = {"schemaVersion": 1, **info, "traceEvents": events if older else [{"ph": "M"}] * 10}
    path.write_bytes(gzip.compress(json.dumps(trace).encode()))


def check_groups(test):
    """A mesh of process groups: of dumps and traces, in a trial, beside it or elsewhere; what is no axis is said, and why."""
    wanted = {"dense": {"axes": [["pp", 2], ["dp", 2], ["cp", 2], ["tp", 2]]}, "expert": {"axes": [["pp", 2], ["edp", 2], ["ep", 4]]}}
    root = test.work / "groups" / "run"
    save(root, 4, 4, tensors=[], steps=(10,))
    (root / "topology.json").unlink()
    dumps = test.work / "groups" / "elsewhere"
    for rank in range(16):
        write_dump(dumps / ("nccl_trace_rank_%d" % rank), rank, rank % 2)
    for place, argv in ((dumps, [root, "--groups", dumps]), (root / "traces", [root]), (root.parent / "nccl_dumps", [root]), (dumps, [dumps])):
        if place.name == "traces":
            for rank in range(16):
                write_trace(place / ("run.rank%d.pt.trace.json.gz" % rank), rank, rank % 2)
        elif not place.exists():
            shutil.copytree(dumps, place)
        done = run([test.args.assay, "topology", *argv])
        made = json.loads(done.out) if done.code == 0 else {}
        test.checks.expect(made.get("meshes") == wanted, "%s: %s, %s" % (place.name, made.get("meshes"), done.err))
        at = made.get("workers", {}).get(("worker_%d" if argv[0] == dumps else "rank_%d") % 13)
        test.checks.expect(at == {"dense": {"pp": 1, "dp": 1, "cp": 0, "tp": 1}, "expert": {"pp": 1, "edp": 1, "ep": 1}},
                           "%s: rank 13 is at %s" % (place.name, at))
        own = place.name == "traces"  # the trial's own: what `assay run` makes of them
        test.checks.expect(("peers" in done.out) if own else "linear_fc1" in done.out and "16 flight-recorder dumps" in done.err,
                           "%s: %s" % (place.name, done.err))
        if place.parent == root:
            shutil.rmtree(place)
    (test.work / "groups.json").write_text(done.out)
    done = run([test.args.assay, "topology", root, "--topology", test.work / "groups.json"])
    test.checks.expect(done.code == 0, "what was printed: %s" % done)
    for rank in (0, 1):
        write_dump(test.work / "groups" / "odd" / ("_dump_%d" % rank), rank, True, {"mesh_tp": [[0, 1], [1, 2, 3]]})
    (test.work / "groups" / "odd" / "_dump_2").write_bytes((dumps / "nccl_trace_rank_1").read_bytes()[:100])
    done = run([test.args.assay, "topology", root, "--groups", test.work / "groups" / "odd"])
    test.checks.expect(done.code == 4 and "tell no axis" in done.err and "could not be read: _dump_2" in done.err, "groups that are no axis: %s" % done)
    (test.work / "groups" / "odd" / "_dump_2").unlink()
    done = run([test.args.assay, "topology", root, "--groups", test.work / "groups" / "odd"])
    test.checks.expect(done.code == 2 and "tell no axis" in done.err, "groups that are no axis, and all were read: %s" % done)
    done = run([test.args.assay, "topology", root, "--groups", test.work / "nothing"])
    test.checks.expect(done.code == 2 and "nothing" in done.err, "no such place: %s" % done)


def check_numbers(test):
    """Workers that count their steps differently: pieces of steps of different numbers are not put together, and that is said."""
    made = Made(test.work / "numbers", 2)
    for first, worker in ((0, "worker_0"), (2, "worker_1")):
        for step in (0, 1):
            made.step(first + step, "TRAIN", step, {worker: {"fc": numpy.ones((2, 3), "float32"), "loss": 0.5}})
    made.end()
    (made.folder / "topology.json").write_text(json.dumps({
        "schema": "assay-topology/1", "meshes": {"m": {"axes": [["tp", 2]]}},
        "tensors": [{"match": "fc", "split": {"tp": {"axis": 0}}}, {"match": "loss", "own": ["tp"]}]}))
    trial = report_of(test, made.folder, code=3)
    test.checks.expect(trial and [p["kind"] for p in trial["problems"]] == ["incomplete-tensor"] and
                       "count their steps differently" in trial["problems"][0]["text"], "numbers: %s" % (trial and trial["problems"]))
    done = run([test.args.assay, "ls", made.folder])
    test.checks.expect(done.code == 3 and "incomplete-tensor" in done.out, "numbers: %s" % done)
    made = Made(test.work / "modes", 2)
    for worker, steps in (("worker_0", (("TRAIN", 0), ("EVAL", 0), ("TRAIN", 1))), ("worker_1", (("TRAIN", 0), ("TRAIN", 1), ("EVAL", 0)))):
        for step, (mode, mode_step) in enumerate(steps):
            made.step(step, mode, mode_step, {worker: {"fc": numpy.ones((2, 3), "float32"), "loss": 0.5}})
    made.end()
    shutil.copy(test.work / "numbers" / "topology.json", made.folder)
    trial = report_of(test, made.folder, code=3)
    said = [p["text"] for p in trial["problems"]] if trial else []
    test.checks.expect(len(said) == 3 and "count their steps differently" in said[2], "one number with two modes: %s" % said)
    done = run([test.args.assay, "ls", made.folder])
    test.checks.expect(done.code == 3 and said and said[-1] in " ".join(done.out.split()), "one number with two modes: %s" % done)


def check_mesh(test):
    """16 x 8 x 8 workers: 16 copies of tensors that 8 x 8 workers share."""
    root, rng = test.work / "mesh", numpy.random.default_rng(1)
    whole = {"fc.weight": rng.normal(0, 1, (64, 64)).astype("float32"), "norm.weight": rng.normal(0, 1, 8).astype("float32")}
    for rank in range(1024):
        ep, tp = rank // 8 % 8, rank % 8
        own = {"fc.weight": whole["fc.weight"][8 * ep:8 * ep + 8, 8 * tp:8 * tp + 8], "norm.weight": whole["norm.weight"]}
        save_safetensors(root / "step-10" / ("rank_%d" % rank) / "model.safetensors", own)
    (root / "topology.json").write_text(json.dumps({
        "schema": "assay-topology/1", "meshes": {"m": {"axes": [["dp", 16], ["ep", 8], ["tp", 8]]}},
        "tensors": [{"match": "fc", "split": {"tp": {"axis": 1}, "ep": {"axis": 0}}, "replicate": ["dp"]},
                    {"match": "norm", "replicate": ["dp", "ep", "tp"]}]}))
    trial = report_of(test, root, [1, test.args.ranks[-1]], ["--memory", "128M"])
    counts = {r["rule"]: r["datapoints"] for r in trial["rules"]} if trial else {}
    test.checks.expect(counts.get("ReplicaDivergence") == 2048 and counts.get("ExplodingTensor") == 16 + 1024 and not findings(trial),
                       "a mesh of 1024 workers: %s" % counts)


def main(test):
    (test.work / "topology-job.json").write_text(json.dumps(JOB))
    check_same(test)
    check_copies(test)
    check_missing(test)
    check_wrong(test)
    check_command(test)
    check_groups(test)
    check_numbers(test)
    check_mesh(test)


if __name__ == "__main__":
    check_all([main])
