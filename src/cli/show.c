/* show.c - assay show: statistics or elements of tensors, one row for each step and worker.
 *
 * 1. Select the index entries and sort them by (tensor, step, worker, kind): 24 bytes each.
 * 2. The entries of one tensor, step and worker form one row: the tensor itself and its saved reductions. If only its
 *    shape was saved, that is a row too.
 * 3. Read each record once, in pieces, and print its row. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/regex.h"
#include "cli/metrics.h"
#include "cli/overview.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "tensor/stats.h"

#define MOST_REPORT ((size_t)1 << 30) /* bytes */

typedef struct show_options {
    cli_integer step;
    const char *worker, *collection, *metric;
    int mode; /* assay_mode */
    int draw; /* cli_draw_when */
    bool values, csv, json, regex;
} show_options;

#define FIELD(name) offsetof(show_options, name)
static const cli_option OPTIONS[] = {
    {"step", CLI_INTEGER, FIELD(step), "N", "Only this global step.", NULL},
    {"mode", CLI_CHOICE, FIELD(mode), "MODE", "Only steps of this mode: TRAIN, EVAL, PREDICT or GLOBAL.",
     "|TRAIN|EVAL|PREDICT|GLOBAL"},
    {"worker", CLI_TEXT, FIELD(worker), "NAME", "Only this worker; of metrics also a machine.", NULL},
    {"collection", CLI_TEXT, FIELD(collection), "NAME",
     "Every tensor of this collection; with TENSOR, which may then be left out, only those of it.", NULL},
    {"regex", CLI_FLAG, FIELD(regex), NULL,
     "TENSOR is a regular expression: show every tensor whose name matches it anywhere.", NULL},
    {"metric", CLI_TEXT, FIELD(metric), "NAME",
     "In place of TENSOR: this metric of the profiler data (cpu, cpu_memory, gpu, gpu_memory, io, network, step, or "
     "another one's name), a row for each machine, GPU or worker.",
     NULL},
    {"values", CLI_FLAG, FIELD(values), NULL, "Print the elements instead of statistics.", NULL},
    {"csv", CLI_FLAG, FIELD(csv), NULL, "As comma-separated values with a line of names.", NULL},
    {"json", CLI_FLAG, FIELD(json), NULL, "As JSON, one row a line.", NULL},
    {"draw", CLI_CHOICE, FIELD(draw), "WHEN",
     "Add drawings: sparklines of tensors, bars of class counts, shaded confusion matrices: auto (on a terminal), "
     "always or "
     "never. Default: auto.",
     CLI_DRAW_WORDS},
    {NULL, CLI_FLAG, 0, NULL, NULL, NULL},
};

typedef struct selected {
    const assay_part *part;
    const assay_entry *entry; /* NULL: only the shape was saved */
    const assay_shape_entry *shape;
    uint32_t tensor;
} selected;

typedef struct selection {
    selected *list;
    size_t count, room;
} selection;

static int compare_selected(const void *a, const void *b)
{
    const selected *x = a, *y = b;
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    if (x->part != y->part) /* parts stand in order of (step, worker) */
        return x->part < y->part ? -1 : 1;
    if (!x->entry || !y->entry) /* a shape is alone; the same one twice */
        return 0;
    return (x->entry->kind > y->entry->kind) - (x->entry->kind < y->entry->kind);
}

static int select_one(selection *s, const selected *one)
{
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        selected *more = assay_realloc_array(s->list, room, sizeof *more);
        if (!more)
            return ASSAY_ENOMEM;
        s->list = more;
        s->room = room;
    }
    s->list[s->count++] = *one;
    return ASSAY_OK;
}

static int fail_collection(const assay_trial_files *files, const char *name, assay_error *err)
{
    const assay_collections *all = &files->catalog.collections;
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    assay_nearest_begin(&nearest, name, strlen(name));
    for (size_t c = 0; c < all->count; c++)
        assay_nearest_offer(&nearest, all->list[c].name);
    return assay_fail(err, ASSAY_ENOTFOUND,
                      "%s: no collection is called \"%.100s\"%s; `assay ls` lists the collections",
                      assay_store_location(files->store), name, assay_nearest_hint(&nearest, hint));
}

/* Takes back wanted[id] of the tensors that do not belong to the collection. */
static int keep_collection(const assay_trial_files *files, const char *name, uint8_t *wanted, assay_error *err)
{
    const assay_collections *all = &files->catalog.collections;
    const assay_collection *collection = assay_collections_find(all, name);
    assay_matcher *matcher = NULL;
    assay_problems problems;
    size_t found = 0;
    if (!collection)
        return fail_collection(files, name, err);
    assay_problems_init(&problems);
    int status = assay_matcher_new(all, (size_t)(collection - all->list), &matcher, &problems);
    for (uint32_t t = 0; t < assay_dict_count(files->tensors) && status == ASSAY_OK; t++) {
        size_t length;
        const char *tensor = assay_dict_name(files->tensors, t, &length);
        int has = wanted[t] ? assay_matcher_has(matcher, tensor, length, &problems) : 0;
        status = has < 0 ? has : ASSAY_OK;
        wanted[t] = has == 1;
        found += wanted[t];
    }
    assay_matcher_free(matcher);
    assay_problems_release(&problems);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "out of memory for the list of tensors");
    if (found == 0)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: collection \"%.100s\" has no such tensor",
                          assay_store_location(files->store), name);
    return ASSAY_OK;
}

/* wanted[id] for every tensor. */
static int choose_tensors(const assay_trial_files *files, const char *text, bool is_regex, uint8_t *wanted,
                          assay_error *err)
{
    assay_regex *regex = NULL;
    size_t found = 0;
    int status = is_regex ? assay_regex_new(text, &regex, err) : ASSAY_OK;
    if (status != ASSAY_OK)
        return status;
    for (uint32_t t = 0; t < assay_dict_count(files->tensors); t++) {
        size_t length;
        const char *name = assay_dict_name(files->tensors, t, &length);
        int matches =
            regex ? assay_regex_search(regex, name, length) : length == strlen(text) && memcmp(name, text, length) == 0;
        if (matches < 0)
            assay_log_warn(
                "pattern \"%.200s\" takes too long on tensor \"%.200s\", which is left out: simplify the pattern", text,
                name);
        wanted[t] = matches == 1;
        found += wanted[t];
    }
    assay_regex_free(regex);
    if (found > 0)
        return ASSAY_OK;
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    assay_nearest_begin(&nearest, text, strlen(text));
    for (uint32_t t = 0; t < assay_dict_count(files->tensors) && !is_regex; t++)
        assay_nearest_offer(&nearest, assay_dict_name(files->tensors, t, &(size_t){0}));
    return assay_fail(err, ASSAY_ENOTFOUND, "%s: no tensor %s \"%.200s\"%s; `assay ls` lists the tensors",
                      assay_store_location(files->store), is_regex ? "matches" : "is called", text,
                      assay_nearest_hint(&nearest, hint));
}

/* Selects what a part has of the tensors that are wanted. `seen` marks those of it with a record, by `stamp`. */
static int select_in_part(const assay_trial_files *files, const assay_part *part, const uint8_t *wanted, bool values,
                          size_t *seen, size_t stamp, selection *out)
{
    int status = ASSAY_OK;
    for (size_t i = part->first; i < part->first + part->count && status == ASSAY_OK; i++) {
        const assay_entry *entry = &files->shard.entries[i];
        if (entry->kind == ASSAY_PIECE) /* the whole has a row of its own */
            continue;
        seen[entry->tensor] = stamp;
        if (wanted[entry->tensor] && (!values || entry->kind == ASSAY_RAW))
            status = select_one(out, &(selected){part, entry, NULL, entry->tensor});
    }
    for (size_t i = part->first_shape; i < part->first_shape + part->shapes && status == ASSAY_OK; i++) {
        const assay_shape_entry *shape = &files->shard.shapes[i];
        if (!wanted[shape->tensor] || seen[shape->tensor] == stamp || shape->dims > ASSAY_MAX_DIMS)
            continue;
        seen[shape->tensor] = stamp;
        if (!values)
            status = select_one(out, &(selected){part, NULL, shape, shape->tensor});
    }
    return status;
}

static int select_entries(const assay_trial_files *files, const show_options *options, const uint8_t *wanted,
                          selection *out, assay_error *err)
{
    uint32_t worker = options->worker ? assay_catalog_worker(&files->catalog, options->worker) : ASSAY_NO_ID;
    if (options->worker && worker == ASSAY_NO_ID)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: no worker is called \"%.100s\"; `assay ls` lists the workers",
                          assay_store_location(files->store), options->worker);
    size_t *seen = assay_alloc_zeroed(assay_dict_count(files->tensors), sizeof *seen);
    int status = seen ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t p = 0; p < files->shard.count && status == ASSAY_OK; p++) {
        const assay_part *part = &files->shard.parts[p];
        if ((options->step.given && part->step != options->step.value) ||
            (options->mode && part->mode != options->mode) || (worker != ASSAY_NO_ID && part->worker != worker))
            continue;
        status = select_in_part(files, part, wanted, options->values, seen, p + 1, out);
    }
    free(seen);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "out of memory for the list of records");
    if (out->count == 0)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: %s saved that fits; `assay ls` lists steps and tensors",
                          assay_store_location(files->store), options->values ? "no tensor was" : "nothing was");
    qsort(out->list, out->count, sizeof *out->list, compare_selected);
    return status;
}

/* Statistics of the record that is open. */
static int measure(assay_trial_reader *reader, show_row *row, assay_error *err)
{
    assay_stats_acc acc;
    const uint8_t *piece;
    size_t size, element = assay_dtype_size(row->dtype);
    int status = assay_stats_init(&acc, row->dtype);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "elements of dtype %s have no statistics", assay_dtype_name(row->dtype));
    while ((status = assay_reader_content(reader->records, 0, &piece, &size, err)) == ASSAY_OK && size > 0)
        assay_stats_feed(&acc, piece, size / element);
    assay_stats_finish(&acc, &row->stats);
    return status;
}

static int read_entry(assay_trial_reader *reader, const selected *s, bool values, show_row *row, assay_error *err)
{
    assay_record record;
    int kind = s->entry->kind, status = assay_trial_record(reader, s->part, s->entry, &record, err);
    if (status != ASSAY_OK)
        return status;
    if (kind != ASSAY_RAW) {
        status = assay_reader_number(reader->records, &row->reduction[kind], err);
        if (status == ASSAY_OK)
            row->reductions |= 1u << kind;
        return status;
    }
    row->dtype = record.dtype;
    row->dims = record.dims;
    row->elements = record.elements;
    memcpy(row->shape, record.shape, (size_t)record.dims * sizeof *row->shape);
    if (record.dtype != ASSAY_STRING && !values)
        status = measure(reader, row, err);
    row->raw = status == ASSAY_OK;
    return status;
}

static show_row start_row(const assay_trial_files *files, const selected *s)
{
    show_row row = {.worker = files->catalog.worker[s->part->worker],
                    .worker_number = s->part->worker,
                    .step = s->part->step,
                    .mode_step = s->part->mode_step,
                    .mode = s->part->mode,
                    .dtype = -1};
    row.tensor = assay_dict_name(files->tensors, s->tensor, &row.tensor_length);
    if (s->shape) {
        row.only_shape = true;
        row.dims = (int)s->shape->dims;
        memcpy(row.shape, s->shape->dim, s->shape->dims * sizeof *row.shape);
    }
    return row;
}

/* Prints the row made of list[from, to), from the highest kind down: the tensor itself is read last and stays open. */
static int show_one(assay_trial_reader *reader, const selection *s, size_t from, size_t to, show_sink *sink,
                    bool *damaged, assay_error *err)
{
    show_row row = start_row(reader->trial, &s->list[from]);
    for (size_t i = to; i > from && !row.only_shape; i--) {
        assay_error cause = {""};
        int status = read_entry(reader, &s->list[i - 1], sink->values, &row, &cause);
        if (status == ASSAY_ENOMEM)
            return assay_fail(err, status, "%s", cause.text);
        if (status != ASSAY_OK) {
            *damaged = true;
            assay_log_warn("%s", cause.text);
            memcpy(row.error, cause.text, sizeof row.error);
        }
    }
    return sink->values ? show_put_values(sink, &row, reader, damaged, err) : show_put_row(sink, &row, reader, err);
}

static int show_all(const assay_trial_files *files, const selection *s, show_sink *sink, bool *damaged,
                    assay_error *err)
{
    assay_trial_reader reader = {.trial = files};
    int status = ASSAY_OK;
    show_put_start(sink);
    for (size_t from = 0, to; from < s->count && status == ASSAY_OK; from = to) {
        for (to = from + 1;
             to < s->count && s->list[to].part == s->list[from].part && s->list[to].tensor == s->list[from].tensor;
             to++)
            ;
        status = show_one(&reader, s, from, to, sink, damaged, err);
        if (status == ASSAY_OK)
            status = show_flush(sink, false, err);
    }
    if (status == ASSAY_OK)
        status = show_put_end(sink, err);
    assay_trial_reader_close(&reader);
    return status;
}

static int show_trial(const assay_trial_files *files, const show_options *options, const char *tensor, bool *damaged,
                      assay_error *err)
{
    selection chosen = {NULL, 0, 0};
    assay_draw draw;
    assay_worker_names names = {0};
    show_sink sink = {.form = options->json  ? SHOW_JSON
                              : options->csv ? SHOW_CSV
                                             : SHOW_TEXT,
                      .values = options->values};
    uint8_t *wanted = assay_alloc_zeroed(assay_dict_count(files->tensors), 1);
    int status = wanted ? assay_worker_names_init(&names, &files->catalog) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        status = choose_tensors(files, tensor ? tensor : "", options->regex || !tensor, wanted, err);
    else
        assay_fail(err, status, "out of memory for the list of tensors");
    if (status == ASSAY_OK && options->collection)
        status = keep_collection(files, options->collection, wanted, err);
    if (sink.form == SHOW_TEXT && !sink.values)
        sink.chart = (show_chart){.draw = cli_draw_style((cli_draw_when)options->draw, &draw), .names = &names};
    if (status == ASSAY_OK)
        status = select_entries(files, options, wanted, &chosen, err);
    assay_buf_init(&sink.out, ASSAY_REPORT_CEILING);
    if (status == ASSAY_OK)
        status = show_all(files, &chosen, &sink, damaged, err);
    assay_buf_release(&sink.out);
    show_chart_release(&sink.chart);
    assay_worker_names_release(&names);
    free(chosen.list);
    free(wanted);
    return status;
}

static int show_tensors(const show_options *options, const char *trial, const char *tensor)
{
    assay_error err = {""};
    assay_trial_files files;
    int status = assay_trial_open(trial, &files, &err);
    if (status != ASSAY_OK)
        return cli_fail(status == ASSAY_ENOMEM ? status : ASSAY_ENOTFOUND, &err);
    for (size_t i = 0; i < files.problems.kept; i++)
        assay_log_warn("%s: %s: %s", trial, files.problems.list[i].file ? files.problems.list[i].file : "",
                       files.problems.list[i].text);
    bool damaged = files.problems.losses > 0;
    status = show_trial(&files, options, tensor, &damaged, &err);
    assay_trial_release(&files);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    return damaged ? CLI_LOSSES : CLI_DONE;
}

static int show_report(const show_options *options, const char *path)
{
    assay_draw draw;
    assay_buf text, out;
    assay_error err = {""};
    assay_buf_init(&text, MOST_REPORT);
    assay_buf_init(&out, ASSAY_REPORT_CEILING);
    int status = assay_file_read(path, MOST_REPORT, &text, &err);
    if (status == ASSAY_EIO) /* a directory, as a rule */
        status =
            assay_fail(&err, ASSAY_ENOTFOUND, "%s: no report; show takes a TRIAL and a TENSOR, or a report.json", path);
    if (status == ASSAY_OK)
        status = assay_report_put_results(path, text.data, text.size,
                                          cli_draw_style((cli_draw_when)options->draw, &draw), &out, &err);
    assay_buf_release(&text);
    if (status == ASSAY_OK)
        return cli_finish(&out, CLI_DONE);
    assay_buf_release(&out);
    return cli_fail(status, &err);
}

static int check_metric(const show_options *options, size_t operands, assay_error *err)
{
    if (operands == 1 && !options->step.given && !options->mode && !options->collection && !options->regex &&
        !options->values)
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EUSAGE,
                      "show: --metric goes with --worker, --csv, --json and --draw, and stands in place of TENSOR");
}

static int show_metric(const show_options *options, const char *trial)
{
    const cli_course_choice choice = {options->metric, options->worker};
    const cli_metrics_form form = options->json ? CLI_METRICS_JSON : options->csv ? CLI_METRICS_CSV : CLI_METRICS_TEXT;
    assay_draw draw;
    return cli_metrics_show(trial, &choice, form, cli_draw_style((cli_draw_when)options->draw, &draw));
}

static int show(const cli_context *context, int argc, char **argv)
{
    (void)context;
    show_options options = {.mode = ASSAY_MODE_NONE};
    const char *operand[2] = {NULL, NULL};
    size_t operands = 0;
    assay_error err = {""};
    int status = cli_options_parse(&cli_show, argc, argv, &options, operand, &operands, &err);
    bool chooses = options.step.given || options.mode || options.worker || options.values || options.csv ||
                   options.json || options.regex;
    if (status == ASSAY_OK && options.csv && options.json)
        status = assay_fail(&err, ASSAY_EUSAGE, "show: --csv and --json exclude each other");
    if (status == ASSAY_OK && operands == 1 && chooses && !options.collection && !options.metric)
        status = assay_fail(&err, ASSAY_EUSAGE, "show: TENSOR is missing; with a report only --draw goes");
    if (status == ASSAY_OK && options.metric)
        status = check_metric(&options, operands, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    if (options.metric)
        return show_metric(&options, operand[0]);
    return operands == 1 && !options.collection ? show_report(&options, operand[0])
                                                : show_tensors(&options, operand[0], operand[1]);
}

const cli_command cli_show = {"show",
                              "TRIAL TENSOR | TRIAL --metric NAME | REPORT",
                              "Shows what was saved of a tensor, a row for each step and worker: statistics, saved "
                              "reductions, or the elements. Or a metric of the profiler data. Or what the rules and "
                              "aggregations of a report.json came to.",
                              OPTIONS,
                              1,
                              2,
                              false,
                              show,
                              true};
