"""overhead.py - how much longer a step takes when losses, statistics, digests or whole tensors are recorded, and with auto() as it is.

Usage: overhead.py DIRECTORY [--rounds N] [--batch N] [--forms FORM...]     (with the library's folder in PYTHONPATH)

Trains a transformer of 10 million parameters on the CPU, in one thread. Every way of recording trains BLOCK steps in turn, so that a
machine that changes its speed changes them all alike; the time of a block includes waiting until all of it is on disk. Shown are
medians of (a block) / (the block without the hook in the same round), three times: of the clock, which takes an idle core for the
hook's thread; of the processor time of the training's thread; and of that of the whole process, which is what a step takes where
the hook's thread has no core of its own. At an interval of 100 a block would have to be ten times as long: those figures are computed
from those of losses and of every tenth step.
"""
import argparse
import os
import shutil
import statistics
import time

import torch
from torch import nn

import assay_hook

BLOCK, LENGTH, WIDTH, LAYERS, TOKENS = 10, 128, 320, 8, 256
ALWAYS, FORMS = ("losses", "auto"), ("laws", "statistics", "digest", "raw")
LAWS = {"laws": "all", "turns": True}  # of each step, and of as many as they may
AIMS = {"auto": "1.03", "laws every 1": "1.03", "losses": "1.01", "statistics every 1": "1.10", "digest every 1": "1.05"}
CLOCKS = (time.perf_counter, time.thread_time, time.process_time)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.embedding, self.encoder = nn.Embedding(TOKENS, WIDTH), nn.TransformerEncoder(layer, LAYERS)
        self.head = nn.Linear(WIDTH, TOKENS)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x)))


class Training:
    """A network, its optimizer, and one way of recording it; one step is behind it."""

    def __init__(self, directory, form, interval, batch):
        torch.manual_seed(1)
        self.net, self.loss = Transformer(), nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
        self.data = torch.randint(TOKENS, (batch, LENGTH + 1))
        self.hook = None
        self.step()
        if form == "losses":
            self.hook = assay_hook.Hook(directory, save_config=assay_hook.SaveConfig(save_interval=1))
            self.hook.register_loss(self.loss)
            self.net.register_forward_pre_hook(lambda module, inputs: self.hook.step())
        elif form in LAWS:
            self.hook = assay_hook.Hook(directory, save_config=assay_hook.SaveConfig(save_interval=interval), laws=LAWS[form])
            self.hook.register_module(self.net)
            self.hook.register_optimizer(self.optimizer)
        elif form == "auto":  # as it is by default
            self.hook = assay_hook.auto(directory, self.net, self.loss, self.optimizer)
            self.step()
        elif form:
            self.hook = assay_hook.auto(directory, self.net, self.loss, self.optimizer, budget=None, record=form)
            for name in ("weights", "biases", "gradients"):
                self.hook.set_interval(name, interval)

    def step(self):
        x, y = self.data[:, :-1], self.data[:, 1:]
        self.optimizer.zero_grad()
        self.loss(self.net(x).flatten(0, 1), y.flatten()).backward()
        self.optimizer.step()

    def block(self):
        """Seconds of each clock."""
        began = [clock() for clock in CLOCKS]
        for _ in range(BLOCK):
            self.step()
        if self.hook:
            self.hook.flush()
        return [clock() - before for clock, before in zip(CLOCKS, began)]


def measure(directory, rounds, batch, forms):
    """{way: [seconds of each clock] of every round}"""
    ways = {"none": (None, 0), **{form: (form, 0) for form in ALWAYS}}
    ways.update({"%s every %d" % (form, n): (form, n) for form in forms for n in (1, 10)})
    taken = {way: [] for way in ways}
    for _ in range(rounds):
        for way, (form, interval) in ways.items():
            where = os.path.join(directory, way.replace(" ", "-"))
            training = Training(where, form, interval, batch)
            taken[way].append(training.block())
            if training.hook:
                training.hook.close()
            shutil.rmtree(where, ignore_errors=True)
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    directory = os.path.join(arguments.directory, "hook-overhead")
    shutil.rmtree(directory, ignore_errors=True)
    taken = measure(directory, arguments.rounds, arguments.batch, arguments.forms)
    plain = [statistics.median(block[i] for block in taken["none"]) / BLOCK for i in range(len(CLOCKS))]
    ratio = {way: [statistics.median(a[i] / b[i] for a, b in zip(blocks, taken["none"])) for i in range(len(CLOCKS))]
             for way, blocks in taken.items() if way != "none"}
    for form in arguments.forms:
        ratio[form + " every 100"] = [losses + max(0.0, tenth - losses) / 10
                                      for losses, tenth in zip(ratio["losses"], ratio[form + " every 10"])]
    print("%d parameters, %d tokens a step, %d rounds of %d steps; without the hook %.3f s a step, %.3f s of the processor" % (
        sum(p.numel() for p in Transformer().parameters()), arguments.batch * LENGTH, arguments.rounds, BLOCK, plain[0], plain[2]))
    print("| recorded | with / without, by the clock | processor, the training's thread | processor, all | aim |\n|---|---|---|---|---|")
    for way in sorted(ratio, key=lambda way: ((ALWAYS + FORMS).index(way.split()[0]), len(way))):
        print("| %s | %s | %s |" % (way, " | ".join("%.3f" % r for r in ratio[way]), AIMS.get(way, "")))


if __name__ == "__main__":
    main()
