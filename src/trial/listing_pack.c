/* listing_pack.c - carries a listing from rank 0 to the others. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/listing.h"

enum { PACKED_FILE = 16 };

void assay_listing_release(assay_listing *listing)
{
    for (uint32_t i = 0; i < listing->workers; i++) {
        free(listing->worker_file[i]);
        free(listing->worker[i]);
    }
    free(listing->worker_file);
    free(listing->worker);
    free(listing->files);
    assay_collections_release(&listing->collections);
    assay_problems_release(&listing->problems);
    *listing = (assay_listing){0};
}

void assay_index_names_pack(const assay_index_name *files, size_t count, assay_buf *out)
{
    assay_put_u64(out, count);
    for (size_t i = 0; i < count; i++) {
        assay_put_i64(out, files[i].step);
        assay_put_u32(out, files[i].worker);
        assay_put_u32(out, files[i].bucket);
    }
}

void assay_listing_pack(const assay_listing *listing, assay_buf *out)
{
    assay_put_u64(out, listing->workers);
    for (uint32_t i = 0; i < listing->workers; i++)
        assay_put_text(out, listing->worker_file[i]);
    assay_put_u32(out, listing->expected_workers);
    assay_put_u8(out, listing->ended);
    assay_index_names_pack(listing->files, listing->count, out);
    assay_collections_pack(&listing->collections, out);
    assay_problems_pack(&listing->problems, out);
}

static int unpack_workers(assay_cursor *in, assay_listing *listing)
{
    uint64_t count = assay_get_count(in, 4);
    if (in->failed || count >= ASSAY_NO_ID)
        return ASSAY_EFORMAT;
    listing->worker_file = assay_alloc_zeroed(count, sizeof(char *));
    listing->worker = assay_alloc_zeroed(count, sizeof(char *));
    if (!listing->worker_file || !listing->worker)
        return ASSAY_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *name = assay_get_text(in, &length);
        if (in->failed)
            return ASSAY_EFORMAT;
        listing->worker_file[i] = assay_copy_bytes_as_text(name, length);
        listing->worker[i] = assay_alloc(length + 1);
        listing->workers = i + 1;
        if (!listing->worker_file[i] || !listing->worker[i])
            return ASSAY_ENOMEM;
        assay_worker_display_name(name, length, listing->worker[i]);
    }
    return ASSAY_OK;
}

int assay_index_names_unpack(assay_cursor *in, assay_listing *listing)
{
    uint64_t count = assay_get_count(in, PACKED_FILE);
    assay_index_name *grown = assay_realloc_array(listing->files, listing->count + count, sizeof *grown);
    if (!grown)
        return ASSAY_ENOMEM;
    listing->files = grown;
    for (uint64_t i = 0; i < count; i++) {
        assay_index_name *f = &listing->files[listing->count++];
        f->step = assay_get_i64(in);
        f->worker = assay_get_u32(in);
        f->bucket = assay_get_u32(in);
        if (f->worker >= listing->workers)
            return ASSAY_EFORMAT;
    }
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

int assay_listing_unpack(assay_cursor *in, assay_listing *out, assay_error *err)
{
    assay_listing listing = {0};
    int status = unpack_workers(in, &listing);
    if (status == ASSAY_OK) {
        listing.expected_workers = assay_get_u32(in);
        listing.ended = assay_get_u8(in) != 0;
        status = assay_index_names_unpack(in, &listing);
    }
    if (status == ASSAY_OK)
        status = assay_collections_unpack(in, &listing.collections, NULL);
    if (status == ASSAY_OK)
        status = assay_problems_unpack(in, &listing.problems, NULL);
    if (status != ASSAY_OK) {
        assay_listing_release(&listing);
        return assay_fail(err, status,
                          status == ASSAY_ENOMEM ? "out of memory for the listing of a trial"
                                                 : "the packed listing of a trial is damaged");
    }
    *out = listing;
    return ASSAY_OK;
}
