/* log_facts.c - see log_facts.h. */
#include "trial/log_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"

enum { PACKED_COUNT = 12, PACKED_RANGE = 28 };

void assay_log_facts_release(assay_log_facts *log)
{
    for (size_t i = 0; i < log->count; i++)
        free(log->counts[i].what);
    for (size_t i = 0; i < log->range_count; i++)
        free(log->ranges[i].worker);
    free(log->counts);
    free(log->ranges);
    free(log->kind);
    free(log->also);
    free(log->unknown);
    *log = (assay_log_facts){0};
}

int assay_log_facts_count(assay_log_facts *log, const char *what, uint64_t count)
{
    assay_log_count *added = assay_vec_add(&log->counts, &log->count, &log->room, sizeof *added);
    if (!added)
        return ASSAY_ENOMEM;
    *added = (assay_log_count){assay_copy_text(what), count};
    return added->what ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_log_facts_range(assay_log_facts *log, const char *worker, int64_t first, int64_t last, uint64_t values)
{
    assay_log_range *added = assay_vec_add(&log->ranges, &log->range_count, &log->range_room, sizeof *added);
    if (!added)
        return ASSAY_ENOMEM;
    *added = (assay_log_range){first, last, values, assay_copy_text(worker)};
    return added->worker ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_log_facts_pack(const assay_log_facts *log, assay_buf *out)
{
    assay_put_u8(out, log->kind != NULL);
    if (!log->kind)
        return;
    assay_put_text(out, log->kind);
    assay_put_text(out, log->also);
    assay_put_text(out, log->unknown);
    assay_put_u64(out, log->files);
    assay_put_f64(out, log->resolution);
    assay_put_u8(out, log->running);
    assay_put_u8(out, log->workers_known);
    assay_put_u64(out, log->count);
    for (size_t i = 0; i < log->count; i++) {
        assay_put_text(out, log->counts[i].what);
        assay_put_u64(out, log->counts[i].count);
    }
    assay_put_u64(out, log->range_count);
    for (size_t i = 0; i < log->range_count; i++) {
        assay_put_text(out, log->ranges[i].worker);
        assay_put_i64(out, log->ranges[i].first);
        assay_put_i64(out, log->ranges[i].last);
        assay_put_u64(out, log->ranges[i].values);
    }
}

static char *take_text(assay_cursor *in)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    return assay_copy_bytes_as_text(text, length);
}

int assay_log_facts_unpack(assay_cursor *in, assay_log_facts *out)
{
    assay_log_facts log = {0};
    int status = ASSAY_OK;
    if (assay_get_u8(in) == 0)
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    log.kind = take_text(in);
    log.also = take_text(in);
    log.unknown = take_text(in);
    log.files = assay_get_u64(in);
    log.resolution = assay_get_f64(in);
    log.running = assay_get_u8(in) != 0;
    log.workers_known = assay_get_u8(in) != 0;
    status = log.kind && log.also && log.unknown ? ASSAY_OK : ASSAY_ENOMEM;
    const uint64_t counts = assay_get_count(in, PACKED_COUNT);
    for (uint64_t i = 0; i < counts && status == ASSAY_OK; i++) {
        char *what = take_text(in);
        status = what ? assay_log_facts_count(&log, what, assay_get_u64(in)) : ASSAY_ENOMEM;
        free(what);
    }
    const uint64_t ranges = status == ASSAY_OK ? assay_get_count(in, PACKED_RANGE) : 0;
    for (uint64_t i = 0; i < ranges && status == ASSAY_OK; i++) {
        char *worker = take_text(in);
        const int64_t first = assay_get_i64(in), last = assay_get_i64(in);
        status = worker ? assay_log_facts_range(&log, worker, first, last, assay_get_u64(in)) : ASSAY_ENOMEM;
        free(worker);
    }
    if (status == ASSAY_OK && in->failed)
        status = ASSAY_EFORMAT;
    if (status == ASSAY_OK)
        *out = log;
    else
        assay_log_facts_release(&log);
    return status;
}
