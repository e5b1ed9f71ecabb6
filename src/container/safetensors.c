/* safetensors.c - reads and checks a header.
 *
 * The checks are those of the format's own reader, so that what loads there is read here and nothing else is: exactly
 * three keys a tensor, whole numbers, sizes that fit the dtype, and data without a hole, an overlap or a rest. */
#include "container/safetensors.h"

#include <assay/tensor.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/json_pull.h"
#include "base/utf8.h"

enum { UNREAD = -1 };

static const struct {
    const char *name;
    int dtype;
} dtypes[] = {
    {"F64", ASSAY_FLOAT64},
    {"F32", ASSAY_FLOAT32},
    {"F16", ASSAY_FLOAT16},
    {"BF16", ASSAY_BFLOAT16},
    {"I64", ASSAY_INT64},
    {"I32", ASSAY_INT32},
    {"I16", ASSAY_INT16},
    {"I8", ASSAY_INT8},
    {"U64", ASSAY_UINT64},
    {"U32", ASSAY_UINT32},
    {"U16", ASSAY_UINT16},
    {"U8", ASSAY_UINT8},
    {"BOOL", ASSAY_BOOL},
    {"C64", ASSAY_COMPLEX64},
    {"F8_E5M2", ASSAY_FLOAT8_E5M2},
    {"F8_E4M3", ASSAY_FLOAT8_E4M3FN},
    {"F8_E5M2FNUZ", ASSAY_FLOAT8_E5M2FNUZ},
    {"F8_E4M3FNUZ", ASSAY_FLOAT8_E4M3FNUZ},
    {"F8_E8M0", ASSAY_FLOAT8_E8M0FNU},
    {"F6_E2M3", ASSAY_FLOAT6_E2M3FN},
    {"F6_E3M2", ASSAY_FLOAT6_E3M2FN},
    {"F4", ASSAY_FLOAT4_E2M1FN},
};

/* A header while it is read. */
typedef struct header {
    assay_pull json;
    assay_safetensors *out;
    bool has_metadata;
} header;

static bool same(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* A number of 0..2^63-1 in digits alone. */
static bool take_whole(assay_pull *json, int64_t *value)
{
    bool fits = false;
    if (assay_pull_digits(json, value))
        return true;
    const char *from = json->at;
    if (!assay_pull_integer(json, value, &fits))
        return false;
    for (const char *p = from; p < json->at; p++)
        fits = fits && *p >= '0' && *p <= '9';
    return fits ? true
                : assay_pull_fault(json, from, "expected a whole number of 0 to 2^63-1, without point or exponent");
}

static bool grow_dims(assay_safetensors *s, size_t room)
{
    int64_t *grown = room > SIZE_MAX / sizeof *grown
                         ? NULL
                         : assay_heap_grow_large(s->dim, s->dims * sizeof *grown, room * sizeof *grown);
    if (!grown)
        return false;
    s->dim = grown;
    s->dim_room = room;
    return true;
}

static bool add_dim(header *h, int64_t dim)
{
    assay_safetensors *s = h->out;
    if (s->dims == s->dim_room && !grow_dims(s, s->dim_room ? 2 * s->dim_room : 1024)) {
        h->json.no_memory = true;
        return false;
    }
    s->dim[s->dims++] = dim;
    return true;
}

static bool take_shape(header *h, assay_safetensors_tensor *t)
{
    const char *from = h->json.at;
    t->first_dim = (uint32_t)h->out->dims; /* a header has fewer bytes than 2^32 */
    t->dims = 0;
    if (!assay_pull_open(&h->json, '[', ']'))
        return h->json.fault == NULL;
    do {
        int64_t dim = 0;
        if (++t->dims > ASSAY_MAX_DIMS)
            return assay_pull_fault(&h->json, from, "a shape of more than 64 dimensions");
        if (!take_whole(&h->json, &dim) || !add_dim(h, dim))
            return false;
    } while (assay_pull_more(&h->json, ']'));
    return h->json.fault == NULL;
}

static bool take_range(header *h, assay_safetensors_tensor *t)
{
    const char *from = h->json.at;
    int64_t number[2] = {0};
    size_t count = 0;
    bool more = assay_pull_open(&h->json, '[', ']');
    for (; more; more = assay_pull_more(&h->json, ']'))
        if (!take_whole(&h->json, &number[count < 2 ? count : 1]) || ++count > 2)
            break;
    if (h->json.fault || count != 2 || more)
        return assay_pull_fault(&h->json, from, "data_offsets must be two numbers");
    if (number[1] < number[0])
        return assay_pull_fault(&h->json, from, "data_offsets end before they begin");
    t->begin = (uint64_t)number[0];
    t->end = (uint64_t)number[1];
    return true;
}

/* Sets the dtype; returns the bits of an element. */
static int set_dtype(assay_safetensors_tensor *t, const char *said, size_t length)
{
    const size_t kept = length < sizeof t->said ? length : sizeof t->said - 1;
    memcpy(t->said, said, kept);
    t->said[kept] = '\0';
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (same(said, length, dtypes[i].name)) {
            t->dtype = dtypes[i].dtype;
            return (int)assay_dtype_bits(t->dtype);
        }
    t->dtype = UNREAD;
    return 0;
}

/* Does the range have the bytes that shape and dtype ask for? Of a dtype that nobody knows it is not asked. */
static bool check_size(header *h, const char *from, assay_safetensors_tensor *t, int bits)
{
    int64_t elements = 1, all = 0;
    for (uint32_t i = 0; i < t->dims; i++)
        if (__builtin_mul_overflow(elements, h->out->dim[t->first_dim + i], &elements) ||
            __builtin_mul_overflow(elements, bits ? bits : 8, &all))
            return assay_pull_fault(&h->json, from, "the dimensions multiply to more than 63 bits can count");
    t->elements = (uint64_t)elements;
    if (bits == 0)
        return true;
    all = elements * bits;
    if (all % 8 != 0)
        return assay_pull_fault(&h->json, from, "the tensor ends within a byte");
    if ((uint64_t)all / 8 != t->end - t->begin)
        return assay_pull_fault(&h->json, from, "data_offsets are not as far apart as shape and dtype ask for");
    return true;
}

enum { DTYPE = 1, SHAPE = 2, RANGE = 4, ALL = 7 }; /* keys of a tensor */

/* A key of a tensor and its colon, most often as writers put them; 0: another key, -1: a fault. */
static int take_key(assay_pull *json)
{
    static const struct {
        const char *quoted;
        size_t length;
        int which;
    } keys[] = {{"\"dtype\":", 8, DTYPE}, {"\"shape\":", 8, SHAPE}, {"\"data_offsets\":", 15, RANGE}};
    const char *key = NULL;
    size_t length = 0;
    assay_pull_peek(json);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((size_t)(json->end - json->at) >= keys[i].length && memcmp(json->at, keys[i].quoted, keys[i].length) == 0) {
            json->at += keys[i].length;
            return keys[i].which;
        }
    if (!assay_pull_key(json, &key, &length))
        return -1;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (length == keys[i].length - 3 && memcmp(key, keys[i].quoted + 1, length) == 0)
            return keys[i].which;
    return 0;
}

static bool take_tensor(header *h, const char *from, assay_safetensors_tensor *t)
{
    int bits = 0, have = 0;
    if (!assay_pull_open(&h->json, '{', '}'))
        return assay_pull_fault(&h->json, from, "a tensor without dtype, shape and data_offsets");
    do {
        const char *said = NULL;
        size_t said_length = 0;
        const int which = take_key(&h->json);
        if (which < 0)
            return false;
        if (which == 0 || (have & which))
            return assay_pull_fault(&h->json, from, "a tensor has the keys dtype, shape and data_offsets, each once");
        have |= which;
        if (which == DTYPE && assay_pull_string(&h->json, &said, &said_length))
            bits = set_dtype(t, said, said_length);
        else if (which == SHAPE && !take_shape(h, t))
            return false;
        else if (which == RANGE && !take_range(h, t))
            return false;
    } while (assay_pull_more(&h->json, '}'));
    if (h->json.fault)
        return false;
    if (have != ALL)
        return assay_pull_fault(&h->json, from, "a tensor has the keys dtype, shape and data_offsets, each once");
    return check_size(h, from, t, bits);
}

static bool take_metadata_pair(header *h, assay_dict *keys)
{
    static const char SHARDING[] = "DCP_SHARDING_INFO";
    const char *from = h->json.at, *key = NULL, *text = NULL;
    size_t length = 0, size = 0;
    const uint32_t before = assay_dict_count(keys);
    if (!assay_pull_key(&h->json, &key, &length))
        return false;
    const uint32_t id = assay_dict_add(keys, key, length);
    h->json.no_memory = id == ASSAY_NO_ID;
    if (id < before)
        return assay_pull_fault(&h->json, from, "a key stands twice");
    if (h->json.no_memory || !assay_pull_string(&h->json, &text, &size))
        return false;
    if (!same(key, length, SHARDING))
        return true;
    h->out->sharding = assay_copy_bytes_as_text(text, size);
    h->out->sharding_size = size;
    h->json.no_memory = h->out->sharding == NULL;
    return !h->json.no_memory;
}

/* __metadata__: texts by texts. */
static bool take_metadata(header *h)
{
    assay_dict *keys = assay_dict_new();
    h->json.no_memory = !keys;
    if (keys && assay_pull_open(&h->json, '{', '}'))
        while (take_metadata_pair(h, keys) && assay_pull_more(&h->json, '}'))
            ;
    assay_dict_free(keys);
    return h->json.fault == NULL && !h->json.no_memory;
}

static bool grow(assay_safetensors *s, size_t room)
{
    assay_safetensors_tensor *grown =
        room > SIZE_MAX / sizeof *grown
            ? NULL
            : assay_heap_grow_large(s->tensor, s->room * sizeof *grown, room * sizeof *grown);
    if (!grown)
        return false;
    s->tensor = grown;
    s->room = room;
    return true;
}

static bool take_entry(header *h)
{
    assay_safetensors *s = h->out;
    const char *from = h->json.at, *name = NULL;
    size_t length = 0;
    if (!assay_pull_key(&h->json, &name, &length))
        return false;
    if (same(name, length, "__metadata__")) {
        if (h->has_metadata)
            return assay_pull_fault(&h->json, from, "__metadata__ stands twice");
        h->has_metadata = true;
        return take_metadata(h);
    }
    const uint32_t id = assay_dict_append(s->names, name, length);
    h->json.no_memory = id == ASSAY_NO_ID || (id >= s->room && !grow(s, s->room ? 2 * s->room : 256));
    if (h->json.no_memory)
        return false;
    s->tensor[id] = (assay_safetensors_tensor){.at = (uint32_t)(from - h->json.from)};
    return take_tensor(h, from, &s->tensor[id]);
}

static int compare_ranges(const void *a, const void *b)
{
    const assay_safetensors_tensor *x = *(assay_safetensors_tensor *const *)a,
                                   *y = *(assay_safetensors_tensor *const *)b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Do the ranges, as they are listed, cover the data without a hole or an overlap? So writers list them. */
static bool is_covered_in_order(const assay_safetensors *s, uint32_t count, uint64_t *end)
{
    *end = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (s->tensor[i].begin != *end)
            return false;
        *end = s->tensor[i].end;
    }
    return true;
}

/* The data must be covered without a hole or an overlap. */
static int check_cover(assay_safetensors *s, assay_error *err)
{
    const uint32_t count = assay_dict_count(s->names);
    if (is_covered_in_order(s, count, &s->data_end))
        return ASSAY_OK;
    s->data_end = 0;
    const assay_safetensors_tensor **order = assay_alloc((size_t)count * sizeof *order);
    int status = order ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = &s->tensor[i];
    if (order)
        qsort(order, count, sizeof *order, compare_ranges);
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++) {
        if (order[i]->begin != s->data_end)
            status = assay_fail(err, ASSAY_EFORMAT, "the data of %s begins at %llu, but what is before it ends at %llu",
                                assay_dict_name(s->names, (uint32_t)(order[i] - s->tensor), NULL),
                                (unsigned long long)order[i]->begin, (unsigned long long)s->data_end);
        s->data_end = order[i]->end;
    }
    free(order);
    return status;
}

/* A name that stands twice is wrong before anything that follows it. */
static void find_twice(header *h)
{
    uint32_t again = ASSAY_NO_ID;
    if (h->json.no_memory)
        return;
    h->json.no_memory = !assay_dict_settle(h->out->names, &again);
    if (again == ASSAY_NO_ID)
        return;
    h->json.fault = "a name stands twice";
    h->json.fault_at = h->json.from + h->out->tensor[again].at;
}

/* The object, and nothing behind it but white space. */
static void take_header(header *h, const char *text, size_t size)
{
    if (size == 0 || text[0] != '{') {
        assay_pull_fault(&h->json, text, "a header begins with {");
        return;
    }
    if (!assay_utf8_is(text, size)) {
        assay_pull_fault(&h->json, text, "it is no UTF-8");
        return;
    }
    if (assay_pull_open(&h->json, '{', '}'))
        while (take_entry(h) && assay_pull_more(&h->json, '}'))
            ;
    if (!h->json.fault && !h->json.no_memory && !assay_pull_end(&h->json))
        assay_pull_fault(&h->json, h->json.at, "something stands behind the last }");
    find_twice(h);
}

enum { ENTRY = 80 /* bytes of a tensor in a header, more or less */ };

int assay_safetensors_read(const char *text, size_t size, assay_safetensors *out, uint64_t *at, assay_error *err)
{
    header h = {.out = out};
    int status = ASSAY_OK;
    *out = (assay_safetensors){.names = assay_dict_new()};
    *at = 0;
    assay_pull_start(&h.json, text, size);
    h.json.no_memory = out->names == NULL || assay_dict_reserve(out->names, size / ENTRY, size / 2) != ASSAY_OK ||
                       !grow(out, size / ENTRY + 1) || !grow_dims(out, 2 * (size / ENTRY + 1));
    if (!h.json.no_memory)
        take_header(&h, text, size);
    if (h.json.no_memory) {
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
    } else if (h.json.fault) {
        *at = (uint64_t)(h.json.fault_at - text);
        status = assay_fail(err, ASSAY_EFORMAT, "%s", h.json.fault);
    } else {
        status = check_cover(out, err);
    }
    assay_pull_release(&h.json);
    if (status != ASSAY_OK)
        assay_safetensors_release(out);
    return status;
}

void assay_safetensors_release(assay_safetensors *s)
{
    assay_dict_free(s->names);
    free(s->tensor);
    free(s->dim);
    free(s->sharding);
    *s = (assay_safetensors){0};
}
