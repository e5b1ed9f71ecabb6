/* deepspeed_universal.c - universal checkpoints of DeepSpeed: zero/NAME/KEY.pt has what is kept of a parameter, whole.
 */
#include <stdio.h>
#include <string.h>

#include "format/checkpoint/deepspeed.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/torch.h"
#include "format/checkpoint/walk.h"

typedef struct named {
    const char *name;
    size_t length;
} named;

/* A tensor, or a dictionary that has it under "param". */
static int take_universal(assay_torch *t, void *context)
{
    const named *n = context;
    const assay_pickle *p = &t->pickle;
    const uint32_t below = assay_walk_is_dict(p, p->root) ? assay_pickle_get(p, p->root, "param") : p->root;
    assay_ckpt_place place;
    assay_torch_range range;
    assay_error what = {{0}};
    const int found = assay_torch_tensor(t, below, &place, &range, &what);
    if (found == ASSAY_EFORMAT)
        assay_ckpt_problem(t->file, ASSAY_PROBLEM_RECORD, -1, "%s", what.text);
    if (found == 1)
        assay_contents_add(t->file->to, ASSAY_CKPT_OPTIMIZER, n->name, n->length, t->file->number, range.offset,
                           range.length, &place, NULL);
    return found == ASSAY_ENOMEM ? found : t->file->to->status;
}

/* The files of one parameter; `zero` is the directory of all. */
static int read_parameter(assay_contents *c, const char *zero, const char *parameter)
{
    char directory[ASSAY_PATH_ROOM], path[ASSAY_PATH_ROOM];
    assay_names inside = {0};
    int status = ASSAY_OK;
    if (snprintf(directory, sizeof directory, "%s/%s", zero, parameter) >= (int)sizeof directory ||
        assay_store_list(c->store, directory, &inside, NULL) != ASSAY_OK)
        return ASSAY_OK; /* no directory: what belongs to no parameter */
    for (size_t i = 0; i < inside.count && status == ASSAY_OK; i++) {
        const char *file = inside.name[i];
        assay_buf name;
        if (assay_ckpt_kind_of(file) != ASSAY_CKPT_TORCH ||
            snprintf(path, sizeof path, "%s/%s", directory, file) >= (int)sizeof path)
            continue;
        assay_buf_init(&name, SIZE_MAX);
        assay_put_format(&name, "optimizer/%s/%.*s", parameter, (int)assay_ckpt_stem(file), file);
        status = assay_buf_status(&name);
        named n = {(const char *)name.data, name.size};
        if (status == ASSAY_OK)
            status = assay_ckpt_read_torch(c, path, file, take_universal, &n);
        assay_buf_release(&name);
    }
    assay_names_release(&inside);
    return status;
}

int assay_deepspeed_add_universal(assay_contents *c, const char *directory)
{
    char zero[ASSAY_PATH_ROOM];
    assay_names parameters = {0};
    int status = ASSAY_OK;
    if (snprintf(zero, sizeof zero, "%s%szero", directory, *directory ? "/" : "") >= (int)sizeof zero ||
        assay_store_list(c->store, zero, &parameters, NULL) != ASSAY_OK)
        return ASSAY_OK;
    for (size_t i = 0; i < parameters.count && status == ASSAY_OK; i++)
        status = read_parameter(c, zero, parameters.name[i]);
    assay_names_release(&parameters);
    return status;
}
