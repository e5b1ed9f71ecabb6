"""ring.py - keeps in memory what the last steps of a training began with, until it is known whether that is of interest.

Weights are copied when a step begins, as the update overwrites them; inputs and labels are kept as they are, and left out where somebody
wrote over them since. Where the budget allows no copy at each step, weights are kept of fewer steps, and of none where memory does not do.
"""
import collections
import sys
import time

import assay_hook
from assay_hook_topology import local_piece
from assay_recording import devices
from assay_recording.budget import parse

STEPS = 3      # of training whose inputs are kept: the current one, and those before it
COPIES = 2     # of the weights
FARTHEST = 63  # steps back that the library goes
FED_PART = 4   # inputs take at most one of so many parts of the memory
LOOK_AGAIN = 50  # copies after which parameters are asked for again


def _size(tensor):
    return tensor.numel() * tensor.element_size()


class Ring:
    """Of one worker. `memory` is what it may take ("256 MB"; None: nothing), `budget` a share of the step time."""

    def __init__(self, hook, memory, budget):
        """`budget`: of copies of the weights."""
        self._hook, self._memory, self.budget = hook, int(parse(memory)[1] or 0), budget
        self.cost = 0.0  # seconds, of this step's copy
        self._losses = collections.deque(maxlen=FARTHEST)  # that were not recorded, as (number of the step, name, value)
        self._fed, self._copies = collections.deque(), collections.deque()  # (number of the step, what is kept of it[, bytes])
        self.number, self._fed_size, self._copied, self._said = 0, 0, 0, False
        self._trained, self._on_the_way, self._copiers = [], [], {}

    def next_step(self):
        self.number += 1
        self.cost = 0.0

    def _drop_fed(self):
        self._fed_size -= self._fed.popleft()[2]

    def hold(self, names, values, saved):
        """Inputs or labels of the current step. Of what is saved only the place: who writes there overwrites older ones, too."""
        if not self._fed or self._fed[-1][0] != self.number:
            self._fed.append([self.number, [], 0])
            if len(self._fed) > STEPS:
                self._drop_fed()
        step, size, tensor = self._fed[-1], 0, assay_hook._torch().Tensor
        for name, value in zip(names, values):
            if isinstance(value, tensor):
                kept = None if saved else value.detach() if value.requires_grad else value
                step[1].append((name, kept, value._version, value.data_ptr()))
                size += 0 if saved else value.numel() * value.element_size()
        if size:
            step[2] += size
            self._fed_size += size
            while self._fed_size > self._memory // FED_PART:
                self._drop_fed()

    def hold_loss(self, name, value):
        """A loss of the current step that is not recorded: a tensor, or a number that was one of float32."""
        self._losses.append((self.number, name, value))

    def copy(self, parameters):
        """Copies what is trained of parameters(), which gives names and tensors, as often as the budget allows. wait() is due before they change."""
        if not self._memory or self.number % self.budget.interval:
            return
        began = time.perf_counter()
        if self._copied % LOOK_AGAIN == 0:
            strided = assay_hook._torch().strided
            self._trained = [(name, p) for name, p in parameters() if p.requires_grad and p.layout == strided]
        self._copied += 1
        pieces = [local_piece(parameter.detach()) for _, parameter in self._trained]
        size, room = sum(_size(piece) for piece, _ in pieces), self._memory - self._memory // FED_PART
        if size > room:
            self._say(size, room)
            return
        full = len(self._copies) == COPIES or (len(self._copies) + 1) * size > room
        hosts = [host for _, host, _ in self._copies.popleft()[1]] if full else []
        fits = [(h.shape, h.dtype) for h in hosts] == [(p.shape, p.dtype) for p, _ in pieces]
        hosts = hosts if fits else [self._copier(piece).host(piece) for piece, _ in pieces]
        started = [self._copier(piece).start(piece, host) for (piece, _), host in zip(pieces, hosts)]
        self._on_the_way = [copied for copied in started if copied is not None]
        self._copies.append((self.number, [(name, host, layout) for (name, _), host, (_, layout) in zip(self._trained, hosts, pieces)]))
        self.cost = time.perf_counter() - began
        if fits:  # else the time was that of making room
            self.budget.saved_step(self.cost, 0)

    def _copier(self, piece):
        device = piece.device
        if device not in self._copiers:
            self._copiers[device] = devices.COPIERS.get(device.type, devices.Plain)(device)
        return self._copiers[device]

    def _say(self, size, room):
        if not self._said and self._hook._rank == 0:
            print("assay: a copy of the weights takes %.1f MB, and auto(memory=) leaves %.1f: of the steps before the loss leaves its course "
                  "inputs alone are recorded" % (size / 1e6, room / 1e6), file=sys.stderr)
        self._said = True

    def is_copying(self):
        return bool(self._on_the_way)

    def wait(self):
        """Lets nothing overwrite what is still being copied from a device."""
        for copied in self._on_the_way:
            getattr(copied, "wait", copied.synchronize)()
        self._on_the_way = []

    # -- what is written

    def write(self):
        """Adds to the last steps what is kept of them. True when weights of the current one were kept."""
        hook, steps, seen = self._hook, {}, set()
        for copied in self._on_the_way:
            copied.synchronize()
        for number, kept in self._copies:
            steps.setdefault(number, []).extend(kept)
        for number, kept, _ in reversed(self._fed):
            steps.setdefault(number, []).extend((name, value, None) for name, value in self._of_passes(number, kept, seen))
            seen.update(place for _, _, _, place in kept)
        for number, name, value in self._losses:
            value = assay_hook._torch().tensor(value) if isinstance(value, float) else value
            steps.setdefault(number, []).append((name, value, None))
        for number in sorted(steps):
            if self.number - number <= FARTHEST and self._go_back(self.number - number) >= 0:
                for name, value, layout in steps[number]:
                    hook._save_torch(name, value, layout)
        self._go_back(0)
        current = bool(self._copies) and self._copies[-1][0] == self.number
        for kept in self._fed, self._copies, self._losses:
            kept.clear()
        self._fed_size = 0
        return current

    def _of_passes(self, number, kept, seen):
        """The inputs and labels of a step: where it has several passes those of the first, and of the current one those of the last, whose loss left
        its course. Nothing was written over them: not at a place of a later step (`seen`), nor of a later pass."""
        chosen, later = {}, {}
        for name, value, version, place in reversed(kept):
            places = later.setdefault(name, set())
            if value is not None and value._version == version and place not in seen and place not in places and not (number == self.number and name in chosen):
                chosen[name] = value
            places.add(place)
        if number == self.number:
            self._hook._written.update(dict.fromkeys(chosen, 1))  # passes that follow in this step are not saved under the same names
        return chosen.items()

    def _go_back(self, steps):
        if self._hook._copies:
            self._hook._copies.finish()  # they belong to the step that what is saved has belonged to
        return assay_hook._lib.assay_hook_go_back(self._hook._handle, steps)
