/* no_data.c - see no_data.h.
 *
 * To suggest names near a pattern, its letters, digits and underscores are compared with each name by the length of
 * their longest common subsequence. */
#include "rule/no_data.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* NAMES_COMPARED bounds the time of a message: names are compared with quadratic cost. */
enum {
    NEAR_SHOWN = 3,
    NAME_MOST = 128,
    NAMES_COMPARED = 20000,
    WORKERS_SHOWN = 4,
    TEXTS_SHOWN = 3,
    SENTENCE_CEILING = 1 << 16
};

static void put_plain(assay_buf *out, const char *text)
{
    assay_put_bytes(out, text, strlen(text));
}

/* Sentences stand one behind the other. */
static void begin_sentence(assay_buf *out)
{
    if (out->size > 0)
        assay_put_u8(out, ' ');
}

/* Begins a sentence whose first word is not a name, and so may be capitalised. */
static void start_sentence(assay_buf *out, const char *text)
{
    const bool behind = out->size > 0;
    begin_sentence(out);
    assay_put_u8(out, (uint8_t)(behind ? toupper((unsigned char)text[0]) : text[0]));
    put_plain(out, text + 1);
}

/* ---- names near a pattern ---- */

/* What of a pattern is text: without options in brackets, classes after a backslash, and signs. Good enough for a
 * hint. */
static size_t literal_of(const char *pattern, char room[NAME_MOST])
{
    size_t size = 0;
    for (const char *p = pattern; *p && size + 1 < NAME_MOST; p++) {
        if (p[0] == '(' && p[1] == '?') {
            while (p[1] && p[1] != ')' && p[1] != ':')
                p++;
        } else if (p[0] == '\\' && p[1]) {
            p++;
            if (!isalnum((unsigned char)*p))
                room[size++] = *p;
        } else if (isalnum((unsigned char)*p) || *p == '_' || *p == '/' || *p == '-') {
            room[size++] = *p;
        }
    }
    room[size] = '\0';
    return size;
}

/* The length of the longest common subsequence, of texts of at most NAME_MOST bytes. */
static size_t common_letters(const char *a, size_t a_size, const char *b, size_t b_size)
{
    /* One row of the table is enough; `diagonal` is the cell that was overwritten last. */
    uint8_t row[NAME_MOST + 1] = {0};
    for (size_t i = 0; i < a_size; i++) {
        uint8_t diagonal = 0;
        for (size_t k = 0; k < b_size; k++) {
            uint8_t above = row[k + 1];
            bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[k]);
            row[k + 1] = same ? (uint8_t)(diagonal + 1) : row[k] > above ? row[k] : above;
            diagonal = above;
        }
    }
    return row[b_size];
}

typedef struct near_names {
    uint32_t tensor[NEAR_SHOWN];
    double score[NEAR_SHOWN]; /* descending */
    size_t count;
} near_names;

static void offer_name(near_names *near, uint32_t tensor, double score)
{
    /* Insertion into three: equal scores stay in the trial's order. */
    size_t at = near->count;
    while (at > 0 && near->score[at - 1] < score)
        at--;
    if (at >= NEAR_SHOWN)
        return;
    size_t moved = (near->count < NEAR_SHOWN ? near->count : NEAR_SHOWN - 1) - at;
    memmove(near->tensor + at + 1, near->tensor + at, moved * sizeof *near->tensor);
    memmove(near->score + at + 1, near->score + at, moved * sizeof *near->score);
    near->tensor[at] = tensor;
    near->score[at] = score;
    near->count += near->count < NEAR_SHOWN;
}

/* "; near: relu1_output_0, relu2_output_0": names that share most of the pattern's letters. */
static void put_near_names(const assay_trial *trial, const char *pattern, assay_buf *out)
{
    char literal[NAME_MOST];
    size_t size = literal_of(pattern, literal);
    near_names near = {.count = 0};
    for (uint32_t t = 0; t < assay_trial_tensors(trial) && t < NAMES_COMPARED && size > 0; t++) {
        const char *name = assay_trial_tensor(trial, t);
        size_t length = strnlen(name, NAME_MOST), common = common_letters(literal, size, name, length);
        /* Dice's coefficient; two thirds of the pattern's letters have to be there, so that short names do not win. */
        double score = 2.0 * (double)common / (double)(size + length);
        if (common * 3 >= size * 2 && score > 0.5)
            offer_name(&near, t, score);
    }
    for (size_t i = 0; i < near.count; i++) {
        put_plain(out, i ? ", " : "; near: ");
        put_plain(out, assay_trial_tensor(trial, near.tensor[i]));
    }
}

/* ---- a slot ---- */

typedef struct slot_view {
    uint32_t matched, raw; /* tensors that the slot's names select; of these, saved raw */
    uint32_t first;        /* of them */
    unsigned modes;        /* in which they were saved raw */
} slot_view;

/* A slot without any selection takes all tensors. */
static bool is_selected(const assay_slot_need *slot, const assay_trial *trial, uint32_t tensor)
{
    if (slot->collections == 0 && slot->regexes == 0 && !slot->name)
        return true;
    const char *name = assay_trial_tensor(trial, tensor);
    for (size_t i = 0; i < slot->collections; i++)
        if (assay_trial_in_collection(trial, slot->collection[i], tensor))
            return true;
    for (size_t i = 0; i < slot->regexes; i++)
        if (assay_slot_pattern_finds(slot, i, trial, name, strlen(name)) == 1)
            return true;
    return slot->name && strcmp(slot->name, name) == 0;
}

static slot_view look_at_slot(const assay_slot_need *slot, const assay_trial *trial)
{
    slot_view v = {.first = ASSAY_NO_TENSOR};
    for (uint32_t t = 0; t < assay_trial_tensors(trial); t++) {
        if (!is_selected(slot, trial, t))
            continue;
        v.first = v.matched++ == 0 ? t : v.first;
        v.raw += assay_trial_tensor_modes(trial, t) != 0;
        v.modes |= assay_trial_tensor_modes(trial, t);
    }
    return v;
}

static void put_alternatives(const char *before, char *const *text, size_t count, bool *any, assay_buf *out)
{
    for (size_t i = 0; i < count && i < TEXTS_SHOWN; i++) {
        put_plain(out, *any ? " or " : "");
        put_plain(out, before);
        put_plain(out, text[i]);
        *any = true;
    }
    if (count > TEXTS_SHOWN)
        assay_put_format(out, " or one of %zu more", count - TEXTS_SHOWN);
}

/* "no tensor matches .*relu_output; near: relu1_output_0" */
static void put_no_match(const assay_slot_need *slot, const assay_trial *trial, assay_buf *out)
{
    bool any = false;
    if (assay_trial_tensors(trial) == 0) {
        start_sentence(out, "the trial has no tensors.");
        return;
    }
    start_sentence(out, "no tensor ");
    put_alternatives("is in collection ", slot->collection, slot->collections, &any, out);
    put_alternatives("matches ", slot->pattern, slot->regexes, &any, out);
    if (slot->name)
        put_alternatives("is called ", &slot->name, 1, &any, out);
    if (slot->regexes > 0 || slot->name)
        put_near_names(trial, slot->regexes > 0 ? slot->pattern[0] : slot->name, out);
    put_plain(out, ".");
}

static void put_modes(unsigned modes, assay_buf *out)
{
    bool any = false;
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++)
        if (modes >> m & 1) {
            put_plain(out, any ? " or " : "");
            put_plain(out, assay_mode_name(m));
            any = true;
        }
}

/* False when the slot can have data. Facts of the index alone: false means that the data could have been tested, and
 * the rule has to say why not. */
static bool explain_slot(const assay_slot_need *slot, const assay_trial *trial, unsigned *modes, assay_buf *out)
{
    slot_view v = look_at_slot(slot, trial);
    *modes |= v.modes;
    if (v.matched == 0) {
        put_no_match(slot, trial, out);
        return true;
    }
    /* Slots that only prefer modes take others too. */
    bool takes_reductions = slot->kinds & ~(1u << ASSAY_RAW), prefers = slot->flags & ASSAY_SLOT_PREFER_MODES;
    if (v.raw == 0 && !takes_reductions) {
        begin_sentence(out);
        if (v.matched > 1)
            assay_put_format(out, "%" PRIu32 " tensors match, such as ", v.matched);
        put_plain(out, assay_trial_tensor(trial, v.first));
        put_plain(out, v.matched > 1 ? ", but no values of them" : " matches, but no values of it");
        put_plain(out, " were saved, only reductions or shapes.");
        return true;
    }
    if (slot->modes != 0 && !prefers && !(slot->modes & v.modes) && v.raw > 0) {
        begin_sentence(out);
        if (!(slot->modes & assay_trial_modes(trial))) {
            put_plain(out, "the trial has no steps of ");
            put_modes(slot->modes, out);
        } else {
            put_plain(out, assay_trial_tensor(trial, v.first));
            put_plain(out, v.matched > 1 ? " and its like were saved in " : " was saved in ");
            put_modes(v.modes, out);
            put_plain(out, ", not in ");
            put_modes(slot->modes, out);
        }
        put_plain(out, ".");
        return true;
    }
    return false;
}

/* ---- the rule ---- */

static bool explain_worker(const assay_instance *instance, const assay_trial *trial, assay_buf *out)
{
    uint32_t workers = assay_trial_workers(trial);
    for (uint32_t w = 0; instance->worker && w < workers; w++)
        if (strcmp(instance->worker, assay_trial_worker(trial, w)) == 0 ||
            strcmp(instance->worker, trial->catalog->worker_key[w]) == 0)
            return false;
    if (!instance->worker)
        return false;
    start_sentence(out, "no worker is called ");
    put_plain(out, instance->worker);
    for (uint32_t w = 0; w < workers && w < WORKERS_SHOWN; w++) {
        put_plain(out, w ? ", " : "; there are ");
        put_plain(out, assay_trial_worker(trial, w));
    }
    put_plain(out, workers > WORKERS_SHOWN ? ", ..." : ".");
    return true;
}

static bool explain_steps(const assay_rule *rule, assay_buf *out)
{
    uint64_t steps = assay_trial_steps(rule->trial);
    const assay_step_info *first = assay_trial_step(rule->trial, 0),
                          *last = steps ? assay_trial_step(rule->trial, steps - 1) : NULL;
    if (steps > 0 && last->step >= rule->start_step && first->step < rule->end_step)
        return false;
    begin_sentence(out);
    if (steps == 0)
        put_plain(out, "the trial has no steps.");
    else
        assay_put_format(out,
                         "the trial has steps %" PRId64 " to %" PRId64
                         ", and none that the rule looks at (start_step, end_step).",
                         first->step, last->step);
    return true;
}

static bool compares_workers(const assay_need *need)
{
    for (uint32_t s = 0; s < need->slot_count; s++)
        if (need->slots[s].keeps_rows && need->slots[s].rows.compared)
            return true;
    return false;
}

/* Appends why a slot can have no data, unless another slot's sentence says the same. */
static bool explain_slot_once(const assay_slot_need *slot, const assay_trial *trial, unsigned *modes, assay_buf *out)
{
    assay_buf why = ASSAY_BUF(SENTENCE_CEILING);
    bool none = explain_slot(slot, trial, modes, &why);
    /* Rules with several slots of one selection would say the same twice. */
    if (why.size > 0 && (out->size == 0 || !memmem(out->data, out->size, why.data, why.size))) {
        begin_sentence(out);
        assay_put_bytes(out, why.data, why.size);
    }
    if (assay_buf_status(&why) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&why);
    assay_buf_release(&why);
    return none;
}

/* Appends why slots have no data, and counts them; true: none has any. What is optional beside others is left out. Where
 * all are, one is enough: a reason is told only if none has tensors. */
static bool explain_slots(const assay_need *need, const assay_trial *trial, uint32_t *without, unsigned *modes,
                          assay_buf *out)
{
    const size_t before = out->size;
    uint32_t needed = 0, looked = 0;
    for (uint32_t s = 0; s < need->slot_count; s++)
        needed += !(need->slots[s].flags & ASSAY_SLOT_OPTIONAL);
    *without = 0;
    for (uint32_t s = 0; s < need->slot_count; s++) {
        if (needed > 0 && (need->slots[s].flags & ASSAY_SLOT_OPTIONAL))
            continue;
        *without += explain_slot_once(&need->slots[s], trial, modes, out);
        looked++;
    }
    if (needed == 0 && *without < looked) {
        out->size = before;
        *without = 0;
    }
    return *without > 0 && *without == looked;
}

/* What is in event files is known when they were read. */
static bool explain_no_timeline(const assay_trial *trial, assay_buf *out)
{
    /* Traces and dumps have rules of their own. */
    if (assay_event_files_kinds(&trial->catalog->events) & ~(unsigned)ASSAY_EVENTS_OF_RANKS)
        return false;
    begin_sentence(out);
    put_plain(out, "the trial holds no profiler data: neither system metrics nor timelines were recorded.");
    return true;
}

static bool explain_no_traces(const assay_trial *trial, assay_buf *out)
{
    if (assay_event_files_kinds(&trial->catalog->events) & 1u << ASSAY_EVENTS_TRACE)
        return false;
    begin_sentence(out);
    put_plain(out, "the trial holds no traces of its ranks (torch.profiler).");
    return true;
}

static bool explain_no_dumps(const assay_trial *trial, assay_buf *out)
{
    if (assay_event_files_kinds(&trial->catalog->events) & 1u << ASSAY_EVENTS_DUMP)
        return false;
    begin_sentence(out);
    put_plain(out, "the trial holds no dumps of flight recorders.");
    return true;
}

/* Is the trial a series of checkpoints? What several ranks saved of one tensor lies in those of one worker once. */
static bool is_one_copy(const assay_trial *trial)
{
    return assay_trial_claims(trial) > 0;
}

/* Order of reasons: no data of that kind at all, no steps, no such worker, no tensor, too few workers; then the
 * rule's own. */
bool assay_no_data_explain(const assay_rule *rule, const assay_instance *instance, assay_buf *out)
{
    const assay_need *need = instance->need;
    uint32_t without = 0;
    unsigned modes = 0;
    if (need && rule->ops->traits & ASSAY_RULE_TRACES)
        return explain_no_traces(rule->trial, out);
    if (need && rule->ops->traits & ASSAY_RULE_DUMPS)
        return explain_no_dumps(rule->trial, out);
    if (need && rule->ops->traits & ASSAY_RULE_TIMELINE)
        return explain_no_timeline(rule->trial, out);
    if (!need || explain_steps(rule, out) || explain_worker(instance, rule->trial, out))
        return true;
    bool none = explain_slots(need, rule->trial, &without, &modes, out);
    if (!none && compares_workers(need) && assay_trial_workers(rule->trial) < 2) {
        start_sentence(out, is_one_copy(rule->trial)
                                ? "the rule compares workers, and the checkpoints have one copy of everything."
                                : "the rule compares workers, and one alone recorded.");
        return true;
    }
    /* `size` tells whether the rule was built with a table that has `reason`. */
    if (without == 0 && rule->ops->size > offsetof(assay_rule_ops, reason) && rule->ops->reason)
        return rule->ops->reason(rule, modes, out);
    return none;
}

/* Nothing rules the data out: then at least what was looked at is told. */
void assay_no_data_describe(const assay_rule *rule, const assay_instance *instance, assay_buf *out)
{
    const assay_need *need = instance->need;
    slot_view most = {.first = ASSAY_NO_TENSOR};
    for (uint32_t s = 0; need && s < need->slot_count; s++) {
        slot_view v = look_at_slot(&need->slots[s], rule->trial);
        most = v.matched > most.matched ? v : most;
    }
    uint64_t steps = assay_trial_steps(rule->trial);
    begin_sentence(out);
    if (most.matched > 0) {
        assay_put_format(out, "%" PRIu32 " tensor%s match%s, such as ", most.matched, assay_plural(most.matched),
                         most.matched == 1 ? "es" : "");
        put_plain(out, assay_trial_tensor(rule->trial, most.first));
        put_plain(out, ", in a trial of ");
    } else {
        put_plain(out, "of the trial's ");
    }
    assay_put_format(out, "%" PRIu64 " step%s; none had values that the rule could test.", steps, assay_plural(steps));
}
