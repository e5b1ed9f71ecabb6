/* past.c - what stands before an event: a time, and a step. */
#include <math.h>
#include <string.h>

#include "base/path.h"
#include "format/joblog/joblog.h"

enum {
    LINES_MOST = 400,
    TEXT_LINES = 40, /* of a text that a model made, before an event in it */
    TIMES_MOST = 64, /* of an output whose first lines say none */
    UNRANKED =
        16 /* lines in a row that say no rank: neither do those before them, where no line has one in front so far */
};

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

bool joblog_shows_text(const char *body, size_t length)
{
    static const char *const words[] = {"sample", "samples", "sampling", "generated", "completion", "completions",
                                        "prompt", "prompts", "question", "questions", "answer",     "assistant",
                                        "human",  "user",    "q",        "a",         "instruction"};
    enum { FRONT = 12, BEHIND = 40 };
    char word[16] = "";
    size_t at = 0, size = 0;
    while (at < length && at < FRONT && !is_letter(body[at]) && !assay_is_digit(body[at]))
        at++;
    const bool decorated = at > 2 && body[0] != ' '; /* "=== sample 3 ===" */
    for (; at < length && is_letter(body[at]) && size + 1 < sizeof word; at++)
        word[size++] = (char)(body[at] | 0x20);
    if (!memchr("sgcpqahui", word[0], 9)) /* most words */
        return false;
    size_t i = 0;
    while (i < sizeof words / sizeof *words && strcmp(words[i], word) != 0)
        i++;
    const size_t stop = at + (size > 1 ? BEHIND : 0);
    while (at < length && at < stop && (is_letter(body[at]) || assay_is_digit(body[at]) || body[at] == ' '))
        at++;
    const bool colon = at < length && body[at] == ':', text = colon && (at + 1 == length || body[at + 1] == ' ');
    const bool bar = memchr(body, '%', length) != NULL; /* of progress */
    return i < sizeof words / sizeof *words && !bar && (text || (decorated && !colon) || at == length);
}

/* The line that ends before `place`, at `lowest` or behind it; what it says is kept for events that ask again. */
static const joblog_past *past_before(const joblog_reader *r, size_t place, size_t lowest)
{
    size_t end = place;
    while (end > lowest && joblog_is_end(r->bytes[end - 1]))
        end--;
    const uint64_t at = r->base + end + 1, key = r->era + at;
    joblog_past *past = &r->past[at / JOBLOG_PAST_LEAST % JOBLOG_PASTS];
    if (past->end == key)
        return past;
    const size_t begin = lowest + joblog_last_begin(r->bytes + lowest, end - lowest),
                 from = end - begin > JOBLOG_LINE_MOST ? end - JOBLOG_LINE_MOST : begin, size = end - from;
    const char *line = r->bytes + from;
    const bool plain = joblog_first_control(line, size) == size;
    const size_t length = plain ? size : joblog_clean(line, size, r->behind);
    joblog_prefix prefix;
    line = plain ? line : r->behind;
    joblog_prefix_of(line, length, r->per_node, &prefix);
    *past = (joblog_past){.end = key,
                          .begin = r->base + begin,
                          .time = prefix.time,
                          .timed = prefix.timed,
                          .rank = prefix.rank,
                          .shows = joblog_shows_text(line + prefix.length, length - prefix.length),
                          .step = joblog_step_of(line + prefix.length, length - prefix.length)};
    return past;
}

/* Where the first line of a rank begins in the file, which stands before all that is looked back at where it is not known. */
static uint64_t first_of_rank(const joblog_reader *r, int64_t rank)
{
    const size_t at = rank < 0 ? 0 : (size_t)rank + 1;
    const int32_t row = at < r->rank_row.count ? r->rank_row.list[at] : 0;
    if (rank < 0 || !r->tracked || !r->begins)
        return 0;
    return row > 0 ? r->row_first.list[row - 1] : UINT64_MAX;
}

void joblog_look_back(joblog_reader *r, size_t place, int64_t rank, assay_log_event *e)
{
    int64_t any_step = -1;
    const bool all_timed = e->timed != ASSAY_LOG_UNTIMED;
    bool any_time = all_timed, in_text = true;
    double time = NAN;
    uint8_t timed = ASSAY_LOG_UNTIMED;
    const size_t lowest = place > JOBLOG_LOOK_BACK ? place - JOBLOG_LOOK_BACK : 0;
    joblog_barren barren = {.end = r->base + place};
    bool vain = true; /* so far */
    int unranked = 0;
    const uint64_t first = first_of_rank(r, rank);
    for (int lines = 0; place > lowest && lines < LINES_MOST && (e->step < 0 || !any_time); lines++) {
        if (r->barren.lines > 0 && r->barren.end == r->base + place) { /* many events may stand behind the same lines */
            lines += r->barren.lines - 1;
            barren.lines += vain ? r->barren.lines : 0;
            place = r->barren.begin > r->base + lowest ? (size_t)(r->barren.begin - r->base) : lowest;
            barren.begin = vain ? r->base + place : barren.begin;
            continue;
        }
        const joblog_past *past = past_before(r, place, lowest);
        const bool same = rank < 0 || past->rank == rank || !r->tracked;
        unranked = past->rank < 0 && past->begin < r->first_front ? unranked + 1 : 0;
        e->shown = e->shown || (same && in_text && past->shows && lines < TEXT_LINES);
        in_text = in_text && !(same && (past->step >= 0 || (past->timed != ASSAY_LOG_UNTIMED && !all_timed)));
        if (!any_time && past->timed != ASSAY_LOG_UNTIMED && (same || timed == ASSAY_LOG_UNTIMED)) {
            time = past->time;
            timed = past->timed;
            any_time = same;
        }
        if (e->step < 0 && past->step >= 0 && same)
            e->step = past->step;
        else if (e->step < 0 && past->step >= 0 && any_step < 0)
            any_step = past->step;
        place = past->begin > r->base + lowest ? (size_t)(past->begin - r->base) : lowest;
        if ((unranked >= UNRANKED || past->begin <= first) && (e->step >= 0 || any_step >= 0) &&
            (any_time || timed != ASSAY_LOG_UNTIMED))
            break; /* as of most outputs of one rank: they name it when they end */
        if (!r->says_times && lines >= TIMES_MOST && e->step >= 0 && timed == ASSAY_LOG_UNTIMED)
            break;
        vain = vain && past->timed == ASSAY_LOG_UNTIMED && past->step < 0 && !past->shows;
        if (vain) {
            barren.lines++;
            barren.begin = r->base + place;
        }
    }
    r->barren = barren;
    if (e->step < 0)
        e->step = any_step;
    if (e->timed == ASSAY_LOG_UNTIMED && timed != ASSAY_LOG_UNTIMED) {
        e->time = time;
        e->timed = timed;
        e->near = true;
    }
}
