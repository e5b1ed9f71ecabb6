"""causes_tenth.py - a tenth set of faults for the first line: what users of tables, policies, recommenders, diffusion, adapters, learned scales,
schedules and workers (two of them by torch's own DDP) do wrong. Written in one go, with the words that a right line has, before any result of
it was looked at."""
import os
import subprocess
import sys

import torch
from torch import nn, optim

from causes import CE, cause_set, from_step
from causes_fifth import adamw, sgd
from causes_ninth import Language, chain
from causes_seventh import JUMPS, STANDS, STILL, TOO_FAST, Adapted, pretrained
from fifth_parts import Attends, Clouds, Curves, Memory, Patterns, Pixels, Stack, codes, rng, swings
from loop import fit, fleet

TRAININGS, cause = cause_set("tenth")


# -- what is fed

@cause(r"(?i)input", 80)
def missing_values_as_a_number(path, seed):
    """From a step on a table has -999 where a value is missing: one of fifty."""
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, from_step(data.batch(32), 80, lambda x, y: (x.masked_fill(torch.rand(x.shape, generator=rng(seed, int(y.sum()))) < 0.02, -999.0), y)),
        CE(), adamw(net), 180, held=data.held(100))


@cause(r"(?i)target|label", 90)
def logarithm_taken_twice(path, seed):
    """Targets are logarithms of prices, and from a step on logarithms of those."""
    data, net = Curves(seed), Stack(8, 1)

    def of(made):
        return lambda s: (made(s)[0], made(s)[1] + 8)
    fit(path, net, from_step(of(data.batch(32)), 90, lambda x, y: (x, y.log())), nn.MSELoss(), adamw(net, 3e-3), 220, held=of(data.held(100)))


@cause(r"(?i)input|what training is fed|shape|length|" + JUMPS, 100)
def texts_cut_to_two_places(path, seed):
    """From a step on a tokenizer cuts everything behind the second place."""
    net, plain = Attends(), codes(seed, 32)
    fit(path, net, from_step(plain, 100, lambda x, y: (x[:, :2].clone(), y)), CE(), adamw(net, 3e-3), 220, held=codes(seed, 60, number=1))


@cause(r"(?i)batch.*(again|repeat)|same batch", 40)
def each_batch_eight_times(path, seed):
    """From a step on the index of the loader is divided by eight."""
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.batch(32)
    fit(path, net, lambda s: plain(s if s < 40 else s // 8), CE(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)label|target|sum|bound", 0)
def shares_that_sum_to_two(path, seed):
    """Two samples are mixed, and the label is the sum of both labels instead of their mean."""
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.batch(32)

    def batch(step):
        x, y = plain(step)
        share = torch.rand(1, generator=rng(seed, step)).item()
        one = nn.functional.one_hot(y, 6).float()
        return share * x + (1 - share) * x.roll(1, 0), one + one.roll(1, 0)
    fit(path, net, batch, CE(), adamw(net), 220)


@cause(r"(?i)reward|target|label|what training is fed|" + JUMPS, 120)
def rewards_turned(path, seed):
    """Values of states are learned; from a step on costs are read as rewards."""
    data, net = Curves(seed), Stack(8, 1, act=nn.Tanh)
    fit(path, net, from_step(data.batch(32), 120, lambda x, y: (x, -y)), nn.MSELoss(), adamw(net, 3e-3), 240)


class Pairs(nn.Module):
    """Users and items; the rating is their product."""

    def __init__(self, users=60, items=40, width=8):
        super().__init__()
        self.user, self.item, self.bias = nn.Embedding(users, width), nn.Embedding(items, width), nn.Embedding(items, 1)
        nn.init.normal_(self.user.weight, 0, 0.3)
        nn.init.normal_(self.item.weight, 0, 0.3)
        nn.init.zeros_(self.bias.weight)

    def forward(self, x):
        return (self.user(x[:, 0]) * self.item(x[:, 1])).sum(1, keepdim=True) + self.bias(x[:, 1])


def ratings(seed, size, number=0):
    g = rng(seed, 77)
    users, items = torch.randn(60, 3, generator=g), torch.randn(40, 3, generator=g)

    def of(step):
        g = rng(seed, step, number, 78)
        x = torch.stack([torch.randint(0, 60, (size,), generator=g), torch.randint(0, 40, (size,), generator=g)], 1)
        return x, (users[x[:, 0]] * items[x[:, 1]]).sum(1, keepdim=True) + 0.1 * torch.randn(size, 1, generator=g)
    return of


@cause(r"(?i)input|what training is fed|user|item|" + JUMPS, 150)
def users_for_items(path, seed):
    """From a step on the columns of users and items are exchanged; both are below 40."""
    net, plain = Pairs(), ratings(seed, 64)

    def batch(step):
        x, y = plain(step)
        return (x % 40).flip(1) if step >= 150 else x, y
    fit(path, net, batch, nn.MSELoss(), adamw(net, 1e-2), 280, held=ratings(seed, 100, number=1))


class Denoises(nn.Module):
    def __init__(self):
        super().__init__()
        self.time, self.body = nn.Embedding(50, 8), Stack(28, 20, act=nn.SiLU)

    def forward(self, x):
        return self.body(torch.cat([x[:, 1:], self.time(x[:, 0].long())], 1))


def noised(seed, size, sign=lambda step: 1.0, low=1e-3):
    data = Clouds(seed)
    plain = data.batch(size)

    def of(step):
        x, _ = plain(step)
        g = rng(seed, step, 79)
        t = torch.randint(0, 50, (size,), generator=g)
        keep, e = 1 - (t.float()[:, None] + 1) / 50 * (1 - low), torch.randn(x.shape, generator=g)
        return torch.cat([t[:, None].float(), keep.sqrt() * x / 1.5 + (1 - keep).sqrt() * e], 1), sign(step) * e
    return of


@cause(r"(?i)target|label|what training is fed|" + JUMPS, 140)
def noise_of_the_other_sign(path, seed):
    """From a step on the noise that is to be told is what has to be taken off."""
    net = Denoises()
    fit(path, net, noised(seed, 64, lambda s: -1.0 if s >= 140 else 1.0), nn.MSELoss(), adamw(net, 3e-3), 260)


@cause(r"(?i)input.*NaN|NaN.*input|fed.*NaN", None)
def noise_schedule_past_one(path, seed):
    """The schedule of the noise ends above one, so that the last time has a root of less than zero: one row of fifty."""
    net = Denoises()
    plain = noised(seed, 2, low=-0.01)
    fit(path, net, plain, nn.MSELoss(), adamw(net, 1e-3), 160)


# -- losses and heads

@cause(r"(?i)scale|" + TOO_FAST + r"|grow|jump", None)
def learned_scale_runs_away(path, seed):
    """Pairs of views are told by a learned scale, the exponential of a parameter, with a rate of its own that is far too high and no bound."""
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.logit_scale_weight = Stack(20, 16), nn.Parameter(torch.tensor(2.0))

        def forward(self, x):
            z = nn.functional.normalize(self.body(x), dim=1)
            a, b = z.chunk(2)
            return self.logit_scale_weight.exp() * a @ b.t()
    data, net = Clouds(seed), Views()

    def batch(step):
        x, _ = data.batch(32)(step)
        return torch.cat([x, x + 0.2 * torch.randn(x.shape, generator=rng(seed, step))]), torch.arange(32)
    opt = optim.SGD([{"params": net.body.parameters()}, {"params": [net.logit_scale_weight], "lr": 4.0}], 0.02)
    fit(path, net, batch, CE(), opt, 200)


@cause(r"(?i)log_?var|NaN|\binf|" + JUMPS + "|" + TOO_FAST, None)
def logarithm_of_variance_unbounded(path, seed):
    """A network tells mean and logarithm of a variance; nothing holds the exponential, and the rate is high."""
    class Likely(nn.Module):
        def forward(self, s, y):
            return ((s[:, :1] - y) ** 2 * (-s[:, 1:]).exp() + s[:, 1:]).mean()
    data, net = Curves(seed, noise=0.0), Stack(8, 2)
    fit(path, net, data.batch(16), Likely(), sgd(net, 0.3), 200, held=data.held(100))


@cause(r"(?i)NaN", 77)
def batch_of_padding_alone(path, seed):
    """The mean over places that count, of a batch that has none."""
    net, plain = Language(), chain(seed, 24)

    def batch(step):
        x, y = plain(step)
        return x, torch.full_like(y, -100) if step == 77 else y
    fit(path, net, batch, CE(), adamw(net, 5e-3), 160, held=chain(seed, 60, number=1))


@cause(r"(?i)evaluat.*(NaN|inf)|(NaN|inf).*evaluat", 49)
def class_of_no_sample_weighs_without_end(path, seed):
    """Classes weigh the inverse of how often they come in training; one comes in evaluation alone."""
    data, net = Clouds(seed), Stack(20, 6)
    keep = data.y != 5
    data.x, data.y = data.x[keep], data.y[keep]
    weight = len(data.y) / torch.bincount(data.y, minlength=6).float() / 5
    fit(path, net, data.batch(32), CE(weight=weight), adamw(net), 200, held=data.held(100))


@cause(r"(?i)label|one class|target", 0)
def judge_told_all_is_real(path, seed):
    """A judge of real and made samples gets ones for both."""
    data, net = Clouds(seed), Stack(20, 1)

    def batch(step):
        x, _ = data.batch(16)(step)
        return torch.cat([x, 0.4 * torch.randn(16, 20, generator=rng(seed, step))]), torch.ones(32, 1)
    fit(path, net, batch, nn.BCEWithLogitsLoss(), adamw(net), 200)


@cause(r"(?i)exactly zero|skip|no gradient|" + STILL, 0)
def ways_around_times_zero(path, seed):
    """Two encoders are joined, and the second is multiplied by a gate that is zero and no parameter."""
    class Joined(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right, self.head = nn.Linear(20, 32), nn.Linear(20, 32), nn.Linear(64, 6)

        def forward(self, x):
            return self.head(torch.cat([self.left(x).relu(), 0.0 * self.right(x).relu()], 1))
    data, net = Clouds(seed), Joined()
    fit(path, net, data.batch(32), CE(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)alike|constant|vanish|zero|" + STANDS + "|hardly|one class", None)
def graph_smoothed_flat(path, seed):
    """Forty means over neighbours: all nodes become one."""
    data = Clouds(seed, rows=240)
    mix = torch.rand(240, 240, generator=rng(seed, 3)) < 0.05
    mix = ((mix | mix.t()).float() + torch.eye(240))
    mix = torch.linalg.matrix_power(mix / mix.sum(1, keepdim=True), 40)

    class Smoothed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.relu, self.top = nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 6)

        def forward(self, x):
            return self.top(mix @ self.relu(self.inp(x)))
    net = Smoothed()
    fit(path, net, lambda s: (data.x, data.y), CE(), sgd(net, 0.05), 200)


@cause(r"(?i)NaN", 64)
def advantages_divided_by_zero(path, seed):
    """A policy: advantages are divided by their deviation, which is 0 at a step where all rewards are one."""
    net, acts = Stack(8, 4), Stack(8, 4)
    best = torch.randn(8, 4, generator=rng(seed, 9))

    class PolicyLoss(nn.Module):
        def forward(self, s, y):
            return -(nn.functional.log_softmax(s, 1).gather(1, y[:, :1].long())[:, 0] * y[:, 1]).mean()

    def batch(step):
        g = rng(seed, step)
        x = torch.randn(64, 8, generator=g)
        acts.load_state_dict(net.state_dict())
        with torch.no_grad():
            a = torch.multinomial(acts(x).softmax(1).nan_to_num(0.25), 1, generator=g)
        r = (x @ best).gather(1, a)[:, 0]
        if step == 64:
            r = torch.ones(64)
        return x, torch.stack([a[:, 0].float(), (r - r.mean()) / r.std()], 1)
    fit(path, net, batch, PolicyLoss(), adamw(net), 140)


# -- updates

@cause(r"(?i)rate|" + JUMPS + r"|grow|jump", 100)
def line_of_the_rate_below_zero(path, seed):
    """A rate that falls along a line goes on below zero when training takes longer than planned."""
    data, net = Clouds(seed), Stack(20, 6)
    opt = sgd(net, 0.05)
    fit(path, net, data.batch(32), CE(), opt, 220, held=data.held(100), schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: 1 - s / 100))


@cause(r"(?i)hardly|too small|" + STANDS + "|" + STILL, None)
def average_copied_back(path, seed):
    """The moving average of the weights, for evaluation, is left in the network that is trained."""
    data, net = Clouds(seed), Stack(20, 6)
    mean = [p.detach().clone() for p in net.parameters()]

    def updated(step, n):
        with torch.no_grad():
            for m, p in zip(mean, n.parameters()):
                m.lerp_(p, 0.001)
                p.copy_(m)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), updated=updated)


@cause(r"(?i)top.*" + STILL + "|top.*jump|top.*changed", 120)
def head_made_anew_at_half_time(path, seed):
    """At a step the head is begun anew as another parameter, which the optimizer does not have."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if step == 120:
            n.top.weight = nn.Parameter(torch.randn(6, 48) / 7)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), change=change)


@cause(r"(?i)tok.*" + STILL, 0)
def table_loaded_at_each_step(path, seed):
    """The table of codes is copied from the file at each step, though it is trained."""
    net = Attends()
    table = net.tok.weight.detach().clone()

    def updated(step, n):
        with torch.no_grad():
            n.tok.weight.copy_(table)
    fit(path, net, codes(seed, 32), CE(), adamw(net, 3e-3), 220, held=codes(seed, 60, number=1), updated=updated)


@cause(r"(?i)lora|exactly zero|adapter|" + STILL, 0)
def adapters_dropped_out(path, seed):
    """What the adapters see is dropped out as a whole: they never learn, and the head does not do it alone."""
    class Dropped(Adapted):
        def forward(self, x):
            return self.inner(x) + nn.functional.dropout(x, 1.0) @ self.lora_a.t() @ self.lora_b.t()
    net = pretrained(Clouds(seed + 50))
    net.inp, net.mid = Dropped(net.inp), Dropped(net.mid)
    net.top.requires_grad_(False)
    data = Clouds(seed)
    fit(path, net, data.batch(32), CE(), adamw([p for p in net.parameters() if p.requires_grad] and net, 5e-3), 220, held=data.held(100))


@cause(r"(?i)overflow|\binf|left out|scale", None)
def scale_doubled_at_each_step(path, seed):
    """A loss scale that is doubled after every good step: every second update or so is left out."""
    data, net = Clouds(seed), Stack(20, 6)
    state = {"scale": 2.0 ** 20}

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.half().float()

    class Skips:
        inner = sgd(net, 0.03)

        def zero_grad(self, set_to_none=True):
            self.inner.zero_grad(set_to_none)

        def step(self):
            if all(torch.isfinite(p.grad).all() for p in net.parameters()):
                for p in net.parameters():
                    p.grad /= state["scale"]
                self.inner.step()
                state["scale"] *= 2
            else:
                state["scale"] /= 2
    fit(path, net, data.batch(32), CE(), Skips(), 200, scale=lambda s: state["scale"], forward=lambda n, x: Half.apply(n(x)), held=data.held(100))


# -- workers

@cause(r"(?i)workers?.*(differ|apart|equal)|differ.*workers?", 0)
def workers_begin_apart(path, seed):
    """Each worker draws its own weights; gradients are averaged."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if step == 0:
            torch.manual_seed(seed + 100 * rank)
            for m in n.modules():
                if isinstance(m, nn.Linear):
                    m.reset_parameters()
    fleet(path, net, data.shard(16, 3), CE, adamw, 140, 3, change=change)


@cause(r"(?i)worker_2", 50)
def one_worker_keeps_less_bits(path, seed):
    """From a step on one worker rounds its weights to bfloat16 behind each update."""
    data, net = Clouds(seed), Stack(20, 6)

    def change(step, n, rank):
        if rank == 2 and step >= 50:
            with torch.no_grad():
                for p in n.parameters():
                    p.copy_(p.bfloat16().float())
    fleet(path, net, data.shard(16, 3), CE, lambda n: sgd(n, 0.03), 120, 3, change=change)


@cause(r"(?i)worker_1", 80)
def one_worker_left_out_of_the_mean(path, seed):
    """Weights are averaged every eight steps; from a step on one of four workers is not among them."""
    data, net = Clouds(seed), Stack(20, 6)
    kept = {}

    def change(step, n, rank):
        if rank == 1 and step > 80 and step % 8 == 0:
            with torch.no_grad():
                for p, k in zip(n.parameters(), kept["w"]):
                    p.copy_(k)
        if rank == 1 and step >= 80 and step % 8 == 7:
            kept["n"] = n

    class Kept(optim.SGD):
        def step(self):
            super().step()
            self.count = getattr(self, "count", 0) + 1
            if self.rank == 1:
                kept["w"] = [p.detach().clone() for p in self.param_groups[0]["params"]]
    made = []

    def new(n):
        made.append(Kept(n.parameters(), 0.03))
        made[-1].rank = len(made) - 1
        return made[-1]
    fleet(path, net, data.shard(16, 4), CE, new, 160, 4, change=change, average=lambda s: False, together=lambda s: s % 8 == 7)


@cause(r"(?i)worker_2", 24)
def one_worker_evaluates_otherwise(path, seed):
    """One worker evaluates on pictures that it did not normalise."""
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.rank = Stack(20, 6), 0

        def forward(self, x):
            return self.body(x if self.training or self.rank != 2 else 4 * x + 3)
    data, net = Clouds(seed), Normed()

    def change(step, n, rank):
        n.rank = rank
    fleet(path, net, data.shard(16, 3), CE, adamw, 160, 3, held=data.held(100), change=change)


DDP = r'''
import os, sys, torch
from torch import nn, optim
import torch.distributed as dist
sys.path[:0] = sys.argv[5:]
import assay_hook
from fifth_parts import Clouds, Stack
from loop import hook_for, finish
path, seed, kind, rank = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(seed)
data, net, loss = Clouds(seed), Stack(20, 6), nn.CrossEntropyLoss()
size, every = dist.get_world_size(), 1
ddp = nn.parallel.DistributedDataParallel(net)
hook = hook_for(path, 1, rank, size)
hook.register_module(net)
hook.register_loss(loss)
opt = optim.SGD(net.parameters(), 0.05)
plain, least, waited = data.shard(16, size), 9.9, 0
for step in range(150):
    hook.set_mode(assay_hook.modes.TRAIN)
    opt.zero_grad()
    x, y = plain(rank, step)
    if kind == "asleep" and rank == 1 and step >= 60:
        y = y.roll(1)
    value = loss(ddp(x), y)
    value.backward()
    if kind == "tail" and step % 20 == 19:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if kind == "plateau":
        waited = 0 if value.item() < least else waited + 1
        least = min(least, value.item())
        if waited >= 6 + 3 * rank:
            opt.param_groups[0]["lr"] *= 0.7
            waited = 0
finish(hook)
'''


def by_torch(path, seed, kind, size):
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29600 + os.getpid() % 300), WORLD_SIZE=str(size))
    began = [subprocess.Popen([sys.executable, "-c", DDP, str(path), str(seed), kind, str(size), *sys.path], env=dict(env, RANK=str(r)))
             for r in range(size)]
    codes_ = [p.wait(120) for p in began]
    if any(codes_):
        raise SystemExit("ddp: %s" % codes_)


@cause(r"(?i)workers?.*(differ|apart|drift|leave|equal)|differ.*workers?|worker_\d.*updated", None)
def each_worker_has_its_own_plateau(path, seed):
    """DDP: each worker lowers its rate when its own loss stands, so that rates differ."""
    by_torch(path, seed, "plateau", 3)


@cause(r"(?i)worker_1", 60)
def labels_of_one_ddp_worker_slip(path, seed):
    """DDP of two: from a step on one worker's labels are those of the next row."""
    by_torch(path, seed, "asleep", 2)
