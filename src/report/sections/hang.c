/* hang.c - who waits for whom, out of dumps of flight recorders: operations that do not end, ranks by groups, and the
 * chain of those who wait. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/hang.h>

#include "base/fault.h"
#include "report/sections/sections.h"

enum { NAME_ROOM = 160, RANKS_NAMED = 6, OPERATIONS = 32, LINKS = 48 };

static void put_ranks(const assay_hang_ranks *ranks, doc *d)
{
    doc_cell(d);
    for (size_t i = 0; i < ranks->count && i < RANKS_NAMED; i++)
        doc_put(d, "%s%" PRId64, i ? ", " : "", ranks->rank[i]);
    if (ranks->count > RANKS_NAMED)
        doc_put(d, " ... (%zu)", ranks->count);
}

static bool is_same(const assay_hang_operation *a, const assay_hang_operation *b)
{
    return a->number == b->number && a->p2p == b->p2p && strcmp(a->group, b->group) == 0 &&
           a->members.count == b->members.count && (a->members.count == 0 || a->members.rank[0] == b->members.rank[0]);
}

/* The operations at which causes keep others waiting, each once. */
static size_t list_operations(const assay_hang *hang, const assay_hang_operation *list[OPERATIONS])
{
    size_t count = 0;
    for (size_t i = 0; i < hang->causes && count < OPERATIONS; i++) {
        const assay_hang_operation *o = &hang->cause[i].operation;
        size_t k = 0;
        while (k < count && !is_same(list[k], o))
            k++;
        if (k == count && o->operation)
            list[count++] = o;
    }
    return count;
}

static void put_operations(const assay_hang_operation *const *list, size_t count, doc *d)
{
    static const doc_column columns[] = {
        {"operation", DOC_OF_NAMES, NULL, DOC_KEEP}, {"number", DOC_OF_STEPS, NULL, DOC_KEEP},
        {"group", DOC_OF_NAMES, NULL, DOC_CUT},      {"have come", DOC_OF_WORDS, NULL, DOC_CUT},
        {"have not", DOC_OF_WORDS, NULL, DOC_CUT},   {"no dump", DOC_OF_WORDS, NULL, DOC_CUT}};
    doc_table(d, &(doc_table_def){"hang-operations", "operations", columns, sizeof columns / sizeof *columns, false});
    for (size_t i = 0; i < count; i++) {
        const assay_hang_operation *o = list[i];
        doc_row(d, DOC_BAD);
        doc_cell_name(d, o->operation);
        doc_cell_step(d, o->number);
        doc_cell_name(d, o->description && o->description[0] ? o->description : o->group);
        put_ranks(&o->arrived, d);
        put_ranks(&o->not_arrived, d);
        put_ranks(&o->no_file, d);
    }
}

static size_t mark(const assay_hang_ranks *ranks, double value, double *x, double *y, size_t n)
{
    for (size_t i = 0; i < ranks->count; i++) {
        x[n] = (double)ranks->rank[i];
        y[n++] = value;
    }
    return n;
}

static int compare_points(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A strip for each operation that does not end, a column for each rank. */
static void put_strips(const assay_hang_operation *const *list, size_t count, const assay_hang *hang, doc *d)
{
    enum { COME = 1, NOT_COME = 3, NO_DUMP = 2 };
    doc_series series[OPERATIONS];
    char name[OPERATIONS][NAME_ROOM];
    double least = 0, most = 0;
    size_t points = 0;
    for (size_t i = 0; i < count; i++)
        points += list[i]->arrived.count + list[i]->not_arrived.count + list[i]->no_file.count;
    double *pairs = assay_alloc((4 * points + 4) * sizeof *pairs), *at = pairs ? pairs + 2 * points + 2 : NULL;
    doc_fail(d, pairs ? ASSAY_OK : ASSAY_ENOMEM);
    for (size_t i = 0; i < count && pairs; i++) {
        const assay_hang_operation *o = list[i];
        const size_t n = o->arrived.count + o->not_arrived.count + o->no_file.count;
        double *x = at, *y = at + n;
        size_t k = mark(&o->arrived, COME, x, y, 0);
        k = mark(&o->not_arrived, NOT_COME, x, y, k);
        k = mark(&o->no_file, NO_DUMP, x, y, k);
        for (size_t p = 0; p < k; p++) {
            pairs[2 * p] = x[p];
            pairs[2 * p + 1] = y[p];
        }
        qsort(pairs, k, 2 * sizeof *pairs, compare_points);
        for (size_t p = 0; p < k; p++) {
            x[p] = pairs[2 * p];
            y[p] = pairs[2 * p + 1];
        }
        snprintf(name[i], sizeof name[i], "%s %" PRId64 " of %s", o->operation, o->number,
                 o->description && o->description[0] ? o->description : o->group);
        series[i] = (doc_series){name[i], x, y, k, 0};
        at = y + n;
    }
    if (hang->ranks.count > 0)
        most = (double)hang->ranks.rank[hang->ranks.count - 1];
    if (hang->no_file.count > 0 && (double)hang->no_file.rank[hang->no_file.count - 1] > most)
        most = (double)hang->no_file.rank[hang->no_file.count - 1];
    if (pairs && points > 0)
        doc_put_chart(d, "hang-ranks",
                      &(doc_chart){.kind = DOC_HEAT,
                                   .title = "Ranks by groups: who has come to the operations that do not end",
                                   .remark = "1: has come and waits; 2: left no dump; 3: has not come",
                                   .x_label = "rank",
                                   .y_label = "state",
                                   .x_least = least,
                                   .x_most = most,
                                   .series = series,
                                   .count = count});
    free(pairs);
}

static doc_tone tone_of(char kind)
{
    return kind == 'N' ? DOC_BAD : kind == 'U' ? DOC_BROKEN : DOC_PLAIN;
}

static int compare_targets(const void *a, const void *b)
{
    const assay_hang_edge *x = a, *y = b;
    return x->to != y->to ? (x->to > y->to) - (x->to < y->to) : (x->from > y->from) - (x->from < y->from);
}

/* Who waits for whom: each rank, or, where those are many, how many wait for each. */
static void put_chain(const assay_hang *hang, doc *d)
{
    assay_hang_edge *edge = assay_alloc((hang->edges + 1) * sizeof *edge);
    doc_link link[LINKS];
    char from[LINKS][NAME_ROOM], to[LINKS][NAME_ROOM];
    size_t links = 0, edges = 0;
    doc_fail(d, edge ? ASSAY_OK : ASSAY_ENOMEM);
    if (edge && hang->edges > 0) {
        memcpy(edge, hang->edge, hang->edges * sizeof *edge);
        qsort(edge, hang->edges, sizeof *edge, compare_targets);
        for (size_t i = 0; i < hang->edges; i++) /* a rank may wait for another in several operations */
            if (edges == 0 || compare_targets(&edge[edges - 1], &edge[i]) != 0)
                edge[edges++] = edge[i];
    }
    for (size_t i = 0, end; i < edges && links < LINKS; i = end) {
        end = i + 1;
        while (edges > LINKS && end < edges && edge[end].to == edge[i].to)
            end++;
        if (end - i == 1)
            snprintf(from[links], NAME_ROOM, "rank %" PRId64, edge[i].from);
        else
            snprintf(from[links], NAME_ROOM, "%zu ranks: %" PRId64 ", %" PRId64 "%s", end - i, edge[i].from,
                     edge[i + 1].from, end - i > 2 ? ", ..." : "");
        snprintf(to[links], NAME_ROOM, "rank %" PRId64, edge[i].to);
        link[links] = (doc_link){from[links], to[links], (double)(end - i), tone_of(edge[i].kind)};
        links++;
    }
    free(edge);
    if (links > 0)
        doc_put_chart(d, "hang-chain",
                      &(doc_chart){.kind = DOC_PAIRS,
                                   .title = "Who waits for whom",
                                   .x_label = "waits",
                                   .y_label = "has not come, stands before it, or left no dump",
                                   .link = link,
                                   .links = links});
}

/* As the rule was told; a training that runs has no culprits. */
static bool settings_of(const assay_outcome *outcome, double *max_age)
{
    *max_age = 3600;
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const assay_instance *rule = outcome->job->rules[i];
        if (!rule->ops || strcmp(rule->ops->name, "HangCulprit") != 0)
            continue;
        *max_age = assay_param_real(rule->params, "max_age_seconds");
        return !assay_param_bool(rule->params, "snapshot");
    }
    return true;
}

static void put_trial(const assay_report *report, size_t t, double max_age, doc *d)
{
    const assay_hang_operation *list[OPERATIONS];
    assay_hang *hang = NULL;
    assay_error err = {{0}};
    doc_fail(d, assay_hang_find(report->outcome->trials[t].info, max_age, &hang, &err));
    const size_t count = hang ? list_operations(hang, list) : 0;
    if (count > 0) {
        doc_section(d, NULL, "Who waits");
        sections_begin_trial(report, d, t);
        put_operations(list, count, d);
        doc_only(d, DOC_HTML | DOC_JSON);
        put_strips(list, count, hang, d);
        doc_only(d, DOC_HTML | DOC_TEXT | DOC_JSON);
        put_chain(hang, d);
        sections_end_trial(report, d);
        doc_end(d);
    }
    assay_hang_free(hang);
}

void section_hang(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    double max_age = 0;
    if (!settings_of(outcome, &max_age))
        return;
    for (size_t t = 0; t < outcome->trial_count; t++)
        if (sections_read(&outcome->trials[t]) && assay_trial_has_dumps(outcome->trials[t].info) &&
            sections_shows(report, t))
            put_trial(report, t, max_age, d);
}
