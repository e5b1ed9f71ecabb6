/* smdebug.c - the format's table. */
#include "format/smdebug/smdebug.h"

#include "tfrecord/frame.h"
#include "format/smdebug/reductions.h"
#include "format/tfrecord/decode.h"

static int file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room)
{
    (void)file; /* a part has one */
    return assay_smdebug_event_path(catalog, part->step, part->worker, out, room);
}

/* Saved reductions are told by their names. */
static int decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *record, assay_error *err)
{
    int status = assay_tfrecord_decode(d, view, budget, record, err);
    if (status == ASSAY_OK)
        record->kind = assay_reduction_split(record->tag, record->tag_length, &record->name, &record->name_length);
    return status;
}

const assay_trial_format assay_format_smdebug = {
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
    .decode = decode,
    .record_least = ASSAY_FRAME_BYTES,
    .record_most = ASSAY_FRAME_MOST,
    .record_tail = 1024, /* the metadata comes behind the tensor */
    .places = assay_smdebug_places,
    .unit_places = assay_smdebug_unit_places,
    .trees = assay_smdebug_trees,
    .holds_files = assay_smdebug_holds_files,
    .derive = assay_smdebug_derive,
    .promised = true,
    .cached = true,
};
