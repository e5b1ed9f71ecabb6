/* test_command.c - programs run: what they write, how they end, what they inherit; and texts that are job ids. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "action/command.h"
#include "action/slurm.h"
#include "base/clock.h"
#include "unit.h"

static int run_shell(const char *script, const char *input, double seconds, assay_command_result *result,
                     assay_error *err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const char *const more[] = {"ASSAY_TEST_MORE=two words", "HOME=/elsewhere", NULL};
    const assay_command command = {
        .argv = argv, .environment = more, .input = input, .input_size = input ? strlen(input) : 0, .seconds = seconds};
    err->text[0] = '\0';
    return assay_command_run(&command, result, err);
}

#define OUT(result) ((const char *)(result).out.data)

static void test_outputs(void)
{
    assay_error err;
    assay_command_result result;
    CU_ASSERT(run_shell("cat; echo \"$ASSAY_TEST_MORE $HOME\"; echo why >&2", "in\n", 20, &result, &err) == ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(OUT(result), "in\ntwo words /elsewhere\n");
    CU_ASSERT_STRING_EQUAL((const char *)result.err.data, "why\n");
    CU_ASSERT(result.exit_status == 0 && result.signal == 0 && !result.timed_out && result.started);
    assay_command_release(&result);
    CU_ASSERT(run_shell("cat", NULL, 20, &result, &err) == ASSAY_OK);
    CU_ASSERT(result.out.size == 0 && OUT(result)[0] == '\0');
    assay_command_release(&result);
}

static void test_endings(void)
{
    assay_error err;
    assay_command_result result;
    CU_ASSERT(run_shell("echo first >&2; echo second >&2; exit 3", NULL, 20, &result, &err) == ASSAY_EIO);
    CU_ASSERT_STRING_EQUAL(err.text, "sh: exit status 3: first");
    CU_ASSERT(result.exit_status == 3);
    assay_command_release(&result);
    CU_ASSERT(run_shell("kill -9 $$", NULL, 20, &result, &err) == ASSAY_EIO);
    CU_ASSERT_STRING_EQUAL(err.text, "sh: ended by signal 9");
    CU_ASSERT(result.signal == 9 && result.exit_status == -1);
    assay_command_release(&result);
    const char *const nowhere[] = {"/nowhere/program", NULL};
    const assay_command command = {.argv = nowhere, .seconds = 1};
    CU_ASSERT(assay_command_run(&command, &result, &err) == ASSAY_ENOTFOUND);
    CU_ASSERT_STRING_EQUAL(err.text, "/nowhere/program: cannot be started: No such file or directory");
    CU_ASSERT(!result.started);
    assay_command_release(&result);
}

/* Also what ignores SIGTERM is ended, and what it started with it. */
static void test_time_limit(void)
{
    assay_error err;
    assay_command_result result;
    double begin = assay_clock_seconds();
    CU_ASSERT(run_shell("trap '' TERM; sleep 100 & echo $!; wait; sleep 100", NULL, 0.2, &result, &err) == ASSAY_EIO);
    CU_ASSERT(result.timed_out && assay_clock_seconds() - begin < 60);
    CU_ASSERT_STRING_EQUAL(err.text, "sh: not done after 0.2 s, and ended");
    pid_t child = (pid_t)strtol(OUT(result), NULL, 10);
    CU_ASSERT(child > 0);
    for (int i = 0; i < 1000 && kill(child, 0) == 0; i++)
        usleep(10000);
    CU_ASSERT(kill(child, 0) != 0);
    assay_command_release(&result);
}

/* A daemon that keeps the outputs open is not waited for. */
static void test_daemon(void)
{
    assay_error err;
    assay_command_result result;
    double begin = assay_clock_seconds();
    CU_ASSERT(run_shell("sleep 100 & echo $!", NULL, 90, &result, &err) == ASSAY_OK);
    CU_ASSERT(assay_clock_seconds() - begin < 60);
    pid_t child = (pid_t)strtol(OUT(result), NULL, 10);
    CU_ASSERT(child > 0 && kill(child, SIGKILL) == 0);
    assay_command_release(&result);
}

static void test_bounds_and_inheritance(void)
{
    assay_error err;
    assay_command_result result;
    char *input = malloc(1000001);
    CU_ASSERT_FATAL(input != NULL);
    memset(input, 'x', 1000000);
    input[1000000] = '\0';
    CU_ASSERT(run_shell("head -c 10", input, 20, &result, &err) == ASSAY_OK); /* leaves most of its input: no SIGPIPE */
    CU_ASSERT(result.out.size == 10);
    assay_command_release(&result);
    CU_ASSERT(run_shell("cat", input, 20, &result, &err) == ASSAY_OK);
    CU_ASSERT(result.out.size == ASSAY_COMMAND_CEILING);
    assay_command_release(&result);
    free(input);
    int fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC, as a library may have opened it */
    CU_ASSERT_FATAL(fd >= 0 && dup2(fd, 100) == 100);
    signal(SIGTERM, SIG_IGN);
    CU_ASSERT(run_shell("ls -l /proc/self/fd | grep -c ' 100 ->'; sh -c 'kill -TERM $$'; echo $?", NULL, 20, &result,
                        &err) == ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(OUT(result), "0\n143\n");
    assay_command_release(&result);
    signal(SIGTERM, SIG_DFL);
    close(100);
    close(fd);
}

/* One file may be handed on, wherever it is; the child has it as number 3. */
static void test_keep(void)
{
    static const char *const argv[] = {"sh", "-c", "echo kept >&3", NULL};
    char text[16] = "";
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    int other = fcntl(fileno(file), F_DUPFD_CLOEXEC, 40);
    const int numbers[] = {fileno(file), other};
    for (int i = 0; i < 2; i++) {
        const assay_command command = {.argv = argv, .keep = numbers[i], .seconds = 20};
        assay_command_result result;
        CU_ASSERT(assay_command_run(&command, &result, NULL) == ASSAY_OK);
        assay_command_release(&result);
    }
    rewind(file);
    CU_ASSERT_EQUAL(fread(text, 1, sizeof text - 1, file), 10);
    CU_ASSERT_STRING_EQUAL(text, "kept\nkept\n");
    close(other);
    fclose(file);
}

static void test_job_ids(void)
{
    static const char *const good[] = {"1", "123", "123_4"};
    static const char *const bad[] = {
        "", "_1", "1_", "-1", "1 2", "1_2_3", "1,2", "all", "12345678901234567890123456789012345"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CU_ASSERT(assay_slurm_is_id(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT(!assay_slurm_is_id(bad[i]));
    assay_error err = {""};
    CU_ASSERT(assay_slurm_cancel("--user=root", &err) == ASSAY_EUSAGE);
    CU_ASSERT(strstr(err.text, "not a Slurm job id") != NULL);
}

int main(void)
{
    CU_TestInfo tests[] = {{"outputs, input and environment", test_outputs},
                           {"endings", test_endings},
                           {"a time limit", test_time_limit},
                           {"a daemon is not waited for", test_daemon},
                           {"bounds and inheritance", test_bounds_and_inheritance},
                           {"a file handed on", test_keep},
                           {"job ids", test_job_ids},
                           CU_TEST_INFO_NULL};
    return unit_main("command", tests);
}
