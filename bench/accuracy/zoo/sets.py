"""sets.py - the data of the zoo: sets that come with scikit-learn, a text, and sequences made up."""
import torch
from sklearn import datasets

TEXT = """It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a wife. However
little known the feelings or views of such a man may be on his first entering a neighbourhood, this truth is so well fixed in the minds
of the surrounding families, that he is considered as the rightful property of some one or other of their daughters. """ * 4


class Table:
    """Rows shuffled by the seed, four of five to train on, columns brought to mean 0 and deviation 1."""

    def __init__(self, name, seed, images=False, targets=torch.long, centre=False):
        raw = getattr(datasets, "load_" + name)()
        x, y = torch.tensor(raw.data, dtype=torch.float32), torch.tensor(raw.target, dtype=targets)
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
        x, y = x[order], y[order]
        x = (x - x.mean(0)) / (x.std(0) + 1e-3) if not images else (x.view(-1, 1, 8, 8) / 8 - 1)
        if centre:
            y = (y - y.mean()) / y.std()
        if targets != torch.long:
            y = y[:, None]
        cut = len(x) * 4 // 5
        self.x, self.y, self.held_x, self.held_y, self.seed = x[:cut], y[:cut], x[cut:], y[cut:], seed

    def keep(self, mask):
        """Only the rows to train on for which the mask holds."""
        self.x, self.y = self.x[mask], self.y[mask]
        return self

    def batch(self, size):
        """A function of the step: passes over all rows, each in an order of its own."""
        each = max(1, len(self.x) // size)

        def of(step):
            g = torch.Generator().manual_seed(self.seed * 100003 + step // each)
            rows = torch.randperm(len(self.x), generator=g)[step % each * size:][:size]
            return self.x[rows], self.y[rows]

        return of

    def shard(self, size, workers):
        """A function of rank and step: each worker has its part of the batch."""
        whole = self.batch(size * workers)

        def of(rank, step):
            x, y = whole(step)
            return x[rank::workers].clone(), y[rank::workers].clone()

        return of

    def held(self, size):
        def of(k):
            rows = torch.arange(k * size, (k + 1) * size) % len(self.held_x)
            return self.held_x[rows], self.held_y[rows]

        return of


class Letters:
    """A text as numbers; the label of a letter is the one behind it."""

    def __init__(self, seed):
        letters = sorted(set(TEXT))
        self.codes, self.count, self.seed = torch.tensor([letters.index(c) for c in TEXT]), len(letters), seed

    def batch(self, size, length, number=0):
        def of(step):
            g = torch.Generator().manual_seed(self.seed * 7919 + number * 104729 + step)
            starts = torch.randint(0, len(self.codes) - length - 1, (size,), generator=g)
            rows = torch.stack([self.codes[s:s + length + 1] for s in starts])
            return rows[:, :-1], rows[:, 1:].reshape(-1)

        return of


def majority(seed, size, length=12, kinds=5, number=0):
    """Sequences of small numbers; the label is the one that comes most often."""
    def of(step):
        g = torch.Generator().manual_seed(seed * 15485863 + number * 32452843 + step)
        x = torch.randint(0, kinds, (size, length), generator=g)
        return x, torch.stack([(x == k).sum(1) for k in range(kinds)], 1).argmax(1)

    return of


def waves(seed, size, length=20, number=0):
    """Sine waves of any phase and frequency, with noise; the next value is to be told."""
    def of(step):
        g = torch.Generator().manual_seed(seed * 86028121 + number * 49979687 + step)
        t = torch.arange(length + 1).float()[None] * (0.2 + 0.4 * torch.rand(size, 1, generator=g))
        x = torch.sin(t + 6.28 * torch.rand(size, 1, generator=g)) + 0.05 * torch.randn(size, length + 1, generator=g)
        return x[:, :-1, None], x[:, -1:]

    return of
