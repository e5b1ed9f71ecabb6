/* path.h - paths and names of files as texts; nothing here asks the file system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <assay/pack.h>

enum { ASSAY_PATH_MOST = 4096 }; /* bytes of a path that foreign data give */

/* "a/b" from "a" and "b", "b" from "" and "b"; the caller frees it; NULL without memory. */
char *assay_path_join(const char *directory, const char *name);

/* The last part of a path: what stands behind its last '/'. Points into the path. */
const char *assay_path_name(const char *path);

/* True when the text ends in the suffix: ".json", and the text may be no more than that. */
bool assay_path_ends(const char *path, const char *suffix);
bool assay_path_ends_n(const char *path, size_t length, const char *suffix);

/* How many bytes the name had before somebody put the file aside: what stands before ".bak", ".old", ".1", "~", blanks
 * and the like at its end; 0: it has none of these. */
size_t assay_path_before_aside(const char *name);
/* Is it not the known name, and looks like it: one byte is another, or letters are large or small where those of the known are not,
 * letters of another alphabet stand for its own, marks stand on them, or a point stands in front of it? */
bool assay_path_looks_like(const char *name, const char *known);

/* Appends the path without what tells files and directories of one series apart: digits, and of hexadecimal numbers and
 * UUIDs all: "step-1/rank_0" and "step-20/rank_3" come to the same. */
void assay_path_put_series(const char *path, assay_buf *out);

/* True for a relative path (`length` bytes, need not be terminated) that stays below the directory it is taken from and
 * means the same file in a directory, in S3 and in a packed trial: parts between single slashes, none of them empty,
 * "." or "..", no NUL, ASSAY_PATH_MOST bytes at most. Every path that foreign data give passes here before it is joined
 * to anything. Symbolic links are the storage's matter. */
bool assay_path_is_inside(const char *path, size_t length);

/* The same for the name of a file beside: one part. */
bool assay_path_is_name(const char *name, size_t length);

static inline bool assay_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
