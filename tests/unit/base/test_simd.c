/* ASSAY_SIMD: each level by name, and the best one for anything else. A process reads it once, so each case has its
 * own. */
#include "unit.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/simd.h"

/* The level that a process with this setting uses; -1 when it is not the same throughout. */
static int level_with(const char *setting)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (setting)
            setenv("ASSAY_SIMD", setting, 1);
        else
            unsetenv("ASSAY_SIMD");
        assay_simd level = assay_simd_level();
        setenv("ASSAY_SIMD", "scalar", 1); /* too late */
        _exit(assay_simd_level() == level ? (int)level : 99);
    }
    int status = 0;
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) < ASSAY_SIMD_LEVELS ? WEXITSTATUS(status) : -1;
}

static void test_levels(void)
{
    int best = ASSAY_SIMD_SCALAR;
    for (int level = 0; level < ASSAY_SIMD_LEVELS; level++)
        best = assay_simd_has((assay_simd)level) ? level : best;
    CU_ASSERT_EQUAL(level_with(NULL), best);
    CU_ASSERT_EQUAL(level_with(""), best);
    CU_ASSERT_EQUAL(level_with("AVX2"), best);
    CU_ASSERT_EQUAL(level_with("sse9"), best);
    CU_ASSERT_EQUAL(level_with("scalar"), ASSAY_SIMD_SCALAR);
    CU_ASSERT_EQUAL(level_with("avx2"), assay_simd_has(ASSAY_SIMD_AVX2) ? ASSAY_SIMD_AVX2 : best);
    CU_ASSERT_EQUAL(level_with("avx512"), assay_simd_has(ASSAY_SIMD_AVX512) ? ASSAY_SIMD_AVX512 : best);
    CU_ASSERT_TRUE(assay_simd_has(ASSAY_SIMD_SCALAR));
    CU_ASSERT_FALSE(assay_simd_has(ASSAY_SIMD_LEVELS));
}

int main(void)
{
    CU_TestInfo tests[] = {{"levels", test_levels}, CU_TEST_INFO_NULL};
    return unit_main("simd", tests);
}
