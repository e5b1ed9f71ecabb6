/* piece_files.c - see piece_files.h. */
#include "trial/piece_files.h"

#include <string.h>

void assay_piece_files_close(assay_piece_files *files)
{
    for (int i = 0; i < ASSAY_PIECE_FILES; i++) {
        assay_store_close_file(files->list[i].file);
        files->list[i] = (assay_piece_file){0};
    }
}

/* The file of that name, opened in place of the one that was not used for longest. */
static int open_one(assay_piece_files *files, assay_store *store, const char *name, assay_piece_file **out,
                    assay_error *err)
{
    assay_piece_file *best = &files->list[0];
    for (int i = 0; i < ASSAY_PIECE_FILES; i++) {
        assay_piece_file *one = &files->list[i];
        if (one->file && (one->name == name || strcmp(one->name, name) == 0)) {
            *out = one;
            return ASSAY_OK;
        }
        best = one->used < best->used ? one : best;
    }
    assay_store_close_file(best->file);
    *best = (assay_piece_file){.name = name};
    *out = best;
    return assay_store_open_file(store, name, &best->file, err);
}

int assay_piece_files_read(assay_piece_files *files, assay_store *store, const char *name, uint64_t at, void *bytes,
                           size_t size, assay_error *err)
{
    assay_piece_file *one = NULL;
    size_t got = 0;
    int status = open_one(files, store, name, &one, err);
    if (status != ASSAY_OK)
        return status;
    one->used = ++files->turn;
    status = assay_store_read_at(one->file, at, bytes, size, &got, err);
    if (status == ASSAY_OK && got != size)
        status = assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the file is cut short, or not written to its end yet",
                            name, (unsigned long long)(at + got));
    return status;
}
