/* output.c - the files of a trial, step by step. */
#include "hook/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "hook/board.h"
#include "hook/encode.h"
#include "hook/layout.h"
#include "hook/reduce.h"
#include "hook/topology.h"
#include "tfrecord/recorded.h"

enum { INDEX_CEILING = 1 << 28, PATH_ROOM = 512, REDUCTION_NAME = 64, BLOCK = 1 << 16 };

int hook_output_init(hook_output *out, const hook_config *config, const char *directory, const char *worker,
                     int num_workers)
{
    memset(out, 0, sizeof *out);
    out->config = config;
    out->directory = directory;
    out->worker = worker;
    out->num_workers = num_workers;
    assay_buf_init(&out->head, HOOK_MESSAGE_CEILING + HOOK_FRAME_HEADER);
    assay_buf_init(&out->tail, HOOK_RECORD_CEILING);
    assay_buf_init(&out->payload, INDEX_CEILING);
    assay_buf_init(&out->shapes, INDEX_CEILING);
    int rc = hook_board_init(out);
    return rc < 0 ? rc : hook_stream_init(&out->stream);
}

void hook_output_release(hook_output *out)
{
    hook_stream_release(&out->stream);
    hook_board_release(out);
    assay_buf_release(&out->head);
    assay_buf_release(&out->tail);
    assay_buf_release(&out->payload);
    assay_buf_release(&out->shapes);
    free(out->event_path);
    out->event_path = NULL;
}

/* One system call where assay_dir_make() would try every folder on the way: steps come often. */
static int make_folder(const char *path, assay_error *err)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? ASSAY_OK : assay_dir_make(path, err);
}

/* "DIRECTORY/<format>", its folder made. NULL and err on failure. The caller frees it. */
__attribute__((format(printf, 3, 4))) static char *make_path(const hook_output *out, assay_error *err,
                                                             const char *format, ...)
{
    char relative[PATH_ROOM];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(relative, sizeof relative, format, args);
    va_end(args);
    char *path = length > 0 && length < PATH_ROOM ? assay_path_join(out->directory, relative) : NULL;
    if (!path) {
        assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", out->directory);
        return NULL;
    }
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int rc = make_folder(path, err);
    *slash = '/';
    if (rc < 0) {
        free(path);
        return NULL;
    }
    return path;
}

/* "DIRECTORY/index/..." of the open step, as make_path(). */
static char *index_path(const hook_output *out, assay_error *err)
{
    long long step = (long long)out->step;
    return make_path(out, err, ASSAY_RECORDED_INDEX, step / ASSAY_RECORDED_BUCKET, step, out->worker);
}

/* What the index of the open step lists, if it is on disk. write_index() has written it: no name can look like what is
 * searched for, since it has no plain quotes. */
static int take_index(hook_output *out, assay_error *err)
{
    static const char tensors[] = "\"tensor_payload\": [", shapes[] = "], \"shape_payload\": [";
    assay_buf text = ASSAY_BUF((size_t)2 * INDEX_CEILING + PATH_ROOM);
    char *path = index_path(out, err);
    int rc = path ? assay_file_read(path, (size_t)2 * INDEX_CEILING, &text, err) : ASSAY_EIO;
    if (rc == ASSAY_OK) {
        const char *all = (const char *)text.data;
        const char *from = memmem(all, text.size, tensors, sizeof tensors - 1);
        const char *middle = from ? memmem(from, text.size - (size_t)(from - all), shapes, sizeof shapes - 1) : NULL;
        const char *end =
            middle ? memrchr(middle + sizeof shapes - 1, ']', text.size - (size_t)(middle - all) - sizeof shapes + 1)
                   : NULL;
        if (end) {
            from += sizeof tensors - 1;
            assay_put_bytes(&out->payload, from, (size_t)(middle - from));
            assay_put_bytes(&out->shapes, middle + sizeof shapes - 1, (size_t)(end - middle) - sizeof shapes + 1);
            out->again = true;
        } else
            rc = assay_fail(err, ASSAY_EIO, "%s: is not as it was written", path);
    }
    assay_buf_release(&text);
    free(path);
    return rc == ASSAY_ENOTFOUND ? ASSAY_OK : rc;
}

static int open_step(hook_output *out, const hook_item *item, assay_error *err)
{
    out->serial = item->serial;
    out->step = item->step;
    out->mode = item->mode;
    out->mode_step = item->mode_step;
    out->failed = out->again = false;
    out->records = out->bytes = out->before = 0;
    assay_buf_clear(&out->payload);
    assay_buf_clear(&out->shapes);
    return item->again ? take_index(out, err) : ASSAY_OK;
}

/* The bytes of the step's event file that is there: what is added comes behind them, so that the index of before is
 * right for the new file, too. */
static int copy_events(hook_output *out, assay_error *err)
{
    uint8_t block[BLOCK];
    const int fd = assay_file_open(out->event_path, NULL);
    int rc = fd >= 0 ? ASSAY_OK : ASSAY_EIO;
    ssize_t got = 1;
    while (rc == ASSAY_OK && got != 0) {
        got = read(fd, block, sizeof block);
        if (got > 0)
            rc = hook_stream_put(&out->stream, block, (size_t)got, err);
        else if (got < 0 && errno != EINTR)
            rc = ASSAY_EIO;
    }
    if (fd < 0 || got < 0)
        assay_fail(err, rc, "%s: cannot read: %s", out->event_path, strerror(errno));
    if (fd >= 0)
        close(fd);
    out->before = out->stream.size;
    return rc;
}

static int open_events(hook_output *out, assay_error *err)
{
    long long step = (long long)out->step;
    free(out->event_path);
    out->event_path = make_path(out, err, ASSAY_RECORDED_EVENTS, step, step, out->worker);
    int rc = out->event_path ? hook_stream_open(&out->stream, out->event_path, err) : ASSAY_EIO;
    if (rc == ASSAY_OK && out->again && out->payload.size > 0)
        rc = copy_events(out, err);
    return rc;
}

/* Puts the record whose parts are head, content, tail, and notes its place for the index; of a piece also its layout.
 */
static int put_record(hook_output *out, const char *tag, const void *content, size_t size, const hook_item *piece,
                      assay_error *err)
{
    if (!hook_stream_is_open(&out->stream)) {
        int rc = open_events(out, err);
        if (rc < 0)
            return rc;
    }
    uint64_t start = out->stream.size;
    uint32_t crc = hook_encode_footer(&out->head, content, size, &out->tail, !out->config->true_checksum);
    uint8_t footer[HOOK_FRAME_FOOTER] = {(uint8_t)crc, (uint8_t)(crc >> 8), (uint8_t)(crc >> 16), (uint8_t)(crc >> 24)};
    int rc = hook_stream_put(&out->stream, out->head.data, out->head.size, err);
    if (rc == ASSAY_OK && size)
        rc = hook_stream_put(&out->stream, content, size, err);
    ASSAY_THEN(rc, hook_stream_put(&out->stream, out->tail.data, out->tail.size, err));
    ASSAY_THEN(rc, hook_stream_put(&out->stream, footer, sizeof footer, err));
    if (rc < 0)
        return rc;
    assay_put_format(&out->payload, "%s{\"tensorname\": ", out->payload.size ? ", " : "");
    assay_json_put_text(&out->payload, tag);
    assay_put_format(&out->payload, ", \"start_idx\": %llu, \"length\": %llu", (unsigned long long)start,
                     (unsigned long long)(out->stream.size - start));
    if (piece)
        hook_layout_put(&piece->layout, piece->ndim, &out->payload);
    assay_put_u8(&out->payload, '}');
    out->records++;
    return ASSAY_OK;
}

static hook_record record_of(const hook_output *out, const hook_item *item)
{
    return (hook_record){.tag = item->name,
                         .worker = out->worker,
                         .step = item->step,
                         .mode_step = item->mode_step,
                         .mode = item->mode + 1,
                         .wall_time = item->wall_time,
                         .dtype = item->dtype,
                         .ndim = item->ndim,
                         .shape = item->shape,
                         .content = item->bytes};
}

static int too_large(const hook_item *item, assay_error *err)
{
    return assay_fail(err, ASSAY_EBUDGET, "tensor %s: %zu bytes do not fit a record (2 GiB): save reductions of it",
                      item->name, item->bytes);
}

static int put_raw(hook_output *out, const hook_item *item, assay_error *err)
{
    hook_record r = record_of(out, item);
    if (item->dtype == ASSAY_STRING)
        return hook_encode_strings(&r, item->data, &out->head, &out->tail)
                   ? put_record(out, item->name, NULL, 0, NULL, err)
                   : too_large(item, err);
    if (!hook_encode_tensor(&r, &out->head, &out->tail))
        return too_large(item, err);
    return put_record(out, item->name, item->data, item->bytes, item->is_piece ? item : NULL, err);
}

/* Reductions of float32 tensors are float32, as PyTorch has them; all others are float64. */
static int put_reduction(hook_output *out, const hook_item *item, int code, double value, assay_error *err)
{
    char tag[HOOK_NAME_LENGTH + REDUCTION_NAME];
    bool absolute, narrow = item->dtype == ASSAY_FLOAT32;
    const char *op = hook_reduction_name(code, &absolute);
    snprintf(tag, sizeof tag, "smdebug/reductions/%s%s/%s", absolute ? "abs_" : "", op, item->name);
    float value32 = (float)value;
    hook_record r = record_of(out, item);
    r.tag = tag;
    r.ndim = 0;
    r.dtype = narrow ? ASSAY_FLOAT32 : ASSAY_FLOAT64;
    r.content = narrow ? sizeof value32 : sizeof value;
    if (!hook_encode_tensor(&r, &out->head, &out->tail))
        return too_large(item, err);
    return put_record(out, tag, narrow ? (const void *)&value32 : &value, r.content, NULL, err);
}

static void put_shape(hook_output *out, const hook_item *item)
{
    assay_put_format(&out->shapes, "%s{\"tensorname\": ", out->shapes.size ? ", " : "");
    assay_json_put_text(&out->shapes, item->name);
    assay_put_format(&out->shapes, ", \"originalname\": ");
    assay_json_put_text(&out->shapes, item->name);
    assay_put_format(&out->shapes, ", \"shape\": [");
    for (int d = 0; d < item->ndim; d++)
        assay_put_format(&out->shapes, "%s%lld", d ? ", " : "", (long long)item->shape[d]);
    assay_put_format(&out->shapes, "]}");
}

/* The digest is a number of its own, which readers of the format that do not know it take for a tensor. */
static int put_digest(hook_output *out, const hook_item *item, assay_error *err)
{
    char tag[HOOK_NAME_LENGTH + REDUCTION_NAME];
    int64_t digest = hook_digest(item->dtype, item->ndim, item->shape, item->data, item->bytes);
    snprintf(tag, sizeof tag, "assay/digest/%s", item->name);
    hook_record r = record_of(out, item);
    r.tag = tag;
    r.ndim = 0;
    r.dtype = ASSAY_INT64;
    r.content = sizeof digest;
    if (!hook_encode_tensor(&r, &out->head, &out->tail))
        return too_large(item, err);
    return put_record(out, tag, &digest, sizeof digest, NULL, err);
}

static uint64_t elements_of(const hook_item *item)
{
    uint64_t elements = 1;
    for (int d = 0; d < item->ndim; d++)
        elements *= (uint64_t)item->shape[d];
    return elements;
}

/* The reductions of an item whose statistics the caller has taken: as many as they give. */
static int put_given(hook_output *out, const hook_item *item, const uint8_t *codes, size_t count, assay_error *err)
{
    int rc = ASSAY_OK;
    double value;
    for (size_t k = 0; rc == ASSAY_OK && k < count; k++) {
        if (hook_reduce_given(item->data, elements_of(item), codes[k], out->config->sample_variance, &value))
            rc = put_reduction(out, item, codes[k], value, err);
    }
    return rc;
}

/* The reductions that any of the item's collections asks for, each once. */
static size_t wanted_reductions(const hook_output *out, const hook_item *item, uint8_t *codes)
{
    size_t count = 0;
    for (size_t i = 0; i < out->config->count; i++) {
        const hook_reductions *r = &out->config->collections[i].reduce;
        for (size_t k = 0; (item->mask >> i & 1) && k < r->count; k++) {
            if (!memchr(codes, r->codes[k], count))
                codes[count++] = r->codes[k];
        }
    }
    return count;
}

static int put_item(hook_output *out, const hook_item *item, assay_error *err)
{
    bool raw = item->mask == 0, shape = false, digest = false;
    for (size_t i = 0; i < out->config->count; i++) {
        const hook_reductions *r = &out->config->collections[i].reduce;
        raw |= (item->mask >> i & 1) && r->raw;
        shape |= (item->mask >> i & 1) && r->shape;
        digest |= (item->mask >> i & 1) && r->form == HOOK_FORM_DIGEST;
    }
    if (shape)
        put_shape(out, item);
    uint8_t codes[HOOK_REDUCTIONS];
    bool numbers = item->dtype != ASSAY_STRING && item->bytes > 0;
    size_t count = numbers ? wanted_reductions(out, item, codes) : 0;
    if (item->given)
        return put_given(out, item, codes, count, err);
    int rc = ASSAY_OK;
    assay_stats stats;
    bool board = numbers && hook_board_wants(out, item);
    if (count || board)
        hook_statistics(item->dtype, item->data, item->bytes / assay_dtype_size(item->dtype), &stats);
    if (count) {
        double values[HOOK_REDUCTIONS];
        hook_reduce(item->dtype, item->data, item->bytes / assay_dtype_size(item->dtype), &stats, codes, count,
                    out->config->sample_variance, values);
        for (size_t k = 0; rc == ASSAY_OK && k < count; k++)
            rc = put_reduction(out, item, codes[k], values[k], err);
    }
    if (rc == ASSAY_OK && digest && numbers)
        rc = put_digest(out, item, err);
    if (rc == ASSAY_OK && raw &&
        (item->bytes || item->dtype == ASSAY_STRING || item->is_piece)) /* a piece may be empty */
        rc = put_raw(out, item, err);
    if (rc == ASSAY_OK && board)
        hook_board_item(out, item, &stats);
    return rc;
}

int hook_output_item(hook_output *out, const hook_item *item, assay_error *err)
{
    int rc = out->serial != item->serial ? open_step(out, item, err) : ASSAY_OK;
    if (out->failed)
        return ASSAY_EIO;
    ASSAY_THEN(rc, put_item(out, item, err));
    if (rc < 0 && rc != ASSAY_EBUDGET) { /* a tensor that is too large spoils nothing else */
        out->failed = true;
        hook_stream_abandon(&out->stream);
    }
    return rc;
}

/* Writes JSON, with a checksum. */
static int write_file(hook_output *out, char *path, assay_buf *text, assay_error *err)
{
    if (!path)
        return ASSAY_EIO;
    assay_json_put_sum(text);
    int rc = assay_buf_status(text);
    if (rc < 0)
        rc = assay_fail(err, rc, "%s: %s", path, assay_status_text(rc));
    ASSAY_THEN(rc, hook_stream_open(&out->stream, path, err));
    ASSAY_THEN(rc, hook_stream_put(&out->stream, text->data, text->size, err));
    if (rc == ASSAY_OK)
        rc = hook_stream_commit(&out->stream, out->config->durable, err);
    else
        hook_stream_abandon(&out->stream);
    free(path);
    return rc;
}

static int write_index(hook_output *out, assay_error *err)
{
    static const char *const modes[HOOK_MODES] = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"};
    assay_buf text;
    long long step = (long long)out->step;
    int rc = assay_buf_status(&out->payload) < 0 ? assay_buf_status(&out->payload) : assay_buf_status(&out->shapes);
    if (rc < 0)
        return assay_fail(err, rc, "the index of step %lld: %s", step, assay_status_text(rc));
    assay_buf_init(&text, (size_t)2 * INDEX_CEILING + PATH_ROOM);
    assay_put_format(&text, "{\"meta\": {\"mode\": \"%s\", \"mode_step\": %lld", modes[out->mode],
                     (long long)out->mode_step);
    if (out->payload.size > 0) {
        char name[PATH_ROOM];
        snprintf(name, sizeof name, ASSAY_RECORDED_EVENTS, step, step, out->worker);
        assay_put_format(&text, ", \"event_file_name\": ");
        assay_json_put_text(&text, name);
    }
    assay_put_format(&text, "}, \"tensor_payload\": [");
    assay_put_bytes(&text, out->payload.data, out->payload.size);
    assay_put_format(&text, "], \"shape_payload\": [");
    assay_put_bytes(&text, out->shapes.data, out->shapes.size);
    assay_put_format(&text, "]}");
    rc = write_file(out, index_path(out, err), &text, err);
    assay_buf_release(&text);
    return rc;
}

int hook_output_close_step(hook_output *out, const hook_name *known, size_t count, uint64_t version, assay_error *err)
{
    int rc = out->failed ? ASSAY_EIO : ASSAY_OK;
    bool events = hook_stream_is_open(&out->stream);
    out->serial = 0;
    out->bytes = out->stream.size - (events ? out->before : 0);
    if (rc == ASSAY_OK && events)
        rc = hook_stream_commit(&out->stream, out->config->durable, err);
    hook_stream_abandon(&out->stream);
    if (rc == ASSAY_OK && hook_output_wants_collections(out, version))
        rc = hook_output_collections(out, known, count, version, err);
    if (rc == ASSAY_OK && (events || out->shapes.size))
        rc = write_index(out, err);
    if (rc < 0 && events && !out->failed && !out->again)
        unlink(out->event_path); /* an event file without an index would only look like a damaged trial */
    hook_board_close_step(out, rc == ASSAY_OK);
    return rc;
}

bool hook_output_wants_collections(const hook_output *out, uint64_t version)
{
    return !out->collections_written || out->collections_version != version;
}

int hook_output_collections(hook_output *out, const hook_name *known, size_t count, uint64_t version, assay_error *err)
{
    assay_buf text = ASSAY_BUF(INDEX_CEILING);
    int rc = hook_collections_write(out->config, out->num_workers, known, count, &text);
    if (rc < 0)
        rc = assay_fail(err, rc, "%s: the collections of %s: %s", out->directory, out->worker, assay_status_text(rc));
    else
        rc = write_file(out, make_path(out, err, "collections/000000000/%s_collections.json", out->worker), &text, err);
    assay_buf_clear(&text);
    if (rc == ASSAY_OK && out->topology && hook_topology_put(out->topology, out->worker, known, count, &text))
        rc = write_file(out, make_path(out, err, "topology/%s.json", out->worker), &text, err);
    if (rc == ASSAY_OK) {
        out->collections_written = true;
        out->collections_version = version;
    }
    assay_buf_release(&text);
    return rc;
}

/* The facts of the run that is gone on with get the first number that is free. */
static int keep_earlier(hook_output *out, const char *path, assay_error *err)
{
    enum { RUNS_MOST = 10000 };
    for (int n = 1; access(path, F_OK) == 0 && n < RUNS_MOST; n++) {
        char *earlier = make_path(out, err, "run/earlier/%d_%s.json", n, out->worker);
        if (!earlier)
            return ASSAY_EIO;
        bool is_free = access(earlier, F_OK) != 0, moved = is_free && rename(path, earlier) == 0;
        if (is_free && !moved)
            assay_fail(err, ASSAY_EIO, "%s: cannot be renamed to %s: %s", path, earlier, strerror(errno));
        free(earlier);
        if (is_free)
            return moved ? ASSAY_OK : ASSAY_EIO;
    }
    return ASSAY_OK;
}

int hook_output_facts(hook_output *out, assay_buf *text, bool again, assay_error *err)
{
    char *path = make_path(out, err, "run/%s.json", out->worker);
    int rc = path ? ASSAY_OK : ASSAY_EIO;
    if (rc == ASSAY_OK && !again)
        rc = keep_earlier(out, path, err);
    if (rc < 0) {
        free(path);
        return rc;
    }
    return write_file(out, path, text, err);
}
