/* Reading gives the same bytes whether they are in memory or not, and files that were opened ahead are those of their
 * name. */
#include "store/storage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fault.h"
#include "store/backend.h"
#include "unit.h"
#include "workspace.h"

enum { SIZE = 300001 };
static workspace space;
static assay_store *store;
static uint8_t bytes[SIZE];

static void begin(const char *faults)
{
    if (faults)
        setenv("ASSAY_FAULT", faults, 1);
    else
        unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    workspace_make(&space);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(space.root, &store, NULL), ASSAY_OK);
}

static void end(void)
{
    assay_store_close(store);
    workspace_remove(&space);
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
}

/* The file opens and holds that text. */
static bool holds(const char *path, const char *text)
{
    assay_store_file *file = NULL;
    char got[100] = "";
    size_t size = 0;
    if (assay_store_open_file(store, path, &file, NULL) != ASSAY_OK)
        return false;
    int status = assay_store_read_at(file, 0, got, sizeof got, &size, NULL);
    bool same = status == ASSAY_OK && size == assay_store_file_size(file) && size == strlen(text) &&
                memcmp(got, text, size) == 0;
    assay_store_close_file(file);
    return same;
}

static void check_bytes(void)
{
    static const struct {
        uint64_t offset;
        size_t size;
    } ranges[] = {{0, SIZE},     {0, SIZE + 10},  {0, 1},    {1, 65536},    {4095, 2},
                  {SIZE - 1, 1}, {SIZE - 5, 100}, {SIZE, 1}, {SIZE + 7, 9}, {9, 0}};
    static uint8_t got[SIZE + 10];
    assay_store_file *file = NULL;
    workspace_write(&space, "some/file", bytes, SIZE);
    CU_ASSERT_EQUAL_FATAL(assay_store_open_file(store, "some/file", &file, NULL), ASSAY_OK);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        uint64_t offset = ranges[i].offset;
        size_t size = 0, left = offset < SIZE ? (size_t)(SIZE - offset) : 0,
               want = left < ranges[i].size ? left : ranges[i].size;
        memset(got, 0, sizeof got);
        CU_ASSERT_EQUAL(assay_store_read_at(file, offset, got, ranges[i].size, &size, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(size, want);
        CU_ASSERT_TRUE(size == 0 || memcmp(got, bytes + offset, size) == 0);
    }
    assay_store_close_file(file);
}

static void test_same_bytes(void)
{
    static const char *const ways[] = {NULL,       "cold:1+",   "cold:2",           "short:1+",
                                       "nowait:1", "nowait:3+", "cold:1+,short:1+", "nowait:1,short:1+"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        begin(ways[i]);
        check_bytes();
        end();
    }
}

/* A read that has to wait is noticed, where the system can say so. */
static void test_waits(void)
{
    begin("cold:1");
    workspace_text(&space, "a", "A");
    CU_ASSERT_FALSE(assay_store_waits(store));
    CU_ASSERT_TRUE(holds("a", "A"));
#ifdef RWF_NOWAIT
    CU_ASSERT_TRUE(assay_store_waits(store));
#endif
    /* Not for ever: without another such read it ends. */
    for (int i = 0; i < 100000 && assay_store_waits(store); i++)
        assay_store_ahead(store, "a", 0, 0);
    CU_ASSERT_FALSE(assay_store_waits(store));
    CU_ASSERT_TRUE(holds("a", "A"));
    end();
    begin("nowait:1,cold:1+");
    workspace_text(&space, "a", "A");
    CU_ASSERT_TRUE(holds("a", "A"));
    CU_ASSERT_FALSE(assay_store_waits(store));
    end();
}

/* In any order, more of them than are held open, some never, some twice. */
static void test_ahead(void)
{
    enum { FILES = 96 };
    char path[64], text[64];
    begin(NULL);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "in/%d/file", i);
        snprintf(text, sizeof text, "text %d", i);
        workspace_text(&space, path, text);
    }
    for (int i = 0; i < FILES; i++) {
        int ask = i * 7 % FILES, open = i * 5 % FILES;
        snprintf(path, sizeof path, "in/%d/file", ask);
        assay_store_ahead(store, path, 2, i % 2 ? 0 : 3);
        snprintf(path, sizeof path, "in/%d/file", open);
        snprintf(text, sizeof text, "text %d", open);
        CU_ASSERT_TRUE(holds(path, text));
        CU_ASSERT_TRUE(holds(path, text));
    }
    end();
}

/* Between asking and opening the name may come to mean another file, or none. */
static void test_changed(void)
{
    char from[300], to[300], odd[300];
    assay_store_file *file = NULL;
    begin(NULL);
    workspace_text(&space, "old", "old");
    workspace_text(&space, "new", "newer");
    snprintf(from, sizeof from, "%s/new", space.root);
    snprintf(to, sizeof to, "%s/old", space.root);
    assay_store_ahead(store, "old", 0, 0);
    CU_ASSERT_EQUAL(rename(from, to), 0);
    CU_ASSERT_TRUE(holds("old", "newer"));
    assay_store_ahead(store, "old", 0, 0);
    workspace_text(&space, "old", "newest of them");
    CU_ASSERT_TRUE(holds("old", "newest of them"));
    assay_store_ahead(store, "old", 0, 0);
    CU_ASSERT_EQUAL(remove(to), 0);
    CU_ASSERT_EQUAL(assay_store_open_file(store, "old", &file, NULL), ASSAY_ENOTFOUND);
    assay_store_ahead(store, "late", 0, 0);
    workspace_text(&space, "late", "came late");
    CU_ASSERT_TRUE(holds("late", "came late"));
    snprintf(odd, sizeof odd, "%s/pipe", space.root);
    CU_ASSERT_EQUAL(mkfifo(odd, 0600), 0);
    assay_store_ahead(store, "pipe", 0, 0);
    CU_ASSERT_EQUAL(assay_store_open_file(store, "pipe", &file, NULL), ASSAY_EIO);
    memset(odd, 'n', 200);
    odd[200] = '\0';
    workspace_text(&space, odd, "a long name");
    assay_store_ahead(store, odd, 0, 0);
    CU_ASSERT_TRUE(holds(odd, "a long name"));
    end();
}

static void test_packed_names(void)
{
    static const struct {
        const char *place;
        size_t length; /* 0: none */
    } cases[] = {{"b/run.h5", 8},      {"b/run.h5/", 8}, {"b/a/run.h5/name", 10}, {"b/a.h5/b.h5", 6}, {"run.h5", 0},
                 {"run.h5/prefix", 0}, {"b/.h5", 0},     {"b/run.h5x", 0},        {"b//c.h5", 7},     {"b/", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = 0;
        bool is = assay_s3_is_hdf5_place(cases[i].place, &length);
        CU_ASSERT(is == (cases[i].length > 0) && (!is || length == cases[i].length));
    }
}

/* Only what nobody listed is absent. What cannot be found, or looked at, and whose caller does not ask why, is noted. */
static void test_absence(void)
{
    char link_path[4200];
    assay_names names = {0};
    assay_store_file *file = NULL;
    const char *path = NULL, *text = NULL;
    uint64_t size;
    begin(NULL);
    workspace_text(&space, "step/here", "here");
    snprintf(link_path, sizeof link_path, "%s/step/gone", space.root);
    CU_ASSERT_EQUAL_FATAL(symlink("nowhere", link_path), 0);
    CU_ASSERT_EQUAL(assay_store_size_of(store, "step/absent", &size, NULL), 0);
    CU_ASSERT_EQUAL(assay_store_size_of(store, "none/absent", &size, NULL), 0);
    CU_ASSERT_EQUAL(assay_store_size_of(store, "step/here/below", &size, NULL), 0);
    CU_ASSERT_EQUAL(assay_store_list(store, "step/absent", &names, NULL), ASSAY_ENOTFOUND);
    CU_ASSERT_EQUAL(assay_store_open_file(store, "step/absent", &file, NULL), ASSAY_ENOTFOUND);
    CU_ASSERT_FALSE(assay_store_take_note(store, &path, &text));
    CU_ASSERT_EQUAL(assay_store_open_file(store, "step/gone", &file, NULL), ASSAY_EIO);
    CU_ASSERT_EQUAL(assay_store_size_of(store, "step/gone", &size, NULL), ASSAY_EIO);
    CU_ASSERT_EQUAL(assay_store_size_of(store, "step/gone/below", &size, NULL), ASSAY_EIO);
    CU_ASSERT_EQUAL(assay_store_list(store, "step/gone", &names, NULL), ASSAY_EIO);
    CU_ASSERT_TRUE(assay_store_take_note(store, &path, &text));
    CU_ASSERT_STRING_EQUAL(path, "step/gone");
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "cannot be found"));
    CU_ASSERT_TRUE(assay_store_take_note(store, &path, &text));
    CU_ASSERT_STRING_EQUAL(path, "step/gone/below");
    CU_ASSERT_FALSE(assay_store_take_note(store, &path, &text));
    /* It came while it was looked for. */
    CU_ASSERT_EQUAL(assay_store_size_of(store, "step/late", &size, NULL), 0);
    workspace_text(&space, "step/late", "came late");
    CU_ASSERT_EQUAL(assay_store_size_of(store, "step/late", &size, NULL), 1);
    end();
}

static unsigned times_asked;

static bool has_three(const assay_names *names)
{
    times_asked++;
    return names->count == 3;
}

/* Is something of the names no file? */
static bool has_other(assay_store *asked, const assay_names *names)
{
    times_asked++;
    for (size_t i = 0; i < names->count; i++)
        if (assay_store_exists(asked, names->name[i], NULL) == 0)
            return true;
    return false;
}

/* Stores of one place know one listing of it, and its answers; what is noted is each one's own. The last keeps both. */
static void test_beside(void)
{
    assay_names names = {0};
    assay_store *beside = NULL, *fresh = NULL;
    const char *path, *text;
    char link_path[4200];
    begin(NULL);
    times_asked = 0;
    workspace_text(&space, "a", "a");
    workspace_text(&space, "b", "b");
    snprintf(link_path, sizeof link_path, "%s/gone", space.root);
    CU_ASSERT_EQUAL_FATAL(symlink("nowhere", link_path), 0);
    CU_ASSERT_EQUAL_FATAL(assay_store_open_beside(store, &beside, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_store_location(beside), space.root);
    CU_ASSERT_TRUE(assay_store_ask_root(store, 7, has_three));
    workspace_text(&space, "later", "later");
    CU_ASSERT_TRUE(assay_store_ask_root(beside, 7, has_three));
    CU_ASSERT_EQUAL(times_asked, 1);
    CU_ASSERT_FALSE(assay_store_ask_files(store, 8, has_other));
    CU_ASSERT_FALSE(assay_store_ask_files(beside, 8, has_other));
    CU_ASSERT_TRUE(assay_store_ask_root(beside, 7, has_three));
    CU_ASSERT_EQUAL(times_asked, 2);
    CU_ASSERT_TRUE(assay_store_take_note(store, &path, &text)); /* of the link, by the one that was asked */
    CU_ASSERT_EQUAL(assay_store_list_root(beside, &names, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(names.count, 3);
    CU_ASSERT_EQUAL(assay_store_exists(beside, "gone", NULL), ASSAY_EIO);
    CU_ASSERT_FALSE(assay_store_take_note(store, &path, &text));
    CU_ASSERT_TRUE(assay_store_take_note(beside, &path, &text));
    assay_store_close(store);
    CU_ASSERT_EQUAL(assay_store_list_root(beside, &names, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(names.count, 3);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(space.root, &fresh, NULL), ASSAY_OK);
    CU_ASSERT_FALSE(assay_store_ask_root(fresh, 7, has_three)); /* it looks for itself */
    assay_store_close(fresh);
    store = beside;
    CU_ASSERT_TRUE(holds("later", "later"));
    end();
}

/* Which links lead out is said of what a store has listed itself, though another one of its place did so before. */
static void test_beside_links(void)
{
    static const char *const links[] = {"sub/a", "sub/b", "z"};
    assay_names names = {0};
    assay_store *beside = NULL;
    char path[4200];
    bool several = true;
    begin(NULL);
    workspace_text(&space, "sub/file", "");
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(path, sizeof path, "%s/%s", space.root, links[i]);
        CU_ASSERT_EQUAL_FATAL(symlink("/", path), 0);
    }
    CU_ASSERT_EQUAL_FATAL(assay_store_open_beside(store, &beside, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_store_list(store, "sub", &names, NULL), ASSAY_OK);
    assay_names_release(&names);
    const char *out = assay_store_outside(store, &several);
    if (out) { /* the system can tell */
        CU_ASSERT_STRING_EQUAL(out, "sub/a");
        CU_ASSERT_TRUE(several);
        CU_ASSERT_PTR_NULL(assay_store_outside(beside, &several));
        CU_ASSERT_EQUAL(assay_store_list_root(store, &names, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(assay_store_list_root(beside, &names, NULL), ASSAY_OK);
        CU_ASSERT_STRING_EQUAL(assay_store_outside(store, &several), "sub/a");
        CU_ASSERT_STRING_EQUAL(assay_store_outside(beside, &several), "z");
        CU_ASSERT_FALSE(several);
        CU_ASSERT_EQUAL(assay_store_list(beside, "sub", &names, NULL), ASSAY_OK);
        assay_names_release(&names);
        CU_ASSERT_STRING_EQUAL(assay_store_outside(beside, &several), "sub/a");
        CU_ASSERT_TRUE(several);
    }
    assay_store_close(beside);
    end();
}

int main(void)
{
    CU_TestInfo tests[] = {{"same bytes", test_same_bytes},
                           {"reads that wait", test_waits},
                           {"opened ahead", test_ahead},
                           {"opened ahead, then changed", test_changed},
                           {"absence", test_absence},
                           {"another store of the place", test_beside},
                           {"links that stores of a place list", test_beside_links},
                           {"names of packed trials in S3", test_packed_names},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/storage", tests);
}
