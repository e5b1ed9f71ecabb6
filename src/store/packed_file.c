/* packed_file.c - see packed_file.h. */
#include "store/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_system(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    const packed_file *file = context;
    for (size_t have = 0; have < size;) {
        ssize_t n = pread(file->number, (char *)bytes + have, size - have, (off_t)(at + have));
        if (n > 0)
            have += (size_t)n;
        else if (n == 0)
            return assay_fail(err, ASSAY_EIO, "%s: the file became shorter while it was read", file->where);
        else if (errno != EINTR)
            return assay_fail(err, ASSAY_EIO, "%s: offset %llu: reading failed: %s", file->where,
                              (unsigned long long)(at + have), strerror(errno));
    }
    return ASSAY_OK;
}

int packed_file_of_system(packed_file *file, const char *name, assay_h5 *h5, assay_error *err)
{
    struct stat about;
    file->number = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* should it have become a pipe meanwhile */
    if (file->number < 0 || fstat(file->number, &about) != 0)
        return assay_fail(err, ASSAY_EIO, "%s: cannot open: %s", file->where, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return assay_fail(err, ASSAY_EIO, "%s: not a regular file", file->where);
    *h5 = (assay_h5){.read = read_system, .context = file, .size = (uint64_t)about.st_size, .where = file->where};
    return ASSAY_OK;
}

static int read_object(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    const packed_file *file = context;
    assay_error why = {""};
    size_t got = 0;
    int status = file->object->ops->read_at(file->object, at, bytes, size, &got, &why);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s", file->where, why.text);
    return got == size ? ASSAY_OK
                       : assay_fail(err, ASSAY_EIO, "%s: the object became shorter while it was read", file->where);
}

int packed_file_of_s3(packed_file *file, const char *name, assay_h5 *h5, assay_error *err)
{
    assay_error why = {""};
    const char *slash = strrchr(name, '/'); /* a bucket is before it */
    assay_buf directory;
    assay_buf_init(&directory, 64 << 10);
    assay_put_format(&directory, "s3://%.*s", (int)(slash - name), name);
    assay_put_u8(&directory, '\0');
    int status = assay_buf_status(&directory);
    if (status == ASSAY_OK)
        status = assay_store_open((const char *)directory.data, &file->under, err);
    assay_buf_release(&directory);
    if (status != ASSAY_OK)
        return status;
    status = assay_store_open_file(file->under, slash + 1, &file->object, &why);
    if (status == ASSAY_ENOTFOUND)
        return status;
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s", file->where, why.text);
    *h5 = (assay_h5){.read = read_object, .context = file, .size = file->object->size, .where = file->where};
    return ASSAY_OK;
}

void packed_file_close(packed_file *file)
{
    if (file->number >= 0)
        close(file->number);
    assay_store_close_file(file->object);
    assay_store_close(file->under);
}
