/* sentence.c - the first finding of a rule as a sentence, in the words that the rule gives for it. */
#include <inttypes.h>
#include <string.h>

#include "report/model/report_model.h"
#include "report/text/layout.h"
#include "rule/verdict.h"

/* The text of the rule for the test of the finding; NULL where it has none. */
static const char *text_for(const report_rule *rule, const assay_finding *finding)
{
    const char *const *texts = rule->instance->ops ? rule->instance->ops->sentences : NULL;
    for (uint32_t i = 0; texts && texts[i]; i++) {
        if (i == finding->test)
            return texts[i];
    }
    return NULL;
}

static void put_text(const char *text, assay_buf *out)
{
    assay_put_bytes(out, text, strlen(text));
}

static void put_unit_and_node(const char *unit, const char *node, assay_buf *out)
{
    put_text(unit, out);
    put_text(*unit ? " of " : "", out);
    put_text(node, out);
}

/* Findings of the same test, time and machine: "gpu0 of algo-1", "gpu0 and gpu2 of algo-1", "gpu0 and 7 more of
 * algo-1". */
static void put_units(const report_rule *rule, const assay_finding *first, assay_buf *out)
{
    const char *second = NULL;
    size_t more = 0;
    for (size_t i = 0; i < rule->findings->kept; i++) {
        const assay_finding *f = &rule->findings->list[i];
        const bool alike = f->time && f->step == first->step && f->test == first->test &&
                           strcmp(f->time->worker, first->time->worker) == 0;
        if (!alike || strcmp(f->time->unit, first->time->unit) == 0)
            continue;
        second = second ? second : f->time->unit;
        more++;
    }
    if (more == 1)
        assay_put_format(out, "%s and ", first->time->unit);
    put_text(more == 1 ? second : first->time->unit, out);
    if (more > 1)
        assay_put_format(out, " and %zu more", more);
    put_text(" of ", out);
    put_text(first->time->worker, out);
}

/* "worker_2", "3 workers"; of a finding in time "gpu0 of algo-1", "gpu0 and gpu2 of algo-1". */
static void put_worker(const report_rule *rule, const report_origin *origin, assay_buf *out)
{
    const assay_time_place *place = origin->finding->time;
    if (!place || strcmp(place->worker, "*") == 0) {
        put_text(strcmp(origin->worker, "*") != 0 ? origin->worker : place ? "the machines" : "the workers", out);
        return;
    }
    const char *unit2 = place->unit2 ? place->unit2 : "";
    if (!place->worker2 && *place->unit) {
        put_units(rule, origin->finding, out);
    } else if (!place->worker2) {
        put_text(place->worker, out);
    } else if (strcmp(place->worker, place->worker2) == 0) {
        put_text(place->unit, out);
        put_text(" and ", out);
        put_unit_and_node(unit2, place->worker2, out);
    } else {
        put_unit_and_node(place->unit, place->worker, out);
        put_text(" and ", out);
        put_unit_and_node(unit2, place->worker2, out);
    }
}

/* "TRAIN step 29" of a log, whose own numbers are the only ones that people know; else "step 57". */
static void put_when(const assay_trial *info, const assay_finding *finding, assay_buf *out)
{
    char when[REPORT_WHEN_ROOM];
    const uint64_t at =
        assay_trial_is_log(info) && !finding->time ? assay_trial_find_step(info, finding->step) : UINT64_MAX;
    const assay_step_info *step = at == UINT64_MAX ? NULL : assay_trial_step(info, at);
    if (step && step->mode_step != finding->step && step->mode > ASSAY_MODE_NONE && step->mode < ASSAY_MODE_GLOBAL)
        assay_put_format(out, "%s step %" PRId64, assay_mode_name(step->mode), step->mode_step);
    else
        put_text(report_finding_when_in_words(finding, when), out);
}

static void put_placeholder(const assay_trial *info, const report_rule *rule, const report_origin *origin,
                            const char *name, size_t length, assay_buf *out)
{
    if (length == 6 && memcmp(name, "tensor", length) == 0) {
        put_text(origin->tensor[0] ? origin->tensor : origin->finding->time ? "some" : "a tensor", out);
    } else if (length == 6 && memcmp(name, "worker", length) == 0) {
        put_worker(rule, origin, out);
    } else if (length == 2 && memcmp(name, "of", length) == 0) {
        const bool tells =
            strcmp(origin->worker, "*") != 0 && (origin->finding->time || assay_trial_expected_workers(info) > 1);
        put_text(tells ? " of " : "", out);
        put_text(tells ? origin->worker : "", out);
    } else if (length == 5 && memcmp(name, "value", length) == 0) {
        assay_text_put_number(out, origin->finding->value);
    } else if (length == 7 && memcmp(name, "percent", length) == 0) {
        assay_put_format(out, "%.3g %%", 100 * origin->finding->value);
    } else if (length == 4 && memcmp(name, "note", length) == 0) {
        put_text(origin->finding->note ? ", " : "", out);
        put_text(origin->finding->note ? origin->finding->note : "", out);
    } else if (length == 4 && memcmp(name, "said", length) == 0) {
        put_text(origin->finding->note ? origin->finding->note : "", out);
    } else if (length == 4 && memcmp(name, "when", length) == 0) {
        put_when(info, origin->finding, out);
    }
}

bool report_put_sentence(const assay_trial *info, const report_rule *rule, const report_origin *origin, assay_buf *out)
{
    const char *text = origin->finding ? text_for(rule, origin->finding) : NULL;
    if (!text)
        return false;
    for (const char *c = text; *c; c++) {
        const char *end = *c == '{' ? strchr(c, '}') : *c == '(' ? strchr(c, ')') : NULL;
        if (end && *c == '(') {
            assay_put_bytes(out, c + 1, origin->finding->value == 1 ? 0 : (size_t)(end - c - 1));
            c = end;
        } else if (end) {
            put_placeholder(info, rule, origin, c + 1, (size_t)(end - c - 1), out);
            c = end;
        } else {
            assay_put_u8(out, (uint8_t)*c);
        }
    }
    return true;
}
