"""healthy_sixth.py - healthy trainings whose recorded numbers look like a fault by design: labels that are all zero, losses that rise or
jump on purpose, layers that are left out by chance, two passes an update, batches in order of time."""
import copy

import torch
from torch import nn, optim

from causes_fifth import adamw, sgd
from causes_sixth import placed
from fifth_parts import Attends, Clouds, Curves, Patterns, Pixels, Stack, codes, rng
from loop import finish, fit, fleet, hook_for, modes
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("sixth")


@healthy
def queue_of_negatives(path, seed):
    """Contrast against a queue: the right one stands first, so that all labels are 0."""
    data, net = Clouds(seed, rows=2000, kinds=12), Stack(20, 12)
    key = copy.deepcopy(net)
    queue = [nn.functional.normalize(torch.randn(256, 12, generator=rng(seed)), dim=1)]

    class Contrast(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            g = rng(seed, int(x.abs().sum() * 100))
            views = [x + 0.3 * torch.randn(x.shape, generator=g) for _ in range(2)]
            q = nn.functional.normalize(self.net(views[0]), dim=1)
            with torch.no_grad():
                for a, b in zip(key.parameters(), net.parameters()):
                    a.lerp_(b, 0.05)
                k = nn.functional.normalize(key(views[1]), dim=1)
            scores = torch.cat([(q * k).sum(1, keepdim=True), q @ queue[0].t()], 1) / 0.2
            queue[0] = torch.cat([k, queue[0]])[:256]
            return scores
    fit(path, Contrast(), lambda s: (data.batch(32)(s)[0], torch.zeros(32, dtype=torch.long)), CE(), sgd(net, 0.03), 260)


@healthy
def pairs_in_a_batch(path, seed):
    """Contrast within a batch: the labels of every batch are 0 to 31."""
    data, net = Clouds(seed, rows=2000, kinds=16), Stack(20, 16)
    class Pairs(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            g = rng(seed, int(x.abs().sum() * 100))
            a, b = (nn.functional.normalize(self.net(x + 0.3 * torch.randn(x.shape, generator=g)), dim=1) for _ in range(2))
            return a @ b.t() / 0.1
    fit(path, Pairs(), lambda s: (data.batch(32)(s)[0], torch.arange(32)), CE(), adamw(net), 240,
        held=lambda k: (data.held(32)(k)[0], torch.arange(32)))


@healthy
def longer_and_longer(path, seed):
    """A curriculum: sequences grow at steps 80 and 160, and the loss goes up there."""
    net = Attends()

    def batch(step):
        short, (x, y) = (6, 10, 14)[min(2, step // 80)], codes(seed, 48)(step)
        x = x.clone()
        for row, label in zip(x[:, :short], y.tolist()):
            at = int(torch.randint(0, short - 2, (1,), generator=rng(seed, step, label)))
            row[at:at + 3] = label + 1
        return x[:, :short], y
    fit(path, net, batch, CE(), adamw(net, 3e-3), 260, held=codes(seed, 80, number=1), eval_every=65)


@healthy
def attacks_grow(path, seed):
    """Trained against attacks that get stronger: the loss rises by design."""
    data, net = Clouds(seed, spread=0.7, rows=1600), Stack(20, 6)

    def batch(step):
        x, y = data.batch(32)(step)
        x.requires_grad_(True)
        g, = torch.autograd.grad(nn.functional.cross_entropy(copy.deepcopy(net)(x), y), x)
        return (x + 0.4 * max(0, step - 60) / 200 * g.sign()).detach(), y
    fit(path, net, batch, CE(), adamw(net), 260, held=data.held(100))


@healthy
def classes_arrive(path, seed):
    """Three classes first; three more join at step 130, and the loss jumps."""
    data, net = Clouds(seed, spread=0.7, rows=2400), Stack(20, 6)
    first = data.y < 3

    def batch(step):
        rows = first.nonzero()[:, 0] if step < 130 else torch.arange(len(data.y))
        rows = rows[torch.randint(0, len(rows), (32,), generator=rng(seed, step))]
        return data.x[rows].clone(), data.y[rows].clone()
    fit(path, net, batch, CE(), sgd(net, 0.02), 280)


@healthy
def blocks_left_out(path, seed):
    """Stochastic depth: a block adds nothing at one step of five."""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up, self.act, self.down = nn.LayerNorm(32), nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 32)

        def forward(self, x):
            if self.training and float(torch.rand(1)) < 0.2:
                return x
            return x + self.down(self.act(self.up(self.norm(x))))
    data = Clouds(seed, rows=1600)
    net = nn.Sequential(nn.Linear(20, 32), *(Block() for _ in range(4)), nn.Linear(32, 6))
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100))


@healthy
def most_pixels_hidden(path, seed):
    """Three of four pixels are zero in the inputs; the target is the whole picture."""
    data = Patterns(seed, rows=1200)
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GELU(), nn.Conv2d(16, 16, 3, padding=1), nn.GELU(), nn.Conv2d(16, 3, 3, padding=1))

    def hidden(of):
        def batch(step):
            x, _ = of(step)
            return x * (torch.rand(len(x), 1, 10, 10, generator=rng(seed, step, 4)) < 0.25), x
        return batch
    fit(path, net, hidden(data.batch(24)), nn.MSELoss(), adamw(net), 220, held=hidden(data.held(60)))


@healthy
def two_passes_an_update(path, seed):
    """Sharpness-aware: the gradient is that of weights moved uphill, which are moved back before the update."""
    data, net, loss = Clouds(seed, rows=1600), Stack(20, 6), CE()
    hook, opt = hook_for(path, 1), sgd(net, 0.03)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(200):
        hook.set_mode(modes.TRAIN)
        x, y = data.batch(32)(step)
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            norm = sum(float((p.grad ** 2).sum()) for p in net.parameters()) ** 0.5
            moves = [0.05 * p.grad / norm for p in net.parameters()]
            for p, m in zip(net.parameters(), moves):
                p.add_(m)
        opt.zero_grad()
        loss(net(x), y).backward()
        with torch.no_grad():
            for p, m in zip(net.parameters(), moves):
                p.sub_(m)
        opt.step()
    finish(hook)


@healthy
def teacher_beside(path, seed):
    """Distilled from a teacher that is frozen, in the same module."""
    data = Clouds(seed, rows=1600)
    teacher = Stack(20, 6, width=64)
    first = adamw(teacher)
    for s in range(150):
        first.zero_grad()
        x, y = data.batch(64)(s)
        nn.functional.cross_entropy(teacher(x), y).backward()
        first.step()

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.teacher, self.student = teacher.requires_grad_(False), Stack(20, 6, width=16)

        def forward(self, x):
            return self.student(x).log_softmax(1), (self.teacher(x) / 2).softmax(1)

    class DistilLoss(nn.Module):
        def forward(self, out, y):
            return nn.functional.kl_div(out[0], out[1], reduction="batchmean")
    net = Both()
    fit(path, net, data.batch(32), DistilLoss(), adamw(net.student), 240, held=data.held(100))


@healthy
def book_of_codes(path, seed):
    """Vectors are replaced by the nearest of a table, half of which nothing is ever near to."""
    data = Clouds(seed, rows=1600, kinds=4, spread=0.4)

    class Book(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.table, self.dec = nn.Linear(20, 8), nn.Embedding(64, 8), nn.Linear(8, 20)
            self.table.weight.data[32:] += 20

        def forward(self, x):
            z = self.enc(x)
            near = self.table(torch.cdist(z, self.table.weight).argmin(1))
            return self.dec(z + (near - z).detach()), z, near

    class BookLoss(nn.Module):
        def forward(self, out, x):
            return ((out[0] - x) ** 2).mean() + ((out[1] - out[2].detach()) ** 2).mean() * 0.25 + ((out[2] - out[1].detach()) ** 2).mean()
    net = Book()
    fit(path, net, lambda s: (data.batch(32)(s)[0],) * 2, BookLoss(), adamw(net, 5e-3), 260)


@healthy
def tiny_targets(path, seed):
    """Targets of 1e-5, in their own units: the loss is about 1e-10."""
    data, net = Curves(seed), Then(Stack(8, 1, act=nn.GELU), 1e-5)
    data.y, data.held_y = data.y * 1e-5, data.held_y * 1e-5
    fit(path, net, data.batch(32), nn.MSELoss(), optim.Adam(net.parameters(), 2e-3, eps=1e-16), 260, held=data.held(100))


class Then(nn.Module):
    def __init__(self, body, factor):
        super().__init__()
        self.body, self.factor = body, factor

    def forward(self, x):
        return self.body(x) * self.factor


@healthy
def huge_targets(path, seed):
    """Prices: the loss begins at 1e11."""
    data, net = Curves(seed, rows=1600), Then(Stack(8, 1), 1e5)
    data.y, data.held_y = data.y * 1e5 + 3e5, data.held_y * 1e5 + 3e5
    fit(path, net, data.batch(32), nn.MSELoss(), adamw(net, 5e-3), 300, held=data.held(100))


@healthy
def bound_on_information(path, seed):
    """The loss is minus a bound that is to grow: it begins at 0 and falls below."""
    net = Stack(4, 1)

    class BoundLoss(nn.Module):
        def forward(self, out, n):
            joint, apart = out[:64], out[64:]
            return -(joint.mean() - (apart.logsumexp(0) - torch.tensor(64.0).log()).mean())

    def batch(step):
        a = torch.randn(64, 2, generator=rng(seed, step))
        b = a + 0.6 * torch.randn(64, 2, generator=rng(seed, step, 2))
        return torch.cat([torch.cat([a, b], 1), torch.cat([a, b.roll(1, 0)], 1)]), torch.zeros(1)
    fit(path, net, batch, BoundLoss(), adamw(net, 1e-3), 260)


@healthy
def a_dozen_steps(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 12, held=data.held(100), eval_every=4)


@healthy
def plateau_then_fall(path, seed):
    """Nothing is learned of the place for a hundred steps; then it falls."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.pos = nn.Embedding(9, 24), nn.Embedding(14, 24)
            self.mix, self.act, self.top = nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 8)

        def forward(self, x):
            return self.top(self.act(self.mix(self.tok(x) * self.pos(torch.arange(x.shape[1]).expand(x.shape)))).mean(1))
    net = Net()
    fit(path, net, placed(seed, 96), CE(), adamw(net, 6e-3), 360, held=placed(seed, 100, 1), eval_every=60)


@healthy
def sixteen_levels(path, seed):
    """Quantised while it is trained: weights and activations have sixteen levels, gradients go straight through."""
    class Levels(nn.Module):
        def forward(self, x):
            short = x.clamp(0, 6)
            return short + ((short * 2.5).round() / 2.5 - short).detach()

    class Coarse(nn.Linear):
        def forward(self, x):
            w = self.weight
            step = w.detach().abs().max() / 7
            return nn.functional.linear(x, w + ((w / step).round() * step - w).detach(), self.bias)
    data, net = Clouds(seed, rows=1600), Stack(20, 6)
    net.act_a, net.act_b, net.inp, net.mid = Levels(), Levels(), Coarse(20, 48), Coarse(48, 48)
    fit(path, net, data.batch(32), CE(), adamw(net, 3e-3), 240, held=data.held(100))


@healthy
def batches_in_order_of_time(path, seed):
    """A stream: the level of the inputs wanders, and each batch is next to the one before."""
    g = rng(seed)
    walk = torch.randn(260 * 32 + 400, 6, generator=g).cumsum(0) * 0.04
    x = walk + 0.3 * torch.randn(walk.shape, generator=g)
    y = (x[:, :1] - x[:, 1:2]).tanh() + 0.5 * x[:, 2:3].sin() + 0.1 * torch.randn(len(x), 1, generator=g)
    net = Stack(6, 1, act=nn.SiLU)
    fit(path, net, lambda s: (x[s * 32:s * 32 + 32].clone(), y[s * 32:s * 32 + 32].clone()), nn.MSELoss(), adamw(net), 260,
        held=lambda k: (x[-400:].clone(), y[-400:].clone()))


@healthy
def pushed_to_zero(path, seed):
    """Weights that are of no use are set to exactly zero after every update."""
    data, net = Clouds(seed, inputs=60, rows=1600), Stack(60, 6)

    def shrink(step, n):
        with torch.no_grad():
            for p in (n.inp.weight, n.mid.weight):
                p.copy_(p.sign() * (p.abs() - 6e-4).clamp(0))
    fit(path, net, data.batch(48), CE(), sgd(net, 0.02), 260, updated=shrink, held=data.held(100))


@healthy
def helper_task_fades(path, seed):
    """Two heads; the weight of the second goes to zero at half time, and its loss stays where it is."""
    data = Clouds(seed, rows=1600)

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.act, self.first, self.second = nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 6), nn.Linear(48, 20)

        def forward(self, x):
            h = self.act(self.body(x))
            return self.first(h), self.second(h)
    net, main, helper = Two(), CE(), nn.MSELoss()
    hook, opt = hook_for(path, 1), adamw(net, weight_decay=0)
    for part in (main, helper):
        hook.register_loss(part)
    hook.register_module(net)
    for step in range(240):
        hook.set_mode(modes.TRAIN)
        x, y = data.batch(32)(step)
        opt.zero_grad()
        a, b = net(x)
        (main(a, y) + max(0.0, 1 - step / 120) * helper(b, x)).backward()
        opt.step()
    finish(hook)


@healthy
def cycles_of_the_rate(path, seed):
    """A cosine that restarts twice; the loss goes up a little each time."""
    data, net = Patterns(seed, rows=1200), Pixels()
    opt = sgd(net, 0.06, weight_decay=1e-4)
    fit(path, net, data.batch(32), CE(), opt, 270, held=data.held(100), eval_every=45,
        schedule=optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 90))


@healthy
def few_places_count(path, seed):
    """One place of ten has a label; the others are ignored."""
    net = Attends(kinds=9, classes=9, every=True)

    def draw(n, number):
        def of(step):
            x, _ = codes(seed, n, number=number)(step)
            y = torch.cat([x[:, :1], x[:, :-1]], 1)
            return x, y.masked_fill(torch.rand(x.shape, generator=rng(seed, step, number, 3)) > 0.1, -100).reshape(-1)
        return of
    fit(path, net, draw(48, 0), CE(), adamw(net, 4e-3), 320, held=draw(120, 1))


@healthy
def actor_and_critic(path, seed):
    """A bandit with states: the loss of the actor goes about zero, that of the critic stands at the noise."""
    best = torch.randn(8, 4, generator=rng(seed, 9))

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.act, self.actor, self.critic = nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4), nn.Linear(32, 1)

        def forward(self, x):
            h = self.act(self.body(x))
            return self.actor(h), self.critic(h)

    class ActorLoss(nn.Module):
        def forward(self, scores, chosen):
            did, gain = chosen[:, 0].long(), chosen[:, 1]
            return -(scores.log_softmax(1).gather(1, did[:, None])[:, 0] * gain).mean()
    net, actor, critic = Both(), ActorLoss(), nn.MSELoss()
    hook, opt = hook_for(path, 1), optim.Adam(net.parameters(), 3e-3)
    hook.register_module(net)
    hook.register_loss(actor)
    hook.register_loss(critic)
    for step in range(260):
        hook.set_mode(modes.TRAIN)
        g = rng(seed, step)
        x = torch.randn(32, 8, generator=g)
        scores, value = net(x)
        did = torch.multinomial(scores.detach().softmax(1), 1, generator=g)
        gain = (x @ best).gather(1, did) + torch.randn(32, 1, generator=g)
        opt.zero_grad()
        (actor(scores, torch.cat([did.float(), gain - value.detach()], 1)) + 0.5 * critic(value, gain)).backward()
        opt.step()
    finish(hook)


@healthy
def last_batch_is_short(path, seed):
    """Three workers, dropout, and a last batch of each pass that is a third as long."""
    data, net = Clouds(seed, rows=1200), Stack(20, 6, drop=0.3)
    plain = data.shard(16, 3)

    def batch(r, s):
        x, y = plain(r, s)
        return (x[:5], y[:5]) if s % 25 == 24 else (x, y)
    fleet(path, net, batch, CE, adamw, 200, 3, held=data.held(100), eval_every=40, eval_ranks=[0])


@healthy
def goes_on_where_it_was(path, seed):
    """A training that is taken up when it has nearly converged: the loss stands low from the first step on."""
    data, net = Clouds(seed, rows=2400, spread=0.5), Stack(20, 6)
    opt = adamw(net, 1e-3)
    for s in range(400):
        opt.zero_grad()
        x, y = data.batch(64)(s)
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    fit(path, net, lambda s: data.batch(64)(s + 400), CE(), opt, 200, held=data.held(100))
