/* show_rows.c - rows of `assay show`: statistics of tensors as a table, as JSON and as CSV, and the heads of elements. */
#include <inttypes.h>

#include "cli/show.h"
#include "recording/recording.h"

enum { FLUSH_AT = 1 << 20, TABLE_ROWS = 1000 };

#define HEAD_COLUMNS                                                                                                   \
    {"tensor"}, {"step", "step", 'r'}, {"mode"}, {"mode_step"}, {NULL, "mode step", 'l'},                              \
    {                                                                                                                  \
        "worker", "worker", 'e'                                                                                        \
    }
#define FIGURE(name)                                                                                                   \
    {                                                                                                                  \
        name, name, 'r', .optional = true                                                                              \
    }
#define HIDDEN(name)                                                                                                   \
    {                                                                                                                  \
        name, .optional = true                                                                                         \
    }

static const assay_listing_column OF_STATISTICS[] = {
    HEAD_COLUMNS,         HIDDEN("dtype"), HIDDEN("shape"),
    {NULL, "shape", 'e'}, FIGURE("nan"),   FIGURE("inf"),
    FIGURE("zero"),       FIGURE("min"),   FIGURE("max"),
    FIGURE("mean"),       HIDDEN("sum"),   FIGURE("std"),
    HIDDEN("abs_mean"),   HIDDEN("l1"),    HIDDEN("l2"),
    HIDDEN("reductions"), HIDDEN("error"), {"strings", .optional = true, .json_alone = true}};
/* Of elements JSON has a row for each record, and CSV one for each element. */
static const assay_listing_column OF_RECORDS[] = {
    HEAD_COLUMNS, HIDDEN("dtype"), HIDDEN("shape"), {"values"}, HIDDEN("error")};
static const assay_listing_column OF_ELEMENTS[] = {HEAD_COLUMNS, {"index"}, {"value"}};

int show_flush(show_sink *sink, bool always, assay_error *err)
{
    int status = assay_buf_status(&sink->out);
    if (status == ASSAY_OK && !always && sink->out.size < FLUSH_AT)
        return ASSAY_OK;
    return cli_print(&sink->out, err);
}

void show_put_head(assay_listing *rows, const show_row *row)
{
    assay_buf when = ASSAY_BUF(256);
    assay_put_format(&when, "%s %" PRId64, assay_mode_name(row->mode), row->mode_step);
    assay_listing_next(rows);
    assay_listing_text_n(rows, row->tensor, row->tensor_length);
    assay_listing_i64(rows, row->step);
    assay_listing_text(rows, assay_mode_name(row->mode));
    assay_listing_i64(rows, row->mode_step);
    assay_listing_take(rows, &when);
    assay_listing_text(rows, row->worker);
}

void show_put_type(assay_listing *rows, const show_row *row)
{
    assay_listing_text(rows, row->raw ? assay_dtype_name(row->dtype) : NULL);
    assay_listing_shape(rows, row->shape, row->raw || row->only_shape ? row->dims : -1);
}

/* For people, who see in the same cell what else is to be said. */
static void put_shape(assay_listing *rows, const show_row *row)
{
    assay_buf shape = ASSAY_BUF(8192);
    if (row->raw || row->only_shape)
        cli_put_shape(&shape, row->shape, row->dims);
    else
        assay_put_format(&shape, "%s", row->error[0] ? "damaged" : "reductions");
    if (row->raw && row->dtype == ASSAY_STRING)
        assay_put_format(&shape, " strings");
    if (row->only_shape)
        assay_put_format(&shape, " alone");
    assay_listing_take(rows, &shape);
}

static void put_reductions(assay_listing *rows, const show_row *row)
{
    assay_buf *out = row->reductions ? assay_listing_value(rows) : NULL;
    bool any = false;
    if (!row->reductions)
        assay_listing_none(rows);
    if (!out)
        return;
    assay_jw w = assay_jw_over(out);
    if (rows->form == ASSAY_LISTING_JSON)
        assay_jw_object(&w, NULL);
    for (int k = 0; k < ASSAY_KINDS; k++) {
        if (!(row->reductions & 1u << k))
            continue;
        if (rows->form == ASSAY_LISTING_JSON) {
            assay_jw_number(&w, assay_recording_kind_name(k), row->reduction[k]);
        } else {
            assay_put_format(out, "%s%s=", any ? ";" : "", assay_recording_kind_name(k));
            assay_text_put_full(out, row->reduction[k]);
        }
        any = true;
    }
    if (rows->form == ASSAY_LISTING_JSON)
        assay_jw_end(&w);
}

static void put_strings(assay_listing *rows, const show_row *row, const assay_trial_reader *reader)
{
    assay_buf *out = row->raw && row->dtype == ASSAY_STRING ? assay_listing_value(rows) : NULL;
    if (!out)
        return;
    assay_jw w = assay_jw_over(out);
    assay_jw_array(&w, NULL);
    for (uint64_t i = 0; i < row->elements && i < SHOW_STRINGS; i++) {
        size_t length;
        const char *text = assay_reader_string(reader->records, i, &length);
        assay_jw_text_n(&w, NULL, text, length);
    }
    assay_jw_end(&w);
}

static void put_statistics(assay_listing *rows, const show_row *row, const assay_trial_reader *reader)
{
    const assay_stats *s = &row->stats;
    const bool numeric = row->raw && row->dtype != ASSAY_STRING;
    const uint64_t count[] = {s->nan, s->pos_inf + s->neg_inf, s->zeros};
    const struct {
        double value;
        int saved; /* what people see in its place where the tensor itself was not saved; -1: nothing */
    } figure[] = {{assay_stats_min(s), ASSAY_MIN},   {assay_stats_max(s), ASSAY_MAX},
                  {assay_stats_mean(s), ASSAY_MEAN}, {s->sum, -1},
                  {assay_stats_std(s), ASSAY_STD},   {assay_stats_abs_mean(s), -1},
                  {assay_stats_l1(s), -1},           {assay_stats_l2(s), -1}};
    show_put_head(rows, row);
    show_put_type(rows, row);
    put_shape(rows, row);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        if (numeric)
            assay_listing_u64(rows, count[i]);
        else
            assay_listing_none(rows);
    for (size_t i = 0; i < sizeof figure / sizeof *figure; i++) {
        const int saved = rows->form == ASSAY_LISTING_TEXT ? figure[i].saved : -1;
        if (numeric)
            assay_listing_number(rows, figure[i].value);
        else if (saved >= 0 && row->reductions & 1u << saved)
            assay_listing_number(rows, row->reduction[saved]);
        else
            assay_listing_none(rows);
    }
    put_reductions(rows, row);
    assay_listing_text(rows, row->error[0] ? row->error : NULL);
    put_strings(rows, row, reader);
}

static void put_table(show_sink *sink)
{
    if (sink->in_table > 0)
        assay_listing_end(&sink->list, 2, sink->chart.draw);
    sink->in_table = 0;
}

/* A new table where a tensor begins, and after many rows, so that memory stays bounded. */
static void table_for(show_sink *sink, const show_row *row)
{
    if (sink->heading != row->tensor || sink->in_table == TABLE_ROWS)
        put_table(sink);
    if (sink->heading != row->tensor) {
        if (sink->chart.draw)
            show_chart_put(&sink->chart, &sink->out);
        assay_put_format(&sink->out, sink->rows ? "\n" : "");
        assay_text_put_clean(&sink->out, row->tensor, row->tensor_length);
        assay_put_u8(&sink->out, '\n');
    }
    sink->heading = row->tensor;
    if (sink->in_table++ == 0)
        assay_listing_begin(&sink->list, ASSAY_LISTING_TEXT, ASSAY_LISTED(OF_STATISTICS), &sink->out);
}

void show_put_start(show_sink *sink)
{
    if (sink->form == ASSAY_LISTING_CSV && sink->values)
        assay_listing_begin(&sink->list, sink->form, ASSAY_LISTED(OF_ELEMENTS), &sink->out);
    else if (sink->form == ASSAY_LISTING_CSV)
        assay_listing_begin(&sink->list, sink->form, ASSAY_LISTED(OF_STATISTICS), &sink->out);
    if (sink->form != ASSAY_LISTING_JSON)
        return;
    sink->json = assay_jw_over(&sink->out);
    assay_jw_object(&sink->json, NULL);
    assay_jw_text(&sink->json, "schema", "assay-tensors/1");
    assay_jw_array(&sink->json, "rows");
    if (sink->values)
        assay_listing_begin_in(&sink->list, &sink->json, 1, ASSAY_LISTED(OF_RECORDS));
    else
        assay_listing_begin_in(&sink->list, &sink->json, 1, ASSAY_LISTED(OF_STATISTICS));
}

int show_put_row(show_sink *sink, const show_row *row, const assay_trial_reader *reader, assay_error *err)
{
    int status = ASSAY_OK;
    if (sink->form == ASSAY_LISTING_TEXT) {
        table_for(sink, row);
        if (sink->chart.draw && (status = show_chart_add(&sink->chart, row)) != ASSAY_OK)
            assay_fail(err, status, "out of memory for a table");
    }
    put_statistics(&sink->list, row, reader);
    sink->rows++;
    return status;
}

int show_put_end(show_sink *sink, assay_error *err)
{
    if (sink->form == ASSAY_LISTING_TEXT)
        put_table(sink);
    else
        assay_listing_end(&sink->list, 0, NULL);
    if (sink->chart.draw)
        show_chart_put(&sink->chart, &sink->out);
    if (sink->form == ASSAY_LISTING_JSON) {
        assay_jw_end(&sink->json);
        assay_jw_end(&sink->json);
        assay_put_u8(&sink->out, '\n');
    }
    return show_flush(sink, true, err);
}
