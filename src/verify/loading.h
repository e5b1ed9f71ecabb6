/* loading.h - what loading a pickle would run.
 *
 * A pickle is a program: opcodes name functions and classes, and call them. Here the opcodes are gone through with a
 * stack that only tells texts, names, what calls return and the rest apart; nothing is imported, built or called. Every name is graded
 * against the list of docs/loading.md. */
#pragma once

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
    uint64_t end;     /* of the last of them, or where it breaks off */
    bool broken; /* it breaks off, though it says that it is a pickle; there may be others behind what stands there */
    bool full;   /* a part was not looked at, for it takes more memory than there is */
} assay_loading;

/* Looks at the pickles in `bytes`: the first one, and those behind its STOP. *out is added to, and begins zeroed. What
 * is no pickle, or breaks off, is looked at as far as a loader would come. Linear, in `most` bytes of memory and little
 * more. 0 or ASSAY_ENOMEM. */
int assay_loading_scan(const void *bytes, size_t size, size_t most, assay_loading *out);

/* Looks for the first opcode anywhere in `bytes` that names what runs code, and goes on from there: of bytes of which
 * nobody knows where a pickle begins in them. Numbers have such a name by no accident. */
int assay_loading_hunt(const void *bytes, size_t size, size_t most, assay_loading *out);

/* Does a file or entry begin like a pickle? */
bool assay_loading_is_pickle(const void *bytes, size_t size);

/* The grade of a name that is called, or by itself. */
assay_loading_grade assay_loading_grade_of(const char *module, const char *name, bool called);

/* Does a name lead on from what it begins with to another module, or to a function that loads or runs what it is given? */
bool assay_loading_leads_to_code(const char *name);

/* Is the first part of a dotted path, which has so many bytes, a module of Python's library, or of a package whose
 * functions run programs? */
bool assay_loading_is_code_module(const char *path, size_t length);
