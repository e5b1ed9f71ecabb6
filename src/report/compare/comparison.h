/* comparison.h - several trials side by side, computed once and rendered by every form of the report.
 *
 * Trials are aligned by mode and mode step. The baseline is the job's (by default its first trial). Everything takes
 * time linear in the number of trials except sorting, and depends only on the outcome. */
#pragma once

#include "report/compare/noise.h"
#include "trace/before_after.h"

enum {
    ASSAY_COMPARED_STEPS = 50,     /* common mode steps of a loss that are listed at most; they lie evenly */
    ASSAY_COMPARED_LOSSES = 256,   /* different (loss, mode) that are compared at most */
    ASSAY_COMPARED_CLASSES = 4096, /* classes that are set beside one another at most: the lowest numbers */
    ASSAY_COMPARED_TENSORS = 100,  /* tensors of a trial that part from the baseline and are listed */
    ASSAY_OUTLIER_TRIALS = 5       /* fewer have no outliers */
};

/* A loss of one trial. */
typedef struct assay_loss_figures {
    size_t points; /* 0: the trial has not this loss in this mode */
    double best, last;
    int64_t best_mode_step, last_mode_step;
    double area; /* under the curve over the mode steps that all trials with it cover, by trapezoids; NaN: they share
                    none */
} assay_loss_figures;

/* One loss in one mode over all trials. */
typedef struct assay_compared_loss {
    char *tensor; /* owned */
    int mode;
    size_t trials;               /* that have it */
    int64_t from, to;            /* mode steps that all of those cover; from > to: none */
    assay_loss_figures *figures; /* [trials of the job] */
    int64_t *step; /* [steps] mode steps at which all of those have a value, at most ASSAY_COMPARED_STEPS of them */
    size_t steps;
    size_t common; /* how many there are in all */
    double *value; /* [trial * steps + i] */
} assay_compared_loss;

/* What differs between a tensor and that of the baseline. */
typedef enum assay_first_difference {
    ASSAY_PARTS_NOT,
    ASSAY_PARTS_DTYPE,
    ASSAY_PARTS_SHAPE,
    ASSAY_PARTS_VALUE
} assay_first_difference;
const char *assay_first_difference_word(assay_first_difference parting); /* "", "dtype", "shape", "value" */

/* A tensor in a mode, against the baseline's at the steps that both have. */
typedef struct assay_compared_tensor {
    uint32_t tensor; /* of the trial itself */
    int mode;
    size_t common; /* steps of both */
    bool
        from_start; /* they differ at step 0 of the training, as other seeds make them: values do not part after that */
    assay_first_difference parting;
    int64_t step, mode_step; /* the first at which they part; the step is the trial's own */
    const char *
        what; /* "norm", "mean", "magnitude", "zeros" or "nonfinite" that differs most there; else "dtype" or "shape" */
    double own, other; /* what it is in the trial and in the baseline: dtype or shape by number */
    double difference; /* relative to the larger one, for the mean relative to the magnitude, for zeros absolute */
    double most;       /* the largest such difference at a common step */
    int64_t most_mode_step;
    double last_norm, last_other_norm; /* at the last common step */
} assay_compared_tensor;

/* How fast a trial's training was, and how busy its machines were; NaN: not recorded. */
typedef struct assay_compared_pace {
    const char *mode;          /* of the steps: TRAIN, or what there is of others; NULL: no step was recorded in time */
    uint64_t steps;            /* over all workers */
    double median, p99;        /* seconds a step, over all workers */
    double between;            /* percent of the time from first to last step that was outside of steps */
    double use[ASSAY_METRICS]; /* means over the machines */
} assay_compared_pace;

/* What a trial differs in from the others, in words: "last loss 1.13, median 0.19". */
enum { ASSAY_REASONS = 8 /* of a trial at most */ };

typedef struct assay_compared_trial {
    bool odd;                    /* it has reasons */
    char *reason[ASSAY_REASONS]; /* the plainest first; owned */
    size_t reasons;
    assay_score score; /* of its curves against the others' (noise.h); zeros with fewer than ASSAY_OUTLIER_TRIALS */
    const assay_finding *first; /* the earliest of all rules' first findings, by step, then rule; NULL: none */
    size_t first_rule;          /* whose it is */
    size_t rules_with_findings, group;
    size_t compared, parted; /* tensors (in a mode) that both have, and of them those that part */
    size_t from_start;       /* those whose values differ at mode step 0 */
    size_t disjoint;         /* those that both have, but at no common step */
    size_t only_own, only_baseline;
    uint64_t every[ASSAY_MODES];        /* only every so manieth saved step of the mode was looked at; 1: all */
    uint64_t losses_every[ASSAY_MODES]; /* the same of losses */
    uint64_t left_out;                  /* tensors beyond the most that are looked at */
    uint64_t unseen;                    /* other tensors, of which no step was: they are not compared */
    assay_compared_tensor *tensor;      /* the first ones that part, by step, then name; owned */
    size_t tensors;
    assay_compared_pace pace;
} assay_compared_trial;

/* Trials with findings of the same rules; of those without any, each kind is a group. */
typedef enum assay_group_kind {
    ASSAY_GROUP_FINDINGS, /* of the group's rules */
    ASSAY_GROUP_CLEAN,    /* a rule had something to test, and none found anything */
    ASSAY_GROUP_NO_DATA,  /* no rule could be evaluated: no pass */
    ASSAY_GROUP_UNREAD,   /* could not be opened */
} assay_group_kind;
const char *assay_group_kind_word(assay_group_kind kind); /* "findings", "no findings", "no data", "unread" */

typedef struct assay_trial_group {
    assay_group_kind kind;
    size_t *rule; /* numbers; owned */
    size_t rules;
    size_t *trial; /* numbers, ascending; owned */
    size_t trials;
} assay_trial_group;

/* One aggregation's classes over all trials. */
typedef struct assay_compared_classes {
    size_t aggregation; /* of the job */
    bool confusion;     /* recalls; else counts */
    int64_t *class;     /* [classes] ascending: all that some trial has; owned */
    size_t classes;
    size_t classes_left_out; /* beyond ASSAY_COMPARED_CLASSES; the figures count them all the same */
    double *value;           /* [trial * classes + i]: how many, or the recall; NaN: the trial does not say; owned */
    double *samples;         /* [trials]; NaN: the trial has no such result; owned */
    double *figure; /* [trials]: largest over smallest class, infinite where one is missing; or the accuracy; owned */
} assay_compared_classes;

/* A number of one trial that lies far from those of the others. */
typedef struct assay_outlier {
    size_t trial;
    char *what;                      /* "last loss of NAME, TRAIN"; owned */
    double value, median, deviation; /* deviation: the median of the distances from the median */
    double score;                    /* infinite for a value that is not finite */
} assay_outlier;

/* A fact of the runs in which they differ: what each says; borrowed from the outcome. */
typedef struct assay_compared_setting {
    const char *name;   /* "config.lr" */
    const char *usual;  /* what most trials say that are not odd; NULL: they do not agree */
    const char **value; /* [trials]; NULL: the trial does not say; owned */
    bool goes;          /* an odd trial says something else than all that are not odd */
} assay_compared_setting;

typedef struct assay_comparison {
    char *answer;                    /* in one sentence; owned */
    size_t readable;                 /* trials that could be read */
    bool judged;                     /* there are enough trials to say which is unlike the others */
    bool apart;                      /* no tensor or metric is in half of the trials or more */
    size_t odd;                      /* trials that are */
    assay_compared_setting *setting; /* those that go with the odd ones first, then by name; owned */
    size_t settings;
    char **batch; /* [trials] rows of a batch, of trials that do not say their batch size; NULL: none; owned */
    const assay_outcome *outcome;
    size_t trials, baseline;
    size_t paces; /* trials with profiler data */
    double tolerance;
    assay_grids *grids;          /* while it is made, and only with trials enough to have outliers */
    assay_compared_trial *trial; /* [trials]; owned, as all below */
    assay_trial_group *group;    /* by their first trial */
    size_t groups;
    assay_compared_loss *loss; /* by name, then mode */
    size_t losses;
    size_t losses_left_out;
    assay_compared_classes *classes; /* by aggregation */
    size_t class_lists;
    assay_outlier *outlier; /* by score, the largest first */
    size_t outliers;
    assay_trace_before_after *traces; /* two trials of traces: the first one before, the second after; NULL */
} assay_comparison;

/* Compares the trials of an outcome. *out stays NULL for a single trial. Free it with assay_comparison_free(), before
 * the outcome. 0 or ASSAY_ENOMEM. */
int assay_comparison_make(const assay_outcome *outcome, assay_comparison **out);
void assay_comparison_free(assay_comparison *comparison);

/* Does the report begin with the answer? Else there were too few trials to say anything, and it begins with what the
 * rules found. */
static inline bool compare_answer_leads(const assay_comparison *c)
{
    return c->judged || c->odd > 0 || c->traces;
}

/* Has the trial profiler data, so that its pace is known? */
static inline bool compare_has_pace(const assay_comparison *c, size_t trial)
{
    const assay_trial *info = c->outcome->trials[trial].info;
    return info && info->timeline;
}

/* Had the rule no data in any trial? Then people need no line of it. */
bool compare_rule_has_no_data(const assay_comparison *c, size_t rule);
/* Is it an aggregation of the built-in job, which no trial has samples for? */
bool compare_has_no_samples(const assay_comparison *c, const assay_compared_classes *list);

/* Is the trial like the others, and whole, so that `assay compare` shows no report of it alone? */
static inline bool compare_is_usual(const assay_comparison *c, size_t trial)
{
    return c && c->judged && !c->trial[trial].odd && c->outcome->trials[trial].problems.losses == 0;
}
