/* bands.h - bands of good runs: the range of their tensors and losses at each mode step, and how far good runs stray
 * from one another by chance. They are learned once and compared with other runs.
 *
 * The file (schema "assay-bands/3") is JSON: the settings about noise and the scores of the good runs against each
 * other (noise.h); for each figure, tensor and mode the mode steps and, at each, five quantiles over the good runs; the
 * last line has the SHA-256 of everything before it. docs/compare.md describes it. */
#pragma once

#include "report/compare/noise.h"

enum {
    ASSAY_BAND_STEPS = 128,       /* of a curve; a longer one keeps as many, evenly spaced */
    ASSAY_BAND_DEPARTURES = 1000, /* that are listed of a trial */
    ASSAY_BAND_STILL_POINTS = 4   /* fewer do not show whether a tensor moves */
};
#define ASSAY_BAND_CEILING ((size_t)256 << 20) /* a larger file is refused */

/* Sets what "points=5,factor=2" says; the rest stays. ASSAY_EUSAGE with what is known. */
int assay_noise_parse(const char *text, assay_noise *out, assay_error *err);

/* ---- learning ---- */

/* Appends the file: the bands of the outcome's trials, at the mode steps where at least two have a finite value. Its
 * bytes follow from the trials and settings alone. The buffer's status or ASSAY_ENOMEM. */
int assay_bands_put(const assay_outcome *outcome, const assay_noise *noise, assay_buf *out);

/* ---- reading ---- */

typedef struct assay_band {
    int figure;
    char *tensor; /* owned */
    int mode;
    size_t runs,
        moved;     /* good runs that have it; of the norm and of numbers: in which it was not the same at all steps */
    size_t steps;  /* at least 1 */
    int64_t *step; /* ascending mode steps; owned */
    double *quantile;         /* [steps * ASSAY_BAND_QUANTILES], finite, ascending at each step; owned */
    assay_band_number number; /* by the 0.5 quantiles; whether it counts is not known */
} assay_band;

typedef struct assay_bands {
    char *name;    /* the file's; owned */
    size_t trials; /* that were learned from */
    assay_noise noise;
    assay_score worst; /* of the good runs, each against the others */
    assay_band *band;  /* by figure, tensor (bytes), mode; owned */
    size_t count;
} assay_bands;

/* Reads such a file; `name` is for messages, which say where in it what is wrong. ASSAY_EFORMAT: it is no such file,
 * was changed, cut, or says what cannot be; ASSAY_ENOMEM. Release with assay_bands_release(). */
int assay_bands_parse(const char *name, const void *text, size_t size, assay_bands *out, assay_error *err);
void assay_bands_release(assay_bands *bands);

/* ---- holding trials against them ---- */

typedef enum assay_departure_kind {
    ASSAY_DEPARTS_VALUE,   /* it leaves its band */
    ASSAY_DEPARTS_STILL,   /* it never changes, and did in every good run */
    ASSAY_DEPARTS_MISSING, /* every good run has it, the trial has not */
    ASSAY_DEPARTS_SHORT,   /* the training has ended, and the loss ends before that of every good run */
} assay_departure_kind;
const char *assay_departure_word(int kind); /* "value", "still", "missing", "short" */

/* A figure that leaves its band: where first. */
typedef struct assay_departure {
    const assay_band *band;
    assay_departure_kind kind;
    int64_t step, mode_step; /* -1: of no step */
    double value, low, high; /* the band there: within it a run is as the good ones are */
    double score, limit;     /* of the curve; how far it may lie outside */
    size_t out, compared;    /* steps that lie farther outside, and all that lie in the band's range */
} assay_departure;

typedef struct assay_departures {
    size_t curves; /* that have a band */
    assay_score score;
    size_t total;          /* curves that leave their band */
    assay_departure *list; /* the first ones by step, then in order of the bands; owned */
    size_t count;
} assay_departures;

typedef struct assay_band_report {
    const assay_bands *bands;
    const assay_outcome *outcome;
    assay_score limit;
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
