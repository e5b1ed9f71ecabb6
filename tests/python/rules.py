#!/usr/bin/env python3
"""Rules in Python as their authors meet them: what they find on any number of ranks, what becomes of broken ones, and how they start.

    rules.py --assay PROGRAM --ranks N... -- WORK_DIR PART
    PART: sound (verdicts), broken (one error each, the others go on) or start (check, rules, new, what is missing, resume)
"""
import argparse
import json
import os
import shutil
import sys
from concurrent import futures
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import numpy  # noqa: E402
import s3  # noqa: E402
from launch import ROOT, TRIALS, Checks, mpirun, run  # noqa: E402
from s3_server import Server  # noqa: E402

HELPER = "def is_too_large(value, threshold):\n    return value > threshold\n"  # what sound.py imports from beside its own file
NO_CACHE = {"PYTHONDONTWRITEBYTECODE": "1"}


class Place:
    def __init__(self, args, checks):
        self.assay, self.folder, self.checks, self.has_s3 = args.assay, Path(args.work), checks, args.s3
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(ROOT / "tests" / "python" / "rules", self.folder / "rules")
        self.rules = self.folder / "rules"
        (self.rules / "helper_of_sound.py").write_text(HELPER)

    def job(self, rules, file="sound.py", **more):
        """`rules` are classes of the file with their parameters, or entries as they stand."""
        entries = [rule if isinstance(rule, dict) else {"python": "%s:%s" % (self.rules / file, rule[0]), "parameters": rule[1]}
                   for rule in rules]
        path = self.folder / "job.json"
        path.write_text(json.dumps({"rules": entries, **more}))
        return path

    def run(self, ranks, job, *options, trials=("ddp",), env=None, out="out"):
        """(what came back, rules of the first trial by name, the line with the digest)"""
        out = self.folder / out
        shutil.rmtree(out, ignore_errors=True)
        named = [word for trial in trials for word in ("--trial", TRIALS / trial)]
        done = mpirun(ranks, [self.assay, "run", job, *named, "--out", out, "--digest", "--reports", "json", *options],
                      env={**NO_CACHE, **(env or {})})
        found = {}
        if (out / "report.json").exists():
            found = {rule["name"]: rule for rule in json.loads((out / "report.json").read_text())["trials"][0]["rules"]}
        return done, found, [line for line in done.out.splitlines() if line.startswith("digest ")]

    def everywhere(self, ranks, job, *options, at_once=False, **named):
        """The same on so many ranks each, byte for byte; the first of them. `at_once`: what they do is wait."""
        with futures.ThreadPoolExecutor(len(ranks) if at_once else 1) as pool:
            runs = [pool.submit(self.run, n, job, *options, **named, **({"out": "out-%d" % n} if at_once else {})) for n in ranks]
            results = [done.result() for done in runs]
        digests = {line for _, _, lines in results for line in lines}
        self.checks.expect(len(digests) == 1 and all(found for _, found, _ in results), "the same on %s ranks: %s, %s" % (
            ranks, digests, results[0][0].err[:2000]))
        return results[0]


def places(rule):
    return [(f["step"], f["tensor"], f["worker"]) for f in rule["findings"]]


def sound(place, ranks, checks):
    """What they find is what conditions find that say the same, and what the trial has."""
    entries = [("GradientTooLarge", {"threshold": 0.05}), ("GradientTooSmall", {"threshold": "0.001"}),
               {"name": "small", "when": "abs_mean(gradients) < 1e-3"}, ("CustomCollection", {"limit": "0.5"}),
               ("LooksBack", {"limit": 0.005, "start_step": 20}), ("Counts", {}), ("CountsInOrder", {"every": 3}), ("Values", {}), ("OwnCondition", {}), ("Waits", {})]
    done, found, _ = place.everywhere([ranks[0], *ranks[2:]], place.job(entries))  # on as many as between: several()
    if not checks.expect(set(found) >= {"GradientTooLarge", "small", "OwnCondition"}, "it ran: %s" % done):
        return
    waits = found.pop("Waits")
    checks.expect(waits["status"] == "NoData" and waits["datapoints"] == 0, "Waits tests nothing: %s" % waits)
    for name, rule in found.items():
        checks.expect(rule["status"] in ("IssuesFound", "NoIssuesFound"), "%s: %s" % (name, rule))
    small, twin = found["GradientTooSmall"], found["small"]
    checks.expect(places(small) == places(twin) and small["findings_total"] == twin["findings_total"] > 0 and
                  small["datapoints"] == twin["datapoints"] and
                  [f["value"] for f in small["findings"]] == [f["value"] for f in twin["findings"]],
                  "GradientTooSmall finds what the condition finds: %s, %s" % (small, twin))
    large = found["GradientTooLarge"]
    checks.expect(large["recommendation"] == "Lower the learning rate." and large["parameters"]["threshold"] == 0.05 and
                  large["datapoints"] > large["findings_total"] > 0 and large["findings"][0]["worker"] == "*",
                  "GradientTooLarge: %s" % large)
    above = found["CustomCollection"]
    checks.expect(above["findings_total"] > 0 and all(f["value"] > 0.5 and f["worker"].startswith("worker") for f in above["findings"]),
                  "CustomCollection: %s" % above)
    back = found["LooksBack"]
    checks.expect(back["findings_total"] > 0 and back["first"]["step"] >= 20, "LooksBack: %s" % back)
    counts = found["Counts"]
    checks.expect([f["value"] for f in counts["findings"]] == [3.0 * (i + 1) for i in range(counts["datapoints"] // 3)] and
                  counts["findings"] == found["CountsInOrder"]["findings"] and counts["findings_total"] > 1, "Counts: %s" % counts)
    odd = found["Values"]["findings"]
    checks.expect(sorted(str(f["value"]) for f in odd) == ["-inf", "0.5", "nan"] and
                  max(len(f.get("note") or "") for f in odd) == 200, "Values: %s" % odd)
    condition = found["OwnCondition"]
    checks.expect(condition["findings_total"] == condition["datapoints"] == 1, "OwnCondition: %s" % condition)
    several(place, ranks, checks)


def several(place, ranks, checks):
    """Several trials, one of them packed, one worker, and only some steps."""
    packed = place.folder / "ddp.h5"
    made = run([place.assay, "pack", TRIALS / "ddp", packed])
    trials = ["flip", "healthy"] + ([packed] if made.code == 0 else [])
    entries = [("GradientTooSmall", {"only": "weight"}), ("Counts", {"worker": "worker_0", "start_step": 10, "end_step": 40})]
    done, _, _ = place.everywhere(ranks[:2], place.job(entries), trials=trials)
    reports = json.loads((place.folder / "out" / "report.json").read_text())["trials"]
    checks.expect(len(reports) == len(trials) and all(r["status"] != "Error" for t in reports for r in t["rules"]), "several: %s" % done)
    steps = {f["step"] for t in reports for r in t["rules"] if r["name"] == "Counts" for f in r["findings"]}
    checks.expect(steps and all(10 <= step < 40 for step in steps), "only some steps: %s" % steps)


# Class, what its message says. At step 20 others have been evaluated, and more are to come.
BROKEN = [
    ("Raises", "broken.py:21 in break_down: return 1 / 0\n"), ("Raises", "Raises: step 20: ZeroDivisionError: division by zero\n  "),
    ("RaisesDeep", "step 20: KeyError: 'a key that is not there'\n  "), ("RaisesDeep", "\n  ... (the whole traceback: standard error)"),
    ("Exits", "step 20: SystemExit: 3"),
    ("ExitsAtOnce", "step 20 called exit(7)"),
    ("Crashes", "step 20 crashed: segmentation fault (SIGSEGV)"),
    ("ClosesAll", "step 20 closed the connection to assay, descriptors 3 and 4"),
    ("WritesGarbage", "step 20 wrote into the connection to assay, descriptor 3"),
    ("FindsTooMuch", "step 20: more than 100000 findings at one step"),
    ("FindsNothingReal", "step 20: a finding names the tensor 'no such tensor', which the trial does not have"),
    ("Recurses", "step 20: RecursionError"),
    ("NoFinding", "step 20: TypeError: 'fires' is no finding: return True, assay.Finding"),
]
AT_ONCE = [
    ("RaisesInInit", "KeyError: 'nothing of the kind'"), ("DeadRelu", "there is a rule DeadRelu already"),
    ("Nothing", "Nothing has neither invoke_at_step(self, step) nor at_step(self, view)"),
    ("NoRule", "NoRule is no subclass of assay.Rule"), ("Missing", "it has no class Missing; its rules are Broken, Raises"),
    ("ChangesItself", "at_step() changed self.last"),
]


def broken(place, ranks, checks):
    entries = [(name, {"at": 20}) for name in dict(BROKEN)] + [(name, {}) for name, _ in AT_ONCE]
    entries += [("Prints", {"at": 0}), ("Forks", {"at": 0}), {"rule": "VanishingGradient"}]
    done, found, _ = place.everywhere(ranks, place.job(entries, "broken.py"))
    for name, says in BROKEN + AT_ONCE:
        rule = found.get(name) or found.get("%s:%s" % (place.rules / "broken.py", name)) or {}
        checks.expect(rule.get("status") == "Error" and says in rule["message"], "%s says %r: %s" % (name, says, rule))
    for name in "Prints", "Forks":
        checks.expect(found.get(name, {}).get("status") == "NoIssuesFound", "%s harms nobody: %s" % (name, found.get(name)))
    checks.expect(found.get("VanishingGradient", {}).get("status") in ("IssuesFound", "NoIssuesFound"), "the others go on: %s" % done.err[:2000])
    checks.expect("in break_down\n" in done.err and "in begin_what_goes_wrong_far_below\n" in done.err,
                  "the whole traceback: %s" % done.err[:2000])
    checks.expect("printed by a rule" in done.err and "printed by a rule" not in done.out, "what a rule prints is no report")
    done, found, _ = place.everywhere(ranks, place.job([("Hangs", {"at": 20})], "broken.py"), "--rule-seconds", "3",
                                      at_once=True)
    checks.expect(found.get("Hangs", {}).get("message") == "Hangs: step 20 did not come back within 3 s", "Hangs: %s" % found)


def start(place, ranks, checks):
    file = place.rules / "sound.py"
    job = place.job([("GradientTooLarge", {"treshold": 1}), ("CustomCollection", {}), ("GradientTooSmall", {"threshold": "small"}),
                     {"python": "nowhere.py:Rule"}, {"python": "sound.py"}, ("Counts", {})])
    done = run([place.assay, "check", job], NO_CACHE)
    says = ['unknown parameter "treshold" (value 1) (did you mean "threshold"?)', "parameter limit is required",
            'parameter threshold has the value "small": it must be a number', "nowhere.py", "it names no class"]
    checks.expect(done.code == 2 and all(text in done.err for text in says), "check: %s" % done)
    checks.expect('"python": "%s:Counts"' % file in done.out and '"every": 3' in done.out, "check prints defaults: %s" % done.out)
    bad = place.folder / "bad.json"
    bad.write_text(json.dumps({"rules": [{"python": "sound.py:Counts", "rule": "Counts"}]}))
    done = run([place.assay, "check", bad])
    checks.expect(done.code == 2 and '"python" names the rule itself' in done.err, "both: %s" % done)

    done = run([place.assay, "rules", "%s:GradientTooLarge" % file], NO_CACHE)
    checks.expect(done.code == 0 and "A gradient's mean magnitude is above the threshold." in done.out and "default 10" in done.out and
                  "second paragraph" not in done.out and "Lower the learning rate." in done.out, "rules FILE:CLASS: %s" % done)
    done = run([place.assay, "rules", "--json", "%s:Counts" % file], NO_CACHE)
    told = json.loads(done.out)
    checks.expect(told[0]["name"] == "Counts" and told[0]["parameters"][0]["name"] == "every", "rules --json: %s" % done)

    made = place.folder / "new"
    done = run([place.assay, "rules", "new", "LossJump", "--python", "--dir", made])
    tested = run([sys.executable, made / "test_loss_jump.py"], {"ASSAY": str(place.assay), **NO_CACHE})
    checks.expect(done.code == 0 and tested.code == 0 and "Ran 2 tests" in tested.err, "new: %s %s" % (done, tested))

    job = place.job([("Counts", {}), {"rule": "VanishingGradient"}])
    for env, says in (({"ASSAY_PYTHON": "no-such-python3"}, "cannot start no-such-python3, which rules in Python need: No such file"),
                      ({"PYTHONPATH": str(no_numpy(place))}, "rules in Python need numpy, and ")):
        done, found, _ = place.run(ranks[-1], job, env=env)
        error = next((rule for name, rule in found.items() if "Counts" in name), {})
        checks.expect(error.get("status") == "Error" and says in error["message"] and found["VanishingGradient"]["status"] != "Error",
                      "%s: %s" % (env, found or done))
    resume(place, ranks, checks)
    read_otherwise(place, checks)
    if place.has_s3:
        in_s3(place, checks)


def read_otherwise(place, checks):
    """A job that says how a trial is read says it to assay alone."""
    (place.folder / "saved").mkdir()
    for step in 1, 2, 3:
        numpy.savez(place.folder / "saved" / ("at%dof9.npz" % step), w=numpy.full(4, step, "f4"))
    trial = {"path": str(place.folder / "saved"), "steps": ["at([0-9]+)of"]}
    job = place.job([("GradientTooSmall", {"threshold": 2.5}), ("Waits", {})], trials=[trial])
    text = job.read_text().replace("GradientTooSmall", "Small")
    (place.rules / "sound.py").write_text((place.rules / "sound.py").read_text() + "\n\nclass Small(GradientTooSmall):\n    collections = ()\n")
    job.write_text(text)
    done, found, _ = place.run(1, job, trials=())
    small, waits = found.get("Small", {}), found.get("Waits", {})
    checks.expect(small.get("findings_total") == 2 and small["datapoints"] == 3, "figures are there: %s %s" % (small, done))
    checks.expect(waits.get("status") == "Error" and "the job says how this trial is to be read" in waits["message"], "%s" % waits)


def in_s3(place, checks):
    """A trial in S3 is read by the interpreter with the credentials of the environment."""
    job = place.job([("GradientTooLarge", {"threshold": 0.05}), ("GradientTooSmall", {}), ("Counts", {})])
    _, here, _ = place.run(1, job)
    with Server(signed=True) as server:
        server.put_tree("runs", "ddp/", TRIALS / "ddp")
        out = place.folder / "in-s3"
        done = run([place.assay, "run", job, "--trial", "s3://runs/ddp", "--out", out, "--reports", "json"],
                   {**s3.environment(server.port, server.key, server.secret), **NO_CACHE})
        there = {rule["name"]: rule for rule in json.loads((out / "report.json").read_text())["trials"][0]["rules"]}
    checks.expect(there == here and all(rule["status"] == "IssuesFound" for rule in here.values()), "in S3: %s %s" % (there, done.err[:500]))


def no_numpy(place):
    """A place in which numpy is one that is not there."""
    folder = place.folder / "no-numpy"
    folder.mkdir()
    (folder / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n")
    return folder


def resume(place, ranks, checks):
    """A run that goes on from a checkpoint says the same; one does not go on with another rule."""
    rules, stop, checkpoint = place.rules / "sound.py", place.folder / "stop", place.folder / "checkpoint"
    job = place.job([{"python": "%s:%s" % (rules, name), "parameters": more} for name, more in (
        ("StopsAssay", {"file": str(stop)}), ("GradientTooSmall", {}), ("Counts", {}))])
    whole = place.run(ranks[0], job)
    for change, n in ("", ranks[-1]), ("# changed\n", 1):
        stop.write_text("")
        stopped = place.run(1, job, "--checkpoint", checkpoint)
        checks.expect(stopped[0].code == 75 and checkpoint.exists(), "stopped: %s" % stopped[0])
        rules.write_text(rules.read_text() + change)
        again = place.run(n, job, "--checkpoint", checkpoint, "--resume")
        if change:
            checks.expect(again[0].code == 2 and "checkpoint" in again[0].err, "of another rule: %s" % again[0])
        else:
            checks.expect(whole[2] and whole[2] == again[2], "resumed: %s %s" % (whole[0], again[0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True, type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--s3", action="store_true", help="this build has S3")
    parser.add_argument("work")
    parser.add_argument("part", choices=("sound", "broken", "start"))
    args = parser.parse_args()
    checks = Checks()
    os.environ.pop("ASSAY_LIBRARY", None)
    {"sound": sound, "broken": broken, "start": start}[args.part](Place(args, checks), args.ranks, checks)
    checks.done()


if __name__ == "__main__":
    main()
