/* verdict.c - turns the combined state of a rule into its verdict. */
#include "rule/verdict.h"
#include "rule/common_state.h"

#include <stdarg.h>
#include <stdio.h>

/* MESSAGE_CEILING: sentences that a person reads. RESULT_CEILING: what a rule may add to a report; a rule beyond that
 * is an error, not a cut result. */
enum { MESSAGE_CEILING = 1 << 16, RESULT_CEILING = 1 << 28 };

const char *assay_verdict_status_name(int status)
{
    static const char *const names[] = {"IssuesFound", "NoIssuesFound", "NoData", "Error"};
    return status >= ASSAY_ISSUES_FOUND && status <= ASSAY_RULE_ERROR ? names[status] : "";
}

int assay_verdict_init(assay_verdict *v, size_t max_findings)
{
    *v = (assay_verdict){.status = ASSAY_NO_DATA};
    assay_buf_init(&v->message, MESSAGE_CEILING);
    assay_buf_init(&v->json, RESULT_CEILING);
    assay_buf_init(&v->text, RESULT_CEILING);
    assay_buf_init(&v->no_data, MESSAGE_CEILING);
    v->findings = assay_findings_new(max_findings);
    return v->findings ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_verdict_release(assay_verdict *v)
{
    assay_findings_free(v->findings);
    assay_buf_release(&v->message);
    assay_buf_release(&v->json);
    assay_buf_release(&v->text);
    assay_buf_release(&v->no_data);
    v->findings = NULL;
}

assay_findings *assay_verdict_findings(assay_verdict *verdict)
{
    return verdict->findings;
}

__attribute__((format(printf, 2, 0))) static void put_sentence(assay_buf *out, const char *format, va_list list)
{
    /* One sentence is cut at 1023 bytes; those before it stay whole. */
    char text[1024];
    vsnprintf(text, sizeof text, format, list);
    assay_put_format(out, "%s%s", out->size ? " " : "", text);
}

void assay_verdict_message(assay_verdict *verdict, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put_sentence(&verdict->message, format, list);
    va_end(list);
}

void assay_verdict_no_data(assay_verdict *verdict, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put_sentence(&verdict->no_data, format, list);
    va_end(list);
}

void assay_verdict_untested(assay_verdict *verdict, size_t parts, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put_sentence(&verdict->message, format, list);
    va_end(list);
    verdict->untested = parts;
}

assay_buf *assay_verdict_json(assay_verdict *verdict)
{
    return &verdict->json;
}

assay_buf *assay_verdict_text(assay_verdict *verdict)
{
    return &verdict->text;
}

/* Clears what was found: a rule that fails at the end has no half results. */
static int turn_into_error(assay_verdict *v, const char *text)
{
    assay_findings *empty = assay_findings_new(v->findings->most);
    ASSAY_HAVE(empty);
    assay_findings_order_by(empty, v->findings->trial);
    assay_findings_free(v->findings);
    v->findings = empty;
    assay_buf_clear(&v->message);
    assay_buf_clear(&v->json);
    assay_buf_clear(&v->text);
    assay_put_format(&v->message, "%s", text);
    v->status = ASSAY_RULE_ERROR;
    return assay_buf_status(&v->message);
}

/* Called where all states of a rule and a trial have become one. Only ASSAY_ENOMEM ends the run; any other failure is
 * this rule's verdict. */
int assay_verdict_reach(const assay_rule *rule, const void *state, assay_verdict *v)
{
    int status = ASSAY_OK;
    assay_findings_order_by(v->findings, rule->trial);
    if (assay_rule_has_common_state(rule->ops))
        status = assay_findings_append(v->findings, ((const assay_common_state *)state)->findings);
    if (status == ASSAY_OK && assay_rule_has_common_state(rule->ops))
        status = assay_series_settle(((const assay_common_state *)state)->series);
    if (status)
        return status;
    assay_error detail = {{0}};
    if (rule->ops->finalize)
        status = rule->ops->finalize(rule, state, v, &detail);
    ASSAY_THEN(status, v->findings->status);
    if (status == ASSAY_OK && (v->json.status == ASSAY_EBUDGET || v->text.status == ASSAY_EBUDGET))
        status = assay_fail(&detail, ASSAY_EBUDGET, "%s: its result is larger than %d bytes", rule->ops->name,
                            (int)RESULT_CEILING);
    if (status == ASSAY_ENOMEM || v->json.status == ASSAY_ENOMEM || v->text.status == ASSAY_ENOMEM)
        return ASSAY_ENOMEM;
    if (status)
        return turn_into_error(v, detail.text[0] ? detail.text : assay_status_text(status));
    /* Findings decide alone: how many are kept, and what the rule wrote, changes no status. */
    if (v->findings->total > 0)
        v->status = ASSAY_ISSUES_FOUND;
    else
        v->status = v->findings->datapoints > 0 ? ASSAY_NO_ISSUES_FOUND : ASSAY_NO_DATA;
    return ASSAY_OK;
}
