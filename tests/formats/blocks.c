/* blocks.c - "blocks", a format for tests: checkpoints whose index knows all of their records.
 *
 *     block-STEP/WORKER.index                                 a row a line, the last one "end ROWS"
 *         mode TRAIN 3                                        else GLOBAL
 *         NAME f4 2x3 plain FILE OFFSET                       elements as they lie
 *         NAME f4 2x3 strided FILE OFFSET 4,8                 bytes between neighbours, by dimension
 *         NAME f4 2x3 deflate FILE OFFSET LENGTH              a zlib stream
 *         NAME f4 6x3 pieces 0 FILE OFFSET 2 FILE OFFSET 4    along a dimension, so much of it each
 *         NAME f8 - value 0.25                                in the index itself
 *
 * FILE is a path below the trial's root; several rows may name one. */
#include <assay/rule.h>

#include <stdio.h>

#include "base/fault.h"
#include "blocks.h"
#include "trial/shard.h"
#include "words.h"

static const char PREFIX[] = "block-", SUFFIX[] = ".index";
enum { INDEX_MOST = 1 << 24, ROWS_MOST = 1 << 16 };

static bool step_of(const char *name, int64_t *step)
{
    return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0 && is_whole(name + sizeof PREFIX - 1, step);
}

static bool probe(const assay_names *top)
{
    int64_t step;
    for (size_t i = 0; i < top->count; i++)
        if (step_of(top->name[i], &step))
            return true;
    return false;
}

static int list_step(assay_lister *l, const char *directory, int64_t step)
{
    assay_names names = {0};
    int status = assay_lister_names(l, directory, &names);
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        const size_t length = strlen(names.name[i]), suffix = sizeof SUFFIX - 1;
        if (length <= suffix || strcmp(names.name[i] + length - suffix, SUFFIX) != 0)
            continue;
        uint32_t worker = assay_lister_worker(l, names.name[i], length - suffix);
        status = worker == ASSAY_NO_ID ? assay_lister_no_memory(l) : assay_lister_unit(l, step, worker, 0);
    }
    assay_names_release(&names);
    return status < 0 ? status : ASSAY_OK;
}

static int list(assay_lister *l)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < l->top->count && status == ASSAY_OK; i++) {
        int64_t step;
        if (step_of(l->top->name[i], &step))
            status = list_step(l, l->top->name[i], step);
    }
    return status;
}

static int conclude(assay_lister *l)
{
    l->catalog->ended = l->catalog->ended || assay_names_have(l->top, "blocks.end");
    return ASSAY_OK;
}

static int index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room)
{
    return snprintf(out, room, "%s%lld/%s%s", PREFIX, (long long)unit->step, catalog->worker_key[unit->worker], SUFFIX);
}

static int file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room)
{
    const assay_unit unit = {.step = part->step, .worker = part->worker & 0xffffff};
    (void)file; /* parts list their files */
    return index_path(catalog, &unit, out, room);
}

static void remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used)
{
    (void)used;
    assay_problems_add(&catalog->problems, ASSAY_PROBLEM_DUPLICATE, unit->step, "", -1, "a step lies in two places");
}

static uint32_t place_of(const assay_catalog *catalog, const assay_unit *unit)
{
    (void)catalog, (void)unit;
    return 0;
}

/* ---- the index ---- */

/* The rows of a unit as they are read. */
typedef struct rows {
    const char *path;
    block_note note[64];
    const char *name[64], *file[64];
    int64_t offset[64];
    int count;
    const char *piece_file[64]; /* of which pieces lie in; the last file of the part is the first of these */
    uint32_t piece_files;
    int mode;
    int64_t mode_step;
    bool ended;
} rows;

static bool read_shape(const char *text, block_note *n)
{
    n->elements = 1;
    if (strcmp(text, "-") == 0)
        return true;
    for (bool more = true; more; n->dims++) {
        more = strchr(text, 'x') != NULL;
        if (n->dims == ASSAY_MAX_DIMS || !read_whole(&text, more ? 'x' : '\0', &n->shape[n->dims]) ||
            __builtin_mul_overflow(n->elements, (uint64_t)n->shape[n->dims], &n->elements) || n->elements > 1 << 30)
            return false;
    }
    return true;
}

static bool read_dtype(const char *text, int *dtype)
{
    static const struct {
        const char *name;
        int dtype;
    } known[] = {{"f4", ASSAY_FLOAT32}, {"f8", ASSAY_FLOAT64}, {"i8", ASSAY_INT64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].name) == 0) {
            *dtype = known[i].dtype;
            return true;
        }
    return false;
}

/* Strides, and the length of the stretch that they reach over. */
static bool read_strides(const char *text, block_note *n)
{
    n->length = n->elements ? assay_dtype_size(n->dtype) : 0;
    for (int i = 0; i < n->dims; i++) {
        if (!read_whole(&text, i + 1 < n->dims ? ',' : '\0', &n->stride[i]) || n->stride[i] > 1 << 20)
            return false;
        n->length += n->elements ? (uint64_t)(n->shape[i] - 1) * (uint64_t)n->stride[i] : 0;
    }
    return true;
}

static uint32_t number_piece_file(rows *r, const char *name)
{
    uint32_t i = 0;
    while (i < r->piece_files && strcmp(r->piece_file[i], name) != 0)
        i++;
    if (i == r->piece_files && i < 64)
        r->piece_file[r->piece_files++] = name;
    return i;
}

/* AXIS (FILE OFFSET SIZE)...: the record's own place is that of its first piece. */
static bool read_pieces(rows *r, block_note *n, char **word, int words)
{
    int64_t axis, sum = 0;
    if (words < 4 || (words - 1) % 3 != 0 || !is_whole(word[0], &axis) || axis >= n->dims || r->piece_files > 32)
        return false;
    n->axis = (int)axis;
    for (int i = 1; i < words; i += 3, n->pieces++) {
        if (n->pieces == BLOCK_PIECES || !is_whole(word[i + 1], &n->at[n->pieces]) ||
            !is_whole(word[i + 2], &n->size[n->pieces]))
            return false;
        n->file[n->pieces] = number_piece_file(r, word[i]);
        sum += n->size[n->pieces];
    }
    n->length = sum > 0 ? n->elements * assay_dtype_size(n->dtype) / (uint64_t)sum * (uint64_t)n->size[0] : 0;
    return sum == n->shape[axis];
}

static bool read_row(rows *r, char **word, int words)
{
    static const char *const kinds[] = {"plain", "strided", "deflate", "pieces", "value"};
    block_note *n = &r->note[r->count];
    memset(n, 0, sizeof *n); /* the note is compared and sent as bytes */
    n->kind = BLOCK_VALUE + 1;
    int64_t length = 0;
    if (words < 5 || r->count == 64 || !read_dtype(word[1], &n->dtype) || !read_shape(word[2], n))
        return false;
    for (int k = 0; k <= BLOCK_VALUE; k++)
        n->kind = strcmp(word[3], kinds[k]) == 0 ? (block_kind)k : n->kind;
    r->name[r->count] = word[0];
    r->file[r->count] = n->kind == BLOCK_VALUE ? r->path : word[n->kind == BLOCK_PIECES_OF ? 5 : 4];
    const char *offset = n->kind == BLOCK_VALUE ? "0" : words > 5 ? word[n->kind == BLOCK_PIECES_OF ? 6 : 5] : "";
    bool sound =
        n->kind <= BLOCK_VALUE && (n->kind != BLOCK_PIECES_OF || words > 7) && is_whole(offset, &r->offset[r->count]);
    if (sound && n->kind == BLOCK_PLAIN)
        n->length = n->elements * assay_dtype_size(n->dtype);
    else if (sound && n->kind == BLOCK_STRIDED)
        sound = words == 7 && read_strides(word[6], n);
    else if (sound && n->kind == BLOCK_DEFLATE)
        sound = words == 7 && is_whole(word[6], &length);
    else if (sound && n->kind == BLOCK_PIECES_OF)
        sound = read_pieces(r, n, word + 4, words - 4);
    else if (sound) {
        n->value = strtod(word[4], NULL);
        sound = n->dims == 0 && n->dtype == ASSAY_FLOAT64;
    }
    if (n->kind == BLOCK_DEFLATE)
        n->length = (uint64_t)length;
    r->count += sound;
    return sound;
}

static bool read_line(rows *r, char *line)
{
    char *word[WORDS_MOST];
    int64_t number = 0;
    const int words = split_words(line, word);
    if (words == 3 && strcmp(word[0], "mode") == 0) {
        r->mode = mode_of(word[1], strlen(word[1]));
        return r->mode && is_whole(word[2], &r->mode_step);
    }
    if (words == 2 && strcmp(word[0], "end") == 0) {
        r->ended = is_whole(word[1], &number) && number == r->count;
        return r->ended;
    }
    return !r->ended && read_row(r, word, words);
}

/* Rows in the order of their places: what lies in one file is read in one go. */
static void sort_rows(const rows *r, int order[64])
{
    for (int i = 0; i < r->count; i++) {
        int at = i;
        for (; at > 0; at--) {
            const int k = order[at - 1], by_name = strcmp(r->file[k], r->file[i]);
            if (by_name < 0 || (by_name == 0 && r->offset[k] <= r->offset[i]))
                break;
            order[at] = k;
        }
        order[at] = i;
    }
}

static int add_part(const rows *r, const assay_unit *unit, assay_dict *tensors, assay_shard *s)
{
    int order[64];
    sort_rows(r, order);
    assay_part part = {.step = unit->step,
                       .mode_step = r->mode_step,
                       .worker = unit->worker,
                       .format = unit->format,
                       .mode = (uint8_t)r->mode,
                       .first = (uint32_t)s->entry_count,
                       .count = (uint32_t)r->count,
                       .first_shape = (uint32_t)s->shape_count};
    assay_file files[128];
    const uint32_t count = part.count + r->piece_files;
    if (assay_shard_reserve(s, 1, part.count, 0) != ASSAY_OK)
        return ASSAY_ENOMEM;
    for (uint32_t i = 0; i < part.count; i++) {
        const int k = order[i];
        uint32_t tensor = assay_dict_add(tensors, r->name[k], strlen(r->name[k]));
        if (tensor == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        files[i] = (assay_file){r->file[k], (const uint8_t *)&r->note[k], sizeof r->note[k]};
        s->entries[part.first + i] = (assay_entry){.offset = (uint64_t)r->offset[k],
                                                   .length = r->note[k].length,
                                                   .tensor = tensor,
                                                   .kind = ASSAY_RAW,
                                                   .file = i & 0xffffff};
    }
    for (uint32_t i = 0; i < r->piece_files; i++)
        files[count - 1 - i] = (assay_file){.name = r->piece_file[i]};
    if (count > 0 && !(part.files = assay_files_new(files, count)))
        return ASSAY_ENOMEM;
    s->entry_count += part.count;
    s->parts[s->count++] = part;
    return ASSAY_OK;
}

static int read_unit(assay_store *store, const assay_catalog *catalog, const assay_unit *unit, assay_dict *tensors,
                     assay_shard *shard, assay_problems *problems)
{
    char path[ASSAY_PATH_ROOM];
    assay_error why = {{0}};
    assay_buf text;
    rows *r = assay_alloc_zeroed(1, sizeof *r);
    if (!r)
        return ASSAY_ENOMEM;
    *r = (rows){.path = path, .mode = ASSAY_MODE_GLOBAL, .mode_step = unit->step};
    index_path(catalog, unit, path, sizeof path);
    assay_buf_init(&text, INDEX_MOST);
    int status = assay_store_read(store, path, INDEX_MOST, &text, &why);
    assay_put_u8(&text, '\0');
    bool sound = status == ASSAY_OK;
    for (char *line = (char *)text.data; sound && *line;) {
        char *end = strchr(line, '\n');
        sound = end != NULL;
        if (!sound)
            break;
        *end = '\0';
        sound = read_line(r, line);
        line = end + 1;
    }
    if (status == ASSAY_OK && !(sound && r->ended))
        status = assay_fail(&why, ASSAY_EFORMAT, "%s: the index is damaged, or cut short", path);
    if (status == ASSAY_OK) {
        status = add_part(r, unit, tensors, shard);
    } else if (status != ASSAY_ENOMEM) {
        assay_problems_add(problems, ASSAY_PROBLEM_INDEX, unit->step, path, -1, "%s", why.text);
        status = ASSAY_OK;
    }
    assay_buf_release(&text);
    free(r);
    return status;
}

static int read_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                      const assay_index_sink *into)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        status = read_unit(store, catalog, &units[i], into->tensors, into->shard, into->problems);
    return status;
}

/* ---- watching ---- */

static int places(assay_store *store, assay_place_visit *visit, void *context)
{
    assay_names top = {0};
    int64_t step;
    int status = visit(context, ".");
    if (status != ASSAY_OK || assay_store_list(store, "", &top, NULL) != ASSAY_OK)
        return status;
    for (size_t i = 0; i < top.count && status == ASSAY_OK; i++)
        if (step_of(top.name[i], &step))
            status = visit(context, top.name[i]);
    assay_names_release(&top);
    return status;
}

static int unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                       assay_place_visit *visit, void *context)
{
    char path[ASSAY_PATH_ROOM];
    (void)store;
    index_path(catalog, unit, path, sizeof path);
    return visit(context, path);
}

const assay_trial_format assay_format_blocks = {
    .name = "blocks",
    .what = "block-STEP/",
    .probe = probe,
    .list = list,
    .conclude = conclude,
    .remark = remark,
    .place_of = place_of,
    .index_path = index_path,
    .file_path = file_path,
    .index = read_index,
    .decode = blocks_decode,
    .places = places,
    .unit_places = unit_places,
    .default_collections = true,
    .index_is_complete = true,
};
