#!/usr/bin/env python3
"""What writes or compares something of a trial says that a part of it could not be read: never exit 0.

    partly_read.py --assay PROGRAM --ranks N...
"""
import argparse
import os
import shutil
import sys
import tempfile
import unittest.mock
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import records  # noqa: E402
from launch import ROOT, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402

FORMATS = ROOT / "tests" / "data" / "formats"


def cut(path):
    os.truncate(path, path.stat().st_size - 7)  # of records that lie behind one another the last one is lost


def directory(path):
    path.unlink()
    path.mkdir()


def pipe(path):
    path.unlink()
    os.mkfifo(path)


CHANGES = {"cut": cut, "gone": Path.unlink, "directory": directory, "pipe": pipe}
SUBJECTS = (("smdebug", "*.tfevents"), ("npy", "*.npy"), ("checkpoint", "model-00001-of*.safetensors"))


def commands(trial, sound, out):
    """Of each command its name, its arguments, and whether it names the file (it may leave that to `assay ls`)."""
    yield "pack", ["pack", trial, "-o", out / "packed.h5"], False
    yield "pack --compress", ["pack", trial, "-o", out / "compressed.h5", "--compress"], False
    yield "stats", ["stats", trial, "--out", out / "stats.csv"], True
    yield "stats on stdout", ["stats", trial], True
    yield "diff", ["compare", "--tensors", trial, sound], True
    yield "diff, turned", ["compare", "--tensors", sound, trial], True
    yield "compare", ["compare", "a=%s" % trial, "b=%s" % sound, "--out", out / "compared"], True
    yield "run", ["run", trial, "--out", out / "report", "--reports", "csv"], True
    yield "ls", ["ls", trial], True
    if any(trial.rglob("*.safetensors")):
        yield "seal", ["seal", trial], True
        yield "verify", ["verify", trial], True


def check_command(checks, argv, place, said, name, ranks):
    what, arguments, names = said
    done = run([*argv, *arguments]) if ranks == 1 else mpirun(ranks, [*argv, *arguments])
    text = "".join((done.out + done.err).split())  # a line may break within a name
    codes = {1, 3, 5} | ({2} if what == "seal" else set())  # what is no file cannot be sealed at all
    checks.expect(done.code in codes and not done.hung, "%s, %s on %d: %s" % (place, what, ranks, done))
    checks.expect(not names or name in text, "%s, %s on %d does not name %s: %s" % (place, what, ranks, name, done))
    checks.expect(names or "assayls" in text, "%s, %s on %d: %s" % (place, what, ranks, done))


def summed_records(folder):
    """A recording with checksums of its own, of which a value is another; the file's name."""
    with unittest.mock.patch("made.frame", lambda payload: records.frame(payload, True)):
        trial = Made(folder, 2)
        for step in range(2):
            trial.step(step, "TRAIN", step, {w: {"a": numpy.full(4, 7.0 + step, "float32"), "b": numpy.ones(300, "float32")} for w in trial.workers})
        trial.end()
    return folder / "events/000000000001/000000000001_worker_1.tfevents"


def summed_archives(folder):
    folder.mkdir(parents=True)
    for step in range(2):
        numpy.savez(folder / ("step_%d.npz" % step), a=numpy.full(4, 7.0 + step, "float32"))
    return folder / "step_1.npz"


def check_sums(checks, assay, work, ranks, pack):
    """A value is not what its checksum says: whoever reads or packs it says so."""
    for make in (summed_records, summed_archives):
        trial, sound, out = (Path(work) / make.__name__ / name for name in ("trial", "sound", "out"))
        make(sound)
        path = make(trial)
        data = path.read_bytes()
        at = data.index(numpy.full(4, 8.0, "float32").tobytes())
        path.write_bytes(data[:at + 2] + bytes([data[at + 2] ^ 4]) + data[at + 3:])
        for said in [*commands(trial, sound, out), ("show", ["show", trial, "--regex", "a"], True), ("verify", ["verify", trial], True)]:
            if said[0] == "ls" or (said[0].startswith("pack") and not pack):  # ls says what it looks at
                continue
            for n in ranks if said[0] in ("pack", "compare", "run") else [1]:
                shutil.rmtree(out, True)
                out.mkdir()
                check_command(checks, [assay], make.__name__, (*said[:2], True), path.name, n)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--no-pack", action="store_true")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as work:
        done = run([args.assay, "ls", FORMATS / "smdebug"])  # which reads one record of each tensor
        checks.expect(done.code == 0 and "Everything" not in done.out and "No damage in what a list looks at" in done.out, "ls: %s" % done)
        for kind, pattern in SUBJECTS:
            for how, change in CHANGES.items():
                if kind == "npy" and how == "gone":
                    continue  # no index says what there was; docs/npy.md
                trial, out = Path(work) / kind / how / "trial", Path(work) / kind / how
                shutil.copytree(FORMATS / kind, trial)
                path = sorted(trial.rglob(pattern))[0]
                change(path)
                for said in commands(trial, FORMATS / kind, out):
                    if said[0].startswith("pack") and (args.no_pack or kind != "smdebug"):
                        continue  # of the others the index is in the files: what is not there, nobody misses
                    several = said[0] in ("pack", "diff", "compare", "run")
                    for ranks in args.ranks if several else args.ranks[:1]:
                        for made in (out / "packed.h5", out / "compared", out / "report"):
                            shutil.rmtree(made, True) if made.is_dir() else made.unlink(True)
                        check_command(checks, [args.assay], "%s: %s of %s" % (kind, how, path.name), said, path.name, ranks)
                    if said[0] == "pack" and how in ("directory", "pipe"):
                        done = run([args.assay, "unpack", out / "packed.h5", "-o", out / "unpacked"])
                        checks.expect(done.code == 3 and "could not be read" in done.err, "unpack: %s: %s" % (how, done))
        check_sums(checks, args.assay, work, args.ranks, not args.no_pack)
    checks.done()


if __name__ == "__main__":
    main()
