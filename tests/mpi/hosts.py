#!/usr/bin/env python3
"""Ranks on several hosts (network namespaces with a network between them) give the report of one host.

    hosts.py --assay PROGRAM TRIAL...         needs root: without it the test is skipped, exit 77
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, SUITE, TRIALS, Checks, mpirun, run  # noqa: E402
from reports import body_of  # noqa: E402

TESTBED = ROOT / "tests" / "support" / "netns-testbed"
SHAPES = [(2, 2), (4, 3), (7, 3)]  # ranks, hosts


def check_trial(checks, assay, trial, bed, where):
    common = [assay, "run", SUITE, "--trial", TRIALS / trial, "--out"]
    alone = mpirun(1, common + [where / "alone"])
    if not checks.expect(alone.code == 0, "%s on one host: %s" % (trial, alone)):
        return
    expected = body_of((where / "alone" / "report.json").read_bytes())
    for ranks, hosts in SHAPES:
        out = where / ("hosts-%d" % ranks)
        done = run([TESTBED, "mpirun", bed, "-np", str(ranks), "--host",
                    ",".join("n%d:16" % (i + 1) for i in range(hosts))] + common + [out], timeout=120)
        name = "%s, %d ranks on %d hosts" % (trial, ranks, hosts)
        if checks.expect(done.code == 0 and (out / "report.json").exists(), "%s: %s" % (name, done)):
            report = (out / "report.json").read_bytes()
            figures = json.loads(report)["run"]
            checks.expect(body_of(report) == expected, "%s: report.json differs from one host's" % name)
            checks.expect(figures["nodes"] == min(ranks, hosts), "%s: it ran on %s hosts" % (name, figures["nodes"]))
            checks.expect(figures["ranks"] == ranks, "%s: it ran on %s ranks" % (name, figures["ranks"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("trials", nargs="+")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("SKIPPED: network namespaces need root")
        sys.exit(77)
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        bed = Path(folder) / "bed"
        subprocess.run([TESTBED, "start", bed, "3"], check=True)
        try:
            for trial in args.trials:
                where = Path(folder) / trial
                where.mkdir()
                check_trial(checks, args.assay, trial, bed, where)
        finally:
            subprocess.run([TESTBED, "stop", bed], check=True)
    checks.done()


if __name__ == "__main__":
    main()
