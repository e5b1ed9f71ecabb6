/* default_collections.c - see default_collections.h. Patterns of weights, biases, gradients and losses are those of the
 * reference for PyTorch, metrics is its XGBoost one; the others are those of the recording library (docs/hook.md), but
 * that tensors of optimizers and moving averages are no weights. */
#include "trial/default_collections.h"

#include <stdio.h>
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

/* Of logs of metrics, whose tensors are numbers that a program printed: no collection of theirs has elements. */
static const struct {
    const char *name, *pattern;
} of_logs[] = {
    {"all", "."},
    {"losses", "^metrics/(?!.*(?:[Pp][Pp][Ll]|[Pp]erplexity|vs samples)).*[Ll]oss(?![a-z])(?![ _-]?[Ss]cale)"},
    {"lowprecision",
     "^metrics/.+_[a-z]+_(?:(?:fp8_delayed_scaling|fp8_current_scaling|mxfp8|fp8_block_scaling|nvfp4)_)?"
     "(?:underflows%|overflows%|scale_inv_min|scale_inv_max|mse)(?:_columnwise)?$"},
    {"metrics", "^metrics/"},
    {"norms", "^metrics/.*(?:[Gg]rad(?:ient)?s?[ _-]?[Nn]orm|(?:^|[/_ .])(?:l2|norm)$)"},
};

static int add_of_logs(assay_collections *c)
{
    int status = ASSAY_OK;
    char guarded[256];
    for (size_t i = 0; i < sizeof of_logs / sizeof *of_logs && status == ASSAY_OK; i++)
        status = assay_collections_add_pattern(c, of_logs[i].name, of_logs[i].pattern);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && status == ASSAY_OK; i++) {
        snprintf(guarded, sizeof guarded, "^(?!metrics/).*?(?:%s)", defaults[i].pattern);
        status = assay_collections_add_pattern(c, defaults[i].name, guarded);
    }
    return status;
}

int assay_collections_add_defaults(assay_collections *c, bool of_log)
{
    if (of_log)
        return add_of_logs(c);
    int status = ASSAY_OK;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && status == ASSAY_OK; i++)
        status = assay_collections_add_pattern(c, defaults[i].name, defaults[i].pattern);
    return status;
}
