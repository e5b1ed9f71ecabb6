/* hang_culprit.c - HangCulprit: the ranks for which the others wait, out of dumps of flight recorders (docs/hang.md).
 *
 * One datapoint a rank of the training. Fires for each cause: test says how, value how many ranks wait for it, directly
 * or not. */
#include "dumped.h"

static const assay_param_def params[] = {
    DUMPED_PARAMS ASSAY_BOOL_PARAM(
        "snapshot", "false", "The dumps are of a training that runs: whoever is late at that moment is no culprit."),
    {0},
};

static int find(const assay_rule *rule, const assay_hang *hang, assay_verdict *verdict)
{
    assay_findings *findings = assay_verdict_findings(verdict);
    int status = ASSAY_OK;
    if (assay_param_bool(rule->params, "snapshot")) {
        assay_verdict_no_data(verdict, "the dumps are of a training that runs (snapshot).");
        return ASSAY_OK;
    }
    if (hang->groups == 0) {
        assay_verdict_no_data(verdict, "the dumps name no group.");
        return ASSAY_OK;
    }
    const uint64_t world = hang->ranks.count + hang->no_file.count;
    assay_findings_datapoints(findings, world);
    for (size_t i = 0; i < hang->causes && status == ASSAY_OK; i++) {
        const assay_hang_cause *c = &hang->cause[i];
        const dumped_finding f = {.order = (uint32_t)i,
                                  .rank = c->rank,
                                  .test = c->test,
                                  .value = (double)c->waiting,
                                  .put = dumped_put_cause,
                                  .what = c,
                                  .text = c->text};
        status = dumped_add(rule, findings, false, &f);
    }
    return status;
}

DUMPED_FINALIZE(find)

const assay_rule_ops assay_rule_hang_culprit = {
    ASSAY_RULE_HEAD,
    .name = "HangCulprit",
    .summary = "The ranks for which the others wait in a training that hangs.",
    .advice = "Look at the rank that most others wait for first; those that only wait are well.",
    .remedies = ASSAY_TEXTS(
        "behind: look at that host: py-spy dump of the process, its data loader, its node.",
        "device: replace the GPU; look for Xid in the kernel log of its node.",
        "absent: read that rank's own log: it most likely raised or was killed.",
        "mismatch, deadlock, ahead: look at the program: what does the rank call that the others do not?",
        "compute, launch, group: set TORCH_NCCL_ENABLE_TIMING=1, and look at network cards and links of these ranks."),
    .tests = ASSAY_TEXTS("absent", "ahead", "behind", "compute", "deadlock", "device", "group", "launch", "mismatch"),
    .value_units = ASSAY_TEXTS("waiting ranks"),
    .sentences = ASSAY_TEXTS("{said}", "{said}", "{said}", "{said}", "{said}", "{said}", "{said}", "{said}", "{said}"),
    .params = params,
    DUMPED_RULE_STATE,
    .finalize = finalize,
};
