/* reader.c - opens files of a trial and their records, and hands out contents in pieces.
 *
 * Of the file a window lies in memory. A record that fits is in it as a whole and never copied. Of a larger one the
 * window has the head; the tail, if its format asks for it, is fetched into a small block, and the content
 * is read straight into the window, piece by piece, or where its reader wants to have all of it. */
#include "trial/reader.h"

#include <assay/rule.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "store/storage.h"
#include "tensor/convert.h"
#include "trial/trial_format.h"

/* ---- piece files ---- */

/* The files of a record in pieces. Several stay open, because the pieces of a tensor that is split
 * along its last dimension take turns at every row. */

/* A tensor that is split along its last dimension has a piece on each worker of a group: 16 cover the usual sizes of
 * groups. */
enum { ASSAY_PIECE_FILES = 16 };

typedef struct assay_piece_file {
    assay_store_file *file; /* NULL: none */
    const char *name;       /* borrowed, until they are closed */
    uint64_t used;
} assay_piece_file;

typedef struct assay_piece_files { /* zero it first */
    /* `turn` is a clock of uses: the file with the lowest `used` goes. */
    assay_piece_file list[ASSAY_PIECE_FILES];
    uint64_t turn;
} assay_piece_files;

/* Closes them all. */
static void assay_piece_files_close(assay_piece_files *files)
{
    for (int i = 0; i < ASSAY_PIECE_FILES; i++) {
        assay_store_close_file(files->list[i].file);
        files->list[i] = (assay_piece_file){0};
    }
}

/* The file of that name, opened in place of the one that was not used for longest. */
static int open_one(assay_piece_files *files, assay_store *store, const char *name, assay_piece_file **out,
                    assay_error *err)
{
    assay_piece_file *best = &files->list[0];
    for (int i = 0; i < ASSAY_PIECE_FILES; i++) {
        assay_piece_file *one = &files->list[i];
        /* Names of one list of files are shared, so most comparisons are of pointers. */
        if (one->file && (one->name == name || strcmp(one->name, name) == 0)) {
            *out = one;
            return ASSAY_OK;
        }
        best = one->used < best->used ? one : best;
    }
    assay_store_close_file(best->file);
    *best = (assay_piece_file){.name = name};
    *out = best;
    return assay_store_open_file(store, name, &best->file, err);
}

/* Reads exactly [at, at + size) of a file of the trial. `name` must stay until they are closed. ASSAY_EFORMAT when the
 * file ends before, ASSAY_ENOTFOUND, ASSAY_EIO, ASSAY_ENOMEM. */
static int assay_piece_files_read(assay_piece_files *files, assay_store *store, const char *name, uint64_t at,
                                  void *bytes, size_t size, assay_error *err)
{
    assay_piece_file *one = NULL;
    size_t got = 0;
    ASSAY_TRY(open_one(files, store, name, &one, err));
    one->used = ++files->turn;
    int status = assay_store_read_at(one->file, at, bytes, size, &got, err);
    if (status == ASSAY_OK && got != size)
        status = assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the file is cut short, or not written to its end yet",
                            name, (unsigned long long)(at + got));
    return status;
}

/* ---- reader ---- */

enum {
    WINDOW_LEAST = 64 << 10,
    /* HEAD and SHORT_HEAD: a head of any format is shorter; a page or a few are read in one request. */
    HEAD = 16 << 10,     /* of a record that is much larger than the window: the rest may be put elsewhere */
    SHORT_HEAD = 4 << 10 /* where nobody wants more of a record */
};
/* BLOCK: room for the tail of a record. PIECE: what statistics take at once, small enough for the first-level cache
 * of most processors together with their state. ALIGN: a line of the cache, and the width of vectors. */
enum { BLOCK = 32 << 10, PIECE = 64 << 10, ALIGN = 64, SOME = 32 << 10 /* whole blocks to statistics */ };

/* Invariant: the window is empty, or belongs to `file`. Of the open record, content [next, end) was not handed out
 * yet. */
struct assay_reader {
    const assay_trial_format *format;
    assay_store *store;
    assay_files *files;  /* of the part; NULL: it lists none */
    uint32_t first_file; /* of the list: where its numbers begin for this record */
    assay_piece_files pieces;
    assay_store_file *file; /* NULL after a failed reopen */
    char *path;
    uint64_t size;
    uint8_t *memory; /* window and block, as they were allocated */
    uint8_t *window; /* [room], aligned */
    size_t room;
    uint64_t base; /* the window holds [base, base + have) */
    size_t have;
    uint64_t expected; /* reads may go on up to here */
    bool heads_only;
    assay_view view; /* of the open record */
    assay_decoded decoded;
    uint8_t *piece; /* PULLED: where the next one is made */
    size_t piece_room;
    bool open;
    assay_record record;
    uint64_t next, end; /* the content that was not handed out: BYTES: file offsets; else places in the content */
    uint8_t *to;        /* the next piece goes here; NULL: it stays in the window */
    uint64_t put;       /* the file's bytes in [next, put) are there already */
};

static int no_memory(const char *path, assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", path);
}

/* Reads exactly [at, at + size), which lies inside the size that the file had when it was opened. */
static int read_exactly(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    const assay_reader *f = context;
    size_t got = 0;
    int status = assay_store_read_at(f->file, at, bytes, size, &got, err);
    if (status == ASSAY_OK && got != size)
        status = assay_fail(err, ASSAY_EIO, "%s: offset %llu: the file became shorter while it was read", f->path,
                            (unsigned long long)(at + got));
    return status;
}

/* assay_index_row.read */
static int read_piece(void *context, uint32_t file, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    assay_reader *f = context;
    if (!f->files || file >= f->files->count - f->first_file)
        return assay_fail(err, ASSAY_EFORMAT, "%s: a piece of it lies in a file that the index does not list", f->path);
    return assay_piece_files_read(&f->pieces, f->store, f->files->file[f->first_file + file].name, at, bytes, size,
                                  err);
}

static int reopen(assay_reader *f, assay_store *store, const assay_trial_format *format, const char *path,
                  assay_error *err)
{
    char *copy = assay_copy_text(path);
    if (!copy)
        return no_memory(path, err);
    /* Closed before the new one is opened: a process has few descriptors, and each rank some hundred files. */
    assay_store_close_file(f->file);
    free(f->path);
    f->file = NULL;
    f->path = copy;
    /* `kept` is the format's memory of forms it has met: useful from file to file of one format. */
    if (f->format != format) {
        free(f->decoded.kept);
        f->decoded.kept = NULL;
    }
    f->format = format;
    f->store = store;
    f->open = false;
    f->have = 0;
    f->expected = f->size = 0;
    int status = assay_store_open_file(store, path, &f->file, err);
    if (status == ASSAY_OK)
        f->size = assay_store_file_size(f->file);
    return status;
}

static assay_reader *new_reader(size_t window)
{
    assay_reader *f = assay_alloc_zeroed(1, sizeof *f);
    if (!f)
        return NULL;
    f->room = window == 0 ? ASSAY_READER_WINDOW : window < WINDOW_LEAST ? WINDOW_LEAST : window;
    f->memory = f->room < SIZE_MAX - BLOCK - ALIGN ? assay_alloc(f->room + BLOCK + ALIGN) : NULL;
    if (!f->memory) {
        free(f);
        return NULL;
    }
    f->window = f->memory + (ALIGN - (uintptr_t)f->memory % ALIGN) % ALIGN;
    return f;
}

/* Takes over what the index says of the file: a list that the reader shares, and the note under that number. `files`
 * is shared with the index, so the note stays as long as the reader has it. */
static void take_files(assay_reader *f, assay_files *files, uint32_t first, uint32_t number)
{
    assay_files *before = f->files;
    assay_index_row row = {.read = read_piece, .context = f, .store = f->store, .list = files};
    f->first_file = first;
    if (before != files)
        assay_piece_files_close(&f->pieces);
    f->files = assay_files_share(files);
    row.note = files ? files->file[number].note : NULL;
    row.note_size = files ? files->file[number].note_size : 0;
    row.files = files ? files->count - first : 0;
    f->decoded.row = row;
    f->open = false;
    assay_files_release(before);
}

/* *reader is made by the first call, and used again by later ones: its window is the largest allocation of a rank's
 * reading. */
int assay_reader_open_path(assay_reader **reader, assay_store *store, unsigned format, const char *path, size_t window,
                           assay_error *err)
{
    assay_reader *f = *reader ? *reader : new_reader(window);
    if (f) {
        take_files(f, NULL, 0, 0);
        f->decoded.options = NULL;
    }
    int status = f ? reopen(f, store, assay_format_of(format), path, err) : no_memory(path, err);
    if (status != ASSAY_OK && !*reader)
        assay_reader_close(f);
    else
        *reader = f;
    return status;
}

/* Called with the same reader for record after record; a file that is open already is not opened again. */
int assay_reader_open(assay_reader **reader, assay_store *store, const assay_catalog *catalog, const assay_part *part,
                      uint32_t file, assay_error *err)
{
    char room[ASSAY_PATH_ROOM];
    const char *path = assay_part_file(catalog, part, file, room);
    if (!path)
        return assay_fail(err, ASSAY_EFORMAT, "the name of the file of step %lld is too long", (long long)part->step);
    /* Records with notes have a number each, and often one file. Two parts may list the same path with other notes:
     * then only the list is replaced. */
    const assay_reader *open = *reader;
    const bool again = open && open->file && open->files && open->store == store &&
                       (open->files == part->files || open->format->in_notes) && strcmp(open->path, path) == 0;
    int status = again ? ASSAY_OK : assay_reader_open_path(reader, store, part->format, path, 0, err);
    if (status == ASSAY_OK && part->files)
        take_files(*reader, part->files, 0, file);
    if (status == ASSAY_OK)
        (*reader)->decoded.options = catalog->options;
    return status;
}

int assay_reader_open_listed(assay_reader **reader, assay_store *store, const assay_trial_options *options,
                             unsigned format, assay_files *files, uint32_t base, uint32_t number, size_t window,
                             assay_error *err)
{
    int status = assay_reader_open_path(reader, store, format, files->file[number].name, window, err);
    if (status == ASSAY_OK) {
        take_files(*reader, files, base, number);
        (*reader)->decoded.options = options;
    }
    return status;
}

void assay_reader_close(assay_reader *f)
{
    if (!f)
        return;
    assay_store_close_file(f->file);
    assay_piece_files_close(&f->pieces);
    assay_files_release(f->files);
    assay_decoded_release(&f->decoded);
    free(f->piece);
    free(f->path);
    free(f->memory);
    free(f);
}

void assay_reader_let_go(assay_reader *f)
{
    f->open = false;
    assay_decoded_let_go(&f->decoded);
}

/* Tells how far reading will go on, so that one read serves several records. */
void assay_reader_expect(assay_reader *f, uint64_t from, uint64_t to)
{
    f->expected = to < f->size ? to : f->size;
}

void assay_reader_want_heads_only(assay_reader *f, bool only)
{
    f->heads_only = only;
}

/* Brings [at, at + least) into the window, and when it has to read, [at, at + size) (least <= size <= room). What the
 * window holds of that already is moved, not read again. */
static int load(assay_reader *f, uint64_t at, size_t least, size_t size, assay_error *err)
{
    size_t kept = 0;
    if (at >= f->base && at - f->base < f->have) {
        const size_t skip = (size_t)(at - f->base);
        kept = f->have - skip;
        if (kept >= least)
            return ASSAY_OK;
        memmove(f->window, f->window + skip, kept);
    }
    f->base = at;
    f->have = kept;
    int status = read_exactly(f, at + kept, f->window + kept, size - kept, err);
    if (status == ASSAY_OK)
        f->have = size;
    return status;
}

/* How much to read at `at` when `least` bytes are needed and `most` are allowed. More is read only up to `expected`:
 * nobody pays for bytes between records that nobody wants. */
static size_t read_ahead(const assay_reader *f, uint64_t at, uint64_t least, size_t most)
{
    uint64_t want = f->expected > at && f->expected - at > least ? f->expected - at : least;
    return want < most ? (size_t)want : most;
}

/* Makes the view of the record: its bytes as far as they are in the window, the rest through the block. */
static int set_view(assay_reader *f, const assay_record *r, assay_error *err)
{
    const uint64_t end = r->offset + r->length;
    bool whole = f->base + f->have >= end;
    f->view = (assay_view){.path = f->path, .limit = end, .window = f->window, .window_at = f->base};
    f->view.window_size = whole ? (size_t)(end - f->base) : f->have;
    f->view.block = f->window + f->room;
    f->view.block_room = BLOCK;
    f->view.read = read_exactly;
    f->view.context = f;
    if (whole || f->format->record_tail == 0)
        return ASSAY_OK;
    /* One read gets the footer and, as a rule, everything else behind the content. The tail lies behind the content,
     * which has not been read: a window would be filled for a few bytes. */
    size_t tail = r->length < f->format->record_tail ? (size_t)r->length : f->format->record_tail;
    int status = read_exactly(f, end - tail, f->view.block, tail, err);
    f->view.block_at = end - tail;
    f->view.block_size = status == ASSAY_OK ? tail : 0;
    return status;
}

static int load_record(assay_reader *f, const assay_record *r, assay_error *err)
{
    if (!f->file)
        return assay_fail(err, ASSAY_EINTERNAL, "%s: no file is open", f->path);
    if (r->length < f->format->record_least)
        return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: a record of %llu bytes: an empty one has %u", f->path,
                          (unsigned long long)r->offset, (unsigned long long)r->length, f->format->record_least);
    /* Assembled records have no bytes of their own, and numbers in notes are in the index already. */
    if (f->format->assembled || (f->format->in_notes && f->decoded.row.note)) {
        f->view = (assay_view){.path = f->path, .read = read_exactly, .context = f};
        return ASSAY_OK;
    }
    if (r->offset > f->size || r->length > f->size - r->offset)
        return assay_fail(
            err, ASSAY_EFORMAT,
            "%s: offset %llu: the record's %llu bytes end behind the end of the file (%llu bytes): the file "
            "is cut short, or not written to its end yet",
            f->path, (unsigned long long)r->offset, (unsigned long long)r->length, (unsigned long long)f->size);
    size_t least = r->length < f->room ? (size_t)r->length : f->room, most = f->room;
    /* A record of more than two windows: its head alone is read, for the content is read in whole windows
     * afterwards. */
    if (f->heads_only ? r->length > SHORT_HEAD : r->length / 2 > f->room)
        least = most = f->heads_only ? SHORT_HEAD : HEAD;
    int status = load(f, r->offset, least, read_ahead(f, r->offset, r->length, most), err);
    return status == ASSAY_OK ? set_view(f, r, err) : status;
}

/* Untrusted: offset and length come from the index, the record from a file; formats check all that they decode. */
int assay_reader_record(assay_reader *f, uint64_t offset, uint64_t length, size_t budget, assay_record *out,
                        assay_error *err)
{
    assay_record *r = &f->record;
    f->open = false;
    f->to = NULL;
    r->offset = offset;
    r->length = length;
    r->wall_time = 0;
    r->step = 0;
    r->tag = NULL;
    r->tag_length = 0;
    r->kind = r->mode = 0;
    /* Members that a format does not set mean "the record does not say". */
    r->mode_step = -1;
    r->checksum = ASSAY_CHECKSUM_NONE;
    f->decoded.sum.on = false;
    assay_decoded_drop_state(&f->decoded);
    int status = load_record(f, r, err);
    ASSAY_THEN(status, f->format->decode(&f->decoded, &f->view, budget, r, err));
    ASSAY_TRY(status);
    if (r->checksum < ASSAY_CHECKSUM_TRUE && assay_store_file_is_summed(f->file))
        r->checksum = ASSAY_CHECKSUM_STORED;
    const bool bytes = r->form == ASSAY_CONTENT_BYTES;
    f->next = bytes ? f->decoded.at : 0;
    f->end = bytes                             ? f->decoded.end
             : r->form == ASSAY_CONTENT_TYPED  ? f->decoded.size
             : r->form == ASSAY_CONTENT_PULLED ? r->content_bytes
                                               : 0;
    f->open = true;
    assay_record_copy(out, r);
    return ASSAY_OK;
}

/* A record leaves step 0 out; then it has no step to compare. */
static bool steps_agree(const assay_record *r, const assay_part *part)
{
    /* own_step: the record has the number that its own worker counted. */
    return (r->step == 0 || r->step == part->own_step) && (r->mode == 0 || r->mode == part->mode) &&
           (r->mode_step < 0 || r->mode_step == part->mode_step);
}

static bool names_agree(const assay_record *r, const assay_entry *entry, const assay_dict *tensors)
{
    size_t length;
    const char *name = assay_dict_name(tensors, entry->tensor, &length);
    return !r->tag || entry->kind == ASSAY_PIECE ||
           (r->kind == (int)entry->kind && r->name_length == length && memcmp(r->name, name, length) == 0);
}

/* A record that is sound but is another than the index means would put one tensor's figures under another's name. */
int assay_reader_entry(assay_reader *f, const assay_part *part, const assay_entry *entry, const assay_dict *tensors,
                       size_t budget, assay_record *out, assay_error *err)
{
    size_t length;
    int status = assay_reader_record(f, entry->offset, entry->length, budget, out, err);
    if (status != ASSAY_OK || (names_agree(out, entry, tensors) && steps_agree(out, part)))
        return status;
    f->open = false;
    if (!names_agree(out, entry, tensors))
        return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the index says '%.200s', the record '%.200s'", f->path,
                          (unsigned long long)out->offset, assay_dict_name(tensors, entry->tensor, &length), out->tag);
    return assay_fail(
        err, ASSAY_EFORMAT,
        "%s: offset %llu: the index says step %lld (%s %lld), the record step %lld (%s %lld): the file is "
        "that of another step",
        f->path, (unsigned long long)out->offset, (long long)part->own_step, assay_mode_name(part->mode),
        (long long)part->mode_step, (long long)out->step, out->mode ? assay_mode_name(out->mode) : "mode step",
        (long long)out->mode_step);
}

/* Numbers of logs lie in notes: no file is opened for them. */
bool assay_part_number(const assay_part *part, const assay_entry *entry, double *value)
{
    const assay_trial_format *format = assay_format_of(part->format);
    const assay_files *files = part->files;
    if (!format->number || entry->kind != ASSAY_RAW || !files || entry->file >= files->count ||
        !files->file[entry->file].note)
        return false;
    const assay_file *file = &files->file[entry->file];
    return format->number(file->note, file->note_size, entry->offset, entry->length, value);
}

/* Bytes of the next piece: whole elements, and multiples of 16, so that pieces begin at elements of every dtype. */
static size_t piece_size(const assay_reader *f, size_t most)
{
    const uint64_t left = f->end - f->next;
    size_t element = assay_dtype_size(f->record.dtype), unit = 16;
    if (most == 0)
        most = PIECE;
    if (most < unit)
        unit = element;
    most = most < unit ? unit : most - most % unit;
    if (most > f->room)
        most = f->room - f->room % 16;
    return left < most ? (size_t)left : most;
}

void assay_reader_put_at(assay_reader *f, uint8_t *to)
{
    f->to = to;
    f->put = f->next;
}

/* Bytes of the content that the window has: all of `size`, or a multiple of `unit`. */
static size_t in_window(const assay_reader *f, size_t size, size_t unit)
{
    const uint64_t inside = f->next - f->base;
    size_t have = inside < f->have ? f->have - (size_t)inside : 0;
    return have >= size ? size : have - have % unit;
}

/* The piece [next, next + *size) at `to`: from the window as far as it reaches, then read there, a window at once.
 * `put` runs ahead of `next`: a window's worth is read at once into the caller's memory, and handed out in pieces. */
static int take_put(assay_reader *f, size_t *size, assay_error *err)
{
    if (f->put == f->next) {
        const size_t block = f->room - f->room % 16,
                     left = f->end - f->next < block ? (size_t)(f->end - f->next) : block;
        const size_t have = in_window(f, left, 1);
        if (have > 0)
            memcpy(f->to, f->window + (f->next - f->base), have);
        ASSAY_TRY(left > have ? read_exactly(f, f->next + have, f->to + have, left - have, err) : ASSAY_OK);
        /* Later looks of the checksum find these bytes there, not in the window. */
        f->view.window = f->to;
        f->view.window_at = f->next;
        f->view.window_size = left;
        f->put = f->next + left;
    }
    *size = f->put - f->next < *size ? (size_t)(f->put - f->next) : *size;
    return ASSAY_OK;
}

/* The piece [next, next + *size) from the window, which is loaded when nothing whole is left in it. */
static int take_bytes(assay_reader *f, const uint8_t **piece, size_t *size, assay_error *err)
{
    /* SOME: fewer bytes than that are not worth a piece of their own; they are moved to the front of the next
     * window. */
    size_t have = in_window(f, *size, SOME);
    if (have > 0) {
        *size = have;
    } else {
        ASSAY_TRY(load(f, f->next, *size, read_ahead(f, f->next, f->end - f->next, f->room), err));
        f->view.window_at = f->base;
        f->view.window_size = f->have < f->view.limit - f->base ? f->have : (size_t)(f->view.limit - f->base);
    }
    *piece = f->window + (f->next - f->base);
    return ASSAY_OK;
}

/* The piece [next, next + size), as the format makes it. */
static int pull_piece(assay_reader *f, size_t size, const uint8_t **piece, assay_error *err)
{
    if (!f->to && size > f->piece_room) {
        uint8_t *grown = assay_realloc_array(f->piece, size, 1);
        if (!grown)
            return no_memory(f->path, err);
        f->piece = grown;
        f->piece_room = size;
    }
    uint8_t *to = f->to ? f->to : f->piece;
    *piece = to;
    return f->decoded.pull(&f->decoded, &f->view, f->next, to, size, err);
}

/* Called until *size is 0, and only then the record is known to be sound: its checksum is compared at the end. */
int assay_reader_content(assay_reader *f, size_t most, const uint8_t **piece, size_t *size, assay_error *err)
{
    static const uint8_t nothing[1];
    if (!f->open)
        return assay_fail(err, ASSAY_EINTERNAL, "%s: no record is open", f->path ? f->path : "a file");
    if (f->next == f->end) {
        *piece = nothing;
        *size = 0;
        int status = assay_decoded_sum(&f->decoded, &f->view, &f->record, f->end, f->decoded.sum.end, err);
        f->open = status == ASSAY_OK;
        return status;
    }
    size_t take = piece_size(f, most);
    const uint8_t *bytes = f->to;
    int status = ASSAY_OK;
    if (f->record.form == ASSAY_CONTENT_BYTES) {
        status = f->to ? take_put(f, &take, err) : take_bytes(f, &bytes, &take, err);
        ASSAY_THEN(status, assay_decoded_sum(&f->decoded, &f->view, &f->record, f->next, f->next + take, err));
    } else if (f->record.form == ASSAY_CONTENT_PULLED) {
        status = pull_piece(f, take, &bytes, err);
    } else {
        bytes = f->to ? memcpy(f->to, f->decoded.bytes + f->next, take) : f->decoded.bytes + f->next;
    }
    if (status != ASSAY_OK) {
        f->open = false;
        return status;
    }
    *piece = bytes;
    *size = take;
    f->next += take;
    f->to = f->to ? f->to + take : NULL;
    return ASSAY_OK;
}

int assay_reader_number(assay_reader *f, double *value, assay_error *err)
{
    const uint8_t *piece;
    size_t size = 0;
    if (f->record.dtype == ASSAY_STRING || f->record.elements != 1)
        return assay_fail(err, ASSAY_EFORMAT, "a saved reduction must be one number");
    int status = assay_reader_content(f, 0, &piece, &size, err);
    if (status == ASSAY_OK && size != assay_dtype_size(f->record.dtype))
        status = assay_fail(err, ASSAY_EFORMAT, "a saved reduction has no value");
    ASSAY_TRY(status);
    assay_to_double(f->record.dtype, piece, 1, value);
    /* The second call gets no bytes, but the verdict over the checksum. */
    return assay_reader_content(f, 0, &piece, &size, err); /* at the end the checksum is known to be right */
}

bool assay_reader_place(const assay_reader *f, const char **path, uint64_t *offset)
{
    *path = f->path;
    *offset = f->next;
    return f->open && f->record.form == ASSAY_CONTENT_BYTES;
}

const char *assay_reader_string(const assay_reader *f, uint64_t i, size_t *length)
{
    const assay_text_place *text = &f->decoded.texts[i];
    *length = text->length;
    return (const char *)f->decoded.bytes + text->at;
}
