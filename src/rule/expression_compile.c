/* expression_compile.c - compiles the text of a condition into postfix programs, by operator precedence with an
 * explicit stack (no recursion: ASSAY_EXPRESSION_DEPTH bounds the depth). Every intermediate value has a type, number
 * or condition, so a compiled program cannot fail when it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/expression_compile.h"

enum { TIGHTEST = 7 };

/* Binding of the signs; prefix signs and functions included in no table row bind tightest. */
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

int expression_emit(expression_compiler *c, int code, int argument, double number, size_t at)
{
    if (c->mains == ASSAY_EXPRESSION_CODE)
        return expression_fail(c->text, at, c->err, "the condition is too long");
    c->main[c->mains++] = (assay_expression_op){.code = (uint8_t)code, .argument = (uint8_t)argument, .number = number};
    return ASSAY_OK;
}

int expression_push_value(expression_compiler *c, bool condition, size_t at)
{
    if (c->values == ASSAY_EXPRESSION_DEPTH)
        return expression_fail(c->text, at, c->err, "the condition is nested too deeply");
    c->condition[c->values++] = condition;
    return ASSAY_OK;
}

static bool takes_conditions(int code)
{
    return code == ASSAY_OP_AND || code == ASSAY_OP_OR || code == ASSAY_OP_NOT;
}

/* Applies a sign to the values on top. The scanner's states see to it that they are there. */
static int apply(expression_compiler *c, const expression_entry *sign)
{
    int operands = sign->code == ASSAY_OP_NEGATE || sign->code == ASSAY_OP_NOT ? 1 : 2;
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

int expression_push_entry(expression_compiler *c, expression_entry entry)
{
    if (c->depth == ASSAY_EXPRESSION_DEPTH)
        return expression_fail(c->text, entry.at, c->err, "the condition is nested too deeply");
    c->entry[c->depth++] = entry;
    return ASSAY_OK;
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

static int compile(expression_compiler *c)
{
    bool operand = true;
    for (;;) {
        expression_token token;
        int status = expression_scan(c->text, &c->at, &token, c->err);
        if (status == ASSAY_OK && token.kind == TOKEN_END && !operand)
            return finish(c);
        if (status == ASSAY_OK)
            status = operand ? take_operand(c, &token, &operand) : take_operator(c, &token, &operand);
        if (status)
            return status;
    }
}

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
