/* wire.h - bounded reading of protobuf wire format, from bytes that need not lie in memory as a whole (base/view.h). */
#pragma once

#include "base/view.h"

enum { ASSAY_WIRE_VARINT = 0, ASSAY_WIRE_FIXED64 = 1, ASSAY_WIRE_BYTES = 2, ASSAY_WIRE_FIXED32 = 5 };

/* A message within a view. */
typedef struct assay_wire {
    assay_view *view;
    const char *message; /* its type's name, for messages */
    uint64_t at, end;
} assay_wire;

typedef struct assay_wire_field {
    uint32_t number;
    unsigned type;
    uint64_t value;   /* VARINT, FIXED64, FIXED32: the bits */
    uint64_t at, end; /* BYTES: where they lie; for the others empty */
} assay_wire_field;

/* The next field. 1; 0 at the end of the message; negative: damage (ASSAY_EFORMAT, the message names place and field)
 * or a failed read. The bytes of a BYTES field are stepped over, not looked at. */
int assay_wire_next(assay_wire *wire, assay_wire_field *field, assay_error *err);
/* Fails unless the field has the type that its number stands for. */
int assay_wire_expect(const assay_wire *wire, const assay_wire_field *field, unsigned type, assay_error *err);
/* The message in a BYTES field. */
assay_wire assay_wire_into(const assay_wire *wire, const assay_wire_field *field, const char *message);

/* Decodes a varint from `size` bytes; returns the bytes it took, 0 when it is cut short or longer than ten. */
size_t assay_varint(const uint8_t *bytes, size_t size, uint64_t *value);
