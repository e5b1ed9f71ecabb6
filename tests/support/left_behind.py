"""left_behind.py - what the laws about omissions damage: what a job left, and the keys of texts.

    job(folder)           a job that ended well, in files of all kinds
    KEYS[".json"]         finds the keys in a text of that ending
    PLAIN                 a small trial of the reference's hook
"""
import shutil

import logs
from launch import ROOT

PLAIN = ROOT / "tests" / "data" / "trials" / "ddp"
JSON_KEY = rb'"([A-Za-z_]+)" ?:'
KEYS = {".json": JSON_KEY, ".yaml": rb"(?m)^([a-z_]+):", ".csv": rb"(?<![^,])([a-z_]+)(?=,)"}


def job(folder):
    """What a job left that ended well: outputs of ranks, what Slurm says, dumps, checkpoints, a log, records."""
    data = ROOT / "tests" / "data"
    for name, text in (("slurm-7.out", "0: step 1 loss 2.0\n"), ("attempt_0/0/stderr.log", "step 2 loss 1.0\n"), ("slurm.env", "SLURM_NNODES=1\n"),
                       ("sacct.txt", "JobID|State|ExitCode|NodeList\n7|COMPLETED|0:0|n1\n")):
        logs.write(folder / name, text)
    shutil.copytree(data / "events" / "flight", folder / "dumps")
    shutil.copytree(data / "formats" / "smdebug", folder / "records")
    logs.csv(folder / "metrics", logs.curve(4))
    for step in (1, 2):
        shutil.copytree(data / "formats" / "checkpoint" / "step-20", folder / "saved" / ("checkpoint-%d" % step))
