/* test_redistribute.c - index entries go to the ranks that have their chunks, with what look-back and comparisons need.
 * Runs on any number of ranks; every rank draws the same trials and plans and knows the whole index. */
#include <stdlib.h>
#include <string.h>

#include "engine/plan/plan.h"
#include "random.h"
#include "trial/shard.h"
#include "unit.h"

enum { SOURCES = 2, STEPS = 24, WORKERS = 3, TENSORS = 4, CHUNKS = SOURCES * STEPS, ROUNDS = 60 };

static assay_comm *comm;
static uint64_t state = 1;

typedef struct drawn {
    assay_shard all[SOURCES]; /* the whole index */
    assay_trial info[SOURCES];
    assay_step_info steps[SOURCES][STEPS];
    assay_source list[SOURCES];
    assay_sources sources;
    uint8_t looks_back[SOURCES][TENSORS];
    assay_source_plan of[SOURCES];
    assay_chunk chunks[CHUNKS];
    uint64_t *rank_chunk, *helps;
    assay_pair pair;
    assay_plan plan;
} drawn;

static void add_part(assay_shard *s, const assay_step_info *at, uint32_t worker)
{
    CU_ASSERT_EQUAL(assay_shard_reserve(s, 1, 2 * TENSORS, 0), ASSAY_OK);
    assay_part part = {.step = at->step, .mode_step = at->mode_step, .worker = worker, .mode = (uint8_t)at->mode};
    part.first = (uint32_t)s->entry_count;
    for (uint32_t t = 0; t < TENSORS; t++)
        for (int kind = 0; kind < 2; kind++)
            if (random_below(&state, 4) > 0)
                s->entries[part.first + part.count++] =
                    (assay_entry){.offset = part.count * 100U + random_below(&state, 50),
                                  .length = 50,
                                  .tensor = t,
                                  .kind = kind ? ASSAY_MEAN : ASSAY_RAW};
    s->entry_count += part.count;
    s->parts[s->count++] = part;
}

/* Two modes, gaps between steps, workers that miss some. */
static void draw_trial(drawn *d, uint32_t source)
{
    static const int MODES[] = {ASSAY_MODE_TRAIN, ASSAY_MODE_TRAIN, ASSAY_MODE_EVAL};
    int64_t step = random_below(&state, 10), mode_steps[ASSAY_MODES] = {0};
    assay_shard_init(&d->all[source]);
    for (int i = 0; i < STEPS; i++) {
        int mode = MODES[random_below(&state, 3)];
        step += 1 + random_below(&state, 3);
        mode_steps[mode] += 1 + random_below(&state, 2);
        d->steps[source][i] = (assay_step_info){.step = step, .mode_step = mode_steps[mode], .mode = mode};
        for (uint32_t w = 0; w < WORKERS; w++)
            if (random_below(&state, 6) > 0)
                add_part(&d->all[source], &d->steps[source][i], w);
    }
    d->info[source] = (assay_trial){.steps = d->steps[source], .step_count = STEPS, .tensors = assay_dict_new()};
    for (uint32_t t = 0; t < TENSORS; t++)
        assay_dict_add(d->info[source].tensors, &"abcd"[t], 1);
}

/* A copy of the parts [first, first + count) behind `to`. */
static void append(assay_shard *to, const assay_shard *from, size_t first, size_t count)
{
    assay_buf bytes;
    assay_error err;
    assay_buf_init(&bytes, SIZE_MAX);
    assay_shard_pack(from, first, count, &bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    CU_ASSERT_EQUAL(assay_shard_unpack(&in, to, &err), ASSAY_OK);
    assay_buf_release(&bytes);
}

static void draw_chunks(drawn *d, uint32_t source)
{
    assay_source_plan *of = &d->of[source];
    *of = (assay_source_plan){.first_chunk = d->plan.chunk_count};
    for (uint64_t at = 0; at < STEPS; of->chunks++) {
        uint64_t steps = 1 + random_below(&state, 5);
        steps = steps < STEPS - at ? steps : STEPS - at;
        d->chunks[d->plan.chunk_count++] = (assay_chunk){.source = source, .first_step = at, .steps = steps};
        at += steps;
    }
    if (random_below(&state, 4) == 0)
        return; /* no rule looks back in it */
    of->looks_back = d->looks_back[source];
    for (int t = 0; t < TENSORS; t++)
        of->looks_back[t] = random_below(&state, 2) > 0;
    of->back = random_below(&state, 3);
    of->window = random_below(&state, 2) * random_below(&state, 8);
}

/* Any ranks have any chunks, in order. A rank may help with the last step of the rank before, and the next one, too,
 * when that one has no chunks of its own. */
static void draw_ranks(drawn *d)
{
    const int ranks = assay_comm_size(comm);
    d->rank_chunk = calloc((size_t)ranks + 1, sizeof *d->rank_chunk);
    d->helps = malloc((size_t)ranks * sizeof *d->helps);
    for (int r = 1; r < ranks; r++) {
        uint64_t left = d->plan.chunk_count - d->rank_chunk[r - 1];
        d->rank_chunk[r] =
            d->rank_chunk[r - 1] + random_below(&state, (uint32_t)left + 1) / (1 + random_below(&state, 3));
    }
    d->rank_chunk[ranks] = d->plan.chunk_count;
    d->helps[0] = ASSAY_NO_CHUNK;
    for (int r = 1; r < ranks; r++) {
        bool before_works = d->rank_chunk[r] > d->rank_chunk[r - 1];
        bool helps = (before_works || d->helps[r - 1] != ASSAY_NO_CHUNK) && random_below(&state, 2);
        d->helps[r] = helps ? d->rank_chunk[r] - 1 : ASSAY_NO_CHUNK;
    }
    d->plan.rank_chunk = d->rank_chunk;
    d->plan.helps = d->helps;
}

static void draw(drawn *d)
{
    const int rank = assay_comm_rank(comm), ranks = assay_comm_size(comm);
    memset(d, 0, sizeof *d);
    d->plan = (assay_plan){.sources = d->of, .source_count = SOURCES, .chunks = d->chunks};
    for (uint32_t s = 0; s < SOURCES; s++) {
        draw_trial(d, s);
        draw_chunks(d, s);
        size_t count = d->all[s].count, first = count * (size_t)rank / (size_t)ranks;
        d->list[s].info = &d->info[s];
        assay_shard_init(&d->list[s].shard);
        append(&d->list[s].shard, &d->all[s], first, count * ((size_t)rank + 1) / (size_t)ranks - first);
    }
    draw_ranks(d);
    d->sources = (assay_sources){.list = d->list, .count = SOURCES, .job_trials = SOURCES};
    d->pair = (assay_pair){.source = 1, .other = 0};
    assay_shard_init(&d->pair.shard);
    d->plan.pairs = &d->pair;
    d->plan.pair_count = random_below(&state, 2);
}

static void release(drawn *d)
{
    for (uint32_t s = 0; s < SOURCES; s++) {
        assay_shard_release(&d->all[s]);
        assay_shard_release(&d->list[s].shard);
        assay_dict_free(d->info[s].tensors);
    }
    assay_shard_release(&d->pair.shard);
    free(d->rank_chunk);
    free(d->helps);
}

/* Does this rank work on the step at a position of a source: in a chunk of its own, or as a helper? */
static bool works_on(const drawn *d, uint32_t source, uint64_t position)
{
    const int rank = assay_comm_rank(comm);
    for (uint64_t c = d->of[source].first_chunk; c < d->of[source].first_chunk + d->of[source].chunks; c++) {
        const assay_chunk *chunk = &d->chunks[c];
        bool last = position + 1 == chunk->first_step + chunk->steps;
        if (position < chunk->first_step || position >= chunk->first_step + chunk->steps)
            continue;
        return (c >= d->rank_chunk[rank] && c < d->rank_chunk[rank + 1]) || (last && d->helps[rank] == c);
    }
    return false;
}

static uint64_t position_of(const drawn *d, uint32_t source, int64_t step)
{
    for (uint64_t i = 0; i < STEPS; i++)
        if (d->steps[source][i].step == step)
            return i;
    return UINT64_MAX;
}

static bool same_parts(const assay_shard *a, const assay_shard *b)
{
    assay_buf x, y;
    assay_buf_init(&x, SIZE_MAX);
    assay_buf_init(&y, SIZE_MAX);
    assay_shard_pack(a, 0, a->count, &x);
    assay_shard_pack(b, 0, b->count, &y);
    bool same = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    assay_buf_release(&x);
    assay_buf_release(&y);
    return same;
}

/* The parts of the steps that this rank works on are there, whole, and in order. */
static void check_own(const drawn *d, uint32_t source, uint32_t steps_of, const assay_shard *got)
{
    assay_shard expected, own;
    size_t before = 0;
    assay_shard_init(&expected);
    assay_shard_init(&own);
    for (size_t p = 0; p < d->all[source].count; p++) {
        uint64_t position = position_of(d, steps_of, d->all[source].parts[p].step);
        if (position != UINT64_MAX && works_on(d, steps_of, position))
            append(&expected, &d->all[source], p, 1);
    }
    while (before < got->count && got->parts[before].before)
        before++;
    append(&own, got, before, got->count - before);
    CU_ASSERT(same_parts(&own, &expected));
    assay_shard_release(&expected);
    assay_shard_release(&own);
}

static bool holds(const assay_shard *s, int64_t step, uint32_t worker, uint32_t tensor, uint64_t offset)
{
    for (size_t p = 0; p < s->count; p++) {
        const assay_part *part = &s->parts[p];
        const assay_entry *raw = part->step == step && part->worker == worker ? assay_part_raw(s, part, tensor) : NULL;
        if (raw)
            return raw->offset == offset;
    }
    return false;
}

/* Of a tensor of a worker, what a reference from `at` may go back to: the last `back` records, those of TRAIN steps,
 * and those within the window, by global steps and by TRAIN steps. */
static bool check_reach(const drawn *d, uint32_t source, uint64_t at, uint32_t worker, uint32_t tensor)
{
    const assay_source_plan *of = &d->of[source];
    const assay_shard *all = &d->all[source];
    const assay_step_info *here = &d->steps[source][at];
    uint32_t seen = 0, seen_train = 0;
    for (size_t p = assay_shard_find(all, here->step); p-- > 0;) {
        const assay_part *part = &all->parts[p];
        const assay_entry *raw = part->worker == worker ? assay_part_raw(all, part, tensor) : NULL;
        if (!raw)
            continue;
        bool train = part->mode == ASSAY_MODE_TRAIN, in_window = false;
        if (of->window)
            in_window = part->step >= here->step - of->window ||
                        (train && here->mode == ASSAY_MODE_TRAIN && part->mode_step >= here->mode_step - of->window);
        bool reached = seen < of->back || (train && seen_train < of->back) || in_window;
        seen++;
        seen_train += train;
        if (reached && !holds(&d->list[source].shard, part->step, worker, tensor, raw->offset))
            return false;
    }
    return true;
}

static void check_before(const drawn *d, uint32_t source)
{
    const assay_source_plan *of = &d->of[source];
    const assay_shard *got = &d->list[source].shard;
    bool reached = true, wanted = true, ordered = true;
    for (uint64_t at = 0; of->looks_back && at < STEPS; at++)
        for (uint32_t w = 0; w < WORKERS && works_on(d, source, at); w++)
            for (uint32_t t = 0; t < TENSORS; t++)
                reached &= !of->looks_back[t] || check_reach(d, source, at, w, t);
    for (size_t p = 0; p < got->count && got->parts[p].before; p++) {
        const assay_part *part = &got->parts[p];
        wanted &= of->looks_back && !works_on(d, source, position_of(d, source, part->step));
        for (uint32_t e = 0; wanted && e < part->count; e++)
            wanted &=
                got->entries[part->first + e].kind == ASSAY_RAW && of->looks_back[got->entries[part->first + e].tensor];
    }
    for (size_t p = 1; p < got->count; p++)
        ordered &= got->parts[p - 1].step < got->parts[p].step ||
                   (got->parts[p - 1].step == got->parts[p].step && got->parts[p - 1].worker < got->parts[p].worker);
    CU_ASSERT(reached);
    CU_ASSERT(wanted);
    CU_ASSERT(ordered);
}

static void test_any_plan(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        drawn *d = malloc(sizeof *d);
        assay_error err = {""};
        draw(d);
        CU_ASSERT_EQUAL(assay_plan_redistribute(comm, &d->plan, &d->sources, &err), ASSAY_OK);
        for (uint32_t s = 0; s < SOURCES; s++) {
            check_own(d, s, s, &d->list[s].shard);
            check_before(d, s);
        }
        if (d->plan.pair_count > 0) /* the other trial's, at the steps of the comparing one */
            check_own(d, 0, 1, &d->pair.shard);
        release(d);
        free(d);
    }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"any plan", test_any_plan}, CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, true, &comm, &err) != ASSAY_OK)
        return 2;
    int code = unit_main("redistribution of the index", tests);
    assay_comm_close(comm);
    return code;
}
