/* sums.c - checksums of the tables: so many rows each, whichever ranks wrote them. Each rank notes those of its pieces;
 * pieces of several ranks are joined in the order of their rows. */
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "pack/pack_internal.h"

static const char *const names[] = {
#define TABLE_NAME(member, name) name,
    ASSAY_PACKED_TABLES(TABLE_NAME)
#undef TABLE_NAME
};

static int find_table(const char *name)
{
    int table = 0;
    while (table < ASSAY_PACKED_TABLE_COUNT && strcmp(names[table], name) != 0)
        table++;
    return table;
}

/* Called by whoever writes a table, with the same layout on all ranks; `first` on differs. A table that has no sums
 * is left out here. */
void assay_pack_sum(assay_packing *p, const char *name, const assay_hdf5_layout *layout, uint64_t first, uint64_t count,
                    const void *rows)
{
    const int table = find_table(name);
    if (table == ASSAY_PACKED_TABLE_COUNT)
        return;
    const uint64_t most = assay_packed_sum_rows(layout->row), end = first + count;
    const uint8_t *bytes = rows;
    p->rows[table] = layout->rows;
    p->row[table] = layout->row;
    for (uint64_t at = first; at < end;) {
        uint64_t to = (at / most + 1) * most < end ? (at / most + 1) * most : end;
        size_t size = (size_t)(to - at) * layout->row;
        assay_put_u32(&p->sums, (uint32_t)table);
        assay_put_u64(&p->sums, at / most);
        assay_put_u64(&p->sums, size);
        assay_put_u32(&p->sums, assay_crc32c(0, bytes, size));
        bytes += size;
        at = to;
    }
}

/* Joins all ranks' pieces to the sums of whole blocks: ranks in order have the rows of a table in order. Blocks are
 * of so many rows whoever wrote them, so the sums do not depend on the ranks. */
static void join(const assay_packing *p, const assay_buf *all, uint32_t *sums)
{
    uint64_t before[ASSAY_PACKED_TABLE_COUNT], total = 0;
    for (int t = 0; t < ASSAY_PACKED_TABLE_COUNT; t++) {
        before[t] = total;
        total += assay_packed_sum_count(p->rows[t], (size_t)p->row[t]);
    }
    assay_cursor in = assay_cursor_over(all->data, all->size);
    while (assay_cursor_left(&in) > 0) {
        uint32_t table = assay_get_u32(&in);
        uint64_t block = assay_get_u64(&in), size = assay_get_u64(&in);
        uint32_t sum = assay_get_u32(&in), *to = &sums[before[table] + block];
        *to = assay_crc32c_join(*to, sum, size);
    }
}

/* Collective; called last, when the rows of all tables are known. */
int assay_pack_sums(assay_packing *p, assay_error *err)
{
    uint64_t count = 0;
    assay_buf all = ASSAY_BUF(SIZE_MAX);
    for (int t = 0; t < ASSAY_PACKED_TABLE_COUNT; t++)
        count += assay_packed_sum_count(p->rows[t], (size_t)p->row[t]);
    uint64_t *starts = assay_alloc(((size_t)assay_comm_size(p->comm) + 1) * sizeof *starts);
    uint32_t *sums = assay_alloc_zeroed((size_t)count, sizeof *sums);
    int status = starts && sums ? assay_buf_status(&p->sums) : ASSAY_ENOMEM;
    status = assay_comm_agree(p->comm, status, err);
    ASSAY_THEN(status, assay_comm_gather_all(p->comm, &p->sums, &all, starts));
    if (status == ASSAY_OK) {
        const assay_hdf5_layout layout = {
            .kind = ASSAY_COLUMN_U32, .row = sizeof *sums, .rows = count, .chunk = 1 << 18};
        join(p, &all, sums);
        status = assay_pack_put(p, ASSAY_PACKED_SUMS_NAME, &layout, sums, err);
    }
    free(starts);
    free(sums);
    assay_buf_release(&all);
    return status;
}
