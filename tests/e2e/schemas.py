#!/usr/bin/env python3
"""The JSON Schemas of docs/schema say what the program takes and writes: every example is valid, every report of these runs
is, the keys are those that the program knows, and what is wrong is refused.

    schemas.py --assay PROGRAM
"""
import argparse
import copy
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks, run  # noqa: E402

TRIALS = ROOT / "tests" / "data" / "trials"
NAMES = ("job", "pilot", "bands", "report", "topology")


def load(path):
    """A job file may have comments and commas at the end; a schema sees it without."""
    text = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", path.read_text(), flags=re.S)
    return json.loads(re.sub(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', lambda m: m[1] or "", text))


class Schemas:
    def __init__(self, checks):
        self.checks = checks
        self.of = {name: json.loads((ROOT / "docs/schema" / (name + ".schema.json")).read_text()) for name in NAMES}
        for schema in self.of.values():
            jsonschema.Draft202012Validator.check_schema(schema)
        self.validators = {name: jsonschema.Draft202012Validator(schema) for name, schema in self.of.items()}

    def valid(self, name, document, what):
        wrong = ["%s: %s" % ("/".join(map(str, e.absolute_path)), e.message[:300]) for e in self.validators[name].iter_errors(document)]
        self.checks.expect(not wrong, "%s is not valid: %s" % (what, wrong[:3]))

    def wrong(self, name, document, what):
        self.checks.expect(not self.validators[name].is_valid(document), "the schema %s takes %s" % (name, what))


def known_keys(assay, folder, job, place):
    """The keys that the program knows at a place: it lists them when it refuses one."""
    document, node = copy.deepcopy(job), None
    node = document
    for key in place:
        node = node[key]
    node["no such key"] = 1
    path = folder / "probe.json"
    path.write_text(json.dumps(document))
    said = run([assay, "check", path])
    listed = re.search(r"known keys: (.*)", said.err)
    return set(listed[1].split(", ")) if said.code == 2 and listed else said


def jobs(schemas, assay, folder):
    checks = schemas.checks
    paths = sorted({*ROOT.glob("jobs/*.json"), *ROOT.glob("slurm/*.json"), ROOT / "jobs/pilot/rules.json",
                    ROOT / "jobs/examples/train_mpi.json", TRIALS / "suite.json"})
    checks.expect(len(paths) > 8, "there are %d job files" % len(paths))
    for path in paths:
        schemas.valid("job", load(path), path)

    full = {"$schema": "job.schema.json", "trials": [{"path": "a", "name": "b", "topology": "t.json", "steps": ["s([0-9]+)"], "void": {"V2": "bfloat16"}, "format": "tb"}, "c"],
            "rules": [{"rule": "DeadRelu", "severity": "error"}, {"name": "x", "when": "nan(losses) > 0"},
                      {"RuleConfigurationName": "y", "RuleParameters": {"rule_to_invoke": "AllZero", "collection_names": "weights"}}],
            "ProfilerRuleConfigurations": [{"RuleParameters": {"rule_to_invoke": "ProfilerReport"}}],
            "DebugHookConfig": {"S3OutputPath": "s3://b"}, "ProfilerConfig": {}, "TensorBoardOutputConfig": {"LocalPath": "p"},
            "images": {"tensor": "i"}, "histograms": {"tensor_regex": "w"}, "comparison": {"tolerance": 0.1}, "output": {"formats": ["json"]}, "s3": {"unsigned": True},
            "actions": [{"notify": {"url": {"env": "URL"}}}, {"mail": {"to": ["a@example.org"]}, "on": "end"},
                        {"cancel": {"job": 5}, "severity": "error"}, {"submit": {"script": "s"}, "limit": 3}]}
    path = folder / "full.json"
    path.write_text(json.dumps(full))
    schemas.valid("job", full, "the job with every member")
    webhooks = "libcurl" not in run([assay, "check", path]).err  # a build without it refuses them
    if not webhooks:
        full["actions"][0] = {"mail": {"to": "a@example.org"}}
        path.write_text(json.dumps(full))
    taken = run([assay, "check", path])
    checks.expect(taken.code == 0, "the program refuses the job with every member: %s" % taken)
    parts = schemas.of["job"]["$defs"]
    for place, schema in (((), schemas.of["job"]), (("trials", 0), parts["trial"]["oneOf"][1]), (("rules", 0), parts["rule"]),
                          (("rules", 1), parts["condition"]), (("rules", 2), parts["sagemaker"]), (("output",), None),
                          (("comparison",), None), (("images",), None), (("histograms",), None), (("s3",), None), (("actions", 0), parts["action"]),
                          (("actions", 0, "notify"), parts["notify"]), (("actions", 1, "mail"), parts["mail"]),
                          (("actions", 3, "submit"), parts["action"]["properties"]["submit"])):
        if place[-1:] == ("notify",) and not webhooks:
            continue
        schema = schema or schemas.of["job"]["properties"][place[-1]]
        known = known_keys(assay, folder, full, place)
        checks.expect(known == set(schema["properties"]), "job %s: the schema has %s, the program %s"
                      % (place, sorted(schema["properties"]), known))

    for place, value in ((("no such key",), 1), (("rules",), {}), (("rules",), [{"severity": "error"}]), (("trials",), [5]),
                         (("output",), {"formats": ["xml"]}), (("output",), {"max_findings": -1}), (("actions",), [{"on": "end"}]),
                         (("actions",), [{"cancel": {}, "limit": 0}]), (("images",), {"most": 3}), (("histograms",), {"tensor": "w"}), (("histograms",), []), (("s3",), {"unsigned": 1})):
        wrong = dict(full, **{place[0]: value})
        path.write_text(json.dumps(wrong))
        refused = run([assay, "check", path])
        checks.expect(refused.code == 2, "the program takes %s: %s" % (value, refused))
        schemas.wrong("job", wrong, value)


def topology(schemas, assay, folder):
    """What the schema takes the program takes, and the other way round, but for what no schema can say."""
    trial, path = folder / "laid-out", folder / "topology.json"
    shutil.copytree(TRIALS / "ddp", trial)
    full = {"schema": "assay-topology/1", "meshes": {"d": {"axes": [["dp", 1], ["tp", 2]]}},
            "tensors": [{"match": "(.)", "replicate": ["dp"], "split": {"tp": {"axis": -1, "parts": [0.5, 0.5]}}, "then": "next",
                         "number": {"group": 1, "add": {"tp": [0, 1]}}}, {"match": "x", "flat": {"tp": {"numel": 3}}, "own": ["dp"]},
                        {"match": "y", "mesh": "d", "sum": ["tp"]}]}
    schemas.valid("topology", full, "the topology with every member")
    wrong = [dict(full, schema="assay-topology/2"), dict(full, meshes={}), dict(full, tensor=[]), dict(full, meshes={"d": {"axes": [["TP", 2]]}}),
             dict(full, meshes={"d": {"axes": [["tp", 0]]}}), dict(full, tensors=[{"replicate": ["tp"]}]), dict(full, tensors=[{"match": "x", "then": "stop"}]),
             dict(full, tensors=[{"match": "x", "split": {"tp": {"axis": 0.5}}}]), dict(full, workers={"w": {"d": {"tp": -1}}})]
    for document in wrong:
        schemas.wrong("topology", document, document)
        path.write_text(json.dumps(document))
        refused = run([assay, "topology", trial, "--topology", path])
        schemas.checks.expect(refused.code == 2, "the program takes %s: %s" % (document, refused))
    for preset in ("megatron", "fsdp", "deepspeed", "hf-tp"):
        made = run([assay, "topology", trial, "--preset", preset, "--axes", "dp=1,tp=8"])
        schemas.checks.expect(made.code == 0, "the preset %s: %s" % (preset, made))
        schemas.valid("topology", json.loads(made.out or "{}"), "the preset %s" % preset)


def pilot(schemas, assay, folder):
    shutil.copytree(ROOT / "jobs" / "pilot", folder / "pilot")
    state = load(folder / "pilot" / "state.json")
    schemas.valid("pilot", state, "jobs/pilot/state.json")
    named = dict(state, **{"$schema": "pilot.schema.json"})
    schemas.valid("pilot", named, "a state that names its schema")
    path = folder / "pilot" / "named.json"
    path.write_text(json.dumps(named))
    planned = run([assay, "pilot", "--dry-run", path], cwd=folder / "pilot")
    schemas.checks.expect(planned.code == 0, "assay pilot refuses a state that names its schema: %s" % planned)
    again = run([assay, "pilot", "--dry-run", path, "--json"], cwd=folder / "pilot")
    schemas.checks.expect(again.code == 0 and json.loads(again.out) == {"next": planned.out.splitlines()} and planned.out.count("\n") > 5,
                          "what comes next, as JSON: %s, as lines: %s" % (again, planned))
    shown = run([assay, "pilot", "--status", path, "--format", "json"], cwd=folder / "pilot")
    schemas.checks.expect(shown.code == 0 and json.loads(shown.out)["run_spec"] == state["run_spec"], "the status as JSON: %s" % shown)
    schemas.valid("pilot", json.loads(shown.out), "the status as JSON")
    for key, value in (("no such key", 1), ("next_action", "rest"), ("caps", {"num_retraining": 0}), ("run_spec", {"learning_rate": 1})):
        path.write_text(json.dumps(dict(state, **{key: value})))
        refused = run([assay, "pilot", "--dry-run", path], cwd=folder / "pilot")
        schemas.checks.expect(refused.code == 2, "assay pilot takes %s: %s" % (value, refused))
        schemas.wrong("pilot", dict(state, **{key: value}), value)


def reports(schemas, assay, folder):
    bands = folder / "bands.json"
    runs = {"suite": ["run", TRIALS / "suite.json", *[TRIALS / t for t in ("ddp_partial", "linreg_nan", "xgboost", "reductions")]],
            "built-in": ["run", TRIALS / "linreg_nan"],
            "learn": ["run", TRIALS / "healthy", TRIALS / "flip", "--learn", bands],
            "compare": ["compare", *[TRIALS / t for t in ("healthy", "flip", "zero_init", "dead_relu", "ddp")], folder]}
    runs["against"] = ["run", TRIALS / "zero_init", "--against", bands]  # after "learn"
    for name, command in runs.items():
        done = run([assay, *command, "--out", folder / name])
        if schemas.checks.expect(done.code in (0, 1, 3), "%s: %s" % (name, done)):
            schemas.valid("report", json.loads((folder / name / "report.json").read_text()), "the report of %s" % name)
    learned = json.loads(bands.read_text())
    schemas.valid("bands", learned, "the file of --learn")
    schemas.wrong("bands", dict(learned, schema="assay-bands/1"), "another schema")
    schemas.wrong("bands", dict(learned, more=1), "an unknown member")

    report = json.loads((folder / "suite" / "report.json").read_text())
    for spoil in (lambda r: r.update(schema="assay-report/2"), lambda r: r.pop("run"), lambda r: r["trials"][0]["rules"][0].pop("name"),
                  lambda r: r["trials"][0]["rules"][0].update(status="Fine"), lambda r: r["trials"][0].update(steps="many"),
                  lambda r: r["trials"][0]["rules"][0].update(findings=[{"step": 1}])):
        spoiled = copy.deepcopy(report)
        spoil(spoiled)
        schemas.wrong("report", spoiled, "a report that was spoiled")
    report["trials"][0]["a member of a later release"] = 1
    schemas.valid("report", report, "a report with a new member")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay = parser.parse_args().assay
    checks = Checks()
    schemas = Schemas(checks)
    with tempfile.TemporaryDirectory() as folder:
        jobs(schemas, assay, Path(folder))
        topology(schemas, assay, Path(folder))
        pilot(schemas, assay, Path(folder))
        reports(schemas, assay, Path(folder))
    checks.done()


if __name__ == "__main__":
    main()
