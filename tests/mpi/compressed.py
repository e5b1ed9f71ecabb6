#!/usr/bin/env python3
"""Checkpoints in zip files that are compressed: deflate and Zstandard give the same values as stored entries, in less memory than they have
elements; what is damaged, lies or would unpack without end is named, and the rest is evaluated.

    compressed.py --assay PROGRAM --ranks 1 2 3 ...
"""
import io
import json
import sys
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoint_trials import check_all, kinds, save_torch  # noqa: E402
from checkpoints import save_npz  # noqa: E402
from launch import mpirun, run  # noqa: E402
from zips import DEFLATED, STORED, ZSTD, pack, repack, write_zip, zstd  # noqa: E402

STEPS = (1, 2, 3)


def model(step):
    rng = numpy.random.default_rng(step)
    return {"fc1.weight": rng.normal(0, 1, (60, 50)).astype("float32"), "turned.weight": numpy.asfortranarray(rng.normal(0, 1, (7, 5))),
            "big.weight": rng.normal(0, 1, (30, 20)).astype(">f4"), "count": numpy.array(step, "int64")}


def array(value):
    """A .npy file."""
    out = io.BytesIO()
    numpy.save(out, value)
    return out.getvalue()


def has_zstd(test):
    return "libzstd: none" not in run([test.args.assay, "--version"]).out


def check_same(test):
    told = []
    for name, method in (("stored", STORED), ("deflated", DEFLATED), ("zstd", ZSTD)):
        for kind in ("npz", "torch"):
            root = test.work / kind / name
            for step in STEPS:
                tensors = model(step)
                if kind == "npz":
                    save_npz(root / ("step-%d.npz" % step), tensors)
                else:
                    save_torch(root / ("step-%d.pt" % step), {"model": {n: torch.from_numpy(v.astype(v.dtype.newbyteorder("=")))
                                                                         for n, v in tensors.items()}})
                repack(root / ("step-%d.%s" % (step, "npz" if kind == "npz" else "pt")), method)
            if method == ZSTD and not has_zstd(test):
                report = test.same(root, name, 3)
                test.checks.expect(kinds(report) == ["empty-trial", "unsupported"] and "ASSAY_WITH_ZSTD" in report, "no libzstd: %s" % report)
                continue
            report = test.same(root, "%s, %s" % (kind, name))
            told.append([dict(r, message="") for r in json.loads(report)["trials"][0]["rules"]])
            test.values(root, "%s, %s" % (kind, name), {(step, "worker_0", n): v for step in STEPS for n, v in model(step).items()})
    test.checks.expect(all(t == told[0] for t in told[1:]), "findings differ: %s" % [t for t in told if t != told[0]][:1])


def check_streamed(test):
    """An array of 48 MB within 32 MiB of memory, alone and with another that has to be put in order as a whole."""
    pattern = numpy.random.default_rng(5).normal(0, 1, 1 << 16).astype("float32")
    large, whole = numpy.tile(pattern, 192), numpy.asfortranarray(numpy.tile(pattern, 192).reshape(4096, 3072))
    for method in (DEFLATED, ZSTD) if has_zstd(test) else (DEFLATED,):
        root = test.work / ("large-%d" % method)
        write_zip(root / "step-1.npz", {"large.npy": array(large)}, method)
        write_zip(root / "step-2.npz", {"large.npy": array(large), "turned.npy": array(whole)}, method)
        report = test.run(root, 1, "large", 3, "--memory", "32MiB")
        trial = json.loads(report)["trials"][0]
        test.checks.expect({p["kind"] for p in trial["problems"]} == {"memory-budget"} and
                           {r["name"]: r["datapoints"] for r in trial["rules"]}["exploding"] == 2, "large: %s" % trial["problems"])
        report = test.run(root, 1, "large, in more memory", 0, "--memory", "256MiB")
        test.checks.expect(kinds(report) == [], "large, in more memory: %s" % kinds(report))


def check_damage(test):
    """A step for each way in which bytes are not what the directory says; of two arrays the other one is evaluated."""
    value = numpy.random.default_rng(1).normal(0, 1, 5000).astype("float32")
    content, good = array(value), {}
    root = test.work / "damage"
    for method in (DEFLATED, ZSTD) if has_zstd(test) else (DEFLATED,):
        packed = pack(content, method)
        cases = {"cut": packed[:-9], "changed": packed[:500] + bytes([packed[500] ^ 4]) + packed[501:], "longer": packed + b"abcdefgh",
                 "more": pack(content + bytes(50), method), "less": pack(content[:-50], method), "empty": b"", "text": b"no such bytes" * 9}
        if method == ZSTD:
            cases.update({"two frames": zstd(content[:3000]) + zstd(b"") + zstd(content[3000:]), "frame without an end": packed + packed[:7]})
        for name, bytes_ in cases.items():
            step = len(good) + 1
            good[step] = name == "two frames"
            write_zip(root / ("step-%d.npz" % step), {"a.npy": (content, bytes_), "b.npy": content}, method)
    trial = json.loads(test.same(root, "damage", 3))["trials"][0]
    files = [p["file"] for p in trial["problems"]]
    test.checks.expect(sorted(files) == sorted("step-%d.npz" % step for step in good if not good[step]) and
                       {p["kind"] for p in trial["problems"]} == {"damaged-header", "damaged-record"}, "damage: %s" % trial["problems"])
    points = {r["name"]: r["datapoints"] for r in trial["rules"]}["exploding"]
    test.checks.expect(points == len(good) + sum(good.values()), "damage: %d datapoints of %d steps" % (points, len(good)))


def check_bombs(test):
    """Zeros that unpack to far more than the work granted, and a window that nobody has room for."""
    if not has_zstd(test):
        return
    zeros = array(numpy.zeros(60 << 20, "float32"))
    path = test.work / "bomb" / "step-1.npz"
    write_zip(path, {"zeros.npy": zeros, "b.npy": array(numpy.ones(9))}, ZSTD)
    report = test.run(path.parent, 1, "bomb", 3)
    test.checks.expect(path.stat().st_size < 1 << 16 and kinds(report) == ["work-budget"], "bomb of %d bytes: %s" % (
        path.stat().st_size, kinds(report)))
    wide = array(numpy.tile(numpy.random.default_rng(2).integers(0, 256, 1 << 16, "uint8"), 257))
    path = test.work / "window" / "step-1.npz"
    write_zip(path, {"wide.npy": (wide, zstd(wide, 1, 24)), "b.npy": array(numpy.ones(9))}, ZSTD)
    report = test.run(path.parent, 1, "window", 3)
    test.checks.expect("8 MiB" in report and kinds(report) == ["unsupported"] and {r["name"]: r["datapoints"] for r in json.loads(report)["trials"][0]["rules"]}["exploding"] == 1,
                       "window: %s" % json.loads(report)["trials"][0]["problems"])
    done = mpirun(1, [test.args.assay, "verify", path.parent])
    test.checks.expect(done.code == 7 and done.out.startswith("nothing to resume from; 1: not read ("), "verify: %s" % done)


if __name__ == "__main__":
    check_all((check_same, check_streamed, check_damage, check_bombs))
