"""seventeenth_parts.py - networks, losses and data of the seventeenth set: neurons that fire, splines, states that decay, a tree of soft choices, grids of tables,
bells, pairs that are linked."""
import torch
from torch import nn, optim

from fifteenth_parts import Pool
from fifth_parts import rng
from loop import finish, hook_for, modes, register
from sixteenth_parts import F


def adam(net, rate=3e-3, **more):
    return optim.AdamW(net.parameters() if isinstance(net, nn.Module) else net, rate, **more)


def mlp(*sizes, act=nn.ReLU):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def by_hand(path, parts, steps, one):
    """parts: (network, optimizer) each; one(step) trains and says the values to record."""
    hook = hook_for(path, 1)
    for net, opt in parts:
        register(hook, net, opt)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        for name, value in one(step).items():
            hook.record_tensor_value(name, value.detach())
    finish(hook)


def down(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss


class Fire(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        return grad / (1 + 5 * ctx.saved_tensors[0].abs()) ** 2

class Spike(nn.Module):
    def forward(self, v):
        return Fire.apply(v)

class Spiking(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.spike_act, self.out = nn.Linear(20, 64), Spike(), nn.Linear(64, 6)

    def forward(self, x):
        v, told = torch.zeros(len(x), 64), 0
        for _ in range(8):
            v = 0.8 * v + self.inp(x)
            fired = self.spike_act(v - 1)
            v, told = v - fired.detach(), told + self.out(fired)
        return told / 8


class Splines(nn.Module):
    def __init__(self, a, b, bumps=8):
        super().__init__()
        self.at, self.coef, self.base = torch.linspace(-2, 2, bumps), nn.Parameter(0.1 * torch.randn(b, a, bumps)), nn.Linear(a, b)

    def forward(self, x):
        near = (-((x[:, :, None] - self.at) / 0.5) ** 2).exp()
        return self.base(F.silu(x)) + torch.einsum("nak,bak->nb", near, self.coef)


class States(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.inp, self.decay, self.gate, self.out = nn.Linear(2, width), nn.Parameter(torch.linspace(-3, 3, width)), nn.Linear(2, width), nn.Linear(width, 5)

    def forward(self, x):
        u, h, keep = self.inp(x.transpose(1, 2)), 0, self.decay.sigmoid()
        told = []
        for t in range(u.shape[1]):
            h = keep * h + (1 - keep) * u[:, t]
            told.append(h)
        return self.out((torch.stack(told, 1) * F.silu(self.gate(x.transpose(1, 2)))).abs().mean(1))


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.ask, self.sigmoid, self.leaves = nn.Linear(15, 31), nn.Sigmoid(), nn.Parameter(0.1 * torch.randn(32, 1))

    def forward(self, x):
        yes, at = self.sigmoid(self.ask(x)), torch.ones(len(x), 1)
        for depth in range(5):
            here = yes[:, 2 ** depth - 1:2 ** (depth + 1) - 1]
            at = torch.stack([at * here, at * (1 - here)], 2).flatten(1)
        return at @ self.leaves


class Grids(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = (4, 8, 16, 32)
        self.tables, self.head = nn.ModuleList(nn.Embedding(n * n, 4) for n in self.sizes), mlp(16, 32, 1)
        for t in self.tables:
            nn.init.uniform_(t.weight, -1e-2, 1e-2)

    def forward(self, x):
        told = []
        for n, table in zip(self.sizes, self.tables):
            at = (x + 1) / 2 * (n - 1.001)
            low, part = at.long(), at - at.long()
            for_corner = [(dx, dy) for dx in (0, 1) for dy in (0, 1)]
            told.append(sum(((part[:, :1] if dx else 1 - part[:, :1]) * (part[:, 1:] if dy else 1 - part[:, 1:])) *
                            table((low[:, 0] + dx).clamp(max=n - 1) * n + (low[:, 1] + dy).clamp(max=n - 1)) for dx, dy in for_corner))
        return self.head(torch.cat(told, 1))

def hills(seed, rows=2000):
    def draw(n, g):
        x = 2 * torch.rand(n, 2, generator=g) - 1
        return x, (9 * x[:, :1]).sin() * (7 * x[:, 1:]).cos()
    return Pool(seed, draw, rows)


class Bells(nn.Module):
    def forward(self, said, told):
        share, middle, wide = said.chunk(3, 1)
        return -(share.log_softmax(1) - 0.5 * ((told - middle) / wide.exp()) ** 2 - wide).logsumexp(1).mean()

def folds(seed):
    """A number that several others give."""
    def draw(n, g):
        y = 2 * torch.rand(n, 1, generator=g) - 1
        return y + 0.6 * (6 * y).sin() + 0.05 * torch.randn(n, 1, generator=g), y
    return Pool(seed, draw)


class Links(nn.Module):
    def __init__(self):
        super().__init__()
        self.nodes, self.more = nn.Embedding(40, 12), nn.Linear(12, 12)

    def forward(self, pairs):
        h = self.more(self.nodes(pairs))
        return (h[:, 0] * h[:, 1]).sum(1)


def links(seed):
    """Which two of forty nodes are linked, against pairs by lot."""
    place = torch.randn(40, 3, generator=rng(seed, 321))
    near = (torch.cdist(place, place) < 1.5).float()

    def batch(step):
        p = torch.randint(0, 40, (96, 2), generator=rng(seed, step, 322))
        return p, near[p[:, 0], p[:, 1]]
    return batch
