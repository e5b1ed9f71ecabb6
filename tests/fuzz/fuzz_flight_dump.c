/* Any bytes as a dump of a flight recorder: however they are cut into pieces, the row is the same, and the same as that
 * of a pickle that is read whole; two ranks with such a dump have causes, or none. */
#include <stdlib.h>
#include <string.h>

#include "container/flight_internal.h"
#include "format/flight/flight.h"
#include "hang/hang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_in_steps(const uint8_t *data, size_t size, size_t step, assay_flight_row *row)
{
    assay_flight_dump d;
    assay_error err = {{0}};
    assay_flight_file file = {.bytes = data, .left = size, .step = step, .err = &err};
    int status = assay_flight_dump_init(&d);
    if (status == ASSAY_OK)
        status = assay_flight_read_from(&d, &file);
    if (status != ASSAY_OK && err.text[0] == '\0')
        abort();
    if (status == ASSAY_OK)
        status = assay_flight_fold(&d, row);
    assay_flight_dump_release(&d);
    return status;
}

static bool is_same(const assay_flight_row *a, const assay_flight_row *b)
{
    assay_buf x, y;
    assay_buf_init(&x, SIZE_MAX);
    assay_buf_init(&y, SIZE_MAX);
    assay_fields_pack(assay_flight_row_fields, a, &x);
    assay_fields_pack(assay_flight_row_fields, b, &y);
    const bool same = x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
    assay_buf_release(&x);
    assay_buf_release(&y);
    return same;
}

static void hold_against_whole(const uint8_t *data, size_t size, const assay_flight_row *row)
{
    assay_flight_dump d;
    assay_pickle p = {0};
    assay_flight_row whole = {0};
    if (assay_pickle_read(data, size, &p, NULL) != ASSAY_OK || assay_flight_dump_init(&d) != ASSAY_OK ||
        !assay_flight_take_pickle(&d, &p) || assay_flight_fold(&d, &whole) != ASSAY_OK || !is_same(row, &whole))
        abort();
    assay_fields_release(assay_flight_row_fields, &whole);
    assay_flight_dump_release(&d);
    assay_pickle_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_flight_row row[2] = {{0}};
    assay_hang *hang = NULL;
    if (size > 1 << 18)
        return 0;
    const int status = read_in_steps(data, size, 7, &row[0]);
    if (read_in_steps(data, size, size + 1, &row[1]) != status)
        abort();
    if (status == ASSAY_OK) {
        if (!is_same(&row[0], &row[1]))
            abort();
        if (size > 0 && data[0] == 0x80)
            hold_against_whole(data, size, &row[0]);
        row[1].rank = 1;
        if (assay_hang_find_in(row, 2, 3600, &hang, NULL) != ASSAY_OK || (hang->causes > 0 && !hang->cause[0].text))
            abort();
        assay_hang_free(hang);
    }
    for (int i = 0; i < 2; i++)
        assay_fields_release(assay_flight_row_fields, &row[i]);
    return 0;
}
