/* show_values.c - the elements of tensors: integers exactly, floats with the fewest digits that restore them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/show.h"
#include "report/report.h"
#include "report/text/csv.h"
#include "report/text/layout.h"
#include "tensor/convert.h"

/* Non-finite numbers are texts in JSON and bare words elsewhere. */
static void put_number(assay_buf *out, show_form form, double value)
{
    if (form == SHOW_JSON)
        assay_json_put_number(out, value);
    else
        assay_text_put_full(out, value);
}

/* A value that came from a float of 32 bits or fewer. */
static void put_short(assay_buf *out, show_form form, double value)
{
    char digits[32];
    if (!isfinite(value)) {
        put_number(out, form, value);
        return;
    }
    for (int precision = 6; precision <= 9; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if ((double)strtof(digits, NULL) == value)
            break;
    }
    assay_put_bytes(out, digits, strlen(digits));
}

static void put_complex(assay_buf *out, show_form form, int dtype, const uint8_t *at)
{
    int half = dtype == ASSAY_COMPLEX64 ? ASSAY_FLOAT32 : ASSAY_FLOAT64;
    double part[2];
    assay_to_double(half, at, 2, part);
    assay_put_format(out, form == SHOW_JSON ? "[" : "(");
    for (int i = 0; i < 2; i++) {
        assay_put_bytes(out, form == SHOW_JSON ? ", " : " ", i == 0 ? 0 : form == SHOW_JSON ? 2 : 1);
        if (half == ASSAY_FLOAT32)
            put_short(out, form, part[i]);
        else
            put_number(out, form, part[i]);
    }
    assay_put_format(out, form == SHOW_JSON ? "]" : ")");
}

static void put_element(assay_buf *out, show_form form, int dtype, const uint8_t *at)
{
    int64_t whole;
    uint64_t natural;
    double value;
    switch (dtype) {
    case ASSAY_COMPLEX64:
    case ASSAY_COMPLEX128:
        put_complex(out, form, dtype, at);
        return;
    case ASSAY_INT64:
        memcpy(&whole, at, sizeof whole);
        assay_put_format(out, "%" PRId64, whole);
        return;
    case ASSAY_UINT64:
        memcpy(&natural, at, sizeof natural);
        assay_put_format(out, "%" PRIu64, natural);
        return;
    default:
        assay_to_double(dtype, at, 1, &value);
    }
    if (!assay_dtype_is_float(dtype))
        assay_put_format(out, "%.0f", value);
    else if (dtype == ASSAY_FLOAT64)
        put_number(out, form, value);
    else
        put_short(out, form, value);
}

/* What stands before element i: a separator, or the head of its own CSV row. */
static void put_before(show_sink *sink, const show_row *row, uint64_t i)
{
    assay_buf *out = &sink->out;
    uint64_t line = row->dims > 0 && row->shape[row->dims - 1] > 0 ? (uint64_t)row->shape[row->dims - 1] : 1;
    switch (sink->form) {
    case SHOW_JSON:
        assay_put_bytes(out, ", ", i ? 2 : 0);
        return;
    case SHOW_CSV:
        assay_put_bytes(out, "\n", i ? 1 : 0);
        show_put_csv_head(out, row);
        assay_put_format(out, ",%" PRIu64 ",", i);
        return;
    case SHOW_TEXT:
        assay_put_format(out, i % line == 0 ? "%s  " : "%s ", i && i % line == 0 ? "\n" : "");
        return;
    }
}

/* On a terminal: lets the row of elements go on in another line, where the element that was written from `begin` on,
 * its separator included, is too much for this one. */
static void fold(show_sink *sink, size_t begin)
{
    enum { INDENT = 4 };
    assay_buf *out = &sink->out;
    if (sink->form != SHOW_TEXT || !sink->chart.draw || assay_buf_status(out) != ASSAY_OK)
        return;
    const bool first = out->data[begin] == '\n' || sink->column == 0;
    const size_t size = out->size - begin;
    if (first || sink->column + size <= assay_text_line_columns(sink->chart.draw)) {
        sink->column = first ? size : sink->column + size;
        return;
    }
    assay_text_put_blanks(out, INDENT);
    if (assay_buf_status(out) != ASSAY_OK)
        return;
    memmove(out->data + begin + 1 + INDENT, out->data + begin + 1, size - 1);
    memset(out->data + begin, ' ', 1 + INDENT);
    out->data[begin] = '\n';
    sink->column = INDENT + size - 1;
}

static void put_string(show_sink *sink, const char *text, size_t length)
{
    if (sink->form == SHOW_JSON)
        assay_json_put_text_n(&sink->out, text, length);
    else if (sink->form == SHOW_CSV)
        assay_csv_put_shown(&sink->out, text, length);
    else
        assay_text_put_clean(&sink->out, text, length);
}

/* A failure to read goes to *cause; the status is that of the output. */
static int put_elements(show_sink *sink, const show_row *row, assay_trial_reader *reader, assay_error *cause,
                        assay_error *err)
{
    const uint8_t *piece;
    size_t size, element = assay_dtype_size(row->dtype);
    uint64_t i = 0;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && assay_reader_content(reader->records, 0, &piece, &size, cause) == ASSAY_OK &&
           size > 0) {
        for (size_t at = 0; at + element <= size; at += element) {
            const size_t begin = sink->out.size;
            put_before(sink, row, i++);
            put_element(&sink->out, sink->form, row->dtype, piece + at);
            fold(sink, begin);
        }
        status = show_flush(sink, false, err);
    }
    return status;
}

static void put_text_head(show_sink *sink, const show_row *row)
{
    assay_buf *out = &sink->out, line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_text_put_clean(&line, row->tensor, row->tensor_length);
    assay_put_format(&line, "  step %" PRId64 "  %s %" PRId64 "  ", row->step, assay_mode_name(row->mode),
                     row->mode_step);
    assay_text_put_clean(&line, row->worker, strlen(row->worker));
    assay_put_format(&line, "  %s ", row->raw ? assay_dtype_name(row->dtype) : "damaged");
    cli_put_shape(&line, row->shape, row->dims);
    assay_put_bytes(out, "\n", sink->rows ? 1 : 0);
    if (sink->chart.draw)
        assay_text_put_wrapped(out, sink->chart.draw, 0, NULL, (const char *)line.data, line.size);
    else
        assay_put_bytes(out, line.data, line.size);
    assay_put_bytes(out, "\n", sink->chart.draw ? 0 : 1);
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}

int show_put_values(show_sink *sink, const show_row *row, assay_trial_reader *reader, bool *damaged, assay_error *err)
{
    int status = ASSAY_OK;
    assay_error cause = {""};
    assay_buf *out = &sink->out;
    if (sink->form == SHOW_JSON) {
        assay_put_format(out, "%s\n ", sink->rows ? "," : "");
        show_put_json_head(out, row);
        assay_put_format(out, ", \"values\": [");
    } else if (sink->form == SHOW_TEXT) {
        put_text_head(sink, row);
    }
    sink->rows++;
    sink->column = 0;
    for (uint64_t i = 0; row->raw && row->dtype == ASSAY_STRING && i < row->elements; i++) {
        size_t length;
        const char *text = assay_reader_string(reader->records, i, &length);
        const size_t begin = sink->out.size;
        put_before(sink, row, i);
        put_string(sink, text, length);
        fold(sink, begin);
    }
    if (row->raw && row->dtype != ASSAY_STRING)
        status = put_elements(sink, row, reader, &cause, err);
    if (sink->form == SHOW_JSON)
        assay_put_u8(out, ']');
    else if (row->elements > 0)
        assay_put_u8(out, '\n');
    if (cause.text[0]) {
        *damaged = true;
        assay_log_warn("%s", cause.text);
        if (sink->form == SHOW_JSON) {
            assay_put_format(out, ", \"error\": ");
            assay_json_put_text(out, cause.text);
        }
    }
    assay_put_bytes(out, "}", sink->form == SHOW_JSON);
    return status;
}
