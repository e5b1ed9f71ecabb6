/* sentence.c - the first finding of a rule as a sentence, in the words that the rule gives for it. */
#include <string.h>

#include "report/model/report_model.h"

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

/* "worker_2", "3 workers"; of a finding in time "gpu0 of algo-1", "gpu0 and gpu2 of algo-1". */
static void put_worker(const report_origin *origin, assay_buf *out)
{
    const assay_time_place *place = origin->finding->time;
    if (!place || strcmp(place->worker, "*") == 0) {
        put_text(strcmp(origin->worker, "*") != 0 ? origin->worker : place ? "the machines" : "the workers", out);
        return;
    }
    const char *unit2 = place->unit2 ? place->unit2 : "";
    if (!place->worker2) {
        put_unit_and_node(place->unit, place->worker, out);
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

static void put_placeholder(const assay_trial *info, const report_origin *origin, const char *name, size_t length,
                            assay_buf *out)
{
    char when[REPORT_WHEN_ROOM];
    if (length == 6 && memcmp(name, "tensor", length) == 0) {
        put_text(origin->tensor[0] ? origin->tensor : origin->finding->time ? "some" : "a tensor", out);
    } else if (length == 6 && memcmp(name, "worker", length) == 0) {
        put_worker(origin, out);
    } else if (length == 2 && memcmp(name, "of", length) == 0) {
        const bool tells =
            strcmp(origin->worker, "*") != 0 && (origin->finding->time || assay_trial_expected_workers(info) > 1);
        put_text(tells ? " of " : "", out);
        put_text(tells ? origin->worker : "", out);
    } else if (length == 4 && memcmp(name, "when", length) == 0) {
        put_text(report_finding_when_in_words(origin->finding, when), out);
    }
}

bool report_put_sentence(const assay_trial *info, const report_rule *rule, const report_origin *origin, assay_buf *out)
{
    const char *text = origin->finding ? text_for(rule, origin->finding) : NULL;
    if (!text)
        return false;
    for (const char *c = text; *c; c++) {
        const char *end = *c == '{' ? strchr(c, '}') : NULL;
        if (end) {
            put_placeholder(info, origin, c + 1, (size_t)(end - c - 1), out);
            c = end;
        } else {
            assay_put_u8(out, (uint8_t)*c);
        }
    }
    return true;
}
