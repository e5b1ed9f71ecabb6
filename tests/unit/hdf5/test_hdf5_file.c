/* Files that all ranks write: more than 2^31 bytes in one call, names only for complete files, one clear refusal
 * without HDF5. One rank; tests/mpi has several. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hdf5/hdf5_file.h"
#include "unit.h"

static assay_comm *comm;
static char folder[] = "/tmp/assay-hdf5-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* What h5dump prints of `count` items from `start`. */
static void dump(const char *name, uint64_t start, unsigned count, char *out, size_t room)
{
    char command[512];
    snprintf(command, sizeof command, "h5dump -y -d %s -s %llu -c %u %s", name, (unsigned long long)start, count,
             path_of("x.h5"));
    FILE *pipe = popen(command, "r");
    size_t n = pipe ? fread(out, 1, room - 1, pipe) : 0;
    out[n] = '\0';
    if (pipe)
        pclose(pipe);
}

static void test_more_than_2_31_bytes_in_one_call(void)
{
    const uint64_t size = ((uint64_t)1 << 31) + 4097;
    assay_hdf5_file *file = NULL;
    assay_hdf5_table *table = NULL;
    assay_error err = {""};
    char text[4096];
    if (!assay_hdf5_available())
        return;
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(bytes, MAP_FAILED);
    bytes[5] = 11;
    bytes[size - 4098] = 22; /* the last below 2^31 */
    bytes[size - 1] = 33;
    const assay_hdf5_layout layout = {
        .kind = ASSAY_COLUMN_U8, .row = 1, .rows = size, .chunk = 1 << 20, .compress = true};
    CU_ASSERT_EQUAL_FATAL(assay_hdf5_create(comm, path_of("x.h5"), NULL, &file, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_hdf5_table_new(file, "/bytes", &layout, &table, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_hdf5_write(table, ASSAY_OK, 0, size, bytes, &err), ASSAY_OK);
    assay_hdf5_table_close(table);
    CU_ASSERT_EQUAL(assay_hdf5_finish(file, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_hdf5_rename(file, &err), ASSAY_OK);
    munmap(bytes, size);
    dump("/bytes", 5, 1, text, sizeof text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " 11\n"));
    dump("/bytes", size - 4098, 2, text, sizeof text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " 22, 0\n"));
    dump("/bytes", size - 1, 1, text, sizeof text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " 33\n"));
    unlink(path_of("x.h5"));
}

static void test_abandoned_files_leave_nothing(void)
{
    assay_hdf5_file *file = NULL;
    assay_error err = {""};
    if (!assay_hdf5_available())
        return;
    CU_ASSERT_EQUAL_FATAL(assay_hdf5_create(comm, path_of("y.h5"), NULL, &file, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(access(path_of("y.h5"), F_OK), -1);
    CU_ASSERT_EQUAL(access(path_of("y.h5.part"), F_OK), 0);
    assay_hdf5_abandon(file);
    CU_ASSERT_EQUAL(access(path_of("y.h5.part"), F_OK), -1);
    CU_ASSERT_EQUAL(assay_hdf5_create(comm, path_of("no/y.h5"), NULL, &file, &err), ASSAY_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cannot create a file there"));
}

static void test_a_failed_rank_writes_nothing(void)
{
    assay_hdf5_file *file = NULL;
    assay_hdf5_table *table = NULL;
    assay_error err = {"why it failed"};
    const uint64_t numbers[2] = {1, 2};
    const assay_hdf5_layout layout = {.kind = ASSAY_COLUMN_U64, .row = 8, .rows = 2, .chunk = 2};
    if (!assay_hdf5_available())
        return;
    CU_ASSERT_EQUAL_FATAL(assay_hdf5_create(comm, path_of("z.h5"), NULL, &file, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_hdf5_table_new(file, "/numbers", &layout, &table, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_hdf5_write(table, ASSAY_EFORMAT, 0, 2, numbers, &err), ASSAY_EFORMAT);
    CU_ASSERT_STRING_EQUAL(err.text, "why it failed");
    assay_hdf5_table_close(table);
    assay_hdf5_abandon(file);
}

static void test_without_hdf5_the_refusal_says_so(void)
{
    assay_hdf5_file *file = NULL;
    assay_error err = {""};
    if (assay_hdf5_available())
        return;
    CU_ASSERT_EQUAL(assay_hdf5_create(comm, path_of("x.h5"), NULL, &file, &err), ASSAY_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no parallel HDF5"));
    CU_ASSERT_PTR_NULL(file);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"more than 2^31 bytes in one call", test_more_than_2_31_bytes_in_one_call},
                           {"abandoned files leave nothing", test_abandoned_files_leave_nothing},
                           {"a failed rank writes nothing", test_a_failed_rank_writes_nothing},
                           {"without HDF5 the refusal says so", test_without_hdf5_the_refusal_says_so},
                           CU_TEST_INFO_NULL};
    if (!mkdtemp(folder) || assay_comm_open_world(&argc, &argv, true, &comm, NULL) != ASSAY_OK)
        return 2;
    int code = unit_main("hdf5_file", tests);
    assay_comm_close(comm);
    rmdir(folder);
    return code;
}
