/* inflate.c - unpacks entries of zip files: by zlib, or by libzstd where Zstandard compressed them. */
#include "container/inflate.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/fault.h"
#include "base/heap.h"
#include "container/unzstd.h"

/* Bytes of the file that are read at once. */
enum { INPUT = 32 << 10 };

struct assay_inflater {
    z_stream stream;
    assay_unzstd *zstd; /* of ASSAY_ZIP_ZSTD, which takes from `stream` only where its input and output are */
    uint64_t at, end;   /* of the bytes in the file that were not read yet */
    bool ended;
    uint8_t input[INPUT];
};

static void *take_memory(void *context, unsigned count, unsigned size)
{
    return assay_alloc_zeroed(count, size);
}

static void give_memory(void *context, void *memory)
{
    free(memory);
}

assay_inflater *assay_inflater_new(assay_zip_method method, uint64_t at, uint64_t end)
{
    assay_inflater *i = assay_alloc_zeroed(1, sizeof *i);
    if (!i)
        return NULL;
    i->at = at;
    i->end = end;
    i->stream.zalloc = take_memory;
    i->stream.zfree = give_memory;
    /* zlib looks at next_in before it has input. */
    i->stream.next_in = i->input;
    if (method == ASSAY_ZIP_ZSTD ? (i->zstd = assay_unzstd_new()) != NULL
                                 : inflateInit2(&i->stream, -MAX_WBITS) == Z_OK) /* without zlib's own header */
        return i;
    free(i);
    return NULL;
}

void assay_inflater_free(void *inflater)
{
    assay_inflater *i = inflater;
    if (!i)
        return;
    if (i->zstd)
        assay_unzstd_free(i->zstd);
    else
        inflateEnd(&i->stream);
    free(i);
}

static int damaged(const assay_inflater *i, const char *path, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: %s", path, (unsigned long long)i->at, what);
}

static int out_of_memory(const char *path, assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while inflating it", path);
}

/* Of deflated bytes what the input gives, or as much as there is room for. */
static int inflate_step(assay_inflater *i, const char *path, assay_error *err)
{
    const int result = inflate(&i->stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR)
        return out_of_memory(path, err);
    i->ended = result == Z_STREAM_END;
    return i->ended || result == Z_OK ? ASSAY_OK
                                      : damaged(i, path, "the deflated bytes are damaged, or end early", err);
}

/* The same of Zstandard's, of which an entry may have several frames. */
static int unzstd_step(assay_inflater *i, const char *path, assay_error *err)
{
    z_stream *s = &i->stream;
    assay_unzstd_flow flow = {s->next_in, s->next_out, s->avail_in, s->avail_out};
    bool whole = false;
    int status = assay_unzstd_next(i->zstd, &flow, &whole);
    /* A window beyond the limit would take its memory on every rank that reads the entry. */
    if (status == ASSAY_ENOMEM)
        return out_of_memory(path, err);
    if (status == ASSAY_EBUDGET)
        return assay_fail(
            err, ASSAY_EBUDGET,
            "%s: offset %llu: to unpack these Zstandard bytes takes a window of more than %d MiB: compress "
            "them at a level below 20, or not at all",
            path, (unsigned long long)i->at, 1 << (ASSAY_UNZSTD_WINDOW_LOG - 20));
    /* Neither input was used nor output made: without this the loop of inflate_some() would not end. */
    const bool stuck = flow.in_size == s->avail_in && flow.out_size == s->avail_out;
    s->next_in = (Bytef *)flow.in; /* zlib's header has no const there */
    s->avail_in = (uInt)flow.in_size;
    s->next_out = flow.out;
    s->avail_out = (uInt)flow.out_size;
    i->ended = status == ASSAY_OK && whole && i->at == i->end;
    return status == ASSAY_OK && (i->ended || !stuck)
               ? ASSAY_OK
               : damaged(i, path, "the Zstandard bytes are damaged, or end early", err);
}

/* Unpacks until `size` bytes are out, or the stream has ended. Untrusted: the entry may be damaged anywhere, and
 * unpack to more or less than its directory says. The callers below compare. */
static int inflate_some(assay_inflater *i, const assay_packed_source *source, uint8_t *to, size_t size,
                        assay_error *err)
{
    int status = ASSAY_OK;
    i->stream.next_out = to;
    i->stream.avail_out = (uInt)size;
    while (status == ASSAY_OK && i->stream.avail_out > 0 && !i->ended) {
        if (i->stream.avail_in == 0 && i->at < i->end) {
            const size_t take = i->end - i->at < INPUT ? (size_t)(i->end - i->at) : INPUT;
            ASSAY_TRY(source->read(source->context, i->at, i->input, take, err));
            i->at += take;
            i->stream.next_in = i->input;
            i->stream.avail_in = (uInt)take;
        }
        status = i->zstd ? unzstd_step(i, source->path, err) : inflate_step(i, source->path, err);
    }
    return status;
}

uint64_t assay_inflater_at(const assay_inflater *i)
{
    return i->at - i->stream.avail_in;
}

/* zlib counts what is left in 32 bits: larger requests are taken in several. */
enum { AT_ONCE = 1 << 30 };

int assay_inflater_some(assay_inflater *i, const assay_packed_source *source, uint8_t *to, size_t size, size_t *got,
                        assay_error *err)
{
    const size_t take = size < AT_ONCE ? size : AT_ONCE;
    const int status = inflate_some(i, source, to, take, err);
    *got = take - i->stream.avail_out;
    return status;
}

int assay_inflater_next(assay_inflater *i, const assay_packed_source *source, uint8_t *to, size_t size,
                        assay_error *err)
{
    while (size > 0) {
        const size_t take = size < AT_ONCE ? size : AT_ONCE;
        ASSAY_TRY(inflate_some(i, source, to, take, err));
        /* The stream has ended, and more was promised. */
        if (i->stream.avail_out > 0)
            return damaged(i, source->path, "the compressed bytes give less than the directory says", err);
        to += take;
        size -= take;
    }
    return ASSAY_OK;
}

int assay_inflater_end(assay_inflater *i, const assay_packed_source *source, assay_error *err)
{
    uint8_t more;
    int status = ASSAY_OK;
    bool rest = false;
    if (!i->ended) { /* all elements are out, but the stream's end mark may not be read yet */
        status = inflate_some(i, source, &more, 1, err);
        rest = i->stream.avail_out == 0;
    }
    /* Bytes that are left over are damage too: they would be lost without a word. */
    if (status == ASSAY_OK && (rest || i->stream.avail_in > 0 || i->at < i->end))
        status = damaged(i, source->path, "the compressed bytes give more than the directory says", err);
    return status;
}

int assay_inflate_whole(const assay_packed_source *source, const assay_packed_range *range, uint8_t **out,
                        assay_error *err)
{
    const bool deflated = range->method != ASSAY_ZIP_STORED;
    const size_t size = (size_t)range->size;
    uint8_t *bytes = assay_heap_alloc_large(size);
    assay_inflater *i = deflated ? assay_inflater_new(range->method, range->at, range->at + range->compressed) : NULL;
    int status = bytes && (i || !deflated)
                     ? ASSAY_OK
                     : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for %zu bytes", source->path, size);
    if (status == ASSAY_OK && !deflated && size > 0)
        status = source->read(source->context, range->at, bytes, size, err);
    if (status == ASSAY_OK && deflated)
        status = assay_inflater_next(i, source, bytes, size, err);
    if (status == ASSAY_OK && deflated)
        status = assay_inflater_end(i, source, err);
    assay_inflater_free(i);
    if (status == ASSAY_OK)
        *out = bytes;
    else
        free(bytes);
    return status;
}

uint32_t assay_crc32(uint32_t sum, const void *bytes, size_t size)
{
    return (uint32_t)crc32_z(sum, bytes, size);
}
