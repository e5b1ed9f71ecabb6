/* default_collections.c - see default_collections.h. Patterns of weights, biases, gradients and losses are those of the
 * reference for PyTorch, metrics is its XGBoost one; the others are those of the recording library (docs/hook.md), but
 * that tensors of optimizers and moving averages are no weights. */
#include "trial/default_collections.h"

#include <string.h>

static const struct {
    const char *name, *pattern;
} defaults[] = {
    {"all", "."},
    {"biases", "^(?!gradient|optimizer/|ema/|state/).*bias"},
    {"ema", "^ema/"},
    {"gradients", "^gradient"},
    {"inputs", "_input_\\d+$|^inputs?(/|$)"},
    {"labels", "^labels?(/|$)"},
    {"losses", "[Ll]oss_(?!input).*output|^loss$"},
    {"metrics", "^[a-zA-Z]+-[a-zA-Z0-9]+$|^metrics?/"},
    {"model", "^(?!gradient|optimizer/|ema/|state/)"},
    {"optimizer_variables", "^optimizer(_variables)?/"},
    {"outputs", "_output_\\d+$|^outputs?(/|$)"},
    {"predictions", "^predictions?(/|$)"},
    {"weights", "^(?!gradient|optimizer/|ema/|state/).*weight"},
};

int assay_collections_add_defaults(assay_collections *c)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && status == ASSAY_OK; i++)
        status = assay_collections_add_pattern(c, defaults[i].name, defaults[i].pattern);
    return status;
}
