/* stands.c - see stands.h. The log is read as ever, by its kind: each reader says where it is, and of the values none is
 * kept. */
#include "format/metrics/stands.h"

#include <stdio.h>

#include "base/fault.h"
#include "container/stream.h"
#include "format/metrics/runs.h"

/* The line of a byte of a file; 0: it cannot be read so far. */
static uint64_t line_of(assay_store *store, const char *path, uint64_t offset)
{
    assay_stream stream;
    uint64_t line = 1, at = 0;
    if (assay_stream_open(store, path, &stream, NULL) != ASSAY_OK)
        return 0;
    while (at < offset) {
        const uint8_t *bytes = NULL;
        size_t have = 0;
        if (assay_stream_look(&stream, at, 1, &bytes, &have, NULL) != ASSAY_OK || have == 0)
            break;
        const size_t part = have < offset - at ? have : (size_t)(offset - at);
        for (size_t i = 0; i < part; i++)
            line += bytes[i] == '\n';
        at += part;
    }
    assay_stream_close(&stream);
    return at < offset ? 0 : line;
}

static int say(assay_store *store, const metrics_sought *sought, assay_stand *out)
{
    const metrics_spot *at = &sought->at;
    char entry[METRICS_TAG_MOST + 64] = "";
    if (at->what && at->number > 0)
        snprintf(entry, sizeof entry, "%s %llu", at->what, (unsigned long long)at->number);
    else if (at->what)
        snprintf(entry, sizeof entry, "%s, %s%sstep %lld", at->what, sought->tag, *sought->tag ? ", " : "",
                 (long long)sought->step);
    *out = (assay_stand){.path = assay_copy_text(at->path),
                         .line = at->offset > 0 ? line_of(store, at->path, at->offset) : at->line,
                         .entry = *entry ? assay_copy_text(entry) : NULL};
    return out->path && (!*entry || out->entry) ? 1 : ASSAY_ENOMEM;
}

int metrics_stands(assay_store *store, const assay_trial_options *options, int64_t step, const char *tensor,
                   assay_stand *out)
{
    const size_t skipped =
        strncmp(tensor, METRICS_PREFIX, sizeof METRICS_PREFIX - 1) == 0 ? sizeof METRICS_PREFIX - 1 : 0;
    metrics_sought sought = {.step = step, .tag = tensor + skipped};
    metrics_place place;
    metrics_log log = {0};
    assay_problems problems; /* the trial has them already */
    const metrics_run *run = NULL;
    assay_problems_init(&problems);
    const int kind = options && options->log_kind ? metrics_kind_number(options->log_kind) : -1;
    int status = options && options->run ? metrics_run_unpack(store, options->run, options->run_size, &place, NULL)
                                         : metrics_place_read(store, kind, &place, NULL);
    if (status == ASSAY_OK && place.kind)
        status = metrics_place_choose(&place, &run, NULL);
    if (status == ASSAY_OK && run) {
        status = metrics_log_init(&log, store, NULL, &problems);
        log.sought = &sought;
        ASSAY_THEN(status, run->kind->read(&log, &place, run, NULL));
        metrics_log_release(&log);
    }
    metrics_place_release(&place);
    assay_problems_release(&problems);
    if (status == ASSAY_ENOMEM)
        return status;
    return sought.any ? say(store, &sought, out) : 0;
}
