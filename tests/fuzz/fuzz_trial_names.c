/* Any bytes as the names of a trial's files and directories: each line is a path below the trial. It is listed or
 * refused; a worker's name reads back as it is shown, and no name is lost without a word. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/trial_files.h"

enum { FILES_MOST = 24, PATH_MOST = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    (void)about, (void)type, (void)walk;
    return remove(path);
}

/* Makes a file, or a directory where the path ends in '/'; what cannot be a path is left out. */
static void make(const char *root, const char *path, size_t length)
{
    char full[64 + PATH_MOST];
    if (length == 0 || length > PATH_MOST || path[0] == '/' || memchr(path, '\0', length))
        return;
    int head = snprintf(full, sizeof full, "%s/%.*s", root, (int)length, path);
    if (strstr(full, "/../") || (head > 3 && strcmp(full + head - 3, "/..") == 0))
        return;
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    if (file)
        fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char root[] = "/tmp/assay-names-XXXXXX";
    const char *text = (const char *)data;
    assay_trial_files trial;
    assay_error err = {""};
    if (!mkdtemp(root))
        abort();
    for (size_t at = 0, files = 0; at < size && files < FILES_MOST; files++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        make(root, text + at, length);
        at += length + 1;
    }
    if (assay_trial_open(root, &trial, &err) == ASSAY_OK) {
        for (uint32_t w = 0; w < trial.catalog.workers; w++)
            for (uint32_t v = 0; v < w; v++)
                if (assay_worker_compare(trial.catalog.worker_key[v], trial.catalog.worker_key[w]) >= 0)
                    abort(); /* as the trial writes them: what is shown for a name may begin with another letter */
        if (trial.catalog.unit_count == 0 && trial.problems.total == 0 && !trial.catalog.log.kind)
            abort(); /* a log without a value says so in its counts */
        assay_trial_release(&trial);
    } else if (!err.text[0]) {
        abort();
    }
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
