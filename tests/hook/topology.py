"""topology.py - trainings whose workers have pieces, recorded with the hook: the trial says itself which worker has which piece,
and commands speak of whole tensors.

Usage: topology.py WORK_DIR ASSAY

Each worker is a hook of its own, as workers never talk to each other; one process writes them all in turn. DTensor is that of
tests/support/dtensor.py.
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import torch

import assay_hook
from assay_hook import Layout

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from dtensor import DTensor, Mesh, Replicate, Shard, StridedShard  # noqa: E402

WORK, ASSAY = sys.argv[1:3]
STEPS = 3
ALL = {"tensor_regex": "."}
JOB = {"rules": [{"rule": "ExplodingTensor"}, {"rule": "ReplicaDivergence", "parameters": ALL}, {"rule": "MissingWorker"},
                 {"rule": "AllZero", "parameters": ALL}, {"rule": "UnchangedTensor", "parameters": ALL}, {"rule": "WeightUpdateRatio"},
                 {"rule": "GradientNotSynchronized"}]}


def fresh(name):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def run(*argv, code=0):
    done = subprocess.run([ASSAY, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code, (argv, done.returncode, done.stdout[-2000:], done.stderr[-3000:])
    return done


def report(trial, code=0, *options, job=None):
    out = trial.rstrip("/") + ".report"
    shutil.rmtree(out, ignore_errors=True)
    with open(os.path.join(WORK, "topology-job.json"), "w") as file:
        json.dump(job or JOB, file)
    run("run", os.path.join(WORK, "topology-job.json"), "--trial", trial, "--out", out, "--quiet", *options, code=code)
    with open(os.path.join(out, "report.json")) as file:
        return json.load(file)["trials"][0]


def findings(trial):
    return sorted((r["rule"], f["step"], f.get("tensor", ""), f["worker"]) for r in trial["rules"] for f in r["findings"])


def shown(trial, tensors=".", code=0):
    """The figures of all tensors, without the worker: whole tensors are alike however they are divided. Of copies one."""
    lines = run("show", trial, tensors, "--regex", "--csv", code=code).stdout
    head, *rows = lines.splitlines()
    at = head.split(",").index("worker")
    return [head] + sorted({",".join(row.split(",")[:at] + row.split(",")[at + 1:]) for row in rows})


# -- recordings


def open_hook(path, rank, world, **arguments):
    assay_hook._rank_and_workers = lambda: (rank, world)
    arguments = {"include_regex": ".", "save_config": assay_hook.SaveConfig(save_interval=1), "include_workers": "all",
                 **arguments}
    return assay_hook.Hook(path, **arguments)


def model(step):
    rng = numpy.random.default_rng(step)
    shapes = {"net.0.fc1.weight": (12, 6), "net.1.fc1.weight": (12, 6), "net.0.fc2.weight": (6, 12), "net.0.norm.weight": (6,),
              "net.odd.weight": (7, 3), "gradient/net.0.fc1.weight": (12, 6), "net.scale": (), "large.weight": (600, 500)}
    return {name: rng.normal(0, 1, shape).astype("float32") for name, shape in shapes.items()}


def record(path, world, save, learn=None, **arguments):
    """Each worker in turn: `learn(hook, rank)` says where it is, `save(hook, rank, step)` saves its tensors."""
    for rank in range(world):
        hook = open_hook(path, rank, world, **arguments)
        if learn:
            learn(hook, rank)
        hook.set_mode(assay_hook.modes.TRAIN)
        for step in range(STEPS):
            hook.step()
            save(hook, rank, step)
        counts = hook.counts()
        assert counts["errors"] == 0, counts
        hook.close()
    return path


def divide(name, value, parts, at):
    """(piece, layout) of a tensor-parallel rank."""
    dim = {"net.0.fc1.weight": 0, "net.1.fc1.weight": 0, "gradient/net.0.fc1.weight": 0, "large.weight": 0, "net.odd.weight": 0,
           "net.0.fc2.weight": 1}.get(name)
    if dim is None:
        return value, Layout(value.shape, replica=at)
    pieces = numpy.array_split(value, parts, dim)
    offset = [0] * value.ndim
    offset[dim] = sum(piece.shape[dim] for piece in pieces[:at])
    return pieces[at], Layout(value.shape, offset)


ENTRIES = [{"match": "^scalar/|^texts$", "replicate": ["tp"]}]


def save_divided(tp, change=None):
    def save(hook, rank, step):
        for name, value in model(step).items():
            piece, layout = divide(name, value, tp, rank % tp)
            layout.replica += rank // tp * tp
            if change:
                piece = change(name, rank, step, piece)
            hook.save_tensor(name, piece, layout=layout)
        hook.save_scalar("loss", 1.0 / (step + 1))
    return save


def learn_tp(dp, tp):
    return lambda hook, rank: hook.set_topology({"dp": (dp, rank // tp), "tp": (tp, rank % tp)}, tensors=ENTRIES)


def test_same_at_any_tp():
    seen = {}
    for tp in (1, 2, 4):
        path = record(fresh("tp%d" % tp), tp, save_divided(tp), learn_tp(1, tp))
        trial = report(path)
        assert not trial["problems"], trial["problems"]
        merged = [(r["rule"], r["status"], [{k: v for k, v in f.items() if k != "worker"} for f in r["findings"]])
                  for r in trial["rules"] if r["rule"] not in ("ReplicaDivergence", "MissingWorker", "GradientNotSynchronized")]
        seen[tp] = json.dumps([merged, shown(path)], sort_keys=True)
        datapoints = {r["rule"]: r["datapoints"] for r in trial["rules"]}

        # 6 tensors are divided; norm, scale and loss are copied: every copy is tested
        assert datapoints["ExplodingTensor"] == STEPS * (6 + 3 * tp), datapoints
        assert findings(trial) == [], findings(trial)
    assert seen[1] == seen[2] == seen[4] and len(seen[1]) > 1000, [len(s) for s in seen.values()]
    index = json.load(open(os.path.join(WORK, "tp2/index/000000000/000000000000_worker_1.json")))
    item = {i["tensorname"]: i for i in index["tensor_payload"]}["net.0.fc2.weight"]
    assert (item["global_shape"], item["offset"], item["replica"]) == ([6, 12], [0, 6], 0), item
    done = run("topology", os.path.join(WORK, "tp4"))
    made = json.loads(done.stdout)
    assert made["meshes"] == {"mesh": {"axes": [["dp", 1], ["tp", 4]]}} and "recorded with the tensors" in done.stderr, done
    first = {e["match"]: e for e in made["tensors"]}
    assert first["^net\\.\\d+\\.fc1\\.weight$"]["split"] == {"tp": {"axis": 0}}, first  # both layers share it


def test_copies():
    def one_ulp(name, rank, step, piece):
        if name == "net.0.norm.weight" and rank == 3 and step == 1:
            piece = piece.copy()
            piece[2] = numpy.nextafter(piece[2], numpy.float32(9))
        return piece
    path = record(fresh("copies"), 4, save_divided(2, one_ulp), learn_tp(2, 2))
    trial = report(path)
    assert findings(trial) == [("ReplicaDivergence", 1, "net.0.norm.weight", "worker_3")], findings(trial)
    assert trial["rules"][1]["datapoints"] > 0
    return path


def test_which_worker():
    """What is not provable of a worker is not said of it: a fault in one of two copies, an element of a copy in pieces. What lacks is
    laid to the worker that lacks it, and a piece that two have to both."""
    def change(name, rank, step, piece):
        if name == "net.0.fc1.weight" and rank == 0 and step == 1:
            piece = piece.copy()
            piece[2, 1] = numpy.nextafter(piece[2, 1], numpy.float32(9))
        if name == "net.1.fc1.weight" and rank == 1 and step == 2:
            piece = piece.copy()
            piece[2, 1] = numpy.nan
        return piece
    path = record(fresh("which"), 4, save_divided(2, change), learn_tp(2, 2))
    trial = report(path)
    assert trial["rules"][0]["first_cause"]["text"].startswith(
        "the update before step 2 made net.1.fc1.weight of the copy of worker_0 and worker_1 NaN"), trial["rules"][0]["first_cause"]
    job = {"rules": [{"rule": "ReplicaDivergence", "parameters": {"tensor_regex": "net.0"}}]}
    report(path, job=job)
    said = run("run", os.path.join(WORK, "topology-job.json"), "--trial", path, "--out", path + ".report").stdout
    first = " ".join(said.split("Trial")[0].split())
    assert first.startswith("net.0.fc1.weight of worker_2 differed from the other workers' copies at TRAIN step 1, no majority, so nothing says "
                            "which copy is right (ReplicaDivergence)"), first

    def without(hook, rank, step):
        for name, value in model(step).items():
            piece, layout = divide(name, value, 4, rank)
            if name == "net.0.fc2.weight" and rank == 1:
                layout.offset = (0, 0)  # says that it has worker_0's
            if name != "net.0.fc1.weight" or rank != 2 or step != 1:
                hook.save_tensor(name, piece, layout=layout)
    trial = report(record(fresh("which"), 4, without, learn_tp(1, 4)), 3)
    problems = {p["kind"]: p for p in trial["problems"]}
    assert "worker_2 has no piece" in problems["incomplete-tensor"]["text"], problems
    assert problems["incomplete-tensor"]["file"].endswith("worker_2.tfevents"), problems
    assert "worker_0 (6x3 of 6x12 at 0,0) and worker_1 (6x3 of 6x12 at 0,0) say the same piece" in problems["damaged-topology"]["text"], problems


def test_packed_and_watched(path):
    """The packed trial has the same report, also without the directory; watching puts tensors together, too."""
    packed = path + ".h5"
    if os.path.exists(packed):
        os.remove(packed)
    run("pack", path, "--out", packed, "--quiet")
    wanted = report(path)
    found = report(packed)
    for part in ("rules", "problems"):
        assert json.dumps(found[part]) == json.dumps(wanted[part]), (part, found[part], wanted[part])
    assert json.loads(run("topology", packed).stdout) == json.loads(run("topology", path).stdout)
    out = path + ".watch"
    shutil.rmtree(out, ignore_errors=True)
    run("watch", os.path.join(WORK, "topology-job.json"), "--trial", path, "--out", out, "--every", "0.1", "--quiet")
    with open(os.path.join(out, "report.json")) as file:
        watched = json.load(file)["trials"][0]
    assert json.dumps(watched["rules"]) == json.dumps(wanted["rules"]), (watched["rules"], wanted["rules"])


def test_watched_while_it_grows():
    """What is evaluated step by step comes to what is there in the end; a worker that is late makes tensors wait."""
    path = fresh("grows")
    hooks = [open_hook(path, rank, 2) for rank in range(2)]
    save = save_divided(2)
    for rank, hook in enumerate(hooks):
        learn_tp(1, 2)(hook, rank)
        hook.set_mode(assay_hook.modes.TRAIN)
    out = path + ".watch"
    shutil.rmtree(out, ignore_errors=True)
    watch = subprocess.Popen([ASSAY, "watch", os.path.join(WORK, "topology-job.json"), "--trial", path, "--out", out, "--every", "0.05",
                              "--quiet"], stderr=subprocess.PIPE, text=True)
    for step in range(STEPS):
        for rank, hook in enumerate(hooks):
            hook.step()
            save(hook, rank, step)
            hook.save_tensor("late.weight", model(step)["net.0.norm.weight"], layout=Layout((6,), replica=rank)) if step == 1 else None
            hook.flush()
    for hook in hooks:
        hook.close()
    said = watch.communicate(timeout=50)[1]
    assert watch.returncode == 0, said
    with open(os.path.join(out, "report.json")) as file:
        watched = json.load(file)["trials"][0]
    wanted = report(path)
    assert json.dumps(watched["rules"]) == json.dumps(wanted["rules"]), (watched["rules"], wanted["rules"])


def placements(names, table):
    return [table.get(name, Replicate()) for name in names]


def test_distributed_tensors():
    """Every kind of placement on meshes of several axes; what is shown is what one worker would have saved."""
    fc1, fc2, odd, norm, large = "net.0.fc1.weight", "net.0.fc2.weight", "net.odd.weight", "net.0.norm.weight", "large.weight"
    cases = {
        "tp": ((4,), ("tp",), {fc1: {"tp": Shard(0)}, odd: {"tp": Shard(0)}, fc2: {"tp": Shard(1)}}),
        "uneven": ((5,), ("tp",), {odd: {"tp": Shard(0)}, norm: {"tp": Shard(0)}, fc1: {"tp": Shard(1)}}),
        "fsdp_tp": ((2, 2), ("dp_shard", "tp"),
                    {fc1: {"dp_shard": StridedShard(0, 2), "tp": Shard(0)}, large: {"dp_shard": Shard(0), "tp": Shard(1)},
                     fc2: {"dp_shard": Shard(0), "tp": Shard(0)}, norm: {"dp_shard": Shard(0)}}),
        "five": ((2, 2, 2, 1, 2), ("pp", "dp", "cp", "ep", "tp"), {fc1: {"tp": Shard(0), "cp": Shard(1)}, fc2: {"tp": Shard(1)}}),
    }
    for case, (sizes, names, table) in cases.items():
        world = int(numpy.prod(sizes))

        def save(hook, rank, step):
            mesh = Mesh(sizes, names, rank)
            for name, value in model(step).items():
                hook.save_tensor(name, DTensor(torch.from_numpy(value), mesh, placements(names, table.get(name, {}))))

        def learn(hook, rank):
            hook.set_topology(Mesh(sizes, names, rank))
        path = record(fresh("d_" + case), world, save, learn)
        whole = record(fresh("d_whole"), 1, lambda h, rank, step: [h.save_tensor(n, v) for n, v in model(step).items()])
        assert shown(path) == shown(whole), (case, set(shown(path)) ^ set(shown(whole)))
        trial = report(path)
        assert not trial["problems"] and findings(trial) == [], (case, trial["problems"][:3], findings(trial)[:3])
        assert not any(row["unknown"] for row in unknown(path)), case


def unknown(path):
    done = run("topology", path)
    line = [line for line in done.stderr.splitlines() if "are put together" in line][0]
    return [{"unknown": int(line.split(", of ")[1].split(" ")[0])}]


def test_boxes_alone():
    """Pieces without a mesh: one is made of the boxes. What does not make one whole stays each worker's."""
    def save(hook, rank, step):
        value = model(step)["large.weight"]
        rows, columns = rank // 2 * 250, rank % 2 * 300
        piece = value[rows:rows + (250 if rank < 2 else 350), columns:columns + (300 if rank % 2 == 0 else 200)]
        hook.save_tensor("large.weight", piece, layout=Layout(value.shape, (rows, columns)))
        half = rank // 2 * 4
        hook.save_tensor("twice.weight", value[half:half + 4], layout=Layout((8, 500), (half, 0)))  # twice, and nobody says copies
        hook.save_tensor("sum.weight", value[:2] * rank, layout=Layout((2, 500), replica=0, partial=True))
    path = record(fresh("boxes"), 4, save)
    whole = record(fresh("boxes_whole"), 1, lambda h, rank, step: h.save_tensor("large.weight", model(step)["large.weight"]))
    assert shown(path, "large") == shown(whole, "large")
    trial = report(path)
    assert not trial["problems"], trial["problems"]
    assert not [f for f in findings(trial) if f[0] == "ReplicaDivergence"], findings(trial)


def test_class_counts():
    """Of labels that several workers have copies of one is counted; of a worker's own ones all."""
    job = os.path.join(WORK, "counts.json")
    with open(job, "w") as file:
        json.dump({"rules": [{"rule": "AllZero", "parameters": ALL}],
                   "aggregations": [{"name": "classes", "kind": "class_counts", "labels_regex": "labels$"}]}, file)
    for dp, tp in ((1, 1), (1, 4), (2, 2)):
        entries = [{"match": "labels", "own": ["dp"], "replicate": ["tp"]}]
        path = record(fresh("labels"), dp * tp, lambda hook, rank, step: hook.save_tensor("labels", numpy.array([0, 1, 1, 2 + rank // tp])),
                      lambda hook, rank: hook.set_topology({"dp": (dp, rank // tp), "tp": (tp, rank % tp)}, tensors=entries))
        run("run", job, "--trial", path, "--out", path + ".report", "--quiet")
        with open(path + ".report/report.json") as file:
            counted = json.load(file)["trials"][0]["aggregations"][0]["classes"]
        wanted = {"0": STEPS * dp, "1": 2 * STEPS * dp, "2": STEPS, **({"3": STEPS} if dp > 1 else {})}
        assert counted == wanted, (dp, tp, counted, wanted)


def test_pieces_that_do_not_fit():
    """Overlapping pieces, holes, different shapes: one message that names the tensor, and the others are put together."""
    for what, offset, whole in (("overlap", (5, 0), (12, 6)), ("hole", (7, 0), (13, 6)), ("disagree on its shape", (6, 0), (12 + 1, 6))):
        def save(hook, rank, step):
            save_divided(2)(hook, rank, step)
            of = whole if rank or what == "hole" else (12, 6)
            half = numpy.full((6, 6), rank, "float32")
            hook.save_tensor("odd.1.weight", half, layout=Layout(of, offset if rank else (0, 0)))
            hook.save_tensor("odd.2.weight", half, layout=Layout((12, 6), (6 * rank, 0)))
            hook.save_tensor("optimizer/odd.3.weight/exp_avg", half, layout=Layout((12, 6), (6 * rank, 0)))
            hook.save_tensor("odd.3.weight", half, layout=Layout((6, 6), (0, 0), replica=rank))
        path = record(fresh("unfit"), 2, save, learn_tp(1, 2))
        trial = report(path, 3)
        texts = [p["text"] for p in trial["problems"]]
        named = {"overlap": "overlap: worker_0 (6x6 of 12x6 at 0,0) and worker_1 (6x6 of 12x6 at 5,0)",
                 "hole": "leave a hole: 6 of 78 elements are nobody's"}.get(what, what)
        assert len(texts) == 1 and "odd.1.weight" in texts[0] and named in texts[0], (what, texts)
        for name, shape in (("odd.1.weight", "6x6"), ("odd.2.weight", "12x6"), ("odd.3.weight", "6x6"),
                            ("optimizer/odd.3.weight/exp_avg", "12x6")):
            rows = csv.DictReader(run("show", path, "^%s$" % name, "--regex", "--csv", code=3).stdout.splitlines())
            assert {row["shape"] for row in rows} == {shape}, (what, name)
        assert shown(path, "fc1", 3) == shown(os.path.join(WORK, "tp1"), "fc1")


def test_figures_of_pieces():
    """Statistics and digests are of one worker's piece, wherever they are taken: so is a finding."""
    for form in ("statistics", "digest"):
        for device in ("cpu", "none"):
            def save(hook, rank, step):
                hook._host = device
                for name, value in model(step if rank == 0 else 0).items():
                    piece, layout = divide(name, value, 2, rank)
                    hook.save_tensor(name, torch.from_numpy(numpy.ascontiguousarray(piece)), layout=layout)
            path = record(fresh("figures"), 2, save, learn_tp(1, 2), record=form)
            with open(os.path.join(path, "topology", "worker_1.json")) as file:
                assert "net.0.fc1.weight" in {item["tensorname"] for item in json.load(file)["layouts"]}, (form, device)
    found = findings(report(path, job={"rules": [{"rule": "UnchangedTensor", "parameters": {"tensor_regex": "fc1", "num_steps": 2}}]}))
    assert found and {worker for *_, worker in found} == {"worker_1"}, found


def test_missing_worker():
    path = record(fresh("missing"), 4, save_divided(4), learn_tp(1, 4))
    for folder, _, files in list(os.walk(path)):
        for name in files:
            if "worker_2" in name and "000000000001" in name:
                os.remove(os.path.join(folder, name))
    trial = report(path)
    rule = [r for r in trial["rules"] if r["rule"] == "MissingWorker"][0]
    assert [f["worker"] for f in rule["findings"]] == ["worker_2"], rule
    assert "cannot be put together" in rule["findings"][0].get("note", ""), rule["findings"]
    assert not trial["problems"], trial["problems"]


def test_damaged():
    path = record(fresh("damaged"), 2, save_divided(2), learn_tp(1, 2))
    place = os.path.join(path, "topology", "worker_1.json")
    whole = open(place).read()
    said = re.sub(', "crc32c": "[0-9a-f]{8}"', "", whole)  # as it was written before there were checksums
    for text, wanted in ((whole.replace("^scalar", "^scalaq"), "its checksum is not that of its bytes"),
                         (said.replace('"layouts"', '"layoutz"'), 'key "layoutz" stands where "layouts" should'),
                         (said.replace('"offset"', '"offzet"', 1), 'key "offzet" stands where "offset" should'), (said[:len(said) // 2], "topology/worker_1.json"),
                         (said.replace('"offset": [6, 0]', '"offset": [9, 0]'), "leaves its tensor"),
                         (said.replace('"at": [0, 1]', '"at": [0, 2]'), "below the size of its axis"), ("[]", "not a JSON object")):
        with open(place, "w") as file:
            file.write(text)
        trial = report(path, 3)
        kinds = {p["kind"] for p in trial["problems"]}
        assert "damaged-topology" in kinds and any(wanted in p["text"] for p in trial["problems"]), (wanted, trial["problems"])
        assert not [f for f in findings(trial) if f[0] == "ReplicaDivergence"], findings(trial)  # pieces are no copies
    with open(place, "w") as file:
        file.write(said)
    assert not report(path)["problems"]
    place = os.path.join(path, "topology", "worker_0.json")
    said = re.sub(', "crc32c": "[0-9a-f]{8}"', "", open(place).read())
    with open(place, "w") as file:
        file.write(said.replace("^scalar/|^texts$", "("))
    texts = [p["text"] for p in report(path, 3)["problems"]]
    assert len(texts) == 1 and "tensors[0]: match" in texts[0] and "no tensors are put together" in texts[0], texts
    with open(place, "w") as file:
        file.write(said)


def test_refused():
    path = fresh("refused")
    hook = open_hook(path, 0, 2)
    library, handle = assay_hook._lib, hook._handle
    for mesh in ({"TP": (2, 0)}, {"tp": (2, 2)}, {"tp": (0, 0)}, {}):
        assert assay_hook.assay_hook_topology.set_topology(library, handle, "m", mesh, None) < 0, mesh
    assert assay_hook.assay_hook_topology.set_topology(library, handle, "m", {"tp": (2, 0)}, "{}") < 0
    hook.step()
    assert assay_hook.assay_hook_topology.set_topology(library, handle, "m", {"tp": (2, 0)}, None) < 0  # too late
    hook.close()


def test_groups():
    """Process groups by their names, as a process that has some of torch.distributed knows them."""
    from assay_hook_topology import _process_groups

    class Group:
        def __init__(self, desc):
            self.group_desc = desc

    class World:
        pg_group_ranks = {Group("default_pg"): {r: r for r in range(4)}, Group("undefined"): {0: 0},
                          Group("TENSOR_MODEL_PARALLEL_GROUP"): {2: 0, 3: 1}}
        pg_names = {}

    class C10d:
        _world = World

    class Distributed:
        distributed_c10d = C10d
    assert dict(_process_groups(Distributed)) == {"TENSOR_MODEL_PARALLEL_GROUP": [2, 3]}

    def learn(hook, rank):
        tp, dp = [rank // 2 * 2, rank // 2 * 2 + 1], [rank % 2, rank % 2 + 2]
        for name, ranks in (("TENSOR_MODEL_PARALLEL_GROUP", tp), ("DATA_PARALLEL_GROUP", dp)):
            numbers = assay_hook.assay_hook_topology._numbers(ranks)
            assert assay_hook._lib.assay_hook_add_group(hook._handle, name.encode(), 2, numbers) == 0
    path = record(fresh("groups"), 4, save_divided(2), learn)
    made = json.loads(run("topology", path).stdout)
    assert made["meshes"] == {"dense": {"axes": [["dp", 2], ["tp", 2]]}}, made["meshes"]
    assert made["workers"]["worker_3"] == {"dense": {"dp": 1, "tp": 1}}
    assert shown(path, "weight") == shown(os.path.join(WORK, "tp1"), "weight")


def test_files_of_another_worker():
    """A file of a worker lies in the place of another's, or both in each other's: it is named, and counts for nobody."""
    names = {"events": "events/000000000001/000000000001_%s.tfevents", "index": "index/000000000/000000000001_%s.json",
             "topology": "topology/%s.json", "run": "run/%s.json"}
    for kind, name in names.items():
        for swap in (True, False):
            path = Path(record(fresh("whose"), 2, save_divided(2), learn_tp(1, 2)))
            one, other = (path / (name % worker) for worker in ("worker_0", "worker_1"))
            kept = one.read_bytes()
            one.write_bytes(other.read_bytes())
            if swap:
                other.write_bytes(kept)
            problems = report(str(path), 0 if kind == "run" else 3)["problems"]
            for worker in ("worker_0", "worker_1") if swap else ("worker_0",):
                told = [p["text"] for p in problems if p["file"] == name % worker]
                assert any("another worker" in t and "worker_%d" % (worker == "worker_0") in t for t in told), (kind, told)
            if kind in ("events", "index"):
                assert run("show", str(path), "--regex", "loss", code=3).stderr
            if kind != "run":
                run("compare", "a=%s" % path, "b=%s" % os.path.join(WORK, "tp2"), "--out", str(path) + ".report", "--quiet", code=3)


def main():
    os.makedirs(WORK, exist_ok=True)
    test_same_at_any_tp()
    test_packed_and_watched(test_copies())
    test_which_worker()
    test_watched_while_it_grows()
    test_distributed_tensors()
    test_boxes_alone()
    test_class_counts()
    test_pieces_that_do_not_fit()
    test_missing_worker()
    test_damaged()
    test_refused()
    test_groups()
    test_files_of_another_worker()


main()
