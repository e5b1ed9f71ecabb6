/* verify.c - runs the rules of a verification, looks at the rest, and judges. */
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/path.h"
#include "job/job.h"
#include "report/report.h"
#include "trial/places.h"
#include "trial/trial_format.h"
#include "verify/beyond.h"
#include "verify/forms.h"
#include "verify/judge.h"
#include "verify/seal.h"
#include "verify/unread.h"

/* Nothing here needs a step before: what needs one has data only where there is one. A log beside a checkpoint may have a
 * NaN from long before it, as trainers write of gradients that overflowed: that is a matter of the training. */
static const char JOB[] =
    "{\"trials\": [], \"rules\": ["
    "{\"rule\": \"MissingWorker\"}, {\"rule\": \"ReplicaDivergence\"},"
    "{\"rule\": \"CheckpointStructure\", \"parameters\": {\"tests\": \"dtype,optimizer,shape,tied,vanished\"}},"
    "{\"rule\": \"ExplodingTensor\", \"parameters\": {\"strict\": false, \"tensor_regex\": \"^(?!metrics/)\"}},"
    "{\"rule\": \"AllZero\", \"parameters\": {\"collection_names\": \"weights,biases\", \"num_steps\": 1000000, \"after_values\": true}},"
    "{\"rule\": \"TensorVariance\", \"parameters\": {\"collection_names\": \"weights\", \"max_threshold\": 1e40}},"
    "{\"rule\": \"NegativeSecondMoment\"}, {\"rule\": \"AdamMomentBound\"}]}";

int assay_verify_make_job(const char *trial, assay_job *job, assay_error *err)
{
    const char *const trials[1] = {trial};
    int status = assay_job_parse("verify", JOB, sizeof JOB - 1, &assay_report_forms, job, err);
    ASSAY_THEN(status, assay_job_set_trials(job, trials, 1, err));
    if (status == ASSAY_OK && assay_job_read_only(job, ASSAY_TRIAL_CHECKPOINTS) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", trial);
    return status;
}

/* Does the trial hold a log of metrics, and nothing else? */
static bool is_log(const assay_catalog *catalog)
{
    return catalog->log.kind && catalog->format_count == 1;
}

/* Of the steps [from, to) of one run. */
static int run_steps(assay_comm *comm, const char *trial, const assay_verify_options *options, assay_verification *out,
                     assay_error *err)
{
    assay_job job = {0};
    assay_outcome outcome = {0};
    assay_trial_files files = {0};
    assay_verify_remarks remarks = {0};
    const bool first = assay_comm_rank(comm) == 0;
    const assay_engine_options engine = {
        .memory = options->memory, .from = options->from, .to = options->to, .progress = options->progress};
    int status = assay_comm_agree(comm, assay_verify_make_job(trial, &job, err), err);
    if (status != ASSAY_OK)
        goto done;
    status = assay_engine_run(comm, &job, &engine, &outcome, err);
    if (status != ASSAY_OK)
        goto done;
    if (first && outcome.trials[0].status != ASSAY_OK) {
        *err = outcome.trials[0].error;
        status = outcome.trials[0].status;
    } else if (first) {
        assay_trial_outcome *listed = &outcome.trials[0];
        assay_store *store = listed->store;
        listed->store = NULL;
        status = store ? assay_trial_open_listed(store, listed->trial->options, &listed->catalog, &files, err)
                       : assay_trial_open(trial, &files, err);
    }
    status = assay_comm_agree(comm, status, err);
    if (status != ASSAY_OK)
        goto done;
    status = assay_seal_check(comm, trial, first ? &files : NULL, options->from, options->to,
                              first ? &outcome.trials[0].problems : NULL, err);
    if (status != ASSAY_OK)
        goto done;
    status = assay_verify_beyond(comm, trial, first ? &files : NULL, options,
                                 first ? &outcome.trials[0].problems : NULL, &remarks, err);
    if (status != ASSAY_OK)
        goto done;
    if (first && is_log(&outcome.trials[0].catalog))
        status = assay_fail(
            err, ASSAY_EFORMAT,
            "%s: a log of metrics (%s), and no checkpoint is in it: there is nothing to verify, nor to resume from",
            trial, outcome.trials[0].catalog.log.kind);
    else if (first && assay_judge(&outcome.trials[0], &job, &files, &remarks, options, out) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory while the files are listed");
    status = assay_comm_agree(comm, status, err);
done:
    assay_verify_remarks_release(&remarks);
    if (first)
        assay_trial_release(&files);
    assay_outcome_release(&outcome);
    assay_job_release(&job);
    return status;
}

/* ---- beside a run ---- */

/* Are the steps of the trial checkpoints, which lie where they can be opened again as they were listed? */
static bool is_judged(const assay_trial_outcome *trial)
{
    bool checkpoints = false;
    for (uint32_t i = 0; trial->status == ASSAY_OK && i < trial->catalog.format_count; i++)
        checkpoints = checkpoints || assay_format_of(trial->catalog.formats[i])->checkpoints;
    return checkpoints && trial->catalog.unit_count > 0 && trial->store;
}

/* On rank 0: the index once more. Where it cannot be had, *unread is 1, and a problem says what was not looked at; what
 * is found now and was not before is a problem, too. */
static int open_again(assay_trial_outcome *trial, assay_trial_files *files, uint64_t *unread, assay_error *err)
{
    assay_store *store = trial->store; /* it knows what was listed */
    trial->store = NULL;
    const int status = assay_trial_open_listed(store, trial->trial->options, &trial->catalog, files, err);
    *unread = status != ASSAY_OK;
    if (status != ASSAY_OK && status != ASSAY_ENOMEM)
        assay_problems_add(&trial->problems, ASSAY_PROBLEM_READ, -1, "", -1,
                           "%s; checksums, pickles and seals beside tensors were not looked at", err->text);
    for (size_t i = 0; status == ASSAY_OK && i < files->problems.kept; i++) {
        const assay_problem *p = &files->problems.list[i];
        if (!assay_problems_have(&trial->problems, p->text))
            assay_problems_add(&trial->problems, p->kind, p->step, p->file, p->offset, "%s", p->text);
    }
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* Has the file tensors that the run has read, and none that it left to another model? */
static bool is_evaluated(const assay_trial_outcome *trial, const assay_trial_files *files, const char *name)
{
    const assay_shard *shard = &files->shard;
    for (size_t i = 0; i < trial->problems.kept; i++)
        if (trial->problems.list[i].kind == ASSAY_PROBLEM_SET_ASIDE && strcmp(trial->problems.list[i].file, name) == 0)
            return false;
    for (size_t p = 0; p < shard->count; p++)
        for (size_t e = shard->parts[p].first; e < shard->parts[p].first + shard->parts[p].count; e++) {
            char room[ASSAY_PATH_ROOM];
            const char *path = assay_part_file(&files->catalog, &shard->parts[p], shard->entries[e].file, room);
            if (path && strcmp(path, name) == 0)
                return true;
        }
    return false;
}

/* On rank 0: the models of a directory of several that the run has not evaluated, terminated. */
static int list_left(const assay_trial_outcome *trial, const assay_trial_files *files, assay_buf *out)
{
    assay_buf models = ASSAY_BUF(SIZE_MAX);
    const int status = assay_verify_put_models(files->store, &files->catalog, &models);
    for (size_t at = 0, size; status == ASSAY_OK && at < models.size; at += size) {
        const char *name = (const char *)models.data + at;
        size = strlen(name) + 1;
        if (!is_evaluated(trial, files, name))
            assay_put_bytes(out, name, size);
    }
    assay_buf_release(&models);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

/* On rank 0: a problem of the run for a model by itself that is not sound, unless there is one of its file. */
static void add_model(assay_trial_outcome *trial, const char *name, const assay_verification *one)
{
    for (size_t i = 0; i < trial->problems.kept; i++)
        if (assay_problem_is_loss(trial->problems.list[i].kind) && strcmp(trial->problems.list[i].file, name) == 0)
            return;
    const char *why = one->steps > 0 && one->step[0].why ? one->step[0].why : assay_verify_word(one->state);
    if (one->state > ASSAY_VERIFY_NOTE && one->state != ASSAY_VERIFY_CODE) /* that is said of all files */
        assay_problems_add(&trial->problems,
                           one->state == ASSAY_VERIFY_UNREAD ? ASSAY_PROBLEM_UNSUPPORTED : ASSAY_PROBLEM_RECORD,
                           one->steps > 0 ? one->step[0].step : -1, name, -1, "%s: %s", name, why);
}

/* Of several models in a directory the run evaluates one: the others are judged by themselves. Collective. */
static int add_models(assay_comm *comm, assay_trial_outcome *trial, const assay_trial_files *files, const char *path,
                      const assay_verify_options *options, assay_error *err)
{
    assay_buf models = ASSAY_BUF(SIZE_MAX);
    int status = assay_comm_agree(comm, trial ? list_left(trial, files, &models) : ASSAY_OK, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &models));
    for (size_t at = 0; at < models.size && status == ASSAY_OK;) {
        const char *name = (const char *)models.data + at;
        assay_verification one = {.last_sound = -1};
        char *file = assay_path_join(path, name);
        at += strlen(name) + 1;
        status = assay_comm_agree(comm, file ? ASSAY_OK : ASSAY_ENOMEM, err);
        ASSAY_THEN(status, run_steps(comm, file, options, &one, err));
        if (status == ASSAY_ENOTFOUND || status == ASSAY_EFORMAT) /* gone, or named by whoever read it before */
            status = ASSAY_OK;
        else if (status == ASSAY_OK && trial)
            add_model(trial, name, &one);
        assay_verification_release(&one);
        free(file);
    }
    assay_buf_release(&models);
    return status;
}

static int add_beyond(assay_comm *comm, assay_trial_outcome *trial, const char *path,
                      const assay_verify_options *options, assay_error *err)
{
    assay_trial_files files = {0};
    assay_verify_remarks remarks = {0};
    uint64_t unread = 0;
    int status = trial ? open_again(trial, &files, &unread, err) : ASSAY_OK;
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_sum(comm, &unread, 1));
    if (status != ASSAY_OK || unread > 0)
        return status;
    ASSAY_THEN(status, assay_seal_check(comm, path, trial ? &files : NULL, options->from, options->to,
                                        trial ? &trial->problems : NULL, err));
    ASSAY_THEN(status, assay_verify_beyond(comm, path, trial ? &files : NULL, options, trial ? &trial->problems : NULL,
                                           &remarks, err));
    ASSAY_THEN(status, add_models(comm, trial, &files, path, options, err));
    if (trial && files.store)
        assay_problems_take_notes(&trial->problems, files.store, -1,
                                  "what lies there may be missing from this analysis");
    for (size_t i = 0; status == ASSAY_OK && i < remarks.count; i++) {
        const assay_verify_remark *r = &remarks.list[i];
        if (r->state > ASSAY_VERIFY_NOTE)
            assay_log_warn("%s", r->text);
        /* the run may not say that all is well where a verification does not */
        if (r->state == ASSAY_VERIFY_SUSPECT || r->state == ASSAY_VERIFY_UNREAD)
            assay_problems_add(&trial->problems,
                               r->state == ASSAY_VERIFY_UNREAD ? ASSAY_PROBLEM_UNSUPPORTED : ASSAY_PROBLEM_RECORD,
                               r->step, r->file, -1, "%s", r->text);
        if (remarks.list[i].state == ASSAY_VERIFY_CODE && !trial->unsafe)
            status = (trial->unsafe = assay_copy_text(remarks.list[i].text)) ? ASSAY_OK : ASSAY_ENOMEM;
    }
    status = assay_comm_agree(comm, status, err);
    assay_verify_remarks_release(&remarks);
    if (trial)
        assay_trial_release(&files);
    return status;
}

int assay_verify_outcome(assay_comm *comm, assay_outcome *outcome, const assay_engine_options *engine, assay_error *err)
{
    const assay_verify_options options = {.from = engine->from, .to = engine->to, .memory = engine->memory};
    assay_buf judged;
    int status = ASSAY_OK;
    assay_buf_init(&judged, SIZE_MAX);
    if (assay_comm_rank(comm) == 0)
        for (size_t i = 0; i < outcome->trial_count; i++)
            if (is_judged(&outcome->trials[i])) {
                const char *path = outcome->trials[i].trial->path;
                assay_put_u64(&judged, i);
                assay_put_u64(&judged, strlen(path) + 1);
                assay_put_bytes(&judged, path, strlen(path) + 1);
            }
    status = assay_comm_agree(comm, assay_buf_status(&judged), err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &judged));
    assay_cursor in = assay_cursor_over(judged.data, judged.size);
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0) {
        const uint64_t number = assay_get_u64(&in), length = assay_get_u64(&in);
        const char *path = (const char *)assay_get_bytes(&in, (size_t)length);
        status = add_beyond(comm, assay_comm_rank(comm) == 0 ? &outcome->trials[number] : NULL, path, &options, err);
    }
    assay_buf_release(&judged);
    return status;
}

/* ---- the newest one ---- */

/* On rank 0: the steps of the trial that were asked for, in their order. */
static int list_steps(const char *trial, const assay_verify_options *asked, assay_buf *out, assay_error *err)
{
    assay_store *store = NULL;
    assay_catalog catalog = {0};
    int64_t last = 0;
    assay_trial_options *options = assay_trial_options_new();
    int status =
        options ? assay_store_open(trial, &store, err) : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", trial);
    if (options)
        options->only = ASSAY_TRIAL_CHECKPOINTS; /* as assay_verify_make_job() has it */
    ASSAY_THEN(status, assay_catalog_read(store, options, &catalog, err));
    if (status == ASSAY_OK) {
        for (size_t i = 0; i < catalog.unit_count; i++) {
            const assay_unit *unit = &catalog.units[i];
            if (unit->step < asked->from || unit->step >= asked->to || !assay_verify_is_checkpoint(&catalog, unit))
                continue;
            if (out->size == 0 || unit->step != last)
                assay_put_i64(out, unit->step);
            last = unit->step;
        }
        assay_catalog_release(&catalog);
    }
    assay_trial_options_release(options);
    assay_store_close(store);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

/* The i-th number of the list. */
static int64_t step_at(const assay_buf *steps, size_t i)
{
    assay_cursor in = assay_cursor_over(steps->data + 8 * i, 8);
    return assay_get_i64(&in);
}

/* Puts what was found of earlier steps in front. */
static int join(assay_verification *earlier, assay_verification *later)
{
    const size_t steps = earlier->steps + later->steps, files = earlier->files + later->files;
    assay_verify_step *step = calloc(steps + 1, sizeof *step);
    assay_verify_file *file = calloc(files + 1, sizeof *file);
    if (!step || !file) {
        free(step);
        free(file);
        return ASSAY_ENOMEM;
    }
    for (size_t i = 0; i < steps; i++)
        step[i] = i < earlier->steps ? earlier->step[i] : later->step[i - earlier->steps];
    for (size_t i = 0; i < files; i++)
        file[i] = i < earlier->files ? earlier->file[i] : later->file[i - earlier->files];
    free(earlier->step);
    free(later->step);
    free(earlier->file);
    free(later->file);
    if (!later->pick) {
        later->pick = earlier->pick;
        later->of = earlier->of;
        earlier->pick = NULL;
    }
    later->last_sound = earlier->last_sound;
    later->losses += earlier->losses;
    later->findings += earlier->findings;
    later->step = step;
    later->steps = later->step_room = steps;
    later->file = file;
    later->files = later->file_room = files;
    earlier->step = NULL;
    earlier->file = NULL;
    earlier->steps = earlier->files = 0;
    return ASSAY_OK;
}

/* Has rank 0 found a checkpoint to resume from? */
static int is_found(assay_comm *comm, const assay_verification *j, bool *found)
{
    uint64_t said = assay_comm_rank(comm) == 0 && j->last_sound >= 0;
    const int status = assay_comm_sum(comm, &said, 1);
    *found = said > 0;
    return status;
}

static int run_last(assay_comm *comm, const char *trial, const assay_verify_options *options, assay_verification *out,
                    assay_error *err)
{
    assay_buf steps;
    assay_verify_options one = *options;
    bool found = false;
    assay_buf_init(&steps, SIZE_MAX);
    int status =
        assay_comm_agree(comm, assay_comm_rank(comm) == 0 ? list_steps(trial, options, &steps, err) : ASSAY_OK, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &steps));
    size_t left = steps.size / 8;
    one.from = left > 0 ? step_at(&steps, left - 1) : options->from;
    ASSAY_THEN(status, run_steps(comm, trial, &one, out, err));
    ASSAY_THEN(status, is_found(comm, out, &found));
    while (status == ASSAY_OK && !found && left > 1) {
        assay_verification earlier = {.last_sound = -1};
        left--;
        one.from = step_at(&steps, left - 1);
        one.to = one.from + 1;
        status = run_steps(comm, trial, &one, &earlier, err);
        const int joined = status == ASSAY_OK && assay_comm_rank(comm) == 0 ? join(&earlier, out) : ASSAY_OK;
        ASSAY_THEN(status, assay_comm_agree(comm, joined, err));
        assay_verification_release(&earlier);
        ASSAY_THEN(status, is_found(comm, out, &found));
    }
    assay_buf_release(&steps);
    return status;
}

/* ---- several models in a directory ---- */

int assay_verify_put_models(assay_store *store, const assay_catalog *catalog, assay_buf *out)
{
    assay_names names = {0};
    char *place = NULL;
    int status = ASSAY_OK;
    const assay_trial_format *format = catalog->unit_count == 1 ? assay_format_of(catalog->units[0].format) : NULL;
    if (format && format->models)
        status = assay_unit_places(store, catalog, &catalog->units[0], assay_verify_take_place, &place);
    if (status == ASSAY_OK && place && strcmp(place, ".") == 0 && !assay_store_is_file(store) &&
        assay_store_list(store, "", &names, NULL) == ASSAY_OK) {
        bool *is_model = calloc(names.count + 1, sizeof *is_model);
        const size_t models = is_model ? format->models(&names, is_model) : 0;
        for (size_t i = 0; i < names.count && models > 1; i++)
            if (is_model[i])
                assay_put_bytes(out, names.name[i], strlen(names.name[i]) + 1);
        status = is_model ? ASSAY_OK : ASSAY_ENOMEM;
        free(is_model);
    }
    free(place);
    assay_names_release(&names);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

/* On rank 0: those of a trial. */
static int list_models(const char *trial, assay_buf *out)
{
    assay_store *store = NULL;
    assay_catalog catalog = {0};
    assay_error refused = {""}; /* who lists the trial after this says so */
    int status = assay_store_open(trial, &store, &refused);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_OK;
    status = assay_catalog_read(store, NULL, &catalog, &refused);
    ASSAY_THEN(status, assay_verify_put_models(store, &catalog, out));
    assay_catalog_release(&catalog);
    assay_store_close(store);
    return status == ASSAY_ENOMEM ? status : assay_buf_status(out);
}

/* Adds to the judgement of the file `name` that it is another form of `other`, whose tensors differ. */
static int add_unlike(assay_verification *one, const char *text)
{
    assay_verify_step *step = one->steps > 0 ? &one->step[one->steps - 1] : NULL;
    one->findings++;
    one->state = one->state > ASSAY_VERIFY_SUSPECT ? one->state : ASSAY_VERIFY_SUSPECT;
    if (!step || step->why)
        return ASSAY_OK;
    step->state = ASSAY_VERIFY_SUSPECT;
    step->why = assay_copy_text(text);
    return step->why ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Holds pair.other, which is one of `models`, against those before it that have the same model in another form.
 * Collective. */
static int compare_with_earlier(assay_comm *comm, const assay_buf *models, assay_verify_forms_pair pair,
                                assay_verification *one, assay_error *err)
{
    int status = ASSAY_OK;
    for (pair.model = (const char *)models->data; pair.model < pair.other && status == ASSAY_OK;
         pair.model += strlen(pair.model) + 1) {
        char *text = NULL;
        if (!assay_verify_are_forms(pair.model, pair.other))
            continue;
        status = assay_verify_compare_forms(comm, &pair, &text, err);
        const int added = status == ASSAY_OK && text ? add_unlike(one, text) : ASSAY_OK;
        ASSAY_THEN(status, assay_comm_agree(comm, added, err));
        free(text);
    }
    return status;
}

/* Judges each file as a trial, and puts what is found behind one another. */
static int run_models(assay_comm *comm, const char *trial, const assay_buf *models, const assay_verify_options *options,
                      assay_verification *out, assay_error *err)
{
    const bool first = assay_comm_rank(comm) == 0;
    int status = ASSAY_OK;
    for (size_t at = 0; at < models->size && status == ASSAY_OK;) {
        const char *name = (const char *)models->data + at;
        const assay_verify_forms_pair pair = {.trial = trial, .other = name, .memory = options->memory};
        assay_verification one = {.last_sound = -1};
        char *path = assay_path_join(trial, name);
        at += strlen(name) + 1;
        status = assay_comm_agree(comm, path ? ASSAY_OK : ASSAY_ENOMEM, err);
        ASSAY_THEN(status, run_steps(comm, path, options, &one, err));
        ASSAY_THEN(status, compare_with_earlier(comm, models, pair, &one, err));
        free(path);
        if (status == ASSAY_OK) {
            one.state = one.state > out->state ? one.state : out->state;
            status = assay_comm_agree(comm, first ? join(out, &one) : ASSAY_OK, err);
        }
        assay_verification_release(out);
        *out = one;
    }
    if (first && status == ASSAY_OK) {
        free(out->path);
        out->path = assay_copy_text(trial);
        out->models = true;
        out->last_sound = -1;
        status = out->path ? assay_verify_beside(trial, models, options, out, err) : ASSAY_ENOMEM;
    }
    return assay_comm_agree(comm, status, err);
}

/* What is no trial may be of a kind that is known and not read: else it stays with what was wrong. */
static int judge_unread(assay_comm *comm, const char *place, const assay_verify_options *options, int refused,
                        assay_verification *out, assay_error *err)
{
    assay_error why = {""}, said = *err;
    assay_verification_release(out);
    *out = (assay_verification){.last_sound = -1};
    int status = assay_comm_rank(comm) == 0 ? assay_verify_unread(place, options, out, &why) : ASSAY_OK;
    if (status != ASSAY_OK && status != ASSAY_ENOMEM) {
        why = said;
        status = refused;
    }
    status = assay_comm_agree(comm, status, &why);
    if (status != ASSAY_OK)
        *err = why;
    return status;
}

/* On rank 0: nothing is not sound. */
static int need_steps(const char *trial, const assay_verify_options *options, const assay_verification *j,
                      assay_error *err)
{
    const bool limited = options->from != INT64_MIN || options->to != INT64_MAX;
    if (j->steps > 0 || (!limited && j->state != ASSAY_VERIFY_SOUND))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_ENOTFOUND, "%s: no checkpoint%s", trial, limited ? " in --steps" : "");
}

static int judge(assay_comm *comm, const char *trial, const assay_verify_options *options, assay_verification *out,
                 assay_error *err)
{
    assay_buf models;
    *out = (assay_verification){.last_sound = -1};
    assay_buf_init(&models, SIZE_MAX);
    int status = assay_comm_agree(comm, assay_comm_rank(comm) == 0 ? list_models(trial, &models) : ASSAY_OK, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &models));
    if (status == ASSAY_OK && models.size > 0)
        status = run_models(comm, trial, &models, options, out, err);
    else if (status == ASSAY_OK)
        status = options->last ? run_last(comm, trial, options, out, err) : run_steps(comm, trial, options, out, err);
    if (status == ASSAY_ENOTFOUND || status == ASSAY_EFORMAT)
        status = judge_unread(comm, trial, options, status, out, err);
    if (status == ASSAY_OK)
        status =
            assay_comm_agree(comm, assay_comm_rank(comm) == 0 ? need_steps(trial, options, out, err) : ASSAY_OK, err);
    assay_buf_release(&models);
    return status;
}

/* The trial is opened to see what lies there, by the engine, for what no rule sees, and once more for each step or model. */
int assay_verify_run(assay_comm *comm, const char *trial, const assay_verify_options *options, assay_verification *out,
                     assay_error *err)
{
    assay_store_share_listings(true);
    const int status = judge(comm, trial, options, out, err);
    assay_store_share_listings(false);
    return status;
}
