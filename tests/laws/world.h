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

/* What is done to one tensor of a world in which all other values are finite, from step `from` to before `to`, of all workers or one. */
typedef enum world_harm {
    WORLD_UNHARMED,
    WORLD_ONE_NAN, /* of its elements */
    WORLD_ALL_NAN, /* elements and reductions */
    WORLD_ABSENT   /* not saved */
} world_harm;

typedef struct world_spoil {
    world_harm harm;
    uint32_t tensor; /* below WORLD_TENSORS times the slots */
    int from, to;    /* counted, not numbered */
    int worker;      /* < 0: all */
} world_spoil;

/* Fills a world for the needs of a configured rule; the same seed gives the same one. False without memory. */
bool world_make(world *w, const assay_instance *instance, uint64_t seed);
/* The same, of bytes that somebody chose: as far as they reach they are shapes, what is missing, and values. */
bool world_make_of(world *w, const assay_instance *instance, uint64_t seed, const void *bytes, size_t size);
/* As world_make(), without values that are not finite but those of `spoil`; the others are the same whatever it harms. */
bool world_make_spoilt(world *w, const assay_instance *instance, uint64_t seed, const world_spoil *spoil);
void world_release(world *w);

#endif
