/* config.h - what a hook saves and when: collections, their patterns, steps and reductions.
 *
 * Parameters arrive as text, for the hook as a whole or for one collection, until hook_config_freeze() resolves them.
 * After that the configuration does not change (names are matched against it by many threads). Precedence, weakest
 * first: defaults, the hook's parameters, the hook's for one mode, the collection's, the collection's for one mode. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>
#include "base/regex.h"

enum {
    HOOK_MODES = 4,        /* TRAIN, EVAL, PREDICT, GLOBAL: assay_hook_mode - 1 */
    HOOK_ALL_MODES = 4,    /* slot of the parameters that carry no mode */
    HOOK_COLLECTIONS = 64, /* one bit each in a mask */
    HOOK_REDUCTIONS = 18,  /* nine operations, plain and of absolute values */
    HOOK_DEFAULT_INTERVAL = 500,
    HOOK_CONFIG_CEILING = 4 << 20 /* bytes of a configuration file */
};

/* Operations in the order of the reference; a code is the operation, plus HOOK_OPS for its abs_ form. */
enum { HOOK_MIN, HOOK_MAX, HOOK_MEAN, HOOK_STD, HOOK_VARIANCE, HOOK_SUM, HOOK_PROD, HOOK_L1, HOOK_L2, HOOK_OPS };

typedef struct hook_steps {
    bool has_interval, has_start, has_end, has_list; /* which of them were given */
    int64_t interval, start;
    int64_t end;   /* exclusive; -1 is none */
    int64_t *list; /* owned, ascending */
    size_t listed;
} hook_steps;

/* What is kept of a tensor (parameter "record"). */
typedef enum hook_form { HOOK_FORM_RAW, HOOK_FORM_STATISTICS, HOOK_FORM_DIGEST } hook_form;

typedef struct hook_reductions {
    bool given; /* any of the four parameters was set here */
    bool raw_given, raw, shape;
    hook_form form;
    uint8_t codes[HOOK_REDUCTIONS]; /* plain, norms, abs_, abs_ norms: the order in which the reference writes them */
    size_t count;
} hook_reductions;

typedef struct hook_texts {
    char **items; /* owned */
    size_t count;
} hook_texts;

typedef struct hook_collection {
    char *name;                  /* owned */
    bool included, scalars_only; /* the latter: losses, metrics, ...: never reduced, no histogram */
    bool base;                   /* listed in the collections file even when it is not included */
    bool histogram;
    hook_steps steps[HOOK_MODES + 1];
    hook_reductions reductions;
    hook_texts patterns, names;
    /* after freezing */
    bool saved;
    assay_regex **compiled;      /* owned, one a pattern */
    hook_steps rule[HOOK_MODES]; /* list borrowed from steps[] */
    bool rule_given[HOOK_MODES];
    hook_reductions reduce;
} hook_collection;

typedef enum hook_end { HOOK_END_AUTO, HOOK_END_NOW, HOOK_END_NEVER } hook_end;

typedef struct hook_config {
    hook_collection collections[HOOK_COLLECTIONS];
    size_t count;
    hook_steps steps[HOOK_MODES + 1];
    hook_reductions reductions;
    bool save_all, dry_run, export_tensorboard, sample_variance, durable, run_facts;
    int all_workers, true_checksum, drop, go_on; /* 1: the second word of the setting */
    hook_end end;
    uint64_t memory;          /* bytes of the queue */
    int64_t stall;            /* seconds that a disk may not answer */
    int64_t metrics_interval; /* milliseconds between two samples of the machine; 0: none are taken */
    bool timeline;            /* steps and phases are recorded in time */
    char *node;               /* owned; what the machine is called in profiler data, or NULL */
    char *directory;          /* owned; LocalPath, or NULL */
    char *tensorboard;        /* owned; or NULL */
    char *worker;             /* owned; name instead of worker_<rank>, or NULL */
} hook_config;

/* Built-in collections and defaults. Release in any case with hook_config_release(). */
int hook_config_init(hook_config *config);
void hook_config_release(hook_config *config);

/* Index of a collection, or -1. */
int hook_config_find(const hook_config *config, const char *collection);
/* ASSAY_ENOTFOUND for the name of a collection that exists neither built in nor declared and looks like a built-in one
 * misspelt: said where it is included by its name alone. */
int hook_config_check_name(const hook_config *config, const char *collection, assay_error *err);
/* Changes the interval of a collection in all modes. Frozen configurations only. ASSAY_ENOTFOUND, ASSAY_EPARAM. */
int hook_config_set_interval(hook_config *config, const char *collection, int64_t interval, assay_error *err);
/* Declares a collection and includes it; *index may be NULL. */
int hook_config_declare(hook_config *config, const char *collection, int *index, assay_error *err);
/* Sets a parameter of the hook (collection NULL) or of a declared collection. ASSAY_ENOTFOUND, ASSAY_EPARAM,
 * ASSAY_ENOMEM. */
int hook_config_set(hook_config *config, const char *collection, const char *key, const char *value, assay_error *err);
/* Declares a collection (NULL: "default") and adds one pattern, or one tensor name. */
int hook_config_add_pattern(hook_config *config, const char *collection, const char *pattern, assay_error *err);
int hook_config_add_name(hook_config *config, const char *collection, const char *tensor, assay_error *err);
/* Takes over a file of the reference's format. `name` is for messages. Keys that the reference has and the hook does
 * not need are passed over; unknown ones give a warning each when `warn`. */
int hook_config_load(hook_config *config, const char *name, const void *text, size_t size, bool warn, assay_error *err);

/* Compiles patterns and resolves steps and reductions. */
int hook_config_freeze(hook_config *config, assay_error *err);
/* Does the steps rule save this step of its mode? */
bool hook_steps_hit(const hook_steps *rule, int64_t step);
/* The collections saved at this step of this mode (0..3), one bit each. Frozen configurations only. */
uint64_t hook_config_step_mask(const hook_config *config, int mode, int64_t mode_step);
/* The saved collections that a tensor belongs to. Frozen configurations only. Thread-safe. */
uint64_t hook_config_match(const hook_config *config, const char *tensor, size_t length);

/* Parses "min, abs_max, l1_norm". */
int hook_reductions_parse(const char *text, hook_reductions *out, assay_error *err);
/* The operation of a code as it stands in file names of reductions ("min", "l2"); *absolute tells its form. */
const char *hook_reduction_name(int code, bool *absolute);
/* Writes a list the way it stands in a collections file: "min,l1_norm,abs_mean". */
void hook_reductions_put(assay_buf *out, const hook_reductions *reductions);
