"""records.py - reads and rebuilds index and event files of a trial, byte for byte, so that tests can damage them anywhere."""
import json
import struct
from pathlib import Path

CONSTANT = 0  # set below: what the recording library writes for every payload


def _table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


CONSTANT = masked_crc(b"0x12345678")


def frame(payload, true_crc=False):
    length = struct.pack("<Q", len(payload))
    footer = masked_crc(payload) if true_crc else CONSTANT
    return length + struct.pack("<I", masked_crc(length)) + payload + struct.pack("<I", footer)


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value, wire=None):
    """One protobuf field: an int as varint, bytes with their length; `wire` overrides the type that the key claims."""
    if isinstance(value, int):
        return varint(number << 3 | (0 if wire is None else wire)) + varint(value)
    return varint(number << 3 | (2 if wire is None else wire)) + varint(len(value)) + value


def fields(data):
    """[(number, wire type, value)] of a message."""
    at, out = 0, []

    def number():
        nonlocal at
        shift = value = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        wire = key & 7
        if wire == 0:
            value = number()
        else:
            size = {1: 8, 5: 4}.get(wire) or number()
            value = data[at:at + size]
            at += size
        out.append((key >> 3, wire, value))
    return out


def join(list_):
    out = b""
    for number, wire, value in list_:
        if wire == 0:
            out += field(number, value)
        elif wire == 2:
            out += field(number, value)
        else:
            out += varint(number << 3 | wire) + value
    return out


def inside(payload, path, change):
    """The payload with the field at `path`, such as (5, 1, 8): Event.summary.value.tensor, put through change()."""
    out = []
    for number, wire, value in fields(payload):
        if number == path[0]:
            value = change(value) if len(path) == 1 else inside(value, path[1:], change)
        out.append((number, wire, value))
    return join(out)


TENSOR = (5, 1, 8)  # Event.summary.value.tensor
TAG = (5, 1, 1)     # Event.summary.value.tag


class Part:
    """One step of one worker: its index file and its event file."""

    def __init__(self, trial, step, worker):
        self.trial = Path(trial)
        self.index_name = "index/%09d/%012d_%s.json" % (step // 1000, step, worker)
        self.event_name = "events/%012d/%012d_%s.tfevents" % (step, step, worker)
        self.index = json.loads((self.trial / self.index_name).read_bytes())
        self.events = (self.trial / self.event_name).read_bytes()

    @property
    def entries(self):
        return self.index["tensor_payload"]

    def entry(self, tensor):
        return next(e for e in self.entries if e["tensorname"] == tensor)

    def record(self, entry):
        return self.events[entry["start_idx"]:entry["start_idx"] + entry["length"]]

    def write_index(self, text=None):
        text = json.dumps(self.index) if text is None else text
        (self.trial / self.index_name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def write_events(self, data):
        (self.trial / self.event_name).write_bytes(data)

    def replace(self, tensor, payload_change=None, record=None, name=None, true_crc=False):
        """Rebuilds the event file with another payload, or a whole other record, for one tensor. Returns its new offset."""
        out, place = b"", None
        for e in self.entries:
            old = self.record(e)
            new = old
            if e["tensorname"] == tensor:
                new = record if record is not None else frame(payload_change(old[12:-4]), true_crc)
                place = len(out)
                if name is not None:
                    e["tensorname"] = name
            e["start_idx"], e["length"] = len(out), len(new)
            out += new
        self.write_events(out)
        self.write_index()
        return place
