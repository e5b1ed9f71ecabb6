"""Series of checkpoints as programs that copy files leave them: not whole, under names of their own, or twice; used by damaged_checkpoints.py."""
import argparse
import json
import pickle
import shutil
import zlib

import numpy
import torch

from checkpoints import save_safetensors
from checkpoint_layouts import DAMAGED, INCOMPLETE, SOUND, SUSPECT, Case, adam, as_torch, put, spread, tensors

THREE = (100, 200, 300)


def under_way(work):
    """The newest checkpoint under the name that it has until it is copied."""
    older = "resume from model_200.safetensors"
    for ending in (".partial", ".filepart", ".crdownload", ".download", ".inprogress", ".part"):
        root = spread(work, "single", name="single" + ending, steps=THREE)
        (root / "model_300.safetensors").rename(root / ("model_300.safetensors" + ending))
        for options in ([], ["--last"]):
            yield Case("copied as far as %s" % ending, root, INCOMPLETE, "model_300.safetensors%s is not complete; %s$" % (ending, older), options)
    root = spread(work, "hugging_face", name="directory", steps=THREE)
    (root / "checkpoint-300").rename(root / "checkpoint-300.partial")
    yield Case("a directory that is copied", root, INCOMPLETE, "checkpoint-300.partial is not complete; resume from checkpoint-200")
    root = spread(work, "single", name="rsync", steps=THREE)
    (root / "model_300.safetensors").rename(root / ".model_300.safetensors.Ab12Cd")
    yield Case("copied by rsync", root, INCOMPLETE, "^.model_300.safetensors.Ab12Cd is not complete; " + older)
    for at, ending in enumerate((".6eF9c2a3", "~", ".bak")):  # the first as the AWS CLI has it
        root = spread(work, "single", name="aside-%d" % at, steps=THREE)
        (root / "model_300.safetensors").rename(root / ("model_300.safetensors" + ending))
        for options in ([], ["--last"]):
            yield Case("called model_300.safetensors%s" % ending, root, SOUND, older + "; .*see 1 note$", options)
    for at, (begin, ending) in enumerate((("", "~"), ("", ".bak"), ("", ".rsync"), ("", " (copy)"), ("", ".Ab12Cd"), (".", ".Ab12Cd"),
                                           (".", ""), ("", "-backup"), ("", "_old"), ("", "-broken-2"), ("old_", ""), ("Backup-", ""))):
        for beside in (False, True):
            root = spread(work, "hugging_face", name="aside-directory-%d-%d" % (at, beside), steps=THREE)
            (shutil.copytree if beside else shutil.move)(root / "checkpoint-300", root / (begin + "checkpoint-300" + ending))
            for options in ([], ["--last"]) if not beside else ([],):
                yield Case("a directory called %scheckpoint-300%s" % (begin, ending), root, SOUND, "^resume from checkpoint-%d; .*see 1 note$" % (300 if beside else 200), options)
    for name in (".rsync-partial", ".~tmp~", "backup", "runs/trash"):
        root = spread(work, "hugging_face", name="rsync" + name.replace("/", "-"), steps=THREE)
        (root / name).mkdir(parents=True)
        (root / "checkpoint-300").rename(root / name / "checkpoint-300")
        yield Case("a checkpoint in %s" % name, root, SOUND, "^resume from checkpoint-200; .*see 1 note$")
    root = spread(work, "hugging_face", name="words", steps=THREE)
    for step in THREE:
        (root / ("checkpoint-%d" % step)).rename(root / ("old_model-%d-copy" % step))
    yield Case("a series whose own names have such words", root, SOUND, "^resume from old_model-300-copy; sound")
    root = spread(work, "hugging_face", name="fractions", steps=THREE)
    for step in THREE:
        (root / ("checkpoint-%d" % step)).rename(root / ("epoch-%s" % {100: "1", 200: "2", 300: "2.5"}[step]))
    yield Case("epochs with fractions", root, DAMAGED, "2.*epoch-2.5")
    root = spread(work, "hugging_face", name="all-aside", steps=THREE)
    for step in THREE:
        (root / ("checkpoint-%d" % step)).rename(root / ("checkpoint-%d.bak" % step))
    yield Case("a whole series with another end", root, SOUND, "^resume from checkpoint-300.bak")
    for ending in (".partial", ".6eF9c2a3"):
        root = spread(work, "hugging_face", name="optimizer" + ending, steps=THREE)
        (root / "checkpoint-300" / "optimizer.pt").rename(root / "checkpoint-300" / ("optimizer.pt" + ending))
        yield Case("optimizer.pt%s" % ending, root, DAMAGED, "resume from checkpoint-200; 300: damaged .optimizer.pt is missing")
    for steps in (THREE, THREE[:2]):
        root = spread(work, "single", name="scheduler-of-%d" % len(steps), steps=steps)
        for step in THREE:
            put(root / ("scheduler_%d.pt" % step), {"last_epoch": step})
        yield Case("the scheduler of three, models of %d" % len(steps), root, SOUND if len(steps) == 3 else INCOMPLETE,
                   "resume from model_300.safetensors" if len(steps) == 3 else "scheduler_300.pt is not complete; " + older)


def twice(work):
    """What lies there under two steps."""
    for layout, code in (("single", SOUND), ("sharded", SOUND), ("ranks", SOUND), ("dcp", SOUND), ("torch", SUSPECT), ("lightning", SUSPECT), ("legacy", SUSPECT)):
        root = spread(work, layout, name=layout + "-twice", steps=THREE)
        newest = next(p for p in root.iterdir() if "300" in p.name)
        copy = root / newest.name.replace("300", "400")
        (shutil.copytree if newest.is_dir() else shutil.copy)(newest, copy)
        for options in ([], ["--last"]):
            yield Case("%s: a copy as another step" % layout, root, code, "resume from %s; .*see 1 note$" % copy.name if code == SOUND else
                       "resume from %s; 400: its tensors are byte for byte those of %s" % (newest.name, newest.name), options)
    root = spread(work, "lightning", name="exchanged", steps=THREE)
    one, other, aside = root / "epoch=1-step=200.ckpt", root / "epoch=1-step=300.ckpt", root / "aside"
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
    yield Case("lightning: two in each other's place", root, SUSPECT, "resume from epoch=1-step=100.ckpt; 200: it says that it is of step 300, which another checkpoint here is of")
    root = spread(work, "torch", name="capitals", steps=THREE)
    (root / "ckpt_200.pt").rename(root / "CKPT_200.PT")
    yield Case("torch: a file in capitals", root, SOUND, "sound: 2 files of 2 checkpoints, .*see 1 note$")
    root = spread(work, "torch", name="behind-a-point", steps=THREE)
    (root / "ckpt_200.pt").rename(root / ".ckpt_200.pt")
    yield Case("torch: a file behind a point", root, SOUND, "sound: 2 files of 2 checkpoints, .*see 1 note$")
    for file in ("model.safetensors", "optimizer.pt", "scheduler.pt"):
        for of, code in ((100, SUSPECT), (200, None)):
            root = spread(work, "hugging_face", name="%s-of-%d" % (file, of), steps=THREE)
            shutil.copy(root / ("checkpoint-%d" % of) / file, root / "checkpoint-300")
            if code:
                yield Case("%s of %d has come back" % (file, of), root, code, "resume from checkpoint-200; 300: %s: it is byte for byte that of checkpoint-%d" % (file, of))
            elif file == "scheduler.pt":  # it may count epochs
                yield Case("%s stands still" % file, root, SOUND)
    for layout, file, of in (("zero2", "latest", "global_step%d"), ("torch_dist", "latest_checkpointed_iteration.txt", "%d")):
        for step in (200, 300):
            root = spread(work, layout, name="%s-names-%d" % (layout, step), steps=THREE)
            (root / file).write_text(of % step)
            yield Case("%s: %s names %d" % (layout, file, step), root, SOUND, "resume from .*300; .*see 1 note$" if step == 200 else "resume from .*300; [^;]*(;[^;]*seal[^;]*)?$")
        for how, more in (("line", b"\n{"), ("page", bytes(512))):
            longer = shutil.copytree(root, work / ("%s-%s" % (layout, how)))
            (longer / file).write_bytes((of % 300).encode() + more)
            yield Case("%s: more behind what %s names" % (layout, file), longer, DAMAGED, "which is not there|has more than a name")
        blanks = shutil.copytree(root, work / (layout + "-blanks"))
        (blanks / file).write_bytes(b"\n" + (of % 300).encode() + b" \n")
        yield Case("%s: blanks around what %s names" % (layout, file), blanks, SOUND, "resume from .*300")
        zeros = shutil.copytree(root, work / (layout + "-zeros"))
        (zeros / file).write_bytes((of % 300).encode() + bytes(2))
        yield Case("%s: zero bytes behind what %s names" % (layout, file), zeros, DAMAGED, r"it names .*300\?\?, which is not there")


def arrays(work):
    """Trees of .npy files, of which the first, a middle or the last step lacks an array."""
    for name, gone, says in (("whole", (), "resume from step_300; .*24 files have neither checksum nor seal[^;]*$"), ("last", ((300, "pos_embed"),), "see 1 note$"),
                             ("one-of-many", [(300, array) for array in tensors(1) if array != "pos_embed"], "see 1 note$"), ("first", ((100, "pos_embed"),), "see 1 note$")):
        for step in THREE:
            for array, values in tensors(step).items():
                (work / name / ("step_%d" % step)).mkdir(parents=True, exist_ok=True)
                if (step, array) not in gone:
                    numpy.save(work / name / ("step_%d" % step) / (array + ".npy"), values)
        for options in ([], ["--last"]) if name in ("last", "one-of-many") else ([],):  # a recording may end with less
            yield Case("arrays: %s" % name, work / name, SOUND, says, options)


def unwritten(work):
    """Files of which nothing was written, or nothing behind a page that ends with a row."""
    root = spread(work, "hugging_face", name="empty", steps=THREE)
    for step in THREE:
        put(root / ("checkpoint-%d" % step) / "random_states_0.pkl", {"step": step})
        (root / ("checkpoint-%d" % step) / "done.pkl").touch()
    yield Case("files that are always empty", root, SOUND, "resume from checkpoint-300")
    root = shutil.copytree(root, work / "empty-numbers")
    (root / "checkpoint-300" / "random_states_0.pkl").write_bytes(b"")
    for options in ([], ["--last"]):
        yield Case("random numbers of nothing", root, DAMAGED, "resume from checkpoint-200; 300: damaged .random_states_0.pkl is empty, which the checkpoints around it have", options)
    root = spread(work, "single", lambda values, step: values.update({"z.weight": numpy.random.default_rng(step).normal(0, 1, (64, 32, 3, 3)).astype("float32")}), "page", THREE)
    path = root / "model_300.safetensors"
    whole = path.read_bytes()
    page = next(at for at in range(4096, len(whole) - 20000, 4096) if (len(whole) - at) % 36 == 0)
    path.write_bytes(whole[:page] + bytes(len(whole) - page))
    yield Case("zeros from a page on that ends with a row", root, SUSPECT, "resume from model_200.safetensors; 300: .*offset %d: from within z.weight on" % page)


def torn(work):
    """Pickles that no reader of tensors takes, cut short or overwritten; and whole ones in all forms."""
    root = spread(work, "hugging_face", name="whole", steps=THREE)
    forms = {"zip": lambda path, kept: torch.save(kept, path), "pickle": lambda path, kept: path.write_bytes(pickle.dumps(kept)),
             "legacy": lambda path, kept: torch.save(kept, path, _use_new_zipfile_serialization=False)}
    for step in THREE:
        for rank, save in enumerate(forms.values()):
            save(root / ("checkpoint-%d" % step) / ("random_states_%d.pkl" % rank), {"step": step, "cpu": torch.arange(300)})
        (root / ("checkpoint-%d" % step) / "packed.pkl").write_bytes(zlib.compress(pickle.dumps(step)))
    yield Case("pickles in all forms", root, SOUND, "resume from checkpoint-300")
    for rank, form in enumerate(forms):
        name = "random_states_%d.pkl" % rank
        for how, change in (("cut", lambda whole: whole[:-30]), ("other", lambda whole: bytes(range(1, 251)))):
            if (form, how) == ("legacy", "cut"):
                continue  # nothing in the file says how long it was
            hurt = shutil.copytree(root, work / ("%s-%s" % (form, how)))
            path = hurt / "checkpoint-300" / name
            path.write_bytes(change(path.read_bytes()))
            for options in ([], ["--last"]):
                yield Case("%s, %s" % (form, how), hurt, DAMAGED, "resume from checkpoint-200; 300: damaged .%s: it is cut short, or no file" % name, options)


def best(work):
    """What trainer_state.json calls the best checkpoint, and is there or gone."""
    for name, said, code in (("there", "runs/7/checkpoint-100", None), ("itself", "checkpoint-300/", None), ("gone", "runs/7/checkpoint-50", 1), ("windows", "runs\\7\\checkpoint-50", 1), ("none", None, None)):
        root = spread(work, "hugging_face", name="best-" + name, steps=THREE)
        for step in THREE:  # what older ones call so may be gone since
            path = root / ("checkpoint-%d" % step) / "trainer_state.json"
            path.write_text(json.dumps(dict(json.loads(path.read_text()), best_model_checkpoint="checkpoint-7" if step < 300 else said)))
        for options in ([], ["--last"]):
            yield Case("the best checkpoint is %s" % name, root, SOUND, "see 1 note$" if code else "resume from checkpoint-300; (?!.*note)", options)


def exchange(one, other):
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def swapped(work):
    """Two ranks' files in each other's place: torch.save() writes below which name each was saved."""
    for layout, first, last in (("zero1", "zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank_1_mp_rank_00_optim_states.pt"), ("zero2", "zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank_1_mp_rank_00_optim_states.pt"),
                                ("zero3", "zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank_1_mp_rank_00_optim_states.pt"), ("zero3", "zero_pp_rank_0_mp_rank_00_model_states.pt", "zero_pp_rank_1_mp_rank_00_model_states.pt")):
        root = spread(work, layout, name="%s-%s" % (layout, first), steps=THREE)
        folder = root / "global_step300"
        (folder / first).rename(folder / "aside")
        (folder / last).rename(folder / first)
        (folder / "aside").rename(folder / last)
        for options in ([], ["--last"]):
            yield Case("%s: %s is another rank's" % (layout, first), root, SUSPECT, "^resume from global_step200; 300: .*it was written as zero_pp_rank_", options)
    root = spread(work, "hugging_face", name="rng", steps=THREE)
    for step in THREE:
        for rank in range(3):
            put(root / ("checkpoint-%d" % step) / ("rng_state_%d.pth" % rank), {"cpu": torch.tensor([step, rank])})
    folder = root / "checkpoint-300"
    (folder / "rng_state_1.pth").rename(folder / "aside")
    (folder / "rng_state_2.pth").rename(folder / "rng_state_1.pth")
    (folder / "aside").rename(folder / "rng_state_2.pth")
    yield Case("random numbers of two ranks are swapped", root, SUSPECT, "^resume from checkpoint-200; 300: rng_state_1.pth: it was written as rng_state_2.pth")
    for name, counts, code, says in (("order", (100, 200, 300), SOUND, "resume from checkpoint-300"), ("exchanged", (100, 300, 200), SUSPECT, "^resume from checkpoint-100; 2"),
                                     ("anew", (100, 200, 50), SOUND, "^resume from checkpoint-300; .*see 1 note$")):
        root = spread(work, "hugging_face", name="optimizer-" + name, steps=THREE)
        for step, count in zip(THREE, counts):
            state = adam(tensors(step), step)
            for kept in state["state"].values():
                kept["step"] = torch.tensor(float(count))
            put(root / ("checkpoint-%d" % step) / "optimizer.pt", state)
        for options in ([], ["--last"]) if name != "anew" else ([],):
            yield Case("the optimizer's steps: %s" % name, root, code, says if not options or code == SOUND else "^resume from checkpoint-1", options)
    for name, of, code, says in (("mp-rank", 0, SUSPECT, "^resume from iter_0000200; 300: .*it is byte for byte"),):
        root = work / name
        for step in THREE:
            for rank in range(2):
                put(root / ("iter_%07d" % step) / ("mp_rank_%02d" % rank) / "model_optim_rng.pt", {
                    "iteration": step, "model": as_torch({name: value + (0 if step == 300 else rank) for name, value in tensors(step).items()})})
        (root / "latest_checkpointed_iteration.txt").write_text("300")
        yield Case("megatron: one rank's file twice", root, code, says)
    root = work / "pipeline"
    for step in THREE:
        folder = root / ("global_step%d" % step)
        for layer in range(1, 4):
            put(folder / ("layer_%02d-model_00-model_states.pt" % layer), {"fc.weight": torch.from_numpy(tensors(step + layer)["layers.1.fc.weight"])})
        put(folder / "mp_rank_00_model_states.pt", {"module": None, "param_shapes": [], "global_steps": step, "dp_world_size": 1, "mp_world_size": 1})
        (root / "latest").write_text(folder.name)
    yield Case("pipeline: as it was written", root, SOUND, "^resume from global_step300")
    hurt = shutil.copytree(root, work / "pipeline-swapped")
    exchange(hurt / "global_step300" / "layer_01-model_00-model_states.pt", hurt / "global_step300" / "layer_02-model_00-model_states.pt")
    yield Case("pipeline: two layers are swapped", hurt, SUSPECT, "^resume from global_step200; 300: layer_01-model_00-model_states.pt: it was written as layer_02")
    for name, of, code in (("place", (0, 1, 2, 3), SOUND), ("converted", (0, 0, 0, 0), SOUND), ("swapped", (1, 0, 2, 3), DAMAGED), ("stages-swapped", (0, 3, 2, 1), DAMAGED)):
        root = work / ("megatron-" + name)
        for step in THREE:
            for place in range(4):  # the rank that wrote it is in the arguments
                rank = of[place] if step == 300 else 0 if name == "converted" else place
                put(root / ("iter_%07d" % step) / ("mp_rank_%02d_%03d" % (place % 2, place // 2)) / "model_optim_rng.pt", {
                    "iteration": step, "checkpoint_version": 3.0, "model": as_torch({name: value + place for name, value in tensors(step).items()}),
                    "args": argparse.Namespace(tensor_model_parallel_size=2, pipeline_model_parallel_size=2, world_size=4, rank=rank)})
        (root / "latest_checkpointed_iteration.txt").write_text("300")
        yield Case("megatron: ranks %s" % name, root, code, "^resume from iter_0000300" if code == SOUND else "^resume from iter_0000200; 300: .*in each other's place")
    root = spread(work, "ranks", name="renamed", steps=THREE)
    for step in THREE:
        for rank in range(3):
            put(root / "aside" / ("rank_%d.pt" % (rank + 3)), {"step": step})
            (root / "aside" / ("rank_%d.pt" % (rank + 3))).rename(root / ("step_%d" % step) / ("state_rank_%d.pt" % rank))
        (root / "aside").rmdir()
    yield Case("files that a program renames", root, SOUND)


def queue(work):
    """A file of a few numbers may be what it was two checkpoints before; one that is as large as the others may not."""
    for name, size, code, says in (("place", 1, SOUND, "resume from checkpoint-600; .*see 3 notes"), ("weights", 4096, SUSPECT, "resume from checkpoint-300; 400: ")):
        for at in range(6):
            random = numpy.random.default_rng(at)
            for kind, values in (("model", random.normal(0, 1, (64, 64))), ("other", numpy.random.default_rng(100 + at % 3).normal(0, 1, size))):
                save_safetensors(work / name / ("checkpoint-%d" % (100 * at + 100)) / (kind + ".safetensors"), {kind + ".weight": values.astype("float32")})
        yield Case("what comes back: %s" % name, work / name, code, says)


def more(work):
    """Bytes behind the end of a file, and files that no layout has, are named and cost nothing."""
    said = "see 1 note$"
    for layout, name in (("dcp", ".metadata"), ("dcp", "__1_0.distcp"), ("legacy", "model_300.pth"), ("torch", "ckpt_300.pt"), ("npz", "step_300.npz"), ("torch_dist", "common.pt")):
        root = spread(work, layout, name="%s-%s" % (layout, name), steps=THREE)
        path = next(p for p in sorted(root.rglob(name)) if "300" in str(p))
        path.write_bytes(path.read_bytes() + bytes(9))
        for options in ([], ["--last"]):
            yield Case("%s: bytes behind %s" % (layout, name), root, SOUND, said, options)
    for layout, name, stranger in (("dcp", "__1_0.distcp", "all.pt"), ("torch_dist", "common.pt", "common (copy).pt"), ("zero1", "mp_rank_00_model_states.pt", "mp_rank_00_model_states (copy).pt"), ("zero3", "zero_pp_rank_0_mp_rank_00_model_states.pt", "model.safetensors")):
        root = spread(work, layout, name="%s-%s" % (layout, stranger), steps=THREE)
        path = next(p for p in sorted(root.rglob(name)) if "300" in str(p))
        shutil.copy(path, path.with_name(stranger))
        yield Case("%s: %s beside it" % (layout, stranger), root, SOUND, said)


def copies(work):
    yield from more(work / "more")
    yield from best(work / "best")
    yield from swapped(work / "swapped")
    yield from queue(work / "queue")
    yield from torn(work / "torn")
    yield from unwritten(work / "unwritten")
    yield from under_way(work / "under-way")
    yield from twice(work / "twice")
    yield from arrays(work / "arrays")
