/* kept.c - see kept.h. Heads and contents of a kept part are one block, and blocks lie one behind the other in slabs,
 * which the system backs with huge pages where it can: with small ones, faults take longer than decoding. */
#include "recording/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "recording/place.h"

enum { SMALL_FILES = 256 << 10, BLOCK_MOST = 1 << 20, SLAB = 32 << 20 };
/* READS_BEFORE: what is read once may never be read again; what is read twice mostly is. NEVER: the part was looked
 * at, whatever came of it. */
enum { READS_BEFORE = 1, NEVER = 255, ALIGN = 16 };
/* MAPS_MOST: programs map other files too, and where no more can be mapped nothing can be allocated. */
enum { MAPS_MOST = 16 << 10 }; /* a quarter of the mappings that Linux gives a process */
#define KEEP_AT_FIRST ((size_t)512 << 20)
#define NOT_KEPT      UINT32_MAX

/* One block has heads and contents of all records; NOT_KEPT in `at` for those that were too large or failed. `map`
 * outlives the block's pointers into it. */
struct recording_part {
    uint8_t *block; /* in a slab */
    size_t size;
    recording_mapped map; /* of the part's first file */
    uint32_t file;        /* its number */
    uint32_t at[];        /* [records of the part] of the head in the block */
};

typedef struct kept_head { /* followed by the shape; then by the content at the next multiple of ALIGN, if it is here */
    const uint8_t *content;
    double wall_time;
    uint64_t elements, bytes;
    int32_t dtype, dims;
} kept_head;

int recording_kept_init(recording_kept *kept, size_t parts)
{
    *kept = (recording_kept){.parts = assay_alloc_zeroed(parts, sizeof(recording_part *)),
                             .read = assay_alloc_zeroed(parts, 1),
                             .most = KEEP_AT_FIRST};
    return kept->parts && kept->read ? ASSAY_OK : ASSAY_ENOMEM;
}

void recording_kept_release(recording_kept *kept, size_t parts)
{
    for (size_t i = 0; kept->parts && i < parts; i++) {
        if (kept->parts[i])
            recording_unmap(&kept->parts[i]->map);
        free(kept->parts[i]);
    }
    for (size_t i = 0; i < kept->slabs; i++)
        assay_heap_give_large(kept->slab[i], SLAB);
    free(kept->slab);
    free(kept->parts);
    free(kept->read);
    *kept = (recording_kept){0};
}

void recording_head_of(const assay_record *record, assay_recorded_head *head)
{
    head->dtype = record->dtype;
    head->dims = record->dims;
    head->elements = record->elements;
    head->bytes = record->content_bytes;
    head->wall_time = record->wall_time;
    memcpy(head->shape, record->shape, (size_t)record->dims * sizeof *head->shape);
}

/* The content arrives where it is to be, where the reader can do that: assay_reader_put_at() is a wish. */
int recording_pull(assay_reader *records, uint8_t *to, uint64_t bytes, assay_error *err)
{
    const uint8_t *piece;
    size_t size = 0;
    uint64_t got = 0;
    int status = ASSAY_OK;
    if (bytes > 0)
        assay_reader_put_at(records, to);
    while ((status = assay_reader_content(records, 0, &piece, &size, err)) == ASSAY_OK && size > 0)
        got += size;
    return status == ASSAY_OK && got != bytes
               ? assay_fail(err, ASSAY_EFORMAT, "a record has %llu bytes of content, not %llu", (unsigned long long)got,
                            (unsigned long long)bytes)
               : status;
}

static size_t align(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

/* Where the content lies behind a head. */
static size_t content_at(int dims)
{
    return align(sizeof(kept_head) + (size_t)dims * sizeof(int64_t));
}

/* Finds where the content of the record that is open lies in the part's mapping; NULL: it does not. The first record
 * of a part maps its file. A file may be shorter than its index says. */
static const uint8_t *mapped_content(recording_kept *kept, const assay_trial_reader *reader, const assay_entry *entry,
                                     const assay_record *record, recording_part *part, bool first)
{
    const char *path;
    uint64_t offset;
    if (first && kept->maps < MAPS_MOST && recording_map(reader, record, &part->map)) {
        part->file = entry->file;
        kept->maps++;
    }
    if (!part->map.bytes || entry->file != part->file || record->checksum != ASSAY_CHECKSUM_CONSTANT ||
        !assay_reader_place(reader->records, &path, &offset))
        return NULL;
    return offset <= part->map.size && record->content_bytes <= part->map.size - offset ? part->map.bytes + offset
                                                                                        : NULL;
}

/* Has the records of one file read in one piece, as far as the reader has room. */
static void expect_rest(assay_trial_reader *reader, const assay_part *part, const assay_entry *first)
{
    const assay_entry *last = first + part->count - 1;
    if (reader->records && reader->part == part && last->file == first->file)
        assay_reader_expect(reader->records, first->offset, last->offset + last->length);
}

/* Appends the record of an entry to the block, if it can be read and fits; its content only where it is not mapped.
 * Errors are left to whoever reads the record by itself. */
static void keep_record(recording_kept *kept, assay_trial_reader *reader, const assay_part *part, uint32_t number,
                        recording_part *made)
{
    const assay_entry *entry = &reader->trial->shard.entries[part->first + number];
    assay_record record;
    made->at[number] = NOT_KEPT;
    if (assay_trial_record(reader, part, entry, &record, NULL) != ASSAY_OK || record.dtype == ASSAY_STRING)
        return;
    if (number == 0)
        expect_rest(reader, part, entry);
    const uint8_t *content = mapped_content(kept, reader, entry, &record, made, number == 0);
    const size_t end = made->size + content_at(record.dims), copied = content ? 0 : (size_t)record.content_bytes;
    if (record.content_bytes > BLOCK_MOST || end + copied > BLOCK_MOST)
        return;
    uint8_t *own = made->block + end;
    if (!content && recording_pull(reader->records, own, record.content_bytes, NULL) != ASSAY_OK)
        return;
    const kept_head head = {content ? content : own, record.wall_time, record.elements,
                            record.content_bytes,    record.dtype,     record.dims};
    memcpy(made->block + made->size, &head, sizeof head);
    memcpy(made->block + made->size + sizeof head, record.shape, (size_t)record.dims * sizeof *record.shape);
    made->at[number] = (uint32_t)made->size;
    made->size = align(end + copied);
}

/* Finds where the next block begins, with room for the largest one. NULL: no memory. */
static uint8_t *next_block(recording_kept *kept)
{
    if (kept->slabs > 0 && SLAB - kept->slab_used >= BLOCK_MOST)
        return kept->slab[kept->slabs - 1] + kept->slab_used;
    uint8_t **grown = assay_realloc_array(kept->slab, kept->slabs + 1, sizeof *grown);
    if (!grown)
        return NULL;
    kept->slab = grown;
    uint8_t *slab = assay_heap_take_large(SLAB);
    if (!slab)
        return NULL;
    kept->slab[kept->slabs++] = slab;
    kept->slab_used = 0;
    return slab;
}

/* Decodes a part. NULL: no memory, which is no failure either: the part is read from its file. */
static recording_part *keep_part(recording_kept *kept, assay_trial_reader *reader, const assay_part *part)
{
    recording_part *made = assay_alloc(sizeof *made + part->count * sizeof *made->at);
    uint8_t *block = made ? next_block(kept) : NULL;
    if (!block) {
        free(made);
        return NULL;
    }
    *made = (recording_part){.block = block};
    for (uint32_t i = 0; i < part->count; i++)
        keep_record(kept, reader, part, i, made);
    kept->slab_used += made->size;
    return made;
}

/* Called with the recording's lock held, like all below. */
static void count_read(recording_kept *kept, assay_trial_reader *reader, const assay_part *part, size_t number)
{
    if (kept->read[number] == NEVER || kept->read[number]++ < READS_BEFORE)
        return;
    kept->read[number] = NEVER;
    if (kept->size >= kept->most || assay_part_span(&reader->trial->shard, part) > SMALL_FILES)
        return;
    kept->parts[number] = keep_part(kept, reader, part);
    if (kept->parts[number])
        kept->size += kept->parts[number]->size + part->count * sizeof(uint32_t);
}

/* A part is kept at its second read, so the first one of a record is never slowed down by it. What is returned stays
 * until the recording is closed. */
const uint8_t *recording_kept_find(recording_kept *kept, assay_trial_reader *reader, const assay_part *part,
                                   const assay_entry *entry, assay_recorded_head *head)
{
    const assay_shard *shard = &reader->trial->shard;
    const size_t number = (size_t)(part - shard->parts);
    if (!kept->parts[number])
        count_read(kept, reader, part, number);
    const recording_part *there = kept->parts[number];
    const uint32_t at = there ? there->at[(size_t)(entry - shard->entries) - part->first] : NOT_KEPT;
    if (at == NOT_KEPT)
        return NULL;
    kept_head found;
    memcpy(&found, there->block + at, sizeof found);
    head->dtype = found.dtype;
    head->dims = found.dims;
    head->elements = found.elements;
    head->bytes = found.bytes;
    head->wall_time = found.wall_time;
    memcpy(head->shape, there->block + at + sizeof found, (size_t)found.dims * sizeof *head->shape);
    return found.content;
}
