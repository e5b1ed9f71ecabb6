/* test_progress.c - progress that is dropped, because another rank has no memory for it, holds back nothing. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/activity.h"
#include "parallel/progress.h"
#include "unit.h"

static assay_comm *comm;

/* Does the line of base/activity.h come on this terminal? It takes a second and a half. */
static bool line_comes(int terminal)
{
    enum { PATIENCE = 20000 }; /* milliseconds */
    char text[4096] = "";
    size_t have = 0;
    struct pollfd ready = {.fd = terminal, .events = POLLIN};
    while (!strstr(text, "working for ") && have < sizeof text - 1 && poll(&ready, 1, PATIENCE) > 0) {
        const ssize_t got = read(terminal, text + have, sizeof text - 1 - have);
        if (got <= 0)
            break;
        have += (size_t)got;
        text[have] = '\0';
    }
    return strstr(text, "working for ") != NULL;
}

static void test_dropped(void)
{
    const int ours = posix_openpt(O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0);
    const int theirs = open(ptsname(ours), O_RDWR | O_NOCTTY), saved = dup(STDERR_FILENO);
    CU_ASSERT_FATAL(theirs >= 0 && saved >= 0);
    dup2(theirs, STDERR_FILENO);
    assay_activity_show(true);
    assay_progress_drop(assay_progress_new(comm, 10, 3, 100)); /* lines of its own */
    assay_progress_drop(assay_progress_new(comm, -1, 3, 100)); /* the line of the terminal */
    assay_progress_drop(NULL);
    const bool came = line_comes(ours);
    assay_activity_show(false);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(theirs);
    close(ours);
    CU_ASSERT(came);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"dropped", test_dropped}, CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, false, &comm, &err) != ASSAY_OK)
        return 2;
    int code = unit_main("progress", tests);
    assay_comm_close(comm);
    return code;
}
