/* The ring between the training and the writer, against a plain list. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "hook/queue.h"

enum { ROOM = 1 << 16, MODEL = 4096 };

static void fill(hook_item *item, unsigned char with)
{
    if (item->bytes)
        memset((void *)(uintptr_t)item->data, with, item->bytes);
    for (int d = 0; d < item->ndim; d++)
        ((int64_t *)(void *)(item + 1))[d] = with;
}

static bool holds(const hook_item *item, unsigned char what)
{
    const unsigned char *data = item->data;
    for (size_t i = 0; i < item->bytes; i++) {
        if (data[i] != what)
            return false;
    }
    for (int d = 0; d < item->ndim; d++) {
        if (item->shape[d] != what)
            return false;
    }
    return true;
}

/* Random reservations and releases: what comes out is what went in, in order, and nothing overlaps. */
static void test_random(void)
{
    hook_queue q;
    static unsigned char model[MODEL];
    size_t first = 0, last = 0, refused = 0, wrapped = 0;
    CU_ASSERT_EQUAL_FATAL(hook_queue_init(&q, ROOM), 0);
    srand(1);
    for (int i = 0; i < 200000; i++) {
        if (rand() % 2 && last - first < MODEL) {
            size_t bytes = rand() % 8 ? (size_t)(rand() % 300) : (size_t)(rand() % 20000);
            hook_item *item = hook_queue_reserve(&q, rand() % 5, bytes);
            refused += !item;
            wrapped += item && q.end != q.room;
            if (item) {
                unsigned char with = (unsigned char)rand();
                fill(item, with);
                model[last++ % MODEL] = with;
            }
        } else if (last > first) {
            const hook_item *item = hook_queue_front(&q);
            CU_ASSERT_PTR_NOT_NULL_FATAL(item);
            CU_ASSERT_FATAL(holds(item, model[first++ % MODEL]));
            hook_queue_pop(&q);
        }
        CU_ASSERT_EQUAL_FATAL(q.items, last - first);
        CU_ASSERT_EQUAL_FATAL(q.pushed - q.popped, last - first);
    }
    CU_ASSERT(refused > 0 && wrapped > 0);
    hook_queue_release(&q);
}

static void test_bound(void)
{
    hook_queue q;
    size_t count = 0, item = hook_item_size(0, 1000);
    CU_ASSERT_EQUAL_FATAL(hook_queue_init(&q, ROOM), 0);
    CU_ASSERT_PTR_NULL(hook_queue_front(&q));
    while (hook_queue_reserve(&q, 0, 1000))
        count++;
    CU_ASSERT_EQUAL(count, ROOM / item);
    hook_queue_pop(&q);
    CU_ASSERT_PTR_NOT_NULL(hook_queue_reserve(&q, 0, 1000));
    CU_ASSERT_PTR_NULL(hook_queue_reserve(&q, 0, 1000));
    for (size_t i = 0; i < count; i++)
        hook_queue_pop(&q);
    CU_ASSERT_PTR_NULL(hook_queue_front(&q));
    CU_ASSERT_PTR_NOT_NULL(hook_queue_reserve(&q, 0, ROOM - hook_item_size(0, 0)));
    hook_queue_release(&q);
    CU_ASSERT_EQUAL(hook_item_size(0, SIZE_MAX), SIZE_MAX);
    CU_ASSERT_EQUAL(hook_item_size(64, SIZE_MAX - 100), SIZE_MAX);
}

int main(void)
{
    CU_TestInfo tests[] = {{"random", test_random}, {"bound", test_bound}, CU_TEST_INFO_NULL};
    return unit_main("hook queue", tests);
}
