# launch.sh - how the templates start assay. Sourced by them; a copy must lie beside theirs, or ASSAY_SLURM must say where.
#
# assay_run ARGUMENTS... : `assay run` on the ranks of this Slurm job; ends the script with assay's exit code. Before the time
# limit, or when the job is preempted, the ranks write a checkpoint (exit 75); then the job is put back into the queue, and
# the next time it goes on from there.
# assay_compare ARGUMENTS... : the same with `assay compare`.
#
# assay_watch ARGUMENTS... : `assay watch`. Before the time limit, or when the job is cancelled, the watch ends with the report of
# what is there; it writes no checkpoint, and the job is not put back into the queue.

# Starts the ranks in the background; `launcher` is the process that passes signals on to them.
assay_start()
{
    case "$LAUNCH" in
    srun)
        # Without this, MPI_Init and MPI_Finalize do not wait for other nodes when the job has fewer than Slurm's TreeWidth: now
        # and then a rank gets a message before it can take one, and crashes, or hangs. See docs/mpi.md.
        SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring} srun --mpi=pmix "$@" &
        ;;
    mpirun)
        # When SIGTERM reaches mpirun itself, it kills the ranks so many seconds later.
        OMPI_MCA_odls_base_sigkill_timeout=5 mpirun "$@" &
        ;;
    *)
        echo "launch.sh: LAUNCH=$LAUNCH: expected srun or mpirun" >&2
        exit 2
        ;;
    esac
    launcher=$!
}

# Until the ranks have ended; sets `code`. Traps that pass a signal on set `signal`: it ends a wait, but not the ranks.
assay_wait()
{
    local seen=
    wait "$launcher"
    code=$?
    # Once more after a signal, also when the launcher has ended meanwhile: the shell remembers its exit code.
    while [ "$signal" != "$seen" ] || { [ -n "$signal" ] && kill -0 "$launcher" 2>/dev/null; }; do
        seen=$signal
        wait "$launcher"
        code=$?
    done
}

assay_watch()
{
    local code
    signal=
    trap 'signal=USR1; kill -USR1 "$launcher" 2>/dev/null' USR1 TERM
    assay_start "${ASSAY:-assay}" watch "$@"
    assay_wait
    exit "$code"
}

assay_run()
{
    assay_ranks run "$@"
}

assay_compare()
{
    assay_ranks compare "$@"
}

assay_ranks()
{
    local code id=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
    local checkpoint=${CHECKPOINT:-assay-$id.checkpoint}
    signal=
    # Both launchers pass SIGUSR1 on to every rank, wherever it runs.
    trap 'signal=${signal:-USR1}; kill -USR1 "$launcher" 2>/dev/null' USR1
    trap 'signal=TERM; kill -USR1 "$launcher" 2>/dev/null' TERM
    assay_start "${ASSAY:-assay}" "$@" --checkpoint "$checkpoint" --resume
    assay_wait
    # A launcher that was signalled may have an exit code of its own; a run that is done has removed its checkpoint.
    if [ -n "$signal" ] && [ -e "$checkpoint" ]; then
        code=75
    fi
    # SIGTERM is scancel, or preemption: then it is Slurm that puts the job back into the queue, or not.
    if [ "$code" -eq 75 ] && [ "$signal" != TERM ]; then
        echo "launch.sh: stopped at a checkpoint; job $id goes back into the queue" >&2
        trap '' USR1 TERM
        scontrol requeue "$id" || echo "launch.sh: Slurm did not requeue job $id: submit it again with CHECKPOINT=$checkpoint" >&2
    fi
    exit "$code"
}
