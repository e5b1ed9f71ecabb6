/* safetensors_file.c - the tensors of one safetensors file. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/json_pull.h"
#include "format/checkpoint/boxes.h"
#include "format/checkpoint/contents.h"
#include "container/safetensors.h"

enum { SCRATCH = 2 << 20 };

/* Where the data begin; 0 when the file is damaged, which a problem says. */
static uint64_t read_length(const assay_ckpt_file *f)
{
    uint8_t b[ASSAY_SAFETENSORS_PREFIX];
    uint64_t length = 0;
    assay_error err = {{0}};
    if (f->size < sizeof b) {
        assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, -1, "a safetensors file has at least 8 bytes, this one has %llu",
                           (unsigned long long)f->size);
        return 0;
    }
    if (assay_ckpt_read((void *)f, 0, b, sizeof b, &err) != ASSAY_OK) {
        assay_problems_add(f->to->problems, ASSAY_PROBLEM_READ, f->to->step, f->path, 0, "%s", err.text);
        return 0;
    }
    for (size_t i = sizeof b; i-- > 0;)
        length = length << 8 | b[i];
    if (length > ASSAY_SAFETENSORS_HEADER_MOST) {
        assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, 0,
                           "the header's length is %llu, and readers take 100 000 000: it is no safetensors file, or "
                           "its first bytes are damaged",
                           (unsigned long long)length);
        return 0;
    }
    if (length > f->size - sizeof b) {
        assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, 0,
                           "the file ends within its header, which has %llu bytes: the file has %llu",
                           (unsigned long long)length, (unsigned long long)f->size);
        return 0;
    }
    return length + sizeof b;
}

/* ---- pieces ---- */

/* Where the tensors of this file begin in those that the ranks saved together: DCP_SHARDING_INFO is the text of
 * {"NAME": {"saved_offsets": [0, 128]}, ...}. first[name * ASSAY_MAX_DIMS + dimension]. False: it is damaged. */
static bool read_offsets(const assay_safetensors *s, assay_pull *json, int64_t *first)
{
    assay_pull_start(json, s->sharding, s->sharding_size);
    for (bool more = assay_pull_open(json, '{', '}'); more; more = assay_pull_more(json, '}')) {
        const char *name = NULL, *key = NULL;
        size_t length = 0, size = 0;
        if (!assay_pull_key(json, &name, &length))
            return false;
        const uint32_t id = assay_dict_find(s->names, name, length);
        for (bool inner = assay_pull_open(json, '{', '}'); inner; inner = assay_pull_more(json, '}')) {
            if (!assay_pull_key(json, &key, &size))
                return false;
            if (size != sizeof "saved_offsets" - 1 || memcmp(key, "saved_offsets", size) != 0) {
                assay_pull_skip(json);
                continue;
            }
            uint32_t dims = 0;
            for (bool item = assay_pull_open(json, '[', ']'); item; item = assay_pull_more(json, ']')) {
                bool fits = false;
                int64_t value = 0;
                if (!assay_pull_integer(json, &value, &fits) || !fits || value < 0 || dims == ASSAY_MAX_DIMS)
                    return false;
                if (id != ASSAY_NO_ID)
                    first[(size_t)id * ASSAY_MAX_DIMS + dims] = value;
                dims++;
            }
            if (!json->fault && id != ASSAY_NO_ID && dims != s->tensor[id].dims)
                return false;
        }
    }
    return !json->fault && assay_pull_end(json);
}

/* The offsets of all tensors, which the caller frees; NULL with a problem, or without memory. */
static int64_t *list_offsets(const assay_ckpt_file *f, const assay_safetensors *s)
{
    assay_pull json = {0};
    int64_t *first = assay_alloc_zeroed((size_t)assay_dict_count(s->names) * ASSAY_MAX_DIMS, sizeof *first);
    if (first && s->sharding && !read_offsets(s, &json, first)) {
        if (json.no_memory)
            f->to->status = ASSAY_ENOMEM;
        else
            assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, -1, "its DCP_SHARDING_INFO is damaged");
        free(first);
        first = NULL;
    } else if (!first) {
        f->to->status = ASSAY_ENOMEM;
    }
    assay_pull_release(&json);
    return first;
}

/* ---- tensors ---- */

static void add_piece(const assay_ckpt_file *f, const char *name, size_t length, const assay_ckpt_place *place,
                      const int64_t *first, const assay_ckpt_stretch *at)
{
    const uint32_t tensor = assay_boxes_tensor(f->to->boxes, name, length);
    if (tensor == ASSAY_NO_ID || assay_boxes_add(f->to->boxes, tensor, place, first, at) != ASSAY_OK)
        f->to->status = ASSAY_ENOMEM;
}

/* The tensor, or a piece of it, cannot be read. */
static void promise(const assay_ckpt_file *f, const char *name, size_t length, bool piece)
{
    const uint32_t tensor = piece ? assay_boxes_tensor(f->to->boxes, name, length) : ASSAY_NO_ID;
    if (!piece)
        assay_contents_promise(f->to, f->role, name, length);
    else if (tensor == ASSAY_NO_ID)
        f->to->status = ASSAY_ENOMEM;
    else
        assay_boxes_give_up(f->to->boxes, tensor);
}

/* `first` has the offsets of pieces, or is NULL where tensors are whole. */
static void add_tensors(const assay_ckpt_file *f, const assay_safetensors *s, uint64_t data, const int64_t *first)
{
    enum { AHEAD = 4 };
    const uint64_t have = f->size - data;
    assay_ckpt_place place = {.form = ASSAY_CKPT_RANGE};
    uint32_t cut = 0;
    for (uint32_t i = 0; i < assay_dict_count(s->names); i++) {
        const assay_safetensors_tensor *t = &s->tensor[i];
        size_t length = 0;
        if (i + AHEAD < assay_dict_count(s->names) && f->to->names != s->names) {
            const char *later = assay_dict_name(s->names, i + AHEAD, &length);
            assay_dict_expect(f->to->names, later, length);
        }
        const char *name = assay_dict_name(s->names, i, &length);
        if (t->dtype < 0) {
            assay_ckpt_problem(f, ASSAY_PROBLEM_RECORD, (int64_t)(data + t->begin),
                               "%s has the dtype %s, which is not read", name, t->said);
            promise(f, name, length, first != NULL);
            continue;
        }
        if (t->end > have) {
            cut++;
            promise(f, name, length, first != NULL);
            continue;
        }
        place.dtype = t->dtype;
        place.dims = (int)t->dims;
        place.flags = assay_ckpt_is_packed(t->dtype) ? ASSAY_CKPT_PACKED : 0;
        for (uint32_t d = 0; d < t->dims; d++)
            place.shape[d] = s->dim[t->first_dim + d];
        const assay_ckpt_stretch at = {f->number, data + t->begin, t->end - t->begin};
        if (first)
            add_piece(f, name, length, &place, first + (size_t)i * ASSAY_MAX_DIMS, &at);
        else
            assay_contents_add(f->to, &(assay_ckpt_found){f->role, name, length, at, &place, NULL});
    }
    if (cut > 0)
        assay_ckpt_problem(f, ASSAY_PROBLEM_SHORT, (int64_t)f->size,
                           "the file ends early: its header promises %llu bytes of data, there are %llu; %u of its %u "
                           "tensors are cut off",
                           (unsigned long long)s->data_end, (unsigned long long)have, cut, assay_dict_count(s->names));
}

/* Of a file that has pieces, or lies beside one that has, all tensors are pieces. */
static void add_sharded(const assay_ckpt_file *f, assay_safetensors *s, uint64_t data)
{
    if (s->sharding && !f->to->boxes && !(f->to->boxes = assay_boxes_new()))
        f->to->status = ASSAY_ENOMEM;
    if (!f->to->boxes) {
        const uint32_t count = assay_dict_count(s->names);
        const bool taken = assay_contents_take_names(f->to, s->names);
        if (assay_contents_reserve(f->to, count) == ASSAY_OK)
            add_tensors(f, s, data, NULL);
        s->names = taken ? NULL : s->names;
        return;
    }
    int64_t *first = list_offsets(f, s);
    if (first)
        add_tensors(f, s, data, first);
    free(first);
}

/* Room for a header: short ones follow each other in the same. */
static char *take_text(assay_contents *c, size_t size)
{
    if (size > SCRATCH)
        return assay_heap_take_large(size);
    if (!c->scratch)
        c->scratch = assay_heap_alloc_large(SCRATCH);
    return c->scratch;
}

int assay_ckpt_add_safetensors(assay_ckpt_file *f)
{
    const uint64_t data = read_length(f);
    assay_safetensors s = {0};
    assay_error err = {{0}};
    uint64_t at = 0;
    if (data == 0)
        return ASSAY_OK;
    const size_t size = (size_t)data - ASSAY_SAFETENSORS_PREFIX;
    char *text = take_text(f->to, size);
    int status = text ? assay_ckpt_read(f, ASSAY_SAFETENSORS_PREFIX, text, size, &err) : ASSAY_ENOMEM;
    if (status == ASSAY_EIO)
        assay_problems_add(f->to->problems, ASSAY_PROBLEM_READ, f->to->step, f->path, -1, "%s", err.text);
    ASSAY_THEN(status, assay_safetensors_read(text, size, &s, &at, &err));
    if (status == ASSAY_EFORMAT)
        assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, (int64_t)(ASSAY_SAFETENSORS_PREFIX + at), "%s", err.text);
    if (status == ASSAY_OK && s.data_end < f->size - data) {
        assay_ckpt_problem(f, ASSAY_PROBLEM_HEADER, (int64_t)(data + s.data_end),
                           "%llu bytes stand behind the last tensor",
                           (unsigned long long)(f->size - data - s.data_end));
    } else if (status == ASSAY_OK) {
        add_sharded(f, &s, data);
    }
    assay_safetensors_release(&s);
    if (text != f->to->scratch)
        assay_heap_give_large(text, size);
    return status == ASSAY_ENOMEM ? status : f->to->status;
}
