/* kept.c - see kept.h. */
#include "verify/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/search.h"
#include "base/vec.h"
#include "report/text/layout.h"
#include "trial/places.h"
#include "trial/reader.h"
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

/* A whole number of what is kept beside tensors; -1: there is none, or it is below 0. */
static int64_t number_of(const assay_trial_others *others, const char *key)
{
    const uint32_t id = assay_dict_find(others->paths, key, strlen(key));
    if (id == ASSAY_NO_ID || strcmp(others->list[id].kind, "int") != 0)
        return -1;
    char *end = NULL;
    const long long number = strtoll(others->list[id].value, &end, 10);
    return *end == '\0' && end > others->list[id].value && number >= 0 ? number : -1;
}

/* What a checkpoint says of its step beside its name; -1: nothing. */
static int64_t said_step(const assay_trial_others *others)
{
    static const char *const keys[] = {"state/global_step", "state/global_steps", "state/common.iteration",
                                       "state/iteration",   "state/iter",         "state/step"};
    int64_t step = -1;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && step < 0; i++)
        step = number_of(others, keys[i]);
    return step;
}

/* A checkpoint, and the step that it says that it is of. */
typedef struct said_of {
    const assay_unit *unit;
    bool asked, is_anothers;
    int64_t said;     /* -1: nothing, or it was not read yet */
    int64_t schedule; /* how often its scheduler was stepped; -1: as that */
    int64_t trained;  /* how often its optimizer was; -1: as that */
} said_of;
typedef ASSAY_VEC(said_of) said_steps;

/* Of a step: rates that are not finite. Keeps what it says of its step. */
static int name_rates_at(const assay_trial_files *trial, said_of *one, assay_verify_remarks *remarks)
{
    const assay_unit *unit = one->unit;
    assay_trial_others others = {0};
    char *place = NULL;
    int status = assay_trial_list_others(trial, unit->step, unit->step + 1, &others);
    if (status == ASSAY_OK) {
        one->said = said_step(&others);
        one->schedule = number_of(&others, "state/scheduler.last_epoch");
    }
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

static bool agrees(const said_of *one)
{
    return one->said >= one->unit->step - 1 && one->said <= one->unit->step + 1; /* some count from 0 */
}

/* Of one that is asked for: is it the step of another checkpoint, which does not say the same? That one was copied
 * (stale.h). One that is not asked for is read for it. */
static int compare_with_others(const assay_trial_files *trial, said_steps *list, said_of *one)
{
    size_t at = 0;
    int status = ASSAY_OK;
    if (!one->asked || one->said < 0 || agrees(one))
        return ASSAY_OK;
    ASSAY_SEARCH(at, list->count, list->list[at].unit->step < one->said);
    said_of *other = at < list->count && list->list[at].unit->step == one->said ? &list->list[at] : NULL;
    if (other && !other->asked && other->said < 0) {
        assay_trial_others others = {0};
        status = assay_trial_list_others(trial, one->said, one->said + 1, &others);
        other->said = status == ASSAY_OK ? said_step(&others) : -1;
        assay_trial_others_release(&others);
    }
    one->is_anothers = other && other->said != one->said;
    return status;
}

/* Names those that say that they are of another checkpoint's step: files that lie in each other's place. Names that count
 * something else (epochs) agree with few, and then nothing is said, unless the others are all of one another. */
static int name_exchanged(const assay_trial_files *trial, said_steps *list, assay_verify_remarks *remarks)
{
    size_t known = 0, agreeing = 0, others = 0;
    int status = ASSAY_OK;
    for (size_t i = 0; i < list->count && status == ASSAY_OK; i++) {
        said_of *one = &list->list[i];
        known += one->asked && one->said >= 0;
        agreeing += one->asked && one->said >= 0 && agrees(one);
        status = compare_with_others(trial, list, one);
        others += one->is_anothers;
    }
    ASSAY_TRY(status);
    if (2 * agreeing < known && agreeing + others < known)
        return ASSAY_OK;
    for (size_t i = 0; i < list->count && status == ASSAY_OK; i++) {
        const said_of *one = &list->list[i];
        char *place = NULL, text[1024];
        if (!one->is_anothers)
            continue;
        status = assay_unit_places(trial->store, &trial->catalog, one->unit, assay_verify_take_place, &place);
        snprintf(
            text, sizeof text,
            "it says that it is of step %lld, which another checkpoint here is of: files lie in each other's place",
            (long long)one->said);
        if (status == ASSAY_OK)
            status = assay_verify_remark_add(remarks, ASSAY_VERIFY_SUSPECT, one->unit->step, place ? place : ".", text);
        free(place);
    }
    return status;
}

/* How often the optimizer of a part was stepped, as it keeps it for its first parameter; -1: it does not, or that cannot be read, which
 * whoever reads all of it says. */
static int64_t count_of_optimizer(assay_trial_reader *reader, const assay_part *part)
{
    static const char BEGIN[] = "optimizer/";
    const assay_shard *shard = &reader->trial->shard;
    for (size_t e = part->first; e < part->first + part->count; e++) {
        const assay_entry *entry = &shard->entries[e];
        const char *name = assay_dict_name(reader->trial->tensors, entry->tensor, NULL);
        assay_record record;
        double count = -1;
        if (strncmp(name, BEGIN, sizeof BEGIN - 1) != 0 || !assay_path_ends(name, "/step"))
            continue;
        if (!assay_part_number(part, entry, &count) &&
            (assay_trial_record(reader, part, entry, &record, NULL) != ASSAY_OK || record.elements != 1 ||
             assay_reader_number(reader->records, &count, NULL) != ASSAY_OK))
            count = -1;
        return count >= 0 && count < 1e15 ? (int64_t)count : -1;
    }
    return -1;
}

/* Is it asked for, or the one before or behind? */
static bool is_near_asked(const said_steps *list, size_t at)
{
    return list->list[at].asked || (at > 0 && list->list[at - 1].asked) ||
           (at + 1 < list->count && list->list[at + 1].asked);
}

static void count_optimizers(const assay_trial_files *trial, said_steps *list)
{
    assay_trial_reader reader = {.trial = trial};
    for (size_t p = 0; p < trial->shard.count; p++) {
        const assay_part *part = &trial->shard.parts[p];
        size_t at = 0;
        ASSAY_SEARCH(at, list->count, list->list[at].unit->step < part->step);
        said_of *one = at < list->count && list->list[at].unit->step == part->step ? &list->list[at] : NULL;
        if (one && one->trained < 0 && is_near_asked(list, at))
            one->trained = count_of_optimizer(&reader, part);
    }
    assay_trial_reader_close(&reader);
}

/* Adds what is said of one, whose count is less than that of the one that it follows; or the same the other way round. */
static int add_count(const assay_trial_files *trial, const said_of *one, const char *what, int64_t count,
                     const said_of *other, int64_t of_other, bool exchanged, assay_verify_remarks *remarks)
{
    char *place = NULL, text[256];
    snprintf(text, sizeof text,
             "its %s was stepped %lld times, and %lld times at step %lld: it lies in another's place%s", what,
             (long long)count, (long long)of_other, (long long)other->unit->step,
             exchanged ? ", and that one in its own" : ", or began anew");
    int status = assay_unit_places(trial->store, &trial->catalog, one->unit, assay_verify_take_place, &place);
    ASSAY_THEN(status, assay_verify_remark_add(remarks, exchanged ? ASSAY_VERIFY_SUSPECT : ASSAY_VERIFY_NOTE,
                                               one->unit->step, place ? place : ".", text));
    free(place);
    return status;
}

typedef int64_t count_of(const said_of *one);

static int64_t of_schedule(const said_of *one)
{
    return one->schedule;
}

static int64_t of_optimizer(const said_of *one)
{
    return one->trained;
}

/* What was stepped less often than in the checkpoint before is another checkpoint's, or began anew: how often that is a step differs, so
 * that nothing else is known of one alone. Where each of both has the step of the other one, they stand in each other's place. */
static int name_counts(const assay_trial_files *trial, const said_steps *list, const char *what, count_of *of,
                       assay_verify_remarks *remarks)
{
    const said_of *before = NULL;
    int status = ASSAY_OK;
    for (size_t i = 0; i < list->count && status == ASSAY_OK; i++) {
        const said_of *one = &list->list[i];
        const int64_t count = of(one), last = before ? of(before) : 0;
        if (count < 0)
            continue;
        if (before && count < last && (one->asked || before->asked)) {
            const bool exchanged = last == one->unit->step && count == before->unit->step;
            status = add_count(trial, one, what, count, before, last, exchanged, remarks);
            if (status == ASSAY_OK && exchanged)
                status = add_count(trial, before, what, last, one, count, exchanged, remarks);
        }
        before = one;
    }
    return status;
}

static int name_rates(const assay_trial_files *trial, const assay_verify_options *options,
                      assay_verify_remarks *remarks)
{
    const assay_catalog *catalog = &trial->catalog;
    said_steps said = {0};
    int status = ASSAY_OK;
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++) {
        if (!assay_format_of(catalog->units[i].format)->checkpoints ||
            (i > 0 && catalog->units[i - 1].step == catalog->units[i].step))
            continue;
        said_of *one = ASSAY_VEC_ADD(&said);
        if (one)
            *one = (said_of){.unit = &catalog->units[i],
                             .asked = is_asked(options, catalog->units[i].step),
                             .said = -1,
                             .schedule = -1,
                             .trained = -1};
        status = !one ? ASSAY_ENOMEM : one->asked ? name_rates_at(trial, one, remarks) : ASSAY_OK;
    }
    ASSAY_THEN(status, name_exchanged(trial, &said, remarks));
    ASSAY_THEN(status, name_counts(trial, &said, "scheduler", of_schedule, remarks));
    if (status == ASSAY_OK)
        count_optimizers(trial, &said);
    ASSAY_THEN(status, name_counts(trial, &said, "optimizer", of_optimizer, remarks));
    free(said.list);
    return status;
}

int assay_verify_kept(const assay_trial_files *trial, const assay_verify_options *options,
                      assay_verify_remarks *remarks)
{
    const int status = name_codes(trial, options, remarks);
    return status == ASSAY_OK ? name_rates(trial, options, remarks) : status;
}
