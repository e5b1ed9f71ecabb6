/* loading.h - what loading a pickle would run.
 *
 * A pickle is a program: opcodes name functions and classes, and call them. Here the opcodes are gone through with a
 * stack that only tells texts, names and the rest apart; nothing is imported, built or called. Every name is graded
 * against the list of docs/loading.md. */
#ifndef ASSAY_VERIFY_LOADING_H
#define ASSAY_VERIFY_LOADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

typedef enum assay_loading_grade {
    ASSAY_LOADING_DATA,    /* names that stand for data alone: of torch, numpy, collections */
    ASSAY_LOADING_CLASSES, /* classes or functions of a program, whose code runs when they are loaded */
    ASSAY_LOADING_CODE     /* functions that can do anything: os.system, eval, open */
} assay_loading_grade;

enum { ASSAY_LOADING_NAMES = 32, ASSAY_LOADING_NAME = 200 };

typedef struct assay_loading_name {
    assay_loading_grade grade;
    bool called;                   /* else it is only named */
    const char *opcode;            /* that names or calls it; static */
    uint64_t offset;               /* of that opcode in the bytes that were looked at */
    char name[ASSAY_LOADING_NAME]; /* "os.system", cut to fit */
} assay_loading_name;

typedef struct assay_loading {
    assay_loading_grade grade; /* the worst of all */
    assay_loading_name list[ASSAY_LOADING_NAMES];
    size_t kept;      /* of them; those of the grade DATA are not kept */
    uint64_t streams; /* pickles that stood behind one another */
    bool cut;         /* the bytes end before the last of them does */
} assay_loading;

/* Looks at the pickles in `bytes`: the first one, and those behind its STOP. *out is added to, and begins zeroed. What
 * is no pickle, or breaks off, is looked at as far as a loader would come. Linear. 0 or ASSAY_ENOMEM. */
int assay_loading_scan(const void *bytes, size_t size, assay_loading *out);

/* Does a file or entry begin like a pickle? */
bool assay_loading_is_pickle(const void *bytes, size_t size);

/* The grade of a name by itself. */
assay_loading_grade assay_loading_grade_of(const char *module, const char *name);

#endif
