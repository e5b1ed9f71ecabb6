/* dead_rows.c - DeadRows: rows of a parameter that no gradient ever reached. docs/rules/DeadRows.md.
 *
 * Per worker: a row, an index of axis 0, is dead when all of its elements of Adam's second moment are 0. Fires when
 * more than a share of the rows is dead; embeddings, of which rare tokens are always dead, have a share of their own.
 * skip_zero leaves out moments of which nothing tells that their training has begun. */
#include "selection.h"

#include <inttypes.h>
#include <stdio.h>

#include <assay/search.h>

enum { EMBEDDING, ROWS };
static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("tensor_regex", "^optimizer/.*/exp_avg_sq$", "Patterns (re.search) for names of second moments."),
    ASSAY_REAL_PARAM("threshold", "0", 0, 100, "The rule fires when more than this percentage of the rows is dead."),
    ASSAY_REGEX_PARAM("embedding_regex", "(?i)embed|wte|wpe|tok|lm_head|output_layer|vocab",
                      "Patterns (re.search) for names of tables of tokens, some of which are rare."),
    ASSAY_REAL_PARAM("embedding_threshold", "50", 0, 100, "The same percentage for those."),
    ASSAY_BOOL_PARAM("skip_zero", "False",
                     "Leave out moments that are all zero: before the first update, and of what is not trained."),
    {0},
};

enum { ALL_SLOT, EMBEDDING_SLOT };

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need, &(assay_slot){.regexes = "tensor_regex", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    int measure =
        slot < 0 ? slot
                 : assay_need_measure(need, slot, &(assay_measure){.kind = ASSAY_MEASURE_CHANNELS, .axis = 0}, err);
    if (measure < 0)
        return measure;
    int tables = assay_need_slot(need, &(assay_slot){.regexes = "embedding_regex", .flags = ASSAY_SLOT_TIME_ONLY}, err);
    return tables < 0 ? tables : ASSAY_OK;
}

/* Is the tensor among those of a slot, which are in order of (tensor, worker)? */
static bool is_in_slot(const assay_slot_view *slot, const assay_tensor_view *item)
{
    uint32_t low = 0;
    ASSAY_SEARCH(low, slot->count, slot->items[low]->tensor < item->tensor);
    return low < slot->count && slot->items[low]->tensor == item->tensor;
}

/* Counts the dead rows, and names the first of them. A sum can cancel and a square can vanish, but not both at once. */
static uint64_t count_dead(const assay_channels *rows, char *note, size_t room)
{
    enum { NAMED = 8 };
    uint64_t dead = 0;
    size_t used = 0;
    note[0] = '\0';
    for (uint64_t i = 0; i < rows->channels; i++) {
        if (rows->sum[i] != 0 || rows->squares[i] != 0)
            continue;
        if (dead < NAMED && used < room) {
            const int more = snprintf(note + used, room - used, "%s%" PRIu64, dead == 0 ? "rows " : ", ", i);
            used += more > 0 ? (size_t)more : 0;
        }
        dead++;
    }
    if (dead > NAMED && used < room)
        snprintf(note + used, room - used, " and others, of %" PRIu64, rows->channels);
    else if (dead > 0 && used < room)
        snprintf(note + used, room - used, " of %" PRIu64, rows->channels);
    return dead;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[ALL_SLOT].count; i++) {
        const assay_tensor_view *item = view->slot[ALL_SLOT].items[i];
        const assay_result *result = assay_view_result(view, 0, item);
        char note[320];
        if (!assay_view_has_values(item) || !result || item->dims < 2)
            continue;
        const assay_channels *rows = &result->of.channels;
        const bool table = is_in_slot(&view->slot[EMBEDDING_SLOT], item);
        const double percent = assay_param_real(rule->params, table ? "embedding_threshold" : "threshold");
        const uint64_t dead = count_dead(rows, note, sizeof note);
        if (dead == rows->channels && assay_param_bool(rule->params, "skip_zero"))
            continue;
        assay_finding finding = finding_of(view, item, (double)dead, percent * (double)rows->channels / 100);
        finding.test = table ? EMBEDDING : ROWS;
        finding.note = dead > 0 ? note : NULL;
        status = assay_findings_test(s->findings, finding.value > finding.threshold, &finding);
    }
    return status;
}

const assay_rule_ops assay_rule_dead_rows = {
    ASSAY_RULE_HEAD,
    .name = "DeadRows",
    .summary = "Rows of parameters that no gradient ever reached, by Adam's second moment.",
    .advice = "Nothing trains these rows: experts without tokens, heads that are not used, token numbers without data.",
    .remedies = ASSAY_TEXTS(
        "Look whether the rows are experts: a router that sends them no token needs a larger balancing loss or noise.",
        "Look whether the rows are detached heads, or token numbers that the data never have.",
        "Leave parameters out of the optimizer that are not to be trained."),
    .params = params,
    .tests = ASSAY_TEXTS([EMBEDDING] = "embedding", [ROWS] = "rows"),
    .value_units = ASSAY_TEXTS("dead row(s)"),
    .sentences = ASSAY_TEXTS([EMBEDDING] = "no gradient had reached rows of {tensor}{of} at {when}",
                             [ROWS] = "no gradient had reached rows of {tensor}{of} at {when}"),
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};
