"""seed_trial.py - makes a seed for fuzz_trial.c of each directory named: its files, in byte order of their paths.

    seed_trial.py tests/fuzz/corpus/trial DIRECTORY..."""
import os
import sys
from pathlib import Path

SIZE_MOST, ZEROS, ZEROS_MOST, LINK = 0xffff, 64 << 10, 32, 128


def member(path, name):
    if path.is_symlink():
        content, zeros, kind = os.readlink(os.fsencode(path)), 0, LINK
    else:
        content, kind = path.read_bytes(), 0
        zeros = min((len(content) - len(content.rstrip(b"\0"))) // ZEROS, ZEROS_MOST - 1)
        content = content[:len(content) - zeros * ZEROS]
    if len(content) > SIZE_MOST or len(name) >= LINK:
        sys.exit("%s: too large for a seed" % path)
    return bytes([len(name) | kind]) + name + len(content).to_bytes(2, "little") + bytes([zeros]) + content


corpus = Path(sys.argv[1])
corpus.mkdir(parents=True, exist_ok=True)
for folder in map(Path, sys.argv[2:]):
    paths = sorted(p for p in folder.rglob("*") if p.is_symlink() or p.is_file())
    (corpus / folder.name).write_bytes(b"".join(member(p, os.fsencode(p.relative_to(folder))) for p in paths))
