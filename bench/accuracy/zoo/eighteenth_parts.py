"""eighteenth_parts.py - networks and data of the eighteenth set: adapters of low rank, residual stacks for series, attention over neighbours, experts with a
share of the load, flows of bends, codes that are made anew, wide and deep tables, steps of an equation."""
import torch
from torch import nn

from fifteenth_parts import Pool
from fifth_parts import rng
from loop import finish, hook_for, modes, register
from sixteenth_parts import F


def trained(net, batch, loss, rate=3e-3, steps=300):
    """What comes before the recording: a network that is good already."""
    opt = torch.optim.Adam(net.parameters(), rate)
    for step in range(steps):
        x, y = batch(step)
        opt.zero_grad()
        loss(net(x), y).backward()
        opt.step()
    opt.zero_grad(set_to_none=True)
    return net


class Lora(nn.Module):
    def __init__(self, base, rank=4, scale=2.0, zeros=False):
        super().__init__()
        self.base, self.scale = base.requires_grad_(False), scale
        self.lora_a, self.lora_b = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_b.weight)
        if zeros:
            nn.init.zeros_(self.lora_a.weight)

    def forward(self, x):
        return self.base(x) + self.scale * self.lora_b(self.lora_a(x))


def adapted(net, **how):
    """The linear layers of a perceptron get adapters; nothing else is trained."""
    for name, child in list(net.named_children()):
        if isinstance(child, nn.Linear):
            setattr(net, name, Lora(child, **how))
    return net


class Beats(nn.Module):
    """Blocks tell a part of the past and a part of what comes; the next has what is left."""

    def __init__(self, past=30, ahead=5, blocks=3):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(past, 48), nn.ReLU(), nn.Linear(48, past + ahead)) for _ in range(blocks))
        self.past = past

    def forward(self, x):
        x = x[:, 0]
        middle, wide = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-3
        left, told = (x - middle) / wide, 0
        for block in self.blocks:
            said = block(left)
            left, told = left - said[:, :self.past], told + said[:, self.past:]
        return told * wide + middle


class Neighbours(nn.Module):
    """Attention over neighbours, twice; the whole graph is the batch."""

    def __init__(self, inputs=12, kinds=4, width=16, drop=0.4):
        super().__init__()
        self.inp, self.a, self.b, self.drop = nn.Linear(inputs, width), nn.Linear(width, 1), nn.Linear(width, 1), nn.Dropout(drop)
        self.more, self.act, self.out = nn.Linear(width, width), nn.ELU(), nn.Linear(width, kinds)

    def look(self, h, near):
        share = F.leaky_relu(self.a(h) + self.b(h).T, 0.2).masked_fill(near == 0, -1e9).softmax(1)
        return self.drop(share) @ h

    def forward(self, x):
        h, near = x[:, :12], x[:, 12:]
        h = self.act(self.look(self.inp(self.drop(h)), near))
        return self.out(self.look(self.more(h), near))


def citations(seed, nodes=120):
    """Nodes of four kinds, mostly linked to their own: columns of features, then the links."""
    g = rng(seed, 501)
    kind = torch.randint(0, 4, (nodes,), generator=g)
    x = F.one_hot(kind, 4).float().repeat(1, 3) * 0.5 + torch.randn(nodes, 12, generator=g)
    chance = torch.where(kind[:, None] == kind[None], 0.12, 0.02)
    near = (torch.rand(nodes, nodes, generator=g) < chance).float().triu(1)
    return torch.cat([x, near + near.T + torch.eye(nodes)], 1), kind


class Load(nn.Module):
    """One of four experts a row; `extra` is what makes the router share."""

    def __init__(self, bias=0.0):
        super().__init__()
        self.route, self.experts, self.out = nn.Linear(20, 4), nn.ModuleList(nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 20)) for _ in range(4)), nn.Linear(20, 6)
        with torch.no_grad():
            self.route.bias[0] += bias

    def forward(self, x):
        share = self.route(x).softmax(1)
        best, which = share.max(1)
        told = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            rows = (which == k).nonzero(as_tuple=True)[0]
            if len(rows):
                told = told.index_add(0, rows, best[rows, None] * expert(x[rows]))
        self.extra = 4 * (F.one_hot(which, 4).float().mean(0) * share.mean(0)).sum()
        return self.out(x + told)


class Bends(nn.Module):
    """A flow of four couplings; says the negative logarithm of the density."""

    def __init__(self):
        super().__init__()
        self.ways = nn.ModuleList(nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2)) for _ in range(6))

    def forward(self, x):
        stretch = 0
        for k, way in enumerate(self.ways):
            a, b = (x[:, :1], x[:, 1:]) if k % 2 else (x[:, 1:], x[:, :1])
            s, t = way(a).chunk(2, 1)
            s = s.tanh()
            b, stretch = b * s.exp() + t, stretch + s
            x = torch.cat([a, b], 1) if k % 2 else torch.cat([b, a], 1)
        return 0.5 * (x ** 2).sum(1) - stretch.squeeze(1) + 1.84


class Crossed(nn.Module):
    """Wide and deep: crosses of columns, beside layers; categories by tables."""

    def __init__(self, outputs=1):
        super().__init__()
        self.tables, self.cross = nn.ModuleList(nn.Embedding(6, 4) for _ in range(3)), nn.ModuleList(nn.Linear(24, 24) for _ in range(2))
        self.deep, self.out = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.ReLU()), nn.Linear(40, outputs)

    def forward(self, x):
        x = torch.cat([x[:, :12]] + [t(x[:, 12 + k].long()) for k, t in enumerate(self.tables)], 1)
        c = x
        for layer in self.cross:
            c = x * layer(c) + c
        return self.out(torch.cat([c, self.deep(x)], 1))


class Euler(nn.Module):
    """Where a state goes in eight steps of a slope that is learned."""

    def __init__(self, width=32):
        super().__init__()
        self.slope = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, x):
        for _ in range(8):
            x = x + 0.125 * self.slope(x)
        return x


def orbits(seed):
    """Places of a damped swing, and where they are a unit of time later."""
    def draw(n, g):
        x = 2 * torch.randn(n, 2, generator=g)
        c, s = torch.tensor(0.87), torch.tensor(0.48)
        return x, 0.9 * torch.stack([c * x[:, 0] + s * x[:, 1], -s * x[:, 0] + c * x[:, 1]], 1) + 0.03 * torch.randn(n, 2, generator=g)
    return Pool(seed, draw)


class Seq(nn.Module):
    """Encoder and decoder of gated cells; the decoder reads its own words with a chance."""

    def __init__(self, words=9, width=32):
        super().__init__()
        self.table, self.enc, self.dec, self.out = nn.Embedding(words, width), nn.GRU(width, width, batch_first=True), nn.GRUCell(width, width), nn.Linear(width, words)
        self.chance, self.draws = 0.0, rng(9)

    def forward(self, x):
        said, given = x[:, :6], x[:, 6:]
        h, told = self.enc(self.table(said))[1][0], []
        word = given[:, 0]
        for t in range(6):
            h = self.dec(self.table(word), h)
            told.append(self.out(h))
            own = torch.rand(1, generator=self.draws).item() < self.chance
            word = told[-1].argmax(1) if own else given[:, min(t + 1, 5)]
        return torch.stack(told, 2)


def step_together(here, hooks, nets, opts, losses, batch, step):
    """One step of the workers `here`: each takes its batch(rank, step), and all apply the mean of their gradients."""
    for r in here:
        hooks[r].set_mode(modes.TRAIN)
        opts[r].zero_grad(set_to_none=True)
        x, y = batch(r, step)
        losses[r](nets[r](x), y).backward()
    for mine in zip(*[nets[r].parameters() for r in here]):
        mean = sum(p.grad for p in mine) / len(mine)
        for p in mine:
            p.grad = mean.clone()
    for r in here:
        opts[r].step()


def workers_by_hand(path, nets, opts, losses, steps, batch, between=None, behind=None, ends=None):
    """Workers of one process: between(step) stands before the updates, behind(step) after them; ends[rank] is the number of steps that it takes part in."""
    hooks = [hook_for(path, 1, rank, len(nets)) for rank in range(len(nets))]
    for hook, net, opt, loss in zip(hooks, nets, opts, losses):
        register(hook, net, opt)
        hook.register_loss(loss)
    for step in range(steps):
        for rank, (hook, net, opt, loss) in enumerate(zip(hooks, nets, opts, losses)):
            if ends and step == ends[rank]:
                finish(hook)
            if ends and step >= ends[rank]:
                continue
            hook.set_mode(modes.TRAIN)
            opt.zero_grad(set_to_none=True)
            x, y = batch(rank, step)
            loss(net(x), y).backward()
        if between:
            between(step)
        for rank, opt in enumerate(opts):
            if not ends or step < ends[rank]:
                opt.step()
        if behind:
            behind(step)
    finish(*[h for r, h in enumerate(hooks) if not ends or ends[r] >= steps])
