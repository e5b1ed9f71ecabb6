"""healthy_tenth.py - healthy trainings beside causes_tenth.py: slim networks, sparse regressions, averages that are evaluated, late understanding,
layers frozen one by one, inner loops, preferences, noise on purpose, weights that are dropped and grown again, torch's own DDP."""
import copy

import torch
from torch import nn, optim

from causes_fifth import adamw, sgd
from causes_seventh import Adapted, pretrained
from causes_tenth import Denoises, Pairs, by_torch, noised, ratings
from fifth_parts import Attends, Clouds, Curves, Memory, Patterns, Pixels, Stack, codes, rng, swings
from loop import finish, fit, fleet, hook_for, modes
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("tenth")


@healthy
def gains_made_sparse(path, seed):
    """Network slimming: the sum of the gains of the norms is part of the loss, and most of them go to 0."""
    data, net = Patterns(seed, rows=1200), Pixels(width=16)

    def after(step, n, rank):
        for m in n.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.weight.grad.add_(m.weight.detach().sign(), alpha=0.02)
    fit(path, net, data.batch(24), CE(), sgd(net, 0.02), 300, held=data.held(60), after=after)


@healthy
def few_columns_count(path, seed):
    """A lasso by soft thresholds: 56 of 60 columns say nothing, and their weights become exactly 0."""
    net = nn.Linear(60, 1)
    true = torch.zeros(60, 1)
    true[:4, 0] = torch.tensor([2.0, -1.5, 1.0, 0.7])

    def batch(step):
        g = rng(seed, step)
        x = torch.randn(32, 60, generator=g)
        return x, x @ true + 0.2 * torch.randn(32, 1, generator=g)

    def updated(step, n):
        with torch.no_grad():
            n.weight.copy_(n.weight.sign() * (n.weight.abs() - 0.003).clamp(min=0))
    fit(path, net, batch, nn.MSELoss(), optim.SGD(net.parameters(), 0.03), 260, held=lambda k: batch(10 ** 6 + k), updated=updated)


@healthy
def average_evaluated_in_place(path, seed):
    """Evaluation swaps the moving average into the network, and the weights back behind it."""
    data, net = Clouds(seed), Stack(20, 6)
    mean, kept = [p.detach().clone() for p in net.parameters()], []

    def updated(step, n):
        with torch.no_grad():
            for m, p in zip(mean, n.parameters()):
                m.lerp_(p, 0.05)

    def evaluate(n):
        n.eval()
        kept[:] = [p.detach().clone() for p in n.parameters()]
        with torch.no_grad():
            for m, p in zip(mean, n.parameters()):
                p.copy_(m)

    def change(step, n, rank):
        if kept:
            with torch.no_grad():
                for k, p in zip(kept, n.parameters()):
                    p.copy_(k)
            kept.clear()
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), updated=updated, evaluate=evaluate, change=change)


@healthy
def parity_understood_late(path, seed):
    """The loss stands at ln 2 for long, and falls when the parity of three bits is found."""
    net = Stack(10, 2, width=128)

    def batch(step):
        x = torch.randint(0, 2, (64, 10), generator=rng(seed, step)).float() * 2 - 1
        return x, (x[:, :3].prod(1) > 0).long()
    fit(path, net, batch, CE(), adamw(net, 1e-3), 400, held=lambda k: batch(10 ** 6 + k))


@healthy
def frozen_from_below(path, seed):
    """Layers are frozen one by one from the lowest on, at steps 80 and 160."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if step == 80:
            n.inp.requires_grad_(False)
        if step == 160:
            n.mid.requires_grad_(False)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), change=change)


@healthy
def inner_loop_of_tasks(path, seed):
    """Reptile: three steps on a task, then the weights go a part of the way to where they came."""
    net = Stack(1, 1, act=nn.Tanh)
    start = {}

    def batch(step):
        g = rng(seed, step // 3, 5)
        a, p = 1 + torch.rand(1, generator=g), 3 * torch.rand(1, generator=g)
        x = torch.rand(24, 1, generator=rng(seed, step)) * 6 - 3
        return x, a * torch.sin(x + p)

    def updated(step, n):
        with torch.no_grad():
            if step % 3 == 2:
                for s, p in zip(start["w"], n.parameters()):
                    p.copy_(s + 0.4 * (p - s))

    def change(step, n, rank):
        if step % 3 == 0:
            start["w"] = [p.detach().clone() for p in n.parameters()]
    fit(path, net, batch, nn.MSELoss(), optim.SGD(net.parameters(), 0.05), 300, change=change, updated=updated)


@healthy
def noise_of_many_times(path, seed):
    net = Denoises()
    fit(path, net, noised(seed, 64), nn.MSELoss(), adamw(net, 3e-3), 260)


@healthy
def users_and_items(path, seed):
    net = Pairs()
    fit(path, net, ratings(seed, 64), nn.MSELoss(), adamw(net, 1e-2), 300, held=ratings(seed, 100, number=1))


@healthy
def flow_in_eight_steps(path, seed):
    """A field that is called eight times in a pass, as an equation is solved."""
    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.tanh, self.b = nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2)

        def forward(self, x):
            return self.b(self.tanh(self.a(x)))

    class Solved(nn.Module):
        def __init__(self):
            super().__init__()
            self.field = Field()

        def forward(self, x):
            for _ in range(8):
                x = x + 0.125 * self.field(x)
            return x
    net = Solved()
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])

    def batch(step):
        x = torch.randn(32, 2, generator=rng(seed, step))
        return x, x @ turn
    fit(path, net, batch, nn.MSELoss(), adamw(net, 5e-3), 200, held=lambda k: batch(10 ** 6 + k))


@healthy
def what_is_preferred(path, seed):
    """Preferences: a policy against a copy of itself that stands; the loss begins at ln 2 and falls."""
    first = pretrained(Clouds(seed + 50))
    data = Clouds(seed)

    class Preferred(nn.Module):
        def __init__(self):
            super().__init__()
            self.policy, self.reference = copy.deepcopy(first), copy.deepcopy(first).requires_grad_(False)

        def forward(self, x):
            return nn.functional.log_softmax(self.policy(x), 1) - nn.functional.log_softmax(self.reference(x), 1)

    class PreferenceLoss(nn.Module):
        def forward(self, d, y):
            other = (y + 1 + torch.arange(len(y)) % 5) % 6
            return -nn.functional.logsigmoid(0.3 * (d.gather(1, y[:, None]) - d.gather(1, other[:, None]))).mean()
    net = Preferred()
    fit(path, net, data.batch(32), PreferenceLoss(), adamw(net, 3e-4), 240, held=data.held(100))


@healthy
def noise_on_every_weight(path, seed):
    """Langevin: each update has noise of the width that the rate gives."""
    data, net = Clouds(seed), Stack(20, 6)
    g = rng(seed, 44)

    def updated(step, n):
        with torch.no_grad():
            for p in n.parameters():
                p.add_(0.004 * torch.randn(p.shape, generator=g))
    fit(path, net, data.batch(32), CE(), optim.SGD(net.parameters(), 0.05, weight_decay=1e-3), 240, held=data.held(100), updated=updated)


@healthy
def dropped_and_grown_again(path, seed):
    """A sparse network: every thirty steps the smallest tenth is set to 0 and as many others begin at 0."""
    data, net = Clouds(seed), Stack(20, 6, width=64)
    masks = {p: (torch.rand(p.shape, generator=rng(seed, k)) < 0.3).float() for k, p in enumerate(net.parameters()) if p.dim() == 2}
    with torch.no_grad():
        for p, m in masks.items():
            p.mul_(m).mul_(1.8)

    def updated(step, n):
        with torch.no_grad():
            if step % 30 == 29 and step < 200:
                for p, m in masks.items():
                    on = m.flatten().nonzero()[:, 0]
                    off = (1 - m.flatten()).nonzero()[:, 0]
                    k = len(on) // 10
                    m.view(-1)[on[p.flatten()[on].abs().argsort()[:k]]] = 0
                    m.view(-1)[off[torch.randperm(len(off), generator=rng(seed, step))[:k]]] = 1
            for p, m in masks.items():
                p.mul_(m)
    fit(path, net, data.batch(32), CE(), adamw(net), 260, held=data.held(100), updated=updated)


@healthy
def five_exits(path, seed):
    """Three heads along the depth, the mean of whose losses is trained."""
    class Exits(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(20, 48), nn.Linear(48, 48), nn.Linear(48, 48)
            self.ra, self.rb, self.rc = nn.ReLU(), nn.ReLU(), nn.ReLU()
            self.heads = nn.ModuleList(nn.Linear(48, 6) for _ in range(3))

        def forward(self, x):
            a = self.ra(self.a(x))
            b = self.rb(self.b(a))
            c = self.rc(self.c(b))
            return torch.stack([h(z) for h, z in zip(self.heads, (a, b, c))], 2)
    data, net = Clouds(seed), Exits()

    def of(made):
        return lambda s: (made(s)[0], made(s)[1][:, None].expand(-1, 3).clone())
    fit(path, net, of(data.batch(32)), CE(), adamw(net), 220, held=of(data.held(100)))


@healthy
def quantiles(path, seed):
    """Nine quantiles by the pinball loss; batches of 6."""
    class PinballLoss(nn.Module):
        def forward(self, s, y):
            t = torch.arange(1, 10) / 10
            return torch.maximum(t * (y - s), (t - 1) * (y - s)).mean()
    data, net = Curves(seed, noise=0.5), Stack(8, 9)
    fit(path, net, data.batch(6), PinballLoss(), adamw(net, 2e-3), 300, held=data.held(100))


@healthy
def penalty_on_slopes(path, seed):
    """A critic with a penalty on its slope and a generator, updated five times to one."""
    data = Clouds(seed)
    made, judge = Stack(8, 20), Stack(20, 1)
    g_opt, d_opt = optim.Adam(made.parameters(), 1e-3, betas=(0.0, 0.9)), optim.Adam(judge.parameters(), 1e-3, betas=(0.0, 0.9))
    hook = hook_for(path, 1)
    hook.register_module(made)
    hook.register_module(judge)
    for step in range(220):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step)
        x, _ = data.batch(32)(step)
        fake = made(torch.randn(32, 8, generator=g))
        t = torch.rand(32, 1, generator=g)
        mid = (t * x + (1 - t) * fake.detach()).requires_grad_(True)
        scores = judge(torch.cat([x, fake.detach(), mid]))
        slope = torch.autograd.grad(scores[64:].sum(), mid, create_graph=True)[0].norm(dim=1)
        value = scores[32:64].mean() - scores[:32].mean() + 10 * ((slope - 1) ** 2).mean()
        d_opt.zero_grad()
        value.backward()
        d_opt.step()
        hook.record_tensor_value("critic_loss", value.detach())
        if step % 5 == 4:
            g_opt.zero_grad()
            other = -judge(fake).mean()
            other.backward()
            g_opt.step()
            hook.record_tensor_value("generator_loss", other.detach())
    finish(hook)


@healthy
def views_decorrelated(path, seed):
    """Two views: close to one another, of variance 1, not correlated."""
    class Decorrelated(nn.Module):
        def forward(self, z, y):
            a, b = z.chunk(2)

            def off(m):
                c = (m - m.mean(0)).t() @ (m - m.mean(0)) / (len(m) - 1)
                return (c - torch.diag(c.diag())).pow(2).sum() / m.shape[1]
            hinge = sum((1 - (m.var(0) + 1e-4).sqrt()).relu().mean() for m in (a, b))
            return 25 * (a - b).pow(2).mean() + 25 * hinge + off(a) + off(b)
    data, net = Clouds(seed), Stack(20, 16)

    def batch(step):
        x, y = data.batch(48)(step)
        g = rng(seed, step)
        return torch.cat([x + 0.3 * torch.randn(x.shape, generator=g), x + 0.3 * torch.randn(x.shape, generator=g)]), y
    fit(path, net, batch, Decorrelated(), adamw(net, 2e-3), 240)


@healthy
def own_words_read_again(path, seed):
    """A series told step by step; the network reads its own values ever more often."""
    class Tells(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out, self.share, self.count = nn.GRUCell(1, 24), nn.Linear(24, 1), 0.0, 0

        def forward(self, x):
            h, told, all_ = torch.zeros(len(x), 24), x[:, 0], []
            for k in range(x.shape[1]):
                self.count += 1
                own = torch.rand(len(x), 1, generator=rng(self.count)) < self.share
                h = self.cell(torch.where(own, told, x[:, k]), h)
                told = self.out(h)
                all_.append(told)
            return torch.cat(all_, 1)
    net, plain = Tells(), swings(seed, 32)

    def batch(step):
        x, y = plain(step)
        return x[:, :, :1].contiguous(), torch.cat([x[:, 1:, 0], y], 1)

    def change(step, n, rank):
        n.share = min(0.5, step / 400)
    fit(path, net, batch, nn.MSELoss(), adamw(net, 5e-3), 240, change=change)


@healthy
def winter_and_summer(path, seed):
    """What is told drifts slowly to and fro, and is learned as it comes."""
    data, net = Curves(seed), Stack(8, 1)
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        return x, y + 0.5 * float(torch.sin(torch.tensor(step / 25.0)))
    fit(path, net, batch, nn.MSELoss(), adamw(net, 3e-3), 300)


@healthy
def adapters_and_a_head_in_bfloat(path, seed):
    """Adapters of low rank and a new head under autocast, four passes an update."""
    net = pretrained(Clouds(seed + 50))
    net.inp, net.mid, net.top = Adapted(net.inp), Adapted(net.mid), nn.Linear(48, 6)
    data = Clouds(seed)
    fit(path, net, data.batch(8), CE(label_smoothing=0.1), adamw(net, 5e-3), 220, accumulate=4, autocast=True, held=data.held(100))


@healthy
def three_workers_by_torch(path, seed):
    by_torch(path, seed, "tail", 3)


@healthy
def weights_decay_away_from_what_is_unused(path, seed):
    """A table of codes of which half never come, under a decay of 2: their rows shrink to nothing."""
    net = Attends(kinds=18)
    fit(path, net, codes(seed, 32), CE(), adamw(net, 3e-3, weight_decay=2.0), 260, held=codes(seed, 60, number=1))


@healthy
def shards_of_unlike_size(path, seed):
    """Four workers; the last one's batches are half as long; weights are averaged every five steps."""
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.shard(24, 4)
    fleet(path, net, lambda r, s: tuple(t[:12 if r == 3 else 24].clone() for t in plain(r, s)), CE, lambda n: sgd(n, 0.02), 160, 4,
          average=lambda s: False, together=lambda s: s % 5 == 4, held=data.held(100))
