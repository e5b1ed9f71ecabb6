/* rule_process.c - see rule_process.h. */
#include "rule/rule_process.h"

#include <assay/rule.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/redact.h"

extern char **environ;

/* Descriptors up to ASSAY_RULE_AREA are the process's own, so ours lie from LOWEST_DESCRIPTOR on. LAST_WORDS: how
 * long a process that closed its connection may take to end, so that its signal can be named. */
enum { LOWEST_DESCRIPTOR = 16, AREA_LEAST = 1 << 16, START_SECONDS = 30, LAST_WORDS = 1000 /* milliseconds */ };

struct assay_rule_process {
    pid_t id; /* 0: it ended, and was waited for */
    int socket;
};

/* Shared by all processes, of which one is asked at a time. */
static struct {
    int descriptor;
    uint8_t *data;
    size_t room;
    double seconds;
    const char *program;   /* NULL: nothing can be started */
    char python[PATH_MAX]; /* "": no rule in Python can be */
} area = {.descriptor = -1, .seconds = 60};

/* Called by main() and by those that load rules, before any process starts: none of these settings changes
 * afterwards. */
void assay_rule_process_set_program(const char *path)
{
    area.program = path;
}

void assay_rule_process_set_python(const char *path)
{
    snprintf(area.python, sizeof area.python, "%s", path);
}

void assay_rule_process_set_seconds(double seconds)
{
    area.seconds = seconds;
}

/* Only the thread that asks may call this: the area moves when it grows, and the process maps it again by its size. */
uint8_t *assay_rule_process_area(size_t size)
{
    if (area.descriptor < 0) {
        int made = memfd_create("assay-rules", MFD_CLOEXEC);
        area.descriptor = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
        if (made >= 0)
            close(made);
        if (area.descriptor < 0)
            return NULL;
    }
    if (size <= area.room && area.data)
        return area.data;
    /* Doubles: steps of one run are much alike, so it soon grows no more. */
    size_t room = AREA_LEAST;
    while (room < size)
        room *= 2;
    /* Room is taken now: a file system without it would end the program at the first write. */
    if (assay_fault_now(ASSAY_FAULT_ALLOC) || posix_fallocate(area.descriptor, 0, (off_t)room) != 0)
        return NULL;
    void *data = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, area.descriptor, 0);
    if (data == MAP_FAILED)
        return NULL;
    if (area.data)
        munmap(area.data, area.room);
    area.data = data;
    area.room = room;
    return area.data;
}

/* ---- start ---- */

/* The C library's own checks of the heap: who writes behind the end of what was allocated is ended when that is freed.
 * They come from a library beside it. */
static const char CHECKED_HEAP[] = "libc_malloc_debug.so.0";

#if defined(__SANITIZE_ADDRESS__)
enum { CHECKS_HEAP = 0 }; /* a sanitizer has an allocator of its own, which checks */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { CHECKS_HEAP = 0 };
#else
enum { CHECKS_HEAP = 1 };
#endif
#else
enum { CHECKS_HEAP = 1 };
#endif

/* Tells whether that entry of the environment tells a program that it is a rank, or what of. An interpreter that
 * imports an MPI package would otherwise join the run as that rank. */
static bool is_of_mpi(const char *entry)
{
    static const char *const begins[] = {
        "OMPI_", "PMIX_",  "PMI_", "PRTE_", "ORTE_",      "MPI_LOCAL", "MPIR_",        "MPIEXEC_",     "HYDRA_",
        "HYDI_", "I_MPI_", "MV2_", "MPICH", "SLURM_PMIX", "SLURM_MPI", "SLURM_PROCID", "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(entry, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* The environment of an interpreter: ours without what belongs to MPI, and one thread for each rank's arithmetic, which
 * also keeps sums the same, unless somebody asks for something else. The list is the caller's to free; NULL without
 * memory. */
static char **make_python_environment(void)
{
    static char threads[][24] = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"};
    const size_t settings = sizeof threads / sizeof *threads;
    size_t all = 0, count = 0;
    while (environ[all])
        all++;
    char **list = assay_alloc_zeroed(all + settings + 1, sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < settings; i++)
        list[count++] = threads[i];
    for (size_t i = 0; i < all; i++) {
        size_t same = 0;
        while (same < settings && strncmp(environ[i], threads[same], strcspn(threads[same], "=") + 1) != 0)
            same++;
        if (same < settings)
            list[same] = environ[i];
        else if (!is_of_mpi(environ[i]))
            list[count++] = environ[i];
    }
    return list;
}

/* The environment of the process of a shared object: ours without its secrets, and the checked heap where that can be
 * had and nobody asks for something else. The list is the caller's to free, and uses `preload`; NULL without memory. */
static char **make_environment(char *preload, size_t room)
{
    static char tunables[] = "GLIBC_TUNABLES=glibc.malloc.check=3";
    Dl_info library = {0};
    size_t all = 0, count = 0;
    while (environ[all])
        all++;
    char **list = assay_alloc_zeroed(all + 3, sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < all; i++)
        if (!assay_redact_is_variable(environ[i]))
            list[count++] = environ[i];
    /* Somebody's own preload may not stand a second one beside it; the library is looked for beside the C library, as
     * its place differs between systems. */
    if (!CHECKS_HEAP || getenv("LD_PRELOAD") || getenv("GLIBC_TUNABLES") ||
        !dladdr(dlsym(RTLD_DEFAULT, "getenv"), &library))
        return list;
    const char *slash = library.dli_fname ? strrchr(library.dli_fname, '/') : NULL;
    int length = slash ? snprintf(preload, room, "LD_PRELOAD=%.*s/%s", (int)(slash - library.dli_fname),
                                  library.dli_fname, CHECKED_HEAP)
                       : -1;
    if (length > 0 && (size_t)length < room && access(strchr(preload, '=') + 1, R_OK) == 0) {
        list[count++] = preload;
        list[count++] = tunables;
    }
    return list;
}

/* Called in the process itself, when the checks are in place: what the rule starts is to run without them. */
void assay_rule_process_clean_environment(void)
{
    const char *preload = getenv("LD_PRELOAD");
    const char *name = preload ? strrchr(preload, '/') : NULL;
    if (!name || strcmp(name + 1, CHECKED_HEAP) != 0)
        return;
    unsetenv("LD_PRELOAD");
    unsetenv("GLIBC_TUNABLES");
}

/* What the process finds open, and what it does not inherit. Its standard output is ours for messages: ours is the
 * report. 0 or errno. */
static int set_files(posix_spawn_file_actions_t *files, int theirs)
{
    int failed = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(files, STDERR_FILENO, STDOUT_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(files, theirs, ASSAY_RULE_SOCKET);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(files, area.descriptor, ASSAY_RULE_AREA);
    return failed ? failed : posix_spawn_file_actions_addclosefrom_np(files, ASSAY_RULE_AREA + 1);
}

/* No signal is blocked, ignored or caught, and a group of its own ends with all that it starts. 0 or errno. */
static int set_attributes(posix_spawnattr_t *how)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int failed = posix_spawnattr_setsigmask(how, &none);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(how, &all);
    if (!failed)
        failed = posix_spawnattr_setpgroup(how, 0);
    return failed
               ? failed
               : posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

/* The program that serves rules in Python: found in the PATH unless it has a slash. */
static const char *interpreter(void)
{
    const char *named = getenv("ASSAY_PYTHON");
    return named && *named ? named : "python3";
}

/* 0 or errno. */
static int spawn(const assay_rule_served *served, int theirs, pid_t *id)
{
    /* posix_spawn() takes texts that are not const, and changes none. */
    char parent[24], preload[4096], word[] = ASSAY_RULE_PROCESS_WORD, program[] = "assay", abi[16], size[24];
    char *module = (char *)(uintptr_t)served->module, *python = (char *)(uintptr_t)interpreter();
    char *const of_module[] = {program, word, parent, module, NULL};
    char *const of_python[] = {python, area.python, parent, module, abi, size, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    snprintf(abi, sizeof abi, "%d", ASSAY_RULE_ABI);
    snprintf(size, sizeof size, "%zu", sizeof(assay_rule_ops));
    char **environment = served->python ? make_python_environment() : make_environment(preload, sizeof preload);
    if (!environment || posix_spawn_file_actions_init(&files)) {
        free(environment);
        return ENOMEM;
    }
    if (posix_spawnattr_init(&how)) {
        posix_spawn_file_actions_destroy(&files);
        free(environment);
        return ENOMEM;
    }
    int failed = set_files(&files, theirs);
    if (!failed)
        failed = set_attributes(&how);
    if (!failed)
        failed = served->python ? posix_spawnp(id, python, &files, &how, of_python, environment)
                                : posix_spawn(id, area.program, &files, &how, of_module, environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    free(environment);
    return failed;
}

/* A pair of connected sockets, clear of the descriptors that the process is to find them at. 0 or errno. */
static int make_pair(int pair[2])
{
    int low[2], failed = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        pair[i] = fcntl(low[i], F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
        failed = pair[i] < 0 ? errno : failed;
        close(low[i]);
    }
    /* All or none is open on return. */
    for (int i = 0; failed && i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
    return failed;
}

static int say_no_start(const assay_rule_served *served, int failed, assay_error *err)
{
    if (!served->python)
        return assay_fail(err, ASSAY_EIO, "cannot start a process for it: %s; --trust-rules does without",
                          strerror(failed));
    return assay_fail(err, ASSAY_EIO,
                      "cannot start %.200s, which rules in Python need: %s; ASSAY_PYTHON can name another",
                      interpreter(), strerror(failed));
}

/* ASSAY_RULE_AREA is open before the process starts, as the process maps what it inherits; 1 byte is enough to make
 * it. */
int assay_rule_process_start(const assay_rule_served *served, assay_rule_process **out, assay_error *err)
{
    int pair[2];
    if (!area.program || (served->python && !area.python[0]))
        return assay_fail(err, ASSAY_EUNSUPPORTED, "this program starts no process for rules");
    if (served->python && access(area.python, R_OK) != 0)
        return assay_fail(err, ASSAY_EIO,
                          "%.300s: %s: it comes with assay's Python package, which rules in Python need", area.python,
                          strerror(errno));
    assay_rule_process *process = assay_alloc(sizeof *process);
    if (!process || !assay_rule_process_area(1)) {
        free(process);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    int failed = make_pair(pair);
    if (!failed) {
        failed = spawn(served, pair[1], &process->id);
        close(pair[1]);
        if (failed)
            close(pair[0]);
    }
    if (failed) {
        free(process);
        return say_no_start(served, failed, err);
    }
    process->socket = pair[0];
    *out = process;
    return ASSAY_OK;
}

/* ---- end ---- */

static int lost(const char *text, assay_error *err)
{
    return assay_fail(err, ASSAY_EINTERNAL, "%s", text);
}

/* How it ended, from what waitpid() says. */
static int say_end(int how, assay_error *err)
{
    static const struct {
        int number;
        const char *text;
    } known[] = {
        {SIGSEGV, "crashed: segmentation fault (SIGSEGV)"},
        {SIGBUS, "crashed: bus error (SIGBUS)"},
        {SIGFPE, "crashed: arithmetic fault (SIGFPE)"},
        {SIGILL, "crashed: illegal instruction (SIGILL)"},
        {SIGABRT, "gave up: abort(), a failed assertion, or a damaged heap (SIGABRT)"},
        {SIGKILL, "was killed (SIGKILL): perhaps the system was out of memory"},
    };
    if (!WIFSIGNALED(how))
        return assay_fail(err, ASSAY_EINTERNAL, "called exit(%d)", WEXITSTATUS(how));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == WTERMSIG(how))
            return lost(known[i].text, err);
    return assay_fail(err, ASSAY_EINTERNAL, "was ended by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
}

/* Waits so many milliseconds for its end. Polls, since waitpid() has no time limit and a signal handler would be the
 * program's, not this file's. */
static bool has_ended(assay_rule_process *process, int milliseconds, int *how)
{
    static const struct timespec pause = {0, 1000000};
    pid_t ended = 0;
    while ((ended = waitpid(process->id, how, WNOHANG)) == 0 && milliseconds-- > 0)
        nanosleep(&pause, NULL);
    if (ended == 0)
        return false;
    process->id = 0;
    return true;
}

/* Nothing that it started stays behind. */
static void kill_process(assay_rule_process *process)
{
    if (process->id <= 0)
        return;
    /* The group first, then the process: it may have left its group. */
    kill(-process->id, SIGKILL);
    kill(process->id, SIGKILL);
    while (waitpid(process->id, NULL, 0) < 0 && errno == EINTR) {
    }
    process->id = 0;
}

/* The connection was closed: mostly because the process ended. */
static int say_why(assay_rule_process *process, assay_error *err)
{
    /* The number is kept: has_ended() and kill_process() put 0 in its place. */
    int how = 0;
    pid_t group = process->id;
    bool ended = has_ended(process, LAST_WORDS, &how);
    kill_process(process);
    kill(-group, SIGKILL); /* what it started */
    if (!ended || (WIFEXITED(how) && WEXITSTATUS(how) == ASSAY_RULE_CUT_OFF))
        return lost("closed the connection to assay, descriptors 3 and 4", err);
    return say_end(how, err);
}

void assay_rule_process_free(assay_rule_process *process)
{
    if (!process)
        return;
    kill_process(process);
    close(process->socket);
    free(process);
}

/* ---- requests ---- */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* How long an answer may take, and how much of that is left. */
typedef struct rule_patience {
    double limit; /* seconds; 0: any time */
    double left;
} rule_patience;

/* A process that is started has the time in which the program itself is loaded: a file system under load may take
 * longer for that than a rule for a step. */
static rule_patience patience_for(assay_rule_request request)
{
    bool starts = request == ASSAY_RULE_LOAD && area.seconds > 0 && area.seconds < START_SECONDS;
    double limit = starts ? START_SECONDS : area.seconds;
    return (rule_patience){limit, limit};
}

/* Waits until there is something to read. One wait counts as what it was to take at
 * most, so that a job that was suspended meanwhile finds its rules alive. */
static int wait_for(assay_rule_process *process, rule_patience *patience, assay_error *err)
{
    struct pollfd look = {.fd = process->socket, .events = POLLIN};
    for (;;) {
        /* Half a second at a time: a suspension counts as no more than that. */
        double slice = patience->limit > 0 && patience->left < 0.5 ? patience->left : 0.5, start = seconds_now();
        int ready = poll(&look, 1, (int)(slice * 1000) + 1);
        double took = seconds_now() - start;
        if (ready > 0)
            return ASSAY_OK;
        if (ready < 0 && errno != EINTR)
            return assay_fail(err, ASSAY_EINTERNAL, "cannot be waited for: %s", strerror(errno));
        if (patience->limit > 0 && (patience->left -= took < slice + 0.1 ? took : slice) <= 0) {
            kill_process(process);
            return assay_fail(err, ASSAY_EINTERNAL, "did not come back within %g s", patience->limit);
        }
    }
}

/* Reads first and waits only where there is nothing: most answers are there in one recv(). */
static int receive(assay_rule_process *process, void *to, size_t size, rule_patience *patience, assay_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = recv(process->socket, (char *)to + done, size - done, MSG_DONTWAIT);
        if (got > 0) {
            done += (size_t)got;
            continue;
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            return say_why(process, err);
        ASSAY_TRY(wait_for(process, patience, err));
    }
    return ASSAY_OK;
}

/* The text of a failure, or what was asked for. The size was checked against ASSAY_RULE_ANSWER_CEILING by whoever
 * read the head. */
static int receive_answer(assay_rule_process *process, const assay_rule_message *head, assay_rule_answer *answer,
                          rule_patience *patience, assay_error *err)
{
    answer->status = head->status;
    answer->err.text[0] = '\0';
    assay_buf_init(&answer->bytes, ASSAY_RULE_ANSWER_CEILING);
    int status = assay_buf_reserve(&answer->bytes, head->size);
    ASSAY_THEN(status, receive(process, answer->bytes.data, head->size, patience, err));
    if (status != ASSAY_OK) {
        assay_buf_release(&answer->bytes);
        return status;
    }
    answer->bytes.size = head->size;
    if (head->status != ASSAY_OK)
        assay_fail(&answer->err, head->status, "%.*s",
                   (int)(head->size < ASSAY_ERROR_TEXT ? head->size : ASSAY_ERROR_TEXT),
                   (const char *)answer->bytes.data);
    return ASSAY_OK;
}

int assay_rule_process_ask(assay_rule_process *process, assay_rule_request request, size_t size,
                           assay_rule_answer *answer, assay_error *err)
{
    assay_rule_message head = {.request = request, .size = size};
    rule_patience patience = patience_for(request);
    /* So few bytes always fit into the socket of a process that has answered everything before. */
    if (send(process->socket, &head, sizeof head, MSG_NOSIGNAL) != (ssize_t)sizeof head)
        return say_why(process, err);
    ASSAY_TRY(receive(process, &head, sizeof head, &patience, err));
    /* A rule can write into descriptor 3 as well, so the head is untrusted: what is no answer to this request ends
     * the process. */
    if (head.request != (uint32_t)request || head.size > ASSAY_RULE_ANSWER_CEILING || head.status > 0) {
        kill_process(process);
        return lost("wrote into the connection to assay, descriptor 3", err);
    }
    return receive_answer(process, &head, answer, &patience, err);
}

int assay_rule_process_ask_with(assay_rule_process *process, assay_rule_request request, const assay_buf *bytes,
                                assay_rule_answer *answer, assay_error *err)
{
    int status = assay_buf_status(bytes);
    uint8_t *to = status == ASSAY_OK ? assay_rule_process_area(bytes->size) : NULL;
    if (!to)
        return assay_fail(err, status == ASSAY_OK ? ASSAY_ENOMEM : status, "out of memory");
    if (bytes->size > 0)
        memcpy(to, bytes->data, bytes->size);
    return assay_rule_process_ask(process, request, bytes->size, answer, err);
}
