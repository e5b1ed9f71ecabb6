/* expression_rule.c - the rule "Expression": a condition of the job file, tested at every saved step of the tensors
 * that its first selector selects. docs/expressions.md.
 *
 * Without a look at earlier steps it is a fold: map tests each step and keeps the findings. Otherwise it is a scan: map
 * adds the columns of each step to the series, followed by a mask of those that are present, and finalize walks tensor
 * by tensor. A look back, or for_steps above 1, makes it a scan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "rule/common_state.h"
#include "rule/expression.h"
#include "rule/verdict.h"

static const assay_param_def params[] = {
    {.name = "when",
     .type = ASSAY_PARAM_TEXT,
     .flags = ASSAY_PARAM_REQUIRED,
     .choices = "mean(weights) > 1 or nan(weights) > 0|change(l2(gradients)) >= 0|workers_spread(mean(losses)) > 0.5|"
                "previous(workers_max(abs_max(\"w\"))) < 2 and workers_count(l2(\"w\")) > 1|"
                "update_ratio(/fc/) > 0.1|max(l2(weights), ratio(l1(\"grad/{}\"))) != 0",
     .help = "The condition, such as abs_mean(gradients) < 1e-6; docs/expressions.md has the grammar."},
    {.name = "for_steps",
     .type = ASSAY_PARAM_INT,
     .initial = "1",
     .least = 1,
     .most = 1000000,
     .help = "Consecutive saved steps of a tensor, including this one, at which the condition must hold."},
    {.name = "mode",
     .type = ASSAY_PARAM_CHOICE,
     .choices = "TRAIN|EVAL|PREDICT|GLOBAL",
     .help = "Only steps of this mode; by default all."},
    {0},
};

static void data_free(void *data)
{
    assay_expression_free(data);
}

/* "gradient/{}" as a pattern of whole names: everything but letters, digits and what is no ASCII is protected. */
static int template_pattern(const char *text, assay_buf *out)
{
    assay_put_format(out, "^");
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        bool plain = c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (strncmp(at, "{}", 2) == 0) {
            assay_put_format(out, ".+");
            at++;
        } else {
            assay_put_format(out, plain ? "%c" : "\\%c", c);
        }
    }
    assay_put_bytes(out, "$", 2); /* with the terminator */
    return assay_buf_status(out);
}

static int declare(assay_need *need, uint32_t modes, assay_expression_selector *selector, assay_error *err)
{
    assay_slot slot = {.kinds = selector->kinds, .modes = modes, .flags = ASSAY_SLOT_NO_STRINGS};
    assay_buf pattern = ASSAY_BUF(1 << 16);
    int status = ASSAY_OK;
    if (selector->kind == ASSAY_SELECT_COLLECTION)
        slot.collection = selector->text;
    else if (selector->kind == ASSAY_SELECT_NAME)
        slot.name = selector->text;
    else if (selector->kind == ASSAY_SELECT_TEMPLATE)
        status = template_pattern(selector->text, &pattern);
    if (selector->kind == ASSAY_SELECT_REGEX)
        slot.pattern = selector->text;
    else if (selector->kind == ASSAY_SELECT_TEMPLATE)
        slot.pattern = (const char *)pattern.data;
    assay_error detail = {""};
    int number = status ? status : assay_need_slot(need, &slot, &detail);
    assay_buf_release(&pattern);
    if (number < 0)
        return assay_fail(err, number == ASSAY_ENOMEM ? number : ASSAY_EPARAM, "parameter when: %s", detail.text);
    if (!selector->updates)
        return ASSAY_OK;
    const assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE, .reference = ASSAY_REFERENCE_SAVED_BEFORE, .steps = 1};
    selector->measure = assay_need_measure(need, number, &measure, err);
    return selector->measure < 0 ? selector->measure : ASSAY_OK;
}

/* Does the rule keep rows, and walk them at the end? Asked at setup and at each map(): from the same values, so the
 * answer is one. */
static bool is_scan(const assay_expression *e, const assay_params *given)
{
    return e->looks_back || assay_param_int(given, "for_steps") > 1;
}

static uint32_t width(const assay_expression *e)
{
    return (uint32_t)e->columns + 1;
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    const char *mode = assay_param_text(given, "mode");
    uint32_t modes = mode ? 1u << assay_mode_parse(mode, strlen(mode)) : 0;
    assay_expression *e = NULL;
    int status = assay_expression_compile(assay_param_text(given, "when"), &e, err);
    for (uint8_t i = 0; status == ASSAY_OK && i < e->selectors; i++)
        status = declare(need, modes, &e->selector[i], err);
    if (status == ASSAY_OK && is_scan(e, given))
        status = assay_need_rows(need, 0, &(assay_rows){.width = width(e), .pooled = e->pooled}, err);
    if (status)
        assay_expression_free(e);
    else
        *data = e;
    return status;
}

static void *state_new(const assay_rule *rule)
{
    return assay_common_new_wide(rule, width(rule->data));
}

static int unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    return assay_common_unpack_wide(rule, width(rule->data), in, state, err);
}

/* ---- the figures of a step ---- */

static int order_item(const assay_tensor_view *item, const char *name, uint32_t worker)
{
    const int order = strcmp(item->name, name);
    return order ? order : ASSAY_ORDER(item->worker, worker);
}

/* The tensor called `name` of that worker, in a slot's order of (name, worker); NULL when it was not saved. Slots are
 * sorted by (name, worker), see assay_slot_view. */
static const assay_tensor_view *find_item(const assay_slot_view *slot, const char *name, uint32_t worker)
{
    uint32_t low = 0;
    ASSAY_SEARCH(low, slot->count, order_item(slot->items[low], name, worker) < 0);
    return low < slot->count && order_item(slot->items[low], name, worker) == 0 ? slot->items[low] : NULL;
}

/* The name that a template stands for beside the tensor under test; false when it does not fit. */
static bool fill_template(const char *text, const char *name, char *out, size_t room)
{
    const char *hole = strstr(text, "{}");
    int length = snprintf(out, room, "%.*s%s%s", (int)(hole - text), text, name, hole + 2);
    return length >= 0 && (size_t)length < room;
}

static const assay_tensor_view *select_item(const assay_expression *e, uint8_t selector, const assay_step_view *view,
                                            const assay_tensor_view *tested)
{
    char name[4096];
    const assay_expression_selector *s = &e->selector[selector];
    /* Selector 0 is the slot under test itself. */
    if (selector == 0)
        return tested;
    if (s->kind == ASSAY_SELECT_NAME)
        return find_item(&view->slot[selector], s->text, tested->worker);
    if (!fill_template(s->text, tested->name, name, sizeof name))
        return NULL;
    return find_item(&view->slot[selector], name, tested->worker);
}

/* A figure that is not there makes what needs it false, not 0: `present` says which are. */
static void take_loads(const assay_expression *e, const assay_step_view *view, const assay_tensor_view *tested,
                       assay_expression_figures *out)
{
    out->present = 0;
    for (uint8_t i = 0; i < e->loads; i++) {
        uint8_t selector = e->load[i].selector;
        const assay_tensor_view *item = select_item(e, selector, view, tested);
        const assay_result *change = NULL;
        if (item && e->selector[selector].updates)
            change = assay_view_result(view, e->selector[selector].measure, item);
        if (item && assay_expression_figure(e->load[i].statistic, item, change, &out->value[i]))
            out->present |= 1u << i;
    }
}

typedef struct pooled { /* over the workers so far */
    uint32_t workers;
    double least, most, sum;
} pooled;

static void pool_worker(const assay_expression *e, const assay_expression_figures *loads, pooled *pools)
{
    for (uint8_t i = 0; i < e->pools; i++) {
        assay_expression_answer answer;
        pooled *p = &pools[i];
        if (!assay_expression_run(e, e->pool[i].program, loads, NULL, &answer))
            continue;
        double x = answer.value;
        bool nan = x != x;
        /* NaN wins over all: x < NaN is false for every x, so a NaN that is in `least` stays. */
        p->least = p->workers == 0 || nan || x < p->least ? x : p->least; /* a NaN stays: nothing is less than it */
        p->most = p->workers == 0 || nan || x > p->most ? x : p->most;
        p->sum += x;
        p->workers++;
    }
}

static double pool_value(assay_pool_kind kind, const pooled *p)
{
    switch (kind) {
    case ASSAY_POOL_MIN:
        return p->least;
    case ASSAY_POOL_MAX:
        return p->most;
    case ASSAY_POOL_MEAN:
        return p->sum / p->workers;
    case ASSAY_POOL_SPREAD:
        return p->most - p->least;
    case ASSAY_POOL_COUNT:
    default:
        return p->workers;
    }
}

/* The figures that the condition wants, out of those of one worker and those over the workers. */
static void take_columns(const assay_expression *e, const assay_expression_figures *loads, const pooled *pools,
                         assay_expression_figures *out)
{
    out->present = 0;
    for (uint8_t i = 0; i < e->columns; i++) {
        uint8_t number = e->column[i].number;
        bool there = e->column[i].pool ? pools[number].workers > 0 : loads->present >> number & 1;
        out->value[i] = !there              ? 0
                        : e->column[i].pool ? pool_value(e->pool[number].kind, &pools[number])
                                            : loads->value[number];
        out->present |= (uint32_t)there << i;
    }
}

/* ---- testing ---- */

static int test(assay_findings *findings, bool fired, int64_t step, uint32_t tensor, uint32_t worker,
                const assay_expression_answer *answer)
{
    const assay_finding finding = {
        .step = step, .tensor = tensor, .worker = worker, .value = answer->left, .threshold = answer->right};
    return assay_findings_test(findings, fired, &finding);
}

static int add_row(assay_common_state *s, const assay_step_view *view, uint32_t tensor, uint32_t worker,
                   uint8_t columns, const assay_expression_figures *figures)
{
    double row[ASSAY_EXPRESSION_LOADS + ASSAY_EXPRESSION_POOLS + 1];
    memcpy(row, figures->value, columns * sizeof *row);
    row[columns] = figures->present;
    return assay_series_add(s->series, view->step, tensor, worker, row);
}

/* One worker's tensor, or one tensor over its workers. A saved step without any of the figures, as of an update whose
 * shape is another, has a row all the same: previous() means that step, and not one further back. */
static int map_one(const assay_rule *rule, assay_common_state *s, const assay_step_view *view,
                   const assay_tensor_view *item, const assay_expression_figures *loads, const pooled *pools)
{
    const assay_expression *e = rule->data;
    uint32_t worker = e->pooled ? ASSAY_ALL_WORKERS : item->worker;
    assay_expression_figures figures;
    assay_expression_answer answer;
    take_columns(e, loads, pools, &figures);
    if (is_scan(rule->data, rule->params))
        return figures.present || assay_view_has_values(item)
                   ? add_row(s, view, item->tensor, worker, e->columns, &figures)
                   : ASSAY_OK;
    /* Steps before start_step are still kept as rows above, so that previous() has them. */
    if (view->step < rule->start_step || !assay_expression_run(e, e->condition, &figures, NULL, &answer))
        return ASSAY_OK;
    return test(s->findings, answer.value != 0, view->step, item->tensor, worker, &answer);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_expression *e = rule->data;
    const assay_slot_view *tested = &view->slot[0];
    assay_expression_figures loads;
    int status = ASSAY_OK;
    for (uint32_t i = 0, end; status == ASSAY_OK && i < tested->count; i = end) {
        pooled pools[ASSAY_EXPRESSION_POOLS] = {{0}};
        /* Items of one tensor lie side by side: the inner loop goes over its workers. */
        for (end = i; end < tested->count && tested->items[end]->tensor == tested->items[i]->tensor; end++) {
            if (e->pools == 0)
                continue;
            take_loads(e, view, tested->items[end], &loads);
            pool_worker(e, &loads, pools);
        }
        for (uint32_t k = i; status == ASSAY_OK && k < (e->pooled ? i + 1 : end); k++) {
            take_loads(e, view, tested->items[k], &loads);
            status = map_one(rule, state, view, tested->items[k], &loads, pools);
        }
    }
    return status;
}

static void read_row(assay_row row, uint8_t columns, assay_expression_figures *out)
{
    memcpy(out->value, row.value, columns * sizeof *row.value);
    double mask = row.value[columns];
    /* The mask went through a row of doubles, which hold 32 bits exactly; from another rank it may be anything. */
    out->present = mask >= 0 && mask <= UINT32_MAX ? (uint32_t)mask : 0;
}

/* A saved step that cannot be tested, because a figure is not there, ends a run of steps that fired. */
static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_expression *e = rule->data;
    const assay_common_state *s = state;
    int64_t for_steps = assay_param_int(rule->params, "for_steps"), run = 0;
    uint64_t count = assay_series_count(s->series), *order = assay_series_by_tensor(s->series);
    int status = ASSAY_OK;
    if (count && !order)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
    assay_expression_figures figures[2];
    assay_row last = {0};
    /* Rows in the order (tensor, worker, step); figures[] alternates between this row and the one before. */
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_row row = assay_series_row(s->series, order[i]);
        bool first = i == 0 || row.tensor != last.tensor || row.worker != last.worker;
        const assay_expression_figures *before = first ? NULL : &figures[(i + 1) % 2];
        assay_expression_answer answer;
        last = row;
        read_row(row, e->columns, &figures[i % 2]);
        bool tested = assay_expression_run(e, e->condition, &figures[i % 2], before, &answer);
        run = tested && answer.value != 0 ? (first ? 0 : run) + 1 : 0;
        if (tested && row.step >= rule->start_step)
            status = test(verdict->findings, run >= for_steps, row.step, row.tensor, row.worker, &answer);
    }
    free(order);
    return status;
}

const assay_rule_ops assay_rule_expression = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "Expression",
    .summary = "A condition that the job file states: {\"name\": ..., \"when\": \"abs_mean(gradients) < 1e-6\"}.",
    .advice =
        "The condition of the job file holds for the tensors named here; value and threshold are the two sides of its "
        "comparison. `assay show` prints the tensor's statistics around the step.",
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .setup = setup,
    .data_free = data_free,
    .state_new = state_new,
    .state_free = assay_common_free,
    .map = map,
    .combine = assay_common_combine,
    .pack = assay_common_pack,
    .unpack = unpack,
    .finalize = finalize,
};
