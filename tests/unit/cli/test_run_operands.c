/* test_run_operands.c - which operands of `assay run` are trials, and which one is the job. */
#include "unit.h"
#include "workspace.h"

#include <stdlib.h>
#include <string.h>

#include "cli/run_operands.h"

enum { MOST = 4 };

static assay_comm *comm;

/* `job`: the operand that is the job, -1: the one that is built in. */
static const struct {
    const char *operand[MOST];
    int job;
    size_t trials;
} GOOD[] = {
    {{"trial"}, -1, 1},
    {{"trial", "job.json"}, 1, 1},
    {{"job.json", "trial"}, 0, 1},
    {{"job.json"}, 0, 0},
    {{"missing.json", "trial"}, 0, 1}, /* not there, and called like a job: its error is the better one */
    {{"missing", "also-missing"}, -1, 2},
    {{"packed.h5", "plain.hdf5", "model.safetensors"}, -1, 3},
    {{"run-*", "NAME=trial", "s3://bucket/prefix"}, -1, 3},
    {{"history.json"}, -1, 1}, /* a log in one file: JSON that is no job */
    {{"trial", "trial", "trial"}, -1, 3},
};

static int take(const char *const *operand, size_t count, run_options *options, const char **job, assay_error *err)
{
    const cli_context context = {.comm = comm};
    return run_take_operands(&context, ASSAY_OK, operand, count, options, job, err);
}

static void begin(workspace *w)
{
    workspace_make(w);
    workspace_text(w, "trial/x", "");
    workspace_text(w, "job.json", "{\"rules\": []}\n");
    workspace_text(w, "other.json", "{\"rules\": []}\n");
    workspace_text(w, "packed.h5", "");
    workspace_text(w, "plain.hdf5", "");
    workspace_text(w, "model.safetensors", "");
    workspace_text(w, "history.json", "{\"loss\": [0.5, 0.4, 0.3]}\n");
    CU_ASSERT_EQUAL_FATAL(chdir(w->root), 0);
}

static void end(const workspace *w)
{
    CU_ASSERT_EQUAL_FATAL(chdir("/"), 0);
    workspace_remove(w);
}

static void sorted_into_job_and_trials(void)
{
    workspace w;
    begin(&w);
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        run_options options = RUN_DEFAULTS;
        const char *job = NULL, *wanted = GOOD[i].job < 0 ? NULL : GOOD[i].operand[GOOD[i].job];
        assay_error err = {""};
        size_t count = 0;
        while (count < MOST && GOOD[i].operand[count])
            count++;
        CU_ASSERT_EQUAL(take(GOOD[i].operand, count, &options, &job, &err), ASSAY_OK);
        if (job != wanted || options.trials.count != GOOD[i].trials)
            printf("\ncase %zu: job %s, %zu trials, %s\n", i, job ? job : "-", options.trials.count, err.text);
        CU_ASSERT_PTR_EQUAL(job, wanted);
        CU_ASSERT_EQUAL(options.trials.count, GOOD[i].trials);
        CU_ASSERT_PTR_NOT_NULL(options.job_text);
        free(options.trials.text);
    }
    end(&w);
}

/* Beside a trial that an option names, another file is the job, whatever is wrong with it. */
static void a_job_beside_given_trials(void)
{
    const char *operand[] = {"history.json"}, *job = NULL;
    run_options options = RUN_DEFAULTS;
    assay_error err = {""};
    workspace w;
    begin(&w);
    CU_ASSERT_TRUE_FATAL(cli_list_add(&options.trials, "trial"));
    CU_ASSERT_EQUAL(take(operand, 1, &options, &job, &err), ASSAY_OK);
    CU_ASSERT_PTR_EQUAL(job, operand[0]);
    CU_ASSERT_EQUAL(options.trials.count, 1);
    free(options.trials.text);
    end(&w);
}

static void refused(const char *const *operand, size_t count, const char *said)
{
    run_options options = RUN_DEFAULTS;
    const char *job = NULL;
    assay_error err = {""};
    CU_ASSERT_EQUAL(take(operand, count, &options, &job, &err), ASSAY_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, said));
    free(options.trials.text);
}

static void what_is_refused(void)
{
    workspace w;
    begin(&w);
    refused(NULL, 0, "give a trial");
    refused((const char *const[]){"job.json", "trial", "other.json"}, 3, "other.json: one job file is enough");
    end(&w);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"sorted into job and trials", sorted_into_job_and_trials},
                           {"a job beside given trials", a_job_beside_given_trials},
                           {"what is refused", what_is_refused},
                           CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, false, &comm, &err) != ASSAY_OK)
        return 1;
    const int failed = unit_main("run operands", tests);
    assay_comm_close(comm);
    return failed;
}
