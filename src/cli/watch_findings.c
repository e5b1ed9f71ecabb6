/* watch_findings.c - see watch_findings.h. */
#include "cli/watch_findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/layout.h"
#include "report/text/workers.h"

int watch_findings_init(watch_findings *findings, int least)
{
    *findings = (watch_findings){.lines = assay_dict_new(), .least = least};
    findings->draw = cli_draw_style(CLI_DRAW_AUTO, &findings->style);
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
 * `who` stands in the column of the worker. */
static int put_line(const assay_trial_outcome *trial, const report_rule *rule, const assay_finding *finding,
                    const char *who, assay_buf *out)
{
    const char *test = report_finding_test(rule, finding);
    assay_buf_clear(out);
    put_column(out, trial->trial->name);
    assay_put_format(out, "\t%" PRId64, finding->step);
    put_column(out, rule->instance->name);
    put_column(out, who);
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
    if (!assay_vec_reserve(&f->list, &f->room, *id + 1, sizeof *f->list))
        return ASSAY_ENOMEM;
    f->list[*id] = (told_finding){0};
    return ASSAY_OK;
}

/* New findings of one tensor at one step, by one test of a rule: one line, whatever the number of workers. */
typedef struct finding_group {
    const assay_finding *first;
    const uint32_t *worker; /* [count] ascending */
    size_t count;
} finding_group;

/* "error    runs/17, step 25: ExplodingTensor: 640 NaN elements, fc.weight, worker_0" */
static void put_for_people(const watch_findings *f, const assay_trial_outcome *trial, const report_rule *rule,
                           const finding_group *group, const char *who, assay_buf *out)
{
    const assay_severity severity = rule->instance->severity;
    const assay_draw_colour colour = severity == ASSAY_ERROR     ? ASSAY_DRAW_ALARM
                                     : severity == ASSAY_WARNING ? ASSAY_DRAW_BAD
                                                                 : ASSAY_DRAW_PLAIN;
    const char *test = report_finding_test(rule, group->first);
    char when[REPORT_WHEN_ROOM];
    const char *tensor = report_finding_tensor(trial->info, group->first);
    assay_buf line, lead;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_put_format(&line, "%s, %s: %s%s%s: ", trial->trial->name, report_finding_when_in_words(group->first, when),
                     rule->instance->name, test ? ", " : "", test ? test : "");
    report_put_value(trial->info, rule, group->first, &line);
    assay_put_format(&line, "%s%s", *tensor ? ", " : "", tensor);
    assay_put_format(&line, "%s%s", strcmp(who, "*") != 0 ? ", " : "", strcmp(who, "*") != 0 ? who : "");
    assay_buf_init(&lead, 256);
    assay_draw_begin(f->draw, colour, &lead);
    assay_put_format(&lead, "%-7s", assay_severity_name(severity));
    assay_draw_end(f->draw, colour, &lead);
    assay_put_format(&lead, "  ");
    assay_put_u8(&lead, '\0');
    assay_text_put_wrapped(out, f->draw, 9, assay_buf_status(&lead) == ASSAY_OK ? (const char *)lead.data : NULL,
                           (const char *)line.data, line.size);
    assay_buf_release(&lead);
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}

/* The one place where findings become known. */
static int tell(watch_findings *f, const assay_trial_outcome *trial, const report_rule *rule,
                const finding_group *group, assay_buf *line, assay_buf *out)
{
    assay_worker_names names;
    assay_buf who;
    int status = assay_worker_names_init(&names, &trial->catalog);
    if (status != ASSAY_OK)
        return status;
    assay_buf_init(&who, ASSAY_REPORT_CEILING);
    if (group->count > 1)
        assay_worker_names_put(&names, group->worker, group->count, &who);
    else
        assay_put_format(&who, "%s", report_finding_worker(trial->info, group->first));
    assay_put_u8(&who, '\0');
    status = assay_buf_status(&who);
    if (status == ASSAY_OK)
        status = put_line(trial, rule, group->first, (const char *)who.data, line);
    if (f->draw) {
        put_for_people(f, trial, rule, group, (const char *)who.data, out);
    } else {
        assay_put_format(out, "finding");
        assay_put_bytes(out, line->data, line->size);
        assay_put_u8(out, '\t');
        assay_text_put_full(out, group->first->value);
        assay_put_format(out, "\t%s\t%zu\n", assay_severity_name(rule->instance->severity), group->count);
    }
    if ((int)rule->instance->severity >= f->least)
        f->severe += group->count;
    assay_buf_release(&who);
    assay_worker_names_release(&names);
    return status;
}

/* Notes that the outcome has the finding; *is_new where nobody was told of it. */
static int note_finding(watch_findings *f, const assay_outcome *outcome, uint32_t trial, size_t number, size_t i,
                        assay_buf *line, bool *is_new)
{
    const assay_trial_outcome *t = &outcome->trials[trial];
    const report_rule rule = report_rule_of(outcome, t, number, false);
    const assay_finding *finding = &rule.findings->list[i];
    uint32_t id = 0;
    int status = put_line(t, &rule, finding, report_finding_worker(t->info, finding), line);
    if (status == ASSAY_OK)
        status = find(f, line, &id);
    if (status != ASSAY_OK)
        return status;
    *is_new = !f->list[id].told;
    f->list[id] = (told_finding){trial, rule.instance, finding->step, f->evaluation, true};
    return ASSAY_OK;
}

/* Tells of list[from] and of the new findings behind it that share its line; they are new no more. */
static int tell_group(watch_findings *f, const assay_trial_outcome *trial, const report_rule *rule, size_t from,
                      bool *is_new, uint32_t *room, assay_buf *line, assay_buf *out)
{
    const assay_findings *findings = rule->findings;
    finding_group group = {&findings->list[from], room, 0};
    for (size_t i = from; i < findings->kept; i++) {
        const assay_finding *finding = &findings->list[i];
        if (finding->step != group.first->step || finding->tensor != group.first->tensor || (finding->time && i > from))
            break;
        if (!is_new[i] || finding->test != group.first->test)
            continue;
        is_new[i] = false;
        room[group.count++] = finding->worker;
    }
    return tell(f, trial, rule, &group, line, out);
}

static int tell_rule(watch_findings *f, const assay_outcome *outcome, uint32_t trial, size_t number, assay_buf *line,
                     assay_buf *out)
{
    const assay_trial_outcome *t = &outcome->trials[trial];
    const report_rule rule = report_rule_of(outcome, t, number, false);
    size_t kept = rule.findings ? rule.findings->kept : 0;
    uint32_t *room = assay_alloc_zeroed(kept + 1, sizeof *room);
    bool *is_new = assay_alloc_zeroed(kept + 1, sizeof *is_new);
    int status = room && is_new ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < kept; i++)
        status = note_finding(f, outcome, trial, number, i, line, &is_new[i]);
    for (size_t i = 0; status == ASSAY_OK && i < kept; i++)
        if (is_new[i])
            status = tell_group(f, t, &rule, i, is_new, room, line, out);
    free(room);
    free(is_new);
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

/* The columns of a line, with blanks for tabs. */
static void put_withdrawn(const assay_draw *draw, const char *line, size_t length, assay_buf *out)
{
    assay_buf text;
    assay_buf_init(&text, ASSAY_REPORT_CEILING);
    for (size_t i = 0; i < length; i++)
        assay_put_u8(&text, line[i] == '\t' ? ' ' : (uint8_t)line[i]);
    assay_text_put_wrapped(out, draw, 9, "withdrawn", (const char *)text.data, text.size);
    if (assay_buf_status(&text) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&text);
    assay_buf_release(&text);
}

static void take_back(watch_findings *f, const assay_outcome *outcome, assay_buf *out)
{
    for (uint32_t id = 0; id < assay_dict_count(f->lines); id++) {
        if (!is_gone(f, outcome, &f->list[id]))
            continue;
        size_t length;
        const char *line = assay_dict_name(f->lines, id, &length);
        if (f->draw) {
            put_withdrawn(f->draw, line, length, out);
        } else {
            assay_put_format(out, "withdrawn");
            assay_put_bytes(out, line, length);
            assay_put_u8(out, '\n');
        }
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
        status = cli_print_kept(&out, err);
    else
        assay_fail(err, status, "out of memory for the findings");
    assay_buf_release(&line);
    assay_buf_release(&out);
    return status;
}
