/* world.h - a small random trial in memory, seen as the engine shows it to one configured rule. */
#ifndef ASSAY_TESTS_WORLD_H
#define ASSAY_TESTS_WORLD_H

#include <assay/rule.h>

#include "base/arena.h"
#include "rule/instance.h"
#include "rule/trial_info.h"

enum { WORLD_STEPS = 12, WORLD_WORKERS = 3, WORLD_TENSORS = 4 /* a slot */ };

typedef struct world {
    const assay_instance *instance;
    assay_trial trial, other;
    assay_catalog catalog;
    assay_arena *arena; /* of everything below */
    assay_step_view views[WORLD_STEPS];
    uint64_t view_count; /* steps that the rule's map sees: its range, and what comes before if it looks back */
    assay_rule rule;
} world;

/* Fills a world for the needs of a configured rule; the same seed gives the same one. False without memory. */
bool world_make(world *w, const assay_instance *instance, uint64_t seed);
/* The same, of bytes that somebody chose: as far as they reach they are shapes, what is missing, and values. */
bool world_make_of(world *w, const assay_instance *instance, uint64_t seed, const void *bytes, size_t size);
void world_release(world *w);

#endif
