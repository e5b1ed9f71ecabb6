/* no_data.h - why a rule has nothing to test, as far as the index of a trial tells: before a run and after it. */
#pragma once

#include "rule/instance.h"
#include "rule/trial_info.h"

/* Appends sentences that say why `rule`, as `instance` configures it, has no data in its trial: no tensor matches (and
 * which names are near), no such mode, worker or steps, only reductions, too few steps. True when one of them rules
 * out every test, so that a run can only end in NoData; false when nothing, or only a guess, was appended. `out` keeps
 * its own status. */
bool assay_no_data_explain(const assay_rule *rule, const assay_instance *instance, assay_buf *out);

/* For a rule that cannot say why it has no data, though its tensors are there: which they are, how many, and at how
 * many steps the trial has been recorded. */
void assay_no_data_describe(const assay_rule *rule, const assay_instance *instance, assay_buf *out);
