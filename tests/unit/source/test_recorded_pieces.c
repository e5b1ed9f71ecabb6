/* Pieces recorded through the C interface: what is refused, and that the trial puts the pieces together again, whatever
 * the mesh, the dimension and the order of the axes. */
#include "unit.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/hook.h>
#include "base/fault.h"
#include "mesh/relations.h"
#include "source/trial_files.h"

static char work[64];

static int forget(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void clean(void)
{
    nftw(work, forget, 16, FTW_DEPTH | FTW_PHYS);
}

static assay_hook *start(int rank, int workers)
{
    assay_hook *hook = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_hook_open(work, rank, workers, &hook, NULL), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "save_interval", "1"), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "save_all", "true"), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "include_workers", "all"), 0);
    return hook;
}

enum { ROWS = 5, COLUMNS = 4 };

/* The piece of a tensor of ROWS x COLUMNS, whose elements are their numbers. */
static int save_piece(assay_hook *hook, const char *name, const int64_t offset[2], const int64_t shape[2],
                      int64_t replica, bool partial)
{
    static const int64_t whole[2] = {ROWS, COLUMNS};
    float value[ROWS * COLUMNS];
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        value[i] = (float)((offset[0] + i / shape[1]) * COLUMNS + offset[1] + i % shape[1]);
    return assay_hook_save_piece(hook, name, ASSAY_FLOAT32, 2, shape, value,
                                 &(assay_hook_layout){whole, offset, replica, partial});
}

/* Two rows of workers: rows 0 and 1, 2 to 4 along "tp"; all of it on both of "dp". */
static void record(bool with_mesh, bool with_groups)
{
    for (int rank = 0; rank < 4; rank++) {
        const int64_t dp = rank / 2, tp = rank % 2;
        const assay_hook_axis axis[] = {{"dp", 2, dp}, {"tp", 2, tp}};
        const int64_t tp_ranks[] = {2 * dp, 2 * dp + 1}, dp_ranks[] = {tp, tp + 2};
        assay_hook *hook = start(rank, 4);
        if (with_mesh)
            CU_ASSERT_EQUAL(
                assay_hook_set_topology(hook, "dense", 2, axis, "[{\"match\": \"^own\", \"own\": [\"dp\"]}]"), 0);
        if (with_groups) {
            CU_ASSERT_EQUAL(assay_hook_add_group(hook, "mesh_tp", 2, tp_ranks), 0);
            CU_ASSERT_EQUAL(assay_hook_add_group(hook, "mesh_dp", 2, dp_ranks), 0);
        }
        for (int step = 0; step < 2; step++) {
            CU_ASSERT_EQUAL(assay_hook_step(hook), 0);
            const int64_t rows[2] = {2 * tp, 0}, row_shape[2] = {tp ? 3 : 2, COLUMNS};
            const int64_t corner[2] = {0, 3 * dp}, column_shape[2] = {ROWS, dp ? 1 : 3};
            const int64_t all[2] = {0, 0}, all_shape[2] = {ROWS, COLUMNS}, none[2] = {0, COLUMNS};
            CU_ASSERT_EQUAL(save_piece(hook, "layers.0.w", rows, row_shape, dp, false), 0);
            CU_ASSERT_EQUAL(save_piece(hook, "layers.1.w", rows, row_shape, dp, false), 0);
            CU_ASSERT_EQUAL(save_piece(hook, "gradient/layers.1.w", corner, column_shape, tp, false), 0);
            CU_ASSERT_EQUAL(save_piece(hook, "copied", all, all_shape, rank, false), 0);
            CU_ASSERT_EQUAL(save_piece(hook, "sum", all, all_shape, 0, true), 0);
            CU_ASSERT_EQUAL(save_piece(hook, "ends_early", tp ? (const int64_t[2]){ROWS, 0} : all,
                                       tp ? none : all_shape, dp, false),
                            0);
        }
        CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
    }
}

static const assay_relation_class *class_of(const assay_trial_files *trial, const assay_relations *r, const char *name)
{
    const uint32_t id = assay_dict_find(trial->tensors, name, strlen(name));
    CU_ASSERT_FATAL(id != ASSAY_NO_ID);
    return assay_relation_of(r, id);
}

/* Are the elements of a tensor their numbers, in every copy of the whole? Returns how many there are. */
static int read_copies(const assay_trial_files *trial, const char *name)
{
    const uint32_t id = assay_dict_find(trial->tensors, name, strlen(name));
    int copies = 0;
    assay_reader *reader = NULL;
    for (size_t p = 0; p < trial->shard.count; p++) {
        const assay_part *part = &trial->shard.parts[p];
        for (size_t e = part->first; e < (size_t)part->first + part->count; e++) {
            const assay_entry *entry = &trial->shard.entries[e];
            assay_record record;
            const uint8_t *bytes;
            size_t size = 0;
            if (entry->tensor != id || entry->kind != ASSAY_RAW)
                continue;
            CU_ASSERT_EQUAL_FATAL(assay_reader_open(&reader, trial->store, &trial->catalog, part, entry->file, NULL),
                                  ASSAY_OK);
            CU_ASSERT_EQUAL_FATAL(assay_reader_entry(reader, part, entry, trial->tensors, 1 << 20, &record, NULL),
                                  ASSAY_OK);
            CU_ASSERT_EQUAL(record.elements, ROWS * COLUMNS);
            for (float next = 0; next < ROWS * COLUMNS;) {
                CU_ASSERT_EQUAL_FATAL(assay_reader_content(reader, 0, &bytes, &size, NULL), ASSAY_OK);
                CU_ASSERT_FATAL(size > 0 && size % sizeof(float) == 0);
                for (size_t i = 0; i < size; i += sizeof(float)) {
                    float value;
                    memcpy(&value, bytes + i, sizeof value);
                    CU_ASSERT_EQUAL(value, next++);
                }
            }
            copies++;
        }
    }
    assay_reader_close(reader);
    return copies;
}

static void check(bool with_mesh, bool with_groups)
{
    assay_trial_files trial;
    assay_relations *r = NULL;
    assay_error err = {""};
    record(with_mesh, with_groups);
    CU_ASSERT_EQUAL_FATAL(assay_trial_open(work, &trial, &err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trial.catalog.topology);
    CU_ASSERT_EQUAL(trial.problems.losses, 0);
    CU_ASSERT_EQUAL_FATAL(assay_relations_new(trial.catalog.topology, &trial.layouts, trial.tensors, &r), ASSAY_OK);
    CU_ASSERT(class_of(&trial, r, "layers.0.w")->split);
    CU_ASSERT(class_of(&trial, r, "gradient/layers.1.w")->split);
    CU_ASSERT_FALSE(class_of(&trial, r, "copied")->split);
    CU_ASSERT_FALSE(class_of(&trial, r, "copied")->unknown);
    CU_ASSERT(class_of(&trial, r, "sum")->sum);
    CU_ASSERT_EQUAL(class_of(&trial, r, "layers.0.w")->copy[3],
                    with_mesh || with_groups ? 2u : class_of(&trial, r, "layers.0.w")->copy[3]);
    CU_ASSERT_EQUAL(read_copies(&trial, "layers.0.w"), 4);
    CU_ASSERT_EQUAL(read_copies(&trial, "layers.1.w"), 4);
    CU_ASSERT_EQUAL(read_copies(&trial, "gradient/layers.1.w"), 4);
    CU_ASSERT_EQUAL(read_copies(&trial, "copied"), 8);
    assay_relations_free(r);
    assay_trial_release(&trial);
    clean();
}

static void test_mesh(void)
{
    check(true, false);
}

static void test_groups(void)
{
    check(false, true);
}

static void test_boxes(void)
{
    check(false, false);
}

static void test_misuse(void)
{
    const assay_hook_axis good[] = {{"tp", 2, 0}}, capital[] = {{"TP", 2, 0}}, outside[] = {{"tp", 2, 2}},
                          twice[] = {{"tp", 1, 0}, {"tp", 1, 0}};
    const int64_t ranks[] = {0, 1}, negative[] = {0, -1};
    assay_hook *hook = start(0, 2);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 1, capital, NULL), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 1, outside, NULL), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 2, twice, NULL), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 0, good, NULL), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, NULL, 1, good, NULL), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 1, good, "[{"), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 1, good, "{}"), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 1, good, "[]"), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 1, good, NULL), ASSAY_OK); /* again: it replaces the first */
    CU_ASSERT_EQUAL(assay_hook_add_group(hook, "", 2, ranks), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_add_group(hook, "g", 0, ranks), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_add_group(hook, "g", 2, negative), ASSAY_EPARAM);
    for (int i = 3; i < 16; i++) {
        char name[16];
        snprintf(name, sizeof name, "mesh%d", i);
        CU_ASSERT_EQUAL(assay_hook_set_topology(hook, name, 1, good, NULL), ASSAY_OK);
    }
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "x", 1, good, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "y", 1, good, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "z", 1, good, NULL), ASSAY_EPARAM); /* 16 are the most */
    CU_ASSERT_EQUAL(assay_hook_step(hook), 0);
    CU_ASSERT_EQUAL(assay_hook_set_topology(hook, "m", 1, good, NULL), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_add_group(hook, "g", 2, ranks), ASSAY_EUSAGE);
    const int64_t from[2] = {3, 0}, shape[2] = {3, COLUMNS}, start_of[2] = {0, 0};
    CU_ASSERT_EQUAL(save_piece(hook, "w", from, shape, 0, false), ASSAY_EUSAGE); /* it leaves the tensor */
    CU_ASSERT_EQUAL(save_piece(hook, "w", start_of, shape, -1, false), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(save_piece(hook, "w", start_of, shape, 0, false), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_hook_set_topology(NULL, "m", 1, good, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_hook_add_group(NULL, "m", 1, ranks), ASSAY_OK);
    CU_ASSERT(assay_hook_close(hook) < 0); /* the first failure */
    clean();
}

int main(void)
{
    CU_TestInfo tests[] = {{"mesh", test_mesh},
                           {"groups", test_groups},
                           {"boxes", test_boxes},
                           {"misuse", test_misuse},
                           CU_TEST_INFO_NULL};
    snprintf(work, sizeof work, "/tmp/assay-topology-XXXXXX");
    if (!mkdtemp(work))
        return 2;
    clean();
    int rc = unit_main("recorded pieces", tests);
    clean();
    return rc;
}
