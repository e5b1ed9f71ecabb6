/* Any bytes as what Slurm says of a job, and as its job.json: no crash; each rank has one node of those named, or none. */
#include <stdlib.h>
#include <string.h>

#include "why/internal.h"
#include "workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(const workspace *w, const char *name, const uint8_t *data, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", w->root, name);
    FILE *out = fopen(path, "wb");
    if (!out || (size > 0 && fwrite(data, 1, size, out) != size) || fclose(out) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static workspace w;
    assay_store *store = NULL;
    why_places places = {.job = -1};
    why_facts facts = {.tasks = -1};
    assay_error err = {""};
    if (size == 0 || size > 1 << 16)
        return 0;
    if (!w.root[0])
        workspace_make(&w);
    put(&w, "sacct.txt", data + 1, size - 1);
    put(&w, "job.json", data + 1, data[0] & 1 ? size - 1 : 0);
    if (!(data[0] & 1)) {
        char path[300];
        snprintf(path, sizeof path, "%s/job.json", w.root);
        (void)remove(path);
    }
    const int status = why_find(w.root, NULL, &places, &err);
    if (status != ASSAY_OK && err.text[0] == '\0')
        abort();
    if (status == ASSAY_OK) {
        if (assay_store_open(w.root, &store, &err) != ASSAY_OK || why_facts_read(store, &places, &facts) != ASSAY_OK)
            abort();
        for (int64_t rank = -1; rank < 100; rank++) {
            const char *node = why_node_of(&facts, rank);
            if (node && (rank < 0 || node < facts.node))
                abort();
        }
    }
    why_facts_release(&facts);
    why_places_release(&places);
    assay_store_close(store);
    return 0;
}
