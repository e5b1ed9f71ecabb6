/* kept.c - see kept.h. */
#include "verify/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "report/text/layout.h"
#include "trial/places.h"
#include "trial/trial_format.h"

static bool is_asked(const assay_verify_options *options, int64_t step)
{
    return step >= options->from && step < options->to;
}

/* States of an 8-bit optimizer are codes with tables and scales of their own: rules of moments do not see them. */
static int name_codes(const assay_trial_files *trial, const assay_verify_options *options,
                      assay_verify_remarks *remarks)
{
    static const char *const ends[] = {"/absmax1", "/absmax2", "/absmax"};
    const assay_shard *shard = &trial->shard;
    int status = ASSAY_OK;
    for (size_t p = 0; p < shard->count && status == ASSAY_OK; p++) {
        const assay_part *part = &shard->parts[p];
        char room[ASSAY_PATH_ROOM], text[1024];
        const char *path = NULL, *name = NULL;
        size_t count = 0;
        for (size_t e = part->first; is_asked(options, part->step) && e < part->first + part->count; e++) {
            const char *own = assay_dict_name(trial->tensors, shard->entries[e].tensor, NULL);
            bool code = false;
            for (size_t i = 0; i < sizeof ends / sizeof *ends && strncmp(own, "optimizer/", 10) == 0; i++)
                code = code || assay_path_ends(own, ends[i]);
            if (!code || count++ > 0)
                continue;
            name = own;
            path = assay_part_file(&trial->catalog, part, shard->entries[e].file, room);
        }
        if (!path)
            continue;
        snprintf(text, sizeof text,
                 "%s: %zu state%s of an 8-bit optimizer (%s): moments in codes are not looked at as moments", path,
                 count, assay_plural(count), name);
        status = assay_verify_remark_add(remarks, ASSAY_VERIFY_NOTE, part->step, path, text);
    }
    return status;
}

/* Is it a number by which whoever resumes trains: "state/scheduler._last_lr"? */
static bool is_rate(const char *path)
{
    static const char *const keys[] = {"lr", "initial_lr", "base_lrs", "_last_lr", "weight_decay", "betas"};
    size_t end = strlen(path);
    for (int part = 0; part < 2; part++) { /* itself, or a list of them */
        size_t from = end;
        while (from > 0 && path[from - 1] != '.' && path[from - 1] != '/')
            from--;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (end - from == strlen(keys[i]) && memcmp(path + from, keys[i], end - from) == 0)
                return true;
        end = from > 0 ? from - 1 : 0;
    }
    return false;
}

/* Of a step: rates that are not finite. */
static int name_rates_at(const assay_trial_files *trial, const assay_unit *unit, assay_verify_remarks *remarks)
{
    assay_trial_others others = {0};
    char *place = NULL;
    int status = assay_trial_list_others(trial, unit->step, unit->step + 1, &others);
    for (uint32_t i = 0; status == ASSAY_OK && i < assay_dict_count(others.paths); i++) {
        const char *path = assay_dict_name(others.paths, i, NULL), *value = others.list[i].value;
        char text[1024];
        if ((!strstr(value, "nan") && !strstr(value, "inf")) || !is_rate(path))
            continue;
        const bool quoted = *value == '"'; /* a number by itself */
        snprintf(text, sizeof text, "%.400s is %.*s: whoever resumes trains with it", path,
                 quoted ? (int)strcspn(value + 1, "\"") : 60, value + quoted);
        status = assay_unit_places(trial->store, &trial->catalog, unit, assay_verify_take_place, &place);
        ASSAY_THEN(status,
                   assay_verify_remark_add(remarks, ASSAY_VERIFY_SUSPECT, unit->step, place ? place : ".", text));
        break;
    }
    free(place);
    assay_trial_others_release(&others);
    return status;
}

static int name_rates(const assay_trial_files *trial, const assay_verify_options *options,
                      assay_verify_remarks *remarks)
{
    const assay_catalog *catalog = &trial->catalog;
    int status = ASSAY_OK;
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++)
        if (assay_format_of(catalog->units[i].format)->checkpoints && is_asked(options, catalog->units[i].step) &&
            (i == 0 || catalog->units[i - 1].step != catalog->units[i].step))
            status = name_rates_at(trial, &catalog->units[i], remarks);
    return status;
}

int assay_verify_kept(const assay_trial_files *trial, const assay_verify_options *options,
                      assay_verify_remarks *remarks)
{
    const int status = name_codes(trial, options, remarks);
    return status == ASSAY_OK ? name_rates(trial, options, remarks) : status;
}
