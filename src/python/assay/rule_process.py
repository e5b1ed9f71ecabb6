"""What the process of a rule in Python does: loads the class that the job names, and answers what assay asks of it.

assay starts it (src/rule/rule_process.h) with the descriptors SOCKET and AREA open: a request lies in memory that both share, a
short message on the socket says that there is one, and the answer goes through the socket. Numbers are little-endian, texts come with
their length. Whatever goes wrong with the connection is the end of this process; whatever goes wrong in the rule is an answer.

    rule_process.py PARENT FILE:CLASS ABI SIZE
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [os.path.dirname(HERE)] + [place for place in sys.path if os.path.abspath(place or ".") not in (HERE, os.path.realpath(HERE))]

import contextlib  # noqa: E402
import inspect  # noqa: E402
import linecache  # noqa: E402
import mmap  # noqa: E402
import numbers  # noqa: E402
import pickle  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import struct  # noqa: E402
import traceback  # noqa: E402
import types  # noqa: E402

SOCKET, AREA, CUT_OFF = 3, 4, 113
LOAD, SETUP, TRIAL, STATE_NEW, MAP = 0, 1, 2, 3, 5  # requests
EPARAM, EINTERNAL = -7, -9
BOOL, INT, REAL, TEXT, LIST, REALS = range(6)  # types of parameters
REQUIRED = 1
HAS_MAP, HAS_FINALIZE = 8, 128  # here: it has at_step(); it wants its steps in order
LISTS = 4  # of texts that a rule may have, and these have not: tests, remedies, units, sentences
COMMON = (("start_step", INT), ("end_step", INT), ("worker", TEXT))  # parameters that every rule has
OF_BASE = ("base_trial", "action_str", "other_trials")
ALL_SAVED = sum(1 << kind for kind in [*range(10), *range(17, 26)])  # tensors and reductions, not pieces of tensors
TIME_ONLY, NO_STRINGS = 2, 4  # flags of a slot
NONE = 0xFFFFFFFF  # no tensor; all workers
MOST_FINDINGS, LONGEST_NOTE, LONGEST_TEXT = 100000, 200, 420  # bytes
WHOLE = "  ... (the whole traceback: standard error)"


class Refusal(Exception):
    """An answer that is a failure, in words of its own."""

    def __init__(self, text, status=EPARAM):
        super().__init__(text)
        self.status = status


class Reader:
    """Bytes of a request, read from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return found[0] if len(found) == 1 else found

    def text(self):
        size = self.take("I")
        self.at += size
        return bytes(self.data[self.at - size:self.at]).decode("utf-8", "surrogateescape")

    def texts(self, count):
        return [self.text() for _ in range(count)]


def put_text(text):
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    return struct.pack("<I", len(raw)) + raw


def put_optional(text):
    return struct.pack("<I", NONE) if text is None else put_text(text)


def cut(text, most):
    """In UTF-8, at most so many bytes, no character in pieces."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore").encode("utf-8")


# ---- what went wrong, in a few lines


def place_of(file):
    """A file as it is found from the places that modules come from."""
    for place in sys.path:
        if place and file.startswith(place.rstrip("/") + "/"):
            return file[len(place.rstrip("/")) + 1:]
    return file


def describe(error):
    """The exception and where it was raised, the innermost place first. Where that is longer than a message can be, the whole
    traceback goes to standard error, and the message says so."""
    try:
        lines = [traceback.format_exception_only(type(error), error)[-1].strip()]
    except Exception:  # noqa: BLE001 - of a class that cannot be printed
        lines = [type(error).__name__]
    lines[0] = cut(lines[0], 240).decode()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    for frame in reversed(frames):
        line = "  %s:%s in %s: %s" % (place_of(frame.filename), frame.lineno, frame.name, frame.line or "")
        if sum(map(len, lines)) + len(line) > LONGEST_TEXT - len(WHOLE) - 20:
            lines.append(WHOLE)
            with contextlib.suppress(Exception):  # the rule may have closed it
                traceback.print_exception(type(error), error, error.__traceback__)
            break
        if line != lines[-1]:
            lines.append(line)
    return "\n".join(lines)


# ---- the class


def load_package():
    try:
        import assay
        import assay.rule  # noqa: F401
        return assay
    except ImportError as error:
        if getattr(error, "name", None) == "numpy":
            raise Refusal("rules in Python need numpy, and %s has none (Debian: python3-numpy)" % sys.executable) from None
        raise Refusal("assay's Python package cannot be imported: %s" % error) from None


def load_class(place):
    assay = load_package()
    file, _, name = place.rpartition(":")
    try:
        with open(file, "rb") as opened:
            source = opened.read()
    except OSError as error:
        raise Refusal("it cannot be read: %s" % error.strerror) from None
    own = os.path.splitext(os.path.basename(file))[0]
    module = types.ModuleType("rule_" + own if own in sys.modules else own)
    module.__file__ = file
    sys.modules[module.__name__] = module
    sys.path.insert(1, os.path.dirname(os.path.abspath(file)))
    linecache.cache[file] = (len(source), None, source.decode("utf-8", "replace").splitlines(True), file)
    exec(compile(source, file, "exec"), module.__dict__)
    found = getattr(module, name, None)
    rules = [own for own, it in vars(module).items() if isinstance(it, type) and issubclass(it, assay.Rule) and it is not assay.Rule]
    if found is None:
        raise Refusal("it has no class %s; its rules are %s" % (name, ", ".join(rules) or "none"))
    if not isinstance(found, type) or not issubclass(found, assay.Rule):
        raise Refusal("%s is no subclass of assay.Rule; its rules are %s" % (name, ", ".join(rules) or "none"))
    if not hasattr(found, "at_step") and found.invoke_at_step is assay.Rule.invoke_at_step:
        raise Refusal("%s has neither invoke_at_step(self, step) nor at_step(self, view)" % name)
    return found


def put_definition(name, kind, initial, flags, text):
    return (put_optional(name) + struct.pack("<I", kind) + put_optional(initial) + struct.pack("<ddI", 0, 0, flags) +
            put_optional(None) + put_optional(text))


class Parameter:
    """A parameter of __init__, as a rule of assay declares it."""

    def __init__(self, parameter):
        self.name, self.default = parameter.name, parameter.default
        self.flags = REQUIRED if self.default is parameter.empty else 0
        example = None if self.flags else self.default
        named = getattr(parameter.annotation, "__name__", parameter.annotation)
        self.type = self._type_of(example, named)
        self.is_float = isinstance(example, float) or named == "float"
        self.initial = self._text_of(example)

    @staticmethod
    def _type_of(example, named):
        if isinstance(example, bool) or (example is None and named == "bool"):
            return BOOL
        if isinstance(example, numbers.Real) or (example is None and named in ("int", "float")):
            return REAL
        if isinstance(example, (list, tuple)):
            return REALS if example and all(isinstance(x, numbers.Real) for x in example) else LIST
        return LIST if example is None and named in ("list", "tuple") else TEXT

    def _text_of(self, example):
        """The default as a text that reads back as it; None: it is said in Python alone."""
        if example is None or (self.type == REAL and example != example):
            return None
        if self.type in (LIST, REALS):
            return ",".join(map(str, example)) if example and not any("," in str(x) or str(x) == "" for x in example) else None
        if self.type in (BOOL, REAL):
            return str(example)
        return example if isinstance(example, str) and example else None

    def packed(self):
        text = "A parameter of the class%s." % ("" if self.flags or self.initial else "; its default there is %.60r" % (self.default,))
        return put_definition(self.name, self.type, self.initial, self.flags, text)

    def of(self, value):
        """What __init__ gets: a whole number as int, unless it asks for a float."""
        return int(value) if self.type == REAL and not self.is_float and value.is_integer() else value


def parameters_of(rule):
    """Those of __init__ behind self and the trial, but for those that every rule has."""
    own = list(inspect.signature(rule.__init__).parameters.values())[2:]
    known = [name for name, _ in COMMON] + list(OF_BASE)
    return [Parameter(p) for p in own if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in known]


def texts_of(given, what):
    found = [given] if isinstance(given, str) else list(given or ())
    if not all(isinstance(text, str) and text for text in found):
        raise Refusal("%s of the class has to be a text, or a list of texts" % what)
    return found


# ---- what is asked


class Server:
    def __init__(self, place, abi, size):
        self.place, self.abi, self.size = place, abi, size
        self.rule = None
        self.parameters, self.values, self.common = [], {}, {}
        self.told = {}
        self.own = ("base_trial", "other_trials", "trials", "rule_name", "logger", "req_tensors")

    # -- once

    def load(self, request):
        del request
        self.rule = load_class(self.place)
        self.parameters = parameters_of(self.rule)
        takes_view = hasattr(self.rule, "at_step")
        if takes_view and self.rule.in_order:
            raise Refusal("at_step() sees steps on any rank: `in_order` goes with invoke_at_step()")
        said = (inspect.getdoc(self.rule) if "__doc__" in vars(self.rule) else None) or "A rule in Python: %s." % self.place
        advice = self.rule.advice or "The rule is the job's own: %s says what it tests." % self.place.rpartition(":")[0]
        functions = (HAS_MAP if takes_view else 0) | (HAS_FINALIZE if self.rule.in_order else 0)
        no_list = struct.pack("<BI", 0, 0)
        return (struct.pack("<III", 1, self.abi, self.size) + put_optional(self.rule.__name__) +
                put_optional(" ".join(said.split("\n\n")[0].split())) + put_optional(str(advice)) + struct.pack("<II", 0, 0) +
                LISTS * no_list + struct.pack("<IQ", functions, len(self.parameters) + 1) +
                b"".join(p.packed() for p in self.parameters) + put_definition(None, 0, None, 0, None))  # the last one ends the list

    def setup(self, request):
        if request.take("Q") != len(self.parameters) + len(COMMON):
            raise Refusal("the class has been changed since the run began")
        for parameter in self.parameters:
            has, value = self.parameter(request, parameter.type)
            if has:
                self.values[parameter.name] = parameter.of(value)
        taken = inspect.signature(self.rule.__init__).parameters
        for name, kind in COMMON:
            has, value = self.parameter(request, kind)
            self.common[name] = value if has else None
            if has and name in taken:
                self.values[name] = value
        return self.needs()

    @staticmethod
    def parameter(request, kind):
        has, _, truth, whole, real, _, items = request.take("BBBqdQQ")
        texts = request.texts(items)
        reals = [request.take("d") for _ in range(request.take("Q"))]
        value = {BOOL: bool(truth), INT: whole, REAL: real, TEXT: texts[0] if texts else None, LIST: texts, REALS: reals}[kind]
        return bool(has), value

    def needs(self):
        """The one slot of tensors that the rule is called for."""
        collections, patterns = texts_of(self.rule.collections, "collections"), texts_of(self.rule.tensors, "tensors")
        flags = NO_STRINGS if hasattr(self.rule, "at_step") else TIME_ONLY
        return (struct.pack("<IQ", 1, len(collections)) + b"".join(map(put_text, collections)) + struct.pack("<Q", len(patterns)) +
                b"".join(map(put_text, patterns)) + put_optional(None) +
                struct.pack("<IIIq?I???Q", ALL_SAVED, 0, flags, 0, False, 0, False, False, False, 0) + struct.pack("<I", 0) + put_optional(None))

    # -- a trial

    def take_trial(self, request):
        place = request.take("I")
        from assay.rule_trial import Told
        self.told[place] = Told(request)
        return b""

    def context(self, request):
        """What a request is about."""
        place, _, _, _, _ = request.take("IIqqQ")
        return self.told[place]

    def make_rule(self, told):
        from assay.rule_trial import RuleTrial
        told.trial = RuleTrial(told, self.common["worker"])
        told.rule = self.rule(told.trial, **self.values)
        told.fingerprint = self.fingerprint(told.rule)

    def new_rule(self, request):
        self.make_rule(self.context(request))
        return b""

    def fingerprint(self, rule):
        """What the rule has on itself, by name: differs where it has changed itself. What begins with _cache is not looked at."""
        found = {}
        for name, value in vars(rule).items():
            if name in self.own or name.startswith("_cache"):
                continue
            try:
                found[name] = pickle.dumps(value, 5)
            except Exception:  # noqa: BLE001 - it cannot be pickled: another object is another value
                found[name] = id(value)
        return found

    # -- a step

    def evaluate(self, request):
        import assay.rule
        told = self.context(request)
        in_order, step, mode_step, mode, rows = request.take("?qqII")
        if told.rule is None:
            self.make_rule(told)
        view = step
        if hasattr(told.rule, "at_step"):
            view = self.view(told, request, step, mode_step, mode, rows)
        call = getattr(told.rule, "at_step", told.rule.invoke_at_step)
        try:
            if view is step:
                told.rule.require(step)
            found, quiet = assay.rule.found_in(call(view), MOST_FINDINGS)
        except assay.rule.RuleEvaluationConditionMet:
            found, quiet = [assay.rule.Finding()], 0
        except assay.rule.NOTHING_TO_TEST:
            found, quiet = [], 0
        now = told.fingerprint if in_order else self.fingerprint(told.rule)
        if now != told.fingerprint:
            told.rule = None
            if view is step:
                return struct.pack("<BQI", 1, 0, 0)
            names = [name for name in {**now, **told.fingerprint} if now.get(name) != told.fingerprint.get(name)]
            raise Refusal("at_step() changed self.%s: it sees the steps on any rank, so what it keeps is lost; look back by "
                          "self.base_trial, or write invoke_at_step(). Caches are called _cache..." % ", self.".join(names[:3]), EINTERNAL)
        return self.packed(told, found, quiet)

    @staticmethod
    def view(told, request, step, mode_step, mode, rows):
        import numpy
        from assay.modes import ModeKeys
        from assay.rule import ROW, StepView
        table = numpy.frombuffer(bytes(request.data[request.at:request.at + rows * ROW.itemsize]), ROW, rows)
        return StepView(told.trial, step, ModeKeys(mode) if mode else None, mode_step, table, told.tensors, told.workers)

    @staticmethod
    def packed(told, found, quiet):
        if len(found) > MOST_FINDINGS:
            raise Refusal("more than %d findings at one step: return those that matter" % MOST_FINDINGS, EINTERNAL)
        parts = [struct.pack("<BQI", 0, quiet, len(found))]
        for one in found:
            tensor = NONE if one.tensor in ("", None) else told.tensor_ids.get(one.tensor)
            worker = NONE if one.worker in ("*", None) else told.worker_ids.get(one.worker)
            if tensor is None:
                raise Refusal("a finding names the tensor %.80r, which the trial does not have" % (one.tensor,), EINTERNAL)
            if worker is None:
                raise Refusal("a finding names the worker %.80r, which the trial does not have" % (one.worker,), EINTERNAL)
            value, threshold = (float("nan") if number is None else float(number) for number in (one.value, one.threshold))
            note = cut(one.note.replace("\0", " "), LONGEST_NOTE)
            parts.append(struct.pack("<IIdd", tensor, worker, value, threshold) + put_text(note))
        return b"".join(parts)

    def answer(self, request, kind):
        """(status, bytes)"""
        handlers = {LOAD: self.load, SETUP: self.setup, TRIAL: self.take_trial, STATE_NEW: self.new_rule, MAP: self.evaluate}
        try:
            return 0, handlers[kind](request) if kind in handlers else b""
        except Refusal as error:
            return error.status, cut(str(error), LONGEST_TEXT)
        except BaseException as error:  # noqa: B902 - whatever a rule raises, SystemExit too, is the rule's failure
            return EINTERNAL if kind in (TRIAL, STATE_NEW, MAP) else EPARAM, cut(describe(error), LONGEST_TEXT)


# ---- the connection


class Connection:
    def __init__(self):
        self.socket, self.area = socket.socket(fileno=SOCKET), None
        os.set_inheritable(SOCKET, False)
        os.set_inheritable(AREA, False)
        os.register_at_fork(after_in_child=self.drop)  # a copy of this process that comes back out of the rule has nothing to say

    def drop(self):
        self.socket.close()
        os.close(AREA)

    def receive(self, size):
        got = b""
        while len(got) < size:
            more = self.socket.recv(size - len(got))
            if not more:
                os._exit(0)
            got += more
        return got

    def request(self):
        kind, _, size = struct.unpack("<IiQ", self.receive(16))
        if size and (self.area is None or size > len(self.area)):
            self.area = mmap.mmap(AREA, os.fstat(AREA).st_size, mmap.MAP_SHARED, mmap.PROT_READ)
        return kind, Reader(memoryview(self.area)[:size] if size else b"")

    def give(self, kind, status, data):
        self.socket.sendall(struct.pack("<IiQ", kind, status, len(data)) + data)


def end_with_parent(parent):
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main():
    parent, place, abi, size = sys.argv[1:]
    sys.argv[1:] = []
    end_with_parent(int(parent))
    connection, server = Connection(), Server(place, int(abi), int(size))
    while True:
        try:
            kind, request = connection.request()
            status, data = server.answer(request, kind)
            with contextlib.suppress(Exception):  # the rule may have closed it
                sys.stdout.flush()
            connection.give(kind, status, data)
        except BaseException:  # noqa: B902
            os._exit(CUT_OFF)


if __name__ == "__main__":
    main()
