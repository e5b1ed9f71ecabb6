/* torch_tensor.c - the calls by which torch makes a tensor when a pickle is loaded; here they say where it lies.
 *
 *   _rebuild_tensor_v2(storage, offset, size, stride, ...), which others wrap
 *   ("storage", class, key, location, elements), which names a storage: an entry of the zip
 *
 * offset, size and stride count elements. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "format/checkpoint/torch.h"
#include "format/checkpoint/walk.h"

enum { WRAPS_MOST = 16, ENTRY_NAME = 512, REPEATS_MOST = 1 << 24, NONE = -1 };

static const struct {
    const char *storage, *dtype; /* names of a class and of a dtype in torch */
    int number;
} dtypes[] = {
    {"FloatStorage", "float32", ASSAY_FLOAT32},
    {"DoubleStorage", "float64", ASSAY_FLOAT64},
    {"HalfStorage", "float16", ASSAY_FLOAT16},
    {"BFloat16Storage", "bfloat16", ASSAY_BFLOAT16},
    {"LongStorage", "int64", ASSAY_INT64},
    {"IntStorage", "int32", ASSAY_INT32},
    {"ShortStorage", "int16", ASSAY_INT16},
    {"CharStorage", "int8", ASSAY_INT8},
    {"ByteStorage", "uint8", ASSAY_UINT8},
    {"BoolStorage", "bool", ASSAY_BOOL},
    {"ComplexFloatStorage", "complex64", ASSAY_COMPLEX64},
    {"ComplexDoubleStorage", "complex128", ASSAY_COMPLEX128},
    {NULL, "uint16", ASSAY_UINT16},
    {NULL, "uint32", ASSAY_UINT32},
    {NULL, "uint64", ASSAY_UINT64},
    {NULL, "float8_e5m2", ASSAY_FLOAT8_E5M2},
    {NULL, "float8_e4m3fn", ASSAY_FLOAT8_E4M3FN},
    {NULL, "float8_e4m3fnuz", ASSAY_FLOAT8_E4M3FNUZ},
    {NULL, "float8_e5m2fnuz", ASSAY_FLOAT8_E5M2FNUZ},
    {NULL, "float8_e8m0fnu", ASSAY_FLOAT8_E8M0FNU},
    {NULL, "float4_e2m1fn_x2", ASSAY_FLOAT4_E2M1FN}, /* an element of torch is a byte of two */
};

/* A call under way: a function and a tuple of arguments. */
typedef struct call {
    uint32_t function, arguments;
} call;

static int damaged(assay_error *what, const char *why)
{
    return assay_fail(what, ASSAY_EFORMAT, "%s", why);
}

static const assay_pickle_node *node_of(const assay_torch *t, uint32_t node)
{
    return node == ASSAY_PICKLE_NOTHING ? NULL : &t->pickle.node[node];
}

static bool is_kind(const assay_torch *t, uint32_t node, assay_pickle_kind kind)
{
    return node != ASSAY_PICKLE_NOTHING && t->pickle.node[node].kind == kind;
}

static bool get_number(const assay_torch *t, uint32_t node, int64_t *out)
{
    if (!is_kind(t, node, ASSAY_PICKLE_INT) || t->pickle.node[node].integer < 0)
        return false;
    *out = t->pickle.node[node].integer;
    return true;
}

/* Takes wrappers off until a call is left that rebuilds a tensor from its storage. False: there is none. */
static bool unwrap(const assay_torch *t, uint32_t node, call *out)
{
    const assay_pickle *p = &t->pickle;
    for (int i = 0; i < WRAPS_MOST; i++) {
        if (node != ASSAY_PICKLE_NOTHING) {
            if (!is_kind(t, node, ASSAY_PICKLE_CALL))
                return false;
            *out = (call){p->node[node].a, p->node[node].b};
            node = ASSAY_PICKLE_NOTHING;
        }
        if (assay_pickle_is_global(p, out->function, "torch._utils", "_rebuild_parameter") ||
            assay_pickle_is_global(p, out->function, "torch._utils", "_rebuild_parameter_with_state")) {
            node = assay_pickle_at(p, out->arguments, 0);
            if (node == ASSAY_PICKLE_NOTHING)
                return false;
        } else if (assay_pickle_is_global(p, out->function, "torch._tensor", "_rebuild_from_type_v2")) {
            const uint32_t function = assay_pickle_at(p, out->arguments, 0);
            uint32_t state = assay_pickle_at(p, out->arguments, 3);
            const assay_pickle_node *n = node_of(t, function);
            static const char WRAPPER[] = "_rebuild_wrapper_subclass";
            if (n && n->kind == ASSAY_PICKLE_GLOBAL && n->size == sizeof WRAPPER - 1 &&
                memcmp(p->bytes + n->c, WRAPPER, sizeof WRAPPER - 1) == 0) {
                const uint32_t slots = assay_pickle_at(p, state, 1); /* of a pair, the second has what is in slots */
                if (is_kind(t, state, ASSAY_PICKLE_TUPLE))
                    state = assay_pickle_at(p, state, 0);
                node = assay_pickle_get(p, state, "_local_tensor");
                if (node == ASSAY_PICKLE_NOTHING)
                    node = assay_pickle_get(p, slots, "_local_tensor");
                if (node == ASSAY_PICKLE_NOTHING)
                    return false;
            } else {
                *out = (call){function, assay_pickle_at(p, out->arguments, 2)};
            }
        } else {
            return true;
        }
    }
    return false;
}

/* Which of the functions that rebuild from a storage: 1 to 3, or 0. */
static int version_of(const assay_torch *t, uint32_t function)
{
    static const char *const names[] = {"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3"};
    for (int i = 0; i < 3; i++)
        if (assay_pickle_is_global(&t->pickle, function, "torch._utils", names[i]))
            return i + 1;
    return 0;
}

int assay_torch_storage_dtype(const assay_pickle *p, uint32_t class)
{
    static const char *const modules[] = {"torch", "torch.storage"};
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
            if (dtypes[i].storage && assay_pickle_is_global(p, class, modules[m], dtypes[i].storage))
                return dtypes[i].number;
    return NONE;
}

static int storage_dtype(const assay_torch *t, uint32_t class, bool *untyped)
{
    *untyped = assay_pickle_is_global(&t->pickle, class, "torch", "UntypedStorage") ||
               assay_pickle_is_global(&t->pickle, class, "torch.storage", "UntypedStorage");
    return *untyped ? NONE : assay_torch_storage_dtype(&t->pickle, class);
}

static int named_dtype(const assay_torch *t, uint32_t node)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (assay_pickle_is_global(&t->pickle, node, "torch", dtypes[i].dtype))
            return dtypes[i].number;
    return NONE;
}

/* Is a storage's key a number in the fewest digits, at most nine? */
static bool is_number(const char *key, uint64_t size, uint32_t *number)
{
    *number = 0;
    for (uint64_t i = 0; i < size && size < 10; i++) {
        if (key[i] < '0' || key[i] > '9')
            return false;
        *number = 10 * *number + (uint32_t)(key[i] - '0');
    }
    return size > 0 && size < 10 && (key[0] != '0' || size == 1);
}

int assay_torch_number_storages(assay_torch *t)
{
    const assay_dict *names = t->file->zip.names;
    const size_t skip = t->root_length ? 0 : 1, between = strlen(t->data), before = t->root_length + between - skip;
    t->storages = assay_dict_count(names);
    t->storage = assay_heap_alloc_large(t->storages * sizeof *t->storage);
    ASSAY_HAVE(t->storage);
    memset(t->storage, 0xff, t->storages * sizeof *t->storage); /* ASSAY_NO_ID */
    for (uint32_t i = 0; i < t->storages; i++) {
        size_t length = 0;
        uint32_t number = 0;
        const char *name = assay_dict_name(names, i, &length);
        if (length > before && memcmp(name, t->root, t->root_length) == 0 &&
            memcmp(name + t->root_length, t->data + skip, between - skip) == 0 &&
            is_number(name + before, length - before, &number) && number < t->storages)
            t->storage[number] = i;
    }
    return ASSAY_OK;
}

/* The zip entry of a storage: ROOT/data/KEY. */
static uint32_t find_entry(const assay_torch *t, const char *key, uint64_t size)
{
    uint32_t number = 0;
    if (is_number(key, size, &number) && number < t->storages)
        return t->storage[number];
    const size_t between = strlen(t->data), length = t->root_length + between;
    char name[ENTRY_NAME];
    if (size >= ENTRY_NAME || length >= ENTRY_NAME || size + length >= ENTRY_NAME || memchr(key, '\0', (size_t)size))
        return ASSAY_NO_ID;
    memcpy(name, t->root, t->root_length);
    memcpy(name + t->root_length, t->data, between);
    memcpy(name + length, key, (size_t)size);
    const size_t skip = t->root_length ? 0 : 1;
    return assay_dict_find(t->file->zip.names, name + skip, length + (size_t)size - skip);
}

/* What a tensor's elements are taken from. */
typedef struct storage {
    int dtype;         /* the tensor's */
    uint32_t entry;    /* of the zip file */
    uint64_t elements; /* of that dtype */
} storage;

/* `said` is the dtype that the tensor itself has, NONE: that of its storage. */
static int find_storage(const assay_torch *t, uint32_t node, int said, storage *out, assay_error *what)
{
    const assay_pickle *p = &t->pickle;
    const uint32_t id = is_kind(t, node, ASSAY_PICKLE_PERSISTENT) ? p->node[node].a : ASSAY_PICKLE_NOTHING;
    const assay_pickle_node *key = node_of(t, assay_pickle_at(p, id, 2));
    int64_t count = 0;
    bool untyped = false;
    if (!is_kind(t, id, ASSAY_PICKLE_TUPLE) || !assay_pickle_is_text(p, assay_pickle_at(p, id, 0), "storage") || !key ||
        key->kind != ASSAY_PICKLE_TEXT || !get_number(t, assay_pickle_at(p, id, 4), &count))
        return damaged(what, "its storage is not told as torch tells one");
    const int own = storage_dtype(t, assay_pickle_at(p, id, 1), &untyped);
    out->dtype = said != NONE ? said : own;
    if (out->dtype == NONE || (own == NONE && !untyped))
        return damaged(what, "its storage or dtype is of a kind that nobody knows");
    out->entry = find_entry(t, (const char *)p->bytes + key->a, key->size);
    if (out->entry == ASSAY_NO_ID)
        return damaged(what, "the file has no entry for its storage");
    const uint64_t bytes = t->file->zip.entry[out->entry].size;
    const uint64_t element = assay_dtype_size(untyped ? ASSAY_UINT8 : own);
    if (bytes / element < (uint64_t)count)
        return assay_fail(what, ASSAY_EFORMAT, "its storage should have %lld elements, but its entry has %llu bytes",
                          (long long)count, (unsigned long long)bytes);
    out->elements = (uint64_t)count * element / assay_dtype_size(out->dtype);
    return ASSAY_OK;
}

/* Bytes of an element of a quantized tensor's storage; 0: it is none. They are not read, and others lie behind them. */
static size_t quantized_size(const assay_torch *t, uint32_t class)
{
    static const struct {
        const char *storage;
        size_t size;
    } known[] = {{"QInt8Storage", 1},
                 {"QUInt8Storage", 1},
                 {"QInt32Storage", 4},
                 {"QUInt4x2Storage", 1},
                 {"QUInt2x4Storage", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (assay_pickle_is_global(&t->pickle, class, "torch", known[i].storage) ||
            assay_pickle_is_global(&t->pickle, class, "torch.storage", known[i].storage))
            return known[i].size;
    return 0;
}

bool assay_torch_storage(const assay_torch *t, uint32_t node, const char **key, size_t *length, uint64_t *bytes)
{
    const assay_pickle *p = &t->pickle;
    const uint32_t id = is_kind(t, node, ASSAY_PICKLE_PERSISTENT) ? p->node[node].a : ASSAY_PICKLE_NOTHING;
    const assay_pickle_node *name = node_of(t, assay_pickle_at(p, id, 2));
    int64_t count = 0;
    bool untyped = false;
    if (!is_kind(t, id, ASSAY_PICKLE_TUPLE) || !assay_pickle_is_text(p, assay_pickle_at(p, id, 0), "storage") ||
        !name || name->kind != ASSAY_PICKLE_TEXT || !get_number(t, assay_pickle_at(p, id, 4), &count))
        return false;
    const uint32_t class = assay_pickle_at(p, id, 1);
    const int dtype = storage_dtype(t, class, &untyped);
    const size_t size = untyped ? 1 : dtype == NONE ? quantized_size(t, class) : assay_dtype_size(dtype);
    *key = (const char *)p->bytes + name->a;
    *length = (size_t)name->size;
    return size > 0 && !__builtin_mul_overflow((uint64_t)count, size, bytes);
}

/* Elements of the view, and how many of the storage it spans from its first one; false when 63 bits do not count them.
 */
static bool measure_view(const assay_ckpt_place *place, uint64_t *elements, uint64_t *span)
{
    int64_t count = 1, last = 0;
    bool over = false, empty = false;
    for (int i = 0; i < place->dims; i++) {
        int64_t far = 0;
        empty = empty || place->shape[i] == 0;
        over = over || __builtin_mul_overflow(count, place->shape[i], &count);
        if (place->shape[i] > 0)
            over = over || __builtin_mul_overflow(place->shape[i] - 1, place->stride[i], &far) ||
                   __builtin_add_overflow(last, far, &last);
    }
    *elements = empty ? 0 : (uint64_t)count;
    *span = empty ? 0 : (uint64_t)last + 1;
    return !over;
}

static bool is_contiguous(const assay_ckpt_place *place)
{
    int64_t expected = 1;
    for (int i = place->dims - 1; i >= 0; i--) {
        if (place->shape[i] == 1)
            continue;
        if (place->stride[i] != expected)
            return false;
        expected *= place->shape[i];
    }
    return true;
}

static unsigned lazy_flags(const assay_torch *t, uint32_t metadata)
{
    const assay_pickle *p = &t->pickle;
    unsigned flags = 0;
    const uint32_t negated = assay_pickle_get(p, metadata, "neg"), conjugated = assay_pickle_get(p, metadata, "conj");
    if (is_kind(t, negated, ASSAY_PICKLE_BOOL) && p->node[negated].integer)
        flags |= ASSAY_CKPT_NEGATED;
    if (is_kind(t, conjugated, ASSAY_PICKLE_BOOL) && p->node[conjugated].integer)
        flags |= ASSAY_CKPT_CONJUGATED;
    return flags;
}

/* Where the elements of a view of a storage of `stored` elements lie, which begins at element `first`; dtype, shape,
 * stride and flags are in the place. */
static int place_view(const assay_torch *t, uint64_t stored, int64_t first, assay_ckpt_place *place,
                      assay_torch_range *range, assay_error *what)
{
    uint64_t elements = 0, span = 0;
    const assay_zip_entry *entry = &t->file->zip.entry[range->entry];
    if (!measure_view(place, &elements, &span))
        return damaged(what, "its dimensions multiply to more than 63 bits can count");
    if ((uint64_t)first > stored || span > stored - (uint64_t)first)
        return damaged(what, "it goes beyond its storage");
    if (elements > (stored > REPEATS_MOST ? stored : REPEATS_MOST))
        return damaged(what, "it repeats the elements of its storage more often than anybody means");

    const uint64_t element = assay_dtype_size(place->dtype);
    const bool deflated = entry->method != ASSAY_ZIP_STORED, all = first == 0 && span * element == entry->size;
    const bool whole = all && is_contiguous(place) && elements * element == entry->size;
    if (t->swapped && element > 1)
        place->flags |= ASSAY_CKPT_SWAPPED;
    if ((all || deflated) && entry->crc != 0) { /* all of the entry is read */
        place->flags |= ASSAY_CKPT_CHECKED;
        place->crc = entry->crc;
    }
    range->first_byte = range->offset = t->file->base + entry->data;
    range->first = first;
    range->length = entry->compressed;
    if (deflated) {
        place->flags |= assay_ckpt_flags_of(entry->method);
        place->inflated = entry->size;
        place->first = (uint64_t)first;
    } else {
        range->offset += (uint64_t)first * element;
        range->length = span * element;
    }
    if (!is_contiguous(place) || (deflated && !whole))
        place->form = ASSAY_CKPT_STRIDED;
    if (assay_ckpt_is_packed(place->dtype)) {
        if (place->dims == 0 || place->shape[place->dims - 1] > INT64_MAX / 2 || elements > INT64_MAX / 2)
            return damaged(what, "it is packed, and has no dimension that could be");
        if (place->flags & ASSAY_CKPT_DEFLATED && place->form == ASSAY_CKPT_RANGE)
            place->form = ASSAY_CKPT_STRIDED;
        place->shape[place->dims - 1] *= 2;
        place->flags |= ASSAY_CKPT_PACKED;
    }
    return 1;
}

/* A tensor that its file has beside the pickle: the node is its key. */
static int given_tensor(const assay_torch *t, uint32_t node, assay_ckpt_place *place, assay_torch_range *range,
                        assay_error *what)
{
    const assay_pickle_node *key =
        is_kind(t, node, ASSAY_PICKLE_PERSISTENT) ? node_of(t, t->pickle.node[node].a) : NULL;
    char text[32];
    uint32_t number = ASSAY_NO_ID;
    if (key && key->kind == ASSAY_PICKLE_TEXT)
        number = assay_dict_find(t->given->keys, (const char *)t->pickle.bytes + key->a, (size_t)key->size);
    else if (key && key->kind == ASSAY_PICKLE_INT)
        number =
            assay_dict_find(t->given->keys, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)key->integer));
    else
        return 0;
    if (number == ASSAY_NO_ID)
        return damaged(what, "the file has no tensor of its key");
    const assay_torch_view *v = &t->given->list[number];
    memset(place, 0, offsetof(assay_ckpt_place, shape));
    place->form = ASSAY_CKPT_RANGE;
    place->dtype = v->dtype;
    place->dims = v->dims;
    memcpy(place->shape, v->shape, sizeof v->shape);
    memcpy(place->stride, v->stride, sizeof v->stride);
    range->entry = v->entry;
    return v->first < 0 ? damaged(what, "it begins before its storage")
                        : place_view(t, v->stored, v->first, place, range, what);
}

int assay_torch_tensor(const assay_torch *t, uint32_t node, assay_ckpt_place *place, assay_torch_range *range,
                       assay_error *what)
{
    const assay_pickle *p = &t->pickle;
    call c = {0};
    if (t->given)
        return given_tensor(t, node, place, range, what);
    if (!unwrap(t, node, &c))
        return 0;
    const int version = version_of(t, c.function);
    if (version == 0)
        return 0;
    memset(place, 0, offsetof(assay_ckpt_place, shape));
    place->form = ASSAY_CKPT_RANGE;
    const int said = version == 3 ? named_dtype(t, assay_pickle_at(p, c.arguments, 6)) : NONE;
    if (version == 3 && said == NONE)
        return damaged(what, "its dtype is one that is not read");
    storage from = {0};
    int64_t first = 0;
    ASSAY_TRY(find_storage(t, assay_pickle_at(p, c.arguments, 0), said, &from, what));
    place->dtype = from.dtype;
    range->entry = from.entry;
    place->dims = assay_walk_numbers(p, assay_pickle_at(p, c.arguments, 2), place->shape);
    if (place->dims < 0 || assay_walk_numbers(p, assay_pickle_at(p, c.arguments, 3), place->stride) != place->dims ||
        !get_number(t, assay_pickle_at(p, c.arguments, 1), &first))
        return damaged(what, "its offset, size and stride do not fit one another");
    place->flags = version > 1 ? lazy_flags(t, assay_pickle_at(p, c.arguments, version == 3 ? 7 : 6)) : 0;
    return place_view(t, from.elements, first, place, range, what);
}
