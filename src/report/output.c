/* output.c - see output.h. */
#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "report/output_list.h"
#include "s3/s3.h"

static const char LAST[] = "report.json";

struct assay_output {
    char *place;
    bool remote, made;   /* made: the directory is new */
    assay_s3_place root; /* of a remote one */
    assay_buf last;      /* of a remote one: report.json, which waits for the others */
    char *temporary;     /* the directory of assay_output_make(); NULL: none */
    output_list list;    /* of a directory: the files that were written */
};

bool assay_output_is_remote(const char *place)
{
    return strncmp(place, "s3://", 5) == 0;
}

/* A place of another kind would become a directory of that name. */
static int refuse_foreign(const char *place, assay_error *err)
{
    if (!assay_s3_place_is_foreign(place))
        return ASSAY_OK;
    const int status = assay_s3_place_refuse_keys(place, err);
    return status != ASSAY_OK
               ? status
               : assay_fail(err, ASSAY_EUSAGE,
                            "%.200s: reports go to no place of this kind; give a directory, or s3://BUCKET/PREFIX",
                            place);
}

int assay_output_open(const char *place, assay_output **out, assay_error *err)
{
    int status = refuse_foreign(place, err);
    if (status != ASSAY_OK)
        return status;
    assay_output *output = assay_alloc_zeroed(1, sizeof *output);
    if (output)
        output->place = assay_copy_text(place);
    if (!output || !output->place) {
        free(output);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
    }
    output->remote = assay_output_is_remote(place);
    assay_buf_init(&output->last, SIZE_MAX / 4);
    status = output->remote ? assay_s3_place_parse(place, &output->root, err) : ASSAY_OK;
    if (status == ASSAY_OK)
        *out = output;
    else
        assay_output_close(output);
    return status;
}

void assay_output_close(assay_output *output)
{
    if (!output)
        return;
    if (output->temporary)
        rmdir(output->temporary); /* only what is empty goes */
    assay_s3_place_release(&output->root);
    assay_buf_release(&output->last);
    output_list_release(&output->list);
    free(output->temporary);
    free(output->place);
    free(output);
}

/* ---- a directory ---- */

static int probe_directory(assay_output *output, assay_error *err)
{
    bool is_new = access(output->place, F_OK) != 0;
    int status = assay_dir_make(output->place, err);
    if (status != ASSAY_OK)
        return status;
    output->made = output->made || is_new;
    char *path = assay_path_join(output->place, ".assay-XXXXXX");
    int file = path ? mkstemp(path) : -1;
    if (!path)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
    else if (file < 0)
        status = assay_fail(err, ASSAY_EIO, "%s: cannot write the report there: %s", output->place, strerror(errno));
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    free(path);
    return status;
}

static int write_file(assay_output *output, const char *name, const void *bytes, size_t size, assay_error *err)
{
    char *path = assay_path_join(output->place, name), *slash = path ? strrchr(path, '/') : NULL;
    int status = path ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
    if (slash && slash > path) {
        *slash = '\0';
        status = assay_dir_make(path, err);
        *slash = '/';
    }
    if (status == ASSAY_OK)
        status = assay_file_write(path, bytes, size, err);
    free(path);
    if (status == ASSAY_OK && (status = output_list_note(&output->list, name, bytes, size)) != ASSAY_OK)
        assay_fail(err, status, "%s: out of memory", name);
    return status;
}

void assay_output_discard(assay_output *output)
{
    if (output && output->made)
        rmdir(output->place);
}

/* ---- S3 ---- */

static char *key_of(const assay_output *output, const char *name)
{
    size_t prefix = strlen(output->root.prefix), room = prefix + strlen(name) + 1;
    char *key = assay_alloc(room);
    if (key) {
        memcpy(key, output->root.prefix, prefix);
        memcpy(key + prefix, name, room - prefix);
    }
    return key;
}

/* A report that cannot be written is a failure of the output, whatever the server says. */
static int output_status(int status)
{
    return status == ASSAY_OK || status == ASSAY_ENOMEM || status == ASSAY_EUNSUPPORTED ? status : ASSAY_EIO;
}

static const char *type_of(const char *name)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        {".json", "Content-Type: application/json"},           {".txt", "Content-Type: text/plain; charset=utf-8"},
        {".md", "Content-Type: text/markdown; charset=utf-8"}, {".csv", "Content-Type: text/csv; charset=utf-8"},
        {".html", "Content-Type: text/html; charset=utf-8"},   {".xml", "Content-Type: application/xml"}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t end = strlen(types[i].end);
        if (length > end && strcmp(name + length - end, types[i].end) == 0)
            return types[i].type;
    }
    return NULL;
}

static int put_object(const assay_output *output, const char *name, const void *bytes, size_t size, assay_error *err)
{
    char *key = key_of(output, name);
    if (!key)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
    int status = assay_alloc_refused() ? assay_fail(err, ASSAY_ENOMEM,
                                                    "s3://%.80s/%.200s: not written: memory ran out "
                                                    "while it was made",
                                                    output->root.bucket, key)
                 : assay_fault_now(ASSAY_FAULT_WRITE)
                     ? assay_fail(err, ASSAY_EIO, "s3://%.80s/%.200s: writing failed (asked for by ASSAY_FAULT)",
                                  output->root.bucket, key)
                     : output_status(assay_s3_put(output->root.bucket, key, bytes, size, type_of(name), err));
    free(key);
    return status;
}

static int probe_bucket(const assay_output *output, assay_error *err)
{
    assay_error why = {""};
    int status = assay_s3_open(&why);
    if (status != ASSAY_OK)
        return assay_fail(err, output_status(status), "%.200s: %s", output->place, why.text);
    char *key = key_of(output, LAST);
    status = key ? assay_s3_may_put(output->root.bucket, key, err)
                 : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", output->place);
    free(key);
    return output_status(status);
}

/* ---- both ---- */

int assay_output_probe(assay_output *output, assay_error *err)
{
    return output->remote ? probe_bucket(output, err) : probe_directory(output, err);
}

int assay_output_write(assay_output *output, const char *name, const void *bytes, size_t size, assay_error *err)
{
    if (!output->remote)
        return write_file(output, name, bytes, size, err);
    if (strcmp(name, LAST) != 0)
        return put_object(output, name, bytes, size, err);
    assay_buf_clear(&output->last);
    assay_put_bytes(&output->last, bytes, size);
    int status = assay_buf_status(&output->last);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: %s", name, assay_status_text(status));
}

int assay_output_finish(assay_output *output, assay_error *err)
{
    if (!output->remote)
        return output_list_end(&output->list, output->place, err);
    return output->last.size > 0 ? put_object(output, LAST, output->last.data, output->last.size, err) : ASSAY_OK;
}

int assay_output_make(assay_output *output, const char *name, char **path, assay_error *err)
{
    if (output->remote && !output->temporary) {
        const char *below = getenv("TMPDIR");
        char *made = assay_path_join(below && below[0] ? below : "/tmp", "assay-report-XXXXXX");
        if (made && !mkdtemp(made)) {
            int status = assay_fail(err, ASSAY_EIO, "%s: cannot make a directory for %s (TMPDIR): %s", made, name,
                                    strerror(errno));
            free(made);
            return status;
        }
        output->temporary = made;
    }
    const char *directory = output->remote ? output->temporary : output->place;
    *path = directory ? assay_path_join(directory, name) : NULL;
    return *path ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
}

/* The file is mapped, not read: it may be larger than the free memory. */
static int put_mapped(const assay_output *output, const char *name, int file, assay_error *err)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return assay_fail(err, ASSAY_EIO, "%s: cannot be read: %s", name, strerror(errno));
    size_t size = (size_t)about.st_size;
    void *bytes = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    if (bytes == MAP_FAILED)
        return assay_fail(err, ASSAY_EIO, "%s: cannot be read: %s", name, strerror(errno));
    int status = put_object(output, name, bytes, size, err);
    if (bytes)
        munmap(bytes, size);
    return status;
}

static int take_local(assay_output *output, const char *name, const char *path, assay_error *err)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return assay_fail(err, ASSAY_EIO, "%s: cannot be read: %s", path, strerror(errno));
    int status = output_list_note(&output->list, name, NULL, (uint64_t)about.st_size);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: out of memory", name);
}

int assay_output_take(assay_output *output, const char *name, const char *path, assay_error *err)
{
    if (!output->remote)
        return take_local(output, name, path, err);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int status = file < 0 ? assay_fail(err, ASSAY_EIO, "%s: cannot open: %s", path, strerror(errno))
                          : put_mapped(output, name, file, err);
    if (file >= 0)
        close(file);
    unlink(path);
    return status;
}
