/* The tables of a packed trial: every row that points nowhere, is out of order or names no path is refused, by its
 * number; names are found and listed as a directory would. */
#include <stdlib.h>
#include <string.h>

#include "store/packed.h"
#include "unit.h"

typedef struct sample {
    assay_packed_file files[6];
    char names[128];
    assay_packed_part parts[3];
    assay_packed_tensor tensors[2];
    char tensor_names[8];
    uint32_t sums[2];
    assay_packed packed;
} sample;

static void make(sample *s)
{
    static const char *const names[] = {"a", "b/x", "b/y/z", "c", "d", "e.json"};
    memset(s, 0, sizeof *s);
    uint64_t at = 0;
    for (int i = 0; i < 6; i++) {
        s->files[i] = (assay_packed_file){at, (uint32_t)strlen(names[i]), ASSAY_PACKED_FILE, 10 * (uint64_t)i, 10};
        memcpy(s->names + at, names[i], strlen(names[i]) + 1);
        at += strlen(names[i]) + 1;
    }
    memcpy(s->names + at, "why", 3);
    s->files[3] = (assay_packed_file){s->files[3].name_at, 1, ASSAY_PACKED_UNREADABLE, at, 3};
    s->files[4].kind = ASSAY_PACKED_DIRECTORY;
    s->files[4].at = s->files[4].size = 0;
    s->parts[0] = (assay_packed_part){0, 0, 0, 1, 0, 5};
    s->parts[1] = (assay_packed_part){0, 0, 2, 1, 5, 0};
    s->parts[2] = (assay_packed_part){7, 1, 0, 1, 5, 4};
    s->tensors[0] = (assay_packed_tensor){0, 3};
    s->tensors[1] = (assay_packed_tensor){4, 4};
    s->packed = (assay_packed){
        s->files, 6,       s->names, at + 3, s->parts, 3, s->tensors, 2, s->tensor_names, 8, ASSAY_PACKED_BLOCK + 1,
        9,        s->sums, 2};
}

static void refused(const sample *s, const char *words)
{
    assay_error err = {""};
    CU_ASSERT_EQUAL(assay_packed_check(&s->packed, "run.h5", &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "run.h5"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, words));
}

static void test_sound_tables_pass(void)
{
    sample s;
    make(&s);
    CU_ASSERT_EQUAL(assay_packed_check(&s.packed, "run.h5", NULL), ASSAY_OK);
}

static void test_rows_of_files_are_checked(void)
{
    sample s;
    make(&s), s.files[1].name_at = UINT64_MAX, refused(&s, "row 1 of files");
    make(&s), s.files[1].name_length = 1000, refused(&s, "row 1 of files");
    make(&s), s.files[0].name_length = 0, refused(&s, "row 0 of files");
    make(&s), s.files[2].at = UINT64_MAX, refused(&s, "row 2 of files");
    make(&s), s.files[2].size = UINT64_MAX, refused(&s, "row 2 of files");
    make(&s), s.files[3].size = 4, refused(&s, "row 3 of files");
    make(&s), s.files[4].kind = 3, refused(&s, "row 4 of files");
    make(&s), s.files[5].name_at = 0, s.files[5].name_length = 1, refused(&s, "row 5 of files");
    make(&s), s.names[0] = 'b', refused(&s, "row 1 of files lies below another one");
    make(&s), memcpy(s.names + 2, "a-x\0a", 5), refused(&s, "row 2 of files lies below another one");
    static const char *const paths[] = {"/", ".", "a/", "//", "..", "./a", "../"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        make(&s);
        memcpy(s.names, paths[i], strlen(paths[i]));
        s.files[0].name_length = (uint32_t)strlen(paths[i]);
        refused(&s, "row 0 of files has an invalid name");
    }
}

static void test_rows_of_the_index_are_checked(void)
{
    sample s;
    make(&s), s.parts[0].entries = 10, refused(&s, "row 0 of parts");
    make(&s), s.parts[2].first_entry = UINT64_MAX, refused(&s, "row 2 of parts");
    make(&s), s.parts[1].worker = 0, refused(&s, "row 1 of parts is out of order");
    make(&s), s.parts[2].step = -1, refused(&s, "row 2 of parts is out of order");
    make(&s), s.tensors[1].name_length = 5, refused(&s, "row 1 of tensors");
    make(&s), s.packed.sum_count = 1, refused(&s, "1 checksums for 2 blocks");
}

static void test_files_are_found(void)
{
    sample s;
    make(&s);
    CU_ASSERT_PTR_EQUAL(assay_packed_find(&s.packed, "b/y/z"), &s.files[2]);
    CU_ASSERT_PTR_EQUAL(assay_packed_find(&s.packed, "c"), &s.files[3]);
    CU_ASSERT_PTR_NULL(assay_packed_find(&s.packed, "b"));
    CU_ASSERT_PTR_NULL(assay_packed_find(&s.packed, "d")); /* a directory */
    CU_ASSERT_PTR_NULL(assay_packed_find(&s.packed, ""));
    CU_ASSERT_TRUE(assay_packed_is_directory(&s.packed, "b/y") && assay_packed_is_directory(&s.packed, "d"));
    CU_ASSERT_FALSE(assay_packed_is_directory(&s.packed, "a") || assay_packed_is_directory(&s.packed, "b/z"));
    CU_ASSERT_PTR_EQUAL(assay_packed_find_part(&s.packed, 7, 0), &s.parts[2]);
    CU_ASSERT_PTR_EQUAL(assay_packed_find_part(&s.packed, 0, 2), &s.parts[1]);
    CU_ASSERT_PTR_NULL(assay_packed_find_part(&s.packed, 0, 1));
    CU_ASSERT_PTR_NULL(assay_packed_find_part(&s.packed, 8, 0));
}

static void test_directories_are_listed(void)
{
    sample s;
    assay_names names = {0};
    assay_error err = {""};
    make(&s);
    CU_ASSERT_EQUAL_FATAL(assay_packed_list(&s.packed, "", &names, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(names.count, 5);
    CU_ASSERT_STRING_EQUAL(names.name[1], "b");
    assay_names_release(&names);
    CU_ASSERT_EQUAL_FATAL(assay_packed_list(&s.packed, "b/", &names, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(names.count, 2);
    CU_ASSERT_STRING_EQUAL(names.name[0], "x");
    CU_ASSERT_STRING_EQUAL(names.name[1], "y");
    assay_names_release(&names);
    CU_ASSERT_EQUAL_FATAL(assay_packed_list(&s.packed, "d", &names, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(names.count, 0);
    assay_names_release(&names);
    CU_ASSERT_EQUAL(assay_packed_list(&s.packed, "nothing", &names, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_EQUAL(assay_packed_list(&s.packed, "a", &names, &err), ASSAY_EIO);
    CU_ASSERT_EQUAL(assay_packed_list(&s.packed, "c", &names, &err), ASSAY_EIO);
    CU_ASSERT_STRING_EQUAL(err.text, "why");
}

int main(void)
{
    CU_TestInfo tests[] = {{"sound tables pass", test_sound_tables_pass},
                           {"rows of files are checked", test_rows_of_files_are_checked},
                           {"rows of the index are checked", test_rows_of_the_index_are_checked},
                           {"files are found", test_files_are_found},
                           {"directories are listed", test_directories_are_listed},
                           CU_TEST_INFO_NULL};
    return unit_main("packed_tables", tests);
}
