/* zeros.c - looks at the ends of files whose format has no checksum. */
#include "verify/zeros.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/search.h"
#include "base/vec.h"
#include "container/safetensors.h"
#include "trial/trial_format.h"

/* SURE: bytes of zeros in a row that nobody means in floating-point values. SPARSE: bytes before them that are looked
 * at; where many elements there are zero, so may those at the end be, and RUN bytes are asked for. */
enum { BLOCK = 1 << 16, SURE = 64, SPARSE = 4096, RUN = 16384, SECTOR = 512, PAGE = 4096 };

/* A tensor's bytes in a file. */
typedef struct extent {
    uint64_t offset, length, element, row;
    bool floating;
    const char *name;
} extent;

/* Those of one file, in the order of their places. */
typedef struct extents {
    ASSAY_VEC(extent) list;
    const char *path;
    int64_t step;
} extents;

static const assay_file *file_of(const assay_part *part, const assay_entry *e)
{
    return part->files && e->file < part->files->count ? &part->files->file[e->file] : NULL;
}

/* The first byte of the zeros that end at `end`, at least `begin`. */
static int find_zeros(assay_store_file *file, uint64_t begin, uint64_t end, uint64_t *out, assay_error *err)
{
    uint8_t block[BLOCK];
    *out = end;
    while (*out > begin) {
        const size_t size = *out - begin < BLOCK ? (size_t)(*out - begin) : BLOCK;
        size_t got = 0;
        const int status = assay_store_read_at(file, *out - size, block, size, &got, err);
        if (status != ASSAY_OK || got != size)
            return status == ASSAY_ENOMEM ? status : ASSAY_EIO;
        size_t kept = size;
        if (block[0] == 0 && memcmp(block, block + 1, size - 1) == 0) /* many are zero as a whole */
            kept = 0;
        while (kept > 0 && block[kept - 1] == 0)
            kept--;
        *out -= size - kept;
        if (kept > 0)
            return ASSAY_OK;
    }
    return ASSAY_OK;
}

/* The share of zero bytes in front of the zeros: more than half are no accident of a few small numbers. */
static bool is_sparse(assay_store_file *file, uint64_t begin, uint64_t from)
{
    uint8_t block[SPARSE];
    assay_error err = {""};
    const size_t size = from - begin < SPARSE ? (size_t)(from - begin) : SPARSE;
    size_t got = 0, zeros = 0;
    if (assay_store_read_at(file, from - size, block, size, &got, &err) != ASSAY_OK)
        return true;
    for (size_t i = 0; i < got; i++)
        zeros += block[i] == 0;
    return 2 * zeros > got;
}

/* Looks at one file. `zeros` begin in the extent `in`. */
static bool is_unwritten(const extents *at, assay_store_file *file, uint64_t zeros, size_t in)
{
    const extent *e = &at->list.list[in], *last = &at->list.list[at->list.count - 1];
    const uint64_t end = last->offset + last->length;
    if (e->row == 0)
        return false;
    const uint64_t bytes = zeros - e->offset, inside = (bytes + e->element - 1) / e->element * e->element;
    const uint64_t left = e->row - inside % e->row;
    const bool mid_row = inside % e->row > 0; /* the last value before may end in zero bytes */
    const bool beyond = in + 1 < at->list.count;
    const bool page = zeros % PAGE == 0 && end - zeros >= PAGE; /* of what was not written, whatever row begins there */
    const bool crosses = beyond || end - zeros > left || zeros % SECTOR < 8; /* a filter may have zeros at its end */
    if (inside == 0 || inside == e->length || end - zeros < SURE || (!e->floating && end - zeros < RUN))
        return false;
    if ((!mid_row && !beyond && !page) || !crosses)
        return false;
    return end - zeros >= RUN || !is_sparse(file, e->offset, zeros);
}

static int look_into(const extents *at, assay_store_file *file, assay_verify_remarks *remarks, assay_error *err)
{
    const extent *list = at->list.list;
    size_t in = at->list.count - 1;
    const uint64_t end = list[in].offset + list[in].length;
    uint64_t zeros = 0;
    int status = find_zeros(file, list[0].offset, end, &zeros, err);
    while (status == ASSAY_OK && in > 0 && list[in].offset >= zeros)
        in--;
    if (status == ASSAY_OK && zeros < end && is_unwritten(at, file, zeros, in)) {
        char text[1024];
        snprintf(text, sizeof text,
                 "%s: offset %llu: from within %.500s on, the last %llu bytes are zero: was it written to its end?",
                 at->path, (unsigned long long)zeros, list[in].name, (unsigned long long)(end - zeros));
        status = assay_verify_remark_add(remarks, ASSAY_VERIFY_SUSPECT, at->step, at->path, text);
    }
    return status;
}

/* ---- records that lie in one file each ---- */

/* Entries [first, end) of a part, whose records lie in one file. */
typedef struct file_records {
    const assay_part *part;
    size_t first, end;
} file_records;

/* The records as extents; none where they are not all plain bytes without a checksum. */
static int take_records(const assay_trial_files *trial, const file_records *of, extents *at)
{
    const assay_part *part = of->part;
    const assay_trial_format *format = assay_format_of(part->format);
    for (size_t i = of->first; i < of->end; i++) {
        const assay_entry *entry = &trial->shard.entries[i];
        const assay_file *file = file_of(part, entry);
        assay_note_facts facts;
        if (!file->note || !format->note_facts(file->note, file->note_size, &facts) || facts.summed || !facts.plain) {
            at->list.count = 0;
            return ASSAY_OK;
        }
        extent *e = ASSAY_VEC_ADD(&at->list);
        ASSAY_HAVE(e);
        *e = (extent){entry->offset, entry->length,  facts.element,
                      facts.row,     facts.floating, assay_dict_name(trial->tensors, entry->tensor, NULL)};
    }
    return ASSAY_OK;
}

/* What cannot be opened or read is named where its tensors are read. */
static int look_at_records(const assay_trial_files *trial, const file_records *of, extents *at,
                           assay_verify_remarks *remarks, assay_error *err)
{
    assay_store_file *file = NULL;
    at->list.count = 0;
    int status = take_records(trial, of, at);
    if (status != ASSAY_OK || at->list.count == 0)
        return status;
    status = assay_store_open_file(trial->store, at->path, &file, err);
    ASSAY_THEN(status, look_into(at, file, remarks, err));
    assay_store_close_file(file);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* ---- pieces of tensors that lie in files of several ranks ---- */

ASSAY_ORDER_BY(compare_extents, extent, offset)

static int take_header(const assay_safetensors *header, uint64_t begin, extents *at)
{
    for (uint32_t i = 0; i < assay_dict_count(header->names); i++) {
        const assay_safetensors_tensor *t = &header->tensor[i];
        const uint64_t size = t->dtype < 0 ? 0 : assay_dtype_size(t->dtype);
        uint64_t row = size;
        bool over = false;
        for (uint32_t k = t->dims; k-- > 1 && row < ASSAY_ROW_LEAST * size;)
            over = over || __builtin_mul_overflow(row, (uint64_t)header->dim[t->first_dim + k], &row);
        extent *e = ASSAY_VEC_ADD(&at->list);
        ASSAY_HAVE(e);
        *e = (extent){begin + t->begin,
                      t->end - t->begin,
                      size,
                      over ? 0 : row,
                      t->dtype >= 0 && assay_dtype_is_float(t->dtype),
                      assay_dict_name(header->names, i, NULL)};
    }
    if (at->list.count > 1)
        qsort(at->list.list, at->list.count, sizeof *at->list.list, compare_extents);
    return ASSAY_OK;
}

/* A file of safetensors by its own header. */
static int look_at_pieces(const assay_trial_files *trial, extents *at, assay_verify_remarks *remarks, assay_error *err)
{
    uint8_t prefix[ASSAY_SAFETENSORS_PREFIX];
    assay_safetensors header = {0};
    assay_store_file *file = NULL;
    char *text = NULL;
    uint64_t length = 0, where = 0;
    size_t got = 0;
    int status = assay_store_open_file(trial->store, at->path, &file, err);
    ASSAY_THEN(status, assay_store_read_at(file, 0, prefix, sizeof prefix, &got, err));
    for (size_t i = sizeof prefix; i-- > 0 && got == sizeof prefix;)
        length = length << 8 | prefix[i];
    const uint64_t begin = sizeof prefix + length;
    const bool fits = length > 0 && length <= ASSAY_SAFETENSORS_HEADER_MOST;
    text = status == ASSAY_OK && fits ? assay_alloc((size_t)length) : NULL;
    if (status == ASSAY_OK && fits)
        status = text ? assay_store_read_at(file, sizeof prefix, text, (size_t)length, &got, err) : ASSAY_ENOMEM;
    if (status == ASSAY_OK && text && got == length &&
        (status = assay_safetensors_read(text, (size_t)length, &header, &where, err)) == ASSAY_OK) {
        at->list.count = 0;
        status = take_header(&header, begin, at);
        if (status == ASSAY_OK && at->list.count > 0)
            status = look_into(at, file, remarks, err);
        assay_safetensors_release(&header);
    }
    free(text);
    assay_store_close_file(file);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

static int look_at_part(const assay_trial_files *trial, const assay_part *part, extents *at,
                        assay_verify_remarks *remarks, assay_error *err)
{
    const assay_shard *shard = &trial->shard;
    int status = ASSAY_OK;
    at->step = part->step;
    for (size_t e = part->first, end; e < part->first + part->count && status == ASSAY_OK; e = end) {
        const assay_file *file = file_of(part, &shard->entries[e]);
        end = e + 1;
        at->path = file ? file->name : NULL;
        while (file && end < part->first + part->count && file_of(part, &shard->entries[end]) &&
               strcmp(file_of(part, &shard->entries[end])->name, at->path) == 0)
            end++;
        if (file && file->note)
            status = look_at_records(trial, &(file_records){part, e, end}, at, remarks, err);
    }
    for (uint32_t f = 0; part->files && f < part->files->count && status == ASSAY_OK; f++) {
        at->path = part->files->file[f].name;
        if (!part->files->file[f].note && assay_path_ends(at->path, ".safetensors"))
            status = look_at_pieces(trial, at, remarks, err);
    }
    return status;
}

int assay_verify_zeros(const assay_trial_files *trial, const assay_verify_options *options,
                       assay_verify_remarks *remarks, assay_error *err)
{
    extents at = {0};
    int status = ASSAY_OK;
    for (size_t p = 0; p < trial->shard.count && status == ASSAY_OK; p++) {
        const assay_part *part = &trial->shard.parts[p];
        if (part->step >= options->from && part->step < options->to && assay_format_of(part->format)->checkpoints)
            status = look_at_part(trial, part, &at, remarks, err);
    }
    free(at.list.list);
    return status;
}
