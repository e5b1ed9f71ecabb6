/* base64.h - bytes as text (RFC 4648, section 4). */
#pragma once

#include <assay/pack.h>

/* Appends the bytes in base64, padded, without line ends. */
void assay_base64_put(assay_buf *out, const void *bytes, size_t size);
