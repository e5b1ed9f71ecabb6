"""Checkpoints without checksums with a hole of zeros in the middle of a tensor, and zeros that somebody meant; used by damaged_checkpoints.py."""
import numpy
import torch

from checkpoint_layouts import SOUND, SUSPECT, Case, adam, as_torch
from checkpoints import save_safetensors

PLACE = 0.4137  # of a tensor: neither at a row nor at a part of a bias


def make_hole(path, value, size):
    """Zeros in the bytes of `value`, which lie somewhere in the file."""
    data, raw = bytearray(path.read_bytes()), numpy.ascontiguousarray(value).tobytes()
    at = data.index(raw) + int(len(raw) * PLACE) // 4 * 4
    data[at:at + size] = bytes(size)
    path.write_bytes(data)


def save_arrays(root, step, values):
    for name, value in values.items():
        (root / ("step_%d" % step)).mkdir(parents=True, exist_ok=True)
        numpy.save(root / ("step_%d" % step) / (name + ".npy"), value)


def torn(work):
    """A page or more in moments, of what has one dimension, of whole numbers, in .npy."""
    rng = numpy.random.default_rng(5)
    forms = {"safetensors": lambda root, step, values: save_safetensors(root / ("model_%d.safetensors" % step), values), "npy": save_arrays}
    for kind, shape in (("exp_avg", (100, 300)), ("exp_avg", (30000,)), ("exp_avg_sq", (100, 300)), ("exp_avg", (3, 9000))):
        root = work / ("%s-%s" % (kind, shape))
        root.mkdir(parents=True)
        for step in (100, 200):
            values = {"fc.weight": rng.normal(0, 1, shape).astype("float32"), "out.weight": rng.normal(0, 1, (8, 8)).astype("float32")}
            optimizer = adam(values, step)
            torch.save({"state_dict": as_torch(values), "optimizer": optimizer}, root / ("model_%d.pth" % step), _use_new_zipfile_serialization=False)
        make_hole(root / "model_200.pth", optimizer["state"][0][kind].numpy(), 4096)
        yield Case("a hole in %s of %s" % (kind, shape), root, SUSPECT, "resume from model_100.pth; 200: .*fc.weight/exp_avg")
    for form, save in forms.items():
        for dtype in ("float32", "float16", "int8", "uint8", "int32"):
            for shape in ((300, 200), (60000,), (20, 3, 1000)):
                if dtype == "int32" and len(shape) < 2:
                    continue  # a table or a histogram may be so
                root = work / ("%s-%s-%d" % (form, dtype, len(shape)))
                for step in (100, 200):
                    value = rng.normal(0, 1, shape)
                    value = (value if "float" in dtype else (value * 40 + (128 if dtype[0] == "u" else 0)).clip(0 if dtype[0] == "u" else -127, 255 if dtype[0] == "u" else 127)).astype(dtype)
                    save(root, step, {"a.weight": rng.normal(0, 1, (32, 32)).astype("float32"), "b.weight": value})
                make_hole(root / "model_200.safetensors" if form == "safetensors" else root / "step_200" / "b.weight.npy", value, 4096 if len(shape) < 3 else 9000)
                yield Case("%s: a hole in %s of %s" % (form, dtype, shape), root, SUSPECT, "resume from .*100.*; 200: .*zeros in the middle of values")


def meant(work):
    rng = numpy.random.default_rng(6)
    dense = lambda *shape: rng.normal(0, 1, shape).astype("float32")
    made = {"attn.qkv.bias": dense(6144), "out.bias": dense(8192), "bn.running_mean": dense(4096), "q.weight": (dense(300, 512) * 40).astype("int8"),
            "attn.mask": numpy.tri(512, dtype="uint8"), "attn.bias": numpy.tri(512, dtype=bool), "pruned.weight": (dense(300, 512) * 2).astype("int8"),
            "histogram": dense(60000)}
    made["attn.qkv.bias"][2048:4096] = made["out.bias"][5000:] = made["bn.running_mean"][1024:3072] = made["q.weight"][100:140] = made["histogram"][7001:30001] = 0
    made["pruned.weight"][rng.random((300, 512)) < 0.6] = 0
    for name, value in made.items():
        save_safetensors(work / name / "model.safetensors", {"w.weight": dense(16, 16), name: value})
        yield Case("zeros that are meant: " + name, work / name, SOUND)
    rows, columns = dense(1000, 64), dense(4, 4096)
    rows[200:260] = rows[700:] = 0
    columns[:, 100:2100] = 0
    for name, moment in (("rows", rows), ("columns", columns), ("flat", numpy.concatenate([dense(333), rows.reshape(-1), dense(1001)]))):
        value = torch.nn.Parameter(torch.from_numpy(dense(*moment.shape)))
        optimizer = torch.optim.AdamW([value])
        value.grad = torch.ones_like(value)
        optimizer.step()
        state = optimizer.state_dict()
        state["state"][0].update(exp_avg=torch.from_numpy(moment) * 0.01, exp_avg_sq=torch.from_numpy(moment * moment))
        (work / "moments").mkdir(exist_ok=True, parents=True)
        torch.save({"model": {"_flat_param" if name == "flat" else "wte.weight": value.detach()}, "optimizer": state}, work / "moments" / (name + ".pth"), _use_new_zipfile_serialization=False)
        yield Case("moments that no gradient reached: " + name, work / "moments" / (name + ".pth"), SOUND)


def holes(work):
    yield from torn(work / "torn")
    yield from meant(work / "meant")
