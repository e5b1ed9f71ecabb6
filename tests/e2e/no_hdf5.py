#!/usr/bin/env python3
"""A build without parallel HDF5 says so wherever it is asked to write it, once, with exit code 2, and does everything else: also
reading packed trials.

    no_hdf5.py --assay PROGRAM
"""
import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, SUITE, TRIALS, Checks, run  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay = parser.parse_args().assay
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        trial = TRIALS / "linreg_nan"
        out = folder / "out"
        for argv in (["pack", trial, "-o", out], ["run", SUITE, "--trial", trial, "--reports", "hdf5", "--out", out],
                     ["stats", trial, "-o", folder / "s.h5"]):
            done = run([assay] + argv)
            said = [line for line in done.err.splitlines() if "error" in line]
            checks.expect(done.code == 2 and len(said) == 1 and "no parallel HDF5" in said[0], "%s: %s" % (argv, done))
        checks.expect(not list(folder.iterdir()), "something was written: %s" % list(folder.iterdir()))
        packed = ROOT / "tests" / "data" / "packed" / "small.h5"
        done = run([assay, "ls", packed])
        checks.expect(done.code == 0 and "worker_0, worker_1" in done.out, "reading a packed trial: %s" % done)
        done = run([assay, "stats", trial, "-o", folder / "s.csv"])
        checks.expect(done.code == 0 and (folder / "s.csv").read_text().startswith("trial,step,"), "stats as text: %s" % done)
    checks.done()


if __name__ == "__main__":
    main()
