/* unit.h - runs one CUnit suite and turns its result into an exit status: failures, and no test at all, are failures.
 */
#ifndef ASSAY_TESTS_UNIT_H
#define ASSAY_TESTS_UNIT_H

#include <CUnit/Basic.h>
#include <stdio.h>

/* Sanitizers find in a part of the cases what they would find in all; results are compared without them, in all. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNIT_SANITIZED 1
#endif
#endif
#ifndef UNIT_SANITIZED
#define UNIT_SANITIZED 0
#endif

/* `tests` ends with a {NULL, NULL} entry; each pName is printed as the test runs. */
static inline int unit_main(const char *suite_name, CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {{suite_name, NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned ran = CU_get_number_of_tests_run(), failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    if (ran == 0)
        fprintf(stderr, "%s: no test ran\n", suite_name);
    return ran == 0 || failed > 0;
}

#endif
