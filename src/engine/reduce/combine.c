/* combine.c - see combine.h. */
#include "engine/reduce/combine.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void assay_combiner_init(assay_combiner *combiner, const assay_rule *rules, uint32_t rule_count, uint64_t chunks)
{
    *combiner = (assay_combiner){.rules = rules, .rule_count = rule_count, .chunks = chunks};
}

void assay_combiner_release(assay_combiner *combiner)
{
    for (size_t i = 0; i < combiner->count; i++)
        assay_partial_release(&combiner->held[i].partial, combiner->rules);
    free(combiner->held);
    *combiner = (assay_combiner){0};
}

/* Joins held[at + 1], the right sibling, into held[at]; the pair becomes its parent. */
static int join_siblings(assay_combiner *combiner, size_t at)
{
    assay_combiner_node *left = &combiner->held[at], *right = left + 1;
    int status = assay_partial_combine(&left->partial, &right->partial, combiner->rules);
    assay_partial_release(&right->partial, combiner->rules);
    memmove(right, right + 1, (combiner->count - at - 2) * sizeof *right);
    combiner->count--;
    left->level++;
    left->index /= 2;
    return status;
}

static bool are_siblings(const assay_combiner_node *left, const assay_combiner_node *right)
{
    return left->level == right->level && left->index % 2 == 0 && right->index == left->index + 1;
}

int assay_combiner_add_node(assay_combiner *combiner, unsigned level, uint64_t index, assay_partial *partial)
{
    ASSAY_HAVE(assay_vec_reserve(&combiner->held, &combiner->room, combiner->count + 1, sizeof *combiner->held));
    combiner->held[combiner->count++] = (assay_combiner_node){.level = level, .index = index, .partial = *partial};
    *partial = (assay_partial){0};
    int status = ASSAY_OK;
    while (status == ASSAY_OK && combiner->count >= 2 &&
           are_siblings(&combiner->held[combiner->count - 2], &combiner->held[combiner->count - 1]))
        status = join_siblings(combiner, combiner->count - 2);
    return status;
}

int assay_combiner_add(assay_combiner *combiner, uint64_t chunk, assay_partial *partial)
{
    return assay_combiner_add_node(combiner, 0, chunk, partial);
}

static int send_node(assay_comm *comm, assay_combiner *combiner, const assay_partial *partial, int to, int status)
{
    assay_buf out = ASSAY_BUF(SIZE_MAX);
    ASSAY_THEN(status, assay_partial_pack(partial, combiner->rules, &out));
    if (status != ASSAY_OK)
        assay_buf_clear(&out);
    int sent = assay_comm_send(comm, to, &out);
    assay_buf_release(&out);
    return status == ASSAY_OK ? sent : status;
}

/* Receives a node into *partial (initialised). One that its rank could not pack comes empty: that rank reports the
 * failure. */
static int receive_node(assay_comm *comm, assay_combiner *combiner, int from, assay_partial *partial, assay_error *err)
{
    assay_buf in = ASSAY_BUF(SIZE_MAX);
    int status = assay_comm_receive(comm, from, &in);
    status = status == ASSAY_OK ? assay_buf_status(&in) : status;
    if (status == ASSAY_OK && in.size > 0) {
        assay_cursor cursor = assay_cursor_over(in.data, in.size);
        status = assay_partial_unpack(&cursor, partial, combiner->rules, err);
    }
    assay_buf_release(&in);
    return status;
}

static int owner_of(const assay_comm *comm, const assay_plan *plan, uint32_t source, unsigned level, uint64_t index)
{
    return assay_plan_owner(plan, assay_comm_size(comm), plan->sources[source].first_chunk + (index << level));
}

/* Receives the right sibling of held[at] and joins it. */
static int join_from(assay_comm *comm, assay_combiner *combiner, size_t at, int from, int status, assay_error *err)
{
    assay_partial right;
    int made = assay_partial_init(&right, combiner->rule_count);
    if (made != ASSAY_OK) { /* the message is taken all the same, or its sender would wait */
        assay_buf lost = ASSAY_BUF(0);
        (void)assay_comm_receive(comm, from, &lost);
        assay_buf_release(&lost);
        return made;
    }
    int rc = receive_node(comm, combiner, from, &right, err);
    if (status == ASSAY_OK && rc == ASSAY_OK)
        rc = assay_partial_combine(&combiner->held[at].partial, &right, combiner->rules);
    assay_partial_release(&right, combiner->rules);
    combiner->held[at].level++;
    combiner->held[at].index /= 2;
    return status == ASSAY_OK ? rc : status;
}

/* One level: every held node of it is joined with its sibling, sent to it, or moves up alone. Ranks send to lower ranks
 * only and in the same order of levels, so no two wait for each other. */
static int climb(assay_comm *comm, const assay_plan *plan, uint32_t source, assay_combiner *combiner, unsigned level,
                 int status, assay_error *err)
{
    uint64_t nodes = ((combiner->chunks - 1) >> level) + 1;
    int rank = assay_comm_rank(comm);
    for (size_t at = 0; at < combiner->count; at++) {
        assay_combiner_node *held = &combiner->held[at];
        if (held->level != level)
            continue;
        if (held->index % 2 == 1) {
            status =
                send_node(comm, combiner, &held->partial, owner_of(comm, plan, source, level, held->index - 1), status);
            assay_partial_release(&held->partial, combiner->rules);
            memmove(held, held + 1, (combiner->count - at - 1) * sizeof *held);
            combiner->count--;
            at--;
        } else if (held->index + 1 == nodes) {
            held->level++;
            held->index /= 2;
        } else {
            int from = owner_of(comm, plan, source, level, held->index + 1);
            if (from != rank) {
                status = join_from(comm, combiner, at, from, status, err);
            } else {
                int rc = join_siblings(combiner, at);
                status = status == ASSAY_OK ? rc : status;
            }
        }
    }
    return status;
}

int assay_combiner_finish(assay_comm *comm, const assay_plan *plan, uint32_t source, assay_combiner *combiner,
                          int status, assay_partial *whole, assay_error *err)
{
    if (combiner->chunks == 0)
        return status;
    unsigned top = 0;
    while (((combiner->chunks - 1) >> top) > 0)
        top++;
    for (unsigned level = 0; level < top; level++)
        status = climb(comm, plan, source, combiner, level, status, err);
    int from = owner_of(comm, plan, source, 0, 0), rank = assay_comm_rank(comm);
    if (rank == from && rank > 0)
        status = send_node(comm, combiner, &combiner->held[0].partial, 0, status);
    if (rank == 0 && from > 0) {
        int rc = receive_node(comm, combiner, from, whole, err);
        status = status == ASSAY_OK ? rc : status;
    } else if (rank == 0) {
        assay_partial_release(whole, combiner->rules);
        *whole = combiner->held[0].partial;
        combiner->count = 0;
    }
    return status;
}
