/* fuzz_checkpoint.c - a checkpoint file is read with no trust: as it is, and with a checksum that fits, so that the
 * rest is reached. Nodes that are accepted lie within their trials, in order, and within the bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/reduce/restart.h"

static void parse(const assay_plan *plan, const void *bytes, size_t size)
{
    assay_restart_identity identity = {.version = "0.1.0"};
    assay_restart_node *nodes = NULL;
    assay_error err = {""};
    size_t count = 0;
    uint64_t behind = 0;
    memset(identity.job, 'a', sizeof identity.job - 1);
    memset(identity.trials, 'b', sizeof identity.trials - 1);
    int status = assay_restart_parse("fuzz", bytes, size, &identity, plan, &nodes, &count, &err);
    if (status != ASSAY_OK && err.text[0] == '\0')
        abort();
    for (size_t i = 0; i < count; i++) {
        uint64_t first = assay_restart_first(plan, &nodes[i]), end = assay_restart_end(plan, &nodes[i]);
        const assay_source_plan *source = &plan->sources[nodes[i].source];
        if (first < behind || end <= first || first < source->first_chunk || end > source->first_chunk + source->chunks)
            abort();
        if (nodes[i].at > size || nodes[i].size > size - nodes[i].at)
            abort();
        behind = end;
    }
    free(nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_source_plan sources[2] = {{.first_chunk = 0, .chunks = 5}, {.first_chunk = 5, .chunks = 3}};
    assay_plan plan = {.sources = sources, .source_count = 2, .chunk_count = 8};
    char hex[65];
    assay_sha256 hash;
    assay_buf sealed;
    parse(&plan, data, size);
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, data, size);
    assay_sha256_hex(&hash, hex);
    assay_buf_init(&sealed, SIZE_MAX);
    assay_put_bytes(&sealed, data, size);
    assay_put_bytes(&sealed, hex, 64);
    if (assay_buf_status(&sealed) == ASSAY_OK)
        parse(&plan, sealed.data, sealed.size);
    assay_buf_release(&sealed);
    return 0;
}
