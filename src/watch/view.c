/* view.c - a watched trial as an evaluation sees it: the steps that are complete, as if nothing else were there.
 */
#include <stdlib.h>

#include "base/fault.h"
#include "watch/watch_internal.h"

static int put_listing(watched_source *source, assay_index_name **files, assay_buf *out)
{
    assay_listing head = source->listing;
    *files = assay_alloc(head.count * sizeof **files);
    if (!*files)
        return ASSAY_ENOMEM;
    head.files = NULL;
    head.count = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < source->listing.count; i++)
        if (watched_part_seen(source->part[i]))
            (*files)[seen++] = source->listing.files[i];
    assay_put_u64(out, seen);
    assay_listing_pack(&head, out);
    return assay_buf_status(out);
}

int assay_watch_put_listings(void *context, assay_sources *sources, assay_buf *out)
{
    assay_watch *watch = context;
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < watch->sources.count; s++) {
        watched_source *source = &watch->list[s];
        source->evaluated = source->view;
        assay_put_u32(out, s);
        assay_put_i64(out, source->listed ? ASSAY_OK : ASSAY_ENOTFOUND);
        assay_put_text(out, source->listed ? "" : "the trial is not there yet");
        if (source->listed)
            status = put_listing(source, &sources->list[s].listed, out);
    }
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

/* From the numbers of all names that the source ever had to those that the evaluations see. */
static int renumber(watched_source *source, assay_segment *segment, assay_dict *to)
{
    uint32_t count = assay_dict_count(source->names);
    uint32_t *new_id = assay_alloc_zeroed(count, sizeof *new_id);
    uint8_t *wanted = assay_alloc_zeroed(count, 1);
    int status = new_id && wanted ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < segment->entry_count; i++)
        wanted[segment->entries[i].tensor] = 1;
    for (size_t i = 0; status == ASSAY_OK && i < segment->shape_count; i++)
        wanted[segment->shapes[i].tensor] = 1;
    if (status == ASSAY_OK)
        status = assay_watch_number(&source->numbers, source->names, wanted, to, new_id);
    if (status == ASSAY_OK)
        assay_segment_renumber(segment, new_id);
    free(new_id);
    free(wanted);
    return status;
}

int assay_watch_read_index(void *context, uint32_t number, assay_dict *names, assay_segment *segment)
{
    assay_watch *watch = context;
    watched_source *source = &watch->list[number];
    assay_buf packed;
    assay_buf_init(&packed, SIZE_MAX);
    int status = ASSAY_OK;
    for (size_t i = 0; source->listed && status == ASSAY_OK && i < source->listing.count; i++) {
        if (!watched_part_seen(source->part[i]))
            continue;
        assay_buf_clear(&packed);
        assay_segment_pack(&source->part[i]->segment, 0, 1, &packed);
        assay_cursor in = assay_cursor_over(packed.data, packed.size);
        status = assay_buf_status(&packed);
        if (status == ASSAY_OK)
            status = assay_segment_unpack(&in, segment, NULL);
        if (status == ASSAY_OK) /* workers that came since have moved the numbers */
            segment->parts[segment->count - 1].worker = source->listing.files[i].worker;
    }
    assay_buf_release(&packed);
    return status == ASSAY_OK ? renumber(source, segment, names) : status;
}
