/* other.c - what the other sources say: dumps of flight recorders, traces, checkpoints, logs of metrics, records. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/traces.h>

#include "base/fault.h"
#include "base/path.h"
#include "engine/engine.h"
#include "hang/hang.h"
#include "report/model/diagnosis.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "trial/stands.h"
#include "verify/verify.h"
#include "why/internal.h"

enum { NOTES_OF_PLACE = 3 };

static char *text_of(assay_buf *buf)
{
    assay_put_u8(buf, 0);
    char *text = assay_buf_status(buf) == ASSAY_OK ? assay_copy_text((const char *)buf->data) : NULL;
    assay_buf_release(buf);
    return text;
}

static assay_engine_options engine_options(const assay_why_options *options)
{
    return (assay_engine_options){
        .memory = options->memory, .from = INT64_MIN, .to = INT64_MAX, .progress = options->progress};
}

/* Runs the rules over a place. What cannot be opened is a problem and no failure. Collective. */
static int run_rules(assay_comm *comm, const char *location, why_kind kind, const assay_why_options *options,
                     assay_job *job, assay_outcome *outcome, assay_error *err)
{
    const char *const trials[1] = {location};
    const assay_engine_options engine = engine_options(options);
    int status =
        assay_job_parse("the built-in job", options->rules, options->rules_size, &assay_report_forms, job, err);
    for (size_t i = 0; status == ASSAY_OK && i < job->rule_count; i++)
        job->rules[i]->optional = true;
    for (size_t i = 0; status == ASSAY_OK && i < job->aggregation_count; i++)
        job->aggregations[i]->optional = true;
    ASSAY_THEN(status, assay_job_set_trials(job, trials, 1, err));
    if (status == ASSAY_OK && ((kind == WHY_METRICS && assay_job_read_only(job, ASSAY_TRIAL_LOG) !=
                                                           ASSAY_OK) || /* checkpoints are judged by themselves */
                               assay_job_add_implicit(job) != ASSAY_OK))
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", location);
    status = assay_comm_agree(comm, status, err);
    return status == ASSAY_OK ? assay_engine_run(comm, job, &engine, outcome, err) : status;
}

/* Which dump tells of a cause, and its last entry: that of the rank, else of the first that waits for it. False without memory. */
static bool take_dump(assay_why *why, const why_place *place, const assay_trial_outcome *trial,
                      const assay_hang_cause *cause)
{
    uint64_t entries = 0;
    const char *file = assay_trial_dump_of(trial->info, cause->rank, &entries);
    if (!file && cause->waited_for_by.count > 0)
        file = assay_trial_dump_of(trial->info, cause->waited_for_by.rank[0], &entries);
    why->hang_file = !file            ? assay_copy_text(place->path[0] ? place->path : ".")
                     : place->path[0] ? assay_path_join(place->path, file)
                                      : assay_copy_text(file);
    why->hang_event.line = file ? entries : 0;
    return why->hang_file;
}

/* On rank 0: who hung. */
static int take_hang(assay_why *why, size_t place, const assay_trial_outcome *trial, assay_error *err)
{
    assay_hang *hang = NULL;
    int status =
        assay_trial_has_dumps(trial->info) ? assay_hang_find(trial->info, ASSAY_HANG_AGE_MOST, &hang, err) : ASSAY_OK;
    if (status == ASSAY_OK && hang && hang->causes > 0 && !why->hang) {
        const assay_hang_cause *c = &hang->cause[0];
        why->hang = assay_copy_text(c->text);
        bool made = why->hang != NULL;
        why->hang_event = (assay_log_event){.signature = ASSAY_SIGNATURE_HANG,
                                            .ending = ASSAY_ENDING_collective_timeout,
                                            .role = ASSAY_LOG_CONSEQUENCE,
                                            .scope = ASSAY_LOG_RANK,
                                            .file = (uint32_t)place,
                                            .count = 1,
                                            .rank = c->rank,
                                            .local_rank = -1,
                                            .step = -1,
                                            .code = -1,
                                            .sequence = c->operation.number,
                                            .time = NAN,
                                            .text = why->hang,
                                            .quote = why->hang};
        made = made && take_dump(why, &why->places.list.list[place], trial, c);
        for (size_t i = 0; i < hang->causes && made; i++)
            if (hang->cause[i].rank >= 0 && (i == 0 || hang->cause[i].test == c->test)) {
                int64_t *rank = ASSAY_VEC_ADD(&why->hang_ranks);
                made = rank != NULL;
                if (rank)
                    *rank = hang->cause[i].rank;
            }
        status = made ? ASSAY_OK : ASSAY_ENOMEM;
    }
    assay_hang_free(hang);
    return status;
}

/* On rank 0: how far clocks are apart, by collectives that several ranks ended together. */
static int take_clocks(assay_why *why, const assay_trial_outcome *trial)
{
    const assay_trace_data *data = assay_trial_traces(trial->info);
    if (data && data->matched > 0) /* which are more exact than dumps */
        why->clock.count = 0;
    for (size_t i = 0; data && data->matched > 0 && i < data->ranks; i++) {
        why_clock *clock = ASSAY_VEC_ADD(&why->clock);
        ASSAY_HAVE(clock);
        *clock = (why_clock){.rank = data->rank[i].rank, .ahead = (double)data->clock[i] / 1e9};
    }
    return ASSAY_OK;
}

/* On rank 0: the same by dumps, before causes are looked for in them. */
static int take_clocks_of_dumps(assay_why *why, const assay_trial_outcome *trial)
{
    assay_hang_clock *list = NULL;
    size_t count = 0;
    int status = assay_trial_dump_clocks(trial->info, &list, &count);
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        why_clock *clock = ASSAY_VEC_ADD(&why->clock);
        status = clock ? ASSAY_OK : ASSAY_ENOMEM;
        if (clock)
            *clock = (why_clock){list[i].rank, list[i].ahead, list[i].collectives};
    }
    free(list);
    return status;
}

/* Where a source's finding is: the file that it was found in, where it has one. */
static char *path_of(const why_place *place)
{
    return !place->first    ? assay_copy_text(place->path[0] ? place->path : ".")
           : place->path[0] ? assay_path_join(place->path, place->first)
                            : assay_copy_text(place->first);
}

/* Sets where in the trial's files it stands what a note says of a step, as far as they tell. False without memory. */
static bool set_stand(assay_store *store, const why_place *place, const assay_trial_outcome *trial, const char *tensor,
                      why_note *note)
{
    assay_stand stand;
    const int found = assay_trial_stands(store, trial->trial->options, note->step, tensor, &stand);
    if (found == 1 && place->first) {
        free(note->path);
        note->path = place->path[0] ? assay_path_join(place->path, stand.path) : assay_copy_text(stand.path);
    }
    note->line = stand.line;
    note->entry = stand.entry;
    stand.entry = NULL;
    assay_stand_release(&stand);
    return found != ASSAY_ENOMEM && note->path;
}

/* Adds a note of a place, and where in it stands what it says. `store` NULL: no more than its path is known. */
static bool add_note_of(assay_why *why, assay_store *store, const why_place *place, const assay_trial_outcome *trial,
                        const char *tensor, why_note *note)
{
    note->kind = place->kind;
    note->path = path_of(place);
    bool made = note->path != NULL;
    if (store && made && note->step >= 0)
        made = set_stand(store, place, trial, tensor, note);
    if (place->kind == WHY_RECORDS && tensor[0] && made)
        made = (note->entry = assay_copy_text(tensor)) != NULL;
    made = made && why_add_note(why, *note);
    free(note->path);
    free(note->entry);
    return made;
}

/* On rank 0: causes of what the rules found, and the verdict where they found nothing. */
static int take_notes(assay_why *why, const why_place *place, const assay_outcome *outcome, const char *verdict)
{
    const assay_trial_outcome *trial = &outcome->trials[0];
    const uint64_t steps = assay_trial_steps(trial->info);
    report_diagnosis found;
    size_t told = 0;
    assay_store *store = NULL;
    ASSAY_TRY(report_diagnose(outcome, trial, &found));
    if (place->kind == WHY_METRICS &&
        assay_store_open(assay_trial_root(trial->trial->options, trial->trial->path), &store, NULL) != ASSAY_OK)
        store = NULL; /* then it is the file alone that is named */
    bool made = true;
    for (size_t i = 0; i < found.is.causes && made && told < NOTES_OF_PLACE; i++) {
        const assay_cause *c = &found.is.cause[i];
        const bool in_time = c->began.mode == ASSAY_MODE_NONE && place->kind == WHY_SYSTEM;
        if (!c->wrong && !in_time)
            continue;
        told++;
        assay_buf text = ASSAY_BUF(1 << 16);
        assay_put_format(&text, "%s (%s)", c->sentence, found.evidence[c->evidence[0]].name);
        char *said = text_of(&text);
        made = said && add_note_of(why, store, place, trial, c->tensor,
                                   &(why_note){.text = said,
                                               .step = in_time || c->began.step == INT64_MAX ? -1
                                                       : c->began.alone                      ? c->began.to
                                                                                             : c->began.step,
                                               .time = in_time ? (double)c->began.to / 1e6 : NAN,
                                               .wrong = c->wrong && c->certainty >= ASSAY_LIKELY});
        free(said);
    }
    const assay_step_info *last = steps > 0 ? assay_trial_step(trial->info, steps - 1) : NULL;
    if (told == 0)
        made = made && add_note_of(why, store, place, trial, "",
                                   &(why_note){.text = (char *)verdict,
                                               .step = !last                             ? -1
                                                       : assay_trial_is_log(trial->info) ? last->mode_step
                                                                                         : last->step,
                                               .time = NAN});
    report_diagnosis_release(&found);
    assay_store_close(store);
    return made ? ASSAY_OK : ASSAY_ENOMEM;
}

/* On rank 0: the first line of the report over a place, and what it says of the time before. */
static int take_verdict(assay_why *why, const why_place *place, const assay_outcome *outcome)
{
    assay_buf line = ASSAY_BUF(1 << 20);
    report_put_trial_verdict(outcome, &outcome->trials[0], &line);
    char *text = text_of(&line);
    int status = text && why_add_text(&why->verdict, "%s %s: %s", why_kind_name(place->kind),
                                      place->path[0] ? place->path : ".", text)
                     ? ASSAY_OK
                     : ASSAY_ENOMEM;
    if (place->kind != WHY_DUMPS)
        ASSAY_THEN(status, take_notes(why, place, outcome, text));
    free(text);
    return status;
}

/* On rank 0: that a part of a place was damaged or missing, and what first. */
static int take_losses(assay_why *why, const why_place *place, uint64_t losses, const char *first)
{
    const bool made = losses == 0 || why_add_text(&why->problem, "%s %s: %llu damaged or missing: %s",
                                                  why_kind_name(place->kind), place->path[0] ? place->path : ".",
                                                  (unsigned long long)losses, first ? first : "`assay run` names them");
    return made ? ASSAY_OK : ASSAY_ENOMEM;
}

static int ask_rules(assay_comm *comm, const char *location, size_t number, const why_place *place,
                     const assay_why_options *options, assay_why *why, assay_error *err)
{
    const bool first = assay_comm_rank(comm) == 0;
    assay_job job = {0};
    assay_outcome outcome = {0};
    int status = run_rules(comm, location, place->kind, options, &job, &outcome, err), taken = ASSAY_OK;
    if (status == ASSAY_OK && first) {
        const assay_trial_outcome *trial = &outcome.trials[0];
        if (trial->status != ASSAY_OK) {
            taken = why_add_text(&why->problem, "%s", trial->error.text) ? ASSAY_OK : ASSAY_ENOMEM;
        } else {
            const bool by_dumps = why->clock.count > 0 && why->clock.list[why->clock.count - 1].collectives > 0;
            if (place->kind == WHY_DUMPS && why->clock.count == 0)
                taken = take_clocks_of_dumps(why, trial);
            if (place->kind == WHY_DUMPS)
                ASSAY_THEN(taken, take_hang(why, number, trial, err));
            if (place->kind == WHY_TRACES && (why->clock.count == 0 || by_dumps))
                taken = take_clocks(why, trial);
            ASSAY_THEN(taken, take_verdict(why, place, &outcome));
            ASSAY_THEN(taken, take_losses(why, place, trial->problems.losses, assay_problems_loss(&trial->problems)));
        }
    }
    assay_outcome_release(&outcome);
    assay_job_release(&job);
    return status == ASSAY_OK ? assay_comm_agree(comm, taken, err) : status;
}

/* The worst file of a checkpoint, the first of several; NULL: it has none that is known. */
static const assay_verify_file *worst_file(const assay_verification *v, int64_t step)
{
    const assay_verify_file *worst = NULL;
    for (size_t i = 0; i < v->files; i++)
        if (v->file[i].step == step && strchr(v->file[i].path, '.') && (!worst || v->file[i].state > worst->state))
            worst = &v->file[i];
    return worst;
}

/* What a file's first fault lies at: a tensor, an offset; of a sound checkpoint how much was looked at. */
static void put_entry(const assay_verification *v, int64_t step, const assay_verify_file *fault, assay_buf *out)
{
    const char *said = fault ? fault->first : NULL;
    const size_t path = fault ? strlen(fault->path) : 0;
    size_t files = 0, tensors = 0;
    if (said && strncmp(said, fault->path, path) == 0 && strncmp(said + path, ": ", 2) == 0)
        said += path + 2;
    const char *colon = said ? strstr(said, ": ") : NULL;
    for (size_t i = 0; i < v->files; i++)
        if (v->file[i].step == step) {
            files++;
            tensors += v->file[i].tensors;
        }
    if (fault && colon && strncmp(said, fault->path, path) != 0) /* "a.safetensors is missing: ..." */
        assay_put_bytes(out, said, (size_t)(colon - said));
    else if (!fault && files > 0)
        assay_put_format(out, "%zu file%s, %zu tensor%s", files, files > 1 ? "s" : "", tensors,
                         tensors == 1 ? "" : "s");
}

/* On rank 0: what one of them is worth, and by which file. */
static int take_checkpoint(assay_why *why, const why_place *place, const assay_verification *v,
                           const assay_verify_step *step)
{
    assay_buf text = ASSAY_BUF(1 << 16), at = ASSAY_BUF(1 << 16);
    const assay_verify_file *fault = step->state > ASSAY_VERIFY_NOTE ? worst_file(v, step->step) : NULL;
    const char *name = fault && fault->state > ASSAY_VERIFY_NOTE ? fault->path : step->name;
    char *path = place->path[0] ? assay_path_join(place->path, name) : assay_copy_text(name);
    const char *word = assay_verify_word(step->state);
    if (step->why && strncmp(step->why, word, strlen(word)) == 0) /* "damaged (model.safetensors: ...)" */
        assay_put_format(&text, "is %s", step->why);
    else
        assay_put_format(&text, "is %s%s%s", word, step->why ? ": " : "", step->why ? step->why : "");
    put_entry(v, step->step, fault, &at);
    char *said = text_of(&text), *entry = text_of(&at);
    const bool made = path && said && entry &&
                      why_add_note(why, (why_note){.kind = WHY_CHECKPOINTS,
                                                   .path = path,
                                                   .text = said,
                                                   .entry = entry[0] ? entry : NULL,
                                                   .step = step->step,
                                                   .time = NAN});
    free(path);
    free(said);
    free(entry);
    return made ? ASSAY_OK : ASSAY_ENOMEM;
}

static int ask_checkpoints(assay_comm *comm, const char *location, const why_place *place,
                           const assay_why_options *options, assay_why *why, assay_error *err)
{
    const assay_verify_options asked = {
        .from = INT64_MIN, .to = INT64_MAX, .memory = options->memory, .progress = options->progress, .last = true};
    assay_verification found = {.last_sound = -1};
    assay_error own = {""};
    int status = assay_verify_run(comm, location, &asked, &found, &own), taken = ASSAY_OK;
    if (assay_comm_rank(comm) == 0 &&
        (status == ASSAY_ENOTFOUND || status == ASSAY_EFORMAT || status == ASSAY_EUNSUPPORTED)) {
        taken = why_add_text(&why->problem, "%s", own.text) ? ASSAY_OK : ASSAY_ENOMEM;
    } else if (assay_comm_rank(comm) == 0 && status == ASSAY_OK) {
        assay_buf line = ASSAY_BUF(1 << 20);
        assay_verification_put_line(&found, &line);
        char *text = text_of(&line);
        taken = text ? take_losses(why, place, found.losses, text) : ASSAY_ENOMEM;
        for (size_t i = 0; i < found.steps && taken == ASSAY_OK; i++)
            taken = take_checkpoint(why, place, &found, &found.step[i]);
        if (taken == ASSAY_OK && !why->verify && found.last_sound >= 0 && !found.records) {
            const assay_verify_step *step = &found.step[found.last_sound];
            why->resume = place->path[0] ? assay_path_join(place->path, step->name) : assay_copy_text(step->name);
            why->resume_state = assay_copy_text(assay_verify_word(step->state));
            taken = why->resume && why->resume_state ? ASSAY_OK : ASSAY_ENOMEM;
        }
        if (why->verify)
            free(text);
        else
            why->verify = text;
    }
    assay_verification_release(&found);
    if (status == ASSAY_ENOTFOUND || status == ASSAY_EFORMAT || status == ASSAY_EUNSUPPORTED)
        status = ASSAY_OK;
    else if (status != ASSAY_OK)
        *err = own;
    return status == ASSAY_OK ? assay_comm_agree(comm, taken, err) : status;
}

int why_ask_others(assay_comm *comm, const why_places *places, const assay_why_options *options, const char *directory,
                   assay_why *why, assay_error *err)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < places->list.count && status == ASSAY_OK; i++) {
        const why_place *p = &places->list.list[i];
        if (p->kind == WHY_OUTPUT || p->kind == WHY_SLURM)
            continue;
        char *location = p->path[0] ? assay_path_join(directory, p->path) : assay_copy_text(directory);
        status = assay_comm_agree(
            comm, location ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", directory), err);
        ASSAY_THEN(status, p->kind == WHY_CHECKPOINTS ? ask_checkpoints(comm, location, p, options, why, err)
                                                      : ask_rules(comm, location, i, p, options, why, err));
        free(location);
    }
    return status;
}
