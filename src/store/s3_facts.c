/* s3_facts.c - the table of what listings told. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "store/s3_store.h"

uint64_t s3_fact_name(const char *path, size_t length, bool is_directory)
{
    uint64_t name = assay_hash_bytes(path, length) ^ (is_directory ? 0x9e3779b97f4a7c15u : 0);
    /* 0 marks a free place of the table. */
    return name ? name : 1;
}

uint64_t s3_fact_etag(const char *etag)
{
    /* | 1: a tag is never 0, which means that there is none. */
    return etag[0] ? assay_hash_bytes(etag, strlen(etag)) | 1 : 0;
}

/* The place of a name, or the free one where it belongs. The table is never full. Ends, since the table grows at half
 * of its room. */
static s3_fact *place_of(const s3_facts *facts, uint64_t name)
{
    size_t at = (size_t)name & (facts->room - 1);
    while (facts->list[at].name != 0 && facts->list[at].name != name)
        at = (at + 1) & (facts->room - 1);
    return &facts->list[at];
}

const s3_fact *s3_facts_find(const s3_facts *facts, const char *path, size_t length, bool is_directory)
{
    if (facts->count == 0)
        return NULL;
    const s3_fact *fact = place_of(facts, s3_fact_name(path, length, is_directory));
    return fact->name ? fact : NULL;
}

static int grow(s3_facts *facts)
{
    s3_facts larger = {.room = facts->room ? 2 * facts->room : 256};
    larger.list = assay_alloc_zeroed(larger.room, sizeof *larger.list);
    ASSAY_HAVE(larger.list);
    for (size_t i = 0; i < facts->room; i++)
        if (facts->list[i].name)
            *place_of(&larger, facts->list[i].name) = facts->list[i];
    larger.count = facts->count;
    free(facts->list);
    *facts = larger;
    return ASSAY_OK;
}

int s3_facts_set(s3_facts *facts, const s3_fact *fact)
{
    if (facts->count >= facts->room / 2 && grow(facts) != ASSAY_OK)
        return ASSAY_ENOMEM;
    s3_fact *to = place_of(facts, fact->name);
    facts->count += to->name == 0;
    *to = *fact;
    return ASSAY_OK;
}
