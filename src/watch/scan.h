/* scan.h - one watched trial: its changes, and which of its steps are complete. Inside watch only. */
#pragma once

#include "watch/watch_internal.h"

/* `path` and `topology` (as assay_topology_attach() takes it, or NULL) are borrowed. 0 or ASSAY_ENOMEM. */
int assay_watched_init(watched_source *source, const char *path, const char *topology);
void assay_watched_release(watched_source *source);

/* Lists the trial again if a directory of it changed, and looks at the files that are not settled. *changed is set when
 * something was written. Errors as assay_watch_look(). */
int assay_watched_look(watched_source *source, double now, bool *changed, assay_error *err);

typedef struct watched_steps {
    uint64_t complete, waiting;
    bool pending; /* some file that the trial promises is not there, and may still come */
} watched_steps;
/* Decides which steps are evaluated, and computes source->view. A step waits `lag` seconds from its last change for
 * workers that have not written it; they are then late, and not waited for until they have caught up. `name` is for
 * messages. 0 or ASSAY_ENOMEM. */
int assay_watched_judge(watched_source *source, const char *name, double now, double lag, watched_steps *out);

/* Finds the topology of a new listing; where it is another one than before, all rows are to be read again, and *changed
 * is set. As assay_topology_attach(). (scan_topology.c) */
int assay_watched_lay_out(watched_source *source, assay_catalog *fresh, bool *changed, assay_error *err);
/* Gives the rows of a part the tensors' own names. 0 or ASSAY_ENOMEM. (scan_topology.c) */
int assay_watched_name(watched_source *source, assay_shard *shard);
