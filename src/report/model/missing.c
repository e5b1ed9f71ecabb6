/* missing.c - sorts the reasons why rules had no data.
 *
 * A message (rule/no_data.h) names collections, regular expressions and counts, each rule its own: a reader wants to know
 * what to record. The words below are those that the built-in rules ask by; a message that has none of them keeps its
 * own text. The first word that fits decides: an order of "no tensor matches ..." before what merely is named near it. */
#include <string.h>

#include "report/model/missing.h"

static const struct {
    const char *word;
    report_missing missing;
} WORDS[] = {
    {"compares workers", REPORT_NEEDS_WORKERS},
    {"series of checkpoints", REPORT_NEEDS_CHECKPOINTS},
    {"no values of", REPORT_NEEDS_VALUES},
    {"no steps of EVAL", REPORT_NEEDS_EVAL},
    {"EVAL 0;", REPORT_NEEDS_EVAL},
    {"no tensor matches ^optimizer/", REPORT_NEEDS_OPTIMIZER},
    {"no tensor matches (?i)^optimizer/", REPORT_NEEDS_OPTIMIZER},
    {"no tensor matches (?i)(tanh|", REPORT_NEEDS_ACTIVATIONS},
    {"no tensor matches (?i)(relu|", REPORT_NEEDS_ACTIVATIONS},
    {"no tensor is in collection labels", REPORT_NEEDS_LABELS},
    {"no tensor matches labels", REPORT_NEEDS_LABELS},
    {"no tensor matches predictions", REPORT_NEEDS_LABELS},
    {", and the parameter ", REPORT_NEEDS_STEPS},
    {"no tensor is in collection losses", REPORT_NEEDS_LOSSES},
    {"no tensor is in collection gradients", REPORT_NEEDS_GRADIENTS},
    {"have a gradient", REPORT_NEEDS_GRADIENTS},
    {"has a gradient", REPORT_NEEDS_GRADIENTS},
    {"no tensor is in collection weights", REPORT_NEEDS_WEIGHTS},
    {"no tensor is called trees/", REPORT_NEEDS_TREES},
    {"feature_importance", REPORT_NEEDS_TREES},
    {"the rule needs", REPORT_NEEDS_STEPS},
    {"no tensor matches", REPORT_NEEDS_TENSORS},
    {"no tensor is", REPORT_NEEDS_TENSORS},
};

/* The message is no text that ends with 0. */
static bool has(const report_rule *rule, const char *word)
{
    return rule->message_size > 0 && memmem(rule->message, rule->message_size, word, strlen(word)) != NULL;
}

/* Asked only of rules without data; a rule of a foreign module keeps its own words. */
report_missing report_find_missing(const report_rule *rule)
{
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (has(rule, WORDS[i].word))
            return WORDS[i].missing;
    return REPORT_NEEDS_OTHER;
}

const char *report_missing_words(report_missing missing, bool one)
{
    static const char *const words[REPORT_MISSES][2] = {
        [REPORT_NEEDS_ACTIVATIONS] = {"activations", "activations"},
        [REPORT_NEEDS_EVAL] = {"steps of EVAL", "steps of EVAL"},
        [REPORT_NEEDS_GRADIENTS] = {"gradients", "gradients"},
        [REPORT_NEEDS_LABELS] = {"labels and predictions", "labels and predictions"},
        [REPORT_NEEDS_LOSSES] = {"losses", "losses"},
        [REPORT_NEEDS_OPTIMIZER] = {"the optimizer's state", "the optimizer's state"},
        [REPORT_NEEDS_TREES] = {"trees of XGBoost", "trees of XGBoost"},
        [REPORT_NEEDS_VALUES] = {"whole tensors", "whole tensors"},
        [REPORT_NEEDS_WEIGHTS] = {"weights", "weights"},
        [REPORT_NEEDS_TENSORS] = {"other tensors", "other tensors"},
        [REPORT_NEEDS_WORKERS] = {"compare workers, and only one recorded what they compare",
                                  "compares workers, and only one recorded what it compares"},
        [REPORT_NEEDS_CHECKPOINTS] = {"look at a series of checkpoints", "looks at a series of checkpoints"},
        [REPORT_NEEDS_STEPS] = {"need more steps", "needs more steps"},
        [REPORT_NEEDS_OTHER] = {"had nothing to look at", "had nothing to look at"}};
    return words[missing][one];
}
