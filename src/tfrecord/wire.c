/* wire.c - the protobuf wire format. */
#include "tfrecord/wire.h"

/* One byte is by far the most frequent case. */
size_t assay_varint(const uint8_t *bytes, size_t size, uint64_t *value)
{
    uint64_t v = 0;
    if (size > 0 && bytes[0] < 0x80) {
        *value = bytes[0];
        return 1;
    }
    for (size_t i = 0; i < size && i < 10; i++) {
        v |= (uint64_t)(bytes[i] & 0x7f) << (7 * i); /* the tenth byte's upper bits are lost, as everywhere */
        if (bytes[i] < 0x80) {
            *value = v;
            return i + 1;
        }
    }
    return 0;
}

static int damage(const assay_wire *w, uint64_t at, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: damaged protobuf message %s: %s", w->view->path,
                      (unsigned long long)at, w->message, what);
}

/* Reads the field's value, which begins `used` bytes behind w->at. */
static int read_value(assay_wire *w, assay_wire_field *f, const uint8_t *bytes, size_t size, size_t used,
                      assay_error *err)
{
    size_t more = 0;
    /* A field that is a number has no content: [at, end) is empty. */
    f->at = f->end = 0;
    if (f->type == ASSAY_WIRE_FIXED64 || f->type == ASSAY_WIRE_FIXED32) {
        more = f->type == ASSAY_WIRE_FIXED64 ? 8 : 4;
        if (size - used < more)
            return damage(w, w->at, "a number is cut short", err);
        f->value = 0;
        for (size_t i = more; i-- > 0;)
            f->value = f->value << 8 | bytes[used + i];
        w->at += used + more;
        return 1;
    }
    /* Groups (types 3 and 4) are long deprecated, and no writer of these messages has them. */
    if (f->type != ASSAY_WIRE_VARINT && f->type != ASSAY_WIRE_BYTES)
        return damage(w, w->at, "a field of a type that does not occur here", err);
    more = assay_varint(bytes + used, size - used, &f->value);
    if (more == 0)
        return damage(w, w->at, "a number is cut short", err);
    w->at += used + more;
    if (f->type == ASSAY_WIRE_BYTES) {
        /* Untrusted length: content must end within the message that holds it. */
        if (f->value > w->end - w->at)
            return damage(w, w->at, "a field is longer than the message that holds it", err);
        f->at = w->at;
        f->end = w->at += f->value;
    }
    return 1;
}

int assay_wire_next(assay_wire *w, assay_wire_field *f, assay_error *err)
{
    /* A look gives 64 bytes or all that is left (base/view.h): more than a key and a number take. */
    if (w->at >= w->end)
        return 0;
    size_t size = 0;
    int status = ASSAY_OK;
    const uint8_t *bytes = assay_view_look(w->view, w->at, w->end, &size, &status, err);
    if (!bytes)
        return status;
    /* The quick way must accept nothing that the way below refuses. */
    if (size > 1 && bytes[0] >= 1 << 3 && bytes[0] < 0x80 && (bytes[0] & 7) == ASSAY_WIRE_BYTES && bytes[1] < 0x80 &&
        bytes[1] <= w->end - w->at - 2) { /* most fields are such: a small number and a short content */
        w->at += 2;
        *f = (assay_wire_field){.number = bytes[0] >> 3, .type = ASSAY_WIRE_BYTES, .value = bytes[1], .at = w->at};
        f->end = w->at += bytes[1];
        return 1;
    }
    uint64_t key = 0;
    size_t used = assay_varint(bytes, size, &key);
    if (used == 0 || key >> 3 == 0 || key > UINT32_MAX)
        return damage(w, w->at, "a field without a proper number", err);
    f->number = (uint32_t)(key >> 3);
    f->type = (unsigned)(key & 7);
    return read_value(w, f, bytes, size, used, err);
}

int assay_wire_expect(const assay_wire *w, const assay_wire_field *f, unsigned type, assay_error *err)
{
    if (f->type == type)
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EFORMAT,
                      "%s: offset %llu: damaged protobuf message %s: field %u has wire type %u where %u belongs",
                      w->view->path, (unsigned long long)w->at, w->message, f->number, f->type, type);
}

assay_wire assay_wire_into(const assay_wire *w, const assay_wire_field *f, const char *message)
{
    return (assay_wire){w->view, message, f->at, f->end};
}
