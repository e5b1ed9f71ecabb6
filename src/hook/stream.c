/* stream.c - buffered writing under a temporary name. */
#include "hook/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"

int hook_stream_init(hook_stream *stream)
{
    memset(stream, 0, sizeof *stream);
    stream->fd = -1;
    stream->room = assay_alloc(HOOK_STREAM_ROOM);
    return stream->room ? ASSAY_OK : ASSAY_ENOMEM;
}

static void forget(hook_stream *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    free(stream->path);
    free(stream->temporary);
    stream->fd = -1;
    stream->path = stream->temporary = NULL;
    stream->used = 0;
    stream->size = 0;
}

void hook_stream_abandon(hook_stream *stream)
{
    if (stream->temporary)
        unlink(stream->temporary);
    forget(stream);
}

void hook_stream_release(hook_stream *stream)
{
    hook_stream_abandon(stream);
    free(stream->room);
    stream->room = NULL;
}

bool hook_stream_is_open(const hook_stream *stream)
{
    return stream->fd >= 0;
}

int hook_stream_open(hook_stream *stream, const char *path, assay_error *err)
{
    size_t room = strlen(path) + sizeof ".tmp";
    stream->path = assay_copy_text(path);
    stream->temporary = assay_alloc(room);
    if (!stream->path || !stream->temporary) {
        free(stream->temporary);
        stream->temporary = NULL; /* holds no name yet that could be removed */
        forget(stream);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    }
    snprintf(stream->temporary, room, "%s.tmp", path);
    stream->fd = open(stream->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (stream->fd < 0) {
        int rc = assay_fail(err, ASSAY_EIO, "%s: cannot create: %s", stream->temporary, strerror(errno));
        forget(stream);
        return rc;
    }
    return ASSAY_OK;
}

static int write_out(const hook_stream *stream, const uint8_t *bytes, size_t size, assay_error *err)
{
    while (size > 0) {
        ssize_t put = assay_fault_now(ASSAY_FAULT_WRITE) ? (errno = EIO, -1) : write(stream->fd, bytes, size);
        if (put < 0 && errno != EINTR)
            return assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", stream->temporary, strerror(errno));
        if (put > 0) {
            bytes += put;
            size -= (size_t)put;
        }
    }
    return ASSAY_OK;
}

int hook_stream_put(hook_stream *stream, const void *bytes, size_t size, assay_error *err)
{
    if (size > HOOK_STREAM_ROOM - stream->used) {
        int rc = write_out(stream, stream->room, stream->used, err);
        if (rc < 0)
            return rc;
        stream->used = 0;
    }
    stream->size += size;
    if (size >= HOOK_STREAM_ROOM)
        return write_out(stream, bytes, size, err);
    if (size)
        memcpy(stream->room + stream->used, bytes, size);
    stream->used += size;
    return ASSAY_OK;
}

int hook_stream_commit(hook_stream *stream, bool durable, assay_error *err)
{
    int rc = write_out(stream, stream->room, stream->used, err);
    if (rc == ASSAY_OK && durable && fsync(stream->fd) != 0)
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot flush: %s", stream->temporary, strerror(errno));
    int closed = close(stream->fd); /* network file systems tell about a full disk here */
    stream->fd = -1;
    if (rc == ASSAY_OK && closed != 0)
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot close: %s", stream->temporary, strerror(errno));
    if (rc == ASSAY_OK && rename(stream->temporary, stream->path) != 0)
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot rename to its final name: %s", stream->temporary, strerror(errno));
    if (rc < 0)
        unlink(stream->temporary);
    forget(stream);
    return rc;
}
