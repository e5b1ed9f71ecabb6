/* npz.c - the arrays of one .npz file: a zip file of NAME.npy entries. */
#include <string.h>

#include "trial/format/checkpoint/contents.h"
#include "trial/format/npy/npy.h"

int assay_ckpt_add_npz(assay_ckpt_file *f)
{
    for (uint32_t i = 0; i < assay_dict_count(f->zip.names) && f->to->status == ASSAY_OK; i++) {
        const assay_zip_entry *e = &f->zip.entry[i];
        size_t length = 0;
        const char *name = assay_dict_name(f->zip.names, i, &length);
        if (length <= 4 || memcmp(name + length - 4, ".npy", 4) != 0)
            continue;
        if (e->size < ASSAY_NPY_LEAST) {
            assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, (int64_t)e->data, "%s is too short for a .npy file", name);
            continue;
        }
        assay_ckpt_place place = {.form = ASSAY_CKPT_NPY, .dtype = ASSAY_FLOAT32, .crc = e->crc, .inflated = e->size};
        place.flags = (e->crc ? ASSAY_CKPT_CHECKED : 0) | (e->method == ASSAY_ZIP_DEFLATED ? ASSAY_CKPT_DEFLATED : 0);
        assay_contents_add(f->to, f->role, name, length - 4, f->number, e->data, e->compressed, &place, NULL);
    }
    return f->to->status;
}
