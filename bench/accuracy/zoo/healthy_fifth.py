"""healthy_fifth.py - healthy trainings on data made up, of kinds that look like faults: columns that are mostly zero, batches that are the whole
set, workers that come and go, targets that are the inputs, units more than needed."""
import copy

import torch
from torch import nn, optim

from fifth_parts import Attends, Clouds, Curves, Memory, Patterns, Pixels, Stack, codes, rng, swings
from loop import finish, fit, fleet, hook_for, modes
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("fifth")


def adamw(n, lr=2e-3, **more):
    return optim.AdamW(n.parameters(), lr=lr, **more)


def sgd(n, lr, momentum=0.9, **more):
    return optim.SGD(n.parameters(), lr=lr, momentum=momentum, **more)


@healthy
def pictures_with_margins(path, seed):
    """Pixels at the margins are zero in every picture, as those of handwritten digits; flattened."""
    data = Patterns(seed, rows=1200)
    for x in (data.x, data.held_x):
        x[:, :, :2], x[:, :, -2:], x[..., :2], x[..., -2:] = 0, 0, 0, 0
    data.x, data.held_x = data.x.flatten(1), data.held_x.flatten(1)
    net = Stack(300, 5, drop=0.2)
    opt = sgd(net, 0.03, weight_decay=1e-3)
    fit(path, net, data.batch(32), CE(), opt, 200, held=data.held(100), eval_every=40,
        schedule=optim.lr_scheduler.CosineAnnealingLR(opt, 200))


@healthy
def bags_of_words(path, seed):
    """Counts of words: most columns of a batch are zero, and seldom two are alike."""
    topics = torch.rand(6, 150, generator=rng(seed)) ** 6

    def draw(n, number):
        def of(step):
            g = rng(seed, step, number)
            y = torch.randint(0, 6, (n,), generator=g)
            return torch.poisson(topics[y] * 1.2, generator=g), y
        return of
    net = Stack(150, 6, drop=0.3)
    fit(path, net, draw(24, 0), CE(), adamw(net), 240, held=draw(100, 1))


@healthy
def whole_set_each_step(path, seed):
    """Two hundred rows, all of them in each batch."""
    data = Curves(seed, rows=200, noise=0.3)
    net = Stack(8, 1, width=16, act=nn.Tanh)
    fit(path, net, lambda s: (data.x, data.y), nn.MSELoss(), optim.Adam(net.parameters(), 3e-3), 260, held=data.held(200))


@healthy
def squeezed_and_restored(path, seed):
    """An autoencoder: the targets are the inputs."""
    data = Clouds(seed, rows=2000)

    class Squeeze(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.act, self.code, self.act2 = nn.Linear(20, 32), nn.ELU(), nn.Linear(32, 6), nn.ELU()
            self.dec, self.out = nn.Linear(6, 32), nn.Linear(32, 20)

        def forward(self, x):
            return self.out(self.act2(self.dec(self.code(self.act(self.enc(x))))))
    net = Squeeze()
    fit(path, net, lambda s: (data.batch(40)(s)[0],) * 2, nn.MSELoss(), adamw(net), 260, held=lambda k: (data.held(100)(k)[0],) * 2)


@healthy
def wide_layer_few_dead(path, seed):
    data, net = Clouds(seed), Stack(20, 6, width=400)
    with torch.no_grad():
        net.inp.bias[:24] = -30
    fit(path, net, data.batch(32), CE(), sgd(net, 0.01), 200, held=data.held(100))


@healthy
def bytes_before_a_norm(path, seed):
    """Pixels of 0 to 255, which a normalisation takes first."""
    data = Patterns(seed, rows=1200)
    for x in (data.x, data.held_x):
        x.mul_(40).add_(120).clamp_(0, 255).round_()
    net = nn.Sequential(nn.BatchNorm2d(3), Pixels())
    fit(path, net, data.batch(32), CE(), sgd(net, 0.03), 200, held=data.held(100))


@healthy
def a_worker_leaves(path, seed):
    """Two of four workers are done earlier than the others, and close properly."""
    data, net = Clouds(seed), Stack(20, 6)
    nets, hooks = [copy.deepcopy(net) for _ in range(4)], [hook_for(path, 1, r, 4) for r in range(4)]
    losses, opts, plain = [CE() for _ in nets], [sgd(n, 0.03) for n in nets], data.shard(12, 4)
    for r in range(4):
        hooks[r].register_module(nets[r])
        hooks[r].register_loss(losses[r])
    for step in range(200):
        ranks = range(4) if step < 120 else (0, 2, 3) if step < 160 else (0, 2)
        if step in (120, 160):
            finish(hooks[1 if step == 120 else 3])
        for r in ranks:
            hooks[r].set_mode(modes.TRAIN)
            opts[r].zero_grad()
            x, y = plain(r, step)
            losses[r](nets[r](x), y).backward()
        for copies in zip(*(nets[r].parameters() for r in ranks)):
            mean = sum(p.grad for p in copies) / len(copies)
            for p in copies:
                p.grad = mean.clone()
        for r in ranks:
            opts[r].step()
    finish(hooks[0], hooks[2])


@healthy
def rows_of_4_workers_evaluated(path, seed):
    data, net = Patterns(seed, rows=1200), Pixels()
    fleet(path, net, data.shard(10, 4), CE, lambda n: optim.RAdam(n.parameters(), 4e-3), 150, 4, held=data.held(100), eval_every=30)


@healthy
def attention_with_warm_up(path, seed):
    net = Attends()
    opt = adamw(net, 4e-3)
    fit(path, net, codes(seed, 48), CE(), opt, 320, held=codes(seed, 100, number=1), clip=1.0,
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 40) * (1 - s / 340)))


@healthy
def tags_with_padding(path, seed):
    """A tag for each place; short sequences are filled up with code 0 and label -100."""
    net = Attends(kinds=10, classes=3, every=True)

    def draw(n, number):
        def of(step):
            g = rng(seed, step, number)
            x = torch.randint(1, 10, (n, 14), generator=g)
            y = (x + torch.cat([torch.zeros(n, 1, dtype=torch.long), x[:, :-1]], 1)) % 3
            short = torch.arange(14)[None] >= torch.randint(5, 15, (n, 1), generator=g)
            return x.masked_fill(short, 0), y.masked_fill(short, -100).reshape(-1)
        return of
    fit(path, net, draw(32, 0), CE(), optim.Adam(net.parameters(), 4e-3), 300, held=draw(80, 1))


@healthy
def log_density(path, seed):
    """A mean and a spread for each target: the loss goes below zero."""
    data, net = Curves(seed, rows=1600, noise=0.15), Stack(8, 2, act=nn.GELU)

    class DensityLoss(nn.Module):
        def forward(self, out, y):
            mean, width = out[:, :1], nn.functional.softplus(out[:, 1:]) + 1e-2
            return (0.5 * ((y - mean) / width) ** 2 + width.log()).mean()
    fit(path, net, data.batch(40), DensityLoss(), adamw(net), 300, held=data.held(200))


@healthy
def generator_and_judge(path, seed):
    make = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.1), nn.Linear(32, 2))
    judge = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.1), nn.Linear(32, 1))
    hook, fake_loss, real_loss = hook_for(path, 1), nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss()

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.make, self.judge = make, judge

        def forward(self, z):
            return self.make(z)
    both = Both()
    hook.register_module(both)
    hook.register_loss(fake_loss)
    hook.register_loss(real_loss)
    g_opt, j_opt = optim.Adam(make.parameters(), 1e-3, (0.5, 0.9)), optim.Adam(judge.parameters(), 1e-3, (0.5, 0.9))
    for step in range(280):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step)
        real = torch.randn(64, 2, generator=g) @ torch.tensor([[1.0, 0.4], [0.0, 0.7]]) + 2
        made = both(torch.randn(64, 6, generator=g))
        j_opt.zero_grad()
        real_loss(torch.cat([judge(real), judge(made.detach())]), torch.cat([torch.full((64, 1), 0.9), torch.zeros(64, 1)])).backward()
        j_opt.step()
        g_opt.zero_grad()
        fake_loss(judge(made), torch.ones(64, 1)).backward()
        g_opt.step()
    finish(hook)


@healthy
def head_on_a_fixed_body(path, seed):
    data = Patterns(seed, rows=1200)
    net = Pixels()
    first = adamw(net)
    for s in range(60):
        x, y = data.batch(32)(s)
        first.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        first.step()
    net.fc = nn.Linear(40, 5)
    for n, p in net.named_parameters():
        p.requires_grad_(n.startswith("fc"))
    fit(path, net, data.batch(32), CE(), adamw(net.fc, 5e-3), 220, held=data.held(100))


@healthy
def shadow_follows(path, seed):
    data = Clouds(seed, spread=0.8, rows=2000)

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = Stack(20, 6)
            self.model_ema = copy.deepcopy(self.model)
            self.model_ema.requires_grad_(False)

        def forward(self, x):
            return (self.model if self.training else self.model_ema)(x)
    net = Pair()

    def follow(step, n):
        with torch.no_grad():
            for a, b in zip(n.model_ema.parameters(), n.model.parameters()):
                a.lerp_(b, 0.05)
    fit(path, net, data.batch(32), CE(), sgd(net.model, 0.02), 260, held=data.held(100), eval_every=40, updated=follow)


@healthy
def unlike_data_of_workers(path, seed):
    """Each worker has its own part of the classes and another scale of the inputs; gradients are averaged."""
    data, net = Clouds(seed, rows=1800), Stack(20, 6)
    parts = [data.x[(data.y // 2) == r] * (1 + 0.3 * r) for r in range(3)], [data.y[(data.y // 2) == r] for r in range(3)]

    def batch(r, s):
        rows = torch.randint(0, len(parts[0][r]), (20,), generator=rng(seed, r, s))
        return parts[0][r][rows], parts[1][r][rows]
    fleet(path, net, batch, CE, lambda n: sgd(n, 0.02), 200, 3)


@healthy
def rare_class_learned(path, seed):
    data, net = Clouds(seed, kinds=2, rows=2400, spread=0.8), Stack(20, 2)
    keep = (data.y == 0) | (torch.rand(len(data.y), generator=rng(seed, 3)) < 0.08)
    data.x, data.y = data.x[keep], data.y[keep]
    fit(path, net, data.batch(48), CE(), adamw(net), 260, held=data.held(150))


@healthy
def stronger_pictures_later(path, seed):
    """Augmentation that grows: noise, brightness and inversion."""
    data, net = Patterns(seed, rows=1200), Pixels(norm=lambda w: nn.GroupNorm(2, w))
    plain = data.batch(32)

    def batch(s):
        x, y = plain(s)
        g, k = rng(seed, s), min(1.0, s / 150)
        return x * (1 + k * (torch.rand(len(x), 1, 1, 1, generator=g) - 0.5)) + 0.4 * k * torch.randn(x.shape, generator=g), y
    opt = optim.NAdam(net.parameters(), 2e-3)
    fit(path, net, batch, CE(label_smoothing=0.1), opt, 240, held=data.held(100))


@healthy
def series_of_two_workers(path, seed):
    net = Memory()
    fleet(path, net, lambda r, s: swings(seed, 16, number=r + 2)(s), nn.SmoothL1Loss, lambda n: optim.Adam(n.parameters(), 5e-3), 180, 2,
          held=swings(seed, 60, number=1), eval_every=30, eval_ranks=[0])


@healthy
def gates_of_sigmoid(path, seed):
    """Gates that open and close: values near 0 and 1 are meant."""
    data = Clouds(seed, rows=2000)

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.gate, self.sig, self.b = nn.Linear(20, 40), nn.Linear(20, 40), nn.Sigmoid(), nn.Linear(40, 6)

        def forward(self, x):
            return self.b(self.a(x) * self.sig(3 * self.gate(x)))
    net = Gate()
    fit(path, net, data.batch(32), CE(), adamw(net, 3e-3, weight_decay=0.1), 240, held=data.held(100))
