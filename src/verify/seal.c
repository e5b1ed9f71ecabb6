/* seal.c - writes seals, and holds checkpoints against them. */
#include "verify/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/path.h"
#include "base/search.h"
#include "base/vec.h"
#include "report/output.h"
#include "trial/lone.h"
#include "trial/places.h"
#include "trial/trial_format.h"
#include "verify/seal_digest.h"

static const char NAME[] = "assay-seal";
enum { SEAL_MOST = 256 << 20, BELOW_MOST = 4 };

/* A checkpoint with its own seal. */
typedef struct sealing {
    int64_t step;
    char *place;       /* directory or file below the root; "" for the root itself; owned */
    bool file;         /* the place is one */
    size_t first, end; /* its files in `files` */
    bool found;        /* it has a seal */
} sealing;

typedef struct seals {
    const assay_trial_files *trial;
    char *root; /* directory that paths are below; owned */
    char *lone; /* name of the trial's only file in it, of a trial that is a file; owned; NULL */
    ASSAY_VEC(sealing) units;
    assay_seal_files files;
    assay_problems *problems; /* of a check, which goes on without what cannot be listed; NULL: of all a seal is made */
    assay_error *err;
} seals;

static void release(seals *s)
{
    for (size_t i = 0; i < s->units.count; i++)
        free(s->units.list[i].place);
    free(s->units.list);
    free(s->root);
    free(s->lone);
    assay_seal_files_release(&s->files);
}

/* A trial that is one file has its seal beside it. */
static int find_root(seals *s, const char *trial)
{
    const char *name = assay_path_name(trial);
    if (!assay_lone_is_named(trial, ASSAY_LONE_TENSORS) && !assay_lone_begins(trial, ASSAY_LONE_TENSORS)) {
        s->root = assay_copy_text(trial);
        return s->root ? ASSAY_OK : ASSAY_ENOMEM;
    }
    s->lone = assay_copy_text(name);
    s->root = name == trial ? assay_copy_text(".") : assay_copy_bytes_as_text(trial, (size_t)(name - trial));
    return s->root && s->lone ? ASSAY_OK : ASSAY_ENOMEM;
}

static void put_name(const sealing *u, const char *end, char out[ASSAY_PATH_MOST])
{
    snprintf(out, ASSAY_PATH_MOST, "%s%s%s%s", u->place, u->file ? "." : *u->place ? "/" : "", NAME, end);
}

static bool is_seal(const char *name)
{
    return strstr(name, "assay-seal.") != NULL;
}

/* ---- which files ---- */

static int add_file(seals *s, const char *path)
{
    assay_seal_file *f = is_seal(assay_path_name(path)) ? NULL : ASSAY_VEC_ADD(&s->files);
    if (is_seal(assay_path_name(path)))
        return ASSAY_OK;
    return f && (f->path = assay_copy_text(path)) ? ASSAY_OK : ASSAY_ENOMEM;
}

static int add_directory(seals *s, const char *directory, int depth)
{
    assay_names names = {0};
    assay_error why = {""};
    int status = assay_store_list(s->trial->store, directory, &names, &why);
    if (status != ASSAY_OK && status != ASSAY_ENOMEM && s->problems) {
        assay_store_note(s->trial->store, directory, why.text);
        status = ASSAY_OK;
    }
    if (status != ASSAY_OK)
        return assay_fail(s->err, status, "%s: %s", directory, why.text);
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        char *path = assay_path_join(directory, names.name[i]);
        if (!path)
            status = ASSAY_ENOMEM;
        else if (assay_store_exists(s->trial->store, path, NULL) == 1)
            status = add_file(s, path);
        else if (depth < BELOW_MOST)
            status = add_directory(s, path, depth + 1);
        free(path);
    }
    assay_names_release(&names);
    return status;
}

static int add_unit(void *context, const char *path)
{
    seals *s = context;
    sealing *u = &s->units.list[s->units.count - 1];
    if (u->place)
        return ASSAY_OK;
    const bool root = strcmp(path, ".") == 0;
    u->place = assay_copy_text(s->lone ? s->lone : root ? "" : path);
    u->file = s->lone || (!root && assay_store_exists(s->trial->store, path, NULL) == 1);
    u->first = s->files.count;
    int status = u->place ? ASSAY_OK : ASSAY_ENOMEM;
    ASSAY_THEN(status, u->file ? add_file(s, u->place) : add_directory(s, u->place, 0));
    u->end = s->files.count;
    return status;
}

static int list_units(seals *s, int64_t from, int64_t to)
{
    const assay_catalog *catalog = &s->trial->catalog;
    int status = ASSAY_OK;
    for (size_t i = 0; i < catalog->unit_count && status == ASSAY_OK; i++) {
        const assay_unit *unit = &catalog->units[i];
        if (unit->step < from || unit->step >= to || !assay_format_of(unit->format)->checkpoints ||
            (s->units.count > 0 && s->units.list[s->units.count - 1].step == unit->step))
            continue;
        sealing *u = ASSAY_VEC_ADD(&s->units);
        ASSAY_HAVE(u);
        u->step = unit->step;
        status = assay_unit_places(s->trial->store, catalog, unit, add_unit, s);
    }
    return status;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const assay_seal_file *)a)->path, ((const assay_seal_file *)b)->path);
}

ASSAY_ORDER_BY(compare_ranges, assay_seal_range, offset)

/* The tensors that lie in a range of a file each. Those in pieces have none, nor has one that lies over another. */
static int add_ranges(seals *s, const sealing *u)
{
    const assay_shard *shard = &s->trial->shard;
    for (size_t p = assay_shard_find(shard, u->step); p < shard->count && shard->parts[p].step == u->step; p++) {
        const assay_part *part = &shard->parts[p];
        for (size_t e = part->first; e < part->first + part->count; e++) {
            char room[ASSAY_PATH_ROOM];
            const assay_entry *entry = &shard->entries[e];
            const char *path = assay_part_file(&s->trial->catalog, part, entry->file, room);
            const assay_seal_file key = {.path = (char *)(s->lone ? s->lone : path)};
            assay_seal_file *f = path && entry->length > 0 ? bsearch(&key, s->files.list + u->first, u->end - u->first,
                                                                     sizeof *s->files.list, compare_files)
                                                           : NULL;
            assay_seal_range *r = f ? ASSAY_VEC_ADD(f) : NULL;
            if (!f)
                continue;
            ASSAY_HAVE(r);
            r->offset = entry->offset;
            r->bytes = entry->length;
            r->name = assay_copy_text(assay_dict_name(s->trial->tensors, entry->tensor, NULL));
            ASSAY_HAVE(r->name);
        }
    }
    for (size_t i = u->first; i < u->end; i++) {
        assay_seal_file *f = &s->files.list[i];
        size_t kept = 0;
        if (f->count > 1)
            qsort(f->list, f->count, sizeof *f->list, compare_ranges);
        for (size_t r = 0; r < f->count; r++) {
            if (kept > 0 && f->list[r].offset < f->list[kept - 1].offset + f->list[kept - 1].bytes)
                free(f->list[r].name);
            else
                f->list[kept++] = f->list[r];
        }
        f->count = kept;
    }
    return ASSAY_OK;
}

/* ---- writing ---- */

/* The path of a file as its seal has it: below the seal's own directory. */
static const char *own_path(const sealing *u, const char *path)
{
    if (u->file)
        return assay_path_name(path);
    return path + strlen(u->place) + (*u->place ? 1 : 0);
}

static void put_json(const seals *s, const sealing *u, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    assay_jw_line(&w, 2);
    assay_jw_text(&w, "schema", "assay-seal/1");
    assay_jw_line(&w, 2);
    assay_jw_i64(&w, "step", u->step);
    assay_jw_line(&w, 2);
    assay_jw_array(&w, "files");
    for (size_t i = u->first; i < u->end; i++) {
        const assay_seal_file *f = &s->files.list[i];
        assay_jw_line(&w, 4);
        assay_jw_object(&w, NULL);
        assay_jw_text(&w, "file", own_path(u, f->path));
        assay_jw_u64(&w, "bytes", f->bytes);
        assay_jw_text(&w, "sha256", f->sha256);
        assay_jw_array(&w, "tensors");
        for (size_t r = 0; r < f->count; r++) {
            assay_jw_line(&w, 6);
            assay_jw_object(&w, NULL);
            assay_jw_text(&w, "tensor", f->list[r].name);
            assay_jw_u64(&w, "offset", f->list[r].offset);
            assay_jw_u64(&w, "bytes", f->list[r].bytes);
            assay_jw_format(&w, "crc32c", "%08x", f->list[r].crc);
            assay_jw_end(&w);
        }
        assay_jw_end(&w);
        assay_jw_end(&w);
    }
    assay_jw_line(&w, 2);
    assay_jw_end(&w);
    assay_jw_line(&w, 0);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
}

/* The seal goes first: a list for sha256sum without it is what is left of a seal that is gone. */
static int write_seal(const seals *s, const sealing *u, assay_output *output, assay_error *err)
{
    char name[ASSAY_PATH_MOST];
    assay_buf text = ASSAY_BUF(SEAL_MOST);
    put_json(s, u, &text);
    put_name(u, ".json", name);
    int status = assay_buf_status(&text);
    ASSAY_THEN(status, assay_output_write(output, name, text.data, text.size, err));
    assay_buf_clear(&text);
    for (size_t i = u->first; i < u->end; i++)
        assay_put_format(&text, "%s  %s\n", s->files.list[i].sha256, own_path(u, s->files.list[i].path));
    put_name(u, ".sha256", name);
    ASSAY_THEN(status, assay_buf_status(&text));
    ASSAY_THEN(status, assay_output_write(output, name, text.data, text.size, err));
    assay_buf_release(&text);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "%s: out of memory", name) : status;
}

/* Is something of the step damaged or missing? It is not to be sealed as it is. */
static bool is_whole(const seals *s, const sealing *u, const char **why)
{
    const assay_problems *p = &s->trial->problems;
    for (size_t i = 0; i < p->kept; i++)
        if (p->list[i].step == u->step && assay_problem_is_loss(p->list[i].kind)) {
            *why = p->list[i].text;
            return false;
        }
    for (size_t i = u->first; i < u->end; i++)
        if (s->files.list[i].failure) {
            *why = s->files.list[i].failure;
            return false;
        }
    return true;
}

static bool is_listed(const seals *s, int64_t step)
{
    for (size_t i = 0; i < s->units.count; i++)
        if (s->units.list[i].step == step)
            return true;
    return false;
}

/* Checkpoints that could not be listed cannot be sealed; the warning says what could not be looked at. */
static size_t name_unlisted(const seals *s, const assay_seal_options *options)
{
    const assay_problems *p = &s->trial->problems;
    size_t count = 0;
    for (size_t i = 0; i < p->kept; i++) {
        const int64_t step = p->list[i].step;
        const bool asked = step < 0 || (step >= options->from && step < options->to);
        if (!asked || !assay_problem_is_loss(p->list[i].kind) || is_listed(s, step))
            continue;
        assay_log_warn("not sealed: %s", p->list[i].text);
        count++;
    }
    return count;
}

static bool has_seal(const seals *s, const sealing *u, assay_store *root)
{
    char name[ASSAY_PATH_MOST];
    (void)s;
    put_name(u, ".json", name);
    return assay_store_exists(root, name, NULL) == 1;
}

/* On rank 0: what is to be sealed. Units that have a seal or are not whole lose their files. */
static int choose(seals *s, const assay_seal_options *options, assay_seal_figures *out, assay_error *err)
{
    assay_store *root = NULL;
    int status = assay_store_open(s->root, &root, err);
    if (status != ASSAY_OK)
        return status;
    status = list_units(s, options->from, options->to);
    if (status == ASSAY_OK)
        out->refused += name_unlisted(s, options);
    size_t kept = 0;
    for (size_t i = 0; i < s->units.count && status == ASSAY_OK; i++) {
        sealing *u = &s->units.list[i];
        const char *why = NULL;
        u->found = !options->again && has_seal(s, u, root);
        const bool whole = is_whole(s, u, &why);
        if (!whole && !u->found)
            assay_log_warn("step %lld is not sealed: %s", (long long)u->step, why);
        out->kept += u->found;
        out->refused += !whole && !u->found;
        const size_t first = kept;
        for (size_t f = u->first; f < u->end; f++) {
            if (whole && !u->found) {
                s->files.list[kept++] = s->files.list[f];
                continue;
            }
            free(s->files.list[f].path);
        }
        u->first = first;
        u->end = kept;
        u->found = u->found || !whole;
        if (kept > first)
            qsort(s->files.list + first, kept - first, sizeof *s->files.list, compare_files);
    }
    s->files.count = kept;
    for (size_t i = 0; i < s->units.count && status == ASSAY_OK; i++)
        if (!s->units.list[i].found)
            status = add_ranges(s, &s->units.list[i]);
    assay_store_close(root);
    return status;
}

static int write_all(seals *s, assay_seal_figures *out, assay_error *err)
{
    assay_output *output = NULL;
    int status = assay_output_open(s->root, &output, err);
    for (size_t i = 0; i < s->units.count && status == ASSAY_OK; i++) {
        const sealing *u = &s->units.list[i];
        const char *why = NULL;
        if (u->found)
            continue;
        if (!is_whole(s, u, &why)) {
            assay_log_warn("step %lld is not sealed: %s", (long long)u->step, why);
            out->refused++;
            continue;
        }
        status = write_seal(s, u, output, err);
        out->sealed += status == ASSAY_OK;
        for (size_t f = u->first; f < u->end; f++) {
            out->files++;
            out->bytes += s->files.list[f].bytes;
        }
    }
    assay_output_close(output);
    return status;
}

/* Rank 0's figures to everyone. */
static int share(assay_comm *comm, assay_seal_figures *figures)
{
    uint64_t all[5] = {figures->sealed, figures->kept, figures->refused, figures->files, figures->bytes};
    const int status = assay_comm_sum(comm, all, 5);
    *figures = (assay_seal_figures){(size_t)all[0], (size_t)all[1], (size_t)all[2], all[3], all[4]};
    return status;
}

int assay_seal_make(assay_comm *comm, const char *trial, const assay_seal_options *options, assay_seal_figures *out,
                    assay_error *err)
{
    const bool first = assay_comm_rank(comm) == 0;
    assay_trial_files files = {0};
    seals s = {.trial = &files, .err = err};
    *out = (assay_seal_figures){0};
    int status = find_root(&s, trial);
    if (status == ASSAY_OK && first) {
        status = assay_trial_open(trial, &files, err);
        ASSAY_THEN(status, choose(&s, options, out, err));
    }
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_seal_digest(comm, s.root, &s.files, err));
    ASSAY_THEN(status, assay_comm_agree(comm, first ? write_all(&s, out, err) : ASSAY_OK, err));
    ASSAY_THEN(status, share(comm, out));
    release(&s);
    if (first)
        assay_trial_release(&files);
    return status;
}

/* ---- checking ---- */

static int text_of(const cJSON *object, const char *key, const char **out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = cJSON_IsString(item) ? item->valuestring : NULL;
    return *out != NULL;
}

static bool number_of(const cJSON *object, const char *key, uint64_t *out)
{
    int64_t value = 0;
    if (!assay_json_i64(cJSON_GetObjectItemCaseSensitive(object, key), &value) || value < 0)
        return false;
    *out = (uint64_t)value;
    return true;
}

static bool is_hex(const char *text, size_t digits)
{
    return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

/* What a seal says of one file. False: it is damaged. */
static bool take_file(const sealing *u, const cJSON *said, assay_seal_file *out)
{
    const char *name = NULL, *sha = NULL;
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(said, "tensors"), *t = NULL;
    if (!text_of(said, "file", &name) || !assay_path_is_inside(name, strlen(name)) || !text_of(said, "sha256", &sha) ||
        !is_hex(sha, 64) || !number_of(said, "bytes", &out->bytes) || !cJSON_IsArray(tensors))
        return false;
    const char *slash = u->file ? strrchr(u->place, '/') : NULL;
    char directory[ASSAY_PATH_MOST];
    snprintf(directory, sizeof directory, "%.*s",
             slash     ? (int)(slash - u->place)
             : u->file ? 0
                       : ASSAY_PATH_MOST - 1,
             u->place);
    memcpy(out->sha256, sha, 65);
    out->path = assay_path_join(directory, name);
    cJSON_ArrayForEach(t, tensors)
    {
        const char *tensor = NULL, *crc = NULL;
        assay_seal_range *r = ASSAY_VEC_ADD(out);
        if (!r || !text_of(t, "tensor", &tensor) || !text_of(t, "crc32c", &crc) || !is_hex(crc, 8) ||
            !number_of(t, "offset", &r->offset) || !number_of(t, "bytes", &r->bytes) || r->bytes > out->bytes ||
            r->offset > out->bytes - r->bytes)
            return false;
        r->crc = (uint32_t)strtoul(crc, NULL, 16);
        r->name = assay_copy_text(tensor);
        if (!r->name || (out->count > 1 && r->offset < r[-1].offset + r[-1].bytes))
            return false;
    }
    return out->path != NULL;
}

/* Reads the seal of a unit into `said`. 0, also where there is none; a damaged one becomes a problem. */
static int read_seal(const seals *s, sealing *u, assay_store *root, assay_seal_files *said, assay_problems *problems)
{
    char name[ASSAY_PATH_MOST];
    assay_buf text;
    assay_error err = {""};
    cJSON *json = NULL;
    put_name(u, ".json", name);
    u->first = u->end = said->count;
    if (!has_seal(s, u, root)) {
        char list[ASSAY_PATH_MOST];
        put_name(u, ".sha256", list);
        if (assay_store_exists(root, list, NULL) == 1)
            assay_problems_add(problems, ASSAY_PROBLEM_HEADER, u->step, name, -1,
                               "%s: the seal is gone, its list %s is there: nothing is held against it", name,
                               assay_path_name(list));
        return ASSAY_OK;
    }
    assay_buf_init(&text, SEAL_MOST);
    int status = assay_store_read(root, name, SEAL_MOST, &text, &err);
    ASSAY_THEN(status, assay_json_parse(name, text.data, text.size, &json, &err));
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(json, "files"), *file = NULL;
    const char *schema = NULL;
    int64_t step = 0; /* a checkpoint may be called otherwise since */
    bool good = status == ASSAY_OK && cJSON_GetArraySize(files) > 0 && cJSON_IsArray(files) &&
                text_of(json, "schema", &schema) && strcmp(schema, "assay-seal/1") == 0 &&
                assay_json_i64(cJSON_GetObjectItemCaseSensitive(json, "step"), &step);
    if (good)
        cJSON_ArrayForEach(file, files)
        {
            assay_seal_file *f = good ? ASSAY_VEC_ADD(said) : NULL;
            good = f && take_file(u, file, f);
        }
    if (!good)
        assay_seal_files_cut(said, u->first); /* what was read of it is not whole */
    if (!good && status != ASSAY_ENOMEM)
        assay_problems_add(problems, ASSAY_PROBLEM_HEADER, u->step, name, -1, "%s: the seal is damaged: %s", name,
                           err.text[0] ? err.text : "it is not as assay writes it");
    u->end = said->count;
    u->found = good;
    cJSON_Delete(json);
    assay_buf_release(&text);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* What differs between a file and its seal. */
static void compare(const assay_seal_file *is, const assay_seal_file *said, int64_t step, assay_problems *problems)
{
    const char *path = said->path;
    if (is->failure) {
        assay_problems_add(problems, ASSAY_PROBLEM_MISSING_SHARD, step, path, -1,
                           "%s: it was sealed and cannot be read: %s", path, is->failure);
        return;
    }
    if (is->bytes == said->bytes && strcmp(is->sha256, said->sha256) == 0)
        return;
    for (size_t r = 0; r < said->count && is->bytes == said->bytes; r++) {
        const assay_seal_range *range = &said->list[r];
        if (range->crc == is->list[r].crc)
            continue;
        size_t more = 0;
        for (size_t k = r + 1; k < said->count; k++)
            more += said->list[k].crc != is->list[k].crc;
        char others[64] = "";
        if (more > 0)
            snprintf(others, sizeof others, ", and %zu more tensor%s", more, assay_plural(more));
        assay_problems_add(problems, ASSAY_PROBLEM_RECORD, step, path, (int64_t)range->offset,
                           "%s: %s is not what was sealed (bytes %llu to %llu)%s", path, range->name,
                           (unsigned long long)range->offset, (unsigned long long)(range->offset + range->bytes - 1),
                           others);
        return;
    }
    assay_problems_add(problems, ASSAY_PROBLEM_RECORD, step, path, -1,
                       "%s: it is not what was sealed: %llu bytes then, %llu now%s", path,
                       (unsigned long long)said->bytes, (unsigned long long)is->bytes,
                       is->bytes == said->bytes ? ", none of them a tensor's" : "");
}

/* The same files and ranges, to be read now. */
static int copy_files(const assay_seal_files *said, assay_seal_files *out)
{
    for (size_t i = 0; i < said->count; i++) {
        assay_seal_file *f = ASSAY_VEC_ADD(out);
        if (!f || !(f->path = assay_copy_text(said->list[i].path)) || !ASSAY_VEC_RESERVE(f, said->list[i].count + 1))
            return ASSAY_ENOMEM;
        for (size_t r = 0; r < said->list[i].count; r++)
            f->list[f->count++] =
                (assay_seal_range){.offset = said->list[i].list[r].offset, .bytes = said->list[i].list[r].bytes};
    }
    return ASSAY_OK;
}

/* On rank 0: the seals of the steps. */
static int read_all(seals *s, int64_t from, int64_t to, assay_seal_files *said, assay_problems *problems,
                    assay_error *err)
{
    assay_store *root = NULL;
    int status = list_units(s, from, to);
    if (status == ASSAY_OK && s->lone)
        status = assay_store_open(s->root, &root, err);
    else if (status == ASSAY_OK)
        root = s->trial->store; /* it knows what was listed */
    assay_seal_files_release(&s->files);
    for (size_t i = 0; i < s->units.count && status == ASSAY_OK; i++)
        status = read_seal(s, &s->units.list[i], root, said, problems);
    ASSAY_THEN(status, copy_files(said, &s->files));
    if (root)
        assay_problems_take_notes(problems, root, -1, "a seal that lies there was not looked at");
    if (s->lone)
        assay_store_close(root);
    return status;
}

int assay_seal_check(assay_comm *comm, const char *trial, const assay_trial_files *files, int64_t from, int64_t to,
                     assay_problems *problems, assay_error *err)
{
    seals s = {.trial = files, .problems = problems, .err = err};
    assay_seal_files said = {0};
    int status = find_root(&s, trial);
    if (status == ASSAY_OK && files)
        status = read_all(&s, from, to, &said, problems, err);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_seal_digest(comm, s.root, &s.files, err));
    for (size_t i = 0; i < s.units.count && status == ASSAY_OK; i++)
        for (size_t f = s.units.list[i].first; f < s.units.list[i].end; f++)
            compare(&s.files.list[f], &said.list[f], s.units.list[i].step, problems);
    assay_seal_files_release(&said);
    release(&s);
    return status;
}
