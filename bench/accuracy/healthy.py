"""healthy.py - trainings with which nothing is wrong. TRAININGS maps a name to a function (path, seed) that records one."""
import numpy
import torch
from torch import nn
from torch.nn.utils import prune

import assay_hook
from assay_hook import SaveConfig, modes
from data import Curve, Few, Fields, Images, Points, Waves, Words, generator
from networks import (AutoEncoder, ConvNet, Gan, Language, Lstm, Mlp, Recommender, ResNet, Segmenter, Tanh, Vit)
from training import REGEX, Plan, close, record, warm_up

TRAININGS = {}


def training(made):
    """Registers a Plan, or a function (path, seed), under its name in lower case."""
    if isinstance(made, type):
        TRAININGS[made.__name__.lower()] = lambda path, seed: record(path, made(seed))
    else:
        TRAININGS[made.__name__] = made
    return made


@training
class Mlp_Sgd(Plan):
    def make(self):
        self.net, self.data = Mlp(), Points(self.seed)


@training
class Mlp_Dropout(Plan):
    """Adam, weight decay, dropout."""

    steps, every = 300, 5

    def make(self):
        self.net, self.data = Mlp(dropout=0.3), Points(self.seed, classes=6)
        self.net.fc3 = nn.Linear(32, 6)

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.003, weight_decay=1e-3)


@training
class Mlp_Tanh(Plan):
    def make(self):
        self.net, self.data = Tanh(), Points(self.seed, noise=0.7)


@training
class Cnn_Batchnorm(Plan):
    """Convolutions with biases in front of batch normalisation, four batches an evaluation."""

    eval_batches, save_all, every = 4, True, 5

    def make(self):
        self.net, self.data = ConvNet(), Images(self.seed)


@training
class Resnet_Cosine(Plan):
    """Blocks that begin as the identity, weight decay, a cosine to zero."""

    steps = 120

    def make(self):
        self.net, self.data = ResNet(), Images(self.seed)

    def optimizer(self, net):
        return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)

    def schedule(self, optimizer):
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)


@training
class Vit_Warm_Up(Plan):
    steps, save_all, every = 150, True, 5

    def make(self):
        self.net, self.data = Vit(), Images(self.seed)

    def optimizer(self, net):
        return torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)

    def schedule(self, optimizer):
        return warm_up(optimizer, 40, self.steps)


@training
class Vit_Adamw(Plan):
    """Without a warm-up."""

    steps, every = 200, 10

    def make(self):
        self.net, self.data = Vit(), Images(self.seed)

    def optimizer(self, net):
        return torch.optim.AdamW(net.parameters(), lr=1e-3)


@training
class Lstm_Clipped(Plan):
    steps, clip = 250, 1.0

    def make(self):
        self.net, self.data = Lstm(), Waves(self.seed, noise=0.3)

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.005)


@training
class Language_Tied(Plan):
    """A transformer whose output layer is its embedding; most words are rare."""

    steps = 200

    def make(self):
        self.net, self.data = Language(), Words(self.seed)

    def optimizer(self, net):
        return torch.optim.AdamW(net.parameters(), lr=3e-3)

    def schedule(self, optimizer):
        return warm_up(optimizer, 30)

    def targets(self, x, y):
        return y.flatten()


@training
class Language_Ignored(Language_Tied):
    """Only some of the words are to be predicted: the labels of the others are -100."""

    steps, every = 200, 4

    def make(self):
        self.net, self.data = Language(tied=False), Words(self.seed)

    def targets(self, x, y):
        y = y.clone()
        y[x % 3 == 0] = -100
        return y.flatten()


@training
class Autoencoder(Plan):
    module, steps = nn.MSELoss, 200

    def make(self):
        self.net, self.data = AutoEncoder(), Points(self.seed, noise=0.3)

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=3e-3)

    def targets(self, x, y):
        return x


@training
def gan(path, seed):
    torch.manual_seed(seed)
    data, net = Points(seed, classes=3, features=8, noise=0.3), Gan()
    hook = assay_hook.Hook(path, save_config=SaveConfig(save_interval=1), include_regex=["relu"],
                           include_collections=["weights", "biases", "gradients", "losses"])
    hook.register_module(net)
    loss_d, loss_g = nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss()
    hook.register_loss(loss_d)
    hook.register_loss(loss_g)
    optimizers = [torch.optim.Adam(part.parameters(), lr=1e-3, betas=(0.5, 0.999))
                  for part in (net.discriminator, net.generator)]
    hook.set_mode(modes.TRAIN)
    ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
    for step in range(200):
        real, made, picture = net(data.batch(32, step)[0], torch.randn(32, 4))
        optimizers[0].zero_grad()
        (loss_d(real, ones) + loss_d(made, zeros)).backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        net.discriminator.requires_grad_(False)  # its gradients of this step are recorded already
        loss_g(net.discriminator(picture), ones).backward()
        net.discriminator.requires_grad_(True)
        optimizers[1].step()
    close([hook])


@training
class Bfloat16(Plan):
    """Weights, activations and gradients in bfloat16; the optimizer keeps them in float32."""

    steps = 200

    def make(self):
        self.net, self.data = Mlp(hidden=64).bfloat16(), Points(self.seed)

    def optimizer(self, net):
        self.exact = [p.detach().float().requires_grad_() for p in net.parameters()]
        return torch.optim.Adam(self.exact, lr=2e-3)

    def inputs(self, step, rank, x, y):
        return x.bfloat16(), y

    def after_backward(self, step, rank, net):
        for exact, p in zip(self.exact, net.parameters()):
            exact.grad = p.grad.float()

    def after_update(self, step, rank, net, optimizer):
        with torch.no_grad():
            for exact, p in zip(self.exact, net.parameters()):
                p.copy_(exact)
                p.grad = None

    eval_every = 1000  # no evaluation: its inputs would be float32


@training
class Cyclic(Plan):
    """The learning rate goes up and down between 0.01 and 0.1."""

    steps = 240

    def make(self):
        self.net, self.data = Mlp(), Points(self.seed)

    def optimizer(self, net):
        return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def schedule(self, optimizer):
        return torch.optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, step_size_up=30, cycle_momentum=False)


@training
class Frozen(Plan):
    """Only the head of a trained network is trained on."""

    def make(self):
        self.net, self.data = Mlp(), Points(self.seed)
        first = torch.optim.Adam(self.net.parameters(), lr=0.005)
        for k in range(60):
            x, y = self.data.batch(64, 3, k)
            first.zero_grad()
            nn.functional.cross_entropy(self.net(x), y).backward()
            first.step()
        nn.init.normal_(self.net.fc3.weight, 0, 0.1)
        for part in (self.net.fc1, self.net.fc2):
            part.requires_grad_(False)

    def optimizer(self, net):
        return torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=0.01)


@training
class Accumulation(Plan):
    """The weights move at every fourth pass."""

    steps, accumulate = 60, 4
    batch = 16

    def make(self):
        self.net, self.data = Mlp(), Points(self.seed)


@training
class Pruned(Plan):
    """Eight of ten weights are masked from the start."""

    def make(self):
        self.net, self.data = Mlp(hidden=48), Points(self.seed)
        for part in (self.net.fc1, self.net.fc2):
            prune.l1_unstructured(part, "weight", 0.8)
            prune.remove(part, "weight")
        self.masks = {k: (p != 0).float() for k, p in self.net.named_parameters() if k in ("fc1.weight", "fc2.weight")}

    def after_update(self, step, rank, net, optimizer):
        with torch.no_grad():
            for name, mask in self.masks.items():
                dict(net.named_parameters())[name].mul_(mask)


@training
class Ddp_2(Plan):
    workers, steps, every = 2, 100, 2

    def make(self):
        self.net, self.data = ConvNet(), Images(self.seed)


@training
class Ddp_4_Chief_Evaluates(Plan):
    """Rank 0 alone evaluates."""

    workers, steps, eval_ranks = 4, 80, (0,)

    def make(self):
        self.net, self.data = Mlp(), Points(self.seed)


@training
class Ddp_8(Plan):
    workers, steps, every = 8, 60, 5

    def make(self):
        self.net, self.data = Mlp(hidden=24), Points(self.seed)

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.005)


@training
class Segmentation(Plan):
    """Scores of the form (N, C, H, W); three of four pixels are ground."""

    steps, batch, eval_size, save_all = 120, 8, 8, True

    def make(self):
        self.net, self.data = Segmenter(), Fields(self.seed)

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.01)


@training
class Imbalanced(Plan):
    """One class in forty, and it is learned well."""

    steps, batch = 300, 48

    def make(self):
        self.net = Mlp(outputs=3)
        self.data = Points(self.seed, classes=3, noise=0.6, shares=[0.6, 0.375, 0.025])


@training
class Regression(Plan):
    module, steps = nn.MSELoss, 300

    def make(self):
        self.net, self.data = Mlp(inputs=8, outputs=1), Curve(self.seed)

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.005)


@training
class Heavy_Tails(Plan):
    """One target in fifty is far off: single batches have a large loss and large gradients."""

    module, steps, batch = nn.MSELoss, 300, 16

    def make(self):
        self.net, self.data = Mlp(inputs=8, outputs=1), Curve(self.seed, tails=True)

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.003)


@training
class Small_Batches(Plan):
    """Four samples a batch: the loss of a single batch says little."""

    steps, batch, eval_size = 400, 4, 16

    def make(self):
        self.net, self.data = Mlp(), Points(self.seed, noise=1.2)

    def optimizer(self, net):
        return torch.optim.SGD(net.parameters(), lr=0.02)


@training
class Converged(Plan):
    """An easy task, trained on until the loss is next to nothing."""

    steps, every, eval_every, eval_size = 600, 2, 40, 32

    def make(self):
        self.net, self.data = Mlp(hidden=64), Points(self.seed, noise=0.5)

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.005)


@training
class Finite_Set(Plan):
    """Two thousand samples, forty passes over them, few small evaluations: the usual gap between both losses."""

    steps, every, eval_every, eval_batches = 800, 10, 100, 1

    def make(self):
        points = Points(self.seed, noise=1.1)
        self.net, self.data, self.held = Mlp(dropout=0.2), Few(points, 2000), points

    def optimizer(self, net):
        return torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)


@training
class Many_Labels(Plan):
    """Several labels a sample, each a question of its own."""

    module, steps = nn.BCEWithLogitsLoss, 200

    def make(self):
        self.net, self.data = Mlp(outputs=6), Points(self.seed, classes=8)
        self.codes = torch.randint(0, 2, (8, 6), generator=generator(self.seed, 12)).float()

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.005)

    def targets(self, x, y):
        return self.codes[y]


@training
class Recommendation(Plan):
    """Embeddings, most of whose rows a batch does not touch."""

    module, steps = nn.MSELoss, 250

    def make(self):
        g = generator(self.seed, 13)
        self.taste, self.kind = torch.randn(200, 3, generator=g), torch.randn(100, 3, generator=g)
        self.net, self.data = Recommender(), self

    def batch_of(self, size, *number):
        g = generator(self.seed, 14, *number)
        users = (torch.rand(size, generator=g) ** 2 * 200).long()
        items = (torch.rand(size, generator=g) ** 2 * 100).long()
        y = (self.taste[users] * self.kind[items]).sum(1) + 0.2 * torch.randn(size, generator=g)
        return torch.stack([users, items], 1), y[:, None]

    class Batches:
        def __init__(self, plan):
            self.batch = plan.batch_of

    @property
    def data(self):
        return Recommendation.Batches(self)

    @data.setter
    def data(self, value):
        pass

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.01)


@training
class Noisy_Labels(Plan):
    """One label in five is wrong, as in much of what is collected: the loss has a floor well above zero."""

    steps, every = 300, 2

    def make(self):
        self.net, self.data = Mlp(), Points(self.seed, noise=0.6)

    def inputs(self, step, rank, x, y):
        g = generator(self.seed, 15, step, rank)
        wrong = torch.rand(y.shape, generator=g) < 0.2
        return x, torch.where(wrong, torch.randint(0, 4, y.shape, generator=g), y)


@training
def xgboost(path, seed):
    """What boosted trees record: metrics of both sets, predictions, labels, importances."""
    random = numpy.random.default_rng(seed)
    from sklearn.ensemble import GradientBoostingClassifier
    x = random.normal(0, 1, (900, 8))
    y = (x[:, 0] + 0.7 * x[:, 1] * x[:, 2] + 0.5 * x[:, 3] + random.normal(0, 0.7, 900) > 0).astype(int)
    trees = GradientBoostingClassifier(n_estimators=40, max_depth=3, random_state=seed).fit(x[:600], y[:600])
    hook = assay_hook.Hook(path, save_config=SaveConfig(save_interval=1), include_collections=[
        "metrics", "predictions", "labels", "feature_importance"])
    stages = zip(trees.staged_predict_proba(x[:600]), trees.staged_predict_proba(x[600:]))
    for number, (train, test) in enumerate(stages):
        hook.step()
        for name, share, labels in (("train", train, y[:600]), ("validation", test, y[600:])):
            right = numpy.clip(share[numpy.arange(len(labels)), labels], 1e-7, 1)
            hook.save_tensor(name + "-logloss", numpy.float64([-numpy.log(right).mean()]), "metrics")
        hook.save_tensor("predictions", test[:, 1].astype(numpy.float32), "predictions")
        hook.save_tensor("labels", y[600:].astype(numpy.float32), "labels")
        importance = trees.estimators_[number, 0].feature_importances_
        for k, value in enumerate(importance):
            if value > 0:
                hook.save_tensor("feature_importance/weight/f%d" % k, numpy.float32([value]), "feature_importance")
    close([hook])
