/* elements.h - brings the elements of a tensor into C order and the machine's form. Inside this folder only. */
#ifndef ASSAY_FORMAT_CHECKPOINT_ELEMENTS_H
#define ASSAY_FORMAT_CHECKPOINT_ELEMENTS_H

#include "format/checkpoint/contents.h"

/* Swaps, conjugates and negates whole elements in place, as the flags ask for. */
void assay_elements_settle(uint8_t *bytes, size_t size, int dtype, unsigned flags);
/* Gathers a strided tensor out of `size` bytes. False when it leads out of them. */
bool assay_elements_gather(const assay_ckpt_place *place, const uint8_t *bytes, uint64_t size, uint8_t *to);
/* Makes a byte each of `count` elements of `bits` bits, the first of which begins at bit `first` of `bytes`: the lower
 * bits of a byte come first. */
void assay_elements_unpack(const uint8_t *bytes, unsigned first, unsigned bits, size_t count, uint8_t *to);
/* Bytes [from, from + size) of a tensor in pieces, whole elements. */
int assay_pieces_read(const assay_ckpt_place *place, const assay_ckpt_piece *piece, const assay_index_row *row,
                      uint64_t from, uint8_t *to, size_t size, assay_error *err);

#endif
