/* notes.c - what is said of a row that breaks its law. */
#include <stdio.h>

#include "laws/loss.h"

static const char *const FUNCTIONS[ASSAY_FUNCTIONS] = {
    [ASSAY_FUNCTION_IDENTITY] = "its input",
    [ASSAY_FUNCTION_RELU] = "relu(input)",
    [ASSAY_FUNCTION_LEAKY_RELU] = "leaky_relu(input)",
    [ASSAY_FUNCTION_ELU] = "elu(input)",
    [ASSAY_FUNCTION_GELU] = "gelu(input)",
    [ASSAY_FUNCTION_GELU_TANH] = "gelu(input)",
    [ASSAY_FUNCTION_SILU] = "silu(input)",
    [ASSAY_FUNCTION_TANH] = "tanh(input)",
    [ASSAY_FUNCTION_SIGMOID] = "sigmoid(input)",
};

static void put_range(char *out, size_t room, const char *what, const double *first, const double *end)
{
    if (*end - *first <= 1)
        snprintf(out, room, "%s %.0f", what, *first);
    else
        snprintf(out, room, "%ss %.0f to %.0f", what, *first, *end - 1);
}

static const char *differ(double count)
{
    return count == 1 ? "differs" : "differ";
}

/* "by 0.2 (bound 3e-07)" */
static void put_apart(char *out, size_t room, const double *row)
{
    snprintf(out, room, "by %.2g (bound %.1g)", row[LAW_APART], row[LAW_BOUND]);
}

/* Where an equation is broken: in rows and columns, or in cells of both, of which the hook has kept sums. */
static void put_cells(char *out, size_t room, const double *row)
{
    char place[64], column[64];
    put_range(place, sizeof place, "row", &row[LAW_ROW], &row[LAW_ROW_END]);
    put_range(column, sizeof column, "column", &row[LAW_COLUMN], &row[LAW_COLUMN_END]);
    if (row[LAW_COLUMNS] > 0)
        snprintf(out, room, "in %.0f of %.0f parts of its rows and %.0f of %.0f of its columns, worst in %s, %s",
                 row[LAW_ROWS_OFF], row[LAW_ROWS], row[LAW_COLUMNS_OFF], row[LAW_COLUMNS], place, column);
    else
        snprintf(out, room, "in %.0f of %.0f parts, worst in %s, %s", row[LAW_ROWS_OFF], row[LAW_ROWS], place, column);
}

static void put_activation(const double *row, const char *by, char *note, size_t room)
{
    if (row[LAW_COLUMNS_OFF] > row[LAW_COLUMNS]) /* it was looked at no further */
        snprintf(note, room, "some of %.0f elements differ from %s, the worst that was seen is element %.0f, %s",
                 row[LAW_COLUMNS], FUNCTIONS[(int)row[LAW_VARIANT]], row[LAW_COLUMN], by);
    else
        snprintf(note, room, "%.0f of %.0f elements %s from %s, the worst is element %.0f, %s", row[LAW_COLUMNS_OFF],
                 row[LAW_COLUMNS], differ(row[LAW_COLUMNS_OFF]), FUNCTIONS[(int)row[LAW_VARIANT]], row[LAW_COLUMN], by);
}

static void put_dropout(const double *row, const char *by, char *note, size_t room)
{
    if (row[LAW_COLUMNS_OFF] > 0)
        snprintf(note, room,
                 "%.0f of %.0f elements %s neither 0 nor the input times the factor of the others, the worst is "
                 "element %.0f, %s",
                 row[LAW_COLUMNS_OFF], row[LAW_COLUMNS], row[LAW_COLUMNS_OFF] == 1 ? "is" : "are", row[LAW_COLUMN], by);
    else
        snprintf(note, room, "elements are dropped in numbers or rows as likely as e^-%.0f by chance", row[LAW_APART]);
}

void law_put_note(const double *row, char *note, size_t room)
{
    char place[64], column[64], form[96], by[64], cells[384];
    put_range(place, sizeof place, "row", &row[LAW_ROW], &row[LAW_ROW_END]);
    put_range(column, sizeof column, "column", &row[LAW_COLUMN], &row[LAW_COLUMN_END]);
    put_apart(by, sizeof by, row);
    put_cells(cells, sizeof cells, row);
    switch ((int)row[LAW_OF]) {
    case LAW_ACTIVATION:
        put_activation(row, by, note, room);
        break;
    case LAW_DROPOUT:
        put_dropout(row, by, note, room);
        break;
    case LAW_EMBEDDING:
        snprintf(note, room, "%.0f of %.0f numbers %s from the weight's rows, worst in %s, %s", row[LAW_COLUMNS_OFF],
                 row[LAW_COLUMNS], differ(row[LAW_COLUMNS_OFF]), place, column);
        break;
    case LAW_ROWS_ONE:
        snprintf(note, room, "the sums of rows differ from 1 in %.0f of %.0f parts, worst in %s, %s", row[LAW_ROWS_OFF],
                 row[LAW_ROWS], place, by);
        break;
    case LAW_POOLING:
        snprintf(note, room, "%.0f of %.0f elements %s from the %s of their windows, the worst is element %.0f, %s",
                 row[LAW_COLUMNS_OFF], row[LAW_COLUMNS], differ(row[LAW_COLUMNS_OFF]),
                 row[LAW_VARIANT] == POOLING_LARGEST ? "largest" : "mean", row[LAW_COLUMN], by);
        break;
    case LAW_REPLICAS:
        put_range(column, sizeof column, "element", &row[LAW_COLUMN], &row[LAW_COLUMN_END]);
        snprintf(note, room, "%.0f of %.0f parts %s from what the other workers have, worst in %s, %s",
                 row[LAW_COLUMNS_OFF], row[LAW_COLUMNS], differ(row[LAW_COLUMNS_OFF]), column, by);
        break;
    case LAW_LOSS:
        loss_put_form((int)row[LAW_VARIANT], form, sizeof form);
        snprintf(note, room, "it differs %s%sfrom the %s that its inputs and targets give",
                 row[LAW_VARIANT] == LOSS_WEIGHTED ? "" : by, row[LAW_VARIANT] == LOSS_WEIGHTED ? "" : " ", form);
        break;
    case LAW_NORMALISATION:
        snprintf(note, room, "it differs from the normalised input %s %s", by, cells);
        break;
    case LAW_GRADIENT:
        snprintf(note, room, "it differs from the products of inputs and gradients of outputs %s %s", by, cells);
        break;
    case LAW_LINEAR:
        snprintf(note, room, "it differs from x Wt + b %s %s", by, cells);
        break;
    case LAW_REDUCE:
        put_range(column, sizeof column, "element", &row[LAW_COLUMN], &row[LAW_COLUMN_END]);
        snprintf(note, room, "%.0f of %.0f parts %s from what backward gave%s, worst in %s, %s", row[LAW_COLUMNS_OFF],
                 row[LAW_COLUMNS], differ(row[LAW_COLUMNS_OFF]), row[LAW_VARIANT] == 1 ? " on all workers in mean" : "",
                 column, by);
        break;
    default:
        put_range(column, sizeof column, "element", &row[LAW_COLUMN], &row[LAW_COLUMN_END]);
        snprintf(note, room,
                 "%.0f of %.0f parts %s from what the factors of the other parameters (rate, decay) give, worst in "
                 "%s, %s",
                 row[LAW_COLUMNS_OFF], row[LAW_COLUMNS], differ(row[LAW_COLUMNS_OFF]), column, by);
    }
}
