/* test_combine.c - the combine over chunks and ranks: any split of the chunks gives the bytes of the tree over chunk
 * numbers. Runs on any number of ranks; every rank draws the same splits. */
#include "random.h"
#include "unit.h"

#include "engine/reduce/combine.h"
#include "pieces_rule.h"

enum { RULES = 2, MOST_CHUNKS = 40, SPLITS = 8, BEFORE = 5 /* chunks of the trial before this one */ };
static const assay_rule rules[RULES] = {{.ops = &pieces_ops}, {.ops = &pieces_ops}};

static assay_comm *comm;
static uint64_t state = 1;

typedef struct split {
    assay_source_plan sources[2];
    uint64_t *rank_chunk;
    assay_plan plan;
} split;

/* Any split of so many chunks, ranks with nothing among them; *s is released with free(s->rank_chunk). */
static void draw(split *s, uint64_t chunks)
{
    const int ranks = assay_comm_size(comm);
    *s = (split){.sources = {{.first_chunk = 0, .chunks = BEFORE}, {.first_chunk = BEFORE, .chunks = chunks}}};
    s->rank_chunk = calloc((size_t)ranks + 1, sizeof *s->rank_chunk);
    for (int r = 1; r < ranks; r++) {
        uint64_t left = BEFORE + chunks - s->rank_chunk[r - 1];
        s->rank_chunk[r] =
            s->rank_chunk[r - 1] + random_below(&state, (uint32_t)left + 1) / (1 + random_below(&state, 3));
    }
    s->rank_chunk[ranks] = BEFORE + chunks;
    s->plan = (assay_plan){
        .sources = s->sources, .source_count = 2, .chunk_count = BEFORE + chunks, .rank_chunk = s->rank_chunk};
}

/* What mapping a chunk came to: a piece; for some a second one, a problem, a failure. */
static assay_partial mapped(uint64_t chunk)
{
    assay_partial p;
    char piece[32];
    (void)assay_partial_init(&p, RULES);
    snprintf(piece, sizeof piece, "%d.", (int)chunk);
    p.rule[0].state = pieces_of(piece);
    p.rule[0].unreadable = chunk;
    if (chunk % 4 == 2)
        p.rule[1].state = pieces_of(piece);
    if (chunk % 5 == 3)
        (void)assay_partial_fail(&p, 1, ASSAY_EUNSUPPORTED, piece);
    if (chunk % 3 == 1)
        assay_problems_add(&p.problems, 0, (int64_t)chunk, "file", -1, "chunk %d", (int)chunk);
    return p;
}

/* Node (level, index) by its definition: combine.h. */
static assay_partial node_of(unsigned level, uint64_t index, uint64_t chunks)
{
    if (level == 0)
        return mapped(index);
    assay_partial left = node_of(level - 1, 2 * index, chunks);
    if ((2 * index + 1) << (level - 1) < chunks) {
        assay_partial right = node_of(level - 1, 2 * index + 1, chunks);
        (void)assay_partial_combine(&left, &right, rules);
        assay_partial_release(&right, rules);
    }
    return left;
}

static unsigned top_of(uint64_t chunks)
{
    unsigned top = 0;
    while (((chunks - 1) >> top) > 0)
        top++;
    return top;
}

/* Adds this rank's chunks, as nodes of several chunks where `nodes` and where the chunks fill them. */
static int add_own(assay_combiner *c, const split *s, bool nodes)
{
    const int rank = assay_comm_rank(comm);
    const uint64_t chunks = s->sources[1].chunks;
    uint64_t at = s->rank_chunk[rank] > BEFORE ? s->rank_chunk[rank] - BEFORE : 0;
    uint64_t end = s->rank_chunk[rank + 1] > BEFORE ? s->rank_chunk[rank + 1] - BEFORE : 0;
    while (at < end) {
        unsigned level = 0;
        while (nodes && at % (2ULL << level) == 0 && at + (2ULL << level) <= end && (at >> level) % 3 != 2)
            level++;
        assay_partial p = node_of(level, at >> level, chunks);
        int status = level ? assay_combiner_add_node(c, level, at >> level, &p) : assay_combiner_add(c, at, &p);
        CU_ASSERT(status == ASSAY_OK && !p.rule && c->count <= 2 * (size_t)top_of(chunks) + 1);
        at += 1ULL << level;
    }
    return ASSAY_OK;
}

static bool same_bytes(const assay_partial *a, const assay_partial *b)
{
    assay_buf x, y;
    assay_buf_init(&x, SIZE_MAX);
    assay_buf_init(&y, SIZE_MAX);
    bool same = assay_partial_pack(a, rules, &x) == ASSAY_OK && assay_partial_pack(b, rules, &y) == ASSAY_OK &&
                x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    if (!same)
        fprintf(stderr, "%s\ninstead of\n%s\n", ((pieces *)a->rule[0].state)->text, ((pieces *)b->rule[0].state)->text);
    assay_buf_release(&x);
    assay_buf_release(&y);
    return same;
}

static void check_split(uint64_t chunks, bool nodes)
{
    split s;
    assay_combiner c;
    assay_partial whole, expected = node_of(top_of(chunks), 0, chunks);
    assay_error err = {""};
    draw(&s, chunks);
    (void)assay_partial_init(&whole, RULES);
    assay_combiner_init(&c, rules, RULES, chunks);
    add_own(&c, &s, nodes);
    CU_ASSERT_EQUAL(assay_combiner_finish(comm, &s.plan, 1, &c, ASSAY_OK, &whole, &err), ASSAY_OK);
    CU_ASSERT(assay_comm_rank(comm) > 0 || same_bytes(&whole, &expected));
    CU_ASSERT(assay_comm_rank(comm) == 0 || !whole.rule[0].state);
    assay_combiner_release(&c);
    assay_partial_release(&whole, rules);
    assay_partial_release(&expected, rules);
    free(s.rank_chunk);
}

static void test_any_split(void)
{
    for (uint64_t chunks = 1; chunks <= MOST_CHUNKS; chunks++)
        for (int i = 0; i < SPLITS; i++)
            check_split(chunks, false);
}

/* A run that goes on from a checkpoint brings nodes of several chunks. */
static void test_nodes_of_a_checkpoint(void)
{
    for (uint64_t chunks = 1; chunks <= MOST_CHUNKS; chunks++)
        for (int i = 0; i < SPLITS; i++)
            check_split(chunks, true);
}

static void test_no_chunks(void)
{
    split s;
    assay_combiner c;
    assay_partial whole;
    assay_error err = {""};
    draw(&s, 0);
    (void)assay_partial_init(&whole, RULES);
    assay_combiner_init(&c, rules, RULES, 0);
    CU_ASSERT_EQUAL(assay_combiner_finish(comm, &s.plan, 1, &c, ASSAY_OK, &whole, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_combiner_finish(comm, &s.plan, 1, &c, ASSAY_EIO, &whole, &err), ASSAY_EIO);
    CU_ASSERT_PTR_NULL(whole.rule[0].state);
    assay_combiner_release(&c);
    assay_partial_release(&whole, rules);
    free(s.rank_chunk);
}

/* A rank that failed takes part, whichever it is, and nobody waits for it. */
static void test_failed_rank(void)
{
    for (int failing = 0; failing < assay_comm_size(comm); failing++) {
        split s;
        assay_combiner c;
        assay_partial whole;
        assay_error err = {""};
        draw(&s, 13);
        (void)assay_partial_init(&whole, RULES);
        assay_combiner_init(&c, rules, RULES, 13);
        add_own(&c, &s, false);
        int before = assay_comm_rank(comm) == failing ? ASSAY_EIO : ASSAY_OK;
        int status = assay_combiner_finish(comm, &s.plan, 1, &c, before, &whole, &err);
        CU_ASSERT(before == ASSAY_OK || status == before);
        CU_ASSERT_EQUAL(assay_comm_agree(comm, status, &err), ASSAY_EIO);
        assay_combiner_release(&c);
        assay_partial_release(&whole, rules);
        free(s.rank_chunk);
    }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"any split of the chunks", test_any_split},
                           {"nodes of a checkpoint", test_nodes_of_a_checkpoint},
                           {"no chunks", test_no_chunks},
                           {"a failed rank takes part", test_failed_rank},
                           CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, true, &comm, &err) != ASSAY_OK)
        return 2;
    int code = unit_main("combine", tests);
    assay_comm_close(comm);
    return code;
}
