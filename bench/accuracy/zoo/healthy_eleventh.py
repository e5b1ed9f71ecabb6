"""healthy_eleventh.py - healthy trainings beside causes_eleventh.py: sequences to sequences, sampled graphs, states carried on, hinges, views with a
temperature, rewards to go, adapters in turn, hints of a teacher, seldom labels, steps of quantisers that are learned, mixtures of optimizers."""
import copy

import torch
from torch import nn, optim

from causes_eleventh import Convolved, Graph, Translates, turned
from causes_fifth import adamw, sgd
from causes_seventh import pretrained
from fifth_parts import Attends, Clouds, Curves, Patterns, Pixels, Stack, codes, rng, swings
from loop import finish, fit, fleet, hook_for, modes
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("eleventh")


@healthy
def sequences_turned_round(path, seed):
    net = Translates()
    fit(path, net, turned(seed, 32), CE(), adamw(net, 4e-3), 300, held=turned(seed, 100, number=1))


@healthy
def nodes_of_a_sampled_graph(path, seed):
    graph, net = Graph(seed), Convolved()
    fit(path, net, graph.batch(64), CE(), adamw(net, 5e-3), 220, held=graph.batch(64, 1))


@healthy
def letters_with_a_carried_state(path, seed):
    """Truncated backpropagation through time: the state goes on, and is set to 0 every twenty batches."""
    class Carries(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.cell, self.top, self.h, self.count = nn.Embedding(6, 12), nn.LSTMCell(12, 32), nn.Linear(32, 6), None, 0

        def forward(self, x):
            h = c = torch.zeros(len(x), 32)
            if self.training and self.count % 20:
                h, c = (t.detach() for t in self.h)
            out = []
            for k in range(x.shape[1]):
                h, c = self.cell(self.tok(x[:, k]), (h, c))
                out.append(self.top(h))
            if self.training:
                self.h, self.count = (h, c), self.count + 1
            return torch.stack(out, 1).reshape(-1, 6)

    def stream(number):
        t = torch.rand(6, 6, generator=rng(seed, 86)) ** 4
        state, rows = torch.randint(0, 6, (16,), generator=rng(seed, number, 87)), []
        g = rng(seed, number, 88)
        for _ in range(2000):
            rows.append(state)
            state = torch.multinomial(t[state], 1, generator=g)[:, 0]
        return torch.stack(rows, 1)
    net, text, other = Carries(), stream(0), stream(1)

    def of(rows):
        def batch(step):
            at = step * 8 % 1990
            return rows[:, at:at + 8], rows[:, at + 1:at + 9].reshape(-1)
        return batch
    fit(path, net, of(text), CE(), adamw(net, 4e-3), 240, held=of(other))


@healthy
def judge_with_a_hinge(path, seed):
    """Spectral norms, the hinge loss, two updates of the judge to one."""
    data = Clouds(seed)
    norm = nn.utils.parametrizations.spectral_norm
    made, judge = Stack(8, 20), Stack(20, 1)
    judge.inp, judge.mid = norm(judge.inp), norm(judge.mid)
    g_opt, d_opt = optim.Adam(made.parameters(), 5e-4, betas=(0.0, 0.9)), optim.Adam(judge.parameters(), 2e-3, betas=(0.0, 0.9))
    hook = hook_for(path, 1)
    hook.register_module(made)
    hook.register_module(judge)
    for step in range(220):
        hook.set_mode(modes.TRAIN)
        x, _ = data.batch(32)(step)
        fake = made(torch.randn(32, 8, generator=rng(seed, step)))
        value = (1 - judge(x)).relu().mean() + (1 + judge(fake.detach())).relu().mean()
        d_opt.zero_grad()
        value.backward()
        d_opt.step()
        hook.record_tensor_value("judge_loss", value.detach())
        if step % 2:
            g_opt.zero_grad()
            other = -judge(fake).mean()
            other.backward()
            g_opt.step()
            hook.record_tensor_value("maker_loss", other.detach())
    finish(hook)


@healthy
def views_with_a_temperature(path, seed):
    """Both directions of pairs of views, and a temperature that is learned and bounded."""
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right, self.scale = Stack(20, 16), Stack(20, 16), nn.Parameter(torch.tensor(2.6))

        def forward(self, x):
            a, b = (nn.functional.normalize(f(z), dim=1) for f, z in zip((self.left, self.right), x.chunk(2)))
            s = self.scale.clamp(max=4.6).exp() * a @ b.t()
            return torch.cat([s, s.t()])
    data, net = Clouds(seed), Views()

    def batch(step, held=False):
        x, _ = (data.held(32) if held else data.batch(32))(step)
        return torch.cat([x, x + 0.5 * torch.randn(x.shape, generator=rng(seed, step))]), torch.arange(32).repeat(2)
    fit(path, net, batch, CE(), adamw(net), 240, held=lambda k: batch(k, True))


@healthy
def rewards_to_go_in_a_corridor(path, seed):
    """REINFORCE: whole walks, no baseline, discounted rewards to go, a small pay for being undecided."""
    net = Stack(9, 2)

    class WalkLoss(nn.Module):
        def forward(self, s, y):
            log = nn.functional.log_softmax(s, 1)
            return -(log.gather(1, y[:, :1].long())[:, 0] * y[:, 1]).mean() + 0.01 * (log.exp() * log).sum(1).mean()

    def batch(step):
        g = rng(seed, step)
        places, acts, gains = [], [], []
        with torch.no_grad():
            p = net.top(net.mid(net.inp(torch.eye(9)).relu()).relu()).softmax(1)
        for _ in range(6):
            at, walk = 4, []
            for _ in range(20):
                a = int(torch.multinomial(p[at], 1, generator=g))
                walk.append((at, a))
                at += 2 * a - 1
                if at in (0, 8):
                    break
            for k, (place, a) in enumerate(walk):
                places.append(place)
                acts.append(a)
                gains.append((1.0 if at == 8 else 0.0) * 0.95 ** (len(walk) - k))
        return nn.functional.one_hot(torch.tensor(places), 9).float(), torch.stack([torch.tensor(acts).float(), torch.tensor(gains)], 1)
    fit(path, net, batch, WalkLoss(), adamw(net, 3e-3), 200)


@healthy
def adapters_in_turn(path, seed):
    """Two tasks with an adapter each, which take turns of twenty steps; the other adapter gets no gradient."""
    class Turns(nn.Module):
        def __init__(self, inner, tasks=2, rank=4):
            super().__init__()
            self.inner, self.task = inner.requires_grad_(False), 0
            self.lora_a = nn.ParameterList(nn.Parameter(torch.randn(rank, inner.in_features) / 8) for _ in range(tasks))
            self.lora_b = nn.ParameterList(nn.Parameter(torch.zeros(inner.out_features, rank)) for _ in range(tasks))

        def forward(self, x):
            return self.inner(x) + x @ self.lora_a[self.task].t() @ self.lora_b[self.task].t()
    net = pretrained(Clouds(seed + 50))
    net.inp, net.mid = Turns(net.inp), Turns(net.mid)
    sets = [Clouds(seed), Clouds(seed + 7)]

    def change(step, n, rank):
        n.inp.task = n.mid.task = step // 20 % 2
    fit(path, net, lambda s: sets[s // 20 % 2].batch(32)(s), CE(), adamw([p for p in net.parameters() if p.requires_grad] and net, 5e-3), 240,
        change=change)


@healthy
def hints_of_a_teacher(path, seed):
    """What a teacher has in its middle is told by the student beside the classes."""
    teacher, data = pretrained(Clouds(seed)).requires_grad_(False), Clouds(seed)

    class Student(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.hint = Stack(20, 6, width=16), nn.Linear(16, 48)

        def forward(self, x):
            h = self.net.act_a(self.net.inp(x))
            return torch.cat([self.net.top(self.net.act_b(self.net.mid(h))), self.hint(h)], 1)

    class HintLoss(nn.Module):
        def forward(self, s, y):
            return nn.functional.cross_entropy(s[:, :6], y[:, 0].long()) + 0.3 * ((s[:, 6:] - y[:, 1:]) ** 2).mean()

    def of(made):
        def batch(step):
            x, y = made(step)
            return x, torch.cat([y[:, None].float(), teacher.act_a(teacher.inp(x))], 1)
        return batch
    net = Student()
    fit(path, net, of(data.batch(32)), HintLoss(), adamw(net, 3e-3), 240, held=of(data.held(100)))


@healthy
def labels_of_a_task_come_seldom(path, seed):
    """Two heads; the second has labels in every tenth batch alone, and a loss of 0 between."""
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.a, self.b = Stack(20, 32), nn.Linear(32, 6), nn.Linear(32, 2)

        def forward(self, x):
            h = self.body(x).relu()
            return torch.cat([self.a(h), self.b(h)], 1)

    class BothLoss(nn.Module):
        def forward(self, s, y):
            known = y[:, 1] >= 0
            second = nn.functional.cross_entropy(s[known, 6:], y[known, 1]) if known.any() else 0 * s[:, 6:].sum()
            return nn.functional.cross_entropy(s[:, :6], y[:, 0]) + second
    data, net = Clouds(seed), Heads()

    def batch(step):
        x, y = data.batch(32)(step)
        return x, torch.stack([y, y % 2 if step % 10 == 0 else torch.full_like(y, -1)], 1)
    fit(path, net, batch, BothLoss(), adamw(net), 260)


@healthy
def steps_of_a_quantiser_learned(path, seed):
    """From half time on weights are rounded to four bits with a step that is learned for each layer."""
    class Rounded(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.step_size, self.on = inner, nn.Parameter(torch.tensor(0.0)), False

        def forward(self, x):
            if not self.on:
                return self.inner(x)
            w, s = self.inner.weight, self.step_size.exp()
            q = (w / s).clamp(-8, 7)
            q = q + (q.round() - q).detach()
            return nn.functional.linear(x, q * s, self.inner.bias)
    data, net = Clouds(seed), Stack(20, 6)
    net.inp, net.mid = Rounded(net.inp), Rounded(net.mid)

    def change(step, n, rank):
        if step == 120:
            for m in (n.inp, n.mid):
                m.on = True
                with torch.no_grad():
                    m.step_size.copy_((m.inner.weight.abs().max() / 7).log())
    fit(path, net, data.batch(32), CE(), adamw(net), 260, held=data.held(100), change=change)


@healthy
def predictor_of_a_slow_copy(path, seed):
    """One network tells what a slow copy of it says of another view."""
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.online, self.predictor = Stack(20, 16), nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
            self.target = copy.deepcopy(self.online).requires_grad_(False)

        def forward(self, x):
            a, b = x.chunk(2)
            with torch.no_grad():
                t = nn.functional.normalize(self.target(b), dim=1)
            return (nn.functional.normalize(self.predictor(self.online(a)), dim=1) * t).sum(1)

    class CosineLoss(nn.Module):
        def forward(self, s, y):
            return 2 - 2 * s.mean()
    data, net = Clouds(seed), Views()

    def batch(step):
        x, y = data.batch(48)(step)
        g = rng(seed, step)
        return torch.cat([x + 0.3 * torch.randn(x.shape, generator=g), x + 0.3 * torch.randn(x.shape, generator=g)]), y

    def updated(step, n):
        with torch.no_grad():
            for t, p in zip(n.target.parameters(), n.online.parameters()):
                t.lerp_(p, 0.02)
    fit(path, net, batch, CosineLoss(), adamw(net), 240, updated=updated)


@healthy
def table_and_body_by_two_optimizers(path, seed):
    """A sparse table by plain gradient descent at a high rate, the rest by Adam."""
    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.body = nn.EmbeddingBag(60, 16, mode="mean"), Stack(16, 4)

        def forward(self, x):
            return self.body(self.emb(x))
    net = Bags()
    kind = torch.randint(0, 4, (60,), generator=rng(seed, 84))

    class Both:
        parts = (optim.SGD(net.emb.parameters(), 3.0), adamw(net.body))

        def zero_grad(self, set_to_none=True):
            for p in self.parts:
                p.zero_grad(set_to_none)

        def step(self):
            for p in self.parts:
                p.step()

    def batch(step, number=0):
        g = rng(seed, step, number, 85)
        x = (60 * torch.rand(48, 9, generator=g) ** 2).long()
        return x, torch.stack([(kind[x] == k).sum(1) for k in range(4)], 1).argmax(1)
    fit(path, net, batch, CE(), Both(), 300, held=lambda k: batch(k, 1))


@healthy
def focal_and_rare(path, seed):
    """One class of ten rows in a hundred, by the focal loss."""
    class FocalLoss(nn.Module):
        def forward(self, s, y):
            p = torch.sigmoid(s)
            hit = torch.where(y > 0, p, 1 - p)
            return -(torch.where(y > 0, 0.75, 0.25) * (1 - hit) ** 2 * hit.clamp(min=1e-6).log()).mean()
    data, net = Clouds(seed, kinds=10), Stack(20, 1)

    def of(made):
        return lambda s: (made(s)[0], (made(s)[1] == 0).float()[:, None])
    fit(path, net, of(data.batch(32)), FocalLoss(), adamw(net), 260, held=of(data.held(100)))


@healthy
def pictures_cut_and_mixed(path, seed):
    """A part of a picture is that of another, and the label the share of both."""
    data, net = Patterns(seed, rows=1200), Pixels()

    def batch(step):
        x, y = data.batch(32)(step)
        g = rng(seed, step)
        at = int(torch.randint(0, 10, (1,), generator=g))
        one = nn.functional.one_hot(y, 5).float()
        x[:, :, :, :at] = x.roll(1, 0)[:, :, :, :at]
        return x, one * (1 - at / 10) + one.roll(1, 0) * at / 10
    fit(path, net, batch, CE(), adamw(net), 240)


@healthy
def sets_of_unlike_size(path, seed):
    """Deep sets: which of two heaps most points come from; a set has 3 to 20 points, and batches are padded to the longest."""
    class Sets(nn.Module):
        def __init__(self):
            super().__init__()
            self.each, self.relu, self.all = nn.Linear(5, 32), nn.ReLU(), Stack(32, 2)

        def forward(self, x):
            return self.all((self.relu(self.each(x)) * x[:, :, 4:]).sum(1) / x[:, :, 4:].sum(1))
    net, heaps = Sets(), torch.randn(2, 4, generator=rng(seed, 89))

    def batch(step, number=0):
        g = rng(seed, step, number, 90)
        long = int(torch.randint(3, 21, (1,), generator=g))
        size = torch.randint(min(3, long), long + 1, (24, 1), generator=g)
        kind = (torch.rand(24, long, generator=g) < torch.rand(24, 1, generator=g)).long()
        on = (torch.arange(long)[None] < size).float()
        x = heaps[kind] + 0.7 * torch.randn(24, long, 4, generator=g)
        return torch.cat([x * on[:, :, None], on[:, :, None]], 2), ((kind * on).sum(1) * 2 > on.sum(1)).long()
    fit(path, net, batch, CE(), adamw(net, 3e-3), 260, held=lambda k: batch(k, 1))


@healthy
def weights_told_by_a_network(path, seed):
    """A network tells the weights of another, which draws curves, for each of four tasks."""
    class Tells(nn.Module):
        def __init__(self):
            super().__init__()
            self.task, self.inner, self.relu, self.out = nn.Embedding(4, 8), nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 49)

        def forward(self, x):
            w = self.out(self.relu(self.inner(self.task(x[:, 0].long()))))
            h = torch.tanh(x[:, 1:] * w[:, :16] + w[:, 16:32])
            return (h * w[:, 32:48]).sum(1, keepdim=True) + w[:, 48:]
    net = Tells()

    def batch(step, number=0):
        g = rng(seed, step, number, 91)
        t, x = torch.randint(0, 4, (48, 1), generator=g), 4 * torch.rand(48, 1, generator=g) - 2
        return torch.cat([t.float(), x], 1), torch.sin(x * (1 + t / 2)) + t / 4
    fit(path, net, batch, nn.MSELoss(), adamw(net, 4e-3), 300, held=lambda k: batch(k, 1))


@healthy
def each_bit_from_those_before(path, seed):
    """Likelihood of rows of bits: weights are masked, so that half of them are 0 for ever."""
    class Masked(nn.Linear):
        def __init__(self, n, m, mask):
            super().__init__(n, m)
            self.register_buffer("mask", mask)

        def forward(self, x):
            return nn.functional.linear(x, self.weight * self.mask, self.bias)

    class Made(nn.Module):
        def __init__(self):
            super().__init__()
            order = torch.arange(48) % 15
            self.a, self.relu = Masked(16, 48, (torch.arange(16)[None] <= order[:, None]).float()), nn.ReLU()
            self.b = Masked(48, 16, (order[None] < torch.arange(16)[:, None]).float())

        def forward(self, x):
            return self.b(self.relu(self.a(x)))
    net, plain = Made(), torch.randint(0, 2, (5, 16), generator=rng(seed, 92)).float()

    def batch(step, number=0):
        g = rng(seed, step, number, 93)
        x = plain[torch.randint(0, 5, (48,), generator=g)]
        x = (x + (torch.rand(x.shape, generator=g) < 0.08).float()) % 2
        return x, x
    fit(path, net, batch, nn.BCEWithLogitsLoss(), adamw(net, 5e-3), 260, held=lambda k: batch(k, 1))


@healthy
def hills_of_fixed_places(path, seed):
    """Radial functions whose places stand; the weights of their sum are found by plain gradient descent."""
    class Hills(nn.Module):
        def __init__(self, data):
            super().__init__()
            self.register_buffer("places", data.x[:60].clone())
            self.top = nn.Linear(60, 1)

        def forward(self, x):
            return self.top((-torch.cdist(x, self.places) ** 2 / 8).exp())
    data = Curves(seed)
    net = Hills(data)
    fit(path, net, data.batch(32), nn.MSELoss(), optim.SGD(net.parameters(), 0.03), 300, held=data.held(100))


@healthy
def hinge_met_by_most(path, seed):
    """A linear machine with margins: late in training half of the batches have a loss of 0."""
    data, net = Clouds(seed, kinds=3, spread=0.6), nn.Linear(20, 3)
    fit(path, net, data.batch(8), nn.MultiMarginLoss(), optim.SGD(net.parameters(), 0.05), 300, held=data.held(100))


@healthy
def order_of_failures(path, seed):
    """Survival: a partial likelihood over the rows of a batch, some of which are not seen to the end."""
    class RiskLoss(nn.Module):
        def forward(self, s, y):
            order = y[:, 0].argsort(descending=True)
            s, seen = s[order, 0], y[order, 1]
            return -((s - s.logcumsumexp(0)) * seen).sum() / seen.sum().clamp(min=1)
    net, w = Stack(8, 1), torch.randn(8, 1, generator=rng(seed, 94))

    def batch(step, number=0):
        g = rng(seed, step, number, 95)
        x = torch.randn(40, 8, generator=g)
        t = -torch.rand(40, 1, generator=g).log() / (x @ w).exp()
        end = -torch.rand(40, 1, generator=g).log()
        return x, torch.cat([torch.minimum(t, end), (t < end).float()], 1)
    fit(path, net, batch, RiskLoss(), adamw(net), 220, held=lambda k: batch(k, 1))


@healthy
def labels_of_its_own(path, seed):
    """Self-training: the first 100 steps have labels, then what the network is sure of is its label for rows that have none."""
    data, net = Clouds(seed), Stack(20, 6)

    def batch(step):
        x, y = data.batch(32)(step)
        if step < 100:
            return x, y
        with torch.no_grad():
            p = net.top(net.mid(net.inp(x).relu()).relu()).softmax(1)
        own = torch.where(p.max(1).values > 0.8, p.argmax(1), torch.full_like(y, -100))
        own[:8] = y[:8]
        return x + 0.3 * torch.randn(x.shape, generator=rng(seed, step)), own
    fit(path, net, batch, CE(), adamw(net), 240, held=data.held(100))


@healthy
def means_taken_a_step_late(path, seed):
    """Four workers; what is applied is the mean of the gradients of the step before, as pipelines have it."""
    data, net = Clouds(seed), Stack(20, 6)
    kept, new = {}, {}

    def after(step, n, rank):
        new[rank] = [p.grad.clone() for p in n.parameters()]
        if rank == 3:
            kept["mean"], kept["old"] = [sum(gs) / 4 for gs in zip(*new.values())], kept.get("mean")

    class Late(optim.SGD):
        def step(self):
            for p, g in zip(self.param_groups[0]["params"], kept["old"] or [torch.zeros_like(p) for p in self.param_groups[0]["params"]]):
                p.grad = g.clone()
            super().step()
    fleet(path, net, data.shard(16, 4), CE, lambda n: Late(n.parameters(), 0.05), 160, 4, after=after, held=data.held(100))


@healthy
def classes_drawn_evenly_by_two_workers(path, seed):
    """Two workers; one draws classes evenly, the other as they come, and a norm over batches is kept by each."""
    data, net = Patterns(seed, rows=900), Pixels()
    by_class = [(data.y == k).nonzero()[:, 0] for k in range(5)]
    plain = data.shard(20, 2)

    def batch(rank, step):
        if rank == 0:
            return plain(0, step)
        g = rng(seed, step, 96)
        rows = torch.cat([r[torch.randint(0, len(r), (4,), generator=g)] for r in by_class])
        return data.x[rows].clone(), data.y[rows].clone()
    fleet(path, net, batch, CE, adamw, 140, 2, held=data.held(60))


@healthy
def copy_read_through_gates(path, seed):
    """A transformer whose blocks begin closed (gates at 0) under a warm-up, weights kept in bfloat16 passes."""
    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.gate = Attends(), nn.Parameter(torch.zeros(1))
            self.more, self.gelu = nn.Linear(8, 8), nn.GELU()

        def forward(self, x):
            s = self.body(x)
            return s + self.gate * self.gelu(self.more(s))
    net = Gated()
    opt = adamw(net, 4e-3)
    fit(path, net, codes(seed, 32), CE(), opt, 240, held=codes(seed, 60, number=1), autocast=True,
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 40)))


@healthy
def series_told_in_shares(path, seed):
    """A mixture of three normal distributions is told for the next value; batches of 12."""
    class MixtureLoss(nn.Module):
        def forward(self, s, y):
            share, mean, width = s.chunk(3, 1)
            each = -0.5 * ((y - mean) / width.exp()) ** 2 - width
            return -(nn.functional.log_softmax(share, 1) + each).logsumexp(1).mean()

    class Tells(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.top = nn.GRU(2, 24, batch_first=True), nn.Linear(24, 9)

        def forward(self, x):
            return self.top(self.gru(x)[0][:, -1])
    net = Tells()
    fit(path, net, swings(seed, 12), MixtureLoss(), adamw(net, 4e-3), 260, held=swings(seed, 60, number=1), clip=5.0)
