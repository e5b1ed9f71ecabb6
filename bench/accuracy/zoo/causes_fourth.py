"""causes_fourth.py - faults at which nobody looked while causes were written: first_line.py --held measures them. Written in one go with those
of causes_third.py, before anything was changed for those."""
import copy

import torch
from torch import nn, optim

from causes import CAUSES, CE, Cause, from_step
from causes_more import HELD, rates
from causes_third import Encoder, Mixer
from faulty import at, spoilt
from loop import finish, fit, fleet, hook_for, modes
from nets import Gru, Sequences, SmallUnet, Vae, conv, dense
from registry import adam, digits, sgd
from sets import Letters, Table, majority, waves

TRAININGS = {}


def cause(says, step=None):
    def register(made):
        name = "fourth_" + made.__name__
        TRAININGS[name], CAUSES[name] = made, Cause(says, step)
        HELD.add(name)
        return made

    return register


class Residual(nn.Module):
    """Blocks with a way around them; one may be cut from the graph."""

    def __init__(self, width=32, classes=10, cut=None):
        super().__init__()
        self.stem, self.head, self.cut = nn.Linear(64, width), nn.Linear(width, classes), cut
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU()) for _ in range(3))

    def forward(self, x):
        x = self.stem(x.flatten(1))
        for k, block in enumerate(self.blocks):
            x = x + (block(x).detach() if k == self.cut else block(x))
        return self.head(x)


@cause(r"(?i)(weight|layer).*(zero|jump|changed)", 90)
def convolution_zeroed(path, seed):
    data, net = digits(seed, True), conv(norm=lambda w: nn.GroupNorm(2, w))
    fit(path, net, data.batch(32), CE(), optim.AdamW(net.parameters(), 2e-3), 200, held=data.held(90),
        change=at((90,), lambda n: n[4].weight.zero_()))


@cause(r"(?i)(fed|label|target).*NaN|NaN.*(fed|label|target)", 66)
def target_missing(path, seed):
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), Residual()
    net.stem, net.head = nn.Linear(10, 32), nn.Linear(32, 1)

    def spoil(x, y):
        y = y.clone()
        y[5] = float("nan")
        return x, y
    fit(path, net, spoilt(data.batch(16), (66,), spoil), nn.MSELoss(), adam(net), 140)


@cause(r"(?i)worker_2", None)
def labels_of_one_worker_shuffled(path, seed):
    data, net = digits(seed), Residual()
    plain = data.shard(24, 4)
    fleet(path, net, lambda r, s: (plain(r, s)[0], plain(r, s)[1].roll(1) if r == 2 else plain(r, s)[1]), CE, adam, 220, 4)


@cause(r"(?i)(rate|weights?|update).*(jump|large|changed|high)|came back", 120)
def rate_restarts_too_high(path, seed):
    data, net = digits(seed), Residual()
    opt = sgd(net, 0.01)
    fit(path, net, data.batch(32), CE(), opt, 240, held=data.held(90), change=rates(opt, lambda s: 0.01 if s < 120 else 3.0))


@cause(r"(?i)(explod|initial|large|gradient|rate|update|loss.*(rose|large))", (0, 5))
def recurrence_begun_too_wide(path, seed):
    net = Gru(1, 32, 1)
    rnn = nn.RNN(1, 32, batch_first=True, nonlinearity="relu")
    nn.init.orthogonal_(rnn.weight_hh_l0, 2.0)
    net.gru = rnn
    fit(path, net, waves(seed, 24), nn.MSELoss(), sgd(net, 1e-3, 0.0), 150, held=waves(seed, 60, number=1))


@cause(r"(?i)(gradient.*(clear|grow|accumul|jump)|zero_grad|rate|updates?|weights?.*(jump|large|changed)|rose|came back)", 60)
def cleared_no_more(path, seed):
    """zero_grad() is left out from a step on."""
    data, net = digits(seed), Mixer()
    hook, plain, loss, opt = hook_for(path, 1), data.batch(32), CE(), adam(net, 2e-3)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(200):
        hook.set_mode(modes.TRAIN)
        x, y = plain(step)
        if step < 60:
            opt.zero_grad()
        loss(net(x), y).backward()
        opt.step()
    finish(hook)


@cause(r"(?i)evaluat", None)
def evaluated_with_dropout(path, seed):
    data, net = digits(seed), dense(64, 10, dropout=0.8)
    fit(path, net, data.batch(32), CE(), adam(net), 300, held=data.held(100), eval_every=20, evaluate=lambda n: None)


@cause(r"(?i)(rate|update|sum|rose|jump|large|diverg|accumul)", (0, 20))
def gradients_of_workers_summed(path, seed):
    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 8), CE, lambda n: sgd(n, 0.06 * 8), 120, 8)


@cause(r"(?i)blocks\.1", 0)
def block_detached(path, seed):
    data, net = digits(seed), Residual(cut=1)
    fit(path, net, data.batch(32), CE(), adam(net, 2e-3), 220, held=data.held(90))


@cause(r"(?i)(row|embed)", 0)
def rows_without_gradient(path, seed):
    """A mask meant for padding takes the gradient from half of the codes."""
    net = Sequences(8, 8)

    def mask(step, net, rank):
        net.embed.weight.grad[:4] = 0
    fit(path, net, majority(seed, 32, kinds=8), CE(), adam(net, 2e-3), 250, held=majority(seed, 90, kinds=8, number=1), after=mask)


@cause(r"(?i)input", 0)
def column_divided_by_nothing(path, seed):
    """A column without spread was divided by its deviation."""
    data, net = Table("breast_cancer", seed), dense(30, 2)
    data.x[:, 7] = (data.x[:, 7] - 0.3) * 1e7
    data.held_x[:, 7] = (data.held_x[:, 7] - 0.3) * 1e7
    fit(path, net, data.batch(32), CE(), adam(net), 200, held=data.held(80))


@cause(r"(?i)(target|label).*input|input.*(target|label)", 0)
def last_value_as_target(path, seed):
    """The target is the last value that is fed."""
    net, plain = Gru(1, 24, 1), waves(seed, 24)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[0][:, -1]), nn.MSELoss(), adam(net, 3e-3), 200)


@cause(r"(?i)worker_0", 70)
def first_worker_stops(path, seed):
    data, net = digits(seed), Mixer()
    fleet(path, net, data.shard(16, 3), CE, lambda n: adam(n, 2e-3), 140, 3, present=lambda s, r: r != 0 or s < 70)


@cause(r"(?i)(decay|shr[aiu]nk|smaller)", (0, 100))
def transformer_decayed(path, seed):
    net = Sequences(5, 5)
    fit(path, net, majority(seed, 32), CE(), sgd(net, 0.05, weight_decay=0.6), 250, held=majority(seed, 90, number=1))


@cause(r"(?i)worker_1.*(weight|NaN)|weight.*NaN.*worker_1|NaN.*worker_1", 50)
def scale_of_one_worker_not_finite(path, seed):
    data, net = digits(seed), Residual()

    def spoil(n):
        n.blocks[1][0].weight[3] = float("nan")
    fleet(path, net, data.shard(16, 3), CE, adam, 120, 3, change=at((50, 1), spoil), average=lambda s: s < 50)


@cause(r"(?i)label|loss.*jump", 80)
def labels_of_training_shifted(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, from_step(data.batch(32), 80, lambda x, y: (x, (y + 1) % 10)), CE(), adam(net, 2e-3), 200, held=data.held(90),
        eval_every=25)


@cause(r"(?i)(initial|input|loss.*(begin|start|large)|large)", 0)
def picture_in_bytes(path, seed):
    """Pixels of 0 to 255 where 0 to 1 is meant, with a network begun for those."""
    data, net = digits(seed, True), SmallUnet(1)
    plain = data.batch(24)
    pixels = lambda s: ((plain(s)[0] + 1) * 127.5, (plain(s)[0] + 1) * 127.5)  # noqa: E731
    fit(path, net, lambda s: (pixels(s)[0], pixels(s)[0] * 0.5 + 3), nn.MSELoss(), sgd(net, 1e-3), 120)


@cause(r"(?i)gradient.*(zero|small|underflow|vanish)", 0)
def scaled_down_in_half(path, seed):
    """Gradients pass through half precision at a scale of 1e-6."""
    data, net = digits(seed), dense(64, 10)

    def through(step, net, rank):
        for p in net.parameters():
            p.grad = p.grad.half().float() / 1e-6
    fit(path, net, data.batch(32), CE(), adam(net), 240, held=data.held(90), scale=lambda s: 1e-6, after=through)


@cause(r"(?i)worker.*same (data|samples|inputs|batch)", 50)
def sampler_forgets_its_rank(path, seed):
    data, net = digits(seed), Mixer()
    plain = data.shard(16, 4)
    fleet(path, net, lambda r, s: plain(0 if s >= 50 else r, s), CE, adam, 130, 4)


@cause(r"(?i)(one class|class|bias|predict)", 0)
def bias_drowns_the_scores(path, seed):
    """The last bias is begun at 40 for a class, and has no gradient."""
    data, net = digits(seed), Encoder(64, 10)
    net.decoder.bias.data[3] = 40.0
    net.decoder.bias.requires_grad_(False)
    fit(path, net, data.batch(32), CE(), sgd(net, 1e-3), 200, held=data.held(90))


@cause(r"(?i)(label|class|evaluat)", None)
def class_missing_in_training(path, seed):
    data, net = Table("wine", seed), Residual()
    net.stem, net.head = nn.Linear(13, 32), nn.Linear(32, 3)
    data.keep(data.y < 2)
    fit(path, net, data.batch(16), CE(), adam(net), 200, held=data.held(30), eval_every=25)


@cause(r"(?i)(shape|broadcast|target|label)", 0)
def prediction_of_another_shape(path, seed):
    net, plain = Gru(1, 24, 1), waves(seed, 24)
    fit(path, net, lambda s: (plain(s)[0], plain(s)[1][:, 0]), nn.L1Loss(), adam(net, 3e-3), 200)
