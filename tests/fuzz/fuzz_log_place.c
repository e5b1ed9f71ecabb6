/* Any bytes as a log of metrics in which a step is looked for (trial/stands.h), after one byte that says of which kind: no crash, and a place
 * only where there is one. */
#include <stdlib.h>
#include <string.h>

#include "trial/stands.h"
#include "workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static workspace w;
    static const char *const names[] = {"log.json", "log.csv", "events.out.tfevents.1", "run-1.wandb"};
    const char *const name = size > 0 ? names[data[0] % 4] : "";
    char path[300];
    assay_store *store = NULL;
    assay_error err = {""};
    if (size == 0 || size > 1 << 16)
        return 0;
    if (!w.root[0])
        workspace_make(&w);
    snprintf(path, sizeof path, "%s/%s", w.root, name);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data + 1, 1, size - 1, out) != size - 1 || fclose(out) != 0 ||
        assay_store_open(w.root, &store, &err) != ASSAY_OK)
        abort();
    for (int64_t step = -1; step < 304; step = step < 3 ? step + 1 : step + 100) {
        assay_stand stand;
        const int found = assay_trial_stands(store, NULL, step, "metrics/loss", &stand);
        if (found < 0 || (found == 1) != (stand.path != NULL) || (step < 0 && found == 1) || stand.line > size)
            abort();
        assay_stand_release(&stand);
    }
    assay_store_close(store);
    (void)remove(path);
    return 0;
}
