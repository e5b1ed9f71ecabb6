/* module.c - see module.h. */
#include "rule/module.h"

#include <assay/rule.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/process_state.h"
#include "base/search.h"
#include "rule/instance.h"
#include "rule/module_open.h"
#include "rule/params.h"
#include "rule/process_pack.h"
#include "rule/process_rule.h"
#include "rule/rule_process.h"

/* ---- trusted rule ---- */

/* A rule of a shared object that is called in this process (--trust-rules): what it changes of the
 * process as a whole (base/process_state.h) is put back after every call. Its crash is the program's. */

typedef struct trusted_rule {
    assay_rule_ops ops; /* first: what is registered */
    const assay_rule_ops *inner;
} trusted_rule;

/* Noted before the first module is loaded, and kept for the program's time. One process state for all trusted
 * modules: they are called one after the other, by one thread. */
static assay_process_state own;
static bool noted;

static void enter(void)
{
    if (!noted)
        assay_process_state_save(&own);
    else
        assay_process_state_note(&own);
    noted = true;
}

static const assay_rule_ops *inner_of(const assay_rule_ops *ops)
{
    return ((const trusted_rule *)ops)->inner;
}

static int setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    enter();
    int status = inner_of(params->ops)->setup(params, need, data, err);
    assay_process_state_restore(&own);
    return status;
}

static void *state_new(const assay_rule *rule)
{
    enter();
    void *state = inner_of(rule->ops)->state_new(rule);
    assay_process_state_restore(&own);
    return state;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    enter();
    int status = inner_of(rule->ops)->map(rule, state, view, err);
    assay_process_state_restore(&own);
    return status;
}

static int combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    enter();
    int status = inner_of(rule->ops)->combine(rule, earlier, later, err);
    assay_process_state_restore(&own);
    return status;
}

static int pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    enter();
    int status = inner_of(rule->ops)->pack(rule, state, out);
    assay_process_state_restore(&own);
    return status;
}

static int unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    enter();
    int status = inner_of(rule->ops)->unpack(rule, in, state, err);
    assay_process_state_restore(&own);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    enter();
    int status = inner_of(rule->ops)->finalize(rule, state, verdict, err);
    assay_process_state_restore(&own);
    return status;
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    enter();
    bool some = inner_of(rule->ops)->reason(rule, modes, out);
    assay_process_state_restore(&own);
    return some;
}

/* data_free and state_free stay as they are: by state_free assay_rule_has_common_state() knows a state. */
static int assay_trusted_rule_new(const assay_rule_ops *inner, const assay_rule_ops **out, assay_error *err)
{
    trusted_rule *rule = assay_alloc(sizeof *rule);
    if (!rule)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    *rule = (trusted_rule){.ops = *inner, .inner = inner};
    rule->ops.setup = inner->setup ? setup : NULL;
    rule->ops.map = inner->map ? map : NULL;
    /* Assay's own functions leave the process as it is. A rule that uses all of assay's state functions needs no
     * wrapping of them. */
    if (inner->state_new != assay_common_new || inner->combine != assay_common_combine) {
        rule->ops.state_new = inner->state_new ? state_new : NULL;
        rule->ops.combine = inner->combine ? combine : NULL;
        rule->ops.pack = inner->pack ? pack : NULL;
        rule->ops.unpack = inner->unpack ? unpack : NULL;
    }
    rule->ops.finalize = inner->finalize ? finalize : NULL;
    rule->ops.reason = inner->reason ? reason : NULL;
    *out = &rule->ops;
    return ASSAY_OK;
}

static void assay_trusted_rule_free(const assay_rule_ops *ops)
{
    free((void *)(uintptr_t)ops);
}

/* Opens a module in this process, and puts back what that changes of it. As assay_module_open(). Loading a module
 * runs its constructors, which may change as much as its calls. */
static int assay_trusted_module_open(const char *path, const assay_rule_ops *const **table, assay_error *err)
{
    enter();
    int status = assay_module_open(path, table, err);
    assay_process_state_restore(&own);
    return status;
}

/* ---- module ---- */

typedef struct module_rule {
    const assay_rule_ops *ops; /* as registered */
    const char *path;          /* of its module; lives as long as the program */
} module_rule;

/* Filled at start like the registry, and constant from then on. Paths are kept for the program's time: findings and
 * messages name them. */
static struct {
    char **path;
    size_t paths;
    module_rule *rule;
    size_t rules;
    bool trust;
} modules;

/* The rules of one module before they are registered. */
typedef struct module_table {
    const char *path;
    const assay_rule_ops *ops[ASSAY_MODULE_RULES];
    uint32_t count;
} module_table;

void assay_module_trust(bool trust)
{
    modules.trust = trust;
}

const char *assay_module_of(const assay_rule_ops *ops)
{
    for (size_t i = 0; i < modules.rules; i++)
        if (modules.rule[i].ops == ops)
            return modules.rule[i].path;
    return NULL;
}

/* What the registry cannot see: a name that only looks different. Names are compared in the registry's spelling and
 * as file-like names, so that "MyRule" and "my_rule" do not both exist. */
static int check_rule(const module_table *table, const assay_rule_ops *ops, assay_error *err)
{
    char snake[128];
    if (ops->abi != ASSAY_RULE_ABI || ops->size != sizeof *ops)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: it was built for another version of assay (abi %u, size %u; this one has %d, "
                          "%zu): build it again",
                          table->path, ops->abi, ops->size, ASSAY_RULE_ABI, sizeof *ops);
    if (!ops->name || !*ops->name)
        return assay_fail(err, ASSAY_EUSAGE, "%s: a rule has no name", table->path);
    for (uint32_t k = 0; k < table->count; k++)
        if (strcmp(table->ops[k]->name, ops->name) == 0)
            return assay_fail(err, ASSAY_EUSAGE, "%s: two rules are called %.64s", table->path, ops->name);
    assay_rule_snake_name(ops->name, snake, sizeof snake);
    bool aggregation = ops->traits & ASSAY_RULE_AGGREGATION;
    const assay_rule_ops *twin = aggregation ? assay_aggregation_find(snake) : assay_rule_find(snake);
    if (!twin && !(twin = aggregation ? assay_aggregation_find(ops->name) : assay_rule_find(ops->name)))
        return ASSAY_OK;
    const char *other = assay_module_of(twin);
    return assay_fail(err, ASSAY_EUSAGE,
                      "%s: the name %.64s is taken by a rule of %.120s: give the own one another name", table->path,
                      ops->name, other ? other : "assay itself");
}

static int refuse_many(const module_table *table, assay_error *err)
{
    return assay_fail(err, ASSAY_EUSAGE, "%s: more than %d rules, or its table does not end with NULL", table->path,
                      ASSAY_MODULE_RULES);
}

/* ---- a module in this process ---- */

/* A crash of the module ends the program: the user has asked for that by --trust-rules. */
static int open_trusted(module_table *table, assay_error *err)
{
    const assay_rule_ops *const *rules = NULL;
    assay_error why = {""};
    int status = assay_trusted_module_open(table->path, &rules, &why);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %.400s", table->path, why.text);
    for (size_t i = 0; status == ASSAY_OK && rules[i]; i++) {
        status = table->count == ASSAY_MODULE_RULES ? refuse_many(table, err) : check_rule(table, rules[i], err);
        ASSAY_THEN(status, assay_trusted_rule_new(rules[i], &table->ops[table->count], err));
        table->count += status == ASSAY_OK;
    }
    return status;
}

/* ---- a module in a process of its own ---- */

/* What a process says of a module, which it loads for that alone. The process ends afterwards; each rule starts its
 * own when it is first called. */
static int ask_for_table(const char *path, assay_rule_answer *answer, assay_error *err)
{
    /* Whatever goes wrong in loading is the module's: the message says so, and the job does not begin. */
    assay_rule_process *process = NULL;
    assay_error why = {""};
    const assay_rule_served served = {.module = path};
    int status = assay_rule_process_start(&served, &process, &why);
    ASSAY_THEN(status, assay_rule_process_ask(process, ASSAY_RULE_LOAD, 0, answer, &why));
    assay_rule_process_free(process);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "out of memory");
    if (status == ASSAY_EINTERNAL)
        return assay_fail(err, ASSAY_EUSAGE, "%s: loading this module of rules %.300s", path, why.text);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %.400s", path, why.text);
    if (answer->status == ASSAY_OK)
        return ASSAY_OK;
    assay_buf_release(&answer->bytes);
    return assay_fail(err, ASSAY_EUSAGE, "%s: %.400s", path, answer->err.text);
}

/* Untrusted: the module's process may write anything. */
static int read_table(assay_cursor *in, module_table *table, assay_error *err)
{
    int status = ASSAY_OK;
    uint32_t count = assay_get_u32(in);
    if (count > ASSAY_MODULE_RULES)
        return refuse_many(table, err);
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_rule_ops ops;
        unsigned has;
        status = assay_rule_table_next(in, &ops, &has);
        if (status != ASSAY_OK)
            status = assay_fail(err, status == ASSAY_EFORMAT ? ASSAY_EUSAGE : status,
                                "%s: its table of rules is damaged", table->path);
        ASSAY_THEN(status, check_rule(table, &ops, err));
        ASSAY_THEN(status, assay_process_rule_new(table->path, i, &ops, has, &table->ops[i], err));
        if (status != ASSAY_OK)
            assay_rule_table_free(&ops);
        table->count += status == ASSAY_OK;
    }
    return status;
}

static int open_in_process(module_table *table, assay_error *err)
{
    assay_rule_answer answer;
    ASSAY_TRY(ask_for_table(table->path, &answer, err));
    assay_cursor in = assay_cursor_over(answer.bytes.data, answer.bytes.size);
    int status = read_table(&in, table, err);
    assay_buf_release(&answer.bytes);
    return status;
}

/* ---- loading ---- */

static int register_rule(const char *path, const assay_rule_ops *ops, assay_error *err)
{
    assay_error why = {""};
    module_rule *grown = assay_realloc_array(modules.rule, modules.rules + 1, sizeof *grown);
    if (!grown)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    modules.rule = grown;
    int status = assay_rule_register(ops, &why);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %.400s", path, why.text);
    modules.rule[modules.rules++] = (module_rule){ops, path};
    return ASSAY_OK;
}

static bool is_loaded(const char *path)
{
    for (size_t i = 0; i < modules.paths; i++)
        if (strcmp(modules.path[i], path) == 0)
            return true;
    return false;
}

/* Loads all rules of a module or none: all of them are looked at before the first is registered, which keeps `path`. */
static int load(const char *path, assay_error *err)
{
    module_table table = {.path = path};
    uint32_t done = 0;
    int status = modules.trust ? open_trusted(&table, err) : open_in_process(&table, err);
    while (status == ASSAY_OK && done < table.count) {
        status = register_rule(path, table.ops[done], err);
        done += status == ASSAY_OK;
    }
    for (; done < table.count; done++) {
        if (modules.trust)
            assay_trusted_rule_free(table.ops[done]);
        else
            assay_process_rule_free(table.ops[done]);
    }
    return status;
}

int assay_module_load(const char *path, assay_error *err)
{
    char *real = realpath(path, NULL);
    if (!real)
        return assay_fail(err, ASSAY_EUSAGE, "%s: cannot load this module of rules: %s", path, strerror(errno));
    if (is_loaded(real)) {
        free(real);
        return ASSAY_OK;
    }
    char **paths = assay_realloc_array(modules.path, modules.paths + 1, sizeof *paths);
    if (!paths) {
        free(real);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    modules.path = paths;
    /* Noted before loading, so that a module which loads another that loads it ends. */
    modules.path[modules.paths++] = real;
    return load(real, err);
}

/* The names of a directory's shared objects, sorted; each and the list are the caller's. */
static int list_modules(DIR *directory, char ***names, size_t *count)
{
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        size_t length = strlen(entry->d_name);
        /* Four bytes: a letter and ".so". */
        if (length < 4 || strcmp(entry->d_name + length - 3, ".so") != 0 || entry->d_name[0] == '.')
            continue;
        char **grown = assay_realloc_array(*names, *count + 1, sizeof *grown);
        ASSAY_HAVE(grown);
        *names = grown;
        ASSAY_HAVE((grown[*count] = assay_copy_text(entry->d_name)));
        ++*count;
    }
    if (*count > 0)
        qsort(*names, *count, sizeof **names, assay_order_texts);
    return ASSAY_OK;
}

int assay_module_load_directory(const char *directory, assay_error *err)
{
    char **names = NULL;
    size_t count = 0;
    DIR *opened = opendir(directory);
    if (!opened)
        return assay_fail(err, errno == ENOENT ? ASSAY_ENOTFOUND : ASSAY_EUSAGE,
                          "%s: cannot look for modules of rules here: %s", directory, strerror(errno));
    int status = list_modules(opened, &names, &count);
    closedir(opened);
    if (status != ASSAY_OK)
        assay_fail(err, status, "out of memory");
    for (size_t i = 0; i < count; i++) {
        char *path = status == ASSAY_OK ? assay_path_join(directory, names[i]) : NULL;
        if (path)
            status = assay_module_load(path, err);
        else if (status == ASSAY_OK)
            status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
        free(path);
        free(names[i]);
    }
    free(names);
    return status;
}
