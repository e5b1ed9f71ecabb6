"""bands_trainings.py - small trainings that are alike but for their seeds, and faulty ones among them: what the bands of good runs and
the outliers of a comparison are measured on (bands.py) and tested with (tests/e2e).

Every training is data parallel over two workers in one process: each has its own batches and a hook of its own, the
gradients are averaged. The data of a kind are the same at every seed; a seed decides initial weights and order.
"""
import contextlib
import io
import random

import numpy
import torch
from torch import nn

import assay_hook

WORKERS = 2
FAULTS = ("rate", "labels", "frozen", "worker", "half", "scale")  # and "few": half the data over as many steps


def clusters(classes=6, features=24, samples=1536, spread=1.6):
    """Overlapping clusters: no network gets all of them right."""
    make = torch.Generator().manual_seed(1)
    centers = torch.randn(classes, features, generator=make)
    y = torch.randint(classes, (samples,), generator=make)
    x = centers[y] + spread * torch.randn(samples, features, generator=make)
    return x, y


def images(classes=4, side=10, samples=1024):
    make = torch.Generator().manual_seed(2)
    patterns = torch.randn(classes, 1, side, side, generator=make)
    y = torch.randint(classes, (samples,), generator=make)
    shift = torch.randint(3, (samples,), generator=make)
    x = torch.stack([torch.roll(patterns[c], int(s), 2) for c, s in zip(y, shift)])
    return x + 1.5 * torch.randn(samples, 1, side, side, generator=make), y


def sequences(words=16, length=12, samples=1024):
    """Walks over words in which the next one depends on the last two."""
    make = torch.Generator().manual_seed(3)
    table = torch.randn(words, words, words, generator=make).mul(2).softmax(-1)
    walk = torch.randint(words, (samples, 2), generator=make)
    while walk.shape[1] < length + 1:
        odds = table[walk[:, -2], walk[:, -1]]
        walk = torch.cat([walk, torch.multinomial(odds, 1, generator=make)], 1)
    return walk[:, :-1], walk[:, 1:]


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(24, 48), nn.Linear(48, 48), nn.Linear(48, 6)
        self.relu1, self.relu2 = nn.ReLU(), nn.ReLU()

    def forward(self, x):
        return self.fc3(self.relu2(self.fc2(self.relu1(self.fc1(x)))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.relu1, self.relu2, self.pool, self.fc = nn.ReLU(), nn.ReLU(), nn.MaxPool2d(2), nn.Linear(16 * 4, 4)

    def forward(self, x):
        x = self.pool(self.relu1(self.bn1(self.conv1(x))))
        x = self.pool(self.relu2(self.bn2(self.conv2(x))))
        return self.fc(x.flatten(1))


class Dropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(24, 64), nn.Linear(64, 32), nn.Linear(32, 6)
        self.gelu1, self.gelu2, self.dropout = nn.GELU(), nn.GELU(), nn.Dropout(0.2)

    def forward(self, x):
        return self.fc3(self.dropout(self.gelu2(self.fc2(self.dropout(self.gelu1(self.fc1(x)))))))


class Lstm(nn.Module):
    scale = 1

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.fc = nn.Embedding(16, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 16)

    def forward(self, x):
        return self.fc(self.lstm(self.embedding(x) * self.scale)[0]).transpose(1, 2)


class Transformer(nn.Module):
    scale = 1

    def __init__(self):
        super().__init__()
        self.embedding, self.place = nn.Embedding(16, 32), nn.Parameter(torch.randn(12, 32) * 0.1)
        self.query, self.key, self.value = nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 32)
        self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
        self.wide, self.gelu, self.narrow, self.fc = nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32), nn.Linear(32, 16)

    def forward(self, x):
        x = self.embedding(x) * self.scale + self.place
        q, k, v = self.query(self.norm1(x)), self.key(self.norm1(x)), self.value(self.norm1(x))
        late = torch.ones(12, 12).triu(1).bool()
        x = x + (q @ k.transpose(1, 2) / 32 ** 0.5).masked_fill(late, -1e9).softmax(-1) @ v
        return self.fc(x + self.narrow(self.gelu(self.wide(self.norm2(x))))).transpose(1, 2)


# network, data, optimizer, learning rate, samples of a worker's batch, the layer that a fault freezes
KINDS = {
    "mlp-sgd": (Mlp, clusters, "sgd", 0.05, 32, "fc2"),
    "cnn-sgd": (Cnn, images, "sgd", 0.02, 16, "conv2"),
    "mlp-small-batch": (Mlp, clusters, "sgd", 0.02, 4, "fc2"),
    "mlp-adam": (Mlp, clusters, "adam", 0.002, 16, "fc1"),
    "cnn-adam": (Cnn, images, "adam", 0.001, 8, "conv2"),
    "lstm-adam": (Lstm, sequences, "adam", 0.005, 16, "fc"),
    "dropout-adamw": (Dropout, clusters, "adamw", 0.003, 16, "fc2"),
    "transformer-adam": (Transformer, sequences, "adam", 0.002, 16, "wide"),
}


def optimizer_of(name, parameters, rate):
    parameters = [p for p in parameters if p.requires_grad]
    if name == "adamw":
        return torch.optim.AdamW(parameters, rate, weight_decay=0.05)
    return torch.optim.SGD(parameters, rate, momentum=0.9) if name == "sgd" else torch.optim.Adam(parameters, rate)


def make_workers(kind, path, seed, fault, interval):
    network, _, name, rate, _, frozen = KINDS[kind]
    rate = 10 * rate if fault == "rate" else rate
    workers, modes = [], assay_hook.modes
    saved = {modes.TRAIN: assay_hook.SaveConfigMode(interval), modes.EVAL: assay_hook.SaveConfigMode(1)}
    for rank in range(WORKERS):
        torch.manual_seed(seed)
        net, loss = network(), nn.CrossEntropyLoss()
        if fault == "frozen":
            getattr(net, frozen).requires_grad_(False)
        if fault == "scale":
            net.scale = 8  # of networks that embed words; the others get their inputs so
        assay_hook._rank_and_workers = lambda rank=rank: (rank, WORKERS)
        hook = assay_hook.Hook(path, include_workers="all", save_config=saved,
                               include_collections=["weights", "biases", "gradients", "losses"],
                               include_regex=["relu|gelu|^(Mlp|Cnn|Dropout)_input"],
                               config={"lr": rate, "optimizer": name, "seed": seed, "kind": kind})
        hook.register_module(net)
        hook.register_loss(loss)
        workers.append((net, loss, optimizer_of(name, net.parameters(), rate), hook))
    return workers


def spoil(x, y, fault):
    """The training data as a fault changes it."""
    if fault in ("half", "few"):
        x, y = x[::2], y[::2]
    if fault == "scale" and x.is_floating_point():
        x = x * 0.25 + 0.5
    if fault == "labels":
        wrong = torch.rand(y.shape, generator=torch.Generator().manual_seed(5)) < 0.4
        y = torch.where(wrong, torch.randint(int(y.max()) + 1, y.shape, generator=torch.Generator().manual_seed(6)), y)
    return x, y


def average(workers):
    for parts in zip(*(w[0].parameters() for w in workers)):
        if parts[0].grad is not None:
            mean = sum(p.grad for p in parts) / len(parts)
            for p in parts:
                p.grad.copy_(mean)


def train(kind, path, seed, fault=None, steps=240, interval=6):
    """Records one training. Faults: a learning rate ten times too high, 40 % of the labels wrong, a frozen layer, a
    worker whose gradients are not averaged and whose labels are shuffled, half the data, inputs scaled wrongly."""
    steps = steps // 2 if fault == "half" else steps  # as many epochs
    x, y = KINDS[kind][1]()
    cut = len(x) * 3 // 4
    (x, y), (held_x, held_y) = spoil(x[:cut], y[:cut], fault), (x[cut:], y[cut:])
    if fault == "scale":
        held_x, _ = spoil(held_x, held_y, fault)
    order, batch = numpy.random.RandomState(seed), KINDS[kind][4]
    random.seed(seed)
    workers = make_workers(kind, path, seed, fault, interval)
    queue = []
    for step in range(steps):
        for rank, (net, loss, optimizer, hook) in enumerate(workers):
            if len(queue) < batch:
                queue = order.permutation(len(x)).tolist()
            picked, queue = queue[:batch], queue[batch:]
            target = y[picked]
            if fault == "worker" and rank == 1:
                target = target[torch.randperm(len(target))]
            hook.set_mode(assay_hook.modes.TRAIN)
            optimizer.zero_grad()
            net.train()
            loss(net(x[picked]), target).backward()
        if fault != "worker":
            average(workers)
        for net, loss, optimizer, hook in workers:
            optimizer.step()
        if step % 20 == 19:
            evaluate(workers, held_x, held_y)
    for *_, hook in workers:
        with contextlib.redirect_stderr(io.StringIO()):
            hook.close()


def evaluate(workers, x, y):
    for rank, (net, loss, _, hook) in enumerate(workers):
        hook.set_mode(assay_hook.modes.EVAL)
        net.eval()
        with torch.no_grad():
            loss(net(x[rank::WORKERS]), y[rank::WORKERS])
