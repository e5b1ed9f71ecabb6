/* pack.c - what was read of a file, for another rank. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/joblog/joblog.h"

void assay_log_event_release(assay_log_event *event)
{
    free(event->text);
    free(event->quote);
    free(event->place);
    event->text = event->quote = event->place = NULL;
}

void assay_log_file_release(assay_log_file *file)
{
    for (size_t i = 0; i < file->event.count; i++)
        assay_log_event_release(&file->event.list[i]);
    free(file->event.list);
    free(file->rank.list);
    free(file->problem);
    *file = (assay_log_file){0};
}

void joblog_file_fit(assay_log_file *file)
{
    ASSAY_VEC_FIT(&file->event);
    ASSAY_VEC_FIT(&file->rank);
}

void assay_log_file_cut(assay_log_file *file, size_t most)
{
    const size_t first = most / 2, last = most - first, count = file->event.count;
    if (count <= most)
        return;
    for (size_t i = first; i < count - last; i++)
        assay_log_event_release(&file->event.list[i]);
    memmove(file->event.list + first, file->event.list + count - last, last * sizeof *file->event.list);
    file->event.count = most;
    file->left_out += count - most;
    joblog_file_fit(file); /* else what is left out takes as much as before */
}

static void put_optional(assay_buf *out, const char *text)
{
    assay_put_u8(out, text != NULL);
    assay_put_text(out, text);
}

static char *get_optional(assay_cursor *in)
{
    const bool there = assay_get_u8(in);
    size_t length;
    const char *text = assay_get_text(in, &length);
    return there && !in->failed ? assay_copy_bytes_as_text(text, length) : NULL;
}

/* Ranks are processes of one program: structs travel as they are, and their texts behind them. */
void assay_log_file_pack(const assay_log_file *file, assay_buf *out)
{
    assay_put_u32(out, file->file);
    assay_put_u32(out, file->piece);
    assay_put_u64(out, file->bytes);
    assay_put_u64(out, file->lines);
    assay_put_u8(out, file->cut);
    put_optional(out, file->problem);
    assay_put_u64(out, file->left_out);
    assay_put_u64(out, file->event.count);
    for (size_t i = 0; i < file->event.count; i++) {
        assay_log_event e = file->event.list[i];
        e.text = e.quote = e.place = NULL;
        assay_put_bytes(out, &e, sizeof e);
        put_optional(out, file->event.list[i].text);
        put_optional(out, file->event.list[i].quote);
        put_optional(out, file->event.list[i].place);
    }
    assay_put_u64(out, file->rank.count);
    for (size_t i = 0; i < file->rank.count; i++)
        assay_put_bytes(out, &file->rank.list[i], sizeof *file->rank.list);
}

int assay_log_file_unpack(assay_cursor *in, assay_log_file *out)
{
    *out = (assay_log_file){.file = assay_get_u32(in)};
    out->piece = assay_get_u32(in);
    out->bytes = assay_get_u64(in);
    out->lines = assay_get_u64(in);
    out->cut = assay_get_u8(in);
    out->problem = get_optional(in);
    out->left_out = assay_get_u64(in);
    for (uint64_t count = assay_get_count(in, sizeof(assay_log_event)); count > 0 && !in->failed; count--) {
        const uint8_t *bytes = assay_get_bytes(in, sizeof(assay_log_event));
        assay_log_event *e = bytes ? ASSAY_VEC_ADD(&out->event) : NULL;
        if (!e)
            return bytes ? ASSAY_ENOMEM : ASSAY_EINTERNAL;
        memcpy(e, bytes, sizeof *e);
        e->text = get_optional(in);
        e->quote = get_optional(in);
        e->place = get_optional(in);
    }
    for (uint64_t count = assay_get_count(in, sizeof(assay_log_rank)); count > 0 && !in->failed; count--) {
        const uint8_t *bytes = assay_get_bytes(in, sizeof(assay_log_rank));
        assay_log_rank *row = bytes ? ASSAY_VEC_ADD(&out->rank) : NULL;
        if (!row)
            return bytes ? ASSAY_ENOMEM : ASSAY_EINTERNAL;
        memcpy(row, bytes, sizeof *row);
    }
    joblog_file_fit(out);
    return in->failed ? ASSAY_EINTERNAL : ASSAY_OK;
}
