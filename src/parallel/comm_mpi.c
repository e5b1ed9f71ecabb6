/* comm_mpi.c - the calls of comm.h under MPI: with the collective HDF5 writer the only file that meets <mpi.h>.
 *
 * The communicator is a duplicate of MPI_COMM_WORLD with MPI_ERRORS_RETURN, so that a failing call is a status here and
 * not the end of the program. MPI counts are int: longer messages go in pieces of PIECE bytes.
 *
 * A call of MPI that waits keeps its processor busy, which another rank may need to get on: where ranks outnumber the
 * free processors, that rank is the one that is waited for. So nothing here waits within MPI: calls are begun, and
 * finish_request() looks whether they are done, and sleeps between two looks. */
#include "parallel/comm_mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/pause.h"
#include "parallel/comm_calls.h"

/* Tags keep kinds of messages apart: a note must never be taken for the bytes of a result. */
enum { PIECE = 1 << 30, TAG_BYTES = 1, TAG_PULSE = 2, TAG_NOTE = 3, TAG_POST = 4 /* and the kind */ };

/* Behind assay_comm.mpi. */
typedef struct mpi_state {
    MPI_Comm comm;
    bool started;                       /* this object called MPI_Init */
    MPI_Request posted[ASSAY_POSTS][2]; /* the size and the bytes of the message of each kind that is on its way */
    uint64_t posted_size[ASSAY_POSTS];
} mpi_state;

static MPI_Comm comm_of(const assay_comm *c)
{
    return ((const mpi_state *)c->mpi)->comm;
}

static int check(int rc)
{
    return rc == MPI_SUCCESS ? ASSAY_OK : ASSAY_EMPI;
}

/* Waits for a request, at most so many seconds (0: for ever). */
static int finish_request(MPI_Request *request, double seconds)
{
    /* Ranks of a job that was cancelled may never come: callers with a limit give up, and abort. */
    const double end = seconds > 0 ? MPI_Wtime() + seconds : HUGE_VAL;
    assay_pause pause = {0};
    int done = 0;
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        if (done)
            return ASSAY_OK;
        if (MPI_Wtime() >= end)
            break;
        assay_pause_take(&pause);
    }
    return ASSAY_EMPI;
}

/* Waits for what was just begun: `rc` is what beginning it came to. */
static int finish(int rc, MPI_Request *request)
{
    return rc == MPI_SUCCESS ? finish_request(request, 0) : ASSAY_EMPI;
}

/* Reduces values of all ranks in place. */
static int reduce_all(assay_comm *c, void *values, int count, MPI_Datatype type, MPI_Op op)
{
    MPI_Request all;
    return finish(MPI_Iallreduce(MPI_IN_PLACE, values, count, type, op, comm_of(c), &all), &all);
}

static int send_all(assay_comm *c, void *values, int count, MPI_Datatype type, int from)
{
    MPI_Request all;
    return finish(MPI_Ibcast(values, count, type, from, comm_of(c), &all), &all);
}

static int send_to(assay_comm *c, int to, int tag, const void *values, int count, MPI_Datatype type)
{
    MPI_Request request;
    return finish(MPI_Isend(values, count, type, to, tag, comm_of(c), &request), &request);
}

static int receive_from(assay_comm *c, int from, int tag, void *values, int count, MPI_Datatype type)
{
    MPI_Request request;
    return finish(MPI_Irecv(values, count, type, from, tag, comm_of(c), &request), &request);
}

/* Ranks that share memory are one node: counts those that are first on theirs. */
static int count_nodes(assay_comm *c)
{
    MPI_Comm node;
    if (MPI_Comm_split_type(comm_of(c), MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &node) != MPI_SUCCESS)
        return ASSAY_EMPI;
    int local = 0;
    MPI_Comm_rank(node, &local);
    MPI_Comm_free(&node);
    c->nodes = local == 0;
    return reduce_all(c, &c->nodes, 1, MPI_INT, MPI_SUM);
}

const char *assay_comm_mpi_version(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = 0;
    return text;
}

enum { LIBRARY_ROOM = 4096 };

static int find_pmix(struct dl_phdr_info *info, size_t size, void *found)
{
    static const char beginning[] = "/mca_pmix_";
    const char *name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name, beginning, sizeof beginning - 1) != 0 || strlen(info->dlpi_name) >= LIBRARY_ROOM)
        return 0;
    memcpy(found, info->dlpi_name, strlen(info->dlpi_name) + 1);
    return 1;
}

/* Open MPI 4.1 unloads its client of PMIx in MPI_Finalize before it ends the thread that calls it: when the launcher
 * notifies the process at that moment, as happens once in some thousand runs, the thread calls what is not there any
 * more. This keeps it there. Called right before MPI_Finalize. */
static void keep_pmix(void)
{
    char library[LIBRARY_ROOM];
    if (dl_iterate_phdr(find_pmix, library) == 1)
        (void)dlopen(library, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Is a message still on its way? Its size lies in the state, and nobody may have taken it: after a failure. */
static bool has_posted(mpi_state *state)
{
    bool any = false;
    for (int kind = 0; kind < ASSAY_POSTS; kind++) {
        int done = 0;
        any = any || MPI_Testall(2, state->posted[kind], &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS || !done;
    }
    return any;
}

static void end_mpi(assay_comm *c)
{
    mpi_state *state = c->mpi;
    bool end = state->started, posted = has_posted(state);
    MPI_Comm_free(&state->comm);
    /* A message that is on its way still reads the state: leaking it is better than freeing it under MPI. */
    if (!posted)
        free(state);
    if (end) {
        keep_pmix();
        MPI_Finalize();
    }
}

/* Starts MPI and makes the duplicate. What the communicator has of its own stays as it is. */
static int start_mpi(assay_comm *c, int *argc, char ***argv, assay_error *err)
{
    int running = 0, level;
    MPI_Initialized(&running);
    /* FUNNELED: only the main thread calls MPI; threads of HTTP and of foreign rules never do. */
    if (!running && MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return assay_fail(err, ASSAY_EMPI, "MPI could not be started");
    mpi_state *state = calloc(1, sizeof *state);
    if (!state)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    /* `started` decides who calls MPI_Finalize: libassay may be used within a program that has MPI already. */
    state->started = !running;
    for (int kind = 0; kind < ASSAY_POSTS; kind++)
        state->posted[kind][0] = state->posted[kind][1] = MPI_REQUEST_NULL;
    MPI_Request made;
    if (finish(MPI_Comm_idup(MPI_COMM_WORLD, &state->comm, &made), &made) != ASSAY_OK) {
        free(state);
        return assay_fail(err, ASSAY_EMPI, "MPI_COMM_WORLD could not be duplicated");
    }
    /* On the duplicate only: what a host program does with its own communicators stays as it was. */
    MPI_Comm_set_errhandler(state->comm, MPI_ERRORS_RETURN);
    c->mpi = state;
    c->end_mpi = end_mpi;
    return ASSAY_OK;
}

int assay_comm_handle(assay_comm *c, MPI_Comm *out, assay_error *err)
{
    int status = c->mpi ? ASSAY_OK : start_mpi(c, NULL, NULL, err);
    if (status == ASSAY_OK)
        *out = comm_of(c);
    return status;
}

bool assay_comm_meet(assay_comm *c, double seconds)
{
    MPI_Request all;
    return MPI_Ibarrier(comm_of(c), &all) == MPI_SUCCESS && finish_request(&all, seconds) == ASSAY_OK;
}

void assay_comm_abort(assay_comm *c, int code)
{
    MPI_Abort(comm_of(c), code);
    /* MPI_Abort may return. */
    _exit(code);
}

/* Two steps: the lowest rank that failed, then its status and message. All ranks return the same, also when several
 * failed in different ways. */
static int mpi_agree(assay_comm *c, int status, assay_error *err)
{
    int first = status == ASSAY_OK ? INT_MAX : c->rank;
    if (reduce_all(c, &first, 1, MPI_INT, MPI_MIN) != ASSAY_OK)
        return assay_fail(err, ASSAY_EMPI, "MPI failed while the ranks agreed");
    if (first == INT_MAX)
        return ASSAY_OK;
    struct {
        int status;
        assay_error error;
    } said = {status, {""}};
    if (err)
        said.error = *err;
    if (send_all(c, &said, (int)sizeof said, MPI_BYTE, first) != ASSAY_OK)
        return assay_fail(err, ASSAY_EMPI, "MPI failed while the ranks agreed");
    if (err)
        *err = said.error;
    return said.status;
}

/* Sends `size` bytes in pieces; the receiver knows the size. */
static int send_pieces(assay_comm *c, int to, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += PIECE) {
        int n = (int)(size - at < PIECE ? size - at : PIECE);
        ASSAY_TRY(send_to(c, to, TAG_BYTES, bytes + at, n, MPI_BYTE));
        c->messages++;
    }
    c->bytes += size;
    return ASSAY_OK;
}

/* Consumes a message that there is no room for. A buffer that grows asks for more than that; where there is not even so
 * much, the message is cut off (MPI_ERR_TRUNCATE), which not every transport of Open MPI survives. */
static void receive_lost(assay_comm *c, int from, int tag, int size)
{
    /* Sizes up to PIECE; scrap serves where not even that can be had. */
    uint8_t scrap[4096], *room = malloc((size_t)size);
    int most = room || size < (int)sizeof scrap ? size : (int)sizeof scrap;
    (void)receive_from(c, from, tag, room ? room : scrap, most, MPI_BYTE);
    free(room);
}

/* Receives `size` bytes and appends them. Without room for them they are received and lost, so that the sender goes on;
 * the buffer's status tells. */
static int receive_pieces(assay_comm *c, int from, int tag, uint64_t size, assay_buf *in)
{
    uint8_t *sink = NULL;
    if (size <= SIZE_MAX - in->size && assay_buf_reserve(in, size) == ASSAY_OK)
        sink = in->data + in->size;
    for (uint64_t at = 0; at < size; at += PIECE) {
        int n = (int)(size - at < PIECE ? size - at : PIECE), rc = ASSAY_OK;
        if (sink)
            rc = receive_from(c, from, tag, sink + at, n, MPI_BYTE);
        else
            receive_lost(c, from, tag, n);
        ASSAY_TRY(rc);
    }
    if (sink)
        in->size += size;
    return ASSAY_OK;
}

static int mpi_send(assay_comm *c, int to, const assay_buf *bytes)
{
    uint64_t size = bytes->size;
    /* Issend completes only once the receiver has begun to receive: so a sender sleeps in finish_request() instead of
     * waiting busily in MPI_Send. */
    MPI_Request taken; /* when the receiver is there for the rest */
    ASSAY_TRY(finish(MPI_Issend(&size, 1, MPI_UINT64_T, to, TAG_BYTES, comm_of(c), &taken), &taken));
    c->messages++;
    return send_pieces(c, to, bytes->data, size);
}

static int receive_sized(assay_comm *c, int from, int tag, assay_buf *in)
{
    uint64_t size;
    ASSAY_TRY(receive_from(c, from, tag, &size, 1, MPI_UINT64_T));
    return receive_pieces(c, from, tag, size, in);
}

static int mpi_receive(assay_comm *c, int from, assay_buf *in)
{
    return receive_sized(c, from, TAG_BYTES, in);
}

static int mpi_post(assay_comm *c, assay_post kind, int to, const assay_buf *bytes)
{
    mpi_state *state = c->mpi;
    MPI_Request *request = state->posted[kind];
    uint64_t *size = &state->posted_size[kind];
    const int tag = TAG_POST + (int)kind;
    /* The size and bytes have to stay where they are until mpi_posted() says that both are gone; the caller keeps the
     * buffer. */
    *size = bytes->size;
    int status = check(MPI_Isend(size, 1, MPI_UINT64_T, to, tag, comm_of(c), &request[0]));
    if (status == ASSAY_OK && bytes->size > 0)
        status = check(MPI_Isend(bytes->data, (int)bytes->size, MPI_BYTE, to, tag, comm_of(c), &request[1]));
    c->messages += 1 + (bytes->size > 0);
    c->bytes += bytes->size;
    return status;
}

static int mpi_posted(assay_comm *c, assay_post kind)
{
    mpi_state *state = c->mpi;
    int done;
    return MPI_Testall(2, state->posted[kind], &done, MPI_STATUSES_IGNORE) == MPI_SUCCESS ? done != 0 : ASSAY_EMPI;
}

static int mpi_receive_post(assay_comm *c, assay_post kind, int from, assay_buf *in)
{
    return receive_sized(c, from, TAG_POST + (int)kind, in);
}

static int mpi_broadcast(assay_comm *c, assay_buf *buf)
{
    uint64_t size = buf->size;
    ASSAY_TRY(send_all(c, &size, 1, MPI_UINT64_T, 0));
    int status = ASSAY_OK;
    if (c->rank > 0) {
        assay_buf_clear(buf);
        status = assay_buf_reserve(buf, size);
    }
    /* One rank without memory for the bytes: all leave, and none waits for a broadcast that cannot come. */
    ASSAY_TRY(status = mpi_agree(c, status, NULL));
    for (uint64_t at = 0; at < size; at += PIECE) {
        int n = (int)(size - at < PIECE ? size - at : PIECE);
        ASSAY_TRY(send_all(c, buf->data + at, n, MPI_BYTE, 0));
        c->messages += c->rank == 0;
    }
    c->bytes += c->rank == 0 ? size : 0;
    buf->size = size;
    return ASSAY_OK;
}

static int mpi_gather(assay_comm *c, int root, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    uint64_t size = mine->size;
    MPI_Request all_sizes;
    ASSAY_TRY(
        finish(MPI_Igather(&size, 1, MPI_UINT64_T, starts, 1, MPI_UINT64_T, root, comm_of(c), &all_sizes), &all_sizes));
    if (c->rank != root)
        return mpi_agree(c, send_pieces(c, root, mine->data, size), NULL);
    assay_buf_clear(all);
    int status = ASSAY_OK;
    uint64_t at = 0;
    for (int r = 0; r < c->size; r++) {
        uint64_t n = starts[r];
        starts[r] = at;
        at += n;
        int rc = ASSAY_OK;
        if (r == root)
            assay_put_bytes(all, mine->data, size);
        else
            rc = receive_pieces(c, r, TAG_BYTES, n, all);
        status = status == ASSAY_OK ? rc : status;
    }
    starts[c->size] = at;
    return mpi_agree(c, status == ASSAY_OK ? assay_buf_status(all) : status, NULL);
}

static int mpi_gather_all(assay_comm *c, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    ASSAY_TRY(mpi_gather(c, 0, mine, all, starts));
    ASSAY_TRY(mpi_broadcast(c, all));
    return send_all(c, starts, c->size + 1, MPI_UINT64_T, 0);
}

/* Posts what goes out and waits for it after everything came in; pieces of one pair arrive in order. */
static int exchange_pieces(assay_comm *c, const assay_buf *out, assay_buf *in, const uint64_t *sizes)
{
    size_t most = 0, posted = 0;
    for (int r = 0; r < c->size; r++)
        most += (out[r].size + PIECE - 1) / PIECE;
    MPI_Request *request = assay_alloc((most + 1) * sizeof *request);
    int status = request ? ASSAY_OK : ASSAY_ENOMEM;
    status = mpi_agree(c, status, NULL);
    /* Each rank begins with its right neighbour, so that no rank is sent to by all at once. */
    for (int k = 1; status == ASSAY_OK && k < c->size; k++) {
        int to = (c->rank + k) % c->size;
        for (uint64_t at = 0; at < out[to].size; at += PIECE) {
            int n = (int)(out[to].size - at < PIECE ? out[to].size - at : PIECE);
            if (MPI_Isend(out[to].data + at, n, MPI_BYTE, to, TAG_BYTES, comm_of(c), &request[posted]) != MPI_SUCCESS)
                status = ASSAY_EMPI;
            else
                posted++;
            c->messages++;
        }
        c->bytes += out[to].size;
    }
    /* In the order of ranks: the result does not depend on which message was first. */
    for (int r = 0; status == ASSAY_OK && r < c->size; r++) {
        if (r == c->rank)
            assay_put_bytes(in, out[r].data, out[r].size);
        else
            status = receive_pieces(c, r, TAG_BYTES, sizes[r], in);
    }
    /* Also after a failure: memory that MPI still reads may not go. */
    for (size_t i = 0; i < posted; i++) {
        int rc = finish_request(&request[i], 0);
        status = status == ASSAY_OK ? rc : status;
    }
    free(request);
    return status;
}

static int mpi_exchange(assay_comm *c, const assay_buf *out, assay_buf *in, uint64_t *starts)
{
    uint64_t *sizes = assay_alloc((size_t)c->size * 2 * sizeof *sizes);
    int status = mpi_agree(c, sizes ? ASSAY_OK : ASSAY_ENOMEM, NULL);
    if (status != ASSAY_OK) {
        free(sizes);
        return status;
    }
    for (int r = 0; r < c->size; r++)
        sizes[c->size + r] = out[r].size;
    MPI_Request all_sizes;
    status = finish(MPI_Ialltoall(sizes + c->size, 1, MPI_UINT64_T, sizes, 1, MPI_UINT64_T, comm_of(c), &all_sizes),
                    &all_sizes);
    assay_buf_clear(in);
    ASSAY_THEN(status, exchange_pieces(c, out, in, sizes));
    uint64_t at = 0;
    for (int r = 0; r < c->size; r++) {
        starts[r] = at;
        at += sizes[r];
    }
    starts[c->size] = at;
    free(sizes);
    return mpi_agree(c, status == ASSAY_OK ? assay_buf_status(in) : status, NULL);
}

static int mpi_sum(assay_comm *c, uint64_t *values, int count)
{
    return reduce_all(c, values, count, MPI_UINT64_T, MPI_SUM);
}

static int mpi_max(assay_comm *c, uint64_t *values, int count)
{
    return reduce_all(c, values, count, MPI_UINT64_T, MPI_MAX);
}

static int mpi_pulse(assay_comm *c, uint64_t value)
{
    return send_to(c, 0, TAG_PULSE, &value, 1, MPI_UINT64_T);
}

static int mpi_pulse_take(assay_comm *c, bool wait, int *from, uint64_t *value)
{
    int there = 0;
    MPI_Status status;
    assay_pause pause = {0};
    /* Probes instead of receiving, so that no request is left behind when progress ends. */
    while (MPI_Iprobe(MPI_ANY_SOURCE, TAG_PULSE, comm_of(c), &there, &status) == MPI_SUCCESS && !there) {
        if (!wait)
            return 0;
        assay_pause_take(&pause);
    }
    if (!there || MPI_Recv(value, 1, MPI_UINT64_T, status.MPI_SOURCE, TAG_PULSE, comm_of(c), &status) != MPI_SUCCESS)
        return ASSAY_EMPI;
    *from = status.MPI_SOURCE;
    return 1;
}

static int mpi_note(assay_comm *c, int to, uint64_t value)
{
    return send_to(c, to, TAG_NOTE, &value, 1, MPI_UINT64_T);
}

static int mpi_note_take(assay_comm *c, uint64_t *value)
{
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_NOTE, comm_of(c), &there, &status) != MPI_SUCCESS)
        return ASSAY_EMPI;
    if (!there)
        return 0;
    if (MPI_Recv(value, 1, MPI_UINT64_T, status.MPI_SOURCE, TAG_NOTE, comm_of(c), MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return ASSAY_EMPI;
    return 1;
}

static const assay_comm_calls CALLS = {
    .agree = mpi_agree,
    .broadcast = mpi_broadcast,
    .gather = mpi_gather,
    .gather_all = mpi_gather_all,
    .exchange = mpi_exchange,
    .send = mpi_send,
    .receive = mpi_receive,
    .post = mpi_post,
    .posted = mpi_posted,
    .receive_post = mpi_receive_post,
    .sum = mpi_sum,
    .max = mpi_max,
    .pulse = mpi_pulse,
    .pulse_take = mpi_pulse_take,
    .note = mpi_note,
    .note_take = mpi_note_take,
};

int assay_comm_open_mpi(assay_comm *c, int *argc, char ***argv, assay_error *err)
{
    ASSAY_TRY(start_mpi(c, argc, argv, err));
    c->calls = &CALLS;
    MPI_Comm_rank(comm_of(c), &c->rank);
    MPI_Comm_size(comm_of(c), &c->size);
    snprintf(c->library, sizeof c->library, "%s", assay_comm_mpi_version());
    return count_nodes(c) == ASSAY_OK ? ASSAY_OK
                                      : assay_fail(err, ASSAY_EMPI, "MPI could not tell which ranks share a node");
}
