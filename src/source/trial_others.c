/* trial_others.c - what a trial holds beside tensors (trial.h). */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "trial/trial_format.h"
#include "source/trial_files.h"

/* Called by formats for each thing in a file that is no tensor: paths and kinds are the file's own. The newest value
 * stays. */
static int keep(void *context, const assay_other *other)
{
    assay_trial_others *all = context;
    const uint32_t known = assay_dict_count(all->paths), id = assay_dict_add(all->paths, other->path, other->length);
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (id >= all->room) {
        const size_t room = all->room ? 2 * all->room : 64;
        assay_trial_other *grown = assay_realloc_array(all->list, room, sizeof *grown);
        ASSAY_HAVE(grown);
        memset(grown + all->room, 0, (room - all->room) * sizeof *grown);
        all->list = grown;
        all->room = room;
    }
    assay_trial_other *to = &all->list[id];
    to->steps += id == known || to->last_step != other->step;
    to->last_step = other->step;
    free(to->kind);
    free(to->value);
    to->kind = assay_copy_text(other->kind);
    to->value = assay_copy_bytes_as_text(other->value, other->value_length);
    return to->kind && to->value ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_trial_list_others(const assay_trial_files *trial, int64_t from, int64_t to, assay_trial_others *out)
{
    const assay_catalog *catalog = &trial->catalog;
    *out = (assay_trial_others){.paths = assay_dict_new()};
    int status = out->paths ? ASSAY_OK : ASSAY_ENOMEM;
    size_t i = 0;
    ASSAY_SEARCH(i, catalog->unit_count, catalog->units[i].step < from); /* callers ask step by step */
    for (; status == ASSAY_OK && i < catalog->unit_count && catalog->units[i].step < to; i++) {
        const assay_unit *unit = &catalog->units[i];
        const assay_trial_format *format = assay_format_of(unit->format);
        if (format->others)
            status = format->others(trial->store, catalog, unit, keep, out);
    }
    return status;
}

void assay_trial_others_release(assay_trial_others *others)
{
    /* Also of a list that is half made; places behind the last are empty. */
    for (size_t i = 0; i < others->room; i++) {
        free(others->list[i].kind);
        free(others->list[i].value);
    }
    free(others->list);
    assay_dict_free(others->paths);
    *others = (assay_trial_others){0};
}
