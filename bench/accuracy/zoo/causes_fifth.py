"""causes_fifth.py - a fifth set of faults for the first line: the mistakes of the others made in another way, on data made up, in networks and
with optimisers that the others lack. Written in one go; nobody had looked at rules or causes for them."""
import copy
import os

import torch
from torch import nn, optim

import loop
from causes import CE, cause_set, from_step
from causes_more import rates
from faulty import at, spoilt
from fifth_parts import Attends, Clouds, Curves, Memory, Patterns, Pixels, Stack, codes, rng, swings
from loop import finish, fit, fleet, hook_for, modes

TRAININGS, cause = cause_set("fifth")


def sgd(n, lr, momentum=0.9, **more):
    return optim.SGD(n.parameters(), lr=lr, momentum=momentum, **more)


def adamw(n, lr=2e-3, **more):
    return optim.AdamW(n.parameters(), lr=lr, **more)


class Scaled(nn.CrossEntropyLoss):
    """A cross entropy whose gradient may be multiplied."""
    factor = 1.0

    def forward(self, s, y):
        value = super().forward(s, y)
        return value + (self.factor - 1) * (value - value.detach())


# -- what is fed

@cause(r"(?i)input.*zero", 110)
def pictures_empty(path, seed):
    data, net = Patterns(seed), Pixels()
    fit(path, net, from_step(data.batch(24), 110, lambda x, y: (x * 0, y)), CE(), optim.RMSprop(net.parameters(), 1e-3), 220,
        held=data.held(60), save_all=True)


@cause(r"(?i)worker_1.*input|input.*worker_1", 0)
def one_worker_reads_ones(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.shard(16, 2)
    fleet(path, net, lambda r, s: (plain(r, s)[0] * 0 + 1 if r == 1 else plain(r, s)[0], plain(r, s)[1]), CE, adamw, 160, 2)


@cause(r"(?i)same batch|batch.*(again|repeat)", 70)
def one_batch_reshuffled(path, seed):
    """The same samples at every step, each time in another order."""
    data, net = Clouds(seed), Stack(20, 6, act=nn.GELU)
    plain = data.batch(32)

    def batch(step):
        x, y = plain(min(step, 70))
        order = torch.randperm(len(x), generator=rng(seed, step))
        return (x[order], y[order]) if step >= 70 else (x, y)
    fit(path, net, batch, CE(), adamw(net), 220, held=data.held(100))


@cause(r"(?i)(fed|input).*(inf|NaN)", 90)
def infinite_sample_of_a_series(path, seed):
    net, plain = Memory(), swings(seed, 24)

    def spoil(x, y):
        x[2, 5, 1] = float("inf")
        return x, y
    fit(path, net, spoilt(plain, (90,), spoil), nn.SmoothL1Loss(), optim.Adagrad(net.parameters(), 0.02), 160, held=swings(seed, 60, number=1))


@cause(r"(?i)input.*(scale|times|larger)", 130)
def series_in_other_units(path, seed):
    net, plain = Memory(), swings(seed, 24)
    fit(path, net, from_step(plain, 130, lambda x, y: (x * 60, y)), nn.MSELoss(), adamw(net, 4e-3), 260, held=swings(seed, 60, number=1))


@cause(r"(?i)channel.*input|input.*channel", 0)
def colour_never_read(path, seed):
    data, net = Patterns(seed), Pixels(norm=lambda w: nn.GroupNorm(2, w))
    data.x[:, 2] = 0
    fit(path, net, data.batch(24), CE(), sgd(net, 0.03), 200, held=data.held(60))


@cause(r"(?i)(channel|column|feature).*input|input.*(channel|column|feature)", 100)
def column_stuck(path, seed):
    data, net = Curves(seed), Stack(8, 1, act=nn.SiLU)

    def spoil(x, y):
        x[:, 5] = 1.7
        return x, y
    fit(path, net, from_step(data.batch(32), 100, spoil), nn.MSELoss(), adamw(net), 240, held=data.held(100))


@cause(r"(?i)evaluat.*(NaN|fed)|fed NaN.*eval", 149)
def evaluation_picture_nan(path, seed):
    data, net = Patterns(seed), Pixels()
    held, calls = data.held(60), [0]

    def bad(k):
        x, y = held(k)
        calls[0] += 1
        if calls[0] == 3:
            x[7, 0, 2, 2] = float("nan")
        return x, y
    fit(path, net, data.batch(24), CE(), adamw(net), 240, held=bad)


@cause(r"(?i)label.*(evaluat|shift)|evaluat.*label", None)
def evaluation_one_less(path, seed):
    net, held = Attends(), codes(seed, 100, number=1)
    fit(path, net, codes(seed, 48), CE(), adamw(net, 5e-3), 320, held=lambda k: (held(k)[0], (held(k)[1] - 1) % 8), eval_every=40)


@cause(r"(?i)evaluat.*(input|scale)|input.*evaluat", None)
def evaluation_in_bytes(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    held = data.held(100)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.03), 240, held=lambda k: (held(k)[0] * 25 + 120, held(k)[1]), eval_every=40)


@cause(r"(?i)evaluat.*(training|trained)", None)
def evaluation_rows_seen(path, seed):
    """Rows of the training set, drawn anew: no batch is one of training."""
    data, net = Clouds(seed, rows=480, spread=1.6), Stack(20, 6)

    def held(k):
        rows = torch.randperm(len(data.x), generator=rng(seed, k, 77))[:80]
        return data.x[rows], data.y[rows]
    fit(path, net, data.batch(32), CE(), adamw(net), 300, held=held, eval_batches=2)


@cause(r"(?i)worker.*same (data|samples|inputs|batch)", 0)
def two_shards_alike(path, seed):
    """Worker 2 has the samples of worker 0, in another order."""
    data, net = Patterns(seed), Pixels()
    plain = data.shard(12, 3)

    def batch(r, s):
        x, y = plain(0 if r == 2 else r, s)
        order = torch.randperm(len(x), generator=rng(seed, s, 5))
        return (x[order], y[order]) if r == 2 else (x, y)
    fleet(path, net, batch, CE, lambda n: sgd(n, 0.02), 120, 3)


@cause(r"(?i)worker.*same (data|samples|inputs|batch)", 0)
def shards_two_steps_apart(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    plain = data.shard(16, 4)
    fleet(path, net, lambda r, s: plain(1, max(0, s - 2)) if r == 3 else plain(r, s), CE, adamw, 150, 4)


@cause(r"(?i)(target|label).*(copy|equal|same).*input|input.*(target|label)", 0)
def next_code_not_shifted(path, seed):
    net, plain = Attends(classes=9, every=True), codes(seed, 16)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[0].reshape(-1)), CE(), adamw(net, 3e-3), 220, held=lambda k: (
        codes(seed, 32, number=1)(k)[0], codes(seed, 32, number=1)(k)[0].reshape(-1)))


@cause(r"(?i)label", 0)
def labels_drawn_anew(path, seed):
    data, net = Patterns(seed), Pixels()
    plain = data.batch(32)
    fit(path, net, lambda s: (plain(s)[0], torch.randint(0, 5, (32,), generator=rng(seed, s, 9))), CE(), adamw(net, 1e-3), 260, held=data.held(60))


@cause(r"(?i)(worker_2.*label|label.*worker_2)", 60)
def one_worker_one_label(path, seed):
    data, net = Clouds(seed), Stack(20, 6, act=nn.Tanh)
    plain = data.shard(16, 4)
    fleet(path, net, lambda r, s: (plain(r, s)[0], plain(r, s)[1] * 0 if r == 2 and s >= 60 else plain(r, s)[1]), CE, adamw, 180, 4)


# -- the loss and the optimiser

@cause(r"(?i)loss.*(rose|rises)|update made .*NaN|updates are too large|diverg", 0)
def maximised(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CE(), adamw(net, 1e-3, maximize=True), 240, held=data.held(100))


@cause(r"(?i)loss.*(rose|rises)|update made .*NaN|updates are too large|diverg", 0)
def wrong_sign_of_a_series(path, seed):
    net, plain = Memory(), swings(seed, 24)
    fit(path, net, plain, nn.MSELoss(), sgd(net, 3e-3), 240, scale=lambda s: -1.0)


@cause(r"(?i)(rate|updates?.*large|diverg|weights?.*changed)", (0, 10))
def adam_at_one(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    fit(path, net, data.batch(32), CE(), optim.Adam(net.parameters(), 1.0), 200, held=data.held(100))


@cause(r"(?i)(rate|updates?.*(large|jump)|weights?.*(jump|changed))", 140)
def warm_restart_too_hot(path, seed):
    net = Attends()
    opt = optim.Adam(net.parameters(), 2e-3)
    fit(path, net, codes(seed, 32), CE(), opt, 260, change=rates(opt, lambda s: 2e-3 if s < 140 else 0.4))


@cause(r"(?i)(decay|shr[aiu]nk|smaller)", (0, 100))
def adam_with_l2(path, seed):
    data, net = Patterns(seed), Pixels(norm=lambda w: nn.GroupNorm(2, w))
    fit(path, net, data.batch(32), CE(), optim.Adam(net.parameters(), 2e-3, weight_decay=2.0), 260, held=data.held(60))


@cause(r"(?i)no weight|weights?.*(not|no|never|hardly).*mov", 0)
def optimiser_of_a_copy(path, seed):
    """The optimiser was given the parameters of the network before it was copied."""
    data, net = Clouds(seed), Stack(20, 6)
    opt = adamw(copy.deepcopy(net))
    fit(path, net, data.batch(32), CE(), opt, 200, held=data.held(100))


@cause(r"(?i)weights?.*(hardly|little)|updates are too small|rate", 0)
def rate_of_nothing(path, seed):
    net = Attends()
    fit(path, net, codes(seed, 32), CE(), adamw(net, 1e-8), 220, held=codes(seed, 60, number=1))


@cause(r"(?i)no weight|weights?.*(not|no|stop).*mov", 170)
def training_frozen(path, seed):
    data, net = Patterns(seed), Pixels(norm=lambda w: nn.GroupNorm(2, w))
    opt = optim.RMSprop(net.parameters(), 1e-3)
    kept = opt.step
    opt.count = 0

    def step(*a):
        opt.count += 1
        return kept(*a) if opt.count <= 170 else None
    opt.step = step
    fit(path, net, data.batch(24), CE(), opt, 280, held=data.held(60))


@cause(r"(?i)probabilit|softmax", 0)
def softmax_before_the_loss(path, seed):
    net = Attends(softmax=True)
    fit(path, net, codes(seed, 48), CE(), adamw(net, 3e-3), 260, held=codes(seed, 60, number=1))


@cause(r"(?i)gradient.*(zero|underflow|small|vanish)", (0, 300))
def underflow_grows(path, seed):
    """A scale that is halved every twenty steps: ever more gradients come out as zero."""
    data, net = Clouds(seed), Stack(20, 6, act=nn.GELU)

    class Half(torch.autograd.Function):
        step = 0

        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            scale = 2.0 ** (-8 - Half.step / 20)
            return (g * scale).half().float() / scale

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = net

        def forward(self, x):
            return Half.apply(self.body(x))

    def change(step, n, rank):
        Half.step = step
    fit(path, Net(), data.batch(32), CE(), sgd(net, 0.01), 300, change=change)


@cause(r"(?i)overfit|evaluat.*(rose|heart|hardly)", None)
def learned_by_heart(path, seed):
    data, net = Clouds(seed, rows=64, spread=2.0), Stack(20, 6, width=160)
    fit(path, net, data.batch(16), CE(), optim.Adagrad(net.parameters(), 0.03), 400, held=data.held(200), eval_every=20)


@cause(r"(?i)evaluat", None)
def evaluated_by_pairs_in_train_mode(path, seed):
    data, net = Patterns(seed), Pixels()
    fit(path, net, data.batch(32), CE(), adamw(net), 260, held=data.held(2), eval_batches=6, eval_every=20, evaluate=lambda n: n.train())


# -- layers

@cause(r"(?i)(saturat|tanh|input.*scale)", 90)
def half_the_rows_saturate(path, seed):
    data, net = Clouds(seed), Stack(20, 6, act=nn.Sigmoid)

    def spoil(x, y):
        x[1::2] *= 400
        return x, y
    fit(path, net, from_step(data.batch(32), 90, spoil), CE(), adamw(net, 5e-3), 260)


@cause(r"(?i)(inp|mid).*(dead|jump|changed)|(dead|jump|changed).*(act_a|act_b|inp|mid)|unit.*dead", 95)
def bias_sunk(path, seed):
    data, net = Clouds(seed), Stack(20, 6)

    def spoil(n):
        n.mid.bias -= 40
    fit(path, net, data.batch(32), CE(), adamw(net), 220, change=at((95,), spoil), held=data.held(100))


@cause(r"(?i)(dead|channel|norm)", 90)
def channels_of_a_norm_dead(path, seed):
    data, net = Patterns(seed), Pixels()

    def change(step, n, rank):
        if step >= 90:
            with torch.no_grad():
                n.norm.weight[:6] = 0
                n.norm.bias[:6] = -3
    fit(path, net, data.batch(24), CE(), sgd(net, 0.02), 220, change=change)


@cause(r"(?i)(qkv|layer).*(jump|restored|changed|zero)", 150)
def attention_restored_wrongly(path, seed):
    net = Attends()

    def spoil(n):
        n.qkv.weight.normal_(0, 0.2, generator=rng(seed, 88))
    fit(path, net, codes(seed, 32), CE(), adamw(net, 3e-3), 280, change=at((150,), spoil), held=codes(seed, 80, number=1), save_all=True)


@cause(r"(?i)(row|tok|embed)", 0)
def codes_not_trained(path, seed):
    """A mask takes the gradient from four of nine codes."""
    net = Attends()

    def mask(step, n, rank):
        n.tok.weight.grad[3:7] = 0
    fit(path, net, codes(seed, 32), CE(), optim.Adam(net.parameters(), 3e-3), 240, after=mask)


@cause(r"(?i)(NaN|inf).*gradient|gradient.*(NaN|inf)|root", 100)
def root_at_zero(path, seed):
    """The length of a row that is all zeros: its derivative is not a number."""
    data = Clouds(seed)

    class Length(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.act, self.top, self.on = nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 6), 1.0

        def forward(self, x):
            z = self.act(self.inp(x)) * self.on
            return self.top(z) + 0.01 * (z ** 2).sum(1, keepdim=True).sqrt()

    def change(step, n, rank):
        n.on = 1.0 if step < 100 else 0.0
    net = Length()
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 180, change=change)


@cause(r"(?i)log.*NaN|NaN", 80)
def logarithm_of_less_than_zero(path, seed):
    data = Curves(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.front, self.relu, self.back, self.low = nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1), 0.1

        def forward(self, x):
            return self.back(torch.log(self.relu(self.front(x)) + self.low))
    net = Net()

    def change(step, n, rank):
        n.low = 0.1 if step < 80 else -0.05
    fit(path, net, data.batch(32), nn.MSELoss(), adamw(net), 150, change=change, save_all=True)


@cause(r"(?i)(vanish|gradient)", 0)
def deep_and_narrow(path, seed):
    data = Clouds(seed)
    sizes = [20] + [16] * 12
    net = nn.Sequential(*(p for a, b in zip(sizes, sizes[1:]) for p in (nn.Linear(a, b), nn.Sigmoid())), nn.Linear(16, 6))
    fit(path, net, data.batch(32), CE(), optim.Adam(net.parameters(), 1e-4), 200)


@cause(r"(?i)(front|stem|inp).*(not move|unchanged|never)", 0)
def stem_left_out(path, seed):
    data, net = Patterns(seed), Pixels()
    fit(path, net, data.batch(24), CE(), optim.AdamW([p for n, p in net.named_parameters() if not n.startswith("stem")], 2e-3), 200,
        held=data.held(60))


@cause(r"(?i)(ema|average|shadow|mean).*(never|not|unchanged|stood|moved|updated)", None)
def shadow_never_follows(path, seed):
    data = Clouds(seed)

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = Stack(20, 6)
            self.model_ema = copy.deepcopy(self.model)
            self.model_ema.requires_grad_(False)

        def forward(self, x):
            return (self.model if self.training else self.model_ema)(x)
    net = Pair()
    fit(path, net, data.batch(32), CE(), sgd(net.model, 0.03), 260, held=data.held(100), eval_every=40)


# -- workers

@cause(r"(?i)worker_1.*gradient|gradient.*worker_1", 140)
def one_worker_scales_its_loss(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    losses = []

    def new():
        losses.append(Scaled())
        return losses[-1]
    Scaled.__name__ = "CrossEntropyLoss"

    def before(step, rank):
        losses[rank].factor = 3e4 if step == 140 and rank == 1 else 1.0
    fleet(path, net, data.shard(16, 3), new, lambda n: sgd(n, 0.03), 220, 3, before_pass=before)


@cause(r"(?i)worker_2.*act_b|act_b.*worker_2", 80)
def one_worker_computes_otherwise(path, seed):
    """A kernel of one worker gives a fifth of what it should."""
    class Kernel(nn.Module):
        k = 1.0

        def forward(self, x):
            return x * self.k
    net = Stack(20, 6)
    net.mid = nn.Sequential(net.mid, Kernel())
    data = Clouds(seed)

    def change(step, n, rank):
        n.mid[1].k = 0.2 if rank == 2 and step >= 80 else 1.0
    fleet(path, net, data.shard(16, 3), CE, lambda n: sgd(n, 0.03), 180, 3, change=change)


@cause(r"(?i)(never|not).*(equal|exchanged|same)|no step", 0)
def begun_from_other_seeds(path, seed):
    """Gradients are averaged, but each worker began with weights of its own."""
    data = Clouds(seed)
    net = Stack(20, 6)

    def change(step, n, rank):
        if step == 0 and rank:
            with torch.no_grad():
                for k, p in enumerate(n.parameters()):
                    p.add_(0.1 * torch.randn(p.shape, generator=rng(seed, rank, k)))
    fleet(path, net, data.shard(16, 3), CE, adamw, 150, 3, change=change)


@cause(r"(?i)(not (exchanged|averaged)|synchron|differ|apart)", 80)
def no_sync_left_on(path, seed):
    data, net = Patterns(seed), Pixels()
    fleet(path, net, data.shard(12, 2), CE, adamw, 160, 2, average=lambda s: s < 80)


@cause(r"(?i)worker_0.*(stop|clos|wrote|ended|kill)", 90)
def chief_killed(path, seed):
    if os.fork() == 0:
        try:
            data, net = Clouds(seed), Stack(20, 6)
            hooks = []
            loop.finish, kept = lambda *h: hooks.extend(h), loop.finish
            fleet(path, net, data.shard(16, 2), CE, adamw, 140, 2, present=lambda s, r: r != 0 or s < 90)
            hooks[0].flush()
            kept(hooks[1])
        finally:
            os._exit(0)
    os.wait()


@cause(r"(?i)worker_1.*(stop|clos|wrote|ended|kill)", 139)
def killed_at_the_end(path, seed):
    """Killed at the step that is the last of all."""
    if os.fork() == 0:
        try:
            data, net = Clouds(seed), Stack(20, 6)
            hooks = []
            loop.finish, kept = lambda *h: hooks.extend(h), loop.finish
            fleet(path, net, data.shard(16, 3), CE, adamw, 140, 3)
            hooks[1].flush()
            kept(hooks[0], hooks[2])
        finally:
            os._exit(0)
    os.wait()


@cause(r"(?i)worker_1|(weights|replica).*(differ|apart|leave)", 1)
def decay_of_one_worker(path, seed):
    data, net = Clouds(seed), Stack(20, 6)
    made = []

    def opt(n):
        made.append(n)
        return adamw(n, 2e-3, weight_decay=5.0 if len(made) == 2 else 0.01)
    fleet(path, net, data.shard(16, 4), CE, opt, 150, 4)


@cause(r"(?i)(rate|updates?.*large|sum|rose|jump|diverg)", (0, 30))
def four_workers_summed(path, seed):
    data, net = Clouds(seed), Stack(20, 6)

    def after(step, n, rank):
        for p in n.parameters():
            p.grad *= 4
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.4), 150, 4, after=after)


@cause(r"(?i)(loss|label|batch).*(jump|spike)|label", 120)
def one_batch_of_wrong_labels(path, seed):
    net, plain = Attends(), codes(seed, 48)
    fit(path, net, spoilt(plain, (240,), lambda x, y: (x, (y + 4) % 8)), CE(), adamw(net, 5e-3), 320)


@cause(r"(?i)(sorted|one class|order|class)", 0)
def sorted_by_class(path, seed):
    data, net = Patterns(seed), Pixels(norm=lambda w: nn.GroupNorm(2, w))
    order = data.y.argsort(stable=True)
    data.x, data.y = data.x[order], data.y[order]
    n = len(data.x) // 20
    fit(path, net, lambda s: (data.x[s % n * 20:][:20], data.y[s % n * 20:][:20]), CE(), sgd(net, 0.02), 200, held=data.held(60))


@cause(r"(?i)evaluat.*(mode|dropout|train)", None)
def dropout_left_on(path, seed):
    """Evaluated in train mode, with everything saved."""
    data, net = Clouds(seed), Stack(20, 6, drop=0.4)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), save_all=True, evaluate=lambda n: n.train())
