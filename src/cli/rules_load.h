/* rules_load.h - loads custom rules, for the commands that use rules. */
#pragma once

#include "cli/cli.h"
#include "job/job.h"

#define CLI_RULES_PATH_HELP                                                                                            \
    "Also load the rules in the shared objects of these directories (separated by colons), besides those of "          \
    "ASSAY_RULES_PATH and of the installation."

/* Loads every shared object in the directories of `path` (NULL: none given), of the environment's ASSAY_RULES_PATH, and
 * in the installed lib/assay/rules, if that is there. In that last one, what cannot be loaded is a warning; else it is
 * ASSAY_EUSAGE with file and reason. Lets rules in Python be started, too. Every rank calls it before the job is read.
 * Not collective. */
int cli_load_rules(const char *path, assay_error *err);

/* ASSAY_EUSAGE on every rank when not all of them have the same rules. A custom rule whose setup failed on one
 * rank, or did not declare the same on all, counts as failed on all. Collective. */
int cli_same_rules(assay_comm *comm, assay_job *job, assay_error *err);

/* `assay rules new NAME`: writes a rule's source, what builds it, and a test into `directory` (NULL: the rule's name in
 * small letters), which must not have them yet: a rule in C, or in Python. Appends what was made to `out`. Not
 * collective. */
int cli_new_rule(const char *name, const char *directory, bool python, assay_buf *out, assay_error *err);
