/* output_list.c - see output_list.h.
 *
 * The list is the file .assay-files: a line "assay-files/1", then a line for each file, "sha256 HEX NAME", or "bytes
 * SIZE NAME" for one that is too large to be read again. */
#include "report/output_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "base/hash.h"
#include "base/log.h"

static const char NAME[] = ".assay-files", MAGIC[] = "assay-files/1\n";
enum { MOST_BYTES = 16 << 20, MOST_REMOVED = 1 << 30 /* bytes of a file that is read to see whether it was changed */ };

int output_list_note(output_list *list, const char *name, const void *bytes, uint64_t size)
{
    output_entry *grown = assay_realloc_array(list->entry, list->count + 1, sizeof *grown);
    list->entry = grown ? grown : list->entry;
    char *copy = grown ? assay_copy_text(name) : NULL;
    if (!copy)
        return ASSAY_ENOMEM;
    output_entry *e = &grown[list->count++];
    *e = (output_entry){.name = copy, .size = size};
    if (bytes) {
        assay_sha256 hash;
        assay_sha256_init(&hash);
        assay_sha256_add(&hash, bytes, size);
        assay_sha256_hex(&hash, e->hex);
    }
    return ASSAY_OK;
}

void output_list_release(output_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->entry[i].name);
    free(list->entry);
    *list = (output_list){.entry = NULL};
}

/* A name that leads nowhere but below the directory. */
static bool is_below(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        const size_t length = strcspn(part, "/");
        if (length == 0 || (length <= 2 && strspn(part, ".") >= length))
            return false;
    }
    return true;
}

/* One line of a list, without its line feed. False for what is none: it names no file then. */
static bool parse_line(char *line, output_entry *out)
{
    int name = 0;
    *out = (output_entry){.name = NULL};
    if (sscanf(line, "sha256 %64[0-9a-f] %n", out->hex, &name) == 1 && name > 0 && strlen(out->hex) == 64)
        out->name = line + name;
    else if (sscanf(line, "bytes %20" SCNu64 " %n", &out->size, &name) == 1 && name > 0)
        out->name = line + name;
    return out->name && is_below(out->name);
}

static bool has(const output_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entry[i].name, name) == 0)
            return true;
    return false;
}

/* Is the file as it was written? */
static bool is_as_written(const char *path, const output_entry *entry)
{
    struct stat about;
    assay_buf bytes;
    if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    if (!entry->hex[0])
        return (uint64_t)about.st_size == entry->size;
    char hex[65] = "";
    assay_buf_init(&bytes, MOST_REMOVED);
    if (assay_file_read(path, MOST_REMOVED, &bytes, NULL) == ASSAY_OK) {
        assay_sha256 hash;
        assay_sha256_init(&hash);
        assay_sha256_add(&hash, bytes.data, bytes.size);
        assay_sha256_hex(&hash, hex);
    }
    assay_buf_release(&bytes);
    return strcmp(hex, entry->hex) == 0;
}

/* Are all directories between the report's own and the file directories, and no links to somewhere else? */
static bool has_own_directories(char *path, size_t root)
{
    bool own = true;
    for (char *slash = strchr(path + root + 1, '/'); slash && own; slash = strchr(slash + 1, '/')) {
        struct stat about;
        *slash = '\0';
        own = lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
        *slash = '/';
    }
    return own;
}

/* Removes the file, and the directories that it leaves empty. */
static void remove_file(const char *directory, const output_entry *entry)
{
    char *path = assay_path_join(directory, entry->name);
    struct stat about;
    if (!path)
        return;
    const bool own = has_own_directories(path, strlen(directory));
    if (own && lstat(path, &about) == 0 && !is_as_written(path, entry))
        assay_log_note("%s: kept, though it is of an earlier report: it was changed", path);
    else if (own && unlink(path) == 0)
        for (char *slash = strrchr(path, '/'); slash && slash > path + strlen(directory); slash = strrchr(path, '/')) {
            *slash = '\0';
            if (rmdir(path) != 0)
                break;
        }
    free(path);
}

static void remove_stale(const output_list *list, const char *directory, char *text)
{
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        output_entry entry;
        *end = '\0';
        if (parse_line(line, &entry) && !has(list, entry.name))
            remove_file(directory, &entry);
    }
}

int output_list_end(output_list *list, const char *directory, assay_error *err)
{
    assay_buf text;
    char *path = assay_path_join(directory, NAME);
    if (!path)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", directory);
    assay_buf_init(&text, MOST_BYTES);
    if (assay_file_read_own(path, MAGIC, MOST_BYTES, &text, NULL) == ASSAY_OK) {
        assay_put_u8(&text, '\0');
        if (assay_buf_status(&text) == ASSAY_OK)
            remove_stale(list, directory, (char *)text.data);
    }
    assay_buf_release(&text);
    assay_buf_init(&text, MOST_BYTES);
    assay_put_format(&text, "%s", MAGIC);
    for (size_t i = 0; i < list->count; i++) {
        const output_entry *e = &list->entry[i];
        if (e->hex[0])
            assay_put_format(&text, "sha256 %s ", e->hex);
        else
            assay_put_format(&text, "bytes %" PRIu64 " ", e->size);
        assay_put_bytes(&text, e->name, strlen(e->name));
        assay_put_u8(&text, '\n');
    }
    int status = assay_buf_status(&text);
    status = status == ASSAY_OK ? assay_file_write(path, text.data, text.size, err)
                                : assay_fail(err, status, "%s: %s", path, assay_status_text(status));
    assay_buf_release(&text);
    free(path);
    return status;
}
