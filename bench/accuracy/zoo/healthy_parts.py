"""healthy_parts.py - healthy trainings of networks of which parts take turns, are frozen or rounded, or are computed in other ways."""
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from assay_hook import modes
from loop import finish, fit, fleet, hook_for
from nets import Chars, conv, dense
from registry import adam, digits, healthy, sgd
from sets import Letters


def generator(seed, step):
    return torch.Generator().manual_seed(seed * 6700417 + step)


# -- parts of a network that take turns

class Experts(nn.Module):
    """Each sample goes to one of eight experts, with some chance to another one than the gate would choose; some get few."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(64, 8)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 10)) for _ in range(8))

    def forward(self, x):
        scores = self.gate(x)
        chosen = (scores + 0.8 * torch.randn_like(scores) * self.training).argmax(1)
        weight = scores.softmax(1).gather(1, chosen[:, None])[:, 0]
        out = torch.zeros(len(x), 10)
        for i, expert in enumerate(self.experts):
            rows = (chosen == i).nonzero()[:, 0]
            if len(rows):
                out = out.index_add(0, rows, weight[rows, None] * expert(x[rows]))
        return out


@healthy
def rare_experts(path, seed):
    data, net = digits(seed), Experts()
    with torch.no_grad():
        net.gate.weight.mul_(0.3)
        net.gate.bias.copy_(torch.tensor([0., 0, 0, 0, 0, -0.3, -0.5, -0.6]))
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 2e-3), 400, held=data.held(300))


@healthy
def stochastic_depth(path, seed):
    """Blocks that are left out at random: at such a step they have no gradient."""
    data = digits(seed)

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(64, 32), nn.Linear(32, 10)
            self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)) for _ in range(6))
            self.chance, self.step = torch.Generator().manual_seed(seed), 0

        def forward(self, x):
            x = self.first(x)
            for block in self.blocks:
                if not self.training:
                    x = x + 0.7 * block(x)
                elif torch.rand(1, generator=self.chance) < 0.7:
                    x = x + block(x)
            return self.last(x)

    net = Deep()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), adam(net, 1e-3), 400, held=data.held(300))


class Adapted(nn.Linear):
    """A linear layer that stays as it is, beside a product of two thin ones, the second of which begins at zero."""

    def __init__(self, base, rank=4):
        super().__init__(base.in_features, base.out_features)
        self.load_state_dict(base.state_dict())
        self.weight.requires_grad_(False)
        self.bias.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return super().forward(x) + x @ self.lora_a.t() @ self.lora_b.t()


@healthy
def adapters(path, seed):
    """A network that knows seven digits learns the others by adapters of low rank; everything else is frozen."""
    data, net = digits(seed), nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10))
    optimizer, known = adam(net, 2e-3), digits(seed).keep(data.y < 7)
    for step in range(150):
        x, y = known.batch(64)(step)
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    for i in (0, 2, 4):
        net[i] = Adapted(net[i])
    trained = [p for p in net.parameters() if p.requires_grad]
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), optim.AdamW(trained, 3e-3), 300, held=data.held(300))


# -- other ways to compute

class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().max() / 7 + 1e-12
        return (x / scale).round() * scale

    @staticmethod
    def backward(ctx, grad):
        return grad


@healthy
def quantised(path, seed):
    """Weights and activations are rounded to four bits in the forward pass; gradients pass straight through."""
    data = digits(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2, self.fc3 = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)
            self.relu1, self.relu2 = nn.ReLU(), nn.ReLU()

        def forward(self, x):
            x = Rounded.apply(self.relu1(F.linear(x, Rounded.apply(self.fc1.weight), self.fc1.bias)))
            x = Rounded.apply(self.relu2(F.linear(x, Rounded.apply(self.fc2.weight), self.fc2.bias)))
            return F.linear(x, Rounded.apply(self.fc3.weight), self.fc3.bias)

    net = Net()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.05), 400, every=2, held=data.held(300))


@healthy
def clipped_recurrence(path, seed):
    """A plain recurrent network over long sequences: gradients explode now and then and are clipped."""
    torch.manual_seed(seed)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.fc = nn.RNN(2, 32, batch_first=True), nn.Linear(32, 1)

        def forward(self, x):
            return self.fc(self.rnn(x)[0][:, -1])

    def batch(step):  # the sum of two marked numbers
        g = generator(seed, step)
        x = torch.stack([torch.rand(48, 20, generator=g), torch.zeros(48, 20)], 2)
        marks = torch.stack([torch.randperm(20, generator=g)[:2] for _ in range(48)])
        x[torch.arange(48)[:, None], marks, 1] = 1
        return x, (x[:, :, 0] * x[:, :, 1]).sum(1, keepdim=True)

    net = Recurrent()
    with torch.no_grad():
        net.rnn.weight_hh_l0.copy_(1.1 * torch.eye(32))
    fit(path, net, batch, nn.MSELoss(), adam(net, 1e-3), 500, every=5, clip=0.5, held=lambda k: batch(10 ** 6 + k))


@healthy
def checkpointed(path, seed):
    """Activations are computed again in the backward pass: modules run twice a step."""
    data = digits(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(64, 64), nn.Linear(64, 10)
            self.block1 = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
            self.block2 = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())

        def forward(self, x):
            x = self.first(x)
            x = checkpoint(self.block1, x, use_reentrant=False)
            return self.last(checkpoint(self.block2, x, use_reentrant=False))

    net = Net()
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(), sgd(net, 0.02), 300, every=2, held=data.held(300))


@healthy
def sharpness_aware(path, seed):
    """Two passes a step: the second one on weights that were moved uphill, and moved back before the update."""
    data = digits(seed)
    net, loss = dense(64, 10), nn.CrossEntropyLoss()
    hook, opt = hook_for(path, 2), sgd(net, 0.05)
    hook.register_module(net)
    hook.register_loss(loss)
    for step in range(300):
        hook.set_mode(modes.TRAIN)
        net.train()
        x, y = data.batch(32)(step)
        opt.zero_grad()
        loss(net(x), y).backward()
        size = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        moves = [0.05 * p.grad / (size + 1e-12) for p in net.parameters()]
        with torch.no_grad():
            for p, move in zip(net.parameters(), moves):
                p.add_(move)
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            for p, move in zip(net.parameters(), moves):
                p.sub_(move)
        opt.step()
        if step % 30 == 29:
            hook.set_mode(modes.EVAL)
            net.eval()
            with torch.no_grad():
                loss(net(data.held_x), data.held_y)
    finish(hook)


@healthy
def speech(path, seed):
    """Connectionist temporal classification: the loss of sequences that are not aligned, large at first."""
    torch.manual_seed(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.fc = nn.GRU(6, 24, batch_first=True, bidirectional=True), nn.Linear(48, 6)

        def forward(self, x):
            return F.log_softmax(self.fc(self.gru(x)[0]), 2).transpose(0, 1)

    class Alignment(nn.Module):
        def forward(self, scores, said):
            n, length = said.shape
            return F.ctc_loss(scores, said, torch.full((n,), len(scores)), torch.full((n,), length))

    def batch(step):
        g = generator(seed, step)
        said = torch.randint(1, 6, (24, 4), generator=g)
        frames = said.repeat_interleave(4, 1)
        return F.one_hot(frames, 6) + 0.4 * torch.randn(24, 16, 6, generator=g), said

    net = Net()
    fit(path, net, batch, Alignment(), adam(net, 3e-3), 400, every=4, clip=5.0, held=lambda k: batch(10 ** 6 + k))


@healthy
def skip_grams(path, seed):
    """Vectors of words from their neighbours: sparse rows, most of them rarely touched."""
    torch.manual_seed(seed)
    words = 500

    class Vectors(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside, self.outside = nn.Embedding(words, 16), nn.Embedding(words, 16)
            nn.init.zeros_(self.outside.weight)

        def forward(self, pairs):
            return (self.inside(pairs[:, :1]) * self.outside(pairs[:, 1:])).sum(2)

    def batch(step):
        g = generator(seed, step)
        odds = 1.0 / torch.arange(1, words + 1) ** 1.2
        first = torch.multinomial(odds, 64, True, generator=g)
        near = (first + torch.randint(1, 4, (64,), generator=g)) % words
        others = torch.randint(0, words, (64, 5), generator=g)
        return torch.cat([first[:, None], near[:, None], others], 1), torch.cat([torch.ones(64, 1), torch.zeros(64, 5)], 1)

    net = Vectors()
    fit(path, net, batch, nn.BCEWithLogitsLoss(), adam(net, 0.01), 400, every=4)


@healthy
def smoothed_and_restarted(path, seed):
    data, net = digits(seed, images=True), conv()
    opt = sgd(net, 0.05)
    fit(path, net, data.batch(32), nn.CrossEntropyLoss(label_smoothing=0.2), opt, 400, every=2, held=data.held(300), eval_every=25,
        schedule=optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 100))


@healthy
def letters_of_4_workers(path, seed):
    """A language model on four workers, warmed up, clipped, evaluated on rank 0 alone."""
    torch.manual_seed(seed)
    text = Letters(seed)
    parts = [text.batch(4, 24, number=r) for r in range(4)]
    fleet(path, Chars(text.count), lambda rank, step: parts[rank](step), nn.CrossEntropyLoss,
          lambda n: optim.AdamW(n.parameters(), 3e-3), 200, 4, every=4, held=lambda k: text.batch(16, 24, number=9)(k), eval_ranks=[0])
