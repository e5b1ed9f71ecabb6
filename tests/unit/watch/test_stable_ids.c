/* test_stable_ids.c - the numbers of tensors follow the order of their names, and stay when names come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/stable_ids.h"
#include "unit.h"

enum { MOST = 400 };

typedef struct trial {
    assay_dict *all;
    uint8_t wanted[MOST];
    watched_ids numbers;
    uint32_t number[MOST], before[MOST];
    uint64_t generation;
} trial;

static void begin(trial *t)
{
    memset(t, 0, sizeof *t);
    t->all = assay_dict_new();
}

static void end(trial *t)
{
    assay_dict_free(t->all);
    assay_watch_ids_release(&t->numbers);
}

/* Adds a name, numbers all anew, and checks what is promised. */
static void add(trial *t, const char *name)
{
    assay_dict *out = assay_dict_new();
    uint32_t known = assay_dict_count(t->all), id = assay_dict_add(t->all, name, strlen(name)), count;
    t->wanted[id] = 1;
    memcpy(t->before, t->number, sizeof t->before);
    CU_ASSERT_EQUAL(assay_watch_number(&t->numbers, t->all, t->wanted, out, t->number), 0);
    count = assay_dict_count(out);
    CU_ASSERT_EQUAL(count, t->numbers.count);
    for (uint32_t i = 0; i < assay_dict_count(t->all); i++) {
        size_t length;
        CU_ASSERT_STRING_EQUAL(assay_dict_name(out, t->number[i], &length), assay_dict_name(t->all, i, &length));
        if (t->generation == t->numbers.generation && i < known)
            CU_ASSERT_EQUAL(t->number[i], t->before[i]);
    }
    uint32_t *moved = calloc(count, sizeof *moved);
    CU_ASSERT_EQUAL(assay_dict_sort(out, moved), 0);
    for (uint32_t i = 0; moved && i < count; i++) /* they are in byte order already, fillers too */
        CU_ASSERT_EQUAL(moved[i], i);
    free(moved);
    t->generation = t->numbers.generation;
    assay_dict_free(out);
}

static void test_names_at_once(void)
{
    trial t;
    begin(&t);
    add(&t, "b");
    CU_ASSERT_EQUAL(t.numbers.count, 1); /* no gaps while nothing grows */
    end(&t);
}

static void test_random_names(void)
{
    trial t;
    begin(&t);
    srand(7);
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d.%c", rand() % 1000, 'a' + rand() % 26);
        add(&t, name);
    }
    CU_ASSERT(t.generation < 12);
    end(&t);
}

static void test_ascending_names(void)
{
    trial t;
    begin(&t);
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "trees/%06d", i);
        add(&t, name);
    }
    CU_ASSERT(t.generation < 80);
    end(&t);
}

static void test_names_like_fillers(void)
{
    trial t;
    begin(&t);
    add(&t, "a");
    add(&t, "b");
    add(&t, "c");
    CU_ASSERT(t.numbers.gap > 0);
    add(&t, "a\x01");
    CU_ASSERT_EQUAL(t.numbers.gap, 0);
    add(&t, "a\x01\x01");
    add(&t, "");
    end(&t);
}

int main(void)
{
    CU_TestInfo tests[] = {{"names that are there at once", test_names_at_once},
                           {"names in any order", test_random_names},
                           {"names in ascending order", test_ascending_names},
                           {"names that look like fillers", test_names_like_fillers},
                           CU_TEST_INFO_NULL};
    return unit_main("watch_numbers", tests);
}
