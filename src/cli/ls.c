/* ls.c - assay ls: lists a trial. What it has of steps, workers and members is the recording's; here every tensor and
 * every file is looked at. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "cli/overview.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "report/text/layout.h"

/* ---- ls text ---- */

/* A trial's overview as text. */

static void print_collections(const overview *o, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"collection", "tensors", "patterns"};
    const assay_collections *all = &o->files->catalog.collections;
    assay_table table;
    if (all->count == 0)
        return;
    assay_table_init(&table, "ere", heads);
    for (size_t i = 0; i < all->count; i++) {
        const assay_collection *c = &all->list[i];
        size_t members = 0;
        assay_buf patterns = ASSAY_BUF(ASSAY_REPORT_CEILING);
        for (uint32_t t = 0; t < assay_dict_count(o->files->tensors); t++)
            members += o->member[i][t];
        for (size_t r = 0; r < c->regexes; r++)
            assay_put_format(&patterns, "%s%s", r ? "  " : "", c->regex[r]);
        assay_put_u8(&patterns, '\0');
        assay_table_cell(&table, c->name);
        assay_table_format(&table, "%zu", members);
        assay_table_cell(&table, assay_buf_status(&patterns) == ASSAY_OK ? (const char *)patterns.data : "?");
        assay_buf_release(&patterns);
    }
    assay_report_put_heading(out, "Collections");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
}

static void put_saved(const overview *o, const overview_tensor *t, assay_table *table)
{
    assay_buf saved = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (t->raw)
        assay_put_format(&saved, "values");
    for (int k = 0; k < ASSAY_KINDS; k++) {
        if (t->reductions & 1u << k)
            assay_put_format(&saved, "%s%s", saved.size ? " " : "", assay_recording_kind_name(k));
    }
    if (saved.size == 0 && t->same_as != ASSAY_NO_ID)
        assay_put_format(&saved, "as %s", assay_dict_name(o->files->tensors, t->same_as, NULL));
    else if (saved.size == 0)
        assay_put_format(&saved, t->promised ? "cannot be read" : "shape");
    assay_put_u8(&saved, '\0');
    assay_table_cell(table, assay_buf_status(&saved) == ASSAY_OK ? (const char *)saved.data : "?");
    assay_buf_release(&saved);
}

static void put_shape_cell(const overview_tensor *t, assay_table *table)
{
    assay_buf shape = ASSAY_BUF(4096);
    if (t->dims >= 0)
        cli_put_shape(&shape, t->shape, t->dims);
    assay_put_u8(&shape, '\0');
    assay_table_cell(table, assay_buf_status(&shape) == ASSAY_OK ? (const char *)shape.data : "?");
    assay_buf_release(&shape);
}

static void print_tensors(const overview *o, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"tensor", "dtype", "shape", "steps", "saved"};
    assay_table table;
    assay_table_init(&table, "elere", heads);
    for (uint32_t i = 0; i < assay_dict_count(o->files->tensors); i++) {
        const overview_tensor *t = &o->tensor[i];
        size_t length;
        const char *name = assay_dict_name(o->files->tensors, i, &length);
        assay_table_cell_n(&table, name, length);
        assay_table_cell(&table, t->dtype >= 0 ? assay_dtype_name(t->dtype) : "-");
        put_shape_cell(t, &table);
        assay_table_format(&table, "%" PRIu64, t->steps);
        put_saved(o, t, &table);
    }
    assay_report_put_heading(out, "Tensors");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
}

/* What is no tensor: how much there is, or all of it. */
static void print_others(const overview *o, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"no tensor", "kind", "steps", "last value"};
    const uint32_t count = o->others.paths ? assay_dict_count(o->others.paths) : 0;
    assay_table table;
    if (count == 0)
        return;
    if (!o->all) {
        assay_put_format(out, "%" PRIu32 " more value%s %s no tensor%s: --all lists %s.\n", count, assay_plural(count),
                         count == 1 ? "is" : "are", assay_plural(count), count == 1 ? "it" : "them");
        return;
    }
    assay_table_init(&table, "elre", heads);
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *path = assay_dict_name(o->others.paths, i, &length);
        assay_table_cell_n(&table, path, length);
        assay_table_cell(&table, o->others.list[i].kind);
        assay_table_format(&table, "%" PRIu64, o->others.list[i].steps);
        assay_table_cell(&table, o->others.list[i].value);
    }
    assay_report_put_heading(out, "Beside tensors");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
}

static int overview_put_text(const overview *o, const assay_draw *draw, assay_buf *out)
{
    assay_report_put_head(&o->outcome, draw, out);
    print_collections(o, draw, out);
    if (o->writers == 0 || assay_dict_count(o->files->tensors) > 0)
        print_tensors(o, draw, out);
    print_others(o, draw, out);
    overview_put_events(o, draw, out);
    assay_report_put_completeness(&o->outcome, draw, out);
    assay_report_put_problems(&o->outcome, draw, out);
    return assay_buf_status(out);
}

/* ---- ls json ---- */

static void put_tensor_name(assay_jw *w, const char *key, const overview *o, uint32_t id)
{
    size_t length;
    const char *name = assay_dict_name(o->files->tensors, id, &length);
    assay_jw_text_n(w, key, name, length);
}

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

static void put_collections(assay_jw *w, const overview *o)
{
    const assay_collections *all = &o->files->catalog.collections;
    begin_list(w, "collections");
    for (size_t i = 0; i < all->count; i++) {
        const assay_collection *c = &all->list[i];
        begin_item(w);
        assay_jw_text(w, "name", c->name);
        assay_jw_texts(w, "include_regex", (const char *const *)c->regex, c->regexes);
        assay_jw_array(w, "tensors"); /* those that belong to it; a pattern that gives up is among the problems */
        for (uint32_t t = 0; t < assay_dict_count(o->files->tensors); t++)
            if (o->member[i][t])
                put_tensor_name(w, NULL, o, t);
        assay_jw_end(w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_tensors(assay_jw *w, const overview *o)
{
    begin_list(w, "tensors");
    for (uint32_t t = 0; t < assay_dict_count(o->files->tensors); t++) {
        const overview_tensor *tensor = &o->tensor[t];
        begin_item(w);
        put_tensor_name(w, "name", o, t);
        assay_jw_text(w, "dtype", tensor->dtype >= 0 ? assay_dtype_name(tensor->dtype) : NULL);
        if (tensor->dims >= 0)
            assay_jw_i64s(w, "shape", tensor->shape, (size_t)tensor->dims);
        else
            assay_jw_null(w, "shape");
        ASSAY_JW(w, "steps", tensor->steps, "records", tensor->raw);
        assay_jw_array(w, "reductions");
        for (int k = 0; k < ASSAY_KINDS; k++)
            if (tensor->reductions & 1u << k)
                assay_jw_text(w, NULL, assay_recording_kind_name(k));
        assay_jw_end(w);
        if (tensor->same_as != ASSAY_NO_ID)
            put_tensor_name(w, "same_as", o, tensor->same_as);
        if (tensor->promised)
            assay_jw_bool(w, "promised", true);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

/* What is no tensor; a listing of --all alone has it. */
static void put_others(assay_jw *w, const overview *o)
{
    const uint32_t count = o->others.paths ? assay_dict_count(o->others.paths) : 0;
    if (!o->all)
        return;
    begin_list(w, "others");
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *path = assay_dict_name(o->others.paths, i, &length);
        begin_item(w);
        assay_jw_text_n(w, "path", path, length);
        ASSAY_JW(w, "kind", o->others.list[i].kind, "steps", o->others.list[i].steps, "value", o->others.list[i].value);
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
    put_collections(&w, o);
    put_tensors(&w, o);
    overview_put_events_json(o, &w);
    put_others(&w, o);
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
    bool all, json;
} ls_options;

static const assay_setting OPTIONS[] = {
    {"all", ASSAY_SETTING_SWITCH, offsetof(ls_options, all), NULL,
     "Also list what is not a tensor: numbers, texts and objects that checkpoints hold."},
    {"json", ASSAY_SETTING_SWITCH, offsetof(ls_options, json), NULL,
     "As JSON: every step, the members of every collection, every tensor."},
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

/* How many entries of a part are in a file. */
static uint32_t count_in_file(const assay_shard *s, const assay_part *part, uint32_t file)
{
    uint32_t count = 0;
    for (size_t i = part->first; i < part->first + part->count; i++)
        count += assay_part_same_file(part, s->entries[i].file, file);
    return count;
}

/* The path of a part's file in `room`; NULL, and a problem, when it is not there. */
static const char *find_file(overview *o, const assay_part *part, uint32_t file, char room[ASSAY_PATH_ROOM])
{
    assay_error err = {""};
    const char *path = assay_part_file(&o->files->catalog, part, file, room);
    int there = path ? assay_store_exists(o->files->store, path, &err) : 0;
    if (there < 0)
        assay_problems_add(&o->files->problems, ASSAY_PROBLEM_READ, part->step, path, -1, "%s", err.text);
    if (there != 0)
        return there == 1 ? path : NULL;
    uint32_t records = count_in_file(&o->files->shard, part, file);
    assay_problems_add(&o->files->problems, ASSAY_PROBLEM_EVENT_MISSING, part->step, path ? path : room, -1,
                       "the index lists %u record%s in this file, which is not there", records, assay_plural(records));
    return NULL;
}

static int look_at_part(overview *o, assay_trial_reader *reader, const assay_part *part)
{
    const assay_shard *s = &o->files->shard;
    char room[ASSAY_PATH_ROOM] = "";
    const char *path = NULL;
    const assay_entry *last = NULL;
    int status = ASSAY_OK;
    for (size_t i = part->first; i < part->first + part->count && status == ASSAY_OK; i++) {
        const assay_entry *entry = &s->entries[i];
        overview_tensor *t = &o->tensor[entry->tensor];
        if (entry->kind == ASSAY_PIECE) /* the whole has a row of its own */
            continue;
        if (!last || !assay_part_same_file(part, last->file, entry->file))
            path = find_file(o, part, entry->file, room);
        last = entry;
        if (t->last_step != part->step)
            t->steps++;
        t->last_step = part->step;
        if (entry->kind == ASSAY_RAW) {
            t->raw++;
            if (t->dtype < 0 && path)
                status = look_at(o, reader, part, path, entry);
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
        if (claim->tensor >= count)
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
static int overview_read(const char *location, overview *out, assay_error *err)
{
    *out = (overview){0};
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
    ASSAY_THEN(status, assay_trial_list_others(out->files, INT64_MIN, INT64_MAX, &out->others));
    ASSAY_THEN(status, find_members(out));
    ASSAY_THEN(status, overview_read_events(out, err));
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s", location, assay_status_text(status));
    out->info = (assay_trial){.tensors = r->files.tensors,
                              .catalog = &r->files.catalog,
                              .steps = r->steps,
                              .step_count = r->step_count,
                              .worker_modes = r->worker_modes};
    out->outcome = (assay_trial_outcome){.trial = &out->trial,
                                         .info = &out->info,
                                         .catalog = r->files.catalog,
                                         .problems = r->files.problems,
                                         .incomplete = r->incomplete,
                                         .incomplete_count = r->incomplete_count};
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
    ls_options options = {false, false};
    const char *location[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    overview o;
    assay_draw draw;
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = cli_options_parse(&cli_ls, argc, argv, &options, location, &operands, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    status = overview_read(location[0], &o, &err);
    o.all = options.all;
    if (status == ASSAY_OK) {
        status = options.json ? overview_put_json(&o, &out)
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
                            false,
                            ls,
                            true,
                            true};
