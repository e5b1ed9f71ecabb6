"""Checkpoints in every layout, each sound, and the same with damage planted: what `assay verify` must and must not say.

    for case in cases(work): case.name, case.path, case.wanted, case.options

A case's `wanted` is the exit code and what the first line must match. Every case with damage has a twin without.
"""
import argparse
import base64
import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import re
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections import OrderedDict
from pathlib import Path

import numpy
import torch

from checkpoint_copies import copies
from checkpoint_holes import holes
from checkpoint_layouts import DAMAGED, LAYOUTS, SOUND, STEPS, SUSPECT, CODE, INCOMPLETE, UNREAD, Case, adam, as_torch, hugging_face, newest, put, spread, tensors
from checkpoint_neighbours import neighbours
from checkpoint_optimizers import empty, optimizers
from checkpoints import safetensors_bytes, save_dcp, save_safetensors, save_sharded

def values_gone_bad(work):
    """NaN in one element, whatever the tensor is called, in every layout, alone and with --last."""
    names = ("pos_embed", "running_var", "layers.1.gamma", "experts.w1", "layers.0.fc.bias")
    for at, layout in enumerate(LAYOUTS):
        name = names[at % len(names)]
        if layout == "pieces" and name == "pos_embed":
            name = "experts.w1"

        def change(values, step):
            if step == STEPS[-1]:
                values[name].reshape(-1)[3] = numpy.nan
        root = spread(work, layout, change, layout + "-nan")
        for options in ([], ["--last"]):
            yield Case("%s: NaN in %s" % (layout, name), root, SUSPECT, "NaN in ", options)
    for name in ("cls_token", "A_log", "running_mean", "logit_scale_ema"):
        path = work / "alone" / (name + ".safetensors")
        value = numpy.ones((2, 8), "float32")
        value[1, 2] = numpy.nan
        save_safetensors(path, {name: value, "fc.weight": numpy.ones((4, 4), "float32")})
        yield Case("alone: NaN in " + name, path, SUSPECT, "NaN in 1 tensor")
    path = work / "alone" / "ema.pt"
    put(path, {"model": {"fc.weight": torch.ones(3, 3)}, "ema": {"fc.weight": torch.tensor([1., float("nan")])}, "step": 3})
    yield Case("alone: NaN in an average", path, SUSPECT, "NaN in 1 tensor")
    mask = numpy.where(numpy.tri(6, dtype=bool), 0, -numpy.inf).astype("float32")
    for name, value, code in (("mask", mask, SOUND), ("h.0.attn.bias", mask[None, None], SOUND), ("h.0.attn.masked_bias", numpy.array(-numpy.inf, "float16"), SOUND),
                              ("final_logits_bias", numpy.array([[0, 0, -numpy.inf]], "float32"), SOUND), ("out.bias", mask[0], SUSPECT), ("mixed.weight", mask, SUSPECT), ("min_val", numpy.full(3, numpy.inf, "float32"), SOUND),
                              ("odd_mask", numpy.where(mask < 0, mask, numpy.float32(0.3)) + numpy.eye(6, dtype="float32"), SUSPECT)):
        path = work / "masks" / (name + ".safetensors")
        save_safetensors(path, {name: value, "fc.weight": numpy.ones((4, 4), "float32")})
        yield Case("a buffer of infinities: " + name, path, code)
    path = work / "alone" / "flipped.safetensors"
    value = numpy.random.default_rng(1).normal(0, 0.02, (64, 64)).astype("float32")
    value.view("uint32")[1, 13] ^= 1 << 30
    save_safetensors(path, {"fc.weight": value})
    yield Case("a bit of an exponent", path, SUSPECT, "its variance is")
    for layout, change in (("torch", lambda saved: saved["optimizer"]["param_groups"][0].update(lr=float("nan"))), ("torch", lambda saved: saved.update(scheduler={"_last_lr": [float("inf")]})),
                           ("lightning", lambda saved: saved.update(lr_schedulers=[{"base_lrs": [1e-3], "_last_lr": [float("nan")]}]))):
        root = spread(work, layout, name="%s-rate-%d" % (layout, len(list(work.iterdir()))))
        saved = torch.load(newest(root)[0])
        change(saved)
        put(newest(root)[0], saved)
        for options in ([], ["--last"]):
            yield Case("%s: a learning rate that is no number" % layout, root, SUSPECT, "200: .*lr is (nan|inf): whoever resumes trains with it", options)
    path = work / "masks" / "both.safetensors"
    both = mask.copy()
    both[0, 1] = numpy.nan
    save_safetensors(path, {"mask": both})
    yield Case("a mask with NaN", path, SUSPECT, "NaN")


def meant_zeros(work):
    """Zeros that somebody meant: what is padded, pruned, blocked, masked or not trained yet."""
    rng = numpy.random.default_rng(3)
    dense = lambda *shape: rng.normal(0, 0.02, shape).astype("float32")
    made = {"rows": dense(256, 64), "columns": dense(256, 256), "blocks": dense(256, 256), "pruned": dense(256, 256), "channels": dense(8, 16, 3, 3),
            "filter": numpy.pad(dense(1, 1000), ((0, 0), (0, 3000))), "filters": numpy.pad(dense(2, 1, 1000), ((0, 0), (0, 0), (0, 3000))),
            "triangle": numpy.tril(dense(256, 256)), "band": numpy.tril(numpy.triu(dense(256, 256), -3), 3), "identity": numpy.eye(256, dtype="float32"),
            "vocabulary": numpy.concatenate([dense(500, 64), numpy.zeros((524, 64), "float32")])}
    made["rows"][100:140] = 0
    made["columns"][:, 64:128] = 0
    made["blocks"][:128, 128:] = made["blocks"][128:, :128] = 0
    made["pruned"][dense(256, 256) < 0.02] = 0
    made["channels"][:, 8:] = 0
    for name, value in made.items():
        save_safetensors(work / name / "model.safetensors", {"a.weight": dense(16, 16), "z.weight": value})
        yield Case("zeros that are meant: " + name, work / name, SOUND)
    nothing = numpy.zeros((10, 16), "float32")
    for name, given, code in (("head", {"head.weight": nothing, "head.bias": nothing[:, 0]}, SOUND), ("projection", {"proj.weight": nothing, "proj.bias": dense(10)}, SUSPECT),
                              ("bare", {"lm_head.weight": nothing}, SUSPECT)):
        save_safetensors(work / name / "model.safetensors", {"a.weight": dense(16, 16), "a.bias": dense(16), **given})
        yield Case("a matrix of zeros: " + name, work / name, code)
    for name, trained, code in (("frozen", 0, SOUND), ("trained", 1, SUSPECT)):
        first, last = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4, bias=False)
        optimizer = torch.optim.AdamW([*first.parameters(), *last.parameters()])
        for _ in range(2):
            middle = first(torch.ones(3, 8))
            (middle.sum() + trained * last(middle).sum() + 0 * last(middle).sum()).backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.nn.init.zeros_(last.weight)
        put(work / (name + ".pt"), {"model": {**{"first." + key: value for key, value in first.state_dict().items()}, "last.weight": last.weight}, "optimizer": optimizer.state_dict()})
        yield Case("a matrix of zeros: its moments are " + name, work / (name + ".pt"), code)


def zeros(work):
    """Room that was taken and not written."""
    whole = safetensors_bytes(tensors(1))
    for name, keep, code in (("all", 0, SUSPECT), ("half", 0.5, SUSPECT), ("end", 0.93, SUSPECT), ("none", 1, SOUND)):
        head = 8 + struct.unpack("<Q", whole[:8])[0]
        cut = head + int((len(whole) - head) * keep) // 4 * 4
        path = work / "zeros" / name / "model.safetensors"
        path.parent.mkdir(parents=True)
        path.write_bytes(whole[:cut] + b"\0" * (len(whole) - cut))
        for options in ([], ["--last"]):
            yield Case("zero-filled: " + name, path, code, "zero" if code else "sound", options)
    root = spread(work / "zeros", "pieces")
    path = root / "step_200" / "shard-00001-model-00001-of-00001.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) // 2 + 1] + bytes(len(whole) - len(whole) // 2 - 1))
    for options in ([], ["--last"]):
        yield Case("zero-filled: half of a rank's pieces", root, SUSPECT, "resume from step_100; 200: .*zero", options)
    for layout in ("single", "sharded", "hugging_face", "pieces"):
        for size, where, align in ((4096, 0.4, 4096), (20000, 0.3, 512), (1024, 0.61, 1)):
            rng = numpy.random.default_rng(size)
            large = {"a.weight": (100, 300), "b.weight": (300, 64), "c.weight": (64, 32, 3, 3), "experts.w1": (4, 50, 64)}
            root = spread(work / "zeros", layout, lambda values, step: values.update({name: rng.normal(0, 1, shape).astype("float32") for name, shape in large.items()}),
                          "%s-hole-%d" % (layout, size))
            path = max((p for p in newest(root) if p.suffix == ".safetensors"), key=lambda p: p.stat().st_size)
            data = bytearray(path.read_bytes())
            at = int(len(data) * where) // align * align
            data[at:at + size] = bytes(size)
            path.write_bytes(data)
            for options in ([], ["--last"]):
                yield Case("%s: a hole of %d zeros" % (layout, size), root, SUSPECT, "resume from .*100[^;]*; 200: .*zero", options)
    yield from meant_zeros(work / "zeros")
    path = work / "zeros" / "meant" / "model.safetensors"
    padded = tensors(1)["embed.weight"]
    padded[-4:] = 0
    save_safetensors(path, {"a.weight": tensors(1)["layers.1.fc.weight"], "embed.weight": padded})
    yield Case("rows of padding", path, SOUND)
    path = work / "zeros" / "adapter" / "adapter_model.safetensors"
    save_safetensors(path, {"q.lora_A.weight": numpy.ones((4, 8), "float32"), "q.lora_B.weight": numpy.zeros((8, 4), "float32"),
                            "q.bias": numpy.zeros(8, "float32")})
    yield Case("an adapter that has not trained", path, SOUND)


# ---- bytes ----

def flip(path, at, bit=4):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))


def summed(path):
    """Where the bytes under a CRC-32 lie in a file of zips, one behind another: [(offset, size, name)]."""
    data, out, at = path.read_bytes(), [], 0
    while True:
        end = data.find(b"PK\5\6", at)
        if end < 0:
            return out
        part = data[at:end + 22]
        with zipfile.ZipFile(io.BytesIO(part)) as archive:
            for entry in archive.infolist():
                name, extra = struct.unpack("<HH", part[entry.header_offset + 26:entry.header_offset + 30])
                if entry.CRC:
                    out.append((at + entry.header_offset + 30 + name + extra, entry.file_size, entry.filename))
        at = end + 22


def flipped_bits(work, places=4):
    """One bit of a byte under a checksum: the tensors' and everything else's."""
    for layout in ("torch", "npz", "dcp", "fsdp", "torch_dist", "zero1", "zero2", "zero3", "lightning", "hugging_face", "ranks"):
        root = spread(work, layout, name=layout + "-flips")
        yield Case(layout + ": sound", root, SOUND, "resume from .*%d" % STEPS[-1])
        entries = [(p, *e) for p in newest(root) if p.suffix in (".pt", ".pth", ".npz", ".distcp", ".ckpt", ".bin") for e in summed(p)]
        for i in range(places):
            path, offset, size, name = entries[(i * 7919 + 13) % len(entries)]
            copy = work / ("%s-flip-%d" % (layout, i))
            shutil.copytree(root, copy)
            flip(copy / path.relative_to(root), offset + (i * 104729) % size)
            yield Case("%s: a bit of %s of %s" % (layout, name, path.name), copy, DAMAGED, "resume from .*%d.*; %d: damaged" % STEPS)


def cut_files(work):
    """A file of the newest checkpoint that ends early."""
    for layout in LAYOUTS:
        root = spread(work, layout, name=layout + "-cut")
        path = newest(root)[0]
        os.truncate(path, path.stat().st_size * 2 // 3)
        for options in ([], ["--last"]):
            yield Case("%s: %s is cut" % (layout, path.name), root, DAMAGED, "%d: damaged" % STEPS[-1], options)


# ---- files ----

def missing_files(work):
    """Each file that the others need, gone."""
    for layout, what, code in (
            ("sharded", "model-00002-of-00003.safetensors", DAMAGED), ("sharded", "model.safetensors.index.json", DAMAGED),
            ("dcp", "__1_0.distcp", DAMAGED), ("fsdp", "pytorch_model_fsdp_0/.metadata", None), ("torch_dist", "metadata.json", DAMAGED),
            ("zero1", "mp_rank_00_model_states.pt", DAMAGED), ("zero2", "zero_pp_rank_1_mp_rank_00_optim_states.pt", DAMAGED),
            ("zero3", "zero_pp_rank_0_mp_rank_00_model_states.pt", DAMAGED), ("hugging_face", "model.safetensors", DAMAGED), ("ranks", "rank_3", DAMAGED),
            ("ranks", "rank_2", DAMAGED), ("pieces", "shard-00001-model-00001-of-00001.safetensors", DAMAGED)):
        root = spread(work, layout, name="%s-without-%s" % (layout, what.replace("/", "-")))
        for path in list(root.rglob(what.split("/")[-1])):
            if str(STEPS[-1]) in str(path):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield Case("%s without %s" % (layout, what), root, code, "%d: |is not complete" % STEPS[-1])
    for name in ("empty", "only-json"):
        root = spread(work, "hugging_face", name="newest-" + name)
        folder = root / "checkpoint-625"
        folder.mkdir()
        if name == "only-json":
            (folder / "config.json").write_text("{}")
        for options in ([], ["--last"]):
            yield Case("the newest is " + name, root, INCOMPLETE, "checkpoint-625 is not complete; resume from checkpoint-200", options)


def lost_ranks(work):
    """The second of two ranks, which one alone does not tell of."""
    for name in ("rank_%d", "mp_rank_%02d"):
        root = work / (name % 1)
        for step in STEPS:
            for rank in range(2 if step == STEPS[0] else 1):
                put(root / ("iter_%07d" % step) / (name % rank) / "model_optim_rng.pt", {"model": as_torch(tensors(step)), "iteration": step, "rng_state": rank})
        for options in ([], ["--last"]):
            yield Case("a lost " + name % 1, root, DAMAGED, "resume from iter_0000100; 200: damaged .*%s is missing" % (name % 1), options)
    for parallel in (1, 2):
        path = work / ("of-%d" % parallel) / "iter_0000200"
        put(path / "mp_rank_00" / "model_optim_rng.pt", {"model": as_torch(tensors(200)), "iteration": 200, "args": argparse.Namespace(
            tensor_model_parallel_size=parallel, pipeline_model_parallel_size=1)})
        yield Case("the only rank of %d" % parallel, path, SOUND if parallel == 1 else DAMAGED, None if parallel == 1 else "1 of 2 ranks is missing")


def stand_ins(work):
    """What lies where a file should be."""
    for name, data in (("lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), ("page", b"<!DOCTYPE html><html></html>"),
                       ("empty", b"")):
        for layout, file in (("sharded", "model-00002-of-00003.safetensors"), ("torch", "ckpt_200.pt"), ("zero2", "mp_rank_00_model_states.pt")):
            root = spread(work, layout, name="%s-%s" % (layout, name))
            next(p for p in root.rglob(file) if "200" in str(p)).write_bytes(data)
            yield Case("%s: %s is %s" % (layout, file, name), root, DAMAGED, "Git LFS|HTML|is empty")


    root = spread(work, "hugging_face", name="cut-random-numbers")
    path = root / "checkpoint-200" / "rng_state.pth"
    os.truncate(path, path.stat().st_size // 2)
    yield Case("random numbers of NumPy in a file that is cut", root, DAMAGED, "resume from checkpoint-100; 200: damaged .rng_state.pth")
    for name, change in (("cut within its first bytes", lambda data: data[:1]), ("all zeros", lambda data: bytes(len(data))), ("zeros in front", lambda data: bytes(64) + data[64:]),
                         ("the first byte gone", lambda data: data[1:]), ("an answer in JSON", lambda data: b'{"error": "Repository not found"}')):
        for layout, file in (("torch", "ckpt_200.pt"), ("hugging_face", "optimizer.pt"), ("zero2", "zero_pp_rank_1_mp_rank_00_optim_states.pt"), ("lightning", "epoch=1-step=200.ckpt")):
            root = spread(work, layout, name="%s-%s" % (layout, name.replace(" ", "-")))
            path = next(p for p in root.rglob(file) if "200" in str(p))
            path.write_bytes(change(path.read_bytes()))
            yield Case("%s: %s is %s" % (layout, file, name), root, DAMAGED, "resume from .*100[^;]*; 200: damaged")
    for layout, file in (("pieces", "shard-00001-model-00001-of-00001.safetensors"), ("fsdp", "__0_0.distcp"), ("hugging_face", "config.json")):
        root = spread(work, layout, name="%s-link" % layout)
        path = next(p for p in root.rglob(file) if "200" in str(p))
        path.unlink()
        path.symlink_to("nowhere")
        for options in ([], ["--last"]):
            yield Case("%s: %s leads nowhere" % (layout, file), root, DAMAGED, "resume from .*100; 200: damaged .*%s: .*link" % file, options)
    for layout, file in (("single", "model_200.safetensors"), ("torch", "ckpt_200.pt"), ("lightning", "epoch=1-step=200.ckpt"), ("npz", "step_200.npz"),
                         ("hugging_face", "scheduler.pt"), ("hugging_face", "trainer_state.json"), ("hugging_face", "config.json"), ("torch_dist", "metadata.json")):
        root = spread(work, layout, name="%s-directory-%s" % (layout, file))
        path = next(p for p in root.rglob(file) if "200" in str(p))
        path.unlink()
        path.mkdir()
        for options in ([], ["--last"]):
            yield Case("%s: %s is a directory" % (layout, file), root, DAMAGED, "resume from .*100[^;]*; 200: damaged .*a directory, where a file should be", options)
    for name in ("rank_%d", "mp_rank_%02d"):
        root = work / ("a-file-" + name % 0)
        for step in STEPS:
            for rank in range(2):
                put(root / ("iter_%07d" % step) / (name % rank) / "model_optim_rng.pt", {"model": as_torch(tensors(step)), "iteration": step, "rng_state": rank})
        shutil.rmtree(root / "iter_0000200" / (name % 0))
        (root / "iter_0000200" / (name % 0)).write_bytes(b"x")
        for options in ([], ["--last"]):
            yield Case("%s is a file" % (name % 0), root, DAMAGED, "resume from iter_0000100; 200: damaged .*%s" % (name % 0), options)
    root = spread(work, "hugging_face", name="converted")
    save_sharded(root / "checkpoint-200" / "pytorch_model.bin", tensors(200), 2)
    yield Case("a directory that a converter called as a file", root, SOUND)


def other_steps(work):
    """Files of another step among their neighbours."""
    root = spread(work, "hugging_face", name="of-another")
    (root / "checkpoint-200" / "trainer_state.json").write_text('{"global_step": 100}')
    yield Case("trainer_state.json of another step", root, DAMAGED, "200: damaged .trainer_state.json: its global_step is 100")
    for name, data in (("empty", b""), ("cut", b'{"global_step": 2'), ("zero-filled", b"\0" * 40), ("twice", b'{"global_step": 200}' * 2),
                       ("garbage", b'{"global_step": 200, \x07\x08}'), ("a list", b"[]"), ("a text", b'"x"'), ("of none", b"{}"), ("of a text", b'{"global_step": "200"}')):
        root = spread(work, "hugging_face", name="state-" + name)
        (root / "checkpoint-200" / "trainer_state.json").write_bytes(data)
        yield Case("trainer_state.json is " + name, root, DAMAGED, "200: damaged .trainer_state.json: ")
    for name, layout, file, data in (("config.json is a list", "hugging_face", "config.json", b"[]"), ("metadata.json of no backend", "torch_dist", "metadata.json", b'{"a": 1}'),
                                     ("metadata.json is a list", "torch_dist", "metadata.json", b"[]")):
        root = spread(work, layout, name=name.replace(" ", "-"))
        next(p for p in root.rglob(file) if "200" in str(p)).write_bytes(data)
        yield Case(name, root, DAMAGED, "resume from .*100; 200: damaged .%s: " % file)
    for layout, file, tag in (("zero1", "latest", "global_step300"), ("torch_dist", "latest_checkpointed_iteration.txt", "300")):
        root = spread(work, layout, name=layout + "-latest")
        (root / file).write_text(tag)
        yield Case(layout + ": latest leads nowhere", root, DAMAGED, "it names .*300, which is not there")
        for what, put_there, said in (("empty", lambda path: path.write_text("\n"), "is empty"), ("a directory", lambda path: path.mkdir(), "cannot be read"), ("a pipe", os.mkfifo, "cannot be read")):
            root = spread(work, layout, name="%s-latest-%s" % (layout, what.split()[-1]))
            (root / file).unlink(missing_ok=True)
            put_there(root / file)
            yield Case("%s: latest is %s" % (layout, what), root, DAMAGED, "%s: it %s, and should name the newest checkpoint" % (file, said))
    root = spread(work, "ranks", name="lost-in-ranks")
    for path in newest(root):
        path.rename(path.with_name(path.name + ".1"))
    yield Case("directories of ranks without tensors", root, INCOMPLETE, "step_200 is not complete; resume from step_100")
    root = spread(work, "ranks", name="bare-before")  # an older one: what is resumed from is whole
    for path in (root / "step_100").iterdir():
        shutil.rmtree(path)
    (root / "notes_50").mkdir()
    yield Case("an older checkpoint that lost its ranks", root, INCOMPLETE, "resume from step_200; 1 older one is not sound")
    root = spread(work, "ranks", name="beside-bare")
    (root / "notes_50").mkdir()
    yield Case("a bare directory of another name than the series", root, SOUND, "resume from step_200")
    for name, keep, code in (("both", True, SOUND), ("the optimizer alone", False, DAMAGED)):
        root = work / ("fsdp-" + name.replace(" ", "-"))
        for step in STEPS:
            if keep or step != STEPS[-1]:
                save_dcp(root / ("checkpoint-%d" % step) / "pytorch_model_fsdp_0", as_torch(tensors(step)), {}, 2)
            put(root / ("checkpoint-%d" % step) / "scheduler.bin", {"last_epoch": step})
            save_dcp(root / ("checkpoint-%d" % step) / "optimizer_0", {"state.%s.exp_avg" % key: value for key, value in as_torch(tensors(step)).items()}, {}, 2)
        said = "pytorch_model_fsdp_0 is missing: optimizer_0 is there, and no model"
        for path, options in ((root, []), (root, ["--last"]), (root / ("checkpoint-%d" % STEPS[-1]), [])):
            yield Case("fsdp: %s in %s %s" % (name, path.name, options), path, code, None if keep else said, options)
    for layout, file, other in (("zero2", "mp_rank_00_model_states.pt", {"global_steps": 150}), ("torch_dist", "common.pt", {"iteration": 150})):
        root = spread(work, layout, name=layout + "-says")
        path = next(p for p in root.rglob(file) if "200" in str(p))
        put(path, {**torch.load(path), **other})
        yield Case("%s: %s says another step" % (layout, file), root, DAMAGED, "resume from .*100; 200: damaged .*is 150, that of the directory's name 200")
    root = spread(work, "torch_dist", name="without-common")
    next(p for p in root.rglob("common.pt") if "200" in str(p)).unlink()
    for options in ([], ["--last"]):
        yield Case("torch_dist without common.pt, which the one before has", root, DAMAGED, "resume from iter_0000100; 200: damaged .*common.pt is missing", options)
    for stage in (1, 2, 3):
        root = spread(work, "zero%d" % stage, name="over-%d" % stage)
        rank = lambda number: next(p for p in root.rglob("*zero_pp_rank_%d*optim_states.pt" % number) if "200" in str(p))
        shutil.copy(rank(0), rank(1))
        for path in (root, rank(0).parent):
            yield Case("zero%d: one partition over another" % stage, path, SUSPECT, "zero_pp_rank_1.*it was written as zero_pp_rank_0")
    root = spread(work, "sharded", name="unnamed")
    path = root / "checkpoint-200" / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"].pop("layers.1.gamma")
    path.write_text(json.dumps(index))
    yield Case("a tensor that the index does not name", root, DAMAGED, "layers.1.gamma")


def seal_and_flip(work, seal, places=3):
    """A seal, and then a bit of what it says nothing about is changed: safetensors have no checksum. seal(path) runs `assay seal`."""
    for layout in ("single", "sharded", "pieces", "hugging_face", "dcp", "zero2"):
        root = spread(work, layout, name=layout + "-sealed")
        seal(root)
        yield Case(layout + ": sealed", root, SOUND, "resume from .*%d" % STEPS[-1])
        files = [p for p in newest(root) if not "seal" in p.name]
        for i in range(places):
            copy = work / ("%s-sealed-%d" % (layout, i))
            shutil.copytree(root, copy)
            path = copy / files[i % len(files)].relative_to(root)
            flip(path, path.stat().st_size * (2 * i + 3) // 9 + 1)
            yield Case("%s: a bit of %s" % (layout, path.name), copy, DAMAGED, "%d: damaged" % STEPS[-1])


# ---- pickles ----

def odd(work):
    """What is no dictionary of tensors, and what is hardly one."""
    save_safetensors(work / "empty.safetensors", {}, {"format": "pt"})
    yield Case("safetensors without tensors", work / "empty.safetensors", UNREAD)
    put(work / "arrays.pt", {"model": {"w": torch.ones(3), "a": numpy.full(3, numpy.nan)}})
    yield Case("an array of NumPy among tensors", work / "arrays.pt", SOUND, "see 1 note")
    put(work / "array.pt", {"a": numpy.full(3, numpy.nan)})
    yield Case("an array of NumPy alone", work / "array.pt", UNREAD, "not read: ")
    for step in STEPS:
        (work / "raw").mkdir(exist_ok=True)
        (work / "raw" / ("model_%d.pt" % step)).write_bytes(pickle.dumps({"w": [1.0, 2.0]}, 2))
    yield Case("plain pickles called as torch files are", work / "raw", UNREAD, "not read ")
    quantized = {"q": torch.quantize_per_tensor(torch.randn(4, 4), .1, 0, torch.qint8), "w": torch.ones(5)}
    for name, zipped in (("quantized", True), ("quantized-old", False)):
        torch.save(quantized, work / (name + ".pt"), _use_new_zipfile_serialization=zipped)
        yield Case("a " + name + " tensor", work / (name + ".pt"), SOUND, "see 1 note")
    root = spread(work, "hugging_face", name="overflowed")
    for step in STEPS:
        (root / ("checkpoint-%d" % step) / "trainer_state.json").write_text(json.dumps(
            {"global_step": step, "log_history": [{"step": 1, "loss": 2.5, "grad_norm": float("nan")}, {"step": step, "loss": 2.0, "grad_norm": 1.0}]}))
    for options in ([], ["--last"]):
        yield Case("a gradient that overflowed, in a log", root, SOUND, "resume from checkpoint-200", options)
    put(work / "bare.pt", torch.ones(3, 3))
    yield Case("a tensor by itself", work / "bare.pt", SOUND, "1 tensor")
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    put(work / "whole.pt", net)
    yield Case("a module as a whole", work / "whole.pt", SOUND, "7 tensors")
    net[1].running_var[1] = numpy.nan
    put(work / "whole-bad.pt", {"model": net, "epoch": 3})
    yield Case("a module with NaN", work / "whole-bad.pt", SUSPECT, "NaN in 1 tensor .1.running_var")
    for name in ("scheduler.pt", "training_args.bin"):
        put(work / name, {"last_epoch": 3})
        yield Case(name + " alone", work / name, UNREAD, "not read: ")
    root = spread(work, "ranks", name="lone", steps=STEPS[-1:])
    shutil.rmtree(root / "step_200" / "rank_2")
    yield Case("one step without a rank", root, DAMAGED, "rank 2 is missing")
    for name, second, code in (("one", 200, SOUND), ("two", 100, DAMAGED)):
        for rank in range(2):
            put(work / name / "iter_0000200" / ("mp_rank_%02d" % rank) / "model_optim_rng.pt",
                {"model": as_torch(tensors(200)), "iteration": second if rank else 200, "checkpoint_version": 3.0, "rng_state": rank})
        yield Case("ranks of %s step" % name, work / name, code, None if code == SOUND else "its iteration is 100")


def frameworks(work):
    """What a framework needs to resume, and which checkpoint it would pick."""
    for layout, word, gone in (("hugging_face", "trainer", "scheduler.pt"), ("lightning", "lightning", None), ("dcp", "dcp", None),
                               ("torch_dist", "megatron", "common.pt"), ("zero1", "deepspeed", "mp_rank_00_model_states.pt")):
        root = spread(work, layout, name=layout + "-for")
        yield Case("%s: %s" % (word, layout), root, SOUND, "resume from .*%d" % STEPS[-1], ["--for", word])
        if gone:
            root = spread(work, layout, name=layout + "-for-less")
            next(p for p in root.rglob(gone) if str(STEPS[-1]) in str(p)).unlink()
            yield Case("%s without %s" % (word, gone), root, None, "%d(: | is not complete).*; %s would pick .*%d, and fail" % (STEPS[-1], word, STEPS[-1]), ["--for", word])
    root = spread(work, "hugging_face", name="no-config")
    (root / "checkpoint-200" / "config.json").write_text("{}\n")
    yield Case("trainer: an empty config.json", root, INCOMPLETE, "checkpoint-200 is not complete.*; trainer would pick checkpoint-200, and fail", ["--for", "trainer"])
    yield Case("an empty config.json", root, SOUND)
    root = spread(work, "torch", name="torch-for")
    yield Case("a checkpoint of another kind", root, INCOMPLETE, "trainer resumes from what is missing: ", ["--for", "trainer"])


def agent(path, values, moments, kept=None):
    """What stable-baselines3 saves: torch files in a zip file, and JSON with objects as pickles in base64."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps({"policy_class": "MlpPolicy", "verbose": 1, "seen": {":type:": "<class 'dict'>", ":serialized:": base64.b64encode(
            pickle.dumps(kept or {"a": 1}, 4)).decode()}}, indent=4))
        for name, saved in (("policy.pth", as_torch(values)), ("policy.optimizer.pth", moments), ("pytorch_variables.pth", {})):
            buffer = io.BytesIO()
            torch.save(saved, buffer)
            archive.writestr(name, buffer.getvalue())
        archive.writestr("_stable_baselines3_version", "2.1.0")


def tar(path, values, cut=None):
    """A file of torch 0.1: a tar file of four, the storages and tensors in one stream each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds = {"float32": "Float", "float64": "Double", "int64": "Long"}

    def dump(*what):
        return b"".join(pickle.dumps(one, 2) for one in what)
    named = b"\x80\x02}(" + b"".join(b"X" + struct.pack("<I", len(name)) + name.encode() + b"X" + struct.pack("<I", len(str(at))) + str(at).encode() + b"Q"
                                     for at, name in enumerate(values)) + b"u."
    storages, listed = dump(len(values)), dump(len(values))
    for at, value in enumerate(values.values()):
        kind = kinds[str(value.dtype)]
        storages += dump((at, "cpu", getattr(torch, kind + "Storage"))) + struct.pack("<q", value.size) + value.tobytes()
        listed += dump((at, at, getattr(torch, kind + "Tensor"))) + struct.pack("<i4x", value.ndim)
        listed += struct.pack("<%dq" % (2 * value.ndim + 1), *value.shape, *(s // value.itemsize for s in value.strides), 0)
    storages += dump([])
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in (("sys_info", dump({"protocol_version": 1000, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}})),
                           ("pickle", named), ("tensors", listed), ("storages", storages[:cut])):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def odd_forms(work):
    """Files of which nothing says by their names what they are: TorchScript, agents, tar files; any file without a suffix."""
    work.mkdir(parents=True)
    values, bad = tensors(1), tensors(1)
    bad["running_var"][2] = numpy.nan
    for name, given, code in (("sound", values, SOUND), ("bad", bad, SUSPECT)):
        says = "NaN in 1 tensor" if code else "sound: 1 file of 1 checkpoint, "
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
        if code:
            net[1].running_var[1] = numpy.nan
        torch.jit.script(net).save(str(work / (name + "-script.pt")))
        yield Case("TorchScript, " + name, work / (name + "-script.pt"), code, says)
        torch.jit.freeze(torch.jit.script(net.eval())).save(str(work / (name + "-frozen.pt")))
        yield Case("TorchScript with constants, " + name, work / (name + "-frozen.pt"), code, says)
        agent(work / (name + "-agent.zip"), given, adam(values))
        yield Case("an agent, " + name, work / (name + "-agent.zip"), code, says)
        tar(work / (name + "-tar.pth"), given)
        yield Case("torch 0.1, " + name, work / (name + "-tar.pth"), code, says)
        (work / (name + "-weights")).write_bytes(safetensors_bytes(given))
        yield Case("safetensors without a suffix, " + name, work / (name + "-weights"), code, says)
        torch.save(as_torch(given), work / (name + "-model"))
        yield Case("torch without a suffix, " + name, work / (name + "-model"), code, says)
        torch.save(as_torch(given), work / (name + "-old"), _use_new_zipfile_serialization=False)
        yield Case("old torch without a suffix, " + name, work / (name + "-old"), code, says)
        (work / (name + "-st.bin")).write_bytes(safetensors_bytes(given))
        yield Case("safetensors called .bin, " + name, work / (name + "-st.bin"), code, says)
    tar(work / "cut-tar.pth", values, -300)
    yield Case("torch 0.1, cut", work / "cut-tar.pth", DAMAGED)
    data = (work / "sound-frozen.pt").read_bytes()
    (work / "cut-frozen.pt").write_bytes(data[:len(data) * 2 // 3])
    yield Case("TorchScript, cut", work / "cut-frozen.pt", DAMAGED)
    shutil.copy(work / "sound-agent.zip", work / "flipped-agent.zip")
    with zipfile.ZipFile(work / "sound-agent.zip") as archive:
        entry = archive.getinfo("policy.pth")
    flip(work / "flipped-agent.zip", entry.header_offset + 64 + entry.file_size // 2)
    yield Case("an agent, a bit of its policy", work / "flipped-agent.zip", DAMAGED)


def two_forms(work):
    """One model as safetensors and as torch beside one another, the same or not."""
    for name, change, code in (("same", None, SOUND), ("other", "layers.0.fc.bias", SUSPECT)):
        for layout in ("alone", "series", "sharded"):
            root = work / (name + "-" + layout)
            folder = root if layout == "alone" else root / "checkpoint-200"
            values = tensors(200)
            if layout != "alone":
                hugging_face(root, 100, tensors(100))
                hugging_face(root, 200, values)
            if layout == "sharded":
                (folder / "model.safetensors").unlink()
                save_sharded(folder, values, 2)
            else:
                save_safetensors(folder / "model.safetensors", values)
            if change:
                values[change] = values[change] + 1
            put(folder / "pytorch_model.bin", as_torch(values))
            yield Case("two forms, %s: %s" % (layout, name), root, code, "1 of 8 tensors are not those of the other form" if code else "sound: ")


def stale(work):
    """A file of another step among its neighbours: byte for byte, as a write that did not happen leaves it."""
    three = (100, 200, 300)
    for layout, file, code in (("sharded", "model-00002-of-00003.safetensors", SUSPECT), ("dcp", "__1_0.distcp", SUSPECT), ("torch_dist", "__1_0.distcp", SUSPECT),
                               ("zero1", "zero_pp_rank_1_mp_rank_00_optim_states.pt", SUSPECT), ("zero2", "mp_rank_00_model_states.pt", None),
                               ("zero3", "zero_pp_rank_0_mp_rank_00_optim_states.pt", SUSPECT), ("hugging_face", "model.safetensors", SUSPECT),
                               ("hugging_face", "optimizer.pt", SUSPECT), ("ranks", "rank_1/model.pt", SUSPECT),
                               ("pieces", "shard-00001-model-00001-of-00001.safetensors", SUSPECT), ("fsdp", "__1_0.distcp", SUSPECT)):
        for steps in (STEPS, three):
            root = spread(work, layout, name="%s-%s-%d" % (layout, file.replace("/", "-"), len(steps)), steps=steps)
            name = sorted((p for p in root.iterdir() if p.is_dir()), key=str)
            from_, to = next(name[-2].rglob(file)), next(name[-1].rglob(file))
            shutil.copy(from_, to)
            note = len(steps) == 2 and file == "optimizer.pt"
            for options in ([], ["--last"]):
                yield Case("%s: %s of another step of %d" % (layout, file, len(steps)), root, SOUND if note else code,
                           "see 1 note" if note else "resume from .*%d; %d: " % steps[-2:], options)
    frozen = spread(work, "sharded", name="frozen", steps=three, change=lambda values, step: values.update(
        {name: value for name, value in tensors(100).items() if name > "layers.0"}))
    yield Case("shards that nothing trains", frozen, SOUND)


def several(work):
    """Models that lie in one directory: each is one, be its tensors called as another's or not."""
    for name, files in (("best", ("best.pt", "last.pt")), ("versions", ("model.ckpt", "model-v1.ckpt")), ("forms", ("a.safetensors", "pytorch_model.bin")),
                        ("eleven", tuple("resnet%d.pth" % i for i in range(18, 29)))):
        for bad in (False, True):
            root = work / (name + ("-bad" if bad else ""))
            for at, file in enumerate(files):
                values = tensors(at)
                if bad and at == len(files) - 1:
                    values["running_var"][2] = numpy.nan
                if file.endswith(".safetensors"):
                    save_safetensors(root / file, values)
                else:
                    put(root / file, as_torch(values))
            (root / "tokens.pkl").write_bytes(pickle.dumps({"vocab": [1, 2]}, 2))
            said = "suspect: 1 of %d models; %s: NaN in 1 tensor" % (len(files), files[-1])
            yield Case("several models: " + root.name, root, SUSPECT if bad else SOUND, said if bad else "sound: %d models.*see 1 note" % len(files))
    put(work / "unread" / "a.pt", as_torch(tensors(1)))
    put(work / "unread" / "b.pt", {"a": numpy.full(3, numpy.nan)})
    yield Case("several models, one of which is not read", work / "unread", UNREAD, "not read: 1 of 2 models; b.pt: ")
    for name in ("a.pt", "b.pt"):
        put(work / "beside" / name, as_torch(tensors(1)))
    (work / "beside" / "below").mkdir()
    (work / "beside" / "below" / "x.pkl").write_bytes(pickle.dumps(Runs(), 2))
    yield Case("several models, and a pickle beside them", work / "beside", CODE, r"runs code: below/x.pkl: loading this runs (os|posix).system")


class Runs:
    mark = "/tmp/assay_was_here"

    def __reduce__(self):
        return os.system, ("touch " + self.mark,)


def with_pickle(path, data):
    """A torch file of one tensor whose pickle is given."""
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(3)}, buffer)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(buffer.getvalue())) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, data(old.read(entry)) if entry.filename.endswith("data.pkl") else old.read(entry))


LOAD = b"ctorch.storage\n_load_from_bytes\n(%b%btR"
ATTACK = b"cos\nsystem\n(S'touch /tmp/assay_was_here'\ntR"


def pickles(work):
    """What loading would run: good tensors beside, nested, POPped, behind STOP, in files that hold no tensor."""
    folder = work / "pickles"
    put(folder / "beside.pt", {"w": torch.ones(2), "x": Runs()})
    yield Case("beside good tensors", folder / "beside.pt", CODE, r"loading this runs (os|posix).system")
    put(folder / "nested.pt", {"state_dict": {"w": torch.ones(2)}, "deep": [{"a": ({"b": Runs()},)}]})
    yield Case("nested", folder / "nested.pt", CODE, r"loading this runs (os|posix).system")
    for name, data in (("popped", lambda p: p[:2] + ATTACK + b"0" + p[2:]), ("behind", lambda p: p + b"\x80\x02" + ATTACK + b"."),
                       ("old", lambda p: p + ATTACK + b"."), ("inst", lambda p: p[:2] + b"(S'id'\nios\nsystem\n0" + p[2:]),
                       ("obj", lambda p: p[:2] + b"(cos\nsystem\nS'id'\no0" + p[2:]),
                       ("stack", lambda p: p[:2] + b"\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R0" + p[2:]),
                       ("getattr", lambda p: p[:2] + b"c__builtin__\ngetattr\n(c__builtin__\n__import__\nS'os'\n\x85RS'system'\ntR0" + p[2:]),
                       ("dotted", lambda p: p[:2] + b"\x8c\x13torch.serialization\x8c\x09os.system\x93\x8c\x02id\x85R0" + p[2:])):
        with_pickle(folder / (name + ".pt"), data)
        yield Case("a pickle, " + name, folder / (name + ".pt"), CODE, "loading this runs|a change of|getattr")
    inner = io.BytesIO()
    torch.save({"a": Runs()}, inner)
    for name, call in (("load-zip", LOAD % (b"B", struct.pack("<I", len(inner.getvalue())) + inner.getvalue())), ("load-old", LOAD % (b"C", bytes([len(ATTACK) + 1]) + ATTACK + b".")),
                       ("load-text", LOAD % (b"", b"c_codecs\nencode\n(X" + struct.pack("<I", len(ATTACK) + 5) + b"\xc2\x80\x02" + ATTACK + b"0.X\x06\0\0\0latin1tR")),
                       ("load-made", LOAD % (b"", b"cbuiltins\nbytes\n(tR")),
                       ("handed", b"ctorch._tensor\n_rebuild_from_type_v2\n(c__builtin__\ngetattr\ncbuiltins\nobject\n(cbuiltins\nobject\nS'__subclasses__'\nt}tR"),
                       ("bound", b"ctorch._tensor\n_rebuild_from_type_v2\n(c__builtin__\ngetattr\n(cbuiltins\nobject\nS'__subclasses__'\ntRcbuiltins\nobject\n(t}tR")):
        with_pickle(folder / (name + ".pt"), lambda p: p[:2] + call + b"0" + p[2:])
        yield Case("a pickle, " + name, folder / (name + ".pt"), CODE, "loading this |getattr")
    for name, where in (("tokens.pkl", "pickle"), ("last.ckpt", "torch"), ("pytorch_model.bin", "old"), ("agent.zip", "agent"), ("weights.tar", "tar")):
        path = folder / "wrapped" / name
        path.parent.mkdir(exist_ok=True)
        if where in ("torch", "old"):
            torch.save({"w": torch.ones(2), "x": Runs()}, path, _use_new_zipfile_serialization=where == "torch")
        elif where == "agent":
            agent(path, tensors(1), {"state": {}, "param_groups": [], "x": Runs()})
        elif where == "tar":
            with tarfile.open(path, "w") as archive:
                archive.add(folder / "beside.pt", "beside.pt")
        else:
            path.write_bytes(pickle.dumps(Runs(), 4))
            save_safetensors(path.parent / "model.safetensors", tensors(1))
            path = path.parent
        yield Case("wrapped: " + name, path, CODE, r"runs (os|posix).system")
    root = spread(work, "hugging_face", name="arguments")
    (root / "checkpoint-200" / "training_args.bin").write_bytes(pickle.dumps(Runs(), 2))
    yield Case("training_args.bin", root, CODE, "resume from checkpoint-100; 200: training_args.bin: loading this runs")
    with zipfile.ZipFile(folder / "inner.zip", "w") as archive:
        archive.write(folder / "beside.pt", "inner.pt")
    good = spread(work, "hugging_face", name="archives")
    shutil.move(folder / "inner.zip", good / "checkpoint-200" / "assets.zip")
    yield Case("an archive in an archive", good, CODE, "200: assets.zip: loading this runs")
    root = spread(work, "dcp", name="dcp-metadata")
    path = root / "step-200" / ".metadata"
    data = path.read_bytes()
    path.write_bytes(data[:2] + b"" + ATTACK + b"0" + data[2:] if data[2] != 0x95 else data + b"\x80\x02" + ATTACK + b".")
    yield Case("in .metadata", root, CODE, "200: .metadata: loading this runs")


def hidden_pickles(work):
    """Where a scanner may not look, and names that it may not see as they are."""
    agent(work / "serialized.zip", tensors(1), adam(tensors(1)), Runs())
    yield Case("in base64 in the JSON of an agent", work / "serialized.zip", CODE, r"loading this runs (os|posix).system .*data!serialized.pkl")
    with zipfile.ZipFile(work / "serialized.zip") as old, zipfile.ZipFile(work / "escaped.zip", "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry.filename, data.replace(b":serialized:", b"\\u003aserialized:").replace(b'"gA', b'"\\u0067A') if entry.filename == "data" else data)
    yield Case("the same, in escapes", work / "escaped.zip", CODE, r"loading this runs (os|posix).system .*data!serialized.pkl")
    own = b"\x80\x04" + ATTACK + b"."
    objects = b"\x93NUMPY\x01\0\x76\0" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n" + own

    def zipped(name, data, how=zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", how) as archive:
            archive.writestr(name, data)
        return buffer.getvalue()

    def tarred(name, data, mode="w"):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=mode) as archive:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        return buffer.getvalue()
    torch_file, old_file = io.BytesIO(), io.BytesIO()
    own_file = io.BytesIO()
    torch.save({"a": Own()}, own_file)
    torch.save({"a": torch.ones(3)}, torch_file)
    torch.save({"a": torch.ones(3)}, old_file, _use_new_zipfile_serialization=False)
    fields = b"\x93NUMPY\x01\0\x76\0" + b"{\"descr\": [('a', '<f4'), ('b', 'O')], 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n" + own
    mixed = io.BytesIO()
    with zipfile.ZipFile(mixed, "w") as archive:
        archive.writestr("a.txt", "text", zipfile.ZIP_BZIP2)
        archive.writestr("b.pkl", own)
    members = gzip.compress(own[:10]) + gzip.compress(own[10:])
    comment = torch_file.getvalue()[:-2] + struct.pack("<H", len(own)) + own
    for name, data in (("objects.npy", objects), ("objects.npz", zipped("a.npy", objects)), ("w.tar", tarred("deep/objects.npz", zipped("a.npy", objects))),
                       ("w.tar.gz", tarred("x.pkl", own, "w:gz")), ("x.pkl.gz", gzip.compress(own)), ("x.joblib", zlib.compress(own)),
                       ("in.zip", zipped("y.zip", zipped("z.pkl", own))), ("comment.pt", comment), ("own.pt", own_file.getvalue() + own), ("fields.npy", fields), ("mixed.zip", mixed.getvalue()), ("members.gz", members), ("packed", zlib.compress(own)), ("old.pth", old_file.getvalue() + own),
                       ("first.model", b"\x80\0" + ATTACK + b"."), ("plain.weights", ATTACK + b".")):
        root = spread(work, "hugging_face", name="beside-" + name)
        folder = root / "checkpoint-200" / ("a/b/c/d/e/f" if name == "x.joblib" else ".")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        yield Case("hidden in " + name, root, CODE, "resume from checkpoint-100; 200: .*loading this runs os.system")
        if name not in ("objects.npy", "objects.npz", "fields.npy", "comment.pt"):
            (work / "alone").mkdir(exist_ok=True)
            (work / "alone" / name).write_bytes(data)
            yield Case("alone: " + name, work / "alone" / name, CODE, "loading this runs os.system")
    for layout in ("dcp", "torch_dist"):
        root = spread(work, layout, name=layout + "-tail")
        path = next(p for p in newest(root) if p.suffix == ".distcp")
        path.write_bytes(path.read_bytes() + own)
        yield Case(layout + ": behind the last chunk", root, CODE, "loading this runs os.system")
    short = lambda text: b"\x8c" + bytes([len(text)]) + text
    for name, data in (("escaped", b"S'\\x6fs'\nS'system'\n\x93(S'id'\ntR"), ("unicode", b"V\\u006fs\nVsystem\n\x93(S'id'\ntR"),
                       ("slots", b"Vos\np1_0\n0Vcollections\np1\n0Vsystem\np2\n0g1_0\ng2\n\x93(S'id'\ntR"),
                       ("method", short(b"torch._dynamo.guards") + short(b"GuardBuilder.get") + b"\x93)R"),
                       ("package", b"ctorch.package\nPackageImporter\n(S'x'\ntR"), ("fetched", b"ctransformers\nAutoModel.from_pretrained\n(S'x'\ntR")):
        with_pickle(work / "named" / (name + ".pt"), lambda p: p[:2] + data + b"0" + p[2:])
        yield Case("a name that is " + name, work / "named" / (name + ".pt"), CODE, "loading this ")
    large = work / "large" / "model.pt"
    with_pickle(large, lambda p: p[:-1] + b"B" + struct.pack("<I", 40 << 20) + bytes(40 << 20) + b"0" + ATTACK + b"0B" + struct.pack("<I", 1 << 17) + bytes(1 << 17) + b"0.")
    yield Case("behind more than there is memory for", large, UNREAD, "more memory than half of --memory", ["--memory", "100M"])
    yield Case("behind much", large, CODE, "loading this runs os.system", ["--memory", "400M"])


def other_programs(work):
    """Files that are not read are named, by themselves and beside what is."""
    for name, data, says in (("model.gguf", b"GGUF" + bytes(60), "a GGUF file"), ("model.onnx", b"\x08\x07" + bytes(60), "an ONNX model"),
                             ("flax_model.msgpack", b"\x81\xa6params" + bytes(60), "MessagePack"), ("x.pkl", pickle.dumps([1]), "a pickle of Python"),
                             ("x.ckpt.index", bytes(60), "TensorFlow")):
        alone = work / name
        alone.mkdir(parents=True)
        (alone / name).write_bytes(data)
        (alone / "README.md").write_text("# A model\n")
        for path in (alone, alone / name):
            yield Case("%s: %s" % (path.relative_to(work), name), path, UNREAD, "not read: %s: it is .*%s" % (re.escape(name), says))
        save_safetensors(work / ("beside-" + name) / "model.safetensors", tensors(1))
        (work / ("beside-" + name) / name).write_bytes(data)
        yield Case("beside: " + name, work / ("beside-" + name), SOUND, "see 1 note")
    for packed, pack in (("xz", lzma.compress), ("gz", gzip.compress), ("bz2", bz2.compress)):
        root = spread(work, "single", name="packed-" + packed)
        path = root / "model_200.safetensors"
        (root / (path.name + "." + packed)).write_bytes(pack(path.read_bytes()))
        path.unlink()
        for options in ([], ["--last"]):
            yield Case("the newest is packed by " + packed, root, UNREAD, "resume from model_100.safetensors; model_200.safetensors.%s: it is a packed file" % packed, options)
    save_safetensors(work / "numbered" / "model.safetensors", tensors(1))
    for rank in range(2):
        (work / "numbered" / ("tokens_%d.pkl" % rank)).write_bytes(pickle.dumps({"vocab": [1, 2]}, 2 + 2 * rank))
    yield Case("pickles that are called as dumps are", work / "numbered", SOUND, "see 2 notes")
    (work / "texts").mkdir()
    (work / "texts" / "README.md").write_text("cos\nsystem\n(S'id'\ntR.")
    yield Case("a text", work / "texts", 2, None, ["--last"])


class Own:
    """A class of a program."""


def graded(work):
    folder = work / "graded"
    put(folder / "own.pt", {"w": torch.ones(2), "settings": Own()})
    yield Case("a class of its own", folder / "own.pt", SOUND)
    yield Case("a class of its own, strictly", folder / "own.pt", CODE, "loading this needs", ["--strict"])
    put(folder / "plain.pt", {"w": torch.nn.Parameter(torch.ones(2)), "n": numpy.float64(3), "d": torch.float16, "p": Path("a"),
                              "o": OrderedDict(a=1), "r": numpy.random.get_state(), "f": torch.nn.functional.relu, "g": torch.device("cpu")})
    yield Case("data alone, strictly", folder / "plain.pt", SOUND, None, ["--strict"])
    for protocol in (2, 4):
        held = pickle.dumps({"a": torch.ones(3), "b": numpy.ones(2)}, protocol)
        (folder / ("beside-%d" % protocol)).mkdir()
        save_safetensors(folder / ("beside-%d" % protocol) / "model.safetensors", tensors(1))
        (folder / ("beside-%d" % protocol) / "state.pkl").write_bytes(held)
        yield Case("tensors in a plain pickle, strictly", folder / ("beside-%d" % protocol), SOUND, None, ["--strict"])


def sound(work):
    for layout in LAYOUTS:
        root = spread(work, layout, name=layout + "-sound")
        for options in ([], ["--last"], ["--strict"]):
            yield Case(layout + " is sound", root, SOUND, "resume from .*%d" % STEPS[-1], options)


ALL = (sound, values_gone_bad, zeros, holes, flipped_bits, cut_files, missing_files, lost_ranks, stand_ins, other_steps, neighbours, copies, optimizers, stale, odd, empty, odd_forms, two_forms, frameworks, several,
       pickles, hidden_pickles, other_programs, graded)


def cases(work, groups=ALL):
    for group in groups:
        yield from group(work / group.__name__)
