/* comm_serial.c - one rank, for builds without MPI: the same calls with nobody to talk to. */
#include "parallel/comm.h"

#include <stdlib.h>

struct assay_comm {
    char unused;
};

int assay_comm_open_world(int *argc, char ***argv, assay_comm **out, assay_error *err)
{
    (void)argc;
    (void)argv;
    assay_comm *c = calloc(1, sizeof *c);
    if (!c)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    *out = c;
    return ASSAY_OK;
}

void assay_comm_close(assay_comm *c)
{
    free(c);
}

int assay_comm_rank(const assay_comm *c)
{
    (void)c;
    return 0;
}

int assay_comm_size(const assay_comm *c)
{
    (void)c;
    return 1;
}

int assay_comm_nodes(const assay_comm *c)
{
    (void)c;
    return 1;
}

const char *assay_comm_library(const assay_comm *c)
{
    (void)c;
    return "serial";
}

int assay_comm_agree(assay_comm *c, int status, assay_error *err)
{
    (void)c;
    (void)err;
    return status;
}

int assay_comm_broadcast(assay_comm *c, assay_buf *buf)
{
    (void)c;
    return assay_buf_status(buf);
}

int assay_comm_gather(assay_comm *c, int root, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    (void)c;
    (void)root;
    assay_buf_clear(all);
    assay_put_bytes(all, mine->data, mine->size);
    starts[0] = 0;
    starts[1] = mine->size;
    return assay_buf_status(all);
}

int assay_comm_gather_all(assay_comm *c, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    return assay_comm_gather(c, 0, mine, all, starts);
}

int assay_comm_exchange(assay_comm *c, const assay_buf *out, assay_buf *in, uint64_t *starts)
{
    return assay_comm_gather(c, 0, out, in, starts);
}

/* There is no other rank to be sent to or received from: a call is a mistake of the caller. */
int assay_comm_send(assay_comm *c, int to, const assay_buf *bytes)
{
    (void)c;
    (void)to;
    (void)bytes;
    return ASSAY_EINTERNAL;
}

int assay_comm_receive(assay_comm *c, int from, assay_buf *in)
{
    (void)c;
    (void)from;
    (void)in;
    return ASSAY_EINTERNAL;
}

int assay_comm_post(assay_comm *c, int to, const assay_buf *bytes)
{
    return assay_comm_send(c, to, bytes);
}

int assay_comm_posted(assay_comm *c)
{
    (void)c;
    return 1;
}

int assay_comm_receive_post(assay_comm *c, int from, assay_buf *in)
{
    return assay_comm_receive(c, from, in);
}

int assay_comm_sum(assay_comm *c, uint64_t *values, int count)
{
    (void)c;
    (void)values;
    (void)count;
    return ASSAY_OK;
}

int assay_comm_max(assay_comm *c, uint64_t *values, int count)
{
    return assay_comm_sum(c, values, count);
}

int assay_comm_pulse(assay_comm *c, uint64_t value)
{
    (void)c;
    (void)value;
    return ASSAY_EINTERNAL;
}

int assay_comm_pulse_take(assay_comm *c, bool wait, int *from, uint64_t *value)
{
    (void)c;
    (void)wait;
    (void)from;
    (void)value;
    return 0;
}

int assay_comm_note(assay_comm *c, int to, uint64_t value)
{
    (void)c;
    (void)to;
    (void)value;
    return ASSAY_EINTERNAL;
}

int assay_comm_note_take(assay_comm *c, uint64_t *value)
{
    (void)c;
    (void)value;
    return 0;
}

void assay_comm_traffic(const assay_comm *c, uint64_t *messages, uint64_t *bytes)
{
    (void)c;
    *messages = *bytes = 0;
}
