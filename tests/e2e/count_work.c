/* count_work.c - the program with a counter: how many blocks of code ran in the rooms that are built for it (CMakeLists.txt) is
 * the last line of standard error. The same on every machine, however busy it is. */
#include <inttypes.h>
#include <stdio.h>

/* The compiler calls it at the beginning of every block. */
void __sanitizer_cov_trace_pc(void);

static uint64_t blocks;

void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

__attribute__((destructor)) static void say(void)
{
    fprintf(stderr, "%" PRIu64 "\n", blocks);
}
