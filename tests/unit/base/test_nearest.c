/* The name that a misspelt word was meant to be. */
#include "unit.h"

#include <string.h>

#include "base/nearest.h"

static const char *const NAMES[] = {"run", "rules", "show", "DeadRelu", "threshold_layer", "fail-on", NULL};

static const char *hint_of(const char *word)
{
    static char room[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    assay_nearest_begin(&nearest, word, strlen(word));
    for (size_t i = 0; NAMES[i]; i++)
        assay_nearest_offer(&nearest, NAMES[i]);
    return assay_nearest_hint(&nearest, room);
}

static void test_near(void)
{
    CU_ASSERT_STRING_EQUAL(hint_of("rnu"), " (did you mean \"run\"?)");            /* swapped */
    CU_ASSERT_STRING_EQUAL(hint_of("ruls"), " (did you mean \"rules\"?)");         /* one left out */
    CU_ASSERT_STRING_EQUAL(hint_of("shhow"), " (did you mean \"show\"?)");         /* one too many */
    CU_ASSERT_STRING_EQUAL(hint_of("dead_relu"), " (did you mean \"DeadRelu\"?)"); /* case and underscore */
    CU_ASSERT_STRING_EQUAL(hint_of("treshold-layer"), " (did you mean \"threshold_layer\"?)");
    CU_ASSERT_STRING_EQUAL(hint_of("thresh"), " (did you mean \"threshold_layer\"?)"); /* short for it */
    CU_ASSERT_STRING_EQUAL(hint_of("DEAD"), " (did you mean \"DeadRelu\"?)");
    CU_ASSERT_STRING_EQUAL(hint_of("fial_on"), " (did you mean \"fail-on\"?)");
}

static void test_far(void)
{
    char longest[ASSAY_NEAREST_MOST + 2];
    memset(longest, 'r', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CU_ASSERT_STRING_EQUAL(hint_of("frobnicate"), "");
    CU_ASSERT_STRING_EQUAL(hint_of("x"), "");
    CU_ASSERT_STRING_EQUAL(hint_of("d"), ""); /* one letter is short for anything */
    CU_ASSERT_STRING_EQUAL(hint_of(""), "");
    CU_ASSERT_STRING_EQUAL(hint_of(longest), "");
}

/* The distance of the longest words that are compared. */
static void test_long(void)
{
    char word[ASSAY_NEAREST_MOST + 1], name[ASSAY_NEAREST_MOST + 1], room[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    memset(word, 'a', ASSAY_NEAREST_MOST);
    memset(name, 'a', ASSAY_NEAREST_MOST);
    word[ASSAY_NEAREST_MOST] = name[ASSAY_NEAREST_MOST] = '\0';
    word[5] = 'b';
    name[90] = 'c';
    assay_nearest_begin(&nearest, word, strlen(word));
    assay_nearest_offer(&nearest, name);
    CU_ASSERT_EQUAL(nearest.distance, 2);
    CU_ASSERT_TRUE(strstr(assay_nearest_hint(&nearest, room), name) != NULL);
}

int main(void)
{
    CU_TestInfo tests[] = {{"near", test_near}, {"far", test_far}, {"long", test_long}, CU_TEST_INFO_NULL};
    return unit_main("nearest", tests);
}
