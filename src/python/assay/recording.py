"""A trial as the library has it open: its steps, and rows and values of tensors by their numbers. trial.py and tensor.py make of it
what the reference offers."""
import bisect
import ctypes
import math
import mmap
import os
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
AHEAD_EACH, AHEAD_MOST = 64 << 10, 1 << 20  # bytes of a value that is read ahead, and of all of them
AHEAD_LEAST = 256  # bytes that a value counts for at least
MAPPED_LEAST = 64 << 10  # bytes of a value that is mapped rather than copied
HEAD_SIZE, SHAPE_AT = c.Head.wall_time.offset, c.Head.shape.offset  # in the bytes of a head


class Rows:
    """What was saved of one tensor in one recording: rows by mode, step and worker."""

    def __init__(self, number, data, count, workers):
        self.number = number
        table = numpy.frombuffer(data, ROW, count)
        self.kinds = table["kinds"].tolist()
        self.by_mode = {mode.value: {} for mode in ModeKeys}  # of each mode's number: {step: {worker's name: row}}, workers in order
        self.order = {mode.value: [] for mode in ModeKeys}  # of each mode's number: its rows in order of (step, worker)
        self._number_rows(table, count, workers)
        self.guess = None  # how the last value was read
        self.ready = {}  # {row: value} of those that were read ahead

    def _number_rows(self, table, count, workers):
        """Rows of one step and mode that lie together become one dictionary at once."""
        everywhere = ModeKeys.GLOBAL.value
        names = [workers[worker] for worker in table["worker"].tolist()]
        keys = [table[name] for name in ("step", "mode", "mode_step")]
        changes = numpy.any([key[1:] != key[:-1] for key in keys], axis=0) if count > 1 else numpy.zeros(0, bool)
        bounds = [0] * (count > 0) + (numpy.flatnonzero(changes) + 1).tolist() + [count]
        firsts = (key[bounds[:-1]].tolist() for key in keys)
        for begin, end, step, mode, mode_step in zip(bounds, bounds[1:], *firsts):
            rows = dict(zip(names[begin:end], range(begin, end)))
            for own, number in ((everywhere, step), (mode, mode_step))[:2 if mode not in (0, everywhere) else 1]:
                before = self.by_mode[own].get(number)
                self.by_mode[own][number] = rows if before is None else {**before, **rows}
        for mode in ModeKeys:
            self.order[mode.value] = numpy.flatnonzero(keys[1] == mode.value).tolist()
        self.order[everywhere] = range(count)

    def steps(self, mode):
        return sorted(self.by_mode[mode.value])

    def has(self, mode):
        return len(self.by_mode[mode.value]) > 0


class Recording:
    """An opened trial: calls of the library, and what they tell as Python has it. Never changes; closed when nobody has it."""

    def __init__(self, location, range_steps=None):
        self._handle, self._error = ctypes.c_void_p(), c.Error()
        self._open = c.lib.assay_recording_open
        c.must(self._open(c.raw(location), ctypes.byref(self._handle), ctypes.byref(self._error)), self._error)
        handle = self._handle
        self.worker_names = [c.text(c.lib.assay_recording_worker(handle, w)) for w in range(c.lib.assay_recording_workers(handle))]
        self.expected = c.lib.assay_recording_said_workers(handle) or c.lib.assay_recording_expected_workers(handle)
        self.ended = c.lib.assay_recording_ended(handle)
        self.tensors = self._tensor_names()
        self._rows, self._ahead, self._maps, self._place_room, self._lock = {}, Ahead(), True, PlaceRoom(), threading.Lock()
        self._list_steps()
        self._left_out = False
        if range_steps is not None:
            begin, end = range_steps
            self.keep_steps({step for step in self.infos if step >= (begin or 0) and (end is None or step < end)})

    def keep_steps(self, wanted):
        """Leaves out all other global steps, as if they had not been recorded."""
        self._left_out, self._rows = len(wanted) < len(self.infos), {}
        self.infos = {step: info for step, info in self.infos.items() if step in wanted}
        self.missing = {step: who for step, who in self.missing.items() if step in wanted}
        self.global_steps = {key: step for key, step in self.global_steps.items() if step in wanted}
        self.modes = {ModeKeys.GLOBAL: sorted(self.infos)} if self.infos else {}
        for mode, mode_step in sorted(self.global_steps, key=lambda key: (key[0].value, key[1])):
            if mode != ModeKeys.GLOBAL:
                self.modes.setdefault(mode, []).append(mode_step)

    def __del__(self, close=c.lib.assay_recording_close):
        if getattr(self, "_handle", None):
            close(self._handle)

    def keep(self, size):
        """Bytes that may be used to keep the values of small steps."""
        c.lib.assay_recording_keep(self._handle, size)

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
            if missing and len(self.worker_names) - missing < self.expected:  # as many have written as the trial says that there are
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

    @property
    def last_complete(self):
        """The last global step that every worker wrote; -1: none."""
        return max((step for step in self.infos if step not in self.missing), default=-1)

    def steps(self, mode, with_incomplete):
        """With those that workers may still write, or without. What they had not written when all were further on does not come."""
        steps = self.modes.get(mode, [])
        if with_incomplete or self.ended or not self.missing:
            return list(steps)
        last = self.last_complete
        return [step for step in steps if self.global_step(mode, step) <= last]

    def rows(self, name):
        """Of a tensor that the trial does not have: none."""
        if name not in self._rows:
            number = self.tensors.get(name)
            made = self._rows[name] = Rows(number, *(self._saved(number) if number is not None else (b"", 0)), self.worker_names)
            if self._left_out:
                made.by_mode = {mode.value: {step: at for step, at in made.by_mode[mode.value].items()
                                             if self.global_step(mode, step) is not None} for mode in ModeKeys}
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

    def read(self, rows, row, mode):
        """The value of a row. Values that come one after the other in the order of a mode are read several at a time."""
        with self._lock:
            guess = rows.guess
            if guess is not None:
                value = self._ahead.go_on(self._handle, rows, row, mode) if guess.nbytes <= AHEAD_EACH else None
                if value is None and guess.nbytes >= MAPPED_LEAST:
                    value = self._map_again(rows, row)
                if value is None:
                    value = guess.read(self._handle, rows.number, row)
                if value is not None:
                    return value
            head = self.head(rows.number, row)
            if head.dtype == STRING:
                return self._strings(rows.number, row, head)
            rows.guess = guess = Guess(head)
            value = self._map_again(rows, row) if guess.nbytes >= MAPPED_LEAST else None
            return value if value is not None else guess.read(self._handle, rows.number, row)

    def _map_again(self, rows, row):
        """The value over its file, copied where it is written to; None where a read is better: it has a checksum, or does not lie so,
        or there are as many mappings as a process may have."""
        place = self.place(rows.number, row, True, self._place_room) if self._maps else None
        if place is None:
            self._maps = False  # of one kind of trial, all values are alike in that
            return None
        path, offset, dtype, shape = place
        before = offset % mmap.ALLOCATIONGRANULARITY
        count = math.prod(shape)
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                pages = mmap.mmap(file, before + count * dtype.itemsize, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE,
                                  offset=offset - before)
            finally:
                os.close(file)
        except (OSError, ValueError):
            return None
        return numpy.frombuffer(pages, dtype, count, before).reshape(shape)

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

    def place(self, tensor, row, lasting=False, room=None):
        """(path, offset, dtype, shape) of a value that lies in a file here as numpy has it; else None."""
        room = room or PlaceRoom()
        status = c.lib.assay_recording_place(self._handle, tensor, row, lasting, *room.arguments)
        if status == c.EUNSUPPORTED:
            return None
        c.must(status, room.error)
        head = room.head
        if head.dtype not in DTYPES or head.bytes == 0:
            return None
        return room.path.value, room.offset.value, DTYPES[head.dtype], tuple(head.shape[:head.dims])


class PlaceRoom:
    """What the library fills to say where a value lies."""

    def __init__(self):
        self.path, self.offset, self.head, self.error = ctypes.create_string_buffer(4096), ctypes.c_uint64(), c.Head(), c.Error()
        self.arguments = (self.path, len(self.path), ctypes.byref(self.offset), ctypes.byref(self.head), ctypes.byref(self.error))


class Guess:
    """The next value of a tensor most likely has the dtype and shape of the last one: it is read in one call, straight into the
    array that is returned, and the head that comes with it says whether the guess was right."""

    def __init__(self, head):
        self.shape, self.dtype = tuple(head.shape[:head.dims]), DTYPES.get(head.dtype, WIDENED)
        self.way = c.AS_SAVED if head.dtype in DTYPES else c.AS_FLOAT32
        self.nbytes = head.elements * self.dtype.itemsize
        raw = bytes(head)
        self._end = SHAPE_AT + 8 * head.dims
        self._expected, self._expected_shape = raw[:HEAD_SIZE], raw[SHAPE_AT:self._end]
        self._head, self._error = c.Head(), c.Error()
        self._found = memoryview(self._head).cast("B")
        self._head_at, self._error_at = ctypes.addressof(self._head), ctypes.addressof(self._error)
        self._read = c.lib.assay_recording_read

    def _is_right(self, status):
        if status != c.OK and status not in (c.EBUDGET, c.EUNSUPPORTED):
            c.fail(status, self._error)
        found = self._found
        return status == c.OK and found[:HEAD_SIZE] == self._expected and found[SHAPE_AT:self._end] == self._expected_shape

    def read(self, handle, tensor, row):
        """None: it has another dtype or shape."""
        value = numpy.empty(self.shape, self.dtype)
        status = self._read(handle, tensor, row, self.way, value.ctypes.data, value.nbytes, self._head_at, self._error_at)
        return value if self._is_right(status) else None

    def read_rows(self, handle, tensor, rows, room):
        """The values of these rows from the first one on, as far as they are alike, in `room`; None: the first one is otherwise."""
        values = room[:len(rows) * self.nbytes].view(self.dtype).reshape((len(rows),) + self.shape)
        rows, done = numpy.array(rows, numpy.uint64), ctypes.c_size_t()
        status = c.lib.assay_recording_read_rows(handle, tensor, rows.ctypes.data, len(rows), self.way, values.ctypes.data,
                                                 values.nbytes, self._head_at, ctypes.byref(done), self._error_at)
        return values[:done.value] if self._is_right(status) else None


class Ahead:
    """Values of one tensor that were read before they were asked for. When a script has taken three small values at equal distances
    in the order of a mode (every step of a worker, or of all workers), the next ones are read together, more each time, and lie in
    `ready` of the tensor's rows, where Tensor.value() takes them."""

    def __init__(self):
        self.rows = self._mode = None
        self._position, self._distance, self._count = -1, 0, 0
        self._room = numpy.empty(AHEAD_MOST, numpy.uint8)

    def go_on(self, handle, rows, row, mode):
        """The value, if it continues what was asked for before; else None."""
        order = rows.order[mode.value]
        position = bisect.bisect_left(order, row)
        if self.rows is not rows or self._mode is not mode:
            if self.rows is not None:
                self.rows.ready = {}
            self.rows, self._mode, self._position, self._distance, self._count = rows, mode, position, 0, 0
            return None
        distance, self._position = position - self._position, position
        if distance <= 0 or distance != self._distance:
            self._distance, self._count = distance, 0
            return None
        self._count = min(max(8, 4 * self._count), max(1, AHEAD_MOST // max(AHEAD_LEAST, rows.guess.nbytes)))
        wanted = order[position:position + self._count * distance:distance]
        values = rows.guess.read_rows(handle, rows.number, wanted, self._room)
        if values is None:
            return None
        self._position += (len(values) - 1) * distance
        # Copies, so that keeping one value does not keep all of them.
        each = values if values.ndim > 1 else (values[i, ...] for i in range(len(values)))
        rows.ready = dict(zip(wanted, map(numpy.ndarray.copy, each)))
        return rows.ready.pop(row)
