/* measure_images.c - IMAGES: each sample's image with few pixels, each the mean of a square of the original.
 *
 * All squares of a tensor have the same size, except those cut by the lower and right edge. Sums are taken in the order
 * of the elements, so they do not depend on the pieces in which the content came. */
#include "tensor/measure_kind.h"

typedef struct images_state {
    uint64_t rows; /* runs of elements that lie in one line of an image: images * channels * lines */
    uint64_t run;  /* elements of a row */
    uint64_t width, height, channels, images; /* of the tensor */
    uint64_t side;                            /* of a square */
    uint64_t wide, high;                      /* of the result */
    bool last;                                /* channels are the last axis */
} images_state;

/* False for a tensor that is no batch of images. */
static bool describe(const assay_meter *m, images_state *s)
{
    s->last = m->measure.form == ASSAY_IMAGES_CHANNELS_LAST;
    if (m->dims != 3 && m->dims != 4)
        return false;
    int line = m->dims == 3 || s->last ? 1 : 2;
    s->images = (uint64_t)m->dim[0];
    s->channels = m->dims == 3 ? 1 : (uint64_t)m->dim[s->last ? 3 : 1];
    s->height = (uint64_t)m->dim[line];
    s->width = (uint64_t)m->dim[line + 1];
    return s->channels == 1 || s->channels == 3;
}

static int start(assay_meter *m, assay_error *err)
{
    images_state *s = meter_state(m);
    if (!describe(m, s))
        return 1;
    uint64_t longest = s->width > s->height ? s->width : s->height;
    s->side = (longest - 1) / (uint64_t)m->measure.number[0] + 1;
    s->wide = (s->width - 1) / s->side + 1;
    s->high = (s->height - 1) / s->side + 1;
    s->run = s->last ? s->width * s->channels : s->width;
    uint64_t pixels = s->wide * s->high * s->channels; /* at most one for each element of the image */
    return meter_take(m, meter_bytes(s->images, meter_bytes(pixels, sizeof(double))), 0, 0, err);
}

/* The first sum that row number `row` adds to. */
static double *line_of(const assay_meter *m, const images_state *s, uint64_t row)
{
    double *value = m->kept;
    uint64_t y = row % s->height, before = row / s->height; /* images, or channels of images */
    uint64_t planes = s->last ? before * s->channels : before;
    return value + (planes * s->high + y / s->side) * s->wide;
}

static void feed(assay_meter *m, const double *x, size_t n)
{
    const images_state *s = meter_state(m);
    uint64_t inner = s->last ? s->channels : 1, plane = s->wide * s->high;
    for (uint64_t at = m->position; n > 0;) {
        uint64_t column = at % s->run, take = s->run - column < n ? s->run - column : n;
        double *line = line_of(m, s, at / s->run);
        for (uint64_t i = 0; i < take; i++) {
            uint64_t k = column + i;
            line[k % inner * plane + k / inner / s->side] += x[i];
        }
        at += take;
        x += take;
        n -= take;
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    const images_state *s = meter_state(m);
    double *value = m->kept;
    for (uint64_t plane = 0; plane < s->images * s->channels; plane++) {
        for (uint64_t y = 0; y < s->high; y++) {
            for (uint64_t x = 0; x < s->wide; x++, value++) {
                uint64_t pixels = least(s->side, s->width - x * s->side) * least(s->side, s->height - y * s->side);
                *value = meter_one_nan(*value / (double)pixels);
            }
        }
    }
    result->of.images = (assay_images){s->images, s->channels, s->high, s->wide, m->kept};
    return ASSAY_OK;
}

const meter_kind meter_images = {sizeof(images_state), start, NULL, feed, end};
