/* others.h - what a checkpoint holds beside tensors: numbers, texts, bytes, objects. Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"
#include "container/pickle.h"

/* Who wants to be told of them while files are read. */
typedef struct assay_ckpt_others {
    assay_other_visit *visit;
    assay_archive_visit *archive; /* NULL: not of those */
    void *context;
    int status; /* what a visit returned, once it was not 0 */
} assay_ckpt_others;

/* Tells of the node under a path, unless it is a dictionary or list that is to be walked, or nobody wants to know.
 * True: what it holds is not looked at. Lists of plain values are one value. */
bool assay_ckpt_note_other(const assay_contents *c, const assay_pickle *p, uint32_t node, const char *path,
                           size_t length);
/* The class of an object, "torch.nn.modules.container.Sequential"; "" where it has none, or one longer than the room.
 */
void assay_ckpt_put_class(const assay_pickle *p, uint32_t node, char *out, size_t room);
/* Tells of a range that is a file by itself. */
void assay_ckpt_note_archive(const assay_contents *c, const char *path, uint64_t offset, uint64_t length);
/* Tells of bytes that have a name alone. */
void assay_ckpt_note_bytes(const assay_contents *c, const char *path, size_t length);
