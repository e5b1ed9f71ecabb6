"""trainings.py - the trainings that the reference recorded as healthy, imbalanced, reductions, ddp and linreg_nan
(tests/data/trials), recorded through assay's own hook.

Usage: trainings.py OUT_DIR NAME [key=value ...]      the rest are parameters of the hook
"""
import sys

import numpy
import torch
from sklearn.datasets import load_digits
from torch import nn

import assay_hook
from assay_hook import ReductionConfig, SaveConfig, SaveConfigMode, modes

TRAININGS = {
    "healthy": dict(steps=200, every=10),
    "imbalanced": dict(steps=200, every=8, keep={0: .03, 1: .05, 8: .1}),
    "reductions": dict(steps=100, every=10, reduce=True),
    "ddp": dict(steps=100, every=10, workers=4),
    "linreg_nan": dict(),
}
SEED = 1


class ConvNet(nn.Module):
    """The trials' network. Parameters are drawn in the order of construction."""

    def __init__(self):
        super().__init__()
        self.conv1, self.act1 = nn.Conv2d(1, 3, 3, padding=1), nn.ReLU()
        self.conv2, self.act2 = nn.Conv2d(3, 6, 3, padding=1), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc1, self.act3 = nn.Linear(96, 24), nn.ReLU()
        self.deep = nn.Sequential()
        self.fc2 = nn.Linear(24, 10)

    def forward(self, x):
        x = self.pool(self.act2(self.conv2(self.act1(self.conv1(x)))))
        return self.fc2(self.deep(self.act3(self.fc1(x.flatten(1)))))


class LinReg(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight1 = nn.Parameter(torch.full((2, 1), 10.0))

    def forward(self, x):
        return x @ self.weight1


def digits(keep=None):
    """Handwritten digits, normalised and shuffled; `keep` is the share of each class's training samples that stays."""
    bundled = load_digits()
    x = bundled.images.astype(numpy.float32)[:, None]
    x = (x - x.mean()) / x.std()
    y = bundled.target.astype(numpy.int64)
    rng = numpy.random.default_rng(SEED)
    order = rng.permutation(len(y))
    x, y = x[order], y[order]
    train, test = numpy.arange(1400), numpy.arange(1400, len(y))
    if keep:
        train = numpy.array([i for i in train if rng.random() < keep.get(int(y[i]), 1.0)])
    return [torch.from_numpy(part) for part in (x[train], y[train], x[test], y[test])]


def linear_regression(out, parameters):
    """Adam with a learning rate of 100 on inputs near 1e22: the loss overflows, then is NaN."""
    torch.manual_seed(SEED)
    rng = numpy.random.default_rng(SEED)
    hook = assay_hook.Hook(out, save_config=SaveConfig(save_interval=1),
                           include_collections=["weights", "gradients", "losses"], **parameters)
    net, loss = LinReg(), nn.MSELoss()
    hook.register_module(net)
    hook.register_loss(loss)
    hook.set_mode(modes.TRAIN)
    optimizer = torch.optim.Adam(net.parameters(), lr=100.0)
    for _ in range(10):
        x = torch.from_numpy((rng.random((10, 2)) * 1e11).astype(numpy.float32) ** 2)
        optimizer.zero_grad()
        loss(net(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    hook.close()


def make_hook(out, training, parameters):
    every, config = training["every"], {}
    if training.get("reduce"):
        config["reduction_config"] = ReductionConfig(["min", "max", "mean", "std", "variance", "sum"], ["mean", "max"],
                                                     ["l1", "l2"], save_shape=True)
        config["sample_variance"] = True  # PyTorch's own, which the reference uses
    loss = "CrossEntropyLoss_(input_0|output_0)" if training.get("reduce") else "CrossEntropyLoss"
    return assay_hook.Hook(out, save_config=SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=every),
                                                        modes.EVAL: SaveConfigMode(save_interval=1)}),
                           include_collections=["weights", "gradients", "biases", "losses"], include_workers="all",
                           include_regex=["relu|act|tanh", loss, "ConvNet_input"], **config, **parameters)


def convolution(out, training, rank, workers, parameters):
    torch.manual_seed(SEED + rank)
    torch.set_num_threads(1)
    if workers > 1:
        torch.distributed.init_process_group("gloo", "file://%s.store" % out, rank=rank, world_size=workers)
    hook = make_hook(out, training, parameters)
    net, loss = ConvNet(), nn.CrossEntropyLoss()
    hook.register_module(net)
    hook.register_loss(loss)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x_train, y_train, x_test, y_test = digits(training.get("keep"))
    generator = torch.Generator().manual_seed(SEED * 7 + rank)
    for step in range(training["steps"]):
        hook.set_mode(modes.TRAIN)
        net.train()
        i = torch.randint(len(y_train), (16,), generator=generator)
        optimizer.zero_grad()
        loss(net(x_train[i]), y_train[i]).backward()
        for parameter in net.parameters() if workers > 1 else []:
            torch.distributed.all_reduce(parameter.grad)
            parameter.grad /= workers
        optimizer.step()
        if (step + 1) % (training["every"] * 5) == 0:
            hook.set_mode(modes.EVAL)
            net.eval()
            with torch.no_grad():
                j = torch.randint(len(y_test), (48,), generator=generator)
                loss(net(x_test[j]), y_test[j])
    hook.close()
    if workers > 1:
        torch.distributed.barrier()


def record(out, name, parameters=None):
    training, parameters = TRAININGS[name], parameters or {}
    workers = training.get("workers", 1)
    if name == "linreg_nan":
        linear_regression(out, parameters)
    elif workers == 1:
        convolution(out, training, 0, 1, parameters)
    else:
        torch.multiprocessing.spawn(run_worker, (out, name, workers, parameters), nprocs=workers)


def run_worker(rank, out, name, workers, parameters):
    convolution(out, TRAININGS[name], rank, workers, parameters)


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2], dict(argument.split("=", 1) for argument in sys.argv[3:]))
    sys.exit(0)
