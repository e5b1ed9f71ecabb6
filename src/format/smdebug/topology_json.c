/* topology_json.c - see topology_json.h.
 *
 * The files come from anywhere: every number is looked at before it is used. */
#include "format/smdebug/topology_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/keys.h"
#include "container/pickle.h"
#include "format/smdebug/smdebug.h"

typedef struct reader {
    assay_said *said;
    uint32_t worker;
    const char *file;
    assay_problems *problems;
} reader;

static int refuse(const reader *r, const char *place, const char *what)
{
    assay_problems_add(r->problems, ASSAY_PROBLEM_TOPOLOGY, -1, r->file, -1, "%s: %.200s: %s; it is left out", r->file,
                       place, what);
    return r->problems->status;
}

/* Names what an object has under a key that is not known. */
static void name_odd_key(const reader *r, const char *place, const cJSON *object, const char *const *known)
{
    assay_keys keys = {.known = known};
    for (const cJSON *item = cJSON_IsObject(object) ? object->child : NULL; item; item = item->next)
        assay_keys_find(&keys, item->string, strlen(item->string));
    const char *lost = assay_keys_damaged(&keys);
    if (lost)
        assay_problems_add(r->problems, ASSAY_PROBLEM_TOPOLOGY, -1, r->file, -1,
                           "%s: %.200s: key \"%.100s\" stands where \"%s\" should, and is not read", r->file, place,
                           keys.odd, lost);
    else if (keys.odd)
        assay_problems_add(r->problems, ASSAY_PROBLEM_KEY, -1, r->file, -1,
                           "topology files have a key \"%.100s\", which is not known; what it has is not read",
                           keys.odd);
}

static bool is_whole(const cJSON *item, int64_t least, int64_t most, int64_t *out)
{
    return item && assay_json_i64(item, out) && *out >= least && *out <= most;
}

/* ---- meshes ---- */

static assay_said_mesh *find_mesh(assay_said *s, const char *name)
{
    for (uint32_t m = 0; m < s->meshes; m++)
        if (strcmp(s->mesh[m].name, name) == 0)
            return &s->mesh[m];
    return NULL;
}

static bool is_axis(const cJSON *item, int64_t *size)
{
    const cJSON *name = cJSON_GetArrayItem(item, 0);
    return cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2 && cJSON_IsString(name) &&
           name->valuestring[0] >= 'a' && name->valuestring[0] <= 'z' &&
           name->valuestring[strspn(name->valuestring, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0' &&
           is_whole(cJSON_GetArrayItem(item, 1), 1, INT32_MAX, size);
}

/* Are these the axes that another worker said? */
static bool has_axes(const assay_said_mesh *m, const cJSON *axes)
{
    uint32_t a = 0;
    for (const cJSON *axis = axes->child; axis; axis = axis->next, a++) {
        int64_t size;
        if (a == m->axes || !is_axis(axis, &size) || size != m->axis[a].size ||
            strcmp(axis->child->valuestring, m->axis[a].name) != 0)
            return false;
    }
    return a == m->axes;
}

/* A mesh that no worker named before. NULL without memory. */
static assay_said_mesh *add_mesh(assay_said *s, const char *name, const cJSON *axes)
{
    assay_said_mesh *m = &s->mesh[s->meshes++];
    const size_t places = (size_t)s->workers * ASSAY_MESH_AXES;
    *m = (assay_said_mesh){.name = assay_copy_text(name), .at = assay_alloc(places * sizeof *m->at + 1)};
    if (!m->name || !m->at)
        return NULL;
    for (size_t i = 0; i < places; i++)
        m->at[i] = ASSAY_NO_PLACE;
    for (const cJSON *axis = axes->child; axis; axis = axis->next) {
        int64_t size = 0;
        (void)is_axis(axis, &size);
        m->axis[m->axes].size = (uint32_t)size;
        m->axis[m->axes].name = assay_copy_text(axis->child->valuestring);
        if (!m->axis[m->axes++].name)
            return NULL;
    }
    return m;
}

static int take_mesh(const reader *r, const cJSON *item)
{
    if (!item->string)
        return refuse(r, "meshes", "expected an object: the name of each mesh, and what it is");
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(item, "axes");
    const cJSON *places = cJSON_GetObjectItemCaseSensitive(item, "at");
    const int count = cJSON_GetArraySize(axes);
    int64_t at[ASSAY_MESH_AXES], size;
    static const char *const known[] = {"axes", "at", NULL};
    name_odd_key(r, item->string, item, known);
    if (!cJSON_IsArray(axes) || !cJSON_IsArray(places) || count < 1 || count > ASSAY_MESH_AXES ||
        cJSON_GetArraySize(places) != count)
        return refuse(r, item->string, "expected \"axes\", and \"at\" with as many places");
    for (int a = 0; a < count; a++) {
        if (!is_axis(cJSON_GetArrayItem(axes, a), &size))
            return refuse(r, item->string, "an axis has a name in small letters, and a size");
        if (!is_whole(cJSON_GetArrayItem(places, a), 0, size - 1, &at[a]))
            return refuse(r, item->string, "a place is a whole number below the size of its axis");
        for (int b = 0; b < a; b++)
            if (strcmp(cJSON_GetArrayItem(axes, a)->child->valuestring,
                       cJSON_GetArrayItem(axes, b)->child->valuestring) == 0)
                return refuse(r, item->string, "it has an axis twice");
    }
    assay_said_mesh *m = find_mesh(r->said, item->string);
    if (m && !has_axes(m, axes))
        return refuse(r, item->string, "another worker says that this mesh has other axes");
    if (!m && r->said->meshes == ASSAY_SAID_MESHES)
        return refuse(r, item->string, "there are too many meshes");
    m = m ? m : add_mesh(r->said, item->string, axes);
    ASSAY_HAVE(m);
    for (int a = 0; a < count; a++)
        m->at[(size_t)r->worker * ASSAY_MESH_AXES + (size_t)a] = (uint32_t)at[a];
    return ASSAY_OK;
}

/* ---- groups, entries ---- */

static int take_group(const reader *r, const cJSON *item)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(item, "ranks");
    const int count = cJSON_GetArraySize(ranks);
    static const char *const known[] = {"name", "ranks", NULL};
    name_odd_key(r, "groups", item, known);
    if (!cJSON_IsString(name) || !cJSON_IsArray(ranks) || count < 1 || count > ASSAY_GROUP_RANK_MOST)
        return refuse(r, "groups", "expected a \"name\" and \"ranks\"");
    int64_t *rank = assay_alloc((size_t)count * sizeof *rank);
    size_t i = 0;
    ASSAY_HAVE(rank);
    for (const cJSON *one = ranks->child; one; one = one->next, i++)
        if (!is_whole(one, 0, ASSAY_GROUP_RANK_MOST - 1, &rank[i]))
            rank[i] = -1;
    const int status =
        assay_groups_add(&r->said->groups, name->valuestring, strlen(name->valuestring), rank, (size_t)count);
    free(rank);
    return status == ASSAY_EFORMAT ? refuse(r, name->valuestring, "its ranks cannot be those of a group") : status;
}

static int take_entry(const reader *r, const cJSON *item)
{
    char *text = cJSON_PrintUnformatted(item);
    ASSAY_HAVE(text);
    assay_put_format(&r->said->entries, "\n  ");
    assay_put_bytes(&r->said->entries, text, strlen(text));
    assay_put_u8(&r->said->entries, ',');
    r->said->entry_count++;
    free(text);
    return ASSAY_OK;
}

/* ---- pieces ---- */

/* Reads a list of numbers; -1: it is none. */
static int read_numbers(const cJSON *list, int64_t number[ASSAY_MAX_DIMS])
{
    int count = 0;
    if (!cJSON_IsArray(list))
        return -1;
    for (const cJSON *item = list->child; item; item = item->next, count++)
        if (count == ASSAY_MAX_DIMS || !is_whole(item, 0, INT64_MAX, &number[count]))
            return -1;
    return count;
}

static int take_layout(const reader *r, const cJSON *item)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "tensorname");
    int64_t shape[ASSAY_MAX_DIMS], whole[ASSAY_MAX_DIMS], offset[ASSAY_MAX_DIMS], number[3 * ASSAY_MAX_DIMS];
    if (!cJSON_IsString(name) || name->valuestring[0] == '\0')
        return refuse(r, "layouts", "an item has no \"tensorname\"");
    static const char *const known[] = {"tensorname", "shape", "global_shape", "offset", "replica", "partial", NULL};
    name_odd_key(r, name->valuestring, item, known);
    const int dims = read_numbers(cJSON_GetObjectItemCaseSensitive(item, "shape"), shape);
    assay_said_piece piece = {
        .worker = r->worker, .dims = dims, .partial = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "partial"))};
    if (dims < 0 || read_numbers(cJSON_GetObjectItemCaseSensitive(item, "global_shape"), whole) != dims ||
        read_numbers(cJSON_GetObjectItemCaseSensitive(item, "offset"), offset) != dims ||
        !is_whole(cJSON_GetObjectItemCaseSensitive(item, "replica"), 0, INT64_MAX, &piece.replica))
        return refuse(r, name->valuestring,
                      "expected \"shape\", \"global_shape\" and \"offset\" of as many dimensions, and \"replica\"");
    for (int d = 0; d < dims; d++) {
        if (offset[d] > whole[d] || shape[d] > whole[d] - offset[d])
            return refuse(r, name->valuestring, "the piece leaves its tensor");
        number[d] = shape[d];
        number[dims + d] = whole[d];
        number[2 * dims + d] = offset[d];
    }
    return assay_said_add_piece(r->said, &piece, name->valuestring, strlen(name->valuestring), number);
}

/* ---- the file ---- */

static int take_all(const reader *r, const cJSON *document, const char *key, int (*take)(const reader *, const cJSON *))
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(document, key);
    int status = ASSAY_OK;
    if (list && !cJSON_IsArray(list) && !cJSON_IsObject(list))
        return refuse(r, key, "expected a list");
    for (const cJSON *item = list ? list->child : NULL; item && status == ASSAY_OK; item = item->next)
        status = take(r, item);
    return status;
}

int assay_topology_json_add(assay_said *said, uint32_t worker, const char *file, const void *text, size_t size,
                            assay_problems *problems)
{
    const reader r = {said, worker, file, problems};
    const bool first = said->entry_count == 0;
    cJSON *document = NULL;
    assay_error why = {""};
    if (assay_json_tree_bytes(text, size) > assay_pickle_memory())
        return refuse(&r, "the file", "it takes more memory than half of --memory; give more");
    int status = assay_json_parse(file, text, size, &document, &why);
    if (status == ASSAY_EFORMAT)
        return refuse(&r, "the file", why.text);
    if (status == ASSAY_OK && !cJSON_IsObject(document))
        status = refuse(&r, "the file", "it is not a JSON object");
    else if (assay_json_is_changed(text, size))
        assay_problems_add(problems, ASSAY_PROBLEM_TOPOLOGY, -1, file, -1, "%s: " ASSAY_JSON_CHANGED, file);
    static const char *const known[] = {"worker", "meshes", "groups", "tensors", "layouts", "crc32c", NULL};
    name_odd_key(&r, "the file", document, known);
    const char *whose = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(document, "worker"));
    if (assay_smdebug_is_anothers(file, whose)) {
        assay_problems_add(problems, ASSAY_PROBLEM_TOPOLOGY, -1, file, -1,
                           "%s: it says that it is of %.100s: the file is that of another worker; which pieces this "
                           "worker has is not known",
                           file, whose);
        cJSON_Delete(document);
        return problems->status;
    }
    if (status == ASSAY_OK && cJSON_IsObject(document))
        status = take_all(&r, document, "meshes", take_mesh);
    ASSAY_THEN(status, take_all(&r, document, "groups", take_group));
    if (status == ASSAY_OK && first) /* all workers say the same of tensors */
        status = take_all(&r, document, "tensors", take_entry);
    ASSAY_THEN(status, take_all(&r, document, "layouts", take_layout));
    cJSON_Delete(document);
    return status;
}
