/* shard_map.c - reads an index of shards:
 *
 *   {"metadata": {"total_size": 1024}, "weight_map": {"NAME": "model-00001-of-00002.safetensors", ...}} */
#include "format/checkpoint/shard_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json_pull.h"
#include "base/keys.h"
#include "base/path.h"

static bool same(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* `at_once`: names are looked for among the others later, all together. */
static bool take_pair(assay_pull *json, assay_shard_map *map, bool at_once)
{
    const char *from = json->at, *name = NULL, *file = NULL;
    size_t length = 0, size = 0;
    if (!assay_pull_key(json, &name, &length))
        return false;
    const uint32_t before = assay_dict_count(map->tensors);
    const uint32_t id =
        at_once ? assay_dict_append(map->tensors, name, length) : assay_dict_add(map->tensors, name, length);
    if (id < before)
        return assay_pull_fault(json, from, "a name stands twice");
    if (!assay_pull_string(json, &file, &size))
        return false;
    if (!assay_path_is_name(file, size))
        return assay_pull_fault(json, from, "a tensor's file is not the name of a file in the same directory");
    if (id != ASSAY_NO_ID && id >= map->room) {
        const size_t room = map->room ? 2 * map->room : 256;
        uint32_t *grown = assay_realloc_array(map->file, room, sizeof *grown);
        map->file = grown ? grown : map->file;
        map->room = grown ? room : map->room;
    }
    const uint32_t number = assay_dict_add(map->files, file, size);
    json->no_memory = id == ASSAY_NO_ID || id >= map->room || number == ASSAY_NO_ID;
    if (json->no_memory)
        return assay_pull_fault(json, from, "out of memory");
    map->file[id] = number;
    return true;
}

static bool take_map(assay_pull *json, assay_shard_map *map, bool at_once)
{
    if (assay_dict_count(map->tensors) > 0)
        return assay_pull_fault(json, json->at, "weight_map stands twice");
    if (assay_pull_open(json, '{', '}'))
        while (take_pair(json, map, at_once) && assay_pull_more(json, '}'))
            ;
    return json->fault == NULL;
}

static bool take_metadata(assay_pull *json, assay_shard_map *map)
{
    bool more = assay_pull_peek(json) == '{' ? assay_pull_open(json, '{', '}') : assay_pull_skip(json) && false;
    while (more) {
        const char *key = NULL;
        size_t length = 0;
        bool fits = false;
        int64_t value = 0;
        if (!assay_pull_key(json, &key, &length))
            return false;
        const char first = assay_pull_peek(json);
        if (same(key, length, "total_size") && first >= '0' && first <= '9') {
            if (assay_pull_integer(json, &value, &fits) && fits)
                map->total_size = value;
        } else if (assay_key_is_off(key, length, "total_size")) {
            return assay_pull_fault(json, json->at, "a key stands where \"total_size\" should");
        } else {
            assay_pull_skip(json);
        }
        more = assay_pull_more(json, '}');
    }
    return json->fault == NULL;
}

enum { PAIR = 64 /* bytes of a tensor in an index, more or less */ };

static int read_map(const char *text, size_t size, bool at_once, assay_shard_map *out, uint64_t *at, assay_error *err)
{
    assay_pull json = {0};
    assay_shard_map map = {.tensors = assay_dict_new(), .files = assay_dict_new(), .total_size = -1};
    uint32_t again = ASSAY_NO_ID;
    bool mapped = false;
    int status = ASSAY_OK;
    assay_pull_start(&json, text, size);
    bool more = map.tensors && map.files && assay_pull_open(&json, '{', '}');
    json.no_memory = !map.tensors || !map.files || assay_dict_reserve(map.tensors, size / PAIR, size / 2) != ASSAY_OK;
    more = more && !json.no_memory;
    while (more) {
        const char *key = NULL;
        size_t length = 0;
        if (!assay_pull_key(&json, &key, &length))
            break;
        const bool is_map = same(key, length, "weight_map");
        mapped = mapped || is_map;
        if (assay_key_is_off(key, length, "metadata")) {
            assay_pull_fault(&json, json.at, "a key stands where \"metadata\" should");
            break;
        }
        if (!(is_map                          ? take_map(&json, &map, at_once)
              : same(key, length, "metadata") ? take_metadata(&json, &map)
                                              : assay_pull_skip(&json)))
            break;
        more = assay_pull_more(&json, '}');
    }
    if (!json.fault && !json.no_memory && (!assay_pull_end(&json) || !mapped))
        assay_pull_fault(&json, json.at, mapped ? "something stands behind the last }" : "there is no weight_map");
    if (!json.no_memory && !assay_dict_settle(map.tensors, &again))
        json.no_memory = true;
    if (again != ASSAY_NO_ID)
        assay_pull_fault(&json, json.at, "a name stands twice");
    *at = json.fault ? (uint64_t)(json.fault_at - json.from) : 0;
    if (json.no_memory)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
    else if (json.fault)
        status = assay_fail(err, ASSAY_EFORMAT, "%s", json.fault);
    assay_pull_release(&json);
    if (status != ASSAY_OK)
        assay_shard_map_release(&map);
    *out = map;
    return status;
}

/* What is wrong is found once more with names that are looked for one by one: a name that stands twice may be what is
 * wrong first. */
int assay_shard_map_read(const char *text, size_t size, assay_shard_map *out, uint64_t *at, assay_error *err)
{
    int status = read_map(text, size, true, out, at, err);
    return status == ASSAY_EFORMAT ? read_map(text, size, false, out, at, err) : status;
}

void assay_shard_map_release(assay_shard_map *map)
{
    assay_dict_free(map->tensors);
    assay_dict_free(map->files);
    free(map->file);
    *map = (assay_shard_map){0};
}
