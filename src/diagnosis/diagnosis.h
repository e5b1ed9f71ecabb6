/* diagnosis.h - what explains the findings of a trial: causes, the first of them first.
 *
 * Rules say what they saw; a cause says what explains it. How it works:
 *   1. each piece of evidence (what one test of one rule found: where and when first, how it goes on) gets the first
 *      cause of the table (causes.def) that asks for such evidence and is not contradicted by the facts of the course
 *   2. causes stand in order of time; those of one step in order of computation: what is fed, one worker's own,
 * weights, the forward pass, gradients, updates, and what comes of all of them (losses, predictions). Severity comes
 * last
 *   3. the first cause folds what it can explain and what is not before it; the next one that is left does the same.
 *      What saves time or memory and is not wrong comes behind all others
 *
 * No engine, no trial and no file is needed: the caller describes the evidence. Results are the same for the same
 * evidence in any order of ties that the numbers of rules do not decide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* POSSIBLE: it fits, as others do; LIKELY: nothing else known fits as well; CERTAIN: the records prove it, step and
 * place. */
typedef enum assay_certainty { ASSAY_POSSIBLE, ASSAY_LIKELY, ASSAY_CERTAIN } assay_certainty;
const char *assay_certainty_name(assay_certainty certainty); /* "possible", "likely", "certain" */

/* When something began: after the saved step before `from`, and not later than `to`. */
typedef struct assay_onset_span {
    int mode;         /* assay_mode of the steps; ASSAY_MODE_NONE: numbers are the trial's own */
    int64_t from, to; /* steps of that mode; equal: known to the step */
    int64_t step;     /* the trial's own number of `to` */
    bool first;       /* nothing was recorded before */
    bool alone;       /* the mode's numbers are the only ones that people know the steps by */
} assay_onset_span;

/* When something began, in the trial's own steps: behind the saved step `behind`, and not later than `step`. */
typedef struct assay_onset_steps {
    int64_t behind, step;
} assay_onset_steps;

/* What one test of one rule found. Texts are borrowed and never NULL. */
typedef struct assay_evidence {
    size_t rule;         /* its number in the job */
    const char *kind;    /* the rule's name in the registry */
    const char *test;    /* "" where it has one test */
    const char *name;    /* what the job calls the rule */
    int severity;        /* assay_severity */
    int role;            /* assay_role of the first tensor; -1: there is no tensor */
    uint32_t order;      /* where that tensor stands in the order of computation */
    const char *tensor;  /* the first; "" */
    const char *workers; /* who had it first: "worker_2", "worker_0 and worker_1", "3 of 8 workers"; "": all, or one */
    uint32_t tensors, alike; /* that had it at the first step or later, of so many of the role in the trial */
    assay_onset_span began;
    const assay_onset_steps *onset; /* when it began, and when again, of any tensor and worker; borrowed */
    size_t onsets;
    int64_t listed_to; /* what began behind this step is not among them; INT64_MAX: all is */
    bool lasts;        /* it goes on to the last saved step of the mode */
    uint64_t steps;    /* saved steps at which the rule found anything */
    uint64_t times;    /* that it began, of the first tensor and worker: it goes away and comes again */
    uint64_t met;      /* saved steps at which a worker agreed with others again of the first tensor; it had differed */
    bool half;         /* the tensors have 16 bits an element, or fewer */
    bool proven;       /* the rule has a first cause and the records prove it */
    bool unasked;      /* the rule is one of a set of which a trial takes what it has data for */
    bool cut;          /* the list of findings is full: of a test of the rule nobody knows when it began, or again */
    double value;      /* of the first finding */
    const char *note;  /* "" */
    const char *sentence; /* the finding in the words of its rule, without a full stop */
} assay_evidence;

/* Where what training is fed became other data: figures of inputs or labels that are apart before and behind. That is
 * no fault, and explains what begins there. */
typedef struct assay_data_change {
    const char *what; /* NULL: none is known */
    assay_onset_span began;
    int64_t close, late; /* the trial's own steps up to which what follows of it is seen, and a course that turns */
} assay_data_change;

/* Of a training whose losses came down and stayed there: where a loss was set back all the same, or nobody knows it
 * (rules/loss_harm.h). Steps are the trial's own. */
enum { ASSAY_SETBACKS = 32 };
typedef struct assay_course_harm {
    bool well;     /* else nothing is known, and the rest is not set */
    bool one_loss; /* workers have the same at all steps: they hold parts of one network, or all is the same on them */
    int64_t seen;  /* what begins up to there is followed by enough losses to see it */
    struct {
        int64_t from, to; /* what began in between may be why */
    } setback[ASSAY_SETBACKS];
    size_t setbacks;
} assay_course_harm;

/* Facts of the course beside findings. Losses are those of training, all workers together; NaN: unknown. */
typedef struct assay_course_facts {
    const char *loss;                         /* its name; "" */
    double loss_first, loss_least, loss_last; /* levels: medians of a tenth of the finite ones */
    int64_t least_at;                         /* the step of the mode about which it was lowest */
    double loss_guess; /* what one constant answer for all rows has, where the loss ends far above it; 0: it does not */
    double loss_error; /* of a difference of two levels, by noise; 0: unknown */
    double moved; /* what the weight that moved farthest moved in all, in parts of its norm; 0: not known, or far */
    assay_data_change changed;
    assay_course_harm harm;
    double inputs;     /* the usual magnitude of what training is fed, floating-point numbers; 0: unknown */
    bool never_gained; /* the loss of evaluation hardly came down while that of training did */
    int shift;         /* predictions in evaluation are the labels and so much; 0: they are not */
    bool parts; /* workers have one batch and other weights: parts of one network, or copies that nobody exchanges. Set
                   by assay_diagnose() from the evidence */
    bool meet;  /* copies that differ agree again, over and over: weights are exchanged now and then. Set likewise */
    const char *away; /* ", worker_1, worker_4, ": workers that went through fewer steps than others and closed their
                          recordings, so that a step's number is not one and the same update on all. NULL: none */
    uint32_t workers; /* that the trial has; of two that differ nothing says which one is odd. 0: unknown */
    const char *odd; /* the one worker whose weights differ while those of the others agree; NULL: none is known. Set by
                        assay_diagnose() from the evidence */
} assay_course_facts;

typedef struct assay_cause {
    const char *name; /* its page: a file of that name in docs/causes; "" where the finding speaks for itself */
    assay_certainty certainty;
    char *sentence; /* what, since when, where; without a full stop; owned */
    const char *tensor, *workers;
    assay_onset_span began;
    const char *advice; /* what to do; "" */
    const char *record; /* what to record to know more; "" */
    bool wrong;         /* something is wrong; else it is advice, or what healthy trainings have as well */
    bool harmless;      /* it would be wrong, were it asked for or had any loss come to harm by it */
    size_t *evidence;   /* numbers in the list given, the first is the one that led here; owned */
    size_t explained;
} assay_cause;

typedef struct assay_diagnosis {
    assay_cause *cause;
    size_t causes;
} assay_diagnosis;

/* Fills *out; release it with assay_diagnosis_release(). ASSAY_OK or ASSAY_ENOMEM. */
int assay_diagnose(const assay_evidence *evidence, size_t count, const assay_course_facts *facts, assay_diagnosis *out);
void assay_diagnosis_release(assay_diagnosis *diagnosis);
