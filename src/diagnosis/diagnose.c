/* diagnose.c - see diagnosis.h: orders causes, folds what they explain, writes their sentences. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/rule.h>

#include "base/fault.h"
#include "diagnosis/causes.h"

enum { SENTENCE_ROOM = 1 << 16 };

typedef struct suspect {
    const assay_evidence *evidence;
    const assay_cause_kind *kind;
    size_t number; /* of the evidence */
    bool folded;
    bool waits; /* a course as a whole, behind what is certain of single steps */
    bool harmless;
    int64_t at; /* the trial's step that it is taken to begin at */
    int place;  /* in the order of computation: twice that of its kind, or just behind another */
} suspect;

const char *assay_certainty_name(assay_certainty certainty)
{
    static const char *const names[] = {"possible", "likely", "certain"};
    return names[certainty];
}

/* ---- order ---- */

static bool is_advice(const suspect *s)
{
    return s->kind->place == ASSAY_AT_ADVICE || s->evidence->severity == 0;
}

/* What comes first whenever it was: a worker that is gone; then what is wrong, what is odd, advice, and what did no harm. */
static int tier_of(const suspect *s)
{
    if (s->harmless)
        return 4;
    if (is_advice(s))
        return 3;
    if (s->kind->place == ASSAY_AT_WORKERS)
        return 0;
    return s->kind->place == ASSAY_AT_SUSPICION || s->waits ? 2 : 1;
}

/* That a loss does not come down is known of its course alone, which says nothing of when it began: what is certain of
 * data, workers or weights comes first, also where it is seen later. */
static void let_courses_wait(suspect *list, size_t count)
{
    bool certain = false;
    for (size_t i = 0; i < count; i++)
        certain = certain || (list[i].kind->most == ASSAY_CERTAIN && !is_advice(&list[i]) &&
                              (list[i].kind->explains & ASSAY_X_COURSE) != 0);
    for (size_t i = 0; i < count; i++)
        list[i].waits = certain && list[i].kind->place == ASSAY_AT_OUTCOME && list[i].kind->most == ASSAY_POSSIBLE;
}

/* Gradients that jump, come back and leave no trace in any loss, weight or number are unusual, and seldom what is wrong:
 * what is found elsewhere does not come of them. */
static void let_passing_jumps_wait(suspect *list, size_t count)
{
    enum { SOON = 10 };
    const unsigned traces = ASSAY_X_LOSS | ASSAY_X_NONFINITE | ASSAY_X_NORM;
    for (size_t i = 0; i < count; i++) {
        const assay_onset_span *began = &list[i].evidence->began;
        if (strcmp(list[i].kind->name, "gradient-jumped") != 0 || list[i].evidence->lasts)
            continue;
        bool passes = true;
        for (size_t k = 0; passes && k < count; k++) {
            const int64_t behind = list[k].evidence->began.step - began->step;
            passes = k == i || strcmp(list[k].kind->name, "gradient-jumped") == 0 ||
                     !(assay_finding_bit(list[k].evidence) & traces) || behind < -SOON ||
                     behind > SOON + (began->to - began->from);
        }
        list[i].waits = list[i].waits || passes;
    }
}

static int by_time_and_place(const void *a, const void *b)
{
    const suspect *x = a, *y = b;
    const assay_evidence *e = x->evidence, *f = y->evidence;
    if (tier_of(x) != tier_of(y))
        return tier_of(x) < tier_of(y) ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if ((x->kind->place == ASSAY_AT_WORKERS || x->kind->place == ASSAY_AT_ONE_WORKER ||
         x->kind->place == ASSAY_AT_UPDATE || x->kind->place == ASSAY_AT_OUTCOME) &&
        x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1; /* the table has what says more of workers, updates or losses first */
    if (e->order != f->order)
        return e->order < f->order ? -1 : 1;
    if (e->severity != f->severity)
        return e->severity > f->severity ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Can the cause `a`, which stands before `b`, be why `b` was found? */
static bool explains(const suspect *a, const suspect *b)
{
    return (a->kind->explains & assay_finding_bit(b->evidence)) != 0 || a->evidence->rule == b->evidence->rule;
}

/* Did a loss stand higher behind one of its onsets than before, or is that not known? */
static bool did_harm(const assay_evidence *e, const assay_course_harm *harm)
{
    bool did = e->onsets == 0;
    for (size_t i = 0; i < e->onsets; i++)
        did = did || e->onset[i].step > harm->seen;
    for (size_t k = 0; !did && k < harm->setbacks; k++) {
        did = harm->setback[k].to > e->listed_to;
        for (size_t i = 0; i < e->onsets; i++)
            did = did || (e->onset[i].behind < harm->setback[k].to && e->onset[i].step >= harm->setback[k].from);
    }
    return did;
}

/* Was what differs compared at steps whose number is not the same update on all? So it is of a worker that takes part in
 * fewer steps, of what names none, and of all where that holds for half of them. */
static bool is_of_other_steps(const suspect *s, const assay_course_facts *facts)
{
    const assay_evidence *e = s->evidence;
    uint32_t away = 0;
    if (!facts->away ||
        !(s->kind->place == ASSAY_AT_ONE_WORKER || assay_finding_bit(e) & (ASSAY_X_APART | ASSAY_X_LATE)))
        return false;
    for (const char *c = strchr(facts->away + 1, ','); c; c = strchr(c + 1, ','))
        away++;
    const size_t length = strlen(e->workers);
    bool named = false;
    for (const char *at = facts->away; length > 0 && !named && (at = strstr(at, e->workers)); at++)
        named = at > facts->away && at[-1] == ' ' && at[length] == ',';
    return named || length == 0 || 2 * away >= facts->workers;
}

static bool is_never_equal(const assay_evidence *e)
{
    return strcmp(e->kind, "GradientNotSynchronized") == 0 &&
           (strcmp(e->test, "never") == 0 || strcmp(e->test, "begun") == 0 || strcmp(e->test, "unlike") == 0);
}

static bool is_of_one_batch(const assay_evidence *e)
{
    return strcmp(e->kind, "DuplicateShard") == 0 ||
           (strcmp(e->kind, "InputData") == 0 && strcmp(e->test, "shared") == 0);
}

static bool is_of_parts(const assay_evidence *e)
{
    return is_never_equal(e) || is_of_one_batch(e);
}

static bool has_parts(const assay_evidence *evidence, size_t count)
{
    bool never = false, one_batch = false;
    for (size_t i = 0; i < count; i++) {
        never = never || is_never_equal(&evidence[i]);
        one_batch = one_batch || is_of_one_batch(&evidence[i]);
    }
    return never && one_batch;
}

/* Is it so from the first saved step, or from the first update on? Then somebody may have set it up so. */
static bool begins_with_training(const assay_evidence *e)
{
    return e->began.first || e->began.from <= 1;
}

/* How many workers "worker_2", "worker_0 and worker_1" or "3 of 8 workers" are. */
static uint32_t count_named(const char *workers)
{
    unsigned count = 0;
    if (!strstr(workers, " of ") || sscanf(workers, "%u of ", &count) != 1)
        for (const char *c = workers; *c; c++)
            count += c == workers || *c == ',' || strncmp(c, " and ", 5) == 0;
    return count;
}

/* Of half of the copies, nothing says that the others are right, nor that they are copies. */
static bool is_split(const assay_evidence *e, const assay_course_facts *facts)
{
    return strcmp(e->kind, "ReplicaDivergence") == 0 && 2 * count_named(e->workers) >= facts->workers;
}

static bool did_not_come_down(const assay_course_facts *facts)
{
    static const double LEAST = 0.1;
    return !facts->harm.well && isfinite(facts->loss_first) && isfinite(facts->loss_last) &&
           facts->loss_first - facts->loss_last < LEAST * fabs(facts->loss_first);
}

/* Standing at a level, or rising from it, means the same for every loss of classes; others may be meant to. So does a gain
 * that became a loss, or what rose far. */
static bool has_level(const assay_evidence *e, const assay_course_facts *facts)
{
    static const char *const of_classes[] = {"CrossEntropy", "NLLLoss", "BCE"};
    static const double FAR = 10, GAIN = 2, NOISE = 4;
    for (size_t i = 0; i < sizeof of_classes / sizeof *of_classes; i++)
        if (strstr(e->tensor, of_classes[i]))
            return true;
    if (facts->loss_first > 0)
        return facts->loss_last > FAR * facts->loss_first;
    return -facts->loss_first > NOISE * facts->loss_error &&
           facts->loss_last > -GAIN * facts->loss_first; /* no swing */
}

/* All weights were equal before the first update, and some still are: the others are left out of the exchange. */
static bool are_copies_in_part(const assay_evidence *e)
{
    return !e->began.first && e->tensors < e->alike;
}

/* Is what a choice explains as well as a mistake proven a mistake by the losses, or by what workers were before? What
 * proves it otherwise is another finding. */
static bool is_proven_wrong(const suspect *s, const assay_course_facts *facts)
{
    const assay_evidence *e = s->evidence;
    const assay_cause_proof by = s->kind->proof;
    return ((by == ASSAY_BY_HARM || by == ASSAY_BY_REPLICAS) && did_not_come_down(facts)) ||
           (by == ASSAY_BY_REPLICAS && (!is_split(e, facts) || !begins_with_training(e) || are_copies_in_part(e))) ||
           (by == ASSAY_BY_LEVEL && has_level(e, facts));
}

/* Copies that drifted apart do not become equal by themselves, again and again: somebody averages or hands on weights. */
static bool copies_meet(const assay_evidence *evidence, size_t count)
{
    enum { AGAIN = 3 };
    bool meet = false;
    for (size_t i = 0; i < count; i++)
        meet = meet || (strcmp(evidence[i].kind, "ReplicaDivergence") == 0 && evidence[i].met >= AGAIN);
    return meet;
}

/* Healthy trainings have it as well, and the losses came to no harm. A rule that somebody asked for is taken at its
 * word. */
static bool does_no_harm_to_losses(const suspect *s, const assay_course_facts *facts)
{
    enum { LASTING = 5, AGAIN = 3 }; /* saved steps, times */
    const assay_course_harm *harm = &facts->harm;
    if (!s->evidence->unasked)
        return false;
    if (s->kind->proof == ASSAY_BY_REQUEST || is_of_other_steps(s, facts) ||
        (s->kind->proof == ASSAY_BY_STANDING && s->evidence->times > 1) || /* by turns */
        (harm->well && harm->one_loss && facts->parts && is_of_parts(s->evidence)))
        return true;
    if (facts->meet && assay_finding_bit(s->evidence) & ASSAY_X_APART)
        return !did_not_come_down(facts);
    if (s->kind->proof >= ASSAY_BY_HARM)
        return !is_proven_wrong(s, facts);
    const bool lasts = s->evidence->lasts || s->evidence->steps >= LASTING;
    if (s->kind->proof == ASSAY_PROVES_ITSELF || s->evidence->cut || !harm->well ||
        (s->kind->proof == ASSAY_BY_LASTING && lasts))
        return false;
    if (s->kind->proof == ASSAY_BY_STANDING && s->evidence->lasts)
        return false;
    return s->kind->proof == ASSAY_BY_COURSE || s->kind->proof == ASSAY_BY_STANDING ||
           (s->kind->proof == ASSAY_BY_ONSET && s->evidence->times >= AGAIN) || !did_harm(s->evidence, harm);
}

/* Is b harm that may come of a: what proves itself there or later, or any other at the same step? */
static bool is_harm_of(const suspect *a, const suspect *b)
{
    const int64_t behind = b->evidence->began.step - a->evidence->began.step;
    const bool course = a->kind->proof == ASSAY_BY_WITNESS || a->kind->proof == ASSAY_BY_LEVEL; /* has no step */
    if (course && (b->kind->proof != ASSAY_PROVES_ITSELF || b->evidence->rule == a->evidence->rule))
        return false;
    return !b->harmless && !is_advice(b) && (a->kind->explains & assay_finding_bit(b->evidence)) != 0 &&
           (course || (b->kind->proof == ASSAY_PROVES_ITSELF ? behind >= 0 : behind == 0));
}

static void find_harmless(suspect *list, size_t count, const assay_course_facts *facts)
{
    for (size_t i = 0; i < count; i++)
        list[i].harmless = does_no_harm_to_losses(&list[i], facts);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; list[i].harmless && k < count; k++)
            list[i].harmless = k == i || !is_harm_of(&list[i], &list[k]);
}

/* A rate that is too high drives the loss up before any update is as large as the weights, or they have grown. */
static bool builds_up(const suspect *s)
{
    return strcmp(s->kind->name, "rate-too-high") == 0 || strcmp(s->kind->name, "inputs-too-large") == 0 ||
           strcmp(s->kind->name, "weights-grow") == 0;
}

/* Of a loss that rose, or never came down: its rule waits until there are enough losses to tell. So it is with weights
 * that hardly move in all steps together. */
static bool is_from_the_start(const suspect *s)
{
    static const char *const names[] = {"loss-rises", "loss-stands", "updates-too-small", "outputs-too-large",
                                        "worse-than-a-guess"};
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is = is || strcmp(s->kind->name, names[i]) == 0;
    return is;
}

/* What lies upstream, explains the other and may have begun before it comes first: where no step was saved just before
 * it, or where it takes some of the first steps to be seen. A loss that rose or stood from the start did so before
 * anything that comes of it, whenever there were enough losses to tell. */
static void settle_beginnings(suspect *list, size_t count)
{
    enum { BEGINNING = 50, BUILDING = 10 };
    for (size_t i = 0; i < count; i++) {
        suspect *s = &list[i];
        const assay_onset_span *began = &s->evidence->began;
        int64_t room = began->step < INT64_MAX ? began->to - began->from : 0;
        if (builds_up(s) && began->step < BEGINNING)
            room = room > BUILDING ? room : BUILDING;
        s->at = began->step;
        const bool start = is_from_the_start(s);
        for (size_t k = 0; (room > 0 || start) && k < count; k++) {
            const int64_t other = list[k].evidence->began.step;
            const bool below = list[k].kind->place > s->kind->place || (start && list[k].kind->place == s->kind->place);
            if (below && explains(s, &list[k]) && other < s->at && (start || other >= began->step - room))
                s->at = other;
        }
    }
}

/* Gradients that jump at the very step at which the loss does jump because of it: the loss is computed first. */
static void let_gradients_follow(suspect *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const assay_onset_span *began = &list[i].evidence->began;
        list[i].place = 2 * (int)list[i].kind->place;
        if (strcmp(list[i].kind->name, "gradient-jumped") != 0 || began->from != began->to)
            continue;
        for (size_t k = 0; k < count; k++)
            if (strcmp(list[k].kind->name, "loss-jumped") == 0 && list[k].evidence->began.step == began->step)
                list[i].place = 2 * (int)list[k].kind->place + 1;
    }
}

/* ---- sentences ---- */

static void put_text(const char *text, assay_buf *out)
{
    assay_put_bytes(out, text, strlen(text));
}

static bool counts_modes(const assay_onset_span *span)
{
    return span->mode > ASSAY_MODE_NONE && span->mode < ASSAY_MODE_GLOBAL;
}

/* "TRAIN step 310 (step 332 of the trial)", "step 310", "TRAIN steps 301 to 310" */
static void put_steps(const assay_onset_span *span, assay_buf *out)
{
    if (counts_modes(span))
        assay_put_format(out, "%s ", assay_mode_name(span->mode));
    if (span->from < span->to)
        assay_put_format(out, "steps %" PRId64 " to %" PRId64, span->from, span->to);
    else
        assay_put_format(out, "step %" PRId64, span->to);
    if (counts_modes(span) && span->step != span->to && !span->alone)
        assay_put_format(out, " (step %" PRId64 " of the trial)", span->step);
}

static void put_when(const char *word, const assay_onset_span *span, assay_buf *out)
{
    const bool since = strcmp(word, "since") == 0;
    if (since && span->first && span->to == 0 && span->mode != ASSAY_MODE_EVAL)
        put_text("from the first step on", out);
    else if (since && span->first) {
        put_text(span->mode == ASSAY_MODE_EVAL ? "from the first evaluation on, " : "from the first recorded step on, ",
                 out);
        put_steps(span, out);
    } else {
        assay_put_format(out, "%s ", since || span->from == span->to ? word : "in one of");
        put_steps(span, out);
    }
}

/* "fc1.weight", "fc1.weight and 2 more", "all 8 weights" */
static void put_tensors(const assay_evidence *e, assay_buf *out)
{
    static const char *const roles[] = {[ASSAY_ROLE_INPUT] = "inputs",
                                        [ASSAY_ROLE_LABEL] = "labels",
                                        [ASSAY_ROLE_WEIGHT] = "weights",
                                        [ASSAY_ROLE_ACTIVATION] = "activations",
                                        [ASSAY_ROLE_LOSS] = "losses",
                                        [ASSAY_ROLE_GRADIENT] = "gradients",
                                        [ASSAY_ROLE_OPTIMIZER] = "optimizer variables"};
    if (e->role >= 0 && e->alike > 1 && e->tensors >= e->alike) {
        assay_put_format(out, "all %" PRIu32 " %s", e->alike, roles[e->role]);
        return;
    }
    put_text(e->tensor, out);
    if (e->tensors > 1)
        assay_put_format(out, " and %" PRIu32 " more", e->tensors - 1);
}

static void put_number(double value, assay_buf *out)
{
    if (isfinite(value))
        assay_put_format(out, "%.3g", value);
    else
        put_text(isnan(value) ? "NaN" : "infinity", out);
}

/* Sums that the hook has kept of an equation stand for the tensor that is one side of it (docs/laws.md). */
static void put_tensor(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    static const char KEPT[] = "state/laws/";
    static const char *const sides[][2] = {
        {"gradient/", "gradient/"}, {"reduce/", "gradient/"}, {"moments/", "optimizer/"}};
    const char *law = strncmp(e->tensor, KEPT, sizeof KEPT - 1) == 0 ? e->tensor + sizeof KEPT - 1 : NULL;
    const char *slash = law ? strchr(law, '/') : NULL;
    (void)facts;
    if (!slash) {
        put_text(e->tensor, out);
        return;
    }
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        if (strncmp(law, sides[i][0], strlen(sides[i][0])) == 0)
            put_text(sides[i][1], out);
    put_text(slash + 1, out);
}

static void put_of(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    (void)facts;
    put_text(*e->workers ? " of " : "", out);
    put_text(e->workers, out);
}

static void put_who(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    (void)facts;
    put_text(*e->workers ? e->workers : "a worker", out);
}

static void put_all_tensors(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    (void)facts;
    put_tensors(e, out);
}

/* Of a loss that is one of several. */
static void put_which(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    (void)facts;
    if (*e->tensor)
        assay_put_format(out, " (%s)", e->tensor);
}

static void put_since(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    (void)facts;
    put_when(e->lasts ? "since" : "at", &e->began, out);
}

static void put_fell(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    (void)e;
    put_text(facts->loss_last >= facts->loss_first ? "did not fall" : "hardly fell", out);
}

static void put_moved(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    (void)e;
    put_number(100 * facts->moved, out);
    put_text(" %", out);
}

static void put_shift(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    (void)e;
    assay_put_format(out, "%d", facts->shift);
}

static void put_least_at(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out)
{
    const int64_t at = facts->least_at;
    put_steps(&(assay_onset_span){.mode = e->began.mode, .from = at, .to = at, .step = at}, out);
}

/* How a member is written; from SINCE on it is a span behind that word. */
typedef enum word_form { TEXT, NUMBER, SINCE, AT, BY } word_form;

/* What may stand between braces in a cause's sentence: a member as it is, or what a function makes of several. */
typedef struct word {
    const char *name;
    void (*put)(const assay_evidence *e, const assay_course_facts *facts, assay_buf *out);
    word_form form;
    bool of_course; /* a member of the facts, not of the evidence */
    size_t offset;
} word;

#define EVIDENCE(name, form, member)                                                                                   \
    {                                                                                                                  \
        name, NULL, form, false, offsetof(assay_evidence, member)                                                      \
    }
#define COURSE(name, form, member)                                                                                     \
    {                                                                                                                  \
        name, NULL, form, true, offsetof(assay_course_facts, member)                                                   \
    }
#define MADE(name, put)                                                                                                \
    {                                                                                                                  \
        name, put, TEXT, false, 0                                                                                      \
    }
static const word words[] = {
    MADE("tensor", put_tensor),
    MADE("tensors", put_all_tensors),
    MADE("of", put_of),
    MADE("who", put_who),
    MADE("which", put_which),
    EVIDENCE("note", TEXT, note),
    EVIDENCE("value", NUMBER, value),
    MADE("since", put_since),
    EVIDENCE("onward", SINCE, began), /* it does not end by itself, though its rule sees no more of it */
    EVIDENCE("at", AT, began),
    EVIDENCE("by", BY, began),
    COURSE("first", NUMBER, loss_first),
    COURSE("least", NUMBER, loss_least),
    COURSE("last", NUMBER, loss_last),
    COURSE("guess", NUMBER, loss_guess),
    MADE("least_at", put_least_at),
    MADE("fell", put_fell),
    MADE("moved", put_moved),
    MADE("shift", put_shift),
    COURSE("odd", TEXT, odd),
    COURSE("inputs", NUMBER, inputs),
    COURSE("changed", TEXT, changed.what),
    COURSE("changed_at", AT, changed.began),
};
#undef EVIDENCE
#undef COURSE
#undef MADE

static void put_member(word_form form, const void *member, assay_buf *out)
{
    static const char *const before[] = {[SINCE] = "since", [AT] = "at", [BY] = "by"};
    if (form == TEXT)
        put_text(*(const char *const *)member, out);
    else if (form == NUMBER)
        put_number(*(const double *)member, out);
    else
        put_when(before[form], member, out);
}

static void put_word(const assay_evidence *e, const assay_course_facts *facts, const char *name, size_t size,
                     assay_buf *out)
{
    const word *w = words, *const end = words + sizeof words / sizeof *words;
    while (w < end && (strlen(w->name) != size || memcmp(w->name, name, size) != 0))
        w++;
    if (w < end && w->put)
        w->put(e, facts, out);
    else if (w < end)
        put_member(w->form, (w->of_course ? (const char *)facts : (const char *)e) + w->offset, out);
}

/* A note stands behind a comma, but where the sentence puts a colon or a word before it. */
static bool begins_note(const char *text, const char *at)
{
    return at > text && at[-1] != ' ' && strncmp(at, "{note}", 6) == 0;
}

/* Is every number of the loss that the sentence names known? A rule with settings of its own may not tell its course. */
static bool is_known(const char *text, const assay_course_facts *facts)
{
    char name[32];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const word *w = &words[i];
        const void *number = (const char *)facts + w->offset;
        snprintf(name, sizeof name, "{%s}", w->name);
        if (w->of_course && w->form == NUMBER && strstr(text, name) && isnan(*(const double *)number))
            return false;
    }
    return true;
}

static void put_sentence(const suspect *s, const assay_course_facts *facts, assay_buf *out)
{
    const char *text = s->kind->sentence;
    if (!text || !is_known(text, facts)) {
        put_text(s->evidence->sentence, out);
        return;
    }
    for (const char *c = text; *c; c++) {
        const char *end = *c == '{' ? strchr(c, '}') : NULL;
        if (!end) {
            assay_put_u8(out, (uint8_t)*c);
            continue;
        }
        if (begins_note(text, c) && *s->evidence->note)
            put_text(", ", out);
        put_word(s->evidence, facts, c + 1, (size_t)(end - c - 1), out);
        c = end;
    }
}

/* ---- causes ---- */

static assay_certainty certainty_of(const suspect *s, const assay_course_facts *facts)
{
    const assay_evidence *e = s->evidence;
    if (strcmp(e->kind, "ExplodingTensor") == 0)
        return e->proven ? ASSAY_CERTAIN : ASSAY_LIKELY;
    const bool known = e->began.from == e->began.to && !(is_split(e, facts) && facts->workers > 0) &&
                       !(facts->parts && is_of_parts(e));
    const bool meant =
        s->kind->meant == ASSAY_MEANT_PERHAPS || (s->kind->meant == ASSAY_MEANT_IF_ALWAYS && begins_with_training(e));
    return s->kind->most == ASSAY_CERTAIN && (meant || !known) ? ASSAY_LIKELY : s->kind->most;
}

/* Makes a cause of suspect `first` of the list, and folds what it explains of those behind it. */
static int make_cause(suspect *list, size_t count, size_t first, const assay_course_facts *facts, assay_cause *out)
{
    const suspect *s = &list[first];
    assay_buf text;
    *out = (assay_cause){.name = s->kind->name,
                         .certainty = certainty_of(s, facts),
                         .tensor = s->evidence->tensor,
                         .workers = s->evidence->workers,
                         .began = s->evidence->began,
                         .advice = s->kind->advice,
                         .record = s->kind->record,
                         .harmless = s->harmless,
                         .wrong = s->evidence->severity > 0 && !s->harmless &&
                                  !(s->kind->place == ASSAY_AT_ADVICE && s->kind->most == ASSAY_POSSIBLE),
                         .evidence = assay_alloc_zeroed(count - first, sizeof *out->evidence)};
    ASSAY_HAVE(out->evidence);
    for (size_t i = first; i < count; i++) {
        if (list[i].folded || (i > first && !explains(s, &list[i])))
            continue;
        if (list[i].harmless && list[i].at < s->at) /* it stands behind for what it is, and was before */
            continue;
        list[i].folded = true;
        out->evidence[out->explained++] = list[i].number;
    }
    assay_buf_init(&text, SENTENCE_ROOM);
    put_sentence(s, facts, &text);
    assay_put_u8(&text, '\0');
    int status = assay_buf_status(&text);
    out->sentence = status == ASSAY_OK ? strdup((const char *)text.data) : NULL;
    assay_buf_release(&text);
    return out->sentence ? ASSAY_OK : ASSAY_ENOMEM;
}

/* The worker that the others, two or more that agree, stand against. */
static const char *odd_worker(const assay_evidence *evidence, size_t count, uint32_t workers)
{
    for (size_t i = 0; workers != 2 && i < count; i++)
        if (strcmp(evidence[i].kind, "ReplicaDivergence") == 0 && assay_is_of_one_worker(&evidence[i]))
            return evidence[i].workers;
    return NULL;
}

int assay_diagnose(const assay_evidence *evidence, size_t count, const assay_course_facts *given, assay_diagnosis *out)
{
    assay_course_facts all = *given, *facts = &all;
    *out = (assay_diagnosis){.cause = assay_alloc_zeroed(count + 1, sizeof *out->cause)};
    suspect *list = assay_alloc_zeroed(count + 1, sizeof *list);
    int status = list && out->cause ? ASSAY_OK : ASSAY_ENOMEM;
    all.odd = odd_worker(evidence, count, given->workers);
    all.parts = has_parts(evidence, count);
    all.meet = copies_meet(evidence, count);
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        list[i] = (suspect){.evidence = &evidence[i], .kind = assay_cause_of(&evidence[i], facts), .number = i};
    if (status == ASSAY_OK)
        find_harmless(list, count, facts);
    if (status == ASSAY_OK)
        let_courses_wait(list, count);
    if (status == ASSAY_OK)
        let_passing_jumps_wait(list, count);
    if (status == ASSAY_OK)
        settle_beginnings(list, count);
    if (status == ASSAY_OK)
        let_gradients_follow(list, count);
    if (status == ASSAY_OK && count > 0)
        qsort(list, count, sizeof *list, by_time_and_place);
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        if (!list[i].folded)
            status = make_cause(list, count, i, facts, &out->cause[out->causes++]);
    free(list);
    if (status != ASSAY_OK)
        assay_diagnosis_release(out);
    return status;
}

void assay_diagnosis_release(assay_diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->causes; i++) {
        free(diagnosis->cause[i].sentence);
        free(diagnosis->cause[i].evidence);
    }
    free(diagnosis->cause);
    *diagnosis = (assay_diagnosis){0};
}
