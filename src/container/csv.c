/* csv.c - see csv.h. */
#include "container/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

int assay_csv_open(assay_store *store, const char *path, assay_csv *out, assay_error *err)
{
    assay_csv csv = {.delimiter = ','};
    const uint8_t *bytes = NULL;
    size_t have = 0;
    ASSAY_TRY(assay_stream_open(store, path, &csv.stream, err));
    int status = assay_stream_look(&csv.stream, 0, 3, &bytes, &have, err);
    if (status != ASSAY_OK) {
        assay_stream_close(&csv.stream);
        return status;
    }
    csv.next = have >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    assay_buf_init(&csv.text, SIZE_MAX);
    *out = csv;
    return ASSAY_OK;
}

void assay_csv_close(assay_csv *csv)
{
    assay_stream_close(&csv->stream);
    assay_buf_release(&csv->text);
    free(csv->cells);
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
    size_t from = 0;
    int status = ASSAY_OK;
    assay_buf_clear(&csv->text);
    csv->count = 0;
    csv->oversized = csv->finished = false;
    while (status == ASSAY_OK && !csv->finished) {
        const uint8_t *bytes = NULL;
        size_t have = 0;
        ASSAY_TRY(status = assay_stream_look(&csv->stream, csv->next, 1, &bytes, &have, err));
        if (have == 0)
            break;
        size_t i = 0;
        while (i < have && status == ASSAY_OK && !csv->finished) {
            const size_t plain = plain_length(bytes + i, have - i, where, csv->delimiter);
            if (plain > 0) {
                put_text(csv, from, bytes + i, plain);
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
                if (where != BEHIND_QUOTE && csv->text.size > from && csv->text.data[csv->text.size - 1] == '\r')
                    csv->text.size--;
                csv->finished = csv->count > 0 || csv->text.size > from || where == BEHIND_QUOTE;
                where = csv->finished ? where : BEGIN;
            } else if (c == '"' && where == BEGIN) {
                where = QUOTED;
                csv->text.size = from; /* blanks before it */
            } else if (c != '\r' || where != BEHIND_QUOTE) {
                const bool blank = where == BEGIN && (c == ' ' || c == '\t');
                put_text(csv, from, &c, 1);
                where = where == BEHIND_QUOTE || blank ? where : PLAIN;
            }
        }
        csv->next += i;
    }
    if (status == ASSAY_OK && (csv->finished || csv->count > 0 || csv->text.size > from || where != BEGIN))
        status = end_cell(csv, from);
    else if (status == ASSAY_OK)
        return 0;
    ASSAY_THEN(status, assay_buf_status(&csv->text));
    return status == ASSAY_OK ? 1 : assay_fail(err, status, "out of memory for a row");
}
