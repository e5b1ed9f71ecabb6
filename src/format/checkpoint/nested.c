/* nested.c - reads the torch files in a zip file. They are stored as they are, so that each lies in a range of it. */
#include "format/checkpoint/nested.h"

#include <stdio.h>
#include <string.h>

#include "format/checkpoint/files.h"
#include "format/checkpoint/torch.h"

enum { STEM = 200 };

static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

bool assay_ckpt_nests(const assay_ckpt_file *f)
{
    bool nests = false;
    for (uint32_t i = 0; i < assay_dict_count(f->zip.names); i++) {
        const char *name = base_of(assay_dict_name(f->zip.names, i, NULL));
        if (strcmp(name, "data.pkl") == 0)
            return false;
        nests = nests || assay_ckpt_kind_of(name) == ASSAY_CKPT_TORCH;
    }
    return nests;
}

/* Where the names of a file's tensors begin: "policy", "optimizer/policy", "state/pytorch_variables". */
static const char *put_prefix(const char *name, char out[STEM + 16])
{
    static const char OPTIMIZER[] = "optimizer";
    const size_t length = assay_ckpt_stem(name), own = sizeof OPTIMIZER - 1;
    const bool moments = length >= own && strncmp(name + length - own, OPTIMIZER, own) == 0;
    const size_t kept = !moments ? length : length > own ? length - own - 1 : 0;
    snprintf(out, STEM + 16, "%s%.*s", moments ? "optimizer/" : "", (int)(kept < STEM ? kept : STEM), name);
    return out;
}

static int add_file(assay_ckpt_file *outer, const assay_zip_entry *e, const char *name)
{
    char prefix[STEM + 16];
    const assay_torch_choice choice = {.prefix = put_prefix(name, prefix)};
    const assay_ckpt_role role =
        strncmp(prefix, "optimizer/", 10) == 0 ? ASSAY_CKPT_OPTIMIZER : assay_ckpt_role_of(name);
    assay_ckpt_file f = {.to = outer->to,
                         .file = outer->file,
                         .path = outer->path,
                         .base = outer->base + e->data,
                         .size = e->size,
                         .number = outer->number,
                         .role = role};
    assay_error err = {{0}};
    if (e->method != ASSAY_ZIP_STORED) {
        assay_ckpt_problem(outer, ASSAY_PROBLEM_UNSUPPORTED, (int64_t)e->data,
                           "%s in it is compressed: unpack the file to have its tensors read", name);
        return ASSAY_OK;
    }
    int status = assay_zip_open(assay_ckpt_read, &f, f.size, f.path, &f.zip, &err);
    if (status != ASSAY_OK && status != ASSAY_ENOMEM)
        assay_ckpt_problem(outer, status == ASSAY_EIO ? ASSAY_PROBLEM_READ : ASSAY_PROBLEM_HEADER, (int64_t)e->data,
                           "%s in it: %s", name, err.text);
    ASSAY_THEN(status, assay_ckpt_add_torch_chosen(&f, &choice));
    assay_zip_release(&f.zip);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

int assay_ckpt_add_nested(assay_ckpt_file *f)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < assay_dict_count(f->zip.names) && status == ASSAY_OK; i++) {
        const char *name = base_of(assay_dict_name(f->zip.names, i, NULL));
        if (assay_ckpt_kind_of(name) == ASSAY_CKPT_TORCH)
            status = add_file(f, &f->zip.entry[i], name);
    }
    return status;
}
