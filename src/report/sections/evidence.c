/* evidence.c - the findings of one rule.
 *
 * Findings of one step and tensor share a row: all workers together, however many, with the range of their values; a
 * worker that differs is named. Rows that go on over neighbouring saved steps are one, "136 to 199". report.json has each
 * finding. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/sections/sections.h"
#include "report/text/layout.h"
#include "report/text/workers.h"

enum { CELLS_SHOWN = 12, LANES_MOST = 64, ROWS_BACK = 256 /* among which a row that goes on is looked for */ };

/* Findings that share tensor, test, unit, threshold, note and workers, of one step or of neighbouring ones. */
typedef struct evidence_row {
    const assay_finding *first, *last;
    uint64_t position;  /* of the last step among the saved ones; UINT64_MAX: unknown */
    double least, most; /* of the values that are not NaN */
    uint32_t *worker;   /* [count] ascending; borrowed */
    size_t count, findings;
    bool nan;
} evidence_row;

typedef struct evidence {
    const assay_trial *info;
    const report_rule *rule;
    evidence_row *row;
    size_t rows, most; /* rows that are put into the table */
    uint32_t *workers; /* of all rows, one behind another */
    bool time, detail; /* columns: findings have a time in place of a step; the note of each, not one of all */
    const char *note;  /* that all findings have alike; NULL: none */
} evidence;

/* Thresholds are compared by their bytes, as NaN equals itself then. */
static bool belongs(const assay_finding *a, const assay_finding *b)
{
    return a->test == b->test && a->value_unit == b->value_unit &&
           memcmp(&a->threshold, &b->threshold, sizeof a->threshold) == 0;
}

static bool same_place(const assay_finding *a, const assay_finding *b)
{
    return !a->time && a->step == b->step && a->tensor == b->tensor;
}

/* Notes are said once only where findings have no cells, which are part of the detail. */
static bool same_note(const assay_finding *a, const assay_finding *b)
{
    return a->cell_count == 0 && b->cell_count == 0 && strcmp(a->note ? a->note : "", b->note ? b->note : "") == 0;
}

/* Collects what belongs to list[from] of list[from, to), all of one step and tensor. Workers are borrowed from
 * e->workers, which has room for all findings. */
static evidence_row collect(const assay_trial *info, const assay_finding *list, size_t from, size_t to,
                            uint32_t *workers)
{
    const assay_finding *first = &list[from];
    evidence_row row = {.first = first, .last = first, .least = INFINITY, .most = -INFINITY, .worker = workers};
    row.position = first->time ? UINT64_MAX : assay_trial_find_step(info, first->step);
    for (size_t i = from; i < to; i++) {
        if (!belongs(first, &list[i]))
            continue;
        workers[row.count++] = list[i].worker;
        row.nan = row.nan || isnan(list[i].value);
        row.least = list[i].value < row.least ? list[i].value : row.least;
        row.most = list[i].value > row.most ? list[i].value : row.most;
    }
    row.findings = row.count;
    return row;
}

/* Tells whether row `b` goes on where `a` ended: at the next saved step, with the same workers. */
static bool goes_on(const evidence_row *a, const evidence_row *b)
{
    return a->position != UINT64_MAX && b->position == a->position + 1 && a->first->tensor == b->first->tensor &&
           belongs(a->first, b->first) && same_note(a->first, b->first) && a->count == b->count &&
           memcmp(a->worker, b->worker, a->count * sizeof *a->worker) == 0;
}

/* Joins the row to an earlier one that it goes on; false: there is none. Looks back ROWS_BACK rows, so that many
 * tensors at once take no quadratic time. */
static bool join(evidence *e, const evidence_row *row)
{
    for (size_t i = e->rows; i > 0 && e->rows - i < ROWS_BACK; i--) {
        evidence_row *before = &e->row[i - 1];
        if (!goes_on(before, row))
            continue;
        before->last = row->first;
        before->findings += row->findings;
        before->position = row->position;
        before->least = fmin(before->least, row->least);
        before->most = fmax(before->most, row->most);
        before->nan = before->nan || row->nan;
        return true;
    }
    return false;
}

/* True when an earlier finding of list[from..i) has the row of list[i] already. */
static bool has_row(const assay_finding *list, size_t from, size_t i)
{
    for (size_t k = from; k < i; k++)
        if (belongs(&list[k], &list[i]))
            return true;
    return false;
}

static void find_rows(evidence *e)
{
    const assay_finding *list = e->rule->findings->list;
    const size_t kept = e->rule->findings->kept;
    uint32_t *free_workers = e->workers;
    for (size_t from = 0, to; from < kept; from = to) {
        for (to = from + 1; to < kept && same_place(&list[from], &list[to]); to++)
            ;
        for (size_t i = from; i < to; i++) {
            if (has_row(list, from, i))
                continue;
            evidence_row row = collect(e->info, list, i, to, free_workers);
            if (join(e, &row))
                continue;
            e->row[e->rows++] = row; /* never more rows than findings */
            free_workers += row.count;
        }
    }
}

/* ---- cells ---- */

static void put_when(const evidence_row *row, doc *d)
{
    char when[REPORT_WHEN_ROOM];
    if (row->first->time)
        doc_cell_words(d, report_finding_when(row->first, when));
    else if (row->first == row->last)
        doc_cell_step(d, row->first->step);
    else {
        doc_cell(d);
        doc_put(d, "%" PRId64 " to %" PRId64, row->first->step, row->last->step);
    }
}

static void put_mode_step(const assay_trial *info, const evidence_row *row, doc *d)
{
    const assay_step_info *step = report_finding_step(info, row->first), *last = report_finding_step(info, row->last);
    if (!step) {
        doc_cell_none(d);
        return;
    }
    doc_cell(d);
    doc_put(d, "%s %" PRId64, assay_mode_name(step->mode), step->mode_step);
    if (last && row->first != row->last)
        doc_put(d, " to %" PRId64, last->mode_step);
}

static void put_workers(const evidence *e, const evidence_row *row, const assay_worker_names *names, doc *d)
{
    assay_buf who = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (row->first->time)
        assay_put_bytes(&who, row->first->time->worker, strlen(row->first->time->worker));
    else if (row->first->worker < assay_trial_workers(e->info))
        assay_worker_names_put(names, row->worker, row->count, &who);
    else
        assay_put_u8(&who, '*');
    assay_put_u8(&who, '\0');
    doc_fail(d, assay_buf_status(&who));
    if (assay_buf_status(&who) == ASSAY_OK)
        doc_cell_name(d, (const char *)who.data);
    assay_buf_release(&who);
}

/* Puts one value or the range of them; behind it what the value is. */
static void put_values(const evidence *e, const evidence_row *row, doc *d)
{
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (row->least <= row->most)
        doc_cell_range(d, row->least, row->most, row->nan);
    else
        doc_cell_real(d, NAN);
    report_put_unit(e->info, e->rule, row->first, row->least == 1 && row->most == 1, &text);
    doc_put_words(d, (const char *)text.data, text.size);
    doc_fail(d, assay_buf_status(&text));
    assay_buf_release(&text);
}

/* Puts the tensor; of a finding in time what of a machine or a worker it is about, both of them where it compares
 * two. */
static void put_subject(const evidence *e, const assay_finding *f, doc *d)
{
    const assay_time_place *place = f->time;
    if (!place || !place->worker2) {
        doc_cell_name(d, report_finding_tensor(e->info, f));
        return;
    }
    doc_cell(d);
    doc_put_name(d, place->unit);
    doc_put(d, " and ");
    doc_put_name(d, place->unit2 ? place->unit2 : "");
    if (strcmp(place->worker, place->worker2) == 0)
        return;
    doc_put(d, " of ");
    doc_put_name(d, place->worker2);
}

/* Puts the cells of a confusion matrix and the note. */
static void put_detail(const assay_finding *f, doc *d)
{
    if (f->cell_count == 0 && !f->note) {
        doc_cell_none(d);
        return;
    }
    doc_cell(d);
    for (uint32_t c = 0; c < f->cell_count && c < CELLS_SHOWN; c++)
        doc_put(d, "%s(%" PRId64 ", %" PRId64 ")", c ? " " : "", f->cells[2 * c], f->cells[2 * c + 1]);
    if (f->cell_count > CELLS_SHOWN)
        doc_put(d, " and %" PRIu32 " more", f->cell_count - CELLS_SHOWN);
    if (f->note) {
        doc_put(d, f->cell_count ? "; " : "");
        doc_put_text(d, f->note, strlen(f->note));
    }
}

/* Puts how long the step took, and how busy its machine was. */
static void put_hardware(const evidence *e, const assay_finding *f, doc *d)
{
    assay_step_time at;
    if (!report_find_hardware(e->info, f, &at)) {
        doc_cell_none(d);
        return;
    }
    assay_buf text = ASSAY_BUF(4096);
    report_put_hardware(&at, REPORT_HARDWARE_BRIEF, &text);
    doc_cell(d);
    doc_put_text(d, (const char *)text.data, text.size);
    assay_buf_release(&text);
}

static void put_table(const evidence *e, const assay_worker_names *names, doc *d)
{
    const doc_column columns[] = {{e->time ? "time" : "step", DOC_OF_STEPS, NULL, DOC_KEEP},
                                  {"mode step", DOC_OF_STEPS, NULL, DOC_KEEP},
                                  {e->time ? "worker" : "workers", DOC_OF_NAMES, NULL, DOC_CUT},
                                  {"value", DOC_OF_REALS, NULL, DOC_KEEP},
                                  {"threshold", DOC_OF_REALS, NULL, DOC_KEEP},
                                  {"test", DOC_OF_NAMES, NULL, DOC_KEEP},
                                  {e->time ? "of" : "tensor", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                  {"detail", DOC_OF_WORDS, NULL, DOC_CUT},
                                  {"step took, hardware", DOC_OF_WORDS, NULL, DOC_CUT}};
    doc_table(d, &(doc_table_def){NULL, "findings", columns, sizeof columns / sizeof *columns, true});
    size_t shown = 0;
    for (size_t i = 0; i < e->rows && i < e->most; i++) {
        const assay_finding *f = e->row[i].first;
        const char *test = report_finding_test(e->rule, f);
        doc_row(d, DOC_PLAIN);
        put_when(&e->row[i], d);
        if (e->time)
            doc_cell_none(d);
        else
            put_mode_step(e->info, &e->row[i], d);
        put_workers(e, &e->row[i], names, d);
        put_values(e, &e->row[i], d);
        doc_cell_real(d, f->threshold);
        doc_cell_name(d, test ? test : "");
        put_subject(e, f, d);
        if (e->detail)
            put_detail(f, d);
        else
            doc_cell_none(d);
        put_hardware(e, f, d);
        shown += e->row[i].findings;
    }
    doc_left_out(d, e->rule->findings->total - shown);
    if (!e->note)
        return;
    doc_paragraph(d);
    doc_put(d, "Detail: ");
    doc_put_text(d, e->note, strlen(e->note));
}

/* ---- the picture: when the rule fired on which worker ---- */

typedef struct lane {
    uint32_t worker;
    double *x, *y;
    size_t count;
} lane;

/* LANES_MOST lanes are enough for a picture; further workers are in the table. */
static lane *lane_of(lane *list, size_t *lanes, uint32_t worker)
{
    for (size_t i = 0; i < *lanes; i++)
        if (list[i].worker == worker)
            return &list[i];
    if (*lanes == LANES_MOST)
        return NULL;
    list[*lanes].worker = worker;
    return &list[(*lanes)++];
}

static void put_picture(const evidence *e, doc *d)
{
    const assay_findings *found = e->rule->findings;
    const uint64_t steps = assay_trial_steps(e->info);
    lane list[LANES_MOST];
    doc_series series[LANES_MOST];
    size_t lanes = 0;
    /* With very many cards pictures would take most of the page. */
    if (e->time || steps < 2 || found->step_count < 2 || e->most < SECTIONS_ROWS_MOST / 5)
        return;
    double *room = assay_alloc_zeroed(2 * LANES_MOST * found->step_count, sizeof *room);
    doc_fail(d, room ? ASSAY_OK : ASSAY_ENOMEM);
    for (size_t i = 0; room && i < LANES_MOST; i++) {
        double *x = room + 2 * i * found->step_count;
        list[i] = (lane){0, x, x + found->step_count, 0};
    }
    for (size_t i = 0; room && i < found->kept; i++) {
        const assay_finding *f = &found->list[i];
        lane *l = lane_of(list, &lanes, f->worker < assay_trial_workers(e->info) ? f->worker : ASSAY_ALL_WORKERS);
        if (!l)
            continue;
        if (l->count > 0 && l->x[l->count - 1] == (double)f->step) {
            l->y[l->count - 1]++;
        } else if (l->count < found->step_count) {
            l->x[l->count] = (double)f->step;
            l->y[l->count++] = 1;
        }
    }
    for (size_t i = 0; i < lanes; i++)
        series[i] = (doc_series){list[i].worker == ASSAY_ALL_WORKERS ? "all workers"
                                                                     : assay_trial_worker(e->info, list[i].worker),
                                 list[i].x, list[i].y, list[i].count, 0};
    if (lanes > 0) {
        doc_only(d, DOC_HTML);
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_HEAT,
                                   .title = "When it fired",
                                   .x_label = "step",
                                   .y_label = "findings at a step",
                                   .x_least = (double)assay_trial_step(e->info, 0)->step,
                                   .x_most = (double)assay_trial_step(e->info, steps - 1)->step,
                                   .series = series,
                                   .count = lanes});
    }
    free(room);
}

/* ---- around the table ---- */

static void put_counts(const evidence *e, doc *d)
{
    const assay_findings *found = e->rule->findings;
    assay_buf line = ASSAY_BUF(ASSAY_REPORT_CEILING);
    report_put_found(e->info, e->rule, REPORT_RUNS_OF_STEPS, &line);
    doc_paragraph(d);
    doc_put(d, "Found in %" PRIu64 " of %" PRIu64 " tests, ", found->total, found->datapoints);
    doc_put_words(d, (const char *)line.data, line.size);
    doc_put(d, ".");
    assay_buf_release(&line);
}

/* Puts what the hardware did at the first finding, and what was slow before. */
static void put_first_hardware(const evidence *e, doc *d)
{
    assay_step_time at;
    assay_slow_step slow;
    assay_buf words = ASSAY_BUF(4096);
    if (!report_first(e->rule) || !report_find_hardware(e->info, report_first(e->rule), &at))
        return;
    report_put_hardware(&at, ASSAY_METRICS, &words);
    doc_paragraph(d);
    doc_put(d, "At the first finding the step of ");
    doc_put_name(d, at.worker);
    doc_put(d, " took ");
    doc_put_text(d, (const char *)words.data, words.size);
    doc_put(d, ".");
    if (report_find_slow_before(e->info, e->rule, &slow)) {
        assay_buf_clear(&words);
        report_put_slow(&slow, &words);
        doc_put(d, " Before that ");
        doc_put_text(d, (const char *)words.data, words.size);
        doc_put(d, ".");
    }
    assay_buf_release(&words);
}

/* Either a note that all share, said once below the table, or a column of details. */
static void find_notes(evidence *e)
{
    const assay_findings *found = e->rule->findings;
    e->note = found->kept > 0 ? found->list[0].note : NULL;
    for (size_t i = 0; i < found->kept; i++)
        if (!found->list[i].note || !same_note(&found->list[i], &found->list[0]))
            e->note = NULL;
    for (size_t i = 0; i < found->kept && !e->note; i++)
        e->detail = e->detail || found->list[i].cell_count > 0 || found->list[i].note;
}

void sections_put_evidence(const assay_trial_outcome *trial, const report_rule *rule, size_t most, doc *d)
{
    const size_t kept = rule->findings->kept;
    evidence e = {.info = trial->info, .rule = rule, .most = most, .time = report_is_in_time(rule)};
    assay_worker_names names;
    int status = assay_worker_names_init(&names, &trial->catalog);
    e.row = assay_alloc_zeroed(kept, sizeof *e.row);
    e.workers = assay_alloc_zeroed(kept, sizeof *e.workers);
    if (status != ASSAY_OK || !e.row || !e.workers) {
        doc_fail(d, ASSAY_ENOMEM);
        goto done;
    }
    find_notes(&e);
    find_rows(&e);
    put_counts(&e, d);
    if (rule->message_size > 0) {
        doc_paragraph(d);
        doc_put_text(d, rule->message, rule->message_size);
    }
    put_picture(&e, d);
    if (e.rows > 0)
        put_table(&e, &names, d);
    put_first_hardware(&e, d);
    if (rule->text && rule->text->size > 0)
        doc_lines(d, (const char *)rule->text->data, rule->text->size);
done:
    if (status == ASSAY_OK)
        assay_worker_names_release(&names);
    free(e.row);
    free(e.workers);
}

/* The advice of a diagnosis goes before that of the rule, which knows less. */
void sections_put_advice(const report_rule *rule, const assay_cause *cause, doc *d)
{
    if (cause && cause->advice[0])
        doc_advice(d, cause->advice, NULL);
    else if (rule->instance->ops)
        doc_advice(d, rule->instance->ops->advice, rule->instance->ops->remedies);
}
