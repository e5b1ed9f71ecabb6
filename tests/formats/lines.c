/* lines.c - "lines", a format for tests: scalars without a file of their own, all steps of a worker in one file, which
 * grows while the training runs.
 *
 *     WORKER.lines            STEP MODE NAME NUMBER, a line each, in order of steps and, within a step, of modes
 *
 * A number may have lines of several modes: each mode is a unit of its own. A place is a stretch of some units: its
 * worker, where it begins and with which step. A row is where the number stands, as text, with the end of its line; a
 * last line without one is still being written. */
#include <assay/rule.h>

#include <stdio.h>

#include "base/fault.h"
#include "trial/trial_format.h"
#include "trial/shard.h"
#include "words.h"

extern const assay_trial_format assay_format_lines;
static const char SUFFIX[] = ".lines";
enum { FILE_MOST = 1 << 28, UNITS_A_PLACE = 8, NUMBER_MOST = 64 };

/* One line, in the text that it was read from. */
typedef struct line {
    int64_t step;
    int mode;
    const char *name;
    size_t name_length, number_at, number_length; /* number_at: in the text */
} line;

static bool is_lines(const char *name, size_t *worker)
{
    const size_t length = strlen(name), suffix = sizeof SUFFIX - 1;
    *worker = length > suffix ? length - suffix : 0;
    return *worker > 0 && strcmp(name + *worker, SUFFIX) == 0;
}

static bool probe(const assay_names *top)
{
    size_t worker;
    for (size_t i = 0; i < top->count; i++)
        if (is_lines(top->name[i], &worker))
            return true;
    return false;
}

/* Reads the line at *at and goes on behind it. 1; 0: there is no whole line; -1: it is damaged. */
static int next_line(const assay_buf *text, size_t *at, line *out)
{
    const char *begin = (const char *)text->data + *at;
    const char *end = *at < text->size ? memchr(begin, '\n', text->size - *at) : NULL;
    const char *from = begin, *word[4];
    size_t length[4];
    if (!end)
        return 0;
    *at += (size_t)(end - begin) + 1;
    for (int i = 0; i < 4; i++) {
        const char *stop = i < 3 ? memchr(from, ' ', (size_t)(end - from)) : end;
        if (!stop || stop == from)
            return -1;
        word[i] = from;
        length[i] = (size_t)(stop - from);
        from = stop + 1;
    }
    out->mode = mode_of(word[1], length[1]);
    out->name = word[2];
    out->name_length = length[2];
    out->number_at = (size_t)(word[3] - (const char *)text->data);
    out->number_length = length[3];
    return read_whole(&word[0], ' ', &out->step) && out->mode && length[3] <= NUMBER_MOST ? 1 : -1;
}

/* By step, then mode. */
static int compare(const line *l, int64_t step, int mode)
{
    return l->step != step ? (l->step < step ? -1 : 1) : l->mode - mode;
}

/* ---- the catalog ---- */

typedef struct place {
    char worker[64];
    int64_t at, step;
} place;

static uint32_t add_place(assay_lister *l, const char *worker, size_t length, size_t at, int64_t step)
{
    place p;
    memset(&p, 0, sizeof p);
    p.at = (int64_t)at;
    p.step = step;
    memcpy(p.worker, worker, length < sizeof p.worker ? length : sizeof p.worker - 1);
    return assay_lister_place(l, &p, sizeof p);
}

static int list_file(assay_lister *l, const char *name, size_t length)
{
    assay_buf text;
    assay_error why = {{0}};
    line got, last = {.step = -1};
    uint32_t units = 0, number = 0, worker = assay_lister_worker(l, name, length);
    assay_buf_init(&text, FILE_MOST);
    int status =
        worker == ASSAY_NO_ID ? assay_lister_no_memory(l) : assay_store_read(l->store, name, FILE_MOST, &text, &why);
    for (size_t at = 0, begin = 0; status == ASSAY_OK; begin = at) {
        int found = next_line(&text, &at, &got);
        if (found == 0)
            break;
        if (found < 0 || compare(&got, last.step, last.mode) < 0) {
            assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_INDEX, -1, name, (int64_t)begin,
                               "%s: offset %zu: no line of this format", name, begin);
            continue;
        }
        if (compare(&got, last.step, last.mode) == 0)
            continue;
        if (got.step > last.step && units >= UNITS_A_PLACE)
            units = 0;
        if (units++ == 0)
            number = add_place(l, name, length, begin, got.step);
        last = got;
        status = number == ASSAY_NO_ID ? assay_lister_no_memory(l)
                                       : assay_lister_mode_unit(l, got.step, got.mode, worker, number);
    }
    assay_buf_release(&text);
    if (status == ASSAY_OK || status == ASSAY_ENOMEM)
        return status;
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_READ, -1, name, -1, "%s", why.text);
    return ASSAY_OK;
}

static int list(assay_lister *l)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < l->top->count && status == ASSAY_OK; i++) {
        size_t worker;
        if (is_lines(l->top->name[i], &worker))
            status = list_file(l, l->top->name[i], worker);
    }
    return status;
}

static int conclude(assay_lister *l)
{
    l->catalog->ended = l->catalog->ended || assay_names_have(l->top, "lines.end");
    return ASSAY_OK;
}

static bool get_place(const assay_catalog *catalog, uint32_t number, place *out)
{
    const assay_dict *places = assay_format_places(&assay_format_lines, catalog);
    size_t size = 0;
    const char *bytes = places && number < assay_dict_count(places) ? assay_dict_name(places, number, &size) : NULL;
    if (size != sizeof *out)
        return false;
    memcpy(out, bytes, size);
    return true;
}

/* The last stretch of the worker that begins at or before the step. */
static uint32_t place_of(const assay_catalog *catalog, const assay_unit *unit)
{
    uint32_t found = UINT32_MAX;
    place p;
    for (uint32_t i = 0; get_place(catalog, i, &p); i++)
        if (strcmp(p.worker, catalog->worker_key[unit->worker]) == 0 && p.step <= unit->step)
            found = i;
    return found;
}

static int index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room)
{
    return snprintf(out, room, "%s%s", catalog->worker_key[unit->worker], SUFFIX);
}

static int file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room)
{
    (void)file; /* there is one */
    return snprintf(out, room, "%s%s", catalog->worker_key[part->worker], SUFFIX);
}

static void remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used)
{
    (void)used;
    assay_problems_add(&catalog->problems, ASSAY_PROBLEM_DUPLICATE, unit->step, "", -1, "a step lies in two places");
}

/* ---- the index ---- */

/* Adds the rows of a unit, from the lines of its stretch. */
static int add_part(const assay_buf *text, const assay_unit *unit, int64_t base, assay_dict *tensors, assay_shard *s)
{
    assay_part part = {.step = unit->step,
                       .mode_step = unit->step,
                       .worker = unit->worker,
                       .format = unit->format,
                       .mode = unit->mode,
                       .first = (uint32_t)s->entry_count,
                       .first_shape = (uint32_t)s->shape_count};
    line got;
    if (assay_shard_reserve(s, 1, 0, 0) != ASSAY_OK)
        return ASSAY_ENOMEM;
    int found = 1;
    for (size_t at = 0; (found = next_line(text, &at, &got)) != 0;) {
        if (found > 0 && got.step > unit->step)
            break;
        if (found < 0 || compare(&got, unit->step, unit->mode) != 0)
            continue;
        uint32_t tensor = assay_dict_add(tensors, got.name, got.name_length);
        if (tensor == ASSAY_NO_ID || assay_shard_reserve(s, 0, 1, 0) != ASSAY_OK)
            return ASSAY_ENOMEM;
        s->entries[s->entry_count++] = (assay_entry){.offset = (uint64_t)base + got.number_at,
                                                     .length = got.number_length + 1,
                                                     .tensor = tensor,
                                                     .kind = ASSAY_RAW};
        part.count++;
    }
    if (part.count > 0)
        s->parts[s->count++] = part;
    return ASSAY_OK;
}

static int read_unit(assay_store *store, const assay_catalog *catalog, const assay_unit *unit, assay_dict *tensors,
                     assay_shard *shard, assay_problems *problems)
{
    place p = {.at = 0};
    char path[ASSAY_PATH_ROOM];
    assay_error why = {{0}};
    assay_buf text;
    assay_store_file *file = NULL;
    size_t got = 0;
    index_path(catalog, unit, path, sizeof path);
    assay_buf_init(&text, FILE_MOST);
    int status =
        get_place(catalog, unit->place, &p) ? assay_store_open_file(store, path, &file, &why) : ASSAY_ENOTFOUND;
    if (status == ASSAY_OK && assay_store_file_size(file) > (uint64_t)p.at)
        status = assay_buf_reserve(&text, (size_t)(assay_store_file_size(file) - (uint64_t)p.at));
    if (status == ASSAY_OK && assay_store_file_size(file) > (uint64_t)p.at)
        status = assay_store_read_at(file, (uint64_t)p.at, text.data,
                                     (size_t)(assay_store_file_size(file) - (uint64_t)p.at), &got, &why);
    text.size = got;
    if (status == ASSAY_OK)
        status = add_part(&text, unit, p.at, tensors, shard);
    assay_store_close_file(file);
    assay_buf_release(&text);
    if (status == ASSAY_OK || status == ASSAY_ENOMEM)
        return status;
    assay_problems_add(problems, ASSAY_PROBLEM_READ, unit->step, path, -1, "%s", why.text);
    return ASSAY_OK;
}

static int read_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                      const assay_index_sink *into)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        status = read_unit(store, catalog, &units[i], into->tensors, into->shard, into->problems);
    return status;
}

static int decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *r, assay_error *err)
{
    char text[NUMBER_MOST + 2] = "", *behind = text;
    double value = 0;
    (void)budget;
    int status =
        r->length < sizeof text ? assay_view_copy(view, r->offset, r->offset + r->length, text, err) : ASSAY_OK;
    if (status == ASSAY_OK)
        value = strtod(text, &behind);
    if (status == ASSAY_OK && (behind == text || *behind != '\n'))
        status =
            assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: no number", view->path, (unsigned long long)r->offset);
    if (status == ASSAY_OK && assay_decoded_reserve(d, sizeof value) != ASSAY_OK)
        status = ASSAY_ENOMEM;
    if (status != ASSAY_OK)
        return status;
    memcpy(d->bytes, &value, sizeof value);
    d->size = sizeof value;
    r->dtype = ASSAY_FLOAT64;
    r->dims = 0;
    r->elements = 1;
    r->content_bytes = sizeof value;
    r->form = ASSAY_CONTENT_TYPED;
    return ASSAY_OK;
}

/* ---- watching ---- */

static int places(assay_store *store, assay_place_visit *visit, void *context)
{
    assay_names top = {0};
    size_t worker;
    int status = visit(context, ".");
    if (status != ASSAY_OK || assay_store_list(store, "", &top, NULL) != ASSAY_OK)
        return status;
    for (size_t i = 0; i < top.count && status == ASSAY_OK; i++)
        if (is_lines(top.name[i], &worker))
            status = visit(context, top.name[i]);
    assay_names_release(&top);
    return status;
}

static int unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                       assay_place_visit *visit, void *context)
{
    char path[ASSAY_PATH_ROOM];
    (void)store;
    index_path(catalog, unit, path, sizeof path);
    return visit(context, path);
}

const assay_trial_format assay_format_lines = {
    .name = "lines",
    .what = "WORKER.lines",
    .probe = probe,
    .list = list,
    .conclude = conclude,
    .remark = remark,
    .place_of = place_of,
    .index_path = index_path,
    .file_path = file_path,
    .index = read_index,
    .decode = decode,
    .places = places,
    .unit_places = unit_places,
    .default_collections = true,
    .by_mode = true,
    .grows_at_end = true,
};
