/* rank_reduce.c - see rank_reduce.h. */
#include "parallel/rank_reduce.h"

static int pack_and_send(assay_comm *comm, const assay_joiner *joiner, const void *mine, int to, int status)
{
    assay_buf out = ASSAY_BUF(SIZE_MAX);
    ASSAY_THEN(status, joiner->pack(mine, &out));
    /* A failed rank sends an empty message: its partner is waiting, and learns of the failure when all agree. */
    ASSAY_THEN(status, assay_buf_status(&out));
    if (status != ASSAY_OK)
        assay_buf_clear(&out);
    int sent = assay_comm_send(comm, to, &out);
    assay_buf_release(&out);
    return status == ASSAY_OK ? sent : status;
}

static int receive_and_join(assay_comm *comm, const assay_joiner *joiner, void *mine, int from, int status,
                            assay_error *err)
{
    assay_buf in = ASSAY_BUF(SIZE_MAX);
    int rc = assay_comm_receive(comm, from, &in);
    rc = rc == ASSAY_OK ? assay_buf_status(&in) : rc;
    /* in.size 0: the sender failed, which assay_comm_agree() will tell. */
    if (status == ASSAY_OK && rc == ASSAY_OK && in.size > 0) {
        assay_cursor cursor = assay_cursor_over(in.data, in.size);
        rc = joiner->join(mine, &cursor, err);
    }
    assay_buf_release(&in);
    return status == ASSAY_OK ? rc : status;
}

int assay_rank_reduce(assay_comm *comm, const assay_joiner *joiner, void *mine, int status, assay_error *err)
{
    int rank = assay_comm_rank(comm), size = assay_comm_size(comm);
    /* A binary tree over ranks: log2(size) rounds. What is joined has to be independent of that order; states of
     * rules go another way (engine/reduce), whose tree is over chunks. */
    for (int d = 1; d < size; d *= 2) {
        if (rank % (2 * d) == d) {
            status = pack_and_send(comm, joiner, mine, rank - d, status);
            break;
        }
        if (rank + d < size)
            status = receive_and_join(comm, joiner, mine, rank + d, status, err);
    }
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory on rank %d while the ranks joined their results", rank);
    return assay_comm_agree(comm, status, err);
}
