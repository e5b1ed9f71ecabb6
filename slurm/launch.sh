# launch.sh - how the templates start assay. They source it: keep it beside them, or set ASSAY_SLURM to its directory.
#
# assay_run ARGUMENTS... : `assay run` on the ranks of this Slurm job; ends the script with assay's exit code. Before the time
# limit, or when the job is preempted, the ranks write a checkpoint (exit 75); then the job is requeued and continues
# from there.
# assay_compare ARGUMENTS... : the same with `assay compare`.
#
# assay_verify ARGUMENTS... : `assay verify`. It writes no checkpoint, and the job is not requeued.
#
# assay_hang ARGUMENTS... : `assay hang`, likewise.
# assay_why ARGUMENTS... : `assay why`, likewise.
# assay_collect PREFIX... : where TRIAL has no files, copies those into it whose names begin like this, from each node of this job.
# Of a training whose job is known (TRAIN_JOB_ID), files from before its start are left.
#
# assay_watch ARGUMENTS... : `assay watch`. Before the time limit, or when the job is cancelled, the watch ends with the report of
# what is there. It writes no checkpoint, and the job is not requeued.

# assay_names: fills in the names. %j in TRIAL becomes TRAIN_JOB_ID, %t in OUT the last part of TRIAL, and the job is called after the
# trial, so that squeue and sacct tell runs apart.
assay_names()
{
    case "$TRIAL" in
    *%j*)
        if [ -z "${TRAIN_JOB_ID:-}" ]; then
            echo "launch.sh: TRIAL=$TRIAL: %j is the number of the training's job, and TRAIN_JOB_ID is not set" >&2
            exit 2
        fi
        TRIAL=${TRIAL//%j/$TRAIN_JOB_ID}
        ;;
    esac
    local trial=${TRIAL%/}
    OUT=${OUT//%t/${trial##*/}}
    case "$SLURM_JOB_NAME" in
    *-"${trial##*/}") ;; # requeued
    *) scontrol update "JobId=$SLURM_JOB_ID" "JobName=$SLURM_JOB_NAME-${trial##*/}" >/dev/null 2>&1 || true ;;
    esac
}

# Starts the ranks in the background; `launcher` is the process that passes signals on to them.
assay_start()
{
    case "$LAUNCH" in
    srun)
        # Without this, MPI_Init and MPI_Finalize do not wait for other nodes when the job has fewer than Slurm's TreeWidth.
        # A rank may then get a message too early, and crash or hang. See docs/mpi.md.
        SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring} srun --mpi=pmix "$@" &
        ;;
    mpirun)
        # Seconds between a SIGTERM to mpirun itself and the kill of its ranks.
        OMPI_MCA_odls_base_sigkill_timeout=5 mpirun "$@" &
        ;;
    *)
        echo "launch.sh: LAUNCH=$LAUNCH: expected srun or mpirun" >&2
        exit 2
        ;;
    esac
    launcher=$!
}

# Waits until the ranks have ended; sets `code`. A trap that passes a signal on sets `signal`: it ends `wait`, but not the ranks.
assay_wait()
{
    local seen=
    wait "$launcher"
    code=$?
    # Wait again after a signal, even if the launcher has ended meanwhile: the shell remembers its exit code.
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

assay_verify()
{
    assay_once verify "$@"
}

assay_hang()
{
    assay_once hang "$@"
}

assay_why()
{
    assay_once why "$@"
}

# A command that is not worth a checkpoint.
assay_once()
{
    local code
    signal=
    trap 'signal=TERM; kill -TERM "$launcher" 2>/dev/null' TERM
    assay_start "${ASSAY:-assay}" "$@"
    assay_wait
    exit "$code"
}

assay_collect()
{
    local since=
    [ -z "$(ls -A "$TRIAL" 2>/dev/null)" ] || return 0
    mkdir -p "$TRIAL" || exit 2
    [ -z "${TRAIN_JOB_ID:-}" ] || since=$(scontrol show job "$TRAIN_JOB_ID" 2>/dev/null | sed -n 's/.* *StartTime=\([0-9T:-]*\).*/\1/p;T;q')
    # Two nodes have no file of one rank; a cache that all nodes see is copied more than once, to the same.
    srun --mpi=none --ntasks-per-node=1 --ntasks="$SLURM_JOB_NUM_NODES" bash -c '
        to=$1 since=$2
        shift 2
        for prefix in "$@"; do
            find "$(dirname "$prefix")" -maxdepth 1 -type f -name "$(basename "$prefix")*" ${since:+-newermt "$since"} \
                -exec cp -p -t "$to" {} + 2>/dev/null
        done
        true' collect "$TRIAL" "$since" "$@"
    if [ -z "$(ls -A "$TRIAL")" ]; then
        echo "launch.sh: no dumps: neither in $TRIAL nor as $* on the nodes of this job (${SLURM_JOB_NODELIST:-})" >&2
        exit 2
    fi
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
    # A launcher that got a signal may exit with its own code. A completed run has removed its checkpoint.
    if [ -n "$signal" ] && [ -e "$checkpoint" ]; then
        code=75
    fi
    # SIGTERM means scancel or preemption: Slurm then decides whether to requeue the job.
    if [ "$code" -eq 75 ] && [ "$signal" != TERM ]; then
        echo "launch.sh: stopped at a checkpoint; job $id is requeued" >&2
        trap '' USR1 TERM
        scontrol requeue "$id" || echo "launch.sh: Slurm did not requeue job $id: submit it again with CHECKPOINT=$checkpoint" >&2
    fi
    exit "$code"
}
