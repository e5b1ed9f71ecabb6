/* contents.h - what a checkpoint holds, as its files are read one by one. Inside this folder only.
 *
 * Readers of files add tensors under the names that the files have; names.c then gives them those that rules know.
 * How a tensor's elements are found is written into a note, which the index keeps beside its row and decode.c reads. */
#pragma once

#include "container/zip.h"
#include "trial/trial_format.h"

typedef enum assay_ckpt_role { /* of a file, by its name */
                               ASSAY_CKPT_MODEL,
                               ASSAY_CKPT_OPTIMIZER,
                               ASSAY_CKPT_STATE, /* schedulers, random numbers, arguments: nothing of it is required */
                               ASSAY_CKPT_ROLES
} assay_ckpt_role;

typedef enum assay_ckpt_form {                     /* how elements lie */
                               ASSAY_CKPT_RANGE,   /* in C order in a range of the file */
                               ASSAY_CKPT_STRIDED, /* in a range of the file, a stride a dimension */
                               ASSAY_CKPT_NPY,     /* the range is a .npy file */
                               ASSAY_CKPT_PIECES,  /* boxes of the tensor lie in several files */
                               ASSAY_CKPT_RUNS     /* so do stretches of its elements, which are in C order */
} assay_ckpt_form;

enum {                            /* flags */
       ASSAY_CKPT_SWAPPED = 1,    /* most significant byte first */
       ASSAY_CKPT_NEGATED = 2,    /* torch's lazy views */
       ASSAY_CKPT_CONJUGATED = 4, /* likewise */
       ASSAY_CKPT_DEFLATED = 8,   /* the range is deflated, */
       ASSAY_CKPT_CHECKED = 16,   /* there is a CRC-32 over the whole range */
       ASSAY_CKPT_PACKED = 32,    /* elements have less than a byte, and lie behind one another */
       ASSAY_CKPT_ZSTD = 64       /* DEFLATED, too: but by Zstandard */
};

/* Bytes of a file of the checkpoint. */
typedef struct assay_ckpt_stretch {
    uint32_t file; /* in assay_contents.files */
    uint64_t offset, length;
} assay_ckpt_stretch;

/* A box of a tensor, in C order in a range of a file; of RUNS a stretch of the flattened tensor, in one dimension. */
typedef struct assay_ckpt_piece {
    uint32_t file;
    uint64_t offset;
    int64_t first[ASSAY_MAX_DIMS], size[ASSAY_MAX_DIMS];
} assay_ckpt_piece;

/* Where a tensor's elements are. */
typedef struct assay_ckpt_place {
    assay_ckpt_form form;
    unsigned flags;
    int dtype; /* assay_dtype; of NPY what its header says counts */
    int dims;
    uint64_t first;  /* STRIDED: the first element, counted in the range */
    uint64_t length; /* bytes of the range in the file */
    uint32_t crc;
    uint32_t pieces;                /* PIECES, RUNS */
    uint64_t inflated;              /* DEFLATED: bytes */
    int64_t shape[ASSAY_MAX_DIMS];  /* of `dims` dimensions, as are strides: what is behind them has no meaning */
    int64_t stride[ASSAY_MAX_DIMS]; /* STRIDED: in elements */
} assay_ckpt_place;

/* How the range of a tensor is compressed. */
static inline assay_zip_method assay_ckpt_method(const assay_ckpt_place *place)
{
    return !(place->flags & ASSAY_CKPT_DEFLATED) ? ASSAY_ZIP_STORED
           : place->flags & ASSAY_CKPT_ZSTD      ? ASSAY_ZIP_ZSTD
                                                 : ASSAY_ZIP_DEFLATED;
}

/* The flags of a range that is compressed so. */
static inline unsigned assay_ckpt_flags_of(unsigned method)
{
    return method == ASSAY_ZIP_STORED ? 0
           : method == ASSAY_ZIP_ZSTD ? ASSAY_CKPT_DEFLATED | ASSAY_CKPT_ZSTD
                                      : ASSAY_CKPT_DEFLATED;
}

typedef enum assay_ckpt_state {                      /* of a tensor */
                                ASSAY_CKPT_HELD,     /* it can be read */
                                ASSAY_CKPT_PROMISED, /* an index says that there is one; it has no file and no note */
                                ASSAY_CKPT_ALIAS     /* another name of `first`; likewise */
} assay_ckpt_state;

typedef struct assay_ckpt_tensor {
    uint32_t name; /* into assay_contents.names */
    uint32_t file; /* into assay_contents.files */
    uint64_t offset, length;
    size_t note, note_size; /* in assay_contents.notes */
    uint8_t role;           /* assay_ckpt_role */
    uint8_t state;          /* assay_ckpt_state */
    uint32_t first;         /* ALIAS: the tensor, by its place in assay_contents.tensor */
    bool in_order;          /* its file keeps the order in which the model has its tensors */
} assay_ckpt_tensor;

/* A parameter that an optimizer knows by a number, in the order of its groups. */
typedef struct assay_ckpt_number {
    uint32_t optimizer, group;
    int64_t number;
    bool listed; /* there are several optimizers: names begin with the optimizer's number */
} assay_ckpt_number;

typedef struct assay_contents {
    assay_store *store;
    assay_problems *problems;
    const assay_trial_options *options; /* the job's; NULL: none */
    int64_t step;
    const char *directory;    /* of the checkpoint, "" for the trial's root */
    const assay_dict *places; /* where files lie beside the checkpoint's that are of it too, */
    uint32_t place;           /* the checkpoint's among them (checkpoint.h); NULL: nothing does */
    char object[128];         /* the class of what a file of the model is, where that is no dictionary; "": none */
    assay_dict *names;        /* each tensor's */
    assay_dict *files;        /* paths below the trial's root */
    assay_ckpt_tensor *tensor;
    size_t count, room;
    assay_ckpt_number *number;
    size_t numbers, number_room;
    bool in_order; /* of the file under way */
    assay_buf notes;
    void *scratch;      /* room for the headers of one file after the other; NULL: none yet */
    assay_dict *mapped; /* paths of files whose tensors an index names */
    int64_t said_step;  /* that the first file of torch says it is of, of those that say one; + 1; 0: none has */
    bool several;       /* the directory has several models: a tensor of one may be called as another's */
    bool has_betas;
    double betas[2];                  /* that Adam was saved with */
    struct assay_boxes *boxes;        /* of tensors in pieces, where files have some; NULL */
    struct assay_ckpt_others *others; /* callback for values that are no tensors; may be NULL */
    int status;                       /* ASSAY_ENOMEM once something could not be kept */
} assay_contents;

/* 0 or ASSAY_ENOMEM. Release with assay_contents_release() either way. */
int assay_contents_init(assay_contents *c, assay_store *store, int64_t step, const char *directory,
                        assay_problems *problems);
void assay_contents_release(assay_contents *c);
/* Makes room for so many tensors more, and for their notes. 0 or ASSAY_ENOMEM. */
int assay_contents_reserve(assay_contents *c, size_t more);
/* Takes over the names of a file whose tensors are about to be added or promised, all of them in the order of their
 * numbers: they need not be looked up once more. False: there are names already, or an index says that more files have
 * some, and these stay the caller's. */
bool assay_contents_take_names(assay_contents *c, assay_dict *names);
/* A tensor as a file has it. */
typedef struct assay_ckpt_found {
    assay_ckpt_role role;
    const char *name;
    size_t name_length;
    assay_ckpt_stretch at;
    const assay_ckpt_place *place;  /* how its elements lie there */
    const assay_ckpt_piece *pieces; /* of a place that has some; NULL: none */
} assay_ckpt_found;
/* Adds it; of two of one name the first counts, and a problem names the second; where a directory has several models, it
 * names the file of the second, and is no loss. Returns the number of the name, ASSAY_NO_ID without memory. */
uint32_t assay_contents_add(assay_contents *c, const assay_ckpt_found *found);
/* Is any tensor of it one of the model? */
bool assay_contents_has_model(const assay_contents *c);
/* Adds the name of a tensor that belongs to the checkpoint and cannot be read, unless it is there. */
void assay_contents_promise(assay_contents *c, assay_ckpt_role role, const char *name, size_t name_length);
/* Releases the problems of a reading that is done again later, and named then. What could not be read is noted in the
 * store, for the next time it may be read. */
void assay_ckpt_unheard(assay_store *store, assay_problems *problems);
/* Is there a tensor of that name that can be read? */
bool assay_contents_holds(const assay_contents *c, const char *name, size_t name_length);
/* Adds another name of a tensor, unless that is there. */
void assay_contents_alias(assay_contents *c, const char *name, size_t name_length, const char *first,
                          size_t first_length);
/* Notes the decay rates that an optimizer was saved with; the first ones count. */
void assay_contents_set_betas(assay_contents *c, double beta1, double beta2);
void assay_contents_add_number(assay_contents *c, assay_ckpt_number number);

/* Does an element have less than a byte in files? */
static inline bool assay_ckpt_is_packed(int dtype)
{
    return assay_dtype_bits(dtype) < 8 * assay_dtype_size(dtype);
}

/* What a note says. False when it is none. */
bool assay_ckpt_note_get(assay_cursor *in, assay_ckpt_place *place);
/* Is the tensor in a range of a file that has its elements as they are, byte by byte? */
bool assay_ckpt_note_is_plain(const uint8_t *note);
bool assay_ckpt_note_piece(assay_cursor *in, const assay_ckpt_place *place, assay_ckpt_piece *piece);

struct assay_torch;

/* Takes what a torch file has. 0 or ASSAY_ENOMEM. */
typedef int assay_torch_take(struct assay_torch *torch, void *context);

/* A file that is being read. */
typedef struct assay_ckpt_file {
    assay_contents *to;
    assay_store_file *file;
    const char *path;
    uint64_t base, size; /* of it, [base, base + size) is looked at */
    uint32_t number;     /* in assay_contents.files */
    assay_ckpt_role role;
    assay_zip zip;          /* where it is one */
    assay_torch_take *take; /* NULL: all of it goes to `to` */
    void *context;
} assay_ckpt_file;

/* Adds a problem of this file at an offset (-1: none). */
void assay_ckpt_problem(const assay_ckpt_file *f, int kind, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Names what a file of that size has behind the end of all that it holds; nothing where it ends there. */
void assay_ckpt_name_behind(const assay_contents *c, const char *path, uint64_t size, uint64_t end);

/* Reads exactly so many bytes at an offset behind the base; for assay_zip_open(). */
int assay_ckpt_read(void *file, uint64_t at, void *bytes, size_t size, assay_error *err);

/* safetensors_file.c, npy_file.c, torch.c: add the tensors of a file; what is wrong becomes a problem. 0 or
 * ASSAY_ENOMEM. */
int assay_ckpt_add_safetensors(assay_ckpt_file *f);
int assay_ckpt_add_npy(assay_ckpt_file *f);
int assay_ckpt_add_npz(assay_ckpt_file *f);
int assay_ckpt_add_torch(assay_ckpt_file *f);
