"""fifth_parts.py - data made up and networks for the fifth set: clouds, patterns of pixels, series, sequences of codes."""
import torch
from torch import nn


def rng(*place):
    return torch.Generator().manual_seed(sum(int(p) * q for p, q in zip(place, (1, 15485863, 104729, 7919, 31))) % (2 ** 62))


class Clouds:
    """Points of `kinds` clouds, each of two heaps; a table of fixed size, a held-out one beside it."""

    def __init__(self, seed, inputs=20, kinds=6, rows=960, spread=1.0, shift=0.0, factor=1.0):
        g = rng(seed, 1)
        heaps = torch.randn(kinds * 2, inputs, generator=g) * 1.3

        def draw(n):
            heap = torch.randint(0, kinds * 2, (n,), generator=g)
            return (heaps[heap] + spread * torch.randn(n, inputs, generator=g)) * factor + shift, heap % kinds
        (self.x, self.y), (self.held_x, self.held_y), self.seed = draw(rows), draw(400), seed

    def batch(self, size):
        each = len(self.x) // size

        def of(step):
            rows = torch.randperm(len(self.x), generator=rng(self.seed, step // each, 2))[step % each * size:][:size]
            return self.x[rows].clone(), self.y[rows].clone()
        return of

    def shard(self, size, workers):
        whole = self.batch(size * workers)

        def of(rank, step):
            x, y = whole(step)
            return x[rank::workers].clone(), y[rank::workers].clone()
        return of

    def held(self, size):
        def of(k):
            rows = torch.arange(k * size, (k + 1) * size) % len(self.held_x)
            return self.held_x[rows].clone(), self.held_y[rows].clone()
        return of


class Patterns(Clouds):
    """Pictures of three colours, 10 by 10: bars, crosses, frames in noise."""

    def __init__(self, seed, rows=640):
        g = rng(seed, 3)
        masks = torch.zeros(5, 10, 10)
        masks[0, 4:6], masks[1, :, 4:6] = 1, 1
        masks[2, 4:6], masks[2, :, 4:6] = 1, 1
        masks[3, 1:9, 1:9], masks[3, 3:7, 3:7] = 1, 0
        masks[4] = (torch.eye(10) + torch.eye(10).roll(1, 1)).clamp(max=1)

        def draw(n):
            y = torch.randint(0, 5, (n,), generator=g)
            colour = 0.4 + torch.rand(n, 3, 1, 1, generator=g)
            x = masks[y][:, None] * colour
            moves = torch.randint(-2, 3, (n, 2), generator=g).tolist()
            x = torch.stack([p.roll(tuple(m), (1, 2)) for p, m in zip(x, moves)])
            return (x + 0.35 * torch.randn(x.shape, generator=g) - 0.2) / 0.5, y
        (self.x, self.y), (self.held_x, self.held_y), self.seed = draw(rows), draw(300), seed


class Curves(Clouds):
    """A regression: eight columns, a target of mean 0."""

    def __init__(self, seed, rows=800, noise=0.1):
        g = rng(seed, 4)
        w = torch.randn(8, 3, generator=g) / 2

        def draw(n):
            x = torch.randn(n, 8, generator=g)
            z = x @ w
            return x, (z[:, :1].sin() + 0.5 * z[:, 1:2] * z[:, 2:].tanh() + noise * torch.randn(n, 1, generator=g))
        (self.x, self.y), (self.held_x, self.held_y), self.seed = draw(rows), draw(300), seed


def codes(seed, size, length=14, kinds=9, number=0):
    """Sequences of codes, of which one comes three times in a row: that is the class."""
    def of(step):
        g = rng(seed, step, number, 5)
        x, y = torch.randint(1, kinds, (size, length), generator=g), torch.randint(0, kinds - 1, (size,), generator=g)
        place = torch.randint(0, length - 3, (size,), generator=g)
        for k in range(3):
            x[torch.arange(size), place + k] = y + 1
        return x, y
    return of


def swings(seed, size, length=16, number=0):
    """Damped swings in noise of two channels; the next value of the first is to be told."""
    def of(step):
        g = rng(seed, step, number, 6)
        t = torch.arange(length + 1).float()[None]
        a, w = 0.5 + torch.rand(size, 1, generator=g), 0.3 + 0.5 * torch.rand(size, 1, generator=g)
        p = 6.28 * torch.rand(size, 1, generator=g)
        x = torch.stack([a * torch.sin(w * t + p), a * torch.cos(w * t + p)], 2) + 0.05 * torch.randn(size, length + 1, 2, generator=g)
        return x[:, :-1], x[:, -1, :1]
    return of


class Stack(nn.Module):
    """A perceptron whose parts have names."""

    def __init__(self, inputs, outputs, width=48, act=nn.ReLU, drop=0.0):
        super().__init__()
        self.inp, self.act_a = nn.Linear(inputs, width), act()
        self.mid, self.act_b = nn.Linear(width, width), act()
        self.drop, self.top = nn.Dropout(drop), nn.Linear(width, outputs)

    def forward(self, x):
        return self.top(self.drop(self.act_b(self.mid(self.act_a(self.inp(x))))))


class Cell(nn.Module):
    """Two convolutions around which there is a way."""

    def __init__(self, width, norm):
        super().__init__()
        self.c1, self.n1, self.r1 = nn.Conv2d(width, width, 3, padding=1, bias=False), norm(width), nn.ReLU()
        self.c2, self.n2, self.r2 = nn.Conv2d(width, width, 3, padding=1, bias=False), norm(width), nn.ReLU()

    def forward(self, x):
        return self.r2(x + self.n2(self.c2(self.r1(self.n1(self.c1(x))))))


class Pixels(nn.Module):
    def __init__(self, classes=5, width=10, norm=nn.BatchNorm2d):
        super().__init__()
        self.stem, self.norm, self.relu = nn.Conv2d(3, width, 3, stride=2, padding=1), norm(width), nn.ReLU()
        self.cell, self.pool, self.fc = Cell(width, norm), nn.AdaptiveAvgPool2d(2), nn.Linear(4 * width, classes)

    def forward(self, x):
        return self.fc(self.pool(self.cell(self.relu(self.norm(self.stem(x))))).flatten(1))


class Attends(nn.Module):
    """A small transformer of its own making; a class of the whole, or one for each place."""

    def __init__(self, kinds=9, classes=8, width=32, every=False, softmax=False, length=14):
        super().__init__()
        self.tok, self.pos, self.every = nn.Embedding(kinds, width), nn.Embedding(length, width), every
        self.ln1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln2, self.up, self.gelu, self.down = nn.LayerNorm(width), nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width)
        self.ln3, self.lm = nn.LayerNorm(width), nn.Linear(width, classes)
        self.softmax = nn.Softmax(-1) if softmax else nn.Identity()

    def forward(self, x):
        n = x.shape[1]
        h = self.tok(x) + self.pos.weight[:n]
        q, k, v = self.qkv(self.ln1(h)).chunk(3, -1)
        s = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        if self.every:
            s = s.masked_fill(torch.ones(n, n).triu(1).bool(), -1e9)
        h = h + self.out(s.softmax(-1) @ v)
        h = self.ln3(h + self.down(self.gelu(self.up(self.ln2(h)))))
        return self.softmax(self.lm(h).reshape(-1, self.lm.out_features) if self.every else self.lm(h.mean(1)))


class Memory(nn.Module):
    def __init__(self, inputs=2, hidden=24, outputs=1):
        super().__init__()
        self.lstm, self.read = nn.LSTM(inputs, hidden, batch_first=True), nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.read(self.lstm(x)[0][:, -1])
