/* command.c - see command.h.
 *
 * The input is a file in memory rather than a pipe: nothing has to be fed while the child runs, and there is no
 * SIGPIPE. */
#include "action/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/redact.h"

/* Short, as a child that has ended is seen by this wait alone. */
enum { POLL_MILLISECONDS = 20 };
static const double GRACE_SECONDS = 1, KILL_SECONDS = 10;

extern char **environ;

/* -1: closed. */
typedef struct pipes {
    int input, out[2], err[2];
} pipes;

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_all(pipes *p)
{
    close_one(&p->input);
    for (int i = 0; i < 2; i++) {
        close_one(&p->out[i]);
        close_one(&p->err[i]);
    }
}

/* A file in memory with these bytes, to be read from its start; -1 with errno. */
static int open_input(const char *bytes, size_t size)
{
    if (!bytes)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("assay-input", MFD_CLOEXEC);
    while (fd >= 0 && size > 0) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            close(fd);
            return -1;
        }
        bytes += put;
        size -= (size_t)put;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static bool open_pipes(const assay_command *command, pipes *p)
{
    *p = (pipes){-1, {-1, -1}, {-1, -1}};
    p->input = open_input(command->input, command->input_size);
    /* errno of the failure, since close() may set it. */
    if (p->input < 0 || pipe2(p->out, O_CLOEXEC) != 0 || pipe2(p->err, O_CLOEXEC) != 0) {
        int cause = errno;
        close_all(p);
        errno = cause;
        return false;
    }
    fcntl(p->out[0], F_SETFL, O_NONBLOCK);
    fcntl(p->err[0], F_SETFL, O_NONBLOCK);
    return true;
}

static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strncmp(a, b, length) == 0 && b[length] == '=';
}

/* Tells whether a variable is what a launcher, or MPI_Init, tells this process of its place among the ranks. A child
 * that is an MPI program, or a job that is submitted with our environment, would take itself for the same rank and
 * fail at its start. */
static bool is_of_rank(const char *variable)
{
    static const char *const drop[] = {"PMIX_",
                                       "PMI_",
                                       "OMPI_COMM_WORLD_",
                                       "OMPI_MCA_orte_",
                                       "OMPI_MCA_ess=",
                                       "OMPI_MCA_ess_base_",
                                       "OMPI_MCA_pmix=",
                                       "OMPI_MCA_initial_wdir=",
                                       "OMPI_UNIVERSE_SIZE=",
                                       "OMPI_NUM_APP_CTX=",
                                       "OMPI_FIRST_RANKS=",
                                       "OMPI_APP_CTX_NUM_PROCS=",
                                       "OMPI_FILE_LOCATION=",
                                       "OMPI_COMMAND=",
                                       "OMPI_ARGV=",
                                       "SLURM_STEP",
                                       "SLURM_PROCID=",
                                       "SLURM_LOCALID=",
                                       NULL};
    static const char *const keep[] = {"PMIX_MCA_", "OMPI_MCA_orte_tmpdir_base=", NULL}; /* settings of people */
    for (const char *const *k = keep; *k; k++) {
        if (strncmp(variable, *k, strlen(*k)) == 0)
            return false;
    }
    for (const char *const *d = drop; *d; d++) {
        if (strncmp(variable, *d, strlen(*d)) == 0)
            return true;
    }
    return false;
}

/* Our environment with `more` on top: a list of borrowed texts. NULL without memory. */
static char **join_environment(const char *const *more)
{
    size_t ours = 0, added = 0, used = 0;
    const bool rank = getenv("PMIX_RANK") || getenv("PMI_RANK");
    while (environ[ours])
        ours++;
    while (more && more[added])
        added++;
    char **list = assay_realloc_array(NULL, ours + added + 1, sizeof *list);
    if (!list)
        return NULL;
    /* Secrets of this process go no further either. */
    for (size_t i = 0; i < ours; i++) {
        bool replaced = assay_redact_is_variable(environ[i]) || (rank && is_of_rank(environ[i]));
        for (size_t k = 0; k < added && !replaced; k++)
            replaced = same_name(more[k], environ[i]);
        if (!replaced)
            list[used++] = environ[i];
    }
    for (size_t k = 0; k < added; k++)
        list[used++] = (char *)(uintptr_t)more[k]; /* execve's type has no const; nobody writes there */
    list[used] = NULL;
    return list;
}

/* Starts the child with default signals, in a process group of its own, so that a time limit ends what it started
 * too. 0 or an errno. */
static int spawn(const assay_command *command, const pipes *p, char **environment, pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int cause = posix_spawn_file_actions_init(&files);
    if (cause)
        return cause;
    cause = posix_spawnattr_init(&how);
    if (cause) {
        posix_spawn_file_actions_destroy(&files);
        return cause;
    }
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setpgroup(&how, 0);
    cause = posix_spawn_file_actions_adddup2(&files, p->input, 0);
    cause = cause ? cause : posix_spawn_file_actions_adddup2(&files, p->out[1], 1);
    cause = cause ? cause : posix_spawn_file_actions_adddup2(&files, p->err[1], 2);
    int first_closed = 3;
    if (command->keep > 0) { /* last: p's own numbers are free by now */
        cause = cause ? cause : posix_spawn_file_actions_adddup2(&files, command->keep, first_closed);
        first_closed++;
    }
    cause = cause ? cause : posix_spawn_file_actions_addclosefrom_np(&files, first_closed);
    if (!cause)
        cause =
            posix_spawnp(child, command->argv[0], &files, &how, (char *const *)(uintptr_t)command->argv, environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return cause;
}

/* Takes what there is to read; closes the pipe at its end. */
static void drain(int *fd, assay_buf *into)
{
    char piece[4096];
    while (*fd >= 0) {
        ssize_t got = read(*fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            close_one(fd);
            return;
        }
        /* What is beyond the ceiling is read and dropped: a child must not wait for a full pipe. */
        size_t room = ASSAY_COMMAND_CEILING - into->size;
        assay_put_bytes(into, piece, (size_t)got < room ? (size_t)got : room);
    }
}

/* Reads and waits until the child has ended; its wait status, or -1 when that is not known. At the time limit SIGTERM
 * first, so that it can clean up, then SIGKILL. */
static int attend(const assay_command *command, pipes *p, pid_t child, assay_command_result *result)
{
    double end = assay_clock_seconds() + command->seconds;
    int how = 0, signals = 0;
    for (;;) {
        struct pollfd wait[2] = {{p->out[0], POLLIN, 0}, {p->err[0], POLLIN, 0}}; /* poll leaves out what is -1 */
        (void)poll(wait, 2, POLL_MILLISECONDS);
        drain(&p->out[0], &result->out);
        drain(&p->err[0], &result->err);
        pid_t ended = waitpid(child, &how, WNOHANG);
        if (ended == child)
            break;
        if (ended < 0 && errno != EINTR) { /* somebody else has reaped it, so how it ended is not known */
            how = -1;
            break;
        }
        if (assay_clock_seconds() < end)
            continue;
        if (signals == 2) { /* it hangs in the kernel, on a file server say: not to be waited for */
            how = -1;
            break;
        }
        result->timed_out = true;
        kill(-child, signals++ == 0 ? SIGTERM : SIGKILL);
        end = assay_clock_seconds() + (signals == 1 ? GRACE_SECONDS : KILL_SECONDS);
    }
    /* What it wrote last may have come between the reading and its end. */
    drain(&p->out[0], &result->out);
    drain(&p->err[0], &result->err);
    return how;
}

/* The first line of what it said is enough for a message. */
static int describe(const assay_command *command, const assay_command_result *result, assay_error *err)
{
    const char *name = command->argv[0], *said = (const char *)result->err.data;
    int length = (int)strcspn(said, "\n");
    const char *between = length > 0 ? ": " : "";
    length = length < 200 ? length : 200;
    if (result->timed_out)
        return assay_fail(err, ASSAY_EIO, "%s: not done after %g s, and ended%s%.*s", name, command->seconds, between,
                          length, said);
    if (result->signal)
        return assay_fail(err, ASSAY_EIO, "%s: ended by signal %d%s%.*s", name, result->signal, between, length, said);
    if (result->exit_status != 0)
        return assay_fail(err, ASSAY_EIO, "%s: exit status %d%s%.*s", name, result->exit_status, between, length, said);
    return ASSAY_OK;
}

/* Terminated texts for the callers, whose size does not count the terminator: the ceiling has a byte more for it. */
static int terminate(assay_buf *buf)
{
    assay_put_u8(buf, '\0');
    if (assay_buf_status(buf) == ASSAY_OK)
        buf->size--;
    return assay_buf_status(buf);
}

int assay_command_run(const assay_command *command, assay_command_result *result, assay_error *err)
{
    pid_t child;
    pipes p;
    *result = (assay_command_result){.exit_status = -1};
    assay_buf_init(&result->out, ASSAY_COMMAND_CEILING + 1);
    assay_buf_init(&result->err, ASSAY_COMMAND_CEILING + 1);
    char **environment = join_environment(command->environment);
    if (!environment)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", command->argv[0]);
    if (!open_pipes(command, &p)) {
        free(environment);
        return assay_fail(err, ASSAY_EIO, "%s: cannot be started: %s", command->argv[0], strerror(errno));
    }
    int cause = spawn(command, &p, environment, &child);
    free(environment);
    close_one(&p.input);
    close_one(&p.out[1]);
    close_one(&p.err[1]);
    if (cause) {
        close_all(&p);
        return assay_fail(err, cause == ENOENT ? ASSAY_ENOTFOUND : ASSAY_EIO, "%s: cannot be started: %s",
                          command->argv[0], strerror(cause));
    }
    result->started = true;
    int how = attend(command, &p, child, result);
    close_all(&p);
    result->exit_status = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    result->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    if (terminate(&result->out) != ASSAY_OK || terminate(&result->err) != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for what it wrote", command->argv[0]);
    return describe(command, result, err);
}

void assay_command_release(assay_command_result *result)
{
    assay_buf_release(&result->out);
    assay_buf_release(&result->err);
}

/* A signal does not cut the pause short. */
void assay_command_sleep(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}
