/* test_checkpoint.c - the bytes of a checkpoint file, and how chunks are dealt out around those that are done. */
#include <stdlib.h>
#include <string.h>

#include "engine/reduce/restart.h"
#include "unit.h"

static assay_source_plan sources[2] = {{.first_chunk = 0, .chunks = 5}, {.first_chunk = 5, .chunks = 3}};

static assay_restart_identity identity_of(const char *version, char job, char trials)
{
    assay_restart_identity identity = {.version = ""};
    memcpy(identity.version, version, strlen(version) + 1);
    memset(identity.job, job, 64);
    memset(identity.trials, trials, 64);
    return identity;
}

static void make_file(assay_buf *file)
{
    assay_restart_identity identity = identity_of("1.2", 'a', 'b');
    assay_buf nodes;
    assay_buf_init(&nodes, SIZE_MAX);
    assay_buf_init(file, SIZE_MAX);
    assay_restart_put_node(&nodes, 0, 1, 1, "left", 4);
    assay_restart_put_node(&nodes, 1, 0, 2, "", 0);
    assay_restart_put_file(file, &identity, 8, &nodes, 2);
    CU_ASSERT_EQUAL(assay_buf_status(file), ASSAY_OK);
    assay_buf_release(&nodes);
}

static int parse(const assay_buf *file, size_t size, assay_restart_identity identity, uint64_t chunks,
                 assay_restart_node **nodes, size_t *count, assay_error *err)
{
    const assay_plan plan = {.sources = sources, .source_count = 2, .chunk_count = chunks};
    *err = (assay_error){""};
    return assay_restart_parse("run.ckpt", file->data, size, &identity, &plan, nodes, count, err);
}

static void test_back_and_forth(void)
{
    assay_buf file;
    assay_error err;
    assay_restart_node *nodes = NULL;
    size_t count = 0;
    make_file(&file);
    CU_ASSERT_EQUAL_FATAL(parse(&file, file.size, identity_of("1.2", 'a', 'b'), 8, &nodes, &count, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    const assay_plan plan = {.sources = sources, .source_count = 2, .chunk_count = 8};
    CU_ASSERT_EQUAL(assay_restart_first(&plan, &nodes[0]), 2);
    CU_ASSERT_EQUAL(assay_restart_end(&plan, &nodes[0]), 4);
    CU_ASSERT_EQUAL(assay_restart_first(&plan, &nodes[1]), 7);
    CU_ASSERT_EQUAL(assay_restart_end(&plan, &nodes[1]), 8);
    CU_ASSERT_EQUAL(nodes[0].size, 4);
    CU_ASSERT_EQUAL(memcmp(file.data + nodes[0].at, "left", 4), 0);
    free(nodes);
    assay_buf_release(&file);
}

static void expect_refused(const assay_buf *file, size_t size, assay_restart_identity identity, uint64_t chunks,
                           const char *says)
{
    assay_error err;
    assay_restart_node *nodes = NULL;
    size_t count = 0;
    CU_ASSERT_EQUAL(parse(file, size, identity, chunks, &nodes, &count, &err), ASSAY_EUSAGE);
    CU_ASSERT_PTR_NULL(nodes);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, says));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "run.ckpt"));
}

static void test_refused(void)
{
    assay_buf file;
    make_file(&file);
    expect_refused(&file, file.size, identity_of("1.3", 'a', 'b'), 8, "written by assay 1.2");
    expect_refused(&file, file.size, identity_of("1.2", 'c', 'b'), 8, "another job");
    expect_refused(&file, file.size, identity_of("1.2", 'a', 'c'), 8, "another state of the trial");
    expect_refused(&file, file.size, identity_of("1.2", 'a', 'b'), 9, "another state of the trial");
    expect_refused(&file, 4, identity_of("1.2", 'a', 'b'), 8, "not a checkpoint");
    assay_buf_release(&file);
}

static void test_every_cut_and_every_bit(void)
{
    assay_buf file;
    make_file(&file);
    for (size_t size = 8; size < file.size; size++)
        expect_refused(&file, size, identity_of("1.2", 'a', 'b'), 8, "damaged");
    for (size_t at = 8; at < file.size; at++) {
        file.data[at] ^= 1;
        expect_refused(&file, file.size, identity_of("1.2", 'a', 'b'), 8, "damaged");
        file.data[at] ^= 1;
    }
    assay_buf_release(&file);
}

/* Whatever is done, a run of chunks that are done never lies on two ranks: their nodes may cover all of them. */
static void test_done_chunks_stay_together(void)
{
    enum { CHUNKS = 12 };
    for (unsigned done = 0; done < 1u << CHUNKS; done++) {
        assay_chunk chunks[CHUNKS] = {{.source = 0}};
        assay_source_plan one = {.first_chunk = 0};
        assay_plan plan = {.chunks = chunks, .chunk_count = CHUNKS, .sources = &one, .source_count = 1};
        for (int c = 0; c < CHUNKS; c++) {
            chunks[c].cost = 100 + 37 * (unsigned)c % 11;
            chunks[c].done = done >> c & 1;
        }
        int ranks = 1 + (int)(done % 7);
        CU_ASSERT_EQUAL_FATAL(assay_plan_partition(&plan, ranks), ASSAY_OK);
        bool split = plan.rank_chunk[0] != 0 || plan.rank_chunk[ranks] != CHUNKS;
        for (int r = 1; r < ranks; r++) {
            uint64_t border = plan.rank_chunk[r];
            split |= border < plan.rank_chunk[r - 1] || border > CHUNKS;
            split |= border > 0 && border < CHUNKS && chunks[border - 1].done && chunks[border].done;
        }
        CU_ASSERT_FALSE(split);
        free(plan.rank_chunk);
        free(plan.helps);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"back and forth", test_back_and_forth},
                           {"refused with the reason", test_refused},
                           {"every cut and every bit", test_every_cut_and_every_bit},
                           {"done chunks stay together", test_done_chunks_stay_together},
                           CU_TEST_INFO_NULL};
    return unit_main("checkpoint", tests);
}
