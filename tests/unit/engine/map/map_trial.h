/* map_trial.h - a trial as the mapper sees it, put together by hand: two steps of two workers, two rules. */
#ifndef ASSAY_TESTS_MAP_TRIAL_H
#define ASSAY_TESTS_MAP_TRIAL_H

#include <stdlib.h>
#include <string.h>

#include "engine/map/map_source.h"

enum { MAP_TENSORS = 3, MAP_STEPS = 2, MAP_WORKERS = 2, MAP_USES = 3, MAP_RULES = 2 };

/* Rule 0 wants tensors a and b raw (use 0), and b's maxima as well (use 1). Rule 1 wants a and c (use 2), at step 0 and
 * of worker 0 only, and only their times. Each rule has a measure of its first slot. */
typedef struct map_trial {
    assay_plan plan;
    assay_job job;
    assay_instance instance[MAP_RULES], *rules[MAP_RULES];
    assay_need need[MAP_RULES];
    assay_slot_need slot[MAP_USES];
    assay_measure measure[2];
    uint32_t measure_slot[2], number[MAP_RULES][1], *measure_number[MAP_RULES], first_use[MAP_RULES + 1];
    assay_use uses[MAP_USES];
    assay_source_plan wanted;
    assay_use_class classes[4];
    uint32_t class_use[4][MAP_USES], tensor_class[MAP_TENSORS], same_use[MAP_USES];
    assay_use_scope scope[MAP_USES];
    assay_sources sources;
    assay_source source;
    assay_trial info;
    assay_step_info steps[MAP_STEPS];
    assay_part parts[MAP_STEPS * MAP_WORKERS];
    assay_entry entries[MAP_STEPS * MAP_WORKERS * (MAP_TENSORS + 1)];
    char *workers[MAP_WORKERS];
    assay_map_source map;
} map_trial;

static inline void map_trial_rules(map_trial *t)
{
    for (uint32_t u = 0; u < MAP_USES; u++) {
        t->uses[u] = (assay_use){u == 2, u % 2};
        t->slot[u].kinds = u == 1 ? 1u << 2 : 1u << ASSAY_RAW;
        t->scope[u] = (assay_use_scope){.from = INT64_MIN,
                                        .to = u == 2 ? 1 : INT64_MAX,
                                        .modes = UINT32_MAX,
                                        .kinds = t->slot[u].kinds,
                                        .worker = u == 2 ? 0 : ASSAY_ALL_WORKERS};
        t->same_use[u] = u;
    }
    t->slot[2].flags = ASSAY_SLOT_TIME_ONLY;
    t->measure[0] = (assay_measure){.kind = ASSAY_MEASURE_DIGEST};
    t->measure[1] = (assay_measure){.kind = ASSAY_MEASURE_FIRST_BAD};
    for (uint32_t r = 0; r < MAP_RULES; r++) {
        t->need[r] = (assay_need){.slots = &t->slot[2 * r],
                                  .slot_count = 2 - r,
                                  .measures = &t->measure[r],
                                  .measure_slot = &t->measure_slot[r],
                                  .measure_count = 1};
        t->instance[r].need = &t->need[r];
        t->rules[r] = &t->instance[r];
        t->number[r][0] = r;
        t->measure_number[r] = t->number[r];
    }
    t->job = (assay_job){.rules = t->rules, .rule_count = MAP_RULES};
    t->first_use[1] = 2;
    t->first_use[2] = 3;
}

/* Class 0 is wanted by nobody; tensor i is of class i + 1. */
static inline void map_trial_classes(map_trial *t)
{
    static const uint32_t uses[MAP_TENSORS][MAP_USES] = {{0, 2}, {0, 1}, {2}}, count[MAP_TENSORS] = {2, 2, 1};
    for (uint32_t i = 0; i < MAP_TENSORS; i++) {
        memcpy(t->class_use[i + 1], uses[i], sizeof uses[i]);
        t->tensor_class[i] = i + 1;
        t->classes[i + 1] = (assay_use_class){.use = t->class_use[i + 1], .uses = count[i], .lists = count[i]};
    }
    t->wanted = (assay_source_plan){.tensor_class = t->tensor_class,
                                    .classes = t->classes,
                                    .class_count = 4,
                                    .scope = t->scope,
                                    .same_use = t->same_use};
    t->plan = (assay_plan){.job = &t->job,
                           .instances = MAP_RULES,
                           .uses = t->uses,
                           .use_count = MAP_USES,
                           .first_use = t->first_use,
                           .measures = t->measure,
                           .measure_count = 2,
                           .measure_number = t->measure_number,
                           .sources = &t->wanted,
                           .source_count = 1};
}

/* Each part has the raw records of a, b and c, 100 bytes each, and the maximum of b (kind 2). */
static inline void map_trial_records(map_trial *t)
{
    static char worker[MAP_WORKERS][2] = {"0", "1"};
    static const char *const file[MAP_STEPS * MAP_WORKERS] = {"events/0", "events/1", "events/2", "events/3"};
    enum { A_PART = MAP_TENSORS + 1 };
    for (uint32_t p = 0; p < MAP_STEPS * MAP_WORKERS; p++) {
        t->parts[p] = (assay_part){.step = p / MAP_WORKERS,
                                   .mode_step = p / MAP_WORKERS,
                                   .files = assay_files_new_one(file[p], strlen(file[p])),
                                   .first = p * A_PART,
                                   .count = A_PART,
                                   .worker = p % MAP_WORKERS};
        for (uint32_t e = 0; e < A_PART; e++)
            t->entries[p * A_PART + e] =
                (assay_entry){.offset = 100 * e, .length = 100, .tensor = e < 3 ? e : 1, .kind = e < 3 ? ASSAY_RAW : 2};
    }
    for (int s = 0; s < MAP_STEPS; s++)
        t->steps[s] = (assay_step_info){.step = s, .mode_step = s};
    for (int w = 0; w < MAP_WORKERS; w++)
        t->workers[w] = worker[w];
    t->source.shard = (assay_shard){.parts = t->parts,
                                    .count = MAP_STEPS * MAP_WORKERS,
                                    .entries = t->entries,
                                    .entry_count = MAP_STEPS * MAP_WORKERS * A_PART};
    t->source.catalog.workers = MAP_WORKERS;
    t->source.catalog.worker = t->workers;
    t->info = (assay_trial){.tensors = assay_dict_new(), .steps = t->steps, .step_count = MAP_STEPS};
    for (int i = 0; i < MAP_TENSORS; i++)
        assay_dict_add(t->info.tensors, &"abc"[i], 1);
    t->source.info = &t->info;
}

/* Release with map_trial_release(). It points into itself. */
static inline void map_trial_make(map_trial *t)
{
    memset(t, 0, sizeof *t);
    map_trial_rules(t);
    map_trial_classes(t);
    map_trial_records(t);
    t->sources = (assay_sources){.list = &t->source, .count = 1, .job_trials = 1};
    t->map = (assay_map_source){.plan = &t->plan, .sources = &t->sources, .source = &t->source, .wanted = &t->wanted};
}

static inline void map_trial_release(map_trial *t)
{
    for (int p = 0; p < MAP_STEPS * MAP_WORKERS; p++)
        assay_files_release(t->parts[p].files);
    assay_dict_free(t->info.tensors);
}

#endif
