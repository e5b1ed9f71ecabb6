"""faulty.py - faults planted in trainings of the zoo: late ones, weak ones, and in other networks than those of the first set.

EXPECTED as in ../faulty.py; where several rules are right, they stand with a | between them."""
import time
from collections import namedtuple

import torch
from torch import nn, optim

from loop import fit, fleet
from nets import Chars, Deep, Gru, Sequences, conv, dense
from registry import adam, digits, sgd
from sets import Letters, Table, majority, waves

Expected = namedtuple("Expected", "rule step worker tensor")
TRAININGS, EXPECTED = {}, {}


def fault(rule, step=None, worker="worker_0", tensor=None):
    def register(made):
        TRAININGS["bad_" + made.__name__] = made
        EXPECTED["bad_" + made.__name__] = Expected(rule, step, worker, tensor)
        return made

    return register


def at(when, spoil):
    """A function of (step, net, rank) that spoils once, or from a step on; `when`: a step and perhaps a rank."""
    def change(step, net, rank):
        if step == when[0] and rank == (when[1] if len(when) > 1 else rank):
            with torch.no_grad():
                spoil(net)

    return change


def spoilt(of, when, spoil):
    """Batches of which one is spoilt."""
    def make(*place):
        x, y = of(*place)
        return spoil(x.clone(), y.clone()) if place == when else (x, y)

    return make


# -- numbers that are not finite

@fault("ExplodingTensor", 77, "worker_0", r"_input_0$")
def nan_in_a_batch(path, seed):
    def spoil(x, y):
        x[1, 5] = float("nan")
        return x, y

    data, net = digits(seed), dense(64, 10)
    fit(path, net, spoilt(data.batch(32), (77,), spoil), nn.CrossEntropyLoss(), sgd(net, 0.02), 120)


@fault("ExplodingTensor", 251, "worker_0", r"4.weight$")
def infinite_weight_late(path, seed):
    def spoil(net):
        net[4].weight[3, 0, 1, 1] = float("inf")

    data, net = digits(seed, True), conv()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.02), 270, change=at((251,), spoil))


@fault("ExplodingTensor", 40, None, None)
def nan_gradient_every_10(path, seed):
    """At step 33 in a gradient of one worker, and all have it; the next saved step is 40."""
    def after(step, net, rank):
        if step == 33 and rank == 2:
            net[2].weight.grad[0, 0] = float("nan")

    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 4), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 80, 4, every=10, after=after)


@fault("ExplodingTensor", (1, 200), "worker_0", None)
def diverges(path, seed):
    torch.manual_seed(seed)
    data, net = Table("diabetes", seed, targets=torch.float32), dense(10, 1)
    fit(path, net, data.batch(32), nn.MSELoss(), sgd(net, 0.5), 100)


@fault("ExplodingTensor", 60, "worker_0", r"_output_0$")
def logarithm_of_zero(path, seed):
    """The loss alone is infinite."""
    class LogLoss(nn.Module):
        def forward(self, scores, y):
            share = scores.softmax(1)[torch.arange(len(y)), y]
            return -(share * (0.0 if self.now == 60 else 1.0)).log().mean()

    loss = LogLoss()

    def change(step, net, rank):
        loss.now = step

    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), loss, adam(net), 90, change=change)


# -- one worker of several

@fault("ReplicaDivergence", 61, None, r"2.weight$")
def small_flip_of_2(path, seed):
    def spoil(net):
        net[2].weight[1, 1] += 1e-3

    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 2), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 90, 2, change=at((61, 1), spoil))


@fault("ReplicaDivergence", 60, "worker_5", r"0.weight$")
def small_flip_of_8(path, seed):
    def spoil(net):
        net[0].weight[0, 3] += 1e-4

    data, net = digits(seed), dense(64, 10, hidden=24)
    fleet(path, net, data.shard(8, 8), nn.CrossEntropyLoss, lambda n: adam(n, 2e-3), 120, 8, every=10,
          change=at((53, 5), spoil))


@fault("ReplicaDivergence", 61, None, None)
def gradients_not_exchanged_from_60(path, seed):
    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 2), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 100, 2, average=lambda s: s < 60)


@fault("ReplicaDivergence|GradientNotSynchronized", (1, 2), None, None)
def never_exchanged(path, seed):
    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 4), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 60, 4, average=lambda s: False)


@fault("NormSpike", 88, "worker_6", r"^gradient")
def gradient_flip_late(path, seed):
    """The inputs of one of eight are wrong by a power of two, once: its gradients are. Clipping keeps the training alive."""
    def spoil(x, y):
        return -x * 2.0 ** 12, y

    data, net = digits(seed), dense(64, 10, hidden=24)
    fleet(path, net, spoilt(data.shard(8, 8), (6, 88), spoil), nn.CrossEntropyLoss, lambda n: adam(n, 2e-3), 120, 8,
          after=lambda step, net, rank: nn.utils.clip_grad_norm_(net.parameters(), 1.0) if step == 88 else None)


@fault("DuplicateShard", (0, 3), None, None)
def same_shard_of_8(path, seed):
    data, net = digits(seed), dense(64, 10, hidden=24)
    own = data.shard(8, 8)
    fleet(path, net, lambda rank, step: own(3 if rank == 6 else rank, step), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 60, 8)


@fault("DuplicateShard", (50, 53), None, None)
def same_shard_from_50(path, seed):
    data, net = digits(seed), dense(64, 10)
    own = data.shard(16, 3)
    fleet(path, net, lambda rank, step: own(1 if rank == 2 and step >= 50 else rank, step), nn.CrossEntropyLoss,
          lambda n: sgd(n, 0.03), 100, 3)


@fault("MissingWorker", 90, "worker_2", None)
def gone_from_90(path, seed):
    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 3), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 120, 3, present=lambda s, r: s < 90 or r != 2)


@fault("StragglerWorker", (10, 60), "worker_1", None)
def late_every_10(path, seed):
    data, net = digits(seed), dense(64, 10)
    own = data.shard(8, 3)
    order = {1: 2, 2: 1, 0: 0}
    fleet(path, net, lambda r, s: own(order[r], s), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 60, 3, every=10,
          before_pass=lambda step, rank: time.sleep(0.06 if rank == 2 else 0))


EXPECTED["bad_late_every_10"] = Expected("StragglerWorker", (10, 60), "worker_2", None)


# -- weights and gradients

@fault("WeightFrozenDespiteGradient", (1, 12), "worker_0", r"linear1.weight$")
def layer_left_out_of_adamw(path, seed):
    torch.manual_seed(seed)
    net = Sequences(5, 5)
    held = [p for n, p in net.named_parameters() if n != "encoder.layers.1.linear1.weight"]
    fit(path, net, majority(seed, 32), nn.CrossEntropyLoss(), optim.AdamW(held, lr=2e-3), 120)


@fault("WeightFrozenDespiteGradient|UnchangedTensor", (1, 8), "worker_0", None)
def optimizer_of_another_network(path, seed):
    data, net, other = digits(seed), dense(64, 10), dense(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(other, 0.05), 100)


@fault("WeightFrozenDespiteGradient", (300, 310), "worker_0", None)
def learning_rate_becomes_zero(path, seed):
    data, net = digits(seed), dense(64, 10)
    opt = sgd(net, 0.02, 0)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 400, every=2,
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: float(s < 300)))


@fault("VanishingGradient", (0, 3), "worker_0", r"^gradient/Deep_body.[0-9]\.")
def deep_tanh(path, seed):
    data, net = digits(seed), Deep(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.05), 60)


@fault("AllZero", (0, 3), "worker_0", r"weight$")
def zeros(path, seed):
    data, net = digits(seed), dense(64, 10)
    for p in net.parameters():
        nn.init.zeros_(p)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.05), 60)


@fault("TensorVariance", (0, 3), "worker_0", r"0.weight$")
def constant_convolution(path, seed):
    data, net = digits(seed, True), conv()
    nn.init.constant_(net[0].weight, 0.1)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.02), 60)


@fault("DeadRelu", (120, 122), "*", r"^6_output_0$|relu")
def dead_channels(path, seed):
    """Of a ReLU that is called by its name."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.relu1 = nn.Conv2d(1, 8, 3, padding=1), nn.ReLU()
            self.conv2, self.relu2 = nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()
            self.head = nn.Linear(1024, 10)

        def forward(self, x):
            return self.head(self.relu2(self.conv2(self.relu1(self.conv1(x)))).flatten(1))

    torch.manual_seed(seed)
    data, net = digits(seed, True), Net()

    def spoil(net):
        net.conv2.bias[:14] -= 30

    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.02), 150, change=at((120,), spoil))


@fault("SaturatedActivation", (0, 15), "*", r"tanh")
def unscaled_inputs(path, seed):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.tanh1, self.head = nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10)

        def forward(self, x):
            return self.head(self.tanh1(self.fc1(300 * x)))

    data, net = digits(seed), Net()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.02), 60)


@fault("HalfPrecisionRisk", (0, 3), "worker_0", r"^gradient")
def loss_divided(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3, eps=1e-20), 150, scale=lambda step: 1e-8)


@fault("HalfPrecisionRisk", (100, 104), "worker_0", r"^gradient")
def loss_divided_late(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 1e-4, eps=1e-20), 150,
        scale=lambda step: 1e-9 if step >= 100 else 1.0)


@fault("HalfPrecisionRisk", 70, "worker_0", r"^gradient")
def gradients_overflow(path, seed):
    """A loss scale that has been doubled once too often."""
    def unscale(step, net, rank):
        for p in net.parameters():
            p.grad /= 2.0 ** 28 if step == 70 else 1024

    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3), 90, after=unscale,
        scale=lambda step: 2.0 ** 28 if step == 70 else 1024)


@fault("PoorWeightInitialization|NormSpike|LossSpike|LossNotDecreasing|ExplodingTensor", (0, 60), None, None)
def weights_too_large(path, seed):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.relu1, self.fc2, self.relu2 = nn.Linear(64, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU()
            self.fc3, self.relu3, self.head = nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 10)

        def forward(self, x):
            return self.head(self.relu3(self.fc3(self.relu2(self.fc2(self.relu1(self.fc1(x)))))))

    data, net = digits(seed), Net()
    for p in net.parameters():
        p.data *= 60
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.01), 60)


# -- losses

@fault("LossSpike", 333, "worker_0", r"Loss_output_0$")
def inputs_times_10(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, spoilt(data.batch(32), (333,), lambda x, y: (-10 * x, y)), nn.CrossEntropyLoss(), sgd(net, 0.02), 400)


@fault("LossSpike", 500, "worker_0", r"Loss_output_0$")
def shifted_labels_once(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, spoilt(data.batch(32), (500,), lambda x, y: (x, (y + 1) % 10)), nn.CrossEntropyLoss(), adam(net), 600, every=2)


@fault("LossSpike", 150, "worker_0", r"Loss_output_0$")
def mixed_up_text(path, seed):
    """A batch of letters with the labels of another."""
    torch.manual_seed(seed)
    data = Letters(seed)
    net = Chars(data.count)
    flip = lambda x, y: (x, y.flip(0))  # noqa: E731
    fit(path, net, spoilt(data.batch(16, 24), (150,), flip), nn.CrossEntropyLoss(), adam(net, 1e-2), 220)


@fault("LossSpike", 120, "worker_0", r"Loss_output_0$")
def regression_with_an_outlier(path, seed):
    torch.manual_seed(seed)
    net = Gru(1, 24, 1)
    fit(path, net, spoilt(waves(seed, 32), (120,), lambda x, y: (x, y + 4)), nn.MSELoss(), adam(net, 5e-3), 200, clip=1.0)


@fault("LossNotDecreasing", None, "worker_0", r"Loss_output_0$")
def labels_of_nothing(path, seed):
    data, net = digits(seed), dense(64, 10)

    def batch(step):
        x, y = data.batch(32)(step)
        return x, torch.randint(0, 10, y.shape, generator=torch.Generator().manual_seed(seed * 43 + step))

    fit(path, net, batch, nn.CrossEntropyLoss(), adam(net), 200)


@fault("LossNotDecreasing", None, "worker_0", r"Loss_output_0$")
def transformer_without_rate(path, seed):
    torch.manual_seed(seed)
    net = Sequences(5, 5)
    fit(path, net, majority(seed, 32), nn.CrossEntropyLoss(), adam(net, 1e-7), 150)


@fault("LossNotDecreasing", None, "worker_0", r"Loss_output_0$")
def regression_of_noise(path, seed):
    torch.manual_seed(seed)
    net = dense(6, 1)

    def batch(step):
        g = torch.Generator().manual_seed(seed * 47 + step)
        return torch.randn(64, 6, generator=g), torch.randn(64, 1, generator=g)

    fit(path, net, batch, nn.MSELoss(), sgd(net, 0.01, 0), 300)


@fault("LossNotDecreasing|LossSpike|NormSpike", (300, 420), "worker_0", None)
def rate_times_100(path, seed):
    data, net = digits(seed), dense(64, 10)
    opt = sgd(net, 0.02)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 450, every=3,
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: 1.0 if s < 300 else 100.0))


@fault("Overfit", None, "*", None)
def hundred_samples(path, seed):
    data, net = digits(seed), dense(64, 10, hidden=128)
    g = torch.Generator().manual_seed(seed)
    data.x, data.y = data.x[:100], data.y[:100].clone()
    wrong = torch.rand(100, generator=g) < 0.3
    data.y[wrong] = torch.randint(0, 10, (int(wrong.sum()),), generator=g)
    fit(path, net, data.batch(25), nn.CrossEntropyLoss(), adam(net, 3e-3), 600, every=5, held=data.held(300), eval_every=20)


@fault("Overfit", None, "*", None)
def regression_by_heart(path, seed):
    torch.manual_seed(seed)
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), dense(10, 1, hidden=128)
    data.x, data.y = data.x[:60], data.y[:60]
    fit(path, net, data.batch(20), nn.MSELoss(), adam(net, 5e-3), 800, every=10, held=data.held(80), eval_every=40)


# -- classes

@fault("ClassImbalance|Confusion", None, "*", r"Loss_input_1$")
def rare_class_lost(path, seed):
    """One digit in seventy, and it looks like another."""
    data, net = digits(seed), dense(64, 10)
    g = torch.Generator().manual_seed(seed)
    data.keep((data.y != 8) | (torch.rand(len(data.y), generator=g) < 0.13))
    ones = data.x[data.y == 1]
    data.x[data.y == 8] = ones[torch.randint(0, len(ones), (int((data.y == 8).sum()),), generator=g)]
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net), 500, every=2)


@fault("Confusion", None, "*", r"Loss_input_1$")
def two_digits_swapped(path, seed):
    """The held-out labels of 3 and 5 are swapped."""
    data, net = digits(seed), dense(64, 10)
    swap = torch.arange(10)
    swap[3], swap[5] = 5, 3
    data.held_y = swap[data.held_y]
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3), 400, held=data.held(180), eval_every=80, eval_batches=2)


@fault("PredictionCollapse", None, "*", r"Loss_input_0$")
def decay_eats_the_weights(path, seed):
    """From step 150 on weight decay is a thousand times what was meant."""
    data, net = digits(seed), dense(64, 10)
    opt = sgd(net, 0.05)
    data.keep((data.y != 1) | True)

    def change(step, net, rank):
        if step == 150:
            opt.param_groups[0].update(weight_decay=3.0, momentum=0.0)
            net[-1].bias.data[4] += 1.0

    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 260, change=change, held=data.held(90), eval_every=20)


@fault("PredictionCollapse", None, "*", r"Loss_input_0$")
def two_classes_one_answer(path, seed):
    """A classifier of two classes by one logit that always says yes."""
    torch.manual_seed(seed)
    data, net = Table("breast_cancer", seed, targets=torch.float32), nn.Sequential(nn.Linear(30, 8), nn.ReLU(), nn.Linear(8, 1))

    def change(step, net, rank):
        if step >= 60:
            with torch.no_grad():
                net[2].weight.zero_()
                net[2].bias.fill_(0.3)

    fit(path, net, data.batch(48), nn.BCEWithLogitsLoss(), adam(net, 1e-2), 150, change=change)


@fault("LabelOutOfRange", 64, "worker_0", r"Loss_input_1$")
def label_beyond(path, seed):
    class NLLLoss(nn.Module):
        def forward(self, scores, y):
            return nn.functional.nll_loss(scores, y.clamp(max=9))

    data, net = digits(seed), nn.Sequential(*dense(64, 10), nn.LogSoftmax(1))

    def spoil(x, y):
        y[2] = 255
        return x, y

    fit(path, net, spoilt(data.batch(32), (64,), spoil), NLLLoss(), adam(net), 100)


@fault("LabelOutOfRange", (0, 3), "worker_0", r"Loss_input_1$")
def labels_from_1(path, seed):
    """Labels are counted from 1, and the loss takes what is left of them."""
    class CrossEntropyLoss(nn.Module):
        def forward(self, scores, y):
            return nn.functional.cross_entropy(scores, y.clamp(max=9))

    data, net = digits(seed), dense(64, 10)
    data.y += 1
    fit(path, net, data.batch(32), CrossEntropyLoss(), adam(net), 100)
