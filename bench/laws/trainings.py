"""trainings.py - small trainings, recorded through the hook with all that the laws of computation look at, and the places
at which faults enter.

Workers of a data-parallel training are processes that average their gradients by gloo. What is saved stands for one moment: weights and the optimizer's state before the pass, gradients as they were computed.
"""
import copy
import functools
import os
import tempfile

import torch
from torch import distributed, multiprocessing, nn

import assay_hook
from assay_hook import SaveConfig, modes


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.relu1 = nn.Linear(24, 48), nn.ReLU()
        self.fc2, self.tanh2 = nn.Linear(48, 40), nn.Tanh()
        self.fc3 = nn.Linear(40, 10)

    def forward(self, x):
        return self.fc3(self.tanh2(self.fc2(self.relu1(self.fc1(x)))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.relu1, self.pool1 = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        self.conv2, self.relu2, self.pool2 = nn.Conv2d(8, 16, 3, padding=1, stride=1), nn.ReLU(), nn.MaxPool2d(2)
        self.fc1, self.act3 = nn.Linear(64, 32), nn.SiLU()
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = self.pool2(self.relu2(self.conv2(self.pool1(self.relu1(self.conv1(x.view(-1, 3, 8, 8)))))))
        return self.fc2(self.act3(self.fc1(x.flatten(1))))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.query, self.key, self.value = nn.LayerNorm(width), *(nn.Linear(width, width) for _ in range(3))
        self.softmax, self.out = nn.Softmax(-1), nn.Linear(width, width)
        self.norm2, self.up, self.gelu, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        n = self.norm1(x)
        q, k, v = self.split(self.query(n)), self.split(self.key(n)), self.split(self.value(n))
        seen = self.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(x.shape))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, tokens=50, width=32):
        super().__init__()
        self.embed, self.layer1, self.layer2 = nn.Embedding(tokens, width), Layer(width, 4), Layer(width, 4)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.norm(self.layer2(self.layer1(self.embed(x))))[:, -1])


class Experts(nn.Module):
    """A mixture of experts: every one computes all tokens, and the router's weights, which are 0 but for two, sum them up."""
    def __init__(self, width=32, count=4):
        super().__init__()
        self.embed, self.norm, self.router, self.softmax = nn.Embedding(50, width), nn.LayerNorm(width), nn.Linear(width, count), nn.Softmax(-1)
        self.up = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(count))
        self.act = nn.ModuleList(nn.SiLU() for _ in range(count))
        self.down = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(count))
        self.drop, self.head = nn.Dropout(0.1), nn.Linear(width, 10)

    def forward(self, x):
        x = self.embed(x)
        n = self.norm(x)
        scores = self.router(n)
        kept = scores.masked_fill(scores < scores.topk(2).values[..., -1:], -1e4)
        parts = [down(act(up(n))) for up, act, down in zip(self.up, self.act, self.down)]
        x = x + self.drop((self.softmax(kept).unsqueeze(-1) * torch.stack(parts, -2)).sum(-2))
        return self.head(x.mean(1))


class Pooled(nn.Module):
    """Windows that overlap, with padding, and over everything; elements, channels and no elements dropped; a norm of batches."""
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.relu1, self.maxpool = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        self.drop2d, self.conv2, self.avgpool = nn.Dropout2d(0.2), nn.Conv2d(8, 16, 3, padding=1), nn.AvgPool2d(2)
        self.globalpool, self.drop, self.fc = nn.AdaptiveAvgPool2d(1), nn.Dropout(0.3), nn.Linear(16, 10)

    def forward(self, x):
        x = self.drop2d(self.maxpool(self.relu1(self.bn1(self.conv1(x.view(-1, 3, 8, 8))))))
        return self.fc(self.drop(self.globalpool(self.avgpool(self.conv2(x))).flatten(1)))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * self.weight


class Grouped(nn.Module):
    """Convolutions with groups, one for each channel, and with dilation."""
    def __init__(self):
        super().__init__()
        self.conv1, self.act1 = nn.Conv2d(3, 12, 3, padding=1), nn.SiLU()
        self.conv2, self.act2 = nn.Conv2d(12, 24, 3, padding=1, groups=4), nn.GELU()
        self.conv3, self.conv4 = nn.Conv2d(24, 24, 3, padding=1, groups=24, bias=False), nn.Conv2d(24, 16, 3, padding=2, dilation=2, stride=2)
        self.fc = nn.Linear(256, 10)

    def forward(self, x):
        x = self.conv3(self.act2(self.conv2(self.act1(self.conv1(x.view(-1, 3, 8, 8))))))
        return self.fc(self.conv4(x).flatten(1))


class Tied(nn.Module):
    """Scores by the embedding's own weight; norms by the root mean square; gelu by tanh; sequences of lengths that vary."""
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.norm1, self.up, self.down = nn.Embedding(50, width), RmsNorm(width), nn.Linear(width, 64, bias=False), nn.Linear(64, width, bias=False)
        self.gelu, self.norm2, self.head = nn.GELU("tanh"), RmsNorm(width), nn.Linear(width, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        x = self.embed(x[:, :4 + int(x[0, 0]) % 9])
        for _ in range(2):  # the same layers twice
            x = x + self.down(self.gelu(self.up(self.norm1(x))))
        return self.head(self.norm2(x))[:, -1, :10]


class Recurrent(nn.Module):
    """A layer of PyTorch's own, which no law knows, and a cell that is used at each place of a sequence."""
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.gru = nn.Embedding(50, 24), nn.GRU(24, width, batch_first=True)
        self.cell, self.tanh, self.head = nn.Linear(2 * width, width), nn.Tanh(), nn.Linear(width, 10)

    def forward(self, x):
        made, _ = self.gru(self.embed(x))
        state = torch.zeros_like(made[:, 0])
        for at in range(made.shape[1]):
            state = self.tanh(self.cell(torch.cat([made[:, at], state], -1)))
        return self.head(state)


NETWORKS = {"recurrent": Recurrent, "grouped": Grouped, "tied": Tied, "mlp": Mlp, "cnn": Cnn, "transformer": Transformer, "moe": Experts, "pooled": Pooled}
LOSSES = {"mean": nn.CrossEntropyLoss, "smoothed": functools.partial(nn.CrossEntropyLoss, label_smoothing=0.1),
          "sum": functools.partial(nn.CrossEntropyLoss, reduction="sum"),
          "weights": lambda: nn.CrossEntropyLoss(weight=torch.linspace(0.5, 2, 10))}


def data_of(network, count, generator):
    if network in ("transformer", "moe", "tied", "recurrent"):
        return torch.randint(0, 50, (count, 12), generator=generator), torch.randint(0, 10, (count,), generator=generator)
    size = 24 if network == "mlp" else 192
    return torch.randn(count, size, generator=generator), torch.randint(0, 10, (count,), generator=generator)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01),
}


class Fault:
    """Does nothing; what enters a training overrides one of these."""

    faults = ()

    def before_hooks(self, worker, net):
        """Before the hook is registered: forward hooks that change what it sees."""

    def before_loss(self, worker, loss):
        """The same of the loss."""

    def step(self, number):
        """A step begins."""

    def gradients(self, number, worker, net):
        """Gradients were recorded, and averaged over the workers; they are not used yet."""

    def averaged(self, number, worker, net, local, workers):
        """Gradients were averaged over the workers; `local` are those that this worker had."""

    def updated(self, number, worker, net, optimizer):
        """The optimizer has stepped."""


def save_state(hook, net, optimizer):
    """What the optimizer keeps, by the names that checkpoints give it."""
    for name, parameter in net.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if torch.is_tensor(value) and value.dim() > 0:
                hook.save_tensor("optimizer/%s/%s" % (name, key), value, "optimizer_variables")


def tf32(x):
    """x with the ten bits behind the point that TF32 keeps."""
    return ((x.contiguous().view(torch.int32) + 0xfff + (x.contiguous().view(torch.int32) >> 13 & 1)) & ~0x1fff).view(torch.float32)


class Tf32Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        y = tf32(x) @ tf32(w).t()
        return y if b is None else y + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        rows = tf32(g).reshape(-1, g.shape[-1])
        return tf32(g) @ tf32(w), rows.t() @ tf32(x).reshape(-1, x.shape[-1]), g.reshape(-1, g.shape[-1]).sum(0) if ctx.needs_input_grad[2] else None


def emulate_tf32(net):
    for module in net.modules():
        if isinstance(module, nn.Linear):
            module.forward = lambda x, m=module: Tf32Linear.apply(x, m.weight, m.bias)


def emulate_float16(net):
    """Each module computes in float32 what it has in float16: the CPU has no products of these."""
    for module in net.modules():
        if not list(module.children()):
            module.forward = functools.partial(in_float32, module, type(module).forward)


def in_float32(module, forward, x):
    plain = copy.copy(module)
    plain._parameters = {name: None if p is None else p.float() for name, p in module._parameters.items()}
    plain._buffers = {name: b.float() if b.is_floating_point() else b for name, b in module._buffers.items()}
    out = forward(plain, x.float()).half()
    for name, buffer in plain._buffers.items():  # running figures
        module._buffers[name].copy_(buffer)
    return out


# Everything, projections alone, of each step or of as many as they may, or what checkpoints have.
RECORDS = {"all": {"save_all": True}, "laws": {"include_collections": ["losses"], "laws": "all"}, "turns": {"include_collections": ["losses"], "laws": True},
           "state": {"include_collections": ["weights", "biases", "optimizer_variables"]}}

PROJECTED = ("laws", "turns")


def train(directory, network, optimizer, workers=1, steps=12, seed=0, fault=None, precision="float32", batch=16, record="all", criterion="mean", turns=None):
    """Records a training. precision: float32, tf32 (emulated), bfloat16 or float16 (the whole network). record: see RECORDS;
    criterion: see LOSSES; turns: of those of laws=True, which part has laws, and the number of the first step. What the faults of `fault` learn in the process of their worker they know here, too."""
    fault = fault or Fault()
    given = (directory, network, optimizer, workers, steps, seed, fault, precision, batch, record, criterion, turns)
    if workers == 1:
        work(0, *given)
        return
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as meeting:
        started = [context.Process(target=join, args=(w, workers, meeting, fault, results, given)) for w in range(workers)]
        for process in started:
            process.start()
        for _ in started:
            for at, learnt in results.get():
                vars(fault.faults[at]).update(learnt)
        for process in started:
            process.join()
        if any(process.exitcode for process in started):
            raise RuntimeError("a process of %s, %s, %s failed" % (network, optimizer, precision))


def join(worker, workers, meeting, fault, results, given):
    """One process of several."""
    learnt = []
    try:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        distributed.init_process_group("gloo", init_method="file://%s/store" % meeting, rank=worker, world_size=workers)
        work(worker, *given)
        learnt = [(at, vars(f)) for at, f in enumerate(fault.faults) if max(f.worker, 0) == worker]
    finally:
        results.put(learnt)


def average(net, workers):
    """All gradients at once, as a bucket of DistributedDataParallel."""
    gradients = [p.grad for p in net.parameters()]
    total = torch.cat([g.float().reshape(-1) for g in gradients])  # gloo knows no bfloat16
    distributed.all_reduce(total)
    for gradient, mean in zip(gradients, (total / workers).split([g.numel() for g in gradients])):
        gradient.copy_(mean.view_as(gradient))


def work(worker, directory, network, optimizer, workers, steps, seed, fault, precision, batch, record, criterion, turns):
    """What one worker does."""
    torch.manual_seed(seed)
    dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision, torch.float32)
    net = NETWORKS[network]().to(dtype)
    if precision == "tf32":
        emulate_tf32(net)
    if precision == "float16":
        emulate_float16(net)
    fault.before_hooks(worker, net)
    hook = assay_hook.Hook(directory, save_config=SaveConfig(save_interval=1), rank_and_workers=(worker, workers), include_workers="all",
                           **RECORDS[record])
    if turns:
        hook._laws.turns.affordable, hook._laws.turns.count = lambda: turns[0], turns[1]
    loss = LOSSES[criterion]()
    fault.before_loss(worker, loss)
    hook.register_module(net)
    hook.register_loss(loss)
    hook.set_mode(modes.TRAIN)
    update = OPTIMIZERS[optimizer](net.parameters())
    if record in PROJECTED:
        hook.register_optimizer(update)
    generator = torch.Generator().manual_seed(seed + 1)
    for number in range(steps):
        fault.step(number)
        x, y = [data_of(network, batch, generator) for _ in range(workers)][worker]
        update.zero_grad()
        out = net(x if x.dtype == torch.int64 else x.to(dtype))
        if record not in PROJECTED:
            save_state(hook, net, update)
        loss(out.float(), y).backward()
        if workers > 1:
            local = [p.grad.clone() for p in net.parameters()]
            average(net, workers)
            fault.averaged(number, worker, net, local, workers)
        fault.gradients(number, worker, net)
        update.step()
        fault.updated(number, worker, net, update)
    hook.close()
