/* flight_json.c - reads a dump that is JSON, in a window that moves over the file.
 *
 * A member of the top, or an entry, is read once the window has all of it: where it ends too early and the file goes
 * on, more is read and the member is begun again. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json_pull.h"
#include "container/flight_internal.h"

/* WINDOW: so much more is read each time a member does not fit; members that are as large as the file are read a few
 * times. */
enum { WINDOW = 1 << 20, TEXT_MOST = 16 << 20 };

/* Readers of one member may be run again from its begin (with_all): each must set anew whatever it fills. */
typedef struct reading {
    assay_flight_dump *d;
    assay_flight_file *file;
    assay_pull pull;
    assay_keys top;
} reading;

static bool take_text(reading *r, assay_flight_text *out)
{
    *out = (assay_flight_text){0};
    if (assay_pull_peek(&r->pull) != '"')
        return assay_pull_skip(&r->pull);
    if (!assay_pull_string(&r->pull, &out->bytes, &out->length))
        return false;
    return out->length <= TEXT_MOST || assay_pull_fault(&r->pull, r->pull.at, "a text of more than 16 MiB");
}

/* A text, or a list as the text that it is written in. */
static bool take_list_text(reading *r, assay_flight_text *out)
{
    if (assay_pull_peek(&r->pull) != '[')
        return take_text(r, out);
    const char *from = r->pull.at;
    if (!assay_pull_skip(&r->pull))
        return false;
    *out = (assay_flight_text){from, (size_t)(r->pull.at - from)};
    return true;
}

/* A whole number, or a text of digits. *has is false for anything else, *none for null. */
static bool take_whole(reading *r, int64_t *value, bool *has, bool *none)
{
    const char c = assay_pull_peek(&r->pull);
    *has = *none = false;
    if (c == '"') {
        assay_flight_text text;
        if (!take_text(r, &text))
            return false;
        *has = assay_flight_digits(text, value);
        return true;
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return assay_pull_integer(&r->pull, value, has);
    *none = c == 'n';
    return assay_pull_skip(&r->pull);
}

/* ---- an entry ---- */

static bool take_names(reading *r)
{
    assay_flight_found *f = &r->d->found;
    /* part[0] is the group's name, part[1] its description; a dump without both names no group. */
    assay_flight_text part[2] = {{0}};
    size_t count = 0;
    f->group = (assay_flight_text){0};
    if (assay_pull_peek(&r->pull) != '[')
        return assay_pull_skip(&r->pull);
    for (bool more = assay_pull_open(&r->pull, '[', ']'); more; more = assay_pull_more(&r->pull, ']'), count++)
        if (!(count < 2 ? take_text(r, &part[count]) : assay_pull_skip(&r->pull)))
            return false;
    if (count >= 2 && part[1].bytes)
        f->group = part[0];
    return !r->pull.fault;
}

static bool take_tensor(reading *r, int side)
{
    int64_t size[ASSAY_FLIGHT_SIZES_MOST];
    size_t count = 0;
    if (assay_pull_peek(&r->pull) != '[')
        return assay_pull_skip(&r->pull);
    for (bool more = assay_pull_open(&r->pull, '[', ']'); more; more = assay_pull_more(&r->pull, ']')) {
        int64_t value = -1;
        bool has = false, none = false;
        if (count == ASSAY_FLIGHT_SIZES_MOST)
            return assay_flight_wrong(r->d, "a tensor has more than 64 sizes");
        if (!take_whole(r, &value, &has, &none))
            return false;
        size[count++] = has ? value : -1;
    }
    return !r->pull.fault && assay_flight_add_sizes(r->d, side, size, count);
}

static bool take_list(reading *r, int side, bool types)
{
    size_t count = 0;
    if (types)
        r->d->found.types[side].count = 0;
    else
        r->d->found.sizes[side].count = 0;
    if (assay_pull_peek(&r->pull) != '[')
        return assay_pull_skip(&r->pull);
    for (bool more = assay_pull_open(&r->pull, '[', ']'); more; more = assay_pull_more(&r->pull, ']')) {
        assay_flight_text type;
        if (++count > ASSAY_FLIGHT_TENSORS_MOST)
            return assay_flight_wrong(r->d, "an entry has more than 4096 tensors");
        if (!types && !take_tensor(r, side))
            return false;
        if (types && (!take_text(r, &type) || (type.bytes && !assay_flight_add_type(r->d, side, type))))
            return false;
    }
    return !r->pull.fault;
}

/* Keys that are read here must be in assay_flight_keys() too, or damage of them goes unseen. */
static bool take_value(reading *r, assay_flight_text key)
{
    assay_flight_found *f = &r->d->found;
    const assay_flight_number number = assay_flight_number_of(key);
    assay_keys_find_flipped(&f->keys, key.bytes, key.length);
    if (number < ASSAY_FLIGHT_NUMBERS) {
        bool none = false;
        if (!take_whole(r, &f->number[number], &f->has[number], &none))
            return false;
        f->bad[number] = !f->has[number] && !none;
        return true;
    }
    if (assay_flight_is(key, "process_group"))
        return take_names(r);
    if (assay_flight_is(key, "profiling_name"))
        return take_text(r, &f->name);
    if (assay_flight_is(key, "state"))
        return take_text(r, &f->state);
    if (assay_flight_is(key, "is_p2p")) {
        const char c = assay_pull_peek(&r->pull);
        f->has_p2p = c == 't' || c == 'f';
        f->is_p2p = c == 't';
        return assay_pull_skip(&r->pull);
    }
    const bool started = assay_flight_is(key, "time_discovered_started_ns");
    if (started || assay_flight_is(key, "time_discovered_completed_ns")) {
        int64_t time = 0;
        bool has = false, none = false;
        if (!take_whole(r, &time, &has, &none))
            return false;
        f->start_known = started ? has && time != 0 : f->start_known;
        f->completed = started ? f->completed : has ? time : 0;
        return true;
    }
    for (int side = 0; side < 2; side++) {
        if (assay_flight_is(key, side ? "output_sizes" : "input_sizes"))
            return take_list(r, side, false);
        if (assay_flight_is(key, side ? "output_dtypes" : "input_dtypes"))
            return take_list(r, side, true);
    }
    return assay_pull_skip(&r->pull);
}

static bool take_entry(reading *r)
{
    assay_flight_begin_entry(r->d);
    /* An entry that is no map counts as seen and unread: its neighbours are read all the same. */
    r->d->found.unreadable = assay_pull_peek(&r->pull) != '{';
    if (r->d->found.unreadable)
        return assay_pull_skip(&r->pull);
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        assay_flight_text key;
        if (!assay_pull_key(&r->pull, &key.bytes, &key.length) || !take_value(r, key))
            return false;
    }
    return !r->pull.fault;
}

/* ---- the window ---- */

/* Runs a reader of one thing from where the window is, again with more bytes as long as they are what is missing. */
static bool with_all(reading *r, bool (*take)(reading *))
{
    for (;;) {
        assay_flight_file *f = r->file;
        while (f->at < f->size && strchr(" \t\r\n", f->window[f->at]) && f->window[f->at])
            f->at++;
        assay_pull_start(&r->pull, f->window + f->at, f->size - f->at);
        const bool good = take(r);
        if (r->d->wrong)
            r->d->wrong_at = f->offset + f->at + (uint64_t)(r->pull.at - r->pull.from);
        if (r->d->wrong || r->d->no_memory || r->pull.no_memory)
            return r->pull.no_memory ? assay_flight_no_memory(r->d) : false;
        /* A member that ends with the window may be cut: "12" of "123". It counts only where a byte follows, or the
         * file ends. */
        if (good && (r->pull.at < r->pull.end || f->ended)) {
            f->at += (size_t)(r->pull.at - r->pull.from);
            return true;
        }
        if (f->ended) {
            r->d->wrong = r->pull.fault ? r->pull.fault : "the text ends too early";
            r->d->wrong_at = f->offset + f->at + (r->pull.fault ? (uint64_t)(r->pull.fault_at - r->pull.from) : 0);
            return false;
        }
        if (!assay_flight_more(f, f->size - f->at + WINDOW))
            return false;
    }
}

/* A comma, or the end of what is open. Runs within with_all(), so a mark at the border of the window is waited for. */
static bool take_mark(reading *r)
{
    return assay_pull_peek(&r->pull) != '\0' && (r->pull.at++, true);
}

static char marked(reading *r)
{
    return with_all(r, take_mark) ? r->file->window[r->file->at - 1] : '\0';
}

static bool wrong_mark(reading *r, const char *what)
{
    if (!r->d->wrong && !r->d->no_memory && r->file->status == ASSAY_OK) {
        r->d->wrong_at = r->file->offset + r->file->at - 1;
        assay_flight_wrong(r->d, what);
    }
    return false;
}

static bool look_mark(reading *r)
{
    return assay_pull_peek(&r->pull) != '\0';
}

/* The next character that is no white space, which stays there; '\0' after a failure. */
static char next_mark(reading *r)
{
    return with_all(r, look_mark) ? r->file->window[r->file->at] : '\0';
}

static bool take_entries(reading *r)
{
    assay_flight_begin_entries(r->d);
    marked(r);
    if (next_mark(r) == ']')
        return marked(r) == ']';
    for (;;) {
        if (!with_all(r, take_entry) || !assay_flight_end_entry(r->d))
            return false;
        const char mark = marked(r);
        if (mark == ']')
            return true;
        if (mark != ',')
            return wrong_mark(r, "expected , or ]");
    }
}

/* ---- the top ---- */

static bool take_group(reading *r, assay_flight_text name)
{
    assay_flight_text description = {0}, ranks = {0};
    assay_keys keys = assay_flight_keys(r->d, ASSAY_FLIGHT_GROUP);
    if (assay_pull_peek(&r->pull) != '{')
        return assay_flight_wrong(r->d, "a group of pg_config is not a map");
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        assay_flight_text key;
        if (!assay_pull_key(&r->pull, &key.bytes, &key.length))
            return false;
        assay_keys_find_flipped(&keys, key.bytes, key.length);
        if (!(assay_flight_is(key, "desc")    ? take_text(r, &description)
              : assay_flight_is(key, "ranks") ? take_list_text(r, &ranks)
                                              : assay_pull_skip(&r->pull)))
            return false;
    }
    return !r->pull.fault && assay_flight_check_keys(r->d, &keys) &&
           assay_flight_add_group(r->d, name, description, ranks);
}

static bool take_groups(reading *r)
{
    if (assay_pull_peek(&r->pull) != '{') {
        r->d->has_config = false;
        return assay_pull_skip(&r->pull);
    }
    assay_flight_begin_groups(r->d);
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        assay_flight_text name;
        if (!assay_pull_key(&r->pull, &name.bytes, &name.length))
            return false;
        /* The group is passed over first: one that the window cuts is none that is damaged. What the scanner decoded
         * meanwhile belongs to it, and stays. */
        assay_pull before = r->pull;
        if (!assay_pull_skip(&r->pull))
            return false;
        before.decoded = r->pull.decoded;
        before.decoded_size = r->pull.decoded_size;
        before.decoded_room = r->pull.decoded_room;
        r->pull = before;
        if (!take_group(r, name))
            return false;
    }
    return !r->pull.fault;
}

static bool take_one_status(reading *r, assay_flight_status *s, bool *known)
{
    bool has[2] = {false, false}, none = false;
    assay_keys keys = assay_flight_keys(r->d, ASSAY_FLIGHT_STATUS);
    *known = false;
    if (assay_pull_peek(&r->pull) != '{')
        return assay_pull_skip(&r->pull);
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        assay_flight_text key;
        if (!assay_pull_key(&r->pull, &key.bytes, &key.length))
            return false;
        assay_keys_find_flipped(&keys, key.bytes, key.length);
        if (!(assay_flight_is(key, "last_enqueued_collective")    ? take_whole(r, &s->enqueued, &has[0], &none)
              : assay_flight_is(key, "last_completed_collective") ? take_whole(r, &s->completed, &has[1], &none)
                                                                  : assay_pull_skip(&r->pull)))
            return false;
    }
    *known = has[0] && has[1];
    return !r->pull.fault && assay_flight_check_keys(r->d, &keys);
}

static bool take_status(reading *r)
{
    assay_flight_begin_status(r->d);
    if (assay_pull_peek(&r->pull) != '{')
        return assay_pull_skip(&r->pull);
    for (bool more = assay_pull_open(&r->pull, '{', '}'); more; more = assay_pull_more(&r->pull, '}')) {
        assay_flight_text key;
        assay_flight_status s = {0};
        bool known = false;
        if (!assay_pull_key(&r->pull, &key.bytes, &key.length) || !take_one_status(r, &s, &known))
            return false;
        if (known && assay_flight_digits(key, &s.pg_id) && !assay_flight_add_status(r->d, s))
            return false;
    }
    return !r->pull.fault;
}

/* A member of the top with its value; of entries the key alone. */
static bool take_member(reading *r)
{
    assay_flight_text key, version;
    r->file->in_entries = false;
    if (!assay_pull_key(&r->pull, &key.bytes, &key.length))
        return false;
    const char first = assay_pull_peek(&r->pull);
    /* The window ends behind the key: begin again with more. */
    if (first == '\0')
        return false;
    assay_keys_find_flipped(&r->top, key.bytes, key.length);
    if (assay_flight_is(key, "entries")) {
        /* A list of entries is read entry by entry by take_entries(): in_entries tells the caller that it comes
         * next. */
        if (first != '[')
            return assay_flight_wrong(r->d, "entries is no list");
        r->file->in_entries = true;
        return true;
    }
    if (assay_flight_is(key, "version"))
        return take_text(r, &version) && assay_flight_take_version(r->d, version);
    if (assay_flight_is(key, "pg_config"))
        return take_groups(r);
    if (assay_flight_is(key, "pg_status"))
        return take_status(r);
    return assay_pull_skip(&r->pull);
}

static bool take_end(reading *r)
{
    return (assay_pull_peek(&r->pull) == '\0' && r->pull.at == r->pull.end) ||
           assay_flight_wrong(r->d, "text follows the end of the document"); /* a zero byte is text */
}

static bool take_top(reading *r)
{
    if (marked(r) != '{')
        return false;
    if (next_mark(r) == '}') {
        marked(r);
    } else {
        for (;;) {
            if (!with_all(r, take_member) || (r->file->in_entries && !take_entries(r)))
                return false;
            const char mark = marked(r);
            if (mark == '}')
                break;
            if (mark != ',')
                return wrong_mark(r, "expected , or }");
        }
    }
    return with_all(r, take_end) && assay_flight_check_keys(r->d, &r->top);
}

bool assay_flight_read_json(assay_flight_dump *d, assay_flight_file *file)
{
    reading r = {.d = d, .file = file, .top = assay_flight_keys(d, ASSAY_FLIGHT_TOP)};
    const bool good = take_top(&r);
    assay_pull_release(&r.pull);
    return good;
}
