/* shard_map.h - *.index.json of a sharded checkpoint: which of its files has which tensor. Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"
#include "format/checkpoint/files.h"

typedef struct assay_shard_map {
    assay_dict *tensors; /* names */
    assay_dict *files;   /* names, in the directory of the index */
    uint32_t *file;      /* [tensors] of `files` */
    size_t room;
    int64_t total_size; /* bytes of all tensors; -1: not said */
} assay_shard_map;

/* Reads the JSON. ASSAY_EFORMAT with *at, the offset of what is wrong; ASSAY_ENOMEM. Release `out`, which is empty
 * after a failure, with assay_shard_map_release(). */
int assay_shard_map_read(const char *text, size_t size, assay_shard_map *out, uint64_t *at, assay_error *err);
void assay_shard_map_release(assay_shard_map *map);

/* Without an index, the names of a set say how many files of a kind it has, "model-00001-of-00003": where some are
 * missing, a problem says so. 0 or ASSAY_ENOMEM. */
int assay_ckpt_name_missing(assay_contents *c, const char *directory, const assay_names *names, assay_ckpt_kind kind);
/* Names the tensors that a file lacks and the map gives to it, and those that it has and the map gives to another, of
 * the files that are `sound`, by their number in the map. What is in the map belongs to the contents from now on, be it
 * there or not. The files have been read. 0 or ASSAY_ENOMEM. */
int assay_shard_map_compare(const assay_shard_map *map, const bool *sound, const char *directory, assay_contents *c);
