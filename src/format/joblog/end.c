/* end.c - the last lines of an output: how far its ranks came, and whether they went on or finished. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/literals.h"
#include "base/path.h"
#include "format/joblog/joblog.h"

enum {
    TAIL_LOOK = 256 << 10,
    TAIL_NEAR = 16 << 10, /* most programs say a time and several steps in so much */
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

/* What a line says of time and step, of its rank's row. */
static void keep_line(joblog_reader *r, assay_log_rank *row, const joblog_line *line)
{
    enum { BEHIND = 3 };
    if (line->prefix.timed != ASSAY_LOG_UNTIMED) {
        row->last_time = line->prefix.time;
        row->timed = line->prefix.timed;
    }
    int64_t step = joblog_step_of(line->body, line->body_length);
    if (step >= 0) {
        if (step < row->last_step && step + BEHIND >= row->last_step)
            step = row->last_step; /* of another rank, which comes a little later */
        if (step != row->last_step) {
            memmove(row->step_at + 1, row->step_at, sizeof row->step_at - sizeof *row->step_at);
            row->step_at[0] = line->at;
        }
        row->last_step = step;
        row->last_step_at = line->at;
        row->step_time = row->last_time;
        row->step_timed = row->timed;
    }
    keep_shape(r->log, row, line);
    keep_finish(row, line);
    if (!r->tracked) {
        row->last_at = line->at;
        row->last_line = r->line;
    }
}

/* What is not known of a rank after the last lines were read. */
typedef enum lack { LACKS_NOTHING, LACKS_TIME, LACKS_STEPS } lack;

/* Ranks, by their row; those of rows behind the list lack all. */
typedef ASSAY_VEC(uint8_t) lacks;

static lack lack_of(const joblog_reader *r, const lacks *lacking, const assay_log_rank *row)
{
    const size_t number = (size_t)(row - r->out->rank.list);
    return number < lacking->count ? (lack)lacking->list[number] : LACKS_STEPS;
}

/* Does "02:13:40" stand in the first part of a line? Most times have it; that of a bar of progress stands further behind. */
static bool may_have_time(const char *line, size_t length)
{
    enum { FRONT = 96 };
    const char *const stop = line + (length < FRONT ? length : FRONT);
    for (const char *colon = line; (colon = memchr(colon, ':', (size_t)(stop - colon))) != NULL; colon++)
        if (colon - line >= 2 && stop - colon > 3 && assay_is_digit(colon[-1]) && assay_is_digit(colon[-2]) &&
            assay_is_digit(colon[1]) && assay_is_digit(colon[2]) && colon[3] == ':')
            return true;
    return false;
}

/* Where the line ends that begins there. */
static size_t end_of_line(const joblog_reader *r, size_t at)
{
    while ((at += joblog_first_control(r->bytes + at, r->have - at)) < r->have && !joblog_is_end(r->bytes[at]))
        at++;
    return at;
}

/* Goes through the lines from byte `at` of the reader's on; of ranks that lack something only, and of those that lack times
 * alone no line from byte `near` on. */
static int read_lines(joblog_reader *r, size_t at, size_t near, const lacks *lacking)
{
    while (at > 0 && at < r->have && !joblog_is_end(r->bytes[at - 1])) /* a part of a line says nothing */
        at++;
    for (size_t end; at < r->have; at = end + 1) {
        end = end_of_line(r, at);
        if (end == at)
            continue;
        joblog_line line;
        assay_log_rank *row = NULL;
        lack what = LACKS_STEPS;
        if (lacking) { /* before it is read: most are not */
            row = joblog_row_of(r, r->tracked ? joblog_rank_of(r->bytes + at, end - at, r->per_node) : -1);
            what = row ? lack_of(r, lacking, row) : LACKS_NOTHING;
            if (what == LACKS_NOTHING || (what == LACKS_TIME && at >= near)) {
                if (!row)
                    return ASSAY_ENOMEM;
                continue;
            }
        }
        if (what == LACKS_TIME && !may_have_time(r->bytes + at, end - at))
            continue;
        joblog_line_read(r, at, end, false, &line);
        row = joblog_row_of(r, r->tracked ? rank_of_prefix(&line.prefix) : -1);
        if (!row)
            return ASSAY_ENOMEM;
        if (lacking)
            what = lack_of(r, lacking, row);
        if (what == LACKS_STEPS) {
            keep_line(r, row, &line);
        } else if (what == LACKS_TIME && at < near && line.prefix.timed != ASSAY_LOG_UNTIMED) {
            row->last_time = row->step_time = line.prefix.time;
            row->timed = row->step_timed = line.prefix.timed;
        }
    }
    return ASSAY_OK;
}

static bool has_steps(const assay_log_rank *row)
{
    return row->step_at[sizeof row->step_at / sizeof *row->step_at - 1] > 0;
}

/* Lists what ranks lack, and forgets what few lines say of them. False without memory. *any: is there one? */
static bool find_lacks(joblog_reader *r, lacks *out, bool *any)
{
    bool ranks = false; /* they say their steps: what names no rank is of a launcher, and has none */
    *any = false;
    for (size_t i = 0; i < r->out->rank.count; i++)
        ranks = ranks || (r->out->rank.list[i].rank >= 0 && has_steps(&r->out->rank.list[i]));
    for (size_t i = 0; i < r->out->rank.count; i++) {
        assay_log_rank *row = &r->out->rank.list[i];
        uint8_t *one = ASSAY_VEC_ADD(out);
        if (!one)
            return false;
        *one = ranks && row->rank < 0            ? LACKS_NOTHING
               : !has_steps(row)                 ? LACKS_STEPS
               : row->timed == ASSAY_LOG_UNTIMED ? LACKS_TIME
                                                 : LACKS_NOTHING;
        *any = *any || *one != LACKS_NOTHING;
        if (*one == LACKS_STEPS)
            *row = (assay_log_rank){.rank = row->rank,
                                    .lines = row->lines,
                                    .last_at = row->last_at,
                                    .last_line = row->last_line,
                                    .last_time = NAN,
                                    .step_time = NAN,
                                    .last_step = -1};
    }
    return true;
}

int joblog_read_end(joblog_reader *r)
{
    const size_t ranks = TAIL_OF_RANK * r->out->rank.count, look = joblog_tail_of(r), few = TAIL_NEAR + ranks;
    const size_t from = r->have > look ? r->have - look : 0, near = r->have > few ? r->have - few : 0;
    lacks lacking = {0};
    bool any = false;
    int status = read_lines(r, near, r->have, NULL);
    if (status == ASSAY_OK && near > from)
        status = find_lacks(r, &lacking, &any) ? ASSAY_OK : ASSAY_ENOMEM;
    if (any)
        ASSAY_THEN(status, read_lines(r, from, near, &lacking));
    free(lacking.list);
    return status;
}
