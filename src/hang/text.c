/* text.c - sentences about causes and mismatches, and findings in JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/json_writer.h"
#include "hang/internal.h"

/* A job of thousands of ranks names so many in a sentence; JSON has all. Only of an operation that an earlier cause
 * lists in full JSON repeats no more than REPEATED: of n causes with n ranks each that would be n squared. */
enum { RANKS_NAMED = 8, REPEATED = 64 };

const char *assay_hang_test_name(assay_hang_test test)
{
    static const char *const names[] = {"absent", "ahead", "behind", "compute", "deadlock",
                                        "device", "group", "launch", "mismatch"};
    return test < ASSAY_HANG_TESTS ? names[test] : "";
}

const char *assay_hang_remedy(assay_hang_test test)
{
    static const char program[] = "Compare the program of this rank with that of the others at the operation named: a "
                                  "branch, an exception or another shape of data makes ranks call different things.";
    static const char network[] =
        "Set TORCH_NCCL_ENABLE_TIMING=1 for the next run, and look at the network card and the "
        "links of these ranks.";
    static const char *const remedies[] = {
        [ASSAY_HANG_ABSENT] = "Read this rank's own log: it most likely raised or was killed before it wrote a dump.",
        [ASSAY_HANG_AHEAD] = program,
        [ASSAY_HANG_BEHIND] = "Look at this rank's host: py-spy dump of the process, its data loader, its node.",
        [ASSAY_HANG_COMPUTE] = network,
        [ASSAY_HANG_DEADLOCK] = program,
        [ASSAY_HANG_DEVICE] = "Replace the GPU; look for Xid in the kernel log of its node.",
        [ASSAY_HANG_GROUP] = network,
        [ASSAY_HANG_LAUNCH] = network,
        [ASSAY_HANG_MISMATCH] = program};
    return test < ASSAY_HANG_TESTS ? remedies[test] : "";
}

const char *hang_keep_text(hang_world *w, assay_buf *text)
{
    assay_put_u8(text, 0);
    char *kept = assay_buf_status(text) == ASSAY_OK ? hang_take(w, text->size, 1) : NULL;
    w->no_memory = w->no_memory || !kept;
    if (kept)
        memcpy(kept, text->data, text->size);
    assay_buf_release(text);
    return kept ? kept : "";
}

/* ---- words ---- */

static void put_numbers(const assay_hang_ranks *ranks, assay_buf *out)
{
    for (size_t i = 0; i < ranks->count && i < RANKS_NAMED; i++)
        assay_put_format(out, "%s%" PRId64, i ? ", " : "", ranks->rank[i]);
    if (ranks->count > RANKS_NAMED)
        assay_put_format(out, ", ... %" PRId64, ranks->rank[ranks->count - 1]);
}

void hang_put_ranks(const assay_hang_ranks *ranks, assay_buf *out)
{
    assay_put_format(out, "rank%s ", assay_plural(ranks->count));
    if (ranks->count == 2)
        assay_put_format(out, "%" PRId64 " and %" PRId64, ranks->rank[0], ranks->rank[1]);
    else
        put_numbers(ranks, out);
}

/* "all_reduce number 130 of TENSOR_MODEL_PARALLEL_GROUP [12, 13]" */
static void put_operation(const assay_hang_operation *o, assay_buf *out)
{
    const char *name = o->description && o->description[0] ? o->description : o->group;
    assay_put_format(out, "%s number %" PRId64 " of %s [", o->operation ? o->operation : "", o->number, name);
    put_numbers(&o->members, out);
    assay_put_format(out, "]");
    if (o->members.count > RANKS_NAMED)
        assay_put_format(out, " (%zu ranks)", o->members.count);
}

static void put_waiters(const assay_hang_cause *c, assay_buf *out)
{
    if (c->waiters == 0)
        return;
    assay_put_format(out, "; ");
    if (c->waiters > c->waited_for_by.count)
        assay_put_format(out, "%zu ranks", c->waiters);
    else
        hang_put_ranks(&c->waited_for_by, out);
    assay_put_format(out, " wait%s for it", c->waiters == 1 ? "s" : "");
    if (c->waiting > c->waiters)
        assay_put_format(out, ", and with %s %" PRIu64 " other%s", c->waiters == 1 ? "it" : "them",
                         c->waiting - c->waiters, assay_plural(c->waiting - c->waiters));
}

static void put_last_seen(const assay_hang_cause *c, assay_buf *out)
{
    if (!c->last.operation)
        return;
    const char *name = c->last.description && c->last.description[0] ? c->last.description : c->last.group;
    assay_put_format(out, "; it was last seen at %s number %" PRId64 " of %s", c->last.operation, c->last.number, name);
}

/* ---- causes ---- */

static void put_cause(const assay_hang_cause *c, assay_buf *out)
{
    const assay_hang_operation *o = &c->operation;
    switch (c->test) {
    case ASSAY_HANG_ABSENT:
        assay_put_format(out, "rank %" PRId64 " left no dump, and others need it in ", c->rank);
        put_operation(o, out);
        break;
    case ASSAY_HANG_AHEAD:
        assay_put_format(out, "rank %" PRId64 " has called ", c->rank);
        put_operation(o, out);
        assay_put_format(out, ", which the others have not called and nobody else waits for");
        break;
    case ASSAY_HANG_BEHIND:
        assay_put_format(out, "rank %" PRId64 " has not called ", c->rank);
        if (o->p2p)
            assay_put_format(out, "the other half of ");
        put_operation(o, out);
        break;
    case ASSAY_HANG_COMPUTE:
        assay_put_format(out, "the device of rank %" PRId64 " has not started ", c->rank);
        put_operation(o, out);
        assay_put_format(out, ", which it has called, and others have started: it is held up before that");
        break;
    case ASSAY_HANG_DEADLOCK:
        assay_put_format(out,
                         "rank %" PRId64 " and others wait for each other: it does not agree with them about the "
                         "order of operations at ",
                         c->rank);
        put_operation(o, out);
        break;
    case ASSAY_HANG_DEVICE:
        assay_put_format(out, "the device of rank %" PRId64 " stopped: it has not finished ", c->rank);
        put_operation(o, out);
        if (c->finished_by >= 0)
            assay_put_format(out, ", though rank %" PRId64 " has finished number %" PRId64, c->finished_by,
                             c->finished_number);
        else
            assay_put_format(out, ", which all others have finished");
        break;
    case ASSAY_HANG_GROUP:
        put_operation(o, out);
        assay_put_format(out, " does not end on ");
        hang_put_ranks(&c->members, out);
        assay_put_format(out, ", though all have called it: the dumps name no culprit");
        break;
    case ASSAY_HANG_LAUNCH:
        assay_put_format(out, "rank %" PRId64 " is inside its call of ", c->rank);
        put_operation(o, out);
        assay_put_format(out, ": it has recorded the operation, and the call has not returned");
        break;
    case ASSAY_HANG_MISMATCH:
        assay_put_format(out, "rank %" PRId64 " calls something else than the others as ", c->rank);
        put_operation(o, out);
        break;
    case ASSAY_HANG_TESTS:
        break;
    }
    if (c->test != ASSAY_HANG_AHEAD)
        put_waiters(c, out);
    if (c->test == ASSAY_HANG_BEHIND)
        put_last_seen(c, out);
}

const char *hang_cause_text(hang_world *w, const assay_hang_cause *cause, const assay_hang_ranks *all,
                            const assay_hang *few)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    if (few) {
        assay_put_format(&text,
                         "only %zu of %zu ranks left a dump that can be used: whether the others stopped, or their "
                         "dumps lie elsewhere, is not known; ",
                         few->ranks.count, few->ranks.count + few->no_file.count);
    } else if (all) {
        hang_put_ranks(all, &text);
        assay_put_format(&text, " hold up the training; ");
    }
    put_cause(cause, &text);
    return hang_keep_text(w, &text);
}

/* ---- mismatches ---- */

static void put_sizes(const int64_t *size, uint32_t count, assay_buf *out)
{
    enum { TENSORS = 4 };
    uint32_t tensors = 0;
    for (uint32_t i = 0; i < count; tensors++) {
        const int64_t dimensions = size[i++];
        if (tensors >= TENSORS) {
            assay_put_format(out, " ...");
            return;
        }
        assay_put_format(out, "%s[", tensors ? " " : "");
        for (int64_t k = 0; k < dimensions && i < count; k++, i++)
            assay_put_format(out, "%s%" PRId64, k ? ", " : "", size[i]);
        assay_put_format(out, "]");
    }
}

const char *hang_signature_text(hang_world *w, const hang_signature *s)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    for (uint32_t i = 0; i < s->of->parts; i++) {
        const assay_flight_part *part = &s->of->part[i];
        const uint32_t inputs = part->inputs < part->size_count ? part->inputs : part->size_count;
        assay_put_format(&text, "%s%s ", i ? ", " : "", part->name ? part->name : "");
        put_sizes(part->sizes, inputs, &text);
        assay_put_format(&text, " %s -> ", part->input_types ? part->input_types : "");
        put_sizes(part->sizes + inputs, part->size_count - inputs, &text);
        assay_put_format(&text, " %s", part->output_types ? part->output_types : "");
    }
    return hang_keep_text(w, &text);
}

const char *hang_mismatch_text(hang_world *w, const assay_hang_mismatch *m)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    if (strcmp(m->kind, "total") == 0) {
        assay_put_format(&text, "the ranks of ");
        put_operation(&m->operation, &text);
        assay_put_format(&text, " put in another number of elements than they expect to get");
    } else {
        hang_put_ranks(&m->named, &text);
        assay_put_format(&text, " call%s ", m->named.count == 1 ? "s" : "");
        put_operation(&m->operation, &text);
        assay_put_format(&text, " with another %s than the others: %s; others: %s", m->kind, m->theirs, m->others);
    }
    return hang_keep_text(w, &text);
}

/* ---- findings in JSON ---- */

static void put_list(assay_jw *w, const char *key, const assay_hang_ranks *ranks)
{
    assay_jw_array(w, key);
    for (size_t i = 0; i < ranks->count; i++)
        assay_jw_i64(w, NULL, ranks->rank[i]);
    assay_jw_end(w);
}

/* The ranks of an operation, of one that an earlier cause lists in full the first. */
static void put_operation_ranks(assay_jw *w, const char *key, const assay_hang_operation *o,
                                const assay_hang_ranks *ranks)
{
    const bool some = o->repeated && ranks->count > REPEATED;
    put_list(w, key, &(assay_hang_ranks){ranks->rank, some ? REPEATED : ranks->count});
}

/* The parts of a text as a list. NULL: none. */
static void put_parts(assay_jw *w, const char *key, const char *text, char between)
{
    assay_jw_array(w, key);
    for (const char *p = text ? text : "", *end; *p; p = *end ? end + 1 : end) {
        end = strchr(p, between);
        end = end ? end : p + strlen(p);
        assay_jw_text_n(w, NULL, p, (size_t)(end - p));
    }
    assay_jw_end(w);
}

static void put_tensors(assay_jw *w, const char *key, const int64_t *size, size_t count)
{
    assay_jw_array(w, key);
    for (size_t i = 0; i < count;) {
        const int64_t dimensions = size[i++];
        assay_jw_array(w, NULL);
        for (int64_t k = 0; k < dimensions && i < count; k++, i++)
            assay_jw_i64(w, NULL, size[i]);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_evidence(assay_jw *w, const assay_hang_operation *o)
{
    assay_jw_object(w, "evidence");
    if (o->operation) {
        assay_jw_text(w, "group", o->group);
        assay_jw_text(w, "desc", o->description);
        put_operation_ranks(w, "ranks", o, &o->members);
        if (o->repeated && o->members.count > REPEATED)
            assay_jw_u64(w, "ranks_total", o->members.count);
        assay_jw_i64(w, "seq", o->number);
        assay_jw_text(w, "operation", o->operation);
        if (o->p2p) {
            assay_jw_bool(w, "p2p", true);
        } else {
            put_operation_ranks(w, "arrived", o, &o->arrived);
            put_operation_ranks(w, "not_arrived", o, &o->not_arrived);
            put_operation_ranks(w, "finished", o, &o->finished);
            put_operation_ranks(w, "no_file", o, &o->no_file);
        }
        put_tensors(w, "input_sizes", o->input_sizes, o->input_count);
        put_tensors(w, "output_sizes", o->output_sizes, o->output_count);
        put_parts(w, "dtypes", o->dtypes, ',');
        put_parts(w, "frames", o->frames, '\n');
    }
}

void assay_hang_put_cause(const assay_hang_cause *c, assay_buf *out)
{
    assay_jw w = assay_jw_members_of(out, true);
    if (c->rank < 0)
        put_list(&w, "members", &c->members);
    assay_jw_u64(&w, "waiting", c->waiting);
    assay_jw_u64(&w, "waiters", c->waiters);
    put_list(&w, "waited_for_by", &c->waited_for_by);
    if (c->last.operation) {
        assay_jw_object(&w, "last_seen");
        assay_jw_text(&w, "group", c->last.group);
        assay_jw_text(&w, "desc", c->last.description);
        assay_jw_i64(&w, "number", c->last.number);
        assay_jw_text(&w, "operation", c->last.operation);
        assay_jw_text(&w, "state", c->last.state);
        put_parts(&w, "frames", c->last.frames, '\n');
        assay_jw_end(&w);
    } else {
        assay_jw_null(&w, "last_seen");
    }
    if (c->test == ASSAY_HANG_GROUP)
        put_list(&w, "hosts_behind", &c->behind);
    put_evidence(&w, &c->operation);
    if (c->finished_by >= 0) {
        assay_jw_object(&w, "finished_by");
        assay_jw_i64(&w, "rank", c->finished_by);
        assay_jw_i64(&w, "seq", c->finished_number);
        assay_jw_end(&w);
    }
    assay_jw_end(&w);
    assay_jw_text(&w, "remedy", assay_hang_remedy(c->test));
}

void assay_hang_put_mismatch(const assay_hang_mismatch *m, assay_buf *out)
{
    assay_jw w = assay_jw_members_of(out, true);
    put_list(&w, "ranks", &m->named);
    put_evidence(&w, &m->operation);
    assay_jw_text(&w, "signature", m->theirs);
    assay_jw_text(&w, "others", m->others);
    assay_jw_end(&w);
}
