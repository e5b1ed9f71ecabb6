/* read.c - prints what assay/trial.h says of a trial: workers, steps, and the sum of each value. */
#include <inttypes.h>
#include <stdio.h>

#include <assay/trial.h>

static int complain(const assay_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    assay_recording *trial = NULL;
    assay_error err = {""};
    if (argc != 2 || assay_recording_open(argv[1], &trial, &err) != ASSAY_OK)
        return complain(&err);
    printf("%" PRIu32 " workers, %" PRIu64 " steps\n", assay_recording_workers(trial), assay_recording_steps(trial));
    for (uint32_t t = 0; t < assay_recording_tensors(trial); t++) {
        const assay_saved *rows = NULL;
        size_t count = 0;
        if (assay_recording_saved(trial, t, &rows, &count, &err) != ASSAY_OK)
            return complain(&err);
        for (size_t i = 0; i < count; i++) {
            assay_stats stats;
            if (assay_recording_stats(trial, t, i, &stats, &err) != ASSAY_OK)
                return complain(&err);
            printf("%s step %" PRId64 " %s: %g\n", assay_recording_tensor(trial, t, NULL), rows[i].step,
                   assay_mode_name(rows[i].mode), stats.sum);
        }
    }
    assay_recording_close(trial);
    return 0;
}
