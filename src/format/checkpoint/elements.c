/* elements.c - see elements.h. */
#include "format/checkpoint/elements.h"

#include <string.h>

static bool is_complex(int dtype)
{
    return dtype == ASSAY_COMPLEX64 || dtype == ASSAY_COMPLEX128;
}

/* Turns the sign of every `step`-th number of `width` bytes around, from `first` on: of floats by their upper bit. */
static void turn_signs(uint8_t *bytes, size_t size, size_t width, size_t first, size_t step)
{
    for (size_t at = first * width; at < size; at += step * width)
        bytes[at + width - 1] ^= 0x80;
}

/* Two's complement. */
static void negate_integers(uint8_t *bytes, size_t size, size_t width)
{
    for (size_t at = 0; at < size; at += width) {
        unsigned carry = 1;
        for (size_t i = 0; i < width; i++) {
            const unsigned sum = (uint8_t)~bytes[at + i] + carry;
            bytes[at + i] = (uint8_t)sum;
            carry = sum >> 8;
        }
    }
}

void assay_elements_settle(uint8_t *bytes, size_t size, int dtype, unsigned flags)
{
    const size_t width = assay_dtype_size(dtype) / (is_complex(dtype) ? 2 : 1);
    if (flags & ASSAY_CKPT_SWAPPED)
        assay_swap_numbers(bytes, size, width);
    if (flags & ASSAY_CKPT_CONJUGATED && is_complex(dtype))
        turn_signs(bytes, size, width, 1, 2);
    if (flags & ASSAY_CKPT_NEGATED && assay_dtype_is_float(dtype))
        turn_signs(bytes, size, width, 0, 1);
    else if (flags & ASSAY_CKPT_NEGATED)
        negate_integers(bytes, size, width);
}

bool assay_elements_gather(const assay_ckpt_place *place, const uint8_t *bytes, uint64_t size, uint8_t *to)
{
    const size_t element = assay_dtype_size(place->dtype);
    const uint64_t have = size / element;
    int64_t at[ASSAY_MAX_DIMS] = {0};
    uint64_t from = place->first, count = 1;
    for (int i = 0; i < place->dims; i++)
        count *= (uint64_t)place->shape[i];
    for (uint64_t n = 0; n < count; n++) {
        if (from >= have)
            return false;
        memcpy(to + n * element, bytes + from * element, element);
        for (int i = place->dims - 1; i >= 0; i--) {
            from += (uint64_t)place->stride[i];
            if (++at[i] < place->shape[i])
                break;
            from -= (uint64_t)(place->stride[i] * place->shape[i]);
            at[i] = 0;
        }
    }
    return true;
}

void assay_elements_unpack(const uint8_t *bytes, unsigned first, unsigned bits, size_t count, uint8_t *to)
{
    const unsigned mask = (1U << bits) - 1;
    for (size_t i = 0; i < count; i++) {
        const size_t at = first + i * bits;
        unsigned both = bytes[at / 8];
        if (at % 8 + bits > 8)
            both |= (unsigned)bytes[at / 8 + 1] << 8;
        to[i] = (uint8_t)(both >> at % 8 & mask);
    }
}

/* Is the place inside the box? */
static bool is_inside(const assay_ckpt_piece *piece, const int64_t *at, int dims)
{
    for (int i = 0; i < dims; i++)
        if (at[i] < piece->first[i] || at[i] - piece->first[i] >= piece->size[i])
            return false;
    return true;
}

/* Elements from `at` on that lie behind one another both in the tensor and in the piece; *place is the first one's
 * among the piece's. */
static uint64_t measure_run(const assay_ckpt_place *tensor, const assay_ckpt_piece *piece, const int64_t *at,
                            uint64_t *place)
{
    uint64_t run = 1, index = 0;
    bool whole = true; /* the dimensions behind this one are the tensor's */
    for (int i = 0; i < tensor->dims; i++)
        index = index * (uint64_t)piece->size[i] + (uint64_t)(at[i] - piece->first[i]);
    *place = index;
    uint64_t behind = 1; /* elements of the piece in the dimensions behind this one */
    for (int i = tensor->dims - 1; i >= 0 && whole; i--) {
        uint64_t inner = 0, scale = 1;
        for (int k = tensor->dims - 1; k > i; k--) {
            inner += (uint64_t)(at[k] - piece->first[k]) * scale;
            scale *= (uint64_t)piece->size[k];
        }
        run = (uint64_t)(piece->size[i] - (at[i] - piece->first[i])) * behind - inner;
        behind *= (uint64_t)piece->size[i];
        whole = piece->size[i] == tensor->shape[i];
    }
    return run;
}

int assay_pieces_read(const assay_ckpt_place *place, const assay_ckpt_piece *piece, const assay_index_row *row,
                      uint64_t from, uint8_t *to, size_t size, assay_error *err)
{
    const size_t element = assay_dtype_size(place->dtype);
    uint64_t number = from / element, left = size / element;
    uint32_t box = 0;
    while (left > 0) {
        int64_t at[ASSAY_MAX_DIMS];
        uint64_t rest = number, inner = 0;
        for (int i = place->dims - 1; i >= 0; i--) {
            at[i] = (int64_t)(rest % (uint64_t)place->shape[i]);
            rest /= (uint64_t)place->shape[i];
        }
        for (uint32_t tried = 0; tried < place->pieces && !is_inside(&piece[box], at, place->dims); tried++)
            box = box + 1 < place->pieces ? box + 1 : 0;
        if (!is_inside(&piece[box], at, place->dims))
            return assay_fail(err, ASSAY_EFORMAT, "element %llu of a tensor lies in none of its pieces",
                              (unsigned long long)number);
        uint64_t run = measure_run(place, &piece[box], at, &inner);
        run = run < left ? run : left;
        int status = row->read(row->context, piece[box].file, piece[box].offset + inner * element, to,
                               (size_t)run * element, err);
        if (status != ASSAY_OK)
            return status;
        to += run * element;
        number += run;
        left -= run;
    }
    return ASSAY_OK;
}
