/* png.h - pictures as PNG files (ISO/IEC 15948), which pages carry within themselves. */
#pragma once

#include <stdint.h>

#include <assay/pack.h>

/* Appends a PNG file of 8-bit pixels [height][width][channels], 1 (grey) or 3 channels (red, green, blue), at most 4096
 * pixels wide and high. Failures stay in the buffer. */
void assay_png_put(assay_buf *out, const uint8_t *pixel, uint32_t width, uint32_t height, uint32_t channels);
