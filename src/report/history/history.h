/* history.h - several reports over time: which rule has findings since when. */
#ifndef ASSAY_REPORT_HISTORY_HISTORY_H
#define ASSAY_REPORT_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "report/text/draw.h"

/* What a report says of a rule, over all of its trials: findings in one of them count before an error, that before a
 * test without findings, and that before no data. */
typedef enum history_mark {
    HISTORY_ABSENT, /* the report does not have the rule */
    HISTORY_NO_DATA,
    HISTORY_QUIET,
    HISTORY_ERROR,
    HISTORY_FOUND,
    HISTORY_MARKS
} history_mark;

typedef struct history_report {
    char *path, *verdict; /* verdict: "" in reports of early versions */
    int64_t when;         /* seconds since 1970 */
    bool dated;           /* the report says when; else it is the time of its file */
    size_t number;        /* in the order of adding: the column of the marks */
} history_report;

typedef struct history_rule {
    char *name;
    int severity;  /* assay_severity, the highest of all reports */
    uint8_t *mark; /* [of the history's room] */
} history_rule;

typedef struct assay_report_history {
    history_report *report;
    history_rule *rule;
    size_t reports, rules, room; /* room: for reports, in each rule's marks as well */
} assay_report_history;

/* Adds a report.json of any version with the schema assay-report/1; `file_time` counts where it has no date.
 * ASSAY_EFORMAT for what is no report, ASSAY_ENOMEM. Release in any case. */
int assay_history_add(assay_report_history *history, const char *path, const void *text, size_t size, int64_t file_time,
                      assay_error *err);
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
 * have, or such a rule that was tested in the report before and is no longer? */
bool assay_history_is_worse(const assay_report_history *history);
history_mark assay_history_mark(const assay_report_history *history, const history_rule *rule, size_t report);

/* Append what the reports come to: one sentence without its full stop; the whole as text, with rules that never had
 * findings if `all`, drawn where `draw` is not NULL; and as JSON. The buffer's status. */
void assay_history_put_answer(const assay_report_history *history, assay_buf *out);
int assay_history_put_text(const assay_report_history *history, bool all, const assay_draw *draw, assay_buf *out);
int assay_history_put_json(const assay_report_history *history, assay_buf *out);

#endif
