/* rule_process.h - a process of its own for a rule of a shared object or in Python: whatever that does, it does to that
 * process.
 *
 * The process is this program, started anew (it never opens MPI) and told to serve (rule/process_server.h); for a rule
 * in Python an interpreter that runs src/python/assay/rule_process.py, which answers in the same way. Requests lie in
 * memory that both share and only this side writes; a short message on a socket says that there is one. Answers come
 * through the socket. One request is under way at a time; a process that ends, or does not answer in time, is lost, and
 * what it did is known. Only the program's first thread may use these calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

/* The program's argument that makes it serve: `assay --rule-process PARENT MODULE`. */
#define ASSAY_RULE_PROCESS_WORD "--rule-process"

typedef enum assay_rule_request {
    ASSAY_RULE_LOAD,       /* the module; answers what is in its table */
    ASSAY_RULE_SETUP,      /* number and name of a rule, parameters; answers its needs */
    ASSAY_RULE_TRIAL,      /* a place (below ASSAY_RULE_TRIALS), and a trial to keep there */
    ASSAY_RULE_STATE_NEW,  /* into place 0 */
    ASSAY_RULE_UNPACK,     /* a state into a place */
    ASSAY_RULE_MAP,        /* a step into the state at place 0 */
    ASSAY_RULE_COMBINE,    /* joins the state at place 1 to the one at place 0, and frees it */
    ASSAY_RULE_PACK,       /* answers the bytes of the state at place 0 */
    ASSAY_RULE_STATE_FREE, /* that at place 0 */
    ASSAY_RULE_FINALIZE,   /* answers the verdict on the state at place 0 */
    ASSAY_RULE_REASON,
    ASSAY_RULE_DATA_FREE,
    ASSAY_RULE_REQUESTS
} assay_rule_request;

enum {
    ASSAY_RULE_SOCKET = 3, /* descriptors that the process finds open */
    ASSAY_RULE_AREA = 4,
    ASSAY_RULE_CUT_OFF = 113, /* its exit code when they are not there any more */
    ASSAY_RULE_TRIALS = 4,    /* trials that it keeps: a rule looks at two at most */
    ASSAY_RULE_ANSWER_CEILING = 1 << 30
};

/* Goes before every request and answer. */
typedef struct assay_rule_message {
    uint32_t request; /* assay_rule_request */
    int32_t status;   /* of an answer: what the rule returned */
    uint64_t size;    /* bytes in the shared memory; of an answer: that follow (its text when status is a failure) */
} assay_rule_message;

/* In the process: takes what was added to its environment out of it again, for what a rule starts. */
void assay_rule_process_clean_environment(void);

typedef struct assay_rule_answer {
    int status;      /* what the rule returned */
    assay_buf bytes; /* what it answered; released by the caller */
    assay_error err; /* with a status that is a failure */
} assay_rule_answer;

/* What a process serves. */
typedef struct assay_rule_served {
    const char *module; /* the path of a shared object; of a rule in Python FILE:CLASS */
    bool python;
} assay_rule_served;

typedef struct assay_rule_process assay_rule_process;

/* What is started: the path of the program itself, as it knows it. None is, and nothing can be started, unless set. */
void assay_rule_process_set_program(const char *path);
/* What an interpreter is given to serve a rule in Python: the path of rule_process.py, which is copied. Such a rule
 * cannot be started unless set. */
void assay_rule_process_set_python(const char *path);
/* Seconds that one request may take; 0: any time. 60 unless set. Time during which the job was suspended does not
 * count. */
void assay_rule_process_set_seconds(double seconds);

/* Starts a process. ASSAY_EIO with the reason, ASSAY_EUNSUPPORTED where this program starts none; ASSAY_ENOMEM. Free
 * with assay_rule_process_free(), which ends it.
 *
 * What serves a rule in Python is $ASSAY_PYTHON, else python3 of the PATH. Of our environment it gets neither what
 * belongs to MPI, so that nothing in it takes itself for a rank, nor the heap checks that a shared object gets; but it
 * gets the credentials for S3, because it reads trials itself. */
int assay_rule_process_start(const assay_rule_served *served, assay_rule_process **out, assay_error *err);
void assay_rule_process_free(assay_rule_process *process);

/* Shared memory for a request of `size` bytes, valid until the next call; NULL without memory. */
uint8_t *assay_rule_process_area(size_t size);

/* Asks, with `size` bytes of the area, and waits for the answer. ASSAY_OK: there is one, for the caller to release.
 * ASSAY_EINTERNAL: the process was lost, *err says how ("crashed: segmentation fault (SIGSEGV)"), and it is only good
 * for assay_rule_process_free(). ASSAY_ENOMEM. */
int assay_rule_process_ask(assay_rule_process *process, assay_rule_request request, size_t size,
                           assay_rule_answer *answer, assay_error *err);
/* The same with the bytes of a buffer, whose failure is returned. */
int assay_rule_process_ask_with(assay_rule_process *process, assay_rule_request request, const assay_buf *bytes,
                                assay_rule_answer *answer, assay_error *err);
