/* sections.c - the sections of a report, one behind another, and what is around the part of one trial. */
#include "report/sections/sections.h"

#include <stdio.h>
#include <string.h>

#include "report/compare/comparison.h"

enum { OPEN_TRIALS = 6 /* more trials than that: the parts about single ones are folded */ };

static void (*const SECTIONS[])(const assay_report *, doc *) = {
#define X(name) section_##name,
#include "report/sections/sections.def"
#undef X
};

int report_make_document(const assay_report *report, unsigned form, doc **out)
{
    *out = NULL;
    doc *d = doc_new();
    ASSAY_HAVE(d);
    doc_will_be(d, form);
    for (size_t i = 0; i < sizeof SECTIONS / sizeof *SECTIONS; i++)
        SECTIONS[i](report, d);
    int status = doc_status(d);
    if (status == ASSAY_OK)
        *out = d;
    else
        doc_free(d);
    return status;
}

bool sections_shows(const assay_report *report, size_t trial)
{
    return !(report->only_odd && compare_is_usual(report->comparison, trial));
}

static size_t shown_trials(const assay_report *report)
{
    size_t shown = 0;
    for (size_t t = 0; t < report->outcome->trial_count; t++)
        shown += sections_shows(report, t);
    return shown;
}

void sections_begin_trial(const assay_report *report, doc *d, size_t trial)
{
    if (report->outcome->trial_count == 1)
        return;
    if (shown_trials(report) > OPEN_TRIALS)
        doc_details(d, NULL);
    else
        doc_section(d, NULL, NULL);
    doc_put_name(d, report->outcome->trials[trial].trial->name);
}

void sections_end_trial(const assay_report *report, doc *d)
{
    if (report->outcome->trial_count > 1)
        doc_end(d);
}

/* By the rule's name, so that a link into the page of last night leads to the same rule in that of tonight, whatever other rules
 * there are by then. Names that an id cannot have, or not as a whole, might come to one id: their number tells them apart. */
const char *sections_card_id(const assay_report *report, size_t trial, size_t rule, char room[SECTIONS_ID_ROOM])
{
    const assay_trial_outcome *of = &report->outcome->trials[trial];
    const char *name = report_rule_of(report->outcome, of, rule, false).instance->name;
    const size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    if (plain < SECTIONS_ID_NAME && name[plain] == '\0')
        snprintf(room, SECTIONS_ID_ROOM, "t%zu-%s", trial, name);
    else
        snprintf(room, SECTIONS_ID_ROOM, "t%zu-%.*s-r%zu", trial,
                 plain < SECTIONS_ID_NAME ? (int)plain : SECTIONS_ID_NAME, name, rule);
    return room;
}
