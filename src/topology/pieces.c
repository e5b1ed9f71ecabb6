/* pieces.c - see pieces.h.
 *
 * 1. Meshes are those that workers said; else one is made of their groups (groups.h).
 * 2. What an axis means for a tensor shows when workers are compared that differ along it alone (fit.h): the same box
 * is a copy, boxes that lie behind one another in a dimension are a split.
 * 3. A tensor that fits no mesh gets a mesh of its own, made of its boxes.
 * 4. Tensors whose names differ in numbers only, and that are divided alike, share an entry. */
#include "topology/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/vec.h"
#include "container/pickle.h"
#include "mesh/draft.h"
#include "topology/fit.h"
#include "mesh/layout.h"

int assay_said_init(assay_said *s, char *const *worker, uint32_t workers, uint32_t world)
{
    *s = (assay_said){.worker = worker, .workers = workers, .world = world > workers ? world : workers};
    assay_buf_init(&s->entries, ASSAY_TOPOLOGY_MOST);
    s->tensors = assay_dict_new();
    const int status = assay_groups_init(&s->groups);
    return s->tensors ? status : ASSAY_ENOMEM;
}

void assay_said_mesh_release(assay_said_mesh *m)
{
    for (uint32_t a = 0; a < m->axes; a++)
        free(m->axis[a].name);
    free(m->name);
    free(m->at);
}

void assay_said_release(assay_said *s)
{
    for (uint32_t m = 0; m < s->meshes; m++)
        assay_said_mesh_release(&s->mesh[m]);
    assay_groups_release(&s->groups);
    assay_buf_release(&s->entries);
    assay_dict_free(s->tensors);
    free(s->piece);
    free(s->number);
    *s = (assay_said){0};
}

int assay_said_add_piece(assay_said *s, const assay_said_piece *piece, const char *tensor, size_t length,
                         const int64_t *number)
{
    const size_t count = 3 * (size_t)piece->dims;
    if ((s->pieces + 1) * sizeof *s->piece + (s->numbers + count) * sizeof *s->number + assay_dict_bytes(s->tensors) >
        assay_pickle_memory())
        return ASSAY_EBUDGET;
    const uint32_t id = assay_dict_add(s->tensors, tensor, length);
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    ASSAY_HAVE(assay_vec_reserve(&s->piece, &s->piece_room, s->pieces + 1, sizeof *s->piece));
    if (s->numbers + count > s->number_room) {
        const size_t room = 2 * s->number_room + count + 256;
        int64_t *grown = assay_realloc_array(s->number, room, sizeof *grown);
        ASSAY_HAVE(grown);
        s->number = grown;
        s->number_room = room;
    }
    if (count > 0)
        memcpy(s->number + s->numbers, number, count * sizeof *number);
    assay_said_piece *added = &s->piece[s->pieces++];
    *added = *piece;
    added->tensor = id;
    added->first = s->numbers;
    s->numbers += count;
    return ASSAY_OK;
}

/* ---- meshes ---- */

static uint64_t places_of(const assay_said_mesh *m)
{
    uint64_t places = 1;
    for (uint32_t a = 0; a < m->axes && places <= INT32_MAX; a++)
        places *= m->axis[a].size;
    return places;
}

/* Has every worker a place of its own, and have all meshes as many places? */
static int is_sound(const assay_said *s, const assay_said_mesh *m, uint64_t places)
{
    if (places != places_of(m) || places > ASSAY_FIT_PLACES || places < s->workers)
        return 0;
    bool *taken = assay_alloc_zeroed(places + 1, sizeof *taken);
    ASSAY_HAVE(taken);
    int sound = 1;
    for (uint32_t w = 0; w < s->workers && sound; w++) {
        const uint64_t place = assay_said_place(m, w);
        sound = place != UINT64_MAX && !taken[place];
        if (sound)
            taken[place] = true;
    }
    free(taken);
    return sound;
}

/* Leaves meshes out that cannot be used. */
static int keep_sound(assay_said *s, assay_buf *why)
{
    uint32_t kept = 0;
    uint64_t places = 0;
    int status = ASSAY_OK;
    for (uint32_t m = 0; m < s->meshes; m++) {
        const int sound =
            status == ASSAY_OK ? is_sound(s, &s->mesh[m], kept ? places : places_of(&s->mesh[m])) : status;
        status = sound < 0 ? sound : status;
        if (sound == 1) {
            places = kept ? places : places_of(&s->mesh[m]);
            assay_put_format(why, "mesh \"%.100s\":", s->mesh[m].name);
            for (uint32_t a = 0; a < s->mesh[m].axes; a++)
                assay_put_format(why, "%s %s %u", a ? "," : "", s->mesh[m].axis[a].name, s->mesh[m].axis[a].size);
            assay_put_u8(why, '\n');
            s->mesh[kept++] = s->mesh[m];
            continue;
        }
        assay_put_format(why, "mesh \"%.100s\": the workers that wrote do not have a place of its own each: left out\n",
                         s->mesh[m].name);
        assay_said_mesh_release(&s->mesh[m]);
    }
    s->meshes = kept;
    s->world = places > 0 ? (uint32_t)places : s->world;
    return status;
}

static int add_rank_mesh(assay_said *s, const assay_rank_layout *ranks, const assay_rank_mesh *from)
{
    assay_said_mesh m = {.name = assay_copy_text(from->name),
                         .at = assay_alloc((size_t)s->workers * ASSAY_MESH_AXES * sizeof *m.at + 1)};
    bool whole = m.name && m.at;
    for (; m.axes < from->axes && whole; m.axes++) {
        m.axis[m.axes].size = from->axis[m.axes].size;
        m.axis[m.axes].name = assay_copy_text(from->axis[m.axes].name);
        whole = m.axis[m.axes].name != NULL;
    }
    for (uint32_t w = 0; w < s->workers && whole; w++) {
        const uint64_t rank = assay_worker_rank(s->worker[w]);
        for (uint32_t a = 0; a < m.axes; a++)
            m.at[(size_t)w * ASSAY_MESH_AXES + a] =
                rank < ranks->ranks ? from->at[rank * ASSAY_MESH_AXES + a] : (uint32_t)ASSAY_NO_PLACE;
    }
    if (whole)
        s->mesh[s->meshes++] = m;
    else
        assay_said_mesh_release(&m);
    return whole ? ASSAY_OK : ASSAY_ENOMEM;
}

static int take_groups(assay_said *s, assay_buf *why)
{
    assay_rank_layout ranks;
    int status = assay_groups_lay_out(&s->groups, &ranks, why);
    for (uint32_t m = 0; m < ranks.meshes && status == ASSAY_OK; m++)
        status = add_rank_mesh(s, &ranks, &ranks.mesh[m]);
    assay_rank_layout_release(&ranks);
    return status;
}

/* ---- entries ---- */

typedef struct putting {
    assay_said *s;
    assay_dict *bodies;   /* what entries say */
    uint32_t *body;       /* [tensors] its number, or ASSAY_NO_ID */
    assay_dict *patterns; /* of names, numbers left out */
    uint32_t *shared;     /* [patterns] the body of all its tensors; ASSAY_NO_ID: they have several */
    uint32_t unknown;
    assay_problems *problems;
} putting;

ASSAY_ORDER_BY(compare_pieces, assay_said_piece, tensor, worker)

/* A worker that said nothing may have what is missing. */
static int name_misfit(const putting *p, const assay_said_piece *piece, size_t count)
{
    assay_buf wrong = ASSAY_BUF(ASSAY_TOPOLOGY_MOST);
    assay_put_misfit(p->s, piece, count, p->s->said >= p->s->world, &wrong);
    if (wrong.size > 0)
        assay_problems_add(p->problems, ASSAY_PROBLEM_TOPOLOGY, -1, "topology", -1,
                           "the tensor %.200s: %.*s; it is not put together, and each worker's piece stands by itself",
                           assay_dict_name(p->s->tensors, piece->tensor, NULL), (int)wrong.size,
                           (const char *)wrong.data);
    const int status = assay_buf_status(&wrong);
    assay_buf_release(&wrong);
    return status;
}

/* Finds what is to be said of each tensor. */
static int find_bodies(putting *p)
{
    assay_said *s = p->s;
    assay_buf body;
    int status = ASSAY_OK;
    assay_buf_init(&body, ASSAY_TOPOLOGY_MOST);
    if (s->pieces > 0)
        qsort(s->piece, s->pieces, sizeof *s->piece, compare_pieces);
    for (size_t i = 0, n; i < s->pieces && status == ASSAY_OK; i += n) {
        for (n = 1; i + n < s->pieces && s->piece[i + n].tensor == s->piece[i].tensor;)
            n++;
        assay_buf_clear(&body);
        int fits = 0;
        for (uint32_t m = 0; m < s->meshes && fits == 0; m++)
            fits = assay_fit(s, m, &s->piece[i], n, &body);
        if (fits == 0)
            fits = assay_fit_alone(s, &s->piece[i], n, &body);
        p->unknown += fits == 0;
        status = fits < 0 ? fits : fits == 0 ? name_misfit(p, &s->piece[i], n) : assay_buf_status(&body);
        uint32_t *to = &p->body[s->piece[i].tensor];
        /* One that does not fit has an entry that says nothing, so that no other entry speaks of it. */
        *to = status == ASSAY_OK ? assay_dict_add(p->bodies, body.size > 0 ? (const char *)body.data : "", body.size)
                                 : (uint32_t)ASSAY_NO_ID;
        if (status == ASSAY_OK && *to == ASSAY_NO_ID)
            status = ASSAY_ENOMEM;
    }
    assay_buf_release(&body);
    return status;
}

/* The name that an entry for a tensor has to match, within its own: the parameter's, whose layout its gradient and the
 * state of its optimizer share. What is divided otherwise than its parameter is spoken of by its whole name: *whole.
 * NULL: the parameter speaks for it. */
static const char *name_to_match(const putting *p, uint32_t tensor, size_t *length, bool *whole)
{
    size_t from, size;
    const char *name = assay_dict_name(p->s->tensors, tensor, length);
    assay_parameter_of(name, *length, &from, &size);
    *whole = false;
    if (size == *length)
        return name;
    const uint32_t own = assay_dict_find(p->s->tensors, name + from, size);
    const bool spoken = own != ASSAY_NO_ID && p->body[own] != ASSAY_NO_ID;
    *whole = strncmp(name, "gradient/", strlen("gradient/")) == 0 || (spoken && p->body[own] != p->body[tensor]);
    if (spoken && p->body[own] == p->body[tensor])
        return NULL;
    if (*whole)
        return name;
    *length = size;
    return name + from;
}

/* Digits that are a whole part of a name between points: the number of a layer. Their count, or 0. */
static size_t number_at(const char *name, size_t length, size_t at)
{
    size_t n = 0;
    while (at + n < length && name[at + n] >= '0' && name[at + n] <= '9')
        n++;
    return (at == 0 || name[at - 1] == '.') && (at + n == length || name[at + n] == '.') ? n : 0;
}

/* A regular expression for a name; with `numbers` any layer's number may stand for its own. */
static void put_pattern(const char *name, size_t length, bool numbers, assay_buf *out)
{
    assay_put_u8(out, '^');
    for (size_t i = 0; i < length; i++) {
        const size_t digits = numbers ? number_at(name, length, i) : 0;
        if (digits > 0) {
            assay_put_format(out, "\\d+");
            i += digits - 1;
            continue;
        }
        if (name[i] && strchr(".^$*+?()[]{}|\\", name[i]))
            assay_put_u8(out, '\\');
        assay_put_u8(out, (uint8_t)name[i]);
    }
    assay_put_u8(out, '$');
}

static int share_patterns(putting *p)
{
    assay_buf pattern;
    int status = ASSAY_OK;
    assay_buf_init(&pattern, SIZE_MAX);
    for (uint32_t t = 0; t < assay_dict_count(p->s->tensors) && status == ASSAY_OK; t++) {
        size_t length = 0;
        bool whole = false;
        const char *name = p->body[t] != ASSAY_NO_ID ? name_to_match(p, t, &length, &whole) : NULL;
        if (!name)
            continue;
        assay_buf_clear(&pattern);
        put_pattern(name, length, true, &pattern);
        const uint32_t count = assay_dict_count(p->patterns);
        const uint32_t id = assay_buf_status(&pattern) == ASSAY_OK
                                ? assay_dict_add(p->patterns, (const char *)pattern.data, pattern.size)
                                : (uint32_t)ASSAY_NO_ID;
        if (id == ASSAY_NO_ID)
            status = ASSAY_ENOMEM;
        else if (id == count)
            p->shared[id] = p->body[t];
        else if (p->shared[id] != p->body[t])
            p->shared[id] = ASSAY_NO_ID;
    }
    assay_buf_release(&pattern);
    return status;
}

static void put_entry(const char *pattern, size_t pattern_length, const putting *p, uint32_t body, assay_buf *out)
{
    size_t length = 0;
    const char *text = assay_dict_name(p->bodies, body, &length);
    assay_put_format(out, "\n  {\"match\": ");
    assay_json_put_text_n(out, pattern, pattern_length);
    assay_put_format(out, "%.*s},", (int)length, text);
}

/* Entries: those of whole names come first, for their parameters' would match them, too. */
static int put_entries(putting *p, bool whole_names, assay_buf *out)
{
    assay_buf pattern;
    int status = ASSAY_OK;
    assay_buf_init(&pattern, SIZE_MAX);
    bool *put = assay_alloc_zeroed((size_t)assay_dict_count(p->patterns) + 1, sizeof *put);
    ASSAY_HAVE(put);
    for (uint32_t t = 0; t < assay_dict_count(p->s->tensors) && status == ASSAY_OK; t++) {
        size_t length = 0;
        bool whole = false;
        const char *name = p->body[t] != ASSAY_NO_ID ? name_to_match(p, t, &length, &whole) : NULL;
        if (!name || whole != whole_names)
            continue;
        assay_buf_clear(&pattern);
        put_pattern(name, length, true, &pattern);
        status = assay_buf_status(&pattern);
        const uint32_t id =
            status == ASSAY_OK ? assay_dict_find(p->patterns, (const char *)pattern.data, pattern.size) : 0;
        if (status != ASSAY_OK || (p->shared[id] != ASSAY_NO_ID && put[id]))
            continue;
        put[id] = true;
        if (p->shared[id] == ASSAY_NO_ID) {
            assay_buf_clear(&pattern);
            put_pattern(name, length, false, &pattern);
        }
        put_entry((const char *)pattern.data, pattern.size, p, p->body[t], out);
        status = assay_buf_status(&pattern);
    }
    free(put);
    assay_buf_release(&pattern);
    return status;
}

/* ---- the file ---- */

static void put_meshes(const assay_said *s, assay_buf *out)
{
    assay_put_format(out, "{\n \"schema\": \"assay-topology/1\",\n \"meshes\": {");
    for (uint32_t m = 0; m < s->meshes; m++) {
        assay_put_format(out, "%s", m ? ",\n  " : "");
        assay_json_put_text(out, s->mesh[m].name);
        assay_put_format(out, ": {\"axes\": [");
        for (uint32_t a = 0; a < s->mesh[m].axes; a++)
            assay_put_format(out, "%s[\"%s\", %u]", a ? ", " : "", s->mesh[m].axis[a].name, s->mesh[m].axis[a].size);
        assay_put_format(out, "]}");
    }
    assay_put_format(out, "},\n \"workers\": {");
    for (uint32_t w = 0; w < s->workers; w++) {
        assay_put_format(out, "%s\n  ", w ? "," : "");
        assay_json_put_text(out, s->worker[w]);
        assay_put_format(out, ": {");
        for (uint32_t m = 0; m < s->meshes; m++) {
            assay_put_format(out, "%s", m ? ", " : "");
            assay_json_put_text(out, s->mesh[m].name);
            assay_put_format(out, ": {");
            for (uint32_t a = 0; a < s->mesh[m].axes; a++)
                assay_put_format(out, "%s\"%s\": %u", a ? ", " : "", s->mesh[m].axis[a].name,
                                 s->mesh[m].at[(size_t)w * ASSAY_MESH_AXES + a]);
            assay_put_format(out, "}");
        }
        assay_put_format(out, "}");
    }
    assay_put_format(out, "\n },\n \"tensors\": [");
}

static int put_document(putting *p, assay_buf *out)
{
    assay_said *s = p->s;
    put_meshes(s, out);
    assay_put_bytes(out, s->entries.data, s->entries.size);
    int status = put_entries(p, true, out);
    ASSAY_THEN(status, put_entries(p, false, out));
    if (assay_buf_status(out) == ASSAY_OK && out->data[out->size - 1] == ',')
        out->size--;
    assay_put_format(out, "\n ]\n}\n");
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

/* Without a word on tensors workers count as before, unless an axis tells that they have different pieces. */
static bool tells_enough(const assay_said *s)
{
    static const char *const COPIES[] = {"dp", "ddp", "dp_replicate", "cp"};
    if (s->meshes == 0)
        return false;
    bool tells = s->pieces > 0 || s->entry_count > 0 || s->mesh_alone;
    for (uint32_t a = 0; a < s->mesh[0].axes && !tells; a++) {
        bool copies = s->mesh[0].axis[a].size == 1;
        for (size_t i = 0; i < sizeof COPIES / sizeof *COPIES; i++)
            copies = copies || strcmp(s->mesh[0].axis[a].name, COPIES[i]) == 0;
        tells = !copies;
    }
    return tells;
}

int assay_said_put_topology(assay_said *s, assay_buf *out, assay_buf *why, assay_problems *problems)
{
    putting p = {.s = s, .bodies = assay_dict_new(), .patterns = assay_dict_new(), .problems = problems};
    const size_t count = (size_t)assay_dict_count(s->tensors) + 1;
    p.body = assay_alloc(count * sizeof *p.body);
    p.shared = assay_alloc(count * sizeof *p.shared);
    int status = p.bodies && p.patterns && p.body && p.shared ? assay_buf_status(&s->entries) : ASSAY_ENOMEM;
    for (size_t t = 0; t < count && status == ASSAY_OK; t++)
        p.body[t] = ASSAY_NO_ID;
    ASSAY_THEN(status, keep_sound(s, why));
    if (status == ASSAY_OK && s->meshes == 0 && s->groups.count > 0) {
        status = take_groups(s, why);
        ASSAY_THEN(status, keep_sound(s, why));
    }
    ASSAY_THEN(status, find_bodies(&p));
    ASSAY_THEN(status, share_patterns(&p));
    if (status == ASSAY_OK && tells_enough(s)) {
        status = put_document(&p, out);
        if (s->pieces > 0)
            assay_put_format(why, "%u tensor%s: by the pieces that workers said they have\n",
                             assay_dict_count(s->tensors), assay_plural(assay_dict_count(s->tensors)));
        if (p.unknown > 0)
            assay_put_format(why, "%u of them: the pieces do not make one whole, or not on these meshes\n", p.unknown);
    }
    if (status == ASSAY_OK && s->meshes == 0 &&
        s->pieces > 0) { /* without a topology pieces would be taken for copies */
        status = assay_topology_put_unknown(s->worker, s->workers, out);
        assay_put_format(why, "workers have pieces, and nothing tells how they belong together\n");
    }
    assay_dict_free(p.bodies);
    assay_dict_free(p.patterns);
    free(p.body);
    free(p.shared);
    return status;
}
