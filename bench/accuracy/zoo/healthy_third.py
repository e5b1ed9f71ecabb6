"""healthy_third.py - healthy trainings of further kinds: other tasks, optimizers of one's own, and other settings of the hook."""
import copy

import torch
from torch import nn, optim

from loop import finish, fit, fleet, hook_for, modes
from nets import Chars, Gru, Sequences, conv, dense
from registry import adam, digits, healthy, sgd
from sets import Letters, Table, majority, waves


def rng(*place):
    return torch.Generator().manual_seed(sum(p * q for p, q in zip(place, (1, 7919, 104729))))


class Lion(optim.Optimizer):
    """Steps of the sign of the momentum."""

    def __init__(self, parameters, lr=1e-3, decay=0.01):
        super().__init__(parameters, {"lr": lr, "decay": decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["decay"]).sub_(group["lr"] * (0.9 * m + 0.1 * p.grad).sign())
                m.mul_(0.99).add_(0.01 * p.grad)


@healthy
def lion_mixer(path, seed):
    from causes_third import Mixer
    data, net = digits(seed), Mixer()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), Lion(net.parameters(), 1e-3), 300, held=data.held(100), save_all=True)


@healthy
def pairwise_ranking(path, seed):
    """The better of two rows, by the difference of their scores."""
    data = Table("diabetes", seed, targets=torch.float32)
    net = dense(10, 1)

    class PairLoss(nn.Module):
        def forward(self, scores, y):
            n = len(scores) // 2
            sign = (y[:n] - y[n:]).sign()
            return nn.functional.softplus(-sign * (scores[:n] - scores[n:])).mean()

    fit(path, net, data.batch(64), PairLoss(), adam(net), 300, every=3, held=data.held(80))


@healthy
def masked_letters(path, seed):
    """A sixth of the letters is hidden; the others have label -100."""
    text = Letters(seed)
    net = Sequences(text.count + 1, text.count, every=True)

    def hidden(of):
        def make(s):
            x, _ = of(s)
            mask = torch.rand(x.shape, generator=rng(seed, s, 3)) < 0.16
            return x.masked_fill(mask, text.count), x.masked_fill(~mask, -100).reshape(-1)
        return make

    fit(path, net, hidden(text.batch(16, 16)), nn.CrossEntropyLoss(), optim.AdamW(net.parameters(), 2e-3), 300,
        held=hidden(text.batch(48, 16, 1)))


@healthy
def fourier_features(path, seed):
    """A picture as a function of its coordinates; the sine is the activation."""
    class Sine(nn.Module):
        def forward(self, x):
            return torch.sin(3 * x)

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(2, 48), Sine(), nn.Linear(48, 48), Sine(), nn.Linear(48, 1))

        def forward(self, x):
            return self.body(x)

    torch.manual_seed(seed)
    net = Field()

    def batch(step):
        x = torch.rand(128, 2, generator=rng(seed, step)) * 2 - 1
        return x, (4 * x[:, :1]).sin() * (3 * x[:, 1:]).cos()
    fit(path, net, batch, nn.MSELoss(), adam(net, 1e-3), 400, every=4)


@healthy
def mixed_up_vit(path, seed):
    """Mixup: the labels are shares of two classes."""
    data = digits(seed)
    from causes_third import Mixer
    net, plain = Mixer(), data.batch(32)

    def batch(step):
        x, y = plain(step)
        share, order = torch.rand(1, generator=rng(seed, step)).item(), torch.randperm(len(x), generator=rng(seed, step, 1))
        hot = nn.functional.one_hot(y, 10).float()
        return share * x + (1 - share) * x[order], share * hot + (1 - share) * hot[order]
    fit(path, net, batch, nn.CrossEntropyLoss(), optim.AdamW(net.parameters(), 3e-3), 300,
        held=lambda k: (data.held(90)(k)[0], nn.functional.one_hot(data.held(90)(k)[1], 10).float()))


@healthy
def local_steps_of_5(path, seed):
    """Five workers average their weights after every five steps, not their gradients."""
    data, net = digits(seed), dense(64, 10)
    fleet(path, net, data.shard(16, 5), nn.CrossEntropyLoss, lambda n: sgd(n, 0.03, 0.0), 200, 5, average=lambda s: False,
          together=lambda s: s % 5 == 4)


@healthy
def rare_tags(path, seed):
    """Many labels of which few are set, weighted; three workers, whose last batch of a pass is shorter."""
    g = rng(seed)
    maps = torch.randn(24, 20, generator=g)

    def batch(rank, step):
        n = 7 if step % 11 == 10 else 20
        x = torch.randn(n, 24, generator=rng(seed, step, rank + 1))
        return x, (x @ maps > 7).float()
    net = dense(24, 20, nn.ELU)
    fleet(path, net, batch, lambda: nn.BCEWithLogitsLoss(pos_weight=torch.full((20,), 6.0)), lambda n: adam(n, 2e-3), 220, 3,
          held=lambda k: batch(9, 5000 + k))


@healthy
def growing_pictures(path, seed):
    data = digits(seed, True)
    net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.GroupNorm(3, 12), nn.ReLU(), nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, 10))
    plain = data.batch(24)

    def batch(step):
        x, y = plain(step)
        return (nn.functional.interpolate(x, 4) if step < 80 else x if step < 160 else nn.functional.interpolate(x, 12)), y
    fit(path, net, batch, nn.CrossEntropyLoss(), sgd(net, 0.03), 260, held=data.held(90))


@healthy
def gradual_unfreezing(path, seed):
    """Layer after layer is given back to the optimizer, each with a rate of its own."""
    data, net = digits(seed), nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 10))
    pre = adam(net, 2e-3)
    for s in range(60):
        x, y = data.batch(32)(s)
        keep = y < 6
        pre.zero_grad()
        nn.functional.cross_entropy(net(x[keep]), y[keep]).backward()
        pre.step()
    opt = optim.Adam([{"params": net[4].parameters(), "lr": 2e-3}, {"params": net[2].parameters(), "lr": 1e-3},
                      {"params": net[0].parameters(), "lr": 3e-4}])

    def change(step, net, rank):
        for part, first in ((net[0], 160), (net[2], 80)):
            for p in part.parameters():
                p.requires_grad_(step >= first)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 260, held=data.held(90), change=change)


@healthy
def seasonal_forecast(path, seed):
    """A GRU with teacher forcing, clipped, Adagrad; large values that are not normalised."""
    def series(n, number):
        def of(step):
            x, y = waves(seed, n, number=number)(step)
            return 50 + 10 * x, 50 + 10 * y
        return of

    class Series(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.gru, self.out = nn.BatchNorm1d(1), nn.GRU(1, 24, batch_first=True), nn.Linear(24, 1)

        def forward(self, x):
            x = self.norm(x.transpose(1, 2)).transpose(1, 2)
            return 50 + 10 * self.out(self.gru(x)[0][:, -1])

    net = Series()
    fit(path, net, series(32, 0), nn.L1Loss(), optim.Adagrad(net.parameters(), 0.02), 300, held=series(60, 1), clip=5.0)


@healthy
def averaged_at_the_end(path, seed):
    """Stochastic weight averaging: a copy follows from step 150 on, and is evaluated at the end."""
    data, net = digits(seed), dense(64, 10)
    mean = copy.deepcopy(net)
    for p in mean.parameters():
        p.requires_grad_(False)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.mean = net, mean

        def forward(self, x):
            return self.net(x) if self.training else self.mean(x)

    both, count = Both(), [0]

    def updated(step, model):
        if step >= 150:
            count[0] += 1
            for a, b in zip(mean.parameters(), net.parameters()):
                a.data.add_((b.data - a.data) / count[0])
    fit(path, both, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.05), 260, held=data.held(90), eval_every=200, updated=updated)


@healthy
def bandit(path, seed):
    """Rewards of a bandit: an entropy bonus, a baseline."""
    torch.manual_seed(seed)
    net = dense(6, 4, nn.Tanh)
    truth = torch.randn(6, 4, generator=rng(seed, 1))

    class PolicyLoss(nn.Module):
        def forward(self, logits, x):
            spread = torch.distributions.Categorical(logits=logits)
            taken = spread.sample()
            reward = (x @ truth).gather(1, taken[:, None])[:, 0]
            return -(spread.log_prob(taken) * (reward - reward.mean())).mean() - 0.02 * spread.entropy().mean()

    def batch(step):
        x = torch.randn(64, 6, generator=rng(seed, step, 2))
        return x, x
    fit(path, net, batch, PolicyLoss(), adam(net, 2e-3), 300)
