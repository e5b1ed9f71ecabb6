/* trial.h - reads what trainings recorded: libassay, the C interface to what `assay ls` and `assay show` know.
 *
 *     assay_recording *r;
 *     assay_error err;
 *     if (assay_recording_open("runs/17", &r, &err) < 0)
 *         return complain(err.text);
 *     uint32_t loss = assay_recording_find(r, "CrossEntropyLoss_output_0", 25);
 *     const assay_saved *row;
 *     size_t rows;
 *     assay_recording_saved(r, loss, &row, &rows, &err);
 *     for (size_t i = 0; i < rows; i++) {
 *         double value;
 *         if (assay_recording_read(r, loss, i, ASSAY_AS_FLOAT64, &value, sizeof value, NULL, &err) == ASSAY_OK)
 *             printf("step %lld: %g\n", (long long)row[i].step, value);
 *     }
 *     assay_recording_close(r);
 *
 * Any location and format that assay reads: a directory, s3://BUCKET/PREFIX, a packed trial, a series of checkpoints.
 *
 * Failures: functions that can fail return 0 or a negative assay_status and leave one sentence in *err (may be NULL).
 * Lack of memory is ASSAY_ENOMEM. Nothing here writes to standard output or error, exits, starts MPI or a thread, but
 * for one that serves the connections to S3.
 *
 * Numbers: workers, steps, tensors, collections and problems have numbers from 0 on, as long as the recording is open.
 * For a number out of range texts are "", counts 0, and a function that can fail returns ASSAY_EUSAGE.
 *
 * Ownership: what a function returns by pointer belongs to the recording, is never changed, and is valid until it is
 * closed.
 *
 * Threads: every function may be called from any thread, but for assay_recording_close(), behind which nobody may use
 * the recording. Reads of one recording wait for each other; two recordings have nothing in common.
 *
 * A recording is what was there when it was opened. Of a training that goes on open it again.
 *
 * ABI: the library's name is libassay.so.0, its symbols have the version ASSAY_0. As long as that is so, functions,
 * structs and numbers of this header stay as they are; what is added are functions, with a newer symbol version. A
 * program that runs with a libassay runs with every later one of the same name (docs/versioning.md). */
#ifndef ASSAY_TRIAL_H
#define ASSAY_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/steps.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_recording assay_recording;

/* Lists the trial and reads its index; linear in the number of its files. ASSAY_ENOTFOUND, ASSAY_EFORMAT (no trial in
 * any format), ASSAY_EIO, ASSAY_EUSAGE (unknown kind of location), ASSAY_EUNSUPPORTED, ASSAY_ENOMEM. What is damaged
 * inside a trial is no failure but a problem (below). */
int assay_recording_open(const char *location, assay_recording **out, assay_error *err);
/* NULL is ignored. */
void assay_recording_close(assay_recording *r);
/* assay's version, "0.2.0". */
const char *assay_recording_version(void);

/* ---- the trial ---- */

/* The location as it was given. */
const char *assay_recording_location(const assay_recording *r);
/* Has the training said that nothing more will come? */
bool assay_recording_ended(const assay_recording *r);
/* Workers that wrote something, in natural order of their names ("worker_2" before "worker_10"). */
uint32_t assay_recording_workers(const assay_recording *r);
/* How many there should be, as the trial says; at least assay_recording_workers(). */
uint32_t assay_recording_expected_workers(const assay_recording *r);
/* How many the trial says that there are: what the reference calls its number of workers. 0: it says nothing. */
uint32_t assay_recording_said_workers(const assay_recording *r);
/* The name of a worker. Behind those that wrote, up to 64 more have names: the likely ones of workers that never did.
 */
const char *assay_recording_worker(const assay_recording *r, uint32_t worker);

/* Global steps, ascending. Where workers count otherwise, a step has the number that the lowest worker gave it. */
uint64_t assay_recording_steps(const assay_recording *r);
/* The i-th step; NULL: there are not so many. Its mode is ASSAY_MODE_NONE where no index of it can be read. */
const assay_step_info *assay_recording_step(const assay_recording *r, uint64_t i);
/* The workers that should have written the i-th step and have not, ascending, in *workers; returns how many: 0 of a
 * complete step. A worker is expected at the steps of the modes in which it writes. */
size_t assay_recording_missing(const assay_recording *r, uint64_t i, const uint32_t **workers);

/* What is damaged, missing or odd: the first 1000 are kept. */
typedef struct assay_recorded_problem {
    const char *kind; /* as in reports: "damaged-index", "missing-event-file", ... */
    const char *file; /* relative to the trial; "": none */
    const char *text; /* one sentence */
    int64_t step;     /* -1: none */
    int64_t offset;   /* in the file; -1: none */
    bool is_loss;     /* data is damaged or lost; false: a remark */
} assay_recorded_problem;
/* How many were found while the trial was opened; damaged records show when they are read. */
uint64_t assay_recording_problems(const assay_recording *r);
/* Fills *out with the i-th. ASSAY_ENOTFOUND: it was only counted, or there are not so many. */
int assay_recording_problem(const assay_recording *r, uint64_t i, assay_recorded_problem *out);

/* ---- tensors and collections ---- */

enum { ASSAY_RECORDING_NONE = -1 }; /* as uint32_t: no such number */

/* Tensors in byte order of their names, whatever was saved of them. */
uint32_t assay_recording_tensors(const assay_recording *r);
/* The name, terminated; it may hold any byte, so its length comes with it unless `length` is NULL. */
const char *assay_recording_tensor(const assay_recording *r, uint32_t tensor, size_t *length);
/* The number of a tensor by its name; (uint32_t)ASSAY_RECORDING_NONE: there is none. O(1). */
uint32_t assay_recording_find(const assay_recording *r, const char *name, size_t length);

/* Named groups of tensors, in byte order of their names. */
uint32_t assay_recording_collections(const assay_recording *r);
const char *assay_recording_collection(const assay_recording *r, uint32_t collection);
/* The i-th pattern that makes tensors members beside those listed by name; "": there are not so many. */
const char *assay_recording_collection_regex(const assay_recording *r, uint32_t collection, uint32_t i);

/* Sets selected[0 .. assay_recording_tensors()) to 1 for tensors whose name matches `regex` anywhere, as Python's
 * re.search does, and that belong to `collection`, else to 0; NULL: any. ASSAY_EFORMAT (bad pattern), ASSAY_ENOTFOUND
 * (no such collection; the text has the nearest name), ASSAY_EBUDGET (the pattern takes too long on a name),
 * ASSAY_ENOMEM. */
int assay_recording_select(assay_recording *r, const char *regex, const char *collection, uint8_t *selected,
                           assay_error *err);

/* ---- values ---- */

typedef struct assay_saved { /* what one worker saved of a tensor at one step */
    int64_t step, mode_step;
    uint32_t worker;
    uint32_t kinds; /* bit 1 << ASSAY_RAW: its value; bit 1 << kind: a reduction; 0: only its shape */
    int32_t mode;   /* assay_mode */
    int32_t reserved;
} assay_saved;

/* Sets *rows to what was saved of a tensor, in order of (step, worker), and *count to how many rows that are. The first
 * call makes a table of all records. ASSAY_EUSAGE, ASSAY_ENOMEM. */
int assay_recording_saved(assay_recording *r, uint32_t tensor, const assay_saved **rows, size_t *count,
                          assay_error *err);

typedef struct assay_recorded_head {
    int32_t dtype;     /* assay_dtype; -1: the value was not saved, and only the shape is known */
    int32_t dims;      /* how many of `shape` count */
    uint64_t elements; /* product of the shape */
    uint64_t bytes;    /* of the value as it was saved: elements in C order, little-endian; of strings their sum */
    double wall_time;  /* seconds since 1970; 0: not said */
    int64_t shape[ASSAY_MAX_DIMS];
} assay_recorded_head;

/* Dtype and shape of a row. ASSAY_ENOTFOUND: neither value nor shape was saved. Else as assay_recording_read(). */
int assay_recording_head(assay_recording *r, uint32_t tensor, size_t row, assay_recorded_head *head, assay_error *err);

typedef enum assay_read_as {
    ASSAY_AS_SAVED,   /* the bytes of `dtype` */
    ASSAY_AS_FLOAT32, /* each element as a float or double; complex ones by their magnitude, integers of 64 bits and */
    ASSAY_AS_FLOAT64  /* doubles rounded to nearest where they need it */
} assay_read_as;

/* Reads the value of a row to `buffer`, of `room` bytes; what is saved as it is wanted, and large, goes there straight
 * from the file. Fills *head (may be NULL), also when the room does not suffice. ASSAY_ENOTFOUND (the value was not
 * saved, or its file is not there), ASSAY_EBUDGET (room), ASSAY_EUNSUPPORTED (strings: see below), ASSAY_EFORMAT
 * (damage, named by file and offset), ASSAY_EIO, ASSAY_ENOMEM; then `buffer` may hold anything. */
int assay_recording_read(assay_recording *r, uint32_t tensor, size_t row, assay_read_as as, void *buffer, size_t room,
                         assay_recorded_head *head, assay_error *err);
/* Reads the values of several rows of a tensor, one behind the other, as far as they have the dtype and shape of the
 * first one, fit into `room` and can be read. Sets *done to how many that are, and *head (may be NULL) to the first
 * one's. The status is that of the first row; why another one ends it, it says when it is read alone. */
int assay_recording_read_rows(assay_recording *r, uint32_t tensor, const uint64_t *rows, size_t count, assay_read_as as,
                              void *buffer, size_t room, assay_recorded_head *head, size_t *done, assay_error *err);
/* Reads a row of strings: one behind the other to `buffer`, and where each ends to ends[0 .. elements). The head says
 * how many there are, and of how many bytes. Statuses as assay_recording_read(); ASSAY_EUNSUPPORTED: they are numbers.
 */
int assay_recording_read_strings(assay_recording *r, uint32_t tensor, size_t row, char *buffer, size_t room,
                                 uint64_t *ends, size_t ends_room, assay_error *err);
/* A reduction that the training saved. ASSAY_ENOTFOUND: it did not. Else as assay_recording_read(). */
int assay_recording_reduction(assay_recording *r, uint32_t tensor, size_t row, int kind, double *value,
                              assay_error *err);
/* "abs_mean" for a kind, and back; "raw" for ASSAY_RAW. "" and -1 for others. */
const char *assay_recording_kind_name(int kind);
int assay_recording_kind(const char *name);
/* Statistics of a row's value, as `assay show` prints them: in double, one pass, never more than a piece of it in
 * memory. Statuses as assay_recording_read(). */
int assay_recording_stats(assay_recording *r, uint32_t tensor, size_t row, assay_stats *stats, assay_error *err);

/* Where the value lies on this machine, for programs that map files into memory: its path in `path`, and *offset of the
 * head->bytes bytes there. With `lasting` only where a mapping is as good as a read: no checksum covers the value, who
 * wrote the file does not touch it again, and it is on a disk of this machine. Without it that is the caller's to know:
 * a file that becomes shorter, or goes from its server, while it is mapped kills who reads it. ASSAY_EUNSUPPORTED: it
 * lies elsewhere, compressed, in pieces, in another form, or does not last. Else as assay_recording_read(). */
int assay_recording_place(assay_recording *r, uint32_t tensor, size_t row, bool lasting, char *path, size_t room,
                          uint64_t *offset, assay_recorded_head *head, assay_error *err);

/* How many bytes may be used to keep the values of small steps (files of at most 256 KiB) from the second read in them
 * on: scripts walk tensor by tensor, and would open every file for each of them. 512 MiB at first. Less than is in use
 * already keeps nothing more. */
void assay_recording_keep(assay_recording *r, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
