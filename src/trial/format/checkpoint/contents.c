/* contents.c - gathers the tensors of a checkpoint, and writes and reads their notes. */
#include "trial/format/checkpoint/contents.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "trial/format/checkpoint/boxes.h"

int assay_contents_init(assay_contents *c, assay_store *store, int64_t step, const char *directory,
                        assay_problems *problems)
{
    *c = (assay_contents){.store = store, .problems = problems, .step = step, .directory = directory};
    assay_buf_init(&c->notes, SIZE_MAX);
    c->names = assay_dict_new();
    c->files = assay_dict_new();
    return c->names && c->files ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_contents_release(assay_contents *c)
{
    assay_dict_free(c->names);
    assay_dict_free(c->files);
    free(c->tensor);
    free(c->number);
    assay_boxes_free(c->boxes);
    assay_buf_release(&c->notes);
    *c = (assay_contents){0};
}

void assay_contents_add(assay_contents *c, assay_ckpt_role role, const char *name, size_t name_length, uint32_t file,
                        uint64_t offset, uint64_t length, const assay_ckpt_place *place, const assay_ckpt_piece *pieces)
{
    if (c->status != ASSAY_OK)
        return;
    if (c->count == c->room) {
        const size_t room = c->room ? 2 * c->room : 256;
        assay_ckpt_tensor *grown = assay_realloc_array(c->tensor, room, sizeof *grown);
        if (!grown) {
            c->status = ASSAY_ENOMEM;
            return;
        }
        c->tensor = grown;
        c->room = room;
    }
    const uint32_t known = assay_dict_count(c->names), id = assay_dict_add(c->names, name, name_length);
    if (id == ASSAY_NO_ID) {
        c->status = ASSAY_ENOMEM;
        return;
    }
    assay_ckpt_tensor *added = &c->tensor[c->count];
    if (id < known) {
        const char *path = assay_dict_name(c->files, file, NULL);
        const bool again = c->tensor[id].file == file; /* of a dictionary the later one counts, as where it is loaded */
        assay_problems_add(c->problems, ASSAY_PROBLEM_DUPLICATE_TENSOR, c->step, path, -1,
                           "%s: %s is in %s already; %s", path, assay_dict_name(c->names, id, NULL),
                           assay_dict_name(c->files, c->tensor[id].file, NULL),
                           again ? "the later one counts" : "this one is left out");
        if (!again)
            return;
        added = &c->tensor[id];
    }
    const size_t note = c->notes.size;
    assay_ckpt_place whole = *place;
    whole.length = length;
    assay_ckpt_note_put(&c->notes, &whole, pieces);
    c->count += id == known;
    *added = (assay_ckpt_tensor){.name = id,
                                 .file = file,
                                 .offset = offset,
                                 .length = length,
                                 .note = note,
                                 .note_size = c->notes.size - note,
                                 .role = (uint8_t)role,
                                 .in_order = c->in_order};
    c->status = assay_buf_status(&c->notes);
}

void assay_contents_add_number(assay_contents *c, assay_ckpt_number number)
{
    if (c->numbers == c->number_room) {
        const size_t room = c->number_room ? 2 * c->number_room : 256;
        assay_ckpt_number *grown = assay_realloc_array(c->number, room, sizeof *grown);
        if (!grown) {
            c->status = ASSAY_ENOMEM;
            return;
        }
        c->number = grown;
        c->number_room = room;
    }
    c->number[c->numbers++] = number;
}

/* ---- notes ---- */

static void put_numbers(assay_buf *out, const int64_t *number, int count)
{
    for (int i = 0; i < count; i++)
        assay_put_i64(out, number[i]);
}

static void get_numbers(assay_cursor *in, int64_t *number, int count)
{
    for (int i = 0; i < count; i++)
        number[i] = assay_get_i64(in);
}

void assay_ckpt_note_put(assay_buf *out, const assay_ckpt_place *place, const assay_ckpt_piece *pieces)
{
    assay_put_u8(out, (uint8_t)place->form);
    assay_put_u8(out, (uint8_t)place->flags);
    assay_put_u8(out, (uint8_t)place->dtype);
    assay_put_u8(out, (uint8_t)place->dims);
    assay_put_u64(out, place->length);
    put_numbers(out, place->shape, place->dims);
    if (place->flags & ASSAY_CKPT_CHECKED)
        assay_put_u32(out, place->crc);
    if (place->flags & ASSAY_CKPT_DEFLATED)
        assay_put_u64(out, place->inflated);
    if (place->form == ASSAY_CKPT_STRIDED) {
        assay_put_u64(out, place->first);
        put_numbers(out, place->stride, place->dims);
    }
    if (place->form == ASSAY_CKPT_PIECES) {
        assay_put_u32(out, place->pieces);
        for (uint32_t i = 0; i < place->pieces; i++) {
            assay_put_u32(out, pieces[i].file);
            assay_put_u64(out, pieces[i].offset);
            put_numbers(out, pieces[i].first, place->dims);
            put_numbers(out, pieces[i].size, place->dims);
        }
    }
}

bool assay_ckpt_note_get(assay_cursor *in, assay_ckpt_place *place)
{
    place->form = (assay_ckpt_form)assay_get_u8(in);
    place->flags = assay_get_u8(in);
    place->dtype = assay_get_u8(in);
    place->dims = assay_get_u8(in);
    place->length = assay_get_u64(in);
    place->pieces = 0;
    if (place->dims > ASSAY_MAX_DIMS || !assay_dtype_known(place->dtype) || place->form > ASSAY_CKPT_PIECES)
        return false;
    get_numbers(in, place->shape, place->dims);
    if (place->flags & ASSAY_CKPT_CHECKED)
        place->crc = assay_get_u32(in);
    if (place->flags & ASSAY_CKPT_DEFLATED)
        place->inflated = assay_get_u64(in);
    if (place->form == ASSAY_CKPT_STRIDED) {
        place->first = assay_get_u64(in);
        get_numbers(in, place->stride, place->dims);
    }
    if (place->form == ASSAY_CKPT_PIECES)
        place->pieces = assay_get_u32(in);
    return !in->failed;
}

bool assay_ckpt_note_piece(assay_cursor *in, const assay_ckpt_place *place, assay_ckpt_piece *piece)
{
    piece->file = assay_get_u32(in);
    piece->offset = assay_get_u64(in);
    get_numbers(in, piece->first, place->dims);
    get_numbers(in, piece->size, place->dims);
    return !in->failed;
}

/* ---- files ---- */

void assay_ckpt_problem(const assay_ckpt_file *f, int kind, int64_t offset, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (offset >= 0)
        assay_problems_add(f->to->problems, kind, f->to->step, f->path, offset, "%s: offset %lld: %s", f->path,
                           (long long)offset, text);
    else
        assay_problems_add(f->to->problems, kind, f->to->step, f->path, -1, "%s: %s", f->path, text);
}

int assay_ckpt_read(void *file, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    const assay_ckpt_file *f = file;
    size_t got = 0;
    int status = assay_store_read_at(f->file, f->base + at, bytes, size, &got, err);
    if (status == ASSAY_OK && got != size)
        status = assay_fail(err, ASSAY_EIO, "%s: offset %llu: the file became shorter while it was read", f->path,
                            (unsigned long long)(f->base + at + got));
    return status;
}
