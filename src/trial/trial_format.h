/* trial_format.h - what a format of trials provides. Inside trial only: everyone above asks the catalog, the index and
 * the reader.
 *
 * A trial is where bytes lie (storage/) times what they mean (a format). A format is one const table, named in
 * formats.def; nothing outside its folder knows its folders, files and layout of records. */
#pragma once

#include "trial/decoded.h"
#include "trial/index.h"
#include "trial/lone.h"
#include "trial/places.h"
#include "trial/runs.h"
#include "trial/stands.h"

/* A trial while it is listed. */
typedef struct assay_lister {
    assay_store *store;
    assay_catalog *catalog;
    assay_dict *workers;    /* in order of occurrence */
    size_t room;            /* of catalog->units */
    uint8_t format;         /* under way */
    const assay_names *top; /* what lies in the trial's root */
    bool has_collections;   /* the trial brings some of its own */
    bool has_marker;        /* its end marker was looked for */
    bool said_by_none;      /* no format of it says how many workers there should be: those that are there */
    assay_error *err;
} assay_lister;

/* What a unit holds beside tensors. */
typedef struct assay_other {
    int64_t step;
    const char *path; /* of so many bytes, not terminated; nor is the value */
    size_t length;
    const char *kind;  /* "int", "text", "object", ... */
    const char *value; /* in words; of an object its class */
    size_t value_length;
} assay_other;
/* Anything but 0 ends the visits, and is returned to whoever asked for them. */
typedef int assay_other_visit(void *context, const assay_other *other);

/* What the note of a record says of where it lies. */
typedef struct assay_note_facts {
    bool summed;      /* a checksum covers all of it */
    bool plain;       /* its range in the file has its elements as they are */
    bool floating;    /* they are floating-point numbers */
    uint64_t element; /* plain: its bytes */
    uint64_t row; /* plain: bytes of a row, which is an element of a tensor of less than two dimensions; of those with
                      short rows so many that they have ASSAY_ROW_LEAST elements */
} assay_note_facts;
enum { ASSAY_ROW_LEAST = 8 };

/* Is told of a range of a file that is a file by itself; anything but 0 ends the visits, and is returned. */
typedef int assay_archive_visit(void *context, const char *path, uint64_t offset, uint64_t length);

typedef struct assay_trial_format {
    const char *name;
    const char *what; /* what makes a directory such a trial, for the message about one that is none */

    /* True when the trial may have this format, by the names in its root. */
    bool (*probe)(const assay_names *top);
    /* Of a place that is no trial: appends why files that are called like this format's are none. False: it has none.
     * NULL: nobody asks. */
    bool (*doubts)(assay_store *store, assay_buf *out);
    /* As assay_trial_runs_find(). NULL: a place of this format is one trial. */
    int (*runs)(const char *location, const assay_trial_options *given, assay_trial_runs *out, assay_error *err);
    /* Adds workers, units, collections and problems by the calls below. 1: it has none of this format after all. */
    int (*list)(assay_lister *lister);
    /* Once workers and units are in order: what else is known of the trial as a whole. ASSAY_EFORMAT: it is none. */
    int (*conclude)(assay_lister *lister);
    /* Names the problem of a unit that does not lie where it is looked for (`used` NULL), or that is not used because
     * another one of the same step and worker is. */
    void (*remark)(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used);

    /* The place of a unit, by its step, worker and mode, unless the catalog has it among the strays. */
    uint32_t (*place_of)(const assay_catalog *catalog, const assay_unit *unit);
    /* The names of a unit's index and of a part's file by its number, where the part does not list its own. Both write
     * at most `room` bytes with a terminator and return the length that was needed. */
    int (*index_path)(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room);
    int (*file_path)(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room);

    /* Reads the index of so many units and appends a part for each that can be used, in order. What is wrong becomes a
     * problem. 0 or ASSAY_ENOMEM. */
    int (*index)(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                 const assay_index_sink *into);
    /* Once every rank has read its share of the index: lets go of what was listed for that alone. NULL: nothing was. */
    void (*indexed)(assay_catalog *catalog);
    /* Decodes the head of the record whose file, offset and length `record` and `view` say, and of which `d->row` has
     * what the index knows; positions `d` at its content, or makes that, at most `budget` bytes. Fields that the format
     * does not know stay as they are.
     * ASSAY_EFORMAT (damage; the message names file, offset and what is wrong), ASSAY_EBUDGET, ASSAY_EIO, ASSAY_ENOMEM.
     */
    int (*decode)(assay_decoded *d, assay_view *view, size_t budget, assay_record *record, assay_error *err);

    /* Visits what a unit holds beside tensors; NULL: nothing. It reads the unit's index once more, and names no
     * problem. */
    int (*others)(assay_store *store, const assay_catalog *catalog, const assay_unit *unit, assay_other_visit *visit,
                  void *context);

    /* As assay_trial_stands(). NULL: no file of this format is for people. */
    int (*stands)(assay_store *store, const assay_trial_options *options, int64_t step, const char *tensor,
                  assay_stand *out);

    /* As assay_trial_places() and assay_unit_places(). */
    int (*places)(assay_store *store, assay_place_visit *visit, void *context);
    int (*unit_places)(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                       assay_place_visit *visit, void *context);

    /* As assay_trial_trees(). NULL: names do not tell the order of steps. */
    int (*trees)(int64_t step, assay_place_visit *visit, void *context);

    /* True if the directory holds files only, so that copying need not stat each entry. NULL: unknown. */
    bool (*holds_files)(const char *directory);

    /* Appends a topology.json (topology/topology.h) of what files and their names say, or nothing; and to `why`, for
     * people, how it came about, a line each. Files that cannot be used become problems. 0 or ASSAY_ENOMEM. NULL: of
     * trials of this format nothing is known. */
    int (*derive)(assay_store *store, const assay_catalog *catalog, assay_buf *out, assay_buf *why,
                  assay_problems *problems);
    /* How many dimensions a record has, by its note; -1: the index does not say. NULL: it never does. */
    int (*dims)(const uint8_t *note, size_t size);
    /* The record in a note that is one number of float64, as decode() would have it. False: it is no such record, or
     * damaged. NULL: there are none. */
    bool (*number)(const uint8_t *note, size_t size, uint64_t offset, uint64_t length, double *value);
    /* False where the note cannot be read; NULL: records have none. */
    bool (*note_facts)(const uint8_t *note, size_t size, assay_note_facts *out);
    /* Has a record that lies in pieces some of them in the bytes [from, to) of the part's file of that number? NULL:
     * records lie in one piece. */
    bool (*note_reaches)(const uint8_t *note, size_t size, uint32_t file, uint64_t from, uint64_t to);
    /* Marks the files among the names of a directory that are models by themselves; how many there are, 0 where the
     * directory is one checkpoint. NULL: it always is. */
    size_t (*models)(const assay_names *names, bool *is_model);
    /* Visits the ranges of a unit's files that are archives by themselves; NULL: each file is one at most. It reads the
     * unit's index once more, and names no problem. */
    int (*archives)(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                    assay_archive_visit *visit, void *context);

    assay_lone lone;       /* files that are such a trial by themselves */
    uint32_t record_least; /* bytes of the smallest record */
    uint64_t record_most;  /* of the largest; 0: files may hold any */
    uint32_t record_tail; /* bytes at a record's end that decode() looks at, for records that are not in memory whole */
    bool arrays;          /* a step is a directory, in which each tensor has a file of its own */
    bool default_collections; /* collections go by the default patterns (catalog.c) */
    bool by_mode;             /* its units have a mode: a number may be a step of TRAIN and another one of EVAL */
    bool index_is_complete;   /* the index of a unit tells all that belongs to it */
    bool grows_at_end; /* files grow at their ends, a worker's units in order: one that is cut short looks like one that
                         is not written yet, and a unit is whole when its worker has a later one */
    bool deep;         /* its files lie at any depth: a directory that is above them is such a trial itself */
    bool in_notes;     /* a record of a file with a note lies in the note, at the offset of its row */
    bool assembled;    /* its records have no bytes of their own (topology/assembled.h) */
    bool checkpoints;  /* a step is a checkpoint: a state that the training can be resumed from */
    bool has_index_tables; /* packed trials keep its rows in tables (store/index_cache.h) */
} assay_trial_format;

/* The format of that number; numbers are below assay_format_count(). */
const assay_trial_format *assay_format_of(unsigned number);
unsigned assay_format_count(void);
/* The places that a format listed in a trial; NULL: none. */
const assay_dict *assay_format_places(const assay_trial_format *format, const assay_catalog *catalog);

/* ---- for list() ---- */

/* The number of a worker, by the name the trial has for it; ASSAY_NO_ID without memory. */
uint32_t assay_lister_worker(assay_lister *lister, const char *key, size_t length);
/* Adds a unit of such a worker. 0 or ASSAY_ENOMEM. */
int assay_lister_unit(assay_lister *lister, int64_t step, uint32_t worker, uint32_t place);
/* Likewise, for formats by_mode; the unit's part has that mode. */
int assay_lister_mode_unit(assay_lister *lister, int64_t step, int mode, uint32_t worker, uint32_t place);
/* The number of a place of this format (assay_catalog.places), which is added when there is none; ASSAY_NO_ID without
 * memory. */
uint32_t assay_lister_place(assay_lister *lister, const void *bytes, size_t size);
/* The names in a directory. 0; 1: there is none, or it cannot be read, which a problem says; ASSAY_ENOMEM. */
int assay_lister_names(assay_lister *lister, const char *directory, assay_names *names);
/* Has the trial a log of the kind that its job asks for by "format"? 0, ASSAY_ENOTFOUND. */
int assay_lister_find_log_kind(const assay_lister *lister);
int assay_lister_no_memory(const assay_lister *lister);
bool assay_names_have(const assay_names *names, const char *name);
/* For conclude(): sets catalog.ended when the root has a file of that name. What is there and no file, or cannot be
 * looked at, becomes a problem. */
void assay_lister_end_marker(assay_lister *lister, const char *name);

/* ---- for index() ---- */

/* Which (tensor, kind) a unit has named so far. */
typedef struct assay_index_marks {
    uint64_t *mark; /* by tensor: the unit that named it last (upper half), and in which kinds (a bit each) */
    size_t room;
    uint32_t serial;
} assay_index_marks;
/* Makes room for so many tensors at once. 0 or ASSAY_ENOMEM. */
int assay_index_marks_reserve(assay_index_marks *marks, size_t tensors);
static inline void assay_index_marks_next(assay_index_marks *marks)
{
    marks->serial++;
}
/* 0; 1: the unit has named it already; ASSAY_ENOMEM. Kinds are below 32. */
int assay_index_marks_set(assay_index_marks *marks, uint32_t tensor, int kind);
void assay_index_marks_release(assay_index_marks *marks);
