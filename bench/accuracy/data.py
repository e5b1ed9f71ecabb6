"""data.py - made data sets, each from a seed: a batch is a pair (inputs, targets) of tensors.

Noise is chosen so that a small network learns the task in a few hundred steps and never learns it by heart.
"""
import torch


def generator(*seeds):
    number = 1
    for seed in seeds:
        number = (number * 1000003 + int(seed) + 17) % (2 ** 62)
    return torch.Generator().manual_seed(number)


class Points:
    """Classes around centres; `shares` makes them unequal."""

    def __init__(self, seed, classes=4, features=16, noise=0.9, shares=None, offset=0.0):
        self.seed, self.noise, self.offset = seed, noise, offset
        self.centres = torch.randn(classes, features, generator=generator(seed, 1))
        self.shares = torch.tensor(shares) if shares else torch.ones(classes)

    def batch(self, size, *number):
        g = generator(self.seed, 2, *number)
        y = torch.multinomial(self.shares, size, True, generator=g)
        x = self.centres[y] + self.noise * torch.randn(size, self.centres.shape[1], generator=g)
        return x + self.offset, y


class Images:
    """Classes around smooth pictures of one or more channels."""

    def __init__(self, seed, classes=5, channels=1, side=8, noise=0.9):
        coarse = torch.randn(classes, channels, side // 2, side // 2, generator=generator(seed, 3))
        self.centres = torch.nn.functional.interpolate(coarse, size=(side, side), mode="bilinear", align_corners=False)
        self.centres = self.centres / self.centres.std()
        self.seed, self.noise = seed, noise

    def batch(self, size, *number):
        g = generator(self.seed, 4, *number)
        y = torch.randint(0, len(self.centres), (size,), generator=g)
        return self.centres[y] + self.noise * torch.randn(size, *self.centres.shape[1:], generator=g), y


class Fields:
    """Pictures with a bright square on a dark ground: which pixel belongs to it (1), to its edge (2) or to the ground (0)?"""

    def __init__(self, seed, side=12, noise=0.4):
        self.seed, self.side, self.noise = seed, side, noise

    def batch(self, size, *number):
        g = generator(self.seed, 5, *number)
        y = torch.zeros(size, self.side, self.side, dtype=torch.int64)
        for k in range(size):
            a, b = torch.randint(1, self.side - 6, (2,), generator=g).tolist()
            y[k, a:a + 5, b:b + 5] = 2
            y[k, a + 1:a + 4, b + 1:b + 4] = 1
        x = torch.tensor([-0.5, 1.5, 0.5])[y][:, None]
        return x + self.noise * torch.randn(x.shape, generator=g), y


class Words:
    """Sentences of a Markov chain over a vocabulary in which few words are frequent and many are rare."""

    def __init__(self, seed, words=60, length=16):
        g = generator(seed, 6)
        frequency = 1.0 / torch.arange(1, words + 1, dtype=torch.float32) ** 1.3
        follows = torch.stack([frequency[torch.randperm(words, generator=g)] for _ in range(words)])
        self.chain = follows * (0.2 + frequency * 5)
        self.seed, self.words, self.length = seed, words, length

    def batch(self, size, *number):
        g = generator(self.seed, 7, *number)
        text = [torch.randint(0, self.words, (size,), generator=g)]
        for _ in range(self.length):
            text.append(torch.multinomial(self.chain[text[-1]], 1, generator=g)[:, 0])
        text = torch.stack(text, 1)
        return text[:, :-1], text[:, 1:]


class Waves:
    """Sequences of one of several frequencies."""

    def __init__(self, seed, classes=4, length=20, noise=0.5):
        self.seed, self.classes, self.length, self.noise = seed, classes, length, noise

    def batch(self, size, *number):
        g = generator(self.seed, 8, *number)
        y = torch.randint(0, self.classes, (size,), generator=g)
        t = torch.arange(self.length) / self.length
        phase = 6.3 * torch.rand(size, 1, generator=g)
        x = torch.sin(6.3 * (1.0 + y[:, None]) * t + phase)
        return (x + self.noise * torch.randn(x.shape, generator=g))[:, :, None], y


class Curve:
    """A smooth function of a few features, with noise."""

    def __init__(self, seed, features=8, noise=0.3, scale=1.0, tails=False):
        g = generator(seed, 9)
        self.a, self.b = torch.randn(features, 3, generator=g), torch.randn(3, generator=g)
        self.seed, self.noise, self.scale, self.tails = seed, noise, scale, tails

    def batch(self, size, *number):
        g = generator(self.seed, 10, *number)
        x = torch.randn(size, len(self.a), generator=g)
        y = torch.tanh(x @ self.a) @ self.b + self.noise * torch.randn(size, generator=g)
        if self.tails:  # one target in fifty is far off
            y = y + (torch.rand(size, generator=g) < 0.02) * 15 * torch.randn(size, generator=g)
        return x, (self.scale * y)[:, None]


class Few:
    """So many samples of another set, drawn again and again: what can be learned by heart."""

    def __init__(self, data, size, seed=0):
        self.x, self.y = data.batch(size, 999, seed)
        self.seed = seed

    def batch(self, size, *number):
        pick = torch.randint(0, len(self.x), (size,), generator=generator(self.seed, 11, *number))
        return self.x[pick], self.y[pick]
