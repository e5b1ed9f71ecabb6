/* Whole files in, complete files out, nothing left over when it fails. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"

static char directory[] = "/tmp/assay-test-file-XXXXXX";

static char *in_directory(const char *name)
{
    char *path = assay_path_join(directory, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    return path;
}

static void set_fault(const char *text)
{
    if (text)
        setenv("ASSAY_FAULT", text, 1);
    else
        unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
}

static unsigned entries(void)
{
    unsigned count = 0;
    DIR *dir = opendir(directory);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static bool holds(const char *path, const char *expected)
{
    assay_buf buf;
    assay_buf_init(&buf, 1000);
    bool same = assay_file_read(path, 1000, &buf, NULL) == ASSAY_OK && buf.size == strlen(expected) &&
                memcmp(buf.data, expected, buf.size) == 0;
    assay_buf_release(&buf);
    return same;
}

static void test_write(void)
{
    char *path = in_directory("report.json");
    struct stat st;
    umask(027);
    CU_ASSERT_EQUAL(assay_file_write(path, "one", 3, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(holds(path, "one"));
    CU_ASSERT_TRUE(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
    CU_ASSERT_EQUAL(assay_file_write(path, "another", 7, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(holds(path, "another"));
    CU_ASSERT_EQUAL(assay_file_write(path, NULL, 0, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(entries(), 1);
    unlink(path);
    free(path);
}

/* Each step of writing fails once: the old content stays, no temporary file does. */
static void test_write_fails(void)
{
    char *path = in_directory("report.json");
    static const char *const faults[] = {"write:1", "write:2", "write:3", "write:1+", "alloc:1"};
    CU_ASSERT_EQUAL(assay_file_write(path, "old", 3, NULL), ASSAY_OK);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        assay_error err = {""};
        set_fault(faults[i]);
        int status = assay_file_write(path, "new", 3, &err);
        set_fault(NULL);
        CU_ASSERT_EQUAL(status, i == 4 ? ASSAY_ENOMEM : ASSAY_EIO);
        CU_ASSERT_EQUAL(strncmp(err.text, path, strlen(path)), 0);
        CU_ASSERT_TRUE(holds(path, "old"));
        CU_ASSERT_EQUAL(entries(), 1);
    }
    set_fault("write:4"); /* there are three steps */
    CU_ASSERT_EQUAL(assay_file_write(path, "new", 3, NULL), ASSAY_OK);
    set_fault(NULL);
    CU_ASSERT_TRUE(holds(path, "new"));
    unlink(path);
    free(path);
    path = in_directory("missing/report.json");
    CU_ASSERT_EQUAL(assay_file_write(path, "x", 1, NULL), ASSAY_EIO);
    free(path);
    path = in_directory("taken"); /* a directory is not replaced */
    CU_ASSERT_EQUAL(mkdir(path, 0777), 0);
    CU_ASSERT_EQUAL(assay_file_write(path, "x", 1, NULL), ASSAY_EIO);
    CU_ASSERT_EQUAL(entries(), 1);
    rmdir(path);
    free(path);
}

static int make_three(void *ends_with, const assay_taker *to)
{
    int status = ASSAY_OK;
    for (int i = 0; i < 3; i++)
        ASSAY_THEN(status, to->take(to->context, "part", 4));
    return status == ASSAY_OK ? *(int *)ends_with : status;
}

/* A file that is made piece by piece is there as a whole or not at all. */
static void test_made(void)
{
    static const char *const faults[] = {"write:2", "write:3", "write:4", "write:5", NULL, NULL};
    int ends_with[] = {ASSAY_OK, ASSAY_OK, ASSAY_OK, ASSAY_OK, ASSAY_EBUDGET, ASSAY_ENOMEM};
    char *path = in_directory("report.json");
    CU_ASSERT_EQUAL(assay_file_write(path, "old", 3, NULL), ASSAY_OK);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        assay_error err = {""};
        set_fault(faults[i]);
        int status = assay_file_write_made(path, &(assay_maker){make_three, &ends_with[i]}, &err);
        set_fault(NULL);
        CU_ASSERT_EQUAL(status, faults[i] ? ASSAY_EIO : ends_with[i]);
        CU_ASSERT_EQUAL(strncmp(err.text, path, strlen(path)), 0);
        CU_ASSERT_TRUE(holds(path, "old"));
        CU_ASSERT_EQUAL(entries(), 1);
    }
    CU_ASSERT_EQUAL(assay_file_write_made(path, &(assay_maker){make_three, &ends_with[0]}, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(holds(path, "partpartpart"));
    unlink(path);
    free(path);
}

/* What a killed run of the same process number left behind is in nobody's way. */
static void test_stale_temporary(void)
{
    char name[80];
    snprintf(name, sizeof name, "report.json.tmp-%ld-0", (long)getpid());
    char *path = in_directory("report.json"), *stale = in_directory(name);
    CU_ASSERT_EQUAL(assay_file_write(stale, "stale", 5, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_file_write(path, "new", 3, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(holds(path, "new") && holds(stale, "stale"));
    unlink(path);
    unlink(stale);
    free(path);
    free(stale);
}

/* What a writer that was killed has left goes with the next writing; what one is at, what is recent, links and other names stay. */
static void test_left(void)
{
    static const char *const names[] = {"r.json.tmp-1-0",  "r.json.tmp-1-1",  "r.json.tmp-2-0",
                                        "r.json.tmp-1-0x", "xr.json.tmp-1-0", "r.json.tmp-3-0"};
    enum { NAMES = sizeof names / sizeof *names, LINKED = NAMES - 1 };
    const struct timespec before[2] = {{.tv_sec = time(NULL) - 100}, {.tv_sec = time(NULL) - 100}};
    char *path = in_directory("r.json");
    int locked = -1;
    for (int i = 0; i < NAMES; i++) {
        char *left = in_directory(names[i]);
        CU_ASSERT_EQUAL(assay_file_write(left, "left", 4, NULL), ASSAY_OK);
        if (i != 2)
            CU_ASSERT_EQUAL(utimensat(AT_FDCWD, left, before, 0), 0);
        if (i == LINKED) { /* to an old file that somebody else has */
            char *target = in_directory(names[i - 1]);
            CU_ASSERT_TRUE(unlink(left) == 0 && symlink(target, left) == 0);
            free(target);
        }
        if (i == 1)
            CU_ASSERT_TRUE((locked = open(left, O_RDONLY)) >= 0 && flock(locked, LOCK_EX) == 0);
        free(left);
    }
    CU_ASSERT_EQUAL(assay_file_write(path, "new", 3, NULL), ASSAY_OK);
    for (int i = 0; i < NAMES; i++) {
        char *left = in_directory(names[i]);
        struct stat st;
        CU_ASSERT_EQUAL(lstat(left, &st) == 0, i > 0);
        free(left);
    }
    for (int i = 1; i < NAMES; i++) {
        char *left = in_directory(names[i]);
        unlink(left);
        free(left);
    }
    close(locked);
    unlink(path);
    free(path);
}

static void test_read(void)
{
    enum { SIZE = 200000 };
    char *path = in_directory("data"), *bytes = malloc(SIZE);
    assay_buf buf;
    assay_error err = {""};
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 31 >> 3);
    CU_ASSERT_EQUAL(assay_file_write(path, bytes, SIZE, NULL), ASSAY_OK);
    assay_buf_init(&buf, SIZE + 1);
    assay_put_u8(&buf, 'x');
    CU_ASSERT_EQUAL(assay_file_read(path, SIZE - 1, &buf, &err), ASSAY_EBUDGET);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "199999 bytes"));
    CU_ASSERT_EQUAL(buf.size, 1);
    CU_ASSERT_EQUAL(assay_file_read(path, SIZE, &buf, &err), ASSAY_OK);
    CU_ASSERT_TRUE(buf.size == SIZE + 1 && memcmp(buf.data + 1, bytes, SIZE) == 0);
    assay_buf_release(&buf);
    assay_buf_init(&buf, SIZE - 1); /* the buffer's own ceiling */
    CU_ASSERT_EQUAL(assay_file_read(path, SIZE, &buf, &err), ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(buf.size, 0);
    assay_buf_release(&buf);
    unlink(path);
    free(path);
    free(bytes);
}

/* A pipe that a shell gives, and a device: no file takes their place. */
static void test_write_into(void)
{
    int ends[2];
    char path[32], got[8] = "";
    struct stat st;
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    CU_ASSERT_EQUAL(assay_file_write(path, "abc", 3, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(read(ends[0], got, sizeof got), 3);
    CU_ASSERT_STRING_EQUAL(got, "abc");
    set_fault("write:1");
    CU_ASSERT_EQUAL(assay_file_write(path, "abc", 3, &err), ASSAY_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
    set_fault(NULL);
    close(ends[0]);
    close(ends[1]);
    CU_ASSERT_EQUAL(assay_file_write(path, "abc", 3, &err), ASSAY_EIO); /* it is closed */
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY); /* nobody can put a file into the place of one */
    CU_ASSERT_FATAL(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    CU_ASSERT_EQUAL(assay_file_write(ptsname(terminal), "abc", 3, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(read(terminal, got, 3), 3);
    CU_ASSERT_TRUE(stat(ptsname(terminal), &st) == 0 && S_ISCHR(st.st_mode));
    close(terminal);
}

static void test_read_fails(void)
{
    char *path = in_directory("data"), *missing = in_directory("none");
    assay_buf buf;
    assay_error err = {""};
    assay_buf_init(&buf, 100);
    CU_ASSERT_EQUAL(assay_file_write(path, "abc", 3, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_file_read(missing, 100, &buf, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_EQUAL(strncmp(err.text, missing, strlen(missing)), 0);
    CU_ASSERT_EQUAL(assay_file_read(directory, 100, &buf, &err), ASSAY_EIO);
    CU_ASSERT_EQUAL_FATAL(symlink("nowhere/at-all", missing), 0); /* a name that is there is not absent */
    CU_ASSERT_EQUAL(assay_file_read(missing, 100, &buf, &err), ASSAY_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "leads nowhere"));
    CU_ASSERT_EQUAL_FATAL(unlink(missing), 0);
    CU_ASSERT_EQUAL_FATAL(mkfifo(missing, 0600), 0); /* and nobody writes into it */
    CU_ASSERT_EQUAL(assay_file_read(missing, 100, &buf, &err), ASSAY_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a regular file"));
    CU_ASSERT_EQUAL(assay_file_open(missing, NULL), -1);
    CU_ASSERT_EQUAL(assay_file_open(directory, NULL), -1);
    unlink(missing);
    CU_ASSERT_EQUAL(assay_file_open(missing, NULL), -1);
    CU_ASSERT_EQUAL_FATAL(symlink("/dev/zero", missing), 0);
    CU_ASSERT_EQUAL(assay_file_read(missing, 100, &buf, &err), ASSAY_EIO);
    unlink(missing);
    CU_ASSERT_EQUAL(assay_file_read("/dev/null", 100, &buf, &err), ASSAY_OK); /* which is given as what it is */
    set_fault("read:2"); /* behind the content, before the end is known */
    CU_ASSERT_EQUAL(assay_file_read(path, 100, &buf, &err), ASSAY_EIO);
    set_fault("alloc:1");
    CU_ASSERT_EQUAL(assay_file_read(path, 100, &buf, &err), ASSAY_ENOMEM);
    set_fault(NULL);
    CU_ASSERT_EQUAL(buf.size, 0);
    assay_buf_release(&buf);
    unlink(path);
    free(path);
    free(missing);
}

static void test_directories(void)
{
    char *deep = in_directory("a//b/c/"), *file = in_directory("file"), *below = in_directory("file/x");
    struct stat st;
    assay_error err = {""};
    CU_ASSERT_EQUAL(assay_dir_make(deep, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(stat(deep, &st) == 0 && S_ISDIR(st.st_mode));
    CU_ASSERT_EQUAL(assay_dir_make(deep, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_dir_make("/", NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_dir_make(".", NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_dir_make("", NULL), ASSAY_EIO);
    CU_ASSERT_EQUAL(assay_file_write(file, "x", 1, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_dir_make(file, &err), ASSAY_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cannot make the directory: a file is in the way"));
    CU_ASSERT_EQUAL(assay_dir_make(below, &err), ASSAY_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "a file is in the way"));
    unlink(file);
    static const char *const made[] = {"a/b/c", "a/b", "a"};
    for (size_t i = 0; i < 3; i++) {
        char *path = in_directory(made[i]);
        CU_ASSERT_EQUAL(rmdir(path), 0);
        free(path);
    }
    free(deep);
    free(file);
    free(below);
}

static void check_join(const char *first, const char *second, const char *expected)
{
    char *path = assay_path_join(first, second);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    CU_ASSERT_STRING_EQUAL(path, expected);
    free(path);
}

static void test_join(void)
{
    check_join("a", "b", "a/b");
    check_join("a/", "b", "a/b");
    check_join("/", "b", "/b");
    check_join("", "b", "b");
    set_fault("alloc:1");
    CU_ASSERT_PTR_NULL(assay_path_join("a", "b"));
    set_fault(NULL);
}

/* What somebody else put there is not appended to. */
static void test_append(void)
{
    char *path = in_directory("log"), *other = in_directory("other"), *pipe = in_directory("pipe");
    int fd = assay_file_open_append(path, NULL);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, "a", 1), 1);
    close(fd);
    fd = assay_file_open_append(path, NULL);
    CU_ASSERT_EQUAL(write(fd, "b", 1), 1);
    CU_ASSERT_EQUAL(lseek(fd, 0, SEEK_END), 2);
    close(fd);
    CU_ASSERT_EQUAL_FATAL(link(path, other), 0);
    CU_ASSERT_EQUAL(assay_file_open_append(other, NULL), ASSAY_EIO);
    unlink(other);
    CU_ASSERT_EQUAL_FATAL(symlink(path, other), 0);
    CU_ASSERT_EQUAL(assay_file_open_append(other, NULL), ASSAY_EIO);
    CU_ASSERT_EQUAL_FATAL(mkfifo(pipe, 0600), 0);
    CU_ASSERT_EQUAL(assay_file_open_append(pipe, NULL), ASSAY_EIO);
    unlink(path);
    unlink(other);
    unlink(pipe);
    free(path);
    free(other);
    free(pipe);
}

int main(void)
{
    CU_TestInfo tests[] = {{"write", test_write},
                           {"write fails", test_write_fails},
                           {"made", test_made},
                           {"stale temporary file", test_stale_temporary},
                           {"left by a kill", test_left},
                           {"write into", test_write_into},
                           {"read", test_read},
                           {"read fails", test_read_fails},
                           {"directories", test_directories},
                           {"join", test_join},
                           {"append", test_append},
                           CU_TEST_INFO_NULL};
    if (!mkdtemp(directory))
        return 2;
    int failed = unit_main("file", tests);
    return rmdir(directory) != 0 || failed; /* a leftover is a failure too */
}
