/* report.h - writes the outcome of a job as report.json, as text and in the other forms (docs/design.md, "The report").
 */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "report/output.h"
#include "report/text/draw.h"
#include "report/text/workers.h"

/* The forms of a report, in the order of help and messages: X(NAME, word, draws curves, written by default). How form
 * `word` is written says report_form_WORD, in a file of its own (form.h). */
#define ASSAY_REPORT_FORM_LIST(X)                                                                                      \
    X(JSON, json, false, true)                                                                                         \
    X(TEXT, text, false, true)                                                                                         \
    X(HDF5, hdf5, false, false)                                                                                        \
    X(CSV, csv, true, false)                                                                                           \
    X(LINES, jsonl, true, false)                                                                                       \
    X(JUNIT, junit, false, false)                                                                                      \
    X(MARKDOWN, markdown, false, false)                                                                                \
    X(TENSORBOARD, tensorboard, true, false)                                                                           \
    X(HTML, html, true, false)

typedef enum assay_report_form { /* numbers in assay_report_forms */
#define ASSAY_FORM_ENUM(name, word, draws, by_default) ASSAY_FORM_##name,
                                 ASSAY_REPORT_FORM_LIST(ASSAY_FORM_ENUM)
#undef ASSAY_FORM_ENUM
                                     ASSAY_FORM_COUNT
} assay_report_form;
extern const assay_job_forms assay_report_forms; /* for assay_job_parse() */

/* " json text ...": all words, for messages and help. */
#define ASSAY_FORM_NEXT_WORD(name, word, draws, by_default) " " #word
#define ASSAY_FORM_WORDS                                    ASSAY_REPORT_FORM_LIST(ASSAY_FORM_NEXT_WORD)

/* What makes a report fail. A rule that tested nothing is no pass: it counts as one with findings, unless it is allowed
 * to. */
typedef struct assay_gate {
    bool on; /* else no rule makes it fail, and coverage alone where it was asked for */
    assay_severity least;
    bool allow_no_data;         /* of any rule, and of all of them */
    const char *const *allowed; /* names, or kinds, of rules that may have no data */
    size_t allowed_count;
    double least_coverage; /* percent of a trial's TRAIN steps, and of its workers, that have to be recorded; NaN: what
                              a gate that is on asks for by default */
} assay_gate;

/* What a report is made of; all borrowed. */
typedef struct assay_report {
    const assay_outcome *outcome;
    const struct assay_comparison *comparison; /* report/compare/comparison.h; NULL: the trials are not compared */
    const struct assay_band_report *bands;     /* report/compare/bands.h; NULL: no bands to hold them against */
    bool so_far;   /* the trainings are still running: what is judged is what there is of them */
    bool only_odd; /* of single trials, only those that are unlike the others have a report of their own */
    assay_gate gate;
} assay_report;

/* What the report says about the run besides the engine's figures; borrowed. */
typedef struct assay_report_origin {
    const char *version; /* of assay */
    const char *library; /* "Open MPI 4.1.4", "serial" */
    const char *command; /* as it was started */
    char date[24];       /* of the end, UTC: "2026-11-22T16:40:07Z" */
    char host[256], user[64];
    char slurm_job[64]; /* "4711" or "4711_3"; "": none */
} assay_report_origin;

/* Appends the members of report.json that do not depend on how the job was run: everything up to the line of "run", the
 * last line's comma included. The bytes are the same at any rank count. `drain` gets most of them as they come, where it
 * is not NULL. Returns the buffer's status or ASSAY_ENOMEM. */
int assay_report_put_body(const assay_report *report, const assay_taker *drain, assay_buf *out);
/* Appends what follows the body: the line of "run" and the closing brace. */
void assay_report_put_run(const assay_outcome *outcome, const assay_report_origin *origin, assay_buf *out);

/* Appends what the rules and aggregations of a report.json came to; drawings where `draw` is not NULL. `name` is the
 * file's for messages. ASSAY_EFORMAT for what is none, ASSAY_ENOMEM. */
int assay_report_put_results(const char *name, const void *text, size_t size, const assay_draw *draw, assay_buf *out,
                             assay_error *err);

/* SHA-256 over the body, what `sed '/^ "run":/,$d' report.json | sha256sum` gives. `hex` gets 64 digits. */
int assay_report_digest(const assay_report *report, char hex[65], assay_error *err);

/* Appends the text report, with drawings where `draw` is not NULL. Returns the buffer's status or ASSAY_ENOMEM. */
int assay_report_put_text(const assay_report *report, const assay_draw *draw, assay_buf *out);

/* Writes the job's formats into the output, each file complete or not at all. ASSAY_EIO with the place; the files that
 * could be written are there all the same. */
int assay_report_write(const assay_report *report, const assay_report_origin *origin, assay_output *output,
                       assay_error *err);

/* Parts of the text report that other listings of a trial use too; of the outcome they look at the trial alone, not at
 * its rules. The head is name, path, workers, steps and tensors. `draw` has the width of the terminal; NULL: 100
 * columns. */
void assay_report_put_heading(assay_buf *out, const char *heading);
void assay_report_put_head(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out);
void assay_report_put_completeness(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out);
void assay_report_put_problems(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out);
/* The same for who has not read all records: without a problem it says what was looked at. */
void assay_report_put_problems_of_list(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out);

/* How large a report may become in memory. */
#define ASSAY_REPORT_CEILING ((size_t)1 << 32)
