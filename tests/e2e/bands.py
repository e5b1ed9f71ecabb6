#!/usr/bin/env python3
"""Twelve good trainings are learned, twelve others of other seeds held against them: one at most is outside. So are all faulty ones.

    bands.py --assay PROGRAM --ranks 1 3 7

The trainings are real ones (bench/accuracy/bands_trainings.py), shortened. Bands and reports are the same bytes at every number of ranks.
"""
import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "bench" / "accuracy")]
import bands_trainings  # noqa: E402
import torch  # noqa: E402
from launch import Checks, mpirun  # noqa: E402
from reports import body_of, report_of  # noqa: E402

KIND, STEPS, GOOD, FIRST_SEED = "mlp-sgd", 160, 12, 3000
FAULTS = bands_trainings.FAULTS + ("few",)  # half the data over half the steps, and over as many


def record(folder):
    """Folders of the trainings to learn from, of other good ones and of the faulty ones."""
    def train(name, seed, fault=None):
        bands_trainings.train(KIND, str(folder / name), seed, fault, STEPS)
        return folder / name

    good = [train("good-%02d" % i, FIRST_SEED + i) for i in range(2 * GOOD)]
    return good[:GOOD], good[GOOD:], [train(fault, FIRST_SEED + 100, fault) for fault in FAULTS]


def check_same(checks, assay, ranks, folder, learned, held):
    """Learns and holds against at every number of ranks; returns the report of the last."""
    first = None
    for n in ranks:
        bands, out = folder / ("bands-%d.json" % n), folder / ("out-%d" % n)
        options = ["--job", folder / "job.json", "--out", out, "--reports", "json,text", "--quiet"]
        done = mpirun(n, [assay, "compare", *learned, "--learn", bands, *options])
        checks.expect(done.code == 0, "--learn at %d ranks: %s" % (n, done))
        done = mpirun(n, [assay, "compare", *held, "--against", bands, "--fail-on", "warning", *options])
        checks.expect(done.code == 1, "--against at %d ranks: %s" % (n, done))
        now = (bands.read_bytes(), body_of(out))
        first = first or now
        checks.expect(now == first, "bands or report differ at %d ranks" % n)
    return report_of(out)["bands"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks = Checks()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "job.json").write_text('{"aggregations": [{"kind": "loss_curve", "name": "loss"}]}')
        learned, good, faulty = record(folder)
        report = check_same(checks, args.assay, args.ranks, folder, learned, good + faulty)
    trials = {t["name"]: t for t in report["trials"]}
    outside = [t.name for t in good if trials[t.name]["outside"]]
    checks.expect(len(outside) <= 1, "good ones outside: %s" % [(n, trials[n]["score"], trials[n]["first"][:2]) for n in outside])
    for trial in faulty:
        checks.expect(trials[trial.name]["outside"], "%s passes: %s" % (trial.name, trials[trial.name]["score"]))
    gaps = [d for d in trials["few"]["first"] if d["figure"] == "gap"]
    checks.expect(gaps and gaps[0]["mode"] == "EVAL" and gaps[0]["value"] > gaps[0]["high"], "half the data: %s" % trials["few"]["first"][:3])
    checks.expect("short" in [d["kind"] for d in trials["half"]["first"]], "half the steps: %s" % trials["half"]["first"][:3])
    checks.expect("still" in [d["kind"] for d in trials["frozen"]["first"]], "a frozen layer: %s" % trials["frozen"]["first"][:3])
    checks.done()


if __name__ == "__main__":
    main()
