/* Any bytes as a job's output: no crash, nothing of a terminal in what is kept, the same after it was sent to another
 * rank; and an answer is made of it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trial/job_log.h"
#include "workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold_text(const char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < 0x20 && *text != '\n')
            abort();
}

static void hold(const assay_log_file *file)
{
    for (size_t i = 0; i < file->event.count; i++) {
        const assay_log_event *e = &file->event.list[i];
        hold_text(e->text);
        hold_text(e->quote);
        hold_text(e->place);
        if (!e->text || !e->quote || e->line == 0 || e->count == 0 || e->last_at < e->at)
            abort();
    }
}

/* What the last of several runs says stands in it, and has its lines and bytes in the whole. */
static void hold_last_run(assay_job_log *log, assay_store *store, const assay_log_file *file)
{
    assay_log_part run = {.pieces = 1, .events = ASSAY_LOG_EVENTS_LEAST};
    assay_log_file last = {0};
    if (assay_job_log_begins_again(store, "a.log", &run, NULL) != ASSAY_OK || (run.from == 0 && run.lines > 0))
        abort();
    if (run.from > 0 && assay_job_log_read(log, store, "a.log", &run, &last, NULL) != ASSAY_OK)
        abort();
    hold(&last);
    for (size_t i = 0; i < last.event.count; i++)
        if (last.event.list[i].at < run.from || last.event.list[i].line <= run.lines)
            abort();
    if (last.bytes > 0 && (last.lines != file->lines || last.bytes + run.from != file->bytes))
        abort();
    assay_log_file_release(&last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static workspace w;
    static assay_job_log *log;
    assay_store *store = NULL;
    assay_log_file file = {0}, sent = {0};
    assay_error err = {""};
    assay_buf packed, again;
    char path[300];
    if (size > 1 << 16)
        return 0;
    if (!log) {
        workspace_make(&w);
        if (assay_job_log_new(&log, &err) != ASSAY_OK)
            abort();
    }
    snprintf(path, sizeof path, "%s/a.log", w.root);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, size, out) != size || fclose(out) != 0)
        abort();
    if (assay_store_open(w.root, &store, &err) != ASSAY_OK)
        abort();
    const assay_log_part all = {.pieces = 1, .events = ASSAY_LOG_EVENTS_LEAST};
    if (assay_job_log_read(log, store, "a.log", &all, &file, &err) != ASSAY_OK)
        abort();
    hold(&file);
    hold_last_run(log, store, &file);
    for (size_t i = 0; i < file.rank.count && i < 4; i++) {
        char *tail = NULL;
        if (assay_job_log_tail(store, "a.log", &file.rank.list[i], &tail, &err) != ASSAY_OK)
            abort();
        hold_text(tail);
        free(tail);
    }
    assay_buf_init(&packed, SIZE_MAX / 4);
    assay_buf_init(&again, SIZE_MAX / 4);
    assay_log_file_pack(&file, &packed);
    assay_cursor in = assay_cursor_over(packed.data, packed.size);
    if (assay_log_file_unpack(&in, &sent) != ASSAY_OK || assay_cursor_bad(&in))
        abort();
    assay_log_file_pack(&sent, &again);
    if (again.size != packed.size || memcmp(again.data, packed.data, again.size) != 0)
        abort();
    assay_buf_release(&packed);
    assay_buf_release(&again);
    assay_log_file_release(&file);
    assay_log_file_release(&sent);
    assay_store_close(store);
    return 0;
}
