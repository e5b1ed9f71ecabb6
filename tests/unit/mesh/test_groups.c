/* Process groups: whatever is known of a mesh, no rank gets a place that it does not have. */
#include <stdio.h>
#include <string.h>

#include "mesh/groups.h"
#include "random.h"
#include "unit.h"

enum { RANKS_MOST = 64 };

typedef struct truth {
    const char *name[5];
    uint32_t size[5], axes, ranks;
} truth;

static uint32_t place_of(const truth *t, uint32_t rank, uint32_t axis)
{
    for (uint32_t a = t->axes; a-- > axis + 1;)
        rank /= t->size[a];
    return rank % t->size[axis];
}

/* Do two ranks differ along the axes of the bits alone? */
static bool differ_along(const truth *t, uint32_t x, uint32_t y, unsigned axes)
{
    for (uint32_t a = 0; a < t->axes; a++)
        if (!(axes >> a & 1) && place_of(t, x, a) != place_of(t, y, a))
            return false;
    return true;
}

/* The groups along some axes together of ranks of which `said` told them. */
static void add(assay_groups *g, const truth *t, const char *name, unsigned axes, const bool *said)
{
    for (uint32_t r = 0; r < t->ranks; r++) {
        int64_t list[RANKS_MOST];
        size_t count = 0;
        for (uint32_t other = 0; other < t->ranks && said[r]; other++)
            if (differ_along(t, r, other, axes))
                list[count++] = other;
        if (count > 0)
            CU_ASSERT_EQUAL_FATAL(assay_groups_add(g, name, strlen(name), list, count), 0);
    }
}

/* Two ranks that the layout has along one axis of it alone do so in truth. */
static bool is_right(const truth *t, const assay_rank_layout *out)
{
    for (uint32_t m = 0; m < out->meshes; m++)
        for (uint32_t a = 0; a < out->mesh[m].axes; a++)
            for (uint32_t x = 0; x < out->ranks; x++)
                for (uint32_t y = 0; y < x; y++) {
                    bool along = true;
                    uint32_t axis = 0;
                    for (uint32_t b = 0; b < out->mesh[m].axes; b++)
                        along = along && (b == a || out->mesh[m].at[x * ASSAY_MESH_AXES + b] ==
                                                        out->mesh[m].at[y * ASSAY_MESH_AXES + b]);
                    while (axis < t->axes && strcmp(t->name[axis], out->mesh[m].axis[a].name) != 0)
                        axis++;
                    if (along && axis < t->axes && !differ_along(t, x, y, 1u << axis))
                        return false;
                }
    return true;
}

static void lay_out(const assay_groups *g, assay_rank_layout *out, const char *said)
{
    assay_buf why;
    assay_buf_init(&why, SIZE_MAX);
    CU_ASSERT_EQUAL_FATAL(assay_groups_lay_out(g, out, &why), 0);
    assay_put_u8(&why, '\0');
    if (said && !strstr((const char *)why.data, said))
        printf("%s: not in %s\n", said, (const char *)why.data);
    CU_ASSERT(!said || strstr((const char *)why.data, said));
    assay_buf_release(&why);
}

/* Meshes of any shape, of which some ranks told their groups; all of them: the mesh is found. */
static void test_any_mesh(void)
{
    static const char *const names[] = {"mesh_pp", "mesh_dp_replicate", "mesh_cp", "mesh_tp", "mesh_sp"};
    uint64_t state = 1;
    uint32_t found = 0;
    for (int turn = 0; turn < 2000; turn++) {
        truth t = {.ranks = 1};
        bool said[RANKS_MOST];
        assay_groups g;
        assay_rank_layout out;
        const uint32_t axes = 1 + random_below(&state, 4);
        for (uint32_t a = 0; a < axes && t.ranks <= 16; a++) {
            t.name[t.axes] = names[a] + strlen("mesh_");
            t.size[t.axes++] = 2 + random_below(&state, 3);
            t.ranks *= t.size[t.axes - 1];
        }
        const bool whole = turn % 3 == 0;
        for (uint32_t r = 0; r < t.ranks; r++)
            said[r] = whole || random_below(&state, 4) != 0;
        CU_ASSERT_EQUAL_FATAL(assay_groups_init(&g), 0);
        for (uint32_t a = 0; a < t.axes; a++)
            add(&g, &t, names[a], 1u << a, said);
        if (t.axes > 1 && random_below(&state, 2)) /* a flattened one */
            add(&g, &t, "mesh_dp", random_below(&state, 2) ? 3 : 1u << t.axes >> 1 | 1, said);
        lay_out(&g, &out, NULL);
        CU_ASSERT(is_right(&t, &out));
        if (whole)
            CU_ASSERT(out.meshes == 1 && out.mesh[0].axes == t.axes);
        found += !whole && out.meshes > 0 && out.mesh[0].axes == t.axes && out.ranks == t.ranks;
        assay_rank_layout_release(&out);
        assay_groups_release(&g);
    }
    CU_ASSERT(found > 200);
}

#define GROUP(name, ...)                                                                                               \
    {                                                                                                                  \
        name, {__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)                                        \
    }

/* Groups that are those of no mesh, or of several trainings. */
static void test_no_mesh(void)
{
    static const struct {
        struct {
            const char *name;
            int64_t rank[8];
            size_t ranks;
        } group[6];
        const char *said;
    } cases[] = {
        {{GROUP("mesh_tp", 0, 1), GROUP("mesh_tp", 1, 2), GROUP("mesh_tp", 2, 3)}, "irregular"},
        {{GROUP("mesh_tp", 0, 1), GROUP("mesh_tp", 2, 3, 4)}, "irregular"},
        {{GROUP("mesh_dp", 0, 2), GROUP("mesh_dp", 1, 3), GROUP("mesh_tp", 0, 1), GROUP("mesh_tp", 3, 2)},
         "the groups do not lay the 4 ranks out"},
        {{GROUP("mesh_dp", 0, 1), GROUP("mesh_dp", 2, 3), GROUP("mesh_tp", 0, 1), GROUP("mesh_tp", 2, 3)},
         "other axes together"},
        {{GROUP("mesh_dp", 0, 1), GROUP("mesh_dp_shard", 0, 1), GROUP("default_pg", 0, 1)}, "dp: these groups are"},
        {{GROUP("default_pg", 0, 1, 2, 3), GROUP("default_pg", 0, 1), GROUP("mesh_tp", 0, 1)}, "several trainings"},
        {{GROUP("default_pg", 0, 1, 2, 3), GROUP("mesh_tp", 0, 1), GROUP("mesh_tp", 2, 3), GROUP("mesh_tp", 4, 5)},
         "has rank 4, and the group of all ranks ends at 3"},
        {{GROUP("default_pg", 0, 1, 2, 3), GROUP("undefined", 0, 1), GROUP("7", 2, 3)}, NULL},
        {{GROUP("mesh_tp", 0, 1), GROUP("mesh_tp", 6, 7)}, "no mesh"},
        {{GROUP("mesh_tp", 0, ASSAY_GROUP_RANK_MOST - 1)}, "most of the 1048576 ranks are in no group"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_groups g;
        assay_rank_layout out;
        CU_ASSERT_EQUAL_FATAL(assay_groups_init(&g), 0);
        for (size_t k = 0; k < 6 && cases[i].group[k].name; k++)
            CU_ASSERT_EQUAL_FATAL(assay_groups_add(&g, cases[i].group[k].name, strlen(cases[i].group[k].name),
                                                   cases[i].group[k].rank, cases[i].group[k].ranks),
                                  0);
        lay_out(&g, &out, cases[i].said);
        for (uint32_t a = 0; out.meshes > 0 && a < out.mesh[0].axes; a++) /* the names that promise no copies */
            CU_ASSERT((i == 3 && a == 0 && strcmp(out.mesh[0].axis[a].name, "other") == 0) ||
                      (i == 3 && strcmp(out.mesh[0].axis[a].name, "tp") == 0) ||
                      (i == 4 && strcmp(out.mesh[0].axis[a].name, "dp_shard") == 0));
        assay_rank_layout_release(&out);
        assay_groups_release(&g);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"no two ranks are put along an axis that they do not share", test_any_mesh},
                           {"groups that are no mesh make none, and it is said why", test_no_mesh},
                           CU_TEST_INFO_NULL};
    return unit_main("mesh/groups", tests);
}
