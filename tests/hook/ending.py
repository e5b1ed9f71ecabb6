"""ending.py - how a process ended: an exception that nobody caught is in the trial and in the verdict; what ends in order is not.

Usage: ending.py WORK_DIR ASSAY
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

WORK, ASSAY = Path(sys.argv[1]), sys.argv[2]
TRAIN = """
import os, sys, threading
import numpy, assay_hook
where, how, rank, workers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if how == "replaced before":
    sys.excepthook = lambda *words: None
hook = assay_hook.Hook(where, save_all=True, save_config=assay_hook.SaveConfig(save_interval=2), include_workers="all", rank_and_workers=(rank, workers))
hook.set_mode(assay_hook.modes.TRAIN)

class Odd(Exception):
    def __str__(self):
        raise RuntimeError

ENDS = {"interrupt": KeyboardInterrupt, "exit 0": lambda: SystemExit(0), "exit 1": lambda: SystemExit(1), "stop": StopIteration, "odd": Odd,
        "nul": lambda: ValueError("a\\0b\\x1b[31m\\u202e"), "long": lambda: ValueError("x" * 100000)}

def train(begin=0, end=40, fails=31):
    for step in range(begin, end):
        hook.step()
        hook.save_tensor("CrossEntropyLoss_output_0", numpy.float32(2 * 0.95 ** step + 0.01 * ((step * 7 + rank) % 5)), "losses")
        if step == fails:
            raise ENDS.get(how, lambda: ValueError("no such file, token=hunter2\\nsecond line"))()

def thread(target):
    running = threading.Thread(target=target)
    running.start()
    running.join()

def helper():
    raise ValueError("of a thread beside the training")

if how == "fine" or (how == "one" and rank != 1):
    train(fails=None)
elif how == "caught":
    try:
        train()
    except ValueError:
        pass
elif how == "caught, closed":
    try:
        train()
    except ValueError:
        hook.close()
elif how == "caught, closed, another":
    try:
        train()
    except ValueError:
        hook.close()
    raise OSError("something else")
elif how == "finally":
    try:
        train()
    finally:
        hook.close()
elif how == "raised from":
    try:
        train()
    except ValueError as error:
        hook.close()
        raise RuntimeError("failed") from error
elif how == "goes on":  # an embedding may print an exception, and go on
    try:
        train()
    except ValueError as error:
        sys.excepthook(type(error), error, None)
    train(32, fails=None)
elif how == "helper":
    train(fails=None)
    thread(helper)
elif how == "replaced":
    sys.excepthook = lambda *words: None
    train()
else:
    train()
"""
FAILS = {"crash": "ValueError: no such file, token=***", "finally": "ValueError: no such file, token=***", "raised from": "ValueError: no such file, token=***",
         "replaced": "ValueError: no such file, token=***", "replaced before": "ValueError: no such file, token=***", "stop": "StopIteration", "odd": "Odd",
         "nul": "ValueError: a b", "long": "ValueError: " + "x" * 160 + "..."}
IN_ORDER = ("fine", "caught", "caught, closed", "goes on", "helper", "exit 0", "exit 1", "caught, closed, another")


def record(how, workers=1):
    where = WORK / how.replace(", ", "-").replace(" ", "-")
    shutil.rmtree(where, ignore_errors=True)
    for rank in range(workers):
        subprocess.run([sys.executable, "-c", TRAIN, str(where), how, str(rank), str(workers)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert (where / "training_job_end.ts").exists(), how
    return where


def judged(where):
    report = WORK / "report"
    shutil.rmtree(report, ignore_errors=True)
    done = subprocess.run([ASSAY, "run", str(where), "--out", str(report), "--fail-on", "warning", "--quiet"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    found = json.loads((report / "report.json").read_text())
    return done.returncode, found["verdict"], found["trials"][0], done.stdout


def test_failures():
    for how, words in FAILS.items():
        where = record(how)
        assert "hunter2" not in (where / "run" / "worker_0.json").read_text(), how
        code, verdict, trial, text = judged(where)
        assert code == 1 and verdict.startswith("the training ended by " + words) and "in TRAIN step 31" in verdict, (how, code, verdict)
        assert not any(c in text for c in "\0\x1b\u202e"), (how, text)
        assert trial["steps"] == 16, (how, trial["steps"])  # the last of them, step 30, is there


def test_ends_in_order():
    for how in IN_ORDER:
        where = record(how)
        said = json.loads((where / "run" / "worker_0.json").read_text())
        code, verdict, _, text = judged(where)
        assert "failed" not in said and code == 0 and "ended by" not in text, (how, said, verdict)


def test_interrupted():
    code, verdict, _, text = judged(record("interrupt"))
    assert code == 0 and "ended by" not in verdict and "was interrupted" in text, (verdict, text)


def test_workers():
    code, verdict, _, _ = judged(record("one", 3))
    assert code == 1 and verdict.startswith("worker_1 ended by ValueError: no such file, token=***, in TRAIN step 31"), verdict
    code, verdict, _, _ = judged(record("crash", 3))
    assert code == 1 and "in TRAIN step 31, on worker_0 first, of all 3" in verdict, verdict


if __name__ == "__main__":
    WORK.mkdir(parents=True, exist_ok=True)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)
