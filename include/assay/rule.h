/* rule.h - the rule interface: built-in rules, aggregations and rules of one's own are written against this alone.
 *
 * A rule is an aggregate over the saved steps of a trial, as an aggregate function is over the rows of a table:
 *   setup     reads the parameters and declares what the rule needs: slots of tensors, measures of them
 *   map       takes one step (all workers) into a state
 *   combine   joins the state of earlier steps with that of later ones
 *   pack, unpack  carry a state between ranks and into checkpoints
 *   finalize  turns the state of all steps into datapoints, findings and a message
 * The engine schedules. A rule never sees MPI, files or JSON parsing, and keeps no memory outside its state.
 *
 * Laws that every rule keeps (tests/laws runs them over the registry): combining with a fresh state changes nothing;
 * map over A then B equals combine(map A, map B) for every cut; combine is associative; unpack(pack(s)) packs to the
 * same bytes and every truncation is refused; finalize twice gives the same; combine keeps no pointer into its second
 * argument.
 *
 * Two shapes suffice. A fold tests each step by itself: its state is the findings. A scan depends on order: map adds
 * short rows to the state's series, and finalize walks them in order. Both use the common state below and write no
 * state code. */
#ifndef ASSAY_RULE_H
#define ASSAY_RULE_H

#include <assay/measure.h>
#include <assay/pack.h>
#include <assay/relation.h>
#include <assay/status.h>
#include <assay/steps.h>
#include <assay/tensor.h>
#include <assay/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_RULE_ABI = 4 }; /* grows when what rules are given changes its layout: modules are then compiled anew */

#define ASSAY_NO_TENSOR   UINT32_MAX /* a finding about no tensor in particular: "" in the report */
#define ASSAY_ALL_WORKERS UINT32_MAX /* pooled over the workers: "*" in the report */

/* ---- the trial, as a rule may know it: the same on every rank, known before the first map ---- */

typedef struct assay_trial assay_trial;

/* What is known of a trial. Texts belong to the trial; for a number out of range they are empty, and a step is
 * NULL. */
const char *assay_trial_name(const assay_trial *trial);
const char *assay_trial_path(const assay_trial *trial); /* as the job gives it */
uint32_t assay_trial_workers(const assay_trial *trial); /* ids 0 .. n-1 in natural order of the names */
const char *assay_trial_worker(const assay_trial *trial, uint32_t worker);
/* How many workers were said to write, by the trial itself; at least assay_trial_workers(). */
uint32_t assay_trial_expected_workers(const assay_trial *trial);
/* How many workers the run had, as the hook's facts say; at least assay_trial_expected_workers(). More than those where
 * the hook recorded some of the workers by choice. */
uint32_t assay_trial_run_workers(const assay_trial *trial);
/* What the run says of itself under a name, as assay compare shows it ("host", "config.lr"); NULL: nothing. */
const char *assay_trial_fact(const assay_trial *trial, const char *name);
bool assay_trial_ended(const assay_trial *trial); /* the training said that nothing more will come */
uint64_t assay_trial_steps(const assay_trial *trial);
const assay_step_info *assay_trial_step(const assay_trial *trial, uint64_t i); /* ascending in step */
/* The position of a global step, or UINT64_MAX. O(log n). */
uint64_t assay_trial_find_step(const assay_trial *trial, int64_t step);
/* How many steps of the same mode come before position i. */
uint64_t assay_trial_mode_rank(const assay_trial *trial, uint64_t i);
unsigned assay_trial_modes(const assay_trial *trial);                /* bit 1 << mode for each mode that has a step */
uint64_t assay_trial_mode_steps(const assay_trial *trial, int mode); /* how many steps the mode has */
uint32_t assay_trial_tensors(const assay_trial *trial);              /* ids 0 .. n-1 in byte order of the names */
const char *assay_trial_tensor(const assay_trial *trial, uint32_t tensor);
uint32_t assay_trial_find_tensor(const assay_trial *trial, const char *name); /* ASSAY_NO_TENSOR: none; O(log n) */
/* Modes in which the tensor was saved raw, over all workers. */
unsigned assay_trial_tensor_modes(const assay_trial *trial, uint32_t tensor);
/* True when the tensor belongs to the collection. */
bool assay_trial_in_collection(const assay_trial *trial, const char *collection, uint32_t tensor);

/* What a tensor is in the training, by its collections and, where those do not say, by its name. */
typedef enum assay_role {
    ASSAY_ROLE_INPUT, /* of the whole model: data */
    ASSAY_ROLE_LABEL,
    ASSAY_ROLE_WEIGHT,     /* and bias */
    ASSAY_ROLE_ACTIVATION, /* and whatever else a forward pass computes */
    ASSAY_ROLE_LOSS,
    ASSAY_ROLE_GRADIENT,
    ASSAY_ROLE_OPTIMIZER
} assay_role;
assay_role assay_trial_role(const assay_trial *trial, uint32_t tensor);
/* Where the tensor stands in a step, in order of computation: data, weights that are saved before the forward pass,
 * activations, loss, gradients, updates; among equals in the order in which they were saved. A number below
 * assay_trial_tensors(), different for each tensor. */
uint32_t assay_trial_order(const assay_trial *trial, uint32_t tensor);

/* ---- what the index says of a step beside its records ---- */

typedef enum assay_claim_kind {
    ASSAY_CLAIM_NAMES,    /* the step is a checkpoint: its index names all tensors that belong to it */
    ASSAY_CLAIM_OPEN,     /* but not all of them are known: a part of it is damaged or missing */
    ASSAY_CLAIM_PROMISED, /* the tensor belongs to the step, and cannot be read */
    ASSAY_CLAIM_ALIAS,    /* the tensor is another name of the elements of `first` */
    ASSAY_CLAIM_BETAS     /* number: the decay rates that Adam was saved with */
} assay_claim_kind;

typedef struct assay_claim {
    int64_t step;
    uint32_t worker, kind;
    uint32_t tensor, first; /* ASSAY_NO_TENSOR: none */
    double number[2];
} assay_claim;

/* How many there are, and the i-th, in order of (step, worker, kind, tensor, first); NULL: there are not so many. Most
 * formats have none. */
uint64_t assay_trial_claims(const assay_trial *trial);
const assay_claim *assay_trial_claim(const assay_trial *trial, uint64_t i);
/* The decay rates that Adam was saved with at the first step that says them, else 0.9 and 0.999. */
void assay_trial_betas(const assay_trial *trial, double betas[2]);
/* How many damaged or missing parts were found at a step. Known to the finalize of built-in rules; elsewhere 0. */
uint64_t assay_trial_losses(const assay_trial *trial, int64_t step);
/* Of a log that prints few digits: a value stands for all numbers that are no farther from it. 0: for itself. */
double assay_trial_resolution(const assay_trial *trial);
/* Is one of them the record of a tensor, which the index has? Likewise. */
bool assay_trial_is_unread(const assay_trial *trial, int64_t step, uint32_t tensor);

/* ---- logs of metrics (docs/logs.md): numbers that a program logged, and what they are judged on ---- */

enum {
    ASSAY_LOGGED = 1,           /* a series of a log, no tensor of the model */
    ASSAY_LOGGED_LOSS = 2,      /* of the collection losses */
    ASSAY_LOGGED_OBJECTIVE = 4, /* a loss of TRAIN that has to fall */
    ASSAY_LOGGED_WHOLE = 8      /* which is all that is minimised, not a part of it */
};
/* Those bits; 0 for what is no series of a log. */
unsigned assay_trial_logged(const assay_trial *trial, uint32_t tensor);
/* Is the trial a log, and does it say which workers there are? */
bool assay_trial_is_log(const assay_trial *trial);
bool assay_trial_log_has_workers(const assay_trial *trial);
/* A loss of training and the one of validation that belongs to it: how many there are, and the i-th, by name. */
typedef struct assay_loss_pair {
    uint32_t train, eval; /* tensors; ASSAY_NO_TENSOR: it was not read */
} assay_loss_pair;
uint64_t assay_trial_loss_pairs(const assay_trial *trial);
assay_loss_pair assay_trial_loss_pair(const assay_trial *trial, uint64_t i);

/* ---- parameters ---- */

typedef enum assay_param_type {
    ASSAY_PARAM_BOOL, /* True, true, False, false, or a JSON boolean */
    ASSAY_PARAM_INT,  /* "3", 3, 3.0 */
    ASSAY_PARAM_REAL,
    ASSAY_PARAM_TEXT,
    ASSAY_PARAM_LIST,  /* texts: a JSON list, or comma-separated without trimming */
    ASSAY_PARAM_REALS, /* numbers: a JSON list, or comma-separated */
    ASSAY_PARAM_REGEX, /* like LIST, and each must compile */
    ASSAY_PARAM_CHOICE /* one of `choices` */
} assay_param_type;

enum {
    ASSAY_PARAM_REQUIRED = 1,
    ASSAY_PARAM_ABOVE = 2 /* least itself is not allowed */,
    ASSAY_PARAM_BELOW = 4 /* nor most */,
    ASSAY_PARAM_OR_NONE = 8 /* "" and "none" mean no value */,
    ASSAY_PARAM_QUIET = 16,   /* left out of the report unless it was given */
    ASSAY_PARAM_MODE_KEY = 32 /* a choice in any case, and with `Step:ModeKeys.` in front if one likes */
};

typedef struct assay_param_def {
    const char *name;
    assay_param_type type;
    const char *initial; /* the default in text form; NULL: none */
    double least, most;  /* inclusive range of numbers; both 0: any */
    unsigned flags;
    const char *choices; /* CHOICE: "TRAIN|EVAL"; TEXT that is no free text: examples, which the law tests take */
    const char *help;    /* one sentence for `assay rules NAME` and the docs */
} assay_param_def;

/* A row of a table for each type, of parameters that need no flags; the default is a text, or NULL for none:
 *
 *     static const assay_param_def params[] = {
 *         ASSAY_REAL_PARAM("large", "2", 0, 1e308, "Fires when an update is so many times the weight's norm."),
 *         {0},
 *     }; */
#define ASSAY_REAL_PARAM(name, initial, least, most, help)                                                             \
    {                                                                                                                  \
        name, ASSAY_PARAM_REAL, initial, least, most, 0, 0, help                                                       \
    }
#define ASSAY_REALS_PARAM(name, initial, least, most, help)                                                            \
    {                                                                                                                  \
        name, ASSAY_PARAM_REALS, initial, least, most, 0, 0, help                                                      \
    }
#define ASSAY_INT_PARAM(name, initial, least, most, help)                                                              \
    {                                                                                                                  \
        name, ASSAY_PARAM_INT, initial, least, most, 0, 0, help                                                        \
    }
#define ASSAY_BOOL_PARAM(name, initial, help)                                                                          \
    {                                                                                                                  \
        name, ASSAY_PARAM_BOOL, initial, 0, 0, 0, 0, help                                                              \
    }
#define ASSAY_TEXT_PARAM(name, initial, help)                                                                          \
    {                                                                                                                  \
        name, ASSAY_PARAM_TEXT, initial, 0, 0, 0, 0, help                                                              \
    }
#define ASSAY_LIST_PARAM(name, initial, help)                                                                          \
    {                                                                                                                  \
        name, ASSAY_PARAM_LIST, initial, 0, 0, 0, 0, help                                                              \
    }
#define ASSAY_REGEX_PARAM(name, initial, help)                                                                         \
    {                                                                                                                  \
        name, ASSAY_PARAM_REGEX, initial, 0, 0, 0, 0, help                                                             \
    }
#define ASSAY_CHOICE_PARAM(name, initial, choices, help)                                                               \
    {                                                                                                                  \
        name, ASSAY_PARAM_CHOICE, initial, 0, 0, 0, choices, help                                                      \
    }

typedef struct assay_params assay_params;
/* True when the parameter has a value: given, or by default. Names that the rule does not declare end the program. */
bool assay_param_has(const assay_params *params, const char *name);
/* True when the job gave it. */
bool assay_param_given(const assay_params *params, const char *name);
bool assay_param_bool(const assay_params *params, const char *name);
int64_t assay_param_int(const assay_params *params, const char *name);
double assay_param_real(const assay_params *params, const char *name);
const char *assay_param_text(const assay_params *params, const char *name); /* TEXT, CHOICE; NULL without a value */
size_t assay_param_count(const assay_params *params, const char *name);     /* LIST, REALS, REGEX */
const char *assay_param_item(const assay_params *params, const char *name, size_t i);
double assay_param_number(const assay_params *params, const char *name, size_t i);

/* ---- what a rule needs ---- */

enum {
    ASSAY_SLOT_PREFER_MODES = 1, /* `modes` counts only where the trial has a step of them; else all modes */
    ASSAY_SLOT_TIME_ONLY = 2,    /* only names and wall times are looked at: no statistics are taken for this slot */
    ASSAY_SLOT_NO_STRINGS = 4,
    ASSAY_SLOT_SPREAD = 8, /* `first_steps` of each mode at even distances, not the first: assay_spread_takes() */
    ASSAY_SLOT_WORKERS =
        16,               /* what each worker saved: its piece of a tensor that workers have in pieces, not the whole */
    ASSAY_SLOT_SUMS = 32, /* also tensors that are a sum over workers: each worker's addend by itself */
    ASSAY_SLOT_TYPES = 64, /* regexes match "Tanh_input_0" also where X_input_0 is what a module X of that type got */
    ASSAY_SLOT_OPTIONAL =
        128 /* the rule tests as well where the slot has no tensors; if all are, one of them is enough */
};

/* Tensors of one use. A tensor is selected when one of the collections has it, or one of the regexes matches
 * (re.search), or it has the name; when none of the three is given, every tensor is. */
typedef struct assay_slot {
    const char *collections; /* name of a LIST parameter of this rule, NULL: none */
    const char *collection;  /* one collection by its name */
    const char *regexes;     /* name of a REGEX parameter, NULL: none */
    const char *name;        /* one tensor by its name */
    uint32_t kinds;          /* bit 1 << kind; 0 counts as raw */
    uint32_t modes;          /* bit 1 << mode; 0: all */
    uint32_t flags;
    const char *pattern; /* one regex by its text */
    int64_t first_steps; /* only this many of the trial's first steps of those modes; 0: all of them */
} assay_slot;

/* Chooses at most `most` (2 or more) of the `steps` steps of a mode, at even distances: every assay_spread_stride()-th
 * from the first on, and the last. The choice depends on the trial's steps alone. Strides are 1, 2, 5, 10, 20, 50 and
 * so on, so that the choice meets tensors that are saved at every tenth or fiftieth step. */
static inline uint64_t assay_spread_stride(uint64_t steps, uint64_t most)
{
    uint64_t least = steps <= most || most < 2 ? 1 : (steps - 2) / (most - 1) + 1, ten = 1;
    while (least > 5 * ten)
        ten *= 10;
    return ten >= least ? ten : 2 * ten >= least ? 2 * ten : 5 * ten;
}
/* Is the step chosen? `rank` is its number among the steps of its mode (assay_trial_mode_rank()). */
static inline bool assay_spread_takes(uint64_t rank, uint64_t steps, uint64_t stride)
{
    return rank % stride == 0 || rank + 1 == steps;
}

typedef struct assay_need assay_need;
/* Adds a slot; returns its number (0, 1, ...) or a negative status. */
int assay_need_slot(assay_need *need, const assay_slot *slot, assay_error *err);
/* Asks for a measure of every raw numeric tensor (TEXTS: string tensor) of a slot; returns its number in this rule
 * (0, 1, ... over all slots) or a negative status. */
int assay_need_measure(assay_need *need, int slot, const assay_measure *measure, assay_error *err);
/* Rows that the rule's map adds to the series for the tensors of a slot, or the onsets that it notes. */
typedef struct assay_rows {
    uint32_t width; /* doubles in each */
    bool pooled;    /* one a tensor; else one for each of its workers */
    bool compared;  /* none where the trial has one worker */
    bool onsets;    /* not rows, but onsets: as many however many steps there are; no width */
    uint64_t most;  /* in all; 0: as many as there are */
} assay_rows;
/* Reserves memory for a rule that adds about one row per tensor of a slot and step: there may be as many rows as
 * records. The last call for a slot wins. Returns 0, or ASSAY_EPARAM when there is no such slot. */
int assay_need_rows(assay_need *need, int slot, const assay_rows *rows, assay_error *err);
/* The rule compares with this trial (its path, or the name of another trial of the job). */
int assay_need_other_trial(assay_need *need, const char *trial, assay_error *err);

/* ---- one step, as map sees it ---- */

typedef struct assay_tensor_view {
    uint32_t tensor, worker; /* ids */
    uint32_t order;   /* position among the records of its worker at this step: the order in which they were saved */
    const char *name; /* of the tensor */
    int dtype, dims;  /* of the raw tensor; without one: dtype -1 */
    const int64_t *shape;
    double wall_time;                   /* seconds since 1970, of the raw record, else of the first reduction */
    const assay_stats *stats;           /* NULL: not saved raw, or strings, or not asked for */
    uint32_t reductions;                /* bit 1 << kind: which saved reductions are there */
    const double *reduction;            /* [ASSAY_KINDS] */
    const assay_result *const *results; /* by their places, of which 0 is no result: use the accessor */
    const uint32_t
        *place; /* the engine's measure number -> place; the same for all tensors that the same is wanted of */
} assay_tensor_view;

typedef struct assay_slot_view {
    const assay_tensor_view *const *items; /* in order of (tensor, worker) */
    uint32_t count;
} assay_slot_view;

typedef struct assay_step_view {
    int64_t step, mode_step;
    int mode;
    uint32_t slots;
    const assay_slot_view *slot;
    const uint32_t *measure; /* the rule's measure number -> the engine's */
} assay_step_view;

/* The result of a measure, NULL where it could not be taken (no raw numeric tensor, or memory budget: then a problem is
 * named). */
static inline const assay_result *assay_view_result(const assay_step_view *view, int measure,
                                                    const assay_tensor_view *item)
{
    return item->results ? item->results[item->place[view->measure[measure]]] : 0;
}

/* True for a raw, numeric, non-empty value: what counts as a saved step of the tensor. */
static inline bool assay_view_has_values(const assay_tensor_view *item)
{
    return item->stats && item->stats->count > 0;
}

/* ---- findings: datapoints, and those of them that fired ---- */

typedef struct assay_finding {
    int64_t step;
    uint32_t tensor, worker;
    uint32_t test;       /* index into ops->tests; 0 where there are none */
    uint32_t value_unit; /* index into ops->value_units */
    double value, threshold;
    const int64_t *cells; /* pairs (label, prediction), [2 * cell_count]; copied */
    uint32_t cell_count;
    bool of_worker; /* it is about what this worker has of the tensor, not about the copy that the worker has a part in
                     */
    const char *note;             /* a short remark, NULL: none; copied */
    const assay_time_place *time; /* of a rule that looks at time (assay/timeline.h): where it is; then `step` is the
                                     time, `worker` a number that orders findings of one time; copied */
} assay_finding;

typedef struct assay_findings assay_findings;
/* Counts datapoints that did not fire. */
void assay_findings_datapoints(assay_findings *findings, uint64_t count);
/* Counts a finding, and keeps it while there are fewer than the job's maximum (default 1000) before it in the order
 * (step, tensor, worker, test). Any order will do; ascending is cheapest. 0 or ASSAY_ENOMEM. */
int assay_findings_add(assay_findings *findings, const assay_finding *finding);
/* One datapoint, and a finding if it fired. 0 or ASSAY_ENOMEM. */
int assay_findings_test(assay_findings *findings, bool fired, const assay_finding *finding);

/* ---- series: a short row per datapoint, for rules that depend on order ---- */

typedef struct assay_row {
    int64_t step;
    uint32_t tensor, worker;
    const double *value; /* [ops->series_width] */
} assay_row;

typedef struct assay_series assay_series;
/* An empty series of rows of `width` doubles for passing use, beside that of the common state; NULL without memory. */
assay_series *assay_series_new(uint32_t width);
void assay_series_free(assay_series *series);
/* Appends a row; steps must not go down. 0 or ASSAY_ENOMEM. */
int assay_series_add(assay_series *series, int64_t step, uint32_t tensor, uint32_t worker, const double *value);
uint64_t assay_series_count(const assay_series *series);
assay_row assay_series_row(const assay_series *series, uint64_t i);
/* Row numbers ordered by (tensor, worker, step): the walk of one tensor after the other. The caller frees it with
 * free(); NULL without memory, and for an empty series. */
uint64_t *assay_series_by_tensor(const assay_series *series);

/* ---- counter: how often each pair of integers occurred ---- */

typedef struct assay_counter assay_counter;
/* An empty counter for passing use, beside that of the common state; NULL without memory. */
assay_counter *assay_counter_new(void);
void assay_counter_free(assay_counter *counter);
/* 0 or ASSAY_ENOMEM. */
int assay_counter_add(assay_counter *counter, int64_t a, int64_t b, uint64_t count);
uint64_t assay_counter_size(const assay_counter *counter); /* different pairs */
/* The i-th pair in ascending order (a, b). */
void assay_counter_get(const assay_counter *counter, uint64_t i, int64_t *a, int64_t *b, uint64_t *count);

/* ---- onsets: when each tensor of each worker was first bad, and last good before that ---- */

#define ASSAY_NO_STEP INT64_MIN

typedef struct assay_onset {
    uint32_t tensor, worker;
    uint32_t tested[ASSAY_MODES]; /* steps of each mode at which it was judged */
    uint64_t bad, whole;          /* steps at which it was bad; and bad as a whole */
    int64_t last_good;            /* the last good step before first_bad; ASSAY_NO_STEP: none */
    int64_t first_bad;            /* ASSAY_NO_STEP: never */
    double detail[2];             /* of the first bad one, as the rule says */
    uint32_t kind;                /* likewise */
} assay_onset;

/* What a rule says of one tensor at one step. */
typedef struct assay_judgement {
    bool bad, whole;
    double detail[2];
    uint32_t kind;
} assay_judgement;

typedef struct assay_onsets assay_onsets;
/* Notes one judgement; steps must not go down. Cheapest in ascending order of (tensor, worker) within a step. 0 or
 * ASSAY_ENOMEM. */
int assay_onsets_add(assay_onsets *onsets, const assay_step_view *view, uint32_t tensor, uint32_t worker,
                     const assay_judgement *judgement);
/* In ascending order of (tensor, worker). */
uint64_t assay_onsets_count(const assay_onsets *onsets);
assay_onset assay_onsets_get(const assay_onsets *onsets, uint64_t i);

/* ---- the common state: findings, a series, a counter, onsets; rules that use it set ASSAY_COMMON_STATE in their ops
 * ---- */

typedef struct assay_common_state {
    assay_findings *findings;
    assay_series *series;
    assay_counter *counter;
    assay_onsets *onsets;
} assay_common_state;

/* ---- verdict ---- */

typedef struct assay_verdict assay_verdict;
/* The common state's findings are in the verdict already when finalize is called; a scan adds its own here. */
assay_findings *assay_verdict_findings(assay_verdict *verdict);
/* Adds a sentence to the rule's message. */
void assay_verdict_message(assay_verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says why the rule has nothing to test: "a loss has 3 values at most; the rule needs 6 (min_history)." It becomes the
 * message of a rule that has no datapoint in the end, where the index of the trial does not tell the cause already. */
void assay_verdict_no_data(assay_verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A rule that stands for several: so many of them had nothing to test, which the sentence says. They count as rules
 * without data. */
void assay_verdict_untested(assay_verdict *verdict, size_t parts, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Members to add to the rule's object in report.json, as JSON text without the braces: "\"matrix\": [[1]]". */
assay_buf *assay_verdict_json(assay_verdict *verdict);
/* Lines to add below the rule in the text report. */
assay_buf *assay_verdict_text(assay_verdict *verdict);

/* ---- the rule ---- */

enum {
    ASSAY_RULE_LOOKS_BACK =
        1, /* map also sees the steps before start_step; the rule itself leaves them out of its tests */
    ASSAY_RULE_AGGREGATION = 2, /* an aggregation: no findings; its result is the verdict's JSON and text */
    ASSAY_RULE_POOLS = 4,       /* findings carry worker "*" */
    ASSAY_RULE_KEEPS_STATE = 8, /* an aggregation of which the report shows what only its state has: pictures */
    ASSAY_RULE_COUNTS = 32,     /* an aggregation that keeps nothing but the counter of the common state: what each step
                                   counted can be shown while the job runs */
    ASSAY_RULE_TIMELINE = 16 /* looks at the trial's timeline (assay/timeline.h) and at no tensor; its parameters have
                                scan_interval_us, worker, start_time_us and end_time_us in place of steps */
    ,
    ASSAY_RULE_TRACES =
        64, /* with ASSAY_RULE_TIMELINE: looks at the traces of ranks instead; its steps are those of the
                               traces, its parameters those of steps */
    ASSAY_RULE_DUMPS = 128, /* with ASSAY_RULE_TIMELINE: looks at dumps of flight recorders instead (assay/hang.h); it
                               has no parameters but its own */
    ASSAY_RULE_NOT_LOGGED = 256 /* speaks of elements, or compares workers: it is given no series of logs, which have
                                   neither elements nor the same on all workers */
};

typedef struct assay_rule_ops assay_rule_ops;

/* A configured rule on one trial. */
enum { ASSAY_MAX_FINDINGS = 1000 };

typedef struct assay_rule {
    const assay_rule_ops *ops;
    const assay_params *params;
    const void *data; /* what setup made */
    const assay_trial *trial;
    const assay_trial *other;     /* of assay_need_other_trial, else NULL */
    int64_t start_step, end_step; /* [start, end) in global steps */
    size_t max_findings;          /* so many are kept in full, 0: ASSAY_MAX_FINDINGS; all are counted */
    size_t most_pairs,
        most_rows; /* bytes that a common state may take for these, 0: any; more is an Error of the rule */
} assay_rule;

struct assay_rule_ops {
    uint32_t abi, size;  /* ASSAY_RULE_ABI, sizeof(assay_rule_ops); later fields are only appended */
    const char *name;    /* "VanishingGradient"; "vanishing_gradient" is accepted too */
    const char *summary; /* one sentence */
    const char *advice;  /* what to do when it fires: the recommendation */
    const assay_param_def
        *params;              /* ends with a NULL name; NULL: none. start_step, end_step and worker are everyone's */
    const char *const *tests; /* names of the tests in byte order, ends with NULL; NULL: one test without a name */
    uint32_t traits;
    uint32_t series_width; /* doubles a row of the common state's series */

    /* Reads the parameters (types and ranges are checked already), declares slots and measures, and may leave data of
     * its own in *data, which data_free releases. ASSAY_EPARAM with a message that names the parameter and its
     * value. */
    int (*setup)(const assay_params *params, assay_need *need, void **data, assay_error *err);
    void (*data_free)(void *data);

    void *(*state_new)(const assay_rule *rule); /* NULL: out of memory */
    void (*state_free)(void *state);
    int (*map)(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err);
    int (*combine)(const assay_rule *rule, void *earlier, const void *later, assay_error *err);
    int (*pack)(const assay_rule *rule, const void *state, assay_buf *out);
    int (*unpack)(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err);
    int (*finalize)(const assay_rule *rule, const void *state, assay_verdict *verdict,
                    assay_error *err); /* NULL: nothing to add */

    /* What to try, the likeliest first, each a short sentence; ends with NULL. NULL: the advice says it all. */
    const char *const *remedies;

    /* Why a rule whose tensors are there can have no datapoint all the same, as far as the trial's steps tell: appends
     * a sentence, "EVAL has 4 steps; ...", and returns true; false when it can have some. `modes` are those in which
     * its tensors were saved. NULL: the rule cannot tell. */
    bool (*reason)(const assay_rule *rule, unsigned modes, assay_buf *out);

    /* What the value of a finding counts or is measured in, as it reads behind the number: "s", "% of the units dead".
     * "NaN element(s)" loses what is in parentheses behind a 1, and "of {workers} workers" gets the number of workers
     * that were said to write. A finding says by its index which is its own; ends with NULL. NULL: bare numbers. */
    const char *const *value_units;

    /* What a finding of each test means, as a sentence without a full stop: "{worker} wrote nothing at {when}". The
     * report puts names for {tensor} and {worker}, the finding's number for {value} and that times 100 for {percent}, "step 12" or a time for {when}, a
     * comma and the remark for {note} (nothing where there is none), the remark alone for {said}, and for {of} " of worker_2" where the trial has
     * several workers; "step(s)" is as in value_units. In the order of `tests`; ends with NULL. NULL: the report says
     * the rule's name and the place. */
    const char *const *sentences;
};

/* The functions of the common state, as assay_rule_ops asks for them: findings, a series of ops->series_width doubles a
 * row, and a counter. */
void *assay_common_new(const assay_rule *rule);
void assay_common_free(void *state);
int assay_common_combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err);
int assay_common_pack(const assay_rule *rule, const void *state, assay_buf *out);
int assay_common_unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err);

/* The first two members of assay_rule_ops: the interface that a rule was compiled for. */
#define ASSAY_RULE_HEAD .abi = ASSAY_RULE_ABI, .size = sizeof(assay_rule_ops)
/* A list of texts that ends with NULL, where it is used: `.tests = ASSAY_TEXTS("too_few", "too_many")`. */
#define ASSAY_TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define ASSAY_COMMON_STATE                                                                                             \
    .state_new = assay_common_new, .state_free = assay_common_free, .combine = assay_common_combine,                   \
    .pack = assay_common_pack, .unpack = assay_common_unpack

/* What a shared object with rules of one's own exports: a table that ends with NULL. */
typedef const assay_rule_ops *const *assay_rule_module_fn(void);
#define ASSAY_RULE_MODULE "assay_rule_module_v1"

#ifdef __cplusplus
}
#endif
#endif
