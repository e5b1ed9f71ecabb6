/* utf8.c - see utf8.h. */
#include "container/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* MARK: bytes of the longest byte order mark. */
enum { RAW = 64 << 10, MARK = 3 };

/* Invariant: of UTF-16 raw[at, size) was read and not turned into characters yet; of anything else only head[head_at,
 * head_size) waits, and the rest goes through without a copy. */
struct assay_utf8 {
    assay_unpacked *bytes;
    enum { AS_IT_IS, LITTLE, BIG } order;
    uint8_t head[MARK]; /* bytes that were looked at, and belong to the text */
    size_t head_at, head_size;
    uint8_t *raw; /* of UTF-16; NULL: it is none */
    size_t at, size;
    int failed; /* what ended the raw bytes; told once they are handed out */
    assay_error why;
};

void assay_utf8_close(assay_utf8 *t)
{
    if (!t)
        return;
    assay_unpacked_close(t->bytes);
    free(t->raw);
    free(t);
}

/* Takes the byte order mark, if there is one. */
static int begin(assay_utf8 *t, const char *path, assay_error *err)
{
    int status = ASSAY_OK;
    for (size_t got = 1; status == ASSAY_OK && got > 0 && t->head_size < MARK; t->head_size += got)
        status = assay_unpacked_read(t->bytes, t->head + t->head_size, MARK - t->head_size, &got, &t->why);
    /* Damage is told by the first read: a file whose beginning is whole is opened. */
    if (status == ASSAY_EFORMAT)
        t->failed = status;
    else if (status != ASSAY_OK)
        return assay_fail(err, status, "%s", t->why.text);
    const size_t size = t->head_size;
    if (size == MARK && memcmp(t->head, "\xef\xbb\xbf", MARK) == 0)
        t->head_size = 0;
    else if (size >= 2 && memcmp(t->head, "\xff\xfe", 2) == 0)
        t->order = LITTLE;
    else if (size >= 2 && memcmp(t->head, "\xfe\xff", 2) == 0)
        t->order = BIG;
    if (t->order == AS_IT_IS)
        return ASSAY_OK;
    t->raw = assay_alloc(RAW);
    if (!t->raw)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    t->size = size - 2;
    memcpy(t->raw, t->head + 2, t->size);
    t->head_size = 0;
    return ASSAY_OK;
}

/* Bytes of foreign files come in here. Without a mark they are handed out as they are, whether they are UTF-8 or
 * not. */
int assay_utf8_open(assay_store *store, const char *path, assay_utf8 **out, assay_error *err)
{
    assay_utf8 *t = assay_alloc_zeroed(1, sizeof *t);
    if (!t)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    int status = assay_unpacked_open(store, path, &t->bytes, err);
    ASSAY_THEN(status, begin(t, path, err));
    if (status != ASSAY_OK) {
        assay_utf8_close(t);
        return status;
    }
    *out = t;
    return ASSAY_OK;
}

/* Has `least` more bytes of UTF-16 in `raw`, if there are so many. */
static int fill(assay_utf8 *t, size_t least, assay_error *err)
{
    if (t->size - t->at >= least || t->failed)
        return ASSAY_OK;
    memmove(t->raw, t->raw + t->at, t->size - t->at);
    t->size -= t->at;
    t->at = 0;
    for (size_t got = 1; t->size < least && got > 0 && !t->failed; t->size += got) {
        const int status = assay_unpacked_read(t->bytes, t->raw + t->size, RAW - t->size, &got, &t->why);
        if (status == ASSAY_EFORMAT)
            t->failed = status;
        else if (status != ASSAY_OK)
            return assay_fail(err, status, "%s", t->why.text);
    }
    return ASSAY_OK;
}

static uint32_t unit_at(const assay_utf8 *t, size_t at)
{
    const uint8_t *p = t->raw + at;
    return t->order == LITTLE ? (uint32_t)(p[0] | p[1] << 8) : (uint32_t)(p[0] << 8 | p[1]);
}

static size_t put(uint32_t c, uint8_t *to)
{
    if (c == 0) { /* both of its bytes: a hole in the text stays as long as it is in the file */
        to[0] = to[1] = 0;
        return 2;
    }
    if (c < 0x80) {
        to[0] = (uint8_t)c;
        return 1;
    }
    const size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = more; i > 0; i--, c >>= 6)
        to[i] = (uint8_t)(0x80 | (c & 0x3f));
    to[0] = (uint8_t)(first[more] | c);
    return more + 1;
}

/* The next character of UTF-16; half a pair is U+FFFD. False: there is none. */
static bool next_character(assay_utf8 *t, uint32_t *c)
{
    const size_t left = t->size - t->at;
    if (left < 2)
        return false;
    *c = unit_at(t, t->at);
    t->at += 2;
    if (*c < 0xd800 || *c > 0xdfff)
        return true;
    const uint32_t low = *c < 0xdc00 && left >= 4 ? unit_at(t, t->at) : 0;
    if (low >= 0xdc00 && low <= 0xdfff) {
        *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
        t->at += 2;
    } else {
        *c = 0xfffd;
    }
    return true;
}

int assay_utf8_read(assay_utf8 *t, void *to, size_t room, size_t *got, assay_error *err)
{
    /* A character that does not fit `room` waits for the next call. */
    enum { LONGEST = 4 }; /* bytes of a character, in both */
    uint8_t *out = to;
    uint32_t c = 0;
    /* Opening read these bytes to look for a mark: they come first. */
    *got = 0;
    if (t->order == AS_IT_IS && t->head_at < t->head_size) {
        const size_t head = t->head_size - t->head_at < room ? t->head_size - t->head_at : room;
        memcpy(out, t->head + t->head_at, head);
        t->head_at += head;
        const int status = t->failed ? ASSAY_OK : assay_unpacked_read(t->bytes, out + head, room - head, got, err);
        *got += head;
        return status;
    }
    if (t->order == AS_IT_IS && !t->failed)
        return assay_unpacked_read(t->bytes, to, room, got, err);
    while (t->order != AS_IT_IS && room - *got >= LONGEST) {
        ASSAY_TRY(fill(t, LONGEST, err));
        if (!next_character(t, &c))
            break;
        *got += put(c, out + *got);
    }
    return *got == 0 && t->failed ? assay_fail(err, t->failed, "%s", t->why.text) : ASSAY_OK;
}

bool assay_utf8_seek(assay_utf8 *t, uint64_t offset)
{
    /* In UTF-16 an offset of the text is none of the file. */
    if (t->order != AS_IT_IS || !assay_unpacked_seek(t->bytes, offset))
        return false;
    t->head_at = t->head_size;
    return true;
}

const assay_unpacked *assay_utf8_bytes(const assay_utf8 *t)
{
    return t->bytes;
}
