#!/usr/bin/env python3
"""The command line: help, exit codes, job files that are wrong, outputs that cannot be written, hostile names.

    command_line.py --assay PROGRAM
"""
import argparse
import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import numpy  # noqa: E402

from checkpoints import save_safetensors  # noqa: E402
from launch import LAUNCHER, ROOT, TRIALS, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from records import TAG, Part, inside  # noqa: E402
from reports import body_of  # noqa: E402

DDP, PARTIAL = TRIALS / "ddp", TRIALS / "ddp_partial"
RULES = {"rules": [{"rule": "AllZero", "parameters": {"tensor_regex": ".*", "threshold": 40}, "severity": "error"}]}
COMMANDS = ("run", "ls", "show", "rules", "check")


class Cli:
    def __init__(self, assay, checks, where):
        self.assay, self.checks, self.where = assay, checks, where
        self.job = self.write("job.json", RULES)

    def write(self, name, content):
        path = self.where / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def expect(self, code, *arguments, err=None, out=None, cwd=None):
        """Runs assay; checks the exit code and texts that have to be on standard error and output."""
        done = run([self.assay, *arguments], cwd=cwd or self.where, timeout=60)
        title = "assay " + " ".join(map(str, arguments))
        self.checks.expect(done.code == code, "%s: expected exit %d: %s" % (title, code, done))
        for text, there in ((err, done.err), (out, done.out)):
            if text is not None:
                self.checks.expect(text in there, "%s: \"%s\" is missing: %s" % (title, text, done))
        return done


def check_help(cli):
    overview = cli.expect(0, "--help", out="Exit codes")
    for command in COMMANDS:
        cli.checks.expect("\n  %s " % command in overview.out, "--help does not list %s" % command)
        text = cli.expect(0, command, "--help", out="Usage: assay " + command).out
        widest = max(len(line) for line in text.splitlines())
        cli.checks.expect(widest <= 100, "%s --help is %d columns wide" % (command, widest))
        cli.expect(0, command, "x", "y", "--nonsense", "--help")
    commands = set(re.findall(r"^  (\w+) +\S", overview.out.split("Commands:")[1].split("\n\n")[0], re.M))
    for command in commands:
        cli.expect(2, command, "-q", "-v", "--color", "never", "--nonsense", err='assay: rank 0: error: %s: unknown option "--nonsense"' % command)
    for option, having in (("out", commands), ("json", commands - {"completion"}), ("format", commands - {"completion"}),
                           ("steps", commands - {"why", "topology", "rules", "check", "pack", "unpack", "pilot", "notify", "completion"}),
                           ("csv", {"why", "history", "ls", "show", "stats", "verify", "rules"}), ("quiet", commands), ("log", commands), ("color", commands)):
        has = {command for command in commands if re.search(r"^  --%s\b" % option, cli.expect(0, command, "--help").out, re.M)}
        cli.checks.expect(has == having, "--%s: %s" % (option, sorted(has ^ having)))
    version = cli.expect(0, "--version").out
    cli.checks.expect(re.fullmatch(r"assay \d+\.\d+\.\d+\n(.+\n)*License: Apache-2.0\n", version), "--version: %s" % version)
    cli.expect(2, out="Find what went wrong", err="no command")
    cli.expect(0, "version", out="assay ")
    cli.expect(2, "run", PARTIAL, "--reports", "htlm", err='did you mean "html"')
    for name in ("bare", "folder"):
        (cli.where / name).mkdir()
    for name in ("a", "b"):
        (cli.where / "folder" / name).symlink_to(PARTIAL)
    (cli.where / "a-file").write_text("x")
    cli.expect(2, "run", "bare", err="bare: not a trial: nothing is in it")
    cli.expect(2, "run", "folder", err="folder: not a trial, but a folder of trials; give folder/a, or 'folder/*' for all of them")
    cli.expect(4, "run", PARTIAL, "-o", "a-file", err="a-file: cannot make the directory: a file is in the way")
    cli.expect(0, "run", PARTIAL, "-o", "old", "--format", "md,txt", err="--format md,txt: the files of a report are chosen by --reports")
    cli.checks.expect({p.name for p in (cli.where / "old").glob("[!.]*")} == {"report.md", "report.txt"}, "--format as it once was")
    cli.expect(2, "run", PARTIAL, "--format", "text", "--json", err="exclude each other")
    cli.expect(2, "run", PARTIAL, "--format", "xyz", "--reports", "json", err="expected text or json")
    cli.expect(2, "compare", PARTIAL, PARTIAL, "--tensors", "--format", "csv", "--json", err="exclude each other")
    printed = [cli.expect(0, command, PARTIAL, *more, *form, "-q", "-o", "form").out for command, *more in (("run",), ("compare", DDP))
               for form in (["--format", "json"], ["--json"], ["--format", "text"], [])]
    cli.checks.expect(all(json.loads(a)["trials"] == json.loads(b)["trials"] and c[:1000] == d[:1000] != a[:1000] for a, b, c, d in (printed[:4], printed[4:])), "--format of a report")
    cli.expect(0, "run", PARTIAL, "-q", "--reports", "md,txt", "-o", "short")
    cli.checks.expect({p.name for p in (cli.where / "short").glob("[!.]*")} == {"report.md", "report.txt"}, "-o, -q, md and txt")
    cli.expect(2, "show", PARTIAL, "--format", "md", err="--format md: expected text, json or csv")
    cli.expect(0, "rules", "--format", "txt", out="Rules\n-----")
    cli.expect(2, "frobnicate", err="unknown command \"frobnicate\"")
    for word, form in (("htlm", "html"), ("md", "markdown"), ("json", "json")):
        cli.expect(2, word, err="unknown command \"%s\"; `assay run TRIAL --reports %s`" % (word, form))
    cli.expect(2, "versoin", err="(did you mean \"version\"?)")
    cli.expect(2, "--verison", err="(did you mean \"--version\"?)")
    cli.expect(2, "comp", err="(did you mean \"compare\"?)")
    cli.expect(2, "run", PARTIAL, "--fail-on", "warn", err="(did you mean \"warning\"?)")
    cli.expect(2, "completion", "bsh", err="(did you mean \"bash\"?)")
    cli.expect(2, PARTIAL, err="is no command; `assay run %s" % str(PARTIAL)[:60])


def check_grammar(cli):
    """-o, -q, -v, --json, --color and --steps of commands that print one answer; watch prints an object a line."""
    report, checkpoint = cli.where / "a-report", cli.where / "run" / "checkpoint-20"
    cli.expect(0, "run", DDP, "-q", "-o", report)
    checkpoint.mkdir(parents=True)
    save_safetensors(checkpoint / "model.safetensors", {"w": numpy.zeros((2, 2), "f4")})
    (cli.where / "empty").mkdir()
    for steps, code, *command in ((True, 0, "ls", DDP), (True, 0, "show", DDP, "ConvNet_fc1.bias"), (False, 0, "rules"), (False, 0, "rules", "AllZero"),
                                  (False, 0, "check"), (False, 0, "show", report), (True, 0, "history", DDP), (False, 0, "history", report), (False, 0, "topology", DDP),
                                  (True, 0, "verify", checkpoint.parent), (False, 3, "why", cli.where / "empty")):
        command += ["--steps", "20:30"] * steps + ["-q", "-v"]
        for form in ([], ["--json"], ["--color", "always"]):
            plain = run([cli.assay, *command, *form], cwd=cli.where)
            cli.expect(plain.code, *command, *form, "-o", "printed")
            cli.checks.expect(plain.code == code and (cli.where / "printed").read_text() == plain.out != "", "%s %s: %s" % (command, form, plain))
            (cli.where / "printed").unlink()
            cli.checks.expect(form != ["--json"] or isinstance(json.loads(plain.out), (dict, list)), "%s" % command)
    listed = json.loads(cli.expect(0, "ls", DDP, "--steps", "20:40", "--json").out)
    cli.checks.expect([s["step"] for s in listed["steps"]] == [20, 30] and all(t["steps"] <= 2 for t in listed["tensors"]), "ls --steps: %s" % listed)
    cli.expect(2, "ls", DDP, "--steps", "1000000:", "-o", "none", err="no step in --steps")
    cli.expect(2, "history", report, "--steps", "0:10", err="--steps is for trials")
    cli.checks.expect(cli.expect(0, "show", report, "--json").out == (report / "report.json").read_text(), "show --json of a report")
    cli.expect(2, "show", report, "--csv", err="a report takes --draw and --json")
    cli.expect(4, "rules", "-o", "no/place", err="no/place: cannot create")
    cli.expect(2, "rules", "-o", "s3://b/x", err="not in S3")
    cli.checks.expect(not (cli.where / "none").exists(), "a command that failed leaves a file")
    lines = [json.loads(line) for line in cli.expect(0, "watch", TRIALS / "linreg_nan", "--json", "--every", "0.1", "-o", "watched").out.splitlines()]
    cli.checks.expect([one["kind"] for one in lines[:3]] == ["cause", "report", "trial"] and lines[0]["severity"] == "error" and
                      lines[0]["text"] in lines[1]["verdict"], "watch --json: %s" % lines[:3])
    cli.expect(2, "watch", DDP, "--json", "--findings", err="exclude each other")
    for command in (("run", PARTIAL, "-o", "out"), ("compare", DDP, PARTIAL, "-o", "out"), ("verify", checkpoint.parent), ("show", report), ("rules",),
                    ("why", PARTIAL), ("rules", "DeadRelu")):
        bare, coloured = (run([cli.assay, *command, "--color", when], cwd=cli.where).out for when in ("never", "always"))
        cli.checks.expect("\x1b[" in coloured and "\x1b" not in bare, "--color of %s: %s" % (command, coloured[:300]))


def check_options(cli):
    run_it = ("run", cli.job, "--trial", PARTIAL)
    for arguments, message in (
            (("run",), "give a trial"), (("run", cli.job, cli.job), "one job file is enough"), (("ls",), "TRIAL is missing"),
            (("show", PARTIAL), "show takes a TRIAL and a TENSOR"), (("run", cli.job, "--bad"), "unknown option \"--bad\""),
            (("run", cli.job, "-x"), "unknown option \"-x\""), ((*run_it, "--memory", "lots"), "expected a size"),
            ((*run_it, "--memory", "-1"), "expected a size"), ((*run_it, "--memory=99999999999999G"), "expected a size"),
            *(((command, PARTIAL, "--memory=1000K"), "2G, at least 1M") for command in ("run", "stats", "verify", "why", "history")),
            ((*run_it, "--steps", "9"), "expected a range"), ((*run_it, "--steps", "20:10"), "expected a range"),
            ((*run_it, "--fail-on", "sometimes"), "never, info, warning or error"), ((*run_it, "--progress", "x"), "expected a number, 0 or more"),
            ((*run_it, "--max-findings", "0"), "from 1"), ((*run_it, "--quiet=1"), "takes no value"),
            ((*run_it, "--out"), "needs a value"),
            ((*run_it, "--format", "jsn"), "--format jsn: expected text or json, how the report is printed (did you mean \"json\"?)"),
            ((*run_it, "--reports", "json,pdf"), "unknown format \"pdf\""),
            ((*run_it, "--trial", str(PARTIAL) + "/"), "listed twice"), (("run", cli.job), "no trials"),
            (("ls", cli.where / "nothing"), "nothing"), (("show", PARTIAL, "nothing"), "no tensor"),
            (("show", PARTIAL, "((", "--regex"), "regular expression"),
            (("show", PARTIAL, "ConvNet_fc1.bias", "--step", "7"), "nothing was saved"),
            (("show", PARTIAL, "ConvNet_fc1.bias", "--worker", "me"), "no worker"),
            (("show", PARTIAL, "ConvNet_fc1.bias", "--mode", "REST"), "TRAIN, EVAL"),
            (("show", PARTIAL, "ConvNet_fc1.bias", "--csv", "--json"), "exclude"),
            (("ls", PARTIAL, "--format", "csv", "--json"), "exclude"), (("ls", PARTIAL, "--format", "html"), "text, json or csv"),
            (("rules", "Nothing"), "no rule"), (("check", cli.where / "nothing.json"), "nothing.json")):
        done = cli.expect(2, *arguments, err=message)
        cli.checks.expect(done.out == "", "%s: something on standard output" % (arguments,))
        cli.checks.expect(done.err.count("\n") == 1, "%s: not one line on standard error: %s" % (arguments, done.err))


def check_waiting(cli):
    """A watch that can evaluate nothing says what it sees and what it waits for."""
    for name in ("a", "b"):
        shutil.copytree(PARTIAL, cli.where / "runs-of" / name)
    done = cli.expect(2, "watch", "runs-of", "--idle", "1", err="give runs-of/a, or 'runs-of/*' for all of them; it is waited for, as long as --idle says\n")
    cli.checks.expect(done.err.count("is waited for") == 1, "said more than once: %s" % done)
    cli.expect(2, "watch", "not-yet", "--idle", "1", err="not-yet: no such directory; check the trial's path; it is waited for")
    done = cli.expect(0, "watch", "runs-of/a", "--idle", "1", "--out", "watched")
    cli.checks.expect("waited for" not in done.err, "there is something to evaluate: %s" % done)


def check_letters(cli):
    """Letters of switches stand behind one sign, and --format json is --json."""
    for words in (("-qv",), ("-vq",), ("-q", "-v")):
        cli.expect(0, "ls", PARTIAL, *words, out="ddp_partial")
    for words in ("-qx", "-qo", "-oq"):
        cli.expect(2, "ls", PARTIAL, words, err="unknown option \"%s\"" % words)
    for command in ("topology", "check"):
        place = cli.job if command == "check" else DDP
        plain = cli.expect(0, command, place, "--json").out
        for words in (("--format", "json"), ("--format=json",)):
            cli.checks.expect(cli.expect(0, command, place, *words).out == plain, "%s %s" % (command, words))
        cli.expect(2, command, place, "--format", "csv", err="--format csv: expected json")


def check_exit_codes(cli):
    run_it = ("run", cli.job, "--trial", DDP, "--out", cli.where / "out")
    cli.expect(0, *run_it, out="Found in ")
    for level in ("info", "warning", "error"):
        cli.expect(1, *run_it, "--fail-on", level)
    cli.expect(0, *run_it, "--fail-on", "never")
    mild = cli.write("mild.json", {"rules": [dict(RULES["rules"][0], severity="info")]})
    cli.expect(1, "run", mild, *run_it[2:], "--fail-on=info")
    cli.expect(0, "run", mild, *run_it[2:], "--fail-on=warning")
    unknown = cli.write("unknown.json", {"rules": [{"rule": "NoSuchRule"}]})
    cli.expect(2, "run", unknown, *run_it[2:], err="there is no rule \"NoSuchRule\"")
    cli.expect(2, "run", unknown, *run_it[2:], "--fail-on=warning")
    cli.expect(1, *run_it, "--fail-on", "info", "--min-coverage", "100")
    cli.expect(1, *run_it, "--min-coverage=50", err="less than --min-coverage asks for")  # asked for by itself
    cli.expect(0, *run_it, "--min-coverage=5")
    cli.expect(1, "run", mild, *run_it[2:], "--fail-on=warning", "--min-coverage=50")  # every tenth step
    blind = cli.write("blind.json", {"rules": [{"rule": "TreeDepth"}, {"name": "no layer", "rule": "DeadRelu"}]})
    cli.expect(1, "run", blind, *run_it[2:], err="no rule had anything to test")
    cli.expect(0, "run", blind, *run_it[2:], "--allow-no-data")
    half = cli.write("half.json", {"rules": [{"rule": "ExplodingTensor"}, {"name": "no layer", "rule": "DeadRelu", "severity": "error"}]})
    half_it = ("run", half, *run_it[2:])
    cli.expect(0, *half_it)
    cli.expect(1, *half_it, "--fail-on", "error")
    for allowed in (["--allow-no-data"], ["--allow-no-data", "no layer"], ["--allow-no-data=DeadRelu"]):
        cli.expect(0, *half_it, "--fail-on", "error", *allowed)
    cli.expect(1, *half_it, "--fail-on", "error", "--allow-no-data=ExplodingTensor")
    cli.expect(0, "run", "--allow-no-data", half, *run_it[2:])  # a path is no name
    cli.expect(2, *half_it, "--allow-no-data", "another", err="the job has no such rule")
    damaged = cli.where / "damaged"
    shutil.copytree(PARTIAL, damaged)
    part = Part(damaged, 20, "worker_1")
    (damaged / part.event_name).unlink()
    cli.expect(3, "run", cli.job, "--trial", damaged, "--out", "out", out="missing-event-file")
    cli.expect(1, "run", cli.job, "--trial", damaged, "--out", "out", "--fail-on", "error")  # findings go before damage
    cli.expect(3, "ls", damaged, out=part.event_name)
    cli.expect(3, "show", damaged, "ConvNet_fc1.bias")
    cli.expect(3, "run", cli.job, "--trial", DDP, "--trial", cli.where / "gone", "--out", "out", err="gone", out="gone")
    cli.expect(2, "run", cli.job, "--trial", cli.where / "gone", "--out", "out", err="gone")


def check_jobs(cli):
    rule = {"rule": "AllZero", "parameters": {"tensor_regex": "x"}}
    for content, message in (
            ("", "line 1"), ("{", "line 1"), ("[]", "nothing to do"), ("5", "object"), ("{\"rules\": []} x", "line 1"), ("{\"rules\": 5}", "rules"),
            ({"rule": []}, "line 1, column 2: the job: unknown key \"rule\""), ({"rules": [{"rulez": 1}]}, "column 13: rules[0]: unknown key \"rulez\""),
            ({"rules": [rule, {"name": "x"}]}, "rules[1]: neither"), ({"rules": ["AllZero"]}, "rules[0]"),
            ({"rules": [dict(rule, severity="fatal")]}, "unknown severity \"fatal\""),
            ({"rules": [dict(rule, severity=1)]}, "severity"), ({"rules": [dict(rule, parameters=[])]}, "parameters"),
            ({"rules": [dict(rule, name="a"), dict(rule, name="a")]}, "\"a\" is there twice"),
            ({"trials": "x", "rules": [rule]}, "trials"), ({"trials": [3], "rules": [rule]}, "trials[0]"),
            ({"trials": ["a", "b", "./a/"], "rules": [rule]}, "listed twice"),
            ({"trials": [{"path": "a", "name": "n"}, {"path": "b", "name": "n"}], "rules": [rule]}, "listed twice"),
            ({"trials": [{"name": "n"}], "rules": [rule]}, "\"path\" is missing"),
            ({"trials": [""], "rules": [rule]}, "empty"), ({"trials": ["a"]}, "nothing to do"),
            ({"rules": [rule], "output": []}, "output"), ({"rules": [rule], "output": {"dir": "x"}}, "unknown key \"dir\""),
            ({"rules": [rule], "output": {"formats": ["pdf"]}}, "unknown format \"pdf\""),
            ({"rules": [rule], "output": {"formats": []}}, "formats"),
            ({"rules": [rule], "output": {"max_findings": 0}}, "max_findings"),
            ({"rules": [rule], "output": {"max_findings": "5"}}, "max_findings"),
            ({"aggregations": [{"name": "n"}]}, "\"kind\" is missing"),
            ({"DebugRuleConfigurations": [{"RuleConfigurationName": "x"}]}, "rule_to_invoke"),
            ("{\"rules\": " + "[" * 100000, "deep")):
        job = cli.write("bad.json", content)
        trials = () if isinstance(content, dict) and "trials" in content else ("--trial", PARTIAL)
        cli.expect(2, "run", job, *trials, err=message)
        done = cli.expect(2, "check", job, err=message)
        cli.checks.expect("bad.json" in done.err, "the message does not name the file: %s" % done.err)
    bad_rules = cli.write("rules.json", {"rules": [
        dict(rule, name="unclosed", parameters={"tensor_regex": "((x"}), {"name": "unknown", "rule": "AllOne"},
        dict(rule, name="word", parameters={"tensor_regex": "x", "threshold": "much"}),
        dict(rule, name="odd", parameters={"colour": "red"}), dict(rule, name="good")]})
    for content, message in (
            ('{"rules": [\n {"parameters": {},\n  "rule": "AllOne"}]}', "line 3, column 3: rule"), ('{"aggregations": [\n {"name": "n", "kind": "sum"}]}', "line 2, column 16: aggr"),
            ('{"rules": [{"rule": "AllZero",\n "parameters": {\n "colour": 1}}]}', "line 3, column 2: rule \"AllZero\": unknown parameter"), ('{"rules": [{"rule": "ExplodingTensor"}],\n "actions": [{"mail": {"tp": 1}}]}', "line 2, column 24: actions[0].mail"),
            ('{"DebugRuleConfigurations": [{"RuleConfigurationName": "x",\n "RuleParameters": {\n "rule_to_invoke": "AllOne"}}]}', "line 3, column 2: rule")):
        job = cli.write("placed.json", content)
        for command in (("check", job), ("run", job, "--trial", PARTIAL)):
            cli.expect(2, *command, err="placed.json: " + message)
    one, rest = '{"trials": [\n  "%s"' % PARTIAL, '"rules": [{"rule": "AllZero", "parameters": {"tensor_regex": "x"}}]}'
    for content, message in (
            (one + '],\n "comparison": {"baseline": "nope"}, ' + rest, "line 3, column 17: the baseline \"nope\""),
            (one + ',\n    "%s"], ' % PARTIAL + rest, "line 3, column 5: trials[1]: the trial path"),
            (one + "]}", "line 1, column 1: nothing to do"),
            ('[{"RuleConfigurationName": "x",\n  "RuleParameters": {"rule_to_invoke": "AllZero", "tensor_regex": "x"}},\n {"RuleConfigurationName": "y", "RuleParameters": {}}]',
             "line 3, column 2: DebugRuleConfigurations[1]: \"rule_to_invoke\" is missing"),
            ('{"trials": [\n "%s",\n {"name": "n",\n  "path": "no/where"}], ' % "not/there" + rest, "line 4, column 11: no/where"),
            ('{"trials": [\n   "not*there"], ' + rest, "line 2, column 4: the pattern")):
        job = cli.write("placed.json", content)
        cli.expect(2, "run", job, err="placed.json: " + message)
    done = cli.expect(2, "check", bad_rules)
    for name in ("unclosed", "unknown", "word", "odd"):
        cli.checks.expect("\"%s\"" % name in done.err, "check does not name %s: %s" % (name, done.err))
    cli.expect(2, "run", bad_rules, "--trial", PARTIAL, "--out", "out", err="((x")


def check_sagemaker(cli):
    job = cli.write("sagemaker.json", {"DebugRuleConfigurations": [
        {"RuleConfigurationName": "Vanishing", "RuleEvaluatorImage": "x/y:latest", "InstanceType": "ml.t3.medium",
         "VolumeSizeInGB": 5, "RuleParameters": {"rule_to_invoke": "VanishingGradient", "threshold": "0.001"}},
        {"RuleConfigurationName": "Zero", "RuleParameters": {"rule_to_invoke": "all_zero", "tensor_regex": ".*"}}]})
    cli.expect(0, "run", job, "--trial", PARTIAL, "--out", "out")
    rules = json.loads((cli.where / "out" / "report.json").read_text())["trials"][0]["rules"]
    cli.checks.expect([(r["name"], r["rule"], r["status"]) for r in rules] == [
        ("Vanishing", "VanishingGradient", "IssuesFound"), ("Zero", "AllZero", "NoIssuesFound")], "SageMaker: %s" % rules)
    # A whole request, whose ProfilerReport stands for rules that have nothing to test: they do not pass.
    whole = cli.write("request.json", {"TrainingJobName": "j", "ResourceConfig": {"InstanceCount": 1}, "ProfilerRuleConfigurations": [
        {"RuleConfigurationName": "Report", "RuleParameters": {"rule_to_invoke": "ProfilerReport", "opt_out_telemetry": "true"}}]})
    events = Path(os.environ["ASSAY_TRIALS"]).parent / "events" / "profiler"
    done = cli.expect(0, "run", whole, "--trial", events, "--out", "out", err="2 other parts are left out")
    details = json.loads((cli.where / "out" / "report.json").read_text())["trials"][0]["rules"][0]["details"]["rules"]
    silent = [one["rule"] for one in details if one["status"] == "NoData"]
    cli.checks.expect(0 < len(silent) < len(details) == 11, "parts of ProfilerReport: %s" % details)
    cli.checks.expect("%d had no data" % len(silent) in done.out.splitlines()[0] or "%d rules had no data" % len(silent) in done.out.splitlines()[0],
                      "the verdict passes what was not tested: %s" % done.out.splitlines()[0])
    cli.checks.expect("%d of its rules had nothing to test: " % len(silent) in done.out, "the parts are not named: %s" % done.out[:600])
    cli.expect(1, "run", whole, "--trial", events, "--out", "out", "--fail-on", "warning")


def check_output(cli):
    job = cli.write("out.json", dict(RULES, output={"directory": "said"}))
    cli.expect(0, "run", job, "--trial", PARTIAL)
    cli.expect(0, "run", cli.job, "--trial", PARTIAL)
    cli.expect(0, "run", job, "--trial", PARTIAL, "--out", "deep/er", "--reports", "text")
    here = sorted(str(p.relative_to(cli.where)) for d in ("said", "assay-report", "deep") for p in (cli.where / d).rglob("[!.]*.*"))
    own = ["assay-report/%s/report.%s" % (d, f) for d in ("ddp_partial", "latest") for f in ("json", "txt")]
    cli.checks.expect(here == own[:2] + ["deep/er/report.txt", "said/report.json", "said/report.txt"], "files: %s" % here)
    first = (cli.where / "assay-report" / "ddp_partial" / "report.txt").read_text()
    done = cli.expect(0, "run", cli.job, "--trial", PARTIAL, "--digest")
    body = body_of(cli.where / "assay-report" / "latest")
    cli.checks.expect("digest " + hashlib.sha256(body).hexdigest() in done.out, "the digest is not that of the body")
    cli.checks.expect((cli.where / "assay-report" / "latest" / "report.txt").read_text().splitlines()[:-1] ==
                      done.out.splitlines()[:-3], "report.txt is not what was printed")
    cli.checks.expect(done.out.endswith("\nThe report is in assay-report/ddp_partial-2.\n") and
                      os.readlink(cli.where / "assay-report" / "latest") == "ddp_partial-2" and
                      (cli.where / "assay-report" / "ddp_partial" / "report.txt").read_text() == first,
                      "a report of its own: %s" % done.out[-200:])
    cli.expect(2, "run", cli.job, "--trial", "nowhere", err="nowhere")
    several = cli.expect(0, "run", cli.job, "--trial", PARTIAL, "--trial", TRIALS / "healthy")
    cli.checks.expect(re.search(r"The report is in assay-report/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\n$", several.out), "several: %s" % several.out[-200:])
    cli.checks.expect(len([p for p in (cli.where / "assay-report").iterdir() if not p.is_symlink()]) == 3, "directories that nobody needs")
    cli.expect(2, "run", cli.job, "--trial", PARTIAL, "--memory", "1", err="at least 1M")
    for name in ("a", "b"):
        shutil.copytree(PARTIAL, cli.where / "many" / name)
    cli.expect(2, "run", "many", err="or 'many/*' for all of them")
    cli.expect(0, "run", ".", cwd=cli.where / "many" / "a", out="The report is in assay-report/a.")
    cli.expect(0, "show", "assay-report/latest", out="AllZero")
    cli.expect(2, "show", "assay-report", err="or a report.json or its directory")
    (cli.where / "taken").write_text("a file")
    done = cli.expect(4, "run", cli.job, "--trial", PARTIAL, "--out", "taken/x", err="taken")
    cli.checks.expect(done.out == "", "nothing is read where nothing can be written: %s" % done.out[:200])
    done = cli.expect(0, "run", cli.job, "--trial", TRIALS / "healthy", "--dry-run", "--out", "dry",
                      out="healthy: 1 worker, 24 steps, 26 tensors, 0 problems\n")
    cli.checks.expect(not (cli.where / "dry").exists(), "a dry run wrote something")
    done = cli.expect(0, "run", cli.job, "--trial", PARTIAL, "--quiet")
    cli.checks.expect(done.err == "", "--quiet is not quiet: %s" % done.err)
    for closed in ">&-", "<&- >&-", "<&- >&- 2>&-":
        shutil.rmtree(cli.where / "closed", ignore_errors=True)
        line = "'%s' run '%s' --trial '%s' --out '%s' %s; code=$?; '%s' ls '%s' %s || exit $code" % (
            cli.assay, cli.job, PARTIAL, cli.where / "closed", closed, cli.assay, PARTIAL, closed)
        done = run(["sh", "-c", line])
        said = done.err.count("standard output: cannot write")
        cli.checks.expect(done.code == 4 and said == (0 if "2>" in closed else 2) and (cli.where / "closed" / "report.json").exists(),
                          "standard output closed (%s): the files are there, the answer is not: %s" % (closed, done))
        cli.checks.expect(body_of(cli.where / "closed") == body, "%s: another report" % closed)
    full = subprocess.run([cli.assay, "ls", PARTIAL], stdout=open("/dev/full", "w"), stderr=subprocess.PIPE)
    cli.checks.expect(full.returncode == 4 and b"standard output" in full.stderr, "/dev/full: %s" % full)


def check_overwriting(cli):
    """A report, a band and a table are never written over for another trial without a word; a rerun may."""
    ask, healthy = {"ASSAY_OVERWRITE": ""}, TRIALS / "healthy"

    def expect(code, *arguments, err="", env=ask):
        done = run([cli.assay, *arguments], cwd=cli.where, env=env, timeout=60)
        cli.checks.expect(done.code == code and err in done.err and (err == "") == (done.err == ""), "%s: %s" % (" ".join(map(str, arguments)), done))
        return done

    for _ in range(2):
        done = expect(0, "run", cli.job, PARTIAL, "-q", "--out", "mine")
        cli.checks.expect(done.out.endswith("\nThe report is in mine.\n"), "where the report is: %s" % done.out[-200:])
    report = (cli.where / "mine" / "report.json").read_bytes()
    expect(2, "run", cli.job, healthy, "-q", "--out", "mine", err="mine: has the report of another trial, %s: " % PARTIAL)
    cli.checks.expect((cli.where / "mine" / "report.json").read_bytes() == report, "what was refused was written")
    expect(0, "run", cli.job, healthy, PARTIAL, "-q", "--out", "mine")  # more of them
    expect(2, "run", cli.job, PARTIAL, "-q", "--out", "mine", err="another trial, %s: " % healthy)
    expect(0, "run", cli.job, PARTIAL, "-q", "--out", "mine", "--overwrite")
    expect(2, "run", cli.job, healthy, "-q", "--out", "mine", err="--overwrite")
    expect(0, "run", cli.job, healthy, "-q", "--out", "mine", env={"ASSAY_OVERWRITE": "1"})
    (cli.where / "theirs").mkdir()
    (cli.where / "theirs" / "report.json").write_text("{}")
    expect(2, "run", cli.job, healthy, "-q", "--out", "theirs", err="no report of assay left it there")
    said = expect(0, "run", cli.job, healthy, "-q", "--json", "--out", "json")
    cli.checks.expect(json.loads(said.out)["verdict"], "--json -q")
    job = cli.write("placed.json", {**RULES, "output": {"directory": "placed"}})
    done = expect(0, "run", job, healthy, "-q")
    cli.checks.expect(done.out.endswith("\nThe report is in placed.\n"), "output.directory: %s" % done.out[-200:])
    for command in (["stats", healthy, "-q", "--out"], ["run", cli.job, healthy, PARTIAL, "-q", "--out", "mine", "--learn"], *(
            [["pack", healthy, "-q", "--out"]] if LAUNCHER != "none" else ())):
        name = "file.h5" if command[0] == "pack" else "file-of-%s.csv" % command[0]
        expect(0, *command, name)
        before = (cli.where / name).read_bytes()
        expect(2, *command, name, err="%s is there already: give another name, or --overwrite" % name)
        cli.checks.expect((cli.where / name).read_bytes() == before, "%s: what was refused was written" % command[0])
        expect(0, *command, name, "--overwrite")


def check_quit_pager(cli):
    """Who reads only the first line, or none, has the whole report in its files, and the exit code of the report."""
    whole = cli.where / "whole"
    cli.expect(1, "run", cli.job, DDP, "--out", whole, "--fail-on", "error")
    for reader, first in (("head -n 1", True), ("true", False), ("head -c 5", False), ("sed 3q", True)):
        out = cli.where / "cut"
        shutil.rmtree(out, ignore_errors=True)
        line = "'%s' run '%s' '%s' --out '%s' --fail-on error --reports json,text,html,junit | %s; echo ${PIPESTATUS[0]}" % (
            cli.assay, cli.job, DDP, out, reader)
        done = run(["bash", "-c", line])
        cli.checks.expect(done.out.rstrip().endswith("1"), "| %s: %s" % (reader, done))
        cli.checks.expect(not first or done.out.startswith((whole / "report.txt").read_text().splitlines()[0]), "| %s: %s" % (reader, done))
        there = {p.name for p in out.iterdir()} - {".assay-files"}
        cli.checks.expect(there == {"report.json", "report.txt", "report.html", "junit.xml"}, "| %s leaves %s" % (reader, there))
        cli.checks.expect(body_of(out) == body_of(whole), "| %s: another report" % reader)


def check_operands(cli):
    """Trials as operands, alone and by pattern, with a job and without one."""
    runs = cli.where / "runs"
    runs.mkdir()
    for name in ("a", "b"):
        (runs / name).symlink_to(DDP)
    for operands, options in (((DDP,), ("--trial", DDP)), ((runs / "a", runs / "b"), ("--trial", runs / "a", "--trial", runs / "b")),
                              ((str(runs) + "/*",), ("--trial", str(runs) + "/*"))):
        for job in ((), (cli.job,)):
            said = cli.expect(0, "run", *job, *operands, "--out", "operands", "--digest").out
            told = cli.expect(0, "run", *job, *options, "--out", "options", "--digest").out
            digests = [re.findall("^digest .*", text, re.M) for text in (said, told)]
            cli.checks.expect(digests[0] and digests[0] == digests[1], "%s: %s" % (operands, digests))
    report = json.loads((cli.where / "operands" / "report.json").read_text())
    cli.checks.expect([t["name"] for t in report["trials"]] == ["a", "b"], "a pattern: %s" % [t["name"] for t in report["trials"]])
    (runs / "latest").symlink_to(shutil.copytree(DDP, runs / "c").name)
    cli.expect(0, "run", str(runs) + "/*", "--out", "operands", err="latest leads to another one that is matched, and is read once")
    report = json.loads((cli.where / "operands" / "report.json").read_text())
    cli.checks.expect([t["name"] for t in report["trials"]] == ["a", "b", "c"], "a link to a run beside it: %s" % [t["name"] for t in report["trials"]])
    cli.expect(0, "run", DDP, "--out", "operands", out="the workers began with different weights")
    cli.expect(2, "run", str(runs) + "/none*", err="none*")
    cli.expect(2, "run", runs / "none", err="none")


def check_empty_trials(cli):
    """An empty trial is not green, alone or among sound ones: by default where nothing at all was tested, with --fail-on anywhere."""
    empty = Made(cli.where / "nothing").end()
    for options, code in (((), 1), (("--fail-on", "error"), 1), (("--allow-no-data",), 3), (("--allow-no-data", "--fail-on", "error"), 3)):
        cli.expect(code, "run", empty, "--out", "empty", *options, out="rules had no data; 1 part of the trial is damaged or missing: index")
    for options, code in (((), 3), (("--fail-on", "error"), 1), (("--allow-no-data", "--fail-on", "error"), 3)):
        done = cli.expect(code, "run", DDP, empty, "--out", "empty", *options)
        cli.checks.expect("nothing was tested in nothing" in " ".join(done.out.split()), "%s: %s" % (options, done))


def check_read_only(cli):
    """As an ordinary user, a directory without permission; as root, a small file system that fills up."""
    if os.geteuid() != 0:
        locked = cli.where / "locked"
        locked.mkdir(mode=0o555)
        cli.expect(4, "run", cli.job, "--trial", PARTIAL, "--out", locked, err="locked")
        return
    small = cli.where / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", small]).returncode != 0:
        print("SKIPPED: no small file system could be mounted")
        return
    try:
        cli.expect(4, "run", cli.job, "--trial", PARTIAL, "--out", small, err="report", out="Found in ")
        cli.checks.expect(not [p for p in small.iterdir() if "tmp" in p.name], "temporary files are left behind")
        subprocess.run(["mount", "-o", "remount,ro", small], check=True)
        cli.expect(4, "run", cli.job, "--trial", PARTIAL, "--out", small / "new", err="small")
    finally:
        subprocess.run(["umount", small], check=True)


def check_names(cli):
    """Names from a trial or job must not reach the terminal raw, nor break the JSON or CSV."""
    name = "a\n\t\x1b[31mred\u202e,\"quote\"\u0085"
    trial = cli.where / "tri\nal"
    shutil.copytree(PARTIAL, trial)
    part = Part(trial, 20, "worker_1")
    part.replace("ConvNet_fc1.weight", lambda payload: inside(payload, TAG, lambda tag: name.encode()), name=name)
    job = cli.write("names.json", {"rules": [{"name": "r\x1b[2J\n", "rule": "AllZero",
                                              "parameters": {"tensor_regex": "red", "threshold": 0}}]})
    for done in (cli.expect(0, "run", job, "--trial", trial, "--out", "out"), cli.expect(0, "ls", trial),
                 cli.expect(0, "show", trial, "--regex", "red"), cli.expect(0, "show", trial, "--regex", "red", "--values")):
        wild = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.out + done.err)
        cli.checks.expect(not wild, "raw control characters: %s" % wild)
        cli.checks.expect("\\x1b[31mred\\u202e" in done.out, "the escaped name is missing: %s" % done)
    finding = json.loads((cli.where / "out" / "report.json").read_text())["trials"][0]["rules"][0]["first"]
    cli.checks.expect(finding["tensor"] == name, "report.json has the name %r" % finding["tensor"])
    shown = json.loads(cli.expect(0, "show", trial, "--regex", "red", "--json").out)["rows"]
    cli.checks.expect([r["tensor"] for r in shown] == [name], "show --json has %r" % shown)
    lines = cli.expect(0, "ls", trial, "--json").out
    cli.checks.expect(name in [t["name"] for t in json.loads(lines)["tensors"]], "ls --json lacks the name")


def check_forms(cli):
    """Every command that lists something prints the same rows as JSON and as CSV, with the same names."""
    report = cli.where / "for-history"
    cli.expect(0, "run", cli.job, "--trial", PARTIAL, "--out", report)
    checkpoint = ROOT / "tests" / "data" / "formats" / "checkpoint"
    for member, *command in (("tensors", "ls", PARTIAL), ("tensors", "ls", sorted(checkpoint.iterdir())[0]),
                             ("rows", "show", PARTIAL, "ConvNet_fc1.bias"), ("rules", "history", report), (None, "rules"),
                             ("files", "verify", checkpoint), ("differences", "compare", DDP, PARTIAL, "--tensors")):
        told = run([cli.assay, *command, "--json"])
        code, told = told.code, json.loads(told.out)
        done = cli.expect(code, *command, "--format", "csv")
        told, rows = told[member] if member else told, list(csv.DictReader(io.StringIO(done.out)))
        cli.checks.expect(0 < len(rows) == len(told), "%s: %d rows, %d in JSON" % (command, len(rows), len(told)))
        for row, member_of in zip(rows, told):
            plain = {k: v for k, v in member_of.items() if k in row and isinstance(v, (int, str)) and not isinstance(v, bool)}
            cli.checks.expect(len(plain) >= 3 and {k: row[k] for k in plain} == {k: str(v) for k, v in plain.items()},
                              "%s: %s in JSON is %s" % (command, row, member_of))
    names = [row["name"] for row in csv.DictReader(io.StringIO(cli.expect(0, "rules", "AllZero", "--format", "csv").out))]
    told = json.loads(cli.expect(0, "rules", "AllZero", "--json").out)[0]["parameters"]
    cli.checks.expect(names == [p["name"] for p in told], "rules AllZero: %s" % names)


def check_said(cli):
    """Commands that say one thing say it as JSON, too: what they say in words."""
    run_folder, packed = cli.where / "sealed", cli.where / "packed.h5"
    for step in (1, 2):
        (run_folder / ("checkpoint-%d" % step)).mkdir(parents=True)
        save_safetensors(run_folder / ("checkpoint-%d" % step) / "model.safetensors", {"w": numpy.zeros((2, 2), "f4")})
    sealed = json.loads(cli.expect(0, "seal", run_folder, "--json").out)
    cli.checks.expect(sealed["sealed"] == 2 == sealed["files"] and sealed["had_seal"] == sealed["not_whole"] == 0, "seal: %s" % sealed)
    cli.checks.expect(json.loads(cli.expect(0, "seal", run_folder, "--json").out)["had_seal"] == 2, "seal once more")
    if "HDF5: none" not in cli.expect(0, "--version").out:
        told = json.loads(cli.expect(0, "pack", DDP, "-o", packed, "--json", "--verify").out)
        cli.checks.expect(told["trials"] == 1 and told["verified"] and told["file"] == str(packed) and told["records"] > 0, "pack: %s" % told)
        back = json.loads(cli.expect(0, "unpack", packed, "-o", "unpacked", "--json").out)
        cli.checks.expect(back["files"] == told["files"] and back["bytes"] == told["bytes"] and back["directory"] == "unpacked", "unpack: %s" % back)
    for name, *command in (("stats", "stats", DDP, "--steps", "0:20"), ("metrics", "stats", ROOT / "tests" / "data" / "events" / "profiler", "--metrics"),
                           ("events", "stats", ROOT / "tests" / "data" / "events" / "profiler", "--events")):
        code = 3 if name == "events" else 0
        printed = cli.expect(code, *command).out
        rows, told = list(csv.DictReader(io.StringIO(printed))), [json.loads(line) for line in cli.expect(code, *command, "--json").out.splitlines()]
        cli.checks.expect(0 < len(rows) == len(told), "%s: %d rows, %d in JSON" % (name, len(rows), len(told)))
        for row, one in zip(rows, told):
            cli.checks.expect(all(float(row[k]) == v if isinstance(v, (int, float)) else row[k] == (v or "") for k, v in one.items()) and len(one) >= 5,
                              "%s: %s in JSON is %s" % (name, row, one))
        for suffix, text in ((".csv", printed), (".jsonl", cli.expect(code, *command, "--format", "json").out)):
            cli.expect(code, *command, "-o", name + suffix)
            cli.checks.expect((cli.where / (name + suffix)).read_text() == text, "%s%s is not what is printed" % (name, suffix))
    cli.expect(2, "stats", DDP, "--json", "-o", "x.csv", err="has to end in .jsonl")
    plan = json.loads(cli.expect(0, "run", cli.job, PARTIAL, "--dry-run", "--json").out)
    cli.checks.expect(plan["trials"][0]["name"] == "ddp_partial" and plan["records"] > 0 and len(plan["rules"]) > 0, "run --dry-run --json: %s" % plan)
    cli.checks.expect(cli.expect(0, "completion", "bash", "-o", "script").out == "" and "_assay" in (cli.where / "script").read_text(), "completion -o")


def check_shapes(cli):
    """A tensor of which only the shape was saved has rows with that."""
    trial = cli.where / "shapes"
    Made(trial).step(0, "TRAIN", 0, {"a": 1.0}).step(1, "TRAIN", 1, {"a": 1.0}).end()
    for path in sorted((trial / "index").rglob("*.json")):
        index = json.loads(path.read_text())
        index["shape_payload"] = [{"tensorname": name, "originalname": name, "shape": [64, 3]} for name in ("a", "w")]
        path.write_text(json.dumps(index))
    rows = json.loads(cli.expect(0, "show", trial, "w", "--json").out)["rows"]
    cli.checks.expect([(r["step"], r["shape"]) for r in rows] == [(0, [64, 3]), (1, [64, 3])] and "dtype" not in rows[0],
                      "show --json of shapes: %s" % rows)
    cli.checks.expect("[64, 3] alone" in cli.expect(0, "show", trial, "w").out, "show does not tell the shape")
    cli.checks.expect(cli.expect(0, "show", trial, "w", "--csv").out.count("64x3") == 2, "show --csv does not")
    cli.checks.expect(len(json.loads(cli.expect(0, "show", trial, ".", "--regex", "--json").out)["rows"]) == 4,
                      "a tensor that was saved too has rows of its shape")
    cli.expect(2, "show", trial, "w", "--values", err="no tensor was saved that fits")


def check_many_rules(cli):
    """A tensor has as many measures as the job asks for: the last rule is told as much as the first."""
    job = cli.write("many.json", {"rules": [
        {"name": "rule %d" % i, "rule": "UnchangedTensor", "parameters": {"tensor_regex": ".*", "atol": 1e9 + i}}
        for i in range(150)]})
    cli.expect(0, "run", job, "--trial", PARTIAL, "--out", "out")
    rules = json.loads((cli.where / "out" / "report.json").read_text())["trials"][0]["rules"]
    found = {(r["status"], r["datapoints"], r["findings_total"]) for r in rules}
    cli.checks.expect(len(found) == 1 and rules[0]["findings_total"] > 0, "150 lenient rules do not agree: %s" % found)


def check_ranks(cli):
    """The exit code is the same on every rank, and commands for one rank speak once."""
    if LAUNCHER == "none":
        return
    for arguments, code in ((("run", cli.job, "--trial", DDP, "--fail-on", "error", "--out", "out"), 1),
                            (("run", cli.job), 2), (("run", cli.where / "none.json"), 2),
                            (("run", cli.job, "--bad"), 2), (("run", cli.job, "--trial", cli.where / "gone"), 2)):
        codes = cli.where / "codes"
        shutil.rmtree(codes, ignore_errors=True)
        codes.mkdir()
        script = "\"$@\"; echo $? > %s/$OMPI_COMM_WORLD_RANK" % codes
        done = mpirun(3, ["sh", "-c", script, "sh", cli.assay, *arguments], cwd=cli.where, timeout=60)
        found = sorted(p.read_text().strip() for p in codes.iterdir())
        cli.checks.expect(found == [str(code)] * 3, "%s: exit codes %s: %s" % (arguments, found, done))
        cli.checks.expect(done.err.count("assay: error:") == (code != 1), "%s: not one message: %s" % (arguments, done))
    done = mpirun(3, [cli.assay, "ls", PARTIAL], timeout=60)
    cli.checks.expect(done.code == 0 and done.out.count("Completeness") == 1, "ls on 3 ranks: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay = str(Path(parser.parse_args().assay).resolve())
    checks = Checks()
    for check in (check_help, check_grammar, check_options, check_exit_codes, check_jobs, check_sagemaker, check_output, check_quit_pager, check_operands,
                  check_empty_trials, check_read_only, check_overwriting, check_waiting, check_letters,
                  check_names, check_forms, check_said, check_shapes, check_many_rules, check_ranks):
        with tempfile.TemporaryDirectory() as folder:
            failed = checks.failed
            check(Cli(assay, checks, Path(folder)))
            print("%-20s %s" % (check.__name__, "ok" if failed == checks.failed else "FAILED"), flush=True)
    checks.done()


if __name__ == "__main__":
    main()
