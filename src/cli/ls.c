/* ls.c - assay ls: lists a trial. What it has of steps, workers and members is the recording's; here every tensor and
 * every file is looked at. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "cli/overview.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "report/text/listing.h"
#include "trial/places.h"
#include "trial/trial_format.h"

/* ---- what is listed ---- */

static const assay_listing_column OF_COLLECTIONS[] = {
    {"name", "collection", 'e'}, {NULL, "tensors", 'r'}, {NULL, "patterns", 'e'}, {"include_regex"}, {"tensors"}};
static const assay_listing_column OF_TENSORS[] = {{"name", "tensor", 'e'},
                                                  {"dtype", "dtype", 'l', "-"},
                                                  {"shape", "shape", 'e'},
                                                  {"steps", "steps", 'r'},
                                                  {"records"},
                                                  {"reductions"},
                                                  {"same_as", .optional = true},
                                                  {"promised", .optional = true},
                                                  {NULL, "saved", 'e'}};
static const assay_listing_column OF_OTHERS[] = {
    {"path", "no tensor", 'e'}, {"kind", "kind", 'l'}, {"steps", "steps", 'r'}, {"value", "last value", 'e'}};

static const char *name_of(const overview *o, uint32_t tensor, size_t *length)
{
    return assay_dict_name(o->files->tensors, tensor, length);
}

/* Those that belong to a collection; a pattern that gives up is among the problems. */
static void put_members(const overview *o, const uint8_t *member, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_array(&w, NULL);
    for (uint32_t t = 0; t < assay_dict_count(o->files->tensors); t++)
        if (member[t]) {
            size_t length;
            const char *name = name_of(o, t, &length);
            assay_jw_text_n(&w, NULL, name, length);
        }
    assay_jw_end(&w);
}

static void put_collection_rows(const overview *o, assay_listing *rows)
{
    const assay_collections *all = &o->files->catalog.collections;
    for (size_t i = 0; i < all->count; i++) {
        const assay_collection *c = &all->list[i];
        const char *const *regex = (const char *const *)c->regex;
        size_t members = 0;
        assay_buf patterns = ASSAY_BUF(ASSAY_REPORT_CEILING);
        for (uint32_t t = 0; t < assay_dict_count(o->files->tensors); t++)
            members += o->member[i][t];
        for (size_t r = 0; r < c->regexes; r++)
            assay_put_format(&patterns, "%s%s", r ? "  " : "", c->regex[r]);
        assay_listing_next(rows);
        assay_listing_text(rows, c->name);
        assay_listing_u64(rows, members);
        assay_listing_take(rows, &patterns);
        assay_listing_texts(rows, regex, c->regexes);
        assay_buf *out = assay_listing_value(rows);
        if (out)
            put_members(o, o->member[i], out);
    }
}

/* What was saved of a tensor, in words. */
static void put_saved(const overview *o, const overview_tensor *t, assay_listing *rows)
{
    assay_buf saved = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (t->raw)
        assay_put_format(&saved, "values");
    for (int k = 0; k < ASSAY_KINDS; k++) {
        if (t->reductions & 1u << k)
            assay_put_format(&saved, "%s%s", saved.size ? " " : "", assay_recording_kind_name(k));
    }
    if (saved.size == 0 && t->same_as != ASSAY_NO_ID)
        assay_put_format(&saved, "as %s", name_of(o, t->same_as, NULL));
    else if (saved.size == 0)
        assay_put_format(&saved, t->promised ? "cannot be read" : "shape");
    assay_listing_take(rows, &saved);
}

/* Was it saved at other steps alone than those that are looked at? */
static bool is_elsewhere(const overview *o, const overview_tensor *t)
{
    return (o->range.from != INT64_MIN || o->range.to != INT64_MAX) && t->steps == 0 && t->dims < 0 && !t->promised;
}

static void put_tensors(const overview *o, assay_listing *rows)
{
    for (uint32_t i = 0; i < assay_dict_count(o->files->tensors); i++) {
        const overview_tensor *t = &o->tensor[i];
        if (is_elsewhere(o, t))
            continue;
        const char *reduction[ASSAY_KINDS];
        size_t reductions = 0, length, of_same = 0;
        const char *name = name_of(o, i, &length);
        const char *same = t->same_as != ASSAY_NO_ID ? name_of(o, t->same_as, &of_same) : NULL;
        for (int k = 0; k < ASSAY_KINDS; k++)
            if (t->reductions & 1u << k)
                reduction[reductions++] = assay_recording_kind_name(k);
        assay_listing_next(rows);
        assay_listing_text_n(rows, name, length);
        assay_listing_text(rows, t->dtype >= 0 ? assay_dtype_name(t->dtype) : NULL);
        assay_listing_shape(rows, t->shape, t->dims);
        assay_listing_u64(rows, t->steps);
        assay_listing_u64(rows, t->raw);
        assay_listing_texts(rows, reduction, reductions);
        if (same)
            assay_listing_text_n(rows, same, of_same);
        else
            assay_listing_none(rows);
        if (t->promised)
            assay_listing_flag(rows, true);
        else
            assay_listing_none(rows);
        put_saved(o, t, rows);
    }
}

static uint32_t count_others(const overview *o)
{
    return o->others.paths ? assay_dict_count(o->others.paths) : 0;
}

/* What is no tensor. */
static void put_others(const overview *o, assay_listing *rows)
{
    for (uint32_t i = 0; i < count_others(o); i++) {
        size_t length = 0;
        const char *path = assay_dict_name(o->others.paths, i, &length);
        assay_listing_next(rows);
        assay_listing_text_n(rows, path, length);
        assay_listing_text(rows, o->others.list[i].kind);
        assay_listing_u64(rows, o->others.list[i].steps);
        assay_listing_text(rows, o->others.list[i].value);
    }
}

/* The tables of a listing, in their order. */
typedef struct listed {
    const char *heading, *key; /* for people, and in JSON */
    const assay_listing_column *column;
    size_t columns;
    void (*put)(const overview *o, assay_listing *rows);
} listed;

#define LISTED(heading, key, columns, put)                                                                             \
    {                                                                                                                  \
        heading, key, ASSAY_LISTED(columns), put                                                                       \
    }
static const listed COLLECTIONS = LISTED("Collections", "collections", OF_COLLECTIONS, put_collection_rows),
                    TENSORS = LISTED("Tensors", "tensors", OF_TENSORS, put_tensors),
                    OTHERS = LISTED("Beside tensors", "others", OF_OTHERS, put_others);

/* ---- text ---- */

static void put_table(const overview *o, const listed *l, const assay_draw *draw, assay_buf *out)
{
    assay_listing rows;
    assay_listing_begin(&rows, ASSAY_LISTING_TEXT, l->column, l->columns, out);
    l->put(o, &rows);
    assay_report_put_heading(out, l->heading);
    assay_listing_end(&rows, 0, draw);
}

static int overview_put_text(const overview *o, const assay_draw *draw, assay_buf *out)
{
    const uint32_t others = count_others(o);
    assay_report_put_head(&o->outcome, draw, out);
    if (o->files->catalog.collections.count > 0)
        put_table(o, &COLLECTIONS, draw, out);
    if (o->writers == 0 || assay_dict_count(o->files->tensors) > 0)
        put_table(o, &TENSORS, draw, out);
    if (others > 0 && o->all)
        put_table(o, &OTHERS, draw, out);
    else if (others > 0)
        assay_put_format(out, "%" PRIu32 " more value%s %s no tensor%s: --all lists %s.\n", others,
                         assay_plural(others), others == 1 ? "is" : "are", assay_plural(others),
                         others == 1 ? "it" : "them");
    overview_put_events(o, draw, out);
    assay_report_put_completeness(&o->outcome, draw, out);
    assay_report_put_problems_of_list(&o->outcome, draw, out);
    return assay_buf_status(out);
}

static int overview_put_csv(const overview *o, assay_buf *out)
{
    assay_listing rows;
    assay_listing_begin(&rows, ASSAY_LISTING_CSV, TENSORS.column, TENSORS.columns, out);
    put_tensors(o, &rows);
    assay_listing_end(&rows, 0, NULL);
    return assay_buf_status(out);
}

/* ---- JSON ---- */

/* A list as a member of the listing, and an item of it: each on a line of its own. */
static void begin_list(assay_jw *w, const char *key)
{
    assay_jw_line(w, 1);
    assay_jw_array(w, key);
}

static void begin_item(assay_jw *w)
{
    assay_jw_line(w, 2);
    assay_jw_object(w, NULL);
}

static void put_list(const overview *o, const listed *l, assay_jw *w)
{
    begin_list(w, l->key);
    assay_listing rows;
    assay_listing_begin_in(&rows, w, 2, l->column, l->columns);
    l->put(o, &rows);
    assay_listing_end(&rows, 0, NULL);
    assay_jw_end(w);
}

static void put_steps(assay_jw *w, const overview *o)
{
    begin_list(w, "steps");
    for (size_t i = 0; i < o->info.step_count; i++) {
        const assay_step_info *step = &o->info.steps[i];
        begin_item(w);
        ASSAY_JW(w, "step", step->step, "mode", assay_mode_name(step->mode), "mode_step", step->mode_step);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_incomplete(assay_jw *w, const overview *o)
{
    char room[ASSAY_WORKER_ROOM];
    begin_list(w, "incomplete");
    for (size_t i = 0; i < o->outcome.incomplete_count; i++) {
        const assay_incomplete *step = &o->outcome.incomplete[i];
        begin_item(w);
        assay_jw_i64(w, "step", step->step);
        assay_jw_array(w, "missing_workers");
        for (uint32_t m = 0; m < step->missing_count; m++)
            assay_jw_text(w, NULL, assay_worker_name(o->names, step->missing[m], room));
        assay_jw_end(w);
        if (step->unnamed > 0)
            assay_jw_u64(w, "more_missing", step->unnamed);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

/* Appends the overview for programs. The buffer's status. */
static int overview_put_json(const overview *o, assay_buf *out)
{
    const assay_catalog *catalog = &o->files->catalog;
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    assay_jw_text(&w, "schema", "assay-listing/1");
    assay_jw_line(&w, 1);
    assay_jw_text(&w, "path", assay_store_location(o->files->store));
    assay_jw_line(&w, 1);
    assay_jw_texts(&w, "workers", (const char *const *)catalog->worker, catalog->workers);
    ASSAY_JW(&w, "expected_workers", catalog->expected_workers, "ended", catalog->ended);
    put_steps(&w, o);
    put_list(o, &COLLECTIONS, &w);
    put_list(o, &TENSORS, &w);
    overview_put_events_json(o, &w);
    if (o->all)
        put_list(o, &OTHERS, &w);
    put_incomplete(&w, o);
    assay_jw_line(&w, 1);
    assay_jw_u64(&w, "problems_total", o->files->problems.total);
    assay_jw_array(&w, "problems");
    cli_put_json_problems(&o->files->problems, &w);
    assay_jw_end(&w);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
    return assay_buf_status(out);
}

/* ---- ls ---- */

typedef struct ls_options {
    bool all;
} ls_options;

static const assay_setting OPTIONS[] = {
    {"all", ASSAY_SETTING_SWITCH, offsetof(ls_options, all), NULL,
     "Also list what is not a tensor: numbers, texts and objects that checkpoints hold."},
    {0}};

/* Looks at the first record of a tensor that can be read. Returns ASSAY_ENOMEM or 0. */
static int look_at(overview *o, assay_trial_reader *reader, const assay_part *part, const char *path,
                   const assay_entry *entry)
{
    assay_record record;
    assay_error err = {""};
    overview_tensor *t = &o->tensor[entry->tensor];
    int status = assay_trial_record(reader, part, entry, &record, &err);
    if (status == ASSAY_OK) {
        t->dtype = record.dtype;
        t->dims = record.dims;
        memcpy(t->shape, record.shape, (size_t)record.dims * sizeof *t->shape);
    } else if (status != ASSAY_ENOMEM) {
        assay_problems_add(&o->files->problems, ASSAY_PROBLEM_RECORD, part->step, path, (int64_t)entry->offset, "%s",
                           err.text);
    }
    return status == ASSAY_ENOMEM ? status : o->files->problems.status;
}

static int look_at_part(overview *o, assay_trial_reader *reader, const assay_part *part)
{
    const assay_shard *s = &o->files->shard;
    const bool in_files = !assay_format_of(part->format)->in_notes && !assay_format_of(part->format)->assembled;
    char room[ASSAY_PATH_ROOM] = "";
    const assay_entry *last = NULL;
    uint64_t size = UINT64_MAX; /* of the file under way */
    int status = ASSAY_OK;
    for (size_t i = part->first; i < part->first + part->count && status == ASSAY_OK; i++) {
        const assay_entry *entry = &s->entries[i];
        overview_tensor *t = &o->tensor[entry->tensor];
        if (entry->kind == ASSAY_PIECE) /* the whole has a row of its own */
            continue;
        if (in_files && (!last || !assay_part_same_file(part, last->file, entry->file)))
            status =
                assay_part_check_file(o->files->store, &o->files->catalog, s, part, entry, &o->files->problems, &size);
        last = entry;
        if (t->last_step != part->step)
            t->steps++;
        t->last_step = part->step;
        if (entry->kind == ASSAY_RAW) {
            t->raw++;
            if (status == ASSAY_OK && t->dtype < 0 && entry->offset <= size && entry->length <= size - entry->offset)
                status = look_at(o, reader, part, assay_part_file(&o->files->catalog, part, entry->file, room), entry);
        } else {
            t->reductions |= 1u << entry->kind;
        }
    }
    for (size_t i = part->first_shape; i < part->first_shape + part->shapes; i++) {
        const assay_shape_entry *shape = &s->shapes[i];
        overview_tensor *t = &o->tensor[shape->tensor];
        if (t->dims >= 0 || shape->dims > ASSAY_MAX_DIMS)
            continue;
        t->dims = (int)shape->dims;
        memcpy(t->shape, shape->dim, shape->dims * sizeof *t->shape);
    }
    return status;
}

static bool is_wanted(const overview *o, int64_t step)
{
    return step >= o->range.from && step < o->range.to;
}

static int collect_tensors(overview *o)
{
    uint32_t count = assay_dict_count(o->files->tensors);
    o->tensor = assay_alloc_zeroed(count, sizeof *o->tensor);
    ASSAY_HAVE(o->tensor);
    for (uint32_t i = 0; i < count; i++) {
        o->tensor[i].dtype = o->tensor[i].dims = -1;
        o->tensor[i].same_as = ASSAY_NO_ID;
        o->tensor[i].last_step = INT64_MIN;
    }
    assay_trial_reader reader = {.trial = o->files};
    int status = ASSAY_OK;
    for (size_t i = 0; i < o->files->shard.count && status == ASSAY_OK; i++)
        if (is_wanted(o, o->files->shard.parts[i].step))
            status = look_at_part(o, &reader, &o->files->shard.parts[i]);
    assay_trial_reader_close(&reader);
    return status;
}

/* Another name has what the first one has. */
static void note_alias(overview_tensor *t, const assay_claim *claim, const overview_tensor *first)
{
    t->same_as = claim->first;
    t->steps += t->last_step != claim->step;
    t->last_step = claim->step;
    if (t->dims >= 0)
        return;
    t->dtype = first->dtype;
    t->dims = first->dims;
    memcpy(t->shape, first->shape, sizeof t->shape);
}

/* What the index says of tensors that have no records. */
static void note_manifest(overview *o)
{
    const assay_manifest *claims = &o->files->shard.claims;
    const uint32_t count = assay_dict_count(o->files->tensors);
    for (size_t i = 0; i < claims->count; i++) {
        const assay_claim *claim = &claims->list[i];
        if (claim->tensor >= count || !is_wanted(o, claim->step))
            continue;
        overview_tensor *t = &o->tensor[claim->tensor];
        if (claim->kind == ASSAY_CLAIM_ALIAS && claim->first < count)
            note_alias(t, claim, &o->tensor[claim->first]);
        else if (claim->kind == ASSAY_CLAIM_PROMISED)
            t->promised = true;
    }
}

static int find_members_of(overview *o, size_t collection)
{
    uint32_t tensors = assay_dict_count(o->files->tensors);
    uint8_t *member = o->member[collection] = assay_alloc(tensors);
    ASSAY_HAVE(member);
    memset(member, 1, tensors);
    return recording_keep_members(o->recording, collection, member, &o->files->problems);
}

static int find_members(overview *o)
{
    size_t count = o->files->catalog.collections.count;
    o->member = assay_alloc_zeroed(count, sizeof *o->member);
    int status = o->member ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        status = find_members_of(o, i);
    return status;
}

/* Opens the trial and looks at one record of each tensor. Release with overview_release() in any case. */
static int overview_read(const char *location, const ls_options *options, overview *out, assay_error *err)
{
    *out = (overview){.all = options->all, .range = cli_given()->steps};
    int status = assay_recording_open(location, &out->recording, err);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_ENOTFOUND; /* whatever the reason: look at the path */
    const assay_recording *r = out->recording;
    out->files = &out->recording->files;
    out->names = &r->names;
    out->trial = (assay_job_trial){.path = assay_copy_text(location), .name = assay_job_trial_name(location)};
    if (!out->trial.path || !out->trial.name)
        status = ASSAY_ENOMEM;
    ASSAY_THEN(status, collect_tensors(out));
    if (status == ASSAY_OK)
        note_manifest(out);
    ASSAY_THEN(status, assay_trial_list_others(out->files, out->range.from, out->range.to, &out->others));
    ASSAY_THEN(status, find_members(out));
    ASSAY_THEN(status, overview_read_events(out, err));
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s", location, assay_status_text(status));
    size_t first = 0, behind = 0, lacking = 0, end = 0;
    ASSAY_SEARCH(first, r->step_count, r->steps[first].step < out->range.from);
    ASSAY_SEARCH(behind, r->step_count, r->steps[behind].step < out->range.to);
    ASSAY_SEARCH(lacking, r->incomplete_count, r->incomplete[lacking].step < out->range.from);
    ASSAY_SEARCH(end, r->incomplete_count, r->incomplete[end].step < out->range.to);
    if (first == behind && r->step_count > 0)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: no step in --steps", location);
    out->info = (assay_trial){.tensors = r->files.tensors,
                              .catalog = &r->files.catalog,
                              .steps = behind > first ? r->steps + first : NULL,
                              .step_count = behind - first,
                              .worker_modes = r->worker_modes};
    out->outcome = (assay_trial_outcome){.trial = &out->trial,
                                         .info = &out->info,
                                         .catalog = r->files.catalog,
                                         .problems = r->files.problems,
                                         .incomplete = end > lacking ? r->incomplete + lacking : NULL,
                                         .incomplete_count = end - lacking};
    return ASSAY_OK;
}

static void overview_release(overview *o)
{
    for (size_t i = 0; o->member && i < o->files->catalog.collections.count; i++)
        free(o->member[i]);
    free(o->member);
    overview_release_events(o);
    free(o->tensor);
    assay_trial_others_release(&o->others);
    free(o->trial.path);
    free(o->trial.name);
    assay_recording_close(o->recording);
}

static int ls(const cli_context *context, int argc, char **argv)
{
    ls_options options = {.all = false};
    const char *location[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    overview o;
    assay_draw draw;
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = cli_options_parse(&cli_ls, argc, argv, &options, location, &operands, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    status = overview_read(location[0], &options, &o, &err);
    if (status == ASSAY_OK) {
        status = cli_given()->form == CLI_JSON  ? overview_put_json(&o, &out)
                 : cli_given()->form == CLI_CSV ? overview_put_csv(&o, &out)
                                                : overview_put_text(&o, cli_draw_style(CLI_DRAW_AUTO, &draw), &out);
        if (status != ASSAY_OK)
            assay_fail(&err, status, "%s: %s", location[0], assay_status_text(status));
    }
    int code = status != ASSAY_OK ? cli_fail(status, &err) : o.files->problems.losses > 0 ? CLI_LOSSES : CLI_DONE;
    overview_release(&o);
    if (status == ASSAY_OK)
        return cli_finish(&out, code);
    assay_buf_release(&out);
    return code;
}

const cli_command cli_ls = {"ls",
                            "TRIAL",
                            "Lists a trial: workers, steps by mode, collections, tensors with their shapes, profiler "
                            "data with its metrics, and what is missing or damaged.",
                            OPTIONS,
                            1,
                            1,
                            CLI_TRIALS | CLI_STEPS | CLI_LISTS | CLI_PAGED,
                            ls};
