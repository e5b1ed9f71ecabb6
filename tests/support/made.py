"""made.py - writes small trials whose answers are known, as the recording library writes them."""
import json
import os
import struct
from pathlib import Path

import numpy

from records import field, frame, varint

DTYPES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int64": 9, "bool": 10, "float16": 19}
MODES = {"TRAIN": b"1", "EVAL": b"2", "PREDICT": b"3", "GLOBAL": b"4"}


class Typed:
    """Whole numbers below 128, `count` of them, in int64_val instead of tensor_content: a byte each there, eight when decoded."""

    def __init__(self, count, number):
        self.count, self.number = count, number


def tensor_message(value):
    if isinstance(value, Typed):
        return field(1, DTYPES["int64"]) + field(2, field(2, field(1, value.count))) + field(10, bytes([value.number]) * value.count)
    if isinstance(value, list) and value and isinstance(value[0], str):
        shape = field(2, field(1, len(value)))
        return field(1, 7) + field(2, shape) + b"".join(field(8, text.encode()) for text in value)
    array = numpy.asarray(value)
    shape = b"".join(field(2, field(1, int(size))) for size in array.shape)
    return field(1, DTYPES[str(array.dtype)]) + field(2, shape) + field(4, array.tobytes())


def event(step, mode, mode_step, name, value, wall_time):
    def plugin(key, content):
        return field(1, field(1, key) + field(2, content))

    metadata = plugin(b"mode_step", str(mode_step).encode()) + plugin(b"mode", MODES[mode])
    one = field(1, os.fsencode(name)) + field(8, tensor_message(value)) + field(9, metadata)
    return varint(1 << 3 | 1) + struct.pack("<d", wall_time) + field(2, step) + field(5, field(1, one))


def json_bytes(value):
    """JSON as bytes; a text that came from bytes that are no UTF-8 (surrogateescape) becomes those bytes again."""
    return os.fsencode(json.dumps(value, ensure_ascii=False))


class Made:
    """Made(folder).step(7, "TRAIN", 5, {"worker_0": {"loss": 0.5}}) ... .end()

    `workers` is how many there are, or their names. Names may have bytes that are no UTF-8, as os.fsdecode() gives them."""

    def __init__(self, folder, workers=1, collections=None):
        self.folder = Path(folder)
        self.workers = ["worker_%d" % w for w in range(workers)] if isinstance(workers, int) else list(workers)
        named = {name: {"name": name, "include_regex": [regex], "tensor_names": []}
                 for name, regex in (collections or {}).items()}
        for worker in self.workers:
            self.put("collections/000000000/%s_collections.json" % worker,
                     json_bytes({"collections": named, "_meta": {"num_workers": len(self.workers)}}))

    def put(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def step(self, step, mode, mode_step, tensors, wall_time=None):
        """`tensors` by worker, or of the first worker alone; numbers are float64 unless they have a dtype."""
        if not set(tensors) <= set(self.workers):
            tensors = {self.workers[0]: tensors}
        for worker, saved in tensors.items():
            events, entries = b"", []
            for name, value in saved.items():
                record = frame(event(step, mode, mode_step, name, value,
                     1e9 + step if wall_time is None else wall_time))
                entries.append({"tensorname": name, "start_idx": len(events), "length": len(record)})
                events += record
            file = "events/%012d/%012d_%s.tfevents" % (step, step, worker)
            self.put(file, events)
            self.put("index/%09d/%012d_%s.json" % (step // 1000, step, worker), json_bytes(
                {"meta": {"mode": mode, "mode_step": mode_step, "event_file_name": file},
                 "tensor_payload": entries}))
        return self

    def end(self):
        self.put("training_job_end.ts", b"")
        return self.folder


def figures_of(name, values):
    """What the automatic hook keeps of a tensor, as records of a step."""
    x = numpy.asarray(values, "float64")
    told = {"min": x.min(), "max": x.max(), "mean": x.mean(), "std": x.std(), "l1": abs(x).sum(), "l2": (x * x).sum() ** 0.5,
            "abs_mean": abs(x).mean()}
    return {"smdebug/reductions/%s/%s" % (kind, name): numpy.float32(value) for kind, value in told.items()}


def windows(x, kernel, stride, padding, reduce, fill):
    """What a pooling makes of images [samples][channels][rows][columns], padded with `fill`."""
    padded = numpy.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=fill)
    views = numpy.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride]
    return reduce(views, (-2, -1))
