/* Any bytes as the files of a whole trial, of any format: it is listed, its index read, its steps aligned, and all that
 * ranks send each other of it comes back as it was. Every record and every event file is read to its end. read_trial.h
 * says how files lie in an input. */
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read_trial.h"

enum { FILES_MOST = 48 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the files ---- */

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    (void)about, (void)type, (void)walk;
    return remove(path);
}

static bool leads_up(const char *path)
{
    const char *up = strstr(path, "..");
    return path[0] == '/' || (up && (up == path || up[-1] == '/') && (up[2] == '/' || up[2] == '\0'));
}

static void make_file(const char *path, const member *m)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    must(m->size == 0 || fwrite(m->bytes, 1, m->size, file) == m->size);
    must(fflush(file) == 0 && ftruncate(fileno(file), (off_t)(m->size + m->zeros)) == 0);
    fclose(file);
}

/* Makes a file or link and the directories above it; a path that cannot be, or leads out of the root, is left out. */
static void make(const char *root, const member *m)
{
    char full[64 + LINK], target[LINK];
    snprintf(full, sizeof full, "%s/%.*s", root, (int)m->length, m->path);
    snprintf(target, sizeof target, "%.*s", (int)(m->size < LINK ? m->size : 0), (const char *)m->bytes);
    if (leads_up(full + strlen(root) + 1) || (m->link && leads_up(target)))
        return;
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    if (!m->link)
        make_file(full, m);
    else if (symlink(target, full) != 0)
        return;
}

static void make_all(const char *root, const uint8_t *data, size_t size)
{
    size_t at = 0;
    member m;
    for (int files = 0; files < FILES_MOST && next_member(data, size, &at, &m); files++)
        make(root, &m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char root[] = "/tmp/assay-fuzz-trial-XXXXXX";
    assay_trial_files t;
    assay_error err = {""};
    must(mkdtemp(root) != NULL);
    make_all(root, data, size);
    if (assay_trial_open(root, &t, &err) == ASSAY_OK) {
        read_trial(&t);
        assay_trial_release(&t);
    } else {
        must(err.text[0] != '\0');
    }
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
