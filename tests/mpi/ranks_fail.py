#!/usr/bin/env python3
"""A file that a rank above 0 cannot open or read is told as one that rank 0 cannot: the file is named, and the exit code says so.

    ranks_fail.py --assay PROGRAM --ranks N...        ASSAY_FAIL_PATH: the library tests/laws/fail_path.c; ASSAY_NO_PACK=1: no HDF5
"""
import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoints import save_safetensors  # noqa: E402
from launch import ROOT, Checks, mpirun  # noqa: E402
from reports import body_of  # noqa: E402

import numpy  # noqa: E402

RECORDING = ROOT / "tests" / "data" / "formats" / "smdebug"
FAULTS = ("open 13", "read 5")  # EACCES, EIO


def made_checkpoints(place):
    for step in (100, 200, 300):
        (place / ("checkpoint-%d" % step)).mkdir(parents=True)
        values = numpy.random.default_rng(step).normal(size=(64, 8)).astype("float32")
        save_safetensors(place / ("checkpoint-%d" % step) / "model.safetensors", {"w": values})


def commands(trial, series, out):
    """Of each command its name, its arguments, what the fault befalls, and the report that is compared besides."""
    events, models = sorted(trial.rglob("*.tfevents")), sorted(series.rglob("*.safetensors"))
    yield "run", ["run", trial, "--out", out / "report"], events, out / "report" / "report.json"
    yield "compare", ["compare", "--tensors", trial, RECORDING], events, None
    yield "verify", ["verify", series], models, None
    if os.environ.get("ASSAY_NO_PACK") != "1":
        yield "pack", ["pack", trial, "-o", out / "packed.h5"], events, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as work:
        trial, series, out = (Path(work) / name for name in ("trial", "series", "out"))
        shutil.copytree(RECORDING, trial)
        made_checkpoints(series)
        for what, arguments, files, report in commands(trial, series, out):
            for ranks in args.ranks:
                plain = one(args.assay, arguments, out, ranks, {})
                checks.expect(plain.code == 0, "%s without a fault: %s" % (what, plain))
                whole, shown = said(plain, report), 0
                for fault, rank in ((fault, rank) for fault in FAULTS for rank in range(ranks)):
                    shim = {"LD_PRELOAD": os.environ["ASSAY_FAIL_PATH"], "FAIL_RANK": str(rank),
                            "FAIL_PATHS": "\n".join("%s %s" % (fault, path) for path in files)}
                    done = one(args.assay, arguments, out, ranks, shim)
                    name = "%s, %s on rank %d of %d" % (what, fault, rank, ranks)
                    if done.code == 0 and said(done, report) == whole:
                        continue  # this rank has read none of the files
                    shown += rank > 0
                    text = "".join((done.out + done.err).split())
                    checks.expect(done.code in (1, 3, 4) and not done.hung, "%s: %s" % (name, done))
                    checks.expect(any(path.name in text for path in files) or done.code == 3 and "assayls" in text, "%s names no file: %s" % (name, done))
                checks.expect(shown > 0, "%s on %d ranks: no fault showed on a rank above 0" % (what, ranks))
    checks.done()


def said(done, report):
    return body_of(report.read_bytes()) if report and report.exists() else done.out


def one(assay, arguments, out, ranks, env):
    shutil.rmtree(out, True)
    out.mkdir()
    return mpirun(ranks, [assay, *arguments], env=env)


if __name__ == "__main__":
    main()
