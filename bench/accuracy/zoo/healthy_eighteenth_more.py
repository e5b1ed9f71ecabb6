"""healthy_eighteenth_more.py - the rest of the eighteenth set in which nothing is wrong: schedules and restarts, what is no network, workers."""
import copy

import torch
from torch import nn, optim

from eighteenth_parts import trained, workers_by_hand
from fifth_parts import Clouds, rng
from healthy_eighteenth import healthy
from loop import finish, fit, fleet, hook_for, modes, register
from seventeenth_parts import adam, by_hand, down, mlp
from sixteenth_parts import F, Next, glyphs

CE = nn.CrossEntropyLoss


# -- schedules, restarts, orders

@healthy
def one_cycle_up_to_one(path, seed):
    """Super-convergence: SGD with a rate that goes up to 0.4 and down to nothing."""
    data, net = Clouds(seed), nn.Sequential(nn.Linear(20, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 6))
    opt = optim.SGD(net.parameters(), 0.4, momentum=0.9)
    fit(path, net, data.batch(32), CE(), opt, 240, schedule=optim.lr_scheduler.OneCycleLR(opt, 0.4, 240), held=data.held(100))


@healthy
def three_tasks_one_behind_another(path, seed):
    """Half of each batch is of the task at hand, half of those before; a new task every 80 steps."""
    sets = [Clouds(seed + 7 * k, kinds=6) for k in range(3)]
    plain, net = [d.batch(32) for d in sets], mlp(20, 64, 6)

    def batch(step):
        now = min(step // 80, 2)
        x, y = plain[now](step)
        if now:
            o, p = plain[step % now](step)
            x, y = torch.cat([x[:16], o[:16]]), torch.cat([y[:16], p[:16]])
        return x, y
    fit(path, net, batch, CE(), adam(net), 240)


@healthy
def rewound_and_pruned(path, seed):
    """At 120 weights go back to those of step 20, without the smaller half of each."""
    data, net, kept = Clouds(seed), mlp(20, 64, 64, 6), {}

    def change(step, n, rank):
        with torch.no_grad():
            if step == 20:
                kept.update(copy.deepcopy(n.state_dict()))
            if step == 120:
                for name, p in n.named_parameters():
                    if p.dim() == 2:
                        kept["mask." + name] = (p.abs() > p.abs().median()).float()
                    p.copy_(kept[name])
            if step >= 120:
                for name, p in n.named_parameters():
                    if p.dim() == 2:
                        p.mul_(kept["mask." + name])
    fit(path, net, data.batch(32), CE(), adam(net, weight_decay=0), 260, change=change, held=data.held(100))


@healthy
def batches_put_together_more_and_more(path, seed):
    """One batch an update, then two, then four."""
    data, net = Clouds(seed), mlp(20, 48, 6)
    opt, loss, plain, hook, at = optim.SGD(net.parameters(), 0.1, momentum=0.9), CE(), data.batch(32), hook_for(path, 1), 0
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(200):
        hook.set_mode(modes.TRAIN)
        opt.zero_grad()
        turns = 1 if step < 80 else 2 if step < 140 else 4
        for _ in range(turns):
            x, y = plain(at)
            (loss(net(x), y) / turns).backward()
            at += 1
        opt.step()
    finish(hook)


@healthy
def scale_doubles_until_it_is_too_large(path, seed):
    """Gradients in half precision: the scale doubles every 20 steps, and a step is left out when it was too large."""
    data, net = Clouds(seed), mlp(20, 48, 6)
    opt, loss, plain, hook, scale, good = adam(net), CE(), data.batch(32), hook_for(path, 1), 2.0 ** 12, 0
    register(hook, net, opt)
    hook.register_loss(loss)
    for step in range(240):
        hook.set_mode(modes.TRAIN)
        opt.zero_grad(set_to_none=True)
        x, y = plain(step)
        (loss(net(x), y) * scale).backward()
        for p in net.parameters():
            p.grad = p.grad.half().float()
        if all(torch.isfinite(p.grad).all() for p in net.parameters()):
            for p in net.parameters():
                p.grad /= scale
            opt.step()
            good += 1
            scale *= 2 if good % 20 == 0 else 1
        else:
            scale /= 2
    finish(hook)


@healthy
def without_a_schedule(path, seed):
    """Schedule-free: gradients are taken between a fast sequence and its average; the average is evaluated."""
    data, net = Clouds(seed), mlp(20, 48, 6)
    z = [p.detach().clone() for p in net.parameters()]
    x_ = [p.detach().clone() for p in net.parameters()]

    class Free(optim.SGD):
        count = 0

        @torch.no_grad()
        def step(self):
            self.count += 1
            for p, fast, mean in zip(net.parameters(), z, x_):
                fast.sub_(0.3 * p.grad)
                mean.lerp_(fast, 1 / self.count)
                p.copy_(0.1 * fast + 0.9 * mean)
    opt = Free(net.parameters(), 0.3)
    fit(path, net, data.batch(32), CE(), opt, 240, held=data.held(100))


@healthy
def rounds_away_by_lot(path, seed):
    """Weights in bfloat16, rounded up or down by lot behind each step."""
    data, net = Clouds(seed), mlp(20, 48, 6)

    def updated(step, n):
        g = rng(seed, step, 532)
        with torch.no_grad():
            for p in n.parameters():
                bits = p.view(torch.int32) + torch.randint(0, 2 ** 16, p.shape, generator=g, dtype=torch.int32)
                p.copy_((bits & -65536).view(torch.float32))
    fit(path, net, data.batch(32), CE(), adam(net, 2e-3), 240, updated=updated, held=data.held(100))


# -- no network

@healthy
def a_map_of_neighbours(path, seed):
    """Points on a plane by whom they are near to, pressed together for the first 60 steps: the loss falls at once there."""
    data = Clouds(seed, rows=120)
    d = torch.cdist(data.x, data.x) ** 2
    p = (-d / 8).exp() * (1 - torch.eye(120))
    p = p / p.sum()

    class Map(nn.Module):
        def __init__(self):
            super().__init__()
            self.place = nn.Parameter(1e-2 * torch.randn(120, 2))

        def forward(self, near):
            q = 1 / (1 + torch.cdist(self.place, self.place) ** 2 + 1e-9) * near
            return q / q.sum() + 1e-12
    net = Map()
    opt = optim.SGD(net.parameters(), 40.0, momentum=0.8)

    def one(step):
        q = net(1 - torch.eye(120))
        many = 4.0 if step < 60 else 1.0
        return {"map_loss": down(opt, (many * p * (many * p + 1e-12).log() - many * p * q.log()).sum())}
    by_hand(path, [(net, opt)], 240, one)


@healthy
def three_numbers_of_a_process(path, seed):
    """Length, size and noise of a Gaussian process by its likelihood."""
    g = rng(seed, 533)
    x = 4 * torch.rand(60, 1, generator=g)
    y = (2 * x).sin() + 0.2 * torch.randn(60, 1, generator=g)

    class Process(nn.Module):
        def __init__(self):
            super().__init__()
            self.length, self.size, self.noise = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return self.size.exp() * (-torch.cdist(x, x) ** 2 / (2 * self.length.exp() ** 2)).exp() + (self.noise.exp() ** 2 + 1e-4) * torch.eye(60)
    net = Process()
    opt = optim.Adam(net.parameters(), 0.03)

    def one(step):
        c = torch.linalg.cholesky(net(x))
        return {"likelihood_loss": down(opt, (0.5 * (y * torch.cholesky_solve(y, c)).sum() + c.diagonal().log().sum()) / 60)}
    by_hand(path, [(net, opt)], 200, one)


@healthy
def a_picture_is_learned(path, seed):
    """A network stands; the picture that it calls a sign is what is trained, with a cost of edges."""
    data = glyphs(seed)
    body = trained(Next(), data.batch(24), CE(), 2e-3, 120).requires_grad_(False).eval()

    class Picture(nn.Module):
        def __init__(self):
            super().__init__()
            self.pixel, self.body = nn.Parameter(0.1 * torch.randn(4, 1, 14, 14)), body

        def forward(self, ease):
            return self.body(ease * self.pixel.sigmoid())
    net = Picture()
    opt = optim.Adam([net.pixel], 0.05)

    def one(step):
        x = net.pixel.sigmoid()
        edges = (x[..., 1:] - x[..., :-1]).abs().mean() + (x[:, :, 1:] - x[:, :, :-1]).abs().mean()
        return {"picture_loss": down(opt, F.cross_entropy(net(torch.ones(1)), torch.arange(4)) + 0.5 * edges)}
    by_hand(path, [(net, opt)], 200, one)


# -- workers

@healthy
def together_then_every_eighth_step(path, seed):
    """Two workers average their gradients for 80 steps, then their weights every eighth step."""
    data = Clouds(seed)
    fleet(path, mlp(20, 32, 6), data.shard(16, 2), CE, lambda n: optim.SGD(n.parameters(), 0.05, momentum=0.9), 200, 2,
          average=lambda s: s < 80, together=lambda s: s >= 80 and s % 8 == 7)


@healthy
def far_apart_and_seldom_together(path, seed):
    """Three workers go twenty steps alone; the mean of where they went is a gradient for one that has momentum."""
    data, first = Clouds(seed), mlp(20, 32, 6)
    nets = [copy.deepcopy(first) for _ in range(3)]
    outer = optim.SGD(first.parameters(), 0.7, momentum=0.9, nesterov=True)

    def behind(step):
        if step % 20 != 19:
            return
        for p, *mine in zip(first.parameters(), *[n.parameters() for n in nets]):
            p.grad = p.detach() - torch.stack([m.detach() for m in mine]).mean(0)
        outer.step()
        with torch.no_grad():
            for n in nets:
                for m, p in zip(n.parameters(), first.parameters()):
                    m.copy_(p)
    workers_by_hand(path, nets, [adam(n, 2e-3) for n in nets], [CE() for _ in nets], 200, data.shard(16, 3), behind=behind)


@healthy
def shares_of_unlike_size_weighed(path, seed):
    """Three workers with 8, 16 and 40 rows a batch; gradients are weighed by rows."""
    data, sizes = Clouds(seed), (8, 16, 40)
    first, whole = mlp(20, 32, 6), data.batch(64)
    nets = [copy.deepcopy(first) for _ in range(3)]

    def batch(rank, step):
        x, y = whole(step)
        at = sum(sizes[:rank])
        return x[at:at + sizes[rank]].clone(), y[at:at + sizes[rank]].clone()

    def between(step):
        for mine in zip(*[n.parameters() for n in nets]):
            mean = sum(p.grad * s / 64 for p, s in zip(mine, sizes))
            for p in mine:
                p.grad = mean.clone()
    workers_by_hand(path, nets, [adam(n, 2e-3) for n in nets], [CE() for _ in nets], 200, batch, between=between)


@healthy
def what_was_rounded_comes_later(path, seed):
    """Two workers exchange signs of gradients, and keep what the signs leave for the next time."""
    data, first = Clouds(seed), mlp(20, 32, 6)
    nets = [copy.deepcopy(first) for _ in range(2)]
    left = [[torch.zeros_like(p) for p in n.parameters()] for n in nets]

    def between(step):
        for k, mine in enumerate(zip(*[n.parameters() for n in nets])):
            sent = []
            for r, p in enumerate(mine):
                want = p.grad + left[r][k]
                sent.append(want.sign() * want.abs().mean())
                left[r][k] = want - sent[-1]
            for p in mine:
                p.grad = (sum(sent) / 2).clone()
    workers_by_hand(path, nets, [optim.SGD(n.parameters(), 0.05) for n in nets], [CE() for _ in nets], 220, data.shard(16, 2), between=between)


@healthy
def a_worker_has_no_rows_left(path, seed):
    """Four workers; two have fewer rows, and close their recording when they are done. The others go on."""
    data, first = Clouds(seed), mlp(20, 32, 6)
    nets, ends = [copy.deepcopy(first) for _ in range(4)], (200, 170, 200, 185)

    def behind_of(step):
        here = [n for n, e in zip(nets, ends) if step < e]
        for mine in zip(*[n.parameters() for n in here]):
            mean = sum(p.grad for p in mine) / len(mine)
            for p in mine:
                p.grad = mean.clone()
    workers_by_hand(path, nets, [adam(n, 2e-3) for n in nets], [CE() for _ in nets], 200, data.shard(12, 4), between=behind_of, ends=ends)
