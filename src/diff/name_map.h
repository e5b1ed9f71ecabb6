/* name_map.h - which tensor of one trial stands for which of another: --map 'REGEX=REPLACEMENT'.
 *
 * A name in which REGEX is found becomes the other one with every match replaced; \1 or $1 in REPLACEMENT stands for a
 * group. Behind it may stand which part of the other tensor is meant:
 *   NAME[a:b]      indices a to b (not included) of axis 0; either may be left out
 *   NAME[:, a:b]   of axis 1, and so on for every axis
 *   NAME[k/n]      block k, from 0, of n equal ones
 *   NAME^T         with its axes in reverse order, behind the brackets if there are some */
#pragma once

#include <stdbool.h>

#include <assay/pack.h>
#include <assay/tensor.h>

#include "base/regex.h"

typedef struct assay_name_range { /* of one axis */
    int64_t from, to;             /* to -1: up to its end */
    int64_t block, blocks;        /* blocks 0: none */
} assay_name_range;

typedef struct assay_name_map {
    assay_regex *regex;
    char *replacement; /* owned */
    assay_name_range range[ASSAY_MAX_DIMS];
    int ranges;
    bool transposed;
} assay_name_map;

/* Parses one. ASSAY_EUSAGE with what is wrong; ASSAY_ENOMEM. Release with assay_name_map_release() either way. */
int assay_name_map_parse(const char *text, assay_name_map *out, assay_error *err);
void assay_name_map_release(assay_name_map *map);
/* Appends the other name. 1; 0: the name does not match; ASSAY_ENOMEM. */
int assay_name_map_apply(const assay_name_map *map, const char *name, size_t length, assay_buf *out);

/* The part of a tensor of that shape which is meant: first[axis] and size[axis]. False: it is not in the tensor. */
bool assay_name_map_part(const assay_name_map *map, const int64_t *shape, int dims, int64_t *first, int64_t *size);
