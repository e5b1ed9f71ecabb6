/* rule_link.c - see rule_link.h. */
#include "rule/rule_link.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/process_pack.h"
#include "rule/trial_info.h"

/* For requests without bytes. */
static const assay_buf nothing;

void assay_rule_link_init(assay_rule_link *link, const assay_rule_served *served, const char *name)
{
    *link = (assay_rule_link){.served = *served, .name = name, .pack_trial = assay_trial_pack};
    assay_buf_init(&link->setup, SIZE_MAX);
}

/* Trials that the process had been told are gone with it, so a process that is started next is told again. */
static void forget_process(assay_rule_link *link)
{
    assay_rule_process_free(link->process);
    link->process = NULL;
    memset(link->trial, 0, sizeof link->trial);
}

void assay_rule_link_release(assay_rule_link *link)
{
    forget_process(link);
    assay_buf_release(&link->setup);
    while (link->lost) {
        assay_lost_trial *next = link->lost->next;
        free(link->lost);
        link->lost = next;
    }
}

/* ---- trials on which the process was lost ---- */

const assay_error *assay_rule_link_lost(const assay_rule_link *link, uint64_t trial)
{
    const assay_lost_trial *lost = link->lost;
    while (lost && lost->trial != trial)
        lost = lost->next;
    return lost ? &lost->why : NULL;
}

/* Best effort: without memory the trial is not noted, and its states meet the next process. */
void assay_rule_link_note_lost(assay_rule_link *link, uint64_t trial, const assay_error *why)
{
    assay_lost_trial *lost = assay_rule_link_lost(link, trial) ? NULL : assay_alloc(sizeof *lost);
    if (!lost)
        return;
    *lost = (assay_lost_trial){.trial = trial, .next = link->lost, .why = *why};
    link->lost = lost;
}

/* A rule that is out of memory is that rule's error: ASSAY_ENOMEM would end the run. */
int assay_rule_link_failure(const assay_rule_link *link, const char *what, const assay_rule_answer *answer,
                            assay_error *err)
{
    if (answer->status == ASSAY_ENOMEM)
        return assay_fail(err, ASSAY_EINTERNAL, "%s: %s ran out of memory", link->name, what);
    return assay_fail(err, answer->status, "%s",
                      answer->err.text[0] ? answer->err.text : assay_status_text(answer->status));
}

/* ---- requests ---- */

/* A failure to ask leaves the process alone unless it was lost; out of memory, the next request finds it as it was. */
static int take_loss(assay_rule_link *link, const char *what, int status, const assay_error *why, assay_error *err)
{
    if (status == ASSAY_EINTERNAL)
        forget_process(link);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: %s %.300s", link->name, what, why->text);
}

int assay_rule_link_ask(assay_rule_link *link, assay_rule_request request, const char *what, const assay_buf *bytes,
                        assay_rule_answer *answer, assay_error *err)
{
    assay_error why = {""};
    int status = assay_rule_process_ask_with(link->process, request, bytes ? bytes : &nothing, answer, &why);
    return take_loss(link, what, status, &why, err);
}

int assay_rule_link_ask_area(assay_rule_link *link, assay_rule_request request, const char *what, size_t size,
                             assay_rule_answer *answer, assay_error *err)
{
    assay_error why = {""};
    int status = assay_rule_process_ask(link->process, request, size, answer, &why);
    return take_loss(link, what, status, &why, err);
}

int assay_rule_link_do(assay_rule_link *link, assay_rule_request request, const char *what, const assay_buf *bytes,
                       assay_error *err)
{
    assay_rule_answer answer;
    int status = assay_rule_link_ask(link, request, what, bytes, &answer, err);
    ASSAY_TRY(status);
    if (answer.status != ASSAY_OK)
        status = assay_rule_link_failure(link, what, &answer, err);
    assay_buf_release(&answer.bytes);
    return status;
}

/* Starts the process, and configures the rule. On ASSAY_OK *answer has its needs, for the caller to release. */
static int configure(assay_rule_link *link, assay_rule_answer *answer, assay_error *err)
{
    assay_error why = {""};
    int status = ASSAY_OK;
    if (!link->process) {
        status = assay_rule_process_start(&link->served, &link->process, &why);
        if (status != ASSAY_OK)
            return assay_fail(err, status, "%s: %.400s", link->name, why.text);
        status = assay_rule_link_do(link, ASSAY_RULE_LOAD, "loading its module", NULL, err);
    }
    ASSAY_THEN(status, assay_rule_link_ask(link, ASSAY_RULE_SETUP, "setup", &link->setup, answer, err));
    if (status == ASSAY_OK && answer->status != ASSAY_OK) {
        status = assay_rule_link_failure(link, "setup", answer, err);
        assay_buf_release(&answer->bytes);
    }
    if (status != ASSAY_OK)
        forget_process(link);
    return status;
}

/* Called once by each setup. What comes back is the rule's own declaration, so it is untrusted. */
int assay_rule_link_declare(assay_rule_link *link, assay_need *need, assay_error *err)
{
    assay_rule_answer answer;
    ASSAY_TRY(configure(link, &answer, err));
    assay_cursor in = assay_cursor_over(answer.bytes.data, answer.bytes.size);
    int status = assay_need_unpack(&in, need, err);
    assay_buf_release(&answer.bytes);
    return status;
}

/* Configures again what was lost. The needs that come with it are those of the first time, so they are dropped. */
static int get_ready(assay_rule_link *link, assay_error *err)
{
    assay_rule_answer answer;
    if (link->process)
        return ASSAY_OK;
    int status = configure(link, &answer, err);
    if (status == ASSAY_OK)
        assay_buf_release(&answer.bytes);
    return status;
}

/* ---- trials ---- */

/* Where the process has it; ASSAY_RULE_TRIALS: nowhere. */
static uint32_t place_of(const assay_rule_link *link, const assay_trial *trial)
{
    uint32_t place = 0;
    while (trial && place < ASSAY_RULE_TRIALS && link->trial[place] != trial->serial)
        place++;
    return trial ? place : ASSAY_RULE_TRIALS;
}

/* Finds a place for a trial: a free one, else by its serial, but not where `beside` is, which the same request is
 * about. */
static uint32_t find_place(const assay_rule_link *link, const assay_trial *trial, const assay_trial *beside)
{
    uint32_t kept = place_of(link, beside), place = 0;
    while (place < ASSAY_RULE_TRIALS && link->trial[place] != 0)
        place++;
    if (place == ASSAY_RULE_TRIALS)
        place = (uint32_t)(trial->serial % ASSAY_RULE_TRIALS);
    return place == kept ? (place + 1) % ASSAY_RULE_TRIALS : place;
}

static int give_trial(assay_rule_link *link, const assay_trial *trial, const assay_trial *beside, assay_error *err)
{
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    if (!trial || place_of(link, trial) < ASSAY_RULE_TRIALS)
        return ASSAY_OK;
    uint32_t place = find_place(link, trial, beside);
    assay_put_u32(&bytes, place);
    link->pack_trial(trial, &bytes);
    /* Until the process has taken the trial, nobody may count on what is at that place. */
    link->trial[place] = 0;
    int status = assay_rule_link_do(link, ASSAY_RULE_TRIAL, "learning of the trial", &bytes, err);
    if (status == ASSAY_OK)
        link->trial[place] = trial->serial;
    assay_buf_release(&bytes);
    return status;
}

/* Every request about a state begins so. *request is initialised in any case: callers release it even when this
 * fails. */
int assay_rule_link_begin(assay_rule_link *link, const assay_rule *rule, assay_buf *request, assay_error *err)
{
    int status = get_ready(link, err);
    ASSAY_THEN(status, give_trial(link, rule->trial, rule->other, err));
    ASSAY_THEN(status, give_trial(link, rule->other, rule->trial, err));
    assay_buf_init(request, SIZE_MAX);
    assay_put_u32(request, place_of(link, rule->trial));
    assay_put_u32(request, place_of(link, rule->other));
    assay_put_i64(request, rule->start_step);
    assay_put_i64(request, rule->end_step);
    assay_put_u64(request, rule->max_findings);
    return status;
}
