/* first_cause_text.c - see first_cause.h: writes the first cause. */
#include "parts/first_cause_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { TEXT_ROOM = 1 << 16 };

static void put_plain(assay_buf *out, const char *text)
{
    assay_put_bytes(out, text, strlen(text));
}

static const char *tensor_name(const cause *c)
{
    return assay_trial_tensor(c->rule->trial, c->onset[0]->tensor);
}

/* Finds the bytes of a tensor's name that name its layer: without "gradient/" before, and what the layer's tensor is
 * behind. *name may move on. */
static size_t layer_of(const char **name)
{
    static const char *const tails[] = {".weight", ".bias", "_input_", "_output_", ":"};
    if (strncmp(*name, "gradient", 8) == 0 && strchr(*name, '/'))
        *name = strchr(*name, '/') + 1;
    size_t length = strlen(*name);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const char *at = strstr(*name, tails[i]);
        if (at && at > *name && (size_t)(at - *name) < length)
            length = (size_t)(at - *name);
    }
    return length;
}

static const char *kind_name(const cause *c)
{
    switch (c->onset[0]->kind) {
    case FIRST_CAUSE_INF:
        return "Inf";
    case FIRST_CAUSE_NAN | FIRST_CAUSE_INF:
        return "NaN and Inf";
    default:
        return "NaN";
    }
}

/* "worker_1 and worker_2", or how many they are. */
static void put_new_workers(const cause *c, const stage *t, assay_buf *out)
{
    if (t->to - t->from > NAMES_MOST) {
        assay_put_format(out, "%" PRIu32 " more workers", t->to - t->from);
        return;
    }
    for (uint32_t w = t->from; w < t->to; w++) {
        put_plain(out, w == t->from ? "" : w + 1 == t->to ? " and " : ", ");
        put_plain(out, assay_trial_worker(c->rule->trial, c->arrival[w]));
    }
}

static bool names_workers(const cause *c)
{
    return !c->pooled && assay_trial_expected_workers(c->rule->trial) > 1;
}

/* Counts how many workers had the first bad tensor bad at the first bad step: their onsets come first. */
static uint32_t count_holders(const cause *c)
{
    uint32_t n = 0;
    while (n < c->count && c->onset[n]->tensor == c->onset[0]->tensor && c->onset[n]->first_bad == c->step)
        n++;
    return n;
}

/* "worker_2"; where several workers have the copy together, "the copy of worker_0 and worker_1": any of them may be the
 * one. */
static void put_holder(const cause *c, uint32_t worker, assay_buf *out)
{
    const assay_trial *trial = c->rule->trial;
    const uint32_t tensor = c->onset[0]->tensor, workers = assay_trial_workers(trial);
    const assay_relation own = assay_trial_relation(trial, tensor, worker);
    uint32_t count = 0, named = 0;
    for (uint32_t w = 0; w < workers && own.split; w++)
        count += assay_trial_relation(trial, tensor, w).copy == own.copy;
    if (count <= 1 || count > NAMES_MOST) {
        put_plain(out, count > 1 ? "the copy of " : "");
        put_plain(out, assay_trial_worker(trial, worker));
        if (count > 1)
            assay_put_format(out, " and %" PRIu32 " more", count - 1);
        return;
    }
    put_plain(out, "the copy of ");
    for (uint32_t w = 0; w < workers; w++)
        if (assay_trial_relation(trial, tensor, w).copy == own.copy) {
            put_plain(out, named == 0 ? "" : named + 1 == count ? " and " : ", ");
            put_plain(out, assay_trial_worker(trial, w));
            named++;
        }
}

/* Those who held it: "worker_2", "worker_0 and worker_3", "all 4 workers". */
static void put_who(const cause *c, assay_buf *out)
{
    uint32_t workers = assay_trial_workers(c->rule->trial), n = count_holders(c);
    if (n > 1 && (n == workers || n > NAMES_MOST)) {
        assay_put_format(out, "%s%" PRIu32 "%s workers", n == workers ? "all " : "", n,
                         n == workers && c->silent_workers > 0 ? " recorded" : "");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        put_plain(out, i == 0 ? "" : i + 1 == n ? " and " : ", ");
        put_holder(c, c->onset[i]->worker, out);
    }
}

/* " at step 33", " at EVAL step 2 (step 152 of the trial)" where the mode counts otherwise. */
static void put_step(const cause *c, int64_t number, assay_buf *out)
{
    if (c->info && c->info->mode_step != number && c->info->mode > ASSAY_MODE_NONE && c->info->mode < ASSAY_MODE_GLOBAL)
        assay_put_format(out, " at %s step %" PRId64 " (step %" PRId64 " of the trial)", assay_mode_name(c->info->mode),
                         c->info->mode_step, number);
    else
        assay_put_format(out, " at step %" PRId64, number);
}

/* " at TRAIN step 460", " in one of TRAIN steps 451 to 460" */
static void put_logged_when(const cause *c, const assay_step_info *good, assay_buf *out)
{
    const char *mode =
        c->info->mode > ASSAY_MODE_NONE && c->info->mode < ASSAY_MODE_GLOBAL ? assay_mode_name(c->info->mode) : "";
    const int64_t last = c->info->mode_step, first = good && good->mode == c->info->mode ? good->mode_step + 1 : last;
    assay_put_format(out, first < last ? " in one of %s%sstep" : " at %s%sstep", mode, *mode ? " " : "");
    if (first < last)
        assay_put_format(out, "s %" PRId64 " to %" PRId64, first, last);
    else
        assay_put_format(out, " %" PRId64, last);
}

static bool counts_modes(const assay_step_info *info)
{
    return info && info->mode > ASSAY_MODE_NONE && info->mode < ASSAY_MODE_GLOBAL;
}

/* " between steps 11 and 15"; " between TRAIN steps 51 and 60 (step 61 of the trial)" where the mode counts otherwise. */
static void put_between(const cause *c, const assay_step_info *good, assay_buf *out)
{
    if (counts_modes(c->info) && good && good->mode == c->info->mode && c->info->mode_step != c->step &&
        good->mode_step + 1 < c->info->mode_step)
        assay_put_format(out, " between %s steps %" PRId64 " and %" PRId64 " (step %" PRId64 " of the trial)",
                         assay_mode_name(c->info->mode), good->mode_step + 1, c->info->mode_step, c->step);
    else
        assay_put_format(out, " between steps %" PRId64 " and %" PRId64, c->last_good + 1, c->step);
}

/* " at step 33", or the steps between which it began. */
static void put_when(const cause *c, assay_buf *out)
{
    const assay_step_info *good = assay_trial_step(c->rule->trial, assay_trial_find_step(c->rule->trial, c->last_good));
    if (assay_trial_logged(c->rule->trial, c->onset[0]->tensor) && c->info) /* known by the log's own numbers alone */
        put_logged_when(c, good, out);
    else if (c->gap && c->last_good != ASSAY_NO_STEP)
        put_between(c, good, out);
    else if (c->gap)
        assay_put_format(out, " by step %" PRId64 ", the first that was recorded", c->step);
    else
        put_step(c, c->step, out);
}

static void put_of_whom(const cause *c, assay_buf *out)
{
    if (!names_workers(c))
        return;
    put_plain(out, " of ");
    put_who(c, out);
}

/* The order of two tensors is that of their phases, so one tensor of the pass is enough to tell. */
static bool comes_before_pass(const cause *c)
{
    assay_role role = assay_trial_role(c->rule->trial, c->onset[0]->tensor);
    for (uint32_t t = 0; role == ASSAY_ROLE_WEIGHT && t < assay_trial_tensors(c->rule->trial); t++) {
        assay_role other = assay_trial_role(c->rule->trial, t);
        if (other == ASSAY_ROLE_ACTIVATION || other == ASSAY_ROLE_LOSS || other == ASSAY_ROLE_GRADIENT)
            return assay_trial_order(c->rule->trial, t) > assay_trial_order(c->rule->trial, c->onset[0]->tensor);
    }
    return role == ASSAY_ROLE_WEIGHT;
}

/* How many weights were bad at the first bad step, and how many there are. */
static uint32_t bad_weights(const cause *c, uint32_t *all)
{
    const assay_trial *trial = c->rule->trial;
    uint32_t bad = 0, last = ASSAY_NO_TENSOR;
    *all = 0;
    for (uint32_t t = 0; t < assay_trial_tensors(trial); t++)
        *all += assay_trial_role(trial, t) == ASSAY_ROLE_WEIGHT;
    for (uint32_t i = 0; i < c->count; i++) { /* those of one tensor follow each other */
        const assay_onset *o = c->onset[i];
        bad += o->first_bad == c->step && o->tensor != last && assay_trial_role(trial, o->tensor) == ASSAY_ROLE_WEIGHT;
        last = o->first_bad == c->step ? o->tensor : last;
    }
    return bad;
}

/* Names the weight that an update made so. Behind steps that were not saved several are: which was the first is not
 * known. */
static void put_updated(const cause *c, assay_buf *out)
{
    uint32_t all, bad = c->gap || c->by_loss ? bad_weights(c, &all) : 1;
    if (bad <= 1)
        put_plain(out, tensor_name(c));
    else if (bad >= all)
        assay_put_format(out, "all %" PRIu32 " weights", all);
    else
        assay_put_format(out, "%" PRIu32 " of %" PRIu32 " weights", bad, all);
}

/* Writes what happened, in words that say no more than is known: "worker_2 fed NaN", "act2_output_0 of worker_3
 * overflowed to Inf", "the update before it made fc1.weight NaN". */
static void put_event(const cause *c, assay_buf *out)
{
    assay_role role = assay_trial_role(c->rule->trial, c->onset[0]->tensor);
    bool data = role == ASSAY_ROLE_INPUT || role == ASSAY_ROLE_LABEL;
    if (!c->became && data) {
        if (names_workers(c))
            put_who(c, out);
        else
            put_plain(out, c->info && c->info->mode == ASSAY_MODE_EVAL ? "the evaluation" : "the training");
        assay_put_format(out, names_workers(c) ? " fed %s" : " was fed %s", kind_name(c));
        if (names_workers(c) && c->info && c->info->mode == ASSAY_MODE_EVAL)
            put_plain(out, " to the evaluation");
        put_plain(out, role == ASSAY_ROLE_LABEL ? " labels" : "");
    } else if (!c->became && comes_before_pass(c) && c->step == 0) {
        put_plain(out, tensor_name(c)); /* no update comes before the first step */
        put_of_whom(c, out);
        assay_put_format(out, " began as %s", kind_name(c));
    } else if (!c->became && comes_before_pass(c)) {
        if (c->gap)
            put_plain(out, "an update made ");
        else
            assay_put_format(out, "the update before step %" PRId64 " made ", c->step);
        put_updated(c, out);
        put_of_whom(c, out);
        assay_put_format(out, " %s", kind_name(c));
    } else if (!c->became && role == ASSAY_ROLE_WEIGHT) {
        put_plain(out, "the update made ");
        put_plain(out, tensor_name(c));
        put_of_whom(c, out);
        assay_put_format(out, " %s", kind_name(c));
    } else if (!c->became && c->before != ASSAY_NO_TENSOR) {
        assay_put_format(out, "%s came between ", kind_name(c));
        put_plain(out, assay_trial_tensor(c->rule->trial, c->before));
        put_plain(out, " (finite) and ");
        put_plain(out, tensor_name(c));
        put_of_whom(c, out);
    } else if (c->unseen) {
        assay_put_format(out, "%s was first recorded in ", kind_name(c));
        put_plain(out, tensor_name(c));
        put_of_whom(c, out);
    } else {
        put_plain(out, tensor_name(c));
        put_of_whom(c, out);
        assay_put_format(out, " %s",
                         c->became                              ? c->became
                         : c->onset[0]->kind == FIRST_CAUSE_INF ? "overflowed to Inf"
                                                                : "became NaN");
    }
}

/* Writes "worker_2 fed NaN at step 33; all workers by step 34". */
static void put_sentence(const cause *c, assay_buf *out)
{
    uint32_t workers = assay_trial_workers(c->rule->trial);
    put_event(c, out);
    if (c->gap || c->became || !comes_before_pass(c))
        put_when(c, out);
    for (uint32_t i = 0; i < c->stages && workers > 1 && !c->pooled; i++) {
        const stage *t = &c->stage[i];
        if (i == 0 ? t->to <= count_holders(c) : t->to == t->from)
            continue;
        put_plain(out, "; ");
        if (t->workers == workers)
            put_plain(out, c->silent_workers > 0 ? "all recorded workers" : "all workers");
        else if (i == 0)
            assay_put_format(out, "%" PRIu32 " of %" PRIu32 " workers", t->workers, workers);
        else
            put_new_workers(c, t, out);
        assay_put_format(out, " by step %" PRId64, t->step);
    }
}

static void put_operands(const cause *c, assay_buf *out)
{
    put_plain(out, " ");
    assay_put_shell_word(out, assay_trial_path(c->rule->trial));
    put_plain(out, " ");
    assay_put_shell_word(out, tensor_name(c));
}

/* The command is to be pasted into a shell: names are strangers' and are quoted. */
static void put_command(const cause *c, assay_buf *out)
{
    bool first = tensor_name(c)[0] != '-' && assay_trial_path(c->rule->trial)[0] != '-';
    put_plain(out, "assay show");
    if (first)
        put_operands(c, out);
    assay_put_format(out, " --step %" PRId64, c->step);
    if (c->worker != ASSAY_ALL_WORKERS) {
        put_plain(out, " --worker ");
        assay_put_shell_word(out, assay_trial_worker(c->rule->trial, c->worker));
    }
    if (!first) { /* they would be taken for options */
        put_plain(out, " --");
        put_operands(c, out);
    }
}

/* Writes a hook's configuration file that records the steps in which it began, of all workers. Numbers are the mode's
 * own, as hooks count them. */
static void put_configuration(const cause *c, assay_buf *out)
{
    static const char *const modes[ASSAY_MODES] = {"", "train.", "eval.", "predict.", ""};
    int mode = c->info ? c->info->mode : ASSAY_MODE_NONE;
    const assay_step_info *good = assay_trial_step(c->rule->trial, assay_trial_find_step(c->rule->trial, c->last_good));
    int64_t last = c->info && mode != ASSAY_MODE_GLOBAL ? c->info->mode_step : c->step, first = 0;
    bool update = strcmp(first_cause_phase(c), "update") == 0;
    if (!c->gap) /* an update is made of what the step before it computed */
        first = update && last > 0 ? last - 1 : last;
    else if (good && good->mode == mode)
        first = (mode != ASSAY_MODE_GLOBAL ? good->mode_step : c->last_good) + 1;
    assay_put_format(
        out,
        "{\"HookParameters\": {\"save_all\": \"true\", \"include_workers\": \"all\", \"%ssave_interval\": \"1\", "
        "\"%sstart_step\": \"%" PRId64 "\", \"%send_step\": \"%" PRId64 "\"}}",
        modes[mode], modes[mode], first, modes[mode], last + 1);
}

static void put_json_text(const cause *c, void (*put)(const cause *, assay_buf *), assay_buf *out)
{
    assay_buf text = ASSAY_BUF(TEXT_ROOM);
    put(c, &text);
    assay_json_put_text_n(out, text.data ? (const char *)text.data : "", text.size);
    assay_buf_release(&text);
}

static void put_stages(const cause *c, assay_buf *out)
{
    uint32_t workers = assay_trial_workers(c->rule->trial);
    for (uint32_t i = 0; i < c->stages; i++) {
        const stage *t = &c->stage[i];
        assay_put_format(out,
                         "%s{\"step\": %" PRId64 ", \"tensors\": %" PRIu64 ", \"workers\": %" PRIu32
                         ", \"all_workers\": %s, \"new_workers\": [",
                         i ? ", " : "", t->step, t->tensors, t->workers,
                         (t->workers == workers && c->silent_workers == 0) || c->pooled ? "true" : "false");
        for (uint32_t w = t->from; w < t->to; w++) {
            put_plain(out, w > t->from ? ", " : "");
            assay_json_put_text(out, assay_trial_worker(c->rule->trial, c->arrival[w]));
        }
        put_plain(out, "]}");
    }
}

/* Puts everyone who was bad at the first bad step, and the first bad tensor of each. */
static void put_bad_workers(const cause *c, assay_buf *out)
{
    for (uint32_t i = 0; i < c->bad_workers; i++) {
        put_plain(out, i ? ", " : "");
        put_plain(out, "{\"worker\": ");
        assay_json_put_text(out, assay_trial_worker(c->rule->trial, c->arrival[i]));
        put_plain(out, ", \"tensor\": ");
        assay_json_put_text(out, assay_trial_tensor(c->rule->trial, c->first[i]->tensor));
        put_plain(out, "}");
    }
}

static void put_element(const cause *c, assay_buf *out)
{
    put_plain(out, ", \"element\": ");
    if (c->onset[0]->detail[0] >= 0) {
        assay_put_format(out, "%.0f, \"value\": ", c->onset[0]->detail[0]);
        assay_json_put_number(out, c->onset[0]->detail[1]);
    } else {
        put_plain(out, "null");
    }
}

/* Members without braces, behind what the rule has put already. */
void first_cause_put_json(const cause *c, assay_buf *out)
{
    const char *name = tensor_name(c), *layer = name;
    size_t length = layer_of(&layer);
    bool certain = first_cause_is_certain(c);
    assay_put_format(out,
                     "%s\"first_cause\": {\"step\": %" PRId64 ", \"mode\": \"%s\", \"mode_step\": %" PRId64
                     ", \"phase\": \"%s\", \"layer\": ",
                     out->size ? ", " : "", c->step, assay_mode_name(c->info ? c->info->mode : ASSAY_MODE_NONE),
                     c->info ? c->info->mode_step : -1, first_cause_phase(c));
    assay_json_put_text_n(out, layer, length);
    put_plain(out, ", \"tensor\": ");
    assay_json_put_text(out, name);
    put_plain(out, ", \"worker\": ");
    if (c->worker != ASSAY_ALL_WORKERS || c->pooled)
        assay_json_put_text(out, c->pooled ? "*" : assay_trial_worker(c->rule->trial, c->worker));
    else
        put_plain(out, "null");
    assay_put_format(out, ", \"certain\": %s, \"last_good_step\": ", certain ? "true" : "false");
    if (c->last_good == ASSAY_NO_STEP)
        put_plain(out, "null");
    else
        assay_put_format(out, "%" PRId64, c->last_good);
    put_element(c, out);
    put_plain(out, ",\n     \"text\": ");
    put_json_text(c, put_sentence, out);
    put_plain(out, ",\n     \"workers\": [");
    put_bad_workers(c, out);
    put_plain(out, "],\n     \"spread\": [");
    put_stages(c, out);
    put_plain(out, "],\n     \"show\": ");
    put_json_text(c, put_command, out);
    if (!certain) {
        put_plain(out, ",\n     \"record\": ");
        put_json_text(c, put_configuration, out);
    }
    put_plain(out, "}");
}

/* Writes what keeps the records from proving more, a line each. */
static void put_doubts(const cause *c, assay_buf *out)
{
    if (c->gap && c->last_good != ASSAY_NO_STEP)
        assay_put_format(out,
                         "Not certain: the last good step is %" PRId64 "; those up to %" PRId64 " were not recorded.\n",
                         c->last_good, c->step);
    else if (c->gap)
        put_plain(out, "Not certain: nothing was recorded before.\n");
    if (c->by_loss)
        assay_put_format(out, "Not certain: at step %" PRId64 " the weights were not recorded; the loss was finite.\n",
                         c->last_good);
    if (!c->pooled && c->worker == ASSAY_ALL_WORKERS && c->bad_workers > 1) {
        put_plain(out, "No worker can be named: bad at the same step are");
        for (uint32_t i = 0; i < c->bad_workers && i < NAMES_MOST; i++) {
            put_plain(out, i ? ", " : " ");
            put_plain(out, assay_trial_worker(c->rule->trial, c->arrival[i]));
            put_plain(out, " (");
            put_plain(out, assay_trial_tensor(c->rule->trial, c->first[i]->tensor));
            put_plain(out, ")");
        }
        if (c->bad_workers > NAMES_MOST)
            assay_put_format(out, " and %" PRIu32 " more", c->bad_workers - NAMES_MOST);
        put_plain(out, ".\n");
    }
    if (c->silent_workers > 0)
        assay_put_format(out, "Not certain: %" PRIu32 " of %" PRIu32 " workers recorded nothing%s.\n",
                         c->silent_workers, assay_trial_run_workers(c->rule->trial),
                         c->worker == ASSAY_ALL_WORKERS ? ", and it may have come from one of them" : "");
    if (c->before != ASSAY_NO_TENSOR)
        put_plain(out, "Not certain: the operations between those two were not recorded.\n");
    if (c->unseen)
        put_plain(out, "Not certain: nothing that it was computed of was recorded.\n");
    if (c->unrecorded > 0) {
        assay_put_format(
            out, "Not certain: %" PRIu32 " tensor%s computed before %s not recorded at every such step, such as ",
            c->unrecorded, assay_plural(c->unrecorded), c->unrecorded == 1 ? "was" : "were");
        put_plain(out, assay_trial_tensor(c->rule->trial, c->unrecorded_tensor));
        put_plain(out, ".\n");
    }
}

static void put_place(const cause *c, assay_buf *out)
{
    const assay_onset *first = c->onset[0];
    const char *phase = first_cause_phase(c);
    put_plain(out, "First bad record: ");
    put_plain(out, tensor_name(c));
    assay_put_format(out, " (%s%s)\nAt step %" PRId64, phase,
                     strcmp(phase, "forward") == 0 || strcmp(phase, "backward") == 0 ? " pass" : "", c->step);
    if (first->detail[0] >= 0) {
        const char *sign = first->detail[1] < 0 ? "-" : "";
        assay_put_format(out, ", element %.0f (%s%s)", first->detail[0], sign, isnan(first->detail[1]) ? "nan" : "inf");
    }
    const stage *last = &c->stage[c->stages - 1];
    if (last->tensors > 1)
        assay_put_format(out, "; %" PRIu64 " tensors bad by step %" PRId64, last->tensors, last->step);
    put_plain(out, "\n");
}

void first_cause_put_text(const cause *c, assay_buf *out)
{
    put_plain(out, "First cause: ");
    put_sentence(c, out);
    put_plain(out, "\n");
    put_place(c, out);
    put_doubts(c, out);
    put_plain(out, "To see it: ");
    put_command(c, out);
    put_plain(out, "\n");
    if (!first_cause_is_certain(c)) {
        put_plain(out, "To record how it begins: write this into a file, and start with ASSAY_HOOK_CONFIG=FILE:\n  ");
        put_configuration(c, out);
        put_plain(out, "\n");
    }
}
