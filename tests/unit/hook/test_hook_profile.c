/* Profiler data of a disk that takes no more or has no locks: what is noted, what stays open, which files are there.
 * What sound files hold is checked by tests/hook/profile.py. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "catch_stderr.h"
#include "hook/profile.h"

static char work[] = "/tmp/assay-profile-XXXXXX";

/* Takes the place of the system's for this program; 0: the lock is free. */
static int flock_errno;

int flock(int file, int operation)
{
    (void)file;
    (void)operation;
    errno = flock_errno;
    return flock_errno ? -1 : 0;
}

static int forget(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    return walk->level == 0 ? 0 : remove(path);
}

static void clean(void)
{
    nftw(work, forget, 16, FTW_DEPTH | FTW_PHYS);
}

static int open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* From here files end at so many bytes, as those of a full disk do. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* One sample at least is taken between the start and the end. */
static int sample_once(void)
{
    const hook_profile_options options = {.directory = work, .node = "algo-1", .interval = 3600000};
    assay_error err = {""};
    hook_profile *profile = hook_profile_new(&options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(profile);
    return hook_profile_end(profile, &err);
}

static void test_failed_sample(void)
{
    CU_ASSERT_EQUAL(sample_once(), ASSAY_OK);
    const int before = open_files();
    limit_files(0);
    const int status = sample_once();
    limit_files(RLIM_INFINITY);
    CU_ASSERT_EQUAL(status, ASSAY_EIO);
    CU_ASSERT_EQUAL(open_files(), before);
    clean();
}

static int timelines_open, timelines_named, sampled;

static int count_file(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    const char *name = path + walk->base;
    (void)info;
    if (kind == FTW_F && strstr(name, "_pythontimeline.json")) {
        timelines_open += strstr(name, ".tmp") != NULL;
        timelines_named += strstr(name, ".tmp") == NULL;
    }
    sampled += kind == FTW_F && strstr(path, "/system/incremental/");
    return 0;
}

/* How many there are, in what the last recording left; that is removed. */
static void check_timelines(int open, int named)
{
    timelines_open = timelines_named = sampled = 0;
    nftw(work, count_file, 16, FTW_PHYS);
    CU_ASSERT_EQUAL(timelines_open, open);
    CU_ASSERT_EQUAL(timelines_named, named);
    clean();
}

/* Two steps into files of so many bytes at most. */
static int record_steps(int64_t interval, rlim_t limit)
{
    const hook_profile_options options = {.directory = work, .node = "algo-1", .interval = interval};
    assay_error err = {""};
    hook_profile *profile = hook_profile_new(&options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(profile);
    limit_files(limit);
    hook_profile_step(profile, "TRAIN", 0);
    hook_profile_step(profile, "TRAIN", 1);
    const int status = hook_profile_end(profile, &err);
    limit_files(RLIM_INFINITY);
    return status;
}

static void test_failed_timeline(void)
{
    CU_ASSERT_EQUAL(record_steps(0, 100), ASSAY_EIO); /* it ends amid an event */
    check_timelines(1, 0);
    CU_ASSERT_EQUAL(record_steps(0, RLIM_INFINITY), ASSAY_OK);
    check_timelines(0, 1);
}

static void test_timeline_without_samples(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/system", work);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0777), 0);
    snprintf(path, sizeof path, "%s/system/incremental", work);
    FILE *file = fopen(path, "w"); /* a file where the samples want a folder */
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fclose(file);
    CU_ASSERT_EQUAL(record_steps(3600000, RLIM_INFINITY), ASSAY_EIO);
    check_timelines(0, 1);
}

static void test_other_sampler(void)
{
    flock_errno = EWOULDBLOCK;
    CU_ASSERT_EQUAL(sample_once(), ASSAY_OK);
    check_timelines(0, 0);
    CU_ASSERT_EQUAL(sampled, 0);
    flock_errno = 0;
}

static void test_no_locks(void)
{
    char said[4096];
    flock_errno = ENOSYS;
    catch_stderr();
    const int status = sample_once();
    release_stderr(said, sizeof said);
    CU_ASSERT_EQUAL(status, ASSAY_OK);
    check_timelines(0, 0);
    CU_ASSERT_EQUAL(sampled, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "/system/.sampler-algo-1: cannot be locked: Function not implemented"));
    flock_errno = 0;
}

int main(void)
{
    CU_TestInfo tests[] = {{"a sample that cannot be written leaves no file open", test_failed_sample},
                           {"a timeline that breaks off gets no final name", test_failed_timeline},
                           {"samples that fail cost no timeline", test_timeline_without_samples},
                           {"another process samples the machine", test_other_sampler},
                           {"a file system without locks", test_no_locks},
                           CU_TEST_INFO_NULL};
    signal(SIGXFSZ, SIG_IGN);
    if (!mkdtemp(work))
        return 2;
    const int failed = unit_main("hook profile", tests);
    rmdir(work);
    return failed;
}
