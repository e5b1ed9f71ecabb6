"""laws.py - Hook(laws=...): of the laws of computation (docs/laws.md) both sides, summed up where the tensors are, and not the tensors.

Each equation of a saved step becomes a small tensor of float32, of numbers that the rule LawViolated reads:
    state/laws/linear/X_output_N    a head: inputs, rows, columns, groups of rows and of columns, is it a convolution, dtypes of input, weight, output; of
                                    each cell: how far y is from x Wt + b, the squares of the products, those of y
    state/laws/gradient/PARAMETER         likewise: how far the gradient of backward is from dyt x, or from the sum of dy of a bias, whose
                                          terms are often alike: it has as much room as a convolution
    state/laws/norm/X_output_N            a head: rows, columns, groups of rows and of columns, dtype of the output; of each form (0 mean and variance of rows,
                                          1 of channels, 2 mean square of rows, 3 that with 1 + w) its number, and of each cell: how far y is from
                                          the normalised x w + b, the squares of y, those of the terms
    state/laws/function/X_output_N        a head: elements that were looked at, the first of them, how unlikely the mask of a dropout is; of each function
                                          of the measure FUNCTION: elements that are off (-1: looked at no further), of the worst its number, how far
                                          it is off, the bound, and the largest ratio of these
    state/laws/pooling/X_output_N         likewise, with 0 behind the first: of each form (0 largest, 1 mean, 2 mean of sums in the output's type) its
                                          number, and the same of what is not what its window gives
    state/laws/update/PARAMETER           a head: elements, cells, dtype, form; of each cell: w' - w, and sum and squares of w, of the gradient,
    state/laws/moments/PARAMETER/KEY      the buffer, or Adam's quotient (form 0, 1, 2), and of what a smaller e adds to that
    state/laws/reduce/PARAMETER           likewise: the new moment or the gradient that the optimizer gets, and of each term its sum and squares
    state/laws/turns                      with a budget: of so many turns of 8 steps, 1.6 for example, one has the others
"""
import ctypes
import functools
import math
import time
import types
import weakref

import numpy

from assay_hook_config import BUILT_IN, Silent
from assay_hook import _goes_on, _plain_name, _unwrapped
from assay_recording.budget import Turns, parse
from assay_recording.law_tasks import GRADIENT, LINEAR, NORM, OUTPUT, Added, Columns, Rows, Tasks, host, place
from assay_recording.modules import eps_of

PLAIN, UNSIGNED, ADAM = 0, 1, 4
CELL, MOST_CELLS = 8192, 256  # elements of a cell
ROW_GROUPS, COLUMN_GROUPS, MOST_COLUMNS = 4, 8, 8192
SMALL = 1024  # numbers of a loss's inputs, or a thousandth of the weights'
SGD, BUFFER, OF_ADAM = 0, 1, 2
ADAMS = ("Adam", "AdamW", "FusedAdam", "DeepSpeedCPUAdam")
HALF_STEP = {1: 2.0 ** -24, 2: 2.0 ** -53, 14: 2.0 ** -8, 19: 2.0 ** -11}  # of dtypes
AT_ONCE = 65536  # elements of a function or pooling that are looked at in a step: others in the next one
FUNCTIONS, FIT = 10, 5  # of the measure FUNCTION, and numbers of each
BY_CHANNELS = 1  # the form of a norm
LARGEST, MEAN, MEAN_ROUNDED = range(3)  # of a pooling
POOLINGS = [kind + size for kind in ("MaxPool", "AvgPool", "AdaptiveMaxPool", "AdaptiveAvgPool") for size in ("1d", "2d")]
KNOWN, GROUPED_TILES = (1, 2, 14, 19), 2  # dtypes; tiles of a convolution with groups, whose joined kernels are larger
_INT, _COUNT, _PLACE, _REAL = ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_double
SIGNATURES = {
    "sketch": [_INT, _PLACE, _INT, _PLACE], "save_floats": [_PLACE, ctypes.c_size_t] + [_PLACE] * 3,
    "function": [_INT, _PLACE, _INT, _PLACE, _COUNT, _PLACE], "law_products": [_PLACE, _PLACE, _COUNT, _INT, _INT, _PLACE],
}


def products_of(library, x, y):
    """What sums of columns [sums, squares][groups][rows] of x (None: ones) and y say of yt x: what comes out, the squares that rounding goes by,
    and how large the square of a sum was on the way to that: where rows are in order, such as by label, it is far larger than what comes out,
    and roundings are as large as it. A rounded factor meets the sum of the others in its group, whose square is more than the sum of their
    squares where rows are alike."""
    x, y = (numpy.ascontiguousarray(t) if t is not None else None for t in (x, y))
    of_x, of_y = x.shape[1] if x is not None else 1, y.shape[1]
    out = numpy.empty((3, of_y, of_x))
    library.assay_hook_law_products(x.ctypes.data if x is not None else None, y.ctypes.data, y.shape[2], of_x, of_y, out.ctypes.data)
    return out


def _counted(method):
    """A call that records, and what it takes."""
    guarded = _goes_on(method)

    @functools.wraps(method)
    def counted(self, *arguments):
        if isinstance(self, Silent):  # of a network that was copied
            return None
        began = time.perf_counter()
        try:
            return guarded(self, *arguments)
        finally:
            self.turns.cost += time.perf_counter() - began
    return counted


class Laws:
    """`steps` is "all", a share of the step time, or True: USUAL."""
    USUAL = "3 %"

    def __init__(self, hook, library, dtypes, steps):
        budget = None if steps == "all" else steps if isinstance(steps, str) else self.USUAL
        self.turns = Turns(parse(budget)[0])
        if budget and not self.turns.share:
            raise ValueError("laws = %r: expected True, \"all\" steps, or a share of the step time (\"3 %%\")" % budget)
        self.hook, self.library, self.dtypes = hook, library, dtypes
        for function, arguments in SIGNATURES.items():
            getattr(library, "assay_hook_" + function).argtypes = arguments
        self.parameters, self.fed, self.step, self.slots, self.codes = Parameters(self), set(), -1, {}, {}
        self.tasks = Tasks(hook, library, self.code)
        self.turn, self.wanted, self.functions = -1, False, set()
        self.is_unused = self.is_added_to = False  # gradients that no optimizer has used yet; those of this step are added to such
        self.clear()

    def __reduce__(self):
        """As of the hook: a network that is saved whole, or copied, takes no recorder along."""
        return Silent, ()

    def _complain(self, what, error):
        self.hook._complain("law: " + what, error)

    def clear(self):
        self.passes, self.weights = {}, {}
        self.parameters.clear()

    def due(self):
        """Is this step saved? What is left of another one is forgotten."""
        if self.hook._global_step() != self.step:
            self.step, self.is_added_to = self.hook._global_step(), self.is_unused
            self.clear()
            saved = self.hook._active and self.library.assay_hook_wants(self.hook._handle, b"state/laws/")
            self.wanted = saved and self.turns.next()
            self.turns.is_on = self.wanted
            self.turn += self.wanted
            if self.wanted:
                self.tasks.begin()
            if self.wanted and self.turns.share:
                self.save("turns", [1 / self.turns.part], [])
        return self.wanted and self.hook._active

    @staticmethod
    def leaves_out(hook):
        """Beside laws and losses, of which nothing but tensors with "loss" in their names is one: others need not be asked for."""
        patterns = {"laws": ["^state/laws/"], "losses": BUILT_IN["losses"]}
        collections = [hook.collection_manager.collections[name] for name in hook.include_collections]
        are_all = all(c.include_regex == patterns.get(c.name) and not c.tensor_names for c in collections)
        return lambda name: are_all and "oss" not in name

    @_goes_on
    def watch(self, module):
        """A network: its linear layers, and its parameters. Weights that are computed whenever they are asked for (parametrizations, which may
        change something each time) are left alone."""
        from torch import nn
        module = _unwrapped(module)[0]
        named = [("%s_%s" % (self.hook._name_of(module), _plain_name(n)), p) for n, p in module.named_parameters()]
        for name, part in module.named_modules():
            if "parametrizations" in part._modules:
                continue
            if isinstance(part, nn.Linear) or (isinstance(part, nn.Conv2d) and part.padding_mode == "zeros"):
                part.register_forward_hook(functools.partial(self.after_linear, _plain_name(name)))
            else:
                self.watch_part(_plain_name(name), part, nn)
        for name, parameter in named:
            number, slot = self.parameters.add(name, parameter), self.slot(parameter)
            if parameter.requires_grad:
                parameter.register_hook(self.of_gradient(name, number, slot, weakref.ref(parameter)))

    def slot(self, owner):
        """The number of what a weight or bias has to be."""
        return self.slots.setdefault(id(owner), len(self.slots))

    def watch_part(self, name, part, nn):
        """What normalises, pools or computes each element by itself."""
        weight = part._parameters.get("weight")
        flat = weight is None or weight.dim() == 1
        pooling = next((kind for kind in POOLINGS if isinstance(part, getattr(nn, kind))), None)
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)) or (flat and (isinstance(part, nn.LayerNorm) or "rmsnorm" in type(part).__name__.lower())):
            part.register_forward_hook(functools.partial(self.after_norm, name, isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d))))
        elif pooling:
            part.register_forward_hook(functools.partial(self.after_pooling, name, pooling, getattr(nn, pooling).forward))
        elif next(part.children(), None) is None and next(part.parameters(), None) is None:
            part.register_forward_hook(functools.partial(self.after_function, name))

    @_goes_on
    def watch_optimizer(self, optimizer):
        original = optimizer.step

        @functools.wraps(original)
        def step(owner, *arguments, **named):
            self.before_update()
            try:
                return original(*arguments, **named)
            finally:
                self.updated(owner)
        optimizer.step = types.MethodType(step, optimizer)

    @_goes_on
    def watch_loss(self, module):
        """A loss: what it is given is recorded as it is, where that is small beside the weights."""
        module.register_forward_hook(self.after_loss)

    def code(self, tensor):
        """The number of its dtype; None: the laws know none of such tensors."""
        kind = tensor.dtype
        if kind not in self.codes:
            code = self.dtypes.get(str(kind)[6:])
            self.codes[kind] = code if code in KNOWN else None
        return self.codes[kind] if not tensor.is_sparse else None

    @_counted
    def after_loss(self, module, inputs, output):
        tensors = [t for t in inputs if hasattr(t, "numel")]
        most = max(SMALL, self.parameters.elements() // 1000)
        if not self.due() or len(tensors) != len(inputs) or sum(t.numel() for t in tensors) > most:
            return
        prefix = module._get_name() + "_input_"
        for number in range(len(tensors)):  # they are written behind this
            name = "%s%d" % (prefix, self.hook._written.get(prefix, 0) + number)
            if name not in self.fed:
                self.fed.add(name)
                self.library.assay_hook_collection_name(self.hook._handle, b"laws", name.encode())

    def sketch(self, x, rows, columns, groups, form=PLAIN, y=None):
        """[kinds][groups][columns]; None: not of a type that laws know, or too large."""
        code = self.dtypes.get(str(x.dtype)[6:])
        if code not in KNOWN or columns > MOST_COLUMNS or rows == 0:
            return None
        x, y = host(x), host(y) if y is not None else None
        out = numpy.empty((4, min(rows, groups), columns))
        found = self.library.assay_hook_sketch(form, ctypes.byref(Rows(x.data_ptr(), y.data_ptr() if y is not None else None, code, rows, columns)), groups, out.ctypes.data)
        return out.reshape(-1)[:4 * found * columns].reshape(4, found, columns) if found > 0 else None

    def save(self, name, head, cells):
        with numpy.errstate(over="ignore"):  # what is copied has a bound that is next to nothing
            parts = [numpy.asarray(part, numpy.float32).reshape(-1) for part in (head, *cells)]
        self.hook._save_array("state/laws/" + name, numpy.concatenate(parts))

    # -- linear layers

    def signs(self, count):
        """Of rows from 0 on, as assay_sketch_sign() has them."""
        i = numpy.arange((count + 63) // 64, dtype=numpy.uint64) + numpy.uint64(1)
        x = i * numpy.uint64(0x9e3779b97f4a7c15)
        x = (x ^ x >> numpy.uint64(30)) * numpy.uint64(0xbf58476d1ce4e5b9)
        x = (x ^ x >> numpy.uint64(27)) * numpy.uint64(0x94d049bb133111eb)
        x ^= x >> numpy.uint64(31)
        bits = x[:, None] >> numpy.arange(64, dtype=numpy.uint64) & numpy.uint64(1)
        return 1 - 2.0 * bits.reshape(-1)[:count]

    @staticmethod
    def join(values, rows, groups, axis=0):
        """Sums of what belongs to rows, by groups of them: [rows][...] -> [groups][...]."""
        first = -(-numpy.arange(groups) * rows // groups)
        return numpy.add.reduceat(values, first, axis=axis)

    @staticmethod
    def multiply(module, x, w, shape, places):
        """[groups][groups of outputs][places of an image]."""
        import torch
        out = torch.nn.functional.conv2d(torch.from_numpy(x).reshape(-1, *shape), torch.from_numpy(w).reshape(len(w), -1, *module.weight.shape[2:]),
                                         None, module.stride, module.padding, module.dilation)
        return out.reshape(len(x), len(w), places).numpy()

    def of_groups(self, w, groups):
        """Kernels of a convolution with groups of channels, as those of one without: a channel of the input meets the outputs of its group alone."""
        outputs, width = w.shape[0], w.numel() // w.shape[0]
        if self.dtypes.get(str(w.dtype)[6:]) not in KNOWN or groups * width * GROUPED_TILES > MOST_COLUMNS * COLUMN_GROUPS:
            return None
        rows = host(w).double().numpy().reshape(outputs, width) * self.signs(outputs)[:, None]
        number = numpy.arange(outputs)
        cell, made = (number * GROUPED_TILES // outputs, number * groups // outputs), numpy.zeros((2, GROUPED_TILES, groups, width))
        numpy.add.at(made[0], cell, rows)
        numpy.add.at(made[1], cell, rows * rows)
        return made.reshape(2, GROUPED_TILES, groups * width)

    @_counted
    def after_linear(self, name, module, inputs, output):
        if not self.due() or not inputs:
            return
        x, w, name = inputs[0], module.weight, self.pass_of(name)
        follows = output.requires_grad and w.requires_grad
        if w.dim() == 2:
            of = [-1] if follows else None  # its number
            self.tasks.note(self.multiplied, "state/laws/linear/" + name, self.is_alone(module, output), (x, output), (module, x, w, output, of))
            if follows:
                output.register_hook(functools.partial(self.linear_gradient, name, self.step, module, of))
            return
        if id(module) not in self.weights:
            self.weights[id(module)] = (self.sketch(w, w.shape[0], w.numel() // w.shape[0], COLUMN_GROUPS) if module.groups == 1 else
                                        self.of_groups(w, module.groups))
        of_w = self.weights[id(module)]
        if of_w is None or not self.convolved(name, module, x, w, output, of_w):
            return
        if follows and not isinstance(module.padding, str) and module.groups == 1:
            of_inputs = self.channels(x)
            if of_inputs is not None:
                output.register_hook(functools.partial(self.output_gradient, module, x.dtype, of_inputs))

    def multiplied(self, name, now, module, x, w, output, of):
        outputs, width = w.shape
        rows = x.numel() // width
        number = self.tasks.take(LINEAR, name, now, x, output, w, module.bias, rows, width, outputs, min(rows, ROW_GROUPS), min(outputs, COLUMN_GROUPS),
                                 parameter=self.slot(w if id(w) in self.slots else module), of=of is not None)
        if of:
            of[0] = number

    @staticmethod
    def is_alone(module, output):
        """Does no backward pass follow?"""
        return not (module.training and output.requires_grad)

    @_counted
    def linear_gradient(self, name, step, module, of, gradient):
        """Backward has reached the output of a pass: what that adds to the gradients of its weight and bias."""
        if self.due() and step == self.step:
            self.tasks.note(self.multiplied_back, "dy/" + name, not self.tasks.wait_behind_backward(self.wait), (gradient,), (module, of, gradient))

    def multiplied_back(self, name, now, module, of, gradient):
        bias, outputs = module.bias, module.weight.shape[0]
        if of[0] >= 0:
            self.tasks.take(OUTPUT, name, now, y=gradient, rows=gradient.numel() // outputs, outputs=outputs, parameter=self.slots.get(id(module.weight), -1),
                            of_bias=self.slots.get(id(bias), -1) if bias is not None and bias.requires_grad else -1, of=of[0])

    def convolved(self, name, module, x, w, output, of_w):
        rows, outputs, width = x.shape[0], w.shape[0], w.numel() // w.shape[0]
        of_x, of_y = (self.sketch(t, rows, t.numel() // rows, ROW_GROUPS) for t in (x, output))
        if of_x is None or of_y is None:
            return False
        groups, tiles = of_x.shape[1], of_w.shape[1]
        sign, places = self.signs(outputs), output.numel() // (rows * outputs)
        factors = [(of_x[0], of_w[0]), (of_x[1], of_w[1]), (of_x[0] * of_x[0], of_w[1]), (of_x[1], of_w[0] * of_w[0])]
        want, products, rows_alike, columns_alike = (self.multiply(module, a, b, x.shape[1:], places) for a, b in factors)
        products = numpy.maximum(products, (rows_alike + columns_alike) / 2)
        if module.bias is not None:
            bias = host(module.bias).double().numpy()
            want += numpy.outer(self.join(self.signs(rows), rows, groups), self.join(sign * bias, outputs, tiles))[..., None]
            products += rows / groups * self.join(bias * bias, outputs, tiles)[:, None]
        of_y = of_y.reshape(4, groups, outputs, places)
        got, squares = (self.join(t, outputs, tiles, axis=1) for t in (of_y[0] * sign[:, None], of_y[1]))
        self.save("linear/" + name, [width, rows, outputs, groups, tiles, 1] + [self.code(t) for t in (x, w, output)],
                  self.worst([got - want, products, squares]))
        return True

    # -- norms

    def pass_of(self, name):
        number = self.passes.get(name, 0)
        self.passes[name] = number + 1
        return "%s_output_%d" % (name, number)

    @_counted
    def after_norm(self, name, by_channels, module, inputs, output):
        if not self.due() or not inputs:
            return
        name, x = self.pass_of(name), inputs[0]
        if x.shape != output.shape or x.dim() < 2 or x.numel() == 0 or (by_channels and not (module.training or module.running_mean is None)):
            return
        if by_channels:
            self.normalised_channels(name, module, x, output)
        else:
            self.tasks.note(self.normalised_rows, "state/laws/norm/" + name, self.is_alone(module, output), (x, output), (module, x, output))

    def affine(self, module, repeated=1):
        """Weight and bias, for each column."""
        weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
        return (numpy.repeat(host(t).double().numpy(), repeated) if t is not None else other for t, other in ((weight, 1.0), (bias, 0.0)))

    def in_groups(self, rows, groups):
        """Of each group of rows, the sum of their signs and how many there are."""
        return self.join(self.signs(rows), rows, groups)[:, None], self.join(numpy.ones(rows), rows, groups)[:, None]

    def normalised_rows(self, name, now, module, x, output):
        from torch import nn
        columns, weight, bias = x.shape[-1], module.weight, getattr(module, "bias", None)
        rows, roots = x.numel() // columns, not isinstance(module, nn.LayerNorm)
        eps = next((e for e in (eps_of(module), getattr(module, "epsilon", None), getattr(module, "variance_epsilon", None)) if e is not None), 1e-6)
        if weight is None or weight.numel() == columns:
            self.tasks.take(NORM, name, now, x, output, weight, bias, rows, columns, columns, min(rows, ROW_GROUPS), min(COLUMN_GROUPS, columns),
                            -eps if roots else eps)

    def normalised_channels(self, name, module, x, output):
        """Of a batch: some channels at a time, each column of them by itself."""
        import torch
        rows = x.shape[0]
        channels, places = x.shape[1], x.numel() // (rows * x.shape[1])
        columns, at_once, parts = channels * places, MOST_COLUMNS // places, []
        if at_once == 0 or self.code(x) is None:
            return
        for at in range(0, channels, at_once):
            some = host(x[:, at:at + at_once])
            of_x, of_y = (self.sketch(t, rows, some.shape[1] * places, ROW_GROUPS) for t in (some, host(output[:, at:at + at_once])))
            if of_x is None or of_y is None:
                return
            variance, mean = torch.var_mean(some.double().reshape(rows, -1, places), (0, 2), unbiased=False)
            parts.append((of_x, of_y, variance.numpy(), mean.numpy()))
        of_x, of_y = (numpy.concatenate([p[k] for p in parts], 2) for k in (0, 1))
        variance, mean = (numpy.repeat(numpy.concatenate([p[k] for p in parts]), places) for k in (2, 3))
        weight, bias = self.affine(module, places)
        groups, tiles, sign = of_x.shape[1], min(COLUMN_GROUPS, columns), self.signs(columns)
        signs, counts = self.in_groups(rows, groups)
        scale = weight / numpy.sqrt(variance + module.eps)
        apart = of_y[0] - scale * (of_x[0] - signs * mean) - signs * bias
        terms = scale * scale * of_x[1] + counts * (scale * scale * mean * mean + weight * weight + bias * bias)
        self.save("norm/" + name, [rows, columns, groups, tiles, self.code(output)],
                  [[BY_CHANNELS], *(self.join(t, columns, tiles, axis=1) for t in (apart * sign, of_y[1], terms))])

    # -- functions and poolings: an element is all there is, so that some are looked at in each step

    def part(self, count, most):
        """Which of them it is this time."""
        most = max(1, min(most, count))
        at = self.turn % -(-count // most) * most
        return at, min(at + most, count)

    @_counted
    def after_function(self, name, module, inputs, output):
        if not self.due() or not inputs:
            return
        name, x, y = self.pass_of(name), inputs[0], output
        if getattr(x, "shape", None) != getattr(y, "shape", 0) or y.numel() == 0 or x.data_ptr() == y.data_ptr() or (
                hasattr(module, "p") and not (module.training and module.p > 0)):
            return
        first, end = self.part(y.numel(), AT_ONCE)
        codes = [self.dtypes.get(str(t.dtype)[6:]) for t in (y, x)]
        if not set(codes) <= set(KNOWN):
            return
        x, y = (host(t.reshape(-1)[first:end]) for t in (x, y))
        if 8 * int(x.count_nonzero()) < x.numel():  # nearly every function makes 0 of 0
            return
        fits = numpy.empty(FUNCTIONS * FIT + 1)
        if self.library.assay_hook_function(codes[0], y.data_ptr(), codes[1], x.data_ptr(), end - first, fits.ctypes.data) != FUNCTIONS:
            return
        if (fits[:-1:FIT] >= 0).any():
            self.functions.add(name)
        if name in self.functions:  # else it is none that is known
            self.save("function/" + name, [end - first, first, fits[-1]], [fits[:-1]])

    @_counted
    def after_pooling(self, name, kind, forward, module, inputs, output):
        if not self.due() or not inputs:
            return
        name, x, y, axes = self.pass_of(name), inputs[0], output, int(kind[-2])
        if not hasattr(y, "numel") or x.dim() <= axes or self.dtypes.get(str(y.dtype)[6:]) not in KNOWN or x.numel() == 0:
            return
        plane, out = x.shape[-axes:].numel(), y.shape[-axes:].numel()
        first, end = self.part(x.numel() // plane, AT_ONCE // plane)
        x, y = (host(t.reshape((-1, 1) + t.shape[-axes:])[first:end]).double() for t in (x, y))
        is_mean, again = "Avg" in kind, forward(module, x)
        apart, u = (y - again).abs(), HALF_STEP[self.dtypes[str(output.dtype)[6:]]]
        cells = []
        for form in ([MEAN, MEAN_ROUNDED] if is_mean and u > HALF_STEP[1] else [MEAN] if is_mean else [LARGEST]):
            bound = 0 * again + 2.0 ** -149
            if is_mean:
                count = plane / out if "Adaptive" in kind else self.window(module.kernel_size, axes)
                squares = forward(module, x * x)  # where windows are cut, of a quarter of the elements at least
                sums = u if form == MEAN_ROUNDED else min(u, HALF_STEP[1])
                bound = bound + 2 * u * again.abs() + 6 * sums * (count ** 0.5 / 3 + 2) * (4 * squares / count + again * again).sqrt() + (u == HALF_STEP[19]) * 2.0 ** -24
            ratio = (apart / bound).reshape(-1)
            ratio = ratio.masked_fill(ratio != ratio, float("inf"))
            at = int(ratio.argmax())
            cells.append([form, int((ratio > 1).sum()), at, *(float(t.reshape(-1)[at]) for t in (apart, bound, ratio))])
        if bool(x.isfinite().all()):
            self.save("pooling/" + name, [y.numel(), first * out, 0], cells)

    @staticmethod
    def window(kernel, axes):
        return float(numpy.prod(kernel)) if isinstance(kernel, (tuple, list)) else float(kernel) ** axes

    # -- gradients of convolutions

    def channels(self, x):
        """Of each place of an image, sums of its channels in groups: [sums, squares][groups][...]."""
        shape, x = (x.shape[0],) + tuple(x.shape[2:]), x.detach()
        x = x.transpose(0, 1).reshape(x.shape[1], -1)
        parts = [self.sketch(x[:, at:at + MOST_COLUMNS], x.shape[0], min(MOST_COLUMNS, x.shape[1] - at), ROW_GROUPS)
                 for at in range(0, x.shape[1], MOST_COLUMNS)]
        return None if not parts or parts[0] is None else numpy.concatenate([p[:2] for p in parts], 2).reshape((2, parts[0].shape[1]) + shape)

    @staticmethod
    def multiply_gradient(module, x, y):
        """[groups of outputs][groups of inputs][places of a kernel]."""
        import torch
        out = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(y), None, module.dilation, module.padding, module.stride)
        high, wide = module.weight.shape[2:]
        return out[:, :, :high, :wide].transpose(0, 1).reshape(len(y), len(x), -1).numpy()

    def sums_of_products(self, module, of_inputs, of_outputs):
        """As products_of(), with places of a kernel behind: of those nothing is known on the way."""
        (x, x2), (y, y2) = of_inputs, of_outputs
        independent, of_x, of_y, got = (self.multiply_gradient(module, a, b) for a, b in ((x2, y2), (x2, y * y), (x * x, y2), (x, y)))
        return [got, numpy.maximum(independent, (of_x + of_y) / 2), numpy.zeros_like(independent)]

    @_counted
    def output_gradient(self, module, dtype, of_inputs, gradient):
        """As linear_gradient()."""
        of_outputs = self.channels(gradient) if self.due() else None
        if of_outputs is None:
            return
        products = of_outputs[0, 0].size
        types = [self.codes[dtype], self.code(gradient)]
        self.expect(module.weight, products, types, self.sums_of_products(module, of_inputs, of_outputs))
        if module.bias is not None and module.bias.requires_grad:
            self.expect(module.bias, products, [types[1], types[1]],
                        products_of(self.library, None, of_outputs.reshape(2, of_outputs.shape[1], -1))[..., None])

    def expect(self, parameter, products, types, sums):
        """Adds to what a gradient has to be, of all passes."""
        sums = numpy.ascontiguousarray(sums, float)
        if id(parameter) in self.slots:
            self.library.assay_hook_laws_expect(self.tasks.of, self.slots[id(parameter)], ctypes.byref(
                Added((_INT * 2)(*types), *sums.shape[1:], products, sums.ctypes.data)))

    def compare_gradient(self, slot, name, gradient):
        """What backward has made of a kernel, in the cells of what it has to be."""
        types, where = (_INT * 2)(), ctypes.c_void_p()
        outputs, inputs = gradient.shape[:2]
        products = self.library.assay_hook_laws_expected(self.tasks.of, slot, types, ctypes.byref(where))
        of_rows = self.sketch(gradient, outputs, gradient.numel() // outputs, ROW_GROUPS) if products else None
        if of_rows is None:
            return
        shape = 3, min(outputs, ROW_GROUPS), min(inputs, ROW_GROUPS), gradient[0, 0].numel()
        sums = numpy.ctypeslib.as_array(ctypes.cast(where, ctypes.POINTER(_REAL)), shape)
        of_rows = of_rows[:2].reshape(2, shape[1], inputs, -1)
        own, types = self.code(gradient), list(types)
        made = types[1] if gradient.element_size() > 2 and types[1] in (14, 19) else own  # cast behind a product
        got, squares = (self.join(t, inputs, shape[2], axis=1) for t in (of_rows[0] * self.signs(inputs)[:, None], of_rows[1]))
        self.save(name, [products, outputs, inputs, *shape[1:3], 1] + types + [made],
                  self.worst([got - sums[0], sums[1], numpy.maximum(squares, sums[2])]))

    @staticmethod
    def worst(cells):
        """Of [differences, products, squares] of all places, those of the worst place."""
        at = numpy.argmax(numpy.abs(cells[0]) / numpy.sqrt(cells[1] + cells[2] + 1e-300), axis=2)[..., None]
        return [numpy.take_along_axis(c, at, axis=2) for c in cells]

    # -- parameters

    def of_gradient(self, name, number, slot, parameter):
        """What backward calls for each gradient, before workers average it. One that becomes the parameter's own has no other owner meanwhile,
        or it would be copied."""
        name = "state/laws/gradient/" + name
        nothing = ()

        def gradient(made):
            self.is_unused = True
            if not self.wanted or not self.hook._active or made is None:
                return
            try:
                tasks, owner = self.tasks, parameter()
                now = not tasks.wait_behind_backward(self.wait) or name in tasks.changed
                if now or (owner is not None and owner.grad is not None):
                    tasks.note(self.made_gradient, name, now, (made,), (number, slot, parameter, made))
                else:
                    tasks.note(self.own_gradient, name, False, nothing, (number, slot, parameter, made.data_ptr(), made._version))
            except Exception as error:
                self._complain("gradient", error)
        return gradient

    def own_gradient(self, name, now, number, slot, parameter, pointer, version):
        owner = parameter()
        made = owner.grad if owner is not None else None
        if made is None or made.data_ptr() != pointer or made._version != version:
            self.tasks.changed.add(name)
        else:
            self.made_gradient(name, now, number, slot, parameter, made)

    def made_gradient(self, name, now, number, slot, parameter, made):
        local, dims = self.parameters.room_of_local(number, made), made.dim()
        if local is None:
            return
        shape = (made.shape[0], made.shape[1] if dims == 2 else 0) if dims in (1, 2) else (made.numel(), 0)
        if self.tasks.take(GRADIENT, name, now, weight=made, outputs=shape[0], inputs=shape[1], parameter=slot if dims in (1, 2) else -1,
                           sums=local[0], cells=local[1], stride=local[2], owner=number) >= 0 and dims > 2:
            self.compare_gradient(slot, name[len("state/laws/"):], made)

    @_counted
    def before_update(self):
        """The optimizer is about to use the gradients."""
        if self.due():
            self.wait()
            self.parameters.take_given()

    @_counted
    def updated(self, optimizer):
        self.is_unused = False
        self.parameters.forget_parts(self.is_added_to)
        self.parameters.updated(optimizer.state, adam_like(optimizer), decaying(optimizer))
        self.finish()
        self.clear()

    @_counted
    def wait(self):
        self.tasks.wait()
        for number in self.tasks.dropped:
            self.parameters.forget_local(number)
        self.tasks.dropped.clear()

    def finish(self):
        """The end of a step, or of what its records can be of."""
        self.wait()
        self.tasks.finish()

    def close(self):
        self.finish()
        self.tasks.close()


def adam_like(optimizer):
    """The parameters that it updates as Adam does: others keep moments of these names, too."""
    kind = type(getattr(optimizer, "optimizer", optimizer))  # inside of what wraps one
    groups = optimizer.param_groups if kind.__name__ in ADAMS else []
    return {p for group in groups if group.get("eps", 1e-8) == 1e-8 and not group.get("amsgrad") for p in group["params"]}


def decaying(optimizer):
    """The parameters whose decay is a part of their gradient: squares of that sum are not what the squares of gradients say."""
    kind = type(getattr(optimizer, "optimizer", optimizer)).__name__
    return {p for group in optimizer.param_groups if group.get("weight_decay") and kind != "AdamW" for p in group["params"]}


class Parameters:
    """Sums of all parameters side by side, so that few calls make all records of a step."""
    KEYS = ("exp_avg", "exp_avg_sq", "momentum_buffer")
    # Rows of what is kept, [4 kinds][cells of all]: the weights, as they were and are; the gradients of backward, those that are given to the
    # optimizer; its state, as it was and is; Adam's quotient; what is made of these.
    WAS, NOW, LOCAL, GIVEN, OLD, NEW, QUOTIENT, MOVED, SQUARES = 0, 1, 2, 3, 4, 7, 10, 11, 12
    ROWS = 13

    def __init__(self, laws):
        self.laws, self.known, self.plans, self.elements_of, self.laid_out = laws, [], {}, [], False
        self.again = set()  # parameters of which backward has made a gradient more than once in this step

    def add(self, name, parameter):
        self.known.append((name, weakref.ref(parameter)))
        return len(self.known) - 1

    def living(self):
        return [(number, name, parameter()) for number, (name, parameter) in enumerate(self.known) if parameter() is not None]

    def elements(self):
        return sum(p.numel() for _, _, p in self.living())

    def clear(self):
        """The gradients of another step."""
        self.laid_out = False
        self.again.clear()
        if self.elements_of:
            self.has[[self.LOCAL, self.GIVEN]] = False

    def lay_out(self):
        """Room for those there are, once a step. What was kept of others is forgotten."""
        if self.laid_out:
            return
        self.laid_out = True
        elements = [p().numel() if p() is not None else 0 for _, p in self.known]
        if elements == self.elements_of:
            return
        self.elements_of, self.plans, cells = elements, {}, []
        for count in elements:
            most = min(max(count // CELL, min(count, 8)), MOST_CELLS) if count < 8 * CELL else min(count // CELL, MOST_CELLS)
            cells.append(count if count <= most else 1 << most.bit_length() - 1)
        self.first = numpy.concatenate([[0], numpy.cumsum(cells)]).astype(numpy.uint64)
        self.sizes, self.counts = numpy.array(cells), numpy.array(elements, numpy.uint64)
        self.kept = numpy.zeros((self.ROWS, 4, int(self.first[-1])))
        self.has = numpy.zeros((self.ROWS, len(elements)), bool)
        self.begins, self.numbers, self.local = self.first.tolist(), cells, self.kept[self.LOCAL].ctypes.data

    def sum_up(self, row, tensors, form=PLAIN, others=None, number=0):
        """Sums of the tensors from that number on, of those that are not None."""
        laws, count = self.laws, len(tensors)
        places = [place(t) if t is not None else None for t in tensors], [place(t) if t is not None else None for t in others or ()]
        codes = [laws.code(t) if t is not None else None for t in tensors]
        found = [code is not None for code in codes]
        pointers = [numpy.array([t.data_ptr() if t is not None and f else 0 for t, f in zip(p, found)], numpy.uintp) for p in places]
        types = numpy.array([code or 0 for code in codes], numpy.int32)
        columns = Columns(count, types.ctypes.data, pointers[0].ctypes.data, pointers[1].ctypes.data if others else None,
                          self.counts[number:].ctypes.data, self.first[number:].ctypes.data)
        laws.tasks.take_columns(form, columns, self.kept.shape[2], self.kept[row].ctypes.data, places, pointers, types)
        self.has[row, number:number + count] = found

    def fits(self, number, tensor):
        return tensor is not None and hasattr(tensor, "numel") and tensor.numel() == self.elements_of[number] > 0

    def room_of_local(self, number, gradient):
        """Where sums of it go, how many, and how far from the squares. Of several backward passes in a step the first one counts."""
        self.lay_out()
        if self.has[self.LOCAL, number]:
            self.again.add(number)
        if self.has[self.LOCAL, number] or not self.fits(number, gradient) or self.laws.code(gradient) is None:
            return None
        self.has[self.LOCAL, number] = True
        return self.local + 8 * self.begins[number], self.numbers[number], self.kept.shape[2]

    def forget_local(self, number):
        if number is not None and self.elements_of:
            self.has[self.LOCAL, number] = False

    def forget_parts(self, all_of_them):
        """What the optimizer got is the sum of several gradients, of which these are one: nothing follows from it."""
        if self.elements_of:
            self.has[self.LOCAL, list(range(len(self.known))) if all_of_them else list(self.again)] = False

    def take_given(self):
        self.lay_out()
        weights, gradients = [None] * len(self.known), [None] * len(self.known)
        for number, _, parameter in self.living():
            if self.fits(number, parameter.grad):
                gradients[number] = parameter.grad
                if not self.has[self.WAS, number]:  # later on what the update before has left
                    weights[number] = parameter
        self.sum_up(self.GIVEN, gradients)
        if any(w is not None for w in weights):
            was = self.has[self.WAS].copy()
            self.sum_up(self.WAS, weights)
            self.has[self.WAS] |= was
        self.laws.wait()

    def updated(self, states, adam, decaying):
        if not self.elements_of:
            return
        if not self.has[self.GIVEN].any():  # a step that is not saved: what was before the next one is not known
            self.has[:] = False
            return
        count = len(self.known)
        weights, state, quotient = [None] * count, [[None] * count for _ in self.KEYS], ([None] * count, [None] * count)
        for number, _, parameter in self.living():
            if not self.has[self.GIVEN, number]:
                continue
            weights[number], own = parameter, states.get(parameter, {})
            for key, row in zip(self.KEYS, state):
                value = own.get(key)
                row[number] = value if self.fits(number, value) else None
            m, v = state[0][number], state[1][number]
            if parameter in decaying:
                state[1][number] = None
            if parameter in adam and m is not None and v is not None and m.dtype == v.dtype:
                quotient[0][number], quotient[1][number] = m, v
        self.sum_up(self.NOW, weights)
        for k, row in enumerate(state):
            self.has[self.NEW + k] = False
            if any(t is not None for t in row):
                self.sum_up(self.NEW + k, row, UNSIGNED if self.KEYS[k] == "exp_avg_sq" else PLAIN)
        self.has[self.QUOTIENT] = False
        if any(t is not None for t in quotient[0]):
            self.sum_up(self.QUOTIENT, quotient[0], ADAM, quotient[1])
        self.laws.wait()
        self.save([self.laws.code(w) or 0 if w is not None else 0 for w in weights])
        for was, now in ((self.WAS, self.NOW), *((self.OLD + k, self.NEW + k) for k in range(len(self.KEYS)))):
            self.kept[was][:, numpy.repeat(self.has[now], self.sizes)] = self.kept[now][:, numpy.repeat(self.has[now], self.sizes)]
            self.has[was] |= self.has[now]

    def save(self, codes):
        kept = self.kept
        kept[self.MOVED, 0], kept[self.MOVED, 1] = kept[self.NOW, 0] - kept[self.WAS, 0], numpy.maximum(kept[self.NOW, 1], kept[self.WAS, 1])
        kept[self.SQUARES, 0], kept[self.SQUARES, 1] = kept[self.GIVEN, 1], kept[self.GIVEN, 1] * kept[self.GIVEN, 1]
        what = self.has.tobytes(), tuple(codes)
        if what not in self.plans:
            self.plans = {what: self.plan(codes), **dict(list(self.plans.items())[:7])}  # the last few
        names, sizes, index, heads = self.plans[what]
        with numpy.errstate(over="ignore"):
            values = numpy.concatenate([kept.reshape(-1), heads])[index].astype(numpy.float32)
        self.laws.library.assay_hook_save_floats(self.laws.hook._handle, len(sizes), names, sizes.ctypes.data, values.ctypes.data)

    def records_of(self, number, name):
        """(name, form, rows and kinds) of the records of one parameter, the target before the terms."""
        has = self.has[:, number]
        if has[self.LOCAL]:
            yield "reduce/" + name, 0, [(self.GIVEN, 0), (self.LOCAL, 0)]
        direction, form = [(self.GIVEN, 0)] if not has[self.NEW] else None, SGD  # what has a first moment and is no Adam: unknown
        for k, key in enumerate(self.KEYS):
            if has[self.OLD + k] and has[self.NEW + k]:
                terms = [(self.SQUARES, 0)] if key == "exp_avg_sq" else [(self.GIVEN, 0), (self.WAS, 0)]
                yield "moments/%s/%s" % (name, key), 0, [(self.NEW + k, 0), (self.OLD + k, 0), *terms]
            if key == "momentum_buffer" and has[self.NEW + k]:
                direction, form = [(self.NEW + k, 0)], BUFFER
        if has[self.QUOTIENT]:
            direction, form = [(self.QUOTIENT, 0), (self.QUOTIENT, 2)], OF_ADAM
        if direction and has[self.WAS] and has[self.NOW]:
            yield "update/" + name, form, [(self.MOVED, 0), direction[0], (self.WAS, 0), *direction[1:]]

    def plan(self, codes):
        """Names and sizes of the records, and where their numbers are: in what is kept, or in the heads behind that."""
        names, heads, index, sizes, total = [], [], [], [], self.kept.shape[2]
        for number, name, _ in self.living():
            first, cells = int(self.first[number]), int(self.sizes[number])
            for record, form, pairs in self.records_of(number, name) if self.has[self.GIVEN, number] else ():
                at = [numpy.arange(4) + self.kept.size + len(heads)]
                at += [(4 * row + kind + k) * total + first + numpy.arange(cells) for row, kind in pairs for k in (0, 1)]
                heads += [self.elements_of[number], cells, codes[number], form]
                names.append(self.laws.hook._encoded("state/laws/" + record))
                index.append(numpy.concatenate(at))
                sizes.append(len(index[-1]))
        return ((ctypes.c_char_p * len(names))(*names), numpy.array(sizes, numpy.uint64), numpy.concatenate(index or [numpy.zeros(0, int)]),
                numpy.array(heads, float))
