/* compare_settings.c - the facts of the runs side by side, those that go with the odd trials first, and the answer.
 *
 * A setting goes with an odd trial if all other trials agree on it, or nearly, and the odd one differs. A seed, which
 * differs everywhere, explains nothing. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/compare_internal.h"

enum { SAID_TRIALS = 8, SAID_SETTINGS = 3, SAID_BYTES = 60 };

/* When and where a run was, and with which words it was started, differs without meaning anything. */
static bool is_passing(const char *name)
{
    static const char *const names[] = {"started",   "ended",   "closed", "directory",
                                        "slurm_job", "command", "failed", "interrupted"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The names of all facts, each once; the caller frees the list. */
static int list_names(const assay_comparison *c, const char ***out, size_t *count)
{
    size_t all = 0, kept = 0;
    for (size_t t = 0; t < c->trials; t++)
        all += c->outcome->trials[t].catalog.facts.count;
    const char **name = assay_alloc((all + 1) * sizeof *name);
    ASSAY_HAVE(name);
    all = 0;
    for (size_t t = 0; t < c->trials; t++)
        for (size_t i = 0; i < c->outcome->trials[t].catalog.facts.count; i++)
            if (strncmp(c->outcome->trials[t].catalog.facts.list[i].name, "module.", 7) != 0) /* the graph says them */
                name[all++] = c->outcome->trials[t].catalog.facts.list[i].name;
    if (all > 0)
        qsort(name, all, sizeof *name, assay_order_texts);
    for (size_t i = 0; i < all; i++)
        if (kept == 0 || strcmp(name[kept - 1], name[i]) != 0)
            name[kept++] = name[i];
    *out = name;
    *count = kept;
    return ASSAY_OK;
}

static int by_value(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    return x && y ? strcmp(x, y) : (x != NULL) - (y != NULL);
}

/* What at least four of five trials say that are not odd; `room` is for [trials]. */
static const char *usual_of(const assay_comparison *c, const assay_compared_setting *s, const char **room)
{
    size_t n = 0;
    for (size_t t = 0; t < c->trials; t++)
        if (!c->trial[t].odd && s->value[t])
            room[n++] = s->value[t];
    if (n > 0)
        qsort(room, n, sizeof *room, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same(room[i], room[end]); end++)
            ;
        if (end - i >= 2 && 5 * (end - i) >= 4 * (c->trials - c->odd))
            return room[i];
    }
    return NULL;
}

static bool said_by_a_usual_trial(const assay_comparison *c, const assay_compared_setting *s, const char *value)
{
    for (size_t t = 0; t < c->trials; t++)
        if (!c->trial[t].odd && same(s->value[t], value))
            return true;
    return false;
}

/* Does this odd trial say what none of the others does, which agree? */
static bool goes_with(const assay_comparison *c, const assay_compared_setting *s, size_t trial)
{
    return c->trial[trial].odd && s->usual && s->value[trial] && !same(s->value[trial], s->usual) &&
           !said_by_a_usual_trial(c, s, s->value[trial]);
}

/* Keeps the fact, or what was found in its place, when the trials differ in it. Takes over nothing. */
static int add_setting(assay_comparison *c, const char *name, char *const *found, const char **room)
{
    assay_compared_setting s = {.name = name, .value = assay_alloc(c->trials * sizeof *s.value)};
    bool differs = false;
    const char *first = NULL;
    ASSAY_HAVE(s.value);
    for (size_t t = 0; t < c->trials; t++) {
        s.value[t] = found ? found[t] : assay_run_fact_of(&c->outcome->trials[t].catalog.facts, name);
        differs = differs || (first && s.value[t] && !same(first, s.value[t]));
        first = first ? first : s.value[t];
    }
    if (!differs) {
        free(s.value);
        return ASSAY_OK;
    }
    s.usual = usual_of(c, &s, room);
    for (size_t t = 0; t < c->trials; t++)
        s.goes = s.goes || goes_with(c, &s, t);
    c->setting[c->settings++] = s;
    return ASSAY_OK;
}

/* ---- the batch size, which stands in shapes ---- */

/* Rows of the labels, or else of the inputs, of a trial's first saved TRAIN step, as text; "": they are not known. */
static int put_batch(const assay_trial_outcome *trial, const assay_curves *curves, assay_buf *text)
{
    const assay_tensor_curve *best = NULL;
    for (size_t i = 0; i < curves->tensor_count; i++) {
        const assay_tensor_curve *t = &curves->tensors[i];
        const assay_role role = assay_trial_role(trial->info, t->tensor);
        if (t->mode != ASSAY_MODE_TRAIN || (role != ASSAY_ROLE_LABEL && role != ASSAY_ROLE_INPUT))
            continue;
        if (!best || (role == ASSAY_ROLE_LABEL && assay_trial_role(trial->info, best->tensor) != ASSAY_ROLE_LABEL))
            best = t;
    }
    if (best)
        assay_curves_put_shape(curves, best->point[0].shape, text);
    assay_put_u8(text, '\0');
    return assay_buf_status(text);
}

static int find_batch(const assay_comparison *c, size_t t, char **out)
{
    enum { ROOM = 1024 };
    const assay_trial_outcome *trial = &c->outcome->trials[t];
    assay_curves curves;
    assay_buf text = ASSAY_BUF(ROOM);
    int status = trial->info ? assay_curves_of_tensors(c->outcome, t, &curves) : ASSAY_ENOTFOUND;
    if (status != ASSAY_OK)
        return status == ASSAY_ENOTFOUND ? ASSAY_OK : status;
    status = put_batch(trial, &curves, &text);
    const char *shape = status == ASSAY_OK ? (const char *)text.data : "";
    const size_t digits = *shape == '[' ? strspn(shape + 1, "0123456789") : 0;
    if (digits > 0 && !(*out = assay_copy_bytes_as_text(shape + 1, digits)))
        status = ASSAY_ENOMEM;
    assay_buf_release(&text);
    assay_curves_release(&curves);
    return status;
}

static bool says_batch(const assay_run_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        if (strncmp(facts->list[i].name, "module.", 7) != 0 && strstr(facts->list[i].name, "batch"))
            return true;
    return false;
}

/* Where not every run says its batch size itself. */
static int add_batch(assay_comparison *c, const char **room)
{
    int status = ASSAY_OK;
    size_t said = 0;
    for (size_t t = 0; t < c->trials; t++)
        said += says_batch(&c->outcome->trials[t].catalog.facts);
    if (said == c->trials)
        return ASSAY_OK;
    c->batch = assay_alloc_zeroed(c->trials + 1, sizeof *c->batch);
    ASSAY_HAVE(c->batch);
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++)
        status = find_batch(c, t, &c->batch[t]);
    return status == ASSAY_OK ? add_setting(c, "batch size", c->batch, room) : status;
}

static int by_weight(const void *a, const void *b)
{
    const assay_compared_setting *x = a, *y = b;
    if (x->goes != y->goes)
        return x->goes ? -1 : 1;
    return strcmp(x->name, y->name);
}

int compare_settings(assay_comparison *c)
{
    const char **name = NULL, **room = assay_alloc((c->trials + 1) * sizeof *room);
    size_t count = 0;
    int status = room ? list_names(c, &name, &count) : ASSAY_ENOMEM;
    if (status == ASSAY_OK && !(c->setting = assay_alloc_zeroed(count + 1, sizeof *c->setting)))
        status = ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        if (!is_passing(name[i]))
            status = add_setting(c, name[i], NULL, room);
    ASSAY_THEN(status, add_batch(c, room));
    if (status == ASSAY_OK && c->settings > 0)
        qsort(c->setting, c->settings, sizeof *c->setting, by_weight);
    free(name);
    free(room);
    return status;
}

/* ---- the answer ---- */

/* "config.lr" is known to people as "lr". */
static const char *short_name(const char *name)
{
    return strncmp(name, "config.", 7) == 0 ? name + 7 : name;
}

static void put_short(assay_buf *out, const char *text)
{
    size_t length = strlen(text);
    assay_put_format(out, "%.*s%s", (int)(length > SAID_BYTES ? SAID_BYTES : length), text,
                     length > SAID_BYTES ? "..." : "");
}

static void put_odd(const assay_comparison *c, size_t t, assay_buf *out)
{
    const assay_compared_trial *trial = &c->trial[t];
    size_t said = 0;
    assay_put_format(out, "%s (", c->outcome->trials[t].trial->name);
    for (size_t i = 0; i < trial->reasons && i < 2; i++)
        assay_put_format(out, "%s%s", i ? "; " : "", trial->reason[i]);
    for (size_t i = 0; i < c->settings && said < SAID_SETTINGS; i++) {
        const assay_compared_setting *s = &c->setting[i];
        if (!goes_with(c, s, t))
            continue;
        assay_put_format(out, "%s%s ", said ? ", " : "; ", short_name(s->name));
        put_short(out, s->value[t]);
        assay_put_format(out, " where others have ");
        put_short(out, s->usual);
        said++;
    }
    assay_put_format(out, ")");
}

/* The operator, or kernel, that got slowest, or else fastest, if that is a hundredth of the time before; NULL: none. */
static const assay_trace_change *find_change(const assay_trace_before_after *b, bool slower)
{
    const assay_trace_changes *of = b->operators.count > 0 ? &b->operators : &b->kernels;
    const double whole = b->figure[0].time[0] > 0 ? b->figure[0].time[0] : 0;
    for (uint32_t i = 0; i < of->count; i++) {
        const double more = of->list[i].time[1] - of->list[i].time[0];
        if (slower ? more > 0.01 * whole && more > 0 : more < -0.01 * whole && more < 0)
            return &of->list[i];
    }
    return NULL;
}

static double size_of(const assay_trace_change *change)
{
    return change ? fabs(change->time[1] - change->time[0]) : 0;
}

/* What of the time without computation changed most, if that is a hundredth of the time before and more than `least`;
 * -1: nothing. */
static int find_figure(const assay_trace_before_after *b, double least)
{
    enum { EXPOSED = 2, IDLE = 4 }; /* before that total and computation; idle is said by its causes */
    int most = -1;
    for (int i = EXPOSED; i < ASSAY_TRACE_CHANGED_FIGURES; i++)
        if (i != IDLE && size_of(&b->figure[i]) > 0.01 * b->figure[0].time[0] && size_of(&b->figure[i]) > least) {
            most = i;
            least = size_of(&b->figure[i]);
        }
    return most;
}

static void put_milliseconds(const double time[2], assay_buf *out)
{
    assay_put_format(out, "%.3g ms a step instead of %.3g", time[1] / 1e6, time[0] / 1e6);
}

static void put_change(const assay_trace_change *change, bool slower, assay_buf *out)
{
    enum { NAME_SHOWN = 80 };
    const size_t length = strnlen(change->name, NAME_SHOWN + 1);
    assay_put_format(out, "%.*s%s ", (int)(length > NAME_SHOWN ? NAME_SHOWN : length), change->name,
                     length > NAME_SHOWN ? "..." : "");
    if (change->count[0] == 0)
        assay_put_format(out, "is new: ");
    else if (change->count[1] == 0)
        assay_put_format(out, "is gone: ");
    else if (change->time[0] > 0 && change->time[1] >= 2 * change->time[0])
        assay_put_format(out, "takes %.3g times as long: ", change->time[1] / change->time[0]);
    else if (change->time[0] > 0)
        assay_put_format(out, "takes %.3g %% %s: ", 100 * fabs(change->time[1] / change->time[0] - 1),
                         slower ? "longer" : "less");
    put_milliseconds(change->time, out);
}

/* "after against before: aten::gelu takes 3 times as long: 6.47 ms a step instead of 2.16." */
static void put_traces(const assay_comparison *c, assay_buf *out)
{
    static const char *const figures[ASSAY_TRACE_CHANGED_FIGURES] = {
        [2] = "communication beyond computation",
        [3] = "copies beyond both",
        [5 + ASSAY_CAUSE_INPUT] = "waiting for input",
        [5 + ASSAY_CAUSE_SYNC] = "idling behind waits for the device",
        [5 + ASSAY_CAUSE_HOST] = "waiting for launches by the host",
        [5 + ASSAY_CAUSE_QUEUED] = "idling with kernels queued",
        [5 + ASSAY_CAUSE_UNKNOWN] = "idling"};
    const assay_trace_before_after *b = c->traces;
    const assay_trace_changes *of = b->operators.count > 0 ? &b->operators : &b->kernels;
    const assay_trace_change *worst = find_change(b, true), *change = worst ? worst : find_change(b, false);
    const int figure = find_figure(b, size_of(change));
    assay_put_format(out, "%s against %s: ", c->outcome->trials[1].trial->name, c->outcome->trials[0].trial->name);
    if (of->common == 0) {
        assay_put_format(out, "their operators have no name in common, so none can be compared.");
        return;
    }
    if (change)
        put_change(change, worst != NULL, out);
    else
        assay_put_format(out, "no operator takes a hundredth of the time more or less");
    if (figure >= 0) {
        assay_put_format(out, "; %s takes ", figures[figure]);
        put_milliseconds(b->figure[figure].time, out);
    }
    if ((change || figure >= 0) && b->figure[0].time[0] > 0) {
        assay_put_format(out, "; all together ");
        put_milliseconds(b->figure[0].time, out);
    }
    assay_put_u8(out, '.');
}

static void put_answer(const assay_comparison *c, assay_buf *out)
{
    size_t said = 0;
    if (c->traces) {
        put_traces(c, out);
        return;
    }
    if (!c->judged && c->odd == 0) {
        assay_put_format(out, "%zu trials are too few to say which is unlike the others: that takes %d.", c->trials,
                         ASSAY_OUTLIER_TRIALS);
        return;
    }
    if (c->odd == 0 && c->apart) {
        assay_put_format(
            out, "Which of %zu trials is unlike the others cannot be said: no metric or tensor is in half of them.",
            c->trials);
        return;
    }
    if (c->odd == 0) {
        assay_put_format(out, "None of %zu trials is unlike the others.", c->trials);
        return;
    }
    if (2 * c->odd <= c->trials)
        assay_put_format(out, "%zu of %zu %s unlike the others: ", c->odd, c->trials, c->odd == 1 ? "is" : "are");
    else if (c->odd < c->trials) /* there are no others to be unlike */
        assay_put_format(out, "No majority of %zu trials is alike; %zu stand apart: ", c->trials, c->odd);
    else
        assay_put_format(out, "No majority of %zu trials is alike; all stand apart: ", c->trials);
    for (size_t t = 0; t < c->trials && said < SAID_TRIALS; t++) {
        if (!c->trial[t].odd)
            continue;
        assay_put_format(out, said++ ? ", " : "");
        put_odd(c, t, out);
    }
    if (said < c->odd)
        assay_put_format(out, " and %zu more", c->odd - said);
    assay_put_u8(out, '.');
}

/* Judged by one worker of several: nobody shall take the answer for all of them. */
static void put_workers(const assay_comparison *c, assay_buf *out)
{
    const assay_run_facts *first = NULL;
    size_t trials = 0;
    bool same = true;
    for (size_t t = 0; t < c->trials; t++) {
        const assay_run_facts *facts = &c->outcome->trials[t].catalog.facts;
        if (facts->recorded_workers >= facts->run_workers)
            continue;
        first = first ? first : facts;
        same = same && facts->recorded_workers == first->recorded_workers && facts->run_workers == first->run_workers;
        trials++;
    }
    if (trials == 0)
        return;
    assay_put_format(out, " Judged by ");
    if (same)
        assay_put_format(out, "%" PRIu64 " of %" PRIu64 " workers", first->recorded_workers, first->run_workers);
    else
        assay_put_format(out, "some of the workers");
    if (trials < c->trials)
        assay_put_format(out, " in %zu of %zu trials", trials, c->trials);
    assay_put_u8(out, '.');
}

int compare_answer(assay_comparison *c)
{
    assay_buf text = ASSAY_BUF(1 << 20);
    put_answer(c, &text);
    put_workers(c, &text);
    assay_put_u8(&text, '\0');
    int status = assay_buf_status(&text);
    if (status == ASSAY_OK && !(c->answer = assay_copy_text((const char *)text.data)))
        status = ASSAY_ENOMEM;
    assay_buf_release(&text);
    return status;
}
