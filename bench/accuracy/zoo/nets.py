"""nets.py - the networks of the zoo."""
import torch
from torch import nn


def dense(inputs, outputs, activation=nn.ReLU, hidden=40, dropout=0.0):
    """Two hidden layers in a Sequential, whose parts have numbers for names."""
    parts = [nn.Linear(inputs, hidden), activation(), nn.Linear(hidden, hidden), activation()]
    return nn.Sequential(*parts, *([nn.Dropout(dropout)] if dropout else []), nn.Linear(hidden, outputs))


def conv(classes=10, width=8, norm=nn.BatchNorm2d):
    return nn.Sequential(nn.Conv2d(1, width, 3, padding=1, bias=False), norm(width), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), norm(2 * width), nn.ReLU(), nn.Flatten(),
                         nn.Linear(32 * width, classes))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.act, self.down = nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)
        nn.init.zeros_(self.down.weight)

    def forward(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


class Gated(nn.Module):
    """Three experts, of which each sample goes to one."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.gate = nn.Linear(inputs, 3)
        self.expert = nn.ModuleList([nn.Linear(inputs, 32) for _ in range(3)])
        self.act, self.head = nn.ReLU(), nn.Linear(32, outputs)

    def forward(self, x):
        share = self.gate(x).softmax(1)
        best = nn.functional.one_hot(share.argmax(1), 3).float() * share
        return self.head(self.act(sum(best[:, k:k + 1] * e(x) for k, e in enumerate(self.expert))))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.act, self.out = nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 12)
        self.dec, self.act2, self.seen = nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 64)

    def forward(self, x):
        mean, spread = self.out(self.act(self.enc(x))).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * spread).exp() if self.training else mean
        return self.seen(self.act2(self.dec(z))), mean, spread


class Gru(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.gru, self.head = nn.GRU(inputs, hidden, batch_first=True), nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


class Chars(nn.Module):
    def __init__(self, letters):
        super().__init__()
        self.embed, self.gru = nn.Embedding(letters, 16), nn.GRU(16, 40, batch_first=True)
        self.head = nn.Linear(40, letters)

    def forward(self, x):
        return self.head(self.gru(self.embed(x))[0]).reshape(-1, self.head.out_features)


class Sequences(nn.Module):
    """PyTorch's own encoder layers; a class for the sequence, or with `every` for each place, seen from the left."""

    def __init__(self, kinds, classes, width=32, layers=2, every=False):
        super().__init__()
        self.embed, self.place, self.every = nn.Embedding(kinds, width), nn.Parameter(torch.zeros(1, 64, width)), every
        layer = nn.TransformerEncoderLayer(width, 4, 64, 0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, layers), nn.Linear(width, classes)

    def forward(self, x):
        n = x.shape[1]
        mask = torch.full((n, n), -1e9).triu(1) if self.every else None
        out = self.encoder(self.embed(x) + self.place[:, :n], mask)
        return self.head(out).reshape(-1, self.head.out_features) if self.every else self.head(out.mean(1))


class SmallUnet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.down, self.act1 = nn.Conv2d(1, 8, 3, padding=1), nn.ReLU()
        self.low, self.act2 = nn.Conv2d(8, 16, 3, padding=1, stride=2), nn.ReLU()
        self.up, self.out = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, classes, 1)

    def forward(self, x):
        top = self.act1(self.down(x))
        return self.out(torch.cat([top, self.up(self.act2(self.low(top)))], 1))


class Deep(nn.Module):
    """Tanh upon tanh, with weights that are too small."""

    def __init__(self, inputs, outputs, layers=16, width=24, spread=0.05):
        super().__init__()
        sizes = [inputs] + [width] * layers
        self.body = nn.Sequential(*(p for a, b in zip(sizes, sizes[1:]) for p in (nn.Linear(a, b), nn.Tanh())))
        self.head = nn.Linear(width, outputs)
        for p in self.body.parameters():
            nn.init.normal_(p, 0, spread)

    def forward(self, x):
        return self.head(self.body(x))
