/* trusted_rule.h - a rule of a shared object that is called in this process (--trust-rules): what it changes of the
 * process as a whole (base/process_state.h) is put back after every call. Its crash is the program's. */
#ifndef ASSAY_RULE_TRUSTED_RULE_H
#define ASSAY_RULE_TRUSTED_RULE_H

#include <assay/rule.h>

/* Ops that call those of `inner`, which outlive them. Free with assay_trusted_rule_free(): those that are registered
 * live as long as the program. ASSAY_ENOMEM. */
int assay_trusted_rule_new(const assay_rule_ops *inner, const assay_rule_ops **out, assay_error *err);
void assay_trusted_rule_free(const assay_rule_ops *ops);

/* Opens a module in this process, and puts back what that changes of it. As assay_module_open(). */
int assay_trusted_module_open(const char *path, const assay_rule_ops *const **table, assay_error *err);

#endif
