#!/usr/bin/env python3
"""A pattern that takes too long on a tensor's name does not stop an analysis, and what it leaves out is named: a collection's, a
rule's and that of `show`.

    slow_patterns.py --assay PROGRAM
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402

import numpy  # noqa: E402

SLOW, MATCHES, TAKES_LONG = "^(a+)+$", "aaa", "a" * 60 + "!"
RULES = [{"name": "collection", "rule": "AllZero", "parameters": {"collection_names": "slow"}},
         {"name": "collection again", "rule": "ExplodingTensor", "parameters": {"collection_names": "slow"}},
         {"name": "regex", "rule": "AllZero", "parameters": {"tensor_regex": SLOW}}]


def check_run(checks, assay, trial, folder):
    (folder / "job.json").write_text(json.dumps({"rules": RULES}))
    bodies = set()
    for ranks in (1, 3) if LAUNCHER != "none" else (1,):
        done = mpirun(ranks, [assay, "run", folder / "job.json", "--trial", trial, "--out", folder / "out"])
        if not checks.expect(done.code == 3, "run on %d ranks: %s" % (ranks, done)):
            continue
        written = (folder / "out" / "report.json").read_bytes()
        report = json.loads(written)["trials"][0]
        texts = [p["text"] for p in report["problems"]]
        checks.expect(len(texts) == 2 and all(SLOW in t and TAKES_LONG in t and "counts as no match" in t for t in texts) and
                      '"slow"' in texts[0], "run on %d ranks: problems %s" % (ranks, texts))
        checks.expect([r["datapoints"] for r in report["rules"]] == [3, 3, 3], "run on %d ranks: %s" % (ranks, report["rules"]))
        bodies.add(body_of(written))
    checks.expect(len(bodies) == 1, "the report depends on the number of ranks")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = Made(folder / "trial", 1, {"slow": SLOW})
        for step in range(3):
            made.step(step, "TRAIN", step, {"worker_0": {MATCHES: numpy.ones(4), TAKES_LONG: numpy.ones(4)}})
        trial = made.end()
        check_run(checks, args.assay, trial, folder)
        listed = json.loads(run([args.assay, "ls", trial, "--json"]).out)
        members = {c["name"]: c["tensors"] for c in listed["collections"]}
        checks.expect(members["slow"] == [MATCHES], "ls: members %s" % members)
        checks.expect(len(listed["problems"]) == 1 and TAKES_LONG in listed["problems"][0]["text"], "ls: %s" % listed["problems"])
        shown = run([args.assay, "show", trial, SLOW, "--regex"])
        checks.expect(shown.code == 0 and shown.out.strip().startswith(MATCHES) and TAKES_LONG in shown.err, "show: %s" % shown)
    checks.done()


if __name__ == "__main__":
    main()
