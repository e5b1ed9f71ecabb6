/* stale.c - finds files that stayed where they were, or came from elsewhere, while a checkpoint was written around them.
 *
 * Files go by their path below their checkpoint: there is one of each step. Which of two equal ones is the foreign one
 * their bytes do not tell; the later one is named, for that is what a write leaves that did not happen. */
#include "verify/stale.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "base/path.h"
#include "base/search.h"
#include "base/vec.h"
#include "container/suffixes.h"
#include "trial/trial_format.h"

enum { SAMPLE = 1 << 16, BLOCK = 1 << 20 };

typedef struct kept_file {
    uint32_t name; /* its path below the checkpoint, in watching.names */
    uint32_t unit; /* in watching.places */
    char *path;    /* below the trial's root; owned */
    uint64_t size, node;
    uint32_t sum;  /* of a sample */
    bool read;     /* it could be read: size and sum are known */
    bool moments;  /* it has tensors of an optimizer */
    bool schedule; /* it has no tensors: an epoch and a rate, which may stand still */
} kept_file;

typedef struct watching {
    const assay_trial_files *trial;
    assay_dict *names, *paths;
    ASSAY_VEC(kept_file) files; /* by name, then by step */
    assay_verify_places places;
} watching;

ASSAY_ORDER_BY(compare_files, kept_file, name, unit)

/* ---- which files ---- */

/* Does it say where the schedule of learning rates stands? */
static bool is_schedule(const char *path)
{
    return strncmp(assay_path_name(path), "scheduler", 9) == 0;
}

/* A file that has tensors, below the place of its checkpoint: a checkpoint that is one file has no name below itself, and no
 * neighbours. Beside a series a trainer leaves its last checkpoint once more, which is held against none. */
static int add_file(watching *w, const char *path, uint32_t unit, bool moments)
{
    const char *place = unit < w->places.count ? w->places.list[unit].path : "";
    const bool whole = w->places.count == 1 && strcmp(place, ".") == 0;
    const bool own = !whole && strcmp(path, place) == 0;
    const size_t length = whole ? 0 : strlen(place) + !own; /* of what goes before its name */
    const uint32_t known = assay_dict_count(w->paths);
    if (!*place || (!whole && !own && (strncmp(path, place, length - 1) != 0 || path[length - 1] != '/')))
        return ASSAY_OK;
    const uint32_t id = assay_dict_add(w->paths, path, strlen(path));
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (id < known) { /* the files are in the order of their paths yet */
        w->files.list[id].moments = w->files.list[id].moments || moments;
        return ASSAY_OK;
    }
    kept_file *f = ASSAY_VEC_ADD(&w->files);
    ASSAY_HAVE(f);
    f->name = assay_dict_add(w->names, path + length, strlen(path + length));
    f->unit = unit;
    f->path = assay_copy_text(path);
    f->moments = moments;
    f->schedule = is_schedule(path);
    return f->path && f->name != ASSAY_NO_ID ? ASSAY_OK : ASSAY_ENOMEM;
}

/* May pieces of tensors lie in the file? What lies beside them has other names: arguments, random numbers. */
static bool has_pieces(const char *path)
{
    return assay_suffix_kinds(path) & ASSAY_SUFFIX_PIECES;
}

/* Has each rank a part of its own in such files? Of others a rank may have a copy. */
static bool has_own_part(const char *path)
{
    const bool megatron = assay_path_ends(path, "/model_optim_rng.pt") && strstr(path, "mp_rank_");
    return megatron || assay_suffix_kinds(path) & ASSAY_SUFFIX_RANK;
}

static int add_part(watching *w, const assay_part *part)
{
    int status = ASSAY_OK;
    uint32_t unit = 0;
    ASSAY_SEARCH(unit, w->places.count, w->places.list[unit].step < part->step);
    if (unit < w->places.count && w->places.list[unit].step != part->step)
        unit = w->places.count;
    assay_dict *state = assay_dict_new(); /* files with random numbers and schedules, which may stand still */
    ASSAY_HAVE(state);
    for (size_t e = part->first; e < part->first + part->count && status == ASSAY_OK; e++) {
        char room[ASSAY_PATH_ROOM];
        const assay_entry *entry = &w->trial->shard.entries[e];
        const char *tensor = assay_dict_name(w->trial->tensors, entry->tensor, NULL);
        const char *path = assay_part_file(&w->trial->catalog, part, entry->file, room);
        if (path && w->places.count == 1 && !has_own_part(path))
            continue;
        if (path && strncmp(tensor, "state/", 6) == 0 && is_schedule(path))
            status = add_file(w, path, unit, false);
        else if (path && strncmp(tensor, "state/", 6) == 0)
            status = assay_dict_add(state, path, strlen(path)) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
        else if (path && entry->length > 0)
            status = add_file(w, path, unit, strncmp(tensor, "optimizer/", 10) == 0);
    }
    for (uint32_t f = 0; part->files && f < part->files->count && status == ASSAY_OK; f++) {
        const char *path = part->files->file[f].name;
        if (!part->files->file[f].note && (has_pieces(path) || is_schedule(path)) &&
            (w->places.count > 1 || has_own_part(path)) && assay_dict_find(state, path, strlen(path)) == ASSAY_NO_ID)
            status = add_file(w, path, unit, false); /* it has pieces of tensors */
    }
    assay_dict_free(state);
    return status;
}

static bool is_asked(const assay_verify_options *options, int64_t step)
{
    return step >= options->from && step < options->to;
}

/* What cannot be read is named by those who read it in full, but nobody does so at steps that are not asked for. */
static int name_unread(const watching *w, const kept_file *first, size_t count, const char *why,
                       assay_verify_remarks *remarks)
{
    char text[2048];
    if (count == 0)
        return ASSAY_OK;
    snprintf(text, sizeof text,
             "%.900s%s: %zu file%s of checkpoints that were not asked for cannot be read: nothing was held against %s",
             why, count > 1 ? ", the first" : "", count, assay_plural(count), count > 1 ? "them" : "it");
    return assay_verify_remark_add(remarks, ASSAY_VERIFY_NOTE, w->places.list[first->unit].step, first->path, text);
}

/* Sizes, and a block of each. */
static int sample(watching *w, const assay_verify_options *options, assay_verify_remarks *remarks)
{
    uint8_t *block = assay_alloc(SAMPLE);
    const kept_file *first = NULL;
    size_t unread = 0;
    assay_error why = {""};
    ASSAY_HAVE(block);
    for (size_t i = 0; i < w->files.count; i++) {
        kept_file *f = &w->files.list[i];
        assay_store_file *file = NULL;
        assay_store_stamp stamp = {0};
        assay_error err = {""};
        size_t got = 0;
        int status = assay_store_open_file(w->trial->store, f->path, &file, &err);
        const uint64_t size = status == ASSAY_OK ? assay_store_file_size(file) : 0,
                       at = size > SAMPLE ? (size - SAMPLE) / 3 * 2 : 0;
        ASSAY_THEN(status, assay_store_read_at(file, at, block, SAMPLE, &got, &err));
        if (status == ASSAY_OK && got > 0) {
            f->size = size;
            f->read = true;
            f->sum = assay_crc32c(0, block, got);
        }
        if (status != ASSAY_OK && !is_asked(options, w->places.list[f->unit].step) && unread++ == 0) {
            first = f;
            why = err;
        }
        if (assay_store_stamp_of(w->trial->store, f->path, &stamp, NULL) == 1)
            f->node = stamp.node;
        assay_store_close_file(file);
    }
    free(block);
    return name_unread(w, first, unread, why.text, remarks);
}

/* ---- what is the same ---- */

static bool may_be_same(const kept_file *a, const kept_file *b)
{
    return a->size == b->size && a->sum == b->sum && a->size > 0;
}

/* Of two that may be: are they? Links to one file are not meant. */
static bool is_same(const watching *w, const kept_file *a, const kept_file *b)
{
    assay_store_file *file[2] = {NULL, NULL};
    uint8_t *block = malloc((size_t)2 * BLOCK);
    assay_error err = {""};
    bool same = block && may_be_same(a, b) && !(a->node != 0 && a->node == b->node) &&
                assay_store_open_file(w->trial->store, a->path, &file[0], &err) == ASSAY_OK &&
                assay_store_open_file(w->trial->store, b->path, &file[1], &err) == ASSAY_OK;
    for (uint64_t at = 0; same && at < a->size; at += BLOCK) {
        size_t got[2] = {0, 0};
        same = assay_store_read_at(file[0], at, block, BLOCK, &got[0], &err) == ASSAY_OK &&
               assay_store_read_at(file[1], at, block + BLOCK, BLOCK, &got[1], &err) == ASSAY_OK && got[0] == got[1] &&
               memcmp(block, block + BLOCK, got[0]) == 0;
    }
    assay_store_close_file(file[0]);
    assay_store_close_file(file[1]);
    free(block);
    return same;
}

/* What makes two candidates: they are looked for among those that have the same keys, and not among all. */
typedef struct keyed {
    uint64_t of, sum; /* whose, and what it is */
    size_t at;
} keyed;

ASSAY_ORDER_BY(compare_keyed, keyed, of, sum, at)

#define NONE SIZE_MAX

/* Of each number below `room` the next lower one that has the same keys in the list, or NONE. Sorts the list. NULL without
 * memory. */
static size_t *link_alike(keyed *list, size_t count, size_t room)
{
    size_t *before = assay_alloc(room * sizeof *before);
    for (size_t i = 0; before && i < room; i++)
        before[i] = NONE;
    qsort(list, count, sizeof *list, compare_keyed);
    for (size_t i = 1; before && i < count; i++)
        if (list[i].of == list[i - 1].of && list[i].sum == list[i - 1].sum)
            before[list[i].at] = list[i - 1].at;
    return before;
}

/* The same of files: by their name, or by their checkpoint. */
static size_t *link_files(const watching *w, bool by_name)
{
    keyed *list = assay_alloc(w->files.count * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < w->files.count; i++) {
        const kept_file *f = &w->files.list[i];
        if (f->size > 0) /* may_be_same */
            list[count++] = (keyed){by_name ? f->name : f->unit, f->size * UINT64_C(0x9e3779b97f4a7c15) + f->sum, i};
    }
    size_t *before = list ? link_alike(list, count, w->files.count) : NULL;
    free(list);
    return before;
}

static const kept_file *find(const watching *w, uint32_t name, uint32_t unit)
{
    const kept_file key = {.name = name, .unit = unit};
    return bsearch(&key, w->files.list, w->files.count, sizeof key, compare_files);
}

/* Are the names the same but for their digits: "__0_0.distcp" and "__1_0.distcp"? */
static bool is_set(const char *a, const char *b)
{
    while (*a || *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (isdigit((unsigned char)*a))
                a++;
            while (isdigit((unsigned char)*b))
                b++;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return true;
}

/* What the other files of a checkpoint are, held against those of another one. */
typedef struct neighbours {
    bool changed, moments; /* some file is another one; one with moments is */
    size_t set;            /* files of the same set that are other ones, */
    uint64_t bytes;        /* and how many they have together */
    uint64_t largest;      /* bytes of the largest that is another one, of a set or not */
} neighbours;

static neighbours look_around(const watching *w, const kept_file *f, uint32_t unit)
{
    neighbours n = {0};
    const char *own = assay_dict_name(w->names, f->name, NULL);
    for (uint32_t name = 0; name < assay_dict_count(w->names); name++) {
        const kept_file *here = find(w, name, f->unit), *there = find(w, name, unit);
        if (name == f->name || !here || !there || !here->read || !there->read || may_be_same(here, there))
            continue; /* of what could not be read nobody knows what it is */
        n.changed = true;
        n.largest = here->size > n.largest ? here->size : n.largest;
        if (is_set(own, assay_dict_name(w->names, name, NULL))) {
            n.set++;
            n.bytes += here->size;
        }
        n.moments = n.moments || here->moments;
    }
    return n;
}

/* How often each file repeats among those of its path, so that judging two of them walks over none. */
typedef struct repeats {
    size_t *before; /* link_files(); owned */
    struct {
        size_t rank, total; /* files that may be the same: those before it, and all */
        size_t unread;      /* files before it, of all paths, that could not be read */
    } * of;                 /* owned */
} repeats;

static int count_repeats(const watching *w, repeats *r)
{
    r->before = link_files(w, true);
    r->of = r->before ? assay_alloc_zeroed(w->files.count, sizeof *r->of) : NULL;
    ASSAY_HAVE(r->of);
    for (size_t i = 0; i < w->files.count; i++) {
        r->of[i].rank = r->before[i] == NONE ? 0 : r->of[r->before[i]].rank + 1;
        r->of[i].total = r->of[i].rank + 1;
        r->of[i].unread = i > 0 ? r->of[i - 1].unread + !w->files.list[i - 1].read : 0;
    }
    for (size_t i = w->files.count; i-- > 0;)
        if (r->before[i] != NONE)
            r->of[r->before[i]].total = r->of[i].total;
    return ASSAY_OK;
}

/* Files of one path are [from, end), by step. What is to be said of the file at `at`, which may be the one at `other`? SOUND:
 * nothing. Suspect is what moved before, stood still at this one step, and has neighbours that went on. What never moved
 * before may be frozen until later, what stands still longer may be frozen from there on: a note. What was another one in
 * between has come back, which no training does, but with a few numbers. Of two checkpoints nobody sees what moves: a whole
 * model beside moments that changed, or a shard as large as the others, counts as trained. */
static assay_verify_state judge(const watching *w, const repeats *r, size_t from, size_t end, size_t at, size_t other)
{
    const kept_file *f = &w->files.list[at], *earlier = &w->files.list[other];
    const bool top = !strchr(assay_dict_name(w->names, f->name, NULL), '/');
    const size_t alike = r->of[at].total, between = at - other - 1;
    const bool moves = alike < end - from, before = r->of[other].rank < other - from;
    const bool back = between - (r->of[at].unread - r->of[other + 1].unread) > r->of[at].rank - r->of[other].rank - 1;
    const neighbours n = look_around(w, f, earlier->unit);
    /* of a set in which each tensor has a file, those that nothing trains have small ones */
    const bool trained =
        end - from == 2 && ((n.set > 0 && f->size >= n.bytes / n.set / 2) || (top && n.moments && !f->moments));
    if (!n.changed || (!moves && !trained && !(top && f->moments)) || (f->schedule && !back) || !is_same(w, f, earlier))
        return ASSAY_VERIFY_SOUND;
    const bool few =
        f->size < n.largest / 16 && !f->moments && !f->schedule; /* numbers, as the place in a queue, come back */
    return trained || (back ? !few : before && alike == 2) ? ASSAY_VERIFY_SUSPECT : ASSAY_VERIFY_NOTE;
}

static int add_remark(const watching *w, const kept_file *f, const kept_file *earlier, assay_verify_state state,
                      assay_verify_remarks *remarks)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "%.900s: it is byte for byte that of %.400s, and its neighbours are not: it is of another step, or nothing "
        "in it was trained in between",
        f->path, w->places.list[earlier->unit].path);
    return assay_verify_remark_add(remarks, state, w->places.list[f->unit].step, f->path, text);
}

static int look(const watching *w, const assay_verify_options *options, assay_verify_remarks *remarks)
{
    repeats r = {0};
    int status = count_repeats(w, &r);
    for (size_t from = 0, end; from < w->files.count && status == ASSAY_OK; from = end) {
        for (end = from + 1; end < w->files.count && w->files.list[end].name == w->files.list[from].name;)
            end++;
        for (size_t i = from + 1; i < end && status == ASSAY_OK; i++) {
            const int64_t step = w->places.list[w->files.list[i].unit].step;
            /* One of many that never moves says nothing, whatever its neighbours are. */
            bool found = !is_asked(options, step) ||
                         (r.of[i].total == end - from && end - from != 2 && !w->files.list[i].moments);
            for (size_t k = r.before[i]; k != NONE && !found && status == ASSAY_OK; k = r.before[k]) {
                const kept_file *f = &w->files.list[i], *earlier = &w->files.list[k];
                const assay_verify_state state =
                    may_be_same(earlier, f) ? judge(w, &r, from, end, i, k) : ASSAY_VERIFY_SOUND;
                found = state != ASSAY_VERIFY_SOUND;
                if (found)
                    status = add_remark(w, f, earlier, state, remarks);
            }
        }
    }
    free(r.before);
    free(r.of);
    return status;
}

/* Two files of one checkpoint in which ranks have parts of their own, and which are the same: one lies over another's. */
static int look_within(const watching *w, const assay_verify_options *options, assay_verify_remarks *remarks)
{
    size_t *before = link_files(w, false);
    int status = before ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < w->files.count; i++) {
        const kept_file *f = &w->files.list[i];
        const int64_t step = w->places.list[f->unit].step;
        if (!is_asked(options, step) || !has_own_part(f->path))
            continue;
        for (size_t k = before[i]; k != NONE && status == ASSAY_OK; k = before[k]) {
            const kept_file *other = &w->files.list[k];
            char text[2048];
            if (!may_be_same(other, f) || !is_set(other->path, f->path) || !is_same(w, other, f))
                continue;
            snprintf(text, sizeof text, "%.900s: it is byte for byte %.900s: the part of one of both is lost", f->path,
                     other->path);
            status = assay_verify_remark_add(remarks, ASSAY_VERIFY_SUSPECT, step, f->path, text);
            break;
        }
    }
    free(before);
    return status;
}

/* ---- whole checkpoints ---- */

/* Are all files of a checkpoint those of an earlier one? */
static bool is_copy(const watching *w, uint32_t unit, uint32_t earlier, bool *moments)
{
    size_t count = 0;
    bool same = true;
    *moments = false;
    for (int looked = 0; looked < 2; looked++) /* samples first: nearly all copies are none there */
        for (uint32_t name = 0; name < assay_dict_count(w->names) && same; name++) {
            const kept_file *here = find(w, name, unit), *there = find(w, name, earlier);
            if (!here && !there)
                continue;
            same = here && there && here->read && there->read && may_be_same(here, there) &&
                   (looked == 0 || is_same(w, here, there));
            *moments = *moments || (here && here->moments);
            count++;
        }
    return same && count > 0;
}

/* Checkpoints whose files have the same names, sizes and samples, as is_copy() needs them. */
static size_t *link_places(const watching *w)
{
    keyed *list = assay_alloc_zeroed(w->places.count, sizeof *list);
    for (uint32_t i = 0; list && i < w->places.count; i++)
        list[i].at = i;
    for (size_t i = 0; list && i < w->files.count; i++) {
        const kept_file *f = &w->files.list[i];
        const uint64_t key[] = {f->name, f->size, f->sum};
        list[f->unit].of++;
        list[f->unit].sum += (uint64_t)assay_crc32c(0, key, sizeof key) << 32 | assay_crc32c(1, key, sizeof key);
    }
    size_t *before = list ? link_alike(list, w->places.count, w->places.count) : NULL;
    free(list);
    return before;
}

/* A checkpoint that is another one as a whole: without moments of an optimizer nobody knows whether it was trained. */
static int look_at_copies(const watching *w, const assay_verify_options *options, assay_verify_remarks *remarks)
{
    size_t *before = link_places(w);
    int status = before ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t i = 1; status == ASSAY_OK && i < w->places.count; i++)
        for (size_t k = before[i]; k != NONE && is_asked(options, w->places.list[i].step); k = before[k]) {
            const assay_verify_place *own = &w->places.list[i], *other = &w->places.list[k];
            char text[2048];
            bool moments;
            if (!is_copy(w, i, (uint32_t)k, &moments))
                continue;
            snprintf(
                text, sizeof text,
                "%.900s: its tensors are byte for byte those of %.900s: it was copied, or nothing was trained in between",
                own->path, other->path);
            status = assay_verify_remark_add(remarks, moments ? ASSAY_VERIFY_SUSPECT : ASSAY_VERIFY_NOTE, own->step,
                                             own->path, text);
            break;
        }
    free(before);
    return status;
}

int assay_verify_stale(const assay_trial_files *trial, const assay_verify_options *options,
                       assay_verify_remarks *remarks, assay_error *err)
{
    watching w = {.trial = trial, .names = assay_dict_new(), .paths = assay_dict_new()};
    int status = w.names && w.paths ? assay_verify_list_places(trial, &w.places) : ASSAY_ENOMEM;
    for (size_t p = 0; p < trial->shard.count && status == ASSAY_OK; p++)
        if (assay_format_of(trial->shard.parts[p].format)->checkpoints)
            status = add_part(&w, &trial->shard.parts[p]);
    if (status == ASSAY_OK && w.files.count > 1) {
        qsort(w.files.list, w.files.count, sizeof *w.files.list, compare_files);
        status = sample(&w, options, remarks);
        ASSAY_THEN(status, look(&w, options, remarks));
        ASSAY_THEN(status, look_within(&w, options, remarks));
        ASSAY_THEN(status, look_at_copies(&w, options, remarks));
    }
    for (size_t i = 0; i < w.files.count; i++)
        free(w.files.list[i].path);
    free(w.files.list);
    assay_verify_places_release(&w.places);
    assay_dict_free(w.names);
    assay_dict_free(w.paths);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "out of memory while files are compared") : status;
}
