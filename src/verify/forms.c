/* forms.c - compares two forms of one model, tensor by tensor. */
#include "verify/forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "diff/diff.h"
#include "report/text/layout.h"
#include "trial/lone.h"

enum { PAIRS = 3 };

static const char *const pairs[PAIRS][2] = {{"model.safetensors", "pytorch_model.bin"},
                                            {"adapter_model.safetensors", "adapter_model.bin"},
                                            {"diffusion_pytorch_model.safetensors", "diffusion_pytorch_model.bin"}};

/* Do frameworks call a model so? */
static bool is_usual(const char *name)
{
    bool usual = false;
    for (size_t i = 0; i < PAIRS; i++)
        usual = usual || strcmp(name, pairs[i][0]) == 0 || strcmp(name, pairs[i][1]) == 0;
    return usual;
}

bool assay_verify_are_forms(const char *a, const char *b)
{
    for (size_t i = 0; i < PAIRS; i++)
        if ((strcmp(a, pairs[i][0]) == 0 && strcmp(b, pairs[i][1]) == 0) ||
            (strcmp(b, pairs[i][0]) == 0 && strcmp(a, pairs[i][1]) == 0))
            return true;
    const char *end_a = strrchr(a, '.'), *end_b = strrchr(b, '.');
    return end_a && end_b && end_a - a == end_b - b && strcmp(end_a, end_b) != 0 &&
           strncmp(a, b, (size_t)(end_a - a)) == 0;
}

/* On rank 0: what of the pairs is not the same. Forms of other precision are not held against each other. */
static int tell(const assay_diff *d, char **text)
{
    const assay_diff_pair *first = NULL;
    size_t unlike = 0;
    for (size_t i = 0; i < d->pairs; i++) {
        const assay_diff_pair *p = &d->pair[i];
        const bool same = p->state == ASSAY_DIFF_COMPARED && (p->dtype_a != p->dtype_b || p->figures.unequal == 0);
        first = first || same ? first : p;
        unlike += !same;
    }
    *text = NULL;
    if (!first)
        return ASSAY_OK;
    assay_buf out = ASSAY_BUF(1 << 16);
    assay_put_format(&out, "%zu of %zu tensors are not those of the other form of the model beside it: %s", unlike,
                     d->pairs, first->name_a);
    if (first->state == ASSAY_DIFF_COMPARED)
        assay_put_format(&out, " in %llu of %llu elements", (unsigned long long)first->figures.unequal,
                         (unsigned long long)first->figures.elements);
    else
        assay_put_format(&out, "%s", first->state == ASSAY_DIFF_SHAPE ? " in its shape" : ", which cannot be read");
    assay_put_u8(&out, '\0');
    if (assay_buf_status(&out) == ASSAY_OK)
        *text = assay_copy_text((const char *)out.data);
    assay_buf_release(&out);
    return *text ? ASSAY_OK : ASSAY_ENOMEM;
}

static int compare_paths(assay_comm *comm, const char *model, const char *other, size_t memory, char **text,
                         assay_error *err)
{
    const assay_diff_options options = {.from = INT64_MIN, .to = INT64_MAX, .memory = memory / 4};
    assay_diff diff = {0};
    assay_error what = {""};
    int status = assay_diff_run(comm, model, other, &options, &diff, &what);
    const bool fatal = status == ASSAY_ENOMEM || status == ASSAY_EMPI;
    if (status == ASSAY_OK)
        status = assay_comm_agree(comm, assay_comm_rank(comm) == 0 ? tell(&diff, text) : ASSAY_OK, err);
    else if (fatal)
        *err = what;
    else /* who reads the files by themselves says what is wrong with them */
        status = ASSAY_OK;
    assay_diff_release(&diff);
    return status;
}

int assay_verify_compare_forms(assay_comm *comm, const assay_verify_forms_pair *pair, char **text, assay_error *err)
{
    char *model = *pair->model ? assay_path_join(pair->trial, pair->model) : assay_copy_text(pair->trial),
         *other = assay_path_join(pair->trial, pair->other);
    *text = NULL;
    int status = assay_comm_agree(comm, model && other ? ASSAY_OK : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, compare_paths(comm, model, other, pair->memory, text, err));
    free(model);
    free(other);
    return status;
}

/* Is the file of the root one of several models there, and none of the others another form of it? */
static bool is_model_alone(const assay_buf *models, const char *file)
{
    bool listed = false;
    for (const char *name = (const char *)models->data;
         models->size && name < (const char *)models->data + models->size; name += strlen(name) + 1) {
        listed = listed || strcmp(name, file) == 0;
        if (assay_verify_are_forms(name, file))
            return false;
    }
    return listed;
}

/* Files of one checkpoint that are compared with its model, beside those of usual names: each takes an opening of it. */
enum { COMPARED_MOST = 16 };

static int name_beyond(assay_verify_remarks *remarks, int64_t step, const char *place, size_t beyond)
{
    char text[2 * ASSAY_PATH_ROOM];
    snprintf(text, sizeof text, "%.400s%s%zu more file%s beside its model %s not compared with it", place,
             *place ? ": " : "", beyond, assay_plural(beyond), beyond == 1 ? "was" : "were");
    return assay_verify_remark_add(remarks, ASSAY_VERIFY_NOTE, step, *place ? place : ".", text);
}

/* On rank 0: the place of the checkpoint, and the path of the file, of each that was set aside; terminated, behind the
 * step. */
static int list_aside(const assay_trial_files *files, const assay_verify_options *options,
                      const assay_problems *problems, assay_verify_remarks *remarks, assay_buf *out)
{
    assay_buf models;
    char place[ASSAY_PATH_ROOM] = "";
    size_t count = 0;
    int64_t step = INT64_MIN;
    assay_buf_init(&models, SIZE_MAX);
    int listed = assay_verify_put_models(files->store, &files->catalog, &models);
    for (size_t i = 0; i < problems->kept && listed == ASSAY_OK; i++) {
        const assay_problem *p = &problems->list[i];
        const char *slash = strrchr(p->file, '/');
        /* what lies beside the files of ranks is set aside as well, and is no form of theirs */
        if (p->kind != ASSAY_PROBLEM_SET_ASIDE || !strstr(p->text, "another file beside it has the model") ||
            p->step < options->from || p->step >= options->to || !assay_lone_is_named(p->file, ASSAY_LONE_TENSORS) ||
            assay_store_exists(files->store, p->file, NULL) != 1 || is_model_alone(&models, p->file))
            continue;
        if (p->step != step) {
            if (count > COMPARED_MOST)
                listed = name_beyond(remarks, step, place, count - COMPARED_MOST);
            count = 0;
            step = p->step;
            snprintf(place, sizeof place, "%.*s", slash ? (int)(slash - p->file) : 0, p->file);
        }
        const bool usual = is_usual(slash ? slash + 1 : p->file);
        if (!usual && ++count > COMPARED_MOST)
            continue;
        assay_put_i64(out, p->step);
        assay_put_bytes(out, p->file, slash ? (size_t)(slash - p->file) : 0);
        assay_put_u8(out, '\0');
        assay_put_bytes(out, p->file, strlen(p->file) + 1);
    }
    if (listed == ASSAY_OK && count > COMPARED_MOST)
        listed = name_beyond(remarks, step, place, count - COMPARED_MOST);
    assay_buf_release(&models);
    return listed == ASSAY_OK ? assay_buf_status(out) : listed;
}

static int add_remark(assay_verify_remarks *remarks, int64_t step, const char *file, const char *text)
{
    assay_buf said = ASSAY_BUF(1 << 16);
    assay_put_format(&said, "%s: %s", file, text);
    assay_put_u8(&said, '\0');
    int status = assay_buf_status(&said);
    ASSAY_THEN(status, assay_verify_remark_add(remarks, ASSAY_VERIFY_SUSPECT, step, file, (const char *)said.data));
    assay_buf_release(&said);
    return status;
}

static int compare_one(assay_comm *comm, const assay_verify_forms_pair *pair, int64_t step,
                       assay_verify_remarks *remarks, assay_error *err)
{
    char *text = NULL;
    int status = assay_verify_compare_forms(comm, pair, &text, err);
    ASSAY_THEN(status, assay_comm_agree(comm, text ? add_remark(remarks, step, pair->other, text) : ASSAY_OK, err));
    free(text);
    return status;
}

int assay_verify_forms(assay_comm *comm, const char *trial, const assay_trial_files *files,
                       const assay_verify_options *options, const assay_problems *problems,
                       assay_verify_remarks *remarks, assay_error *err)
{
    assay_buf aside = ASSAY_BUF(SIZE_MAX);
    int status = assay_comm_agree(comm, files ? list_aside(files, options, problems, remarks, &aside) : ASSAY_OK, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &aside));
    assay_cursor in = assay_cursor_over(aside.data, aside.size);
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0) {
        const int64_t step = assay_get_i64(&in);
        const char *place = (const char *)aside.data + in.at;
        assay_get_bytes(&in, strlen(place) + 1);
        const char *file = (const char *)aside.data + in.at;
        assay_get_bytes(&in, strlen(file) + 1);
        const assay_verify_forms_pair pair = {trial, place, file, options->memory};
        status = compare_one(comm, &pair, step, remarks, err);
    }
    assay_buf_release(&aside);
    return status;
}
