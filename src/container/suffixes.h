/* suffixes.h - what the ending of a file's name says that the file holds. A name proves nothing: whoever has the bytes
 * goes by them. Here stands what is expected of a file that is missing, empty, closed or not to be read. */
#pragma once

#include <stddef.h>

/* What a file is by its name: bits, since "x_optim_states.pt" is several of them. */
typedef enum assay_suffix {
    ASSAY_SUFFIX_TENSORS = 1 << 0, /* tensors of a checkpoint */
    ASSAY_SUFFIX_STATE = 1 << 1,   /* what a training resumes from, tensors or not, rather than words about it */
    ASSAY_SUFFIX_LOADED = 1 << 2,  /* torch.load() or pickle.load() may be given it, which can run code */
    ASSAY_SUFFIX_DATA = 1 << 3,    /* programs that read it take it as data, and run nothing */
    ASSAY_SUFFIX_NO_SUMS = 1 << 4, /* the format has no checksums */
    ASSAY_SUFFIX_PIECES = 1 << 5,  /* pieces of tensors that ranks share */
    ASSAY_SUFFIX_RANK = 1 << 6,    /* of those, the part of one rank, of which no other rank has a copy */
    ASSAY_SUFFIX_PACKED = 1 << 7,  /* another file packed as a whole */
    ASSAY_SUFFIX_OUTPUT = 1 << 8   /* what a program printed */
} assay_suffix;

/* All that the ending of a name or path says, as bits of assay_suffix; 0 where it says nothing. */
unsigned assay_suffix_kinds(const char *name);

/* The bytes of the name that stand before the longest ending that says one of `kinds`; its length where none does. */
size_t assay_suffix_before(const char *name, size_t length, unsigned kinds);
