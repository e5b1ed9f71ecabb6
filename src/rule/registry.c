/* registry.c - every rule and aggregation of the program, by name. Built-in rules, shared objects and expressions all
 * enter through the same call, which refuses whatever could fail later, in the middle of a run. */
#include "rule/instance.h"

#include <ctype.h>
#include <string.h>

#include "base/fault.h"
#include "rule/common_state.h"
#include "rule/params.h"

enum { NAME_ROOM = 128 };

/* Filled at start, before any job is read, and constant from then on. Rules first, each kind in byte order of name. */
static const assay_rule_ops **registered;
static size_t registered_count;

static bool is_aggregation(const assay_rule_ops *ops)
{
    return ops->traits & ASSAY_RULE_AGGREGATION;
}

/* A name of the job file comes in either form: NLPSampleRule or nlp_sample_rule. "used + 2": an underscore, a letter,
 * and the end that follows. */
void assay_rule_snake_name(const char *name, char *out, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; name[i] && used + 2 < room; i++) {
        bool upper = isupper((unsigned char)name[i]);
        bool after_lower = i && !isupper((unsigned char)name[i - 1]) && name[i - 1] != '_';
        bool ends_acronym = i && isupper((unsigned char)name[i - 1]) && islower((unsigned char)name[i + 1]);
        if (upper && (after_lower || ends_acronym))
            out[used++] = '_';
        out[used++] = (char)tolower((unsigned char)name[i]);
    }
    if (room)
        out[used] = '\0';
}

static bool has_name(const assay_rule_ops *ops, const char *name)
{
    char snake[NAME_ROOM];
    assay_rule_snake_name(ops->name, snake, sizeof snake);
    return strcmp(name, ops->name) == 0 || strcmp(name, snake) == 0;
}

static const assay_rule_ops *find(const char *name, bool aggregation)
{
    for (size_t i = 0; i < registered_count; i++)
        if (is_aggregation(registered[i]) == aggregation && has_name(registered[i], name))
            return registered[i];
    return NULL;
}

const assay_rule_ops *assay_rule_find(const char *name)
{
    return find(name, false);
}

const assay_rule_ops *assay_aggregation_find(const char *kind)
{
    return find(kind, true);
}

const char *assay_rule_hint(const char *name, bool aggregation, char room[ASSAY_NEAREST_ROOM])
{
    assay_nearest nearest;
    assay_nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i < registered_count; i++)
        if (is_aggregation(registered[i]) == aggregation)
            assay_nearest_offer(&nearest, registered[i]->name);
    return assay_nearest_hint(&nearest, room);
}

const assay_rule_ops *assay_rule_at(size_t i)
{
    return i < registered_count ? registered[i] : NULL;
}

/* Defaults are parsed here once, so that no run can fail at a rule's own default. */
static int check_params(const assay_rule_ops *ops, assay_error *err)
{
    const assay_param_def *def, *other;
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++) {
        /* The common definitions follow the rule's own in assay_params_def(), so a clash with them is found here
         * too. */
        for (size_t k = 0; k < i && (other = assay_params_def(ops, k)); k++)
            if (strcmp(other->name, def->name) == 0)
                return assay_fail(err, ASSAY_EUSAGE,
                                  "rule %s: parameter %s is declared twice, or is one that every rule has", ops->name,
                                  def->name);
        if (def->type == ASSAY_PARAM_CHOICE && !def->choices)
            return assay_fail(err, ASSAY_EUSAGE, "rule %s: parameter %s has no choices", ops->name, def->name);
        if (!def->help || !*def->help)
            return assay_fail(err, ASSAY_EUSAGE, "rule %s: parameter %s has no help", ops->name, def->name);
        if (!def->initial)
            continue;
        assay_param_value value = {0};
        assay_error detail = {{0}};
        int status = assay_param_from_text(def, def->initial, &value, &detail);
        assay_param_release(&value);
        if (status)
            return assay_fail(err, ASSAY_EUSAGE, "rule %s: parameter %s: its default \"%s\" is refused: %s", ops->name,
                              def->name, def->initial, detail.text);
    }
    return ASSAY_OK;
}

/* Refuses what would fail later, in the middle of a run. Half of NAME_ROOM: each letter of a name may get an
 * underscore in the other form. */
static int check(const assay_rule_ops *ops, assay_error *err)
{
    if (!ops || ops->abi != ASSAY_RULE_ABI || ops->size != sizeof *ops)
        return assay_fail(err, ASSAY_EUSAGE,
                          "a rule was built for another version of assay (this one has abi %d, size %zu): "
                          "build it again",
                          ASSAY_RULE_ABI, sizeof *ops);
    if (!ops->name || !*ops->name || strlen(ops->name) >= NAME_ROOM / 2)
        return assay_fail(err, ASSAY_EUSAGE, "a rule has no name, or one longer than %d bytes", NAME_ROOM / 2 - 1);
    if (!ops->summary || !*ops->summary || (!is_aggregation(ops) && (!ops->advice || !*ops->advice)))
        return assay_fail(err, ASSAY_EUSAGE, "rule %s has no summary or no advice", ops->name);
    if (!ops->setup || !ops->state_new || !ops->state_free || !ops->map || !ops->combine || !ops->pack || !ops->unpack)
        return assay_fail(err, ASSAY_EUSAGE,
                          "rule %s lacks one of setup, state_new, state_free, map, combine, pack, unpack", ops->name);
    if ((ops->traits & ASSAY_RULE_COUNTS) && !(is_aggregation(ops) && assay_rule_has_common_state(ops)))
        return assay_fail(err, ASSAY_EUSAGE, "rule %s has ASSAY_RULE_COUNTS, and no counter of ASSAY_COMMON_STATE",
                          ops->name);
    /* Findings are compared by the number of their test, and reports list them by name: both orders are one. */
    for (size_t i = 0; ops->tests && ops->tests[i] && ops->tests[i + 1]; i++)
        if (strcmp(ops->tests[i], ops->tests[i + 1]) >= 0)
            return assay_fail(err, ASSAY_EUSAGE, "rule %s: its tests must be in byte order", ops->name);
    if (find(ops->name, is_aggregation(ops)))
        return assay_fail(err, ASSAY_EUSAGE, "there is a rule %s already", ops->name);
    return check_params(ops, err);
}

static int order(const assay_rule_ops *a, const assay_rule_ops *b)
{
    if (is_aggregation(a) != is_aggregation(b))
        return is_aggregation(a) ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* Called at start alone, from one thread: for the built-in rules, and by modules as they load. O(n) each, as the list
 * stays sorted. */
int assay_rule_register(const assay_rule_ops *ops, assay_error *err)
{
    int status = check(ops, err);
    if (status)
        return status;
    const assay_rule_ops **grown = assay_realloc_array(registered, registered_count + 1, sizeof *grown);
    if (!grown)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    registered = grown;
    size_t at = registered_count++;
    for (; at > 0 && order(ops, registered[at - 1]) < 0; at--)
        registered[at] = registered[at - 1];
    registered[at] = ops;
    return ASSAY_OK;
}
