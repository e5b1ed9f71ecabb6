/* pager.c - see pager.h. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/terminal.h"

extern char **environ;

static pid_t pager; /* 0: there is none */

static bool is_installed(const char *program)
{
    char path[PATH_MAX];
    const char *list = getenv("PATH");
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    for (; list && *list; list += strspn(list, ":")) {
        const size_t length = strcspn(list, ":");
        const int size = snprintf(path, sizeof path, "%.*s/%s", (int)(length < PATH_MAX ? length : 0), list, program);
        if (size > 0 && size < (int)sizeof path && access(path, X_OK) == 0)
            return true;
        list += length;
    }
    return false;
}

/* Is its first word, unless a shell makes another of it, a program that is not there? What is printed would be lost. */
static bool is_missing(const char *command)
{
    char word[PATH_MAX];
    command += strspn(command, " \t");
    const size_t length = strcspn(command, " \t");
    if (length == 0 || length >= sizeof word || strcspn(command, "=\"'$`\\(){};&|<>~*?[") < length)
        return false;
    memcpy(word, command, length);
    word[length] = '\0';
    return !is_installed(word);
}

/* The command; NULL for none. */
static const char *wanted(void)
{
    const char *name = getenv("ASSAY_PAGER") ? "ASSAY_PAGER" : "PAGER", *said = getenv(name);
    if (!said)
        return is_installed("less") ? "less" : NULL;
    if (!*said || strcmp(said, "cat") == 0)
        return NULL;
    if (!is_missing(said))
        return said;
    assay_log_warn("%s: \"%s\": there is no such program; printing without a pager", name, said);
    return NULL;
}

/* Starts it with the end of a pipe as its input; false when that fails. */
static bool spawn(const char *command, int input, int other_end)
{
    char shell[] = "sh", option[] = "-c";
    char *words[] = {shell, option, strdup(command), NULL};
    posix_spawn_file_actions_t actions;
    if (!words[2] || posix_spawn_file_actions_init(&actions) != 0) {
        free(words[2]);
        return false;
    }
    bool made = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) == 0 &&
                posix_spawn_file_actions_addclose(&actions, input) == 0 &&
                posix_spawn_file_actions_addclose(&actions, other_end) == 0 &&
                posix_spawn(&pager, "/bin/sh", &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    free(words[2]);
    if (!made)
        pager = 0;
    return made;
}

void cli_pager_start(void)
{
    int ends[2];
    const char *command = cli_is_terminal() ? wanted() : NULL;
    if (!command || pipe(ends) != 0)
        return;
    setenv("LESS", "FRX", 0);
    cli_keep_terminal(); /* what it is does not change by the pipe */
    if (spawn(command, ends[0], ends[1]) && dup2(ends[1], STDOUT_FILENO) >= 0) {
        signal(SIGINT, SIG_IGN); /* the pager's: it goes back to its prompt */
        cli_reader_may_leave();
    }
    close(ends[0]);
    close(ends[1]);
}

void cli_pager_end(void)
{
    if (!pager)
        return;
    (void)fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) { /* this closes the pipe: the pager sees the end */
        dup2(nowhere, STDOUT_FILENO);
        close(nowhere);
    }
    assay_activity_hold(true); /* the terminal is the pager's until the reader leaves it */
    while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
        continue;
    pager = 0;
}
