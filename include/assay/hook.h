/* hook.h - records a trial from a training program: tensors, reductions and scalars, step by step, one hook a worker.
 *
 *     assay_hook *hook;
 *     assay_hook_open("runs/17", rank, ranks, &hook, NULL);
 *     assay_hook_set(hook, "save_interval", "100");
 *     assay_hook_collection(hook, "weights");
 *     for (...) {
 *         assay_hook_set_mode(hook, ASSAY_HOOK_TRAIN);
 *         assay_hook_step(hook);                                        (closes the step before, begins the next)
 *         assay_hook_save(hook, "net/w.weight", ASSAY_FLOAT32, 2, shape, w);      (as often as you like)
 *     }
 *     assay_hook_close(hook);
 *
 * The hook decides whether a tensor is saved at this step; callers call always. Nothing here stops a training: a
 * failure gives one warning on stderr, a negative status and a count (assay_hook_counts). A NULL hook is a hook that is
 * off, so the status of assay_hook_open() need not be looked at. docs/hook-parameters.md has every parameter and every file.
 *
 * All functions may be called from several threads at once, assay_hook_close() excepted. None is collective: workers
 * never talk to each other. */
#ifndef ASSAY_HOOK_H
#define ASSAY_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_hook assay_hook;

/* The numbers are those written into the event files. */
typedef enum assay_hook_mode {
    ASSAY_HOOK_TRAIN = 1,
    ASSAY_HOOK_EVAL = 2,
    ASSAY_HOOK_PREDICT = 3,
    ASSAY_HOOK_GLOBAL = 4
} assay_hook_mode;

/* Opens the hook of worker `rank` (file name "worker_<rank>") out of `num_workers`, which will write below `directory`.
 * ASSAY_HOOK_CONFIG or else SMDEBUG_CONFIG_FILE_PATH may name a JSON file: what it says wins over the program, and its
 * LocalPath over `directory`; directory may be NULL then. ASSAY_HOOK=off or USE_SMDEBUG=false opt out: *hook gets NULL
 * and 0 is returned. Nothing is written before the first step. *hook is NULL after a failure; free it with
 * assay_hook_close(). */
int assay_hook_open(const char *directory, int rank, int num_workers, assay_hook **hook, assay_error *err);

/* Sets one of the reference's HookParameters or one of assay's own (docs/hook-parameters.md), all values as text: "save_interval",
 * "eval.save_steps", "reductions", "queue_memory", ... ASSAY_ENOTFOUND for an unknown key, ASSAY_EPARAM for a bad
 * value, ASSAY_EUSAGE after the first step. */
int assay_hook_set(assay_hook *hook, const char *key, const char *value);
/* Declares a collection and includes it: its tensors are saved. Built-in ones have their patterns. At most 64 exist. */
int assay_hook_collection(assay_hook *hook, const char *collection);
/* Declares, and sets one of the CollectionParameters. Statuses as assay_hook_set(). */
int assay_hook_collection_set(assay_hook *hook, const char *collection, const char *key, const char *value);
/* Declares, and adds one pattern as it stands: unlike the parameter include_regex, it may hold commas. */
int assay_hook_collection_regex(assay_hook *hook, const char *collection, const char *pattern);
/* Declares, and adds one tensor by name. This one may be called after the first step too, but then only for a
 * collection that exists: built-in or declared. */
int assay_hook_collection_name(assay_hook *hook, const char *collection, const char *tensor);
/* Records a setting of the run in its trial, such as the learning rate or the seed: `assay compare` sets those of
 * several runs side by side. `value` is a number, true, false or null as JSON writes them, else it is a text. The value
 * of a name that looks like a secret's ("password", "api_key") is masked. A second value of a name replaces the first;
 * at most 1000 of these and of versions. ASSAY_EPARAM, ASSAY_EUSAGE after the first step. */
int assay_hook_setting(assay_hook *hook, const char *name, const char *value);
/* The same for the version of a library that the training uses: ("torch", "2.4.0"). */
int assay_hook_version(assay_hook *hook, const char *name, const char *version);
/* Records what a module of the network is, by the name that its tensors begin with (X of X_output_0): its type, and
 * arguments that its tensors do not show, "torch.Conv2d stride=2,2 padding=1,1 dilation=1,1 groups=4" (docs/format.md).
 * Of a name that is two modules nothing is recorded; at most 1000. Statuses as assay_hook_setting(). */
int assay_hook_module(assay_hook *hook, const char *name, const char *what);
/* Reads a configuration file in the reference's format as if its contents had been set by calls. */
int assay_hook_load(assay_hook *hook, const char *path);

/* An axis along which workers are laid out: data, tensor, pipeline parallel and so on ("dp", "tp", "pp"). */
typedef struct assay_hook_axis {
    const char *name; /* small letters, digits and _, a letter first */
    int64_t size;     /* workers along it */
    int64_t at;       /* this worker's place, from 0 */
} assay_hook_axis;

/* Says where this worker is among all: in the mesh of that name, axes outermost first. The sizes multiply to the
 * number of workers. Another call with the name replaces what was said; at most 16 meshes of 8 axes. `tensors` is NULL,
 * or a JSON list of entries as in topology.json ("match", "split", "replicate", ...), for tensors that are saved
 * without a layout; the last list counts. Each worker says it for itself, before the first step, and all give the same
 * list. ASSAY_EPARAM, ASSAY_EUSAGE after the first step. */
int assay_hook_set_topology(assay_hook *hook, const char *mesh, int axes, const assay_hook_axis *axis,
                            const char *tensors);
/* Names a group of workers that this one communicates in, by their ranks, in the order that they have in it: as
 * torch.distributed calls it ("TENSOR_MODEL_PARALLEL_GROUP", "mesh_tp"). Where no mesh was said, axes are made of
 * groups. At most 256 groups. ASSAY_EPARAM, ASSAY_EUSAGE after the first step. */
int assay_hook_add_group(assay_hook *hook, const char *name, size_t count, const int64_t *ranks);

/* Fixes the configuration and takes this worker's place in the directory now, which otherwise the first step does:
 * tells before the training starts whether it can be recorded. After a failure the hook is off. ASSAY_EUSAGE for a
 * directory that holds something (parameter "existing"), ASSAY_EIO. */
int assay_hook_begin(assay_hook *hook);

/* The mode of the steps that begin from now on; GLOBAL before the first call. */
int assay_hook_set_mode(assay_hook *hook, int mode);
/* Closes the current step and begins the next one of the current mode. Global and mode steps count from 0. The first
 * call fixes the configuration. */
int assay_hook_step(assay_hook *hook);
/* Ends the current step in time, where profiler data is recorded (parameters "timeline" and "system_metrics_interval"):
 * what follows until the next assay_hook_step() was outside of steps. Tensors still belong to it. */
int assay_hook_step_end(assay_hook *hook);

/* A phase of the training, such as "data", "forward" or "backward", in profiler data:
 *     int64_t begun = assay_hook_phase_begin(hook);
 *     ...
 *     assay_hook_phase_end(hook, "data", begun);
 * The first call starts the recording of steps and phases. Phases may lie in one another, and in several threads. Begin
 * gives microseconds since 1970, or 0 where nothing is recorded; end with that does nothing. */
int64_t assay_hook_phase_begin(assay_hook *hook);
int assay_hook_phase_end(assay_hook *hook, const char *name, int64_t begun);
/* Something that took `duration` microseconds from `begun` on (microseconds since 1970), by its name, in the row of a
 * phase of the training. Starts the recording of steps and phases as well. ASSAY_EUSAGE without names, or for what ends
 * before it begins. */
int assay_hook_event(assay_hook *hook, const char *phase, const char *name, int64_t begun, int64_t duration);

/* Makes the next assay_hook_step() begin this global step and this step of `mode`: for a training that goes on from a
 * checkpoint. Other modes keep their counts. */
int assay_hook_seek(assay_hook *hook, int64_t global_step, int mode, int64_t mode_step);
/* What is saved from now on belongs to the step that began `back` calls of assay_hook_step() before the current one (0:
 * the current one), until the next such call: for who keeps what a step had until it is known whether that is of
 * interest. What that step has on disk stays; collections that it was not due for are not saved. ASSAY_EUSAGE for a
 * step before the first, or more than ASSAY_HOOK_FARTHEST_BACK of them. */
enum { ASSAY_HOOK_FARTHEST_BACK = 63 };
int assay_hook_go_back(assay_hook *hook, int back);
/* assay_hook_set_mode() and assay_hook_step() in one, for who is called at every step: bit i of the result is set when
 * tensor i of these, of at most 62, would be saved now (assay_hook_wants()), and ASSAY_HOOK_ACTIVE when anything would
 * (assay_hook_active()). `mode` 0: the mode as it is. 0 for NULL and after a failure. */
#define ASSAY_HOOK_ACTIVE ((uint64_t)1 << 62)
uint64_t assay_hook_next(assay_hook *hook, int mode, size_t count, const char *const *tensors);
/* True when the current step saves any collection. False for NULL. */
bool assay_hook_active(const assay_hook *hook);
/* True when a tensor of this name would be saved now: lets a caller spare itself a copy from a device. */
bool assay_hook_wants(assay_hook *hook, const char *tensor);
/* True when assay_hook_save_statistics() gives all that would be saved now of a tensor of this name, so that a caller
 * whose tensor lies on a device takes them there. False when nothing would be saved, or more than that. */
bool assay_hook_wants_statistics(assay_hook *hook, const char *tensor);

/* Saves a tensor of the current step if its collections want it: `data` holds the elements in C order, shape[0..ndim)
 * its extents (ndim 0 is a scalar). The bytes are copied before this returns. Saving a name twice in a step writes two
 * records. ASSAY_EUSAGE before the first step, for unknown dtypes, too many or negative extents, or no data. */
int assay_hook_save(assay_hook *hook, const char *tensor, int dtype, int ndim, const int64_t *shape, const void *data);
/* Which piece of a tensor a worker has, where several have it between them. */
typedef struct assay_hook_layout {
    const int64_t *global_shape; /* [ndim] of the whole tensor */
    const int64_t *offset;       /* [ndim] where the piece begins in it */
    int64_t replica;             /* of the workers that have this very piece, which one this is, from 0 */
    bool partial; /* what it has is an addend: the tensor is the sum over the workers that have this piece */
} assay_hook_layout;

/* assay_hook_save() of a piece: `shape` is the piece's own. Its place goes into the trial, so that rules and reports
 * speak of the whole tensor (docs/topology.md). A tensor that every worker has a copy of is a piece of its whole shape
 * at offset 0, with as many replicas. NULL layout: the same as assay_hook_save(). ASSAY_EUSAGE also for a piece that
 * leaves the tensor. */
int assay_hook_save_piece(assay_hook *hook, const char *tensor, int dtype, int ndim, const int64_t *shape,
                          const void *data, const assay_hook_layout *layout);
/* Statistics of a tensor that the caller has taken: over the flattened tensor, NaN where an element is NaN. */
typedef struct assay_hook_statistics {
    double min, max, mean;
    double std;    /* divides by N */
    double l1, l2; /* norms */
} assay_hook_statistics;
/* Saves the reductions that these statistics give, in place of a tensor of this dtype and shape. What its collections
 * want besides is not recorded. Statuses as assay_hook_save(). */
int assay_hook_save_statistics(assay_hook *hook, const char *tensor, int dtype, int ndim, const int64_t *shape,
                               const assay_hook_statistics *statistics);
/* Saves a one-dimensional tensor of strings. */
int assay_hook_save_strings(assay_hook *hook, const char *tensor, size_t count, const char *const *texts);
/* Saves a float64 of shape (1) named "scalar/<name>" at the current step, whatever the save interval says, unless a
 * collection matches that name: then that collection's steps hold. Also drawn by TensorBoard, when on. */
int assay_hook_save_scalar(assay_hook *hook, const char *name, double value);
/* The same of a scalar that was so at another time than now, in seconds since 1970. */
int assay_hook_save_scalar_at(assay_hook *hook, const char *name, double value, double wall_time);

/* A tensor where the caller has it, packed, as rows and columns; y: a second one of the same kind, of ADAM, else NULL. */
typedef struct assay_hook_rows {
    const void *x, *y;
    int dtype;
    uint64_t rows, columns;
} assay_hook_rows;

/* Sums up rows in groups, as a measure of the form `form` of SKETCH does (assay/measure.h). `out` has room for four times
 * `groups` x `columns` numbers: sums, squares, and what ADAM has besides, each [groups found][columns]. Returns how many
 * groups there are; -1: there is no such result. */
int assay_hook_sketch(int form, const assay_hook_rows *of, int groups, double *out);
/* Which function of x is y, element by element, as the measure FUNCTION finds it (assay/measure.h)? `out` has room for
 * ASSAY_HOOK_FIT numbers of each function (how many elements are not that function, -1: it was looked at no further; the
 * worst of them, how far it is off, what rounding explains, and the largest of these ratios), and one behind them: how
 * unlikely the mask of a dropout is. Returns how many functions there are; -1: x is not finite, or types are not known. */
enum { ASSAY_HOOK_FIT = 5 };
int assay_hook_function(int dtype, const void *y, int input_dtype, const void *x, uint64_t elements, double *out);

/* The records of the laws of computation, of what no convolution makes: what is in them, and what of a training becomes one, is
 * in assay_recording/laws.py. Equations are taken one after the other, and summed up by threads while the training goes on. */
typedef struct assay_hook_laws assay_hook_laws;

/* Many tensors, each taken as one column. */
typedef struct assay_hook_columns {
    size_t count;
    const int *dtypes;
    const void *const *x, *const *y; /* y: of ASSAY_SKETCH_ADAM, else NULL; a tensor that is NULL is left out */
    const uint64_t *elements;
    const uint64_t
        *first; /* tensor i has cells first[i] to first[i + 1]: at most 256, a power of two or as many as elements */
} assay_hook_columns;

/* Saves float32 tensors of one axis, whose values follow each other. */
int assay_hook_save_floats(assay_hook *hook, size_t count, const char *const *names, const uint64_t *sizes,
                           const float *values);

/* A tensor where the caller has it, packed; the values are NULL where there is none, or where its dtype is enough. */
typedef struct assay_hook_operand {
    const void *values;
    int dtype;
} assay_hook_operand;

enum {
    ASSAY_LAW_LINEAR, /* y = x Wt + b */
    ASSAY_LAW_OUTPUT, /* no record: y is the gradient of the output of the pass `of`, which adds to what gradients have to be */
    ASSAY_LAW_GRADIENT, /* the gradient `weight` [outputs][inputs], or of a bias if there are no inputs, is that */
    ASSAY_LAW_NORM,     /* y = x, normalised by rows, times weight + bias */
};

/* One equation. Both sides of it are summed up in cells: groups of rows by tiles of columns, at most 8 of each, and no more
 * than there are rows or columns. */
typedef struct assay_hook_law {
    int kind;
    const char *name;        /* of the record; is there until assay_hook_laws_finish() */
    assay_hook_operand x, y; /* [rows][inputs] and [rows][outputs] */
    assay_hook_operand weight, bias;
    uint64_t rows, inputs, outputs;
    int groups, tiles;
    double e;               /* of norms: is added to the variance of a row; below 0: - e, to its mean square */
    int parameter, of_bias; /* a number for each weight and bias, from 0 on; below 0: none */
    int64_t of;             /* LINEAR: not 0: an OUTPUT follows. OUTPUT: the number of its pass */
    double *sums;           /* GRADIENT: assay_hook_sketch() of all elements as one column */
    uint64_t cells, stride; /* in so many cells, the squares `stride` behind the sums; 0 cells: without that */
} assay_hook_law;

/* So many threads sum up; 0: the caller does. Ends with assay_hook_laws_free(), before the hook is closed. */
int assay_hook_laws_new(assay_hook *hook, int threads, assay_hook_laws **laws);
void assay_hook_laws_free(assay_hook_laws *laws);
/* Takes an equation of the current step, whose tensors stay as they are until it is done; `now`: it is done when this
 * returns. Returns its number, from 0 on in each step; -1 without memory. */
int64_t assay_hook_laws_take(assay_hook_laws *laws, const assay_hook_law *law, int now);
/* assay_hook_sketch() of each of these, which counts as equations of which this is the last. Of the four numbers that it
 * has, number k of a cell is at out + k stride + the cell. */
int64_t assay_hook_laws_take_columns(assay_hook_laws *laws, int form, const assay_hook_columns *of, size_t stride,
                                     double *out);
/* So many equations are done, from the first one on. */
int64_t assay_hook_laws_done(assay_hook_laws *laws);
/* Waits until all are done, and does what no thread has begun. */
void assay_hook_laws_wait(assay_hook_laws *laws);
/* A tensor of an equation was changed before it was done: it has no record, nor what follows from it. */
void assay_hook_laws_drop(assay_hook_laws *laws, int64_t number);
/* Waits, saves the records at the current step, in their order, and begins the next step. */
int assay_hook_laws_finish(assay_hook_laws *laws);
/* What a pass adds to a gradient: in each number so many products of tensors of these dtypes. */
typedef struct assay_hook_added {
    int dtypes[2], groups, tiles;
    size_t places;
    uint64_t products;
    double *sums; /* [3][groups][tiles][places] as assay_hook_law_products() has them; they are changed */
} assay_hook_added;

/* Adds that to what the gradient of a parameter has to be. */
int assay_hook_laws_expect(assay_hook_laws *laws, int parameter, const assay_hook_added *added);
/* What that has come to: so many products, 0: nothing, and NULL. */
uint64_t assay_hook_laws_expected(assay_hook_laws *laws, int parameter, int dtypes[2], const double **sums);
/* What sums of columns of x and y with as many rows, in groups with the signs that rows have, say of yt x: the sums that come out, the squares that
 * rounding goes by, and how large the square of a sum was on the way, each [groups of y][groups of x]. x is NULL: a sum of y alone. */
int assay_hook_law_products(const double *x, const double *y, uint64_t rows, int of_x, int of_y, double *out);

/* Changes how often a collection is saved, from the next step on, in every mode: for a program that measures what
 * recording costs it. May be called at any time. ASSAY_ENOTFOUND for a collection that was not declared, ASSAY_EPARAM
 * for an interval below 1. */
int assay_hook_set_interval(assay_hook *hook, const char *collection, int64_t interval);

/* Waits until every step closed so far is on disk. */
int assay_hook_flush(assay_hook *hook);

typedef struct assay_hook_counts {
    uint64_t steps;   /* steps whose files have been written */
    uint64_t tensors; /* records written, reductions included */
    uint64_t bytes;   /* bytes of event files written */
    uint64_t dropped; /* tensors not saved because the queue was full, or because their step could not be written */
    uint64_t errors;  /* calls and steps that failed */
    int status;       /* the first failure's status, or 0 */
    char text[ASSAY_ERROR_TEXT]; /* the first failure's text */
} assay_hook_counts;

/* Fills *counts; zeros for NULL. */
void assay_hook_get_counts(assay_hook *hook, assay_hook_counts *counts);

/* What is saved from now on is charged to this account, 0 to ASSAY_HOOK_ACCOUNTS - 1. Account 0, that of the beginning,
 * has also what each step takes whatever is in it: its files. ASSAY_EUSAGE for another account. */
enum { ASSAY_HOOK_ACCOUNTS = 3 };
int assay_hook_charge(assay_hook *hook, int account);
/* What assay_hook_cost.writer has of an account. 0 for NULL, and for another account. */
double assay_hook_charged(assay_hook *hook, int account);

/* What the recording has cost so far. */
typedef struct assay_hook_cost {
    double calls;  /* seconds that calls took at steps that were saved: copies, and waiting for room in the queue */
    double writer; /* seconds of processor time of the thread that writes, beside the training */
} assay_hook_cost;

/* Fills *cost; zeros for NULL. */
void assay_hook_get_cost(assay_hook *hook, assay_hook_cost *cost);

/* Says that an exception, or what a program has in its place, ends this process: the trial then says so, with the current
 * step, once it is closed. `type` is its kind, "ValueError"; of `message` 160 bytes are kept, without secrets. When another
 * step begins behind it, it was no end, and is forgotten. passing: it may yet be caught; nothing is said of it. ASSAY_ENOMEM. */
int assay_hook_ended_by(assay_hook *hook, const char *type, const char *message, int passing);

/* Closes the last step, waits for the writer, marks this worker as closed (and the training as ended when it is the
 * last one) and frees the hook. Rank 0 says in one line what was recorded, what was dropped and what it cost. Returns
 * the first failure's status, or 0. */
int assay_hook_close(assay_hook *hook);

#ifdef __cplusplus
}
#endif
#endif
