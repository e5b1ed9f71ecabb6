#!/usr/bin/env python3
"""What a rank keeps of large tensors, to compare later ones with, saves reading and changes nothing in the report: not with
windows that stay and windows that move, not with a damaged record among them, not at any rank count.

    kept.py --assay PROGRAM --ranks 1 2 3 ... -- GENERATE        GENERATE: bench/generate, which writes the trial
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun  # noqa: E402
from same_report import body_of  # noqa: E402

STEPS, ELEMENTS = 12, 80000  # of 320 kB: more than the least that is kept
WITHOUT, WITH = "24MiB", "512MiB" # without: no more than the program itself takes
RULES = [
    ("update", "WeightUpdateRatio", {}),
    ("window_stays", "WeightUpdateRatio", {"num_steps": 100}),
    ("window_moves", "WeightUpdateRatio", {"num_steps": 4}),
    ("unchanged", "UnchangedTensor", {"collection_names": "weights,gradients"}),
    ("against_current", "UnchangedTensor", {"collection_names": "weights", "num_steps": 4, "against": "current"}),
    ("replicas", "ReplicaDivergence", {}),
    ("gradients", "GradientNotSynchronized", {}),
    ("init", "PoorWeightInitialization", {}),
]


def generate(program, trial):
    subprocess.run([program, trial, "3", str(STEPS), "2", str(ELEMENTS)], check=True)


def damage(trial):
    """Changes a byte in the middle of a weight in the middle of the trial."""
    step = STEPS // 2
    index = json.loads((trial / "index" / "000000000" / ("%012d_worker_1.json" % step)).read_text())
    record = next(t for t in index["tensor_payload"] if t["tensorname"] == "net_layer1.weight")
    with open(trial / index["meta"]["event_file_name"], "r+b") as file:
        file.seek(record["start_idx"] + record["length"] // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))


def analyse(checks, assay, job, trial, where, ranks, memory, codes):
    out = where / ("out-%d-%s" % (ranks, memory))
    done = mpirun(ranks, [assay, "run", job, "--trial", trial, "--out", out, "--memory", memory, "--quiet"])
    if not checks.expect(done.code in codes, "%d ranks, --memory %s: %s" % (ranks, memory, done)):
        return None, None
    report = (out / "report.json").read_bytes()
    return body_of(report), json.loads(report)["run"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("generate")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        job, trial = where / "job.json", where / "trial"
        job.write_text(json.dumps({"rules": [{"name": n, "rule": r, "parameters": p} for n, r, p in RULES]}))
        generate(args.generate, trial)
        for state, codes in (("sound", [0]), ("damaged", [3])):
            if state == "damaged":
                damage(trial)
            bodies = []
            for ranks in args.ranks:
                read = {}
                for memory in (WITHOUT, WITH):
                    body, run = analyse(checks, args.assay, job, trial, where, ranks, memory, codes)
                    bodies.append(body)
                    read[memory] = run["bytes_read"] if run else 0
                print("%s, %d ranks: %d bytes read without, %d with" % (state, ranks, read[WITHOUT], read[WITH]))
                checks.expect(read[WITH] < 0.75 * read[WITHOUT], "%s, %d ranks: nothing was saved" % (state, ranks))
            checks.expect(len(set(bodies)) == 1, "%s: the reports differ" % state)
    checks.done()


if __name__ == "__main__":
    main()
