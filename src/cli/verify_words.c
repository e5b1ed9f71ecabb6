/* verify_words.c - what the findings of the rules that verify asks mean for a checkpoint. */
#include "cli/verify_words.h"

#include <stdio.h>
#include <string.h>

/* What a test of CheckpointStructure found, in words. */
static const char *change_of(const char *test)
{
    static const struct {
        const char *test, *words;
    } known[] = {{"vanished", "it was there at the step before"},
                 {"tied", "it is no longer tied"},
                 {"dtype", "its dtype changed"},
                 {"shape", "its shape changed"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].test, test) == 0)
            return known[i].words;
    return test;
}

void verify_put_meaning(const assay_rule_outcome *rule, const assay_finding *f, const char *tensor, assay_buf *out)
{
    const assay_rule_ops *ops = rule->instance->ops;
    assay_put_format(out, "%s: ", tensor);
    if (strcmp(ops->name, "ExplodingTensor") == 0)
        assay_put_format(out, "%.0f element%s NaN or infinite", f->value, f->value == 1 ? " is" : "s are");
    else if (strcmp(ops->name, "NegativeSecondMoment") == 0)
        assay_put_format(out, "%.0f element%s below zero, in an average of squares", f->value,
                         assay_plural((uint64_t)f->value));
    else if (strcmp(ops->name, "AdamMomentBound") == 0)
        assay_put_format(out, "no gradients can have made this moment (%s %.6g)", ops->tests[f->test], f->value);
    else
        assay_put_format(out, "%s", change_of(ops->tests[f->test]));
    if (f->note && strcmp(ops->name, "ExplodingTensor") != 0)
        assay_put_format(out, "; %s", f->note);
    assay_put_u8(out, '\0');
}
