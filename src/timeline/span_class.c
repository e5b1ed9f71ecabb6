/* span_class.c - what spans of one kind of file, phase and name come to: steps of a mode, loaders, and the sums that
 * their time belongs to. That is found out once; the spans of a timeline come in much the same order again and again,
 * so that the class which came next the last time is tried first. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "timeline/internal.h"

enum { CLASSES_MOST = 4096, BYTES_MOST = 4 << 20 /* of their names; then they are forgotten, for memory's sake */ };

static bool is(assay_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

/* Tells whether a text has a word, which is in lower case, in any case. */
static bool has_word(assay_text text, const char *word)
{
    const size_t wanted = strlen(word);
    for (size_t i = 0; i + wanted <= text.length; i++) {
        size_t k = 0;
        while (k < wanted && (text.bytes[i + k] | 0x20) == word[k])
            k++;
        if (k == wanted)
            return true;
    }
    return false;
}

/* ---- sums ---- */

uint32_t collector_total(assay_collector *c, int kind, const char *name, size_t length)
{
    enum { KEY_ROOM = 512 };
    char room[KEY_ROOM], *key = length < sizeof room ? room : assay_alloc(length + 1);
    if (!key)
        return ASSAY_NO_ID;
    key[0] = (char)kind;
    memcpy(key + 1, name, length);
    const uint32_t id = assay_dict_add(c->totals, key, length + 1);
    if (key != room)
        free(key);
    return id == ASSAY_NO_ID || (id == c->total.count && !rows_add(&c->total, sizeof(total))) ? ASSAY_NO_ID : id;
}

/* Makes the time of these spans belong to one more sum. */
static int add_total(assay_collector *c, span_class *class, int kind, assay_text name)
{
    const uint32_t id = collector_total(c, kind, name.bytes, name.length);
    class->total[class->totals++] = id;
    return id == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

/* Finds what the time of a span that is no step counts for. */
static int find_totals(assay_collector *c, span_class *class, uint8_t kind, assay_text phase, assay_text name)
{
    const assay_text none = {"", 0};
    if (kind == ASSAY_EVENTS_HOROVOD || kind == ASSAY_EVENTS_DATAPARALLEL)
        return add_total(c, class, kind == ASSAY_EVENTS_HOROVOD ? ASSAY_TIME_HOROVOD : ASSAY_TIME_DATAPARALLEL, name);
    const bool cpu = has_word(phase, "cpu"), gpu = !cpu && has_word(phase, "gpu");
    if (cpu || gpu) {
        const int status = add_total(c, class, cpu ? ASSAY_TIME_CPU_PHASE : ASSAY_TIME_GPU_PHASE, phase);
        return status == ASSAY_OK ? add_total(c, class, cpu ? ASSAY_TIME_CPU_OPERATOR : ASSAY_TIME_GPU_OPERATOR, name)
                                  : status;
    }
    if (is(phase, "Forward-SubModuleInternal"))
        return add_total(c, class, ASSAY_TIME_FORWARD, none);
    if (is(phase, "Backward-SubModuleInternal"))
        return add_total(c, class, ASSAY_TIME_BACKWARD, none);
    return add_total(c, class, ASSAY_TIME_GENERAL, phase);
}

/* ---- classes ---- */

/* Finds the mode of a step's name, "Step:ModeKeys.TRAIN"; no bytes: it is no step. */
static assay_text mode_of(assay_text name)
{
    static const char mark[] = "Step:ModeKeys.", last[] = "ModeKeys.";
    const char *mode = NULL, *end = name.bytes + name.length;
    if (!memmem(name.bytes, name.length, mark, sizeof mark - 1))
        return (assay_text){0};
    for (const char *at = name.bytes; (at = memmem(at, (size_t)(end - at), last, sizeof last - 1)); at++)
        mode = at + sizeof last - 1;
    return (assay_text){mode, (size_t)(end - mode)};
}

static int describe(assay_collector *c, span_class *class, uint8_t kind, assay_text phase, assay_text name)
{
    const bool other = kind == ASSAY_EVENTS_HOROVOD || kind == ASSAY_EVENTS_DATAPARALLEL;
    const assay_text mode = other ? (assay_text){0} : mode_of(name);
    if (mode.bytes) {
        class->mode = collector_text(c, mode.bytes, mode.length);
        return class->mode == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    }
    class->loads = !other && (is(phase, "DataLoaderIter") || is(phase, "DataLoaderWorker"));
    class->sets_up = !other && is(phase, "DataLoaderIterInitialize");
    return find_totals(c, class, kind, phase, name);
}

/* Classes are found again from the spans, so forgetting costs time alone. */
static int forget_all(assay_collector *c)
{
    assay_dict *empty = assay_dict_new();
    ASSAY_HAVE(empty);
    assay_dict_free(c->class_keys);
    c->class_keys = empty;
    c->class.count = 0;
    c->last_class = ASSAY_NO_ID;
    return ASSAY_OK;
}

/* The key of a class: kind, length of the phase, phase, name. */
enum { KEY_HEAD = 1 + sizeof(uint32_t) };

static bool is_class(const assay_collector *c, uint32_t id, uint8_t kind, assay_text phase, assay_text name)
{
    size_t size = 0;
    uint32_t length = 0;
    const char *key = assay_dict_name(c->class_keys, id, &size);
    memcpy(&length, key + 1, sizeof length);
    return size == KEY_HEAD + phase.length + name.length && (uint8_t)key[0] == kind && length == phase.length &&
           memcmp(key + KEY_HEAD, phase.bytes, phase.length) == 0 &&
           memcmp(key + KEY_HEAD + phase.length, name.bytes, name.length) == 0;
}

static uint32_t find_class(assay_collector *c, uint8_t kind, assay_text phase, assay_text name)
{
    enum { ROOM = 512 };
    const size_t size = KEY_HEAD + phase.length + name.length;
    const uint32_t length = (uint32_t)phase.length;
    char room[ROOM], *key = size <= sizeof room ? room : assay_alloc(size);
    if (!key)
        return ASSAY_NO_ID;
    key[0] = (char)kind;
    memcpy(key + 1, &length, sizeof length);
    memcpy(key + KEY_HEAD, phase.bytes, phase.length);
    memcpy(key + KEY_HEAD + phase.length, name.bytes, name.length);
    uint32_t id = assay_dict_add(c->class_keys, key, size);
    if (key != room)
        free(key);
    if (id == ASSAY_NO_ID || id < c->class.count)
        return id;
    span_class new = {.mode = ASSAY_NO_ID, .next = ASSAY_NO_ID};
    span_class *row = describe(c, &new, kind, phase, name) == ASSAY_OK ? rows_add(&c->class, sizeof *row) : NULL;
    if (!row)
        return ASSAY_NO_ID;
    *row = new;
    return id;
}

const span_class *collector_class(assay_collector *c, uint8_t kind, assay_text phase, assay_text name)
{
    span_class *list = c->class.list;
    if (c->last_class != ASSAY_NO_ID) {
        const uint32_t guess = list[c->last_class].next;
        if (guess != ASSAY_NO_ID && is_class(c, guess, kind, phase, name)) {
            c->last_class = guess;
            return &list[guess];
        }
    }
    if ((c->class.count >= CLASSES_MOST || assay_dict_bytes(c->class_keys) > BYTES_MOST) && forget_all(c) != ASSAY_OK)
        return NULL;
    const uint32_t id = find_class(c, kind, phase, name);
    if (id == ASSAY_NO_ID)
        return NULL;
    list = c->class.list;
    if (c->last_class != ASSAY_NO_ID)
        list[c->last_class].next = id;
    c->last_class = id;
    return &list[id];
}
