/* runs.c - asks the formats which runs a location stands for. */
#include "trial/runs.h"

#include <stdlib.h>

#include "trial/trial_format.h"

/* A location such as an MLflow folder holds several runs; formats that know none leave `out` empty, and the location
 * is one trial. */
int assay_trial_runs_find(const char *location, const assay_trial_options *given, assay_trial_runs *out,
                          assay_error *err)
{
    int status = ASSAY_OK;
    *out = (assay_trial_runs){0};
    for (unsigned i = 0; i < assay_format_count() && status == ASSAY_OK && out->count == 0; i++)
        if (assay_format_of(i)->runs)
            status = assay_format_of(i)->runs(location, given, out, err);
    return status;
}

void assay_trial_runs_release(assay_trial_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        free(runs->list[i].name);
        free(runs->list[i].path);
        assay_trial_options_release(runs->list[i].options);
    }
    free(runs->list);
    free(runs->unread);
    *runs = (assay_trial_runs){0};
}

enum { NAMED_MOST = 8 };

static int fail_several(const char *location, const assay_trial_runs *runs, assay_error *err)
{
    assay_buf names = ASSAY_BUF(4096);
    for (size_t i = 0; i < runs->count && i < NAMED_MOST; i++)
        assay_put_format(&names, "%s%.40s", i ? ", " : "", runs->list[i].name);
    const int status =
        assay_fail(err, runs->unread ? ASSAY_EIO : ASSAY_EUSAGE,
                   "%.120s holds %zu runs; give one of them, as in %.160s: %.*s%s%s%.200s", location, runs->count,
                   runs->list[0].path, (int)names.size, (const char *)names.data,
                   runs->count > NAMED_MOST ? ", ..." : "", runs->unread ? "; " : "", runs->unread ? runs->unread : "");
    assay_buf_release(&names);
    return status;
}

/* For commands that open one trial in one process. Jobs list theirs on all ranks (engine/source). */
int assay_trial_list(const char *location, assay_store **store, assay_trial_options **options, assay_catalog *catalog,
                     assay_error *err)
{
    assay_trial_runs runs;
    *options = NULL;
    *store = NULL;
    int status = assay_trial_runs_find(location, NULL, &runs, err);
    if (status == ASSAY_OK && runs.count > 1)
        status = fail_several(location, &runs, err);
    if (status == ASSAY_OK && runs.count == 1)
        *options = assay_trial_options_share(runs.list[0].options);
    assay_trial_runs_release(&runs);
    ASSAY_THEN(status, assay_store_open(assay_trial_root(*options, location), store, err));
    ASSAY_THEN(status, assay_catalog_read(*store, *options, catalog, err));
    if (status != ASSAY_OK) {
        assay_store_close(*store);
        assay_trial_options_release(*options);
        *store = NULL;
        *options = NULL;
    }
    return status;
}
