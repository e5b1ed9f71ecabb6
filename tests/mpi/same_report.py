#!/usr/bin/env python3
"""report.json without its `run` object has the same bytes at every rank count, with and without vector code, and whether the
files are in memory or not, and whether tensors are measured at their step's turn or before.

    same_report.py --assay PROGRAM --ranks 1 2 3 ... -- TRIAL...
"""
import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import SUITE, TRIALS, Checks, mpirun  # noqa: E402
from reports import body_of, digest_of  # noqa: E402

WAYS_OF_READING = ["cold:1+", "cold:9+,short:1+,ahead:1+", "nowait:1,ahead:4+,slow:2@rank0", "cold:100,ahead:1+,slow:2@rank1"]  # base/fault.h


def analyse(assay, trial, ranks, where, env):
    out = Path(where) / ("out-%d-%s" % (ranks, "-".join(env.values())))
    done = mpirun(ranks, [assay, "run", SUITE, "--trial", TRIALS / trial, "--out", out, "--digest"], env=env)
    return done, body_of(out), digest_of(done.out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("trials", nargs="+")
    args = parser.parse_args()
    checks = Checks()
    runs = [(n, {}) for n in args.ranks] + [(n, {"ASSAY_SIMD": "scalar"}) for n in args.ranks[:3]]
    runs += [(n, {"ASSAY_FAULT": how}) for n, how in zip(args.ranks, WAYS_OF_READING)]
    for trial in args.trials:
        with tempfile.TemporaryDirectory() as where:
            first = None
            for ranks, env in runs:
                name = "%s at %d ranks %s" % (trial, ranks, env or "")
                done, body, digest = analyse(args.assay, trial, ranks, where, env)
                if not checks.expect(done.code == 0 and body and digest, "%s: no report: %s" % (name, done)):
                    continue
                checks.expect(digest == hashlib.sha256(body).hexdigest(), "%s: --digest is not that of the file" % name)
                if first is None:
                    first = body
                checks.expect(body == first, "%s: report.json differs from the first run's" % name)
                print("%-50s %s" % (name, digest))
    checks.done()


if __name__ == "__main__":
    main()
