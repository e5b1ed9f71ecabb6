/* module.c - see module.h. */
#include "rule/module.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "rule/guard.h"
#include "rule/instance.h"

enum { MOST_RULES = 256 };

typedef struct module_rule {
    const assay_rule_ops *ops; /* as registered */
    const char *path;          /* of its module; lives as long as the program */
} module_rule;

/* Filled at start like the registry, and constant from then on. */
static struct {
    void **handle;
    size_t handles;
    module_rule *rule;
    size_t rules;
    bool trust;
} modules;

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

typedef struct table_call {
    assay_rule_module_fn *function;
    const assay_rule_ops *const *table;
} table_call;

static void ask_for_table(void *context)
{
    table_call *c = context;
    c->table = c->function();
}

static int find_table(const char *path, void *handle, const assay_rule_ops *const **out, assay_error *err)
{
    assay_error why = {""};
    table_call c = {0};
    void *symbol = dlsym(handle, ASSAY_RULE_MODULE);
    if (!symbol)
        return assay_fail(err, ASSAY_EUSAGE, "%s: it does not export %s: is it a module of rules?", path,
                          ASSAY_RULE_MODULE);
    memcpy(&c.function, &symbol, sizeof c.function);
    if (modules.trust)
        ask_for_table(&c);
    else if (assay_guard_call(ask_for_table, &c, &why) != ASSAY_OK)
        return assay_fail(err, ASSAY_EUSAGE, "%s: %s %s", path, ASSAY_RULE_MODULE, why.text);
    if (!c.table || !c.table[0])
        return assay_fail(err, ASSAY_EUSAGE, "%s: its table of rules is empty", path);
    *out = c.table;
    return ASSAY_OK;
}

/* What the registry cannot see: whether there is an ops table behind the pointer, and a name that only looks different.
 */
static int check_rule(const char *path, const assay_rule_ops *ops, assay_error *err)
{
    char snake[128];
    if (ops->abi != ASSAY_RULE_ABI || ops->size != sizeof *ops)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: it was built for another version of assay (abi %u, size %u; this one has %d, "
                          "%zu): build it again",
                          path, ops->abi, ops->size, ASSAY_RULE_ABI, sizeof *ops);
    if (!ops->name || !*ops->name)
        return assay_fail(err, ASSAY_EUSAGE, "%s: a rule has no name", path);
    assay_rule_snake_name(ops->name, snake, sizeof snake);
    bool aggregation = ops->traits & ASSAY_RULE_AGGREGATION;
    const assay_rule_ops *twin = aggregation ? assay_aggregation_find(snake) : assay_rule_find(snake);
    if (!twin && !(twin = aggregation ? assay_aggregation_find(ops->name) : assay_rule_find(ops->name)))
        return ASSAY_OK;
    const char *other = assay_module_of(twin);
    return assay_fail(err, ASSAY_EUSAGE,
                      "%s: the name %.64s is taken by a rule of %.120s: give the own one another name", path, ops->name,
                      other ? other : "assay itself");
}

static int register_rule(const char *path, const assay_rule_ops *inner, assay_error *err)
{
    const assay_rule_ops *ops = inner;
    assay_error why = {""};
    module_rule *grown = assay_realloc_array(modules.rule, modules.rules + 1, sizeof *grown);
    if (!grown)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    modules.rule = grown;
    int status = check_rule(path, inner, err);
    if (status != ASSAY_OK)
        return status;
    if (!modules.trust)
        status = assay_guard_rule(inner, &ops, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_rule_register(ops, &why);
    if (status != ASSAY_OK) {
        if (ops != inner)
            free((void *)(uintptr_t)ops);
        return assay_fail(err, status, "%s: %.400s", path, why.text);
    }
    modules.rule[modules.rules++] = (module_rule){ops, path};
    return ASSAY_OK;
}

static bool is_loaded(void *handle)
{
    for (size_t i = 0; i < modules.handles; i++)
        if (modules.handle[i] == handle)
            return true;
    return false;
}

/* All rules are looked at before the first is registered. Registered ones keep `path`. */
static int register_all(char *path, void *handle, assay_error *err)
{
    const assay_rule_ops *const *table = NULL;
    size_t count = 0;
    int status = find_table(path, handle, &table, err);
    for (; status == ASSAY_OK && table[count]; count++) {
        status = count == MOST_RULES ? assay_fail(err, ASSAY_EUSAGE,
                                                  "%s: more than %d rules, or its table does not end with "
                                                  "NULL",
                                                  path, MOST_RULES)
                                     : check_rule(path, table[count], err);
        for (size_t k = 0; status == ASSAY_OK && k < count; k++)
            if (strcmp(table[k]->name, table[count]->name) == 0)
                status = assay_fail(err, ASSAY_EUSAGE, "%s: two rules are called %.64s", path, table[count]->name);
    }
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        status = register_rule(path, table[i], err);
    return status;
}

int assay_module_load(const char *path, assay_error *err)
{
    char *real = realpath(path, NULL);
    if (!real)
        return assay_fail(err, ASSAY_EUSAGE, "%s: cannot load this module of rules: %s", path, strerror(errno));
    void **handles = assay_realloc_array(modules.handle, modules.handles + 1, sizeof *handles);
    if (!handles) {
        free(real);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    modules.handle = handles;
    void *handle = dlopen(real, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        size_t length = strlen(real);
        if (why && strncmp(why, real, length) == 0 && strncmp(why + length, ": ", 2) == 0)
            why += length + 2;
        free(real);
        return assay_fail(err, ASSAY_EUSAGE, "%s: cannot load this module of rules: %s", path,
                          why ? why : "dlopen failed");
    }
    if (is_loaded(handle)) {
        dlclose(handle);
        free(real);
        return ASSAY_OK;
    }
    size_t before = modules.rules;
    int status = register_all(real, handle, err);
    if (modules.rules > before) { /* also after a failure: what is registered stays */
        modules.handle[modules.handles++] = handle;
    } else {
        dlclose(handle);
        free(real);
    }
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a directory's shared objects, sorted; each and the list are the caller's. */
static int list_modules(DIR *directory, char ***names, size_t *count)
{
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".so") != 0 || entry->d_name[0] == '.')
            continue;
        char **grown = assay_realloc_array(*names, *count + 1, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        *names = grown;
        if (!(grown[*count] = assay_copy_text(entry->d_name)))
            return ASSAY_ENOMEM;
        ++*count;
    }
    if (*count > 0)
        qsort(*names, *count, sizeof **names, by_name);
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
