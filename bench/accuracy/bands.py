"""bands.py - how often bands call good runs bad, and let faulty ones pass; and how many healthy runs a comparison calls odd.

Usage: bands.py ASSAY WORK_DIR [KIND...]        PYTHONPATH has assay_hook.py; kinds: bands_trainings.KINDS, all by default

Of each kind 40 good trainings and two of each fault are recorded below WORK_DIR, once. Three times 12 good ones are learned, and all
others held against them. The seeds are not those that the limits in src/report/compare were set by (0 to 39).
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bands_trainings  # noqa: E402

GOOD, LEARNED, FOLDS, FIRST_SEED = 40, 12, 3, 200
os.environ["ASSAY_OVERWRITE"] = "1"  # one place for the reports of many trials
FAULTS = bands_trainings.FAULTS + ("few",)
JOB = '{"aggregations": [{"kind": "loss_curve", "name": "loss"}]}'


def record(kind, folder):
    wanted = {"good-%02d" % i: (FIRST_SEED + i, None) for i in range(GOOD)}
    wanted.update({"%s-%d" % (fault, i): (FIRST_SEED + 100 + i, fault) for fault in FAULTS for i in range(2)})
    for name, (seed, fault) in wanted.items():
        if not (folder / name / "training_job_end.ts").exists():
            shutil.rmtree(folder / name, ignore_errors=True)
            bands_trainings.train(kind, str(folder / name), seed, fault)


def compare(assay, folder, trials, *options):
    out = folder / "out"
    done = subprocess.run([assay, "compare", *trials, "--job", folder / "job.json", "--out", out, "--reports", "json", "--quiet",
                           *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return json.loads((out / "report.json").read_text())


def measure(assay, kind, folder):
    """False alarms in each fold, out of how many, faults that pass in some fold, and odd ones among all good runs."""
    (folder / "job.json").write_text(JOB)
    good = sorted(folder.glob("good-*"))
    faulty = [folder / ("%s-%d" % (fault, i)) for fault in FAULTS for i in range(2)]
    alarms, missed = [], {}
    for fold in range(FOLDS):
        learned = good[fold * LEARNED:(fold + 1) * LEARNED]
        compare(assay, folder, learned, "--learn", folder / "bands.json")
        held = [t for t in good if t not in learned]
        trials = {t["name"]: t for t in compare(assay, folder, held + faulty, "--against", folder / "bands.json")["bands"]["trials"]}
        alarms.append(sum(trials[t.name]["outside"] > 0 for t in held))
        for trial in faulty:
            if not trials[trial.name]["outside"]:
                fault = trial.name.split("-")[0]
                missed[fault] = missed.get(fault, 0) + 1
    odd = len(compare(assay, folder, good)["comparison"]["odd"])
    return alarms, GOOD - LEARNED, missed, odd


def main():
    assay, work = sys.argv[1], Path(sys.argv[2])
    print("| kind | good runs outside, of %d, in %d folds | faults that pass, of %d each | odd of %d |" % (
        GOOD - LEARNED, FOLDS, 2 * FOLDS, GOOD))
    print("|---|---|---|---|")
    for kind in sys.argv[3:] or bands_trainings.KINDS:
        folder = work / kind
        os.makedirs(folder, exist_ok=True)
        record(kind, folder)
        alarms, _, missed, odd = measure(assay, kind, folder)
        print("| %s | %s | %s | %d |" % (kind, ", ".join(map(str, alarms)),
                                         ", ".join("%s %d" % pair for pair in sorted(missed.items())) or "none", odd), flush=True)


if __name__ == "__main__":
    main()
