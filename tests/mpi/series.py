#!/usr/bin/env python3
"""Series of checkpoints as trials: every layout has the same values, by the same names, with the same bytes of the report at any number of
ranks; torch's views, tied weights and numbered parameters; damage is named and the rest is evaluated; nothing of a pickle runs.

    series.py --assay PROGRAM --ranks 1 2 3 ... [-- no-pack]
"""
import io
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoints import (save_dcp, save_npz, save_pieces, save_safetensors, save_sharded, safetensors_bytes,  # noqa: E402
                         split_metadata)
from checkpoint_trials import check_all, kinds, save_torch, statistics, structure, verdicts  # noqa: E402
from launch import mpirun  # noqa: E402
from reports import body_of  # noqa: E402
from zips import STORED, write_zip  # noqa: E402

STEPS = (10, 20, 30)


def model(step):
    """The training at a step: a layer never moves, and at step 30 one element is NaN."""
    rng = numpy.random.default_rng(step)
    tensors = {"fc1.weight": rng.normal(0, 1, (6, 5)).astype("float32"), "fc1.bias": rng.normal(0, 1, 6).astype("float32"),
               "still.weight": numpy.arange(12, dtype="float32").reshape(4, 3), "scale": rng.normal(0, 1, (7, 3)).astype("float16"),
               "count": numpy.array(step, "int64")}
    if step == 30:
        tensors["fc1.weight"][2, 3] = numpy.nan
    return tensors


def as_torch(tensors):
    return {name: torch.from_numpy(value.copy() if value.ndim else numpy.array(value)) for name, value in tensors.items()}


LAYOUTS = {
    "safetensors": lambda root, step: save_safetensors(root / ("step-%04d.safetensors" % step), model(step)),
    "sharded": lambda root, step: save_sharded(root / ("checkpoint-%d" % step), model(step), 3),
    "pieces": lambda root, step: save_pieces(root / ("step_%d" % step), model(step), 2),
    "npz": lambda root, step: save_npz(root / ("%d.npz" % step), model(step), step == 20),
    "dcp": lambda root, step: save_dcp(root / ("step%d" % step), as_torch(model(step)), {}, 3),
}
LAYOUTS["uncoordinated"] = lambda root, step: (LAYOUTS["dcp"](root, step), split_metadata(root / ("step%d" % step), 3))
LAYOUTS["torch"] = lambda root, step: save_torch(root / ("epoch=1-step=%d.ckpt" % step), {"state_dict": as_torch(model(step)), "epoch": 1})
LAYOUTS["wrapped"] = lambda root, step: save_torch(root / ("iter_%07d" % step) / "model.pt", {
    "module._orig_mod." + name: value for name, value in as_torch(model(step)).items()})


def check_layouts(test):
    first = None
    for layout, save in LAYOUTS.items():
        root = test.work / layout
        for step in STEPS:
            save(root, step)
        report = test.same(root, layout)
        wanted = {(step, "worker_0", name): value for step in STEPS for name, value in model(step).items()}
        test.values(root, layout, wanted)
        said = verdicts(report or "{}") if report else None
        first = first or said
        test.checks.expect(said == first, "%s: its verdicts are others than those of safetensors" % layout)
        if not test.args.no_pack:
            packed = test.work / (layout + ".h5")
            done = mpirun(2, [test.args.assay, "pack", root, "--out", packed, "--quiet"])
            test.checks.expect(done.code == 0, "%s: pack: %s" % (layout, done.err))
            test.values(packed, layout + ", packed", wanted)
            there = verdicts(test.run(packed, 2, layout + ", packed", 0))
            test.checks.expect(there == said, "%s, packed: its verdicts are others: %s" % (layout, [r for r in there if r not in said][:1]))
    found = {r["name"]: r["findings"] for r in first}
    test.checks.expect("one copy of everything" in {r["name"]: r["message"] for r in first}["replicas"], "one copy: %s" % first)
    test.checks.expect([(f["step"], f["tensor"]) for f in found["exploding"]] == [(30, "fc1.weight")], "the NaN: %s" % found["exploding"])
    test.checks.expect({f["tensor"] for f in found["unchanged"]} == {"still.weight"}, "what stands still: %s" % found["unchanged"])


def check_workers(test):
    root, wanted = test.work / "ranks", {}
    for step in STEPS[:2]:
        for rank in range(3):
            tensors = {name: value + numpy.array(rank, value.dtype) for name, value in model(step).items()}
            save_safetensors(root / ("step-%d" % step) / ("rank_%d" % rank) / "model.safetensors", tensors)
            wanted.update({(step, "rank_%d" % rank, name): value for name, value in tensors.items()})
    test.same(root, "rank directories")
    test.values(root, "rank directories", wanted)
    save_safetensors(root / "step-20" / "extra.safetensors", model(20))
    report = test.same(root, "a file beside ranks")
    problems = [(p["kind"], p["file"]) for p in json.loads(report)["trials"][0]["problems"]]
    test.checks.expect(problems == [("set-aside", "step-20/extra.safetensors")], "a file beside ranks: %s" % problems)
    test.values(root, "a file beside ranks", wanted)


def check_torch(test):
    """Views, tied weights, Adam's state by the parameters' names, averages and what is only state."""
    root, net = test.work / "views", torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    adam = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 4)).sum().backward()
    adam.step()
    base = torch.arange(24.).reshape(4, 6)
    odd = {"turned": base.t(), "every": base[1:, ::2], "repeated": torch.arange(3.).expand(4, 3), "none": torch.zeros(0, 3),
           "conjugate": torch.tensor([1 + 2j, -3j, 4, 5, 6]).conj(), "bf16": base.to(torch.bfloat16), "flag": base > 7, "scalar": torch.tensor(2.5)}
    state = dict(net.state_dict(), **odd)
    state["tied"] = state["0.weight"]
    save_torch(root / "ckpt_7.pt", {"model": state, "optimizer": adam.state_dict(), "ema": {"0.weight": base}, "rng": base.byte(), "epoch": 3})
    wanted = {"%s" % name: value.detach().to(torch.float64 if value.dtype == torch.bfloat16 else value.dtype).resolve_conj().numpy()
              for name, value in dict(net.state_dict(), **odd).items()}
    for i, (name, _) in enumerate(net.named_parameters()):
        wanted.update({"optimizer/%s/%s" % (name, key): value.numpy() for key, value in adam.state_dict()["state"][i].items()})
    wanted.update({"ema/0.weight": base.numpy(), "state/rng": base.byte().numpy()})
    none = wanted.pop("none")
    rows, _ = statistics(test.args.assay, root)
    test.checks.expect(int(rows.get((7, "worker_0", "none"), {"elements": -1})["elements"]) == none.size, "a tensor without elements")
    only = test.work / "only"
    save_torch(only / "ckpt_7.pt", {"model": {k: v for k, v in state.items() if k != "none"}, "optimizer": adam.state_dict(),
                                    "ema": {"0.weight": base}, "rng": base.byte(), "epoch": 3})
    test.values(only, "views", {(7, "worker_0", name): value for name, value in wanted.items()})
    listing = json.loads(mpirun(1, [test.args.assay, "ls", only, "--json", "--all"]).out)
    tied = next((t for t in listing["tensors"] if t["name"] == "tied"), {})
    test.checks.expect((tied.get("same_as"), tied.get("shape"), tied.get("steps")) == ("0.weight", [3, 4], 1), "tied weights in ls: %s" % tied)
    others = {o["path"]: (o["kind"], o["value"]) for o in listing["others"]}
    test.checks.expect(others.get("state/epoch") == ("int", "3") and others.get("state/optimizer.param_groups.0.betas") == ("tuple", "0.9, 0.999"),
                       "what is no tensor: %s" % others)
    text = [mpirun(1, [test.args.assay, "ls", only] + more).out for more in ([], ["--all"])]
    test.checks.expect("as 0.weight" in text[0] and "%d more values are no tensors" % len(others) in text[0] and "state/epoch" not in text[0]
                       and "state/epoch" in text[1], "tied weights and values in ls: %s" % text)
    path = test.work / "flipped view" / "ckpt_7.pt"
    save_torch(path, {"turned": base.t()})
    bytes_ = bytearray(path.read_bytes())
    bytes_[bytes_.index(base.numpy().tobytes()) + 9] ^= 1
    path.write_bytes(bytes_)
    report = test.same(path.parent, "a flipped element of a view", 3)
    test.checks.expect(report and kinds(report) == ["damaged-record"], "a flipped element of a view: %s" % (report and kinds(report)))
    path = test.work / "big" / "ckpt_7.pt"  # as a machine writes it whose first byte is the highest
    save_torch(path, {"every": base[1:, ::2], "double": base.double()})
    with zipfile.ZipFile(path) as file:
        members = {entry.filename: file.read(entry) for entry in file.infolist()}
    for name in [name for name in members if "/data/" in name]:
        kind = "f8" if len(members[name]) == base.numel() * 8 else "f4"
        members[name] = numpy.frombuffer(members[name], "<" + kind).astype(">" + kind).tobytes()
    write_zip(path, dict(members, **{next(iter(members)).split("/")[0] + "/byteorder": b"big"}), STORED)
    test.values(path.parent, "big-endian", {(7, "worker_0", "every"): base[1:, ::2].numpy(), (7, "worker_0", "double"): base.double().numpy()})
    done = mpirun(1, [test.args.assay, "show", only, "every", "--values", "--csv"])
    test.checks.expect(all("%g" % x in done.out for x in base[1:, ::2].flatten().tolist()), "elements of a view: %s" % done.out)


def small_float(code, exponent_bits, fraction_bits, bias):
    """The value of a code without infinities, by its definition."""
    sign, rest = code >> (exponent_bits + fraction_bits), code & ((1 << exponent_bits + fraction_bits) - 1)
    exponent, fraction = rest >> fraction_bits, rest & ((1 << fraction_bits) - 1)
    size = (fraction + (1 << fraction_bits if exponent else 0)) * 2.0 ** (max(exponent, 1) - bias - fraction_bits)
    return -size if sign & 1 else size


def check_dtypes(test):
    """Every code of the dtypes that checkpoints have and recordings do not; packed ones in tensors that end within a chunk of reading."""
    root, codes = test.work / "dtypes", numpy.arange(256, dtype="uint8")
    nan = float("nan")
    fields = {"F8_E4M3FNUZ": (4, 3, 8), "F8_E5M2FNUZ": (5, 2, 16), "F6_E2M3": (2, 3, 1), "F6_E3M2": (3, 2, 3), "F4": (2, 1, 1)}
    tensors, shapes, wanted = {"F8_E8M0": codes}, {}, {"F8_E8M0": [2.0 ** (c - 127) if c < 255 else nan for c in range(256)]}
    for name, field in fields.items():
        bits = {"F6_E2M3": 6, "F6_E3M2": 6, "F4": 4}.get(name, 8)
        own = numpy.resize(numpy.arange(1 << bits), 256 if bits == 8 else 90008)
        stream = sum(int(c) << (i * bits) for i, c in enumerate(own[:1 << bits]))
        tensors[name] = numpy.resize(numpy.frombuffer(stream.to_bytes((1 << bits) * bits // 8, "little"), "uint8"), own.size * bits // 8)
        shapes[name] = [own.size // 4, 4]
        wanted[name] = [nan if bits == 8 and c == 128 else small_float(int(c), *field) for c in own]
    save_safetensors(root / "step-1.safetensors", tensors, None, {name: name for name in tensors}, shapes)
    test.same(root, "dtypes", 0)
    rows, _ = statistics(test.args.assay, root)
    for name, values in wanted.items():
        row, values = rows[(1, "worker_0", name)], numpy.array(values)
        good = values[~numpy.isnan(values)]
        test.checks.expect(int(row["elements"]) == values.size and int(row["nan"]) == values.size - good.size and
                           int(row["zeros"]) == (good == 0).sum(), "%s: %s" % (name, row))
        done = mpirun(1, [test.args.assay, "show", root, name, "--values", "--csv"])
        shown = [float(line.rsplit(",", 1)[1]) for line in done.out.splitlines()[1:]]
        test.checks.expect(len(shown) == values.size and numpy.allclose(shown, values, rtol=1e-5, equal_nan=True),
                           "%s: %s" % (name, done.out[:300]))


def rewrite(path, edit):
    """Writes a zip file anew with its entries edited, stored, with the CRC-32 of what they were."""
    with zipfile.ZipFile(path) as old:
        entries = [(i, old.read(i)) for i in old.infolist()]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for info, content in entries:
            new.writestr(info.filename, edit(info.filename, content))
    path.write_bytes(out.getvalue())


class Evil:
    def __reduce__(self):
        return os.system, ("touch %s" % Evil.mark,)


def check_damage(test):
    """name -> (makes it, kinds of problems, tensors that are left of step 20)."""
    names = set(model(20))

    def cut(root, count):
        path = root / "step-0020.safetensors"
        path.write_bytes(path.read_bytes()[:-count])

    def flip(root, file, at):
        bytes_ = bytearray((root / file).read_bytes())
        bytes_[at] ^= 1
        (root / file).write_bytes(bytes_)

    def lose(root):
        (root / "checkpoint-20" / "model-00002-of-00003.safetensors").unlink()

    def lone(root):
        lose(root)
        (root / "checkpoint-20" / "model.safetensors.index.json").unlink()

    def nowhere(root):
        os.symlink("../blobs/0", root / "checkpoint-20" / "optimizer.pt")

    def pipe(root):
        os.mkfifo(root / "checkpoint-20" / "optimizer.pt")

    def add(root):
        save_safetensors(root / "checkpoint-20" / "model-00004-of-00004.safetensors", {"x": numpy.ones(2, "float32")})

    def move(root):
        index = root / "checkpoint-20" / "model.safetensors.index.json"
        index.write_text(index.read_text().replace('"fc1.weight": "model-00001', '"fc1.weight": "model-00002'))

    def hole(root):
        path = root / "step-0020.safetensors"
        tensors = model(20)
        path.write_bytes(safetensors_bytes(tensors).replace(b'"data_offsets": [0, ', b'"data_offsets": [1, '))

    def evil(root):
        save_torch(root / "epoch=1-step=20.ckpt", {"state_dict": as_torch(model(20)), "hook": Evil()})

    def opcode(root):
        rewrite(root / "epoch=1-step=20.ckpt", lambda name, c: b"\x80\x02(I1\n." if name.endswith("data.pkl") else c)

    def unfinished(root):
        (root / "step20" / ".metadata").unlink()

    def no_tensors(root):
        save_torch(root / "epoch=1-step=20.ckpt", {"epoch": 3})

    def rewrite_metadata(root, of, to):
        path = root / "step20" / ".metadata"
        path.write_bytes(path.read_bytes().replace(of, to, 1))

    def lost_rank(root):
        (root / "step20" / "__1_0.distcp").unlink()

    def piece(root):
        (root / "step_20" / "shard-00001-model-00001-of-00001.safetensors").unlink()

    cases = {
        "cut": ("safetensors", lambda r: cut(r, 3), ["short-file"], 4), "flipped header": ("safetensors", lambda r: flip(
            r, "step-0020.safetensors", 9), ["damaged-header"], 0),
        "hole": ("safetensors", hole, ["damaged-header"], 0), "lost shard": ("sharded", lose, ["missing-shard"], None),
        "lost shard, no index": ("sharded", lone, ["missing-shard"], 3),
        "link to nowhere": ("sharded", nowhere, ["unreadable"], 5), "pipe": ("sharded", pipe, ["unreadable"], 5),
        "extra shard": ("sharded", add, ["extra-shard"], 5), "wrong map": ("sharded", move, ["index-mismatch"], 5),
        "flipped element": ("torch", lambda r: flip(r, "epoch=1-step=20.ckpt", (r / "epoch=1-step=20.ckpt").read_bytes().index(
            model(20)["fc1.weight"].tobytes())), ["damaged-record"], 5),
        "flipped name": ("torch", lambda r: flip(r, "epoch=1-step=20.ckpt", (r / "epoch=1-step=20.ckpt").read_bytes().index(
            b"still.weight")), ["damaged-header"], 0),
        "evil": ("torch", evil, [], 5), "opcode": ("torch", opcode, ["refused-pickle"], 0),
        "cut zip": ("torch", lambda r: os.truncate(r / "epoch=1-step=20.ckpt", 900), ["damaged-header"], 0),
        "no tensors": ("torch", no_tensors, ["empty-trial"], 0), "not finished": ("dcp", unfinished, ["unfinished-checkpoint"], 0),
        "flipped class": ("dcp", lambda r: rewrite_metadata(r, b"TensorStorageMetadata", b"TensorStorageMetadatb"), ["damaged-record"], 0),
        "flipped name in metadata": ("dcp", lambda r: rewrite_metadata(r, b"model.still.weight", b"model.stjll.weight"), ["index-mismatch"], 5),
        "lost rank": ("dcp", lost_rank, ["missing-shard"], None), "lost piece": ("pieces", piece, ["incomplete-tensor"], None)}
    Evil.mark = str(test.work / "assay_was_here")
    for name, (layout, damage, wanted, left) in cases.items():
        root = test.work / ("damaged " + name)
        shutil.copytree(test.work / layout, root)
        damage(root)
        loss = wanted and wanted != ["extra-shard"]
        report = test.same(root, name, 3 if loss or name == "evil" else 0)
        test.checks.expect(report and kinds(report) == wanted, "%s: %s" % (name, report and kinds(report)))
        found = {(f["test"], f["step"]) for f in structure(report)}
        allowed = {("files", 20)} | ({("vanished", 20)} if name in ("no tensors", "lost piece", "lost shard, no index") else set())
        named = bool(loss) and name != "not finished"
        test.checks.expect(found <= allowed and (("files", 20) in found) == named, "%s: the structure: %s" % (name, found))
        rows, _ = statistics(test.args.assay, root)
        steps = {step for step, _, _ in rows}
        test.checks.expect({10, 30} <= steps, "%s: the other steps are not there: %s" % (name, steps))
        mine = {tensor for step, _, tensor in rows if step == 20}
        test.checks.expect(mine <= names and (left is None or len(mine) == left), "%s: of step 20 are left %s" % (name, mine))
    test.checks.expect(not os.path.exists(Evil.mark), "a function of a pickle was called")


def check_structure(test):
    """Names that go and come, another shape and dtype, weights that are tied no more; a step of which nothing is known between."""
    root = test.work / "structure"
    job = {"rules": [{"rule": "CheckpointStructure", "parameters": {"tests": "appeared,dtype,shape,tied,vanished"}},
                     {"rule": "AdamMomentBound"}, {"rule": "DeadRows"}]}
    for step in (1, 2, 3, 4):
        weights = {"a.weight": torch.full((3, 2), float(step)), "b.weight": torch.ones(5, 4 if step < 4 else 3),
                   "c.weight": torch.ones(2, dtype=torch.float32 if step < 2 else torch.float16)}
        weights["out.weight"] = weights["a.weight"] if step < 4 else weights["a.weight"].clone()
        if step != 2:
            weights["seldom"] = torch.ones(1)
        parameter = torch.nn.Parameter(weights["b.weight"].clone())
        optimizer = torch.optim.AdamW([parameter], betas=(0.9, 0.95))
        parameter.grad = torch.ones_like(parameter)
        parameter.grad[1] = 0
        optimizer.step()
        save_torch(root / ("ckpt_%d.pt" % step), {"model": weights, "optimizer": optimizer.state_dict()})
    os.truncate(root / "ckpt_3.pt", 700)
    path = test.work / "structure.json"
    path.write_text(json.dumps(job))
    test.job, kept = path, test.job
    report = test.same(root, "structure", 3)
    test.job = kept
    found = [(f["test"], f["step"], f["tensor"], f.get("note")) for f in structure(report)]
    test.checks.expect(found == [
        ("dtype", 2, "c.weight", "float32 at 1, float16 now"), ("vanished", 2, "seldom", None),
        ("shape", 4, "b.weight", "[5, 4] at 2, [5, 3] now"), ("tied", 4, "out.weight", "was a.weight"),
        ("appeared", 4, "seldom", None)] + [("shape", 4, "optimizer/b.weight/" + kept, "[5, 4] at 2, [5, 3] now")
                                            for kept in ("exp_avg", "exp_avg_sq")], "structure: %s" % found)
    rules = {r["rule"]: r for r in json.loads(report)["trials"][0]["rules"]}
    test.checks.expect(rules["AdamMomentBound"]["status"] == "NoIssuesFound" and rules["AdamMomentBound"]["datapoints"] == 3,
                       "Adam's moments: %s" % rules["AdamMomentBound"])
    test.checks.expect([f["value"] for f in rules["DeadRows"]["findings"]] == [1, 1, 1], "dead rows: %s" % rules["DeadRows"])


def check_names(test):
    """What is no step of its own: links, what is under way, files of another kind."""
    root = test.work / "names"
    for step in (2, 4):
        save_sharded(root / ("checkpoint-%d" % step), model(step), 2)
        save_torch(root / ("checkpoint-%d" % step) / "scheduler.pt", {"last": torch.ones(1)})
        (root / ("checkpoint-%d" % step) / "config.json").write_text("{}")
    os.symlink("checkpoint-4", root / "latest")
    os.symlink("checkpoint-4", root / "checkpoint-last-4")
    save_sharded(root / "tmp-checkpoint-6", model(6), 2)
    save_torch(root / "checkpoint-4" / "pytorch_model.bin", as_torch(model(4)))
    report = test.same(root, "names")
    test.checks.expect(kinds(report) == ["set-aside", "unfinished-checkpoint"], "names: %s" % kinds(report))
    wanted = {(step, "worker_0", name): value for step in (2, 4) for name, value in model(step).items()}
    wanted.update({(step, "worker_0", "state/scheduler.last"): numpy.ones(1, "float32") for step in (2, 4)})
    test.values(root, "names", wanted)
    done = mpirun(1, [test.args.assay, "ls", root / "checkpoint-4"])
    test.checks.expect(done.code == 0 and "(4)" in done.out, "a checkpoint by itself: %s" % done.out)


def check_single(test):
    """A file by itself is a trial of one step: by its name, by what it says, or 0."""
    root, value = test.work / "single", model(30)
    save_safetensors(root / "model.safetensors", value)
    save_safetensors(root / "step-12.safetensors", value)
    save_torch(root / "last.pt", {"state_dict": as_torch(value), "global_step": 77})
    save_npz(root / "arrays.npz", value, True)
    numpy.save(root / "fc1.npy", value["fc1.weight"])
    for file, step in (("model.safetensors", 0), ("step-12.safetensors", 12), ("last.pt", 77), ("arrays.npz", 0)):
        test.same(root / file, file)
        test.values(root / file, file, {(step, "worker_0", name): v for name, v in value.items()})
    test.values(root / "fc1.npy", "fc1.npy", {(0, "worker_0", "fc1"): value["fc1.weight"]})
    done = mpirun(2, [test.args.assay, "run", root / "last.pt", "--overwrite", "--out", test.work / "out", "--quiet"])
    test.checks.expect(done.code == 0 and (test.work / "out" / "report.json").exists(), "run FILE: %s" % done)
    packed = test.work / "single.h5"
    if not test.args.no_pack:
        done = mpirun(1, [test.args.assay, "pack", root / "last.pt", "--out", packed, "--quiet"])
        test.checks.expect(done.code == 0, "pack FILE: %s" % done)
        test.values(packed, "single, packed", {(77, "worker_0", name): v for name, v in value.items()})
    for name, head, kind in (("cut", lambda b: b[:-4], "short-file"), ("tail", lambda b: b + b"x", "damaged-header"),
                             ("magic", lambda b: b"x" + b[1:], "damaged-header"), ("version", lambda b: b[:6] + b"\x09" + b[7:], "unsupported"),
                             ("object", lambda b: b.replace(b"'<f4'", b"'|O' "), "refused-pickle"),
                             ("structured", lambda b: b.replace(b"'<f4'", b"'V2' "), "unsupported")):
        path = root / (name + ".npy")
        path.write_bytes(head((root / "fc1.npy").read_bytes()))
        report = test.same(path, name, 3)
        test.checks.expect(report and kinds(report) == [kind], "%s: %s" % (name, report and kinds(report)))


def check_said(test):
    """What files say of steps: a final checkpoint beside the series, the newest that was finished; links that lead nowhere."""
    root, value = test.work / "said", model(30)
    for step in (2, 4):
        save_sharded(root / ("checkpoint-%d" % step), model(step), 2)
    save_safetensors(root / "model.safetensors", value)
    wanted = {(step, "worker_0", name): v for step in (2, 4) for name, v in model(step).items()}
    report = test.same(root, "a root without a step")
    test.checks.expect(kinds(report) == ["foreign-file"], "a root without a step: %s" % kinds(report))
    test.values(root, "a root without a step", wanted)
    (root / "trainer_state.json").write_text('{"epoch": 1.5, "log_history": [{"step": 1}], "global_step": 6}')
    report = test.same(root, "a root that is the last step")
    test.checks.expect(kinds(report) == [], "a root that is the last step: %s" % kinds(report))
    test.values(root, "a root that is the last step", {**wanted, **{(6, "worker_0", name): v for name, v in value.items()}})
    root = test.work / "latest"
    for step in (2, 4):
        save_sharded(root / ("global_step%d" % step), model(step), 2)
    (root / "global_step4" / "model-00002-of-00002.safetensors").unlink()
    (root / "latest").write_text("global_step2\n")
    report = test.same(root, "behind the latest")
    test.checks.expect(kinds(report) == ["unfinished-checkpoint"], "behind the latest: %s" % kinds(report))
    test.values(root, "behind the latest", {k: v for k, v in wanted.items() if k[0] == 2})
    root = test.work / "loop"
    root.mkdir()
    os.symlink("step-2", root / "step-1")
    os.symlink("step-1", root / "step-2")
    report = test.same(root, "loop", 1)
    test.checks.expect(report and kinds(report) == ["empty-trial", "unreadable"], "loop: %s" % (report and kinds(report)))


def check_habits(test):
    """What trainings of all kinds write: the optimizer in a file of its own, .pth.tar, keys that are no texts, whole modules, sparse weights."""
    root, net = test.work / "apart", torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    adam, wanted = torch.optim.Adam(net.parameters()), {}
    for step in (100, 200):
        net(torch.ones(1, 4)).sum().backward()
        adam.step()
        save_torch(root / ("model_%d.pth.tar" % step), net.state_dict())
        save_torch(root / ("optimizer_%d.pt" % step), adam.state_dict())
        save_torch(root / ("scheduler_step_%d.pt" % step), {"last_epoch": step})
        save_torch(root / "rng_state_100.pth", {"cpu": torch.arange(3)})
        wanted.update({(step, "worker_0", name): value.numpy().copy() for name, value in net.state_dict().items()})
        wanted.update({(step, "worker_0", "optimizer/%s/%s" % (name, key)): value.numpy().copy()
                       for i, (name, _) in enumerate(net.named_parameters()) for key, value in adam.state_dict()["state"][i].items()})
    report = test.same(root, "files of their own")
    test.checks.expect(kinds(report) == [], "files of their own: %s" % kinds(report))
    test.values(root, "files of their own", wanted)
    shutil.copy(root / "model_200.pth.tar", root / "best.pth.tar")
    keys = {("block", 1): torch.ones(2), ("block", 2): torch.zeros(2), None: torch.ones(3), True: torch.ones(4), 7: torch.ones(5)}
    save_torch(test.work / "keys" / "step_1.pt", {"model": {"w": torch.ones(2)}, "memory": keys})
    names = ("w", "state/memory.(block, 1)", "state/memory.(block, 2)", "state/memory.None", "state/memory.True", "state/memory.7")
    rows, _ = statistics(test.args.assay, test.work / "keys")
    test.checks.expect({name for _, _, name in rows} == set(names), "keys that are no texts: %s" % sorted(rows))
    save_torch(test.work / "objects" / "model_1.pt", net)
    save_sharded(test.work / "sizes" / "checkpoint-7", model(10), 3)
    index = next((test.work / "sizes" / "checkpoint-7").glob("*.index.json"))
    said = json.loads(index.read_text())
    said["metadata"] = {"total_size": sum(value.nbytes for value in model(10).values()) + 4}
    index.write_text(json.dumps(said))
    for step in (1, 2):
        save_safetensors(test.work / "tail" / ("step-%d.safetensors" % step), {"a.weight": numpy.ones((8, 8)), "b.weight": numpy.full((8, 8), step)})
    tail = test.work / "tail" / "step-2.safetensors"
    size = tail.stat().st_size
    os.truncate(tail, size - 8 * 64)
    os.truncate(tail, size)
    (test.work / "sparse" / "checkpoint-2").mkdir(parents=True)
    (test.work / "sparse" / "checkpoint-2" / "config.json").write_text("{}")
    save_torch(test.work / "sparse" / "model_1.pt", {"w": torch.ones(2), "rows": torch.eye(3).to_sparse()})
    for name, code, begins, there in (
            ("apart", 0, "resume from model_200.pth.tar; sound: 6 files of 2 checkpoints, 32 tensors", "\nnote        best.pth.tar "), ("keys", 0, "resume from step_1.pt; sound: 1 file of 1 checkpoint, 6 tensors", ""),
            ("objects", 0, "resume from model_1.pt; sound: 1 file of 1 checkpoint, 4 tensors", ""),
            ("sizes", 0, "resume from checkpoint-7; sound: 3 files of 1 checkpoint, 5 tensors, ", " bytes: total_size of the index says 246 bytes, the tensors have 242\n"),
            ("tail", 1, "resume from step-1.safetensors; 2: b.weight: all elements are zero", "written to its end?"),
            ("sparse", 5, "checkpoint-2 is not complete; resume from model_1.pt", "\nnote        model_1.pt    1 tensor, ")):
        for ranks in test.args.ranks:
            done = mpirun(ranks, [test.args.assay, "verify", test.work / name, "--quiet"])
            test.checks.expect(done.code == code and done.out.startswith(begins) and there in done.out, "verify %s, %d ranks: %s" % (name, ranks, done))
    test.checks.expect(kinds(test.same(test.work / "sizes", "sizes")) == ["total-size"], "a total_size of other bytes")
    behind = test.work / "behind"
    save_torch(behind / "step-1.pt", as_torch(model(1)))
    save_npz(behind / "step-2.npz", model(2))
    for path in behind.iterdir():
        with open(path, "ab") as file:
            file.write(b"more")
    report = test.same(behind, "bytes behind the end of zip files")
    said = [p["text"] for p in json.loads(report)["trials"][0]["problems"]]
    test.checks.expect(kinds(report) == ["bytes-behind"] and len(said) == 2 and all("4 bytes stand behind its end" in text for text in said), "bytes behind: %s" % said)


def check_options(test):
    """What a job says of names and of raw bytes: the last match of its first pattern, and a dtype for elements without one."""
    root, value = test.work / "named", model(30)
    for step in (7, 12):
        save_safetensors(root / ("Take-%d-of-2-A%d.safetensors" % (step, step)), model(step))
    half = as_torch(value)["fc1.weight"].to(torch.bfloat16)
    bits = half.view(torch.int16).numpy().view("V2")
    numpy.savez(root / "A20.npz", **{"fc1.weight": bits})
    job = test.work / "options.json"
    job.write_text(json.dumps({"trials": [{"path": str(root), "steps": ["nothing([0-9]+)", "a([0-9]+)"], "void": {"V2": "bfloat16"}}],
                               "rules": [{"rule": "ExplodingTensor"}]}))
    reports = set()
    for ranks in test.args.ranks:
        for given in ([], ["--trial", root]):
            out = test.work / "out-options"
            shutil.rmtree(out, ignore_errors=True)
            done = mpirun(ranks, [test.args.assay, "run", job, "--out", out, "--quiet"] + given)
            report = (out / "report.json").read_bytes() if (out / "report.json").exists() else b"{}"
            reports.add(body_of(report))
            trial = json.loads(report).get("trials", [{}])[0]
            test.checks.expect(done.code in (0, 1) and [m["steps"] for m in trial.get("modes", {}).values()] == [3] and not trial["problems"],
                               "steps by the job, %d ranks: %s %s" % (ranks, trial.get("modes"), done))
            test.checks.expect(trial["rules"][0]["datapoints"] == 2 * len(value) + 1, "bfloat16 by the job: %s" % trial["rules"][0])
    test.checks.expect(len(reports) == 1, "reports of a job with options differ")


def check_watch(test):
    """Checkpoints are not watched: one message, and nothing is written."""
    out = test.work / "watched"
    done = mpirun(test.args.ranks[-1], [test.args.assay, "watch", test.job, "--trial", test.work / "sharded", "--out", out])
    test.checks.expect(done.code == 2 and done.err.count("is not watched") == 1 and not out.exists(), "watch: %s" % done)


if __name__ == "__main__":
    check_all((check_layouts, check_workers, check_torch, check_dtypes, check_damage, check_structure, check_names, check_single, check_said,
               check_habits, check_options, check_watch))
