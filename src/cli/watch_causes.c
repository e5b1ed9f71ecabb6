/* watch_causes.c - see watch_tell.h: one line for each cause. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/dict.h"
#include "base/fault.h"
#include "base/json_writer.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "cli/watch_tell.h"
#include "report/model/diagnosis.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/layout.h"

enum { INDENT = 11 };

typedef struct told_cause {
    uint32_t trial;
    size_t rule;    /* of its first evidence, in the job */
    int64_t step;   /* at which it began, as people know it; -1: it has a time */
    int severity;   /* assay_severity */
    char *sentence; /* owned */
    bool told;      /* and not taken back */
} told_cause;

struct watch_causes {
    assay_dict *keys; /* trial, cause, rule, step of each */
    told_cause *list; /* [keys] */
    size_t count, room;
    assay_draw style;
    const assay_draw *draw; /* NULL: no terminal */
    bool lines;             /* JSON */
};

watch_causes *watch_causes_new(bool lines)
{
    watch_causes *causes = assay_alloc_zeroed(1, sizeof *causes);
    if (causes && !(causes->keys = assay_dict_new())) {
        free(causes);
        return NULL;
    }
    if (causes) {
        causes->draw = cli_draw_style(CLI_DRAW_AUTO, &causes->style);
        causes->lines = lines;
    }
    return causes;
}

void watch_causes_free(watch_causes *causes)
{
    if (!causes)
        return;
    for (size_t i = 0; i < causes->count; i++)
        free(causes->list[i].sentence);
    assay_dict_free(causes->keys);
    free(causes->list);
    free(causes);
}

/* {"kind":"cause","trial":"17","severity":"error","step":64,"rule":"ExplodingTensor","text":"worker_2 was fed NaN ..."} */
static void put_object(const told_cause *told, const char *trial, const char *rule, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    ASSAY_JW(&w, "kind", told->told ? "cause" : "withdrawn", "trial", trial, "severity",
             assay_severity_name((assay_severity)told->severity));
    if (told->step >= 0)
        assay_jw_i64(&w, "step", told->step);
    else
        assay_jw_null(&w, "step");
    ASSAY_JW(&w, "rule", rule, "text", told->sentence);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
}

/* "error      17: worker_2 was fed NaN at TRAIN step 64 (ExplodingTensor)"; of one that is taken back "withdrawn" */
static void put_line(const watch_causes *c, const told_cause *told, const assay_outcome *outcome, assay_buf *out)
{
    const char *trial = outcome->trials[told->trial].trial->name, *rule = outcome->job->rules[told->rule]->name;
    const char *word = told->told ? assay_severity_name((assay_severity)told->severity) : "withdrawn";
    const assay_draw_colour colour = !told->told                     ? ASSAY_DRAW_PLAIN
                                     : told->severity == ASSAY_ERROR ? ASSAY_DRAW_ALARM
                                                                     : ASSAY_DRAW_BAD;
    assay_buf lead = ASSAY_BUF(256), text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (c->lines) {
        put_object(told, trial, rule, out);
        return;
    }
    assay_draw_begin(c->draw, colour, &lead);
    assay_put_format(&lead, "%-9s", word);
    assay_draw_end(c->draw, colour, &lead);
    assay_put_format(&lead, "  ");
    assay_put_u8(&lead, '\0');
    assay_put_format(&text, "%s: %s (%s)", trial, told->sentence, rule);
    if (assay_buf_status(&lead) != ASSAY_OK || assay_buf_status(&text) != ASSAY_OK) {
        out->status = ASSAY_ENOMEM;
    } else if (c->draw) {
        assay_text_put_wrapped(out, c->draw, INDENT, (const char *)lead.data, (const char *)text.data, text.size);
    } else { /* a log is searched line by line */
        assay_put_format(out, "%s", (const char *)lead.data);
        assay_text_put_clean(out, (const char *)text.data, text.size);
        assay_put_u8(out, '\n');
    }
    assay_buf_release(&lead);
    assay_buf_release(&text);
}

/* The place of a cause among those told of. What a later step may add to it (workers, tensors, what follows from it)
 * makes no other cause of it. */
static int find(watch_causes *c, const assay_trial_outcome *trial, const assay_cause *cause,
                const assay_evidence *evidence, uint32_t *id)
{
    assay_buf key = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_put_format(&key, "%s\t%s\t%zu\t%s\t%" PRId64, trial->trial->name, cause->name, evidence->rule, evidence->test,
                     cause->began.step);
    int status = assay_buf_status(&key);
    if (status == ASSAY_OK)
        *id = assay_dict_add(c->keys, (const char *)key.data, key.size);
    assay_buf_release(&key);
    if (status != ASSAY_OK || *id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    return *id < c->count || ASSAY_VEC_ADD(c) ? ASSAY_OK : ASSAY_ENOMEM;
}

static int tell(watch_causes *c, const assay_outcome *outcome, uint32_t number, const report_diagnosis *d, size_t i,
                assay_buf *out)
{
    const assay_trial_outcome *trial = &outcome->trials[number];
    const assay_cause *cause = &d->is.cause[i];
    const assay_evidence *evidence = &d->evidence[cause->evidence[0]];
    uint32_t id = 0;
    int status = find(c, trial, cause, evidence, &id);
    if (status != ASSAY_OK || c->list[id].told)
        return status;
    char *sentence = assay_copy_text(cause->sentence);
    ASSAY_HAVE(sentence);
    free(c->list[id].sentence);
    const assay_onset_span *began = &cause->began;
    const int64_t step = began->step == INT64_MAX ? -1 : began->alone ? began->to : began->step;
    c->list[id] = (told_cause){number, evidence->rule, step, evidence->severity, sentence, true};
    put_line(c, &c->list[id], outcome, out);
    return assay_buf_status(out);
}

static int tell_trial(watch_causes *c, const assay_outcome *outcome, uint32_t number, assay_buf *out)
{
    report_diagnosis diagnosis;
    int status = report_diagnose(outcome, &outcome->trials[number], &diagnosis);
    ASSAY_TRY(status);
    for (size_t i = 0; status == ASSAY_OK && i < diagnosis.is.causes; i++)
        if (diagnosis.is.cause[i].wrong)
            status = tell(c, outcome, number, &diagnosis, i, out);
    report_diagnosis_release(&diagnosis);
    return status;
}

/* A rule that finds nothing any more: a missing worker came after all, a file was written again. */
static void take_back(watch_causes *c, const assay_outcome *outcome, assay_buf *out)
{
    for (size_t id = 0; id < c->count; id++) {
        told_cause *told = &c->list[id];
        const assay_trial_outcome *trial = &outcome->trials[told->trial];
        if (!told->told || trial->status != ASSAY_OK || !trial->rules ||
            report_rule_of(outcome, trial, told->rule, false).status == ASSAY_ISSUES_FOUND)
            continue;
        told->told = false;
        put_line(c, told, outcome, out);
    }
}

int watch_causes_tell(watch_causes *causes, const assay_outcome *outcome, assay_error *err)
{
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = ASSAY_OK;
    for (uint32_t t = 0; t < outcome->trial_count && status == ASSAY_OK; t++)
        if (outcome->trials[t].status == ASSAY_OK && outcome->trials[t].rules)
            status = tell_trial(causes, outcome, t, &out);
    if (status == ASSAY_OK)
        take_back(causes, outcome, &out);
    if (status == ASSAY_OK)
        status = cli_print_kept(&out, err);
    else
        assay_fail(err, status, "out of memory for the causes");
    assay_buf_release(&out);
    return status;
}
