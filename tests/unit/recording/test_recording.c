/* The C interface to trials: what it says of the bundled ones, values in every form, damage, and failures at any call.
 */
#include <assay/trial.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "workspace.h"
#include "base/fault.h"
#include "unit.h"

static assay_recording *open_bundled(const char *name)
{
    char path[512];
    assay_recording *r = NULL;
    assay_error err = {""};
    snprintf(path, sizeof path, "%s/trials/%s", ASSAY_TEST_DATA, name);
    CU_ASSERT_EQUAL_FATAL(assay_recording_open(path, &r, &err), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_recording_location(r), path);
    return r;
}

static uint32_t find(const assay_recording *r, const char *name)
{
    return assay_recording_find(r, name, strlen(name));
}

static void test_trial(void)
{
    assay_recording *r = open_bundled("ddp_partial");
    const uint32_t *missing = NULL;
    size_t incomplete = 0;
    CU_ASSERT_EQUAL(assay_recording_workers(r), 3);
    CU_ASSERT_EQUAL(assay_recording_expected_workers(r), 3);
    CU_ASSERT_STRING_EQUAL(assay_recording_worker(r, 2), "worker_2");
    CU_ASSERT_STRING_EQUAL(assay_recording_worker(r, 3), "");
    CU_ASSERT_TRUE(assay_recording_ended(r));
    CU_ASSERT_EQUAL(assay_recording_problems(r), 0);
    for (uint64_t i = 0; i < assay_recording_steps(r); i++) {
        const assay_step_info *step = assay_recording_step(r, i);
        size_t count = assay_recording_missing(r, i, &missing);
        CU_ASSERT(step->mode == ASSAY_MODE_TRAIN || step->mode == ASSAY_MODE_EVAL);
        CU_ASSERT(i == 0 || step->step > assay_recording_step(r, i - 1)->step);
        CU_ASSERT(count == 0 || (count == 1 && missing[0] == 2));
        incomplete += count;
    }
    CU_ASSERT_EQUAL(incomplete, 2);
    CU_ASSERT_PTR_NULL(assay_recording_step(r, assay_recording_steps(r)));
    CU_ASSERT_EQUAL(assay_recording_missing(r, UINT64_MAX, &missing), 0);
    assay_recording_close(r);
    assay_recording_close(NULL);
}

static uint32_t count_selected(assay_recording *r, const char *regex, const char *collection)
{
    uint8_t selected[64];
    uint32_t count = 0;
    assay_error err = {""};
    CU_ASSERT_FATAL(assay_recording_tensors(r) <= sizeof selected);
    CU_ASSERT_EQUAL_FATAL(assay_recording_select(r, regex, collection, selected, &err), ASSAY_OK);
    for (uint32_t t = 0; t < assay_recording_tensors(r); t++)
        count += selected[t];
    return count;
}

static void test_selection(void)
{
    assay_recording *r = open_bundled("ddp");
    uint8_t selected[64];
    assay_error err = {""};
    CU_ASSERT_EQUAL(count_selected(r, NULL, NULL), assay_recording_tensors(r));
    CU_ASSERT_EQUAL(count_selected(r, "^ConvNet_.*bias$", NULL), 4);
    CU_ASSERT_EQUAL(count_selected(r, NULL, "gradients"), 8);
    CU_ASSERT_EQUAL(count_selected(r, "conv1", "gradients"), 2);
    CU_ASSERT_EQUAL(assay_recording_select(r, "(", NULL, selected, &err), ASSAY_EFORMAT);
    CU_ASSERT_EQUAL(assay_recording_select(r, NULL, "gradient", selected, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "did you mean \"gradients\"?"));
    bool seen = false;
    for (uint32_t c = 0; c < assay_recording_collections(r); c++)
        seen = seen || strcmp(assay_recording_collection(r, c), "gradients") == 0;
    CU_ASSERT_TRUE(seen);
    CU_ASSERT_STRING_EQUAL(assay_recording_collection(r, 1000), "");
    CU_ASSERT_STRING_EQUAL(assay_recording_collection_regex(r, 0, 1000), "");
    for (uint32_t t = 0; t < assay_recording_tensors(r); t++) {
        size_t length = 0;
        const char *name = assay_recording_tensor(r, t, &length);
        CU_ASSERT_EQUAL(assay_recording_find(r, name, length), t);
    }
    CU_ASSERT_EQUAL(find(r, "no such tensor"), (uint32_t)ASSAY_RECORDING_NONE);
    CU_ASSERT_STRING_EQUAL(assay_recording_tensor(r, 1000, NULL), "");
    assay_recording_close(r);
}

/* Reads a row in each form, which must agree; returns its bytes. */
static uint64_t read_forms(assay_recording *r, uint32_t tensor, size_t row)
{
    assay_recorded_head head, again;
    assay_error err = {""};
    assay_stats stats;
    CU_ASSERT_EQUAL_FATAL(assay_recording_head(r, tensor, row, &head, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(head.bytes, head.elements * assay_dtype_size(head.dtype));
    uint8_t *raw = malloc(head.bytes + 1);
    double *wide = malloc(head.elements * sizeof *wide + 1), sum = 0;
    float *narrow = malloc(head.elements * sizeof *narrow + 1);
    CU_ASSERT_FATAL(raw && wide && narrow);
    CU_ASSERT_EQUAL(assay_recording_read(r, tensor, row, ASSAY_AS_SAVED, raw, head.bytes, &again, &err), ASSAY_OK);
    CU_ASSERT(again.bytes == head.bytes && again.dtype == head.dtype && again.dims == head.dims);
    CU_ASSERT_EQUAL(assay_recording_read(r, tensor, row, ASSAY_AS_FLOAT64, wide, head.elements * 8, NULL, &err), 0);
    CU_ASSERT_EQUAL(assay_recording_read(r, tensor, row, ASSAY_AS_FLOAT32, narrow, head.elements * 4, NULL, &err), 0);
    CU_ASSERT_EQUAL(assay_recording_stats(r, tensor, row, &stats, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(stats.count, head.elements);
    for (uint64_t i = 0; i < head.elements; i++) {
        float element = 0;
        sum += wide[i];
        if (head.dtype == ASSAY_FLOAT32)
            memcpy(&element, raw + i * sizeof element, sizeof element);
        else
            element = narrow[i];
        CU_ASSERT((float)wide[i] == narrow[i] || isnan(wide[i]));
        CU_ASSERT(narrow[i] == element || isnan(element));
    }
    CU_ASSERT(isnan(sum) || isinf(sum) || fabs(sum - stats.sum) <= 1e-9 * (1 + stats.magnitudes));
    CU_ASSERT_EQUAL(assay_recording_read(r, tensor, row, ASSAY_AS_SAVED, raw, head.bytes - 1, &again, &err),
                    ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(again.bytes, head.bytes);
    free(raw);
    free(wide);
    free(narrow);
    return head.bytes;
}

/* Twice: what is read from files, and from what was kept of them, is the same. */
static void test_values(void)
{
    assay_recording *r = open_bundled("ddp_partial");
    assay_error err = {""};
    uint64_t bytes[2] = {0, 0};
    for (int kept = 0; kept < 2; kept++) {
        assay_recording_keep(r, kept ? (size_t)64 << 20 : 0);
        for (uint32_t t = 0; t < assay_recording_tensors(r); t++) {
            const assay_saved *rows = NULL;
            size_t count = 0;
            CU_ASSERT_EQUAL_FATAL(assay_recording_saved(r, t, &rows, &count, &err), ASSAY_OK);
            for (size_t i = 0; i < count; i++) {
                CU_ASSERT_EQUAL(rows[i].kinds, 1u << ASSAY_RAW);
                bytes[kept] += read_forms(r, t, i);
            }
        }
    }
    CU_ASSERT_EQUAL(bytes[0], 2278092);
    CU_ASSERT_EQUAL(bytes[1], bytes[0]);
    assay_recording_close(r);
}

static void test_refused(void)
{
    assay_recording *r = open_bundled("ddp");
    assay_recorded_head head;
    const assay_saved *rows = NULL;
    size_t count = 0;
    double number = 0;
    assay_error err = {""};
    const uint32_t bias = find(r, "ConvNet_conv1.bias"), none = assay_recording_tensors(r);
    CU_ASSERT_EQUAL(assay_recording_saved(r, none, &rows, &count, &err), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_recording_head(r, bias, 1000000, &head, &err), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_recording_read(r, bias, 0, (assay_read_as)7, &number, 8, &head, &err), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_recording_reduction(r, bias, 0, ASSAY_MEAN, &number, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "mean of tensor \"ConvNet_conv1.bias\" was not saved at step 0"));
    CU_ASSERT_EQUAL(assay_recording_reduction(r, bias, 0, ASSAY_RAW, &number, &err), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_recording_reduction(r, bias, 0, 15, &number, &err), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_recording_read_strings(r, bias, 0, NULL, 0, NULL, 0, &err), ASSAY_EUNSUPPORTED);
    assay_recording_close(r);
    r = NULL;
    CU_ASSERT_EQUAL(assay_recording_open("/no/such/place", &r, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_PTR_NULL(r);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/no/such/place"));
    CU_ASSERT_EQUAL(assay_recording_open("gopher://host/trial", &r, &err), ASSAY_EUSAGE);
}

static void test_reductions(void)
{
    assay_recording *r = open_bundled("reductions");
    const uint32_t bias = find(r, "ConvNet_conv1.bias");
    const assay_saved *rows = NULL;
    assay_recorded_head head;
    size_t count = 0;
    double number = 0;
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(assay_recording_saved(r, bias, &rows, &count, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(count, 12);
    CU_ASSERT_FALSE(rows[0].kinds & 1u << ASSAY_RAW);
    CU_ASSERT_TRUE(rows[0].kinds & 1u << ASSAY_ABS_MEAN);
    for (int again = 0; again < 3; again++) { /* from the file, then from what is kept */
        CU_ASSERT_EQUAL(assay_recording_reduction(r, bias, 0, ASSAY_MIN, &number, &err), ASSAY_OK);
        CU_ASSERT_DOUBLE_EQUAL(number, -0.32585030794143677, 0);
    }
    CU_ASSERT_EQUAL(assay_recording_head(r, bias, 0, &head, &err), ASSAY_OK);
    CU_ASSERT(head.dtype == -1 && head.dims == 1 && head.shape[0] == 3 && head.elements == 3 && head.bytes == 0);
    CU_ASSERT_EQUAL(assay_recording_read(r, bias, 0, ASSAY_AS_FLOAT64, &number, 8, NULL, &err), ASSAY_ENOTFOUND);
    for (int kind = 0; kind < ASSAY_KINDS; kind++)
        CU_ASSERT(!assay_recording_kind_name(kind)[0] || assay_recording_kind(assay_recording_kind_name(kind)) == kind);
    CU_ASSERT_EQUAL(assay_recording_kind("abs_mean"), ASSAY_ABS_MEAN);
    CU_ASSERT_EQUAL(assay_recording_kind("median"), -1);
    CU_ASSERT_EQUAL(assay_recording_kind(""), -1);
    assay_recording_close(r);
}

static void test_strings(void)
{
    assay_recording *r = open_bundled("xgboost");
    uint64_t strings = 0;
    assay_error err = {""};
    for (uint32_t t = 0; t < assay_recording_tensors(r); t++) {
        const assay_saved *rows = NULL;
        size_t count = 0;
        CU_ASSERT_EQUAL_FATAL(assay_recording_saved(r, t, &rows, &count, &err), ASSAY_OK);
        for (size_t i = 0; i < count; i++) {
            assay_recorded_head head;
            CU_ASSERT_EQUAL_FATAL(assay_recording_head(r, t, i, &head, &err), ASSAY_OK);
            if (head.dtype != ASSAY_STRING)
                continue;
            char *text = malloc(head.bytes + 1);
            uint64_t *ends = malloc(head.elements * sizeof *ends + 1);
            CU_ASSERT_FATAL(text && ends);
            CU_ASSERT_EQUAL(assay_recording_read_strings(r, t, i, text, head.bytes, ends, head.elements, &err),
                            ASSAY_OK);
            CU_ASSERT(head.elements > 0 && ends[head.elements - 1] == head.bytes);
            CU_ASSERT_EQUAL(assay_recording_read_strings(r, t, i, text, head.bytes, ends, head.elements - 1, &err),
                            ASSAY_EBUDGET);
            CU_ASSERT_EQUAL(assay_recording_read(r, t, i, ASSAY_AS_SAVED, text, head.bytes, NULL, &err),
                            ASSAY_EUNSUPPORTED);
            strings += head.elements;
            free(text);
            free(ends);
        }
    }
    CU_ASSERT_EQUAL(strings, 1884);
    assay_recording_close(r);
}

static void test_place(void)
{
    assay_recording *r = open_bundled("ddp");
    const uint32_t bias = find(r, "ConvNet_conv1.bias");
    char path[4096];
    uint64_t offset = 0;
    assay_recorded_head head;
    assay_error err = {""};
    float value[3], there[3];
    CU_ASSERT_EQUAL_FATAL(assay_recording_place(r, bias, 5, false, path, sizeof path, &offset, &head, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(head.bytes, sizeof there);
    CU_ASSERT_EQUAL(assay_recording_read(r, bias, 5, ASSAY_AS_SAVED, value, sizeof value, NULL, &err), ASSAY_OK);
    FILE *file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT(fseek(file, (long)offset, SEEK_SET) == 0 && fread(there, sizeof there, 1, file) == 1);
    CU_ASSERT_EQUAL(memcmp(value, there, sizeof value), 0);
    fclose(file);
    CU_ASSERT_EQUAL(assay_recording_place(r, bias, 5, false, path, 8, &offset, &head, &err), ASSAY_EUNSUPPORTED);
    assay_recording_close(r);
}

/* Rows one behind the other, until one has another shape, does not fit or is none. */
static void test_rows(void)
{
    assay_recording *r = open_bundled("ddp");
    enum { ROWS = 12 };
    uint64_t rows[ROWS + 1];
    float values[ROWS][3];
    double wide[ROWS][3];
    assay_recorded_head head;
    size_t done = 99;
    assay_error err = {""};
    const uint32_t bias = find(r, "ConvNet_conv1.bias"), input = find(r, "ConvNet_input_0");
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = 3 * (ROWS - 1 - i);
    rows[ROWS] = 1000000;
    CU_ASSERT_EQUAL_FATAL(
        assay_recording_read_rows(r, bias, rows, ROWS, ASSAY_AS_SAVED, values, sizeof values, &head, &done, &err), 0);
    CU_ASSERT(done == ROWS && head.dims == 1 && head.shape[0] == 3);
    CU_ASSERT_EQUAL_FATAL(
        assay_recording_read_rows(r, bias, rows, ROWS, ASSAY_AS_FLOAT64, wide, sizeof wide, &head, &done, &err), 0);
    CU_ASSERT_EQUAL(done, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        float alone[3];
        CU_ASSERT_EQUAL(assay_recording_read(r, bias, rows[i], ASSAY_AS_SAVED, alone, sizeof alone, NULL, &err),
                        ASSAY_OK);
        CU_ASSERT_EQUAL(memcmp(alone, values[i], sizeof alone), 0);
        CU_ASSERT_EQUAL(wide[i][2], (double)alone[2]);
    }
    CU_ASSERT_EQUAL(assay_recording_read_rows(r, bias, rows, ROWS, ASSAY_AS_SAVED, values, 30, NULL, &done, &err), 0);
    CU_ASSERT_EQUAL(done, 2);
    CU_ASSERT_EQUAL(
        assay_recording_read_rows(r, bias, rows + 10, 3, ASSAY_AS_SAVED, values, sizeof values, NULL, &done, &err), 0);
    CU_ASSERT_EQUAL(done, 2);
    CU_ASSERT_EQUAL(assay_recording_read_rows(r, bias, rows + ROWS, 1, ASSAY_AS_SAVED, values, 12, NULL, &done, &err),
                    ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(done, 0);
    CU_ASSERT_EQUAL(assay_recording_read_rows(r, bias, rows, 1, ASSAY_AS_SAVED, values, 11, &head, &done, &err),
                    ASSAY_EBUDGET);
    CU_ASSERT(done == 0 && head.dims == 1 && head.shape[0] == 3 && head.bytes == 12);
    memset(&head, 0xff, sizeof head);
    CU_ASSERT_EQUAL(assay_recording_read(r, bias, rows[ROWS], ASSAY_AS_SAVED, values, sizeof values, &head, &err),
                    ASSAY_EUSAGE);
    CU_ASSERT(head.dims == 0 && head.bytes == 0); /* nothing is known of it */
    const assay_saved *saved = NULL;
    size_t count = 0, same = 0;
    CU_ASSERT_EQUAL_FATAL(assay_recording_saved(r, input, &saved, &count, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_recording_head(r, input, 0, &head, &err), ASSAY_OK);
    const uint64_t bytes = head.bytes;
    uint64_t *all = malloc(count * sizeof *all);
    uint8_t *room = malloc(count * bytes);
    CU_ASSERT_FATAL(all && room);
    for (size_t i = 0; i < count; i++) {
        all[i] = i;
        same += same == i && saved[i].mode == ASSAY_MODE_TRAIN; /* evaluation has larger batches */
    }
    CU_ASSERT_EQUAL(
        assay_recording_read_rows(r, input, all, count, ASSAY_AS_SAVED, room, count * bytes, NULL, &done, &err), 0);
    CU_ASSERT(done == same && same > 0 && same < count);
    free(all);
    free(room);
    assay_recording_close(r);
}

/* An index without its event file, and one whose event file is cut: the trial opens, each read says what is wrong. */
static void test_damage(void)
{
    workspace w;
    workspace_make(&w);
    for (long step = 0; step < 3; step++)
        workspace_index(&w, step, "worker_0");
    workspace_text(&w, "index/000000000/000000000003_worker_0.json", "{\"meta\": {\"mo");
    workspace_text(&w, "events/000000000001/000000000001_worker_0.tfevents", "cut");
    assay_recording *r = NULL;
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(assay_recording_open(w.root, &r, &err), ASSAY_OK);
    assay_recorded_problem problem = {0};
    CU_ASSERT_EQUAL_FATAL(assay_recording_problems(r), 2); /* no collections file; a cut index */
    bool found = false;
    for (uint64_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(assay_recording_problem(r, i, &problem), ASSAY_OK);
        found = found || (strcmp(problem.kind, "damaged-index") == 0 && problem.is_loss &&
                          strcmp(problem.file, "index/000000000/000000000003_worker_0.json") == 0);
    }
    CU_ASSERT_TRUE(found);
    CU_ASSERT_EQUAL(assay_recording_problem(r, 2, &problem), ASSAY_ENOTFOUND);
    CU_ASSERT_FALSE(assay_recording_ended(r));
    CU_ASSERT_EQUAL(assay_recording_steps(r), 4);
    CU_ASSERT_EQUAL(assay_recording_step(r, 3)->mode, ASSAY_MODE_NONE);
    assay_recorded_head head;
    for (int again = 0; again < 3; again++) {
        CU_ASSERT_EQUAL(assay_recording_head(r, 0, 0, &head, &err), ASSAY_ENOTFOUND);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "000000000000_worker_0.tfevents"));
        CU_ASSERT_EQUAL(assay_recording_head(r, 0, 1, &head, &err), ASSAY_EFORMAT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "000000000001_worker_0.tfevents"));
    }
    assay_recording_close(r);
    workspace_remove(&w);
}

static void arm(const char *kind, int n)
{
    char text[32];
    snprintf(text, sizeof text, "%s:%d", kind, n);
    if (n > 0)
        setenv("ASSAY_FAULT", text, 1);
    else
        unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
}

/* Opens a trial and reads its records three times over; the first failure's status. */
static int read_some(assay_error *err)
{
    char path[512];
    assay_recording *r = NULL;
    float value[32];
    snprintf(path, sizeof path, "%s/trials/linreg_nan", ASSAY_TEST_DATA);
    int status = assay_recording_open(path, &r, err);
    for (uint32_t i = 0; i < 9 && status == ASSAY_OK; i++) {
        const assay_saved *rows = NULL;
        size_t count = 0;
        status = assay_recording_saved(r, i % 3, &rows, &count, err);
        if (status == ASSAY_OK)
            status = assay_recording_read(r, i % 3, 0, ASSAY_AS_FLOAT32, value, sizeof value, NULL, err);
    }
    if (status == ASSAY_OK) {
        uint8_t selected[3];
        status = assay_recording_select(r, "weight", "weights", selected, err);
    }
    assay_recording_close(r);
    return status;
}

/* Every allocation in turn: it fails by name, or (in what is kept to be faster) it makes no difference. */
static void test_no_memory(void)
{
    int failures = 0;
    for (int n = 1; n < 100000; n++) {
        assay_error err = {""};
        arm("alloc", n);
        int status = read_some(&err);
        bool reached = !assay_fault_now(ASSAY_FAULT_ALLOC);
        arm("alloc", 0);
        if (!reached)
            break;
        failures += status != ASSAY_OK;
        CU_ASSERT(status == ASSAY_OK || (status == ASSAY_ENOMEM && strstr(err.text, "out of memory") != NULL));
    }
    CU_ASSERT(failures > 60);
}

enum { THREADS = 4 };

static void *read_all(void *context)
{
    assay_recording *r = context;
    double *sum = malloc(sizeof *sum);
    for (uint32_t t = 0; sum && t < assay_recording_tensors(r); t++) {
        const assay_saved *rows = NULL;
        size_t count = 0;
        if (t == 0)
            *sum = 0;
        if (assay_recording_saved(r, t, &rows, &count, NULL) != ASSAY_OK)
            continue;
        for (size_t i = 0; i < count; i++) {
            assay_stats stats;
            if (assay_recording_stats(r, t, i, &stats, NULL) == ASSAY_OK)
                *sum += stats.magnitudes;
        }
    }
    return sum;
}

static void test_threads(void)
{
    assay_recording *r = open_bundled("zero_init");
    pthread_t thread[THREADS];
    void *sum[THREADS];
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, read_all, r), 0);
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_join(thread[i], &sum[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(sum[i]);
        CU_ASSERT(*(double *)sum[i] > 0 && *(double *)sum[i] == *(double *)sum[0]);
    }
    for (int i = 0; i < THREADS; i++)
        free(sum[i]);
    assay_recording_close(r);
}

int main(void)
{
    CU_TestInfo tests[] = {{"workers, steps and what is missing", test_trial},
                           {"tensors and collections", test_selection},
                           {"values in every form, kept or not", test_values},
                           {"what is refused", test_refused},
                           {"reductions and shapes", test_reductions},
                           {"strings", test_strings},
                           {"several rows at once", test_rows},
                           {"where a value lies", test_place},
                           {"damage", test_damage},
                           {"every allocation fails once", test_no_memory},
                           {"threads", test_threads},
                           CU_TEST_INFO_NULL};
    return unit_main("recording", tests);
}
