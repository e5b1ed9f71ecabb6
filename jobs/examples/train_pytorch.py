"""train_pytorch.py - a small PyTorch training, recorded by assay's hook.

    PYTHONPATH=PREFIX/share/assay/python python3 train_pytorch.py runs/pytorch
    assay run jobs/image-classifier.json --trial runs/pytorch

    torchrun --nproc_per_node 4 train_pytorch.py runs/ddp     every process is a worker then; docs/hook.md says how on Debian 12

Images of 12 x 12 pixels hold a bar, a cross or a square somewhere; a convolutional network learns which. The hook's
calls are marked; without them the training is the same.
"""
import argparse
import os

import torch
from torch import nn

import assay_hook
from assay_hook import SaveConfig, SaveConfigMode, modes

SIZE = 12


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.relu1 = nn.Conv2d(1, 8, 3, padding=1), nn.ReLU()
        self.conv2, self.relu2 = nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc1, self.relu3 = nn.Linear(16 * 9, 32), nn.ReLU()
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        x = self.pool(self.relu1(self.conv1(x)))
        x = self.pool(self.relu2(self.conv2(x)))
        return self.fc2(self.relu3(self.fc1(x.flatten(1))))


def draw(count, generator):
    """Images and their classes: 0 bar, 1 cross, 2 square."""
    y = torch.randint(3, (count,), generator=generator)
    x = 0.3 * torch.randn(count, 1, SIZE, SIZE, generator=generator)
    corners = torch.randint(SIZE - 5, (count, 2), generator=generator)
    for i in range(count):
        r, c = corners[i].tolist()
        shape = x[i, 0, r:r + 5, c:c + 5]
        if y[i] == 2:
            shape[0], shape[4], shape[:, 0], shape[:, 4] = 1, 1, 1, 1
        else:
            shape[2] = 1
            if y[i] == 1:
                shape[:, 2] = 1
    return x, y


def make_hook(directory, interval):
    return assay_hook.Hook(                                                                 # the hook
        directory, include_collections=["weights", "biases", "gradients", "losses"],
        include_regex=["relu.*_output", "CrossEntropyLoss_input"], include_workers="all",
        save_config=SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=interval),
                                modes.EVAL: SaveConfigMode(save_interval=1)}))


def train(net, loss_fn, hook, steps, generator, workers):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    correct = 0.0
    for step in range(steps):
        hook.set_mode(modes.TRAIN)                                                          # the hook
        x, y = draw(32, generator)
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        for p in net.parameters() if workers > 1 else []:
            torch.distributed.all_reduce(p.grad)
            p.grad /= workers
        optimizer.step()
        if step % 50 == 49:
            hook.set_mode(modes.EVAL)                                                       # the hook
            with torch.no_grad():
                x, y = draw(128, generator)
                out = net(x)
                loss_fn(out, y)
                correct = (out.argmax(1) == y).float().mean().item()
            hook.save_scalar("accuracy", correct)                                           # the hook
    return correct


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--interval", type=int, default=5, help="steps from one saved step to the next")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    hook = make_hook(arguments.directory, arguments.interval)                               # the hook
    rank, workers = 0, int(os.environ.get("WORLD_SIZE", "1"))
    if workers > 1:
        torch.distributed.init_process_group("gloo")
        rank = torch.distributed.get_rank()
    net, loss_fn = Net(), nn.CrossEntropyLoss()
    hook.register_module(net)                                                               # the hook
    hook.register_loss(loss_fn)                                                             # the hook
    correct = train(net, loss_fn, hook, arguments.steps, torch.Generator().manual_seed(rank), workers)
    hook.close()                                                                            # the hook
    if rank == 0:
        print("%.0f %% of the last evaluation's images were right" % (100 * correct))


if __name__ == "__main__":
    main()
