/* report_evidence.c - the findings of a rule as text.
 *
 * Findings of one step and tensor share a line: all workers together, however many, with the range of their values. A
 * worker that differs is named. report.json has each finding. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/forms/forms.h"
#include "report/text/layout.h"

enum { CELLS_SHOWN = 12, COLUMNS_MOST = 9 };

/* Columns that only some rules fill. */
typedef struct evidence_columns {
    bool time; /* the findings have a time in place of a step and its mode */
    bool test, detail, hardware;
} evidence_columns;

/* Findings that share step, tensor, test, unit and threshold. */
typedef struct finding_group {
    const assay_finding *first;
    double least, most; /* of the values that are not NaN */
    uint32_t *worker;   /* [count], ascending */
    size_t count;
    bool nan;
} finding_group;

static bool belongs(const assay_finding *a, const assay_finding *b)
{
    return a->test == b->test && a->value_unit == b->value_unit &&
           memcmp(&a->threshold, &b->threshold, sizeof a->threshold) == 0;
}

static bool same_place(const assay_finding *a, const assay_finding *b)
{
    return !a->time && a->step == b->step && a->tensor == b->tensor;
}

/* Collects from list[from, to), all of one step and tensor, what belongs to list[from]. */
static finding_group collect(const assay_finding *list, size_t from, size_t to, uint32_t *workers)
{
    finding_group group = {.first = &list[from], .least = INFINITY, .most = -INFINITY, .worker = workers};
    for (size_t i = from; i < to; i++) {
        if (!belongs(&list[from], &list[i]))
            continue;
        workers[group.count++] = list[i].worker;
        group.nan = group.nan || isnan(list[i].value);
        if (list[i].value < group.least)
            group.least = list[i].value;
        if (list[i].value > group.most)
            group.most = list[i].value;
    }
    return group;
}

static void put_values(const assay_trial *info, const report_rule *rule, const finding_group *group, assay_table *table)
{
    assay_buf text, unit;
    assay_buf_init(&text, 256);
    assay_buf_init(&unit, ASSAY_REPORT_CEILING);
    if (group->least <= group->most) {
        assay_text_put_number(&text, group->least);
        if (group->least < group->most) {
            assay_put_format(&text, " .. ");
            assay_text_put_number(&text, group->most);
        }
    }
    if (group->nan)
        assay_put_format(&text, "%snan", text.size ? ", " : "");
    report_put_unit(info, rule, group->first, group->least == 1 && group->most == 1, &unit);
    assay_put_u8(&text, '\0');
    assay_put_u8(&unit, '\0');
    if (assay_buf_status(&text) == ASSAY_OK && assay_buf_status(&unit) == ASSAY_OK)
        assay_table_measure(table, (const char *)text.data, (const char *)unit.data);
    else
        assay_table_cell(table, "?");
    assay_buf_release(&text);
    assay_buf_release(&unit);
}

/* The cells of a confusion matrix and the remark, where there are any. */
static void put_detail(const assay_finding *f, assay_table *table)
{
    assay_buf text;
    assay_buf_init(&text, ASSAY_REPORT_CEILING);
    for (uint32_t c = 0; c < f->cell_count && c < CELLS_SHOWN; c++)
        assay_put_format(&text, "%s(%" PRId64 ", %" PRId64 ")", c ? " " : "", f->cells[2 * c], f->cells[2 * c + 1]);
    if (f->cell_count > CELLS_SHOWN)
        assay_put_format(&text, " and %" PRIu32 " more", f->cell_count - CELLS_SHOWN);
    if (f->note)
        assay_put_format(&text, "%s%s", text.size ? "; " : "", f->note);
    assay_put_u8(&text, '\0');
    assay_table_cell(table, assay_buf_status(&text) == ASSAY_OK ? (const char *)text.data : "?");
    assay_buf_release(&text);
}

/* How long the step took, and how busy its machine was. */
static void put_hardware(const assay_trial *info, const assay_finding *f, assay_table *table)
{
    assay_step_time at;
    assay_buf text;
    assay_buf_init(&text, 4096);
    if (report_find_hardware(info, f, &at))
        report_put_hardware(&at, REPORT_HARDWARE_BRIEF, &text);
    assay_put_u8(&text, '\0');
    assay_table_cell(table, assay_buf_status(&text) == ASSAY_OK ? (const char *)text.data : "?");
    assay_buf_release(&text);
}

/* The tensor; of a finding in time what of a machine or a worker it is about, both of them where it compares two. */
static void put_subject(const assay_trial *info, const assay_finding *f, assay_table *table)
{
    const assay_time_place *place = f->time;
    if (!place || !place->worker2)
        assay_table_cell(table, report_finding_tensor(info, f));
    else if (strcmp(place->worker, place->worker2) == 0)
        assay_table_format(table, "%.100s and %.100s", place->unit, place->unit2 ? place->unit2 : "");
    else
        assay_table_format(table, "%.80s and %.80s of %.80s", place->unit, place->unit2 ? place->unit2 : "",
                           place->worker2);
}

static void put_group(const assay_trial *info, const report_rule *rule, const assay_worker_names *names,
                      const finding_group *group, const evidence_columns *columns, assay_table *table)
{
    const assay_finding *f = group->first;
    const assay_step_info *step = report_finding_step(info, f);
    const char *test = report_finding_test(rule, f);
    assay_buf who;
    char when[REPORT_WHEN_ROOM];
    assay_table_cell(table, report_finding_when(f, when));
    if (!columns->time)
        assay_table_format(table, "%s %" PRId64, step ? assay_mode_name(step->mode) : "?", step ? step->mode_step : -1);
    assay_buf_init(&who, ASSAY_REPORT_CEILING);
    if (f->time)
        assay_put_format(&who, "%s", f->time->worker);
    else if (f->worker < assay_trial_workers(info))
        assay_worker_names_put(names, group->worker, group->count, &who);
    else
        assay_put_u8(&who, '*');
    assay_put_u8(&who, '\0');
    assay_table_cell(table, assay_buf_status(&who) == ASSAY_OK ? (const char *)who.data : "?");
    assay_buf_release(&who);
    put_values(info, rule, group, table);
    assay_table_number(table, f->threshold);
    if (columns->test)
        assay_table_cell(table, test ? test : "");
    put_subject(info, f, table);
    if (columns->detail)
        put_detail(f, table);
    if (columns->hardware)
        put_hardware(info, f, table);
}

/* True when an earlier finding of list[from..i) has the line of list[i] already. */
static bool has_line(const assay_finding *list, size_t from, size_t i)
{
    for (size_t k = from; k < i; k++) {
        if (belongs(&list[k], &list[i]))
            return true;
    }
    return false;
}

/* Puts at most `most` groups into the table; returns how many findings they hold. */
static size_t put_groups(const assay_trial *info, const report_rule *rule, const assay_worker_names *names, size_t most,
                         const evidence_columns *columns, uint32_t *workers, assay_table *table)
{
    const assay_finding *list = rule->findings->list;
    size_t kept = rule->findings->kept, shown = 0, lines = 0;
    for (size_t from = 0, to; from < kept && lines < most; from = to) {
        for (to = from + 1; to < kept && same_place(&list[from], &list[to]); to++)
            ;
        for (size_t i = from; i < to && lines < most; i++) {
            if (has_line(list, from, i))
                continue;
            finding_group group = collect(list, i, to, workers);
            put_group(info, rule, names, &group, columns, table);
            shown += group.count;
            lines++;
        }
    }
    return shown;
}

/* `aligns` is the caller's: the table looks at it until it is put. */
static void start_table(const evidence_columns *columns, char aligns[COLUMNS_MOST + 1], assay_table *table)
{
    static const char *const of_steps[] = {"step", "mode step", "workers", "value", "threshold"};
    static const char *const of_times[] = {"time", "worker", "value", "threshold"};
    const char *heads[COLUMNS_MOST];
    size_t count = columns->time ? sizeof of_times / sizeof *of_times : sizeof of_steps / sizeof *of_steps;
    memcpy(heads, columns->time ? of_times : of_steps, count * sizeof *heads);
    memcpy(aligns, columns->time ? "leur" : "rleur", count);
    if (columns->test) {
        heads[count] = "test";
        aligns[count++] = 'l';
    }
    heads[count] = columns->time ? "of" : "tensor";
    aligns[count++] = 'e';
    if (columns->detail) {
        heads[count] = "detail";
        aligns[count++] = 'e';
    }
    if (columns->hardware) {
        heads[count] = "step took, hardware";
        aligns[count++] = 'e';
    }
    aligns[count] = '\0';
    assay_table_init(table, aligns, heads);
}

/* The remark that all findings have alike, which stands once behind the table, where it need not be cut; NULL: none. */
static const char *common_note(const assay_findings *found)
{
    for (size_t i = 0; i < found->kept; i++) {
        const assay_finding *f = &found->list[i];
        if (!f->note || f->cell_count > 0 || strcmp(f->note, found->list[0].note) != 0)
            return NULL;
    }
    return found->kept > 0 ? found->list[0].note : NULL;
}

static void put_findings(const assay_trial *info, const report_rule *rule, const assay_worker_names *names, size_t most,
                         const assay_draw *draw, assay_buf *out)
{
    const assay_findings *found = rule->findings;
    evidence_columns columns = {.time = report_is_in_time(rule), .test = rule->instance->ops->tests != NULL};
    assay_step_time at;
    const char *note = common_note(found);
    for (size_t i = 0; i < found->kept && !note; i++)
        columns.detail = columns.detail || found->list[i].cell_count > 0 || found->list[i].note;
    for (size_t i = 0; i < found->kept && !columns.hardware; i++)
        columns.hardware = report_find_hardware(info, &found->list[i], &at);
    uint32_t *workers = assay_alloc_zeroed(found->kept, sizeof *workers);
    if (!workers) {
        if (out->status == ASSAY_OK)
            out->status = ASSAY_ENOMEM;
        return;
    }
    assay_table table;
    char aligns[COLUMNS_MOST + 1];
    start_table(&columns, aligns, &table);
    size_t shown = put_groups(info, rule, names, most, &columns, workers, &table);
    assay_table_put(&table, 4, draw, out);
    assay_table_release(&table);
    if (note)
        assay_text_put_wrapped(out, draw, 4, "    Detail: ", note, strlen(note));
    if (found->total > shown)
        assay_put_format(out, "    ... and %" PRIu64 " more; report.json has %s.\n", found->total - shown,
                         found->kept < found->total ? "the first of them" : "all of them");
    free(workers);
}

/* What the hardware did at the first finding, and what was slow before. */
static void put_first_hardware(const assay_trial *info, const report_rule *rule, const assay_draw *draw, assay_buf *out)
{
    assay_step_time at;
    assay_slow_step slow;
    assay_buf line;
    if (!report_first(rule) || !report_find_hardware(info, report_first(rule), &at))
        return;
    assay_buf_init(&line, 4096);
    assay_put_format(&line, "At the first finding the step of ");
    assay_put_bytes(&line, at.worker, strlen(at.worker));
    assay_put_format(&line, " took ");
    report_put_hardware(&at, ASSAY_METRICS, &line);
    assay_put_u8(&line, '.');
    if (report_find_slow_before(info, rule, &slow)) {
        assay_put_format(&line, " Before that ");
        report_put_slow(&slow, &line);
        assay_put_u8(&line, '.');
    }
    assay_text_put_wrapped(out, draw, 4, NULL, (const char *)line.data, line.size);
    assay_buf_release(&line);
}

/* What the rule says in lines of its own. On a terminal they are broken, but for those that are there to be pasted. */
static void put_own_lines(const assay_buf *text, const assay_draw *draw, assay_buf *out)
{
    static const char command[] = "To see it: ";
    if (!draw) {
        assay_text_put_clean_lines(out, (const char *)text->data, text->size, 4);
        return;
    }
    for (size_t at = 0; at < text->size;) {
        const char *line = (const char *)text->data + at, *end = memchr(line, '\n', text->size - at);
        const size_t length = end ? (size_t)(end - line) : text->size - at;
        const bool pasted =
            length > 0 &&
            (line[0] == ' ' || (length > sizeof command - 1 && memcmp(line, command, sizeof command - 1) == 0));
        if (pasted)
            assay_text_put_clean_lines(out, line, length, 4);
        else
            assay_text_put_wrapped(out, draw, 4, NULL, line, length);
        at += length + 1;
    }
}

void report_put_evidence(const assay_trial_outcome *trial, const report_rule *rule, const assay_worker_names *names,
                         size_t most, const assay_draw *draw, assay_buf *out)
{
    const assay_findings *found = rule->findings;
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_put_format(&line, "%" PRIu64 " of %" PRIu64 " datapoints fired, ", found->total, found->datapoints);
    report_put_found(trial->info, rule, REPORT_RUNS_OF_STEPS, &line);
    assay_put_u8(out, '\n');
    assay_text_put_wrapped(out, draw, 4, NULL, (const char *)line.data, line.size);
    assay_buf_release(&line);
    if (rule->message_size > 0)
        assay_text_put_wrapped(out, draw, 4, NULL, rule->message, rule->message_size);
    if (found->kept > 0)
        put_findings(trial->info, rule, names, most, draw, out);
    put_first_hardware(trial->info, rule, draw, out);
    if (rule->text && rule->text->size > 0)
        put_own_lines(rule->text, draw, out);
    const char *advice = rule->instance->ops->advice;
    if (advice && advice[0])
        assay_text_put_wrapped(out, draw, 4, "    What to do: ", advice, strlen(advice));
    const char *const *remedies = rule->instance->ops->remedies;
    for (int i = 0; remedies && remedies[i]; i++) {
        char number[24];
        snprintf(number, sizeof number, "    %d. ", i + 1);
        assay_text_put_wrapped(out, draw, 7, number, remedies[i], strlen(remedies[i]));
    }
}
