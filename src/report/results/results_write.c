/* results_write.c - the tables as HDF5 by all ranks, or the statistics as text by rank 0. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "report/form.h"
#include "report/results/results_internal.h"
#include "report/text/csv.h"
#include "report/text/layout.h"

/* A rank expands rows of so many bytes at a time: each batch is one collective call, and its memory stays bounded. A
 * reader of part of a table reads whole chunks of rows. */
enum { BATCH_BYTES = 4 << 20, CHUNK_ROWS = 1 << 12, FORMAT_VERSION = 1 };

/* Makes items into rows, so many at a time. */
typedef struct batches {
    const results_table *table;
    const assay_results *results;
    const results_names *names;
    assay_listing_form form; /* of rows of text */
    uint64_t most;
    uint8_t *items, *rows;
} batches;

static int start_batches(batches *b, const results_table *table, const assay_results *results,
                         const results_names *names)
{
    *b = (batches){.table = table, .results = results, .names = names, .most = BATCH_BYTES / table->row + 1};
    b->items = assay_alloc((size_t)b->most * table->items->item);
    b->rows = assay_alloc((size_t)b->most * table->row);
    return b->items && b->rows ? ASSAY_OK : ASSAY_ENOMEM;
}

static void end_batches(batches *b)
{
    free(b->items);
    free(b->rows);
}

/* Makes the rows [first, first + count) of this rank; count is at most b->most. */
static int make_rows(batches *b, uint64_t first, uint64_t count, assay_error *err)
{
    int status = assay_spool_read(b->table->items, first, count, b->items, err);
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++)
        b->table->expand(b->table, b->results, b->names, b->items + i * b->table->items->item,
                         b->rows + i * b->table->row);
    return status;
}

/* ---- HDF5 ---- */

/* Counts the rows of all ranks, those before this rank's, and the most of one rank. Collective. */
static int count_rows(assay_comm *comm, uint64_t mine, uint64_t *before, uint64_t *all, uint64_t *most,
                      assay_error *err)
{
    assay_buf own = ASSAY_BUF(8), counts = ASSAY_BUF(SIZE_MAX);
    assay_put_u64(&own, mine);
    uint64_t *starts = assay_alloc(((size_t)assay_comm_size(comm) + 1) * sizeof *starts);
    int status = assay_comm_agree(comm, starts ? assay_buf_status(&own) : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, assay_comm_gather_all(comm, &own, &counts, starts));
    assay_cursor in = assay_cursor_over(counts.data, counts.size);
    *before = *all = *most = 0;
    for (int r = 0; status == ASSAY_OK && r < assay_comm_size(comm); r++) {
        uint64_t n = assay_get_u64(&in);
        *before += r < assay_comm_rank(comm) ? n : 0;
        *all += n;
        *most = n > *most ? n : *most;
    }
    free(starts);
    assay_buf_release(&own);
    assay_buf_release(&counts);
    return status;
}

/* Units are attributes, since a column of a compound type has none. Collective, as all calls of hdf5_file.h. */
static int put_units(assay_hdf5_file *file, const results_table *t, assay_error *err)
{
    int status = assay_hdf5_put_text(file, t->name, "about", t->about, err);
    for (size_t c = 0; status == ASSAY_OK && c < t->columns; c++) {
        char name[64];
        snprintf(name, sizeof name, "unit of %s", t->column[c].name);
        if (t->unit[c])
            status = assay_hdf5_put_text(file, t->name, name, t->unit[c], err);
    }
    return status;
}

/* Ranks with fewer rows go on with empty batches: a write that one rank left out would hang the others. A failure to
 * make rows goes into assay_hdf5_write, which agrees on it. */
static int write_table(assay_comm *comm, assay_hdf5_file *file, const results_table *t, const assay_results *results,
                       const results_names *names, assay_error *err)
{
    uint64_t mine = t->items->count, before, all, most;
    ASSAY_TRY(count_rows(comm, mine, &before, &all, &most, err));
    batches b;
    assay_hdf5_table *table = NULL;
    const assay_hdf5_layout layout = {t->column, t->columns, 0, t->row, all, CHUNK_ROWS, false};
    int status = assay_comm_agree(comm, start_batches(&b, t, results, names), err);
    ASSAY_THEN(status, assay_hdf5_table_new(file, t->name, &layout, &table, err));
    for (uint64_t at = 0; status == ASSAY_OK && at < most; at += b.most) {
        uint64_t first = at < mine ? at : mine, count = mine - first < b.most ? mine - first : b.most;
        status = assay_hdf5_write(table, make_rows(&b, first, count, err), before + first, count, b.rows, err);
    }
    assay_hdf5_table_close(table);
    ASSAY_THEN(status, put_units(file, t, err));
    end_batches(&b);
    return status;
}

static int put_origin(assay_hdf5_file *file, const assay_results_origin *origin, assay_error *err)
{
    int status = assay_hdf5_put_text(file, "/", "format", "assay-results", err);
    ASSAY_THEN(status, assay_hdf5_put_number(file, "/", "version", FORMAT_VERSION, err));
    ASSAY_THEN(status, assay_hdf5_put_text(file, "/", "assay", origin->version, err));
    ASSAY_THEN(status, assay_hdf5_put_text(file, "/", "command", origin->command, err));
    if (status == ASSAY_OK && origin->job)
        status = assay_hdf5_put_text(file, "/", "job", origin->job, err);
    return status;
}

static int write_tables(assay_comm *comm, assay_hdf5_file *file, assay_results *results, const results_names *names,
                        const assay_results_origin *origin, assay_error *err)
{
    results_table *tables = assay_alloc_zeroed(RESULTS_TABLES, sizeof *tables);
    int status = assay_comm_agree(comm, tables ? ASSAY_OK : ASSAY_ENOMEM, err);
    if (status == ASSAY_OK)
        results_make_tables(results, names, tables);
    ASSAY_THEN(status, put_origin(file, origin, err));
    int count = origin->job ? RESULTS_TABLES : 1; /* without a job there are statistics only */
    for (int i = 0; status == ASSAY_OK && i < count; i++)
        status = write_table(comm, file, &tables[i], results, names, err);
    free(tables);
    return status == ASSAY_OK ? assay_hdf5_finish(file, err) : status;
}

/* Collective. The file has its name only once it is whole. */
int assay_results_write_hdf5(assay_comm *comm, assay_results *results, const assay_outcome *outcome,
                             const assay_results_origin *origin, const char *path, assay_error *err)
{
    results_names names;
    assay_hdf5_file *file = NULL;
    int status = results_share_names(comm, results, outcome, &names, err);
    ASSAY_THEN(status, results_join_totals(comm, results, err));
    ASSAY_THEN(status,
               assay_comm_agree(
                   comm, assay_comm_rank(comm) == 0 ? results_take_findings(results, outcome, err) : ASSAY_OK, err));
    ASSAY_THEN(status, assay_hdf5_create(comm, path, NULL, &file, err));
    ASSAY_THEN(status, write_tables(comm, file, results, &names, origin, err));
    results_release_names(&names);
    if (status == ASSAY_OK)
        return assay_hdf5_rename(file, err);
    assay_hdf5_abandon(file);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "%s: out of memory while writing it", path);
    return status;
}

/* ---- rows of text ---- */

/* All columns but texts are of 8 bytes, hence both readings; that of a text may lie at the row's end, hence no byte
 * is read there. */
static void put_csv_value(assay_buf *out, const assay_column *c, const uint8_t *row)
{
    double real;
    int64_t number;
    memcpy(&real, row + c->offset, c->kind == ASSAY_COLUMN_TEXT ? 0 : sizeof real);
    memcpy(&number, row + c->offset, c->kind == ASSAY_COLUMN_TEXT ? 0 : sizeof number);
    if (c->kind == ASSAY_COLUMN_TEXT)
        assay_csv_put_bytes(out, row + c->offset, strnlen((const char *)row + c->offset, c->size));
    else if (c->kind == ASSAY_COLUMN_F64)
        assay_text_put_full(out, real);
    else if (c->kind == ASSAY_COLUMN_U64)
        assay_put_format(out, "%" PRIu64, (uint64_t)number);
    else
        assay_put_format(out, "%" PRId64, number);
}

static void put_json_value(assay_jw *w, const assay_column *c, const uint8_t *row)
{
    const char *text = (const char *)row + c->offset;
    int64_t number = 0;
    double real = 0;
    if (c->kind == ASSAY_COLUMN_TEXT)
        return assay_jw_text_n(w, c->name, text, strnlen(text, c->size));
    memcpy(&real, text, sizeof real);
    memcpy(&number, text, sizeof number);
    if (c->kind == ASSAY_COLUMN_F64)
        assay_jw_number(w, c->name, real);
    else if (c->kind == ASSAY_COLUMN_U64)
        assay_jw_u64(w, c->name, (uint64_t)number);
    else
        assay_jw_i64(w, c->name, number);
}

/* CSV and JSON come from the columns of the HDF5 table, so the forms cannot disagree. */
static void put_row(const batches *b, const uint8_t *row, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    if (b->form == ASSAY_LISTING_JSON)
        assay_jw_object(&w, NULL);
    for (size_t c = 0; c < b->table->columns; c++) {
        if (b->form == ASSAY_LISTING_JSON) {
            put_json_value(&w, &b->table->column[c], row);
            continue;
        }
        assay_put_bytes(out, ",", c > 0);
        put_csv_value(out, &b->table->column[c], row);
    }
    if (b->form == ASSAY_LISTING_JSON)
        assay_jw_end(&w);
    assay_put_u8(out, '\n');
}

/* Puts the next rows of this rank as lines; none are left when nothing was added. */
static int put_lines(batches *b, uint64_t *at, assay_buf *out, assay_error *err)
{
    uint64_t left = b->table->items->count - *at, count = left < b->most ? left : b->most;
    int status = make_rows(b, *at, count, err);
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++)
        put_row(b, b->rows + i * b->table->row, out);
    *at += count;
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

/* EIO stands for a short write that left errno at 0. */
static int write_text(FILE *file, const char *path, const assay_buf *text, assay_error *err)
{
    const int status = assay_buf_status(text);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s while writing it", path, assay_status_text(status));
    if (text->size > 0 && (assay_fault_now(ASSAY_FAULT_WRITE) || fwrite(text->data, 1, text->size, file) != text->size))
        return assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", path, strerror(errno ? errno : EIO));
    return ASSAY_OK;
}

/* Sends lines to rank 0, batch after batch; an empty message is the last. Failures do not stop the messages: rank 0
 * waits for that last one. */
static int send_lines(assay_comm *comm, batches *b, assay_error *err)
{
    assay_buf lines = ASSAY_BUF(SIZE_MAX);
    int status = ASSAY_OK, sent = ASSAY_OK;
    for (uint64_t at = 0; status == ASSAY_OK && sent == ASSAY_OK && at < b->table->items->count;) {
        assay_buf_clear(&lines);
        status = put_lines(b, &at, &lines, err);
        if (status == ASSAY_OK && lines.size > 0)
            sent = assay_comm_send(comm, 0, &lines);
    }
    assay_buf_clear(&lines);
    ASSAY_THEN(sent, assay_comm_send(comm, 0, &lines));
    assay_buf_release(&lines);
    return status == ASSAY_OK ? sent : status;
}

/* Rank 0's part: its own rows, then those of each rank in order. After a failure it still receives all that is sent,
 * or the senders would wait for ever. */
static int take_lines(assay_comm *comm, batches *b, FILE *file, const char *path, assay_error *err)
{
    assay_buf lines = ASSAY_BUF(SIZE_MAX);
    for (size_t c = 0; b->form == ASSAY_LISTING_CSV && c < b->table->columns; c++)
        assay_put_format(&lines, "%s%s", b->table->column[c].name, c + 1 < b->table->columns ? "," : "\n");
    int status = write_text(file, path, &lines, err);
    for (uint64_t at = 0; status == ASSAY_OK && at < b->table->items->count;) {
        assay_buf_clear(&lines);
        status = put_lines(b, &at, &lines, err);
        ASSAY_THEN(status, write_text(file, path, &lines, err));
    }
    for (int r = 1; r < assay_comm_size(comm); r++) {
        do {
            assay_buf_clear(&lines);
            int got = assay_comm_receive(comm, r, &lines);
            status = status == ASSAY_OK ? got : status;
            ASSAY_THEN(status, write_text(file, path, &lines, err));
        } while (lines.size > 0 || assay_buf_status(&lines) != ASSAY_OK); /* one that was lost was not the last */
    }
    assay_buf_release(&lines);
    return status;
}

/* Collective. A file of that name is replaced only by a whole one. */
static int write_rows_to_file(assay_comm *comm, batches *b, const char *path, assay_error *err)
{
    bool first = assay_comm_rank(comm) == 0;
    size_t room = strlen(path) + 6;
    char *temporary = assay_alloc(room);
    FILE *file = NULL;
    int status = temporary ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        snprintf(temporary, room, "%s.part", path);
    if (status == ASSAY_OK && first)
        (void)unlink(temporary); /* of a run that was killed, or a link that leads elsewhere */
    if (status == ASSAY_OK && first && !(file = fopen(temporary, "wbx")))
        status = assay_fail(err, ASSAY_EIO, "%s: cannot create a file there: %s", path, strerror(errno));
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, first ? take_lines(comm, b, file, path, err) : send_lines(comm, b, err));
    if (status == ASSAY_OK && assay_alloc_refused()) /* a piece may be missing, wherever that was */
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while writing", path);
    if (file && (fflush(file) != 0 || fsync(fileno(file)) != 0) && status == ASSAY_OK)
        status = assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", path, strerror(errno));
    if (file)
        fclose(file);
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK && first && rename(temporary, path) != 0)
        status = assay_fail(err, ASSAY_EIO, "%s: cannot give the finished file its name: %s", path, strerror(errno));
    if (status != ASSAY_OK && file)
        unlink(temporary);
    free(temporary);
    return assay_comm_agree(comm, status, err);
}

/* Prints to standard output: a failure may leave rows there. */
static int print_rows(assay_comm *comm, batches *b, assay_error *err)
{
    const bool first = assay_comm_rank(comm) == 0;
    int status = first ? take_lines(comm, b, stdout, "standard output", err) : send_lines(comm, b, err);
    if (status == ASSAY_OK && first && fflush(stdout) != 0)
        status = assay_fail(err, ASSAY_EIO, "standard output: cannot write: %s", strerror(errno));
    return assay_comm_agree(comm, status, err);
}

int assay_results_write_rows(assay_comm *comm, assay_results *results, const assay_outcome *outcome,
                             assay_listing_form form, const char *path, assay_error *err)
{
    results_names names;
    results_table *tables = assay_alloc_zeroed(RESULTS_TABLES, sizeof *tables);
    batches b = {0};
    int status = assay_comm_agree(comm, tables ? ASSAY_OK : ASSAY_ENOMEM, err);
    if (status != ASSAY_OK) {
        free(tables);
        return status;
    }
    status = results_share_names(comm, results, outcome, &names, err);
    if (status == ASSAY_OK) {
        results_make_tables(results, &names, tables);
        status = assay_comm_agree(comm, start_batches(&b, &tables[0], results, &names), err);
    }
    b.form = form;
    ASSAY_THEN(status, path ? write_rows_to_file(comm, &b, path, err) : print_rows(comm, &b, err));
    end_batches(&b);
    free(tables);
    results_release_names(&names);
    return status;
}

/* Rank 0 has nothing to write alone: all ranks write results.h5 together, once the other forms are there. */
const report_form report_form_hdf5 = {.write = NULL};
