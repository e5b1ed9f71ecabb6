"""A trial by the reference's names: which tensors, steps, modes, workers and collections it has. Values: tensor.py."""
import bisect
import os
import re
import sys
import time
import warnings

from . import _library as c
from . import html
from .exceptions import (AssayError, InvalidWorker, NoMoreData, SMDebugValueError, StepNotYetAvailable, StepUnavailable, TensorUnavailable,
                         meant)
from .modes import ModeKeys, StepState, mode_of
from .recording import Recording
from .tensor import Tensor

TICK = 50_000_000  # ns that a file system's clock stands still, at most
BUILT_IN = ("all", "default", "weights", "biases", "gradients", "losses", "metrics", "inputs", "outputs", "labels", "predictions",
            "optimizer_variables")


class Collection:
    """A named group of tensors: those listed by name, and those whose name a pattern of include_regex matches. More can be included while
    a script looks at the trial; nothing is written into it."""

    def __init__(self, trial, name, include_regex=()):
        self._trial, self.name, self.include_regex = trial, name, list(include_regex)
        self._given, self._removed = set(), set()
        self._own = len(self.include_regex)  # patterns that are the trial's

    @property
    def tensor_names(self):
        """Of those that the trial has, and what a script has added."""
        return (set(self._trial._members(self)) | self._given) - self._removed

    @tensor_names.setter
    def tensor_names(self, names):
        self._given, self._removed = set(names), set(self._trial._members(self)) - set(names)

    def include(self, patterns):
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            self.include(pattern) if isinstance(pattern, (list, tuple)) else self.include_regex.append(pattern)

    def add_tensor_name(self, name):
        self._given.add(name)
        self._removed.discard(name)

    def remove_tensor_name(self, name):
        self._given.discard(name)
        self._removed.add(name)

    def has_tensor_name(self, name):
        return name in self.tensor_names

    def __repr__(self):
        return "<assay.Collection %s>" % self.name


def _state_of(path):
    """What changes when a trial in a directory does. None: it has to be read again to know, because the place is of another kind, or it
    changed just now, and may change again within the same tick of the file system's clock."""
    made, now = [], time.time_ns()
    for folder in ("", "index", "collections"):
        try:
            with os.scandir(os.path.join(path, folder)) as entries:
                made += [(folder, entry.name, entry.stat().st_mtime_ns) for entry in entries]
        except OSError:
            if folder == "index":
                return None
    return None if any(now - changed < TICK for _, _, changed in made) else sorted(made)


class Trial:
    """A recorded training. Of one that goes on, questions about steps and tensors look at what has come since, at most every
    `look_every` seconds (0: always); refresh() looks now. `range_steps` are the first global step that is looked at and the first that
    is not; None is no bound."""
    worker = None  # whose value is meant where none is named; None: that of the first one that saved it
    range_steps = None
    dynamic_refresh = True  # does it look at what has come? no_refresh() switches that off for a while

    def __init__(self, path, name=None, look_every=0.0, range_steps=None, **more):
        _refuse_unknown(more)
        self.path = os.path.expanduser(os.fspath(path).strip())
        self.name = name or os.path.basename(os.path.normpath(self.path))
        self.look_every, self.range_steps = look_every, _range(range_steps)
        self._tensors, self._changed, self._state, self._without = {}, {}, None, set()
        self.refresh()

    def __repr__(self):
        counts = (len(self.workers()), "worker"), (len(self._recording.infos), "step"), (len(self._recording.tensors), "tensor")
        return "<assay.Trial %s: %s>" % (self.path, ", ".join("%d %s%s" % (n, what, "" if n == 1 else "s") for n, what in counts))

    def _repr_html_(self):
        problems, missing = self.problems(), self.incomplete()
        steps = {mode.name: self.steps(mode) for mode in self.modes() or [ModeKeys.GLOBAL]}
        rows = [("workers", "%d of %d" % (len(self.workers()), self.num_workers)),
                *(("steps of " + name, "%d, from %d to %d" % (len(at), at[0], at[-1])) for name, at in steps.items() if at),
                ("tensors", len(self._recording.tensors)), ("has it ended", "yes" if self._recording.ended else "no")]
        rows += [("collections", ", ".join(name for name, c in self.collections().items() if c.tensor_names))]
        rows += [("steps that lack workers", len(missing))] if missing else []
        rows += [(problem["kind"], problem["text"]) for problem in problems]
        return html.block(self.path, html.table(rows))

    # -- what has come since

    def refresh(self):
        """Opens the trial again. Tensors that were asked for go on with what it has now."""
        _wait_for_hooks(self.path)
        self._state, self._looked = _state_of(self.path), time.monotonic()
        self._recording = Recording(self.path, self.range_steps)

    def _look(self):
        if self._recording.ended or not self.dynamic_refresh or time.monotonic() - self._looked < self.look_every:
            return
        _wait_for_hooks(self.path)
        state, self._looked = _state_of(self.path), time.monotonic()
        if state is None or state != self._state:
            self.refresh()

    def maybe_refresh(self, name=None):
        del name
        self._look()

    @property
    def loaded_all_steps(self):
        """Has the training said that nothing more will come?"""
        self._look()
        return self._recording.ended

    # -- workers, modes and steps

    @property
    def num_workers(self):
        return self._recording.expected

    def workers(self):
        """The workers that wrote something, in natural order."""
        return list(self._recording.worker_names)

    def _need_worker(self, worker):
        if worker not in self._recording.worker_names:
            raise InvalidWorker(worker, self.workers())

    def modes(self):
        """The modes that have steps; GLOBAL only where the training had no other."""
        self._look()
        return list(dict.fromkeys(mode for mode, _ in self._recording.infos.values() if mode))

    def steps(self, mode=ModeKeys.GLOBAL, show_incomplete_steps=False):
        """The steps of a mode, ascending. While the training goes on, those that some worker has yet to write are left out unless
        asked for; once it has ended all are there, and incomplete() says who is missing."""
        self._look()
        return self._recording.steps(mode_of(mode), show_incomplete_steps)

    def incomplete(self):
        """{global step: the workers that should have written it and have not}"""
        self._look()
        return dict(self._recording.missing)

    @property
    def last_complete_step(self):
        """The last global step that every worker wrote; -1: none."""
        self._look()
        return self._recording.last_complete

    @property
    def last_index_token(self):
        """The file of that step in the index, of the last worker in the order of bytes; None: there is none."""
        step, workers = self.last_complete_step, sorted(self.workers())
        if step < 0 or not workers:
            return None
        prefix = self.path.split("/", 3)[3] if self.path.lower().startswith("s3://") else self.path
        return os.path.join(prefix, "index", "%09d" % (step // 1000), "%012d_%s.json" % (step, workers[-1]))

    def global_step(self, mode, mode_step):
        """None: there is no such step. A global step is itself, whether there is one or not."""
        mode = mode_of(mode)
        if mode == ModeKeys.GLOBAL:
            return mode_step
        if self._recording.global_step(mode, mode_step) is None:
            self._look()
        return self._recording.global_step(mode, mode_step)

    def mode_modestep(self, step):
        """(mode, step in it) of a global step; (None, None): there is no such step."""
        if step not in self._recording.infos:
            self._look()
        return self._recording.infos.get(step, (None, None))

    def mode(self, global_step):
        return self.mode_modestep(global_step)[0]

    def mode_step(self, global_step):
        return self.mode_modestep(global_step)[1]

    def has_passed_step(self, step, mode=ModeKeys.GLOBAL):
        """AVAILABLE: it is there, of every worker, or as it will stay. UNAVAILABLE: it was not saved, and will not be.
        NOT_YET_AVAILABLE: it may come."""
        self._look()
        mode, recording = mode_of(mode), self._recording
        steps = recording.modes.get(mode, [])
        at = bisect.bisect_left(steps, step)
        if recording.ended:
            passed = True
        else:
            passed = at < len(steps) and recording.global_step(mode, steps[at]) <= recording.last_complete
        if not passed:
            return StepState.NOT_YET_AVAILABLE
        return StepState.AVAILABLE if at < len(steps) and steps[at] == step else StepState.UNAVAILABLE

    def wait_for_steps(self, required_steps, mode=ModeKeys.GLOBAL):
        """Returns when all of these steps are there. StepUnavailable: one was not saved; NoMoreData: the training ended before."""
        mode = mode_of(mode)
        for step in required_steps:
            while True:
                state = self.has_passed_step(step, mode)
                if state == StepState.AVAILABLE:
                    break
                if state == StepState.UNAVAILABLE:
                    last = max(self._recording.modes.get(mode, []), default=-1)
                    raise NoMoreData(step, mode, last) if step > last else StepUnavailable(step, mode)
                if not self.dynamic_refresh:
                    raise StepNotYetAvailable(step, mode)  # nothing comes while nobody looks
                time.sleep(max(0.05, self._looked + self.look_every - time.monotonic()))

    def _need_step(self, step, mode):
        """Raises unless the trial has the step, after another look if it may have come."""
        if self._recording.global_step(mode, step) is None:
            self._look()
        if self._recording.global_step(mode, step) is None:
            state = self.has_passed_step(step, mode)
            raise StepNotYetAvailable(step, mode) if state == StepState.NOT_YET_AVAILABLE else StepUnavailable(step, mode)

    # -- tensors and collections

    def tensor_names(self, show_prefixed_tensors=False, *, step=None, mode=ModeKeys.GLOBAL, regex=None, collection=None):
        """Names in byte order: of all tensors, or of those saved at a step or in a mode, that match a pattern (or one of a list)
        anywhere, or that belong to a collection. None of a step that is not there. show_prefixed_tensors changes nothing, as in the reference."""
        del show_prefixed_tensors
        self._look()
        mode, recording = mode_of(mode), self._recording
        if regex is not None and collection is not None:
            raise SMDebugValueError("only one of regex and collection can be given")
        names = list(recording.tensors) if regex is None else self._matching([regex] if isinstance(regex, str) else regex)
        if collection is not None:
            chosen = self.collection(getattr(collection, "name", collection)).tensor_names
            names = [name for name in names if name in chosen]
        if step is not None:
            return [name for name in names if step in recording.rows(name).by_mode[mode.value]]
        if mode != ModeKeys.GLOBAL:
            return [name for name in names if recording.rows(name).has(mode)]
        return [name for name in names if recording.rows(name).has(mode)] if self.range_steps else names

    def _matching(self, patterns):
        by_pattern = {pattern: self._recording.select(regex=pattern) for pattern in patterns}
        for pattern, names in by_pattern.items():
            if not names and pattern not in self._without:
                self._without.add(pattern)  # said once
                words = {word for name in self._recording.tensors for word in [name, *re.split(r"[/._:]", name)] if len(word) > 2}
                near = meant(re.sub(r"[^\w/.:-]", "", pattern), words, 0.75)
                warnings.warn("no tensor matches \"%s\"%s" % (pattern, near), stacklevel=3) if near else None
        chosen = {name for names in by_pattern.values() for name in names}
        return [name for name in self._recording.tensors if name in chosen]

    def _members(self, collection):
        """The names of a collection's tensors, but for those that a script has added by name."""
        own = self._recording.select(collection=collection.name) if collection.name in self._recording.collections() else []
        return own + self._matching(collection.include_regex[collection._own:])

    def _values_of(self, step, mode, names):
        """Values by the number at the end of the names: predictions_2 is before predictions_10."""
        return [self.tensor(name).value(step, mode) for name in sorted(names, key=_number_at_end)]

    def inputs(self, step, mode=ModeKeys.GLOBAL):
        """The values of the collection inputs at a step, in order of their numbers."""
        return self._values_of(step, mode, self.tensor_names(step=step, mode=mode, collection=self.collection("inputs")))

    def labels(self, step, mode=ModeKeys.GLOBAL):
        return self._values_of(step, mode, self.tensor_names(step=step, mode=mode, regex="labels*"))

    def predictions(self, step, mode=ModeKeys.GLOBAL):
        return self._values_of(step, mode, self.tensor_names(step=step, mode=mode, regex="predictions*"))

    def has_tensor(self, tname):
        if tname not in self._recording.tensors:
            self._look()
        return tname in self._recording.tensors

    def tensor(self, tname):
        if not self.has_tensor(tname):
            raise TensorUnavailable(tname, meant(tname, self._recording.tensors, 0.8))
        return self._tensors.setdefault(tname, Tensor(self, tname))

    def tensors(self):
        """All tensors, in byte order of their names."""
        return [self.tensor(name) for name in self.tensor_names()]

    def collections(self):
        """{name: Collection}"""
        self._look()
        found = {name: self._changed.get(name) or Collection(self, name, patterns) for name, patterns in self._recording.collections().items()}
        return {**found, **self._changed}

    def collection(self, coll_name):
        """A collection. One that the trial has not is a new one, for tensors to be included in; raises if its name looks like one of the trial's
        misspelt."""
        found = self.collections()
        if coll_name not in found:
            near = meant(coll_name, [*found, *BUILT_IN], 0.85) if coll_name not in BUILT_IN else ""
            if near:
                raise AssayError("no collection is called \"%s\"%s" % (coll_name, near), c.ENOTFOUND)
            found[coll_name] = Collection(self, coll_name)
        return self._changed.setdefault(coll_name, found[coll_name])

    def problems(self):
        """What is damaged, missing or odd, a dictionary each: kind, file, text, step and offset (-1: none), is_loss."""
        return self._recording.problems()


class LocalTrial(Trial):
    """A trial in a directory, by the reference's name and arguments."""

    def __init__(self, name, dirname, range_steps=None, **more):
        super().__init__(dirname, name, range_steps=range_steps, **more)
        self.trial_dir = self.path


class S3Trial(Trial):
    """A trial in S3, by the reference's name and arguments."""

    def __init__(self, name, bucket_name, prefix_name, range_steps=None, **more):
        super().__init__("s3://%s/%s" % (bucket_name, prefix_name), name, range_steps=range_steps, **more)
        self.bucket_name, self.prefix_name = bucket_name, prefix_name


def create_trial(path, name=None, profiler=False, output_dir=None, **more):
    """A trial by its location, by the reference's name. Of its arguments range_steps counts; those that tell how the reference is to read
    (parallel, check, index_mode, cache) change nothing."""
    del output_dir
    if profiler:
        raise SMDebugValueError("profiler data is read by `assay run` and `assay show TRIAL --metric NAME`, not by this package")
    path = os.fspath(path).strip()
    name = name or os.path.basename(os.path.normpath(path))
    if path.lower().startswith("s3://"):
        bucket, _, prefix = path[5:].partition("/")
        return S3Trial(name, bucket, prefix, **more)
    return LocalTrial(name, path, **more)


def _refuse_unknown(more):
    for key in more:
        if key not in ("parallel", "check", "index_mode", "cache"):
            raise TypeError("a trial has no argument %r: name, look_every, range_steps" % key)


def _range(steps):
    """(begin, end) of range_steps, or None."""
    if steps is None:
        return None
    begin, end = steps
    for bound in (begin, end):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int) or bound < 0):
            raise SMDebugValueError("range_steps = %r: expected two steps, or None" % (steps,))
    if begin is not None and end is not None and end <= begin:
        raise SMDebugValueError("range_steps = %r: the end has to be behind the begin" % (steps,))
    return begin, end


def _number_at_end(name):
    number = re.search(r".+_(\d+)$", name)
    return int(number[1]) if number else 0


def _wait_for_hooks(path):
    """What a hook of this process has recorded so far is in the trial."""
    hook = sys.modules.get("assay_hook")
    if hook is not None:
        hook.flush(path)
