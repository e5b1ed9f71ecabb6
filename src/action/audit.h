/* audit.h - the audit log: one line of JSON for each attempt of an action, so that no action runs twice.
 *
 * A line is on disk before the action begins, and another one after it has ended. A run that is killed in between is
 * not repeated, because nobody knows whether the action happened. Several processes may share a log. docs/actions.md
 * describes it. */
#pragma once

#include <stdbool.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct assay_audit assay_audit;

typedef enum assay_audit_result {
    ASSAY_AUDIT_TRYING,  /* begun */
    ASSAY_AUDIT_ATTEMPT, /* one of several attempts has failed */
    ASSAY_AUDIT_DONE,
    ASSAY_AUDIT_FAILED,  /* certainly not done: a later run may try again */
    ASSAY_AUDIT_UNKNOWN, /* perhaps done: not tried again */
    ASSAY_AUDIT_RESULTS
} assay_audit_result;

/* What is done at most once: a few texts, of which all count. */
typedef struct assay_audit_key {
    const char *part[4];
    int parts;
} assay_audit_key;

/* Prepares a log at that path, or place in S3; nothing is read or written before the first claim. With NULL as path
 * there is only the memory, and no file. NULL without memory. */
assay_audit *assay_audit_new(const char *path);
void assay_audit_free(assay_audit *audit);

typedef enum assay_audit_claim_result {
    ASSAY_AUDIT_MINE,   /* to be done now; the log says so */
    ASSAY_AUDIT_BEFORE, /* done, perhaps done or under way by an earlier process, or by another one */
    ASSAY_AUDIT_OURS    /* this process had it already */
} assay_audit_claim_result;

/* Asks whether the key may be done, and takes note that it is begun when it may: `what` (members of a JSON object, ""
 * or
 * `"a": 1, `) goes into the line. Reads what was appended since the last time. Lines that are no such ones, like a last
 * one that was cut, are counted and left alone. ASSAY_EIO when the log cannot be read or written: then nothing may be
 * done. ASSAY_EBUDGET when it is larger than 256 MiB; ASSAY_ENOMEM. */
int assay_audit_claim(assay_audit *audit, const assay_audit_key *key, const char *what, assay_audit_claim_result *out,
                      assay_error *err);
typedef struct assay_audit_line {
    const char *what; /* as above */
    assay_audit_result result;
    unsigned attempt; /* from 1; 0: left out */
    const char *text; /* a few words */
} assay_audit_line;

/* Appends what came of a claimed key. Errors as above. */
int assay_audit_note(assay_audit *audit, const assay_audit_key *key, const assay_audit_line *line, assay_error *err);

/* Lines that were not understood. */
uint64_t assay_audit_strangers(const assay_audit *audit);

/* Takes in lines as they stand in a log, without touching a file; how many bytes of whole lines there were. A failure
 * is ASSAY_ENOMEM. */
int assay_audit_take(assay_audit *audit, const char *text, size_t size, size_t *taken);
/* True when the key is taken. For tests. */
bool assay_audit_has(const assay_audit *audit, const assay_audit_key *key);
