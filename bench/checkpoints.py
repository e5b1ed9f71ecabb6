"""What bench/run times of checkpoints: reading them, opening them, comparing two of them."""
import array
import io
import json
import pickle
import random
import shutil
import struct
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path
from statistics import median
from unittest import mock

BUILT_IN = Path(__file__).resolve().parents[1] / "jobs" / "built-in.json"
BLOCK = 1 << 20  # elements of a tensor


def values(scale, power=1):
    """The elements of a tensor: those of a normal distribution times `scale`, or their squares."""
    rng = random.Random(1)
    return array.array("f", ((rng.gauss(0, 1) * scale) ** power for _ in range(BLOCK))).tobytes()


def bfloat16(floats):
    """The upper halves of float32."""
    cut = bytearray(len(floats) // 2)
    cut[0::2], cut[1::2] = floats[2::4], floats[3::4]
    return bytes(cut)


def write(path, tensors):
    """A safetensors file of (name, dtype, shape, bytes)."""
    entries, at = {}, 0
    for name, dtype, shape, data in tensors:
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    header = json.dumps(entries).encode()
    path.parent.mkdir(exist_ok=True)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header)
        for _, _, _, data in tensors:
            out.write(data)


def weights(blocks, scale, dtype="F32"):
    data = values(scale)
    data = bfloat16(data) if dtype == "BF16" else data
    return [("layers.%d.weight" % i, dtype, [1024, 1024], data) for i in range(blocks)]


def moments(blocks):
    kinds = (("exp_avg", values(1e-4)), ("exp_avg_sq", values(3e-4, 2)))
    return [("optimizer/layers.%d.weight/%s" % (i, key), "F32", [1024, 1024], data) for i in range(blocks) for key, data in kinds]


class Storage:
    def __init__(self, key, elements):
        self.key, self.elements = str(key), elements


class Tensor:
    """What torch.save() writes of a tensor in bfloat16 that has a storage of its own."""

    def __init__(self, key, rows, columns):
        self.storage, self.shape = Storage(key, rows * columns), (rows, columns)

    def __reduce__(self):
        return sys.modules["torch._utils"]._rebuild_tensor_v2, (self.storage, 0, self.shape, (self.shape[1], 1), False, OrderedDict())


class Pickler(pickle.Pickler):
    def persistent_id(self, thing):
        if isinstance(thing, Storage):
            return "storage", sys.modules["torch"].BFloat16Storage, thing.key, "cpu", thing.elements


def write_torch(path, names):
    """A torch file of tensors of 4 x 8, written without torch: modules of these names are enough for the pickle."""
    torch, utils, pickled = types.ModuleType("torch"), types.ModuleType("torch._utils"), io.BytesIO()
    torch.BFloat16Storage = type("BFloat16Storage", (), {"__module__": "torch"})
    utils._rebuild_tensor_v2 = lambda: None
    utils._rebuild_tensor_v2.__module__, utils._rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    with mock.patch.dict(sys.modules, {"torch": torch, "torch._utils": utils}):
        Pickler(pickled, 2).dump({name: Tensor(i, 4, 8) for i, name in enumerate(names)})
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("archive/data.pkl", pickled.getvalue())
        for key in sorted(map(str, range(len(names)))):
            out.writestr("archive/data/" + key, bytes(64))
        out.writestr("archive/version", "3\n")


def write_shards(folder, tensors, files):
    """The tensors in so many files, with their index."""
    each, where = len(tensors) // files, {}
    for i in range(files):
        name = "model-%05d-of-%05d.safetensors" % (i + 1, files)
        write(folder / name, tensors[i * each:(i + 1) * each])
        where.update((t[0], name) for t in tensors[i * each:(i + 1) * each])
    index = {"metadata": {"total_size": sum(len(t[3]) for t in tensors)}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def opening(bench):
    """Headers of 100 000 tensors, beside a bare loop over them, and beside a loop over the tree that a checking parser makes of them."""
    tensors = [("layers.%d.experts.%d.down_proj.weight" % (i // 100, i % 100), "BF16", [4, 8], bytes(64)) for i in range(100000)]
    layouts = (("in one file", lambda trial: write(trial / "step-1.safetensors", tensors)),
               ("in 20 files with an index", lambda trial: write_shards(trial / "checkpoint-1", tensors, 20)),
               ("in a torch file", lambda trial: write_torch(trial / "step_1.pt", [t[0] for t in tensors])))
    for what, make in layouts:
        trial = bench.folder / "many"
        trial.mkdir()
        make(trial)
        files = sorted(f for f in trial.rglob("*") if f.is_file())
        plan = lambda: bench.measured([bench.args.build / "src" / "assay", "run", bench.one, "--trial", trial, "--dry-run"])[:2]
        for mode in ([], ["parse"]):
            if mode and "torch" in what:
                continue
            bench.pairs("opening a checkpoint of 100 000 tensors %s, over `%s`" % (what, " ".join(["headers"] + mode)), "1.5 or less",
                        lambda: bench.measured([bench.args.build / "bench" / "headers", *mode, *files])[:2], plan)
        shutil.rmtree(trial)
    start = [bench.measured([bench.args.build / "src" / "assay", "--version"])[1] for _ in range(bench.args.pairs)]
    bench.say("the start of the program, which is in all of these", None, median(start), None, None, "")


def reading(bench):
    """Checkpoints through one rule and the built-in set, beside `limit read` of their files; then opening one."""
    blocks = max(1, round(256 * bench.args.scale))
    series = (("weights in float32", lambda step: weights(blocks, 0.02 + step * 1e-4), 1), ("weights in float32", lambda step: weights(
        blocks // 3, 0.02 + step * 1e-4), 3), ("weights in bfloat16", lambda step: weights(2 * blocks, 0.02, "BF16"), 1),
        ("weights in bfloat16", lambda step: weights(2 * blocks // 3, 0.02 + step * 1e-4, "BF16"), 3),
        ("weights and moments in float32", lambda step: weights(blocks // 3, 0.02) + moments(blocks // 3), 1))
    for what, make, steps in series:
        trial = bench.folder / "checkpoints"
        for step in range(1, steps + 1):
            write(trial / ("step-%d.safetensors" % step), make(step))
        files = sorted(trial.iterdir())
        name = "%d checkpoint%s, %s, %.1f GB: " % (steps, "s"[:steps > 1], what, sum(f.stat().st_size for f in files) / 1e9)
        for job, of, aim in ((bench.one, "one rule", "0.8 or more"), (BUILT_IN, "the built-in set", "0.6 or more")):
            bench.below_limit(name, of, files, lambda: bench.cost(trial, job, 1), aim)
        shutil.rmtree(trial)
    opening(bench)


def tensors(bench):
    """Checkpoints tensor by tensor, beside what cmp takes for the same bytes."""
    a, b, c = (bench.folder / name / "step-1.safetensors" for name in ("a", "b", "c"))
    for path, scale in ((a, 1), (b, 1), (c, 1 + 1e-6)):
        write(path, weights(max(1, round(128 * bench.args.scale)), scale))
    size = 2 * a.stat().st_size / 1e9
    cmp = lambda: bench.measured(["cmp", a, b])[:2]
    compare = lambda other: lambda: bench.measured([bench.args.build / "src" / "assay", "compare", a.parent, other.parent,
                                                    "--progress", "0"])[:2]
    name = "two checkpoints of float32, %.1f GB together: " % size
    bench.pairs(name + "`cmp` over `assay compare`, equal", "", cmp, compare(b), True)
    bench.pairs(name + "`cmp` of equal ones over `assay compare` of ones that differ in every element", "", cmp, compare(c), True)
    for what, other in (("equal", b), ("that differ in every element", c)):
        seconds = median(compare(other)()[1] for _ in range(bench.args.pairs))
        bench.say(name + "GB a second of processor time, " + what, None, seconds, size / seconds, None, "1 or more")
    for path in (a, b, c):
        shutil.rmtree(path.parent)
