/* rules.c - assay rules: which rules and aggregations there are, and what their parameters mean. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "report/layout.h"
#include "report/report.h"
#include "rule/params.h"

static const cli_option OPTIONS[] = {{NULL, CLI_FLAG, 0, NULL, NULL, NULL}};

static const char *const TYPE_NAMES[] = {
    [ASSAY_PARAM_BOOL] = "boolean", [ASSAY_PARAM_INT] = "integer", [ASSAY_PARAM_REAL] = "number",
    [ASSAY_PARAM_TEXT] = "text",    [ASSAY_PARAM_LIST] = "texts",  [ASSAY_PARAM_REALS] = "numbers",
    [ASSAY_PARAM_REGEX] = "patterns", [ASSAY_PARAM_CHOICE] = "choice",
};

static void put_names(bool aggregations, const char *heading, assay_buf *out)
{
    char lead[64];
    assay_report_put_heading(out, heading);
    for (size_t i = 0; assay_rule_at(i); i++) {
        const assay_rule_ops *ops = assay_rule_at(i);
        if (((ops->traits & ASSAY_RULE_AGGREGATION) != 0) != aggregations)
            continue;
        snprintf(lead, sizeof lead, "%s ", ops->name);
        assay_text_put_wrapped(out, 32, lead, ops->summary, strlen(ops->summary));
    }
}

static void put_all(assay_buf *out)
{
    assay_put_format(out, "`assay rules NAME` shows the parameters. Names like vanishing_gradient are accepted too.\n");
    put_names(false, "Rules", out);
    put_names(true, "Aggregations", out);
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

static void put_params(const assay_rule_ops *ops, assay_buf *out)
{
    const assay_param_def *def;
    assay_report_put_heading(out, "Parameters");
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++) {
        assay_put_format(out, "%s (%s", def->name, TYPE_NAMES[def->type]);
        size_t before = out->size;
        assay_put_bytes(out, ", ", 2);
        put_range(def, out);
        if (out->size == before + 2)
            out->size = before;
        if (def->flags & ASSAY_PARAM_REQUIRED)
            assay_put_format(out, "; required)\n");
        else if (def->initial)
            assay_put_format(out, "; default %s)\n", def->initial[0] ? def->initial : "\"\"");
        else
            assay_put_format(out, ")\n");
        if (def->help)
            assay_text_put_wrapped(out, 4, NULL, def->help, strlen(def->help));
    }
}

static void put_one(const assay_rule_ops *ops, assay_buf *out)
{
    char snake[128];
    bool aggregation = ops->traits & ASSAY_RULE_AGGREGATION;
    assay_rule_snake_name(ops->name, snake, sizeof snake);
    assay_put_format(out, "%s %s", aggregation ? "Aggregation" : "Rule", ops->name);
    if (strcmp(snake, ops->name) != 0)
        assay_put_format(out, " (%s)", snake);
    assay_put_u8(out, '\n');
    assay_text_put_wrapped(out, 0, NULL, ops->summary, strlen(ops->summary));
    for (size_t i = 0; ops->tests && ops->tests[i]; i++)
        assay_put_format(out, "%s%s", i ? ", " : "Tests: ", ops->tests[i]);
    assay_put_format(out, ops->tests ? "\n" : "");
    put_params(ops, out);
    if (ops->advice && ops->advice[0]) {
        assay_report_put_heading(out, "What to do when it fires");
        assay_text_put_wrapped(out, 0, NULL, ops->advice, strlen(ops->advice));
    }
}

static int rules(const cli_context *context, int argc, char **argv)
{
    (void)context;
    const char *name[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_buf out;
    int unused = 0, status = cli_options_parse(&cli_rules, argc, argv, &unused, name, &operands, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    const assay_rule_ops *rule = operands ? assay_rule_find(name[0]) : NULL;
    const assay_rule_ops *aggregation = operands ? assay_aggregation_find(name[0]) : NULL;
    if (operands && !rule && !aggregation) {
        assay_fail(&err, ASSAY_EUSAGE, "rules: no rule is called \"%.100s\"; `assay rules` lists them", name[0]);
        return cli_fail(ASSAY_EUSAGE, &err);
    }
    assay_buf_init(&out, ASSAY_REPORT_CEILING);
    if (!operands)
        put_all(&out);
    if (rule)
        put_one(rule, &out);
    assay_put_format(&out, rule && aggregation ? "\n\n" : "");
    if (aggregation)
        put_one(aggregation, &out);
    return cli_finish(&out, CLI_DONE);
}

const cli_command cli_rules = {"rules", "[NAME]",
                               "Lists the rules and aggregations, or shows what one of them checks and its parameters.",
                               OPTIONS, 0, 1, false, rules};
