/* The bundled trials from end to end, and what happens when memory or reads fail at any call. */
#include "source/trial_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "unit.h"

static int open_trial(const char *name, assay_trial_files *t, assay_error *err)
{
    char path[512];
    snprintf(path, sizeof path, "%s/trials/%s", ASSAY_TEST_DATA, name);
    return assay_trial_open(path, t, err);
}

typedef struct total {
    size_t records, failures;
    uint64_t bytes, strings;
} total;

/* Reads the whole record; false, and the message, when it is damaged. */
static bool read_record(assay_reader *file, const assay_entry *e, assay_record *r, total *sum, assay_error *err)
{
    const uint8_t *piece = NULL;
    size_t size = 1, got = 0;
    int status = assay_reader_record(file, e->offset, e->length, 1 << 20, r, err);
    if (status == 0 && r->form == ASSAY_CONTENT_STRINGS)
        sum->strings += r->elements;
    while (status == 0 && size > 0 && r->form != ASSAY_CONTENT_STRINGS) {
        status = assay_reader_content(file, 0, &piece, &size, err);
        got += status == 0 ? size : 0;
    }
    CU_ASSERT(status != 0 || r->form == ASSAY_CONTENT_STRINGS || got == r->content_bytes);
    sum->bytes += got;
    return status == 0;
}

static void read_part(const assay_trial_files *t, const assay_part *part, assay_reader *file, total *sum)
{
    for (size_t i = 0; i < part->count; i++) {
        const assay_entry *e = &t->shard.entries[part->first + i];
        assay_record r;
        assay_error err;
        size_t length = 0;
        const char *name = assay_dict_name(t->tensors, e->tensor, &length);
        sum->records++;
        if (!read_record(file, e, &r, sum, &err)) {
            sum->failures++;
            continue;
        }
        CU_ASSERT(r.tag_length >= length && memcmp(r.tag + r.tag_length - length, name, length) == 0);
        CU_ASSERT(r.mode == part->mode && r.mode_step == part->mode_step);
        CU_ASSERT_EQUAL(r.checksum, ASSAY_CHECKSUM_CONSTANT);
    }
}

static void read_trial(const assay_trial_files *t, total *sum)
{
    for (size_t p = 0; p < t->shard.count; p++) {
        const assay_part *part = &t->shard.parts[p];
        assay_reader *file = NULL;
        CU_ASSERT_EQUAL_FATAL(assay_reader_open(&file, t->store, &t->catalog, part, 0, NULL), 0);
        assay_reader_expect(file, 0, UINT64_MAX);
        read_part(t, part, file, sum);
        assay_reader_close(file);
    }
}

static void test_bundled(void)
{
    static const struct {
        const char *name;
        uint32_t workers;
        size_t parts, entries, shapes;
        uint32_t tensors;
        uint64_t bytes, strings;
    } rows[] = {
        {"ddp", 4, 48, 1184, 0, 26, 6203840, 0},        {"ddp_partial", 3, 19, 478, 0, 26, 2278092, 0},
        {"reductions", 1, 12, 2852, 284, 25, 11408, 0}, {"linreg_nan", 1, 10, 30, 0, 3, 200, 0},
        {"xgboost", 1, 10, 2675, 0, 270, 64680, 1884},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assay_trial_files t;
        assay_error err = {{0}};
        total sum = {0};
        CU_ASSERT_EQUAL_FATAL(open_trial(rows[i].name, &t, &err), 0);
        CU_ASSERT_EQUAL(t.problems.total, 0);
        CU_ASSERT_EQUAL(t.catalog.workers, rows[i].workers);
        CU_ASSERT_EQUAL(t.catalog.expected_workers, rows[i].workers);
        CU_ASSERT_TRUE(t.catalog.ended);
        CU_ASSERT_EQUAL(t.shard.count, rows[i].parts);
        CU_ASSERT_EQUAL(t.shard.entry_count, rows[i].entries);
        CU_ASSERT_EQUAL(t.shard.shape_count, rows[i].shapes);
        CU_ASSERT_EQUAL(assay_dict_count(t.tensors), rows[i].tensors);
        for (uint32_t id = 1; id < assay_dict_count(t.tensors); id++)
            CU_ASSERT(strcmp(assay_dict_name(t.tensors, id - 1, NULL), assay_dict_name(t.tensors, id, NULL)) < 0);
        read_trial(&t, &sum);
        CU_ASSERT_EQUAL(sum.records, rows[i].entries);
        CU_ASSERT_EQUAL(sum.failures, 0);
        CU_ASSERT_EQUAL(sum.bytes, rows[i].bytes);
        CU_ASSERT_EQUAL(sum.strings, rows[i].strings);
        assay_trial_release(&t);
    }
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

/* Every allocation in turn: a clean failure, or (where a problem says so) a trial with something missing. */
static void test_no_memory(void)
{
    int failures = 0;
    for (int n = 1;; n++) {
        assay_trial_files t;
        assay_error err = {{0}};
        arm("alloc", n);
        int status = open_trial("linreg_nan", &t, &err);
        bool reached = !assay_fault_now(ASSAY_FAULT_ALLOC);
        arm("alloc", 0);
        if (status == 0) {
            assay_trial_release(&t);
            if (!reached || n > 100000)
                break;
            CU_FAIL("an allocation failed and nobody noticed");
            break;
        }
        failures++;
        CU_ASSERT_EQUAL_FATAL(status, ASSAY_ENOMEM);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "linreg_nan"));
    }
    CU_ASSERT(failures > 50);
}

/* Every read in turn: the trial opens, and one problem names the file. */
static void test_read_fails(void)
{
    for (int n = 1; n <= 11; n++) { /* one collections file, ten index files */
        assay_trial_files t;
        assay_error err = {{0}};
        arm("read", n);
        int status = open_trial("linreg_nan", &t, &err);
        arm("read", 0);
        CU_ASSERT_EQUAL_FATAL(status, 0);
        CU_ASSERT_EQUAL_FATAL(t.problems.total, 1);
        CU_ASSERT_EQUAL(t.problems.list[0].kind, ASSAY_PROBLEM_READ);
        CU_ASSERT(strstr(t.problems.list[0].text, t.problems.list[0].file) != NULL);
        CU_ASSERT_EQUAL(t.shard.count, n == 1 ? 10 : 9);
        assay_trial_release(&t);
    }
}

/* A record under failing allocations and reads: an error or the whole content. */
static void test_record_fails(void)
{
    assay_trial_files t;
    assay_error err = {{0}};
    CU_ASSERT_EQUAL_FATAL(open_trial("xgboost", &t, &err), 0);
    for (int k = 0; k < 2; k++)
        for (int n = 1; n < 40; n++) {
            assay_reader *file = NULL;
            char room[ASSAY_PATH_ROOM];
            const char *path = assay_part_file(&t.catalog, &t.shard.parts[0], 0, room);
            CU_ASSERT_PTR_NOT_NULL_FATAL(path);
            arm(k ? "read" : "alloc", n);
            int status = assay_reader_open(&file, t.store, &t.catalog, &t.shard.parts[0], 0, &err);
            CU_ASSERT(status == 0 || (k == 0 && status == ASSAY_ENOMEM));
            for (size_t i = 0; status == 0 && i < t.shard.parts[0].count; i++) {
                assay_record r;
                total sum = {0};
                const assay_entry *e = &t.shard.entries[t.shard.parts[0].first + i];
                if (!read_record(file, e, &r, &sum, &err))
                    CU_ASSERT(strstr(err.text, path) != NULL);
            }
            arm("alloc", 0);
            assay_reader_close(file);
        }
    assay_trial_release(&t);
}

int main(void)
{
    CU_TestInfo tests[] = {{"the bundled trials", test_bundled},
                           {"every allocation fails once", test_no_memory},
                           {"every read fails once", test_read_fails},
                           {"records under failures", test_record_fails},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/trial", tests);
}
