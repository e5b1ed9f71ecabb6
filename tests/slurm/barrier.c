/* barrier.c - shows that ranks end together, across nodes: the last rank leaves a file when all others are at their end
 * already, and each of them must find it afterwards.
 *
 *     OUT=FILE barrier        on ranks of several nodes; exit 1 from a rank that did not wait */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "parallel/comm.h"

int main(int argc, char **argv)
{
    const char *path = getenv("OUT");
    assay_comm *world;
    assay_error err;
    if (!path || assay_comm_open_world(&argc, &argv, true, &world, &err) != ASSAY_OK)
        return 2;
    int rank = assay_comm_rank(world), last = assay_comm_size(world) - 1;
    if (rank == last) {
        sleep(1); /* the others need less */
        FILE *file = fopen(path, "w");
        if (!file || fclose(file) != 0)
            return 2;
    }
    assay_comm_close(world);
    if (access(path, F_OK) == 0)
        return 0;
    fprintf(stderr, "barrier: rank %d did not wait for rank %d\n", rank, last);
    return 1;
}
