/* topology.c - releases a topology, and lays a trial's workers out on its meshes. */
#include "mesh/topology.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "container/pickle.h"

static void free_mesh(assay_mesh *mesh)
{
    for (uint32_t a = 0; a < mesh->axes; a++)
        free(mesh->axis[a].name);
    free(mesh->name);
}

static void free_entry(assay_topology_entry *e)
{
    for (uint32_t n = 0; n < e->numbers; n++)
        for (uint32_t a = 0; a < ASSAY_MESH_AXES; a++)
            free(e->number[n].axis[a].add);
    free(e->number);
    assay_regex_free(e->match);
}

void assay_topology_free(assay_topology *t)
{
    if (!t)
        return;
    for (uint32_t m = 0; m < t->meshes; m++)
        free_mesh(&t->mesh[m]);
    for (uint32_t g = 0; g < t->givens; g++)
        free(t->given[g].worker);
    for (uint32_t e = 0; e < t->entries; e++)
        free_entry(&t->entry[e]);
    for (uint32_t r = 0; r < t->rules; r++)
        free(t->rule[r].part);
    free(t->mesh);
    free(t->given);
    free(t->entry);
    free(t->rule);
    free(t->place);
    free(t->text);
    free(t->why);
    free(t);
}

uint32_t assay_mesh_axis(const assay_mesh *mesh, const char *name)
{
    uint32_t a = 0;
    while (a < mesh->axes && strcmp(mesh->axis[a].name, name) != 0)
        a++;
    return a;
}

/* The last digits of a name count, whatever stands behind them. */
uint64_t assay_worker_rank(const char *name)
{
    size_t end = strlen(name);
    while (end > 0 && !isdigit((unsigned char)name[end - 1]))
        end--;
    size_t from = end;
    while (from > 0 && isdigit((unsigned char)name[from - 1]))
        from--;
    uint64_t rank = 0;
    for (size_t i = from; i < end; i++)
        rank = rank < UINT32_MAX ? rank * 10 + (uint64_t)(name[i] - '0') : rank;
    return from < end && rank < UINT32_MAX ? rank : UINT64_MAX;
}

enum { NOT_GIVEN = UINT32_MAX };

/* Takes what the file says of a worker into `at`, [meshes][ASSAY_MESH_AXES]; the rest is NOT_GIVEN. */
static void take_given(const assay_topology *t, const char *worker, uint32_t *at)
{
    for (uint32_t i = 0; i < t->meshes * ASSAY_MESH_AXES; i++)
        at[i] = NOT_GIVEN;
    uint32_t g = 0;
    ASSAY_SEARCH(g, t->givens, strcmp(t->given[g].worker, worker) < 0);
    for (; g < t->givens && strcmp(t->given[g].worker, worker) == 0; g++)
        at[t->given[g].mesh * ASSAY_MESH_AXES + t->given[g].axis] = t->given[g].at;
}

static int place_worker(const assay_topology *t, const char *name, const char *worker, uint32_t *at, assay_error *err)
{
    take_given(t, worker, at);
    for (uint32_t m = 0; m < t->meshes; m++) {
        const assay_mesh *mesh = &t->mesh[m];
        uint64_t rank = assay_worker_rank(worker), rest = rank;
        for (uint32_t a = mesh->axes; a-- > 0;) {
            uint32_t *to = &at[m * ASSAY_MESH_AXES + a];
            if (*to == NOT_GIVEN && rank >= t->world)
                return assay_fail(
                    err, ASSAY_EJOB,
                    "%s: the worker %.120s has no place on the axis \"%s\" of the mesh \"%.80s\": %s; say where "
                    "it is under \"workers\", or correct the sizes of the axes",
                    name, worker, mesh->axis[a].name, mesh->name,
                    rank == UINT64_MAX ? "its name ends in no number" : "the axes multiply to fewer workers");
            *to = *to == NOT_GIVEN ? (uint32_t)(rest % mesh->axis[a].size) : *to;
            rest /= mesh->axis[a].size;
        }
    }
    return ASSAY_OK;
}

/* Finds the place of a worker in a mesh, row by row. */
static uint64_t place_number(const assay_topology *t, uint32_t worker, uint32_t m)
{
    uint64_t number = 0;
    for (uint32_t a = 0; a < t->mesh[m].axes; a++)
        number = number * t->mesh[m].axis[a].size + assay_topology_at(t, worker, m, a);
    return number;
}

typedef struct taken {
    uint64_t place;
    uint32_t worker;
} taken;

ASSAY_ORDER_BY(compare_taken, taken, place, worker)

/* Two workers at one place would be taken for one piece, and one of them be lost. */
static int refuse_twice(const assay_topology *t, const char *name, char *const *worker, assay_error *err)
{
    taken *list = assay_alloc(((size_t)t->workers + 1) * sizeof *list);
    int status = list ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
    for (uint32_t m = 0; m < t->meshes && status == ASSAY_OK; m++) {
        for (uint32_t w = 0; w < t->workers; w++)
            list[w] = (taken){place_number(t, w, m), w};
        qsort(list, t->workers, sizeof *list, compare_taken);
        for (uint32_t i = 1; i < t->workers && status == ASSAY_OK; i++)
            if (list[i].place == list[i - 1].place)
                status = assay_fail(
                    err, ASSAY_EJOB,
                    "%s: the workers %.120s and %.120s are at one place of the mesh \"%.80s\": say where they "
                    "are under \"workers\"",
                    name, worker[list[i - 1].worker], worker[list[i].worker], t->mesh[m].name);
    }
    free(list);
    return status;
}

/* May be called again for other workers: places are then made anew. */
int assay_topology_place(assay_topology *t, const char *name, char *const *worker, uint32_t workers, assay_error *err)
{
    const size_t width = (size_t)t->meshes * ASSAY_MESH_AXES;
    const uint64_t bytes = (uint64_t)workers * width * sizeof(uint32_t);
    if (t->bytes + bytes > assay_pickle_memory())
        return assay_fail(err, ASSAY_EJOB,
                          "%s: the places of %u workers in %u meshes take more memory than half of --memory; give more",
                          name, workers, t->meshes);
    t->bytes += t->place ? 0 : bytes;
    uint32_t *place = assay_alloc_zeroed(workers * width + 1, sizeof *place);
    if (!place)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
    free(t->place);
    t->place = place;
    t->workers = workers;
    int status = ASSAY_OK;
    for (uint32_t w = 0; w < workers && status == ASSAY_OK; w++)
        status = place_worker(t, name, worker[w], place + w * width, err);
    return status == ASSAY_OK ? refuse_twice(t, name, worker, err) : status;
}

/* Finds the first mesh that has an axis of that name; how many there are when none has. */
static uint32_t mesh_with(const assay_topology *t, const char *axis, uint32_t *at)
{
    uint32_t m = 0;
    while (m < t->meshes && (*at = assay_mesh_axis(&t->mesh[m], axis)) == t->mesh[m].axes)
        m++;
    return m;
}

/* Two topologies of the same workers, and what each is called. */
typedef struct both_topologies {
    const assay_topology *t, *other;
    const char *mine, *theirs;
    char *const *worker;
} both_topologies;

/* Tells whether axis a of mesh m differs: its size, or then the places on it. */
static bool axis_differs(const both_topologies *both, uint32_t m, uint32_t a, bool places, assay_buf *out)
{
    const assay_topology *t = both->t, *other = both->other;
    uint32_t b = 0;
    const char *axis = t->mesh[m].axis[a].name;
    const uint32_t with = mesh_with(other, axis, &b), size = t->mesh[m].axis[a].size;
    if (with == other->meshes)
        return false;
    if (!places && size != other->mesh[with].axis[b].size) {
        assay_put_format(out, "the axis %s has %u place%s by %s, and %u by %s", axis, size, assay_plural(size),
                         both->mine, other->mesh[with].axis[b].size, both->theirs);
        return true;
    }
    for (uint32_t w = 0; places && w < t->workers && w < other->workers; w++) {
        const uint32_t own = assay_topology_at(t, w, m, a), its = assay_topology_at(other, w, with, b);
        if (own != its) {
            assay_put_format(out, "%.100s has the place %u on the axis %s by %s, and %u by %s", both->worker[w], own,
                             axis, both->mine, its, both->theirs);
            return true;
        }
    }
    return false;
}

bool assay_topology_differs(const assay_topology *t, const assay_topology *other, const char *mine, const char *theirs,
                            char *const *worker, assay_buf *out)
{
    const both_topologies both = {t, other, mine, theirs, worker};
    /* Sizes first: one that differs explains places that do. */
    for (int places = 0; places < 2; places++)
        for (uint32_t m = 0; m < t->meshes; m++)
            for (uint32_t a = 0; a < t->mesh[m].axes; a++)
                if (axis_differs(&both, m, a, places, out))
                    return true;
    return false;
}

/* The text is sent, not what was made of it: the receiver parses it anew, with its own checks. */
void assay_topology_pack(const assay_topology *t, assay_buf *out)
{
    assay_put_u8(out, t != NULL);
    if (!t)
        return;
    assay_put_u8(out, t->derived);
    assay_put_text(out, t->text);
}

int assay_topology_unpack(assay_cursor *in, char *const *worker, uint32_t workers, assay_topology **out)
{
    assay_topology *t = NULL;
    size_t length = 0;
    if (assay_get_u8(in) == 0)
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    const bool derived = assay_get_u8(in) != 0;
    const char *text = assay_get_text(in, &length);
    if (in->failed)
        return ASSAY_EFORMAT;
    int status = assay_topology_parse("topology", text, length, &t, NULL);
    ASSAY_THEN(status, assay_topology_place(t, "topology", worker, workers, NULL));
    if (status != ASSAY_OK) {
        assay_topology_free(t);
        return status == ASSAY_ENOMEM ? status : ASSAY_EFORMAT;
    }
    t->derived = derived;
    *out = t;
    return ASSAY_OK;
}
