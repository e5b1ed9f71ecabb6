/* expression_names.c - statistics, selectors and functions of an expression, and the columns they need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/expression_compile.h"

typedef enum function_kind { SIMPLE, SEVERAL, POOL, PREVIOUS, CHANGE } function_kind;

static const struct function {
    const char *name;
    function_kind kind;
    int code; /* the operation, or the kind of pool */
} FUNCTIONS[] = {
    {"abs", SIMPLE, ASSAY_OP_ABS},
    {"log", SIMPLE, ASSAY_OP_LOG},
    {"sqrt", SIMPLE, ASSAY_OP_SQRT},
    {"min", SEVERAL, ASSAY_OP_MIN},
    {"max", SEVERAL, ASSAY_OP_MAX},
    {"previous", PREVIOUS, 0},
    {"change", CHANGE, ASSAY_OP_SUBTRACT},
    {"ratio", CHANGE, ASSAY_OP_DIVIDE},
    {"workers_min", POOL, ASSAY_POOL_MIN},
    {"workers_max", POOL, ASSAY_POOL_MAX},
    {"workers_mean", POOL, ASSAY_POOL_MEAN},
    {"workers_spread", POOL, ASSAY_POOL_SPREAD},
    {"workers_count", POOL, ASSAY_POOL_COUNT},
};
enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS };

static int find_function(const char *word, size_t length)
{
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (strlen(FUNCTIONS[i].name) == length && memcmp(FUNCTIONS[i].name, word, length) == 0)
            return i;
    return -1;
}

static int unknown_word(expression_compiler *c, const expression_token *t)
{
    char known[200];
    size_t used = 0;
    const char *name;
    known[0] = '\0';
    for (int i = 0; (name = assay_expression_statistic_name(i)) && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? " " : "", name);
    return expression_fail(c->text, t->at, c->err, "no statistic or function is called \"%.*s\"; statistics: %s",
                           (int)(t->length < 30 ? t->length : 30), c->text + t->at, known);
}

/* The number of the selector in *out: one of those that are there, or a new one. Takes over `text`. */
static int add_selector(expression_compiler *c, assay_selector_kind kind, char *text, size_t at, uint8_t *out)
{
    assay_expression *e = c->e;
    uint8_t i = 0;
    while (i < e->selectors && (e->selector[i].kind != kind || strcmp(e->selector[i].text, text) != 0))
        i++;
    *out = i;
    if (i < e->selectors || i == ASSAY_EXPRESSION_SELECTORS) {
        free(text);
        return i < e->selectors
                   ? ASSAY_OK
                   : expression_fail(c->text, at, c->err, "more than %d different tensors", ASSAY_EXPRESSION_SELECTORS);
    }
    e->selector[e->selectors++] = (assay_expression_selector){.kind = kind, .text = text, .kinds = 1u << ASSAY_RAW};
    if (i == 0 && kind == ASSAY_SELECT_TEMPLATE)
        return expression_fail(c->text, at, c->err,
                               "{} stands for the name of the first tensor, and this is the first");
    if (i > 0 && (kind == ASSAY_SELECT_COLLECTION || kind == ASSAY_SELECT_REGEX))
        return expression_fail(c->text, at, c->err,
                               "only the first selector may stand for many tensors: give this one's name "
                               "in quotes, {} in it is the name of the first");
    return ASSAY_OK;
}

static int add_load(expression_compiler *c, uint8_t selector, int statistic, size_t at, uint8_t *out)
{
    assay_expression *e = c->e;
    int reduction = assay_expression_reduction(statistic);
    e->selector[selector].updates |= assay_expression_is_update(statistic);
    if (reduction >= 0)
        e->selector[selector].kinds |= 1u << reduction;
    uint8_t i = 0;
    while (i < e->loads && (e->load[i].selector != selector || e->load[i].statistic != statistic))
        i++;
    *out = i;
    if (i == ASSAY_EXPRESSION_LOADS)
        return expression_fail(c->text, at, c->err, "more than %d different figures", ASSAY_EXPRESSION_LOADS);
    if (i == e->loads)
        e->load[e->loads++] = (assay_expression_load){.selector = selector, .statistic = (uint8_t)statistic};
    return ASSAY_OK;
}

/* "abs_mean(gradients)", up to and with its closing parenthesis; c->at is behind the opening one. */
static int take_statistic(expression_compiler *c, const expression_token *t, int statistic)
{
    assay_selector_kind kind = ASSAY_SELECT_NAME;
    char *text = NULL;
    uint8_t selector = 0, load = 0;
    expression_token close;
    size_t at = c->at;
    int status = expression_scan_selector(c->text, &c->at, &kind, &text, c->err);
    if (status)
        return status;
    status = add_selector(c, kind, text, at, &selector);
    if (status == ASSAY_OK)
        status = expression_scan(c->text, &c->at, &close, c->err);
    if (status == ASSAY_OK && close.kind != TOKEN_CLOSE)
        status = expression_fail(c->text, close.at, c->err, "a parenthesis ) is expected behind the tensor");
    if (status == ASSAY_OK)
        status = add_load(c, selector, statistic, t->at, &load);
    if (status == ASSAY_OK)
        status = expression_push_value(c, false, t->at);
    return status ? status : expression_emit(c, ASSAY_OP_LOAD, load, 0, t->at);
}

static int open_function(expression_compiler *c, const expression_token *t, int number)
{
    function_kind kind = FUNCTIONS[number].kind;
    bool before = kind == PREVIOUS || kind == CHANGE;
    if (c->in_pool && (before || kind == POOL))
        return expression_fail(c->text, t->at, c->err,
                               "inside workers_...() there is neither another one nor the step before: "
                               "write it the other way round");
    if (c->in_before && before)
        return expression_fail(c->text, t->at, c->err,
                               "only one step before can be looked at: previous(), change() and "
                               "ratio() do not nest");
    c->in_pool = c->in_pool || kind == POOL;
    c->in_before = c->in_before || before;
    return expression_push_entry(
        c, (expression_entry){.kind = ENTRY_FUNCTION, .code = number, .at = t->at, .first = c->mains});
}

int expression_take_word(expression_compiler *c, const expression_token *t, bool *operand)
{
    const char *word = c->text + t->at;
    int statistic = assay_expression_statistic(word, t->length), number = find_function(word, t->length);
    if (statistic < 0 && number < 0)
        return unknown_word(c, t);
    expression_token open;
    int status = expression_scan(c->text, &c->at, &open, c->err);
    if (status)
        return status;
    if (open.kind != TOKEN_OPEN)
        return expression_fail(c->text, open.at, c->err, "\"%.*s\" is followed by a parenthesis", (int)t->length, word);
    if (statistic >= 0 && (number < 0 || expression_at_selector(c->text, c->at))) {
        *operand = false;
        return take_statistic(c, t, statistic);
    }
    return open_function(c, t, number);
}

bool expression_takes_more(const expression_entry *function)
{
    return FUNCTIONS[function->code].kind == SEVERAL;
}

/* Takes the arguments' code out of the condition and makes a pool of it. */
static int end_pool(expression_compiler *c, const expression_entry *function, assay_pool_kind kind)
{
    assay_expression *e = c->e;
    uint16_t count = (uint16_t)(c->mains - function->first);
    c->in_pool = false;
    if (e->pools == ASSAY_EXPRESSION_POOLS)
        return expression_fail(c->text, function->at, c->err, "more than %d comparisons of workers",
                               ASSAY_EXPRESSION_POOLS);
    if (count > ASSAY_EXPRESSION_CODE - e->ops)
        return expression_fail(c->text, function->at, c->err, "the condition is too long");
    bool loads = false;
    for (uint16_t i = 0; i < count; i++)
        loads = loads || c->main[function->first + i].code == ASSAY_OP_LOAD;
    if (!loads)
        return expression_fail(c->text, function->at, c->err, "there is no tensor in it that workers could differ in");
    memcpy(&e->op[e->ops], &c->main[function->first], count * sizeof *e->op);
    e->pool[e->pools] = (assay_expression_pool){.kind = kind, .program = {e->ops, count}};
    e->ops = (uint16_t)(e->ops + count);
    c->mains = function->first;
    return expression_emit(c, ASSAY_OP_POOL, e->pools++, 0, function->at);
}

/* The arguments' code once more or instead, with the figures of the saved step before. */
static int end_before(expression_compiler *c, const expression_entry *function, bool instead)
{
    uint16_t first = function->first, end = c->mains;
    bool figures = false;
    c->in_before = false;
    for (uint16_t i = first; i < end; i++) {
        assay_expression_op op = c->main[i];
        figures = figures || op.code == ASSAY_OP_LOAD || op.code == ASSAY_OP_POOL;
        op.code = op.code == ASSAY_OP_LOAD   ? ASSAY_OP_BEFORE
                  : op.code == ASSAY_OP_POOL ? ASSAY_OP_POOL_BEFORE
                                             : op.code;
        if (instead) {
            c->main[i] = op;
            continue;
        }
        int status = expression_emit(c, op.code, op.argument, op.number, function->at);
        if (status)
            return status;
    }
    if (!figures)
        return expression_fail(c->text, function->at, c->err, "there is no tensor in it that could change");
    return ASSAY_OK;
}

int expression_end_function(expression_compiler *c, const expression_entry *entry)
{
    const struct function *f = &FUNCTIONS[entry->code];
    int status = ASSAY_OK;
    switch (f->kind) {
    case SIMPLE:
        return expression_emit(c, f->code, 0, 0, entry->at);
    case SEVERAL:
        if (entry->arguments == 0)
            return expression_fail(c->text, entry->at, c->err,
                                   "%s() compares two numbers or more, or is the statistic of a "
                                   "tensor",
                                   f->name);
        for (uint16_t i = 0; status == ASSAY_OK && i < entry->arguments; i++)
            status = expression_emit(c, f->code, 0, 0, entry->at);
        c->values -= entry->arguments;
        return status;
    case POOL:
        return end_pool(c, entry, (assay_pool_kind)f->code);
    case PREVIOUS:
        return end_before(c, entry, true);
    case CHANGE:
    default:
        status = end_before(c, entry, false);
        return status ? status : expression_emit(c, f->code, 0, 0, entry->at);
    }
}

static uint8_t column_of(assay_expression *e, bool pool, uint8_t number)
{
    uint8_t i = 0;
    while (i < e->columns && (e->column[i].pool != pool || e->column[i].number != number))
        i++;
    if (i == e->columns)
        e->column[e->columns++] = (assay_expression_column){.pool = pool, .number = number};
    return i;
}

int expression_link(expression_compiler *c)
{
    assay_expression *e = c->e;
    if (c->mains > ASSAY_EXPRESSION_CODE - e->ops)
        return expression_fail(c->text, 0, c->err, "the condition is too long");
    e->condition = (assay_expression_program){e->ops, c->mains};
    e->pooled = true;
    for (uint16_t i = 0; i < c->mains; i++) {
        assay_expression_op op = c->main[i];
        bool before = op.code == ASSAY_OP_BEFORE || op.code == ASSAY_OP_POOL_BEFORE;
        bool pool = op.code == ASSAY_OP_POOL || op.code == ASSAY_OP_POOL_BEFORE;
        if (before || pool || op.code == ASSAY_OP_LOAD) {
            op.argument = column_of(e, pool, op.argument);
            op.code = before ? ASSAY_OP_BEFORE : ASSAY_OP_LOAD;
            e->pooled = e->pooled && pool;
            e->looks_back = e->looks_back || before;
        }
        e->op[e->ops++] = op;
    }
    return ASSAY_OK;
}
