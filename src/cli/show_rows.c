/* show_rows.c - statistics of tensors as a table, as JSON and as CSV. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "cli/show.h"
#include "recording/recording.h"
#include "report/text/csv.h"
#include "report/text/layout.h"

enum { FLUSH_AT = 1 << 20, TABLE_ROWS = 1000 };

/* The figures of a row in the order they are printed. */
typedef struct figure {
    const char *name;
    double value;
    bool is_count;
} figure;

enum { FIGURES = 11 };

static void take_figures(const assay_stats *s, figure out[FIGURES])
{
    const figure all[FIGURES] = {
        {"nan", (double)s->nan, true},
        {"inf", (double)(s->pos_inf + s->neg_inf), true},
        {"zero", (double)s->zeros, true},
        {"min", assay_stats_min(s), false},
        {"max", assay_stats_max(s), false},
        {"mean", assay_stats_mean(s), false},
        {"sum", s->sum, false},
        {"std", assay_stats_std(s), false},
        {"abs_mean", assay_stats_abs_mean(s), false},
        {"l1", assay_stats_l1(s), false},
        {"l2", assay_stats_l2(s), false},
    };
    memcpy(out, all, sizeof all);
}

int show_flush(show_sink *sink, bool always, assay_error *err)
{
    int status = assay_buf_status(&sink->out);
    if (status == ASSAY_OK && !always && sink->out.size < FLUSH_AT)
        return ASSAY_OK;
    return cli_print(&sink->out, err);
}

void show_put_json_head(assay_buf *out, const show_row *row)
{
    assay_put_format(out, "{\"tensor\": ");
    assay_json_put_text_n(out, row->tensor, row->tensor_length);
    assay_put_format(out,
                     ", \"step\": %" PRId64 ", \"mode\": \"%s\", \"mode_step\": %" PRId64 ", \"worker\": ", row->step,
                     assay_mode_name(row->mode), row->mode_step);
    assay_json_put_text(out, row->worker);
    if (row->error[0]) {
        assay_put_format(out, ", \"error\": ");
        assay_json_put_text(out, row->error);
    }
    if (row->raw)
        assay_put_format(out, ", \"dtype\": \"%s\"", assay_dtype_name(row->dtype));
    if (!row->raw && !row->only_shape)
        return;
    assay_put_format(out, ", \"shape\": ");
    cli_put_shape(out, row->shape, row->dims);
}

static void put_json_row(assay_buf *out, const show_row *row, const assay_trial_reader *reader)
{
    figure figures[FIGURES];
    show_put_json_head(out, row);
    if (row->raw && row->dtype == ASSAY_STRING) {
        assay_put_format(out, ", \"strings\": [");
        for (uint64_t i = 0; i < row->elements && i < SHOW_STRINGS; i++) {
            size_t length;
            const char *text = assay_reader_string(reader->records, i, &length);
            assay_put_bytes(out, ", ", i ? 2 : 0);
            assay_json_put_text_n(out, text, length);
        }
        assay_put_u8(out, ']');
    } else if (row->raw) {
        take_figures(&row->stats, figures);
        for (int i = 0; i < FIGURES; i++) {
            assay_put_format(out, ", \"%s\": ", figures[i].name);
            assay_json_put_number(out, figures[i].value);
        }
    }
    bool any = false;
    for (int k = 0; k < ASSAY_KINDS; k++) {
        if (!(row->reductions & 1u << k))
            continue;
        assay_put_format(out, "%s\"%s\": ", any ? ", " : ", \"reductions\": {", assay_recording_kind_name(k));
        assay_json_put_number(out, row->reduction[k]);
        any = true;
    }
    assay_put_format(out, any ? "}}" : "}");
}

void show_put_csv_head(assay_buf *out, const show_row *row)
{
    assay_csv_put_shown(out, row->tensor, row->tensor_length);
    assay_put_format(out, ",%" PRId64 ",%s,%" PRId64 ",", row->step, assay_mode_name(row->mode), row->mode_step);
    assay_csv_put_shown(out, row->worker, strlen(row->worker));
}

static void put_csv_row(assay_buf *out, const show_row *row)
{
    figure figures[FIGURES];
    bool numeric = row->raw && row->dtype != ASSAY_STRING, any = false;
    take_figures(&row->stats, figures);
    show_put_csv_head(out, row);
    assay_put_format(out, ",%s,", row->raw ? assay_dtype_name(row->dtype) : "");
    for (int i = 0; (row->raw || row->only_shape) && i < row->dims; i++)
        assay_put_format(out, "%s%" PRId64, i ? "x" : "", row->shape[i]);
    for (int i = 0; i < FIGURES; i++) {
        assay_put_u8(out, ',');
        if (numeric)
            assay_text_put_full(out, figures[i].value);
    }
    assay_put_u8(out, ',');
    for (int k = 0; k < ASSAY_KINDS; k++) {
        if (!(row->reductions & 1u << k))
            continue;
        assay_put_format(out, "%s%s=", any ? ";" : "", assay_recording_kind_name(k));
        assay_text_put_full(out, row->reduction[k]);
        any = true;
    }
    assay_put_u8(out, ',');
    assay_csv_put_shown(out, row->error, strlen(row->error));
    assay_put_u8(out, '\n');
}

static void put_table(show_sink *sink)
{
    if (!sink->table)
        return;
    assay_table_put(sink->table, 2, sink->chart.draw, &sink->out);
    assay_table_release(sink->table);
    free(sink->table);
    sink->table = NULL;
}

/* A new table where a tensor begins, and after many rows, so that memory stays bounded. */
static int table_for(show_sink *sink, const show_row *row)
{
    static const char *const heads[] = {"step", "mode step", "worker", "shape", "nan", "inf",
                                        "zero", "min",       "max",    "mean",  "std"};
    if (sink->table && sink->heading == row->tensor && sink->table->cells < TABLE_ROWS * sizeof heads / sizeof *heads)
        return ASSAY_OK;
    put_table(sink);
    sink->table = assay_alloc(sizeof *sink->table);
    ASSAY_HAVE(sink->table);
    if (sink->heading != row->tensor) {
        if (sink->chart.draw)
            show_chart_put(&sink->chart, &sink->out);
        assay_put_format(&sink->out, sink->rows ? "\n" : "");
        assay_text_put_clean(&sink->out, row->tensor, row->tensor_length);
        assay_put_u8(&sink->out, '\n');
    }
    sink->heading = row->tensor;
    assay_table_init(sink->table, "rleerrrrrrr", heads);
    return ASSAY_OK;
}

static void put_text_row(assay_table *table, const show_row *row)
{
    figure figures[FIGURES];
    assay_buf shape = ASSAY_BUF(8192);
    bool numeric = row->raw && row->dtype != ASSAY_STRING;
    if (row->raw || row->only_shape)
        cli_put_shape(&shape, row->shape, row->dims);
    else
        assay_put_format(&shape, "%s", row->error[0] ? "damaged" : "reductions");
    if (row->raw && row->dtype == ASSAY_STRING)
        assay_put_format(&shape, " strings");
    if (row->only_shape)
        assay_put_format(&shape, " alone");
    assay_put_u8(&shape, '\0');
    assay_table_format(table, "%" PRId64, row->step);
    assay_table_format(table, "%s %" PRId64, assay_mode_name(row->mode), row->mode_step);
    assay_table_cell(table, row->worker);
    assay_table_cell(table, assay_buf_status(&shape) == ASSAY_OK ? (const char *)shape.data : "?");
    assay_buf_release(&shape);
    take_figures(&row->stats, figures);
    static const int kinds[] = {ASSAY_MIN, ASSAY_MAX, ASSAY_MEAN, -1, ASSAY_STD};
    for (int i = 0; i < 8; i++) {
        if (i == 6) /* the sum has no column */
            continue;
        int kind = i >= 3 ? kinds[i - 3] : -1;
        if (numeric && figures[i].is_count)
            assay_table_format(table, "%.0f", figures[i].value);
        else if (numeric)
            assay_table_number(table, figures[i].value);
        else if (kind >= 0 && row->reductions & 1u << kind)
            assay_table_number(table, row->reduction[kind]);
        else
            assay_table_cell(table, "");
    }
}

void show_put_start(show_sink *sink)
{
    if (sink->form == SHOW_JSON)
        assay_put_format(&sink->out, "{\"schema\": \"assay-tensors/1\", \"rows\": [");
    else if (sink->form == SHOW_CSV)
        assay_put_format(&sink->out, "tensor,step,mode,mode_step,worker,%s\n",
                         sink->values
                             ? "index,value"
                             : "dtype,shape,nan,inf,zero,min,max,mean,sum,std,abs_mean,l1,l2,reductions,error");
}

int show_put_row(show_sink *sink, const show_row *row, const assay_trial_reader *reader, assay_error *err)
{
    int status = ASSAY_OK;
    if (sink->form == SHOW_JSON) {
        assay_put_format(&sink->out, "%s\n ", sink->rows ? "," : "");
        put_json_row(&sink->out, row, reader);
    } else if (sink->form == SHOW_CSV) {
        put_csv_row(&sink->out, row);
    } else {
        status = table_for(sink, row);
        if (status == ASSAY_OK && sink->chart.draw)
            status = show_chart_add(&sink->chart, row);
        if (status == ASSAY_OK)
            put_text_row(sink->table, row);
        else
            assay_fail(err, status, "out of memory for a table");
    }
    sink->rows++;
    return status;
}

int show_put_end(show_sink *sink, assay_error *err)
{
    put_table(sink);
    if (sink->chart.draw)
        show_chart_put(&sink->chart, &sink->out);
    if (sink->form == SHOW_JSON)
        assay_put_format(&sink->out, "]}\n");
    return show_flush(sink, true, err);
}
