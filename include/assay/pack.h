/* pack.h - a growable byte buffer with a ceiling, and a bounded reader over bytes.
 *
 * Rules pack their states with them, and ranks exchange the packed states. All numbers are little-endian. A buffer that
 * cannot grow (no memory, or its ceiling reached) remembers that: further writes do nothing, so a pack function can
 * write everything and check assay_buf_status() once. A cursor that ran past its end works the same way. */
#ifndef ASSAY_PACK_H
#define ASSAY_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_buf {
    uint8_t *data;  /* owned; NULL while empty */
    size_t size;    /* bytes in use */
    size_t room;    /* bytes allocated */
    size_t ceiling; /* size never exceeds this */
    int status;     /* ASSAY_OK, or the first failure */
} assay_buf;

/* Makes an empty buffer that never grows past `ceiling` bytes. Release it with assay_buf_release(). */
void assay_buf_init(assay_buf *buf, size_t ceiling);
/* The same as an expression: `assay_buf text = ASSAY_BUF(SIZE_MAX);` */
#define ASSAY_BUF(most) ((assay_buf){.ceiling = (most)})
/* Frees the bytes; the buffer must be initialised again before use. */
void assay_buf_release(assay_buf *buf);
/* Forgets contents and failure, keeps the allocation. */
void assay_buf_clear(assay_buf *buf);
/* ASSAY_OK, ASSAY_ENOMEM or ASSAY_EBUDGET (the ceiling). */
int assay_buf_status(const assay_buf *buf);

/* Makes room for `size` more bytes behind those in use: they may be written at data + size and counted by adding to
 * size. Returns the buffer's status. */
int assay_buf_reserve(assay_buf *buf, size_t size);

/* Appends. Failures are remembered in the buffer. */
void assay_put_bytes(assay_buf *buf, const void *bytes, size_t size);
void assay_put_u8(assay_buf *buf, uint8_t value);
void assay_put_u32(assay_buf *buf, uint32_t value);
void assay_put_u64(assay_buf *buf, uint64_t value);
void assay_put_i64(assay_buf *buf, int64_t value);
void assay_put_f64(assay_buf *buf, double value);      /* the bits, NaN payloads included */
void assay_put_text(assay_buf *buf, const char *text); /* u32 length, then the bytes; NULL is written as "" */
/* Overwrites 8 bytes that were written before, at `at`: a length that is known only behind what it counts. */
void assay_buf_set_u64(assay_buf *buf, size_t at, uint64_t value);
/* Appends text in printf form without a terminator. */
void assay_put_format(assay_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The end of a noun that is counted, for "%zu step%s". */
static inline const char *assay_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* JSON text. Strings are quoted and escaped; bytes that are not UTF-8 become U+FFFD each. Numbers take the fewest of
 * 15, 16 or 17 digits that read back the same; non-finite ones are the strings "nan", "inf", "-inf". */
void assay_json_put_text(assay_buf *out, const char *text);
void assay_json_put_text_n(assay_buf *out, const char *text, size_t length);
void assay_json_put_number(assay_buf *out, double value);
/* Appends a text as one word of a POSIX shell: as it is where that is safe, else in quotes. Bytes that a report would
 * not show as they are stand as octal numbers that the shell's printf turns back; line feeds at the end get lost so.
 * Whoever puts together a command for people to paste uses this for every word that is not its own. */
void assay_put_shell_word(assay_buf *buf, const char *text);

typedef struct assay_cursor {
    const uint8_t *data; /* borrowed */
    size_t size, at;
    bool failed; /* a read went past the end */
} assay_cursor;

/* A reader over borrowed bytes. */
assay_cursor assay_cursor_over(const void *data, size_t size);
/* True when a read went past the end or bytes are left over: what an unpack function checks last. */
bool assay_cursor_bad(const assay_cursor *in);
/* Bytes not read so far. */
size_t assay_cursor_left(const assay_cursor *in);

/* Reads; past the end they return 0 (NULL, "") and mark the cursor as failed. */
const uint8_t *assay_get_bytes(assay_cursor *in, size_t size); /* points into the data */
uint8_t assay_get_u8(assay_cursor *in);
uint32_t assay_get_u32(assay_cursor *in);
uint64_t assay_get_u64(assay_cursor *in);
int64_t assay_get_i64(assay_cursor *in);
double assay_get_f64(assay_cursor *in);
/* Points into the data and is NOT terminated; *length gets its bytes. */
const char *assay_get_text(assay_cursor *in, size_t *length);
/* A count of items of at least `item_size` packed bytes each; fails where fewer bytes are left than that many need. */
uint64_t assay_get_count(assay_cursor *in, size_t item_size);

#ifdef __cplusplus
}
#endif
#endif
