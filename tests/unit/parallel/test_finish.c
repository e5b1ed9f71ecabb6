/* A crash of MPI at its end does not change the exit code that the ranks agreed on. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parallel/comm.h"

static int death;

/* In the place of the library's. */
int MPI_Finalize(void);
int MPI_Finalize(void)
{
    raise(death);
    return 0;
}

static void test_crash(void)
{
    static const int deaths[] = {SIGABRT, SIGSEGV};
    if (!assay_comm_mpi_version()) /* a build without MPI */
        return;
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0); /* without a daemon of its own */
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        int how = 0;
        const pid_t child = fork();
        if (child == 0) {
            char name[] = "test", *argv[] = {name, NULL}, **args = argv;
            int count = 1;
            assay_comm *comm = NULL;
            death = deaths[i];
            if (assay_comm_open_world(&count, &args, true, &comm, NULL) != ASSAY_OK)
                _exit(98);
            assay_comm_finish(comm, 3);
            _exit(99);
        }
        CU_ASSERT_EQUAL_FATAL(waitpid(child, &how, 0), child);
        CU_ASSERT(WIFEXITED(how) && WEXITSTATUS(how) == 3);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"a crash at the end", test_crash}, CU_TEST_INFO_NULL};
    return unit_main("parallel/finish", tests);
}
