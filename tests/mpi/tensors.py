#!/usr/bin/env python3
"""Checkpoints compared tensor by tensor, in any layouts, and verified file by file: the same answer at any number of ranks.

    tensors.py --assay PROGRAM --ranks 1 3 ...
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoints import save_dcp, save_npz, save_pieces, save_safetensors, save_sharded  # noqa: E402
from launch import Checks, mpirun  # noqa: E402
from made import Made  # noqa: E402

STEPS = (10, 20)


def model(step, change=0.0):
    rng = numpy.random.default_rng(step)
    tensors = {"embed.weight": rng.normal(0, 1, (40, 8)).astype("float32"), "q.weight": rng.normal(0, 1, (6, 4)).astype("float32"),
               "k.weight": rng.normal(0, 1, (6, 4)).astype("float32"), "v.weight": rng.normal(0, 1, (6, 4)).astype("float32"),
               "out.weight": rng.normal(0, 1, (4, 6)).astype("float16"), "count": numpy.array(step, "int64")}
    tensors["k.weight"][2, 3] += numpy.float32(change)
    return tensors


def as_torch(tensors):
    return {name: torch.from_numpy(value.copy() if value.ndim else numpy.array(value)) for name, value in tensors.items()}


def save_torch(path, saved):
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(saved, path)


def save_legacy(root, step):
    parts = as_torch(model(step))
    save_torch(root / ("iter_%07d" % step) / "mp_rank_00" / "model_optim_rng.pt",
               {"model": {"language_model." + name: value for name, value in parts.items()}, "iteration": step})


LAYOUTS = {
    "safetensors": lambda root, step: save_safetensors(root / ("step-%d.safetensors" % step), model(step)),
    "sharded": lambda root, step: save_sharded(root / ("checkpoint-%d" % step), model(step), 3),
    "pieces": lambda root, step: save_pieces(root / ("step_%d" % step), model(step), 2),
    "npz": lambda root, step: save_npz(root / ("%d.npz" % step), model(step), step == 20),
    "dcp": lambda root, step: save_dcp(root / ("step%d" % step), as_torch(model(step)), {}, 3),
    "torch": lambda root, step: save_torch(root / ("ckpt_%d.pt" % step), {"model": as_torch(model(step)), "step": step}),
    "legacy": save_legacy,
}


class Test:
    def __init__(self, args, work):
        self.args, self.work, self.checks = args, work, Checks()

    def run(self, name, code, *words):
        """Standard output of a command, which has to be the same at every number of ranks."""
        told = None
        for ranks in self.args.ranks:
            done = mpirun(ranks, [self.args.assay, *words, "--progress", "0"])
            self.checks.expect(done.code == code, "%s, %d ranks: exit %d, not %d\n%s" % (name, ranks, done.code, code, done))
            told = done.out if told is None else told
            self.checks.expect(done.out == told, "%s: %d ranks say something else: %s" % (name, ranks, done.out))
        return told or ""

    def begins(self, name, text, *words):
        first = text.split("\n")[0]
        self.checks.expect(all(word in first for word in words), "%s: %s" % (name, first))


def check_layouts(test):
    for layout, save in LAYOUTS.items():
        for step in STEPS:
            save(test.work / layout, step)
    for layout in list(LAYOUTS)[1:]:
        names = ["--map", r"^(.*)=language_model.\1"] if layout == "legacy" else []
        said = test.run(layout, 0, "compare", test.work / "safetensors", test.work / layout, *names)
        test.begins(layout, said, "equal: 12 tensors at 2 steps, bit for bit")
    said = test.run("one step each", 1, "compare", test.work / "sharded" / "checkpoint-10", test.work / "dcp" / "step20")
    rows = test.run("rows of them", 1, "compare", test.work / "sharded" / "checkpoint-10", test.work / "dcp" / "step20", "--format", "csv")
    test.checks.expect(rows.startswith("step,worker,") and len(rows.splitlines()) > 2, "--format csv of two checkpoints: %r" % rows[:200])
    test.begins("one step each", said, "different: 6 of 6 tensors at 1 step; first embed.weight")


def check_differences(test):
    a, b, c = (test.work / name for name in ("a", "b", "c"))
    save_safetensors(a / "step-1.safetensors", model(1))
    changed = model(1, 0.5)
    changed["embed.weight"][39, 7] = numpy.nan
    del changed["count"]
    changed["more"] = numpy.ones(3, "float32")
    changed["v.weight"] = changed["v.weight"].reshape(4, 6)
    changed["out.weight"] = changed["out.weight"].astype("float32")
    save_safetensors(b / "step-1.safetensors", changed)
    report = json.loads(test.run("differences", 1, "compare", a, b, "--json"))
    found = {d["tensor"]: d for d in report["differences"]}
    test.checks.expect(report["verdict"] == "different" and set(found) == {"embed.weight", "k.weight", "v.weight"},
                       "differences: %s" % report)
    k, embed = found["k.weight"], found["embed.weight"]
    before, after = model(1)["k.weight"].astype("float64"), changed["k.weight"].astype("float64")
    cosine = (before * after).sum() / numpy.sqrt((before ** 2).sum() * (after ** 2).sum())
    test.checks.expect(k["unequal"] == k["apart"] == 1 and k["first"] == {"element": 11, "values": [before[2, 3], after[2, 3]]} and
                       k["largest"] == abs(before[2, 3] - after[2, 3]) and abs(k["cosine"] - cosine) < 1e-14 and
                       abs(k["relative"] - k["largest"] / max(abs(before[2, 3]), abs(after[2, 3]))) < 1e-14, "one element: %s" % k)
    test.checks.expect(embed["unequal"] == embed["apart"] == 1 and embed["first"]["element"] == 319 and
                       embed["first"]["values"][1] == "nan" and embed["largest"] == 0, "a NaN: %s" % embed)
    test.checks.expect(found["v.weight"]["state"] == "shape" and [s["tensor"] for s in report["only_in_first"]] == ["count"] and
                       [s["tensor"] for s in report["only_in_second"]] == ["more"], "shapes and names: %s" % report)
    said = test.run("first and largest", 1, "compare", a, b)
    test.begins("first and largest", said, "different: 3 of 5 tensors at 1 step; first embed.weight at step 1, element 319",
                "2 names are only in one of them")
    test.checks.expect("The largest difference is 0.5, in k.weight at step 1, element 11." in said, "the largest: %s" % said)
    save_safetensors(c / "step-1.safetensors", model(1, 1e-5))
    test.begins("close", test.run("close", 0, "compare", a, c, "--atol", "1e-4"), "close: 6 tensors at 1 step, 1 of them not bit for bit")
    test.begins("apart", test.run("apart", 1, "compare", a, c, "--rtol", "1e-9"), "different: 1 of 6")
    for name, made in (("wide", model(1)), ("narrow", {key: value.astype("float16") if key == "out.weight" else value for key, value in model(1).items()}), ("other", {key: value.astype("float32") if key == "out.weight" else value for key, value in model(1).items()})):
        save_safetensors(test.work / name / "model.safetensors", made)
    said = test.run("dtypes", 0, "compare", test.work / "wide", test.work / "other")
    test.begins("dtypes", said, "equal: 6 tensors at 1 step, element for element; 1 has another dtype")
    test.begins("dtypes", test.run("dtypes", 0, "compare", test.work / "wide", test.work / "narrow"), "equal: 6 tensors at 1 step, bit for bit")
    test.checks.expect(json.loads(test.run("dtypes", 0, "compare", test.work / "wide", test.work / "other", "--json"))["other_dtype"] == 1, "dtypes are not counted")


def check_damaged(test):
    """What a damaged trial lacks is no difference, and is named."""
    sound, hurt = (Made(test.work / name) for name in ("sound", "hurt"))
    for made in (sound, hurt):
        for step in (0, 1):
            made.step(step, "TRAIN", step, {"weight": [1.0, 2.0], "bias": [0.5]})
        made.end()
    index = next(path for path in hurt.folder.glob("index/*/*.json") if "000001_" in path.name)
    whole = json.loads(index.read_text())
    index.write_bytes(index.read_bytes()[:30])
    said = test.run("no index", 3, "compare", sound.folder, hurt.folder, "--tensors")
    test.begins("no index", said, "unknown: 2 tensors at 1 step", "1 part is damaged or missing")
    test.checks.expect("damaged-index" in said and "Steps only in" in said, "no index: %s" % said)
    whole["tensor_payload"][0]["start_idx"] = -5
    index.write_text(json.dumps(whole))
    report = json.loads(test.run("half an index", 3, "compare", sound.folder, hurt.folder, "--tensors", "--json"))
    test.checks.expect(report["verdict"] == "unknown" and [s["tensor"] for s in report["only_in_first"]] == ["weight"] and
                       [p["kind"] for p in report["problems_in_second"]] == ["damaged-index"] and report["problems_in_first"] == [],
                       "half an index: %s" % report)
    whole["tensor_payload"][0]["start_idx"] = 0
    index.write_text(json.dumps(whole))
    events = next(path for path in hurt.folder.glob("events/*/*") if "000000_" in path.name)
    events.write_bytes(events.read_bytes()[:10])
    for first, second, of in ((sound, hurt, "second"), (hurt, sound, "first")):
        report = json.loads(test.run("no record", 3, "compare", first.folder, second.folder, "--tensors", "--json"))
        found = {side: [(p["kind"], p["file"]) for p in report["problems_in_" + side]] for side in ("first", "second")}
        test.checks.expect(report["verdict"] == "unknown" and set(found.pop(of)) == {("damaged-record", str(events.relative_to(hurt.folder)))} and
                           not any(found.values()), "no record: %s" % report)


def check_left(test):
    """What lies in both, and was not read in either, is no part of what is equal."""
    one, other = test.work / "left-one", test.work / "left-other"
    for root in (one, other):
        save_sharded(root / "checkpoint-10", model(10), 2)
    said = test.run("nothing left", 0, "compare", one, other)
    test.checks.expect(said == "equal: 6 tensors at 1 step, bit for bit\n", "nothing left: %s" % said)
    for root in (one, other):
        (root / "checkpoint-20").mkdir()
        save_safetensors(root / "model_30.safetensors.bak", model(30))
    said = test.run("left", 0, "compare", one, other)
    test.begins("left", said, "equal: 6 tensors at 1 step, bit for bit; 4 parts were not read")
    for root in (one, other):
        for name, word in (("checkpoint-20", "unfinished-checkpoint"), ("model_30.safetensors.bak", "foreign-file")):
            test.checks.expect("%s: %s: %s " % (root, word, name) in " ".join(said.split()), "left: %s of %s: %s" % (name, root, said))


def check_lists(test):
    """Losses behind more remarks than a list keeps are counted."""
    root = test.work / "many"
    for step in STEPS:
        save_sharded(root / ("checkpoint-%d" % step), model(step), 3)
    for i in range(1001):
        (root / "checkpoint-10" / ("other-%05d-of-01001.safetensors" % i)).touch()
    file = root / "checkpoint-20" / "model-00002-of-00003.safetensors"
    os.truncate(file, file.stat().st_size - 4)
    said = test.run("many remarks", 3, "compare", test.work / "sharded", root)
    test.checks.expect("\n\n%s: 1 problem with loss of data, behind the 1000 problems that are listed\n" % root in said, "many remarks: %s" % said)


def check_views(test):
    """Ranks that see other files: a file that two of them opened is refused, and what only one of them lacks is named."""
    ranks = (0, 1)
    for name, steps, cut, code, words in (("other files", STEPS[:1], None, 4, "step-10.safetensors: it had two sizes: the trial changed while it was "
                                           "read, or not every rank sees the same files"),
                                          ("a loss of one", STEPS, 20, 3, "1 part is damaged or missing")):
        for rank in ranks:
            root = test.work / name / str(rank)
            for trial in "ab":
                for step in steps:
                    tensors = model(step)
                    if rank == 1 and trial == "b" and not cut:
                        tensors["q.weight"] = tensors["q.weight"][:3]
                    save_safetensors(root / trial / ("step-%d.safetensors" % step), tensors)
            if rank == 1 and cut:
                file = root / "b" / ("step-%d.safetensors" % cut)
                os.truncate(file, file.stat().st_size - 4)
        script = 'cd "$0/${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" && exec "$@"'
        done = mpirun(2, ["sh", "-c", script, test.work / name, test.args.assay, "compare", "a", "b", "--progress", "0"])
        test.checks.expect(done.code == code and words in done.out + done.err and ("step-20" in done.out) == bool(cut), "%s: %s" % (name, done))


def check_maps(test):
    """Fused and transposed matrices, as other programs save them."""
    plain, fused = test.work / "plain", test.work / "fused"
    one = model(3)
    save_safetensors(plain / "step-3.safetensors", one)
    save_safetensors(fused / "step-3.safetensors", {
        "m.embed": one["embed.weight"], "m.qkv": numpy.concatenate([one["q.weight"], one["k.weight"], one["v.weight"]]),
        "m.out": numpy.ascontiguousarray(one["out.weight"].T), "count": one["count"]})
    maps = ["^q.weight=m.qkv[0/3]", "^k.weight=m.qkv[6:12, :]", "^v.weight=m.qkv[12:]", "^out.weight$=m.out^T", r"^(embed)\.weight=m.\1"]
    words = [w for m in maps for w in ("--map", m)]
    test.begins("maps", test.run("maps", 0, "compare", plain, fused, *words), "equal: 6 tensors at 1 step, bit for bit")
    words[3] = "^k.weight=m.qkv[0/3]"
    test.begins("a wrong part", test.run("a wrong part", 1, "compare", plain, fused, *words), "different: 1 of 6", "first k.weight")
    words[3] = "^k.weight=m.qkv[17:23]"
    test.run("a part that is not there", 3, "compare", plain, fused, *words)
    for wrong in ("x", "(=y", "a=b[3]", "a=b[3:1]", "a=b[2/2]", "=b"):
        done = mpirun(1, [test.args.assay, "compare", plain, fused, "--map", wrong])
        test.checks.expect(done.code == 2 and "map" in done.err or "regular expression" in done.err, "--map %s: %s" % (wrong, done))
    done = mpirun(1, [test.args.assay, "compare", plain, fused, "--rtol", "0.1", "--out", test.work / "out"])
    test.checks.expect(done.code == 2 and "make no report" in done.err, "a report of tensors: %s" % done)


TOPOLOGY = {"schema": "assay-topology/1", "tensors": [
    {"match": "[qkv].weight", "split": {"tp": {"axis": 0}}, "replicate": ["dp"]},
    {"match": "out.weight", "split": {"tp": {"axis": -1}}, "replicate": ["dp"]},
    {"match": "embed|count", "replicate": ["dp", "tp"]}]}


def topology(dp, tp, tensors=None):
    return json.dumps({**TOPOLOGY, "meshes": {"mesh": {"axes": [["dp", dp], ["tp", tp]]}}, "tensors": tensors or TOPOLOGY["tensors"]})


def save_ranks(root, dp, tp, change=None):
    """The model in pieces of tp ranks, dp copies of each."""
    for rank in range(dp * tp):
        own = {name: numpy.split(value, tp, -1 if name == "out.weight" else 0)[rank % tp].copy() if name[0] in "qkvo" else value
               for name, value in model(1).items()}
        if change:
            change(rank, own)
        save_safetensors(root / "step-1" / ("rank_%d" % rank) / "model.safetensors", own)
    return root


def check_ranks(test):
    """Pieces of ranks, put together as a topology says, in both directions."""
    whole, two, three = test.work / "whole", save_ranks(test.work / "two", 2, 2), save_ranks(test.work / "three", 1, 3)
    save_safetensors(whole / "step-1.safetensors", model(1))
    for a, b in ((whole, two), (two, whole)):
        said = test.run("ranks without a topology", 3, "compare", a, b)
        test.begins("ranks without a topology", said, "unknown: 24 tensors at 1 step; 16 could not be read")
        test.checks.expect("--topology" in said, "no topology: %s" % said)
    (test.work / "mesh.json").write_text(topology(2, 2))
    # Of q, k, v and out there are two copies, of the others four, each of which is compared.
    said = test.run("given", 0, "compare", whole, two, "--topology", test.work / "mesh.json")
    test.begins("given", said, "equal: 16 tensors at 1 step, bit for bit")
    (two / "topology.json").write_text(topology(2, 2))
    (three / "topology.json").write_text(topology(1, 3))
    for a, b, pairs in ((whole, two, 16), (two, whole, 16), (whole, three, 10), (two, three, 16), (three, two, 16)):
        name = "%s against %s" % (a.name, b.name)
        test.begins(name, test.run(name, 0, "compare", a, b), "equal: %d tensors at 1 step, bit for bit" % pairs)

    def other_copy(rank, own):
        if rank == 3:  # its columns are those from 3 on
            own["out.weight"][2, 1] += 1
    odd = save_ranks(test.work / "odd", 2, 2, other_copy)
    (odd / "topology.json").write_text(topology(2, 2))
    for a, b in ((whole, odd), (odd, whole), (odd, two)):
        report = json.loads(test.run("one copy", 1, "compare", a, b, "--json"))
        test.checks.expect([(d["tensor"], d["unequal"], d["first"]["element"], "rank_2" in (d["worker"], d["other_worker"]))
                            for d in report["differences"]] == [("out.weight", 1, 16, True)], "one copy: %s" % report["differences"])
    said = test.run("one copy", 1, "compare", whole, odd)
    test.checks.expect("rank_2" in said, "the copy's worker: %s" % said)
    (odd / "topology.json").write_text(topology(2, 2, TOPOLOGY["tensors"][1:]))
    said = test.run("unknown", 1, "compare", whole, odd)
    test.checks.expect("12 could not be read" in said and "see assay topology" in said, "an unknown axis: %s" % said)
    fused = test.work / "fused ranks"
    qkv = numpy.concatenate([model(1)[n] for n in ("q.weight", "k.weight", "v.weight")])
    save_safetensors(fused / "step-1.safetensors", {"qkv": qkv, "w": numpy.ascontiguousarray(model(1)["out.weight"].T),
                                                    "embed.weight": model(1)["embed.weight"], "count": model(1)["count"]})
    maps = ["^q.weight=qkv[0/3]", "^k.weight=qkv[6:12, :]", "^v.weight=qkv[2/3]", "^out.weight$=w^T"]
    said = test.run("maps of pieces", 0, "compare", two, fused, *[word for m in maps for word in ("--map", m)])
    test.begins("maps of pieces", said, "equal: 16 tensors")


def check_megatron(test):
    """Legacy Megatron's ranks by their names: two tensor-parallel ranks times two stages, each of which counts its own layers."""
    rng, whole = numpy.random.default_rng(4), {}
    layer = {"self_attention.linear_qkv.weight": ((12, 4), 0), "self_attention.linear_proj.weight": ((4, 4), 1),
             "mlp.linear_fc1.weight": ((16, 4), 0), "mlp.linear_fc2.weight": ((4, 16), 1), "mlp.linear_fc2.bias": ((4,), None)}
    ranks = {(t, p): {} for t in range(2) for p in range(2)}
    for number in range(4):
        for name, (shape, axis) in layer.items():
            value = whole["decoder.layers.%d.%s" % (number, name)] = rng.normal(0, 1, shape).astype("float32")
            for (t, p), own in ranks.items():
                if p == number // 2:
                    own["decoder.layers.%d.%s" % (number % 2, name)] = value if axis is None else numpy.split(value, 2, axis)[t]
    whole["embedding.word_embeddings.weight"] = numpy.arange(48, dtype="float32").reshape(12, 4)
    whole["rotary.inv_freq"] = numpy.arange(3, dtype="float32")
    for (t, p), own in ranks.items():  # the last stage has a copy of the embedding, and every rank one of what no preset knows
        embedding = numpy.split(whole["embedding.word_embeddings.weight"], 2)[t]
        own["output_layer.weight" if p else "embedding.word_embeddings.weight"] = embedding
        own["rotary.inv_freq"] = whole["rotary.inv_freq"]
    args = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "swiglu": False}
    for (t, p), own in ranks.items():
        save_torch(test.work / "megatron" / "iter_0000007" / ("mp_rank_%02d_%03d" % (t, p)) / "model_optim_rng.pt",
                   {"model": as_torch(own), "args": argparse.Namespace(**args), "iteration": 7, "checkpoint_version": 3.0})
    save_safetensors(test.work / "hub" / "step-7.safetensors", whole)
    save_dcp(test.work / "fsdp" / "step7", as_torch(whole), {}, 3)
    megatron = test.work / "megatron"
    for a, b in ((p, q) for other in ("hub", "fsdp") for p, q in ((test.work / other, megatron), (megatron, test.work / other))):
        name = "%s against %s" % (a.name, b.name)
        # Both tensor-parallel ranks have fc2's bias, and all four inv_freq.
        said = test.run(name, 0, "compare", a, b, "--map", "^output_layer=embedding.word_embeddings")
        test.begins(name, said, "equal: 30 tensors at 1 step, bit for bit")


def check_verify(test):
    said = test.run("whole", 0, "verify", test.work / "sharded")
    test.begins("whole", said, "resume from checkpoint-20; sound: 6 files of 2 checkpoints, 12 tensors")
    said = test.run("whole", 0, "verify", test.work / "sharded", "--all")
    test.checks.expect(said.count("\nsound ") == 6, "a line a file: %s" % said)
    root = test.work / "cut"
    shutil.copytree(test.work / "sharded", root)
    file = root / "checkpoint-20" / "model-00002-of-00003.safetensors"
    os.truncate(file, file.stat().st_size - 4)
    said = test.run("cut", 3, "verify", root)
    test.begins("cut", said, "resume from checkpoint-10; 20: damaged (model-00002-of-00003.safetensors: ", "the file ends early")
    test.checks.expect("\ndamaged     checkpoint-20/model-00002-of-00003.safetensors  1 tensor, " in said, "the line: %s" % said)
    test.begins("older ones", test.run("older ones", 0, "verify", root, "--steps", ":20"), "resume from checkpoint-10; sound: 3 files of 1 checkpoint")
    report = json.loads(test.run("newest", 3, "verify", root, "--last", "--json"))
    test.checks.expect(report["verdict"] == "damaged" and [f["state"] for f in report["files"]].count("damaged") == 1 and
                       report["last_sound"] == "checkpoint-10" and report["last_sound_step"] == 10 and
                       [(s["step"], s["state"]) for s in report["steps"]] == [(10, "sound"), (20, "damaged")], "the newest: %s" % report)
    sick = test.work / "sick"
    for step in STEPS:
        tensors = model(step)
        moment, square = numpy.full((6, 4), 0.1, "float32"), numpy.full((6, 4), 0.2, "float32")
        if step == 20:
            tensors["q.weight"][1, 1] = numpy.inf
            moment[0, 0] = 100
            del tensors["v.weight"]
        tensors.update({"optimizer/q.weight/exp_avg": moment, "optimizer/q.weight/exp_avg_sq": square})
        save_safetensors(sick / ("step-%d.safetensors" % step), tensors)
    report = json.loads(test.run("sick", 1, "verify", sick, "--json"))
    test.checks.expect(report["verdict"] == "suspect" and [f["findings"] for f in report["files"]][:2] == [0, 2] and
                       report["findings"] == 3, "sick: %s" % report)
    done = mpirun(1, [test.args.assay, "verify", test.work / "absent"])
    test.checks.expect(done.code == 2 and "absent" in done.err, "no such trial: %s" % done)


def check_unread(test):
    """The note on tensors of a kind that is not read stands at the newest step that has one, of the steps that are asked for."""
    root, whole, rows = test.work / "unread", torch.ones(2), torch.eye(3).to_sparse()
    for step, more in ((100, {"a": rows, "b": rows}), (200, {"a": rows}), (300, {})):
        save_torch(root / ("model_%d.pt" % step), {"w": whole, **more})
    for options, at, said in (([], 200, "2 tensors are"), (["--steps", ":200"], 100, "2 tensors are"), (["--steps", "200:300"], 200, "1 tensor is"),
                              (["--last"], None, "")):
        done = mpirun(1, [test.args.assay, "verify", root, "--quiet", *options])
        notes = [line for line in done.out.split("\n") if line.startswith("note ")]
        good = len(notes) == 1 and ("model_%d.pt " % at) in notes[0] and said in notes[0] if at else not notes
        test.checks.expect(done.code == 0 and "; sound: " in done.out and good, "unread tensors %s: %s" % (options, done))


def check_gone(test):
    """A rank that only one of them has is named, and they are not equal; so is what stands in front of all names of one."""
    four, three, other = test.work / "gone" / "four", test.work / "gone" / "three", test.work / "gone" / "other"
    for rank in range(4):
        save_torch(four / "step_10" / ("rank_%d" % rank) / "model.pt", {"model": as_torch(model(10))})
    shutil.copytree(four, three)
    shutil.rmtree(three / "step_10" / "rank_2")
    for a, b, where in ((four, three, "first"), (three, four, "second")):
        test.begins("a rank is gone", test.run("a rank is gone", 1, "compare", a, b), "different: ", "; rank_2 only in the " + where)
        told = json.loads(test.run("a rank is gone, JSON", 1, "compare", a, b, "--json"))
        test.checks.expect(told["workers_only_in_" + where] == ["rank_2"] and told["verdict"] == "different", "JSON: %s" % told)
    test.begins("no rank is gone", test.run("no rank is gone", 0, "compare", four, four), "equal: ")
    for rank in range(2):
        save_torch(other / "step_10" / ("rank_%d" % (rank + 4)) / "model.pt", {"model": as_torch(model(10))})
    told = json.loads(test.run("other names", 0, "compare", four, other, "--json"))
    test.checks.expect(told["verdict"] == "equal", "workers of other names: %s" % told)

    plain, longer = test.work / "plain.pt", test.work / "longer.ckpt"
    save_torch(plain, as_torch(model(10)))
    save_torch(longer, {"state_dict": {"net.model." + name: value for name, value in as_torch(model(10)).items()}, "global_step": 10})
    for a, b, words in ((plain, longer, r"(.*)=net.model.\1"), (longer, plain, r"net\.model\.(.*)=\1")):
        done = mpirun(1, [test.args.assay, "compare", a, b])
        test.checks.expect(done.code == 2 and "have net.model. in front of" in done.err and "--map '%s'" % words in done.err, "a prefix: %s" % done)
        said = test.run("with the prefix", 0, "compare", a, b, "--map", words)
        test.begins("with the prefix", said, "equal: 6 tensors")
        test.checks.expect("--map has paired 6 of 6 tensors, " in said, "what the map made: %s" % said)


def check_optimizers(test):
    """Adafactor's factored moments get their parameter's name, by its shape; states in 8 bits are named as what is not looked at."""
    for name, state, where in (
            ("factored", {0: {"step": 3, "exp_avg_sq_row": torch.rand(6), "exp_avg_sq_col": torch.rand(4)}, 1: {"step": 3, "exp_avg_sq": torch.rand(6)}},
             ["optimizer/fc.bias/exp_avg_sq", "optimizer/fc.weight/exp_avg_sq_col", "optimizer/fc.weight/exp_avg_sq_row"]),
            ("other", {0: {"step": 3, "exp_avg_sq_row": torch.rand(5), "exp_avg_sq_col": torch.rand(4)}, 1: {"step": 3, "exp_avg_sq": torch.rand(6)}},
             ["optimizer/#0/exp_avg_sq_col", "optimizer/#0/exp_avg_sq_row", "optimizer/#1/exp_avg_sq"])):
        root = test.work / name
        save_torch(root / "pytorch_model.bin", {"fc.weight": torch.randn(6, 4), "fc.bias": torch.randn(6)})
        save_torch(root / "optimizer.pt", {"state": state, "param_groups": [{"params": [0, 1]}]})
        listed = json.loads(mpirun(1, [test.args.assay, "ls", root, "--json"]).out)
        names = [n for n in listed["collections"][0]["tensors"] if n.startswith("optimizer/")]
        test.checks.expect(names == where, "%s: %s" % (name, names))
    codes = {"step": 5, "state1": torch.zeros(6, 4, dtype=torch.uint8), "qmap1": torch.linspace(-1, 1, 256), "absmax1": torch.rand(1)}
    root = test.work / "eight"
    save_torch(root / "pytorch_model.bin", {"fc.weight": torch.randn(6, 4)})
    save_torch(root / "optimizer.pt", {"state": {0: codes}, "param_groups": [{"params": [0]}]})
    done = mpirun(1, [test.args.assay, "verify", root])
    test.checks.expect(done.code == 0 and "1 state of an 8-bit optimizer" in done.out and "see 1 note" in done.out, "codes: %s" % done)
    codes["absmax1"][0] = float("nan")
    save_torch(root / "optimizer.pt", {"state": {0: codes}, "param_groups": [{"params": [0]}]})
    done = mpirun(1, [test.args.assay, "verify", root])
    test.checks.expect(done.code == 1 and "fc.weight/absmax1: 1 element is NaN" in done.out.split("\n", 2)[2], "a scale that is NaN: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    with tempfile.TemporaryDirectory(prefix="assay-tensors-") as work:
        test = Test(parser.parse_args(), Path(work))
        for check in (check_layouts, check_differences, check_damaged, check_left, check_lists, check_views, check_maps, check_ranks, check_megatron, check_verify, check_unread,
                      check_gone, check_optimizers):
            check(test)
    test.checks.done()


if __name__ == "__main__":
    main()
