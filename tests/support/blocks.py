"""Trials of the formats in tests/formats, as numpy has them."""
import zlib
from pathlib import Path

import numpy

KINDS = {"float32": "f4", "float64": "f8", "int64": "i8"}


class Blocks:
    """Writes records into a few files below `root`, and the index that knows all of them."""

    def __init__(self, root):
        self.root = Path(root)
        self.rows = {}

    def put(self, file, data):
        """Appends bytes to a file, an odd number of others before them; returns where they begin."""
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as out:
            out.write(b"between"[:1 + out.tell() % 7])
            at = out.tell()
            out.write(data)
        return at

    def row(self, step, worker, name, value, *rest):
        shape = "x".join(map(str, value.shape)) or "-"
        text = " ".join(map(str, (name, KINDS[value.dtype.name], shape) + rest))
        self.rows.setdefault((step, worker), []).append(text)

    def plain(self, step, worker, name, value, file):
        self.row(step, worker, name, value, "plain", file, self.put(file, numpy.ascontiguousarray(value).tobytes()))

    def strided(self, step, worker, name, value, file):
        """Every second column of a wider array, in Fortran order."""
        wide = numpy.full(value.shape[:-1] + (2 * value.shape[-1],), 77, value.dtype, order="F")
        wide[..., ::2] = value
        strides = wide[..., ::2].strides
        self.row(step, worker, name, value, "strided", file, self.put(file, wide.tobytes("F")), ",".join(map(str, strides)))

    def deflated(self, step, worker, name, value, file):
        data = zlib.compress(numpy.ascontiguousarray(value).tobytes())
        self.row(step, worker, name, value, "deflate", file, self.put(file, data), len(data))

    def pieces(self, step, worker, name, value, axis, cuts, files):
        parts = numpy.split(value, cuts, axis)
        places = []
        for part, file in zip(parts, files):
            places += [file, self.put(file, numpy.ascontiguousarray(part).tobytes()), part.shape[axis]]
        self.row(step, worker, name, value, "pieces", axis, *places)

    def value(self, step, worker, name, value):
        self.row(step, worker, name, numpy.float64(value), "value", repr(float(value)))

    def write(self, mode="TRAIN"):
        for (step, worker), rows in self.rows.items():
            path = self.root / ("block-%d" % step) / (worker + ".index")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(["mode %s %d" % (mode, step)] + rows + ["end %d" % len(rows)]) + "\n")
        (self.root / "blocks.end").touch()
        return self.root


def sample(root):
    """A small trial with every kind of record."""
    blocks, rng = Blocks(root), numpy.random.default_rng(7)
    for step in (0, 10, 20):
        for worker in ("worker_0", "worker_1"):
            file = "block-%d/%s.data" % (step, worker)
            weight = rng.normal(0, 1, (6, 4)).astype("float32")
            blocks.plain(step, worker, "net.weight", weight, file)
            blocks.strided(step, worker, "net.bias", weight[:2], file)
            blocks.deflated(step, worker, "optimizer/net.weight/exp_avg", weight * 2, file)
            blocks.pieces(step, worker, "head.weight", weight, 1, [1, 3], [file, "block-%d/shared-%s" % (step, worker), file])
            blocks.value(step, worker, "loss", step / 4)
    blocks.write()
