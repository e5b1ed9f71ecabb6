/* zeros.c - looks at the ends of files whose format has no checksum. */
#include "verify/zeros.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/trial_format.h"

/* SURE: bytes of zeros in a row that nobody means in floating-point values. SPARSE: bytes before them that are looked
 * at; where many elements there are zero, so may those at the end be, and RUN bytes are asked for. */
enum { BLOCK = 1 << 16, SURE = 64, SPARSE = 4096, RUN = 16384 };

/* Records of one file, in the order of their places. */
typedef struct ending {
    const assay_part *part;
    size_t first, end; /* entries of the shard */
    const char *path;
} ending;

static const assay_file *file_of(const assay_part *part, const assay_entry *e)
{
    return part->files && e->file < part->files->count ? &part->files->file[e->file] : NULL;
}

/* Are all of them plain bytes without a checksum? */
static bool is_bare(const assay_trial_files *trial, const ending *at)
{
    const assay_trial_format *format = assay_format_of(at->part->format);
    for (size_t i = at->first; i < at->end; i++) {
        const assay_file *file = file_of(at->part, &trial->shard.entries[i]);
        assay_note_facts facts;
        if (!file->note || !format->note_facts(file->note, file->note_size, &facts) || facts.summed || !facts.plain)
            return false;
    }
    return true;
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
        for (size_t i = size; i-- > 0;)
            if (block[i] != 0) {
                *out = *out - size + i + 1;
                return ASSAY_OK;
            }
        *out -= size;
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

/* Looks at one file. `zeros` begin in the record `in`. */
static bool is_unwritten(const assay_trial_files *trial, const ending *at, assay_store_file *file, uint64_t zeros,
                         size_t in)
{
    const assay_entry *e = &trial->shard.entries[in];
    const assay_file *of = file_of(at->part, e);
    const uint64_t end = trial->shard.entries[at->end - 1].offset + trial->shard.entries[at->end - 1].length;
    assay_note_facts facts;
    if (!assay_format_of(at->part->format)->note_facts(of->note, of->note_size, &facts) || facts.row == 0)
        return false;
    const uint64_t inside = zeros - e->offset, left = facts.row - inside % facts.row;
    const bool mid_row = inside % facts.row >= 8 && left < facts.row; /* the last values before may have zero bytes */
    const bool beyond = in + 1 < at->end;
    if (inside == 0 || inside == e->length || end - zeros < SURE || (!facts.floating && end - zeros < RUN))
        return false;
    if (!mid_row && !beyond)
        return false;
    return end - zeros >= RUN || !is_sparse(file, e->offset, zeros);
}

static int look(const assay_trial_files *trial, const ending *at, assay_verify_remarks *remarks, assay_error *err)
{
    const assay_entry *entry = trial->shard.entries;
    assay_store_file *file = NULL;
    uint64_t zeros = 0;
    if (!is_bare(trial, at))
        return ASSAY_OK;
    int status = assay_store_open_file(trial->store, at->path, &file, err);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_OK; /* named where its tensors are read */
    const uint64_t end = entry[at->end - 1].offset + entry[at->end - 1].length;
    status = find_zeros(file, entry[at->first].offset, end, &zeros, err);
    size_t in = at->end - 1;
    while (status == ASSAY_OK && in > at->first && entry[in].offset >= zeros)
        in--;
    if (status == ASSAY_OK && zeros < end && is_unwritten(trial, at, file, zeros, in)) {
        char text[1024];
        snprintf(text, sizeof text,
                 "%s: offset %llu: from within %.500s on, the last %llu bytes are zero: was it written to its end?",
                 at->path, (unsigned long long)zeros, assay_dict_name(trial->tensors, entry[in].tensor, NULL),
                 (unsigned long long)(end - zeros));
        status = assay_verify_remark_add(remarks, ASSAY_VERIFY_SUSPECT, at->part->step, at->path, text);
    }
    assay_store_close_file(file);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

int assay_verify_zeros(const assay_trial_files *trial, const assay_verify_options *options,
                       assay_verify_remarks *remarks, assay_error *err)
{
    const assay_shard *shard = &trial->shard;
    int status = ASSAY_OK;
    for (size_t p = 0; p < shard->count && status == ASSAY_OK; p++) {
        const assay_part *part = &shard->parts[p];
        if (part->step < options->from || part->step >= options->to || !assay_format_of(part->format)->checkpoints)
            continue;
        for (size_t e = part->first; e < part->first + part->count && status == ASSAY_OK;) {
            const assay_file *file = file_of(part, &shard->entries[e]);
            ending at = {part, e, e + 1, file ? file->name : NULL};
            while (file && at.end < part->first + part->count && file_of(part, &shard->entries[at.end]) &&
                   strcmp(file_of(part, &shard->entries[at.end])->name, at.path) == 0)
                at.end++;
            if (file)
                status = look(trial, &at, remarks, err);
            e = at.end;
        }
    }
    return status;
}
