/* stream.h - a file written piece by piece under a temporary name, that is either complete or absent.
 *
 * base/file.h does this for contents that are in memory; this is for gigabytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

enum { HOOK_STREAM_ROOM = 256 << 10 };

typedef struct hook_stream {
    char *path, *temporary; /* owned; NULL while closed */
    int fd;
    uint8_t *room; /* owned, HOOK_STREAM_ROOM bytes, kept from file to file */
    size_t used;
    uint64_t size; /* bytes put so far */
} hook_stream;

/* Makes a closed stream. ASSAY_ENOMEM. */
int hook_stream_init(hook_stream *stream);
/* Abandons an open file and frees the memory. */
void hook_stream_release(hook_stream *stream);
/* Begins `path` as `path`.tmp (one worker alone writes a path, so the name needs nothing random). */
int hook_stream_open(hook_stream *stream, const char *path, assay_error *err);
bool hook_stream_is_open(const hook_stream *stream);
int hook_stream_put(hook_stream *stream, const void *bytes, size_t size, assay_error *err);
/* Gives the file its name; with `durable` after it has reached the disk. On failure the file is gone. */
int hook_stream_commit(hook_stream *stream, bool durable, assay_error *err);
/* Removes the temporary file. */
void hook_stream_abandon(hook_stream *stream);
