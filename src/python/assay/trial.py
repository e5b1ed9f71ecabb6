"""A trial by the reference's names: which tensors, steps, modes, workers and collections it has. Values: tensor.py."""
import os
import time

from . import _library as c
from .exceptions import (AssayError, InvalidWorker, NoMoreData, StepNotYetAvailable, StepUnavailable, TensorUnavailable)
from .modes import ModeKeys, StepState, mode_of
from .recording import Recording
from .tensor import Tensor


class Collection:
    """A named group of tensors: those listed by name, and those whose name a pattern of include_regex matches."""

    def __init__(self, trial, name, include_regex):
        self._trial, self.name, self.include_regex = trial, name, include_regex

    @property
    def tensor_names(self):
        return set(self._trial.tensor_names(collection=self.name))

    def __repr__(self):
        return "<assay.Collection %s>" % self.name


class Trial:
    """A recorded training. Of one that goes on, questions about steps and tensors look at what has come since, at most every
    `look_every` seconds; refresh() looks now."""
    worker = None  # whose value is meant where none is named; None: that of the first one that saved it

    def __init__(self, path, name=None, look_every=2.0):
        self.path = os.fspath(path)
        self.name = name or os.path.basename(os.path.normpath(self.path))
        self.look_every = look_every
        self._recording, self._looked = Recording(self.path), time.monotonic()
        self._tensors = {}

    def __repr__(self):
        return "<assay.Trial %s: %d workers, %d steps, %d tensors>" % (
            self.path, len(self.workers()), len(self._recording.infos), len(self._recording.tensors))

    # -- what has come since

    def refresh(self):
        """Opens the trial again. Tensors that were asked for go on with what it has now."""
        self._recording, self._looked = Recording(self.path), time.monotonic()

    def _look(self):
        if not self._recording.ended and time.monotonic() - self._looked >= self.look_every:
            self.refresh()

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
        return max((step for step in self._recording.infos if step not in self._recording.missing), default=-1)

    def global_step(self, mode, mode_step):
        """None: there is no such step."""
        return self._recording.global_step(mode_of(mode), mode_step)

    def mode_modestep(self, step):
        """(mode, step in it) of a global step; (None, None): there is no such step."""
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
        later_complete = any(at > step and recording.is_complete(mode, at) for at in reversed(steps))
        if recording.global_step(mode, step) is not None:
            done = recording.ended or later_complete or recording.is_complete(mode, step)
            return StepState.AVAILABLE if done else StepState.NOT_YET_AVAILABLE
        return StepState.UNAVAILABLE if recording.ended or later_complete else StepState.NOT_YET_AVAILABLE

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
                time.sleep(max(0.01, self._looked + self.look_every - time.monotonic()))

    def _need_step(self, step, mode):
        """Raises unless the trial has the step, after another look if it may have come."""
        if self._recording.global_step(mode, step) is None:
            self._look()
        if self._recording.global_step(mode, step) is None:
            state = self.has_passed_step(step, mode)
            raise StepNotYetAvailable(step, mode) if state == StepState.NOT_YET_AVAILABLE else StepUnavailable(step, mode)

    # -- tensors and collections

    def tensor_names(self, *, step=None, mode=ModeKeys.GLOBAL, regex=None, collection=None):
        """Names in byte order: of all tensors, or of those saved at a step or in a mode, that match a pattern (or one of a list)
        anywhere, or that belong to a collection."""
        self._look()
        mode, recording = mode_of(mode), self._recording
        if regex is not None and collection is not None:
            raise ValueError("only one of regex and collection can be given")
        if regex is None:
            names = recording.select(collection=getattr(collection, "name", collection))
        else:
            patterns = [regex] if isinstance(regex, str) else list(regex)
            chosen = {name for pattern in patterns for name in recording.select(regex=pattern)}
            names = [name for name in recording.tensors if name in chosen]
        if step is not None:
            self._need_step(step, mode)
            return [name for name in names if step in self._recording.rows(name).by_mode[mode.value]]
        if mode != ModeKeys.GLOBAL:
            return [name for name in names if recording.rows(name).has(mode)]
        return names

    def has_tensor(self, tname):
        if tname not in self._recording.tensors:
            self._look()
        return tname in self._recording.tensors

    def tensor(self, tname):
        if not self.has_tensor(tname):
            raise TensorUnavailable(tname)
        return self._tensors.setdefault(tname, Tensor(self, tname))

    def tensors(self):
        """All tensors, in byte order of their names."""
        return [self.tensor(name) for name in self.tensor_names()]

    def collections(self):
        """{name: Collection}"""
        return {name: Collection(self, name, patterns) for name, patterns in self._recording.collections().items()}

    def collection(self, coll_name):
        found = self.collections().get(coll_name)
        if found is None:
            self._recording.select(collection=coll_name)  # raises, with the nearest name
            raise AssayError("no collection is called %r" % coll_name, c.ENOTFOUND)
        return found

    def problems(self):
        """What is damaged, missing or odd, a dictionary each: kind, file, text, step and offset (-1: none), is_loss."""
        return self._recording.problems()
