"""causes.py - faults of which the first line of the report has to name the cause, or its first symptom where it is.

CAUSES has for each: the save interval apart, what the first line must match (`says`), and the step at which it was planted."""
import copy
import os
from collections import namedtuple

import torch
from torch import nn, optim

from faulty import at, spoilt
from loop import finish, fit, fleet, hook_for
from nets import Chars, Deep, conv, dense
from registry import adam, digits, seeded, sgd
from sets import Letters, Table

Cause = namedtuple("Cause", "says step")
TRAININGS, CAUSES = {}, {}
CE = nn.CrossEntropyLoss


def cause(says, step=None):
    def register(made):
        TRAININGS["cause_" + made.__name__] = made
        CAUSES["cause_" + made.__name__] = Cause(says, step)
        return made

    return register


def cause_set(name):
    """The trainings of a set of faults, and what enters them there and in CAUSES, as NAME_..."""
    trainings = {}

    def cause_of_set(says, step=None):
        def register(made):
            whole = "%s_%s" % (name, made.__name__)
            trainings[whole], CAUSES[whole] = seeded(made), Cause(says, step)
            return made

        return register

    return trainings, cause_of_set


def from_step(of, first, spoil, until=10 ** 9):
    """Batches that are spoilt from a step on."""
    def make(*place):
        x, y = of(*place)
        return spoil(x.clone(), y.clone()) if first <= place[-1] < until else (x, y)

    return make


# -- what is fed

@cause(r"(?i)input.*(zero)", 60)
def inputs_zero(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, from_step(data.batch(32), 60, lambda x, y: (x * 0, y)), CE(), sgd(net, 0.05), 300, held=data.held(100))


@cause(r"(?i)input.*(same|constant|one value)", 0)
def inputs_constant(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, from_step(data.batch(32), 0, lambda x, y: (x * 0 + 0.37, y)), CE(), sgd(net, 0.05), 300, held=data.held(100))


@cause(r"(?i)input.*(scale|times|larger)", 120)
def inputs_rescaled(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, from_step(data.batch(32), 120, lambda x, y: (x * 255, y)), CE(), adam(net), 300, held=data.held(100))


@cause(r"(?i)input.*(scale|times|smaller)", 100)
def inputs_of_one_worker_halved_byte(path, seed):
    data, net = digits(seed), dense(64, 10)
    plain = data.shard(16, 4)
    fleet(path, net, lambda r, s: (plain(r, s)[0] / (255 if r == 1 and s >= 100 else 1), plain(r, s)[1]), CE, adam, 300, 4)


@cause(r"(?i)(input.*channel|channel.*input)", 80)
def input_channel_dead(path, seed):
    data = digits(seed, True)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
    def colour(x, step):
        x = torch.cat([x, x.flip(2), 0.5 * x * x], 1)
        if step >= 80:
            x[:, 1] = 0
        return x
    plain = data.batch(32)
    fit(path, net, lambda s: (colour(plain(s)[0], s), plain(s)[1]), CE(), adam(net), 300)


@cause(r"(?i)evaluation.*(NaN|fed)|fed NaN.*(eval)", 149)
def nan_in_an_evaluation(path, seed):
    data, net = digits(seed), dense(64, 10)
    calls = [0]
    def held(k):
        x, y = data.held(100)(k)
        x, calls[0] = x.clone(), calls[0] + 1
        if calls[0] == 3:
            x[4, 7] = float("nan")
        return x, y
    fit(path, net, data.batch(32), CE(), adam(net), 300, held=held)


@cause(r"(?i)label.*(evaluation|shift|one (higher|lower|more|less))|(evaluation).*label", None)
def evaluation_labels_shifted(path, seed):
    data, net = digits(seed), dense(64, 10)
    held = data.held(100)
    fit(path, net, data.batch(32), CE(), adam(net), 300, held=lambda k: (held(k)[0], (held(k)[1] + 1) % 10))


@cause(r"(?i)same batch|batch.*(again|repeat)|input.*(again|repeat)", 90)
def same_batch_again(path, seed):
    data, net = digits(seed), dense(64, 10)
    plain = data.batch(32)
    fit(path, net, lambda s: plain(min(s, 90)), CE(), adam(net), 300, held=data.held(100))


@cause(r"(?i)worker.*same (data|samples|inputs|batch)", 0)
def same_data_in_another_order(path, seed):
    data, net = digits(seed), dense(64, 10)
    plain = data.shard(16, 4)
    def batch(rank, step):
        x, y = plain(1 if rank == 3 else rank, step)
        return (x.flip(0), y.flip(0)) if rank == 3 else (x, y)
    fleet(path, net, batch, CE, lambda n: sgd(n, 0.05), 200, 4)


@cause(r"(?i)worker.*same (data|samples|inputs|batch)", 0)
def same_data_a_step_apart(path, seed):
    data, net = digits(seed), dense(64, 10)
    plain = data.shard(16, 3)
    fleet(path, net, lambda r, s: plain(0, max(s - 1, 0)) if r == 2 else plain(r, s), CE, lambda n: sgd(n, 0.05), 200, 3)


@cause(r"(?i)(label|target).*(equal|same|copy).*input|input.*(equal|same|copy).*(label|target)", 0)
def target_is_input(path, seed):
    letters = Letters(seed)
    net = Chars(letters.count)
    batch = letters.batch(8, 24)
    fit(path, net, lambda s: (batch(s)[0], batch(s)[0].reshape(-1)), CE(), adam(net, 3e-3), 300)


@cause(r"(?i)evaluat.*(training|trained|also)", None)
def evaluated_on_training_rows(path, seed):
    data, net = digits(seed), dense(64, 10)
    each = len(data.x) // 32
    plain = data.batch(32)
    fit(path, net, plain, CE(), adam(net), 300, held=lambda k: plain(k), eval_batches=4)


@cause(r"(?i)label", 0)
def labels_mixed_up(path, seed):
    data, net = digits(seed), dense(64, 10)
    g = torch.Generator().manual_seed(seed)
    data.y = torch.randint(0, 10, data.y.shape, generator=g)
    batch = data.batch(64)
    def fresh(step):
        x, _ = batch(step)
        return x, torch.randint(0, 10, (len(x),), generator=torch.Generator().manual_seed(step))
    fit(path, net, fresh, CE(), sgd(net, 0.02), 300, held=data.held(100))


@cause(r"(?i)label.*(range|negative|beyond|class)", 70)
def label_minus_one(path, seed):
    data, net = digits(seed), dense(64, 10)
    def spoil(x, y):
        y[3] = -1
        return x, y
    fit(path, net, spoilt(data.batch(32), (70,), spoil), CE(ignore_index=-1), adam(net), 200)


@cause(r"(?i)input", 0)
def normalised_twice(path, seed):
    data, net = digits(seed, True), conv(norm=nn.GroupNorm and (lambda w: nn.GroupNorm(2, w)))
    plain = data.batch(32)
    fit(path, net, lambda s: ((plain(s)[0] - 0.13) / 0.08 - 1.6, plain(s)[1]), CE(), adam(net), 300,
        held=lambda k: data.held(100)(k))


@cause(r"(?i)worker_2.*(fed|input|NaN)|update made .*NaN between", 150)
def infinite_input_of_one_worker(path, seed):
    data, net = digits(seed), dense(64, 10)
    def spoil(x, y):
        x[2, 3] = float("inf")
        return x, y
    fleet(path, net, spoilt(data.shard(16, 4), (2, 150), spoil), CE, lambda n: sgd(n, 0.05), 250, 4)


# -- the loss and the network

@cause(r"(?i)loss.*(rose|rises|rising)|update made .*NaN between", 0)
def loss_with_the_wrong_sign(path, seed):
    data, net = digits(seed), dense(64, 10)
    class Wrong(nn.Module):
        def forward(self, s, y):
            return -nn.functional.cross_entropy(s, y)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.01), 200, scale=lambda s: -1.0)


@cause(r"(?i)loss.*(rose|rises|rising)", 0)
def rate_is_negative(path, seed):
    data, net = digits(seed), dense(64, 10)
    def after(step, net, rank):
        for p in net.parameters():
            p.grad.neg_()
    fit(path, net, data.batch(32), CE(), adam(net, 3e-4), 300, after=after)


@cause(r"(?i)(rate|update|diverg|weights? .*(jump|large)|rose)", (0, 10))
def rate_too_high(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), CE(), sgd(net, 8.0), 200, held=data.held(100))


@cause(r"(?i)(rate|update|diverg|weights? .*(jump|large)|rose)", 150)
def rate_jumps(path, seed):
    data, net = digits(seed), dense(64, 10)
    opt = sgd(net, 0.03)
    def change(step, net, rank):
        opt.param_groups[0]["lr"] = 0.03 if step < 150 else 10.0
    fit(path, net, data.batch(32), CE(), opt, 300, change=change)


@cause(r"(?i)(rate|update|diverg|sum|rose)", 0)
def gradients_summed(path, seed):
    data, net = digits(seed), dense(64, 10)
    def after(step, net, rank):
        for p in net.parameters():
            p.grad *= 8
    fleet(path, net, data.shard(8, 8), CE, lambda n: sgd(n, 0.25), 150, 8, after=after)


@cause(r"(?i)(decay|shrink|shrank|weights?.*(smaller|to zero|fell))", (0, 100))
def decay_too_large(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.1, momentum=0, weight_decay=0.5), 300, held=data.held(100))


@cause(r"(?i)(weight|rate|hardly|not (moved|move|learn)|loss.*(hardly|did not))", 0)
def never_trained(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), CE(), sgd(net, 1e-9), 300, held=data.held(100))


@cause(r"(?i)(softmax|probabilit)", 0)
def softmax_twice(path, seed):
    data = digits(seed)
    net = nn.Sequential(dense(64, 10), nn.Softmax(1))
    fit(path, net, data.batch(32), CE(), adam(net), 300, held=data.held(100))


@cause(r"(?i)evaluat.*(train|dropout|batch)", None)
def evaluated_in_train_mode(path, seed):
    data, net = digits(seed), dense(64, 10, dropout=0.5)
    fit(path, net, data.batch(32), CE(), adam(net), 300, held=data.held(100), evaluate=lambda n: n.train())


@cause(r"(?i)(ema|average|shadow|copy).*(never|not|unchanged|stood|moved|updated)|(never|no).*(ema|average)", None)
def average_never_updated(path, seed):
    data = digits(seed)
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = dense(64, 10)
            self.ema = copy.deepcopy(self.net)
            for p in self.ema.parameters():
                p.requires_grad_(False)
        def forward(self, x):
            return self.net(x) if self.training else self.ema(x)
    net = Both()
    fit(path, net, data.batch(32), CE(), adam(net.net), 300, held=data.held(100))


@cause(r"(?i)(input.*scale|saturat|tanh|sigmoid)", 100)
def tanh_saturated_by_samples(path, seed):
    data, net = digits(seed), dense(64, 10, activation=nn.Tanh)
    def spoil(x, y):
        x[::2] *= 300
        return x, y
    fit(path, net, from_step(data.batch(32), 100, spoil), CE(), adam(net), 300)


@cause(r"(?i)(dead|channel|relu|1.(weight|bias) changed)", 100)
def channels_dead(path, seed):
    data, net = digits(seed, True), conv()
    def spoil(n):
        n[1].bias[:6] = -60
        n[1].weight[:6] = 0.01
    fit(path, net, data.batch(32), CE(), adam(net), 300, change=at((100,), spoil))


@cause(r"(?i)(row|embedding)", 0)
def embedding_rows_frozen(path, seed):
    letters = Letters(seed)
    net = Chars(letters.count)
    def after(step, net, rank):
        net.embed.weight.grad[: letters.count // 2] = 0
    batch = letters.batch(8, 24)
    fit(path, net, batch, CE(), sgd(net, 0.5), 300, after=after)


@cause(r"(?i)(no weight|weights?).*(moved|moves|frozen|stopped|unchanged|stand)", 150)
def all_weights_frozen(path, seed):
    data, net = digits(seed), dense(64, 10)
    opt = adam(net)
    def change(step, net, rank):
        if step >= 150:
            opt.param_groups[0]["lr"] = 0.0
    fit(path, net, data.batch(32), CE(), opt, 300, change=change)


@cause(r"(?i)0\.weight|(layer|module) .*0|first layer", 0)
def first_layer_detached(path, seed):
    data = digits(seed)
    class Cut(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.act, self.second = nn.Linear(64, 40), nn.ReLU(), nn.Linear(40, 10)
        def forward(self, x):
            return self.second(self.act(self.first(x)).detach())
    net = Cut()
    fit(path, net, data.batch(32), CE(), adam(net), 300, held=data.held(100))


@cause(r"(?i)(2\.weight|layer|weight).*(jump|restored|changed|replaced|times|larger)", 140)
def layer_restored_wrongly(path, seed):
    data, net = digits(seed), dense(64, 10)
    def spoil(n):
        n[2].weight.copy_(torch.randn(40, 40, generator=torch.Generator().manual_seed(seed + 9)) * 0.16)
    fit(path, net, data.batch(16), CE(), adam(net), 300, change=at((140,), spoil), held=data.held(100))


@cause(r"(?i)gradient.*(zero|underflow|half|small)", (0, 300))
def loss_scale_too_low(path, seed):
    data, net = digits(seed), dense(64, 10)
    def after(step, net, rank):
        scale = 2.0 ** (-4 - step / 40)
        for p in net.parameters():
            p.grad = (p.grad * scale * 2.0 ** -9).half().float() / scale / 2.0 ** -9
    def plan(step, net, rank):
        after(step, net, rank)
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()
        @staticmethod
        def backward(ctx, g):
            scale = 2.0 ** (-9 - Half.step / 30)
            return (g * scale).half().float() / scale
    inner = dense(64, 10)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = inner
        def forward(self, x):
            return Half.apply(self.body(x))
    net = Net()
    def change(step, net, rank):
        Half.step = step
    Half.step = 0
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 300, change=change)


@cause(r"(?i)(loss|fc|2\.|4\.|log|overflow|inf).*", 130)
def exploding_regression(path, seed):
    data, net = Table("diabetes", seed, targets=torch.float32), dense(10, 1)
    def spoil(x, y):
        return x, y * 1e18
    fit(path, net, spoilt(data.batch(32), (130,), spoil), nn.MSELoss(), sgd(net, 1e-6), 200)


# -- workers

@cause(r"(?i)weight.*(jump|changed far more)", (106, 107))
def gradient_flipped_then_overflow(path, seed):
    """Behind the hook, so that no gradient shows it: the weights of all workers jump at the next step."""
    data, net = digits(seed), dense(64, 10)
    def after(step, net, rank):
        if step == 106 and rank == 2:
            net[2].weight.grad[3, 4] = 1e24
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.05), 250, 4, after=after)


@cause(r"(?i)(never|not).*(equal|exchanged|same)|gradients? (is|are|was|were) not", 0)
def never_equal(path, seed):
    data = digits(seed)
    nets = [dense(64, 10) for _ in range(4)]
    hooks = [hook_for(path, 1, r, 4) for r in range(4)]
    losses, opts = [CE() for _ in nets], [sgd(n, 0.05) for n in nets]
    own = data.shard(16, 4)
    for r, n in enumerate(nets):
        hooks[r].register_module(n)
        hooks[r].register_loss(losses[r])
    for step in range(200):
        for r, n in enumerate(nets):
            import assay_hook
            hooks[r].set_mode(assay_hook.modes.TRAIN)
            opts[r].zero_grad()
            x, y = own(r, step)
            losses[r](n(x), y).backward()
            opts[r].step()
    finish(*hooks)


@cause(r"(?i)worker_1.*(out|act|relu|layer|1_|differ)|.*worker_1", 120)
def one_layer_of_one_worker(path, seed):
    data = digits(seed)
    class Gain(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 1.0
        def forward(self, x):
            return x * self.k
    net = nn.Sequential(nn.Linear(64, 40), Gain(), nn.ReLU(), nn.Linear(40, 10))
    def change(step, n, rank):
        n[1].k = 4.0 if rank == 1 and step >= 120 else 1.0
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.05), 250, 4, change=change)


@cause(r"(?i)worker_1.*(stop|killed|closed|wrote|ended|last)", 120)
def worker_killed(path, seed):
    if os.fork() == 0:
        try:
            data, net = digits(seed), dense(64, 10)
            hooks = []
            import loop
            loop.finish, kept = lambda *h: hooks.extend(h), loop.finish
            fleet(path, net, data.shard(16, 3), CE, lambda n: sgd(n, 0.05), 160, 3, present=lambda s, r: r != 1 or s < 120)
            hooks[1].flush()
            kept(hooks[0], hooks[2])
        finally:
            os._exit(0)
    os.wait()


@cause(r"(?i)worker.*(differ|weights|2\.weight)", 80)
def replica_flipped(path, seed):
    data, net = digits(seed), dense(64, 10)
    def spoil(n):
        n[2].weight[1, 2] = -n[2].weight[1, 2] - 0.02
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.05), 200, 4, change=at((80, 2), spoil))


@cause(r"(?i)(not exchanged|synchron|differ|apart|not equal)", 90)
def exchange_ends(path, seed):
    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 4), CE, lambda n: sgd(n, 0.05), 200, 4, average=lambda s: s < 90)


@cause(r"(?i)(overfit|evaluation|validation|held)", None)
def overfits(path, seed):
    data, net = digits(seed), dense(64, 10, hidden=200)
    data.x, data.y = data.x[:60], data.y[:60]
    fit(path, net, data.batch(20), CE(), adam(net, 3e-3), 500, held=data.held(200), eval_every=25)


@cause(r"(?i)(dead|relu|2.bias changed)", 100)
def relu_killed(path, seed):
    data, net = digits(seed), dense(64, 10)
    def spoil(n):
        n[2].bias -= 50
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 250, change=at((100,), spoil))


@cause(r"(?i)(vanish|gradient)", 0)
def gradients_vanish(path, seed):
    data, net = digits(seed), Deep(64, 10, layers=10, spread=0.02)
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 250)


@cause(r"(?i)spike|jump", 180)
def one_bad_batch(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, spoilt(data.batch(32), (180,), lambda x, y: (x, (y + 5) % 10)), CE(), sgd(net, 0.05), 300)
