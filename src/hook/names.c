/* names.c - the table of tensor names. */
#include "hook/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/utf8.h"

enum { FIRST_ROOM = 256 };

void hook_names_init(hook_names *names)
{
    memset(names, 0, sizeof *names);
}

void hook_names_release(hook_names *names)
{
    for (size_t i = 0; i < names->room; i++) {
        if (names->slots[i]) {
            free(names->slots[i]->text);
            free(names->slots[i]->layout);
            free(names->slots[i]);
        }
    }
    free(names->slots);
    memset(names, 0, sizeof *names);
}

/* The slot of a name, or the free slot where it belongs. */
static size_t slot_of(hook_name **slots, size_t room, const char *text, uint64_t hash)
{
    size_t at = (size_t)hash & (room - 1);
    while (slots[at] && (slots[at]->hash != hash || strcmp(slots[at]->text, text) != 0))
        at = (at + 1) & (room - 1);
    return at;
}

static int grow(hook_names *names)
{
    size_t room = names->room ? 2 * names->room : FIRST_ROOM;
    hook_name **slots = assay_alloc_zeroed(room, sizeof *slots);
    ASSAY_HAVE(slots);
    for (size_t i = 0; i < names->room; i++) {
        hook_name *n = names->slots[i];
        if (n)
            slots[slot_of(slots, room, n->text, n->hash)] = n;
    }
    free(names->slots);
    names->slots = slots;
    names->room = room;
    return ASSAY_OK;
}

static int check(const char *text, size_t length, assay_error *err)
{
    if (length == 0 || length > HOOK_NAME_LENGTH)
        return assay_fail(err, ASSAY_EUSAGE, "the name of a tensor has 1 to %d bytes, not %zu", HOOK_NAME_LENGTH,
                          length);
    for (size_t at = 0; at < length;) {
        size_t step = assay_utf8_length(text + at, length - at);
        if (!step)
            return assay_fail(err, ASSAY_EUSAGE, "tensor name \"%s\": byte %zu is not UTF-8", text, at);
        at += step;
    }
    return ASSAY_OK;
}

int hook_names_find(hook_names *names, const hook_config *config, const char *text, hook_name **out, assay_error *err)
{
    size_t length = strlen(text);
    uint64_t hash = assay_hash_bytes(text, length);
    if (names->room) {
        size_t at = slot_of(names->slots, names->room, text, hash);
        if (names->slots[at]) {
            *out = names->slots[at];
            return ASSAY_OK;
        }
    }
    int rc = check(text, length, err);
    if (rc < 0)
        return rc;
    if (names->count >= HOOK_NAMES)
        return assay_fail(err, ASSAY_EBUDGET,
                          "tensor \"%s\": %d different names are the limit (does the name hold a step?)", text,
                          HOOK_NAMES);
    hook_name *n = assay_alloc(sizeof *n);
    char *copy = assay_copy_text(text);
    if (!n || !copy || (2 * names->count >= names->room && grow(names) < 0)) {
        free(n);
        free(copy);
        return assay_fail(err, ASSAY_ENOMEM, "tensor \"%s\": out of memory", text);
    }
    *n = (hook_name){copy, hash, hook_config_match(config, text, length), NULL};
    names->slots[slot_of(names->slots, names->room, text, hash)] = n;
    names->count++;
    names->version += n->mask != 0;
    *out = n;
    return ASSAY_OK;
}
