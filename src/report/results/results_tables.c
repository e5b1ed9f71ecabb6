/* results_tables.c - the columns of the tables, and the conversion of items into rows: values in column order. */
#include <string.h>

#include "report/results/results_internal.h"

enum { DTYPE_WIDTH = 15 /* "float8_e4m3fnuz", the longest */ };

/* ---- columns ---- */

static void add_column(results_table *t, const char *name, int kind, size_t size, const char *unit)
{
    t->column[t->columns] = (assay_column){name, kind, t->row, size};
    t->unit[t->columns++] = unit;
    t->row += size;
}

static void add_numbers(results_table *t, int kind, const char *const *names)
{
    for (; *names; names++)
        add_column(t, *names, kind, 8, NULL);
}

/* Totals are over all steps, so they have no columns for one. */
static void add_where(results_table *t, const results_names *names, bool with_step)
{
    add_column(t, "trial", ASSAY_COLUMN_TEXT, names->trial_width, NULL);
    if (!with_step)
        return;
    add_column(t, "step", ASSAY_COLUMN_I64, 8, "global step");
    add_column(t, "mode", ASSAY_COLUMN_TEXT, 7, NULL);
    add_column(t, "mode_step", ASSAY_COLUMN_I64, 8, "step within the mode");
}

/* ---- rows ---- */

/* Bytes behind the text are 0, as fixed strings of HDF5 and strnlen of the text forms have it. */
static void put_text(uint8_t **at, const char *text, size_t length, size_t width)
{
    size_t n = length < width ? length : width;
    memcpy(*at, text, n);
    memset(*at + n, 0, width - n);
    *at += width;
}

static void put_word(uint8_t **at, const char *text, size_t width)
{
    put_text(at, text, strlen(text), width);
}

static void put_8(uint8_t **at, const void *value)
{
    memcpy(*at, value, 8);
    *at += 8;
}

/* A tensor that no name was given for has an empty cell, not a failure: the row's figures hold without it. */
static void put_name(uint8_t **at, const assay_dict *dict, uint32_t id, size_t width)
{
    size_t length = 0;
    const char *name = id < assay_dict_count(dict) ? assay_dict_name(dict, id, &length) : "";
    put_text(at, name, length, width);
}

static void put_where(uint8_t **at, const assay_results *r, const results_names *names, const results_where *where,
                      bool with_step)
{
    put_word(at, r->job->trials[where->trial].name, names->trial_width);
    if (!with_step)
        return;
    put_8(at, &where->step);
    put_word(at, assay_mode_name((int)where->mode), 7);
    put_8(at, &where->mode_step);
}

/* Values go in the order in which make_statistics adds the columns; put_8 copies integers and reals alike. */
static void expand_tensor(const results_table *table, const assay_results *r, const results_names *names,
                          const void *item, uint8_t *row)
{
    results_tensor t;
    memcpy(&t, item, sizeof t);
    put_where(&row, r, names, &t.at, true);
    put_name(&row, names->workers[t.at.trial], t.worker, names->worker_width);
    put_name(&row, names->tensors[t.at.trial], t.tensor, names->tensor_width);
    put_word(&row, t.dtype >= 0 ? assay_dtype_name(t.dtype) : "", DTYPE_WIDTH);
    put_word(&row, t.recorded ? "training" : "assay", 8);
    const void *const values[] = {&t.elements, &t.nan,      &t.pos_inf, &t.neg_inf,  &t.zeros, &t.min,
                                  &t.max,      &t.mean,     &t.std,     &t.variance, &t.sum,   &t.l1,
                                  &t.l2,       &t.abs_mean, &t.abs_max, &t.wall_time};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        put_8(&row, values[i]);
}

static void expand_count(const results_table *table, const assay_results *r, const results_names *names,
                         const void *item, uint8_t *row)
{
    results_count c;
    memcpy(&c, item, sizeof c);
    bool with_step = table->items == &r->classes || table->items == &r->cells;
    put_where(&row, r, names, &c.at, with_step);
    put_word(&row, r->job->aggregations[c.aggregation]->name, names->rule_width);
    put_8(&row, &c.label);
    if (table->items == &r->cells || table->items == &r->cell_totals)
        put_8(&row, &c.prediction);
    put_8(&row, &c.count);
}

/* A finding in time has no step; its `step` is then a time, which has a column of its own. */
static void expand_finding(const results_table *table, const assay_results *r, const results_names *names,
                           const void *item, uint8_t *row)
{
    results_finding f;
    memcpy(&f, item, sizeof f);
    put_where(&row, r, names, &f.at, true);
    put_word(&row, f.rule, names->rule_width);
    put_word(&row, f.worker, names->worker_width);
    put_word(&row, f.tensor, names->tensor_width);
    put_word(&row, f.test, names->test_width);
    put_8(&row, &f.finding->value);
    put_8(&row, &f.finding->threshold);
    put_word(&row, f.unit, RESULTS_UNIT);
    const int64_t time = f.finding->time ? f.finding->step : -1;
    put_8(&row, &time);
}

/* ---- tables ---- */

static void make_statistics(assay_results *r, const results_names *names, results_table *t)
{
    static const char *const counts[] = {"elements", "nan", "pos_inf", "neg_inf", "zeros", NULL};
    static const char *const figures[] = {"min", "max", "mean",     "std",     "variance", "sum",
                                          "l1",  "l2",  "abs_mean", "abs_max", NULL};
    *t = (results_table){
        .name = "statistics",
        .items = &r->tensors,
        .expand = expand_tensor,
        .about = "one row for each tensor that was read at a step of a worker; figures over all its elements, in "
                 "the tensor's own unit; source: who computed them; NaN: not known"};
    add_where(t, names, true);
    add_column(t, "worker", ASSAY_COLUMN_TEXT, names->worker_width, NULL);
    add_column(t, "tensor", ASSAY_COLUMN_TEXT, names->tensor_width, NULL);
    add_column(t, "dtype", ASSAY_COLUMN_TEXT, DTYPE_WIDTH, NULL);
    add_column(t, "source", ASSAY_COLUMN_TEXT, 8, NULL);
    add_numbers(t, ASSAY_COLUMN_U64, counts);
    add_numbers(t, ASSAY_COLUMN_F64, figures);
    add_column(t, "wall_time", ASSAY_COLUMN_F64, 8, "seconds since 1970-01-01 UTC");
}

static void make_findings(assay_results *r, const results_names *names, results_table *t)
{
    *t = (results_table){
        .name = "findings",
        .items = &r->findings,
        .expand = expand_finding,
        .about = "what the rules found, of each rule the first as many as the job keeps; worker *: all together"};
    add_where(t, names, true);
    add_column(t, "rule", ASSAY_COLUMN_TEXT, names->rule_width, NULL);
    add_column(t, "worker", ASSAY_COLUMN_TEXT, names->worker_width, NULL);
    add_column(t, "tensor", ASSAY_COLUMN_TEXT, names->tensor_width, NULL);
    add_column(t, "test", ASSAY_COLUMN_TEXT, names->test_width, NULL);
    add_column(t, "value", ASSAY_COLUMN_F64, 8, "value_unit");
    add_column(t, "threshold", ASSAY_COLUMN_F64, 8, "of the rule");
    add_column(t, "value_unit", ASSAY_COLUMN_TEXT, RESULTS_UNIT, NULL);
    add_column(t, "time_us", ASSAY_COLUMN_I64, 8, "microseconds since 1970-01-01 UTC");
}

static void make_counts(assay_results *r, const results_names *names, const char *name, const char *about,
                        assay_spool *items, results_table *t)
{
    bool pairs = items == &r->cells || items == &r->cell_totals;
    *t = (results_table){.name = name, .about = about, .items = items, .expand = expand_count};
    add_where(t, names, items == &r->classes || items == &r->cells);
    add_column(t, "aggregation", ASSAY_COLUMN_TEXT, names->rule_width, NULL);
    add_column(t, pairs ? "label" : "class", ASSAY_COLUMN_I64, 8, "class");
    if (pairs)
        add_column(t, "prediction", ASSAY_COLUMN_I64, 8, "class");
    add_column(t, "count", ASSAY_COLUMN_U64, 8, "samples");
}

/* The order is that of the file, and results_write.c takes the first for what needs no job. */
void results_make_tables(assay_results *r, const results_names *names, results_table table[RESULTS_TABLES])
{
    make_statistics(r, names, &table[0]);
    make_findings(r, names, &table[1]);
    make_counts(r, names, "class_counts", "samples of each class at each step, over all workers", &r->classes,
                &table[2]);
    make_counts(r, names, "class_counts_total", "samples of each class, over all steps and workers", &r->class_totals,
                &table[3]);
    make_counts(r, names, "confusion", "cells of the confusion matrices that are not 0, at each step", &r->cells,
                &table[4]);
    make_counts(r, names, "confusion_total", "cells of the confusion matrices that are not 0, over all steps",
                &r->cell_totals, &table[5]);
}
