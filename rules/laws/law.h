/* law.h - what the laws of computation share (LawViolated, docs/laws.md).
 *
 * A law is an equation between tensors of one step and worker. Each has a file here: it finds the tensors that belong
 * together, and says of each equation how far its two sides are apart in proportion to what rounding may do. Which
 * equations hold at all is decided when all steps are known (law_violated.c). */
#pragma once

#include <assay/module.h>
#include <assay/rule.h>

/* The laws, by their names in byte order: tests of the rule. */
enum {
    LAW_ACTIVATION,
    LAW_AVERAGE,
    LAW_DROPOUT,
    LAW_EMBEDDING,
    LAW_GRADIENT,
    LAW_LINEAR,
    LAW_LOSS,
    LAW_MOMENTS,
    LAW_NORMALISATION,
    LAW_POOLING,
    LAW_REDUCE,
    LAW_REPLICAS,
    LAW_ROWS_ONE,
    LAW_STATISTICS,
    LAW_SUMS,
    LAW_UPDATE,
    LAWS
};

/* Slots of the rule, and their measures. */
enum {
    LAW_INPUTS,
    LAW_OUTPUTS,
    LAW_WEIGHTS,
    LAW_GRADIENTS,
    LAW_STATES, /* first moments and buffers */
    LAW_FIRST_MOMENTS,
    LAW_SECOND_MOMENTS,
    LAW_CRITERIA, /* what losses are computed of */
    LAW_LOSSES,
    LAW_EMBEDDINGS,  /* inputs, outputs and weights of modules with such names */
    LAW_AVERAGES,    /* running averages of weights, and of a batch's figures */
    LAW_POOLED,      /* inputs and outputs of modules with such names */
    LAW_PROJECTIONS, /* what the hook keeps of equations (laws=True) */
    LAW_SLOTS
};
enum {
    OF_INPUT,      /* rows of the last axis, joined */
    OF_OUTPUT,     /* likewise */
    OF_WHOLE,      /* all elements of the input, joined into one number, where it has four axes or more */
    OF_WHOLE_OUT,  /* of the output */
    OF_IMAGES,     /* samples of the input, joined, where it has three axes or more */
    OF_IMAGES_OUT, /* of the output */
    OF_NORMALISED, /* rows of the last axis, each normalised, then joined */
    OF_CHANNELS,   /* sums of the channels of the input */
    OF_VECTOR,     /* a weight of one axis, element by element */
    OF_SCORES,     /* what losses are computed of, element by element */
    OF_LOSS,
    OF_EMBEDDING, /* all numbers */
    OF_POOLED,
    OF_PROJECTION,
    OF_FUNCTION, /* the output as a function of the input */
    OF_WEIGHT,   /* rows of the first axis, joined */
    OF_KERNELS,  /* of convolutions each row, where they are few numbers */
    OF_UPDATE,   /* all elements, with the saved step before */
    OF_GRADIENT,
    OF_STATE,
    OF_AVERAGE,
    OF_SECOND,        /* without signs: beside sums of squares */
    OF_FIRST_PRODUCT, /* first moments times what they were */
    OF_ADAM,          /* what Adam's moments make of an update */
    LAW_MEASURES
};

/* The columns of the rule's series: a row for each equation that was looked at. */
enum {
    LAW_OF,       /* which law */
    LAW_VARIANT,  /* of several forms of it */
    LAW_RATIO,    /* how far apart the sides are at the worst place, divided by the bound there */
    LAW_APART,    /* at that place */
    LAW_BOUND,    /* likewise */
    LAW_ROWS_OFF, /* rows, or groups of them, that have a place beyond its bound */
    LAW_ROWS,     /* of so many */
    LAW_COLUMNS_OFF,
    LAW_COLUMNS,
    LAW_ROW,     /* the first row of the worst place */
    LAW_ROW_END, /* behind its last */
    LAW_COLUMN,
    LAW_COLUMN_END,
    LAW_WIDTH
};

/* Forms of LAW_LINEAR: what its factors are rounded to before they are multiplied. */
enum { LINEAR_EXACT, LINEAR_TF32, LINEAR_BFLOAT16, LINEAR_FORMS };
/* Forms of LAW_NORMALISATION. */
enum { NORMALISED_BY_ROWS, NORMALISED_BY_CHANNELS, NORMALISED_BY_ROOTS, NORMALISED_BY_ROOTS_PLUS };
/* Forms of LAW_DROPOUT: the first also if all steps but a few keep it. */
enum { DROPOUT_INDEPENDENT, DROPOUT_ELEMENTS };
/* Forms of LAW_POOLING; _ROUNDED: sums are of the output's type. */
enum { POOLING_LARGEST, POOLING_MEAN, POOLING_MEAN_ROUNDED, POOLING_FORMS };
/* Forms of LAW_UPDATE: what weights change by. _MEAN: gradients are averaged over the workers. */
enum { UPDATE_SGD, UPDATE_SGD_MEAN, UPDATE_BUFFER, UPDATE_ADAM, UPDATE_FORMS };
/* Forms of LAW_MOMENTS: of which step the gradient is, the one of the moments or the one before; or it is that which
 * first moments were made of. */
enum { MOMENTS_OWN, MOMENTS_OWN_MEAN, MOMENTS_BEFORE, MOMENTS_BEFORE_MEAN, MOMENTS_OF_FIRST, MOMENTS_FORMS };

typedef struct law_step {
    const assay_rule *rule;
    const assay_step_view *view;
    assay_series *series;
} law_step;

typedef int law_map(const law_step *step);
law_map law_projections, law_activation, law_averages, law_dropout, law_embedding, law_linear, law_loss, law_moments,
    law_normalisation, law_pooling, law_replicas, law_rows, law_statistics, law_sums, law_update;

/* The item of a tensor and worker in a slot; NULL: not there. */
const assay_tensor_view *law_item(const law_step *step, int slot, uint32_t tensor, uint32_t worker);
/* The tensor with the name that the format makes; ASSAY_NO_TENSOR: there is none. */
uint32_t law_tensor(const law_step *step, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The tensor that an output, X_output_N, was computed of, X_input_N; ASSAY_NO_TENSOR: there is none. */
uint32_t law_input(const law_step *step, const char *output);
/* A sketch without NaN and infinities; NULL: none. The second says nothing of the saved step before. */
const assay_sketch *law_sketch(const law_step *step, int measure, const assay_tensor_view *item);
const assay_sketch *law_sketch_now(const law_step *step, int measure, const assay_tensor_view *item);
/* Likewise, of samples, by the measure of images, which of two axes is that of rows. */
const assay_sketch *law_images(const law_step *step, int images, int rows, const assay_tensor_view *item);
/* Is a tensor what it was at the saved step before? Figures of a batch that stand were not updated: the module was in eval. */
bool law_stands(const assay_sketch *s);
/* Of an item with statistics: is every element of it finite? */
bool law_finite(const assay_tensor_view *item);
/* What its output is of a module's input; NULL: unknown, or not finite. */
const assay_function *law_function(const law_step *step, const assay_tensor_view *item);
/* Adds the row of such a function, of so many elements. */
int law_add_fit(const law_step *step, const assay_tensor_view *item, double elements, int law, int variant,
                const assay_function_fit *fit);
/* Adds what an output is of its input, as an activation and as a dropout (activation.c, dropout.c). */
int law_add_activation(const law_step *step, const assay_tensor_view *item, double elements,
                       const assay_function *function);
int law_add_dropout(const law_step *step, const assay_tensor_view *item, double elements,
                    const assay_function *function);
/* Bytes of the name of a module that a parameter's name ends with, and where it begins: "fc" of Net_fc.weight, where the
 * trial has fc_output_0; false: there is none. */
bool law_module(const law_step *step, const char *parameter, const char **module, size_t *length);

/* One pass of a module with a weight: its input and output, and its bias, which may be ASSAY_NO_TENSOR. */
typedef int law_pass(const law_step *step, const assay_tensor_view *weight, uint32_t input, uint32_t output,
                     uint32_t bias);
/* Calls for each pass of the module that a weight belongs to, if its name ends with "weight". */
int law_passes(const law_step *step, const assay_tensor_view *weight, law_pass *pass);
/* Is a saved step so many steps before the one in view, of the same mode? */
bool law_follows(const law_step *step, int64_t before, int64_t steps);

/* The mode of a global step; 0: the trial has no such step. */
int law_mode_at(const assay_trial *trial, int64_t step);

/* What a row that breaks its law says of it. */
void law_put_note(const double *row, char *note, size_t room);

/* The sum of the signs of rows [from, end) of a sketch. */
double law_signs(uint64_t from, uint64_t end);

enum { CONVOLVED = 16 /* times as much for sums of convolutions: they may be computed by transforms (Winograd) */ };

/* What rounding does in a product, by the types. */
typedef struct linear_rounding {
    double products; /* of an element */
    double factors, sums, output, least;
} linear_rounding;

/* Of `outputs` elements that are sums of `products`. False: not of types that are known. */
bool linear_set_rounding(linear_rounding *r, int x, int w, int y, double products, double outputs);
/* Are sums known to less than they are large? Those of a few products of 16 bits, of a convolution, are not. */
bool linear_says_something(const linear_rounding *r);
/* How far a cell of so many elements may be off in each form, by the squares of its products and of what came out
 * (linear.c). */
void linear_bounds(const linear_rounding *r, double products, double outputs, double elements,
                   double bound[LINEAR_FORMS]);

/* How far a cell of a normalisation may be off, by the type and the squares of what came out, and those of its terms. */
double norm_bound(int dtype, double outputs, double terms);

/* Half the distance from 1 to the next number of a type, of those that laws know, of double eight times as much: the sums here
 * round as the tensor does; 0: of none. */
double law_rounding(int dtype);
/* How far a sum of so many elements may be off that were written with a dtype, by their squares: each is rounded, those of
 * float16 to a multiple of 2^-24, however small they are. */
double law_written(int dtype, double squares, double elements);
