/* A directory of its own for a report: its name, what it never writes over, and what is left of it. */
#include "unit.h"
#include "workspace.h"

#include "cli/own_place.h"

static workspace place;

static void begin(void)
{
    workspace_make(&place);
    CU_ASSERT_EQUAL_FATAL(chdir(place.root), 0);
}

static void end(void)
{
    CU_ASSERT_EQUAL_FATAL(chdir("/"), 0);
    workspace_remove(&place);
}

/* The place of a job of that one trial. */
static char *make(const char *name, const char *path)
{
    assay_job_trial trial = {.path = (char *)(uintptr_t)path, .name = (char *)(uintptr_t)name};
    const assay_job job = {.trials = &trial, .trial_count = 1};
    char *made = NULL;
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(own_place_make(&job, &made, &err), ASSAY_OK);
    return made;
}

static void is_called(const char *trial, const char *expected)
{
    char *made = make(trial, ".");
    CU_ASSERT_STRING_EQUAL(made, expected);
    own_place_end(made);
}

static void names(void)
{
    begin();
    is_called("run", "assay-report/run");
    is_called("a/b c\n", "assay-report/a_b_c_");
    is_called("../..", "assay-report/_._.."); /* it stays below the directory */
    is_called(".hidden", "assay-report/_hidden");
    is_called("latest", "assay-report/Latest"); /* that one is the link */
    char own[300];
    snprintf(own, sizeof own, "assay-report%s", strrchr(place.root, '/'));
    char *made = make(".", "."); /* which names nothing: the working directory has a name of its own */
    CU_ASSERT_STRING_EQUAL(made, own);
    own_place_end(made);
    CU_ASSERT_EQUAL(access("assay-report", F_OK), -1); /* nothing was written: nothing is left */
    end();
}

static void what_stands_there(void)
{
    char to[64] = "";
    begin();
    workspace_text(&place, "assay-report/run/report.json", "mine");
    char *made = make("run", "run");
    CU_ASSERT_STRING_EQUAL(made, "assay-report/run-2");
    workspace_text(&place, "assay-report/run-2/report.json", "new");
    own_place_keep(made);
    CU_ASSERT_EQUAL(readlink("assay-report/latest", to, sizeof to - 1), 5);
    CU_ASSERT_STRING_EQUAL(to, "run-2");
    own_place_end(made);
    CU_ASSERT_EQUAL(access("assay-report/run-2/report.json", F_OK), 0); /* a report stays */
    made = make("other", "other");
    own_place_keep(made);
    memset(to, 0, sizeof to);
    CU_ASSERT_EQUAL(readlink("assay-report/latest", to, sizeof to - 1), 5);
    CU_ASSERT_STRING_EQUAL(to, "other");
    CU_ASSERT_EQUAL(unlink("assay-report/latest"), 0);
    workspace_text(&place, "assay-report/latest", "a file of somebody's");
    own_place_keep(made);
    CU_ASSERT_EQUAL(readlink("assay-report/latest", to, sizeof to - 1), -1); /* it is no link, and stays */
    own_place_end(made);
    end();
}

int main(void)
{
    CU_TestInfo tests[] = {{"names", names}, {"what stands there", what_stands_there}, CU_TEST_INFO_NULL};
    return unit_main("own place", tests);
}
