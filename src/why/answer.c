/* answer.c - the answer in one paragraph: what, where and when, what followed, and where to go on. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "why/combine.h"

/* "3", "3 and 7", "16 to 23", "0 to 4, 6 and 7 (7 ranks)", "0, 2, 4, 6, 8, ... 22 (12 ranks)" */
static void put_ranks(const int64_t *rank, size_t count, assay_buf *out)
{
    enum { NAMED = 6 };
    size_t named = 0, runs = 0;
    assay_put_format(out, "rank%s ", assay_plural(count));
    for (size_t i = 0, end; i < count; i = end, named++) {
        for (end = i + 1; end < count && rank[end] == rank[end - 1] + 1; end++)
            continue;
        end = end - i < 3 ? i + 1 : end; /* two beside one another are told one by one */
        runs += end - i > 1;
        if (named == NAMED) {
            assay_put_format(out, ", ... %" PRId64, rank[count - 1]);
            break;
        }
        assay_put_format(out, i == 0 ? "%" PRId64 : end == count ? " and %" PRId64 : ", %" PRId64, rank[i]);
        if (end - i > 1)
            assay_put_format(out, " to %" PRId64, rank[end - 1]);
    }
    if (named == NAMED || (runs > 0 && named > 1))
        assay_put_format(out, " (%zu ranks)", count);
}

void why_put_subject(const why_link *link, assay_buf *out)
{
    const bool node = link->event->scope == ASSAY_LOG_NODE ||
                      (link->event->scope == ASSAY_LOG_JOB && link->rank.count == 0 && link->node.count > 0);
    if (node && link->node.count > 0) {
        assay_put_format(out, link->node.count > 1 ? "%zu nodes (first %s)" : "node ", link->node.count,
                         link->node.list[0]);
        if (link->node.count == 1)
            assay_put_bytes(out, link->node.list[0], strlen(link->node.list[0]));
        if (link->rank.count > 0) {
            assay_put_format(out, " (");
            put_ranks(link->rank.list, link->rank.count, out);
            assay_put_format(out, ")");
        }
        return;
    }
    if (link->rank.count > 0) {
        put_ranks(link->rank.list, link->rank.count, out);
        if (link->node.count == 1)
            assay_put_format(out, " on %s", link->node.list[0]);
        else if (link->node.count > 1)
            assay_put_format(out, " on %zu nodes", link->node.count);
        return;
    }
    if (link->event->scope == ASSAY_LOG_NODE)
        assay_put_format(out, "a node that the output does not name");
    else if (link->event->scope == ASSAY_LOG_JOB)
        assay_put_format(out, "the job");
    else
        assay_put_format(out, link->node.count == 1 ? "a process on %s" : "a process",
                         link->node.count == 1 ? link->node.list[0] : "");
}

/* What the subject did; of several ranks in the plural. */
void why_put_deed(const why_link *link, assay_buf *out)
{
    static const char *const words[][2] = {{"has ", "have "}, {"was ", "were "}};
    const bool several = link->rank.count > 1 && link->event->scope != ASSAY_LOG_NODE;
    const char *text = link->event->text;
    assay_put_u8(out, ' ');
    for (size_t i = 0; i < sizeof words / sizeof *words && several; i++)
        if (strncmp(text, words[i][0], strlen(words[i][0])) == 0) {
            assay_put_format(out, "%s", words[i][1]);
            text += strlen(words[i][0]);
            break;
        }
    const char *of = several ? strstr(text, " its ") : NULL, *message = strchr(text, ':'); /* which is not ours */
    if (of && (!message || of < message))
        assay_put_format(out, "%.*s their %s", (int)(of - text), text, of + 5);
    else
        assay_put_format(out, "%s", text);
}

bool why_put_time(const assay_log_event *e, assay_buf *out)
{
    if (e->timed == ASSAY_LOG_UNTIMED || isnan(e->time))
        return false;
    const double whole = floor(e->time), day = floor(whole / 86400), clock = whole - day * 86400;
    if (e->timed == ASSAY_LOG_DATED || e->timed == ASSAY_LOG_YEARLESS) {
        struct tm parts;
        const time_t seconds = (time_t)whole;
        if (!gmtime_r(&seconds, &parts))
            return false;
        if (e->timed == ASSAY_LOG_DATED)
            assay_put_format(out, "%04d-", parts.tm_year + 1900);
        assay_put_format(out, "%02d-%02d ", parts.tm_mon + 1, parts.tm_mday);
    }
    assay_put_format(out, "%02d:%02d:%02d", (int)(clock / 3600), (int)(clock / 60) % 60, (int)clock % 60);
    return true;
}

static void put_when(const assay_why *why, const why_link *link, assay_buf *out)
{
    assay_buf time = ASSAY_BUF(256);
    if (why_put_time(link->event, &time))
        assay_put_format(out, " %s %.*s", link->event->near ? "at or after" : "at", (int)time.size,
                         (const char *)time.data);
    assay_buf_release(&time);
    if (why->step >= 0)
        assay_put_format(out, ", step %" PRId64, why->step);
}

static size_t ranks_of(const why_link *link)
{
    return link->rank.count;
}

/* The consequence with most ranks; NULL. What ranks waited in says more than how they ended then. */
static const why_link *widest(const assay_why *why)
{
    const why_link *waited = NULL;
    const why_link *best = NULL;
    for (size_t i = 1; i < why->chain.count; i++) {
        const why_link *l = &why->chain.list[i];
        const bool says = l->event->ending != ASSAY_ENDING_launcher && l->event->ending != ASSAY_ENDING_signal;
        const bool names = best && l->event->code >= 0 && best->event->code < 0; /* the collective */
        if (says && (!best || ranks_of(l) > ranks_of(best) || (names && ranks_of(l) == ranks_of(best))))
            best = l;
        if (l->event->ending == ASSAY_ENDING_collective_timeout && l->event->code >= 0 &&
            (!waited || ranks_of(l) > ranks_of(waited)))
            waited = l;
    }
    return waited && 2 * ranks_of(waited) >= ranks_of(best) ? waited : best;
}

static void put_cause(const assay_why *why, assay_buf *out)
{
    const why_link *link = &why->chain.list[0];
    const assay_log_event *e = link->event;
    if (why->certainty == WHY_POSSIBLE)
        assay_put_format(out, "possibly ");
    if (why->certainty == WHY_LIKELY)
        assay_put_format(out, "probably ");
    if (e->ending == ASSAY_ENDING_collective_timeout && e->role == ASSAY_LOG_CONSEQUENCE) {
        if (e->signature == ASSAY_SIGNATURE_HANG) {
            assay_put_format(out, "%s", why->hang);
        } else if (link->rank.count > 0) {
            why_put_subject(link, out);
            assay_put_format(out, " did not come to a collective that others waited in until its timeout");
        } else {
            assay_put_format(out, "ranks waited in a collective until its timeout, and no output tells for whom");
        }
    } else {
        why_put_subject(link, out);
        why_put_deed(link, out);
        if (e->place)
            assay_put_format(out, " (%s)", e->place);
    }
    put_when(why, link, out);
}

/* What was wrong before, as the loss and the hardware have it. */
static void put_before(const assay_why *why, assay_buf *out)
{
    const why_note *course = why_first_fault(why, WHY_METRICS), *records = why_first_fault(why, WHY_RECORDS);
    const why_note *notes[] = {records ? records : course, why_first_fault(why, WHY_SYSTEM)};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i])
            assay_put_format(out, " Before (%s): %s.", why_kind_name(notes[i]->kind), notes[i]->text);
}

static void put_rest(const assay_why *why, assay_buf *out)
{
    const why_link *wide = widest(why);
    const why_link *cause = &why->chain.list[0];
    if (wide) {
        assay_put_format(out, "; then ");
        why_put_subject(wide, out);
        why_put_deed(wide, out);
        assay_buf time = ASSAY_BUF(256);
        if (why_put_time(wide->event, &time) && !wide->event->near)
            assay_put_format(out, " at %.*s", (int)time.size, (const char *)time.data);
        assay_buf_release(&time);
    }
    if (why->chain.count > 2 - !wide)
        assay_put_format(out, "%s%zu more thing%s followed", wide ? ", and " : "; ",
                         why->chain.count - 1 - (wide != NULL), assay_plural(why->chain.count - 1 - (wide != NULL)));
    assay_put_format(out, ".");
    put_before(why, out);
    if (why->resume)
        assay_put_format(out, " Resume from %s (%s).", why->resume, why->resume_state);
    const bool drain =
        cause->event->ending == ASSAY_ENDING_gpu_fault || cause->event->ending == ASSAY_ENDING_node_failure;
    if (drain && cause->node.count == 1 && why->certainty >= WHY_LIKELY &&
        !assay_signature_is_of_pod(cause->event->signature))
        assay_put_format(out, " Drain %s.", cause->node.list[0]);
}

static void put_healthy(const assay_why *why, assay_buf *out)
{
    if (why->outputs == 0) {
        assay_put_format(out, "no output of a job was found here: nothing can be said of how it ended.");
        return;
    }
    assay_put_format(out, "no failure found in %" PRIu64 " output%s", why->outputs, assay_plural(why->outputs));
    if (why->ranks_seen > 0)
        assay_put_format(out, " of %" PRIu64 " rank%s", why->ranks_seen, assay_plural(why->ranks_seen));
    if (why->last_step >= 0)
        assay_put_format(out, "; the last step named is %" PRId64, why->last_step);
    const assay_log_event *e = why->forgiven;
    if (e)
        assay_put_format(out, ". One that %.200s (%s:%" PRIu64 ") counts for none: %s", e->text,
                         why->places.list.list[e->file].path, e->line,
                         e->shown ? "it stands in what looks like a text that a model made"
                                  : "it was caught, and its output goes on");
    if (why->earlier)
        assay_put_format(out, ". An earlier run in the same output, which %s, counts for none", why->earlier);
    assay_put_format(out, ".");
    if (why->problem.count > 0) /* nobody shall take it for a pass */
        assay_put_format(out, " But not all of it could be read: %.300s%s.", why->problem.list[0],
                         why->problem.count > 1 ? ", and more below" : "");
}

int why_put_answer(assay_why *why)
{
    assay_buf out = ASSAY_BUF(1 << 20);
    if (!why->failed) {
        put_healthy(why, &out);
    } else if (!why->has_cause) {
        assay_put_format(&out, "the job failed (%s by %s), and no output says why.", why->facts.state, why->facts.file);
    } else if (why->certainty == WHY_UNKNOWN) {
        assay_put_format(&out, "why is not known: ");
        why_put_subject(&why->chain.list[0], &out);
        why_put_deed(&why->chain.list[0], &out);
        put_when(why, &why->chain.list[0], &out);
        put_rest(why, &out);
    } else {
        put_cause(why, &out);
        put_rest(why, &out);
    }
    assay_put_u8(&out, 0);
    why->answer = assay_buf_status(&out) == ASSAY_OK ? assay_copy_text((const char *)out.data) : NULL;
    assay_buf_release(&out);
    return why->answer ? ASSAY_OK : ASSAY_ENOMEM;
}
