"""seed_s3_trial.py - makes a seed for fuzz_s3_trial.c of one for fuzz_trial.c: the same files as objects, and what their server does.

    seed_s3_trial.py tests/fuzz/corpus/s3_trial NAME SETTINGS ACTS tests/fuzz/corpus/trial/SEED

SETTINGS as in fuzz_s3_trial.c; ACTS: "number:act:argument,...", with a name of s3_answers.h for the act ("refuse", "cut"), and a '+' before
the number for all requests from that one on; "-": none."""
import re
import sys
from pathlib import Path

corpus, name, settings, acts, seed = sys.argv[1:]
kinds = re.findall(r"S3_ACT_(\w+)", (Path(__file__).parent / "s3_answers.h").read_text())
out = bytearray()
for act in acts.split(",") if acts != "-" else ():
    number, kind, argument = act.split(":")
    out += bytes([int(number), kinds.index(kind.upper()) | (0x80 if number[0] == "+" else 0), int(argument)])
Path(corpus).mkdir(parents=True, exist_ok=True)
(Path(corpus) / name).write_bytes(bytes([int(settings, 0), len(out) // 3]) + out + Path(seed).read_bytes())
