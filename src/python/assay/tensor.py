"""A tensor of a trial: where it was saved, and its values, shapes and reductions."""
import bisect
import contextlib
import ctypes
import os

import numpy

from . import _library as c
from . import html
from .exceptions import AssayError, ShapeUnavailableForStep, TensorUnavailableForStep
from .modes import ModeKeys, mode_of
from .recording import RAW

# Reductions that the library's one pass over a value gives.
OF_STATS = {"min": "min", "max": "max", "mean": "mean", "std": "std", "variance": "variance", "l1": "l1", "l2": "l2",
            "abs_mean": "abs_mean", "abs_max": "abs_max", "abs_l1": "l1", "abs_l2": "l2", "abs_sum": "l1"}

CURVE_POINTS = 100  # that a notebook shows, at least, where there are as many


class Tensor:
    """One tensor, by its name. Steps count within a mode; in ModeKeys.GLOBAL, the default, over all of them. A worker is
    given by its name; None is the first one that saved the tensor at the step."""

    def __init__(self, trial, name):
        self.trial, self.name = trial, name
        self._recording = self._rows_of_it = None

    def __repr__(self):
        return "<assay.Tensor %s of %s>" % (self.name, self.trial.name)

    def _repr_html_(self):
        """Where it was saved, figures of the last step, and the course of its mean magnitude, or of the value if it is one number."""
        steps = self.steps(show_incomplete_steps=True)
        if not steps:
            return html.block(self.name, "<p>no steps</p>")
        rows = [("steps", "%d, from %d to %d" % (len(steps), steps[0], steps[-1])), ("workers", ", ".join(self.workers(steps[-1])))]
        points = []
        with contextlib.suppress(AssayError):
            rows.append(("shape", self.shape(steps[-1])))
        with contextlib.suppress(AssayError):
            rows += self.statistics(steps[-1]).items()
        each = max(1, len(steps) // CURVE_POINTS)
        for step in steps[::each]:
            with contextlib.suppress(AssayError):
                found = self.statistics(step)
                points.append((step, found["mean"] if found["count"] == 1 else found["abs_mean"]))
        return html.block(self.name, html.table(rows), html.curve(points))

    def _rows(self):
        if self._recording is not self.trial._recording:
            self._recording = self.trial._recording
            self._rows_of_it = self._recording.rows(self.name)
        return self._rows_of_it

    def _at(self, step, mode):
        """{worker: row} of a step."""
        at = self._rows().by_mode[mode._value_].get(step)
        if at is None:
            self.trial._need_step(step, mode)  # may have looked again
            at = self._rows().by_mode[mode._value_].get(step)
            if at is None:
                raise TensorUnavailableForStep(self.name, step, mode, what="it")
        return at

    def _row(self, step, mode, worker):
        """(row, mode), or what says why there is none."""
        if mode.__class__ is not ModeKeys:
            mode = mode_of(mode)
        at = self._at(step, mode)
        worker = self.trial.worker if worker is None else worker
        if worker is None:
            return next(iter(at.values())), mode
        row = at.get(worker)
        if row is None:
            self.trial._need_worker(worker)
            raise TensorUnavailableForStep(self.name, step, mode, what="it", worker=worker)
        return row, mode

    def steps(self, mode=ModeKeys.GLOBAL, show_incomplete_steps=False):
        """The steps of a mode at which the tensor was saved, ascending."""
        self.trial._look()
        mode = mode_of(mode)
        there = set(self.trial._recording.steps(mode, show_incomplete_steps))
        return [step for step in self._rows().steps(mode) if step in there]

    def workers(self, step_num, mode=ModeKeys.GLOBAL):
        """The workers that saved it at a step."""
        return list(self._at(step_num, mode_of(mode)))

    def prev_steps(self, step, n=None, mode=ModeKeys.GLOBAL):
        """The last n steps of it up to and with `step`; without n all."""
        steps = self.steps(mode)
        end = bisect.bisect_right(steps, step)
        return steps[0 if n is None else max(0, end - n):end]

    def value(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The value as a numpy array of the caller's own; of strings an array of str. Dtypes that numpy lacks come as float32, exactly.
        A large one that no checksum covers is not read but mapped: pages are copied where they are written to."""
        row, mode = self._row(step_num, mode, worker)
        value = self._rows_of_it.ready.pop(row, None)
        return self._read(row, step_num, mode, worker) if value is None else value

    def values(self, mode=ModeKeys.GLOBAL, worker=None):
        """The value at every step of the mode, by step."""
        return {step: self.value(step, mode, worker) for step in self.steps(mode)
                if worker is None or worker in self.workers(step, mode)}

    def mapped(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The value without a copy: a read-only array over the file, where it lies there in one piece as numpy has it in memory;
        else as value(). No checksum is looked at, and the file must not become shorter while the array is used."""
        row, mode = self._row(step_num, mode, worker)
        place = self._recording.place(self._rows().number, row)
        if place is None:
            return self._read(row, step_num, mode, worker)
        path, offset, dtype, shape = place
        return numpy.memmap(os.fsdecode(path), dtype, "r", offset, shape or (1,)).reshape(shape)

    def _read(self, row, step, mode, worker):
        rows = self._rows_of_it
        if not rows.kinds[row] & RAW:
            raise TensorUnavailableForStep(self.name, step, mode, has_reductions=rows.kinds[row] > RAW, worker=worker)
        return self._recording.read(rows, row, mode)

    def shape(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """The shape as a tuple, also where only the shape was saved."""
        row, mode = self._row(step_num, mode, worker)
        head = self._recording.head(self._rows_of_it.number, row)
        if head is None:
            raise ShapeUnavailableForStep(self.name, step_num, mode, worker)
        return tuple(head.shape[:head.dims])

    def reduction_values(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """What the training saved of reductions: {(name, is it of absolute values): value}."""
        row, mode = self._row(step_num, mode, worker)
        kinds = self._rows_of_it.kinds[row]
        found = {}
        for kind in range(1, 32):
            if kinds >> kind & 1:
                name = c.lib.assay_recording_kind_name(kind).decode()
                key = (name[4:], True) if name.startswith("abs_") else (name, False)
                found[key] = self._recording.reduction(self._rows_of_it.number, row, kind)
        return found

    def reduction_value(self, step_num, reduction_name, mode=ModeKeys.GLOBAL, worker=None, abs=False):
        """The reduction that the training saved; else computed from the value, in double."""
        row, mode = self._row(step_num, mode, worker)
        name = ("abs_" if abs else "") + reduction_name
        kind = c.lib.assay_recording_kind(name.encode())
        if kind <= 0:
            raise ValueError("%r is no reduction; they are min, max, mean, std, variance, sum, prod, l1 and l2" % reduction_name)
        rows = self._rows_of_it
        kinds = rows.kinds[row]
        if kinds >> kind & 1:
            return self._recording.reduction(rows.number, row, kind)
        if not kinds & RAW:
            raise TensorUnavailableForStep(self.name, step_num, mode, what=name, worker=worker)
        if name == "sum":
            return self._recording.stats(rows.number, row).sum
        if name in OF_STATS:
            return getattr(c.lib, "assay_stats_" + OF_STATS[name])(ctypes.byref(self._recording.stats(rows.number, row)))
        wide = self._recording.wide(rows.number, row)
        wide = numpy.abs(wide) if abs else wide
        return float(getattr(numpy, {"variance": "var"}.get(reduction_name, reduction_name))(wide))

    def statistics(self, step_num, mode=ModeKeys.GLOBAL, worker=None):
        """What `assay show` prints: a dictionary with count, nan, inf, zeros, min, max, mean, sum, std, abs_mean, l1 and l2."""
        row, mode = self._row(step_num, mode, worker)
        if not self._rows_of_it.kinds[row] & RAW:
            raise TensorUnavailableForStep(self.name, step_num, mode, worker=worker)
        stats = self._recording.stats(self._rows_of_it.number, row)
        found = {"count": stats.count, "nan": stats.nan, "inf": stats.pos_inf + stats.neg_inf, "zeros": stats.zeros, "sum": stats.sum}
        for name in ("min", "max", "mean", "std", "abs_mean", "l1", "l2"):
            found[name] = getattr(c.lib, "assay_stats_" + name)(ctypes.byref(stats))
        return found
