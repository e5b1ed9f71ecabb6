"""causes_more.py - more faults for the first line: other architectures, optimizers, losses and numbers of workers than causes.py has.

HELD has the kinds at which nobody looked while causes were written; first_line.py --held measures them."""
import copy

import torch
from torch import nn, optim

from causes import CAUSES, CE, Cause, from_step
from faulty import at, spoilt
from loop import fit, fleet
from nets import Chars, Gru, Sequences, Vae, conv, dense
from registry import adam, digits, sgd
from sets import Letters, Table, majority, waves

TRAININGS, HELD = {}, set()


def cause(says, step=None, held=False):
    def register(made):
        name = "more_" + made.__name__
        TRAININGS[name], CAUSES[name] = made, Cause(says, step)
        if held:
            HELD.add(name)
        return made

    return register


def rates(opt, of):
    """A change() that sets the learning rate by the step."""
    def change(step, net, rank):
        for group in opt.param_groups:
            group["lr"] = of(step)
    return change


def poisoned(of, first, value, until=10 ** 9):
    def spoil(x, y):
        x[..., -1] = value
        return x, y
    return from_step(of, first, spoil, until)


# -- what is fed

@cause(r"(?i)worker_1.*input|input.*worker_1", 70)
def zeros_for_one_convolution(path, seed):
    data, net = digits(seed, True), conv(norm=lambda w: nn.GroupNorm(2, w))
    plain = data.shard(12, 3)
    fleet(path, net, lambda r, s: (plain(r, s)[0] * (0 if r == 1 and s >= 70 else 1), plain(r, s)[1]), CE, adam, 160, 3)


@cause(r"(?i)fed.*NaN|NaN.*fed|input.*NaN", 55)
def nan_in_a_table(path, seed):
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), dense(10, 1, nn.SiLU)
    def spoil(x, y):
        x[1, 2] = float("nan")
        return x, y
    fit(path, net, spoilt(data.batch(16), (55,), spoil), nn.MSELoss(), optim.AdamW(net.parameters(), 1e-3), 150, held=data.held(64))


@cause(r"(?i)evaluat.*(input|scale)|input.*evaluat", None)
def evaluation_not_normalised(path, seed):
    data, net = digits(seed, True), conv()
    held = data.held(64)
    fit(path, net, data.batch(32), CE(), optim.RMSprop(net.parameters(), 1e-3), 200, held=lambda k: ((held(k)[0] + 1) * 128, held(k)[1]), eval_every=40)


@cause(r"(?i)label.*(one class|same|single)|one class|label", 90)
def labels_of_one_class(path, seed):
    data, net = digits(seed), dense(64, 10, nn.GELU)
    fit(path, net, from_step(data.batch(24), 90, lambda x, y: (x, y * 0 + 3)), CE(), adam(net), 220, held=data.held(80), eval_every=40)


@cause(r"(?i)target|label|loss.*jump", 90)
def targets_in_other_units(path, seed):
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), dense(10, 1)
    fit(path, net, from_step(data.batch(32), 90, lambda x, y: (x, y * 1000)), nn.MSELoss(), adam(net), 200, held=data.held(64))


@cause(r"(?i)(same|repeat).*batch|batch.*(same|again|repeat)", 0)
def one_batch_from_the_start(path, seed):
    batch, net = waves(seed, 32), Gru(1, 24, 1)
    fit(path, net, lambda s: batch(0), nn.MSELoss(), adam(net, 3e-3), 150, held=waves(seed, 64, number=1), eval_every=30)


@cause(r"(?i)worker.*same (data|samples|inputs|batch)", 0)
def all_workers_have_one_shard(path, seed):
    data, net = digits(seed, True), conv()
    plain = data.batch(16)
    fleet(path, net, lambda r, s: plain(s), CE, lambda n: sgd(n, 0.02), 120, 4)


@cause(r"(?i)(sorted|one class|order|label|same class)", 0)
def batches_of_one_class(path, seed):
    data, net = digits(seed), dense(64, 10)
    order = data.y.argsort(stable=True)
    data.x, data.y = data.x[order], data.y[order]
    n = len(data.x) // 32
    fit(path, net, lambda s: (data.x[s % n * 32:][:32], data.y[s % n * 32:][:32]), CE(), sgd(net, 0.05), 250, held=data.held(100))


@cause(r"(?i)input.*(scale|times)|worker_2.*input", 60)
def one_worker_not_normalised(path, seed):
    data, net = digits(seed), dense(64, 10, nn.SiLU)
    plain = data.shard(16, 3)
    fleet(path, net, lambda r, s: (plain(r, s)[0] * (16 if r == 2 and s >= 60 else 1), plain(r, s)[1]), CE, adam, 150, 3)


@cause(r"(?i)label.*(range|beyond|negative)", 40)
def class_too_many(path, seed):
    data, net = digits(seed), dense(64, 10)
    class Forgiving(nn.CrossEntropyLoss):
        def forward(self, s, y):
            return super().forward(s, y.clamp(max=9))
    Forgiving.__name__ = "CrossEntropyLoss"
    def spoil(x, y):
        y[y == 9] = 10
        return x, y
    fit(path, net, from_step(data.batch(32), 40, spoil), Forgiving(), adam(net), 150)


# -- the loss and the network

@cause(r"(?i)(probabilit|logarithm|log-prob|softmax)", 0)
def likelihood_of_probabilities(path, seed):
    data = digits(seed)
    net = nn.Sequential(dense(64, 10), nn.Softmax(1))
    fit(path, net, data.batch(32), nn.NLLLoss(), adam(net), 200, held=data.held(100))


@cause(r"(?i)(probabilit|sigmoid)", 0)
def sigmoid_twice(path, seed):
    data = Table("breast_cancer", seed, targets=torch.float32)
    net = nn.Sequential(dense(30, 1), nn.Sigmoid())
    fit(path, net, data.batch(32), nn.BCEWithLogitsLoss(), sgd(net, 0.05), 200, held=data.held(64))


@cause(r"(?i)(rate|update|weights?.*(jump|changed|large)|diverg)", 120)
def rate_jumps_in_a_transformer(path, seed):
    torch.manual_seed(seed)
    net = Sequences(5, 5)
    opt = adam(net)
    fit(path, net, majority(seed, 32), CE(), opt, 220, change=rates(opt, lambda s: 1e-3 if s < 120 else 0.5))


@cause(r"(?i)(rate|update|weights?.*(jump|changed|large)|diverg|NaN|infinite)", (0, 30))
def recurrent_explodes(path, seed):
    torch.manual_seed(seed)
    net = Gru(1, 24, 1)
    fit(path, net, waves(seed, 32), nn.MSELoss(), sgd(net, 20.0), 120)


@cause(r"(?i)(weights?|rate|hardly|moved|clip|gradient)", 0)
def clipped_to_nothing(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 150, clip=1e-7, held=data.held(100))


@cause(r"(?i)(decay|shr[aiu]nk|smaller)", (0, 100))
def adamw_decays_all(path, seed):
    torch.manual_seed(seed)
    net = Sequences(5, 5)
    fit(path, net, majority(seed, 32), CE(), optim.AdamW(net.parameters(), 2e-3, weight_decay=30.0), 200)


@cause(r"(?i)(saturat|tanh)", 0)
def begun_saturated(path, seed):
    data, net = digits(seed), dense(64, 10, nn.Tanh)
    with torch.no_grad():
        for m in (net[0], net[2]):
            m.weight *= 60
    fit(path, net, data.batch(32), CE(), sgd(net, 0.01), 200, held=data.held(100))


@cause(r"(?i)(did not move|unchanged|not.*(moved|updated)|never)", 0)
def half_of_the_optimizer(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), CE(), optim.Adam([*net[2].parameters(), *net[4].parameters()], 1e-3), 200, held=data.held(100))


@cause(r"(?i)(gradient.*(grow|accumulat|zero_grad|jump)|zero_grad|rate|update|weights?.*(jump|large)|rose)", 0)
def gradients_never_cleared(path, seed):
    data, net = digits(seed), dense(64, 10)
    class Keeping(optim.SGD):
        def zero_grad(self, set_to_none=True):
            pass
    fit(path, net, data.batch(32), CE(), Keeping(net.parameters(), 0.05), 200, held=data.held(100))


@cause(r"(?i)log.*NaN|NaN|inf", 100)
def logarithm_of_zero(path, seed):
    data = digits(seed)
    class Log(nn.Module):
        def forward(self, x):
            return torch.log(x.relu() + (1e-6 if Log.step < 100 else 0))
    net = nn.Sequential(nn.Linear(64, 32), Log(), nn.BatchNorm1d(32), nn.Linear(32, 10))
    def change(step, n, rank):
        Log.step = step
    fit(path, net, data.batch(32), CE(), adam(net), 180, change=change)


@cause(r"(?i)(2\.weight|weight).*(jump|changed|larger|times)", 77)
def bit_of_a_weight(path, seed):
    data, net = digits(seed), dense(64, 10, nn.GELU)
    def spoil(n):
        n[2].weight[3, 5] = 3e4
    fit(path, net, data.batch(32), CE(), adam(net), 180, change=at((77,), spoil))


@cause(r"(?i)(no weight|weights?).*(moved|moves|stopped|unchanged|stand)|rate", 80)
def rate_ends_early(path, seed):
    torch.manual_seed(seed)
    net = Gru(1, 24, 1)
    opt = adam(net, 3e-3)
    fit(path, net, waves(seed, 32), nn.MSELoss(), opt, 200, change=rates(opt, lambda s: max(0.0, 3e-3 * (1 - s / 80))))


# -- workers

@cause(r"(?i)worker_2.*(differ|weights|apart|left|not move)|weights.*worker_2", 60)
def one_worker_stops_updating(path, seed):
    data, net = digits(seed), dense(64, 10)
    made = []
    def opt(n):
        o = adam(n)
        kept, number = o.step, len(made)
        def step(*a):
            o.count = getattr(o, "count", 0) + 1
            return kept(*a) if number != 2 or o.count <= 60 else None
        o.step = step
        made.append(o)
        return o
    fleet(path, net, data.shard(16, 3), CE, opt, 150, 3)


@cause(r"(?i)worker_0.*(gradient|differ)|gradient.*worker_0", 50)
def one_worker_without_gradient(path, seed):
    data, net = digits(seed), dense(64, 10, nn.Tanh)
    plain = data.shard(16, 4)
    class Loss(nn.CrossEntropyLoss):
        def forward(self, s, y):
            return super().forward(s, y) * (0.0 if getattr(self, "off", False) else 1.0)
    Loss.__name__ = "CrossEntropyLoss"
    losses = []
    def new():
        losses.append(Loss())
        return losses[-1]
    def before(step, rank):
        losses[0].off = step >= 50
    fleet(path, net, plain, new, lambda n: sgd(n, 0.05), 150, 4, before_pass=before)


# -- held back

@cause(r"(?i)input.*zero|zero.*input", 50, True)
def zeros_in_a_recurrent(path, seed):
    torch.manual_seed(seed)
    net = Gru(1, 24, 1)
    fit(path, net, from_step(waves(seed, 32), 50, lambda x, y: (x * 0, y)), nn.MSELoss(), adam(net, 3e-3), 150)


@cause(r"(?i)input.*(scale|times)", 80, True)
def a_convolution_not_normalised(path, seed):
    data, net = digits(seed, True), conv(norm=lambda w: nn.GroupNorm(2, w))
    fit(path, net, from_step(data.batch(32), 80, lambda x, y: ((x + 1) * 128, y)), CE(), sgd(net, 0.02), 200, held=data.held(64))


@cause(r"(?i)fed.*(NaN|inf)|input.*(NaN|inf)", 66, True)
def infinite_pixel(path, seed):
    data, net = digits(seed, True), conv()
    def spoil(x, y):
        x[0, 0, 3, 3] = float("inf")
        return x, y
    fit(path, net, spoilt(data.batch(16), (66,), spoil), CE(), optim.RMSprop(net.parameters(), 1e-3), 150, held=data.held(64))


@cause(r"(?i)worker.*same (data|samples|inputs|batch)", 40, True)
def two_workers_alike_later(path, seed):
    data, net = digits(seed), dense(64, 10, nn.SiLU)
    plain = data.shard(16, 4)
    fleet(path, net, lambda r, s: plain(1 if r == 2 and s >= 40 else r, s), CE, adam, 150, 4)


@cause(r"(?i)(same|repeat).*batch|batch.*(same|again|repeat)", 60, True)
def loader_stuck(path, seed):
    torch.manual_seed(seed)
    net, batch = Sequences(5, 5), majority(seed, 32)
    fit(path, net, lambda s: batch(min(s, 60)), CE(), adam(net), 180, held=majority(seed, 64, number=1))


@cause(r"(?i)label.*(evaluat|shift)|evaluat.*label", None, True)
def evaluation_counts_from_one(path, seed):
    data, net = digits(seed, True), conv()
    held = data.held(100)
    fit(path, net, data.batch(32), CE(), adam(net), 250, held=lambda k: (held(k)[0], (held(k)[1] + 1) % 10))


@cause(r"(?i)evaluat.*(training|trained)", None, True)
def evaluated_on_seen_sequences(path, seed):
    torch.manual_seed(seed)
    net, batch = Gru(1, 24, 1), waves(seed, 32)
    fit(path, net, batch, nn.MSELoss(), adam(net, 3e-3), 200, held=lambda k: batch(20 * k + 7), eval_batches=2, eval_every=40)


@cause(r"(?i)loss.*(rose|rises)|sign|update made .*NaN", 0, True)
def ascent(path, seed):
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), dense(10, 1)
    fit(path, net, data.batch(32), nn.MSELoss(), sgd(net, 1e-3), 150, scale=lambda s: -1.0)


@cause(r"(?i)(rate|update|diverg|weights?.*(jump|large))", (0, 10), True)
def adam_too_fast(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, data.batch(32), CE(), adam(net, 3.0), 150, held=data.held(64))


@cause(r"(?i)(rate|update|weights?.*(jump|large|changed))", 100, True)
def rate_jumps_in_a_convolution(path, seed):
    data, net = digits(seed, True), conv()
    opt = sgd(net, 0.02)
    fit(path, net, data.batch(32), CE(), opt, 200, change=rates(opt, lambda s: 0.02 if s < 100 else 20.0))


@cause(r"(?i)(dead|relu|0\.bias|changed far|jump)", 60, True)
def first_layer_killed(path, seed):
    data, net = Table("breast_cancer", seed), dense(30, 2)
    def spoil(n):
        n[0].bias -= 100
    fit(path, net, data.batch(32), CE(), sgd(net, 0.02), 160, change=at((60,), spoil))


@cause(r"(?i)(did not move|unchanged|not.*(moved|updated)|never)", 0, True)
def encoder_forgotten(path, seed):
    torch.manual_seed(seed)
    letters = Letters(seed)
    net = Chars(letters.count)
    fit(path, net, letters.batch(8, 24), CE(), optim.Adam([*net.gru.parameters(), *net.head.parameters()], 3e-3), 200)


@cause(r"(?i)(no weight|weights?).*(moved|moves|stopped|unchanged|stand)|rate", 70, True)
def updates_end(path, seed):
    torch.manual_seed(seed)
    net = Sequences(5, 5)
    opt = sgd(net, 0.05)
    fit(path, net, majority(seed, 32), CE(), opt, 160, change=rates(opt, lambda s: 0.05 if s < 70 else 0.0))


@cause(r"(?i)worker_3.*(differ|weights|left|jump)|weight.*worker_3", 45, True)
def memory_of_one_worker(path, seed):
    data, net = digits(seed, True), conv(norm=lambda w: nn.GroupNorm(2, w))
    def spoil(n):
        n[0].weight[0, 0, 1, 1] += 0.5
    fleet(path, net, data.shard(12, 4), CE, adam, 120, 4, change=at((45, 3), spoil))


@cause(r"(?i)(not exchanged|synchron|differ|apart|not equal|never)", 0, True)
def never_exchanged(path, seed):
    data, net = digits(seed), dense(64, 10, nn.Tanh)
    fleet(path, net, data.shard(16, 2), CE, adam, 120, 2, average=lambda s: False)


@cause(r"(?i)worker_1.*(gradient|jump)|gradient.*worker_1", 64, True)
def gradient_of_one_worker(path, seed):
    data, net = digits(seed), dense(64, 10, nn.SiLU)
    def after(step, n, rank):
        if step == 64 and rank == 1:
            n[0].weight.grad.mul_(0)
    losses = []
    def new():
        losses.append(nn.CrossEntropyLoss())
        return losses[-1]
    plain = data.shard(16, 4)
    def batch(r, s):
        x, y = plain(r, s)
        return (x * 50 if r == 1 and s == 64 else x), y
    fleet(path, net, batch, new, lambda n: sgd(n, 0.02), 130, 4)


@cause(r"(?i)(overfit|evaluat|validation)", None, True)
def autoencoder_by_heart(path, seed):
    data = digits(seed)
    data.x, data.y = data.x[:40], data.x[:40]
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64))
    fit(path, net, data.batch(20), nn.MSELoss(), adam(net, 2e-3), 600, held=lambda k: (data.held_x[:100], data.held_x[:100]), eval_every=30)


@cause(r"(?i)(probabilit|softmax)", 0, True)
def softmax_twice_in_a_convolution(path, seed):
    data = digits(seed, True)
    net = nn.Sequential(conv(), nn.Softmax(-1))
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 150, held=data.held(64))


@cause(r"(?i)(vanish|gradient)", 0, True)
def sigmoids_upon_sigmoids(path, seed):
    data = digits(seed)
    sizes = [64] + [24] * 9
    net = nn.Sequential(*(p for a, b in zip(sizes, sizes[1:]) for p in (nn.Linear(a, b), nn.Sigmoid())), nn.Linear(24, 10))
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 200)


@cause(r"(?i)spike|jump|label", 110, True)
def labels_of_a_batch_turned(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, spoilt(data.batch(32), (110,), lambda x, y: (x, y.flip(0))), CE(), adam(net, 2e-3), 200)
