/* judge.c - gives each file its line, and each checkpoint its state. */
#include "verify/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/search.h"
#include "base/vec.h"
#include "container/suffixes.h"
#include "trial/places.h"
#include "trial/trial_format.h"
#include "verify/words.h"

/* What is known of a checkpoint until its state is put into words. */
typedef struct step_facts {
    size_t said[ASSAY_VERIFY_STATES]; /* how much speaks for a state */
    char *first[ASSAY_VERIFY_STATES]; /* what does so first; owned */
    size_t bad;                       /* tensors with elements that are not finite */
    char *bad_first;                  /* owned */
    bool nan, infinite, more;         /* more: of the findings not all are kept */
} step_facts;

typedef struct judging {
    const assay_trial_outcome *outcome;
    const assay_trial_files *files;
    const assay_verify_remarks *remarks;
    const assay_verify_options *options;
    assay_verification *j;
    assay_dict *names; /* paths of the lines, by number */
    uint32_t *of;      /* [entries of the shard]: the line of each, + 1 */
    step_facts *facts; /* [j->steps] */
} judging;

const char *assay_verify_word(assay_verify_state state)
{
    static const char *const words[ASSAY_VERIFY_STATES] = {"sound",   "note",    "not read", "incomplete",
                                                           "suspect", "damaged", "runs code"};
    return words[state];
}

int assay_verify_remark_add(assay_verify_remarks *r, assay_verify_state state, int64_t step, const char *file,
                            const char *text)
{
    assay_verify_remark *remark = ASSAY_VEC_ADD(r);
    ASSAY_HAVE(remark);
    *remark = (assay_verify_remark){state, step, assay_copy_text(file), assay_copy_text(text)};
    return remark->file && remark->text ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_verify_remarks_release(assay_verify_remarks *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->list[i].file);
        free(r->list[i].text);
    }
    free(r->list);
    *r = (assay_verify_remarks){0};
}

static bool is_asked(const judging *g, int64_t step)
{
    return step >= g->options->from && step < g->options->to;
}

/* ---- steps ---- */

ASSAY_ORDER_BY(compare_steps, assay_verify_step, step)

static assay_verify_step *find_step(const assay_verification *j, int64_t step)
{
    const assay_verify_step key = {.step = step};
    return j->steps ? bsearch(&key, j->step, j->steps, sizeof key, compare_steps) : NULL;
}

int assay_verify_take_place(void *context, const char *place)
{
    char **name = context;
    if (!*name)
        *name = assay_copy_text(place);
    return *name ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Is the unit a directory or file that has the tensors of a step themselves, no index of records? */
static bool has_place(const assay_catalog *catalog, const assay_unit *unit)
{
    const assay_trial_format *format = assay_format_of(unit->format);
    return format->checkpoints || (format->arrays && assay_verify_is_checkpoint(catalog, unit));
}

int assay_verify_list_places(const assay_trial_files *trial, assay_verify_places *out)
{
    const assay_catalog *catalog = &trial->catalog;
    int status = ASSAY_OK;
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++) {
        const assay_unit *unit = &catalog->units[i];
        if (!has_place(catalog, unit) || (out->count > 0 && out->list[out->count - 1].step == unit->step))
            continue;
        assay_verify_place *place = ASSAY_VEC_ADD(out);
        ASSAY_HAVE(place);
        *place = (assay_verify_place){.step = unit->step, .recorded = !assay_format_of(unit->format)->checkpoints};
        status = assay_unit_places(trial->store, catalog, unit, assay_verify_take_place, &place->path);
        if (status == ASSAY_OK && !place->path)
            status = ASSAY_ENOMEM;
    }
    return status;
}

void assay_verify_places_release(assay_verify_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->list[i].path);
    free(places->list);
}

bool assay_verify_is_checkpoint(const assay_catalog *catalog, const assay_unit *unit)
{
    bool any = false; /* logs of metrics lie beside them, with steps of their own */
    for (uint32_t i = 0; i < catalog->format_count; i++)
        any = any || assay_format_of(catalog->formats[i])->checkpoints;
    return !any || assay_format_of(unit->format)->checkpoints;
}

static int add_step(judging *g, int64_t step, const char *name)
{
    assay_verification *j = g->j;
    assay_verify_step *added = assay_vec_add(&j->step, &j->steps, &j->step_room, sizeof *j->step);
    ASSAY_HAVE(added);
    added->step = step;
    added->name = assay_copy_text(name);
    return added->name ? ASSAY_OK : ASSAY_ENOMEM;
}

/* The last part of the trial's location. */
static const char *own_name(const char *path, char *room, size_t size)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    snprintf(room, size, "%.*s", (int)end, path);
    return assay_path_name(room);
}

static int add_unit_step(judging *g, const assay_unit *unit)
{
    char room[ASSAY_PATH_MOST];
    char *name = NULL;
    int status = assay_unit_places(g->files->store, &g->files->catalog, unit, assay_verify_take_place, &name);
    const bool root = !name || strcmp(name, ".") == 0;
    g->j->series = g->j->series || !root;
    g->j->records = (g->j->steps == 0 || g->j->records) && !has_place(&g->files->catalog, unit);
    ASSAY_THEN(status, add_step(g, unit->step, root ? own_name(g->j->path, room, sizeof room) : name));
    free(name);
    return status;
}

static assay_verify_state state_of(const assay_problem *p)
{
    switch (p->kind) {
    case ASSAY_PROBLEM_UNSUPPORTED:
    case ASSAY_PROBLEM_BUDGET:
    case ASSAY_PROBLEM_WORK:
    case ASSAY_PROBLEM_EMPTY:
        return ASSAY_VERIFY_UNREAD;
    case ASSAY_PROBLEM_UNFINISHED:
    case ASSAY_PROBLEM_ABANDONED:
        return ASSAY_VERIFY_INCOMPLETE;
    default:
        return assay_problem_is_loss(p->kind) ? ASSAY_VERIFY_DAMAGED : ASSAY_VERIFY_NOTE;
    }
}

/* The first part of a path: of a checkpoint in a series its directory or file. A file of which there is but a note was not
 * read: nobody resumes from it. */
static int add_problem_step(judging *g, const assay_problem *p)
{
    char name[256];
    const int length = (int)strcspn(p->file, "/");
    if (p->step < 0 || !is_asked(g, p->step) || !*p->file || state_of(p) == ASSAY_VERIFY_NOTE)
        return ASSAY_OK;
    for (size_t i = 0; i < g->j->steps; i++)
        if (g->j->step[i].step == p->step)
            return ASSAY_OK;
    snprintf(name, sizeof name, "%.*s", length < 255 ? length : 255, p->file);
    return add_step(g, p->step, name);
}

static int add_steps(judging *g)
{
    const assay_catalog *catalog = &g->files->catalog;
    int status = ASSAY_OK;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++) {
        const assay_unit *unit = &catalog->units[i];
        if (!assay_verify_is_checkpoint(catalog, unit))
            continue;
        if (is_asked(g, unit->step) && (last == INT64_MIN || unit->step != last))
            status = add_unit_step(g, unit);
        last = unit->step;
    }
    for (size_t i = 0; i < g->outcome->problems.kept && status == ASSAY_OK; i++)
        status = add_problem_step(g, &g->outcome->problems.list[i]);
    if (g->j->steps > 1)
        qsort(g->j->step, g->j->steps, sizeof *g->j->step, compare_steps);
    g->facts = status == ASSAY_OK ? assay_alloc_zeroed(g->j->steps + 1, sizeof *g->facts) : NULL;
    return status == ASSAY_OK && !g->facts ? ASSAY_ENOMEM : status;
}

/* Notes that something speaks for a state of the step; what belongs to none goes to the whole. */
static int speak(judging *g, int64_t step, assay_verify_state state, const char *path, const char *text)
{
    const assay_verify_step *of = find_step(g->j, step);
    if (state == ASSAY_VERIFY_SOUND || state == ASSAY_VERIFY_NOTE)
        return ASSAY_OK;
    g->j->state = state > g->j->state ? state : g->j->state;
    const char *said = assay_verify_said_of(path, text);
    if (!of) {
        if (!g->j->unnumbered)
            g->j->unnumbered = assay_copy_text(text);
        return g->j->unnumbered ? ASSAY_OK : ASSAY_ENOMEM;
    }
    step_facts *facts = &g->facts[of - g->j->step];
    if (facts->said[state]++ > 0)
        return ASSAY_OK;
    const size_t length = strlen(of->name);
    const char *below = strncmp(path, of->name, length) == 0 && path[length] == '/' ? path + length + 1 : path;
    if (said == text && strncmp(text, of->name, length) == 0 && text[length] == '/')
        said = text += length + 1;
    const bool whole = strcmp(below, of->name) == 0 || strcmp(below, ".") == 0 || !*below;
    assay_buf words = ASSAY_BUF(1 << 16);
    if (whole || said == text)
        assay_put_format(&words, "%s", said);
    else
        assay_put_format(&words, "%s: %s", below, said);
    assay_put_u8(&words, '\0');
    int status = assay_buf_status(&words);
    facts->first[state] = status == ASSAY_OK ? assay_copy_text((const char *)words.data) : NULL;
    assay_buf_release(&words);
    return facts->first[state] ? ASSAY_OK : ASSAY_ENOMEM;
}

/* ---- files ---- */

/* The line of a file, made when there is none; NULL without memory. */
static assay_verify_file *line_of(judging *g, const char *path, int64_t step)
{
    assay_verification *j = g->j;
    const uint32_t id = assay_dict_add(g->names, path, strlen(path));
    if (id == ASSAY_NO_ID)
        return NULL;
    if (id < j->files)
        return &j->file[id];
    assay_verify_file *line = assay_vec_add(&j->file, &j->files, &j->file_room, sizeof *j->file);
    if (!line)
        return NULL;
    assay_error err = {""};
    uint64_t bytes = 0;
    line->step = step;
    line->path = assay_copy_text(path);
    const int found = assay_store_size_of(g->files->store, path, &bytes, &err);
    line->bytes = found == 1 ? bytes : 0;
    if (found == ASSAY_EIO)
        line->unsized = assay_copy_text(err.text);
    return line->path && (found != ASSAY_EIO || line->unsized) ? line : NULL;
}

/* A line for what is in no file of a step; NULL without memory. */
static assay_verify_file *line_of_step(judging *g, int64_t step)
{
    char name[32];
    snprintf(name, sizeof name, "step %" PRId64, step);
    return line_of(g, name, step);
}

/* Adds to a line that something speaks for a state, and to its step. */
static int say(judging *g, assay_verify_file *line, assay_verify_state state, const char *text)
{
    ASSAY_HAVE(line);
    if (state > line->state) { /* the worst speaks for the file */
        free(line->first);
        line->first = NULL;
        line->state = state;
    }
    line->remarks += state == ASSAY_VERIFY_NOTE;
    line->findings += state == ASSAY_VERIFY_SUSPECT;
    line->losses += state != ASSAY_VERIFY_NOTE && state != ASSAY_VERIFY_SUSPECT;
    if (!line->first && !(line->first = assay_copy_text(text)))
        return ASSAY_ENOMEM;
    return speak(g, line->step, state, line->path, text);
}

/* Lines of the files that a part lists by themselves: pieces of tensors lie in several. */
static int add_listed(judging *g, const assay_part *part)
{
    for (uint32_t f = 0; part->files && f < part->files->count; f++)
        if (!part->files->file[f].note && !line_of(g, part->files->file[f].name, part->step))
            return ASSAY_ENOMEM;
    return ASSAY_OK;
}

/* Counts the tensor of an entry among those with or without a checksum. */
static void count_sum(const assay_part *part, const assay_entry *e, assay_verify_file *line)
{
    const assay_trial_format *format = assay_format_of(part->format);
    const assay_file *file = part->files && e->file < part->files->count ? &part->files->file[e->file] : NULL;
    assay_note_facts facts;
    line->tensors++;
    if (file && !file->note && assay_suffix_kinds(line->path) & ASSAY_SUFFIX_NO_SUMS)
        line->bare++;
    if (!file || !file->note || !format->note_facts || !format->note_facts(file->note, file->note_size, &facts))
        return;
    line->summed += facts.summed;
    line->bare += !facts.summed && (facts.plain || assay_suffix_kinds(line->path) & ASSAY_SUFFIX_NO_SUMS);
}

/* Lines of the files that have tensors, in the order of steps. */
static int add_files(judging *g)
{
    const assay_shard *shard = &g->files->shard;
    g->of = assay_alloc_zeroed(shard->entry_count + 1, sizeof *g->of);
    ASSAY_HAVE(g->of);
    for (size_t p = 0; p < shard->count; p++) {
        const assay_part *part = &shard->parts[p];
        if (!is_asked(g, part->step))
            continue;
        if (add_listed(g, part) != ASSAY_OK)
            return ASSAY_ENOMEM;
        for (size_t e = part->first; e < part->first + part->count; e++) {
            char room[ASSAY_PATH_ROOM];
            const char *path = assay_part_file(&g->files->catalog, part, shard->entries[e].file, room);
            assay_verify_file *line = path ? line_of(g, path, part->step) : NULL;
            if (path && !line)
                return ASSAY_ENOMEM;
            if (line) {
                count_sum(part, &shard->entries[e], line);
                g->of[e] = (uint32_t)(line - g->j->file) + 1;
            }
        }
    }
    return ASSAY_OK;
}

/* ---- what was found ---- */

/* The step of a problem: a listing that failed knows none, and its path is that of a checkpoint. */
static int64_t step_of(const judging *g, const assay_problem *p)
{
    for (size_t i = 0; p->step < 0 && g->j->series && i < g->j->steps; i++) {
        const size_t length = strlen(g->j->step[i].name);
        if (strncmp(p->file, g->j->step[i].name, length) == 0 && (p->file[length] == '/' || p->file[length] == '\0'))
            return g->j->step[i].step;
    }
    return p->step;
}

/* The text of a problem; where it is about one tensor whose record is damaged, with its name behind the file's. */
static void put_problem(const judging *g, const assay_problem *p, bool again, assay_buf *out)
{
    const bool named = !again && p->tensor < assay_trial_tensors(g->outcome->info);
    const char *tensor = named ? assay_trial_tensor(g->outcome->info, p->tensor) : "";
    const char *said = assay_verify_said_of(p->file, p->text);
    if (named && said != p->text && !strstr(said, tensor))
        assay_put_format(out, "%s: %s: %s", p->file, tensor, said);
    else
        assay_put_format(out, "%s", p->text);
    assay_put_u8(out, '\0');
}

/* Was that said of the file by those who looked at whole files? */
static bool is_remarked(const assay_verify_remarks *remarks, const char *file, const char *words)
{
    for (size_t i = 0; i < remarks->count; i++)
        if (strcmp(remarks->list[i].file, file) == 0 && strstr(remarks->list[i].text, words))
            return true;
    return false;
}

/* `known`: only what is not among that, for a disk may fail when the trial is opened again. */
static int add_problems(judging *g, const assay_problems *problems, const assay_problems *known)
{
    for (size_t i = 0; i < problems->kept; i++) {
        const assay_problem *p = &problems->list[i];
        if (p->kind == ASSAY_PROBLEM_BEHIND && is_remarked(g->remarks, p->file, "stand behind its end"))
            continue;
        if ((p->step >= 0 && !is_asked(g, p->step)) || (known && assay_problems_have(known, p->text)))
            continue;
        const assay_verify_state state = state_of(p);
        g->j->losses += state != ASSAY_VERIFY_NOTE;
        assay_buf text = ASSAY_BUF(1 << 16);
        put_problem(g, p, known != NULL, &text);
        int status = assay_buf_status(&text);
        ASSAY_THEN(status, say(g, line_of(g, *p->file ? p->file : ".", step_of(g, p)), state, (const char *)text.data));
        assay_buf_release(&text);
        if (status != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* The line of a finding: the file that has its tensor, else the step's own; NULL without memory. */
static assay_verify_file *line_of_finding(judging *g, const assay_finding *f, const char *tensor)
{
    const assay_shard *shard = &g->files->shard;
    const uint32_t id = assay_dict_find(g->files->tensors, tensor, strlen(tensor));
    for (size_t p = assay_shard_find(shard, f->step); p < shard->count && shard->parts[p].step == f->step; p++) {
        const assay_part *part = &shard->parts[p];
        if (f->worker != ASSAY_ALL_WORKERS && part->worker != f->worker)
            continue;
        const assay_entry *entry = id == ASSAY_NO_ID ? NULL : assay_part_raw(shard, part, id);
        if (entry && g->of[entry - shard->entries])
            return &g->j->file[g->of[entry - shard->entries] - 1];
    }
    return line_of_step(g, f->step);
}

/* Counts tensors that are not finite: the first line says how many. */
static int count_bad(judging *g, const assay_finding *f, const char *tensor)
{
    enum { NAN_ONLY, INFINITE_ONLY, BOTH }; /* value_units of ExplodingTensor */
    const assay_verify_step *of = find_step(g->j, f->step);
    if (!of)
        return ASSAY_OK;
    step_facts *facts = &g->facts[of - g->j->step];
    facts->bad++;
    facts->nan = facts->nan || f->value_unit != INFINITE_ONLY;
    facts->infinite = facts->infinite || f->value_unit == INFINITE_ONLY || f->value_unit == BOTH;
    if (!facts->bad_first)
        facts->bad_first = assay_copy_text(tensor);
    return facts->bad_first ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Of the steps with findings those of which none is kept: the rule keeps the first, which are of the steps before. */
static int add_unkept_findings(judging *g, const assay_rule_outcome *rule, assay_verify_state state)
{
    const assay_findings *findings = rule->verdict.findings;
    const int64_t last = findings->kept > 0 ? findings->list[findings->kept - 1].step : INT64_MIN;
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && findings->kept < findings->total && i < findings->step_count; i++) {
        char text[256];
        if (findings->steps[i] <= last || !is_asked(g, findings->steps[i]))
            continue;
        snprintf(text, sizeof text,
                 "%.100s has findings here, behind the %zu that are kept: judge it alone, with --steps",
                 rule->instance->ops->name, findings->kept);
        status = say(g, line_of_step(g, findings->steps[i]), state, text);
    }
    return status;
}

/* Losses that are counted and not kept are of some checkpoint: none is sound then. */
static int add_unkept_losses(judging *g, const assay_problems *problems)
{
    uint64_t kept = 0;
    int status = ASSAY_OK;
    for (size_t i = 0; i < problems->kept; i++)
        kept += assay_problem_is_loss(problems->list[i].kind);
    for (size_t i = 0; status == ASSAY_OK && problems->losses > kept && i < g->j->steps; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "%" PRIu64 " problems more than the %zu that are kept may be of it: judge it alone, with --steps",
                 problems->losses - kept, problems->kept);
        status = say(g, line_of_step(g, g->j->step[i].step), ASSAY_VERIFY_UNREAD, text);
    }
    return status;
}

static int add_rule(judging *g, const assay_rule_outcome *rule)
{
    const assay_findings *findings = rule->verdict.findings;
    const char *name = rule->instance->ops->name;
    const bool lost = strcmp(name, "MissingWorker") == 0, bad = strcmp(name, "ExplodingTensor") == 0;
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < findings->kept; i++) {
        const assay_finding *f = &findings->list[i];
        const char *tensor = f->tensor == ASSAY_NO_TENSOR ? "" : assay_trial_tensor(g->outcome->info, f->tensor);
        assay_verify_file *line = line_of_finding(g, f, tensor);
        assay_buf text = ASSAY_BUF(1 << 16);
        assay_verify_put_meaning(g->outcome, rule, f, tensor, &text);
        status = assay_buf_status(&text);
        ASSAY_THEN(status, say(g, line, lost ? ASSAY_VERIFY_DAMAGED : ASSAY_VERIFY_SUSPECT, (const char *)text.data));
        if (status == ASSAY_OK && bad)
            status = count_bad(g, f, tensor);
        assay_buf_release(&text);
    }
    const assay_verify_step *end = bad && findings->kept > 0 && findings->kept < findings->total
                                       ? find_step(g->j, findings->list[findings->kept - 1].step)
                                       : NULL;
    if (end)
        g->facts[end - g->j->step].more = true;
    ASSAY_THEN(status, add_unkept_findings(g, rule, lost ? ASSAY_VERIFY_DAMAGED : ASSAY_VERIFY_SUSPECT));
    if (lost)
        g->j->losses += findings->total;
    else
        g->j->findings += findings->total;
    return status;
}

/* What the framework needs of each checkpoint and is not there, and the one that it would pick: by a file of its own,
 * else the newest. */
static int add_needs(judging *g)
{
    const assay_framework of = g->options->of;
    g->j->of = of;
    for (size_t i = 0; i < g->j->steps; i++) {
        assay_buf missing, text;
        assay_buf_init(&missing, 1 << 16);
        assay_buf_init(&text, 1 << 16);
        int status = assay_framework_missing(of, g->files, g->j->series ? g->j->step[i].name : ".", g->j->step[i].step,
                                             &missing);
        if (status == ASSAY_OK && missing.size > 0) {
            assay_put_format(&text, "%s resumes from what is missing: %.*s", assay_framework_word(of),
                             (int)missing.size, (const char *)missing.data);
            assay_put_u8(&text, '\0');
            g->j->losses++;
            status = assay_buf_status(&text);
            ASSAY_THEN(status,
                       say(g, line_of_step(g, g->j->step[i].step), ASSAY_VERIFY_INCOMPLETE, (const char *)text.data));
        }
        assay_buf_release(&missing);
        assay_buf_release(&text);
        if (status != ASSAY_OK)
            return status;
    }
    g->j->pick = assay_framework_pick(of, g->files);
    if (!g->j->pick && g->j->steps > 0)
        g->j->pick = assay_copy_text(g->j->step[g->j->steps - 1].name);
    return ASSAY_OK;
}

/* Of the first `files` lines: a file whose size nobody could tell was not seen as a whole, whatever else was read. */
static int add_unsized(judging *g, size_t files)
{
    for (size_t i = 0; i < files; i++) {
        assay_verify_file *line = &g->j->file[i];
        if (!line->unsized || line->losses > 0)
            continue;
        g->j->losses++;
        if (say(g, line, ASSAY_VERIFY_DAMAGED, line->unsized) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* Which files have a seal. */
static void find_seals(const judging *g)
{
    for (size_t i = 0; i < g->j->files; i++) {
        assay_verify_file *f = &g->j->file[i];
        const assay_verify_step *step = f->bare > 0 ? find_step(g->j, f->step) : NULL;
        char seal[ASSAY_PATH_MOST];
        if (!step)
            continue;
        const bool root = !g->j->series, alone = strcmp(f->path, step->name) == 0;
        snprintf(seal, sizeof seal, "%s%sassay-seal.json", root && !alone ? "" : step->name,
                 alone  ? "."
                 : root ? ""
                        : "/");
        f->sealed = assay_store_exists(g->files->store, seal, NULL) == 1;
    }
}

/* A remark about tensors that are there and cannot be looked at. */
static int add_unread(judging *g)
{
    assay_buf text;
    int64_t step = -1;
    assay_buf_init(&text, 1 << 16);
    int status = assay_verify_put_unread(g->files, g->options->from, g->options->to, &step, &text);
    if (status == ASSAY_OK && text.data[0]) {
        assay_verify_file *line = NULL;
        for (size_t i = g->j->files; i-- > 0;) /* the first of the step */
            line = g->j->file[i].step == step ? &g->j->file[i] : line;
        status = say(g, line ? line : line_of_step(g, step), ASSAY_VERIFY_NOTE, (const char *)text.data);
    }
    assay_buf_release(&text);
    return status;
}

static int add_remarks(judging *g, const assay_verify_remarks *remarks)
{
    for (size_t i = 0; i < remarks->count; i++) {
        const assay_verify_remark *r = &remarks->list[i];
        g->j->losses += r->state == ASSAY_VERIFY_CODE || r->state == ASSAY_VERIFY_DAMAGED;
        g->j->findings += r->state == ASSAY_VERIFY_SUSPECT;
        if (say(g, line_of(g, r->file, r->step), r->state, r->text) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* ---- states ---- */

static void put_why(const step_facts *facts, assay_verify_state state, assay_buf *out)
{
    const char *first = facts->first[state] ? facts->first[state] : "";
    const size_t more = facts->said[state] - 1;
    if (state == ASSAY_VERIFY_SUSPECT && facts->bad > 0) {
        assay_put_format(out, "%s in %s%zu tensor%s (%s%s)",
                         !facts->infinite ? "NaN"
                         : facts->nan     ? "NaN and infinite elements"
                                          : "infinite elements",
                         facts->more ? "at least " : "", facts->bad, assay_plural(facts->bad),
                         facts->bad > 1 ? "first " : "", facts->bad_first);
        return;
    }
    switch (state) {
    case ASSAY_VERIFY_SUSPECT:
    case ASSAY_VERIFY_CODE:
        assay_put_format(out, "%s", first);
        break;
    case ASSAY_VERIFY_INCOMPLETE:
        assay_put_format(out, "not complete (%s)", first);
        break;
    default:
        assay_put_format(out, "%s (%s)", assay_verify_word(state), first);
        break;
    }
    if (more > 0)
        assay_put_format(out, " and %zu more", more);
}

/* Nothing is sound of which no tensor was read: an archive or a header may say that it has none. */
static int doubt_empty(judging *g)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < g->j->steps && status == ASSAY_OK && !g->j->records; i++) {
        const assay_verify_step *step = &g->j->step[i];
        bool any = false;
        for (size_t f = 0; f < g->j->files && !any; f++)
            any = g->j->file[f].step == step->step && g->j->file[f].tensors > 0;
        for (int state = ASSAY_VERIFY_UNREAD; state < ASSAY_VERIFY_STATES && !any; state++)
            any = g->facts[i].said[state] > 0;
        if (!any)
            status = say(g, line_of(g, step->name, step->step), ASSAY_VERIFY_UNREAD, "there is no tensor in it");
    }
    return status;
}

static int settle(judging *g)
{
    g->j->last_sound = -1;
    for (size_t i = 0; i < g->j->steps; i++) {
        assay_verify_step *step = &g->j->step[i];
        for (int state = ASSAY_VERIFY_UNREAD; state < ASSAY_VERIFY_STATES; state++)
            if (g->facts[i].said[state] > 0)
                step->state = (assay_verify_state)state;
        if (step->state == ASSAY_VERIFY_SOUND) {
            g->j->last_sound = (ptrdiff_t)i;
            continue;
        }
        assay_buf words = ASSAY_BUF(1 << 16);
        put_why(&g->facts[i], step->state, &words);
        assay_put_u8(&words, '\0');
        int status = assay_buf_status(&words);
        step->why = status == ASSAY_OK ? assay_copy_text((const char *)words.data) : NULL;
        assay_buf_release(&words);
        ASSAY_HAVE(step->why);
    }
    return ASSAY_OK;
}

int assay_judge(const assay_trial_outcome *trial, const assay_job *job, const assay_trial_files *files,
                const assay_verify_remarks *remarks, const assay_verify_options *options, assay_verification *out)
{
    judging g = {
        .outcome = trial, .files = files, .remarks = remarks, .options = options, .j = out, .names = assay_dict_new()};
    out->path = assay_copy_text(trial->trial->path);
    out->last_sound = -1;
    int status = g.names && out->path ? add_steps(&g) : ASSAY_ENOMEM;
    ASSAY_THEN(status, add_files(&g));
    const size_t with_tensors = out->files; /* then lines of whatever problems are about */
    ASSAY_THEN(status, add_problems(&g, &trial->problems, NULL));
    ASSAY_THEN(status, add_problems(&g, &files->problems, &trial->problems));
    ASSAY_THEN(status, add_unsized(&g, with_tensors));
    find_seals(&g);
    ASSAY_THEN(status, add_unread(&g));
    if (status == ASSAY_OK && options->of != ASSAY_FRAMEWORK_NONE)
        status = add_needs(&g);
    ASSAY_THEN(status, add_remarks(&g, remarks));
    for (size_t i = 0; status == ASSAY_OK && i < job->rule_count; i++)
        status = add_rule(&g, &trial->rules[i]);
    ASSAY_THEN(status, add_unkept_losses(&g, &trial->problems));
    ASSAY_THEN(status, doubt_empty(&g));
    ASSAY_THEN(status, settle(&g));
    for (size_t i = 0; g.facts && i < out->steps; i++) {
        for (int s = 0; s < ASSAY_VERIFY_STATES; s++)
            free(g.facts[i].first[s]);
        free(g.facts[i].bad_first);
    }
    free(g.facts);
    free(g.of);
    assay_dict_free(g.names);
    return status;
}

void assay_verification_release(assay_verification *j)
{
    for (size_t i = 0; i < j->files; i++) {
        free(j->file[i].path);
        free(j->file[i].first);
        free(j->file[i].unsized);
    }
    for (size_t i = 0; i < j->steps; i++) {
        free(j->step[i].name);
        free(j->step[i].why);
    }
    free(j->file);
    free(j->step);
    free(j->path);
    free(j->unnumbered);
    free(j->pick);
    *j = (assay_verification){.last_sound = -1};
}
