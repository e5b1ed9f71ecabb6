"""modules.py - what the PyTorch binding does beyond the recorded trainings.

Usage: modules.py WORK_DIR
"""
import multiprocessing
import os
import shutil
import sys
import warnings

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import assay_hook  # noqa: E402
import assay_hook_config  # noqa: E402
import tfevents  # noqa: E402
from assay_hook import Collection, SaveConfig  # noqa: E402

PATH = os.path.join(sys.argv[1], "modules")


def make(**arguments):
    shutil.rmtree(PATH, ignore_errors=True)
    return assay_hook.Hook(PATH, save_config=SaveConfig(save_interval=1), **arguments)


class Twice(nn.Module):
    """Runs one module twice, another in nested containers, and gives a tuple."""

    def __init__(self):
        super().__init__()
        self.act, self.blocks = nn.Tanh(), nn.ModuleList([nn.Sequential(nn.Linear(3, 3)), nn.LSTM(3, 2)])

    def forward(self, x):
        out, state = self.blocks[1](self.blocks[0](self.act(self.act(x))))
        return out, state


def test_names():
    hook, net = make(save_all=True), Twice()
    hook.register_module(net)
    x = torch.ones(4, 3)
    net(x)[0].sum().backward()
    net(x)
    hook.close()
    trial = tfevents.Trial(PATH)
    first = set(trial.steps[0, "worker_0"].tensors)
    assert len(trial.steps) == 2
    assert {"act_input_0", "act_input_1", "act_output_0", "act_output_1", "blocks.0_output_0", "blocks.0.0_input_0",
            "Twice_blocks.0.0.weight", "gradient/Twice_blocks.1.weight_ih_l0", "Twice_input_0",
            "blocks.1_output_0", "blocks.1_output_1", "blocks.1_output_2", "Twice_output_2"} <= first, first
    assert "act_output_2" not in first and not any("gradient" in n for n in trial.steps[1, "worker_0"].tensors)


def test_values():
    """Views, other devices' dtypes and what cannot be written."""
    hook = make(save_all=True)
    values = {"transposed": torch.arange(6.0).reshape(2, 3).t(), "every_second": torch.arange(8)[::2],
              "bfloat16": torch.tensor([1.0, -2.0]).bfloat16(), "conjugate": torch.tensor([1 + 2j]).conj(),
              "scalar": torch.tensor(3), "grad": torch.ones(2, requires_grad=True), "sparse": torch.eye(2).to_sparse()}
    hook.step()
    for name, value in values.items():
        hook.save_tensor(name, value)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        hook.save_tensor("huge", torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.long), torch.ones(1), (1 << 40,)))
    assert len(told) == 1 and "huge is not saved: tensors of torch.sparse_coo of more than 64 MiB" in str(told[0].message)
    hook.record_tensor_value("mse", torch.tensor(0.5))
    counts = hook.counts()
    hook.close()
    (step,) = tfevents.Trial(PATH).steps.values()
    assert counts["errors"] == 0 and set(step.tensors) == set(values) | {"mse_output_0"}
    assert (step.tensors["transposed"][1] == values["transposed"].numpy()).all()
    assert step.tensors["every_second"][1].tolist() == [0, 2, 4, 6]
    assert step.tensors["bfloat16"][0] == 14 and step.tensors["bfloat16"][1].tolist() == [0x3F80, 0xC000]
    assert step.tensors["sparse"][1].tolist() == [[1, 0], [0, 1]]
    assert step.tensors["conjugate"][1].tolist() == [1 - 2j] and step.tensors["scalar"][1].shape == ()


def test_modes_of_the_network():
    """What the network is in and what is recorded differ: said at steps at which they do, unless it may be meant."""
    def said(net, passes, **arguments):
        hook = make(**arguments)
        hook.register_module(net)
        for mode, train in passes:
            hook.set_mode(mode)
            net.train(train)
            with torch.set_grad_enabled(mode == "TRAIN"):
                net(torch.rand(8, 3))
        hook.close()
        steps = tfevents.Trial(PATH).steps
        return [sorted(n[len("scalar/modules_left_in_"):] for n in step.tensors if n.startswith("scalar/modules_left_in_")) for step in steps.values()]

    passes = [("TRAIN", True), ("EVAL", False), ("TRAIN", False), ("EVAL", True)]
    both = [[], [], ["evaluation"], ["training"]]
    norm, drop = (nn.Sequential(nn.Linear(3, 4), part) for part in (nn.BatchNorm1d(4), nn.Dropout(0.5)))
    assert said(drop, passes) == both and said(norm, passes) == both
    for net in nn.Sequential(nn.Linear(3, 4)), nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.0)):
        assert said(net, passes) == [[]] * 4  # both modes are the same there
    assert said(nn.Sequential(nn.BatchNorm1d(3)), [("TRAIN", False)] * 2) == [["evaluation"]] * 2  # statistics were never taken
    assert said(norm, [("TRAIN", False)] * 2) == [[]] * 2 == said(drop, [("TRAIN", False)] * 2)  # chosen from the start


def test_statistics_of_norms():
    """A copy that takes over weights and no buffers is evaluated with the statistics of the start; what nothing uses, and what is not trained yet, is not said."""
    class Copied(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.copy, self.spare = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), nn.BatchNorm1d(4)

        def forward(self, x):
            return (self.net if self.training else self.copy)(x)

    def said(buffers):
        net = Copied()
        for norm in (net.net[1], net.copy[1], net.spare):  # as generative networks begin: gains that are not 1 are none that moved
            nn.init.normal_(norm.weight, 1, 0.02)
        hook, optimizer = make(), torch.optim.SGD(net.net.parameters(), 0.1)
        hook.register_module(net)
        for mode in "EVAL", "TRAIN", "EVAL":
            hook.set_mode(mode)
            net.train(mode == "TRAIN")
            value = net(torch.rand(8, 3)).pow(3).sum()
            if mode == "TRAIN":
                value.backward()
                optimizer.step()
                for mine, theirs in zip(net.copy.parameters(), net.net.parameters()):
                    mine.data.copy_(theirs.data)
                for mine, theirs in zip(net.copy.buffers(), net.net.buffers()):
                    mine.copy_(theirs) if buffers else None
        hook.close()
        return [float(step.tensors[n][1]) for step in tfevents.Trial(PATH).steps.values() for n in step.tensors if n == "scalar/modules_without_statistics"]
    assert said(False) == [1.0] and said(True) == []


def test_collections_of_modules():
    net = Twice()
    hook = make(include_collections=["first"])
    hook.register_module(net)
    hook.add_collection(Collection("first"))
    hook.get_collection("first").add_module_tensors(net.blocks[0], inputs=True, outputs=True)
    net(torch.ones(4, 3))
    hook.close()
    (step,) = tfevents.Trial(PATH).steps.values()
    assert set(step.tensors) == {"blocks.0_input_0", "blocks.0_output_0"}, set(step.tensors)
    hook = make()
    hook.register_module(net)
    try:
        hook.register_module(net)
        raise SystemExit("a module was registered twice")
    except ValueError as error:
        assert "already" in str(error)
    hook.close()


def child(hook, net):
    net(torch.ones(4, 3))
    hook.save_scalar("x", 1)
    hook.close()


def test_forked_child():
    """As a data loader's worker: it inherits the hook, and records nothing."""
    hook, net = make(save_all=True), Twice()
    hook.register_module(net)
    net(torch.ones(4, 3))
    process = multiprocessing.get_context("fork").Process(target=child, args=(hook, net))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    net(torch.ones(4, 3))
    hook.close()
    trial = tfevents.Trial(PATH)
    assert sorted(step for step, _ in trial.steps) == [0, 1] and "scalar/x" not in trial.steps[0, "worker_0"].tensors


def test_two_backward_passes():
    """As of two networks that compete, in one step: a gradient has one record, the first."""
    hook, net = make(include_collections=["gradients"]), Twice()
    hook.register_module(net)
    out = net(torch.ones(4, 3))[0].sum()
    out.backward(retain_graph=True)
    first = {"gradient/Twice_" + name: p.grad.clone() for name, p in net.named_parameters()}
    (3 * out).backward()
    hook.close()
    (step,) = tfevents.Trial(PATH).steps.values()
    assert all((step.tensors[name][1] == first[name].numpy()).all() for name in first), set(step.tensors)


class Ce(nn.Module):
    def forward(self, scores, labels):
        return nn.functional.cross_entropy(scores, labels)


def losses_of(hook, loss):
    loss(torch.ones(4, 3), torch.zeros(4, dtype=torch.long))
    hook.close()
    trial = tfevents.Trial(PATH)
    assert "Ce_output_0" in trial.steps[0, "worker_0"].tensors, set(trial.steps[0, "worker_0"].tensors)
    return trial.collections["worker_0"]["collections"]["losses"]["tensor_names"]


def test_losses_of_any_name():
    """What a registered loss returns is a loss, though nothing in its name says so."""
    for auto in False, True:
        shutil.rmtree(PATH, ignore_errors=True)
        net, loss = Twice(), Ce()
        hook = assay_hook.auto(PATH, net, loss, budget=None) if auto else make(include_collections=["losses"])
        if not auto:
            hook.register_module(net)
            hook.register_loss(loss)
        net(torch.ones(4, 3))
        assert "Ce_output_0" in losses_of(hook, loss)


def test_networks_of_one_class():
    """Each has names of its own, at all steps, and the automatic hook damages nothing."""
    for auto in False, True:
        shutil.rmtree(PATH, ignore_errors=True)
        first, second = Twice(), Twice()
        hook = assay_hook.auto(PATH, budget=None) if auto else make(save_all=True)
        for net in first, second:
            hook.watch(net, []) if auto else hook.register_module(net)
        for _ in range(2):
            for net in first, second:
                net(torch.ones(4, 3))[0].sum().backward()
                hook.updated() if auto else None
        hook.close()
        assert hook.counts()["errors"] == 0
        trial = tfevents.Trial(PATH)
        weights = {name.split("/")[-1] for step in trial.steps.values() for name in step.tensors if name.endswith("blocks.0.0.weight")}
        assert weights == {"Twice_blocks.0.0.weight", "Twice2_blocks.0.0.weight"}, weights
        assert len(trial.steps) == 4
        if not auto:
            assert {"Twice2_input_0", "Twice2.act_output_0", "gradient/Twice2_blocks.1.weight_ih_l0"} <= set(trial.steps[1, "worker_0"].tensors)


class Twice2(Twice):
    """A class whose name is what a second network of Twice is called by."""


def test_names_of_networks():
    names, networks = assay_hook_config.NetworkNames(), [Twice2(), Twice(), Twice(), Twice2()]
    assert [names(n) for n in networks] == ["Twice2", "Twice", "Twice3", "Twice22"], [names(n) for n in networks]


def test_evaluation_of_a_copy():
    """Nobody registered the copy: its loss is of a step of the evaluation all the same."""
    hook, net, loss = make(include_collections=["losses"]), nn.Linear(3, 1), nn.MSELoss()
    hook.register_module(net)
    hook.register_loss(loss)
    x, y = torch.ones(4, 3), torch.ones(4, 1)
    for _ in range(2):
        hook.set_mode("TRAIN")
        loss(net(x), y)
    hook.set_mode("EVAL")
    loss(nn.Linear(3, 1)(x), y)
    hook.close()
    assert hook.mode_steps[assay_hook.modes.TRAIN] == 1 and hook.mode_steps[assay_hook.modes.EVAL] == 0
    trial = tfevents.Trial(PATH)
    assert ["MSELoss_output_0" in trial.steps[k, "worker_0"].tensors for k in range(3)] == [True] * 3
    assert "MSELoss_output_1" not in trial.steps[1, "worker_0"].tensors


torch.set_num_threads(1)
for test in (test_names_of_networks, test_networks_of_one_class, test_evaluation_of_a_copy, test_losses_of_any_name, test_two_backward_passes, test_names, test_values, test_collections_of_modules, test_forked_child):
    test()
    print("passed " + test.__name__)
