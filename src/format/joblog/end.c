/* end.c - the last lines of an output: how far its ranks came, and whether they went on or finished. */
#include <string.h>

#include "base/hash.h"
#include "base/literals.h"
#include "format/joblog/joblog.h"

enum {
    TAIL_LOOK = 256 << 10,
    TAIL_OF_RANK = 2 << 10,
    BEATS = 5,
    BEATS_SINCE = 2 /* of these, behind what may be an error */
};

/* A program that goes on writes lines that differ in numbers only, with others between them; one that ends does not. */
static void keep_shape(const assay_job_log *log, assay_log_rank *row, const joblog_line *line)
{
    enum { SHAPES = sizeof row->shape / sizeof *row->shape };
    char text[128];
    size_t put = 0, at = 0;
    const bool indented = line->body_length > 0 && line->body[0] == ' ' && line->prefix.timed == ASSAY_LOG_UNTIMED;
    const bool stack = line->body_length > 7 && memcmp(line->body, "frame #", 7) == 0;
    if (indented || stack ||
        assay_literals_next(log->literals, line->text, line->length, &(assay_literal_search){.at = 0})) {
        for (size_t i = 0; i < SHAPES; i++)
            row->shape[i].since = 0;
        return;
    }
    for (size_t i = 0; i < line->body_length && put < sizeof text; i++) {
        const bool digit = line->body[i] >= '0' && line->body[i] <= '9';
        if (!digit || put == 0 || text[put - 1] != '0')
            text[put++] = digit ? '0' : line->body[i];
    }
    assay_log_shape shape = {.hash = assay_hash_bytes(text, put)};
    while (at < SHAPES - 1 && row->shape[at].hash != shape.hash)
        at++;
    if (row->shape[at].hash == shape.hash)
        shape = row->shape[at];
    shape.all++;
    shape.since++;
    memmove(row->shape + 1, row->shape, at * sizeof *row->shape);
    row->shape[0] = shape;
    if (shape.all >= BEATS && shape.since >= BEATS_SINCE && memchr(text, '0', put))
        row->beat_at = line->at;
}

/* Does a line say that a training came to its end? What stands behind it may say so of a part only. */
static void keep_finish(assay_log_rank *row, const joblog_line *line)
{
    static const char *const words[] = {"raining finished", "raining complete",  "raining done",  "raining is done",
                                        "inished training", "ompleted training", "nd of training"};
    const bool any = joblog_find(line->body, line->body_length, "raining") != NULL; /* which all of them have */
    bool said = false;
    for (size_t i = 0; any && i < sizeof words / sizeof *words && !said; i++)
        said = joblog_find(line->body, line->body_length, words[i]) != NULL;
    row->finished = said || (row->finished && joblog_step_of(line->body, line->body_length) < 0);
}

/* As joblog_rank_of() has it. */
static int64_t rank_of_prefix(const joblog_prefix *p)
{
    return p->rank >= 0 || p->agent >= 0 ? p->rank : p->local_rank;
}

size_t joblog_tail_of(const joblog_reader *r)
{
    return TAIL_LOOK + TAIL_OF_RANK * r->out->rank.count;
}

/* What the last lines say of time and step. */
int joblog_read_end(joblog_reader *r)
{
    enum { BEHIND = 3 };
    const size_t look = joblog_tail_of(r);
    size_t at = r->have > look ? r->have - look : 0;
    while (at > 0 && at < r->have && !joblog_is_end(r->bytes[at - 1])) /* a part of a line says nothing */
        at++;
    while (at < r->have) {
        size_t end = at;
        joblog_line line;
        while (end < r->have && !joblog_is_end(r->bytes[end]))
            end++;
        if (end > at) {
            joblog_line_read(r, at, end, false, &line);
            assay_log_rank *row = joblog_row_of(r, r->tracked ? rank_of_prefix(&line.prefix) : -1);
            if (!row)
                return ASSAY_ENOMEM;
            if (line.prefix.timed != ASSAY_LOG_UNTIMED) {
                row->last_time = line.prefix.time;
                row->timed = line.prefix.timed;
            }
            int64_t step = joblog_step_of(line.body, line.body_length);
            if (step >= 0) {
                if (step < row->last_step && step + BEHIND >= row->last_step)
                    step = row->last_step; /* of another rank, which comes a little later */
                if (step != row->last_step) {
                    memmove(row->step_at + 1, row->step_at, sizeof row->step_at - sizeof *row->step_at);
                    row->step_at[0] = line.at;
                }
                row->last_step = step;
                row->last_step_at = line.at;
                row->step_time = row->last_time;
                row->step_timed = row->timed;
            }
            keep_shape(r->log, row, &line);
            keep_finish(row, &line);
            if (!r->tracked) {
                row->last_at = line.at;
                row->last_line = r->line;
            }
        }
        at = end + 1;
    }
    return ASSAY_OK;
}
