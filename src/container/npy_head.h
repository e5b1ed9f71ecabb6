/* npy_head.h - the header of a NumPy file: the text that tells dtype, order and shape. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/tensor.h>

enum { ASSAY_VOID_MOST = 16 /* bytes of a void element */ };

typedef struct assay_npy_head { /* what a file's header says */
    int dtype;                  /* assay_dtype */
    bool swapped;               /* the most significant byte comes first */
    bool fortran;               /* the first dimension varies fastest */
    int dims;
    int64_t shape[ASSAY_MAX_DIMS];
} assay_npy_head;

enum { ASSAY_NPY_LEAST = 10 /* magic, version, and the length of a header of version 1 */, ASSAY_NPY_HEADER = 1 << 20 };

/* Reads the text of a header, of so many bytes; `void_dtypes` (NULL: unknown) has the dtype of void
 * elements by their bytes, [ASSAY_VOID_MOST + 1], -1 where there is none. What is wrong
 * goes to `what`, a sentence without its subject, and *at tells the offset in the text. ASSAY_EFORMAT, or
 * ASSAY_EUNSUPPORTED for a dtype that is known and not read. */
int assay_npy_head_read(const char *text, size_t size, const int *void_dtypes, assay_npy_head *out, size_t *at,
                        assay_error *what);

/* How many elements, and bytes of them, the header asks for. False: more than a file can hold. */
bool assay_npy_head_sizes(const assay_npy_head *head, uint64_t *elements, uint64_t *bytes);

/* Is it the header of an array of Python's objects? Of one that was refused. */
bool assay_npy_is_objects(const char *text, size_t size);
