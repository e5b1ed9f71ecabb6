/* output.c - see output.h. */
#include "report/output.h"

#include <assay/status.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/leftovers.h"
#include "base/log.h"
#include "base/path.h"
#include "base/vec.h"
#include "s3/s3.h"

/* ---- output list ---- */

/* The list is the file .assay-files: a line "assay-files/1", then a line for each file, "sha256 HEX NAME", or "bytes
 * SIZE NAME" for one that is too large to be read again, and "trial PLACE" for each trial that the report is of. */

typedef struct output_entry {
    char *name;   /* below the directory */
    char hex[65]; /* SHA-256 of the content; "": only the size is known */
    uint64_t size;
} output_entry;

typedef struct output_list {
    output_entry *entry;
    size_t count;
    ASSAY_VEC(char *) trial; /* where the trials lie that the report is of; owned */
} output_list;

static const char NAME[] = ".assay-files", MAGIC[] = "assay-files/1\n";
enum { MOST_BYTES = 16 << 20, MOST_REMOVED = 1 << 30 /* bytes of a file that is read to see whether it was changed */ };

/* Notes a file that was written. `hash` may be NULL: then only its size is kept. ASSAY_ENOMEM. */
static int output_list_note(output_list *list, const char *name, assay_sha256 *hash, uint64_t size)
{
    output_entry *grown = assay_realloc_array(list->entry, list->count + 1, sizeof *grown);
    list->entry = grown ? grown : list->entry;
    char *copy = grown ? assay_copy_text(name) : NULL;
    ASSAY_HAVE(copy);
    output_entry *e = &grown[list->count++];
    *e = (output_entry){.name = copy, .size = size};
    if (hash)
        assay_sha256_hex(hash, e->hex);
    return ASSAY_OK;
}

static void output_list_release(output_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->entry[i].name);
    free(list->entry);
    for (size_t i = 0; i < list->trial.count; i++)
        free(list->trial.list[i]);
    free(list->trial.list);
    *list = (output_list){.entry = NULL};
}

/* Tells whether a name leads nowhere but below the directory: the list is a file that anybody may have written, and
 * names in it are removed. */
static bool is_below(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        const size_t length = strcspn(part, "/");
        if (length == 0 || (length <= 2 && strspn(part, ".") >= length))
            return false;
    }
    return true;
}

/* Reads one line of a list, without its line feed. False for what is none: it names no file then. */
static bool parse_line(char *line, output_entry *out)
{
    int name = 0;
    *out = (output_entry){.name = NULL};
    if (sscanf(line, "sha256 %64[0-9a-f] %n", out->hex, &name) == 1 && name > 0 && strlen(out->hex) == 64)
        out->name = line + name;
    else if (sscanf(line, "bytes %20" SCNu64 " %n", &out->size, &name) == 1 && name > 0)
        out->name = line + name;
    return out->name && is_below(out->name);
}

static bool has(const output_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entry[i].name, name) == 0)
            return true;
    return false;
}

/* Tells whether the file is as it was written. One too large to be read again is known by its size alone. */
static bool is_as_written(const char *path, const output_entry *entry)
{
    struct stat about;
    assay_buf bytes = ASSAY_BUF(MOST_REMOVED);
    if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    if (!entry->hex[0])
        return (uint64_t)about.st_size == entry->size;
    char hex[65] = "";
    if (assay_file_read(path, MOST_REMOVED, &bytes, NULL) == ASSAY_OK) {
        assay_sha256 hash;
        assay_sha256_init(&hash);
        assay_sha256_add(&hash, bytes.data, bytes.size);
        assay_sha256_hex(&hash, hex);
    }
    assay_buf_release(&bytes);
    return strcmp(hex, entry->hex) == 0;
}

/* Tells whether all directories between the report's own and the file are directories, and no links to somewhere
 * else, where nothing of ours is. */
static bool has_own_directories(char *path, size_t root)
{
    bool own = true;
    for (char *slash = strchr(path + root + 1, '/'); slash && own; slash = strchr(slash + 1, '/')) {
        struct stat about;
        *slash = '\0';
        own = lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
        *slash = '/';
    }
    return own;
}

/* Removes the file, and the directories that it leaves empty. Failures are passed over: the report itself is
 * written. */
static void remove_file(const char *directory, const output_entry *entry)
{
    char *path = assay_path_join(directory, entry->name);
    struct stat about;
    if (!path)
        return;
    const bool own = has_own_directories(path, strlen(directory));
    if (own && lstat(path, &about) == 0 && !is_as_written(path, entry))
        assay_log_note("%s: kept, though it is of an earlier report: it was changed", path);
    else if (own && unlink(path) == 0)
        for (char *slash = strrchr(path, '/'); slash && slash > path + strlen(directory); slash = strrchr(path, '/')) {
            *slash = '\0';
            if (rmdir(path) != 0)
                break;
        }
    free(path);
}

/* Lines are cut in `text`, which is the caller's to drop afterwards. */
static void remove_stale(const output_list *list, const char *directory, char *text)
{
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        output_entry entry;
        *end = '\0';
        if (parse_line(line, &entry) && !has(list, entry.name))
            remove_file(directory, &entry);
    }
}

static void put_list(const output_list *list, assay_buf *out)
{
    assay_put_format(out, "%s", MAGIC);
    for (size_t i = 0; i < list->count; i++) {
        const output_entry *e = &list->entry[i];
        if (e->hex[0])
            assay_put_format(out, "sha256 %s ", e->hex);
        else
            assay_put_format(out, "bytes %" PRIu64 " ", e->size);
        assay_put_bytes(out, e->name, strlen(e->name));
        assay_put_u8(out, '\n');
    }
    for (size_t i = 0; i < list->trial.count; i++)
        assay_put_format(out, "trial %s\n", list->trial.list[i]);
}

/* After the last file of a report: removes the files of the report before, as its list in `directory` has them, that
 * are not in this one and are as they were written, and writes this list. What somebody has changed stays. ASSAY_EIO
 * when the list cannot be written, ASSAY_ENOMEM. */
static int output_list_end(output_list *list, const char *directory, assay_error *err)
{
    assay_buf text = ASSAY_BUF(MOST_BYTES);
    char *path = assay_path_join(directory, NAME);
    if (!path)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", directory);
    if (assay_file_read_own(path, MAGIC, MOST_BYTES, &text, NULL) == ASSAY_OK) {
        assay_put_u8(&text, '\0');
        if (assay_buf_status(&text) == ASSAY_OK)
            remove_stale(list, directory, (char *)text.data);
    }
    assay_buf_release(&text);
    assay_buf_init(&text, MOST_BYTES);
    put_list(list, &text);
    int status = assay_buf_status(&text);
    status = status == ASSAY_OK ? assay_file_write(path, text.data, text.size, err)
                                : assay_fail(err, status, "%s: %s", path, assay_status_text(status));
    assay_buf_release(&text);
    free(path);
    return status;
}

/* ---- output ---- */

static const char LAST[] = "report.json";

struct assay_output {
    char *place;
    bool remote, made;   /* made: the directory is new */
    assay_s3_place root; /* of a remote one */
    assay_buf last;      /* of a remote one: report.json, which waits for the others */
    int leftover;        /* of a new directory: base/leftovers.h; -1 */
    char *temporary;     /* the directory of assay_output_make(); NULL: none */
    output_list list;    /* of a directory: the files that were written */
};

/* True for a place in S3. */
static bool assay_output_is_remote(const char *place)
{
    return strncmp(place, "s3://", 5) == 0;
}

/* A place of another kind would become a directory of that name. */
static int refuse_foreign(const char *place, assay_error *err)
{
    if (!assay_s3_place_is_foreign(place))
        return ASSAY_OK;
    const int status = assay_s3_place_refuse_keys(place, err);
    return status != ASSAY_OK
               ? status
               : assay_fail(err, ASSAY_EUSAGE,
                            "%.200s: reports go to no place of this kind; give a directory, or s3://BUCKET/PREFIX",
                            place);
}

/* Nothing is looked at or made before assay_output_probe(). */
int assay_output_open(const char *place, assay_output **out, assay_error *err)
{
    ASSAY_TRY(refuse_foreign(place, err));
    assay_output *output = assay_alloc_zeroed(1, sizeof *output);
    if (output)
        output->place = assay_copy_text(place);
    if (!output || !output->place) {
        free(output);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
    }
    output->leftover = -1;
    output->remote = assay_output_is_remote(place);
    assay_buf_init(&output->last, SIZE_MAX / 4);
    int status = output->remote ? assay_s3_place_parse(place, &output->root, err) : ASSAY_OK;
    if (status == ASSAY_OK)
        *out = output;
    else
        assay_output_close(output);
    return status;
}

void assay_output_close(assay_output *output)
{
    if (!output)
        return;
    if (output->temporary)
        rmdir(output->temporary); /* only what is empty goes */
    assay_leftover_drop(output->leftover);
    assay_s3_place_release(&output->root);
    assay_buf_release(&output->last);
    output_list_release(&output->list);
    free(output->temporary);
    free(output->place);
    free(output);
}

/* ---- a directory ---- */

int assay_output_is_of(assay_output *output, const char *trial)
{
    char **added = ASSAY_VEC_ADD(&output->list.trial);
    ASSAY_HAVE(added);
    *added = assay_copy_text(trial);
    if (!*added)
        output->list.trial.count--;
    ASSAY_HAVE(*added);
    /* Places may have line ends, and the list must not be led astray by them. */
    for (char *c = *added; *c; c++) /* a line each */
        if (*c == '\n')
            *c = '?';
    return ASSAY_OK;
}

static bool is_of(const output_list *list, const char *trial)
{
    for (size_t i = 0; i < list->trial.count; i++)
        if (strcmp(list->trial.list[i], trial) == 0)
            return true;
    return false;
}

/* Says whether what lies there may be replaced: only if it is a report of these trials, or of some of them, as its
 * list (NULL: there is none; changed) says. One from before reports noted their trials counts as such. `there`: the
 * report is. */
static int refuse_another(const assay_output *output, char *list, bool there, assay_error *err)
{
    if (!list && there)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s/%s: no report of assay left it there: write to another place with --out PLACE, or give "
                          "--overwrite",
                          output->place, LAST);
    for (char *line = list, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (strncmp(line, "trial ", 6) == 0 && !is_of(&output->list, line + 6))
            return assay_fail(err, ASSAY_EUSAGE,
                              "%s: has the report of another trial, %s: write to another place with --out PLACE, or "
                              "give --overwrite",
                              output->place, line + 6);
    }
    return ASSAY_OK;
}

static int look_into_directory(const assay_output *output, assay_error *err)
{
    assay_buf text = ASSAY_BUF(MOST_BYTES);
    char *list = assay_path_join(output->place, NAME), *report = assay_path_join(output->place, LAST);
    int status = list && report ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", output->place);
    const bool listed = status == ASSAY_OK && assay_file_read_own(list, MAGIC, MOST_BYTES, &text, NULL) == ASSAY_OK;
    assay_put_u8(&text, '\0');
    if (status == ASSAY_OK && assay_buf_status(&text) == ASSAY_OK)
        status = refuse_another(output, listed ? (char *)text.data : NULL, access(report, F_OK) == 0, err);
    assay_buf_release(&text);
    free(list);
    free(report);
    return status;
}

/* Called before hours of work: a directory that cannot be written shows now. A file is made and removed, as
 * permissions alone do not tell. */
static int probe_directory(assay_output *output, bool overwrite, assay_error *err)
{
    bool is_new = access(output->place, F_OK) != 0;
    int status = is_new || overwrite ? ASSAY_OK : look_into_directory(output, err);
    ASSAY_THEN(status, assay_dir_make(output->place, err));
    ASSAY_TRY(status);
    output->made = output->made || is_new;
    if (is_new && output->leftover < 0)
        output->leftover = assay_leftover_add(output->place);
    char *path = assay_path_join(output->place, ".assay-XXXXXX");
    int file = path ? mkstemp(path) : -1;
    if (!path)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
    else if (file < 0)
        status = assay_fail(err, ASSAY_EIO, "%s: cannot write the report there: %s", output->place, strerror(errno));
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    free(path);
    return status;
}

/* Says that a file is written over which no report of before has left there. With --overwrite that is allowed, and
 * still said. */
static void note_foreign(const assay_output *output, const char *name, const char *path)
{
    struct stat about;
    assay_buf text = ASSAY_BUF(MOST_BYTES);
    bool own = lstat(path, &about) != 0;
    char *list = own ? NULL : assay_path_join(output->place, NAME);
    if (list && assay_file_read_own(list, MAGIC, MOST_BYTES, &text, NULL) == ASSAY_OK)
        assay_put_u8(&text, '\0');
    char *line = text.size > 0 && assay_buf_status(&text) == ASSAY_OK ? (char *)text.data : NULL;
    for (char *end; line && !own && (end = strchr(line, '\n')); line = end + 1) {
        output_entry entry;
        *end = '\0';
        own = parse_line(line, &entry) && strcmp(entry.name, name) == 0;
    }
    if (!own)
        assay_log_note("%s: replaced, though no report left it there", path);
    assay_buf_release(&text);
    free(list);
}

/* A file that is made, on its way to who writes it: hashed and counted as it passes, so it is never whole in memory. */
typedef struct passing {
    const assay_maker *from;
    const assay_taker *to;
    assay_sha256 hash;
    uint64_t size;
} passing;

static int pass(void *context, const void *bytes, size_t size)
{
    passing *p = context;
    assay_sha256_add(&p->hash, bytes, size);
    p->size += size;
    return p->to->take(p->to->context, bytes, size);
}

static int pass_all(void *context, const assay_taker *to)
{
    passing *p = context;
    p->to = to;
    return p->from->make(p->from->context, &(assay_taker){pass, p});
}

/* assay_file_write_made() replaces the file when it is whole; only then it is noted. */
static int write_file(assay_output *output, const char *name, const assay_maker *from, assay_error *err)
{
    passing p = {.from = from};
    char *path = assay_path_join(output->place, name), *slash = path ? strrchr(path, '/') : NULL;
    int status = path ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
    if (slash && slash > path) {
        *slash = '\0';
        status = assay_dir_make(path, err);
        *slash = '/';
    }
    assay_sha256_init(&p.hash);
    if (status == ASSAY_OK)
        note_foreign(output, name, path);
    ASSAY_THEN(status, assay_file_write_made(path, &(assay_maker){pass_all, &p}, err));
    free(path);
    if (status == ASSAY_OK && (status = output_list_note(&output->list, name, &p.hash, p.size)) != ASSAY_OK)
        assay_fail(err, status, "%s: out of memory", name);
    return status;
}

/* Called when no report comes: a directory that was made for it goes, if nothing is in it. */
void assay_output_discard(assay_output *output)
{
    if (output && output->made)
        rmdir(output->place);
}

/* ---- S3 ---- */

static char *key_of(const assay_output *output, const char *name)
{
    size_t prefix = strlen(output->root.prefix), room = prefix + strlen(name) + 1;
    char *key = assay_alloc(room);
    if (key) {
        memcpy(key, output->root.prefix, prefix);
        memcpy(key + prefix, name, room - prefix);
    }
    return key;
}

/* Turns a status into one of the output: a report that cannot be written is a failure of the output, whatever the
 * server says. */
static int output_status(int status)
{
    return status == ASSAY_OK || status == ASSAY_ENOMEM || status == ASSAY_EUNSUPPORTED ? status : ASSAY_EIO;
}

static const char *type_of(const char *name)
{
    static const struct {
        const char *end, *type;
    } types[] = {{".json", "Content-Type: application/json"},
                 {".jsonl", "Content-Type: application/jsonl"},
                 {".txt", "Content-Type: text/plain; charset=utf-8"},
                 {".md", "Content-Type: text/markdown; charset=utf-8"},
                 {".csv", "Content-Type: text/csv; charset=utf-8"},
                 {".html", "Content-Type: text/html; charset=utf-8"},
                 {".xml", "Content-Type: application/xml"}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t end = strlen(types[i].end);
        if (length > end && strcmp(name + length - end, types[i].end) == 0)
            return types[i].type;
    }
    return NULL;
}

static int put_object(const assay_output *output, const char *name, const void *bytes, size_t size, assay_error *err)
{
    char *key = key_of(output, name);
    if (!key)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
    int status = assay_alloc_refused()
                     ? assay_fail(err, ASSAY_ENOMEM, "s3://%.80s/%.200s: not written: memory ran out while it was made",
                                  output->root.bucket, key)
                 : assay_fault_now(ASSAY_FAULT_WRITE)
                     ? assay_fail(err, ASSAY_EIO, "s3://%.80s/%.200s: writing failed (asked for by ASSAY_FAULT)",
                                  output->root.bucket, key)
                     : output_status(assay_s3_put(output->root.bucket, key, bytes, size, type_of(name), err));
    free(key);
    return status;
}

/* Reads the first bytes of an object of the place, and ends them with a 0. ASSAY_ENOTFOUND: there is none. */
static int get_object(const assay_output *output, const char *name, size_t most, assay_buf *out, assay_error *err)
{
    char *key = key_of(output, name);
    assay_s3_get *get = key ? assay_s3_get_begin(output->root.bucket, key, 0, most, NULL, true) : NULL;
    assay_s3_bytes bytes;
    int status = get ? assay_s3_get_wait(get, &bytes, err) : ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        assay_put_bytes(out, bytes.data, bytes.size);
        assay_put_u8(out, '\0');
        status = assay_buf_status(out);
    }
    if (get)
        assay_s3_get_end(get);
    free(key);
    return status;
}

/* Looks whether another report lies there. A server that lets write and not read does not tell, and does not stop the
 * run. */
static int look_into_bucket(const assay_output *output, assay_error *err)
{
    assay_error why = {""};
    assay_buf list = ASSAY_BUF(MOST_BYTES), report = ASSAY_BUF(16);
    int status = get_object(output, NAME, MOST_BYTES, &list, &why);
    const bool listed = status == ASSAY_OK && strncmp((char *)list.data, MAGIC, sizeof MAGIC - 1) == 0;
    if (status == ASSAY_ENOTFOUND || (status == ASSAY_OK && !listed))
        status = get_object(output, LAST, 1, &report, &why);
    if (status == ASSAY_OK)
        status = refuse_another(output, listed ? (char *)list.data : NULL, true, err);
    else if (status == ASSAY_ENOTFOUND)
        status = ASSAY_OK;
    else if (status != ASSAY_ENOMEM) {
        assay_log_note(
            "%s: a report that lies there is replaced, of whatever trials: it could not be looked at (%.200s)",
            output->place, why.text);
        status = ASSAY_OK;
    }
    assay_buf_release(&list);
    assay_buf_release(&report);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory", output->place) : status;
}

static int probe_bucket(const assay_output *output, bool overwrite, assay_error *err)
{
    assay_error why = {""};
    int status = assay_s3_open(&why);
    if (status != ASSAY_OK)
        return assay_fail(err, output_status(status), "%.200s: %s", output->place, why.text);
    char *key = key_of(output, LAST);
    status = key ? assay_s3_may_put(output->root.bucket, key, err)
                 : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", output->place);
    free(key);
    if (status == ASSAY_OK && !overwrite) {
        status = look_into_bucket(output, err);
        return status == ASSAY_EUSAGE ? status : output_status(status);
    }
    return output_status(status);
}

/* Writes the list, then report.json, which says that all is there. In S3 nothing can be renamed, so the order alone
 * tells a whole report. */
static int finish_bucket(const assay_output *output, assay_error *err)
{
    assay_buf list = ASSAY_BUF(MOST_BYTES);
    if (output->last.size == 0)
        return ASSAY_OK;
    put_list(&output->list, &list);
    int status = assay_buf_status(&list);
    status = status == ASSAY_OK ? put_object(output, NAME, list.data, list.size, err)
                                : assay_fail(err, status, "%s: out of memory", output->place);
    ASSAY_THEN(status, put_object(output, LAST, output->last.data, output->last.size, err));
    assay_buf_release(&list);
    return status;
}

/* ---- both ---- */

int assay_output_probe(assay_output *output, bool overwrite, assay_error *err)
{
    return output->remote ? probe_bucket(output, overwrite, err) : probe_directory(output, overwrite, err);
}

static int collect(void *context, const void *bytes, size_t size)
{
    assay_put_bytes(context, bytes, size);
    return assay_buf_status(context);
}

int assay_output_write_made(assay_output *output, const char *name, const assay_maker *from, assay_error *err)
{
    if (!output->remote)
        return write_file(output, name, from, err);
    /* report.json waits for assay_output_finish(); all other objects are put at once. */
    const bool last = strcmp(name, LAST) == 0;
    assay_buf other = ASSAY_BUF(SIZE_MAX), *all = last ? &output->last : &other;
    assay_buf_clear(all);
    int status = from->make(from->context, &(assay_taker){collect, all});
    if (status != ASSAY_OK)
        assay_fail(err, status, "%s: cannot be made: %s", name, assay_status_text(status));
    else if (!last)
        status = put_object(output, name, all->data, all->size, err);
    if (status != ASSAY_OK)
        assay_buf_clear(all);
    assay_buf_release(&other);
    return status;
}

int assay_output_write(assay_output *output, const char *name, const void *bytes, size_t size, assay_error *err)
{
    return assay_output_write_made(output, name, &(assay_maker){assay_stretch_give, &(assay_stretch){bytes, size}},
                                   err);
}

/* Called once, when all files are written. In S3 files of an earlier report stay where they are. */
int assay_output_finish(assay_output *output, assay_error *err)
{
    return output->remote ? finish_bucket(output, err) : output_list_end(&output->list, output->place, err);
}

/* For files that a library writes by name (HDF5): in S3 they are made beside, and assay_output_take() puts them. */
int assay_output_make(assay_output *output, const char *name, char **path, assay_error *err)
{
    if (output->remote && !output->temporary) {
        const char *below = getenv("TMPDIR");
        char *made = assay_path_join(below && below[0] ? below : "/tmp", "assay-report-XXXXXX");
        if (made && !mkdtemp(made)) {
            int status = assay_fail(err, ASSAY_EIO, "%s: cannot make a directory for %s (TMPDIR): %s", made, name,
                                    strerror(errno));
            free(made);
            return status;
        }
        output->temporary = made;
    }
    const char *directory = output->remote ? output->temporary : output->place;
    *path = directory ? assay_path_join(directory, name) : NULL;
    return *path ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
}

/* Puts a file that was made beside. It is mapped, not read: it may be larger than the free memory. */
static int put_mapped(const assay_output *output, const char *name, int file, assay_error *err)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return assay_fail(err, ASSAY_EIO, "%s: cannot be read: %s", name, strerror(errno));
    size_t size = (size_t)about.st_size;
    void *bytes = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    if (bytes == MAP_FAILED)
        return assay_fail(err, ASSAY_EIO, "%s: cannot be read: %s", name, strerror(errno));
    int status = put_object(output, name, bytes, size, err);
    if (bytes)
        munmap(bytes, size);
    return status;
}

static int take_local(assay_output *output, const char *name, const char *path, assay_error *err)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return assay_fail(err, ASSAY_EIO, "%s: cannot be read: %s", path, strerror(errno));
    int status = output_list_note(&output->list, name, NULL, (uint64_t)about.st_size);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: out of memory", name);
}

/* The file is gone afterwards where it was made for S3 alone, also after a failure. */
int assay_output_take(assay_output *output, const char *name, const char *path, assay_error *err)
{
    if (!output->remote)
        return take_local(output, name, path, err);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int status = file < 0 ? assay_fail(err, ASSAY_EIO, "%s: cannot open: %s", path, strerror(errno))
                          : put_mapped(output, name, file, err);
    if (file >= 0)
        close(file);
    unlink(path);
    return status;
}
