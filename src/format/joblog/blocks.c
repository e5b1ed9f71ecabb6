/* blocks.c - what goes over several lines of one rank: a traceback of Python, and torchrun's root cause. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/path.h"
#include "format/joblog/joblog.h"

enum {
    TRACEBACK_LINES = 400,
    FAILURE_LINES = 12,
    FRAMES_MOST = 200, /* lines before an exception without a head */
    BLOCKS_MOST = 65536,
    LINES_MOST = 100000, /* of all ranks meanwhile */
    LOOK_EVERY = 4096    /* lines: so a look at all blocks costs each line little, however many there are */
};

typedef int64_t writer[3];

/* Who wrote a line: a rank, or somebody on a node, or in a container, where no rank is said. */
static void make_writer(const joblog_line *line, writer key)
{
    const joblog_prefix *p = &line->prefix;
    const bool only_node = p->rank < 0 && p->local_rank < 0 && p->node[0];
    key[0] = p->rank;
    key[1] = p->local_rank;
    key[2] = only_node ? (int64_t)assay_hash_bytes(p->node, strlen(p->node)) : 0;
}

static joblog_block *block_of(const joblog_reader *r, const joblog_line *line)
{
    writer key;
    make_writer(line, key);
    const uint32_t who = assay_dict_find(r->writers, (const char *)key, sizeof key);
    return who != ASSAY_NO_ID && r->block_row.list[who] ? &r->block.list[r->block_row.list[who] - 1] : NULL;
}

/* Writers without a block are forgotten, so that there are no more of them than twice as many as blocks. */
static bool forget_writers(joblog_reader *r)
{
    assay_dict *writers = assay_dict_new();
    for (size_t i = 0; i < r->block.count && writers; i++) {
        size_t length = 0;
        const char *key = assay_dict_name(r->writers, r->block.list[i].who, &length);
        r->block.list[i].who = assay_dict_add(writers, key, length);
        if (r->block.list[i].who == ASSAY_NO_ID) {
            assay_dict_free(writers);
            return false;
        }
        r->block_row.list[i] = (uint32_t)i + 1;
    }
    if (!writers)
        return false;
    assay_dict_free(r->writers);
    r->writers = writers;
    r->block_row.count = r->block.count;
    memset(r->memo, 0, r->memos * sizeof *r->memo);
    return true;
}

uint32_t joblog_writer_of(joblog_reader *r, const joblog_line *line)
{
    writer key;
    make_writer(line, key);
    if (assay_dict_count(r->writers) >= 2 * BLOCKS_MOST && !forget_writers(r))
        return ASSAY_NO_ID;
    const uint32_t who = assay_dict_add(r->writers, (const char *)key, sizeof key);
    return who == r->block_row.count && !ASSAY_VEC_ADD(&r->block_row) ? ASSAY_NO_ID : who;
}

static void begin_failure(joblog_block *block)
{
    block->left = block->kind == JOBLOG_TRACEBACK ? TRACEBACK_LINES : FAILURE_LINES;
    block->event = (assay_log_event){.rank = -1, .local_rank = -1, .step = -1, .code = -1, .sequence = -1, .time = NAN};
}

int joblog_block_open(joblog_reader *r, joblog_block_kind kind, uint32_t who, uint64_t number)
{
    writer key;
    memcpy(key, assay_dict_name(r->writers, who, NULL), sizeof key);
    const int64_t rank = key[0] >= 0 ? key[0] : key[1];
    if (kind >= JOBLOG_CHAINED) {
        r->chained_rank = rank;
        r->ignored = kind == JOBLOG_IGNORED;
        return ASSAY_OK;
    }
    if (!r->block_row.list[who]) {
        if (r->block.count >= BLOCKS_MOST)
            return ASSAY_OK;
        ASSAY_HAVE(ASSAY_VEC_ADD(&r->block));
        r->block_row.list[who] = (uint32_t)r->block.count;
    }
    joblog_block *block = &r->block.list[r->block_row.list[who] - 1];
    *block = (joblog_block){.kind = kind,
                            .who = who,
                            .chained = kind == JOBLOG_TRACEBACK && r->chained_rank == rank,
                            .until = number + LINES_MOST};
    begin_failure(block);
    block->ignored = block->chained && r->ignored;
    if (block->chained)
        r->chained_rank = INT64_MIN;
    if (kind == JOBLOG_FAILURES)
        r->listed = INFINITY;
    return ASSAY_OK;
}

static void close_block(joblog_reader *r, joblog_block *block)
{
    const joblog_block *last = &r->block.list[--r->block.count];
    r->block_row.list[last->who] = r->block_row.list[block->who];
    r->block_row.list[block->who] = 0;
    *block = *last;
}

/* Closes blocks whose ranks wrote nothing for long. */
static void close_old(joblog_reader *r, uint64_t number)
{
    for (size_t i = r->block.count; i-- > 0;)
        if (number > r->block.list[i].until)
            close_block(r, &r->block.list[i]);
    r->next_look = number + LOOK_EVERY;
}

void joblog_blocks_renumber(joblog_reader *r, uint64_t line)
{
    close_old(r, line);
    for (size_t i = 0; i < r->block.count; i++)
        r->block.list[i].until -= line - 1;
    r->next_look = 0;
}

/* '  File "/a/train.py", line 120, in step' */
static joblog_part frame_of(const char *body, size_t length, size_t *name)
{
    static const char *const others[] = {"site-packages/", "dist-packages/", "/lib/python"};
    static const char word[] = "File \"";
    size_t at = 0;
    while (at < length && body[at] == ' ')
        at++;
    if (length - at < sizeof word || memcmp(body + at, word, sizeof word - 1) != 0)
        return JOBLOG_NO_PART;
    const char *path = body + at + sizeof word - 1, *end = memchr(path, '"', length - at - (sizeof word - 1));
    static const char behind[] = "\", line ";
    const size_t left = end ? length - (size_t)(end - body) : 0;
    if (left < sizeof behind || memcmp(end, behind, sizeof behind - 1) != 0)
        return JOBLOG_NO_PART;
    bool own = *path != '<';
    for (size_t i = 0; i < sizeof others / sizeof *others && own; i++)
        own = !joblog_find(path, (size_t)(end - path), others[i]);
    const char *slash = memrchr(path, '/', (size_t)(end - path));
    *name = (size_t)((slash ? slash + 1 : path) - body);
    return own ? JOBLOG_OWN_FRAME : JOBLOG_FRAME;
}

char *joblog_block_place(const joblog_block *block)
{
    char name[sizeof block->frame], function[64] = "", to[sizeof block->frame];
    int number = 0;
    if (sscanf(block->frame, "%191[^\"]\", line %d, in %63s", name, &number, function) < 2)
        return NULL;
    snprintf(to, sizeof to, "%.100s:%d%s%.60s", name, number, function[0] ? " in " : "", function);
    return assay_copy_text(to);
}

bool joblog_is_exception(const char *body, size_t length, size_t *name)
{
    size_t at = 0;
    while (at < length && (body[at] == '_' || body[at] == '.' || assay_is_digit(body[at]) ||
                           ((body[at] | 0x20) >= 'a' && (body[at] | 0x20) <= 'z')))
        at++;
    if (at < 3 || assay_is_digit(body[0]) || body[at - 1] == '.' || (at < length && body[at] != ':'))
        return false;
    size_t last = at; /* classes begin with a capital */
    while (last > 0 && body[last - 1] != '.')
        last--;
    *name = at;
    return body[last] >= 'A' && body[last] <= 'Z' && (at == length || at + 1 == length || body[at + 1] == ' ');
}

joblog_part joblog_part_of(const char *body, size_t length, size_t *name)
{
    size_t exception;
    *name = 0;
    if (length > 0 && body[0] == ' ')
        return frame_of(body, length, name);
    return joblog_is_exception(body, length, &exception) ? JOBLOG_EXCEPTION : JOBLOG_NO_PART;
}

/* Is the frame, from its file's name on, where a process or a thread of Python begins? Its function says so, where it has
 * one, and not the name of the file. */
static bool is_outermost(const char *frame, size_t size)
{
    static const char in[] = ", in ";
    static const char *const words[] = {"<module>",     "_bootstrap", "_run_module", "_run_code",
                                        "_worker_loop", "_wrap",      "execute_task"};
    const char *function = joblog_find(frame, size, in), *from = function ? function : frame;
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !found; i++)
        found = joblog_find(from, size - (size_t)(from - frame), words[i]);
    return found;
}

/* Does the path begin with '/' whose last name stands at byte `name` of a line? */
static bool is_absolute(const char *line, size_t name)
{
    const char *quote = memrchr(line, '"', name);
    return quote && quote[1] == '/';
}

/* Keeps a frame from its file's name on. */
static void take_frame(joblog_block *block, joblog_part part, const char *name, size_t size)
{
    block->own = part == JOBLOG_OWN_FRAME;
    size = size < sizeof block->frame ? size : sizeof block->frame - 1;
    memcpy(block->frame, name, size);
    block->frame[size] = '\0';
}

/* Keeps a frame; an exception closes the block. */
static void take_part(joblog_reader *r, joblog_block *block, joblog_part part, const char *line, size_t length,
                      size_t at)
{
    const char *name = line + at;
    const size_t size = length - at;
    if (part == JOBLOG_OWN_FRAME || part == JOBLOG_FRAME)
        block->absolute = block->absolute || is_absolute(line, at);
    if (part == JOBLOG_EXCEPTION) {
        close_block(r, block);
    } else if (part == JOBLOG_OWN_FRAME || (part == JOBLOG_FRAME && !block->own)) {
        block->inside = block->frame[0] ? block->inside : !is_outermost(name, size);
        take_frame(block, part, name, size);
    }
}

bool joblog_block_find(const joblog_reader *r, const joblog_line *line, joblog_block *out)
{
    size_t to = line->place;
    writer own, other;
    make_writer(line, own);
    *out = (joblog_block){.kind = JOBLOG_TRACEBACK};
    for (int lines = 0; lines < FRAMES_MOST && to > 0 && !out->own; lines++) {
        joblog_line read;
        size_t name = 0, from = joblog_last_begin(r->bytes, to - 1);
        joblog_line_read(r, from, to - 1, true, &read); /* as it is: where lines are cleaned the reader's own may lie */
        to = from;
        make_writer(&read, other);
        if (memcmp(own, other, sizeof own) != 0)
            continue; /* another rank's, which came between */
        const joblog_part part = joblog_part_of(read.body, read.body_length, &name);
        if (read.body_length > 0 && read.body[0] != ' ')
            break;
        if (part == JOBLOG_OWN_FRAME || (part == JOBLOG_FRAME && !out->frame[0])) {
            out->absolute = is_absolute(read.body, name);
            take_frame(out, part, read.body + name, read.body_length - name);
        }
    }
    return out->frame[0] != '\0';
}

bool joblog_block_pass(joblog_reader *r, const char *line, size_t length, bool plain, int64_t *rank)
{
    joblog_line read = {.prefix = {.rank = -1, .local_rank = -1}};
    size_t at = joblog_front_of(line, length, &read.prefix.rank, &read.prefix.local_rank), name = 0;
    const size_t front = at;
    while (at < length && line[at] == ' ')
        at++;
    const bool empty = at == length && front > 0, indented = at < length && at > front;
    const unsigned char c = at < length ? (unsigned char)line[at] : ' ';
    if (r->line >= r->next_look || r->per_node != 0 || (!empty && !indented) || c < ' ' || c == '[' ||
        (front == 0 && assay_is_digit((char)c))) /* there is more in front */
        return false;
    const joblog_part part = c == 'F' && plain ? joblog_part_of(line + front, length - front, &name) : JOBLOG_NO_PART;
    if (c == 'F' && (part == JOBLOG_NO_PART || (read.prefix.rank < 0 && joblog_find(line, length, "[rank"))))
        return false;
    joblog_block *block = block_of(r, &read);
    if (block && (block->kind != JOBLOG_TRACEBACK || r->line > block->until || block->left == 0))
        return false;
    if (block) {
        block->left--;
        take_part(r, block, part, line, length, front + name);
    }
    *rank = read.prefix.rank >= 0 ? read.prefix.rank : read.prefix.local_rank;
    return true;
}

bool joblog_block_take_again(joblog_reader *r, const joblog_memo *memo, const char *line, size_t length)
{
    if (r->block.count > 0 && r->line >= r->next_look)
        return false;
    const uint32_t row = r->block_row.list[memo->who];
    joblog_block *block = row ? &r->block.list[row - 1] : NULL;
    if (!block)
        return memo->way == 0;
    const uint8_t way = (uint8_t)(1 + block->inside + 2 * block->ignored);
    if (block->kind != JOBLOG_TRACEBACK || r->line > block->until || block->left == 0 ||
        (memo->part == JOBLOG_EXCEPTION && (!memo->event || memo->way != way)))
        return false;
    block->left--;
    take_part(r, block, (joblog_part)memo->part, line, length, memo->name);
    return true;
}

/* "  rank      : 3 (local_rank: 3)" */
static bool read_failure(joblog_block *block, const char *body, size_t length)
{
    char line[512], key[32], value[256];
    long long number;
    assay_log_event *e = &block->event;
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), body);
    if (sscanf(line, " %31[a-z_] : %255[^\n]", key, value) != 2)
        return false;
    if (strcmp(key, "time") == 0) {
        joblog_prefix prefix;
        joblog_prefix_read(value, strlen(value), &prefix);
        e->time = prefix.time;
        e->timed = prefix.timed;
        const char *underscore = strchr(value, '_'); /* "2026-11-27_03:12:07" */
        if (e->timed == ASSAY_LOG_UNTIMED && underscore) {
            value[underscore - value] = ' ';
            joblog_prefix_read(value, strlen(value), &prefix);
            e->time = prefix.time;
            e->timed = prefix.timed;
        }
    } else if (strcmp(key, "host") == 0 && value[0]) {
        snprintf(e->node, sizeof e->node, "%.*s", (int)strcspn(value, " ."), value);
    } else if (strcmp(key, "rank") == 0 && sscanf(value, "%lld", &number) == 1 && number >= 0) {
        e->rank = number;
    } else if (strcmp(key, "exitcode") == 0 && sscanf(value, "%lld", &number) == 1) {
        e->code = number;
    }
    return strcmp(key, "traceback") == 0;
}

/* A process that torchrun says failed. The first that it observed is the first that failed only where all others have a
 * later time: without files of errors they get the time at which torchrun looked. */
static int add_failure(joblog_reader *r, const joblog_block *block, const joblog_line *line)
{
    char sentence[128];
    assay_log_event event = block->event;
    const bool first = block->kind == JOBLOG_ROOT_CAUSE && !(event.time >= r->listed);
    const char *seen = first ? "the first that torchrun saw fail" : "as torchrun saw";
    const int64_t number = -event.code;
    const bool crash = number == 4 || number == 6 || number == 7 || number == 8 || number == 11;
    if (event.rank < 0)
        return ASSAY_OK;
    if (block->kind == JOBLOG_FAILURES && !(event.time >= r->listed))
        r->listed = isnan(event.time) ? -INFINITY : event.time;
    event.signature = first ? ASSAY_SIGNATURE_ROOT_CAUSE : ASSAY_SIGNATURE_LISTED;
    event.ending = ASSAY_ENDING_launcher;
    event.role = ASSAY_LOG_CONSEQUENCE;
    event.scope = ASSAY_LOG_RANK;
    if (number > 0 && number < 65) {
        snprintf(sentence, sizeof sentence, "%s by signal %d, %s", crash ? "crashed" : "was ended", (int)number, seen);
        event.ending = crash ? ASSAY_ENDING_crash : ASSAY_ENDING_signal;
        event.role = crash ? ASSAY_LOG_CAUSE : number == 15 ? ASSAY_LOG_CONSEQUENCE : ASSAY_LOG_EITHER;
        event.code = number;
    } else {
        snprintf(sentence, sizeof sentence, "ended with exit code %lld, %s", (long long)event.code, seen);
    }
    return joblog_event_add(r, line, event, sentence, NULL, NULL);
}

int joblog_block_take(joblog_reader *r, const joblog_line *line, joblog_block *ended)
{
    size_t name = 0;
    int status = ASSAY_OK;
    if (line->number >= r->next_look)
        close_old(r, line->number);
    joblog_block *block = block_of(r, line);
    if (block && (line->number > block->until || --block->left < 0)) {
        close_block(r, block);
        block = NULL;
    }
    if (!block || line->body_length == 0)
        return 0;
    if (block->kind != JOBLOG_TRACEBACK) {
        if (line->body_length > 3 && memcmp(line->body, "====", 4) == 0) {
            close_block(r, block);
        } else if (read_failure(block, line->body, line->body_length)) {
            status = add_failure(r, block, line);
            if (block->kind == JOBLOG_ROOT_CAUSE)
                close_block(r, block);
            else
                begin_failure(block);
        }
        return status == ASSAY_OK ? 2 : status;
    }
    const joblog_part part = joblog_part_of(line->body, line->body_length, &name);
    if (part == JOBLOG_EXCEPTION)
        *ended = *block;
    take_part(r, block, part, line->body, line->body_length, name);
    return part == JOBLOG_EXCEPTION;
}

/* ---- exceptions that no signature knows ---- */

/* What kind of ending an exception of Python is by its class. */
static const struct {
    const char *name;
    assay_ending ending;
    assay_log_role role;
} CLASSES[] = {
    {"FileNotFoundError", ASSAY_ENDING_missing_file, ASSAY_LOG_CAUSE},
    {"NotADirectoryError", ASSAY_ENDING_missing_file, ASSAY_LOG_CAUSE},
    {"IsADirectoryError", ASSAY_ENDING_missing_file, ASSAY_LOG_CAUSE},
    {"PermissionError", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"GatedRepoError", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"NoCredentialsError", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"ModuleNotFoundError", ASSAY_ENDING_import, ASSAY_LOG_CAUSE},
    {"ImportError", ASSAY_ENDING_import, ASSAY_LOG_CAUSE},
    {"MemoryError", ASSAY_ENDING_host_memory, ASSAY_LOG_CAUSE},
    {"OutOfMemoryError", ASSAY_ENDING_gpu_memory, ASSAY_LOG_CAUSE},
    {"UnicodeDecodeError", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
    {"JSONDecodeError", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
    {"UnpicklingError", ASSAY_ENDING_checkpoint_load, ASSAY_LOG_CAUSE},
    {"SafetensorError", ASSAY_ENDING_checkpoint_load, ASSAY_LOG_CAUSE},
    {"KeyboardInterrupt", ASSAY_ENDING_signal, ASSAY_LOG_EITHER},
    {"SignalException", ASSAY_ENDING_signal, ASSAY_LOG_CONSEQUENCE},
    {"ChildFailedError", ASSAY_ENDING_launcher, ASSAY_LOG_CONSEQUENCE},
    {"CalledProcessError", ASSAY_ENDING_launcher, ASSAY_LOG_CONSEQUENCE},
    {"ProcessRaisedException", ASSAY_ENDING_launcher, ASSAY_LOG_CONSEQUENCE},
    {"ProcessExitedException", ASSAY_ENDING_launcher, ASSAY_LOG_CONSEQUENCE},
    {"ConnectionResetError", ASSAY_ENDING_network, ASSAY_LOG_CONSEQUENCE},
    {"ConnectionRefusedError", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"BrokenPipeError", ASSAY_ENDING_network, ASSAY_LOG_CONSEQUENCE},
    {"DistBackendError", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"DistNetworkError", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"DistStoreError", ASSAY_ENDING_rendezvous, ASSAY_LOG_EITHER},
    {"RendezvousConnectionError", ASSAY_ENDING_rendezvous, ASSAY_LOG_EITHER},
    {"RendezvousTimeoutError", ASSAY_ENDING_rendezvous, ASSAY_LOG_EITHER},
};

/* What kind it may be by a word of its class, of the modules in front of it, or of a message that says more than its class.
 * First letters are left out where they may be capital or small. */
typedef struct hint {
    const char *word;
    assay_ending ending;
    assay_log_role role;
} hint;
static const hint NAMES[] = {
    {"IllegalArgument", ASSAY_ENDING_exception, ASSAY_LOG_CAUSE}, /* Java's word for a fault of the program itself */
    {"Checkpoint", ASSAY_ENDING_checkpoint_load, ASSAY_LOG_CAUSE},
    {"Timeout", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"TimedOut", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"Connect", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"Disconnect", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"Unavailable", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"CommError", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"Endpoint", ASSAY_ENDING_network, ASSAY_LOG_CAUSE},
    {"URLError", ASSAY_ENDING_network, ASSAY_LOG_CAUSE},
    {"HTTPError", ASSAY_ENDING_network, ASSAY_LOG_CAUSE},
    {"SSLError", ASSAY_ENDING_network, ASSAY_LOG_CAUSE},
    {"Permission", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"Forbidden", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"Unauth", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"Authenti", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"AccessDenied", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"Credential", ASSAY_ENDING_permission, ASSAY_LOG_CAUSE},
    {"PackageNotFound", ASSAY_ENDING_import, ASSAY_LOG_CAUSE},
    {"NotFound", ASSAY_ENDING_missing_file, ASSAY_LOG_CAUSE},
    {"NoSuch", ASSAY_ENDING_missing_file, ASSAY_LOG_CAUSE},
    {"Quota", ASSAY_ENDING_disk, ASSAY_LOG_CAUSE},
    {"Config", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},
    {"Usage", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},
    {"Argument", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},
    {"Override", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},
    {"Validation", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},
    {"SIGTERM", ASSAY_ENDING_signal, ASSAY_LOG_EITHER},
    {"Interrupt", ASSAY_ENDING_signal, ASSAY_LOG_EITHER},
    {"Preempt", ASSAY_ENDING_preempted, ASSAY_LOG_CAUSE},
    {"OutOfMemory", ASSAY_ENDING_host_memory, ASSAY_LOG_CAUSE},
    {"Version", ASSAY_ENDING_version, ASSAY_LOG_CAUSE},
    {"Incompatib", ASSAY_ENDING_version, ASSAY_LOG_CAUSE},
    {"Decod", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
    {"Corrupt", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
    {"DataLoss", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
    {"Truncated", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
};
static const hint MODULES[] = {
    {"yaml.", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},   {"omegaconf.", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},
    {"hydra.", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},  {"click.", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE},
    {"botocore.", ASSAY_ENDING_network, ASSAY_LOG_CAUSE}, {"requests.", ASSAY_ENDING_network, ASSAY_LOG_CAUSE},
    {"urllib3.", ASSAY_ENDING_network, ASSAY_LOG_CAUSE},  {"aiohttp.", ASSAY_ENDING_network, ASSAY_LOG_CAUSE},
    {"httpx.", ASSAY_ENDING_network, ASSAY_LOG_CAUSE},    {"grpc.", ASSAY_ENDING_network, ASSAY_LOG_EITHER},
    {"zmq.", ASSAY_ENDING_network, ASSAY_LOG_EITHER},     {"pyarrow.", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
    {"datasets.", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},    {"lmdb.", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
    {"PIL.", ASSAY_ENDING_data, ASSAY_LOG_CAUSE},
};
/* Classes that Python raises for a fault of the program itself: their messages name what it works on. Those of all others may
 * say what happened. */
static const char *const OWN[] = {"ValueError",        "KeyError",        "TypeError",         "IndexError",
                                  "AttributeError",    "NameError",       "AssertionError",    "NotImplementedError",
                                  "SyntaxError",       "RecursionError",  "ZeroDivisionError", "StopIteration",
                                  "UnboundLocalError", "IndentationError"};

static bool is_class(const char *name, size_t length, const char *class)
{
    return strlen(class) == length && memcmp(class, name, length) == 0;
}

static bool take_hint(const char *text, size_t length, const hint *hints, size_t count, assay_log_event *event)
{
    size_t i = 0;
    while (i < count && !joblog_find(text, length, hints[i].word))
        i++;
    if (i < count) {
        event->ending = hints[i].ending;
        event->role = hints[i].role;
        event->guessed = true;
    }
    return i < count;
}

void joblog_exception_class(const char *body, size_t length, assay_log_event *event)
{
    size_t name = 0;
    if (!joblog_is_exception(body, length, &name))
        return;
    size_t begin = name;
    while (begin > 0 && body[begin - 1] != '.')
        begin--;
    bool carries = true;
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (is_class(body + begin, name - begin, CLASSES[i].name)) {
            event->ending = CLASSES[i].ending;
            event->role = CLASSES[i].role;
            return;
        }
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN && carries && begin == 0; i++)
        carries = !is_class(body, name, OWN[i]);
    if (carries && joblog_guess(body + name, length - name, &event->ending, &event->role)) {
        event->guessed = true;
        return;
    }
    if (!take_hint(body + begin, name - begin, NAMES, sizeof NAMES / sizeof *NAMES, event))
        (void)take_hint(body, begin, MODULES, sizeof MODULES / sizeof *MODULES, event);
}

int joblog_exception_add(joblog_reader *r, const joblog_line *line, const joblog_block *block)
{
    size_t name = 0;
    assay_log_event event = {.signature = ASSAY_SIGNATURE_EXCEPTION,
                             .ending = ASSAY_ENDING_exception,
                             .role = ASSAY_LOG_CAUSE,
                             .scope = ASSAY_LOG_RANK,
                             .in_traceback = true,
                             .chained = block->chained,
                             .ignored = block->ignored,
                             .inside = block->inside,
                             .rank = -1,
                             .local_rank = -1,
                             .step = -1,
                             .code = -1,
                             .sequence = -1,
                             .time = NAN};
    if (!joblog_is_exception(line->body, line->body_length, &name))
        return ASSAY_OK;
    size_t begin = name;
    while (begin > 0 && line->body[begin - 1] != '.')
        begin--;
    const joblog_match match = {.text = {[GROUP_what] = line->body + begin},
                                .length = {[GROUP_what] = line->body_length - begin}};
    return joblog_event_add(r, line, event, "raised {what}", &match, block);
}
