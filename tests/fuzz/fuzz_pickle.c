/* Any bytes as a pickle: every node and item of what is taken lies where it may. */
#include <stdlib.h>

#include "container/pickle.h"
#include "format/checkpoint/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool visit(void *context, uint32_t node, const char *path, size_t length)
{
    const assay_pickle *p = context;
    if (node >= p->nodes || (length > 0 && !path))
        abort();
    const assay_pickle_node *n = &p->node[node];
    if ((n->kind == ASSAY_PICKLE_TEXT || n->kind == ASSAY_PICKLE_BYTES) &&
        (n->a > 1 << 20 || n->size > (1 << 20) - n->a))
        abort();
    assay_pickle_get(p, node, "state");
    assay_pickle_at(p, node, 1);
    return length > 4096; /* a key may be long, and deep down be there many times */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_pickle p;
    assay_error err = {{0}};
    if (size > 1 << 20)
        return 0;
    const int status = assay_pickle_read(data, size, &p, &err);
    if (status == ASSAY_OK) {
        assay_buf path;
        assay_buf_init(&path, SIZE_MAX);
        if (assay_walk(&p, p.root, &path, visit, &p) != ASSAY_OK)
            abort();
        assay_buf_release(&path);
    } else if (err.text[0] == '\0' || p.node) {
        abort();
    }
    assay_pickle_release(&p);
    return 0;
}
