/* lastwords.c - what the last lines of each rank say of an error that no signature knows.
 *
 * A program that fails mostly says so in the end, in words of its own: they become an event that is a guess, and counts only
 * where nothing else says why. What stands behind it is few lines, or stacks; a line that names a step, that says of success, or is one
 * of several that differ in numbers only, says that the program went on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "format/joblog/joblog.h"

enum {
    PLAIN_MOST = 3, /* lines behind an error that say nothing of one */
    LOOKED_MOST = 400,
    LOOK_BACK = 64 << 10,
    LOOKED_BYTES = 1000 /* of a line */
};

typedef struct words { /* of a row */
    uint8_t plain;     /* lines that were met from the end on, and say nothing of an error */
    bool closed;       /* there are more of them: nothing before is looked at */
    bool any;          /* an error was met */
    bool guessed;      /* and its kind is known */
    uint16_t looked;
    int64_t rank; /* that one of these lines names, and no other names another; -1 */
    bool ranks;   /* several do */
    assay_ending ending;
    assay_log_role role;
    size_t from, to; /* of the line that says most */
} words;

/* Is it a line of a stack, or indented, or empty: nothing that a program says by itself? */
static bool is_of_stack(const char *line, size_t length)
{
    static const char *const begins[] = {
        "frame #", "#", "@", "*** ", "=== ", "---", "===", "PC: ", "Stack", "Traceback"};
    bool is = length == 0 || line[0] == ' ' || line[0] == '\t';
    size_t at = 0;
    while (at < length &&
           (assay_is_digit(line[at]) || line[at] == '_' || ((line[at] | 0x20) >= 'a' && (line[at] | 0x20) <= 'z')))
        at++;
    if (at > 0 && at + 2 < length && line[at] == '(' &&
        assay_is_digit(line[at + 1])) { /* "MPID_Init(441)....: ", a stack of MPICH */
        for (at++; at < length && assay_is_digit(line[at]);)
            at++;
        is = is || (at + 1 < length && line[at] == ')' && (line[at + 1] == '.' || line[at + 1] == ':'));
    }
    for (size_t i = 0; i < sizeof begins / sizeof *begins && !is; i++)
        is = length >= strlen(begins[i]) && memcmp(line, begins[i], strlen(begins[i])) == 0;
    return is;
}

/* Does a frame of Python stand in the line before? Then this one is of the program, and nothing that it says. */
static bool is_code(const joblog_reader *r, size_t from)
{
    const size_t begin = from > 1 ? joblog_last_begin(r->bytes, from - 1) : from;
    return joblog_find(r->bytes + begin, from - begin, "File \"") != NULL;
}

/* What says more goes before, and of equal ones what stands first. Lines come from the last one on. */
static void keep_best(words *w, bool guessed, assay_ending ending, assay_log_role role, size_t from, size_t to)
{
    static const int weight[] = {[ASSAY_LOG_CAUSE] = 2, [ASSAY_LOG_EITHER] = 1, [ASSAY_LOG_CONSEQUENCE] = 0};
    if (w->any && w->guessed && (!guessed || weight[role] < weight[w->role]))
        return;
    w->any = true;
    w->guessed = guessed;
    w->ending = ending;
    w->role = role;
    w->from = from;
    w->to = to;
}

/* Does a signature know the line, or is it an exception that has an event of its own? */
static bool is_known(const joblog_reader *r, const joblog_line *line)
{
    const uint64_t at = line->at;
    if (joblog_has_signature(r, line))
        return true;
    for (size_t i = r->out->event.count; i-- > 0;)
        if (r->out->event.list[i].at == at || r->out->event.list[i].last_at == at)
            return true;
    return false;
}

/* A rank that words name, "[rank 3, channel 0]", "Rank:3", "/task:3"; -1. */
static int64_t rank_in(const char *text, size_t length)
{
    char low[LOOKED_BYTES];
    const size_t size = joblog_lower(text, length, low, sizeof low);
    const int64_t rank = joblog_number_behind(low, size, "rank");
    return rank >= 0 ? rank : joblog_number_behind(low, size, "/task");
}

static void keep_rank(words *w, int64_t rank)
{
    w->ranks = w->ranks || (w->rank >= 0 && rank >= 0 && rank != w->rank);
    w->rank = w->ranks ? -1 : rank >= 0 ? rank : w->rank;
}

/* Looks at a line, of those of its rank from the last one on. Does it say anything but of an error? */
static bool look(joblog_reader *r, const assay_log_rank *row, words *w, size_t from, size_t to)
{
    joblog_line line;
    assay_ending ending = ASSAY_ENDING_launcher;
    assay_log_role role = ASSAY_LOG_CONSEQUENCE;
    const uint64_t at = r->base + from;
    if (++w->looked > LOOKED_MOST || (row->last_step >= 0 && at < row->last_step_at) ||
        (row->beat_at > 0 && at <= row->beat_at)) {
        w->closed = true;
        return true;
    }
    joblog_line_read(r, from, to, false, &line);
    const bool stack = is_of_stack(line.body, line.body_length);
    if (joblog_speaks_of_error(&line) && !(stack && is_code(r, from))) {
        if (!is_known(r, &line) && !(stack && line.body_length > 0 && line.body[0] == '#')) {
            const bool guessed = joblog_guess(line.body, line.body_length, &ending, &role);
            keep_best(w, guessed, ending, role, from, to);
            keep_rank(w, line.prefix.rank < 0 ? rank_in(line.body, line.body_length) : -1);
        }
        return false;
    }
    w->closed = (!stack && ++w->plain > PLAIN_MOST) || joblog_speaks_of_success(&line);
    return !stack;
}

/* Puts the event that was added last where its line is among the others. */
static void put_in_order(assay_log_file *out)
{
    size_t at = out->event.count - 1;
    const assay_log_event last = out->event.list[at];
    for (; at > 0 && out->event.list[at - 1].line > last.line; at--)
        out->event.list[at] = out->event.list[at - 1];
    out->event.list[at] = last;
}

static int add(joblog_reader *r, const words *w)
{
    joblog_line line;
    const uint64_t lines = r->line;
    for (size_t at = w->from; at < r->have; at++)
        r->line -= r->bytes[at] == '\n';
    joblog_line_read(r, w->from, w->to, false, &line);
    r->line = lines;
    const int64_t own = rank_in(line.body, line.body_length);
    size_t begin = 0;
    while (begin < line.body_length && line.body[begin] == ' ')
        begin++;
    const joblog_match match = {.text = {[GROUP_what] = line.body + begin},
                                .length = {[GROUP_what] = line.body_length - begin}};
    assay_log_event event = {.signature = ASSAY_SIGNATURE_WORDS,
                             .ending = w->ending,
                             .role = w->role,
                             .scope = ASSAY_LOG_RANK,
                             .guessed = w->guessed,
                             .rank = line.prefix.rank >= 0 ? -1
                                     : own >= 0            ? own
                                                           : w->rank,
                             .local_rank = -1,
                             .step = -1,
                             .code = -1,
                             .sequence = -1,
                             .time = NAN};
    if (!line.prefix.node[0])
        joblog_node_in_front(line.text, line.length, event.node, sizeof event.node);
    const size_t count = r->out->event.count;
    const int status = joblog_event_add(r, &line, event, "wrote of an error: {what}", &match, NULL);
    if (status == ASSAY_OK && r->out->event.count > count)
        put_in_order(r->out);
    return status;
}

int joblog_last_words(joblog_reader *r)
{
    const size_t rows = r->out->rank.count, look_back = LOOK_BACK + (rows << 10);
    const size_t first = r->have > look_back ? r->have - look_back : 0;
    size_t closed = 0, end = r->have, tail = r->have, plain = 0;
    int status = ASSAY_OK;
    bool finished = rows == 0;
    for (size_t i = 0; i < rows && !finished; i++)
        finished = r->out->rank.list[i].finished;
    words *all = finished ? NULL : assay_alloc_zeroed(rows, sizeof *all);
    if (finished)
        return ASSAY_OK;
    ASSAY_HAVE(all);
    for (size_t i = 0; i < rows; i++)
        all[i].rank = -1;
    while (end > first && closed < rows) {
        const size_t stop = end > 0 && joblog_is_end(r->bytes[end - 1]) ? end - 1 : end,
                     from = joblog_last_begin(r->bytes, stop);
        if (stop > from) {
            const int64_t rank = r->tracked ? joblog_rank_of(r->bytes + from, stop - from, r->per_node) : -1;
            const assay_log_rank *row = joblog_row_of(r, rank);
            const size_t number = row ? (size_t)(row - r->out->rank.list) : rows;
            if (number < rows && !all[number].closed) {
                plain += look(r, row, &all[number], from, stop);
                closed += all[number].closed;
            } else {
                plain++;
            }
        }
        tail = plain <= PLAIN_MOST ? from : tail;
        end = from;
    }
    for (size_t i = 0; i < rows && status == ASSAY_OK; i++)
        if (all[i].any)
            status = add(r, &all[i]);
    for (size_t i = 0; i < r->out->event.count; i++)
        r->out->event.list[i].tail = r->out->event.list[i].last_at >= r->base + tail;
    free(all);
    return status;
}
