/* bands.h - healthy bands: what the tensors and losses of good runs are at each mode step, learned once and held
 * against others.
 *
 * The file (schema "assay-bands/1") is JSON: for each tensor, mode and figure the mode steps and, at each, five
 * quantiles over the good runs; the last line has the SHA-256 of what stands before it. docs/compare.md describes
 * it. */
#ifndef ASSAY_REPORT_COMPARE_BANDS_H
#define ASSAY_REPORT_COMPARE_BANDS_H

#include "report/model/curves.h"

typedef enum assay_band_figure {
    ASSAY_BAND_LOSS,
    ASSAY_BAND_NORM,
    ASSAY_BAND_MAGNITUDE,
    ASSAY_BAND_ZEROS,
    ASSAY_BAND_FIGURES
} assay_band_figure;
const char *assay_band_word(int figure); /* "loss", "norm", "magnitude", "zeros" */
/* Of finite numbers the one at `part`, 0 to 1, of the way from a to b; finite even where their difference is not. */
double assay_band_between(double a, double b, double part);
/* That figure of a tensor at a step; not the loss. */
double assay_band_value(const assay_tensor_point *point, int figure);

enum {
    ASSAY_BAND_QUANTILES = 5,    /* 0, 0.05, 0.5, 0.95, 1 */
    ASSAY_BAND_STEPS = 128,      /* of a curve; of more, so many that lie evenly */
    ASSAY_BAND_DEPARTURES = 1000 /* that are listed of a trial */
};
#define ASSAY_BAND_CEILING ((size_t)256 << 20) /* a larger file is refused */

/* A band is from the 0.05 quantile less the width to the 0.95 quantile plus the width, the width being the distance of
 * the two, but at least this share of the median's magnitude; of zeros, this share of all elements. */
#define ASSAY_BAND_MARGIN 0.05

/* ---- learning ---- */

/* Appends the file: the bands of the outcome's trials, at the mode steps where at least two have a finite value. Its
 * bytes follow from the trials alone. The buffer's status or ASSAY_ENOMEM. */
int assay_bands_put(const assay_outcome *outcome, assay_buf *out);

/* ---- reading ---- */

typedef struct assay_band {
    int figure;
    char *tensor; /* owned */
    int mode;
    size_t steps;     /* at least 1 */
    int64_t *step;    /* ascending mode steps; owned */
    double *quantile; /* [steps * ASSAY_BAND_QUANTILES], finite, ascending at each step; owned */
} assay_band;

typedef struct assay_bands {
    char *name;       /* the file's; owned */
    size_t trials;    /* that were learned from */
    assay_band *band; /* by figure, tensor (bytes), mode; owned */
    size_t count;
} assay_bands;

/* Reads such a file; `name` is for messages, which say where in it what is wrong. ASSAY_EFORMAT: it is no such file,
 * was changed, cut, or says what cannot be; ASSAY_ENOMEM. Release with assay_bands_release(). */
int assay_bands_parse(const char *name, const void *text, size_t size, assay_bands *out, assay_error *err);
void assay_bands_release(assay_bands *bands);

/* ---- holding trials against them ---- */

/* A figure that leaves its band: where first. */
typedef struct assay_departure {
    const assay_band *band;
    uint32_t tensor; /* of the trial */
    int64_t step, mode_step;
    double value, low, high; /* the band there */
    size_t out, compared;    /* steps that lie outside, and all that lie in the band's range */
} assay_departure;

typedef struct assay_departures {
    size_t curves;         /* that have a band */
    size_t total;          /* of them, that leave it */
    assay_departure *list; /* the first ones by step, then in order of the bands; owned */
    size_t count;
} assay_departures;

typedef struct assay_band_report {
    const assay_bands *bands;
    const assay_outcome *outcome;
    size_t trials;
    assay_departures *trial; /* [trials]; owned */
} assay_band_report;

/* Holds every trial against the bands. Between two learned mode steps the band is on the line between them; outside of
 * them nothing is compared. A value that is not finite leaves every band. Free with assay_band_report_free(), before
 * bands and outcome. 0 or ASSAY_ENOMEM. */
int assay_bands_check(const assay_bands *bands, const assay_outcome *outcome, assay_band_report **out);
void assay_band_report_free(assay_band_report *report);
/* True when a trial leaves a band: counts as findings of severity warning. */
bool assay_band_report_fires(const assay_band_report *report);

#endif
