/* rules_load.c - see rules_load.h. */
#include "cli/rules_load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/hash.h"
#include "base/log.h"
#include "rule/module.h"
#include "rule/process_pack.h"
#include "rule/python_rule.h"
#include "rule/rule_process.h"

/* Each directory of "a:b:c". */
static int load_path(const char *path, const char *origin, assay_error *err)
{
    int status = ASSAY_OK;
    while (status == ASSAY_OK && path && *path) {
        size_t length = strcspn(path, ":");
        char *directory = assay_copy_bytes_as_text(path, length);
        assay_error why = {""};
        if (!directory)
            return assay_fail(err, ASSAY_ENOMEM, "out of memory");
        if (length > 0)
            status = assay_module_load_directory(directory, &why);
        if (status != ASSAY_OK)
            status = assay_fail(err, status == ASSAY_ENOTFOUND ? ASSAY_EUSAGE : status, "%s: %s", origin, why.text);
        free(directory);
        path += length + (path[length] == ':');
    }
    return status;
}

/* A place of the installation, which is known relative to the program's. The caller frees it; NULL: it cannot be told.
 */
static char *installed_place(const char *relative)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return NULL;
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    return assay_path_join(program, relative);
}

/* Finds what serves rules in Python, which is installed with the program. */
static void find_python(void)
{
    char *server = installed_place(ASSAY_PYTHON_DIR "/assay/rule_process.py");
    if (server)
        assay_rule_process_set_python(server);
    free(server);
}

int cli_load_rules(const char *path, assay_error *err)
{
    assay_error why = {""};
    find_python();
    int status = load_path(path, "--rules-path", err);
    ASSAY_THEN(status, load_path(getenv("ASSAY_RULES_PATH"), "ASSAY_RULES_PATH", err));
    char *installed = status == ASSAY_OK ? installed_place(ASSAY_RULES_DIR) : NULL;
    if (!installed)
        return status;
    status = assay_module_load_directory(installed, &why);
    if (status == ASSAY_EUSAGE)
        assay_log_warn("%s", why.text);
    free(installed);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "out of memory") : ASSAY_OK;
}

/* Is a number the same on all ranks? Collective. */
static int is_same(assay_comm *comm, uint64_t number, bool *same)
{
    uint64_t most[2] = {number, ~number};
    int status = assay_comm_max(comm, most, 2);
    *same = status == ASSAY_OK && most[0] == ~most[1];
    return status;
}

/* What a custom rule declared may depend on the host: ranks with different plans would wait for each other for
 * ever. A rule in Python is the same where its file and its parameters are. Collective. */
static int agree_on_setup(assay_comm *comm, assay_instance *instance)
{
    assay_error why = instance->error;
    assay_buf need = ASSAY_BUF(SIZE_MAX);
    bool same = true;
    if (instance->status == ASSAY_OK)
        assay_need_pack(instance->need, &need);
    if (instance->status == ASSAY_OK && assay_python_rule_place(instance->ops)) {
        assay_put_text(&need, assay_python_rule_digest(instance->ops));
        assay_instance_put_parameters(instance, &need);
    }
    int failed = assay_comm_agree(comm, instance->status, &why);
    int status = assay_comm_agree(comm, assay_buf_status(&need), NULL);
    if (status == ASSAY_OK && failed == ASSAY_OK)
        status = is_same(comm, assay_hash_bytes(need.data, need.size), &same);
    if (status == ASSAY_OK && failed == ASSAY_OK && !same)
        failed = assay_fail(&why, ASSAY_EPARAM, "%s: %s not the same on all ranks", instance->ops->name,
                            assay_python_rule_place(instance->ops) ? "its file is" : "what its setup declares is");
    if (failed != ASSAY_OK)
        assay_instance_fail(instance, failed, why.text);
    assay_buf_release(&need);
    return status;
}

int cli_same_rules(assay_comm *comm, assay_job *job, assay_error *err)
{
    assay_buf names = ASSAY_BUF(1 << 24);
    for (size_t i = 0; assay_rule_at(i); i++) {
        assay_put_text(&names, assay_rule_at(i)->name);
        assay_put_u32(&names, assay_rule_at(i)->traits);
    }
    uint64_t hash = assay_hash_bytes(names.data, names.size);
    bool same = true;
    int status = assay_comm_agree(comm, assay_buf_status(&names), err);
    assay_buf_release(&names);
    ASSAY_THEN(status, is_same(comm, hash, &same));
    if (status == ASSAY_OK && !same)
        return assay_fail(err, ASSAY_EUSAGE,
                          "the ranks found different custom rules: their shared objects have to be "
                          "the same on every host");
    for (size_t i = 0; status == ASSAY_OK && i < job->rule_count + job->aggregation_count; i++) {
        assay_instance *instance = i < job->rule_count ? job->rules[i] : job->aggregations[i - job->rule_count];
        if (instance->is_python || (instance->ops && assay_module_of(instance->ops)))
            status = agree_on_setup(comm, instance);
    }
    return status;
}
