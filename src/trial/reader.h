/* reader.h - records of a trial, of any format.
 *
 * A record is opened by its byte range from the index; its format decodes its head, then its content is pulled in
 * pieces, so that a tensor of any size passes through one buffer. A small record is wholly in the buffer: its content
 * is one piece that points into it, unless the format has to make it (decoded.h). */
#pragma once

#include "trial/index.h"
#include "trial/record.h"
#include "store/storage.h"

enum {
    ASSAY_READER_WINDOW = 128 << 10 /* bytes of a file in memory; stays in the cache beside what it is copied from */
};

typedef struct assay_reader assay_reader;

/* Opens a file of a part, by its number, in *reader. Makes a reader where that is NULL; else the reader keeps its
 * buffers, and a file stays open that it has already under another number. After a failure nothing is open in it.
 * ASSAY_ENOTFOUND, ASSAY_EIO, ASSAY_EFORMAT (a name that is too long), ASSAY_ENOMEM. The reader shares the part's list
 * of files; it does not keep the part. */
int assay_reader_open(assay_reader **reader, assay_store *store, const assay_catalog *catalog, const assay_part *part,
                      uint32_t file, assay_error *err);
/* Opens a file by its path, likewise; `window` is the size of a new reader's buffer (at least 64 KiB; 0:
 * ASSAY_READER_WINDOW). */
int assay_reader_open_path(assay_reader **reader, assay_store *store, unsigned format, const char *path, size_t window,
                           assay_error *err);
/* Opens a file of a list, by its number, likewise, for the note that it has there; numbers of files in notes count from
 * `base`. The reader shares the list. */
int assay_reader_open_listed(assay_reader **reader, assay_store *store, const assay_trial_options *options,
                             unsigned format, assay_files *files, uint32_t base, uint32_t number, size_t window,
                             assay_error *err);
/* NULL is ignored. */
void assay_reader_close(assay_reader *file);

/* Announces reads of everything in [from, to), in order: one read may then cover several records. */
void assay_reader_expect(assay_reader *file, uint64_t from, uint64_t to);

/* Of records that are opened from now on, does nobody want more than the head? Then no more is read for it; the content
 * can still be pulled. */
void assay_reader_want_heads_only(assay_reader *file, bool only);

/* Opens the record at [offset, offset + length): its format checks and decodes the head, and the reader stands at the
 * start of the content. The record opened before ends. Messages name the file, the offset and what is wrong.
 * ASSAY_EFORMAT (damage), ASSAY_EIO, ASSAY_ENOMEM, ASSAY_EBUDGET (content that must be decoded as a whole takes more
 * than `budget` bytes). */
int assay_reader_record(assay_reader *file, uint64_t offset, uint64_t length, size_t budget, assay_record *out,
                        assay_error *err);

/* As assay_reader_record(), for an entry of a part whose file is open. Where the record has a name, step, mode or mode
 * step of its own, these must be those of the index. ASSAY_EFORMAT also where they differ: the file belongs to another
 * part. */
int assay_reader_entry(assay_reader *file, const assay_part *part, const assay_entry *entry, const assay_dict *tensors,
                       size_t budget, assay_record *out, assay_error *err);

/* The number that an entry's record is, where the index has it: then no file needs to be open. The record says nothing
 * else, and a checksum covers it. False: it has to be read. */
bool assay_part_number(const assay_part *part, const assay_entry *entry, double *value);

/* Right after assay_reader_record(), not for strings: assay_reader_content() collects the content at `to`, and its
 * pieces point there. Most of a record larger than the window is read straight to `to`. It has room for all elements in
 * their dtype's size; the caller keeps it until the next record is opened. */
void assay_reader_put_at(assay_reader *file, uint8_t *to);

/* The next piece of the content: at most `most` bytes (0: what suits the cache), whole elements, in order. *size is 0
 * at the end. A checksum over all pieces is compared there: on ASSAY_EFORMAT discard every piece. The piece is valid
 * until the next call on this file. Not for strings. */
int assay_reader_content(assay_reader *file, size_t most, const uint8_t **piece, size_t *size, assay_error *err);

/* Right after assay_reader_record(): reads the one number of a saved reduction. ASSAY_EFORMAT when the record is not
 * one number; else as assay_reader_content(). */
int assay_reader_number(assay_reader *file, double *value, assay_error *err);

/* Right after assay_reader_record(): sets the file's path in the trial, and where the content begins in it; false where
 * the content is not one stretch of the file, as it is in memory. */
bool assay_reader_place(const assay_reader *file, const char **path, uint64_t *offset);

/* Closes the record and frees the memory of its decoded values or strings, which the next record would use again. The
 * file stays open. */
void assay_reader_let_go(assay_reader *file);

/* The i-th string, not terminated. Only for ASSAY_CONTENT_STRINGS, i < elements. */
const char *assay_reader_string(const assay_reader *file, uint64_t i, size_t *length);
