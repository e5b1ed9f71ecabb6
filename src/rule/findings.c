/* findings.c - counts datapoints, and keeps findings up to a maximum in the order (step, order of computation of the
 * tensor, worker, test).
 *
 * It always keeps the first `most` of all findings in that order, whatever the order they came in: so append is
 * associative under the maximum, and the report does not depend on how the steps were cut. */
#include "base/search.h"
#include "rule/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/vec.h"

assay_findings *assay_findings_new(size_t most)
{
    assay_findings *f = assay_alloc_zeroed(1, sizeof *f);
    if (f)
        f->most = most;
    return f;
}

static void release_finding(assay_finding *finding)
{
    free((void *)(uintptr_t)finding->cells);
    free((void *)(uintptr_t)finding->note);
    if (finding->time) {
        const char *const texts[] = {finding->time->worker, finding->time->unit, finding->time->worker2,
                                     finding->time->unit2, finding->time->extra};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            free((void *)(uintptr_t)texts[i]);
        free((void *)(uintptr_t)finding->time);
    }
}

/* A copy of a place; NULL without memory. Findings own their texts: those of the rule may go once map() returns. */
static assay_time_place *copy_place(const assay_time_place *from)
{
    assay_time_place *to = assay_alloc_zeroed(1, sizeof *to);
    const char *const texts[] = {from->worker, from->unit, from->worker2, from->unit2, from->extra};
    if (!to)
        return NULL;
    const char **const copies[] = {&to->worker, &to->unit, &to->worker2, &to->unit2, &to->extra};
    bool have = true;
    to->slice = from->slice;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *copies[i] = texts[i] ? assay_copy_text(texts[i]) : NULL;
        have = have && (!texts[i] || *copies[i]);
    }
    if (have)
        return to;
    release_finding(&(assay_finding){.time = to});
    return NULL;
}

void assay_findings_free(assay_findings *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->kept; i++)
        release_finding(&f->list[i]);
    free(f->list);
    free(f->steps);
    free(f);
}

void assay_findings_datapoints(assay_findings *findings, uint64_t count)
{
    findings->datapoints += count;
}

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

void assay_findings_order_by(assay_findings *f, const assay_trial *trial)
{
    f->trial = trial;
}

/* "" and "*" are UINT32_MAX and come first: one more wraps them to 0. Order is part of the report, which must not
 * change with the number of ranks. */
static uint32_t place_of(const assay_findings *f, uint32_t tensor)
{
    return (f->trial && tensor != ASSAY_NO_TENSOR ? assay_trial_order(f->trial, tensor) : tensor) + 1;
}

static int compare(const assay_findings *f, const assay_finding *a, const assay_finding *b)
{
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    int c = compare_u32(place_of(f, a->tensor), place_of(f, b->tensor));
    if (c == 0)
        c = compare_u32(a->worker + 1, b->worker + 1);
    return c ? c : compare_u32(a->test, b->test);
}

/* Where a finding belongs: behind those that are equal to it. */
static size_t position(const assay_findings *f, const assay_finding *finding)
{
    size_t low = 0;
    /* A comparison with the last one spares the search in nearly all cases. */
    if (f->kept && compare(f, finding, &f->list[f->kept - 1]) >= 0) /* as a rule they come in order */
        return f->kept;
    ASSAY_SEARCH(low, f->kept, compare(f, finding, &f->list[low]) >= 0);
    return low;
}

static int add_step(assay_findings *f, int64_t step)
{
    size_t low = f->step_count && f->steps[f->step_count - 1] < step ? f->step_count : 0;
    ASSAY_SEARCH(low, f->step_count, f->steps[low] < step);
    if (low < f->step_count && f->steps[low] == step)
        return ASSAY_OK;
    ASSAY_HAVE(assay_vec_reserve(&f->steps, &f->step_room, f->step_count + 1, sizeof *f->steps));
    memmove(f->steps + low + 1, f->steps + low, (f->step_count - low) * sizeof *f->steps);
    f->steps[low] = step;
    f->step_count++;
    return ASSAY_OK;
}

static int copy_finding(const assay_finding *from, assay_finding *to)
{
    *to = *from;
    to->cells = NULL;
    to->note = from->note ? assay_copy_text(from->note) : NULL;
    to->time = from->time ? copy_place(from->time) : NULL;
    int64_t *cells = from->cell_count ? assay_realloc_array(NULL, from->cell_count, 2 * sizeof *cells) : NULL;
    to->cells = cells;
    if ((from->note && !to->note) || (from->time && !to->time) || (from->cell_count && !cells)) {
        release_finding(to);
        return ASSAY_ENOMEM;
    }
    if (cells)
        memcpy(cells, from->cells, (size_t)from->cell_count * 2 * sizeof *cells);
    return ASSAY_OK;
}

/* Keeps a copy if it is among the first `most`. */
static int keep(assay_findings *f, const assay_finding *finding)
{
    size_t at = position(f, finding);
    if (at >= f->most)
        return ASSAY_OK;
    /* Room doubles up to `most`, which the job sets. */
    if (f->kept == f->room && f->room < f->most) {
        size_t room = f->room ? f->room * 2 : 16;
        if (room > f->most)
            room = f->most;
        assay_finding *list = assay_realloc_array(f->list, room, sizeof *list);
        ASSAY_HAVE(list);
        f->list = list;
        f->room = room;
    }
    assay_finding copy;
    if (copy_finding(finding, &copy))
        return ASSAY_ENOMEM;
    /* The last one in order makes room: it is beyond the first `most` now. */
    if (f->kept == f->most)
        release_finding(&f->list[--f->kept]);
    memmove(f->list + at + 1, f->list + at, (f->kept - at) * sizeof *f->list);
    f->list[at] = copy;
    f->kept++;
    return ASSAY_OK;
}

/* Where several workers have the copy that a finding is about, and there are others: the remark names them. The text is
 * the caller's to free; NULL: none, or no memory, which `status` says. */
static char *name_copy(const assay_findings *f, const assay_finding *finding, int *status)
{
    /* As many copies are named as a line has room for. */
    enum { NAMED = 8 };
    uint32_t count = 0;
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    const assay_relation of = assay_trial_relation(f->trial, finding->tensor, finding->worker);
    if (!of.split)
        return NULL;
    assay_put_format(&text, "%s%sa copy with ", finding->note ? finding->note : "", finding->note ? "; " : "");
    for (uint32_t w = 0; w < assay_trial_workers(f->trial); w++)
        if (w != finding->worker && assay_trial_relation(f->trial, finding->tensor, w).copy == of.copy &&
            count++ < NAMED)
            assay_put_format(&text, "%s%s", count > 1 ? ", " : "", assay_trial_worker(f->trial, w));
    if (count > NAMED)
        assay_put_format(&text, " and %u more", count - NAMED);
    assay_put_u8(&text, '\0');
    char *copy = NULL;
    if (count > 0 && !(copy = assay_buf_status(&text) == ASSAY_OK ? assay_copy_text((const char *)text.data) : NULL))
        *status = ASSAY_ENOMEM;
    assay_buf_release(&text);
    return copy;
}

/* Called by rules, through assay_findings_test(). `total` counts also what is not kept. */
int assay_findings_add(assay_findings *findings, const assay_finding *finding)
{
    assay_finding own = *finding;
    char *note = NULL;
    /* Copies of one tensor on several workers are equal: one of them is named as the place, and the remark names the
     * others. */
    if (findings->trial && own.tensor != ASSAY_NO_TENSOR && own.worker != ASSAY_ALL_WORKERS && !own.of_worker) {
        own.worker = assay_trial_copy_worker(findings->trial, own.tensor, own.worker);
        if (own.worker != ASSAY_ALL_WORKERS && findings->status == ASSAY_OK &&
            position(findings, &own) < findings->most)
            note = name_copy(findings, &own, &findings->status);
        own.note = note ? note : own.note;
    }
    if (findings->status == ASSAY_OK)
        findings->status = keep(findings, &own);
    free(note);
    if (findings->status == ASSAY_OK)
        findings->status = add_step(findings, finding->step);
    findings->total++;
    return findings->status;
}

int assay_findings_test(assay_findings *findings, bool fired, const assay_finding *finding)
{
    assay_findings_datapoints(findings, 1);
    return fired ? assay_findings_add(findings, finding) : findings->status;
}

/* Findings of `later` come after: `keep` would put them in order anyway, so append is right for any cut. */
int assay_findings_append(assay_findings *earlier, const assay_findings *later)
{
    if (earlier->status == ASSAY_OK)
        earlier->status = later->status;
    for (size_t i = 0; earlier->status == ASSAY_OK && i < later->kept; i++)
        earlier->status = keep(earlier, &later->list[i]);
    for (size_t i = 0; earlier->status == ASSAY_OK && i < later->step_count; i++)
        earlier->status = add_step(earlier, later->steps[i]);
    earlier->total += later->total;
    earlier->datapoints += later->datapoints;
    return earlier->status;
}

static const assay_field finding_fields[] = {
    ASSAY_FIELD(assay_finding, step),      ASSAY_FIELD(assay_finding, tensor),     ASSAY_FIELD(assay_finding, worker),
    ASSAY_FIELD(assay_finding, test),      ASSAY_FIELD(assay_finding, value_unit), ASSAY_FIELD(assay_finding, value),
    ASSAY_FIELD(assay_finding, threshold), ASSAY_FIELD(assay_finding, note),       {0}};
static const assay_field place_fields[] = {ASSAY_FIELD(assay_time_place, slice),
                                           ASSAY_FIELD(assay_time_place, worker),
                                           ASSAY_FIELD(assay_time_place, unit),
                                           ASSAY_FIELD(assay_time_place, worker2),
                                           ASSAY_FIELD(assay_time_place, unit2),
                                           ASSAY_FIELD(assay_time_place, extra),
                                           {0}};

void assay_findings_pack(const assay_findings *f, assay_buf *out)
{
    assay_put_u64(out, f->datapoints);
    assay_put_u64(out, f->total);
    assay_put_u64(out, f->step_count);
    for (size_t i = 0; i < f->step_count; i++)
        assay_put_i64(out, f->steps[i]);
    assay_put_u64(out, f->kept);
    for (size_t i = 0; i < f->kept; i++) {
        const assay_finding *x = &f->list[i];
        assay_fields_pack(finding_fields, x, out);
        assay_put_u32(out, x->cell_count);
        for (size_t k = 0; k < (size_t)x->cell_count * 2; k++)
            assay_put_i64(out, x->cells[k]);
        assay_put_u8(out, x->time != NULL);
        if (x->time)
            assay_fields_pack(place_fields, x->time, out);
    }
}

static int unpack_cells(assay_cursor *in, assay_finding *x)
{
    const uint32_t cells = assay_get_u32(in);
    if (cells > assay_cursor_left(in) / (2 * sizeof *x->cells))
        return ASSAY_EFORMAT;
    int64_t *cell = cells ? assay_realloc_array(NULL, cells, 2 * sizeof *cell) : NULL;
    if (cells && !cell)
        return ASSAY_ENOMEM;
    for (size_t k = 0; k < (size_t)cells * 2; k++)
        cell[k] = assay_get_i64(in);
    x->cells = cell;
    x->cell_count = cells;
    return ASSAY_OK;
}

static int unpack_place(assay_cursor *in, assay_finding *x)
{
    assay_time_place *place = assay_alloc_zeroed(1, sizeof *place);
    x->time = place;
    ASSAY_HAVE(place);
    const int status = assay_fields_unpack(place_fields, in, place);
    return status == ASSAY_OK && !(place->worker && place->unit) ? ASSAY_EFORMAT : status;
}

static int unpack_finding(assay_cursor *in, assay_finding *x)
{
    *x = (assay_finding){.step = 0};
    int status = assay_fields_unpack(finding_fields, in, x);
    ASSAY_THEN(status, unpack_cells(in, x));
    ASSAY_TRY(status);
    const uint8_t has_time = assay_get_u8(in);
    if (in->failed || has_time > 1)
        return ASSAY_EFORMAT;
    return has_time ? unpack_place(in, x) : ASSAY_OK;
}

static int unpack_steps(assay_cursor *in, assay_findings *f)
{
    uint64_t count = assay_get_count(in, sizeof *f->steps);
    if (in->failed)
        return ASSAY_EFORMAT;
    f->steps = count ? assay_realloc_array(NULL, count, sizeof *f->steps) : NULL;
    if (count && !f->steps)
        return ASSAY_ENOMEM;
    f->step_room = count;
    for (; f->step_count < count; f->step_count++) {
        f->steps[f->step_count] = assay_get_i64(in);
        if (f->step_count && f->steps[f->step_count] <= f->steps[f->step_count - 1])
            return ASSAY_EFORMAT;
    }
    /* Steps with findings cannot be more than findings. */
    return count <= f->total && (count > 0) == (f->total > 0) ? ASSAY_OK : ASSAY_EFORMAT;
}

/* Moves the last finding to where it belongs. */
static void sink(assay_findings *f)
{
    assay_finding moved = f->list[--f->kept];
    size_t at = position(f, &moved);
    memmove(f->list + at + 1, f->list + at, (f->kept - at) * sizeof *f->list);
    f->list[at] = moved;
    f->kept++;
}

static int unpack_list(assay_cursor *in, assay_findings *f)
{
    uint64_t count = assay_get_count(in, assay_fields_least(finding_fields) + 4 + 1);
    /* Exactly what keep() keeps: all, or the first `most`. */
    if (in->failed || count != (f->total < f->most ? f->total : f->most))
        return ASSAY_EFORMAT;
    f->list = count ? assay_alloc_zeroed(count, sizeof *f->list) : NULL;
    if (count && !f->list)
        return ASSAY_ENOMEM;
    f->room = count;
    while (f->kept < count) {
        assay_finding *x = &f->list[f->kept];
        int status = unpack_finding(in, x);
        f->kept++;
        if (status)
            return status;
        /* The order of tensors may differ from the packing rank's: there the trial may not have been known. Steps
         * never go back. */
        if (f->kept > 1 && compare(f, x - 1, x) > 0) {
            if (!f->trial || x[-1].step > x->step)
                return ASSAY_EFORMAT;
            sink(f);
        }
    }
    return ASSAY_OK;
}

int assay_findings_unpack(assay_cursor *in, size_t most, const assay_trial *trial, assay_findings **out,
                          assay_error *err)
{
    assay_findings *f = assay_findings_new(most);
    if (!f)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    assay_findings_order_by(f, trial);
    f->datapoints = assay_get_u64(in);
    f->total = assay_get_u64(in);
    int status = unpack_steps(in, f);
    ASSAY_THEN(status, unpack_list(in, f));
    if (status == ASSAY_OK && in->failed)
        status = ASSAY_EFORMAT;
    if (status) {
        assay_findings_free(f);
        return assay_fail(err, status, status == ASSAY_ENOMEM ? "out of memory" : "damaged findings in a packed state");
    }
    *out = f;
    return ASSAY_OK;
}
