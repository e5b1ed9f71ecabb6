/* collective_mismatch.c - CollectiveMismatch: ranks call different things under one number of a group.
 *
 * Of each group and number that two ranks show: fires when operations, dtypes or numbers of elements differ, in this
 * order, or when more is put into an exchange between all than is got. The first number of a group that fires is the
 * group's last. Value: how many ranks call something else. */
#include "dumped.h"

static const assay_param_def params[] = {DUMPED_PARAMS{0}};

static int find(const assay_rule *rule, const assay_hang *hang, assay_verdict *verdict)
{
    assay_findings *findings = assay_verdict_findings(verdict);
    int status = ASSAY_OK;
    if (hang->compared == 0)
        assay_verdict_no_data(verdict, "no two dumps show the same operation.");
    assay_findings_datapoints(findings, hang->compared - hang->mismatches);
    for (size_t i = 0; i < hang->mismatches && status == ASSAY_OK; i++) {
        const assay_hang_mismatch *m = &hang->mismatch[i];
        dumped_finding f = {.order = (uint32_t)i, .rank = m->named.rank[0], .value = (double)m->named.count};
        while (strcmp(rule->ops->tests[f.test], m->kind) != 0)
            f.test++;
        f.put = dumped_put_mismatch;
        f.what = m;
        f.text = m->text;
        status = dumped_add(rule, findings, true, &f);
    }
    return status;
}

DUMPED_FINALIZE(find)

static const char *const tests[] = {"dtype", "operation", "size", "total", NULL};
const assay_rule_ops assay_rule_collective_mismatch = {
    ASSAY_RULE_HEAD,
    .name = "CollectiveMismatch",
    .summary = "Ranks call different collectives, dtypes or sizes under one number of a group.",
    .advice = "Look at what the ranks named do at that operation which the others do not.",
    .remedies = ASSAY_TEXTS(
        "Compare the program of the ranks named with that of the others at the operation named: a branch that not all ranks "
        "take, an exception, a last batch of another size.",
        "Where the dtype differs, look at autocast and at gradients in another precision on that rank."),
    .tests = tests,
    .value_units = ASSAY_TEXTS("ranks"),
    .sentences = ASSAY_TEXTS("{said}", "{said}", "{said}", "{said}"),
    .params = params,
    DUMPED_RULE_STATE,
    .finalize = finalize,
};
