/* tb.h - which event files are one run (tb_runs.c). */
#pragma once

#include "format/metrics/metrics.h"

typedef struct metrics_tb_place {
    char directory[ASSAY_PATH_ROOM]; /* of the file, without the parts that name a worker */
    char worker[32];
} metrics_tb_place;

/* Takes a path apart; false when it is too long. */
bool metrics_tb_split(const char *path, metrics_tb_place *out);
/* Divides the event files of a place; a run's key is its directory as metrics_tb_split() has it. */
int metrics_tb_divide(metrics_place *place, assay_error *err);
