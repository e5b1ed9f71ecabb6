"""budget.py - how often to save so that recording stays within its budget.

A budget is a share of the step time ("1 %"), a number of bytes ("1 GB"), or both ("1 %, 1 GB").

Intervals are 1, 2, 10, 20, 100, 200, ...: each divides those behind it. Workers do not talk to each other, so each chooses for
itself; even so, the steps that one with a longer interval saves are saved by all, and rules can compare workers at them.

Time: the first saved step and those after it tell what a step takes with and without saving. From then on an interval is the
shortest one with which (what a saved step costs) / interval is at most the share of a plain step. It grows when saving becomes
dearer and never shrinks again. Bytes: each time half of what was left of them is used up, the interval grows.
"""
import collections
import re
import statistics
import time

FIRST_INTERVAL = 10
NEVER = 1 << 40
_UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "b": 1}
_KEPT = 15  # the latest steps that count


def intervals():
    """1, 2, 10, 20, 100, ..."""
    ten = 1
    while ten < NEVER:
        yield ten
        yield 2 * ten
        ten *= 10


def parse(text):
    """(share or None, bytes or None) of "1 %", "1 GB", "0.5 %, 200 MB"; None is no limit."""
    share = size = None
    for part in (text or "").split(","):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(%|[kMGT]?B)\s*(of step time)?\s*", part, re.IGNORECASE)
        if text is not None and (not found or float(found[1]) <= 0):
            raise ValueError("budget = %r: expected a share of the step time (\"1 %%\"), bytes (\"1 GB\"), or both (\"1 %%, 1 GB\")"
                             % text)
        if found and found[2] == "%":
            share = float(found[1]) / 100
        elif found:
            size = float(found[1]) * _UNITS[found[2].lower()]
    return share, size


class Plain(collections.deque):
    """Seconds that the latest steps took without what was recorded at them."""

    def __init__(self):
        super().__init__(maxlen=_KEPT)


class Budget:
    """Watches the steps of one worker. `workers` share the bytes. `first` is the interval until the cost is known. `part` is how much of
    the share it has, where several budgets have it between them, and `plain` the steps that they all go by."""

    def __init__(self, text, workers=1, first=FIRST_INTERVAL, part=1.0, plain=None):
        self.share, size = parse(text)
        self.share = self.share and self.share * part
        self.size = size / workers if size else None
        self.interval = first if self.share else 1
        self._plain, self._costs, self._halvings, self._decided = Plain() if plain is None else plain, [], 0, False

    def plain_step(self, seconds):
        """A step took so long at which nothing but losses was saved."""
        self._plain.append(seconds)

    def saved_step(self, cost, used):
        """Saving at a step cost so many seconds, and so many bytes were written in all. True when the interval is another one."""
        self._costs = (self._costs + [cost])[-_KEPT:]
        return self._choose(used)

    def _choose(self, used):
        before = self.interval
        if self.share and self._plain:
            allowed = self.share * statistics.median(self._plain)
            dear = statistics.median(self._costs)
            wanted = next((i for i in intervals() if dear <= allowed * i), NEVER)
            self.interval = wanted if not self._decided else max(wanted, self.interval)
            self._decided = True
        while self.size and used > self.size * (1 - 0.5 ** (self._halvings + 1)) and self.interval < NEVER:
            self._halvings += 1
            self.interval = next(i for i in intervals() if i > self.interval)
            if used > 0.98 * self.size:
                self.interval = NEVER
        return self.interval != before


class Turns:
    """Which steps have laws, so that they take no more than a share of the time of all: some that follow each other, since moments need
    the step before. None: all of them. What laws take is more than their own calls: another thread that reads tensors makes the training's
    slower. So steps with laws, the first turn, are held against those without, the second one, and from then on the latest of both. Workers do not talk to each other; those of which
    laws take less have all turns that the others have, so that what compares workers finds the steps of the slowest."""
    TOGETHER = 8  # steps of a turn
    ENOUGH, KEPT = 5, 15  # steps that are known, and that count
    MOST = 7 / 8  # of all, once these are known

    def __init__(self, share):
        self.share, self.cost, self.began, self.count = share, 0.0, None, 0
        self.part = 1.0  # of all turns
        self.is_on, self.has_turn, self.costs, self.taken = False, True, [], ([], [])  # seconds of steps without laws, and with them

    def next(self):
        """Has the step that begins now its turn?"""
        now = time.perf_counter()
        if self.share and self.began is not None:
            self.costs = (self.costs + [self.cost])[-self.KEPT:] if self.is_on else self.costs
            self.taken[self.is_on].append(now - self.began)
            del self.taken[self.is_on][:-self.KEPT]
        self.began, self.cost = now, 0.0
        number, at = divmod(self.count, self.TOGETHER)
        self.count += 1
        if at == 0:
            self.part = self.affordable()
            self.has_turn = self.place(number) < self.part and not (self.share and number == 1)
        return self.has_turn

    @staticmethod
    def place(number):
        """Between 0 and 1: the bits of a number behind the point, the other way round (van der Corput 1935). Those below any part of 1 are spread evenly."""
        place, worth = 0.0, 0.5
        while number:
            place, number, worth = place + worth * (number & 1), number >> 1, worth / 2
        return place

    def affordable(self):
        """The part of all turns whose laws take that share."""
        without, those = self.taken
        if not self.share or len(self.costs) < self.ENOUGH:
            return 1.0
        cost = statistics.median(self.costs)
        plain = statistics.median(without) if len(without) >= self.ENOUGH else statistics.median(those) - cost
        if len(without) >= self.ENOUGH:
            cost = max(cost, statistics.median(those) - plain)
        return min(self.MOST, self.share * max(plain, 1e-9) / max(cost, 1e-9))
