#!/usr/bin/env python3
"""make.py - makes the files of this folder, all but v1.h5, which the first version of packing wrote.

    make.py ASSAY        small.h5 and many.h5 by `assay pack`, the others by h5py: nothing of them may be read
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from made import Made  # noqa: E402

TABLES = ("files", "names", "checksums", "parts", "entries", "tensors", "tensor_names")


def trial(folder):
    made = Made(folder, 2, {"losses": "loss"})
    for step in range(2):
        made.step(step, "TRAIN", step, {w: {"loss": [step + 0.5]} for w in made.workers})
    return made.end()


def foreign(name, change, libver="v110"):
    with h5py.File(HERE / name, "w", libver=(libver, libver if libver != "earliest" else "latest")) as file:
        file.attrs.create("format", numpy.array(b"assay-packed-trials", "S19"))
        file.attrs.create("version", numpy.uint64(1))
        file.attrs.create("complete", numpy.uint64(1))
        group = file.create_group("trials/t")
        change(group)
        for table in TABLES:
            if table not in group:
                group.create_dataset(table, data=numpy.zeros(4, "u1"))


def virtual(group):
    layout = h5py.VirtualLayout(shape=(16,), dtype="u1")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", shape=(16,))
    group.create_virtual_dataset("bytes", layout)


def main():
    with tempfile.TemporaryDirectory() as folder:
        places = []
        for i in range(12):
            places.append(Path(folder) / ("trial-%d" % i))
            trial(places[-1])
        subprocess.run([sys.argv[1], "pack", "small=%s" % places[0], "-o", HERE / "small.h5"], check=True)
        subprocess.run([sys.argv[1], "pack", *places, "-o", HERE / "many.h5"], check=True)
        Made(Path(folder) / "large").step(0, "TRAIN", 0, {"worker_0": {"w": numpy.zeros(3 << 18, "float32")}}).end()
        subprocess.run([sys.argv[1], "pack", "--compress", Path(folder) / "large", "-o", HERE / "compressed.h5"], check=True)
    zeros = numpy.zeros(8 << 20, "u1")
    foreign("external-storage.h5", lambda g: g.create_dataset("bytes", (64,), "u1", external=[("/etc/passwd", 0, 64)]))
    foreign("external-link.h5", lambda g: g.__setitem__("bytes", h5py.ExternalLink("/etc/passwd", "/x")))
    foreign("soft-link.h5", lambda g: g.__setitem__("bytes", h5py.SoftLink("/x")))
    foreign("virtual.h5", virtual)
    foreign("filter.h5", lambda g: g.create_dataset("bytes", data=zeros[:4096], chunks=(4096,), compression="lzf"))
    foreign("huge-chunk.h5", lambda g: g.create_dataset("bytes", data=zeros, chunks=(8 << 20,), compression="gzip"))
    foreign("old-form.h5", lambda g: None, libver="earliest")


if __name__ == "__main__":
    main()
