/* trials.c - what was looked at: name, path, workers, steps and tensors of each trial. */
#include <inttypes.h>
#include <string.h>

#include "report/sections/sections.h"

enum { WORKERS_SHOWN = 12 };

static void put_workers(const assay_catalog *catalog, doc *d)
{
    doc_fact(d, "workers");
    doc_put(d, "%" PRIu32, catalog->workers);
    for (uint32_t w = 0; w < catalog->workers && w < WORKERS_SHOWN; w++) {
        doc_put(d, w ? ", " : ": ");
        doc_put_name(d, catalog->worker[w]);
    }
    if (catalog->workers > WORKERS_SHOWN)
        doc_put(d, ", ...");
    if (catalog->expected_workers > catalog->workers)
        doc_put(d, " (of %" PRIu32 " expected)", catalog->expected_workers);
}

static void put_steps(const assay_trial *info, doc *d)
{
    report_mode mode[ASSAY_MODES];
    report_count_modes(info, mode);
    doc_fact(d, "steps");
    doc_put(d, "%" PRIu64, assay_trial_steps(info));
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        if (mode[m].steps > 1)
            doc_put(d, ", %s %" PRIu64 " (%" PRId64 " to %" PRId64 ")", assay_mode_name(m), mode[m].steps,
                    mode[m].first, mode[m].last);
        else if (mode[m].steps == 1)
            doc_put(d, ", %s 1 (%" PRId64 ")", assay_mode_name(m), mode[m].first);
    }
}

void sections_put_head(const assay_trial_outcome *trial, doc *d)
{
    doc_facts(d);
    doc_fact(d, "path");
    doc_put_text(d, trial->trial->path, strlen(trial->trial->path));
    if (!sections_read(trial)) {
        doc_fact(d, "not read");
        doc_put_text(d, trial->error.text, strlen(trial->error.text));
        return;
    }
    put_workers(&trial->catalog, d);
    put_steps(trial->info, d);
    doc_fact(d, "tensors");
    doc_put(d, "%" PRIu32, assay_trial_tensors(trial->info));
    doc_fact(d, "training");
    doc_put(d, "%s", trial->catalog.ended ? "has ended" : "no end marker: it may still be running, or was stopped");
}

void sections_put_usual(const assay_report *report, doc *d)
{
    size_t usual = 0;
    for (size_t t = 0; t < report->outcome->trial_count; t++)
        usual += !sections_shows(report, t);
    if (usual == 0)
        return;
    doc_note(d);
    doc_put(d, "Trials that are like the others, and not reported here: %zu (--all shows them).", usual);
}

void section_trials(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    if (outcome->trial_count == 1) {
        if (sections_read(&outcome->trials[0]))
            doc_only(d, DOC_TEXT | DOC_HTML | DOC_JSON);
        doc_section(d, "trial", "Trial ");
        doc_fold(d);
        doc_put_name(d, outcome->trials[0].trial->name);
        sections_put_head(&outcome->trials[0], d);
        doc_end(d);
        return;
    }
    doc_only(d, DOC_TEXT | DOC_HTML | DOC_JSON);
    doc_section(d, "trials", "Trials");
    doc_fold(d);
    for (size_t t = 0; t < outcome->trial_count; t++) {
        if (!sections_shows(report, t))
            continue;
        sections_begin_trial(report, d, t);
        sections_put_head(&outcome->trials[t], d);
        sections_end_trial(report, d);
    }
    if (outcome->job->rule_count == 0) /* otherwise the section of the findings says it */
        sections_put_usual(report, d);
    doc_end(d);
}
