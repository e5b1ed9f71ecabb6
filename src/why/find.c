/* find.c - what lies in a job's directory, by the names that Slurm, torchrun and others give. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/path.h"
#include "base/search.h"
#include "container/suffixes.h"
#include "trial/lone.h"
#include "why/internal.h"

enum { DEEPEST = 8, PLACES_MOST = 1000000, RANK_MOST = 10000000 };

static const char *const KIND_NAMES[WHY_KINDS] = {"output",  "slurm",  "flight recorder", "checkpoints",
                                                  "metrics", "traces", "records",         "system metrics"};

const char *why_kind_name(why_kind kind)
{
    return kind < WHY_KINDS ? KIND_NAMES[kind] : "";
}

bool why_add_text(void *texts, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    why_texts *list = texts;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    char **added = ASSAY_VEC_ADD(list);
    if (added)
        *added = assay_copy_text(line);
    if (added && !*added)
        list->count--;
    return added && *added;
}

/* ---- names ---- */

/* The number behind a word in a part of a path: "rank_3", "rank3", "rank-3", "rank=3"; the word begins the part, or
 * stands behind a sign. -1. */
static int64_t number_named(const char *part, size_t length, const char *word)
{
    const size_t size = strlen(word);
    for (size_t at = 0; at + size < length; at++) {
        if (strncasecmp(part + at, word, size) != 0)
            continue;
        const char before = at > 0 ? (char)(part[at - 1] | 0x20) : '/';
        size_t from = at + size;
        if (before >= 'a' && before <= 'z')
            continue;
        if (from < length && strchr("_-=.", part[from]))
            from++;
        int64_t value = 0;
        size_t digits = 0;
        for (; from + digits < length && assay_is_digit(part[from + digits]) && digits < 8; digits++)
            value = 10 * value + (part[from + digits] - '0');
        if (digits > 0 && value < RANK_MOST)
            return value;
    }
    return -1;
}

/* All of a part, or its end behind a dot or its beginning before one, is a number: "3", "stderr.3", "3.log". -1. */
static int64_t bare_number(const char *part, size_t length)
{
    size_t from = 0, end = length;
    int64_t value = 0;
    for (size_t i = 0; i < length; i++)
        if (part[i] == '.' && i + 1 < length) {
            if (assay_is_digit(part[i + 1]))
                from = i + 1;
            else
                end = i;
            break;
        }
    if (end <= from || end - from > 6)
        return -1;
    for (size_t i = from; i < end; i++) {
        if (!assay_is_digit(part[i]))
            return -1;
        value = 10 * value + (part[i] - '0');
    }
    return value;
}

/* A number of names, as far as it may be one of ranks and nodes; -1. */
static int32_t small(int64_t number)
{
    return number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

/* Reads what the parts of a path say of who wrote the file. False without memory. */
static bool read_names(why_place *p)
{
    const char *at = p->path;
    bool torchrun = false;
    p->rank = p->local_rank = p->attempt = -1;
    p->job = -1;
    while (*at) {
        const size_t length = strcspn(at, "/");
        const bool last = at[length] == '\0';
        const int64_t local = number_named(at, length, "local_rank"), attempt = number_named(at, length, "attempt");
        const int64_t worker = last ? number_named(at, length, "workerlog") : -1; /* of Paddle's launcher */
        int64_t rank = number_named(at, length, "rank");
        if (rank < 0)
            rank = number_named(at, length, "task");
        if (rank < 0)
            rank = number_named(at, length, "proc");
        if (attempt >= 0 && p->attempt < 0) {
            p->attempt = small(attempt);
            torchrun = true;
        } else if (local >= 0 || worker >= 0) {
            p->local_rank = small(local >= 0 ? local : worker);
        } else if (rank >= 0) {
            p->rank = small(rank);
        } else if (torchrun && p->local_rank < 0 && !last) {
            p->local_rank = small(bare_number(at, length)); /* torchrun: attempt_0/3/stderr.log */
        } else if (p->rank < 0 && p->local_rank < 0 &&
                   (!last || strncasecmp(at, "std", 3) == 0 || strncasecmp(at, "out", 3) == 0 ||
                    strncasecmp(at, "err", 3) == 0 || strncasecmp(at, "log", 3) == 0 || assay_is_digit(at[0]))) {
            p->rank = small(bare_number(at, length)); /* "3/stderr.log", "stderr.3", "3.log" */
        }
        long long job, task;
        int used = 0;
        char piece[256];
        snprintf(piece, sizeof piece, "%.*s", (int)(length < sizeof piece ? length : sizeof piece - 1), at);
        const char *slurm = last ? strstr(piece, "slurm-") : NULL;
        if (slurm && sscanf(slurm, "slurm-%lld%n", &job, &used) == 1) {
            p->job = job;
            if ((slurm[used] == '_' || slurm[used] == '-' || slurm[used] == '.') &&
                sscanf(slurm + used + 1, "%lld%n", &task, &used) == 1 && p->rank < 0)
                p->rank = small(task);
        }
        for (const char *word = "node host "; *word && !p->node; word += 5) { /* "node-n0123", "host=gpu7" */
            const bool named = length > 5 && strncasecmp(at, word, 4) == 0 && strchr("-_=", at[4]);
            const size_t name = named ? strcspn(at + 5, "/.") : 0;
            const bool number = named && name > 0 && name < 7 && strspn(at + 5, "0123456789") == name;
            if (number) /* "node_2" */
                p->node_number = small(strtoll(at + 5, NULL, 10));
            const size_t size = number ? name + 5 : name < WHY_NODE_MOST ? name : WHY_NODE_MOST;
            if (named && size > 0 && !(p->node = assay_copy_bytes_as_text(number ? at : at + 5, size)))
                return false;
        }
        at += length + (at[length] == '/');
    }
    return true;
}

static bool ends(const char *name, const char *suffix)
{
    return assay_path_ends(name, suffix);
}

/* Is it a file of what programs say, by its name? */
static bool is_output(const char *name)
{
    static const char *const names[] = {"stdout",  "stderr", "output", "messages", "syslog",   "dmesg",
                                        "console", "log",    "kern",   "journal",  "workerlog"};
    char stem[256];
    snprintf(stem, sizeof stem, "%s", name);
    if (ends(stem, ".gz"))
        stem[strlen(stem) - 3] = '\0';
    if (strncmp(stem, "assay-", 6) == 0) /* what assay itself wrote quotes others */
        return false;
    if (strncasecmp(stem, "readme", 6) == 0 || strncasecmp(stem, "requirements", 12) == 0 ||
        strncasecmp(stem, "license", 7) == 0)
        return false;
    if (assay_suffix_kinds(stem) & ASSAY_SUFFIX_OUTPUT)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t length = strlen(names[i]);
        if (strncasecmp(stem, names[i], length) == 0 && (stem[length] == '\0' || strchr("._-", stem[length])) &&
            !strchr(stem + length, '/') && !ends(stem, ".json") && !ends(stem, ".csv") && !ends(stem, ".yaml"))
            return true;
    }
    const char *dot = strrchr(stem, '.'); /* "train.o4711", "train.e4711" */
    return dot && (dot[1] == 'o' || dot[1] == 'e') && assay_is_digit(dot[2]) &&
           strspn(dot + 2, "0123456789.-_") == strlen(dot + 2);
}

static bool is_slurm_facts(const char *name)
{
    static const char *const words[] = {"sacct",     "scontrol", "slurm.env",   "slurm_env",
                                        "slurm-env", "job.env",  "environment", "env.txt"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncasecmp(name, words[i], strlen(words[i])) == 0)
            return strcasecmp(name + strlen(words[i]), ".log") != 0;
    return ends(name, ".env") && strncmp(name, ".env", 4) != 0;
}

/* What a tracker writes of itself, in its own directory: "wandb/run-1/logs/debug-internal.log". */
static bool is_of_tracker(const char *path, const char *name)
{
    const char *in = strstr(path, "wandb/");
    return strncmp(name, "debug", 5) == 0 && in && (in == path || in[-1] == '/');
}

/* A directory or file of one checkpoint of a series. */
static bool is_checkpoint(const char *name)
{
    static const char *const words[] = {"checkpoint", "global_step", "iter_", "ckpt"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i]);
        if (strncmp(name, words[i], length) == 0) {
            const char *at = name + length + strspn(name + length, "-_=");
            if (assay_is_digit(*at))
                return true;
        }
    }
    return ends(name, ".ckpt");
}

/* ---- the walk ---- */

typedef struct walker {
    assay_store *store;
    why_places *out;
} walker;

static int add(walker *w, why_kind kind, const char *path, uint64_t bytes)
{
    if (w->out->list.count >= PLACES_MOST) {
        w->out->beyond++;
        return ASSAY_OK;
    }
    why_place *p = ASSAY_VEC_ADD(&w->out->list);
    ASSAY_HAVE(p);
    *p = (why_place){.kind = kind,
                     .path = assay_copy_text(path),
                     .bytes = bytes,
                     .rank = -1,
                     .local_rank = -1,
                     .attempt = -1,
                     .job = -1,
                     .node_number = -1,
                     .base = -1};
    ASSAY_HAVE(p->path);
    return read_names(p) ? ASSAY_OK : ASSAY_ENOMEM;
}

/* The same place once, for directories that have several files of a kind; `file` is the name of one of them. */
static int add_once(walker *w, why_kind kind, const char *path, const char *file)
{
    for (size_t i = w->out->list.count; i-- > 0;)
        if (w->out->list.list[i].kind == kind && strcmp(w->out->list.list[i].path, path) == 0)
            return ASSAY_OK;
    ASSAY_TRY(add(w, kind, path, 0));
    why_place *p = w->out->beyond > 0 ? NULL : &w->out->list.list[w->out->list.count - 1];
    if (p && file)
        ASSAY_HAVE(p->first = assay_copy_text(file));
    return ASSAY_OK;
}

/* Is it by its first bytes what its name may mean? One that cannot be read is noted: nobody knows what it is. */
static bool begins_so(assay_store *store, const char *path, assay_lone_kind kind)
{
    char local[ASSAY_PATH_MOST];
    assay_store_file *file = NULL;
    assay_error why = {""};
    if (!assay_store_local_path(store, path, local, sizeof local))
        return false;
    const bool opened = assay_store_open_file(store, path, &file, &why) == ASSAY_OK;
    assay_store_close_file(file);
    errno = 0;
    const bool known = assay_lone_begins(local, kind);
    if (!opened)
        assay_store_note(store, path, why.text);
    else if (!known && errno != 0)
        assay_store_note(store, path, strerror(errno));
    return known;
}

static bool is_dump(assay_store *store, const char *path, const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && assay_is_digit(name[length - 1]) && begins_so(store, path, ASSAY_LONE_DUMP);
}

static bool is_trace(assay_store *store, const char *path, const char *name)
{
    return ends(name, ".trace.json.gz") || /* which PyTorch's profiler alone writes */
           (ends(name, ".json") && strstr(name, "trace") && begins_so(store, path, ASSAY_LONE_TRACE));
}

/* Nobody has looked at it: it may be an output for all that. */
static int pass_over(why_passed *passed, const char *path)
{
    passed->count++;
    if (passed->first && strverscmp(passed->first, path) <= 0)
        return ASSAY_OK;
    free(passed->first);
    passed->first = assay_copy_text(path);
    return passed->first ? ASSAY_OK : ASSAY_ENOMEM;
}

static int take_file(walker *w, const char *directory, const char *path, const char *name, uint64_t bytes,
                     bool *checkpoints)
{
    if (is_slurm_facts(name))
        return add(w, WHY_SLURM, path, bytes);
    if (assay_lone_is_sure(name, ASSAY_LONE_LOG)) /* a table by itself: of several kinds in a directory one is read */
        return ends(name, ".csv") ? add(w, WHY_METRICS, path, bytes) : add_once(w, WHY_METRICS, directory, name);
    if (is_checkpoint(name) && assay_lone_is_named(name, ASSAY_LONE_TENSORS)) {
        *checkpoints = true;
        return ASSAY_OK;
    }
    if (is_output(name) && !is_of_tracker(path, name))
        return add(w, WHY_OUTPUT, path, bytes);
    if (is_dump(w->store, path, name))
        return add_once(w, WHY_DUMPS, directory, NULL);
    if (is_trace(w->store, path, name))
        return add_once(w, WHY_TRACES, directory, NULL);
    return pass_over(&w->out->unknown, path);
}

/* A directory of a checkpoint, in which the trainer of Hugging Face keeps its log. */
static int take_checkpoint(walker *w, const char *directory, const char *path, const char *name, bool *checkpoints)
{
    char log[ASSAY_PATH_MOST];
    *checkpoints = true;
    snprintf(log, sizeof log, "%s/trainer_state.json", path);
    return assay_store_exists(w->store, log, NULL) == 1
               ? add_once(w, WHY_METRICS, directory, log + strlen(path) - strlen(name))
               : ASSAY_OK;
}

static bool has_name(const assay_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0)
            return true;
    return false;
}

/* Directories that no job writes as part of its training. */
static bool is_passed_over(const char *name)
{
    return name[0] == '.' || strcmp(name, "__pycache__") == 0 || strcmp(name, "assay-report") == 0 ||
           strcmp(name, "node_modules") == 0 || strcmp(name, "site-packages") == 0;
}

/* Does the reader of a profiler's directory look into it itself? */
static bool is_profilers(const char *name)
{
    return strcmp(name, "system") == 0 || strcmp(name, "framework") == 0;
}

/* Does a profiler's folder of system metrics lie there: "system/incremental", "system/1591748160.algo-1.json"? */
static int has_system_metrics(walker *w, const char *directory, const assay_names *names, bool *found)
{
    assay_names inner = {0};
    char *path = has_name(names, "system") ? assay_path_join(directory, "system") : NULL;
    *found = false;
    if (!path)
        return has_name(names, "system") ? ASSAY_ENOMEM : ASSAY_OK;
    const bool folder = assay_store_exists(w->store, path, NULL) == 0 && !assay_store_leads_out(w->store, path);
    const int status = folder ? assay_store_list(w->store, path, &inner, NULL) : ASSAY_OK;
    for (size_t i = 0; i < inner.count && !*found; i++) {
        const char *name = inner.name[i];
        *found =
            strcmp(name, "incremental") == 0 || (assay_is_digit(name[0]) && name[strspn(name, "0123456789")] == '.' &&
                                                 (ends(name, ".json") || ends(name, ".json.gz")));
    }
    assay_names_release(&inner);
    free(path);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* A name that only outputs of a job have: "slurm-4711.out", "stderr.3", "train.o4711", "attempt_0". */
static bool is_named_output(const char *name)
{
    const char *dot = strrchr(name, '.');
    return (strncmp(name, "slurm-", 6) == 0 && assay_is_digit(name[6])) || strncmp(name, "stdout", 6) == 0 ||
           strncmp(name, "stderr", 6) == 0 || (strncmp(name, "attempt_", 8) == 0 && assay_is_digit(name[8])) ||
           (dot && (dot[1] == 'o' || dot[1] == 'e') && assay_is_digit(dot[2]) && is_output(name));
}

/* A text whose name says that it is what a program printed: "train_log.txt", and no "vocab.txt" or "train.txt", which may be
 * data. */
static bool is_text_of_output(const char *name)
{
    static const char *const words[] = {"log", "logs", "out", "output", "err", "error", "errors", "console", "nohup"};
    static const char separators[] = "._-0123456789";
    if ((!ends(name, ".txt") && !ends(name, ".txt.gz")) || !is_output(name))
        return false;
    for (const char *at = name + strspn(name, separators); *at; at += strspn(at, separators)) {
        const size_t length = strcspn(at, separators);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i]) == length && strncasecmp(at, words[i], length) == 0)
                return true;
        at += length;
    }
    return false;
}

/* What a training writes beside its records: a log by its name, or a directory that launchers keep logs in. */
static bool may_be_output(const char *name)
{
    static const char *const ends_so[] = {".log", ".out", ".err", ".log.gz", ".out.gz", ".err.gz"};
    static const char *const folders[] = {"logs", "log", "slurm", "slurm_logs", "slurm-logs"};
    if (is_named_output(name) || is_text_of_output(name))
        return true;
    for (size_t i = 0; i < sizeof ends_so / sizeof *ends_so; i++)
        if (ends(name, ends_so[i]) && is_output(name))
            return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strcmp(name, folders[i]) == 0)
            return true;
    return number_named(name, strlen(name), "rank") >= 0;
}

static int walk(walker *w, const char *directory, int depth);

/* In a directory of records, which is not walked through: outputs that lie in it, and in folders that launchers keep them in. */
static int take_outputs_beside(walker *w, const char *directory, const assay_names *names, int depth)
{
    int status = ASSAY_OK;
    bool checkpoints = false;
    for (size_t i = 0; i < names->count && status == ASSAY_OK; i++) {
        const char *name = names->name[i];
        char *path = may_be_output(name) || is_slurm_facts(name) ? assay_path_join(directory, name) : NULL;
        uint64_t bytes = 0;
        const int is_file = path ? assay_store_size_of(w->store, path, &bytes, NULL) : -1;
        if (is_file == 1)
            status = take_file(w, directory, path, name, bytes, &checkpoints);
        else if (is_file == 0 && depth < DEEPEST && !assay_store_leads_out(w->store, path))
            status = walk(w, path, depth + 1);
        else if (is_file == 0)
            status = pass_over(&w->out->outside, path);
        free(path);
    }
    return status;
}

/* Has a directory the name of a file that outputs, or what Slurm says, would be? Directories called "logs" are what they are. */
static bool is_named_source(const char *directory)
{
    const char *slash = strrchr(directory, '/'), *name = slash ? slash + 1 : directory;
    return strchr(name, '.') && (is_output(name) || is_slurm_facts(name) || assay_lone_is_sure(name, ASSAY_LONE_LOG));
}

static int walk(walker *w, const char *directory, int depth)
{
    assay_names names = {0};
    assay_error why = {""};
    bool checkpoints = false, system = false;
    int status = assay_store_list(w->store, directory, &names, &why);
    if (status == ASSAY_ENOMEM)
        return status;
    if (status == ASSAY_OK && names.count == 0 && is_named_source(directory)) {
        assay_names_release(&names);
        return why_add_text(&w->out->problem, "%s is an empty directory, and its name is that of a file of the job",
                            directory)
                   ? ASSAY_OK
                   : ASSAY_ENOMEM;
    }
    if (status != ASSAY_OK)
        return depth == 0 ? ASSAY_OK : why_add_text(&w->out->problem, "%s", why.text) ? ASSAY_OK : ASSAY_ENOMEM;
    const bool records = has_name(&names, "index") || has_name(&names, "events");
    if (has_name(&names, "collections") && records) { /* what the recording library writes, all of it or a part */
        status = add(w, WHY_RECORDS, directory, 0);
        ASSAY_THEN(status, take_outputs_beside(w, directory, &names, depth));
        assay_names_release(&names);
        return status;
    }
    status = has_system_metrics(w, directory, &names, &system);
    if (status == ASSAY_OK && system)
        status = add(w, WHY_SYSTEM, directory, 0);
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        const char *name = names.name[i];
        const bool passed = is_passed_over(name) || (system && is_profilers(name));
        char *path = passed ? NULL : assay_path_join(directory, name);
        if (!path) {
            const bool aside = name[0] == '.' && may_be_output(name + 1); /* somebody put it aside so */
            status = !passed ? ASSAY_ENOMEM : aside ? pass_over(&w->out->unknown, name) : ASSAY_OK;
            continue;
        }
        uint64_t bytes = 0;
        const int is_file = assay_store_size_of(w->store, path, &bytes, NULL);
        if (is_file == 1)
            status = take_file(w, directory, path, name, bytes, &checkpoints);
        else if (is_checkpoint(name))
            status = take_checkpoint(w, directory, path, name, &checkpoints);
        else if (is_file == 0 && depth >= DEEPEST)
            w->out->deep++;
        else if (is_file == 0 && !assay_store_leads_out(w->store, path))
            status = walk(w, path, depth + 1);
        else if (is_file == 0)
            status = pass_over(&w->out->outside, path);
        free(path);
    }
    assay_names_release(&names);
    return status == ASSAY_OK && checkpoints ? add_once(w, WHY_CHECKPOINTS, directory, NULL) : status;
}

/* ---- job.json ---- */

static int add_named(walker *w, why_kind kind, const cJSON *item, const char *key, assay_error *err)
{
    const cJSON *each = cJSON_IsArray(item) ? item->child : item;
    int status = ASSAY_OK;
    for (; each && status == ASSAY_OK; each = cJSON_IsArray(item) ? each->next : NULL) {
        if (!cJSON_IsString(each) || !assay_path_is_inside(each->valuestring, strlen(each->valuestring)))
            return assay_fail(err, ASSAY_EJOB, "job.json: %s: a path below the job's directory is expected", key);
        uint64_t bytes = 0;
        const int is_file = assay_store_size_of(w->store, each->valuestring, &bytes, NULL);
        if (kind == WHY_OUTPUT && is_file != 1)
            status = walk(w, each->valuestring, 1);
        else
            status = add_once(w, kind, each->valuestring, NULL);
        if (kind == WHY_OUTPUT && is_file == 1 && status == ASSAY_OK)
            w->out->list.list[w->out->list.count - 1].bytes = bytes;
    }
    return status;
}

/* 1: there is one, and it was taken. */
static int take_job_file(walker *w, assay_error *err)
{
    static const char *const keys[] = {"outputs", "slurm",  "dumps",   "checkpoints",
                                       "metrics", "traces", "records", NULL};
    assay_buf text = ASSAY_BUF(1 << 20);
    cJSON *root = NULL;
    if (assay_store_exists(w->store, "job.json", NULL) != 1)
        return 0;
    int status = assay_store_read(w->store, "job.json", 1 << 20, &text, err);
    ASSAY_THEN(status, assay_json_parse_commented("job.json", text.data, text.size, &root, err));
    assay_buf_release(&text);
    if (status == ASSAY_EFORMAT)
        status = ASSAY_EJOB;
    bool places = false;
    for (size_t i = 0; status == ASSAY_OK && keys[i]; i++)
        places = places || cJSON_GetObjectItemCaseSensitive(root, keys[i]);
    if (status == ASSAY_OK && !places) { /* somebody else's file of that name */
        cJSON_Delete(root);
        return 0;
    }
    if (status == ASSAY_OK && assay_json_known_keys(root, "job.json", keys, err) != ASSAY_OK)
        status = ASSAY_EJOB;
    for (size_t i = 0; status == ASSAY_OK && keys[i]; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, keys[i]);
        status = item ? add_named(w, (why_kind)i, item, keys[i], err) : ASSAY_OK;
    }
    cJSON_Delete(root);
    return status == ASSAY_OK ? 1 : status;
}

/* ---- jobs of one directory ---- */

/* Outputs of several Slurm jobs may lie side by side: the one that was asked for counts, else the newest. */
static void choose_job(why_places *p, const char *asked)
{
    p->job = -1;
    for (size_t i = 0; i < p->list.count; i++)
        p->job = p->list.list[i].job > p->job ? p->list.list[i].job : p->job;
    if (asked)
        p->job = strtoll(asked, NULL, 10);
    size_t kept = 0;
    for (size_t i = 0; i < p->list.count; i++) {
        if (p->list.list[i].job >= 0 && p->list.list[i].job != p->job) {
            free(p->list.list[i].path);
            free(p->list.list[i].first);
            free(p->list.list[i].node);
            p->other_jobs++;
        } else {
            p->list.list[kept++] = p->list.list[i];
        }
    }
    p->list.count = kept;
}

static int by_path(const void *a, const void *b)
{
    const why_place *x = a, *y = b;
    const int order = strverscmp(x->path, y->path);
    return order ? order : ASSAY_ORDER(x->kind, y->kind);
}

/* What could not be looked at becomes a problem: it may have been an output. */
static int take_notes(walker *w)
{
    const char *path = NULL, *text = NULL;
    bool kept = !assay_store_lacked_memory(w->store);
    while (kept && assay_store_take_note(w->store, &path, &text))
        kept = why_add_text(&w->out->problem, "%s", text);
    if (kept && w->out->beyond > 0)
        kept = why_add_text(&w->out->problem, "%llu files were left out: no more than %d are looked at",
                            (unsigned long long)w->out->beyond, PLACES_MOST);
    return kept ? ASSAY_OK : ASSAY_ENOMEM;
}

int why_find(const char *directory, const char *job, why_places *out, assay_error *err)
{
    walker w = {.out = out};
    *out = (why_places){.job = -1};
    ASSAY_TRY(assay_store_open(directory, &w.store, err));
    int status = take_job_file(&w, err);
    if (status == 0)
        status = walk(&w, "", 0);
    if (status >= 0)
        status = take_notes(&w);
    if (status == ASSAY_OK && out->list.count > 1)
        qsort(out->list.list, out->list.count, sizeof *out->list.list, by_path);
    if (status == ASSAY_OK)
        choose_job(out, job);
    ASSAY_VEC_FIT(&out->list);
    assay_store_close(w.store);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory for its files", directory) : status;
}

void why_places_release(why_places *p)
{
    for (size_t i = 0; i < p->list.count; i++) {
        free(p->list.list[i].path);
        free(p->list.list[i].first);
        free(p->list.list[i].node);
        free(p->list.list[i].refused);
    }
    for (size_t i = 0; i < p->problem.count; i++)
        free(p->problem.list[i]);
    free(p->list.list);
    free(p->problem.list);
    free(p->unknown.first);
    free(p->outside.first);
    *p = (why_places){.job = -1};
}

void why_places_pack(const why_places *p, assay_buf *out)
{
    assay_put_u64(out, p->list.count);
    for (size_t i = 0; i < p->list.count; i++) {
        assay_put_u32(out, p->list.list[i].kind);
        assay_put_u64(out, p->list.list[i].bytes);
        assay_put_text(out, p->list.list[i].path);
        assay_put_text(out, p->list.list[i].first);
    }
}

int why_places_unpack(assay_cursor *in, why_places *out)
{
    *out = (why_places){.job = -1};
    for (uint64_t count = assay_get_count(in, 16); count > 0 && !in->failed; count--) {
        why_place *p = ASSAY_VEC_ADD(&out->list);
        ASSAY_HAVE(p);
        size_t length;
        *p = (why_place){.kind = (why_kind)assay_get_u32(in)};
        p->bytes = assay_get_u64(in);
        const char *path = assay_get_text(in, &length);
        p->path = path ? assay_copy_bytes_as_text(path, length) : NULL;
        ASSAY_HAVE(p->path);
        const char *first = assay_get_text(in, &length);
        p->first = length > 0 ? assay_copy_bytes_as_text(first, length) : NULL;
        if (length > 0)
            ASSAY_HAVE(p->first);
    }
    return in->failed ? ASSAY_EINTERNAL : ASSAY_OK;
}

/* One listing: does a name in it look so? */
static bool has_name_that(const char *directory, bool (*looks)(const char *name))
{
    assay_store *store = NULL;
    assay_names names = {0};
    bool found = false;
    if (strstr(directory, "://"))
        return false;
    if (assay_store_open(directory, &store, NULL) == ASSAY_OK && assay_store_list(store, "", &names, NULL) == ASSAY_OK)
        for (size_t i = 0; i < names.count && !found; i++)
            found = looks(names.name[i]);
    assay_names_release(&names);
    assay_store_close(store);
    return found;
}

bool assay_why_has_outputs(const char *directory)
{
    return has_name_that(directory, is_named_output);
}

bool why_may_have_outputs(const char *directory)
{
    return has_name_that(directory, may_be_output);
}
