/* Any bytes as an Event, decoded twice: wholly in memory, and through a tiny window and blocks. Both must agree. */
#include <stdlib.h>
#include <string.h>

#include "format/tfrecord/record.h"
#include "format/tfrecord/typed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

typedef struct result {
    int status;
    assay_record record;
    assay_record_parts parts;
    assay_decoded typed;
    assay_error err;
} result;

enum { AT = 1000000, BLOCK = 80 }; /* the payload's offset in a file that is not there */

static int read_bytes(void *context, uint64_t at, void *out, size_t size, assay_error *err)
{
    const bytes *b = context;
    (void)err;
    if (at < AT || at - AT > b->size || size > b->size - (at - AT))
        abort(); /* a read outside the payload */
    memcpy(out, b->data + (at - AT), size);
    return ASSAY_OK;
}

static void decode(const bytes *b, size_t window, result *r)
{
    static uint8_t block[BLOCK];
    uint8_t *part = malloc(window + 1); /* of its own, so that a sanitizer sees reads past the window */
    if (!part)
        abort();
    memcpy(part, b->data, window);
    assay_view view = {.path = "fuzz", .limit = AT + b->size, .window = part, .window_at = AT, .window_size = window};
    view.block = block;
    view.block_room = BLOCK;
    view.read = read_bytes;
    view.context = (void *)(uintptr_t)b;
    r->status = assay_record_walk(&view, AT, AT + b->size, &r->parts, &r->record, &r->err);
    if (r->status == ASSAY_OK)
        r->status = assay_record_describe(&view, &r->parts, &r->record, &r->err);
    if (r->status == ASSAY_OK && r->record.form == ASSAY_CONTENT_TYPED)
        r->status = assay_typed_numbers(&r->typed, &view, &r->parts, &r->record, 1 << 20, &r->err);
    if (r->status == ASSAY_OK && r->record.form == ASSAY_CONTENT_STRINGS)
        r->status = assay_typed_strings(&r->typed, &view, &r->parts, &r->record, 1 << 20, &r->err);
    free(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bytes b = {data, size};
    static const uint8_t none[1];
    if (size == 0)
        data = none;
    result whole = {0}, cut = {0};
    decode(&b, size, &whole);
    decode(&b, size / 3, &cut);
    if (whole.status != cut.status || strcmp(whole.err.text, cut.err.text) != 0)
        abort();
    if (whole.status == ASSAY_OK) {
        const assay_record *x = &whole.record, *y = &cut.record;
        if (x->elements != y->elements || x->dtype != y->dtype || x->dims != y->dims || x->form != y->form ||
            x->mode != y->mode || x->mode_step != y->mode_step || x->content_bytes != y->content_bytes ||
            whole.typed.size != cut.typed.size ||
            (x->form != ASSAY_CONTENT_BYTES && whole.typed.size > 0 &&
             memcmp(whole.typed.bytes, cut.typed.bytes, whole.typed.size) != 0))
            abort();
        if (whole.parts.tag_end - whole.parts.tag_at > size || whole.parts.content_end > AT + size)
            abort();
    }
    assay_decoded_release(&whole.typed);
    assay_decoded_release(&cut.typed);
    return 0;
}
