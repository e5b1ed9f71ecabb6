/* curve_walk.h - shared by loss_curve and tensor_curves: walks the rows of a series curve by curve, and writes what was
 * left out. */
#pragma once

#include "shared/curves.h"
#include <assay/rule.h>

#include <inttypes.h>
#include <stdlib.h>

/* One curve after the other: a tensor in a mode. */
typedef struct curve_walk {
    const assay_trial *trial;
    const assay_series *series;
    uint64_t *order;      /* the rows by tensor, then step; owned */
    uint64_t rows, first; /* of the tensor under way: order[first .. end) */
    uint64_t end;
    uint64_t *row; /* the curve's own rows, ascending in step; owned */
    uint64_t count;
    uint32_t tensor;
    int mode;
} curve_walk;

static inline int curve_walk_begin(curve_walk *w, const assay_rule *rule, const void *state)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t rows = assay_series_count(series);
    *w = (curve_walk){.trial = rule->trial, .series = series, .rows = rows, .mode = ASSAY_MODES};
    w->order = assay_series_by_tensor(series);
    w->row = rows <= SIZE_MAX / sizeof *w->row ? malloc(rows ? rows * sizeof *w->row : 1) : NULL;
    return (rows == 0 || w->order) && w->row ? ASSAY_OK : ASSAY_ENOMEM;
}

static inline void curve_walk_end(curve_walk *w)
{
    free(w->order);
    free(w->row);
}

static inline const assay_step_info *curve_step(const curve_walk *w, uint64_t i)
{
    return assay_trial_step(w->trial, assay_trial_find_step(w->trial, assay_series_row(w->series, w->row[i]).step));
}

/* The next curve with a row; false behind the last. */
static inline bool curve_walk_next(curve_walk *w)
{
    do {
        if (++w->mode >= ASSAY_MODES) {
            w->first = w->end;
            if (w->first >= w->rows)
                return false;
            w->tensor = assay_series_row(w->series, w->order[w->first]).tensor;
            while (w->end < w->rows && assay_series_row(w->series, w->order[w->end]).tensor == w->tensor)
                w->end++;
            w->mode = ASSAY_MODE_NONE;
        }
        w->count = 0;
        for (uint64_t i = w->first; i < w->end; i++) {
            w->row[w->count] = w->order[i];
            const assay_step_info *step = curve_step(w, w->count);
            w->count += step && step->mode == w->mode;
        }
    } while (w->count == 0);
    return true;
}

static inline double curve_value(const curve_walk *w, uint64_t i, int column)
{
    return assay_series_row(w->series, w->row[i]).value[column];
}

/* The members that every curve begins with: "tensor", "mode" and the list of "steps". */
static inline void curve_put_head(const curve_walk *w, bool first, assay_buf *json)
{
    assay_put_format(json, "%s{\"tensor\": ", first ? "" : ", ");
    assay_json_put_text(json, assay_trial_tensor(w->trial, w->tensor));
    assay_put_format(json, ", \"mode\": \"%s\", \"steps\": [", assay_mode_name(w->mode));
    for (uint64_t i = 0; i < w->count; i++)
        assay_put_format(json, "%s%" PRId64, i ? ", " : "", assay_series_row(w->series, w->row[i]).step);
    assay_put_format(json, "]");
}

static inline void curve_put_values(const curve_walk *w, const char *key, int column, assay_buf *json)
{
    assay_put_format(json, ", \"%s\": [", key);
    for (uint64_t i = 0; i < w->count; i++) {
        assay_put_format(json, i ? ", " : "");
        assay_json_put_number(json, curve_value(w, i, column));
    }
    assay_put_format(json, "]");
}

/* Member "every": the modes of which only every n-th step was taken, by the stride of each. */
static inline void curve_put_strides(const assay_trial *trial, const uint64_t stride[ASSAY_MODES],
                                     assay_verdict *verdict)
{
    assay_buf *json = assay_verdict_json(verdict), *text = assay_verdict_text(verdict);
    bool any = false;
    assay_put_format(json, ", \"every\": {");
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        if (stride[m] <= 1 || assay_trial_mode_steps(trial, m) == 0)
            continue;
        assay_put_format(json, "%s\"%s\": %" PRIu64, any ? ", " : "", assay_mode_name(m), stride[m]);
        assay_put_format(text, "  only 1 in %" PRIu64 " of the %" PRIu64 " %s steps, and the last\n", stride[m],
                         assay_trial_mode_steps(trial, m), assay_mode_name(m));
        any = true;
    }
    assay_put_format(json, "}");
}

/* The same where a rule's parameter `steps` says how many of each mode are taken at most. */
static inline void curve_put_steps(const assay_rule *rule, assay_verdict *verdict)
{
    uint64_t stride[ASSAY_MODES];
    for (int m = 0; m < ASSAY_MODES; m++)
        stride[m] = assay_spread_stride(assay_trial_mode_steps(rule->trial, m),
                                        (uint64_t)assay_param_int(rule->params, "steps"));
    curve_put_strides(rule->trial, stride, verdict);
}
