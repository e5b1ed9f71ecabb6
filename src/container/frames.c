/* frames.c - see frames.h. */
#include "container/frames.h"

/* Is that the checksum of the length before it? Most records are short, and many as long as another: a length that was
 * right once is compared, not computed again. 0 stands for "not yet", so a sum that is 0 is computed each time. */
static bool has_sound_head(assay_frames *f, const uint8_t *head, uint64_t length)
{
    enum { FEW = sizeof f->checked / sizeof *f->checked };
    uint32_t said;
    memcpy(&said, head + sizeof length, sizeof said);
    if (length < FEW && f->checked[length] == said && said != 0)
        return true;
    if (said != assay_crc32c_mask(assay_crc32c(0, head, sizeof length)))
        return false;
    if (length < FEW)
        f->checked[length] = said;
    return true;
}

int assay_frames_next(assay_frames *f, assay_frame_kind *kind, assay_error *err)
{
    const uint8_t *bytes = NULL;
    size_t have = 0;
    uint64_t length; /* little-endian, as all machines are that this is built for */
    f->at = f->next;
    ASSAY_TRY(assay_stream_look(&f->stream, f->at, ASSAY_FRAME_HEAD, &bytes, &have, err));
    *kind = have == 0 ? ASSAY_FRAME_END : ASSAY_FRAME_UNFINISHED;
    if (have < ASSAY_FRAME_HEAD)
        return ASSAY_OK;
    memcpy(&length, bytes, sizeof length);
    *kind = ASSAY_FRAME_LOST;
    /* Without a sound length nobody knows where the next record begins: unlike a damaged payload, that ends the
     * file. */
    if (length > ASSAY_FRAMES_PAYLOAD_MOST || !has_sound_head(f, bytes, length))
        return ASSAY_OK;
    const size_t whole = (size_t)length + ASSAY_FRAME_BYTES;
    if (have < whole)
        ASSAY_TRY(assay_stream_look(&f->stream, f->at, whole, &bytes, &have, err));
    *kind = ASSAY_FRAME_UNFINISHED;
    if (have < whole)
        return ASSAY_OK;
    f->next = f->at + whole;
    f->payload = bytes + ASSAY_FRAME_HEAD;
    f->size = (size_t)length;
    const bool sound = assay_frames_sound(f->payload + f->size, assay_crc32c(0, f->payload, f->size));
    *kind = sound ? ASSAY_FRAME_WHOLE : ASSAY_FRAME_DAMAGED;
    return ASSAY_OK;
}
