"""moves.py - tells from the loss of each step when a training leaves its course, so that more is recorded from that step on.

A loss that is not finite, or that lies far above those of the last steps, starts a time of detail. Detail lasts a few steps and does not come
again at once, so that a training whose loss always jumps is not recorded whole.
"""
import collections
import math
import statistics

REMEMBERED = 50    # losses that make up the course
ENOUGH = 10        # of them before a jump can be told
FAR = 12.0         # times the usual distance between neighbours, above the highest of the course
DETAIL = 10        # steps that are recorded in detail
PAUSE = 200        # steps without a new detail after its end
AT_MOST = 20       # times in a training


class Course:
    """Of one worker's training steps."""

    def __init__(self):
        self._losses = collections.deque(maxlen=REMEMBERED)
        self._left, self._paused, self._times = 0, 0, 0
        self._ended_bad = False

    def next_step(self):
        self._left, self._paused = max(self._left - 1, 0), max(self._paused - 1, 0)

    def detail(self):
        """Is this step recorded in detail?"""
        return self._left > 0

    def loss(self, value):
        """A loss of this step is known. True where detail begins with it."""
        finite = math.isfinite(value)
        moved = not finite and not self._ended_bad or finite and self._jumped(value)
        self._ended_bad = not finite  # a training that stays NaN is told once
        if finite:
            self._losses.append(value)
        if not moved or self._left or self._paused or self._times == AT_MOST:
            return False
        self._times += 1
        self._left, self._paused = DETAIL, DETAIL + PAUSE
        return True

    def _jumped(self, value):
        if len(self._losses) < ENOUGH or value <= max(self._losses):  # as nearly every loss: the rest takes longer than a small step may
            return False
        seen = list(self._losses)
        usual = statistics.median(abs(a - b) for a, b in zip(seen, seen[1:]))
        return value > max(seen) + FAR * max(usual, 1e-3 * abs(statistics.median(seen)))
