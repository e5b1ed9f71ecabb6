/* frames.c - see frames.h. */
#include "container/frames.h"

#include "base/crc32c.h"
#include "tfrecord/frame.h"

static uint64_t number(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

int assay_frames_next(assay_frames *f, assay_frame_kind *kind, assay_error *err)
{
    const uint8_t *bytes = NULL;
    size_t have = 0;
    f->at = f->next;
    ASSAY_TRY(assay_stream_look(&f->stream, f->at, ASSAY_FRAME_HEAD, &bytes, &have, err));
    *kind = have == 0 ? ASSAY_FRAME_END : ASSAY_FRAME_UNFINISHED;
    if (have < ASSAY_FRAME_HEAD)
        return ASSAY_OK;
    const uint64_t length = number(bytes, 8);
    *kind = ASSAY_FRAME_LOST;
    if (length > ASSAY_FRAMES_PAYLOAD_MOST || /* the order matters: the sum below must not wrap */
        assay_frame_check_head(bytes, length + ASSAY_FRAME_BYTES, "", f->at, NULL) != ASSAY_OK)
        return ASSAY_OK;
    const size_t whole = (size_t)length + ASSAY_FRAME_BYTES;
    ASSAY_TRY(assay_stream_look(&f->stream, f->at, whole, &bytes, &have, err));
    *kind = ASSAY_FRAME_UNFINISHED;
    if (have < whole)
        return ASSAY_OK;
    f->next = f->at + whole;
    f->payload = bytes + ASSAY_FRAME_HEAD;
    f->size = (size_t)length;
    const uint32_t foot = assay_frame_foot(f->payload + f->size);
    const bool sound = foot == ASSAY_FRAME_CONSTANT || foot == assay_crc32c_mask(assay_crc32c(0, f->payload, f->size));
    *kind = sound ? ASSAY_FRAME_WHOLE : ASSAY_FRAME_DAMAGED;
    return ASSAY_OK;
}
