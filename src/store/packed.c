/* packed.c - the tables of a packed trial: every row checked, files looked up by name. */
#include "store/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/search.h"
#include "store/backend.h"

void assay_packed_release(assay_packed *packed)
{
    free(packed->files);
    free(packed->names);
    free(packed->parts);
    free(packed->tensors);
    free(packed->tensor_names);
    free(packed->sums);
    *packed = (assay_packed){0};
}

/* Without adding at + size, which a damaged row could make overflow. */
static bool in_range(uint64_t at, uint64_t size, uint64_t room)
{
    return at <= room && size <= room - at;
}

static int bad_row(const char *where, const char *table, uint64_t row, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT,
                      "%s: damaged: row %llu of %s %s; pack the trial again, or fetch the file again", where,
                      (unsigned long long)row, table, what);
}

/* The first row whose name is not before the text. */
static uint64_t lower_bound(const assay_packed *p, const char *text, size_t length)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, p->file_count,
                 assay_order_bytes(p->names + p->files[low].name_at, p->files[low].name_length, text, length) < 0);
    return low;
}

static bool begins_with(const assay_packed *p, uint64_t row, const char *text, size_t length)
{
    const assay_packed_file *f = &p->files[row];
    return f->name_length >= length && (length == 0 || memcmp(p->names + f->name_at, text, length) == 0);
}

/* The row of that name. */
static const assay_packed_file *find(const assay_packed *p, const char *path, size_t length)
{
    uint64_t row = lower_bound(p, path, length);
    bool found = row < p->file_count && p->files[row].name_length == length && begins_with(p, row, path, length);
    return found ? &p->files[row] : NULL;
}

/* Does one of the directories in the row's name have the name of a file? Those that the row before lies in, too, were
 * looked up there. A file "a" and a file "a/b" cannot both be: whoever unpacks would have to choose. Each directory
 * is looked up once, where the rows that lie in it begin. */
static bool is_below_file(const assay_packed *p, uint64_t row)
{
    const assay_packed_file *f = &p->files[row], *before = row > 0 ? f - 1 : NULL;
    const char *name = p->names + f->name_at;
    bool alike = before != NULL;
    for (size_t i = 0; i < f->name_length; i++) {
        alike = alike && i < before->name_length && p->names[before->name_at + i] == name[i];
        const assay_packed_file *above = name[i] == '/' && !alike ? find(p, name, i) : NULL;
        if (above && above->kind != ASSAY_PACKED_DIRECTORY)
            return true;
    }
    return false;
}

/* Tables come from a file: every number is bounded here, once, so that all look-ups below can trust them. */
static int check_files(const assay_packed *p, const char *where, assay_error *err)
{
    for (uint64_t i = 0; i < p->file_count; i++) {
        /* Rows are sorted by name, which binary searches rely on. */
        const assay_packed_file *f = &p->files[i], *before = f - 1;
        if (!in_range(f->name_at, f->name_length, p->name_bytes) ||
            !assay_path_is_inside(p->names + f->name_at, f->name_length))
            return bad_row(where, "files", i, "has an invalid name", err);
        if (i > 0 && assay_order_bytes(p->names + before->name_at, before->name_length, p->names + f->name_at,
                                       f->name_length) >= 0)
            return bad_row(where, "files", i, "is out of order", err);
        if (f->kind > ASSAY_PACKED_UNREADABLE)
            return bad_row(where, "files", i, "is of an unknown kind", err);
        /* Contents of files lie in `bytes`; a text of an unreadable file lies among the names. */
        if (!in_range(f->at, f->size, f->kind == ASSAY_PACKED_FILE ? p->bytes : p->name_bytes))
            return bad_row(where, "files", i, "points beyond the end", err);
    }
    for (uint64_t i = 0; i < p->file_count; i++)
        if (is_below_file(p, i))
            return bad_row(where, "files", i, "lies below another one", err);
    return ASSAY_OK;
}

static int check_index(const assay_packed *p, const char *where, assay_error *err)
{
    for (uint64_t i = 0; i < p->tensor_count; i++)
        if (!in_range(p->tensors[i].name_at, p->tensors[i].name_length, p->tensor_name_bytes))
            return bad_row(where, "tensors", i, "has a name beyond the end", err);
    for (uint64_t i = 0; i < p->part_count; i++) {
        const assay_packed_part *part = &p->parts[i], *before = part - 1;
        if (!in_range(part->first_entry, part->entries, p->entries))
            return bad_row(where, "parts", i, "points beyond the end of entries", err);
        if (i > 0 && (before->step > part->step || (before->step == part->step && before->worker >= part->worker)))
            return bad_row(where, "parts", i, "is out of order", err);
    }
    return ASSAY_OK;
}

int assay_packed_check(const assay_packed *packed, const char *where, assay_error *err)
{
    uint64_t blocks = packed->bytes / ASSAY_PACKED_BLOCK + (packed->bytes % ASSAY_PACKED_BLOCK != 0);
    if (packed->sum_count != blocks)
        return assay_fail(err, ASSAY_EFORMAT, "%s: damaged: %llu checksums for %llu blocks; pack the trial again",
                          where, (unsigned long long)packed->sum_count, (unsigned long long)blocks);
    int status = check_files(packed, where, err);
    return status == ASSAY_OK ? check_index(packed, where, err) : status;
}

const assay_packed_file *assay_packed_find(const assay_packed *packed, const char *path)
{
    const assay_packed_file *row = find(packed, path, strlen(path));
    return row && row->kind != ASSAY_PACKED_DIRECTORY ? row : NULL;
}

/* "a/b/" for "a/b" and "a/b/", "" for the root; false when it does not fit. 4100: a path of 4096 bytes, a slash and a
 * terminator. */
static bool make_prefix(const char *directory, char *prefix, size_t room, size_t *length)
{
    size_t n = strlen(directory);
    while (n > 0 && directory[n - 1] == '/')
        n--;
    if (n + 2 > room)
        return false;
    if (n > 0) {
        memcpy(prefix, directory, n);
        prefix[n++] = '/';
    }
    prefix[n] = '\0';
    *length = n;
    return true;
}

static bool is_empty_directory(const assay_packed *p, const char *text, size_t length)
{
    const assay_packed_file *row = find(p, text, length);
    return row && row->kind == ASSAY_PACKED_DIRECTORY;
}

bool assay_packed_is_directory(const assay_packed *packed, const char *path)
{
    char prefix[4100];
    size_t length = 0;
    if (!make_prefix(path, prefix, sizeof prefix, &length))
        return false;
    uint64_t row = lower_bound(packed, prefix, length);
    return length == 0 || (row < packed->file_count && begins_with(packed, row, prefix, length)) ||
           is_empty_directory(packed, prefix, length - 1);
}

/* Appends the names one level below the prefix, each once and terminated. Rows are sorted, so children of one name
 * lie side by side. */
static size_t put_children(const assay_packed *p, const char *prefix, size_t length, assay_buf *text)
{
    size_t count = 0, last_length = SIZE_MAX;
    const char *last = NULL;
    for (uint64_t row = lower_bound(p, prefix, length); row < p->file_count && begins_with(p, row, prefix, length);
         row++) {
        const char *name = p->names + p->files[row].name_at + length;
        size_t left = p->files[row].name_length - length;
        const char *slash = memchr(name, '/', left);
        size_t part = slash ? (size_t)(slash - name) : left;
        if (part == 0 || (part == last_length && memcmp(last, name, part) == 0))
            continue;
        assay_put_bytes(text, name, part);
        assay_put_u8(text, '\0');
        last = name;
        last_length = part;
        count++;
    }
    return count;
}

int assay_packed_list(const assay_packed *packed, const char *directory, assay_names *out, assay_error *err)
{
    char prefix[4100];
    size_t length = 0;
    if (!make_prefix(directory, prefix, sizeof prefix, &length) || !assay_packed_is_directory(packed, directory)) {
        const assay_packed_file *file = assay_packed_find(packed, directory);
        if (file && file->kind == ASSAY_PACKED_UNREADABLE)
            return assay_fail(err, ASSAY_EIO, "%.*s", (int)file->size, packed->names + file->at);
        return file ? assay_fail(err, ASSAY_EIO, "%s: %s", directory, strerror(ENOTDIR))
                    : assay_fail(err, ASSAY_ENOTFOUND, "%s: does not exist", directory);
    }
    assay_buf text = ASSAY_BUF(SIZE_MAX / 4);
    size_t count = put_children(packed, prefix, length, &text);
    int status = assay_buf_status(&text);
    ASSAY_THEN(status, assay_names_from_text((const char *)text.data, text.size, count, out));
    assay_buf_release(&text);
    return status == ASSAY_OK ? status : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while listing it", directory);
}

/* Sorted by (step, worker), which check_index() has made sure of. */
const assay_packed_part *assay_packed_find_part(const assay_packed *packed, int64_t step, uint32_t worker)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, packed->part_count,
                 packed->parts[low].step < step ||
                     (packed->parts[low].step == step && packed->parts[low].worker < worker));
    bool found = low < packed->part_count && packed->parts[low].step == step && packed->parts[low].worker == worker;
    return found ? &packed->parts[low] : NULL;
}
