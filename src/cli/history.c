/* history.c - assay history: which rule has findings since when, over the reports of many nights, or over the trials
 * themselves. Those are run some at a time, and of each no more is kept than its history needs. */
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dict.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "base/log.h"
#include "cli/built_in.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "report/history/history.h"
#include "report/report.h"
#include "report/text/listing.h"
#include "store/storage.h"
#include "trial/lone.h"

enum {
    MOST_REPORTS = 10000,
    MOST_BYTES = 1 << 28 /* of a report */,
    TOGETHER = 32 /* that are asked for at once */
};

typedef struct history_options {
    run_options run; /* of trials; first: its rows count on it */
    bool all;
    int fail_on; /* 1: what is new */
} history_options;

static const assay_setting OPTIONS[] = {
    {"all", ASSAY_SETTING_SWITCH, offsetof(history_options, all), NULL, "List rules that never had findings, too."},
    {"fail-on", ASSAY_SETTING_WORD, offsetof(history_options, fail_on), "WHAT",
     "new: exit with 1 when a rule of severity warning or error has findings in the newest report that it had not in the "
     "one before in which it was tested, or is not tested any more.",
     .words = "never|new", .initial = "never"},
    {0}};

/* A report that could not be read is named, and the rest goes on. */
static int leave_out(int status, size_t *left_out, const assay_error *err)
{
    if (status == ASSAY_OK || status == ASSAY_ENOMEM)
        return status;
    assay_log_warn("%s", err->text);
    ++*left_out;
    return ASSAY_OK;
}

/* ---- what operands are ---- */

static bool is_remote(const char *operand)
{
    return strncmp(operand, "s3://", 5) == 0;
}

static bool is_report(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return false;
    if (!S_ISDIR(about.st_mode))
        return assay_path_ends(path, ".json") && !assay_lone_is_named(path, ASSAY_LONE_LOG) &&
               !assay_lone_is_named(path, ASSAY_LONE_TRACE);
    char *file = assay_path_join(path, "report.json");
    const bool is = file && stat(file, &about) == 0;
    free(file);
    return is;
}

static bool is_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Finds what a pattern matches, where a report is among it, or the directories in one, where all are reports: a trial may hold
 * one of its own. False: nothing is found, and nothing is to be released. */
static bool find_reports(const char *operand, glob_t *found)
{
    struct stat about;
    const bool there = stat(operand, &about) == 0, pattern = strpbrk(operand, "*?[") != NULL;
    if (is_remote(operand) || there == pattern || (there && (!S_ISDIR(about.st_mode) || is_report(operand))))
        return false;
    char *inside = there ? assay_path_join(operand, "*/") : assay_copy_text(operand);
    size_t reports = 0, others = 0;
    if (inside && glob(inside, 0, NULL, found) == 0) {
        for (size_t i = 0; i < found->gl_pathc; i++) {
            const bool report = is_report(found->gl_pathv[i]);
            reports += report;
            others += !report && is_directory(found->gl_pathv[i]);
        }
        if (reports == 0 || (there && others > 0)) {
            globfree(found);
            reports = 0;
        }
    }
    free(inside);
    return reports > 0;
}

static bool has_reports(const char *operand)
{
    struct stat about;
    glob_t found;
    if (is_remote(operand) || is_report(operand))
        return true;
    if (find_reports(operand, &found)) {
        globfree(&found);
        return true;
    }
    return stat(operand, &about) != 0 && !strpbrk(operand, "*?[="); /* a report's name more likely than a trial's */
}

/* ---- trials ---- */

/* Where trials go. */
typedef struct taking {
    assay_report_history *history;
    size_t *left_out;
} taking;

/* Keeps what a history needs of some trials. */
static int take_trials(void *context, assay_outcome *some, assay_error *err)
{
    const taking *to = context;
    int status = ASSAY_OK;
    for (size_t i = 0; i < some->trial_count && status == ASSAY_OK; i++) {
        if (some->trials[i].status == ASSAY_OK) {
            *to->left_out += some->trials[i].problems.losses > 0;
            status = assay_history_add_trial(to->history, some, i, err);
        } else {
            status = leave_out(some->trials[i].status, to->left_out, &some->trials[i].error);
        }
    }
    return status;
}

static int run_trials(const cli_context *context, run_options *options, assay_report_history *history, size_t *left_out,
                      assay_error *err)
{
    assay_job job = {0};
    assay_buf text = ASSAY_BUF(CLI_JOB_CEILING);
    options->out = "."; /* nothing is written */
    options->job_text = (const char *)cli_built_in_job;
    options->job_size = cli_built_in_job_size;
    int status = run_load_job(context, ASSAY_OK, NULL, options, &text, &job, err);
    taking to = {history, left_out};
    const assay_outcome_sink sink = {&to, take_trials};
    assay_engine_options engine = run_engine_options(options, &job);
    assay_outcome outcome = {0};
    engine.sink = &sink;
    job.wants_curves = true;
    ASSAY_THEN(status, assay_engine_run(context->comm, &job, &engine, &outcome, err));
    assay_outcome_release(&outcome);
    if (status == ASSAY_OK && assay_comm_rank(context->comm) == 0) {
        assay_history_sort(history);
        status = assay_history_judge(history);
    }
    assay_buf_release(&text);
    assay_job_release(&job);
    return assay_comm_agree(context->comm, status, err);
}

/* ---- reports ---- */

/* Where reports go. */
typedef struct reading {
    assay_report_history *history;
    assay_dict *seen; /* files that were read, by device and number: `latest` leads to a report that stands beside it */
    size_t *left_out;
} reading;

/* Was the file read under another name? Without memory it counts as new. */
static bool is_seen(const reading *r, const struct stat *about)
{
    const uint64_t key[2] = {(uint64_t)about->st_dev, (uint64_t)about->st_ino};
    const uint32_t known = assay_dict_count(r->seen);
    return assay_dict_add(r->seen, (const char *)key, sizeof key) < known;
}

/* A report.json, or the directory of a report. */
static int add_report(const reading *r, const char *operand, assay_error *err)
{
    struct stat about;
    assay_buf text = ASSAY_BUF(MOST_BYTES);
    if (stat(operand, &about) == 0 && S_ISDIR(about.st_mode)) {
        char *path = assay_path_join(operand, "report.json");
        int status = !path ? ASSAY_ENOMEM
                     : stat(path, &about) != 0 || !S_ISREG(about.st_mode)
                         ? ASSAY_ENOTFOUND /* a pipe is not waited for */
                         : add_report(r, path, err);
        if (status == ASSAY_ENOTFOUND)
            assay_fail(err, status, "%s: no report.json there, the only form that can be read", operand);
        free(path);
        return status;
    }
    const bool there = stat(operand, &about) == 0;
    if (there && is_seen(r, &about))
        return ASSAY_OK;
    int status = assay_file_read(operand, MOST_BYTES, &text, err);
    ASSAY_THEN(status,
               assay_history_add(r->history, operand, text.data, text.size, there ? (int64_t)about.st_mtime : 0, err));
    assay_buf_release(&text);
    return status;
}

/* Where the reports of one place in S3 go. */
typedef struct remote {
    assay_report_history *history;
    assay_store *store;
    size_t *left_out;
} remote;

static int read_remote(const remote *r, const char *path, assay_error *err)
{
    assay_error why = {""};
    assay_store_stamp stamp = {.time = 0};
    assay_buf text = ASSAY_BUF(MOST_BYTES);
    const char *place = assay_store_location(r->store);
    char *shown = assay_path_join(place, path);
    ASSAY_HAVE(shown);
    (void)assay_store_stamp_of(r->store, path, &stamp, &why);
    int status = assay_store_read(r->store, path, MOST_BYTES, &text, &why);
    if (status == ASSAY_OK)
        status = assay_history_add(r->history, shown, text.data, text.size, stamp.time / 1000000000, err);
    else if (status == ASSAY_ENOTFOUND)
        assay_fail(err, status, "%s: there is no such report", shown);
    else
        assay_fail(err, status, "%s: %s", place, why.text);
    assay_buf_release(&text);
    free(shown);
    return status;
}

/* Reads some reports, by the names of their files or of the directories that they lie in. */
static int read_together(const remote *r, char *const *name, size_t count, assay_error *err)
{
    char *path[TOGETHER] = {NULL};
    int status = ASSAY_OK;
    for (size_t i = 0; i < count; i++) {
        const bool is_file = assay_path_ends(name[i], ".json");
        path[i] = is_file || name[i][0] == '\0' ? assay_copy_text(is_file ? name[i] : "report.json")
                                                : assay_path_join(name[i], "report.json");
        status = path[i] ? status : ASSAY_ENOMEM;
        assay_store_list_ahead(r->store, is_file ? "" : name[i]);
    }
    for (size_t i = 0; status == ASSAY_OK && i < count; i++) {
        uint64_t size;
        if (assay_store_size_of(r->store, path[i], &size, NULL) == 1)
            assay_store_ahead(r->store, path[i], 0, 0);
    }
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        status = leave_out(read_remote(r, path[i], err), r->left_out, err);
    for (size_t i = 0; i < count; i++)
        free(path[i]);
    return status;
}

/* Keeps the names that match. */
static void keep_matching(assay_names *names, const char *pattern)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++)
        if (fnmatch(pattern, names->name[i], FNM_PERIOD) == 0)
            names->name[kept++] = names->name[i];
    names->count = kept;
}

/* Reads the reports that `last` stands for, a name or a pattern. */
static int read_matching(const remote *r, char *last, assay_error *err)
{
    assay_names names = {0};
    const bool pattern = strpbrk(last, "*?[") != NULL;
    int status = pattern ? assay_store_list(r->store, "", &names, err) : ASSAY_OK;
    if (!pattern || status != ASSAY_OK)
        return status == ASSAY_OK ? read_together(r, &last, 1, err) : status;
    keep_matching(&names, last);
    if (names.count == 0)
        status = assay_fail(err, ASSAY_ENOTFOUND, "%s/%s: nothing matches", assay_store_location(r->store), last);
    for (size_t i = 0; status == ASSAY_OK && i < names.count; i += TOGETHER)
        status = read_together(r, names.name + i, names.count - i < TOGETHER ? names.count - i : TOGETHER, err);
    assay_names_release(&names);
    return status;
}

/* A report.json in S3, the prefix of a report, or a pattern for the last part of one. */
static int add_remote(assay_report_history *history, const char *operand, size_t *left_out, assay_error *err)
{
    char *place = assay_copy_text(operand), *last = NULL;
    ASSAY_HAVE(place);
    for (size_t size = strlen(place); size > 5 && place[size - 1] == '/'; size--)
        place[size - 1] = '\0';
    if ((last = strrchr(place + 5, '/')))
        *last++ = '\0';
    remote r = {.history = history, .left_out = left_out};
    char whole[] = "";
    int status =
        strpbrk(place + 5, "*?[")
            ? assay_fail(err, ASSAY_EUSAGE, "%s: only the last part of a place in S3 may be a pattern", operand)
            : assay_store_open(place, &r.store, err);
    ASSAY_THEN(status, read_matching(&r, last ? last : whole, err));
    assay_store_close(r.store);
    free(place);
    return leave_out(status, left_out, err);
}

/* The reports that an operand stands for. */
static int add_operand(const reading *r, const char *operand, assay_error *err)
{
    glob_t found;
    int status = ASSAY_OK;
    if (is_remote(operand))
        return add_remote(r->history, operand, r->left_out, err);
    if (!find_reports(operand, &found))
        return leave_out(add_report(r, operand, err), r->left_out, err);
    for (size_t i = 0; i < found.gl_pathc && status == ASSAY_OK; i++)
        status = leave_out(add_report(r, found.gl_pathv[i], err), r->left_out, err);
    globfree(&found);
    return status;
}

/* Reads what can be read. *left_out: how many could not. */
static int read_reports(assay_report_history *history, const char *const *operand, size_t operands, size_t *left_out,
                        assay_error *err)
{
    const reading r = {.history = history, .seen = assay_dict_new(), .left_out = left_out};
    int status = r.seen ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < operands && status == ASSAY_OK; i++)
        status = add_operand(&r, operand[i], err);
    assay_dict_free(r.seen);
    if (status != ASSAY_OK)
        return status;
    assay_history_sort(history);
    if (history->reports == 0)
        return assay_fail(err, ASSAY_EUSAGE, "history: none of %zu report%s could be read", operands,
                          assay_plural(operands));
    return ASSAY_OK;
}

static int put(const history_options *options, const assay_report_history *all, size_t left_out, int status,
               assay_error *err)
{
    assay_draw draw;
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (status == ASSAY_OK && options->fail_on && all->reports < 2)
        status = assay_fail(err, ASSAY_EUSAGE, "history: --fail-on new compares reports, and there is one alone");
    const bool worse = status == ASSAY_OK && options->fail_on && assay_history_is_worse(all);
    ASSAY_THEN(status, cli_given()->form == CLI_JSON ? assay_history_put_json(all, &out)
                       : cli_given()->form == CLI_CSV
                           ? assay_history_put_csv(all, &out)
                           : assay_history_put_text(all, options->all, cli_draw_style(CLI_DRAW_AUTO, &draw), &out));
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "history: out of memory");
    if (status == ASSAY_OK)
        return cli_finish(&out, worse ? CLI_FINDINGS : left_out > 0 ? CLI_LOSSES : CLI_DONE);
    assay_buf_release(&out);
    return cli_fail(status, err);
}

/* Are all operands trials? A report among them makes them reports, of which those that are none are named. Collective. */
static bool are_trials(const cli_context *context, const cli_list *operands)
{
    int reports = 0;
    for (size_t i = 0; i < operands->count && assay_comm_rank(context->comm) == 0; i++)
        reports += has_reports(operands->text[i]);
    return cli_share_code(context->comm, reports == 0) == 1;
}

static int history(const cli_context *context, int argc, char **argv)
{
    static const char *operand[MOST_REPORTS];
    history_options options = {.run = RUN_DEFAULTS};
    cli_list *operands = &options.run.trials;
    operands->text = operand; /* no option of this command adds to them */
    size_t left_out = 0;
    assay_report_history all = {.report = NULL};
    assay_error err = {""};
    const bool first = assay_comm_rank(context->comm) == 0;
    int status = cli_options_parse(&cli_history, argc, argv, &options, operand, &operands->count, &err);
    status = assay_comm_agree(context->comm, status, &err);
    if (status == ASSAY_OK && are_trials(context, operands)) {
        status = run_trials(context, &options.run, &all, &left_out, &err);
        if (status == ASSAY_OK && first && all.reports == 0)
            status = assay_fail(&err, ASSAY_EUSAGE, "history: none of the trials could be read");
    } else if (status == ASSAY_OK && first) {
        const assay_setting_range *steps = &cli_given()->steps;
        status = steps->from != INT64_MIN || steps->to != INT64_MAX
                     ? assay_fail(&err, ASSAY_EUSAGE, "history: --steps is for trials: a report has its steps already")
                     : read_reports(&all, operand, operands->count, &left_out, &err);
    }
    int code = first ? put(&options, &all, left_out, status, &err) : status == ASSAY_OK ? CLI_DONE : CLI_FAILED;
    code = cli_share_code(context->comm, code);
    assay_history_release(&all);
    cli_options_release(&cli_history, &options);
    return code;
}

const cli_command cli_history = {"history",
                                 "REPORT|TRIAL...",
                                 "Says which rules have findings and since when, from the reports of many runs: "
                                 "report.json files, or their directories; or from trials themselves, of which it "
                                 "also says whose losses left the band of the runs before.",
                                 OPTIONS,
                                 1,
                                 MOST_REPORTS,
                                 CLI_WORLD | CLI_TRIALS | CLI_STEPS | CLI_MEMORY | CLI_LISTS | CLI_PRINTED,
                                 history};
