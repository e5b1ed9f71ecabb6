"""workers.py - which worker this process is, and of how many, where torch.distributed does not say it: the launcher does."""
import os

# The variables of rank and number. SLURM_STEP_NUM_TASKS is there in tasks that srun started, and not in the batch script itself,
# which is one process however many tasks the job has.
_LAUNCHERS = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
              ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"))


def of_launcher(environment=os.environ):
    """(rank, workers); (0, 1) of a process that no launcher started."""
    for rank, workers in _LAUNCHERS:
        try:
            pair = int(environment[rank]), int(environment[workers])
        except (KeyError, ValueError):
            continue
        if 0 <= pair[0] < pair[1]:
            return pair
    return 0, 1
