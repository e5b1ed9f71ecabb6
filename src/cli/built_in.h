/* built_in.h - the job used without a job file: jobs/built-in.json as of the build. */
#pragma once

#include <stddef.h>

extern const unsigned char cli_built_in_job[];
extern const size_t cli_built_in_job_size;
