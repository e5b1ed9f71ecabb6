/* frame.c - checks the TFRecord frame. */
#include "tfrecord/frame.h"

#include "base/crc32c.h"

/* Bytes come from files of any machine: no load of a wider type, which would depend on the machine's order of bytes. */
static uint64_t load_le(const uint8_t *bytes, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* Called with the record's length as the index tells it: a frame that is sound in itself but has another length is
 * not the record that the index means. */
int assay_frame_check_head(const uint8_t *head, uint64_t record_length, const char *path, uint64_t offset,
                           assay_error *err)
{
    uint64_t payload = load_le(head, 8);
    uint32_t said = (uint32_t)load_le(head + 8, 4), is = assay_crc32c_mask(assay_crc32c(0, head, 8));
    if (said != is)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: offset %llu: the checksum of the record's length is wrong: either the record is damaged "
                          "or none begins here",
                          path, (unsigned long long)offset);
    if (payload != record_length - ASSAY_FRAME_BYTES)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: offset %llu: the record says that its payload has %llu bytes, the index says %llu", path,
                          (unsigned long long)offset, (unsigned long long)payload,
                          (unsigned long long)(record_length - ASSAY_FRAME_BYTES));
    return ASSAY_OK;
}

uint32_t assay_frame_foot(const uint8_t *foot)
{
    return (uint32_t)load_le(foot, ASSAY_FRAME_FOOT);
}

int assay_frame_check_foot(uint32_t foot, uint32_t crc, const char *path, uint64_t offset, assay_error *err)
{
    uint32_t is = assay_crc32c_mask(crc);
    if (foot == is)
        return ASSAY_OK;
    return assay_fail(
        err, ASSAY_EFORMAT,
        "%s: offset %llu: the payload's checksum is wrong, and not the constant that the reference hook writes: the "
        "record is damaged",
        path, (unsigned long long)offset);
}
