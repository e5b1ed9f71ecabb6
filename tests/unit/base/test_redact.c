/* Secrets are taken out of texts wherever they stand; what only looks like one stays. The order of the tests matters:
 * what is known as a secret stays so. */
#include "unit.h"

#include <string.h>

#include "base/redact.h"

static void becomes(const char *text, const char *expected)
{
    char room[512];
    snprintf(room, sizeof room, "%s", text);
    assay_redact_text(room);
    CU_ASSERT_STRING_EQUAL(room, expected);
    assay_buf buf;
    assay_buf_init(&buf, 512);
    assay_put_format(&buf, "hunter22 %s", text);
    assay_redact_buf(&buf, 9); /* what is before stays */
    CU_ASSERT(buf.size == 9 + strlen(expected) && memcmp(buf.data, "hunter22 ", 9) == 0 &&
              memcmp(buf.data + 9, expected, strlen(expected)) == 0);
    assay_buf_release(&buf);
}

static void test_texts(void)
{
    becomes("nothing is known yet: hunter22", "nothing is known yet: hunter22");
    CU_ASSERT_EQUAL(assay_redact_add("hunter22"), 0);
    CU_ASSERT_EQUAL(assay_redact_add("hunter22"), 0);
    CU_ASSERT_EQUAL(assay_redact_add("hunter22-and-more"), 0);
    CU_ASSERT_EQUAL(assay_redact_add("abc"), 0); /* too short to be looked for */
    CU_ASSERT_EQUAL(assay_redact_add(""), 0);
    becomes("hunter22", "***");
    becomes("a hunter22b HUNTER22", "a ***b ***");
    becomes("hunter22-and-more", "***");
    becomes("hunter2 abc", "hunter2 abc");
    becomes("hunter22hunter22", "******");
    becomes("a message that was cut: hunt...", "a message that was cut: ***...");
    becomes("hun... and hunter2. and hunter2..", "hun... and hunter2. and hunter2..");
    becomes("", "");
}

static void test_urls(void)
{
    CU_ASSERT_EQUAL(assay_redact_add_url("https://hooks.example.org/notify?token=t0ken-value&x=1", true), 0);
    becomes("https://hooks.example.org/notify?token=t0ken-value&x=1", "https://hooks.example.org/notify?***");
    becomes("t0ken-value of hooks.example.org", "*** of hooks.example.org");
    CU_ASSERT_EQUAL(
        assay_redact_add_url("http://alice:w0nder@deep.secret.example:8080/services/T0/B1?k=queryvalue#frag", false),
        0);
    becomes("Could not resolve host: deep.secret.example", "Could not resolve host: ***");
    becomes("alice:w0nder and w0nder alone", "*** and *** alone");
    becomes("/services/T0/B1 and queryvalue", "*** and ***");
    becomes("http://alice:w0nder@deep.secret.example:8080/services/T0/B1?k=queryvalue#frag", "***");
    CU_ASSERT_EQUAL(assay_redact_add_url("no-url-at-all", false), 0);
    CU_ASSERT_EQUAL(assay_redact_add_url("", false), 0);
    becomes("/ : ? = &", "/ : ? = &");
}

int main(void)
{
    CU_TestInfo tests[] = {{"texts", test_texts}, {"urls", test_urls}, CU_TEST_INFO_NULL};
    return unit_main("base/redact", tests);
}
