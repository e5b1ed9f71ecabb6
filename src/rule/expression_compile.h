/* expression_compile.h - shared by the two halves of the compiler: signs and parentheses, statistics and functions. */
#ifndef ASSAY_RULE_EXPRESSION_COMPILE_H
#define ASSAY_RULE_EXPRESSION_COMPILE_H

#include "rule/expression_scan.h"

typedef enum expression_entry_kind { ENTRY_SIGN, ENTRY_OPEN, ENTRY_FUNCTION } expression_entry_kind;

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
    expression_entry entry[ASSAY_EXPRESSION_DEPTH];
    size_t depth;
    bool condition[ASSAY_EXPRESSION_DEPTH]; /* type of each value on the stack */
    size_t values;
    bool in_pool, in_before; /* inside workers_...(), previous() and the like */
} expression_compiler;

/* Append an operation to `main`, a value of either type to the stack of types, an entry to the stack of what is open.
 * ASSAY_EPARAM with the place `at` in the text when the condition is too long or too deep. */
int expression_emit(expression_compiler *c, int code, int argument, double number, size_t at);
int expression_push_value(expression_compiler *c, bool condition, size_t at);
int expression_push_entry(expression_compiler *c, expression_entry entry);

/* expression_names.c: a statistic with its selector, or the opening of a function. */
int expression_take_word(expression_compiler *c, const expression_token *t, bool *operand);
bool expression_takes_more(const expression_entry *function);
/* All arguments are there: their code is on the end of main. */
int expression_end_function(expression_compiler *c, const expression_entry *function);
/* Gives the figures that the condition itself uses their columns, and appends its code to the program. */
int expression_link(expression_compiler *c);

#endif
