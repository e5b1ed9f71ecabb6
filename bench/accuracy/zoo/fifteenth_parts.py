"""fifteenth_parts.py - data and networks of the fifteenth set: signals, gratings, tags, a field, masks of discs, ratings, sets of points, counts,
several labels a row, grids of boxes."""
import copy

import torch
from torch import nn

from fifth_parts import Clouds, rng
from loop import finish, hook_for, modes, register


class Pool(Clouds):
    """`draw(n, g)` makes n rows; `rows` to train on and 300 that are held out."""

    def __init__(self, seed, draw, rows=768):
        g = rng(seed, 170)
        (self.x, self.y), (self.held_x, self.held_y), self.seed = draw(rows, g), draw(300, g), seed


def signals(seed):
    """Two leads of a signal of 40 samples: of five forms."""
    def draw(n, g):
        t, y = torch.arange(40).float()[None], torch.randint(0, 5, (n,), generator=g)
        w, p = 0.2 + 0.15 * torch.rand(n, 1, generator=g), 6.28 * torch.rand(n, 1, generator=g)
        forms = torch.stack([(w * t + p).sin(), (w * t + p).sin().sign(), (w * t * t / 20 + p).sin(), (w * t + p) % 3 - 1.5,
                             (w * t + p).sin() * (3 * w * t).sin()])
        x = forms[y, torch.arange(n)]
        return torch.stack([x, x.roll(3, 1)], 1) + 0.4 * torch.randn(n, 2, 40, generator=g), y
    return Pool(seed, draw)


def gratings(seed):
    """Pictures of 12 by 12 in two colours: stripes in one of six directions."""
    def draw(n, g):
        y = torch.randint(0, 6, (n,), generator=g)
        a, p = y.float()[:, None, None] * 3.1416 / 6 + 0.1 * torch.randn(n, 1, 1, generator=g), 6.28 * torch.rand(n, 1, 1, generator=g)
        r = torch.arange(12).float()
        x = (1.1 * (r[:, None] * a.cos() + r[None] * a.sin()) + p).sin()
        return torch.stack([x, 0.5 * x + 0.3], 1) + 0.5 * torch.randn(n, 2, 12, 12, generator=g), y
    return Pool(seed, draw)


def tags(seed):
    """Each place of a sequence of small numbers has a tag: the larger neighbour's remainder."""
    def draw(n, g):
        x = torch.randint(0, 12, (n, 10), generator=g)
        return x, torch.maximum(x.roll(1, 1), x) % 4
    return Pool(seed, draw)


def field(seed, noise=0.05):
    """A smooth function of two places."""
    def draw(n, g):
        x = 2 * torch.rand(n, 2, generator=g) - 1
        return x, (3 * x[:, :1]).sin() * (2 * x[:, 1:]).cos() + 0.3 * x[:, :1] + noise * torch.randn(n, 1, generator=g)
    return Pool(seed, draw)


def discs(seed):
    """Pictures with a disc or two, and their mask."""
    def draw(n, g):
        r, mask = torch.arange(16).float(), torch.zeros(n, 1, 16, 16)
        for _ in range(2):
            at, big = 16 * torch.rand(n, 2, 1, 1, generator=g), 2 + 2 * torch.rand(n, 1, 1, generator=g)
            mask[:, 0] += ((r[None, :, None] - at[:, 0]) ** 2 + (r[None, None] - at[:, 1]) ** 2 < big ** 2).float()
        mask = mask.clamp(max=1)
        return mask + 0.6 * torch.randn(n, 1, 16, 16, generator=g) - 0.2, mask
    return Pool(seed, draw, 384)


def ratings(seed, rows=1536):
    """50 people, 70 things, and how well they are liked."""
    g = rng(seed, 171)
    a, b = torch.randn(50, 3, generator=g), torch.randn(70, 3, generator=g)

    def draw(n, g):
        x = torch.stack([torch.randint(0, 50, (n,), generator=g), torch.randint(0, 70, (n,), generator=g)], 1)
        return x, ((a[x[:, 0]] * b[x[:, 1]]).sum(1, keepdim=True) / 1.7 + 0.2 * torch.randn(n, 1, generator=g))
    return Pool(seed, draw, rows)


def points(seed):
    """Sets of 14 points in space: on a ball, a ring, a line, two heaps."""
    def draw(n, g):
        y = torch.randint(0, 4, (n,), generator=g)
        u = torch.randn(n, 14, 3, generator=g)
        ring = torch.nn.functional.normalize(u * torch.tensor([1.0, 1.0, 0.0]), dim=2)
        x = torch.stack([torch.nn.functional.normalize(u, dim=2), ring, u[:, :, :1] * torch.tensor([0.6, 0.6, 0.6]), u.sign() * 0.6])[y, torch.arange(n)]
        return x + 0.1 * torch.randn(n, 14, 3, generator=g), y
    return Pool(seed, draw)


def counts(seed):
    """How often something comes, by six columns."""
    w = 0.5 * torch.randn(6, 1, generator=rng(seed, 172))

    def draw(n, g):
        x = torch.randn(n, 6, generator=g)
        return x, torch.poisson((x @ w + 1).exp(), generator=g)
    return Pool(seed, draw)


def several(seed):
    """Five yes or no for each row."""
    w = torch.randn(16, 5, generator=rng(seed, 173))

    def draw(n, g):
        x = torch.randn(n, 16, generator=g)
        return x, (x @ w + 0.5 * x[:, :5] ** 2 + 0.7 * torch.randn(n, 5, generator=g) > 0.5).float()
    return Pool(seed, draw)


class Lead(nn.Module):
    """Convolutions over time with a way around, ELU, norms of groups."""

    def __init__(self, classes=5, width=16, norm=True, act=nn.ELU, drop=0.0):
        super().__init__()
        self.stem, self.act0 = nn.Conv1d(2, width, 5, stride=2, padding=2), act()
        self.conv_a, self.act_a = nn.Conv1d(width, width, 3, padding=1), act()
        self.conv_b, self.act_b = nn.Conv1d(width, width, 3, padding=2, dilation=2), act()
        self.norm_a, self.norm_b = (nn.GroupNorm(4, width), nn.GroupNorm(4, width)) if norm else (nn.Identity(), nn.Identity())
        self.drop, self.out = nn.Dropout(drop), nn.Linear(width, classes)

    def forward(self, x):
        h = self.act0(self.stem(x))
        h = h + self.act_a(self.norm_a(self.conv_a(h)))
        h = h + self.act_b(self.norm_b(self.conv_b(h)))
        return self.out(self.drop(h.mean(2)))


class Mixer(nn.Module):
    """Patches mixed by places, then by features."""

    def __init__(self, classes=6, width=24, norm=nn.LayerNorm):
        super().__init__()
        self.patch = nn.Conv2d(2, width, 3, stride=3)
        self.n1, self.p1, self.g1, self.p2 = norm(width), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)
        self.n2, self.f1, self.g2, self.f2 = norm(width), nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = self.patch(x).flatten(2).transpose(1, 2)
        h = h + self.p2(self.g1(self.p1(self.n1(h).transpose(1, 2)))).transpose(1, 2)
        h = h + self.f2(self.g2(self.f1(self.n2(h))))
        return self.head(h.mean(1))


class Plain(nn.Module):
    """Three convolutions with batch norms and ReLU."""

    def __init__(self, classes=6, width=12, drop=0.0, momentum=0.1):
        super().__init__()
        self.c1, self.b1, self.r1 = nn.Conv2d(2, width, 3, padding=1), nn.BatchNorm2d(width, momentum=momentum), nn.ReLU()
        self.c2, self.b2, self.r2 = nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width, momentum=momentum), nn.ReLU()
        self.c3, self.b3, self.r3 = nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width, momentum=momentum), nn.ReLU()
        self.drop, self.lin = nn.Dropout(drop), nn.Linear(width * 9, classes)

    def forward(self, x):
        x = self.r3(self.b3(self.c3(self.r2(self.b2(self.c2(self.r1(self.b1(self.c1(x)))))))))
        return self.lin(self.drop(x.flatten(1)))


class Tagger(nn.Module):
    """A GRU in both directions, and a tag for each place."""

    def __init__(self, kinds=12, width=20, tags=4, drop=0.0):
        super().__init__()
        self.words, self.gru = nn.Embedding(kinds, width), nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.drop, self.tag = nn.Dropout(drop), nn.Linear(2 * width, tags)

    def forward(self, x):
        return self.tag(self.drop(self.gru(self.words(x))[0])).transpose(1, 2)


class Surface(nn.Module):
    def __init__(self, inputs=2, width=32, layers=3, act=nn.Tanh, outputs=1):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(inputs if k == 0 else width, width) for k in range(layers))
        self.acts, self.last = nn.ModuleList(act() for _ in range(layers)), nn.Linear(width, outputs)

    def forward(self, x):
        for layer, act in zip(self.layers, self.acts):
            x = act(layer(x))
        return self.last(x)


class Hour(nn.Module):
    """Down and up again, and a way around: a mask of a picture."""

    def __init__(self, width=8, squash=False):
        super().__init__()
        self.down1, self.a1 = nn.Conv2d(1, width, 3, padding=1), nn.LeakyReLU(0.1)
        self.down2, self.a2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.LeakyReLU(0.1)
        self.up, self.a3 = nn.ConvTranspose2d(2 * width, width, 2, stride=2), nn.LeakyReLU(0.1)
        self.mask, self.squash = nn.Conv2d(2 * width, 1, 3, padding=1), nn.Sigmoid() if squash else nn.Identity()

    def forward(self, x):
        a = self.a1(self.down1(x))
        return self.squash(self.mask(torch.cat([a, self.a3(self.up(self.a2(self.down2(a))))], 1)))


class Liked(nn.Module):
    def __init__(self, width=8, sparse=False):
        super().__init__()
        self.who, self.what = nn.Embedding(50, width, sparse=sparse), nn.Embedding(70, width, sparse=sparse)
        self.mix, self.act, self.out = nn.Linear(2 * width, 32), nn.SiLU(), nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.act(self.mix(torch.cat([self.who(x[:, 0]), self.what(x[:, 1])], 1))))


class Sets(nn.Module):
    """Each point by itself, the largest of all, then a class."""

    def __init__(self, width=24, classes=4):
        super().__init__()
        self.each1, self.relu1, self.each2, self.relu2 = nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        self.all1, self.relu3, self.all2 = nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes)

    def forward(self, x):
        h = self.relu2(self.each2(self.relu1(self.each1(x)))).amax(1)
        return self.all2(self.relu3(self.all1(h)))


class Watcher(nn.Module):
    """torch's own attention over the points of a set."""

    def __init__(self, width=16, classes=4):
        super().__init__()
        self.inp, self.ln = nn.Linear(3, width), nn.LayerNorm(width)
        self.attn, self.ff, self.act, self.ff2 = nn.MultiheadAttention(width, 2, batch_first=True), nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width)
        self.ln2, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        h = self.inp(x)
        n = self.ln(h)
        h = h + self.attn(n, n, n, need_weights=False)[0]
        h = h + self.ff2(self.act(self.ff(self.ln2(h))))
        return self.head(h.mean(1))


class Folded(nn.Module):
    """An autoencoder of signals."""

    def __init__(self, inputs=80, low=6):
        super().__init__()
        self.e1, self.t1, self.e2 = nn.Linear(inputs, 32), nn.Softplus(), nn.Linear(32, low)
        self.d1, self.t2, self.d2 = nn.Linear(low, 32), nn.Softplus(), nn.Linear(32, inputs)

    def forward(self, x):
        return self.d2(self.t2(self.d1(self.e2(self.t1(self.e1(x))))))


def folded(data, size):
    batch = data.batch(size)
    return lambda step: (batch(step)[0].flatten(1), batch(step)[0].flatten(1))


class Averaged(nn.Module):
    """A network in training, its running average in evaluation."""

    def __init__(self, net, name, share=0.9):
        super().__init__()
        self.online, self.share, self.name = net, share, name
        setattr(self, name, copy.deepcopy(net).requires_grad_(False))

    def average(self):
        with torch.no_grad():
            for a, b in zip(getattr(self, self.name).parameters(), self.online.parameters()):
                a.mul_(self.share).add_((1 - self.share) * b)

    def forward(self, x):
        return (self.online if self.training else getattr(self, self.name))(x)


def bandit(path, seed, sign=1.0, rate=5e-3, steps=260, baseline=True):
    """A policy of five actions learns by what it got (REINFORCE)."""
    net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 5))
    opt, best, hook = torch.optim.Adam(net.parameters(), rate), torch.randn(6, 5, generator=rng(seed, 174)), hook_for(path, 1)
    register(hook, net, opt)
    mean = 0.0
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step, 175)
        s = torch.randn(64, 6, generator=g)
        said = net(s).log_softmax(1)
        a = torch.multinomial(said.detach().exp(), 1, generator=g)
        got = ((s @ best).argmax(1, keepdim=True) == a).float()
        mean = 0.9 * mean + 0.1 * got.mean().item()
        loss = -sign * (said.gather(1, a) * (got - (mean if baseline else 0))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        hook.record_tensor_value("policy_loss", loss.detach())
        hook.record_tensor_value("reward", got.mean())
    finish(hook)


def contrast(path, seed, same=False, rate=2e-3, steps=240, temperature=0.3, normalised=1):
    """Two views of a signal are to lie close, those of others far."""
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = Lead(16), nn.Linear(16, 12)

        def forward(self, x):
            z = self.head(self.body(x))
            for _ in range(normalised):
                z = nn.functional.normalize(z, dim=1)
            a, b = z.chunk(2)
            return a @ b.T / temperature
    data, net, ce = signals(seed), Views(), nn.CrossEntropyLoss()
    opt, hook = torch.optim.Adam(net.parameters(), rate), hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(ce)
    batch = data.batch(32)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        g, x = rng(seed, step, 176), batch(step)[0]
        if same:
            x = x[:1].expand_as(x)
        x = torch.cat([x + 0.3 * torch.randn(x.shape, generator=g) for _ in range(2)])
        opt.zero_grad()
        ce(net(x), torch.arange(32)).backward()
        opt.step()
    finish(hook)


def wall(path, seed, g_rate=1e-3, d_rate=1e-3, turned=False, steps=260, real_scale=lambda s: 1.0):
    """A maker of signals and its judge, who has a spectral norm."""
    make = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.2), nn.Linear(32, 40))
    judge = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(40, 32)), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    a, b = torch.optim.Adam(make.parameters(), g_rate, betas=(0.5, 0.9)), torch.optim.Adam(judge.parameters(), d_rate, betas=(0.5, 0.9))
    data, hook, soft = signals(seed), hook_for(path, 1), nn.functional.softplus
    register(hook, make, a)
    register(hook, judge, b)
    batch = data.batch(32)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        real, z = batch(step)[0][:, 0] * real_scale(step), torch.randn(32, 6, generator=rng(seed, step, 177))
        fake = make(z)
        judged = soft(-judge(real)).mean() + soft(judge(fake.detach())).mean()
        b.zero_grad()
        judged.backward()
        b.step()
        made = soft(judge(fake) if turned else -judge(fake)).mean()
        a.zero_grad()
        made.backward()
        a.step()
        hook.record_tensor_value("judge_loss", judged.detach())
        hook.record_tensor_value("maker_loss", made.detach())
    finish(hook)


class Cells(nn.Module):
    """Is there something in each of 16 cells, and where?"""

    def __init__(self, width=12):
        super().__init__()
        self.c1, self.s1, self.c2, self.s2 = nn.Conv2d(1, width, 3, padding=1), nn.SiLU(), nn.Conv2d(width, width, 3, stride=2, padding=1), nn.SiLU()
        self.pool, self.box, self.there = nn.MaxPool2d(2), nn.Conv2d(width, 2, 1), nn.Conv2d(width, 1, 1)

    def forward(self, x):
        h = self.pool(self.s2(self.c2(self.s1(self.c1(x)))))
        return torch.cat([self.there(h), self.box(h)], 1)


class CellLoss(nn.Module):
    def forward(self, said, told):
        there, place = told[:, :1], told[:, 1:]
        return (nn.functional.binary_cross_entropy_with_logits(said[:, :1], there) +
                (there * (said[:, 1:] - place).abs()).sum() / there.sum().clamp(min=1))


def specks(seed):
    """Pictures of 16 by 16 with specks; for each of 4 by 4 cells: is there one, and where."""
    def draw(n, g):
        x, y = 0.25 * torch.randn(n, 1, 16, 16, generator=g), torch.zeros(n, 3, 4, 4)
        for _ in range(3):
            at = torch.randint(0, 16, (n, 2), generator=g)
            rows = torch.arange(n)
            x[rows, 0, at[:, 0], at[:, 1]] += 3
            cell = at // 4
            y[rows, 0, cell[:, 0], cell[:, 1]] = 1
            y[rows, 1, cell[:, 0], cell[:, 1]], y[rows, 2, cell[:, 0], cell[:, 1]] = (at % 4)[:, 0] / 4, (at % 4)[:, 1] / 4
        return x, y
    return Pool(seed, draw, 384)


class Web(nn.Module):
    """Attention over neighbours of a graph that stands."""

    def __init__(self, edges, inputs=8, classes=3, width=16):
        super().__init__()
        self.register_buffer("edges", edges)
        self.lin1, self.score, self.act, self.lin2 = nn.Linear(inputs, width), nn.Linear(width, 1), nn.ELU(), nn.Linear(width, classes)

    def forward(self, x):
        h = self.lin1(x)
        share = (self.score(h) + self.score(h).T).masked_fill(self.edges == 0, -1e9).softmax(1)
        return self.lin2(self.act(share @ h))


def web(seed, nodes=90):
    g = rng(seed, 178)
    y = torch.randint(0, 3, (nodes,), generator=g)
    edges = torch.rand(nodes, nodes, generator=g) < 0.02 + 0.15 * (y[:, None] == y)
    edges = (edges | edges.T).float().fill_diagonal_(1)
    x = 0.5 * torch.randn(3, 8, generator=g)[y] + torch.randn(nodes, 8, generator=g)
    return x, y, edges
