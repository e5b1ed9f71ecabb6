/* variants.h - parameters for a rule that nobody knows by name: enough to make it run, and each one varied in turn. */
#ifndef ASSAY_TESTS_VARIANTS_H
#define ASSAY_TESTS_VARIANTS_H

#include "rule/instance.h"

enum { MOST_VARIANTS = 64 };

/* Configures the rule in as many ways as its parameters offer; returns how many (0: none works, `err` says why).
 * Free each with assay_instance_free(). */
size_t variants_make(const assay_rule_ops *ops, assay_instance **out, assay_error *err);

/* Configures a rule or an aggregation from JSON text; NULL without memory. */
assay_instance *configure(const assay_rule_ops *ops, const cJSON *parameters);

#endif
