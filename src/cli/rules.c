/* rules.c - assay rules: lists rules and aggregations, shows their parameters, and starts a new rule. */
#include <stdio.h>
#include <string.h>

#include "cli/rules_load.h"
#include "base/nearest.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "report/text/listing.h"
#include "rule/module.h"
#include "rule/params.h"
#include "rule/python_rule.h"

typedef struct rules_options {
    const char *rules_path, *directory;
    bool python;
} rules_options;

static const assay_setting OPTIONS[] = {
    {"rules-path", ASSAY_SETTING_TEXT, offsetof(rules_options, rules_path), "DIRS", CLI_RULES_PATH_HELP},
    {"dir", ASSAY_SETTING_TEXT, offsetof(rules_options, directory), "DIR",
     "With new: write the files there. Default: the rule's name in lower case."},
    {"python", ASSAY_SETTING_SWITCH, offsetof(rules_options, python), NULL,
     "With new: a rule in Python, with its test."},
    {0}};

static const char *const TYPE_NAMES[] = {
    [ASSAY_PARAM_BOOL] = "boolean",   [ASSAY_PARAM_INT] = "integer",   [ASSAY_PARAM_REAL] = "number",
    [ASSAY_PARAM_TEXT] = "text",      [ASSAY_PARAM_LIST] = "texts",    [ASSAY_PARAM_REALS] = "numbers",
    [ASSAY_PARAM_REGEX] = "patterns", [ASSAY_PARAM_CHOICE] = "choice",
};

static void put_names(bool aggregations, const char *heading, const assay_draw *draw, assay_buf *out)
{
    assay_report_put_heading(out, heading);
    for (size_t i = 0; assay_rule_at(i); i++) {
        const assay_rule_ops *ops = assay_rule_at(i);
        if (((ops->traits & ASSAY_RULE_AGGREGATION) != 0) != aggregations)
            continue;
        assay_buf lead = ASSAY_BUF(256);
        assay_draw_begin(draw, ASSAY_DRAW_GOOD, &lead);
        assay_put_format(&lead, "%s ", ops->name);
        assay_draw_end(draw, ASSAY_DRAW_GOOD, &lead);
        assay_put_u8(&lead, '\0');
        assay_text_put_wrapped(out, draw, 32, lead.data ? (const char *)lead.data : NULL, ops->summary,
                               strlen(ops->summary));
        assay_buf_release(&lead);
    }
}

/* Where the rules come from that are not the program's own. */
static void put_modules(assay_buf *out)
{
    bool any = false;
    for (size_t i = 0; assay_rule_at(i); i++) {
        const char *path = assay_module_of(assay_rule_at(i));
        if (!path)
            continue;
        if (!any)
            assay_report_put_heading(out, "Custom rules");
        any = true;
        assay_put_format(out, "%s from ", assay_rule_at(i)->name);
        assay_text_put_clean(out, path, strlen(path));
        assay_put_u8(out, '\n');
    }
}

static void put_all(const assay_draw *draw, assay_buf *out)
{
    static const char more[] =
        "`assay rules NAME` shows the parameters. Names like vanishing_gradient are accepted too.";
    assay_text_put_wrapped(out, draw, 0, NULL, more, strlen(more));
    put_names(false, "Rules", draw, out);
    put_names(true, "Aggregations", draw, out);
    put_modules(out);
}

/* "0 to 100", "above 0", "at most 1", ... */
static void put_range(const assay_param_def *def, assay_buf *out)
{
    if (def->type == ASSAY_PARAM_CHOICE) {
        assay_put_format(out, "%s", def->choices ? def->choices : "");
        return;
    }
    if (def->least == 0 && def->most == 0)
        return;
    bool bounded = def->most < 0x1p31; /* larger ones only keep the number in its type */
    assay_put_format(out, "%s", def->flags & ASSAY_PARAM_ABOVE ? "above " : bounded ? "" : "from ");
    assay_text_put_number(out, def->least);
    if (bounded) {
        assay_put_format(out, "%s", def->flags & ASSAY_PARAM_BELOW ? ", below " : " to ");
        assay_text_put_number(out, def->most);
    }
}

/* All of them, or the one of that name. */
static void put_params(const assay_rule_ops *ops, const char *name, const assay_draw *draw, assay_buf *out)
{
    const assay_param_def *def;
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++) {
        if (name && strcmp(def->name, name) != 0)
            continue;
        assay_put_format(out, "%s (%s", def->name, TYPE_NAMES[def->type]);
        size_t before = out->size;
        assay_put_bytes(out, ", ", 2);
        put_range(def, out);
        if (out->size == before + 2)
            out->size = before;
        if (def->flags & ASSAY_PARAM_REQUIRED) {
            assay_put_format(out, "; ");
            assay_draw_begin(draw, ASSAY_DRAW_BAD, out);
            assay_put_format(out, "required");
            assay_draw_end(draw, ASSAY_DRAW_BAD, out);
            assay_put_format(out, ")\n");
        } else if (def->initial)
            assay_put_format(out, "; default %s)\n", def->initial[0] ? def->initial : "\"\"");
        else
            assay_put_format(out, ")\n");
        if (def->help)
            assay_text_put_wrapped(out, draw, 4, NULL, def->help, strlen(def->help));
    }
}

static void put_one(const assay_rule_ops *ops, const assay_draw *draw, assay_buf *out)
{
    char snake[128];
    bool aggregation = ops->traits & ASSAY_RULE_AGGREGATION;
    assay_rule_snake_name(ops->name, snake, sizeof snake);
    assay_draw_begin(draw, ASSAY_DRAW_HEAD, out);
    assay_put_format(out, "%s %s", aggregation ? "Aggregation" : "Rule", ops->name);
    if (strcmp(snake, ops->name) != 0)
        assay_put_format(out, " (%s)", snake);
    assay_draw_end(draw, ASSAY_DRAW_HEAD, out);
    assay_put_u8(out, '\n');
    assay_text_put_wrapped(out, draw, 0, NULL, ops->summary, strlen(ops->summary));
    const char *origin = assay_module_of(ops) ? assay_module_of(ops) : assay_python_rule_place(ops);
    if (origin) {
        assay_put_format(out, "Loaded from ");
        assay_text_put_clean(out, origin, strlen(origin));
        assay_put_u8(out, '\n');
    }
    for (size_t i = 0; ops->tests && ops->tests[i]; i++)
        assay_put_format(out, "%s%s", i ? ", " : "Tests: ", ops->tests[i]);
    assay_put_format(out, ops->tests ? "\n" : "");
    assay_report_put_heading(out, "Parameters");
    put_params(ops, NULL, draw, out);
    if (ops->advice && ops->advice[0]) {
        assay_report_put_heading(out, "What to do when it fires");
        assay_text_put_wrapped(out, draw, 0, NULL, ops->advice, strlen(ops->advice));
    }
}

static void put_both(const assay_rule_ops *rule, const assay_rule_ops *aggregation, const assay_draw *draw,
                     assay_buf *out)
{
    if (rule)
        put_one(rule, draw, out);
    assay_put_format(out, rule && aggregation ? "\n\n" : "");
    if (aggregation)
        put_one(aggregation, draw, out);
}

/* ---- for programs ---- */

static const assay_listing_column OF_PARAMETERS[] = {{"name"},
                                                     {"type"},
                                                     {"default"},
                                                     {"required"},
                                                     {"choices", .optional = true},
                                                     {"above", .optional = true},
                                                     {"least", .optional = true},
                                                     {"below", .optional = true},
                                                     {"most", .optional = true},
                                                     {"help"}};
static const assay_listing_column OF_RULES[] = {{"name"},
                                                {"kind"},
                                                {"summary"},
                                                {"advice"},
                                                {"module"},
                                                {"python", .optional = true},
                                                {"parameters", .json_alone = true}};

/* A bound in the first of two columns, or in the second one; both are empty where there is none. */
static void put_bound(bool is, bool second, double bound, assay_listing *rows)
{
    for (int k = 0; k < 2; k++)
        if (is && second == (k == 1))
            assay_listing_number(rows, bound);
        else
            assay_listing_none(rows);
}

/* All of them, or the one of that name. */
static void put_parameters(const assay_rule_ops *ops, const char *name, assay_listing *rows)
{
    const assay_param_def *def;
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++) {
        const bool chosen = def->type == ASSAY_PARAM_CHOICE, bounded = !chosen && (def->least != 0 || def->most != 0);
        if (name && strcmp(def->name, name) != 0)
            continue;
        assay_listing_next(rows);
        assay_listing_text(rows, def->name);
        assay_listing_text(rows, TYPE_NAMES[def->type]);
        assay_listing_text(rows, def->initial);
        assay_listing_flag(rows, def->flags & ASSAY_PARAM_REQUIRED);
        assay_listing_text(rows, chosen ? def->choices : NULL);
        put_bound(bounded, !(def->flags & ASSAY_PARAM_ABOVE), def->least, rows);
        put_bound(bounded, !(def->flags & ASSAY_PARAM_BELOW), def->most, rows);
        assay_listing_text(rows, def->help);
    }
}

static void put_parameter_list(const assay_rule_ops *ops, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_listing rows;
    assay_jw_array(&w, NULL);
    assay_listing_begin_in(&rows, &w, 3, ASSAY_LISTED(OF_PARAMETERS));
    put_parameters(ops, NULL, &rows);
    assay_listing_end(&rows, 0, NULL);
    assay_jw_end(&w);
}

static void put_rule(const assay_rule_ops *ops, assay_listing *rows)
{
    assay_listing_next(rows);
    assay_listing_text(rows, ops->name);
    assay_listing_text(rows, ops->traits & ASSAY_RULE_AGGREGATION ? "aggregation" : "rule");
    assay_listing_text(rows, ops->summary);
    assay_listing_text(rows, ops->advice);
    assay_listing_text(rows, assay_module_of(ops));
    assay_listing_text(rows, assay_python_rule_place(ops));
    assay_buf *out = assay_listing_value(rows);
    if (out)
        put_parameter_list(ops, out);
}

/* Every rule and aggregation, or those two. */
static void put_rules(const assay_rule_ops *rule, const assay_rule_ops *aggregation, assay_listing *rows)
{
    if (rule && assay_python_rule_place(rule)) /* which is not registered */
        put_rule(rule, rows);
    for (size_t i = 0; assay_rule_at(i); i++) {
        const assay_rule_ops *ops = assay_rule_at(i);
        if ((!rule && !aggregation) || ops == rule || ops == aggregation)
            put_rule(ops, rows);
    }
}

static void put_json(const assay_rule_ops *rule, const assay_rule_ops *aggregation, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_listing rows;
    assay_jw_array(&w, NULL);
    assay_listing_begin_in(&rows, &w, 1, ASSAY_LISTED(OF_RULES));
    put_rules(rule, aggregation, &rows);
    assay_listing_end(&rows, 0, NULL);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
}

/* A row for each rule; of one of them, for each parameter or the one of that name. */
static void put_csv(const assay_rule_ops *rule, const assay_rule_ops *aggregation, const char *name, assay_buf *out)
{
    const assay_rule_ops *one = rule ? rule : aggregation;
    assay_listing rows;
    if (one)
        assay_listing_begin(&rows, ASSAY_LISTING_CSV, ASSAY_LISTED(OF_PARAMETERS), out);
    else
        assay_listing_begin(&rows, ASSAY_LISTING_CSV, ASSAY_LISTED(OF_RULES), out);
    if (one)
        put_parameters(one, name, &rows);
    else
        put_rules(NULL, NULL, &rows);
    assay_listing_end(&rows, 0, NULL);
}

static bool has_parameter(const assay_rule_ops *ops, const char *name)
{
    const assay_param_def *def;
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++)
        if (strcmp(def->name, name) == 0)
            return true;
    return false;
}

static int fail_parameter(const assay_rule_ops *ops, const char *name)
{
    assay_error err;
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    const assay_param_def *def;
    assay_nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++)
        assay_nearest_offer(&nearest, def->name);
    assay_fail(&err, ASSAY_EUSAGE, "rules: %s has no parameter \"%.100s\"%s; `assay rules %s` lists them", ops->name,
               name, assay_nearest_hint(&nearest, hint), ops->name);
    return cli_fail(ASSAY_EUSAGE, &err);
}

static int make_new(const char *name, const rules_options *options)
{
    assay_error err = {""};
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = cli_new_rule(name, options->directory, options->python, &out, &err);
    int printed = cli_finish(&out, CLI_DONE); /* what was written before a failure, too */
    return status == ASSAY_OK ? printed : cli_fail(status, &err);
}

static int rules(const cli_context *context, int argc, char **argv)
{
    const char *name[2] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    rules_options options = {.rules_path = NULL};
    int status = cli_options_parse(&cli_rules, argc, argv, &options, name, &operands, &err);
    bool new = operands > 0 && strcmp(name[0], "new") == 0;
    if (status == ASSAY_OK && new &&operands == 1)
        status = assay_fail(&err, ASSAY_EUSAGE, "rules new: the name of the new rule is missing");
    if (status == ASSAY_OK && (options.directory || options.python) && !new)
        status = assay_fail(&err, ASSAY_EUSAGE, "rules: --%s goes with new", options.python ? "python" : "dir");
    ASSAY_THEN(status, cli_load_rules(options.rules_path, &err));
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    if (new)
        return make_new(name[1], &options);
    const assay_rule_ops *rule = operands ? assay_rule_find(name[0]) : NULL;
    const bool in_python = operands && !rule && strstr(name[0], ".py");
    if (in_python && (status = assay_python_rule_load(name[0], &rule, &err)) != ASSAY_OK)
        return cli_fail(status == ASSAY_ENOMEM ? status : ASSAY_EUSAGE, &err);
    const assay_rule_ops *aggregation = operands ? assay_aggregation_find(name[0]) : NULL;
    if (operands && !rule && !aggregation) {
        char hint[ASSAY_NEAREST_ROOM];
        assay_fail(&err, ASSAY_EUSAGE, "rules: no rule is called \"%.100s\"%s; `assay rules` lists them", name[0],
                   assay_rule_hint(name[0], false, hint));
        return cli_fail(ASSAY_EUSAGE, &err);
    }
    assay_draw room;
    const assay_draw *draw = cli_draw_style(CLI_DRAW_AUTO, &room);
    if (operands == 2 && !has_parameter(rule ? rule : aggregation, name[1]))
        return fail_parameter(rule ? rule : aggregation, name[1]);
    if (cli_given()->form == CLI_JSON)
        put_json(rule, aggregation, &out);
    else if (cli_given()->form == CLI_CSV)
        put_csv(rule, aggregation, name[1], &out);
    else if (operands == 2)
        put_params(rule ? rule : aggregation, name[1], draw, &out);
    else if (!operands)
        put_all(draw, &out);
    else
        put_both(rule, aggregation, draw, &out);
    return cli_finish(&out, CLI_DONE);
}

const cli_command cli_rules = {
    "rules",
    "[NAME [PARAMETER] | FILE.py:CLASS [PARAMETER] | new NAME]",
    "Lists the rules and aggregations, shows what one of them checks and its parameters, or starts a rule of your own.",
    OPTIONS,
    0,
    2,
    CLI_LISTS | CLI_PAGED,
    rules};
