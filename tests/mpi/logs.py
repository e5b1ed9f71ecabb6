#!/usr/bin/env python3
"""Metric logs as trials: the same run kept as event files, .wandb and CSV gives the same verdict; each kind gives the same report
at any number of ranks; places with several runs, names within them, what is cut or damaged.

    logs.py --assay PROGRAM --ranks 1 2 3 ...
"""
import argparse
import csv
import json
import math
import os
import re
import shutil
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import logs  # noqa: E402
from launch import ROOT, TRIALS, Checks, mpirun, run  # noqa: E402
from log_texts import counted, cut_documents, documents, encodings, ends_of_jobs, files_of_modes, gaps, links_of_runs, no_courses, no_version, oddities, one_series, own_steps, parts_of_tables, printouts, registered, rows_of_runs, tables_end, unjudged  # noqa: E402
from reports import body_of  # noqa: E402

FAULTS = {None: set(), "nan": {"ExplodingTensor"}}


class World:
    def __init__(self, args, root):
        self.assay, self.ranks, self.root, self.checks = args.assay, args.ranks, root, Checks()

    def run(self, *trials, ranks=1, job=None):
        out = self.root / "out"
        done = mpirun(ranks, [self.assay, "run", *([str(job)] if job else []), *[w for t in trials for w in ("--trial", str(t))],
                              "--out", str(out), "--allow-no-data", "--quiet"])
        path = out / "report.json"
        report, body = (json.loads(path.read_text()), body_of(out)) if path.exists() else (None, done.err)
        if path.exists():
            path.unlink()
        return done, report, body

    def fired(self, report, trial=0):
        return {r["name"] for r in report["trials"][trial]["rules"] if r["findings_total"]}


def same_verdict(w):
    """One run, three loggers; without a validation, six."""
    kinds = {"tb": logs.tfevents, "wandb": logs.wandb, "csv": logs.csv, "mlflow": logs.mlflow, "mlflow_db": logs.database, "lines": logs.lines}
    for fault, expected in FAULTS.items():
        for validated in (True, False):
            findings = {}
            for kind in ("tb", "wandb", "csv") if validated else kinds:
                place = w.root / "same" / str(fault) / str(validated) / kind / "run"
                kinds[kind](place, [(step, loss, validation if validated else None) for step, loss, validation in logs.curve(40, fault)])
                done, report, _ = w.run(place)
                w.checks.expect(report, "%s of %s: %s" % (fault, kind, done))
                if not report:
                    continue
                fired = w.fired(report)
                w.checks.expect(not validated or (expected <= fired if expected else not fired), "%s of %s: %s fired" % (fault, kind, fired))
                findings[kind] = (report["verdict"].replace(" (FINISHED by MLflow)", "").replace(" (exit code 0)", ""),
                                  [(r["name"], r["status"], r["datapoints"], r["findings"]) for r in report["trials"][0]["rules"]])
            w.checks.expect(len(set(map(repr, findings.values()))) == 1, "%s: the verdicts differ: %s" % (
                fault, {k: v[0] for k, v in findings.items()}))


def ranks(w):
    for kind, make in logs.KINDS.items():
        place = w.root / "kinds" / kind
        make(place, logs.curve(30, "nan"))
        bodies = [w.run(place, ranks=n)[2] for n in w.ranks]
        w.checks.expect(len(set(bodies)) == 1, "%s: another report at %s ranks: %s" % (kind, w.ranks, bodies[0][:200]))
        w.checks.expect('"kind": "%s"' % kind.split("_")[0] in str(bodies[0]), "%s is read as another kind" % kind)


FILES = {"tb": "*tfevents*", "wandb": "*.wandb", "csv": "*.csv", "hf": "trainer_state.json", "mlflow_db": "*.db", "megatron": "*.log", "printed": "*.out"}


def files(w):
    """A log that is one file, given by its name, and the directory that holds it alone are the same trial."""
    for kind, name in FILES.items():
        place = w.root / "files" / kind
        logs.KINDS[kind](place, logs.curve(30, "nan"))
        path = next(place.rglob(name))
        done, alone, _ = w.run(path)
        w.checks.expect(done.code == 0 and alone and not alone["trials"][0]["problems"], "%s by its name: %s" % (path.name, done))
        _, around, _ = w.run(place)
        if alone and around:
            mine, theirs = ([t["verdict"], t["trials"][0]["modes"], [(r["name"], r["status"], r["datapoints"], r["findings_total"])
                                                                     for r in t["trials"][0]["rules"]]] for t in (alone, around))
            w.checks.expect(mine == theirs, "%s: the file is %s, its directory %s" % (path.name, mine, theirs))


def files_of_rows(w):
    """Files whose lines are JSON objects are logs by their names, and no jobs."""
    rows = "".join('{"step": %d, "loss": %r}\n' % (i, falls(i)) for i in range(40))
    for name in ("metrics.json", "scalars.json", "history.jsonl", "run.log.json"):
        path = w.root / "rows" / name
        logs.write(path, rows)
        done = run([w.assay, "run", str(path), "--out", str(w.root / "rows-out"), "--overwrite"])
        w.checks.expect(done.code == 0 and done.out.startswith("nothing wrong in 1 loss over 40 steps"), "%s by its name: %s" % (name, done))
    for name, text in (("metrics.json", '{"accuracy": 0.5}\n'), ("answers.jsonl", '{"text": "a"}\n{"text": "b"}\n')):
        path = w.root / "no-rows" / name
        logs.write(path, text)
        done = run([w.assay, "run", str(path)])
        w.checks.expect(done.code == 2 and "none of its first 100 lines is a JSON object with a step and a loss" in done.err, "%s: %s" % (name, done))


def any_names(w):
    """A file that is given is known by its content, and so is the only log of a directory; what is neither a log nor a job says what it lacks."""
    for kind, ending in FILES.items():
        made = w.root / "named" / kind
        logs.KINDS[kind](made, logs.curve(30, "nan"))
        path = next(made.rglob(ending))
        _, expected, _ = w.run(path)
        for name in () if kind == "mlflow_db" else ("stdout", "train.log.1", "run 7"):
            moved = w.root / "any" / kind / name.split(".")[0] / name
            moved.parent.mkdir(parents=True)
            shutil.copy(path, moved)
            for given in (moved, moved.parent)[:1 if name == "train.log.1" else 2]:  # beside none, what was put aside is named and not read
                done, report, _ = w.run(given)
                w.checks.expect(report and [(t["modes"], w.fired(report)) for t in report["trials"]] == [(t["modes"], w.fired(expected)) for t in expected["trials"]],
                                "%s as %s: %s" % (kind, given.relative_to(w.root), done))
    rows = "".join('{"step": %d, "loss": %r}\n' % (i, falls(i)) for i in range(40))
    printed = "".join("step: %d loss: %r\n" % (i, falls(i)) for i in range(40))
    head = "it has no key of a job file, and is no log in JSON"
    for name, text, said in (("answers.json", rows, None), ("other.json", '{"a": 1}\n', head), ("list.json", "[1, 2]\n", head), ("README.md", "# notes\n", "no line of it has a step and a loss"),
                             ("near.json", '{"rulez": []}\n', 'did you mean "rules"?'), ("cut.json", '{"rules": [\n', "cut.json: line 2, column 1"),
                             ("nohup", "/opt/lib/x.py:3: UserWarning: y\n" + printed, None), ("output", "".join("[2026-01-01 10:00] " + l + "\n" for l in printed.splitlines()), None),
                             ("dicts", "".join("{'loss': %r, 'epoch': %r}\n" % (falls(i), i / 10) for i in range(40)), None), ("quoted", rows.replace("}", ', "trials": 3}'), None),
                             ("header", "step, loss\n", "no line of it has a step and a loss"), ("broken.json", '{"loss": 1, \n', head), ("job", '// what is asked\n{"rules": [{"rule": "AllOne"}]}\n', "no trials; name them"), ("empty", "", "it is empty")):
        path = w.root / "any" / name
        logs.write(path, text)
        done = run([w.assay, "run", str(path), "--out", str(w.root / "rows-out"), "--overwrite"])
        w.checks.expect(done.out.startswith("nothing wrong in 1 loss over 40 steps") if said is None else done.code == 2 and said in done.err, "%s: %s" % (name, done))


def files_of_runs(w):
    """Files of one header that begin anew are runs of their own: as restarts they would discard each other. What goes on from one belongs to it."""
    def rows(first, steps, bad=None):
        return "step,loss\n" + "".join("%d,%s\n" % (i, "inf" if i == bad else repr(falls(i))) for i in range(first, first + steps))
    place = w.root / "seeds"
    for name, text in (("seed_1.csv", rows(0, 40, 33)), ("seed_2.csv", rows(0, 40)), ("seed_2b.csv", rows(30, 40)), ("seed_3.csv", rows(0, 30))):
        logs.write(place / name, text)
    for given in (place, str(place) + "/*.csv"):
        bodies = set()
        for n in w.ranks:
            done, report, body = w.run(given, ranks=n)
            bodies.add(body)
            w.checks.expect(report and [(t["name"], t["metrics"]["files"], w.fired(report, i)) for i, t in enumerate(report["trials"])] == [
                ("seed_1", 1, {"ExplodingTensor"}), ("seed_2", 2, set()), ("seed_3", 1, set())], "%s: %s" % (given, done))
        w.checks.expect(len(bodies) == 1, "%s: another report at %s ranks" % (given, w.ranks))
    for name in ("a.csv", "a.tsv"):
        logs.write(w.root / "twins" / name, rows(0, 40))
    done, report, _ = w.run(w.root / "twins")
    w.checks.expect(report and [t["name"] for t in report["trials"]] == ["a", "a.tsv"], "files that differ in their endings: %s" % done)
    done, report, _ = w.run(str(place) + "/seed_[13].csv")
    w.checks.expect(report and [t["name"] for t in report["trials"]] == ["seed_1", "seed_3"], "a pattern of files: %s" % done)
    for name, fault in (("a.log", "nan"), ("b.log", None)):
        logs.megatron(w.root / "two" / name[0], logs.curve(30, fault))
        next((w.root / "two" / name[0]).rglob("*.log")).rename(w.root / "two" / name)
    done, report, _ = w.run(w.root / "two")
    w.checks.expect(report and [(t["name"], bool(w.fired(report, i))) for i, t in enumerate(report["trials"])] == [("a", True), ("b", False)], "two logs of Megatron: %s" % done)


def given_up(w):
    """A training that began anew where it had begun: the first line says that the attempt before is not judged, and what of its losses has to be known.
    A loss that was not finite is told wherever a restart rolled it back."""
    def rows(first, steps, bad=None):
        return "".join("step: %d loss: %s\n" % (i, "nan" if i == bad else repr(falls(i))) for i in range(first, first + steps))

    def events(name, first, steps, bad=None):
        scalars(w.root / "attempts" / name, str(1795000000 + first + 100 * (bad is None)), [(i, "loss", math.nan if i == bad else falls(i)) for i in range(first, first + steps)])
    healthy = "; 40 values of an attempt before, which reached step 39 and was begun anew, were not judged: the last metrics/loss was 1.14169 at step 39; "
    bad = healthy.replace("judged:", "judged: metrics/loss was NaN or infinite at step 20,")
    back = "; before a restart, which rolled back steps 30 to 39, metrics/loss was NaN or infinite at step 35; "
    twice = bad.replace("40 values of an attempt", "80 values of attempts").replace("39 and was", "39 at most and were")
    for name, text, expected in (("anew", rows(0, 40) + rows(0, 40), healthy), ("bad", rows(0, 40, 20) + rows(0, 40), bad), ("goes on", rows(0, 40, 35) + rows(30, 40), back),
                                 ("twice", rows(0, 40) + rows(0, 40, 20) + rows(0, 40), twice), ("finite", rows(0, 40) + rows(30, 40), "")):
        logs.write(w.root / "attempts" / name / "train.log", text)
    events("events", 0, 40, 20)
    events("events", 0, 40)
    for name, expected in (("anew", healthy), ("bad", bad), ("goes on", back), ("twice", twice), ("finite", ""), ("events", bad)):
        path = w.root / "attempts" / name
        bodies = set()
        for n in w.ranks:
            done, report, body = w.run(path / "train.log" if name != "events" else path, ranks=n)
            bodies.add(body)
            said = report["verdict"] if report else done
            w.checks.expect(report and expected in said and ("attempt" in said) == ("attempt" in expected) and ("NaN" in said) == ("NaN" in expected), "%s: %s" % (name, said))
            told = report and [(r.get("not_finite"), r.get("not_finite_step"), r["loss"], r["loss_step"]) for r in report["trials"][0]["metrics"]["superseded"]]
            at = 20 if "step 20" in expected else 35 if expected == back else None
            w.checks.expect(told and told[-1] == ("metrics/loss" if at else None, at, "metrics/loss", 39), "%s: superseded[] says %s" % (name, told))
        w.checks.expect(len(bodies) == 1, "%s: another report at %s ranks" % (name, w.ranks))


def strangers(w):
    """Runs that log nothing in common are not said to be alike, and batches of another size make no run odd; logs of one name are told by their directories."""
    root = w.root / "strangers"
    for name in "abcde":
        for kind, tag in (("apart", "loss_" + name), ("alike", "loss")):
            logs.write(root / kind / name / "metrics.csv", "step,%s\n" % tag + "".join("%d,%r\n" % (i, falls(i)) for i in range(40)))
        rows = ["%d,%r,%r" % (i, falls(i), i / (2 if name == "c" else 10)) for i in range(40)]
        logs.write(root / "batches" / name / "metrics.csv", "step,loss,epoch\n" + "\n".join(rows) + "\n")
    for kind, said in (("batches", "None of 5 trials is unlike the others."), ("apart", "Which of 5 trials is unlike the others cannot be said: no metric or tensor is in half of them."), ("alike", "None of 5 trials is unlike the others.")):
        given = sorted((root / kind).glob("*/metrics.csv"))
        bodies = set()
        for n in w.ranks:
            done = mpirun(n, [w.assay, "compare", *given])
            bodies.add(done.out.split("\nRead ")[0])
            w.checks.expect(done.code == 0 and done.out.startswith(said), "%s: %s" % (kind, done))
        w.checks.expect(len(bodies) == 1, "%s: compared otherwise at %s ranks" % (kind, w.ranks))
        done, report, _ = w.run(*given)
        names = ["metrics.csv"] + [name + "/metrics.csv" for name in "bcde"]
        w.checks.expect(report and [t["name"] for t in report["trials"]] == names, "%s: %s" % (kind, report and [t["name"] for t in report["trials"]]))


def numbers_in_names(w):
    """A log is no checkpoint for the number in its name: ids of W&B have any letters."""
    good = logs.curve(30)
    logs.wandb(w.root / "names/wandb", good, "7ep5xz2x")
    logs.csv(w.root / "names/csv_epoch_3", good)
    logs.megatron(w.root / "names/megatron", good)
    (w.root / "names/csv_epoch_3/metrics.csv").rename(w.root / "names/csv_epoch_3/results_epoch3.csv")
    printed = next((w.root / "names/megatron").rglob("*.log"))
    printed.rename(printed.with_name("train_step20.log"))
    for path in [p for p in (w.root / "names").rglob("*") if p.is_file()]:
        for given in (path, path.parent):
            done, report, _ = w.run(given)
            w.checks.expect(report and report["verdict"].startswith("nothing wrong in") and report["trials"][0]["metrics"],
                            "%s: %s" % (given.relative_to(w.root), report["verdict"] if report else done))


def places(w):
    """Several runs at a place, and names within it."""
    place = w.root / "many"
    for i in range(3):
        logs.mlflow(place, logs.curve(20, "nan" if i == 1 else None), "%032x" % i, "owl-%d" % i)
    logs.mlflow(place, [], "%032x" % 9, "mute")
    for path, names in ((place, ["owl-0", "owl-1", "owl-2"]), (str(place) + "/owl-1", ["owl-1"]), (str(place) + "/mnist/*", ["owl-0", "owl-1", "owl-2"]),
                        (str(place) + "/mlruns/1/" + "%032x" % 2, ["%032x" % 2]), (str(place) + "/owl-[02]", ["owl-0", "owl-2"])):
        done, report, _ = w.run(path, ranks=2)
        found = [t["name"] for t in report["trials"]] if report else str(done)
        w.checks.expect(found == names, "%s stands for %s, not %s" % (path, found, names))
    done, report, _ = w.run(str(place) + "/none")
    w.checks.expect(done.code == 2 and "owl-0" in done.err, "a run that is not there: %s" % done)


def damage(w):
    """What is cut grows; what is damaged is named, and the rest counts."""
    place = w.root / "cut"
    logs.csv(place, logs.curve(20))
    content = (place / "metrics.csv").read_bytes()
    (place / "metrics.csv").write_bytes(content[:-5])
    done, report, _ = w.run(place)
    w.checks.expect(done.code == 0 and report["trials"][0]["metrics"]["counts"] == {"growing": 1, "rows": 19}, "a cut CSV: %s" % done)
    w.checks.expect("could be read, but for 1 growing." in done.out, "what was left out is said: %s" % done)
    (place / "metrics.csv").write_bytes(content.replace(b"\n7,", b"\nseven,"))
    done, _, _ = w.run(place)
    w.checks.expect("could be read, but for 1 bad rows." in done.out, "a bad row is said: %s" % done)
    place = w.root / "part"
    logs.write(place / "train.log", "".join("step %d lr 0.5 loss: %.1fk after clipping the mean gradient loss 3.%d\n" % (i, 9 - i, i) for i in range(1, 5)))
    bodies = [w.run(place, ranks=n)[2] for n in w.ranks]
    done, report, _ = w.run(place)
    m = report["trials"][0]["metrics"] if report else {}
    w.checks.expect(len(set(bodies)) == 1 and m.get("counts", {}).get("unread losses") == 8 and m.get("first_unknown", "").startswith("step 1 lr"), "lines that are read in part: %s" % m)
    w.checks.expect("but for 8 unread losses." in done.out, "losses that were not read are said: %s" % done)
    place = w.root / "crc"
    logs.tfevents(place, logs.curve(20))
    path = next(place.iterdir())
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    done, report, _ = w.run(place)
    w.checks.expect(done.code == 3 and "is damaged" in report["trials"][0]["problems"][0]["text"], "a damaged record: %s" % done)

    place = w.root / "several"
    for name in "ab":
        logs.csv(place / name, logs.curve(20))
    (place / "gone").symlink_to("nowhere")
    for ranks in w.ranks:
        done, report, _ = w.run(place, ranks=ranks)
        said = [p["text"] for trial in report["trials"] for p in trial["problems"]] if report else []
        w.checks.expect(done.code == 3 and len(said) == 1 and said[0].startswith("gone: "), "a link to nowhere: %s %s" % (done, said))


def scalars(place, name, rows, more=b""):
    """An event file of (step, tag, value), each written in the shorter way, or as a histogram where the value is a list; `more` ends each event."""
    content = logs.frame(struct.pack("<Bd", 9, 1.0) + logs.data(3, "brain.Event:2"))
    for step, tag, value in rows:
        if isinstance(value, list):
            body = logs.data(5, b"".join(struct.pack("<Bd", k << 3 | 1, v) for k, v in enumerate(value, 1)))
        else:
            body = struct.pack("<Bf", 2 << 3 | 5, value)
        content += logs.frame(struct.pack("<Bd", 9, 1.0) + logs.number(2, step) + logs.data(5, logs.data(1, logs.data(1, tag) + body)) + more)
    logs.write(place / ("events.out.tfevents.%s.host.7.0" % name), content)


def unasked(w):
    """What no rule asks for is not kept, and all is counted as if it were: steps, what a restart dropped, what came twice."""
    every = [(i, tag, value) for i in range(40) for tag, value in
             (("train/loss", 9 - 0.2 * i), ("lr", 0.1 / (1 + i)), ("val/acc", math.nan if i == 33 else 0.5 + 0.01 * i), ("h", [0, i, 3, i, i * i]))]
    cases = {"restart": [every, [r for r in every if r[0] >= 30]],
             "later start": [[r for r in every if r[1] != "lr"], [(r[0] + 35, *r[1:]) for r in every]],
             "sparse": [[r for r in every if r[1] != "lr" or r[0] % 7 == 3]],
             "twice": [every + [(20, "lr", 0.7), (21, "val/acc", math.nan)]],
             "unordered": [every[80:] + every[:80]]}
    for case, parts in cases.items():
        place = w.root / "unasked" / case
        for i, rows in enumerate(parts):
            scalars(place, str(1795000000 + i), rows)
        found = {}
        for asked in ("loss$", ".*"):
            job = w.root / "asked.json"
            job.write_text(json.dumps({"rules": [{"rule": "ExplodingTensor", "parameters": {"tensor_regex": asked}}]}))
            for n in w.ranks:
                done, report, _ = w.run(place, ranks=n, job=job)
                trial = report["trials"][0] if report else {"metrics": str(done), "modes": None, "problems": None}
                found[asked, n] = repr((trial["metrics"], trial["modes"], trial["problems"]))
        w.checks.expect(len(set(found.values())) == 1 and "judged" in min(found.values()), "%s: %s" % (case, found))


def asked_of_many(w):
    """With a job, several logs are compared by what its rules ask for, whatever keeps them, and what is left out is counted; without one by all."""
    rows = [(i, 9 - 0.2 * i, 0.1 / (1 + i)) for i in range(30)]
    place = w.root / "asked-of-many"
    for k in range(3):
        scalars(place / "tb" / str(k), "1795000000", [(i, tag, value) for i, *values in rows for tag, value in zip(("train/loss", "lr"), values)])
        logs.write(place / "csv" / str(k) / "metrics.csv", "step,train/loss,lr\n" + "".join("%d,%g,%g\n" % row for row in rows))
    jobs = {}
    for name, rule in (("loss", {"rule": "LossSpike"}), ("all", {"rule": "ExplodingTensor", "parameters": {"tensor_regex": ".*"}})):
        jobs[name] = w.root / ("asked-%s.json" % name)
        jobs[name].write_text(json.dumps({"rules": [rule]}))
    jobs["none"] = None
    for kind in ("tb", "csv"):
        trials = [place / kind / str(k) for k in range(3)]
        for name, unseen in (("loss", 1), ("all", 0), ("none", 0)):
            got = [w.run(*trials, ranks=n, job=jobs[name]) for n in w.ranks]
            report = got[0][1]
            found = [t["tensors_unseen"] for t in report["comparison"]["trials"]] if report else str(got[0][0])
            w.checks.expect(len({g[2] for g in got}) == 1 and found == 3 * [unseen], "%s with the job %s: %s" % (kind, name, found))


def writers(w):
    """A trainer and its evaluator in a directory below: the start of the one drops nothing of the other. Megatron before 2021 wrote no colons."""
    place = w.root / "estimator"
    start = logs.frame(struct.pack("<Bd", 9, 1.0) + logs.data(7, logs.number(1, 1)))
    for folder, name in (("eval", "1795000001"), ("", "1795000000")):
        scalars(place / folder, name, [(10 * i, "loss", 9 - 0.3 * i) for i in range(20)])
    path = place / "events.out.tfevents.1795000000.host.7.0"
    path.write_bytes(path.read_bytes()[:40] + start + path.read_bytes()[40:])
    done, report, _ = w.run(place)
    counts = report["trials"][0]["metrics"]["counts"] if report else {}
    w.checks.expect(done.code == 0 and counts == {"records": 43} and report["verdict"].startswith("nothing wrong in 2 losses over 20 steps"), "a trainer and its evaluator: %s" % done)

    place = w.root / "early"
    logs.write(place / "out.log", "".join(" iteration %8d/  500000 | elapsed time per iteration (ms): 678.1 | learning rate 1.5E-05 | lm loss %.6E | nsp loss 6.9E-01 | from %s |\n"
                                          % (100 * i, 9 - 0.1 * i, "scratch") for i in range(1, 40)).encode())
    done = run([w.assay, "show", str(place), "metrics/lm loss"])
    _, report, _ = w.run(place)
    w.checks.expect(done.code == 0 and report["verdict"].startswith("nothing wrong in 2 losses over 39 steps"), "lines without colons: %s" % done)


def alike(w):
    """Values come out the same, whether their records are like those before them or not; one that is damaged is never taken."""
    rows = [(step, tag, [0, step, 3, i, i * i] if tag == "h" else math.inf if i == 25 and tag == "lr" else value)
            for i, step in enumerate([*range(110, 140), *range(16370, 16400), 1 << 27, 1 << 28, 1 << 29])
            for tag, value in (("train/loss", 9 - 0.1 * i), ("lr", 0.1 / (1 + i)), ("h", 0), ("val/loss", 9 - 0.1 * i)) if tag != "lr" or i % 3]
    place, tables = w.root / "alike", []
    for name, more in (("same", b""), ("longer", logs.data(9, ""))):  # a field that ends no usual record
        scalars(place / name, "1795000000", rows, more)
        run([w.assay, "stats", str(place / name), "-o", str(place / "table.csv")])
        tables.append((place / "table.csv").read_text().replace(name, "run"))
    w.checks.expect(tables[0] == tables[1] and len(tables[0].splitlines()) > len(rows), "records like those before: %.300s" % tables)
    path = next((place / "same").iterdir())
    content = path.read_bytes()
    begin = content.index(b"train/loss", len(content) // 2)
    for at in range(begin - 27, begin + 19, 7):  # from the checksum of its length to that of the record
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
        done, report, _ = w.run(place / "same")
        w.checks.expect(done.code == 3 and len(report["trials"][0]["problems"]) == 1, "byte %d of a record is damaged: %s" % (at - begin, done))


def many(w):
    """More trials than are run at once: the same report at any number of ranks, of each trial what it is among few."""
    place = w.root / "lots"
    for i in range(300):
        logs.csv(place / ("run_%03d" % i), logs.curve(6 + i % 3, "nan" if i % 50 == 7 else None))
    listed = [place / ("run_%03d" % i) for i in range(300)]
    bodies = []
    for n in w.ranks:
        done, report, body = w.run(*listed, ranks=n)
        bodies.append(body)
        w.checks.expect(report and len(report["trials"]) == 300, "300 trials on %d ranks: %s" % (n, done))
    w.checks.expect(len(set(bodies)) == 1, "300 trials: another report at %s ranks" % w.ranks)
    done = run([w.assay, "compare", str(place / "*"), "--memory", "8M", "--out", w.root / "small"])
    w.checks.expect(done.code == 4 and "--memory 8MiB is too little for 300 trials" in done.err and done.err.count("\n") == 1, "300 trials in little memory: %s" % done)
    some = listed[:3] + listed[30:34] + listed[255:258] + listed[-2:]
    _, few, _ = w.run(*some)
    if few and report:
        names = [t["name"] for t in few["trials"]]
        theirs = {t["name"]: t for t in report["trials"]}
        w.checks.expect(few["trials"] == [theirs[n] for n in names], "trials among 300 differ from the same among %d" % len(some))
        for loss in report["comparison"]["losses"]:
            w.checks.expect([t["points"] for t in loss["trials"]].count(0) == 0, "%s: trials without a curve" % loss["tensor"])
    done = run([w.assay, "compare", str(place / "*"), "--out", w.root / "page", "--reports", "html", "--quiet"])
    page = (w.root / "page/report.html").read_text()
    part = page[page.index('id="untested"'):].split("</section>")[0]
    w.checks.expect("run_007" in part and "run_008" not in part, "reasons are listed of the trials that are shown: %s" % done)


def table(place, columns, steps=40):
    """metrics.csv of columns by name: a function of the step."""
    lines = ["step," + ",".join(columns)]
    lines += [",".join([str(i)] + [repr(float(of(i))) for of in columns.values()]) for i in range(steps)]
    logs.write(place / "metrics.csv", "\n".join(lines) + "\n")


def tables(w):
    """Cells between semicolons or tabs, steps by another name (beside a loss), and rows that cannot be used."""
    rows = [[str(i), repr(falls(i)), repr(falls(i) + 0.1)] for i in range(40)]
    head = ["training_iteration", "loss", "val_loss"]
    cases = {"semicolons": (";", head, rows, 40), "tabs": ("\t", head, rows, 40), "path": (",", ["time/total_timesteps"] + head[1:], rows, 40),
             "pandas": (",", [""] + head[1:], rows, 40), "ragged": (",", head, rows + [["x"]] * 10, 40),
             "damaged": (",", ["Stex"] + head[1:], rows, 40), "samples": (",", ["seen"] + head[1:], [[str(64 * i)] + r[1:] for i, r in enumerate(rows)], 40),
             "no loss": (",", ["", "a", "b"], rows, None), "rows": (",", ["loss", "val_loss"], [r[1:] for r in rows], 40),
             "rows of models": (",", ["loss", "model"], [[r[1], "m" + r[0]] for r in rows], None), "one row": (",", ["loss", "acc"], [["1", "2"]], None),
             "no cells": (";", ["", "", ""], [["", "", ""]] * 3, None)}
    counted = {"rows": ("",), "samples": ('; if "seen" has them, call it step',)}
    for name, (between, columns, lines, steps) in cases.items():
        place = w.root / "tables" / name
        logs.write(place / "history.csv", "".join(between.join(line) + "\n" for line in [columns] + lines))
        done, report, _ = w.run(place)
        w.checks.expect(bool(report) == (steps is not None) and (steps or done.code == 2), "%s: %s" % (name, done))
        if report and steps:
            said = [(p["kind"], p["text"]) for p in report["trials"][0]["problems"]]
            w.checks.expect(said == ([("unknown-key", "history.csv: no column of steps: its rows were counted" + rest) for rest in counted.get(name, ())] or
                                     [("damaged-header", "history.csv: no column of steps: its rows were counted; \"Stex\" is \"step\" but for a byte")] * (name == "damaged")),
                            "%s: %s" % (name, said))
            w.checks.expect(done.code == (3 if name == "damaged" else 0) and ("; rows without a step were counted" in report["verdict"]) == bool(said), "%s: %s" % (name, done))
            for command in ("ls", "stats", "show"):
                listed = run([w.assay, command, str(place)] + (["metrics/loss"] if command == "show" else ["--out", w.root / "table.csv"] if command == "stats" else []))
                w.checks.expect(("its rows were counted" in listed.out + listed.err) == bool(said), "%s of %s: %s" % (command, name, listed))
            w.checks.expect("nothing wrong in 2 losses over %d steps" % steps in report["verdict"] and
                            ("; 10 of 50 rows could not be used" in report["verdict"]) == (name == "ragged"), "%s: %s" % (name, report["verdict"]))


def rewarded_tables(w):
    """Tables with a reward and no loss: the steps by the word that counts most finely, wherever its column stands; without a word for steps it is none."""
    for name, columns, first, last in (("episodes", ("episode", "reward"), 0, 39), ("steps first", ("time/iterations", "rollout/ep_rew_mean", "time/total_timesteps"), 0, 3900),
                                       ("steps last", ("time/total_timesteps", "rollout/ep_rew_mean", "time/iterations"), 0, 3900), ("updates", ("misc/nupdates", "eprewmean_reward"), 0, 39),
                                       ("returns", ("day", "return"), None, None), ("rows", ("", "return"), None, None), ("other", ("episode", "price"), None, None),
                                       ("length", ("episode_length", "reward"), None, None), ("models", ("Train Epoch", "reward"), None, None)):
        place = w.root / "rewarded" / name
        rows = [[100 * i if "timesteps" in c else i for c in columns] for i in range(40)]
        logs.write(place / "progress.csv", "\n".join([",".join(columns)] + [",".join(map(str, row)) for row in rows]) + "\n")
        done = run([w.assay, "stats", str(place), "-o", str(w.root / "rewarded.csv"), "--overwrite"])
        w.checks.expect((done.code == 0) == (last is not None), "%s: %s" % (name, done))
        steps = [int(row["mode_step"]) for row in csv.DictReader(open(w.root / "rewarded.csv"))] if done.code == 0 else []
        w.checks.expect(done.code or (min(steps), max(steps)) == (first, last), "%s: steps %s" % (name, steps[-3:]))


def episodes(w):
    """The rows of a monitor of episodes are counted; what stands above the header is passed over, also where cells lie between tabs."""
    rows = [(0.5 * i, 20 + i % 3, 0.1 * i) for i in range(30)]
    for name, above, between, columns in (("monitor", '#{"t_start": 1616.5, "env_id": "CartPole-v1"}', ",", "rlt"), ("two", "# a training\n# of mine", "\t", ("step", "loss", "t")),
                                          ("none", "", ",", "rlt"), ("other", "", ",", "rlx"), ("header", "", ",", ("# step", "loss", "acc"))):
        place = w.root / "episodes" / name
        lines = [between.join(map(str, (i, *row[1:]) if columns[0] != "r" else row)) for i, row in enumerate(rows)]
        logs.write(place / "0.monitor.csv", (above + "\n" if above else "") + "\n".join([between.join(columns)] + lines) + "\n")
        done = run([w.assay, "stats", str(place), "-o", str(w.root / "episodes.csv"), "--overwrite"])
        found = list(csv.DictReader(open(w.root / "episodes.csv"))) if done.code == 0 else []
        values = {(r["tensor"][8:], int(r["mode_step"])): float(r["mean"]) for r in found}
        expected = {} if name == "other" else {(c, i): float(row[k]) for i, row in enumerate(rows) for k, c in enumerate(columns) if c.lstrip("# ") != "step"}
        if name != "header":
            w.checks.expect(values == expected and ("its rows were counted" in done.out + done.err) == (name in ("monitor", "none")), "%s: %d values, %s" % (name, len(values), done))
        else:  # a header that begins so is one
            w.checks.expect(values == {(c, i): float(row[k]) for i, row in enumerate(rows) for k, c in ((1, "loss"), (2, "acc"))}, "a header with #: %s" % done)


def holes(w):
    """Steps that no worker wrote are named where the others come at one distance, and zeros in the place of numbers are counted."""
    whole = list(range(0, 600, 10))
    between = "No step was written between %d and %d; nearly all others are %d apart."
    cases = {"whole": (whole, None), "hole": (whole[:20] + whole[30:], between % (195, 300, 10)), "one": (whole[:20] + whole[21:], between % (195, 210, 10)),
             "thinner": (list(range(30)) + list(range(30, 600, 20)), None), "few": (whole[:8] + whole[12:16], None), "once": ([0] + whole[30:], between % (5, 300, 10)),
             "two": (whole[:20] + whole[22:40] + whole[41:], "No step was written between 195 and 220, 395 and 410; nearly all others are 10 apart.")}
    for name, (steps, said) in cases.items():
        place = w.root / "holes" / name
        logs.write(place / "metrics.csv", "step,train/loss,val/loss\n" + "".join("%d,%r,\n%d,,%r\n" % (i, falls(i), i + 5, falls(i)) for i in steps))
        done, report, _ = w.run(place, ranks=w.ranks[-1] if name == "hole" else 1)
        text = " ".join(done.out.split())
        w.checks.expect(report and (said in text if said else "No step was written" not in text) and
                        ("Every worker wrote every step." in text) == (said is None), "%s: %s" % (name, done))
    done, _, _ = w.run(w.root / "holes" / "whole", w.root / "holes" / "hole")
    w.checks.expect("1 other trial is whole" in done.out and "wrote every step" not in done.out, "of two, one with a hole: %s" % done)
    for steps, said in (("100:400", "; only steps 100 to 399 were looked at"), ("100:", "; only steps from 100 on were looked at"), (":", None)):
        done = run([w.assay, "run", "--trial", w.root / "holes" / "thinner", "--steps", steps, "--out", w.root / "out", "--quiet"])
        line = done.out.partition("\n")[0]
        w.checks.expect("nothing wrong" in line and (said in line and " over " not in line if said else "looked at" not in line), "--steps %s: %s" % (steps, done))
    rows = ["%d,%r" % (i, falls(i)) for i in range(60)]
    rows[20:23] = ["20,\0\0\0\0", "21,%r\0" % falls(21), "2\x002,%r" % falls(22)]
    logs.write(w.root / "holes" / "zeros" / "metrics.csv", "step,train/loss\n" + "\n".join(rows + ["\0" * 30, "60,1.0"]) + "\n")
    done, _, _ = w.run(w.root / "holes" / "zeros")
    w.checks.expect("but for 4 bad rows" in " ".join(done.out.split()), "zeros in a table: %s" % done)
    for name, row in (("rows.jsonl", '{"step": %d, "loss": %r}'), ("metrics.csv", "%d,%r"), ("train.log", "step: %d loss: %r"), ("meg.log", " iteration %8d/ 100 | lm loss: %r | grad norm: 1.0 |")):
        for size, torn in ((4, False), (4096, True)):
            path = w.root / "holes" / ("torn-%d" % torn) / name
            lines = ["step,loss"] * (name == "metrics.csv") + [row % (i, falls(i)) for i in range(30)]
            logs.write(path, "\n".join(lines) + "\0" * size + "\n" + "\n".join(row % (i, falls(i)) for i in range(40, 60)) + "\n")
            bodies = [w.run(path, ranks=n) for n in w.ranks]
            said = "4096 zero bytes in a row, which nobody writes into a text; what stood there is missing from this analysis"
            w.checks.expect(len({b[2] for b in bodies}) == 1 and all((b[0].code == 3) == torn and (said in str(b[2])) == torn for b in bodies), "%s with %d zero bytes: %s" % (name, size, bodies[0][0]))


    for name in ("meta.yaml", "../meta.yaml", "metrics/train/loss", "params/lr"):  # a short file of nothing else
        place = w.root / "holes" / ("mlflow-" + name.replace("/", "-").replace(".", "-"))
        logs.mlflow(place, logs.curve(20))
        logs.mlflow(place, logs.curve(20), "0a1c", "calm-owl-2")
        (place / "mlruns/1/0a1b" / name).write_bytes(bytes(200))
        bodies = [w.run(place, ranks=n) for n in w.ranks]
        done = bodies[0][0]
        w.checks.expect(len({b[2] for b in bodies}) == 1 and done.code == (0 if "params" in name else 3) and "zero bytes" in str(bodies[0][2]),
                        "200 zero bytes in %s: %s" % (name, done))


def torn(w):
    """Lines that MLflow does not write are counted, as those of any log, and the first is shown; where no line of a metric is left, it is
    missing, which is damage, as is a meta.yaml that is cut."""
    loss, meta, one = "metrics/train/loss", "meta.yaml", "metrics/val/loss"
    for what, name, old, new, said, counted in (
            ("a line", loss, b"\n5 ", b"\n5\xff ", None, "unknown"), ("a cut", loss, b" 19\n", b" 1", None, "growing"),
            ("a single line", one, b"7 0.5 3\n", b"7 0.5 x\n", "the metric is missing", "unknown"),
            ("a single line cut", one, b"7 0.5 3\n", b"7 0.5", "the metric is missing", "growing"),
            ("a line still written", one, b"7 0.5 3\n", b"7 0.5", None, "growing"),
            ("a cut meta", meta, b"ctive\n", b"", "it ends within a line; what stood behind it", None)):
        place = w.root / "torn" / what.replace(" ", "-")
        logs.mlflow(place, logs.curve(20))
        run = place / "mlruns/1/0a1b"
        (run / one).parent.mkdir(parents=True, exist_ok=True)
        (run / one).write_bytes(b"7 0.5 3\n")
        (run / name).write_bytes((run / name).read_bytes().replace(old, new))
        if "still" in what:
            (run / meta).write_text((run / meta).read_text().replace("status: 3", "status: 1"))
        bodies = [w.run(place, ranks=n) for n in w.ranks]
        done, trial = bodies[0][0], bodies[0][1]["trials"][0]
        found = [p["text"] for p in trial["problems"]]
        w.checks.expect(len({str(b[2]) for b in bodies}) == 1 and done.code == (3 if said else 0) and (any(said in text for text in found) if said else not found) and
                        (counted is None or trial["metrics"]["counts"].get(counted) == 1), "MLflow, %s: %s: %s: %s" % (what, found, trial["metrics"]["counts"], done))


def elsewhere(w):
    """A run of MLflow whose directory has another name than its id, and bytes behind the last page of a database, are named."""
    moved, database = w.root / "elsewhere", w.root / "behind"
    logs.mlflow(moved, logs.curve(20))
    (moved / "mlruns/1/0a1b").rename(moved / "mlruns/1/1a1b")
    logs.database(database, logs.curve(20))
    with open(database / "mlflow.db", "ab") as file:
        file.write(bytes(7))
    for place, kind, said in ((moved, "foreign-file", "run_id is 0a1b"), (database, "bytes-behind", "7 bytes stand behind its last page")):
        bodies = [w.run(place, ranks=n) for n in w.ranks]
        done, trial = bodies[0][0], bodies[0][1]["trials"][0]
        found = [(p["kind"], said in p["text"]) for p in trial["problems"]]
        w.checks.expect(len({str(b[2]) for b in bodies}) == 1 and done.code == 0 and found == [(kind, True)], "%s: %s: %s" % (place.name, trial["problems"], done))


def falls(i):
    return 1 + 7 * math.exp(-0.1 * i)


def judged(w):
    """A log is judged on what it logs, and the first line says on what."""
    cases = {  # columns, the first line, what fires
        "healthy": ({"train/loss": falls, "val/loss": falls}, "nothing wrong in 2 losses over 40 steps; logs say nothing of weights and gradients", set()),
        "players": ({"generator_loss": lambda i: 0.7 + 0.001 * i, "discriminator_loss": lambda i: 0.7}, "none of which has to fall", set()),
        "rewarded": ({"loss": lambda i: 2 + 0.1 * i, "rollout/ep_rew_mean": lambda i: i}, "none of which has to fall", set()),
        "parts": ({"box_loss": falls, "cls_loss": lambda i: 0.5 + 0.01 * i}, "nothing wrong in 2 losses over 40 steps", set()),
        "whole": ({"loss": lambda i: 2 + 0.1 * i, "cls_loss": falls}, "rose", {"LossNotDecreasing"}),
        "unlike": ({"train/box_loss": falls, "val/box_loss": falls, "train/cls_loss": lambda i: falls(i) / 9, "val/cls_loss": lambda i: falls(i) / 9 + 0.1 * (i > 10) * (i - 10)},
                   "metrics/val/cls_loss", {"Overfit"}),
        "norm": ({"train/loss": falls, "grad_norm": lambda i: math.nan if i == 7 else 1}, "metrics/grad_norm is not finite at some step", set()),
        "never": ({"train/loss": falls, "val/loss": lambda i: math.nan}, "metrics/val/loss never had a finite value", set()),
        "nan": ({"train/loss": lambda i: math.nan if i > 30 else falls(i)}, "metrics/train/loss became NaN at TRAIN step 31", {"ExplodingTensor"}),
        "names": ({"ASW label": lambda i: 0.5 - i, "inputs": lambda i: 1e9 * i, "predictions": falls}, "no loss is logged; metrics/ASW label, metrics/inputs and metrics/predictions are; nothing was tested", set()),
        "other names": ({"xent": falls, "lr": lambda i: 0.1, "val_nll": falls, "accuracy": falls}, "no loss is logged; metrics/val_nll and metrics/xent may be one by another name, ", set()),
        "test": ({"lr": lambda i: 0.1, "test_loss": falls}, "nothing wrong in 1 loss over 40 steps, none of which has to fall", set()),
        "test nan": ({"test_loss": lambda i: math.nan if i == 7 else falls(i)}, "metrics/test_loss became NaN at", {"ExplodingTensor"}),
        "sum": ({"loss": falls, "loss_sum": lambda i: 0.5 * i, "loss_count": lambda i: i}, "nothing wrong in 1 loss over 40 steps", set()),
        "none": ({"lr": lambda i: 0.1, "accuracy": lambda i: i / 40}, "no loss is logged; metrics/accuracy and metrics/lr are; nothing was tested", set()),
    }
    for name, (columns, line, expected) in cases.items():
        place = w.root / "judged" / name
        table(place, columns)
        done, report, _ = w.run(place)
        w.checks.expect(report, "%s: %s" % (name, done))
        if report:
            w.checks.expect(line in report["verdict"], "%s: the first line is: %s" % (name, report["verdict"]))
            w.checks.expect("rule" not in report["verdict"].split("(")[0] and "sound" not in report["verdict"], "%s: %s" % (name, report["verdict"]))
            fired = w.fired(report)
            w.checks.expect(expected <= fired if expected else not fired, "%s: %s fired" % (name, fired))


def secrets(w):
    """Settings whose names say that they are secret are masked; numbers and what stands in brackets are none."""
    place = w.root / "secrets"
    logs.csv(place, logs.curve(20))
    logs.write(place / "hparams.yaml", "api_key: abc\nnested:\n  db_password: x\nhf_token: hf_x\nhub_token: <HUB_TOKEN>\npad_token_id: 0\nmax_tokens: 9\n")
    _, report, body = w.run(place)
    facts = {k[7:]: v for k, v in (report["trials"][0]["facts"] if report else {}).items()}
    w.checks.expect(facts == {"api_key": "***", "nested.db_password": "***", "hf_token": "***", "hub_token": "<HUB_TOKEN>", "pad_token_id": "0",
                              "max_tokens": "9"}, "secrets: %s" % facts)


def low_precision(w):
    """A figure that is not finite is said to be, whatever it would have tested."""
    logs.dlfw(w.root / "low", [(0, 1.0, None), (10, math.nan, None), (20, 1.0, None)])
    _, report, _ = w.run(w.root / "low")
    w.checks.expect(report and "underflowed by step 10, for its figure is not finite" in report["verdict"], "low precision: %s" % (report and report["verdict"]))


def beside(w):
    """Where no loss is logged, the first line names what lies beside the log and was not looked at."""
    place = w.root / "beside"
    logs.wandb(place / "none", [])
    logs.write(place / "rate/trainer_state.json", '{"log_history": [{"step": 1, "learning_rate": 0.1}]}')
    for name, line in (("none", "nothing is logged in wandb, and what lies beside it (csv) was not looked at"),
                       ("rate", "no loss is logged in hf, and what lies beside it (csv) was not looked at")):
        logs.csv(place / name, logs.curve(20))
        _, report, _ = w.run(place / name)
        w.checks.expect(report and report["verdict"].startswith(line), "%s: %s" % (name, report and report["verdict"]))

    job = w.root / "format.json"  # a job may ask for the other kind
    for asked, trial, words in (("csv", place / "none", None), ("tb", place / "none", 'no log of the kind "tb" is there'), ("csv", w.root / "many" / "mlruns", 'no log of the kind "csv" is there'),
                                ("hf", TRIALS / "healthy", 'no log of the kind "hf" is there')):
        job.write_text(json.dumps({"trials": [{"path": str(trial), "format": asked}], "rules": [{"rule": "LossSpike"}]}))
        bodies = set()
        for ranks in w.ranks:
            out = w.root / "asked"
            shutil.rmtree(out, ignore_errors=True)
            done = mpirun(ranks, [w.assay, "run", job, "--out", out])
            bodies.add(body_of(out) if (out / "report.json").exists() else None)
            w.checks.expect(done.code == 2 and words in done.err + done.out if words else done.code == 0, "%s of %s at %d ranks: %s" % (asked, trial.name, ranks, done))
        w.checks.expect(len(bodies) == 1, "%s of %s: the report differs between ranks" % (asked, trial.name))
        w.checks.expect(words or json.loads((out / "report.json").read_text())["trials"][0]["metrics"]["kind"] == asked, "%s is not what was read" % asked)


def beside_runs(w):
    """What lies beside several runs and is not of their log is found as before; the place is listed for all of them at once."""
    place = w.root / "beside_runs"
    for i in range(3):
        logs.csv(place / ("run_%03d" % i), logs.curve(20))
    things = {None: lambda: None, "a.pt.trace.json": lambda: logs.write(place / "a.pt.trace.json", '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}], "distributedInfo": {"rank": 0}}'),
              "topologi.json": lambda: logs.write(place / "topologi.json", "{}"), "away": lambda: (place / "away").symlink_to(TRIALS)}
    for thing, make in things.items():
        make()
        bodies = {str(w.run(place, ranks=n)[2]) for n in w.ranks}
        body = bodies.pop()
        w.checks.expect(not bodies and body.count('"name": "run_00') >= 3, "%s beside runs: %s" % (thing, body[:300]))
        w.checks.expect(not thing or thing.split(".")[0] in body, "%s beside runs is not said" % thing)
        if thing:
            (place / thing).unlink()
    logs.write(place / "topology.json", "{")
    done, report, _ = w.run(place)
    w.checks.expect(not report and "topology.json" in done.err, "a topology beside runs that is wrong: %s" % done)


def refused(w):
    """What is called like a log and is none is named, with what it lacks."""
    cases = {"metrics.csv": (b"name,loss\nab,1\n", "has a column step"), "events.out.tfevents.1.h.1.0": (b"", "it is empty"),
             "run-x.wandb": (b":W&B\xe1\xbe\x01", "does not begin as files of W&B do"), "mlflow.db": (b"SQLite format 4", "no SQLite database"),
             "trainer_state.json": (b"[]", "no JSON object with log_history"), "train.log": (b"hello\n", "no line of it has a step and a loss"),
             "progress.csv": (b"1,49.5\n2,50.5\n", "it has numbers alone"), "values.txt": (b"0.5 7\n0.25 8\n", "it has numbers alone"),
             "events.out.tfevents.2.h.1.0": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull")}
    for name, (content, why) in cases.items():
        place = w.root / "refused" / name.replace(".", "_")
        logs.write(place / name, content)
        for given in (place, place / name):
            done, report, _ = w.run(given)
            w.checks.expect(done.code == 2 and not report and "not a trial" in done.err and why in done.err and name in done.err, "%s: %s" % (name, done))
    logs.csv(w.root / "refused/metrics_csv", logs.curve(20))  # beside one that is good it is counted
    logs.write(w.root / "refused/metrics_csv/train.log", "hello\n")
    done, report, _ = w.run(w.root / "refused/metrics_csv")
    w.checks.expect(done.code == 0 and report["trials"][0]["metrics"]["counts"].get("other files") == 1, "an other file: %s" % done)


def silent(w):
    """Runs that logged nothing, or never started, are no trials and are named; alone they are trials without data."""
    place = w.root / "silent"
    logs.wandb(place, logs.curve(20), "aa")
    logs.wandb(place, logs.curve(20), "bb")
    logs.wandb(place, [], "mute")
    logs.write(place / "run-1-none/run-none.wandb", b"")
    logs.write(place / "run-1-odd/run-odd.wandb", b"odd")
    for ranks in w.ranks:
        _, report, _ = w.run(place, ranks=ranks)
        said = {k: report["trials"][0]["metrics"].get(k) for k in ("logged_nothing", "never_started", "around")} if report else None
        w.checks.expect(said == {"logged_nothing": ["mute"], "never_started": ["none"], "around": {"other files": 1}}, "silent runs: %s" % said)
        w.checks.expect(report and "around" not in report["trials"][1]["metrics"], "they are said once")
    _, report, _ = w.run(place / "run-1-none")
    w.checks.expect(report and report["verdict"].startswith("nothing is logged"), "a run that never started: %s" % report)


def defined_steps(w):
    """Values of W&B that have others as their steps: by name, the last that was told, before beginnings; and thousands of names."""
    place = w.root / "defined-steps"
    steps = [("many/%d_loss" % i, "other") for i in range(1500)] + [("many/*", "epoch"), ("train/loss", "other"), ("train/loss", "epoch")]
    more = {"epoch": lambda i: 100 + i // 2, "other": lambda i: 7 * i}
    logs.wandb(place, [(i, 1 / (1 + i), None) for i in range(40)], steps=steps,
               more=lambda i: {**{key: of(i) for key, of in more.items()}, **{"many/%d_loss" % k: 0.5 for k in (0, 700, 1499)}, "many/free_loss": 0.5})
    for tag, axis in (("train/loss", "epoch"), ("many/700_loss", "other"), ("many/1499_loss", "other"), ("many/free_loss", "epoch")):
        done = mpirun(w.ranks[-1], [w.assay, "show", place, "metrics/" + tag, "--json"])
        found = sorted({row["step"] for row in json.loads(done.out)["rows"]}) if done.code == 0 else done
        w.checks.expect(found == sorted({more[axis](i) for i in range(40)}), "%s: %s" % (tag, found))


# Lines as programs print them: the file, and what of its values has to be found, by (mode, step).


def outputs_of_ranks(w):
    """Of several ranks the last one prints the losses: the outputs of the others are named, and are no damage."""
    place = w.root / "outputs"
    for rank in range(2):
        logs.write(place / str(rank) / "train.log", "building\n")
    logs.megatron(place / "2", logs.curve(30))
    done, report, _ = w.run(place)
    kinds = [p["kind"] for p in report["trials"][0]["problems"]] if report else None
    w.checks.expect(done.code == 0 and kinds == ["foreign-file"] * 2, "outputs of ranks: %s, %s" % (done, kinds))


def known_files(w):
    """What programs put beside directories with logs is known, and nothing is said of it."""
    place = w.root / "known"
    for name in ("train", "eval"):
        logs.tfevents(place / "tensorflow" / name, logs.curve(30))
    logs.write(place / "tensorflow/checkpoint", 'model_checkpoint_path: "model.ckpt-30"\n')
    logs.wandb(place / "wandb", logs.curve(30), "aa")
    logs.write(place / "wandb/latest-run", "run-1-aa")
    for name in ("tensorflow", "wandb"):
        done, report, _ = w.run(place / name)
        w.checks.expect(done.code == 0 and report["trials"][0]["problems"] == [], "known files: %s" % done)


def commands(w):
    """Each command of docs/logs.md, over what it is said for."""
    place = w.root / "commands"
    good = logs.curve(30)
    logs.hf(place / "runs/17", good)
    logs.tfevents(place / "runs/exp_1", good)
    logs.tfevents(place / "runs/exp_2", good)
    for name in ("cc33dd44", "dd44ee55"):
        logs.wandb(place / "wandb", good, name)
    (place / "wandb/latest-run").symlink_to("run-1-dd44ee55")
    for i in range(2):
        logs.mlflow(place, good, "%032x" % i, "calm-owl-%d" % i)
    logs.database(place, good)
    for i in (2, 3):
        logs.csv(place / ("lightning_logs/version_%d" % i), good)
    for kind, name in ((logs.megatron, "logs"), (logs.printed, "outputs"), (logs.dlfw, "nvdlfw_inspect_statistics_logs"), (logs.monitor, "monitor_output"), (logs.dump, "dump_path")):
        kind(place / name, good)
    for seed in (1, 2):
        logs.csv(place / "seeds", good)
        (place / "seeds/metrics.csv").rename(place / ("seeds/seed_%d.csv" % seed))
    logs.write(place / "outputs/again.out", (place / "outputs/train.out").read_bytes())
    text = (ROOT / "docs/logs.md").read_text()
    found = list(dict.fromkeys(re.findall(r"`(assay [a-z]+ [^`]+)`", text)))
    w.checks.expect(len(found) >= 20, "the commands of docs/logs.md: %s" % found)
    bin_directory = place / "bin"
    bin_directory.mkdir()
    (bin_directory / "assay").symlink_to(Path(w.assay).resolve())
    for command in found:
        done = run(["sh", "-c", command + " < /dev/null"], cwd=place, env={"PATH": "%s:%s" % (bin_directory, os.environ["PATH"])})
        w.checks.expect(done.code == 0 and (done.out or "-o " in command), "%s: %s" % (command, done))
    table = (place / "all.csv").read_text().splitlines()
    w.checks.expect(len(table) == 1 + 2 * (30 + 6), "one table of all series of all runs: %d lines" % len(table))
    said = run([w.assay, "ls", place / "runs/exp_1"]).out
    w.checks.expect("metrics/train/loss" in said, "ls names tags: %s" % said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        w = World(args, Path(scratch))
        for part in (same_verdict, ranks, files, files_of_rows, any_names, files_of_runs, given_up, strangers, numbers_in_names, places, damage, unasked, asked_of_many, gaps, writers, alike, many, unjudged, judged, tables, rewarded_tables, episodes, holes, torn, elsewhere, secrets, low_precision, beside, beside_runs, refused, silent, printouts, tables_end, encodings, documents, no_version, files_of_modes, links_of_runs, parts_of_tables, own_steps, defined_steps, counted, no_courses, outputs_of_ranks, registered, rows_of_runs, known_files,
                     one_series, cut_documents, ends_of_jobs, oddities, commands):
            part(w)
        return w.checks.done()


if __name__ == "__main__":
    sys.exit(main())
