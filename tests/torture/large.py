#!/usr/bin/env python3
"""Tensors, files and places beyond 2^31 and 2^32: values are right where 32 bits would cut a number. Files are mostly holes.

    large.py --assay PROGRAM
"""
import argparse
import csv
import io
import json
import os
import pickle
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, run  # noqa: E402
from made import Made  # noqa: E402
from records import CONSTANT, masked_crc  # noqa: E402

G = 1 << 32
AT = (0, (1 << 31) - 1, 1 << 31, G - 1, G, G + 6)  # elements that are no zeros: 1, 2, 3 ...
COUNT = G + 7
BLOCK = 64 << 20


class Bench:
    def __init__(self, assay, folder):
        self.assay, self.folder, self.checks = assay, Path(folder), Checks()

    def rows(self, trial, code=0):
        table = self.folder / "stats.csv"
        done = run([self.assay, "stats", trial, "-o", table, "--quiet", "--memory", "256M"], timeout=900)
        self.checks.expect(done.code == code, "%s: %s" % (trial, done))
        return {(row["tensor"], int(row["step"])): row for row in csv.DictReader(open(table, newline=""))} if table.exists() else {}

    def expect(self, rows, name, step, **wanted):
        row = rows.get((name, step))
        have = row and {key: float(row[key]) for key in wanted}
        self.checks.expect(have == wanted, "%s at step %d: %s and not %s; there are %s" % (name, step, have, wanted, list(rows)))

    def sound(self, trial):
        """All of it could be read; the holes themselves are suspect."""
        done = run([self.assay, "verify", trial, "--json"], timeout=900)
        files = json.loads(done.out)["files"] if done.code in (0, 1) else []
        bad = [f for f in files if f["state"] not in ("sound", "note") and not (f["state"] == "suspect" and "zeros in the middle of values" in f["text"])]
        self.checks.expect(files and not bad, "%s: %s" % (trial, done))


BIG = {"elements": COUNT, "zeros": COUNT - len(AT), "sum": sum(range(1, len(AT) + 1)), "max": len(AT)}


def put_elements(file, start):
    """Bytes of COUNT elements of a byte each from there on."""
    for value, at in enumerate(AT):
        file.seek(start + at)
        file.write(bytes([value + 1]))
    file.truncate(start + COUNT)
    file.seek(start + COUNT)


def npy_head(shape):
    text = "{'descr': '|i1', 'fortran_order': False, 'shape': %s, }" % (shape,)
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def numpy_files(b):
    trial = b.folder / "npy"
    for step, shape in enumerate(((COUNT,), (1, COUNT))):
        place = trial / ("step_%d" % (G + step))  # the number of the step has more than 32 bits, too
        place.mkdir(parents=True)
        with open(place / "x.npy", "wb") as file:
            file.write(npy_head(shape))
            put_elements(file, file.tell())
    rows = b.rows(trial)
    for step in range(2):
        b.expect(rows, "x", G + step, **BIG)


def safetensors(b):
    trial = b.folder / "step-1.safetensors"
    small = numpy.arange(4, dtype="float32")
    text = json.dumps({"big": {"dtype": "I8", "shape": [COUNT], "data_offsets": [0, COUNT]},
                       "small": {"dtype": "F32", "shape": [4], "data_offsets": [COUNT, COUNT + small.nbytes]}}).encode()
    with open(trial, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        put_elements(file, file.tell())
        file.write(small.tobytes())
    rows = b.rows(trial)
    b.expect(rows, "big", 1, **BIG)
    b.expect(rows, "small", 1, elements=4, sum=6, max=3)


def checksum(chunks):
    crc = 0
    for chunk in chunks:
        crc = zlib.crc32(chunk, crc)
    return crc


def elements():
    """The bytes of the elements, block by block."""
    zeros = bytes(BLOCK)
    for first in range(0, COUNT, BLOCK):
        block = zeros if first + BLOCK <= COUNT else bytes(COUNT - first)
        here = [(value + 1, at - first) for value, at in enumerate(AT) if first <= at < first + len(block)]
        if here:
            block = bytearray(block)
            for value, at in here:
                block[at] = value
        yield bytes(block)


class Zip:
    """A zip file with members beyond 4 GiB, stored, whose bytes may be holes."""

    def __init__(self, path):
        self.file, self.central, self.count = open(path, "wb"), b"", 0

    def add(self, name, head, body, crc):
        """`body`: bytes, or None for the elements above."""
        start, size = self.file.tell(), len(head) + (COUNT if body is None else len(body))
        extra = struct.pack("<HHQQ", 1, 16, size, size)
        self.file.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 33, crc, G - 1, G - 1, len(name), len(extra)) + name + extra + head)
        if body is None:
            put_elements(self.file, self.file.tell())
        else:
            self.file.write(body)
        extra = struct.pack("<HHQQQ", 1, 24, size, size, start)
        self.central += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 33, crc, G - 1, G - 1, len(name), len(extra), 0, 0, 0, 0,
                                    G - 1) + name + extra
        self.count += 1

    def close(self):
        at, size = self.file.tell(), len(self.central)
        self.file.write(self.central + struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, self.count, self.count, size, at) +
                        struct.pack("<IIQI", 0x07064B50, 0, at + size, 1) + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, G - 1, G - 1, 0))
        self.file.close()


def archives(b):
    """A .npz and a file of torch; a small member lies behind the large one."""
    small = numpy.arange(4, dtype="float32")
    npz, torch = Zip(b.folder / "step-1.npz"), Zip(b.folder / "step-2.pt")
    head = npy_head((COUNT,))
    npz.add(b"big.npy", head, None, checksum([head, *elements()]))
    text = head.replace(b"|i1", b"<f4").replace(str(COUNT).encode(), b"4".ljust(len(str(COUNT))))
    npz.add(b"small.npy", text, small.tobytes(), checksum([text, small.tobytes()]))
    npz.close()

    import torch as torch_module

    class Storage(pickle.Pickler):
        def persistent_id(self, value):
            return value.id if isinstance(value, Stored) else None

        def reducer_override(self, value):
            return (rebuild, value.arguments) if isinstance(value, Tensor) else NotImplemented

    class Stored:
        def __init__(self, kind, key, count):
            self.id = ("storage", getattr(torch_module, kind), key, "cpu", count)

    class Tensor:
        def __init__(self, stored, count):
            self.arguments = (stored, 0, (count,), (1,), False, {})

    rebuild = torch_module._utils._rebuild_tensor_v2
    out = io.BytesIO()
    Storage(out, protocol=2).dump({"big": Tensor(Stored("CharStorage", "0", COUNT), COUNT), "small": Tensor(Stored("FloatStorage", "1", 4), 4)})
    for name, body in ((b"a/data.pkl", out.getvalue()), (b"a/version", b"3\n"), (b"a/data/0", None), (b"a/data/1", small.tobytes())):
        torch.add(name, b"", body, checksum(elements() if body is None else [body]))
    torch.close()
    for path, step in ((b.folder / "step-1.npz", 1), (b.folder / "step-2.pt", 2)):
        rows = b.rows(path)
        b.expect(rows, "big", step, **BIG)
        b.expect(rows, "small", step, elements=4, sum=6, max=3)
        b.sound(path)
        os.unlink(path)


def recorded(b):
    """Records beyond 4 GiB of an event file, a record that says it has 2^32 bytes more, and steps beyond 2^31."""
    made = Made(b.folder / "recorded", 1, {"weights": "weight"})
    for step in ((1 << 31) - 1, 1 << 31, G, G + 1):
        made.step(step, "TRAIN", step, {"x.weight": numpy.arange(5, dtype="float32") + step % 7})
    made.end()
    indexes = sorted(made.folder.glob("index/*/*.json"))
    for number, (path, shift) in enumerate(zip(indexes, ((1 << 31) - 8, G - 8, G + 64, 5 * G))):
        index = json.loads(path.read_text())
        events = made.folder / index["meta"]["event_file_name"]
        data = events.read_bytes()
        with open(events, "wb") as file:
            file.seek(shift)
            file.write(data)
        for item in index["tensor_payload"]:
            item["start_idx"] += shift
        path.write_text(json.dumps(index))
    rows = b.rows(made.folder)
    for step in ((1 << 31) - 1, 1 << 31, G, G + 1):
        b.expect(rows, "x.weight", step, elements=5, sum=10 + 5 * (step % 7), max=4 + step % 7)
    index = json.loads(indexes[0].read_text())
    item = index["tensor_payload"][0]
    with open(made.folder / index["meta"]["event_file_name"], "r+b") as file:
        length = struct.pack("<Q", item["length"] - 16 + G)
        file.seek(item["start_idx"])
        file.write(length + struct.pack("<I", masked_crc(length)))
    done = run([b.assay, "ls", made.folder, "--json"])
    b.checks.expect(done.code == 3 and "payload has %d bytes" % (item["length"] - 16 + G) in done.out, "a length of 2^32 more: %s" % done)


def logs(b):
    """An event file of TensorBoard with a hole of 4 GiB in one record, and numbers of steps beyond 32 bits in a log."""
    trial = b.folder / "tb"
    trial.mkdir()
    steps = ((1 << 31) - 1, 1 << 31, G - 1, G, 1 << 52)
    (trial / "metrics.csv").write_text("step,loss\n" + "".join("%d,%d\n" % (step, i) for i, step in enumerate(steps)))
    rows = b.rows(trial)
    for i, step in enumerate(steps):
        b.expect(rows, "metrics/loss", step, max=i)
    other = b.folder / "holed"
    other.mkdir()
    length = struct.pack("<Q", G + 16)
    with open(other / "events.out.tfevents.1.host", "wb") as file:
        file.write(length + struct.pack("<I", masked_crc(length)))
        file.seek(G + 16, os.SEEK_CUR)
        file.write(struct.pack("<I", CONSTANT))
    done = run([b.assay, "ls", other], timeout=600)
    b.checks.expect(done.code in (2, 3) and (done.err + done.out).strip(), "a record of 4 GiB: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-large-") as folder:
        b = Bench(args.assay, folder)
        for case in (logs, recorded, safetensors, numpy_files, archives):
            case(b)
    b.checks.done()


if __name__ == "__main__":
    main()
