/* npy.c - the format's table. */
#include "format/npy/npy.h"

#include "format/npy_record/decode.h"

const assay_trial_format assay_format_npy = {
    .name = "npy",
    .what = "directories of .npy files, one a step",
    .probe = assay_npy_probe,
    .list = assay_npy_list,
    .conclude = assay_npy_conclude,
    .remark = assay_npy_remark,
    .place_of = assay_npy_place_of,
    .index_path = assay_npy_index_path,
    .file_path = assay_npy_file_path,
    .index = assay_npy_index,
    .decode = assay_npy_decode,
    .arrays = true,
    .default_collections = true,
    .places = assay_npy_places,
    .unit_places = assay_npy_unit_places,
    .record_least = ASSAY_NPY_LEAST,
};
