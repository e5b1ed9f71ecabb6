/* csv.c - see csv.h. */
#include "container/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* A file of ten gigabytes can unpack from ten megabytes of zeros: beyond 64 MiB, and a hundred times its bytes, it is
 * not read on. Tables pack to a tenth or so. */
enum { BLOCK = 256 << 10, UNPACKED_FREE = 64 << 20, UNPACKED_SHARE = 100 };

int assay_csv_open(assay_store *store, const char *path, assay_csv *out, assay_error *err)
{
    assay_csv csv = {.delimiter = ',', .next_line = 1, .block = assay_alloc(BLOCK)};
    if (!csv.block)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    const int status = assay_utf8_open(store, path, &csv.file, err);
    if (status != ASSAY_OK) {
        free(csv.block);
        return status;
    }
    assay_buf_init(&csv.text, SIZE_MAX);
    *out = csv;
    return ASSAY_OK;
}

void assay_csv_close(assay_csv *csv)
{
    assay_utf8_close(csv->file);
    assay_buf_release(&csv->text);
    free(csv->block);
    free(csv->cells);
}

/* Has bytes of the file in the block, unless it ends. Untrusted bytes come in here; what is wrong with their packing
 * is told only once all rows before it were handed out. */
static int look(assay_csv *csv, assay_error *err)
{
    if (csv->at < csv->size)
        return ASSAY_OK;
    csv->at = csv->size = 0;
    const int status = assay_utf8_read(csv->file, csv->block, BLOCK, &csv->size, err);
    const assay_unpacked *bytes = assay_utf8_bytes(csv->file);
    const uint64_t unpacked = assay_unpacked_bytes(bytes), read = assay_unpacked_bytes_read(bytes);
    if (status == ASSAY_EFORMAT && csv->size > 0) /* first what is before the damage */
        return ASSAY_OK;
    if (status == ASSAY_OK && unpacked > UNPACKED_FREE && unpacked / UNPACKED_SHARE > read)
        return assay_fail(err, ASSAY_EFORMAT, "it unpacks to more than %d times its bytes; rows behind are not read",
                          UNPACKED_SHARE);
    return status;
}

/* Ends the cell whose text begins at `from`, and takes the blanks around it away. */
static int end_cell(assay_csv *csv, size_t from)
{
    const uint8_t *text = csv->text.data;
    size_t at = from, end = csv->text.size;
    while (at < end && (text[at] == ' ' || text[at] == '\t'))
        at++;
    while (end > at && (text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    /* The row goes on being read, so that the next one begins where it should. */
    if (csv->count == ASSAY_CSV_COLUMNS_MOST) {
        csv->oversized = true;
        return ASSAY_OK;
    }
    if (csv->count == csv->room) {
        const size_t room = csv->room ? 2 * csv->room : 64;
        assay_csv_cell *grown = assay_realloc_array(csv->cells, room, sizeof *grown);
        ASSAY_HAVE(grown);
        csv->cells = grown;
        csv->room = room;
    }
    csv->cells[csv->count++] = (assay_csv_cell){at, end - at};
    return ASSAY_OK;
}

/* BEGIN: only blanks of the cell were read, so a quote opens it. BEHIND_QUOTE: a quote within quotes, which ends them
 * unless another one follows. */
typedef enum place { BEGIN, PLAIN, QUOTED, BEHIND_QUOTE } place;

/* Bytes of the stretch that need no look each. */
static size_t plain_length(const uint8_t *bytes, size_t have, place where, uint8_t delimiter)
{
    size_t i = 0;
    if (where == QUOTED) {
        const uint8_t *quote = memchr(bytes, '"', have);
        return quote ? (size_t)(quote - bytes) : have;
    }
    if (where == PLAIN)
        while (i < have && bytes[i] != delimiter && bytes[i] != '\n')
            i++;
    return i;
}

static uint64_t lines_in(const uint8_t *bytes, size_t size)
{
    const uint8_t *const end = bytes + size;
    uint64_t lines = 0;
    for (const uint8_t *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    return lines;
}

static void put_text(assay_csv *csv, size_t from, const uint8_t *bytes, size_t size)
{
    if (csv->text.size - from + size > ASSAY_CSV_CELL_MOST || csv->oversized)
        csv->oversized = true; /* read on, kept no longer */
    else
        assay_put_bytes(&csv->text, bytes, size);
}

int assay_csv_next(assay_csv *csv, assay_error *err)
{
    place where = BEGIN;
    /* `from` is where the cell under way begins in csv->text; the cells before it have been ended. */
    size_t from = 0;
    int status = ASSAY_OK;
    assay_buf_clear(&csv->text);
    csv->count = 0;
    csv->oversized = csv->finished = false;
    csv->line = csv->next_line;
    while (status == ASSAY_OK && !csv->finished) {
        ASSAY_TRY(status = look(csv, err));
        const uint8_t *bytes = csv->block + csv->at;
        const size_t have = csv->size - csv->at;
        if (have == 0)
            break;
        size_t i = 0;
        while (i < have && status == ASSAY_OK && !csv->finished) {
            /* One step of the machine a byte, but for the inside of cells, which memchr and a short loop pass over. */
            const size_t plain = plain_length(bytes + i, have - i, where, csv->delimiter);
            if (plain > 0) {
                put_text(csv, from, bytes + i, plain);
                csv->next_line += where == QUOTED ? lines_in(bytes + i, plain) : 0;
                i += plain;
                continue;
            }
            const uint8_t c = bytes[i++];
            if (where == BEHIND_QUOTE && c == '"') {
                put_text(csv, from, &c, 1);
                where = QUOTED;
            } else if (where == QUOTED) {
                where = BEHIND_QUOTE;
            } else if (c == csv->delimiter) {
                status = end_cell(csv, from);
                from = csv->text.size;
                where = BEGIN;
            } else if (c == '\n') {
                /* Windows makes CR CR LF of what has CR LF already. */
                while (where != BEHIND_QUOTE && csv->text.size > from && csv->text.data[csv->text.size - 1] == '\r')
                    csv->text.size--;
                csv->finished = csv->count > 0 || csv->text.size > from || where == BEHIND_QUOTE;
                where = csv->finished ? where : BEGIN;
                csv->next_line++;
                csv->line = csv->finished ? csv->line : csv->next_line;
            } else if (c == '"' && where == BEGIN) {
                where = QUOTED;
                csv->text.size = from; /* blanks before it */
            } else if (c != '\r' || where != BEHIND_QUOTE) {
                const bool blank = where == BEGIN && (c == ' ' || c == '\t');
                put_text(csv, from, &c, 1);
                where = where == BEHIND_QUOTE || blank ? where : PLAIN;
            }
        }
        csv->at += i;
    }
    /* A last line without a line end is a row as well; `finished` is false then, so that a reader of a file that
     * grows can wait. */
    if (status == ASSAY_OK && (csv->finished || csv->count > 0 || csv->text.size > from || where != BEGIN))
        status = end_cell(csv, from);
    else if (status == ASSAY_OK)
        return 0;
    ASSAY_THEN(status, assay_buf_status(&csv->text));
    return status == ASSAY_OK ? 1 : assay_fail(err, status, "out of memory for a row");
}
