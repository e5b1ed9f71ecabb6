/* Any bytes as an index file; what was read survives packing. */
#include <stdlib.h>
#include <string.h>

#include "format/smdebug/smdebug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pack(const assay_shard *s)
{
    assay_buf out, again;
    assay_shard copy;
    assay_shard_init(&copy);
    assay_buf_init(&out, SIZE_MAX / 4);
    assay_buf_init(&again, SIZE_MAX / 4);
    assay_shard_pack(s, 0, s->count, &out);
    assay_cursor in = assay_cursor_over(out.data, out.size);
    if (assay_shard_unpack(&in, &copy, NULL) != ASSAY_OK || assay_cursor_bad(&in))
        abort();
    assay_shard_pack(&copy, 0, copy.count, &again);
    if (out.size != again.size || memcmp(out.data, again.data, out.size) != 0)
        abort();
    assay_shard_release(&copy);
    assay_buf_release(&out);
    assay_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char worker[] = "worker_0";
    static char *workers[] = {worker};
    const assay_catalog catalog = {.worker_key = workers, .worker = workers, .workers = 1};
    const assay_unit name = {.step = 10};
    assay_dict *dict = assay_dict_new();
    assay_shard shard;
    assay_problems problems;
    assay_shard_init(&shard);
    assay_problems_init(&problems);
    if (!dict || assay_smdebug_index_parse(&catalog, &name, data, size, &(assay_index_sink){dict, &shard, &problems}) !=
                     ASSAY_OK)
        abort();
    if (shard.count == 0 && problems.total == 0)
        abort(); /* nothing is left out without a word */
    for (size_t i = 0; i < shard.entry_count; i++) {
        const assay_entry *e = &shard.entries[i];
        if (e->tensor >= assay_dict_count(dict) || e->length < 16 || e->offset > INT64_MAX - e->length ||
            (i > 0 && e->offset < e[-1].offset))
            abort();
    }
    check_pack(&shard);
    assay_dict_free(dict);
    assay_shard_release(&shard);
    assay_problems_release(&problems);
    return 0;
}
