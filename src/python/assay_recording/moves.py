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
        self._high, self._high_lasts = -math.inf, 0  # one of these losses, and for how many losses more it is one of them
        self.left, self._paused, self._times = 0, 0, 0  # left: steps that are recorded in detail
        self._ended_bad = False

    def next_step(self):
        if self._paused:  # which lasts longer than what is left
            self.left, self._paused = max(self.left - 1, 0), self._paused - 1

    def detail(self):
        """Is this step recorded in detail?"""
        return self.left > 0

    def loss(self, value):
        """A loss of this step is known. True where detail begins with it."""
        losses = self._losses
        if losses and (losses[-1] >= value > -math.inf or self._high_lasts > 0 and self._high >= value > -math.inf):
            self._high_lasts -= 1  # no higher than one of them, as nearly every loss: the rest takes longer than a small step may
            losses.append(value)
            self._ended_bad = False
            return False
        finite = math.isfinite(value)
        moved = not finite and not self._ended_bad or finite and self._jumped(value)
        self._ended_bad = not finite  # a training that stays NaN is told once
        if finite:
            self._losses.append(value)
            self._high = max(self._losses)
            self._high_lasts = REMEMBERED - len(self._losses) + self._losses.index(self._high) + 1
        if not moved or self.left or self._paused or self._times == AT_MOST:
            return False
        self._times += 1
        self.left, self._paused = DETAIL, DETAIL + PAUSE
        return True

    def _jumped(self, value):
        if len(self._losses) < ENOUGH or value <= max(self._losses):
            return False
        seen = list(self._losses)
        usual = statistics.median(abs(a - b) for a, b in zip(seen, seen[1:]))
        return value > max(seen) + FAR * max(usual, 1e-3 * abs(statistics.median(seen)))
