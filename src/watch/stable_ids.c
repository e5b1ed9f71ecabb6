/* stable_ids.c - the numbers of a watched trial's tensors, which stay what they are when tensors of new names
 * appear.
 *
 * Tensors are numbered in byte order of their names, and the results that are kept speak of numbers. A name that comes
 * between two others would shift those behind it, and all steps would be read again. So once a trial has shown that its
 * names grow, gaps are left: numbers whose name is that of the tensor before and some bytes 1, and of which no step has
 * a record. A new name takes the middle of its gap. When a gap is used up, all are numbered anew with gaps twice as
 * wide. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "watch/stable_ids.h"

enum { WIDEST_GAP = 63, FILLER = 1 };

void assay_watch_ids_release(watched_ids *n)
{
    free(n->name);
    free(n->placed);
    *n = (watched_ids){0};
}

static int compare_names(const assay_dict *names, uint32_t a, uint32_t b)
{
    size_t x, y;
    const char *p = assay_dict_name(names, a, &x), *q = assay_dict_name(names, b, &y);
    int c = memcmp(p, q, x < y ? x : y);
    return c ? c : (x > y) - (x < y);
}

/* A name that fillers might be taken for. */
static bool has_low_bytes(const assay_dict *names, uint32_t id)
{
    size_t length;
    const char *name = assay_dict_name(names, id, &length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] <= FILLER)
            return true;
    return false;
}

/* Puts a name into the middle of its gap. False: there is no room. */
static bool place(watched_ids *n, const assay_dict *names, uint32_t id)
{
    uint32_t begin = 0, end = 0; /* the gap, between the last name before and the first one behind */
    for (end = 0; end < n->count; end++) {
        if (n->name[end] == ASSAY_NO_ID)
            continue;
        if (compare_names(names, n->name[end], id) > 0)
            break;
        begin = end + 1;
    }
    if (begin == end || has_low_bytes(names, id))
        return false;
    n->name[begin + (end - begin) / 2] = id;
    n->placed[id] = 1;
    return true;
}

/* Names by their numbers, sorted: those of `all` that are placed or wanted. */
static int sort_wanted(const watched_ids *n, const assay_dict *all, const uint8_t *wanted, uint32_t *sorted,
                       uint32_t *count)
{
    assay_dict *order = assay_dict_new();
    uint32_t many = assay_dict_count(all), *new_id = assay_alloc(many * sizeof *new_id),
             *old = assay_alloc(many * sizeof *old);
    int status = order && new_id && old ? ASSAY_OK : ASSAY_ENOMEM;
    *count = 0;
    for (uint32_t id = 0; status == ASSAY_OK && id < many; id++) {
        size_t length;
        const char *name = assay_dict_name(all, id, &length);
        if (!n->placed[id] && !wanted[id])
            continue;
        old[(*count)++] = id;
        status = assay_dict_add(order, name, length) == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    }
    ASSAY_THEN(status, assay_dict_sort(order, new_id));
    for (uint32_t i = 0; status == ASSAY_OK && i < *count; i++)
        sorted[new_id[i]] = old[i];
    free(new_id);
    free(old);
    assay_dict_free(order);
    return status;
}

/* Numbers all names anew, with wider gaps. */
static int spread(watched_ids *n, const assay_dict *all, const uint8_t *wanted)
{
    uint32_t many = assay_dict_count(all), count = 0, *sorted = assay_alloc(many * sizeof *sorted);
    int status = sorted ? sort_wanted(n, all, wanted, sorted, &count) : ASSAY_ENOMEM;
    uint32_t gap = n->generation == 0 ? 0 : 2 * n->gap + 1;
    gap = gap > WIDEST_GAP ? WIDEST_GAP : gap;
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++)
        gap = has_low_bytes(all, sorted[i]) ? 0 : gap;
    size_t total = count + (size_t)gap * (count + 1);
    uint32_t *name = status == ASSAY_OK ? assay_alloc(total * sizeof *name) : NULL;
    if (!name) {
        free(sorted);
        return ASSAY_ENOMEM;
    }
    for (size_t i = 0; i < total; i++)
        name[i] = i % (gap + 1) == gap ? sorted[i / (gap + 1)] : ASSAY_NO_ID;
    for (uint32_t i = 0; i < count; i++)
        n->placed[sorted[i]] = 1;
    free(sorted);
    free(n->name);
    n->name = name;
    n->count = (uint32_t)total;
    n->gap = gap;
    n->generation++;
    return ASSAY_OK;
}

static int place_all(watched_ids *n, const assay_dict *all, const uint8_t *wanted)
{
    uint32_t many = assay_dict_count(all);
    uint8_t *placed = assay_realloc_array(n->placed, many, 1);
    ASSAY_HAVE(placed);
    n->placed = placed;
    if (many > n->known)
        memset(placed + n->known, 0, many - n->known);
    n->known = many;
    bool room = true;
    for (uint32_t id = 0; room && id < many; id++)
        room = !wanted[id] || n->placed[id] || place(n, all, id);
    return room ? ASSAY_OK : spread(n, all, wanted);
}

/* Adds the name that stands for the gap's number: the one before, and as many fillers as the gap is deep. */
static uint32_t add_filler(const assay_dict *all, uint32_t before, uint32_t depth, assay_dict *out)
{
    char text[WIDEST_GAP];
    size_t length = 0;
    const char *name = before == ASSAY_NO_ID ? "" : assay_dict_name(all, before, &length);
    assay_buf whole = ASSAY_BUF(SIZE_MAX);
    memset(text, FILLER, sizeof text);
    assay_put_bytes(&whole, name, length);
    assay_put_bytes(&whole, text, depth);
    uint32_t id =
        assay_buf_status(&whole) == ASSAY_OK ? assay_dict_add(out, (const char *)whole.data, whole.size) : ASSAY_NO_ID;
    assay_buf_release(&whole);
    return id;
}

int assay_watch_number(watched_ids *n, const assay_dict *all, const uint8_t *wanted, assay_dict *out, uint32_t *new_id)
{
    int status = place_all(n, all, wanted);
    uint32_t before = ASSAY_NO_ID, depth = 0;
    for (uint32_t i = 0; status == ASSAY_OK && i < n->count; i++) {
        size_t length;
        uint32_t id = n->name[i], number;
        if (id == ASSAY_NO_ID) {
            number = add_filler(all, before, ++depth, out);
        } else {
            const char *name = assay_dict_name(all, id, &length);
            number = new_id[id] = assay_dict_add(out, name, length);
            before = id;
            depth = 0;
        }
        status = number == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    }
    return status;
}
