/* attach.c - see attach.h. */
#include "topology/attach.h"

#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "trial/trial_format.h"
#include "mesh/draft.h"

static const char OWN[] = "topology.json";

static int take(assay_catalog *catalog, const char *name, const assay_buf *text, bool derived, assay_error *err)
{
    assay_topology *t = NULL;
    int status = assay_topology_parse(name, text->data ? (const char *)text->data : "", text->size, &t, err);
    if (status == ASSAY_OK)
        status = assay_topology_place(t, name, catalog->worker, catalog->workers, err);
    if (status != ASSAY_OK) {
        assay_topology_free(t);
        return status;
    }
    t->derived = derived;
    assay_topology_free(catalog->topology);
    catalog->topology = t;
    if (!derived && t->world > catalog->expected_workers)
        catalog->expected_workers = t->world;
    return ASSAY_OK;
}

static int take_given(assay_catalog *catalog, const char *given, assay_error *err)
{
    assay_buf text;
    assay_buf_init(&text, ASSAY_TOPOLOGY_MOST);
    const bool inside = given[strspn(given, " \t\r\n")] == '{';
    int status = ASSAY_OK;
    if (inside)
        assay_put_bytes(&text, given, strlen(given));
    else
        status = assay_file_read(given, ASSAY_TOPOLOGY_MOST, &text, err);
    if (status == ASSAY_OK)
        status = take(catalog, inside ? "topology" : given, &text, false, err);
    assay_buf_release(&text);
    return status;
}

/* The file in the trial's root. 1: there is none. */
static int take_own(assay_store *store, assay_catalog *catalog, assay_error *err)
{
    char name[512];
    assay_buf text;
    const int there = assay_store_exists(store, OWN, err);
    assay_store_stamp stamp;
    if (there < 0)
        return there;
    if (there == 0 &&
        assay_store_stamp_of(store, OWN, &stamp, NULL) != 1) /* a pipe or directory is one that is wrong */
        return 1;
    assay_buf_init(&text, ASSAY_TOPOLOGY_MOST);
    snprintf(name, sizeof name, "%.400s/%s", assay_store_location(store), OWN);
    int status = assay_store_read(store, OWN, ASSAY_TOPOLOGY_MOST, &text, err);
    if (status == ASSAY_OK)
        status = take(catalog, name, &text, false, err);
    assay_buf_release(&text);
    return status;
}

/* What was made of a trial's own files must not stand in the way of its evaluation: what is wrong in it is a problem,
 * and of no axis anything is known then, for without a topology pieces would be taken for copies. */
static int take_made(assay_catalog *catalog, assay_buf *text, assay_buf *why, assay_error *err)
{
    static const char NAME[] = "the topology made of what the trial says";
    assay_error wrong = {""};
    int status = take(catalog, NAME, text, true, &wrong);
    if (status == ASSAY_EJOB) {
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_TOPOLOGY, -1, "", -1,
                           "%s; no tensors are put together, and each worker's stand by themselves", wrong.text);
        assay_buf_clear(text);
        status = assay_topology_put_unknown(catalog->worker, catalog->workers, text);
        if (status == ASSAY_OK)
            status = take(catalog, NAME, text, true, &wrong);
    }
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s", wrong.text);
    assay_put_u8(why, '\0');
    catalog->topology->why = assay_buf_status(why) == ASSAY_OK ? assay_copy_text((const char *)why->data) : NULL;
    return catalog->topology->why ? ASSAY_OK : ASSAY_ENOMEM;
}

/* What the formats know: the first one that knows anything. */
static int take_derived(assay_store *store, assay_catalog *catalog, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < catalog->format_count && status == ASSAY_OK && !catalog->topology; i++) {
        const assay_trial_format *format = assay_format_of(catalog->formats[i]);
        assay_buf text, why;
        assay_buf_init(&text, ASSAY_TOPOLOGY_MOST);
        assay_buf_init(&why, ASSAY_TOPOLOGY_MOST);
        if (format->derive)
            status = format->derive(store, catalog, &text, &why, &catalog->problems);
        if (status == ASSAY_EBUDGET) {
            assay_problems_add(&catalog->problems, ASSAY_PROBLEM_TOPOLOGY, -1, "", -1,
                               "what is said of pieces makes a topology of more than %d MiB; no tensors are put "
                               "together, and each worker's stand by themselves",
                               ASSAY_TOPOLOGY_MOST >> 20);
            assay_buf_clear(&text);
            assay_buf_clear(&why);
            status = assay_topology_put_unknown(catalog->worker, catalog->workers, &text);
        }
        if (status == ASSAY_OK && text.size > 0)
            status = take_made(catalog, &text, &why, err);
        assay_buf_release(&text);
        assay_buf_release(&why);
    }
    return status;
}

int assay_topology_attach(assay_store *store, const char *given, assay_catalog *catalog, assay_error *err)
{
    if (given)
        return take_given(catalog, given, err);
    int status = take_own(store, catalog, err);
    if (status == 1)
        status = take_derived(store, catalog, err);
    assay_problems_take_notes(&catalog->problems, store, -1, "which worker has which piece may be unknown without it");
    if (status == ASSAY_OK && catalog->problems.status != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while looking for its topology",
                          assay_store_location(store));
    return status == ASSAY_OK ? assay_store_listed_whole(store, err) : status;
}
