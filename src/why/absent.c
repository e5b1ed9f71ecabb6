/* absent.c - who it was, where no output says why: ranks that others waited for or lost, and whom a launcher names. */
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "why/combine.h"

bool why_add_absent(why_scene *s)
{
    assay_why *why = s->why;
    uint8_t *seen = assay_alloc_zeroed(s->ranks + 1, 1);
    why_item *first = NULL;
    int64_t least = INT64_MAX, most = -1;
    size_t waiting = 0;
    bool made = seen != NULL;
    for (size_t k = 0; k < s->item.count && made; k++) {
        why_item *i = &s->item.list[k];
        if (i->event->ending != ASSAY_ENDING_collective_timeout || i->survived || i->old)
            continue;
        first = !first || (!isnan(i->from) && (isnan(first->from) || i->from < first->from)) ? i : first;
        if (i->rank >= 0 && i->rank < (int64_t)s->ranks && !seen[i->rank]) {
            seen[i->rank] = 1;
            waiting++;
        }
        if (i->event->sequence >= 0 && i->rank >= 0) {
            least = i->event->sequence < least ? i->event->sequence : least;
            most = i->event->sequence > most ? i->event->sequence : most;
        }
    }
    if (!made || !first) {
        free(seen);
        return made;
    }
    why_link *link = why_new_link(why);
    made = link != NULL;
    if (made) {
        link->event = first->event;
        link->time = first->from;
        why->has_cause = true;
        why->certainty = WHY_POSSIBLE;
        first->told = false;
    }
    if (made && waiting > 0 && waiting < s->ranks && s->ranks - waiting <= waiting) {
        for (size_t r = 0; r < s->ranks && made; r++)
            if (!seen[r])
                made = why_add_rank(link, (int64_t)r);
        made = made &&
               why_add_text(&why->reason, "%zu of %zu ranks waited until the timeout; of these %zu no output says so",
                            waiting, s->ranks, s->ranks - waiting);
        why->certainty = s->ranks - waiting == 1 && waiting > 1
                             ? WHY_LIKELY
                             : WHY_POSSIBLE; /* of two it may be that one's outputs alone are here */
    } else if (made && least < most) {
        size_t behind = 0;
        for (size_t k = 0; k < s->item.count && made; k++) {
            const why_item *i = &s->item.list[k];
            if (i->event->ending == ASSAY_ENDING_collective_timeout && i->event->sequence == least && i->rank >= 0) {
                made = why_add_rank(link, i->rank);
                behind++;
            }
        }
        why_make_unique(link);
        made = made && why_add_text(&why->reason, "it waited in collective %lld, and others in %lld", (long long)least,
                                    (long long)most);
    }
    if (made && link->rank.count == 0)
        made = why_add_text(&why->reason,
                            "outputs do not tell which rank did not come; dumps of the flight recorder would");
    for (size_t r = 0; made && r < link->rank.count && r < 64; r++)
        made = why_add_node(link, why_node_of(&why->facts, link->rank.list[r]));
    if (made)
        why_make_unique(link);
    free(seen);
    return made;
}

/* A step that Slurm stopped while all went on, as by scancel; NULL. Where a rank had ended before, srun names it. */
static why_item *find_stopped(const why_scene *s)
{
    why_item *stopped = NULL;
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        const assay_log_event *e = i->event;
        if (i->survived || i->old || e->role == ASSAY_LOG_NOISE)
            continue;
        if (e->ending == ASSAY_ENDING_cancelled && e->scope == ASSAY_LOG_JOB)
            stopped = stopped ? stopped : i;
        else if (e->ending != ASSAY_ENDING_launcher || i->rank >= 0 || e->ranks[0] || e->code > 0)
            return NULL;
    }
    return stopped;
}

/* Does the rank of an item say that it lost others, or waited for them? Then somebody else ended before. */
static bool has_lost_others(const why_scene *s, const why_item *item)
{
    const why_group *group = &s->by_rank.group.list[item->group];
    bool lost = false;
    for (size_t n = group->first; n < group->first + group->count && !lost; n++) {
        const why_item *i = &s->item.list[s->by_rank.member[n].item];
        lost = i->event->role == ASSAY_LOG_CONSEQUENCE && !i->survived &&
               (i->event->ending == ASSAY_ENDING_network || i->event->ending == ASSAY_ENDING_collective_timeout);
    }
    return lost;
}

/* How well it is known to have been first: a launcher that looks late names all ranks at once, and any of them as the root. */
static int how_likely_first(const why_scene *s, const why_item *i)
{
    const int named = why_how_well_named(i);
    if (named < 2 || i->rank < 0 || has_lost_others(s, i))
        return named;
    return named + (i->event->code > 1 ? 4 : 2); /* an exception of Python, as that of who lost others, ends with 1 */
}

/* The rank that all others lost, and the output that it wrote; -1 where not all others say so, or several do not. -2:
 * no memory. */
static int64_t lost_by_all(const why_scene *s, size_t *file)
{
    const assay_why *why = s->why;
    uint8_t *seen = assay_alloc_zeroed(s->ranks + 1, 1);
    size_t lost = 0, left = 0;
    int64_t who = -1;
    if (!seen)
        return -2;
    for (size_t g = 0; g < s->by_rank.group.count; g++) {
        const why_group *group = &s->by_rank.group.list[g];
        if (group->rank >= 0 && group->rank < (int64_t)s->ranks && group->count > 0 &&
            has_lost_others(s, &s->item.list[s->by_rank.member[group->first].item])) {
            seen[group->rank] = 1;
            lost++;
        }
    }
    for (size_t f = 0; f < why->file.count; f++) /* of those that wrote something */
        for (size_t r = 0; r < why->file.list[f].rank.count; r++) {
            const int64_t rank =
                why_rank_of_row(&why->places.list.list[why->file.list[f].file], &why->file.list[f].rank.list[r]);
            if (rank < 0 || rank >= (int64_t)s->ranks || seen[rank])
                continue;
            seen[rank] = 2;
            left++;
            who = rank;
            *file = f;
        }
    free(seen);
    return left == 1 && lost + left == s->ranks ? who : -1;
}

/* What a launcher says of the end of a rank; NULL. */
static why_item *told_end_of(const why_scene *s, int64_t rank)
{
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        const bool ends = i->event->ending == ASSAY_ENDING_launcher || i->event->ending == ASSAY_ENDING_signal;
        if (i->rank == rank && ends && !i->survived && !i->old)
            return i;
    }
    return NULL;
}

/* An event of a rank that ended and does not say why: its last line in the output. */
static assay_log_event silent_end_of(int64_t rank, const assay_log_file *output)
{
    const assay_log_rank *row = &output->rank.list[0];
    for (size_t r = 0; r < output->rank.count; r++)
        row = output->rank.list[r].last_at > row->last_at ? &output->rank.list[r] : row;
    return (assay_log_event){.signature = ASSAY_SIGNATURE_STATE,
                             .ending = ASSAY_ENDING_launcher,
                             .role = ASSAY_LOG_CAUSE,
                             .file = output->file,
                             .line = row->last_line > 0 ? row->last_line : output->lines,
                             .count = 1,
                             .rank = rank,
                             .local_rank = -1,
                             .step = row->last_step,
                             .code = -1,
                             .sequence = -1,
                             .time = row->last_time,
                             .timed = row->timed,
                             .near = true,
                             .text = (char *)"ended, and does not say why",
                             .quote = (char *)""};
}

/* Nobody says why: the rank that the others lost, where all others say so. What a launcher says of its end is told,
 * else that it ended. Nothing where it is not known: *taken. */
static bool add_lost(why_scene *s, bool *taken)
{
    assay_why *why = s->why;
    size_t file = 0;
    const int64_t who = why->by_words ? -1 : lost_by_all(s, &file); /* guessed words prove no lost connection */
    *taken = false;
    if (who < 0)
        return who == -1;
    why_link *link = why_new_link(why);
    why_item *told = link ? told_end_of(s, who) : NULL;
    bool made = link != NULL;
    if (told) {
        told->told = true;
        made = why_add_item(link, told);
    } else if (made) {
        why->state_event = silent_end_of(who, &why->file.list[file]);
        link->event = &why->state_event;
        link->count = 1;
        made = why_add_rank(link, who);
    }
    made = made && why_add_node(link, why_node_of(&why->facts, who)) &&
           why_add_text(&why->reason,
                        "all other ranks lost a connection, or waited in vain; of rank %lld no output says so",
                        (long long)who);
    if (made)
        why_make_unique(link);
    *taken = made;
    why->has_cause = true;
    why->certainty = WHY_UNKNOWN;
    return made;
}

/* Nobody says why: the rank that the launcher names, of several one that had not lost others; else the one that was silent
 * first. */
bool why_add_unknown(why_scene *s)
{
    assay_why *why = s->why;
    why_item *stopped = find_stopped(s);
    if (stopped) {
        why->has_cause = true;
        why->certainty = WHY_LIKELY;
        return why_add_cause(s, stopped) &&
               why_add_text(&why->reason, "its step was stopped, and nothing says that anybody had ended before");
    }
    bool taken;
    if (!add_lost(s, &taken) || taken)
        return taken;
    why_item *named = NULL;
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        if (i->survived || i->old || i->event->role == ASSAY_LOG_NOISE)
            continue;
        const int order = named ? ASSAY_ORDER(how_likely_first(s, i), how_likely_first(s, named)) : 1;
        if (order > 0 || (order == 0 && i->from < named->from))
            named = i;
    }
    why_link *link = named ? why_new_link(why) : NULL;
    if (!named)
        return true;
    if (!link || !why_add_item(link, named))
        return false;
    named->told = true;
    why_make_unique(link);
    why->has_cause = true;
    why->certainty = WHY_UNKNOWN;
    return why_add_text(&why->reason, "no output says why; the last lines of who stopped first stand below");
}

/* Reads the last lines of a rank again; false without memory. A file that cannot be read any more has none. */
static bool read_last_lines(assay_why *why, const assay_log_rank *row, const char *path)
{
    assay_store *store = NULL;
    int status = assay_store_open(why->directory, &store, NULL);
    ASSAY_THEN(status, assay_job_log_tail(store, path, row, &why->unknown, NULL));
    assay_store_close(store);
    if (why->unknown && !why->unknown[0]) {
        free(why->unknown);
        why->unknown = NULL;
    }
    return status != ASSAY_ENOMEM;
}

bool why_keep_last_lines(why_scene *s)
{
    assay_why *why = s->why;
    const int64_t wanted =
        why->chain.count > 0 && why->chain.list[0].rank.count > 0 ? why->chain.list[0].rank.list[0] : -1;
    const assay_log_rank *best = NULL;
    double earliest = INFINITY;
    for (size_t f = 0; f < why->file.count; f++)
        for (size_t r = 0; r < why->file.list[f].rank.count; r++) {
            const assay_log_rank *row = &why->file.list[f].rank.list[r];
            const why_place *place = &why->places.list.list[why->file.list[f].file];
            const int64_t rank = why_rank_of_row(place, row);
            const double time = why_normal_time(s, row->last_time, row->timed);
            if ((row->rank < 0 && why->file.list[f].rank.count > 1) || /* nobody's lines */
                (wanted >= 0 && rank != wanted && why->file.count > 1) ||
                (wanted >= 0 && rank != wanted && row->rank >= 0))
                continue;
            const bool sooner = best && why->unknown_file == why->file.list[f].file && isinf(earliest) && isnan(time) &&
                                row->last_at < best->last_at;
            if (!best || sooner || (!isnan(time) && time < earliest)) {
                best = row;
                why->unknown_file = why->file.list[f].file;
                earliest = isnan(time) ? earliest : time;
                why->unknown_rank = rank;
            }
        }
    return !best || read_last_lines(why, best, why->places.list.list[why->unknown_file].path);
}
