/* What a directory lists as, and what is said about directories that are not quite a trial. */
#include "http/http.h"
#include "format/smdebug/smdebug.h"

#include "unit.h"
#include "workspace.h"

typedef struct listed {
    workspace w;
    assay_store *store;
    assay_catalog catalog;
    assay_error err;
    int status;
} listed;

static void list(listed *l)
{
    CU_ASSERT_EQUAL_FATAL(assay_store_open(l->w.root, &l->store, &l->err), 0);
    l->status = assay_catalog_read(l->store, NULL, &l->catalog, &l->err);
}

static void shut(listed *l)
{
    assay_catalog_release(&l->catalog);
    assay_store_close(l->store);
    workspace_remove(&l->w);
}

/* How many problems of a kind name the file (NULL: any). */
static int count(const listed *l, int kind, const char *file)
{
    int found = 0;
    for (size_t i = 0; i < l->catalog.problems.kept; i++)
        found +=
            l->catalog.problems.list[i].kind == kind && (!file || strcmp(l->catalog.problems.list[i].file, file) == 0);
    return found;
}

static void test_order(void)
{
    listed l = {0};
    workspace_make(&l.w);
    for (int worker = 11; worker >= 0; worker--)
        for (long step = 0; step <= 3000; step += 500) {
            char name[32];
            snprintf(name, sizeof name, "worker_%d", worker);
            workspace_index(&l.w, step, name);
        }
    workspace_text(&l.w, "collections/000000000/worker_12_collections.json",
                   "{\"collections\": {}, \"_meta\": {\"num_workers\": 14}}");
    workspace_text(&l.w, "training_job_end.ts", "");
    list(&l);
    CU_ASSERT_EQUAL_FATAL(l.status, 0);
    CU_ASSERT_EQUAL(l.catalog.unit_count, 7 * 12);
    CU_ASSERT_EQUAL(l.catalog.workers, 13);
    CU_ASSERT_EQUAL(l.catalog.expected_workers, 14);
    CU_ASSERT_TRUE(l.catalog.ended);
    CU_ASSERT_EQUAL(l.catalog.problems.total, 0);
    CU_ASSERT_STRING_EQUAL(l.catalog.worker[2], "worker_2");
    CU_ASSERT_STRING_EQUAL(l.catalog.worker[10], "worker_10");
    for (size_t i = 0; i < l.catalog.unit_count; i++) {
        CU_ASSERT_EQUAL(l.catalog.units[i].step, (int64_t)(i / 12) * 500);
        CU_ASSERT_EQUAL(l.catalog.units[i].worker, i % 12);
        CU_ASSERT_EQUAL(l.catalog.units[i].place, i / 12 / 2);
    }
    char path[128];
    CU_ASSERT_EQUAL(assay_unit_path(&l.catalog, &l.catalog.units[83], path, sizeof path), 43);
    CU_ASSERT_STRING_EQUAL(path, "index/000000003/000000003000_worker_11.json");
    assay_smdebug_event_path(&l.catalog, 7, 3, path, sizeof path);
    CU_ASSERT_STRING_EQUAL(path, "events/000000000007/000000000007_worker_3.tfevents");
    CU_ASSERT_EQUAL(assay_smdebug_event_path(&l.catalog, 7, 3, path, 10), 50);
    CU_ASSERT_STRING_EQUAL(path, "events/00");
    shut(&l);
}

static void test_foreign(void)
{
    listed l = {0};
    workspace_make(&l.w);
    workspace_index(&l.w, 5, "_job-a_task-0");
    workspace_text(&l.w, "index/000000000/readme.txt", "");
    workspace_text(&l.w, "index/000000000/00000000005_worker_0.json", "");
    workspace_text(&l.w, "index/000000000/000000000005_.json", "");
    workspace_text(&l.w, "index/000000000/000000000006_worker_0.json.tmp", "");
    workspace_text(&l.w, "index/000000000/.000000000006_worker_0.json", "");
    workspace_text(&l.w, "index/12/000000000006_worker_0.json", "");
    workspace_text(&l.w, "collections/000000000/notes.json", "");
    workspace_text(&l.w, "events/other/x", "");
    workspace_text(&l.w, "tensorboard/x", "");
    list(&l);
    CU_ASSERT_EQUAL_FATAL(l.status, 0);
    CU_ASSERT_EQUAL(l.catalog.unit_count, 1);
    CU_ASSERT_STRING_EQUAL(l.catalog.worker[0], "/job:a/task:0");
    CU_ASSERT_STRING_EQUAL(l.catalog.worker_key[0], "_job-a_task-0");
    CU_ASSERT_EQUAL(l.catalog.problems.total, 7);
    CU_ASSERT_EQUAL(l.catalog.problems.losses, 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_NAME, "index/000000000/readme.txt"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_NAME, "index/000000000/00000000005_worker_0.json"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_NAME, "index/000000000/000000000005_.json"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_NAME, "index/12"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_NAME, "collections/000000000/notes.json"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_NAME, "events/other"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_COLLECTIONS, "collections"), 1);
    shut(&l);
}

static void test_doubles_and_orphans(void)
{
    listed l = {0};
    workspace_make(&l.w);
    workspace_index(&l.w, 1, "worker_0");
    workspace_text(&l.w, "index/000000004/000000000001_worker_0.json", "{}");
    workspace_text(&l.w, "index/000000004/000000000002_worker_0.json", "{}");
    workspace_text(&l.w, "events/000000000001/x", "");
    workspace_text(&l.w, "events/000000000003/x", "");
    list(&l);
    CU_ASSERT_EQUAL_FATAL(l.status, 0);
    CU_ASSERT_EQUAL(l.catalog.unit_count, 2);
    CU_ASSERT_EQUAL(l.catalog.units[0].place, 0);
    CU_ASSERT_EQUAL(l.catalog.units[1].place, 4);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_DUPLICATE, "index/000000004/000000000001_worker_0.json"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_NAME, "index/000000004/000000000002_worker_0.json"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_ORPHAN, "events/000000000003"), 1);
    CU_ASSERT_EQUAL(l.catalog.problems.total, 4);
    shut(&l);
}

/* Steps of more than 12 digits have names of more; those that have no bucket are named. */
static void test_large_steps(void)
{
    listed l = {0};
    workspace_make(&l.w);
    workspace_index(&l.w, 999999999999, "worker_0");
    workspace_index(&l.w, 1000000000000, "worker_0");
    workspace_index(&l.w, 4294967295999, "worker_0");
    workspace_text(&l.w, "index/4294967295/4294967296000_worker_0.json", "{}");
    workspace_text(&l.w, "index/4294967296/000000000003_worker_0.json", "{}");
    workspace_text(&l.w, "index/000000000/0000000000003_worker_0.json", "{}");
    workspace_text(&l.w, "index/000000000/18446744073709551619_worker_0.json", "{}");
    workspace_text(&l.w, "events/1000000000000/x", "");
    workspace_text(&l.w, "events/999999999999/x", "");
    workspace_text(&l.w, "events/1000000000001/x", "");
    list(&l);
    CU_ASSERT_EQUAL_FATAL(l.status, 0);
    CU_ASSERT_EQUAL_FATAL(l.catalog.unit_count, 3);
    CU_ASSERT_EQUAL(l.catalog.units[1].step, 1000000000000);
    CU_ASSERT_EQUAL(l.catalog.units[1].place, 1000000000);
    CU_ASSERT_EQUAL(l.catalog.units[2].place, UINT32_MAX);
    char path[128];
    assay_unit_path(&l.catalog, &l.catalog.units[2], path, sizeof path);
    CU_ASSERT_STRING_EQUAL(path, "index/4294967295/4294967295999_worker_0.json");
    assay_smdebug_event_path(&l.catalog, 1000000000000, 0, path, sizeof path);
    CU_ASSERT_STRING_EQUAL(path, "events/1000000000000/1000000000000_worker_0.tfevents");
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_NAME, NULL), 4);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_ORPHAN, NULL), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_ORPHAN, "events/1000000000001"), 1);
    shut(&l);
}

static void test_no_trial(void)
{
    listed l = {0};
    workspace_make(&l.w);
    workspace_text(&l.w, "weights.dat", "");
    list(&l);
    CU_ASSERT_EQUAL(l.status, ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(l.err.text, "not a trial"));
    CU_ASSERT_PTR_NOT_NULL(strstr(l.err.text, l.w.root));
    shut(&l);
}

/* People give the directory above: the message names the one to give. */
static void test_trial_below(void)
{
    listed l = {0};
    workspace_make(&l.w);
    workspace_text(&l.w, "notes.txt", "");
    workspace_text(&l.w, ".cache/step-1.safetensors", "");
    workspace_text(&l.w, "version_10/checkpoints/epoch=1-step=100.ckpt", "");
    list(&l);
    CU_ASSERT_EQUAL(l.status, ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(l.err.text, "not a trial, but there is one in it; give "));
    CU_ASSERT_PTR_NOT_NULL(strstr(l.err.text, "/version_10/checkpoints"));
    workspace_text(&l.w, "version_9/checkpoints/epoch=1-step=100.ckpt", "");
    assay_store_close(l.store);
    list(&l);
    CU_ASSERT_EQUAL(l.status, ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(l.err.text, "not a trial, but a folder of trials; give "));
    CU_ASSERT_PTR_NOT_NULL(strstr(l.err.text, "/version_9/checkpoints, or '"));
    shut(&l);
}

static void test_empty_trial(void)
{
    listed l = {0};
    workspace_make(&l.w);
    workspace_text(&l.w, "collections/000000000/worker_0_collections.json", "{\"collections\": {}}");
    list(&l);
    CU_ASSERT_EQUAL_FATAL(l.status, 0);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_EMPTY, NULL), 1);
    CU_ASSERT_EQUAL(l.catalog.workers, 1);
    CU_ASSERT_FALSE(l.catalog.ended);
    shut(&l);
}

static void test_unreadable(void)
{
    listed l = {0};
    workspace_make(&l.w);
    workspace_index(&l.w, 1, "worker_0");
    workspace_text(&l.w, "index/000000001", "a file where a directory belongs");
    workspace_text(&l.w, "collections/000000000/worker_0_collections.json/x", "");
    list(&l);
    CU_ASSERT_EQUAL_FATAL(l.status, 0);
    CU_ASSERT_EQUAL(l.catalog.unit_count, 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_READ, "index/000000001"), 1);
    CU_ASSERT_EQUAL(count(&l, ASSAY_PROBLEM_READ, "collections/000000000/worker_0_collections.json"), 1);
    shut(&l);
}

static void test_pack(void)
{
    listed l = {0};
    assay_catalog copy = {0};
    assay_buf out, again;
    workspace_make(&l.w);
    workspace_index(&l.w, 1, "worker_10");
    workspace_index(&l.w, 1, "worker_9");
    workspace_index(&l.w, 2, "worker_9");
    workspace_text(&l.w, "index/x", "");
    workspace_text(&l.w, "collections/000000000/worker_0_collections.json",
                   "{\"collections\": {\"c\": {\"include_regex\": [\"a\"], \"tensor_names\": [\"t\", \"s\"]}}}");
    list(&l);
    CU_ASSERT_EQUAL_FATAL(l.status, 0);
    assay_buf_init(&out, 1 << 20), assay_buf_init(&again, 1 << 20);
    assay_catalog_pack(&l.catalog, &out);
    for (size_t size = 0; size < out.size; size++) {
        assay_cursor in = assay_cursor_over(out.data, size);
        CU_ASSERT_EQUAL(assay_catalog_unpack(&in, &copy, NULL), ASSAY_EFORMAT);
    }
    assay_cursor in = assay_cursor_over(out.data, out.size);
    CU_ASSERT_EQUAL_FATAL(assay_catalog_unpack(&in, &copy, NULL), 0);
    CU_ASSERT_FALSE(assay_cursor_bad(&in));
    CU_ASSERT_STRING_EQUAL(copy.worker[1], "worker_9");
    CU_ASSERT_EQUAL(copy.expected_workers, 3);
    assay_catalog_pack(&copy, &again);
    CU_ASSERT(out.size == again.size && memcmp(out.data, again.data, out.size) == 0);
    assay_buf_release(&out), assay_buf_release(&again);
    assay_catalog_release(&copy);
    shut(&l);
}

static void test_locations(void)
{
    workspace w;
    assay_store *store = NULL;
    assay_error err = {{0}};
    char text[512];
    workspace_make(&w);
    workspace_text(&w, "file", "x");
    unsetenv("AWS_ACCESS_KEY_ID");
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    setenv("HOME", w.root, 1);
    CU_ASSERT_EQUAL(assay_store_open("s3://bucket/prefix", &store, &err),
                    assay_http_available() ? ASSAY_EUSAGE : ASSAY_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "s3://bucket/prefix: "));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(err.text, assay_http_available() ? "no credentials" : "copy the trial to a directory"));
    CU_ASSERT_EQUAL(assay_store_open("s3://bucket/run.h5", &store, &err),
                    assay_http_available() ? ASSAY_EUSAGE : ASSAY_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "s3://bucket"));
    CU_ASSERT_EQUAL(assay_store_open("gopher://x", &store, &err), ASSAY_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "gopher://x"));
    snprintf(text, sizeof text, "%s/none", w.root);
    CU_ASSERT_EQUAL(assay_store_open(text, &store, &err), ASSAY_ENOTFOUND);
    snprintf(text, sizeof text, "%s/file", w.root); /* a trial of that file alone; formats say what it is */
    CU_ASSERT_EQUAL_FATAL(assay_store_open(text, &store, &err), 0);
    CU_ASSERT_TRUE(assay_store_is_file(store));
    assay_store_close(store);
    snprintf(text, sizeof text, "%s/pipe", w.root);
    CU_ASSERT_EQUAL(mkfifo(text, 0600), 0);
    CU_ASSERT_EQUAL(assay_store_open(text, &store, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a directory"));
    CU_ASSERT_EQUAL(unlink(text), 0);
    snprintf(text, sizeof text, "file://%s", w.root);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(text, &store, &err), 0);
    CU_ASSERT_STRING_EQUAL(assay_store_location(store), text);
    CU_ASSERT_EQUAL(assay_store_exists(store, "file", &err), 1);
    CU_ASSERT_EQUAL(assay_store_exists(store, "other", &err), 0);
    CU_ASSERT_EQUAL(assay_store_exists(store, "file/below", &err), 0);
    assay_buf out;
    assay_buf_init(&out, 100);
    CU_ASSERT_EQUAL(assay_store_read(store, "file", 100, &out, &err), 0);
    CU_ASSERT(out.size == 1 && out.data[0] == 'x');
    CU_ASSERT_EQUAL(assay_store_read(store, "other", 100, &out, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_EQUAL(assay_store_read(store, "file", 0, &out, &err), ASSAY_EBUDGET);
    snprintf(text, sizeof text, "%s/pipe", w.root);
    CU_ASSERT_EQUAL_FATAL(mkfifo(text, 0600), 0);
    CU_ASSERT_EQUAL(assay_store_read(store, "pipe", 100, &out, &err), ASSAY_EIO); /* and does not wait */
    assay_buf_release(&out);
    assay_store_close(store);
    workspace_remove(&w);
}

int main(void)
{
    CU_TestInfo tests[] = {{"order of steps and workers", test_order},
                           {"foreign and passing files", test_foreign},
                           {"doubles, wrong buckets, orphans", test_doubles_and_orphans},
                           {"steps of more than 12 digits", test_large_steps},
                           {"a directory that is no trial", test_no_trial},
                           {"a directory above trials", test_trial_below},
                           {"an empty trial", test_empty_trial},
                           {"directories and files that cannot be read", test_unreadable},
                           {"packing", test_pack},
                           {"locations", test_locations},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/listing", tests);
}
