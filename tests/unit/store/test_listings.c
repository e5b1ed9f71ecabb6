/* test_listings.c - directories that are listed once: what is known of them, what is not there, on the way to ranks. */
#include "store/listings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "unit.h"

static assay_names names_of(const char *text, size_t size, size_t count)
{
    assay_names names = {0};
    CU_ASSERT_EQUAL(assay_names_from_text(text, size, count, &names), ASSAY_OK);
    return names;
}

static void keep(assay_listings *listings, const char *directory, const char *text, size_t size, size_t count)
{
    assay_names names = names_of(text, size, count);
    CU_ASSERT_EQUAL(assay_listings_keep(listings, directory, &names), ASSAY_OK);
    assay_names_release(&names);
}

static void fill(assay_listings *listings)
{
    static const char root[] = "a\0step-20\0step-20x", step[] = "model.safetensors\0x";
    keep(listings, "", root, sizeof root, 3);
    keep(listings, "step-20", step, sizeof step, 2);
    keep(listings, "empty", "", 0, 0);
}

static void check(const assay_listings *listings)
{
    const assay_names *step = assay_listings_find(listings, "step-20");
    CU_ASSERT_PTR_NOT_NULL_FATAL(step);
    CU_ASSERT_EQUAL(step->count, 2);
    CU_ASSERT_STRING_EQUAL(step->name[0], "model.safetensors");
    CU_ASSERT_PTR_NULL(assay_listings_find(listings, "a"));
    static const struct {
        const char *path;
        bool excluded;
    } rows[] = {
        {"a", false},        {"b", true},         {"step-2", true},      {"step-20", false},      {"step-20/x", false},
        {"step-20/", false}, {"step-20/y", true}, {"step-20/y/z", true}, {"step-20x/any", false}, {"empty/x", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CU_ASSERT_EQUAL(assay_listings_exclude(listings, rows[i].path), rows[i].excluded);
}

static void test_known(void)
{
    assay_listings listings = {0};
    CU_ASSERT_FALSE(assay_listings_exclude(&listings, "anything"));
    fill(&listings);
    check(&listings);
    assay_listings_release(&listings);
}

static void test_packed(void)
{
    assay_listings listings = {0}, other = {0};
    assay_buf packed;
    assay_buf_init(&packed, 1 << 20);
    fill(&listings);
    assay_listings_pack(&listings, &packed);
    assay_cursor in = assay_cursor_over(packed.data, packed.size);
    CU_ASSERT_EQUAL(assay_listings_unpack(&in, &other), ASSAY_OK);
    check(&other);
    assay_listings_release(&other);
    for (size_t cut = 0; cut < packed.size; cut++) { /* every cut is refused, none crashes */
        in = assay_cursor_over(packed.data, cut);
        CU_ASSERT_EQUAL(assay_listings_unpack(&in, &other), ASSAY_EINTERNAL);
        assay_listings_release(&other);
    }
    assay_listings_release(&listings);
    assay_buf_release(&packed);
}

/* A directory beyond the ceiling is not kept: nobody may conclude that a file of it is not there. The root is. */
static void test_ceiling(void)
{
    assay_listings listings = {0};
    assay_buf text;
    assay_buf_init(&text, 64 << 20);
    enum { MANY = 100000 };
    for (int i = 0; i < MANY; i++) {
        assay_put_format(&text, "file-%06d", i);
        assay_put_u8(&text, '\0');
    }
    keep(&listings, "large", (const char *)text.data, text.size, MANY);
    CU_ASSERT_PTR_NULL(assay_listings_find(&listings, "large"));
    CU_ASSERT_FALSE(assay_listings_exclude(&listings, "large/other"));
    CU_ASSERT_EQUAL(listings.bytes, 0);
    keep(&listings, "", (const char *)text.data, text.size, MANY);
    CU_ASSERT_PTR_NOT_NULL(assay_listings_find(&listings, ""));
    CU_ASSERT_TRUE(assay_listings_exclude(&listings, "other"));
    CU_ASSERT_EQUAL(listings.bytes, 0);
    assay_listings_release(&listings);
    assay_buf_release(&text);
}

int main(void)
{
    CU_TestInfo tests[] = {{"known directories", test_known},
                           {"between ranks", test_packed},
                           {"the ceiling", test_ceiling},
                           CU_TEST_INFO_NULL};
    return unit_main("store/listings", tests);
}
