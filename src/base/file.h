/* file.h - reads small files as a whole, and writes files that are either complete or absent. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <assay/pack.h>
#include <assay/status.h>

/* Opens a regular file to be read: its descriptor, and what it is in *about (NULL: not asked for). -1 and errno: it cannot
 * be opened, or is a directory, a pipe or a device (EINVAL), which is never waited for. */
int assay_file_open(const char *path, struct stat *about);

/* Reads a whole file of at most `ceiling` bytes into `out` (initialised by the caller). Messages name the path.
 * ASSAY_ENOTFOUND when it does not exist (a link that leads nowhere does: ASSAY_EIO), ASSAY_EIO, ASSAY_EBUDGET when larger, ASSAY_ENOMEM. A pipe or a device is
 * refused with ASSAY_EIO, and never waited for, unless its path says what it is: /dev/stdin, /dev/fd/63. */
int assay_file_read(const char *path, size_t ceiling, assay_buf *out, assay_error *err);

/* The same for files that assay itself wrote, which begin with `magic`: others are refused with ASSAY_EFORMAT before
 * they are read, and a pipe with ASSAY_EIO, however it is given. */
int assay_file_read_own(const char *path, const char *magic, size_t ceiling, assay_buf *out, assay_error *err);

/* Writes `size` bytes to `path` under a temporary name in the same directory, flushes to disk (fsync) and renames.
 * A device, and what is given as /dev/stdout, /dev/stderr or /dev/fd/63, is written into as it is, and stays what it is.
 * The permissions of a file that was at `path` stay. On failure the temporary file is removed and what was at `path` is
 * untouched. ASSAY_ENOMEM when memory was ever refused to this process (assay_alloc_refused()): a piece may be missing.
 */
int assay_file_write(const char *path, const void *bytes, size_t size, assay_error *err);

/* Somebody who takes bytes one after the other, and somebody who makes them. Either returns ASSAY_OK or how it failed. */
typedef struct assay_taker {
    int (*take)(void *context, const void *bytes, size_t size);
    void *context;
} assay_taker;
typedef struct assay_maker {
    int (*make)(void *context, const assay_taker *to);
    void *context;
} assay_maker;

/* Bytes that are there already, as a maker: assay_stretch_give() with the address of a stretch. */
typedef struct assay_stretch {
    const void *bytes;
    size_t size;
} assay_stretch;
int assay_stretch_give(void *stretch, const assay_taker *to);

/* Writes a file like assay_file_write() that is made as it is written. Fails as `from` does, too. */
int assay_file_write_made(const char *path, const assay_maker *from, assay_error *err);

/* Opens a file of one's own for appending, and reading, and makes it where there is none: the descriptor, or ASSAY_EIO. What
 * somebody else may have put there is refused: a symbolic link, a second name of another file, a pipe. Whoever may write
 * into an output directory must not make assay append to a file elsewhere. */
int assay_file_open_append(const char *path, assay_error *err);

/* Makes a directory and its parents; one that exists already is fine. */
int assay_dir_make(const char *path, assay_error *err);
