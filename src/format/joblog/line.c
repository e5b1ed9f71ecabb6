/* line.c - a line that is looked at: cleaned, and parted from what stands in front. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "format/joblog/joblog.h"

/* Where "[rank3]:" stands that begins a line of its own behind a progress bar, which ends no line; 0: nowhere. */
static size_t begin_of_torn(const char *line, size_t length)
{
    static const char word[] = "[rank";
    const char *at = joblog_find(line, length, word);
    size_t end = at ? (size_t)(at - line) + sizeof word - 1 : 0;
    while (end > 0 && end < length && assay_is_digit(line[end]))
        end++;
    const bool whole =
        end > 0 && assay_is_digit(line[end - 1]) && end + 1 < length && line[end] == ']' && line[end + 1] == ':';
    return whole ? (size_t)(at - line) : 0;
}

void joblog_line_clean(const joblog_reader *r, size_t from, size_t to, bool plain, joblog_line *out)
{
    const size_t size = to - from < JOBLOG_LINE_MOST ? to - from : JOBLOG_LINE_MOST;
    out->text = plain ? r->bytes + from : r->clean;
    out->length = plain                                           ? to - from
                  : joblog_is_wrapped(r->bytes + from, to - from) ? joblog_unwrap(r->bytes + from, size, r->clean)
                                                                  : joblog_clean(r->bytes + from, size, r->clean);
    out->at = r->base + from;
    out->number = r->line;
    out->place = from;
}

bool joblog_process_add(joblog_reader *r, int64_t pid, const char *node, int64_t rank)
{
    joblog_process *added = ASSAY_VEC_ADD(&r->process);
    if (added) {
        *added = (joblog_process){.pid = pid, .rank = rank};
        snprintf(added->node, sizeof added->node, "%s", node);
    }
    return added;
}

/* The rank of a process, the last that was started so; -1. */
static int64_t rank_of_process(const joblog_reader *r, const joblog_prefix *p)
{
    for (size_t i = r->process.count; i-- > 0;) {
        const joblog_process *one = &r->process.list[i];
        if (one->pid == p->pid && (!p->node[0] || strcmp(one->node, p->node) == 0))
            return one->rank;
    }
    return -1;
}

/* The prefix behind what a traceback showed to stand in front of lines; false: the line begins otherwise. */
static bool part_behind_front(const joblog_reader *r, joblog_line *out)
{
    joblog_prefix front;
    const size_t size = joblog_front_read(r, out->text, out->length, &front);
    if (size == 0)
        return false;
    joblog_prefix *p = &out->prefix;
    joblog_prefix_of(out->text + size, out->length - size, r->per_node, p);
    p->rank = p->rank < 0 ? front.rank : p->rank;
    p->local_rank = p->local_rank < 0 ? front.local_rank : p->local_rank;
    if (p->timed == ASSAY_LOG_UNTIMED) {
        p->time = front.time;
        p->timed = front.timed;
        memcpy(p->times, front.times, sizeof p->times);
    }
    if (!p->node[0])
        memcpy(p->node, front.node, sizeof p->node);
    p->own += size;
    p->length += size;
    return true;
}

void joblog_line_part(const joblog_reader *r, joblog_line *out)
{
    if (!r->front[0] || !part_behind_front(r, out))
        joblog_prefix_of(out->text, out->length, r->per_node, &out->prefix);
    const size_t torn = out->prefix.rank < 0 ? begin_of_torn(out->text, out->length) : 0;
    if (torn > 0) {
        out->text += torn;
        out->length -= torn;
        joblog_prefix_of(out->text, out->length, r->per_node, &out->prefix);
    }
    if (out->prefix.pid >= 0 && out->prefix.rank < 0)
        out->prefix.rank = rank_of_process(r, &out->prefix);
    out->own = out->text + out->prefix.own;
    out->own_length = out->length - out->prefix.own;
    out->body = out->text + out->prefix.length;
    out->body_length = out->length - out->prefix.length;
}

void joblog_line_read(const joblog_reader *r, size_t from, size_t to, bool plain, joblog_line *out)
{
    joblog_line_clean(r, from, to, plain, out);
    joblog_line_part(r, out);
}
