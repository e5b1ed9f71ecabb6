/* modes.h - the parameter `mode` of several rules. */
#pragma once

#include <assay/rule.h>

#include <string.h>

#define MODE_CHOICES "TRAIN|EVAL|PREDICT|GLOBAL"

/* The slot bits of the chosen mode; 0, which is every mode, when none was chosen. */
static inline uint32_t chosen_modes(const assay_params *params)
{
    const char *mode = assay_param_text(params, "mode");
    return mode ? 1u << assay_mode_parse(mode, strlen(mode)) : 0;
}
