#!/usr/bin/env python3
"""assay verify: what it says of sound checkpoints in every layout, and of the same with damage planted.

    verify.py --assay PROGRAM [--group NAME ...]
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import damaged_checkpoints  # noqa: E402
import hostile_pickles  # noqa: E402
import logs  # noqa: E402
from launch import TRIALS, Checks, mpirun, run  # noqa: E402


def check_ranks(checks, assay, work):
    """The same answer at any number of ranks."""
    root = damaged_checkpoints.spread(work / "ranks", "dcp")
    damaged = next(p for p in damaged_checkpoints.newest(root) if p.suffix == ".distcp")
    for offset, size, _ in damaged_checkpoints.summed(damaged)[::3]:
        damaged_checkpoints.flip(damaged, offset + size // 2)
    forms = work / "ranks-forms"
    for at, name in enumerate(("model.safetensors", "pytorch_model.bin")):
        values = damaged_checkpoints.tensors(1)
        values["layers.0.fc.bias"] += at
        save = damaged_checkpoints.save_safetensors if at == 0 else lambda path, values: damaged_checkpoints.put(path, damaged_checkpoints.as_torch(values))
        save(forms / name, values)
    lacking = damaged_checkpoints.spread(work / "ranks-lacking", "hugging_face", steps=(100, 200, 300))
    (lacking / "checkpoint-300" / "rng_state.pth").unlink()
    (lacking / "checkpoint-100" / "config.json").unlink()
    for path, code in ((root, 3), (forms, 1), (lacking, 3)):
        said = [mpirun(ranks, [assay, "verify", path, "--json", "--quiet"]) for ranks in (1, 3)]
        checks.expect(said[0].code == said[1].code == code and said[0].out == said[1].out, "one and three ranks: %s\n%s" % tuple(said))


def check_no_checkpoint(checks, assay, work):
    """What is no checkpoint is nothing to resume from: a log, a directory from which the models were removed, a recording."""
    logs.csv(work / "csv", logs.curve(30))
    logs.hf(work / "hf/checkpoint-30", logs.curve(30))
    for place in (work / "csv", next((work / "csv").rglob("*.csv")), work / "hf"):
        for options in ((), ("--last",)):
            done = run([assay, "verify", place, "--quiet", *options])
            checks.expect(done.code == 2 and "no checkpoint is in it: there is nothing to verify, nor to resume from" in done.err and not done.out, "a log: %s" % done)
    for events in sorted((TRIALS.parent / "events").iterdir()):
        done = run([assay, "verify", events, "--quiet"])
        checks.expect(done.code == 2 and "no checkpoint" in done.err and not done.out, "events: %s" % done)
    for trial, code, says in (("ddp", 0, r"sound: \d+ files of 12 recorded steps, .*; records are no checkpoint to resume from$"),
                              ("ddp_partial", 3, r"damaged: 1 of 7 recorded steps; 51: damaged .*; records are no checkpoint to resume from$")):
        done = run([assay, "verify", TRIALS / trial, "--quiet"])
        checks.expect(done.code == code and re.match(says, done.out.split("\n", 1)[0]), "a recording: %s" % done)
        said = json.loads(run([assay, "verify", TRIALS / trial, "--json", "--quiet"]).out)
        checks.expect(said["last_sound"] is None and said["last_sound_step"] is None and "recorded step" in said["text"], "a recording as JSON: %s" % said)


def check_kept(checks, assay, work):
    """Of findings and problems the first thousand are kept: behind them nothing is called sound that is not."""
    numpy, random = damaged_checkpoints.numpy, damaged_checkpoints.numpy.random.default_rng(3)
    for name, bad in (("one", 1), ("none", 0)):
        root = work / ("nan-in-" + name)
        for step in (100, 200, 300, 400):
            values = {"t%03d.weight" % i: random.normal(0, 1, (2, 2)).astype("float32") for i in range(600)}
            for key in list(values)[-bad if step == 400 else 0:] if bad or step < 400 else ():
                values[key][0, 0] = numpy.nan
            damaged_checkpoints.save_safetensors(root / ("model_%d.safetensors" % step), values)
        said = "nothing to resume from; 100: NaN in 600 tensors .*; 200: NaN in at least 400 tensors .*300: ExplodingTensor has findings here.*400: Expl" if bad else "resume from model_400.safetensors; 3 older"
        for ranks in (1, 3):
            done = mpirun(ranks, [assay, "verify", root, "--quiet"])
            checks.expect(done.code == 1 and re.match(said, done.out), "NaN behind what is kept, %s: %s" % (name, done))
    root = damaged_checkpoints.spread(work, "hugging_face", name="many-empty")
    for at in range(1200):
        (root / "checkpoint-100" / ("rng_state_%d.pth" % at)).touch()
    (root / "checkpoint-200" / "trainer_state.json").write_text("{")
    done = run([assay, "verify", root, "--quiet"])
    checks.expect(done.code == 3 and done.out.startswith("nothing to resume from"), "damage behind what is kept: %s" % done)


def check_agreement(checks, assay, case, out):
    """What `verify` says of a whole series, `verify --last` and `run` say, too: they never contradict one another."""
    said = [run([assay, "verify", case.path, "--json", "--quiet", *options]) for options in ([], ["--last"])]
    judged = [json.loads(done.out) for done in said]
    newest = judged[0]["steps"][-1]["state"] if judged[0]["steps"] else "sound"
    checks.expect(judged[0]["last_sound"] == judged[1]["last_sound"] or judged[0]["last_sound"] is None, "%s: %s, with --last %s" % (
        case.name, judged[0]["text"], judged[1]["text"]))
    checks.expect((newest == "sound") == (judged[1]["verdict"] == "sound") or judged[0]["verdict"] == judged[1]["verdict"], "%s: the newest is %s: %s, with --last %s" % (
        case.name, newest, judged[0]["text"], judged[1]["text"]))
    if case.code in (damaged_checkpoints.SUSPECT, damaged_checkpoints.DAMAGED, damaged_checkpoints.CODE):
        done = run([assay, "run", case.path, "--quiet", "--out", out, "--overwrite"])
        first = done.out.split("\n", 1)[0]
        checks.expect(done.code != 0 or not re.match(r"\d+ rules? passed|nothing", first), "%s: verify: %s\nrun: %s: %s" % (case.name, judged[0]["text"], done.code, first))
    if case.code != damaged_checkpoints.SOUND:
        done = run([assay, "run", case.path, "--quiet", "--fail-on", "warning", "--out", out, "--overwrite"])
        first = done.out.split("\n", 1)[0]
        refused = done.code == 2 and case.code in (damaged_checkpoints.CODE, damaged_checkpoints.UNREAD) and "assay: error: " in done.err  # a pickle alone is no trial
        checks.expect((done.code in (1, 3) or refused) and (case.code != damaged_checkpoints.INCOMPLETE or "is not complete" in first or "damaged or missing" in first), "%s: verify: %s\nrun --fail-on: %s: %s" % (
            case.name, judged[0]["text"], done.code, first))
    elif "several" in case.name:
        done = run([assay, "run", case.path, "--quiet", "--fail-on", "warning", "--out", out, "--overwrite"])
        checks.expect(done.code == 0, "%s: verify: %s\nrun --fail-on: %s" % (case.name, judged[0]["text"], done))


def check_options(checks, assay, work):
    """A trial of a job that says how its names are to be read is judged as any other."""
    damaged_checkpoints.put(work / "named" / "v7_of_it.pt", {"w": damaged_checkpoints.torch.ones(2), "x": damaged_checkpoints.Runs()})
    damaged_checkpoints.put(work / "named" / "v6_of_it.pt", {"w": damaged_checkpoints.torch.ones(2)})
    job = work / "job.json"
    job.write_text(json.dumps({"trials": [{"path": str(work / "named"), "steps": ["v(\\d+)_"]}], "rules": [{"rule": "ExplodingTensor"}]}))
    done = run([assay, "run", job, "--quiet", "--out", work / "out"])
    checks.expect(done.code == 3 and re.search("v7_of_it.pt: loading this runs (os|posix).system", done.out.split("\n", 1)[0]), "run of a job: %s" % done)


def check_gadgets(checks, assay, work):
    """Every way of a pickle to code is named, and nothing that programs save is called an attack: a directory of each."""
    for made, attack in ((hostile_pickles.attacks(), True), (hostile_pickles.benign(), False)):
        folder = work / ("attacks" if attack else "benign")
        damaged_checkpoints.save_safetensors(folder / "model.safetensors", {"w": damaged_checkpoints.numpy.ones(2, "float32")})
        files = {"%03d-of-them.pkl" % at: name for at, name in enumerate(made)}
        for file, name in files.items():
            (folder / file).write_bytes(made[name])
        done = run([assay, "verify", folder, "--json", "--quiet"])
        said = {line["file"]: line for line in json.loads(done.out)["files"]}
        checks.expect(done.code == (damaged_checkpoints.CODE if attack else 0), "%s: %s" % (folder.name, done))
        for file, name in files.items():
            line = said.get(file, {"state": "nothing"})
            checks.expect((line["state"] == "runs code") == attack and line["state"] in ("runs code", "note"), "%s: %s" % (name, line))


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return path.exists()


def check_watch(checks, assay, work):
    """Beside a training: what is complete is sealed, what is not yet is left alone, and a signal ends it."""
    root = damaged_checkpoints.spread(work, "sharded", name="watched", steps=(100,))
    later = damaged_checkpoints.spread(work, "sharded", name="later", steps=(200, 300))
    cut = later / "checkpoint-300" / "model-00002-of-00003.safetensors"
    whole = cut.read_bytes()
    cut.write_bytes(whole[:100])
    watch = subprocess.Popen([assay, "seal", root, "--watch", "--every", "0.2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        checks.expect(wait_for(root / "checkpoint-100" / "assay-seal.json"), "what is there is not sealed")
        shutil.copytree(later / "checkpoint-200", root / "tmp-checkpoint-200")
        (root / "tmp-checkpoint-200").rename(root / "checkpoint-200")
        checks.expect(wait_for(root / "checkpoint-200" / "assay-seal.json"), "the next one is not sealed")
        shutil.copytree(later / "checkpoint-300", root / "checkpoint-300")
        time.sleep(1)
        checks.expect(not list((root / "checkpoint-300").glob("*seal*")), "half a checkpoint is sealed")
        (root / "checkpoint-300" / cut.name).write_bytes(whole)
        checks.expect(wait_for(root / "checkpoint-300" / "assay-seal.json"), "what has become whole is not sealed")
    finally:
        watch.terminate()
        out, err = watch.communicate(timeout=60)
    checks.expect(watch.returncode == 0, "the end of a watch: %s\n%s%s" % (watch.returncode, out, err))
    done = run([assay, "verify", root, "--quiet"])
    checks.expect(done.code == 0 and done.out.startswith("resume from checkpoint-300") and "neither" not in done.out, "after a watch: %s" % done)
    checks.expect({p.name for p in root.rglob("*") if "seal" in p.name} == {"assay-seal.json", "assay-seal.sha256"}, "something is left behind")


def tails(checks, assay, work):
    """Bytes behind the end of a zip file, which a loader passes over, are a note; of the file that has none nothing is said."""
    for layout, pattern in (("torch", "*.pt"), ("npz", "*.npz"), ("dcp", "__1_0.distcp"), ("zero3", "*optim_states.pt")):
        root = damaged_checkpoints.spread(work, layout)
        before = run([assay, "verify", root])
        path = sorted(root.rglob(pattern))[-1]
        path.write_bytes(path.read_bytes() + b"\0more than there was")
        done = run([assay, "verify", root])
        text = " ".join(done.out.split())
        checks.expect(before.code == done.code == 0 and "behind its end" not in before.out and "see 1 note" in text
                      and "20 bytes stand behind its end, which no loader reads" in text and "more)" not in text and path.name in text, "%s: %s" % (layout, done))


def schedules(checks, assay, work):
    """Two schedulers of which each has the steps of the other's checkpoint lie in each other's place."""
    root = damaged_checkpoints.spread(work, "hugging_face")
    before = run([assay, "verify", root])
    one, two = (root / ("checkpoint-%d" % step) / "scheduler.pt" for step in (100, 200))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    done = run([assay, "verify", root])
    said = "its scheduler was stepped 100 times, and 200 times at step 100: it lies in another's place, and that one in its own"
    checks.expect((before.code, done.code) == (0, 1) and said not in " ".join(before.out.split()) and said in " ".join(done.out.split()), "schedulers exchanged: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--group", nargs="*", default=None)
    parser.add_argument("--once", action="store_true", help="each case once, without holding --last and run against it")
    args, checks = parser.parse_args(), Checks()
    args.group = args.group or [g.__name__ for g in damaged_checkpoints.ALL] + ["seal_and_flip", "ranks", "runs", "watch", "gadgets"]
    groups = [g for g in damaged_checkpoints.ALL if g.__name__ in args.group]
    mark = Path(damaged_checkpoints.Runs.mark)
    mark.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-verify-") as work:
        def seal(path):
            done = run([args.assay, "seal", path, "--quiet"])
            checks.expect(done.code == 0 and done.out.startswith("sealed 2 checkpoints, "), "seal %s: %s" % (path.name, done))
            for listed in path.rglob("*.sha256"):
                checks.expect(subprocess.run(["sha256sum", "--quiet", "-c", listed.name], cwd=listed.parent).returncode == 0, "sha256sum: %s" % listed)
            again = run([args.assay, "seal", path, "--quiet"])
            checks.expect(again.code == 0 and "sealed 0 checkpoints" in again.out and "2 had a seal" in again.out, "seal again: %s" % again)

        every = list(damaged_checkpoints.cases(Path(work), groups))
        if "seal_and_flip" in args.group:
            every += damaged_checkpoints.seal_and_flip(Path(work) / "seals", seal)
            outside = shutil.copytree(Path(work) / "seals" / "hugging_face-sealed", Path(work) / "outside")
            path = sorted(outside.rglob("assay-seal.json"))[-1]
            path.write_text(path.read_text().replace('"file": "', '"file": "../'))
            done = run([args.assay, "verify", outside])
            checks.expect(done.code == 3 and "the seal is damaged: it is not as assay writes it" in " ".join(done.out.split()), "a seal that names a file outside: %s" % done)
            left = shutil.copytree(Path(work) / "seals" / "single-sealed", Path(work) / "left")
            next(p for p in sorted(left.iterdir()) if p.suffix == ".safetensors").unlink()
            done = run([args.assay, "verify", left])
            checks.expect(done.code == 0 and "is the seal of a file that is gone (1 such seal)" in " ".join(done.out.split()), "a seal whose file is gone: %s" % done)
        for case in every:
            done = run([args.assay, "verify", case.path, "--quiet", *case.options])
            first = done.out.split("\n", 1)[0]
            right = done.code == case.code if case.code is not None else done.code != 0
            checks.expect(right and (not case.says or re.search(case.says, first)), "%s %s: exit %s, not %s: %s\n%s" % (
                case.name, case.options, done.code, case.code, first, done.err))
            if not case.options and not args.once:
                check_agreement(checks, args.assay, case, Path(work) / "agreed")
        if "hidden_pickles" in args.group:
            tails(checks, args.assay, Path(work) / "tails")
            schedules(checks, args.assay, Path(work) / "schedules")
        if "ranks" in args.group:
            check_ranks(checks, args.assay, Path(work))
            check_kept(checks, args.assay, Path(work) / "kept")
            check_no_checkpoint(checks, args.assay, Path(work) / "none")
        if "gadgets" in args.group:
            check_gadgets(checks, args.assay, Path(work) / "gadgets")
        if "watch" in args.group:
            check_watch(checks, args.assay, Path(work) / "watch")
        if "runs" in args.group:
            check_options(checks, args.assay, Path(work) / "options")
            bad = Path(work) / "run" / "model.pt"
            damaged_checkpoints.put(bad, {"w": damaged_checkpoints.torch.ones(2), "x": damaged_checkpoints.Runs()})
            done = run([args.assay, "run", bad, "--quiet", "--out", Path(work) / "out"])
            checks.expect(done.code == 3 and re.search("model.pt: loading this runs (os|posix).system", done.out.split("\n", 1)[0]), "run: %s" % done)
    checks.expect(not mark.exists(), "something of a pickle was run")
    checks.done()


if __name__ == "__main__":
    main()
