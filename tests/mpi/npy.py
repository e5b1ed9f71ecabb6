#!/usr/bin/env python3
"""Trees of .npy files as trials: every dtype, order and version; the same verdicts as of the recorded trial with the same values,
with the same bytes at any number of ranks; what cannot be read is named; pack, compare and watch.

    npy.py --assay PROGRAM --ranks 1 2 3 ... [-- no-pack]
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy
from numpy.lib import format as npy_format

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402

STEPS = 9
RULES = [("update", "WeightUpdateRatio", {"large_threshold": 1e-9}),
         ("exploding", "ExplodingTensor", {}),
         ("unchanged", "UnchangedTensor", {"collection_names": "weights", "num_steps": 2}),
         ("replicas", "ReplicaDivergence", {}),
         ("zero", "AllZero", {"tensor_regex": ".*"})]


def save(path, array, version=(1, 0)):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        npy_format.write_array(out, numpy.asanyarray(array), version=version)


def weights(step, worker, rng):
    weight = numpy.full((5, 7), 3.0, "float32") if step < 4 else rng.normal(0, 1, (5, 7)).astype("float32")
    bias = rng.normal(0, 1, 7).astype("float32")
    if step == 6 and worker == 1:
        bias[3] = numpy.nan
    return {"net.weight": weight, "net.bias": bias}


def make(npy, recorded, ends=True):
    """The same values as .npy files, in every order of their bytes, and as the recording library has them."""
    rng, made = numpy.random.default_rng(3), Made(recorded, 2, {
        "weights": "^(?!gradient|optimizer/|ema/|state/).*weight", "biases": "^(?!gradient|optimizer/|ema/|state/).*bias"})
    for step in range(STEPS):
        saved = {}
        for number, worker in enumerate(made.workers):
            saved[worker] = weights(step, number, rng)
            for name, value in saved[worker].items():
                written = numpy.asfortranarray(value) if step % 3 == 1 else value.astype(">f4") if step % 3 == 2 else value
                save(npy / ("step_%04d" % step) / worker / (name.replace(".", "/") + ".npy"), written, (1 + step % 3, 0))
        made.step(step, "GLOBAL", step, saved)
    made.end()
    if ends:
        (npy / "training_job_end.ts").touch()


def verdicts(report):
    """What the rules say, but for the place of the trial."""
    trial = json.loads(report)["trials"][0]
    return json.loads(json.dumps(trial["rules"]).replace(trial["path"], "TRIAL"))


def shown(assay, trial, tensor, *options):
    done = mpirun(1, [assay, "show", trial, tensor, "--json"] + list(options))
    return json.loads(done.out)["rows"] if done.code in (0, 3) else [], done


def check_dtypes(checks, assay, where):
    """Statistics and elements of every dtype, in both orders of bytes and of dimensions, in the three versions."""
    rng, cases = numpy.random.default_rng(5), {}
    for code in ("f2", "f4", "f8", "c8", "c16", "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        for mark in "<>":
            for order in "CF":
                value = rng.integers(0, 2 if code == "b1" else 100, (3, 4, 5)).astype(mark + code)
                if code[0] == "c":
                    value = (value + 1j * rng.integers(0, 100, (3, 4, 5))).astype(mark + code)
                cases["%s.%s.%s" % (code, "big" if mark == ">" else "little", order)] = numpy.asarray(value, order=order)
    cases["scalar"], cases["empty"], cases["line"] = numpy.float64(2.5), numpy.zeros((0, 3)), numpy.arange(7)
    trial = where / "dtypes"
    for number, (name, value) in enumerate(cases.items()):
        save(trial / "10" / (name + ".npy"), value, (1 + number % 3, 0))
    for name, value in cases.items():
        rows, done = shown(assay, trial, name)
        wide = numpy.abs(value.astype("c16")) if value.dtype.kind == "c" else value.astype("f8")
        row = rows[0] if rows else {}
        sound = len(rows) == 1 and row.get("shape") == list(value.shape) and row.get("dtype") == value.dtype.newbyteorder("=").name
        if sound and value.size:
            sound = abs(row["mean"] - wide.mean()) < 1e-9 * max(1, abs(wide.mean())) and abs(row["max"] - wide.max()) < 1e-9
        checks.expect(sound, "%s: %s, %s" % (name, row, done))
    for name in ("i4.big.F", "i4.little.C", "u2.little.F"):
        rows, done = shown(assay, trial, name, "--values")
        have = numpy.ravel(rows[0]["values"]).tolist() if rows else None
        checks.expect(have == cases[name].ravel().tolist(), "%s: elements: %s" % (name, have))


def check_bad(checks, assay, where):
    """Each file that cannot be used is named, and the others count."""
    trial = where / "bad"
    for step in range(3):
        save(trial / str(step) / "sound.weight.npy", numpy.arange(6.0) + step)
    objects = trial / "1" / "objects.weight.npy"
    numpy.save(objects, numpy.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    save(trial / "1" / "cut.weight.npy", numpy.arange(100.0))
    cut = trial / "1" / "cut.weight.npy"
    cut.write_bytes(cut.read_bytes()[:-8])
    (trial / "2" / "noise.weight.npy").write_bytes(b"nothing of the kind")
    (trial / "2" / "gone.weight.npy").symlink_to("../blobs/0")
    os.mkfifo(trial / "2" / "pipe.weight.npy")
    job = where / "bad.json"
    job.write_text(json.dumps({"rules": [{"rule": "ExplodingTensor"}]}))
    done = mpirun(1, [assay, "run", job, "--trial", trial, "--out", where / "bad.out", "--quiet"])
    problems = json.loads((where / "bad.out" / "report.json").read_text())["trials"][0]["problems"]
    texts = {p["file"]: p["text"] for p in problems}
    for file, word in (("1/objects.weight.npy", "pickled Python objects"), ("1/cut.weight.npy", "cut short"),
                       ("2/noise.weight.npy", "not a .npy file"), ("2/gone.weight.npy", "leads nowhere"),
                       ("2/pipe.weight.npy", "not a regular file")):
        checks.expect(word in texts.get(file, ""), "%s is to be named: %s" % (file, texts))
    checks.expect(done.code == 3 and len(problems) == 5, "bad files: %s, %s" % (problems, done))
    rows, done = shown(assay, trial, "sound.weight")
    checks.expect(len(rows) == 3, "what is sound beside it: %s" % done)


def check_lacking(args, checks, npy, job, where):
    """A step that lost an array is damage; what each second step has, or all but the first, is not lost."""
    trial = where / "lacking"
    shutil.copytree(npy, trial)
    for step in range(STEPS):
        for name in ["act"] * (step % 2 == 0) + ["gradient/net"] * (step > 0) + ["sum"] * (step == STEPS - 1):
            save(trial / ("step_%04d" % step) / "worker_1" / (name + ".npy"), numpy.ones(3, "float32"))
    run(args, checks, job, trial, where, "nothing is lost")
    for step, name, said in ((4, "worker_1/net/bias.npy", "step_0004: has no worker_1/net/bias.npy, which the 4 steps beside it have"),
                             (1, "worker_0/net", "step_0001: has no worker_0/net/bias.npy and 1 more, which the 3 steps beside it have"),
                             (0, "worker_1/net/bias.npy", None)):
        path = trial / ("step_%04d" % step) / name
        path.rename(where / "aside")
        report = json.loads(run(args, checks, job, trial, where, name, 3 if said else 0))
        checks.expect([p["text"] for p in report["trials"][0]["problems"]] == [said] * bool(said), "%s of step %d: %s" % (name, step, report["trials"][0]["problems"]))
        (where / "aside").rename(path)
    odd = trial / "step_0004"  # an evaluation, which has arrays of its own
    shutil.rmtree(odd)
    for worker in range(2):
        save(odd / ("worker_%d" % worker) / "accuracy.npy", numpy.ones(3, "float32"))
    run(args, checks, job, trial, where, "a step of another kind lost nothing")
    most = where / "most"
    for step in range(7):
        for name in "abcdef" if step != 4 else ("a", "b", "copy"):  # of training, with one array that no other step has
            save(most / ("step_%04d" % step) / (name + ".npy"), numpy.ones(3, "float32") + step)
    report = json.loads(run(args, checks, job, most, where, "a step that lost most", 3))
    texts = [p["text"] for p in report["trials"][0]["problems"]]
    checks.expect(texts == ["step_0004: has no c.npy and 3 more, which the 4 steps beside it have"], "most of a step: %s" % texts)


def run(args, checks, job, trial, where, what, code=0):
    bodies = set()
    for ranks in args.ranks:
        shutil.rmtree(where / "out", True)
        done = mpirun(ranks, [args.assay, "run", job, "--trial", trial, "--out", where / "out", "--quiet"])
        checks.expect(done.code == code, "%s, %d ranks: %s" % (what, ranks, done))
        bodies.add(body_of((where / "out" / "report.json").read_bytes()))
    checks.expect(len(bodies) == 1, "%s: the reports differ" % what)
    return (where / "out" / "report.json").read_bytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("no_pack", nargs="?", choices=["no-pack"])
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        npy, recorded, job = where / "npy", where / "recorded", where / "job.json"
        make(npy, recorded)
        job.write_text(json.dumps({"rules": [{"name": n, "rule": r, "parameters": p} for n, r, p in RULES]}))
        report = run(args, checks, job, npy, where, "a tree")
        checks.expect(any(rule["findings_total"] for rule in verdicts(report)), "there is something to be found")
        checks.expect(verdicts(report) == verdicts(run(args, checks, job, recorded, where, "the recorded trial")),
                      "a tree and the recorded trial have the same verdicts")
        timed = where / "timed.json"
        timed.write_text(json.dumps({"rules": [{"rule": "StalledTrainingRule"}]}))
        mpirun(1, [args.assay, "run", timed, "--trial", npy, "--out", where / "timed", "--quiet"])
        found = json.loads((where / "timed" / "report.json").read_text())["trials"][0]["rules"][0]
        checks.expect(found["status"] == "NoData", "there are no times in a tree: %s" % found)
        check_dtypes(checks, args.assay, where)
        check_bad(checks, args.assay, where)
        check_lacking(args, checks, npy, job, where)
        done = mpirun(1, [args.assay, "ls", npy, "--json"])
        listed = json.loads(done.out)
        checks.expect(len(json.dumps(listed)) > 0 and done.code == 0, "ls: %s" % done)
        done = mpirun(args.ranks[-1], [args.assay, "compare", npy, recorded, "--job", job, "--out", where / "compared"])
        checks.expect(done.code == 0, "compare: %s" % done)
        done = mpirun(args.ranks[-1], [args.assay, "stats", npy, "--out", where / "stats.csv"])
        checks.expect(done.code == 0, "stats: %s" % done)
        done = mpirun(1, [args.assay, "watch", job, "--trial", npy, "--every", "0.1", "--out", where / "watched"], timeout=60)
        checks.expect(done.code == 0 and body_of((where / "watched" / "report.json").read_bytes()) == body_of(report),
                      "watch: %s" % done)
        if not args.no_pack:
            done = mpirun(args.ranks[-1], [args.assay, "pack", npy, "--verify", "--out", where / "npy.h5", "--quiet"])
            checks.expect(done.code == 0, "pack: %s" % done)
            packed = run(args, checks, job, where / "npy.h5", where, "the packed tree")
            checks.expect(verdicts(packed) == verdicts(report), "packed, it has the same verdicts")
    checks.done()


if __name__ == "__main__":
    main()
