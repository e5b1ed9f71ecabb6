"""loop.py - two training loops that record: one process, and several replicas of a network in one process.

They are written as a user writes them: the hook is registered on the network and the loss, set_mode() is called, and that is all.
What a training does beyond that is a function it hands over:
  batch(step) or batch(rank, step)    inputs and labels
  held(k)                             the k-th batch that is evaluated on
  change(step, net, rank)             before the pass: faults that are planted in weights
  after(step, net, rank)              between the backward pass and the update
  scale(step)                         a factor on the loss
"""
import copy
import os

import torch

from torch import nn

import assay_hook
from assay_hook import SaveConfig, SaveConfigMode, modes

WATCH = [r"_input_\d+$", r"(?i)(relu|act|tanh|sig|gelu)\w*_output"]


def automatic(path, rank, workers):
    """The hook that configures itself, at every step; it is registered as the other one is."""
    hook = assay_hook.auto(path, budget=None, rank_and_workers=(rank, workers))
    for handle in hook._loss_handles:  # of every loss of the process, in which there are several workers
        handle.remove()
    hook.register_module, hook.register_loss = (lambda net: hook.watch(net, [])), hook.watch_losses
    return hook


def register(hook, net, optimizer):
    """The hook is told of the optimizer."""
    if hasattr(hook, "watch_optimizer"):
        hook.watch(net, [], optimizer)
    else:
        hook.register_module(net)
        hook.register_optimizer(optimizer)


def hook_for(path, every, rank=0, workers=1, collections=("weights", "biases", "gradients", "losses"), watch=WATCH, **options):
    every = int(os.environ.get("ASSAY_ZOO_INTERVAL", every))  # the same trainings at another save interval
    if os.environ.get("ASSAY_ZOO_ALL"):
        options["save_all"] = True
    if os.environ.get("ASSAY_ZOO_AUTO"):
        return automatic(path, rank, workers)
    known = assay_hook._rank_and_workers
    assay_hook._rank_and_workers = lambda: (rank, workers)
    try:
        return assay_hook.Hook(
            path, include_workers="all" if workers > 1 else "one", include_collections=list(collections), include_regex=watch,
            save_config=SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=every),
                                    modes.EVAL: SaveConfigMode(save_interval=1)}), **options)
    finally:
        assay_hook._rank_and_workers = known


def finish(*hooks):
    for hook in hooks:
        counts = hook.counts()
        hook.close()
        if counts["errors"] or counts["dropped"]:
            raise SystemExit("recording: %s" % counts)


def fit(path, net, batch, loss, optimizer, steps, every=1, held=None, eval_every=50, eval_batches=1, schedule=None, clip=None,
        accumulate=1, change=None, after=None, scale=None, autocast=False, forward=None, evaluate=None, updated=None, clear=None, **options):
    """Trains one network and records it. `forward(net, x)` where it is not net(x); evaluate(net) sets the mode where it is
    not net.eval(); updated(step, net) comes behind the update; clear(step): are gradients cleared? None: at every step."""
    forward = forward or (lambda net, x: net(x))
    hook = hook_for(path, every, **options)
    register(hook, net, optimizer)
    hook.register_loss(loss)
    for step in range(steps):
        hook.set_mode(modes.TRAIN)
        net.train()
        if change:
            change(step, net, 0)
        if clear is None or clear(step):
            optimizer.zero_grad(set_to_none=True)
        for turn in range(accumulate):
            x, y = batch(step * accumulate + turn)
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                value = loss(forward(net, x), y)
            (value * (scale(step) if scale else 1.0) / accumulate).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        if after:
            after(step, net, 0)
        optimizer.step()
        if updated:
            updated(step, net)
        if schedule:
            schedule.step()
        if held and (step + 1) % eval_every == 0:
            hook.set_mode(modes.EVAL)
            (evaluate or nn.Module.eval)(net)
            with torch.no_grad():
                for k in range(eval_batches):
                    x, y = held(k)
                    loss(forward(net, x), y)
    finish(hook)


def fleet(path, net, batch, new_loss, new_optimizer, steps, workers, every=1, held=None, eval_every=25, eval_batches=1,
          eval_ranks=None, change=None, after=None, average=None, together=None, present=None, before_pass=None):
    """Trains replicas whose gradients are averaged. average(step): are they exchanged? together(step): are weights averaged?"""
    nets = [copy.deepcopy(net) for _ in range(workers)]
    hooks = [hook_for(path, every, rank, workers) for rank in range(workers)]
    losses = [new_loss() for _ in range(workers)]
    optimizers = [new_optimizer(n) for n in nets]
    for rank in range(workers):
        register(hooks[rank], nets[rank], optimizers[rank])
        hooks[rank].register_loss(losses[rank])
    for step in range(steps):
        ranks = [r for r in range(workers) if present is None or present(step, r)]
        for rank in ranks:
            if before_pass:
                before_pass(step, rank)
            if change:
                change(step, nets[rank], rank)
            hooks[rank].set_mode(modes.TRAIN)
            nets[rank].train()
            optimizers[rank].zero_grad(set_to_none=True)
            x, y = batch(rank, step)
            losses[rank](nets[rank](x), y).backward()
            if after:
                after(step, nets[rank], rank)
        if average is None or average(step):
            for copies in zip(*((p for p in nets[r].parameters() if p.requires_grad) for r in ranks)):
                mean = sum(p.grad for p in copies) / len(copies)
                for p in copies:
                    p.grad = mean.clone()
        for rank in ranks:
            optimizers[rank].step()
        if together and together(step):
            for copies in zip(*(n.parameters() for n in nets)):
                mean = sum(p.detach() for p in copies) / workers
                with torch.no_grad():
                    for p in copies:
                        p.copy_(mean)
        for rank in ranks[1:]:
            for mine, first in zip(nets[rank].buffers(), nets[ranks[0]].buffers()):
                mine.copy_(first)
        if held and (step + 1) % eval_every == 0:
            for rank in ranks if eval_ranks is None else eval_ranks:
                hooks[rank].set_mode(modes.EVAL)
                nets[rank].eval()
                with torch.no_grad():
                    for k in range(eval_batches):
                        x, y = held(k)
                        losses[rank](nets[rank](x), y)
    finish(*hooks)
