/* module.h - what modules of a network are, as far as the trial says it.
 *
 * Of those that it says, measures are taken that mean something: FUNCTION of modules that are functions, the forms
 * NORMALISED and IMAGES of SKETCH of norms and of convolutions, as the module's own e and kind of norm have it, and the
 * form ASSAY_CHANNELS_NORMALISED of CHANNELS of norms of channels. */
#ifndef ASSAY_MODULE_H
#define ASSAY_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_trial;

/* By what a module makes of its input. */
enum {
    ASSAY_MODULE_UNKNOWN, /* nobody says it, or it is no module of PyTorch: it may be anything */
    ASSAY_MODULE_LINEAR,
    ASSAY_MODULE_CONVOLUTION,
    ASSAY_MODULE_FUNCTION,      /* of each element by itself: activations, dropout, identity */
    ASSAY_MODULE_NORM_ROWS,     /* mean and variance of each row */
    ASSAY_MODULE_NORM_ROOT,     /* mean square of each row */
    ASSAY_MODULE_NORM_CHANNELS, /* mean and variance of each channel over the batch */
    ASSAY_MODULE_POOLING,
    ASSAY_MODULE_EMBEDDING,
    ASSAY_MODULE_OTHER, /* of PyTorch, and none of these */
    ASSAY_MODULE_KINDS
};

enum { ASSAY_CHANNELS_NORMALISED = 1 }; /* CHANNELS have no other form */

/* The kind of what assay_trial_module() says; NULL: unknown. */
int assay_module_kind_of(const char *what);
/* Number `at` of an argument, "stride=2,1"; false: it has none, or that is no finite number. */
bool assay_module_number(const char *what, const char *argument, int at, double *number);
/* Has an argument this value, letter by letter? */
bool assay_module_says(const char *what, const char *argument, const char *value);

/* What a module is, by the name that its tensors begin with, as the recording library says it: its type and arguments,
 * "torch.Conv2d stride=2,2 padding=1,1 dilation=1,1 groups=4". NULL: not known. */
const char *assay_trial_module(const struct assay_trial *trial, const char *name);
/* What the module is that has an input or output of this name, X_input_N or X_output_N; NULL: not known. */
const char *assay_trial_module_of(const struct assay_trial *trial, const char *tensor);
/* How many of the modules that the trial says have a weight of their own, linear ones, convolutions and embeddings: whether it was recorded
 * or not. What others have is not known. */
uint32_t assay_trial_weighted_modules(const struct assay_trial *trial);

#ifdef __cplusplus
}
#endif
#endif
