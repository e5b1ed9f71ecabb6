/* parse.c - topology.json into a topology; every fault is one message with its place. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/fault.h"
#include "base/json.h"
#include "container/pickle.h"
#include "mesh/topology.h"

enum { PLACE = 160 }; /* room for "tensors[3].split.tp.axis" */

typedef struct topology_parser {
    const char *file;
    assay_topology *t;
    assay_error *err;
} topology_parser;

/* Fails with ASSAY_EJOB and "FILE: PLACE: " before the text; an empty place is left out. */
__attribute__((format(printf, 3, 4))) static int topology_refuse(const topology_parser *p, const char *place,
                                                                 const char *format, ...)
{
    char text[ASSAY_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return assay_fail(p->err, ASSAY_EJOB, "%s: %s%s%s", p->file, place, *place ? ": " : "", text);
}

/* Sets a place, cut to fit. */
__attribute__((format(printf, 2, 3))) static void topology_set_place(char place[PLACE], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(place, PLACE, format, arguments);
    va_end(arguments);
}

/* Fails with ASSAY_ENOMEM and the file's name. */
static int topology_no_memory(const topology_parser *p)
{
    return assay_fail(p->err, ASSAY_ENOMEM, "%s: out of memory", p->file);
}

/* Calls assay_json_known_keys() with the file in front and ASSAY_EJOB as status. */
static int topology_known_keys(const topology_parser *p, const char *place, const cJSON *object,
                               const char *const *known)
{
    assay_error why = {""};
    if (assay_json_known_keys(object, *place ? place : "the file", known, &why) == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(p->err, ASSAY_EJOB, "%s: %s", p->file, why.text);
}

/* Checks an object whose keys are free, none of them twice. */
static int topology_free_keys(const topology_parser *p, const char *place, const cJSON *object, const char *what)
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

/* Tells whether an item is a whole number from `least` to `most`. */
static bool topology_is_whole(const cJSON *item, int64_t least, int64_t most, int64_t *out)
{
    int64_t value = 0;
    if (!assay_json_i64(item, &value) || value < least || value > most)
        return false;
    *out = value;
    return true;
}

/* Counts bytes that the topology holds. */
static int topology_count(topology_parser *p, uint64_t bytes)
{
    p->t->bytes += bytes;
    return p->t->bytes <= assay_pickle_memory()
               ? ASSAY_OK
               : topology_refuse(p, "", "it takes more memory than half of --memory; give more");
}

/* Allocates zeroed, and never of no size. NULL without memory. */
static void *topology_array(size_t count, size_t size)
{
    return assay_alloc_zeroed(count + 1, size);
}

/* Finds the number of a mesh of that name; how many there are when there is none. */
static uint32_t topology_find_mesh(const assay_topology *t, const char *name)
{
    uint32_t m = 0;
    while (m < t->meshes && strcmp(t->mesh[m].name, name) != 0)
        m++;
    return m;
}

/* ---- parse tensors ---- */

/* The entries of topology.json: which tensors each speaks of, and what it says of them. */

/* Finds the rule of an axis that the entry has not spoken of. */
static int rule_of(topology_parser *p, const char *place, const assay_topology_entry *e, const char *axis, int kind,
                   assay_axis_rule **out)
{
    static const char *const names[] = {"", "replicate", "split", "flat", "sum", "own", "peers"};
    const assay_mesh *mesh = &p->t->mesh[e->mesh];
    const uint32_t a = assay_mesh_axis(mesh, axis);
    if (a == mesh->axes)
        return topology_refuse(p, place, "the mesh \"%.80s\" has no axis \"%.80s\"", mesh->name, axis);
    assay_axis_rule *rule = &p->t->rule[e->first_rule + a];
    if (rule->kind != ASSAY_AXIS_UNSAID)
        return topology_refuse(p, place, "the axis \"%s\" is in \"%s\" already: an entry says one thing of an axis",
                               axis, names[rule->kind]);
    *rule = (assay_axis_rule){.kind = (uint8_t)kind, .numel = -1};
    *out = rule;
    return ASSAY_OK;
}

/* Reads "replicate", "sum", "own", "peers": a list of axes. */
static int parse_axis_list(topology_parser *p, const char *entry_place, const assay_topology_entry *e,
                           const cJSON *entry, const char *key, int kind)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(entry, key);
    char place[PLACE];
    int status = ASSAY_OK;
    topology_set_place(place, "%s.%s", entry_place, key);
    if (list && !cJSON_IsArray(list))
        return topology_refuse(p, place, "expected a list of axes: [\"dp\"]");
    for (const cJSON *item = list ? list->child : NULL; item && status == ASSAY_OK; item = item->next) {
        assay_axis_rule *rule;
        status = cJSON_IsString(item) ? rule_of(p, place, e, item->valuestring, kind, &rule)
                                      : topology_refuse(p, place, "expected a list of axes: [\"dp\"]");
    }
    return status;
}

/* Reads blocks of which each is divided by itself: all shares that sum to 1, or all numbers of elements. */
static int parse_parts(topology_parser *p, const char *place, const cJSON *parts, assay_axis_rule *rule)
{
    static const char expected[] =
        "expected shares that add up to 1, or whole numbers of elements: [0.5, 0.5], [16, 4, 4]";
    double sum = 0;
    const int count = cJSON_IsArray(parts) ? cJSON_GetArraySize(parts) : 0;
    bool all_whole = true;
    if (count < 1 || count > ASSAY_TOPOLOGY_LIST_MOST)
        return topology_refuse(p, place, "%s", expected);
    rule->part = topology_array((size_t)count, sizeof *rule->part);
    if (!rule->part)
        return topology_no_memory(p);
    for (const cJSON *item = parts->child; item; item = item->next) {
        int64_t number = 0;
        /* 2^53: beyond it a double skips whole numbers. */
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0) || item->valuedouble > 0x1p53)
            return topology_refuse(p, place, "%s", expected);
        all_whole = all_whole && assay_json_i64(item, &number);
        rule->part[rule->parts++] = item->valuedouble;
        sum += item->valuedouble;
    }
    if (count == 1 && rule->part[0] == 1) /* one share, or one element: the whole either way where the size is 1 */
        all_whole = false;
    rule->fractions = !all_whole;
    if (rule->fractions && !(sum >= 1 - 1e-9 && sum <= 1 + 1e-9))
        return topology_refuse(p, place, "the shares add up to %.10g, not to 1", sum);
    return ASSAY_OK;
}

static int parse_split(topology_parser *p, const char *entry_place, const assay_topology_entry *e, const cJSON *split)
{
    static const char *const keys[] = {"axis", "parts", NULL};
    char place[PLACE];
    uint8_t depth = 0;
    topology_set_place(place, "%s.split", entry_place);
    int status = split ? topology_free_keys(p, place, split, "{\"tp\": {\"axis\": 0}}") : ASSAY_OK;
    for (const cJSON *item = split && status == ASSAY_OK ? split->child : NULL; item && status == ASSAY_OK;
         item = item->next) {
        assay_axis_rule *rule;
        int64_t dim = 0;
        topology_set_place(place, "%s.split.%.32s", entry_place, item->string);
        status = rule_of(p, place, e, item->string, ASSAY_AXIS_SPLIT, &rule);
        ASSAY_THEN(status, topology_known_keys(p, place, item, keys));
        ASSAY_TRY(status);
        /* The order of the keys counts: the first is the outermost. */
        rule->depth = depth++;
        if (!topology_is_whole(cJSON_GetObjectItemCaseSensitive(item, "axis"), -64, 63, &dim)) {
            topology_set_place(place, "%s.split.%.32s.axis", entry_place, item->string);
            return topology_refuse(p, place, "expected the dimension that is split, from 0, or from -1 backwards");
        }
        rule->dim = (int)dim;
        const cJSON *parts = cJSON_GetObjectItemCaseSensitive(item, "parts");
        topology_set_place(place, "%s.split.%.32s.parts", entry_place, item->string);
        if (parts)
            status = parse_parts(p, place, parts, rule);
    }
    return status;
}

static int parse_flat(topology_parser *p, const char *entry_place, const assay_topology_entry *e, const cJSON *flat)
{
    static const char *const keys[] = {"numel", NULL};
    char place[PLACE];
    topology_set_place(place, "%s.flat", entry_place);
    int status = flat ? topology_free_keys(p, place, flat, "{\"dp\": {\"numel\": 1000}}") : ASSAY_OK;
    for (const cJSON *item = flat && status == ASSAY_OK ? flat->child : NULL; item && status == ASSAY_OK;
         item = item->next) {
        assay_axis_rule *rule;
        topology_set_place(place, "%s.flat.%.32s", entry_place, item->string);
        status = rule_of(p, place, e, item->string, ASSAY_AXIS_FLAT, &rule);
        ASSAY_THEN(status, topology_known_keys(p, place, item, keys));
        const cJSON *numel = status == ASSAY_OK ? cJSON_GetObjectItemCaseSensitive(item, "numel") : NULL;
        if (numel && !topology_is_whole(numel, 0, INT64_C(1) << 53, &rule->numel))
            status = topology_refuse(p, place, "\"numel\" must be a whole number of elements");
    }
    return status;
}

static int parse_add(topology_parser *p, const char *place, const assay_topology_entry *e, const cJSON *item,
                     assay_renumbering *number)
{
    const assay_mesh *mesh = &p->t->mesh[e->mesh];
    const uint32_t a = assay_mesh_axis(mesh, item->string);
    /* Sums with numbers of 15 digits stay far from overflowing. */
    const int64_t most = INT64_C(1) << 40;
    if (a == mesh->axes)
        return topology_refuse(p, place, "the mesh \"%.80s\" has no axis \"%.80s\"", mesh->name, item->string);
    const bool list = cJSON_IsArray(item);
    const int count = list ? cJSON_GetArraySize(item) : 1;
    if (list && (uint32_t)count != mesh->axis[a].size)
        return topology_refuse(p, place, "%d numbers for an axis of size %u", count, mesh->axis[a].size);
    number->axis[a].add = topology_array((size_t)count, sizeof(int64_t));
    if (!number->axis[a].add)
        return topology_no_memory(p);
    number->axis[a].list = list;
    const cJSON *value = list ? item->child : item;
    for (int i = 0; i < count; i++, value = value->next)
        if (!topology_is_whole(value, 0, most, &number->axis[a].add[number->axis[a].count++]))
            return topology_refuse(p, place, "expected a whole number, or a list of one for each coordinate");
    return ASSAY_OK;
}

static int parse_number(topology_parser *p, const char *place, assay_topology_entry *e, const cJSON *item)
{
    static const char *const keys[] = {"group", "add", NULL};
    int64_t group = 0;
    ASSAY_TRY(topology_known_keys(p, place, item, keys));
    assay_renumbering *number = &e->number[e->numbers++];
    if (!topology_is_whole(cJSON_GetObjectItemCaseSensitive(item, "group"), 1, 99, &group) ||
        group > assay_regex_groups(e->match))
        return topology_refuse(p, place, "\"group\" must be the number of a group of the pattern, which has %u",
                               assay_regex_groups(e->match));
    number->group = (uint32_t)group;
    const cJSON *add = cJSON_GetObjectItemCaseSensitive(item, "add");
    int status = topology_free_keys(p, place, add, "\"add\": {\"pp\": 8}");
    for (const cJSON *axis = status == ASSAY_OK ? add->child : NULL; axis && status == ASSAY_OK; axis = axis->next)
        status = parse_add(p, place, e, axis, number);
    return status;
}

static int parse_numbers(topology_parser *p, const char *entry_place, assay_topology_entry *e, const cJSON *number)
{
    char place[PLACE];
    int status = ASSAY_OK;
    const bool list = cJSON_IsArray(number);
    if (!number)
        return ASSAY_OK;
    e->number = topology_array(list ? (size_t)cJSON_GetArraySize(number) : 1, sizeof *e->number);
    if (!e->number)
        return topology_no_memory(p);
    topology_set_place(place, "%s.number", entry_place);
    if (!list)
        return parse_number(p, place, e, number);
    uint32_t i = 0;
    for (const cJSON *item = number->child; item && status == ASSAY_OK; item = item->next) {
        topology_set_place(place, "%s.number[%u]", entry_place, i++);
        status = parse_number(p, place, e, item);
    }
    return status;
}

static int parse_mesh_of(topology_parser *p, const char *place, assay_topology_entry *e, const cJSON *mesh)
{
    if (!mesh)
        return ASSAY_OK;
    e->mesh = cJSON_IsString(mesh) ? topology_find_mesh(p->t, mesh->valuestring) : p->t->meshes;
    e->has_mesh = true;
    return e->mesh < p->t->meshes ? ASSAY_OK : topology_refuse(p, place, "\"mesh\" must be the name of a mesh");
}

static int parse_entry(topology_parser *p, uint32_t i, const cJSON *item)
{
    static const char *const keys[] = {"match", "mesh",  "replicate", "split", "flat", "sum",
                                       "own",   "peers", "number",    "then",  NULL};
    assay_topology_entry *e = &p->t->entry[i];
    char place[PLACE];
    assay_error why = {""};
    topology_set_place(place, "tensors[%u]", i);
    ASSAY_TRY(topology_known_keys(p, place, item, keys));
    const cJSON *match = cJSON_GetObjectItemCaseSensitive(item, "match"),
                *then = cJSON_GetObjectItemCaseSensitive(item, "then");
    if (!cJSON_IsString(match))
        return topology_refuse(p, place,
                               "\"match\" is missing: a pattern that is found anywhere in a parameter's name");
    int status = assay_regex_share(match->valuestring, &e->match, &why);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? topology_no_memory(p) : topology_refuse(p, place, "match: %s", why.text);
    ASSAY_TRY(topology_count(p, sizeof *e + ASSAY_MESH_AXES * sizeof *p->t->rule + assay_regex_bytes(e->match)));
    if (then && (!cJSON_IsString(then) || strcmp(then->valuestring, "next") != 0))
        return topology_refuse(p, place, "\"then\" can only be \"next\"");
    e->next = then != NULL;
    e->first_rule = p->t->rules;
    status = parse_mesh_of(p, place, e, cJSON_GetObjectItemCaseSensitive(item, "mesh"));
    /* Each entry has a rule for every axis that a mesh may have, so `first_rule` plus the axis finds it. */
    p->t->rules += ASSAY_MESH_AXES;
    ASSAY_THEN(status, parse_axis_list(p, place, e, item, "replicate", ASSAY_AXIS_REPLICATE));
    ASSAY_THEN(status, parse_split(p, place, e, cJSON_GetObjectItemCaseSensitive(item, "split")));
    ASSAY_THEN(status, parse_flat(p, place, e, cJSON_GetObjectItemCaseSensitive(item, "flat")));
    ASSAY_THEN(status, parse_axis_list(p, place, e, item, "sum", ASSAY_AXIS_SUM));
    ASSAY_THEN(status, parse_axis_list(p, place, e, item, "own", ASSAY_AXIS_OWN));
    ASSAY_THEN(status, parse_axis_list(p, place, e, item, "peers", ASSAY_AXIS_PEERS));
    return status == ASSAY_OK ? parse_numbers(p, place, e, cJSON_GetObjectItemCaseSensitive(item, "number")) : status;
}

/* Reads "tensors"; NULL: there are none. ASSAY_EJOB or ASSAY_ENOMEM. */
static int topology_parse_tensors(topology_parser *p, const cJSON *tensors)
{
    assay_topology *t = p->t;
    int status = ASSAY_OK;
    if (!tensors)
        return ASSAY_OK;
    const int count = cJSON_IsArray(tensors) ? cJSON_GetArraySize(tensors) : -1;
    if (count < 0 || count > ASSAY_TOPOLOGY_LIST_MOST)
        return topology_refuse(p, "tensors", "expected a list of at most %d entries", ASSAY_TOPOLOGY_LIST_MOST);
    t->entry = topology_array((size_t)count, sizeof *t->entry);
    t->rule = topology_array((size_t)count * ASSAY_MESH_AXES, sizeof *t->rule);
    if (!t->entry || !t->rule)
        return topology_no_memory(p);
    for (const cJSON *item = tensors->child; item && status == ASSAY_OK; item = item->next)
        status = parse_entry(p, t->entries++, item);
    return status;
}

/* ---- parse ---- */

/* ---- meshes ---- */

static bool is_axis_name(const char *name)
{
    if (*name < 'a' || *name > 'z')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
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
    ASSAY_TRY(status);
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(item, "axes");
    if (!cJSON_IsArray(axes) || !axes->child)
        return topology_refuse(
            p, place, "\"axes\" must be a list of names and sizes, outermost first: [[\"dp\", 2], [\"tp\", 8]]");
    uint32_t i = 0;
    for (const cJSON *axis = axes->child; axis && status == ASSAY_OK; axis = axis->next, i++) {
        topology_set_place(place, "meshes.%.64s.axes[%u]", item->string, i);
        status = i < ASSAY_MESH_AXES ? parse_axis(p, place, axis, mesh)
                                     : topology_refuse(p, place, "a mesh has at most %d axes", ASSAY_MESH_AXES);
        /* Both factors are below 2^31, so the product is checked before it can overflow. */
        places *= status == ASSAY_OK ? mesh->axis[i].size : 1;
        if (status == ASSAY_OK && places > INT32_MAX)
            status = topology_refuse(p, place, "the sizes of the axes multiply to more than %d workers", INT32_MAX);
    }
    ASSAY_TRY(status);
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
    ASSAY_TRY(status);
    if (!meshes->child)
        return topology_refuse(p, "meshes", "at least one mesh is needed");
    if (cJSON_GetArraySize(meshes) > ASSAY_TOPOLOGY_MESHES_MOST)
        return topology_refuse(p, "meshes", "more than %d meshes", ASSAY_TOPOLOGY_MESHES_MOST);
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

static int compare_given(const void *a, const void *b)
{
    const assay_given_coordinate *x = a, *y = b;
    return strcmp(x->worker, y->worker);
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
    /* Workers are found by name in them. */
    if (p->t->givens > 1)
        qsort(p->t->given, p->t->givens, sizeof *p->t->given, compare_given);
    return status;
}

static int parse_document(topology_parser *p, const cJSON *document)
{
    static const char *const keys[] = {"schema", "meshes", "workers", "tensors", NULL};
    ASSAY_TRY(topology_known_keys(p, "", document, keys));
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(document, "schema");
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, "assay-topology/1") != 0)
        return topology_refuse(p, "schema", "expected \"assay-topology/1\"");
    int status = parse_meshes(p, cJSON_GetObjectItemCaseSensitive(document, "meshes"));
    /* Meshes first: workers and tensors name them. */
    ASSAY_THEN(status, parse_workers(p, cJSON_GetObjectItemCaseSensitive(document, "workers")));
    return status == ASSAY_OK ? topology_parse_tensors(p, cJSON_GetObjectItemCaseSensitive(document, "tensors"))
                              : status;
}

int assay_topology_parse(const char *name, const void *text, size_t size, assay_topology **out, assay_error *err)
{
    topology_parser p = {.file = name, .err = err};
    cJSON *document = NULL;
    if (size > ASSAY_TOPOLOGY_MOST)
        return topology_refuse(&p, "", "the file has %zu bytes, and may have %d", size, ASSAY_TOPOLOGY_MOST);
    /* A tree of a few bytes of text takes many times as many: bounded before it is made. */
    if (assay_json_tree_bytes(text, size) > assay_pickle_memory())
        return topology_refuse(&p, "", "to read it takes more memory than half of --memory; give more");
    int status = assay_json_parse_commented(name, text, size, &document, err);
    if (status != ASSAY_OK)
        return status == ASSAY_EFORMAT ? ASSAY_EJOB : status;
    p.t = assay_alloc_zeroed(1, sizeof *p.t);
    if (p.t) {
        p.t->text = assay_copy_bytes_as_text(text, size);
        p.t->bytes = size;
    }
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
