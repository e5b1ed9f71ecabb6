"""A trial as the library has it open: its steps, and rows and values of tensors by their numbers. trial.py and tensor.py make of it
what the reference offers."""
import ctypes
import threading

import numpy

from . import _library as c
from .exceptions import AssayError
from .modes import ModeKeys

ROW = numpy.dtype([("step", "<i8"), ("mode_step", "<i8"), ("worker", "<u4"), ("kinds", "<u4"), ("mode", "<i4"), ("reserved", "<i4")])
RAW = 1
DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 8: "<c8", 9: "<i8", 10: "?", 17: "<u2", 18: "<c16", 19: "<f2",
          22: "<u4", 23: "<u8"}
DTYPES = {number: numpy.dtype(name) for number, name in DTYPES.items()}
WIDENED = numpy.dtype("<f4")  # what numpy has no dtype for: bfloat16, float8 and smaller, exactly
STRING = 0
HEAD_SIZE, SHAPE_AT = c.Head.wall_time.offset, c.Head.shape.offset  # in the bytes of a head


class Rows:
    """What was saved of one tensor in one recording: rows by mode, step and worker."""

    def __init__(self, number, data, count):
        self.number = number
        self.table = numpy.frombuffer(data, ROW, count)
        self.by_step = {}  # (mode, step): {worker: row}
        own, everywhere = self.by_step, ModeKeys.GLOBAL.value
        step, mode_step, worker, mode = (self.table[name].tolist() for name in ("step", "mode_step", "worker", "mode"))
        for row in range(count):
            own.setdefault((everywhere, step[row]), {})[worker[row]] = row
            if mode[row] != everywhere:
                own.setdefault((mode[row], mode_step[row]), {})[worker[row]] = row

    def steps(self, mode):
        return sorted(step for own, step in self.by_step if own == mode.value)

    def modes(self):
        return {own for own, _ in self.by_step}


class Recording:
    """An opened trial: calls of the library, and what they tell as Python has it. Never changes; closed when nobody has it."""

    def __init__(self, location):
        self._handle, self._error = ctypes.c_void_p(), c.Error()
        self._open = c.lib.assay_recording_open
        c.must(self._open(c.raw(location), ctypes.byref(self._handle), ctypes.byref(self._error)), self._error)
        handle = self._handle
        self.worker_names = [c.text(c.lib.assay_recording_worker(handle, w)) for w in range(c.lib.assay_recording_workers(handle))]
        self.worker_numbers = {name: w for w, name in enumerate(self.worker_names)}
        self.expected = c.lib.assay_recording_expected_workers(handle)
        self.ended = c.lib.assay_recording_ended(handle)
        self.tensors = self._tensor_names()
        self._rows = {}
        self._list_steps()

    def __del__(self, close=c.lib.assay_recording_close):
        if getattr(self, "_handle", None):
            close(self._handle)

    def _tensor_names(self):
        length, names = ctypes.c_size_t(), {}
        for number in range(c.lib.assay_recording_tensors(self._handle)):
            at = c.lib.assay_recording_tensor(self._handle, number, ctypes.byref(length))
            names[c.text(ctypes.string_at(at, length.value))] = number
        return names

    def _list_steps(self):
        self.modes, self.global_steps, self.missing = {}, {}, {}
        workers = ctypes.POINTER(ctypes.c_uint32)()
        self.infos = {}
        for i in range(c.lib.assay_recording_steps(self._handle)):
            info = c.lib.assay_recording_step(self._handle, i).contents
            mode = ModeKeys(info.mode) if info.mode else None
            self.infos[info.step] = (mode, info.mode_step)
            missing = c.lib.assay_recording_missing(self._handle, i, ctypes.byref(workers))
            if missing:
                self.missing[info.step] = [c.text(c.lib.assay_recording_worker(self._handle, w)) for w in workers[:missing]]
            if mode:
                self.modes.setdefault(mode, []).append(info.mode_step)
                self.global_steps[(mode, info.mode_step)] = info.step
        if self.infos:
            self.modes[ModeKeys.GLOBAL] = list(self.infos)
        self.modes = {mode: sorted(steps) for mode, steps in self.modes.items()}

    def global_step(self, mode, step):
        """None: there is no such step."""
        if mode == ModeKeys.GLOBAL:
            return step if step in self.infos else None
        return self.global_steps.get((mode, step))

    def is_complete(self, mode, step):
        return self.global_step(mode, step) not in self.missing

    def steps(self, mode, with_incomplete):
        steps = self.modes.get(mode, [])
        if with_incomplete or self.ended or not self.missing:
            return list(steps)
        return [step for step in steps if self.is_complete(mode, step)]

    def rows(self, name):
        """Of a tensor that the trial does not have: none."""
        if name not in self._rows:
            number = self.tensors.get(name)
            self._rows[name] = Rows(c.NONE, b"", 0) if number is None else Rows(number, *self._saved(number))
        return self._rows[name]

    def _saved(self, tensor):
        data, count, error = ctypes.c_void_p(), ctypes.c_size_t(), c.Error()
        c.must(c.lib.assay_recording_saved(self._handle, tensor, ctypes.byref(data), ctypes.byref(count), ctypes.byref(error)), error)
        return ctypes.string_at(data, count.value * ROW.itemsize) if count.value else b"", count.value

    def select(self, regex=None, collection=None):
        """The names of the tensors that match and belong, in byte order."""
        chosen, error = (ctypes.c_uint8 * len(self.tensors))(), c.Error()
        c.must(c.lib.assay_recording_select(self._handle, None if regex is None else c.raw(regex),
                                            None if collection is None else c.raw(collection), chosen, ctypes.byref(error)), error)
        return [name for name, number in self.tensors.items() if chosen[number]]

    def collections(self):
        """{name: its patterns}"""
        found = {}
        for number in range(c.lib.assay_recording_collections(self._handle)):
            patterns = found[c.text(c.lib.assay_recording_collection(self._handle, number))] = []
            while True:
                pattern = c.lib.assay_recording_collection_regex(self._handle, number, len(patterns))
                if not pattern:
                    break
                patterns.append(c.text(pattern))
        return found

    def problems(self):
        problem, found = c.Problem(), []
        for i in range(c.lib.assay_recording_problems(self._handle)):
            if c.lib.assay_recording_problem(self._handle, i, ctypes.byref(problem)) != c.OK:
                break
            found.append({"kind": c.text(problem.kind), "file": c.text(problem.file), "text": c.text(problem.text),
                          "step": problem.step, "offset": problem.offset, "is_loss": problem.is_loss})
        return found

    def head(self, tensor, row):
        """None: neither value nor shape was saved."""
        head, error = c.Head(), c.Error()
        status = c.lib.assay_recording_head(self._handle, tensor, row, ctypes.byref(head), ctypes.byref(error))
        if status == c.ENOTFOUND and "was not saved" in c.text(error.text):
            return None
        c.must(status, error)
        return head

    def read(self, tensor, row, guess):
        """The value, and what makes the next read of a value of that dtype and shape one call."""
        if guess:
            with guess.lock:
                value = guess.read(self._handle, tensor, row)
            if value is not None:
                return value, guess
        head = self.head(tensor, row)
        if head.dtype == STRING:
            return self._strings(tensor, row, head), None
        guess = Guess(head)
        value = guess.read(self._handle, tensor, row)
        if value is None:
            raise AssayError("tensor %d, row %d: two reads of it differ" % (tensor, row), c.EFORMAT)
        return value, guess

    def _strings(self, tensor, row, head):
        buffer, ends, error = ctypes.create_string_buffer(head.bytes + 1), (ctypes.c_uint64 * head.elements)(), c.Error()
        c.must(c.lib.assay_recording_read_strings(self._handle, tensor, row, buffer, head.bytes, ends, head.elements,
                                                  ctypes.byref(error)), error)
        begins = [0] + ends[:-1] if head.elements else []
        texts = [c.text(buffer.raw[begin:end]) for begin, end in zip(begins, ends)]
        return numpy.array(texts, dtype=str).reshape(tuple(head.shape[:head.dims]))

    def wide(self, tensor, row):
        """The value in double."""
        head, error = self.head(tensor, row), c.Error()
        value = numpy.empty(tuple(head.shape[:head.dims]), "<f8")
        c.must(c.lib.assay_recording_read(self._handle, tensor, row, c.AS_FLOAT64, value.ctypes.data, value.nbytes, None,
                                          ctypes.byref(error)), error)
        return value

    def reduction(self, tensor, row, kind):
        value, error = ctypes.c_double(), c.Error()
        c.must(c.lib.assay_recording_reduction(self._handle, tensor, row, kind, ctypes.byref(value), ctypes.byref(error)), error)
        return value.value

    def stats(self, tensor, row):
        stats, error = c.Stats(), c.Error()
        c.must(c.lib.assay_recording_stats(self._handle, tensor, row, ctypes.byref(stats), ctypes.byref(error)), error)
        return stats

    def place(self, tensor, row):
        """(path, offset, dtype, shape) of a value that lies in a file here as numpy has it; else None."""
        path, offset = ctypes.create_string_buffer(4096), ctypes.c_uint64()
        head, error = c.Head(), c.Error()
        status = c.lib.assay_recording_place(self._handle, tensor, row, path, len(path), ctypes.byref(offset), ctypes.byref(head),
                                             ctypes.byref(error))
        if status == c.EUNSUPPORTED:
            return None
        c.must(status, error)
        if head.dtype not in DTYPES or head.bytes == 0:
            return None
        return path.value, offset.value, DTYPES[head.dtype], tuple(head.shape[:head.dims])


class Guess:
    """The next value of a tensor most likely has the dtype and shape of the last one: it is read in one call, straight into the
    array that is returned, and the head that comes with it says whether the guess was right."""

    def __init__(self, head):
        self.shape, self.dtype = tuple(head.shape[:head.dims]), DTYPES.get(head.dtype, WIDENED)
        self.way = c.AS_SAVED if head.dtype in DTYPES else c.AS_FLOAT32
        self.lock = threading.Lock()
        raw = bytes(head)
        self._end = SHAPE_AT + 8 * head.dims
        self._expected, self._expected_shape = raw[:HEAD_SIZE], raw[SHAPE_AT:self._end]
        self._head, self._error = c.Head(), c.Error()
        self._found = memoryview(self._head).cast("B")
        self._head_at, self._error_at = ctypes.addressof(self._head), ctypes.addressof(self._error)
        self._read = c.lib.assay_recording_read

    def read(self, handle, tensor, row):
        """None: it has another dtype or shape."""
        value = numpy.empty(self.shape, self.dtype)
        at = value.__array_interface__["data"][0]
        status = self._read(handle, tensor, row, self.way, at, value.nbytes, self._head_at, self._error_at)
        if status != c.OK and status not in (c.EBUDGET, c.EUNSUPPORTED):
            c.fail(status, self._error)
        found = self._found
        if status == c.OK and found[:HEAD_SIZE] == self._expected and found[SHAPE_AT:self._end] == self._expected_shape:
            return value
        return None
