/* log_facts.c - see log_facts.h. */
#include "trial/log_facts.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/vec.h"
#include <assay/steps.h>

enum { PACKED_COUNT = 12, PACKED_RANGE = 28, PACKED_NAME = 4, PACKED_BAD = 20 };

void assay_log_names_release(assay_log_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
    *names = (assay_log_names){0};
}

static void release_counts(assay_log_counts *counts)
{
    for (size_t i = 0; i < counts->count; i++)
        free(counts->list[i].what);
    free(counts->list);
}

static void release_judged(assay_log_judged *judged)
{
    assay_log_names_release(&judged->objective);
    assay_log_names_release(&judged->pairs);
    assay_log_names_release(&judged->never);
    assay_log_names_release(&judged->others);
    for (size_t i = 0; i < judged->bad_count; i++) {
        free(judged->bad[i].worker);
        free(judged->bad[i].tensor);
    }
    free(judged->bad);
}

void assay_log_facts_release(assay_log_facts *log)
{
    release_counts(&log->counts);
    release_counts(&log->around);
    assay_log_names_release(&log->logged_nothing);
    assay_log_names_release(&log->never_started);
    for (size_t i = 0; i < log->range_count; i++)
        free(log->ranges[i].worker);
    free(log->ranges);
    free(log->kind);
    free(log->also);
    free(log->unknown);
    release_judged(&log->judged);
    *log = (assay_log_facts){0};
}

int assay_log_counts_add(assay_log_counts *counts, const char *what, uint64_t count)
{
    assay_log_count *added = ASSAY_VEC_ADD(counts);
    ASSAY_HAVE(added);
    *added = (assay_log_count){assay_copy_text(what), count};
    return added->what ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_log_facts_range(assay_log_facts *log, const char *worker, int64_t first, int64_t last, uint64_t values)
{
    assay_log_range *added = assay_vec_add(&log->ranges, &log->range_count, &log->range_room, sizeof *added);
    ASSAY_HAVE(added);
    *added = (assay_log_range){first, last, values, assay_copy_text(worker)};
    return added->worker ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_log_names_add(assay_log_names *names, const char *text, size_t length)
{
    char **added = ASSAY_VEC_ADD(names);
    ASSAY_HAVE(added);
    *added = assay_copy_bytes_as_text(text, length);
    return *added ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_log_judged_bad(assay_log_judged *judged, int64_t step, int mode, const char *worker, const char *tensor)
{
    assay_log_bad *added = assay_vec_add(&judged->bad, &judged->bad_count, &judged->bad_room, sizeof *added);
    ASSAY_HAVE(added);
    *added = (assay_log_bad){step, mode, assay_copy_text(worker), assay_copy_text(tensor)};
    return added->worker && added->tensor ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_log_names_pack(const assay_log_names *names, assay_buf *out)
{
    assay_put_u64(out, names->count);
    for (size_t i = 0; i < names->count; i++)
        assay_put_text(out, names->list[i]);
}

static void pack_judged(const assay_log_judged *judged, assay_buf *out)
{
    assay_log_names_pack(&judged->objective, out);
    assay_put_u8(out, judged->whole);
    assay_log_names_pack(&judged->pairs, out);
    assay_log_names_pack(&judged->never, out);
    assay_log_names_pack(&judged->others, out);
    assay_put_u64(out, judged->bad_count);
    for (size_t i = 0; i < judged->bad_count; i++) {
        assay_put_i64(out, judged->bad[i].step);
        assay_put_u32(out, (uint32_t)judged->bad[i].mode);
        assay_put_text(out, judged->bad[i].worker);
        assay_put_text(out, judged->bad[i].tensor);
    }
    assay_put_u64(out, judged->values);
    assay_put_u64(out, judged->losses);
    assay_put_u64(out, judged->steps);
}

static void pack_counts(const assay_log_counts *counts, assay_buf *out)
{
    assay_put_u64(out, counts->count);
    for (size_t i = 0; i < counts->count; i++) {
        assay_put_text(out, counts->list[i].what);
        assay_put_u64(out, counts->list[i].count);
    }
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
    pack_counts(&log->counts, out);
    assay_put_u64(out, log->range_count);
    for (size_t i = 0; i < log->range_count; i++) {
        assay_put_text(out, log->ranges[i].worker);
        assay_put_i64(out, log->ranges[i].first);
        assay_put_i64(out, log->ranges[i].last);
        assay_put_u64(out, log->ranges[i].values);
    }
    pack_judged(&log->judged, out);
    pack_counts(&log->around, out);
    assay_log_names_pack(&log->logged_nothing, out);
    assay_log_names_pack(&log->never_started, out);
}

static char *take_text(assay_cursor *in)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    return assay_copy_bytes_as_text(text, length);
}

int assay_log_names_unpack(assay_cursor *in, assay_log_names *out)
{
    const uint64_t count = assay_get_count(in, PACKED_NAME);
    int status = ASSAY_OK;
    for (uint64_t i = 0; i < count && status == ASSAY_OK && !in->failed; i++) {
        size_t length = 0;
        const char *text = assay_get_text(in, &length);
        status = assay_log_names_add(out, text, length);
    }
    return status;
}

static int take_judged(assay_cursor *in, assay_log_judged *out)
{
    int status = assay_log_names_unpack(in, &out->objective);
    out->whole = assay_get_u8(in) != 0;
    ASSAY_THEN(status, assay_log_names_unpack(in, &out->pairs));
    ASSAY_THEN(status, assay_log_names_unpack(in, &out->never));
    ASSAY_THEN(status, assay_log_names_unpack(in, &out->others));
    const uint64_t count = assay_get_count(in, PACKED_BAD);
    for (uint64_t i = 0; i < count && status == ASSAY_OK && !in->failed; i++) {
        const int64_t step = assay_get_i64(in);
        const uint32_t mode = (uint32_t)assay_get_u32(in);
        char *worker = take_text(in), *tensor = take_text(in);
        if (mode >= ASSAY_MODES)
            in->failed = true;
        else
            status = worker && tensor ? assay_log_judged_bad(out, step, (int)mode, worker, tensor) : ASSAY_ENOMEM;
        free(worker);
        free(tensor);
    }
    out->values = assay_get_u64(in);
    out->losses = assay_get_u64(in);
    out->steps = assay_get_u64(in);
    if (out->pairs.count % 2 != 0)
        in->failed = true;
    return status;
}

static int take_counts(assay_cursor *in, assay_log_counts *out)
{
    const uint64_t counts = assay_get_count(in, PACKED_COUNT);
    int status = ASSAY_OK;
    for (uint64_t i = 0; i < counts && status == ASSAY_OK; i++) {
        char *what = take_text(in);
        status = what ? assay_log_counts_add(out, what, assay_get_u64(in)) : ASSAY_ENOMEM;
        free(what);
    }
    return status;
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
    ASSAY_THEN(status, take_counts(in, &log.counts));
    const uint64_t ranges = status == ASSAY_OK ? assay_get_count(in, PACKED_RANGE) : 0;
    for (uint64_t i = 0; i < ranges && status == ASSAY_OK; i++) {
        char *worker = take_text(in);
        const int64_t first = assay_get_i64(in), last = assay_get_i64(in);
        status = worker ? assay_log_facts_range(&log, worker, first, last, assay_get_u64(in)) : ASSAY_ENOMEM;
        free(worker);
    }
    ASSAY_THEN(status, take_judged(in, &log.judged));
    ASSAY_THEN(status, take_counts(in, &log.around));
    ASSAY_THEN(status, assay_log_names_unpack(in, &log.logged_nothing));
    ASSAY_THEN(status, assay_log_names_unpack(in, &log.never_started));
    if (status == ASSAY_OK && in->failed)
        status = ASSAY_EFORMAT;
    if (status == ASSAY_OK)
        *out = log;
    else
        assay_log_facts_release(&log);
    return status;
}
