/* own_place.h - a directory of its own for the report of a run that was told none: assay-report/NAME, after the trial,
 * or after the time where there are several. Nothing that stands there already is written over. */
#pragma once

#include <stdbool.h>

#include "job/job.h"

#define OWN_PLACES "assay-report"

/* Makes the directory below the working directory, empty; NAME-2 and so on where that name is taken. The caller frees
 * *place. ASSAY_EIO with the path and the reason, ASSAY_ENOMEM. For one rank. */
int own_place_make(const assay_job *job, char **place, assay_error *err);
/* The report is there: lets assay-report/latest lead to it. What stands there and is no link stays. */
void own_place_keep(const char *place);
/* Removes the directories again as far as they are empty, and frees the text; accepts NULL. */
void own_place_end(char *place);
