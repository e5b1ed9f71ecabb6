/* names.c - see names.h.
 *
 * 1. Components that wrappers add (_orig_mod of torch.compile, FSDP's) are dropped, and a leading "module." that all
 *    names of the model have; but nothing is dropped where two names would become one.
 * 2. Optimizers of torch know parameters by numbers, in the order of the model. A group of numbers gets names when
 *    there is exactly one way to lay it on the model's parameters in order with equal shapes. The leftmost way and the
 *    rightmost way are then the same, which takes one walk from each end. A wrong name is worse than a number: if one
 *    group cannot be laid, none is. */
#include "format/checkpoint/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

static const char OPTIMIZER[] = "optimizer/", EMA[] = "ema/", STATE[] = "state/", MODULE[] = "module.";

static bool begins(const char *text, size_t length, const char *with)
{
    const size_t size = strlen(with);
    return length >= size && memcmp(text, with, size) == 0;
}

static const char *name_of(const assay_contents *c, const assay_ckpt_tensor *t, size_t *length)
{
    return assay_dict_name(c->names, t->name, length);
}

/* Takes over new names, which were added in the order of the tensors, if they are complete and distinct; frees them
 * else. */
static void take_names(assay_contents *c, bool complete, assay_dict *names)
{
    if (!complete || assay_dict_count(names) != c->count) {
        assay_dict_free(names);
        return;
    }
    for (size_t i = 0; i < c->count; i++)
        c->tensor[i].name = (uint32_t)i;
    assay_dict_free(c->names);
    c->names = names;
}

/* ---- what wrappers add ---- */

static const char *const ADDED[] = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"};
enum { ADDED_COUNT = sizeof ADDED / sizeof *ADDED };

/* May a name have such a component? Few have the "_mod" that is in all of them. */
static bool is_wrapped(const assay_contents *c)
{
    const char *text = assay_dict_text(c->names), *found = memmem(text, assay_dict_bytes(c->names), "_mod", 4);
    bool is = false;
    for (size_t i = 0; found && i < ADDED_COUNT && !is; i++)
        is = memmem(text, assay_dict_bytes(c->names), ADDED[i], strlen(ADDED[i])) != NULL;
    return is;
}

/* Appends a name without the components that wrappers add. */
static void put_unwrapped(assay_buf *out, const char *name, size_t length)
{
    bool first = true;
    for (size_t at = 0; at <= length;) {
        const char *point = memchr(name + at, '.', length - at);
        const size_t size = point ? (size_t)(point - name) - at : length - at;
        bool drop = false;
        for (size_t i = 0; i < ADDED_COUNT; i++)
            drop = drop || (size == strlen(ADDED[i]) && memcmp(name + at, ADDED[i], size) == 0);
        if (!drop) {
            if (!first)
                assay_put_u8(out, '.');
            assay_put_bytes(out, name + at, size);
            first = false;
        }
        at += size + 1;
    }
}

/* The parameter's name in a tensor's: [*from, *from + *size). False: the tensor belongs to none. */
static bool find_parameter(const char *name, size_t length, size_t *from, size_t *size)
{
    *from = 0;
    *size = length;
    if (begins(name, length, STATE))
        return false;
    if (begins(name, length, EMA)) {
        *from = sizeof EMA - 1;
        *size = length - *from;
    } else if (begins(name, length, OPTIMIZER)) {
        *from = sizeof OPTIMIZER - 1;
        while (length > *from && name[length - 1] != '/')
            length--;
        *size = length > *from ? length - 1 - *from : 0;
    }
    return *size > 0;
}

/* Do all names of the model begin with "module."? */
static bool is_module(const assay_contents *c)
{
    bool any = false;
    for (size_t i = 0; i < c->count; i++) {
        size_t length = 0;
        const char *name = name_of(c, &c->tensor[i], &length);
        if (c->tensor[i].role != ASSAY_CKPT_MODEL)
            continue;
        any = true;
        if (!begins(name, length, MODULE))
            return false;
    }
    return any;
}

static uint32_t add_unwrapped(const assay_contents *c, const assay_ckpt_tensor *t, bool module, assay_dict *names,
                              assay_buf *text)
{
    size_t length = 0, from = 0, size = 0;
    const char *name = name_of(c, t, &length);
    assay_buf_clear(text);
    if (find_parameter(name, length, &from, &size)) {
        const size_t skip = module && begins(name + from, size, MODULE) ? sizeof MODULE - 1 : 0;
        assay_put_bytes(text, name, from);
        put_unwrapped(text, name + from + skip, size - skip);
        assay_put_bytes(text, name + from + size, length - from - size);
    } else {
        assay_put_bytes(text, name, length);
    }
    return assay_buf_status(text) == ASSAY_OK ? assay_dict_add(names, (const char *)text->data, text->size)
                                              : ASSAY_NO_ID;
}

static int drop_wrappers(assay_contents *c)
{
    const bool module = is_module(c);
    if (!module && !is_wrapped(c))
        return ASSAY_OK;
    assay_dict *names = assay_dict_new();
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    int status = names ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < c->count && status == ASSAY_OK; i++)
        if (add_unwrapped(c, &c->tensor[i], module, names, &text) == ASSAY_NO_ID)
            status = ASSAY_ENOMEM;
    take_names(c, status == ASSAY_OK, names);
    assay_buf_release(&text);
    return status;
}

/* ---- numbers ---- */

/* The numbers of one group, and the tensors they may stand for. */
typedef struct layout {
    const assay_contents *c;
    const assay_ckpt_number *number; /* [count] */
    size_t count;
    const size_t *kept;      /* by number in assay_contents: a tensor that the optimizer keeps of it; SIZE_MAX: none */
    const size_t *candidate; /* tensors of the model */
    size_t candidates;
    size_t *chosen; /* by number in assay_contents: the tensor it stands for */
} layout;

static void shape_of(const assay_contents *c, size_t tensor, assay_ckpt_place *place)
{
    assay_cursor in = assay_cursor_over(c->notes.data + c->tensor[tensor].note, c->tensor[tensor].note_size);
    assay_ckpt_note_get(&in, place);
}

static bool is_candidate(const assay_contents *c, const assay_ckpt_tensor *t)
{
    static const char *const buffers[] = {"running_mean", "running_var",  "num_batches_tracked",
                                          "inv_freq",     "position_ids", "masked_bias"};
    assay_ckpt_place place;
    size_t length = 0;
    const char *name = name_of(c, t, &length);
    if (t->role != ASSAY_CKPT_MODEL || !t->in_order || t->state != ASSAY_CKPT_HELD)
        return false;
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (length >= strlen(buffers[i]) &&
            memcmp(name + length - strlen(buffers[i]), buffers[i], strlen(buffers[i])) == 0)
            return false;
    shape_of(c, (size_t)(t - c->tensor), &place);
    return assay_dtype_is_float(place.dtype);
}

/* Does the tensor that is kept lack a dimension of its parameter, as Adafactor's factored moments do? 1: the last one;
 * 2: the one before; 0: none. */
static int lacks_dimension(const assay_contents *c, size_t tensor)
{
    static const char *const ends[] = {"/exp_avg_sq_row", "/exp_avg_sq_col"};
    size_t length = 0;
    const char *name = name_of(c, &c->tensor[tensor], &length);
    for (int i = 0; i < 2; i++)
        if (length >= strlen(ends[i]) && memcmp(name + length - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
            return i + 1;
    return 0;
}

static bool fits(const layout *l, size_t number, size_t candidate)
{
    const size_t kept = l->kept[&l->number[number] - l->c->number];
    assay_ckpt_place a, b;
    if (kept == SIZE_MAX)
        return true;
    shape_of(l->c, kept, &a);
    shape_of(l->c, l->candidate[candidate], &b);
    const int lacks = lacks_dimension(l->c, kept);
    if (lacks > 0) {
        if (b.dims < 2)
            return false;
        b.shape[b.dims - lacks] = b.shape[b.dims - 1];
        b.dims--;
    }
    return a.dims == b.dims && memcmp(a.shape, b.shape, (size_t)a.dims * sizeof *a.shape) == 0;
}

/* Lays the numbers on candidates in the only way there is. False: there is none, or more than one. */
static bool lay(layout *l)
{
    size_t *chosen = l->chosen + (l->number - l->c->number);
    size_t at = 0;
    for (size_t i = 0; i < l->count; i++, at++) {
        while (at < l->candidates && !fits(l, i, at))
            at++;
        if (at == l->candidates)
            return false;
        chosen[i] = l->candidate[at];
    }
    at = l->candidates;
    for (size_t i = l->count; i-- > 0;) { /* there is a way, so this finds one too */
        do
            at--;
        while (!fits(l, i, at));
        if (chosen[i] != l->candidate[at])
            return false;
    }
    return true;
}

/* Is every parameter of the group a matrix or more (1), or none (0)? -1: mixed, or nothing is known. */
static int class_of(const layout *l)
{
    int class = -1;
    for (size_t i = 0; i < l->count; i++) {
        const size_t kept = l->kept[&l->number[i] - l->c->number];
        assay_ckpt_place place;
        if (kept == SIZE_MAX)
            continue;
        shape_of(l->c, kept, &place);
        place.dims += lacks_dimension(l->c, kept) > 0;
        const int own = place.dims >= 2;
        if (class >= 0 && class != own)
            return -1;
        class = own;
    }
    return class;
}

static size_t keep_class(const assay_contents *c, const size_t *all, size_t count, int class, size_t *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        assay_ckpt_place place;
        shape_of(c, all[i], &place);
        if ((place.dims >= 2) == class)
            out[kept++] = all[i];
    }
    return kept;
}

/* Lays the groups of one optimizer, whose numbers are [first, last). */
static bool lay_groups(layout *l, size_t first, size_t last, const size_t *all, size_t count, size_t *some)
{
    const assay_ckpt_number *number = l->c->number;
    const bool single = number[first].group == number[last - 1].group;
    bool taken[2] = {false};
    for (size_t end = first; first < last; first = end) {
        while (end < last && number[end].group == number[first].group)
            end++;
        l->number = &number[first];
        l->count = end - first;
        l->candidate = all;
        l->candidates = count;
        if (!single) {
            const int class = class_of(l);
            if (class < 0 || taken[class])
                return false;
            taken[class] = true;
            l->candidate = some;
            l->candidates = keep_class(l->c, all, count, class, some);
        }
        if (!lay(l))
            return false;
    }
    return true;
}

/* "optimizer/3.#17/": the beginning of what optimizer 3 keeps of parameter 17. */
static size_t numbered(const assay_ckpt_number *n, char out[64])
{
    int size = n->listed ? snprintf(out, 64, "%s%u.#%lld/", OPTIMIZER, n->optimizer, (long long)n->number)
                         : snprintf(out, 64, "%s#%lld/", OPTIMIZER, (long long)n->number);
    return (size_t)size;
}

/* The beginnings of all numbered parameters, by number in assay_contents. NULL without memory. */
static assay_dict *list_numbered(const assay_contents *c)
{
    assay_dict *beginnings = assay_dict_new();
    for (size_t i = 0; beginnings && i < c->numbers; i++) {
        char text[64];
        const size_t size = numbered(&c->number[i], text);
        if (assay_dict_add(beginnings, text, size) == ASSAY_NO_ID) {
            assay_dict_free(beginnings);
            return NULL;
        }
    }
    return beginnings;
}

/* Which numbered parameter a tensor belongs to; ASSAY_NO_ID: none. *rest is where what is kept begins. */
static uint32_t find_numbered(const assay_contents *c, const assay_dict *beginnings, size_t tensor, size_t *rest)
{
    size_t length = 0;
    const char *name = name_of(c, &c->tensor[tensor], &length);
    if (!begins(name, length, OPTIMIZER))
        return ASSAY_NO_ID;
    const char *slash = memchr(name + sizeof OPTIMIZER - 1, '/', length - (sizeof OPTIMIZER - 1));
    *rest = slash ? (size_t)(slash + 1 - name) : 0;
    return slash ? assay_dict_find(beginnings, name, *rest) : ASSAY_NO_ID;
}

static int rename_numbered(assay_contents *c, const assay_dict *beginnings, const size_t *chosen)
{
    assay_dict *names = assay_dict_new();
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    int status = names ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < c->count && status == ASSAY_OK; i++) {
        size_t length = 0, rest = 0, named = 0;
        const char *name = name_of(c, &c->tensor[i], &length);
        const uint32_t number = find_numbered(c, beginnings, i, &rest);
        assay_buf_clear(&text);
        if (number == ASSAY_NO_ID) {
            assay_put_bytes(&text, name, length);
        } else {
            const char *parameter = name_of(c, &c->tensor[chosen[number]], &named);
            assay_put_format(&text, "%s", OPTIMIZER);
            if (c->number[number].listed)
                assay_put_format(&text, "%u.", c->number[number].optimizer);
            assay_put_bytes(&text, parameter, named);
            assay_put_bytes(&text, name + rest - 1, length - rest + 1);
        }
        if (assay_buf_status(&text) != ASSAY_OK ||
            assay_dict_add(names, (const char *)text.data, text.size) == ASSAY_NO_ID)
            status = ASSAY_ENOMEM;
    }
    take_names(c, status == ASSAY_OK, names);
    assay_buf_release(&text);
    return status;
}

/* Lays every optimizer's groups on the candidates. False: one cannot be laid. */
static bool lay_all(const assay_contents *c, const size_t *kept, const size_t *all, size_t count, size_t *some,
                    size_t *chosen)
{
    layout l = {.c = c, .kept = kept, .chosen = chosen};
    for (size_t first = 0, last = 0; first < c->numbers; first = last) {
        while (last < c->numbers && c->number[last].optimizer == c->number[first].optimizer)
            last++;
        if (!lay_groups(&l, first, last, all, count, some))
            return false;
    }
    return true;
}

/* What optimizers keep of each parameter, but its step: the shape is the parameter's. */
static void find_kept(const assay_contents *c, const assay_dict *beginnings, size_t *kept)
{
    for (size_t i = 0; i < c->numbers; i++)
        kept[i] = SIZE_MAX;
    for (size_t i = c->count; i-- > 0;) {
        size_t rest = 0, length = 0;
        const uint32_t number = find_numbered(c, beginnings, i, &rest);
        if (number == ASSAY_NO_ID || c->tensor[i].state != ASSAY_CKPT_HELD)
            continue;
        const char *name = name_of(c, &c->tensor[i], &length);
        if (length - rest != 4 || memcmp(name + rest, "step", 4) != 0)
            kept[number] = i;
    }
}

static int name_numbers(assay_contents *c)
{
    if (c->numbers == 0 || c->count == 0)
        return ASSAY_OK;
    assay_dict *beginnings = list_numbered(c);
    size_t *kept = assay_alloc(c->numbers * sizeof *kept), *chosen = assay_alloc(c->numbers * sizeof *chosen);
    size_t *all = assay_alloc(c->count * sizeof *all), *some = assay_alloc(c->count * sizeof *some), count = 0;
    int status = beginnings && kept && chosen && all && some ? ASSAY_OK : ASSAY_ENOMEM;
    /* A number twice in one optimizer's groups is damage; then nothing is named. */
    if (status == ASSAY_OK && assay_dict_count(beginnings) == c->numbers) {
        find_kept(c, beginnings, kept);
        for (size_t i = 0; i < c->count; i++)
            if (is_candidate(c, &c->tensor[i]))
                all[count++] = i;
        if (lay_all(c, kept, all, count, some, chosen))
            status = rename_numbered(c, beginnings, chosen);
    }
    assay_dict_free(beginnings);
    free(kept);
    free(chosen);
    free(all);
    free(some);
    return status;
}

int assay_ckpt_name(assay_contents *c)
{
    int status = drop_wrappers(c);
    return status == ASSAY_OK ? name_numbers(c) : status;
}
