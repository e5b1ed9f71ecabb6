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


def write(folder, seed, calm=False, late=False):
    """A run whose score rises and whose events add up; `calm`: it has none; `late`: the score is logged over the last fifth alone."""
    rng, steps = numpy.random.default_rng(seed), 120
    t = numpy.arange(steps)
    loss = 2 * numpy.exp(-t / 40 + 0.02 * rng.normal(size=steps)) + 0.1
    score = t / steps + 0.005 * rng.normal(size=steps)
    events = 0 * t if calm else numpy.cumsum(rng.random(steps) < 0.2)
    folder.mkdir(parents=True)
    (folder / "metrics.csv").write_text("step,loss,score,skipped\n" + "".join(
        "%d,%.6g,%s,%d\n" % (i, loss[i], "" if late and i < 0.8 * steps else "%.6g" % score[i], events[i]) for i in t))


def numbers_that_prove_nothing(given, checks, folder):
    """No event at all is no tensor that was forgotten, and where a number was logged is not what it is."""
    runs = [folder / ("good-%02d" % i) for i in range(12)]
    for i, run in enumerate(runs):
        write(run, i)
    write(folder / "calm", 100, calm=True)
    write(folder / "late", 101, late=True)
    seen = set()
    for ranks in given.ranks:
        bands, out = folder / "bands.json", folder / "out"
        mpirun(ranks, [given.assay, "compare", *runs, "--learn", bands, "--out", out, "-q"])
        mpirun(ranks, [given.assay, "compare", folder / "calm", runs[0], "--against", bands, "--out", out, "-q"])
        calm = next(t for t in report_of(out)["bands"]["trials"] if t["name"] == "calm")
        checks.expect("still" not in [d["kind"] for d in calm["first"]], "events that never come: %s" % calm["first"][:3])
        mpirun(ranks, [given.assay, "compare", *runs, folder / "late", "--out", folder / "late-out", "-q"])
        odd = [one for one in report_of(folder / "late-out")["comparison"]["odd"] if "later half" in str(one)]
        checks.expect(odd == [], "a score over the last fifth: %s" % odd)
        seen.add((body_of(out), body_of(folder / "late-out")))
    checks.expect(len(seen) == 1, "numbers that prove nothing: reports differ between numbers of ranks")


def a_loss_and_a_rate(given, checks, folder):
    """The answer says both of a run whose learning rate was logged and whose loss rose: what went wrong, and with what."""
    rng, seen = numpy.random.default_rng(3), set()
    for i in range(12):
        loss = [2 + 0.01 * t if i == 4 else 2 * 0.97 ** t + 0.02 * rng.normal() for t in range(100)]
        (folder / ("run-%02d" % i)).mkdir(parents=True)
        (folder / ("run-%02d" % i) / "metrics.csv").write_text(
            "step,loss,lr\n" + "".join("%d,%.6g,%g\n" % (t, value, 3 if i == 4 else 0.1) for t, value in enumerate(loss)))
    for ranks in given.ranks:
        mpirun(ranks, [given.assay, "compare", str(folder / "run-*"), "--out", folder / "out", "-q"])
        seen.add(body_of(folder / "out"))
    (odd,) = report_of(folder / "out")["comparison"]["odd"]
    checks.expect(len(seen) == 1 and odd["trial"] == "run-04" and odd["reasons"][0].startswith("last loss 2.99, median 0."), "the loss: %s" % odd)
    checks.expect(odd["reasons"][1:] == ["metrics/lr is 3 in the later half of TRAIN, median 0.1"], "the rate: %s" % odd)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    given = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        numbers_that_prove_nothing(given, checks, Path(folder) / "apart")
        a_loss_and_a_rate(given, checks, Path(folder) / "rate")
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
