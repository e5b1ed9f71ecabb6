#!/usr/bin/env python3
"""Records trainings: make.py FOLDER SEED [NAME]...     (all of them without names)"""
import sys
from pathlib import Path

import torch

import faulty
import healthy


def main():
    folder, seed, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    known = dict(healthy.TRAININGS, **faulty.TRAININGS)
    for name in names or known:
        known[name](str(folder / name), seed)


if __name__ == "__main__":
    main()
