/* base64.h - bytes as text (RFC 4648, section 4). */
#ifndef ASSAY_BASE_BASE64_H
#define ASSAY_BASE_BASE64_H

#include <assay/pack.h>

/* Appends the bytes in base64, padded, without line ends. */
void assay_base64_put(assay_buf *out, const void *bytes, size_t size);

#endif
