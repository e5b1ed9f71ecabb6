/* history.c - assay history: which rule has findings since when, over the reports of many nights. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "report/history/history.h"
#include "report/report.h"

enum { MOST_REPORTS = 10000, MOST_BYTES = 1 << 28 /* of a report */ };

typedef struct history_options {
    bool all, json;
} history_options;

static const cli_option OPTIONS[] = {
    {"all", CLI_FLAG, offsetof(history_options, all), NULL, "List rules that never had findings, too.", NULL},
    {"json", CLI_FLAG, offsetof(history_options, json), NULL, "Print JSON.", NULL},
    {NULL, CLI_FLAG, 0, NULL, NULL, NULL},
};

/* A report.json, or the directory of a report. */
static int add_report(assay_history *history, const char *operand, assay_error *err)
{
    struct stat about;
    assay_buf text;
    if (stat(operand, &about) == 0 && S_ISDIR(about.st_mode)) {
        char *path = assay_path_join(operand, "report.json");
        int status = !path                                               ? ASSAY_ENOMEM
                     : stat(path, &about) != 0 || S_ISDIR(about.st_mode) ? ASSAY_ENOTFOUND
                                                                         : add_report(history, path, err);
        if (status == ASSAY_ENOTFOUND)
            assay_fail(err, status, "%s: no report.json there, the only form that can be read", operand);
        free(path);
        return status;
    }
    assay_buf_init(&text, MOST_BYTES);
    int status = assay_file_read(operand, MOST_BYTES, &text, err);
    if (status == ASSAY_OK)
        status = assay_history_add(history, operand, text.data, text.size,
                                   stat(operand, &about) == 0 ? (int64_t)about.st_mtime : 0, err);
    assay_buf_release(&text);
    return status;
}

/* Reads what can be read. *left_out: how many could not. */
static int read_reports(assay_history *history, const char *const *operand, size_t operands, size_t *left_out,
                        assay_error *err)
{
    for (size_t i = 0; i < operands; i++) {
        int status = add_report(history, operand[i], err);
        if (status == ASSAY_ENOMEM)
            return status;
        if (status != ASSAY_OK)
            assay_log_warn("%s", err->text);
        *left_out += status != ASSAY_OK;
    }
    assay_history_sort(history);
    if (history->reports == 0)
        return assay_fail(err, ASSAY_EUSAGE, "history: none of %zu report%s could be read", operands,
                          assay_plural(operands));
    return ASSAY_OK;
}

static int history(const cli_context *context, int argc, char **argv)
{
    (void)context;
    static const char *operand[MOST_REPORTS];
    history_options options = {.all = false};
    size_t operands = 0, left_out = 0;
    assay_history all = {.report = NULL};
    assay_error err = {""};
    assay_draw draw;
    assay_buf out;
    int status = cli_options_parse(&cli_history, argc, argv, &options, operand, &operands, &err);
    if (status == ASSAY_OK)
        status = read_reports(&all, operand, operands, &left_out, &err);
    assay_buf_init(&out, ASSAY_REPORT_CEILING);
    if (status == ASSAY_OK)
        status = options.json ? assay_history_put_json(&all, &out)
                              : assay_history_put_text(&all, options.all, cli_draw_style(CLI_DRAW_AUTO, &draw), &out);
    if (status == ASSAY_ENOMEM)
        assay_fail(&err, status, "history: out of memory");
    assay_history_release(&all);
    if (status == ASSAY_OK)
        return cli_finish(&out, left_out > 0 ? CLI_LOSSES : CLI_DONE);
    assay_buf_release(&out);
    return cli_fail(status, &err);
}

const cli_command cli_history = {"history",
                                 "REPORT...",
                                 "Says which rules have findings and since when, from the reports of many runs: "
                                 "report.json files, or their directories.",
                                 OPTIONS,
                                 1,
                                 MOST_REPORTS,
                                 false,
                                 history,
                                 false};
