/* expression_run.c - runs a compiled program on a stack of numbers. */
#include "rule/expression.h"

#include <math.h>

/* change() and ratio() hold one value more than the compiler's own stack. The compiler bounds the values of a text;
 * the copies that change() makes come on top. */
enum { STACK = ASSAY_EXPRESSION_DEPTH + 8 };

/* NaN on the left wins, so that min() and max() of numbers with a NaN do not hide it behind a comparison that fails. */
static double lower(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

static double higher(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static double unary(int code, double x)
{
    switch (code) {
    case ASSAY_OP_NEGATE:
        return -x;
    case ASSAY_OP_ABS:
        return fabs(x);
    case ASSAY_OP_LOG:
        return log(x);
    case ASSAY_OP_SQRT:
        return sqrt(x);
    default:
        return x == 0; /* not */
    }
}

static bool compare(int code, double a, double b)
{
    switch (code) {
    case ASSAY_OP_LESS:
        return a < b;
    case ASSAY_OP_AT_MOST:
        return a <= b;
    case ASSAY_OP_MORE:
        return a > b;
    case ASSAY_OP_AT_LEAST:
        return a >= b;
    case ASSAY_OP_EQUAL:
        return a == b;
    default:
        return a != b;
    }
}

static double binary(int code, double a, double b)
{
    switch (code) {
    case ASSAY_OP_ADD:
        return a + b;
    case ASSAY_OP_SUBTRACT:
        return a - b;
    case ASSAY_OP_MULTIPLY:
        return a * b;
    case ASSAY_OP_DIVIDE:
        return a / b;
    case ASSAY_OP_MIN:
        return lower(a, b);
    case ASSAY_OP_MAX:
        return higher(a, b);
    case ASSAY_OP_AND:
        return a != 0 && b != 0;
    case ASSAY_OP_OR:
        return a != 0 || b != 0;
    default:
        return compare(code, a, b);
    }
}

static bool fetch(const assay_expression_op *op, const assay_expression_figures *now,
                  const assay_expression_figures *before, double *out)
{
    const assay_expression_figures *from = op->code == ASSAY_OP_LOAD ? now : before;
    if (op->code == ASSAY_OP_NUMBER)
        *out = op->number;
    else if (from && (from->present >> op->argument & 1))
        *out = from->value[op->argument];
    else
        return false;
    return true;
}

/* Keeps the sides of the first comparison that holds, else of the first one. What the report shows as value and
 * threshold: the sides of the comparison that made the condition true. */
static void remember(double a, double b, bool holds, int *kept, assay_expression_answer *out)
{
    int rank = holds ? 2 : 1;
    if (rank <= *kept)
        return;
    *kept = rank;
    out->left = a;
    out->right = b;
}

/* False when a figure is missing: the step cannot be tested, which is no verdict. */
bool assay_expression_run(const assay_expression *e, assay_expression_program program,
                          const assay_expression_figures *now, const assay_expression_figures *before,
                          assay_expression_answer *out)
{
    double stack[STACK];
    int depth = 0, kept = 0;
    *out = (assay_expression_answer){0};
    for (uint16_t i = program.first; i < program.first + program.count; i++) {
        const assay_expression_op *op = &e->op[i];
        /* Codes are ordered: loads and numbers, then operations of one operand, then of two. */
        if (op->code <= ASSAY_OP_BEFORE) {
            if (!fetch(op, now, before, &stack[depth++]))
                return false;
            continue;
        }
        if (op->code <= ASSAY_OP_NOT) {
            stack[depth - 1] = unary(op->code, stack[depth - 1]);
            continue;
        }
        double b = stack[--depth], a = stack[depth - 1], result = binary(op->code, a, b);
        if (op->code >= ASSAY_OP_LESS && op->code <= ASSAY_OP_UNEQUAL)
            remember(a, b, result != 0, &kept, out);
        stack[depth - 1] = result;
    }
    out->value = stack[0];
    return true;
}
