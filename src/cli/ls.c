/* ls.c - assay ls: lists a trial. What it has of steps, workers and members is the recording's; here every tensor and
 * every file is looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "cli/overview.h"
#include "cli/terminal.h"
#include "report/report.h"

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
    if (!o->tensor)
        return ASSAY_ENOMEM;
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
    if (!member)
        return ASSAY_ENOMEM;
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

int overview_read(const char *location, overview *out, assay_error *err)
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
    if (status == ASSAY_OK)
        status = collect_tensors(out);
    if (status == ASSAY_OK)
        note_manifest(out);
    if (status == ASSAY_OK)
        status = assay_trial_list_others(out->files, INT64_MIN, INT64_MAX, &out->others);
    if (status == ASSAY_OK)
        status = find_members(out);
    if (status == ASSAY_OK)
        status = overview_read_events(out, err);
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

void overview_release(overview *o)
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
    (void)context;
    ls_options options = {false, false};
    const char *location[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    overview o;
    assay_draw draw;
    assay_buf out;
    int status = cli_options_parse(&cli_ls, argc, argv, &options, location, &operands, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    status = overview_read(location[0], &o, &err);
    o.all = options.all;
    assay_buf_init(&out, ASSAY_REPORT_CEILING);
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
                            "data with its metrics, and "
                            "what is missing or damaged.",
                            OPTIONS,
                            1,
                            1,
                            false,
                            ls,
                            true};
