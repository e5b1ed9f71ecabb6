/* commit.c - see commit.h. Everything that is read has a ceiling, and a name leads to no file outside of git's folder.
 */
#include "hook/commit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

enum { SMALL_FILE = 4096, PACKED_REFS = 64 << 20, DEEPEST = 64 };

/* Reads DIRECTORY/NAME of at most `most` bytes as terminated text. The caller releases `out` in any case. */
static bool read_text(const char *directory, const char *name, size_t most, assay_buf *out)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    assay_buf_init(out, most + 1);
    if (length < 0 || length >= (int)sizeof path)
        return false;
    if (assay_file_read(path, most, out, NULL) != ASSAY_OK)
        return false;
    assay_put_u8(out, '\0');
    return assay_buf_status(out) == ASSAY_OK;
}

static bool take_hash(const char *text, char hash[HOOK_COMMIT_ROOM])
{
    size_t n = strspn(text, "0123456789abcdef");
    if ((n != 40 && n != 64) || (text[n] != '\0' && text[n] != '\n' && text[n] != '\r' && text[n] != ' '))
        return false;
    memcpy(hash, text, n);
    hash[n] = '\0';
    return true;
}

/* The line "<hash> <ref>" of packed-refs. */
static bool find_packed(const char *git, const char *ref, char hash[HOOK_COMMIT_ROOM])
{
    assay_buf text;
    bool found = false, read = read_text(git, "packed-refs", PACKED_REFS, &text);
    for (const char *line = read ? (const char *)text.data : NULL; line && !found;) {
        const char *name = strchr(line, ' '), *end = strchr(line, '\n');
        size_t length = strlen(ref);
        if (name && strncmp(name + 1, ref, length) == 0 && (name[1 + length] == '\n' || name[1 + length] == '\0'))
            found = take_hash(line, hash);
        line = end ? end + 1 : NULL;
    }
    assay_buf_release(&text);
    return found;
}

/* A ref of git's folder, loose or packed. */
static bool find_ref(const char *git, const char *ref, char hash[HOOK_COMMIT_ROOM])
{
    assay_buf text;
    bool found = read_text(git, ref, SMALL_FILE, &text) && take_hash((const char *)text.data, hash);
    assay_buf_release(&text);
    return found || find_packed(git, ref, hash);
}

/* "a/b" into `out`, or `b` alone when it is absolute; cut at the end of its first line. */
static bool join(const char *a, const char *b, char out[PATH_MAX])
{
    int line = (int)strcspn(b, "\r\n");
    int length =
        b[0] == '/' ? snprintf(out, PATH_MAX, "%.*s", line, b) : snprintf(out, PATH_MAX, "%s/%.*s", a, line, b);
    return length > 0 && length < PATH_MAX;
}

/* Of a linked work tree, the folder that has the refs. */
static void find_common(const char *git, char common[PATH_MAX])
{
    assay_buf text;
    if (!read_text(git, "commondir", SMALL_FILE, &text) || !join(git, (const char *)text.data, common))
        snprintf(common, PATH_MAX, "%s", git);
    assay_buf_release(&text);
}

static bool read_head(const char *git, hook_commit *out)
{
    static const char lead[] = "ref: refs/", heads[] = "refs/heads/";
    char common[PATH_MAX], ref[HOOK_BRANCH_ROOM];
    assay_buf text;
    bool read = read_text(git, "HEAD", SMALL_FILE, &text), found = false;
    const char *head = read ? (const char *)text.data : "";
    *out = (hook_commit){"", ""};
    if (strncmp(head, lead, sizeof lead - 1) != 0) {
        found = take_hash(head, out->hash);
    } else {
        const char *name = head + strlen("ref: ");
        size_t length = strcspn(name, "\r\n");
        found = length < sizeof ref;
        snprintf(ref, sizeof ref, "%.*s", (int)(found ? length : 0), name);
        found = found && !strstr(ref, "..");
    }
    if (found && out->hash[0] == '\0') {
        find_common(git, common);
        find_ref(common, ref, out->hash);
        if (strncmp(ref, heads, sizeof heads - 1) == 0)
            snprintf(out->branch, sizeof out->branch, "%s", ref + sizeof heads - 1);
    }
    assay_buf_release(&text);
    return found;
}

/* .git is a folder, or a file that names one ("gitdir: ..."). */
static bool find_git(const char *directory, char git[PATH_MAX])
{
    static const char lead[] = "gitdir: ";
    struct stat info;
    assay_buf text;
    if (!join(directory, ".git", git) || stat(git, &info) != 0)
        return false;
    if (S_ISDIR(info.st_mode))
        return true;
    bool named = read_text(directory, ".git", SMALL_FILE, &text) &&
                 strncmp((const char *)text.data, lead, sizeof lead - 1) == 0 &&
                 join(directory, (const char *)text.data + sizeof lead - 1, git);
    assay_buf_release(&text);
    return named;
}

bool hook_find_commit(const char *directory, hook_commit *out)
{
    char at[PATH_MAX], git[PATH_MAX];
    if (!realpath(directory, at))
        return false;
    for (int i = 0; i < DEEPEST; i++) {
        if (find_git(at, git))
            return read_head(git, out);
        char *slash = strrchr(at, '/');
        if (!slash || at[1] == '\0')
            return false;
        slash[slash == at ? 1 : 0] = '\0';
    }
    return false;
}
