/* actions.h - what a job does on findings and at its end: notify, mail, cancel, submit (docs/actions.md).
 *
 *     assay_actions_parse(job, &actions, &err);                    (NULL: the job has none)
 *     assay_actions_prepare(actions, "report", ASSAY_ACTIONS_DO, &err);
 *     assay_actions_findings(actions, &outcome);                   (whenever there is a new outcome)
 *     assay_actions_end(actions, &report, exit code);              (once, when the report is written)
 *     assay_actions_free(actions);
 *
 * Every action runs at most once for a finding and a target, also across runs that share an output directory: the audit
 * log there remembers. A finding is a rule's first one in a trial. Only rank 0 calls these functions. All but _parse()
 * accept NULL for no actions. */
#pragma once

#include "report/report.h"

typedef struct assay_actions assay_actions;

/* The log's name in the output directory. */
#define ASSAY_ACTIONS_LOG "actions.log"

/* Parses the job's member "actions" strictly; *out stays NULL when there is none. The rules that it names have to be
 * the job's. Looks at no environment, file or network. `job` has to outlive *out. ASSAY_EJOB with file and place
 * ("actions[1].notify.url"), ASSAY_EUNSUPPORTED, ASSAY_ENOMEM. Free with assay_actions_free(). */
int assay_actions_parse(const assay_job *job, assay_actions **out, assay_error *err);
void assay_actions_free(assay_actions *actions);

typedef enum assay_actions_mode {
    ASSAY_ACTIONS_DO,
    ASSAY_ACTIONS_SHOW /* say on standard error what would be done; no log is read or written */
} assay_actions_mode;

/* Fetches secrets and job ids, and remembers where the log is to be: `directory` is made when the first action is due.
 * Called before the work, so that a missing secret is not found only after hours. ASSAY_EJOB, ASSAY_ENOMEM. */
int assay_actions_prepare(assay_actions *actions, const char *directory, assay_actions_mode mode, assay_error *err);

/* Runs the actions "on": "finding" for each rule of the outcome that fired. Failures are logged, to standard error too,
 * and never returned: the report is more important. May take as long as the targets' time-outs and retries allow. */
void assay_actions_findings(assay_actions *actions, const assay_outcome *outcome);

/* Runs the actions "on": "end", and says in one line how many actions failed and how many were not repeated. `code` is
 * the exit code that goes into the message. */
void assay_actions_end(assay_actions *actions, const assay_report *report, int code);

/* Sends a test message to each target of a message or mail at once, whatever it waits for, and appends a line for each:
 * "delivered  NAME", "failed  NAME: why", "unknown ..." (sent, without an answer). Jobs are neither cancelled nor
 * submitted, and no log is read or written. *failed gets how many did not deliver. A secret that is missing fails its
 * target alone. Call it instead of assay_actions_prepare(). `draw` is the terminal, or NULL; `json`: a
 * line is an object. Returns the buffer's status. */
int assay_actions_test(assay_actions *actions, size_t *sent, size_t *failed, const assay_draw *draw, bool json,
                       assay_buf *out);

/* Appends what the actions are, a line each: for --dry-run. Works before assay_actions_prepare() too. Returns the
 * buffer's status. */
int assay_actions_put_list(const assay_actions *actions, assay_buf *out);

/* The same as a list of JSON, every default filled in; of secrets and of variables that a script is given only the
 * names. Works before assay_actions_prepare() too. Returns the buffer's status. */
int assay_actions_put_json(const assay_actions *actions, assay_buf *out);
