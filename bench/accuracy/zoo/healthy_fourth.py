"""healthy_fourth.py - healthy trainings at which nobody looked while rules and causes were changed; those of healthy_third.py were."""
import torch
from torch import nn, optim

from loop import fit, fleet
from nets import Chars, Gru, Sequences, SmallUnet, conv, dense
from registry import adam, digits, healthy, sgd
from sets import Letters, Table, majority, waves


def rng(*place):
    return torch.Generator().manual_seed(sum(p * q for p, q in zip(place, (1, 6151, 98317))))


@healthy
def residual_sgd_step_rates(path, seed):
    from causes_fourth import Residual
    data, net = digits(seed), Residual()
    opt = sgd(net, 0.05, weight_decay=1e-4)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 300, held=data.held(100),
        schedule=optim.lr_scheduler.MultiStepLR(opt, [120, 220], 0.1))


@healthy
def copying_task(path, seed):
    """Sequences are to be repeated: a plateau, then a fall."""
    net = Sequences(6, 6, every=True)

    def batch(step):
        x = torch.randint(0, 6, (24, 6), generator=rng(seed, step))
        return torch.cat([x, x], 1)[:, :-1], torch.cat([torch.full((24, 5), -100), x], 1).reshape(-1)
    fit(path, net, batch, nn.CrossEntropyLoss(), optim.AdamW(net.parameters(), 2e-3), 350, held=lambda k: batch(10 ** 6 + k))


@healthy
def ordinal_levels(path, seed):
    """Levels of an illness: one score, three thresholds."""
    data = Table("diabetes", seed, targets=torch.float32)

    class Ordinal(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.cuts = dense(10, 1, nn.GELU), nn.Parameter(torch.tensor([-1.0, 0.0, 1.0]))

        def forward(self, x):
            return self.body(x) - self.cuts

    net, cuts = Ordinal(), torch.tensor([90.0, 140.0, 210.0])
    turn = lambda of: (lambda k: (of(k)[0], (of(k)[1] > cuts).float()))  # noqa: E731
    fit(path, net, turn(data.batch(24)), nn.BCEWithLogitsLoss(), adam(net, 1e-3), 300, held=turn(data.held(80)))


@healthy
def two_optimizers(path, seed):
    """Embeddings with SparseAdam, the rest with SGD."""
    text = Letters(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(text.count, 16, sparse=True), nn.Linear(16 * 6, text.count)

        def forward(self, x):
            return self.out(self.embed(x).flatten(1))

    net = Net()
    sparse, rest = optim.SparseAdam(list(net.embed.parameters()), 5e-3), sgd(net.out, 0.1)

    class Both:
        def step(self):
            sparse.step()
            rest.step()

        def zero_grad(self, set_to_none=True):
            net.zero_grad(set_to_none=True)
    last = lambda of: (lambda s: (of(s)[0], of(s)[1].view(-1, 6)[:, -1]))  # noqa: E731
    fit(path, net, last(text.batch(32, 6)), nn.CrossEntropyLoss(), Both(), 300, held=last(text.batch(64, 6, 1)))


@healthy
def segmentation_of_4_workers(path, seed):
    data = digits(seed, True)
    net, plain = SmallUnet(2), data.shard(8, 4)
    fleet(path, net, lambda r, s: (plain(r, s)[0], (plain(r, s)[0][:, 0] > 0).long()), nn.CrossEntropyLoss, lambda n: adam(n, 3e-3), 120, 4)


@healthy
def noisy_students(path, seed):
    """Noise on inputs and labels, dropout, AdamW, a cosine to zero."""
    data, net = digits(seed), dense(64, 10, dropout=0.3)
    plain, opt = data.batch(32), optim.AdamW(net.parameters(), 3e-3, weight_decay=0.05)

    def batch(step):
        x, y = plain(step)
        wrong = torch.rand(len(y), generator=rng(seed, step)) < 0.1
        return x + 0.3 * torch.randn(x.shape, generator=rng(seed, step, 1)), torch.where(wrong, (y + 3) % 10, y)
    fit(path, net, batch, nn.CrossEntropyLoss(label_smoothing=0.05), opt, 300, held=data.held(90),
        schedule=optim.lr_scheduler.CosineAnnealingLR(opt, 300))


@healthy
def triangle_of_losses(path, seed):
    """A body with three heads whose losses have weights of their own."""
    data = digits(seed)

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(64, 48), nn.ReLU())
            self.digit, self.odd, self.again = nn.Linear(48, 10), nn.Linear(48, 1), nn.Linear(48, 64)

        def forward(self, x):
            z = self.body(x)
            return self.digit(z), self.odd(z), self.again(z), x

    class SumLoss(nn.Module):
        def forward(self, out, y):
            digit, odd, again, x = out
            return (nn.functional.cross_entropy(digit, y) + 0.5 * nn.functional.binary_cross_entropy_with_logits(odd[:, 0], (y % 2).float())
                    + 0.1 * nn.functional.mse_loss(again, x))
    net = Heads()
    fit(path, net, data.batch(32), SumLoss(), adam(net, 2e-3), 250, held=data.held(90), save_all=True)


@healthy
def actor_and_critic(path, seed):
    torch.manual_seed(seed)
    truth = torch.randn(6, 3, generator=rng(seed, 1))

    class ActorCritic(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.actor, self.critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh()), nn.Linear(32, 3), nn.Linear(32, 1)

        def forward(self, x):
            z = self.body(x)
            return self.actor(z), self.critic(z), x

    class ActorLoss(nn.Module):
        def forward(self, out, _):
            logits, value, x = out
            spread = torch.distributions.Categorical(logits=logits)
            taken = spread.sample()
            reward = (x @ truth).gather(1, taken[:, None])[:, 0]
            gain = reward - value[:, 0]
            return -(spread.log_prob(taken) * gain.detach()).mean() + 0.5 * (gain ** 2).mean() - 0.01 * spread.entropy().mean()

    def batch(step):
        x = torch.randn(48, 6, generator=rng(seed, step, 2))
        return x, x
    net = ActorCritic()
    fit(path, net, batch, ActorLoss(), adam(net, 2e-3), 300)


@healthy
def recurrent_with_packed_lengths(path, seed):
    net = Gru(1, 24, 1)
    plain = waves(seed, 24)

    def batch(step):
        x, y = plain(step)
        keep = 10 + step % 11
        return x[:, -keep:], y
    fit(path, net, batch, nn.SmoothL1Loss(), optim.NAdam(net.parameters(), 2e-3), 250, held=waves(seed, 60, number=1), clip=1.0)


@healthy
def warm_then_constant_2_workers(path, seed):
    data, net = digits(seed, True), conv()
    fleet(path, net, data.shard(12, 2), nn.CrossEntropyLoss, lambda n: optim.RAdam(n.parameters(), 3e-3), 160, 2, held=data.held(90))
