#!/usr/bin/env python3
"""report.json without its `run` object has the same bytes at every rank count, with and without vector code.

    same_report.py --assay PROGRAM --ranks 1 2 3 ... -- TRIAL...
"""
import argparse
import hashlib
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import SUITE, TRIALS, Checks, mpirun  # noqa: E402


def body_of(report):
    """The bytes of the report without the last member, `run`; None when it is not the last one."""
    cut = report.rfind(b'"run":')
    if cut < 0 or not re.fullmatch(rb'"run":\s*\{[^{}]*(\{[^{}]*\}[^{}]*)*\}\s*\}\s*', report[cut:]):
        return None
    return report[:cut]


def analyse(assay, trial, ranks, where, env):
    out = Path(where) / ("out-%d-%s" % (ranks, "-".join(env.values())))
    done = mpirun(ranks, [assay, "run", SUITE, "--trial", TRIALS / trial, "--out", out, "--digest"], env=env)
    report = out / "report.json"
    digest = re.search(r"\b[0-9a-f]{64}\b", done.out)
    return done, body_of(report.read_bytes()) if report.exists() else None, digest and digest.group(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("trials", nargs="+")
    args = parser.parse_args()
    checks = Checks()
    runs = [(n, {}) for n in args.ranks] + [(n, {"ASSAY_SIMD": "scalar"}) for n in args.ranks[:3]]
    for trial in args.trials:
        with tempfile.TemporaryDirectory() as where:
            first = None
            for ranks, env in runs:
                name = "%s at %d ranks %s" % (trial, ranks, env or "")
                done, body, digest = analyse(args.assay, trial, ranks, where, env)
                if not checks.expect(done.code == 0 and body and digest, "%s: no report: %s" % (name, done)):
                    continue
                if first is None:
                    first = (body, digest)
                checks.expect(body == first[0], "%s: report.json differs from the first run's" % name)
                checks.expect(digest == first[1], "%s: the digest differs" % name)
                print("%-40s %s %s" % (name, digest[:16], hashlib.sha256(body).hexdigest()[:16]))
    checks.done()


if __name__ == "__main__":
    main()
