/* run_facts.c - see run_facts.h. */
#include "trial/run_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/search.h"

enum { PACKED_FACT = 8 };

void assay_run_facts_release(assay_run_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->list[i].name);
        free(facts->list[i].value);
    }
    free(facts->list);
    free(facts->failed);
    *facts = (assay_run_facts){0};
}

int assay_run_facts_put(assay_run_facts *facts, char *name, char *value)
{
    /* One allocation for all: ASSAY_RUN_FACTS_MOST of them are a few KiB. */
    if (!facts->list)
        facts->list = assay_alloc_zeroed(ASSAY_RUN_FACTS_MOST, sizeof *facts->list);
    /* Facts beyond the limit are dropped without a word: they describe, nothing depends on them. */
    if (facts->list && name && value && facts->count < ASSAY_RUN_FACTS_MOST) {
        facts->list[facts->count++] = (assay_run_fact){name, value};
        return ASSAY_OK;
    }
    int status = facts->list && name && value ? ASSAY_OK : ASSAY_ENOMEM;
    free(name);
    free(value);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const assay_run_fact *)a)->name, ((const assay_run_fact *)b)->name);
}

void assay_run_facts_sort(assay_run_facts *facts)
{
    size_t kept = 0;
    if (facts->count > 0)
        qsort(facts->list, facts->count, sizeof *facts->list, by_name);
    for (size_t i = 0; i < facts->count; i++) {
        /* The first of equal names stays; sorting has put them side by side, though not in the order in which they
         * came. */
        bool again = kept > 0 && strcmp(facts->list[kept - 1].name, facts->list[i].name) == 0;
        if (again) {
            free(facts->list[i].name);
            free(facts->list[i].value);
        } else {
            facts->list[kept++] = facts->list[i];
        }
    }
    facts->count = kept;
}

assay_run_fact *assay_run_facts_find(const assay_run_facts *facts, const char *name)
{
    /* The key is only read; the cast is for a struct that owns its texts elsewhere. */
    const assay_run_fact key = {(char *)(uintptr_t)name, NULL};
    return facts->count ? bsearch(&key, facts->list, facts->count, sizeof key, by_name) : NULL;
}

bool assay_run_facts_have(const assay_run_facts *facts, const char *begin)
{
    size_t low = 0;
    ASSAY_SEARCH(low, facts->count, strcmp(facts->list[low].name, begin) < 0);
    return low < facts->count && strncmp(facts->list[low].name, begin, strlen(begin)) == 0;
}

const char *assay_run_fact_of(const assay_run_facts *facts, const char *name)
{
    const assay_run_fact *found = assay_run_facts_find(facts, name);
    return found ? found->value : NULL;
}

/* ---- between ranks ---- */

#define RECORDED(m)                                                                                                    \
    ASSAY_FIELD(assay_run_facts, recorded[m].steps), ASSAY_FIELD(assay_run_facts, recorded[m].of),                     \
        ASSAY_FIELD(assay_run_facts, recorded[m].every)

static const assay_field fact_fields[] = {ASSAY_FIELD(assay_run_fact, name), ASSAY_FIELD(assay_run_fact, value), {0}};
static const assay_field fields[] = {ASSAY_FIELD(assay_run_facts, files),
                                     ASSAY_FIELD(assay_run_facts, recorded_workers),
                                     ASSAY_FIELD(assay_run_facts, run_workers),
                                     RECORDED(0),
                                     RECORDED(1),
                                     RECORDED(2),
                                     RECORDED(3),
                                     RECORDED(4),
                                     ASSAY_FIELD_ROWS(assay_run_facts, list, count, fact_fields),
                                     {0}};
_Static_assert(ASSAY_MODES == 5, "a row of fields for each mode");

void assay_run_facts_pack(const assay_run_facts *facts, assay_buf *out)
{
    assay_fields_pack(fields, facts, out);
}

int assay_run_facts_unpack(assay_cursor *in, assay_run_facts *out)
{
    assay_run_facts facts = {0};
    int status = assay_fields_unpack(fields, in, &facts);
    if (facts.count > ASSAY_RUN_FACTS_MOST)
        status = ASSAY_EFORMAT;
    for (size_t i = 0; status == ASSAY_OK && i < facts.count; i++)
        if (!facts.list[i].name || !facts.list[i].value)
            status = ASSAY_EFORMAT;
    if (status != ASSAY_OK)
        assay_run_facts_release(&facts);
    *out = facts;
    return status;
}
