/* rule_link.h - a configured rule's connection to its process: started when something is asked, started again after it
 * was lost, and told of the trials that are asked about. */
#pragma once

#include <assay/rule.h>

#include "rule/rule_process.h"

typedef struct assay_lost_trial { /* one on which the process was lost; the rule is not called there again */
    uint64_t trial;               /* its serial */
    struct assay_lost_trial *next;
    assay_error why;
} assay_lost_trial;

typedef struct assay_rule_link {
    assay_rule_served served;                                     /* borrowed texts */
    const char *name;                                             /* of the rule; borrowed */
    void (*pack_trial)(const assay_trial *trial, assay_buf *out); /* what the process is told of a trial */
    assay_rule_process *process;                                  /* NULL: there is none */
    assay_buf setup;                                              /* the request that configures it */
    uint64_t trial[ASSAY_RULE_TRIALS];                            /* serials of those that it has; 0: none */
    assay_lost_trial *lost;                                       /* owned */
} assay_rule_link;

/* A link without a process: link->setup is the caller's to fill, and link->pack_trial to change: it is
 * assay_trial_pack(). */
void assay_rule_link_init(assay_rule_link *link, const assay_rule_served *served, const char *name);
/* Ends the process, and frees what the link has. */
void assay_rule_link_release(assay_rule_link *link);

/* Starts the process, unless the caller has put one there that has loaded the rule, configures the rule, and unpacks
 * its needs. ASSAY_EFORMAT, without a message: what it answered is none. */
int assay_rule_link_declare(assay_rule_link *link, assay_need *need, assay_error *err);

/* A request to the process that is there, with bytes (NULL: none). The answer is the caller's to release when ASSAY_OK
 * comes back; a failure of the rule is one of the answer. ASSAY_EINTERNAL when the process was lost: *err names the
 * rule, `what` it did, and what happened; there is no process then. ASSAY_ENOMEM. */
int assay_rule_link_ask(assay_rule_link *link, assay_rule_request request, const char *what, const assay_buf *bytes,
                        assay_rule_answer *answer, assay_error *err);
/* The same with `size` bytes that lie in the area. */
int assay_rule_link_ask_area(assay_rule_link *link, assay_rule_request request, const char *what, size_t size,
                             assay_rule_answer *answer, assay_error *err);
/* The same where nothing but success is expected, and nothing is answered. */
int assay_rule_link_do(assay_rule_link *link, assay_rule_request request, const char *what, const assay_buf *bytes,
                       assay_error *err);

/* The rule's failure in words. A rule without memory is in error; it does not end the run. Returns the status. */
int assay_rule_link_failure(const assay_rule_link *link, const char *what, const assay_rule_answer *answer,
                            assay_error *err);

/* Why the process was lost on the trial with this serial; NULL: it was not. */
const assay_error *assay_rule_link_lost(const assay_rule_link *link, uint64_t trial);
/* Notes that the rule is not to be called on this trial again. Without memory for the note it will be, which is no
 * harm. */
void assay_rule_link_note_lost(assay_rule_link *link, uint64_t trial, const assay_error *why);

/* Makes sure of a process that knows the rule's trials, and begins a request with what a rule is told. *request is to
 * be released in any case. No state may be in the process that is about another trial. */
int assay_rule_link_begin(assay_rule_link *link, const assay_rule *rule, assay_buf *request, assay_error *err);
