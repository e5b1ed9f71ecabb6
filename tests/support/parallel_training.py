"""parallel_training - a small data-parallel training in numpy, recorded through the hook, with one fault at a time.

Four workers train a network of two layers on four classes. Each computes the gradient of its own batch; the mean over the
workers is what all of them apply, so that their weights stay equal to the last bit. A fault is a change of one line of
that, as it happens in practice; see FAULTS.
"""
import time

import numpy

import assay_hook

WORKERS, STEPS, BATCH, INPUTS, HIDDEN, CLASSES = 4, 24, 16, 8, 16, 4
FAULT_STEP = 12  # from here on, or here
NAMES = ("TinyNet_fc1.weight", "TinyNet_fc1.bias", "TinyNet_fc2.weight", "TinyNet_fc2.bias")
FAULTS = ("healthy", "flipped", "unsynchronized", "duplicate", "missing", "absent", "straggler", "frozen",
          "gradient_spike", "loss_spike", "collapse", "bad_label", "tiny_gradients", "infinite",
          "nan_input", "own_input", "nan_labels", "nan_gradient", "nan_update", "nan_loss", "overflow", "several", "masked")


class Worker:
    def __init__(self, path, rank, fault, interval, include, workers="all"):
        assay_hook._rank_and_workers = lambda: (rank, WORKERS)
        self.rank, self.fault = rank, fault
        self.hook = assay_hook.Hook(path, include_workers=workers,
                                    save_config=assay_hook.SaveConfig(save_interval=interval),
                                    include_collections=["weights", "biases", "gradients", "losses"],
                                    include_regex=list(include))
        self.hook.set_mode(assay_hook.modes.TRAIN)
        start = numpy.random.default_rng(1)
        self.parameters = [start.normal(0, 0.3, (HIDDEN, INPUTS)), numpy.zeros(HIDDEN),
                           start.normal(0, 0.3, (CLASSES, HIDDEN)), numpy.zeros(CLASSES)]
        self.parameters = [p.astype(numpy.float32) for p in self.parameters]

    def batch(self, step):
        shard = 1 if self.fault == "duplicate" and self.rank == 2 else self.rank
        random = numpy.random.default_rng([7, step, shard])
        labels = random.integers(0, CLASSES, BATCH)
        centres = numpy.random.default_rng(3).normal(0, 1, (CLASSES, INPUTS))
        inputs = centres[labels] + random.normal(0, 0.5, (BATCH, INPUTS))
        if self.fault == "loss_spike" and step == FAULT_STEP:
            inputs = inputs * -50
        if step == FAULT_STEP and ((self.fault, self.rank) in (("nan_input", 2), ("own_input", 0), ("several", 1), ("several", 3))):
            inputs[3, 2] = numpy.nan
        return inputs.astype(numpy.float32), labels.astype(numpy.int64)

    def save(self, name, value):
        self.hook._save(name, value)

    def gradients(self, step):
        """Forward and backward pass of one batch, recorded in that order."""
        here = step == FAULT_STEP
        self.hook.step()
        for name, value in zip(NAMES, self.parameters):
            self.save(name, value)
        w1, b1, w2, b2 = self.parameters
        x, labels = self.batch(step)
        hidden = numpy.maximum(x @ w1.T + b1, 0)
        if self.fault == "infinite" and here and self.rank == 3:
            hidden[1, 1] = numpy.inf
        if self.fault == "overflow" and here and self.rank == 1:
            hidden = hidden * numpy.float32(3e38)
        if self.fault == "masked":  # attention: what is not to be looked at
            self.save("attention_mask_output_0", numpy.where(numpy.eye(4) > 0, numpy.float32(0), numpy.float32(-numpy.inf)))
        scores = hidden @ w2.T + b2
        wide = scores.astype(numpy.float64)
        share = numpy.exp(wide - wide.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        loss = -numpy.log(share[numpy.arange(BATCH), labels] + 1e-30).mean()
        if self.fault == "nan_loss" and here and self.rank == 0:
            loss = numpy.nan
        shown = labels.copy()
        if self.fault == "nan_labels" and here and self.rank == 2:  # targets that came from a division
            shown = shown.astype(numpy.float32)
            shown[4] = loss = share[4] = numpy.nan
        if self.fault == "bad_label" and here and self.rank == 2:
            shown[5] = CLASSES
        for name, value in (("TinyNet_input_0", x), ("act2_output_0", hidden), ("CrossEntropyLoss_input_0", scores),
                            ("CrossEntropyLoss_input_1", shown), ("CrossEntropyLoss_output_0", numpy.float32(loss))):
            self.save(name, value)
        share[numpy.arange(BATCH), labels] -= 1
        share /= BATCH * (1e10 if self.fault == "tiny_gradients" else 1)
        back = (share @ w2) * (hidden > 0)
        result = [back.T @ x, back.sum(0), share.T @ hidden, share.sum(0)]
        result = [g.astype(numpy.float32) for g in result]
        if self.fault == "nan_gradient" and here and self.rank == 1:
            result[2][0, 5] = numpy.nan
        if self.fault == "gradient_spike" and here and self.rank == 1:
            self.save("gradient/" + NAMES[2], result[2] * numpy.float32(2 ** 20))
        else:
            self.save("gradient/" + NAMES[2], result[2])
        for k in (3, 0, 1):
            self.save("gradient/" + NAMES[k], result[k])
        return result

    def apply(self, step, gradients):
        for k, g in enumerate(gradients):
            if self.fault == "frozen" and k == 2:
                continue
            self.parameters[k] = self.parameters[k] - numpy.float32(0.1) * g
        if self.fault == "flipped" and self.rank == 3 and step == FAULT_STEP - 1:
            self.parameters[0][2, 3] += numpy.float32(0.5)
        if self.fault == "nan_update" and step == FAULT_STEP - 1:  # the optimizer's own state, the same on all workers
            self.parameters[2][1, 1] = numpy.nan
        if self.fault == "collapse" and step == FAULT_STEP - 1:
            self.parameters[3][1] += numpy.float32(100)


SHOWN = ("TinyNet_input_0", "act2_output", "CrossEntropyLoss_input", "attention_mask")


def record(path, fault, interval=1, include=SHOWN, workers="all"):
    """Records a training with the fault into `path`, every so many steps, with the tensors of those names; of all workers or one."""
    assert fault in FAULTS
    kept = assay_hook._rank_and_workers
    workers = [Worker(path, rank, fault, interval, include, workers) for rank in range(WORKERS)]
    assay_hook._rank_and_workers = kept
    numpy.seterr(invalid="ignore")  # the infinite one
    for step in range(STEPS):
        gone = fault == "absent" or (fault == "missing" and step >= FAULT_STEP)
        here = [w for w in workers if not (gone and w.rank == 3)]
        found = {}
        for worker in sorted(here, key=lambda w: w.rank == 2):  # worker 2 last: it may be late without the others
            if fault == "straggler" and worker.rank == 2:
                time.sleep(0.2)
            found[worker.rank] = worker.gradients(step)
        mean = [sum(g[k] for g in found.values()) / numpy.float32(len(found)) for k in range(len(NAMES))]
        for worker in here:
            alone = fault == "unsynchronized" and step >= FAULT_STEP - 1
            worker.apply(step, found[worker.rank] if alone else mean)
    for worker in workers:
        counts = worker.hook.counts()
        worker.hook.close()
        if counts["errors"] or counts["dropped"]:
            raise SystemExit("worker %d: %s" % (worker.rank, counts))
