/* trial_info.c - what rules can ask about a trial: workers, steps, tensors, collections. */
#include "rule/trial_info.h"

#include <assay/module.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "hang/collect.h"

static bool begins_as_metric(const char *name)
{
    return strncmp(name, "metrics/", 8) == 0;
}

static uint32_t tensor_called(const assay_trial *trial, const char *name)
{
    return assay_dict_find(trial->tensors, name, strlen(name));
}

/* Fills `logged` by what the log is judged on; trials that are no logs have none. */
static int mark_logged(assay_trial *trial)
{
    const assay_log_judged *judged = &trial->catalog->log.judged;
    const uint32_t tensors = assay_dict_count(trial->tensors);
    if (!trial->catalog->log.kind)
        return ASSAY_OK;
    trial->logged = assay_alloc_zeroed(tensors, 1);
    ASSAY_HAVE(trial->logged);
    for (uint32_t t = 0; t < tensors; t++) {
        if (!begins_as_metric(assay_trial_tensor(trial, t)))
            continue;
        const int loss = assay_trial_is_member(trial, "losses", t, NULL);
        if (loss < 0)
            return loss;
        trial->logged[t] = ASSAY_LOGGED | (loss ? ASSAY_LOGGED_LOSS : 0);
    }
    for (size_t i = 0; i < judged->objective.count && !judged->rewarded; i++) {
        const uint32_t t = tensor_called(trial, judged->objective.list[i]);
        if (t < tensors)
            trial->logged[t] |= ASSAY_LOGGED_OBJECTIVE | (judged->whole ? ASSAY_LOGGED_WHOLE : 0);
    }
    return ASSAY_OK;
}

/* Called for a trial that was read, and for one that a process of a rule was told of; assay_trial_info_free() frees
 * the lists. */
int assay_trial_info_prepare(assay_trial *trial, assay_problems *problems)
{
    static uint64_t serials; /* the program's first thread makes trials, and nobody else */
    const assay_collections *c = &trial->catalog->collections;
    trial->mode_rank = assay_alloc_zeroed(trial->step_count, sizeof *trial->mode_rank);
    trial->matchers = assay_alloc_zeroed(c->count, sizeof(assay_matcher *));
    ASSAY_HAVE(trial->mode_rank && trial->matchers);
    /* Serials tell trials apart in a process of a rule (rule_link.c), where a pointer may be that of a trial freed
     * before; 0 is no trial. */
    trial->serial = ++serials;
    memset(trial->mode_steps, 0, sizeof trial->mode_steps);
    trial->modes = 0;
    for (uint64_t i = 0; i < trial->step_count; i++) {
        int mode = trial->steps[i].mode;
        if (mode < 0 || mode >= ASSAY_MODES)
            mode = ASSAY_MODE_NONE;
        trial->mode_rank[i] = (uint32_t)trial->mode_steps[mode]++;
        trial->modes |= 1u << mode;
    }
    for (size_t i = 0; i < c->count; i++) {
        int status = assay_matcher_new(c, i, &trial->matchers[i], problems);
        if (status)
            return status;
    }
    return mark_logged(trial);
}

/* For trials that were read: a trial that was packed has role and order in its bytes. */
int assay_trial_info_finish(assay_trial *trial, assay_problems *problems)
{
    int status = assay_trial_info_prepare(trial, problems);
    return status == ASSAY_OK ? assay_trial_order_find(trial) : status;
}

/* Called when planning is done, which is the last that needs the names; is_member() asks `listed` from then on. */
int assay_trial_info_drop_lists(assay_trial *trial, assay_catalog *catalog)
{
    uint32_t tensors = assay_dict_count(trial->tensors);
    trial->listed = assay_alloc_zeroed(catalog->collections.count, sizeof *trial->listed);
    for (size_t i = 0; trial->listed && i < catalog->collections.count; i++) {
        assay_collection *c = &catalog->collections.list[i];
        uint8_t *bits = assay_alloc_zeroed(tensors / 8 + (size_t)1, 1);
        ASSAY_HAVE(bits);
        for (size_t k = 0; k < c->tensors; k++) {
            uint32_t tensor = assay_dict_find(trial->tensors, c->tensor[k], strlen(c->tensor[k]));
            if (tensor != ASSAY_NO_ID)
                bits[tensor / 8] |= (uint8_t)(1u << tensor % 8);
        }
        trial->listed[i] = bits;
        free(c->tensor);
        c->tensor = NULL;
        c->tensors = 0;
    }
    return trial->listed ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_trial_info_free(assay_trial *trial)
{
    /* Also for a trial that is half made: every pointer may be NULL, but the catalog, which is not freed here. */
    if (!trial)
        return;
    for (size_t i = 0; trial->matchers && i < trial->catalog->collections.count; i++)
        if (trial->matchers[i])
            assay_matcher_free(trial->matchers[i]);
    free(trial->matchers);
    for (size_t i = 0; trial->listed && i < trial->catalog->collections.count; i++)
        free(trial->listed[i]);
    free(trial->listed);
    free(trial->logged);
    free(trial->mode_rank);
    free(trial->steps);
    free(trial->tensor_modes);
    free(trial->position);
    free(trial->order);
    free(trial->role);
    free(trial->worker_modes);
    assay_step_shifts_release(&trial->shifts);
    assay_manifest_release(&trial->claims);
    assay_relations_free(trial->relations);
    assay_step_times_free(trial->step_times);
    assay_timeline_free(trial->timeline);
    assay_trace_free(trial->traces);
    assay_hang_files_release(trial->dumps);
    free(trial->dumps);
    if (trial->tensors)
        assay_dict_free(trial->tensors);
    free(trial->name);
    free(trial->path);
    free(trial);
}

const char *assay_trial_name(const assay_trial *trial)
{
    return trial->name;
}

const char *assay_trial_path(const assay_trial *trial)
{
    return trial->path ? trial->path : "";
}

uint32_t assay_trial_workers(const assay_trial *trial)
{
    return trial->catalog->workers;
}

const char *assay_trial_worker(const assay_trial *trial, uint32_t worker)
{
    return worker < trial->catalog->workers ? trial->catalog->worker[worker] : "";
}

uint32_t assay_trial_expected_workers(const assay_trial *trial)
{
    return trial->catalog->expected_workers;
}

const char *assay_trial_fact(const assay_trial *trial, const char *name)
{
    return trial->catalog ? assay_run_fact_of(&trial->catalog->facts, name) : NULL;
}

const char *assay_trial_module(const assay_trial *trial, const char *name)
{
    char fact[512];
    const int length = snprintf(fact, sizeof fact, "module.%s", name);
    const char *said = length > 0 && (size_t)length < sizeof fact ? assay_trial_fact(trial, fact) : NULL;
    return said && *said ? said : NULL;
}

/* "_input_" and "_output_" may be in a module's own name, so the last one counts. NULL: there is none. */
static const char *end_of_module(const char *tensor)
{
    const char *end = NULL;
    for (const char *at = tensor; (at = strchr(at, '_')); at++)
        if (strncmp(at, "_input_", 7) == 0 || strncmp(at, "_output_", 8) == 0)
            end = at;
    return end;
}

const char *assay_trial_module_of(const assay_trial *trial, const char *tensor)
{
    char name[512];
    const char *end = end_of_module(tensor);
    if (!end || !trial->catalog || trial->catalog->facts.count == 0 || (size_t)(end - tensor) >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)(end - tensor), tensor);
    return assay_trial_module(trial, name);
}

bool assay_trial_is_composite(const assay_trial *trial, const char *tensor)
{
    char begin[512];
    const char *end = end_of_module(tensor);
    const int length = end ? snprintf(begin, sizeof begin, "module.%.*s.", (int)(end - tensor), tensor) : -1;
    return length > 0 && (size_t)length < sizeof begin && trial->catalog &&
           assay_run_facts_have(&trial->catalog->facts, begin);
}

bool assay_trial_typed_name(const assay_trial *trial, const char *tensor, char *out, size_t room)
{
    static const char TORCH[] = "torch.";
    const char *what = assay_trial_module_of(trial, tensor), *end = end_of_module(tensor);
    if (!what || strncmp(what, TORCH, sizeof TORCH - 1) != 0)
        return false;
    what += sizeof TORCH - 1;
    const int length = snprintf(out, room, "%.*s%s", (int)strcspn(what, " "), what, end ? end : "");
    return end && length > 0 && (size_t)length < room;
}

/* Shared weights are counted once, as they are saved once. */
uint32_t assay_trial_weighted_modules(const assay_trial *trial)
{
    static const char MODULE[] = "module.", SHARED[] = "shared";
    uint32_t weighted = 0, borrowed = 0;
    for (size_t i = 0; trial->catalog && i < trial->catalog->facts.count; i++) {
        const assay_run_fact *fact = &trial->catalog->facts.list[i];
        if (strncmp(fact->name, MODULE, sizeof MODULE - 1) != 0 || !fact->value)
            continue;
        const int kind = assay_module_kind_of(fact->value);
        weighted += kind == ASSAY_MODULE_LINEAR || kind == ASSAY_MODULE_CONVOLUTION || kind == ASSAY_MODULE_EMBEDDING;
        if (strncmp(fact->value, SHARED, sizeof SHARED - 1) == 0) /* "shared a.b c": modules with a weight of another */
            for (const char *at = fact->value; (at = strchr(at, ' ')); at++)
                borrowed++;
    }
    return weighted > borrowed ? weighted - borrowed : 0;
}

uint32_t assay_trial_run_workers(const assay_trial *trial)
{
    uint32_t expected = trial->catalog->expected_workers;
    uint64_t run = trial->catalog->facts.run_workers;
    return run > expected && run <= UINT32_MAX ? (uint32_t)run : expected;
}

assay_relation assay_trial_relation(const assay_trial *trial, uint32_t tensor, uint32_t worker)
{
    const assay_relations *r = trial->relations;
    if (!r || tensor >= r->tensors || worker >= r->workers)
        return (assay_relation){.known = r != NULL, .relatives = worker, .copy = worker};
    const assay_relation_class *c = assay_relation_of(r, tensor);
    return (assay_relation){.known = true,
                            .sum = c->sum,
                            .unknown = c->unknown,
                            .replicas = c->replicas[worker],
                            .relatives = c->relatives[worker],
                            .split = c->split,
                            .copy = c->copy[worker]};
}

uint32_t assay_trial_peers(const assay_trial *trial, uint32_t tensor, uint32_t worker)
{
    const assay_relations *r = trial->relations;
    return r && tensor < r->tensors && worker < r->workers ? assay_relation_of(r, tensor)->peers[worker] : 0;
}

uint32_t assay_trial_neighbours(const assay_trial *trial, uint32_t worker)
{
    const assay_relations *r = trial->relations;
    return r && worker < r->workers ? r->group[worker] : 0;
}

bool assay_trial_is_split(const assay_trial *trial, uint32_t tensor)
{
    const assay_relations *r = trial->relations;
    return r && tensor < r->tensors && assay_relation_of(r, tensor)->split;
}

uint32_t assay_trial_copy_worker(const assay_trial *trial, uint32_t tensor, uint32_t worker)
{
    const assay_relations *r = trial->relations;
    return r && tensor < r->tensors && assay_relation_of(r, tensor)->single ? ASSAY_ALL_WORKERS : worker;
}

bool assay_trial_ended(const assay_trial *trial)
{
    return trial->catalog->ended;
}

uint64_t assay_trial_steps(const assay_trial *trial)
{
    return trial->step_count;
}

const assay_step_info *assay_trial_step(const assay_trial *trial, uint64_t i)
{
    return i < trial->step_count ? &trial->steps[i] : NULL;
}

uint64_t assay_trial_find_step(const assay_trial *trial, int64_t step)
{
    uint64_t low = 0, last = trial->step_count - 1;
    if (trial->step_count == 0 || step < trial->steps[0].step || step > trial->steps[last].step)
        return UINT64_MAX;
    const double first = (double)trial->steps[0].step, length = (double)trial->steps[last].step - first;
    if (length > 0) { /* steps mostly lie at one distance */
        const uint64_t guess = (uint64_t)(((double)step - first) / length * (double)last + 0.5);
        if (guess <= last && trial->steps[guess].step == step)
            return guess;
    }
    ASSAY_SEARCH(low, trial->step_count, trial->steps[low].step < step);
    return trial->steps[low].step == step ? low : UINT64_MAX;
}

uint64_t assay_trial_mode_rank(const assay_trial *trial, uint64_t i)
{
    return i < trial->step_count ? trial->mode_rank[i] : 0;
}

unsigned assay_trial_modes(const assay_trial *trial)
{
    return trial->modes;
}

uint64_t assay_trial_mode_steps(const assay_trial *trial, int mode)
{
    return mode >= 0 && mode < ASSAY_MODES ? trial->mode_steps[mode] : 0;
}

uint32_t assay_trial_tensors(const assay_trial *trial)
{
    return assay_dict_count(trial->tensors);
}

uint32_t assay_trial_find_tensor(const assay_trial *trial, const char *name)
{
    const uint32_t count = assay_trial_tensors(trial);
    uint32_t low = 0;
    ASSAY_SEARCH(low, count, strcmp(assay_trial_tensor(trial, low), name) < 0);
    return low < count && strcmp(assay_trial_tensor(trial, low), name) == 0 ? low : ASSAY_NO_TENSOR;
}

const char *assay_trial_tensor(const assay_trial *trial, uint32_t tensor)
{
    size_t length;
    return tensor < assay_dict_count(trial->tensors) ? assay_dict_name(trial->tensors, tensor, &length) : "";
}

unsigned assay_trial_tensor_modes(const assay_trial *trial, uint32_t tensor)
{
    return tensor < assay_dict_count(trial->tensors) ? trial->tensor_modes[tensor] : 0;
}

uint64_t assay_trial_claims(const assay_trial *trial)
{
    return trial->claims.count;
}

const assay_claim *assay_trial_claim(const assay_trial *trial, uint64_t i)
{
    return i < trial->claims.count ? &trial->claims.list[i] : NULL;
}

/* 0.9 and 0.999 are the defaults of Adam in all common frameworks; the first claim counts. */
void assay_trial_betas(const assay_trial *trial, double betas[2])
{
    betas[0] = 0.9;
    betas[1] = 0.999;
    for (size_t i = 0; i < trial->claims.count; i++)
        if (trial->claims.list[i].kind == ASSAY_CLAIM_BETAS) {
            memcpy(betas, trial->claims.list[i].number, sizeof trial->claims.list[i].number);
            return;
        }
}

double assay_trial_resolution(const assay_trial *trial)
{
    return trial->catalog ? trial->catalog->log.resolution : 0;
}

unsigned assay_trial_logged(const assay_trial *trial, uint32_t tensor)
{
    return trial->logged && tensor < assay_dict_count(trial->tensors) ? trial->logged[tensor] : 0;
}

bool assay_trial_is_log(const assay_trial *trial)
{
    return trial->catalog && trial->catalog->log.kind != NULL;
}

bool assay_trial_log_has_workers(const assay_trial *trial)
{
    return trial->catalog && trial->catalog->log.workers_known;
}

uint64_t assay_trial_loss_pairs(const assay_trial *trial)
{
    return trial->catalog->log.judged.pairs.count / 2;
}

assay_loss_pair assay_trial_loss_pair(const assay_trial *trial, uint64_t i)
{
    char *const *names = trial->catalog->log.judged.pairs.list;
    if (i >= assay_trial_loss_pairs(trial))
        return (assay_loss_pair){ASSAY_NO_TENSOR, ASSAY_NO_TENSOR};
    return (assay_loss_pair){tensor_called(trial, names[2 * i]), tensor_called(trial, names[2 * i + 1])};
}

/* A second checkpoint of a step, or one that was not written to its end, says nothing of the one that counts; and what
 * a step is compared with need not be its own. */
uint64_t assay_trial_losses(const assay_trial *trial, int64_t step)
{
    uint64_t losses = 0;
    for (size_t i = 0; trial->problems && i < trial->problems->kept; i++) {
        const assay_problem *p = &trial->problems->list[i];
        losses += p->step == step && assay_problem_is_loss(p->kind) && p->kind != ASSAY_PROBLEM_DUPLICATE &&
                  p->kind != ASSAY_PROBLEM_ABANDONED && p->tensor != ASSAY_OF_COMPARISON;
    }
    return losses;
}

/* Tells whether a problem is of that record: a file that cannot be opened has records of any tensor. */
static bool is_of_record(const assay_problem *p, int64_t step, uint32_t tensor)
{
    return p->step == step &&
           (p->tensor == tensor || (p->tensor == ASSAY_NO_TENSOR &&
                                    (p->kind == ASSAY_PROBLEM_READ || p->kind == ASSAY_PROBLEM_EVENT_MISSING)));
}

bool assay_trial_is_unread(const assay_trial *trial, int64_t step, uint32_t tensor)
{
    for (size_t i = 0; trial->problems && i < trial->problems->kept; i++)
        if (is_of_record(&trial->problems->list[i], step, tensor))
            return true;
    return false;
}

int assay_trial_is_member(const assay_trial *trial, const char *collection, uint32_t tensor, assay_problems *problems)
{
    const assay_collection *c = assay_collections_find(&trial->catalog->collections, collection);
    if (!c || tensor >= assay_dict_count(trial->tensors))
        return 0;
    size_t number = (size_t)(c - trial->catalog->collections.list);
    if (trial->listed && trial->listed[number][tensor / 8] >> tensor % 8 & 1)
        return 1;
    assay_matcher *matcher = trial->matchers[number];
    size_t length;
    const char *name = assay_dict_name(trial->tensors, tensor, &length);
    return matcher ? assay_matcher_has(matcher, name, length, problems) : 0;
}

bool assay_trial_in_collection(const assay_trial *trial, const char *collection, uint32_t tensor)
{
    return assay_trial_is_member(trial, collection, tensor, NULL) == 1;
}

const assay_trace_data *assay_trial_traces(const assay_trial *trial)
{
    return trial->traces;
}

bool assay_trial_has_dumps(const assay_trial *trial)
{
    return trial->dumps != NULL;
}

const char *assay_trial_dump_of(const assay_trial *trial, int64_t rank, uint64_t *entries)
{
    for (size_t i = 0; trial->dumps && i < trial->dumps->row.count; i++) {
        const assay_flight_row *row = &trial->dumps->row.list[i];
        if ((int64_t)row->rank == rank && row->file < trial->catalog->events.count) {
            *entries = row->entries;
            return trial->catalog->events.list[row->file].path;
        }
    }
    return NULL;
}

int assay_trial_dump_clocks(const assay_trial *trial, assay_hang_clock **out, size_t *count)
{
    *out = NULL;
    *count = 0;
    return trial->dumps ? assay_hang_clocks(trial->dumps->row.list, trial->dumps->row.count, out, count) : ASSAY_OK;
}

int assay_hang_find(const assay_trial *trial, double max_age, assay_hang **out, assay_error *err)
{
    *out = NULL;
    return trial->dumps ? assay_hang_find_in(trial->dumps->row.list, trial->dumps->row.count, max_age, out, err)
                        : ASSAY_OK;
}

const assay_timeline *assay_trial_timeline(const assay_trial *trial)
{
    return trial->timeline ? &trial->timeline->line : NULL;
}
