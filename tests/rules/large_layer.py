#!/usr/bin/env python3
"""Laws over a layer whose input is as large as --memory or larger: streamed, named to the byte alike by any number of ranks.

    large_layer.py --assay PROGRAM --ranks N...
"""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoints import save_safetensors  # noqa: E402
from launch import Checks, mpirun  # noqa: E402
from reports import body_of  # noqa: E402

ROWS, WIDTH, STEPS, LAST = 40000, 64, 4, 3
HALVES = (4096, 8192, 16)  # rows, columns and outputs of bfloat16: its sketches would be the largest
MOST = 4 << 20  # bytes of --memory; a tensor has 10 MB


def write(trial):
    """A trial of one linear layer, with one number of its last output that is off: other steps share their files."""
    random = numpy.random.default_rng(0)
    x, w = random.standard_normal((ROWS, WIDTH), dtype=numpy.float32), random.standard_normal((WIDTH, WIDTH), dtype=numpy.float32)
    y = x @ w.T
    for step in range(STEPS):
        place = trial / ("step_%d" % step)
        place.mkdir(parents=True)
        if step == LAST:
            y[ROWS // 3, 5] += 0.5
        for name, value in (("fc.weight", w), ("fc_input_0", x), ("fc_output_0", y)):
            if step == 0 or (step == LAST and name == "fc_output_0"):
                numpy.save(place / (name + ".npy"), value)
            else:
                os.link(trial / "step_0" / (name + ".npy"), place / (name + ".npy"))


def halves_of(x):
    bits = x.astype(numpy.float32).view(numpy.uint32)
    return (bits + 0x7fff + (bits >> 16 & 1) >> 16).astype(numpy.uint16)


def write_halves(trial):
    """The same of bfloat16."""
    rows, columns, outputs = HALVES
    random = numpy.random.default_rng(0)
    x, w = (halves_of(random.standard_normal((n, columns), dtype=numpy.float32)) for n in (256, outputs))
    y = (x.astype(numpy.uint32) << 16).view(numpy.float32) @ (w.astype(numpy.uint32) << 16).view(numpy.float32).T
    x, y = (numpy.tile(a, (rows // len(a), 1)) for a in (x, y))
    for step in range(STEPS):
        place = trial / ("step_%d" % step) / "model.safetensors"
        if 0 < step < LAST:
            place.parent.mkdir()
            os.link(trial / "step_0" / place.name, place)
            continue
        if step == LAST:
            y[rows // 3, 5] += 4000
        tensors = {"fc.weight": w, "fc_input_0": x, "fc_output_0": halves_of(y)}
        save_safetensors(place, tensors, dtypes=dict.fromkeys(tensors, "BF16"))


def test_trial(args, checks, write_trial, memories):
    """By any number of ranks, with little memory and with much: the same report."""
    bodies = set()
    with tempfile.TemporaryDirectory() as folder:
        trial, job, out = Path(folder) / "trial", Path(folder) / "job.json", Path(folder) / "out"
        write_trial(trial)
        job.write_text(json.dumps({"rules": [{"rule": "LawViolated"}]}))
        for ranks in args.ranks:
            for memory in memories:
                done = mpirun(ranks, [args.assay, "run", job, "--trial", trial, "--memory", str(memory), "--out", out, "--quiet"])
                checks.expect(done.code == 0, "%d ranks, %d bytes: %s" % (ranks, memory, done))
                report = json.loads((out / "report.json").read_text())
                found = report["trials"][0]["rules"][0]["findings"]
                checks.expect([(f["step"], f["tensor"], f["test"]) for f in found] == [(LAST, "fc_output_0", "linear")], str(found))
                bodies.add(body_of(out))
        checks.expect(len(bodies) == 1 and None not in bodies, "%d reports" % len(bodies))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks = Checks()
    test_trial(args, checks, write, (MOST, 512 << 20))
    test_trial(args, checks, write_halves, (64 << 20, 512 << 20))
    checks.done()


if __name__ == "__main__":
    main()
