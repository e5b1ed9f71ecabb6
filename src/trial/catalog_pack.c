/* catalog_pack.c - carries a catalog from rank 0 to the others. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/trial_format.h"
#include "mesh/topology.h"

/* step, then worker and mode and format in one number, then place. */
enum { PACKED_UNIT = 8 + 4 + 4 };

void assay_catalog_release(assay_catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->workers; i++) {
        free(catalog->worker_key[i]);
        free(catalog->worker[i]);
    }
    free(catalog->worker_key);
    free(catalog->worker);
    free(catalog->units);
    free(catalog->strays);
    for (int i = 0; i < ASSAY_FORMATS_MOST; i++)
        assay_dict_free(catalog->places[i]);
    assay_collections_release(&catalog->collections);
    assay_run_facts_release(&catalog->facts);
    assay_log_facts_release(&catalog->log);
    assay_event_files_release(&catalog->events);
    assay_topology_free(catalog->topology);
    assay_problems_release(&catalog->problems);
    *catalog = (assay_catalog){0};
}

/* Also for the units that watching finds later. */
void assay_units_pack(const assay_unit *units, size_t count, assay_buf *out)
{
    assay_put_u64(out, count);
    for (size_t i = 0; i < count; i++) {
        assay_put_i64(out, units[i].step);
        assay_put_u32(out, (uint32_t)units[i].worker << 8 | (uint32_t)units[i].mode << 4 | units[i].format);
        assay_put_u32(out, units[i].place);
    }
}

/* Everything but the options, which each rank has from the job, and the state of listing. */
void assay_catalog_pack(const assay_catalog *catalog, assay_buf *out)
{
    assay_put_u64(out, catalog->workers);
    for (uint32_t i = 0; i < catalog->workers; i++)
        assay_put_text(out, catalog->worker_key[i]);
    assay_put_u32(out, catalog->expected_workers);
    assay_put_u8(out, catalog->ended);
    assay_put_u32(out, catalog->format_count);
    assay_put_bytes(out, catalog->formats, catalog->format_count);
    for (uint32_t i = 0; i < catalog->format_count; i++) {
        const assay_dict *places = catalog->places[catalog->formats[i]];
        assay_put_u8(out, places != NULL);
        if (places)
            assay_dict_pack(places, out);
    }
    assay_units_pack(catalog->strays, catalog->stray_count, out);
    assay_units_pack(catalog->units, catalog->unit_count, out);
    assay_collections_pack(&catalog->collections, out);
    assay_run_facts_pack(&catalog->facts, out);
    assay_log_facts_pack(&catalog->log, out);
    assay_event_files_pack(&catalog->events, out);
    assay_topology_pack(catalog->topology, out);
    assay_problems_pack(&catalog->problems, out);
}

static int unpack_workers(assay_cursor *in, assay_catalog *catalog)
{
    uint64_t count = assay_get_count(in, 4);
    if (in->failed || count >= ASSAY_NO_ID)
        return ASSAY_EFORMAT;
    catalog->worker_key = assay_alloc_zeroed(count, sizeof(char *));
    /* Worker by worker, so that a failure leaves as many as assay_catalog_release() may free. */
    catalog->worker = assay_alloc_zeroed(count, sizeof(char *));
    ASSAY_HAVE(catalog->worker_key && catalog->worker);
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *name = assay_get_text(in, &length);
        if (in->failed)
            return ASSAY_EFORMAT;
        catalog->worker_key[i] = assay_copy_bytes_as_text(name, length);
        catalog->worker[i] = assay_alloc(length + 1);
        catalog->workers = i + 1;
        ASSAY_HAVE(catalog->worker_key[i] && catalog->worker[i]);
        assay_worker_display_name(name, length, catalog->worker[i]);
    }
    return ASSAY_OK;
}

/* Formats of packed units must be in the packed list: all else indexes tables by them. */
static bool has_format(const assay_catalog *catalog, uint32_t format)
{
    return memchr(catalog->formats, (int)format, catalog->format_count) != NULL;
}

/* Appends units to a list. */
static int unpack_units(assay_cursor *in, const assay_catalog *catalog, assay_unit **list, size_t *list_count)
{
    uint64_t count = assay_get_count(in, PACKED_UNIT);
    assay_unit *grown = assay_realloc_array(*list, *list_count + count, sizeof *grown);
    ASSAY_HAVE(grown);
    *list = grown;
    for (uint64_t i = 0; i < count; i++) {
        assay_unit unit = {.step = assay_get_i64(in)};
        const uint32_t numbers = assay_get_u32(in);
        unit.worker = numbers >> 8;
        unit.mode = numbers >> 4 & 0xf;
        unit.format = numbers & 0xf;
        unit.place = assay_get_u32(in);
        if (in->failed || unit.worker >= catalog->workers || unit.mode >= ASSAY_MODES ||
            !has_format(catalog, unit.format))
            return ASSAY_EFORMAT;
        grown[(*list_count)++] = unit;
    }
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

int assay_units_unpack(assay_cursor *in, assay_catalog *catalog)
{
    return unpack_units(in, catalog, &catalog->units, &catalog->unit_count);
}

static int unpack_formats(assay_cursor *in, assay_catalog *catalog)
{
    const uint32_t count = assay_get_u32(in);
    const uint8_t *numbers = assay_get_bytes(in, count);
    if (in->failed || count > ASSAY_FORMATS_MOST)
        return ASSAY_EFORMAT;
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] >= assay_format_count())
            return ASSAY_EFORMAT;
        catalog->formats[i] = numbers[i];
    }
    catalog->format_count = count;
    return ASSAY_OK;
}

static int unpack_places(assay_cursor *in, assay_dict **places)
{
    if (!assay_get_u8(in))
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    if (*places) /* a format that comes twice */
        return ASSAY_EFORMAT;
    *places = assay_dict_new();
    ASSAY_HAVE(*places);
    const uint64_t count = assay_get_count(in, 4);
    for (uint64_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *name = assay_get_text(in, &length);
        if (in->failed)
            return ASSAY_EFORMAT;
        if (assay_dict_add(*places, name, length) == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
    }
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

/* Bytes of another rank are checked like foreign ones: numbers index arrays everywhere else. */
int assay_catalog_unpack(assay_cursor *in, assay_catalog *out, assay_error *err)
{
    assay_catalog catalog = {0};
    int status = unpack_workers(in, &catalog);
    if (status == ASSAY_OK) {
        catalog.expected_workers = assay_get_u32(in);
        catalog.ended = assay_get_u8(in) != 0;
        status = unpack_formats(in, &catalog);
    }
    for (uint32_t i = 0; i < catalog.format_count && status == ASSAY_OK; i++)
        status = unpack_places(in, &catalog.places[catalog.formats[i]]);
    ASSAY_THEN(status, unpack_units(in, &catalog, &catalog.strays, &catalog.stray_count));
    ASSAY_THEN(status, assay_units_unpack(in, &catalog));
    ASSAY_THEN(status, assay_collections_unpack(in, &catalog.collections, NULL));
    ASSAY_THEN(status, assay_run_facts_unpack(in, &catalog.facts));
    ASSAY_THEN(status, assay_log_facts_unpack(in, &catalog.log));
    ASSAY_THEN(status, assay_event_files_unpack(in, &catalog.events));
    ASSAY_THEN(status, assay_topology_unpack(in, catalog.worker, catalog.workers, &catalog.topology));
    ASSAY_THEN(status, assay_problems_unpack(in, &catalog.problems, NULL));
    if (status != ASSAY_OK) {
        assay_catalog_release(&catalog);
        return assay_fail(err, status,
                          status == ASSAY_ENOMEM ? "out of memory for the listing of a trial"
                                                 : "the packed listing of a trial is damaged");
    }
    *out = catalog;
    return ASSAY_OK;
}
