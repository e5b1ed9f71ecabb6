/* decode.c - the elements of a tensor, as its note says that they lie.
 *
 * In C order they are handed out from the file as they are. Deflated, swapped or negated ones and those in pieces are
 * made on their way; strided ones are gathered in memory as a whole. A CRC-32 is computed by the way. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "container/inflate.h"
#include "format/checkpoint/checkpoint.h"
#include "format/checkpoint/contents.h"
#include "format/npy_record/decode.h"

/* ---- elements ---- */

/* Brings the elements of a tensor into C order and the machine's form. Inside this folder only. */

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

/* Swaps, conjugates and negates whole elements in place, as the flags ask for. */
static void assay_elements_settle(uint8_t *bytes, size_t size, int dtype, unsigned flags)
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

/* Gathers a strided tensor out of `size` bytes. False when it leads out of them. */
static bool assay_elements_gather(const assay_ckpt_place *place, const uint8_t *bytes, uint64_t size, uint8_t *to)
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

/* Makes a byte each of `count` elements of `bits` bits, the first of which begins at bit `first` of `bytes`: the lower
 * bits of a byte come first. */
static void assay_elements_unpack(const uint8_t *bytes, unsigned first, unsigned bits, size_t count, uint8_t *to)
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

/* Bytes [from, from + size) of a tensor in pieces, whole elements. */
static int assay_pieces_read(const assay_ckpt_place *place, const assay_ckpt_piece *piece, const assay_index_row *row,
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
        ASSAY_TRY(row->read(row->context, piece[box].file, piece[box].offset + inner * element, to,
                            (size_t)run * element, err));
        to += run * element;
        number += run;
        left -= run;
    }
    return ASSAY_OK;
}

/* ---- decode ---- */

/* Between decode and the last pull. */
typedef struct pulling {
    assay_ckpt_place place;
    assay_inflater *inflater; /* DEFLATED */
    assay_ckpt_piece *piece;  /* PIECES, RUNS */
    uint64_t offset, done;    /* of the range in the file; bytes handed out */
    uint64_t size;            /* of all */
    uint64_t summed;          /* bytes of the range that are in `crc` */
    uint32_t crc;
} pulling;

static void end_pulling(void *state)
{
    pulling *p = state;
    assay_inflater_free(p->inflater);
    free(p->piece);
    free(p);
}

static int no_memory(const assay_view *view, assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for a tensor", view->path);
}

static int wrong(const assay_view *view, uint64_t offset, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: %s", view->path, (unsigned long long)offset, what);
}

static int check_crc(uint32_t said, uint32_t sum, const char *path, uint64_t offset, assay_error *err)
{
    return said == sum ? ASSAY_OK
                       : assay_fail(err, ASSAY_EFORMAT,
                                    "%s: offset %llu: the CRC-32 is %08x, but the zip file's directory says %08x: the "
                                    "bytes were changed after they were written",
                                    path, (unsigned long long)offset, sum, said);
}

static int read_view(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    return assay_view_copy(context, at, at + size, bytes, err);
}

/* For assay_inflater_next(). */
static assay_packed_source source_of(assay_view *view)
{
    return (assay_packed_source){read_view, view, view->path};
}

/* False: more elements, or bytes, than 64 bits count. */
static bool set_shape(assay_record *r, const assay_ckpt_place *place)
{
    uint64_t count = 1;
    bool over = false;
    for (int i = 0; i < place->dims; i++)
        over = over || __builtin_mul_overflow(count, (uint64_t)place->shape[i], &count);
    r->dtype = place->dtype;
    r->dims = place->dims;
    memcpy(r->shape, place->shape, (size_t)place->dims * sizeof *r->shape);
    r->elements = count;
    return !over && !__builtin_mul_overflow(count, assay_dtype_size(place->dtype), &r->content_bytes);
}

/* ---- made on their way ---- */

/* Elements of less than a byte: some of the range at a time. */
static int pull_packed(pulling *p, assay_view *view, uint64_t from, uint8_t *to, size_t size, assay_error *err)
{
    enum { ROOM = 4096 };
    uint8_t bytes[ROOM];
    const unsigned bits = (unsigned)assay_dtype_bits(p->place.dtype);
    const size_t most = ROOM / bits * 8 - 8;
    for (size_t done = 0; done < size;) {
        const size_t count = size - done < most ? size - done : most;
        const uint64_t bit = (from + done) * bits, first = bit / 8, end = (bit + count * bits + 7) / 8;
        ASSAY_TRY(assay_view_copy(view, p->offset + first, p->offset + end, bytes, err));
        assay_elements_unpack(bytes, (unsigned)(bit % 8), bits, count, to + done);
        if (p->place.flags & ASSAY_CKPT_CHECKED && end > p->summed) {
            p->crc = assay_crc32(p->crc, bytes + (p->summed - first), (size_t)(end - p->summed));
            p->summed = end;
        }
        done += count;
    }
    return ASSAY_OK;
}

static int pull(assay_decoded *d, assay_view *view, uint64_t from, uint8_t *to, size_t size, assay_error *err)
{
    pulling *p = d->state;
    const assay_packed_source source = source_of(view);
    int status;
    if (p->piece)
        status = assay_pieces_read(&p->place, p->piece, &d->row, from, to, size, err);
    else if (p->place.flags & ASSAY_CKPT_PACKED)
        status = pull_packed(p, view, from, to, size, err);
    else if (p->inflater)
        status = assay_inflater_next(p->inflater, &source, to, size, err);
    else
        status = assay_view_copy(view, p->offset + from, p->offset + from + size, to, err);
    if (status != ASSAY_OK)
        return status;
    if (p->place.flags & ASSAY_CKPT_CHECKED && !(p->place.flags & ASSAY_CKPT_PACKED))
        p->crc = assay_crc32(p->crc, to, size);
    assay_elements_settle(to, size, p->place.dtype, p->place.flags);
    p->done = from + size;
    if (p->done < p->size)
        return ASSAY_OK;
    if (p->inflater)
        status = assay_inflater_end(p->inflater, &source, err);
    if (status == ASSAY_OK && p->place.flags & ASSAY_CKPT_CHECKED)
        status = check_crc(p->place.crc, p->crc, view->path, p->offset, err);
    return status;
}

static assay_inflater *inflate_range(const assay_ckpt_place *place, const assay_record *r)
{
    return assay_inflater_new(assay_ckpt_method(place), r->offset, r->offset + r->length);
}

static int begin_pulling(assay_decoded *d, assay_view *view, const assay_ckpt_place *place, assay_cursor *note,
                         assay_record *r, assay_error *err)
{
    pulling *p = assay_alloc_zeroed(1, sizeof *p);
    if (!p)
        return no_memory(view, err);
    d->state = p;
    d->state_free = end_pulling;
    d->pull = pull;
    p->place = *place;
    p->offset = r->offset;
    p->size = r->content_bytes;
    r->form = ASSAY_CONTENT_PULLED;
    if (place->form == ASSAY_CKPT_NPY) /* its inflater is behind the header already */
        return ASSAY_OK;
    if (place->flags & ASSAY_CKPT_DEFLATED && !(p->inflater = inflate_range(place, r)))
        return no_memory(view, err);
    if (place->form != ASSAY_CKPT_PIECES && place->form != ASSAY_CKPT_RUNS)
        return ASSAY_OK;
    p->piece = assay_alloc_zeroed(place->pieces, sizeof *p->piece);
    if (!p->piece)
        return no_memory(view, err);
    for (uint32_t i = 0; i < place->pieces; i++)
        if (!assay_ckpt_note_piece(note, place, &p->piece[i]))
            return wrong(view, r->offset, "the note of a tensor is damaged", err);
    if (place->form == ASSAY_CKPT_RUNS) { /* they are boxes of the flattened tensor */
        p->place.dims = 1;
        p->place.shape[0] = (int64_t)r->elements;
    }
    return ASSAY_OK;
}

/* ---- in memory ---- */

/* The bytes of the record's range, inflated, in *out that the caller frees. */
static int load_range(assay_view *view, const assay_ckpt_place *place, const assay_record *r, uint8_t **out,
                      uint64_t *size, assay_error *err)
{
    *size = place->flags & ASSAY_CKPT_DEFLATED ? place->inflated : r->length;
    const assay_packed_source source = source_of(view);
    const assay_packed_range range = {r->offset, r->length, *size, assay_ckpt_method(place)};
    return assay_inflate_whole(&source, &range, out, err);
}

static int refuse_budget(const assay_view *view, const assay_ckpt_place *place, uint64_t bytes, size_t budget,
                         assay_error *err)
{
    const bool deflated = place->flags & ASSAY_CKPT_DEFLATED;
    return assay_fail(
        err, ASSAY_EBUDGET,
        "%s: a tensor %s takes %llu bytes in memory, which has room for %zu: raise --memory, or save it %s", view->path,
        deflated ? "is compressed, and" : "does not lie in C order, and putting it in order", (unsigned long long)bytes,
        budget, deflated ? "without compression" : "contiguous");
}

/* Torch's strides count bytes of two float4: these are gathered, then taken apart, both in the room for the elements.
 */
static bool gather(const assay_ckpt_place *place, const uint8_t *bytes, uint64_t size, uint8_t *to, uint64_t elements)
{
    if (!(place->flags & ASSAY_CKPT_PACKED))
        return assay_elements_gather(place, bytes, size, to);
    assay_ckpt_place pairs = *place;
    const size_t half = (size_t)elements / 2;
    pairs.dtype = ASSAY_UINT8;
    pairs.shape[pairs.dims - 1] /= 2;
    if (!assay_elements_gather(&pairs, bytes, size, to + half))
        return false;
    for (size_t i = 0; i < half; i++) {
        const uint8_t two = to[half + i];
        to[2 * i] = two & 15;
        to[2 * i + 1] = two >> 4;
    }
    return true;
}

static int decode_strided(assay_decoded *d, assay_view *view, const assay_ckpt_place *place, size_t budget,
                          assay_record *r, assay_error *err)
{
    const uint64_t range = place->flags & ASSAY_CKPT_DEFLATED ? place->inflated : r->length;
    uint8_t *bytes = NULL;
    uint64_t size = 0;
    if (range > budget || r->content_bytes > budget - range)
        return refuse_budget(view, place, range + r->content_bytes, budget, err);
    if (assay_decoded_reserve(d, (size_t)r->content_bytes) != ASSAY_OK)
        return no_memory(view, err);
    int status = load_range(view, place, r, &bytes, &size, err);
    if (status == ASSAY_OK && place->flags & ASSAY_CKPT_CHECKED)
        status = check_crc(place->crc, assay_crc32(0, bytes, (size_t)size), view->path, r->offset, err);
    if (status == ASSAY_OK && !gather(place, bytes, size, d->bytes, r->elements))
        status = wrong(view, r->offset, "the strides of a tensor lead out of its storage", err);
    free(bytes);
    assay_elements_settle(d->bytes, (size_t)r->content_bytes, place->dtype, place->flags);
    d->size = (size_t)r->content_bytes;
    r->form = ASSAY_CONTENT_TYPED;
    return status;
}

/* ---- .npy files in a zip ---- */

/* A stored one is read as any .npy file is; its CRC-32 is taken over the header first. */
static int decode_npy(assay_decoded *d, assay_view *view, const assay_ckpt_place *place, size_t budget, assay_record *r,
                      assay_error *err)
{
    int status = assay_npy_decode(d, view, budget, r, err);
    if (status != ASSAY_OK || !(place->flags & ASSAY_CKPT_CHECKED))
        return status;
    const uint64_t checked = r->form == ASSAY_CONTENT_BYTES ? d->at : r->offset + r->length;
    uint32_t sum = 0;
    for (uint64_t at = r->offset; at < checked;) {
        size_t size = 0;
        const uint8_t *bytes = assay_view_look(view, at, checked, &size, &status, err);
        if (!bytes)
            return status;
        sum = assay_crc32(sum, bytes, size);
        at += size;
    }
    if (r->form != ASSAY_CONTENT_BYTES)
        return check_crc(place->crc, sum, view->path, r->offset, err);
    d->sum = (assay_running_sum){true, sum, place->crc, d->end, assay_crc32, check_crc};
    return ASSAY_OK;
}

typedef struct npy_start {
    assay_npy_head head;
    uint64_t data; /* where its elements begin */
    uint32_t crc;  /* CRC-32 of what is before them */
} npy_start;

/* The header of a deflated one, whose elements come next. */
static int read_npy_head(assay_inflater *i, assay_decoded *d, assay_view *view, const assay_ckpt_place *place,
                         npy_start *out, assay_error *err)
{
    uint8_t start[12] = {0};
    size_t at = 0, wide = ASSAY_NPY_LEAST;
    assay_error what = {{0}};
    const assay_packed_source source = source_of(view);
    int status = assay_inflater_next(i, &source, start, wide, err);
    if (status == ASSAY_OK && start[6] > 1) {
        status = assay_inflater_next(i, &source, start + wide, sizeof start - wide, err);
        wide = sizeof start;
    }
    const uint64_t size =
        (uint64_t)start[8] | (uint64_t)start[9] << 8 | (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
    if (status == ASSAY_OK && (size > ASSAY_NPY_HEADER || wide + size > place->inflated))
        status = wrong(view, 0, "the header of the .npy file is longer than the file, or than 1 MiB", err);
    ASSAY_THEN(status, assay_decoded_reserve(d, (size_t)size) == ASSAY_OK ? ASSAY_OK : no_memory(view, err));
    ASSAY_THEN(status, assay_inflater_next(i, &source, d->bytes, (size_t)size, err));
    if (status == ASSAY_OK && assay_npy_head_read((const char *)d->bytes, (size_t)size,
                                                  assay_trial_options_void_dtypes(d->options), &out->head, &at, &what))
        status = wrong(view, 0, what.text, err);
    if (status == ASSAY_OK)
        out->crc = assay_crc32(assay_crc32(0, start, wide), d->bytes, (size_t)size);
    out->data = wide + size;
    return status;
}

/* The elements of a deflated one in C order, on their way. *streamed: it is. Else they have to be put in order. */
static int stream_npy(assay_decoded *d, assay_view *view, const assay_ckpt_place *place, assay_record *r,
                      bool *streamed, assay_error *err)
{
    assay_ckpt_place elements = *place;
    npy_start from = {0};
    assay_inflater *i = inflate_range(place, r);
    int status = i ? read_npy_head(i, d, view, place, &from, err) : no_memory(view, err);
    elements.dtype = from.head.dtype;
    elements.dims = from.head.dims;
    elements.flags |= from.head.swapped ? ASSAY_CKPT_SWAPPED : 0;
    memcpy(elements.shape, from.head.shape, sizeof elements.shape);
    *streamed = status == ASSAY_OK && !from.head.fortran && set_shape(r, &elements) && r->elements > 0 &&
                r->content_bytes == place->inflated - from.data;
    if (*streamed)
        status = begin_pulling(d, view, &elements, NULL, r, err);
    pulling *p = *streamed ? d->state : NULL;
    if (p) {
        p->inflater = i;
        p->crc = from.crc;
    } else {
        assay_inflater_free(i);
    }
    return status;
}

/* A deflated one in another order is inflated in memory, and read there. */
static int decode_deflated_npy(assay_decoded *d, assay_view *view, const assay_ckpt_place *place, size_t budget,
                               assay_record *r, assay_error *err)
{
    bool streamed = false;
    int status = stream_npy(d, view, place, r, &streamed, err);
    if (status != ASSAY_OK || streamed)
        return status;
    uint8_t *bytes = NULL;
    uint64_t size = 0;
    if (place->inflated > budget)
        return refuse_budget(view, place, place->inflated, budget, err);
    status = load_range(view, place, r, &bytes, &size, err);
    if (status == ASSAY_OK && place->flags & ASSAY_CKPT_CHECKED)
        status = check_crc(place->crc, assay_crc32(0, bytes, (size_t)size), view->path, r->offset, err);
    if (status == ASSAY_OK) {
        assay_view inside = {.path = view->path, .limit = size, .window = bytes, .window_size = (size_t)size};
        assay_record inner = *r;
        inner.offset = 0;
        inner.length = size;
        status = assay_npy_decode(d, &inside, budget, &inner, err);
        inner.offset = r->offset;
        inner.length = r->length;
        *r = inner;
        if (status == ASSAY_OK && r->form != ASSAY_CONTENT_TYPED) {
            const uint64_t at = d->at;
            status = assay_decoded_reserve(d, (size_t)r->content_bytes);
            if (status == ASSAY_OK && r->form == ASSAY_CONTENT_PULLED)
                status = d->pull(d, &inside, 0, d->bytes, (size_t)r->content_bytes, err);
            else if (status == ASSAY_OK && r->content_bytes > 0)
                memcpy(d->bytes, bytes + at, (size_t)r->content_bytes);
            d->size = (size_t)r->content_bytes;
            r->form = ASSAY_CONTENT_TYPED;
        }
    }
    free(bytes);
    return status == ASSAY_ENOMEM ? no_memory(view, err) : status;
}

/* ---- the record ---- */

static int decode(assay_decoded *d, assay_view *view, const assay_ckpt_place *place, assay_cursor *note, size_t budget,
                  assay_record *r, assay_error *err)
{
    if (place->form == ASSAY_CKPT_NPY)
        return place->flags & ASSAY_CKPT_DEFLATED ? decode_deflated_npy(d, view, place, budget, r, err)
                                                  : decode_npy(d, view, place, budget, r, err);
    if (!set_shape(r, place))
        return wrong(view, r->offset, "the dimensions multiply to more than 64 bits can count", err);
    if (place->form == ASSAY_CKPT_STRIDED)
        return decode_strided(d, view, place, budget, r, err);
    if (place->form == ASSAY_CKPT_PIECES || place->form == ASSAY_CKPT_RUNS ||
        place->flags & ~(unsigned)ASSAY_CKPT_CHECKED)
        return begin_pulling(d, view, place, note, r, err);
    if (r->content_bytes != r->length)
        return wrong(view, r->offset, "the tensor's shape does not fit its bytes", err);
    r->form = ASSAY_CONTENT_BYTES;
    d->at = r->offset;
    d->end = r->offset + r->length;
    if (place->flags & ASSAY_CKPT_CHECKED)
        d->sum = (assay_running_sum){true, 0, place->crc, d->end, assay_crc32, check_crc};
    return ASSAY_OK;
}

int assay_checkpoint_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *r, assay_error *err)
{
    assay_ckpt_place place;
    assay_cursor note = assay_cursor_over(d->row.note, d->row.note_size);
    if (!d->row.note || !assay_ckpt_note_get(&note, &place))
        return wrong(view, r->offset, "the note of a tensor is damaged", err);
    if (place.length != r->length)
        return wrong(view, r->offset, "a tensor's bytes end early", err);
    int status = decode(d, view, &place, &note, budget, r, err);
    if (status == ASSAY_OK && place.flags & ASSAY_CKPT_CHECKED)
        r->checksum = ASSAY_CHECKSUM_TRUE;
    return status;
}

int assay_checkpoint_dims(const uint8_t *note, size_t size)
{
    assay_ckpt_place place;
    assay_cursor in = assay_cursor_over(note, size);
    return assay_ckpt_note_get(&in, &place) && place.form != ASSAY_CKPT_NPY ? place.dims : -1;
}

bool assay_checkpoint_note_facts(const uint8_t *note, size_t size, assay_note_facts *out)
{
    assay_ckpt_place place;
    assay_cursor in = assay_cursor_over(note, size);
    *out = (assay_note_facts){0};
    if (!assay_ckpt_note_get(&in, &place))
        return false;
    out->summed = place.flags & ASSAY_CKPT_CHECKED;
    out->plain = assay_ckpt_note_is_plain(note);
    out->floating = assay_dtype_is_float(place.dtype);
    out->element = out->row = assay_dtype_size(place.dtype);
    for (int i = place.dims; --i > 0 && out->row < ASSAY_ROW_LEAST * out->element;)
        if (__builtin_mul_overflow(out->row, (uint64_t)place.shape[i], &out->row))
            return false;
    return true;
}

bool assay_checkpoint_note_reaches(const uint8_t *note, size_t size, uint32_t file, uint64_t from, uint64_t to)
{
    assay_ckpt_place place;
    assay_ckpt_piece piece;
    assay_cursor in = assay_cursor_over(note, size);
    if (!assay_ckpt_note_get(&in, &place))
        return false;
    const int dims = place.form == ASSAY_CKPT_RUNS ? 1 : place.dims;
    for (uint32_t i = 0; i < place.pieces && assay_ckpt_note_piece(&in, &place, &piece); i++) {
        uint64_t bytes = assay_dtype_size(place.dtype);
        for (int k = 0; k < dims; k++)
            bytes *= (uint64_t)piece.size[k];
        if (piece.file == file && piece.offset < to && piece.offset + bytes > from)
            return true;
    }
    return false;
}
