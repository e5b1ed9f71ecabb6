/* links.h - which way symbolic links lead while a trial's directories are walked. Inside storage only.
 *
 * A walk through links could come to no end, or to one directory along very many ways: ten links in each of sixteen
 * directories, each to the next one, make 10^16. So a directory is empty where links have led back to one that the way
 * has passed, and it is refused where too many ways through several links lead to it. One link on the way is always
 * followed: of those there are no more ways than links. */
#ifndef ASSAY_STORE_LINKS_H
#define ASSAY_STORE_LINKS_H

#include "base/dict.h"

enum { ASSAY_LINKS_WAYS = 64 /* to one directory, through several links each */ };

typedef struct assay_links { /* zero it first */
    assay_dict *ways;        /* device and number of a directory, then the path */
    assay_dict *directories; /* device and number */
    uint32_t *count;         /* by number of `directories`: its ways */
    size_t room;
} assay_links;

/* Where a listing of `directory`, a path below `root` that is open as `number`, gets: 0: its names are listed; 1: it is
 * empty, because links have led back; ASSAY_EIO: too many ways lead there; ASSAY_ENOMEM. */
int assay_links_enter(assay_links *links, int root, int number, const char *directory, assay_error *err);
void assay_links_release(assay_links *links);

#endif
