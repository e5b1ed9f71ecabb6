/* Profiler data of a disk that takes no more: what is noted, what stays open, which files are there. What sound files
 * hold is checked by tests/hook/profile.py. */
#include "unit.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hook/profile.h"

static char work[] = "/tmp/assay-profile-XXXXXX";

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

int main(void)
{
    CU_TestInfo tests[] = {{"a sample that cannot be written leaves no file open", test_failed_sample},
                           CU_TEST_INFO_NULL};
    signal(SIGXFSZ, SIG_IGN);
    if (!mkdtemp(work))
        return 2;
    const int failed = unit_main("hook profile", tests);
    rmdir(work);
    return failed;
}
