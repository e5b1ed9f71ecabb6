/* SHA-256 against the published examples, in pieces, and the table hash. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static void check(const char *text, size_t times, const char *expected)
{
    assay_sha256 h;
    char hex[65] = "";
    assay_sha256_init(&h);
    for (size_t i = 0; i < times; i++)
        assay_sha256_add(&h, text, strlen(text));
    assay_sha256_hex(&h, hex);
    CU_ASSERT_STRING_EQUAL(hex, expected);
}

/* FIPS 180-4's examples. */
static void test_published(void)
{
    check("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check("aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths around the padding's borders: cutting them anywhere changes nothing, another byte changes everything. */
static void test_pieces(void)
{
    uint8_t data[200];
    char whole[65], cut[65], last[65] = "";
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    for (size_t n = 0; n <= sizeof data; n++) {
        assay_sha256 h;
        assay_sha256_init(&h);
        assay_sha256_add(&h, data, n);
        assay_sha256_hex(&h, whole);
        CU_ASSERT_STRING_NOT_EQUAL(whole, last);
        memcpy(last, whole, sizeof last);
        for (size_t at = 0; at <= n; at += 13) {
            assay_sha256_init(&h);
            assay_sha256_add(&h, data, at);
            assay_sha256_add(&h, data + at, n - at);
            assay_sha256_hex(&h, cut);
            CU_ASSERT_STRING_EQUAL(cut, whole);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* No collision among names as trials have them, and the low bits (a table's slots) are spread. */
static void test_table_hash(void)
{
    enum { NAMES = 20000, SLOTS = 256 };
    static uint64_t hashes[NAMES];
    unsigned used[SLOTS] = {0}, equal = 0, most = 0;
    char name[64];
    for (int i = 0; i < NAMES; i++) {
        int length = snprintf(name, sizeof name, "gradient/layer%d_weight:%d", i / 100, i % 100);
        hashes[i] = assay_hash_bytes(name, (size_t)length);
        unsigned slot = hashes[i] % SLOTS;
        used[slot]++;
        most = used[slot] > most ? used[slot] : most;
    }
    qsort(hashes, NAMES, sizeof hashes[0], by_value);
    for (int i = 1; i < NAMES; i++)
        equal += hashes[i] == hashes[i - 1];
    CU_ASSERT_EQUAL(equal, 0);
    CU_ASSERT_TRUE(most < 2 * NAMES / SLOTS);
    CU_ASSERT_EQUAL(assay_hash_bytes("abc", 3), assay_hash_bytes("abcd", 3));
    CU_ASSERT_NOT_EQUAL(assay_hash_bytes("", 0), assay_hash_bytes("\0", 1));
}

/* Several at a time give what each does by itself. */
static void test_together(void)
{
    enum { SIZE = 64 * 5 };
    uint8_t data[ASSAY_SHA256_TOGETHER][SIZE];
    const uint8_t *bytes[ASSAY_SHA256_TOGETHER] = {0};
    assay_sha256 all[ASSAY_SHA256_TOGETHER], *h[ASSAY_SHA256_TOGETHER] = {0};
    for (size_t count = 0; count <= ASSAY_SHA256_TOGETHER; count++) {
        for (size_t k = 0; k < count; k++) {
            for (size_t i = 0; i < SIZE; i++)
                data[k][i] = (uint8_t)(i * 7 + k * 31);
            bytes[k] = data[k];
            h[k] = &all[k];
            assay_sha256_init(h[k]);
        }
        assay_sha256_add_together(h, bytes, count, SIZE);
        assay_sha256_add_together(h, bytes, count, 64);
        for (size_t k = 0; k < count; k++) {
            assay_sha256 alone;
            char one[65], other[65];
            assay_sha256_init(&alone);
            assay_sha256_add(&alone, data[k], SIZE);
            assay_sha256_add(&alone, data[k], 64);
            assay_sha256_add(&alone, "tail", 4);
            assay_sha256_add(h[k], "tail", 4);
            assay_sha256_hex(&alone, one);
            assay_sha256_hex(h[k], other);
            CU_ASSERT_STRING_EQUAL(one, other);
        }
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"published values", test_published},
                           {"in pieces", test_pieces},
                           {"together", test_together},
                           {"table hash", test_table_hash},
                           CU_TEST_INFO_NULL};
    return unit_main("hash", tests);
}
