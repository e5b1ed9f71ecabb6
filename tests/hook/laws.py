"""laws.py - Hook(laws=True): what is kept of a training's equations says which one was broken.

Usage: laws.py WORK_DIR ASSAY
"""
import copy
import io
import json
import os
import shutil
import subprocess
import sys
import types

import numpy
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import assay_hook  # noqa: E402
import tfevents  # noqa: E402
from assay_hook import SaveConfig  # noqa: E402
from assay_recording import law_tasks  # noqa: E402

WORK, ASSAY = sys.argv[1:]
STEPS, BROKEN = 10, 6


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc1, self.fc2 = nn.Conv2d(2, 6, 3, stride=2, padding=1), nn.Linear(96, 200), nn.Linear(200, 4)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(torch.relu(self.conv(x)).flatten(1))))


class InGroups(Net):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 6, 3, stride=2, padding=1, groups=2)


class Alike(Net):
    """The gradients of what the convolution gives are alike over a whole image: roundings of their sum do not cancel."""
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 200)

    def forward(self, x):
        x = self.conv(nn.functional.interpolate(x, scale_factor=8))
        return self.fc2(torch.relu(self.fc1(x.mean((2, 3)))))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.linspace(0.5, 1.5, width)), 1e-3

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


class Parts(Net):
    """Norms of batches and rows, poolings, functions."""
    def __init__(self):
        super().__init__()
        self.bn, self.relu, self.drop = nn.BatchNorm2d(6), nn.ReLU(), nn.Dropout(0.2)
        self.largest, self.mean = nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(3, 1, 1)
        self.fc1, self.norm, self.gelu, self.root = nn.Linear(96, 200), nn.LayerNorm(200), nn.GELU(), RmsNorm(200)

    def forward(self, x):
        x = self.drop(self.mean(self.largest(self.relu(self.bn(self.conv(x))))))
        return self.fc2(self.root(self.gelu(self.norm(self.fc1(x.flatten(1))))))


class Halves(Net):
    """Products of 16 bits that are so small that the CPU rounds their sums at each step."""
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(96, 12), nn.Linear(12, 4)
        self.bfloat16()

    def forward(self, x):
        return super().forward(x.bfloat16()).float()


def flip(tensor):
    with torch.no_grad():
        tensor.view(-1)[5] += 0.01


def train(name, make, fault=lambda step, net, optimizer: None, network=Net, steps=STEPS, update=None):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    torch.manual_seed(1)
    net, loss = network(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3) if "sgd" not in name else torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    optimizer = update(net) if update else optimizer
    step = [0]
    for layer in (*net.children(), loss):
        layer.register_forward_hook(lambda module, x, y: fault(step[0], module, y))
    for module in (net.conv, net.fc1):
        for parameter in module.parameters():
            parameter.register_hook(lambda gradient, p=parameter: fault(step[0], p, gradient))
    hook = make(path, net, loss, optimizer)
    for step[0] in range(steps):
        optimizer.zero_grad()
        loss(net(torch.randn(9, 2, 8, 8)), torch.randint(4, (9,))).backward()
        fault(step[0], "gradients", net)
        optimizer.step()
        fault(step[0], "updated", net)
    hook.close()
    return judged(name)


def judged(name):
    path, job = os.path.join(WORK, name), os.path.join(WORK, "job.json")
    with open(job, "w") as file:
        json.dump({"rules": [{"rule": "LawViolated"}]}, file)
    out = os.path.join(WORK, "out")
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([ASSAY, "run", job, "--trial", path, "--out", out, "-q"], stdout=subprocess.DEVNULL, check=False)
    with open(os.path.join(out, "report.json")) as file:
        return json.load(file)["trials"][0]["rules"][0]


class Computed(Net):
    """Weights that are computed of others: by a parametrization whenever they are asked for, and before each pass."""
    def __init__(self):
        super().__init__()
        nn.utils.parametrizations.spectral_norm(self.fc1)
        nn.utils.weight_norm(self.fc2)


def computed_weights():
    """A recording changes nothing of a training whose weights change something when they are asked for."""
    weights = []

    def make(path, net, loss, optimizer):
        hook = by_hand(path, net, loss, optimizer) if not weights else assay_hook.Hook(path)
        close = hook.close
        hook.close = lambda: (weights.append(net.state_dict()), close())
        return hook
    entry = train("computed", make, network=Computed)
    train("computed", make, network=Computed)
    assert entry["findings_total"] == 0 and "The law 'linear' holds of 2 tensors." in entry["message"], entry
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def goes_elsewhere_without_it():
    """A copy of a network is not recorded, and computes the same."""
    net, loss, path = Parts(), nn.CrossEntropyLoss(), os.path.join(WORK, "copied")
    shutil.rmtree(path, ignore_errors=True)
    hook = by_hand(path, net, loss, torch.optim.SGD(net.parameters(), lr=0.1))
    x, room = torch.randn(9, 2, 8, 8), io.BytesIO()
    net.eval()
    torch.save(net, room)
    room.seek(0)
    for other in (copy.deepcopy(net), torch.load(room)):
        before = hook.mode_steps
        assert torch.equal(other(x), other(x)) and hook.mode_steps == before
    hook.close()


def by_hand(path, net, loss, optimizer):
    hook = assay_hook.Hook(path, save_config=SaveConfig(save_interval=1), laws="all")
    hook.register_module(net)
    hook.register_loss(loss)
    hook.register_optimizer(optimizer)
    return hook


def automatic(path, net, loss, optimizer):
    return assay_hook.auto(path, net, loss, optimizer, budget=None, laws="all")


def healthy():
    for name, make in (("adam", by_hand), ("sgd", by_hand), ("auto", automatic)):
        entry = train(name, make)
        assert entry["findings_total"] == 0, entry
        moments = 12 if name != "sgd" else 6
        for law, count in (("gradient", 6), ("linear", 3), ("loss", 1), ("moments", moments), ("reduce", 6), ("update", 6)):
            assert "The law '%s' holds of %d tensors." % (law, count) in entry["message"], entry["message"]


def healthy_updates():
    """Weights decay and biases do not; moments of Adam's names that others make something else of."""
    def groups(net):
        parts = [[p for p in net.parameters() if (p.dim() > 1) == large] for large in (True, False)]
        return torch.optim.AdamW([{"params": parts[0], "weight_decay": 0.1}, {"params": parts[1], "weight_decay": 0.0}], lr=1e-3)
    for update, is_tested in ((groups, True), (lambda net: torch.optim.Adam(net.parameters(), lr=1e-2, amsgrad=True), False),
                              (lambda net: torch.optim.RAdam(net.parameters(), lr=1e-2), False),
                              (lambda net: torch.optim.NAdam(net.parameters(), lr=1e-2), False)):
        entry = train("updates", by_hand, update=update, steps=2 * STEPS)
        assert entry["findings_total"] == 0 and ("The law 'update' holds of 6 tensors." in entry["message"]) == is_tested, entry


def healthy_alike():
    entry = train("alike", by_hand, network=Alike)
    assert entry["findings_total"] == 0 and "The law 'gradient' holds of 6 tensors." in entry["message"], entry


def healthy_halves():
    entry = train("sgd-halves", by_hand, network=Halves)
    assert entry["findings_total"] == 0 and "The law 'gradient' holds of 6 tensors." in entry["message"], entry


def healthy_parts():
    """Of one step several elements of a function, at the next one others."""
    from assay_recording import laws
    for laws.AT_ONCE in (65536, 500):
        entry = train("parts", by_hand, network=Parts)
        assert entry["findings_total"] == 0, entry
        for law, count in (("activation", 2), ("dropout", 1), ("normalisation", 3), ("pooling", 2)):
            assert "The law '%s' holds of %d tensors." % (law, count) in entry["message"], entry["message"]
    laws.AT_ONCE = 65536


class InPlace(Net):
    """What layers give is changed where it is, before and in the backward pass."""
    def __init__(self):
        super().__init__()
        self.norm, self.relu = nn.LayerNorm(200), nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.relu(self.fc1(torch.relu(self.conv(x)).flatten(1)))
        return self.fc2(self.norm(x).add_(1))


def recorded(name, threads, network, own=False):
    """A healthy training whose inputs lie in one buffer that numpy fills again: [{tensor: bytes} of each step]."""
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    torch.manual_seed(1)
    net, loss, random, buffer = network(), nn.CrossEntropyLoss(), numpy.random.default_rng(1), numpy.empty((9, 2, 8, 8), numpy.float32)
    optimizer, law_tasks.THREADS = torch.optim.Adam(net.parameters(), lr=1e-3), threads
    hook = by_hand(path, net, loss, optimizer)
    for step in range(STEPS):
        buffer[:] = random.normal(size=buffer.shape)
        optimizer.zero_grad(set_to_none=own)
        loss(net(torch.from_numpy(buffer)), torch.arange(9) % 4).backward()
        buffer[:] = 1e9
        optimizer.step()
        net.eval()
        with torch.no_grad():
            hook.set_mode("EVAL")
            net(torch.from_numpy(buffer))
            hook.set_mode("TRAIN")
        net.train()
    hook.close()
    law_tasks.THREADS = None
    return [{n: (kind, values.tobytes()) for n, (kind, values) in step.tensors.items()} for _, step in sorted(tfevents.Trial(path).steps.items())]


def beside_the_training():
    """However many threads sum up, the records are the same. A tensor that was changed before it was read has none, once."""
    for network in (Parts, InPlace):
        for own in (False, True):
            alone, *others = [recorded("beside", n, network, own) for n in (0, 1, 3)]
            names = [[n for n in step if n.startswith("state/laws")] for step in alone]
            assert len(names) == 2 * STEPS and len(names[2]) > 20, names
            for other in others:
                assert len(other) == len(alone)
                for k, (a, b) in enumerate(zip(alone, other)):
                    missing = {n for n in a if n not in b}
                    assert all(b[n] == a[n] for n in b), (k, network)
                    assert not missing or (k < 4 and network is InPlace), (k, missing)
            assert judged("beside")["findings_total"] == 0


def added():
    """Gradients of several passes or of several backward passes of one are added from some update on: the optimizer gets none of them alone."""
    for name, passes, backward, alone in (("added-passes", 2, 1, 8), ("added-sgd-backward", 1, 2, 8), ("added-at-last", 3, 1, STEPS), ("added-always", 2, 2, 0)):
        path = os.path.join(WORK, name)
        shutil.rmtree(path, ignore_errors=True)
        torch.manual_seed(1)
        net, loss = Net(), nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        hook = by_hand(path, net, loss, optimizer)
        for update in range(STEPS + 6):
            optimizer.zero_grad(set_to_none=update % 2 == 0)
            for _ in range(passes if update >= alone else 1):
                made = loss(net(torch.randn(9, 2, 8, 8)), torch.arange(9) % 4)
                for last in range(backward if update >= alone else 1):
                    made.backward(retain_graph=last < backward - 1)
            optimizer.step()
        hook.close()
        entry = judged(name)
        assert entry["findings_total"] == 0, entry
        assert ("'reduce' holds of 6 tensors" in entry["message"]) == (alone > 0), entry["message"]
        for law in "update", "moments":
            assert "The law '%s' holds of 6 tensors." % law in entry["message"], entry["message"]


def within_a_budget():
    """Pairs of steps take turns where laws cost more than they may, and keep the law of moments; what stays broken is found."""
    from assay_recording import budget, laws
    clock, time = [0.0], laws.time
    budget.time = laws.time = types.SimpleNamespace(perf_counter=lambda: clock[0])

    def turns_of_steps(seconds, calls, count=1600):
        """Of steps of 1 s, and what laws make of them, of which their calls are a part."""
        turns, on = budget.Turns(0.03), []
        for _ in range(count):
            on.append(turns.next())
            turns.is_on, turns.cost = on[-1], calls * on[-1]
            clock[0] += 1 + seconds * on[-1]
        return turns, on
    for seconds, calls, part in (0.1, 0.1, 0.3), (0.06, 0.01, 0.5), (0.02, 0.01, budget.Turns.MOST), (0.4, 0.4, 0.075):
        turns, on = turns_of_steps(seconds, calls)
        assert abs(turns.part - part) < 1e-6 and abs(sum(on[200:]) - 1400 * part) <= 24, (turns.part, sum(on[200:]))
        assert all(on[at:at + 8] in ([True] * 8, [False] * 8) for at in range(0, len(on), 8)) and on[:16] == [True] * 8 + [False] * 8, on
    slow, fast = (turns_of_steps(seconds, 0.01)[1] for seconds in (0.11, 0.05))  # of workers
    assert not any(a and not b for a, b in zip(slow[200:], fast[200:]))

    def look():  # each look at the clock takes 50 ms, and each update a second
        clock[0] += 0.05
        return clock[0]
    budget.time = laws.time = types.SimpleNamespace(perf_counter=look)

    def bounded(path, net, loss, optimizer):
        update = optimizer.step

        def slow(*given):
            clock[0] += 1
            return update(*given)
        optimizer.step = slow
        hook = assay_hook.Hook(path, save_config=SaveConfig(save_interval=1), laws="20 %")
        hook.register_module(net)
        hook.register_optimizer(optimizer)
        return hook
    entry = train("bounded", bounded, lambda step, what, y: flip(y) if step >= 40 and getattr(what, "out_features", None) == 200 else None, steps=100)
    budget.time = laws.time = time
    assert "The law 'moments' holds of 12 tensors." in entry["message"], entry
    assert {f["tensor"] for f in entry["findings"]} == {"state/laws/linear/fc1_output_0"} and entry["findings"][0]["step"] >= 40, entry
    steps = [s for s, step in sorted(tfevents.Trial(os.path.join(WORK, "bounded")).steps.items()) if any("state/laws/update" in n for n in step.tensors)]
    assert 10 <= len(steps) <= 50, steps
    for text in ("a lot", "1 GB"):
        try:
            assay_hook.Hook(os.path.join(WORK, "refused"), laws=text)
        except ValueError:
            continue
        raise SystemExit("laws = %r was taken" % text)


def rounded_factors():
    """What factors of eleven bits do to a sum of products whose gradients are alike stays within what is said of it."""
    from assay_recording.laws import products_of
    random, u = numpy.random.default_rng(1), 2.0 ** -11
    x, y = random.normal(size=(64, 8)), numpy.outer(random.normal(size=64), numpy.ones(8))

    def sums(t):
        return numpy.stack([t.sum(1)[None], (t * t).sum(1)[None]])
    exact, squares = (t.item() for t in products_of(assay_hook._lib, sums(x), sums(y))[:2])
    off = [((y * (1 + random.uniform(-u, u, y.shape))).sum(1) * (x * (1 + random.uniform(-u, u, x.shape))).sum(1)).sum() - exact for _ in range(1000)]
    assert numpy.std(off) < 1.1 * u * (2 * squares / 3) ** 0.5, (numpy.std(off), squares)


def rows_in_order():
    """Sums of rows that cancel those before them round as large sums do, which what comes out does not tell."""
    from assay_recording.laws import products_of
    random, count, u = numpy.random.default_rng(1), 8192, 2.0 ** -24
    x, y = (1 + 0.05 * random.normal(size=(2, count, 4))).astype(numpy.float32)
    y[count // 2:] *= -1
    exact, of_products, on_the_way = products_of(assay_hook._lib, *(numpy.stack([t, t * t]) for t in (x.astype(float).T, y.astype(float).T)))
    single = numpy.array([[numpy.cumsum(y[:, j] * x[:, k], dtype=numpy.float32)[-1] for k in range(4)] for j in range(4)])
    assert abs(of_products / ((y.astype(float) ** 2).T @ x.astype(float) ** 2) - 1).max() < 1e-9

    def worst(outputs):
        return (abs(single - exact) / (6 * u * (count ** 0.5 / 3 + 2) * numpy.sqrt(of_products + outputs))).max()
    assert worst(exact ** 2) > 2 and worst(on_the_way) < 0.5, (worst(exact ** 2), worst(on_the_way))


def broken(name, test, tensor, step, fault, network=Net):
    entry = train(name, by_hand, fault, network)
    found = entry["findings"]
    first = [f for f in found if f["step"] == found[0]["step"]]
    strongest = max(first, key=lambda f: f["value"] / f["threshold"])
    assert (strongest["step"], strongest["tensor"], strongest["test"]) == (step, tensor if test == "loss" else "state/laws/" + tensor, test), found[:5]


def of_output(layer):
    def fault(step, what, y):
        if step == BROKEN and getattr(what, "out_features", getattr(what, "out_channels", None)) == layer:
            flip(y)
    return fault


def of_part(name):
    def fault(step, what, y):
        if step == BROKEN and isinstance(what, nn.Module) and getattr(what, "_module_name", None) == name:
            flip(y.data)
    return fault


def of_gradient(shape):
    def fault(step, what, gradient):
        if step == BROKEN and isinstance(what, nn.Parameter) and what.shape == shape:
            flip(gradient)
    return fault


def main():
    healthy()
    healthy_updates()
    healthy_alike()
    healthy_halves()
    healthy_parts()
    computed_weights()
    goes_elsewhere_without_it()
    beside_the_training()
    added()
    within_a_budget()
    rounded_factors()
    rows_in_order()
    broken("linear", "linear", "linear/fc1_output_0", BROKEN, of_output(200))
    broken("conv", "linear", "linear/conv_output_0", BROKEN, of_output(6))
    broken("groups", "linear", "linear/conv_output_0", BROKEN, of_output(6), InGroups)
    for name, law, test in (("bn", "norm", "normalisation"), ("norm", "norm", "normalisation"), ("root", "norm", "normalisation"), ("relu", "function", "activation"),
                            ("gelu", "function", "activation"), ("drop", "function", "dropout"), ("largest", "pooling", "pooling"), ("mean", "pooling", "pooling")):
        broken("parts", test, "%s/%s_output_0" % (law, name), BROKEN, of_part(name), Parts)
    for name, shape in (("fc1.weight", (200, 96)), ("conv.weight", (6, 2, 3, 3)), ("conv.bias", (6,))):
        broken("backward", "gradient", "gradient/Net_" + name, BROKEN, of_gradient(shape))
    broken("loss", "loss", "CrossEntropyLoss_output_0", BROKEN,
           lambda step, what, y: y.data.mul_(1.001) and None if step == BROKEN and isinstance(what, nn.CrossEntropyLoss) else None)
    broken("weight", "update", "update/Net_fc1.weight", BROKEN + 1,
           lambda step, what, net: flip(net.fc1.weight) if (step, what) == (BROKEN, "updated") else None)
    broken("gradient", "reduce", "reduce/Net_fc1.weight", BROKEN,
           lambda step, what, net: flip(net.fc1.weight.grad) if (step, what) == (BROKEN, "gradients") else None)


main()
