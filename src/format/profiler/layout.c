/* layout.c - finds the files of a profiler's trial by their names. All that have others are no concern of its. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "format/profiler/profiler.h"
#include "tfrecord/recorded.h"

enum { DEEPEST = 9, ID_MOST = 512 };

bool assay_profiler_probe(const assay_names *top)
{
    for (size_t i = 0; i < top->count; i++)
        if (strcmp(top->name[i], "system") == 0 || strcmp(top->name[i], "framework") == 0)
            return true;
    return false;
}

static size_t digits_of(const char *text)
{
    return strspn(text, "0123456789");
}

static int64_t number_of(const char *text, size_t digits)
{
    int64_t value = 0;
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text[i] - '0', &value))
            return INT64_MAX;
    return value;
}

/* Does the text end so, with or without .gz behind it? Sets the length of what is before. */
static bool ends_with(const char *text, const char *suffix, size_t *before)
{
    size_t length = strlen(text);
    const size_t wanted = strlen(suffix);
    if (length > 3 && strcmp(text + length - 3, ".gz") == 0)
        length -= 3;
    if (length < wanted || memcmp(text + length - wanted, suffix, wanted) != 0)
        return false;
    *before = length - wanted;
    return true;
}

static int add(assay_event_lister *l, const char *path, const char *source, size_t length, assay_event_file file)
{
    char name[ID_MOST];
    if (length >= sizeof name)
        return ASSAY_OK; /* no file system has such names */
    memcpy(name, source, length);
    name[length] = '\0';
    file.path = (char *)(uintptr_t)path;
    file.source = name;
    return assay_event_lister_add(l, &file);
}

/* Does the end of a path look like an ending? */
static bool looks_like(const char *end, size_t size, const char *ending)
{
    char text[16] = "";
    if (size >= sizeof text)
        return false;
    memcpy(text, end, size);
    return assay_path_looks_like(text, ending);
}

/* A file of samples or events whose name does not say whose, or when: it may have been another name. */
static int name_foreign(assay_event_lister *l, const char *path)
{
    static const char *const endings[] = {".json", ".json.gz", ".tmp"};
    const size_t before = assay_path_before_aside(path), length = before > 0 ? before : strlen(path);
    bool named = !strchr(assay_path_name(path), '.'); /* without an ending: a directory's */
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !named; i++) {
        const size_t size = strlen(endings[i]);
        named = assay_path_ends_n(path, length, endings[i]) ||
                (length > size && looks_like(path + length - size, size, endings[i]));
    }
    if (named)
        assay_problems_add(l->problems, ASSAY_PROBLEM_EVENTS_LEFT, -1, path, -1,
                           "%s: not a name that profiler files have there; it is not read", path);
    return l->problems->status;
}

/* SECONDS.NODE.json, of ten digits; a node's name has no dot. */
static int visit_system(assay_event_lister *l, const char *path, const char *name)
{
    enum { SECOND_DIGITS = 10 };
    size_t before = 0;
    if (digits_of(name) != SECOND_DIGITS || name[SECOND_DIGITS] != '.' || !ends_with(name, ".json", &before) ||
        before <= SECOND_DIGITS + 1 || memchr(name + SECOND_DIGITS + 1, '.', before - SECOND_DIGITS - 1))
        return name_foreign(l, path);
    return add(l, path, name + SECOND_DIGITS + 1, before - SECOND_DIGITS - 1,
               (assay_event_file){.kind = ASSAY_EVENTS_SYSTEM, .time = number_of(name, SECOND_DIGITS) * 1000000});
}

/* The kind of timeline that a name ends in; ASSAY_EVENTS_SYSTEM: none. */
static uint8_t kind_of(const char *name)
{
    static const struct {
        const char *suffix;
        uint8_t kind;
    } suffixes[] = {{"_pythontimeline.json", ASSAY_EVENTS_PYTHON},
                    {"_model_timeline.json", ASSAY_EVENTS_MODEL},
                    {"_horovod_timeline.json", ASSAY_EVENTS_HOROVOD},
                    {"_smdataparallel_timeline.json", ASSAY_EVENTS_DATAPARALLEL}};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t before = 0;
        if (ends_with(name, suffixes[i].suffix, &before))
            return suffixes[i].kind;
    }
    return ASSAY_EVENTS_SYSTEM;
}

/* END_ID_..._KIND.json */
static int visit_timeline(assay_event_lister *l, const char *path, const char *name)
{
    const size_t digits = digits_of(name);
    const uint8_t kind = kind_of(name);
    if (digits == 0 || name[digits] != '_' || kind == ASSAY_EVENTS_SYSTEM)
        return name_foreign(l, path);
    const char *id = name + digits + 1, *behind = strchr(id, '_');
    if (!behind || behind == id)
        return name_foreign(l, path);
    return add(l, path, id, (size_t)(behind - id), (assay_event_file){.kind = kind, .time = number_of(name, digits)});
}

/* ID_KIND.json.tmp: what a writer has open. */
static int visit_open(assay_event_lister *l, const char *path, const char *name)
{
    const size_t length = strlen(name);
    if (length <= 4 || strcmp(name + length - 4, ".tmp") != 0)
        return name_foreign(l, path);
    return add(l, path, name, strcspn(name, "_"), (assay_event_file){.kind = ASSAY_EVENTS_PYTHON, .unfinished = true});
}

static void name_damaged(assay_event_lister *l, const char *directory)
{
    static const char *const known[] = {"pevents", ASSAY_RECORDED_END, NULL};
    assay_names names = {0};
    if (assay_store_list(l->store, directory, &names, NULL) == ASSAY_OK)
        assay_problems_name_damaged(l->problems, &names, directory, known);
    assay_names_release(&names);
}

int assay_profiler_list(assay_event_lister *l)
{
    static const char *const ends[] = {"system/" ASSAY_RECORDED_END, "framework/" ASSAY_RECORDED_END,
                                       ASSAY_RECORDED_END};
    static const char *const known[] = {"system", "framework", NULL};
    assay_problems_name_damaged(l->problems, l->top, "", known);
    name_damaged(l, "system");
    name_damaged(l, "framework");
    int status = assay_event_lister_walk(l, "system", DEEPEST, visit_system);
    ASSAY_THEN(status, assay_event_lister_walk(l, "framework/pevents", DEEPEST, visit_timeline));
    ASSAY_THEN(status, assay_event_lister_walk(l, "framework", 0, visit_open));
    for (size_t i = 0; i < sizeof ends / sizeof *ends && status == ASSAY_OK; i++) {
        l->files->ended = assay_store_exists(l->store, ends[i], NULL) == 1 || l->files->ended;
        assay_problems_name_directory(l->problems, l->store, ends[i]);
    }
    return status;
}

/* A directory and those in it, `depth` deep. */
static int visit_directories(assay_store *store, const char *directory, int depth, assay_event_place_visit *visit,
                             void *context)
{
    enum { PATH_ROOM = 4096 };
    assay_names names = {0};
    int status = visit(context, directory);
    if (status != ASSAY_OK || depth == 0 || assay_store_list(store, directory, &names, NULL) != ASSAY_OK)
        return status;
    char *path = assay_alloc(PATH_ROOM);
    status = path ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++)
        if (snprintf(path, PATH_ROOM, "%s/%s", directory, names.name[i]) < PATH_ROOM && !strchr(names.name[i], '.'))
            status = visit_directories(store, path, depth - 1, visit, context);
    free(path);
    assay_names_release(&names);
    return status;
}

int assay_profiler_places(assay_store *store, assay_event_place_visit *visit, void *context)
{
    enum { OF_HOURS = 2 }; /* system/incremental/HOUR, framework/pevents/HOUR */
    int status = visit_directories(store, "system", OF_HOURS, visit, context);
    return status == ASSAY_OK ? visit_directories(store, "framework", OF_HOURS, visit, context) : status;
}
