/* pilot.h - trains, watches, and trains again with other settings until a run is clean: a state machine in a JSON file.
 *
 *     assay_pilot_open("state.json", true, &pilot, &err);
 *     assay_pilot_prepare(pilot, "/usr/bin/assay", &err);
 *     while (!assay_pilot_ended(pilot))
 *         assay_pilot_step(pilot, &did, &err);
 *     assay_pilot_close(pilot);
 *
 * The file is the whole state. Each step does one thing to the world that may be done again, then writes the file:
 * after a death at any point the next pilot goes on, and no training is launched twice. docs/pilot.md has the keys, the
 * transitions and that argument. None of these functions is collective. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "report/text/draw.h"

typedef struct assay_pilot assay_pilot;

enum { ASSAY_PILOT_CEILING = 1 << 20 }; /* a state file is not larger */

/* Reads a state from text, strictly; `file` goes into messages. ASSAY_EJOB with the place, ASSAY_ENOMEM. Free *out with
 * assay_pilot_close(). */
int assay_pilot_parse(const char *file, const void *text, size_t size, assay_pilot **out, assay_error *err);

/* Reads the state file. With `lock` the pilot keeps FILE.lock locked until it is closed: ASSAY_EUSAGE when another one
 * does, or when a program that a killed one had started has not ended. Errors as assay_pilot_parse(), and ASSAY_EIO. */
int assay_pilot_open(const char *name, bool lock, assay_pilot **out, assay_error *err);
void assay_pilot_close(assay_pilot *pilot);

/* What has to be right before anything is launched: the secrets of the notifications, the job file (by `program
 * check`), the script. `program` is assay's own path, copied. ASSAY_EJOB with the reason. */
int assay_pilot_prepare(assay_pilot *pilot, const char *program, assay_error *err);

/* Nothing is left to do. */
bool assay_pilot_ended(const assay_pilot *pilot);
/* Whether the end is a clean run; of one that is not, whether all that is wrong are losses of the trial (exit code 3).
 */
bool assay_pilot_clean(const assay_pilot *pilot, bool *damaged);

typedef struct assay_pilot_did {
    bool turned; /* a transition is complete: --once ends here */
    double wait; /* seconds until the next step is worth while */
    bool final;  /* after a failure: no use to try again with this pilot, because the state could not be written */
} assay_pilot_did;

/* One step. A failure leaves the file as it was before the step: it may be tried again, unless did->final. ASSAY_EIO,
 * ASSAY_ENOTFOUND (a command of Slurm is missing), ASSAY_EJOB, ASSAY_ENOMEM. Blocks as long as the commands that it
 * runs. */
int assay_pilot_step(assay_pilot *pilot, assay_pilot_did *did, assay_error *err);
double assay_pilot_poll_seconds(const assay_pilot *pilot);

/* Appends what the next transition would do, for people; asks nobody. */
void assay_pilot_put_next(const assay_pilot *pilot, assay_buf *out);
/* Appends how far the pilot is, and each launch with its settings and findings, for people; asks nobody. `draw` has the
 * width of the terminal; NULL: none. The buffer's status. */
int assay_pilot_put_status(const assay_pilot *pilot, const assay_draw *draw, assay_buf *out);
/* Appends the state as it stands in the file. */
int assay_pilot_put_state(assay_pilot *pilot, assay_buf *out);
/* Why the last plan was made, or how it ended: a sentence; "" when there is nothing to say. Borrowed until the next
 * step. */
const char *assay_pilot_reason(const assay_pilot *pilot);
