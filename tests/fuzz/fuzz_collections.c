/* Any bytes as a collections file: added twice it changes nothing, and it survives packing. */
#include <stdlib.h>
#include <string.h>

#include "format/smdebug/collections_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack(const assay_collections *c, assay_buf *out)
{
    assay_buf_init(out, SIZE_MAX / 4);
    assay_collections_pack(c, out);
}

static void must_equal(const assay_buf *a, const assay_buf *b)
{
    if (a->size != b->size || memcmp(a->data, b->data, a->size) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_collections c = {0}, copy = {0};
    assay_collections_reader reader = {.collections = &c};
    assay_problems problems;
    assay_buf once, twice, unpacked;
    assay_problems_init(&problems);
    if (assay_collections_read(&reader, "f", data, size, &problems) != ASSAY_OK)
        abort();
    pack(&c, &once);
    if (assay_collections_read(&reader, "f", data, size, &problems) != ASSAY_OK)
        abort();
    pack(&c, &twice);
    must_equal(&once, &twice);
    assay_cursor in = assay_cursor_over(once.data, once.size);
    if (assay_collections_unpack(&in, &copy, NULL) != ASSAY_OK || assay_cursor_bad(&in))
        abort();
    pack(&copy, &unpacked);
    must_equal(&once, &unpacked);
    for (size_t i = 0; i < c.count && i < 8; i++) {
        assay_matcher *m = NULL;
        if (assay_matcher_new(&c, i, &m, &problems) != ASSAY_OK)
            abort();
        for (size_t k = 0; k < c.list[i].tensors && k < 8; k++)
            if (assay_matcher_has(m, c.list[i].tensor[k], strlen(c.list[i].tensor[k]), &problems) != 1)
                abort();
        assay_matcher_has(m, (const char *)data, size < 32 ? size : 32, &problems);
        assay_matcher_free(m);
    }
    assay_buf_release(&once);
    assay_buf_release(&twice);
    assay_buf_release(&unpacked);
    assay_collections_reader_release(&reader);
    assay_collections_release(&c);
    assay_collections_release(&copy);
    assay_problems_release(&problems);
    return 0;
}
