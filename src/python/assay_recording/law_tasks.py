"""law_tasks.py - equations of a step, which threads of the library sum up while the training goes on (laws.py, src/hook/law_tasks.c).

A tensor is held until its equation is done, which is at the end of the backward pass at the latest. One that was changed in place before, as
torch counts changes, leaves no record, since nobody knows what was read; from the next step on equations of that name are done at once, in the
training's thread. So are those of passes that no backward pass follows: nothing holds on to what they are given.

Between products caches hold nothing of Python, so that a call takes ten times as long as it would: what hooks see is noted, and taken some at a time.
"""
import collections
import ctypes
import os

_INT, _COUNT, _PLACE, _REAL = ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_double
SIGNATURES = {
    "laws_new": [_PLACE, _INT, _PLACE], "laws_free": [_PLACE], "laws_take": [_PLACE, _PLACE, _INT], "laws_done": [_PLACE], "laws_wait": [_PLACE],
    "laws_take_columns": [_PLACE, _INT, _PLACE, ctypes.c_size_t, _PLACE], "laws_drop": [_PLACE, ctypes.c_int64], "laws_finish": [_PLACE],
    "laws_expect": [_PLACE, _INT, _PLACE], "laws_expected": [_PLACE, _INT, _PLACE, _PLACE],
}
RESULTS = {"laws_take": ctypes.c_int64, "laws_take_columns": ctypes.c_int64, "laws_done": ctypes.c_int64, "laws_expected": _COUNT,
           "laws_free": None, "laws_wait": None, "laws_drop": None}
LINEAR, OUTPUT, GRADIENT, NORM = range(4)  # kinds of equations
MOST_NOTED, MOST_ELEMENTS = 24, 1 << 22  # equations, and elements of their tensors
THREADS = None  # that sum up; None: one, where the process has a second core


class Operand(ctypes.Structure):
    """assay_hook_operand."""
    _fields_ = [("values", _PLACE), ("dtype", _INT)]


class Law(ctypes.Structure):
    """assay_hook_law."""
    _fields_ = [("kind", _INT), ("name", ctypes.c_char_p)] + [(name, Operand) for name in ("x", "y", "weight", "bias")] + [
        (name, _COUNT) for name in ("rows", "inputs", "outputs")] + [("groups", _INT), ("tiles", _INT), ("e", _REAL), ("parameter", _INT),
        ("of_bias", _INT), ("of", ctypes.c_int64), ("sums", _PLACE), ("cells", _COUNT), ("stride", _COUNT)]


class Rows(ctypes.Structure):
    """assay_hook_rows."""
    _fields_ = [("x", _PLACE), ("y", _PLACE), ("dtype", _INT), ("rows", _COUNT), ("columns", _COUNT)]


class Added(ctypes.Structure):
    """assay_hook_added."""
    _fields_ = [("dtypes", _INT * 2), ("groups", _INT), ("tiles", _INT), ("places", ctypes.c_size_t), ("products", _COUNT), ("sums", _PLACE)]


class Columns(ctypes.Structure):
    """assay_hook_columns."""
    _fields_ = [("count", ctypes.c_size_t)] + [(name, _PLACE) for name in ("dtypes", "x", "y", "elements", "first")]


def host(tensor):
    return tensor.detach().to("cpu").contiguous()


def place(tensor):
    """A tensor that the library can read where it is: this one, or a copy."""
    return tensor if tensor.is_cpu and tensor.is_contiguous() else host(tensor)


def threads():
    return THREADS if THREADS is not None else min(1, len(os.sched_getaffinity(0)) - 1)


class Tasks:
    def __init__(self, hook, library, code):
        self.hook, self.library, self.code, self.of = hook, library, code, None
        for function, arguments in SIGNATURES.items():
            entry = getattr(library, "assay_hook_" + function)
            entry.argtypes, entry.restype = arguments, RESULTS.get(function, _INT)
        self.held, self.changed, self.alive, self.dropped = collections.deque(), set(), [], []
        self.noted, self.elements = [], 0
        self.law, self.is_waited_for = Law(), False
        self.operands, self.at = [self.law.x, self.law.y, self.law.weight, self.law.bias], ctypes.byref(self.law)

    def begin(self):
        """Threads start with the first step that has laws."""
        if self.of is None:
            of = _PLACE()
            if self.library.assay_hook_laws_new(self.hook._handle, threads(), ctypes.byref(of)) < 0:
                raise MemoryError("no memory for laws of computation")
            self.of = of

    def note(self, take, name, now, tensors, arguments):
        """Calls take(name, now, *arguments) soon, if these tensors are what they were; `now`: before it returns."""
        now = now or name in self.changed
        self.noted.append((take, name, now, tensors, [t._version for t in tensors], arguments))
        for tensor in tensors:
            self.elements += tensor.numel()
        if now or len(self.noted) >= MOST_NOTED or self.elements >= MOST_ELEMENTS:
            self.take_noted()

    def take_noted(self):
        noted, self.noted, self.elements = self.noted, [], 0
        for take, name, now, tensors, versions, arguments in noted:
            if [t._version for t in tensors] == versions:
                take(name, now, *arguments)
            else:
                self.changed.add(name)

    def take(self, kind, name, now, x=None, y=None, weight=None, bias=None, rows=0, inputs=0, outputs=0, groups=0, tiles=0, e=0.0, parameter=-1,
             of_bias=-1, of=0, sums=None, cells=0, stride=0, owner=None):
        """Returns the number of the equation, below 0: there is none. `now`: it is done, and what it was given may change."""
        kept, law = [], self.law
        for operand, tensor in zip(self.operands, (x, y, weight, bias)):
            if tensor is None:
                operand.values = None
                continue
            code = self.code(tensor)
            if code is None:
                return -1
            tensor = place(tensor)
            operand.values, operand.dtype = tensor.data_ptr(), code
            kept.append(tensor)
        law.kind, law.name, law.rows, law.inputs, law.outputs, law.groups, law.tiles = kind, self.hook._encoded(name), rows, inputs, outputs, groups, tiles
        law.e, law.parameter, law.of_bias, law.of, law.sums, law.cells, law.stride = e, parameter, of_bias, of, sums, cells, stride
        versions = None if now else [t._version for t in kept]
        number = self.library.assay_hook_laws_take(self.of, self.at, now)
        if number >= 0 and not now:
            self.held.append((number, name, owner, kept, versions))
        self.release()
        return number

    def take_columns(self, form, columns, stride, out, *alive):
        self.alive.append((columns, alive))
        self.library.assay_hook_laws_take_columns(self.of, form, ctypes.byref(columns), stride, out)

    def release(self):
        """Tensors of equations that are done are the training's alone again."""
        held, done = self.held, self.library.assay_hook_laws_done(self.of)
        while held and held[0][0] < done:
            number, name, owner, kept, versions = held.popleft()
            if [t._version for t in kept] != versions:
                self.library.assay_hook_laws_drop(self.of, number)
                self.changed.add(name)
                self.dropped.append(owner)

    def wait(self):
        self.is_waited_for = False
        self.take_noted()
        if self.of is not None:
            self.library.assay_hook_laws_wait(self.of)
            self.alive.clear()
            self.release()

    def wait_behind_backward(self, wait):
        """Called in a backward pass: at its end, what it has held of the training may change. False: nobody can tell when that is."""
        if not self.is_waited_for:
            from torch.autograd import Variable
            try:
                Variable._execution_engine.queue_callback(wait)
            except (AttributeError, RuntimeError):
                return False
            self.is_waited_for = True
        return True

    def finish(self):
        """Saves the records at the current step."""
        if self.of is not None:
            self.wait()
            self.library.assay_hook_laws_finish(self.of)
        self.dropped.clear()

    def close(self):
        self.finish()
        if self.of is not None:
            self.library.assay_hook_laws_free(self.of)
            self.of = None
