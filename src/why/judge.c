/* judge.c - how certain the cause is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "why/combine.h"

/* May the other one follow from the cause, whatever their times are? */
static bool may_follow(const why_item *cause, const why_item *other)
{
    const assay_ending o = other->event->ending;
    if (why_is_alike(cause, other) || cause->event->ending == o)
        return true;
    if (why_level_of(o) >= WHY_LEVEL_OTHERS || o == ASSAY_ENDING_signal || o == ASSAY_ENDING_worker_killed)
        return true;
    if (cause->event->ending == ASSAY_ENDING_gpu_fault)
        return o == ASSAY_ENDING_gpu_code || o == ASSAY_ENDING_crash || o == ASSAY_ENDING_exception;
    if (cause->event->ending == ASSAY_ENDING_device_assert)
        return o == ASSAY_ENDING_gpu_code || o == ASSAY_ENDING_exception;
    if (cause->event->ending == ASSAY_ENDING_disk)
        return o == ASSAY_ENDING_exception;
    return cause->rank >= 0 && cause->rank == other->rank && why_is_before(cause, other);
}

static bool is_system_record(const assay_log_event *e)
{
    return why_is_external(e->ending) || (e->scope != ASSAY_LOG_RANK && (e->ending == ASSAY_ENDING_host_memory ||
                                                                         e->ending == ASSAY_ENDING_gpu_fault));
}

/* Do launchers say of exactly these ranks that they ended with a code of their own? */
static bool launcher_names_only(const why_scene *s, const why_link *link)
{
    why_link named = {.time = NAN};
    bool made = true;
    for (size_t k = 0; k < s->item.count && made; k++) {
        const why_item *i = &s->item.list[k];
        if (i->event->ending == ASSAY_ENDING_launcher && !i->survived && !i->old && i->event->code > 0 &&
            (i->rank >= 0 || i->event->ranks[0]))
            made = why_add_item(&named, i);
    }
    why_make_unique(&named);
    bool same = made && named.rank.count == link->rank.count;
    for (size_t r = 0; same && r < named.rank.count; r++)
        same = named.rank.list[r] == link->rank.list[r];
    free(named.rank.list);
    free(named.node.list);
    return same;
}

/* Do the dumps say that others waited for the one rank of the cause? */
static bool names_hang(const assay_why *why, const why_link *link)
{
    return why->hang && why->hang_ranks.count == 1 && link->rank.count == 1 &&
           link->rank.list[0] == why->hang_ranks.list[0];
}

/* Is it an exception that the table knows no more of than its name, and that Python does not raise for a fault of the program
 * itself? Why it was raised stands in its words, which nobody read: a full disk and a wrong label are both a RuntimeError. */
bool why_is_unread(const assay_log_event *e)
{
    static const char *const own[] = {"KeyError",          "IndexError",          "TypeError",      "AttributeError",
                                      "NameError",         "UnboundLocalError",   "SyntaxError",    "IndentationError",
                                      "ZeroDivisionError", "NotImplementedError", "RecursionError", NULL};
    const char *name = strncmp(e->text, "raised ", 7) == 0 ? e->text + 7 : "";
    const size_t length = strcspn(name, ": ");
    if (e->guessed || strncmp(e->text, "had an assertion fail: ", 23) == 0)
        return true;
    if (e->ending != ASSAY_ENDING_exception || length == 0)
        return false;
    for (size_t i = 0; own[i]; i++)
        if (strlen(own[i]) == length && memcmp(own[i], name, length) == 0)
            return false;
    return true;
}

/* Had its rank waited for others in vain before? Then it says nothing of its own. */
static bool had_waited(const why_scene *s, const why_item *i)
{
    const why_group *group = &s->by_rank.group.list[i->group];
    for (size_t n = group->first; i->rank >= 0 && n < group->first + group->count; n++) {
        const why_item *other = &s->item.list[s->by_rank.member[n].item];
        if (other->file == i->file && other->event->line < i->event->line && !other->survived &&
            other->event->ending == ASSAY_ENDING_collective_timeout)
            return true;
    }
    return false;
}

static bool judge_order(why_scene *s, const why_item *cause)
{
    assay_why *why = s->why;
    const why_link *link = &why->chain.list[0];
    size_t others = 0;
    const why_item *other = NULL;
    bool made = true;
    for (size_t k = 0; k < s->item.count; k++) {
        const why_item *i = &s->item.list[k];
        if (i == cause || !i->first || i->told || may_follow(cause, i) || (i->rank != cause->rank && had_waited(s, i)))
            continue;
        others++;
        other = other ? other : i;
    }
    const bool alone = others == 0 && !link->derived && link->rank.count > 0 && launcher_names_only(s, link);
    const bool everybody = why->ranks_seen > 1 && link->rank.count == why->ranks_seen;
    why->certainty = others > 0 ? WHY_POSSIBLE : WHY_LIKELY;
    if (others > 0)
        made = why_add_text(&why->reason, "another thing is not certainly later: %.200s (%s:%llu)", other->event->text,
                            why->places.list.list[other->event->file].path, (unsigned long long)other->event->line);
    if (cause->event->role != ASSAY_LOG_CAUSE && !cause->event->in_traceback)
        return made && why_add_text(&why->reason, "it may itself follow from something that no output tells");
    if (others == 0 && is_system_record(cause->event)) {
        why->certainty = WHY_CERTAIN;
        made = made && why_add_text(&why->reason,
                                    "the system says so itself, and nothing that it does not explain came before");
    } else if (others == 0 && !link->derived && cause->named && link->rank.count == 1) {
        why->certainty = WHY_CERTAIN;
        made = made && why_add_text(&why->reason, "the launcher names the same rank as the first to fail");
    } else if (others == 0 && !link->derived && names_hang(why, link)) {
        why->certainty = WHY_CERTAIN;
        made = made && why_add_text(&why->reason, "dumps of flight recorders say that the others waited for it");
    } else if (alone) {
        why->certainty = WHY_CERTAIN;
        made = made && why_add_text(&why->reason, "the launcher says of nobody else that it failed by itself");
    } else if (others == 0 && everybody && (cause->level <= WHY_LEVEL_PROGRAM || cause->inside)) {
        why->certainty = WHY_CERTAIN;
        made = made && why_add_text(&why->reason, "all %llu ranks say the same", (unsigned long long)why->ranks_seen);
    } else if (others == 0) {
        made = made &&
               why_add_text(&why->reason, "nothing else that could be a cause was found, and no launcher confirms it");
    }
    return made;
}

bool why_judge(why_scene *s, const why_item *cause)
{
    assay_why *why = s->why;
    bool made = judge_order(s, cause);
    if (made && why->earlier)
        made = why_add_text(&why->reason, "the last run in its output counts; an earlier one %s", why->earlier);
    if (made && why->certainty == WHY_CERTAIN && why_is_unread(cause->event)) {
        why->certainty = WHY_LIKELY;
        made = why_add_text(&why->reason, "why it was raised stands in its message, which no signature knows");
    }
    if (made && cause->event->signature == ASSAY_SIGNATURE_WORDS) {
        why->certainty = why->certainty > WHY_POSSIBLE ? WHY_POSSIBLE : why->certainty;
        made = why_add_text(&why->reason, "its kind is guessed from words that no signature knows");
    }
    if (made && why->certainty == WHY_LIKELY && cause->inside && why->ranks_seen > 1 && !cause->named &&
        !s->by_rank.group.list[cause->group].ended) {
        why->certainty = WHY_POSSIBLE;
        made = why_add_text(&why->reason,
                            "its program caught it and wrote it out, and no launcher says that it ended then");
    }
    const why_place *place = &why->places.list.list[cause->event->file];
    if (made && place->base >= 0 && cause->rank >= 0) { /* elastic launchers may deal them out otherwise */
        why->certainty = why->certainty == WHY_CERTAIN ? WHY_LIKELY : why->certainty;
        made = why_add_text(
            &why->reason,
            "its rank is counted from the number of its node, as its output is called, and its local rank");
    }
    if (made && why->certainty == WHY_LIKELY && cause->event->shown) {
        why->certainty = WHY_POSSIBLE;
        made = why_add_text(&why->reason, "it stands in what looks like a text that a model made");
    }
    return made;
}
