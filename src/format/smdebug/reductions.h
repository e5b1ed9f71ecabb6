/* reductions.h - saved reductions are tensors of their own, by their names. */
#pragma once

#include <stddef.h>

/* Splits a recorded name: "smdebug/reductions/abs_mean/fc1.weight" is (kind of abs_mean, "fc1.weight"); any other name
 * is (ASSAY_RAW, itself). *base and *base_length get the tensor's own name, inside `name`. Kinds: assay/rule.h. */
int assay_reduction_split(const char *name, size_t length, const char **base, size_t *base_length);
