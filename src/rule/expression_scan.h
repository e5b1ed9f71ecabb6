/* expression_scan.h - the tokens of an expression, and messages that point at one of them. */
#pragma once

#include "rule/expression.h"

typedef enum expression_token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_WORD,
    TOKEN_SIGN, /* an operator; `code` is its operation, and "-" always ASSAY_OP_SUBTRACT */
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA
} expression_token_kind;

typedef struct expression_token {
    expression_token_kind kind;
    size_t at, length; /* in the text */
    int code;
    double number;
} expression_token;

/* Leaves "parameter when, column N: ..." with the text around `at` and a caret below it. Returns ASSAY_EPARAM. */
int expression_fail(const char *text, size_t at, assay_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The token at *at, which moves behind it. ASSAY_EPARAM for what is none. */
int expression_scan(const char *text, size_t *at, expression_token *out, assay_error *err);

/* True when a selector and nothing else stands in the parentheses that were opened just before `at`: what tells the
 * statistic min(weights) from the function min(1, 2). */
bool expression_at_selector(const char *text, size_t at);
/* The selector at *at, which moves behind it; the caller frees *out. ASSAY_EPARAM, ASSAY_ENOMEM. */
int expression_scan_selector(const char *text, size_t *at, assay_selector_kind *kind, char **out, assay_error *err);
