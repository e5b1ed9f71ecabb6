/* results_internal.h - the collected items, and the tables made of them. */
#pragma once

#include "hdf5/hdf5_file.h"
#include "report/model/report_model.h"
#include "report/results/results.h"
#include "report/results/spool.h"

typedef struct results_where { /* at the head of every item */
    int64_t step, mode_step;
    uint32_t trial, mode;
} results_where;

typedef struct results_tensor {
    results_where at;
    uint32_t worker, tensor;
    int32_t dtype;     /* -1: only reductions were saved */
    uint32_t recorded; /* 1: figures are reductions that the training saved */
    uint64_t elements, nan, pos_inf, neg_inf, zeros;
    double wall_time, min, max, mean, std, variance, sum, l1, l2, abs_mean, abs_max;
} results_tensor;

typedef struct results_count {
    results_where at;
    uint32_t aggregation, unused;
    int64_t label, prediction;
    uint64_t count;
} results_count;

enum { RESULTS_UNIT = 40 };

typedef struct results_finding { /* rank 0 only */
    results_where at;
    const assay_finding *finding;
    const char *rule, *test, *tensor, *worker;
    char unit[RESULTS_UNIT]; /* of the value; cut where it is longer */
} results_finding;

struct assay_results {
    const assay_job *job;
    assay_observer observer;
    assay_spool tensors;
    assay_spool classes, cells;            /* per step: of class counts, of confusion matrices */
    assay_spool class_totals, cell_totals; /* filled on rank 0 */
    assay_spool findings;
    assay_counter **totals; /* [trial * aggregations + aggregation], of this rank */
};

/* Names that rows need, the same on every rank. */
typedef struct results_names {
    assay_dict **tensors; /* [trials] */
    assay_dict **workers; /* [trials] */
    size_t trials;
    uint32_t trial_width, tensor_width, worker_width, rule_width, test_width; /* bytes of the longest, at least 1 */
} results_names;

enum { RESULTS_COLUMNS = 24, RESULTS_TABLES = 6 };

typedef struct results_table {
    const char *name, *about;
    assay_column column[RESULTS_COLUMNS];
    const char *unit[RESULTS_COLUMNS]; /* NULL: none */
    size_t columns, row;
    assay_spool *items;
    void (*expand)(const struct results_table *table, const assay_results *results, const results_names *names,
                   const void *item, uint8_t *row);
} results_table;

/* The tables of a collection; the first is that of the statistics. Not collective. */
void results_make_tables(assay_results *results, const results_names *names, results_table table[RESULTS_TABLES]);

/* results_gather.c: rank 0's names to everyone, and totals to rank 0: collective. Findings into rank 0's spool: there
 * alone. */
int results_share_names(assay_comm *comm, const assay_results *results, const assay_outcome *outcome,
                        results_names *out, assay_error *err);
void results_release_names(results_names *names);
int results_join_totals(assay_comm *comm, assay_results *results, assay_error *err);
int results_take_findings(assay_results *results, const assay_outcome *outcome, assay_error *err);

/* True for an aggregation that counts pairs (label, prediction). Not collective. */
bool results_counts_pairs(const assay_instance *aggregation);
