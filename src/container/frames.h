/* frames.h - the records of a TFRecord file, one after the other, without an index. */
#pragma once

#include "container/stream.h"

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

/* The next record's kind in *kind. END, LOST and UNFINISHED are the last one. ASSAY_EIO, ASSAY_ENOMEM. */
int assay_frames_next(assay_frames *frames, assay_frame_kind *kind, assay_error *err);
