/* mapper.h - one rank's work on its chunks: every record is read once, run through the statistics and all measures that
 * any rule wants of it, and given to every rule's map. No MPI inside. */
#ifndef ASSAY_ENGINE_MAP_MAPPER_H
#define ASSAY_ENGINE_MAP_MAPPER_H

#include "base/arena.h"
#include "engine/plan/budget.h"
#include "engine/reduce/combine.h"
#include "engine/source/lookback_index.h"
#include "engine/map/tensor_result.h"
#include "engine/map/reference_cache.h"
#include "engine/plan/plan.h"
#include "parallel/progress.h"
#include "engine/plan/demand.h"
#include "trial/reader.h"

enum { ASSAY_STRIP = 16 }; /* steps whose large tensors are read at once (lookahead.h), and event files open for them */
enum { ASSAY_REFERENCES = 9 }; /* event files open beside them: eight references, and the last for unit windows */

typedef struct assay_open_file { /* an event file that stays open while it may be asked for again */
    assay_reader *file;
    const assay_part *part; /* whose file it is; NULL: none is open */
    /* of the record opened last, as a reference */
    const assay_entry *entry;
    assay_record record;
    enum { ASSAY_FROM_FILE, ASSAY_FROM_MEMORY, ASSAY_FROM_ITSELF } from; /* itself: the record under way */
    const uint8_t *bytes;                                                /* ASSAY_FROM_MEMORY: its content */
    bool fills;    /* its content is kept as it comes from the file */
    uint64_t at;   /* bytes of its content that were handed out */
    uint64_t used; /* the tensor that it was last used for, by the mapper's count of tensors */
} assay_open_file;

/* A stretch of a step's entries: from entry `first` of one part to the one before entry `end` of the same or a later
 * part. */
typedef struct assay_entry_range {
    size_t first_part, first, end_part, end; /* in the shard's lists; empty when first_part > end_part */
} assay_entry_range;

typedef struct assay_mapper {
    const assay_plan *plan;
    assay_sources *sources;
    const assay_rule *rules; /* [source * instances + instance] */
    assay_progress *progress;
    const assay_observer *observer; /* NULL: nobody looks on */
    assay_buf *mapped;              /* NULL, or what every chunk came to is put there (chunk_result.h) */
    assay_error observed;           /* why the observer ended the run */
    assay_arena *arena;             /* of the step */
    assay_open_file files[ASSAY_STRIP], reference[ASSAY_REFERENCES];
    assay_open_file *main;                /* of files: that of the part under way */
    struct assay_active_measure *takings; /* measures.c's */
    uint32_t taking_room;
    size_t value_budget; /* for decoding typed values and strings */
    assay_reference_cache *kept;
    struct assay_lookahead *ahead;
    uint64_t ahead_end; /* tensors of chunks before this one may be measured before their step's turn */
    /* of the source under way */
    uint32_t source;
    assay_history *history;
    assay_lookback_index *further; /* NULL: nobody had to go back so far yet */
    assay_demand wants;
    uint32_t *item_of; /* [tensors]: the place among items; of the part under way if that is first_item or behind it */
    size_t asked;      /* the storage was asked for the event files of the parts up to this one */
    /* of the step under way */
    const assay_step_info *step;
    assay_partial *node;
    assay_tensor_result **items; /* in memory of the step, NULL when that is used up */
    size_t item_count, item_room;
    size_t first_item;                /* of the part under way */
    const assay_entry_range *stretch; /* what of the step is read; NULL: all */
    bool alone;                       /* what was read came out as it would not on a rank that reads the whole step */
    const struct assay_step_sharing
        *lender; /* step_sharing.h: who helps with the last step of the last chunk; NULL: nobody */
    /* figures */
    uint64_t bytes_read, records_read, files_opened;
    uint64_t tensors_taken, steps_shared;
    /* of the record under way */
    const assay_entry *entry;
    const assay_record *record;
    uint64_t passed;    /* bytes that progress knows of */
    assay_stats *stats; /* where its statistics go */
    uint8_t *result;    /* where its next result goes */
} assay_mapper;

/* A mapper within so many bytes of `memory`, dealt out by `budget`; what it is given is borrowed and outlives it. 0 or
 * ASSAY_ENOMEM; release either way. These and all below: not collective. */
int assay_mapper_init(assay_mapper *m, const assay_plan *plan, assay_sources *sources, const assay_rule *rules,
                      assay_progress *progress, size_t memory, const assay_budget *budget);
void assay_mapper_release(assay_mapper *m);

/* Maps the chunks [first_chunk, end_chunk), all of them this rank's, into folds[source]. Returns 0, or a status that
 * ends the run (ASSAY_ENOMEM, or what the lender or the observer says); everything that is wrong with the trial is in
 * the nodes. */
int assay_mapper_run(assay_mapper *m, uint64_t first_chunk, uint64_t end_chunk, assay_combiner *folds,
                     assay_error *err);

/* Makes a source the one under way. 0 or ASSAY_ENOMEM. */
int assay_mapper_enter(assay_mapper *m, uint32_t source);
/* Reads the records of m->step, as far as m->stretch says, into items. 0 or ASSAY_ENOMEM. */
int assay_mapper_read_step(assay_mapper *m);
/* A new item of m->step, behind assay_mapper_read_step(). NULL when the step's memory is used up. */
assay_tensor_result *assay_mapper_new_item(assay_mapper *m, uint32_t tensor, uint32_t worker);
/* Makes one of m->files m->main. No record of the one before may be under way. */
void assay_mapper_turn_to(assay_mapper *m, assay_open_file *handle);
/* That of m->files in which the event file of a part is open; NULL: none. */
assay_open_file *assay_mapper_file_of(assay_mapper *m, const assay_part *part);
/* Says that memory ran out while m->step was read. Returns ASSAY_ENOMEM. */
int assay_mapper_no_memory(const assay_mapper *m, assay_error *err);

/* record.c: reads the raw record or saved reduction of an entry into its item. What is damaged becomes a problem of the
 * node; then *taken is false. Returns 0 or ASSAY_ENOMEM. */
int assay_record_measure(assay_mapper *m, const assay_part *part, const assay_entry *entry,
                         const assay_record_demand *wanted, assay_tensor_result *item, bool *taken);
/* Adds a problem of an event file to the node; `offset` -1: of the file as a whole. A failure stays in the node's list.
 */
void assay_note_problem(assay_mapper *m, const assay_part *part, int kind, int64_t offset, const char *text);
/* The kind of problem that a status of reading or measuring is. */
int assay_problem_kind_of(int status);
/* The path of a part's event file, in `name` unless the index gives it; NULL when it is too long. */
enum { ASSAY_PATH_ROOM = 4096 };
const char *assay_part_path(const assay_source *source, const assay_part *part, char name[ASSAY_PATH_ROOM]);
/* Opens the event file of a part in a handle; does nothing when it is open there. ASSAY_EFORMAT when its name is too
 * long, else what assay_store_open_file() says. */
int assay_file_pool_open(assay_mapper *m, assay_open_file *handle, const assay_source *source, const assay_part *part,
                         assay_error *err);

/* reference.c: the record that a comparison refers to, opened in one of m->reference; measures with the same reference
 * get the same handle. 1: found, 0: there is none, negative: it cannot be read. */
typedef struct assay_reference {
    assay_place place;
    assay_open_file *handle; /* its record is open there */
} assay_reference;
int assay_reference_find(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                         assay_reference *out, assay_error *err);

/* units.c: pools the unit counts of the saved steps before into `result`, as far as the measure's window reaches. 0, or
 * why there is no result; ASSAY_ENOMEM ends the run. */
int assay_units_pool(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                     assay_result *result, assay_error *err);

/* step.c: gives the step's items to every rule that wants some of them. What does not fit the step's memory becomes a
 * problem of the node. Returns 0 or what ends the run. */
int assay_step_map(assay_mapper *m);

#endif
