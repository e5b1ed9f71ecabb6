/* recorded.h - how the files of a recording are called: the recording library writes them, formats read them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file in a trial's root (or in a folder of profiler data) whose presence says that the training has ended. */
#define ASSAY_RECORDED_END "training_job_end.ts"

/* Index files lie in directories of so many steps each, whose names are the number of the first step over this one. */
enum { ASSAY_RECORDED_BUCKET = 1000 };
/* printf formats: of the step (long long), the step again and the worker's name; of the bucket, the step and the worker's
 * name. */
#define ASSAY_RECORDED_EVENTS "events/%012lld/%012lld_%s.tfevents"
#define ASSAY_RECORDED_INDEX  "index/%09lld/%012lld_%s.json"

/* Whose events a path says that its file has: false where it is not called as above. The worker's name, `*name` bytes,
 * points into the path. */
bool assay_recorded_event_name(const char *path, size_t length, int64_t *step, const char **worker, size_t *name);
