/* names.h - the tensor names seen so far, and the collections of each. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>
#include "hook/config.h"

enum { HOOK_NAME_LENGTH = 4096, HOOK_NAMES = 1 << 20 };

typedef struct hook_name {
    char *text; /* owned; stays where it is until the table goes */
    uint64_t hash, mask;
    struct hook_layout
        *layout; /* the first one that it was saved with (layout.h), which stays, too; NULL: none; owned */
} hook_name;

typedef struct hook_names {
    hook_name **slots; /* open addressing, a power of two */
    size_t room, count;
    uint64_t version; /* goes up when a collection gains a tensor */
} hook_names;

/* An empty table, and its end. */
void hook_names_init(hook_names *names);
void hook_names_release(hook_names *names);

/* Finds a name or takes it in, matching it against the collections once. Names are UTF-8 of 1 to HOOK_NAME_LENGTH
 * bytes; at most HOOK_NAMES different ones. ASSAY_EUSAGE, ASSAY_EBUDGET, ASSAY_ENOMEM. Not thread-safe. */
int hook_names_find(hook_names *names, const hook_config *config, const char *text, hook_name **out, assay_error *err);

/* The bytes of a collections file: every base, included or filled collection with its parameters and tensors.
 * `known` are `count` names with their masks. */
int hook_collections_write(const hook_config *config, int num_workers, const hook_name *known, size_t count,
                           assay_buf *out);
