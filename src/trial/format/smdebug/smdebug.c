/* smdebug.c - the format's table. */
#include "trial/format/smdebug/smdebug.h"

#include "tfrecord/frame.h"

static int file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room)
{
    (void)file; /* a part has one */
    return assay_smdebug_event_path(catalog, part->step, part->worker, out, room);
}

const assay_format assay_format_smdebug = {
    .name = "smdebug",
    .what = "index/ nor events/ nor collections/",
    .probe = assay_smdebug_probe,
    .list = assay_smdebug_list,
    .conclude = assay_smdebug_conclude,
    .remark = assay_smdebug_remark,
    .place_of = assay_smdebug_place_of,
    .index_path = assay_smdebug_index_path,
    .file_path = file_path,
    .index = assay_smdebug_index,
    .record_least = ASSAY_FRAME_BYTES,
    .cached = true,
};
