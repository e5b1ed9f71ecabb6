"""registry.py - what the trainings of the zoo have in common: where they are entered, the set of digits, optimisers."""
import torch
from torch import optim

from sets import Table

TRAININGS = {}


def healthy(made):
    TRAININGS["zoo_" + made.__name__] = made
    return made


def seeded(made):
    """The same training, whose weights and draws follow from the seed as well."""
    def of_seed(path, seed):
        torch.manual_seed(seed)
        made(path, seed)
    return of_seed


def healthy_set(name):
    """What enters the healthy trainings of a set, as zoo_NAME_..."""
    def healthy_of_set(made):
        TRAININGS["zoo_%s_%s" % (name, made.__name__)] = seeded(made)
        return made
    return healthy_of_set


def digits(seed, images=False):
    torch.manual_seed(seed)
    return Table("digits", seed, images)


def adam(net, lr=1e-3, **more):
    return optim.Adam(net.parameters(), lr=lr, **more)


def sgd(net, lr, momentum=0.9, **more):
    return optim.SGD(net.parameters(), lr=lr, momentum=momentum, **more)
