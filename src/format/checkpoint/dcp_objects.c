/* dcp_objects.c - see dcp_objects.h. */
#include "format/checkpoint/dcp_objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/checkpoint/keys.h"
#include "format/checkpoint/walk.h"

bool assay_dcp_is_class(const assay_pickle *p, uint32_t node, const char *name)
{
    static const char MODULE[] = "torch.distributed.";
    if (node == ASSAY_PICKLE_NOTHING)
        return false;
    const assay_pickle_node *n = &p->node[node];
    if (n->kind != ASSAY_PICKLE_OBJECT && n->kind != ASSAY_PICKLE_CALL)
        return false;
    const assay_pickle_node *class = &p->node[n->a];
    return class->kind == ASSAY_PICKLE_GLOBAL && class->b > sizeof MODULE - 1 &&
           memcmp(p->bytes + class->a, MODULE, sizeof MODULE - 1) == 0 && class->size == strlen(name) &&
           memcmp(p->bytes + class->c, name, (size_t) class->size) == 0;
}

uint32_t assay_dcp_field(const assay_pickle *p, uint32_t node, const char *name)
{
    if (node == ASSAY_PICKLE_NOTHING ||
        (p->node[node].kind != ASSAY_PICKLE_OBJECT && p->node[node].kind != ASSAY_PICKLE_CALL))
        return ASSAY_PICKLE_NOTHING;
    return assay_pickle_get(p, p->node[node].c, name);
}

bool assay_dcp_number(const assay_pickle *p, uint32_t node, uint64_t *out)
{
    if (node == ASSAY_PICKLE_NOTHING || p->node[node].kind != ASSAY_PICKLE_INT || p->node[node].integer < 0)
        return false;
    *out = (uint64_t)p->node[node].integer;
    return true;
}

/* ---- names ---- */

int assay_dcp_paths_read(const assay_pickle *p, uint32_t planner, assay_dcp_paths *out)
{
    size_t room = 0;
    *out = (assay_dcp_paths){.keys = assay_dict_new()};
    if (!out->keys)
        return ASSAY_ENOMEM;
    uint32_t item = assay_walk_is_dict(p, planner) ? p->node[planner].first : ASSAY_PICKLE_NOTHING;
    for (; item != ASSAY_PICKLE_NOTHING; item = p->item[item].next) {
        const uint32_t key = p->item[item].key, path = p->item[item].value;
        if (key == ASSAY_PICKLE_NOTHING || p->node[key].kind != ASSAY_PICKLE_TEXT)
            continue;
        const uint32_t id =
            assay_dict_add(out->keys, (const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size);
        if (id == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        if (id >= room) {
            room = room ? 2 * room : 256;
            uint32_t *grown = assay_realloc_array(out->path, room, sizeof *grown);
            if (!grown)
                return ASSAY_ENOMEM;
            out->path = grown;
        }
        out->path[id] = path;
    }
    return ASSAY_OK;
}

void assay_dcp_paths_release(assay_dcp_paths *paths)
{
    assay_dict_free(paths->keys);
    free(paths->path);
    *paths = (assay_dcp_paths){0};
}

/* The keys under which the program knows a tensor; ASSAY_PICKLE_NOTHING: they are not said, or are the name itself. */
static uint32_t path_of(const assay_pickle *p, uint32_t key, const assay_dcp_paths *paths)
{
    const uint32_t id =
        assay_dict_find(paths->keys, (const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size);
    const uint32_t path = id == ASSAY_NO_ID ? ASSAY_PICKLE_NOTHING : paths->path[id];
    return assay_walk_is_list(p, path) && p->node[path].first != p->node[path].last ? path : ASSAY_PICKLE_NOTHING;
}

int assay_dcp_put_name(const assay_pickle *p, uint32_t key, const assay_dcp_paths *paths, assay_buf *out)
{
    const uint32_t path = path_of(p, key, paths);
    assay_buf_clear(out);
    if (path != ASSAY_PICKLE_NOTHING)
        return assay_keys_put_path(p, path, out);
    assay_keys_put_flat((const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size, out);
    return assay_buf_status(out);
}

int assay_dcp_path_agrees(const assay_pickle *p, uint32_t key, const assay_dcp_paths *paths, assay_buf *joined)
{
    const uint32_t path = path_of(p, key, paths);
    assay_buf_clear(joined);
    if (path == ASSAY_PICKLE_NOTHING)
        return 1;
    for (uint32_t i = p->node[path].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        if (i != p->node[path].first)
            assay_put_u8(joined, '.');
        assay_walk_put_key(p, p->item[i].value, joined);
    }
    const int status = assay_buf_status(joined);
    if (status != ASSAY_OK)
        return status;
    return joined->size == p->node[key].size && memcmp(joined->data, p->bytes + p->node[key].a, joined->size) == 0;
}
