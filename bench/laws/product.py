#!/usr/bin/env python3
"""product.py - one product of N x N x N, one flipped bit in one element of it: which bits does LawViolated find?

    product.py --assay ASSAY --multiply PROGRAM --work FOLDER [--size 4096] [--forms float32 tf32 rounded bfloat16 float16] [--bits N ...] [--elements 1]

A trial of four steps holds a layer's input, weight and output. The first three are of 32 rows; the last is the product, made by multiply.c, with one bit
of one element flipped in the file, bit after bit. The elements are those whose size is next to the root mean square, or --times as large. All is float32 whose
factors are rounded to 11 (tf32) or 8 bits (rounded) before they are multiplied; or factors and outputs have 16 bits (bfloat16, float16). Sums are of float32.
Prints a row for each bit, and at the end for each form the lowest bit down to which all flips were found, and that nothing was said without one.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy

FEW, STEPS = 32, 4
BITS_OF = {"tf32": 10, "rounded": 7, "bfloat16": 7}  # behind the point


def rounded(x, bits):
    """x to nearest, with so many bits behind the point."""
    words, low = x.view(numpy.uint32), 23 - bits
    return ((words + ((1 << low - 1) - 1) + (words >> low & 1)) >> low << low).view(numpy.float32)


def multiplied(program, x, w):
    done = subprocess.run([program, str(len(x))], input=x.tobytes() + w.tobytes(), stdout=subprocess.PIPE, check=True)
    return numpy.frombuffer(done.stdout, numpy.float32).reshape(x.shape)


def save_halves(path, tensors):
    """Upper halves of floats as bfloat16, which NumPy does not have; returns where the last one begins."""
    head, at, parts = {}, 0, []
    for name, tensor in tensors.items():
        parts.append((tensor.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes())
        head[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
    return 8 + len(text) + at - len(parts[-1])


def write(trial, form, size, random, program):
    """The trial; returns the last output's bits, as they lie in its file, and its values."""
    x, w = (random.standard_normal((size, size), dtype=numpy.float32) for _ in range(2))
    dtype = numpy.float16 if form == "float16" else numpy.float32
    x, w = x.astype(dtype), (w / numpy.float32(size) ** 0.5).astype(dtype)
    factors = [rounded(t, BITS_OF[form]) if form in BITS_OF else t.astype(numpy.float32) for t in (x, w)]
    y = multiplied(program, *factors).astype(dtype)
    shutil.rmtree(trial, ignore_errors=True)
    if form == "bfloat16":
        (x, w), y = factors, rounded(y, 7)
    for step in range(STEPS):
        rows = size if step == STEPS - 1 else FEW
        place = trial / ("step_%d" % step)
        place.mkdir(parents=True)
        if form == "bfloat16":
            at = save_halves(place / "model.safetensors", {"fc.weight": w, "fc_input_0": x[:rows], "fc_output_0": y[:rows]})
            continue
        if step == 0:
            numpy.save(place / "fc.weight.npy", w)
        else:
            os.link(trial / "step_0/fc.weight.npy", place / "fc.weight.npy")
        numpy.save(place / "fc_input_0.npy", x[:rows])
        numpy.save(place / "fc_output_0.npy", y[:rows])
    if form == "bfloat16":
        return numpy.memmap(place / "model.safetensors", numpy.uint16, "r+", at, (y.size,)), y.reshape(-1)
    words = numpy.load(place / "fc_output_0.npy", mmap_mode="r+").view(numpy.uint16 if form == "float16" else numpy.uint32).reshape(-1)
    return words, words.view(dtype)


def judged(assay, trial, job, out, *options):
    command = [str(c) for c in (assay, "run", job, "--trial", trial, "--out", out, "-q", "--overwrite", *options)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode not in (0, 1):
        sys.exit("%s: exit code %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return json.loads((out / "report.json").read_text())["trials"][0]["rules"][0]


def names_it(rule, row, column):
    """Is the only finding that of the output at the last step, in the part of it that has the element?"""
    if rule["findings_total"] != 1:
        return False
    finding = rule["findings"][0]
    rows, columns = (re.search(r"%s (\d+)(?: to (\d+))?" % what, finding["note"]) for what in ("rows?", "columns?"))
    within = all(int(found[1]) <= at <= int(found[2] or found[1]) for found, at in ((rows, row), (columns, column)))
    return (finding["step"], finding["tensor"], finding["test"]) == (STEPS - 1, "fc_output_0", "linear") and within


def try_form(options, form, random):
    trial, job, out = options.work / form, options.work / "job.json", options.work / "out"
    job.write_text(json.dumps({"rules": [{"rule": "LawViolated"}]}))
    words, flat = write(trial, form, options.size, random, options.multiply)
    rule = judged(options.assay, trial, job, out)
    if rule["findings_total"] or "The law 'linear' holds of 1 tensors." not in rule["message"]:
        sys.exit("%s: without a flip: %s" % (form, rule))
    near = numpy.abs(numpy.abs(flat.astype(numpy.float32)) - numpy.float32(options.times * flat.astype(float).std()))
    usual = numpy.argpartition(near, 1000)[:1000]
    lowest, whole = None, True
    for bit in options.bits or range(words.itemsize * 8 - 1, -1, -1):
        found, counted = 0, 0
        for at in random.choice(usual, options.elements, replace=False):
            old = float(flat[at])
            words[at] ^= words.dtype.type(1 << bit)
            new = float((words[at:at + 1].astype(numpy.uint32) << 16).view(numpy.float32)[0] if form == "bfloat16" else flat[at])
            if numpy.isfinite(new):
                counted += 1
                rule = judged(options.assay, trial, job, out)
                found += names_it(rule, *divmod(int(at), options.size))
                change = abs(new - old)
            words[at] ^= words.dtype.type(1 << bit)
        if counted == 0:
            continue
        print("| %s | %d | %.2g | %d of %d |" % (form, bit, change, found, counted), flush=True)
        whole = whole and found == counted
        lowest = bit if whole else lowest
    shutil.rmtree(trial)
    return lowest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", type=Path, required=True)
    parser.add_argument("--multiply", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--forms", nargs="*", default=["float32", "tf32", "rounded", "bfloat16", "float16"])
    parser.add_argument("--bits", nargs="*", type=int)
    parser.add_argument("--elements", type=int, default=1)
    parser.add_argument("--times", type=float, default=1, help="how large elements are, in root mean squares")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lowest", nargs="*", type=int, help="of each form the bit down to which all have to be found; else the exit code is 1")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| product | bit | change | found |\n|---|---|---|---|")
    lowest = [try_form(options, form, numpy.random.default_rng(options.seed)) for form in options.forms]
    for form, bit in zip(options.forms, lowest):
        print("%s: all are found down to bit %s" % (form, bit))
    if options.lowest and any(bit is None or bit > wanted for bit, wanted in zip(lowest, options.lowest)):
        sys.exit("expected: %s" % options.lowest)


if __name__ == "__main__":
    main()
