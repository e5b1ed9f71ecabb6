/* group_files.c - see group_files.h.
 *
 *   dump    pg_config: {name: {"name", "desc", "ranks": "[0, 1]"}}, in a pickle or in JSON
 *   trace   distributedInfo.pg_config: [{"pg_name", "pg_desc", "ranks": [0, 1]}]; older ones say it only where a
 *           collective ran: args "Process Group Name", "... Description", "... Ranks" of an event, as texts
 *
 * A group goes by its description, else by its name. Lists of ranks that were cut ("...") are passed over. */
#include "topology/group_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/json_pull.h"
#include "base/vec.h"
#include "container/pickle.h"
#include "container/lines.h"

enum { PATH_ROOM = 1024 };

/* What was read of one group; texts are not terminated. */
typedef struct found_group {
    const char *name, *desc;
    size_t name_length, desc_length;
    int64_t *rank; /* owned by the reading */
    size_t ranks;
    bool has_ranks;
} found_group;

typedef struct reading {
    assay_group_files *files;
    assay_pull pull;
    int64_t *rank; /* owned */
    size_t room;
    bool no_memory, wrong;
    bool info; /* distributedInfo had groups */
    assay_group_file kind;
} reading;

static bool is_key(const char *key, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(key, word, length) == 0;
}

static bool put_rank(reading *r, found_group *g, int64_t rank)
{
    if (g->ranks == ASSAY_GROUP_RANK_MOST)
        return false;
    if (g->ranks == r->room) {
        const size_t room = r->room ? 2 * r->room : 64;
        int64_t *grown = assay_realloc_array(r->rank, room, sizeof *grown);
        r->no_memory = r->no_memory || !grown;
        if (!grown)
            return false;
        r->rank = grown;
        r->room = room;
    }
    r->rank[g->ranks++] = rank;
    return true;
}

/* "[0, 1, 2]"; false for anything else. */
static bool read_rank_text(reading *r, found_group *g, const char *text, size_t length)
{
    size_t i = 0;
    g->ranks = 0;
    if (length < 2 || text[0] != '[' || text[length - 1] != ']')
        return false;
    for (i = 1; i < length - 1;) {
        int64_t rank = 0;
        size_t digits = 0;
        while (i < length - 1 && (text[i] == ' ' || text[i] == ','))
            i++;
        for (; i < length - 1 && text[i] >= '0' && text[i] <= '9' && digits < 12; i++, digits++)
            rank = rank * 10 + (text[i] - '0');
        if (digits == 0)
            return i == length - 1 && g->ranks > 0;
        if (!put_rank(r, g, rank))
            return false;
    }
    return g->ranks > 0;
}

/* Adds a group when all of it is known. */
static void take_group(reading *r, const found_group *g)
{
    const bool described = g->desc && g->desc_length > 0 && !is_key(g->desc, g->desc_length, "undefined");
    const char *name = described ? g->desc : g->name;
    const size_t length = described ? g->desc_length : g->name_length;
    if (!g->has_ranks || !name || length == 0 || length > 1000)
        return;
    assay_groups *groups = r->kind == ASSAY_GROUPS_DUMP ? &r->files->of_dumps : &r->files->of_traces;
    const int status = assay_groups_add(groups, name, length, r->rank, g->ranks);
    r->no_memory = r->no_memory || status == ASSAY_ENOMEM;
    r->wrong = r->wrong || status == ASSAY_EFORMAT;
}

/* ---- JSON ---- */

static void take_text(reading *r, const char **text, size_t *length)
{
    if (assay_pull_peek(&r->pull) != '"')
        assay_pull_skip(&r->pull);
    else if (!assay_pull_string(&r->pull, text, length))
        *text = NULL;
}

static void take_ranks(reading *r, found_group *g)
{
    assay_pull *s = &r->pull;
    const char first = assay_pull_peek(s);
    if (first == '"') {
        const char *text;
        size_t length;
        g->has_ranks = assay_pull_string(s, &text, &length) && read_rank_text(r, g, text, length);
    } else if (first == '[') {
        bool good = true;
        g->ranks = 0;
        for (bool more = assay_pull_open(s, '[', ']'); more; more = assay_pull_more(s, ']')) {
            int64_t rank = 0;
            bool fits = false;
            const char c = assay_pull_peek(s);
            if (c >= '0' && c <= '9')
                good = assay_pull_integer(s, &rank, &fits) && fits && good && put_rank(r, g, rank);
            else
                good = assay_pull_skip(s) && false;
        }
        g->has_ranks = good && g->ranks > 0;
    } else {
        assay_pull_skip(s);
    }
}

/* An object that describes a group, in any of the three ways. */
static void read_group(reading *r)
{
    assay_pull *s = &r->pull;
    found_group g = {0};
    if (assay_pull_peek(s) != '{') {
        assay_pull_skip(s);
        return;
    }
    for (bool more = assay_pull_open(s, '{', '}'); more; more = assay_pull_more(s, '}')) {
        const char *key;
        size_t length;
        if (!assay_pull_key(s, &key, &length))
            return;
        if (is_key(key, length, "name") || is_key(key, length, "pg_name") || is_key(key, length, "Process Group Name"))
            take_text(r, &g.name, &g.name_length);
        else if (is_key(key, length, "desc") || is_key(key, length, "pg_desc") ||
                 is_key(key, length, "Process Group Description"))
            take_text(r, &g.desc, &g.desc_length);
        else if (is_key(key, length, "ranks") || is_key(key, length, "Process Group Ranks"))
            take_ranks(r, &g);
        else
            assay_pull_skip(s);
    }
    if (!s->fault)
        take_group(r, &g);
}

/* pg_config: groups in an object or a list. */
static void read_groups(reading *r)
{
    assay_pull *s = &r->pull;
    const bool object = assay_pull_peek(s) == '{';
    const char close = object ? '}' : ']';
    const char *key;
    size_t length;
    if (!object && assay_pull_peek(s) != '[') {
        assay_pull_skip(s);
        return;
    }
    for (bool more = assay_pull_open(s, object ? '{' : '[', close); more; more = assay_pull_more(s, close)) {
        if (object && !assay_pull_key(s, &key, &length))
            return;
        read_group(r);
    }
}

/* Looks for one member of an object. */
static void read_member(reading *r, const char *member, void (*read)(reading *))
{
    assay_pull *s = &r->pull;
    if (assay_pull_peek(s) != '{') {
        assay_pull_skip(s);
        return;
    }
    for (bool more = assay_pull_open(s, '{', '}'); more; more = assay_pull_more(s, '}')) {
        const char *key;
        size_t length;
        if (!assay_pull_key(s, &key, &length))
            return;
        if (is_key(key, length, member)) {
            r->info = r->info || is_key(member, strlen(member), "pg_config");
            read(r);
        } else {
            assay_pull_skip(s);
        }
    }
}

static void read_events(reading *r)
{
    assay_pull *s = &r->pull;
    if (assay_pull_peek(s) != '[') {
        assay_pull_skip(s);
        return;
    }
    for (bool more = assay_pull_open(s, '[', ']'); more; more = assay_pull_more(s, ']'))
        read_member(r, "args", read_group);
}

static void read_json(reading *r)
{
    assay_pull *s = &r->pull;
    for (bool more = assay_pull_open(s, '{', '}'); more; more = assay_pull_more(s, '}')) {
        const char *key;
        size_t length;
        if (!assay_pull_key(s, &key, &length))
            return;
        if (is_key(key, length, "pg_config")) {
            r->kind = ASSAY_GROUPS_DUMP;
            read_groups(r);
        } else if (is_key(key, length, "distributedInfo")) {
            r->kind = ASSAY_GROUPS_TRACE;
            read_member(r, "pg_config", read_groups);
        } else if (is_key(key, length, "traceEvents")) {
            r->kind = ASSAY_GROUPS_TRACE;
            if (r->info)
                return; /* all groups are known: events are the most of the file */
            read_events(r);
        } else {
            assay_pull_skip(s);
        }
    }
    assay_pull_end(s);
}

/* ---- pickle ---- */

static void take_node_text(const assay_pickle *p, uint32_t node, const char **text, size_t *length)
{
    if (node == ASSAY_PICKLE_NOTHING || p->node[node].kind != ASSAY_PICKLE_TEXT)
        return;
    *text = (const char *)p->bytes + p->node[node].a;
    *length = p->node[node].size;
}

static void read_pickle(reading *r, const assay_pickle *p)
{
    const uint32_t groups = assay_pickle_get(p, p->root, "pg_config");
    if (groups == ASSAY_PICKLE_NOTHING || p->node[groups].kind != ASSAY_PICKLE_DICT)
        return;
    r->kind = ASSAY_GROUPS_DUMP;
    for (uint32_t i = p->node[groups].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        const uint32_t group = p->item[i].value;
        const char *ranks = NULL;
        size_t length = 0;
        found_group g = {0};
        if (p->node[group].kind != ASSAY_PICKLE_DICT)
            continue;
        take_node_text(p, assay_pickle_get(p, group, "name"), &g.name, &g.name_length);
        take_node_text(p, assay_pickle_get(p, group, "desc"), &g.desc, &g.desc_length);
        take_node_text(p, assay_pickle_get(p, group, "ranks"), &ranks, &length);
        g.has_ranks = ranks && read_rank_text(r, &g, ranks, length);
        take_group(r, &g);
    }
}

/* ---- files ---- */

int assay_group_files_init(assay_group_files *files)
{
    *files = (assay_group_files){.left = UINT64_MAX};
    const int status = assay_groups_init(&files->of_dumps);
    return status == ASSAY_OK ? assay_groups_init(&files->of_traces) : status;
}

void assay_group_files_release(assay_group_files *files)
{
    assay_groups_release(&files->of_dumps);
    assay_groups_release(&files->of_traces);
}

void assay_group_files_describe(const assay_group_files *files, assay_buf *out)
{
    const uint32_t d = files->dumps, t = files->traces;
    if (d > 0)
        assay_put_format(out, "%u flight-recorder dump%s", d, assay_plural(d));
    if (t > 0 || d == 0)
        assay_put_format(out, "%s%u trace%s", d > 0 ? " and " : "", t, assay_plural(t));
}

/* What a text turned out to be. */
typedef struct text_kind {
    assay_group_file file;
    bool info; /* a trace that said all of its groups in one place: the rest of it adds none */
} text_kind;

static int read_text(assay_group_files *files, const void *bytes, size_t size, bool whole, text_kind *kind,
                     assay_error *err)
{
    const char *text = bytes;
    reading r = {.files = files};
    int status = ASSAY_OK;
    *kind = (text_kind){.file = ASSAY_GROUPS_NONE};
    while (size > 0 && strchr(" \t\r\n", *text) && *text) {
        text++;
        size--;
    }
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        size -= 3;
    }
    if (size > 0 && (uint8_t)*text == 0x80) {
        assay_pickle p = {0};
        status = assay_pickle_read(text, size, &p, err);
        if (status == ASSAY_OK)
            read_pickle(&r, &p);
        assay_pickle_release(&p);
    } else if (size > 0 && *text == '{') {
        assay_pull_start(&r.pull, text, size);
        read_json(&r);
        if (r.pull.fault && whole)
            status = assay_fail(err, ASSAY_EFORMAT, "offset %lld: %s", (long long)(r.pull.fault_at - r.pull.from),
                                r.pull.fault);
        r.no_memory = r.no_memory || r.pull.no_memory;
        assay_pull_release(&r.pull);
    }
    free(r.rank);
    *kind = (text_kind){r.kind, r.info};
    if (r.no_memory)
        return ASSAY_ENOMEM;
    return status == ASSAY_OK && r.wrong
               ? assay_fail(err, ASSAY_EFORMAT, "a group has a rank twice, or none that there is")
               : status;
}

int assay_groups_read(assay_group_files *files, const void *bytes, size_t size, bool whole, assay_group_file *kind,
                      assay_error *err)
{
    text_kind found;
    const int status = read_text(files, bytes, size, whole, &found, err);
    *kind = found.file;
    return status;
}

/* Does a name look like a dump's or a trace's? */
static bool may_have_groups(const char *name)
{
    static const char *const ENDS[] = {".json", ".json.gz", ".pkl", ".pickle", NULL};
    const size_t length = strlen(name);
    for (size_t i = 0; ENDS[i]; i++)
        if (length > strlen(ENDS[i]) && strcmp(name + length - strlen(ENDS[i]), ENDS[i]) == 0)
            return true;
    return length > 0 && length < 200 && name[length - 1] >= '0' && name[length - 1] <= '9';
}

/* Text of a trace: its beginning first, which nearly always has all groups. */
static int read_trace(assay_lines *lines, assay_buf *text, assay_group_files *files, assay_group_file *kind,
                      assay_error *why)
{
    enum { BEGINNING = 1 << 20 };
    text_kind found = {.file = *kind};
    int status = assay_lines_take(lines, text, BEGINNING, why);
    if (status == ASSAY_OK && text->size >= BEGINNING) {
        status = read_text(files, text->data, text->size, false, &found, why);
        *kind = found.file;
        if (found.info || status != ASSAY_OK)
            return status;
        status = assay_lines_take(lines, text, ASSAY_GROUP_TRACE_MOST, why);
    }
    ASSAY_THEN(status, read_text(files, text->data, text->size, text->size < ASSAY_GROUP_TRACE_MOST, &found, why));
    *kind = found.file;
    return status;
}

static int read_file(assay_store *store, const char *path, assay_group_files *files)
{
    assay_lines *lines = NULL;
    assay_buf text;
    assay_error why = {""};
    assay_group_file kind = ASSAY_GROUPS_NONE;
    assay_buf_init(&text, (size_t)ASSAY_GROUP_FILE_MOST + (1 << 20));
    int status = assay_lines_open(store, path, &lines, &why);
    ASSAY_THEN(status, assay_lines_take(lines, &text, 1, &why));
    const bool pickle = text.size > 0 && text.data[0] == 0x80;
    const bool candidate = text.size > 0 && (pickle || memchr(text.data, '{', text.size < 64 ? text.size : 64));
    if (status == ASSAY_OK && candidate && pickle)
        status = assay_lines_take(lines, &text, ASSAY_GROUP_FILE_MOST, &why);
    if (status == ASSAY_OK && candidate)
        status = pickle ? assay_groups_read(files, text.data, text.size, text.size < ASSAY_GROUP_FILE_MOST, &kind, &why)
                        : read_trace(lines, &text, files, &kind, &why);
    assay_lines_close(lines);
    files->left -= text.size < files->left ? text.size : files->left;
    assay_buf_release(&text);
    files->dumps += status == ASSAY_OK && kind == ASSAY_GROUPS_DUMP;
    files->traces += status == ASSAY_OK && kind == ASSAY_GROUPS_TRACE;
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK && files->damaged++ == 0)
        snprintf(files->first, sizeof files->first, "%.100s: %.140s", path, why.text);
    return ASSAY_OK;
}

bool assay_groups_may_be_in(const char *directory)
{
    static const char *const WORDS[] = {"trace", "flight", "dump", "nccl", "profil"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(directory, WORDS[i]))
            return true;
    return false;
}

static int join_path(const char *directory, const char *name, char path[PATH_ROOM])
{
    return snprintf(path, PATH_ROOM, "%s%s%s", directory, *directory ? "/" : "", name) < PATH_ROOM;
}

int assay_groups_find(assay_store *store, const char *directory, assay_group_files *files)
{
    assay_names names = {0};
    int status = assay_store_list(store, directory, &names, NULL);
    for (size_t i = 0; status == ASSAY_OK && i < names.count; i++) {
        char path[PATH_ROOM];
        if (files->dumps + files->traces + files->damaged >= ASSAY_GROUP_FILES_MOST ||
            !join_path(directory, names.name[i], path))
            continue;
        if (assay_store_exists(store, path, NULL) == 1)
            status = may_have_groups(names.name[i]) ? read_file(store, path, files) : ASSAY_OK;
        else if (*directory == '\0')
            status = assay_groups_find(store, names.name[i], files);
    }
    assay_names_release(&names);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* ---- a trial's own ---- */

typedef struct own_files {
    ASSAY_VEC(char *) path;
    uint64_t hash;
} own_files;

static int add_own(assay_store *store, own_files *own, const char *path)
{
    assay_store_stamp stamp = {0};
    if (own->path.count == ASSAY_GROUP_FILES_MOST)
        return ASSAY_OK;
    char **to = ASSAY_VEC_ADD(&own->path);
    if (!to || !(*to = assay_copy_text(path)))
        return ASSAY_ENOMEM;
    (void)assay_store_stamp_of(store, path, &stamp, NULL);
    const uint64_t numbers[] = {own->hash, assay_hash_bytes(path, strlen(path)), stamp.size, (uint64_t)stamp.time};
    own->hash = assay_hash_bytes(numbers, sizeof numbers);
    return ASSAY_OK;
}

static int add_folder(assay_store *store, own_files *own, const char *directory)
{
    assay_names names = {0};
    int status = assay_store_list(store, directory, &names, NULL);
    status = status == ASSAY_ENOMEM ? status : ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < names.count; i++) {
        char path[PATH_ROOM];
        if (may_have_groups(names.name[i]) && join_path(directory, names.name[i], path) &&
            assay_store_exists(store, path, NULL) == 1)
            status = add_own(store, own, path);
    }
    assay_names_release(&names);
    return status;
}

static int list_own(assay_store *store, const assay_catalog *catalog, own_files *own)
{
    assay_names top = {0};
    int status = assay_store_list(store, "", &top, NULL);
    status = status == ASSAY_ENOMEM ? status : ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < catalog->events.count; i++)
        if (ASSAY_EVENTS_OF_RANKS >> catalog->events.list[i].kind & 1)
            status = add_own(store, own, catalog->events.list[i].path);
    for (size_t i = 0; status == ASSAY_OK && i < top.count; i++)
        if (assay_groups_may_be_in(top.name[i]) && assay_store_exists(store, top.name[i], NULL) != 1)
            status = add_folder(store, own, top.name[i]);
    assay_names_release(&top);
    return status;
}

int assay_groups_find_own(assay_store *store, const assay_catalog *catalog, assay_group_files *files)
{
    own_files own = {.hash = 1};
    int status = list_own(store, catalog, &own);
    if (status == ASSAY_OK && own.hash != files->seen) {
        assay_group_files_release(files);
        status = assay_group_files_init(files);
        files->left = ASSAY_GROUP_OWN_MOST;
        for (size_t i = 0; status == ASSAY_OK && i < own.path.count; i++)
            if (files->left > 0)
                status = read_file(store, own.path.list[i], files);
            else
                files->left_out++;
        files->seen = own.hash;
    }
    for (size_t i = 0; i < own.path.count; i++)
        free(own.path.list[i]);
    free(own.path.list);
    return status;
}
