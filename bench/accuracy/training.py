"""training.py - runs a training of one or several workers and records it through the hook.

The workers of a data-parallel training are copies of one network in one process. Each has a hook of its own and takes its
own batches; the mean of their gradients is what all of them apply. Faults enter through the methods of `Plan`.
"""
import copy

import torch
from torch import nn

import assay_hook
from assay_hook import SaveConfig, SaveConfigMode, modes

REGEX = ["relu", "tanh", "sigmoid", "(Loss|Net|Mlp|Vit|Language|Lstm)_input", "^input"]


class Plan:
    """What to train, and how. The methods do nothing; a fault overrides one of them."""

    workers = 1
    steps, batch = 150, 32
    every, eval_every = 1, 25        # saved TRAIN steps; an evaluation after so many steps
    eval_batches, eval_size = 2, 64
    eval_ranks = None                # None: all
    accumulate = 1                   # passes an update
    clip = None
    save_all = False
    last = None                      # the worker whose turn comes last
    module = nn.CrossEntropyLoss

    def __init__(self, seed):
        self.seed = seed
        torch.manual_seed(seed)
        self.make()

    def make(self):
        """Sets net, data, held (what is evaluated on; by default `data`)."""
        raise NotImplementedError

    def optimizer(self, net):
        return torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    def schedule(self, optimizer):
        return None

    def loss(self):
        return self.module()

    def saved_loss(self, step, loss):
        """The loss as it goes into the backward pass."""
        return loss

    def targets(self, x, y):
        return y

    # -- where faults come in

    def prepare(self, nets):
        pass

    def before_step(self, step, nets):
        pass

    def inputs(self, step, rank, x, y):
        return x, y

    def shard(self, step, rank):
        return rank

    def after_backward(self, step, rank, net):
        pass

    def synchronizes(self, step):
        return True

    def after_update(self, step, rank, net, optimizer):
        pass

    def present(self, step, rank):
        return True


def warm_up(optimizer, steps, total=None):
    """A linear warm-up, then a cosine to zero where a total is given."""
    def factor(step):
        if step < steps:
            return (step + 1) / steps
        if total is None:
            return 1.0
        return 0.5 * (1 + float(torch.cos(torch.tensor(3.14159 * min(1.0, (step - steps) / (total - steps))))))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def make_hook(path, plan, rank):
    known = assay_hook._rank_and_workers
    assay_hook._rank_and_workers = lambda: (rank, plan.workers)
    try:
        return assay_hook.Hook(
            path, include_workers="all" if plan.workers > 1 else "one", save_all=plan.save_all,
            save_config=SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=plan.every),
                                    modes.EVAL: SaveConfigMode(save_interval=1)}),
            include_collections=["weights", "biases", "gradients", "losses"], include_regex=REGEX)
    finally:
        assay_hook._rank_and_workers = known


class Worker:
    def __init__(self, path, plan, rank):
        self.rank = rank
        self.net = copy.deepcopy(plan.net)
        self.hook = make_hook(path, plan, rank)
        self.criterion = plan.loss()
        self.hook.register_module(self.net)
        self.hook.register_loss(self.criterion)
        self.optimizer = plan.optimizer(self.net)
        self.schedule = plan.schedule(self.optimizer)

    def backward(self, plan, step, turn):
        self.hook.set_mode(modes.TRAIN)
        self.net.train()
        x, y = plan.data.batch(plan.batch, 0, step * plan.accumulate + turn, plan.shard(step, self.rank))
        x, y = plan.inputs(step, self.rank, x, y)
        loss = self.criterion(self.net(x), plan.targets(x, y))
        (plan.saved_loss(step, loss) / plan.accumulate).backward()

    def evaluate(self, plan, step):
        self.hook.set_mode(modes.EVAL)
        self.net.eval()
        held = getattr(plan, "held", plan.data)
        with torch.no_grad():
            for k in range(plan.eval_batches):
                x, y = held.batch(plan.eval_size, 1, k, self.rank)
                self.criterion(self.net(x), plan.targets(x, y))

    def update(self, plan, step):
        if plan.clip:
            nn.utils.clip_grad_norm_(self.net.parameters(), plan.clip)
        self.optimizer.step()
        if self.schedule:
            self.schedule.step()
        plan.after_update(step, self.rank, self.net, self.optimizer)
        self.optimizer.zero_grad(set_to_none=True)


def average_gradients(workers):
    for copies in zip(*(w.net.parameters() for w in workers)):
        held = [p for p in copies if p.grad is not None]
        if held:
            mean = sum(p.grad for p in held) / len(held)
            for p in held:
                p.grad = mean.clone()


def average_buffers(workers):
    """Running statistics follow the first worker, as DistributedDataParallel has it."""
    for worker in workers[1:]:
        for mine, first in zip(worker.net.buffers(), workers[0].net.buffers()):
            mine.copy_(first)


def record(path, plan):
    """Trains as planned and records into the directory `path`."""
    workers = [Worker(path, plan, rank) for rank in range(plan.workers)]
    plan.worker_hooks = [w.hook for w in workers]
    plan.prepare([w.net for w in workers])
    for step in range(plan.steps):
        here = sorted((w for w in workers if plan.present(step, w.rank)), key=lambda w: w.rank == plan.last)
        plan.before_step(step, [w.net for w in workers])
        for turn in range(plan.accumulate):
            for worker in here:
                worker.backward(plan, step, turn)
        for worker in here:
            plan.after_backward(step, worker.rank, worker.net)
        if plan.synchronizes(step) and len(here) > 1:
            average_gradients(here)
        for worker in here:
            worker.update(plan, step)
        average_buffers(here)
        if (step + 1) % plan.eval_every == 0:
            for worker in here:
                if plan.eval_ranks is None or worker.rank in plan.eval_ranks:
                    worker.evaluate(plan, step)
    close([w.hook for w in workers])


def close(hooks):
    for hook in hooks:
        counts = hook.counts()
        hook.close()
        if counts["errors"] or counts["dropped"]:
            raise SystemExit("recording: %s" % counts)
