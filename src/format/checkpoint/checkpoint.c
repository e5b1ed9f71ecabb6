/* checkpoint.c - the format's table. */
#include "format/checkpoint/checkpoint.h"

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
    .places = assay_checkpoint_places,
    .unit_places = assay_checkpoint_unit_places,
};
