/* summary.c - see summary.h. */
#include "engine/source/summary.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/vec.h"
#include "engine/source/saved_order.h"

void assay_summaries_release(summaries *s)
{
    for (uint32_t i = 0; s->list && i < s->count; i++) {
        assay_dict_free(s->list[i].names);
        free(s->list[i].new_id);
        free(s->list[i].modes);
        free(s->list[i].saved);
        free(s->list[i].steps);
        free(s->list[i].worker_modes);
        assay_step_shifts_release(&s->list[i].shifts);
        assay_problems_release(&s->list[i].problems);
        assay_manifest_release(&s->list[i].claims);
    }
    free(s->list);
}

int assay_summaries_init(summaries *s, uint32_t count)
{
    s->count = count;
    s->list = assay_alloc_zeroed(count, sizeof *s->list);
    ASSAY_HAVE(s->list);
    for (uint32_t i = 0; i < count; i++) {
        assay_problems_init(&s->list[i].problems);
        s->list[i].names = assay_dict_new();
        ASSAY_HAVE(s->list[i].names);
    }
    return ASSAY_OK;
}

int assay_summary_add_step(summary *s, const assay_step_info *step)
{
    for (size_t k = s->step_count; k > 0 && s->steps[k - 1].step == step->step; k--)
        if (s->steps[k - 1].mode == step->mode && s->steps[k - 1].mode_step == step->mode_step)
            return ASSAY_OK;
    ASSAY_HAVE(assay_vec_reserve(&s->steps, &s->step_room, s->step_count + 1, sizeof *s->steps));
    s->steps[s->step_count++] = *step;
    return ASSAY_OK;
}

int assay_summaries_pack(const void *mine, assay_buf *out)
{
    const summaries *all = mine;
    for (uint32_t i = 0; i < all->count; i++) {
        const summary *s = &all->list[i];
        assay_dict_pack(s->names, out);
        assay_put_bytes(out, s->modes, assay_dict_count(s->names));
        for (uint32_t n = 0; n < assay_dict_count(s->names); n++)
            assay_put_u32(out, s->saved[n]);
        assay_put_u64(out, s->step_count);
        for (size_t k = 0; k < s->step_count; k++) {
            assay_put_i64(out, s->steps[k].step);
            assay_put_i64(out, s->steps[k].mode_step);
            assay_put_u8(out, (uint8_t)s->steps[k].mode);
        }
        assay_put_u32(out, s->workers);
        assay_put_bytes(out, s->worker_modes, s->workers);
        assay_step_shifts_pack(&s->shifts, out);
        assay_problems_pack(&s->problems, out);
        assay_manifest_pack(&s->claims, out);
    }
    return assay_buf_status(out);
}

/* Takes over the later names' modes and predecessors; `id` are their numbers here, the first `known` were here before.
 */
static int join_saved(summary *s, const uint32_t *id, uint64_t count, uint32_t known, const uint8_t *modes,
                      assay_cursor *later)
{
    for (uint64_t i = 0; i < count; i++) {
        uint32_t before = assay_get_u32(later);
        s->modes[id[i]] = (uint8_t)((id[i] < known ? s->modes[id[i]] : 0) | modes[i]);
        if (later->failed || (before != SAVED_FIRST && before != SAVED_NEVER && before > count))
            return ASSAY_EINTERNAL;
        if (before != SAVED_FIRST && before != SAVED_NEVER)
            before = id[before - 1] + 1;
        if (id[i] >= known || s->saved[id[i]] == SAVED_NEVER)
            s->saved[id[i]] = before;
    }
    return ASSAY_OK;
}

/* Names in the form of assay_dict_pack(), then their modes and predecessors. *numbers, which the caller frees, are the
 * later names' numbers here, *many of them. */
static int join_names(summary *s, assay_cursor *later, uint32_t **numbers, uint64_t *many)
{
    size_t length;
    uint32_t known = assay_dict_count(s->names);
    uint64_t count = assay_get_count(later, 4);
    assay_cursor name = *later;
    for (uint64_t i = 0; i < count; i++)
        assay_get_text(later, &length);
    const uint8_t *modes = assay_get_bytes(later, count);
    if (later->failed)
        return ASSAY_EINTERNAL;
    uint8_t *grown = assay_realloc_array(s->modes, (size_t)known + count, 1);
    s->modes = grown ? grown : s->modes;
    uint32_t *saved = assay_realloc_array(s->saved, (size_t)known + count, sizeof *saved);
    s->saved = saved ? saved : s->saved;
    uint32_t *id = assay_alloc(count * sizeof *id);
    int status = grown && saved && id ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        const char *text = assay_get_text(&name, &length);
        id[i] = assay_dict_add(s->names, text, length);
        status = id[i] == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    }
    ASSAY_THEN(status, join_saved(s, id, count, known, modes, later));
    *numbers = id;
    *many = count;
    return status;
}

static int join_steps(summary *s, assay_cursor *later)
{
    uint64_t count = assay_get_count(later, 17);
    for (uint64_t k = 0; k < count; k++) {
        assay_step_info step;
        step.step = assay_get_i64(later);
        step.mode_step = assay_get_i64(later);
        step.mode = assay_get_u8(later);
        if (assay_summary_add_step(s, &step) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

static int join_workers(summary *s, assay_cursor *later)
{
    uint32_t workers = assay_get_u32(later);
    const uint8_t *modes = assay_get_bytes(later, workers);
    if (later->failed)
        return ASSAY_EINTERNAL;
    if (!s->worker_modes && !(s->worker_modes = assay_alloc_zeroed(workers, 1)))
        return ASSAY_ENOMEM;
    s->workers = workers > s->workers && s->workers == 0 ? workers : s->workers;
    for (uint32_t w = 0; w < workers && w < s->workers; w++)
        s->worker_modes[w] |= modes[w];
    assay_step_shifts_release(&s->shifts); /* none while summaries are joined: rank 0 finds them afterwards */
    return assay_step_shifts_unpack(later, &s->shifts);
}

static int join_problems(assay_problems *problems, assay_cursor *later, assay_error *err)
{
    assay_problems more;
    assay_problems_init(&more);
    int status = assay_problems_unpack(later, &more, err);
    ASSAY_THEN(status, assay_problems_append(problems, &more));
    assay_problems_release(&more);
    return status;
}

static int join_manifests(assay_manifest *claims, const uint32_t *id, uint64_t names, assay_cursor *later)
{
    assay_manifest more = {0};
    int status = assay_manifest_unpack(later, names, &more);
    ASSAY_THEN(status, assay_manifest_append(claims, &more, id));
    assay_manifest_release(&more);
    return status == ASSAY_EFORMAT ? ASSAY_EINTERNAL : status;
}

static int join_summary(summary *s, assay_cursor *later, assay_error *err)
{
    uint32_t *id = NULL;
    uint64_t names = 0;
    int status = join_names(s, later, &id, &names);
    ASSAY_THEN(status, join_steps(s, later));
    ASSAY_THEN(status, join_workers(s, later));
    ASSAY_THEN(status, join_problems(&s->problems, later, err));
    ASSAY_THEN(status, join_manifests(&s->claims, id, names, later));
    free(id);
    return status;
}

int assay_summaries_join(void *mine, assay_cursor *later, assay_error *err)
{
    summaries *all = mine;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < all->count; i++)
        status = join_summary(&all->list[i], later, err);
    if (status == ASSAY_OK && assay_cursor_bad(later))
        return assay_fail(err, ASSAY_EINTERNAL, "steps and tensors were damaged on their way between ranks");
    return status;
}
