/* builtin.c - registers the rules of builtin.def and expressions, through the same call as any other rule. */
#include "rule/expression.h"
#include "rule/instance.h"

#define X(symbol) extern const assay_rule_ops assay_rule_##symbol;
#include "builtin.def"
#undef X

static const assay_rule_ops *const builtin[] = {
#define X(symbol) &assay_rule_##symbol,
#include "builtin.def"
#undef X
    &assay_rule_expression,
};

int assay_rule_register_builtin(assay_error *err)
{
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++) {
        bool aggregation = builtin[i]->traits & ASSAY_RULE_AGGREGATION;
        const char *name = builtin[i]->name;
        if ((aggregation ? assay_aggregation_find(name) : assay_rule_find(name)) == builtin[i])
            continue; /* an earlier call did it */
        int status = assay_rule_register(builtin[i], err);
        if (status)
            return status;
    }
    return ASSAY_OK;
}
