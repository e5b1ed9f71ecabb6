"""laws.py - Hook(laws=True): of the laws of computation (docs/laws.md) both sides, summed up where the tensors are, and not the tensors.

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
"""
import ctypes
import functools
import types
import weakref

import numpy

from assay_hook import _goes_on, _plain_name, _unwrapped
from assay_recording.modules import eps_of

PLAIN, UNSIGNED, ADAM = 0, 1, 4
CELL, MOST_CELLS = 8192, 256  # elements of a cell
ROW_GROUPS, COLUMN_GROUPS, MOST_COLUMNS = 4, 8, 8192
SMALL = 1024  # numbers of a loss's inputs, or a thousandth of the weights'
SGD, BUFFER, OF_ADAM = 0, 1, 2
HALF_STEP = {1: 2.0 ** -24, 2: 2.0 ** -53, 14: 2.0 ** -8, 19: 2.0 ** -11}  # of dtypes
PARTS = 8  # of the rows of a sum
AT_ONCE = 65536  # elements of a function or pooling that are looked at in a step: others in the next one
FUNCTIONS, FIT = 10, 5  # of the measure FUNCTION, and numbers of each
BY_ROWS, BY_CHANNELS, BY_ROOTS, BY_ROOTS_PLUS = range(4)  # forms of a norm
LARGEST, MEAN, MEAN_ROUNDED = range(3)  # of a pooling
POOLINGS = [kind + size for kind in ("MaxPool", "AvgPool", "AdaptiveMaxPool", "AdaptiveAvgPool") for size in ("1d", "2d")]
KNOWN, GROUPED_TILES = (1, 2, 14, 19), 2  # dtypes; tiles of a convolution with groups, whose joined kernels are larger


def host(tensor):
    return tensor.detach().to("cpu").contiguous()


class Laws:
    def __init__(self, hook, library, dtypes):
        self.hook, self.library, self.dtypes = hook, library, dtypes
        self.before, self.parameters, self.fed, self.step, self.names = {}, [], set(), -1, {}
        self.turn, self.is_new, self.functions = -1, True, set()
        self.clear()

    def _complain(self, what, error):
        self.hook._complain("law: " + what, error)

    def clear(self):
        self.local, self.given, self.passes, self.weights, self.expected = {}, {}, {}, {}, {}

    def due(self):
        """Is this step saved? What is left of another one is forgotten."""
        if self.hook._global_step() != self.step:
            self.step = self.hook._global_step()
            self.clear()
            self.is_new = True
        wanted = self.hook._active and self.library.assay_hook_wants(self.hook._handle, b"state/laws/")
        if wanted and self.is_new:
            self.turn, self.is_new = self.turn + 1, False
        return wanted

    def watch(self, module):
        """A network: its linear layers, and its parameters."""
        from torch import nn
        module = _unwrapped(module)[0]
        named = [("%s_%s" % (self.hook._name_of(module), _plain_name(n)), p) for n, p in module.named_parameters()]
        for name, part in module.named_modules():
            if isinstance(part, nn.Linear) or (isinstance(part, nn.Conv2d) and part.padding_mode == "zeros"):
                part.register_forward_hook(functools.partial(self.after_linear, _plain_name(name)))
            else:
                self.watch_part(_plain_name(name), part, nn)
        for name, parameter in named:
            self.names[id(parameter)] = name
            self.parameters.append((name, weakref.ref(parameter)))
            if parameter.requires_grad:
                parameter.register_hook(functools.partial(self.gradient, name))

    def watch_part(self, name, part, nn):
        """What normalises, pools or computes each element by itself."""
        weight = getattr(part, "weight", None)
        flat = weight is None or weight.dim() == 1
        pooling = next((kind for kind in POOLINGS if isinstance(part, getattr(nn, kind))), None)
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)) or (flat and (isinstance(part, nn.LayerNorm) or "rmsnorm" in type(part).__name__.lower())):
            part.register_forward_hook(functools.partial(self.after_norm, name))
        elif pooling:
            part.register_forward_hook(functools.partial(self.after_pooling, name, pooling, getattr(nn, pooling).forward))
        elif next(part.children(), None) is None and next(part.parameters(), None) is None:
            part.register_forward_hook(functools.partial(self.after_function, name))

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

    def watch_loss(self, module):
        """A loss: what it is given is recorded as it is, where that is small beside the weights."""
        module.register_forward_hook(self.after_loss)

    @_goes_on
    def after_loss(self, module, inputs, output):
        tensors = [t for t in inputs if hasattr(t, "numel")]
        most = max(SMALL, sum(p.numel() for _, p in self.living()) // 1000)
        if not self.due() or len(tensors) != len(inputs) or sum(t.numel() for t in tensors) > most:
            return
        prefix = module._get_name() + "_input_"
        for number in range(len(tensors)):  # they are written behind this
            name = "%s%d" % (prefix, self.hook._written.get(prefix, 0) + number)
            if name not in self.fed:
                self.fed.add(name)
                self.library.assay_hook_collection_name(self.hook._handle, b"laws", name.encode())

    def living(self):
        return [(name, parameter()) for name, parameter in self.parameters if parameter() is not None]

    def sketch(self, x, rows, columns, groups, form=PLAIN, y=None):
        """[kinds][groups][columns]; None: not of a type that laws know, or too large."""
        code = self.dtypes.get(str(x.dtype)[6:])
        if code not in KNOWN or columns > MOST_COLUMNS or rows == 0:
            return None
        x, y = host(x), host(y) if y is not None else None
        out = numpy.empty((4, min(rows, groups), columns))
        found = self.library.assay_hook_sketch(form, code, x.data_ptr(), y.data_ptr() if y is not None else None, rows, columns, groups,
                                               out.ctypes.data)
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
        """[groups][groups of outputs][places of an image, 1 of a row]."""
        if module.weight.dim() == 2:
            return (x @ w.T)[..., None]
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

    @_goes_on
    def after_linear(self, name, module, inputs, output):
        if not self.due() or not inputs:
            return
        x, w = inputs[0], module.weight
        output_name = self.pass_of(name)
        outputs, width, convolves = w.shape[0], w.numel() // w.shape[0], w.dim() > 2
        rows = x.shape[0] if convolves else x.numel() // width
        of_x, of_y = (self.sketch(t, rows, t.numel() // rows, ROW_GROUPS) for t in (x, output))
        if name not in self.weights:
            groups = getattr(module, "groups", 1)
            self.weights[name] = self.sketch(w, outputs, width, COLUMN_GROUPS) if groups == 1 else self.of_groups(w, groups)
        of_w = self.weights[name]
        if of_x is None or of_y is None or of_w is None:
            return
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
        cells = self.worst([got - want, products, squares])
        types = [self.dtypes[str(t.dtype)[6:]] for t in (x, w, output)]
        self.save("linear/" + output_name, [width, rows, outputs, groups, tiles, int(convolves)] + types, cells)
        if output.requires_grad and w.requires_grad and not isinstance(getattr(module, "padding", 0), str) and getattr(module, "groups", 1) == 1:
            of_inputs = self.channels(x, convolves)
            if of_inputs is not None:
                output.register_hook(functools.partial(self.output_gradient, module, x.dtype, of_inputs))

    # -- norms

    def pass_of(self, name):
        number = self.passes.get(name, 0)
        self.passes[name] = number + 1
        return "%s_output_%d" % (name, number)

    @_goes_on
    def after_norm(self, name, module, inputs, output):
        from torch import nn
        if not self.due() or not inputs:
            return
        name, x = self.pass_of(name), inputs[0]
        by_channels = isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d))
        if x.shape != output.shape or x.dim() < 2 or x.numel() == 0 or (by_channels and not (module.training or module.running_mean is None)):
            return
        rows = x.shape[0] if by_channels else x.numel() // x.shape[-1]
        columns = x.numel() // rows
        eps = eps_of(module)
        sums = self.normalised_channels(module, x, output, rows) if by_channels else self.normalised_rows(module, x, output, rows, columns, eps)
        if sums is None:
            return
        groups, tiles = sums[0].shape[1], min(COLUMN_GROUPS, columns)
        sign, of_y = self.signs(columns), sums.pop(0)
        got, squares = self.join(of_y[0] * sign, columns, tiles, axis=1), self.join(of_y[1], columns, tiles, axis=1)
        cells = []
        for form, want, terms in sums:
            cells += [[form], got - self.join(want * sign, columns, tiles, axis=1), squares, self.join(terms, columns, tiles, axis=1)]
        self.save("norm/" + name, [rows, columns, groups, tiles, self.dtypes[str(output.dtype)[6:]]], cells)

    def affine(self, module, repeated=1):
        """Weight and bias, for each column."""
        weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
        return (numpy.repeat(host(t).double().numpy(), repeated) if t is not None else other for t, other in ((weight, 1.0), (bias, 0.0)))

    def in_groups(self, rows, groups):
        """Of each group of rows, the sum of their signs and how many there are."""
        return self.join(self.signs(rows), rows, groups)[:, None], self.join(numpy.ones(rows), rows, groups)[:, None]

    def normalised_rows(self, module, x, output, rows, columns, eps):
        """[sums of the output, (form, sums of what it has to be, squares of its terms)...], each column by itself."""
        from torch import nn
        roots = not isinstance(module, nn.LayerNorm)
        eps = next((e for e in (eps, getattr(module, "epsilon", None), getattr(module, "variance_epsilon", None)) if e is not None), 1e-6)
        code = self.dtypes.get(str(x.dtype)[6:])
        of_y = self.sketch(output, rows, columns, ROW_GROUPS)
        if of_y is None or code not in KNOWN or (module.weight is not None and module.weight.numel() != columns):
            return None
        out, x = numpy.empty((4, min(rows, ROW_GROUPS), columns)), host(x)
        found = self.library.assay_hook_sketch_normalised(code, x.data_ptr(), rows, columns, ROW_GROUPS, -eps if roots else eps, out.ctypes.data)
        if found != of_y.shape[1]:
            return None
        normalised, squares = out.reshape(-1)[:4 * found * columns].reshape(4, found, columns)[:2]
        signs, counts = self.in_groups(rows, found)
        weight, bias = self.affine(module)
        scales = [(BY_ROOTS, weight), (BY_ROOTS_PLUS, weight + 1)] if roots else [(BY_ROWS, weight)]
        return [of_y] + [(form, w * normalised + signs * bias, w * w * (squares + counts) + counts * bias * bias) for form, w in scales]

    def normalised_channels(self, module, x, output, rows):
        """The same of a batch, some channels at a time."""
        import torch
        channels, places = x.shape[1], x.numel() // (rows * x.shape[1])
        at_once = MOST_COLUMNS // places
        if at_once == 0:
            return None
        parts = []
        for at in range(0, channels, at_once):
            some = host(x[:, at:at + at_once])
            of_x, of_y = (self.sketch(t, rows, some.shape[1] * places, ROW_GROUPS) for t in (some, host(output[:, at:at + at_once])))
            if of_x is None or of_y is None:
                return None
            variance, mean = torch.var_mean(some.double().reshape(rows, -1, places), (0, 2), unbiased=False)
            parts.append((of_x, of_y, variance.numpy(), mean.numpy()))
        of_x, of_y = (numpy.concatenate([p[k] for p in parts], 2) for k in (0, 1))
        variance, mean = (numpy.repeat(numpy.concatenate([p[k] for p in parts]), places) for k in (2, 3))
        weight, bias = self.affine(module, places)
        signs, counts = self.in_groups(rows, of_x.shape[1])
        scale = weight / numpy.sqrt(variance + module.eps)
        terms = scale * scale * of_x[1] + counts * (scale * scale * mean * mean + weight * weight + bias * bias)
        return [of_y, (BY_CHANNELS, scale * (of_x[0] - signs * mean) + signs * bias, terms)]

    # -- functions and poolings: an element is all there is, so that some are looked at in each step

    def part(self, count, most):
        """Which of them it is this time."""
        most = max(1, min(most, count))
        at = self.turn % -(-count // most) * most
        return at, min(at + most, count)

    @_goes_on
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

    @_goes_on
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

    # -- gradients of linear layers

    def channels(self, x, convolves):
        """Of each row, or place of an image, sums of its channels in groups: [sums, squares][groups][...]."""
        shape = (x.shape[0],) + tuple(x.shape[2:]) if convolves else (-1,)
        x = x.detach()
        columns = x.shape[-1]
        if not convolves and x.device.type == "cpu" and columns > 0:  # as they lie: rows are joined by their columns
            x, code, rows = x.contiguous(), self.dtypes.get(str(x.dtype)[6:]), x.numel() // columns
            out = numpy.empty(2 * min(columns, ROW_GROUPS) * rows)
            if code in KNOWN and self.library.assay_hook_sketch_columns(code, x.data_ptr(), rows, columns, ROW_GROUPS, out.ctypes.data) > 0:
                return out.reshape(2, -1, rows)
        x = (x.transpose(0, 1).reshape(x.shape[1], -1) if convolves else x.reshape(-1, x.shape[-1]).t())
        parts = [self.sketch(x[:, at:at + MOST_COLUMNS], x.shape[0], min(MOST_COLUMNS, x.shape[1] - at), ROW_GROUPS)
                 for at in range(0, x.shape[1], MOST_COLUMNS)]
        return None if not parts or parts[0] is None else numpy.concatenate([p[:2] for p in parts], 2).reshape((2, parts[0].shape[1]) + shape)

    @staticmethod
    def multiply_gradient(module, x, y):
        """[groups of outputs][groups of inputs][places of a kernel, 1 of a row]."""
        if module.weight.dim() == 2:
            return (y @ x.T)[..., None]
        import torch
        out = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(y), None, module.dilation, module.padding, module.stride)
        high, wide = module.weight.shape[2:]
        return out[:, :, :high, :wide].transpose(0, 1).reshape(len(y), len(x), -1).numpy()

    @classmethod
    def sums_of_products(cls, module, of_inputs, of_outputs):
        """What comes out, and the squares that rounding goes by. A rounded factor meets the sum of the others in its group, whose square is more than
        the sum of their squares where rows are alike."""
        (x, x2), (y, y2) = of_inputs, of_outputs
        independent, of_x, of_y = (cls.multiply_gradient(module, a, b) for a, b in ((x2, y2), (x2, y * y), (x * x, y2)))
        if module.weight.dim() == 2:
            got, on_the_way = cls.sums_on_the_way(x, y)
        else:
            got, on_the_way = cls.multiply_gradient(module, x, y), numpy.zeros_like(independent)
        return [got, numpy.maximum(independent, (of_x + of_y) / 2), on_the_way]

    @staticmethod
    def sums_on_the_way(x, y):
        """The products of all rows, and how large the square of their sum was on the way to that, of a cell and of all in mean: where rows are
        in order, such as by label, it is far larger than what comes out, and roundings are as large as it."""
        ends = numpy.arange(PARTS + 1) * x.shape[1] // PARTS
        got, largest = numpy.zeros((len(y), len(x))), 0.0
        for begin, end in zip(ends, ends[1:]):
            got = got + y[:, begin:end] @ x[:, begin:end].T
            largest = numpy.maximum(largest, numpy.maximum(got * got, (got * got).mean()))
        return got[..., None], largest[..., None]

    @_goes_on
    def output_gradient(self, module, dtype, of_inputs, gradient):
        """Backward has reached the output of a pass: what that adds to the gradients of its weight and bias."""
        of_outputs = self.channels(gradient, module.weight.dim() > 2) if self.due() else None
        if of_outputs is None:
            return
        products = of_outputs[0, 0].size
        types = [self.dtypes[str(t)[6:]] for t in (dtype, gradient.dtype)]
        self.expect(module.weight, products, types, self.sums_of_products(module, of_inputs, of_outputs))
        if module.bias is not None and module.bias.requires_grad:
            y, y2 = (t.reshape(len(t), -1) for t in of_outputs)
            got, on_the_way = self.sums_on_the_way(numpy.ones((1, products)), y)
            self.expect(module.bias, products, [types[1], types[1]], [got, y2.sum(1).reshape(got.shape), on_the_way])

    def expect(self, parameter, products, types, sums):
        """Adds to what a gradient has to be, of all passes: each is rounded before it is added."""
        name = self.names.get(id(parameter))
        u = HALF_STEP[types[1]]  # sums on the way are of float32: what they round, in units of the output's
        sums[2] = sums[2] * min(1, 6 * HALF_STEP[1] * (products ** 0.5 / 3 + 2) / (4 * u)) ** 2 if u > HALF_STEP[1] else sums[2]
        if name in self.expected:
            before = self.expected[name]
            alone = sum((t[0] * t[0]).mean() for t in (sums, before[2]))
            products, sums = products + before[0], [a + b for a, b in zip(sums, before[2])]
            sums[2] = sums[2] + alone
        self.expected[name] = products, types, sums

    def compare_gradient(self, gradient, products, types, sums):
        """What backward has made, in the cells of what it has to be."""
        outputs, inputs = gradient.shape[0], gradient.shape[1] if gradient.dim() > 1 else 1
        of_rows = self.sketch(gradient, outputs, gradient.numel() // outputs, ROW_GROUPS)
        if of_rows is None or len(of_rows[0]) != len(sums[0]):
            return None
        groups, tiles = sums[0].shape[:2]
        of_rows = of_rows[:2].reshape(2, groups, inputs, -1)
        sign = self.signs(inputs) if gradient.dim() > 1 else numpy.ones(1)
        got, squares = (self.join(t, inputs, tiles, axis=1) for t in (of_rows[0] * sign[:, None], of_rows[1]))
        code = types[1] if gradient.element_size() > 2 and types[1] in (14, 19) else self.dtypes[str(gradient.dtype)[6:]]  # cast behind a product
        head = [products, outputs, inputs, groups, tiles, int(gradient.dim() != 2)] + types + [code]
        return head, self.worst([got - sums[0], sums[1], numpy.maximum(squares, sums[2])])

    @staticmethod
    def worst(cells):
        """Of [differences, products, squares] of all places, those of the worst place."""
        at = numpy.argmax(numpy.abs(cells[0]) / numpy.sqrt(cells[1] + cells[2] + 1e-300), axis=2)[..., None]
        return [numpy.take_along_axis(c, at, axis=2) for c in cells]

    # -- parameters

    def flat(self, tensor, form=PLAIN, y=None):
        """[kinds][cells] of all elements."""
        count = tensor.numel()
        cells = min(max(count // CELL, min(count, 8)), MOST_CELLS) if count < 8 * CELL else min(count // CELL, MOST_CELLS)
        out = self.sketch(tensor, count, 1, cells, form, y)
        return None if out is None else out[:, :, 0]

    @_goes_on
    def gradient(self, name, gradient):
        """Backward has made it: before workers average it."""
        if not self.due() or name in self.local:
            return
        self.local[name] = self.flat(gradient)
        found = self.compare_gradient(gradient, *self.expected[name]) if name in self.expected else None
        if found is not None:
            self.save("gradient/" + name, *found)

    @_goes_on
    def before_update(self):
        """The optimizer is about to use the gradients."""
        if not self.due():
            return
        for name, parameter in self.living():
            if parameter.grad is None:
                continue
            self.given[name] = self.flat(parameter.grad)
            local = self.local.get(name)
            if local is not None and self.given[name] is not None:
                self.terms("reduce/" + name, parameter, self.given[name], [local])
            if (name, "") not in self.before:  # later on what the update before has left
                self.before[name, ""] = self.flat(parameter)

    def terms(self, name, parameter, target, terms, form=0):
        head = [parameter.numel(), target.shape[1], self.dtypes[str(parameter.dtype)[6:]], form]
        self.save(name, head, [target[0], target[1]] + [t[k] for t in terms for k in (0, 1)])

    @_goes_on
    def updated(self, optimizer):
        for name, parameter in self.living():
            if self.given.get(name) is not None:
                self.update(name, parameter, optimizer.state.get(parameter, {}))
        if not self.given:  # a step that is not saved: what was before the next one is not known
            self.before = {}
        self.clear()

    def update(self, name, parameter, state):
        before, now, g = self.before.get((name, "")), self.flat(parameter), self.given[name]
        self.before[name, ""] = now
        direction, form = [g], SGD
        for key in ("exp_avg", "exp_avg_sq", "momentum_buffer"):
            value = state.get(key)
            if value is None or not hasattr(value, "numel") or value.numel() != parameter.numel():
                continue
            was, moment = self.before.get((name, key)), self.flat(value, UNSIGNED if key == "exp_avg_sq" else PLAIN)
            self.before[name, key] = moment
            if was is not None:
                second = numpy.stack([g[1], g[1] * g[1]])
                self.terms("moments/%s/%s" % (name, key), parameter, moment, [was, second] if key == "exp_avg_sq" else [was, g, before])
            if key == "momentum_buffer":
                direction, form = [moment], BUFFER
        if state.get("exp_avg") is not None and state.get("exp_avg_sq") is not None:
            adam = self.flat(state["exp_avg"], ADAM, state["exp_avg_sq"])
            direction, form = [adam[:2], adam[2:]], OF_ADAM
        if before is not None:
            self.terms("update/" + name, parameter, numpy.stack([now[0] - before[0], numpy.maximum(now[1], before[1])]),
                       direction[:1] + [before] + direction[1:], form)
