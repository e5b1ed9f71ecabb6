/* expression_compile.c - compiles the text of a condition into postfix programs, by operator precedence with an
 * explicit stack (no recursion: ASSAY_EXPRESSION_DEPTH bounds the depth). Every intermediate value has a type, number
 * or condition, so a compiled program cannot fail when it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/expression_scan.h"

typedef enum expression_entry_kind { ENTRY_SIGN, ENTRY_OPEN, ENTRY_FUNCTION } expression_entry_kind;

/* One stack of entries for signs, parentheses and functions; one of types for values. Both are bounded by
 * ASSAY_EXPRESSION_DEPTH, so no text can exhaust memory. */
typedef struct expression_entry { /* a sign, parenthesis or function whose operands are not complete yet */
    expression_entry_kind kind;
    int code;           /* SIGN: operation; FUNCTION: number of the function */
    size_t at;          /* in the text */
    uint16_t first;     /* FUNCTION: where the code of its arguments begins */
    uint16_t arguments; /* FUNCTION: commas seen */
} expression_entry;

typedef struct expression_compiler {
    const char *text;
    size_t at;
    assay_expression *e;
    assay_error *err;
    assay_expression_op main[ASSAY_EXPRESSION_CODE]; /* the condition, as far as it is */
    uint16_t mains;
    /* entry[0..depth) are open, the innermost last; condition[0..values) are the types of values that no sign has
     * taken yet. */
    expression_entry entry[ASSAY_EXPRESSION_DEPTH];
    size_t depth;
    bool condition[ASSAY_EXPRESSION_DEPTH]; /* type of each value on the stack */
    size_t values;
    bool in_pool, in_before; /* inside workers_...(), previous() and the like */
} expression_compiler;

/* Append an operation to `main`, a value of either type to the stack of types, an entry to the stack of what is open.
 * ASSAY_EPARAM with the place `at` in the text when the condition is too long or too deep. */
static int expression_emit(expression_compiler *c, int code, int argument, double number, size_t at)
{
    if (c->mains == ASSAY_EXPRESSION_CODE)
        return expression_fail(c->text, at, c->err, "the condition is too long");
    c->main[c->mains++] = (assay_expression_op){.code = (uint8_t)code, .argument = (uint8_t)argument, .number = number};
    return ASSAY_OK;
}

static int expression_push_value(expression_compiler *c, bool condition, size_t at)
{
    if (c->values == ASSAY_EXPRESSION_DEPTH)
        return expression_fail(c->text, at, c->err, "the condition is nested too deeply");
    c->condition[c->values++] = condition;
    return ASSAY_OK;
}

static int expression_push_entry(expression_compiler *c, expression_entry entry)
{
    if (c->depth == ASSAY_EXPRESSION_DEPTH)
        return expression_fail(c->text, entry.at, c->err, "the condition is nested too deeply");
    c->entry[c->depth++] = entry;
    return ASSAY_OK;
}

/* ---- expression names ---- */

/* Statistics, selectors and functions of an expression, and the columns they need. */

/* SIMPLE: one argument. SEVERAL: two or more. POOL: over workers. PREVIOUS: of the step before. CHANGE: this step
 * against the one before. */
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

/* Called for any word that is neither; the message lists what may stand there. */
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
    /* One selector for equal texts, so that "l2(w) / l1(w)" asks for one tensor. */
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
    /* The first selector decides which tensors are tested; {} in others is its tensor's name. */
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
    /* The slot also takes saved reductions of that kind, for tensors that were not saved raw. */
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
    ASSAY_THEN(status, expression_scan(c->text, &c->at, &close, c->err));
    if (status == ASSAY_OK && close.kind != TOKEN_CLOSE)
        status = expression_fail(c->text, close.at, c->err, "a parenthesis ) is expected behind the tensor");
    ASSAY_THEN(status, add_load(c, selector, statistic, t->at, &load));
    ASSAY_THEN(status, expression_push_value(c, false, t->at));
    return status ? status : expression_emit(c, ASSAY_OP_LOAD, load, 0, t->at);
}

static int open_function(expression_compiler *c, const expression_token *t, int number)
{
    function_kind kind = FUNCTIONS[number].kind;
    bool before = kind == PREVIOUS || kind == CHANGE;
    /* One level of each: pools of pools, or two steps back, would need rows of rows. */
    if (c->in_pool && (before || kind == POOL))
        return expression_fail(c->text, t->at, c->err,
                               "inside workers_...() there is neither another one nor the step before: "
                               "write it the other way round");
    if (c->in_before && before)
        return expression_fail(c->text, t->at, c->err,
                               "only one step before can be looked at: previous(), change() and ratio() do not nest");
    c->in_pool = c->in_pool || kind == POOL;
    c->in_before = c->in_before || before;
    return expression_push_entry(
        c, (expression_entry){.kind = ENTRY_FUNCTION, .code = number, .at = t->at, .first = c->mains});
}

/* A statistic with its selector, or the opening of a function. */
static int expression_take_word(expression_compiler *c, const expression_token *t, bool *operand)
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
    /* "min(" and "max(" are statistics as well as functions: what stands in the parentheses decides. */
    if (statistic >= 0 && (number < 0 || expression_at_selector(c->text, c->at))) {
        *operand = false;
        return take_statistic(c, t, statistic);
    }
    return open_function(c, t, number);
}

static bool expression_takes_more(const expression_entry *function)
{
    return FUNCTIONS[function->code].kind == SEVERAL;
}

/* Takes the arguments' code out of the condition and makes a pool of it. The pool's program runs once a worker,
 * before the condition, which then only has its result. */
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
        /* previous(x) turns x's loads into loads of the step before; change(x) appends a second copy of x with them,
         * and then a sign. */
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

/* All arguments are there: their code is on the end of main. */
static int expression_end_function(expression_compiler *c, const expression_entry *entry)
{
    const struct function *f = &FUNCTIONS[entry->code];
    int status = ASSAY_OK;
    switch (f->kind) {
    case SIMPLE:
        return expression_emit(c, f->code, 0, 0, entry->at);
    case SEVERAL:
        if (entry->arguments == 0)
            return expression_fail(c->text, entry->at, c->err,
                                   "%s() compares two numbers or more, or is the statistic of a tensor", f->name);
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

/* Columns are what a row keeps of a step: only figures that the condition itself uses, not those inside pools. */
static uint8_t column_of(assay_expression *e, bool pool, uint8_t number)
{
    uint8_t i = 0;
    while (i < e->columns && (e->column[i].pool != pool || e->column[i].number != number))
        i++;
    if (i == e->columns)
        e->column[e->columns++] = (assay_expression_column){.pool = pool, .number = number};
    return i;
}

/* Gives the figures that the condition itself uses their columns, and appends its code to the program. */
static int expression_link(expression_compiler *c)
{
    assay_expression *e = c->e;
    if (c->mains > ASSAY_EXPRESSION_CODE - e->ops)
        return expression_fail(c->text, 0, c->err, "the condition is too long");
    e->condition = (assay_expression_program){e->ops, c->mains};
    /* `pooled`: all figures are over workers, so the condition is tested once a tensor and step instead of once a
     * worker. */
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

/* ---- expression compile ---- */

enum { TIGHTEST = 7 };

/* Binding of the signs; prefix signs and functions included in no table row bind tightest. Numbers are the usual
 * ones: or, and, not, comparisons, sums, products, prefix minus. */
static int precedence(int code)
{
    switch (code) {
    case ASSAY_OP_OR:
        return 1;
    case ASSAY_OP_AND:
        return 2;
    case ASSAY_OP_NOT:
        return 3;
    case ASSAY_OP_ADD:
    case ASSAY_OP_SUBTRACT:
        return 5;
    case ASSAY_OP_MULTIPLY:
    case ASSAY_OP_DIVIDE:
        return 6;
    case ASSAY_OP_NEGATE:
        return TIGHTEST;
    default:
        return 4; /* comparisons */
    }
}

static bool takes_conditions(int code)
{
    return code == ASSAY_OP_AND || code == ASSAY_OP_OR || code == ASSAY_OP_NOT;
}

/* Applies a sign to the values on top. The scanner's states see to it that they are there. */
static int apply(expression_compiler *c, const expression_entry *sign)
{
    int operands = sign->code == ASSAY_OP_NEGATE || sign->code == ASSAY_OP_NOT ? 1 : 2;
    /* Comparisons take numbers and give conditions: so "a < b < c" is refused here, with its place. */
    bool conditions = takes_conditions(sign->code), comparison = precedence(sign->code) == 4;
    for (int i = 1; i <= operands; i++) {
        if (c->condition[c->values - (size_t)i] == conditions)
            continue;
        return conditions ? expression_fail(c->text, sign->at, c->err,
                                            "and, or, not join conditions such as l2(weights) > 1; this is a number")
                          : expression_fail(
                                c->text, sign->at, c->err,
                                "numbers are wanted on both sides; this is a condition: join conditions by and, or");
    }
    c->values -= (size_t)operands - 1;
    c->condition[c->values - 1] = conditions || comparison;
    return expression_emit(c, sign->code, 0, 0, sign->at);
}

/* Applies the signs on top of the stack that bind at least so tightly. */
static int reduce(expression_compiler *c, int least)
{
    int status = ASSAY_OK;
    while (status == ASSAY_OK && c->depth > 0 && c->entry[c->depth - 1].kind == ENTRY_SIGN &&
           precedence(c->entry[c->depth - 1].code) >= least)
        status = apply(c, &c->entry[--c->depth]);
    return status;
}

static int take_sign(expression_compiler *c, const expression_token *t, bool prefix)
{
    int code = t->code;
    if (prefix && code == ASSAY_OP_SUBTRACT)
        code = ASSAY_OP_NEGATE;
    if (prefix != (code == ASSAY_OP_NEGATE || code == ASSAY_OP_NOT))
        return prefix
                   ? expression_fail(c->text, t->at, c->err, "a number, a statistic or a parenthesis is expected here")
                   : expression_fail(c->text, t->at, c->err, "\"not\" stands before a condition: a and not b");
    /* Signs of equal binding are applied from the left. */
    int status = prefix ? ASSAY_OK : reduce(c, precedence(code));
    return status ? status
                  : expression_push_entry(c, (expression_entry){.kind = ENTRY_SIGN, .code = code, .at = t->at});
}

/* What may stand where a value is expected. *operand tells whether one is expected next. */
static int take_operand(expression_compiler *c, const expression_token *t, bool *operand)
{
    int status;
    switch (t->kind) {
    case TOKEN_NUMBER:
        *operand = false;
        status = expression_push_value(c, false, t->at);
        return status ? status : expression_emit(c, ASSAY_OP_NUMBER, 0, t->number, t->at);
    case TOKEN_WORD:
        return expression_take_word(c, t, operand);
    case TOKEN_SIGN:
        return take_sign(c, t, true);
    case TOKEN_OPEN:
        return expression_push_entry(c, (expression_entry){.kind = ENTRY_OPEN, .at = t->at});
    case TOKEN_END:
        return expression_fail(c->text, t->at, c->err, "the condition ends here, where a value is expected");
    case TOKEN_CLOSE:
    case TOKEN_COMMA:
    default:
        return expression_fail(c->text, t->at, c->err, "a number, a statistic or a parenthesis is expected here");
    }
}

static int take_close(expression_compiler *c, const expression_token *t, bool *operand)
{
    int status = reduce(c, 0);
    if (status)
        return status;
    if (c->depth == 0)
        return expression_fail(c->text, t->at, c->err,
                               t->kind == TOKEN_COMMA ? "a comma stands between arguments of min() or max()"
                                                      : "no parenthesis is open here");
    expression_entry *top = &c->entry[c->depth - 1];
    if (top->kind == ENTRY_FUNCTION && c->condition[c->values - 1])
        return expression_fail(c->text, top->at, c->err, "this takes numbers; there is a condition in it");
    if (t->kind == TOKEN_COMMA) {
        if (top->kind != ENTRY_FUNCTION || !expression_takes_more(top))
            return expression_fail(c->text, t->at, c->err, "a comma stands between arguments of min() or max()");
        top->arguments++;
        *operand = true;
        return ASSAY_OK;
    }
    c->depth--;
    return top->kind == ENTRY_FUNCTION ? expression_end_function(c, top) : ASSAY_OK;
}

/* What may stand behind a value. */
static int take_operator(expression_compiler *c, const expression_token *t, bool *operand)
{
    switch (t->kind) {
    case TOKEN_SIGN:
        *operand = true;
        return take_sign(c, t, false);
    case TOKEN_CLOSE:
    case TOKEN_COMMA:
        return take_close(c, t, operand);
    case TOKEN_END:
    case TOKEN_NUMBER:
    case TOKEN_WORD:
    case TOKEN_OPEN:
    default:
        return expression_fail(c->text, t->at, c->err, "an operator is expected here, such as <, + or and");
    }
}

static int finish(expression_compiler *c)
{
    int status = reduce(c, 0);
    if (status)
        return status;
    if (c->depth > 0)
        return expression_fail(c->text, c->entry[c->depth - 1].at, c->err, "this parenthesis is never closed");
    if (!c->condition[0])
        return expression_fail(c->text, 0, c->err, "this is a number; a condition compares: ... < 1e-6");
    if (c->e->selectors == 0)
        return expression_fail(c->text, 0, c->err, "the condition looks at no tensor: l2(weights) > 1");
    return expression_link(c);
}

/* Two states: a value is expected, or a sign. They are all of the grammar that is not precedence. */
static int compile(expression_compiler *c)
{
    bool operand = true;
    for (;;) {
        expression_token token;
        int status = expression_scan(c->text, &c->at, &token, c->err);
        if (status == ASSAY_OK && token.kind == TOKEN_END && !operand)
            return finish(c);
        ASSAY_THEN(status, operand ? take_operand(c, &token, &operand) : take_operator(c, &token, &operand));
        if (status)
            return status;
    }
}

/* Text from a job file: every refusal has its column. */
int assay_expression_compile(const char *text, assay_expression **out, assay_error *err)
{
    if (strlen(text) > ASSAY_EXPRESSION_TEXT)
        return assay_fail(err, ASSAY_EPARAM, "parameter when: longer than %d bytes", ASSAY_EXPRESSION_TEXT);
    expression_compiler *c = assay_alloc_zeroed(1, sizeof *c);
    assay_expression *e = c ? assay_alloc_zeroed(1, sizeof *e) : NULL;
    if (!e) {
        free(c);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    *c = (expression_compiler){.text = text, .e = e, .err = err};
    int status = compile(c);
    free(c);
    if (status)
        assay_expression_free(e);
    else
        *out = e;
    return status;
}

void assay_expression_free(assay_expression *expression)
{
    for (uint8_t i = 0; expression && i < expression->selectors; i++)
        free(expression->selector[i].text);
    free(expression);
}
