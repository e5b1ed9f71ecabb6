/* shard_set.c - what a set of files lacks: by the names of those that are there, or by its index. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/format/checkpoint/shard_map.h"

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

/* Names the tensors that a file of the map lacks, and those that it has and the map gives to another. */
static void compare_file(const assay_shard_map *map, const char *directory, const assay_contents *c, uint32_t file,
                         uint32_t number, const uint32_t *held)
{
    char path[ASSAY_PATH_ROOM];
    if (!path_of(directory, assay_dict_name(map->files, file, NULL), path))
        return;
    for (uint32_t t = 0; t < assay_dict_count(map->tensors); t++) {
        const char *tensor = assay_dict_name(map->tensors, t, NULL);
        if (map->file[t] == file && file_of(c, held[t]) != number)
            assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, c->step, path, -1,
                               "%s: the index says that it has %s, which it has not", path, tensor);
        else if (map->file[t] != file && file_of(c, held[t]) == number)
            assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX_MISMATCH, c->step, path, -1,
                               "%s has %s, which the index says is in %s", path, tensor,
                               assay_dict_name(map->files, map->file[t], NULL));
    }
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
    const uint32_t tensors = assay_dict_count(map->tensors), files = assay_dict_count(map->files);
    uint32_t *number = number_files(map, directory, c), *held = assay_alloc(((size_t)tensors + 1) * sizeof *held);
    const int status = number && held ? ASSAY_OK : ASSAY_ENOMEM;
    bool same = status == ASSAY_OK;
    if (same)
        find_held(map, c, held);
    for (uint32_t t = 0; same && t < tensors; t++)
        same = file_of(c, held[t]) != ASSAY_NO_ID && file_of(c, held[t]) == number[map->file[t]];
    for (uint32_t i = 0; status == ASSAY_OK && !same && i < files; i++)
        if (sound[i])
            compare_file(map, directory, c, i, number[i], held);
    if (same && map->total_size >= 0 && c->problems->losses == 0)
        compare_size(map, directory, c, held);
    if (status == ASSAY_OK && !same)
        promise_all(map, c);
    free(number);
    free(held);
    return status;
}
