/* read_recording.c - reads all of a trial through libassay's functions, and prints it; for walk.py.
 *
 *     read_recording TRIAL
 *
 * Exit code 0: all was read; 3: something was not, which standard error says; 2: the trial cannot be opened. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <assay/trial.h>

static int read_row(assay_recording *r, uint32_t tensor, size_t row, const assay_saved *saved)
{
    enum { RAW = 1 };
    assay_recorded_head head;
    assay_error err = {""};
    assay_stats stats;
    int status = assay_recording_head(r, tensor, row, &head, &err);
    if (status != ASSAY_OK) {
        fprintf(stderr, "error: %s: %s\n", assay_recording_tensor(r, tensor, NULL), err.text);
        return 3;
    }
    printf("%s %" PRId64 " %s dtype %d elements %" PRIu64, assay_recording_tensor(r, tensor, NULL), saved->step,
           assay_recording_worker(r, saved->worker), (int)head.dtype, head.elements);
    if (saved->kinds & RAW) {
        status = assay_recording_stats(r, tensor, row, &stats, &err);
        if (status == ASSAY_OK)
            printf(" min %g max %g sum %g", stats.min, stats.max, stats.sum);
        else if (status != ASSAY_EUNSUPPORTED) /* texts have no statistics */
            fprintf(stderr, "error: %s: %s\n", assay_recording_tensor(r, tensor, NULL), err.text);
    }
    printf("\n");
    return status == ASSAY_OK || status == ASSAY_EUNSUPPORTED ? 0 : 3;
}

int main(int argc, char **argv)
{
    assay_recording *r;
    assay_error err = {""};
    int code = 0;
    if (argc != 2)
        return 2;
    if (assay_recording_open(argv[1], &r, &err) != ASSAY_OK) {
        fprintf(stderr, "error: %s\n", err.text);
        return 2;
    }
    for (uint64_t i = 0; i < assay_recording_problems(r); i++) {
        assay_recorded_problem problem;
        if (assay_recording_problem(r, i, &problem) != ASSAY_OK)
            break;
        fprintf(stderr, "%s: %s\n", problem.is_loss ? "error" : "remark", problem.text);
        code = problem.is_loss ? 3 : code;
    }
    printf("%" PRIu64 " steps, %" PRIu32 " workers of %" PRIu32 "\n", assay_recording_steps(r),
           assay_recording_workers(r), assay_recording_expected_workers(r));
    for (uint32_t t = 0; t < assay_recording_tensors(r); t++) {
        const assay_saved *saved;
        size_t rows = 0;
        if (assay_recording_saved(r, t, &saved, &rows, &err) != ASSAY_OK) {
            fprintf(stderr, "error: %s\n", err.text);
            code = 3;
        }
        for (size_t i = 0; i < rows; i++)
            if (read_row(r, t, i, &saved[i]) != 0)
                code = 3;
    }
    assay_recording_close(r);
    return code;
}
