/* Eight threads save at once while steps go by: nothing is lost, nothing is written twice. Meant for the thread
 * sanitizer. */
#include "unit.h"

#include <ftw.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <assay/hook.h>

enum { THREADS = 8, STEPS = 40, TENSORS = 25, ELEMENTS = 500 };

typedef struct shared {
    assay_hook *hook;
    pthread_barrier_t barrier;
    int number; /* taken by the threads as they start */
} shared;

static int forget(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void save_some(assay_hook *hook, int thread, int step)
{
    float data[ELEMENTS];
    const int64_t shape = ELEMENTS;
    char name[64];
    for (int i = 0; i < ELEMENTS; i++)
        data[i] = (float)(thread + step);
    for (int t = 0; t < TENSORS; t++) {
        snprintf(name, sizeof name, "layer%d.weight%d", thread, t);
        assay_hook_save(hook, name, ASSAY_FLOAT32, 1, &shape, data);
        assay_hook_wants(hook, name);
    }
    assay_hook_save_scalar(hook, "loss", step);
}

static void *work(void *argument)
{
    shared *s = argument;
    int thread = __atomic_fetch_add(&s->number, 1, __ATOMIC_RELAXED);
    for (int step = 0; step < STEPS; step++) {
        if (pthread_barrier_wait(&s->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            assay_hook_step(s->hook);
        pthread_barrier_wait(&s->barrier);
        save_some(s->hook, thread, step);
        assay_hook_active(s->hook);
    }
    return NULL;
}

/* Steps that begin whenever they like: what is saved then belongs to one step or the next. */
static void *work_unordered(void *argument)
{
    shared *s = argument;
    int thread = __atomic_fetch_add(&s->number, 1, __ATOMIC_RELAXED);
    for (int step = 0; step < STEPS; step++) {
        if (thread == 0)
            assay_hook_step(s->hook);
        save_some(s->hook, thread, step);
        if (step % 16 == 0)
            assay_hook_flush(s->hook);
    }
    return NULL;
}

static assay_hook_counts run(void *(*body)(void *), const char *memory, const char *directory)
{
    shared s = {0};
    pthread_t threads[THREADS];
    assay_hook_counts counts;
    pthread_barrier_init(&s.barrier, NULL, THREADS);
    CU_ASSERT_EQUAL_FATAL(assay_hook_open(directory, 0, 1, &s.hook, NULL), 0);
    assay_hook_set(s.hook, "save_interval", "2");
    assay_hook_set(s.hook, "queue_memory", memory);
    assay_hook_set(s.hook, "reductions", "min,abs_std");
    assay_hook_set(s.hook, "save_raw_tensor", "true");
    assay_hook_collection(s.hook, "weights");
    assay_hook_step(s.hook);
    for (int t = 0; t < THREADS; t++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[t], NULL, body, &s), 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assay_hook_step(s.hook);
    assay_hook_flush(s.hook);
    assay_hook_get_counts(s.hook, &counts);
    CU_ASSERT_EQUAL(assay_hook_close(s.hook), 0);
    pthread_barrier_destroy(&s.barrier);
    nftw(directory, forget, 16, FTW_DEPTH | FTW_PHYS);
    return counts;
}

static void test_threads(void)
{
    char directory[] = "/tmp/assay-threads-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
    static const char *const memory[] = {"65536", "67108864"};
    for (int i = 0; i < 2; i++) {
        assay_hook_counts counts = run(work, memory[i], directory);
        /* Of steps 1..STEPS every second one is saved; a scalar at each. A raw tensor and two reductions a save. */
        uint64_t scalars = (uint64_t)STEPS * THREADS, saved = (uint64_t)STEPS / 2 * THREADS * TENSORS;
        CU_ASSERT_EQUAL(counts.tensors, scalars + 3 * saved);
        CU_ASSERT_EQUAL(counts.steps, STEPS);
        CU_ASSERT_EQUAL(counts.dropped + counts.errors, 0);
        counts = run(work_unordered, memory[i], directory);
        CU_ASSERT_EQUAL((counts.tensors - scalars) % 3, 0);
        CU_ASSERT_EQUAL(counts.dropped + counts.errors, 0);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"threads", test_threads}, CU_TEST_INFO_NULL};
    return unit_main("hook threads", tests);
}
