/* event_format.h - what a format of events provides. Inside trial only; everyone above asks trial/events.h.
 *
 * A format of events is one const table, named in event_formats.def; nothing outside its folder knows its folders,
 * files and lines. It may stand beside any format of tensors in the same trial. */
#pragma once

#include "trial/events.h"
#include "container/lines.h"
#include "trial/lone.h"
#include "trial/problem.h"

/* A trial while its event files are listed. */
typedef struct assay_event_lister {
    assay_store *store;
    const assay_names *top; /* what lies in the trial's root */
    assay_event_files *files;
    assay_problems *problems;
    uint8_t format; /* under way */
} assay_event_lister;

/* As assay_place_visit of places.h. */
typedef int assay_event_place_visit(void *context, const char *path);

typedef struct assay_event_format {
    const char *name;
    const char *what; /* what makes a directory such a trial, for the message about one that is none */
    assay_lone lone;  /* files that are such a trial by themselves */
    bool by_files;    /* a directory is such a trial only where it has a file; else by the names in its root alone */
    /* True when the trial may hold such files, by the names in its root. */
    bool (*probe)(const assay_names *top);
    /* Adds the files by assay_event_lister_add(), in any order, and says whether they have ended. 0 or ASSAY_ENOMEM. */
    int (*list)(assay_event_lister *lister);
    /* Visits the directories in which a new file, or the end, is noticed. What the visitor returned. */
    int (*places)(assay_store *store, assay_event_place_visit *visit, void *context);
    /* Hands out the lines of one file, one after the other: `context` is made anew for each file. Every cut of a file
     * gives a problem or fewer events, never a crash. 0, ASSAY_ENOMEM, or what the sink returned. */
    int (*read)(assay_store *store, const assay_event_file *file, const assay_event_sink *sink, uint64_t *bytes,
                assay_error *err);
} assay_event_format;

/* The format of that number; numbers are below assay_event_format_count(). */
const assay_event_format *assay_event_format_of(unsigned number);
unsigned assay_event_format_count(void);

/* Adds a file, whose texts are copied. 0 or ASSAY_ENOMEM. */
int assay_event_lister_add(assay_event_lister *lister, const assay_event_file *file);
/* Visits every file of a directory and of those below it, `depth` levels in all; what lies deeper is a problem. 0: only
 * the directory itself, and those in it are not its business. The visitor returns 0 or ASSAY_ENOMEM. What cannot be
 * listed is a problem. */
typedef int assay_event_visit(assay_event_lister *lister, const char *path, const char *name);
int assay_event_lister_walk(assay_event_lister *lister, const char *directory, int depth, assay_event_visit *visit);
