"""process_groups.py - a trial of 8 workers that hold pieces, and dumps of flight recorders with the process groups of its ranks."""
import json
import pickle

import numpy

from made import Made

# 8 ranks of pp 2, dp 2, tp 2, as Megatron-LM calls and numbers them
GROUPS = {"default_pg": [list(range(8))], "TENSOR_MODEL_PARALLEL_GROUP": [[r, r + 1] for r in (0, 2, 4, 6)],
          "DATA_PARALLEL_GROUP_WITH_CP": [[r, r + 2] for r in (0, 1, 4, 5)], "PIPELINE_MODEL_PARALLEL_GROUP": [[r, r + 4] for r in range(4)]}
STEPS, ODD = 4, 6  # the rank whose weights leave those of rank 4 at step 2


def record(folder, names=None):
    """Each stage and tensor-parallel rank has its own piece of fc.weight, each data-parallel rank labels of its own."""
    made = Made(folder, names or 8)
    for step in range(STEPS):
        saved = {}
        for rank, worker in enumerate(made.workers):
            rng = numpy.random.default_rng([step, rank // 4, rank % 2])
            weight = rng.normal(0, 1, (4, 3)).astype("float32")
            weight[1, 1] += rank == ODD and step >= 2
            labels = numpy.random.default_rng([step, 7, rank // 2 % 2]).integers(0, 1000, 16)
            saved[worker] = {"fc.weight": weight, "labels": labels, "fresh.weight": rng.normal(rank, 1, 5).astype("float32")}
        made.step(step, "TRAIN", step, saved)
    return made.end()


def of_rank(rank, groups):
    return [(name, ranks) for name, list_ in groups.items() for ranks in list_ if rank in ranks]


def write_dump(path, rank, groups, pickled=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    config = {str(i): {"name": str(i), "desc": name, "ranks": str(ranks)} for i, (name, ranks) in enumerate(of_rank(rank, groups))}
    dump = {"version": "2.9", "pg_config": config, "pg_status": {}, "entries": []}
    path.write_bytes(pickle.dumps(dump, 2) if pickled else json.dumps(dump).encode())
