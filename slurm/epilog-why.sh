#!/bin/bash
# epilog-why.sh - an example for EpilogSlurmctld in slurm.conf: leaves assay-why.txt in the directory of each job that failed.
# It runs as SlurmUser on the controller, which has to see the directories of jobs, and may write there only what that user may:
# many sites run this part as the user of the job, by sudo.
ASSAY=${ASSAY:-assay}

# Those of slurm/ end with 1 when they found something, in the directory of the job that they look at.
case "${SLURM_JOB_NAME:-}" in
assay-*) exit 0 ;;
esac
# What ended by a limit or was cancelled has the exit code 0:0 here. scontrol knows better, but of a job that was cancelled only a
# moment later, when its processes have ended: what looks well is looked at for two seconds.
for look in 1 2 3 4 5; do
    facts=$(scontrol show job "$SLURM_JOB_ID" 2>/dev/null)
    case "${SLURM_JOB_EXIT_CODE2:-0:0} $facts" in
    *Reason=TimeLimit*) break ;;
    "0:0 " | "0:0 "*JobState=COMPLET*ExitCode=0:0*) [ "$look" -lt 5 ] || exit 0 ;;
    *) break ;;
    esac
    sleep 0.5
done
directory=${SLURM_JOB_WORK_DIR:-$(sed -n 's/^ *WorkDir=//p' <<<"$facts")}
[ -d "$directory" ] || exit 0
[ -z "$facts" ] || echo "$facts" >"$directory/scontrol-$SLURM_JOB_ID.txt"
# Never in the way of the next job: at most a minute, at the lowest priority.
timeout 60 nice -n 19 "$ASSAY" why "$directory" --job "$SLURM_JOB_ID" --outputs --quiet >"$directory/.assay-why.$SLURM_JOB_ID" 2>&1
mv -f "$directory/.assay-why.$SLURM_JOB_ID" "$directory/assay-why.txt"
exit 0
