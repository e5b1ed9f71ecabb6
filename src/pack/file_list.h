/* file_list.h - all files of a trial: what pack stores, unpack writes and --verify compares. */
#pragma once

#include "parallel/comm.h"
#include "store/packed.h"

typedef struct assay_file_list {
    assay_packed_file *files; /* byte order of the names; `at` of files is 0 */
    uint64_t count, unreadable;
    uint64_t bytes;  /* of all files */
    assay_buf names; /* terminated names, and behind them why files are unreadable */
} assay_file_list;

/* Lists a store and finds the size of every file: rank 0 lists, all ask for sizes. Empty directories count; a file that
 * cannot be opened is of kind ASSAY_PACKED_UNREADABLE, with the reason. Release with assay_file_list_release().
 * Collective; the list is the same on every rank. */
int assay_file_list_read(assay_comm *comm, assay_store *store, assay_file_list *out, assay_error *err);
/* Refuses links out of the trial: bytes of other files would become part of what is handed on. ASSAY_EUSAGE names the
 * first. Collective. */
int assay_file_list_stays_inside(assay_comm *comm, assay_store *store, const assay_file_list *list, assay_error *err);
void assay_file_list_release(assay_file_list *list);
/* The i-th file is about to be opened: asks for the ones behind it and before the `to`-th, as far as that is worth it.
 * They come in `order` (NULL: as listed); those before *asked were asked for. Not collective. */
void assay_file_list_ask_ahead(assay_store *store, const assay_file_list *list, const uint64_t *order, uint64_t i,
                               uint64_t to, uint64_t *asked);

/* The terminated name of a file. Not collective. */
static inline const char *assay_file_name(const assay_file_list *list, uint64_t i)
{
    return (const char *)list->names.data + list->files[i].name_at;
}

/* A rank's contiguous share of `count` things: the first of rank `rank`; that of the next rank is its end. Not
 * collective. */
static inline uint64_t assay_share(uint64_t count, int rank, int ranks)
{
    return count / (uint64_t)ranks * (uint64_t)rank + count % (uint64_t)ranks * (uint64_t)rank / (uint64_t)ranks;
}
