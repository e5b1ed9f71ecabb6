/* test_lookback_index.c - a rank that holds the later steps of a trial finds older records by reading their index. */
#include <stdlib.h>
#include <string.h>

#include "workspace.h"
#include "engine/source/lookback_index.h"
#include "unit.h"

enum { OWN = 8 }; /* the first step that the rank holds */

static assay_comm *comm;

typedef struct opened {
    workspace w;
    assay_sources sources;
    assay_source *source;
    assay_lookback_index *index;
} opened;

/* An index file with one record of each of the names, the i-th at byte 100 * (step + 1) + 50 * i. */
static void put_index(const workspace *w, int step, int worker, const char *const *names)
{
    char path[200], text[2000];
    int n = snprintf(text, sizeof text,
                     "{\"meta\": {\"mode\": \"TRAIN\", \"mode_step\": %d, \"event_file_name\": \"events/e\"},"
                     " \"tensor_payload\": [",
                     2 * step);
    for (int i = 0; names[i]; i++)
        n +=
            snprintf(text + n, sizeof text - (size_t)n, "%s{\"tensorname\": \"%s\", \"start_idx\": %d, \"length\": 40}",
                     i ? ", " : "", names[i], 100 * (step + 1) + 50 * i);
    snprintf(text + n, sizeof text - (size_t)n, "]}");
    snprintf(path, sizeof path, "index/000000000/%012d_worker_%d.json", step, worker);
    workspace_text(w, path, text);
}

/* Two workers, steps 0 to 9. "a" of worker 0 is in every third step, "b" of worker 1 in step 2 alone; step 4 of worker
 * 1 is missing, the index of step 6 of worker 0 damaged. The source is that of a rank whose steps are 8 and 9. */
static void open_trial(opened *o)
{
    static const char *const NOTHING[] = {"filler", "smdebug/reductions/mean/a", NULL};
    static const char *const A[] = {"filler", "a", NULL};
    static const char *const B[] = {"b", "a", NULL};
    assay_job_trial trial = {.path = o->w.root, .name = (char *)"made"};
    assay_job job = {.trials = &trial, .trial_count = 1};
    assay_error err = {""};
    workspace_make(&o->w);
    for (int step = 0; step < 10; step++) {
        put_index(&o->w, step, 0, step % 3 == 0 ? A : NOTHING);
        if (step != 4)
            put_index(&o->w, step, 1, step == 2 ? B : NOTHING);
    }
    workspace_text(&o->w, "index/000000000/000000000006_worker_0.json", "{\"meta\": ");
    CU_ASSERT_EQUAL_FATAL(assay_sources_init(&o->sources, &job), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_sources_list(comm, &o->sources, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_sources_read(comm, &o->sources, &err), ASSAY_OK);
    o->source = &o->sources.list[0];
    CU_ASSERT_EQUAL_FATAL(o->source->status, ASSAY_OK);
    assay_shard *held = &o->source->shard;
    size_t first = assay_shard_find(held, OWN - 1); /* step 7 was sent for look-back */
    assay_shard_keep(held, first, held->count - first);
    for (size_t p = 0; p < held->count; p++)
        held->parts[p].before = held->parts[p].step < OWN;
    o->index = assay_lookback_index_new(o->source);
}

static void close_trial(opened *o)
{
    assay_lookback_index_free(o->index);
    assay_sources_release(&o->sources);
    workspace_remove(&o->w);
}

/* The record before `step` is the one of step `at`; -1: there is none. */
static void expect(opened *o, const char *tensor, uint32_t worker, int64_t step, int64_t at, uint64_t offset)
{
    assay_place place = {NULL, NULL};
    uint32_t id = assay_dict_find(o->source->info->tensors, tensor, strlen(tensor));
    CU_ASSERT_NOT_EQUAL_FATAL(id, ASSAY_NO_ID);
    int found = assay_lookback_index_before(o->index, id, worker, step, &place);
    CU_ASSERT_EQUAL(found, at >= 0);
    if (found != 1)
        return;
    CU_ASSERT_EQUAL(place.part->step, at);
    CU_ASSERT_EQUAL(place.part->mode_step, 2 * at);
    CU_ASSERT_EQUAL(place.part->mode, ASSAY_MODE_TRAIN);
    CU_ASSERT_EQUAL(place.part->worker, worker);
    CU_ASSERT_EQUAL(place.entry->tensor, id);
    CU_ASSERT_EQUAL(place.entry->kind, ASSAY_RAW);
    CU_ASSERT_EQUAL(place.entry->offset, offset);
}

static void test_goes_back(void)
{
    opened o;
    open_trial(&o);
    expect(&o, "a", 0, 8, 3, 450); /* not a reduction, nor what its damaged index does not tell */
    expect(&o, "a", 0, 3, 0, 150);
    expect(&o, "a", 0, 0, -1, 0);
    expect(&o, "a", 0, 8, 3, 450);   /* the newest again, though all is read */
    expect(&o, "a", 0, 100, 3, 450); /* the own steps are not looked at */
    close_trial(&o);
}

static void test_workers(void)
{
    opened o;
    open_trial(&o);
    expect(&o, "b", 0, 8, -1, 0);
    expect(&o, "b", 1, 8, 2, 300);
    expect(&o, "b", 1, 2, -1, 0);
    expect(&o, "filler", 1, 5, 3, 400); /* step 4 is missing */
    close_trial(&o);
}

/* Each index file is read once: what is gone afterwards is still known. */
static void test_reads_once(void)
{
    opened o;
    open_trial(&o);
    expect(&o, "a", 0, 4, 3, 450);
    for (int step = 3; step < 8; step++) {
        char path[300];
        snprintf(path, sizeof path, "%.250s/index/000000000/%012d_worker_0.json", o.w.root, step);
        CU_ASSERT_EQUAL(remove(path), 0);
    }
    expect(&o, "a", 0, 8, 3, 450);
    expect(&o, "filler", 0, 8, 7, 800);
    expect(&o, "a", 0, 3, 0, 150);
    close_trial(&o);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"goes back", test_goes_back},
                           {"each worker by itself", test_workers},
                           {"reads an index file once", test_reads_once},
                           CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, true, &comm, &err) != ASSAY_OK)
        return 2;
    int code = unit_main("look-back index", tests);
    assay_comm_close(comm);
    return code;
}
