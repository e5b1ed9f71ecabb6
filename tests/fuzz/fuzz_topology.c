/* Any bytes as a topology.json, laid on the names of some workers and tensors. */
#include <stdlib.h>
#include <string.h>

#include "mesh/relations.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const workers[] = {(char[]){"rank_0"}, (char[]){"rank_1"}, (char[]){"rank_2"}, (char[]){"mp_rank_01_001"}};
    static const char *const tensors[] = {"decoder.layers.0.linear_fc1.weight",
                                          "optimizer/decoder.layers.1.bias/exp_avg", "gradient/x", "optimizer/",
                                          "ema/layers.9999999999999999999.y"};
    enum { WORKERS = sizeof workers / sizeof *workers, TENSORS = sizeof tensors / sizeof *tensors };
    assay_topology *t = NULL;
    assay_error err = {""};
    if (assay_topology_parse("fuzz", data, size, &t, &err) != ASSAY_OK) {
        if (err.text[0] == '\0')
            abort(); /* whatever is wrong is said */
        return 0;
    }
    assay_layouts layouts, joined;
    assay_relations *relations = NULL;
    assay_buf name, packed;
    assay_buf_init(&name, SIZE_MAX);
    assay_buf_init(&packed, SIZE_MAX);
    if (assay_layouts_init(&layouts) != ASSAY_OK || assay_layouts_init(&joined) != ASSAY_OK)
        abort();
    if (assay_topology_place(t, "fuzz", workers, WORKERS, &err) == ASSAY_OK) {
        for (uint32_t w = 0; w < WORKERS; w++)
            for (int i = 0; i < TENSORS; i++) {
                int status;
                const uint32_t id =
                    assay_layouts_meet(&layouts, t, w, tensors[i], strlen(tensors[i]), &name, &status, &err);
                if (id == ASSAY_NO_ID && status == ASSAY_OK)
                    abort();
            }
        assay_layouts_pack(&layouts, &packed);
        assay_cursor in = assay_cursor_over(packed.data, packed.size);
        if (assay_layouts_join(&joined, &in, t) != ASSAY_OK || assay_cursor_bad(&in))
            abort();
        if (assay_relations_new(t, &joined, layouts.names, &relations) != ASSAY_OK)
            abort();
    }
    assay_relations_free(relations);
    assay_layouts_release(&layouts);
    assay_layouts_release(&joined);
    assay_buf_release(&name);
    assay_buf_release(&packed);
    assay_topology_free(t);
    return 0;
}
