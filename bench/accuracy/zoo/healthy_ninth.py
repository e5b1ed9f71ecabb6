"""healthy_ninth.py - healthy trainings beside causes_ninth.py: tied heads, norms that stand, scales that are found, weights that go back, batches
and sets that grow, hard negatives, critics, private and orthogonal updates, temperatures that fall."""
import torch
from torch import nn, optim

from causes_fifth import adamw, sgd
from causes_ninth import Language, chain
from causes_seventh import Blobs, Masks, Series, letters
from fifth_parts import Clouds, Curves, Patterns, Pixels, Stack, rng
from loop import finish, fit, fleet, hook_for, modes
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("ninth")


class Stepped:
    """An optimizer with something around its step."""

    def __init__(self, inner, around):
        self.inner, self.around, self.count = inner, around, 0

    def zero_grad(self, set_to_none=True):
        self.inner.zero_grad(set_to_none)

    def step(self):
        self.around(self.count, self.inner)
        self.count += 1


@healthy
def head_is_the_table(path, seed):
    net = Language()
    fit(path, net, chain(seed, 24), CE(), adamw(net, 5e-3), 260, clip=1.0, held=chain(seed, 60, number=1))


@healthy
def norms_that_stand(path, seed):
    """A pretrained network whose batch norms are kept in the mode of evaluation, with gains that are not trained."""
    data, net = Patterns(seed, rows=1200), Pixels()
    first, opt = Patterns(seed + 50, rows=1200), adamw(net, 3e-3)
    for s in range(120):
        opt.zero_grad()
        x, y = first.batch(24)(s)
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()

    def change(step, n, rank):
        for m in n.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval().requires_grad_(False)
    change(0, net, 0)
    fit(path, net, data.batch(24), CE(), adamw(net, 5e-4), 240, change=change, held=data.held(60))


@healthy
def large_batches_and_trust(path, seed):
    """Batches of 320 at a large rate; each layer's update is a share of its norm."""
    data, net = Clouds(seed, rows=3200), Stack(20, 6)

    def around(step, inner):
        for p in net.parameters():
            p.grad *= 0.02 * (p.detach().norm() + 1e-3) / (p.grad.norm() + 1e-9)
        inner.step()
    fit(path, net, data.batch(320), CE(), Stepped(sgd(net, 1.0, momentum=0.0), around), 220, held=data.held(100))


@healthy
def scale_finds_its_level(path, seed):
    """Half precision: the scale begins too high, is halved at each overflow, with the update left out, and doubled each 80 steps."""
    data, net, state = Clouds(seed, rows=1600), Stack(20, 6), {"scale": 2.0 ** 22, "good": 0}

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.half().float()

    def around(step, inner):
        if not all(torch.isfinite(p.grad).all() for p in net.parameters()):
            state["scale"], state["good"] = state["scale"] / 2, 0
            return
        for p in net.parameters():
            p.grad /= state["scale"]
        state["good"] += 1
        if state["good"] % 80 == 0:
            state["scale"] *= 2
        inner.step()
    fit(path, net, data.batch(32), CE(), Stepped(adamw(net), around), 280, scale=lambda s: state["scale"],
        forward=lambda n, x: Half.apply(n(x)), held=data.held(100))


@healthy
def slow_weights_and_fast(path, seed):
    """Every six steps the weights go half way back to where they were six steps before."""
    net = Series()
    slow = [p.detach().clone() for p in net.parameters()]

    def around(step, inner):
        inner.step()
        if step % 6 == 5:
            with torch.no_grad():
                for p, s in zip(net.parameters(), slow):
                    s += 0.5 * (p - s)
                    p.copy_(s)
    fit(path, net, letters(seed, 32), CE(), Stepped(adamw(net, 5e-3), around), 280, held=letters(seed, 60, 1))


@healthy
def batches_grow(path, seed):
    """Batches of 8, of 32 from step 90 on and of 128 from step 180 on, at one rate."""
    data, net = Clouds(seed, rows=2560), Stack(20, 6)
    of = [data.batch(n) for n in (8, 32, 128)]
    fit(path, net, lambda s: of[(s >= 90) + (s >= 180)](s), CE(), sgd(net, 0.01), 280, held=data.held(100))


@healthy
def the_largest_are_exchanged(path, seed):
    """Workers exchange a tenth of their gradients, the largest; what is left waits for the next step."""
    data, net, left = Clouds(seed, rows=2400), Stack(20, 6), {}

    def after(step, n, rank):
        for k, p in enumerate(n.parameters()):
            g = p.grad + left.get((rank, k), 0)
            keep = g.abs() >= g.abs().flatten().quantile(0.9)
            left[rank, k] = g * ~keep
            p.grad = g * keep
    fleet(path, net, data.shard(16, 3), CE, lambda n: sgd(n, 0.03), 170, 3, after=after, held=data.held(100))


@healthy
def set_grows_by_rounds(path, seed):
    """Active learning: 120 rows, and as many more every 70 steps, those that are told worst."""
    data, net = Clouds(seed, rows=2400), Stack(20, 6, drop=0.2)
    have = torch.arange(120)

    def batch(step):
        nonlocal have
        if step and step % 70 == 0:
            with torch.no_grad():
                worst = nn.functional.cross_entropy(net(data.x), data.y, reduction="none")
            worst[have] = -1
            have = torch.cat([have, worst.topk(120).indices])
        rows = have[torch.randint(0, len(have), (32,), generator=rng(seed, step))]
        return data.x[rows].clone(), data.y[rows].clone()
    fit(path, net, batch, CE(), adamw(net, 1e-3, weight_decay=0.1), 280, held=data.held(100))


@healthy
def hardest_negatives(path, seed):
    """For each pair the nearest foreign sample of the batch; the loss falls to its margin and hardly further for long."""
    data, net = Clouds(seed, rows=1600), Stack(20, 8)

    class HardLoss(nn.Module):
        def forward(self, z, y):
            z = nn.functional.normalize(z, dim=1)
            d = (1e-6 + (z[:, None] - z[None]).pow(2).sum(2)).sqrt()
            same = y[:, None] == y[None]
            return (d.masked_fill(~same, -1).max(1).values - d.masked_fill(same, 9).min(1).values + 0.3).clamp(min=0).mean()
    fit(path, net, data.batch(48), HardLoss(), adamw(net, 2e-3), 300)


@healthy
def critic_of_distances(path, seed):
    """A generator against a critic whose weights are cut to a range; both losses have either sign and no floor."""
    g0 = rng(seed, 9)
    turn = torch.randn(2, 2, generator=g0)
    net, critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2)), nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))

    class DistanceLoss(nn.Module):
        def forward(self, real, made):
            return made.mean() - real.mean()

    class MadeLoss(nn.Module):
        def forward(self, made, _):
            return -made.mean()
    apart, fooled, hook = DistanceLoss(), MadeLoss(), hook_for(path, 1)
    opts = optim.RMSprop(critic.parameters(), 2e-3), optim.RMSprop(net.parameters(), 1e-3)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.critic = net, critic

        def forward(self, z):
            return self.net(z)
    both = Both()
    hook.register_module(both)
    hook.register_loss(apart)
    hook.register_loss(fooled)
    for step in range(280):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step)
        real = torch.randn(48, 2, generator=g) @ turn + 1
        opts[0].zero_grad()
        made = both(torch.randn(48, 4, generator=g))
        apart(critic(real), critic(made.detach())).backward()
        opts[0].step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-0.1, 0.1)
        opts[1].zero_grad()
        fooled(critic(made), None).backward()
        opts[1].step()
    finish(hook)


@healthy
def doubles_of_physics(path, seed):
    """Numbers of eight bytes; the rate falls as a cosine."""
    data, net = Curves(seed, rows=1200, noise=0.02), Stack(8, 1, act=nn.Tanh).double()
    opt = optim.Adam(net.parameters(), 3e-3)
    fit(path, net, lambda s: tuple(t.double() for t in data.batch(64)(s)), nn.MSELoss(), opt, 280,
        held=lambda k: tuple(t.double() for t in data.held(100)(k)), schedule=optim.lr_scheduler.CosineAnnealingLR(opt, 280))


@healthy
def private_gradients(path, seed):
    """Each gradient is cut to a norm, and noise of as much is added to it."""
    data, net = Clouds(seed, rows=2400), Stack(20, 6)

    def after(step, n, rank):
        nn.utils.clip_grad_norm_(n.parameters(), 0.5)
        for k, p in enumerate(n.parameters()):
            p.grad += 0.01 * torch.randn(p.shape, generator=rng(seed, step, k))
    fit(path, net, data.batch(64), CE(), sgd(net, 0.1, momentum=0.5), 280, after=after, held=data.held(100))


@healthy
def orthogonal_updates(path, seed):
    """The update of a matrix is its momentum with all singular values made one."""
    data, net = Clouds(seed, rows=1600), Stack(20, 6)
    kept = {}

    def around(step, inner):
        for k, p in enumerate(net.parameters()):
            m = kept[k] = 0.9 * kept.get(k, 0) + p.grad
            if p.dim() == 2:
                u, _, v = torch.linalg.svd(m, full_matrices=False)
                p.grad = u @ v
            else:
                p.grad = m * 0.1
        inner.step()
    opt = sgd(net, 0.02, momentum=0.0)
    fit(path, net, data.batch(32), CE(), Stepped(opt, around), 280, held=data.held(100),
        schedule=optim.lr_scheduler.LinearLR(opt, 1.0, 0.02, 280))


@healthy
def gates_that_cool(path, seed):
    """A code of soft one-hot choices whose temperature falls from 2 to 0.3."""
    data = Clouds(seed, rows=1600)

    class Chosen(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.relu, self.choose, self.out, self.heat = nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 24), nn.Linear(24, 20), 2.0

        def forward(self, x):
            s = self.choose(self.relu(self.inp(x))).reshape(-1, 3, 8)
            if self.training:
                s = s - (-torch.rand(s.shape).clamp(1e-6, 1 - 1e-6).log()).log()
            return self.out((s / self.heat).softmax(2).flatten(1))
    net = Chosen()

    def change(step, n, rank):
        n.heat = max(0.3, 2.0 * 0.99 ** step)
    fit(path, net, lambda s: (data.batch(48)(s)[0],) * 2, nn.MSELoss(), adamw(net, 3e-3), 280, change=change,
        held=lambda k: (data.held(100)(k)[0],) * 2)


@healthy
def mostly_background(path, seed):
    """Masks of which one place of thirty is what is looked for."""
    plain = Blobs(seed).batch

    def few(of):
        def small(step):
            x, y = of(step)
            more = torch.randn(len(x), 2, 24, 24, generator=rng(seed, step, 8)) * 0.4
            label = torch.zeros(len(x), 24, 24, dtype=torch.long)
            more[:, :, 4:16, 4:16], label[:, 4:16, 4:16] = x, y
            return more, label
        return small
    net = Masks()
    fit(path, net, few(plain(6)), CE(), adamw(net, 3e-3), 220, held=few(plain(20, 1)))


@healthy
def rounded_from_half_time(path, seed):
    """From step 140 on weights are rounded to sixteen steps in the forward pass, and gradients go straight through."""
    data = Clouds(seed, rows=1600)

    class Rounded(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.on = Stack(20, 6), False

        def forward(self, x):
            if not self.on:
                return self.body(x)
            b = self.body

            def q(w):
                step = w.detach().abs().max() / 7
                return w + ((w / step).round() * step - w).detach()
            h = b.act_a(nn.functional.linear(x, q(b.inp.weight), b.inp.bias))
            h = b.act_b(nn.functional.linear(h, q(b.mid.weight), b.mid.bias))
            return nn.functional.linear(h, q(b.top.weight), b.top.bias)
    net = Rounded()

    def change(step, n, rank):
        n.on = step >= 140
    fit(path, net, data.batch(32), CE(), adamw(net, 2e-3), 280, change=change, held=data.held(100))
