/* topology.c - see topology.h. What is said is kept as the JSON that it becomes. */
#include "hook/topology.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/utf8.h"
#include "hook/internal.h"
#include "hook/layout.h"

enum {
    MESHES_MOST = 16,
    AXES_MOST = 8,
    GROUPS_MOST = 256,
    RANKS_MOST = 1 << 20, /* of a group */
    NAME_MOST = 200,
    TENSORS_MOST = 1 << 20, /* bytes of the list */
    TEXT_MOST = 32 << 20
};

static void free_texts(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void hook_topology_release(hook_topology *t)
{
    free_texts(t->mesh, t->meshes);
    free_texts(t->group, t->groups);
    free(t->tensors);
    *t = (hook_topology){0};
}

static bool is_axis_name(const char *name)
{
    return name && *name >= 'a' && *name <= 'z' && strlen(name) <= NAME_MOST &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool is_name(const char *name)
{
    const size_t length = name ? strlen(name) : 0;
    size_t at = 0;
    for (size_t step; at < length && (step = assay_utf8_length(name + at, length - at)) > 0;)
        at += step;
    return length > 0 && length <= NAME_MOST && at == length;
}

static int check_mesh(const char *mesh, int axes, const assay_hook_axis *axis, assay_error *err)
{
    if (!is_name(mesh))
        return assay_fail(err, ASSAY_EPARAM, "the name of a mesh is UTF-8 of 1 to %d bytes", NAME_MOST);
    if (axes < 1 || axes > AXES_MOST || !axis)
        return assay_fail(err, ASSAY_EPARAM, "mesh %s: %d axes (1 to %d are possible)", mesh, axes, AXES_MOST);
    for (int a = 0; a < axes; a++) {
        if (!is_axis_name(axis[a].name))
            return assay_fail(err, ASSAY_EPARAM,
                              "mesh %s: axis %d: a name has small letters, digits and _, a letter first", mesh, a);
        for (int b = 0; b < a; b++)
            if (strcmp(axis[a].name, axis[b].name) == 0)
                return assay_fail(err, ASSAY_EPARAM, "mesh %s: it has the axis %s twice", mesh, axis[a].name);
        if (axis[a].size < 1 || axis[a].size > INT32_MAX || axis[a].at < 0 || axis[a].at >= axis[a].size)
            return assay_fail(err, ASSAY_EPARAM, "mesh %s: axis %s: there is no place %" PRId64 " of %" PRId64, mesh,
                              axis[a].name, axis[a].at, axis[a].size);
    }
    return ASSAY_OK;
}

/* Appends a text to a list, or puts it in the place of one that begins with the same `key` bytes. */
static int keep(char ***list, size_t *count, size_t most, const assay_buf *text, size_t key, const char *what,
                assay_error *err)
{
    size_t at = key > 0 ? 0 : *count;
    while (at < *count && strncmp((*list)[at], (const char *)text->data, key) != 0)
        at++;
    if (at == most)
        return assay_fail(err, ASSAY_EPARAM, "more than %zu %s", most, what);
    char *copy =
        assay_buf_status(text) == ASSAY_OK ? assay_copy_bytes_as_text((const char *)text->data, text->size) : NULL;
    char **grown = copy ? assay_realloc_array(*list, *count + 1, sizeof *grown) : NULL;
    if (!grown) {
        free(copy);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for the topology");
    }
    *list = grown;
    if (at < *count)
        free(grown[at]);
    else
        (*count)++;
    grown[at] = copy;
    return ASSAY_OK;
}

/* A JSON list, as it stands. */
static int take_tensors(hook_topology *t, const char *tensors, assay_error *err)
{
    cJSON *list = NULL;
    if (strlen(tensors) > TENSORS_MOST)
        return assay_fail(err, ASSAY_EPARAM, "the tensors of a topology are at most %d bytes", TENSORS_MOST);
    int status = assay_json_parse("the tensors of a topology", tensors, strlen(tensors), &list, err);
    if (status == ASSAY_OK && !cJSON_IsArray(list))
        status = assay_fail(err, ASSAY_EPARAM, "the tensors of a topology: expected a list of entries");
    cJSON_Delete(list);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_EPARAM;
    char *copy = assay_copy_text(tensors);
    if (!copy)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for the topology");
    free(t->tensors);
    t->tensors = copy;
    return ASSAY_OK;
}

/* As assay_hook_set_topology() and assay_hook_add_group(). ASSAY_EPARAM, ASSAY_ENOMEM. */
static int hook_topology_set(hook_topology *t, const char *mesh, int axes, const assay_hook_axis *axis,
                             const char *tensors, assay_error *err)
{
    int status = check_mesh(mesh, axes, axis, err);
    if (status == ASSAY_OK && tensors)
        status = take_tensors(t, tensors, err);
    ASSAY_TRY(status);
    assay_buf text = ASSAY_BUF(TEXT_MOST);
    assay_json_put_text(&text, mesh);
    const size_t key = text.size;
    assay_put_format(&text, ": {\"axes\": [");
    for (int a = 0; a < axes; a++)
        assay_put_format(&text, "%s[\"%s\", %" PRId64 "]", a ? ", " : "", axis[a].name, axis[a].size);
    assay_put_format(&text, "], \"at\": [");
    for (int a = 0; a < axes; a++)
        assay_put_format(&text, "%s%" PRId64, a ? ", " : "", axis[a].at);
    assay_put_format(&text, "]}");
    status = keep(&t->mesh, &t->meshes, MESHES_MOST, &text, key, "meshes", err);
    assay_buf_release(&text);
    return status;
}

static int hook_topology_add_group(hook_topology *t, const char *name, size_t count, const int64_t *ranks,
                                   assay_error *err)
{
    if (!is_name(name))
        return assay_fail(err, ASSAY_EPARAM, "the name of a group is UTF-8 of 1 to %d bytes", NAME_MOST);
    if (count < 1 || count > RANKS_MOST || !ranks)
        return assay_fail(err, ASSAY_EPARAM, "group %s: %zu ranks (1 to %d are possible)", name, count, RANKS_MOST);
    assay_buf text = ASSAY_BUF(TEXT_MOST);
    assay_put_format(&text, "{\"name\": ");
    assay_json_put_text(&text, name);
    assay_put_format(&text, ", \"ranks\": [");
    int status = ASSAY_OK;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        assay_put_format(&text, "%s%" PRId64, i ? ", " : "", ranks[i]);
        if (ranks[i] < 0 || ranks[i] > INT32_MAX)
            status = assay_fail(err, ASSAY_EPARAM, "group %s: there is no rank %" PRId64, name, ranks[i]);
    }
    assay_put_format(&text, "]}");
    ASSAY_THEN(status, keep(&t->group, &t->groups, GROUPS_MOST, &text, 0, "groups", err));
    assay_buf_release(&text);
    return status;
}

static void put_list(const char *key, char open, char *const *list, size_t count, assay_buf *out)
{
    assay_put_format(out, "\"%s\": %c", key, open);
    for (size_t i = 0; i < count; i++)
        assay_put_format(out, "%s%s", i ? ", " : "", list[i]);
    assay_put_format(out, "%c", open == '{' ? '}' : ']');
}

static void put_piece(const hook_name *name, bool first, assay_buf *out)
{
    const hook_layout *layout = name->layout;
    assay_put_format(out, "%s\n  {\"tensorname\": ", first ? "" : ",");
    assay_json_put_text(out, name->text);
    assay_put_format(out, ", \"shape\": [");
    for (int d = 0; d < layout->ndim; d++)
        assay_put_format(out, "%s%" PRId64, d ? ", " : "", layout->numbers[d]);
    assay_put_u8(out, ']');
    hook_layout_put(&(assay_hook_layout){layout->numbers + layout->ndim, layout->numbers + 2 * (size_t)layout->ndim,
                                         layout->replica, layout->partial},
                    layout->ndim, out);
    assay_put_u8(out, '}');
}

static int compare_names(const void *a, const void *b)
{
    const hook_name *const *x = a, *const *y = b;
    return strcmp((*x)->text, (*y)->text);
}

bool hook_topology_put(const hook_topology *t, const char *worker, const hook_name *known, size_t count, assay_buf *out)
{
    const hook_name **sorted = assay_realloc_array(NULL, count + 1, sizeof *sorted);
    size_t pieces = 0;
    for (size_t i = 0; sorted && i < count; i++)
        if (known[i].layout)
            sorted[pieces++] = &known[i];
    if (sorted && pieces == 0 && t->meshes + t->groups == 0) {
        free(sorted);
        return false;
    }
    if (sorted)
        qsort(sorted, pieces, sizeof *sorted, compare_names);
    assay_put_format(out, "{\"worker\": ");
    assay_json_put_text(out, worker);
    assay_put_format(out, ",\n ");
    put_list("meshes", '{', t->mesh, t->meshes, out);
    assay_put_format(out, ",\n ");
    put_list("groups", '[', t->group, t->groups, out);
    if (t->tensors)
        assay_put_format(out, ",\n \"tensors\": %s", t->tensors);
    assay_put_format(out, ",\n \"layouts\": [");
    for (size_t i = 0; i < pieces; i++)
        put_piece(sorted[i], i == 0, out);
    assay_put_format(out, "]}\n");
    if (!sorted)
        out->status = ASSAY_ENOMEM;
    free(sorted);
    return true;
}

/* ---- the calls ---- */

static int too_late(const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EUSAGE, "%s: the first step has begun, it is too late to say where workers are",
                      what ? what : "");
}

int assay_hook_set_topology(assay_hook *hook, const char *mesh, int axes, const assay_hook_axis *axis,
                            const char *tensors)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    assay_error err = {""};
    pthread_mutex_lock(&hook->lock);
    int rc = hook->frozen ? too_late(mesh, &err) : hook_topology_set(&hook->topology, mesh, axes, axis, tensors, &err);
    return hook_leave(hook, rc, &err);
}

int assay_hook_add_group(assay_hook *hook, const char *name, size_t count, const int64_t *ranks)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    assay_error err = {""};
    pthread_mutex_lock(&hook->lock);
    int rc = hook->frozen ? too_late(name, &err) : hook_topology_add_group(&hook->topology, name, count, ranks, &err);
    return hook_leave(hook, rc, &err);
}
