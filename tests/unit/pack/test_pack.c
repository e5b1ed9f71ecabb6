/* test_pack.c - a trial, packed and restored: the same files with the same bytes, and what is not the same is named. */
#include "unit.h"
#include "workspace.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "hdf5/hdf5_file.h"
#include "pack/pack.h"

static const char HEALTHY[] = ASSAY_TEST_DATA "/trials/healthy";

static assay_comm *comm;
static workspace place;
static char packed[600], restored[600];

/* False in builds that write no HDF5. */
static bool begin(void)
{
    if (!assay_hdf5_available())
        return false;
    workspace_make(&place);
    snprintf(packed, sizeof packed, "%s/packed.h5", place.root);
    snprintf(restored, sizeof restored, "%s/restored", place.root);
    return true;
}

static int pack(const char *path, bool resume, assay_pack_figures *out, assay_error *err)
{
    char name[] = "healthy";
    assay_job_trial trial = {.path = (char *)(uintptr_t)path, .name = name};
    const assay_job job = {.file = (char *)(uintptr_t) "pack", .trials = &trial, .trial_count = 1};
    return assay_pack(comm, &job, &(assay_pack_options){.output = packed, .verify = true, .resume = resume}, out, err);
}

/* Writes text over the middle of a file of the restored trial. */
static void overwrite(const char *file, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", restored, file);
    FILE *out = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(fseek(out, 10, SEEK_SET), 0);
    CU_ASSERT_TRUE(fputs(text, out) >= 0);
    CU_ASSERT_EQUAL(fclose(out), 0);
}

static void there_and_back(void)
{
    static const char INDEX[] = "index/000000000/000000000000_worker_0.json";
    assay_pack_figures there = {0}, back = {0};
    assay_error err = {""};
    bool same = false;
    if (!begin())
        return;
    CU_ASSERT_EQUAL_FATAL(pack(HEALTHY, false, &there, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(there.trials, 1);
    CU_ASSERT(there.files > 0 && there.records > 0 && there.bytes > 0);
    CU_ASSERT_EQUAL(there.unreadable + there.losses + there.damaged, 0);
    CU_ASSERT_EQUAL(assay_pack_compare(comm, HEALTHY, packed, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_unpack(comm, packed, restored, &back, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(back.files, there.files);
    CU_ASSERT_EQUAL(back.bytes, there.bytes);
    CU_ASSERT_EQUAL(assay_pack_compare(comm, restored, packed, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_pack_matches(comm, restored, packed, &same, &err), ASSAY_OK);
    CU_ASSERT_TRUE(same);
    /* Of the same size, so that names and sizes still match: the bytes tell. */
    overwrite(INDEX, "?");
    CU_ASSERT_EQUAL(assay_pack_matches(comm, restored, packed, &same, &err), ASSAY_OK);
    CU_ASSERT_TRUE(same);
    CU_ASSERT_EQUAL(assay_pack_compare(comm, restored, packed, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, INDEX));
    workspace_remove(&place);
}

/* A file that is complete and of the same trial is kept; one that lacks a file is not. */
static void packed_again(void)
{
    assay_pack_figures figures = {0};
    assay_error err = {""};
    char gone[1024];
    bool same = true;
    if (!begin())
        return;
    CU_ASSERT_EQUAL_FATAL(pack(HEALTHY, false, &figures, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(pack(HEALTHY, true, &figures, &err), ASSAY_OK);
    CU_ASSERT_TRUE(figures.kept);
    CU_ASSERT_EQUAL_FATAL(assay_unpack(comm, packed, restored, &figures, &err), ASSAY_OK);
    snprintf(gone, sizeof gone, "%s/training_job_end.ts", restored);
    CU_ASSERT_EQUAL(unlink(gone), 0);
    CU_ASSERT_EQUAL(assay_pack_matches(comm, restored, packed, &same, &err), ASSAY_OK);
    CU_ASSERT_FALSE(same);
    workspace_remove(&place);
}

/* What cannot be done leaves nothing behind, and says what it was about. */
static void what_cannot_be_done(void)
{
    static const char NOT_PACKED[] = "no HDF5";
    assay_pack_figures figures = {0};
    assay_error err = {""};
    if (!begin())
        return;
    CU_ASSERT_NOT_EQUAL(pack("/nowhere/at/all", false, &figures, &err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nowhere/at/all"));
    CU_ASSERT_NOT_EQUAL(access(packed, F_OK), 0);
    workspace_text(&place, "packed.h5", NOT_PACKED);
    CU_ASSERT_NOT_EQUAL(assay_unpack(comm, packed, restored, &figures, &err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "packed.h5"));
    CU_ASSERT_NOT_EQUAL(access(restored, F_OK), 0);
    workspace_text(&place, "restored/own.txt", "stays");
    CU_ASSERT_NOT_EQUAL(assay_unpack(comm, packed, restored, &figures, &err), ASSAY_OK);
    workspace_remove(&place);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"there and back", there_and_back},
                           {"packed again", packed_again},
                           {"what cannot be done", what_cannot_be_done},
                           CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, true, &comm, &err) != ASSAY_OK)
        return 1;
    const int failed = unit_main("pack", tests);
    assay_comm_close(comm);
    return failed;
}
