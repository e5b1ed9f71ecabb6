"""healthy_seventh.py - healthy trainings beside causes_seventh.py: what is fed changes on purpose, parts stand on purpose, judges, policies,
several tasks, workers whose data differ."""
import torch
from torch import nn, optim

from causes_fifth import adamw, sgd
from causes_seventh import Blobs, Encoder, Masks, Series, adapted, letters, pretrained
from fifth_parts import Clouds, Curves, Patterns, Pixels, Stack, codes, rng
from loop import finish, fit, fleet, hook_for, modes
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("seventh")


@healthy
def brightness_varies(path, seed):
    """Each batch is made brighter or darker, and more or less contrasted, by chance."""
    data, net = Patterns(seed, rows=1200), Pixels()
    plain = data.batch(24)

    def batch(step):
        a, b = torch.rand(2, generator=rng(seed, step, 6)).tolist()
        return plain(step)[0] * (0.6 + a) + 1.5 * b - 0.75, plain(step)[1]
    fit(path, net, batch, CE(), sgd(net, 0.02), 260, held=data.held(60))


@healthy
def stronger_noise_from_half_time(path, seed):
    """Augmentation begins at a step: the inputs get noise on purpose."""
    data, net = Clouds(seed, rows=1600), Stack(20, 6)
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0] + (0.5 if s >= 120 else 0) * torch.randn(32, 20, generator=rng(seed, s, 6)), plain(s)[1]), CE(),
        adamw(net), 260, held=data.held(100))


@healthy
def first_layers_stand(path, seed):
    """Fine-tuning: table and first layer stand, two layers and the head are trained."""
    net = Encoder()
    for part in (net.tok, net.pos, net.body.layers[0]):
        part.requires_grad_(False)
    fit(path, net, codes(seed, 48), CE(), adamw(net, 3e-3), 260, held=codes(seed, 60, number=1))


@healthy
def adapters_of_low_rank(path, seed):
    data, net = Clouds(seed, rows=1600), adapted(seed)
    net.top.requires_grad_(True)
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 240, held=data.held(100))


@healthy
def ring_is_learned(path, seed):
    """A generator and a judge, each with its optimizer, in one module."""
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.make, self.judge = Stack(6, 2), Stack(2, 1, act=lambda: nn.LeakyReLU(0.2))

        def forward(self, x):
            return self.judge(x)
    net, loss, made = Pair(), nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss()
    hook = hook_for(path, 1)
    ours, theirs = optim.Adam(net.make.parameters(), 1e-3, (0.5, 0.99)), optim.Adam(net.judge.parameters(), 1e-3, (0.5, 0.99))
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step)
        angle = 6.28 * torch.rand(64, 1, generator=g)
        real = torch.cat([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(64, 2, generator=g)
        fake = net.make(torch.randn(64, 6, generator=g))
        theirs.zero_grad()
        loss(net(torch.cat([real, fake.detach()])), torch.cat([torch.ones(64, 1), torch.zeros(64, 1)])).backward()
        theirs.step()
        ours.zero_grad()
        made(net.judge(fake), torch.ones(64, 1)).backward()
        ours.step()
    finish(hook)


@healthy
def targets_network_copied(path, seed):
    """Q-learning whose targets' network is made equal every 50 steps."""
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.online, self.target = Stack(6, 3, act=nn.Tanh), Stack(6, 3, act=nn.Tanh)
            self.target.load_state_dict(self.online.state_dict())
            self.target.requires_grad_(False)

        def forward(self, x):
            return self.online(x)
    net, drift = Both(), torch.randn(3, 6, generator=rng(seed, 8)) * 0.3

    def batch(step):
        if step % 50 == 0:
            net.target.load_state_dict(net.online.state_dict())
        g = rng(seed, step, 3)
        x, act = torch.randn(48, 6, generator=g), torch.randint(0, 3, (48,), generator=g)
        with torch.no_grad():
            later = net.target(x + drift[act]).max(1, keepdim=True)[0]
            return x, torch.cat([act[:, None].float(), (x * drift[act]).sum(1, keepdim=True) + 0.6 * later], 1)

    class QLoss(nn.Module):
        def forward(self, out, want):
            return nn.functional.smooth_l1_loss(out.gather(1, want[:, :1].long()), want[:, 1:])
    fit(path, net, batch, QLoss(), adamw(net.online, 3e-3), 260)


@healthy
def policy_with_advantages(path, seed):
    """Gains less their mean over their deviation, and a term that keeps the policy open."""
    best, net = torch.randn(8, 4, generator=rng(seed, 9)), nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))

    class PolicyLoss(nn.Module):
        def forward(self, scores, chosen):
            p = scores.log_softmax(1)
            return -(p.gather(1, chosen[:, :1].long())[:, 0] * chosen[:, 1]).mean() + 0.02 * (p.exp() * p).sum(1).mean()
    loss, opt, hook = PolicyLoss(), optim.Adam(net.parameters(), 3e-3), hook_for(path, 1)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step)
        x = torch.randn(48, 8, generator=g)
        scores = net(x)
        did = torch.multinomial(scores.detach().softmax(1), 1, generator=g)
        gain = (x @ best).gather(1, did)
        opt.zero_grad()
        loss(scores, torch.cat([did.float(), (gain - gain.mean()) / gain.std()], 1)).backward()
        opt.step()
    finish(hook)


@healthy
def rewards_grow(path, seed):
    """A value is learned whose targets become ten times as large over the training, as the policy gets better."""
    data, net = Curves(seed, rows=1600), Stack(8, 1, act=nn.GELU)
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1] * (0.3 + 3 * s / 260)), nn.SmoothL1Loss(), adamw(net), 260)


@healthy
def sparse_rows_told_again(path, seed):
    """An autoencoder of rows of which nine of ten elements are zero."""
    net = nn.Sequential(nn.Linear(60, 32), nn.ReLU(), nn.Linear(32, 60))
    base = torch.randn(5, 60, generator=rng(seed, 2)).abs() * (torch.rand(5, 60, generator=rng(seed, 3)) < 0.2)

    def batch(step):
        g = rng(seed, step)
        x = (torch.rand(48, 5, generator=g) * (torch.rand(48, 5, generator=g) < 0.4)) @ base
        return x, x
    fit(path, net, batch, nn.MSELoss(), adamw(net, 3e-3), 260)


@healthy
def heavy_tails(path, seed):
    data, net = Curves(seed, rows=1600), Stack(8, 1, act=nn.GELU)
    plain = data.batch(48)

    def batch(step):
        x, y = plain(step)
        g = rng(seed, step, 6)
        return x, y + 0.1 * torch.randn(y.shape, generator=g) / torch.randn(y.shape, generator=g).abs().clamp(min=0.05)
    fit(path, net, batch, nn.HuberLoss(), adamw(net), 280, held=data.held(100))


@healthy
def masks_weighted(path, seed):
    """Segmentation: the rare class weighs three times as much."""
    data, net = Blobs(seed), Masks()
    fit(path, net, data.batch(12), nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0])), adamw(net, 3e-3), 220, held=data.batch(30, 1))


@healthy
def edges_of_masks_ignored(path, seed):
    data, net = Blobs(seed), Masks()

    def batch(of):
        def cut(step):
            x, y = of(step)
            y[:, 0], y[:, -1], y[:, :, 0], y[:, :, -1] = 255, 255, 255, 255
            return x, y
        return cut
    fit(path, net, batch(data.batch(12)), nn.CrossEntropyLoss(ignore_index=255), adamw(net, 3e-3), 200, held=batch(data.batch(30, 1)))


@healthy
def tasks_weighted_by_learning(path, seed):
    """Two tasks whose weights are learned with the network: the sum of losses falls below zero."""
    data = Curves(seed, rows=1600)

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.act, self.first, self.second = nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1), nn.Linear(48, 1)
            self.spread = nn.Parameter(torch.zeros(2))

        def forward(self, x):
            h = self.act(self.body(x))
            return torch.cat([self.first(h), self.second(h)], 1)
    net, plain = Two(), data.batch(32)

    class TasksLoss(nn.Module):
        def forward(self, out, y):
            return (((out - y) ** 2).mean(0) * (-net.spread).exp() + net.spread).sum()

    def batch(step):
        x, y = plain(step)
        return x, torch.cat([y, x[:, :1] - x[:, 3:4] + 0.3 * torch.randn(32, 1, generator=rng(seed, step, 6))], 1)
    fit(path, net, batch, TasksLoss(), adamw(net, weight_decay=0), 280)


@healthy
def rare_classes_weighted(path, seed):
    """Two of six classes are rare, and weigh more."""
    net, plain = Series(), letters(seed, 96)

    def batch(of):
        def some(step):
            x, y = of(step)
            keep = (y < 4) | (torch.rand(y.shape, generator=rng(seed, step, 6)) < 0.25)
            rows = keep.nonzero()[:, 0][:48]
            return x[rows].clone(), y[rows].clone()
        return some
    weight = torch.tensor([1.0, 1, 1, 1, 3, 3])
    fit(path, net, batch(plain), nn.CrossEntropyLoss(weight=weight), adamw(net, 5e-3), 280, held=batch(letters(seed, 200, 1)))


@healthy
def workers_of_unlike_data(path, seed):
    """Two workers, of which each has mostly three of the six classes."""
    data, net = Clouds(seed, rows=2400), Stack(20, 6)

    def batch(r, s):
        g = rng(seed, s, r)
        w = ((data.y < 3) == (r == 0)).float() * 4 + 1
        rows = torch.multinomial(w, 24, generator=g)
        return data.x[rows].clone(), data.y[rows].clone()
    fleet(path, net, batch, CE, lambda n: sgd(n, 0.03), 200, 2, held=data.held(100))


@healthy
def four_workers_of_series(path, seed):
    net, plain = Series(), letters(seed, 64)
    fleet(path, net, lambda r, s: (plain(s)[0][r::4].clone(), plain(s)[1][r::4].clone()), CE, lambda n: adamw(n, 5e-3), 200, 4,
          held=letters(seed, 60, 1), eval_ranks=[0])


@healthy
def three_workers_of_pictures(path, seed):
    data, net = Patterns(seed, rows=1200), Pixels()
    fleet(path, net, data.shard(12, 3), CE, lambda n: sgd(n, 0.02), 160, 3, held=data.held(60))


@healthy
def lower_layers_slower(path, seed):
    """Fine-tuning: each layer below has a rate thirty times smaller."""
    data, net = Clouds(seed, rows=1600), pretrained(Clouds(seed + 50))
    opt = optim.AdamW([{"params": m.parameters(), "lr": lr} for m, lr in ((net.inp, 5e-6), (net.mid, 1.5e-4), (net.top, 5e-3))])
    fit(path, net, data.batch(32), CE(), opt, 260, held=data.held(100))


@healthy
def adam_with_warm_up(path, seed):
    net = Encoder()
    opt = optim.Adam(net.parameters(), 1e-2)
    fit(path, net, codes(seed, 48), CE(), opt, 260, held=codes(seed, 60, number=1), clip=1.0,
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 80) * min(1.0, (80 / (s + 1)) ** 0.5)))


@healthy
def shares_of_classes_drift(path, seed):
    """A stream in which some classes become rarer and others more frequent."""
    data, net = Clouds(seed, rows=2400), Stack(20, 6)

    def batch(step):
        w = torch.tensor([2.0, 1, 1, 1, 1, 1]) * torch.linspace(-1, 1, 6).mul(2.0 * step / 260 - 1).exp()
        rows = torch.multinomial(w[data.y], 32, generator=rng(seed, step))
        return data.x[rows].clone(), data.y[rows].clone()
    fit(path, net, batch, CE(), adamw(net), 260)


@healthy
def easy_ones_first(path, seed):
    """A curriculum: points near the middle of their heap first, all from step 100 on."""
    near, wide, net = Clouds(seed, rows=1200, spread=0.5), Clouds(seed, rows=1600, spread=1.1), Stack(20, 6)
    a, b = near.batch(32), wide.batch(32)
    fit(path, net, lambda s: a(s) if s < 100 else b(s), CE(), adamw(net), 280, held=wide.held(100))


@healthy
def state_is_carried_on(path, seed):
    """A recurrent network whose state goes on from one batch to the next."""
    wave = torch.sin(torch.arange(0, 8 * 280 + 9).float() * 0.3)[None] * (1 + 0.3 * torch.randn(24, 1, generator=rng(seed)))
    wave = (wave + 0.1 * torch.randn(wave.shape, generator=rng(seed, 2)))[..., None]

    class Carry(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.read, self.state = nn.GRU(1, 24, batch_first=True), nn.Linear(24, 1), None

        def forward(self, x):
            h, state = self.gru(x, self.state)
            self.state = state.detach()
            return self.read(h)
    net = Carry()
    fit(path, net, lambda s: (wave[:, 8 * s:8 * s + 8].clone(), wave[:, 8 * s + 1:8 * s + 9].clone()), nn.MSELoss(), adamw(net, 3e-3), 270)


@healthy
def times_of_noise(path, seed):
    """A denoiser that is told how much noise there is."""
    data = Clouds(seed, rows=1600, kinds=4, spread=0.4)

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Stack(21, 20, act=nn.SiLU)

        def forward(self, t, x):
            return self.net(torch.cat([t, x], 1))
    net = Denoiser()

    def batch(step):
        x, _ = data.batch(32)(step)
        g = rng(seed, step)
        t, noise = torch.rand(32, 1, generator=g), torch.randn(x.shape, generator=g)
        return ((t, x * (1 - t) + noise * t), noise)
    fit(path, net, batch, nn.MSELoss(), adamw(net), 260, forward=lambda n, x: n(*x))


@healthy
def twins(path, seed):
    """The same network is called twice a step, on the two of a pair; the loss is of their distance."""
    data = Clouds(seed, rows=1600)

    class Twins(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Stack(20, 8)

        def forward(self, x):
            return ((self.net(x[:, :20]) - self.net(x[:, 20:])) ** 2).mean(1, keepdim=True)

    class PairLoss(nn.Module):
        def forward(self, d, same):
            return (same * d + (1 - same) * (1 - d.clamp(min=1e-6).sqrt()).clamp(min=0) ** 2).mean()
    net = Twins()

    def batch(of):
        def pairs(step):
            x, y = of(step)
            meant = [((y == y[i]) == (i % 2 == 0)).nonzero()[:, 0] for i in range(len(x))]
            at = [int(rows[step % 3 % max(1, len(rows))]) for rows in meant]
            return torch.cat([x, x[at]], 1), (y == y[at]).float()[:, None]
        return pairs
    fit(path, net, batch(data.batch(32)), PairLoss(), adamw(net), 240, held=batch(data.held(60)))


@healthy
def a_part_is_never_called(path, seed):
    """A head for another task is in the network, and not used."""
    data, net = Clouds(seed, rows=1600), Stack(20, 6)
    net.other = nn.Linear(48, 3)
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100))
