/* embedding_rows.c - EmbeddingRows: rows of a table of codes that are fed and never change. docs/rules/EmbeddingRows.md.
 *
 * A row, an index of axis 0, is known by its digest. Three TRAIN steps are looked at, the first, the last and one
 * between: a row whose digest is the same at all of them never changed. It counts as fed
 * when its number was FED times or more among the codes of the TRAIN steps before the last. Codes are the whole numbers
 * that the table's own module was given, else those of the model's inputs, where there is one table. A weight that its
 * name does not tell is a table where its own module was given whole numbers. Fires when of the
 * fed rows LEAST or more, and more than `share` of them, never changed, while LEAST or more did. One that stands still
 * is the row of what fills sequences up. Of a table the first ROWS_KEPT rows are looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "counted.h"
#include "selection.h"

enum { TABLES, OTHERS, CODES };
enum { LOOKS = 3, FED = 3, LEAST = 2, NAMED = 6, ROWS_KEPT = 1 << 12, NOTE_ROOM = 160 };

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("embedding_regex",
                      "(?i)^(?!gradient|optimizer)(?!.*(pos|wpe|type|segment)).*(emb|wte|tok|vocab|word).*weight$",
                      "Patterns (re.search) for names of tables of codes."),
    ASSAY_REGEX_PARAM("codes_regex", "(^|/)inputs?$,^(?!.*[Ll]oss).*_input_\\d+$",
                      "Patterns (re.search) for names of what is fed; whole numbers count."),
    {.name = "share",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.05",
     .least = 0,
     .most = 1,
     .help = "The rule fires when more than this share of the rows that are fed never changes."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    const assay_measure rows = {.kind = ASSAY_MEASURE_ROWS},
                        codes = {.kind = ASSAY_MEASURE_CLASSES, .form = ASSAY_CLASS_CODES};
    assay_slot tables = {.regexes = "embedding_regex",
                         .modes = 1u << ASSAY_MODE_TRAIN,
                         .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_SPREAD,
                         .first_steps = LOOKS};
    int slot = assay_need_slot(need, &tables, err);
    int status = slot < 0 ? slot : assay_need_measure(need, slot, &rows, err);
    if (status < 0)
        return status;
    tables.regexes = NULL;
    tables.pattern = "(?i)^(?!gradient|optimizer|state/)(?!.*(pos|wpe|type|segment)).*[./]weight$";
    slot = assay_need_slot(need, &tables, err);
    status = slot < 0 ? slot : assay_need_measure(need, slot, &rows, err);
    if (status < 0)
        return status;
    slot = assay_need_slot(
        need, &(assay_slot){.regexes = "codes_regex", .modes = 1u << ASSAY_MODE_TRAIN, .flags = ASSAY_SLOT_NO_STRINGS},
        err);
    status = slot < 0 ? slot : assay_need_measure(need, slot, &codes, err);
    return status < 0 ? status : ASSAY_OK;
}

/* Keys of the counter: rows are (key of table and row, digest), codes (minus that of the tensor that feeds them, 0),
 * tables that their names tell (the least numbers, 0). */
static int64_t key_of(uint32_t tensor, uint64_t number)
{
    return (int64_t)tensor << 32 | (int64_t)number;
}

static int64_t named_key(uint32_t tensor)
{
    return INT64_MIN + (int64_t)tensor;
}

static int add_table(const assay_step_view *view, int slot, const assay_tensor_view *item, assay_counter *counter)
{
    const assay_result *result = assay_view_result(view, slot, item);
    int status = ASSAY_OK;
    if (!result || item->dims != 2 || item->worker != 0 || !assay_dtype_is_float(item->dtype))
        return ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < result->of.rows.count && i < ROWS_KEPT; i++)
        status = assay_counter_add(counter, key_of(item->tensor, i), (int64_t)(result->of.rows.digest[i] >> 1), 1);
    return status;
}

static bool is_last(const assay_trial *trial, int64_t step)
{
    const uint64_t at = assay_trial_find_step(trial, step);
    return assay_trial_mode_rank(trial, at) + 1 == assay_trial_mode_steps(trial, ASSAY_MODE_TRAIN);
}

static int add_codes(const assay_step_view *view, const assay_tensor_view *item, assay_counter *counter)
{
    const assay_result *result = assay_view_result(view, CODES, item);
    uint64_t times[ROWS_KEPT] = {0};
    int status = ASSAY_OK;
    for (uint64_t i = 0; result && i < result->of.classes.count; i++) {
        const int64_t code = result->of.classes.value[i];
        if (code >= 0 && code < ROWS_KEPT)
            times[code]++;
    }
    for (uint64_t i = 0; result && status == ASSAY_OK && i < ROWS_KEPT; i++)
        status = assay_counter_add(counter, -1 - key_of(item->tensor, i), 0, times[i]);
    return status;
}

/* Is "PATH_input_0" what the module of "ROOT_PATH.weight" was given? */
static bool feeds(const char *codes, const char *table)
{
    const char *end = strstr(codes, "_input_"), *dot = strrchr(table, '.');
    const size_t size = end ? (size_t)(end - codes) : 0, room = dot ? (size_t)(dot - table) : 0;
    if (size == 0 || size > room || memcmp(dot - size, codes, size) != 0)
        return false;
    return size == room || strchr("_./", dot[-(ptrdiff_t)size - 1]) != NULL;
}

/* Is a weight, which its name does not tell, a table: is its module given whole numbers at that step? */
static bool is_fed_codes(const assay_step_view *view, const assay_tensor_view *item)
{
    bool fed = false;
    for (uint32_t i = 0; i < view->slot[TABLES].count; i++)
        if (view->slot[TABLES].items[i]->tensor == item->tensor)
            return false;
    for (uint32_t i = 0; !fed && i < view->slot[CODES].count; i++)
        fed = view->slot[CODES].items[i]->worker == item->worker &&
              feeds(view->slot[CODES].items[i]->name, item->name) &&
              assay_view_result(view, CODES, view->slot[CODES].items[i]) != NULL;
    return fed;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_counter *counter = ((assay_common_state *)state)->counter;
    int status = ASSAY_OK;
    for (int slot = TABLES; slot <= OTHERS; slot++)
        for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[slot].count; i++) {
            const assay_tensor_view *item = view->slot[slot].items[i];
            if (!assay_view_has_values(item) || (slot == OTHERS && !is_fed_codes(view, item)))
                continue;
            status = add_table(view, slot, item, counter);
            if (status == ASSAY_OK && slot == TABLES)
                status = assay_counter_add(counter, named_key(item->tensor), 0, 1);
        }
    for (uint32_t i = 0; !is_last(rule->trial, view->step) && status == ASSAY_OK && i < view->slot[CODES].count; i++)
        if (assay_view_has_values(view->slot[CODES].items[i]))
            status = add_codes(view, view->slot[CODES].items[i], counter);
    return status;
}

static uint64_t times_fed(const assay_counter *counter, uint32_t codes, uint64_t row)
{
    const int64_t key = -1 - key_of(codes, row);
    const uint64_t at = counted_not_before(counter, key, INT64_MIN);
    int64_t a = 0, b;
    uint64_t count = 0;
    if (at < assay_counter_size(counter))
        assay_counter_get(counter, at, &a, &b, &count);
    return at < assay_counter_size(counter) && a == key ? count : 0;
}

static bool has_codes(const assay_counter *counter, uint32_t tensor)
{
    const uint64_t at = counted_not_before(counter, -1 - key_of(tensor, UINT32_MAX >> 1), INT64_MIN);
    int64_t a = 0, b;
    uint64_t count;
    if (at < assay_counter_size(counter))
        assay_counter_get(counter, at, &a, &b, &count);
    return at < assay_counter_size(counter) && a <= -1 - key_of(tensor, 0);
}

static bool is_told_by_name(const assay_counter *counter, uint32_t table)
{
    const uint64_t at = counted_not_before(counter, named_key(table), INT64_MIN);
    int64_t a = 0, b;
    uint64_t count;
    if (at < assay_counter_size(counter))
        assay_counter_get(counter, at, &a, &b, &count);
    return at < assay_counter_size(counter) && a == named_key(table);
}

/* The tensor that has the codes of a table; ASSAY_NO_TENSOR: it is not known. */
static uint32_t codes_of(const assay_trial *trial, const assay_counter *counter, uint32_t table, bool alone)
{
    uint32_t inputs = ASSAY_NO_TENSOR;
    for (uint32_t t = 0; t < assay_trial_tensors(trial); t++) {
        const char *name = assay_trial_tensor(trial, t);
        const bool own = feeds(name, assay_trial_tensor(trial, table)),
                   whole = alone && inputs == ASSAY_NO_TENSOR && assay_trial_role(trial, t) == ASSAY_ROLE_INPUT;
        if ((!own && !whole) || !has_codes(counter, t))
            continue;
        if (own)
            return t;
        inputs = t;
    }
    return inputs;
}

typedef struct tally {
    uint64_t still, moved, rows;
    char note[NOTE_ROOM];
} tally;

/* Takes the pairs of one table from pair i on; returns where those of the next begin. */
static uint64_t count_table(const assay_counter *counter, uint64_t i, uint32_t codes, tally *t)
{
    const uint64_t size = assay_counter_size(counter);
    int64_t key, same, digest;
    uint64_t count;
    size_t used = 0;
    assay_counter_get(counter, i, &key, &digest, &count);
    const int64_t table = key >> 32;
    while (i < size) {
        uint64_t kinds = 0, looks = 0;
        assay_counter_get(counter, i, &key, &digest, &count);
        if (key >> 32 != table)
            break;
        for (; i < size; i++) {
            assay_counter_get(counter, i, &same, &digest, &count);
            if (same != key)
                break;
            kinds++;
            looks += count;
        }
        const uint64_t row = (uint64_t)(key & UINT32_MAX);
        t->rows++;
        if (codes == ASSAY_NO_TENSOR || times_fed(counter, codes, row) < FED)
            continue;
        t->moved += kinds > 1;
        if (kinds == 1 && looks > 1 && t->still++ < NAMED)
            used += (size_t)snprintf(t->note + used, NOTE_ROOM - used, "%s%" PRIu64, used ? ", " : "rows ", row);
    }
    if (t->still > 0)
        snprintf(t->note + used, NOTE_ROOM - used, "%s of %" PRIu64, t->still > NAMED ? " and others" : "", t->rows);
    return i;
}

static int64_t first_train_step(const assay_trial *trial)
{
    for (uint64_t i = 0; i < assay_trial_steps(trial); i++)
        if (assay_trial_step(trial, i)->mode == ASSAY_MODE_TRAIN)
            return assay_trial_step(trial, i)->step;
    return 0;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_counter *counter = ((const assay_common_state *)state)->counter;
    const double share = assay_param_real(rule->params, "share");
    const uint64_t size = assay_counter_size(counter), begin = counted_not_before(counter, 0, INT64_MIN);
    int status = ASSAY_OK;
    uint32_t tables = 0;
    for (uint64_t i = begin; i < size;) {
        int64_t key, digest;
        uint64_t count;
        assay_counter_get(counter, i, &key, &digest, &count);
        tables += is_told_by_name(counter, (uint32_t)(key >> 32));
        i = count_table(counter, i, ASSAY_NO_TENSOR, &(tally){0});
    }
    for (uint64_t i = begin; status == ASSAY_OK && i < size;) {
        int64_t key, digest;
        uint64_t count;
        tally t = {0};
        assay_counter_get(counter, i, &key, &digest, &count);
        const uint32_t table = (uint32_t)(key >> 32);
        if (table >= assay_trial_tensors(rule->trial)) /* a state that came from elsewhere */
            break;
        const bool alone = tables == 1 && is_told_by_name(counter, table);
        i = count_table(counter, i, codes_of(rule->trial, counter, table, alone), &t);
        if (t.still + t.moved == 0)
            continue;
        const double least = share * (double)(t.still + t.moved);
        const bool found = t.still >= LEAST && t.moved >= LEAST && (double)t.still > least;
        const assay_finding finding = {.step = first_train_step(rule->trial),
                                       .tensor = table,
                                       .worker = 0,
                                       .value = (double)t.still,
                                       .threshold = least,
                                       .note = t.still > 0 ? t.note : NULL};
        status = assay_findings_test(assay_verdict_findings(verdict), found, &finding);
    }
    if (tables > 0)
        assay_put_format(assay_verdict_json(verdict), "\"tables\": %" PRIu32, tables);
    assay_verdict_no_data(verdict, "no table of codes was saved at two TRAIN steps, with the codes that it was fed.");
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

const assay_rule_ops assay_rule_embedding_rows = {
    ASSAY_RULE_HEAD,
    .name = "EmbeddingRows",
    .summary = "Rows of a table of codes that are fed and never change.",
    .advice = "What these codes mean is not learned: their rows are what they were begun with.",
    .remedies = ASSAY_TEXTS(
        "Look for a mask on the gradient of the table, a padding index, or a second table that is read in its place.",
        "Look whether the optimizer has the whole table, and whether updates of sparse gradients reach all rows."),
    .params = params,
    .value_units = ASSAY_TEXTS("row(s) that never changed"),
    .sentences = ASSAY_TEXTS("rows of {tensor}{of} that are fed never changed, from {when} on{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
