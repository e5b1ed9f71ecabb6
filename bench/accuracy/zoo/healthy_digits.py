"""healthy_digits.py - healthy trainings on one set of pictures: all that can be varied about a training."""
import torch
from torch import nn, optim

from assay_hook import ReductionConfig
from loop import fit
from nets import Block, Gated, Vae, conv, dense
from registry import adam, digits, healthy, sgd
from sets import Table


# -- digits: lengths, batch sizes, save intervals, optimisers, learning rates

@healthy
def long_every_100(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(64), nn.CrossEntropyLoss(), adam(net), 2000, every=100, held=data.held(60), eval_every=200,
        eval_batches=3)


@healthy
def long_every_500(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.02), 2000, every=500, held=data.held(120), eval_every=500)


@healthy
def short(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 3e-3), 20, held=data.held(64), eval_every=5)


@healthy
def one_cycle(path, seed):
    data, net = digits(seed, True), conv()
    opt = sgd(net, 0.1)
    fit(path, net, data.batch(64), nn.CrossEntropyLoss(), opt, 300, held=data.held(100), eval_every=30, eval_batches=2,
        schedule=optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=300))


@healthy
def batch_of_2(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(2), nn.CrossEntropyLoss(), sgd(net, 0.01, 0), 1500, every=10, held=data.held(100), eval_every=150)


@healthy
def batch_of_1(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(1), nn.CrossEntropyLoss(), sgd(net, 0.005, 0), 900)


@healthy
def batch_of_400(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(400), nn.CrossEntropyLoss(), sgd(net, 0.1), 150, held=data.held(300), eval_every=10)


@healthy
def plateau(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(64), nn.CrossEntropyLoss(), adam(net, 3e-3), 1500, every=5, held=data.held(128), eval_every=100)


@healthy
def hot(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, data.batch(48), nn.CrossEntropyLoss(), sgd(net, 0.4, 0), 300, held=data.held(100), eval_every=25)


@healthy
def hot_adam(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(64), nn.CrossEntropyLoss(), adam(net, 0.01), 300, every=2, held=data.held(100), eval_every=50)


@healthy
def rmsprop(path, seed):
    data, net = digits(seed), dense(64, 10, nn.ELU)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), optim.RMSprop(net.parameters(), lr=1e-3), 400, held=data.held(64))


@healthy
def adagrad_groupnorm(path, seed):
    data, net = digits(seed, True), conv(norm=lambda n: nn.GroupNorm(4, n))
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), optim.Adagrad(net.parameters(), lr=0.02), 300, held=data.held(64))


@healthy
def nesterov_decay(path, seed):
    data, net = digits(seed, True), conv()
    opt = sgd(net, 0.05, 0.9, nesterov=True, weight_decay=5e-4)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 450, every=3, held=data.held(90), eval_batches=4,
        schedule=optim.lr_scheduler.StepLR(opt, 150, 0.1))


@healthy
def warm_restarts(path, seed):
    data, net = digits(seed), dense(64, 10)
    opt = sgd(net, 0.1)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 500, held=data.held(90),
        schedule=optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 100))


@healthy
def exponential_decay(path, seed):
    data, net = digits(seed), dense(64, 10, nn.SELU)
    opt = adam(net, 5e-3)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 800, every=4, held=data.held(90), eval_every=80,
        schedule=optim.lr_scheduler.ExponentialLR(opt, 0.99))


@healthy
def strong_dropout(path, seed):
    data, net = digits(seed), dense(64, 10, dropout=0.6, hidden=96)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net), 600, held=data.held(90))


@healthy
def tanh_net(path, seed):
    data, net = digits(seed), dense(64, 10, nn.Tanh)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.05), 300, held=data.held(90))


@healthy
def sigmoid_net(path, seed):
    data, net = digits(seed), dense(64, 10, nn.Sigmoid)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 0.01), 400, held=data.held(90))


@healthy
def residual_zero_init(path, seed):
    """The last layer of every block begins as zeros, and so does the head."""
    data = digits(seed)
    net = nn.Sequential(nn.Linear(64, 48), *(Block(48) for _ in range(5)), nn.Linear(48, 10))
    nn.init.zeros_(net[-1].weight)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3), 300, held=data.held(90))


@healthy
def weight_norm(path, seed):
    data = digits(seed)
    net = nn.Sequential(nn.utils.weight_norm(nn.Linear(64, 48)), nn.ReLU(), nn.utils.weight_norm(nn.Linear(48, 10)))
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.05), 300, held=data.held(90))


@healthy
def reductions_only(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net), 200, held=data.held(90),
        reduction_config=ReductionConfig(reductions=["min", "max", "mean", "std"], norms=["l2"], abs_reductions=["mean"]))


@healthy
def everything(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, data.batch(16), nn.CrossEntropyLoss(), adam(net), 80, held=data.held(40), eval_every=20, save_all=True)


@healthy
def only_losses(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net), 500, held=data.held(90), collections=("losses",), watch=[])


# -- digits: labels and losses

@healthy
def label_smoothing(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(64), nn.CrossEntropyLoss(label_smoothing=0.1), adam(net, 2e-3), 900, every=3, held=data.held(90))


@healthy
def wrong_labels(path, seed):
    """One label in ten is wrong, in both sets; trained until it fits what can be fitted."""
    data, net = digits(seed), dense(64, 10, hidden=24)
    g = torch.Generator().manual_seed(seed)
    for y in (data.y, data.held_y):
        wrong = torch.rand(len(y), generator=g) < 0.1
        y[wrong] = torch.randint(0, 10, (int(wrong.sum()),), generator=g)
    fit(path, net, data.batch(64), nn.CrossEntropyLoss(), sgd(net, 0.02, weight_decay=1e-3), 500, held=data.held(120))


@healthy
def rare_digit(path, seed):
    """Threes are as one in twenty of the others."""
    data, net = digits(seed), dense(64, 10)
    data.keep((data.y != 3) | (torch.rand(len(data.y), generator=torch.Generator().manual_seed(seed)) < 0.15))
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3), 600, every=2, held=data.held(180), eval_every=60,
        eval_batches=2)


@healthy
def weighted_classes(path, seed):
    data, net = digits(seed), dense(64, 2)
    data.y, data.held_y = (data.y == 7).long(), (data.held_y == 7).long()
    fit(path, net, data.batch(48), nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.8])), adam(net), 300, held=data.held(120),
        eval_every=60, eval_batches=3)


@healthy
def negative_log_likelihood(path, seed):
    torch.manual_seed(seed)
    data, net = Table("iris", seed), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3), nn.LogSoftmax(1))
    fit(path, net, data.batch(120), nn.NLLLoss(), sgd(net, 0.1), 300, held=data.held(30), eval_every=30)


@healthy
def distillation(path, seed):
    data, net, teacher = digits(seed), dense(64, 10), dense(64, 10, hidden=64)
    first = adam(teacher, 3e-3)
    for step in range(300):
        x, y = data.batch(64)(step)
        first.zero_grad()
        nn.functional.cross_entropy(teacher(x), y).backward()
        first.step()

    def soft(step):
        x, _ = data.batch(64)(step)
        with torch.no_grad():
            return x, teacher(x).div(3).softmax(1)

    fit(path, net, soft, nn.KLDivLoss(reduction="batchmean"), adam(net, 2e-3), 600, every=2,
        forward=lambda net, x: net(x).div(3).log_softmax(1))


@healthy
def many_labels(path, seed):
    data, net = digits(seed), dense(64, 10)
    one_hot = lambda of: lambda k: (of(k)[0], nn.functional.one_hot(of(k)[1], 10).float())  # noqa: E731
    fit(path, net, one_hot(data.batch(32)), nn.BCEWithLogitsLoss(), adam(net, 2e-3), 400, held=one_hot(data.held(90)))


@healthy
def triplets(path, seed):
    """A loss that is exactly zero more and more often."""
    data, net = digits(seed), dense(64, 8)

    def three(step):
        x, y = data.batch(96)(step)
        order = [torch.nonzero((y == k) if same else (y != k))[step % 7 % int(((y == k) if same else (y != k)).sum())][0]
                 for same in (True, False) for k in y[:32]]
        return torch.cat([x[:32], x[torch.stack(order)]]), y

    class Loss(nn.Module):
        def forward(self, out, y):
            return nn.functional.triplet_margin_loss(out[:32], out[32:64], out[64:], margin=0.3)

    Loss.__name__ = "TripletLoss"
    fit(path, net, three, Loss(), adam(net), 300)


@healthy
def variational(path, seed):
    data, net = digits(seed), Vae()

    class VaeLoss(nn.Module):
        def forward(self, out, x):
            seen, mean, spread = out
            return ((seen - x) ** 2).sum(1).mean() - 0.5 * (1 + spread - mean ** 2 - spread.exp()).sum(1).mean()

    data.y, data.held_y = data.x, data.held_x
    fit(path, net, data.batch(64), VaeLoss(), adam(net, 2e-3), 500, held=data.held(90))


@healthy
def sparse_autoencoder(path, seed):
    data, net = digits(seed), nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 64))
    data.y, data.held_y = data.x, data.held_x
    fit(path, net, data.batch(32), nn.MSELoss(), adam(net, 2e-3), 600, every=5, held=data.held(90))


# -- digits: other ways to train

@healthy
def autocast(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3), 300, held=data.held(90), autocast=True)


@healthy
def scaled_loss(path, seed):
    """Gradients are those of a loss 1024 times as large, as with a static loss scale."""
    data, net = digits(seed), dense(64, 10)

    def unscale(step, net, rank):
        for p in net.parameters():
            p.grad /= 1024

    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3), 300, scale=lambda step: 1024, after=unscale)


@healthy
def accumulated_8(path, seed):
    data, net = digits(seed), dense(64, 10)
    fit(path, net, data.batch(8), nn.CrossEntropyLoss(), adam(net, 4e-3), 60, accumulate=8, held=data.held(90), eval_every=10,
        eval_batches=5)


@healthy
def accumulated_4_every_10(path, seed):
    data, net = digits(seed, True), conv()
    fit(path, net, data.batch(16), nn.CrossEntropyLoss(), sgd(net, 0.05), 200, accumulate=4, every=10, held=data.held(90))


@healthy
def fine_tuning(path, seed):
    """A trained body is frozen, with its normalisation; a new head is trained."""
    data, net = digits(seed, True), conv()
    first = adam(net, 3e-3)
    for step in range(120):
        x, y = data.batch(64)(step)
        first.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        first.step()
    for p in net.parameters():
        p.requires_grad_(False)
    net[-1] = nn.Linear(net[-1].in_features, 10)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net[-1], 3e-3), 200, held=data.held(90))


@healthy
def unfreezing(path, seed):
    """The body joins in at step 120."""
    data, net = digits(seed), dense(64, 10)
    for p in net[0].parameters():
        p.requires_grad_(False)
    opt = sgd(net, 0.03)

    def change(step, net, rank):
        if step == 120:
            for p in net[0].parameters():
                p.requires_grad_(True)

    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), opt, 300, change=change, held=data.held(90))


@healthy
def curriculum(path, seed):
    """Easy samples first: noise is added step by step."""
    data, net = digits(seed), dense(64, 10)

    def noisy(step):
        x, y = data.batch(32)(step)
        g = torch.Generator().manual_seed(seed * 31 + step)
        return x + min(1.0, step / 400) * torch.randn(x.shape, generator=g), y

    fit(path, net, noisy, nn.CrossEntropyLoss(), adam(net, 2e-3), 600, held=data.held(90))


@healthy
def mixture_of_experts(path, seed):
    data, net = digits(seed), Gated(64, 10)
    fit(path, net, data.batch(16), nn.CrossEntropyLoss(), adam(net, 2e-3), 400, held=data.held(90))


@healthy
def cosine_to_zero(path, seed):
    """The learning rate comes to nothing at the end, and every step is saved."""
    data, net = digits(seed), dense(64, 10)
    opt = sgd(net, 0.05)
    fit(path, net, data.batch(64), nn.CrossEntropyLoss(), opt, 700, schedule=optim.lr_scheduler.CosineAnnealingLR(opt, 700),
        held=data.held(90), eval_every=100)
