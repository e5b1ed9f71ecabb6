"""hostile.py - names that try to break out of the text around them, and a trial that has them.

    job = hostile.make(folder, ["csv", "junit"])       writes FOLDER/job.json and its two trials
    hostile.as_reported(name)                          what a form of the report calls it

Names come as os.fsdecode() gives them: bytes that are no UTF-8 are lone surrogates.
"""
import json
import os
from pathlib import Path

import numpy

from made import Made

LONG = "long, <b>" + "x" * 9983 + "|end</b>"  # 10 000 characters

# Valid UTF-8: such names can stand in a job file, and in every name of a trial.
TEXTS = [
    "<script>alert(1)</script>", "</script><script>alert(2)</script>", "</title><img src=x onerror=alert(3)>",
    "<!-- comment -->", "]]>", "<![CDATA[x]]>", "&amp; &lt;b&gt; &#60;i&#62;", "\" onmouseover=\"alert(4)", "' single '",
    "line\nbreak", "carriage\r\nreturn\rhere", "tab\there", "a|b", "a\\|b", "|---|", "`tick`", "``two`` ```three", "ends in `",
    "a,b;c", "=1+1", "+1", "-1", "@SUM(A1)", "\"quoted\"", "\"\"", "back\\slash\\n\\", "*bold* _under_ ~~struck~~",
    "[link](javascript:alert(5))", "![image](http://example.org/x.png)", "# heading", "- item", "> quote", "http://example.org/",
    "@everyone #1 GH-1", "\x1b[31mred\x07\x1b[0m", "\x01\x1f\x7f\x85\x9f", "\u202eright to left", "\u2028\u2029\ufeff\u200f",
    "\ufffe\uffff \U0001ffff", "\u00fcnicode \u65e5\u672c\u8a9e \U0001f600 e\u0301", " blanks  around ", "../../etc/passwd", "..",
    "CON", "%s%n%d", "${HOME} $(id) `id`", "{{7*7}}", "nan", "NULL", "true", "1e5", LONG,
]
# Bytes that are no UTF-8: overlong, cut short, a surrogate, beyond U+10FFFF, in the middle of a text.
RAW = [os.fsdecode(b) for b in (b"\xff\xfe", b"\xc0\xaf overlong", b"cut \xe2\x82", b"\xed\xa0\x80 surrogate",
                                b"\xf4\x90\x80\x80 beyond", b"a\x80b<\x80>")]
TENSORS = TEXTS + RAW
# Names of files: no slash, at most 255 bytes with what stands around them.
WORKERS = sorted({n for n in TENSORS if "/" not in n and n[0] != "_" and len(os.fsencode(n)) < 200} | {"w" * 200},
                 key=os.fsencode)
RULES = TEXTS
KINDS = [{"rule": "ExplodingTensor"}, {"rule": "AllZero", "parameters": {"tensor_regex": ".*"}}, 
         {"rule": "AllZero", "parameters": {"tensor_regex": "^predictions$", "start_step": 1, "worker": WORKERS[1]}},
         {"rule": "VanishingGradient"}]  # finds something, finds little, needs what is damaged, has nothing to test


def as_reported(name):
    """The name as valid UTF-8: each byte that belongs to no character becomes U+FFFD."""
    out, data = "", os.fsencode(name)
    while data:
        for length in range(1, 5):
            try:
                out, data = out + data[:length].decode(), data[length:]
                break
            except UnicodeDecodeError:
                pass
        else:
            out, data = out + "\ufffd", data[1:]
    return out


def steps():
    """[{worker: {tensor: values}}]: every tensor at two steps of one worker, with infinities at the second; a loss, labels and
    predictions of every worker, the last of which misses the second step."""
    labels = numpy.array([0, 1, 2, 2], "int64")
    found = []
    for step in range(2):
        found.append({worker: {"loss": numpy.float32(1 + w) / (1 + step), "labels": labels, "predictions": labels[::-1].copy()}
                      for w, worker in enumerate(WORKERS) if step == 0 or worker != WORKERS[-1]})
        for i, name in enumerate(TENSORS):
            found[step][WORKERS[0]][name] = numpy.array([i, step * numpy.inf if step else 1], "float64")
    return found


def values(second):
    """{(tensor, mode): {(step, mode_step): [values of each worker]}} of the first or the second trial that make() writes, without
    the record that it damages."""
    found = {}
    for step, tensors in enumerate([{"worker_0": {"loss": numpy.float64(1)}}] if second else steps()):
        for worker, saved in tensors.items():
            for name, value in saved.items():
                if second or (step, worker, name) != (1, WORKERS[1], "predictions"):
                    found.setdefault((name, "TRAIN"), {}).setdefault((step, step), []).append(value.astype("float64"))
    return found


def write_trial(folder):
    """What steps() has, every tensor a loss but the labels and predictions; and one record is damaged."""
    made = Made(folder, WORKERS, {"losses": "^(?!labels|predictions)"})
    for step, tensors in enumerate(steps()):
        made.step(step, "TRAIN", step, tensors)
    damaged = made.folder / ("events/%012d/%012d_%s.tfevents" % (1, 1, WORKERS[1]))
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    return made.end()


def make(folder, formats):
    """Writes two trials with hostile names and a job over them; returns the job's path."""
    folder = Path(folder)
    trials = [{"path": str(write_trial(folder / "trial")), "name": "".join(TEXTS[:4])}]
    second = Made(folder / "second", collections={"losses": "^loss$"}).step(0, "TRAIN", 0, {"loss": 1.0}).end()
    trials.append({"path": str(second), "name": LONG})
    rules = [{"rule": "ExplodingTensor"}]
    rules += [dict(KINDS[i % 4], name=name, severity=("info", "warning", "error")[i % 3]) for i, name in enumerate(RULES)]
    job = {"trials": trials, "rules": rules, "output": {"formats": ["json", "text"] + list(formats)},
           "aggregations": [{"name": "classes" + TEXTS[1], "kind": "class_counts", "labels": "labels"},
                            {"name": "matrix" + TEXTS[1], "kind": "confusion", "labels": "labels",
                             "predictions": "predictions"}]}
    path = folder / "job.json"
    path.write_bytes(json.dumps(job).encode())
    return path
