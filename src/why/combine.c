/* combine.c - what came first, and what follows from it.
 *
 * 1. Each event gets its rank and node, and when it was: a span of time, since a line without a time is only known not
 *    to be before the one above it. Clocks of nodes may differ by seconds.
 * 2. What was followed by more steps of the training ended nothing.
 * 3. Of what may be a cause those count that nothing else is certainly before. Among these the kind decides that others
 *    follow from (a GPU that is lost before a connection that is), then the time, then the place.
 * 4. Without any cause the ranks count that did not come to the collective that others waited in.
 * 5. It is certain where a record of the system or of the launcher names the same, and nothing else is unexplained. */
#include "why/combine.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

int why_level_of(assay_ending ending)
{
    switch (ending) {
    case ASSAY_ENDING_node_failure:
    case ASSAY_ENDING_gpu_fault:
    case ASSAY_ENDING_host_memory:
    case ASSAY_ENDING_preempted:
    case ASSAY_ENDING_cancelled:
    case ASSAY_ENDING_time_limit:
    case ASSAY_ENDING_requeue:
        return WHY_LEVEL_SYSTEM;
    case ASSAY_ENDING_exception:
    case ASSAY_ENDING_gpu_code:
    case ASSAY_ENDING_crash:
    case ASSAY_ENDING_worker_killed:
    case ASSAY_ENDING_signal:
        return WHY_LEVEL_PROGRAM;
    case ASSAY_ENDING_rendezvous:
    case ASSAY_ENDING_network:
    case ASSAY_ENDING_collective_timeout:
        return WHY_LEVEL_OTHERS;
    case ASSAY_ENDING_launcher:
    case ASSAY_ENDING_noise:
        return WHY_LEVEL_LAUNCHER;
    default:
        return WHY_LEVEL_OWN;
    }
}

/* The level of an item: a cause is one whatever its kind, and what may be either stands behind. So does what a program caught
 * and wrote out, unless the launcher says that the program ended; where nobody knows which of several ranks it was, it stands behind what
 * ended others, too. */
static int level_of_item(const why_scene *s, const why_item *i)
{
    const assay_log_event *e = i->event;
    const int level = why_level_of(e->ending);
    if (i->inside && !i->named && !s->by_rank.group.list[i->group].ended && level <= WHY_LEVEL_PROGRAM)
        return i->rank < 0 && s->ranks > 1 ? WHY_LEVEL_OTHERS + 1 : WHY_LEVEL_WEAK + level / 2;
    if (e->role == ASSAY_LOG_CAUSE && level > WHY_LEVEL_PROGRAM)
        return WHY_LEVEL_OWN;
    if (e->role != ASSAY_LOG_EITHER || e->in_traceback)
        return level;
    return level <= WHY_LEVEL_PROGRAM ? WHY_LEVEL_WEAK + level / 2 : level + 1;
}

bool why_is_external(assay_ending ending)
{
    return ending == ASSAY_ENDING_preempted || ending == ASSAY_ENDING_cancelled || ending == ASSAY_ENDING_time_limit ||
           ending == ASSAY_ENDING_requeue || ending == ASSAY_ENDING_node_failure;
}

/* ---- survival ---- */

bool why_is_crash_of_own(const assay_log_event *e)
{
    return e->ending == ASSAY_ENDING_crash && (e->code == 11 || e->code == 7 || e->code == 4 || e->code == 8 ||
                                               (e->scope == ASSAY_LOG_JOB && e->role == ASSAY_LOG_CAUSE));
}

/* Does it say that something could not be started? */
static bool is_launch(const assay_log_event *e)
{
    return e->ending == ASSAY_ENDING_launcher && e->role == ASSAY_LOG_CAUSE && e->scope == ASSAY_LOG_JOB;
}

/* Is it what a launcher says behind a launch that failed? */
static bool follows_launch(const why_item *i, const why_item *launch)
{
    return i->event->ending == ASSAY_ENDING_launcher && i->event->role == ASSAY_LOG_CONSEQUENCE &&
           i->event->scope == ASSAY_LOG_JOB && i->file == launch->file &&
           i->event->last_line - launch->event->last_line < WHY_END_LINES;
}

/* Could it not be started, of what was started then? Its output has been taken into s->progress. */
static bool was_started(const why_scene *s, const why_item *i)
{
    const assay_log_event *e = i->event;
    const bool here = why_progress_behind(&s->progress, 0) >= 0;
    if (!is_launch(e))
        return false;
    if (!isnan(i->from) && !e->near && !isnan(s->last_step_time))
        return i->from < s->last_step_time;
    return !here && s->why->last_step >= 0; /* another output has its steps */
}

/* Is it what a tool says that a script called, as "rm: cannot remove '/x': Read-only file system"? Scripts go on behind them. */
static bool is_of_tool(const assay_log_event *e)
{
    static const char *const tools[] = {"rm",    "rmdir", "mkdir", "cp",    "mv",   "ln", "ls",   "cat",
                                        "chmod", "chown", "touch", "rsync", "find", "du", "grep", "sed"};
    const char *colon = strstr(e->quote, ": "), *word = e->quote;
    for (const char *at = e->quote; colon && at < colon; at++)
        if (*at == '/' || *at == ' ')
            word = at + 1;
    for (size_t i = 0; colon && !e->in_traceback && i < sizeof tools / sizeof *tools; i++)
        if (strlen(tools[i]) == (size_t)(colon - word) && memcmp(word, tools[i], strlen(tools[i])) == 0)
            return true;
    return false;
}

/* Did the training go on behind it? Its output has been taken into s->progress. A rank that names its steps, and none behind
 * an error that nothing caught, ended then, though others may have gone on for a while. */
static bool has_survived(const why_scene *s, const why_item *i)
{
    enum { STEPS = sizeof((assay_log_rank *)0)->step_at / sizeof *((assay_log_rank *)0)->step_at };
    enum { TOOL_LINES = 5 };
    const assay_log_event *e = i->event;
    const assay_log_rank *own = why_progress_of(&s->progress, e->rank >= 0 ? e->rank : e->local_rank);
    const bool uncaught = e->in_traceback && !i->inside, alone = s->progress.row.count == 1;
    const bool last = uncaught || e->signature == ASSAY_SIGNATURE_WORDS;
    const bool ended = last && own && !alone && own->last_step >= 0 && own->last_step_at < e->last_at;
    if (e->ignored && e->ending == ASSAY_ENDING_exception)
        return true;
    if (own && own->beat_at > e->last_at)
        return true;
    if (own && own->last_step_at > e->last_at && own->last_step > e->step &&
        (!uncaught || own->step_at[1] > e->last_at)) /* a bar is drawn again at the end */
        return true;
    if (own && own->step_at[STEPS - 1] > e->last_at) /* begun anew, at an earlier step */
        return true;
    if (!ended && (why_progress_behind(&s->progress, e->last_at) > e->step + 2 || s->progress.third_at > e->last_at))
        return true;
    if (e->scope == ASSAY_LOG_RANK && (why_has_finished(s, i) || why_dies_later(s, i)))
        return true;
    if (was_started(s, i) || (is_of_tool(e) && s->why->file.list[i->file].lines >= e->last_line + TOOL_LINES))
        return true;
    return !ended && e->count == 1 && !e->near && !isnan(i->from) && !isnan(s->last_step_time) &&
           s->last_step_time > i->from + WHY_GOES_ON;
}

/* Did its rank say hardly anything behind it? Its output has been taken into s->progress. */
static bool is_last_of_rank(const why_scene *s, const why_item *i)
{
    const int64_t rank = i->event->rank >= 0 ? i->event->rank : i->event->local_rank;
    const bool known = rank >= 0 || (i->rank >= 0 && s->progress.row.count == 1); /* it is the file of one rank */
    const assay_log_rank *own = known ? why_progress_of(&s->progress, rank) : NULL;
    return own && own->last_line - i->event->last_line < 3 * s->why->file.list[i->file].rank.count;
}

/* Did somebody catch it and write on, in an output that names no steps, and nobody else speaks of an error? Where one of several
 * ranks ends, others say so. s->progress has its output. */
static bool has_written_on(const why_scene *s, const why_item *i)
{
    const assay_log_event *e = i->event;
    const assay_log_rank *own = why_progress_of(&s->progress, e->rank >= 0 ? e->rank : e->local_rank);
    return i->inside && i->event->count == 1 && s->ranks > 1 && s->why->last_step >= 0 &&
           why_progress_behind(&s->progress, 0) < 0 && own && own->last_line > i->event->last_line;
}

/* Is it among the last lines of its file? */
static bool is_at_end(const why_scene *s, const why_item *i)
{
    const assay_log_file *file = &s->why->file.list[i->file];
    const bool alone =
        i->event->role == ASSAY_LOG_CAUSE || (i->event->in_traceback && i->event->role == ASSAY_LOG_EITHER);
    if (!alone) /* programs live on after much */
        return i->event->tail || file->lines - i->event->last_line < 3;
    return i->event->tail || file->lines - i->event->last_line < WHY_END_LINES + WHY_LINES_OF_RANK * file->rank.count;
}

/* ---- order ---- */

bool why_is_before(const why_item *a, const why_item *b)
{
    if (a->event->file == b->event->file && a->event->line < b->event->line &&
        (a->rank == b->rank || why_is_external(b->event->ending)))
        return true;
    if (isnan(a->to) || isnan(b->from))
        return false;
    const bool same_clock = a->node && b->node && strcmp(a->node, b->node) == 0;
    return a->to + (same_clock ? 0 : a->aligned && b->aligned ? WHY_ALIGNED : WHY_CLOCKS) < b->from;
}

/* May it be before others, and be why? Of what may be either nobody knows. */
static bool is_strong(const why_item *i)
{
    return i->level <= WHY_LEVEL_PROGRAM;
}

/* Is it known whom it speaks of? */
static int has_place(const why_item *i)
{
    return i->rank >= 0 || i->event->ranks[0] || (i->node && i->event->scope == ASSAY_LOG_NODE);
}

/* Is it something that a program of the training met? */
static bool is_program(const why_item *i)
{
    return i->event->scope == ASSAY_LOG_RANK && i->level <= WHY_LEVEL_PROGRAM && i->rank >= 0;
}

static int order_of_causes(const why_item *a, const why_item *b)
{
    const bool own = a->event->file == b->event->file && is_program(a) && is_program(b);
    int order = own ? 0 : ASSAY_ORDER(a->level, b->level); /* in one file it is seen which was first */
    order = order ? order : ASSAY_ORDER(has_place(b), has_place(a));
    order = order ? order : ASSAY_ORDER(b->named, a->named); /* whom the launcher names stands first */
    if (order == 0 && !isnan(a->from) && !isnan(b->from) && !a->event->near && !b->event->near)
        order = ASSAY_ORDER(a->from, b->from);
    order = order ? order : ASSAY_ORDER(a->event->file, b->event->file);
    return order ? order : ASSAY_ORDER(a->event->line, b->event->line);
}

/* ---- consequences that look like causes ---- */

static bool is_abort(const assay_log_event *e)
{
    return e->ending == ASSAY_ENDING_crash && (e->code == 6 || strstr(e->text, "nothing caught") ||
                                               strstr(e->text, "Abort") || strstr(e->text, "SIGABRT"));
}

/* Sums up what ended something, so that each end of a process can be held against it. */
static void sum_up(why_scene *s)
{
    s->least = INT_MAX;
    for (size_t k = 0; k < s->item.count; k++) {
        const why_item *i = &s->item.list[k];
        const assay_log_event *e = i->event;
        why_group *group = &s->by_rank.group.list[i->group];
        if (e->role == ASSAY_LOG_NOISE || i->survived)
            continue;
        if (!is_abort(e)) {
            group->speaks = group->speaks || (e->ending != ASSAY_ENDING_launcher && e->ending != ASSAY_ENDING_signal);
            s->starts =
                s->starts || e->ending == ASSAY_ENDING_collective_timeout ||
                (e->role == ASSAY_LOG_CAUSE && i->level <= WHY_LEVEL_PROGRAM && e->ending != ASSAY_ENDING_crash);
        }
        if (e->role == ASSAY_LOG_CAUSE && !i->inside) {
            group->least = i->level < group->least ? i->level : group->least;
            s->least = i->level < s->least ? i->level : s->least;
        }
    }
}

/* Is a process' end by a signal, or its crash, told of elsewhere? */
static bool is_explained(const why_scene *s, const why_item *i)
{
    const assay_log_event *e = i->event;
    const why_group *own = &s->by_rank.group.list[i->group], *nobody = &s->by_rank.group.list[0];
    if (e->ending != ASSAY_ENDING_crash && e->ending != ASSAY_ENDING_signal && e->ending != ASSAY_ENDING_launcher &&
        e->ending != ASSAY_ENDING_worker_killed)
        return false;
    if (is_abort(e) && (s->starts || (i->rank >= 0 && own->speaks)))
        return true; /* a program that gives up aborts itself */
    int least = i->rank < 0 ? s->least : own->least;
    if (nobody->rank < 0 && nobody->least < least)
        least = nobody->least;
    return e->ending != ASSAY_ENDING_crash && least < i->level;
}

/* ---- last words that no signature knows ---- */

static bool is_words(const why_item *i)
{
    return i->event->signature == ASSAY_SIGNATURE_WORDS;
}

/* Does a rank itself say it, and not a launcher or a watcher whose output has no lines of that rank? */
static bool is_of_writer(const why_scene *s, const why_item *i)
{
    const assay_log_file *file = &s->why->file.list[i->file];
    const why_place *place = &s->why->places.list.list[file->file];
    bool own = place->rank == i->rank || (place->rank < 0 && place->local_rank >= 0); /* the file is one rank's */
    for (size_t r = 0; r < file->rank.count && !own; r++)
        own = file->rank.list[r].rank == i->rank;
    return own && i->rank >= 0;
}

/* Is its kind one that no program lives on with, and tells of as by the way? */
static bool is_deadly(const assay_log_event *e)
{
    static const assay_ending kinds[] = {ASSAY_ENDING_gpu_fault, ASSAY_ENDING_gpu_memory, ASSAY_ENDING_host_memory,
                                         ASSAY_ENDING_crash,     ASSAY_ENDING_signal,     ASSAY_ENDING_node_failure};
    bool is = false;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !is; k++)
        is = e->guessed && e->ending == kinds[k];
    return is;
}

/* They count where nothing else says why: those of all ranks, or only those whose kind is guessed. Do any? Of a training of several
 * ranks that made steps what one rank says of itself says little, unless its kind does: where it ends, others say so. */
static bool take_words(why_scene *s, bool all)
{
    bool any = false;
    size_t ranks = 0;
    for (size_t k = 0; k < s->item.count; k++)
        ranks += is_words(&s->item.list[k]) && s->item.list[k].words && s->item.list[k].rank >= 0;
    const bool few = all && s->ranks > 1 && s->why->last_step >= 0 && 2 * ranks <= s->ranks;
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        if (!is_words(i) || !i->words || i->old || i->event->shown ||
            (few && is_of_writer(s, i) && !is_deadly(i->event)) || (!all && !i->event->guessed))
            continue;
        i->survived = false;
        any = true;
    }
    return any;
}

/* ---- the cause ---- */

static bool is_candidate(const why_item *i)
{
    return !i->survived && !i->old && !i->explained && !i->late &&
           (i->event->role == ASSAY_LOG_CAUSE || i->event->role == ASSAY_LOG_EITHER) &&
           (i->event->ending != ASSAY_ENDING_launcher || i->event->role == ASSAY_LOG_CAUSE);
}

/* Do both say the same, numbers aside? */
bool why_is_alike(const why_item *a, const why_item *b)
{
    const char *x = a->event->text, *y = b->event->text;
    if (a->event->signature != b->event->signature || a->event->ending != b->event->ending)
        return false;
    if (a->event->ending != ASSAY_ENDING_exception)
        return true;
    while (*x && *y && *x == *y) {
        x++;
        y++;
    }
    return (*x == '\0' && *y == '\0') || ((*x >= '0' && *x <= '9') && x > a->event->text + 12);
}

static why_item *find_cause(why_scene *s)
{
    why_item *best = NULL;
    for (size_t k = 0; k < s->item.count; k++)
        s->item.list[k].first = s->item.list[k].candidate = is_candidate(&s->item.list[k]);
    /* Only the earliest end of a candidate can be before others: linear but for those of one file and rank. */
    double earliest = INFINITY;
    for (size_t k = 0; k < s->item.count; k++)
        if (s->item.list[k].candidate && is_strong(&s->item.list[k]) && s->item.list[k].to < earliest)
            earliest = s->item.list[k].to;
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        if (i->candidate && !isnan(i->from) && earliest + WHY_CLOCKS < i->from)
            i->first = false;
    }
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        /* events of a file stand in the order of lines: one before it of the same rank is near in the list */
        for (size_t n = k, looked = 0; i->first && n-- > 0 && looked < 512; looked++) {
            const why_item *other = &s->item.list[n];
            if (other->event->file != i->event->file)
                break;
            if (other->candidate && (is_strong(other) || !is_strong(i)) && why_is_before(other, i))
                i->first = false;
        }
        if (i->first && (!best || order_of_causes(i, best) < 0))
            best = i;
    }
    for (size_t k = 0; best && k < s->item.count; k++) { /* one clock is exact */
        why_item *i = &s->item.list[k];
        if (i != best && i->first && is_strong(i) && why_is_before(i, best) && !why_is_alike(i, best) &&
            i->level <= best->level)
            best = i;
    }
    return best;
}

/* ---- all of it ---- */

static bool has_hard_evidence(const why_scene *s)
{
    const why_facts *f = &s->why->facts;
    if (f->state[0] && strcmp(f->state, "COMPLETED") != 0 && strcmp(f->state, "RUNNING") != 0 &&
        strcmp(f->state, "PENDING") != 0 && strcmp(f->state, "COMPLETING") != 0)
        return true;
    for (size_t k = 0; k < s->item.count; k++) {
        const why_item *i = &s->item.list[k];
        const assay_log_event *e = i->event;
        if (i->survived || i->old || e->role == ASSAY_LOG_NOISE)
            continue;
        if (e->ending == ASSAY_ENDING_launcher || e->ending == ASSAY_ENDING_signal ||
            e->ending == ASSAY_ENDING_collective_timeout ||
            (e->role == ASSAY_LOG_CAUSE && (e->scope != ASSAY_LOG_RANK || why_is_external(e->ending))) ||
            (e->role == ASSAY_LOG_EITHER && e->scope == ASSAY_LOG_JOB && why_level_of(e->ending) == WHY_LEVEL_OTHERS &&
             e->rank >= 0)) /* others say that they lost it */
            return true;
    }
    return false;
}

/* Does any rank say that the training came to its end? */
static bool is_any_finished(const assay_why *why)
{
    for (size_t f = 0; f < why->file.count; f++)
        for (size_t r = 0; r < why->file.list[f].rank.count; r++)
            if (why->file.list[f].rank.list[r].finished)
                return true;
    return false;
}

/* Without a word of the launcher: did most ranks end because of others? One that loses a connection may go on. */
static bool have_many_lost_others(const why_scene *s)
{
    size_t lost = 0;
    for (size_t k = 0; k < s->item.count; k++) {
        const why_item *i = &s->item.list[k];
        lost += i->event->role == ASSAY_LOG_CONSEQUENCE && !i->survived &&
                (i->event->in_traceback ? is_at_end(s, i) || (i->last && !i->inside) : i->last);
    }
    return lost * 2 > s->ranks;
}

static bool is_completed(const why_facts *f)
{
    return strcmp(f->state, "COMPLETED") == 0 && (f->exit_code[0] == '\0' || strcmp(f->exit_code, "0:0") == 0);
}

/* What ends a job that hangs: a limit, or somebody who had enough of it. */
static bool ends_a_hang(assay_ending ending)
{
    return ending == ASSAY_ENDING_time_limit || ending == ASSAY_ENDING_cancelled;
}

/* No output says why, and Slurm does by the state of the job. */
static bool add_state(why_scene *s)
{
    static const struct {
        const char *state, *text;
        assay_ending ending;
    } STATES[] = {{"TIMEOUT", "was ended at its time limit, as Slurm says", ASSAY_ENDING_time_limit},
                  {"DEADLINE", "was ended at its deadline, as Slurm says", ASSAY_ENDING_time_limit},
                  {"OUT_OF_ME", "used more memory than it was given, as Slurm says", ASSAY_ENDING_host_memory},
                  {"NODE_FAIL", "lost a node, as Slurm says", ASSAY_ENDING_node_failure},
                  {"BOOT_FAIL", "had a node that did not start, as Slurm says", ASSAY_ENDING_node_failure},
                  {"PREEMPTED", "was stopped for a job that goes first, as Slurm says", ASSAY_ENDING_preempted},
                  {"CANCELLED", "was cancelled, as Slurm says", ASSAY_ENDING_cancelled}};
    assay_why *why = s->why;
    size_t i = 0, place = 0;
    while (i < sizeof STATES / sizeof *STATES &&
           strncmp(why->facts.state, STATES[i].state, strlen(STATES[i].state)) != 0)
        i++;
    while (place < why->places.list.count && strcmp(why->places.list.list[place].path, why->facts.file) != 0)
        place++;
    if (i == sizeof STATES / sizeof *STATES || place == why->places.list.count)
        return true;
    why_link *link = why_new_link(why);
    if (!link)
        return false;
    why->state_event = (assay_log_event){.signature = ASSAY_SIGNATURE_STATE,
                                         .ending = STATES[i].ending,
                                         .role = ASSAY_LOG_CAUSE,
                                         .scope = ASSAY_LOG_JOB,
                                         .file = (uint32_t)place,
                                         .line = why->facts.line,
                                         .count = 1,
                                         .rank = -1,
                                         .local_rank = -1,
                                         .step = -1,
                                         .code = -1,
                                         .sequence = -1,
                                         .time = NAN,
                                         .text = (char *)STATES[i].text,
                                         .quote = why->facts.state};
    link->event = &why->state_event;
    link->count = 1;
    why->has_cause = true;
    why->certainty = WHY_LIKELY;
    return why_add_text(&why->reason, "it is the state of the job, and no output says more");
}

/* Does Slurm's state say of something that others wait for, and not of how a job that hangs is ended? */
static bool is_before_a_hang(const why_facts *f)
{
    static const char *const states[] = {"OUT_OF_ME", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strncmp(f->state, states[i], strlen(states[i])) == 0)
            return true;
    return false;
}

/* Dumps say who hung, and no output says of anything before it. */
static bool add_hang(why_scene *s)
{
    assay_why *why = s->why;
    if (is_before_a_hang(&why->facts) && (!add_state(s) || why->has_cause))
        return why->has_cause && why_add_text(&why->reason, "dumps of flight recorders say: %s", why->hang);
    why_link *link = why_new_link(why);
    bool made = link != NULL;
    if (!made)
        return false;
    link->event = &why->hang_event;
    link->count = 1;
    for (size_t r = 0; r < why->hang_ranks.count && made; r++)
        made = why_add_rank(link, why->hang_ranks.list[r]);
    for (size_t r = 0; r < link->rank.count && made && r < 64; r++)
        made = why_add_node(link, why_node_of(&why->facts, link->rank.list[r]));
    why_make_unique(link);
    why->has_cause = true;
    why->certainty = WHY_LIKELY;
    return made &&
           why_add_text(&why->reason, "dumps of flight recorders say who held up the others, and no output says "
                                      "of anything before it");
}

/* May it be a line of an exception's message, which says what happened? */
static bool is_of_message(const why_item *i)
{
    const assay_ending ending = i->event->ending;
    if (i->survived || i->event->in_traceback)
        return false;
    return (i->event->role == ASSAY_LOG_CAUSE && i->level == WHY_LEVEL_OWN) || ending == ASSAY_ENDING_gpu_code ||
           (ending == ASSAY_ENDING_host_memory && i->event->role == ASSAY_LOG_CAUSE);
}

/* May words that no signature knows say more than it does? Its class says nothing of what happened. */
static bool may_be_told(const why_item *i)
{
    return i->event->in_traceback && i->event->ending == ASSAY_ENDING_exception && why_is_unread(i->event);
}

/* Was it raised while the other one was handled, and is its kind known? */
static bool tells_in_place_of(const why_item *i, const why_item *before)
{
    return i->event->chained && i->event->in_traceback && !i->survived && i->event->role == ASSAY_LOG_CAUSE &&
           i->event->ending != ASSAY_ENDING_exception && !before->survived && may_be_told(before);
}

/* The message of an exception may go over several lines, and one of them say more than its class does; so may what its rank wrote
 * just before, and what was raised while it was handled. */
static void take_messages(why_scene *s)
{
    for (size_t k = 0; k + 1 < s->item.count; k++) {
        const why_member *m = &s->by_rank.member[k], *next = m + 1;
        why_item *i = &s->item.list[m->item], *other = &s->item.list[next->item];
        const size_t ranks = s->why->file.list[i->file].rank.count;
        const uint64_t lines = WHY_LINES_OF_RANK * (ranks > 0 ? ranks : 1);
        if (next->rank != m->rank || other->file != i->file)
            continue;
        const bool unread = i->event->ending == ASSAY_ENDING_exception || i->event->guessed,
                   near = other->event->line - i->event->last_line < lines;
        if (tells_in_place_of(other, i)) {
            i->told = i->explained = true;
        } else if (!near) {
            continue;
        } else if (i->event->in_traceback && unread && is_of_message(other)) {
            i->told = i->explained = true;
        } else if (other->words && other->event->guessed && may_be_told(i) && !i->survived) {
            other->survived = false;
            i->told = i->explained = true;
        } else if (i->words && i->event->guessed && may_be_told(other) && !other->survived) {
            i->survived = false;
            other->told = other->explained = true;
        }
    }
}

/* When the scheduler ended the job, and the training had made steps until then; NULL: neither is known. */
static const why_item *find_end_of_steps(const why_scene *s)
{
    for (size_t k = 0; k < s->item.count; k++) {
        const why_item *i = &s->item.list[k];
        const assay_ending ending = i->event->ending;
        if (!i->old && !i->event->near && i->event->role == ASSAY_LOG_CAUSE &&
            (ending == ASSAY_ENDING_time_limit || ending == ASSAY_ENDING_preempted || ending == ASSAY_ENDING_requeue) &&
            fabs(i->from - s->last_step_time) <= WHY_GOES_ON)
            return i;
    }
    return NULL;
}

/* What ranks said before that ended nothing, wherever they said it. */
static void forgive(why_scene *s)
{
    const why_item *end = find_end_of_steps(s);
    for (size_t k = 0; end && k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        const bool later = (i->file == end->file && i->event->line > end->event->line) ||
                           (!i->event->near && i->from >= s->last_step_time);
        if (i->event->scope == ASSAY_LOG_RANK && !later)
            i->survived = true;
    }
}

/* Do two files of a rank say the same? torchrun writes what ranks say into its own output and into files of theirs. */
static bool is_copy(const why_item *a, const why_item *b)
{
    const assay_log_event *x = a->event, *y = b->event;
    return a->file != b->file && x->signature == y->signature && x->in_traceback && y->in_traceback &&
           a->inside == b->inside && x->count == y->count && strcmp(x->text, y->text) == 0 && x->place && y->place &&
           strcmp(x->place, y->place) == 0;
}

/* What one output of a rank shows to have ended nothing ended nothing where another has it as its last lines. */
static void forgive_copies(why_scene *s)
{
    enum { LOOKED_MOST = 64 };
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[s->by_rank.member[k].item];
        const why_group *group = &s->by_rank.group.list[i->group];
        const size_t end = group->first + group->count, most = group->first + LOOKED_MOST;
        for (size_t n = group->first; n < end && n < most && i->rank >= 0 && i->event->in_traceback && !i->survived;
             n++) {
            const why_item *other = &s->item.list[s->by_rank.member[n].item];
            i->survived = other->survived && is_copy(i, other);
        }
    }
}

static bool tell(why_scene *s)
{
    assay_why *why = s->why;
    bool any = false, survivors = false;
    const why_item *launch = NULL; /* the last one that was tried again */
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        i->level = level_of_item(s, i);
        if (!why_progress_take(s, i->file, &s->progress))
            return false;
        i->survived = has_survived(s, i) || (launch && follows_launch(i, launch));
        i->words = is_words(i) && !i->survived;
        i->survived = i->survived || i->words;
        launch = i->survived && is_launch(i->event) ? i : launch;
        i->last = is_last_of_rank(s, i);
    }
    forgive(s);
    forgive_copies(s);
    const bool hard = has_hard_evidence(s), many = hard || have_many_lost_others(s);
    const bool finished = is_any_finished(s->why);
    bool alone = !hard; /* only what programs caught is there */
    for (size_t k = 0; k < s->item.count; k++) {
        const why_item *i = &s->item.list[k];
        alone = alone && (i->survived || i->old || i->inside || i->event->shown || i->event->role == ASSAY_LOG_NOISE);
    }
    for (size_t k = 0; k < s->item.count; k++) {
        why_item *i = &s->item.list[k];
        const bool rumour = i->event->role == ASSAY_LOG_EITHER && i->event->scope == ASSAY_LOG_NODE;
        const bool follows = i->event->role == ASSAY_LOG_CONSEQUENCE;
        const bool uncaught = i->event->in_traceback && !i->inside;
        const bool ends = is_at_end(s, i) || ((follows || uncaught) && i->last);
        /* A model wrote it: where a process of several ends, others say so, of one alone nobody would. */
        const bool shown = i->event->shown && i->event->count == 1 && s->ranks > 1;
        if (alone && i->inside && !why_progress_take(s, i->file, &s->progress))
            return false;
        const bool forgiven = shown || (alone && has_written_on(s, i));
        if (!hard && !i->survived && (finished || rumour || forgiven || (!many && (follows || !ends)))) {
            i->survived = true; /* its program went on to say other things, and nothing says that the job failed */
            why->forgiven = forgiven && ends && !finished && !why->forgiven ? i->event : why->forgiven;
        }
        any = any || (!i->survived && !i->old && i->event->role != ASSAY_LOG_NOISE);
        survivors =
            survivors || (i->survived && !i->old && (i->event->role == ASSAY_LOG_CAUSE || i->event->in_traceback));
    }
    if (is_completed(&why->facts))
        return true;
    take_messages(s);
    why->by_words = !any && !hard && !why->hang && !finished && take_words(s, true);
    if (!any && !hard && !why->hang && !why->by_words)
        return true;
    why->failed = true;
    sum_up(s);
    for (size_t k = 0; k < s->item.count; k++)
        s->item.list[k].explained = s->item.list[k].explained || is_explained(s, &s->item.list[k]);
    why_item *cause = find_cause(s);
    const bool told = cause && cause->level < WHY_LEVEL_LAUNCHER; /* a launcher says who ended, not why */
    if (!told && survivors && hard) { /* what is written last may be older: programs keep lines in memory */
        bool waits = false;
        for (size_t k = 0; k < s->item.count; k++)
            waits = waits ||
                    (s->item.list[k].event->ending == ASSAY_ENDING_collective_timeout && !s->item.list[k].survived);
        for (size_t k = 0; k < s->item.count && !waits; k++)
            if (s->item.list[k].survived && s->item.list[k].event->in_traceback && !s->item.list[k].event->ignored &&
                !s->item.list[k].inside && is_at_end(s, &s->item.list[k]) && !why_dies_later(s, &s->item.list[k]))
                s->item.list[k].survived = false;
        cause = find_cause(s);
    }
    if (!(cause && cause->level < WHY_LEVEL_LAUNCHER) && !finished && !why->hang && take_words(s, false))
        cause = find_cause(s);
    const bool hung = why->hang && (!cause || cause->level >= WHY_LEVEL_OTHERS || ends_a_hang(cause->event->ending));
    if (hung) {
        if (!add_hang(s))
            return false;
    } else if (cause) {
        why->has_cause = true;
        if (!why_add_cause(s, cause) || !why_judge(s, cause))
            return false;
        if (why->left_out > 0 && why->certainty == WHY_CERTAIN) {
            why->certainty = WHY_LIKELY;
            if (!why_add_text(&why->reason, "events were left out, and one of them may have been before"))
                return false;
        }
    } else if ((!why->by_words && !why_add_absent(s)) || (!why->has_cause && !add_state(s)) ||
               (!why->has_cause && !why_add_unknown(s))) {
        return false;
    }
    why->step = -1;
    if (why->chain.count > 0 && why->has_cause && why->chain.list[0].event)
        why->step = why->chain.list[0].event->step;
    if (why->step < 0 && why->has_cause)
        why->step = why->last_step;
    if (!why_add_consequences(s) || !why_add_silent(s))
        return false;
    return why->certainty != WHY_UNKNOWN || why_keep_last_lines(s);
}

int why_combine(assay_why *why)
{
    why_scene scene = {.why = why};
    why->unknown_rank = why->step = -1;
    bool made = why_scene_make(&scene), left = false;
    if (made)
        made = why_leave_earlier_runs(why, scene.ranks > 1, &left);
    if (made && left) {
        why_scene_release(&scene);
        scene = (why_scene){.why = why};
        made = why_scene_make(&scene);
    }
    if (made)
        why_leave_earlier_attempts(&scene);
    made = made && why_leave_earlier_jobs(&scene) && tell(&scene) && (!why->failed || why_make_timeline(why));
    why_scene_release(&scene);
    return made ? why_put_answer(why) : ASSAY_ENOMEM;
}
