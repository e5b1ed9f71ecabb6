/* safetensors.h - the header of a safetensors file: which tensors it holds, and where. Inside this folder only.
 *
 * A file is a length (8 bytes, little-endian), so many bytes of JSON, and the data:
 *   {"__metadata__": {"text": "text"}, "NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...} */
#pragma once

#include "base/dict.h"

enum {
    ASSAY_SAFETENSORS_PREFIX = 8,             /* bytes of the length */
    ASSAY_SAFETENSORS_HEADER_MOST = 100000000 /* bytes of JSON; readers refuse more */
};

typedef struct assay_safetensors_tensor {
    uint64_t begin, end; /* in the data, which begins behind the header */
    uint64_t elements;
    int dtype;     /* assay_dtype; -1: one that is not read */
    char said[16]; /* the dtype as the file says it, cut to fit */
    uint32_t dims;
    uint32_t first_dim; /* into `dim` */
    uint32_t at;        /* where its entry begins in the header */
} assay_safetensors_tensor;

typedef struct assay_safetensors {
    assay_dict *names;                /* a tensor's number is its name's */
    assay_safetensors_tensor *tensor; /* [dict count] */
    size_t room;
    int64_t *dim; /* of all shapes */
    size_t dims, dim_room;
    char *sharding; /* the text of DCP_SHARDING_INFO in __metadata__, or NULL */
    size_t sharding_size;
    uint64_t data_end; /* bytes of data that the header promises */
} assay_safetensors;

/* Reads the JSON of a header. ASSAY_EFORMAT: the message says what is wrong and *at where in the text; nothing of the
 * file can be used. ASSAY_ENOMEM. Release `out`, which is empty after a failure, with assay_safetensors_release(). */
int assay_safetensors_read(const char *text, size_t size, assay_safetensors *out, uint64_t *at, assay_error *err);
void assay_safetensors_release(assay_safetensors *s);
