/* history.h - several reports, or trials themselves, over time: which rule has findings since when, and which figure
 * left the band of the runs before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "engine/engine.h"
#include "report/text/draw.h"

/* What a report says of a rule, over all of its trials: findings in one of them count before an error, that before findings
 * that are no warning, those before a test without any, and that before no data. */
typedef enum history_mark {
    HISTORY_ABSENT, /* the report does not have the rule */
    HISTORY_NO_DATA,
    HISTORY_QUIET,
    HISTORY_INFO, /* findings that are no warning in that report */
    HISTORY_ERROR,
    HISTORY_FOUND,
    HISTORY_MARKS
} history_mark;

typedef struct history_report {
    char *path, *verdict; /* verdict: "" in reports of early versions */
    char *name;           /* of the trial; NULL: it is a report */
    int64_t when;         /* seconds since 1970 */
    bool dated;           /* the report says when; else it is the time of its file */
    size_t number;        /* in the order of adding: the column of the marks */
} history_report;

/* What a figure is held against: what lies above is outside. `low` is the least of the runs that it comes from. */
typedef struct history_band {
    double low, high;
    size_t runs; /* 0: there were too few */
} history_band;

/* A figure of each run, such as the last value of a loss. */
typedef struct history_figure {
    char *name;
    double *value;     /* [of the history's room], by the report's number */
    uint8_t *there;    /* likewise */
    history_band band; /* of the last run that has the figure, and had enough before it */
    double newest;     /* of the last run that has it */
    size_t outside;    /* runs */
} history_figure;

typedef struct history_rule {
    const history_figure *figure; /* NULL: a rule; else its findings are runs outside of the figure's band */
    char *name;
    int severity;  /* assay_severity, the highest of all reports */
    uint8_t *mark; /* [of the history's room] */
} history_rule;

typedef struct assay_report_history {
    history_report *report;
    history_rule *rule;
    history_figure *figure;
    size_t reports, rules, figures, room; /* room: for reports, in each rule's marks and each figure as well */
    bool by_name;                         /* trials that say no time: in order of the numbers in their names */
} assay_report_history;

/* Adds a report.json of any version with the schema assay-report/1; `file_time` counts where it has no date.
 * ASSAY_EFORMAT for what is no report, ASSAY_ENOMEM. Release in any case. */
int assay_history_add(assay_report_history *history, const char *path, const void *text, size_t size, int64_t file_time,
                      assay_error *err);
/* Adds the trial of that number of an outcome, as a report of its own. They are in order of the times at which they
 * started if all say so, else in the order of adding; where that is the byte order of their names, numbers in these
 * count. ASSAY_ENOMEM. (nights.c) */
int assay_history_add_trial(assay_report_history *history, const assay_outcome *outcome, size_t number,
                            assay_error *err);
/* After sorting: makes a rule of each figure, tested where enough runs before have it. ASSAY_ENOMEM. (nights.c) */
int assay_history_judge(assay_report_history *history);

/* For those two: begins a report, that of number `reports` until that is counted up; puts what it says of a rule, where
 * what was put before does not count more, and of a figure. `started`: a date; NULL: it is not said. The rule of that
 * name, made where it is new. ASSAY_ENOMEM; NULL. */
int assay_history_begin(assay_report_history *history, const char *path, const char *verdict, const char *name,
                        const char *started);
int assay_history_put_mark(assay_report_history *history, const char *rule, int severity, history_mark mark);
int assay_history_put_figure(assay_report_history *history, const char *name, double value);
history_rule *assay_history_rule(assay_report_history *history, const char *name);

/* To be called once, after the last report: brings reports and rules into order. */
void assay_history_sort(assay_report_history *history);
void assay_history_release(assay_report_history *history);

/* What the reports say of one rule, in order of time. */
typedef struct history_course {
    history_mark now; /* in the newest report */
    size_t found;     /* reports with findings */
    /* The report since which it is as it is now: findings with no test without findings in between, no findings after
     * some, or no test after some. SIZE_MAX: it never had findings and lost no data. */
    size_t since;
} history_course;
history_course assay_history_course(const assay_report_history *history, const history_rule *rule);
/* Has the newest report what no gate may let pass: findings of severity warning or error that the tests before did not
 * have, or such a rule that was tested in the report before and is no longer, or nothing that was tested? */
bool assay_history_is_worse(const assay_report_history *history);
bool assay_history_has_findings(history_mark mark);
history_mark assay_history_mark(const assay_report_history *history, const history_rule *rule, size_t report);

/* Append what the reports come to: one sentence without its full stop; the whole as text, with rules that never had
 * findings if `all`, drawn where `draw` is not NULL; as JSON; and a row for each rule as CSV. The buffer's status. */
void assay_history_put_answer(const assay_report_history *history, assay_buf *out);
int assay_history_put_text(const assay_report_history *history, bool all, const assay_draw *draw, assay_buf *out);
int assay_history_put_json(const assay_report_history *history, assay_buf *out);
int assay_history_put_csv(const assay_report_history *history, assay_buf *out);
