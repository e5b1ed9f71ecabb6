/* test_scan.c - what a watched trial looks like when workers come and go between two looks. */
#include "unit.h"

#include "workspace.h"
#include "source/trial_files.h"
#include "watch/scan.h"

static void look(watched_source *source, double now)
{
    bool changed = false;
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(assay_watched_look(source, now, &changed, &err), ASSAY_OK);
}

/* Each worker's part has the number of its worker: by it the files are found. */
static void must_have(const watched_source *source, size_t units, uint32_t workers)
{
    CU_ASSERT_EQUAL_FATAL(source->catalog.unit_count, units);
    CU_ASSERT_EQUAL_FATAL(source->catalog.workers, workers);
    for (size_t i = 0; i < units; i++) {
        const watched_part *part = source->part[i];
        CU_ASSERT_EQUAL_FATAL(part->shard.count, 1);
        CU_ASSERT_EQUAL(part->shard.parts[0].worker, source->catalog.units[i].worker);
    }
}

static void a_worker_goes_and_another_comes(void)
{
    workspace w;
    watched_source source;
    char path[512];
    workspace_make(&w);
    workspace_index(&w, 0, "worker_1");
    workspace_index(&w, 0, "worker_2");
    CU_ASSERT_EQUAL_FATAL(assay_watched_init(&source, w.root, NULL), ASSAY_OK);
    look(&source, 1);
    must_have(&source, 2, 2);
    snprintf(path, sizeof path, "%s/index/000000000/000000000000_worker_1.json", w.root);
    CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
    look(&source, 2);
    must_have(&source, 1, 1);
    workspace_index(&w, 0, "worker_0");
    workspace_index(&w, 0, "worker_1");
    look(&source, 3);
    must_have(&source, 3, 3);
    assay_watched_release(&source);
    workspace_remove(&w);
}

int main(void)
{
    static CU_TestInfo tests[] = {{"a worker goes and another comes", a_worker_goes_and_another_comes},
                                  CU_TEST_INFO_NULL};
    return unit_main("look", tests);
}
