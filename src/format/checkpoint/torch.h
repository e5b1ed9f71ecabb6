/* torch.h - a torch zip: a pickle of nested dictionaries whose tensors point into other entries. Inside this folder
 * only. A TorchScript file has a second one, of the constants of its program. */
#pragma once

#include "format/checkpoint/contents.h"
#include "container/pickle.h"

/* Elements of a storage that are a tensor. */
typedef struct assay_torch_view {
    uint32_t entry; /* of the zip */
    int dtype, dims;
    uint64_t stored; /* elements of the storage */
    int64_t first, shape[ASSAY_MAX_DIMS], stride[ASSAY_MAX_DIMS];
} assay_torch_view;

/* Tensors that a file has beside its pickle, which names them by their keys (legacy_tar.c). */
typedef struct assay_torch_given {
    assay_dict *keys;
    assay_torch_view *list; /* by number in `keys` */
    size_t count, room;
} assay_torch_given;

typedef struct assay_torch {
    assay_ckpt_file *file;
    const assay_torch_given *given; /* NULL: the pickle says where tensors lie */
    const char *root;               /* the directory that all entries are in, in the zip's names */
    size_t root_length;
    const char *data; /* what parts the root from a storage's key: "/data/" */
    bool swapped;     /* elements have the most significant byte first */
    assay_pickle pickle;
    uint8_t *pickled;  /* its bytes */
    uint32_t *storage; /* by the number that most storages have for a key: their entry */
    uint32_t storages; /* numbers below this one are there; one without an entry has ASSAY_NO_ID */
} assay_torch;

/* The range of a file where a tensor's elements lie. */
typedef struct assay_torch_range {
    uint64_t offset, length;
    uint32_t entry;      /* of the zip: the tensor's storage, */
    uint64_t first_byte; /* where that begins, */
    int64_t first;       /* and the tensor's first element in it */
} assay_torch_range;

/* Where the elements of the tensor that a node makes lie. 1; 0: it makes no tensor; ASSAY_EFORMAT: one that cannot be
 * read, `what` says why. */
int assay_torch_tensor(const assay_torch *t, uint32_t node, assay_ckpt_place *place, assay_torch_range *range,
                       assay_error *what);

/* Notes which entries of the zip are storages with a number for a key, ROOT/data/17. 0 or ASSAY_ENOMEM. */
int assay_torch_number_storages(assay_torch *t);

/* The dtype of a storage's class; -1: it is none that is known. */
int assay_torch_storage_dtype(const assay_pickle *p, uint32_t class);

/* Is the node a storage? Then its key, in the pickle's bytes, and how many bytes it should have. */
bool assay_torch_storage(const assay_torch *t, uint32_t node, const char **key, size_t *length, uint64_t *bytes);

/* Adds the tensors of a file whose pickle is read and whose entries are known. 0 or ASSAY_ENOMEM. */
int assay_torch_add_opened(assay_torch *t);

/* The one tensor of a torch file, as assay_torch_tensor(). What is wrong with the file as such becomes a problem, too.
 * ASSAY_EFORMAT, ASSAY_EUNSUPPORTED, ASSAY_EIO, ASSAY_ENOMEM. */
int assay_torch_single(assay_ckpt_file *f, assay_ckpt_place *place, assay_torch_range *range, assay_error *err);

/* What of a file is added, and how. */
typedef struct assay_torch_choice {
    const char *const *left_out; /* keys of the root; ends with NULL */
    const char *prefix;          /* of the model's names, where the whole root is the model; NULL: the root has keys */
} assay_torch_choice;
/* Adds the tensors of a file that have elements. 0 or ASSAY_ENOMEM. */
int assay_torch_add_chosen(assay_torch *t, const assay_torch_choice *choice);
/* The same of a file whose zip is open. */
int assay_ckpt_add_torch_chosen(assay_ckpt_file *f, const assay_torch_choice *choice);
