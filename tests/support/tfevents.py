"""tfevents - reads a trial's files by means that share nothing with assay: python3-protobuf with the messages of the
format, CRC-32C from its polynomial, json and numpy."""
import glob
import json
import os
import struct

import numpy
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

CONSTANT = b"0x12345678"  # what the reference takes the checksum of, whatever the payload
_F = descriptor_pb2.FieldDescriptorProto
_MESSAGES = {
    # message: [(number, name, type or message, repeated)]
    "Event": [(1, "wall_time", _F.TYPE_DOUBLE, False), (2, "step", _F.TYPE_INT64, False),
              (3, "file_version", _F.TYPE_STRING, False), (5, "summary", "Summary", False)],
    "Summary": [(1, "value", "Value", True)],
    "Value": [(1, "tag", _F.TYPE_STRING, False), (2, "simple_value", _F.TYPE_FLOAT, False),
              (5, "histo", "Histogram", False), (7, "node_name", _F.TYPE_STRING, False),
              (8, "tensor", "Tensor", False), (9, "metadata", "Metadata", False)],
    "Metadata": [(1, "plugin_data", "Plugin", True)],
    "Plugin": [(1, "plugin_name", _F.TYPE_STRING, False), (2, "content", _F.TYPE_STRING, False)],
    "Tensor": [(1, "dtype", _F.TYPE_INT32, False), (2, "tensor_shape", "Shape", False),
               (4, "tensor_content", _F.TYPE_BYTES, False), (8, "string_val", _F.TYPE_BYTES, True)],
    "Shape": [(2, "dim", "Dim", True)],
    "Dim": [(1, "size", _F.TYPE_INT64, False), (2, "name", _F.TYPE_STRING, False)],
    "Histogram": [(n + 1, name, _F.TYPE_DOUBLE, n > 4) for n, name in
                  enumerate(("min", "max", "num", "sum", "sum_squares", "bucket_limit", "bucket"))],
}


def _messages():
    file = descriptor_pb2.FileDescriptorProto(name="tfevents.proto", package="trial", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind, repeated in fields:
            made = message.field.add(name=field, number=number)
            made.label = _F.LABEL_REPEATED if repeated else _F.LABEL_OPTIONAL
            if isinstance(kind, str):
                made.type, made.type_name = _F.TYPE_MESSAGE, ".trial." + kind
            else:
                made.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = message_factory.MessageFactory(pool)
    return {name: made.GetPrototype(pool.FindMessageTypeByName("trial." + name)) for name in _MESSAGES}


Event = _messages()["Event"]

_DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 8: "<c8", 9: "<i8", 10: "?", 14: "<u2", 17: "<u2",
           18: "<c16", 19: "<f2", 22: "<u4", 23: "<u8", 24: "u1", 25: "u1"}


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


class Damage(Exception):
    pass


def records(data, where, check=True):
    """(offset, length, payload, checksum kind) of each record; Damage where a byte is not as it has to be."""
    at = 0
    while at < len(data):
        if len(data) - at < 16:
            raise Damage("%s: %d bytes left over at %d" % (where, len(data) - at, at))
        length, header = struct.unpack_from("<QI", data, at)
        if header != masked_crc(data[at:at + 8]) or length > len(data) - at - 16:
            raise Damage("%s: bad record header at %d" % (where, at))
        payload = data[at + 12:at + 12 + length]
        (footer,) = struct.unpack_from("<I", data, at + 12 + length)
        kind = "true"
        if check and footer != masked_crc(payload):
            if footer != masked_crc(CONSTANT):
                raise Damage("%s: wrong checksum of the record at %d" % (where, at))
            kind = "constant"
        yield at, length + 16, payload, kind
        at += length + 16


def tensor(value):
    """(dtype number, numpy array) of a Value's tensor; strings as an array of str."""
    proto = value.tensor
    shape = [d.size for d in proto.tensor_shape.dim]
    if proto.dtype == 0:
        return 0, numpy.array([t.decode() for t in proto.string_val]).reshape(shape)
    return proto.dtype, numpy.frombuffer(proto.tensor_content, _DTYPES[proto.dtype]).reshape(shape)


class Step:
    """One step of one worker: mode, mode_step, tensors {name: (dtype, array)} in their order, shapes, checksums."""


def read_step(trial, index_path, check=True):
    with open(index_path) as file:
        index = json.load(file)
    made = Step()
    made.mode, made.mode_step = index["meta"]["mode"], index["meta"]["mode_step"]
    made.global_step = int(os.path.basename(index_path).split("_")[0])
    made.worker = os.path.basename(index_path)[13:-5]
    made.shapes = {s["tensorname"]: s["shape"] for s in index.get("shape_payload", [])}
    made.tensors, made.checksums, made.wall_times = {}, set(), []
    payload = index.get("tensor_payload", [])
    if not payload:
        return made
    path = os.path.join(trial, index["meta"]["event_file_name"])
    with open(path, "rb") as file:
        found = list(records(file.read(), path, check))
    if [(p["start_idx"], p["length"]) for p in payload] != [(at, length) for at, length, _, _ in found]:
        raise Damage("%s does not fit %s" % (index_path, path))
    for entry, (_, _, data, kind) in zip(payload, found):
        event = Event.FromString(data)
        (value,) = event.summary.value
        plugins = {p.plugin_name: p.content for p in value.metadata.plugin_data}
        mode = ["TRAIN", "EVAL", "PREDICT", "GLOBAL"].index(made.mode) + 1
        expected = {"mode_step": str(made.mode_step), "mode": str(mode)}
        if value.tag != entry["tensorname"] or event.step != made.global_step or plugins != expected:
            raise Damage("%s: record of %s says %s, step %d, %s" % (path, entry["tensorname"], value.tag, event.step,
                                                                    plugins))
        made.tensors[value.tag] = tensor(value)
        made.checksums.add(kind)
        made.wall_times.append(event.wall_time)
    return made


class Trial:
    """steps {(global step, worker): Step}, collections {worker: the file's JSON}, ended."""

    def __init__(self, path, check=True):
        self.path = path
        self.steps = {}
        for index in sorted(glob.glob(os.path.join(path, "index", "*", "*.json"))):
            step = read_step(path, index, check)
            self.steps[step.global_step, step.worker] = step
        self.collections = {}
        for name in glob.glob(os.path.join(path, "collections", "*", "*_collections.json")):
            with open(name) as file:
                self.collections[os.path.basename(name)[:-len("_collections.json")]] = json.load(file)
        self.ended = os.path.exists(os.path.join(path, "training_job_end.ts"))

    def workers(self):
        return sorted({worker for _, worker in self.steps})
