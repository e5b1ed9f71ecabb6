"""kinds.py - what trainings of healthy.py have in common, and the list of their kinds."""
import torch
from torch import nn

KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


class Loop:
    """A training of a kind: what is unusual in it overrides one of these."""
    loss = nn.CrossEntropyLoss
    workers = 1

    def __init__(self, net, data, **changes):
        self.net, self.data = net, data
        vars(self).update(changes)

    def optimizer(self, net):
        return torch.optim.AdamW(net.parameters(), lr=1e-3)

    def begin(self, net, optimizer):
        """Before the first step."""

    def scores(self, net, x):
        return net(x)

    def backward(self, net, optimizer, loss):
        loss.backward()

    def before_update(self, net, optimizer, step):
        """Gradients are there."""

    def update(self, net, optimizer, step):
        optimizer.step()

    def after_update(self, net, optimizer, step):
        """Weights are new."""

    def step(self, net, optimizer, loss, step, x, y):
        optimizer.zero_grad()
        value = loss(self.scores(net, x).float(), y)
        self.backward(net, optimizer, value)
        self.before_update(net, optimizer, step)
        self.update(net, optimizer, step)
        self.after_update(net, optimizer, step)


def vectors(width=24, classes=10, batch=16):
    return lambda: (torch.randn(batch, width), torch.randint(classes, (batch,)))


def images(channels=3, size=8, batch=8, classes=10, axes=2):
    return lambda: (torch.randn(batch, channels, *[size] * axes), torch.randint(classes, (batch,)))


def tokens(length=12, count=50, batch=16, classes=10):
    return lambda: (torch.randint(count, (batch, length)), torch.randint(classes, (batch,)))


def perceptron(width=24, hidden=40, classes=10):
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, classes))


class Of(nn.Module):
    """Modules by name, and a function of them."""
    def __init__(self, run, **modules):
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)
        self.run = run

    def forward(self, x):
        return self.run(self, x)
