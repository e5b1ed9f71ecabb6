/* value_unit.c - what the value of a finding counts or is measured in, as the rule says it. */
#include <inttypes.h>
#include <string.h>

#include "report/model/report_model.h"
#include "report/text/layout.h"

/* The text of the rule; "" where it has none. */
static const char *unit_of(const report_rule *rule, const assay_finding *finding)
{
    const char *const *units = rule->instance->ops ? rule->instance->ops->value_units : NULL;
    for (uint32_t i = 0; units && units[i]; i++) {
        if (i == finding->value_unit)
            return units[i];
    }
    return "";
}

bool report_has_unit(const report_rule *rule, const assay_finding *finding)
{
    return unit_of(rule, finding)[0] != '\0';
}

void report_put_unit(const assay_trial *info, const report_rule *rule, const assay_finding *finding, bool one,
                     assay_buf *out)
{
    static const char workers[] = "{workers}";
    for (const char *c = unit_of(rule, finding); *c; c++) {
        const char *end = *c == '(' ? strchr(c, ')') : NULL;
        if (strncmp(c, workers, sizeof workers - 1) == 0) {
            assay_put_format(out, "%" PRIu32, assay_trial_expected_workers(info));
            c += sizeof workers - 2;
        } else if (end) {
            assay_put_bytes(out, c + 1, one ? 0 : (size_t)(end - c - 1));
            c = end;
        } else {
            assay_put_u8(out, (uint8_t)*c);
        }
    }
}

void report_put_value(const assay_trial *info, const report_rule *rule, const assay_finding *finding, assay_buf *out)
{
    assay_text_put_number(out, finding->value);
    assay_put_format(out, report_has_unit(rule, finding) ? " " : "");
    report_put_unit(info, rule, finding, finding->value == 1, out);
}
