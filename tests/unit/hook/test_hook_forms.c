/* Statistics and digests in place of tensors: figures, buckets and digests from the inside, and the calls of the C
 * interface around them. What the files hold is checked by tests/hook/cheap.py. */
#include "unit.h"

#include <float.h>
#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <assay/hook.h>
#include "base/fault.h"
#include "hook/config.h"
#include "hook/reduce.h"

static char work[64];
static const int64_t shape[2] = {2, 3};
static const float values[6] = {1, -2, 3, -4, 5, -6};

static int forget(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void clean(void)
{
    nftw(work, forget, 16, FTW_DEPTH | FTW_PHYS);
}

static bool near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fabs(b);
}

/* Every reduction that one pass gives, from elements and from statistics that a caller has taken. */
static void test_reductions(void)
{
    static const uint8_t codes[] = {HOOK_MIN,
                                    HOOK_MAX,
                                    HOOK_MEAN,
                                    HOOK_STD,
                                    HOOK_VARIANCE,
                                    HOOK_SUM,
                                    HOOK_L1,
                                    HOOK_L2,
                                    HOOK_OPS + HOOK_MAX,
                                    HOOK_OPS + HOOK_MEAN,
                                    HOOK_OPS + HOOK_SUM,
                                    HOOK_OPS + HOOK_L1,
                                    HOOK_OPS + HOOK_L2};
    enum { CODES = sizeof codes };
    const double l2 = sqrt(91), std = sqrt(91 / 6.0 - 0.25);
    const double wanted[CODES] = {-6, 5, -0.5, std, std * std, -3, 21, l2, 6, 3.5, 21, 21, l2};
    const assay_hook_statistics given = {.min = -6, .max = 5, .mean = -0.5, .std = std, .l1 = 21, .l2 = l2};
    double got[CODES], value;
    assay_stats stats;
    hook_statistics(ASSAY_FLOAT32, values, 6, &stats);
    hook_reduce(ASSAY_FLOAT32, values, 6, &stats, codes, CODES, false, got);
    for (int i = 0; i < CODES; i++) {
        CU_ASSERT(near(got[i], wanted[i]));
        CU_ASSERT(hook_is_given(codes[i]));
        CU_ASSERT(hook_reduce_given(&given, 6, codes[i], false, &value) && near(value, wanted[i]));
    }
    hook_reduce(ASSAY_FLOAT32, values, 6, &stats, codes, CODES, true, got);
    CU_ASSERT(near(got[4], std * std * 6 / 5));
    CU_ASSERT(hook_reduce_given(&given, 6, HOOK_VARIANCE, true, &value) && near(value, std * std * 6 / 5));
    static const uint8_t others[] = {HOOK_PROD, HOOK_OPS + HOOK_MIN, HOOK_OPS + HOOK_STD, HOOK_OPS + HOOK_PROD};
    hook_reduce(ASSAY_FLOAT32, values, 6, &stats, others, 4, false, got);
    CU_ASSERT(near(got[0], -720) && near(got[1], 1) && near(got[2], sqrt(91 / 6.0 - 12.25)) && near(got[3], 720));
    for (size_t i = 0; i < sizeof others; i++)
        CU_ASSERT_FALSE(hook_is_given(others[i]) || hook_reduce_given(&given, 6, others[i], false, &value));
    const assay_hook_statistics bad = {.min = NAN, .max = 1};
    CU_ASSERT(hook_reduce_given(&bad, 2, HOOK_OPS + HOOK_MAX, false, &value) && isnan(value));
}

/* Each number is in the first bucket whose bound is above it: against a search through all bounds. */
static void test_buckets(void)
{
    hook_buckets *b = malloc(sizeof *b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    hook_buckets_init(b);
    double inputs[4000];
    size_t n = 0;
    for (int e = -60; e < 80; e++) {
        for (int m = 0; m < 12; m++)
            inputs[n++] = (m % 2 ? -1 : 1) * ldexp(1 + m / 12.0, e);
    }
    for (size_t i = 0; i < b->count - 1; i += 3) { /* bounds themselves, and their neighbours */
        inputs[n++] = b->limits[i];
        inputs[n++] = nextafter(b->limits[i], -INFINITY);
        inputs[n++] = nextafter(b->limits[i], INFINITY);
    }
    const double ends[] = {0.0, -0.0, DBL_MIN, -DBL_MIN, DBL_TRUE_MIN, -DBL_TRUE_MIN, DBL_MAX, -DBL_MAX};
    memcpy(inputs + n, ends, sizeof ends);
    n += sizeof ends / sizeof *ends;
    CU_ASSERT_FATAL(n <= sizeof inputs / sizeof *inputs);
    for (size_t i = 0; i < n; i++) {
        assay_stats stats;
        size_t wanted = 0, got = 0;
        while (b->limits[wanted] <= inputs[i])
            wanted++;
        hook_statistics(ASSAY_FLOAT64, &inputs[i], 1, &stats);
        CU_ASSERT(hook_count_buckets(ASSAY_FLOAT64, &inputs[i], 1, &stats, b));
        while (b->counts[got] == 0)
            got++;
        CU_ASSERT_EQUAL(got, wanted);
        const hook_histogram *h = &b->histogram;
        CU_ASSERT(h->buckets >= 1 && h->buckets <= 2 && h->counts[h->buckets - 1] == 1);
        CU_ASSERT(isfinite(h->limits[h->buckets - 1]));
    }
    assay_stats stats;
    const double bad[] = {1, INFINITY};
    hook_statistics(ASSAY_FLOAT64, bad, 2, &stats);
    CU_ASSERT_FALSE(hook_count_buckets(ASSAY_FLOAT64, bad, 2, &stats, b));
    free(b);
}

static void test_digest(void)
{
    float other[6], ones[6] = {1, 1, 1, 1, 1, 1};
    const int64_t turned[2] = {3, 2};
    memcpy(other, values, sizeof other);
    const int64_t digest = hook_digest(ASSAY_FLOAT32, 2, shape, values, sizeof values);
    CU_ASSERT(digest > 0 && digest == hook_digest(ASSAY_FLOAT32, 2, shape, other, sizeof other));
    other[5] = nextafterf(other[5], 0);
    CU_ASSERT_NOT_EQUAL(digest, hook_digest(ASSAY_FLOAT32, 2, shape, other, sizeof other));
    CU_ASSERT_NOT_EQUAL(digest, hook_digest(ASSAY_FLOAT32, 2, turned, values, sizeof values));
    CU_ASSERT_NOT_EQUAL(digest, hook_digest(ASSAY_INT32, 2, shape, values, sizeof values));
    CU_ASSERT(hook_digest(ASSAY_FLOAT32, 2, shape, ones, sizeof ones) < 0);
    CU_ASSERT(hook_digest(ASSAY_FLOAT32, 0, NULL, ones, sizeof *ones) < 0);
}

static assay_hook *start(const char *form)
{
    assay_hook *hook = NULL;
    CU_ASSERT_EQUAL(assay_hook_open(work, 0, 1, &hook, NULL), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "save_interval", "1"), 0);
    CU_ASSERT_EQUAL(assay_hook_set(hook, "record", form), 0);
    CU_ASSERT_EQUAL(assay_hook_collection(hook, "weights"), 0);
    return hook;
}

/* What a tensor costs in records: eight reductions, or a digest; of what a caller has reduced, eight as well. */
static void test_calls(void)
{
    static const struct {
        const char *form, *reductions;
        bool given, enough;
        uint64_t records;
    } cases[] = {{"statistics", "", false, true, 8},     {"statistics", "", true, true, 8},
                 {"statistics", "prod", true, false, 8}, {"statistics", "prod", false, false, 9},
                 {"digest", "", false, false, 1},        {"digest", "min", false, false, 2},
                 {"raw", "", false, false, 1},           {"raw", "", true, false, 0}};
    const assay_hook_statistics given = {.min = -6, .max = 5, .mean = -0.5, .std = 2, .l1 = 21, .l2 = 9.5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_hook_counts counts;
        assay_hook_cost cost;
        assay_hook *hook = start(cases[i].form);
        CU_ASSERT_EQUAL(assay_hook_set(hook, "reductions", cases[i].reductions), 0);
        CU_ASSERT_EQUAL(assay_hook_step(hook), 0);
        CU_ASSERT_EQUAL(assay_hook_wants_statistics(hook, "net.weight"), cases[i].enough);
        CU_ASSERT_FALSE(assay_hook_wants_statistics(hook, "other"));
        int rc = cases[i].given ? assay_hook_save_statistics(hook, "net.weight", ASSAY_FLOAT32, 2, shape, &given)
                                : assay_hook_save(hook, "net.weight", ASSAY_FLOAT32, 2, shape, values);
        CU_ASSERT_EQUAL(rc, 0);
        CU_ASSERT_EQUAL(assay_hook_step(hook), 0);
        CU_ASSERT_EQUAL(assay_hook_flush(hook), 0);
        assay_hook_get_counts(hook, &counts);
        assay_hook_get_cost(hook, &cost);
        CU_ASSERT(counts.tensors == cases[i].records && counts.errors == 0);
        CU_ASSERT(cost.calls > 0 && (cost.writer > 0 || cases[i].records == 0));
        CU_ASSERT_EQUAL(assay_hook_save_statistics(hook, "net.weight", ASSAY_FLOAT32, 2, shape, NULL), ASSAY_EUSAGE);
        CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EUSAGE);
        clean();
    }
    assay_hook_cost cost = {1, 1};
    assay_hook_get_cost(NULL, &cost);
    CU_ASSERT(cost.calls == 0 && cost.writer == 0);
    CU_ASSERT_EQUAL(assay_hook_save_statistics(NULL, "a", ASSAY_FLOAT32, 2, shape, &given), 0);
    CU_ASSERT_FALSE(assay_hook_wants_statistics(NULL, "a"));
    CU_ASSERT_EQUAL(assay_hook_set_interval(NULL, "weights", 2), 0);
}

/* A step in one call, which says what is due. What is written is charged to the account of when it was saved. */
static void test_next(void)
{
    static const char *const names[] = {"net.weight", "other", "scalar/x"};
    assay_hook_cost cost;
    assay_hook *hook = start("raw");
    CU_ASSERT_EQUAL(assay_hook_set(hook, "train.save_interval", "2"), 0);
    for (int step = 0; step < 5; step++) {
        CU_ASSERT_EQUAL(assay_hook_next(hook, ASSAY_HOOK_TRAIN, 3, names), step % 2 ? 0 : ASSAY_HOOK_ACTIVE | 1);
        CU_ASSERT_EQUAL(assay_hook_active(hook), step % 2 == 0);
        CU_ASSERT_EQUAL(assay_hook_charge(hook, 2), 0);
        assay_hook_save(hook, "net.weight", ASSAY_FLOAT32, 2, shape, values);
        CU_ASSERT_EQUAL(assay_hook_charge(hook, 0), 0);
    }
    CU_ASSERT_EQUAL(assay_hook_next(hook, ASSAY_HOOK_EVAL, 1, names), ASSAY_HOOK_ACTIVE | 1);
    CU_ASSERT_EQUAL(assay_hook_next(hook, 0, 0, NULL), ASSAY_HOOK_ACTIVE); /* of EVAL as well */
    assay_hook_flush(hook);
    assay_hook_get_cost(hook, &cost);
    CU_ASSERT(assay_hook_charged(hook, 0) > 0 && assay_hook_charged(hook, 1) == 0 && assay_hook_charged(hook, 2) > 0);
    CU_ASSERT(fabs(assay_hook_charged(hook, 0) + assay_hook_charged(hook, 2) - cost.writer) < 1e-9);
    CU_ASSERT(assay_hook_charged(hook, 3) == 0 && assay_hook_charged(NULL, 0) == 0);
    CU_ASSERT_EQUAL(assay_hook_next(hook, 9, 1, names), 0);
    CU_ASSERT_EQUAL(assay_hook_charge(hook, ASSAY_HOOK_ACCOUNTS), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_charge(hook, -1), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_hook_next(NULL, 0, 1, names), 0);
    CU_ASSERT_EQUAL(assay_hook_charge(NULL, 7), 0);
    clean();
}

/* Steps that have gathered are written although nobody asks for them and no step comes after them. */
static void test_gathered(void)
{
    assay_hook_counts counts = {.steps = 0};
    assay_hook *hook = start("digest");
    for (int step = 0; step < 3; step++) {
        assay_hook_step(hook);
        assay_hook_save(hook, "net.weight", ASSAY_FLOAT32, 2, shape, values);
    }
    for (int waited = 0; counts.steps < 2 && waited < 60000; waited++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assay_hook_get_counts(hook, &counts);
    }
    CU_ASSERT(counts.steps == 2 && counts.tensors == 2);
    CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
    clean();
}

static void test_interval(void)
{
    assay_hook_counts counts;
    assay_hook *hook = start("digest");
    for (int step = 0; step < 10; step++) {
        assay_hook_step(hook);
        CU_ASSERT_EQUAL(assay_hook_wants(hook, "net.weight"), step < 4 || step % 3 == 0);
        assay_hook_save(hook, "net.weight", ASSAY_FLOAT32, 2, shape, values);
        if (step == 3)
            CU_ASSERT_EQUAL(assay_hook_set_interval(hook, "weights", 3), 0);
    }
    assay_hook_step(hook);
    assay_hook_flush(hook);
    assay_hook_get_counts(hook, &counts);
    CU_ASSERT_EQUAL(counts.tensors, 6);
    CU_ASSERT_EQUAL(assay_hook_set_interval(hook, "weights", 0), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_hook_set_interval(hook, "nothing", 1), ASSAY_ENOTFOUND);
    CU_ASSERT_EQUAL(assay_hook_close(hook), ASSAY_EPARAM);
    clean();
    static const struct {
        const char *collection, *said;
        int64_t interval;
        int status;
    } early[] = {
        {"weights", "", 5, ASSAY_OK},
        {"weigths", "did you mean \"weights\"?", 5, ASSAY_ENOTFOUND},
        {"nothing", "collection \"nothing\" is not declared", 5, ASSAY_ENOTFOUND},
        {"weights", "save_interval", 0, ASSAY_EPARAM},
    };
    for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
        CU_ASSERT_EQUAL_FATAL(assay_hook_open(work, 0, 1, &hook, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(assay_hook_set_interval(hook, early[i].collection, early[i].interval), early[i].status);
        assay_hook_get_counts(hook, &counts);
        CU_ASSERT_PTR_NOT_NULL(strstr(counts.text, early[i].said));
        CU_ASSERT_EQUAL(assay_hook_close(hook), early[i].status);
        clean();
    }
}

/* What is misspelt is refused with the name that was meant; a name of one's own may be like a built-in one. */
static void test_mistakes(void)
{
    static const struct {
        const char *collection, *key, *value;
        int status;
        const char *said;
    } cases[] = {{NULL, "record", "digset", ASSAY_EPARAM, "did you mean \"digest\"?"},
                 {NULL, "save_intervall", "1", ASSAY_ENOTFOUND, "did you mean \"save_interval\"?"},
                 {NULL, "evla.save_interval", "1", ASSAY_ENOTFOUND, "did you mean \"eval\"?"},
                 {NULL, "nothing like it", "1", ASSAY_ENOTFOUND, "nothing like it: there is no such parameter"},
                 {"weights", "save_histogramm", "1", ASSAY_ENOTFOUND, "did you mean \"save_histogram\"?"},
                 {"weigths", NULL, NULL, ASSAY_ENOTFOUND, "did you mean \"weights\"?"},
                 {"Weights", NULL, NULL, ASSAY_ENOTFOUND, "did you mean \"weights\"?"},
                 {"layers", NULL, NULL, ASSAY_OK, ""},
                 {"loss", NULL, NULL, ASSAY_OK, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_hook_counts counts;
        assay_hook *hook = NULL;
        assay_hook_open(work, 0, 1, &hook, NULL);
        int rc = !cases[i].key ? assay_hook_collection(hook, cases[i].collection)
                 : cases[i].collection
                     ? assay_hook_collection_set(hook, cases[i].collection, cases[i].key, cases[i].value)
                     : assay_hook_set(hook, cases[i].key, cases[i].value);
        assay_hook_get_counts(hook, &counts);
        CU_ASSERT_EQUAL(rc, cases[i].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(counts.text, cases[i].said));
        assay_hook_close(hook);
        clean();
    }
}

/* One allocation or write after the other fails: the training's calls go on. */
static void torture(const char *kind, const char *form)
{
    bool clean_run = false;
    for (int n = 1; n <= 400 && !clean_run; n++) {
        char fault[32];
        assay_hook *hook = NULL;
        snprintf(fault, sizeof fault, "%s:%d", kind, n);
        setenv("ASSAY_FAULT", fault, 1);
        assay_fault_arm(0);
        int opened = assay_hook_open(work, 0, 1, &hook, NULL);
        assay_hook_set(hook, "save_interval", "1");
        assay_hook_set(hook, "save_all", "true");
        assay_hook_set(hook, "record", form);
        for (int step = 0; step < 2; step++) {
            assay_hook_step(hook);
            assay_hook_save(hook, "net.weight", ASSAY_FLOAT32, 2, shape, values);
        }
        int rc = assay_hook_close(hook);
        clean_run = opened == 0 && rc == 0;
        clean();
    }
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    CU_ASSERT(clean_run);
}

static void test_torture(void)
{
    torture("alloc", "statistics");
    torture("write", "statistics");
    torture("alloc", "digest");
}

int main(void)
{
    CU_TestInfo tests[] = {{"reductions", test_reductions}, {"buckets", test_buckets},
                           {"digest", test_digest},         {"calls", test_calls},
                           {"gathered", test_gathered},     {"next", test_next},
                           {"interval", test_interval},     {"mistakes", test_mistakes},
                           {"torture", test_torture},       CU_TEST_INFO_NULL};
    snprintf(work, sizeof work, "/tmp/assay-forms-XXXXXX");
    if (!mkdtemp(work))
        return 2;
    int rc = unit_main("hook forms", tests);
    clean();
    return rc;
}
