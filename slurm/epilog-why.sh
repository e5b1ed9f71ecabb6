#!/bin/bash
# epilog-why.sh - an example for EpilogSlurmctld in slurm.conf: leaves assay-why.txt in the directory of each job that failed.
# It runs as SlurmUser on the controller, which has to see the directories of jobs, and may write there only what that user may:
# many sites run this part as the user of the job, by sudo.
ASSAY=${ASSAY:-assay}

case "${SLURM_JOB_EXIT_CODE2:-0:0}" in
0:0) exit 0 ;;
esac
# Those of slurm/ end with 1 when they found something, in the directory of the job that they look at.
case "${SLURM_JOB_NAME:-}" in
assay-*) exit 0 ;;
esac
directory=${SLURM_JOB_WORK_DIR:-$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *WorkDir=//p')}
[ -d "$directory" ] || exit 0
facts=$directory/scontrol-$SLURM_JOB_ID.txt
scontrol show job "$SLURM_JOB_ID" >"$facts" 2>/dev/null || rm -f "$facts"
# Never in the way of the next job: at most a minute, at the lowest priority.
timeout 60 nice -n 19 "$ASSAY" why "$directory" --job "$SLURM_JOB_ID" --outputs --quiet >"$directory/assay-why.txt" 2>&1
exit 0
