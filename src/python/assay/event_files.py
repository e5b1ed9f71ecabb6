"""Event files of a trial, one at a time: FileWriter writes a step of a worker with its index, FileReader reads what is in a file. Scripts and
tests that make trials by hand use them by the reference's names (smdebug.core.writer, smdebug.core.reader). docs/format.md has the format.
Trials are read through assay.open(), and recorded through assay_hook, neither of which needs this."""
import io
import json
import os
import re
import struct
import time

import numpy

from .exceptions import AssayError, SMDebugTypeError, SMDebugValueError
from .modes import ModeKeys, mode_of
from .recording import DTYPES
from .s3 import Folder, write_file
from .surroundings import is_s3

CONSTANT = 0x062DC0B3  # what the reference writes as the checksum of any payload
CODES = {dtype: code for code, dtype in DTYPES.items()}
DOUBLE, LENGTHS = 1, 2  # kinds of protobuf's fields: eight bytes; a length and so many bytes


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def masked_crc(data):
    """The masked CRC-32C of a few bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def _field(number, value):
    """A field of a message: a number, a double, a text, or bytes."""
    if isinstance(value, float):
        return _varint(number << 3 | DOUBLE) + struct.pack("<d", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    value = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | LENGTHS) + _varint(len(value)) + value


def _tensor(array, name):
    """The message of a tensor: numbers as their bytes, texts each as one."""
    shape = b"".join(_field(2, _field(1, extent) + _field(2, "%s_%d" % (name, extent))) for extent in array.shape)
    if array.dtype.kind in "USO":
        return _field(2, shape) + b"".join(_field(8, str(text)) for text in array.reshape(-1).tolist())
    code = CODES.get(array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype)
    if code is None:
        raise SMDebugTypeError("%s: tensors of %s cannot be written" % (name, array.dtype))
    return _field(1, code) + _field(2, shape) + _field(4, numpy.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())


class IndexFileLocationUtils:
    """Where the index of a step lies."""

    @staticmethod
    def get_index_key_for_step(prefix, step, worker):
        return os.path.join(prefix, "index", "%09d" % (step // 1000), "%012d_%s.json" % (step, worker))

    @staticmethod
    def get_prefix_from_index_file(index_file):
        """The trial that a file of the index is of."""
        return os.path.dirname(os.path.dirname(os.path.dirname(index_file)))

    @staticmethod
    def parse_step_from_index_file_name(name):
        return int(os.path.basename(name).partition("_")[0])


class TensorFileLocation:
    """Where the events of a step lie."""

    def __init__(self, step_num, worker_name):
        self.step_num, self.worker_name = int(step_num), worker_name

    def get_file_location(self, trial_dir=""):
        return os.path.join(trial_dir, "events", "%012d" % self.step_num, "%012d_%s.tfevents" % (self.step_num, self.worker_name))


class FileWriter:
    """One step of one worker, here or in S3 (by boto3). The files get their names when it is closed, the index last: then the step is there."""

    def __init__(self, trial_dir, worker, step=0, wtype="events", mode=ModeKeys.GLOBAL, write_checksum=False, **more):
        del more  # of the reference's own queue
        if wtype != "events":
            raise SMDebugValueError("wtype = %r: files for TensorBoard are assay_hook's: export_tensorboard" % (wtype,))
        self.trial_dir, self.worker, self.step, self.mode, self.write_checksum = os.fspath(trial_dir), worker, int(step), mode, write_checksum
        self._inside = TensorFileLocation(step, worker).get_file_location()
        self._data, self._meta, self._tensors, self._shapes = bytearray(), None, [], []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _note(self, mode, mode_step):
        mode, mode_step = mode_of(self.mode if mode is None else mode), self.step if mode_step is None else int(mode_step)
        self._meta = self._meta or {"mode": mode.name, "mode_step": mode_step}
        return mode, mode_step

    def write_tensor(self, tdata, tname, write_index=True, mode=None, mode_step=None, timestamp=None):
        """Appends a tensor. Mode and mode step are those of the step: the first tensor says them."""
        mode, mode_step = self._note(mode, mode_step)
        plugins = b"".join(_field(1, _field(1, name) + _field(2, str(value))) for name, value in (("mode_step", mode_step), ("mode", mode.value)))
        value = _field(1, tname) + _field(8, _tensor(numpy.asarray(tdata), tname)) + _field(9, plugins)
        payload = _field(1, float(time.time() if timestamp is None else timestamp)) + _field(2, self.step) + _field(5, _field(1, value))
        size, begin = struct.pack("<Q", len(payload)), len(self._data)
        foot = masked_crc(payload) if self.write_checksum else CONSTANT
        self._data += size + struct.pack("<I", masked_crc(size)) + payload + struct.pack("<I", foot)
        if write_index:
            self._tensors.append({"tensorname": tname, "start_idx": begin, "length": len(self._data) - begin})

    def write_shape(self, name, shape, mode=None, mode_step=None, original_name=None):
        self._note(mode, mode_step)
        self._shapes.append({"tensorname": name, "originalname": original_name or name, "shape": list(shape)})

    def name(self):
        """Where its events are, once it is closed."""
        return os.path.join(self.trial_dir, self._inside)

    def flush(self):
        """Files appear when the writer is closed."""

    def close(self):
        if self._meta is None:
            return
        meta = dict(self._meta, **({"event_file_name": self._inside} if self._tensors else {}))
        index = {"meta": meta, **({"tensor_payload": self._tensors} if self._tensors else {}),
                 **({"shape_payload": self._shapes} if self._shapes else {})}
        for path, data in ((self.name(), bytes(self._data)),
                           (IndexFileLocationUtils.get_index_key_for_step(self.trial_dir, self.step, self.worker), json.dumps(index).encode())):
            if data:
                write_file(path, data)
        self._meta = None


def _fields(data, what):
    """(number, value) of each field of a message; values are ints, or bytes."""
    at = 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise AssayError("%s: it is cut, or no message" % what, -5)
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = {DOUBLE: 8, 5: 4}.get(kind)
        size = varint() if kind == LENGTHS else size
        if size is None or size > len(data) - at:
            raise AssayError("%s: it is cut, or no message" % what, -5)
        at += size
        yield key >> 3, bytes(data[at - size:at])


def _message(data, what):
    """{number: the last value} of a message."""
    return dict(_fields(data, what))


def _bytes(message, number):
    found = message.get(number, b"")
    return found if isinstance(found, bytes) else b""


def _value(data, what):
    fields = list(_fields(data, what))
    message = dict(fields)
    shape = [_message(part, what).get(1, 0) for number, part in _fields(_bytes(message, 2), what) if number == 2 and isinstance(part, bytes)]
    if message.get(1, 0) in (0, 7):
        return numpy.array([text.decode("utf-8", "replace") for number, text in fields if number == 8 and isinstance(text, bytes)])
    dtype = DTYPES.get(message.get(1))
    if dtype is None:
        raise AssayError("%s: a tensor of dtype %s; assay.open() reads those that numpy lacks" % (what, message.get(1)), -10)
    try:
        return numpy.frombuffer(_bytes(message, 4), dtype).copy().reshape(shape)
    except (ValueError, OverflowError, TypeError) as error:
        raise AssayError("%s: its shape and its bytes do not go together: %s" % (what, error), -5) from None


class FileReader:
    """What is in an event file, in order."""

    def __init__(self, fname, wtype="tfevent"):
        del wtype
        self.fname = os.fspath(fname)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def _open(self):
        folder, _, name = self.fname.rpartition("/")
        return io.BytesIO(Folder(folder).read(name)) if is_s3(self.fname)[0] else open(self.fname, "rb")

    def _values(self):
        """(wall time, step, the fields of a value) of each one."""
        with self._open() as file:
            while True:
                at, head = file.tell(), file.read(12)
                if not head:
                    return
                what = "%s: offset %d" % (self.fname, at)
                size = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else 0
                if len(head) < 12 or struct.unpack("<I", head[8:])[0] != masked_crc(head[:8]):
                    raise AssayError("%s: no record begins there" % what, -5)
                payload = file.read(size + 4) if size < 1 << 31 else b""
                if len(payload) != size + 4:
                    raise AssayError("%s: the record is cut" % what, -5)
                foot = struct.unpack("<I", payload[-4:])[0]
                if foot != CONSTANT and foot != masked_crc(payload[:-4]):
                    raise AssayError("%s: the payload's checksum is wrong" % what, -5)
                event = _message(payload[:-4], what)
                when = _bytes(event, 1)
                for number, part in _fields(_bytes(event, 5), what):
                    if number == 1 and isinstance(part, bytes):
                        yield struct.unpack("<d", when)[0] if len(when) == 8 else 0.0, event.get(2, 0), part, what

    def read_tensors(self, check="minimal"):
        """(name, step, value, mode, mode step) of each tensor."""
        del check
        for _, step, part, what in self._values():
            value, mode, mode_step = _message(part, what), ModeKeys.GLOBAL, step
            for number, plugin in _fields(_bytes(value, 9), what):
                said = _message(plugin, what) if number == 1 and isinstance(plugin, bytes) else {}
                name, content = _bytes(said, 1), _bytes(said, 2)
                if name == b"mode" and content in (b"1", b"2", b"3", b"4"):
                    mode = ModeKeys(int(content))
                if name == b"mode_step" and content.isdigit():
                    mode_step = int(content)
            if 8 in value:
                yield _bytes(value, 1).decode("utf-8", "replace"), step, _value(_bytes(value, 8), what), mode, mode_step

    def read_events(self, check="minimal", regex_list=None):
        """{"timestamp", "step", "name", "value"} of each tensor whose name a pattern matches."""
        del check
        found = []
        for when, step, part, what in self._values():
            value = _message(part, what)
            name = _bytes(value, 1).decode("utf-8", "replace")
            if 8 in value and (regex_list is None or any(re.search(pattern, name) for pattern in regex_list)):
                found.append({"timestamp": when, "step": step, "name": name, "value": _value(_bytes(value, 8), what)})
        return found
