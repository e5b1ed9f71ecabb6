#!/usr/bin/env python3
"""A trial with dumps of flight recorders or traces in it gets its topology from their process groups, where nothing else tells one: workers along
data-parallel axes are compared from the first step at which they were equal, and no others. What groups do not prove is never said, and what
contradicts a stronger source is one sentence. At any number of ranks the report is the same bytes.

    topology_groups.py --assay PROGRAM --ranks 1 2 3 ...
"""
import gzip
import itertools
import json
import pickle
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoint_trials import check_all  # noqa: E402
from launch import mpirun, run  # noqa: E402
from process_groups import GROUPS, ODD, STEPS, of_rank, record, write_dump  # noqa: E402
from reports import body_of  # noqa: E402

JOB = {"rules": [{"rule": "ReplicaDivergence", "parameters": {"tensor_regex": "weight"}},
                 {"rule": "GradientNotSynchronized", "parameters": {"tensor_regex": "weight", "never": True}},
                 {"rule": "DuplicateShard", "parameters": {"min_elements": 2, "num_steps": 1}},
                 {"rule": "MissingWorker"}, {"rule": "StragglerWorker"}]}


def write_trace(path, rank, groups, older=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [{"ph": "X", "cat": "kernel", "name": "nccl", "ts": 1, "dur": 2,
               "args": {"Collective name": "allreduce", "Process Group Name": "7", "Process Group Description": name, "Process Group Ranks": str(ranks)}}
              for name, ranks in of_rank(rank, groups)]
    config = [{"pg_name": str(i), "pg_desc": name, "pg_size": len(ranks), "ranks": ranks} for i, (name, ranks) in enumerate(of_rank(rank, groups))]
    info = {} if older else {"distributedInfo": {"rank": rank, "world_size": 8, "pg_config": config}}
    path.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, **info, "traceEvents": events}).encode()))


def dumps_of(folder, groups=GROUPS, ranks=range(8)):
    for rank in ranks:
        write_dump(folder / ("_dump_%d" % rank), rank, groups, rank % 2)


def traces_of(folder, groups=GROUPS):
    for rank in range(8):
        write_trace(folder / ("run.rank%d.pt.trace.json.gz" % rank), rank, groups, rank % 2)


class Cases:
    def __init__(self, test):
        self.test, self.expect, self.count = test, test.checks.expect, 0
        self.job = test.work / "groups-job.json"
        self.job.write_text(json.dumps(JOB))

    def fresh(self, **options):
        self.count += 1
        return record(self.test.work / ("run%d" % self.count), **options)

    def report(self, what, trial, ranks=(1,), options=(), code=0, command="run"):
        """The report, which is the same at every number of ranks."""
        bodies = set()
        for n in ranks:
            out = self.test.work / "out"
            shutil.rmtree(out, ignore_errors=True)
            done = mpirun(n, [self.test.args.assay, command, self.job, "--trial", trial, "--out", out, "--quiet", *options])
            if not self.expect(done.code == code and (out / "report.json").exists(), "%s at %d ranks: %s" % (what, n, done)):
                return None
            bodies.add(body_of((out / "report.json").read_bytes()))
        self.expect(len(bodies) == 1, "%s: the reports at %s ranks differ" % (what, ranks))
        return json.loads((out / "report.json").read_text())["trials"][0]

    def findings(self, trial):
        return sorted({(r["rule"], f["worker"]) for r in (trial or {"rules": []})["rules"] for f in r["findings"]})

    def said(self, trial):
        return [p["text"] for p in (trial or {"problems": []})["problems"] if p["kind"] == "process-groups"]


WITHOUT = [("DuplicateShard", "worker_%d" % w) for w in (1, 3, 4, 5, 6, 7)]  # no topology: tensor-parallel ranks seem to have twins
WITH = [("GradientNotSynchronized", "*"), ("ReplicaDivergence", "worker_6")]


def check_found(c):
    """Dumps in the root, dumps and traces in folders: what the ranks along dp have is compared, and nothing else."""
    alone = c.report("alone", c.fresh())
    c.expect([f for f in c.findings(alone) if f[0] == "DuplicateShard"] == WITHOUT and ("ReplicaDivergence", "worker_6") not in c.findings(alone),
             "without groups: %s" % c.findings(alone))
    wanted = None
    for place, write in (("", dumps_of), ("flight_recorder", dumps_of), ("traces", traces_of), ("", traces_of)):
        trial = c.fresh()
        write(trial / place)
        found = c.report("%s in %r" % (write.__name__, place), trial, c.test.args.ranks if place else (1, 3))
        c.expect(found and [f for f in c.findings(found) if f[0] in dict(WITH) or f[0] == "DuplicateShard"] == WITH and not c.said(found),
                 "%s in %r: %s, %s" % (write.__name__, place, c.findings(found), c.said(found)))
        shown = run([c.test.args.assay, "topology", trial])
        made = json.loads(shown.out)
        c.expect(made["meshes"] == {"dense": {"axes": [["pp", 2], ["dp", 2], ["tp", 2]]}} and made["workers"]["worker_6"] ==
                 {"dense": {"pp": 1, "dp": 1, "tp": 0}} and "split" not in shown.out and "replicate" not in shown.out, "topology: %s" % shown)
        wanted = wanted or made
        c.expect(made == wanted, "the same groups, another topology: %s" % made)
    trial = c.fresh()
    dumps_of(trial / "flight_recorder")
    wanted = c.report("in a folder", trial)
    watched = c.report("watched", trial, options=("--every", "0.1"), command="watch")
    packed = c.test.work / "packed.h5"
    run([c.test.args.assay, "pack", trial, "--out", packed, "--quiet"])
    for other in (watched, c.report("packed", packed)):
        c.expect(other and json.dumps(other["rules"]) == json.dumps(wanted["rules"]), "watched or packed: %s" % (other and other["rules"]))


def check_experts(c):
    """Experts are compared along their own data-parallel groups; flattened meshes are seen through."""
    trial = c.fresh()
    dumps_of(trial / "dumps", {**GROUPS, "EXPERT_MODEL_PARALLEL_GROUP": [[r, r + 2] for r in (0, 1, 4, 5)], "EXPERT_DATA_PARALLEL_GROUP":
                               [[r, r + 1] for r in (0, 2, 4, 6)]})
    made = json.loads(run([c.test.args.assay, "topology", trial]).out)
    c.expect([e.get("peers") for e in made["tensors"]] == [None, ["edp"], ["dp"]] and made["tensors"][1]["mesh"] == "expert", "experts: %s" % made["tensors"])
    trial = c.fresh()
    dumps_of(trial / "dumps", {"mesh_dp_replicate": [[r, r + 4] for r in range(4)], "mesh_dp_shard": [[r, r + 2] for r in (0, 1, 4, 5)],
                               "mesh_dp": [[r, r + 2, r + 4, r + 6] for r in (0, 1)], "mesh_tp": GROUPS["TENSOR_MODEL_PARALLEL_GROUP"]})
    made = json.loads(run([c.test.args.assay, "topology", trial]).out)
    c.expect(made["meshes"]["dense"]["axes"] == [["dp_replicate", 2], ["dp_shard", 2], ["tp", 2]] and
             [e.get("peers") for e in made["tensors"]] == [None, ["dp_replicate"]], "flattened: %s" % made)


def check_never(c):
    """What does not prove a topology changes nothing: the rules say what they say without it."""
    alone = c.report("alone", c.fresh())
    tp = GROUPS["TENSOR_MODEL_PARALLEL_GROUP"]
    cases = {
        "no groups but that of all": {"default_pg": [list(range(8))]},
        "groups without a meaning": {"default_pg": [list(range(8))], "undefined": tp, "my_group": [[0, 4]]},
        "data-parallel alone": {"default_pg": [list(range(8))], "mesh_dp": [list(range(8))]},
        "overlapping": {"mesh_tp": [[0, 1], [1, 2], [2, 3], [4, 5], [6, 7]]},
        "across": {"mesh_dp": [[0, 2], [1, 3], [4, 6], [5, 7]], "mesh_tp": [[0, 1], [3, 2], [4, 5], [6, 7]]},
        "longer than the world": {**GROUPS, "mesh_sp": [[0, 99]]},
        "two worlds": {**GROUPS, "default_pg": [list(range(8)), list(range(4))]},
    }
    for what, groups in cases.items():
        trial = c.fresh()
        dumps_of(trial / "dumps", groups)
        found = c.report(what, trial)
        c.expect(found and json.dumps(found["rules"]) == json.dumps(alone["rules"]) and not c.said(found), "%s: %s" % (what, c.findings(found)))
    for what, ranks in {"[0, 1, 99999999999999]": None, "[-1, 0]": None, "[0, 0]": None, "[]": None, "nonsense": None, "[0, ...]": None}.items():
        trial = c.fresh()
        for rank in range(8):
            write_dump(trial / "dumps" / ("_dump_%d" % rank), rank, {"default_pg": [list(range(8))]})
        config = {"1": {"name": "1", "desc": "TENSOR_MODEL_PARALLEL_GROUP", "ranks": what}, "2": {"name": "x" * 100000, "desc": 7, "ranks": {}}}
        (trial / "dumps" / "_dump_8").write_bytes(pickle.dumps({"version": "2.9", "pg_config": config}, 2))
        (trial / "dumps" / "_dump_9").write_bytes(b"\x80\x02cos\nsystem\n(S'touch pwned'\ntR.")
        found = c.report(what, trial)
        c.expect(found and json.dumps(found["rules"]) == json.dumps(alone["rules"]), "%s: %s" % (what, c.findings(found)))
    names = ["host%d-3" % w for w in range(8)]
    trial, same = c.fresh(names=names), c.fresh(names=names)
    dumps_of(trial / "dumps")
    found, wanted = c.report("names", trial), c.report("names", same)
    c.expect(found and json.dumps(found["rules"]) == json.dumps(wanted["rules"]), "workers that are not called by ranks: %s" % c.findings(found))


def check_missing(c):
    """Dumps of some ranks alone: what is left proves the mesh, or nothing is made of it."""
    made = set()
    for lost in itertools.chain(itertools.combinations(range(8), 1), [(0, 1), (0, 2), (0, 4), (2, 6), (0, 7), (0, 1, 2, 3), (1, 2, 3, 4, 5, 6, 7)]):
        trial = c.fresh()
        dumps_of(trial / "dumps", ranks=[r for r in range(8) if r not in lost])
        shown = run([c.test.args.assay, "topology", trial])
        meshes = json.dumps(json.loads(shown.out)["meshes"])
        made.add(meshes)
        found = c.report("without dumps of %s" % (lost,), trial)
        odd = [f for f in c.findings(found) if f[0] == "ReplicaDivergence"]
        c.expect(odd in ([], [("ReplicaDivergence", "worker_6")]), "without dumps of %s: %s" % (lost, odd))
        if len(lost) == 1:
            c.expect(odd and "pp" in meshes, "without the dump of rank %s: %s, %s" % (lost, odd, meshes))
    c.expect(len(made) > 1, "meshes: %s" % made)


def check_contradictions(c):
    """The stronger source counts, and one sentence says what contradicts it."""
    wide = {"default_pg": [list(range(8))], "mesh_tp": [[0, 1, 2, 3], [4, 5, 6, 7]], "mesh_dp": [[r, r + 4] for r in range(4)]}
    trial = c.fresh()
    dumps_of(trial / "dumps")
    traces_of(trial / "traces", wide)
    found = c.report("dumps and traces", trial, c.test.args.ranks)
    c.expect(c.said(found) == ["the axis tp has 2 places by flight-recorder dumps, and 4 by traces: the dumps count"] and
             ("ReplicaDivergence", "worker_6") in c.findings(found), "dumps and traces: %s" % c.said(found))
    (trial / "topology.json").write_text(json.dumps({"schema": "assay-topology/1", "meshes": {"m": {"axes": [["dp", 1], ["tp", 8]]}},
                                                     "tensors": [{"match": ".", "split": {"tp": {"axis": 0}}}]}))
    shutil.rmtree(trial / "traces")
    for options in ((), ("--topology", trial / "topology.json")):
        found = c.report("a file", trial, options=options)
        c.expect(c.said(found) == ["the axis dp has 1 place by the topology given, and 2 by process groups in 8 flight-recorder dumps: the former counts"],
                 "a file: %s" % c.said(found))
    trial = c.fresh()
    sixteen = {name: groups + [[r + 8 for r in one] for one in groups] for name, groups in GROUPS.items() if name != "default_pg"}
    for rank in range(16):
        write_dump(trial / "dumps" / ("_dump_%d" % rank), rank, sixteen)
    settings = c.fresh()
    dumps_of(settings / "dumps")
    (settings / "run").mkdir()
    (settings / "run" / "worker_0.json").write_text(json.dumps({"schema": "assay-run/1", "worker": "worker_0", "rank": 0, "workers": 8,
                                                                "config": {"pipeline_model_parallel_size": 2, "tensor_model_parallel_size": 4}}))
    for place, wanted in ((trial, "the trial is of 8 workers, and of 16 by process groups in 16 flight-recorder dumps: the former counts"),
                          (settings, "the axis tp has 4 places by the run's settings, and 2 by process groups in 8 flight-recorder dumps: the former counts")):
        found = c.report(wanted, place)
        c.expect(c.said(found) == [wanted] and ("ReplicaDivergence", "worker_6") not in c.findings(found), "%s: %s" % (wanted, c.said(found)))


def main(test):
    cases = Cases(test)
    check_found(cases)
    check_experts(cases)
    check_never(cases)
    check_missing(cases)
    check_contradictions(cases)


if __name__ == "__main__":
    check_all([main])
