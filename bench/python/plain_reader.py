"""plain_reader.py - a trial read by Python and numpy alone (docs/format.md), for read_all.py: what speed is measured against.

It keeps an open trial's index in dictionaries, reads a record with one seek, walks its protobuf fields, and makes the array from the
bytes without a copy. It checks nothing: neither checksums nor names.
"""
import enum
import glob
import json
import os
import struct

import numpy

DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", 19: "<f2"}


class modes(enum.Enum):
    TRAIN = 1
    EVAL = 2


def number(data, at):
    """A varint, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data, at, end):
    """(field, value or (begin, end)) of each field of a message."""
    while at < end:
        key, at = number(data, at)
        kind = key & 7
        if kind == 0:
            value, at = number(data, at)
        elif kind == 2:
            size, at = number(data, at)
            value, at = (at, at + size), at + size
        else:
            size = 8 if kind == 1 else 4
            value, at = (at, at + size), at + size
        yield key >> 3, value


def inside(data, place, wanted):
    return next(value for field, value in fields(data, *place) if field == wanted)


def array_of(data):
    """The tensor of a record: a frame of an Event of a Summary of a Value."""
    size = struct.unpack_from("<Q", data)[0]
    value = inside(data, inside(data, (12, 12 + size), 5), 1)
    dtype, shape, content = 0, [], None
    for field, found in fields(data, *inside(data, value, 8)):
        if field == 1:
            dtype = found
        elif field == 2:
            shape = [next((extent for key, extent in fields(data, *dim) if key == 1), 0) for _, dim in fields(data, *found)]
        elif field == 4:
            content = found
    dtype = numpy.dtype(DTYPES[dtype])
    return numpy.frombuffer(data, dtype, (content[1] - content[0]) // dtype.itemsize, content[0]).reshape(shape)


class Tensor:
    def __init__(self, root):
        self.root, self.places = root, {mode: {} for mode in modes}

    def steps(self, mode):
        return sorted(self.places[mode])

    def workers(self, step, mode):
        return sorted(self.places[mode][step])

    def value(self, step, mode, worker):
        path, offset, length = self.places[mode][step][worker]
        with open(os.path.join(self.root, path), "rb") as file:
            file.seek(offset)
            return array_of(file.read(length))


class Trial:
    def __init__(self, root):
        self.tensors = {}
        for path in sorted(glob.glob(os.path.join(root, "index", "*", "*.json"))):
            with open(path) as file:
                index = json.load(file)
            worker = os.path.basename(path)[13:-5]
            mode, step = modes[index["meta"]["mode"]], index["meta"]["mode_step"]
            for entry in index.get("tensor_payload", ()):
                tensor = self.tensors.setdefault(entry["tensorname"], Tensor(root))
                place = (index["meta"]["event_file_name"], entry["start_idx"], entry["length"])
                tensor.places[mode].setdefault(step, {})[worker] = place

    def tensor_names(self):
        return sorted(self.tensors)

    def tensor(self, name):
        return self.tensors[name]


create_trial = Trial
