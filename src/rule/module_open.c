/* module_open.c - see module_open.h. */
#include "rule/module_open.h"

#include <dlfcn.h>
#include <string.h>

static int cannot_load(const char *path, assay_error *err)
{
    const char *why = dlerror();
    size_t length = strlen(path);
    if (why && strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0)
        why += length + 2;
    return assay_fail(err, ASSAY_EUSAGE, "cannot load this module of rules: %s", why ? why : "dlopen failed");
}

int assay_module_open(const char *path, const assay_rule_ops *const **table, assay_error *err)
{
    assay_rule_module_fn *function = NULL;
    /* RTLD_NOW: a missing symbol shows here, not in the middle of a run. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return cannot_load(path, err);
    void *symbol = dlsym(handle, ASSAY_RULE_MODULE);
    /* A data pointer becomes a function pointer, which ISO C does only by memcpy. */
    memcpy(&function, &symbol, sizeof function);
    const assay_rule_ops *const *found = function ? function() : NULL;
    if (found && found[0]) {
        *table = found;
        return ASSAY_OK;
    }
    dlclose(handle);
    if (!function)
        return assay_fail(err, ASSAY_EUSAGE, "it does not export %s: is it a module of rules?", ASSAY_RULE_MODULE);
    return assay_fail(err, ASSAY_EUSAGE, "its table of rules is empty");
}
