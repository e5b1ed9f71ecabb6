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
    BEATS_SINCE = 2, /* of these, behind what may be an error */
    ALIKES = 128,
    ALIKE_MOST = 1 << 10, /* bytes of a line: what is longer is read by itself */
    ALIKE_FRONT = 64
};

/* What a line says to keep_line(), beside where it is. */
typedef struct said {
    int64_t rank, step; /* -1 */
    double time;
    uint64_t shape;   /* of its first bytes, numbers of any length alike */
    uint8_t timed;    /* ASSAY_LOG_UNTIMED: it says no time */
    bool unlike;      /* it is of a kind that does not say that its program goes on */
    bool has_digits;  /* in these first bytes */
    bool is_finished; /* "Training finished" */
} said;

/* What lines that differ in digits only have in common, so that they need not be read anew. */
typedef struct alike {
    uint64_t shape; /* with numbers as long as these; 0: none */
    said said;
    uint32_t front;             /* bytes that are in front of what it says */
    uint32_t time, time_end;    /* where its time stands */
    uint32_t step;              /* where its step stands */
    char in_front[ALIKE_FRONT]; /* the first of them */
} alike;

/* Does a line have a literal of a signature? *always: so has each that differs from it in digits only. */
static bool has_literal(const assay_job_log *log, const char *line, size_t length, bool *always)
{
    assay_literal_search s = {.at = 0};
    const bool found = assay_literals_next(log->literals, line, length, &s);
    size_t size = 0;
    const char *text = found ? assay_dict_name(log->literal_text, log->searched[s.number], &size) : "";
    *always = found;
    for (size_t i = 0; i < size && *always; i++)
        *always = !assay_is_digit(text[i]);
    return found;
}

/* A program that goes on writes lines that differ in numbers only, with others between them; one that ends does not. */
static void read_shape(const joblog_line *line, said *out)
{
    char text[128];
    size_t put = 0;
    for (size_t i = 0; i < line->body_length && put < sizeof text; i++) {
        const bool digit = line->body[i] >= '0' && line->body[i] <= '9';
        if (!digit || put == 0 || text[put - 1] != '0')
            text[put++] = digit ? '0' : line->body[i];
    }
    out->shape = assay_hash_bytes(text, put);
    out->has_digits = memchr(text, '0', put) != NULL;
}

static void keep_shape(assay_log_rank *row, joblog_shapes *shapes, const said *line, uint64_t place)
{
    joblog_shape_count *list = shapes->list;
    size_t at = 0;
    if (line->unlike) {
        for (size_t i = 0; i < JOBLOG_SHAPES; i++)
            list[i].since = 0;
        return;
    }
    joblog_shape_count shape = {.hash = line->shape};
    while (at < JOBLOG_SHAPES - 1 && list[at].hash != shape.hash)
        at++;
    if (list[at].hash == shape.hash)
        shape = list[at];
    shape.all++;
    shape.since++;
    memmove(list + 1, list, at * sizeof *list);
    list[0] = shape;
    if (shape.all >= BEATS && shape.since >= BEATS_SINCE && line->has_digits)
        row->beat_at = place;
}

/* The shapes of a row's lines, made where there are none; NULL without memory. */
static joblog_shapes *shapes_of(joblog_reader *r, const assay_log_rank *row)
{
    const size_t number = (size_t)(row - r->out->rank.list);
    while (r->shapes.count <= number) {
        joblog_shapes *one = ASSAY_VEC_ADD(&r->shapes);
        if (!one)
            return NULL;
        memset(one, 0, sizeof *one);
    }
    return &r->shapes.list[number];
}

/* Does a line say that a training came to its end? What stands behind it may say so of a part only. */
static bool says_finished(const joblog_line *line)
{
    static const char *const words[] = {"raining finished", "raining complete",  "raining done",  "raining is done",
                                        "inished training", "ompleted training", "nd of training"};
    const bool any = joblog_find(line->body, line->body_length, "raining") != NULL; /* which all of them have */
    bool is = false;
    for (size_t i = 0; any && i < sizeof words / sizeof *words && !is; i++)
        is = joblog_find(line->body, line->body_length, words[i]) != NULL;
    return is;
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

/* What a line says of time and step, of its rank's row; it begins at that byte of the file. False without memory. */
static bool keep_line(joblog_reader *r, assay_log_rank *row, const said *line, uint64_t place)
{
    enum { BEHIND = 3 };
    if (line->timed != ASSAY_LOG_UNTIMED) {
        row->last_time = line->time;
        row->timed = line->timed;
    }
    int64_t step = line->step;
    if (step >= 0) {
        if (step < row->last_step && step + BEHIND >= row->last_step)
            step = row->last_step; /* of another rank, which comes a little later */
        if (step != row->last_step) {
            memmove(row->step_at + 1, row->step_at, sizeof row->step_at - sizeof *row->step_at);
            row->step_at[0] = place;
        }
        row->last_step = step;
        row->last_step_at = place;
        row->step_time = row->last_time;
        row->step_timed = row->timed;
    }
    joblog_shapes *shapes = shapes_of(r, row);
    if (!shapes)
        return false;
    keep_shape(row, shapes, line, place);
    row->finished = line->is_finished || (row->finished && line->step < 0);
    if (!r->tracked) {
        row->last_at = place;
        row->last_line = r->line;
    }
    return true;
}

/* Where the time is that a line says. False: at none of the places that are known, or what may be one in others that are like it
 * is none in this one, as "25:00:00". */
static bool find_time(const joblog_line *line, alike *out)
{
    const char *const *at = line->prefix.times[0];
    double time;
    uint8_t timed;
    if (line->prefix.timed == ASSAY_LOG_UNTIMED)
        return !joblog_may_have_time(line->text, line->length);
    if (!at[0] || at[0] < line->text || !joblog_time_of(at[0], (size_t)(line->body - at[0]), &time, &timed) ||
        timed != line->prefix.timed || time != line->prefix.time ||
        joblog_may_have_time(line->text, (size_t)(at[0] - line->text)) ||
        joblog_may_have_time(at[1], (size_t)(line->text + line->length - at[1])))
        return false;
    out->time = (uint32_t)(at[0] - line->text);
    out->time_end = (uint32_t)(at[1] - line->text);
    return true;
}

/* A line: where it is in the reader's bytes. */
typedef struct place {
    size_t at, end;
    bool plain;     /* nothing in it has to be cleaned, and its shape may be kept */
    uint64_t shape; /* 0: it has none */
} place;

/* Reads a line, and keeps what it has in common with those like it, where they may be known by their shape. */
static void read_line(const joblog_reader *r, const place *p, said *out, alike *kept)
{
    joblog_line line;
    bool always;
    size_t step = 0;
    joblog_line_read(r, p->at, p->end, p->plain, &line);
    *out = (said){.rank = rank_of_prefix(&line.prefix),
                  .step = joblog_step_at(line.body, line.body_length, &step),
                  .time = line.prefix.time,
                  .timed = line.prefix.timed,
                  .is_finished = says_finished(&line)};
    const bool literal = has_literal(r->log, line.text, line.length, &always),
               indented = line.body_length > 0 && line.body[0] == ' ' && line.prefix.timed == ASSAY_LOG_UNTIMED;
    out->unlike = literal || indented || (line.body_length > 7 && memcmp(line.body, "frame #", 7) == 0);
    if (!out->unlike)
        read_shape(&line, out);
    if (!kept || line.text != r->bytes + p->at || line.length != p->end - p->at ||
        (!always && (literal || joblog_may_have_other(&r->log->signatures, line.text, line.length))))
        return;
    alike now = {.shape = p->shape,
                 .said = *out,
                 .front = (uint32_t)line.prefix.length,
                 .step = (uint32_t)(line.prefix.length + step)};
    if (!find_time(&line, &now))
        return;
    memcpy(now.in_front, line.text, now.front < ALIKE_FRONT ? now.front : ALIKE_FRONT);
    *kept = now;
}

/* Is the same in front of a line, but for the time? Then the same rank wrote it. */
static bool is_same_front(const alike *a, const char *line)
{
    return a->front <= ALIKE_FRONT && memcmp(a->in_front, line, a->time) == 0 &&
           memcmp(a->in_front + a->time_end, line + a->time_end, a->front - a->time_end) == 0;
}

/* What a line says that is like another one. False: it has to be read. */
static bool read_alike(const joblog_reader *r, const alike *a, const char *line, size_t length, said *out)
{
    uint8_t timed = ASSAY_LOG_UNTIMED;
    *out = a->said;
    if (r->tracked && !is_same_front(a, line))
        return false;
    if (out->timed != ASSAY_LOG_UNTIMED &&
        (!joblog_time_of(line + a->time, a->front - a->time, &out->time, &timed) || timed != out->timed))
        return false;
    if (out->step >= 0)
        out->step = joblog_number_at(line + a->front, length - a->front, a->step - a->front);
    return true;
}

/* What a line says. */
static void read_said(const joblog_reader *r, size_t at, size_t end, bool plain, alike *alikes, said *out)
{
    const char *const line = r->bytes + at;
    plain = plain && end - at <= ALIKE_MOST && !joblog_is_wrapped(line, end - at);
    const place p = {.at = at, .end = end, .plain = plain, .shape = plain ? joblog_shape(line, end - at) | 1 : 0};
    alike *kept = plain ? &alikes[p.shape / 2 % ALIKES] : NULL;
    if (!kept || kept->shape != p.shape || !read_alike(r, kept, line, end - at, out))
        read_line(r, &p, out, kept);
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

/* Where the line ends that begins there. *plain: nothing in it has to be cleaned. */
static size_t end_of_line(const joblog_reader *r, size_t at, bool *plain)
{
    *plain = true;
    while ((at += joblog_first_control(r->bytes + at, r->have - at)) < r->have && !joblog_is_end(r->bytes[at])) {
        *plain = false;
        at++;
    }
    return at;
}

/* Goes through the lines from byte `at` of the reader's on; of ranks that lack something only, and of those that lack times
 * alone no line from byte `near` on. */
static int read_lines(joblog_reader *r, size_t at, size_t near, const lacks *lacking)
{
    alike alikes[ALIKES];
    bool plain;
    for (size_t i = 0; i < ALIKES; i++)
        alikes[i].shape = 0;
    while (at > 0 && at < r->have && !joblog_is_end(r->bytes[at - 1])) /* a part of a line says nothing */
        at++;
    for (size_t end; at < r->have; at = end + 1) {
        end = end_of_line(r, at, &plain);
        if (end == at)
            continue;
        said line;
        assay_log_rank *row = NULL;
        lack what = LACKS_STEPS;
        if (lacking) { /* before it is read: most are not */
            row = joblog_row_of(r, r->tracked ? joblog_rank_of(r->bytes + at, end - at, r->per_node) : -1);
            what = row ? lack_of(r, lacking, row) : LACKS_NOTHING;
            if (what == LACKS_NOTHING || (what == LACKS_TIME && at >= near)) {
                ASSAY_HAVE(row);
                continue;
            }
        }
        if (what == LACKS_TIME && !joblog_may_have_time(r->bytes + at, end - at))
            continue;
        read_said(r, at, end, plain, alikes, &line);
        row = joblog_row_of(r, r->tracked ? line.rank : -1);
        if (!row)
            return ASSAY_ENOMEM;
        if (lacking)
            what = lack_of(r, lacking, row);
        if (what == LACKS_STEPS) {
            ASSAY_HAVE(keep_line(r, row, &line, r->base + at));
        } else if (what == LACKS_TIME && at < near && line.timed != ASSAY_LOG_UNTIMED) {
            row->last_time = row->step_time = line.time;
            row->timed = row->step_timed = line.timed;
        }
    }
    return ASSAY_OK;
}

static bool has_steps(const assay_log_rank *row)
{
    return row->step_at[sizeof row->step_at / sizeof *row->step_at - 1] > 0;
}

/* Lists what ranks lack that the lines from byte `near` of the reader's on do not say, and forgets what few lines say of them. False
 * without memory. *any: is there one? */
static bool find_lacks(joblog_reader *r, size_t near, lacks *out, bool *any)
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
        const bool whole =
            r->begins && r->tracked && r->row_first.list[i] >= r->base + near; /* all its lines were read */
        *one = whole || (ranks && row->rank < 0)                  ? LACKS_NOTHING
               : !has_steps(row)                                  ? LACKS_STEPS
               : row->timed == ASSAY_LOG_UNTIMED && r->says_times ? LACKS_TIME
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
        if (*one == LACKS_STEPS && i < r->shapes.count)
            memset(&r->shapes.list[i], 0, sizeof r->shapes.list[i]);
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
        status = find_lacks(r, near, &lacking, &any) ? ASSAY_OK : ASSAY_ENOMEM;
    if (any)
        ASSAY_THEN(status, read_lines(r, from, near, &lacking));
    free(lacking.list);
    return status;
}
