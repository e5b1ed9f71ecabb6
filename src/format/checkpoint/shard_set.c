/* shard_set.c - what a set of files lacks: by the names of those that are there, or by its index. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "format/checkpoint/shard_map.h"

/* The name of a shard with a star for its number. */
static int set_of(const char *name, const char *number, char out[ASSAY_PATH_ROOM])
{
    return snprintf(out, ASSAY_PATH_ROOM, "%.*s*%s", (int)(number - name), name, number + sizeof "00001" - 1);
}

static bool path_of(const char *directory, const char *name, char out[ASSAY_PATH_ROOM])
{
    return snprintf(out, ASSAY_PATH_ROOM, "%s%s%s", directory, *directory ? "/" : "", name) < ASSAY_PATH_ROOM;
}

int assay_ckpt_name_missing(assay_contents *c, const char *directory, const assay_names *names, assay_ckpt_kind kind)
{
    char set[ASSAY_PATH_ROOM];
    assay_dict *sets = assay_dict_new();
    unsigned long *there = assay_alloc_zeroed(names->count, sizeof *there);
    int status = sets && there ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < names->count && status == ASSAY_OK; i++) {
        const char *name = names->name[i], *number = assay_ckpt_shard_number(name);
        if (!number || assay_ckpt_kind_of(name) != kind)
            continue;
        const int length = set_of(name, number, set);
        const uint32_t id = length < ASSAY_PATH_ROOM ? assay_dict_add(sets, set, (size_t)length) : ASSAY_NO_ID;
        if (id == ASSAY_NO_ID)
            status = ASSAY_ENOMEM;
        else
            there[id]++;
    }
    for (uint32_t i = 0; status == ASSAY_OK && i < assay_dict_count(sets); i++) {
        const char *name = assay_dict_name(sets, i, NULL), *of = strstr(name, "*-of-");
        const unsigned long files = of ? strtoul(of + sizeof "*-of-" - 1, NULL, 10) : 0;
        if (there[i] < files && path_of(directory, name, set))
            assay_problems_add(
                c->problems, ASSAY_PROBLEM_MISSING_SHARD, c->step, set, -1,
                "%s: %lu of the %lu files of the set are there, and no index names what the others have: "
                "it is missing from this analysis",
                set, there[i], files);
    }
    free(there);
    assay_dict_free(sets);
    return status;
}

/* The number of each file of the map among those of the checkpoint; ASSAY_NO_ID: it was not read. NULL without memory.
 */
static uint32_t *number_files(const assay_shard_map *map, const char *directory, const assay_contents *c)
{
    const uint32_t files = assay_dict_count(map->files);
    uint32_t *number = assay_alloc(((size_t)files + 1) * sizeof *number);
    for (uint32_t i = 0; number && i < files; i++) {
        char path[ASSAY_PATH_ROOM];
        number[i] = path_of(directory, assay_dict_name(map->files, i, NULL), path)
                        ? assay_dict_find(c->files, path, strlen(path))
                        : ASSAY_NO_ID;
    }
    return number;
}

/* The file that has a tensor, given by its number in the contents; ASSAY_NO_ID: none has it. */
static uint32_t file_of(const assay_contents *c, uint32_t tensor)
{
    return tensor == ASSAY_NO_ID ? ASSAY_NO_ID : c->tensor[tensor].file;
}

/* A tensor that the map and a file disagree about, of the file's account. */
typedef struct mismatch {
    uint32_t file, tensor;
} mismatch;

ASSAY_ORDER_BY(compare_mismatches, mismatch, file, tensor)

/* Names the tensors that a file of the map lacks, and those that it has and the map gives to another: file by file, and of
 * each tensor at most one in each of two files. 0 or ASSAY_ENOMEM. */
static int name_mismatches(const assay_shard_map *map, const bool *sound, const char *directory,
                           const assay_contents *c, const uint32_t *number, const uint32_t *held)
{
    const uint32_t tensors = assay_dict_count(map->tensors), files = assay_dict_count(map->files);
    const uint32_t known = assay_dict_count(c->files);
    uint32_t *of_map = assay_alloc(((size_t)known + 1) * sizeof *of_map); /* a file of the contents, in the map */
    mismatch *list = assay_alloc((2 * (size_t)tensors + 1) * sizeof *list);
    const int status = of_map && list ? ASSAY_OK : ASSAY_ENOMEM;
    size_t count = 0;
    for (uint32_t i = 0; status == ASSAY_OK && i < known; i++)
        of_map[i] = ASSAY_NO_ID;
    for (uint32_t i = 0; status == ASSAY_OK && i < files; i++)
        if (number[i] != ASSAY_NO_ID)
            of_map[number[i]] = i;
    for (uint32_t t = 0; status == ASSAY_OK && t < tensors; t++) {
        const uint32_t told = map->file[t], has = file_of(c, held[t]);
        const uint32_t other = has == ASSAY_NO_ID ? ASSAY_NO_ID : of_map[has];
        if (has != number[told] && sound[told])
            list[count++] = (mismatch){told, t};
        if (other != ASSAY_NO_ID && other != told && sound[other])
            list[count++] = (mismatch){other, t};
    }
    if (count > 1)
        qsort(list, count, sizeof *list, compare_mismatches);
    for (size_t i = 0; i < count; i++) {
        char path[ASSAY_PATH_ROOM];
        const char *tensor = assay_dict_name(map->tensors, list[i].tensor, NULL);
        const uint32_t told = map->file[list[i].tensor];
        if (!path_of(directory, assay_dict_name(map->files, list[i].file, NULL), path))
            continue;
        if (told == list[i].file)
            assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, c->step, path, -1,
                               "%s: the index says that it has %s, which it has not", path, tensor);
        else
            assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, c->step, path, -1,
                               "%s has %s, which the index says is in %s", path, tensor,
                               assay_dict_name(map->files, told, NULL));
    }
    free(of_map);
    free(list);
    return status;
}

/* Do all files have as many bytes of tensors as the index says? It is a remark only: writers add the whole storage of a
 * tensor that is a slice of one, count several views of a storage once, and keep the number when they cast. What can
 * tell nothing is not compared: eight elements of bool may count as a byte, and names of torch may share one tensor. */
static void compare_size(const assay_shard_map *map, const char *directory, const assay_contents *c,
                         const uint32_t *held)
{
    uint64_t bytes = 0;
    uint32_t file = ASSAY_NO_ID;
    const char *path = NULL;
    for (uint32_t t = 0; t < assay_dict_count(map->tensors); t++) {
        const assay_ckpt_tensor *tensor = &c->tensor[held[t]];
        if (tensor->state != ASSAY_CKPT_HELD)
            return;
        const bool same_file = path && tensor->file == file;
        file = tensor->file;
        path = assay_dict_name(c->files, file, NULL);
        assay_ckpt_place place;
        assay_cursor note = assay_cursor_over(c->notes.data + tensor->note, tensor->note_size);
        if ((!same_file && assay_ckpt_kind_of(path) != ASSAY_CKPT_SAFETENSORS) || !assay_ckpt_note_get(&note, &place) ||
            place.dtype == ASSAY_BOOL)
            return;
        bytes += tensor->length;
    }
    if (path && bytes != (uint64_t)map->total_size)
        assay_problems_add(c->problems, ASSAY_PROBLEM_TOTAL_SIZE, c->step, directory, -1,
                           "%s: total_size of the index says %lld bytes, the tensors have %llu",
                           *directory ? directory : ".", (long long)map->total_size, (unsigned long long)bytes);
}

/* Looks all tensors of the map up: held[] gets their numbers in the contents, ASSAY_NO_ID where there is none. Most
 * are in the order of the files. */
static void find_held(const assay_shard_map *map, const assay_contents *c, uint32_t *held)
{
    enum { AHEAD = 4 };
    const uint32_t tensors = assay_dict_count(map->tensors);
    for (uint32_t t = 0, next = 0; t < tensors; t++) {
        size_t length = 0, other = 0;
        if (t + AHEAD < tensors) {
            const char *later = assay_dict_name(map->tensors, t + AHEAD, &length);
            assay_dict_expect(c->names, later, length);
        }
        const char *name = assay_dict_name(map->tensors, t, &length);
        const char *guess = next < assay_dict_count(c->names) ? assay_dict_name(c->names, next, &other) : NULL;
        held[t] = guess && other == length && memcmp(guess, name, length) == 0
                      ? next
                      : assay_dict_find(c->names, name, length);
        next = held[t] == ASSAY_NO_ID ? next : held[t] + 1;
    }
}

/* Names the tensors that files of the map have and the map does not: who loads the set by its index goes without. */
static int name_unmapped(const assay_shard_map *map, const uint32_t *number, const assay_contents *c)
{
    const uint32_t files = assay_dict_count(c->files);
    bool *mapped = assay_alloc_zeroed((size_t)files + 1, sizeof *mapped);
    ASSAY_HAVE(mapped);
    for (uint32_t i = 0; i < assay_dict_count(map->files); i++)
        if (number[i] < files)
            mapped[number[i]] = true;
    for (size_t i = 0; i < c->count; i++) {
        size_t length = 0;
        const assay_ckpt_tensor *t = &c->tensor[i];
        const char *name = assay_dict_name(c->names, t->name, &length);
        if (t->state != ASSAY_CKPT_HELD || t->file >= files || !mapped[t->file] ||
            assay_dict_find(map->tensors, name, length) != ASSAY_NO_ID)
            continue;
        const char *path = assay_dict_name(c->files, t->file, NULL);
        assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, c->step, path, -1,
                           "%s: it has %s, which the index does not name: who loads the set goes without it", path,
                           name);
    }
    free(mapped);
    return ASSAY_OK;
}

static void promise_all(const assay_shard_map *map, assay_contents *c)
{
    for (uint32_t t = 0; t < assay_dict_count(map->tensors); t++) {
        size_t length = 0;
        const char *name = assay_dict_name(map->tensors, t, &length);
        assay_contents_promise(c, ASSAY_CKPT_MODEL, name, length);
    }
}

/* All tensors are looked up once, and gone through again only where a file has others. */
int assay_shard_map_compare(const assay_shard_map *map, const bool *sound, const char *directory, assay_contents *c)
{
    const uint32_t tensors = assay_dict_count(map->tensors);
    uint32_t *number = number_files(map, directory, c), *held = assay_alloc(((size_t)tensors + 1) * sizeof *held);
    int status = number && held ? ASSAY_OK : ASSAY_ENOMEM;
    bool same = status == ASSAY_OK;
    if (same)
        find_held(map, c, held);
    for (uint32_t t = 0; same && t < tensors; t++)
        same = file_of(c, held[t]) != ASSAY_NO_ID && file_of(c, held[t]) == number[map->file[t]];
    if (status == ASSAY_OK && !same)
        status = name_mismatches(map, sound, directory, c, number, held);
    if (status == ASSAY_OK && c->count > tensors)
        status = name_unmapped(map, number, c);
    if (same && map->total_size >= 0 && c->problems->losses == 0)
        compare_size(map, directory, c, held);
    if (status == ASSAY_OK && !same)
        promise_all(map, c);
    free(number);
    free(held);
    return status;
}
