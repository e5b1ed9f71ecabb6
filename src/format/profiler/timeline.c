/* timeline.c - timelines of frameworks: Chrome's trace events, as a rule one a line.
 *
 * 1. Line by line: `[`, `]` and a comma at the end are passed over, so that a file that was cut is read up to there.
 * 2. At the first line that is no event the file is looked through once: where it is one JSON array all the same, it
 *    is read on as that, from the element that is due. */

#include "format/profiler/profiler.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Blanks around a line and one comma at its end are cut. */
static void trim(const char **line, size_t *length)
{
    const char *from = *line, *end = *line + *length;
    while (from < end && is_space(*from))
        from++;
    while (end > from && is_space(end[-1]))
        end--;
    if (end > from && end[-1] == ',')
        end--;
    while (end > from && is_space(end[-1]))
        end--;
    *line = from;
    *length = (size_t)(end - from);
}

/* ---- one array ---- */

/* Cuts an array into the texts of its elements. */
typedef struct splitter {
    enum { BEFORE, FIRST, WITHIN, BETWEEN, AFTER, BROKEN } where;
    int depth;
    bool quoted, escaped, full; /* full: the element has something but blanks */
    assay_buf element;
    uint64_t line, begin; /* where the element begins */
} splitter;

typedef int element_visit(void *context, const char *text, size_t length, uint64_t line);

static void take_byte_of_element(splitter *s, char c)
{
    if (!s->full && !is_space(c)) {
        s->full = true;
        s->begin = s->line;
    }
    if (s->full)
        assay_put_u8(&s->element, (uint8_t)c);
    if (s->escaped) {
        s->escaped = false;
    } else if (s->quoted) {
        s->escaped = c == '\\';
        s->quoted = c != '"';
    } else if (c == '"') {
        s->quoted = true;
    } else if (c == '{' || c == '[') {
        s->depth++;
    } else if (c == '}' || c == ']') {
        s->depth--;
    }
}

static int end_element(splitter *s, char c, element_visit *visit, void *context)
{
    int status = ASSAY_OK;
    if (s->full && s->element.status == ASSAY_OK)
        status = visit(context, (const char *)s->element.data, s->element.size, s->begin);
    const bool empty = !s->full && c == ']' && s->where == FIRST; /* [] */
    if ((!s->full && !empty) || s->element.status == ASSAY_EBUDGET)
        s->where = BROKEN;
    else
        s->where = c == ']' ? AFTER : WITHIN;
    if (s->element.status == ASSAY_ENOMEM)
        return ASSAY_ENOMEM;
    assay_buf_clear(&s->element);
    s->full = false;
    return status;
}

static int take_byte(splitter *s, char c, element_visit *visit, void *context)
{
    switch (s->where) {
    case BEFORE:
        s->where = c == '[' ? FIRST : is_space(c) ? BEFORE : BROKEN;
        return ASSAY_OK;
    case FIRST:
    case WITHIN:
        if (!s->quoted && s->depth == 0 && (c == ',' || c == ']'))
            return end_element(s, c, visit, context);
        take_byte_of_element(s, c);
        return ASSAY_OK;
    case AFTER:
        s->where = is_space(c) ? AFTER : BROKEN;
        return ASSAY_OK;
    default:
        return ASSAY_OK;
    }
}

/* Where event files lie, and the count of the bytes that were read of them. */
typedef struct event_place {
    assay_store *store;
    uint64_t *bytes;
} event_place;

/* Visits the elements of a file that is one array. *whole: it is one, as far as brackets tell. */
static int visit_array(const event_place *from, const char *path, element_visit *visit, void *context, bool *whole,
                       assay_error *err)
{
    splitter s = {.where = BEFORE};
    assay_lines *lines = NULL;
    const char *line = NULL;
    size_t length = 0;
    assay_buf_init(&s.element, ASSAY_LINE_MOST);
    int status = assay_lines_open(from->store, path, &lines, err);
    while (status == ASSAY_OK && s.where != BROKEN) {
        const int more = assay_lines_next(lines, &line, &length, err);
        status = more < 0 ? more : ASSAY_OK;
        if (more != 1)
            break;
        s.line = assay_lines_number(lines);
        s.where = line ? s.where : BROKEN;
        for (size_t i = 0; i < length && status == ASSAY_OK && s.where != BROKEN; i++)
            status = take_byte(&s, line[i], visit, context);
        ASSAY_THEN(status, take_byte(&s, '\n', visit, context));
    }
    *whole = status == ASSAY_OK && s.where == AFTER;
    if (lines)
        *from->bytes += assay_lines_bytes_read(lines);
    assay_lines_close(lines);
    assay_buf_release(&s.element);
    return status;
}

typedef struct checker {
    assay_pull *pull;
    bool sound;
} checker;

static int check_element(void *context, const char *text, size_t length, uint64_t line)
{
    checker *c = context;
    assay_pull_start(c->pull, text, length);
    c->sound = c->sound && assay_pull_skip(c->pull) && assay_pull_end(c->pull);
    return c->pull->no_memory ? ASSAY_ENOMEM : ASSAY_OK;
}

/* Is the file one JSON array? */
static int check_array(assay_profiler_file *f, const event_place *from, bool *is_array, assay_error *err)
{
    checker c = {&f->forms.pull, true};
    assay_error why = {{0}};
    int status = visit_array(from, f->file->path, check_element, &c, is_array, &why);
    *is_array = *is_array && c.sound;
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s", why.text) : ASSAY_OK;
}

typedef struct array_reader {
    assay_profiler_file *file;
    assay_timeline_reader *reader;
    uint64_t skip; /* elements that were read as lines */
} array_reader;

static int read_element(void *context, const char *text, size_t length, uint64_t line)
{
    array_reader *a = context;
    bool sound = false;
    if (a->skip > 0) {
        a->skip--;
        return ASSAY_OK;
    }
    int status = assay_profiler_go_on(a->file);
    ASSAY_THEN(status, assay_timeline_reader_take(a->reader, text, length, line, &sound));
    if (status == ASSAY_OK && !sound)
        status = assay_profiler_damage(a->file, line, "an element of the array is not an event");
    return status;
}

/* ---- lines ---- */

/* The first line that is no event: reads the rest as an array where the file is one, and says so. */
static int read_as_array(assay_profiler_file *f, assay_timeline_reader *r, const event_place *from, uint64_t done,
                         bool *is_array, assay_error *err)
{
    int status = check_array(f, from, is_array, err);
    if (status != ASSAY_OK || !*is_array)
        return status;
    array_reader a = {f, r, done};
    status = visit_array(from, f->file->path, read_element, &a, is_array, err);
    return status == ASSAY_OK ? assay_profiler_go_on(f) : status;
}

static int read_lines(assay_profiler_file *f, assay_timeline_reader *r, const event_place *from, assay_error *err)
{
    const char *line = NULL;
    size_t length = 0;
    uint64_t done = 0, opened = 0;
    bool looked = false;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && (status = assay_profiler_next(f, &line, &length, err)) == 1) {
        bool sound = true, opens = false, is_array = false;
        status = ASSAY_OK;
        trim(&line, &length);
        if (length == 0 || (length == 1 && *line == ']'))
            continue;
        opens = length == 1 && *line == '[';
        opened += opens;
        if (!opens)
            status = assay_timeline_reader_take(r, line, length, assay_lines_number(f->lines), &sound);
        if (status == ASSAY_OK && (!sound || opened > 1) && !looked) {
            looked = true;
            status = read_as_array(f, r, from, done, &is_array, err);
            if (status != ASSAY_OK || is_array)
                return status;
        }
        done += !opens;
        if (status == ASSAY_OK && !sound)
            status = assay_profiler_damage(f, assay_lines_number(f->lines), "it is no event");
    }
    return status;
}

int assay_profiler_read_timeline(assay_profiler_file *f, assay_store *store, uint64_t *bytes, assay_error *err)
{
    assay_timeline_reader *r = NULL;
    int status = assay_timeline_reader_new(f, &r);
    ASSAY_THEN(status, read_lines(f, r, &(event_place){store, bytes}, err));
    assay_timeline_reader_free(r);
    return status == ASSAY_ENOMEM && err && !err->text[0]
               ? assay_fail(err, status, "%s: out of memory while it is read", f->file->path)
               : status;
}
