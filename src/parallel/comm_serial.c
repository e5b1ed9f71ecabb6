/* comm_serial.c - the calls of comm.h for a single rank. */
#include "parallel/comm_calls.h"

static int serial_agree(assay_comm *c, int status, assay_error *err)
{
    return status;
}

static int serial_broadcast(assay_comm *c, assay_buf *buf)
{
    return assay_buf_status(buf);
}

static int serial_gather(assay_comm *c, int root, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    assay_buf_clear(all);
    assay_put_bytes(all, mine->data, mine->size);
    starts[0] = 0;
    starts[1] = mine->size;
    return assay_buf_status(all);
}

static int serial_gather_all(assay_comm *c, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    return serial_gather(c, 0, mine, all, starts);
}

static int serial_exchange(assay_comm *c, const assay_buf *out, assay_buf *in, uint64_t *starts)
{
    return serial_gather(c, 0, out, in, starts);
}

/* There is no other rank to be sent to or received from: a call is a mistake of the caller. */
static int serial_send(assay_comm *c, int to, const assay_buf *bytes)
{
    return ASSAY_EINTERNAL;
}

static int serial_receive(assay_comm *c, int from, assay_buf *in)
{
    return ASSAY_EINTERNAL;
}

static int serial_post(assay_comm *c, assay_post kind, int to, const assay_buf *bytes)
{
    return serial_send(c, to, bytes);
}

static int serial_posted(assay_comm *c, assay_post kind)
{
    return 1;
}

static int serial_receive_post(assay_comm *c, assay_post kind, int from, assay_buf *in)
{
    return serial_receive(c, from, in);
}

static int serial_sum(assay_comm *c, uint64_t *values, int count)
{
    return ASSAY_OK;
}

static int serial_max(assay_comm *c, uint64_t *values, int count)
{
    return serial_sum(c, values, count);
}

static int serial_pulse(assay_comm *c, uint64_t value)
{
    return ASSAY_EINTERNAL;
}

static int serial_pulse_take(assay_comm *c, bool wait, int *from, uint64_t *value)
{
    return 0;
}

static int serial_note(assay_comm *c, int to, uint64_t value)
{
    return ASSAY_EINTERNAL;
}

static int serial_note_take(assay_comm *c, uint64_t *value)
{
    return 0;
}

const assay_comm_calls assay_comm_serial = {
    .agree = serial_agree,
    .broadcast = serial_broadcast,
    .gather = serial_gather,
    .gather_all = serial_gather_all,
    .exchange = serial_exchange,
    .send = serial_send,
    .receive = serial_receive,
    .post = serial_post,
    .posted = serial_posted,
    .receive_post = serial_receive_post,
    .sum = serial_sum,
    .max = serial_max,
    .pulse = serial_pulse,
    .pulse_take = serial_pulse_take,
    .note = serial_note,
    .note_take = serial_note_take,
};
