/* reader.h - records of a trial, of any format.
 *
 * A record is opened by its byte range from the index; its format decodes its head, then its content is pulled in
 * pieces, so that a tensor of any size passes through one buffer. A small record is wholly in the buffer: its content
 * is one piece that points into it, unless the format has to make it (decoded.h). */
#ifndef ASSAY_TRIAL_READER_H
#define ASSAY_TRIAL_READER_H

#include "trial/index.h"
#include "trial/record.h"
#include "trial/storage/storage.h"

enum {
    ASSAY_READER_WINDOW = 512 << 10 /* bytes of a file in memory; stays in the cache beside what it is copied from */
};

typedef struct assay_reader assay_reader;

/* Opens a file of a part, by its number, in *reader; it is made where it is NULL, and keeps its buffers else; a file
 * that it has open already under another number stays open. Nothing is open in it after a failure. ASSAY_ENOTFOUND,
 * ASSAY_EIO, ASSAY_EFORMAT (a name that is too long), ASSAY_ENOMEM. The part's list of files is shared, the part itself
 * not kept. */
int assay_reader_open(assay_reader **reader, assay_store *store, const assay_catalog *catalog, const assay_part *part,
                      uint32_t file, assay_error *err);
/* Opens a file by its path, likewise; `window` is the size of a new reader's buffer (at least 64 KiB; 0:
 * ASSAY_READER_WINDOW). */
int assay_reader_open_path(assay_reader **reader, assay_store *store, unsigned format, const char *path, size_t window,
                           assay_error *err);
/* NULL is ignored. */
void assay_reader_close(assay_reader *file);

/* Says that everything in [from, to) will be asked for, in order, so that one read may cover several records. */
void assay_reader_expect(assay_reader *file, uint64_t from, uint64_t to);

/* Opens the record at [offset, offset + length): checks the frame (length field, its CRC, the footer's CRC or the
 * constant where the record is wholly in the buffer), decodes the Event and positions at the content's start.
 * Invalidates the record opened before. Messages name the file, the offset and what is wrong. ASSAY_EFORMAT (damage),
 * ASSAY_EIO, ASSAY_ENOMEM, ASSAY_EBUDGET (typed values or strings larger than `budget` bytes when decoded). */
int assay_reader_record(assay_reader *file, uint64_t offset, uint64_t length, size_t budget, assay_record *out,
                        assay_error *err);

/* As assay_reader_record(), of an entry of a part whose file is open. What the record says of itself (name, step, mode,
 * mode step), as far as it does, must be what the index says; ASSAY_EFORMAT else: the file is another's. */
int assay_reader_entry(assay_reader *file, const assay_part *part, const assay_entry *entry, const assay_dict *tensors,
                       size_t budget, assay_record *out, assay_error *err);

/* Right after assay_reader_record(), not for strings: the content is put at `to` as it is asked for, all of it in the
 * end, and each piece is given out from there. Of a record that is larger than the window most is read right there.
 * `to` has room for all elements in their dtype's size, and is the caller's to keep until the next record is opened. */
void assay_reader_put_at(assay_reader *file, uint8_t *to);

/* The next piece of the content: at most `most` bytes (0: what suits the cache), whole elements, in order. *size is 0
 * at the end; only then is a payload whose true CRC had to be computed piece by piece known to be sound: ASSAY_EFORMAT
 * there means that all pieces are to be discarded. The piece is valid until the next call on this file. Not for
 * strings. */
int assay_reader_content(assay_reader *file, size_t most, const uint8_t **piece, size_t *size, assay_error *err);

/* Right after assay_reader_record(): the one number that a saved reduction is, read to its end. ASSAY_EFORMAT for what
 * is none, and as assay_reader_content(). */
int assay_reader_number(assay_reader *file, double *value, assay_error *err);

/* Closes the record and frees what its typed values or strings were decoded into, which else is kept for the next one.
 * The file stays open. */
void assay_reader_let_go(assay_reader *file);

/* The i-th string, not terminated. Only for ASSAY_CONTENT_STRINGS, i < elements. */
const char *assay_reader_string(const assay_reader *file, uint64_t i, size_t *length);

#endif
