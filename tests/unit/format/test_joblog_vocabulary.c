/* Words that errors have in common: what kind of ending they speak of, and which lines speak of an error at all. */
#include "unit.h"

#include <string.h>

#include "format/joblog/joblog.h"

static void test_kinds(void)
{
    static const struct {
        const char *text;
        assay_ending ending;
        assay_log_role role;
    } LINES[] = {
        {"/dev/shm: No space left on device", ASSAY_ENDING_shared_memory, ASSAY_LOG_CAUSE},
        {"hipErrorOutOfMemory: out of memory on gpu 0", ASSAY_ENDING_gpu_memory, ASSAY_LOG_CAUSE},
        {"device memory exhausted", ASSAY_ENDING_gpu_memory, ASSAY_LOG_CAUSE},
        {"No space left on device", ASSAY_ENDING_disk, ASSAY_LOG_CAUSE},
        {"quota of the project exceeded", ASSAY_ENDING_disk, ASSAY_LOG_CAUSE},
        {"std::bad_alloc", ASSAY_ENDING_host_memory, ASSAY_LOG_EITHER},
        {"oom", ASSAY_ENDING_host_memory, ASSAY_LOG_EITHER},
        {"too many open files", ASSAY_ENDING_limits, ASSAY_LOG_CAUSE},
        {"bind failed on 0.0.0.0:29500", ASSAY_ENDING_port, ASSAY_LOG_CAUSE},
        {"loss is NaN", ASSAY_ENDING_nan_stop, ASSAY_LOG_CAUSE},
        {"walltime 3600 exceeded", ASSAY_ENDING_time_limit, ASSAY_LOG_CAUSE},
        {"spot interruption notice", ASSAY_ENDING_preempted, ASSAY_LOG_CAUSE},
        {"canceled by the owner", ASSAY_ENDING_cancelled, ASSAY_LOG_CAUSE},
        {"lost contact with n0123", ASSAY_ENDING_node_failure, ASSAY_LOG_EITHER},
        {"permission denied", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
        {"HTTP 403", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
        {"license checkout failed", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
        {"no module named a", ASSAY_ENDING_import, ASSAY_LOG_CAUSE},
        {"is not compatible with the driver", ASSAY_ENDING_version, ASSAY_LOG_CAUSE},
        {"device-side assert", ASSAY_ENDING_device_assert, ASSAY_LOG_EITHER},
        {"allreduce 12 timed out", ASSAY_ENDING_collective_timeout, ASSAY_LOG_CONSEQUENCE},
        {"barrier failed", ASSAY_ENDING_rendezvous, ASSAY_LOG_EITHER},
        {"amdgpu: device is lost", ASSAY_ENDING_gpu_fault, ASSAY_LOG_EITHER},
        {"synapse error", ASSAY_ENDING_gpu_code, ASSAY_LOG_EITHER},
        {"connection reset", ASSAY_ENDING_network, ASSAY_LOG_CONSEQUENCE},
        {"no route to host", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
        {"status 503", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
        {"checksum of shard 12", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
        {"checkpoint: shape mismatch", ASSAY_ENDING_checkpoint_load, ASSAY_LOG_CAUSE},
        {"cannot open /data/a.bin", ASSAY_ENDING_missing_file, ASSAY_LOG_CAUSE},
        {"unknown option --foo", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},
        {"ended with code 139", ASSAY_ENDING_crash, ASSAY_LOG_CAUSE},
        {"Check failed: a == b", ASSAY_ENDING_crash, ASSAY_LOG_EITHER},
        {"worker 7 died", ASSAY_ENDING_worker_killed, ASSAY_LOG_EITHER},
        {"exit code: -7", ASSAY_ENDING_crash, ASSAY_LOG_CAUSE},
        {"exitcode=134", ASSAY_ENDING_crash, ASSAY_LOG_EITHER},
        {"died from signal 11 and dumped core", ASSAY_ENDING_crash, ASSAY_LOG_CAUSE},
        {"signal 9", ASSAY_ENDING_signal, ASSAY_LOG_EITHER},
        {"no heartbeat for 300 s, terminating it", ASSAY_ENDING_signal, ASSAY_LOG_EITHER},
        {"no heartbeat for 300 s", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
        {"exit code 143, code 143", ASSAY_ENDING_signal, ASSAY_LOG_CONSEQUENCE},
        {"qsub: job script rejected", ASSAY_ENDING_launcher, ASSAY_LOG_EITHER},
    };
    static const char *const none[] = {"",
                                       "gizmo 7 is out of order",
                                       "not enough room in the zoom buffer", /* no "oom" */
                                       "information of the loss",            /* no "inf" */
                                       "line 401 of 503",                    /* no codes of HTTP */
                                       "signal 110",
                                       "code 1390",
                                       "exit code 3",
                                       "execution time: see the overview",
                                       "the broadcast began"};
    assay_ending ending;
    assay_log_role role;
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        const bool known = joblog_guess(LINES[i].text, strlen(LINES[i].text), &ending, &role);
        if (!known || ending != LINES[i].ending || role != LINES[i].role)
            printf("\n%s: is of another kind", LINES[i].text);
        CU_ASSERT(known && ending == LINES[i].ending && role == LINES[i].role);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CU_ASSERT_FALSE(joblog_guess(none[i], strlen(none[i]), &ending, &role));
}

static bool speaks(const char *text)
{
    const joblog_line line = {
        .text = text, .length = strlen(text), .body = text, .body_length = strlen(text), .prefix = {.rank = -1}};
    return joblog_speaks_of_error(&line);
}

static void test_speaks(void)
{
    static const char *const errors[] = {"mesh: error: gizmo 7",
                                         "Error in step 7",
                                         "acme.GridFault: fatal: no grid",
                                         "ValueError: a",
                                         "an error occurred",
                                         "E1127 03:12:07.000000 4711 a.cc:1] gizmo 7",
                                         "level=error msg=gizmo",
                                         "HCCL error 7",
                                         "CUDA_ERROR_UNKNOWN",
                                         "ended with exit code 1",
                                         "sleep: missing operand",
                                         "Aborted (core dumped)",
                                         "launch: worker exited with 7",
                                         "error: 404",
                                         "no answer, a GPU driver error",
                                         "it ended with acme.GridError",
                                         "it returned hipErrorLaunchFailure"};
    static const char *const none[] = {"",
                                       "INFO error: gizmo 7",
                                       "W1127 03:12:07.000000 4711 a.cc:1] error: gizmo 7",
                                       "n1:1:2 [0] NCCL WARN error of gizmo 7",
                                       "error 0.0213",
                                       "error: 1e-5",
                                       "error 12%",
                                       "error: 12 of 100",
                                       "mean error: 3 +- 1",
                                       "loader: missing keys: []",
                                       "epilog: killed 0 processes",
                                       "vllm: lost 0 requests",
                                       "launch: all workers exited",
                                       "E0000 00:00:1.1 4711 cuda_dnn.cc:8310] Unable to register cuDNN factory",
                                       "name time error",
                                       "on_error: abort",
                                       "--abort-on-error",
                                       "errors by class: 7",
                                       "name error time",
                                       "| error | time |",
                                       "classes: ['exception', 'error']",
                                       "checking for error... no",
                                       "[ RUN      ] Errors.Fatal",
                                       "test_error ... ok",
                                       "exceptions: 100%|###| 10/10",
                                       "exit code 0",
                                       "errors: none",
                                       "he died and could not be found"};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (!speaks(errors[i]))
            printf("\n%s: is no error", errors[i]);
        CU_ASSERT(speaks(errors[i]));
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (speaks(none[i]))
            printf("\n%s: is an error", none[i]);
        CU_ASSERT_FALSE(speaks(none[i]));
    }
}

static void test_success(void)
{
    static const char *const good[] = {"upload succeeded at attempt 2", "INFO | SUCCESS | pushed",
                                       "Successfully opened b", "reconnected to n1"};
    static const char *const none[] = {"",
                                       "0 uploads succeeded",
                                       "not successful",
                                       "unsuccessful",
                                       "success rate 7",
                                       "success: false",
                                       "process 271 exits successfully",
                                       "no uploads succeeded"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CU_ASSERT(joblog_speaks_of_success(&(joblog_line){.text = good[i], .length = strlen(good[i])}));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CU_ASSERT_FALSE(joblog_speaks_of_success(&(joblog_line){.text = none[i], .length = strlen(none[i])}));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"kinds", test_kinds}, {"speaks", test_speaks}, {"success", test_success}, CU_TEST_INFO_NULL};
    return unit_main("joblog_vocabulary", tests);
}
