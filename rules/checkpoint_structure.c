/* checkpoint_structure.c - CheckpointStructure: checkpoints that do not hold what the one before held.
 * docs/rules/CheckpointStructure.md.
 *
 * map keeps a row of each tensor that the index has: its dtype and a hash of its shape in one number. Contents are not
 * read; one that another rule could not read was not formed. The counter has the shapes themselves, each once.
 * finalize walks the trial's names; what belongs to a step and cannot be read, second
 * names, and steps of which not all names are known come from the index.
 *
 *   appeared  a name that was not at the step before
 *   dtype     another dtype than when the tensor was last formed
 *   files     value = damaged or missing parts found at the step; fires above 0
 *   optimizer value = parameters of which the optimizer has state and the model has no tensor, by their shapes
 *   shape     another shape than when the tensor was last formed
 *   tied      a second name that is none of the same tensor any more
 *   vanished  a name of the step before that is not there */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/rule.h>
#include <assay/search.h>

#include "counted.h"

enum { APPEARED, DTYPE, FILES, OPTIMIZER, SHAPE, TIED, VANISHED, TESTS };
static const char *const tests[] = {
    [APPEARED] = "appeared", [DTYPE] = "dtype", [FILES] = "files",       [OPTIMIZER] = "optimizer",
    [SHAPE] = "shape",       [TIED] = "tied",   [VANISHED] = "vanished", NULL};

static const assay_param_def params[] = {
    {.name = "tests",
     .type = ASSAY_PARAM_LIST,
     .initial = "dtype,files,optimizer,shape,tied,vanished",
     .choices = "vanished,shape,tied",
     .help = "Which of appeared, dtype, files, optimizer, shape, tied and vanished are tested."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    for (size_t i = 0; i < assay_param_count(given, "tests"); i++) {
        const char *name = assay_param_item(given, "tests", i);
        int at = 0;
        while (at < TESTS && strcmp(tests[at], name) != 0)
            at++;
        if (at == TESTS)
            return assay_fail(err, ASSAY_EPARAM, "parameter tests has the item '%s', which is not one of its tests",
                              name);
    }
    int slot = assay_need_slot(need, &(assay_slot){.pattern = "^(?!state/)", .flags = ASSAY_SLOT_TIME_ONLY}, err);
    int status = slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = 1}, err);
    return status < 0 ? status : ASSAY_OK;
}

static bool has_test(const assay_rule *rule, int test)
{
    for (size_t i = 0; i < assay_param_count(rule->params, "tests"); i++)
        if (strcmp(assay_param_item(rule->params, "tests", i), tests[test]) == 0)
            return true;
    return false;
}

/* ---- map ---- */

enum { DTYPES = 128, HASH_BITS = 44 }; /* a dtype and a hash are whole in a double */

/* FNV-1a over the dimensions, and how many there are. */
static uint64_t hash_shape(const assay_tensor_view *item)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)item->dims;
    for (int d = 0; d < item->dims; d++)
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ ((uint64_t)item->shape[d] >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
    return (hash ^ hash >> HASH_BITS) & ((UINT64_C(1) << HASH_BITS) - 1);
}

/* The dimensions of a shape in the counter: under the hash and the axis, the length. */
static int keep_shape(assay_counter *counter, uint64_t hash, const assay_tensor_view *item)
{
    int status = ASSAY_OK;
    for (int d = 0; status == ASSAY_OK && d < item->dims; d++)
        status = assay_counter_add(counter, (int64_t)(hash * ASSAY_MAX_DIMS) + d, item->shape[d], 1);
    return status;
}

/* Does a topology say what the workers have of the tensor? Then its name is one, whoever has it. */
static bool has_copies(const assay_trial *trial, uint32_t tensor)
{
    const assay_relation relation = assay_trial_relation(trial, tensor, 0);
    return relation.known && !relation.unknown;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    if (assay_trial_claims(rule->trial) == 0)
        return ASSAY_OK;             /* no checkpoints */
    uint32_t done = ASSAY_NO_TENSOR; /* of its copies the first one speaks for all */
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        if (item->dtype < 0 || item->tensor == done)
            continue;
        const bool copies = has_copies(rule->trial, item->tensor);
        done = copies ? item->tensor : ASSAY_NO_TENSOR;
        const uint64_t hash = hash_shape(item);
        const double row = (double)(hash * DTYPES + (uint64_t)item->dtype % DTYPES);
        status = assay_series_add(s->series, view->step, item->tensor, copies ? 0 : item->worker, &row);
        ASSAY_THEN(status, keep_shape(s->counter, hash, item));
    }
    return status;
}

/* ---- the steps ---- */

typedef struct step_range {
    uint64_t first, end;
} step_range;

typedef struct walk {
    const assay_rule *rule;
    const assay_common_state *state;
    assay_findings *findings;
    bool wanted[TESTS];
    uint64_t steps;
    bool *closed;            /* [steps]: all names are known */
    step_range *claims;      /* [steps]: the claims of each */
    const uint64_t *order;   /* rows by (tensor, worker, step) */
    uint64_t rows, at;       /* of them, and the next one */
    uint8_t *there;          /* [steps] of the name under way */
    uint32_t tensor, worker; /* ASSAY_ALL_WORKERS: the name is one, whoever has it */
} walk;

enum { HAS = 1 };

static bool in_range(const walk *w, int64_t step)
{
    return step >= w->rule->start_step && step < w->rule->end_step;
}

static int64_t step_at(const walk *w, uint64_t i)
{
    return assay_trial_step(w->rule->trial, i)->step;
}

/* A step is closed when every worker's index names what belongs to it, and none of them is open. */
static void survey(walk *w)
{
    const assay_trial *trial = w->rule->trial;
    const uint64_t count = assay_trial_claims(trial);
    uint64_t at = 0;
    for (uint64_t i = 0; i < w->steps; i++) {
        uint32_t named = 0;
        bool open = false;
        while (at < count && assay_trial_claim(trial, at)->step < step_at(w, i))
            at++;
        w->claims[i].first = at;
        for (; at < count && assay_trial_claim(trial, at)->step == step_at(w, i); at++) {
            named += assay_trial_claim(trial, at)->kind == ASSAY_CLAIM_NAMES;
            open = open || assay_trial_claim(trial, at)->kind == ASSAY_CLAIM_OPEN;
        }
        w->claims[i].end = at;
        w->closed[i] = !open && named > 0 && named >= assay_trial_expected_workers(trial);
    }
}

/* ---- one name ---- */

static int test(const walk *w, int kind, bool fired, uint64_t step, const char *note)
{
    const bool alone = assay_trial_workers(w->rule->trial) == 1 || has_copies(w->rule->trial, w->tensor);
    const assay_finding finding = {.step = step_at(w, step),
                                   .tensor = w->tensor,
                                   .worker = alone ? ASSAY_ALL_WORKERS : w->worker,
                                   .test = (uint32_t)kind,
                                   .value = 1,
                                   .threshold = 1,
                                   .note = note};
    return w->wanted[kind] && in_range(w, finding.step) ? assay_findings_test(w->findings, fired, &finding) : ASSAY_OK;
}

/* A row's value. One that no form has, of a damaged state, is 0. */
static uint64_t form_of(double row)
{
    return row >= 0 && row < 0x1p53 ? (uint64_t)row : 0;
}

static void print_shape(const walk *w, double row, char *out, size_t room)
{
    const assay_counter *counter = w->state->counter;
    const int64_t hash = (int64_t)(form_of(row) / DTYPES);
    size_t used = (size_t)snprintf(out, room, "[");
    for (int d = 0; d < ASSAY_MAX_DIMS && used < room; d++) {
        const int64_t key = hash * ASSAY_MAX_DIMS + d;
        const uint64_t at = counted_not_before(counter, key, INT64_MIN);
        int64_t a = 0, length = 0;
        uint64_t count = 0;
        if (at == assay_counter_size(counter))
            break;
        assay_counter_get(counter, at, &a, &length, &count);
        if (a != key)
            break;
        used += (size_t)snprintf(out + used, room - used, "%s%" PRId64, d ? ", " : "", length);
    }
    if (used < room)
        snprintf(out + used, room - used, "]");
}

/* Tests a tensor against the step at which it was last formed. */
static int compare_forms(const walk *w, assay_row before, assay_row now, uint64_t step)
{
    const uint64_t was = form_of(before.value[0]), is = form_of(now.value[0]);
    char old_shape[200], new_shape[200], note[500];
    note[0] = '\0';
    if (was / DTYPES != is / DTYPES) {
        print_shape(w, before.value[0], old_shape, sizeof old_shape);
        print_shape(w, now.value[0], new_shape, sizeof new_shape);
        snprintf(note, sizeof note, "%s at %lld, %s now", old_shape, (long long)before.step, new_shape);
    }
    int status = test(w, SHAPE, was / DTYPES != is / DTYPES, step, note);
    if (status == ASSAY_OK)
        snprintf(note, sizeof note, "%s at %lld, %s now", assay_dtype_name((int)(was % DTYPES)), (long long)before.step,
                 assay_dtype_name((int)(is % DTYPES)));
    return status == ASSAY_OK ? test(w, DTYPE, was % DTYPES != is % DTYPES, step, note) : status;
}

/* Goes through the rows of the name under way: marks the steps that have it, and compares its forms. */
static int walk_rows(walk *w)
{
    const assay_series *series = w->state->series;
    assay_row before = {0};
    int status = ASSAY_OK;
    for (; status == ASSAY_OK && w->at < w->rows; w->at++) {
        const assay_row row = assay_series_row(series, w->order[w->at]);
        if (row.tensor != w->tensor || row.worker != w->worker)
            break;
        const uint64_t step = assay_trial_find_step(w->rule->trial, row.step);
        if (step >= w->steps)
            continue;
        w->there[step] = HAS;
        if (assay_trial_is_unread(w->rule->trial, row.step, row.tensor))
            continue;
        if (before.value && !assay_trial_relation(w->rule->trial, w->tensor, 0).sum)
            status = compare_forms(w, before, row, step);
        before = row;
    }
    return status;
}

/* The claim of a kind about the name under way, of a worker, at a step, whatever its first name; NULL: none. */
static const assay_claim *find_claim_of(const walk *w, uint64_t step, uint32_t kind, uint32_t worker)
{
    uint64_t low = w->claims[step].first, high = w->claims[step].end;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const assay_claim *c = assay_trial_claim(w->rule->trial, middle);
        if (c->worker != worker ? c->worker < worker : c->kind != kind ? c->kind < kind : c->tensor < w->tensor)
            low = middle + 1;
        else
            high = middle;
    }
    const assay_claim *c = low < w->claims[step].end ? assay_trial_claim(w->rule->trial, low) : NULL;
    return c && c->worker == worker && c->kind == kind && c->tensor == w->tensor ? c : NULL;
}

static const assay_claim *find_claim(const walk *w, uint64_t step, uint32_t kind)
{
    const assay_claim *found = NULL;
    if (w->worker != ASSAY_ALL_WORKERS)
        return find_claim_of(w, step, kind, w->worker);
    for (uint32_t worker = 0; worker < assay_trial_workers(w->rule->trial) && !found; worker++)
        found = find_claim_of(w, step, kind, worker);
    return found;
}

static int test_tied(const walk *w, uint64_t before, uint64_t step)
{
    const assay_claim *was = find_claim(w, before, ASSAY_CLAIM_ALIAS), *is = find_claim(w, step, ASSAY_CLAIM_ALIAS);
    char note[400];
    if (!was || !w->there[step])
        return ASSAY_OK;
    snprintf(note, sizeof note, "was %s", assay_trial_tensor(w->rule->trial, was->first));
    return test(w, TIED, !is || is->first != was->first, step, note);
}

/* A record that could not be read is in the index all the same. */
static bool is_there(const walk *w, uint64_t step)
{
    return w->there[step] || assay_trial_is_unread(w->rule->trial, step_at(w, step), w->tensor);
}

static int walk_steps(const walk *w)
{
    uint64_t closed = UINT64_MAX;
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < w->steps; i++) {
        if (closed != UINT64_MAX)
            status = test_tied(w, closed, i);
        if (!w->closed[i])
            continue;
        if (status == ASSAY_OK && closed != UINT64_MAX && w->there[closed])
            status = test(w, VANISHED, !is_there(w, i), i, NULL);
        if (status == ASSAY_OK && closed != UINT64_MAX && w->there[i])
            status = test(w, APPEARED, !w->there[closed], i, NULL);
        closed = i;
    }
    return status;
}

/* Marks the steps whose index speaks of the name. */
static void walk_claims(walk *w)
{
    memset(w->there, 0, (size_t)w->steps);
    for (uint64_t i = 0; i < w->steps; i++)
        if (find_claim(w, i, ASSAY_CLAIM_PROMISED) || find_claim(w, i, ASSAY_CLAIM_ALIAS))
            w->there[i] = HAS;
}

/* With a topology a name is one, whoever has it; forms of it are compared worker by worker where nothing is said. */
static int walk_shared_name(walk *w)
{
    bool any = false;
    int status = ASSAY_OK;
    w->worker = ASSAY_ALL_WORKERS;
    walk_claims(w);
    for (w->worker = 0; status == ASSAY_OK && w->worker < assay_trial_workers(w->rule->trial); w->worker++)
        status = walk_rows(w);
    w->worker = ASSAY_ALL_WORKERS;
    for (uint64_t i = 0; i < w->steps && !any; i++)
        any = w->there[i];
    return status == ASSAY_OK && any ? walk_steps(w) : status;
}

static int walk_name(walk *w)
{
    bool any = false;
    walk_claims(w);
    int status = walk_rows(w);
    for (uint64_t i = 0; i < w->steps && !any; i++)
        any = w->there[i];
    return status == ASSAY_OK && any ? walk_steps(w) : status;
}

static int walk_names(walk *w)
{
    const assay_trial *trial = w->rule->trial;
    static const char STATE[] = "state/";
    int status = ASSAY_OK;
    for (w->tensor = 0; status == ASSAY_OK && w->tensor < assay_trial_tensors(trial); w->tensor++) {
        if (strncmp(assay_trial_tensor(trial, w->tensor), STATE, sizeof STATE - 1) == 0)
            continue;
        if (assay_trial_relation(trial, w->tensor, 0).known) {
            status = walk_shared_name(w);
            continue;
        }
        for (w->worker = 0; status == ASSAY_OK && w->worker < assay_trial_workers(trial); w->worker++)
            status = walk_name(w);
    }
    return status;
}

/* ---- files ---- */

static int test_files(walk *w)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < w->steps; i++) {
        const int64_t step = step_at(w, i);
        const uint64_t losses = assay_trial_losses(w->rule->trial, step);
        const assay_finding finding = {.step = step,
                                       .tensor = ASSAY_NO_TENSOR,
                                       .worker = ASSAY_ALL_WORKERS,
                                       .test = FILES,
                                       .value_unit = 1,
                                       .value = (double)losses,
                                       .note = "see the problems"};
        if (w->wanted[FILES] && w->claims[i].end > w->claims[i].first && in_range(w, step))
            status = assay_findings_test(w->findings, losses > 0, &finding);
    }
    return status;
}

/* ---- the optimizer ---- */

/* Optimizers of torch number their parameters. Where the numbers have no names, the shapes of what is kept of them are
 * held against those of the model's tensors: each number is a tensor of its own. What the model has more of are buffers
 * and what is not trained. */

static const char *const of_shape[] = {"exp_avg", "momentum_buffer", "square_avg", "sum"}; /* are as their parameter */
enum { KEPT_KEYS = sizeof of_shape / sizeof *of_shape };

typedef struct shaped { /* a tensor at a step */
    uint64_t step, hash, row;
    uint32_t worker, kept; /* kept: 0 of the model, else 1 + the number in of_shape */
} shaped;

typedef struct surplus {       /* of a worker at a step */
    uint64_t more, whole, row; /* numbers without a tensor of the model, all numbers, and a row of the former */
    uint64_t own, others;      /* of the shape of that row: tensors of the model, numbers */
} surplus;

ASSAY_ORDER_BY(compare_shaped, shaped, worker, step, hash, kept, row)

/* What a name is for this test: of the model 0, of a number that keeps something of its shape 1 and more, else -1. */
static int kept_of(const char *name)
{
    static const char OF[] = "optimizer/", EMA[] = "ema/", STATE[] = "state/";
    if (strncmp(name, EMA, sizeof EMA - 1) == 0 || strncmp(name, STATE, sizeof STATE - 1) == 0)
        return -1;
    if (strncmp(name, OF, sizeof OF - 1) != 0)
        return 0;
    const char *slash = strrchr(name, '/');
    for (int i = 0; i < KEPT_KEYS; i++)
        if (strcmp(slash + 1, of_shape[i]) == 0)
            return i + 1;
    return -1;
}

/* Takes the rows of closed steps. How many; 0: no number is among them, or a topology says that workers have pieces. */
static size_t take_shapes(const walk *w, shaped *out)
{
    const assay_trial *trial = w->rule->trial;
    size_t count = 0, numbers = 0;
    for (uint64_t i = 0; i < w->rows; i++) {
        const assay_row row = assay_series_row(w->state->series, w->order[i]);
        const int kept = kept_of(assay_trial_tensor(trial, row.tensor));
        const uint64_t step = assay_trial_find_step(trial, row.step);
        if (assay_trial_relation(trial, row.tensor, 0).known)
            return 0;
        if (kept < 0 || step >= w->steps || !w->closed[step] || assay_trial_losses(trial, row.step) > 0)
            continue;
        numbers += kept > 0 && strchr(assay_trial_tensor(trial, row.tensor), '#');
        out[count++] = (shaped){step, form_of(row.value[0]) / DTYPES, w->order[i], row.worker, (uint32_t)kept};
    }
    return numbers > 0 ? count : 0;
}

/* Counts one worker's tensors of a step, [s, end), in order of their shapes. */
static surplus count_surplus(const shaped *s, const shaped *end)
{
    surplus of_key[KEPT_KEYS + 1] = {{0}}, most = {0};
    while (s < end) {
        const shaped *first = s;
        uint64_t count[KEPT_KEYS + 1] = {0}, row[KEPT_KEYS + 1] = {0};
        for (; s < end && s->hash == first->hash; s++) {
            count[s->kept]++;
            row[s->kept] = s->row;
        }
        for (int k = 1; k <= KEPT_KEYS; k++) {
            of_key[k].whole += count[k];
            if (count[k] <= count[0])
                continue;
            of_key[k].more += count[k] - count[0];
            of_key[k].row = row[k];
            of_key[k].own = count[0];
            of_key[k].others = count[k];
        }
    }
    for (int k = 1; k <= KEPT_KEYS; k++)
        if (2 * of_key[k].more <= of_key[k].whole && of_key[k].more > most.more)
            most = of_key[k];
    return most;
}

static int test_surplus(const walk *w, const surplus *s, const shaped *at, bool fired)
{
    const bool alone = assay_trial_workers(w->rule->trial) == 1;
    const assay_row row = s->more ? assay_series_row(w->state->series, s->row) : (assay_row){.tensor = ASSAY_NO_TENSOR};
    char shape[200], note[400] = "";
    if (s->more) {
        print_shape(w, row.value[0], shape, sizeof shape);
        snprintf(note, sizeof note, "of shape %s the optimizer has %llu, the model %llu", shape,
                 (unsigned long long)s->others, (unsigned long long)s->own);
    }
    const assay_finding finding = {.step = step_at(w, at->step),
                                   .tensor = row.tensor,
                                   .worker = alone ? ASSAY_ALL_WORKERS : at->worker,
                                   .test = OPTIMIZER,
                                   .value = (double)s->more,
                                   .note = note};
    return w->wanted[OPTIMIZER] && in_range(w, finding.step) ? assay_findings_test(w->findings, fired, &finding)
                                                             : ASSAY_OK;
}

/* One worker's steps, [s, end). What the optimizer has more at all of several steps the training does not save: the
 * centres of a loss, a second network. */
static int test_worker(const walk *w, const shaped *s, const shaped *end)
{
    int status = ASSAY_OK;
    uint64_t least = UINT64_MAX, steps = 0;
    for (int pass = 0; pass < 2; pass++)
        for (const shaped *first = s, *next; first < end && status == ASSAY_OK; first = next) {
            for (next = first; next < end && next->step == first->step;)
                next++;
            const surplus found = count_surplus(first, next);
            if (pass == 1)
                status = test_surplus(w, &found, first, found.more > (steps > 1 ? least : 0));
            least = pass == 0 && found.more < least ? found.more : least;
            steps += pass == 0;
        }
    return status;
}

static int test_optimizer(const walk *w, assay_error *err)
{
    shaped *all = calloc((size_t)w->rows + 1, sizeof *all);
    if (!all)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    const shaped *end = all + take_shapes(w, all);
    int status = ASSAY_OK;
    if (end - all > 1)
        qsort(all, (size_t)(end - all), sizeof *all, compare_shaped);
    for (const shaped *first = all, *next; first < end && status == ASSAY_OK; first = next) {
        for (next = first; next < end && next->worker == first->worker;)
            next++;
        status = test_worker(w, first, next);
    }
    free(all);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    walk w = {.rule = rule, .state = state, .findings = assay_verdict_findings(verdict)};
    if (assay_trial_claims(rule->trial) == 0) {
        assay_verdict_no_data(verdict, "the trial is not a series of checkpoints.");
        return ASSAY_OK;
    }
    for (int i = 0; i < TESTS; i++)
        w.wanted[i] = has_test(rule, i);
    w.steps = assay_trial_steps(rule->trial);
    w.rows = assay_series_count(w.state->series);
    uint64_t *order = assay_series_by_tensor(w.state->series);
    w.order = order;
    w.closed = calloc((size_t)w.steps + 1, sizeof *w.closed);
    w.claims = calloc((size_t)w.steps + 1, sizeof *w.claims);
    w.there = calloc((size_t)w.steps + 1, 1);
    int status = (order || w.rows == 0) && w.closed && w.claims && w.there
                     ? ASSAY_OK
                     : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    if (status == ASSAY_OK) {
        survey(&w);
        status = walk_names(&w);
    }
    ASSAY_THEN(status, test_files(&w));
    ASSAY_THEN(status, test_optimizer(&w, err));
    free(order);
    free(w.closed);
    free(w.claims);
    free(w.there);
    return status;
}

const assay_rule_ops assay_rule_checkpoint_structure = {
    ASSAY_RULE_HEAD,
    .name = "CheckpointStructure",
    .summary = "Checkpoints with damaged files, or with other tensors, shapes or dtypes than the one before.",
    .advice = "The checkpoint is not what the training would load: do not resume from it before this is understood.",
    .remedies = ASSAY_TEXTS(
        "Resume from the checkpoint before, whose tensors are all there.",
        "Look at the last lines of the job that wrote it: killed, or a full disk or quota, is the usual cause.",
        "Give every rank time to finish: wait for all of them before the job ends and before older checkpoints are "
        "deleted.",
        "Compare the model's code at both steps: a renamed module, another vocabulary, untied weights."),
    .params = params,
    .tests = tests,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = 1,
    .value_units = ASSAY_TEXTS("tensor(s)", "damaged or missing part(s)"),
    .sentences = ASSAY_TEXTS([APPEARED] = "{tensor}{of} was not in the checkpoint before, and is at {when}",
                             [DTYPE] = "the dtype of {tensor}{of} changed at {when}",
                             [FILES] = "the checkpoint is damaged or incomplete at {when}",
                             [OPTIMIZER] = "the optimizer has state of {value} that the model does not have at {when}",
                             [SHAPE] = "the shape of {tensor}{of} changed at {when}",
                             [TIED] = "{tensor}{of} was no longer tied at {when}",
                             [VANISHED] = "{tensor}{of} was gone from the checkpoint at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
