/* npy_file.c - .npy files, by themselves or in a .npz: their headers are read when they are listed, so that what is
 * wrong with one is known before its elements are. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/checkpoint/contents.h"
#include "container/inflate.h"
#include "container/npy_head.h"

/* A .npy file while its header is read: stored, or to be inflated. */
typedef struct array {
    assay_ckpt_file *f;
    const char *name;
    uint64_t at, compressed, size; /* in the file; bytes once inflated */
    assay_inflater *inflater;      /* NULL: stored */
    uint64_t done;                 /* bytes read so far */
} array;

static int read_next(array *a, void *bytes, size_t size, assay_error *err)
{
    const uint64_t at = a->at + a->done;
    const assay_packed_source source = {assay_ckpt_read, a->f, a->f->path};
    a->done += size;
    return a->inflater ? assay_inflater_next(a->inflater, &source, bytes, size, err)
                       : assay_ckpt_read(a->f, at, bytes, size, err);
}

static bool refuse(const array *a, int kind, const char *what)
{
    assay_ckpt_problem(a->f, kind, (int64_t)a->at, "%s%s%s", a->name, *a->name ? ": " : "", what);
    return false;
}

/* Do header and elements fill the file? */
static bool has_size(const array *a, const assay_npy_head *head)
{
    uint64_t count = 0, bytes = 0;
    if (!assay_npy_head_sizes(head, &count, &bytes))
        return refuse(a, ASSAY_PROBLEM_HEADER, "the dimensions multiply to more than 64 bits can count");
    if (bytes < a->size - a->done)
        return refuse(a, ASSAY_PROBLEM_HEADER, "bytes stand behind the last element");
    return bytes == a->size - a->done || refuse(a, ASSAY_PROBLEM_SHORT, "the file ends before its last element");
}

/* Reads the text of the header, of `size` bytes. */
static bool read_text(array *a, size_t size, assay_error *err, int *status)
{
    assay_npy_head head = {0};
    size_t place = 0;
    char *text = assay_alloc(size);
    *status = text ? read_next(a, text, size, err) : ASSAY_ENOMEM;
    bool good = *status == ASSAY_OK;
    if (good) {
        const int read =
            assay_npy_head_read(text, size, assay_trial_options_void_dtypes(a->f->to->options), &head, &place, err);
        if (read == ASSAY_OK)
            good = has_size(a, &head);
        else if (read == ASSAY_ENOMEM)
            *status = read;
        else
            good = refuse(a,
                          read == ASSAY_EFORMAT              ? ASSAY_PROBLEM_HEADER
                          : assay_npy_is_objects(text, size) ? ASSAY_PROBLEM_PICKLE
                                                             : ASSAY_PROBLEM_UNSUPPORTED,
                          err->text);
    }
    free(text);
    return good;
}

static bool read_head(array *a, assay_error *err, int *status)
{
    uint8_t head[12] = {0};
    if (a->size < ASSAY_NPY_LEAST)
        return refuse(a, ASSAY_PROBLEM_HEADER, "it is too short for a .npy file");
    *status = read_next(a, head, ASSAY_NPY_LEAST, err);
    if (*status != ASSAY_OK)
        return false;
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return refuse(a, ASSAY_PROBLEM_HEADER, "it does not begin with \\x93NUMPY");
    if (head[6] < 1 || head[6] > 3)
        return refuse(a, ASSAY_PROBLEM_UNSUPPORTED, "of the .npy format versions 1 to 3 are read");
    if (head[6] > 1 && a->size >= 12)
        *status = read_next(a, head + 10, 2, err);
    if (*status != ASSAY_OK)
        return false;
    const uint64_t size =
        (uint64_t)head[8] | (uint64_t)head[9] << 8 | (uint64_t)head[10] << 16 | (uint64_t)head[11] << 24;
    if (size > ASSAY_NPY_HEADER || size > a->size - a->done)
        return refuse(a, ASSAY_PROBLEM_HEADER, "its header should be longer than the file, or than 1 MiB");
    return read_text(a, (size_t)size, err, status);
}

static int add(array *a, const char *name, size_t length, const assay_zip_entry *e)
{
    assay_error err = {{0}};
    int status = ASSAY_OK;
    if (e && e->method != ASSAY_ZIP_STORED &&
        !(a->inflater = assay_inflater_new((assay_zip_method)e->method, a->at, a->at + a->compressed)))
        return ASSAY_ENOMEM;
    const bool good = read_head(a, &err, &status);
    if (status == ASSAY_EFORMAT)
        refuse(a, ASSAY_PROBLEM_HEADER, err.text);
    else if (status == ASSAY_EIO)
        refuse(a, ASSAY_PROBLEM_READ, err.text);
    else if (status == ASSAY_EBUDGET)
        refuse(a, ASSAY_PROBLEM_UNSUPPORTED, err.text);
    assay_ckpt_place place = {.form = ASSAY_CKPT_NPY, .dtype = ASSAY_FLOAT32, .inflated = a->size};
    if (e && e->crc) {
        place.crc = e->crc;
        place.flags = ASSAY_CKPT_CHECKED;
    }
    place.flags |= e ? assay_ckpt_flags_of(e->method) : 0;
    const assay_ckpt_stretch at = {a->f->number, a->at, a->compressed};
    if (good && status == ASSAY_OK)
        assay_contents_add(a->f->to, &(assay_ckpt_found){a->f->role, name, length, at, &place, NULL});
    assay_inflater_free(a->inflater);
    return status == ASSAY_ENOMEM ? status : a->f->to->status;
}

int assay_ckpt_add_npy(assay_ckpt_file *f)
{
    const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
    const size_t length = strlen(name);
    array a = {.f = f, .name = "", .compressed = f->size, .size = f->size};
    return add(&a, name, length > 4 && strcmp(name + length - 4, ".npy") == 0 ? length - 4 : length, NULL);
}

int assay_ckpt_add_npz(assay_ckpt_file *f)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < assay_dict_count(f->zip.names) && status == ASSAY_OK; i++) {
        const assay_zip_entry *e = &f->zip.entry[i];
        size_t length = 0;
        const char *name = assay_dict_name(f->zip.names, i, &length);
        if (length <= 4 || memcmp(name + length - 4, ".npy", 4) != 0)
            continue;
        array a = {.f = f, .name = name, .at = e->data, .compressed = e->compressed, .size = e->size};
        status = add(&a, name, length - 4, e);
    }
    return status;
}
