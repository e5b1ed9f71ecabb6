"""healthy_tasks.py - healthy trainings on other tasks: tables, sequences, pictures, adversaries, several workers, trees."""
import numpy
import torch
from torch import nn, optim

import assay_hook
from assay_hook import SaveConfig, modes
from loop import finish, fit, fleet, hook_for
from nets import Chars, Gru, Sequences, SmallUnet, conv, dense
from registry import adam, digits, healthy, sgd
from sets import Letters, Table, majority, waves


# -- tables

@healthy
def logistic(path, seed):
    torch.manual_seed(seed)
    data, net = Table("breast_cancer", seed, targets=torch.float32), nn.Sequential(nn.Linear(30, 1))
    fit(path, net, data.batch(455), nn.BCEWithLogitsLoss(), sgd(net, 0.1), 300, held=data.held(114), eval_every=20)


@healthy
def large_targets(path, seed):
    """Targets are not scaled: the loss begins at 29 000."""
    torch.manual_seed(seed)
    data, net = Table("diabetes", seed, targets=torch.float32), dense(10, 1)
    fit(path, net, data.batch(32), nn.MSELoss(), adam(net, 0.01), 500, held=data.held(88))


@healthy
def huber_small_batches(path, seed):
    torch.manual_seed(seed)
    data, net = Table("diabetes", seed, targets=torch.float32, centre=True), dense(10, 1, hidden=16)
    fit(path, net, data.batch(8), nn.SmoothL1Loss(), sgd(net, 0.005), 400, held=data.held(88))


@healthy
def below_zero(path, seed):
    """A likelihood whose negative logarithm goes through zero."""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    direction = torch.randn(4, generator=g)

    def batch(step):
        g = torch.Generator().manual_seed(seed * 17 + step)
        x = torch.randn(32, 4, generator=g)
        return x, (torch.sin(x @ direction) + 0.05 * torch.randn(32, generator=g))[:, None]

    class GaussianLoss(nn.Module):
        def forward(self, out, y):
            spread = nn.functional.softplus(out[:, 1:]) + 1e-3
            return (spread.log() + 0.5 * ((out[:, :1] - y) / spread) ** 2).mean()

    fit(path, net, batch, GaussianLoss(), adam(net, 3e-3), 600, held=lambda k: batch(10 ** 6 + k))


@healthy
def to_nothing(path, seed):
    """A line that a network can draw: the loss comes to 1e-10 and below."""
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 1))
    true = torch.randn(3, 1)

    def batch(step):
        x = torch.randn(32, 3, generator=torch.Generator().manual_seed(seed * 13 + step))
        return x, x @ true + 0.5

    fit(path, net, batch, nn.MSELoss(), sgd(net, 0.05), 400, held=lambda k: batch(10 ** 6 + k))


@healthy
def cauchy(path, seed):
    """Targets with tails as heavy as they come."""
    torch.manual_seed(seed)
    net, true = dense(6, 1), torch.randn(6, 1)

    def batch(step):
        g = torch.Generator().manual_seed(seed * 19 + step)
        x = torch.randn(24, 6, generator=g)
        noise = torch.tan(3.1 * (torch.rand(24, 1, generator=g) - 0.5))
        return x, x @ true + 0.2 * noise

    fit(path, net, batch, nn.L1Loss(), adam(net, 3e-3), 400)


@healthy
def counts(path, seed):
    torch.manual_seed(seed)
    net, true = dense(5, 1), torch.randn(5, 1) * 0.7

    def batch(step):
        g = torch.Generator().manual_seed(seed * 23 + step)
        x = torch.randn(48, 5, generator=g)
        return x, torch.poisson((x @ true).exp(), generator=g)

    fit(path, net, batch, nn.PoissonNLLLoss(), adam(net, 3e-3), 400, every=2, held=lambda k: batch(10 ** 6 + k))


@healthy
def two_tasks(path, seed):
    """Two losses, one of classes and one of a number, summed; the hook sees both."""
    data, net = digits(seed), dense(64, 11)
    first, second = nn.CrossEntropyLoss(), nn.MSELoss()
    hook, opt = hook_for(path, 1), adam(net, 2e-3)
    hook.register_module(net)
    hook.register_loss(first)
    hook.register_loss(second)
    for step in range(300):
        hook.set_mode(modes.TRAIN)
        x, y = data.batch(32)(step)
        opt.zero_grad()
        out = net(x)
        (first(out[:, :10], y) + second(out[:, 10], x.mean(1))).backward()
        opt.step()
    finish(hook)


# -- sequences

@healthy
def gru_waves(path, seed):
    torch.manual_seed(seed)
    net = Gru(1, 24, 1)
    fit(path, net, waves(seed, 32), nn.MSELoss(), adam(net, 5e-3), 400, clip=1.0, held=waves(seed, 64, number=1))


@healthy
def letters_gru(path, seed):
    torch.manual_seed(seed)
    data = Letters(seed)
    net = Chars(data.count)
    fit(path, net, data.batch(16, 24), nn.CrossEntropyLoss(), adam(net, 5e-3), 400, every=2, held=data.batch(16, 24, 1))


@healthy
def transformer_majority(path, seed):
    torch.manual_seed(seed)
    net = Sequences(5, 5)
    opt = optim.AdamW(net.parameters(), lr=2e-3)
    fit(path, net, majority(seed, 32), nn.CrossEntropyLoss(), opt, 400, held=majority(seed, 64, number=1), eval_batches=2,
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 50) * (1 - s / 410)))


@healthy
def transformer_letters(path, seed):
    torch.manual_seed(seed)
    data = Letters(seed)
    net = Sequences(data.count, data.count, every=True)
    opt = optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)
    fit(path, net, data.batch(16, 24), nn.CrossEntropyLoss(), opt, 600, every=10, clip=1.0, held=data.batch(16, 24, 1),
        schedule=optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) / 60, (60 / (s + 1)) ** 0.5)))


@healthy
def bag_of_letters(path, seed):
    """Embeddings whose gradients are sparse."""
    torch.manual_seed(seed)
    net = nn.Sequential(nn.EmbeddingBag(5, 16, sparse=True), nn.Linear(16, 5))
    opt = optim.SGD(net.parameters(), lr=0.5)
    fit(path, net, majority(seed, 32, 20), nn.CrossEntropyLoss(), opt, 300, held=majority(seed, 64, 20, number=1))


# -- images, adversaries, noise

@healthy
def segmentation_ignored(path, seed):
    """Fields of 8 x 8; the border has the label 255, which does not count."""
    torch.manual_seed(seed)
    data, net = digits(seed, True), SmallUnet(3)

    def fields(of):
        def make(k):
            x, _ = of(k)
            y = (x[:, 0] > -0.5).long() + (x[:, 0] > 0.5).long()
            y[:, 0] = y[:, -1] = 255
            return x + 0.1, y
        return make

    fit(path, net, fields(data.batch(16)), nn.CrossEntropyLoss(ignore_index=255), adam(net, 5e-3), 200,
        held=fields(data.held(32)), eval_batches=2)


@healthy
def denoising(path, seed):
    """A network that tells noise from pictures, at any level: the loss falls, and is noisy ever after."""
    data, net = digits(seed), dense(65, 64, hidden=96)

    def noisy(of):
        def make(k):
            x, _ = of(k)
            g = torch.Generator().manual_seed(seed * 29 + k)
            level, noise = torch.rand(len(x), 1, generator=g), torch.randn(x.shape, generator=g)
            return torch.cat([(1 - level).sqrt() * x + level.sqrt() * noise, level], 1), noise
        return make

    fit(path, net, noisy(data.batch(32)), nn.MSELoss(), adam(net, 2e-3), 800, every=2, held=noisy(data.held(90)))


@healthy
def adversaries(path, seed):
    torch.manual_seed(seed)
    make = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    judge = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    hook = hook_for(path, 5)

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.make, self.judge = make, judge

        def forward(self, z):
            made = self.make(z)
            return made, self.judge(made)

    both, loss_d, loss_g = Generator(), nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss()
    hook.register_module(both)
    for loss in (loss_d, loss_g):
        hook.register_loss(loss)
    opt_g, opt_d = adam(make, 1e-3, betas=(0.5, 0.99)), adam(judge, 1e-3, betas=(0.5, 0.99))
    for step in range(500):
        hook.set_mode(modes.TRAIN)
        g = torch.Generator().manual_seed(seed * 37 + step)
        angle = 6.283 * torch.rand(64, generator=g)
        real = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(64, 2, generator=g)
        made, seen = both(torch.randn(64, 4, generator=g))
        opt_d.zero_grad()
        told = torch.cat([judge(real), judge(made.detach())])
        loss_d(told, torch.cat([torch.ones(64, 1), torch.zeros(64, 1)])).backward()
        opt_d.step()
        opt_g.zero_grad()
        loss_g(judge(make(torch.randn(64, 4, generator=g))), torch.ones(64, 1)).backward()
        opt_g.step()
    finish(hook)


# -- several workers

@healthy
def fleet_2(path, seed):
    data, net = digits(seed, True), conv()
    fleet(path, net, data.shard(16, 2), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 120, 2, held=data.held(90), eval_batches=3)


@healthy
def fleet_4_every_10(path, seed):
    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 4), nn.CrossEntropyLoss, lambda n: adam(n, 2e-3), 300, 4, every=10, held=data.held(90),
          eval_every=50, eval_ranks=(0,), eval_batches=2)


@healthy
def fleet_8_own_classes(path, seed):
    """Each worker has digits of its own kind."""
    data, net = digits(seed), dense(64, 10, hidden=24)
    parts = [data.x[data.y % 8 == r] for r in range(8)], [data.y[data.y % 8 == r] for r in range(8)]

    def batch(rank, step):
        rows = torch.randint(0, len(parts[0][rank]), (12,), generator=torch.Generator().manual_seed(seed * 41 + step * 8 + rank))
        return parts[0][rank][rows], parts[1][rank][rows]

    fleet(path, net, batch, nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 120, 8, every=2)


@healthy
def fleet_3_local(path, seed):
    """Weights are averaged at every sixth step, gradients never."""
    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 3), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03), 150, 3, average=lambda step: False,
          together=lambda step: step % 6 == 5, held=data.held(90), eval_every=30)


@healthy
def fleet_6_long(path, seed):
    data, net = digits(seed), dense(64, 10, hidden=24)
    fleet(path, net, data.shard(8, 6), nn.CrossEntropyLoss, lambda n: adam(n, 3e-3), 500, 6, every=5, held=data.held(120),
          eval_every=100, eval_ranks=(0,))


# -- no network

@healthy
def trees(path, seed):
    from sklearn.ensemble import GradientBoostingRegressor
    data = Table("diabetes", seed, targets=torch.float32)
    x, y, held_x, held_y = (t.numpy() for t in (data.x, data.y[:, 0], data.held_x, data.held_y[:, 0]))
    boosted = GradientBoostingRegressor(n_estimators=80, max_depth=2, learning_rate=0.08, random_state=seed).fit(x, y)
    hook = assay_hook.Hook(path, save_config=SaveConfig(save_interval=1), include_collections=["metrics", "predictions", "labels"])
    for told, held in zip(boosted.staged_predict(x), boosted.staged_predict(held_x)):
        hook.step()
        hook.save_tensor("train-rmse", numpy.float64([numpy.sqrt(((told - y) ** 2).mean())]), "metrics")
        hook.save_tensor("validation-rmse", numpy.float64([numpy.sqrt(((held - held_y) ** 2).mean())]), "metrics")
        hook.save_tensor("predictions", held.astype(numpy.float32), "predictions")
        hook.save_tensor("labels", held_y.astype(numpy.float32), "labels")
    finish(hook)
