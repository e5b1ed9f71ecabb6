"""fourteenth_parts.py - what the trainings of the fourteenth set are made of: blocks that are computed twice, two towers, judges, codes that a
network learns, quantisers, policies that are kept for a while, workers that exchange in a way of their own."""
import copy

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from fifth_parts import rng
from loop import finish, hook_for, modes, register


class Tower(nn.Module):
    """Layers with ways around them, over an embedding of codes; `again` computes each block a second time in the backward pass."""

    def __init__(self, kinds=9, classes=8, width=24, blocks=3, again=None, called=None):
        super().__init__()
        self.tok = nn.Embedding(kinds, width)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Conv1d(14, 14, 1), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
                                    for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)
        self.again, self.called = again, blocks if called is None else called

    def forward(self, x):
        h = self.tok(x)
        if self.again is not None:
            h = h.detach() if self.again else h
        for block in self.blocks[:self.called]:
            if self.again is None:
                h = h + block(h)
            else:
                h = h + checkpoint(block, h, use_reentrant=self.again)
        return self.head(self.norm(h).mean(1))


class Towers(nn.Module):
    """People and things as vectors: which of the things in the batch did each of them take?"""

    def __init__(self, people=60, things=80, width=16):
        super().__init__()
        self.people, self.things = nn.Embedding(people, width), nn.Embedding(things, width)
        self.person, self.thing = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return self.person(self.people(x[:, 0])) @ self.thing(self.things(x[:, 1])).T / 4


def taken(seed, size, number=0):
    """People of ten groups, who take things of their group; few things are taken often."""
    def of(step):
        g = rng(seed, step, number, 150)
        who = torch.randint(0, 60, (size,), generator=g)
        rank = (torch.rand(size, generator=g) ** 2 * 8).long()
        return torch.stack([who, who % 10 + 10 * rank], 1), torch.arange(size)
    return of


class Judged:
    """A maker of points of a ring and its judge."""

    def __init__(self, seed):
        self.make = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.judge = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.seed = seed

    def record(self, path, makers, judges, steps=260):
        """`makers`, `judges`: of which network does each optimizer hold the weights?"""
        make_opt, judge_opt = torch.optim.Adam(makers(self), 1e-3), torch.optim.Adam(judges(self), 1e-3)
        hook, bce = hook_for(path, 1), nn.BCEWithLogitsLoss()
        register(hook, self.make, make_opt)
        register(hook, self.judge, judge_opt)
        for step in range(steps):
            hook.set_mode(modes.TRAIN)
            g = rng(self.seed, step, 151)
            a = 6.28 * torch.rand(64, 1, generator=g)
            real, noise = torch.cat([a.cos(), a.sin()], 1), torch.randn(64, 4, generator=g)
            fake = self.make(noise)
            judged = bce(self.judge(real), torch.ones(64, 1)) + bce(self.judge(fake.detach()), torch.zeros(64, 1))
            judge_opt.zero_grad()
            judged.backward()
            judge_opt.step()
            made = bce(self.judge(fake), torch.ones(64, 1))
            make_opt.zero_grad()
            made.backward()
            make_opt.step()
            hook.record_tensor_value("judge_loss", judged.detach())
            hook.record_tensor_value("maker_loss", made.detach())
        finish(hook)


class Codes(nn.Module):
    """Rows become one of 16 codes, and rows again; the code is handed on as it is, its gradient to what it was made of."""

    def __init__(self, inputs=20, width=8):
        super().__init__()
        self.enc, self.relu, self.low = nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, width)
        self.codebook = nn.Embedding(16, width)
        self.dec, self.act, self.out = nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, inputs)

    def forward(self, x):
        z = self.low(self.relu(self.enc(x)))
        self.near = torch.cdist(z, self.codebook.weight).argmin(1)
        code = self.codebook(self.near)
        self.z, self.code = z, code
        return self.out(self.act(self.dec(z + (code - z).detach())))


class Quantised(nn.Module):
    """A perceptron whose weights are rounded to eight bits in the forward pass."""

    def __init__(self, inputs=20, outputs=6, width=40, straight=True, learned=True):
        super().__init__()
        self.inp, self.relu, self.top = nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs)
        self.straight = straight
        self.register_buffer("least", torch.zeros(()))
        self.register_buffer("most", torch.ones(()) * (4 if learned else 0))

    def rounded(self, w):
        scale = w.detach().abs().max() / 127
        made = (w / scale).round() * scale
        return w + (made - w).detach() if self.straight else made

    def forward(self, x):
        h = self.relu(nn.functional.linear(x, self.rounded(self.inp.weight), self.inp.bias))
        step = (self.most - self.least) / 255
        q = ((h - self.least) / step).round().clamp(0, 255) * step + self.least
        h = h + (q - h).detach()
        return nn.functional.linear(h, self.rounded(self.top.weight), self.top.bias)


class Mixed(nn.Module):
    """Four experts; each row goes to the one that the router likes best."""

    def __init__(self, inputs=20, outputs=6, weighed=True):
        super().__init__()
        self.router = nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, 4))
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, outputs)) for _ in range(4))
        self.weighed = weighed

    def forward(self, x):
        share = self.router(x).softmax(1)
        best = share.argmax(1)
        said = torch.stack([e(x) for e in self.experts], 1)[torch.arange(len(x)), best]
        return said * share.gather(1, best[:, None]) * 2 if self.weighed else said


class Hops(nn.Module):
    """Means over neighbours, of a graph that comes with the batch."""

    def __init__(self, inputs=10, classes=4, width=24):
        super().__init__()
        self.w1, self.relu, self.w2 = nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, classes)

    def forward(self, x):
        features, edges = x
        share = edges.sum(1, keepdim=True) ** -0.5 * edges * edges.sum(0, keepdim=True) ** -0.5
        return self.w2(share @ self.relu(self.w1(share @ features)))


def neighbourhoods(seed, nodes=40, number=0, alone=None):
    """A sample of a graph for each step; from step `alone` on, at times one has a node without neighbours."""
    means = torch.randn(4, 10, generator=rng(seed, 152))

    def of(step):
        g = rng(seed, step, number, 153)
        y = torch.randint(0, 4, (nodes,), generator=g)
        edges = torch.rand(nodes, nodes, generator=g) < 0.03 + 0.25 * (y[:, None] == y)
        edges = (edges | edges.T).float().fill_diagonal_(1)
        if alone is not None and step == alone:
            edges[5], edges[:, 5] = 0, 0
        return (means[y] + torch.randn(nodes, 10, generator=g), edges), y
    return of


class Ema(nn.Module):
    """A network and its running average, which is evaluated."""

    def __init__(self, net, share=0.95):
        super().__init__()
        self.net, self.ema, self.share = net, copy.deepcopy(net).requires_grad_(False), share

    @torch.no_grad()
    def update(self, buffers):
        for mine, theirs in zip(self.ema.parameters(), self.net.parameters()):
            mine.mul_(self.share).add_((1 - self.share) * theirs)
        if buffers:
            for mine, theirs in zip(self.ema.buffers(), self.net.buffers()):
                mine.copy_(theirs)

    def forward(self, x):
        return (self.net if self.training else self.ema)(x)


class Boxes(nn.Module):
    """Where is the bright square?"""

    def __init__(self):
        super().__init__()
        self.c1, self.r1 = nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU()
        self.c2, self.r2 = nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU()
        self.fc = nn.Linear(72, 4)

    def forward(self, x):
        return self.fc(self.r2(self.c2(self.r1(self.c1(x)))).flatten(1))


def squares(seed, size, number=0, pixels=lambda step: False):
    def of(step):
        g = rng(seed, step, number, 154)
        at, long = torch.randint(0, 8, (size, 2), generator=g), torch.randint(2, 5, (size, 2), generator=g)
        x = 0.2 * torch.randn(size, 1, 12, 12, generator=g)
        for k in range(size):
            x[k, 0, at[k, 0]:at[k, 0] + long[k, 0], at[k, 1]:at[k, 1] + long[k, 1]] += 1
        y = torch.cat([at, at + long], 1).float()
        return x, y if pixels(step) else y / 12
    return of


def sharp(path, seed, net, data, rate=0.05, rho=0.05, back=True, steps=220):
    """Sharpness-aware: a step up, the gradient there, back, and the step down by it."""
    opt, ce, hook = torch.optim.SGD(net.parameters(), rate, momentum=0.9), nn.CrossEntropyLoss(), hook_for(path, 1)
    register(hook, net, opt)
    hook.register_loss(ce)
    batch, held = data.batch(32), data.held(100)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        x, y = batch(step)
        opt.zero_grad()
        ce(net(x), y).backward()
        with torch.no_grad():
            size = sum(p.grad.pow(2).sum() for p in net.parameters()).sqrt()
            moves = [rho * p.grad / (size + 1e-12) for p in net.parameters()]
            for p, m in zip(net.parameters(), moves):
                p.add_(m)
        opt.zero_grad()
        ce(net(x), y).backward()
        if back:
            with torch.no_grad():
                for p, m in zip(net.parameters(), moves):
                    p.sub_(m)
        opt.step()
        if (step + 1) % 50 == 0:
            hook.set_mode(modes.EVAL)
            net.eval()
            with torch.no_grad():
                ce(net(held(0)[0]), held(0)[1])
            net.train()
    finish(hook)


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


class Domains(nn.Module):
    """A body, a head for the classes, and one that is to tell two sources apart, which the body is trained against."""

    def __init__(self, inputs=20, classes=6, turned="source"):
        super().__init__()
        self.body, self.relu = nn.Linear(inputs, 40), nn.ReLU()
        self.classes, self.source, self.turned = nn.Linear(40, classes), nn.Linear(40, 2), turned

    def forward(self, x):
        h = self.relu(self.body(x))
        back = Turn.apply(h)
        return self.classes(back if self.turned == "classes" else h), self.source(back if self.turned == "source" else h)


class Both(nn.Module):
    def forward(self, said, told):
        y, source = told
        return nn.functional.cross_entropy(said[0], y) + 0.3 * nn.functional.cross_entropy(said[1], source)


def two_sources(data, seed, size):
    batch = data.batch(size)

    def of(step):
        x, y = batch(step)
        source = torch.randint(0, 2, (size,), generator=rng(seed, step, 155))
        return x + 0.3 * source[:, None], (y, source)
    return of


def policy(path, seed, refreshed=True, steps=240, epochs=4, rate=5e-3):
    """A policy that is improved `epochs` times on what it did before, in between clipped ratios; one of four is right."""
    net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
    value = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam([*net.parameters(), *value.parameters()], rate)
    old, acts, best = copy.deepcopy(net), copy.deepcopy(net), torch.randn(8, 4, generator=rng(seed, 156))
    hook = hook_for(path, 1)
    register(hook, net, opt)
    register(hook, value, opt)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        if step % epochs == 0:
            for kept in (acts, old) if refreshed else (acts,):
                kept.load_state_dict(net.state_dict())
            g = rng(seed, step, 157)
            s = torch.randn(64, 8, generator=g)
            with torch.no_grad():
                before = old(s).log_softmax(1)
                a = torch.multinomial(acts(s).softmax(1), 1, generator=g)
            reward = ((s @ best).argmax(1, keepdim=True) == a).float()
        now = net(s).log_softmax(1)
        ratio = (now.gather(1, a) - before.gather(1, a)).exp()
        told = value(s)
        gain = reward - told.detach()
        policy_loss = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        value_loss = (told - reward).pow(2).mean()
        opt.zero_grad()
        (policy_loss + 0.5 * value_loss - 0.003 * -(now.exp() * now).sum(1).mean()).backward()
        opt.step()
        hook.record_tensor_value("policy_loss", policy_loss.detach())
        hook.record_tensor_value("value_loss", value_loss.detach())
    finish(hook)


def crew(path, net, batch, loss, new_optimizer, steps, workers, exchange=None, updated=None, whole=None):
    """Replicas whose gradients are averaged but for what exchange(step, rank, name) leaves out. updated(step, nets, optimizers) comes behind the
    update. `whole(step, nets, xs)`: what a loss is of that all workers share."""
    nets = [copy.deepcopy(net) for _ in range(workers)]
    hooks, losses = [hook_for(path, 1, rank, workers) for rank in range(workers)], [loss() for _ in range(workers)]
    optimizers = [new_optimizer(n) for n in nets]
    for rank in range(workers):
        register(hooks[rank], nets[rank], optimizers[rank])
        hooks[rank].register_loss(losses[rank])
    for step in range(steps):
        for rank in range(workers):
            hooks[rank].set_mode(modes.TRAIN)
            optimizers[rank].zero_grad()
            x, y = batch(rank, step)
            if whole:
                whole(step, rank, nets, losses[rank]).backward()
            else:
                losses[rank](nets[rank](x), y).backward()
        for group in zip(*(n.named_parameters() for n in nets)):
            mean = sum(p.grad for _, p in group) / workers
            for rank, (name, p) in enumerate(group):
                if exchange is None or exchange(step, rank, name):
                    p.grad = mean.clone()
        for optimizer in optimizers:
            optimizer.step()
        if updated:
            updated(step, nets, optimizers)
    finish(*hooks)


class Meets(nn.Module):
    """Two views of each row; those of all workers are gathered."""

    def __init__(self, inputs=20, width=16):
        super().__init__()
        self.a, self.b = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, width)), nn.Sequential(
            nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, width))

    def forward(self, x, others=None):
        a, b = (nn.functional.normalize(f(v), dim=1) for f, v in zip((self.a, self.b), x.chunk(2, 1)))
        return a @ (b if others is None else torch.cat(others)).T / 0.2


def unseen(net, x):
    """The second view's code, without a pass of the network."""
    first, _, last = net.b
    linear = nn.functional.linear
    return nn.functional.normalize(linear(linear(x.chunk(2, 1)[1], first.weight, first.bias).relu(), last.weight, last.bias), dim=1)


def gathered(path, seed, data, offset, steps=160, workers=3, size=24):
    def batch(rank, step):
        g = rng(seed, step, rank, 158)
        x = data.x[torch.randint(0, len(data.x), (size,), generator=g)]
        return torch.cat([x + 0.4 * torch.randn(x.shape, generator=g) for _ in range(2)], 1), torch.arange(size)

    def whole(step, rank, nets, loss):
        net, (x, y) = nets[rank], batch(rank, step)
        others = [unseen(n, batch(r, step)[0]) if n is net else unseen(n, batch(r, step)[0]).detach() for r, n in enumerate(nets)]
        return loss(net(x, others), y + (rank * size if offset else 0))
    crew(path, Meets(), batch, nn.CrossEntropyLoss, lambda n: torch.optim.AdamW(n.parameters(), 2e-3), steps, workers, whole=whole)
