/* smdebug.c - the format's table. */
#include "format/smdebug/smdebug.h"

#include <stdio.h>

#include "format/smdebug/reductions.h"
#include "format/smdebug/topology_json.h"
#include "format/tfrecord/decode.h"
#include "tfrecord/frame.h"

/* ---- derive ---- */

/* Which worker has which piece, as the recording library said it: topology/<worker>.json of all workers. */

enum { PATH_ROOM = 768 };

/* What a worker said, where nothing failed. */
enum { ALL_OF_IT, NOTHING, SOME_OF_IT };

/* One of these, or a negative status. */
static int read_worker(assay_store *store, const assay_catalog *catalog, uint32_t worker, const assay_names *names,
                       assay_said *said, assay_problems *problems)
{
    char path[PATH_ROOM];
    static const size_t FOLDER = sizeof "topology/" - 1;
    assay_buf text = ASSAY_BUF(ASSAY_TOPOLOGY_JSON_MOST);
    assay_error why = {""};
    const uint64_t before = problems->total;
    if (snprintf(path, sizeof path, "topology/%s.json", catalog->worker_key[worker]) >= (int)sizeof path ||
        !assay_names_have(names, path + FOLDER))
        return NOTHING;
    int status = assay_store_read(store, path, ASSAY_TOPOLOGY_JSON_MOST, &text, &why);
    if (status == ASSAY_OK) {
        status = assay_topology_json_add(said, worker, path, text.data, text.size, problems);
    } else if (status != ASSAY_ENOMEM) {
        assay_problems_add(problems, ASSAY_PROBLEM_TOPOLOGY, -1, path, -1,
                           "%s; which pieces this worker has is not known", why.text);
        status = problems->status;
    }
    assay_buf_release(&text);
    return status == ASSAY_OK && problems->total > before ? SOME_OF_IT : status;
}

/* derive.c */
static int assay_smdebug_derive(assay_store *store, const assay_catalog *catalog, assay_buf *out, assay_buf *why,
                                assay_problems *problems)
{
    assay_names names = {0};
    assay_said said;
    uint32_t files = 0, sound = 0;
    if (catalog->workers == 0 || assay_store_list(store, "topology", &names, NULL) != ASSAY_OK)
        return ASSAY_OK;
    assay_problems_name_aside(problems, -1, &names, "topology", ".json");
    int status = assay_said_init(&said, catalog->worker, catalog->workers, catalog->expected_workers);
    for (uint32_t w = 0; w < catalog->workers && status >= 0; w++) {
        status = read_worker(store, catalog, w, &names, &said, problems);
        files += status != NOTHING;
        sound += status == ALL_OF_IT;
    }
    if (status >= 0 && files > 0) {
        assay_put_format(why, "recorded with the tensors (topology/), by %u of %u workers\n", sound, catalog->workers);
        said.said = sound;
        status = assay_said_put_topology(&said, out, why, problems);
    }
    assay_said_release(&said);
    assay_names_release(&names);
    return status < 0 ? status : ASSAY_OK;
}

/* ---- smdebug ---- */

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
    .index_is_complete = true,
    .has_index_tables = true,
};
