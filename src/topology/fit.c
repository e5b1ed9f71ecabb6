/* fit.c - see fit.h.
 *
 * Of every axis: workers that differ along it alone are neighbours. If all neighbours have one box, the axis has copies
 * (of other replicas) or addends; if their boxes differ in one dimension, it divides that. Empty pieces say nothing. An
 * axis along which nobody has a neighbour plays no part. What was found is then tried: the boxes in the order of their
 * coordinates have to lie behind one another, from the beginning of each dimension to its end; where workers are
 * missing there may be holes. */
#include "topology/fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

typedef enum meaning { NOTHING, COPIES, ADDENDS, DIVIDES, UNSAID } meaning;

typedef struct fitting {
    const assay_said *s;
    const assay_said_mesh *m;
    const assay_said_piece *piece;
    size_t count;
    uint32_t *at_place; /* [places] 1 + number of the piece there; 0: none */
    uint64_t places;
    struct {
        meaning kind;
        int dim;
        int64_t stretch; /* how far apart the first and the last of it lie, at most */
    } axis[ASSAY_MESH_AXES];
} fitting;

uint64_t assay_said_place(const assay_said_mesh *m, uint32_t worker)
{
    const uint32_t *at = m->at + (size_t)worker * ASSAY_MESH_AXES;
    uint64_t place = 0;
    for (uint32_t a = 0; a < m->axes; a++) {
        if (at[a] == ASSAY_NO_PLACE)
            return UINT64_MAX;
        place = place * m->axis[a].size + at[a];
    }
    return place;
}

static const int64_t *shape_of(const fitting *f, size_t i)
{
    return f->s->number + f->piece[i].first;
}

static const int64_t *whole_of(const fitting *f, size_t i)
{
    return shape_of(f, i) + f->piece[i].dims;
}

static const int64_t *offset_of(const fitting *f, size_t i)
{
    return shape_of(f, i) + 2 * (size_t)f->piece[i].dims;
}

static bool is_empty(const fitting *f, size_t i)
{
    for (int d = 0; d < f->piece[i].dims; d++)
        if (shape_of(f, i)[d] == 0)
            return true;
    return false;
}

/* Are all pieces of one tensor, and all addends or none? */
static bool is_one_tensor(const fitting *f)
{
    const size_t size = (size_t)f->piece[0].dims * sizeof(int64_t);
    for (size_t i = 1; i < f->count; i++)
        if (f->piece[i].dims != f->piece[0].dims || f->piece[i].partial != f->piece[0].partial ||
            f->piece[i].worker == f->piece[i - 1].worker || (size && memcmp(whole_of(f, i), whole_of(f, 0), size) != 0))
            return false;
    return true;
}

/* The one dimension in which two boxes differ; -1: none; -2: several. */
static int differ(const fitting *f, size_t a, size_t b)
{
    int dim = -1;
    for (int d = 0; d < f->piece[a].dims; d++)
        if (offset_of(f, a)[d] != offset_of(f, b)[d] || shape_of(f, a)[d] != shape_of(f, b)[d])
            dim = dim == -1 ? d : -2;
    return dim;
}

/* Data-parallel axes have copies, as the presets know. */
static bool is_of_copies(const char *axis)
{
    return strcmp(axis, "dp") == 0 || strcmp(axis, "ddp") == 0 || strcmp(axis, "cp") == 0 ||
           strcmp(axis, "dp_replicate") == 0;
}

/* Takes two neighbours along an axis into account; false: they contradict others. */
static bool take_pair(fitting *f, uint32_t axis, size_t a, size_t b)
{
    const int dim = differ(f, a, b);
    const bool numbered = f->piece[a].replica != f->piece[b].replica;
    const meaning kind = dim >= 0                                          ? DIVIDES
                         : dim < -1                                        ? NOTHING
                         : f->piece[a].partial                             ? ADDENDS
                         : numbered || is_of_copies(f->m->axis[axis].name) ? COPIES
                                                                           : UNSAID;
    if (kind == NOTHING || (f->axis[axis].kind != NOTHING && (f->axis[axis].kind != kind || f->axis[axis].dim != dim)))
        return false;
    f->axis[axis].kind = kind;
    f->axis[axis].dim = dim;
    if (dim >= 0) {
        const int64_t apart = offset_of(f, b)[dim] - offset_of(f, a)[dim];
        const int64_t far = apart < 0 ? -apart : apart;
        f->axis[axis].stretch = far > f->axis[axis].stretch ? far : f->axis[axis].stretch;
    }
    return true;
}

/* Compares all neighbours along an axis. */
static bool take_axis(fitting *f, uint32_t axis)
{
    uint64_t stride = 1;
    for (uint32_t a = axis + 1; a < f->m->axes; a++)
        stride *= f->m->axis[a].size;
    for (size_t i = 0; i < f->count; i++) {
        const uint32_t at = f->m->at[(size_t)f->piece[i].worker * ASSAY_MESH_AXES + axis];
        const uint64_t place = assay_said_place(f->m, f->piece[i].worker);
        if (is_empty(f, i))
            continue;
        for (uint32_t k = at + 1; k < f->m->axis[axis].size; k++) {
            const uint32_t other = f->at_place[place + (k - at) * stride];
            if (other == 0 || is_empty(f, other - 1))
                continue;
            if (!take_pair(f, axis, i, other - 1))
                return false;
            break;
        }
    }
    return true;
}

/* The axes that divide a dimension, outermost first. */
static uint32_t dividing(const fitting *f, int dim, uint32_t list[ASSAY_MESH_AXES])
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < f->m->axes; a++) {
        uint32_t to = count;
        if (f->axis[a].kind != DIVIDES || f->axis[a].dim != dim)
            continue;
        for (; to > 0 && f->axis[list[to - 1]].stretch < f->axis[a].stretch; to--)
            list[to] = list[to - 1];
        list[to] = a;
        count++;
    }
    return count;
}

/* Do the boxes cover a dimension, each place the one behind the place before? */
static int covers(const fitting *f, int dim)
{
    uint32_t list[ASSAY_MESH_AXES];
    const uint32_t count = dividing(f, dim, list);
    uint64_t places = 1;
    for (uint32_t i = 0; i < count; i++)
        places *= f->m->axis[list[i]].size;
    int64_t *range = assay_alloc(places * 2 * sizeof *range);
    ASSAY_HAVE(range);
    for (uint64_t p = 0; p < 2 * places; p++)
        range[p] = -1;
    int fits = 1;
    for (size_t i = 0; i < f->count && fits; i++) {
        uint64_t p = 0;
        for (uint32_t k = 0; k < count; k++)
            p = p * f->m->axis[list[k]].size + f->m->at[(size_t)f->piece[i].worker * ASSAY_MESH_AXES + list[k]];
        const int64_t from = offset_of(f, i)[dim], end = from + shape_of(f, i)[dim];
        if (is_empty(f, i))
            continue;
        fits = range[2 * p] < 0 || (range[2 * p] == from && range[2 * p + 1] == end);
        range[2 * p] = from;
        range[2 * p + 1] = end;
    }
    int64_t at = 0;
    bool hole = false; /* a place of which nothing is known came before: a worker is missing, or its piece is empty */
    for (uint64_t p = 0; p < places && fits; p++) {
        const bool known = range[2 * p] >= 0;
        fits = !known || (hole ? range[2 * p] >= at : range[2 * p] == at);
        at = known ? range[2 * p + 1] : at;
        hole = !known;
    }
    if (fits)
        fits = hole ? at <= whole_of(f, 0)[dim] : at == whole_of(f, 0)[dim];
    free(range);
    return fits;
}

static void put_body(const fitting *f, uint32_t mesh, assay_buf *body)
{
    static const char *const LISTS[] = {[COPIES] = "replicate", [ADDENDS] = "sum"};
    uint32_t list[ASSAY_MESH_AXES], put = 0;
    if (mesh > 0) {
        assay_put_format(body, ", \"mesh\": ");
        assay_json_put_text(body, f->m->name);
    }
    for (int d = 0; d < f->piece[0].dims; d++) {
        const uint32_t count = dividing(f, d, list);
        for (uint32_t i = 0; i < count; i++)
            assay_put_format(body, "%s\"%s\": {\"axis\": %d}", put++ ? ", " : ", \"split\": {",
                             f->m->axis[list[i]].name, d);
    }
    assay_put_format(body, "%s", put ? "}" : "");
    for (int kind = COPIES; kind <= ADDENDS; kind++) {
        put = 0;
        for (uint32_t a = 0; a < f->m->axes; a++)
            if (f->axis[a].kind == (meaning)kind) {
                if (put++ == 0)
                    assay_put_format(body, ", \"%s\": [\"%s\"", LISTS[kind], f->m->axis[a].name);
                else
                    assay_put_format(body, ", \"%s\"", f->m->axis[a].name);
            }
        assay_put_format(body, "%s", put ? "]" : "");
    }
}

int assay_fit(const assay_said *s, uint32_t mesh, const assay_said_piece *piece, size_t count, assay_buf *body)
{
    fitting f = {.s = s, .m = &s->mesh[mesh], .piece = piece, .count = count, .places = 1};
    for (uint32_t a = 0; a < f.m->axes; a++)
        f.places *= f.m->axis[a].size;
    f.at_place = assay_alloc_zeroed(f.places + 1, sizeof *f.at_place);
    int fits = f.at_place ? is_one_tensor(&f) : ASSAY_ENOMEM;
    for (size_t i = 0; i < count && fits == 1; i++) {
        const uint64_t place = assay_said_place(f.m, piece[i].worker);
        fits = place < f.places;
        if (fits)
            f.at_place[place] = (uint32_t)i + 1;
    }
    for (uint32_t a = 0; a < f.m->axes && fits == 1; a++)
        fits = take_axis(&f, a);
    for (int d = 0; d < piece[0].dims && fits == 1; d++)
        fits = covers(&f, d);
    if (fits == 1)
        put_body(&f, mesh, body);
    free(f.at_place);
    return fits;
}

/* ---- what is wrong ---- */

/* Are there boxes that have some elements in common, and not all? Boxes of one place are copies. */
static bool overlap(const fitting *f, size_t a, size_t b)
{
    bool common = true, same = true;
    for (int d = 0; d < f->piece[a].dims; d++) {
        const int64_t from = offset_of(f, a)[d], other = offset_of(f, b)[d];
        common = common && from < other + shape_of(f, b)[d] && other < from + shape_of(f, a)[d];
        same = same && from == other && shape_of(f, a)[d] == shape_of(f, b)[d];
    }
    return common && !same;
}

/* "worker_1 (3x4 of 7x4 at 2,0)". */
static void put_box(const fitting *f, size_t i, assay_buf *out)
{
    assay_put_format(out, "%.200s (", f->s->worker[f->piece[i].worker]);
    for (int d = 0; d < f->piece[i].dims; d++)
        assay_put_format(out, "%s%" PRId64, d ? "x" : "", shape_of(f, i)[d]);
    for (int d = 0; d < f->piece[i].dims; d++)
        assay_put_format(out, "%s%" PRId64, d ? "x" : " of ", whole_of(f, i)[d]);
    for (int d = 0; d < f->piece[i].dims; d++)
        assay_put_format(out, "%s%" PRId64, d ? "," : " at ", offset_of(f, i)[d]);
    assay_put_u8(out, ')');
}

void assay_put_misfit(const assay_said *s, const assay_said_piece *piece, size_t count, bool all, assay_buf *out)
{
    enum { PAIRS_MOST = 1 << 22 };
    const fitting f = {.s = s, .piece = piece, .count = count};
    double whole = 1, covered = 0;
    size_t twice[2] = {0, 0}; /* two that say they have the same piece, and not that they are copies */
    if (!is_one_tensor(&f)) {
        assay_put_format(out, "workers disagree on its shape, or on whether it is a sum");
        return;
    }
    if (count > PAIRS_MOST / count)
        return;
    for (int d = 0; d < piece[0].dims; d++)
        whole *= (double)whole_of(&f, 0)[d];
    for (size_t a = 0; a < count; a++) {
        double size = 1;
        bool copy = false;
        for (size_t b = 0; b < a; b++) {
            if (overlap(&f, a, b)) {
                assay_put_format(out, "the pieces that workers say they have overlap: ");
                put_box(&f, b, out);
                assay_put_format(out, " and ");
                put_box(&f, a, out);
                return;
            }
            const bool same = differ(&f, a, b) == -1;
            if (same && piece[a].replica == piece[b].replica && twice[0] == twice[1])
                twice[0] = b, twice[1] = a;
            copy = copy || same;
        }
        for (int d = 0; d < piece[a].dims; d++)
            size *= (double)shape_of(&f, a)[d];
        covered += copy ? 0 : size;
    }
    if (!all || covered >= whole)
        return;
    assay_put_format(out, "the pieces that workers say they have leave a hole: %.0f of %.0f elements are nobody's",
                     whole - covered, whole);
    if (twice[0] != twice[1]) {
        assay_put_format(out, ", and ");
        put_box(&f, twice[0], out);
        assay_put_format(out, " and ");
        put_box(&f, twice[1], out);
        assay_put_format(out, " say the same piece");
    }
}

/* ---- a mesh of boxes ---- */

/* The different ranges of a dimension in order. */
static uint32_t collect_ranges(const fitting *f, int dim, int64_t *from, uint32_t *of)
{
    uint32_t count = 0;
    for (size_t i = 0; i < f->count; i++) {
        const int64_t own = offset_of(f, i)[dim];
        uint32_t at = 0;
        while (at < count && from[at] < own)
            at++;
        if (at == count || from[at] != own) {
            memmove(from + at + 1, from + at, (count - at) * sizeof *from);
            from[at] = own;
            count++;
        }
    }
    for (size_t i = 0; i < f->count; i++)
        for (of[i] = 0; from[of[i]] != offset_of(f, i)[dim]; of[i]++)
            continue;
    return count;
}

/* Adds an axis to a mesh that is made. */
static bool add_axis(assay_said_mesh *m, const char *name, uint32_t size)
{
    if (m->axes == ASSAY_MESH_AXES)
        return false;
    m->axis[m->axes].size = size;
    m->axis[m->axes].name = assay_copy_text(name);
    return m->axis[m->axes++].name != NULL;
}

/* Places the workers: those that have a piece by the ranges it lies in, the others where room is left. */
static int place_workers(const fitting *f, assay_said_mesh *m, uint32_t *const *of)
{
    const assay_said *s = f->s;
    uint32_t copies = m->axis[0].size;
    uint64_t boxes = 1;
    for (uint32_t a = 1; a < m->axes; a++)
        boxes *= m->axis[a].size;
    uint32_t *used = assay_alloc_zeroed(boxes + 1, sizeof *used);
    ASSAY_HAVE(used);
    for (size_t i = 0; i < (size_t)s->workers * ASSAY_MESH_AXES; i++)
        m->at[i] = ASSAY_NO_PLACE;
    int fits = 1;
    for (size_t i = 0; i < f->count && fits; i++) {
        uint32_t *at = m->at + (size_t)f->piece[i].worker * ASSAY_MESH_AXES;
        uint64_t box = 0;
        for (uint32_t a = 1; a < m->axes; a++) {
            at[a] = of[a - 1][i];
            box = box * m->axis[a].size + at[a];
        }
        at[0] = used[box]++;
        fits = at[0] < copies;
    }
    uint64_t box = 0;
    for (uint32_t w = 0; w < s->workers && fits; w++) {
        uint32_t *at = m->at + (size_t)w * ASSAY_MESH_AXES;
        if (at[0] != ASSAY_NO_PLACE)
            continue;
        while (box < boxes && used[box] >= copies)
            box++;
        fits = box < boxes;
        at[0] = fits ? used[box] : 0; /* behind those that have a piece */
        uint64_t rest = box;
        for (uint32_t a = m->axes; fits && a-- > 1; rest /= m->axis[a].size)
            at[a] = (uint32_t)(rest % m->axis[a].size);
        used[box] += fits ? 1 : 0;
    }
    free(used);
    return fits;
}

static bool is_same_mesh(const assay_said *s, const assay_said_mesh *a, const assay_said_mesh *b)
{
    if (a->axes != b->axes)
        return false;
    for (uint32_t i = 0; i < a->axes; i++)
        if (a->axis[i].size != b->axis[i].size || strcmp(a->axis[i].name, b->axis[i].name) != 0)
            return false;
    for (uint32_t w = 0; w < s->workers; w++)
        if (memcmp(a->at + (size_t)w * ASSAY_MESH_AXES, b->at + (size_t)w * ASSAY_MESH_AXES, a->axes * sizeof *a->at) !=
            0)
            return false;
    return true;
}

/* The mesh's number, after it was added unless it is there; ASSAY_SAID_MESHES where there is no room. */
static uint32_t add_mesh(assay_said *s, assay_said_mesh *m, int *status)
{
    char name[32];
    uint32_t at = 0;
    while (at < s->meshes && !is_same_mesh(s, &s->mesh[at], m))
        at++;
    if (at < s->meshes || at == ASSAY_SAID_MESHES) {
        assay_said_mesh_release(m);
        return at;
    }
    snprintf(name, sizeof name, "boxes_%u", at);
    m->name = assay_copy_text(name);
    *status = m->name ? ASSAY_OK : ASSAY_ENOMEM;
    s->mesh[s->meshes++] = *m;
    return at;
}

int assay_fit_alone(assay_said *s, const assay_said_piece *piece, size_t count, assay_buf *body)
{
    const fitting f = {.s = s, .piece = piece, .count = count};
    uint32_t *of[ASSAY_MESH_AXES] = {NULL};
    assay_said_mesh m = {.at = assay_alloc((size_t)s->workers * ASSAY_MESH_AXES * sizeof *m.at + 1)};
    int64_t *from = assay_alloc((count + 1) * sizeof *from);
    uint64_t boxes = 1;
    int fits = m.at && from ? is_one_tensor(&f) : ASSAY_ENOMEM;
    for (size_t i = 0; i < count && fits == 1; i++)
        fits = !is_empty(&f, i); /* an empty piece has no place among the others */
    if (fits == 1 && !add_axis(&m, "copy", 1))
        fits = ASSAY_ENOMEM;
    for (int d = 0; d < piece[0].dims && fits == 1; d++) {
        uint32_t *own = assay_alloc((count + 1) * sizeof *own);
        const uint32_t ranges = own ? collect_ranges(&f, d, from, own) : 0;
        char name[16];
        snprintf(name, sizeof name, "dim_%d", d);
        if (ranges > 1 && m.axes < ASSAY_MESH_AXES && add_axis(&m, name, ranges)) {
            of[m.axes - 2] = own;
            boxes = boxes <= s->world ? boxes * ranges : boxes; /* both below 2^32; too many stay too many */
        } else {
            const bool lacking = !own || (m.axes > 0 && !m.axis[m.axes - 1].name);
            free(own);
            fits = lacking ? ASSAY_ENOMEM : ranges <= 1;
        }
    }
    if (fits == 1 && s->world <= ASSAY_FIT_PLACES && boxes <= s->world && s->world % boxes == 0) {
        m.axis[0].size = (uint32_t)(s->world / boxes);
        fits = place_workers(&f, &m, of);
    } else if (fits == 1) {
        fits = 0;
    }
    for (size_t i = 0; i < ASSAY_MESH_AXES; i++)
        free(of[i]);
    free(from);
    if (fits != 1) {
        assay_said_mesh_release(&m);
        return fits;
    }
    int status = ASSAY_OK;
    const uint32_t before = s->meshes, mesh = add_mesh(s, &m, &status);
    if (status != ASSAY_OK)
        return status;
    fits = mesh < s->meshes ? assay_fit(s, mesh, piece, count, body) : 0;
    if (fits == 0 && s->meshes > before)
        assay_said_mesh_release(&s->mesh[--s->meshes]);
    return fits;
}
