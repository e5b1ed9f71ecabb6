/* origin.c - where the findings of a rule begin: the same answer for every form of the report. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/model/report_model.h"
#include "report/report.h"

static const cJSON *member(const cJSON *object, const char *name)
{
    return object ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

/* Rules give it in their members; most give none, so the word is looked for before anything is parsed. `members` owns
 * what is returned. */
const cJSON *report_first_cause(const report_rule *rule, cJSON **members)
{
    static const char name[] = "\"first_cause\"";
    *members = NULL;
    if (!rule->json || rule->json->size < sizeof name ||
        !memmem(rule->json->data, rule->json->size, name, sizeof name - 1) || report_members(rule, members) != ASSAY_OK)
        return NULL;
    return member(*members, "first_cause");
}

/* Counts how many workers have the first finding of the rule's first step and tensor at once; findings are in that
 * order. */
static uint32_t count_first(const assay_findings *found)
{
    const assay_finding *first = &found->list[0];
    uint32_t workers = 1;
    for (size_t i = 1; i < found->kept; i++) {
        const assay_finding *f = &found->list[i];
        if (f->step != first->step || f->tensor != first->tensor || f->time)
            break;
        workers += f->worker != found->list[i - 1].worker;
    }
    return workers;
}

/* The cause of a rule goes before its first finding, and a slow step is told of only beside a cause. */
void report_find_origin(const assay_trial *info, const report_rule *rule, report_origin *origin)
{
    cJSON *members;
    *origin = (report_origin){.finding = report_first(rule)};
    assay_buf_init(&origin->cause, ASSAY_REPORT_CEILING);
    if (!origin->finding)
        return;
    uint32_t workers = count_first(rule->findings);
    const cJSON *cause = report_first_cause(rule, &members);
    if (cause) {
        bool named = cJSON_IsString(member(cause, "worker"));
        workers = named ? 1 : (uint32_t)cJSON_GetArraySize(member(cause, "workers"));
        origin->certain = cJSON_IsTrue(member(cause, "certain"));
        const char *text = cJSON_GetStringValue(member(cause, "text"));
        if (text)
            assay_put_bytes(&origin->cause, text, strlen(text));
    }
    assay_slow_step slow;
    if (origin->cause.size > 0 && report_find_slow_before(info, rule, &slow)) {
        assay_put_format(&origin->cause, "; before that ");
        report_put_slow(&slow, &origin->cause);
    }
    cJSON_Delete(members);
    snprintf(origin->room, sizeof origin->room, "%" PRIu32 " workers", workers);
    origin->several = workers > 1;
    origin->worker = origin->several ? origin->room : report_finding_worker(info, origin->finding);
    origin->tensor = report_finding_tensor(info, origin->finding);
}

void report_origin_release(report_origin *origin)
{
    assay_buf_release(&origin->cause);
}

void report_put_origin(const assay_trial *info, const report_origin *origin, assay_buf *out)
{
    const assay_finding *f = origin->finding;
    if (origin->cause.size > 0) {
        assay_put_bytes(out, origin->cause.data, origin->cause.size);
        return;
    }
    const assay_step_info *step = report_finding_step(info, f);
    char when[REPORT_WHEN_ROOM];
    assay_put_format(out, "%s", report_finding_when_in_words(f, when));
    if (step)
        assay_put_format(out, " (%s %" PRId64 ")", assay_mode_name(step->mode), step->mode_step);
    assay_put_format(out, origin->several ? ", " : ", worker ");
    assay_put_bytes(out, origin->worker, strlen(origin->worker));
    if (origin->tensor[0]) {
        assay_put_format(out, f->time ? ", " : ", tensor ");
        assay_put_bytes(out, origin->tensor, strlen(origin->tensor));
    }
}
