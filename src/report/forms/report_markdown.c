/* report_markdown.c - report.md: short enough for a comment on a pull request.
 *
 * Rules with findings come first, the severest on top. Names are untrusted: they are cleaned as in the text report, cut
 * in the middle, and written as code, in which nothing is markup, a link or a mention. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/forms/forms.h"
#include "report/text/layout.h"

/* GitHub takes comments of up to 65 536 characters; bytes are never fewer. Each part may fill the page so far, so that
 * a long one leaves room for those behind it, and for the words at the end. */
enum { TABLE_END = 32768, FINDINGS_END = 45056, ERRORS_END = 53248, LOSSES_END = 64512 };
enum { NAME_COLUMNS = 80, MESSAGE_COLUMNS = 300, VERDICT_COLUMNS = 600, ANSWER_COLUMNS = 2000 };
enum { FINDINGS_SHOWN = 3, RULES_SHOWN = 10, PROBLEMS_SHOWN = 5 };

/* A page that takes pieces while they fit. */
typedef struct page {
    assay_buf *out;
    assay_buf piece; /* written here first */
    size_t most;     /* bytes of the page, for now */
    size_t rules;    /* whose findings are shown */
    uint64_t left_out;
} page;

/* Adds the piece, or counts it. True when it fitted. */
static bool flush(page *p)
{
    int status = assay_buf_status(&p->piece);
    bool fits = p->out->size + p->piece.size <= p->most;
    if (status != ASSAY_OK && p->out->status == ASSAY_OK)
        p->out->status = status;
    if (fits)
        assay_put_bytes(p->out, p->piece.data, p->piece.size);
    assay_buf_clear(&p->piece);
    p->left_out += !fits;
    return fits;
}

/* Inside backquotes all is literal but a backquote; a table also looks for bars there, and blanks at the ends get lost.
 */
static bool fits_backquotes(const char *text, size_t length)
{
    return length > 0 && !memchr(text, '`', length) && !memchr(text, '|', length) && text[0] != ' ' &&
           text[length - 1] != ' ';
}

static void put_references(assay_buf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (plain)
            assay_put_u8(out, c);
        else
            assay_put_format(out, "&#%u;", c);
    }
}

static void put_code(assay_buf *out, const char *text, size_t length, size_t columns)
{
    assay_buf clean, cut;
    assay_buf_init(&clean, ASSAY_REPORT_CEILING);
    assay_buf_init(&cut, ASSAY_REPORT_CEILING);
    assay_text_put_clean(&clean, text, length);
    assay_text_put_cut(&cut, (const char *)clean.data, clean.size, columns);
    const char *name = (const char *)cut.data;
    if (assay_buf_status(&cut) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&cut);
    if (fits_backquotes(name, cut.size)) {
        assay_put_u8(out, '`');
        assay_put_bytes(out, name, cut.size);
        assay_put_u8(out, '`');
    } else {
        assay_put_format(out, "<code>");
        put_references(out, name, cut.size);
        assay_put_format(out, "</code>");
    }
    assay_buf_release(&clean);
    assay_buf_release(&cut);
}

static void put_name(assay_buf *out, const char *name)
{
    if (name[0])
        put_code(out, name, strlen(name), NAME_COLUMNS);
}

/* Texts that come with a rule: markup in them is none. */
static void put_words(assay_buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_[]<>|~&#!", *text))
            assay_put_u8(out, '\\');
        assay_put_u8(out, (uint8_t)(*text == '\n' ? ' ' : *text));
    }
}

/* Calls for each rule of that status: the severest of all trials first, those of a trial in the order of every form. */
typedef void rule_visitor(const assay_trial_outcome *trial, const report_rule *rule, bool several, page *p);

static void each_rule(const assay_outcome *outcome, int status, bool aggregations, rule_visitor *visit, page *p)
{
    size_t count = aggregations ? outcome->job->aggregation_count : outcome->job->rule_count;
    for (int severity = ASSAY_ERROR; severity >= ASSAY_INFO; severity--) {
        for (size_t t = 0; t < outcome->trial_count; t++) {
            size_t *order = NULL;
            int failed = aggregations ? ASSAY_OK : report_order_rules(outcome, &outcome->trials[t], &order);
            if (failed != ASSAY_OK && p->out->status == ASSAY_OK)
                p->out->status = failed;
            for (size_t i = 0; failed == ASSAY_OK && i < count; i++) {
                report_rule rule = report_rule_of(outcome, &outcome->trials[t], order ? order[i] : i, aggregations);
                if (rule.status == status && (int)rule.instance->severity == severity)
                    visit(&outcome->trials[t], &rule, outcome->trial_count > 1, p);
            }
            free(order);
        }
    }
}

static void put_row(const assay_trial_outcome *trial, const report_rule *rule, bool several, page *p)
{
    report_origin origin;
    report_find_origin(trial->info, rule, &origin);
    assay_buf *out = &p->piece;
    assay_put_format(out, "| ");
    put_name(out, rule->instance->name);
    if (several) {
        assay_put_format(out, " | ");
        put_name(out, trial->trial->name);
    }
    assay_put_format(out, " | %s | %" PRIu64 " of %" PRIu64 " | ", assay_severity_name(rule->instance->severity),
                     report_findings_total(rule), report_datapoints(rule));
    if (origin.finding) {
        char when[REPORT_WHEN_ROOM];
        assay_put_format(out, "%s | ", report_finding_when(origin.finding, when));
        put_name(out, origin.worker);
        assay_put_format(out, " | ");
        put_name(out, origin.tensor);
    } else {
        assay_put_format(out, " | | ");
    }
    assay_put_format(out, " |\n");
    report_origin_release(&origin);
    flush(p);
}

/* "2 NaN elements". */
static void put_value(const assay_trial *info, const report_rule *rule, const assay_finding *f, assay_buf *out)
{
    assay_buf text, clean;
    assay_buf_init(&text, ASSAY_REPORT_CEILING);
    assay_buf_init(&clean, ASSAY_REPORT_CEILING);
    report_put_value(info, rule, f, &text);
    assay_text_put_clean(&clean, (const char *)text.data, text.size);
    assay_put_u8(&clean, '\0');
    if (assay_buf_status(&text) == ASSAY_OK && assay_buf_status(&clean) == ASSAY_OK)
        put_words(out, (const char *)clean.data);
    else if (out->status == ASSAY_OK)
        out->status = ASSAY_ENOMEM;
    assay_buf_release(&text);
    assay_buf_release(&clean);
}

static void put_finding(const assay_trial_outcome *trial, const report_rule *rule, const assay_finding *f,
                        assay_buf *out)
{
    const assay_step_info *step = report_finding_step(trial->info, f);
    const char *test = report_finding_test(rule, f), *tensor = report_finding_tensor(trial->info, f);
    char when[REPORT_WHEN_ROOM];
    assay_put_format(out, "  - %s", report_finding_when_in_words(f, when));
    if (step)
        assay_put_format(out, " (%s %" PRId64 ")", assay_mode_name(step->mode), step->mode_step);
    assay_put_format(out, ", worker ");
    put_name(out, report_finding_worker(trial->info, f));
    assay_put_format(out, tensor[0] ? ", " : "");
    put_name(out, tensor);
    assay_put_format(out, ": ");
    put_value(trial->info, rule, f, out);
    assay_put_format(out, " against ");
    assay_text_put_number(out, f->threshold);
    if (test) {
        assay_put_format(out, ", test ");
        put_name(out, test);
    }
    if (f->note) {
        assay_put_format(out, ", ");
        put_name(out, f->note);
    }
    assay_step_time at;
    if (report_find_hardware(trial->info, f, &at)) {
        assay_put_format(out, "; the step took ");
        report_put_hardware(&at, REPORT_HARDWARE_BRIEF, out);
    }
    assay_put_u8(out, '\n');
}

/* What was slow before the findings, unless the cause says it already. */
static void put_slow_before(const assay_trial_outcome *trial, const report_rule *rule, bool said, assay_buf *out)
{
    assay_slow_step slow;
    assay_buf words;
    if (said || !report_find_slow_before(trial->info, rule, &slow))
        return;
    assay_buf_init(&words, 4096);
    report_put_slow(&slow, &words);
    assay_put_format(out, "; before that ");
    put_code(out, (const char *)words.data, words.size, MESSAGE_COLUMNS);
    assay_buf_release(&words);
}

static void put_evidence(const assay_trial_outcome *trial, const report_rule *rule, bool several, page *p)
{
    const assay_findings *found = rule->findings;
    assay_buf *out = &p->piece;
    if (p->rules++ >= RULES_SHOWN) /* the table has all of them */
        return;
    assay_put_format(out, "- ");
    put_name(out, rule->instance->name);
    if (several) {
        assay_put_format(out, " in ");
        put_name(out, trial->trial->name);
    }
    report_origin origin;
    report_find_origin(trial->info, rule, &origin);
    if (origin.cause.size > 0) {
        assay_put_format(out, ": ");
        put_code(out, (const char *)origin.cause.data, origin.cause.size, MESSAGE_COLUMNS);
    }
    put_slow_before(trial, rule, origin.cause.size > 0, out);
    report_origin_release(&origin);
    assay_put_format(out, "\n");
    for (size_t i = 0; found && i < found->kept && i < FINDINGS_SHOWN; i++)
        put_finding(trial, rule, &found->list[i], out);
    if (report_findings_total(rule) > FINDINGS_SHOWN)
        assay_put_format(out, "  - and %" PRIu64 " more\n", report_findings_total(rule) - FINDINGS_SHOWN);
    if (rule->instance->ops->advice) {
        assay_put_format(out, "\n  What to do: ");
        put_words(out, rule->instance->ops->advice);
        assay_put_u8(out, '\n');
    }
    flush(p);
}

static void put_error(const assay_trial_outcome *trial, const report_rule *rule, bool several, page *p)
{
    assay_buf *out = &p->piece;
    assay_put_format(out, "- ");
    put_name(out, rule->instance->name);
    if (several) {
        assay_put_format(out, " in ");
        put_name(out, trial->trial->name);
    }
    assay_put_format(out, ": ");
    put_code(out, rule->message ? rule->message : "", rule->message_size, MESSAGE_COLUMNS);
    assay_put_u8(out, '\n');
    flush(p);
}

static size_t count_of(const assay_outcome *outcome, int status, bool aggregations)
{
    size_t n = 0, count = aggregations ? outcome->job->aggregation_count : outcome->job->rule_count;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        for (size_t i = 0; i < count; i++)
            n += report_rule_of(outcome, &outcome->trials[t], i, aggregations).status == status;
    }
    return n;
}

static void put_rules(const assay_outcome *outcome, page *p)
{
    bool several = outcome->trial_count > 1;
    if (count_of(outcome, ASSAY_ISSUES_FOUND, false) == 0)
        return;
    assay_put_format(&p->piece,
                     "\n| rule |%s severity | findings | first step | worker | tensor |\n|---|%s---|--:|--:|---|---|\n",
                     several ? " trial |" : "", several ? "---|" : "");
    flush(p);
    each_rule(outcome, ASSAY_ISSUES_FOUND, false, put_row, p);
    p->most = FINDINGS_END;
    assay_put_format(&p->piece, "\n### First findings\n\n");
    flush(p);
    each_rule(outcome, ASSAY_ISSUES_FOUND, false, put_evidence, p);
}

static void put_errors(const assay_outcome *outcome, page *p)
{
    if (count_of(outcome, ASSAY_RULE_ERROR, false) + count_of(outcome, ASSAY_RULE_ERROR, true) == 0)
        return;
    assay_put_format(&p->piece, "\n### Not evaluated\n\n");
    flush(p);
    each_rule(outcome, ASSAY_RULE_ERROR, false, put_error, p);
    each_rule(outcome, ASSAY_RULE_ERROR, true, put_error, p);
}

static void put_problems(const assay_trial_outcome *trial, assay_buf *out)
{
    const assay_problems *list = &trial->problems;
    size_t shown = 0;
    for (size_t i = 0; i < list->kept && shown < PROBLEMS_SHOWN; i++) {
        if (!assay_problem_is_loss(list->list[i].kind))
            continue;
        assay_put_format(out, "  - %s: ", assay_problem_word(list->list[i].kind));
        put_code(out, list->list[i].text, strlen(list->list[i].text), MESSAGE_COLUMNS);
        assay_put_u8(out, '\n');
        shown++;
    }
    if (list->losses > shown)
        assay_put_format(out, "  - and %" PRIu64 " more\n", list->losses - shown);
}

/* What tested nothing, and why. */
static void put_untested(const assay_outcome *outcome, page *p)
{
    if (count_of(outcome, ASSAY_NO_DATA, false) == 0)
        return;
    assay_put_format(&p->piece, "\n### Not tested, which is not a pass\n\n");
    flush(p);
    each_rule(outcome, ASSAY_NO_DATA, false, put_error, p);
}

/* Trials with steps that some worker never wrote, or with damage. */
static void put_losses(const assay_outcome *outcome, page *p)
{
    bool any = false;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const assay_trial_outcome *trial = &outcome->trials[t];
        assay_buf *out = &p->piece;
        if (trial->status == ASSAY_OK && trial->incomplete_count == 0 && trial->problems.losses == 0)
            continue;
        assay_put_format(out, "%s- ", any ? "" : "\n### Damaged or missing\n\n");
        any = true;
        put_name(out, trial->trial->name);
        if (trial->status != ASSAY_OK) {
            assay_put_format(out, " could not be opened: ");
            put_code(out, trial->error.text, strlen(trial->error.text), MESSAGE_COLUMNS);
        }
        if (trial->incomplete_count > 0)
            assay_put_format(out, ": %zu of %" PRIu64 " steps lack%s a worker", trial->incomplete_count,
                             assay_trial_steps(trial->info), trial->incomplete_count == 1 ? "s" : "");
        if (trial->problems.losses > 0)
            assay_put_format(out, "%s%" PRIu64 " damaged or lost", trial->incomplete_count ? ", " : ": ",
                             trial->problems.losses);
        assay_put_u8(out, '\n');
        put_problems(trial, out);
        flush(p);
    }
}

/* As the heading: markup in names is none. */
static void put_verdict(const assay_report *report, assay_buf *out)
{
    assay_buf line, cut;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_buf_init(&cut, ASSAY_REPORT_CEILING);
    report_put_clean_verdict(report, &line);
    assay_text_put_cut(&cut, (const char *)line.data, line.size, VERDICT_COLUMNS);
    assay_put_u8(&cut, '\0');
    assay_put_format(out, "## assay: ");
    if (assay_buf_status(&cut) == ASSAY_OK)
        put_words(out, (const char *)cut.data);
    else if (out->status == ASSAY_OK)
        out->status = assay_buf_status(&cut);
    assay_put_format(out, "\n\n");
    assay_buf_release(&line);
    assay_buf_release(&cut);
}

static void put_summary(const assay_report *report, page *p)
{
    const assay_outcome *outcome = report->outcome;
    size_t found = count_of(outcome, ASSAY_ISSUES_FOUND, false), failed = count_of(outcome, ASSAY_RULE_ERROR, false);
    size_t silent = count_of(outcome, ASSAY_NO_DATA, false), all = outcome->trial_count * outcome->job->rule_count,
           damaged = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        damaged += outcome->trials[t].status != ASSAY_OK || outcome->trials[t].problems.losses > 0;
    put_verdict(report, &p->piece);
    assay_put_format(&p->piece, "%zu rule%s", outcome->job->rule_count, assay_plural(outcome->job->rule_count));
    if (outcome->trial_count > 1)
        assay_put_format(&p->piece, " on %zu trials", outcome->trial_count);
    assay_put_format(&p->piece, ": **%zu found something**, %zu did not", found, all - found - failed - silent);
    if (silent)
        assay_put_format(&p->piece, ", %zu had nothing to test, which is not a pass", silent);
    if (failed)
        assay_put_format(&p->piece, ", %zu could not be evaluated", failed);
    if (damaged)
        assay_put_format(&p->piece, "; %zu trial%s damaged", damaged, damaged == 1 ? " is" : "s are");
    assay_put_format(&p->piece, ".\n");
    flush(p);
}

/* What a comparison comes to. Names stand in it: it is written as code is, in which nothing is markup. */
static void put_answer(const assay_comparison *c, page *p)
{
    put_code(&p->piece, c->answer, strlen(c->answer), ANSWER_COLUMNS);
    assay_put_format(&p->piece, "\n\n");
}

int report_put_markdown(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    (void)origin;
    page p = {.out = out, .most = TABLE_END};
    assay_buf_init(&p.piece, ASSAY_REPORT_CEILING);
    const assay_comparison *c = report->comparison;
    if (c && compare_answer_leads(c))
        put_answer(c, &p);
    put_summary(report, &p);
    if (c && !compare_answer_leads(c)) {
        assay_put_u8(&p.piece, '\n');
        put_answer(c, &p);
    }
    put_rules(outcome, &p);
    p.most = ERRORS_END;
    put_errors(outcome, &p);
    put_untested(outcome, &p);
    p.most = LOSSES_END;
    put_losses(outcome, &p);
    if (p.left_out > 0)
        assay_put_format(out, "\n%" PRIu64 " %s did not fit here; report.json has everything.\n", p.left_out,
                         p.left_out == 1 ? "entry" : "entries");
    assay_buf_release(&p.piece);
    return assay_buf_status(out);
}
