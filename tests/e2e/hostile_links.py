#!/usr/bin/env python3
"""Symbolic links in trials: those that lead out, back or sideways, and those to files outside of the trial.

    hostile_links.py --assay PROGRAM [--ranks 1 3] [--only NAME]
"""
import json
import os
import re
import shutil
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import numpy  # noqa: E402
from hostile_world import case, main, problems  # noqa: E402
from launch import TRIALS, mpirun  # noqa: E402
from made import Made  # noqa: E402


@case
def links_that_lead_back(w):
    """Directories that lie in themselves, ten times each, are walked once; what they hold is found by its own name."""
    for name in ("linreg_nan", "npy", "checkpoint"):
        trial = w.trial(name) if name == "linreg_nan" else w.folder / name
        for step in (1, 2) if name != "linreg_nan" else ():
            place = trial / ("step_%d" % step if name == "npy" else "step-%d" % step)
            place.mkdir(parents=True)
            if name == "npy":
                numpy.save(place / "x.npy", numpy.full(2, step, "float32"))
            else:
                head = json.dumps({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
                (place / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(8))
        plain = w.run("ls", trial).out
        for place in [p for p in trial.rglob("*") if p.is_dir()] + [trial]:
            for i in range(5):
                (place / ("up%d" % i)).symlink_to("..")
                (place / ("self%d" % i)).symlink_to(".")
        for command in (["ls", trial], ["run", trial, "--quiet", "--out", w.folder / "out"],
                        ["pack", trial, "-o", w.folder / "p.h5", "--follow-links"]):
            done = w.run(*command)
            w.expect(not done.hung, "%s: %s: %s" % (name, command[0], done))
        w.expect(re.findall(r"^x .*", w.run("ls", trial).out, re.M) == re.findall(r"^x .*", plain, re.M), "%s: other tensors" % name)


@case
def links_that_lead_sideways(w):
    """Ten links in each of ten directories, each to the next one: no command walks along all ways, and what is left out is named."""
    for name in ("npy", "checkpoint", "events"):
        trial = w.folder / name
        if name == "events":
            Made(trial, 1).step(1, "TRAIN", 1, {"x": 1.0}).end()
        place = trial / ("index" if name == "events" else "step_1")
        place.mkdir(parents=True, exist_ok=True)
        if name != "events":
            numpy.save(place / "x.npy", numpy.ones(3))
        for depth in range(10):
            following = trial / ("d%d" % depth)
            following.mkdir()
            if name == "npy":
                numpy.save(following / "y.npy", numpy.ones(3))
            for i in range(10):
                (place / ("l%d" % i)).symlink_to(os.path.relpath(following, place))
            place = following
        for command in (["ls", trial], ["run", trial, "--quiet", "--out", w.folder / "out"], ["pack", trial, "-o", w.folder / "p.h5"]):
            done = w.run(*command)
            w.expect(not done.hung, "%s: %s: %s" % (name, command[0], done))
        if name == "npy":
            text = json.dumps(problems(json.loads((w.folder / "out" / "report.json").read_text())))
            w.expect("more than 64 ways" in text, "%s: the ways that were not taken are not named" % name)


@case
def bytes_of_other_files(w):
    """A link to another file shows nothing of what is in it: neither as it is nor as what a checksum should have been."""
    secret = w.folder / "secret"
    secret.write_bytes(b"SECRET-1" * 4096)
    words = ["SECRET", b"SECR".hex(), b"RCES".hex(), b"ET-1".hex(), b"1-TE".hex(), str(int.from_bytes(b"SECRET-1", "little"))]
    for kind in ("index", "events", "collections"):
        trial = w.trial("linreg_nan")
        for path in sorted((trial / kind).rglob("*worker_0*")):
            path.unlink()
            path.symlink_to(secret)
        out = w.folder / "out"
        done = [w.run("run", trial, "--quiet", "--out", out, "--reports", "json,text,html,csv"), w.run("ls", trial), w.run("show", trial, "--regex", ".")]
        text = "".join(d.out + d.err for d in done) + "".join(p.read_text() for p in out.iterdir()) if out.exists() else ""
        for word in words:
            w.expect(word not in text, "%s: %s is shown" % (kind, word))
        shutil.rmtree(trial)
        shutil.rmtree(out, True)


@case
def links_out_are_named(w):
    """What a link out of the trial leads to is read, and the report says so once; a link within the trial is nothing to tell."""
    trial, elsewhere = w.trial("linreg_nan"), w.folder / "elsewhere"
    (w.folder / "out").mkdir(exist_ok=True)
    collections = next((trial / "collections").rglob("*.json"))
    (w.folder / "kept").mkdir()
    collections.rename(w.folder / "kept" / "inside.json")
    (trial / "kept.json").write_bytes((w.folder / "kept" / "inside.json").read_bytes())
    collections.symlink_to(os.path.relpath(trial / "kept.json", collections.parent))
    problems = lambda: [p for p in json.loads((w.folder / "out" / "report.json").read_text())["trials"][0]["problems"] if p["kind"] == "outside-link"]
    done = w.run("run", trial, "--out", w.folder / "out", "--quiet")
    w.expect(done.code == 0 and problems() == [], "a link within the trial: %s %s" % (problems(), done))
    (trial / "index").rename(elsewhere)
    (trial / "index").symlink_to(elsewhere)
    done = w.run("run", trial, "--out", w.folder / "out", "--quiet")
    found = problems()
    w.expect(done.code == 0 and [p["file"] for p in found] == ["index"] and "leads out" in found[0]["text"], "a link out: %s %s" % (found, done))
    collections.unlink()
    collections.symlink_to(w.folder / "kept" / "inside.json")
    w.run("run", trial, "--out", w.folder / "out", "--quiet")
    found = problems()
    w.expect([p["file"] for p in found] == [str(collections.relative_to(trial))] and "more" in found[0]["text"], "two links: %s" % found)


@case
def links_out_of_the_trial(w):
    """pack hands no other file's bytes on unless it is asked to; links within the trial are nobody's concern."""
    if "no parallel HDF5" in w.run("pack", TRIALS / "linreg_nan", "-o", w.folder / "x.h5").err:
        return
    (w.folder / "x.h5").unlink()
    (w.folder / "secret").write_text("SECRET")
    (w.folder / "elsewhere").mkdir()
    (w.folder / "elsewhere" / "file").write_text("SECRET")
    for name, target, refused in (("run.txt", w.folder / "secret", True), ("run.txt", "../secret", True), ("run", w.folder / "elsewhere", True),
                                  ("run.txt", "training_job_end.ts", False), ("copy", "events", False)):
        trial = w.trial("linreg_nan")
        (trial / name).symlink_to(target)
        packed = w.folder / "packed.h5"
        for ranks in w.args.ranks:
            done = mpirun(ranks, [w.args.assay, "pack", trial, "-o", packed], timeout=60)
            w.expect(done.code == (2 if refused else 0) and packed.exists() != refused, "%s -> %s: %s" % (name, target, done))
            w.expect(not refused or "--follow-links" in done.err, done)
            packed.unlink(missing_ok=True)
        if name == "run.txt" and refused:
            done = w.run("pack", trial, "-o", packed, "--follow-links")
            w.expect(done.code == 0 and b"SECRET" in packed.read_bytes(), done)
            packed.unlink()
        shutil.rmtree(trial)


if __name__ == "__main__":
    main()
