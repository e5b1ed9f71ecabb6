/* flight_dump.c - collects what readers find in a dump. */
#include "container/flight_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"

int assay_flight_dump_init(assay_flight_dump *d)
{
    *d = (assay_flight_dump){.newest = INT64_MIN, .texts = assay_dict_new(), .parts = assay_dict_new()};
    d->stacks = assay_dict_new();
    return d->texts && d->parts && d->stacks ? ASSAY_OK : ASSAY_ENOMEM;
}

/* The record of texts, parts and stacks: each is kept once, entries name them by number. */
void assay_flight_dump_release(assay_flight_dump *d)
{
    assay_dict_free(d->texts);
    assay_dict_free(d->parts);
    assay_dict_free(d->stacks);
    free(d->config.list);
    free(d->ranks.list);
    free(d->status.list);
    free(d->entry.list);
    free(d->key.list);
    free(d->alike.list);
    free(d->dimension.list);
    for (int side = 0; side < 2; side++) {
        free(d->found.sizes[side].list);
        free(d->found.types[side].list);
    }
    *d = (assay_flight_dump){0};
}

bool assay_flight_wrong(assay_flight_dump *d, const char *what)
{
    if (!d->wrong)
        d->wrong = what;
    return false;
}

bool assay_flight_no_memory(assay_flight_dump *d)
{
    d->no_memory = true;
    return false;
}

bool assay_flight_is(assay_flight_text text, const char *word)
{
    return text.bytes && text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

bool assay_flight_digits(assay_flight_text text, int64_t *value)
{
    const size_t sign = text.length > 0 && text.bytes[0] == '-';
    int64_t number = 0;
    /* 18 digits never overflow 63 bits. */
    if (!text.bytes || text.length == sign || text.length > sign + 18)
        return false;
    for (size_t i = sign; i < text.length; i++) {
        if (!assay_is_digit(text.bytes[i]))
            return false;
        number = 10 * number + (text.bytes[i] - '0');
    }
    *value = sign ? -number : number;
    return true;
}

assay_flight_number assay_flight_number_of(assay_flight_text key)
{
    static const char *const names[] = {[ASSAY_FLIGHT_RECORD_ID] = "record_id",
                                        [ASSAY_FLIGHT_PG_ID] = "pg_id",
                                        [ASSAY_FLIGHT_COLLECTIVE] = "collective_seq_id",
                                        [ASSAY_FLIGHT_P2P] = "p2p_seq_id",
                                        [ASSAY_FLIGHT_OP_ID] = "op_id",
                                        [ASSAY_FLIGHT_CREATED] = "time_created_ns"};
    int i = 0;
    while (i < ASSAY_FLIGHT_NUMBERS && !assay_flight_is(key, names[i]))
        i++;
    return (assay_flight_number)i;
}

assay_keys assay_flight_keys(assay_flight_dump *d, assay_flight_object object)
{
    /* Later versions of PyTorch add keys: those that are not listed are passed over (base/keys.h). */
    static const char *const top[] = {"entries", "version", "pg_config", "pg_status", NULL};
    static const char *const group[] = {"desc", "ranks", NULL};
    static const char *const status[] = {"last_enqueued_collective", "last_completed_collective", NULL};
    static const char *const entry[] = {"record_id",
                                        "pg_id",
                                        "collective_seq_id",
                                        "p2p_seq_id",
                                        "op_id",
                                        "time_created_ns",
                                        "process_group",
                                        "profiling_name",
                                        "state",
                                        "is_p2p",
                                        "time_discovered_started_ns",
                                        "input_sizes",
                                        "output_sizes",
                                        "input_dtypes",
                                        "output_dtypes",
                                        "frames",
                                        NULL};
    static const char *const *const known[] = {[ASSAY_FLIGHT_TOP] = top,
                                               [ASSAY_FLIGHT_GROUP] = group,
                                               [ASSAY_FLIGHT_STATUS] = status,
                                               [ASSAY_FLIGHT_ENTRY] = entry};
    return (assay_keys){.known = known[object], .memory = &d->keys};
}

bool assay_flight_check_keys(assay_flight_dump *d, const assay_keys *keys)
{
    return !assay_keys_damaged(keys) || assay_flight_wrong(d, "a key of its groups, its status or its top is damaged");
}

char *assay_flight_copy(assay_flight_text text)
{
    char *copy = assay_alloc(text.length + 1);
    if (!copy)
        return NULL;
    if (text.length > 0)
        memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    return copy;
}

static uint32_t text_id(assay_flight_dump *d, assay_flight_text text)
{
    const uint32_t id = assay_dict_add(d->texts, text.bytes ? text.bytes : "", text.bytes ? text.length : 0);
    d->no_memory = d->no_memory || id == ASSAY_NO_ID;
    return id;
}

/* ---- groups and status ---- */

/* JSON and pickles may have a key twice, and the last one counts: each of these begins again. */
void assay_flight_begin_groups(assay_flight_dump *d)
{
    d->has_config = true;
    d->config.count = 0;
    d->ranks.count = 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* "[0, 1, 2]". The groups of all ranks together are most of a dump of many ranks, so there is one pass without calls. */
static bool add_ranks(assay_flight_dump *d, assay_flight_text text)
{
    static const char wrong[] = "the ranks of a group are no list of numbers from 0 to 999999999";
    const char *p = text.bytes, *end = p ? p + text.length : NULL;
    if (!p || text.length < 2 || *p != '[' || end[-1] != ']')
        return assay_flight_wrong(d, wrong);
    end--;
    p++;
    /* At most one rank in two characters: "[0,1,2]". */
    if (!ASSAY_VEC_RESERVE(&d->ranks, d->ranks.count + text.length / 2))
        return assay_flight_no_memory(d);
    while (p < end && is_blank(*p))
        p++;
    while (p < end) {
        const char *first = p;
        uint32_t rank = 0;
        for (; p < end && assay_is_digit(*p) && p - first < 10; p++)
            rank = 10 * rank + (uint32_t)(*p - '0');
        const ptrdiff_t digits = p - first;
        while (p < end && is_blank(*p))
            p++;
        const bool more = p < end && *p == ',';
        /* Ten digits are read so that a number of ten is seen and refused, not cut. */
        if (digits == 0 || digits > 9 || (p < end && !more))
            return assay_flight_wrong(d, wrong);
        if (d->ranks.count >= ASSAY_FLIGHT_RANKS_MOST)
            return assay_flight_wrong(d, "its groups have more than 2^24 ranks");
        d->ranks.list[d->ranks.count++] = rank;
        p += more;
        while (p < end && is_blank(*p))
            p++;
        if (more && p == end)
            return assay_flight_wrong(d, wrong);
    }
    return true;
}

bool assay_flight_add_group(assay_flight_dump *d, assay_flight_text name, assay_flight_text description,
                            assay_flight_text ranks)
{
    const size_t first = d->ranks.count;
    if (!add_ranks(d, ranks))
        return false;
    const assay_flight_config config = {text_id(d, name), text_id(d, description), (uint32_t)first,
                                        (uint32_t)(d->ranks.count - first)};
    /* A group that is listed again replaces the one before, as Python's dict has it. Groups are few: no search tree
     * is worth it. */
    for (size_t i = 0; i < d->config.count; i++)
        if (d->config.list[i].name == config.name) {
            d->config.list[i] = config;
            return !d->no_memory;
        }
    assay_flight_config *to = ASSAY_VEC_ADD(&d->config);
    if (!to)
        return assay_flight_no_memory(d);
    *to = config;
    return !d->no_memory;
}

void assay_flight_begin_status(assay_flight_dump *d)
{
    d->status.count = 0;
}

bool assay_flight_add_status(assay_flight_dump *d, assay_flight_status status)
{
    assay_flight_status *to = ASSAY_VEC_ADD(&d->status);
    if (!to)
        return assay_flight_no_memory(d);
    *to = status;
    return true;
}

/* ---- entries ---- */

void assay_flight_begin_entries(assay_flight_dump *d)
{
    d->entry.count = 0;
    d->seen = 0;
    d->unread = 0;
    d->full = true;
    d->starts_known = false;
    d->newest = INT64_MIN;
}

void assay_flight_begin_entry(assay_flight_dump *d)
{
    assay_flight_found *f = &d->found;
    f->unreadable = false;
    memset(f->has, 0, sizeof f->has);
    memset(f->bad, 0, sizeof f->bad);
    f->group = f->name = f->state = (assay_flight_text){0};
    f->has_p2p = f->is_p2p = f->start_known = false;
    for (int side = 0; side < 2; side++) {
        f->has_sizes[side] = false;
        f->sizes[side].count = 0;
        f->types[side].count = 0;
    }
    f->stack = ASSAY_NO_ID;
    f->completed = 0;
    f->keys = assay_flight_keys(d, ASSAY_FLIGHT_ENTRY);
}

bool assay_flight_add_sizes(assay_flight_dump *d, int side, const int64_t *size, size_t count)
{
    assay_flight_found *f = &d->found;
    if (!ASSAY_VEC_RESERVE(&f->sizes[side], count + 1))
        return assay_flight_no_memory(d);
    bool sound = true;
    for (size_t i = 0; i < count; i++)
        sound = sound && size[i] >= 0;
    /* -1 stands for sizes that are no whole numbers: such an entry matches only its like. */
    f->sizes[side].list[f->sizes[side].count++] = sound ? (int64_t)count : -1;
    for (size_t i = 0; i < count && sound; i++)
        f->sizes[side].list[f->sizes[side].count++] = size[i];
    return true;
}

bool assay_flight_add_type(assay_flight_dump *d, int side, assay_flight_text type)
{
    uint32_t *to = ASSAY_VEC_ADD(&d->found.types[side]);
    if (!to)
        return assay_flight_no_memory(d);
    *to = text_id(d, type);
    return !d->no_memory;
}

/* The operation: what follows the first colon, up to a blank. */
static assay_flight_text operation_of(assay_flight_text name)
{
    const char *end = name.bytes + name.length, *colon = name.length ? memchr(name.bytes, ':', name.length) : NULL;
    const char *begin = colon ? colon + 1 : name.bytes, *p = begin;
    while (p < end && *p != ' ')
        p++;
    return (assay_flight_text){begin, (size_t)(p - begin)};
}

static bool put_key(assay_flight_dump *d, const void *bytes, size_t size)
{
    if (!ASSAY_VEC_RESERVE(&d->key, size))
        return assay_flight_no_memory(d);
    if (size > 0)
        memcpy(d->key.list + d->key.count, bytes, size);
    d->key.count += size;
    return true;
}

/* The number of what the operation was called with: its name, sizes and types. Numbers of texts and sizes, byte by
 * byte, are the key: equal parts get the same number, however they are spelled in the file. The key is not packed for
 * other processes, so it may have the machine's order of bytes. */
static uint32_t part_of(assay_flight_dump *d)
{
    assay_flight_found *f = &d->found;
    const uint32_t operation = text_id(d, operation_of(f->name));
    d->key.count = 0;
    bool good = put_key(d, &operation, sizeof operation);
    for (int side = 0; side < 2 && good; side++) {
        const uint32_t counts[2] = {(uint32_t)f->sizes[side].count, (uint32_t)f->types[side].count};
        good = put_key(d, counts, sizeof counts) &&
               put_key(d, f->sizes[side].list, f->sizes[side].count * sizeof *f->sizes[side].list) &&
               put_key(d, f->types[side].list, f->types[side].count * sizeof *f->types[side].list);
    }
    const uint32_t id = good ? assay_dict_add(d->parts, (const char *)d->key.list, d->key.count) : ASSAY_NO_ID;
    d->no_memory = d->no_memory || id == ASSAY_NO_ID;
    return id;
}

static uint8_t state_of(assay_flight_text state)
{
    if (assay_flight_is(state, "completed"))
        return ASSAY_FLIGHT_COMPLETED;
    return assay_flight_is(state, "started") ? ASSAY_FLIGHT_STARTED : ASSAY_FLIGHT_SCHEDULED;
}

/* Does the entry under way have its texts and numbers? Counts it. */
static bool is_readable(assay_flight_dump *d, bool texts)
{
    assay_flight_found *f = &d->found;
    /* A recorder that never wrapped has all records from 0 on: `full` says so, as long as record_id counts with the
     * place. */
    const uint64_t place = d->seen++;
    d->full = d->full && f->has[ASSAY_FLIGHT_RECORD_ID] && f->number[ASSAY_FLIGHT_RECORD_ID] == (int64_t)place;
    for (int i = 0; i < ASSAY_FLIGHT_NUMBERS; i++)
        f->unreadable = f->unreadable || f->bad[i];
    f->unreadable = f->unreadable || assay_keys_damaged(&f->keys) || !texts || !f->has[ASSAY_FLIGHT_COLLECTIVE] ||
                    !f->has[ASSAY_FLIGHT_P2P];
    d->unread += f->unreadable;
    return !f->unreadable;
}

/* Adds an entry, of which the numbers are those found. Numbers differ from entry to entry, the rest is of the form:
 * see "entries that are alike". */
static bool add_entry(assay_flight_dump *d, const assay_flight_entry *from)
{
    const assay_flight_found *f = &d->found;
    if (d->entry.count >= ASSAY_NO_ID)
        return assay_flight_wrong(d, "it has more than 2^32 entries");
    assay_flight_entry *e = ASSAY_VEC_ADD(&d->entry);
    if (!e)
        return assay_flight_no_memory(d);
    *e = *from;
    e->collective = f->number[ASSAY_FLIGHT_COLLECTIVE];
    e->p2p = f->number[ASSAY_FLIGHT_P2P];
    e->pg_id = f->number[ASSAY_FLIGHT_PG_ID];
    e->has_pg_id = f->has[ASSAY_FLIGHT_PG_ID];
    e->completed = f->completed;
    d->starts_known = d->starts_known || f->start_known || e->state == ASSAY_FLIGHT_STARTED;
    if (f->has[ASSAY_FLIGHT_CREATED] && f->number[ASSAY_FLIGHT_CREATED] > d->newest)
        d->newest = f->number[ASSAY_FLIGHT_CREATED];
    return !d->no_memory;
}

bool assay_flight_end_entry(assay_flight_dump *d)
{
    assay_flight_found *f = &d->found;
    if (!is_readable(d, f->group.bytes && f->name.bytes && f->state.bytes))
        return true;
    const assay_flight_text operation = operation_of(f->name);
    /* Old dumps have no is_p2p: then the operation's name tells. */
    const bool is_p2p = assay_flight_is(operation, "send") || assay_flight_is(operation, "recv");
    const assay_flight_entry entry = {.group = text_id(d, f->group),
                                      .name = text_id(d, f->name),
                                      .part = part_of(d),
                                      .stack = f->stack,
                                      .next = ASSAY_NO_ID,
                                      .state = state_of(f->state),
                                      .is_p2p = f->has_p2p ? f->is_p2p : is_p2p};
    return add_entry(d, &entry);
}

/* ---- entries that are alike ---- */

/* Where a key of part_of() has the sizes of one side: the dimensions behind each tensor's count. Offsets are kept,
 * not values: an entry like this one writes its sizes over a copy of the key. */
static bool keep_dimensions(assay_flight_dump *d, size_t at)
{
    uint32_t count = 0;
    memcpy(&count, d->key.list + at, sizeof count);
    at += 2 * sizeof count;
    for (uint32_t i = 0; i < count;) {
        int64_t dimensions = 0;
        memcpy(&dimensions, d->key.list + at + i++ * sizeof dimensions, sizeof dimensions);
        for (; dimensions > 0; dimensions--, i++) {
            uint32_t *to = ASSAY_VEC_ADD(&d->dimension);
            if (!to)
                return assay_flight_no_memory(d);
            *to = (uint32_t)(at + i * sizeof dimensions);
        }
    }
    return true;
}

bool assay_flight_keep_alike(assay_flight_dump *d, int first)
{
    const assay_flight_found *f = &d->found;
    const size_t from = d->dimension.count;
    if (f->unreadable || d->entry.count == 0)
        return false;
    /* Layout of a part's key (part_of): operation, then for each side two counts, its sizes, its types. */
    const size_t second =
        3 * sizeof(uint32_t) + f->sizes[0].count * sizeof(int64_t) + f->types[0].count * sizeof(uint32_t);
    const size_t side[2] = {sizeof(uint32_t), second};
    if (!keep_dimensions(d, side[first]) || !keep_dimensions(d, side[!first]))
        return false;
    assay_flight_alike *to = ASSAY_VEC_ADD(&d->alike);
    if (!to)
        return assay_flight_no_memory(d);
    *to =
        (assay_flight_alike){d->entry.list[d->entry.count - 1], (uint32_t)from, (uint32_t)(d->dimension.count - from)};
    return true;
}

/* The part of an entry like another one, of other sizes. */
static uint32_t part_alike(assay_flight_dump *d, const assay_flight_alike *alike, const assay_pickle_number *size)
{
    size_t length = 0;
    const uint8_t *key = (const uint8_t *)assay_dict_name(d->parts, alike->entry.part, &length);
    const uint32_t *at = d->dimension.list + alike->dimension;
    uint32_t same = 0;
    for (; same < alike->dimensions; same++)
        if (memcmp(key + at[same], &size[same].integer, sizeof size->integer) != 0)
            break;
    if (same == alike->dimensions)
        return alike->entry.part;
    d->key.count = 0;
    if (!put_key(d, key, length))
        return ASSAY_NO_ID;
    for (uint32_t i = 0; i < alike->dimensions; i++)
        memcpy(d->key.list + at[i], &size[i].integer, sizeof size->integer);
    const uint32_t id = assay_dict_add(d->parts, (const char *)d->key.list, length);
    d->no_memory = d->no_memory || id == ASSAY_NO_ID;
    return id;
}

bool assay_flight_end_alike(assay_flight_dump *d, uint32_t number, const assay_pickle_number *size)
{
    d->found.unreadable = false;
    if (!is_readable(d, true))
        return true;
    /* Valid until the next form is kept: the list may move then. */
    assay_flight_alike *alike = &d->alike.list[number];
    if (size) /* the next one is likely to be of the same sizes */
        alike->entry.part = part_alike(d, alike, size);
    return !d->no_memory && add_entry(d, &alike->entry);
}

/* ---- files ---- */

bool assay_flight_take_version(assay_flight_dump *d, assay_flight_text version)
{
    d->has_version = true;
    d->version = text_id(d, version);
    return !d->no_memory;
}

/* "2.x". */
static bool is_known_version(assay_flight_text version)
{
    int64_t minor = 0;
    /* "2.-5" would pass as digits with a sign. */
    return version.length > 2 && memcmp(version.bytes, "2.", 2) == 0 && version.bytes[2] != '-' &&
           assay_flight_digits((assay_flight_text){version.bytes + 2, version.length - 2}, &minor);
}

/* Called by probing formats as well, on the first bytes of any file: it must not read beyond `size`. */
assay_flight_kind assay_flight_kind_of(const void *bytes, size_t size)
{
    const char *p = bytes, *end = p + size;
    if (size >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end && *p && strchr(" \t\r\n", *p))
        p++;
    if (p < end && (uint8_t)*p == 0x80)
        return ASSAY_FLIGHT_PICKLE;
    return p < end && *p == '{' ? ASSAY_FLIGHT_JSON : ASSAY_FLIGHT_NEITHER;
}

bool assay_flight_more(assay_flight_file *f, size_t size)
{
    /* One read of S3 is as long as this; a dump of a thousand entries fits in a few. */
    enum { READ = 1 << 18 };
    /* Texts that were handed out lie in the window: they are valid only until the next call. */
    if (f->at > 0) {
        memmove(f->window, f->window + f->at, f->size - f->at);
        f->offset += f->at;
        f->size -= f->at;
        f->at = 0;
    }
    while (f->size < size && !f->ended) {
        if (f->room - f->size < READ) {
            const size_t room = f->room < READ ? 2 * (size_t)READ : 2 * f->room;
            char *window = assay_realloc_array(f->window, room, 1);
            if (!window) {
                f->status = assay_fail(f->err, ASSAY_ENOMEM, "out of memory");
                return false;
            }
            f->window = window;
            f->room = room;
        }
        size_t got = 0;
        /* Tests give bytes in small steps instead of a file, so that each place is cut once. */
        if (f->file) {
            f->status =
                assay_store_read_at(f->file, f->offset + f->size, f->window + f->size, f->room - f->size, &got, f->err);
            f->ended = got < f->room - f->size;
        } else {
            got = f->left < f->step ? f->left : f->step;
            got = got < f->room - f->size ? got : f->room - f->size;
            if (got > 0)
                memcpy(f->window + f->size, f->bytes, got);
            f->bytes += got;
            f->left -= got;
            f->ended = f->left == 0;
        }
        if (f->status != ASSAY_OK)
            return false;
        f->size += got;
        f->read += got;
        /* A file may be without end, such as a device that was given by mistake. */
        if (f->offset + f->size > ASSAY_FLIGHT_FILE_MOST) {
            f->status = assay_fail(f->err, ASSAY_EFORMAT, "it has more than 1 GiB");
            return false;
        }
    }
    return true;
}

/* What a whole file must have to be a dump. */
static int check_dump(const assay_flight_dump *d, assay_error *err)
{
    size_t length = 0;
    const char *version = d->has_version ? assay_dict_name(d->texts, d->version, &length) : "";
    if (!d->has_config || !d->has_version)
        return assay_fail(err, ASSAY_EFORMAT, "it is no dump of a flight recorder: version or pg_config is missing");
    if (!is_known_version((assay_flight_text){version, length}))
        return assay_fail(err, ASSAY_EFORMAT, "its version is \"%.20s\"; versions 2.x are read", version);
    return ASSAY_OK;
}

int assay_flight_read_from(assay_flight_dump *d, assay_flight_file *f)
{
    enum { LOOK = 64 };
    bool good = assay_flight_more(f, LOOK);
    const assay_flight_kind kind = good ? assay_flight_kind_of(f->window, f->size) : ASSAY_FLIGHT_NEITHER;
    if (good && kind == ASSAY_FLIGHT_NEITHER)
        f->status = assay_fail(f->err, ASSAY_EFORMAT, "it is neither a pickle nor JSON");
    /* kind_of() found the mark within these bytes, so the loop ends. */
    if (kind == ASSAY_FLIGHT_PICKLE) /* behind white space and a byte order mark */
        while ((uint8_t)f->window[f->at] != 0x80)
            f->at++;
    if (kind == ASSAY_FLIGHT_JSON && f->size >= 3 && (uint8_t)f->window[0] == 0xef)
        f->at = 3;
    if (kind == ASSAY_FLIGHT_PICKLE)
        assay_flight_read_pickle(d, f);
    if (kind == ASSAY_FLIGHT_JSON)
        assay_flight_read_json(d, f);
    free(f->window);
    f->window = NULL;
    /* Order of causes: memory, then what the reader found wrong, then what reading the file came to. */
    if (d->no_memory)
        return assay_fail(f->err, ASSAY_ENOMEM, "out of memory");
    if (d->wrong && d->wrong_at > 0)
        return assay_fail(f->err, ASSAY_EFORMAT, "offset %llu: %s", (unsigned long long)d->wrong_at, d->wrong);
    if (d->wrong)
        return assay_fail(f->err, ASSAY_EFORMAT, "%s", d->wrong);
    return f->status == ASSAY_OK ? check_dump(d, f->err) : f->status;
}

int assay_flight_read(assay_store *store, const char *path, assay_flight_dump *d, uint64_t *bytes, assay_error *err)
{
    assay_flight_file f = {.err = err};
    int status = assay_store_open_file(store, path, &f.file, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_flight_read_from(d, &f);
    *bytes += f.read;
    assay_store_close_file(f.file);
    return status;
}
