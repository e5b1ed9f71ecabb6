/* timeline.c - one order over sources: what outputs say, and between it what checkpoints, logs of metrics, records, traces and
 * the hardware say of the time before. */
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "why/combine.h"

bool why_add_note(assay_why *why, why_note note)
{
    why_note *added = ASSAY_VEC_ADD(&why->note);
    if (!added)
        return false;
    *added = note;
    added->path = assay_copy_text(note.path);
    added->text = assay_copy_text(note.text);
    added->entry = note.entry ? assay_copy_text(note.entry) : NULL;
    return added->path && added->text && (added->entry || !note.entry);
}

const why_note *why_first_fault(const assay_why *why, why_kind kind)
{
    const why_note *first = NULL;
    for (size_t i = 0; i < why->note.count; i++) {
        const why_note *n = &why->note.list[i];
        if (n->kind == kind && n->wrong && (!first || n->step < first->step))
            first = n;
    }
    return first;
}

/* By step, then by time; those that have neither stand last. */
static int by_step(const void *a, const void *b)
{
    const why_note *x = ((const why_entry *)a)->note, *y = ((const why_entry *)b)->note;
    int order = ASSAY_ORDER(x->step < 0, y->step < 0);
    order = order ? order : ASSAY_ORDER(x->step, y->step);
    order = order ? order : ASSAY_ORDER(isnan(x->time), isnan(y->time));
    if (order == 0 && !isnan(x->time))
        order = ASSAY_ORDER(x->time, y->time);
    return order ? order : ASSAY_ORDER(x, y);
}

/* Is the note of a time before the link's? Where nothing tells, it is: sources end with the job. Clocks of outputs may be of
 * any zone: within a day times tell nothing. */
static bool is_before(const assay_why *why, const why_note *note, size_t number)
{
    const why_link *link = &why->chain.list[number];
    const int64_t step = number == 0 && why->has_cause ? why->step : link->event->step;
    return note->step < 0 || step < 0 || note->step <= step;
}

bool why_make_timeline(assay_why *why)
{
    ASSAY_VEC(why_entry) notes = {0};
    bool made = true;
    for (size_t i = 0; i < why->note.count && made; i++) {
        why_entry *added = ASSAY_VEC_ADD(&notes);
        made = added != NULL;
        if (made)
            *added = (why_entry){.note = &why->note.list[i]};
    }
    if (made && notes.count > 1)
        qsort(notes.list, notes.count, sizeof *notes.list, by_step);
    for (size_t l = 0, n = 0; made && (l < why->chain.count || n < notes.count);) {
        why_entry *added = ASSAY_VEC_ADD(&why->line);
        made = added != NULL;
        if (!made)
            break;
        if (n < notes.count && (l == why->chain.count || is_before(why, notes.list[n].note, l)))
            *added = notes.list[n++];
        else
            *added = (why_entry){.link = &why->chain.list[l++]};
    }
    free(notes.list);
    return made;
}
