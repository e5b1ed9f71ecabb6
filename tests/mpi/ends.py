#!/usr/bin/env python3
"""A rank that aborts in MPI_Finalize changes neither the report nor the exit code of the job.

    ends.py --assay PROGRAM --ranks N...       ASSAY_ABORT_AT_END: the library that makes ranks abort
"""
import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, SUITE, TRIALS, Checks, run  # noqa: E402
from reports import body_of  # noqa: E402

BY_RANK = ("--mca", "orte_allowed_exit_without_sync", "1")  # what a rank ends with counts, though it aborted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks = Checks()
    preload = {"LD_PRELOAD": os.environ["ASSAY_ABORT_AT_END"]}
    if "OpenRTE" not in run([LAUNCHER, "--version"]).out:
        print("another launcher than that of Open MPI up to 4 decides for itself")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        sound, damaged, out = TRIALS / "ddp_partial", Path(folder) / "damaged", Path(folder) / "out"
        shutil.copytree(sound, damaged)
        next(p for p in sorted(damaged.glob("index/*/*.json")) if "worker_1" in p.name).write_text("{}")
        for ranks in args.ranks:
            for trial, code in ((sound, 0), (damaged, 3)):
                bodies = set()
                for who in ("none", "0", str(ranks - 1), "all"):
                    for behind in (False, True):
                        for options in ((), BY_RANK):
                            shutil.rmtree(out, ignore_errors=True)
                            env = dict(preload, ASSAY_ABORT_RANK=who, **({"ASSAY_ABORT_BEHIND": "1"} if behind else {}))
                            done = run([LAUNCHER, *options, "-n", str(ranks), args.assay, "run", SUITE, "--trial", trial, "--quiet", "--out", out], env=env)
                            # Before a rank has said that it ends, mpirun takes 0 for a failure, which it calls 1.
                            wanted = 1 if code == 0 and who != "none" and not behind and not options else code
                            checks.expect(done.code == wanted, "%d ranks, %s aborts%s, %s: %s" % (ranks, who, " behind" if behind else "", options, done))
                            bodies.add(body_of(out))
                checks.expect(len(bodies) == 1 and None not in bodies, "%d ranks, exit %d: %d reports" % (ranks, code, len(bodies)))
    checks.done()


if __name__ == "__main__":
    main()
