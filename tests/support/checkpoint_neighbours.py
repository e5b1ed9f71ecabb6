"""Series of checkpoints, one of which lacks a file that those around it have; used by damaged_checkpoints.py."""
import numpy
import torch

from checkpoint_layouts import DAMAGED, SOUND, Case, put, spread


def files_of_others(work):
    """A file that no index names, gone from one checkpoint: those around it show that."""
    def several(name, layout="hugging_face", steps=(100, 200, 300, 400)):
        root = spread(work, layout, name="lacks-" + name, steps=steps)
        for step in steps:
            if layout == "hugging_face":
                for rank in range(4):
                    put(root / ("checkpoint-%d" % step) / ("rng_state_%d.pth" % rank), {"cpu": torch.ones(3)})
                    put(root / ("checkpoint-%d" % step) / ("random_states_%d.pkl" % rank), {"step": step})
                (root / ("checkpoint-%d" % step) / "README.md").write_text("of step %d" % step)
        return root
    lost = lambda root, *names: [(root / name).unlink() for name in names] and root
    both = ([], ["--last"])
    for options in both:
        yield Case("nothing is lacking", several("nothing%d" % len(options)), SOUND, "resume from checkpoint-400; sound: [^;]*; [^;]*$" if not options else None, options)
    for file in ("rng_state.pth", "random_states_0.pkl", "rng_state_3.pth"):
        root = lost(several(file), "checkpoint-400/" + file)
        for options in both:
            yield Case("the newest has no %s" % file, root, DAMAGED, "resume from checkpoint-300; 400: damaged .%s is missing, which the checkpoints around it have" % file, options)
    yield Case("an older one has no rng_state.pth", lost(several("older"), "checkpoint-200/rng_state.pth"), DAMAGED, "resume from checkpoint-400; 1 older one is not sound")
    yield Case("the oldest was thinned out", lost(several("oldest"), "checkpoint-100/scheduler.pt"), SOUND, "resume from checkpoint-400; .*see 1 note$")
    yield Case("a page of words is gone", lost(several("words"), "checkpoint-400/README.md"), SOUND, "resume from checkpoint-400; .*see 1 note$")
    yield Case("ranks became fewer", lost(several("fewer"), *("checkpoint-%d/%s_%d.%s" % (step, kind, rank, end) for step in (400,) for kind, end in (("rng_state", "pth"), ("random_states", "pkl")) for rank in (2, 3))),
               SOUND, "resume from checkpoint-400; .*see 1 note$")
    root = several("behind-words")  # what comes first in the order of names hides nothing
    for step in (100, 200, 300):
        for at in range(6):
            (root / ("checkpoint-%d" % step) / ("a%s.txt" % "bcdefg"[at])).write_text("of step %d" % step)
    yield Case("files of words and scheduler.pt are gone", lost(root, "checkpoint-400/scheduler.pt"), DAMAGED, "400: damaged .scheduler.pt is missing")
    yield Case("several are gone", lost(several("two-gone"), "checkpoint-400/scheduler.pt", "checkpoint-400/rng_state.pth"), DAMAGED, "400: damaged .rng_state.pth and 1 more are missing")
    for kept in (3, 2):
        root = spread(work, "ranks", name="of-ranks-%d" % kept, steps=(100, 200, 300))
        for step in (100, 200, 300)[:kept]:
            put(root / ("step_%d" % step) / "rank_1" / "loop.pt", {"step": step})
        yield Case("ranks, %d of 3 with a file of rank 1" % kept, root, SOUND if kept == 3 else DAMAGED, None if kept == 3 else "300: damaged .rank_1/loop.pt is missing")
    root = several("renamed")
    (root / "checkpoint-400" / "rng_state.pth").rename(root / "checkpoint-400" / "random_state.pth")
    yield Case("another version calls a file otherwise", root, SOUND, "resume from checkpoint-400; .*see 2 notes$")
    root = spread(work, "hugging_face", name="lacks-of-two")
    yield Case("one of two has no scheduler.pt", lost(root, "checkpoint-200/scheduler.pt"), DAMAGED, "resume from checkpoint-100; 200: damaged .scheduler.pt is missing")
    root = work / "below"
    for at, step in enumerate((100, 200, 300)):
        put(root / "checkpoints" / ("epoch=%d-step=%d.ckpt" % (at, step)), {"state_dict": {"w": torch.ones(3, 3) + at}, "global_step": step})
        if step < 300:
            put(root / "checkpoints" / ("optim_%d.pt" % step), {"step": step})
    yield Case("files below a directory of their own", root / "checkpoints", DAMAGED, "300: damaged .optim_300.pt is missing")
    for layout, name in (("single", "scheduler_%d.pt"), ("dcp", "step-%d/extra/loop_%04d.pt")):
        for kept in ((100, 200, 300), (100, 200)):
            root = spread(work, layout, name="lacks-beside-%s-%d" % (layout, len(kept)), steps=(100, 200, 300))
            for step in kept:
                put(root / (name % ((step,) * name.count("%"))), {"last_epoch": 3})
            yield Case("%s: files with their step in the name, of %s" % (layout, kept), root, SOUND if len(kept) == 3 else DAMAGED,
                       "resume from .*300" if len(kept) == 3 else "resume from .*200.*; 300: damaged .*_0?300.pt is missing")
    root = spread(work, "single", name="samples", steps=(100, 200, 300))
    for step in (100, 200):
        numpy.savez(root / ("samples_%d.npz" % step), x=numpy.ones(3))
    yield Case("samples that are not made yet", root, SOUND, "resume from model_300.*see 2 notes$")
    for count in (2, 3):
        steps = [100 * (at + 1) for at in range(count)]
        root, other = work / ("epochs-%d" % count), spread(work, "sharded", name="folders-%d" % count, steps=steps)
        for at, step in enumerate(steps):
            put(root / ("epoch=%d-step=%d.ckpt" % (at, step)), {"state_dict": {"w": torch.ones(3, 3) + at}, "global_step": step})
            put(other / ("checkpoint-%d" % step) / ("scheduler_of_epoch_%d.pt" % at), {"last_epoch": at})
        yield Case("%d files with their epochs in the name" % count, root, SOUND, "step=%d.ckpt; sound[^;]*$" % steps[-1])
        yield Case("%d checkpoints with a file of their epoch" % count, other, SOUND, "checkpoint-%d; sound[^;]*;[^;]*$" % steps[-1])
    for steps, said in (((100, 200, 300, 500, 600), "see 1 note$"), ((100, 500, 600, 700), "seal[^;]*$"), ((100, 200, 400, 800), "seal[^;]*$")):
        yield Case("checkpoints at %s" % (steps,), spread(work, "sharded", name="at-%d-%d" % (len(steps), steps[1]), steps=steps), SOUND, "resume from checkpoint-%d; .*%s" % (steps[-1], said))
    for layout, file in (("zero1", "latest"), ("torch_dist", "latest_checkpointed_iteration.txt")):
        yield Case("%s without %s" % (layout, file), lost(spread(work, layout, name="lacks-" + file), file), SOUND, "resume from .*200; .*see 1 note$")


def many_beside(work):
    """Each file that may be another form of the model takes an opening of the checkpoint: some are compared, the others counted."""
    for count, notes in ((10, 10), (40, 41)):
        root = spread(work, "sharded", name="beside-%d" % count, steps=(100,))
        for at in range(count):
            put(root / "checkpoint-100" / ("extra_%dx.pt" % at), {"model": {"other": torch.ones(2)}})
        yield Case("%d files beside a model" % count, root, SOUND, "checkpoint-100.*see %d notes$" % notes)


def neighbours(work):
    yield from files_of_others(work)
    yield from many_beside(work)
