"""healthy_eighth.py - healthy trainings beside causes_eighth.py: averages of weights, pruning, sparse tables, soft labels, graphs of one batch,
speech, clipping, alternating tasks, signs for gradients."""
import copy

import torch
from torch import nn, optim

from causes_eighth import CtcLoss, Graph, Recommender, Speech, neighbours, ratings, spoken
from causes_fifth import adamw, sgd
from causes_seventh import Adapted, Encoder, Series, letters, pretrained
from fifth_parts import Attends, Clouds, Curves, Patterns, Pixels, Stack, codes, rng
from loop import finish, fit, fleet, hook_for, modes
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("eighth")


@healthy
def weights_averaged_late(path, seed):
    """A second network is the mean of weights from step 150 on, one of ten steps, and is evaluated."""
    data = Clouds(seed, rows=1600)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Stack(20, 6)
            self.mean = copy.deepcopy(self.net).requires_grad_(False)

        def forward(self, x):
            return self.net(x) if self.training else self.mean(x)
    net, taken = Both(), [0]

    def updated(step, n):
        if step >= 150 and step % 10 == 0 or step == 40:
            with torch.no_grad():
                for m, p in zip(n.mean.parameters(), n.net.parameters()):
                    m += (p - m) / (taken[0] + 1)
            taken[0] += step >= 150
    fit(path, net, data.batch(32), CE(), sgd(net.net, 0.02), 280, updated=updated, held=data.held(100))


@healthy
def pruned_in_three_steps(path, seed):
    """The smallest third of the weights left is set to zero at steps 80, 140 and 200, and stays there."""
    data, net = Clouds(seed, rows=1600), Stack(20, 6)
    masks = [torch.ones_like(m.weight) for m in (net.inp, net.mid)]

    def updated(step, n):
        for m, mask in zip((n.inp, n.mid), masks):
            if step in (80, 140, 200):
                w = m.weight.detach().abs()[mask > 0]
                mask[m.weight.detach().abs() < w.quantile(1 / 3)] = 0
            m.weight.data *= mask
    fit(path, net, data.batch(32), CE(), adamw(net, 2e-3), 280, updated=updated, held=data.held(100))


@healthy
def sparse_tables_seldom_hit(path, seed):
    """Tables with sparse gradients; most of what is asked for is one of few items."""
    net, plain = Recommender(sparse=True), ratings(seed, 96)
    opts = [optim.SparseAdam(list(net.user.parameters()) + list(net.item.parameters()), 2e-2), optim.Adam([net.bias], 1e-3)]

    class Two:
        def zero_grad(self, set_to_none=True):
            for o in opts:
                o.zero_grad(set_to_none)

        def step(self):
            for o in opts:
                o.step()

    def batch(step):
        x, y = plain(step)
        keep = torch.rand(len(x), generator=rng(seed, step, 8)) < 3.0 / (3 + x[:, 1])
        return x[keep][:24].clone(), y[keep][:24].clone()
    fit(path, net, batch, nn.BCEWithLogitsLoss(), Two(), 280)


@healthy
def mixed_pairs_smoothed(path, seed):
    """Each input is a mixture of two, its label a mixture of both, smoothed."""
    data, net = Patterns(seed, rows=1200), Pixels()
    plain = data.batch(24)

    def batch(step):
        x, y = plain(step)
        part = torch.rand(1, generator=rng(seed, step, 6))
        y = nn.functional.one_hot(y, 5).float()
        return part * x + (1 - part) * x.flip(0), part * y + (1 - part) * y.flip(0)
    fit(path, net, batch, nn.CrossEntropyLoss(label_smoothing=0.1), adamw(net, 3e-3), 240)


@healthy
def padded_and_accumulated(path, seed):
    """Four passes an update; sequences are filled up with 0 to the length of the longest."""
    net, plain = Attends(), codes(seed, 24)

    def batch(step):
        x, y = plain(step)
        more = torch.zeros(24, 14, dtype=torch.long)
        more[:, :x.shape[1]] = x
        more[torch.rand(24, generator=rng(seed, step, 6)) < 0.3, -2:] = 0
        return more, y
    fit(path, net, batch, CE(), adamw(net, 3e-3), 140, accumulate=4, held=codes(seed, 60, number=1))


@healthy
def body_thawed_at_half_time(path, seed):
    """The head is trained alone for a hundred steps, then everything at a tenth of the rate."""
    data, net = Clouds(seed, rows=1600), pretrained(Clouds(seed + 50))
    for m in (net.inp, net.mid):
        m.requires_grad_(False)
    opt = adamw(net, 5e-3)

    def change(step, n, rank):
        if step == 100:
            n.requires_grad_(True)
            opt.param_groups[0]["lr"] = 5e-4
    fit(path, net, data.batch(32), CE(), opt, 260, change=change, held=data.held(100))


@healthy
def clipped_at_every_step(path, seed):
    net = Encoder()
    fit(path, net, codes(seed, 48), CE(), sgd(net, 1.0, momentum=0.0), 260, clip=0.2, held=codes(seed, 60, number=1))


@healthy
def speech_to_units(path, seed):
    net = Speech()
    fit(path, net, spoken(seed, 24), CtcLoss(), adamw(net, 5e-3), 260, held=spoken(seed, 40, 1))


@healthy
def one_graph_for_ever(path, seed):
    """One graph is all there is: each step sees all nodes, and some have labels; evaluation takes the others."""
    a, x, y = neighbours(seed)
    net, known = Graph(a), torch.rand(90, generator=rng(seed, 3)) < 0.5
    fit(path, net, lambda s: (x, y.masked_fill(~known, -100)), CE(), adamw(net, 1e-2, weight_decay=1e-2), 180,
        held=lambda k: (x, y.masked_fill(known, -100)))


@healthy
def four_updates_of_what_was_seen(path, seed):
    """Proximal policy: four updates on each batch of trials, then new ones by the new policy."""
    best, net = torch.randn(8, 4, generator=rng(seed, 9)), nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))

    class ClippedLoss(nn.Module):
        def forward(self, scores, did):
            ratio = (scores.log_softmax(1).gather(1, did[:, :1].long())[:, 0] - did[:, 1]).exp()
            return -torch.min(ratio * did[:, 2], ratio.clamp(0.8, 1.2) * did[:, 2]).mean()
    loss, opt, hook = ClippedLoss(), optim.Adam(net.parameters(), 3e-3), hook_for(path, 1)
    other = copy.deepcopy(net)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        if step % 4 == 0:
            g = rng(seed, step)
            other.load_state_dict(net.state_dict())
            x = torch.randn(64, 8, generator=g)
            with torch.no_grad():
                p = other(x).log_softmax(1)
            act = torch.multinomial(p.exp(), 1, generator=g)
            gain = (x @ best).gather(1, act)
            did = torch.cat([act.float(), p.gather(1, act), (gain - gain.mean()) / gain.std()], 1)
        opt.zero_grad()
        loss(net(x), did).backward()
        opt.step()
    finish(hook)


@healthy
def one_of_thirty(path, seed):
    """Two classes, one of which is one of thirty rows and weighs as much as the other."""
    data, net = Clouds(seed, kinds=30, rows=3000), Stack(20, 1)

    def batch(of):
        def two(step):
            x, y = of(step)
            return x, (y == 3).float()[:, None]
        return two
    fit(path, net, batch(data.batch(64)), nn.BCEWithLogitsLoss(pos_weight=torch.tensor(10.0)), adamw(net, 2e-3), 280,
        held=batch(data.held(200)))


@healthy
def pictures_grow(path, seed):
    """Pictures of half the size first, of the whole from step 120 on."""
    data, net = Patterns(seed, rows=1200), Pixels()
    plain = data.batch(24)
    fit(path, net, lambda s: plain(s) if s >= 120 else (nn.functional.avg_pool2d(plain(s)[0], 2, 1)[..., :8, :8], plain(s)[1]), CE(),
        adamw(net, 3e-3), 260, held=data.held(60))


@healthy
def margin_reached(path, seed):
    """A loss with a margin, that is exactly zero for more and more batches."""
    data, net = Clouds(seed, rows=1200, kinds=3, spread=0.5), Stack(20, 3)
    fit(path, net, data.batch(24), nn.MultiMarginLoss(), adamw(net, 2e-3), 280, held=data.held(100))


@healthy
def signs_for_gradients(path, seed):
    """Each weight moves by one rate along the sign of its mean gradient."""
    class Signs(optim.Optimizer):
        def __init__(self, parameters, lr):
            super().__init__(parameters, {"lr": lr})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    p -= group["lr"] * (0.9 * m + 0.1 * p.grad).sign()
                    m.mul_(0.99).add_(p.grad, alpha=0.01)
    net = Series()
    fit(path, net, letters(seed, 48), CE(), Signs(net.parameters(), 1e-3), 280, held=letters(seed, 60, 1))


@healthy
def tasks_take_turns(path, seed):
    """Two heads on one body; each step trains one of them."""
    data = Curves(seed, rows=1600)

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.act, self.first, self.second = nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1), nn.Linear(48, 2)
            self.turn = 0

        def forward(self, x):
            h = self.act(self.body(x))
            return self.second(h) if self.turn % 2 else self.first(h)
    net, plain = Two(), data.batch(32)

    class TurnLoss(nn.Module):
        def forward(self, out, y):
            if net.turn % 2:
                return nn.functional.cross_entropy(out, (y[:, 0] > 0).long())
            return nn.functional.mse_loss(out, y)

    def change(step, n, rank):
        n.turn = step
    fit(path, net, plain, TurnLoss(), adamw(net, 2e-3), 280, change=change)


@healthy
def workers_with_norms_of_their_own(path, seed):
    """Three workers of adapters on a body that stands, with dropout; batches of unlike size."""
    data, net = Clouds(seed, rows=2400), pretrained(Clouds(seed + 50))
    net.inp, net.mid, net.drop = Adapted(net.inp), Adapted(net.mid), nn.Dropout(0.2)
    plain = data.shard(24, 3)
    fleet(path, net, lambda r, s: tuple(t[:24 - 6 * ((r + s) % 3)].clone() for t in plain(r, s)), CE,
          lambda n: optim.AdamW([p for p in n.parameters() if p.requires_grad], 5e-3), 160, 3, held=data.held(100))
