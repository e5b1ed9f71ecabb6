#!/usr/bin/env python3
"""What a few bytes declare costs no more than they are worth: memory stays within --memory, work grows with the bytes.

    budgets.py --assay PROGRAM [--count COUNT_WORK] [--no-curl]       COUNT_WORK: the program, which counts its work
"""
import argparse
import hashlib
import json
import math
import os
import pickle
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import dumps  # noqa: E402
import logs  # noqa: E402
import made_traces  # noqa: E402
import numpy  # noqa: E402
import s3  # noqa: E402
from checkpoints import save_dcp, save_npz, save_safetensors  # noqa: E402
from launch import TRIALS, Checks, run  # noqa: E402
from made import Made  # noqa: E402
from reports import report_of  # noqa: E402
from s3_server import HEAD, Server  # noqa: E402

JOB = {"rules": [{"rule": "ExplodingTensor"}, {"rule": "CheckpointStructure"}]}
SMALL, TIMES = 1000, 8


class Bench:
    def __init__(self, assay, count, folder):
        self.assay, self.count, self.folder, self.checks = assay, count, Path(folder), Checks()
        self.job = self.folder / "job.json"
        self.job.write_text(json.dumps(JOB))
        self.out = self.folder / "out"

    def run(self, trial, *more, env=None):
        return run([self.assay, "run", self.job, "--trial", trial, "--out", self.out, "--quiet", "--reports", "json", *more], env=env)


def missing_shards(folder, n):
    save_safetensors(folder / "step-1" / "model-00001-of-99999.safetensors", {"t0": numpy.ones(2, "float32")})
    names = {"t%d" % i: "model-%05d-of-99999.safetensors" % (i + 1) for i in range(n)}
    (folder / "step-1" / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))


def tensors_in_other_shards(folder, n):
    for f in range(2):
        save_safetensors(folder / "step-1" / ("model-%05d-of-00002.safetensors" % (f + 1)), {"t%d" % i: numpy.ones(1, "uint8") for i in range(f, n, 2)})
    names = {"t%d" % i: "model-%05d-of-00002.safetensors" % (2 - i % 2) for i in range(n)}
    (folder / "step-1" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))


def tensor_parallel_ranks(folder, n):
    import torch
    tag = folder / "global_step1"
    tag.mkdir()
    torch.save({"module": {"fc.weight": torch.ones(2)}, "param_shapes": None}, tag / "saved")
    saved = (tag / "saved").read_bytes()
    (tag / "saved").unlink()
    for rank in range(n // 16):
        (tag / ("mp_rank_%04d_model_states.pt" % rank)).write_bytes(saved)


def workers_of_a_topology(folder, n):
    for rank in range(2):
        save_safetensors(folder / "step-1" / ("rank_%d" % rank) / "model.safetensors", {"x": numpy.ones(4, "float32")})
    (folder / "topology.json").write_text(json.dumps({"schema": "assay-topology/1", "meshes": {"m": {"axes": [["a", n]]}},
                                                      "workers": {"rank_%d" % i: {"m": {"a": i}} for i in range(n)}}))


def unknown_keys(folder, n):
    Made(folder, 1, {"weights": "weight"}).step(1, "TRAIN", 1, {"x.weight": [1.0]}).end()
    index = next((folder / "index").rglob("*.json"))
    document = json.loads(index.read_text())
    document.update({"later%d" % i: i for i in range(n)})
    index.write_text(json.dumps(document))


def series_of_a_log(folder, n):
    names = ",".join("t%d/loss" % i for i in range(n))
    (folder / "metrics.csv").write_text("step,%s\n" % names + "".join("%d%s\n" % (step, ",1" * n) for step in range(2)))


def steps_of_a_log(folder, n):
    (folder / "metrics.csv").write_text("step,loss,lr\n" + "".join("%d,%g,0.1\n" % (i, 1 / (i + 1)) for i in range(n)))


def restarts_of_a_log(folder, n):
    (folder / "train.log").write_text("".join("step: %d loss: 2.5\n" % (i % 100 + i // 100) for i in range(n)))


def names_in_lines(folder, n):
    logs.write(folder / "train.log", "".join("step: %d t%d_loss: 2.5 lr: 0.1\n" % (i, i) for i in range(n)))


def rows_of_json(folder, n):
    logs.write(folder / "metrics.json", "".join('{"iteration": %d, "total_loss": 2.5, "parts": {"a%d": 1}}\n' % (i, i % 9) for i in range(n)))


def numbers_in_front(folder, n):
    logs.write(folder / "train.log", "".join("[%d]\ttrain-rmse:0.5\tvalid-rmse:0.6\n" % i for i in range(n)))


def columns_of_a_table(folder, n):
    logs.write(folder / "train.log", "epoch\tloss\n" + "".join("%d\t2.5\n" % i for i in range(n)))


def calls_of_a_dump(folder, n):
    tensor = {"type": "torch.Tensor", "Max": 1, "Min": 0, "Mean": 0.5, "Norm": 1}
    logs.write(folder / "step0" / "rank0" / "dump.json",
               json.dumps({"task": "statistics", "data": {"Module.%d.forward" % i: {"output": [tensor]} for i in range(n)}}))


def log_of(folder, n, *said):
    """All ranks say the first, then all say the second in another order, and so on."""
    (folder / "out.log").write_text("".join("[rank%d]: %s\n" % ((i * (7 * k + 1)) % n, text) for k, text in enumerate(said) for i in range(n)))


def open_tracebacks(folder, n):
    log_of(folder, n, "Traceback (most recent call last):", '  File "/a/train.py", line 7, in step', "ValueError: bad value")


def tracebacks_without_an_end(folder, n):
    log_of(folder, 16 * n, "Traceback (most recent call last):", "step 1")


def failures_of_a_launcher(folder, n):
    listed = "".join("[%d]:\n  time      : 2026-11-27_03:12:07\n  host      : n1\n  rank      : %d (local_rank: 0)\n  exitcode  : 1 (pid: 7)\n"
                     "  error_file: <N/A>\n  traceback : none\n" % (i, i) for i in range(n))
    (folder / "out.log").write_text("train.py FAILED\nFailures:\n%s============\n" % listed)


def recorded_calls(folder, n):
    world = dumps.Group("0", "default_pg", [0, 1])
    ranks = [dumps.Rank(r, [world]) for r in world.ranks]
    for rank in ranks:
        for i in range(n):
            rank.call(world, "all_reduce", state="scheduled" if i > n // 2 + rank.number else "completed")
    dumps.write(folder, ranks)


def recorded_groups(folder, n):
    groups = [dumps.Group(str(i), "group %d" % i, [0, 1]) for i in range(n // 10)]
    ranks = [dumps.Rank(r, groups) for r in range(2)]
    for rank in ranks:
        for group in groups:
            rank.call(group, "all_reduce", state="scheduled")
    dumps.write(folder, ranks)


def ranks_with_dumps(folder, n):
    dumps.write(folder, dumps.stuck(ranks=n // 20 // 2 * 2))


def steps_of_traces(folder, n):
    made_traces.write(folder, made_traces.job(ranks=2, steps=n // 20), packed=False)


def ranks_with_traces(folder, n):
    made_traces.write(folder, made_traces.job(ranks=n // 50 // 2 * 2, steps=2), packed=False)


def checkpoints_of_a_series(folder, n, frozen=False):
    for step in range(n // 4):
        save_safetensors(folder / ("checkpoint-%d" % step) / "model.safetensors", {"w": numpy.full(2, step, "float32")})
        if frozen:
            save_safetensors(folder / ("checkpoint-%d" % step) / "adapter.safetensors", {"a": numpy.ones(2, "float32")})


def checkpoints_with_a_frozen_file(folder, n):
    checkpoints_of_a_series(folder, n, True)


def logs_of_a_directory(folder, n):
    for run_number in range(n // 10):
        (folder / ("run_%d.csv" % run_number)).write_text("step,loss\n" + "".join("%d,%g\n" % (i, 1 / (i + 1)) for i in range(4)))


def tensors_of_a_header(folder, n):
    save_safetensors(folder / "step-1" / "model.safetensors", {"t%d" % i: numpy.ones(1, "uint8") for i in range(n)})


def entries_of_a_zip(folder, n):
    save_npz(folder / "step_1.npz", {"t%d" % i: numpy.ones(1, "uint8") for i in range(n // 4)})


def nodes_of_a_pickle(folder, n):
    import torch
    torch.save({"model": {"w": torch.ones(2)}, "state": {"k%d" % i: [i, {"a": i}] for i in range(n)}}, folder / "ckpt_1.pt")


def storages_of_an_old_file(folder, n):
    import torch
    torch.save({"model": {"t%d" % i: torch.ones(1) for i in range(n // 8)}}, folder / "ckpt_1.pt", _use_new_zipfile_serialization=False)


def pieces_of_a_distributed_checkpoint(folder, n):
    import torch
    save_dcp(folder / "step-1", {"t%d" % i: torch.ones(4) for i in range(n // 20)}, {}, 2)


def files_of_a_seal(folder, n):
    tag, files = folder / "checkpoint-1", []
    for i in range(n // 20):
        name = "part-%04d.safetensors" % i
        save_safetensors(tag / name, {"t%d" % i: numpy.ones(1, "float32")})
        content = (tag / name).read_bytes()
        files.append({"file": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "tensors": []})
    (tag / "assay-seal.json").write_text(json.dumps({"schema": "assay-seal/1", "step": 1, "files": files}))


def tensors_of_an_index(folder, n):
    Made(folder, 1, {"weights": "weight"}).step(1, "TRAIN", 1, {"t%d.weight" % i: [1.0] for i in range(n)}).end()


def steps_of_a_recording(folder, n):
    made = Made(folder, 1, {"weights": "weight"})
    for step in range(n // 10):
        made.step(step, "TRAIN", step, {"x.weight": [1.0]})
    made.end()


def workers_of_a_recording(folder, n):
    made = Made(folder, n // 20, {"weights": "weight"})
    made.step(1, "TRAIN", 1, {w: {"x.weight": [1.0]} for w in made.workers}).end()


def event_files_without_an_index(folder, n):
    made = Made(folder, n // 20, {"weights": "weight"})
    made.step(1, "TRAIN", 1, {w: {"x.weight": [1.0]} for w in made.workers}).end()
    for file in sorted(folder.glob("index/*/*.json"))[::2]:
        file.unlink()


def ranks_in_each_others_place(folder, n):
    ranks = n // 20 // 2 * 2
    for rank in range(ranks):
        place = folder / "iter_0000007" / ("mp_rank_%03d" % (rank ^ 1))
        place.mkdir(parents=True)
        arguments = {"tensor_model_parallel_size": ranks, "pipeline_model_parallel_size": 1, "world_size": ranks, "rank": rank}
        with zipfile.ZipFile(place / "model_optim_rng.pt", "w") as file:
            file.writestr("model_optim_rng/data.pkl", pickle.dumps({"iteration": 7, "model": {}, "args": arguments}, protocol=2))
            file.writestr("model_optim_rng/version", "3\n")


def fronts_of_an_output(folder, n):
    lines = ["node%d worker-%d> %s" % (i, i, text) for text in ("Traceback (most recent call last):", '  File "/a/train.py", line 7, in step', "ValueError: bad value") for i in range(n)]
    logs.write(folder / "out.log", "\n".join(lines) + "\n")


def last_words_of_outputs(folder, n):
    for rank in range(n // 4):
        logs.write(folder / ("rank_%d.log" % rank), "step 1 loss 2.0\nAbc%dFailed: no %s left on %d\n" % (rank, "xyz"[rank % 3] * 5, rank))


def names_of_a_collection(folder, n):
    Made(folder, 1, {"weights": "weight"}).step(1, "TRAIN", 1, {"x.weight": [1.0]}).end()
    path = next((folder / "collections").rglob("*.json"))
    document = json.loads(path.read_text())
    document["collections"]["weights"]["tensor_names"] = ["t%d.weight" % i for i in range(n)]
    path.write_text(json.dumps(document))


def collections_of_a_recording(folder, n):
    Made(folder, 1, {"c%d" % i: "^t%d$" % i for i in range(n // 10)}).step(1, "TRAIN", 1, {"x.weight": [1.0]}).end()


def pieces_of_a_topology(folder, n):
    for rank in range(2):
        save_safetensors(folder / "step-1" / ("rank_%d" % rank) / "model.safetensors", {"x": numpy.ones(4, "float32")})
    (folder / "topology.json").write_text(json.dumps({"schema": "assay-topology/1", "meshes": {"m": {"axes": [["a", 2]]}},
                                                      "tensors": [{"match": "^t%d$" % i, "replicate": ["a"]} for i in range(n // 10)]}))


def arrays_of_a_tree(folder, n):
    for i in range(n // 10):
        (folder / "step_1" / ("layer.%d" % i)).mkdir(parents=True)
        numpy.save(folder / "step_1" / ("layer.%d" % i) / "weight.npy", numpy.ones(2, "float32"))


def steps_of_a_tree(folder, n):
    for i in range(n // 10):
        (folder / ("step_%d" % i)).mkdir()
        numpy.save(folder / ("step_%d" % i) / "weight.npy", numpy.ones(2, "float32"))


def metrics_of_mlflow(folder, n):
    logs.mlflow(folder, logs.curve(2))
    for i in range(n // 10):
        logs.write(folder / ("mlruns/1/0a1b/metrics/m%d" % i), "1 0.5 1\n2 0.4 2\n")


def records_of_a_run_log(folder, n):
    logs.wandb(folder, [(i, 1 / (i + 1), None) for i in range(n)])


def scalars_of_an_event_file(folder, n):
    logs.tfevents(folder, [(i, 1 / (i + 1), None) for i in range(n // 4)])


def history_of_a_trainer(folder, n):
    logs.hf(folder, [(i, 1 / (i + 1), None) for i in range(n)])


def rows_of_a_database(folder, n):
    logs.database(folder, [(i, 1 / (i + 1), None) for i in range(n)])


def events_of_a_profiler(folder, n):
    rows = "".join('{"Type":"cpu","Name":"cpu%d","Dimension":"CPUUtilization","Value":20.25,"NodeId":"algo-1","Timestamp":%d.5}\n' % (i % 4, 1700006401 + i // 4)
                   for i in range(n))
    logs.write(folder / "system/incremental/2023111500/1700006400.algo-1.json", rows)


def spans_of_a_profiler(folder, n):
    logs.write(folder / "framework/pevents/2023111500/1700006402000000_0-algo-1_pythontimeline.json", json.dumps(
        [{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "Step"}}, {"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}}] +
        [{"name": "Step:ModeKeys.TRAIN", "pid": 0, "ph": "X", "ts": 1000 * i, "dur": 900, "args": {"step_num": str(i)}} for i in range(n)]))


def rows_of_slurm(folder, n):
    logs.write(folder / "slurm-7.out", "step 1 loss 2.0\n")
    logs.write(folder / "sacct.txt", "JobID|State|ExitCode|NodeList\n7|FAILED|1:0|n[1-%d]\n" % (4 * n) + "".join("7.%d|FAILED|1:0|n%d\n" % (i, i) for i in range(4 * n)))


def outputs_of_a_job(folder, n):
    for rank in range(n // 2):
        logs.write(folder / ("rank_%d.log" % rank), "step 1 loss 2.0\nstep 2 loss 1.0\n")


def dumps_of_a_job(folder, n):
    logs.write(folder / "slurm-7.out", "step 1 loss 2.0\n")
    dumps.write(folder, dumps.stuck(ranks=n // 40 // 2 * 2))


GROWTH = {"ls": (tensors_of_a_header, entries_of_a_zip, nodes_of_a_pickle, storages_of_an_old_file, pieces_of_a_distributed_checkpoint, tensors_of_an_index, steps_of_a_recording,
                 workers_of_a_recording, names_of_a_collection, collections_of_a_recording, pieces_of_a_topology, arrays_of_a_tree, steps_of_a_tree, metrics_of_mlflow,
                 records_of_a_run_log, scalars_of_an_event_file, history_of_a_trainer, rows_of_a_database, missing_shards, tensors_in_other_shards, unknown_keys, series_of_a_log, steps_of_a_log, restarts_of_a_log, names_in_lines,
                 rows_of_json, numbers_in_front, columns_of_a_table, calls_of_a_dump, tensor_parallel_ranks, workers_of_a_topology),
          "verify": (event_files_without_an_index, ranks_in_each_others_place, files_of_a_seal, pieces_of_a_distributed_checkpoint, arrays_of_a_tree, tensor_parallel_ranks, checkpoints_of_a_series, checkpoints_with_a_frozen_file),
          "why": (fronts_of_an_output, last_words_of_outputs, rows_of_slurm, outputs_of_a_job, dumps_of_a_job, open_tracebacks, tracebacks_without_an_end, failures_of_a_launcher),
          "run --dry-run": (logs_of_a_directory,),
          "run": (tensors_of_an_index, steps_of_a_recording, workers_of_a_recording, arrays_of_a_tree, events_of_a_profiler, spans_of_a_profiler, recorded_calls, recorded_groups, ranks_with_dumps, steps_of_traces, ranks_with_traces)}


def growth(b):
    """Eight times as much is not sixty-four times the work, which is counted in blocks of code: no clock has a say."""
    for command, make in ((command, make) for command, makes in GROWTH.items() for make in makes):
        blocks = []
        for n in (SMALL, SMALL * TIMES):
            folder = b.folder / command / make.__name__ / str(n)
            folder.mkdir(parents=True)
            make(folder, n)
            done = run([b.count, *command.split(), folder] + (["--quiet", "--out", b.out] if command.startswith("run") else []))
            count = int((done.err.split() or ["0"])[-1])
            b.checks.expect(done.code in (0, 1, 3) and count > n, "%s of %d: %s" % (make.__name__, n, done))
            blocks.append(count)
        exponent = math.log(blocks[1] / blocks[0], TIMES)
        print("%s, %s: %d blocks, then %d: exponent %.2f" % (command, make.__name__, *blocks, exponent))
        b.checks.expect(exponent < 1.2, "%s, %s: it grows with the power %.2f" % (command, make.__name__, exponent))


def pickles_within(b):
    """A pickle takes no more than half of --memory, and is refused before it is inflated where it is larger."""
    for name, code, text in (("nodes", b"}0" * (6 << 20), "takes more memory"), ("bytes", b"}0" * (24 << 20), "more than half of --memory")):
        folder = b.folder / ("pickle-" + name)
        folder.mkdir()
        with zipfile.ZipFile(folder / "step-1.pt", "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a/data.pkl", b"\x80\x02" + code + b"N.")
            file.writestr("a/version", "3\n")
        done = b.run(folder, "--memory", "64M")
        report = report_of(b.out)
        found = [p["text"] for p in report["trials"][0]["problems"]]
        b.checks.expect(done.code == 3 and any(text in t for t in found), "%s: %s %s" % (name, found, done))
        b.checks.expect(report["run"]["peak_memory"] < 80 << 20, "%s: %d bytes" % (name, report["run"]["peak_memory"]))


def topologies(b):
    """A topology takes no more than half of --memory, and neither does what was recorded of one."""
    def given(folder, text):
        save_safetensors(folder / "step-1" / "rank_0" / "model.safetensors", {"x": numpy.ones(4, "float32")})
        save_safetensors(folder / "step-1" / "rank_1" / "model.safetensors", {"x": numpy.ones(4, "float32")})
        (folder / "topology.json").write_text(text)

    def recorded(folder, text):
        Made(folder, 2, {"weights": "weight"}).step(1, "TRAIN", 1, {w: {"x.weight": [1.0]} for w in ("worker_0", "worker_1")}).end()
        (folder / "topology").mkdir()
        (folder / "topology" / "worker_0.json").write_text(text)

    head = '{"schema": "assay-topology/1", "meshes": {"m": {"axes": [["a", 2]]}}, "tensors": [%s]}'
    many, large = ({"match": "name%d$" % i} for i in range(60000)), ({"match": "(abcdefgh%d){900}" % i} for i in range(500))
    for name, make, text, code in (("many", given, head % ", ".join(map(json.dumps, many)), 2), ("large", given, head % ", ".join(map(json.dumps, large)), 2),
                                   ("values", given, head % ("1," * 1000000 + "1"), 2), ("recorded", recorded, '{"groups": [%s1]}' % ("1," * 1000000), 3)):
        folder = b.folder / ("topology-" + name)
        make(folder, text)
        done = b.run(folder, "--memory", "64M")
        said = done.err if code == 2 else json.dumps(report_of(b.out)["trials"][0]["problems"])
        b.checks.expect(done.code == code and "half of --memory" in said, "%s: %s %s" % (name, said, done))


def pages(b):
    """A server that gives two pages in turn, each time with another token, is not followed for ever."""
    count = 0

    def decide(number, method, path):
        nonlocal count
        if "list-type=2" not in path:
            return None
        count += 1
        keys = "".join("<Contents><Key>t/index/%d-%d</Key><Size>1</Size></Contents>" % (count % 2, i) for i in range(5))
        body = HEAD + "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>%s</ListBucketResult>" % (count, keys)
        return ("answer", 200, {}, body.encode())

    with Server(decide=decide) as server:
        server.client = None
        done = b.run("s3://b/t", env=s3.environment(server.port, server.key, server.secret))
        b.checks.expect(done.code not in (0, None) and "again and again" in done.out + done.err and count < 20, "%d pages: %s" % (count, done))


def prepared_outputs(b):
    """Links that somebody put into the output directory, and other names of a file, are not written through."""
    target = b.folder / "profile"
    target.write_text("# mine\n")
    place = b.folder / "prepared"
    place.mkdir()
    for name in ("report.json", "actions.log", "report.txt", "run.csv", "results.h5", "results.h5.part"):
        (place / name).symlink_to(target)
    job = b.folder / "actions.json"
    job.write_text(json.dumps(dict(JOB, actions=[{"notify": {"url": "http://127.0.0.1:9/"}, "on": "end"}])))
    done = run([b.assay, "run", job, "--trial", TRIALS / "linreg_nan", "--out", place, "--quiet", "--reports", "json,text"])
    b.checks.expect(target.read_text() == "# mine\n", "written through a link: %r" % target.read_text()[:200])
    other = b.folder / "shared"
    other.mkdir()
    os.link(target, other / "actions.log")  # another name of it
    run([b.assay, "run", job, "--trial", TRIALS / "linreg_nan", "--out", other, "--quiet", "--reports", "json,text"])
    b.checks.expect(target.read_text() == "# mine\n", "written through another name: %r" % target.read_text()[:200])
    b.checks.expect((place / "report.json").is_file() and not (place / "report.json").is_symlink(), "no report took the place of the link: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--count", help="without it, work is not counted")
    parser.add_argument("--no-curl", action="store_true", help="the build sends nothing and reads no S3")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(args.assay, args.count, os.path.realpath(folder))
        for case in ((growth,) if args.count else ()) + (pickles_within, topologies) + (() if args.no_curl else (pages, prepared_outputs)):
            case(b)
    b.checks.done()


if __name__ == "__main__":
    main()
