/* workspace.h - a directory of the test's own, with files written into it. */
#ifndef ASSAY_TESTS_WORKSPACE_H
#define ASSAY_TESTS_WORKSPACE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct workspace {
    char root[256];
} workspace;

static inline void workspace_make(workspace *w)
{
    const char *base = getenv("TMPDIR");
    snprintf(w->root, sizeof w->root, "%s/assay-trial-XXXXXX", base && strlen(base) < 200 ? base : "/tmp");
    if (!mkdtemp(w->root))
        abort();
}

static inline int workspace_remove_one(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    (void)about, (void)type, (void)walk;
    return remove(path);
}

static inline void workspace_remove(const workspace *w)
{
    nftw(w->root, workspace_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file, with the directories above it. */
static inline void workspace_write(const workspace *w, const char *path, const void *bytes, size_t size)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", w->root, path);
    for (char *slash = strchr(full + strlen(w->root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    if (!file || (size && fwrite(bytes, 1, size, file) != size) || fclose(file) != 0)
        abort();
}

static inline void workspace_text(const workspace *w, const char *path, const char *text)
{
    workspace_write(w, path, text, strlen(text));
}

/* An index file with one tensor "a" at [0, 100). */
static inline void workspace_index(const workspace *w, long step, const char *worker)
{
    char path[512], text[512];
    snprintf(path, sizeof path, "index/%09ld/%012ld_%s.json", step / 1000, step, worker);
    snprintf(text, sizeof text,
             "{\"meta\": {\"mode\": \"TRAIN\", \"mode_step\": %ld, \"event_file_name\": "
             "\"events/%012ld/%012ld_%s.tfevents\"},"
             " \"tensor_payload\": [{\"tensorname\": \"a\", \"start_idx\": 0, \"length\": 100}]}",
             step, step, step, worker);
    workspace_text(w, path, text);
}

#endif
