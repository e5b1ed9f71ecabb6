/* Packed files byte by byte: whatever is changed in one is refused, or shows nowhere; and what packing does not write
 * is refused before anything is read by it. Files of tests/data/packed: small.h5 of this version, v1.h5 of the first
 * one, many.h5 with trials enough for every kind of list, the others made by other programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "source/trial_files.h"
#include "unit.h"
#include "workspace.h"

static workspace space;

static void read_data(const char *name, assay_buf *out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/packed/%s", ASSAY_TEST_DATA, name);
    assay_buf_init(out, 64 << 20);
    CU_ASSERT_EQUAL_FATAL(assay_file_read(path, 64 << 20, out, NULL), 0);
}

/* All that a trial holds, as one text: files and their contents, the index, what is wrong. Or why it is refused. */
static uint64_t problems; /* of the trial read last */
static int digest(const char *place, assay_buf *out, assay_error *err)
{
    assay_trial_files t;
    assay_buf_clear(out);
    int status = assay_trial_open(place, &t, err);
    if (status != ASSAY_OK)
        return status;
    for (size_t p = 0; p < t.shard.count; p++) {
        const assay_part *part = &t.shard.parts[p];
        assay_put_format(out, "%lld %lld %u %u:", (long long)part->step, (long long)part->mode_step, part->worker,
                         part->mode);
        for (size_t i = part->first; i < part->first + part->count; i++) {
            const assay_entry *e = &t.shard.entries[i];
            size_t length = 0;
            const char *name = assay_dict_name(t.tensors, e->tensor, &length);
            assay_put_format(out, " %.*s %u %llu %llu", (int)length, name, e->kind, (unsigned long long)e->offset,
                             (unsigned long long)e->length);
        }
        char room[ASSAY_PATH_ROOM];
        assay_buf bytes;
        assay_buf_init(&bytes, 16 << 20);
        status = assay_store_read(t.store, assay_part_file(&t.catalog, part, 0, room), 16 << 20, &bytes, err);
        assay_put_bytes(out, bytes.data, bytes.size);
        assay_buf_release(&bytes);
        if (status != ASSAY_OK)
            break;
    }
    problems = t.problems.total;
    for (size_t i = 0; i < t.problems.kept; i++)
        assay_put_format(out, "%s %s\n", t.problems.list[i].file, t.problems.list[i].text);
    assay_trial_release(&t);
    return status;
}

static void write_file(const char *path, const assay_buf *bytes)
{
    FILE *file = fopen(path, "wb");
    CU_ASSERT_FATAL(file && fwrite(bytes->data, 1, bytes->size, file) == bytes->size);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* Every byte of a file, in three ways: the report of it is that of the whole file, or it is refused or named. */
static void flip_all(const char *name)
{
    static const uint8_t ways[] = {0x01, 0x80, 0xff};
    char path[300];
    assay_buf file, whole, now;
    assay_error err = {""};
    snprintf(path, sizeof path, "%s/flip.h5", space.root);
    read_data(name, &file);
    assay_buf_init(&whole, 64 << 20);
    assay_buf_init(&now, 64 << 20);
    write_file(path, &file);
    CU_ASSERT_EQUAL_FATAL(digest(path, &whole, &err), 0);
    size_t refused = 0, same = 0, named = 0, silent = 0;
    for (size_t i = 0; i < file.size; i++) {
        for (size_t k = 0; k < sizeof ways; k++) {
            FILE *at = fopen(path, "r+b");
            uint8_t byte = file.data[i] ^ ways[k];
            CU_ASSERT_FATAL(at && fseek(at, (long)i, SEEK_SET) == 0 && fwrite(&byte, 1, 1, at) == 1 && fclose(at) == 0);
            err.text[0] = '\0';
            int status = digest(path, &now, &err);
            bool alike = now.size == whole.size && memcmp(now.data, whole.data, now.size) == 0;
            refused += status != ASSAY_OK;
            same += status == ASSAY_OK && alike;
            named += status == ASSAY_OK && !alike && problems > 0;
            silent += status == ASSAY_OK && !alike && problems == 0;
            CU_ASSERT(status == ASSAY_OK || strstr(err.text, "flip.h5") || err.text[0]);
        }
        FILE *at = fopen(path, "r+b");
        CU_ASSERT_FATAL(at && fseek(at, (long)i, SEEK_SET) == 0 && fwrite(&file.data[i], 1, 1, at) == 1 &&
                        fclose(at) == 0);
    }
    printf("%s: %zu bytes in %zu ways: %zu refused, %zu named, %zu the same\n", name, file.size, sizeof ways, refused,
           named, same);
    CU_ASSERT(refused > file.size);
    CU_ASSERT_EQUAL(silent, 0);
    assay_buf_release(&file), assay_buf_release(&whole), assay_buf_release(&now);
}

static void test_flips(void)
{
    flip_all("small.h5");
}

/* Cut anywhere, it is refused or, behind all that is read, the same. */
static void test_cuts(void)
{
    char path[300];
    assay_buf file, now;
    snprintf(path, sizeof path, "%s/cut.h5", space.root);
    read_data("small.h5", &file);
    assay_buf_init(&now, 64 << 20);
    const size_t whole = file.size;
    for (size_t size = 0; size < whole; size += 1 + size % 7) {
        assay_error err = {""};
        file.size = size;
        write_file(path, &file);
        CU_ASSERT_NOT_EQUAL(digest(path, &now, &err), 0);
    }
    file.size = whole;
    assay_buf_release(&file), assay_buf_release(&now);
}

static void refused(const char *name, const char *words)
{
    char path[512];
    assay_buf now;
    assay_error err = {""};
    assay_buf_init(&now, 64 << 20);
    snprintf(path, sizeof path, "%s/packed/%s", ASSAY_TEST_DATA, name);
    int status = digest(path, &now, &err);
    CU_ASSERT(status == ASSAY_EUNSUPPORTED || status == ASSAY_EFORMAT);
    if (!strstr(err.text, words))
        printf("%s: %s\n", name, err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, words));
    assay_buf_release(&now);
}

static void test_foreign(void)
{
    refused("external-storage.h5", "data in other files");
    refused("external-link.h5", "a link into another file");
    refused("soft-link.h5", "a link by name");
    refused("virtual.h5", "data made of other data sets");
    refused("filter.h5", "filtered data");
    refused("old-form.h5", "of an older form");
    refused("huge-chunk.h5", "larger chunks");
}

/* The first version is read, with a remark; lists of many trials, whatever their depth. */
static void test_others(void)
{
    char path[512];
    assay_trial_files t;
    assay_buf one, other;
    assay_buf_init(&one, 64 << 20);
    assay_buf_init(&other, 64 << 20);
    snprintf(path, sizeof path, "%s/packed/v1.h5", ASSAY_TEST_DATA);
    CU_ASSERT_EQUAL_FATAL(assay_trial_open(path, &t, NULL), 0);
    CU_ASSERT(t.problems.total == 1 && t.problems.losses == 0 && t.problems.list[0].kind == ASSAY_PROBLEM_UNVERIFIED);
    assay_trial_release(&t);
    snprintf(path, sizeof path, "%s/packed/many.h5/trial-7", ASSAY_TEST_DATA);
    CU_ASSERT_EQUAL(digest(path, &one, NULL), 0);
    snprintf(path, sizeof path, "%s/packed/many.h5/trial-11", ASSAY_TEST_DATA);
    CU_ASSERT_EQUAL(digest(path, &other, NULL), 0);
    CU_ASSERT(one.size > 0 && one.size == other.size && memcmp(one.data, other.data, one.size) == 0);
    snprintf(path, sizeof path, "%s/packed/many.h5/trial-12", ASSAY_TEST_DATA);
    CU_ASSERT_EQUAL(digest(path, &one, NULL), ASSAY_ENOTFOUND);
    assay_buf_release(&one), assay_buf_release(&other);
}

int main(void)
{
    workspace_make(&space);
    CU_TestInfo tests[] = {{"every byte changed", test_flips},
                           {"cut anywhere", test_cuts},
                           {"what packing does not write", test_foreign},
                           {"the first version, and many trials", test_others},
                           CU_TEST_INFO_NULL};
    int code = unit_main("trial/packed file", tests);
    workspace_remove(&space);
    return code;
}
