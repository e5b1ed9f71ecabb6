/* events_table.h - every event of the timelines of a trial as a table, for `assay stats --events`. */
#pragma once

#include "cli/cli.h"
#include "report/text/listing.h"

/* Writes a row for every event of the timelines below a location, in the order of the files and of their lines; what
 * begins and ends is one event, where it ends. `path` NULL: it prints them. *losses: what was damaged; each
 * is said. 0 or what went wrong. */
int cli_events_write(const char *location, assay_listing_form form, const char *path, uint64_t *losses,
                     assay_error *err);
