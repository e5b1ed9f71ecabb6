/* Recording through the C interface: what is refused, what is counted, what is left on disk when things go wrong. What
 * the files hold is checked by tests/hook with a decoder of its own. */
#include "unit.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <assay/hook.h>
#include "base/fault.h"

static char work[64];
static const int64_t shape[2] = {2, 3};
static const float values[6] = {1, -2, 3, -4, 5, -6};

static const char *in_work(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", work, name);
    return path;
}

static bool there(const char *name)
{
    return access(in_work(name), F_OK) == 0;
}

static int forget(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void clean(const char *name)
{
    nftw(in_work(name), forget, 16, FTW_DEPTH | FTW_PHYS);
}

static int files_seen, halves_seen;

static int count_file(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)walk;
    size_t length = strlen(path);
    files_seen += kind == FTW_F;
    halves_seen += kind == FTW_F && length > 4 && strcmp(path + length - 4, ".tmp") == 0;
    return 0;
}

static int count_files(const char *name)
{
    files_seen = halves_seen = 0;
    nftw(in_work(name), count_file, 16, FTW_PHYS);
    return files_seen;
}

/* Opens a hook on a fresh directory that saves everything at every step. */
static assay_hook *start(const char *name, int rank, int workers)
{
    assay_hook *hook = NULL;
    CU_ASSERT_EQUAL(assay_hook_open(in_work(name), rank, workers, &hook, NULL), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "save_interval", "1"), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "save_all", "true"), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "include_workers", "all"), 0);
    return hook;
}

static void record(assay_hook *hook, int steps)
{
    for (int s = 0; s < steps; s++) {
        assay_hook_step(hook);
        assay_hook_save(hook, "net.weight", ASSAY_FLOAT32, 2, shape, values);
        assay_hook_save_scalar(hook, "rate", 0.5);
    }
}

static void test_off(void)
{
    assay_hook_counts counts;
    assay_hook *hook = NULL;
    CU_ASSERT_EQUAL(assay_hook_step(NULL), 0);
    CU_ASSERT_EQUAL(assay_hook_set(NULL, "x", "y"), 0);
    CU_ASSERT_EQUAL(assay_hook_save(NULL, "a", ASSAY_FLOAT32, 2, shape, values), 0);
    CU_ASSERT_EQUAL(assay_hook_save_strings(NULL, "a", 0, NULL), 0);
    CU_ASSERT_EQUAL(assay_hook_save_scalar(NULL, "a", 1), 0);
    CU_ASSERT_EQUAL(assay_hook_collection_name(NULL, "a", "b"), 0);
    CU_ASSERT_EQUAL(assay_hook_seek(NULL, 1, 1, 1), 0);
    CU_ASSERT_EQUAL(assay_hook_flush(NULL), 0);
    CU_ASSERT_FALSE(assay_hook_active(NULL) || assay_hook_wants(NULL, "a"));
    assay_hook_get_counts(NULL, &counts);
    CU_ASSERT_EQUAL(counts.errors, 0);
    CU_ASSERT_EQUAL(assay_hook_close(NULL), 0);
    static const char *const ways[][2] = {{"ASSAY_HOOK", "off"}, {"USE_SMDEBUG", "False"}};
    for (int i = 0; i < 2; i++) {
        setenv(ways[i][0], ways[i][1], 1);
        CU_ASSERT_EQUAL(assay_hook_open(in_work("off"), 0, 1, &hook, NULL), 0);
        CU_ASSERT_PTR_NULL(hook);
        unsetenv(ways[i][0]);
    }
    CU_ASSERT_EQUAL(assay_hook_open(in_work("off"), 2, 2, &hook, NULL), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_open(in_work("off"), 0, 0, &hook, NULL), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_open(NULL, 0, 1, &hook, NULL), 0);
    CU_ASSERT_EQUAL(assay_hook_step(hook), ASSAY_EUSAGE); /* no directory */
    CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EUSAGE);
    CU_ASSERT_FALSE(there("off"));
}

static void test_counts_and_files(void)
{
    assay_hook_counts counts;
    assay_hook *hook = start("plain", 0, 1);
    CU_ASSERT_FALSE(there("plain")); /* nothing before the first step */
    record(hook, 3);
    CU_ASSERT(there("plain/.assay-hook-1/worker_0.open"));
    CU_ASSERT_EQUAL(assay_hook_flush(hook), 0);
    CU_ASSERT(there("plain/index/000000000/000000000001_worker_0.json"));
    CU_ASSERT_FALSE(there("plain/index/000000000/000000000002_worker_0.json")); /* not closed yet */
    assay_hook_get_counts(hook, &counts);
    CU_ASSERT_EQUAL(counts.steps, 2);
    CU_ASSERT_EQUAL(counts.tensors, 4);
    CU_ASSERT_EQUAL(counts.errors + counts.dropped, 0);
    CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
    CU_ASSERT(there("plain/events/000000000002/000000000002_worker_0.tfevents"));
    CU_ASSERT(there("plain/collections/000000000/worker_0_collections.json"));
    CU_ASSERT(there("plain/training_job_end.ts"));
    CU_ASSERT_FALSE(there("plain/.assay-hook-1"));
    CU_ASSERT_EQUAL(count_files("plain"), 3 + 3 + 1 + 1 + 1);
    CU_ASSERT_EQUAL(halves_seen, 0);
    clean("plain");
}

static void test_misuse(void)
{
    static const int64_t negative = -1, huge[2] = {INT64_MAX, 4};
    assay_hook_counts counts;
    assay_hook *hook = start("misuse", 0, 1);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", ASSAY_FLOAT32, 2, shape, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save_scalar(hook, "a", 1), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_set_mode(hook, 0), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_set_mode(hook, 5), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_step(hook), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "save_interval", "2"), ASSAY_EUSAGE); /* too late */
    CU_ASSERT_EQUAL(assay_hook_save(hook, NULL, ASSAY_FLOAT32, 2, shape, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "", ASSAY_FLOAT32, 2, shape, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "\xff", ASSAY_FLOAT32, 2, shape, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", 0, 2, shape, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", 77, 2, shape, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", ASSAY_FLOAT32, -1, shape, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", ASSAY_FLOAT32, 65, shape, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", ASSAY_FLOAT32, 1, NULL, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", ASSAY_FLOAT32, 1, &negative, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", ASSAY_FLOAT32, 2, huge, values), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", ASSAY_FLOAT32, 2, shape, NULL), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save_strings(hook, "a", 1, NULL), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save_scalar(hook, "", 1), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_collection_name(hook, "new one", "a"), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_seek(hook, 0, ASSAY_HOOK_TRAIN, 0), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_save(hook, "a", ASSAY_FLOAT32, 2, shape, values), 0); /* and it still works */
    assay_hook_get_counts(hook, &counts);
    CU_ASSERT_EQUAL(counts.errors, 20);
    CU_ASSERT_EQUAL(counts.status, ASSAY_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(counts.text, "before the first"));
    CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EUSAGE); /* the first failure */
    CU_ASSERT(there("misuse/events/000000000000/000000000000_worker_0.tfevents"));
    clean("misuse");
}

static void test_existing(void)
{
    assay_hook *hook = start("existing", 0, 1);
    record(hook, 2);
    assay_hook_close(hook);
    int before = count_files("existing");
    hook = start("existing", 0, 1); /* a finished trial */
    CU_ASSERT_EQUAL(assay_hook_begin(hook), ASSAY_EUSAGE);
    record(hook, 2);
    CU_ASSERT_FALSE(assay_hook_active(hook));
    CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(count_files("existing"), before);
    hook = start("existing", 0, 1); /* asked to go on */
    CU_ASSERT_EQUAL(assay_hook_set(hook, "existing", "continue"), 0);
    record(hook, 2);
    CU_ASSERT_FALSE(there("existing/training_job_end.ts"));
    CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
    CU_ASSERT(there("existing/index/000000000/000000000003_worker_0.json"));
    CU_ASSERT(there("existing/training_job_end.ts"));
    hook = start("existing", 0, 1);
    assay_hook_set(hook, "existing", "continue");
    CU_ASSERT_EQUAL(assay_hook_seek(hook, 1700, ASSAY_HOOK_TRAIN, 1500), 0);
    assay_hook_set_mode(hook, ASSAY_HOOK_TRAIN);
    record(hook, 1);
    CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
    CU_ASSERT(there("existing/index/000000001/000000001700_worker_0.json"));
    clean("existing");
    CU_ASSERT_EQUAL(mkdir(in_work("empty"), 0777), 0); /* an empty directory is as good as none */
    hook = start("empty", 0, 1);
    CU_ASSERT_EQUAL(assay_hook_begin(hook), 0);
    assay_hook *second = start("empty", 0, 1); /* the same worker once more */
    CU_ASSERT_EQUAL(assay_hook_begin(second), ASSAY_EUSAGE);
    assay_hook_close(second);
    CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
    clean("empty");
}

static void test_workers(void)
{
    assay_hook *a = start("workers", 0, 2), *b = start("workers", 1, 2), *c = start("workers", 0, 3);
    record(a, 1);
    record(b, 2);
    CU_ASSERT_EQUAL(assay_hook_begin(c), ASSAY_EUSAGE); /* of another run */
    assay_hook_close(c);
    CU_ASSERT_EQUAL(assay_hook_close(b), 0);
    CU_ASSERT_FALSE(there("workers/training_job_end.ts"));
    CU_ASSERT_EQUAL(assay_hook_close(a), 0);
    CU_ASSERT(there("workers/training_job_end.ts"));
    CU_ASSERT(there("workers/index/000000000/000000000001_worker_1.json"));
    clean("workers");
    static const char *const ends[] = {"never", "now"};
    for (int i = 0; i < 2; i++) {
        a = start("ends", 0, 2);
        assay_hook_set(a, "end_marker", ends[i]);
        record(a, 1);
        CU_ASSERT_EQUAL(assay_hook_close(a), 0);
        CU_ASSERT_EQUAL(there("ends/training_job_end.ts"), i == 1);
        clean("ends");
    }
    a = start("one", 1, 2);
    assay_hook_set(a, "include_workers", "one"); /* then only worker_0 records */
    record(a, 2);
    CU_ASSERT_EQUAL(assay_hook_save(a, "x", 99, 0, NULL, NULL), 0); /* nothing is even looked at */
    CU_ASSERT_EQUAL(assay_hook_close(a), 0);
    CU_ASSERT_FALSE(there("one"));
    a = start("dry", 0, 1);
    assay_hook_set(a, "dry_run", "true");
    record(a, 2);
    CU_ASSERT_EQUAL(assay_hook_close(a), 0);
    CU_ASSERT_FALSE(there("dry"));
    a = start("named", 0, 1);
    assay_hook_set(a, "worker", "/job:worker/task:3");
    record(a, 1);
    CU_ASSERT_EQUAL(assay_hook_close(a), 0);
    CU_ASSERT(there("named/events/000000000000/000000000000__job-worker_task-3.tfevents"));
    clean("named");
}

static void test_queue_policies(void)
{
    enum { COUNT = 100000 };
    const int64_t count = COUNT;
    assay_hook_counts counts;
    float *large = calloc(COUNT, sizeof *large);
    for (int drop = 0; drop < 2; drop++) {
        assay_hook *hook = start("policy", 0, 1);
        assay_hook_set(hook, "queue_memory", "65536");
        assay_hook_set(hook, "queue_policy", drop ? "drop" : "block");
        for (int s = 0; s < 20; s++) {
            assay_hook_step(hook);
            CU_ASSERT_EQUAL(assay_hook_save(hook, "large", ASSAY_FLOAT32, 1, &count, large), 0);
            for (int i = 0; i < 200; i++)
                CU_ASSERT_EQUAL(assay_hook_save(hook, "small", ASSAY_FLOAT32, 1, (const int64_t[]){300}, large), 0);
        }
        assay_hook_flush(hook);
        assay_hook_get_counts(hook, &counts);
        CU_ASSERT_EQUAL(drop ? counts.dropped >= 20 : counts.dropped == 0, true);
        CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
        CU_ASSERT(there("policy/training_job_end.ts"));
        clean("policy");
    }
    free(large);
}

static void test_environment(void)
{
    char path[256], text[512];
    assay_hook *hook;
    assay_error err = {""};
    snprintf(path, sizeof path, "%s/config.json", work);
    FILE *file = fopen(path, "w");
    snprintf(text, sizeof text, "{\"LocalPath\": \"%s/from_file\", \"HookParameters\": {\"save_interval\": \"2\"}}",
             work);
    fputs(text, file);
    fclose(file);
    /* The reference's variable is for programs that leave the choice to it; assay's own overrides any. */
    for (int which = 0; which < 3; which++) {
        setenv(which == 2 ? "ASSAY_HOOK_CONFIG" : "SMDEBUG_CONFIG_FILE_PATH", path, 1);
        if (which == 1)
            CU_ASSERT_EQUAL_FATAL(assay_hook_open(NULL, 0, 1, &hook, &err), 0);
        if (which != 1)
            hook = start("from_program", 0, 1);
        record(hook, 2);
        CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
        CU_ASSERT_EQUAL(there("from_file/training_job_end.ts"), which > 0);
        CU_ASSERT_EQUAL(there("from_program"), which == 0);
        clean(which ? "from_file" : "from_program");
    }
    setenv("ASSAY_HOOK_CONFIG", in_work("missing.json"), 1); /* this one goes first */
    CU_ASSERT_EQUAL(assay_hook_open(in_work("x"), 0, 1, &hook, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_PTR_NULL(hook);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "missing.json"));
    file = fopen(path, "w");
    fputs("{\"HookParameters\": {\"save_interval\": 0}}", file);
    fclose(file);
    setenv("ASSAY_HOOK_CONFIG", path, 1);
    CU_ASSERT_EQUAL(assay_hook_open(in_work("x"), 0, 1, &hook, &err), ASSAY_EPARAM);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "config.json"));
    unsetenv("ASSAY_HOOK_CONFIG");
    unsetenv("SMDEBUG_CONFIG_FILE_PATH");
    hook = start("loaded", 0, 1);
    CU_ASSERT_EQUAL(assay_hook_load(hook, path), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_load(hook, in_work("missing.json")), ASSAY_ENOTFOUND);
    assay_hook_close(hook);
    clean("loaded");
}

/* One allocation or write after the other fails: never a crash, never a half file, and the training's calls go on. */
static void torture(const char *kind, int most)
{
    bool clean_run = false;
    for (int n = 1; n <= most && !clean_run; n++) {
        char fault[32];
        assay_hook *hook = NULL;
        snprintf(fault, sizeof fault, "%s:%d", kind, n);
        setenv("ASSAY_FAULT", fault, 1);
        assay_fault_arm(0);
        int opened = assay_hook_open(in_work("torture"), 0, 1, &hook, NULL);
        assay_hook_set(hook, "save_interval", "1");
        assay_hook_set(hook, "save_all", "true");
        assay_hook_set(hook, "export_tensorboard", "true");
        assay_hook_set(hook, "reductions", "min,abs_std,prod");
        assay_hook_set(hook, "save_raw_tensor", "true");
        record(hook, 4);
        int rc = assay_hook_close(hook);
        clean_run = opened == 0 && rc == 0;
        count_files("torture");
        CU_ASSERT_EQUAL(halves_seen, 0);
        clean("torture");
    }
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    CU_ASSERT(clean_run);
}

static void test_torture(void)
{
    torture("alloc", 1000);
    torture("write", 200);
}

/* A step that cannot be written is gone as a whole; the next ones are there. */
static void test_failed_step(void)
{
    assay_hook_counts counts;
    setenv("ASSAY_FAULT", "write:2", 1); /* the first one writes the facts of the run */
    assay_fault_arm(0);
    assay_hook *hook = start("failed", 0, 1);
    record(hook, 3);
    assay_hook_flush(hook);
    assay_hook_get_counts(hook, &counts);
    CU_ASSERT_EQUAL(counts.dropped, 2);
    CU_ASSERT_EQUAL(counts.errors, 1);
    CU_ASSERT_EQUAL(counts.status, ASSAY_EIO);
    CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EIO);
    CU_ASSERT_FALSE(there("failed/events/000000000000/000000000000_worker_0.tfevents"));
    CU_ASSERT_FALSE(there("failed/index/000000000/000000000000_worker_0.json"));
    CU_ASSERT(there("failed/index/000000000/000000000001_worker_0.json"));
    CU_ASSERT(there("failed/index/000000000/000000000002_worker_0.json"));
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    clean("failed");
}

/* Profiler data that cannot be started is one failure, however many phases follow; tensors are recorded. */
static void test_failed_profile(void)
{
    assay_hook_counts counts;
    assay_hook *hook = start("profile", 0, 1);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "system_metrics_interval", "3600000"), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "existing", "continue"), 0);
    CU_ASSERT_EQUAL_FATAL(mkdir(in_work("profile"), 0777), 0);
    FILE *file = fopen(in_work("profile/system"), "w"); /* a file where the samples want a folder */
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fclose(file);
    for (int i = 0; i < 3; i++) {
        const int64_t begun = assay_hook_phase_begin(hook);
        record(hook, 1);
        CU_ASSERT_EQUAL(assay_hook_phase_end(hook, "forward", begun), 0);
    }
    assay_hook_get_counts(hook, &counts);
    CU_ASSERT_EQUAL(counts.errors, 1);
    CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EIO);
    CU_ASSERT(there("profile/index/000000000/000000000002_worker_0.json"));
    clean("profile");
}

/* How often the index of a step names a tensor. */
static int named(const char *index, const char *tensor)
{
    char text[4096] = "";
    FILE *file = fopen(in_work(index), "r");
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    int count = 0;
    for (const char *at = text; (at = strstr(at, tensor)); at++)
        count++;
    return count;
}

/* What comes later is added to a step that is on disk, and what was there stays, also where it cannot be written. */
static void test_go_back(void)
{
    static const char step1[] = "back/index/000000000/000000000001_worker_0.json",
                      step2[] = "back/index/000000000/000000000002_worker_0.json";
    assay_hook_counts counts;
    CU_ASSERT_EQUAL(assay_hook_go_back(NULL, 1), 0);
    assay_hook *hook = start("back", 0, 1);
    CU_ASSERT_EQUAL(assay_hook_go_back(hook, 0), ASSAY_EUSAGE); /* no step has begun */
    record(hook, 3);
    assay_hook_flush(hook);
    CU_ASSERT_EQUAL(named(step1, "late.weight"), 0);
    CU_ASSERT_EQUAL(assay_hook_go_back(hook, 3), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_go_back(hook, 1), 0);
    assay_hook_save(hook, "late.weight", ASSAY_FLOAT32, 2, shape, values);
    CU_ASSERT_EQUAL(assay_hook_go_back(hook, 0), 0);
    assay_hook_save(hook, "late.weight", ASSAY_FLOAT32, 2, shape, values);
    assay_hook_step(hook);
    assay_hook_flush(hook);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(named(i ? step2 : step1, "net.weight") + named(i ? step2 : step1, "scalar/rate"), 2);
        CU_ASSERT_EQUAL(named(i ? step2 : step1, "late.weight"), 1);
    }
    assay_hook_get_counts(hook, &counts);
    CU_ASSERT_EQUAL(counts.steps, 3); /* none twice, and the one that has begun is empty */
    CU_ASSERT_EQUAL(counts.tensors, 8);
    setenv("ASSAY_FAULT", "write:1", 1);
    assay_fault_arm(0);
    CU_ASSERT_EQUAL(assay_hook_go_back(hook, 2), 0);
    assay_hook_save(hook, "later.weight", ASSAY_FLOAT32, 2, shape, values);
    CU_ASSERT_EQUAL(assay_hook_go_back(hook, 0), 0);
    assay_hook_flush(hook);
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    CU_ASSERT_EQUAL(named(step1, "later.weight"), 0);
    CU_ASSERT_EQUAL(named(step1, "late.weight"), 1);
    CU_ASSERT(there("back/events/000000000001/000000000001_worker_0.tfevents"));
    CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(count_files("back"), 3 + 3 + 1 + 1 + 1);
    CU_ASSERT_EQUAL(halves_seen, 0);
    clean("back");
}

int main(void)
{
    CU_TestInfo tests[] = {{"off", test_off},
                           {"counts and files", test_counts_and_files},
                           {"misuse", test_misuse},
                           {"existing", test_existing},
                           {"workers", test_workers},
                           {"queue policies", test_queue_policies},
                           {"environment", test_environment},
                           {"torture", test_torture},
                           {"failed step", test_failed_step},
                           {"failed profile", test_failed_profile},
                           {"go back", test_go_back},
                           CU_TEST_INFO_NULL};
    snprintf(work, sizeof work, "/tmp/assay-hook-XXXXXX");
    if (!mkdtemp(work))
        return 2;
    int rc = unit_main("hook record", tests);
    clean("");
    return rc;
}
