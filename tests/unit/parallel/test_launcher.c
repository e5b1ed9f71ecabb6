/* Which environments tell of a launcher, and what one rank without one can do. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "parallel/comm.h"
#include "parallel/launcher.h"

/* Of every launcher a variable that it sets. */
static const char *const SET[] = {"OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_RANK",
                                  "PMIX_RANK",
                                  "PMIX_NAMESPACE",
                                  "PMI_RANK",
                                  "PMI_SIZE",
                                  "PMI_FD",
                                  "PMI_PORT",
                                  "PALS_RANKID",
                                  "MV2_COMM_WORLD_RANK",
                                  "FLUX_TASK_RANK",
                                  "SLURM_STEP_ID",
                                  "MPI_LOCALRANKID",
                                  "JSM_NAMESPACE_RANK"};
/* A batch script that starts the program itself, and settings of people. */
static const char *const NOT_SET[] = {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID",
                                      "OMPI_MCA_pml", "PMIX_MCA_gds", "OMPI_ALLOW_RUN_AS_ROOT"};

static void environments(void)
{
    clearenv();
    CU_ASSERT_FALSE(assay_launched());
    for (size_t i = 0; i < sizeof SET / sizeof *SET; i++) {
        setenv(SET[i], "0", 1);
        CU_ASSERT_TRUE(assay_launched());
        setenv(SET[i], "", 1);
        CU_ASSERT_FALSE(assay_launched());
        unsetenv(SET[i]);
    }
    for (size_t i = 0; i < sizeof NOT_SET / sizeof *NOT_SET; i++)
        setenv(NOT_SET[i], "1", 1);
    CU_ASSERT_FALSE(assay_launched());
    setenv("PMI_RANK", "3", 1);
    CU_ASSERT_STRING_EQUAL(assay_launched_rank(), "3");
    unsetenv("PMI_RANK");
    CU_ASSERT_STRING_EQUAL(assay_launched_rank(), "3"); /* the first answer stays */
    clearenv();
}

static void alone(void)
{
    assay_comm *comm = NULL;
    assay_error err = {""};
    uint64_t starts[2], value = 7, messages, bytes;
    assay_buf mine, all;
    CU_ASSERT_EQUAL_FATAL(assay_comm_open_world(NULL, NULL, false, &comm, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_comm_rank(comm), 0);
    CU_ASSERT_EQUAL(assay_comm_size(comm), 1);
    CU_ASSERT_EQUAL(assay_comm_nodes(comm), 1);
    CU_ASSERT_STRING_EQUAL(assay_comm_library(comm), "serial");
    assay_buf_init(&mine, 100);
    assay_buf_init(&all, 100);
    assay_put_bytes(&mine, "abc", 3);
    CU_ASSERT_EQUAL(assay_comm_gather_all(comm, &mine, &all, starts), ASSAY_OK);
    CU_ASSERT_TRUE(all.size == 3 && starts[0] == 0 && starts[1] == 3);
    CU_ASSERT_EQUAL(assay_comm_sum(comm, &value, 1), ASSAY_OK);
    CU_ASSERT_EQUAL(value, 7);
    CU_ASSERT_EQUAL(assay_comm_agree(comm, ASSAY_EIO, &err), ASSAY_EIO);
    CU_ASSERT_EQUAL(assay_comm_send(comm, 1, &mine), ASSAY_EINTERNAL); /* to whom? */
    assay_comm_traffic(comm, &messages, &bytes);
    CU_ASSERT_TRUE(messages == 0 && bytes == 0);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    assay_comm_close(comm);
}

int main(void)
{
    CU_TestInfo tests[] = {{"environments", environments}, {"alone", alone}, CU_TEST_INFO_NULL};
    return unit_main("launcher", tests);
}
