/* module_open.h - opens a shared object with rules in this process. */
#pragma once

#include <assay/rule.h>

/* Loads the object and asks it for its table of rules, which lives as long as the program. Constructors of the object
 * and the function that gives the table run here. ASSAY_EUSAGE with the reason, without the path. */
int assay_module_open(const char *path, const assay_rule_ops *const **table, assay_error *err);
