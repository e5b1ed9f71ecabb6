/* test_activity.c - the sign of life: on a terminal, after a while, and gone before anything else is said. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

/* Reads what was said up to `mark`, behind what `text` has. */
static void read_until(const char *mark, char *text, size_t room)
{
    for (size_t have = strlen(text); !strstr(text, mark);) {
        ssize_t got = read(ours, text + have, room - 1 - have);
        CU_ASSERT_FATAL(got > 0);
        have += (size_t)got;
        text[have] = '\0';
    }
}

/* The rest of what was said, with an end mark that is not part of it. */
static void close_terminal(char *text, size_t room)
{
    static const char mark[] = "<end>";
    fflush(stderr);
    CU_ASSERT(write(STDERR_FILENO, mark, sizeof mark - 1) == sizeof mark - 1);
    read_until(mark, text, room);
    *strstr(text, mark) = '\0';
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ours);
}

/* This thread waits for the terminal alone, as a program does for a slow read: the line comes all the same. */
static void test_terminal(void)
{
    char text[65536] = "";
    open_terminal();
    assay_activity_show(true);
    assay_activity_hold(true);
    usleep(2200000);
    assay_log_note("first");
    assay_activity_hold(false);
    read_until("working for ", text, sizeof text);
    assay_activity_list(2000);
    read_until("2000 names listed in ", text, sizeof text);
    assay_activity_add(1, 100);
    read_until("1 file, 0.1 kB read in ", text, sizeof text);
    assay_activity_add(2, 3000000000);
    read_until("3 files, 3 GB read in ", text, sizeof text);
    const assay_activity_work work = {3, 40, 1200000000, 16000000000, assay_clock_seconds() - 4};
    assay_activity_tell(&work);
    read_until("assay: 3 of 40 steps, 1.2 of 16 GB read, ", text, sizeof text);
    assay_activity_tell(NULL);
    read_until("files, ", strstr(text, "of 40 steps"), sizeof text / 2);
    assay_log_note("second");
    assay_activity_show(false);
    assay_activity_add(1, 1);
    close_terminal(text, sizeof text);
    CU_ASSERT(strncmp(text, "assay: first\n", 13) == 0); /* held back until then */
    const char *gone = strstr(text, "  \rassay: second\n");
    CU_ASSERT(gone && strcmp(gone, "  \rassay: second\n") == 0); /* and nothing behind it */
}

static void test_quiet(void)
{
    char text[4096] = "";
    open_terminal();
    assay_activity_show(true);
    assay_log_quiet();
    usleep(2200000);
    assay_log_init(0);
    close_terminal(text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "");
}

/* A child has no thread that draws, and waits for none. */
static void test_child(void)
{
    char text[4096] = "";
    int status = -1;
    open_terminal();
    assay_activity_show(true);
    read_until("working for ", text, sizeof text);
    const pid_t child = fork();
    if (child == 0) {
        assay_log_note("child");
        assay_activity_show(false);
        _exit(0);
    }
    CU_ASSERT(waitpid(child, &status, 0) == child && status == 0);
    assay_activity_show(false);
    close_terminal(text, sizeof text);
    CU_ASSERT(strstr(text, "assay: child\n") != NULL);
}

static void test_work(void)
{
    static const struct {
        assay_activity_work work;
        const char *text;
    } cases[] = {
        {{3, 40, 1200000000, 16000000000, 0}, "3 of 40 steps, 1.2 of 16 GB read, 120 MB/s, 123 s left"},
        {{0, 0, 900000, 16000000, 0}, "900 kB of 16 MB read, 90 kB/s, 168 s left"},
        {{0, 7, 0, 5000, 0}, "0 of 7 steps, 0 of 5 kB read, 0 kB/s, 10 s so far"},
        {{7, 7, 9000, 5000, 0}, "7 of 7 steps, 5 of 5 kB read, 0.5 kB/s, 0 s left"},
        {{123456, 200000, 1200000000, 999000000000, 0}, "123456 of 200000 steps, 1.2 of 999 GB read, 139 min left"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[60];
        assay_activity_put_work(&cases[i].work, 10, line, sizeof line - 1);
        CU_ASSERT_STRING_EQUAL(line, cases[i].text);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"on a terminal", test_terminal},
                           {"quiet", test_quiet},
                           {"a child", test_child},
                           {"work", test_work},
                           CU_TEST_INFO_NULL};
    return unit_main("activity", tests);
}
