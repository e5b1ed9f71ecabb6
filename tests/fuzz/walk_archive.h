/* walk_archive.h - for fuzz targets: what assay verify finds in bytes that lie in a file. What is said lies in the file, names
 * are terminated, and no more memory is held than may be. */
#ifndef ASSAY_TESTS_FUZZ_WALK_ARCHIVE_H
#define ASSAY_TESTS_FUZZ_WALK_ARCHIVE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verify/archive.h"

static char root[] = "/tmp/assay-fuzz-XXXXXX";
static size_t file_size;

static void end(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/file", root);
    unlink(path);
    rmdir(root);
}

static int check_sum(void *context, const assay_entry_sum *sum)
{
    ++*(size_t *)context;
    if (sum->offset > file_size || sum->stored > file_size - sum->offset || strlen(sum->name) > file_size)
        abort();
    return ASSAY_OK;
}

static int check_loading(void *context, const char *where, const assay_loading *found)
{
    ++*(size_t *)context;
    if (!found || strlen(where) > 1 << 20)
        abort();
    return ASSAY_OK;
}

static int check_unseen(void *context, const char *where, const char *what, bool beside)
{
    (void)beside;
    ++*(size_t *)context;
    if (strlen(where) > 1 << 20 || what[0] == '\0')
        abort();
    return ASSAY_OK;
}

/* How much was found. */
static size_t walk_archive(const uint8_t *data, size_t size)
{
    static bool made;
    char path[64];
    assay_store *store = NULL;
    assay_store_file *file = NULL;
    assay_error err = {{0}};
    size_t found = 0;
    if (!made && (!mkdtemp(root) || atexit(end) != 0))
        abort();
    made = true;
    file_size = size;
    snprintf(path, sizeof path, "%s/file", root);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, size, out) != size || fclose(out) != 0)
        abort();
    if (assay_store_open(root, &store, &err) != ASSAY_OK ||
        assay_store_open_file(store, "file", &file, &err) != ASSAY_OK)
        abort();
    const assay_archive_visitor visitor = {
        .context = &found, .sum = check_sum, .loading = check_loading, .unseen = check_unseen, .most = 1 << 20};
    int status = assay_archive_walk(file, "file", 0, size, &visitor, &err);
    if (status == ASSAY_OK)
        status = assay_archive_walk_tail(file, "file", &visitor, &err);
    if (status != ASSAY_OK && err.text[0] == '\0')
        abort();
    assay_store_close_file(file);
    assay_store_close(store);
    return found;
}

#endif
