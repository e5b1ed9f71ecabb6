"""healthy_thirteenth.py - healthy trainings beside causes_thirteenth.py."""
import torch
from torch import nn, optim

from causes_fifth import adamw, sgd
from causes_thirteenth import Columns, Denoiser, Experts, Graph, Nodes, Pairs, Translator, act, both, noisy, sentences, table, views
from fifth_parts import Clouds, Stack, rng
from loop import fit, fleet
from registry import healthy_set

CE = nn.CrossEntropyLoss
healthy = healthy_set("thirteenth")


@healthy
def translator(path, seed):
    net = Translator()
    fit(path, net, sentences(seed, 32), CE(), adamw(net, 5e-3), 260, held=sentences(seed, 60, 1), forward=both, clip=1.0)


@healthy
def denoiser(path, seed):
    net = Denoiser()
    opt = adamw(net)
    fit(path, net, noisy(seed, 64), nn.MSELoss(), opt, 260, held=noisy(seed, 100, 1), forward=both,
        schedule=optim.lr_scheduler.CosineAnnealingLR(opt, 260))


@healthy
def experts_by_a_router(path, seed):
    data, net = Clouds(seed), Experts()
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100))


@healthy
def nodes_of_a_graph(path, seed):
    data = Graph(seed)
    net = Nodes(data.matrix)
    opt = sgd(net, 0.1)
    fit(path, net, data.batch(), CE(), opt, 240, held=data.batch(number=1), schedule=optim.lr_scheduler.LinearLR(opt, 1.0, 0.0, 240))


@healthy
def pairs_of_views(path, seed):
    net = Pairs()
    fit(path, net, views(seed, 32), CE(), adamw(net), 240, held=views(seed, 32, 1), forward=both)


@healthy
def actor_with_its_critic(path, seed):
    act(path, seed)


@healthy
def categories_and_numbers(path, seed):
    net = Columns()
    fit(path, net, table(seed, 64), nn.SmoothL1Loss(), adamw(net, 5e-3), 260, held=table(seed, 100, 1))


@healthy
def noise_on_gradients_that_are_clipped(path, seed):
    data, net = Clouds(seed), Stack(20, 6)

    def after(step, n, rank):
        nn.utils.clip_grad_norm_(n.parameters(), 1.0)
        for k, p in enumerate(n.parameters()):
            p.grad += 0.02 * torch.randn(p.shape, generator=rng(seed, step, k, 140))
    fit(path, net, data.batch(32), CE(), sgd(net, 0.05), 240, held=data.held(100), after=after)


@healthy
def weights_clamped_as_a_critics(path, seed):
    data, net = Clouds(seed), Stack(20, 6)

    def updated(step, n):
        with torch.no_grad():
            for p in n.parameters():
                p.clamp_(-0.2, 0.2)
    fit(path, net, data.batch(32), CE(), adamw(net), 240, held=data.held(100), updated=updated)


@healthy
def translators_of_three_workers(path, seed):
    class Read(Translator):
        def forward(self, x):
            return super().forward(*x.unbind(1))
    batch = sentences(seed, 48)
    fleet(path, Read(), lambda r, s: (torch.stack(batch(s)[0], 1)[r::3], batch(s)[1].view(48, -1)[r::3].reshape(-1)), CE,
          lambda n: adamw(n, 5e-3), 140, 3)
