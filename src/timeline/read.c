/* read.c - reads the event files of a trial in one process, and names what is wrong with them. */
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "timeline/clock.h"
#include "timeline/collect.h"
#include "trial/problem.h"

/* Reads all files once; *again: it has to be done anew with `exact`. */
static int read_all(assay_store *store, const assay_event_files *files, bool exact, assay_timeline_data **out,
                    bool *again, assay_error *err)
{
    const assay_timeline_want want = {.cell_size = ASSAY_TIMELINE_MINUTE};
    assay_collector *c = assay_collector_new(&want, exact);
    int status = c ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < files->count && status == ASSAY_OK; i++)
        if (!((unsigned)ASSAY_EVENTS_OF_RANKS & 1u << files->list[i].kind))
            status = assay_collector_read(c, store, &files->list[i], (uint32_t)i, err);
    ASSAY_THEN(status, assay_collector_finish(c, files, out, again));
    assay_collector_free(c);
    return status;
}

/* Exact reading takes a row for each unit and sample, so it comes second, and only where it is needed. */
int assay_timeline_read(assay_store *store, const assay_event_files *files, assay_timeline_data **out, assay_error *err)
{
    bool again = false;
    *out = NULL;
    int status = read_all(store, files, false, out, &again, err);
    if (status == ASSAY_OK && again)
        status = read_all(store, files, true, out, &again, err);
    if (status == ASSAY_ENOMEM && err && !err->text[0])
        assay_fail(err, status, "%s: out of memory while its event files were read", assay_store_location(store));
    return status;
}

/* Names the first files of each kind, and counts the others. */
static void name_oddities(const assay_timeline_data *t, const assay_event_files *files, assay_problems *problems)
{
    enum { NAMED = 20 };
    static const int kinds[ASSAY_ODDITIES] = {
        [ASSAY_ODD_CLOCK] = ASSAY_PROBLEM_CLOCK, [ASSAY_ODD_PERCENT] = ASSAY_PROBLEM_PERCENT};
    uint64_t found[ASSAY_ODDITIES] = {0};
    for (size_t i = 0; i < t->odds; i++) {
        const assay_timeline_oddity *o = &t->odd[i];
        if (found[o->kind]++ >= NAMED)
            continue;
        const char *path = files->list[o->file].path, *node = assay_timeline_text(t, o->node),
                   *unit = assay_timeline_text(t, o->unit), *metric = assay_metric_word((int)o->metric);
        const unsigned long long line = o->line;
        if (o->kind == ASSAY_ODD_CLOCK)
            assay_problems_add(problems, ASSAY_PROBLEM_CLOCK, -1, path, -1,
                               "%s: line %llu: the time of %s on %s goes back by %.6g s; each sample counts at the "
                               "time that it states",
                               path, line, unit, node, (double)o->value / 1e6);
        else
            assay_problems_add(
                problems, ASSAY_PROBLEM_PERCENT, -1, path, -1,
                "%s: line %llu: %s of %s on %s is %.6g percent, which no machine has; it counts as it is", path, line,
                metric, unit, node, (double)o->value / 1e6);
    }
    for (int kind = 0; kind < ASSAY_ODDITIES; kind++)
        if (found[kind] > NAMED)
            assay_problems_add(problems, kinds[kind], -1, "", -1, "the same in %llu more event files",
                               (unsigned long long)(found[kind] - NAMED));
}

/* Puts one sentence for all workers whose clocks differ. */
static int name_clocks(const assay_timeline_data *t, assay_problems *problems)
{
    enum { NAMED = 5 };
    const assay_timeline *line = &t->line;
    assay_clock *clock = assay_alloc_zeroed(line->workers, sizeof *clock);
    assay_buf names = ASSAY_BUF(SIZE_MAX);
    unsigned skewed = 0;
    int status = clock ? assay_timeline_clocks(line, clock) : ASSAY_ENOMEM;
    for (uint32_t w = 0; status == ASSAY_OK && w < line->workers; w++) {
        if (!assay_clock_is_skewed(&clock[w]))
            continue;
        if (skewed++ < NAMED)
            assay_put_format(&names, "%s%s %.6g s %s", skewed > 1 ? ", " : "", line->worker[w].name,
                             fabs((double)clock[w].offset) / 1e6, clock[w].offset > 0 ? "later" : "earlier");
    }
    if (skewed > NAMED)
        assay_put_format(&names, ", and %u more", skewed - NAMED);
    ASSAY_THEN(status, assay_buf_status(&names));
    if (status == ASSAY_OK && skewed > 0)
        assay_problems_add(problems, ASSAY_PROBLEM_CLOCK, -1, "", -1,
                           "steps of the same number begin at other times than on %s: %.*s; the clocks differ, or the "
                           "workers were not at the same step; no time is changed for it",
                           line->worker[line->step[0].worker].name, (int)names.size, (const char *)names.data);
    assay_buf_release(&names);
    free(clock);
    return status;
}

int assay_timeline_name_problems(const assay_timeline_data *t, const assay_event_files *files, assay_problems *problems)
{
    for (size_t i = 0; i < t->problems; i++) {
        const assay_timeline_problem *p = &t->problem[i];
        const char *path = files->list[p->file].path, *text = assay_timeline_text(t, p->text);
        const bool left = p->kind == ASSAY_EVENT_EMPTY_FILE || p->kind == ASSAY_EVENT_UNFINISHED;
        const int kind = left ? ASSAY_PROBLEM_EVENTS_LEFT : ASSAY_PROBLEM_EVENTS;
        if (p->line > 0)
            assay_problems_add(problems, kind, -1, path, -1, "%s: line %llu (%s): %s; the rest is used", path,
                               (unsigned long long)p->line, assay_event_problem_word((int)p->kind), text);
        else
            assay_problems_add(problems, kind, -1, path, -1, "%s: %s", path, text);
    }
    if (t->problems_total > t->problems)
        assay_problems_add(problems, ASSAY_PROBLEM_EVENTS, -1, "", -1,
                           "%llu more lines of event files are damaged: of each file the first %d are named",
                           (unsigned long long)(t->problems_total - t->problems), (int)ASSAY_EVENTS_PROBLEMS_A_FILE);
    name_oddities(t, files, problems);
    const int status = name_clocks(t, problems);
    return status == ASSAY_OK ? problems->status : status;
}
