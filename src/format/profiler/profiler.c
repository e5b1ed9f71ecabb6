/* profiler.c - the format's table, and what both kinds of files have in common. */
#include "format/profiler/profiler.h"

/* ---- lines ---- */

static int tell(assay_profiler_file *f, assay_event_problem problem)
{
    const uint64_t line = f->damaged;
    f->damaged = 0;
    return line ? f->sink->problem(f->sink->context, problem, line, f->what) : ASSAY_OK;
}

int assay_profiler_go_on(assay_profiler_file *f)
{
    f->any = true;
    return tell(f, ASSAY_EVENT_DAMAGED_LINE);
}

int assay_profiler_damage(assay_profiler_file *f, uint64_t line, const char *what)
{
    int status = assay_profiler_go_on(f);
    f->damaged = line;
    f->what = what;
    return status;
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

int assay_profiler_next(assay_profiler_file *f, const char **line, size_t *length, assay_error *err)
{
    for (;;) {
        int status = assay_lines_next(f->lines, line, length, &f->why);
        if (status == 1 && *line && is_blank(*line, *length))
            continue;
        if (status == 1) {
            ASSAY_TRY(assay_profiler_go_on(f));
            if (*line)
                return 1;
            int rc = assay_profiler_damage(f, assay_lines_number(f->lines), "it is longer than 16 MiB");
            ASSAY_TRY(rc);
            continue;
        }
        if (status == ASSAY_ENOMEM)
            return assay_fail(err, status, "%s", f->why.text);
        if (status < 0) {
            int rc = tell(f, ASSAY_EVENT_DAMAGED_LINE);
            f->any = true;
            ASSAY_THEN(rc, f->sink->problem(f->sink->context, ASSAY_EVENT_UNREADABLE, assay_lines_number(f->lines),
                                            f->why.text));
            return rc;
        }
        status = tell(f, ASSAY_EVENT_TRUNCATED_LINE);
        if (status == ASSAY_OK && !f->any)
            status = f->sink->problem(f->sink->context, ASSAY_EVENT_EMPTY_FILE, 0, "it has no line, or only blanks");
        return status;
    }
}

static int read_file(assay_store *store, const assay_event_file *file, const assay_event_sink *sink, uint64_t *bytes,
                     assay_error *err)
{
    const bool samples = file->kind == ASSAY_EVENTS_SYSTEM;
    assay_profiler_file f = {.file = file,
                             .sink = sink,
                             .forms = {.field_of = samples ? assay_profiler_system_field : assay_profiler_event_field}};
    assay_error why = {{0}};
    int status = assay_lines_open(store, file->path, &f.lines, &why);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "%s", why.text);
    if (status != ASSAY_OK)
        return sink->problem(sink->context, ASSAY_EVENT_UNREADABLE, 0, why.text);
    status = samples ? assay_profiler_read_system(&f, err) : assay_profiler_read_timeline(&f, store, bytes, err);
    *bytes += assay_lines_bytes_read(f.lines);
    assay_json_forms_release(&f.forms);
    assay_lines_close(f.lines);
    return status;
}

const assay_event_format assay_event_format_profiler = {
    .name = "profiler",
    .what = "profiler data (system/, framework/)",
    .probe = assay_profiler_probe,
    .list = assay_profiler_list,
    .places = assay_profiler_places,
    .read = read_file,
};
