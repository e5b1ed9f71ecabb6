"""recorded.py - trainings recorded through our binding against what the reference recorded of the same trainings.

Usage: recorded.py TRAINING WORK_DIR [ASSAY]
Same steps, modes, workers, collections, tensor names, shapes and dtypes, and every figure of every tensor. The file
<training>.values.json holds what the reference library read from its own trial. With ASSAY, also the same verdicts.
"""
import json
import math
import os
import re
import shutil
import subprocess
import sys

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
import records  # noqa: E402
import tfevents  # noqa: E402

# The training is run anew, in float32, and another BLAS or vector unit rounds otherwise: within these trainings that grows to some
# 1e-5 of a tensor's size. The reference's reductions are sums in float32 besides, ours are taken in double. That the hook itself
# keeps every value exactly, and reductions to 1e-6, is for options.py.
TOLERANCE = 1e-4
# Verdicts are about differences of losses, in which fewer digits remain; which steps and tensors fire is compared exactly.
VERDICTS = "1e-2"
PREFIX = "smdebug/reductions/"


def data_file(name):
    found = [p for p in (os.path.join(DATA, folder, name) for folder in ("trials", "hook")) if os.path.exists(p)]
    if not found:
        raise SystemExit("there is no %s below %s" % (name, DATA))
    return found[0]


def figures(array):
    """The figures of values.json, in float64."""
    x = array.astype(numpy.float64).reshape(-1)
    with numpy.errstate(all="ignore"):
        return {"nan": int(numpy.isnan(x).sum()), "inf": int(numpy.isinf(x).sum()), "zero": int((x == 0).sum()),
                "min": x.min(), "max": x.max(), "mean": x.mean(), "sum": x.sum(), "std": x.std(),
                "abs_mean": numpy.abs(x).mean(), "l1": numpy.abs(x).sum(), "l2": math.sqrt((x * x).sum())}


def close(got, wanted, scale):
    """Within TOLERANCE of the tensor's own size: a sum that nearly cancels has no digits of its own."""
    wanted = float(wanted)
    if math.isnan(wanted) or math.isinf(wanted):
        return str(got) == str(wanted)
    return abs(got - wanted) <= TOLERANCE * max(abs(wanted), scale)


def compare_reductions(name, where, step, wanted, complain):
    prefixes = {r: "%s%s/%s" % (PREFIX, r, name) for r in wanted}
    for reduction, tag in prefixes.items():
        if tag not in step.tensors:
            complain("%s: %s is missing" % (where, reduction))
            continue
        got = step.tensors[tag][1]
        value, expected = float(got), float(wanted[reduction])
        size = abs(float(wanted[{"sum": "l1", "mean": "abs_mean"}.get(reduction, reduction)]))
        if got.shape != () or not close(value, expected, size):
            complain("%s: %s is %r instead of %r" % (where, reduction, value, expected))


def compare_tensor(name, where, step, entry, complain):
    if "reductions" in entry:
        compare_reductions(name, where, step, entry["reductions"], complain)
    if "dtype" not in entry:
        return True
    if name not in step.tensors:
        complain("%s: is missing" % where)
        return False
    _, array = step.tensors[name]
    if entry["dtype"] != str(array.dtype) or entry["shape"] != list(array.shape):
        complain("%s: %s%s instead of %s%s" % (where, array.dtype, array.shape, entry["dtype"], entry["shape"]))
    got = figures(array)
    for key in ("nan", "inf"):
        if got[key] != entry[key]:
            complain("%s: %d %s instead of %d" % (where, got[key], key, entry[key]))
    finite = numpy.abs(array[numpy.isfinite(array)].astype(numpy.float64))
    scale = float(finite.max()) if finite.size else 0.0
    for key, value in got.items():
        size = scale * array.size if key in ("sum", "l1") else scale
        if key not in ("nan", "inf", "zero") and not close(value, entry[key], size):
            complain("%s: %s is %r instead of %r" % (where, key, float(value), entry[key]))
    return True


def compare(trial, expected, complain):
    if trial.workers() != sorted(expected["workers"]):
        complain("workers %s" % trial.workers())
    for mode in ("TRAIN", "EVAL"):
        steps = sorted({s.mode_step for s in trial.steps.values() if s.mode == mode})
        if steps != expected["steps"].get(mode, []):
            complain("%s steps %s instead of %s" % (mode, steps, expected["steps"].get(mode)))
    if sorted({step for step, _ in trial.steps}) != expected["steps"]["GLOBAL"]:
        complain("global steps %s" % sorted({step for step, _ in trial.steps}))
    by_mode = {(s.mode, s.mode_step, s.worker): s for s in trial.steps.values()}
    compared, seen = 0, set()
    for name, entries in expected["tensors"].items():
        for entry in entries:
            step = by_mode.get((entry["mode"], entry["step"], entry["worker"]))
            where = "%s at %s %s of %s" % (name, entry["mode"], entry["step"], entry["worker"])
            if step is None:
                complain("%s: no such step" % where)
                continue
            seen.add((name, entry["mode"], entry["step"], entry["worker"]))
            compared += compare_tensor(name, where, step, entry, complain)
    for (mode, mode_step, worker), step in by_mode.items():
        for tag in step.tensors:
            name = tag.split("/", 3)[3] if tag.startswith(PREFIX) else tag
            if (name, mode, mode_step, worker) not in seen:
                complain("%s at %s %d of %s is not in the reference's trial" % (name, mode, mode_step, worker))
    return compared


def compare_collections(trial, reference, complain):
    """Collections files against the reference's own ones, where they are at hand, else against values.json."""
    for worker, got in trial.collections.items():
        wanted = reference.get(worker)
        if wanted is None:
            complain("%s has a collections file that the reference has not" % worker)
        elif got["_meta"] != wanted["_meta"]:
            complain("%s: %s" % (worker, got["_meta"]))
        else:
            for name in set(got["collections"]) | set(wanted["collections"]):
                if got["collections"].get(name) != wanted["collections"].get(name):
                    complain("%s: collection %s is %s instead of %s" % (worker, name, got["collections"].get(name),
                                                                        wanted["collections"].get(name)))


def blank(path, data):
    """The bytes of an event file without what may differ from run to run: wall times, contents and checksums."""
    made = bytearray(data)
    for at, length, payload, _ in tfevents.records(data, path, check=False):
        made[at + 13:at + 21] = bytes(8)
        made[at + length - 4:at + length] = bytes(4)
        content = tfevents.Event.FromString(payload).summary.value[0].tensor.tensor_content
        if content:
            start = at + 12 + payload.index(content)
            made[start:start + len(content)] = bytes(len(content))
    return bytes(made)


def unsealed(data):
    """An index file's bytes without the checksum at its end, which the reference does not write."""
    bare, sealed = re.subn(rb', "crc32c": "[0-9a-f]{8}"\}$', b"}", data)
    assert sealed == 1, data[-40:]
    return bare


def unsigned(index, data, worker, path):
    """Index and events without the worker that ours has in each record (node_name), which the reference does not write."""
    made, places = b"", []
    for _, _, payload, _ in tfevents.records(data, path, check=False):
        signed = dict((number, value) for number, _, value in records.fields(summary_value(payload)))
        assert signed[7] == worker.encode(), signed[7]
        record = records.frame(records.inside(payload, (5, 1), lambda value: records.join(f for f in records.fields(value) if f[0] != 7)))
        places.append(b'"start_idx": %d, "length": %d' % (len(made), len(record)))
        made += record
    place = iter(places)
    return re.sub(rb'"start_idx": \d+, "length": \d+', lambda _: next(place), index), made


def summary_value(payload):
    found = []
    records.inside(payload, (5, 1), lambda value: found.append(value) or value)
    return found[0]


def compare_bytes(out, reference, complain):
    """Index files byte for byte but for their checksums, event files but for what blank() leaves out, and both but for the worker in
    each record."""
    for folder, _, files in os.walk(os.path.join(reference, "index")):
        for file in files:
            theirs = os.path.join(folder, file)
            ours = os.path.join(out, os.path.relpath(theirs, reference))
            with open(theirs, "rb") as a, open(ours, "rb") as b:
                text, index = a.read(), unsealed(b.read())
            name = json.loads(text)["meta"]["event_file_name"]
            with open(os.path.join(reference, name), "rb") as a, open(os.path.join(out, name), "rb") as b:
                index, events = unsigned(index, b.read(), file[13:-5], name)
                if blank(name, a.read()) != blank(name, events):
                    complain("%s differs from the reference's" % name)
            if text != index:
                complain("%s differs from the reference's" % ours)


def verdicts(assay, trial, out):
    subprocess.run([assay, "run", os.path.join(DATA, "trials", "suite.json"), "--trial", "trial=" + trial, "--out", out,
                    "--max-findings", "2000", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(out, "report.json")


def compare_verdicts(assay, name, out, reference, complain):
    """Against the expected verdicts; of a trial of reductions against those on the reference's own trial, because the
    expected ones were computed without the raw losses that it holds too."""
    report, expected = verdicts(assay, out, out + ".report"), None
    if name == "reductions":
        with open(verdicts(assay, reference, out + ".reference")) as file:
            theirs = json.load(file)["trials"][0]
        expected = out + ".expected.json"
        with open(expected, "w") as file:
            json.dump({"rules": {r["name"]: dict(r, findings=r.get("findings", [])) for r in theirs["rules"]},
                       "aggregations": {a["name"]: a for a in theirs["aggregations"]}}, file)
    compared = subprocess.run([sys.executable, os.path.join(HERE, "..", "e2e", "compare_rules.py"), report,
                               expected or data_file(name + ".rules.json"), "--relative", VERDICTS],
                              stdout=subprocess.PIPE, text=True)
    print(compared.stdout, end="")
    if compared.returncode:
        complain("the verdicts differ")


def main():
    name, work = sys.argv[1], sys.argv[2]
    problems = []
    out = os.path.join(work, name)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(work, exist_ok=True)
    if os.path.exists(out + ".store"):
        os.remove(out + ".store")
    subprocess.run([sys.executable, os.path.join(HERE, "trainings.py"), out, name], check=True)
    trial = tfevents.Trial(out)
    with open(data_file(name + ".values.json")) as file:
        expected = json.load(file)
    compared = compare(trial, expected, problems.append)
    reference = os.path.join(DATA, "trials", name)
    if os.path.isdir(reference):
        known = tfevents.Trial(reference, check=False)
        compare_bytes(out, reference, problems.append)
        compare_collections(trial, known.collections, problems.append)
        for key, step in known.steps.items():
            if key in trial.steps and trial.steps[key].shapes != step.shapes:
                problems.append("shapes of step %s" % (key,))
            if key in trial.steps and list(trial.steps[key].tensors) != list(step.tensors):
                problems.append("order of the tensors of step %s" % (key,))
    else:
        collections = {c: v["tensor_names"] for c, v in trial.collections["worker_0"]["collections"].items()}
        if collections != expected["collections"]:
            problems.append("collections %s" % collections)
    if {kind for s in trial.steps.values() for kind in s.checksums} != {"constant"} or not trial.ended:
        problems.append("checksums or end marker")
    if len(sys.argv) > 3:
        compare_verdicts(sys.argv[3], name, out, reference, problems.append)
    for problem in problems[:20]:
        print(problem)
    print("%s: %d tensors compared, %d differences" % (name, compared, len(problems)))
    sys.exit(1 if problems or not compared else 0)


if __name__ == "__main__":
    main()
