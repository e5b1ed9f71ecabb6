/* wrong_predictions.h - the state of the aggregation wrong_predictions, for code that shows the pictures. */
#pragma once

#include <assay/rule.h>

enum { ASSAY_PICTURE_SIDE = 64 /* pixels, at most */, ASSAY_PICTURES_MOST = 100, ASSAY_PICTURE_NOTE = 240 };

typedef struct assay_picture {
    int64_t step, label, prediction;
    uint64_t sample; /* position in the batch */
    uint32_t worker;
    uint32_t channels, height, width; /* 1 or 3 channels; all 0: there is no picture of it */
    uint8_t *pixel; /* [height][width][channels], 8 bit, red green blue; owned; NULL without a picture */
} assay_picture;

typedef struct assay_wrong_predictions {
    assay_picture *list; /* the first `most` of the job in order of (step, worker, sample); owned */
    uint32_t count, room;
    uint64_t samples, wrong;       /* all of them */
    uint64_t unfit;                /* labels, predictions or images that do not fit together */
    char note[ASSAY_PICTURE_NOTE]; /* the first of these, in words; "" without any */
} assay_wrong_predictions;
