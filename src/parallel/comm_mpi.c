/* comm_mpi.c - the ranks under MPI: the only file of the engine that meets <mpi.h>.
 *
 * The communicator is a duplicate of MPI_COMM_WORLD with MPI_ERRORS_RETURN, so that a failing call is a status here and
 * not the end of the program. MPI counts are int: longer messages go in pieces of PIECE bytes. */
#include "parallel/comm_mpi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { PIECE = 1 << 30, TAG_BYTES = 1, TAG_PULSE = 2, TAG_NOTE = 3, TAG_POST = 4 };

struct assay_comm {
    MPI_Comm comm;
    int rank, size, nodes;
    bool started;          /* this object called MPI_Init */
    MPI_Request posted[2]; /* the size and the bytes of the message that is on its way */
    uint64_t posted_size;
    uint64_t messages, bytes;
    char library[64];
};

static int check(int rc)
{
    return rc == MPI_SUCCESS ? ASSAY_OK : ASSAY_EMPI;
}

/* Ranks that share memory are one node: counts those that are first on theirs. */
static int count_nodes(assay_comm *c)
{
    MPI_Comm node;
    if (MPI_Comm_split_type(c->comm, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &node) != MPI_SUCCESS)
        return ASSAY_EMPI;
    int local = 0, first;
    MPI_Comm_rank(node, &local);
    MPI_Comm_free(&node);
    first = local == 0;
    return check(MPI_Allreduce(&first, &c->nodes, 1, MPI_INT, MPI_SUM, c->comm));
}

static void name_library(assay_comm *c)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = 0;
    size_t n = strlen(text) < sizeof c->library - 1 ? strlen(text) : sizeof c->library - 1;
    memcpy(c->library, text, n);
    c->library[n] = 0;
}

int assay_comm_open_world(int *argc, char ***argv, assay_comm **out, assay_error *err)
{
    int running = 0, level;
    MPI_Initialized(&running);
    if (!running && MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return assay_fail(err, ASSAY_EMPI, "MPI could not be started");
    assay_comm *c = calloc(1, sizeof *c);
    if (!c)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    c->started = !running;
    c->posted[0] = c->posted[1] = MPI_REQUEST_NULL;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &c->comm) != MPI_SUCCESS) {
        free(c);
        return assay_fail(err, ASSAY_EMPI, "MPI_COMM_WORLD could not be duplicated");
    }
    MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_size(c->comm, &c->size);
    name_library(c);
    if (count_nodes(c) != ASSAY_OK) {
        assay_comm_close(c);
        return assay_fail(err, ASSAY_EMPI, "MPI could not tell which ranks share a node");
    }
    *out = c;
    return ASSAY_OK;
}

void assay_comm_close(assay_comm *c)
{
    if (!c)
        return;
    bool end = c->started;
    MPI_Comm_free(&c->comm);
    free(c);
    if (end)
        MPI_Finalize();
}

MPI_Comm assay_comm_handle(const assay_comm *c)
{
    return c->comm;
}

int assay_comm_rank(const assay_comm *c)
{
    return c->rank;
}

int assay_comm_size(const assay_comm *c)
{
    return c->size;
}

int assay_comm_nodes(const assay_comm *c)
{
    return c->nodes;
}

const char *assay_comm_library(const assay_comm *c)
{
    return c->library;
}

int assay_comm_agree(assay_comm *c, int status, assay_error *err)
{
    int mine = status == ASSAY_OK ? INT_MAX : c->rank, first = INT_MAX;
    if (MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, c->comm) != MPI_SUCCESS)
        return assay_fail(err, ASSAY_EMPI, "MPI failed while the ranks agreed");
    if (first == INT_MAX)
        return ASSAY_OK;
    struct {
        int status;
        assay_error error;
    } said = {status, {""}};
    if (err)
        said.error = *err;
    if (MPI_Bcast(&said, (int)sizeof said, MPI_BYTE, first, c->comm) != MPI_SUCCESS)
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
        if (MPI_Send(bytes + at, n, MPI_BYTE, to, TAG_BYTES, c->comm) != MPI_SUCCESS)
            return ASSAY_EMPI;
        c->messages++;
    }
    c->bytes += size;
    return ASSAY_OK;
}

/* Consumes a message that there is no room for. A buffer that grows asks for more than that; where there is not even so
 * much, the message is cut off (MPI_ERR_TRUNCATE), which not every transport of Open MPI survives. */
static void receive_lost(assay_comm *c, int from, int tag, int size)
{
    uint8_t scrap[4096], *room = malloc((size_t)size);
    int most = room || size < (int)sizeof scrap ? size : (int)sizeof scrap;
    (void)MPI_Recv(room ? room : scrap, most, MPI_BYTE, from, tag, c->comm, MPI_STATUS_IGNORE);
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
        int n = (int)(size - at < PIECE ? size - at : PIECE), rc = MPI_SUCCESS;
        if (sink)
            rc = MPI_Recv(sink + at, n, MPI_BYTE, from, tag, c->comm, MPI_STATUS_IGNORE);
        else
            receive_lost(c, from, tag, n);
        if (rc != MPI_SUCCESS)
            return ASSAY_EMPI;
    }
    if (sink)
        in->size += size;
    return ASSAY_OK;
}

int assay_comm_send(assay_comm *c, int to, const assay_buf *bytes)
{
    uint64_t size = bytes->size;
    if (MPI_Send(&size, 1, MPI_UINT64_T, to, TAG_BYTES, c->comm) != MPI_SUCCESS)
        return ASSAY_EMPI;
    c->messages++;
    return send_pieces(c, to, bytes->data, size);
}

static int receive_sized(assay_comm *c, int from, int tag, assay_buf *in)
{
    uint64_t size;
    if (MPI_Recv(&size, 1, MPI_UINT64_T, from, tag, c->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return ASSAY_EMPI;
    return receive_pieces(c, from, tag, size, in);
}

int assay_comm_receive(assay_comm *c, int from, assay_buf *in)
{
    return receive_sized(c, from, TAG_BYTES, in);
}

int assay_comm_post(assay_comm *c, int to, const assay_buf *bytes)
{
    c->posted_size = bytes->size;
    int status = check(MPI_Isend(&c->posted_size, 1, MPI_UINT64_T, to, TAG_POST, c->comm, &c->posted[0]));
    if (status == ASSAY_OK && bytes->size > 0)
        status = check(MPI_Isend(bytes->data, (int)bytes->size, MPI_BYTE, to, TAG_POST, c->comm, &c->posted[1]));
    c->messages += 1 + (bytes->size > 0);
    c->bytes += bytes->size;
    return status;
}

int assay_comm_posted(assay_comm *c)
{
    int done;
    return MPI_Testall(2, c->posted, &done, MPI_STATUSES_IGNORE) == MPI_SUCCESS ? done != 0 : ASSAY_EMPI;
}

int assay_comm_receive_post(assay_comm *c, int from, assay_buf *in)
{
    return receive_sized(c, from, TAG_POST, in);
}

int assay_comm_broadcast(assay_comm *c, assay_buf *buf)
{
    uint64_t size = buf->size;
    if (MPI_Bcast(&size, 1, MPI_UINT64_T, 0, c->comm) != MPI_SUCCESS)
        return ASSAY_EMPI;
    int status = ASSAY_OK;
    if (c->rank > 0) {
        assay_buf_clear(buf);
        status = assay_buf_reserve(buf, size);
    }
    status = assay_comm_agree(c, status, NULL);
    if (status != ASSAY_OK)
        return status;
    for (uint64_t at = 0; at < size; at += PIECE) {
        int n = (int)(size - at < PIECE ? size - at : PIECE);
        if (MPI_Bcast(buf->data + at, n, MPI_BYTE, 0, c->comm) != MPI_SUCCESS)
            return ASSAY_EMPI;
        c->messages += c->rank == 0;
    }
    c->bytes += c->rank == 0 ? size : 0;
    buf->size = size;
    return ASSAY_OK;
}

int assay_comm_gather(assay_comm *c, int root, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    uint64_t size = mine->size;
    if (MPI_Gather(&size, 1, MPI_UINT64_T, starts, 1, MPI_UINT64_T, root, c->comm) != MPI_SUCCESS)
        return ASSAY_EMPI;
    if (c->rank != root)
        return assay_comm_agree(c, send_pieces(c, root, mine->data, size), NULL);
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
    return assay_comm_agree(c, status == ASSAY_OK ? assay_buf_status(all) : status, NULL);
}

int assay_comm_gather_all(assay_comm *c, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    int status = assay_comm_gather(c, 0, mine, all, starts);
    if (status != ASSAY_OK)
        return status;
    status = assay_comm_broadcast(c, all);
    if (status != ASSAY_OK)
        return status;
    return check(MPI_Bcast(starts, c->size + 1, MPI_UINT64_T, 0, c->comm));
}

/* Posts what goes out and waits for it after everything came in; pieces of one pair arrive in order. */
static int exchange_pieces(assay_comm *c, const assay_buf *out, assay_buf *in, const uint64_t *sizes)
{
    size_t most = 0, posted = 0;
    for (int r = 0; r < c->size; r++)
        most += (out[r].size + PIECE - 1) / PIECE;
    MPI_Request *request = assay_alloc((most + 1) * sizeof *request);
    int status = request ? ASSAY_OK : ASSAY_ENOMEM;
    status = assay_comm_agree(c, status, NULL);
    for (int k = 1; status == ASSAY_OK && k < c->size; k++) {
        int to = (c->rank + k) % c->size;
        for (uint64_t at = 0; at < out[to].size; at += PIECE) {
            int n = (int)(out[to].size - at < PIECE ? out[to].size - at : PIECE);
            if (MPI_Isend(out[to].data + at, n, MPI_BYTE, to, TAG_BYTES, c->comm, &request[posted]) != MPI_SUCCESS)
                status = ASSAY_EMPI;
            else
                posted++;
            c->messages++;
        }
        c->bytes += out[to].size;
    }
    for (int r = 0; status == ASSAY_OK && r < c->size; r++) {
        if (r == c->rank)
            assay_put_bytes(in, out[r].data, out[r].size);
        else
            status = receive_pieces(c, r, TAG_BYTES, sizes[r], in);
    }
    if (posted > 0 && MPI_Waitall((int)posted, request, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
        status = ASSAY_EMPI;
    free(request);
    return status;
}

int assay_comm_exchange(assay_comm *c, const assay_buf *out, assay_buf *in, uint64_t *starts)
{
    uint64_t *sizes = assay_alloc((size_t)c->size * 2 * sizeof *sizes);
    int status = assay_comm_agree(c, sizes ? ASSAY_OK : ASSAY_ENOMEM, NULL);
    if (status != ASSAY_OK) {
        free(sizes);
        return status;
    }
    for (int r = 0; r < c->size; r++)
        sizes[c->size + r] = out[r].size;
    status = check(MPI_Alltoall(sizes + c->size, 1, MPI_UINT64_T, sizes, 1, MPI_UINT64_T, c->comm));
    assay_buf_clear(in);
    if (status == ASSAY_OK)
        status = exchange_pieces(c, out, in, sizes);
    uint64_t at = 0;
    for (int r = 0; r < c->size; r++) {
        starts[r] = at;
        at += sizes[r];
    }
    starts[c->size] = at;
    free(sizes);
    return assay_comm_agree(c, status == ASSAY_OK ? assay_buf_status(in) : status, NULL);
}

int assay_comm_sum(assay_comm *c, uint64_t *values, int count)
{
    return check(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_SUM, c->comm));
}

int assay_comm_max(assay_comm *c, uint64_t *values, int count)
{
    return check(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_MAX, c->comm));
}

int assay_comm_pulse(assay_comm *c, uint64_t value)
{
    return check(MPI_Send(&value, 1, MPI_UINT64_T, 0, TAG_PULSE, c->comm));
}

int assay_comm_pulse_take(assay_comm *c, bool wait, int *from, uint64_t *value)
{
    int there = 1;
    MPI_Status status;
    if (!wait && MPI_Iprobe(MPI_ANY_SOURCE, TAG_PULSE, c->comm, &there, &status) != MPI_SUCCESS)
        return ASSAY_EMPI;
    if (!there)
        return 0;
    if (MPI_Recv(value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_PULSE, c->comm, &status) != MPI_SUCCESS)
        return ASSAY_EMPI;
    *from = status.MPI_SOURCE;
    return 1;
}

int assay_comm_note(assay_comm *c, int to, uint64_t value)
{
    return check(MPI_Send(&value, 1, MPI_UINT64_T, to, TAG_NOTE, c->comm));
}

int assay_comm_note_take(assay_comm *c, uint64_t *value)
{
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_NOTE, c->comm, &there, &status) != MPI_SUCCESS)
        return ASSAY_EMPI;
    if (!there)
        return 0;
    if (MPI_Recv(value, 1, MPI_UINT64_T, status.MPI_SOURCE, TAG_NOTE, c->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return ASSAY_EMPI;
    return 1;
}

void assay_comm_traffic(const assay_comm *c, uint64_t *messages, uint64_t *bytes)
{
    *messages = c->messages;
    *bytes = c->bytes;
}
