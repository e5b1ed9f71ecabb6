/* run_facts.c - see run_facts.h. */
#include "trial/run_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { PACKED_FACT = 8 };

void assay_run_facts_release(assay_run_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->list[i].name);
        free(facts->list[i].value);
    }
    free(facts->list);
    *facts = (assay_run_facts){0};
}

int assay_run_facts_put(assay_run_facts *facts, char *name, char *value)
{
    if (!facts->list)
        facts->list = assay_alloc_zeroed(ASSAY_RUN_FACTS_MOST, sizeof *facts->list);
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
    const assay_run_fact key = {(char *)(uintptr_t)name, NULL};
    return facts->count ? bsearch(&key, facts->list, facts->count, sizeof key, by_name) : NULL;
}

const char *assay_run_fact_of(const assay_run_facts *facts, const char *name)
{
    const assay_run_fact *found = assay_run_facts_find(facts, name);
    return found ? found->value : NULL;
}

/* ---- between ranks ---- */

void assay_run_facts_pack(const assay_run_facts *facts, assay_buf *out)
{
    assay_put_u32(out, facts->files);
    assay_put_u64(out, facts->recorded_workers);
    assay_put_u64(out, facts->run_workers);
    for (int m = 0; m < ASSAY_MODES; m++) {
        assay_put_u64(out, facts->recorded[m].steps);
        assay_put_u64(out, facts->recorded[m].of);
        assay_put_u64(out, facts->recorded[m].every);
    }
    assay_put_u64(out, facts->count);
    for (size_t i = 0; i < facts->count; i++) {
        assay_put_text(out, facts->list[i].name);
        assay_put_text(out, facts->list[i].value);
    }
}

static char *take_text(assay_cursor *in)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    return assay_copy_bytes_as_text(text, length);
}

int assay_run_facts_unpack(assay_cursor *in, assay_run_facts *out)
{
    assay_run_facts facts = {
        .files = assay_get_u32(in), .recorded_workers = assay_get_u64(in), .run_workers = assay_get_u64(in)};
    for (int m = 0; m < ASSAY_MODES; m++) {
        facts.recorded[m].steps = assay_get_u64(in);
        facts.recorded[m].of = assay_get_u64(in);
        facts.recorded[m].every = assay_get_u64(in);
    }
    uint64_t count = assay_get_count(in, PACKED_FACT);
    int status = in->failed || count > ASSAY_RUN_FACTS_MOST ? ASSAY_EFORMAT : ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        char *name = take_text(in), *value = take_text(in);
        status = assay_run_facts_put(&facts, name, value);
        if (in->failed && status == ASSAY_OK)
            status = ASSAY_EFORMAT;
    }
    if (status != ASSAY_OK)
        assay_run_facts_release(&facts);
    *out = facts;
    return status;
}
