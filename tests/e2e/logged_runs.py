#!/usr/bin/env python3
"""Of good runs of which only numbers were logged none is odd; of groups with a faulty one that one alone is, and the answer names its number.

    logged_runs.py --assay PROGRAM --ranks 1 3

The runs are drawn by bench/accuracy/logged.py. Reports are the same bytes at every number of ranks.
"""
import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "bench" / "accuracy")]
import logged  # noqa: E402
import numpy  # noqa: E402
from launch import Checks, mpirun  # noqa: E402
from reports import body_of, report_of  # noqa: E402

SIZE = 15
NAMED = {"detection": "metrics/metrics/", "reinforcement": "ep_rew_mean", "language": "tokens_per_second", "classifier": "accuracy",
         "diffusion": "fid"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    given = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        for kind, number in NAMED.items():
            for fault in (False, True):
                runs, seen = Path(folder) / kind, set()
                logged.write_group(runs, kind, SIZE, numpy.random.default_rng(8), fault)
                for ranks in given.ranks:
                    out = Path(folder) / "report"
                    mpirun(ranks, [given.assay, "compare", str(runs / "*"), "--out", str(out), "-q"])
                    seen.add(body_of(out))
                odd = logged.odd_ones(report_of(out))
                what = "%s, %s" % (kind, "with a faulty run" if fault else "all good")
                checks.expect(len(seen) == 1, "%s: reports differ between numbers of ranks" % what)
                checks.expect(set(odd) == ({logged.FAULTY} if fault else set()), "%s: odd are %s" % (what, odd))
                checks.expect(not fault or number in str(odd), "%s: %s is not named: %s" % (what, number, odd))
    checks.done()


if __name__ == "__main__":
    main()
