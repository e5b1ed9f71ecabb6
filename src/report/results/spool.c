/* spool.c - see spool.h. The temporary file vanishes with the program. */
#include "report/results/spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Rows of most runs stay in memory; beyond this they would compete with the budget that the engine has for tensors. */
enum { IN_MEMORY = 32 << 20 };

void assay_spool_init(assay_spool *spool, size_t item)
{
    *spool = (assay_spool){.item = item};
    assay_buf_init(&spool->recent, (size_t)IN_MEMORY + item);
}

void assay_spool_release(assay_spool *spool)
{
    assay_buf_release(&spool->recent);
    if (spool->file)
        fclose(spool->file);
    spool->file = NULL;
}

static int file_failed(const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EIO, "temporary file: cannot %s it: %s; set TMPDIR to a directory with room", what,
                      strerror(errno));
}

/* Called once the memory is full: writes are large, and the order of items stays that of adding. */
static int move_to_file(assay_spool *spool, assay_error *err)
{
    if (!spool->file && !(spool->file = tmpfile()))
        return file_failed("create", err);
    if (fseeko(spool->file, 0, SEEK_END) != 0 ||
        fwrite(spool->recent.data, 1, spool->recent.size, spool->file) != spool->recent.size ||
        fflush(spool->file) != 0)
        return file_failed("write", err);
    spool->in_file = spool->count;
    assay_buf_clear(&spool->recent);
    return ASSAY_OK;
}

int assay_spool_add(assay_spool *spool, const void *item, assay_error *err)
{
    assay_put_bytes(&spool->recent, item, spool->item);
    int status = assay_buf_status(&spool->recent);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "out of memory for the table of results");
    spool->count++;
    return spool->recent.size >= IN_MEMORY ? move_to_file(spool, err) : ASSAY_OK;
}

/* Items of one call may lie in both places: the older ones in the file, the rest in memory. */
int assay_spool_read(assay_spool *spool, uint64_t first, uint64_t count, void *items, assay_error *err)
{
    uint64_t old = first >= spool->in_file ? 0 : spool->in_file - first;
    old = old < count ? old : count;
    if (old > 0 && (fseeko(spool->file, (off_t)(first * spool->item), SEEK_SET) != 0 ||
                    fread(items, spool->item, (size_t)old, spool->file) != old))
        return file_failed("read", err);
    if (count > old)
        memcpy((char *)items + old * spool->item, spool->recent.data + (first + old - spool->in_file) * spool->item,
               (size_t)(count - old) * spool->item);
    return ASSAY_OK;
}
