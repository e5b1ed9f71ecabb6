/* places.c - see places.h. */
#include "trial/places.h"

#include "trial/trial_format.h"
#include "trial/reader.h"

/* A question over all formats, because copying a directory knows no format. */
bool assay_directory_holds_files(const char *directory)
{
    bool holds = false;
    for (unsigned i = 0; i < assay_format_count() && !holds; i++)
        holds = assay_format_of(i)->holds_files && assay_format_of(i)->holds_files(directory);
    return holds;
}

int assay_trial_places(assay_store *store, assay_place_visit *visit, void *context)
{
    int status = ASSAY_OK;
    for (unsigned i = 0; i < assay_format_count() && status == ASSAY_OK; i++)
        status = assay_format_of(i)->places(store, visit, context);
    return status == ASSAY_OK ? assay_event_places(store, visit, context) : status;
}

int assay_trial_trees(int64_t step, assay_place_visit *visit, void *context)
{
    int status = ASSAY_OK;
    for (unsigned i = 0; i < assay_format_count() && status == ASSAY_OK; i++)
        if (assay_format_of(i)->trees)
            status = assay_format_of(i)->trees(step, visit, context);
    return status;
}

int assay_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                      assay_place_visit *visit, void *context)
{
    return assay_format_of(unit->format)->unit_places(store, catalog, unit, visit, context);
}

bool assay_part_is_promised(const assay_part *part)
{
    return assay_format_of(part->format)->index_is_complete;
}

/* Of a file that grows at its end the last unit may still change; earlier ones cannot. */
bool assay_unit_is_behind(const assay_catalog *catalog, size_t i)
{
    const assay_unit *unit = &catalog->units[i];
    bool later = false;
    for (size_t k = i + 1; k < catalog->unit_count && !later && assay_format_of(unit->format)->grows_at_end; k++)
        later = catalog->units[k].worker == unit->worker && catalog->units[k].format == unit->format;
    return later;
}

/* Has the file the bytes of the records that begin at `first`? *next gets the first one of another file. */
static bool is_long_enough(assay_store *store, const assay_catalog *catalog, const assay_part *part,
                           const assay_entry *first, const assay_entry *end, const assay_entry **next)
{
    char room[ASSAY_PATH_ROOM];
    uint64_t need = 0, size = 0;
    const assay_entry *e = first;
    for (; e < end && assay_part_same_file(part, e->file, first->file); e++)
        need = e->offset + e->length > need ? e->offset + e->length : need;
    *next = e;
    const char *path = assay_part_file(catalog, part, first->file, room);
    return need == 0 || (path && assay_store_size_of(store, path, &size, NULL) == 1 && size >= need);
}

/* Can the heads of all records be read? */
static int have_heads(assay_store *store, const assay_catalog *catalog, const assay_part *part,
                      const assay_entry *first, const assay_entry *end)
{
    /* A head is far below this; the budget only has to be no hindrance. */
    enum { BUDGET = 1 << 30 };
    assay_reader *reader = NULL;
    assay_record record;
    int status = ASSAY_OK;
    for (const assay_entry *e = first; e < end && status == ASSAY_OK; e++) {
        status = assay_reader_open(&reader, store, catalog, part, e->file, NULL);
        ASSAY_THEN(status, assay_reader_record(reader, e->offset, e->length, BUDGET, &record, NULL));
    }
    assay_reader_close(reader);
    return status == ASSAY_OK ? 1 : status == ASSAY_ENOMEM ? status : 0;
}

/* Watching asks before a step is evaluated. Cheap questions first: sizes of files, and only formats whose index may
 * run ahead of the data have their heads read. */
int assay_part_is_whole(assay_store *store, const assay_catalog *catalog, const assay_shard *shard,
                        const assay_part *part)
{
    if (part->count == 0 || assay_format_of(part->format)->in_notes)
        return 1;
    const assay_entry *first = shard->entries + part->first, *end = first + part->count;
    for (const assay_entry *e = first; e < end;)
        if (!is_long_enough(store, catalog, part, e, end, &e))
            return 0;
    return assay_part_is_promised(part) ? 1 : have_heads(store, catalog, part, first, end);
}

/* Called while a trial is packed or compared, and by `assay ls`: what is wrong is named once for each file, not for each
 * record. */
int assay_part_check_file(assay_store *store, const assay_catalog *catalog, const assay_shard *shard,
                          const assay_part *part, const assay_entry *first, assay_problems *problems, uint64_t *size)
{
    const assay_entry *end = shard->entries + part->first + part->count, *beyond = NULL;
    char room[ASSAY_PATH_ROOM] = "";
    assay_error err = {""};
    uint32_t records = 0, lost = 0;
    const char *path = assay_part_file(catalog, part, first->file, room);
    const int there = path ? assay_store_size_of(store, path, size, &err) : 0;
    *size = there == 1 ? *size : 0;
    for (const assay_entry *e = first; e < end && assay_part_same_file(part, e->file, first->file); e++) {
        const bool outside = there == 1 && (e->offset > *size || e->length > *size - e->offset);
        records++;
        lost += outside;
        beyond = outside && !beyond ? e : beyond;
    }
    if (there < 0)
        assay_problems_add(problems, ASSAY_PROBLEM_READ, part->step, path, -1, "%s", err.text);
    else if (there == 0)
        assay_problems_add(problems, ASSAY_PROBLEM_EVENT_MISSING, part->step, path ? path : room, -1,
                           "%s: the index lists %u record%s in this file, which is not there", path ? path : room,
                           records, records == 1 ? "" : "s");
    else if (beyond)
        assay_problems_add(
            problems, ASSAY_PROBLEM_RECORD, part->step, path, (int64_t)beyond->offset,
            "%s: offset %llu: the file ends early: it has %llu bytes, and %u of %u record%s end%s behind them", path,
            (unsigned long long)beyond->offset, (unsigned long long)*size, lost, records, records == 1 ? "" : "s",
            lost == 1 ? "s" : "");
    return problems->status;
}

/* Entries are sorted by file, so each file is one run of them. */
int assay_part_check_files(assay_store *store, const assay_catalog *catalog, const assay_shard *shard,
                           const assay_part *part, assay_problems *problems)
{
    const assay_trial_format *format = assay_format_of(part->format);
    int status = ASSAY_OK;
    if (format->in_notes || format->assembled || part->count == 0)
        return ASSAY_OK;
    const assay_entry *e = shard->entries + part->first, *end = e + part->count;
    while (e < end && status == ASSAY_OK) {
        const assay_entry *first = e;
        uint64_t size = 0;
        status = assay_part_check_file(store, catalog, shard, part, first, problems, &size);
        while (e < end && assay_part_same_file(part, e->file, first->file))
            e++;
    }
    return status;
}
