/* need.c - collects the declarations of a rule's setup: slots of tensors, measures of them, another trial, times. */
#include "rule/need.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* Bounds for a rule that declares in a loop; built-in rules have a few. */
enum { MOST_SLOTS = 64, MOST_MEASURES = 256 };

static int no_memory(assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM, "out of memory");
}

assay_need *assay_need_new(const assay_params *params)
{
    assay_need *need = assay_alloc_zeroed(1, sizeof *need);
    if (need)
        need->params = params;
    return need;
}

static void release_slot(assay_slot_need *slot)
{
    for (size_t i = 0; i < slot->collections; i++)
        free(slot->collection[i]);
    for (size_t i = 0; i < slot->regexes; i++) {
        assay_regex_free(slot->regex[i]);
        free(slot->pattern[i]);
    }
    free(slot->collection);
    free(slot->regex);
    free(slot->pattern);
    free(slot->name);
}

void assay_need_free(assay_need *need)
{
    if (!need)
        return;
    for (uint32_t i = 0; i < need->slot_count; i++)
        release_slot(&need->slots[i]);
    free(need->slots);
    free(need->measures);
    free(need->measure_slot);
    free(need->other_trial);
    free(need->times);
    free(need);
}

/* A name may match as it is, or with the type of its module in front (assay_trial_typed_name). */
int assay_slot_pattern_finds(const assay_slot_need *slot, size_t i, const assay_trial *trial, const char *name,
                             size_t length)
{
    char typed[256];
    const int found = assay_regex_search(slot->regex[i], name, length);
    if (found != 0 || !(slot->flags & ASSAY_SLOT_TYPES) || !assay_trial_typed_name(trial, name, typed, sizeof typed))
        return found;
    return assay_regex_search(slot->regex[i], typed, strlen(typed));
}

static int add_collections(const assay_need *need, const assay_slot *from, bool listed, assay_slot_need *slot)
{
    size_t list = listed ? assay_param_count(need->params, from->collections) : 0;
    slot->collection = assay_alloc_zeroed(list + 1, sizeof *slot->collection);
    ASSAY_HAVE(slot->collection);
    /* The slot's own collection comes behind the user's list. */
    for (size_t i = 0; i < list + (from->collection != NULL); i++) {
        const char *name = i < list ? assay_param_item(need->params, from->collections, i) : from->collection;
        ASSAY_HAVE(slot->collection[i] = assay_copy_text(name));
        slot->collections++;
    }
    return ASSAY_OK;
}

static int add_regexes(const assay_need *need, const assay_slot *from, bool listed, assay_slot_need *slot,
                       assay_error *err)
{
    size_t list = listed ? assay_param_count(need->params, from->regexes) : 0, count = list + (from->pattern != NULL);
    slot->regex = assay_alloc_zeroed(count, sizeof *slot->regex);
    slot->pattern = assay_alloc_zeroed(count, sizeof *slot->pattern);
    if (!slot->regex || !slot->pattern)
        return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *pattern = i < list ? assay_param_item(need->params, from->regexes, i) : from->pattern;
        int status = assay_regex_new(pattern, &slot->regex[i], err);
        if (status)
            return status;
        slot->regexes++;
        if (!(slot->pattern[i] = assay_copy_text(pattern)))
            return no_memory(err);
    }
    return ASSAY_OK;
}

static int fill_slot(const assay_need *need, const assay_slot *from, assay_slot_need *slot, assay_error *err)
{
    const assay_params *p = need->params;
    bool lists = from->collections && assay_param_has(p, from->collections);
    bool regexes = from->regexes && assay_param_has(p, from->regexes);
    /* A default selects only where the job selected nothing. */
    if (lists && regexes && assay_param_given(p, from->collections) != assay_param_given(p, from->regexes)) {
        lists = assay_param_given(p, from->collections);
        regexes = !lists;
    }
    int status = add_collections(need, from, lists, slot);
    if (status)
        return no_memory(err);
    if (regexes || from->pattern)
        status = add_regexes(need, from, regexes, slot, err);
    if (status == ASSAY_OK && from->name && !(slot->name = assay_copy_text(from->name)))
        return no_memory(err);
    slot->kinds = from->kinds ? from->kinds : 1u << ASSAY_RAW;
    slot->modes = from->modes;
    slot->flags = from->flags;
    slot->first_steps = from->first_steps;
    return status;
}

int assay_need_slot(assay_need *need, const assay_slot *slot, assay_error *err)
{
    if (need->slot_count == MOST_SLOTS)
        return assay_fail(err, ASSAY_EPARAM, "a rule has at most %d slots", MOST_SLOTS);
    assay_slot_need *slots = assay_realloc_array(need->slots, need->slot_count + 1, sizeof *slots);
    if (!slots)
        return no_memory(err);
    need->slots = slots;
    slots[need->slot_count] = (assay_slot_need){0};
    int status = fill_slot(need, slot, &slots[need->slot_count], err);
    if (status) {
        release_slot(&slots[need->slot_count]);
        return status;
    }
    return (int)need->slot_count++;
}

int assay_need_measure(assay_need *need, int slot, const assay_measure *measure, assay_error *err)
{
    if (slot < 0 || (uint32_t)slot >= need->slot_count || measure->kind >= ASSAY_MEASURE_KINDS ||
        measure->numbers > ASSAY_MEASURE_NUMBERS)
        return assay_fail(err, ASSAY_EPARAM,
                          "a measure of an unknown slot, of an unknown kind, or with too many numbers");
    if (need->measure_count == MOST_MEASURES)
        return assay_fail(err, ASSAY_EPARAM, "a rule has at most %d measures", MOST_MEASURES);
    uint32_t *slots = assay_realloc_array(need->measure_slot, need->measure_count + 1, sizeof *slots);
    if (!slots)
        return no_memory(err);
    need->measure_slot = slots;
    assay_measure *measures = assay_realloc_array(need->measures, need->measure_count + 1, sizeof *measures);
    if (!measures)
        return no_memory(err);
    need->measures = measures;
    slots[need->measure_count] = (uint32_t)slot;
    /* Byte for byte: measures of different rules are united by comparing their bytes, padding included. So rules zero
     * the struct before they fill it. */
    memcpy(&measures[need->measure_count], measure, sizeof *measure);
    return (int)need->measure_count++;
}

int assay_need_rows(assay_need *need, int slot, const assay_rows *rows, assay_error *err)
{
    if (slot < 0 || (uint32_t)slot >= need->slot_count)
        return assay_fail(err, ASSAY_EPARAM, "rows of an unknown slot");
    need->slots[slot].keeps_rows = true;
    need->slots[slot].rows = *rows;
    return ASSAY_OK;
}

int assay_need_other_trial(assay_need *need, const char *trial, assay_error *err)
{
    char *copy = assay_copy_text(trial);
    if (!copy)
        return no_memory(err);
    free(need->other_trial);
    need->other_trial = copy;
    return ASSAY_OK;
}

/* Rules over time declare which stretches they look at; everything else of the timeline need not be kept. */
int assay_need_timeline(assay_need *need, int64_t scan, int64_t from, int64_t to)
{
    assay_time_need *times = assay_realloc_array(need->times, need->time_count + (size_t)1, sizeof *times);
    ASSAY_HAVE(times);
    need->times = times;
    need->times[need->time_count++] = (assay_time_need){scan, from, to};
    return ASSAY_OK;
}
