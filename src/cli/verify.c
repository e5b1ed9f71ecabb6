/* verify.c - assay verify: is a checkpoint whole and sane?
 *
 * All ranks read it once: damage (headers, indexes, sizes, zip directories, checksums) becomes problems; NaN and
 * moments become findings of rules. Rank 0 then reads the index again and gives each file its line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/s3.h"
#include "cli/terminal.h"
#include "cli/verify_words.h"
#include "report/report.h"
#include "report/text/layout.h"

typedef struct verify_options {
    bool last, json, quiet;
    cli_range steps;
    size_t memory;
    double progress;
} verify_options;

#define FIELD(name) offsetof(verify_options, name)
static const cli_option OPTIONS[] = {
    {"last", CLI_FLAG, FIELD(last), NULL, "Only the newest checkpoint, which a resume would load.", NULL},
    {"steps", CLI_RANGE, FIELD(steps), "A:B", "Only the steps from A up to, but not including, B.", NULL},
    {"json", CLI_FLAG, FIELD(json), NULL, "Print JSON.", NULL},
    {"memory", CLI_SIZE, FIELD(memory), "SIZE",
     "Memory that a rank may use, including program, index and what rules keep, such as 2G. Default: 512M.", NULL},
    {"progress", CLI_SECONDS, FIELD(progress), "N",
     "A progress line on standard error every N seconds; 0: none. Default: a line that rewrites itself on a terminal, "
     "else one every 10 seconds.",
     NULL},
    {"quiet", CLI_FLAG, FIELD(quiet), NULL, "No progress, notes or warnings on standard error; errors only.", NULL},
    {NULL, CLI_FLAG, 0, NULL, NULL, NULL},
};

static const char JOB[] =
    "{\"trials\": [], \"rules\": ["
    "{\"rule\": \"CheckpointStructure\", \"parameters\": {\"tests\": \"dtype,shape,tied,vanished\"}},"
    "{\"rule\": \"ExplodingTensor\", \"parameters\": {\"strict\": false}}, {\"rule\": \"AllZero\", \"parameters\": "
    "{\"collection_names\": \"weights,biases\", \"num_steps\": 1000000, \"after_values\": true}},"
    "{\"rule\": \"NegativeSecondMoment\"}, {\"rule\": \"AdamMomentBound\"}]}";

/* ---- what was found, file by file ---- */

typedef struct file_line {
    int64_t step;
    uint64_t bytes;
    size_t tensors, losses, findings, remarks;
    char *first;   /* what is said of it first; owned; NULL: nothing */
    char *unsized; /* why its size is not known; owned; NULL: it is */
} file_line;

typedef struct tally {
    const assay_trial_outcome *outcome;
    assay_trial_files again; /* the trial, read once more */
    assay_dict *names;       /* paths, by number of a line */
    file_line *line;
    size_t room;
    uint32_t *of; /* [entries of again.shard]: the line of each */
    int64_t from, to;
    size_t losses, findings;
} tally;

static bool is_asked(const tally *t, int64_t step)
{
    return step >= t->from && step < t->to;
}

/* The line of a file, made when there is none; NULL without memory. */
static file_line *line_of(tally *t, const char *path, int64_t step)
{
    const uint32_t known = assay_dict_count(t->names), id = assay_dict_add(t->names, path, strlen(path));
    if (id == ASSAY_NO_ID)
        return NULL;
    if (id >= t->room) {
        const size_t room = t->room ? 2 * t->room : 64;
        file_line *grown = assay_realloc_array(t->line, room, sizeof *grown);
        if (!grown)
            return NULL;
        t->line = grown;
        t->room = room;
    }
    file_line *line = &t->line[id];
    if (id == known) {
        uint64_t bytes = 0;
        assay_error err = {""};
        *line = (file_line){.step = step};
        const int found = assay_store_size_of(t->again.store, path, &bytes, &err);
        line->bytes = found == 1 ? bytes : 0;
        if (found == ASSAY_EIO && !(line->unsized = assay_copy_text(err.text)))
            return NULL;
    }
    return line;
}

static int say(file_line *line, const char *text)
{
    if (!line->first && !(line->first = assay_copy_text(text)))
        return ASSAY_ENOMEM;
    return ASSAY_OK;
}

/* Lines of the files that a part lists by themselves: pieces of tensors lie in several. */
static int add_listed(tally *t, const assay_part *part)
{
    for (uint32_t f = 0; part->files && f < part->files->count; f++)
        if (!part->files->file[f].note && !line_of(t, part->files->file[f].name, part->step))
            return ASSAY_ENOMEM;
    return ASSAY_OK;
}

/* Lines of the files that have tensors, in the order of steps. */
static int add_files(tally *t)
{
    const assay_shard *shard = &t->again.shard;
    t->of = assay_alloc_zeroed(shard->entry_count + 1, sizeof *t->of);
    if (!t->of)
        return ASSAY_ENOMEM;
    for (size_t p = 0; p < shard->count; p++) {
        const assay_part *part = &shard->parts[p];
        if (is_asked(t, part->step) && add_listed(t, part) != ASSAY_OK)
            return ASSAY_ENOMEM;
        for (size_t e = part->first; is_asked(t, part->step) && e < part->first + part->count; e++) {
            char room[ASSAY_PATH_ROOM];
            const char *path = assay_part_file(&t->again.catalog, part, shard->entries[e].file, room);
            file_line *line = path ? line_of(t, path, part->step) : NULL;
            if (path && !line)
                return ASSAY_ENOMEM;
            if (line) {
                line->tensors++;
                t->of[e] = (uint32_t)(line - t->line) + 1;
            }
        }
    }
    return ASSAY_OK;
}

/* What was found; `known`: only what is not among that, for a disk may fail when the trial is opened again. */
static int add_problems(tally *t, const assay_problems *problems, const assay_problems *known)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < problems->kept; i++) {
        const assay_problem *p = &problems->list[i];
        if ((p->step >= 0 && !is_asked(t, p->step)) || (known && assay_problems_have(known, p->text)))
            continue;
        file_line *line = line_of(t, *p->file ? p->file : ".", p->step);
        if (!line)
            return ASSAY_ENOMEM;
        const bool loss = assay_problem_is_loss(p->kind);
        line->losses += loss;
        line->remarks += !loss;
        t->losses += loss;
        status = say(line, p->text);
    }
    return status;
}

/* A line for what is in no file of a step; NULL without memory. */
static file_line *add_step(tally *t, int64_t step)
{
    char name[32];
    snprintf(name, sizeof name, "step %" PRId64, step);
    return line_of(t, name, step);
}

/* The line of a finding: the file that has its tensor, else the step's own; NULL without memory. */
static file_line *line_of_finding(tally *t, const assay_finding *f, const char *tensor)
{
    const assay_shard *shard = &t->again.shard;
    const uint32_t id = assay_dict_find(t->again.tensors, tensor, strlen(tensor));
    for (size_t p = assay_shard_find(shard, f->step); p < shard->count && shard->parts[p].step == f->step; p++) {
        const assay_part *part = &shard->parts[p];
        if (f->worker != ASSAY_ALL_WORKERS && part->worker != f->worker)
            continue;
        const assay_entry *entry = id == ASSAY_NO_ID ? NULL : assay_part_raw(shard, part, id);
        if (entry && t->of[entry - shard->entries])
            return &t->line[t->of[entry - shard->entries] - 1];
    }
    return add_step(t, f->step);
}

static int add_rule(tally *t, const assay_rule_outcome *rule)
{
    const assay_findings *findings = rule->verdict.findings;
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < findings->kept; i++) {
        const assay_finding *f = &findings->list[i];
        const char *tensor = f->tensor == ASSAY_NO_TENSOR ? "" : assay_trial_tensor(t->outcome->info, f->tensor);
        file_line *line = line_of_finding(t, f, tensor);
        assay_buf text;
        assay_buf_init(&text, 1 << 16);
        verify_put_meaning(rule, f, tensor, &text);
        status = line && assay_buf_status(&text) == ASSAY_OK ? say(line, (const char *)text.data) : ASSAY_ENOMEM;
        assay_buf_release(&text);
        if (line)
            line->findings++;
    }
    t->findings += findings->total;
    return status;
}

/* Of the first `files` lines: a file whose size nobody could tell was not seen as a whole, whatever else was read. */
static int add_unsized(tally *t, uint32_t files)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < files; i++) {
        file_line *line = &t->line[i];
        if (!line->unsized || line->losses > 0)
            continue;
        line->losses++;
        t->losses++;
        status = say(line, line->unsized);
    }
    return status;
}

/* A remark about tensors that are there and cannot be looked at. */
static int add_unread(tally *t)
{
    assay_buf text;
    int64_t step = -1;
    assay_buf_init(&text, 1 << 16);
    int status = verify_put_unread(&t->again, t->from, t->to, &step, &text);
    if (status == ASSAY_OK && text.data[0]) {
        file_line *line = NULL;
        for (uint32_t i = assay_dict_count(t->names); i-- > 0;) /* the first of the step */
            line = t->line[i].step == step ? &t->line[i] : line;
        line = line ? line : add_step(t, step);
        status = line ? say(line, (const char *)text.data) : ASSAY_ENOMEM;
        if (line)
            line->remarks++;
    }
    assay_buf_release(&text);
    return status;
}

static int fill(tally *t, const assay_job *job, assay_error *err)
{
    int status = assay_trial_open(t->outcome->trial->path, &t->again, err);
    if (status != ASSAY_OK)
        return status;
    status = (t->names = assay_dict_new()) ? add_files(t) : ASSAY_ENOMEM;
    const uint32_t files = t->names ? assay_dict_count(t->names) : 0; /* then lines of whatever problems are about */
    if (status == ASSAY_OK)
        status = add_problems(t, &t->outcome->problems, NULL);
    if (status == ASSAY_OK)
        status = add_problems(t, &t->again.problems, &t->outcome->problems);
    if (status == ASSAY_OK)
        status = add_unsized(t, files);
    if (status == ASSAY_OK)
        status = add_unread(t);
    for (size_t i = 0; status == ASSAY_OK && i < job->rule_count; i++) {
        const assay_rule_outcome *rule = &t->outcome->rules[i];
        status = rule->verdict.status == ASSAY_RULE_ERROR && rule->verdict.findings->total == 0 ? ASSAY_OK
                                                                                                : add_rule(t, rule);
    }
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "out of memory while the files are listed") : status;
}

static void release(tally *t)
{
    for (uint32_t i = 0; t->names && i < assay_dict_count(t->names) && i < t->room; i++) {
        free(t->line[i].first);
        free(t->line[i].unsized);
    }
    free(t->line);
    free(t->of);
    assay_dict_free(t->names);
    assay_trial_release(&t->again);
}

/* ---- output ---- */

static const char *word_of(const file_line *line)
{
    return line->losses > 0 ? "damaged" : line->findings > 0 ? "suspect" : line->remarks > 0 ? "note" : "sound";
}

static const char *verdict_of(const tally *t)
{
    return t->losses > 0 ? "damaged" : t->findings > 0 ? "suspect" : "sound";
}

/* The line that the verdict is about; ASSAY_NO_ID: none. */
static uint32_t worst_of(const tally *t)
{
    for (uint32_t i = 0; i < assay_dict_count(t->names); i++)
        if (strcmp(word_of(&t->line[i]), verdict_of(t)) == 0)
            return i;
    return ASSAY_NO_ID;
}

/* The first line, names as they are. */
static void put_verdict(const tally *t, size_t steps, assay_buf *out)
{
    const uint32_t lines = assay_dict_count(t->names), worst = worst_of(t);
    uint32_t files = lines;
    size_t bad = 0, notes = 0, tensors = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lines; i++) {
        const bool note = strcmp(word_of(&t->line[i]), "note") == 0;
        notes += note;
        if (note && t->line[i].tensors == 0) { /* what was not read is no part of the verdict */
            files--;
            continue;
        }
        bad += t->line[i].losses + t->line[i].findings > 0;
        tensors += t->line[i].tensors;
        bytes += t->line[i].bytes;
    }
    assay_put_format(out, "%s: ", verdict_of(t));
    if (bad > 0)
        assay_put_format(out, "%zu of ", bad);
    assay_put_format(out, "%u file%s of %zu checkpoint%s", files, assay_plural(files), steps, assay_plural(steps));
    if (bad == 0) {
        assay_put_format(out, ", %zu tensor%s, ", tensors, assay_plural(tensors));
        assay_text_put_bytes(out, bytes);
    } else if (worst != ASSAY_NO_ID && t->line[worst].first) {
        const char *path = assay_dict_name(t->names, worst, NULL);
        assay_put_format(out, "; %s: %s", path, verify_said_of(path, t->line[worst].first));
    }
    if (bad == 0 && notes > 0)
        assay_put_format(out, "; see %zu note%s", notes, assay_plural(notes));
}

/* "14 tensors, 7.93 kB: the file ends early ... (and 2 more)" */
static void put_content(const char *path, const file_line *line, assay_buf *out)
{
    const size_t said = line->losses + line->findings + line->remarks;
    assay_put_format(out, "%zu tensor%s, ", line->tensors, assay_plural(line->tensors));
    assay_text_put_bytes(out, line->bytes);
    if (said > 0) {
        const char *text = verify_said_of(path, line->first ? line->first : "");
        assay_put_format(out, ": ");
        assay_text_put_clean(out, text, strlen(text));
    }
    if (said > 1)
        assay_put_format(out, " (and %zu more)", said - 1);
}

/* The line of a file; on a terminal that is too narrow for it, its path in one line and the rest below. */
static void put_file(const char *path, const file_line *line, size_t widest, const assay_draw *draw, assay_buf *out)
{
    enum { INDENT = 9 };
    const assay_draw_colour colour = line->losses > 0     ? ASSAY_DRAW_ALARM
                                     : line->findings > 0 ? ASSAY_DRAW_BAD
                                                          : ASSAY_DRAW_PLAIN;
    assay_buf content;
    assay_buf_init(&content, ASSAY_REPORT_CEILING);
    put_content(path, line, &content);
    const size_t columns = assay_text_columns((const char *)content.data, content.size);
    assay_draw_begin(draw, colour, out);
    assay_put_format(out, "%-7s", word_of(line));
    assay_draw_end(draw, colour, out);
    assay_text_put_blanks(out, INDENT - 7);
    assay_text_put_clean(out, path, strlen(path));
    if (draw && INDENT + widest + 2 + columns > assay_text_line_columns(draw)) {
        assay_put_u8(out, '\n');
        assay_text_put_wrapped(out, draw, INDENT, NULL, (const char *)content.data, content.size);
    } else {
        assay_text_put_blanks(out, widest - assay_text_columns(path, strlen(path)) + 2);
        assay_put_bytes(out, content.data, content.size);
        assay_put_u8(out, '\n');
    }
    if (assay_buf_status(&content) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&content);
    assay_buf_release(&content);
}

static void put_text(const tally *t, size_t steps, const assay_draw *draw, assay_buf *out)
{
    size_t widest = 0;
    assay_buf verdict;
    assay_buf_init(&verdict, ASSAY_REPORT_CEILING);
    put_verdict(t, steps, &verdict);
    assay_text_put_sentence(out, draw, (const char *)verdict.data, verdict.size);
    assay_put_u8(out, '\n');
    if (assay_buf_status(&verdict) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&verdict);
    assay_buf_release(&verdict);
    for (uint32_t i = 0; i < assay_dict_count(t->names); i++) {
        const char *path = assay_dict_name(t->names, i, NULL);
        const size_t columns = assay_text_columns(path, strlen(path));
        widest = columns > widest ? columns : widest;
    }
    for (uint32_t i = 0; i < assay_dict_count(t->names); i++)
        put_file(assay_dict_name(t->names, i, NULL), &t->line[i], widest, draw, out);
}

static void put_json(const tally *t, size_t steps, assay_buf *out)
{
    assay_put_format(out, "{\n  \"schema\": \"assay-verify/1\",\n  \"verdict\": \"%s\",\n  \"path\": ", verdict_of(t));
    assay_json_put_text(out, t->outcome->trial->path);
    assay_put_format(out, ",\n  \"checkpoints\": %zu,\n  \"damaged\": %zu,\n  \"findings\": %zu,\n  \"files\": [",
                     steps, t->losses, t->findings);
    for (uint32_t i = 0; i < assay_dict_count(t->names); i++) {
        const file_line *line = &t->line[i];
        assay_put_format(out, "%s\n    {\"file\": ", i ? "," : "");
        assay_json_put_text(out, assay_dict_name(t->names, i, NULL));
        assay_put_format(out,
                         ", \"step\": %" PRId64 ", \"state\": \"%s\", \"tensors\": %zu, \"bytes\": %" PRIu64
                         ", \"damaged\": %zu, \"findings\": %zu, \"text\": ",
                         line->step, word_of(line), line->tensors, line->bytes, line->losses, line->findings);
        if (line->first)
            assay_json_put_text(out, line->first);
        else
            assay_put_format(out, "null");
        assay_put_format(out, "}");
    }
    assay_put_format(out, "\n  ]\n}\n");
}

/* ---- the command ---- */

static size_t count_steps(const tally *t)
{
    size_t count = 0;
    for (uint64_t i = 0; i < assay_trial_steps(t->outcome->info); i++)
        count += is_asked(t, assay_trial_step(t->outcome->info, i)->step);
    return count;
}

/* On rank 0: the table; the exit code. */
static int conclude(const verify_options *options, const assay_job *job, const assay_outcome *outcome)
{
    tally t = {.outcome = &outcome->trials[0], .from = options->steps.from, .to = options->steps.to};
    assay_error err = {""};
    assay_draw draw;
    assay_buf out;
    if (t.outcome->status != ASSAY_OK)
        return cli_fail(t.outcome->status, &t.outcome->error);
    const int status = fill(&t, job, &err);
    if (status != ASSAY_OK) {
        release(&t);
        return cli_fail(status, &err);
    }
    assay_buf_init(&out, ASSAY_REPORT_CEILING);
    if (options->json)
        put_json(&t, count_steps(&t), &out);
    else
        put_text(&t, count_steps(&t), cli_draw_style(CLI_DRAW_AUTO, &draw), &out);
    const int code = t.losses > 0 ? CLI_LOSSES : t.findings > 0 ? CLI_FINDINGS : CLI_DONE;
    release(&t);
    return cli_finish(&out, code);
}

static int make_job(const char *const *trial, assay_job *job, assay_error *err)
{
    int status = assay_job_parse("verify", JOB, sizeof JOB - 1, &assay_report_forms, job, err);
    return status == ASSAY_OK ? assay_job_set_trials(job, trial, 1, err) : status;
}

static int verify(const cli_context *context, const verify_options *options, const assay_job *job)
{
    assay_error err = {""};
    assay_outcome outcome = {0};
    const assay_engine_options engine = {.memory = cli_s3_engine_memory(job, options->memory),
                                         .from = options->steps.from,
                                         .to = options->steps.to,
                                         .progress = options->quiet ? 0 : options->progress};
    const int status = assay_engine_run(context->comm, job, &engine, &outcome, &err);
    const bool first = assay_comm_rank(context->comm) == 0;
    const int code = status != ASSAY_OK
                         ? cli_fail(status, &err)
                         : cli_share_code(context->comm, first ? conclude(options, job, &outcome) : CLI_DONE);
    assay_outcome_release(&outcome);
    return code;
}

static int run(const cli_context *context, int argc, char **argv)
{
    verify_options options = {.steps = {INT64_MIN, INT64_MAX}, .memory = (size_t)512 << 20, .progress = -1};
    const char *trial[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_job job = {0};
    int status = cli_options_parse(&cli_verify, argc, argv, &options, trial, &operands, &err);
    if (status == ASSAY_OK)
        status = make_job(trial, &job, &err);
    status = assay_comm_agree(context->comm, status, &err);
    assay_log_init(assay_comm_rank(context->comm), false, options.quiet);
    if (status == ASSAY_OK)
        status = cli_s3_begin(context->comm, &job, NULL, &err);
    if (status == ASSAY_OK && options.last)
        status = cli_newest_step(context, trial[0], &options.steps.from, &err);
    const int code = status == ASSAY_OK ? verify(context, &options, &job) : cli_fail(status, &err);
    assay_job_release(&job);
    return code;
}

const cli_command cli_verify = {
    "verify", "RUN", "Says whether checkpoints are whole and sane: files, sizes, checksums, NaN, moments.",
    OPTIONS,  1,     1,
    true,     run,   true};
