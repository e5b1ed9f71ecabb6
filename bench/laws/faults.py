#!/usr/bin/env python3
"""Injects faults into small trainings that the hook records, runs LawViolated over each, and says how many are named.

    faults.py --build BUILD --results FILE [--record all laws turns state] [--faults 1000] [--healthy 1000] [--part 0.6] [--seed 0] [--verbose]
    faults.py --tables FILE

A fault changes one number, or a part of a tensor, in a training that goes on with it; several follow each other in one. It counts as named
where the first new finding is of its step, and the strongest of that step of its worker and of the tensor or the parameter that it changed.
Some are of all workers at once, and named where any of them is. "reduction" is an average over the workers that is wrong for a part of one
parameter: without this worker's share, or the sum. --record: all, projections alone of each step (laws="all" of the hook) or of that part of the
steps that they may be of (laws=True; --part: which, since these trainings are too small for a clock), or weights and the optimizer's
state as checkpoints have them; --faults is the number of each, --healthy that of steps of each type of numbers, of all and laws. Faults
that leave rounding (a change below 64 roundings of the tensor's root mean square) or make something that is not finite are
not counted: no law, or another rule, finds those.

All that is to be run goes on side by side, so that what is there when it is broken off is a part of each. Each training has a number
and follows from it and the seed: --only laws/17 runs one again. A line of FILE is a fault or a healthy training; what is there is not
run again. --tables prints what it comes to, as docs/laws.md has it.
"""
import argparse
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ["ASSAY_OVERWRITE"] = "1"  # one place for the reports of many trials
BITS = [31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 18, 16, 14, 12, 10]
KINDS = ["output", "activation", "norm", "pooling", "dropout", "loss", "row", "tile", "weight", "backward", "gradient", "reduction", "first moment",
         "second moment"]
EVERYONE = -1  # of workers
PROJECTED = ("laws", "turns")
OF_PASS = ("output", "activation", "norm", "pooling", "dropout", "loss", "row", "tile")
BY_BACKWARD = ("mlp", "cnn", "pooled", "grouped")  # whose parameters all have the law of gradients, or a norm's
HAVE = {"backward": BY_BACKWARD, "norm": ("transformer", "moe"), "pooling": ("cnn", "pooled"), "dropout": ("moe", "pooled")}  # only these networks


def flipped(tensor, index, bits):
    """Flips bits of one element of a float32 tensor in place. Returns by how much it changed."""
    import torch
    with torch.no_grad():
        flat = tensor.view(-1)
        word = flat[index:index + 1].clone().view(torch.int32)
        mask = 0
        for bit in bits:
            mask |= 1 << bit
        mask = mask - (1 << 32) if mask >= 1 << 31 else mask
        new = (word ^ mask).view(torch.float32)[0]
        change = float((new - flat[index]).abs())
        flat[index] = new
    return change


class Change:
    """A fault: `kind` at `step` of `worker`, from there on at every step if it is stuck."""

    def __init__(self, kind, step, worker, bits, seed, stuck, record):
        self.kind, self.at, self.worker, self.bits, self.stuck = kind, step, worker, bits, stuck
        self.random, self.now, self.record = random.Random(seed), -1, record
        self.place, self.size, self.scale, self.tensors = None, 0.0, 1.0, []
        self.wrong = self.random.choice(["without", "sum"])

    def is_of(self, worker):
        return self.worker in (worker, EVERYONE)

    def active(self):
        return self.now == self.at or (self.stuck and self.now >= self.at)

    def note(self, change, tensor):
        if self.now == self.at:
            self.size, self.scale = change, float(tensor.detach().float().pow(2).mean().sqrt()) or 1e-30

    def before_hooks(self, worker, net):
        import torch
        if self.is_of(worker) and self.kind == "backward":
            parts = [m for m in net.modules() if isinstance(m, (torch.nn.Linear, torch.nn.Conv2d))]
            chosen = self.random.choice([p for m in parts for p in m.parameters()])
            self.tensors = ["%s_%s" % (type(net).__name__, n) for n, p in net.named_parameters() if p is chosen]
            chosen.register_hook(self.change_backward)
        if not self.is_of(worker) or self.kind not in OF_PASS or self.kind == "loss":
            return
        nn = torch.nn
        names = {"activation": (nn.ReLU, nn.Tanh, nn.SiLU, nn.GELU), "norm": nn.LayerNorm, "dropout": (nn.Dropout, nn.Dropout2d),
                 "pooling": (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)}.get(self.kind, (nn.Linear, nn.Conv2d))
        chosen = self.random.choice([(n, m) for n, m in net.named_modules() if isinstance(m, names)])
        self.tensors = ["%s_output_%d" % (chosen[0], number) for number in range(12)]  # some layers are used more than once
        chosen[1].register_forward_hook(self.change_output)

    def change_backward(self, gradient):
        if not self.active():
            return None
        new = gradient.clone().contiguous()
        self.place = self.random.randrange(new.numel()) if self.place is None else self.place
        self.note(flipped(new, self.place, self.bits), gradient)
        return new

    def before_loss(self, worker, loss):
        if self.is_of(worker) and self.kind == "loss":
            self.tensors = ["CrossEntropyLoss_output_0"]
            loss.register_forward_hook(self.change_output)

    def change_output(self, module, inputs, output):
        if not self.active() or output.numel() == 0:
            return None
        new = output.detach().clone().contiguous()
        if self.kind in ("row", "tile"):
            rows = new.view(-1, new.shape[-1])
            part = slice(None) if self.kind == "row" else slice(0, max(1, rows.shape[1] // 4))
            row = self.random.randrange(rows.shape[0]) if self.place is None else self.place % rows.shape[0]  # experts have some of them
            self.place = row
            old = rows[row, part].clone()
            rows[row, part] = 0
            self.note(float(old.abs().max()), output)
        else:
            self.place = self.random.randrange(new.numel()) if self.place is None else self.place
            self.note(flipped(new, self.place % new.numel(), self.bits), output)
        return output + (new - output.detach()) if self.kind in ("row", "tile") else Straight.apply(output, new)

    def step(self, number):
        self.now = number

    def choose(self, net):
        named = list(net.named_parameters())
        if self.place is None:
            k = self.random.randrange(len(named))
            self.place = k, self.random.randrange(named[k][1].numel())
            name, root = named[k][0], type(net).__name__
            self.tensors = ["%s_%s" % (root, name)] + ["optimizer/%s/%s" % (name, key) for key in
                                                       ("exp_avg", "exp_avg_sq", "momentum_buffer")]
        return named[self.place[0]][1], self.place[1]

    def gradients(self, number, worker, net):
        if self.kind == "gradient" and self.active() and self.is_of(worker):
            parameter, index = self.choose(net)
            self.note(flipped(parameter.grad, index, self.bits), parameter.grad)

    def averaged(self, number, worker, net, local, workers):
        """Gradients are the mean of the workers'; `local` are this worker's own."""
        import torch
        if self.kind != "reduction" or not self.active() or not self.is_of(worker):
            return
        parameter, index = self.choose(net)
        mean, own = parameter.grad.view(-1), local[self.place[0]].view(-1)
        part = slice(index // 2, index // 2 + max(1, len(mean) // 4))
        old = mean[part].clone()
        with torch.no_grad():
            mean[part] = old - own[part] / workers if self.wrong == "without" else old * workers
        self.note(float((mean[part] - old).abs().max()), mean)

    def updated(self, number, worker, net, optimizer):
        if not self.active() or not self.is_of(worker) or self.kind not in ("weight", "first moment", "second moment"):
            return
        parameter, index = self.choose(net)
        state = optimizer.state.get(parameter, {})
        tensor = parameter if self.kind == "weight" else state.get(
            "exp_avg_sq" if self.kind == "second moment" else "exp_avg", state.get("momentum_buffer"))
        if tensor is not None:
            self.note(flipped(tensor.data, index, self.bits), tensor.data)

    def seen_at(self):
        return self.at if self.kind in OF_PASS + ("backward",) or (self.kind in ("gradient", "reduction") and self.record in PROJECTED) else self.at + 1


def straight():
    import torch

    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx, output, new):
            return new

        @staticmethod
        def backward(ctx, g):
            return g, None
    return Through


def judged(build, trial, work, job):
    out = work / "report"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([build / "src/assay", "run", job, "--trial", trial, "--out", out, "-q"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    rules = json.loads((out / "report.json").read_text())["trials"][0]["rules"]
    return {r["name"]: r for r in rules}


def key_of(finding):
    return finding["worker"], finding["tensor"], finding["test"]


def outcome(findings, fault, until, has_laws=lambda step: True):
    """named, seen (another tensor, or later), missed: by findings from the fault's step on, until the next fault's. What a fault before
    has left broken is no news. One that is stuck is named at the first step behind it that has laws."""
    at = fault.seen_at()
    has_laws = (lambda step: True) if fault.kind == "loss" else has_laws  # losses are kept at every step
    while fault.stuck and at < until - 1 and not has_laws(at):
        at += 1
    old = {key_of(f) for f in findings if f["step"] == at - 1}
    new = [f for f in findings if at <= f["step"] < until and key_of(f) not in old]
    if not new:
        return "missed"
    first = min(f["step"] for f in new)

    def strength(f):
        return float(f["value"]) / max(float(f["threshold"]), 1e-300)
    strongest = max((f for f in new if f["step"] == first), key=strength)
    tensor = re.sub(r"^state/laws/\w+/", "", strongest["tensor"])
    late = fault.stuck and first == at + 1 and not has_laws(at - 1)  # what needs the step before
    right = (first == at or late) and any(tensor == t or tensor.startswith(t + "/") for t in fault.tensors)
    return "named" if right and fault.worker in (EVERYONE, int(strongest["worker"].rpartition("_")[2])) else "seen"


def group_of(bits):
    bit = max(bits)
    return "several bits" if len(bits) > 1 else "sign" if bit == 31 else "exponent" if bit >= 23 else (
        "mantissa 22-20" if bit >= 20 else "mantissa 19-16" if bit >= 16 else "mantissa 15-10")


class Several:
    """Faults one after the other in one training."""

    def __init__(self, faults):
        self.faults = faults

    def __getattr__(self, name):
        return lambda *arguments: [getattr(f, name)(*arguments) for f in self.faults]


FIRST, BETWEEN, IN_ONE = 7, 4, 8
AFTER = 24  # steps behind the last fault, for a turn
HEALTHY_STEPS = 25
PRECISIONS = ["float32", "tf32", "bfloat16", "float16"]
HALVES = ["mlp", "cnn", "pooled", "grouped"]
BATCHES = [2, 5, 7, 16, 16, 24, 33]


class Bench:
    """Where trainings are made and judged, and the file that gets what came of them."""

    def __init__(self, options):
        self.options, self.build = options, options.build.resolve()
        self.work = Path(tempfile.mkdtemp(prefix="assay-laws-"))
        self.job = self.work / "job.json"
        self.job.write_text(json.dumps({"output": {"max_findings": 100000}, "rules": [
            {"rule": "LawViolated"}, {"rule": "ExplodingTensor", "parameters": {"strict": False}}]}))
        self.lines = [json.loads(line) for line in options.results.read_text().splitlines()] if options.results.exists() else []
        self.file = open(options.results, "a", encoding="utf-8")

    def put(self, **line):
        self.lines.append(line)
        print(json.dumps(line), file=self.file, flush=True)

    def trained(self, chance, network, optimizer, workers, **more):
        import trainings
        trial = self.work / "trial"
        shutil.rmtree(trial, ignore_errors=True)
        criterion, batch = chance.choice(list(trainings.LOSSES)), chance.choice(BATCHES)
        trainings.train(trial, network, optimizer, workers, criterion=criterion, batch=batch, **more)
        return judged(self.build, trial, self.work, self.job), {"network": network, "optimizer": optimizer, "workers": workers,
                                                                "criterion": criterion, "batch": batch}

    def healthy(self, chance, number, record, precision):
        import trainings
        network, optimizer = chance.choice(self.options.networks or list(trainings.NETWORKS)), chance.choice(list(trainings.OPTIMIZERS))
        workers = chance.choice([1, 4])
        if precision == "float16":  # of what the CPU has of it
            network, optimizer = chance.choice([n for n in HALVES if n in (self.options.networks or HALVES)] or HALVES), chance.choice(["sgd", "momentum"])
        reports, what = self.trained(chance, network, optimizer, workers, seed=chance.randrange(1 << 20), steps=HEALTHY_STEPS,
                                     precision=precision, record=record)
        findings = reports["LawViolated"]["findings"]
        self.put(healthy=precision, number=number, record=record, steps=HEALTHY_STEPS, alarms=len({f["step"] for f in findings}),
                 first=findings[:1], **what)

    def faulty(self, chance, number, record):
        """Some faults in one training."""
        import trainings
        options = self.options
        seed, network, optimizer = chance.randrange(1 << 30), chance.choice(options.networks or list(trainings.NETWORKS)), chance.choice(list(trainings.OPTIMIZERS))
        workers = chance.choice([1, 4])
        kinds = [k for k in options.kinds or KINDS if (k != "backward" or record in PROJECTED) and network in HAVE.get(k, [network]) and
                 ("moment" not in k or "adam" in optimizer) and (k != "reduction" or workers > 1)]
        faults = []
        for at in range(IN_ONE if kinds else 0):
            bits = [chance.choice(BITS)] if chance.random() < 0.8 else chance.sample(BITS, 2)
            last = at == IN_ONE - 1
            worker = EVERYONE if options.everyone or (workers > 1 and chance.random() < 0.2) else chance.randrange(workers)
            faults.append(Change(chance.choice(kinds), FIRST + BETWEEN * at, worker, bits, seed + at, last and chance.random() < 0.7, record))
        steps = FIRST + BETWEEN * IN_ONE + (AFTER if record == "turns" else 0)
        if not faults:
            self.put(fault=None, number=number, record=record, result="not counted")
            return
        turns, has_laws = None, lambda step: True
        if record == "turns":
            from assay_recording.budget import Turns
            turns = options.part, chance.randrange(1 << 16)
            has_laws = lambda step: Turns.place((turns[1] + step) // Turns.TOGETHER) < options.part
        reports, what = self.trained(chance, network, optimizer, workers, steps=steps, seed=seed % 1000, fault=Several(faults), record=record,
                                     turns=turns)
        wild = min((f["step"] for f in reports["ExplodingTensor"]["findings"]), default=steps)
        for fault in faults:
            counts = 2.0 ** -18 * fault.scale < fault.size < 1e30 and wild > fault.seen_at()
            result = outcome(reports["LawViolated"]["findings"], fault, steps if fault is faults[-1] else fault.at + BETWEEN, has_laws) if counts else "not counted"
            near = [(f["step"], f["worker"], f["tensor"], f["test"], f["value"], f["threshold"]) for f in
                    reports["LawViolated"]["findings"] if fault.seen_at() - 1 <= f["step"] <= fault.seen_at()][:6]
            self.put(fault=fault.kind, number=number, record=record, result=result, bits=sorted(fault.bits), worker=fault.worker,
                     stuck=fault.stuck, step=fault.seen_at(), tensor=fault.tensors[:1], place=fault.place, size=fault.size, scale=fault.scale,
                     **what, near=near if result in ("seen", "missed") else [])
            if options.verbose and result in ("seen", "missed"):
                print(json.dumps(self.lines[-1]), flush=True)

    def units(self):
        """What is to be run: what it is called, how much of it there is, how much there has to be, what runs the next training of it."""
        options = self.options
        for record in options.record:
            faults = [line for line in self.lines if "fault" in line and line["record"] == record]
            counted = sum(line["result"] != "not counted" for line in faults)
            wanted = options.faults * 3 // 10 if record == "state" else options.faults
            yield record, counted, wanted, 1 + max((line["number"] for line in faults), default=-1), functools.partial(self.faulty, record=record)
            for precision in PRECISIONS if record in ("all", "laws") else []:
                healthy = [line for line in self.lines if line.get("healthy") == precision and line["record"] == record]
                yield ("%s/%s" % (record, precision), sum(line["steps"] for line in healthy), options.healthy, len(healthy),
                       functools.partial(self.healthy, record=record, precision=precision))

    def run(self):
        while True:
            unit = min(((there / wanted, name, number, one) for name, there, wanted, number, one in self.units() if there < wanted), default=None,
                       key=lambda u: u[:2])
            if unit is None:
                break
            _, name, number, one = unit
            one(random.Random("%d/%s/%d" % (self.options.seed, name, number)), number)
        return self

    def run_one(self, path):
        name, _, number = path.rpartition("/")
        one = next(unit[-1] for unit in self.units() if unit[0] == name)
        one(random.Random("%d/%s/%s" % (self.options.seed, name, number)), int(number))


ROWS = {"row": "a row of a product set to zero", "tile": "a quarter of a row of a product set to zero",
        "reduction": "a part of an average over workers, without one of them or not divided", "backward": "gradient, as backward computes it"}
COLUMNS = ["sign", "exponent", "mantissa 22-20", "mantissa 19-16", "mantissa 15-10", "several bits"]


def share(lines):
    return "%d of %d" % (sum(line["result"] == "named" for line in lines), len(lines)) if lines else ""


def tables(path):
    """Prints what a run came to, as Markdown."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    healthy, faults = [line for line in lines if "healthy" in line], [line for line in lines if line.get("fault") and line["result"] != "not counted"]
    print("| healthy steps | " + " | ".join(PRECISIONS) + " |\n|" + "---|" * 5)
    for record in ("all", "laws"):
        cells = [[line for line in healthy if line["record"] == record and line["healthy"] == p] for p in PRECISIONS]
        print("| %s | " % record + " | ".join("%d of %d" % (sum(l["alarms"] for l in c), sum(l["steps"] for l in c)) for c in cells) + " |")
    for record in ("all", "laws", "turns", "state"):
        mine = [line for line in faults if line["record"] == record]
        if not mine:
            continue
        print("\n%s: %s, seen but not named %d, missed %d; %d not counted\n" % (record, share(mine), *(sum(
            line["result"] == r for line in mine) for r in ("seen", "missed")), sum(
                line["record"] == record and line.get("result") == "not counted" for line in lines)))
        for title, of in (("network", lambda l: l["network"]), ("optimizer", lambda l: l["optimizer"]), ("workers", lambda l: l["workers"]),
                          ("who", lambda l: "all workers" if l["worker"] == EVERYONE else "one worker"),
                          ("how long", lambda l: "stuck" if l["stuck"] else "one step")):
            print("* %s: %s" % (title, ", ".join("%s %s" % (k, share([l for l in mine if of(l) == k])) for k in sorted({of(l) for l in mine}))))
        print("\n| named of injected | " + " | ".join(COLUMNS) + " |\n|" + "---|" * 7)
        for kind in [k for k in KINDS if any(line["fault"] == k for line in mine)]:
            of_kind = [line for line in mine if line["fault"] == kind]
            plain = kind in ("row", "tile", "reduction")
            cells = [share(of_kind)] + [""] * 5 if plain else [share([l for l in of_kind if group_of(l["bits"]) == c]) for c in COLUMNS]
            print("| %s | %s |" % (ROWS.get(kind, kind), " | ".join(cells)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--healthy", type=int, default=1000)
    parser.add_argument("--part", type=float, default=0.6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="RECORD/NUMBER or RECORD/PRECISION/NUMBER: one training")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, help="faults of these kinds alone")
    parser.add_argument("--networks", nargs="*", help="of these networks alone")
    parser.add_argument("--record", nargs="*", choices=["all", "laws", "turns", "state"], default=["all", "laws", "turns", "state"])
    parser.add_argument("--everyone", action="store_true", help="all faults are of all workers")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.tables:
        tables(options.tables)
        return
    if not options.build or not options.results:
        parser.error("--build and --results are needed")
    sys.path[:0] = [str(ROOT / "src/python"), str(Path(__file__).parent)]
    os.environ.setdefault("ASSAY_HOOK_LIBRARY", str(options.build.resolve() / "src/hook/libassay_hook.so"))
    import torch
    torch.set_num_threads(1)
    global Straight
    Straight = straight()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    bench = Bench(options)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        bench.run_one(options.only) if options.only else bench.run()
    finally:
        shutil.rmtree(bench.work)
    tables(options.results)


if __name__ == "__main__":
    main()
