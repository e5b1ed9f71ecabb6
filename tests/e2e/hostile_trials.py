#!/usr/bin/env python3
"""Trials that lie, or that try to act outside of themselves: what they say wrongly is named, and nothing leaves them.

    hostile_trials.py --assay PROGRAM [--ranks 1 3] [--only NAME]

Damage as disks and networks make it: bad_trials.py.
"""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import numpy  # noqa: E402
import hostile  # noqa: E402
from checkpoints import save_safetensors  # noqa: E402
from hostile_world import case, main, problems  # noqa: E402
from launch import TRIALS  # noqa: E402
from made import Made  # noqa: E402
from records import field, frame, masked_crc, varint  # noqa: E402


@case
def event_file_of_another_step(w):
    trial = w.trial()
    source, target = (trial / ("events/%012d/%012d_worker_1.tfevents" % (n, n)) for n in (10, 20))
    w.expect(source.stat().st_size == target.stat().st_size, "the two files differ in size: nothing is tested")
    target.write_bytes(source.read_bytes())
    report, code = w.reports(trial)
    found = [p for p in problems(report) if p["kind"] == "damaged-record"]
    w.expect(code == 3 and found, "exit %s, %s" % (code, problems(report)))
    w.expect(all("000000000020_worker_1.tfevents" in p["text"] and "says step 20 " in p["text"] and "the record step 10 " in p["text"]
                 for p in found), found[:2])
    shown = w.run("show", trial, "--regex", ".*", "--step", "20", "--worker", "worker_1")
    w.expect(shown.code == 3 and "of another step" in shown.out + shown.err, shown)


@case
def collections_of_workers_differ(w):
    for of, to, word in (('"losses"', '"losres"', "losres"), ("[Ll]oss_", "[Ll]osz_", "losses"), ('"num_workers": 3', '"num_workers": 5', "5 workers")):
        trial = w.trial()
        path = trial / "collections/000000000/worker_1_collections.json"
        text = path.read_text()
        w.expect(of in text, "%s is not in the file" % of)
        path.write_text(text.replace(of, to))
        report, code = w.reports(trial)
        found = [p for p in problems(report) if p["kind"] == "collections-differ"]
        w.expect(found and any(word in p["text"] for p in found), "%s: %s" % (to, problems(report)[:3]))
        w.expect(all(p["file"].endswith("worker_1_collections.json") for p in found), found)
        w.expect(code == 0, "%s: exit %s" % (to, code))
        shutil.rmtree(trial)


@case
def printed_commands(w):
    """A command that the report tells people to paste has the words that were meant, whatever the names are, and does no more."""
    names = [n for n in hostile.TENSORS if not n.endswith("\n")] + ["-x", "--help", "w$(touch X)", "a'b\"c", "`touch X`"]
    shells = w.folder / "bin"
    shells.mkdir()
    (shells / "assay").write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    (shells / "assay").chmod(0o755)
    for at in range(0, len(names)):
        tensor, worker = names[at], re.sub("[/\0]", "|", names[-1 - at])[:60]
        worker = worker if worker.strip(".") and worker[0] != "_" else "worker_0"
        place = w.folder / ("$(touch X) %d" % at)
        made = Made(place, [worker])
        for step in range(3):
            made.step(step, "TRAIN", step, {worker: {tensor: [1.0, float("inf") if step > 1 else 2.0]}})
        made.end()
        done = w.run("run", place, "--reports", "json,text", "--quiet", "--out", w.folder / "out")
        report = json.loads((w.folder / "out" / "report.json").read_text())
        commands = [r["first_cause"]["show"] for t in report["trials"] for r in t["rules"] if "show" in r.get("first_cause", {})]
        if not w.expect(done.code in (0, 3) and len(commands) == 1, "no command for %r: %s" % (tensor, done)):
            continue
        w.expect(subprocess.run(["sh", "-n", "-c", commands[0]]).returncode == 0, "malformed: %s" % commands[0])
        pasted = subprocess.run(["sh", "-c", commands[0]], cwd=w.folder, capture_output=True,
                                env={"PATH": "%s:/usr/bin:/bin" % shells})
        words = pasted.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
        operands = words[1:3] if words[1:2] == [str(place)] else words[-2:]
        w.expect(operands == [str(place), tensor] and worker in words, "%s: %s" % (commands[0], words))
        w.expect(commands[0] in (w.folder / "out" / "report.txt").read_text(), "not so in report.txt: %s" % commands[0])
        again = report["run"]["command"]
        words = subprocess.run(["sh", "-c", "printf '%%s\\0' %s" % again], cwd=w.folder, capture_output=True).stdout.split(b"\0")
        w.expect(os.fsencode(place) in words, "the report's own command: %s" % again)
    w.expect(not list(w.folder.rglob("X")), "a name was run")


@case
def absent_workers(w):
    """A number in a file of 60 bytes makes no report of many megabytes."""
    trial = w.trial("linreg_nan")
    path = next((trial / "collections").glob("*/*.json"))
    path.write_text('{"collections": {}, "_meta": {"num_workers": 9999999}}')
    report, code = w.reports(trial, "--reports", "json,text,html,markdown,junit,csv", "--memory", "64M")
    incomplete = report["trials"][0]["incomplete"]
    w.expect(code == 0 and len(incomplete) == 10, "exit %s, %d steps" % (code, len(incomplete)))
    w.expect(all(len(i["missing_workers"]) == 64 and len(i["missing_workers"]) + i["more_missing"] == 9999998 for i in incomplete),
             str(incomplete)[:300])
    sizes = {p.name: p.stat().st_size for p in (w.folder / "out-1").iterdir()}
    w.expect(max(sizes.values()) < 1 << 20, sizes)
    full = json.loads((w.folder / "out-1" / "report.json").read_text())
    w.expect(full["run"]["peak_memory"] < 100 << 20, "took %s" % full["run"]["peak_memory"])


@case
def holes(w):
    """Sparse files are refused by their size, before they are read."""
    trial = w.trial("linreg_nan")
    index = next((trial / "index").glob("*/*.json"))
    os.truncate(index, 1 << 40)
    done = w.run("run", trial, "--quiet", "--out", w.folder / "out")
    w.expect(done.code == 3 and not done.hung and "larger than the" in done.out, done)
    hole = w.folder / "state"
    hole.touch()
    os.truncate(hole, 1 << 39)
    done = w.run("run", trial, "--quiet", "--out", w.folder / "out", "--checkpoint", hole, "--resume")
    w.expect(done.code in (2, 4) and not done.hung and "not a checkpoint" in done.err, done)
    hole.unlink()
    os.mkfifo(hole)
    done = w.run("run", trial, "--quiet", "--out", w.folder / "out", "--checkpoint", hole, "--resume")
    w.expect(done.code in (2, 4) and not done.hung and "not a regular file" in done.err, done)


@case
def records_of_a_terabyte(w):
    """Of an event file of 1 TiB only what its index promises is read, and no record is larger than protobuf's messages."""
    trial = Made(w.folder / "t", 1).step(1, "TRAIN", 1, {"worker_0": {"x": [1.0], "y": [2.0]}}).end()
    events, index = next((trial / "events").rglob("*.tfevents")), next((trial / "index").rglob("*.json"))
    start = events.stat().st_size
    content = (1 << 40) - 4096
    # A sound frame around a sound tensor, all of it but its head a hole.
    parts = [field(1, 1) + field(2, field(2, field(1, content // 4))) + varint(4 << 3 | 2) + varint(content)]
    parts.insert(0, field(1, b"x") + varint(8 << 3 | 2) + varint(len(parts[0]) + content))
    parts.insert(0, varint(1 << 3 | 2) + varint(sum(map(len, parts)) + content))
    parts.insert(0, field(2, 1) + varint(5 << 3 | 2) + varint(sum(map(len, parts)) + content))
    payload = struct.pack("<Q", sum(map(len, parts)) + content)
    with open(events, "ab") as file:
        file.write(payload + struct.pack("<I", masked_crc(payload)) + b"".join(parts))
    os.truncate(events, 1 << 40)
    commands = (["run", trial, "--quiet", "--out", w.folder / "out"], ["show", trial, "--regex", "."], ["ls", trial],
                ["stats", trial, "-o", w.folder / "stats.csv"],
                ["watch", trial, "--quiet", "--out", w.folder / "out", "--lag", "1"])
    for command in commands:
        done = w.run(*command)
        w.expect(not done.hung and done.code == 0, "a hole behind the records: %s: %s" % (command[0], done))
    said = json.loads(index.read_text())
    said["tensor_payload"][0].update(start_idx=start, length=int.from_bytes(payload, "little") + 16)
    index.write_text(json.dumps(said))
    for command in commands:
        done = w.run(*command)
        w.expect(not done.hung and done.code == 3, "a record of 1 TiB: %s: %s" % (command[0], done))
    report, _ = w.reports(trial)
    found = problems(report)
    w.expect([p["kind"] for p in found] == ["damaged-index"] and "no record is so large" in found[0]["text"], found)


@case
def pipes_and_devices(w):
    """What is no regular file is named, and never waited for, wherever a trial has files."""
    for kind in ("index", "events", "collections"):
        for make in (os.mkfifo, lambda p: os.symlink("/dev/zero", p), lambda p: os.symlink("/dev/tty", p), os.mkdir):
            trial = w.trial("linreg_nan")
            path = sorted((trial / kind).rglob("*worker_0*"))[-1]
            path.unlink()
            make(path)
            for command in (["run", trial, "--quiet", "--out", w.folder / "out"], ["ls", trial], ["show", trial, "--regex", "."]):
                done = w.run(*command)
                w.expect(not done.hung and done.code in (0, 2, 3), "%s %s: %s" % (kind, command[0], done))
                w.expect(done.code != 0 or command[0] == "ls", "%s %s: nothing is said: %s" % (kind, command[0], done))
            shutil.rmtree(trial)


@case
def directories_of_events(w):
    """A directory in the place of a file of the profiler is named."""
    sound = TRIALS.parent / "events" / "profiler"
    for number, file in enumerate(sorted(p.relative_to(sound) for p in sound.rglob("*.json"))):
        trial = w.folder / str(number)
        shutil.copytree(sound, trial, copy_function=shutil.copyfile)
        (trial / file).unlink()
        (trial / file).mkdir()
        report, code = w.reports(trial)
        w.expect(code == 3 and any(p["file"] == str(file) for p in problems(report)), "%s: exit %s, %s" % (file, code, problems(report)))


@case
def terminals(w):
    """Nothing that is printed, or that people print, has a byte that acts on a terminal or turns the order of a line."""
    acts = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\udc80-\udcff]")
    names = ["\x1b[31mred\x07", "\x9b31m", os.fsdecode(b"raw \x9b31m \xff"), "\u202eleft", "back\rspace\x08",
             "\u2028\ufeff\u061c\u2066", "\x7f\x85"]
    for at, name in enumerate(names):
        worker, text = "w-%s" % names[-1 - at], name if "\udcff" not in name else "raw"
        made = Made(w.folder / ("t%d" % at), [worker], {text: "."})
        for step in range(3):
            made.step(step, "TRAIN", step, {worker: {name: [1.0, float("inf") if step > 1 else 2.0], "strings": [text]}})
        made.put("run/run_%s.json" % text, b"{")
        made.put("events/%s" % name, b"")
        index = sorted((made.folder / "index").rglob("*.json"))[0]
        index.write_bytes(index.read_bytes().replace(b'"length": ', b'"length": 9', 1))
        trial, out = made.end(), w.folder / "out"
        report = out / "report.json"
        job = w.folder / "job.json"
        job.write_text(json.dumps({"rules": [{"rule": "ExplodingTensor", "name": text, "parameters": {"tensor_regex": "."},
                                              "actions": [{"type": "command", "argv": ["true", text]}]}]}))
        commands = [["run", trial, "--reports", "json,text,markdown", "--out", out], ["run", job, "--trial", trial, "--out", out],
                    ["check", job, "--trial", trial], ["ls", trial], ["ls", trial, "--json"],
                    ["watch", trial, "--lag", "1", "--out", out], ["stats", trial, "-o", w.folder / "stats.csv"],
                    ["compare", trial, trial, "--out", out], ["show", report, "--draw", "always"],
                    ["show", trial, "no such %s" % text], ["run", w.folder / text], ["run", trial, "--steps", text]]
        commands += [["show", trial, "--regex", ".", *more] for more in ([], ["--csv"], ["--json"], ["--worker", text])]
        commands += [["show", trial, "--regex", ".", "--values", *more] for more in ([], ["--csv"], ["--json"])]
        for command in commands:
            done = subprocess.run([str(c) for c in [w.args.assay, *command]], capture_output=True, timeout=60)
            files = [out / "report.txt", out / "report.md", report]
            for data in [done.stdout, done.stderr] + [p.read_bytes() for p in files if p.exists()]:
                data = re.sub(rb"\x1b\[[0-9;]*m", b"", data) if "always" in command else data
                found = acts.search(os.fsdecode(data))
                w.expect(not found, "%r in what `%s` printed" % (found, " ".join(str(c) for c in command)))
        shutil.rmtree(trial)


@case
def end_markers(w):
    """What has the marker's name and is no file does not end a trial, and that is said. A link that leads nowhere may have been one."""
    for name in ("linreg_nan", "npy"):
        for make in (os.mkfifo, os.mkdir, lambda p: os.symlink("/nowhere", p), lambda p: os.symlink("/dev/null", p)):
            trial = w.trial("linreg_nan") if name != "npy" else w.folder / "npy"
            if name == "npy":
                (trial / "step_1").mkdir(parents=True)
                numpy.save(trial / "step_1" / "x.npy", numpy.ones(1, "float32"))
            marker = trial / "training_job_end.ts"
            marker.unlink(missing_ok=True)
            make(marker)
            done = w.run("ls", trial)
            lost = marker.is_symlink() and not marker.exists()
            text = "cannot be found" if lost else "not a regular file"
            w.expect(" ".join(done.out.split()).count(text) == 1 and done.code == (3 if lost else 0), "%s: %s" % (name, done))
            shutil.rmtree(trial)


@case
def copies_of_event_files(w):
    """An event file that is there twice, as it is and packed by gzip or in another directory, counts once, and that is said."""
    source, trial = TRIALS.parent / "events" / "profiler", w.folder / "profiler"
    counts = []
    for how in ("plain", "gzip", "elsewhere"):
        shutil.rmtree(trial, True)
        shutil.copytree(source, trial)
        files = [p for p in (trial / "framework" / "pevents").rglob("*.json")]
        for path in files:
            if how == "gzip":
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
            elif how == "elsewhere":
                other = path.parent.parent / "2023111501" / path.name
                other.parent.mkdir(exist_ok=True)
                shutil.copy(path, other)
        report, _ = w.reports(trial)
        counts.append(report["trials"][0]["profile"]["trial"]["events"])
        copies = [p for p in problems(report) if "by its name a copy of" in p["text"]]
        w.expect(len(copies) == (0 if how == "plain" else len(files)), "%s: %s" % (how, copies))
    w.expect(counts[0] > 0 and len(set(counts)) == 1, "events: %s" % counts)


def tensors(path):
    save_safetensors(path, {"w": numpy.ones(2, "float32")})


def arrays(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    numpy.save(path, numpy.ones(2, "float32"))


def said(w, trial, sound, name, codes):
    """Each command names it; the exit codes of run, which are the same at each number of ranks, and of the others are so."""
    report, code = w.reports(trial)
    w.expect(code in codes and any(name in p["text"] for p in problems(report)), "%s: run: exit %s, %s" % (name, code, problems(report)))
    out = w.folder / "out"
    for command in (["ls", trial], ["verify", trial], ["compare", "a=%s" % trial, "b=%s" % sound, "--out", out, "--quiet", "--reports", "json"],
                    ["stats", trial, "--quiet", "-o", w.folder / "stats.csv"]):
        done = w.run(*command)
        text = done.out + done.err + ((out / "report.json").read_text() if command[0] == "compare" else "")
        text = re.sub(r"\s", "", text)  # wrapped
        w.expect(done.code in codes and (command[0] == "stats" or all(part in text for part in re.sub(r"\s", "", name).split(":"))),
                 "%s: %s: %s" % (name, command[0], done))


@case
def files_for_directories(w):
    """A file in the place of a step's directory is damage, in every command."""
    for form, make, file in [(f, tensors, "model.safetensors") for f in ("step%d", "iter_%07d", "checkpoint-%d", "global_step%d")] + [("step%d", arrays, "w.npy")]:
        sound, trial = w.folder / "sound", w.folder / "trial"
        for step in (1, 2, 3):
            make(sound / (form % step) / file)
        shutil.copytree(sound, trial)
        shutil.rmtree(trial / (form % 2))
        (trial / (form % 2)).write_text("x")
        (trial / ("log_step_%d" % 2)).write_text("no name that a directory of the series has")
        said(w, trial, sound, form % 2 + ": a file, where a directory should be", {3})
        w.expect("log_step" not in w.run("ls", trial).out, "a file that is none of the series is named")
        shutil.rmtree(sound)
        shutil.rmtree(trial)


@case
def put_aside(w):
    """What was put aside under a name with something behind it is named where nothing has its place, else not. A step that has nothing else is not complete."""
    made = [(tensors, "step%d/model.safetensors"), (tensors, "step_%d.safetensors"), (tensors, "step%d/model-00002-of-00002.safetensors"),
            (tensors, "step%d/rank_1.safetensors"), (arrays, "step%d/w.npy"), (arrays, "step%d/worker_0/w.npy")]
    for make, form in made:
        for ending in (".bak", "~", " ", ".1") if form == made[0][1] else (".bak",):  # others: unit.base.path
            sound, trial = w.folder / "sound", w.folder / "trial"
            for step in (1, 2, 3):
                make(sound / (form % step))
                if "-of-" in form or "rank" in form:
                    make(sound / (form % step).replace("00002-", "00001-").replace("rank_1", "rank_0"))
            copy = (sound / (form % 2)).with_name((form % 2).split("/")[-1] + ending)
            shutil.copy(sound / (form % 2), copy)
            w.expect("not read" not in w.run("ls", sound).out, "%s: a copy is named" % copy.name)
            copy.unlink()
            shutil.copytree(sound, trial)
            (trial / (form % 2)).rename(trial / copy.relative_to(sound))
            said(w, trial, sound, copy.name.strip(), {0, 3, 5, 7})
            shutil.rmtree(sound)
            shutil.rmtree(trial)


@case
def pieces_without_topology(w):
    """A recording whose index says that tensors are pieces names each file of topology/ that is not there."""
    for change in ("directory", "renamed", "file", "aside"):
        workers = ["worker_0", "worker_1"]
        made = Made(w.folder / change, workers)
        for step in (1, 2):
            made.step(step, "TRAIN", step, {worker: {"w": [1.0, 2.0]} for worker in workers})
        for at, worker in enumerate(workers):
            piece = {"global_shape": [4], "offset": [2 * at], "replica": 0}
            made.put("topology/%s.json" % worker, json.dumps({"layouts": [{"tensorname": "w", "shape": [2], **piece}]}).encode())
            for index in (made.folder / "index").rglob("*_%s.json" % worker):
                text = json.loads(index.read_text())
                text["tensor_payload"][0].update(piece)
                index.write_text(json.dumps(text))
        trial, sound = made.end(), w.folder / "sound"
        if not sound.is_dir():
            shutil.copytree(trial, sound)
            report, code = w.reports(sound)
            w.expect(code == 0 and not problems(report), "exit %s, %s" % (code, problems(report)))
        folder = trial / "topology"
        if change == "directory":
            shutil.rmtree(folder)
        elif change == "renamed":
            folder.rename(trial / "elsewhere")
        else:
            (folder / "worker_1.json").rename(folder / ("worker_1.json.bak" if change == "aside" else "worker_9.json"))
        for worker in workers if change in ("directory", "renamed") else workers[1:]:
            said(w, trial, sound, "topology/%s.json: does not exist" % worker, {3})
        if change == "aside":
            said(w, trial, sound, "worker_1.json.bak", {3})


@case
def unread_samples(w):
    """`ls` says how many files of machines it did not look into."""
    done = w.run("ls", TRIALS.parent / "events" / "profiler")
    files = [p.name.split(".")[1] for p in (TRIALS.parent / "events" / "profiler" / "system").rglob("*.json")]
    w.expect("%d others are not" % (len(files) - len(set(files))) in " ".join(done.out.split()), done)


@case
def work_beyond_bytes(w):
    """Records that would take far more work than the files have bytes are named, not read: many at one place; views that repeat elements."""
    import torch
    trial = Made(w.folder / "overlap", 1).step(1, "TRAIN", 1, {"x": [1.0]}).end()
    values = field(1, 1) + field(2, field(2, field(1, 1 << 18))) + field(4, bytes(1 << 20))
    record = frame(field(2, 1) + field(5, field(1, field(1, b"x0") + field(8, values))))
    next((trial / "events").rglob("*.tfevents")).write_bytes(record)
    index = next((trial / "index").rglob("*.json"))
    said = json.loads(index.read_text())
    said["tensor_payload"] = [{"tensorname": "x%d" % i, "start_idx": 0, "length": len(record)} for i in range(6000)]
    index.write_text(json.dumps(said))
    beyond = w.folder / "beyond"  # a row far behind the end of the file buys nothing
    shutil.copytree(trial, beyond)
    said["tensor_payload"].append({"tensorname": "y", "start_idx": 1 << 40, "length": 1 << 30})
    (beyond / index.relative_to(trial)).write_text(json.dumps(said))
    views = w.folder / "views"
    views.mkdir()
    torch.save({"w%02d" % i: torch.ones(1).expand(4000, 4000) for i in range(64)}, views / "step_1.pt")
    for trial, left, read in ((trial, "3139", None), (beyond, "3139", None), (views, "63", {"w00"})):
        report, code = w.reports(trial)
        found = [p for p in problems(report) if p["kind"] == "work-budget"]
        w.expect(code in (1, 3) and len(found) == 1 and left in found[0]["text"], "%s: exit %s, %s" % (trial.name, code, found))
        table = w.folder / "stats.csv"
        done = w.run("stats", trial, "--quiet", "-o", table)
        w.expect(not done.hung, "%s: stats: %s" % (trial.name, done))
        if read is not None:
            found = set(re.findall(r"\bw\d\d\b", table.read_text()))
            w.expect(found == read, "%s: what is read: %s" % (trial.name, found))


@case
def short_records_for_many_elements(w):
    """A record of some bytes does not stand for a tensor that takes seconds."""
    tensor = field(1, 9) + field(2, field(2, field(1, 30000000))) + field(10, b"\x07")
    payload = field(2, 1) + field(5, field(1, field(1, b"x") + field(8, tensor)))
    trial = Made(w.folder / "t", 1).step(1, "TRAIN", 1, {"worker_0": {"x": [1.0]}}).end()
    path = next((trial / "events").rglob("*.tfevents"))
    path.write_bytes(frame(payload))
    index = next((trial / "index").rglob("*.json"))
    index.write_text(re.sub(r'"length": \d+', '"length": %d' % path.stat().st_size, index.read_text()))
    report, code = w.reports(trial)
    w.expect(code in (1, 3) and any("stands for too many" in p["text"] for p in problems(report)), "exit %s, %s" % (code, problems(report)))


@case
def more_labels_than_memory(w):
    """Counts and rows of data that are no classes take their share of --memory, and then their rule is an Error that says so."""
    if w.args.sanitized:
        return  # a sanitizer's memory is not the program's, and it takes a minute
    made, count = Made(w.folder / "t", 1), 60000
    for step in range(6):
        order = numpy.random.default_rng(step)
        made.step(step, "TRAIN", step, {"worker_0": {"labels": step * count + order.permutation(count),
                                                     "predictions": order.permutation(count)}})
    report, code = w.reports(made.end(), "--memory", "64M", "--reports", "json,text")
    found = {r["rule"]: r["message"] for r in report["trials"][0]["rules"] if r["status"] == "Error"}
    found.update({a["kind"]: a["error"] for a in report["trials"][0]["aggregations"] if "error" in a})
    w.expect(code == 0 and set(found) == {"ClassImbalance", "class_counts", "confusion"}, "exit %s, %s" % (code, found))
    w.expect(all("give more --memory" in text for text in found.values()), found)
    for ranks in w.args.ranks:
        files = {p.name: p.stat().st_size for p in (w.folder / ("out-%d" % ranks)).iterdir()}
        peak = json.loads((w.folder / ("out-%d" % ranks) / "report.json").read_text())["run"]["peak_memory"]
        w.expect(max(files.values()) < 1 << 20 and peak < 90 << 20, "%d ranks: %s, %d bytes resident" % (ranks, files, peak))


@case
def bytes_without_checksum(w):
    """What the reference's hook writes has none: that is said once, the same at any number of ranks; packing gives it one."""
    trial = w.trial()
    w.reports(trial)
    reports = [json.loads((w.folder / ("out-%d" % n) / "report.json").read_text()) for n in w.args.ranks]
    counts = {r["run"]["bytes_without_checksum"] for r in reports}
    w.expect(len(counts) == 1 and 1 << 20 < counts.pop() <= reports[0]["run"]["bytes_read"], [r["run"] for r in reports])
    text = (w.folder / "out-1" / "report.txt").read_text()
    w.expect(text.count("have no checksum; `assay pack` gives them one.") == 1, text[-400:])
    packed = Path(__file__).resolve().parents[1] / "data" / "packed" / "small.h5"
    done = w.run("run", packed, "--quiet", "--out", w.folder / "out")
    figures = json.loads((w.folder / "out" / "report.json").read_text())
    w.expect(figures["run"]["bytes_without_checksum"] == 0 and "no checksum" not in done.out, done)


if __name__ == "__main__":
    main()
