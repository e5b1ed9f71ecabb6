/* test_activity.c - the sign of life: on a terminal, after a while, and gone before anything else is said. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/clock.h"
#include "base/log.h"
#include "unit.h"

static int ours, saved; /* the side of the terminal that we read; standard error as it was */

static void open_terminal(void)
{
    ours = posix_openpt(O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0);
    int theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(theirs >= 0);
    struct termios settings;
    CU_ASSERT_FATAL(tcgetattr(theirs, &settings) == 0);
    cfmakeraw(&settings);
    tcsetattr(theirs, TCSANOW, &settings);
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    dup2(theirs, STDERR_FILENO);
    close(theirs);
}

/* What was said, with an end mark that is not part of it. */
static void close_terminal(char *text, size_t room)
{
    static const char mark[] = "<end>";
    size_t have = 0;
    fflush(stderr);
    CU_ASSERT(write(STDERR_FILENO, mark, sizeof mark - 1) == sizeof mark - 1);
    do {
        ssize_t got = read(ours, text + have, room - 1 - have);
        CU_ASSERT_FATAL(got > 0);
        have += (size_t)got;
        text[have] = '\0';
    } while (!strstr(text, mark));
    *strstr(text, mark) = '\0';
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ours);
}

/* Reads files for so many seconds. */
static void work(double seconds)
{
    for (const double end = assay_clock_seconds() + seconds; assay_clock_seconds() < end; usleep(1000))
        assay_activity_add(1, 3000000);
}

static void test_terminal(void)
{
    char text[65536];
    open_terminal();
    assay_activity_show(true);
    assay_activity_add(1, 100);
    assay_activity_hold(true);
    work(1.6);
    assay_log_note("first");
    assay_activity_hold(false);
    work(0.1);
    assay_log_note("second");
    assay_activity_show(false);
    work(0.01);
    close_terminal(text, sizeof text);
    CU_ASSERT(strncmp(text, "assay: first\n", 13) == 0); /* held back until then */
    const char *line = strstr(text, " files, "), *gone = strstr(text, "  \rassay: second\n");
    CU_ASSERT(line != NULL && strstr(line, "GB read in") != NULL && gone != NULL && gone > line);
    CU_ASSERT(gone && strcmp(gone, "  \rassay: second\n") == 0); /* and nothing behind it */
}

static void test_quiet(void)
{
    char text[4096];
    open_terminal();
    assay_activity_show(true);
    assay_log_init(0, false, true);
    work(1.6);
    assay_log_init(0, false, false);
    close_terminal(text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "");
}

int main(void)
{
    CU_TestInfo tests[] = {{"on a terminal", test_terminal}, {"quiet", test_quiet}, CU_TEST_INFO_NULL};
    return unit_main("activity", tests);
}
