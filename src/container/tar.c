/* tar.c - see tar.h. */
#include "container/tar.h"

#include <stdio.h>
#include <string.h>

bool assay_is_tar(const uint8_t *head, size_t size)
{
    return size >= ASSAY_TAR_BLOCK && memcmp(head + 257, "ustar", 5) == 0;
}

static uint64_t octal(const uint8_t *digits, size_t size)
{
    uint64_t value = 0;
    size_t i = 0;
    while (i < size && digits[i] == ' ')
        i++;
    for (; i < size && digits[i] >= '0' && digits[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(digits[i] - '0');
    return value;
}

int assay_tar_next(assay_tar_read *read, void *context, uint64_t size, uint64_t *at, assay_tar_entry *out,
                   assay_error *err)
{
    uint8_t head[ASSAY_TAR_BLOCK];
    if (*at > size || size - *at < sizeof head)
        return 0;
    const int status = read(context, *at, head, sizeof head, err);
    const uint64_t room = size - *at - sizeof head;
    if (status != ASSAY_OK || head[0] == 0)
        return status;
    *out = (assay_tar_entry){.offset = *at + sizeof head, .size = octal(head + 124, 12)};
    snprintf(out->name, sizeof out->name, "%.100s", (const char *)head);
    out->file = head[156] == '0' || head[156] == 0;
    if (out->size > room)
        return 0;
    const uint64_t padded = (out->size + sizeof head - 1) / sizeof head * sizeof head;
    *at = padded > room ? size : out->offset + padded;
    return 1;
}
