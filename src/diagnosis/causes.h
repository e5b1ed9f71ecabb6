/* causes.h - the table of causes. */
#pragma once

#include "diagnosis/diagnosis.h"

/* Where in a step a cause lies: those further up come first. */
typedef enum assay_cause_place {
    ASSAY_AT_WORKERS, /* a worker is gone: what it would have shown is unknown */
    ASSAY_AT_DATA,
    ASSAY_AT_ONE_WORKER,
    ASSAY_AT_WEIGHTS,
    ASSAY_AT_FORWARD,
    ASSAY_AT_BACKWARD,
    ASSAY_AT_UPDATE,
    ASSAY_AT_OUTCOME,   /* losses and predictions: what comes of everything above */
    ASSAY_AT_SUSPICION, /* unusual, and seldom what is wrong: behind all that is, whenever it was */
    ASSAY_AT_ADVICE     /* nothing is wrong with the numbers */
} assay_cause_place;

/* Kinds of findings, as bits: what a cause explains. */
enum {
    ASSAY_X_NONFINITE = 1 << 0,
    ASSAY_X_NORM = 1 << 1,
    ASSAY_X_LOSS = 1 << 2,      /* jumps */
    ASSAY_X_COURSE = 1 << 3,    /* does not come down */
    ASSAY_X_HELD_OUT = 1 << 4,  /* parts from that of evaluation */
    ASSAY_X_PREDICTED = 1 << 5, /* classes */
    ASSAY_X_ACTIVE = 1 << 6,    /* dead or saturated units */
    ASSAY_X_GRADIENT = 1 << 7,  /* too small */
    ASSAY_X_STILL = 1 << 8,     /* weights that do not move, or are all one */
    ASSAY_X_HALF = 1 << 9,      /* beyond a smaller format */
    ASSAY_X_APART = 1 << 10,    /* workers that differ */
    ASSAY_X_LATE = 1 << 11,
    ASSAY_X_DATA = 1 << 12,
    ASSAY_X_MISSING = 1 << 13,
    ASSAY_X_WAITS = 1 << 14, /* ranks that wait for another */
    ASSAY_X_IDLE = 1 << 15,  /* GPUs that run nothing */
    ASSAY_X_LAW = 1 << 16,   /* numbers that are not what their inputs give */
    ASSAY_X_NUMBERS = ASSAY_X_NONFINITE | ASSAY_X_NORM | ASSAY_X_LOSS | ASSAY_X_COURSE | ASSAY_X_HELD_OUT |
                      ASSAY_X_PREDICTED | ASSAY_X_ACTIVE | ASSAY_X_GRADIENT | ASSAY_X_STILL | ASSAY_X_HALF
};

/* What has to be seen in the losses before a cause is called wrong. */
typedef enum assay_cause_proof {
    ASSAY_PROVES_ITSELF,
    ASSAY_BY_COURSE,   /* they did not come down and stay there */
    ASSAY_BY_ONSET,    /* the same, or one stands higher behind the step at which it began than before */
    ASSAY_BY_LASTING,  /* the same, or it goes on to the end, or for several saved steps */
    ASSAY_BY_STANDING, /* the same, or it goes on to the end and began once */
    ASSAY_BY_REQUEST,  /* nothing would prove it: it is wrong where somebody asked for the rule */
    /* Of what is a choice as often as a mistake, and whose warnings were wrong as often as right on trainings that
     * nobody had seen. That nothing is known of the losses is not enough: */
    ASSAY_BY_HARM,     /* the losses are known, and did not come down */
    ASSAY_BY_REPLICAS, /* the same, or workers were shown to be replicas: fewer than half differ, all were equal
                          behind the first update, or some weights still are */
    ASSAY_BY_WITNESS,  /* another finding that proves itself, and may come of it */
    ASSAY_BY_LEVEL     /* the same, or it is a loss of classes, whose level of a guess is known, or rose far */
} assay_cause_proof;

/* Does anybody do it on purpose? What may be meant is never certain: the records prove that it is so, and not that it is
 * wrong. */
typedef enum assay_cause_intent {
    ASSAY_MEANT_NEVER,
    ASSAY_MEANT_IF_ALWAYS, /* where it is so from the beginning; nobody does it in the middle of a training */
    ASSAY_MEANT_PERHAPS
} assay_cause_intent;

enum { ASSAY_CAUSE_KINDS = 4 };

/* Evidence of a kind: a rule's name, its test (NULL: any), the roles that its first tensor may have (bits, 0: any). */
typedef struct assay_clue {
    const char *kind, *test;
    unsigned roles;
} assay_clue;

typedef struct assay_cause_kind {
    const char *name;
    assay_clue needs[ASSAY_CAUSE_KINDS]; /* any of them; ends with a NULL kind */
    /* What contradicts it: false where evidence or facts do. NULL: nothing does. */
    bool (*fits)(const assay_evidence *evidence, const assay_course_facts *facts);
    assay_cause_place place;
    assay_certainty most; /* how sure one may be where step and place are known */
    unsigned explains;
    /* With {tensor}, {tensors} ("all 8 weights"), {of} (" of worker_2"), {who}, {since}, {onward}, {at}, {note}, {value},
     * {first}, {least}, {last}, {guess}, {odd}, {moved} ("0.12 %"), {fell}, {inputs}, {changed},
     * {changed_at}; NULL: the rule's own words. */
    const char *sentence, *advice, *record;
    assay_cause_proof proof;
    assay_cause_intent meant;
} assay_cause_kind;

/* The first that fits the evidence; the last entry fits any. */
const assay_cause_kind *assay_cause_of(const assay_evidence *evidence, const assay_course_facts *facts);
/* Is it what one worker of several has, and that worker alone? */
bool assay_is_of_one_worker(const assay_evidence *evidence);
/* The table, for tests and documents; *count entries. */
const assay_cause_kind *assay_cause_table(size_t *count);
/* The bit of what a rule's findings are; 0: of no such kind. */
unsigned assay_finding_bit(const assay_evidence *evidence);
