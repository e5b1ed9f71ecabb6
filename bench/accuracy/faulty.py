"""faulty.py - trainings with one fault each, twins of the healthy ones.

EXPECTED says of each which rule has to fire, and what its first finding has to name: the mode step (a number, or the first
and the last that will do), the worker, the tensor (a pattern). None: the fault has none in particular.
"""
import time
from collections import namedtuple

import torch
from torch import nn

from data import Few, Points, generator
from healthy import (Cnn_Batchnorm, Ddp_4_Chief_Evaluates, Imbalanced, Language_Tied, Lstm_Clipped, Mlp_Sgd, Mlp_Tanh,
                     Regression, Resnet_Cosine, Segmentation)
from networks import DeepSigmoid, Mlp
from training import Plan, record

Expected = namedtuple("Expected", "rule step worker tensor")
TRAININGS, EXPECTED = {}, {}
AT = 42  # the mode step of most faults


def fault(rule, step=None, worker="worker_0", tensor=None):
    def register(plan):
        name = plan.__name__.lower()
        TRAININGS[name] = lambda path, seed: record(path, plan(seed))
        EXPECTED[name] = Expected(rule, step, worker, tensor)
        return plan

    return register


class Ddp(Ddp_4_Chief_Evaluates):
    """Four workers, every step saved, all evaluate."""

    eval_ranks = None


# -- numbers that are not finite

@fault("ExplodingTensor", AT, "worker_2", r"^(Mlp|fc1)_input_0$")
class Nan_Input(Ddp):
    def inputs(self, step, rank, x, y):
        if step == AT and rank == 2:
            x[3, 1] = float("nan")
        return x, y


@fault("ExplodingTensor", AT + 1, "worker_0", r"conv2.weight$")
class Nan_Update(Cnn_Batchnorm):
    save_all, every = False, 1

    def after_update(self, step, rank, net, optimizer):
        if step == AT:
            with torch.no_grad():
                net.conv2.weight[0, 0, 0, 0] = float("nan")


@fault("ExplodingTensor", (1, 60), "worker_0", None)
class Overflow(Regression):
    """A learning rate far too high: numbers grow until they overflow."""

    def optimizer(self, net):
        return torch.optim.SGD(net.parameters(), lr=3.0)

    def targets(self, x, y):
        return 100 * y


# -- one worker of several

@fault("ReplicaDivergence", AT + 1, "worker_3", r"fc2.weight$")
class Bit_Flip(Ddp):
    def after_update(self, step, rank, net, optimizer):
        if step == AT and rank == 3:
            with torch.no_grad():
                net.fc2.weight[4, 5] += 0.25


@fault("NormSpike", AT, "worker_1", r"^gradient/Mlp_fc2.weight$")
class Gradient_Flip(Ddp):
    """A flipped bit of an exponent in one worker's gradient, as it is computed; clipping keeps the training going."""

    clip = 1.0

    def prepare(self, nets):
        self.now = -1

        def spoil(gradient):
            if self.now == AT:
                gradient = gradient.clone()
                gradient.view(-1)[17] = 2.0 ** 20
            return gradient

        # The recording hook of the parameter comes first; so the activation's gradient is spoilt.
        nets[1].fc2.weight._backward_hooks.clear()
        worker = self.worker_hooks[1]
        nets[1].fc2.weight.register_hook(spoil)
        nets[1].fc2.weight.register_hook(worker._gradient_of("gradient/Mlp_fc2.weight"))

    def before_step(self, step, nets):
        self.now = step


@fault("ReplicaDivergence", AT + 1, None, None)
class Not_Synchronized(Ddp):
    def synchronizes(self, step):
        return step < AT


@fault("DuplicateShard", (0, 3), "worker_2", None)
class Duplicate_Shard(Ddp):
    def shard(self, step, rank):
        return 1 if rank == 2 else rank


@fault("MissingWorker", AT, "worker_3", None)
class Missing_Worker(Ddp):
    def present(self, step, rank):
        return step < AT or rank != 3


@fault("StragglerWorker", (1, 15), "worker_2", None)
class Straggler(Ddp):
    steps, eval_every, last = 24, 100, 2

    def inputs(self, step, rank, x, y):
        time.sleep(0.12 if rank == 2 else 0)  # the last of them, so nobody waits for it
        return x, y


# -- weights and gradients

@fault("WeightFrozenDespiteGradient", (1, 12), "worker_0", r"fc2.weight$")
class Forgotten_Layer(Mlp_Sgd):
    """The optimizer was not given one layer."""

    def optimizer(self, net):
        return torch.optim.SGD([p for n, p in net.named_parameters() if n != "fc2.weight"], lr=0.05, momentum=0.9)


@fault("UnchangedTensor", (AT, AT + 8), "worker_0", r"fc\d.weight$")
class Update_Stops(Mlp_Sgd):
    """Training goes on without gradients: the optimizer has nothing to do, and nobody notices."""

    steps = 120

    def before_step(self, step, nets):
        if step == AT:
            for net in nets:
                for p in net.parameters():
                    p.requires_grad_(False)
                net.fc3.bias.requires_grad_(True)


@fault("VanishingGradient", (0, 3), "worker_0", r"^gradient/DeepSigmoid_fc[1-4]\.")
class Vanishing(Mlp_Sgd):
    def make(self):
        self.net, self.data = DeepSigmoid(), Points(self.seed)


@fault("AllZero", (0, 3), "worker_0", r"fc\d.weight$")
class Zero_Weights(Mlp_Sgd):
    def make(self):
        super().make()
        for p in self.net.parameters():
            nn.init.zeros_(p)


@fault("TensorVariance", (0, 3), "worker_0", r"fc[12].weight$")
class Constant_Weights(Mlp_Sgd):
    """All weights of a layer are equal, so its units learn the same."""

    def make(self):
        super().make()
        for part in (self.net.fc1, self.net.fc2):
            nn.init.constant_(part.weight, 0.05)


@fault("DeadRelu", (AT + 1, AT + 2), "*", r"relu1_output_0$")
class Dead_Relus(Mlp_Sgd):
    def after_update(self, step, rank, net, optimizer):
        if step == AT:
            with torch.no_grad():
                net.fc1.bias -= 100


@fault("SaturatedActivation", (0, 2), "*", r"tanh1_input_0$")
class Saturated(Mlp_Tanh):
    """Inputs that nobody scaled."""

    def inputs(self, step, rank, x, y):
        return 1000 * x, y


@fault("HalfPrecisionRisk", (0, 3), "worker_0", r"^gradient/")
class Gradients_Too_Small(Mlp_Sgd):
    """A loss scaled down by mistake."""

    def saved_loss(self, step, loss):
        return loss * 1e-9

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.005, eps=1e-20)


# -- losses

@fault("LossSpike", 80, "worker_0", r"Loss_output_0$")
class Bad_Batch(Resnet_Cosine):
    """One batch with the labels of another."""

    def inputs(self, step, rank, x, y):
        return (x, (y + 1) % 5) if step == 80 else (x, y)


@fault("LossSpike", 14, "worker_0", r"Loss_output_0$")
class Jump_After_Descent(Mlp_Sgd):
    """The loss has just come down when one batch's labels are shifted."""

    def inputs(self, step, rank, x, y):
        return (4 * x, (y + 1) % 4) if step == 14 else (x, y)


@fault("LossNotDecreasing", None, "worker_0", r"Loss_output_0$")
class Random_Labels(Cnn_Batchnorm):
    save_all, every = False, 1

    def inputs(self, step, rank, x, y):
        return x, torch.randint(0, 5, y.shape, generator=generator(self.seed, 15, step))


@fault("LossNotDecreasing", None, "worker_0", r"Loss_output_0$")
class Learning_Rate_Tiny(Lstm_Clipped):
    def optimizer(self, net):
        return torch.optim.SGD(net.parameters(), lr=1e-6)


@fault("LossNotDecreasing", (AT, 200), "worker_0", r"Loss_output_0$")
class Forgets(Language_Tied):
    """From a step on the learning rate is a hundred times too high: what was learned is lost."""

    def before_step(self, step, nets):
        self.now = step

    def schedule(self, optimizer):
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 if step < 100 else 60.0)


@fault("Overfit", None, "*", None)
class By_Heart(Mlp_Sgd):
    """Forty samples, and a network that learns them by heart."""

    steps, every, eval_every = 600, 5, 20

    def make(self):
        points = Points(self.seed, noise=1.6)
        self.net, self.data, self.held = Mlp(hidden=128), Few(points, 40), points

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.005)


# -- classes

@fault("PredictionCollapse", None, "*", r"Loss_input_0$")
class Collapse(Cnn_Batchnorm):
    """The output layer is overwritten after every update: one class for every picture."""

    save_all, every, steps = False, 1, 100

    def after_update(self, step, rank, net, optimizer):
        if step >= AT:
            with torch.no_grad():
                net.fc.weight.zero_()
                net.fc.bias.copy_(torch.tensor([0.0, 5.0, 0.0, 0.0, 0.0]))


@fault("LabelOutOfRange", AT, "worker_2", r"Loss_input_1$")
class Bad_Label(Ddp):
    """A label beyond the classes; the loss sees it folded back, as a lenient loader does."""

    def inputs(self, step, rank, x, y):
        self.spoil = step == AT and rank == 2
        return x, y

    def loss(self):
        plan = self

        class CrossEntropyLoss(nn.Module):
            def forward(self, scores, labels):
                result = nn.functional.cross_entropy(scores, labels.clone())
                if torch.is_grad_enabled() and plan.spoil:
                    labels[5] = scores.shape[1] + 3
                return result

        return CrossEntropyLoss()


@fault("ClassImbalance", None, "*", r"Loss_input_1$")
class Rare_Class_Lost(Imbalanced):
    """One class in fifty, and hardly to be told from another: it is never predicted."""

    def make(self):
        self.net = Mlp(outputs=3)
        self.data = Points(self.seed, classes=3, noise=0.6, shares=[0.6, 0.38, 0.02])
        self.data.centres[2] = self.data.centres[0] + 0.02


@fault("Confusion", None, "*", r"Loss_input_1$")
class Classes_Swapped(Segmentation):
    """The held-out labels of two classes are swapped."""

    def make(self):
        super().make()
        plan, fields = self, self.data

        class Swapped:
            def batch(self, size, *number):
                x, y = fields.batch(size, *number)
                return x, torch.tensor([0, 2, 1])[y]

        plan.held = Swapped()
