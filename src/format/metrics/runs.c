/* runs.c - see runs.h. */
#include "format/metrics/runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/vec.h"

enum { NAMED_MOST = 8 };

/* Reads up to the first value, whose step comes into *step; INT64_MAX: the run has no value. *odd: something in it is
 * damaged or odd. 0 or a status. */
static int look_at_first(const metrics_place *place, const metrics_run *run, int64_t *step, bool *odd, assay_error *err)
{
    metrics_log log;
    assay_problems problems;
    assay_problems_init(&problems);
    int status = metrics_log_init(&log, place->store, NULL, &problems);
    log.until_first = true;
    ASSAY_THEN(status, run->kind->read(&log, place, run, err));
    *step = log.any ? log.first : INT64_MAX;
    *odd = problems.total > 0;
    metrics_log_release(&log);
    assay_problems_release(&problems);
    return status < 0 ? status : ASSAY_OK;
}

int metrics_run_has_value(const metrics_place *place, const metrics_run *run, assay_error *err)
{
    int64_t first = 0;
    bool odd = false;
    ASSAY_TRY(look_at_first(place, run, &first, &odd, err));
    return first != INT64_MAX || odd; /* what is damaged, or odd, is not left out without a word */
}

/* A file's path without the ending that all of its kind have: of "a.csv" and "a.tsv" one is "a". Owned by the caller. */
static char *name_of_file(const metrics_file *file)
{
    const bool usual = assay_path_ends(file->path, ".csv") || assay_path_ends(file->path, ".log");
    return assay_copy_bytes_as_text(file->path, usual ? metrics_stem(file->path) : strlen(file->path));
}

/* A run of the file alone, called as the file is. NULL without memory. */
static metrics_run *run_of_file(metrics_place *place, size_t number, const metrics_file *file)
{
    char *name = name_of_file(file);
    metrics_run *run = name ? metrics_place_run(place, name, NULL) : NULL;
    free(name);
    if (!run)
        return NULL;
    const metrics_run *whole = &place->runs[number];
    free(run->base);
    run->base = assay_copy_text(whole->base);
    run->key = whole->key ? assay_copy_text(whole->key) : NULL;
    run->first_row = whole->first_row;
    return run->base && (run->key || !whole->key) && metrics_run_add_file(run, file) == ASSAY_OK ? run : NULL;
}

/* Takes one run apart; its first part stays in its place. */
static int split_run(metrics_place *place, size_t number, assay_error *err)
{
    const size_t count = place->runs[number].count;
    size_t kept = 0;
    int64_t began = INT64_MAX;
    metrics_run *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const metrics_file *file = place->runs[number].files[i];
        const metrics_run alone = {.kind = place->kind,
                                   .base = place->runs[number].base,
                                   .key = place->runs[number].key,
                                   .files = &file,
                                   .count = 1};
        int64_t first = 0;
        bool odd = false;
        ASSAY_TRY(look_at_first(place, &alone, &first, &odd, err));
        const bool anew = i > 0 && first != INT64_MAX && first <= began;
        began = i == 0 || anew ? first : began;
        if (anew && !(last = run_of_file(place, number, file)))
            return ASSAY_ENOMEM;
        if (!anew && last && metrics_run_add_file(last, file) != ASSAY_OK)
            return ASSAY_ENOMEM;
        kept += last == NULL;
    }
    if (!last)
        return ASSAY_OK;
    metrics_run *own = &place->runs[number];
    char *name = name_of_file(own->files[0]);
    ASSAY_HAVE(name);
    free(own->name);
    own->name = name;
    own->count = kept;
    return ASSAY_OK;
}

int metrics_split_runs(metrics_place *place, assay_error *err)
{
    const size_t count = place->run_count; /* those that are added need not be looked at */
    for (size_t i = 0; i < count; i++)
        if (place->runs[i].count > 1 && !place->runs[i].whole)
            ASSAY_TRY(split_run(place, i, err));
    return ASSAY_OK;
}

int metrics_place_note_silent(metrics_place *place, const metrics_run *run)
{
    bool empty = run->count > 0;
    for (size_t i = 0; i < run->count; i++)
        empty = empty && run->files[i]->size == 0;
    return assay_log_names_add(empty ? &place->unstarted : &place->silent, run->name, strlen(run->name));
}

const char *metrics_place_unread(metrics_place *place)
{
    assay_problems_take_notes(&place->problems, place->store, -1, "what lies there may be missing from this analysis");
    return assay_problems_unread(&place->problems);
}

void metrics_place_said(metrics_place *place)
{
    memset(place->counts, 0, sizeof place->counts);
    assay_log_names_release(&place->silent);
    assay_log_names_release(&place->unstarted);
    assay_problems_release(&place->problems);
    assay_problems_init(&place->problems);
}

int metrics_place_choose(metrics_place *place, const metrics_run **run, assay_error *err)
{
    size_t found = 0;
    *run = place->run_count == 1 ? &place->runs[0] : NULL;
    if (place->run_count <= 1)
        return ASSAY_OK;
    const metrics_run *with[NAMED_MOST];
    for (size_t i = 0; i < place->run_count; i++) {
        const int has = metrics_run_has_value(place, &place->runs[i], err);
        if (has < 0)
            return has;
        if (has == 0 && metrics_place_note_silent(place, &place->runs[i]) != ASSAY_OK)
            return ASSAY_ENOMEM;
        if (has == 0)
            continue;
        if (found < NAMED_MOST)
            with[found] = &place->runs[i];
        found++;
    }
    if (found <= 1) {
        *run = found ? with[0] : NULL;
        return ASSAY_OK;
    }
    assay_buf text = ASSAY_BUF(4096);
    bool flat = true; /* a pattern finds them all: none lies deeper than another */
    for (size_t i = 0; i < found && i < NAMED_MOST; i++) {
        assay_put_format(&text, "%s%.100s", i ? ", " : "", with[i]->name);
        flat = flat && !strchr(with[i]->name, '/');
    }
    const char *location = assay_store_location(place->store), *unread = metrics_place_unread(place);
    const int status =
        assay_fail(err, unread ? ASSAY_EIO : ASSAY_EFORMAT,
                   "%.150s holds %zu runs: %.*s%s; give one as %.100s/NAME%s%.100s%s%s%.200s", location, found,
                   (int)(text.size < 200 ? text.size : 200), (const char *)text.data,
                   found > NAMED_MOST || text.size > 200 ? ", ..." : "", location, flat ? ", or '" : "",
                   flat ? location : "", flat ? "/*' for all of them" : "", unread ? "; " : "", unread ? unread : "");
    assay_buf_release(&text);
    return status;
}

void metrics_run_pack(const metrics_place *place, const metrics_run *run, assay_buf *out)
{
    assay_put_u32(out, (uint32_t)metrics_kind_number(run->kind->name));
    assay_put_u32(out, place->kinds);
    assay_put_text(out, run->name);
    assay_put_u8(out, run->id != NULL);
    assay_put_text(out, run->id);
    assay_put_text(out, run->key);
    assay_put_text(out, run->base);
    assay_put_text(out, run->experiment);
    assay_put_text(out, run->experiment_id);
    assay_put_u64(out, run->first_row);
    assay_put_u64(out, run->last_row);
    assay_problems_pack(&place->problems, out);
    for (int i = 0; i < METRICS_COUNTS; i++)
        assay_put_u64(out, place->counts[i]);
    assay_log_names_pack(&place->silent, out);
    assay_log_names_pack(&place->unstarted, out);
    assay_put_u64(out, run->count);
    for (size_t i = 0; i < run->count; i++) {
        assay_put_text(out, run->files[i]->path);
        assay_put_u64(out, run->files[i]->size);
    }
}

int metrics_run_unpack(assay_store *store, const uint8_t *bytes, size_t size, metrics_place *out, assay_error *err)
{
    assay_cursor in = assay_cursor_over(bytes, size);
    *out = (metrics_place){.store = store};
    assay_problems_init(&out->problems);
    const uint32_t kind = assay_get_u32(&in);
    if (in.failed || kind >= METRICS_KINDS)
        return assay_fail(err, ASSAY_EFORMAT, "a run of a log was damaged on its way between ranks");
    out->kind = metrics_kinds[kind];
    out->kinds = assay_get_u32(&in);
    metrics_run *run = assay_vec_add(&out->runs, &out->run_count, &out->run_room, sizeof *run);
    if (!run)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a run");
    run->kind = out->kind;
    run->name = assay_get_copy(&in);
    const bool has_id = assay_get_u8(&in) != 0;
    run->id = assay_get_copy(&in);
    if (!has_id) {
        free(run->id);
        run->id = NULL;
    }
    run->key = assay_get_copy(&in);
    run->base = assay_get_copy(&in);
    run->experiment = assay_get_copy(&in);
    run->experiment_id = assay_get_copy(&in);
    run->first_row = assay_get_u64(&in);
    run->last_row = assay_get_u64(&in);
    int status = assay_problems_unpack(&in, &out->problems, err);
    for (int i = 0; i < METRICS_COUNTS && status == ASSAY_OK; i++)
        out->counts[i] = assay_get_u64(&in);
    ASSAY_THEN(status, assay_log_names_unpack(&in, &out->silent));
    ASSAY_THEN(status, assay_log_names_unpack(&in, &out->unstarted));
    if (status != ASSAY_OK)
        return status;
    const uint64_t count = assay_get_count(&in, 12);
    out->files = assay_alloc_zeroed(count, sizeof *out->files);
    bool good = run->name && run->key && run->base && run->experiment && run->experiment_id && out->files;
    for (uint64_t i = 0; good && i < count; i++) {
        metrics_file *file = &out->files[out->count++];
        *file = (metrics_file){.path = assay_get_copy(&in), .size = assay_get_u64(&in), .kind = (int)kind};
        good = file->path && metrics_run_add_file(run, file) == ASSAY_OK;
    }
    if (!good)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a run");
    return in.failed ? assay_fail(err, ASSAY_EFORMAT, "a run of a log was damaged on its way between ranks") : ASSAY_OK;
}
