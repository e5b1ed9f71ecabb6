/* count_work.c - how much work it is to open a trial: prints how many blocks of code ran in the rooms that are built with a
 * counter (CMakeLists.txt). The same on every machine, however busy it is.
 *
 *     count_work TRIAL */
#include <inttypes.h>
#include <stdio.h>

#include "source/trial_files.h"

/* The compiler calls it at the beginning of every block. */
void __sanitizer_cov_trace_pc(void);

static uint64_t blocks;

void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

int main(int argc, char **argv)
{
    assay_trial_files files;
    assay_error err = {{0}};
    if (argc != 2)
        return 2;
    const int status = assay_trial_open(argv[1], &files, &err);
    if (status == ASSAY_OK)
        assay_trial_release(&files);
    else
        fprintf(stderr, "%s\n", err.text);
    printf("%" PRIu64 "\n", blocks);
    return status == ASSAY_OK ? 0 : 2;
}
