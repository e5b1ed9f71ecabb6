/* profile.c - see profile.h. */
#include "hook/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fault.h"
#include "base/log.h"
#include "hook/machine.h"
#include "hook/wait.h"

enum { MILLION = 1000000, MINUTE = 60, PATH_ROOM = 4096, NAME_ROOM = 128, PHASES_MOST = 256 };
static const size_t FILE_MOST = 10 << 20;  /* of a timeline: then the next one begins, as after a minute */
static const size_t QUEUE_MOST = 64 << 20; /* of pieces that the disk did not take yet */

/* A part of a timeline file, on its way to the disk. */
typedef struct timeline_piece {
    struct timeline_piece *next;
    int64_t latest; /* of the last part of a file: when its latest event ended; else 0 */
    size_t size;
    uint8_t bytes[];
} timeline_piece;

struct hook_profile {
    char *directory;
    char node[NAME_ROOM], id[NAME_ROOM + 16];
    int64_t since;        /* microseconds from 1970 to the beginning of the clock that does not jump, when it began */
    int64_t interval;     /* milliseconds; 0: the machine is not sampled */
    int64_t stall;        /* seconds */
    pthread_t writer;     /* it alone touches the disk */
    pthread_mutex_t lock; /* guards what follows, but for the writer's own */
    pthread_cond_t work, done;
    bool claimed; /* it is known whether this process samples the machine */
    bool refused; /* it could not be known */
    bool ending, ended;
    uint64_t pulse; /* how often the writer has done something */
    int status;
    assay_error error;
    /* The timeline. */
    int64_t base;     /* microseconds since 1970, that its times count from */
    assay_buf events; /* not handed to the writer yet */
    timeline_piece *first, *last;
    size_t queued;               /* bytes of the pieces */
    bool broken;                 /* what was written is not whole: it stays as it is, and nothing follows */
    size_t written;              /* bytes in the file, or on their way to it */
    int64_t opened, latest;      /* when it was; the latest end of an event in it */
    char *phase[PHASES_MOST];    /* their rows' names; owned */
    uint32_t named[PHASES_MOST]; /* in which file a row was named the last time */
    uint32_t files;
    int phases;
    int64_t step_begun, step_number; /* 0: no step */
    char step_mode[16];
    /* The writer's own. */
    int file;  /* -1: none is open */
    int claim; /* the file whose lock the machine's one sampler has; -1: none is open */
    hook_machine *machine;
};

static int64_t clock_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * MILLION + now.tv_nsec / 1000;
}

int64_t hook_profile_now(const hook_profile *p)
{
    return p->since + clock_now(CLOCK_MONOTONIC);
}

/* Keeps the first failure. The lock is held, or there is one thread. */
static void fail(hook_profile *p, const char *path)
{
    if (p->status != ASSAY_OK)
        return;
    p->status = assay_fail(&p->error, ASSAY_EIO, "%s: cannot write profiler data: %s", path, strerror(errno));
    assay_log_warn("%s (said once; the training goes on)", p->error.text);
}

/* The hour of a time, as folders are called. */
static void put_hour(int64_t time, char out[16])
{
    const time_t seconds = (time_t)(time / MILLION);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(out, 16, "%Y%m%d%H", &parts);
}

/* Makes the directories of a path below the trial. */
static void make_directories(const hook_profile *p, char *path)
{
    for (char *at = path + strlen(p->directory) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
}

static bool write_all(int file, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t done = write(file, at, size);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* ---- the timeline ---- */

/* Hands the writer what has gathered; of the last part of a file also when its latest event ended. The lock is held. */
static void hand_over(hook_profile *p, int64_t latest)
{
    const size_t size = p->events.size;
    const bool room = assay_buf_status(&p->events) == ASSAY_OK && p->queued + size <= QUEUE_MOST;
    timeline_piece *piece = room && !p->broken ? assay_alloc(sizeof *piece + size) : NULL;
    if (!piece && !p->broken) {
        p->broken = true;
        errno = room ? ENOMEM : ETIMEDOUT;
        fail(p, p->directory);
    }
    if (piece) {
        *piece = (timeline_piece){.latest = latest, .size = size};
        memcpy(piece->bytes, p->events.data, size);
        *(p->last ? &p->last->next : &p->first) = piece;
        p->last = piece;
        p->queued += size;
        p->written += size;
        pthread_cond_signal(&p->work);
    }
    assay_buf_clear(&p->events);
}

/* Ends the file. */
static void close_file(hook_profile *p)
{
    if (p->opened == 0)
        return;
    assay_put_format(&p->events, "\n]\n");
    hand_over(p, p->latest);
    p->opened = 0;
    p->written = 0;
}

/* The row of a phase, which is named once in a file. */
static int find_row(hook_profile *p, const char *phase)
{
    int row = 0;
    while (row < p->phases && strcmp(p->phase[row], phase) != 0)
        row++;
    if (row == p->phases) {
        if (p->phases == PHASES_MOST || !(p->phase[row] = assay_copy_text(phase)))
            return -1;
        p->phases++;
    }
    if (p->named[row] == p->files)
        return row;
    p->named[row] = p->files;
    assay_put_format(&p->events,
                     ",\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, \"args\": {\"name\": ", row + 1);
    assay_json_put_text(&p->events, phase);
    assay_put_format(
        &p->events,
        "}},\n{\"name\": \"process_sort_index\", \"ph\": \"M\", \"pid\": %d, \"args\": {\"sort_index\": %d}}", row + 1,
        row + 1);
    return row;
}

/* One event; `number` of a step, else -1. The lock is held. */
static void put_event(hook_profile *p, const char *phase, const char *name, int64_t begun, int64_t ended,
                      int64_t number)
{
    if (p->opened > 0 && (ended - p->opened > (int64_t)MINUTE * MILLION || p->written + p->events.size > FILE_MOST))
        close_file(p);
    if (p->broken)
        return;
    if (p->opened == 0) {
        p->opened = ended;
        p->latest = 0;
        p->files++;
        assay_put_format(&p->events,
                         "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": "
                         "{\"start_time_since_epoch_in_micros\": %" PRId64 "}}",
                         p->base);
    }
    const int row = find_row(p, phase);
    if (row < 0)
        return;
    assay_put_format(&p->events, ",\n{\"name\": ");
    assay_json_put_text(&p->events, name);
    assay_put_format(&p->events,
                     ", \"pid\": %d, \"ph\": \"X\", \"ts\": %" PRId64 ", \"dur\": %" PRId64 ", \"args\": {\"pid\": %ld",
                     row + 1, begun - p->base, ended - begun, (long)getpid());
    if (number >= 0)
        assay_put_format(&p->events, ", \"step_num\": \"%" PRId64 "\"", number);
    assay_put_format(&p->events, "}}");
    p->latest = ended > p->latest ? ended : p->latest;
    if (p->events.size > 1 << 16 || assay_buf_status(&p->events) != ASSAY_OK)
        hand_over(p, 0);
}

void hook_profile_phase(hook_profile *p, const char *name, int64_t begun, int64_t ended)
{
    static const struct {
        const char *name, *phase;
    } known[] = {{"data", "DataIterator"}, {"forward", "Forward"}, {"backward", "Backward(post-forward)"}};
    const char *phase = name;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        phase = strcmp(known[i].name, name) == 0 ? known[i].phase : phase;
    pthread_mutex_lock(&p->lock);
    if (ended >= begun && begun > 0)
        put_event(p, phase, name, begun, ended, -1);
    pthread_mutex_unlock(&p->lock);
}

void hook_profile_event(hook_profile *p, const char *phase, const char *name, int64_t begun, int64_t ended)
{
    pthread_mutex_lock(&p->lock);
    if (p->opened == 0 && begun < p->base) /* times in a file count from its base, and it is not open yet */
        p->base = begun;
    put_event(p, phase, name, begun, ended, -1);
    pthread_mutex_unlock(&p->lock);
}

static void end_step(hook_profile *p, int64_t now)
{
    char name[64];
    if (p->step_begun == 0)
        return;
    snprintf(name, sizeof name, "Step:ModeKeys.%s", p->step_mode);
    put_event(p, name, name, p->step_begun, now, p->step_number);
    p->step_begun = 0;
}

void hook_profile_step(hook_profile *p, const char *mode, int64_t number)
{
    pthread_mutex_lock(&p->lock);
    const int64_t now = hook_profile_now(p);
    end_step(p, now);
    snprintf(p->step_mode, sizeof p->step_mode, "%s", mode);
    p->step_begun = now;
    p->step_number = number;
    pthread_mutex_unlock(&p->lock);
}

void hook_profile_step_end(hook_profile *p)
{
    pthread_mutex_lock(&p->lock);
    end_step(p, hook_profile_now(p));
    pthread_mutex_unlock(&p->lock);
}

/* ---- the writer ---- */

static void open_path(const hook_profile *p, char *path)
{
    snprintf(path, PATH_ROOM, "%s/framework/%s_pythontimeline.json.tmp", p->directory, p->id);
}

/* By the writer, which does not hold the lock. */
static void note_failure(hook_profile *p, const char *path)
{
    const int why = errno;
    pthread_mutex_lock(&p->lock);
    errno = why;
    fail(p, path);
    pthread_mutex_unlock(&p->lock);
}

/* Writes a piece; begins a file where none is open. */
static bool write_piece(hook_profile *p, const timeline_piece *piece, char *path)
{
    open_path(p, path);
    if (p->file < 0) {
        make_directories(p, path);
        p->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    return p->file >= 0 && write_all(p->file, piece->bytes, piece->size);
}

/* Closes the file, which is whole, and gives it the name that says when its latest event ended. */
static bool name_file(hook_profile *p, int64_t latest, char *path)
{
    char to[PATH_ROOM], hour[16];
    const bool closed = close(p->file) == 0;
    p->file = -1;
    put_hour(latest, hour);
    snprintf(to, sizeof to, "%s/framework/pevents/%s/%" PRId64 "_%s_pythontimeline.json", p->directory, hour, latest,
             p->id);
    make_directories(p, to);
    const bool named = closed && rename(path, to) == 0;
    if (!named)
        memcpy(path, to, sizeof to);
    return named;
}

/* Writes all pieces that were handed over. Called and left with the lock held. */
static void write_pieces(hook_profile *p)
{
    char path[PATH_ROOM];
    for (timeline_piece *piece; (piece = p->first);) {
        const bool broken = p->broken;
        pthread_mutex_unlock(&p->lock);
        const bool sound =
            broken || (write_piece(p, piece, path) && (piece->latest == 0 || name_file(p, piece->latest, path)));
        if (!sound)
            note_failure(p, path);
        pthread_mutex_lock(&p->lock);
        p->broken = p->broken || !sound;
        p->queued -= piece->size;
        p->first = piece->next;
        if (!p->first)
            p->last = NULL;
        p->pulse++;
        free(piece);
    }
}

/* Appends an instant to the file of its minute. */
static void write_sample(hook_profile *p, int64_t time, const assay_buf *lines)
{
    char path[PATH_ROOM], hour[16];
    const int64_t minute = time / MILLION / MINUTE * MINUTE;
    put_hour(time, hour);
    snprintf(path, sizeof path, "%s/system/incremental/%s/%" PRId64 ".%s.json", p->directory, hour, minute, p->node);
    make_directories(p, path);
    const int file = assay_file_open_append(path, NULL);
    const bool sound = file >= 0 && assay_buf_status(lines) == ASSAY_OK && write_all(file, lines->data, lines->size);
    const bool closed = file < 0 || close(file) == 0;
    if (!sound || !closed)
        note_failure(p, path);
}

/* Does this process sample the machine? Not where another one of it does so for the trial. */
static bool claim_machine(hook_profile *p)
{
    char path[PATH_ROOM];
    if (p->interval == 0)
        return false;
    snprintf(path, sizeof path, "%s/system/.sampler-%s", p->directory, p->node);
    make_directories(p, path);
    p->claim = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (p->claim < 0) {
        note_failure(p, path);
        return false;
    }
    if (flock(p->claim, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return false; /* it does */
        assay_log_warn("%s: cannot be locked: %s; every process of this machine that records takes samples", path,
                       strerror(errno));
    }
    p->machine = assay_alloc_zeroed(1, sizeof *p->machine);
    errno = ENOMEM;
    if (!p->machine)
        note_failure(p, path);
    return p->machine != NULL;
}

static void take_sample(hook_profile *p, assay_buf *lines)
{
    const int64_t now = hook_profile_now(p);
    assay_buf_clear(lines);
    hook_machine_sample(p->machine, p->node, (double)now / MILLION, lines);
    write_sample(p, now, lines);
}

/* Writes pieces and takes samples until the end, one sample at least. Called and left with the lock held. */
static void write_until_end(hook_profile *p, bool samples, assay_buf *lines)
{
    int64_t next = clock_now(CLOCK_MONOTONIC);
    p->refused = p->status != ASSAY_OK;
    p->claimed = true;
    pthread_cond_signal(&p->done);
    for (;;) {
        write_pieces(p);
        if (samples && clock_now(CLOCK_MONOTONIC) >= next) {
            pthread_mutex_unlock(&p->lock);
            take_sample(p, lines);
            pthread_mutex_lock(&p->lock);
            p->pulse++;
            while (next <= clock_now(CLOCK_MONOTONIC)) /* instants that were missed are left out */
                next += p->interval * 1000;
        } else if (p->ending) {
            return;
        } else if (samples) {
            const struct timespec until = {next / MILLION, next % MILLION * 1000};
            pthread_cond_timedwait(&p->work, &p->lock, &until);
        } else {
            pthread_cond_wait(&p->work, &p->lock);
        }
    }
}

static void *run(void *argument)
{
    hook_profile *p = argument;
    assay_buf lines = ASSAY_BUF(64 << 20);
    const char *why = NULL;
    const bool samples = claim_machine(p);
    if (samples && !(p->machine->gpus = hook_gpus_open(&why)))
        assay_log_note("%s: no GPUs are recorded: %s", p->directory, why);
    pthread_mutex_lock(&p->lock);
    write_until_end(p, samples, &lines);
    pthread_mutex_unlock(&p->lock);
    assay_buf_release(&lines);
    if (samples)
        hook_gpus_close(p->machine->gpus);
    if (p->file >= 0)
        close(p->file);
    if (p->claim >= 0)
        close(p->claim);
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the whole ---- */

/* A node's name has no dot, a file's ID no underscore. */
static void name_node(hook_profile *p, const hook_profile_options *options)
{
    char host[NAME_ROOM] = "node";
    gethostname(host, sizeof host - 1);
    snprintf(p->node, sizeof p->node, "%s", options->node ? options->node : host);
    for (char *c = p->node; *c; c++)
        *c = *c == '.' || *c == '/' || *c == '"' || *c == '\\' || (unsigned char)*c <= ' ' ? '-' : *c;
    snprintf(p->id, sizeof p->id, "%d-%s", options->rank, p->node);
    for (char *c = p->id; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

static void free_profile(hook_profile *p)
{
    for (timeline_piece *piece; (piece = p->first);) {
        p->first = piece->next;
        free(piece);
    }
    for (int i = 0; i < p->phases; i++)
        free(p->phase[i]);
    assay_buf_release(&p->events);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->machine);
    free(p->directory);
    free(p);
}

hook_profile *hook_profile_new(const hook_profile_options *options, assay_error *err)
{
    hook_profile *p = assay_alloc_zeroed(1, sizeof *p);
    char *directory = assay_copy_text(options->directory);
    if (!p || !directory) {
        free(p);
        free(directory);
        assay_fail(err, ASSAY_ENOMEM, "hook: out of memory for profiler data");
        return NULL;
    }
    p->directory = directory;
    p->file = p->claim = -1;
    p->interval = options->interval;
    p->stall = options->stall > 0 ? options->stall : HOOK_STALL_SECONDS;
    p->base = clock_now(CLOCK_REALTIME);
    p->since = p->base - clock_now(CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    hook_init_condition(&p->work);
    hook_init_condition(&p->done);
    assay_buf_init(&p->events, 64 << 20);
    name_node(p, options);
    if (hook_start_thread(&p->writer, run, p) == 0) {
        /* So that of two processes the one that began first samples. */
        const struct timespec until = hook_moment_after(p->stall);
        pthread_mutex_lock(&p->lock);
        while (!p->claimed && pthread_cond_timedwait(&p->done, &p->lock, &until) != ETIMEDOUT) {
        }
        const bool failed = p->refused;
        pthread_mutex_unlock(&p->lock);
        if (!failed)
            return p;
        hook_profile_end(p, err);
        return NULL;
    }
    free_profile(p);
    assay_fail(err, ASSAY_EIO, "hook: no thread for profiler data");
    return NULL;
}

/* Waits for the writer as long as it does something. The lock is held. */
static bool wait_for_end(hook_profile *p)
{
    uint64_t before = p->pulse;
    struct timespec until = hook_moment_after(p->stall);
    while (!p->ended) {
        const bool late = pthread_cond_timedwait(&p->done, &p->lock, &until) == ETIMEDOUT;
        if (late && p->pulse == before)
            return p->ended;
        if (late)
            until = hook_moment_after(p->stall);
        before = p->pulse;
    }
    return true;
}

int hook_profile_end(hook_profile *p, assay_error *err)
{
    if (!p)
        return ASSAY_OK;
    pthread_mutex_lock(&p->lock);
    end_step(p, hook_profile_now(p));
    close_file(p);
    p->ending = true;
    pthread_cond_signal(&p->work);
    const bool ended = wait_for_end(p);
    const int status = ended ? p->status : ASSAY_EIO;
    if (!ended) {
        assay_log_warn("%s: profiler data: closed after %lld s without an answer of the disk", p->directory,
                       (long long)p->stall);
        assay_fail(err, status, "%s: profiler data: the disk does not answer", p->directory);
        pthread_detach(p->writer); /* which keeps what it uses */
    } else if (status != ASSAY_OK)
        assay_fail(err, status, "%s", p->error.text);
    pthread_mutex_unlock(&p->lock);
    if (ended) {
        pthread_join(p->writer, NULL);
        free_profile(p);
    }
    return status;
}
