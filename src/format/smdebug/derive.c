/* derive.c - which worker has which piece, as the recording library said it: topology/<worker>.json of all workers. */
#include "format/smdebug/smdebug.h"

#include <stdio.h>

#include "format/smdebug/topology_json.h"

enum { PATH_ROOM = 768 };

/* What a worker said, where nothing failed. */
enum { ALL_OF_IT, NOTHING, SOME_OF_IT };

/* One of these, or a negative status. */
static int read_worker(assay_store *store, const assay_catalog *catalog, uint32_t worker, const assay_names *names,
                       assay_said *said, assay_problems *problems)
{
    char path[PATH_ROOM];
    static const size_t FOLDER = sizeof "topology/" - 1;
    assay_buf text;
    assay_error why = {""};
    const uint64_t before = problems->total;
    if (snprintf(path, sizeof path, "topology/%s.json", catalog->worker_key[worker]) >= (int)sizeof path ||
        !assay_names_have(names, path + FOLDER))
        return NOTHING;
    assay_buf_init(&text, ASSAY_TOPOLOGY_JSON_MOST);
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

int assay_smdebug_derive(assay_store *store, const assay_catalog *catalog, assay_buf *out, assay_buf *why,
                         assay_problems *problems)
{
    assay_names names = {0};
    assay_said said;
    uint32_t files = 0, sound = 0;
    if (catalog->workers == 0 || assay_store_list(store, "topology", &names, NULL) != ASSAY_OK)
        return ASSAY_OK;
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
