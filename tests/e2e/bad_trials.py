#!/usr/bin/env python3
"""Damaged trials: each damage is named with its file and place, all else is analysed, and the report has the same bytes on one
rank and on three. Nothing crashes.

    bad_trials.py --assay PROGRAM [--ranks 1 3] [--only NAME]
"""
import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, mpirun, run  # noqa: E402
from records import TAG, TENSOR, Part, field, fields, inside, join, varint  # noqa: E402
from reports import body_of  # noqa: E402

SOURCE = "ddp_partial"
STEP, WORKER = 20, "worker_1"
NAME = "ConvNet_fc1.weight"
JOB = {"rules": [{"name": "every record", "rule": "AllZero", "parameters": {"tensor_regex": ".*"}}]}
CASES = {}  # name: function(trial folder) -> what is expected


class Expect:
    """What a run on a damaged trial gives: exit code, records lost, and a problem of that kind in that file."""

    def __init__(self, code=3, kind=None, file=None, offset=None, lost=0, text="", message=None, report=True):
        self.code, self.kind, self.file, self.offset = code, kind, file, offset
        self.lost, self.text, self.message, self.report = lost, text, message, report


def case(function):
    CASES[function.__name__] = function
    return function


def part(trial):
    return Part(trial, STEP, WORKER)


# ---- the trial as a whole

@case
def no_such_directory(trial):
    shutil.rmtree(trial)
    return Expect(code=2, report=False, message="no such directory")


@case
def not_a_trial(trial):
    shutil.rmtree(trial)
    trial.mkdir()
    (trial / "notes.txt").write_text("nothing")
    return Expect(code=2, report=False, message="trial")


@case
def a_file_instead_of_a_trial(trial):
    shutil.rmtree(trial)
    trial.write_text("nothing")
    return Expect(code=2, report=False, message="trial: no line of it has a step and a loss")


@case
def empty_trial(trial):
    for folder in ("index", "events", "collections"):
        shutil.rmtree(trial / folder)
        (trial / folder).mkdir()
    return Expect(code=1, kind="empty-trial", lost=None)  # nothing was tested


# ---- index files

def broken_index(trial, text):
    p = part(trial)
    p.write_index(text)
    return Expect(kind="damaged-index", file=p.index_name, lost=len(p.entries))


@case
def index_cut(trial):
    return broken_index(trial, json.dumps(part(trial).index)[:700])


@case
def index_empty_file(trial):
    return broken_index(trial, "")


@case
def index_binary(trial):
    return broken_index(trial, bytes(range(256)))


@case
def index_is_a_list(trial):
    return broken_index(trial, "[1, 2, 3]")


@case
def index_deep(trial):
    return broken_index(trial, "[" * 100000)


@case
def index_meta_wrong_type(trial):
    p = part(trial)
    p.index["meta"]["mode_step"] = "ten"
    return broken_index(trial, json.dumps(p.index))


@case
def index_payload_wrong_type(trial):
    p = part(trial)
    p.index["tensor_payload"] = {"tensorname": 1}
    return broken_index(trial, json.dumps(p.index))


def bad_entry(trial, **changes):
    p = part(trial)
    p.entry(NAME).update(changes)
    p.write_index()
    return Expect(kind="damaged-index", file=p.index_name, lost=1)


@case
def offset_negative(trial):
    return bad_entry(trial, start_idx=-5)


@case
def length_negative(trial):
    return bad_entry(trial, length=-1)


@case
def offset_text(trial):
    return bad_entry(trial, start_idx="0")


@case
def offset_huge(trial):
    return bad_entry(trial, start_idx=10 ** 30)


@case
def range_overflows(trial):
    return bad_entry(trial, start_idx=2 ** 63 - 1, length=2 ** 62)


@case
def offset_past_the_end(trial):
    p = part(trial)
    p.entry(NAME)["start_idx"] = len(p.events) + 1000
    p.write_index()
    return Expect(kind="damaged-record", file=p.event_name, offset=len(p.events) + 1000, lost=1)


@case
def length_past_the_end(trial):
    p = part(trial)
    entry = p.entry(NAME)
    entry["length"] = len(p.events)
    p.write_index()
    return Expect(kind="damaged-record", file=p.event_name, offset=entry["start_idx"], lost=1)


@case
def entry_without_name(trial):
    p = part(trial)
    del p.entry(NAME)["tensorname"]
    p.write_index()
    return Expect(kind="damaged-index", file=p.index_name, lost=1)


@case
def event_name_leaves_the_trial(trial):
    p = part(trial)
    p.index["meta"]["event_file_name"] = "../../etc/passwd"
    p.write_index()
    return Expect(kind="damaged-index", file=p.index_name, lost=len(p.entries))


@case
def index_without_event_file(trial):
    p = part(trial)
    (trial / p.event_name).unlink()
    return Expect(kind="missing-event-file", file=p.event_name, lost=len(p.entries))


@case
def step_twice(trial):
    p = part(trial)
    other = trial / "index" / "000000001"
    other.mkdir()
    shutil.copy(trial / p.index_name, other)
    return Expect(kind="duplicate-step", file=r"index/00000000[01]/%012d_%s\.json" % (STEP, WORKER))


def begun(trial, ended=False, behind=True, file="%012d_worker_0.tfevents.tmp"):
    """A step that has no index yet: of a training that is still running as they mostly are when somebody looks."""
    end = trial / "training_job_end.ts"
    end.write_text("") if ended else end.unlink(missing_ok=True)
    step = max(int(folder.name) for folder in (trial / "events").iterdir()) + 1 if behind else STEP + 1
    folder = trial / "events" / ("%012d" % step)
    folder.mkdir()
    (folder / (file % step)).write_bytes(b"not yet")
    return r"events/%012d" % step


@case
def step_that_is_being_written(trial):
    return Expect(code=0, kind="unread-events", file=begun(trial), lost=0)


@case
def step_that_was_never_finished(trial):
    return Expect(kind="events-without-index", file=begun(trial, ended=True), lost=0)


@case
def step_in_the_middle_that_was_never_finished(trial):
    return Expect(kind="events-without-index", file=begun(trial, behind=False), lost=0)


@case
def last_step_without_its_index(trial):
    return Expect(kind="events-without-index", file=begun(trial, file="%012d_worker_0.tfevents"), lost=0)


@case
def events_without_index(trial):
    p = part(trial)
    for name in (trial / "index").glob("*/%012d_*.json" % STEP):
        name.unlink()
    return Expect(kind="events-without-index", file=r"events/%012d.*" % STEP, lost=3 * len(p.entries))


# ---- event files

@case
def event_file_cut_in_a_record(trial):
    p = part(trial)
    entry = p.entry(NAME)
    cut = entry["start_idx"] + entry["length"] // 2
    p.write_events(p.events[:cut])
    lost = [e for e in p.entries if e["start_idx"] + e["length"] > cut]
    return Expect(kind="damaged-record", file=p.event_name, offset=entry["start_idx"], lost=len(lost))


@case
def event_file_empty(trial):
    p = part(trial)
    p.write_events(b"")
    return Expect(kind="damaged-record", file=p.event_name, lost=len(p.entries))


def flip(trial, place):
    """One bit of the record of NAME; place is counted from its start, or from its end when negative."""
    p = part(trial)
    entry = p.entry(NAME)
    data = bytearray(p.events)
    data[entry["start_idx"] + place if place >= 0 else entry["start_idx"] + entry["length"] + place] ^= 4
    p.write_events(bytes(data))
    return Expect(kind="damaged-record", file=p.event_name, offset=entry["start_idx"], lost=1)


@case
def flip_length(trial):
    return flip(trial, 1)


@case
def flip_length_crc(trial):
    return flip(trial, 9)


@case
def flip_footer(trial):
    return flip(trial, -2)


@case
def flip_payload_of_a_true_checksum(trial):
    p = part(trial)
    p.replace(NAME, lambda payload: payload, true_crc=True)
    return flip(trial, p.entry(NAME)["length"] // 2)


@case
def flip_payload_structure(trial):
    """The checksum is the constant, so only the protobuf grammar can tell: the key of the first field."""
    return flip(trial, 12)


# ---- protobuf and tensors

def other_payload(trial, change, lost=1):
    p = part(trial)
    offset = p.replace(NAME, change)
    return Expect(kind="damaged-record", file=p.event_name, offset=offset, lost=lost)


def other_tensor(trial, change):
    """`change` gets the fields of the TensorProto as a list and returns them."""
    return other_payload(trial, lambda payload: inside(payload, TENSOR, lambda t: join(change(fields(t)))))


@case
def protobuf_huge_length(trial):
    return other_payload(trial, lambda payload: payload[:9] + varint(5 << 3 | 2) + varint(2 ** 63))


@case
def protobuf_endless_varint(trial):
    return other_payload(trial, lambda payload: payload[:9] + b"\xff" * 30)


@case
def protobuf_wrong_wire_type(trial):
    return other_payload(trial, lambda payload: payload[:9] + field(5, 7))


@case
def protobuf_group(trial):
    return other_payload(trial, lambda payload: payload[:9] + varint(5 << 3 | 3) + payload[9:])


@case
def protobuf_deep(trial):
    def nest(payload):
        deep = b""
        for _ in range(5000):
            deep = field(5, deep)
        return payload[:9] + deep
    return other_payload(trial, nest)


@case
def payload_empty(trial):
    return other_payload(trial, lambda payload: b"")


@case
def payload_random(trial):
    return other_payload(trial, lambda payload: bytes((i * 7919 + 13) % 251 for i in range(len(payload))))


def with_shape(*extents):
    shape = b"".join(field(2, field(1, e & (2 ** 64 - 1))) for e in extents)
    return lambda list_: [(n, w, shape if n == 2 else v) for n, w, v in list_]


@case
def shape_does_not_fit(trial):
    return other_tensor(trial, with_shape(24, 97))


@case
def shape_overflows(trial):
    return other_tensor(trial, with_shape(2 ** 32, 2 ** 32, 2 ** 32))


@case
def shape_negative(trial):
    return other_tensor(trial, with_shape(-24, 96))


@case
def shape_of_many_dimensions(trial):
    return other_tensor(trial, with_shape(*[1] * 1000))


@case
def dtype_unknown(trial):
    return other_tensor(trial, lambda list_: [(n, w, 99 if n == 1 else v) for n, w, v in list_])


@case
def content_missing(trial):
    return other_tensor(trial, lambda list_: [f for f in list_ if f[0] != 4])


@case
def name_with_newline(trial):
    """No damage: the tensor is analysed under its name, and the report escapes it."""
    name = "line\nbreak\x1b[31m"
    p = part(trial)
    p.replace(NAME, lambda payload: inside(payload, TAG, lambda tag: name.encode()), name=name)
    return Expect(code=0, kind=None)


@case
def name_not_utf8(trial):
    p = part(trial)
    p.replace(NAME, lambda payload: inside(payload, TAG, lambda tag: b"caf\xe9"), name="CAFE")
    text = json.dumps(p.index).encode().replace(b"CAFE", b"caf\xe9")
    p.write_index(text)
    return Expect(code=None, kind=None, lost=None)


# ---- collections

@case
def collections_missing(trial):
    shutil.rmtree(trial / "collections")
    return Expect(code=None, kind="damaged-collections")


@case
def collections_cut(trial):
    name = "collections/000000000/worker_1_collections.json"
    (trial / name).write_text((trial / name).read_text()[:500])
    return Expect(kind="damaged-collections", file=name)


@case
def collections_bad_regex(trial):
    for path in (trial / "collections").glob("*/*.json"):
        content = json.loads(path.read_text())
        content["collections"]["weights"]["include_regex"] = ["(unclosed"]
        path.write_text(json.dumps(content))
    return Expect(kind="damaged-collections", text="unclosed")


@case
def collections_huge_num_workers(trial):
    for path in (trial / "collections").glob("*/*.json"):
        content = json.loads(path.read_text())
        content["_meta"]["num_workers"] = 2 ** 31
        path.write_text(json.dumps(content))
    return Expect(code=None, kind="damaged-collections", text="num_workers")


@case
def foreign_files(trial):
    (trial / "index" / "000000000" / "README").write_text("hello")
    return Expect(code=0, kind="foreign-file", file="index/000000000/README")


# ---- running

def problem_fits(problem, expect):
    return (problem["kind"] == expect.kind and (expect.file is None or re.fullmatch(expect.file, problem["file"])) and
            (expect.offset is None or problem["offset"] == expect.offset) and expect.text in problem["text"])


def check_report(checks, name, report, expect, datapoints):
    trial = json.loads(report)["trials"][0]
    problems = trial["problems"]
    found = any(problem_fits(p, expect) for p in problems)
    if expect.kind:
        checks.expect(found, "%s: no problem %s %s %s among %s" % (
            name, expect.kind, expect.file, expect.offset, json.dumps(problems)[:1500]))
    elif expect.code == 0:
        checks.expect(not problems, "%s: problems where there are none: %s" % (name, problems[:3]))
    if expect.lost is not None:
        checks.expect(trial["rules"][0]["datapoints"] == datapoints - expect.lost, "%s: %d datapoints, not %d - %d" % (
            name, trial["rules"][0]["datapoints"], datapoints, expect.lost))
    codes = {3} if any(p["kind"] != "foreign-file" for p in problems) else {0}
    return {expect.code} if expect.code is not None else codes


def check_case(checks, assay, name, where, ranks, datapoints):
    trial = where / "trial"
    shutil.copytree(TRIALS / SOURCE, trial)
    for path in [trial, *trial.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    expect = CASES[name](trial)
    (where / "job.json").write_text(json.dumps(JOB))
    bodies = []
    for n in ranks:
        out = where / ("out-%d" % n)
        command = [assay, "run", where / "job.json", "--trial", trial, "--out", out]
        done = run(command, timeout=60) if n == 1 else mpirun(n, command, timeout=60)
        title = "%s on %d ranks" % (name, n)
        codes = {expect.code}
        if expect.report and checks.expect((out / "report.json").exists(), "%s: no report: %s" % (title, done)):
            report = (out / "report.json").read_bytes()
            codes = check_report(checks, title, report, expect, datapoints)
            bodies.append(body_of(report))
        elif not expect.report:
            checks.expect(not (out / "report.json").exists(), "%s: there is a report" % title)
        checks.expect(not done.hung and done.code in codes, "%s: expected exit %s: %s" % (title, codes, done))
        if expect.message:
            checks.expect(expect.message in done.err and str(trial) in done.err, "%s: message: %s" % (title, done.err))
        checks.expect("\x1b" not in done.out, "%s: a control character on standard output" % title)
    checks.expect(len(set(bodies)) <= 1, "%s: the report depends on the number of ranks" % name)


def whole(assay, where):
    """Datapoints of the trial as it was."""
    (where / "job.json").write_text(json.dumps(JOB))
    run([assay, "run", where / "job.json", "--trial", TRIALS / SOURCE, "--out", where / "out"])
    return json.loads((where / "out" / "report.json").read_text())["trials"][0]["rules"][0]["datapoints"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--only")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        datapoints = whole(args.assay, Path(folder))
    for name in CASES:
        if args.only and args.only != name:
            continue
        failed = checks.failed
        with tempfile.TemporaryDirectory() as folder:
            check_case(checks, args.assay, name, Path(folder), args.ranks, datapoints)
        print("%-34s %s" % (name, "ok" if checks.failed == failed else "FAILED"), flush=True)
    checks.done()


if __name__ == "__main__":
    main()
