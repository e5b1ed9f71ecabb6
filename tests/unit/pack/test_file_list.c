/* The files of a trial as pack lists them: in byte order with their sizes, empty directories too, and none outside the trial. */
#include "unit.h"
#include "workspace.h"

#include "pack/file_list.h"
#include "store/storage.h"

static assay_comm *comm;

static assay_file_list read_list(const workspace *w, assay_store **store)
{
    assay_file_list list = {0};
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(assay_store_open(w->root, store, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_file_list_read(comm, *store, &list, &err), ASSAY_OK);
    return list;
}

static void files_in_order_of_their_names(void)
{
    static const char *const names[] = {"B", "a.txt", "b/c", "b/d/e", "empty"};
    workspace w;
    char path[512];
    assay_store *store = NULL;
    assay_error err = {""};
    workspace_make(&w);
    workspace_text(&w, "b/d/e", "12345");
    workspace_text(&w, "b/c", "");
    workspace_text(&w, "a.txt", "123");
    workspace_text(&w, "B", "1");
    snprintf(path, sizeof path, "%s/empty", w.root);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0755), 0);
    assay_file_list list = read_list(&w, &store);
    CU_ASSERT_EQUAL_FATAL(list.count, sizeof names / sizeof *names);
    for (uint64_t i = 0; i < list.count; i++)
        CU_ASSERT_STRING_EQUAL(assay_file_name(&list, i), names[i]);
    CU_ASSERT_EQUAL(list.bytes, 9);
    CU_ASSERT_EQUAL(list.unreadable, 0);
    CU_ASSERT_EQUAL(list.files[3].size, 5);
    CU_ASSERT_EQUAL(assay_file_list_stays_inside(comm, store, &list, &err), ASSAY_OK);
    assay_file_list_release(&list);
    assay_store_close(store);
    workspace_remove(&w);
}

/* A link to another file of the trial is that file; one that leads out is refused, and named. */
static void links_that_lead_out(void)
{
    workspace w, other;
    char to[512], from[512];
    assay_store *store = NULL;
    assay_error err = {""};
    workspace_make(&w);
    workspace_make(&other);
    workspace_text(&w, "a", "1");
    workspace_text(&other, "secret", "not of the trial");
    snprintf(from, sizeof from, "%s/b", w.root);
    CU_ASSERT_EQUAL_FATAL(symlink("a", from), 0);
    assay_file_list list = read_list(&w, &store);
    CU_ASSERT_EQUAL(list.count, 2);
    CU_ASSERT_EQUAL(assay_file_list_stays_inside(comm, store, &list, &err), ASSAY_OK);
    assay_file_list_release(&list);
    assay_store_close(store);
    snprintf(to, sizeof to, "%s/secret", other.root);
    snprintf(from, sizeof from, "%s/leads-out", w.root);
    CU_ASSERT_EQUAL_FATAL(symlink(to, from), 0);
    list = read_list(&w, &store);
    CU_ASSERT_EQUAL(assay_file_list_stays_inside(comm, store, &list, &err), ASSAY_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "leads-out"));
    assay_file_list_release(&list);
    assay_store_close(store);
    workspace_remove(&w);
    workspace_remove(&other);
}

/* Shares lie one behind the other, cover all things, and differ by one at most. */
static void shares_of_ranks(void)
{
    static const uint64_t counts[] = {0, 1, 5, 64, 1000003, UINT64_MAX};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int ranks = 1; ranks < 70; ranks += 3) {
            const uint64_t count = counts[k], least = count / (uint64_t)ranks;
            CU_ASSERT_EQUAL(assay_share(count, 0, ranks), 0);
            CU_ASSERT_EQUAL(assay_share(count, ranks, ranks), count);
            for (int r = 0; r < ranks; r++) {
                const uint64_t own = assay_share(count, r + 1, ranks) - assay_share(count, r, ranks);
                CU_ASSERT_TRUE(own == least || own == least + 1);
            }
        }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"files in order of their names", files_in_order_of_their_names},
                           {"links that lead out", links_that_lead_out},
                           {"shares of ranks", shares_of_ranks},
                           CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, false, &comm, &err) != ASSAY_OK)
        return 1;
    const int failed = unit_main("file list", tests);
    assay_comm_close(comm);
    return failed;
}
