/* test_rank_reduce.c - what ranks hold is joined in the order of ranks; a failure anywhere is everyone's. */
#include "unit.h"

#include <string.h>

#include "parallel/rank_reduce.h"

enum { ROOM = 4096 };

/* A text that grows; the failures are what a test asks for. */
typedef struct held {
    char text[ROOM];
    int packs, joins; /* what pack and join return */
} held;

static assay_comm *comm;

static int pack(const void *mine, assay_buf *out)
{
    const held *h = mine;
    assay_put_text(out, h->text);
    return h->packs;
}

static int join(void *mine, assay_cursor *later, assay_error *err)
{
    held *h = mine;
    size_t length, has = strlen(h->text);
    const char *text = assay_get_text(later, &length);
    CU_ASSERT_FALSE(assay_cursor_bad(later));
    snprintf(h->text + has, ROOM - has, "%.*s", (int)length, text);
    return h->joins == ASSAY_OK ? ASSAY_OK : assay_fail(err, h->joins, "cannot join %.*s", (int)length, text);
}

static const assay_joiner joiner = {pack, join};

static void begin(held *h)
{
    *h = (held){.text = ""};
    snprintf(h->text, sizeof h->text, "%d,", assay_comm_rank(comm));
}

static void check_order(void)
{
    held h;
    char expected[ROOM] = "";
    assay_error err = {""};
    for (int r = 0; r < assay_comm_size(comm); r++)
        snprintf(expected + strlen(expected), ROOM - strlen(expected), "%d,", r);
    begin(&h);
    CU_ASSERT_EQUAL(assay_rank_reduce(comm, &joiner, &h, ASSAY_OK, &err), ASSAY_OK);
    CU_ASSERT(assay_comm_rank(comm) > 0 || strcmp(h.text, expected) == 0);
}

static void test_in_order(void)
{
    check_order();
}

/* Every rank but the first sends what it holds once: its size, and its bytes. */
static void test_messages(void)
{
    held h;
    assay_error err = {""};
    uint64_t before, after, bytes;
    begin(&h);
    assay_comm_traffic(comm, &before, &bytes);
    CU_ASSERT_EQUAL(assay_rank_reduce(comm, &joiner, &h, ASSAY_OK, &err), ASSAY_OK);
    assay_comm_traffic(comm, &after, &bytes);
    CU_ASSERT_EQUAL(after - before, assay_comm_rank(comm) > 0 ? 2 : 0);
}

static void test_failures(void)
{
    for (int failing = 0; failing < assay_comm_size(comm); failing++) {
        bool here = assay_comm_rank(comm) == failing;
        assay_error err = {""};
        held h;
        begin(&h);
        CU_ASSERT_EQUAL(assay_rank_reduce(comm, &joiner, &h, here ? ASSAY_EIO : ASSAY_OK, &err), ASSAY_EIO);
        begin(&h);
        h.packs = here ? ASSAY_ENOMEM : ASSAY_OK;
        int packed = assay_rank_reduce(comm, &joiner, &h, ASSAY_OK, &err);
        CU_ASSERT_EQUAL(packed, failing > 0 ? ASSAY_ENOMEM : ASSAY_OK); /* rank 0 packs nothing */
        CU_ASSERT(failing == 0 || strstr(err.text, "out of memory on rank "));
        begin(&h);
        h.joins = here ? ASSAY_EFORMAT : ASSAY_OK;
        bool joins = failing % 2 == 0 && failing + 1 < assay_comm_size(comm);
        CU_ASSERT_EQUAL(assay_rank_reduce(comm, &joiner, &h, ASSAY_OK, &err), joins ? ASSAY_EFORMAT : ASSAY_OK);
        CU_ASSERT(!joins || strncmp(err.text, "cannot join ", 12) == 0);
        check_order(); /* no message is left over */
    }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"in the order of ranks", test_in_order},
                           {"one message a rank", test_messages},
                           {"failures are everyone's", test_failures},
                           CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, true, &comm, &err) != ASSAY_OK)
        return 2;
    int code = unit_main("joining over ranks", tests);
    assay_comm_close(comm);
    return code;
}
