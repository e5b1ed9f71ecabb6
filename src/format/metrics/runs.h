/* runs.h - the runs of a place: which one is meant, and how a place within one is written. */
#pragma once

#include "format/metrics/metrics.h"

/* The run of a place that a trial is: the only one, or the only one that has a value. NULL in *run: none has one.
 * ASSAY_EFORMAT: there are several, as the message says; ASSAY_EIO: and not all could be looked at. */
int metrics_place_choose(metrics_place *place, const metrics_run **run, assay_error *err);
/* Does the run have a value? 1, 0 or a status. */
int metrics_run_has_value(const metrics_place *place, const metrics_run *run, assay_error *err);
/* Takes runs apart whose later files begin no later than the run itself: such a file goes on with nothing, and as the
 * restart of the run it would discard all that came before. Each file that begins so is a run of its own, with the files
 * that go on from it, called by its path without the ending. For kinds whose files all have the same series. */
int metrics_split_runs(metrics_place *place, assay_error *err);
/* Notes a run that has none. 0 or ASSAY_ENOMEM. */
int metrics_place_note_silent(metrics_place *place, const metrics_run *run);
/* What could not be looked at, the first of it; NULL: nothing. It is the place's. */
const char *metrics_place_unread(metrics_place *place);
/* Forgets what is said of the place as a whole: it went along with a run. */
void metrics_place_said(metrics_place *place);
/* What another rank's metrics_run_unpack() needs to read the run without a look at the others; the place's problems go
 * along. */
void metrics_run_pack(const metrics_place *place, const metrics_run *run, assay_buf *out);
/* A place of that run alone. Release it in any case. ASSAY_EFORMAT or ASSAY_ENOMEM. */
int metrics_run_unpack(assay_store *store, const uint8_t *bytes, size_t size, metrics_place *out, assay_error *err);
