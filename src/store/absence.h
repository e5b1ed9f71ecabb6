/* absence.h - tells what is not there from what cannot be found. Inside store only.
 *
 * A system may list a name and then not find it: a link that leads nowhere, a file server that contradicts itself, a
 * file that was removed meanwhile. Taken for absence, that leaves out a part of a trial without a word. So an absence
 * is held against the listing of the directory around it, once for each directory. */
#ifndef ASSAY_STORE_ABSENCE_H
#define ASSAY_STORE_ABSENCE_H

#include "store/storage.h"

/* Has a listing the path, which was not found, or the lowest directory around it that was not found either? ASSAY_OK:
 * it has; whoever asks looks once more, for it may have come in between. ASSAY_ENOTFOUND: it is absent. ASSAY_ENOMEM.
 */
int assay_store_look_listed(assay_store *store, const char *path, assay_error *err);

/* ASSAY_EIO: it should be there, and is not. */
int assay_store_fail_gone(const char *path, assay_error *err);

#endif
