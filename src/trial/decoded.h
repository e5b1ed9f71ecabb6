/* decoded.h - the result of decoding a record's head: where the content lies, or the content itself. Inside trial only.
 *
 * How content reaches its reader, by its form:
 *   BYTES    elements as they lie in the file, handed out from the window without a copy
 *   PULLED   made piece by piece by the format: compressed, swapped, strided, or gathered from several places
 *   TYPED    made as a whole, and kept in memory
 *   STRINGS  made as a whole, and kept in memory */
#pragma once

#include "base/view.h"
#include "trial/index.h"
#include "trial/options.h"
#include "trial/record.h"

typedef struct assay_decoded assay_decoded;

/* A checksum that is computed while the content goes by. */
typedef struct assay_running_sum {
    bool on;
    uint32_t sum, said; /* computed so far; stored in the record */
    uint64_t end;       /* of the covered bytes, in the file */
    uint32_t (*feed)(uint32_t sum, const void *bytes, size_t size);
    int (*check)(uint32_t said, uint32_t sum, const char *path, uint64_t offset, assay_error *err);
} assay_running_sum;

typedef struct assay_text_place { /* one string, in `bytes` */
    size_t at, length;
} assay_text_place;

/* What the index says of the record; the reader sets it before it calls decode(). */
typedef struct assay_index_row {
    const uint8_t *note; /* assay_file.note of the record's file; NULL: none */
    size_t note_size;
    uint32_t files; /* how many the part lists */
    /* Reads exactly `size` bytes at `at` of a file of the part, by its number: for records in pieces. Several files
     * stay open. ASSAY_EFORMAT when it is no file of the part or ends before, ASSAY_ENOTFOUND, ASSAY_EIO, ASSAY_ENOMEM.
     */
    int (*read)(void *context, uint32_t file, uint64_t at, void *bytes, size_t size, assay_error *err);
    void *context;
    assay_store *store; /* the trial's */
    assay_files *list;  /* of the part; NULL: it lists none */
} assay_index_row;

/* Its memory is kept from record to record. */
struct assay_decoded {
    assay_index_row row;
    const assay_trial_options *options; /* the trial's; NULL: none; the reader sets it */
    uint8_t *bytes;                     /* TYPED: elements in their dtype; STRINGS: the bytes of all strings */
    size_t size, room;
    assay_text_place *texts; /* one an element */
    size_t text_room;
    char *tag;
    size_t tag_room;
    uint64_t at, end; /* BYTES: of the content in the file. PULLED: the format's own */
    /* PULLED: makes the content's bytes [from, from + size), whole elements, in order from the first one. */
    int (*pull)(assay_decoded *d, assay_view *view, uint64_t from, uint8_t *to, size_t size, assay_error *err);
    size_t number; /* the format's own */
    /* The format's own between decode() and the last pull(), such as the state of a decompressor; `state_free` gets it
     * when the next record is opened, or the reader closed. NULL: none. */
    void *state;
    void (*state_free)(void *state);
    void *kept; /* the format's own, from record to record and file to file, for free(); NULL: none */
    assay_running_sum sum;
};

/* Makes room for `size` bytes; the bytes before may be lost. 0 or ASSAY_ENOMEM. */
int assay_decoded_reserve(assay_decoded *d, size_t size);
/* Ends the state of the record before. */
void assay_decoded_drop_state(assay_decoded *d);
/* Frees the values of a record; the rest stays. */
void assay_decoded_let_go(assay_decoded *d);
void assay_decoded_release(assay_decoded *d);
/* Adds [from, to) of the file to the running sum, and compares the sum at its end. */
int assay_decoded_sum(assay_decoded *d, assay_view *view, const assay_record *record, uint64_t from, uint64_t to,
                      assay_error *err);

/* Reverses the bytes of every number of `width` bytes. */
void assay_swap_numbers(uint8_t *bytes, size_t size, size_t width);
