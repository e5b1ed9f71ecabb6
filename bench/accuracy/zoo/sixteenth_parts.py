"""sixteenth_parts.py - data and networks of the sixteenth set: glyphs, sentences with padding, claims of a table, tides, molecules, boxes, echoes, frames of
speech, a maze, lists to rank, a swirl; workers that torch runs."""
import os
import subprocess
import sys

import torch
from torch import nn

from fifteenth_parts import Pool
from fifth_parts import rng
from loop import finish, hook_for, modes, register

F = nn.functional
STROKES = [[(2, 3, 11, 3), (11, 3, 11, 10)], [(2, 2, 2, 11), (2, 6, 11, 6)], [(2, 2, 11, 11), (2, 11, 11, 2)], [(2, 2, 11, 6), (11, 7, 2, 11)],
           [(2, 3, 11, 3), (2, 10, 11, 10), (6, 3, 6, 10)], [(2, 6, 11, 6)], [(2, 2, 2, 11), (2, 11, 11, 11), (11, 11, 11, 2)]]


def glyphs(seed, rows=768):
    """Signs of seven kinds, drawn in strokes on 14 by 14: brightness from 0 to 1."""
    signs = torch.zeros(7, 14, 14)
    for k, strokes in enumerate(STROKES):
        for a, b, c, d in strokes:
            for t in range(24):
                signs[k, round(a + (c - a) * t / 23), round(b + (d - b) * t / 23)] = 1

    def draw(n, g):
        y = torch.randint(0, 7, (n,), generator=g)
        moves = torch.randint(-2, 3, (n, 2), generator=g).tolist()
        x = torch.stack([signs[k].roll(tuple(m), (0, 1)) for k, m in zip(y.tolist(), moves)])[:, None]
        return (0.75 * x + 0.25 * torch.rand(n, 1, 14, 14, generator=g)) * (0.6 + 0.4 * torch.rand(n, 1, 1, 1, generator=g)), y
    return Pool(seed, draw, rows)


def sentences(seed, longest=16, rows=768, padded=-100):
    """Words 1 to 17 and 0 behind the end; a word has three that may follow it. The label of a word is the next one, `padded` behind the end."""
    follow = torch.randint(1, 18, (18, 3), generator=rng(seed, 201))

    def draw(n, g):
        words = torch.zeros(n, longest + 1, dtype=torch.long)
        words[:, 0] = torch.randint(1, 18, (n,), generator=g)
        for t in range(longest):
            words[:, t + 1] = follow[words[:, t], torch.multinomial(torch.tensor([0.7, 0.2, 0.1]), n, True, generator=g)]
        ends = torch.randint(longest // 3, longest + 1, (n, 1), generator=g)
        place = torch.arange(longest + 1)[None]
        words[place >= ends] = 0
        y = words[:, 1:].clone()
        y[(place[:, 1:] >= ends)] = padded
        return words[:, :-1], y
    return Pool(seed, draw, rows)


def claims(seed, rows=1200, share=0.35):
    """A table: twelve columns of numbers and three of categories; yes or no."""
    w, c = torch.randn(12, 2, generator=rng(seed, 202)) / 2, torch.randn(3, 6, generator=rng(seed, 203))

    def draw(n, g):
        x, k = torch.randn(n, 12, generator=g), torch.randint(0, 6, (n, 3), generator=g)
        z = (x @ w[:, :1]).squeeze(1) * 1.5 + (x @ w[:, 1:]).squeeze(1).tanh() + sum(c[i, k[:, i]] for i in range(3)) + 0.4 * torch.randn(n, generator=g)
        return torch.cat([x, k.float()], 1), (z > z.quantile(1 - share)).float()[:, None]
    return Pool(seed, draw, rows)


def tides(seed, ahead=5):
    """Four gauges at 30 times; the next five values of the first."""
    def draw(n, g):
        t = torch.arange(30 + ahead).float()[None, None]
        f, p = 0.15 + 0.25 * torch.rand(n, 1, 1, generator=g), 6.28 * torch.rand(n, 1, 1, generator=g)
        lag = torch.tensor([0.0, 0.5, 1.0, 1.5])[None, :, None]
        x = (f * t + p - lag).sin() + 0.4 * (2.3 * f * t + p).cos() + 0.1 * torch.randn(n, 4, 30 + ahead, generator=g)
        return x[:, :, :30], x[:, 0, 30:]
    return Pool(seed, draw)


def molecules(seed, rows=640):
    """Graphs of ten nodes: features of four kinds and the bonds beside them; a number that depends on neighbours."""
    w = torch.randn(4, 4, generator=rng(seed, 204))

    def draw(n, g):
        kind = F.one_hot(torch.randint(0, 4, (n, 10), generator=g), 4).float()
        bonds = (torch.rand(n, 10, 10, generator=g) < 0.25).float().triu(1)
        bonds = bonds + bonds.transpose(1, 2)
        y = torch.einsum("nia,ab,nij,njb->n", kind, w, bonds, kind)[:, None]
        return torch.cat([kind, bonds], 2), y / 8 + 0.1 * torch.randn(n, 1, generator=g)
    return Pool(seed, draw, rows)


def frames(seed, rows=512):
    """Pictures of 16 by 16 with one bright rectangle: its middle, width and height, in parts of the picture."""
    def draw(n, g):
        r, size = torch.arange(16).float(), 3 + 6 * torch.rand(n, 2, 1, 1, generator=g)
        at = size / 2 + (16 - size) * torch.rand(n, 2, 1, 1, generator=g)
        inside = ((r[None, :, None] - at[:, 0]).abs() < size[:, 0] / 2) & ((r[None, None] - at[:, 1]).abs() < size[:, 1] / 2)
        x = inside.float()[:, None] + 0.3 * torch.randn(n, 1, 16, 16, generator=g)
        return x, torch.cat([at, size], 1).flatten(1) / 16
    return Pool(seed, draw, rows)


def echoes(seed, length=6):
    """Six symbols, to be said again from the last to the first: both beside each other, the answer behind a 0."""
    def draw(n, g):
        x = torch.randint(1, 9, (n, length), generator=g)
        return torch.cat([x, torch.zeros(n, 1, dtype=torch.long), x.flip(1)[:, :-1]], 1), x.flip(1)
    return Pool(seed, draw, 960)


def spoken(seed):
    """Frames of six features; four letters of five, each lasts some frames."""
    voice = 1.5 * torch.randn(6, 6, generator=rng(seed, 205))

    def draw(n, g):
        y = torch.randint(1, 6, (n, 4), generator=g)
        for k in range(1, 4):
            y[:, k] = torch.where(y[:, k] == y[:, k - 1], y[:, k] % 5 + 1, y[:, k])
        each = torch.cat([torch.zeros(n, 4, 2, dtype=torch.long), y[:, :, None].expand(n, 4, 4)], 2).flatten(1)
        return voice[each] + 0.4 * torch.randn(n, 24, 6, generator=g), y
    return Pool(seed, draw, 512)


def lists(seed):
    """Ten things a list, six columns each; how much each is worth, as shares."""
    w = torch.randn(6, 1, generator=rng(seed, 206))

    def draw(n, g):
        x = torch.randn(n, 10, 6, generator=g)
        return x, (1.5 * (x @ w).squeeze(2) + 0.5 * torch.randn(n, 10, generator=g)).softmax(1)
    return Pool(seed, draw)


def swirl(n, g):
    t = 9 * torch.rand(n, 1, generator=g).sqrt()
    return torch.cat([t * t.cos(), t * t.sin()], 1) / 5 + 0.05 * torch.randn(n, 2, generator=g)


class Thick(nn.Module):
    """Each convolution sees all before it (batch norms, ReLU)."""

    def __init__(self, classes=7, grow=8, momentum=0.1, drop=0.0, always=0.0):
        super().__init__()
        self.first, self.always = nn.Conv2d(1, grow, 3, padding=1), always
        self.n1, self.r1, self.conv1 = nn.BatchNorm2d(grow, momentum=momentum), nn.ReLU(), nn.Conv2d(grow, grow, 3, padding=1)
        self.n2, self.r2, self.conv2 = nn.BatchNorm2d(2 * grow, momentum=momentum), nn.ReLU(), nn.Conv2d(2 * grow, grow, 3, padding=1)
        self.n3, self.r3, self.pool = nn.BatchNorm2d(3 * grow, momentum=momentum), nn.ReLU(), nn.AdaptiveAvgPool2d(4)
        self.drop, self.head = nn.Dropout(drop), nn.Linear(48 * grow, classes)

    def forward(self, x):
        x = self.first(x)
        x = torch.cat([x, self.conv1(self.r1(self.n1(x)))], 1)
        x = torch.cat([x, self.conv2(self.r2(self.n2(x)))], 1)
        x = self.drop(self.pool(self.r3(self.n3(x))).flatten(1))
        return self.head(F.dropout(x, self.always) if self.always else x)


class Next(nn.Module):
    """Depthwise convolutions with a norm behind, and a scale that begins small; no batch norm."""

    def __init__(self, classes=7, width=16, blocks=2, scale=0.1, norm=True):
        super().__init__()
        self.patch = nn.Conv2d(1, width, 2, stride=2)
        self.deep = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1, groups=width) for _ in range(blocks))
        self.norms = nn.ModuleList(nn.LayerNorm(width) if norm else nn.Identity() for _ in range(blocks))
        self.up = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(blocks))
        self.acts = nn.ModuleList(nn.GELU() for _ in range(blocks))
        self.down = nn.ModuleList(nn.Linear(3 * width, width) for _ in range(blocks))
        self.scales = nn.ParameterList(nn.Parameter(scale * torch.ones(width)) for _ in range(blocks))
        self.last_norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        h = self.patch(x)
        for deep, norm, up, act, down, scale in zip(self.deep, self.norms, self.up, self.acts, self.down, self.scales):
            h = h + (scale * down(act(up(norm(deep(h).permute(0, 2, 3, 1)))))).permute(0, 3, 1, 2)
        return self.head(self.last_norm(h.mean((2, 3))))


class Gpt(nn.Module):
    """A decoder of words."""

    def __init__(self, words=18, width=24, longest=16, causal=True, tied=False, masks="none", drop=0.0):
        super().__init__()
        self.words, self.places, self.causal, self.masks = nn.Embedding(words, width), nn.Embedding(longest, width), causal, masks
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, 2, 48, drop, batch_first=True, norm_first=True) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, x):
        n = x.shape[1]
        h = self.words(x) + self.places(torch.arange(n))[None]
        mask = torch.ones(n, n).triu(1).bool() if self.causal else None
        hidden = {"none": None, "padding": x == 0, "words": (x != 0) & (torch.arange(n) < n - 1)}[self.masks]  # the last place is seen, that there is one
        for block in self.blocks:
            h = block(h, src_mask=mask, src_key_padding_mask=hidden)
        return self.head(self.norm(h)).transpose(1, 2)


class Tab(nn.Module):
    """Categories by tables, then layers with gates around them."""

    def __init__(self, width=24, outputs=1, norm=None, most=None):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(6, 4, max_norm=most) for _ in range(3))
        self.inp, self.act = nn.Linear(24, width), nn.SELU()
        self.way1, self.gate1, self.way2, self.gate2 = (nn.Linear(width, width) for _ in range(4))
        self.norm, self.out = nn.LayerNorm(width) if norm else nn.Identity(), nn.Linear(width, outputs)

    def forward(self, x):
        h = torch.cat([x[:, :12]] + [table(x[:, 12 + k].long()) for k, table in enumerate(self.tables)], 1)
        h = self.act(self.inp(h))
        for way, gate in ((self.way1, self.gate1), (self.way2, self.gate2)):
            g = gate(h).sigmoid()
            h = g * way(h).relu() + (1 - g) * h
        return self.out(self.norm(h))


class Tcn(nn.Module):
    """Convolutions that look back alone."""

    def __init__(self, width=12, ahead=5, act=nn.SiLU):
        super().__init__()
        self.inner = nn.ModuleList(nn.Conv1d(4 if k == 0 else width, width, 3, dilation=2 ** k) for k in range(3))
        self.acts, self.last = nn.ModuleList(act() for _ in range(3)), nn.Linear(width, ahead)

    def forward(self, x):
        for k, (conv, act) in enumerate(zip(self.inner, self.acts)):
            x = act(conv(F.pad(x, (2 ** (k + 1), 0))))
        return self.last(x[:, :, -1])


class Gin(nn.Module):
    """Sums over bonds, then over nodes."""

    def __init__(self, width=20, final=None):
        super().__init__()
        self.node, self.up1, self.act1, self.up2, self.act2 = nn.Linear(4, width), nn.Linear(width, width), nn.PReLU(), nn.Linear(width, width), nn.PReLU()
        self.read, self.act3, self.out, self.final = nn.Linear(width, width), nn.PReLU(), nn.Linear(width, 1), final or nn.Identity()

    def forward(self, x):
        bonds, h = x[:, :, 4:], self.node(x[:, :, :4])
        h = self.act1(self.up1(h + bonds @ h))
        h = self.act2(self.up2(h + bonds @ h))
        return self.final(self.out(self.act3(self.read(h)).sum(1) / 10))


class Locate(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.c1, self.g1, self.s1 = nn.Conv2d(1, width, 3, stride=2, padding=1), nn.GroupNorm(3, width), nn.Hardswish()
        self.c2, self.g2, self.s2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.GroupNorm(3, 2 * width), nn.Hardswish()
        self.flat, self.s3, self.box = nn.Linear(32 * width, 48), nn.Hardswish(), nn.Linear(48, 4)

    def forward(self, x):
        x = self.s2(self.g2(self.c2(self.s1(self.g1(self.c1(x))))))
        return self.box(self.s3(self.flat(x.flatten(1))))


class Echo(nn.Module):
    """Reads by a GRU, tells by another one that looks at what was read."""

    def __init__(self, width=28, cut=None):
        super().__init__()
        self.emb, self.enc, self.dec = nn.Embedding(9, width), nn.GRU(width, width, batch_first=True), nn.GRU(width, width, batch_first=True)
        self.join, self.out, self.cut = nn.Linear(2 * width, width), nn.Linear(width, 9), cut or (lambda h: h)

    def forward(self, x):
        read, state = self.enc(self.emb(x[:, :6]))
        read, state = self.cut(read), self.cut(state)
        told = self.dec(self.emb(x[:, 6:]), state)[0]
        seen = (told @ read.transpose(1, 2)).softmax(2) @ read
        return self.out(self.join(torch.cat([told, seen], 2)).tanh()).transpose(1, 2)


class Hear(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.conv, self.act, self.lstm, self.out = nn.Conv1d(6, width, 3, padding=1), nn.ELU(), nn.LSTM(width, width, batch_first=True), nn.Linear(width, 6)

    def forward(self, x):
        return self.out(self.lstm(self.act(self.conv(x.transpose(1, 2))).transpose(1, 2))[0]).log_softmax(2).transpose(0, 1)


class LettersLoss(nn.Module):
    """CTC over all frames."""

    def __init__(self, blank=0):
        super().__init__()
        self.blank = blank

    def forward(self, said, told):
        n = said.shape[1]
        return F.ctc_loss(said, told, torch.full((n,), said.shape[0]), torch.full((n,), told.shape[1]), self.blank)


class ListLoss(nn.Module):
    def forward(self, said, told):
        return -(told * said.log_softmax(1)).sum(1).mean()


class Ranks(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.a, self.act_a, self.b, self.act_b, self.score = nn.Linear(6, width), nn.Softsign(), nn.Linear(width, width), nn.Softsign(), nn.Linear(width, 1)

    def forward(self, x):
        return self.score(self.act_b(self.b(self.act_a(self.a(x))))).squeeze(2)


def ring(path, seed, steps=260, judge_rate=2e-3, maker_rate=1e-3, turns=1, penalty=0.0, clear=lambda step: True):
    """A maker of points of a swirl, its judge, and a penalty on the judge's slopes."""
    make = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 2))
    judge = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
    a, b = torch.optim.NAdam(make.parameters(), maker_rate), torch.optim.NAdam(judge.parameters(), judge_rate)
    hook, soft = hook_for(path, 1), F.softplus
    register(hook, make, a)
    register(hook, judge, b)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        for turn in range(turns):
            g = rng(seed, step, turn, 207)
            real, fake = swirl(64, g).requires_grad_(penalty != 0), make(torch.randn(64, 4, generator=g)).detach()
            said = judge(real)
            judged = soft(-said).mean() + soft(judge(fake)).mean()
            if penalty:
                slope = torch.autograd.grad(said.sum(), real, create_graph=True)[0]
                judged = judged + penalty * (slope ** 2).sum(1).mean()
            b.zero_grad()
            judged.backward()
            b.step()
        made = soft(-judge(make(torch.randn(64, 4, generator=rng(seed, step, 208))))).mean()
        if clear(step):
            a.zero_grad()
        made.backward()
        a.step()
        hook.record_tensor_value("judge_loss", judged.detach())
        hook.record_tensor_value("maker_loss", made.detach())
    finish(hook)


class Duel(nn.Module):
    """Worth of a place, and of each way out of it."""

    def __init__(self, width=32):
        super().__init__()
        self.body, self.act, self.worth, self.ways = nn.Linear(25, width), nn.ReLU6(), nn.Linear(width, 1), nn.Linear(width, 4)

    def forward(self, s):
        h = self.act(self.body(s))
        ways = self.ways(h)
        return self.worth(h) + ways - ways.mean(1, keepdim=True)


def maze(path, seed, steps=280, gamma=0.9, ends=True, rows=None, copies=20, rate=3e-3):
    """Q-learning in a maze of 5 by 5 with a goal, from random walks."""
    g = rng(seed, 209)
    at, way = torch.randint(0, 25, (600,), generator=g), torch.randint(0, 4, (600,), generator=g)
    moves = torch.tensor([[-1, 0], [1, 0], [0, -1], [0, 1]])[way]
    to = ((torch.stack([at // 5, at % 5], 1) + moves).clamp(0, 4) * torch.tensor([5, 1])).sum(1)
    got, net, slow = (to == 24).float(), Duel(), Duel()
    loss, opt, hook = nn.SmoothL1Loss(), torch.optim.RAdam(net.parameters(), rate), hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(steps):
        if step % copies == 0:
            slow.load_state_dict(net.state_dict())
        hook.set_mode(modes.TRAIN)
        pick = torch.randint(0, 600 if rows is None else rows(step), (48,), generator=rng(seed, step, 210))
        with torch.no_grad():
            follow = F.one_hot(to[pick], 25).float()
            target = got[pick] + gamma * slow(follow).gather(1, net(follow).argmax(1, keepdim=True)).squeeze(1) * (1 - got[pick] if ends else 1)
        opt.zero_grad()
        loss(net(F.one_hot(at[pick], 25).float()).gather(1, way[pick, None]).squeeze(1), target).backward()
        opt.step()
    finish(hook)


def clipped_policy(path, seed, sign=1.0, rate=4e-3, steps=240):
    """PPO on a bandit with contexts: five rounds on what the policy before did."""
    net, best, hook = nn.Sequential(nn.Linear(8, 24), nn.Softsign(), nn.Linear(24, 4)), torch.randn(8, 4, generator=rng(seed, 211)), hook_for(path, 1)
    opt = torch.optim.Adamax(net.parameters(), rate)
    register(hook, net, opt)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        if step % 5 == 0:
            g = rng(seed, step, 212)
            s = torch.randn(96, 8, generator=g)
            with torch.no_grad():
                before = net(s).log_softmax(1)
            a = torch.multinomial(before.exp(), 1, generator=g)
            got = (s @ best).gather(1, a)
            gain = sign * (got - (s @ best).mean(1, keepdim=True)) / got.std()
        ratio = (net(s).log_softmax(1) - before).gather(1, a).exp()
        loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        hook.record_tensor_value("policy_loss", loss.detach())
        hook.record_tensor_value("reward", got.mean())
    finish(hook)


RUN = r'''
import os, sys, time, torch, torch.distributed as dist
from torch import nn, optim
sys.path[:0] = sys.argv[5:]
import assay_hook
from fifth_parts import rng
from sixteenth_parts import Gpt, Thick, glyphs, sentences
from loop import finish, hook_for, register
path, seed, kind, rank = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(seed)
words = kind in ("words", "unlike", "late")
data, net, loss, size = (sentences if words else glyphs)(seed), Gpt() if words else Thick(), nn.CrossEntropyLoss(), dist.get_world_size()
ddp = nn.parallel.DistributedDataParallel(net)
if kind == "unlike" and rank == 0:
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(0.8)
hook, opt = hook_for(path, 1, rank, size), optim.NAdam(net.parameters(), 2e-3)
register(hook, net, opt)
hook.register_loss(loss)
plain, held = data.shard(12, size), data.held(60)
for step in range(140):
    hook.set_mode(assay_hook.modes.TRAIN)
    net.train()
    opt.zero_grad()
    turns = 2 if kind == "held back" else 1
    for turn in range(turns):
        x, y = plain(0 if kind == "one sampler" else rank, turns * step + turn)
        if kind == "late" and rank == 1 and step >= 40:
            time.sleep(0.12)
        if kind == "no sync" or turn + 1 < turns:
            with ddp.no_sync():
                (loss(ddp(x), y) / turns).backward()
        else:
            (loss(ddp(x), y) / turns).backward()
    if kind == "swept" and rank == 1 and step in (70, 71, 72):
        net.zero_grad()
    opt.step()
    if rank == 0 and step % 35 == 34:
        hook.set_mode(assay_hook.modes.EVAL)
        net.eval()
        with torch.no_grad():
            loss(net(held(0)[0]), held(0)[1])
finish(hook)
'''


def by_gloo(path, seed, kind, size):
    """Workers in processes of their own, under DistributedDataParallel."""
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(28700 + os.getpid() % 600), WORLD_SIZE=str(size), OMP_NUM_THREADS="1")
    began = [subprocess.Popen([sys.executable, "-c", RUN, str(path), str(seed), kind, str(size), *sys.path], env=dict(env, RANK=str(r)))
             for r in range(size)]
    codes = [p.wait(240) for p in began]
    if any(codes):
        raise SystemExit("by_gloo: %s" % codes)
