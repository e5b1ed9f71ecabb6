/* said.h - what the pairs of a printed line come to: which of them is the step, which says a figure of a training, and of
 * what it is. */
#pragma once

#include "format/metrics/pairs.h"

/* In the order in which one of several numbers a line. */
typedef enum step_kind { UPDATES, GLOBAL_STEP, ITERATION, STEP, NUMBERED, BATCH, EPOCH, STEP_KINDS } step_kind;

/* What a line says. */
typedef struct metrics_said {
    const metrics_pair *step[STEP_KINDS];
    int64_t value[STEP_KINDS];
    bool eval, predict, closing, figure, loss, epoch;
} metrics_said;

/* `numbered`: the number in front of the line is a step. */
metrics_said metrics_said_of(const metrics_pairs *pairs, bool numbered);
/* The pair that numbers a line, STEP_KINDS: none does. Of an object the epoch is but a figure. */
step_kind metrics_numbered_by(const metrics_said *s, bool object);
/* Which kind of step a pair may be; STEP_KINDS: none. */
step_kind metrics_kind_of_step(const metrics_pair *pair, int64_t *value);
bool metrics_is_step(const metrics_pair *pair);
/* Does it number the episodes of games, which count as epochs do? */
bool metrics_is_episode(const metrics_pair *pair);
/* Is it a figure that trainings print, and hardly anything else does? */
bool metrics_is_figure(const metrics_pair *pair);
/* Says nothing of the training. */
bool metrics_is_no_tag(const metrics_pair *pair);
bool metrics_has_word(const char *name, size_t length, const char *const *words, size_t count);
/* Programs print their own source, too: is the line some of it? One that numbers a loss is none. */
bool metrics_is_code(const char *line, size_t length);
