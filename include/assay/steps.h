/* steps.h - modes and numbers of steps, and the kinds of records that a step has. */
#ifndef ASSAY_STEPS_H
#define ASSAY_STEPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum assay_mode {
    ASSAY_MODE_NONE,
    ASSAY_MODE_TRAIN,
    ASSAY_MODE_EVAL,
    ASSAY_MODE_PREDICT,
    ASSAY_MODE_GLOBAL,
    ASSAY_MODES
} assay_mode;
/* "TRAIN", ...; "" for ASSAY_MODE_NONE. And back: ASSAY_MODE_NONE when it is none of them (case-sensitive). */
const char *assay_mode_name(int mode);
int assay_mode_parse(const char *text, size_t length);

typedef struct assay_step_info {
    int64_t step, mode_step; /* the global step, and its number within its mode */
    int mode;
} assay_step_info;

/* The kind of a record: the tensor itself, or a saved reduction of it; the absolute forms are ASSAY_ABS higher. */
enum {
    ASSAY_RAW,
    ASSAY_MIN,
    ASSAY_MAX,
    ASSAY_MEAN,
    ASSAY_STD,
    ASSAY_VARIANCE,
    ASSAY_SUM,
    ASSAY_PROD,
    ASSAY_L1,
    ASSAY_L2,
    ASSAY_PIECE,  /* what one worker has of a tensor of which several have a piece: docs/topology.md */
    ASSAY_DIGEST, /* 63 bits of a hash over dtype, shape and bytes, negated where all elements are one value; as a
                     double its first 53 */
    ASSAY_ABS = 16,
    ASSAY_ABS_MEAN = ASSAY_ABS + ASSAY_MEAN,
    ASSAY_KINDS = 32
};

#ifdef __cplusplus
}
#endif
#endif
