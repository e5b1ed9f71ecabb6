/* png.c - see png.h: the signature and three chunks, with zlib's deflate and CRC. */
#include "report/html/png.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <assay/status.h>

#include "base/fault.h"

static void put_big_endian(assay_buf *out, uint32_t value)
{
    const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};
    assay_put_bytes(out, bytes, sizeof bytes);
}

static void put_chunk(assay_buf *out, const char *type, const uint8_t *data, uint32_t size)
{
    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)type, 4);
    put_big_endian(out, size);
    assay_put_bytes(out, type, 4);
    assay_put_bytes(out, data, size);
    put_big_endian(out, (uint32_t)(size ? crc32(crc, data, size) : crc));
}

/* Makes the rows, each behind the number of its filter: 0, none. */
static uint8_t *rows_of(const uint8_t *pixel, uint32_t height, size_t row)
{
    uint8_t *rows = assay_alloc_zeroed(height, row + 1);
    for (uint32_t y = 0; rows && y < height; y++)
        memcpy(rows + y * (row + 1) + 1, pixel + y * row, row);
    return rows;
}

/* Width and height fit 16 bits, as aggregations keep small pictures. 8 bits a channel; colour type 2: RGB, 0: grey. */
void assay_png_put(assay_buf *out, const uint8_t *pixel, uint32_t width, uint32_t height, uint32_t channels)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    const uint8_t header[13] = {0,
                                0,
                                (uint8_t)(width >> 8),
                                (uint8_t)width,
                                0,
                                0,
                                (uint8_t)(height >> 8),
                                (uint8_t)height,
                                8,
                                channels == 3 ? 2 : 0};
    size_t row = (size_t)width * channels;
    uLong size = (uLong)((row + 1) * height);
    uLongf packed_size = compressBound(size);
    uint8_t *rows = rows_of(pixel, height, row), *packed = assay_alloc_zeroed(packed_size, 1);
    if (rows && packed && compress2(packed, &packed_size, rows, size, Z_BEST_COMPRESSION) == Z_OK) {
        assay_put_bytes(out, signature, sizeof signature);
        put_chunk(out, "IHDR", header, sizeof header);
        put_chunk(out, "IDAT", packed, (uint32_t)packed_size);
        put_chunk(out, "IEND", NULL, 0);
    } else if (out->status == ASSAY_OK) {
        out->status = ASSAY_ENOMEM;
    }
    free(rows);
    free(packed);
}
