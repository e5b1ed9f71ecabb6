/* trial_pack.c - a trial as rules know it, as bytes and back: for rules that run in a process of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/trial_info.h"

/* Step times, traces, dumps and problems are not packed: a rule in a process of its own finds none. Order and sizes
 * are those of the get_ functions below, as both ends are one build. */
void assay_trial_pack(const assay_trial *trial, assay_buf *out)
{
    const assay_catalog *catalog = trial->catalog;
    uint32_t tensors = assay_dict_count(trial->tensors);
    assay_put_text(out, trial->name);
    assay_put_text(out, trial->path);
    assay_put_u32(out, catalog->workers);
    for (uint32_t w = 0; w < catalog->workers; w++)
        assay_put_text(out, catalog->worker[w]);
    assay_put_u32(out, catalog->expected_workers);
    assay_put_u8(out, catalog->ended);
    assay_log_facts_pack(&catalog->log, out);
    assay_collections_pack(&catalog->collections, out);
    assay_dict_pack(trial->tensors, out);
    assay_put_bytes(out, trial->tensor_modes, tensors);
    assay_put_bytes(out, trial->role, tensors);
    for (uint32_t t = 0; t < tensors; t++)
        assay_put_u32(out, trial->order[t]);
    assay_put_u8(out, trial->listed != NULL);
    for (size_t i = 0; trial->listed && i < catalog->collections.count; i++)
        assay_put_bytes(out, trial->listed[i], tensors / 8 + (size_t)1);
    assay_put_u64(out, trial->step_count);
    for (uint64_t i = 0; i < trial->step_count; i++) {
        assay_put_i64(out, trial->steps[i].step);
        assay_put_i64(out, trial->steps[i].mode_step);
        assay_put_u8(out, (uint8_t)trial->steps[i].mode);
    }
    assay_manifest_pack(&trial->claims, out);
    assay_relations_pack(trial->relations, out);
}

/* NULL: the bytes end, and in->failed is set, or there is no memory. */
static char *get_copy(assay_cursor *in)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    return in->failed ? NULL : assay_copy_bytes_as_text(text, length);
}

static void *get_array(assay_cursor *in, size_t size)
{
    const uint8_t *bytes = assay_get_bytes(in, size);
    void *copy = in->failed ? NULL : assay_alloc(size);
    if (copy && size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

static int get_catalog(assay_cursor *in, assay_catalog *catalog, assay_error *err)
{
    uint64_t workers = assay_get_u32(in);
    /* Each name takes 4 bytes at least, which bounds the allocation. */
    if (workers > assay_cursor_left(in) / 4)
        return ASSAY_EFORMAT;
    catalog->worker = assay_alloc_zeroed(workers, sizeof *catalog->worker);
    ASSAY_HAVE(catalog->worker);
    for (; catalog->workers < workers; catalog->workers++)
        if (!(catalog->worker[catalog->workers] = get_copy(in)))
            return in->failed ? ASSAY_EFORMAT : ASSAY_ENOMEM;
    catalog->expected_workers = assay_get_u32(in);
    catalog->ended = assay_get_u8(in) != 0;
    ASSAY_TRY(assay_log_facts_unpack(in, &catalog->log));
    return assay_collections_unpack(in, &catalog->collections, err);
}

static int get_tensors(assay_cursor *in, assay_trial *trial)
{
    uint64_t count = assay_get_count(in, 4);
    trial->tensors = assay_dict_new();
    ASSAY_HAVE(trial->tensors);
    for (uint64_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *name = assay_get_text(in, &length);
        if (in->failed)
            return ASSAY_EFORMAT;
        if (assay_dict_add(trial->tensors, name, length) == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
    }
    trial->tensor_modes = get_array(in, count);
    trial->role = get_array(in, count);
    trial->order = assay_alloc(count * sizeof *trial->order);
    if (!trial->tensor_modes || !trial->role || !trial->order)
        return in->failed ? ASSAY_EFORMAT : ASSAY_ENOMEM;
    for (uint64_t t = 0; t < count; t++)
        trial->order[t] = assay_get_u32(in);
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

/* Its size follows from collections and tensors, which are read before it. */
static int get_listed(assay_cursor *in, assay_trial *trial)
{
    size_t collections = trial->catalog->collections.count, size = assay_dict_count(trial->tensors) / 8 + (size_t)1;
    if (assay_get_u8(in) == 0)
        return ASSAY_OK;
    trial->listed = assay_alloc_zeroed(collections, sizeof *trial->listed);
    for (size_t i = 0; trial->listed && i < collections; i++)
        if (!(trial->listed[i] = get_array(in, size)))
            return in->failed ? ASSAY_EFORMAT : ASSAY_ENOMEM;
    return trial->listed ? ASSAY_OK : ASSAY_ENOMEM;
}

static int get_steps(assay_cursor *in, assay_trial *trial)
{
    uint64_t count = assay_get_count(in, 8 + 8 + 1);
    trial->steps = assay_alloc(count * sizeof *trial->steps);
    ASSAY_HAVE(trial->steps);
    for (uint64_t i = 0; i < count; i++) {
        trial->steps[i].step = assay_get_i64(in);
        trial->steps[i].mode_step = assay_get_i64(in);
        trial->steps[i].mode = assay_get_u8(in);
    }
    trial->step_count = count;
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

/* Each list is bounded by the bytes that are left, before memory is taken for it. */
static int get_trial(assay_cursor *in, assay_trial *trial, assay_catalog *catalog, assay_error *err)
{
    assay_problems known; /* patterns that are wrong were named where the trial was read */
    trial->name = get_copy(in);
    trial->path = get_copy(in);
    if (!trial->name || !trial->path)
        return in->failed ? ASSAY_EFORMAT : ASSAY_ENOMEM;
    int status = get_catalog(in, catalog, err);
    ASSAY_THEN(status, get_tensors(in, trial));
    ASSAY_THEN(status, get_listed(in, trial));
    ASSAY_THEN(status, get_steps(in, trial));
    ASSAY_THEN(status, assay_manifest_unpack(in, assay_dict_count(trial->tensors), &trial->claims));
    ASSAY_THEN(status,
               assay_relations_unpack(in, assay_dict_count(trial->tensors), catalog->workers, &trial->relations));
    if (status == ASSAY_OK && assay_cursor_bad(in))
        status = ASSAY_EFORMAT;
    assay_problems_init(&known);
    ASSAY_THEN(status, assay_trial_info_prepare(trial, &known));
    assay_problems_release(&known);
    return status;
}

int assay_trial_unpack(assay_cursor *in, assay_trial **out, assay_error *err)
{
    assay_catalog *catalog = assay_alloc_zeroed(1, sizeof *catalog); /* the trial's own */
    assay_trial *trial = assay_alloc_zeroed(1, sizeof *trial);
    if (!catalog || !trial) {
        free(catalog);
        free(trial);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    trial->catalog = catalog;
    int status = get_trial(in, trial, catalog, err);
    if (status != ASSAY_OK) {
        assay_trial_unpacked_free(trial);
        return assay_fail(err, status, status == ASSAY_ENOMEM ? "out of memory" : "a packed trial is damaged");
    }
    *out = trial;
    return ASSAY_OK;
}

/* Frees the catalog as well, which only an unpacked trial owns. */
void assay_trial_unpacked_free(assay_trial *trial)
{
    if (!trial)
        return;
    assay_catalog *catalog = (assay_catalog *)(uintptr_t)trial->catalog;
    assay_trial_info_free(trial);
    for (uint32_t w = 0; w < catalog->workers; w++)
        free(catalog->worker[w]);
    free(catalog->worker);
    assay_log_facts_release(&catalog->log);
    assay_collections_release(&catalog->collections);
    free(catalog);
}
