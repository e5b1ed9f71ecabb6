"""auto.py - the hook that configures itself, and its callbacks. Wrappers, devices and frameworks that Debian has not (torch.compile,
DTensor, PyTorch Lightning, Hugging Face's Trainer) are stood in for by the least that has their documented interface.

Usage: auto.py WORK_DIR
"""
import contextlib
import functools
import io
import json
import os
import shutil
import sys
import warnings

import numpy
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import assay_hook  # noqa: E402
import tfevents  # noqa: E402
from assay_hook import SaveConfig, modes  # noqa: E402
from assay_recording import auto as automatic, devices, moves, workers  # noqa: E402
from assay_recording.auto import how_often  # noqa: E402
from assay_recording.budget import NEVER, Budget, intervals, parse  # noqa: E402
from assay_recording.callbacks import LightningCallback, TrainerCallback  # noqa: E402

WORK = sys.argv[1]
PATH = os.path.join(WORK, "auto")
PARAMETERS = {"Net_fc1.weight", "Net_fc1.bias", "Net_fc2.weight", "Net_fc2.bias", "Net_scale"}
DIGEST = "assay/digest/"
FED = {"Net_input_0", "CrossEntropyLoss_input_0", "CrossEntropyLoss_input_1"}  # at every step


class Net(nn.Module):
    """With a parameter that is called neither weight nor bias."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 2)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)) * self.scale)


def fresh():
    shutil.rmtree(PATH, ignore_errors=True)
    return PATH


def batch(count=6):
    return torch.randn(count, 4), torch.randint(2, (count,))


def names_of(step):
    """Names of the tensors of a step, reductions and digests by what they are of."""
    return {tag.split("/", 3)[3] if tag.startswith("smdebug/reductions/") else tag[len(DIGEST):] if tag.startswith(DIGEST) else tag for tag in step.tensors}


def expect_step(step, mode, losses=1):
    """All parameters and gradients as statistics, the loss as it is."""
    both = PARAMETERS | {"gradient/" + name for name in PARAMETERS}
    loss = {"CrossEntropyLoss_output_%d" % i for i in range(losses)} | FED
    assert step.mode == mode and names_of(step) == (both | loss if mode == "TRAIN" else loss), (step.mode, names_of(step))
    assert step.tensors["CrossEntropyLoss_input_1"][1].dtype == "int64" and step.tensors["CrossEntropyLoss_input_0"][1].dtype == "float32"
    assert step.tensors["Net_input_0"][1].dtype == "float32"  # it is small
    assert not any(name in step.tensors for name in both)
    assert {tag for tag in step.tensors if tag.startswith(DIGEST)} == {DIGEST + name for name in PARAMETERS if mode == "TRAIN"}


def train(net, hook_of, steps=4, accumulate=1, evaluate=True, scaler=None):
    loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    hook = hook_of(net, loss_fn, optimizer)
    for _ in range(steps):
        net.train()
        for _ in range(accumulate):
            x, y = batch()
            loss_fn(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    if evaluate:
        net.eval()
        with torch.no_grad():
            x, y = batch()
            loss_fn(net(x), y)
    hook.close()
    return tfevents.Trial(PATH)


def test_one_line():
    """Losses at every step, weights and gradients as statistics, raw on request; the training's own flag gives the mode."""
    trial = train(Net(), lambda net, loss, optimizer: assay_hook.auto(fresh(), net, loss, optimizer, budget=None))
    assert sorted(step for step, _ in trial.steps) == [0, 1, 2, 3, 4] and trial.ended
    for number in range(4):
        expect_step(trial.steps[number, "worker_0"], "TRAIN")
    expect_step(trial.steps[4, "worker_0"], "EVAL")
    assert "Net_scale" in trial.collections["worker_0"]["collections"]["weights"]["tensor_names"]
    # Without loss or optimizer: every loss of torch.nn, a step each pass; and the hook leaves nothing behind in PyTorch.
    trial = train(Net(), lambda net, loss, optimizer: assay_hook.auto(fresh(), net, budget=None, raw="fc2.weight"))
    step = trial.steps[1, "worker_0"]
    assert {"Net_fc2.weight", "gradient/Net_fc2.weight", "CrossEntropyLoss_output_0", "CrossEntropyLoss_input_0", "CrossEntropyLoss_input_1", "Net_input_0"} == {
        n for n in step.tensors if not n.startswith(("smdebug", DIGEST))}, set(step.tensors)
    assert PARAMETERS | {"gradient/" + n for n in PARAMETERS} <= names_of(step)
    assert not torch.nn.modules.module._global_forward_hooks and "__call__" not in vars(torch.nn.modules.loss._Loss)
    # The network, and the loss by its name, are given later: nothing is saved twice.
    for losses in (lambda loss: None, lambda loss: loss):
        def later(net, loss, optimizer):
            return assay_hook.auto(fresh(), budget=None).watch(net, losses(loss))
        trial = train(Net(), later)
        saved = [n for n in trial.steps[1, "worker_0"].tensors if n.startswith("CrossEntropyLoss_output")]
        assert saved == ["CrossEntropyLoss_output_0"], saved


def test_accumulated_gradients():
    """Three passes to an update are one step; the gradient is their sum."""
    torch.manual_seed(1)
    seen = {}

    def hook_of(net, loss, optimizer):
        hook = assay_hook.auto(fresh(), net, loss, optimizer, budget=None, raw="^gradient/Net_fc2.bias")
        step = optimizer.step

        def spy(*arguments):
            seen[len(seen)] = net.fc2.bias.grad.clone()
            return step(*arguments)
        optimizer.step = functools.wraps(step)(spy)
        return hook
    trial = train(Net(), hook_of, accumulate=3)
    assert len(trial.steps) == 5
    for number in range(4):
        step = trial.steps[number, "worker_0"]
        assert {n for n in step.tensors if "Loss_output" in n} == {"CrossEntropyLoss_output_%d" % i for i in range(3)}
        assert (step.tensors["gradient/Net_fc2.bias"][1] == seen[number].numpy()).all()
    for folder, _, files in os.walk(os.path.join(PATH, "index")):
        for name in files:
            with open(os.path.join(folder, name)) as file:
                saved = [item["tensorname"] for item in json.load(file)["tensor_payload"]]
            assert len(saved) == len(set(saved)), saved  # what is saved twice at a step is told as damage


def test_same_names_in_any_wrapper():
    """Registered before or after it was wrapped, compiled or not, a network's tensors have the same names."""
    class OptimizedModule(nn.Module):  # what torch.compile() returns: the network is called inside, its hooks are not
        def __init__(self, module):
            super().__init__()
            self._orig_mod = module

        def forward(self, *arguments):
            return self._orig_mod.forward(*arguments)

    class FullyShardedDataParallel(nn.Module):  # parts are wrapped as well
        def __init__(self, module):
            super().__init__()
            self._fsdp_wrapped_module = module

        @property
        def module(self):
            return self._fsdp_wrapped_module

        def forward(self, *arguments):
            return self._fsdp_wrapped_module(*arguments)

    def sharded(net):
        net.fc1 = FullyShardedDataParallel(net.fc1)
        return FullyShardedDataParallel(net)

    torch.distributed.init_process_group("gloo", "file://%s.store" % os.path.abspath(PATH), rank=0, world_size=1)
    wrappers = {"plain": lambda net: net, "ddp": nn.parallel.DistributedDataParallel, "compiled": OptimizedModule, "fsdp": sharded,
                "compiled ddp": lambda net: OptimizedModule(nn.parallel.DistributedDataParallel(net))}
    for title, wrap in wrappers.items():
        for before in (False, True):
            net = Net()
            wrapped = net if before else wrap(net)
            loss, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.1)
            hook = assay_hook.auto(fresh(), wrapped, loss, optimizer, budget=None)
            wrapped = wrap(net) if before else wrapped
            if before and "compiled" in title:
                hook.begin_pass()  # what is compiled afterwards may call no hooks: the training tells of the pass
            x, y = batch()
            loss(wrapped(x), y).backward()
            optimizer.step()
            hook.close()
            (step,) = tfevents.Trial(PATH).steps.values()
            untold = {"Net_input_0"} if before and "compiled" in title else set()  # nobody may tell what such a network is called with
            both = PARAMETERS | {"gradient/" + n for n in PARAMETERS} | {"CrossEntropyLoss_output_0"} | FED
            assert names_of(step) | untold == both, (title, before, names_of(step))
    for title in ("ddp", "compiled"):  # the reference's own calls
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            hook = assay_hook.Hook(fresh(), include_collections=["weights", "gradients"], save_config=SaveConfig(save_interval=1))
            net = wrappers[title](Net())
            hook.register_module(net)
        assert ["compiled" in str(w.message) for w in told] == ([True] if title == "compiled" else []), told
        net(batch()[0]).sum().backward()
        hook.close()
        (step,) = tfevents.Trial(PATH).steps.values()
        wanted = {n for n in PARAMETERS if "weight" in n} | {"gradient/" + n for n in PARAMETERS}
        assert set(step.tensors) == wanted, (title, set(step.tensors))
    torch.distributed.destroy_process_group()
    os.remove(PATH + ".store")


def test_shards():
    """Of a DTensor its local shard is recorded, under its own name; a shard without elements is not."""
    class Mesh:
        mesh = torch.arange(2)

        def get_coordinate(self):
            return None  # where the worker is in it is for the tests of topologies

    class Shard:
        device_mesh, placements = Mesh(), ()

        def __init__(self, local):
            self._local, self.dtype, self.shape = local, local.dtype, torch.Size((100, 4))
            self.layout, self.device, self.grad, self.requires_grad = local.layout, local.device, None, False

        def detach(self):
            return self

        def to_local(self):
            return self._local
    hook = assay_hook.Hook(fresh(), save_all=True, save_config=SaveConfig(save_interval=1))
    hook.step()
    hook._save_torch("net.weight", Shard(torch.arange(6.0).reshape(3, 2)))
    hook._save_torch("net.bias", Shard(torch.empty(0)))
    counts = hook.counts()
    hook.close()
    (step,) = tfevents.Trial(PATH).steps.values()
    assert counts["errors"] == 0 and list(step.tensors) == ["net.weight"] and step.tensors["net.weight"][1].shape == (3, 2)


def test_scale_of_mixed_precision():
    class Scaler:  # as torch.cuda.amp.GradScaler: leaves the update out where a gradient is not finite
        scale = 1024.0

        def get_scale(self):
            return self.scale

        def step(self, optimizer):
            finite = all(p.grad.isfinite().all() for group in optimizer.param_groups for p in group["params"])
            if finite:
                optimizer.step()
            else:
                self.scale /= 2
    net, scaler, loss = Net(), Scaler(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    hook = assay_hook.auto(fresh(), net, loss, optimizer, scaler, budget=None)
    for number in range(4):
        x, y = batch()
        loss(net(x), y).backward()
        if number == 1:
            net.fc2.bias.grad[0] = float("inf")
        scaler.step(optimizer)
        optimizer.zero_grad()
    hook.close()
    trial = tfevents.Trial(PATH)
    scales = {step: float(s.tensors["scalar/grad_scale"][1][0]) for (step, _), s in trial.steps.items() if "scalar/grad_scale" in s.tensors}
    assert scales == {0: 1024.0, 2: 512.0, 3: 512.0} and len(trial.steps) == 4, scales


def test_workers_are_found():
    cases = (({}, (0, 1)), ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)), ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"}, (2, 4)),
             ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, (0, 1)),  # a batch script is one process, whatever the job has
             ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, (1, 2)),
             ({"RANK": "x", "WORLD_SIZE": "8"}, (0, 1)), ({"RANK": "8", "WORLD_SIZE": "8"}, (0, 1)))
    for environment, wanted in cases:
        assert workers.of_launcher(environment) == wanted, environment
    plain = functools.partial(assay_hook.Hook, include_workers="all", save_config=SaveConfig(save_interval=1))
    for make in (plain, functools.partial(assay_hook.auto, budget=None)):
        path = fresh()
        for rank in range(2):
            os.environ.update(RANK=str(rank), WORLD_SIZE="2")
            hook = make(path)
            hook.step()
            hook.record_tensor_value("loss", torch.tensor(1.0))
            hook.close()
        trial = tfevents.Trial(path)
        assert trial.workers() == ["worker_0", "worker_1"] and trial.ended, make
    # One of many that srun started, each a training of its own; then one whose process group is numbered otherwise.
    kept, assay_hook._process_group = assay_hook._process_group, lambda: None
    for arguments, group, said in (({}, None, 0), ({}, (1, 2), 0), ({}, (0, 1), 1), ({"rank_and_workers": (0, 1)}, (0, 1), 0)):
        hook = plain(fresh(), **arguments)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assay_hook._process_group = lambda group=group: group
            hook.step()
        assay_hook._process_group = lambda: None
        hook.close()
        assert len([w for w in found if "init_process_group" in str(w.message)]) == said, (arguments, group, found)
    # A plain hook of rank 1 records nothing and says so, once, but not where somebody chose that.
    chosen = os.path.join(WORK, "chosen.json")
    with open(chosen, "w") as file:
        json.dump({"HookParameters": {"include_workers": "one"}}, file)
    for arguments, group, said in (({}, None, 1), ({}, (1, 2), 0), ({"include_workers": "all"}, None, 0), ({"dry_run": True}, None, 0),
                                   ({"rank_and_workers": (0, 1)}, None, 0), ({"rank_and_workers": (1, 2)}, None, 0),
                                   ({"config_file": chosen}, None, 0)):
        hook = assay_hook.Hook(fresh(), **arguments)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assay_hook._process_group = lambda group=group: group
            hook.step()
            hook.step()
        assay_hook._process_group = lambda: None
        hook.close()
        assert len([w for w in found if "only worker 0 records" in str(w.message)]) == said, (arguments, group, found)
    assay_hook._process_group = kept
    del os.environ["RANK"], os.environ["WORLD_SIZE"]


class Cut(Net):
    """What the first layer makes is handed on as data; another one is frozen on purpose, and the next is used from the sixth pass on."""

    def __init__(self):
        super().__init__()
        self.frozen, self.late, self.passes = nn.Linear(8, 8).requires_grad_(False), nn.Linear(8, 8), 0

    def forward(self, x):
        self.passes += 1
        h = self.frozen(torch.relu(self.fc1(x).detach()) * self.scale)
        return self.fc2(self.late(h) if self.passes > 5 else h)


def test_parts_without_a_gradient():
    """Of what the optimizer holds only the layer behind detach() is told, at the twentieth update."""
    for make, expected in (Cut, {(19, 1.0)}), (Net, set()):
        trial = train(make(), lambda net, loss, optimizer: assay_hook.auto(fresh(), net, loss, optimizer, budget=None), steps=25, accumulate=2)
        said = {(number, float(step.tensors[tag][1])) for (number, _), step in trial.steps.items()
                for tag in step.tensors if tag == "scalar/held_without_gradient_0"}
        assert said == expected, said
    trial = train(Cut(), lambda net, loss, optimizer: assay_hook.auto(fresh(), net, loss, optimizer, budget=None), steps=19)
    assert not any("held_without" in tag for step in trial.steps.values() for tag in step.tensors)


def test_inputs_in_the_form_asked_for():
    """Small inputs are kept as they are, unless somebody asks for inputs: they are statistics then."""
    asked = [assay_hook.Collection("inputs", record="statistics")]
    trial = train(Net(), lambda net, loss, optimizer: assay_hook.auto(fresh(), net, loss, optimizer, budget=None, include_collections=asked))
    for step in trial.steps.values():
        assert "Net_input_0" not in step.tensors and "Net_input_0" in names_of(step), sorted(step.tensors)


class Twice(nn.Module):
    """A loss of the one reaches the other as well, which clears before its own."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.one(x) + self.other(x)


def test_gradients_that_are_kept():
    """Told from the second update on, whatever clears: nothing, one of two, in place, to None, between passes that are accumulated or only at first."""
    def said(clear, steps=12, passes=1, none=True, auto=True):
        net, loss_fn = Twice(), nn.CrossEntropyLoss()
        first, second = (torch.optim.SGD(part.parameters(), lr=0.01) for part in (net.one, net.other))
        hook = assay_hook.auto(fresh(), net, loss_fn, budget=None) if auto else assay_hook.Hook(fresh(), save_config=SaveConfig(save_interval=4))
        if auto:
            hook.watch_optimizer(first)
        else:
            hook.register_module(net)
            hook.register_optimizer(first)
        hook.register_optimizer(second)
        for step in range(steps):
            hook.set_mode(modes.TRAIN)
            for one in (first, second):
                if clear(step, one is first):
                    one.zero_grad(set_to_none=none)
                for _ in range(passes):
                    x, y = batch()
                    loss_fn(net(x), y).backward()
                nn.utils.clip_grad_norm_((net.one if one is first else net.other).parameters(), 1.0)
                one.step()
        hook.close()
        tags = [(tag, float(step.tensors[tag][1])) for _, step in sorted(tfevents.Trial(PATH).steps.items(), key=lambda item: item[0])
                for tag in step.tensors if tag.startswith("scalar/gradients_kept_")]
        return {tag: [value for t, value in tags if t == tag] for tag, _ in tags}
    for none in True, False:
        for passes in 1, 3:
            assert said(lambda step, first: True, passes=passes, none=none) == {}, (none, passes)
    assert said(lambda step, first: True, auto=False) == {}
    assert said(lambda step, first: first) == {"scalar/gradients_kept_1": [float(n) for n in range(1, 12)]}
    assert said(lambda step, first: not first, auto=False) == {"scalar/gradients_kept_0": [2.0, 4.0, 6.0, 8.0, 10.0]}
    late = said(lambda step, first: step < 8 or not first)
    assert late == {"scalar/gradients_kept_0": [1.0, 2.0, 3.0, 4.0]}, late
    # A training that cleared 200 times is looked at at every 20th update, until one is kept: then at each.
    late = said(lambda step, first: not first or step < 225 or step > 255, steps=300)
    assert late == {"scalar/gradients_kept_0": [float(n) for n in range(1, 17)]}, late
    assert said(lambda step, first: not first or step < 225 or step > 235, steps=300) == {}  # no look falls into these


def test_gradients_of_a_training_before():
    """What a training before left in a weight that is frozen now is no gradient of this one. Handles of losses may be removed twice, as PyTorch's."""
    net = Net()
    nn.CrossEntropyLoss()(net(batch()[0]), torch.zeros(6, dtype=torch.long)).backward()
    net.fc1.requires_grad_(False)

    def frozen(net, loss, optimizer):
        hook = assay_hook.auto(fresh(), net, budget=None)
        for handle in hook._loss_handles:
            handle.remove()
        return hook
    trial = train(net, frozen, evaluate=False)
    named = set().union(*(names_of(step) for step in trial.steps.values()))
    assert "Net_fc1.weight" in named and "gradient/Net_fc2.weight" in named and not any(n.startswith("gradient/Net_fc1") for n in named), named


def test_parts_without_a_gradient_of_a_hook_that_is_told():
    """The other hook tells them as well, at the first recorded step from the twentieth update on."""
    def told(net, loss, optimizer):
        hook = assay_hook.Hook(fresh(), save_config=SaveConfig(save_interval=7), include_collections=["weights"])
        hook.register_module(net)
        hook.register_loss(loss)
        hook.register_optimizer(optimizer)
        return hook
    trial = train(Cut(), told, steps=40, evaluate=False)
    said = {(number, float(step.tensors[tag][1])) for (number, _), step in trial.steps.items()
            for tag in step.tensors if tag == "scalar/held_without_gradient_0"}
    assert said == {(21, 1.0)}, said


def test_budget():
    """Shares and bytes; an interval divides the longer ones; what recording costs decides."""
    assert parse("1 %") == (0.01, None) and parse("0.5%, 200 MB") == (0.005, 2e8) and parse(None) == (None, None)
    for wrong in ("1", "", "x %", "0 %", "1 parsec", "1 %; 1 GB"):
        try:
            Budget(wrong)
        except ValueError as error:
            assert "budget" in str(error)
        else:
            raise SystemExit("%r was taken" % wrong)
    first = [i for i, _ in zip(intervals(), range(9))]
    assert first == [1, 2, 10, 20, 100, 200, 1000, 2000, 10000] and all(b % a == 0 for a, b in zip(first, first[1:]))
    for cost, wanted in ((0.0005, 1), (0.0015, 2), (0.05, 100), (1000.0, 100000 * 10)):
        budget = Budget("1 %")
        assert not budget.saved_step(cost, 0) and budget.interval == 10  # nothing is known of a plain step yet
        for _ in range(9):
            budget.plain_step(0.1)
        budget.saved_step(cost, 0)
        assert budget.interval == wanted, (cost, budget.interval)
    budget.saved_step(0.0001, 0)
    assert budget.interval == 1000000  # it does not go down again
    budget = Budget("1 kB", workers=2)
    grown = []
    for used in range(0, 600, 20):
        if budget.saved_step(0.0, used):
            grown.append((used, budget.interval))
    assert [used for used, _ in grown][:3] == [260, 380, 440] and [i for _, i in grown][:3] == [2, 10, 20], grown
    assert budget.interval > 10**9


def test_budget_of_a_training():
    """Recording that costs more than its share becomes rare, says so once, and losses go on."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        trial = train(Net(), lambda *given: assay_hook.auto(fresh(), *given, budget="0.000001 %"), steps=30)
    kept = [step for (step, _), s in sorted(trial.steps.items()) if "gradient/Net_fc1.weight" in names_of(s)]
    assert kept == [0, 10] and len(trial.steps) == 31 and said.getvalue().count("budget") == 1, (kept, said.getvalue())
    assert "weights, biases and gradients are recorded every " in said.getvalue() and "losses are recorded as before" in said.getvalue(), said.getvalue()
    three = ["weights", "biases", "gradients"]
    assert [how_often(three, 1), how_often(three[:1], 20), how_often(three[:2], NEVER)] == [
        "weights, biases and gradients are recorded at every step", "weights are recorded every 20 steps",
        "weights and biases are no longer recorded"]


def test_losses_that_cost_too_much():
    """Behind many steps of which files take longer than the step fewer losses are recorded, but those before one that is out of the ordinary."""
    kept = automatic.EVERY_LOSS, automatic.LOOK_AT_LOSSES, automatic.AutoHook._written_for
    automatic.EVERY_LOSS, automatic.LOOK_AT_LOSSES = 60, 20
    automatic.AutoHook._written_for = lambda self, account: 100.0 if account == automatic.FILES else 0.0
    said, net, loss_fn = io.StringIO(), Net(), nn.CrossEntropyLoss()
    for losses, name in ((loss_fn, "CrossEntropyLoss"), (None, "CrossEntropyLoss"), ((), "loss")):
        hook = assay_hook.auto(fresh(), net, losses, torch.optim.SGD(net.parameters(), lr=0.0))
        for name_of_interval in "inputs", "labels", "scores", "weights", "biases", "gradients", "digests":
            hook.set_interval(name_of_interval, 10**6)
        hook._budget.interval = hook._fed_budget.interval = 10**6
        with contextlib.redirect_stderr(said):
            for step in range(300):
                x, y = batch()
                loss = loss_fn(net(x * (float("nan") if step == 290 else 1)), y)
                if losses == ():
                    hook.record_tensor_value("loss", loss)
                loss.backward()
                hook.before_update()
                hook.updated()
            net.eval()
            loss = loss_fn(net(x), y)
            hook.record_tensor_value("loss", loss) if losses == () else None
            net.train()
            hook.close()
        trial = tfevents.Trial(PATH)
        steps = [step for (step, _), s in sorted(trial.steps.items()) if name + "_output_0" in s.tensors]
        first, rest = [s for s in steps if s < 80], [s for s in steps if s >= 80]
        wanted = [s for s in range(80, 300) if s % 100 == 0 or 290 - 63 < s <= 299]
        assert first == list(range(80)), steps
        assert [s for s in rest if s < 300] == wanted and rest[-1] == 300, (rest, wanted)
    assert said.getvalue().count("losses of training are recorded every ") == 3, said.getvalue()
    automatic.EVERY_LOSS, automatic.LOOK_AT_LOSSES, automatic.AutoHook._written_for = kept


RARE = dict(budget=None, include_collections=[assay_hook.Collection(name, record="statistics", save_config=SaveConfig(save_interval=1000))
                                              for name in ("weights", "biases", "gradients")])


def bad_batch(wrap=lambda net: net, steps=40, bad=30, reused=False, count=6, evaluations=0, **arguments):
    """A training one batch of which holds a NaN, and that ends there as many do; weights before each step as they were."""
    net, loss_fn, before = Net(), nn.CrossEntropyLoss(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    wrapped, buffer = wrap(net), batch(count)
    hook = assay_hook.auto(fresh(), wrapped, loss_fn, optimizer, **arguments)
    for name in "inputs", "labels":  # as it is where the budget allows no more
        hook.set_interval(name, 1000)
    with contextlib.redirect_stderr(io.StringIO()):
        for step in range(steps):
            x, y = buffer if reused else batch(count)
            x.numpy()[:] = numpy.random.default_rng(step).normal(0, 1, x.shape)  # which PyTorch does not notice
            x.numpy()[0, 1] = float("nan") if step == bad else 0
            before.append((x.clone(), net.fc2.weight.detach().clone()))
            net.eval()
            for _ in range(evaluations if step == bad else 0):
                loss_fn(wrapped(batch(count)[0]), y)
            net.train()
            loss = loss_fn(wrapped(x), y)
            if not loss.isfinite():
                break
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        hook.close()
    return tfevents.Trial(PATH), before


def mean_of(step, name):
    return float(step.tensors["smdebug/reductions/mean/" + name][1])


def test_course():
    """A loss that is not above all of the last ones is no jump, and nothing is computed of the others; far above them it is one."""
    median, asked = moves.statistics.median, []
    moves.statistics.median = lambda values: asked.append(1) or median(values)
    try:
        course = moves.Course()
        assert not any(course.loss(10 - step / 100 - step % 2 / 200) for step in range(100)) and not asked
        assert not course.loss(9.55) and asked  # above all, and near them
        assert course.loss(11.0)
    finally:
        moves.statistics.median = median
    for seed in range(3):  # the same as if all of the last losses were looked at each time
        random, course, seen = numpy.random.default_rng(seed), moves.Course(), []
        for number in range(400):
            value = float(random.normal(10 - number / 50, 0.2) + (50 if random.random() < 0.02 else 0))
            value = value if random.random() < 0.99 else float(random.choice([numpy.nan, numpy.inf, -numpy.inf]))
            course.left = course._paused = course._times = 0
            last = [v for v in seen if numpy.isfinite(v)][-moves.REMEMBERED:]
            usual = numpy.median(numpy.abs(numpy.diff(last))) if len(last) > 1 else 0
            far = len(last) >= moves.ENOUGH and value > max(last) + moves.FAR * max(usual, 1e-3 * abs(numpy.median(last)))
            wanted = far if numpy.isfinite(value) else not seen or bool(numpy.isfinite(seen[-1]))
            assert course.loss(value) == wanted, (seed, number, value)
            seen.append(value)


def test_steps_before_a_nan():
    """Weights and inputs of the steps before come from memory, whatever was due; they are those of that step."""
    torch.distributed.init_process_group("gloo", "file://%s.store" % os.path.abspath(PATH), rank=0, world_size=1)
    for wrap in (lambda net: net), nn.parallel.DistributedDataParallel:
        trial, before = bad_batch(wrap, **RARE)
        for number in range(28, 31):
            step = trial.steps[number, "worker_0"]
            x, weight = before[number]
            assert number == 28 or numpy.isclose(mean_of(step, "Net_fc2.weight"), weight.mean(), rtol=1e-5), (number, names_of(step))
            assert numpy.isclose(step.tensors["Net_input_0"][1].mean(), x.numpy().mean(), rtol=1e-5, equal_nan=True), number
            assert "CrossEntropyLoss_output_0" in step.tensors and len(step.tensors) == len(set(step.tensors))
        assert names_of(trial.steps[27, "worker_0"]) == {"CrossEntropyLoss_output_0"}
    torch.distributed.destroy_process_group()


def test_steps_before_a_nan_on_a_device():
    """Copies are done before the update overwrites what is copied, and the last loss is looked at although no step comes after it."""
    class Slow:  # the CPU stands in for a device whose copies are done when somebody waits for them
        def __init__(self, device):
            pass

        def host(self, tensor):
            return torch.full(tensor.shape, 7, dtype=tensor.dtype)

        def start(self, tensor, host):
            class Copied:
                @staticmethod
                def synchronize():
                    host.copy_(tensor)
            return Copied
    devices.COPIERS["cpu"], kept = Slow, assay_hook.Hook._host
    assay_hook.Hook._host = "none"
    trial, before = bad_batch(**RARE)
    assay_hook.Hook._host = kept
    del devices.COPIERS["cpu"]
    for number in 29, 30:
        assert numpy.isclose(mean_of(trial.steps[number, "worker_0"], "Net_fc2.weight"), before[number][1].mean(), rtol=1e-5), number
        assert "Net_input_0" in names_of(trial.steps[number, "worker_0"])


def test_memory_of_the_steps_before():
    """A buffer that the training fills again is no input of the step before; too little memory keeps no weights, and none keeps nothing."""
    for arguments, inputs, weights in ((dict(reused=True), False, True), (dict(memory="300 B", count=1), True, False), (dict(memory=None), False, False)):
        trial, _ = bad_batch(**RARE, **arguments)  # a copy at each step, however long copies take
        names = names_of(trial.steps[29, "worker_0"])
        assert ("Net_input_0" in names, "Net_fc2.weight" in names) == (inputs, weights), (arguments, names)
    trial, before = bad_batch(evaluations=5, **RARE)  # an epoch is evaluated, and the next one begins with the NaN
    for number, of in (28, 28), (29, 29), (35, 30):
        found = trial.steps[number, "worker_0"].tensors["Net_input_0"][1].mean()
        assert numpy.isclose(found, before[of][0].numpy().mean(), rtol=1e-5, equal_nan=True), number


def test_accumulated_gradients_before_a_nan():
    """Of the step whose loss left its course the pass is recorded that it left it in, of those before the first; nothing is listed twice."""
    net, loss_fn, first = Net(), nn.CrossEntropyLoss(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    hook = assay_hook.auto(fresh(), net, loss_fn, optimizer, **RARE)
    for name in "inputs", "labels":
        hook.set_interval(name, 1000)
    with contextlib.redirect_stderr(io.StringIO()):
        for step in range(34):
            optimizer.zero_grad()
            for part in range(3):
                x, y = batch()
                if (step, part) == (30, 1):
                    x[0, 1] = float("nan")
                first.append(x.mean()) if part == 0 else None
                loss_fn(net(x), y).backward()
            optimizer.step()
        hook.close()
    steps = tfevents.Trial(PATH).steps
    assert numpy.isnan(steps[30, "worker_0"].tensors["Net_input_0"][1]).sum() == 1
    for number in 28, 29:
        assert numpy.isclose(steps[number, "worker_0"].tensors["Net_input_0"][1].mean(), float(first[number]), rtol=1e-5), number
    for folder, _, files in os.walk(os.path.join(PATH, "index")):
        for file in files:
            with open(os.path.join(folder, file)) as text:
                names = [tensor["tensorname"] for tensor in json.load(text)["tensor_payload"]]
            assert len(names) == len(set(names)), (file, names)


def test_mistakes():
    for arguments in (dict(budget="much"), dict(record="digset"), dict(include_collections=["losess"])):
        try:
            assay_hook.auto(fresh(), Net(), **arguments)
        except ValueError:
            continue
        raise SystemExit("%s was taken" % arguments)
    os.environ["ASSAY_HOOK"] = "off"
    hook = assay_hook.auto(fresh(), Net(), nn.CrossEntropyLoss())
    hook.begin_pass()
    hook.before_update()
    hook.close()
    del os.environ["ASSAY_HOOK"]
    assert not os.path.exists(PATH)


class LightningTrainer:
    """The documented order of a Trainer's callback events, with gradients of two batches accumulated."""

    def __init__(self, callbacks):
        self.callbacks, self.callback_metrics = callbacks, {}

    def call(self, event, *arguments):
        for callback in self.callbacks:
            getattr(callback, event, lambda *a: None)(self, *arguments)

    def fit(self, module):
        loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(module.parameters(), lr=0.1)
        self.call("setup", module, "fit")
        self.call("on_fit_start", module)
        for number in range(6):
            data = batch()
            self.call("on_train_batch_start", module, data, number)
            loss = loss_fn(module(data[0]), data[1])
            loss.backward()
            if number % 2:
                self.call("on_before_optimizer_step", module, optimizer)
                optimizer.step()
                optimizer.zero_grad()
            self.call("on_train_batch_end", module, {"loss": loss.detach()}, data, number)
        with torch.no_grad():
            data = batch()
            self.call("on_validation_batch_start", module, data, 0)
            self.call("on_validation_batch_end", module, loss_fn(module(data[0]), data[1]), data, 0)
            self.callback_metrics = {"val_acc": torch.tensor(0.75), "text": "x"}
            self.call("on_validation_end", module)
        self.call("on_fit_end", module)


def test_lightning():
    LightningTrainer([LightningCallback(fresh(), budget=None)]).fit(Net())
    trial = tfevents.Trial(PATH)
    assert trial.ended and [s.mode for _, s in sorted(trial.steps.items())] == ["TRAIN"] * 3 + ["EVAL"]
    step = trial.steps[1, "worker_0"]
    assert names_of(step) == PARAMETERS | {"gradient/" + n for n in PARAMETERS} | {"loss_output_0", "loss_output_1", "Net_input_0"}, names_of(step)
    assert names_of(trial.steps[3, "worker_0"]) == {"loss_output_0", "Net_input_0", "scalar/val_acc"}


class HuggingFaceTrainer:
    """The documented order of Trainer's callback events; each is called with the three states and keywords."""

    def __init__(self, model, callbacks):
        self.model, self.callbacks = model, callbacks

    def call(self, event, **more):
        for callback in self.callbacks:
            getattr(callback, event)("args", "state", "control", model=self.model, **more)

    def train(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.call("on_init_end")
        self.call("on_train_begin", optimizer=optimizer)
        for number in range(3):
            self.call("on_step_begin", optimizer=optimizer)
            x, y = batch()
            self.model.train()
            self.model(x, y)["loss"].backward()
            optimizer.step()
            self.model.zero_grad()
            self.call("on_step_end", optimizer=optimizer)
            self.call("on_log", logs={"loss": 0.5, "learning_rate": 0.1, "note": "x"})
        self.call("on_train_end")


class Net2(Net):
    """Computes its own loss, as models of transformers do."""

    def forward(self, x, labels):
        out = super().forward(x)
        return {"loss": nn.functional.cross_entropy(out, labels), "logits": out}


def test_hugging_face():
    HuggingFaceTrainer(Net2(), [TrainerCallback(fresh(), budget=None)]).train()
    trial = tfevents.Trial(PATH)
    mine = {n.replace("Net_", "Net2_") for n in PARAMETERS}
    assert trial.ended and len(trial.steps) == 3
    for step in trial.steps.values():
        assert names_of(step) == mine | {"gradient/" + n for n in mine} | {"loss_output_0", "Net2_input_0", "Net2_input_1", "scalar/loss", "scalar/learning_rate"}, names_of(step)


def main():
    os.makedirs(WORK, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    for name, test in tests:
        test()
        print("passed " + name)
    sys.exit(0 if len(tests) >= 10 and modes else 1)


if __name__ == "__main__":
    main()
