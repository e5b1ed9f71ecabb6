/* run_origin.c - see run_origin.h. */
#include "cli/run_origin.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/redact.h"

char *run_command_line(const cli_context *context)
{
    assay_buf line;
    assay_buf_init(&line, 1 << 20);
    for (int i = 0; i < context->argc; i++) {
        assay_put_bytes(&line, " ", i ? 1 : 0);
        assay_put_shell_word(&line, context->argv[i]);
    }
    assay_redact_buf(&line, 0);
    assay_put_u8(&line, '\0');
    if (assay_buf_status(&line) != ASSAY_OK) {
        assay_buf_release(&line);
        return NULL;
    }
    return (char *)line.data; /* the buffer's memory, handed on */
}

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text ? text : "";
}

/* "4711"; "4711_3" for a task of an array. */
static void find_slurm_job(char *out, size_t room)
{
    const char *array = variable("SLURM_ARRAY_JOB_ID"), *task = variable("SLURM_ARRAY_TASK_ID");
    if (*array && *task)
        snprintf(out, room, "%s_%s", array, task);
    else
        snprintf(out, room, "%s", variable("SLURM_JOB_ID"));
}

/* Of the process, whatever the environment says: USER survives a change of user. */
static void find_user(char *out, size_t room)
{
    char space[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(geteuid(), &entry, space, sizeof space, &found) == 0 && found)
        snprintf(out, room, "%s", entry.pw_name);
    else
        snprintf(out, room, "%lu", (unsigned long)geteuid());
}

char *run_find_origin(const cli_context *context, assay_report_origin *origin)
{
    time_t now = time(NULL);
    struct tm parts;
    char *command = run_command_line(context);
    *origin = (assay_report_origin){
        .version = context->version, .library = assay_comm_library(context->comm), .command = command ? command : ""};
    if (gmtime_r(&now, &parts))
        (void)strftime(origin->date, sizeof origin->date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (gethostname(origin->host, sizeof origin->host - 1) != 0)
        origin->host[0] = '\0';
    find_user(origin->user, sizeof origin->user);
    find_slurm_job(origin->slurm_job, sizeof origin->slurm_job);
    return command;
}
