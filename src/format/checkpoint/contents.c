/* contents.c - gathers the tensors of a checkpoint, and writes and reads their notes. */
#include "format/checkpoint/contents.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/heap.h"
#include "format/checkpoint/boxes.h"

enum { FIRST_TENSORS = 256, NOTE = 32 /* bytes of most notes: of a matrix in a range of its file */ };

int assay_contents_init(assay_contents *c, assay_store *store, int64_t step, const char *directory,
                        assay_problems *problems)
{
    *c = (assay_contents){.store = store, .problems = problems, .step = step, .directory = directory};
    assay_buf_init(&c->notes, SIZE_MAX);
    c->names = assay_dict_new();
    c->files = assay_dict_new();
    c->mapped = assay_dict_new();
    return c->names && c->files && c->mapped ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_contents_release(assay_contents *c)
{
    assay_dict_free(c->names);
    assay_dict_free(c->files);
    assay_dict_free(c->mapped);
    free(c->tensor);
    free(c->number);
    assay_boxes_free(c->boxes);
    assay_buf_release(&c->notes);
    free(c->scratch);
    *c = (assay_contents){0};
}

static int reserve_notes(assay_contents *c, size_t room)
{
    uint8_t *grown = assay_heap_grow_large(c->notes.data, c->notes.size, room);
    if (!grown)
        return c->status = ASSAY_ENOMEM;
    c->notes.data = grown;
    c->notes.room = room;
    return ASSAY_OK;
}

int assay_contents_reserve(assay_contents *c, size_t more)
{
    if (more <= c->room - c->count)
        return ASSAY_OK;
    const size_t least = c->count + more, room = 2 * c->room > least ? 2 * c->room : least;
    assay_ckpt_tensor *grown = room > SIZE_MAX / sizeof *grown
                                   ? NULL
                                   : assay_heap_grow_large(c->tensor, c->count * sizeof *grown, room * sizeof *grown);
    if (!grown)
        return c->status = ASSAY_ENOMEM;
    c->tensor = grown;
    c->room = room;
    return room * NOTE < c->notes.room ? ASSAY_OK : reserve_notes(c, room * NOTE + 1);
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

static bool in_pieces(const assay_ckpt_place *place)
{
    return place->form == ASSAY_CKPT_PIECES || place->form == ASSAY_CKPT_RUNS;
}

static int piece_dims(const assay_ckpt_place *place)
{
    return place->form == ASSAY_CKPT_RUNS ? 1 : place->dims;
}

enum { NOTE_FORM, NOTE_FLAGS, NOTE_DTYPE, NOTE_DIMS, NOTE_HEAD }; /* bytes that a note begins with */

static uint8_t *set_u64(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> 8 * i);
    return at + 8;
}

/* What every note begins with goes there at once: most have nothing else. */
static void put_note(assay_buf *out, const assay_ckpt_place *place, uint64_t length, const assay_ckpt_piece *pieces)
{
    uint8_t head[NOTE_HEAD + 8 + 8 * ASSAY_MAX_DIMS], *at = head + NOTE_HEAD;
    head[NOTE_FORM] = (uint8_t)place->form;
    head[NOTE_FLAGS] = (uint8_t)place->flags;
    head[NOTE_DTYPE] = (uint8_t)place->dtype;
    head[NOTE_DIMS] = (uint8_t)place->dims;
    at = set_u64(at, length);
    for (int i = 0; i < place->dims; i++)
        at = set_u64(at, (uint64_t)place->shape[i]);
    assay_put_bytes(out, head, (size_t)(at - head));
    if (place->flags & ASSAY_CKPT_CHECKED)
        assay_put_u32(out, place->crc);
    if (place->flags & ASSAY_CKPT_DEFLATED)
        assay_put_u64(out, place->inflated);
    if (place->form == ASSAY_CKPT_STRIDED) {
        assay_put_u64(out, place->first);
        put_numbers(out, place->stride, place->dims);
    }
    if (in_pieces(place)) {
        assay_put_u32(out, place->pieces);
        for (uint32_t i = 0; i < place->pieces; i++) {
            assay_put_u32(out, pieces[i].file);
            assay_put_u64(out, pieces[i].offset);
            put_numbers(out, pieces[i].first, piece_dims(place));
            put_numbers(out, pieces[i].size, piece_dims(place));
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
    if (place->dims > ASSAY_MAX_DIMS || !assay_dtype_known(place->dtype) || place->form > ASSAY_CKPT_RUNS)
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
    if (in_pieces(place))
        place->pieces = assay_get_u32(in);
    return !in->failed;
}

bool assay_ckpt_note_is_plain(const uint8_t *note)
{
    return note[NOTE_FORM] == ASSAY_CKPT_RANGE && !(note[NOTE_FLAGS] & (ASSAY_CKPT_DEFLATED | ASSAY_CKPT_PACKED));
}

bool assay_ckpt_note_piece(assay_cursor *in, const assay_ckpt_place *place, assay_ckpt_piece *piece)
{
    piece->file = assay_get_u32(in);
    piece->offset = assay_get_u64(in);
    get_numbers(in, piece->first, piece_dims(place));
    get_numbers(in, piece->size, piece_dims(place));
    return !in->failed;
}

/* ---- tensors ---- */

/* The tensor of that name, added with nothing but its name when it is new; NULL without memory. Places and names have
 * the same numbers until names.c gives new ones. */
static assay_ckpt_tensor *find_tensor(assay_contents *c, const char *name, size_t length, bool *known)
{
    if (c->status != ASSAY_OK || (c->count == c->room && assay_contents_reserve(c, FIRST_TENSORS) != ASSAY_OK))
        return NULL;
    const uint32_t id = assay_dict_add(c->names, name, length);
    if (id == ASSAY_NO_ID) {
        c->status = ASSAY_ENOMEM;
        return NULL;
    }
    *known = id < c->count;
    if (!*known)
        c->tensor[c->count++] = (assay_ckpt_tensor){.name = id, .file = ASSAY_NO_ID, .state = ASSAY_CKPT_PROMISED};
    return &c->tensor[id];
}

bool assay_contents_take_names(assay_contents *c, assay_dict *names)
{
    if (assay_dict_count(c->names) > 0 || assay_dict_count(c->mapped) > 1)
        return false;
    assay_dict_free(c->names);
    c->names = names;
    return true;
}

/* Another model beside the first has tensors of the same names: whoever judges models judges it by itself. */
static void name_other_model(assay_contents *c, const char *path, const char *first)
{
    for (size_t i = 0; i < c->problems->kept; i++)
        if (c->problems->list[i].kind == ASSAY_PROBLEM_SET_ASIDE && strcmp(c->problems->list[i].file, path) == 0)
            return;
    assay_problems_add(c->problems, ASSAY_PROBLEM_SET_ASIDE, c->step, path, -1,
                       "%s: another model than %s beside it: of tensors that are in both, that one's are read", path,
                       first);
}

uint32_t assay_contents_add(assay_contents *c, const assay_ckpt_found *found)
{
    const uint32_t file = found->at.file;
    bool known = false;
    assay_ckpt_tensor *added = find_tensor(c, found->name, found->name_length, &known);
    if (!added)
        return ASSAY_NO_ID;
    if (known && added->state == ASSAY_CKPT_HELD) {
        const char *path = assay_dict_name(c->files, file, NULL);
        const bool again = added->file == file; /* of a dictionary the later one counts, as where it is loaded */
        if (c->several && !again)
            name_other_model(c, path, assay_dict_name(c->files, added->file, NULL));
        else
            assay_problems_add(c->problems, ASSAY_PROBLEM_DUPLICATE_TENSOR, c->step, path, -1,
                               "%s: %s is in %s already; %s", path, assay_dict_name(c->names, added->name, NULL),
                               assay_dict_name(c->files, added->file, NULL),
                               again ? "the later one counts" : "this one is left out");
        if (!again)
            return added->name;
    }
    const size_t note = c->notes.size;
    put_note(&c->notes, found->place, found->at.length, found->pieces);
    *added = (assay_ckpt_tensor){.name = added->name,
                                 .file = file,
                                 .offset = found->at.offset,
                                 .length = found->at.length,
                                 .note = note,
                                 .note_size = c->notes.size - note,
                                 .role = (uint8_t)found->role,
                                 .in_order = c->in_order};
    c->status = assay_buf_status(&c->notes);
    return added->name;
}

bool assay_contents_has_model(const assay_contents *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->tensor[i].role == ASSAY_CKPT_MODEL)
            return true;
    return false;
}

void assay_contents_promise(assay_contents *c, assay_ckpt_role role, const char *name, size_t name_length)
{
    bool known = false;
    assay_ckpt_tensor *added = find_tensor(c, name, name_length, &known);
    if (added && !known)
        added->role = (uint8_t)role;
}

bool assay_contents_holds(const assay_contents *c, const char *name, size_t name_length)
{
    const uint32_t id = assay_dict_find(c->names, name, name_length);
    return id != ASSAY_NO_ID && c->tensor[id].state == ASSAY_CKPT_HELD;
}

void assay_contents_alias(assay_contents *c, const char *name, size_t name_length, const char *first,
                          size_t first_length)
{
    bool known = false;
    const uint32_t of = assay_dict_find(c->names, first, first_length);
    assay_ckpt_tensor *added = of == ASSAY_NO_ID ? NULL : find_tensor(c, name, name_length, &known);
    if (!added || (known && added->state == ASSAY_CKPT_HELD))
        return;
    added->role = ASSAY_CKPT_MODEL;
    added->state = ASSAY_CKPT_ALIAS;
    added->first = of;
}

void assay_contents_set_betas(assay_contents *c, double beta1, double beta2)
{
    if (c->has_betas)
        return;
    c->has_betas = true;
    c->betas[0] = beta1;
    c->betas[1] = beta2;
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

void assay_ckpt_name_behind(const assay_contents *c, const char *path, uint64_t size, uint64_t end)
{
    if (end < size)
        assay_problems_add(c->problems, ASSAY_PROBLEM_BEHIND, c->step, path, (int64_t)end,
                           "%s: offset %llu: %llu bytes stand behind its end, which no loader reads", path,
                           (unsigned long long)end, (unsigned long long)(size - end));
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

void assay_ckpt_unheard(assay_store *store, assay_problems *problems)
{
    for (size_t i = 0; i < problems->kept; i++)
        if (problems->list[i].kind == ASSAY_PROBLEM_READ || problems->list[i].kind == ASSAY_PROBLEM_UNSEEN)
            assay_store_note(store, problems->list[i].file, problems->list[i].text);
    assay_problems_release(problems);
}
