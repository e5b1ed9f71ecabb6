/* parse.c - topology.json into a topology; every fault is one message with its place. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/dict.h"
#include "mesh/parse_internal.h"

enum { PLACE = ASSAY_TOPOLOGY_PLACE };

int topology_refuse(const topology_parser *p, const char *place, const char *format, ...)
{
    char text[ASSAY_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return assay_fail(p->err, ASSAY_EJOB, "%s: %s%s%s", p->file, place, *place ? ": " : "", text);
}

void topology_set_place(char place[PLACE], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(place, PLACE, format, arguments);
    va_end(arguments);
}

int topology_no_memory(const topology_parser *p)
{
    return assay_fail(p->err, ASSAY_ENOMEM, "%s: out of memory", p->file);
}

int topology_known_keys(const topology_parser *p, const char *place, const cJSON *object, const char *const *known)
{
    assay_error why = {""};
    if (assay_json_known_keys(object, *place ? place : "the file", known, &why) == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(p->err, ASSAY_EJOB, "%s: %s", p->file, why.text);
}

/* An object whose keys are free, none of them twice. */
int topology_free_keys(const topology_parser *p, const char *place, const cJSON *object, const char *what)
{
    if (!cJSON_IsObject(object))
        return topology_refuse(p, place, "expected an object in braces: %s", what);
    assay_dict *keys = assay_dict_new();
    int status = keys ? ASSAY_OK : topology_no_memory(p);
    uint32_t count = 0;
    for (const cJSON *item = object->child; item && status == ASSAY_OK; item = item->next, count++) {
        const uint32_t id = assay_dict_add(keys, item->string, strlen(item->string));
        if (id == ASSAY_NO_ID)
            status = topology_no_memory(p);
        else if (id < count)
            status = topology_refuse(p, place, "the key \"%.80s\" is there twice", item->string);
        else if (count == ASSAY_TOPOLOGY_LIST_MOST)
            status = topology_refuse(p, place, "more than %d members", ASSAY_TOPOLOGY_LIST_MOST);
    }
    assay_dict_free(keys);
    return status;
}

bool topology_is_whole(const cJSON *item, int64_t least, int64_t most, int64_t *out)
{
    int64_t value = 0;
    if (!assay_json_i64(item, &value) || value < least || value > most)
        return false;
    *out = value;
    return true;
}

void *topology_array(size_t count, size_t size)
{
    return assay_alloc_zeroed(count + 1, size);
}

/* ---- meshes ---- */

static bool is_axis_name(const char *name)
{
    if (*name < 'a' || *name > 'z')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

uint32_t topology_find_mesh(const assay_topology *t, const char *name)
{
    uint32_t m = 0;
    while (m < t->meshes && strcmp(t->mesh[m].name, name) != 0)
        m++;
    return m;
}

static int parse_axis(topology_parser *p, const char *place, const cJSON *item, assay_mesh *mesh)
{
    const cJSON *name = cJSON_GetArrayItem(item, 0), *size = cJSON_GetArrayItem(item, 1);
    int64_t number = 0;
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2 || !cJSON_IsString(name))
        return topology_refuse(p, place, "expected a name and a size: [\"tp\", 8]");
    if (!is_axis_name(name->valuestring))
        return topology_refuse(p, place,
                               "\"%.80s\" is not a name for an axis: a letter, then letters, digits and _, all small",
                               name->valuestring);
    if (!topology_is_whole(size, 1, INT32_MAX, &number))
        return topology_refuse(p, place, "the size must be a whole number from 1 to %d", INT32_MAX);
    if (assay_mesh_axis(mesh, name->valuestring) < mesh->axes)
        return topology_refuse(p, place, "the mesh has the axis \"%s\" twice", name->valuestring);
    mesh->axis[mesh->axes].size = (uint32_t)number;
    mesh->axis[mesh->axes].name = assay_copy_text(name->valuestring);
    return mesh->axis[mesh->axes++].name ? ASSAY_OK : topology_no_memory(p);
}

static int parse_mesh(topology_parser *p, const cJSON *item, assay_mesh *mesh)
{
    static const char *const keys[] = {"axes", NULL};
    char place[PLACE];
    uint64_t places = 1;
    topology_set_place(place, "meshes.%.64s", item->string);
    int status = topology_known_keys(p, place, item, keys);
    if (status != ASSAY_OK)
        return status;
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(item, "axes");
    if (!cJSON_IsArray(axes) || !axes->child)
        return topology_refuse(
            p, place, "\"axes\" must be a list of names and sizes, outermost first: [[\"dp\", 2], [\"tp\", 8]]");
    uint32_t i = 0;
    for (const cJSON *axis = axes->child; axis && status == ASSAY_OK; axis = axis->next, i++) {
        topology_set_place(place, "meshes.%.64s.axes[%u]", item->string, i);
        status = i < ASSAY_MESH_AXES ? parse_axis(p, place, axis, mesh)
                                     : topology_refuse(p, place, "a mesh has at most %d axes", ASSAY_MESH_AXES);
        places *= status == ASSAY_OK ? mesh->axis[i].size : 1;
        if (status == ASSAY_OK && places > INT32_MAX)
            status = topology_refuse(p, place, "the sizes of the axes multiply to more than %d workers", INT32_MAX);
    }
    if (status != ASSAY_OK)
        return status;
    topology_set_place(place, "meshes.%.64s", item->string);
    if (p->t->world > 0 && p->t->world != places)
        return topology_refuse(
            p, place,
            "its axes multiply to %llu workers, those of the first mesh to %u: all meshes have the same workers",
            (unsigned long long)places, p->t->world);
    p->t->world = (uint32_t)places;
    return ASSAY_OK;
}

static int parse_meshes(topology_parser *p, const cJSON *meshes)
{
    assay_topology *t = p->t;
    int status = topology_free_keys(p, "meshes", meshes, "{\"dense\": {\"axes\": [[\"dp\", 2], [\"tp\", 8]]}}");
    if (status != ASSAY_OK)
        return status;
    if (!meshes->child)
        return topology_refuse(p, "meshes", "at least one mesh is needed");
    t->mesh = topology_array((size_t)cJSON_GetArraySize(meshes), sizeof *t->mesh);
    if (!t->mesh)
        return topology_no_memory(p);
    for (const cJSON *item = meshes->child; item && status == ASSAY_OK; item = item->next) {
        assay_mesh *mesh = &t->mesh[t->meshes++];
        mesh->name = assay_copy_text(item->string);
        status = mesh->name ? parse_mesh(p, item, mesh) : topology_no_memory(p);
    }
    return status;
}

/* ---- workers ---- */

static int parse_coordinate(topology_parser *p, const char *worker, uint32_t m, const cJSON *item)
{
    assay_topology *t = p->t;
    char place[PLACE];
    int64_t at = 0;
    topology_set_place(place, "workers.%.48s.%.48s.%.32s", worker, t->mesh[m].name, item->string);
    const uint32_t axis = assay_mesh_axis(&t->mesh[m], item->string);
    if (axis == t->mesh[m].axes)
        return topology_refuse(p, place, "the mesh \"%.80s\" has no such axis", t->mesh[m].name);
    if (!topology_is_whole(item, 0, (int64_t)t->mesh[m].axis[axis].size - 1, &at))
        return topology_refuse(p, place, "the coordinate must be a whole number from 0 to %u",
                               t->mesh[m].axis[axis].size - 1);
    assay_given_coordinate *grown = assay_realloc_array(t->given, (size_t)t->givens + 1, sizeof *grown);
    if (!grown)
        return topology_no_memory(p);
    t->given = grown;
    grown[t->givens] = (assay_given_coordinate){assay_copy_text(worker), m, axis, (uint32_t)at};
    return grown[t->givens++].worker ? ASSAY_OK : topology_no_memory(p);
}

static int parse_workers(topology_parser *p, const cJSON *workers)
{
    if (!workers)
        return ASSAY_OK;
    int status = topology_free_keys(p, "workers", workers, "{\"rank_0\": {\"dense\": {\"tp\": 0}}}");
    for (const cJSON *worker = status == ASSAY_OK ? workers->child : NULL; worker && status == ASSAY_OK;
         worker = worker->next) {
        char place[PLACE];
        topology_set_place(place, "workers.%.64s", worker->string);
        status = topology_free_keys(p, place, worker, "coordinates by meshes");
        for (const cJSON *mesh = status == ASSAY_OK ? worker->child : NULL; mesh && status == ASSAY_OK;
             mesh = mesh->next) {
            const uint32_t m = topology_find_mesh(p->t, mesh->string);
            topology_set_place(place, "workers.%.64s.%.64s", worker->string, mesh->string);
            if (m == p->t->meshes)
                return topology_refuse(p, place, "there is no such mesh");
            status = topology_free_keys(p, place, mesh, "coordinates by axes");
            for (const cJSON *axis = status == ASSAY_OK ? mesh->child : NULL; axis && status == ASSAY_OK;
                 axis = axis->next)
                status = parse_coordinate(p, worker->string, m, axis);
        }
    }
    return status;
}

static int parse_document(topology_parser *p, const cJSON *document)
{
    static const char *const keys[] = {"schema", "meshes", "workers", "tensors", NULL};
    int status = topology_known_keys(p, "", document, keys);
    if (status != ASSAY_OK)
        return status;
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(document, "schema");
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, "assay-topology/1") != 0)
        return topology_refuse(p, "schema", "expected \"assay-topology/1\"");
    status = parse_meshes(p, cJSON_GetObjectItemCaseSensitive(document, "meshes"));
    if (status == ASSAY_OK)
        status = parse_workers(p, cJSON_GetObjectItemCaseSensitive(document, "workers"));
    return status == ASSAY_OK ? topology_parse_tensors(p, cJSON_GetObjectItemCaseSensitive(document, "tensors"))
                              : status;
}

int assay_topology_parse(const char *name, const void *text, size_t size, assay_topology **out, assay_error *err)
{
    topology_parser p = {.file = name, .err = err};
    cJSON *document = NULL;
    if (size > ASSAY_TOPOLOGY_MOST)
        return topology_refuse(&p, "", "the file has %zu bytes, and may have %d", size, ASSAY_TOPOLOGY_MOST);
    int status = assay_json_parse_commented(name, text, size, &document, err);
    if (status != ASSAY_OK)
        return status == ASSAY_EFORMAT ? ASSAY_EJOB : status;
    p.t = assay_alloc_zeroed(1, sizeof *p.t);
    if (p.t)
        p.t->text = assay_copy_bytes_as_text(text, size);
    status = p.t && p.t->text ? parse_document(&p, document) : topology_no_memory(&p);
    cJSON_Delete(document);
    if (status != ASSAY_OK) {
        assay_topology_free(p.t);
        return status;
    }
    p.t->size = size;
    *out = p.t;
    return ASSAY_OK;
}
