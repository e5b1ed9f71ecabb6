/* checkpoint.c - the format's table. */
#include "format/checkpoint/checkpoint.h"

#include <string.h>

#include "base/path.h"

/* A checkpoint in one file, by its name. */
static bool is_named(const char *name)
{
    static const char *const ends[] = {".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".npz", ".npy"};
    bool is = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && name[0] && !is; i++) /* a name is more than its ending */
        is = assay_path_ends(name + 1, ends[i]);
    return is;
}

/* A header of safetensors: its length in 8 bytes, and JSON. */
static bool is_safetensors(const uint8_t *head, uint64_t size)
{
    enum { HEADER_MOST = 100000000 };
    uint64_t length = 0;
    for (int i = 8; i-- > 0;)
        length = length << 8 | head[i];
    return head[8] == '{' && length >= 2 && length <= HEADER_MOST && length + 8 <= size;
}

/* ZIP, as torch and NumPy write it, NumPy's own, torch's old pickle, safetensors, and torch's oldest form, a tar. */
static bool begins(const uint8_t *head, size_t have, uint64_t size)
{
    enum { LEAST = 9, TAR_AT = 257, TAR_LEAST = 512 };
    static const uint8_t LEGACY[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9};
    return have >= LEAST && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "\x93NUMPY", 6) == 0 ||
                             memcmp(head, LEGACY, sizeof LEGACY) == 0 || is_safetensors(head, size) ||
                             (have >= TAR_LEAST && memcmp(head + TAR_AT, "ustar", 5) == 0));
}

const assay_trial_format assay_format_checkpoint = {
    .name = "checkpoint",
    .what = "checkpoints in safetensors, torch or .npz files, or directories of them",
    .probe = assay_checkpoint_probe,
    .list = assay_checkpoint_list,
    .conclude = assay_checkpoint_conclude,
    .remark = assay_checkpoint_remark,
    .place_of = assay_checkpoint_place_of,
    .index_path = assay_checkpoint_index_path,
    .file_path = assay_checkpoint_file_path,
    .index = assay_checkpoint_index,
    .decode = assay_checkpoint_decode,
    .derive = assay_checkpoint_derive,
    .dims = assay_checkpoint_dims,
    .note_facts = assay_checkpoint_note_facts,
    .note_reaches = assay_checkpoint_note_reaches,
    .models = assay_checkpoint_models,
    .archives = assay_checkpoint_archives,
    .others = assay_checkpoint_others,
    .default_collections = true,
    .checkpoints = true,
    .lone = {ASSAY_LONE_TENSORS, is_named, begins, NULL},
    .places = assay_checkpoint_places,
    .unit_places = assay_checkpoint_unit_places,
};
