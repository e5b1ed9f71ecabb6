"""A training by numpy in single precision, of which everything is recorded, for the laws of computation."""
import numpy

from made import Made

ROWS, INPUTS, HIDDEN, OUTPUTS, STEPS = 20, 12, 33, 5, 12
SINGLE = numpy.float32


class Training:
    """A perceptron with relu, workers (two, or one) that average gradients. `fault(step, worker, tensors)` changes what is recorded of a
    pass; `drift(step, worker, weights, state)` what the optimizer has left. Halves are not rounded: numbers are float32."""

    def __init__(self, optimizer="adam", fault=None, drift=None, rate=0.01, factors=None, end=STEPS, workers=2):
        self.end, self.workers = end, workers  # end: of worker_1
        self.random = numpy.random.default_rng(7)
        self.optimizer, self.rate = optimizer, SINGLE(rate)
        self.fault, self.drift = fault or (lambda *a: None), drift or (lambda *a: None)
        self.round = factors or (lambda x: x)
        shapes = {"Net_fc1.weight": (HIDDEN, INPUTS), "Net_fc1.bias": (HIDDEN,), "Net_fc2.weight": (OUTPUTS, HIDDEN), "Net_fc2.bias": (OUTPUTS,)}
        weights = {name: self.normal(shape, 0.3) for name, shape in shapes.items()}
        self.weights = [{name: w.copy() for name, w in weights.items()} for _ in range(workers)]
        self.state = [{} for _ in range(workers)]

    def normal(self, shape, scale=1.0):
        return (self.random.normal(size=shape) * scale).astype(SINGLE)

    def linear(self, x, weights, name):
        return self.round(x) @ self.round(weights["Net_%s.weight" % name]).T + weights["Net_%s.bias" % name]

    def run_pass(self, step, worker):
        w, t = self.weights[worker], {}
        t.update(w)
        t.update({"optimizer/%s/%s" % (n[4:], k): v for n, s in self.state[worker].items() for k, v in s.items()})
        t["fc1_input_0"] = self.normal((ROWS, INPUTS))
        t["fc1_output_0"] = self.linear(t["fc1_input_0"], w, "fc1")
        t["relu_input_0"] = t["fc1_output_0"]
        t["relu_output_0"] = numpy.maximum(t["fc1_output_0"], 0)
        t["fc2_input_0"] = t["relu_output_0"]
        t["fc2_output_0"] = self.linear(t["fc2_input_0"], w, "fc2")
        back = (t["fc2_output_0"] - self.normal((ROWS, OUTPUTS))) / SINGLE(ROWS)
        hidden = (back @ w["Net_fc2.weight"]) * (t["fc1_output_0"] > 0)
        t["gradient/Net_fc2.weight"], t["gradient/Net_fc2.bias"] = back.T @ t["fc2_input_0"], back.sum(0)
        t["gradient/Net_fc1.weight"], t["gradient/Net_fc1.bias"] = hidden.T @ t["fc1_input_0"], hidden.sum(0)
        t = {name: numpy.array(value, SINGLE) for name, value in t.items()}
        self.fault(step, worker, t)
        return t

    def update(self, worker, name, g, step):
        w, s = self.weights[worker], self.state[worker].setdefault(name, {})
        if self.optimizer == "sgd":
            w[name] = w[name] - self.rate * g
            s.clear()
        elif self.optimizer == "momentum":
            s["momentum_buffer"] = SINGLE(0.9) * s.get("momentum_buffer", SINGLE(0)) + g
            w[name] = w[name] - self.rate * s["momentum_buffer"]
        else:
            s["exp_avg"] = SINGLE(0.9) * s.get("exp_avg", SINGLE(0) * g) + SINGLE(0.1) * g
            s["exp_avg_sq"] = SINGLE(0.999) * s.get("exp_avg_sq", SINGLE(0) * g) + SINGLE(0.001) * g * g
            m, v = s["exp_avg"] / SINGLE(1 - 0.9 ** (step + 1)), s["exp_avg_sq"] / SINGLE(1 - 0.999 ** (step + 1))
            decay = 0.0 if self.optimizer == "adam, weights decay" and "bias" in name else 0.01
            w[name] = w[name] * SINGLE(1 - self.rate * decay) - self.rate * m / (numpy.sqrt(v) + SINGLE(1e-8))

    def write(self, folder):
        made = Made(folder, workers=self.workers)
        for step in range(STEPS):
            saved = [self.run_pass(step, w) for w in range(self.workers)]
            made.step(step, "TRAIN", step, {"worker_%d" % w: t for w, t in enumerate(saved) if w == 0 or step < self.end})
            for w in range(self.workers):
                for name in self.weights[w]:
                    self.update(w, name, sum(t["gradient/" + name] for t in saved) / SINGLE(self.workers), step)
                self.drift(step, w, self.weights[w], self.state[w])
        return made.end()


def first(note="", **expected):
    """The strongest finding of the first step that has one has these members, and its remark these words."""
    def same(entry):
        found = entry["findings"]
        here = [f for f in found if f["step"] == found[0]["step"]] if found else []
        strongest = max(here, key=lambda f: f["value"] / f["threshold"], default={})
        return entry["status"] == "IssuesFound" and all(strongest.get(k) == v for k, v in expected.items()) and note in strongest["note"]
    return same


def quiet(least, *untested):
    """No findings, and what was not tested is said: nothing else was left out."""
    return lambda entry: entry["status"] == "NoIssuesFound" and entry["datapoints"] >= least and (
        all(words in entry["message"] for words in untested) and entry["message"].count("not tested") == len(untested))
