#!/usr/bin/env python3
"""Checkpoints, trees of arrays, profiler data and topologies that lie, or that try to act outside of themselves.

    hostile_formats.py --assay PROGRAM [--ranks 1 3] [--only NAME]
"""
import gzip
import io
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import numpy  # noqa: E402
import torch  # noqa: E402
from checkpoints import save_dcp, save_npz, save_safetensors, save_sharded  # noqa: E402
from hostile_world import case, main, peak_of, problems  # noqa: E402
from launch import ROOT  # noqa: E402

MIB = 1 << 20
PROFILER = ROOT / "tests" / "data" / "events" / "profiler"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\udc80-\udcff]")


def sample(node, at, metric="CPUUtilization"):
    return '{"Type":"cpu","Name":"cpu0","Dimension":"%s","Value":1.0,"NodeId":"%s","Timestamp":%.6f}\n' % (metric, node, 1700006400 + at)


def system_file(trial, name="1700006400.algo-1.json"):
    path = trial / "system" / "incremental" / "2023111500" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def shared_dictionaries(trial):
    """Forty dictionaries, each with the one before it twice: 2^40 ways to one tensor."""
    below = {"x": torch.ones(2)}
    for _ in range(40):
        below = {"a": below, "b": below}
    torch.save({"model": below}, trial / "step_1.pt")


def long_paths(trial):
    """One key of a megabyte, four hundred times around ten thousand tensors: each name would have 400 MB."""
    key = "k" * MIB
    below = {"t%d" % i: torch.ones(1) for i in range(2000)}
    for _ in range(400):
        below = {key: below}
    torch.save({"model": below}, trial / "step_1.pt")


def repeated_chunks(trial):
    """Metadata that names one piece of a tensor a million times, at two bytes each."""
    save_dcp(trial / "step1", {"x": torch.arange(8.0)}, {}, 1)
    path = trial / "step1" / ".metadata"
    metadata = pickle.loads(path.read_bytes())
    chunks = next(iter(metadata.state_dict_metadata.values())).chunks
    chunks += [chunks[0]] * 1000000
    path.write_bytes(pickle.dumps(metadata, protocol=4))


def one_packed_line(trial):
    """A gibibyte of blanks, packed."""
    with gzip.open(system_file(trial, "1700006400.algo-1.json.gz"), "wb", 6) as out:
        for _ in range(1024):
            out.write(b" " * MIB)
        out.write(sample("algo-1", 0).encode())


def packed_lines(trial):
    """The same sample twelve million times, packed."""
    with gzip.open(system_file(trial, "1700006400.algo-1.json.gz"), "wb", 6) as out:
        block = sample("algo-1", 0).encode() * 10000
        for _ in range(1200):
            out.write(block)


def many_metrics(trial):
    """Two hundred thousand metrics of one sample each."""
    system_file(trial).write_text("".join(sample("algo-1", i, "metric %d" % i) for i in range(200000)))


def many_nodes(trial):
    system_file(trial).write_text("".join(sample("node-%d" % i, 0) for i in range(20000)))


def large_mesh(trial):
    """Two workers on a mesh for two thousand million, with sixty thousand entries."""
    for rank in range(2):
        save_safetensors(trial / "step-1" / ("rank_%d" % rank) / "model.safetensors", {"x": numpy.ones(4, "float32")})
    entries = [{"match": "name%d$" % i, "split": {"b": {"axis": 0}}, "replicate": ["a"]} for i in range(60000)]
    (trial / "topology.json").write_text(json.dumps({
        "schema": "assay-topology/1", "meshes": {"m": {"axes": [["a", 46000], ["b", 46000]]}},
        "tensors": entries + [{"match": "x", "split": {"b": {"axis": 0}}, "replicate": ["a"]}]}))


def fortran_bomb(trial):
    """Sixteen gibibytes of zeros in Fortran order, packed; the header of another one promises 2^62 elements."""
    out = io.BytesIO()
    header = b"{'descr': '<f4', 'fortran_order': True, 'shape': (16384, 16384), }"
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("x.npy", "w", force_zip64=True) as one:
            one.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
            for _ in range(1024):
                one.write(bytes(MIB))
    (trial / "1.npz").write_bytes(out.getvalue())


@case
def small_files(w):
    """Files of some megabytes at most cost neither minutes nor much more memory than was given."""
    most = {("many_metrics", "run"): 272, ("many_metrics", "ls"): 272, ("large_mesh", "ls"): 256}  # MiB; else 128: ls keeps all, and has no --memory
    for make in (shared_dictionaries, long_paths, repeated_chunks, one_packed_line, packed_lines, many_metrics, many_nodes, large_mesh,
                 fortran_bomb):
        trial = w.folder / make.__name__
        trial.mkdir()
        make(trial)
        for command in (["run", "--trial", trial, "--memory", "64M", "--quiet", "--out", w.folder / "out", "--reports", "json,text,html"],
                        ["ls", trial]):
            done, peak = peak_of([w.args.assay, *command])
            what = "%s: %s" % (make.__name__, command[0])
            w.expect(not done.hung and done.code in (0, 1, 2, 3), "%s: %s" % (what, done))
            w.expect(w.args.sanitized or peak < most.get((make.__name__, command[0]), 128) * MIB, "%s: %d MiB resident" % (what, peak // MIB))
        shutil.rmtree(trial)


# ---- what is no file ----

def checkpoint(trial):
    for step in (1, 2):
        save_sharded(trial / ("checkpoint-%d" % step), {"x": numpy.ones(4, "float32"), "y": numpy.ones(2, "float32")}, 2)
        (trial / ("checkpoint-%d" % step) / "trainer_state.json").write_text('{"global_step": %d}' % step)
        torch.save({"a": torch.ones(1)}, trial / ("checkpoint-%d" % step) / "optimizer.pt")
    (trial / "latest").write_text("checkpoint-2")
    (trial / "topology.json").write_text('{"schema": "assay-topology/1", "meshes": {"m": {"axes": [["dp", 1]]}}, "tensors": []}')


def mixed(trial):
    for step in (1, 2):
        save_dcp(trial / ("step%d" % step), {"x": torch.arange(4.0)}, {}, 1)
    save_npz(trial / "3.npz", {"x": numpy.arange(4, dtype="float32")})


def arrays(trial):
    for step in (1, 2):
        (trial / ("step_%d" % step)).mkdir(parents=True)
        numpy.save(trial / ("step_%d" % step) / "x.npy", numpy.ones(4, "float32"))


def profiler(trial):
    shutil.copytree(PROFILER, trial, dirs_exist_ok=True)
    for path in [trial, *trial.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def replaced(path, how):
    if how == "hole":
        os.truncate(path, 1 << 40)
        return
    path.unlink()
    if how == "pipe":
        os.mkfifo(path)
    elif how == "directory":
        path.mkdir()
    else:
        path.symlink_to({"zero": "/dev/zero", "terminal": "/dev/tty", "nowhere": "/nowhere"}[how])


# What changes nothing: a marker, what a writer has open, and what says of steps that directories are named after; zeros behind the last
# piece of a file; and directories, which may be called so.
QUIET = {"pipe": (), "zero": (), "nowhere": (), "hole": (".distcp",), "directory": (".npz", ".npy", ".pt")}
NEEDLESS = ("training_job_end.ts", ".tmp", "trainer_state.json", "latest")


@case
def no_files(w):
    """A pipe, a device, a directory, a link to nowhere or a hole of a terabyte in place of any file is named, and never waited for."""
    for make in (checkpoint, mixed, arrays, profiler):
        for how in ("pipe", "zero", "directory", "nowhere", "hole"):
            first, seen = w.folder / "first", set()
            first.mkdir()
            make(first)
            files = sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file())
            shutil.rmtree(first)
            for file in files:
                kind = re.sub("[0-9]+", "N", str(file))
                if kind in seen:
                    continue
                seen.add(kind)
                trial = w.folder / "trial"
                trial.mkdir()
                make(trial)
                replaced(trial / file, how)
                done = w.run("run", "--trial", trial, "--quiet", "--out", w.folder / "out", "--reports", "json")
                what = "%s in place of %s of %s" % (how, file, make.__name__)
                if w.expect(not done.hung and done.code in (0, 1, 2, 3), "%s: %s" % (what, done)) and done.code < 2:
                    report = json.loads((w.folder / "out" / "report.json").read_text())
                    quiet = file.name.endswith(NEEDLESS + QUIET[how])
                    w.expect(quiet or problems(report), "%s: nothing is said" % what)
                shutil.rmtree(trial)


@case
def missing(w):
    """A path that is missing is told without a look at all that lies around it, which may be a home or a file system."""
    place = w.folder / "around"
    for name in ("one", "two"):
        (place / "zz" / name).mkdir(parents=True)
        (place / "zz" / name / "metrics.csv").write_text("step,loss\n" + "".join("%d,%g\n" % (i, 1 / (1 + i)) for i in range(20)))
    done = w.run("run", "--trial", place / "absent", "--quiet")
    w.expect(done.code == 2 and 'holds no run "absent"; it holds zz/one, zz/two' in done.err, "beside two runs: %s" % done)
    for i in range(8200):
        (place / ("file-%d" % i)).touch()
    done = w.run("run", "--trial", place / "absent", "--quiet")
    w.expect(done.code == 2 and "absent: no such directory" in done.err, "beside many files: %s" % done)
    shutil.rmtree(place)


# ---- names ----

HOSTILE = ["\x1b[31mred\x07", "\x9b31m", "\u202eleft", "two\nlines", "a'b\"c $(touch X) `touch X`", "\u2028\ufeff", "-x"]


def named_checkpoint(trial, name):
    for step in (1, 2):
        for rank in range(2):
            save_safetensors(trial / ("step-%d" % step) / ("rank_%d" % rank) / "model.safetensors",
                             {name: numpy.array([1, numpy.inf], "float32"), "y": numpy.ones(2 + step, "float32")})
    (trial / "step-2" / ("%s.safetensors" % name)).write_bytes(b"bad")
    (trial / "topology.json").write_text(json.dumps({
        "schema": "assay-topology/1", "meshes": {name: {"axes": [["tp", 2]]}},
        "tensors": [{"match": "y", "split": {"tp": {"axis": 7}}}, {"match": ".", "replicate": ["tp"]}]}))


def named_torch(trial, name):
    torch.save({"model": {name: torch.ones(2)}, name: {"k": name}, "optimizer": {"state": {name: {name: torch.ones(2)}}}},
               trial / ("ckpt_1_%s.pt" % name.replace("\n", "")))
    torch.save({"model": {name: torch.ones(2, 2)}}, trial / "ckpt_2.pt")


def named_metrics(trial, name):
    system_file(trial).write_text("".join(sample(json.dumps(name)[1:-1], i, json.dumps(name)[1:-1]) for i in range(3)))
    path = trial / "framework" / "pevents" / "2023111500" / ("1700006402000000_0-%s_pythontimeline.json" % re.sub("[/_]", "", name))
    path.parent.mkdir(parents=True)
    path.write_text('[\n{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": %s, "start_time_since_epoch_in_micros": 1700006400000000}},\n'
                    '{"name": %s, "ph": "X", "ts": 1, "pid": 0, "dur": 5},\nno event\n' % (json.dumps(name), json.dumps(name)))


@case
def terminals(w):
    """No name of a checkpoint, worker, mesh, metric or event acts on a terminal or makes a line of its own, whatever command prints it."""
    out = w.folder / "out"
    for at, name in enumerate(HOSTILE):
        for make in (named_checkpoint, named_torch, named_metrics):
            trial = w.folder / ("%s %d" % (make.__name__, at))
            trial.mkdir()
            make(trial, name)
            commands = [["run", "--trial", trial, "--reports", "json,text,markdown", "--out", out], ["ls", trial], ["ls", trial, "--json"],
                        ["ls", trial, "--all"], ["verify", trial], ["verify", trial, "--json"],
                        ["show", trial, name], ["show", trial, "--metric", name], ["compare", trial, trial, "--tensors"],
                        ["topology", trial, "--preset", "hf-tp", "--axes", name], ["history", trial / name],
                        ["stats", trial, "-o", w.folder / "stats.csv"]]
            commands += [["show", trial, "--regex", ".", *more] for more in ([], ["--csv"], ["--json"])]
            commands += [["topology", trial]]
            for command in commands:
                shutil.rmtree(out, True)
                done = subprocess.run([str(c) for c in [w.args.assay, *command]], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
                files = [out / f for f in ("report.txt", "report.md", "report.json")]
                w.expect(0 <= done.returncode <= 4, "%s: exit %d: %s" % (command, done.returncode, done.stderr))
                for data in [done.stdout, done.stderr] + [p.read_bytes() for p in files if p.exists()]:
                    found = ACTS.search(os.fsdecode(data))
                    w.expect(not found, "%r in what `%s` printed" % (found, " ".join(str(c) for c in command)))
                if "\n" in name and "--csv" not in command:  # a field in quotes may have lines
                    w.expect(not re.search(rb"^lines", done.stdout + done.stderr, re.M), "a name makes a line of %s" % command)
    w.expect(not list(w.folder.rglob("X")), "a name was run")


@case
def closed_output(w):
    """With standard output closed commands that have something to say end with 4 and a message; on a full one with that, or their own code."""
    trial, recorded = w.folder / "checkpoint", w.trial("linreg_nan")
    trial.mkdir()
    checkpoint(trial)
    out = w.folder / "out"
    w.run("run", "--trial", recorded, "--quiet", "--out", out)
    commands = [["verify", trial], ["verify", trial, "--json"], ["topology", trial], ["compare", trial, trial, "--tensors"],
                ["history", out], ["history", out, "--json"], ["ls", trial], ["show", trial, "--regex", "."], ["rules"],
                ["ls", PROFILER], ["show", PROFILER, "--metric", "cpu"], ["stats", trial, "-o", w.folder / "stats.csv"],
                ["run", "--trial", trial, "--out", w.folder / "ran"]]
    for command in commands:
        words = [str(c) for c in [w.args.assay, *command]]
        plain = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
        closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
        w.expect(closed.returncode == (4 if plain.stdout else plain.returncode) and (b"standard output" in closed.stderr or not plain.stdout),
                 "%s, closed: exit %d: %s" % (command, closed.returncode, closed.stderr))
        with open("/dev/full", "w") as full:
            filled = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
        said = b"standard output" in filled.stderr
        w.expect((filled.returncode == 4 and said) or (filled.returncode == plain.returncode and (said or not plain.stdout)),
                 "%s, full: exit %d: %s" % (command, filled.returncode, filled.stderr))


if __name__ == "__main__":
    main()
