#!/usr/bin/env python3
"""Custom rules as their authors use them: built outside of the tree against an installed assay, loaded, run on several
ranks, broken in every way, and started by `assay rules new`.

    test_custom_rule.py --cmake PROGRAM --build DIR --cc COMPILER --ranks N... -- PART
    PART: conditions (of job files), example (rules/custom), broken (crashes, loops, modules that must not load), apart
    (modules that change what belongs to their process) or new (assay rules new)
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, TRIALS, Checks, environment, mpirun, run  # noqa: E402
from slow_run import ranks_of  # noqa: E402

MISBEHAVE = ROOT / "tests" / "e2e" / "rules" / "misbehave.c"
# What a rule that did not come back holds stays allocated: that is said in docs/custom-rules.md.
NO_LEAKS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


class Place:
    """A temporary folder with an installed assay."""

    def __init__(self, args, folder, checks):
        self.args, self.folder, self.checks = args, Path(folder), checks
        self.prefix = self.folder / "prefix"
        done = run([args.cmake, "--install", args.build, "--prefix", self.prefix])
        if not checks.expect(done.code == 0, "cmake --install: %s" % done):
            checks.done()
        self.assay = self.prefix / "bin" / "assay"

    def build(self, source, build, options=(), env=None):
        done = run([self.args.cmake, "-S", source, "-B", build, "-DCMAKE_C_COMPILER=%s" % self.args.cc, *options], env)
        done = run([self.args.cmake, "--build", build], env) if done.code == 0 else done
        return self.checks.expect(done.code == 0, "building %s: %s" % (source, done))

    def compile(self, name, *flags):
        """misbehave.c as the only module of a directory of its own."""
        target = self.folder / name / "module.so"
        target.parent.mkdir()
        done = run([self.args.cc, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", *flags,
                    "-I", self.prefix / "include", "-o", target, MISBEHAVE])
        self.checks.expect(done.code == 0, "compiling %s: %s" % (name, done))
        return target.parent

    def job(self, rules, **more):
        path = self.folder / "job.json"
        path.write_text(json.dumps({"rules": rules, **more}))
        return path

    def run(self, ranks, job, *options, env=None, trial="ddp"):
        out = self.folder / "out"
        done = mpirun(ranks, [self.assay, "run", job, "--trial", TRIALS / trial, "--out", out, "--digest", *options], env=env)
        report = {}
        if done.code in (0, 1) and (out / "report.json").exists():
            report = {r["name"]: r for r in json.loads((out / "report.json").read_text())["trials"][0]["rules"]}
        digest = [line for line in done.out.splitlines() if line.startswith("digest ")]
        return done, report, digest


# Built-in rules, and conditions that say the same.
TWINS = [
    ({"rule": "VanishingGradient", "parameters": {"threshold": 1e-3}}, {"when": "abs_mean(gradients) < 1e-3"}),
    ({"rule": "TensorVariance", "parameters": {"collection_names": "weights", "max_threshold": 0.02}},
     {"when": "variance(weights) > 0.02"}),
    ({"rule": "UnchangedTensor", "parameters": {"tensor_regex": "bias", "num_steps": 3, "rtol": 0, "atol": 1e-3}},
     {"when": "update_max(/bias/) <= 1e-3", "for_steps": 2}),
]


def conditions(place, checks):
    """They find what their built-in twins find, read no byte more, and say the same on any number of ranks."""
    for trial in "ddp", "zero_init", "reductions":
        rules, bytes_read, digests = [], [], set()
        for i, (built_in, condition) in enumerate(TWINS):
            rules += [dict(built_in, name="rule-%d" % i), dict(condition, name="when-%d" % i)]
        own = [{"name": "spread", "when": "workers_spread(mean(losses)) > 0.1"},
               {"name": "jump", "when": "ratio(mean(losses)) > 0.9 or change(l2(losses)) > 0", "mode": "TRAIN", "for_steps": 2},
               {"name": "pairs", "when": "l2(weights) < 20 * l2(\"gradient/{}\")"}]
        for ranks in place.args.ranks:
            done, report, digest = place.run(ranks, place.job(rules + own), trial=trial)
            checks.expect(done.code == 0 and len(report) == len(rules) + len(own), "%s: %s" % (trial, done))
            digests.update(digest)
        checks.expect(len(digests) == 1, "%s: the digest differs between ranks: %s" % (trial, digests))
        wrong = [r["message"] for r in report.values() if r["status"] == "Error"]
        checks.expect(not wrong, "%s: %s" % (trial, wrong))
        for i in range(len(TWINS)):
            mine, theirs = report["when-%d" % i], report["rule-%d" % i]
            checks.expect(mine["steps"] == theirs["steps"] and mine["findings_total"] == theirs["findings_total"],
                          "%s: %s found %d, its twin %d" % (trial, TWINS[i][1], mine["findings_total"], theirs["findings_total"]))
            checks.expect([f["tensor"] for f in mine["findings"]] == [f["tensor"] for f in theirs["findings"]], "their tensors")
        if trial == "ddp":
            found = [report[r]["findings_total"] for r in report]
            checks.expect(all(n > 0 for n in found[:2] + found[-3:]), "conditions that find nothing show nothing: %s" % found)
        for chosen in rules[0::2], rules:
            place.run(1, place.job(chosen), trial=trial)
            bytes_read.append(json.loads((place.folder / "out" / "report.json").read_text())["run"]["bytes_read"])
        checks.expect(bytes_read[0] == bytes_read[1], "%s: %s bytes read" % (trial, bytes_read))
    done = run([place.assay, "check", place.job([{"name": "bad", "when": "l2(weights) > oops(1)"}])])
    checks.expect(done.code == 2 and "column 15" in done.err and "    l2(weights) > oops(1)\n" in done.err and
                  done.err.rstrip().endswith(" " * 14 + "^"), "the place: %s" % done)
    for entry, said in (({"when": "l2(weights) > 1", "rule": "DeadRelu"}, "states the rule itself"),
                        ({"when": "l2(weights) > 1", "for_step": 3}, "for_step"), ({"name": "x"}, "neither"),
                        ({"when": "l2(weights) > 1", "mode": "train"}, "mode"), ({"when": 5}, "when"),
                        ({"when": "l2(weights) > 1", "for_steps": 0}, "for_steps")):
        done = run([place.assay, "check", place.job([entry])])
        checks.expect(done.code == 2 and said in done.err, "%s: %s" % (entry, done))


def example(place, checks):
    pc = next(place.prefix.glob("lib/**/assay.pc"))
    build = place.folder / "custom"
    if not place.build(ROOT / "rules" / "custom", build, env={"PKG_CONFIG_PATH": str(pc.parent)}):
        return
    rule = json.loads((ROOT / "rules" / "custom" / "job.json").read_text())["rules"][0]
    module = build / "direction_confusion.so"
    digests = set()
    for ranks in place.args.ranks:
        done, report, digest = place.run(ranks, place.job([rule], modules=[str(module)]))
        checks.expect(done.code == 0 and not done.hung, "%d ranks: %s" % (ranks, done))
        digests.update(digest)
    checks.expect(len(digests) == 1, "the digest differs between ranks: %s" % digests)
    found = report.get("left_or_right", {})
    checks.expect(found.get("status") == "IssuesFound" and found.get("datapoints") == 12, "the verdict: %s" % found)
    values = [f["value"] for f in found.get("findings", [])]
    checks.expect(values == sorted(values) and values and values[0] > 20, "running counts: %s" % values)
    checks.expect(all(f["worker"] == "*" for f in found.get("findings", [])), "all workers are pooled")
    total = found.get("a_taken_for_b", 0) + found.get("b_taken_for_a", 0)
    checks.expect(values and values[-1] == total, "the last count is the sum: %s, %s" % (values[-1:], total))
    compare_with_confusion(place, checks, rule["parameters"], found)
    other_commands(place, checks, rule, module, digests)
    # The same through a search path, in the other style of names, and quiet above the limit.
    rule["rule"], rule["parameters"]["most"] = "direction_confusion", total
    for options, env in (["--rules-path", build], None), ([], {"ASSAY_RULES_PATH": "%s:" % build}):
        done, report, _ = place.run(1, place.job([rule]), *options, env=env)
        checks.expect(report.get("left_or_right", {}).get("status") == "NoIssuesFound", "search path: %s" % done)
    installed = run([place.args.cmake, "--install", build, "--prefix", place.prefix])
    checks.expect(installed.code == 0, "installing the rule: %s" % installed)
    shown = run([place.assay, "rules"])
    checks.expect("DirectionConfusion from " in shown.out and "assay/rules/" in shown.out, "assay rules: %s" % shown)
    checks.expect("class_a" in run([place.assay, "rules", "DirectionConfusion"]).out, "assay rules NAME")
    checked = run([place.assay, "check", place.job([rule])])
    checks.expect(checked.code == 0 and "direction_confusion.so" in checked.out, "assay check: %s" % checked)
    rule["parameters"]["class_b"] = rule["parameters"]["class_a"]
    checked = run([place.assay, "check", place.job([rule])])
    checks.expect(checked.code == 2 and "DirectionConfusion: the parameters class_a and class_b" in checked.err,
                  "its own refusal: %s" % checked)


def other_commands(place, checks, rule, module, digest):
    """Stopped and resumed on other ranks, watched, compared and trusted: the rule says the same."""
    job, checkpoint = place.job([rule], modules=[str(module)]), place.folder / "run.ckpt"
    argv = [str(w) for w in (place.assay, "run", job, "--trial", TRIALS / "ddp", "--out", place.folder / "stopped", "--checkpoint",
                             checkpoint)]
    slow = subprocess.Popen(argv, env={**environment(), "ASSAY_FAULT": "slow:100"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not ranks_of(str(checkpoint)) and slow.poll() is None and time.monotonic() < end:
        time.sleep(0.02)  # before it listens, a signal ends it at once
    slow.terminate()
    said = slow.communicate(timeout=60)[1].decode()
    checks.expect(slow.returncode == 75 and checkpoint.exists(), "stopped: exit %s: %s" % (slow.returncode, said))
    done, _, resumed = place.run(place.args.ranks[-1], job, "--checkpoint", checkpoint, "--resume")
    checks.expect(set(resumed) == digest, "resumed: %s" % done)
    done, _, trusted = place.run(place.args.ranks[-1], job, "--trust-rules")
    checks.expect(set(trusted) == digest, "trusted: %s" % done)
    out = place.folder / "watched"
    done = mpirun(place.args.ranks[-1], [place.assay, "watch", job, "--trial", TRIALS / "ddp", "--out", out])
    watched = json.loads((out / "report.json").read_text())["trials"][0]["rules"] if (out / "report.json").exists() else []
    place.run(1, job)
    ran = json.loads((place.folder / "out" / "report.json").read_text())["trials"][0]["rules"]
    checks.expect(watched == ran, "watched: %s" % done)
    done = run([place.assay, "compare", "--job", job, TRIALS / "ddp", TRIALS / "ddp_partial", "--out", place.folder / "compared"])
    compared = json.loads((place.folder / "compared" / "report.json").read_text())["trials"] if done.code == 0 else []
    checks.expect(compared and compared[0]["rules"] == ran and compared[1]["rules"][0]["datapoints"], "compared: %s" % done)


def compare_with_confusion(place, checks, parameters, found):
    """The built-in aggregation counts the same cells."""
    cells = [{"name": "cm", "kind": "confusion", "labels": parameters["labels"], "predictions": parameters["predictions"]}]
    place.run(1, place.job([], aggregations=cells))
    matrix = json.loads((place.folder / "out" / "report.json").read_text())["trials"][0]["aggregations"][0]["matrix"]
    a, b = parameters["class_a"], parameters["class_b"]
    checks.expect([found.get("a_taken_for_b"), found.get("b_taken_for_a")] == [matrix[a][b], matrix[b][a]],
                  "the aggregation counts %d and %d" % (matrix[a][b], matrix[b][a]))


HOW = {"segv": "crashed: segmentation fault", "library": "crashed: segmentation fault", "call": "crashed: segmentation fault",
       "fpe": "crashed: arithmetic fault", "abort": "gave up", "ill": "crashed: illegal instruction",
       "stack": "crashed: segmentation fault", "parameter": "gave up", "loop": "did not come back within 0.3 s",
       "allocate": "did not come back within 0.3 s", "sleep": "did not come back within 0.3 s",
       "blocked": "did not come back within 0.3 s", "exit": "called exit(0)", "close": "closed the connection",
       "write": "wrote into the connection"}


def misbehaving(place, checks, modules, how, where, said):
    """The rule is in error, with the same words on every number of ranks; its neighbours are as without it."""
    rules = [{"rule": "Misbehave", "parameters": {"how": how, "where": where, "step": 40}},
             {"name": "well", "rule": "Misbehave"}, {"rule": "VanishingGradient"}]
    digests = set()
    for ranks in place.args.ranks:
        done, report, digest = place.run(ranks, place.job(rules), "--rules-path", modules, "--rule-seconds", "0.3", env=NO_LEAKS)
        what = "%s in %s on %d ranks" % (how, where, ranks)
        checks.expect(done.code == 0 and not done.hung, "%s: %s" % (what, done))
        mine = report.get("Misbehave", {})
        checks.expect(mine.get("status") == "Error" and said in mine.get("message", ""), "%s: %s" % (what, mine))
        digests.update(digest)
        checks.expect(report.get("well", {}).get("status") == "IssuesFound", "%s: %s" % (what, report.get("well")))
        checks.expect(report.get("VanishingGradient", {}).get("datapoints"), "%s: the others run on" % what)
    checks.expect(len(digests) == 1, "%s in %s: %s" % (how, where, digests))


def refused(place, checks, modules, said):
    job = place.job([{"rule": "VanishingGradient"}])
    for ranks in sorted({1, min(3, place.args.ranks[-1])}):
        done, _, _ = place.run(ranks, job, "--rules-path", modules)
        checks.expect(done.code == 2 and not done.hung and said in done.err and "module.so" in done.err,
                      "%s: %s" % (said, done))
    job = place.job([{"rule": "VanishingGradient"}], modules=[str(modules / "module.so")])
    done = run([place.assay, "check", job])
    checks.expect(done.code == 2 and "modules[0]" in done.err and said in done.err, "as a job's module: %s" % done)


def broken(place, checks):
    modules = place.compile("misbehave")
    sanitized = "__asan_init" in run(["nm", "-D", place.assay]).out
    for how, said in HOW.items():
        if sanitized and how in ("stack", "library"):
            continue  # the sanitizer itself ends the program there
        misbehaving(place, checks, modules, how, "map", "map of step 40 " + said)
    for where in "setup", "state_new", "combine", "finalize":
        misbehaving(place, checks, modules, "segv", where, where + " crashed")
    for where in "pack", "unpack":
        misbehaving(place, checks, modules, "segv", where, where + " crashed")
    if not sanitized:
        misbehaving(place, checks, modules, "heap", "map", "gave up")
    misbehaving(place, checks, modules, "nothing", "own error", "step 0 is not to its taste")
    misbehaving(place, checks, modules, "nothing", "its json", "its members for report.json")
    misbehaving(place, checks, modules, "nothing", "its test", "a finding of its test 7")
    refused(place, checks, place.compile("abi", "-DABI=99"), "built for another version")
    refused(place, checks, place.compile("size", "-DSIZE=8"), "built for another version")
    refused(place, checks, place.compile("no-table", "-DNO_TABLE", "-Wno-unused"), "does not export assay_rule_module_v1")
    refused(place, checks, place.compile("empty", "-DEMPTY", "-Wno-unused"), "is empty")
    refused(place, checks, place.compile("built-in", '-DNAME="DeadRelu"'), "the name DeadRelu is taken by a rule of assay itself")
    refused(place, checks, place.compile("snake", '-DNAME="deadRelu"'), "the name deadRelu is taken")
    refused(place, checks, place.compile("no-help", '-DHELP=""'), "has no help")
    refused(place, checks, place.compile("unresolved", "-DUNRESOLVED"), "assay_no_such_function")
    refused(place, checks, place.compile("crash", "-DCRASH_AT_ONCE"), "crashed: segmentation fault")
    (place.folder / "text").mkdir()
    (place.folder / "text" / "module.so").write_text("this is no shared object\n")
    refused(place, checks, place.folder / "text", "cannot load this module of rules")
    twice = place.compile("twice")
    job = place.job([{"rule": "Misbehave"}], modules=[str(modules / "module.so"), str(modules / ".." / "misbehave" / "module.so")])
    checks.expect(run([place.assay, "check", job]).code == 0, "the same file twice is loaded once")
    job = place.job([{"rule": "Misbehave"}], modules=[str(modules / "module.so"), str(twice / "module.so")])
    done = run([place.assay, "check", job])
    checks.expect(done.code == 2 and "is taken by a rule of %s" % (modules / "module.so").resolve() in done.err, "a twin: %s" % done)
    done = run([place.assay, "rules", "--rules-path", place.folder / "not-there"])
    checks.expect(done.code == 2 and "not-there" in done.err, "a directory that is not there: %s" % done)
    job = place.job([{"rule": "Misbehave"}])
    done, report, _ = place.run(1, job, "--rules-path", modules, "--trust-rules")
    checks.expect(report.get("Misbehave", {}).get("status") == "IssuesFound", "trusted: %s" % done)
    job = place.job([{"rule": "Misbehave", "parameters": {"how": "exit", "where": "map"}}])
    for ranks in place.args.ranks:
        done, _, _ = place.run(ranks, job, "--rules-path", modules, "--trust-rules", env=NO_LEAKS)
        checks.expect(done.code != 0 and not done.hung and "exit()" in done.err, "exit() of a trusted rule: %s" % done)
    done = run([place.assay, "run", job, "--trial", TRIALS / "ddp", "--rules-path", modules, "--trust-rules",
                "--out", place.folder / "out"])
    checks.expect(done.code == 4 and "exit()" in done.err, "exit() without a launcher: %s" % done)


def small_numbers(folder):
    """A trial whose numbers are so small that they are zeros to a processor that flushes them."""
    for step in range(0, 40, 10):
        path = folder / str(step) / "worker_0" / "dense.npy"
        path.parent.mkdir(parents=True)
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }"
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        values = struct.pack("<8f", *[1e-40] * 8)
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values)
    return folder


def apart(place, checks):
    """Whatever a module changes of its process, in a constructor or in a call: the others' results, files and bytes are as
    without it, and its own are the same whether it is trusted or not."""
    trial = small_numbers(place.folder / "small")
    built_in = [{"rule": "AllZero", "parameters": {"tensor_regex": ".*"}}, {"when": "mean(/dense/) < 1"}]
    own = [{"rule": "Misbehave", "parameters": {"how": "process", "where": where}, "name": where} for where in ("setup", "map", "finalize")]
    _, report, plain = place.run(1, place.job(built_in), trial=trial)
    checks.expect(report.get("AllZero", {}).get("status") == "NoIssuesFound", "numbers that are no zeros: %s" % report)
    (place.folder / "nothing").mkdir()
    modules = place.compile("constructor", "-DCONSTRUCTOR")
    digests = {"own": set(), "built-in": set(plain)}
    for ranks in place.args.ranks:
        for trust in [], ["--trust-rules"]:
            for name, rules in ("built-in", built_in), ("own", built_in + own):
                done, report, digest = place.run(ranks, place.job(rules), "--rules-path", modules, *trust, trial=trial)
                what = "%s on %d ranks %s" % (name, ranks, trust)
                checks.expect(done.code == 0 and not done.hung and digest, "%s: %s" % (what, done))
                checks.expect(report.get("AllZero", {}).get("status") == "NoIssuesFound", "%s: %s" % (what, report.get("AllZero")))
                checks.expect((place.folder / "out" / "report.json").stat().st_mode & 0o400, "%s: the report can be read" % what)
                digests[name].update(digest)
    checks.expect(all(len(d) == 1 for d in digests.values()), "the digests differ: %s" % digests)
    done, _, _ = place.run(1, place.job([{"rule": "Misbehave", "parameters": {"how": "print", "where": "map"}}]),
                           "--rules-path", modules, trial=trial)
    checks.expect("no report" not in done.out and "no report" in done.err, "what a rule prints: %s" % done)


def new(place, checks):
    folder = place.folder / "new-rule"
    made = run([place.assay, "rules", "new", "LossJump", "--dir", folder])
    if not checks.expect(made.code == 0 and (folder / "loss_jump.c").exists(), "assay rules new: %s" % made):
        return
    build = folder / "build"
    if place.build(folder, build, ["-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"]):
        tested = run(["ctest", "--test-dir", build, "--output-on-failure"], env=NO_LEAKS)
        checks.expect(tested.code == 0 and "100% tests passed" in tested.out, "its test: %s" % tested)
        shown = run([place.assay, "rules", "loss_jump", "--rules-path", build])
        checks.expect(shown.code == 0 and "Rule LossJump" in shown.out, "its parameters: %s" % shown)
        # A test that cannot fail would be worth nothing: break the rule, and the test has to notice.
        source = folder / "loss_jump.c"
        source.write_text(source.read_text().replace("value > limit,", "value < limit,"))
        checks.expect(place.build(folder, build), "building the broken rule")
        tested = run(["ctest", "--test-dir", build], env=NO_LEAKS)
        checks.expect(tested.code != 0, "a broken rule passes its test")
    again = run([place.assay, "rules", "new", "LossJump", "--dir", folder])
    checks.expect(again.code == 2 and "is there already" in again.err, "nothing is overwritten: %s" % again)
    for words, said in ((["new"], "is missing"), (["new", "9lives"], "not a name for a rule"), (["new", "a/b"], "not a name for a rule"),
                        (["new", "dead_relu"], "already"), (["DeadRelu", "two"], "has no parameter \"two\""),
                        (["DeadRelu", "--dir", "x"], "goes with new")):
        done = run([place.assay, "rules", *words], cwd=place.folder)
        checks.expect(done.code == 2 and said in done.err, "rules %s: %s" % (words, done))


def main():
    parser = argparse.ArgumentParser()
    for name in ("--cmake", "--build", "--cc"):
        parser.add_argument(name, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("part", choices=["conditions", "example", "broken", "apart", "new"])
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        {"conditions": conditions, "example": example, "broken": broken, "apart": apart, "new": new}[args.part](Place(args, folder, checks), checks)
    checks.done()


if __name__ == "__main__":
    main()
