/* frames.h - the records of a TFRecord file, one after the other, without an index. */
#pragma once

#include <string.h>

#include "base/crc32c.h"
#include "container/stream.h"
#include "tfrecord/frame.h"

enum { ASSAY_FRAMES_PAYLOAD_MOST = 256 << 20 };

typedef enum assay_frame_kind {
    ASSAY_FRAME_END,       /* of the file */
    ASSAY_FRAME_WHOLE,     /* a payload whose checksum is right */
    ASSAY_FRAME_DAMAGED,   /* the payload's checksum is wrong; the next record follows */
    ASSAY_FRAME_LOST,      /* the head is damaged, or the record too long: nothing behind it can be found */
    ASSAY_FRAME_UNFINISHED /* the file ends within the record */
} assay_frame_kind;

typedef struct assay_frames {
    assay_stream stream;
    uint64_t at;            /* of the record that was handed out last */
    uint64_t next;          /* of the one behind it */
    const uint8_t *payload; /* of a WHOLE record; valid until the next one */
    size_t size;
    uint32_t checked[256]; /* by length: the checksum of the head, where one was right; 0: not so far */
} assay_frames;

/* What is in memory of the next record and those behind it; NULL: nothing. assay_frames_pass() goes on behind so many
 * bytes of it, which are a record that the caller knows to be sound. */
static inline const uint8_t *assay_frames_ahead(const assay_frames *f, size_t *have)
{
    const uint64_t skip = f->next - f->stream.at;
    *have = skip < f->stream.have ? f->stream.have - (size_t)skip : 0;
    return *have ? f->stream.bytes + skip : NULL;
}
static inline void assay_frames_pass(assay_frames *f, size_t size)
{
    f->at = f->next;
    f->next += size;
}

/* Is that the checksum behind a payload whose own one is `crc`? */
static inline bool assay_frames_sound(const uint8_t *foot, uint32_t crc)
{
    uint32_t said;
    memcpy(&said, foot, sizeof said);
    return said == assay_crc32c_mask(crc) || said == ASSAY_FRAME_CONSTANT;
}

/* The next record's kind in *kind. END, LOST and UNFINISHED are the last one. ASSAY_EIO, ASSAY_ENOMEM. */
int assay_frames_next(assay_frames *frames, assay_frame_kind *kind, assay_error *err);
