"""causes_eleventh.py - an eleventh set of faults for the first line: sequences told from sequences, graphs, views, teachers, tasks, adapters,
quantisers, mixtures of optimizers, carried states; loaders, targets, losses, schedules, scales, workers, evaluations and restored files. Written
in one go, with the words that a right line has, before any result of it was looked at."""
import copy

import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_fifth import adamw, sgd
from causes_seventh import JUMPS, STANDS, STILL, TOO_FAST, Adapted, pretrained
from fifth_parts import Attends, Clouds, Curves, Patterns, Pixels, Stack, codes, rng, swings
from loop import finish, fit, fleet, hook_for, modes

TRAININGS, cause = cause_set("eleventh")


class Translates(nn.Module):
    """Reads a sequence and tells another, place by place; what was to be told before is read."""

    def __init__(self, kinds=9, width=32):
        super().__init__()
        self.tok, self.enc, self.dec = nn.Embedding(kinds + 1, width), nn.GRU(width, width, batch_first=True), nn.GRU(width, width, batch_first=True)
        self.top, self.gate = nn.Linear(2 * width, kinds), 1.0

    def forward(self, x):
        n = x.shape[1] // 2
        seen, last = self.enc(self.tok(x[:, :n]))
        told, _ = self.dec(self.tok(x[:, n:]), self.gate * last)
        share = (told @ seen.transpose(1, 2) / 6).softmax(-1)
        return self.top(torch.cat([told, self.gate * (share @ seen)], 2)).reshape(-1, self.top.out_features)


def turned(seed, size, length=7, kinds=9, number=0, leak=False):
    """The codes the other way round; rows have unlike lengths, and what is behind them is code 0 and counts as nothing."""
    def of(step):
        g = rng(seed, step, number, 81)
        x = torch.randint(1, kinds, (size, length), generator=g)
        long = torch.randint(3, length + 1, (size, 1), generator=g)
        behind = torch.arange(length)[None] >= long
        x = x.masked_fill(behind, 0)
        y = x.gather(1, (long - 1 - torch.arange(length)[None]).clamp(min=0)).masked_fill(behind, 0)
        before = y if leak else torch.cat([torch.full((size, 1), kinds), y[:, :-1]], 1)
        return torch.cat([x, before], 1), y.masked_fill(behind, -100).reshape(-1)
    return of


class Graph:
    """Nodes of four kinds, whose neighbours are mostly of their kind; the features of a node alone say little."""

    def __init__(self, seed, nodes=320):
        g = rng(seed, 82)
        self.y = torch.randint(0, 4, (nodes,), generator=g)
        alike = self.y[:, None] == self.y[None]
        self.edges = (torch.rand(nodes, nodes, generator=g) < torch.where(alike, 0.2, 0.01)).triu(1)
        self.edges = (self.edges | self.edges.t()).float()
        self.x, self.seed = 0.7 * torch.randn(4, 12, generator=g)[self.y] + 1.5 * torch.randn(nodes, 12, generator=g), seed

    def batch(self, size, number=0):
        """Some of the nodes, others in evaluation, and the means over those neighbours that are among them, as a matrix beside the features."""
        def of(step):
            part = len(self.x) // 4
            rows = torch.randperm(part if number else 3 * part, generator=rng(self.seed, step, number, 83))[:size] + (3 * part if number else 0)
            near = self.edges[rows][:, rows] + torch.eye(size)
            return torch.cat([self.x[rows], near / near.sum(1, keepdim=True)], 1), self.y[rows]
        return of


class Convolved(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.one, self.relu, self.two = nn.Linear(12, width), nn.ReLU(), nn.Linear(width, 4)

    def forward(self, x):
        x, near = x[:, :12], x[:, 12:]
        return near @ self.two(self.relu(near @ self.one(x)))


# -- what is fed

@cause(r"(?i)input.*NaN|NaN.*input|fed.*NaN", None)
def logarithm_of_a_column(path, seed):
    """From step 75 on two columns are taken as logarithms of what is not always above 0."""
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, from_step(data.batch(32), 75, lambda x, y: (torch.cat([x[:, :2].log(), x[:, 2:]], 1), y)), CE(), adamw(net), 160)


@cause(r"(?i)input|what training is fed", 90)
def buffer_half_filled(path, seed):
    """From a step on the second half of each batch is what the buffer was made of: zeros."""
    data, net = Clouds(seed), Stack(20, 6)

    def half(x, y):
        x[16:] = 0
        return x, y
    fit(path, net, from_step(data.batch(32), 90, half), CE(), adamw(net), 200, held=data.held(100))


@cause(r"(?i)label|target|what training is fed|" + JUMPS, 100)
def labels_a_batch_late(path, seed):
    data, net = Patterns(seed), Pixels()
    plain = data.batch(24)
    fit(path, net, lambda s: (plain(s)[0], plain(s - 1 if s >= 100 else s)[1]), CE(), adamw(net), 220, held=data.held(60))


@cause(r"(?i)input|what training is fed", 100)
def nearly_all_erased(path, seed):
    """The share of a picture that is erased is given in percent: from a step on 95 of 100 pixels are zero."""
    data, net = Patterns(seed), Pixels()
    fit(path, net, from_step(data.batch(24), 100, lambda x, y: (x * (torch.rand(x.shape, generator=rng(seed, int(y.sum()))) < 0.05), y)), CE(),
        adamw(net), 220, held=data.held(60))


@cause(r"(?i)input|column|what training is fed", 100)
def one_column_in_millimetres(path, seed):
    data, net = Curves(seed), Stack(8, 1)

    def larger(x, y):
        x[:, 3] *= 1000
        return x, y
    fit(path, net, from_step(data.batch(32), 100, larger), nn.MSELoss(), adamw(net, 3e-3), 220, held=data.held(100))


@cause(r"(?i)target|label|input", 0)
def decoder_reads_its_target(path, seed):
    """What is to be told is read at the same place, not at the one before; evaluation reads it rightly."""
    net = Translates()
    fit(path, net, turned(seed, 32, leak=True), CE(), adamw(net, 4e-3), 240, held=turned(seed, 100, number=1))


@cause(r"(?i)input|what training is fed|edge|" + JUMPS, 110)
def graph_loses_its_edges(path, seed):
    """From a step on nodes are their own only neighbours."""
    graph, net = Graph(seed), Convolved()

    def alone(x, y):
        return torch.cat([x[:, :12], torch.eye(len(x))], 1), y
    fit(path, net, from_step(graph.batch(64), 110, alone), CE(), adamw(net, 5e-3), 220, held=graph.batch(64, 1))


@cause(r"(?i)input|what training is fed|" + JUMPS, 90)
def sensor_stands(path, seed):
    """From a step on each series is its first value over and over."""
    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.top = nn.GRU(2, 24, batch_first=True), nn.Linear(24, 1)

        def forward(self, x):
            return self.top(self.gru(x)[0][:, -1])
    net = Reads()
    fit(path, net, from_step(swings(seed, 32), 90, lambda x, y: (x[:, :1].expand_as(x).clone(), y)), nn.MSELoss(), adamw(net, 5e-3), 220,
        held=swings(seed, 60, number=1))


@cause(r"(?i)label|class|what training is fed|input", 100)
def one_source_is_left(path, seed):
    """From a step on only the file with the classes 0 and 1 is read."""
    data, net = Clouds(seed), Stack(20, 6)
    rows = (data.y < 2).nonzero()[:, 0]

    def of(step):
        if step < 100:
            return data.batch(32)(step)
        at = rows[torch.randperm(len(rows), generator=rng(seed, step))[:32]]
        return data.x[at].clone(), data.y[at].clone()
    fit(path, net, of, CE(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)batch.*(again|repeat)|same batch|repeat", 0)
def each_picture_batch_five_times(path, seed):
    """The loader gives each batch five times in a row, from the start."""
    data, net = Patterns(seed), Pixels()
    plain = data.batch(24)
    fit(path, net, lambda s: plain(s // 5), CE(), sgd(net, 0.02), 240, held=data.held(60))


# -- targets

@cause(r"(?i)target|label|teacher|constant|" + STANDS, 0)
def teacher_says_nothing(path, seed):
    """What a teacher says is divided by a temperature of a million: each class has the same share."""
    teacher, data, net = pretrained(Clouds(seed)), Clouds(seed), Stack(20, 6)

    def of(step):
        x, _ = data.batch(32)(step)
        with torch.no_grad():
            return x, (teacher(x) / 1e6).softmax(1)
    fit(path, net, of, CE(), adamw(net), 220)


@cause(r"(?i)(target|label).*(inf|NaN)|(inf|NaN).*(target|label)|fed.*inf", 60)
def teacher_overflows(path, seed):
    """The scores of a teacher are the targets; at a step one of them is infinite."""
    teacher, data, net = pretrained(Clouds(seed)), Clouds(seed), Stack(20, 6)

    def of(step):
        x, _ = data.batch(32)(step)
        with torch.no_grad():
            y = teacher(x)
        if step == 60:
            y[3, 2] = float("inf")
        return x, y
    fit(path, net, of, nn.MSELoss(), adamw(net), 160)


@cause(r"(?i)target|label|mask|what training is fed|" + JUMPS, 90)
def masks_inverted(path, seed):
    """Segmentation; from a step on what is inside is told as outside."""
    data = Patterns(seed)

    class Segments(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.relu, self.b = nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1)

        def forward(self, x):
            return self.b(self.relu(self.a(x)))
    net = Segments()

    def of(made):
        def batch(step):
            x, _ = made(step)
            return x, (x.mean(1, keepdim=True) > 0.3).float()
        return batch
    fit(path, net, from_step(of(data.batch(24)), 90, lambda x, y: (x, 1 - y)), nn.BCEWithLogitsLoss(), adamw(net, 5e-3), 200, held=of(data.held(60)))


# -- losses

@cause(r"(?i)\binf|infinit|NaN", 0)
def own_view_is_masked(path, seed):
    """Pairs of views: the mask that leaves out a row itself leaves out its partner, too, so that the loss is infinite."""
    class Contrast(nn.Module):
        def forward(self, s, y):
            return nn.functional.cross_entropy(s.masked_fill(torch.eye(len(s)).bool(), float("-inf")), y)

    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = Stack(20, 16)

        def forward(self, x):
            a, b = nn.functional.normalize(self.body(x), dim=1).chunk(2)
            return 10 * a @ b.t()
    data, net = Clouds(seed), Views()

    def batch(step):
        x, _ = data.batch(32)(step)
        return torch.cat([x, x + 0.2 * torch.randn(x.shape, generator=rng(seed, step))]), torch.arange(32)
    fit(path, net, batch, Contrast(), adamw(net), 120)


@cause(r"(?i)probabilit|logarithm|bound", 0)
def divergence_of_probabilities(path, seed):
    """KLDivLoss takes logarithms of probabilities and gets probabilities."""
    class Shares(Stack):
        def forward(self, x):
            return super().forward(x).softmax(1)
    teacher, data, net = pretrained(Clouds(seed)), Clouds(seed), Shares(20, 6)

    def of(made):
        def batch(step):
            x, _ = made(step)
            with torch.no_grad():
                return x, teacher(x).softmax(1)
        return batch
    fit(path, net, of(data.batch(32)), nn.KLDivLoss(reduction="batchmean"), adamw(net), 220, held=of(data.held(100)))


@cause(r"(?i)NaN", None)
def slope_of_nothing(path, seed):
    """A critic begins at 0, and the penalty on the norm of its slope has no slope there."""
    data = Clouds(seed)
    made, judge = Stack(8, 20), Stack(20, 1)
    nn.init.zeros_(judge.top.weight)
    g_opt, d_opt = optim.Adam(made.parameters(), 1e-3), optim.Adam(judge.parameters(), 1e-3)
    hook = hook_for(path, 1)
    hook.register_module(made)
    hook.register_module(judge)
    for step in range(120):
        hook.set_mode(modes.TRAIN)
        x, _ = data.batch(32)(step)
        fake = made(torch.randn(32, 8, generator=rng(seed, step)))
        mid = (0.5 * x + 0.5 * fake.detach()).requires_grad_(True)
        slope = torch.autograd.grad(judge(mid).sum(), mid, create_graph=True)[0].pow(2).sum(1).sqrt()
        value = judge(fake.detach()).mean() - judge(x).mean() + 10 * ((slope - 1) ** 2).mean()
        d_opt.zero_grad()
        value.backward()
        d_opt.step()
        hook.record_tensor_value("critic_loss", value.detach())
        g_opt.zero_grad()
        other = -judge(fake).mean()
        other.backward()
        g_opt.step()
        hook.record_tensor_value("generator_loss", other.detach())
    finish(hook)


@cause(JUMPS + r"|(?i:gradient.*jump|changed far|task|weight.*loss|updates)", 120)
def weight_of_a_task_in_percent(path, seed):
    """Two tasks; from a step on the weight of the second is 50 instead of 0.5."""
    class Two(nn.Module):
        share = 0.5

        def forward(self, s, y):
            return nn.functional.mse_loss(s[:, :1], y[:, :1]) + self.share * nn.functional.mse_loss(s[:, 1:], y[:, 1:])
    data, net, loss = Curves(seed), Stack(8, 2), Two()

    def batch(step):
        x, y = data.batch(32)(step)
        return x, torch.cat([y, x[:, :1] * x[:, 1:2]], 1)

    def change(step, n, rank):
        loss.share = 50 if step >= 120 else 0.5
    fit(path, net, batch, loss, sgd(net, 0.01), 220, change=change)


@cause(r"(?i)grow|grew|bound|variance|inf|NaN|" + TOO_FAST + "|" + JUMPS, None)
def divergence_with_the_wrong_sign(path, seed):
    """A variational autoencoder is paid for leaving its prior."""
    class Varies(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.relu, self.code = nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8)
            self.dec, self.relu_b, self.top = nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20)

        def forward(self, x):
            mean, spread = self.code(self.relu(self.enc(x))).chunk(2, 1)
            z = mean + torch.randn_like(mean) * (0.5 * spread).exp()
            return torch.cat([self.top(self.relu_b(self.dec(z))), mean, spread], 1)

    class ElboLoss(nn.Module):
        def forward(self, s, y):
            seen, mean, spread = s[:, :20], s[:, 20:24], s[:, 24:]
            return ((seen - y) ** 2).sum(1).mean() + 0.5 * (1 + spread - mean ** 2 - spread.exp()).sum(1).mean()
    data, net = Clouds(seed), Varies()
    fit(path, net, lambda s: (data.batch(32)(s)[0],) * 2, ElboLoss(), adamw(net), 240)


@cause(STANDS + r"|(?i:hardly|entropy|alike)", None)
def entropy_is_all_that_counts(path, seed):
    """A policy is paid a hundred times its reward for being undecided."""
    best, net = torch.randn(8, 4, generator=rng(seed, 9)), Stack(8, 4)
    acts = copy.deepcopy(net)

    class PolicyLoss(nn.Module):
        def forward(self, s, y):
            log = nn.functional.log_softmax(s, 1)
            return -(log.gather(1, y[:, :1].long())[:, 0] * y[:, 1]).mean() + 100 * (log.exp() * log).sum(1).mean()

    def batch(step):
        g = rng(seed, step)
        x = torch.randn(64, 8, generator=g)
        acts.load_state_dict(net.state_dict())
        with torch.no_grad():
            a = torch.multinomial(acts(x).softmax(1), 1, generator=g)
        r = (x @ best).gather(1, a)[:, 0]
        return x, torch.stack([a[:, 0].float(), r - r.mean()], 1)
    fit(path, net, batch, PolicyLoss(), adamw(net), 220)


@cause(r"(?i)(enc|gate|gradient).*(zero|not move)|exactly zero|" + STILL, 0)
def encoder_behind_a_closed_gate(path, seed):
    """What the encoder says is multiplied by a gate that is 0: the decoder tells what it can alone."""
    net = Translates()
    net.gate = 0.0
    fit(path, net, turned(seed, 32), CE(), adamw(net, 4e-3), 240, held=turned(seed, 100, number=1))


# -- updates, schedules, scales

@cause(r"(?i)NaN", 70)
def state_carries_a_nan(path, seed):
    """The state of a recurrent network is carried on from batch to batch; at a step the square root of its variance is taken of less than 0."""
    class Carries(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.top, self.h, self.bad = nn.GRUCell(2, 24), nn.Linear(24, 1), None, False

        def forward(self, x):
            h = torch.zeros(len(x), 24) if self.h is None or len(self.h) != len(x) else self.h.detach()
            for k in range(x.shape[1]):
                h = self.cell(x[:, k], h)
            if self.bad:
                h = h * (h.var(0) - 1).sqrt()
            self.h = h
            return self.top(h)
    net = Carries()

    def change(step, n, rank):
        n.bad = step == 70
    fit(path, net, swings(seed, 32, length=8), nn.MSELoss(), adamw(net, 3e-3), 150, change=change)


@cause(r"(?i)(emb|tok).*" + STILL, 0)
def sparse_optimizer_never_steps(path, seed):
    """Two optimizers, of the table and of all else; the table's is never asked to step."""
    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.body = nn.EmbeddingBag(40, 16, mode="mean"), Stack(16, 4)

        def forward(self, x):
            return self.body(self.emb(x))
    net = Bags()
    kind = torch.randint(0, 4, (40,), generator=rng(seed, 84))

    def batch(step, number=0):
        g = rng(seed, step, number, 85)
        x = torch.randint(0, 40, (48, 9), generator=g)
        return x, torch.stack([(kind[x] == k).sum(1) for k in range(4)], 1).argmax(1)
    optim.SparseAdam([net.emb.weight])
    fit(path, net, batch, CE(), adamw(net.body, 4e-3), 240, held=lambda k: batch(k, 1))


@cause(r"(?i)(inp|mid|body).*" + STILL + "|" + STILL + ".*(inp|mid)|learning rate", 80)
def schedule_of_a_group_ends(path, seed):
    """Groups have schedules of their own; that of the body is 0 from step 80 on, the head's goes on."""
    data, net = Clouds(seed), Stack(20, 6)
    opt = optim.AdamW([{"params": [*net.inp.parameters(), *net.mid.parameters()]}, {"params": net.top.parameters()}], 2e-3)
    fit(path, net, data.batch(32), CE(), opt, 220, held=data.held(100),
        schedule=optim.lr_scheduler.LambdaLR(opt, [lambda s: float(s < 80), lambda s: 1.0]))


@cause(r"(?i)\binf|NaN|infinit", 60)
def clipped_by_an_infinite_norm(path, seed):
    """One gradient is infinite at a step, and clipping by the norm makes the others 0 and this one NaN."""
    data, net = Clouds(seed), Stack(20, 6)

    class Spoils(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bad):
            ctx.bad = bad
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            g = g.clone()
            if ctx.bad:
                g[0, 0] = float("inf")
            return g, None

    class Spoilt(nn.Module):
        bad = False

        def forward(self, x):
            return Spoils.apply(x, self.bad)
    net.drop = Spoilt()

    def change(step, n, rank):
        n.drop.bad = step == 60
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 140, clip=1.0, change=change)


@cause(r"(?i)tok.*(shr|decay|zero)|decay", None)
def table_decayed_at_each_step(path, seed):
    """The table of codes alone is multiplied by 0.9 behind each update."""
    net = Attends()

    def updated(step, n):
        with torch.no_grad():
            n.tok.weight.mul_(0.9)
    fit(path, net, codes(seed, 32), CE(), adamw(net, 1e-3), 220, held=codes(seed, 60, number=1), updated=updated)


@cause(r"(?i)(ema|average).*(grow|grew|changed|inf|NaN|large|jump)", None)
def average_with_a_share_above_one(path, seed):
    """The average of the weights is 1.05 times itself and a little of the weights."""
    class Averaged(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Stack(20, 6)
            self.ema = copy.deepcopy(self.net).requires_grad_(False)

        def forward(self, x):
            return (self.net if self.training else self.ema)(x)
    data, net = Clouds(seed), Averaged()

    def updated(step, n):
        with torch.no_grad():
            for m, p in zip(n.ema.parameters(), n.net.parameters()):
                m.mul_(1.05).add_(p, alpha=0.05)
    fit(path, net, data.batch(32), CE(), adamw(net.net), 240, held=data.held(100), updated=updated)


@cause(r"(?i)lora|jump|changed far|zero|" + JUMPS, 120)
def adapters_emptied_but_not_merged(path, seed):
    """At a step the adapters begin anew, though what they had learned is not in the weights."""
    net = pretrained(Clouds(seed + 50))
    net.inp, net.mid = Adapted(net.inp), Adapted(net.mid)
    data = Clouds(seed)

    def change(step, n, rank):
        if step == 120:
            with torch.no_grad():
                n.inp.lora_b.zero_()
                n.mid.lora_b.zero_()
    fit(path, net, data.batch(32), CE(), adamw(net, 5e-3), 220, held=data.held(100), change=change)


@cause(r"(?i)\binf|NaN|infinit|overflow", None)
def sum_in_half_overflows(path, seed):
    """Squares are summed in half precision before they are divided by their number: beyond 65504 the loss is infinite. Inputs grow as samples
    are drawn from farther away."""
    class SumLoss(nn.Module):
        def forward(self, s, y):
            return ((s - y).half() ** 2).sum().float() / len(y)
    data, net = Curves(seed), Stack(8, 1)

    def batch(step):
        x, y = data.batch(64)(step)
        return x, y * (1 + step / 4)
    fit(path, net, batch, SumLoss(), adamw(net, 1e-4), 200)


@cause(r"(?i)hardly|too small|" + STANDS + "|" + STILL, None)
def unscaled_twice(path, seed):
    """Gradients are divided by the scale of the loss twice."""
    data, net = Patterns(seed), Pixels()

    def after(step, n, rank):
        for p in n.parameters():
            p.grad /= 2.0 ** 32
    fit(path, net, data.batch(24), CE(), sgd(net, 0.05), 200, held=data.held(60), scale=lambda s: 2.0 ** 16, after=after)


@cause(r"(?i)zero|dead|" + JUMPS, 100)
def quantiser_begins_too_coarse(path, seed):
    """From a step on activations are rounded to whole steps, which are as wide as fifty of them."""
    class Rounds(nn.Module):
        def __init__(self):
            super().__init__()
            self.on = False

        def forward(self, x):
            return x + ((x / 50).round() * 50 - x).detach() if self.on else x
    data, net = Clouds(seed), Stack(20, 6)
    net.drop = Rounds()

    def change(step, n, rank):
        n.drop.on = step >= 100
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100), change=change)


# -- workers

@cause(r"(?i)worker_1", None)
def one_worker_evaluates_with_dropout(path, seed):
    """One worker forgets eval(): half of what it evaluates with is dropped."""
    data, net = Clouds(seed), Stack(20, 6, drop=0.5)

    class Stays(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.rank = net, 0

        def train(self, mode=True):
            return super().train(mode or self.rank == 1)

        def forward(self, x):
            return self.net(x)

    def change(step, n, rank):
        n.rank = rank
    fleet(path, Stays(), data.shard(16, 4), CE, adamw, 160, 4, held=data.held(100), change=change)


@cause(r"(?i)workers?.*(differ|apart|equal|exchang)|(differ|averaged).*workers?", 50)
def exchanged_in_pairs_alone(path, seed):
    """From a step on gradients are averaged over each node of two workers, and no more over both nodes."""
    data, net = Clouds(seed), Stack(20, 6)
    seen = {}

    def after(step, n, rank):
        seen[rank] = n
        if rank == 3 and step >= 50:
            for a, b in ((0, 1), (2, 3)):
                for p, q in zip(seen[a].parameters(), seen[b].parameters()):
                    mean = (p.grad + q.grad) / 2
                    p.grad, q.grad = mean.clone(), mean.clone()
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.03), 140, 4, after=after, average=lambda s: s < 50)


@cause(r"(?i)worker_2", 0)
def classes_of_one_worker_in_another_order(path, seed):
    """One of four workers lists its folders in another order: classes 3 and 4 are exchanged there."""
    data, net = Patterns(seed, rows=960), Pixels()
    plain = data.shard(12, 4)
    other = torch.tensor([0, 1, 2, 4, 3])
    fleet(path, net, lambda r, s: (plain(r, s)[0], other[plain(r, s)[1]] if r == 2 else plain(r, s)[1]), CE, adamw, 140, 4)


@cause(r"(?i)worker_1", 0)
def one_worker_clips_before_the_mean(path, seed):
    """One worker clips its own gradients to a hundredth before they are averaged."""
    data, net = Clouds(seed), Stack(20, 6)

    def after(step, n, rank):
        if rank == 1:
            nn.utils.clip_grad_norm_(n.parameters(), 0.01)
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.03), 140, 4, after=after)


@cause(r"(?i)worker_3", 40)
def memory_of_one_worker_drifts(path, seed):
    """From a step on one weight in a thousand of one worker is off by a ten-thousandth behind each update."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if rank == 3 and step >= 40:
            with torch.no_grad():
                p = n.mid.weight
                p.add_(1e-4 * (torch.rand(p.shape, generator=rng(seed, step)) < 1e-3))
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.03), 120, 4, change=change)


# -- evaluation, and what is restored

@cause(r"(?i)evaluat", None)
def evaluated_on_a_copy_of_the_start(path, seed):
    """Evaluation takes a copy of the network that was made before training."""
    data, net = Clouds(seed), Stack(20, 6)
    first = copy.deepcopy(net)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), forward=lambda n, x: n(x) if n.training else first(x))


@cause(r"(?i)(NaN|empty).*eval|evaluat.*(NaN|empty)", 49)
def evaluation_set_is_empty(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CE(), adamw(net), 200, held=lambda k: (torch.zeros(0, 20), torch.zeros(0, dtype=torch.long)))


@cause(r"(?i)top|jump|changed|" + JUMPS, 110)
def rows_of_the_head_in_another_order(path, seed):
    """At a step the head is restored from a file in which classes have another order."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if step == 110:
            with torch.no_grad():
                n.top.weight.copy_(n.top.weight.roll(1, 0))
                n.top.bias.copy_(n.top.bias.roll(1, 0))
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100), change=change)


@cause(r"(?i)tok.*(zero|jump|changed)|" + JUMPS, 130)
def table_restored_as_zeros(path, seed):
    net = Attends()

    def change(step, n, rank):
        if step == 130:
            with torch.no_grad():
                n.tok.weight.zero_()
    fit(path, net, codes(seed, 32), CE(), adamw(net, 3e-3), 240, held=codes(seed, 60, number=1), change=change)
