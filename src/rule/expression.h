/* expression.h - conditions in a job file: "abs_mean(gradients) < 1e-6". docs/expressions.md has the grammar.
 *
 * Compiling makes two kinds of program, both in postfix order:
 *   columns  figures of one step: a statistic of a tensor, or a sub-program pooled over the workers
 *   code     the condition over the columns of a saved step and of the previous one
 * So map reduces a step to its columns, and the condition needs no more than two rows of them. */
#pragma once

#include <assay/rule.h>

enum {
    ASSAY_EXPRESSION_TEXT = 4000, /* longest text in bytes */
    ASSAY_EXPRESSION_CODE = 512,  /* operations of all programs */
    ASSAY_EXPRESSION_DEPTH = 64,  /* values on the stack */
    ASSAY_EXPRESSION_LOADS = 24,
    ASSAY_EXPRESSION_POOLS = 8,
    ASSAY_EXPRESSION_SELECTORS = 12
};

typedef enum assay_expression_code {
    ASSAY_OP_NUMBER, /* pushes `number` */
    ASSAY_OP_LOAD,   /* pushes load `argument` of the step (main code: column) */
    ASSAY_OP_BEFORE, /* pushes column `argument` of the saved step before; main code only */
    ASSAY_OP_POOL,   /* while compiling: the result of pool `argument`; becomes a LOAD of its column */
    ASSAY_OP_POOL_BEFORE,
    ASSAY_OP_NEGATE,
    ASSAY_OP_ABS,
    ASSAY_OP_LOG,
    ASSAY_OP_SQRT, /* one operand */
    ASSAY_OP_NOT,
    ASSAY_OP_ADD,
    ASSAY_OP_SUBTRACT,
    ASSAY_OP_MULTIPLY,
    ASSAY_OP_DIVIDE,
    ASSAY_OP_MIN,
    ASSAY_OP_MAX, /* two */
    ASSAY_OP_LESS,
    ASSAY_OP_AT_MOST,
    ASSAY_OP_MORE,
    ASSAY_OP_AT_LEAST,
    ASSAY_OP_EQUAL,
    ASSAY_OP_UNEQUAL,
    ASSAY_OP_AND,
    ASSAY_OP_OR
} assay_expression_code;

typedef struct assay_expression_op {
    uint8_t code, argument;
    double number;
} assay_expression_op;

typedef struct assay_expression_program {
    uint16_t first, count; /* in assay_expression.op */
} assay_expression_program;

typedef enum assay_selector_kind {
    ASSAY_SELECT_COLLECTION, /* gradients */
    ASSAY_SELECT_REGEX,      /* /bias$/ */
    ASSAY_SELECT_NAME,       /* "fc.weight" */
    ASSAY_SELECT_TEMPLATE    /* "gradient/{}": {} is the name of the tensor under test */
} assay_selector_kind;

typedef struct assay_expression_selector {
    assay_selector_kind kind;
    char *text;     /* owned */
    uint32_t kinds; /* bit 1 << kind: the saved reductions that its statistics can fall back on */
    bool updates;   /* some statistic compares it with the saved step before */
    int measure;    /* of that comparison, once the needs are declared */
} assay_expression_selector;

typedef struct assay_expression_load {
    uint8_t selector, statistic;
} assay_expression_load;

typedef enum assay_pool_kind {
    ASSAY_POOL_MIN,
    ASSAY_POOL_MAX,
    ASSAY_POOL_MEAN,
    ASSAY_POOL_SPREAD,
    ASSAY_POOL_COUNT
} assay_pool_kind;

typedef struct assay_expression_pool { /* a figure over the workers that saved the tensor at the step */
    assay_pool_kind kind;
    assay_expression_program program; /* over the loads of one worker */
} assay_expression_pool;

typedef struct assay_expression_column {
    bool pool;
    uint8_t number; /* of the pool, else of the load */
} assay_expression_column;

typedef struct assay_expression {
    assay_expression_op op[ASSAY_EXPRESSION_CODE];
    uint16_t ops;
    assay_expression_program condition;
    assay_expression_selector
        selector[ASSAY_EXPRESSION_SELECTORS]; /* 0: the tensors under test; also the slots' numbers */
    uint8_t selectors;
    assay_expression_load load[ASSAY_EXPRESSION_LOADS];
    uint8_t loads;
    assay_expression_pool pool[ASSAY_EXPRESSION_POOLS];
    uint8_t pools;
    assay_expression_column column[ASSAY_EXPRESSION_LOADS + ASSAY_EXPRESSION_POOLS];
    uint8_t columns;
    bool looks_back; /* the condition looks at the saved step before */
    bool pooled;     /* every figure is one over the workers: one test a tensor, not one a worker */
} assay_expression;

/* Compiles a condition. ASSAY_EPARAM with the column, what is wrong, and the text with a caret below the place;
 * ASSAY_ENOMEM. Free with assay_expression_free(). */
int assay_expression_compile(const char *text, assay_expression **out, assay_error *err);
void assay_expression_free(assay_expression *expression);

/* Figures of one step: value[i] counts where bit i of `present` is set. */
typedef struct assay_expression_figures {
    uint32_t present;
    double value[ASSAY_EXPRESSION_LOADS + ASSAY_EXPRESSION_POOLS];
} assay_expression_figures;

typedef struct assay_expression_answer {
    double value;       /* of the program; a condition is 0 or 1 */
    double left, right; /* the sides of the first comparison that holds, else of the first one */
} assay_expression_answer;

/* Runs a program over the figures of a step and (NULL: none) of the saved step before. False when a figure it wants is
 * not there: there is nothing to test then. */
bool assay_expression_run(const assay_expression *e, assay_expression_program program,
                          const assay_expression_figures *now, const assay_expression_figures *before,
                          assay_expression_answer *out);

/* ---- statistics by name (expression_statistics.c) ---- */

/* The number of the statistic called so, or -1; its name, NULL behind the last. */
int assay_expression_statistic(const char *word, size_t length);
const char *assay_expression_statistic_name(int statistic);
/* The saved reduction that stands in where the tensor itself was not saved, or -1. */
int assay_expression_reduction(int statistic);
/* True when it comes from the element-wise comparison with the saved step before. */
bool assay_expression_is_update(int statistic);
/* The figure of one tensor; `change` is NULL without such a comparison. False when it has none. */
bool assay_expression_figure(int statistic, const assay_tensor_view *item, const assay_result *change, double *out);

/* The rule "Expression", which the job's entries with "when" become. */
extern const assay_rule_ops assay_rule_expression;
