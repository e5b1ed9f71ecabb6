/* module.h - custom rules, in shared objects that export ASSAY_RULE_MODULE (assay/rule.h). docs/custom-rules.md. */
#pragma once

#include <assay/rule.h>

/* Whether the rules of modules loaded from now on are called in this process (rule/module.c); else each has a
 * process of its own (rule/process_rule.h). */
void assay_module_trust(bool trust);

/* Loads a shared object and registers its rules: all of them or none. The same file once more does nothing.
 * ASSAY_EUSAGE with the path and the reason: it cannot be loaded, has no table, was built for another version, or a
 * rule's name is taken; ASSAY_EIO when no process can be started. Every rank calls it with the same paths before any
 * job's rules are configured. */
int assay_module_load(const char *path, assay_error *err);

/* Loads every file of a directory that ends in ".so", in byte order of the names. ASSAY_ENOTFOUND without the
 * directory; else as assay_module_load(), at the first that fails. */
int assay_module_load_directory(const char *directory, assay_error *err);

/* The path of the module that a registered rule came from; NULL for those of the program. */
const char *assay_module_of(const assay_rule_ops *ops);
