/* beyond.c - looks at what no tensor covers.
 *
 * Rank 0 lists files and reads directories of archives and pickles, which are small. The bytes under checksums are many:
 * each rank computes those of its share, and rank 0 names what is wrong, in the order of the list. */
#include "verify/beyond.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/fault.h"
#include "base/json_pull.h"
#include "base/path.h"
#include "base/search.h"
#include "base/vec.h"
#include "container/suffixes.h"
#include "container/inflate.h"
#include "trial/places.h"
#include "trial/trial_format.h"
#include "verify/archive.h"
#include "verify/forms.h"
#include "verify/gap.h"
#include "verify/kept.h"
#include "verify/lacking.h"
#include "verify/origin.h"
#include "verify/stale.h"
#include "verify/unread.h"
#include "verify/words.h"
#include "verify/zeros.h"

enum { BELOW_MOST = 16, BLOCK = 1 << 20 };

/* A range of a file that is looked at as a file by itself. */
typedef struct range {
    uint32_t file; /* in looking.files */
    int64_t step;  /* -1: it lies beside the checkpoints */
    uint64_t offset, length;
} range;

/* Bytes whose checksum is computed. */
typedef struct task {
    uint32_t file;
    int64_t step;
    uint64_t offset, stored, size;
    uint32_t crc, method;
    char *name; /* of the entry; owned; NULL on ranks that only compute */
} task;

typedef struct looking {
    const assay_trial_files *trial;
    const assay_verify_options *options;
    assay_problems *problems;
    assay_verify_remarks *remarks;
    assay_dict *files;   /* paths */
    assay_dict *summed;  /* (path, offset, length) of records that a checksum covers: they have been read */
    assay_dict *divided; /* paths of files that consist of archives */
    assay_dict
        *ended; /* paths of files whose end was looked at: a file may have ranges in several places of the list */
    assay_dict *places; /* of units, that were looked at: many ranks may share one */
    ASSAY_VEC(range) ranges;
    ASSAY_VEC(task) tasks;
    const range *at; /* under way */
    int64_t step;    /* whose files are listed */
    int status;
} looking;

static bool is_asked(const looking *l, int64_t step)
{
    return step >= l->options->from && step < l->options->to;
}

/* ---- which files ---- */

static int add_range(looking *l, const char *path, uint64_t offset, uint64_t length)
{
    const uint32_t known = assay_dict_count(l->files), file = assay_dict_add(l->files, path, strlen(path));
    if (file == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (file < known && offset == 0 && length == UINT64_MAX)
        return ASSAY_OK;
    range *r = ASSAY_VEC_ADD(&l->ranges);
    ASSAY_HAVE(r);
    *r = (range){file, l->step, offset, length};
    return ASSAY_OK;
}

static int add_archive(void *context, const char *path, uint64_t offset, uint64_t length)
{
    looking *l = context;
    if (assay_dict_add(l->divided, path, strlen(path)) == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    return add_range(l, path, offset, length);
}

static int add_file(looking *l, const char *path)
{
    return assay_dict_find(l->divided, path, strlen(path)) == ASSAY_NO_ID ? add_range(l, path, 0, UINT64_MAX)
                                                                          : ASSAY_OK;
}

/* Directories that are deeper than any are not gone into. */
static int name_deep(looking *l, const char *path)
{
    char text[ASSAY_PATH_MOST + 128];
    snprintf(text, sizeof text, "%.*s: it lies too deep, and what is in it was not looked at", ASSAY_PATH_MOST, path);
    return assay_verify_remark_add(l->remarks, ASSAY_VERIFY_NOTE, l->step, path, text);
}

/* The files of a directory and of those below it. What cannot be listed is named by those who list the trial. */
static int add_directory(looking *l, const char *directory, int depth)
{
    assay_names names = {0};
    assay_store *store = l->trial->store;
    int status = assay_store_list(store, directory, &names, NULL);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_OK;
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        char *path = assay_path_join(strcmp(directory, ".") == 0 ? "" : directory, names.name[i]);
        if (!path)
            status = ASSAY_ENOMEM;
        else if (assay_store_exists(store, path, NULL) == 1)
            status = add_file(l, path);
        else if (depth < BELOW_MOST)
            status = add_directory(l, path, depth + 1);
        else
            status = name_deep(l, path);
        free(path);
    }
    assay_names_release(&names);
    return status;
}

/* A unit's directory with all below it, or its file. */
static int add_place(void *context, const char *path)
{
    looking *l = context;
    const uint32_t known = assay_dict_count(l->places), place = assay_dict_add(l->places, path, strlen(path));
    if (place == ASSAY_NO_ID || place < known)
        return place == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    if (assay_store_exists(l->trial->store, path, NULL) == 1)
        return add_file(l, path);
    return strcmp(path, ".") == 0 ? ASSAY_OK : add_directory(l, path, 0);
}

static int add_units(looking *l)
{
    const assay_catalog *catalog = &l->trial->catalog;
    int status = ASSAY_OK;
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++) {
        const assay_unit *unit = &catalog->units[i];
        const assay_trial_format *format = assay_format_of(unit->format);
        if (!format->checkpoints || !is_asked(l, unit->step))
            continue;
        l->step = unit->step;
        if (format->archives)
            status = format->archives(l->trial->store, catalog, unit, add_archive, l);
        ASSAY_THEN(status, assay_unit_places(l->trial->store, catalog, unit, add_place, l));
    }
    return status;
}

/* Files that tensors of the steps lie in, wherever they are. */
static int add_parts(looking *l)
{
    const assay_shard *shard = &l->trial->shard;
    for (size_t p = 0; p < shard->count; p++) {
        const assay_part *part = &shard->parts[p];
        if (!is_asked(l, part->step) || !assay_format_of(part->format)->checkpoints)
            continue;
        l->step = part->step;
        for (uint32_t f = 0; part->files && f < part->files->count; f++)
            if ((f == 0 || part->files->file[f].name != part->files->file[f - 1].name) &&
                add_file(l, part->files->file[f].name) != ASSAY_OK)
                return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* Is it the directory or file of a step that nobody asked for? */
static int take_other(void *context, const char *path)
{
    return assay_dict_add(context, path, strlen(path)) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

/* Files of the root that belong to no step: training_args.bin. */
static int add_beside(looking *l)
{
    const assay_catalog *catalog = &l->trial->catalog;
    assay_dict *others = assay_dict_new();
    assay_names names = {0};
    int status = others ? ASSAY_OK : ASSAY_ENOMEM;
    bool whole = false; /* the root is a checkpoint itself */
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++)
        if (!is_asked(l, catalog->units[i].step))
            status = assay_unit_places(l->trial->store, catalog, &catalog->units[i], take_other, others);
    if (status == ASSAY_OK && assay_store_list(l->trial->store, "", &names, NULL) != ASSAY_OK)
        names.count = 0;
    if (catalog->unit_count > 0) {
        const int64_t step = catalog->units[catalog->unit_count - 1].step;
        assay_dict *places = assay_dict_new();
        status = places ? assay_unit_places(l->trial->store, catalog, &catalog->units[catalog->unit_count - 1],
                                            take_other, places)
                        : ASSAY_ENOMEM;
        whole = status == ASSAY_OK && assay_dict_find(places, ".", 1) != ASSAY_NO_ID && is_asked(l, step);
        assay_dict_free(places);
        l->step = whole ? step : -1;
    }
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        if (assay_dict_find(others, names.name[i], strlen(names.name[i])) != ASSAY_NO_ID)
            continue;
        if (assay_store_exists(l->trial->store, names.name[i], NULL) == 1)
            status = add_file(l, names.name[i]);
        else if (whole)
            status = add_directory(l, names.name[i], 1);
    }
    assay_names_release(&names);
    assay_dict_free(others);
    return status;
}

/* ---- what was read already ---- */

static int put_key(assay_buf *key, const char *path, uint64_t offset, uint64_t length)
{
    assay_buf_clear(key);
    assay_put_format(key, "%s", path);
    assay_put_u8(key, '\0');
    assay_put_u64(key, offset);
    assay_put_u64(key, length);
    return assay_buf_status(key);
}

static int note_summed(looking *l)
{
    const assay_shard *shard = &l->trial->shard;
    assay_buf key;
    int status = ASSAY_OK;
    assay_buf_init(&key, SIZE_MAX);
    for (size_t p = 0; p < shard->count && status == ASSAY_OK; p++) {
        const assay_part *part = &shard->parts[p];
        const assay_trial_format *format = assay_format_of(part->format);
        for (size_t e = part->first; e < part->first + part->count && status == ASSAY_OK; e++) {
            const assay_entry *entry = &shard->entries[e];
            const assay_file *file =
                part->files && entry->file < part->files->count ? &part->files->file[entry->file] : NULL;
            assay_note_facts facts;
            if (!is_asked(l, part->step) || !format->note_facts || !file || !file->note ||
                !format->note_facts(file->note, file->note_size, &facts) || !facts.summed)
                continue;
            status = put_key(&key, file->name, entry->offset, entry->length);
            if (status == ASSAY_OK && assay_dict_add(l->summed, (const char *)key.data, key.size) == ASSAY_NO_ID)
                status = ASSAY_ENOMEM;
        }
    }
    assay_buf_release(&key);
    return status;
}

static int add_sum(void *context, const assay_entry_sum *sum)
{
    looking *l = context;
    const char *path = assay_dict_name(l->files, l->at->file, NULL);
    assay_buf key = ASSAY_BUF(SIZE_MAX);
    int status = put_key(&key, path, sum->offset, sum->stored);
    ASSAY_THEN(status, assay_verify_origin(l->trial->store, path, l->at->step, sum->name, l->remarks));
    const bool read = status == ASSAY_OK && assay_dict_find(l->summed, (const char *)key.data, key.size) != ASSAY_NO_ID;
    assay_buf_release(&key);
    if (status != ASSAY_OK || read)
        return status;
    task *t = ASSAY_VEC_ADD(&l->tasks);
    ASSAY_HAVE(t);
    *t = (task){l->at->file, l->at->step, sum->offset, sum->stored, sum->size, sum->crc, sum->method, NULL};
    t->name = assay_copy_text(sum->name);
    return t->name ? ASSAY_OK : ASSAY_ENOMEM;
}

/* ---- pickles ---- */

static int add_loading(void *context, const char *where, const assay_loading *found)
{
    looking *l = context;
    const char *path = assay_dict_name(l->files, l->at->file, NULL);
    assay_buf text = ASSAY_BUF(1 << 16);
    assay_verify_put_loading(path, where, found, &text);
    const bool code = found->grade == ASSAY_LOADING_CODE || l->options->strict;
    int status = assay_buf_status(&text);
    ASSAY_THEN(status, assay_verify_remark_add(l->remarks, code ? ASSAY_VERIFY_CODE : ASSAY_VERIFY_NOTE, l->at->step,
                                               path, (const char *)text.data));
    assay_buf_release(&text);
    return status;
}

/* Is it, by its name, a file of tensors that was packed as a whole? No .tar: many call so what torch.save() writes. */
static bool is_packed(const char *path)
{
    const size_t length = strlen(path), inner = assay_suffix_before(path, length, ASSAY_SUFFIX_PACKED);
    return inner < length && assay_suffix_before(path, inner, ASSAY_SUFFIX_TENSORS) < inner;
}

/* Random numbers that Accelerate keeps of each rank: a checkpoint is as sound without a word on them. */
static bool is_known(const char *path)
{
    return strncmp(assay_path_name(path), "random_states_", 14) == 0 && assay_path_ends(path, ".pkl");
}

/* A file of another program is named, lest one think that it was looked at. */
static int name_unread(looking *l, assay_store_file *file, const char *path)
{
    uint8_t head[16] = {0};
    const bool packed = is_packed(path);
    char text[512];
    size_t got = 0;
    assay_error what = {""};
    if (is_known(path) || assay_store_read_at(file, 0, head, sizeof head, &got, &what) != ASSAY_OK)
        return ASSAY_OK; /* whoever walks through it says so */
    const char *kind = packed ? "a packed file of tensors" : assay_verify_unread_kind(head, got, path);
    if (!kind)
        return ASSAY_OK;
    snprintf(text, sizeof text, "%s: it is %s, which is not read", path, kind);
    return assay_verify_remark_add(l->remarks, packed ? ASSAY_VERIFY_UNREAD : ASSAY_VERIFY_NOTE, l->at->step, path,
                                   text);
}

static int add_unseen(void *context, const char *where, const char *what, bool beside)
{
    looking *l = context;
    const char *path = assay_dict_name(l->files, l->at->file, NULL);
    char text[1024];
    snprintf(text, sizeof text, "%s: %s%s%s", path, where, *where ? ": " : "", what);
    return assay_verify_remark_add(l->remarks, beside ? ASSAY_VERIFY_NOTE : ASSAY_VERIFY_UNREAD, l->at->step, path,
                                   text);
}

/* ---- on rank 0 ---- */

/* Files that loaders parse; what else is called .json may be lines of it. */
static bool is_parsed(const char *path)
{
    static const char *const ends[] = {"config.json",    ".index.json",    "trainer_state.json",
                                       "/metadata.json", "tokenizer.json", "special_tokens_map.json"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (assay_path_ends(path, ends[i]))
            return true;
    return false;
}

/* Those of them that have nothing but an object. */
static bool is_object(const char *path)
{
    return is_parsed(path) && !assay_path_ends(path, "/metadata.json");
}

/* Is the file no JSON as Python reads it? Of what is large, or nested deeper than is read, that is not said. */
static bool is_broken_json(assay_store_file *file)
{
    enum { MOST = 64 << 20 };
    const uint64_t size = assay_store_file_size(file);
    assay_pull json = {.loose = true};
    assay_error err = {""};
    size_t got = 0;
    char *text = size > 0 && size < MOST ? malloc((size_t)size) : NULL;
    bool broken = false;
    if (text && assay_store_read_at(file, 0, text, (size_t)size, &got, &err) == ASSAY_OK && got == size) {
        assay_pull_start(&json, text, got);
        assay_pull_skip(&json);
        broken = json.fault ? !strstr(json.fault, "nest") : assay_pull_peek(&json) != '\0' || json.at < json.end;
        broken = broken && !json.no_memory;
    }
    assay_pull_release(&json);
    free(text);
    return broken;
}

/* Does a JSON file not end as it begins, or is it none where a loader parses it? Trainers write NaN into theirs. */
static bool is_torn_json(assay_store_file *file, const char *path)
{
    enum { ENDS = 4096 };
    char head[ENDS], tail[ENDS];
    size_t first = 0, last = 0, from = 0;
    assay_error err = {""};
    const uint64_t size = assay_store_file_size(file);
    if (!assay_path_ends(path, ".json"))
        return false;
    if (assay_store_read_at(file, 0, head, sizeof head, &first, &err) != ASSAY_OK ||
        assay_store_read_at(file, size > ENDS ? size - ENDS : 0, tail, sizeof tail, &last, &err) != ASSAY_OK)
        return false; /* whoever needs it names that */
    while (from < first && strchr(" \t\r\n", head[from]) && head[from])
        from++;
    while (last > 0 && strchr(" \t\r\n", tail[last - 1]) && tail[last - 1])
        last--;
    if (from == first || last == 0)
        return true;
    return head[from] == '\0' || tail[last - 1] == '\0' || (head[from] == '{' && tail[last - 1] != '}') ||
           (head[from] == '[' && tail[last - 1] != ']') || (is_parsed(path) && is_broken_json(file)) ||
           (head[from] != '{' && is_object(path));
}

/* Does a file that begins as a pickle or a zip file, which torch.save() writes, not end as one? What begins otherwise may be
 * packed, but for what Accelerate is known to write. */
static bool is_torn_pickle(assay_store_file *file, const char *path)
{
    enum { ZIP_END = 22, HEAD = 13 };
    static const uint8_t legacy[] = {0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50};
    uint8_t head[HEAD] = {0}, tail[ZIP_END] = {0};
    size_t first = 0, last = 0;
    assay_error err = {""};
    const uint64_t size = assay_store_file_size(file);
    if (!assay_path_ends(path, ".pkl") || size == 0)
        return false; /* an empty one is told by its neighbours */
    if (assay_store_read_at(file, 0, head, sizeof head, &first, &err) != ASSAY_OK ||
        assay_store_read_at(file, size > ZIP_END ? size - ZIP_END : 0, tail, sizeof tail, &last, &err) != ASSAY_OK)
        return false; /* whoever needs it names that */
    if (last == 0)
        return false; /* it became empty meanwhile */
    if (memcmp(head, "PK\3\4", 4) == 0)
        return last < ZIP_END || memcmp(tail, "PK\5\6", 4) != 0;
    if (assay_loading_is_pickle(head, first)) /* torch before 1.6 has bytes of tensors behind its pickles */
        return tail[last - 1] != '.' && memcmp(head + 2, legacy, sizeof legacy) != 0;
    return is_known(path);
}

/* Has whoever read the trial named what is wrong at this place of a file (UINT64_MAX: anywhere in it)? */
static bool is_named(const looking *l, const char *path, uint64_t offset)
{
    for (size_t i = 0; i < l->problems->kept; i++) {
        const assay_problem *p = &l->problems->list[i];
        if (strcmp(p->file, path) == 0 && (offset == UINT64_MAX || (p->offset >= 0 && (uint64_t)p->offset == offset)))
            return true;
    }
    return false;
}

/* What cannot be opened or read is named, unless it is already. */
static int name_unreadable(looking *l, const char *path, int status, const assay_error *what, assay_error *err)
{
    if (status == ASSAY_ENOTFOUND || status == ASSAY_EIO) {
        if (!is_named(l, path, UINT64_MAX))
            assay_problems_add(l->problems, ASSAY_PROBLEM_READ, l->at->step, path, -1, "%s", what->text);
        return ASSAY_OK;
    }
    if (status != ASSAY_OK)
        *err = *what;
    return status;
}

/* The ranges [first, end), which are of one file. */
static int walk_file(looking *l, size_t first, size_t end, const assay_archive_visitor *visitor, assay_error *err)
{
    const char *path = assay_dict_name(l->files, l->ranges.list[first].file, NULL);
    const size_t said = l->remarks->count;
    bool code = false;
    assay_store_file *file = NULL;
    assay_error what = {""};
    l->at = &l->ranges.list[first];
    int status = assay_store_open_file(l->trial->store, path, &file, &what);
    if (status == ASSAY_OK && is_torn_json(file, path))
        assay_problems_add(l->problems, ASSAY_PROBLEM_HEADER, l->at->step, path, -1,
                           is_object(path) ? "%s: it is empty, or not one object of JSON from its beginning to its end"
                                           : "%s: it is empty, or no JSON from its beginning to its end",
                           path);
    if (status == ASSAY_OK && is_torn_pickle(file, path))
        assay_problems_add(l->problems, ASSAY_PROBLEM_HEADER, l->at->step, path, -1,
                           "%s: it is cut short, or no file as torch.save() and pickle write it", path);
    for (size_t i = first; i < end && status == ASSAY_OK; i++) {
        l->at = &l->ranges.list[i];
        status = assay_archive_walk(file, path, l->at->offset, l->at->length, visitor, &what);
        status = name_unreadable(l, path, status, &what, err);
    }
    for (size_t i = said; i < l->remarks->count; i++)
        code = code || l->remarks->list[i].state == ASSAY_VERIFY_CODE;
    const bool quiet = l->remarks->count == said;
    size_t tail = l->remarks->count;
    const uint32_t ends = assay_dict_count(l->ended);
    if (status == ASSAY_OK && !code && assay_dict_add(l->ended, path, strlen(path)) == ASSAY_NO_ID)
        status = ASSAY_ENOMEM;
    if (status == ASSAY_OK && assay_dict_count(l->ended) > ends)
        status = assay_archive_walk_tail(file, path, visitor, &what);
    while (tail < l->remarks->count && l->remarks->list[tail].state != ASSAY_VERIFY_CODE)
        tail++;
    if (status == ASSAY_OK && ((quiet && tail == l->remarks->count) || (is_packed(path) && !code)))
        status = name_unread(l, file, path);
    assay_store_close_file(file);
    return name_unreadable(l, path, status, &what, err);
}

static int walk_ranges(looking *l, assay_error *err)
{
    const assay_archive_visitor visitor = {
        .context = l, .sum = add_sum, .loading = add_loading, .unseen = add_unseen, .most = l->options->memory / 4};
    int status = ASSAY_OK;
    for (size_t i = 0, end = 0; i < l->ranges.count && status == ASSAY_OK; i = end) {
        while (end < l->ranges.count && l->ranges.list[end].file == l->ranges.list[i].file)
            end++;
        status = walk_file(l, i, end, &visitor, err);
    }
    return status;
}

static int list(looking *l, assay_error *err)
{
    l->files = assay_dict_new();
    l->summed = assay_dict_new();
    l->divided = assay_dict_new();
    l->ended = assay_dict_new();
    l->places = assay_dict_new();
    int status = l->files && l->summed && l->divided && l->ended && l->places ? note_summed(l) : ASSAY_ENOMEM;
    ASSAY_THEN(status, add_units(l));
    ASSAY_THEN(status, add_parts(l));
    ASSAY_THEN(status, add_beside(l));
    ASSAY_THEN(status, walk_ranges(l, err));
    ASSAY_THEN(status, assay_verify_kept(l->trial, l->options, l->remarks));
    ASSAY_THEN(status, assay_verify_gap(l->trial, l->options->from, l->options->to, l->problems));
    ASSAY_THEN(status, assay_verify_lacking(l->trial, l->options, l->problems, l->remarks));
    if (status == ASSAY_OK) /* listings that failed */
        assay_problems_take_notes(l->problems, l->trial->store, -1,
                                  "what lies there may have been left out of what was looked at");
    ASSAY_THEN(status, assay_verify_zeros(l->trial, l->options, l->remarks, err));
    ASSAY_THEN(status, assay_verify_stale(l->trial, l->options, l->remarks, err));
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "out of memory while files are listed") : status;
}

/* ---- sums, on all ranks ---- */

static void pack(const looking *l, assay_buf *out)
{
    assay_put_u64(out, l->tasks.count);
    for (size_t i = 0; i < l->tasks.count; i++) {
        const task *t = &l->tasks.list[i];
        size_t length = 0;
        const char *path = assay_dict_name(l->files, t->file, &length);
        assay_put_u64(out, length);
        assay_put_bytes(out, path, length);
        assay_put_u64(out, t->offset);
        assay_put_u64(out, t->stored);
        assay_put_u64(out, t->size);
        assay_put_u32(out, t->crc);
        assay_put_u32(out, t->method);
    }
}

typedef struct range_reader {
    assay_store_file *file;
    const char *path;
} range_reader;

static int read_file(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    const range_reader *r = context;
    size_t got = 0;
    const int status = assay_store_read_at(r->file, at, bytes, size, &got, err);
    return status == ASSAY_OK && got != size
               ? assay_fail(err, ASSAY_EIO, "%s: the file became shorter while it was read", r->path)
               : status;
}

/* The checksum of a task's bytes. ASSAY_EFORMAT: they cannot be inflated. */
static int sum_of(range_reader *r, const task *t, uint8_t *block, uint32_t *sum, assay_error *err)
{
    const assay_packed_source source = {read_file, r, r->path};
    int status = ASSAY_OK;
    assay_inflater *inflater = t->method == ASSAY_ZIP_STORED
                                   ? NULL
                                   : assay_inflater_new((assay_zip_method)t->method, t->offset, t->offset + t->stored);
    if (t->method != ASSAY_ZIP_STORED && !inflater)
        return ASSAY_ENOMEM;
    *sum = 0;
    for (uint64_t done = 0; done < t->size && status == ASSAY_OK;) {
        const size_t size = t->size - done < BLOCK ? (size_t)(t->size - done) : BLOCK;
        status = inflater ? assay_inflater_next(inflater, &source, block, size, err)
                          : read_file(r, t->offset + done, block, size, err);
        if (status == ASSAY_OK)
            *sum = assay_crc32(*sum, block, size);
        done += size;
    }
    assay_inflater_free(inflater);
    return status;
}

enum { GOOD, WRONG, UNREADABLE, UNSUPPORTED };

/* Computes every task whose number is this rank's turn; of each that is not good: number, what, sum, text. */
static int compute(assay_comm *comm, const char *trial, assay_cursor *in, assay_buf *out, assay_error *err)
{
    const uint64_t count = assay_get_u64(in);
    const uint64_t rank = (uint64_t)assay_comm_rank(comm), ranks = (uint64_t)assay_comm_size(comm);
    uint8_t *block = NULL;
    assay_store *store = NULL;
    range_reader r = {NULL, NULL};
    char open[ASSAY_PATH_ROOM] = "";
    int status = ASSAY_OK;
    if (count > rank) {
        block = assay_alloc(BLOCK);
        status = block ? assay_store_open(trial, &store, err) : ASSAY_ENOMEM;
    }
    for (uint64_t i = 0; i < count && status == ASSAY_OK; i++) {
        char path[ASSAY_PATH_ROOM];
        task t = {0};
        const uint64_t length = assay_get_u64(in);
        const char *name = (const char *)assay_get_bytes(in, (size_t)length);
        t.offset = assay_get_u64(in);
        t.stored = assay_get_u64(in);
        t.size = assay_get_u64(in);
        t.crc = assay_get_u32(in);
        t.method = assay_get_u32(in);
        if (in->failed || length >= sizeof path) {
            status = assay_fail(err, ASSAY_EINTERNAL, "the list of checksums is damaged");
            break;
        }
        if (i % ranks != rank)
            continue;
        memcpy(path, name, (size_t)length);
        path[length] = '\0';
        assay_error what = {""};
        uint32_t sum = 0;
        int found = ASSAY_OK;
        if (!r.file || strcmp(open, path) != 0) {
            assay_store_close_file(r.file);
            r.file = NULL;
            memcpy(open, path, sizeof open);
            r.path = open;
            found = assay_store_open_file(store, path, &r.file, &what);
        }
        ASSAY_THEN(found, sum_of(&r, &t, block, &sum, &what));
        if (found == ASSAY_ENOMEM)
            status = assay_fail(err, found, "%s: out of memory", path);
        if (found == ASSAY_OK && sum == t.crc)
            continue;
        assay_put_u64(out, i);
        assay_put_u32(out, found == ASSAY_OK || found == ASSAY_EFORMAT ? WRONG
                           : found == ASSAY_EUNSUPPORTED               ? UNSUPPORTED
                                                                       : UNREADABLE);
        assay_put_u32(out, sum);
        assay_put_u64(out, strlen(what.text));
        assay_put_bytes(out, what.text, strlen(what.text));
    }
    assay_store_close_file(r.file);
    assay_store_close(store);
    free(block);
    if (status == ASSAY_OK && assay_buf_status(out) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for checksums");
    return status;
}

/* ---- what is wrong ---- */

/* Appends the tensors that have something in the bytes of a task: "it has a.weight and 2 more". */
static void put_tensors(const looking *l, const task *t, const char *path, assay_buf *out)
{
    const assay_shard *shard = &l->trial->shard;
    size_t count = 0;
    uint32_t first = 0;
    for (size_t p = assay_shard_find(shard, t->step); p < shard->count && shard->parts[p].step == t->step; p++) {
        const assay_part *part = &shard->parts[p];
        const assay_trial_format *format = assay_format_of(part->format);
        uint32_t own = UINT32_MAX; /* the file's number among those that pieces name */
        for (uint32_t f = 0; part->files && f < part->files->count && !part->files->file[f].note; f++)
            if (strcmp(part->files->file[f].name, path) == 0)
                own = f;
        for (size_t e = part->first; e < part->first + part->count; e++) {
            const assay_entry *entry = &shard->entries[e];
            const assay_file *file =
                part->files && entry->file < part->files->count ? &part->files->file[entry->file] : NULL;
            const bool here = file && strcmp(file->name, path) == 0 && entry->offset < t->offset + t->stored &&
                              entry->offset + entry->length > t->offset;
            if (!file ||
                (!here && !(format->note_reaches && file->note &&
                            format->note_reaches(file->note, file->note_size, own, t->offset, t->offset + t->stored))))
                continue;
            first = count++ ? first : entry->tensor;
        }
    }
    if (count > 0)
        assay_put_format(out, "; it has %s", assay_dict_name(l->trial->tensors, first, NULL));
    if (count > 1)
        assay_put_format(out, " and %zu more tensor%s", count - 1, assay_plural(count - 1));
}

typedef struct failure {
    uint64_t number;
    uint32_t what, sum;
    const char *text;
    uint64_t length;
} failure;

ASSAY_ORDER_BY(compare_failures, failure, number)

static void name_failure(looking *l, const failure *f)
{
    static const int kinds[] = {
        [WRONG] = ASSAY_PROBLEM_RECORD, [UNREADABLE] = ASSAY_PROBLEM_READ, [UNSUPPORTED] = ASSAY_PROBLEM_UNSUPPORTED};
    const task *t = &l->tasks.list[f->number];
    const char *path = assay_dict_name(l->files, t->file, NULL);
    if (is_named(l, path, t->offset))
        return;
    assay_buf text = ASSAY_BUF(1 << 16);
    if (f->length > 0)
        assay_put_format(&text, "%.*s", (int)f->length, f->text);
    else
        assay_put_format(&text,
                         "%s: offset %llu: %s is not what its CRC-32 says (%08x, not %08x): its bytes were changed "
                         "after they were written",
                         path, (unsigned long long)t->offset, t->name, f->sum, t->crc);
    put_tensors(l, t, path, &text);
    assay_put_u8(&text, '\0');
    if (assay_buf_status(&text) == ASSAY_OK)
        assay_problems_add(l->problems, kinds[f->what], t->step, path, (int64_t)t->offset, "%s",
                           (const char *)text.data);
    else
        l->status = ASSAY_ENOMEM;
    assay_buf_release(&text);
}

static int name_failures(looking *l, const assay_buf *all)
{
    ASSAY_VEC(failure) failures = {0};
    assay_cursor in = assay_cursor_over(all->data, all->size);
    while (in.at < in.size && !in.failed) {
        failure *f = ASSAY_VEC_ADD(&failures);
        if (!f) {
            free(failures.list);
            return ASSAY_ENOMEM;
        }
        f->number = assay_get_u64(&in);
        f->what = assay_get_u32(&in);
        f->sum = assay_get_u32(&in);
        f->length = assay_get_u64(&in);
        f->text = (const char *)assay_get_bytes(&in, (size_t)f->length);
    }
    if (failures.count > 1)
        qsort(failures.list, failures.count, sizeof *failures.list, compare_failures);
    for (size_t i = 0; i < failures.count; i++)
        if (failures.list[i].number < l->tasks.count)
            name_failure(l, &failures.list[i]);
    free(failures.list);
    return l->status;
}

int assay_verify_beyond(assay_comm *comm, const char *trial, const assay_trial_files *files,
                        const assay_verify_options *options, assay_problems *problems, assay_verify_remarks *remarks,
                        assay_error *err)
{
    looking l = {.trial = files, .options = options, .problems = problems, .remarks = remarks, .step = -1};
    uint64_t *starts = calloc((size_t)assay_comm_size(comm) + 1, sizeof *starts);
    assay_buf tasks, mine, all;
    assay_buf_init(&tasks, SIZE_MAX);
    assay_buf_init(&mine, SIZE_MAX);
    assay_buf_init(&all, SIZE_MAX);
    int status = starts ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK && files)
        status = list(&l, err);
    if (status == ASSAY_OK && files) {
        pack(&l, &tasks);
        status = assay_buf_status(&tasks);
    }
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &tasks));
    if (status == ASSAY_OK) {
        assay_cursor in = assay_cursor_over(tasks.data, tasks.size);
        status = assay_comm_agree(comm, compute(comm, trial, &in, &mine, err), err);
    }
    ASSAY_THEN(status, assay_comm_gather(comm, 0, &mine, &all, starts));
    ASSAY_THEN(status, assay_comm_agree(comm, files ? name_failures(&l, &all) : ASSAY_OK, err));
    ASSAY_THEN(status, assay_verify_forms(comm, trial, files, options, problems, remarks, err));
    for (size_t i = 0; i < l.tasks.count; i++)
        free(l.tasks.list[i].name);
    free(l.tasks.list);
    free(l.ranges.list);
    assay_dict_free(l.files);
    assay_dict_free(l.summed);
    assay_dict_free(l.divided);
    assay_dict_free(l.ended);
    assay_dict_free(l.places);
    assay_buf_release(&tasks);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    free(starts);
    return status;
}
