/* evidence.c - see evidence.h. */
#include "format/metrics/evidence.h"

#include <string.h>

#include "base/hash.h"
#include "base/path.h"

enum {
    NUMBERED_ENOUGH = 64, /* lines whose numbers in front never fall: those are their steps, and no ranks */
    NUMBERED_LEAST = 3,   /* of a file that ends sooner */
    AGAIN_LEAST = 3,      /* lines of an epoch with the same figure: they are several of it, and no line said twice */
    ONCE_LEAST = 3,       /* epochs that have one line each: all have */
    ORDERED_LEAST = 8     /* lines with the same loss, of a file without steps */
};

/* ---- figures ---- */

/* The first loss of a line, else its first figure; NULL: it has none. */
static const metrics_pair *first_figure(const metrics_pairs *pairs)
{
    const metrics_pair *first = NULL;
    for (size_t i = 0; i < pairs->count; i++) {
        if (metrics_is_loss(pairs->list[i].name, pairs->list[i].length))
            return &pairs->list[i];
        first = !first && metrics_is_figure(&pairs->list[i]) ? &pairs->list[i] : first;
    }
    return first;
}

uint64_t metrics_figure_of(const metrics_pairs *pairs)
{
    const metrics_pair *first = first_figure(pairs);
    return first ? assay_hash_bytes(first->name, first->length) | 1 : 0;
}

bool metrics_says_train(const metrics_pair *pair)
{
    static const char *const trains[] = {"train", "training", "learn"};
    return metrics_has_word(pair->name, pair->length, trains, sizeof trains / sizeof *trains);
}

bool metrics_names_mode(const metrics_pair *pair)
{
    return metrics_mode_of(pair->name, pair->length) != ASSAY_MODE_TRAIN || metrics_says_train(pair);
}

/* ---- lines ---- */

/* Notes the number in front of a line that has no step, while a proof is looked for. */
static void note_number(metrics_evidence *e, const metrics_pairs *pairs, const metrics_said *s)
{
    const double number = pairs->numbered.value;
    if (number < 0 || !s->figure || pairs->object || metrics_numbered_by(s, false) != STEP_KINDS)
        return;
    e->in_front.falls = e->in_front.falls || (e->in_front.lines > 0 && (int64_t)number < e->in_front.last);
    e->in_front.rises += e->in_front.lines > 0 && (int64_t)number > e->in_front.last;
    e->in_front.last = (int64_t)number;
    e->in_front.first = e->in_front.lines++ == 0 ? (int64_t)number : e->in_front.first;
    for (size_t i = 0; i < pairs->count; i++)
        e->in_front.modes = e->in_front.modes || metrics_names_mode(&pairs->list[i]);
}

/* Notes that a figure came; true: once more, with other values. */
static bool recurs(metrics_recurring *of, const metrics_pairs *pairs)
{
    const metrics_pair *first = first_figure(pairs);
    const uint64_t figure = metrics_figure_of(pairs);
    if (of->figure != figure)
        *of = (metrics_recurring){.figure = figure};
    of->values += of->times == 0 || first->value != of->value;
    of->value = first->value;
    return ++of->times > 1 && of->values > 1;
}

bool metrics_is_item(const char *line, size_t length)
{
    size_t i = 0;
    while (i < length && (line[i] == ' ' || line[i] == '[' || line[i] == '('))
        i++;
    const size_t first = i;
    while (i < length && assay_is_digit(line[i]))
        i++;
    return i > first && i < length && strchr(".:)]", line[i]) && (i + 1 == length || line[i + 1] == ' ');
}

/* Notes lines of training whose step is the epoch alone, or that have a loss and no step, while a proof is looked for. */
static void note_alone(metrics_evidence *e, const metrics_pairs *pairs, const metrics_said *s, bool aside, bool item)
{
    const step_kind kind = metrics_numbered_by(s, pairs->object);
    const metrics_pair *first = first_figure(pairs);
    e->alone.any_step = e->alone.any_step || (kind != STEP_KINDS && kind != EPOCH);
    if (!first || aside || (pairs->object && (pairs->data || s->epoch || kind != STEP_KINDS)))
        return;
    e->alone.episodes = e->alone.episodes || (kind == EPOCH && metrics_is_episode(s->step[EPOCH]));
    if (kind == EPOCH && s->value[EPOCH] != e->alone.epoch) {
        e->alone.once += e->alone.in_epoch.times == 1;
        e->alone.in_epoch = (metrics_recurring){0};
        e->alone.epoch = s->value[EPOCH];
    }
    if (kind == EPOCH && !e->alone.again)
        e->alone.again = recurs(&e->alone.in_epoch, pairs) && e->alone.in_epoch.times >= AGAIN_LEAST;
    if (kind == STEP_KINDS && s->loss && first->set && !item && e->alone.without.times < ORDERED_LEAST)
        recurs(&e->alone.without, pairs);
}

/* Notes the epoch of an object that has no other step, likewise. */
static void note_epoch_of_object(metrics_evidence *e, const metrics_pairs *pairs, const metrics_said *s, bool aside)
{
    if (!pairs->object || !s->loss || !s->epoch || metrics_numbered_by(s, true) != STEP_KINDS)
        return;
    int64_t *last = &e->rows_of.last[aside];
    const bool falls = e->rows_of.rows[aside] > 0 && s->value[EPOCH] < *last; /* it began again */
    e->rows_of.falls += falls;
    if (s->step[EPOCH] && (e->rows_of.rows[aside] == 0 || s->value[EPOCH] != *last) &&
        e->rows_of.falls <= METRICS_FALLS_MOST)
        *last = s->value[EPOCH];
    else
        e->rows_of.broken = true;
    e->rows_of.rows[aside]++;
}

/* Notes a line that numbers an iteration and a step, likewise. */
static void note_both(metrics_evidence *e, const metrics_pairs *pairs, const metrics_said *s)
{
    if (pairs->object || s->step[EPOCH] || !s->step[ITERATION] || !s->step[STEP] || s->step[STEP]->of <= 0)
        return;
    const bool later = s->value[STEP] > e->both.inner && e->both.lines > 0;
    e->both.within += later && s->value[ITERATION] == e->both.outer;
    e->both.broken = e->both.broken || (later && s->value[ITERATION] > e->both.outer);
    e->both.outer = s->value[ITERATION];
    e->both.inner = s->value[STEP];
    e->both.lines++;
}

/* Notes a line that numbers a batch "3/100", likewise. */
static void note_batch(metrics_evidence *e, const metrics_said *s)
{
    const metrics_pair *batch = s->step[BATCH];
    if (!batch || batch->of < 0 || batch->length == 0 || batch->bracketed || s->step[EPOCH])
        return;
    e->batch.within += e->batch.lines > 0 && s->value[BATCH] == e->batch.value && batch->of > e->batch.of;
    e->batch.broken = e->batch.broken || (e->batch.lines > 0 && s->value[BATCH] > e->batch.value &&
                                          batch->of >= e->batch.of && batch->of > 0);
    e->batch.value = s->value[BATCH];
    e->batch.of = batch->of;
    e->batch.lines++;
}

static bool is_nested(const metrics_evidence *e)
{
    return e->both.within >= AGAIN_LEAST && !e->both.broken;
}

/* Are the numbers in front steps? Few may be ranks, places of a list or settings, one after the other: then they lie far
 * apart, or the figures are called as those of a training and its validation are. */
static bool is_numbered(const metrics_evidence *e, unsigned lines)
{
    enum { APART = 4 };
    const bool sure = e->in_front.lines >= NUMBERED_ENOUGH || e->in_front.modes ||
                      e->in_front.last - e->in_front.first > APART * (int64_t)(e->in_front.lines - 1);
    return e->in_front.lines >= lines && e->in_front.rises > 1 && !e->in_front.falls && sure;
}

/* Is it decided what the epochs of lines are that have no other step? */
static bool is_decided(const metrics_evidence *e)
{
    const bool lines =
        e->alone.in_epoch.times == 0 || e->alone.again || e->alone.once >= ONCE_LEAST || e->alone.any_step;
    const unsigned rows = e->rows_of.rows[0] + e->rows_of.rows[1];
    const bool batches = e->batch.lines == 0 || e->batch.broken || e->batch.within >= AGAIN_LEAST;
    return lines && batches && (e->both.lines == 0 || e->both.broken || is_nested(e)) &&
           (rows == 0 || e->rows_of.broken || rows >= METRICS_ROWS_LOOKED_AT);
}

void metrics_evidence_begin(metrics_evidence *e)
{
    *e = (metrics_evidence){.alone = {.epoch = -1}};
}

void metrics_evidence_note(metrics_evidence *e, const metrics_pairs *pairs, const metrics_said *s, bool aside,
                           bool item)
{
    note_number(e, pairs, s);
    note_alone(e, pairs, s, aside, item);
    note_epoch_of_object(e, pairs, s, aside);
    note_both(e, pairs, s);
    if (!aside)
        note_batch(e, s);
}

bool metrics_evidence_decides(const metrics_evidence *e, bool proven)
{
    return (proven && is_decided(e)) || is_numbered(e, NUMBERED_ENOUGH);
}

bool metrics_evidence_has_epochs(const metrics_evidence *e)
{
    return e->rows_of.rows[0] + e->rows_of.rows[1] > 0 && !e->rows_of.broken;
}

metrics_proof metrics_evidence_proof(const metrics_evidence *e, bool proven, bool json, unsigned falls)
{
    const bool rising = !e->rows_of.broken && (e->rows_of.rows[0] > 1 || e->rows_of.rows[1] > 1);
    metrics_proof p = {.by = NO_PROOF, .epochs = rising, .nested = is_nested(e)};
    p.of_epoch = e->batch.within >= AGAIN_LEAST && !e->batch.broken;
    if ((proven || (json && rising)) && (!json || falls <= METRICS_FALLS_MOST))
        p.by = BY_STEP;
    else if (!json && e->alone.episodes && e->alone.once >= ONCE_LEAST) /* with a reward, and no loss */
        p.by = BY_STEP;
    else if (is_numbered(e, NUMBERED_LEAST))
        p.by = BY_NUMBER;
    else if (!json && !e->alone.any_step && e->alone.without.times >= ORDERED_LEAST && e->alone.without.values > 1)
        p = (metrics_proof){.by = BY_ORDER, .counted = e->alone.without.figure};
    if (p.by == BY_STEP && e->alone.again && !e->alone.any_step)
        p.counted = e->alone.in_epoch.figure;
    return p;
}
