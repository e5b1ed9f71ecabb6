/* parse_internal.h - shared by parse.c and parse_tensors.c: messages with places, and look-ups. */
#ifndef ASSAY_MESH_PARSE_INTERNAL_H
#define ASSAY_MESH_PARSE_INTERNAL_H

#include "base/json.h"
#include "mesh/topology.h"

enum { ASSAY_TOPOLOGY_PLACE = 160 }; /* room for "tensors[3].split.tp.axis" */

typedef struct topology_parser {
    const char *file;
    assay_topology *t;
    assay_error *err;
} topology_parser;

/* ASSAY_EJOB with "FILE: PLACE: " before the text; an empty place is left out. */
int topology_refuse(const topology_parser *p, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets a place, cut to fit. */
void topology_set_place(char place[ASSAY_TOPOLOGY_PLACE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* ASSAY_ENOMEM with the file's name. */
int topology_no_memory(const topology_parser *p);
/* assay_json_known_keys() with the file in front and ASSAY_EJOB as status. */
int topology_known_keys(const topology_parser *p, const char *place, const cJSON *object, const char *const *known);
/* Fails when it is no object, or has a key twice, whatever its keys are; `what` says what is expected. */
int topology_free_keys(const topology_parser *p, const char *place, const cJSON *object, const char *what);
/* Is it a whole number from `least` to `most`? */
bool topology_is_whole(const cJSON *item, int64_t least, int64_t most, int64_t *out);
/* Zeroed, and never of no size. NULL without memory. */
void *topology_array(size_t count, size_t size);
/* The number of a mesh of that name; how many there are when there is none. */
uint32_t topology_find_mesh(const assay_topology *t, const char *name);

/* Reads "tensors"; NULL: there are none. ASSAY_EJOB or ASSAY_ENOMEM. */
int topology_parse_tensors(topology_parser *p, const cJSON *tensors);

#endif
