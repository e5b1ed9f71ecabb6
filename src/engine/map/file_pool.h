/* file_pool.h - the files of trials that a rank has open, and the reference cache.
 *
 * Opening a file costs more than reading a small record, so files stay open: those that records are read from (the main
 * one and, for lookahead.h, those of the next steps), and those that hold references. */
#pragma once

#include "engine/map/map_source.h"
#include "engine/map/reference_cache.h"
#include "engine/source/lookback_index.h"
#include "parallel/progress.h"
#include "trial/reader.h"
#include "trial/step_lookup.h"

enum {
    ASSAY_OPEN_FILES = 16,    /* that records are read from: the steps of a lookahead, this one included */
    ASSAY_OPEN_REFERENCES = 8 /* what one tensor can be compared with at once */
};

typedef struct assay_open_file {
    assay_reader *reader;   /* NULL: no file was opened here yet */
    const assay_part *part; /* whose file is open; NULL: none */
    uint32_t number;        /* of the file among those of the part */
    uint64_t used;          /* the pool's tensor that it was last used for */
    /* as a reference: the record that is open in it */
    const assay_entry *entry;
    assay_record record;
    enum { ASSAY_FROM_FILE, ASSAY_FROM_CACHE, ASSAY_FROM_ITSELF } from; /* itself: it is the record being measured */
    const uint8_t *bytes;                                               /* ASSAY_FROM_CACHE: its content */
    uint64_t consumed;                                                  /* bytes of its content that were handed out */
    bool fills_cache;                                                   /* its content is cached while it is read */
} assay_open_file;

/* The records that those of a part are compared with at the same step. */
typedef struct assay_same_step {
    const assay_part *of; /* NULL: none was asked for yet */
    assay_step_lookup lookup;
} assay_same_step;

/* For how many steps at once records of another trial of so many tensors are looked up: those of a lookahead, but not
 * where that takes much memory. */
static inline uint32_t assay_same_steps(size_t tensors)
{
    return tensors > 1 << 16 ? 1 : ASSAY_OPEN_FILES;
}

typedef struct assay_file_pool {
    const assay_map_source *source;
    assay_progress *progress; /* told of every byte that is read */
    size_t value_budget;      /* bytes for decoding the typed values or strings of a record */
    assay_open_file files[ASSAY_OPEN_FILES], references[ASSAY_OPEN_REFERENCES], window; /* window: measures.c */
    assay_open_file *main; /* of files: the one that records are read from now */
    assay_reference_cache *reference_cache;
    assay_record_history *history;        /* where earlier records are; NULL: nothing looks back */
    assay_lookback_index *lookback_index; /* further back than that; NULL: not needed so far */
    assay_same_step first_worker;         /* of the same trial */
    assay_same_step own;                  /* of the same trial and worker */
    assay_step_workers workers;           /* of the same trial, where it has a topology */
    assay_same_step *others; /* [plan->pair_count][ASSAY_OPEN_FILES] of the trials compared with; NULL: none so far */
    uint32_t other_turn;     /* which of those for a step is taken next */
    uint64_t tensor;         /* counts the tensors that were measured */
    size_t twin_at;          /* of the step's results, behind the last one that was taken over (measures.c) */
    uint64_t bytes_read, records_read, files_opened;
} assay_file_pool;

/* An empty pool; `cache_budget` bytes are for contents of references. 0 or ASSAY_ENOMEM; release either way. */
int assay_file_pool_init(assay_file_pool *pool, const assay_map_source *source, assay_progress *progress,
                         size_t value_budget, size_t cache_budget);
void assay_file_pool_release(assay_file_pool *pool);

/* Begins with the source, after leaving the one before. 0 or ASSAY_ENOMEM. */
int assay_file_pool_enter(assay_file_pool *pool);
/* Forgets what was kept of the source. */
void assay_file_pool_leave(assay_file_pool *pool);

/* Makes one of pool->files the main one. The main one's record must be done with. */
void assay_file_pool_turn_to(assay_file_pool *pool, assay_open_file *file);
/* The one of pool->files that has this file of a part open; NULL: none. */
assay_open_file *assay_file_pool_find(assay_file_pool *pool, const assay_part *part, uint32_t number);
/* Opens a file of a part of `source`; does nothing when it is open there. Errors as assay_reader_open(). */
int assay_file_pool_open(assay_file_pool *pool, assay_open_file *file, const assay_source *source,
                         const assay_part *part, uint32_t number, assay_error *err);
