/* Any bytes as the header of a safetensors file, and as an index of shards. */
#include <stdlib.h>

#include "container/safetensors.h"
#include "format/checkpoint/shard_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_header(const char *text, size_t size)
{
    assay_safetensors s;
    assay_error err = {{0}};
    uint64_t at = 0, covered = 0;
    if (assay_safetensors_read(text, size, &s, &at, &err) != ASSAY_OK) {
        if (err.text[0] == '\0' || at > size || s.names)
            abort();
        return;
    }
    for (uint32_t i = 0; i < assay_dict_count(s.names); i++) {
        const assay_safetensors_tensor *t = &s.tensor[i];
        if (t->end < t->begin || t->end > s.data_end || t->first_dim + t->dims > s.dims)
            abort();
        covered += t->end - t->begin;
    }
    if (covered != s.data_end)
        abort(); /* a hole or an overlap */
    assay_safetensors_release(&s);
}

static void read_map(const char *text, size_t size)
{
    assay_shard_map map;
    assay_error err = {{0}};
    uint64_t at = 0;
    if (assay_shard_map_read(text, size, &map, &at, &err) != ASSAY_OK) {
        if (err.text[0] == '\0' || at > size || map.tensors)
            abort();
        return;
    }
    for (uint32_t i = 0; i < assay_dict_count(map.tensors); i++)
        if (map.file[i] >= assay_dict_count(map.files))
            abort();
    assay_shard_map_release(&map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_header((const char *)data, size);
    read_map((const char *)data, size);
    return 0;
}
