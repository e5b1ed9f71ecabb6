/* watch_findings.c - see watch_tell.h: every finding, as columns between tabs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/fault.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/watch_tell.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/layout.h"
#include "report/text/workers.h"

typedef struct told_finding {
    uint32_t trial;
    const assay_instance *rule; /* borrowed */
    int64_t step;
    uint64_t evaluation; /* the last that had it */
    bool told;           /* and not taken back */
} told_finding;

struct watch_findings {
    assay_dict *keys;   /* as put_key() makes them */
    told_finding *list; /* [keys] */
    size_t room;
    uint64_t evaluation;
};

watch_findings *watch_findings_new(void)
{
    watch_findings *findings = assay_alloc_zeroed(1, sizeof *findings);
    if (findings && !(findings->keys = assay_dict_new())) {
        free(findings);
        findings = NULL;
    }
    return findings;
}

void watch_findings_free(watch_findings *findings)
{
    if (!findings)
        return;
    assay_dict_free(findings->keys);
    free(findings->list);
    free(findings);
}

/* Adds a column behind a tab; within a column a tab is \t. */
static void put_column(assay_buf *out, const char *text)
{
    assay_put_u8(out, '\t');
    assay_text_put_clean(out, text, strlen(text));
}

enum { KEY_HEAD = 4 + 8 + 8 };

/* What makes a finding this one. The value is no part of it: a late worker may change it. Each evaluation has all
 * findings again, and nothing but this is done with those that were told of: bytes as they are, texts with their ends. */
static int put_key(const assay_trial_outcome *trial, uint32_t number, const report_rule *rule,
                   const assay_finding *finding, assay_buf *out)
{
    const char *test = report_finding_test(rule, finding);
    const char *const texts[] = {report_finding_worker(trial->info, finding),
                                 report_finding_tensor(trial->info, finding), test ? test : ""};
    assay_buf_clear(out);
    assay_put_u32(out, number);
    assay_put_i64(out, finding->step);
    assay_put_u64(out, (uint64_t)(uintptr_t)rule->instance);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assay_put_bytes(out, texts[i], strlen(texts[i]) + 1);
    return assay_buf_status(out);
}

/* The columns of a finding, from its trial on. */
typedef struct finding_line {
    const assay_trial_outcome *trial;
    const assay_instance *rule;
    int64_t step;
    const char *who; /* may be several workers */
    const char *tensor, *test;
} finding_line;

static int put_line(const finding_line *line, assay_buf *out)
{
    assay_buf_clear(out);
    put_column(out, line->trial->trial->name);
    assay_put_format(out, "\t%" PRId64, line->step);
    put_column(out, line->rule->name);
    put_column(out, line->who);
    put_column(out, line->tensor);
    put_column(out, line->test);
    return assay_buf_status(out);
}

/* The number of a finding, by its key. */
static int find(watch_findings *f, const assay_buf *key, uint32_t *id)
{
    uint32_t count = assay_dict_count(f->keys);
    *id = assay_dict_add(f->keys, (const char *)key->data, key->size);
    if (*id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (*id < count)
        return ASSAY_OK;
    ASSAY_HAVE(assay_vec_reserve(&f->list, &f->room, *id + 1, sizeof *f->list));
    f->list[*id] = (told_finding){0};
    return ASSAY_OK;
}

/* New findings of one tensor at one step, by one test of a rule: one line, whatever the number of workers. */
typedef struct finding_group {
    const assay_finding *first;
    const uint32_t *worker; /* [count] ascending */
    size_t count;
} finding_group;

static int tell(const assay_trial_outcome *trial, const report_rule *rule, const finding_group *group, assay_buf *line,
                assay_buf *out)
{
    assay_worker_names names;
    assay_buf who = ASSAY_BUF(ASSAY_REPORT_CEILING);
    ASSAY_TRY(assay_worker_names_init(&names, &trial->catalog));
    if (group->count > 1)
        assay_worker_names_put(&names, group->worker, group->count, &who);
    else
        assay_put_format(&who, "%s", report_finding_worker(trial->info, group->first));
    assay_put_u8(&who, '\0');
    int status = assay_buf_status(&who);
    const char *test = report_finding_test(rule, group->first);
    const finding_line columns = {.trial = trial,
                                  .rule = rule->instance,
                                  .step = group->first->step,
                                  .who = (const char *)who.data,
                                  .tensor = report_finding_tensor(trial->info, group->first),
                                  .test = test ? test : ""};
    ASSAY_THEN(status, put_line(&columns, line));
    assay_put_format(out, "finding");
    assay_put_bytes(out, line->data, line->size);
    assay_put_u8(out, '\t');
    assay_text_put_full(out, group->first->value);
    assay_put_format(out, "\t%s\t%zu\n", assay_severity_name(rule->severity), group->count);
    assay_buf_release(&who);
    assay_worker_names_release(&names);
    return status;
}

/* What a rule found in a trial, while it is told. */
typedef struct telling {
    watch_findings *f;
    uint32_t number; /* of the trial */
    const assay_trial_outcome *trial;
    report_rule rule;
    bool *is_new;     /* [findings] nobody was told of it */
    uint32_t *worker; /* [findings] room for the workers of a group */
    assay_buf *line;  /* room for a key, or a line */
} telling;

/* Notes that the outcome has finding i. */
static int note_finding(telling *t, size_t i)
{
    watch_findings *f = t->f;
    const assay_finding *finding = &t->rule.findings->list[i];
    uint32_t id = 0;
    int status = put_key(t->trial, t->number, &t->rule, finding, t->line);
    ASSAY_THEN(status, find(f, t->line, &id));
    ASSAY_TRY(status);
    t->is_new[i] = !f->list[id].told;
    f->list[id] = (told_finding){t->number, t->rule.instance, finding->step, f->evaluation, true};
    return ASSAY_OK;
}

/* Tells of list[from] and of the new findings behind it that share its line; they are new no more. */
static int tell_group(telling *t, size_t from, assay_buf *out)
{
    const assay_findings *findings = t->rule.findings;
    finding_group group = {&findings->list[from], t->worker, 0};
    for (size_t i = from; i < findings->kept; i++) {
        const assay_finding *finding = &findings->list[i];
        if (finding->step != group.first->step || finding->tensor != group.first->tensor || (finding->time && i > from))
            break;
        if (!t->is_new[i] || finding->test != group.first->test)
            continue;
        t->is_new[i] = false;
        t->worker[group.count++] = finding->worker;
    }
    return tell(t->trial, &t->rule, &group, t->line, out);
}

static int tell_rule(watch_findings *f, const assay_outcome *outcome, uint32_t trial, size_t number, assay_buf *line,
                     assay_buf *out)
{
    telling t = {.f = f, .number = trial, .trial = &outcome->trials[trial], .line = line};
    t.rule = report_rule_of(outcome, t.trial, number, false);
    const size_t kept = t.rule.findings ? t.rule.findings->kept : 0;
    t.worker = assay_alloc_zeroed(kept + 1, sizeof *t.worker);
    t.is_new = assay_alloc_zeroed(kept + 1, sizeof *t.is_new);
    int status = t.worker && t.is_new ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < kept; i++)
        status = note_finding(&t, i);
    for (size_t i = 0; status == ASSAY_OK && i < kept; i++)
        if (t.is_new[i])
            status = tell_group(&t, i, out);
    free(t.worker);
    free(t.is_new);
    return status;
}

/* What a rule found in a trial; NULL: it is not among the rules that are reported. */
static const assay_findings *findings_of(const assay_outcome *outcome, const assay_trial_outcome *trial,
                                         const assay_instance *rule)
{
    for (size_t i = 0; i < outcome->job->rule_count; i++)
        if (trial->rules[i].instance == rule)
            return trial->rules[i].verdict.findings;
    return NULL;
}

/* A finding that is not in the outcome may only be behind the last one that the rule keeps in full. */
static bool is_gone(const watch_findings *f, const assay_outcome *outcome, const told_finding *told)
{
    const assay_trial_outcome *t = &outcome->trials[told->trial];
    if (!told->told || told->evaluation == f->evaluation || t->status != ASSAY_OK || !t->rules)
        return false;
    const assay_findings *findings = findings_of(outcome, t, told->rule);
    return !findings || findings->total == findings->kept || told->step < findings->list[findings->kept - 1].step;
}

static int take_back(watch_findings *f, const assay_outcome *outcome, assay_buf *line, assay_buf *out)
{
    int status = ASSAY_OK;
    for (uint32_t id = 0; status == ASSAY_OK && id < assay_dict_count(f->keys); id++) {
        told_finding *told = &f->list[id];
        if (!is_gone(f, outcome, told))
            continue;
        size_t length;
        const char *who = assay_dict_name(f->keys, id, &length) + KEY_HEAD, *tensor = who + strlen(who) + 1;
        status = put_line(&(finding_line){.trial = &outcome->trials[told->trial],
                                          .rule = told->rule,
                                          .step = told->step,
                                          .who = who,
                                          .tensor = tensor,
                                          .test = tensor + strlen(tensor) + 1},
                          line);
        assay_put_format(out, "withdrawn");
        assay_put_bytes(out, line->data, line->size);
        assay_put_u8(out, '\n');
        told->told = false;
    }
    return status;
}

int watch_findings_tell(watch_findings *f, const assay_outcome *outcome, assay_error *err)
{
    assay_buf line = ASSAY_BUF(ASSAY_REPORT_CEILING), out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    f->evaluation++;
    int status = ASSAY_OK;
    for (uint32_t t = 0; t < outcome->trial_count; t++)
        for (size_t r = 0; outcome->trials[t].rules && status == ASSAY_OK && r < outcome->job->rule_count; r++)
            status = tell_rule(f, outcome, t, r, &line, &out);
    ASSAY_THEN(status, take_back(f, outcome, &line, &out));
    if (status == ASSAY_OK)
        status = cli_print_kept(&out, err);
    else
        assay_fail(err, status, "out of memory for the findings");
    assay_buf_release(&line);
    assay_buf_release(&out);
    return status;
}
