/* restart.c - writes the bytes of a checkpoint file, and reads them without trusting them. */
#include "engine/reduce/restart.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"

enum { MAGIC = sizeof ASSAY_RESTART_MAGIC - 1, FORMAT_VERSION = 3, HEX = 64, NODE_HEAD = 4 + 4 + 8 + 8 };

void assay_restart_init(assay_restart *c)
{
    *c = (assay_restart){.nodes = NULL};
    assay_buf_init(&c->bytes, SIZE_MAX);
}

void assay_restart_release(assay_restart *c)
{
    free(c->nodes);
    assay_buf_release(&c->bytes);
    assay_restart_init(c);
}

uint64_t assay_restart_first(const assay_plan *plan, const assay_restart_node *node)
{
    return plan->sources[node->source].first_chunk + (node->index << node->level);
}

uint64_t assay_restart_end(const assay_plan *plan, const assay_restart_node *node)
{
    return assay_restart_first(plan, node) + ((uint64_t)1 << node->level);
}

static void digest_of(const void *bytes, size_t size, char hex[HEX + 1])
{
    assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, bytes, size);
    assay_sha256_hex(&hash, hex);
}

void assay_restart_put_node(assay_buf *out, uint32_t source, uint32_t level, uint64_t index, const void *packed,
                            uint64_t size)
{
    assay_put_u32(out, source);
    assay_put_u32(out, level);
    assay_put_u64(out, index);
    assay_put_u64(out, size);
    assay_put_bytes(out, packed, size);
}

void assay_restart_put_file(assay_buf *out, const assay_restart_identity *identity, uint64_t chunks,
                            const assay_buf *nodes, uint64_t count)
{
    char hex[HEX + 1];
    assay_put_bytes(out, ASSAY_RESTART_MAGIC, MAGIC);
    assay_put_u32(out, FORMAT_VERSION);
    assay_put_text(out, identity->version);
    assay_put_bytes(out, identity->job, HEX);
    assay_put_bytes(out, identity->trials, HEX);
    assay_put_u64(out, chunks);
    assay_put_u64(out, count);
    assay_put_bytes(out, nodes->data, nodes->size);
    digest_of(out->data, out->size, hex);
    assay_put_bytes(out, hex, HEX);
}

/* A node has to lie in its trial and behind the node before it. */
static bool fits(const assay_plan *plan, const assay_restart_node *node, uint64_t behind)
{
    if (node->source >= plan->source_count || node->level >= 64)
        return false;
    uint64_t chunks = plan->sources[node->source].chunks, width = (uint64_t)1 << node->level;
    return width <= chunks && node->index < chunks / width && assay_restart_first(plan, node) >= behind;
}

static int damaged(const char *path, assay_error *err)
{
    return assay_fail(err, ASSAY_EUSAGE,
                      "%s: the checkpoint is damaged (its checksum or its contents do not agree): remove the file "
                      "and start anew",
                      path);
}

static int read_nodes(assay_cursor *in, const char *path, const assay_plan *plan, assay_restart_node **nodes,
                      size_t *count, assay_error *err)
{
    uint64_t n = assay_get_count(in, NODE_HEAD), behind = 0;
    assay_restart_node *list = assay_alloc_zeroed((size_t)n, sizeof *list);
    if (!list)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for the nodes of the checkpoint", path);
    for (uint64_t i = 0; i < n; i++) {
        assay_restart_node *node = &list[i];
        node->source = assay_get_u32(in);
        node->level = assay_get_u32(in);
        node->index = assay_get_u64(in);
        node->size = assay_get_u64(in);
        node->at = in->at;
        if (in->failed || !fits(plan, node, behind) || node->size > assay_cursor_left(in)) {
            free(list);
            return damaged(path, err);
        }
        (void)assay_get_bytes(in, (size_t)node->size);
        behind = assay_restart_end(plan, node);
    }
    if (assay_cursor_bad(in)) {
        free(list);
        return damaged(path, err);
    }
    *nodes = list;
    *count = (size_t)n;
    return ASSAY_OK;
}

static bool same_hex(const uint8_t *bytes, const char *hex)
{
    return bytes && memcmp(bytes, hex, HEX) == 0;
}

int assay_restart_parse(const char *path, const void *bytes, size_t size, const assay_restart_identity *identity,
                        const assay_plan *plan, assay_restart_node **nodes, size_t *count, assay_error *err)
{
    char hex[HEX + 1];
    if (size < MAGIC || memcmp(bytes, ASSAY_RESTART_MAGIC, MAGIC) != 0)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: not a checkpoint of assay: give another --checkpoint, or remove the file", path);
    if (size < MAGIC + HEX)
        return damaged(path, err);
    digest_of(bytes, size - HEX, hex);
    if (!same_hex((const uint8_t *)bytes + size - HEX, hex))
        return damaged(path, err);
    assay_cursor in = assay_cursor_over(bytes, size - HEX);
    (void)assay_get_bytes(&in, MAGIC);
    uint32_t format = assay_get_u32(&in);
    if (format != FORMAT_VERSION)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: the checkpoint has format %lu, this assay reads %d: remove the file and start anew",
                          path, (unsigned long)format, FORMAT_VERSION);
    size_t length;
    const char *version = assay_get_text(&in, &length);
    if (length != strlen(identity->version) || memcmp(version, identity->version, length) != 0)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: the checkpoint was written by assay %.*s, this is assay %s: go on with that one, or "
                          "remove the file",
                          path, (int)(length < 32 ? length : 32), version, identity->version);
    if (!same_hex(assay_get_bytes(&in, HEX), identity->job))
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: the checkpoint is of another job: the job file, --trial, --steps, --memory or "
                          "--max-findings differ; put them back, or remove the file",
                          path);
    if (!same_hex(assay_get_bytes(&in, HEX), identity->trials) || assay_get_u64(&in) != plan->chunk_count)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: the checkpoint is of another state of the trial: files were added, removed or changed "
                          "since; remove the file and start anew",
                          path);
    return read_nodes(&in, path, plan, nodes, count, err);
}
