/* listings.h - what the directories of a store hold, each listed once. Inside store only.
 *
 * Several readers ask for the same directory while a trial is opened: formats that look whether it is theirs, the
 * catalog, the topology. In S3 each listing is a request. All of them see the directory as it was first listed, so a
 * file that comes while the trial is opened belongs to all of what they say, or to none. */
#pragma once

#include "base/dict.h"
#include "store/storage.h"

typedef struct assay_listings { /* zero it first */
    assay_dict *paths;
    struct {
        assay_names *list;
        size_t count, room;
    } names;      /* by number in `paths` */
    size_t bytes; /* of all names and their tables, but those of the root */
} assay_listings;

/* The names in a directory that was listed, borrowed until the next assay_listings_keep(); NULL: not known. */
const assay_names *assay_listings_find(const assay_listings *listings, const char *directory);
/* Copies the names of a directory. One that takes more than what is left of ASSAY_LISTINGS_MOST is not kept: it is listed
 * again when somebody asks. The root ("") is always kept. 0 or ASSAY_ENOMEM. */
int assay_listings_keep(assay_listings *listings, const char *directory, const assay_names *names);
/* True where a directory on the way to the path was listed, and has no such name. */
bool assay_listings_exclude(const assay_listings *listings, const char *path);
/* For another rank's store of the same place. Unpacking: ASSAY_EINTERNAL, ASSAY_ENOMEM. */
void assay_listings_pack(const assay_listings *listings, assay_buf *out);
int assay_listings_unpack(assay_cursor *in, assay_listings *listings);
void assay_listings_release(assay_listings *listings);

/* A copy of sorted names. 0 or ASSAY_ENOMEM. */
int assay_names_copy(const assay_names *from, assay_names *out);

/* Of names that are kept. Steps with a hundred files each take 4 KiB: 256 of them fit, and a trial of more steps costs
 * more by its steps than by listing some of them twice. */
enum { ASSAY_LISTINGS_MOST = 1 << 20 };
