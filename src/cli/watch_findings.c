/* watch_findings.c - see watch_findings.h. */
#include "cli/watch_findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "cli/cli.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/layout.h"

int watch_findings_init(watch_findings *findings, int least)
{
    *findings = (watch_findings){.lines = assay_dict_new(), .least = least};
    return findings->lines ? ASSAY_OK : ASSAY_ENOMEM;
}

void watch_findings_release(watch_findings *findings)
{
    assay_dict_free(findings->lines);
    free(findings->list);
    *findings = (watch_findings){0};
}

/* Adds a column behind a tab; within a column a tab is \t. */
static void put_column(assay_buf *out, const char *text)
{
    assay_put_u8(out, '\t');
    assay_text_put_clean(out, text, strlen(text));
}

/* What makes a finding this one, in the order of the columns. The value is no part of it: a late worker may change it.
 */
static int put_line(const assay_trial_outcome *trial, const report_rule *rule, const assay_finding *finding,
                    assay_buf *out)
{
    const char *test = report_finding_test(rule, finding);
    assay_buf_clear(out);
    put_column(out, trial->trial->name);
    assay_put_format(out, "\t%" PRId64, finding->step);
    put_column(out, rule->instance->name);
    put_column(out, report_finding_worker(trial->info, finding));
    put_column(out, report_finding_tensor(trial->info, finding));
    put_column(out, test ? test : "");
    return assay_buf_status(out);
}

/* The number of a finding, by its line. */
static int find(watch_findings *f, const assay_buf *line, uint32_t *id)
{
    uint32_t count = assay_dict_count(f->lines);
    *id = assay_dict_add(f->lines, (const char *)line->data, line->size);
    if (*id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (*id < count)
        return ASSAY_OK;
    if (*id >= f->room) {
        size_t room = f->room ? f->room * 2 : 64;
        told_finding *grown = assay_realloc_array(f->list, room, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        f->list = grown;
        f->room = room;
    }
    f->list[*id] = (told_finding){0};
    return ASSAY_OK;
}

/* The one place where a finding becomes known. */
static void tell(watch_findings *f, const report_rule *rule, const assay_finding *finding, const assay_buf *line,
                 assay_buf *out)
{
    assay_put_format(out, "finding");
    assay_put_bytes(out, line->data, line->size);
    assay_put_u8(out, '\t');
    assay_text_put_full(out, finding->value);
    assay_put_format(out, "\t%s\n", assay_severity_name(rule->instance->severity));
    f->severe += (int)rule->instance->severity >= f->least;
}

static int tell_rule(watch_findings *f, const assay_outcome *outcome, uint32_t trial, size_t number, assay_buf *line,
                     assay_buf *out)
{
    const assay_trial_outcome *t = &outcome->trials[trial];
    const report_rule rule = report_rule_of(outcome, t, number, false);
    const assay_findings *findings = rule.findings;
    int status = ASSAY_OK;
    for (size_t i = 0; findings && status == ASSAY_OK && i < findings->kept; i++) {
        uint32_t id = 0;
        status = put_line(t, &rule, &findings->list[i], line);
        if (status == ASSAY_OK)
            status = find(f, line, &id);
        if (status != ASSAY_OK)
            break;
        told_finding *told = &f->list[id];
        if (!told->told)
            tell(f, &rule, &findings->list[i], line, out);
        *told = (told_finding){trial, number, findings->list[i].step, f->evaluation, true};
    }
    return status;
}

/* A finding that is not in the outcome may only be behind the last one that the rule keeps in full. */
static bool is_gone(const watch_findings *f, const assay_outcome *outcome, const told_finding *told)
{
    const assay_trial_outcome *t = &outcome->trials[told->trial];
    if (!told->told || told->evaluation == f->evaluation || t->status != ASSAY_OK || !t->rules)
        return false;
    const assay_findings *findings = t->rules[told->rule].verdict.findings;
    return !findings || findings->total == findings->kept || told->step < findings->list[findings->kept - 1].step;
}

static void take_back(watch_findings *f, const assay_outcome *outcome, assay_buf *out)
{
    for (uint32_t id = 0; id < assay_dict_count(f->lines); id++) {
        if (!is_gone(f, outcome, &f->list[id]))
            continue;
        size_t length;
        const char *line = assay_dict_name(f->lines, id, &length);
        assay_put_format(out, "withdrawn");
        assay_put_bytes(out, line, length);
        assay_put_u8(out, '\n');
        f->list[id].told = false;
    }
}

int watch_findings_tell(watch_findings *f, const assay_outcome *outcome, assay_error *err)
{
    assay_buf line, out;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_buf_init(&out, ASSAY_REPORT_CEILING);
    f->evaluation++;
    int status = ASSAY_OK;
    for (uint32_t t = 0; t < outcome->trial_count; t++)
        for (size_t r = 0; outcome->trials[t].rules && status == ASSAY_OK && r < outcome->job->rule_count; r++)
            status = tell_rule(f, outcome, t, r, &line, &out);
    if (status == ASSAY_OK)
        take_back(f, outcome, &out);
    if (status == ASSAY_OK)
        status = cli_print(&out, err);
    else
        assay_fail(err, status, "out of memory for the findings");
    assay_buf_release(&line);
    assay_buf_release(&out);
    return status;
}
