/* missing_worker.c - MissingWorker: workers that stopped writing, left steps out, or never wrote.
 *
 *   absent  a worker that wrote in this mode at some step has no tensor at step s, although another worker has. value =
 *           consecutive steps of the mode that it has missed, fires at num_steps. The trial's newest step is not tested
 *           while the training runs: the worker may only be late. Nor are steps behind the last one of a worker that
 *           closed its recording while others went on (the fact `closed`): it was done
 *   killed  a worker opened its recording and did not close it, although others did (the fact `unclosed`). The finding
 *           is at the last step that it wrote, its value 1
 *   never   a worker is known to the trial and wrote no step, or fewer are known than the collections file expects;
 *           value = how many are missing. Tested once, if at least two workers wrote
 *   failed  an exception ended a worker's process while others went on, or ended in order (the fact `failed`). The
 *           finding is at the last step that it wrote
 *   crashed an exception ended the processes of all workers: one finding, of the first of them
 *   followed a worker ended because another one had: its exception says that a peer was gone, or a launcher stopped it at the
 *           time of another worker's exception. The finding is at the last step of that other worker
 *   away    as absent, before the first step or behind the last one of a worker that closed its recording and went
 *           through fewer steps than others (the fact `closed`): it joined later, has fewer data, takes part by turns, or
 *           counts its own steps
 *
 * Workers that never write in a mode are not expected there: often only one worker evaluates. Where a topology says
 * that workers have pieces of tensors, the remark names those that cannot be put together without the worker. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workers.h"

enum { ABSENT, AWAY, CRASHED, FAILED, FOLLOWED, KILLED, NEVER };
static const assay_param_def params[] = {
    ASSAY_INT_PARAM("num_steps", "1", 1, 1000000, "Consecutive saved steps a worker must miss."),
    {0},
};

enum { MODE, TIME, WIDTH }; /* of the step, and when the newest of its tensors was written */

/* One row for each worker that has a tensor. */
static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_slot_view *slot = &view->slot[0];
    uint32_t workers = assay_trial_workers(rule->trial);
    bool *seen = calloc(workers ? workers : 1, sizeof *seen);
    double row[WIDTH] = {[MODE] = view->mode};
    if (!seen)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < slot->count; i++) {
        if (slot->items[i]->worker < workers)
            seen[slot->items[i]->worker] = true;
        row[TIME] = fmax(row[TIME], slot->items[i]->wall_time);
    }
    int status = ASSAY_OK;
    for (uint32_t w = 0; status == ASSAY_OK && w < workers; w++)
        if (seen[w])
            status = assay_series_add(((assay_common_state *)state)->series, view->step, ASSAY_NO_TENSOR, w, row);
    free(seen);
    return status;
}

/* What is known of one worker on the walk over the steps. */
typedef struct attendance {
    uint32_t modes;              /* it writes in: bit 1 << mode */
    int64_t last;                /* step that it wrote, -1: none so far */
    int64_t end;                 /* the last of all that it wrote, where it left in order; else INT64_MAX */
    int64_t missed[ASSAY_MODES]; /* steps in a row */
    bool here;
    bool fewer, away; /* it went through fewer steps than others, and closed its recording; that was found */
    int64_t newest;   /* of all steps that it wrote */
    double at;        /* when the last of them was written, by its newest tensor of any worker */
} attendance;

typedef struct roll {
    const assay_rule *rule;
    const assay_series *series;
    uint64_t next; /* row */
    attendance *worker;
    uint32_t workers;
} roll;

static void note_modes(roll *r)
{
    for (uint64_t i = 0; i < assay_series_count(r->series); i++) {
        assay_row row = assay_series_row(r->series, i);
        if (row.worker < r->workers && row.value[MODE] >= 0 && row.value[MODE] < ASSAY_MODES)
            r->worker[row.worker].modes |= 1u << (int)row.value[MODE];
        if (row.worker < r->workers)
            r->worker[row.worker].at = row.value[TIME];
    }
}

/* Marks who is there at the step; false when nobody is. */
static bool call_roll(roll *r, int64_t step)
{
    bool any = false;
    for (uint32_t w = 0; w < r->workers; w++)
        r->worker[w].here = false;
    for (; r->next < assay_series_count(r->series); r->next++) {
        assay_row row = assay_series_row(r->series, r->next);
        if (row.step > step)
            break;
        if (row.step == step && row.worker < r->workers)
            any = r->worker[row.worker].here = true;
    }
    return any;
}

enum { NOTE_ROOM = 256, NAMED = 3 };

/* Adds the tensors that a step lacks because this worker's pieces of them are missing; ASSAY_ALL_WORKERS: anyone's. */
static void add_incomplete(const roll *r, int64_t step, uint32_t w, char note[NOTE_ROOM])
{
    const assay_trial *trial = r->rule->trial;
    const uint64_t claims = assay_trial_claims(trial);
    char names[NOTE_ROOM] = "";
    size_t used = 0;
    uint32_t count = 0;
    bool *seen = calloc((size_t)assay_trial_tensors(trial) + 1, sizeof *seen);
    for (uint64_t i = 0; seen && i < claims; i++) {
        const assay_claim *c = assay_trial_claim(trial, i);
        if (c->step != step || c->kind != ASSAY_CLAIM_PROMISED || c->tensor == ASSAY_NO_TENSOR || seen[c->tensor])
            continue;
        const assay_relation has = assay_trial_relation(trial, c->tensor, c->worker);
        if (!has.split || (w != ASSAY_ALL_WORKERS && assay_trial_relation(trial, c->tensor, w).copy != has.copy))
            continue;
        seen[c->tensor] = true;
        if (count++ < NAMED && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "",
                                     assay_trial_tensor(trial, c->tensor));
    }
    free(seen);
    if (count == 0)
        return;
    const size_t at = strlen(note);
    snprintf(note + at, NOTE_ROOM - at, "; %" PRIu32 " tensor%s cannot be put together: %s%s", count,
             count == 1 ? "" : "s", names, count > NAMED ? ", ..." : "");
}

static int test_worker(roll *r, const assay_step_info *info, uint32_t w, assay_verdict *verdict)
{
    attendance *a = &r->worker[w];
    int64_t num_steps = assay_param_int(r->rule->params, "num_steps"), *missed = &a->missed[info->mode];
    char note[NOTE_ROOM] = "has not written before";
    if (info->step > a->end)
        return ASSAY_OK;
    *missed = a->here ? 0 : *missed + 1;
    if (a->here)
        a->last = info->step;
    else if (a->last >= 0)
        snprintf(note, sizeof note, "wrote last at step %" PRId64, a->last);
    if (*missed >= num_steps)
        add_incomplete(r, info->step, w, note);
    const int test = a->fewer && (a->last < 0 || info->step > a->newest) ? AWAY : ABSENT;
    a->away = a->away || (test == AWAY && *missed >= num_steps);
    assay_finding finding = {.step = info->step,
                             .tensor = ASSAY_NO_TENSOR,
                             .worker = w,
                             .test = test,
                             .value_unit = test,
                             .value = (double)*missed,
                             .threshold = (double)num_steps,
                             .note = note};
    return assay_findings_test(assay_verdict_findings(verdict), *missed >= num_steps, &finding);
}

/* Says who of "worker_0", "worker_1", ... nothing came from; nothing where workers have other names. A trial may expect any
 * number of them: no more are looked at than can be named. 0 or ASSAY_ENOMEM. */
static int put_absent(const roll *r, uint32_t expected, char note[NOTE_ROOM])
{
    const uint32_t looked = expected > r->workers + NAMED ? r->workers + NAMED : expected;
    uint32_t absent = expected, named = 0;
    bool *wrote = calloc((size_t)looked + 1, sizeof *wrote), ours = true;
    ASSAY_HAVE(wrote);
    for (uint32_t w = 0; ours && w < r->workers; w++) {
        const char *name = assay_trial_worker(r->rule->trial, w);
        char *end = NULL;
        const unsigned long k = strncmp(name, "worker_", 7) == 0 ? strtoul(name + 7, &end, 10) : 0;
        ours = end && end != name + 7 && !*end;
        if (!ours || r->worker[w].modes == 0 || k >= expected)
            continue;
        absent--;
        wrote[k < looked ? k : looked] = true; /* the last one is for all that are not looked at */
    }
    for (uint32_t k = 0; ours && k < looked && named < NAMED; k++)
        if (!wrote[k]) {
            const size_t at = strlen(note);
            snprintf(note + at, NOTE_ROOM - at, "%sworker_%" PRIu32, named++ ? ", " : ": nothing came from ", k);
        }
    free(wrote);
    if (ours && absent > named) {
        const size_t at = strlen(note);
        snprintf(note + at, NOTE_ROOM - at, " and %" PRIu32 " more", absent - named);
    }
    return ASSAY_OK;
}

/* Workers that are known by their collections file alone, then those that nothing is known of. Where one worker alone
 * wrote, it was asked to write for all. */
static int test_never(const roll *r, int64_t step, assay_verdict *verdict)
{
    uint32_t expected = assay_trial_expected_workers(r->rule->trial), wrote = 0;
    char note[NOTE_ROOM];
    for (uint32_t w = 0; w < r->workers; w++)
        wrote += r->worker[w].modes != 0;
    snprintf(note, sizeof note, "%" PRIu32 " of %" PRIu32 " expected workers wrote", wrote, expected);
    int status = put_absent(r, expected, note);
    for (uint32_t w = 0; status == ASSAY_OK && wrote > 1 && w <= r->workers; w++) {
        bool unknown = w == r->workers;
        uint32_t missing = unknown ? expected - r->workers : r->worker[w].modes == 0;
        if (missing > 0)
            add_incomplete(r, step, ASSAY_ALL_WORKERS, note);
        assay_finding finding = {.step = step,
                                 .tensor = ASSAY_NO_TENSOR,
                                 .worker = unknown ? ASSAY_ALL_WORKERS : w,
                                 .test = NEVER,
                                 .value_unit = NEVER,
                                 .value = missing,
                                 .note = note};
        status = assay_findings_test(assay_verdict_findings(verdict), missing > 0, &finding);
    }
    return status;
}

static int test_steps(roll *r, assay_verdict *verdict)
{
    const assay_rule *rule = r->rule;
    const char *only = assay_param_text(rule->params, "worker");
    uint64_t steps = assay_trial_steps(rule->trial);
    bool first = true;
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < steps; i++) {
        const assay_step_info *info = assay_trial_step(rule->trial, i);
        if (info->step < rule->start_step || info->step >= rule->end_step || info->mode < 0 ||
            info->mode >= ASSAY_MODES)
            continue;
        bool any = call_roll(r, info->step), newest = i + 1 == steps && !assay_trial_ended(rule->trial);
        if (!any && !only)
            continue;
        if (first && !only)
            status = test_never(r, info->step, verdict);
        first = false;
        for (uint32_t w = 0; status == ASSAY_OK && w < r->workers; w++) {
            bool asked = !only || strcmp(only, assay_trial_worker(rule->trial, w)) == 0;
            if (asked && r->worker[w].modes >> info->mode & 1 && (r->worker[w].here || !newest))
                status = test_worker(r, info, w, verdict);
        }
    }
    return status;
}

/* Is the name one of a list, "worker_1, worker_3"? */
static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

/* When the worker closed, by the fact "NAME SECONDS, NAME SECONDS"; NaN: it is not among them. */
static double closed_at(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && at[length] == ' ')
            return strtod(at + length, NULL);
    return NAN;
}

/* Finds workers with fewer steps than others, sets the end of those that closed before the last step was written, and says
 * who these are. */
static void note_leaves(roll *r, assay_verdict *verdict)
{
    const char *closed = assay_trial_fact(r->rule->trial, "closed");
    double newest = 0;
    char names[NOTE_ROOM] = "";
    uint32_t count = 0;
    for (uint64_t i = 0; closed && i < assay_series_count(r->series); i++)
        newest = fmax(newest, assay_series_row(r->series, i).value[TIME]);
    for (uint32_t w = 0; closed && w < r->workers; w++) {
        const char *name = assay_trial_worker(r->rule->trial, w);
        r->worker[w].fewer = r->worker[w].modes != 0 && !isnan(closed_at(closed, name));
        if (!r->worker[w].fewer || closed_at(closed, name) >= newest)
            continue;
        r->worker[w].end = -1;
        if (count++ < NAMED)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.40s", count > 1 ? ", " : "", name);
    }
    for (uint64_t i = 0; closed && i < assay_series_count(r->series); i++) {
        const assay_row row = assay_series_row(r->series, i);
        if (row.worker >= r->workers)
            continue;
        r->worker[row.worker].newest = row.step;
        if (r->worker[row.worker].end < INT64_MAX)
            r->worker[row.worker].end = row.step;
    }
    if (count > 0)
        assay_verdict_message(verdict, "%s%s closed before the others were done.", names,
                              count > NAMED ? " and more" : "");
}

/* ---- ends ---- */

/* What ended a worker's process, by the fact "NAME WHAT\nNAME WHAT"; NULL: it is not among them. *length: of WHAT. */
static const char *ended_by(const char *list, const char *name, size_t *length)
{
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, name, n) == 0 && at[n] == ' ') {
            *length = strcspn(at + n + 1, "\n");
            return at + n + 1;
        }
    return NULL;
}

/* Does an exception say that another process was gone, or did not come? So say gloo, NCCL, MPI and sockets. */
static bool is_of_peer(const char *what, size_t length)
{
    static const char *const words[] = {"losed by peer",     "eset by peer", "roken pipe", "remote process", "imed out",
                                        "onnection refused", "NCCL",         "nccl",       "imeout"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(what, length, words[i], strlen(words[i])))
            return true;
    return false;
}

/* What is known of how the workers ended. */
typedef struct ends {
    const char *failed, *unclosed; /* facts; NULL: none did so */
    uint32_t wrote, ended;         /* workers; of these, by an exception */
    uint32_t first;                /* the first of those, which are listed by time; the number of workers: none */
    bool own;                      /* its exception is its own, and does not say that another one was gone */
    int64_t newest;                /* step of all workers */
} ends;

static ends find_ends(const roll *r)
{
    ends e = {.failed = assay_trial_fact(r->rule->trial, "failed"),
              .unclosed = assay_trial_fact(r->rule->trial, "unclosed"),
              .first = r->workers,
              .newest = -1};
    const char *least = NULL;
    for (uint32_t w = 0; w < r->workers; w++) {
        size_t length = 0;
        const char *what = ended_by(e.failed, assay_trial_worker(r->rule->trial, w), &length);
        if (r->worker[w].modes == 0)
            continue;
        e.wrote++;
        e.newest = r->worker[w].last > e.newest ? r->worker[w].last : e.newest;
        if (!what)
            continue;
        const bool own = !is_of_peer(what, length);
        e.ended++;
        if (least && (own < e.own || (own == e.own && what > least)))
            continue;
        least = what;
        e.own = own;
        e.first = w;
    }
    return e;
}

/* A finding that a worker followed another one into its end. It stands at the newest step, so that none comes before the end
 * that it follows: what a process had not written yet when it was killed is lost. */
static int add_followed(const roll *r, const ends *e, uint32_t w, const char *what, size_t length,
                        assay_verdict *verdict)
{
    char note[NOTE_ROOM];
    if (what)
        snprintf(note, sizeof note, "%.*s", (int)length, what);
    else
        snprintf(note, sizeof note, "stopped behind %.60s, and wrote last at step %" PRId64,
                 assay_trial_worker(r->rule->trial, e->first), r->worker[w].last);
    const assay_finding finding = {.step = e->newest,
                                   .tensor = ASSAY_NO_TENSOR,
                                   .worker = w,
                                   .test = FOLLOWED,
                                   .value_unit = FOLLOWED,
                                   .value = 1,
                                   .note = note};
    return assay_findings_test(assay_verdict_findings(verdict), true, &finding);
}

/* A launcher stops all processes behind the first that fails, within seconds. */
static bool was_stopped(const roll *r, const ends *e, uint32_t w)
{
    enum { SECONDS = 30 };
    return e->first < r->workers && e->own && r->worker[w].at >= r->worker[e->first].at - SECONDS;
}

static int test_closed(const roll *r, const ends *e, assay_verdict *verdict)
{
    int status = ASSAY_OK;
    for (uint32_t w = 0; e->unclosed && status == ASSAY_OK && w < r->workers; w++) {
        const assay_step_info *last =
            assay_trial_step(r->rule->trial, assay_trial_find_step(r->rule->trial, r->worker[w].last));
        const bool open = is_listed(e->unclosed, assay_trial_worker(r->rule->trial, w));
        char note[NOTE_ROOM];
        if (!last)
            continue;
        if (open && was_stopped(r, e, w)) {
            status = add_followed(r, e, w, NULL, 0, verdict);
            continue;
        }
        snprintf(note, sizeof note, "%s step %" PRId64, assay_mode_name(last->mode), last->mode_step);
        const assay_finding finding = {.step = last->step,
                                       .tensor = ASSAY_NO_TENSOR,
                                       .worker = w,
                                       .test = KILLED,
                                       .value_unit = KILLED,
                                       .value = 1,
                                       .note = note};
        status = assay_findings_test(assay_verdict_findings(verdict), open, &finding);
    }
    return status;
}

/* Where an exception ended the processes of all, one is enough to tell, and the first is the one to look at: others lose
 * whom they exchange gradients with. */
static int test_failed(const roll *r, const ends *e, assay_verdict *verdict)
{
    enum { ROOM = 400 };
    const bool all = e->ended == e->wrote;
    int status = ASSAY_OK;
    for (uint32_t w = all ? e->first : 0; e->ended > 0 && status == ASSAY_OK && w < (all ? e->first + 1 : r->workers);
         w++) {
        size_t length = 0;
        const char *what = ended_by(e->failed, assay_trial_worker(r->rule->trial, w), &length);
        const assay_step_info *last =
            assay_trial_step(r->rule->trial, assay_trial_find_step(r->rule->trial, r->worker[w].last));
        char note[ROOM] = "";
        if (!last)
            continue;
        if (what && !all && is_of_peer(what, length) && (e->own || e->unclosed)) {
            status = add_followed(r, e, w, what, length, verdict);
            continue;
        }
        if (what)
            snprintf(note, sizeof note, "%.*s", (int)length, what);
        if (what && all && e->wrote > 1)
            snprintf(note + strlen(note), sizeof note - strlen(note), ", on %.40s first, of all %" PRIu32,
                     assay_trial_worker(r->rule->trial, w), e->wrote);
        const assay_finding finding = {.step = last->step,
                                       .tensor = ASSAY_NO_TENSOR,
                                       .worker = w,
                                       .test = all ? CRASHED : FAILED,
                                       .value_unit = all ? CRASHED : FAILED,
                                       .value = what != NULL,
                                       .note = note};
        status = assay_findings_test(assay_verdict_findings(verdict), what != NULL, &finding);
    }
    return status;
}

/* Who wrote from when to when, and who has steps of its own, for the report. */
static void put_workers(const roll *r, assay_buf *json)
{
    assay_put_format(json, "\"last_steps\": [");
    for (uint32_t w = 0, n = 0; w < r->workers; w++) {
        if (r->worker[w].modes == 0)
            continue;
        assay_put_format(json, "%s{\"worker\": ", n++ ? ", " : "");
        assay_json_put_text(json, assay_trial_worker(r->rule->trial, w));
        assay_put_format(json, ", \"step\": %" PRId64 "}", r->worker[w].last);
    }
    assay_put_format(json, "]");
    assay_put_format(json, ", \"away\": [");
    for (uint32_t w = 0, n = 0; w < r->workers; w++)
        if (r->worker[w].away) {
            assay_put_format(json, n++ ? ", " : "");
            assay_json_put_text(json, assay_trial_worker(r->rule->trial, w));
        }
    assay_put_format(json, "]");
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    roll r = {.rule = rule,
              .series = ((const assay_common_state *)state)->series,
              .workers = assay_trial_workers(rule->trial)};
    if (assay_series_count(r.series) == 0)
        return ASSAY_OK;
    r.worker = calloc(r.workers ? r.workers : 1, sizeof *r.worker);
    if (!r.worker)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    for (uint32_t w = 0; w < r.workers; w++) {
        r.worker[w].last = -1;
        r.worker[w].end = INT64_MAX;
    }
    note_modes(&r);
    note_leaves(&r, verdict);
    int status = test_steps(&r, verdict);
    if (status == ASSAY_OK && !assay_param_text(rule->params, "worker")) {
        const ends e = find_ends(&r);
        status = test_closed(&r, &e, verdict);
        ASSAY_THEN(status, test_failed(&r, &e, verdict));
    }
    put_workers(&r, assay_verdict_json(verdict));
    free(r.worker);
    return status;
}

const assay_rule_ops assay_rule_missing_worker = {
    ASSAY_RULE_HEAD,
    .name = "MissingWorker",
    .summary = "Workers that stopped writing, left steps out, or never wrote.",
    .advice = "What the worker would have shown is unknown from the step named on; the last step it wrote says where "
              "to look in its own log.",
    .remedies = ASSAY_TEXTS(
        "Read the worker's own log and its node's kernel log from the last step it wrote: killed, out of memory, device "
        "lost.",
        "Check that its directory was writable and not full, and that its files were copied along with the others.",
        "If the others wait for it in a collective, stop the training and start it again from its checkpoint without that "
        "node."),
    .params = params,
    .tests = ASSAY_TEXTS("absent", "away", "crashed", "failed", "followed", "killed", "never"),
    .traits = ASSAY_RULE_POOLS,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS([ABSENT] = "step(s) missed in a row", [AWAY] = "step(s) missed in a row",
                               [CRASHED] = "time(s)", [FAILED] = "time(s)", [FOLLOWED] = "time(s)",
                               [KILLED] = "time(s)", [NEVER] = "of {workers} workers"),
    .sentences = ASSAY_TEXTS([ABSENT] = "{worker} wrote nothing at {when}",
                             [AWAY] = "{worker} has no {when}, and closed its recording after fewer steps than others",
                             [CRASHED] = "an exception ended the training behind {when}",
                             [FAILED] = "an exception ended {worker} behind {when}",
                             [FOLLOWED] = "{worker} ended behind another worker, at {when}",
                             [KILLED] = "{worker} stopped without closing behind {when}",
                             [NEVER] = "{worker} never wrote anything"),
    .setup = times_setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
