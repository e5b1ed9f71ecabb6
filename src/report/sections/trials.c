/* trials.c - what was looked at: name, path, workers, steps and tensors of each trial. */
#include <inttypes.h>
#include <string.h>

#include "report/model/verdict_log.h"
#include "report/sections/sections.h"
#include "report/text/layout.h"

enum { WORKERS_SHOWN = 12, NAMES_SHOWN = 8 };

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

static void put_counts(const assay_log_counts *counts, const char *between, doc *d)
{
    for (size_t i = 0; i < counts->count; i++) {
        doc_put(d, "%s", i ? ", " : between);
        doc_put(d, "%s %" PRIu64, counts->list[i].what, counts->list[i].count);
    }
}

/* Runs of the place that are no trials. */
static void put_runs(const char *what, const assay_log_names *names, doc *d)
{
    if (names->count == 0)
        return;
    doc_fact(d, what);
    for (size_t i = 0; i < names->count && i < NAMES_SHOWN; i++) {
        doc_put(d, i ? ", " : "");
        doc_put_name(d, names->list[i]);
    }
    if (names->count > NAMES_SHOWN)
        doc_put(d, " and %zu more", names->count - NAMES_SHOWN);
}

/* What was met in a log. */
static void put_log(const assay_log_facts *log, doc *d)
{
    doc_fact(d, "log");
    doc_put(d, "%s, %" PRIu64 " file%s", log->kind, log->files, assay_plural(log->files));
    put_counts(&log->counts, "; ", d);
    if (*log->unknown) {
        doc_put(d, "; the first unknown: ");
        doc_put_text(d, log->unknown, strlen(log->unknown));
    }
    if (*log->also)
        doc_put(d, "; not looked at, for they are of other kinds: %s", log->also);
    for (size_t i = 0; i < log->range_count && i < NAMES_SHOWN; i++) {
        const assay_log_range *range = &log->ranges[i];
        doc_fact(d, "superseded");
        doc_put(d, "%" PRIu64 " value%s at steps %" PRId64 " to %" PRId64 " of ", range->values,
                assay_plural(range->values), range->first, range->last);
        doc_put_name(d, range->worker);
        assay_buf what = ASSAY_BUF(SIZE_MAX);
        report_put_log_dropped(range, &what);
        doc_put_text(d, (const char *)what.data, what.size);
        assay_buf_release(&what);
    }
    if (log->around.count > 0) {
        doc_fact(d, "of the place");
        put_counts(&log->around, "", d);
    }
    put_runs("logged nothing", &log->logged_nothing, d);
    put_runs("never started", &log->never_started, d);
}

static const char *end_of(const assay_catalog *catalog)
{
    if (assay_run_fact_of(&catalog->facts, "interrupted"))
        return "was interrupted";
    if (catalog->ended)
        return "has ended";
    if (!catalog->log.kind)
        return "no end marker: it may still be running, or was stopped";
    return catalog->log.running ? "goes on, says the log" : "the log does not say whether it has ended";
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
    doc_put(d, "%s", end_of(&trial->catalog));
    const char *failed = assay_run_fact_of(&trial->catalog.facts, "failed");
    if (failed) {
        doc_fact(d, "exception");
        doc_put_text(d, failed, strcspn(failed, "\n"));
    }
    if (trial->catalog.log.kind)
        put_log(&trial->catalog.log, d);
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

void section_settings(const assay_report *report, doc *d)
{
    static const doc_column columns[] = {{"setting", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                         {"value", DOC_OF_WORDS, NULL, DOC_CUT}};
    static const char CONFIG[] = "config.";
    enum { OPEN_MOST = 12 }; /* rows that are read at a glance */
    const assay_run_facts *facts = &report->outcome->trials[0].catalog.facts;
    const size_t lead = sizeof CONFIG - 1;
    size_t settings = 0;
    for (size_t i = 0; i < facts->count; i++)
        settings += strncmp(facts->list[i].name, CONFIG, lead) == 0;
    if (report->outcome->trial_count != 1 || settings == 0)
        return; /* of several trials those that differ are said */
    doc_only(d, DOC_HTML);
    doc_section(d, "settings", "Settings");
    if (settings > OPEN_MOST) {
        doc_details(d, NULL);
        doc_put(d, "%zu settings of the run, as it recorded them", settings);
    }
    doc_table(d, &(doc_table_def){"settings", "settings", columns, sizeof columns / sizeof *columns, false});
    for (size_t i = 0; i < facts->count; i++) {
        const assay_run_fact *fact = &facts->list[i];
        if (strncmp(fact->name, CONFIG, lead) != 0)
            continue;
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, fact->name + lead);
        doc_cell(d);
        doc_put_text(d, fact->value, strlen(fact->value));
    }
    if (settings > OPEN_MOST)
        doc_end(d);
    doc_end(d);
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
