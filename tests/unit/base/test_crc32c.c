/* CRC-32C against published values and a bitwise reference, by all ways of computing it. */
#include "random.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/crc32c_ways.h"

typedef uint32_t way(uint32_t state, const uint8_t *at, size_t n);

static uint8_t data[1 << 20];

static uint32_t by_bits(uint32_t state, const uint8_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        state ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            state = state >> 1 ^ (state & 1 ? 0x82f63b78U : 0);
    }
    return state;
}

static void fill(void)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(random_next(&seed) >> 56);
}

/* RFC 3720, B.4; the check value of the CRC catalogue; nothing at all. */
static void test_published(void)
{
    uint8_t bytes[48] = {0};
    CU_ASSERT_EQUAL(assay_crc32c(0, bytes, 32), 0x8a9136aaU);
    memset(bytes, 0xff, 32);
    CU_ASSERT_EQUAL(assay_crc32c(0, bytes, 32), 0x62a8ab43U);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    CU_ASSERT_EQUAL(assay_crc32c(0, bytes, 32), 0x46dd794eU);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = 31 - i;
    CU_ASSERT_EQUAL(assay_crc32c(0, bytes, 32), 0x113fdb5cU);
    static const uint8_t read10[48] = {0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
                                       0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
                                       0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0};
    CU_ASSERT_EQUAL(assay_crc32c(0, read10, 48), 0xd9963a56U);
    CU_ASSERT_EQUAL(assay_crc32c(0, "123456789", 9), 0xe3069283U);
    CU_ASSERT_EQUAL(assay_crc32c(0, NULL, 0), 0);
}

static void test_mask(void)
{
    CU_ASSERT_EQUAL(assay_crc32c_mask(0), 0xa282ead8U);
    CU_ASSERT_EQUAL(assay_crc32c_mask(0x00008000U), 0xa282ead9U);
    CU_ASSERT_EQUAL(assay_crc32c_mask(1), 0xa284ead8U);
    CU_ASSERT_EQUAL(assay_crc32c_mask(0xffffffffU), 0xa282ead7U);
}

static void check_way(way *w)
{
    unsigned wrong = 0;
    for (size_t at = 0; at < 16; at++) {
        uint32_t expected = 0x12345678;
        for (size_t n = 0; n <= 1024; n++) {
            wrong += w(0x12345678, data + at, n) != expected;
            expected = by_bits(expected, data + at + n, 1);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    static const size_t sizes[] = {6143, 6144, 6145, 6144 + 384, 12288 + 383, 99991, sizeof data - 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        CU_ASSERT_EQUAL(w(~0U, data + 5, sizes[i]), by_bits(~0U, data + 5, sizes[i]));
}

static void test_table(void)
{
    check_way(assay_crc32c_by_table);
}

static void test_sse42(void)
{
    if (assay_crc32c_has_sse42())
        check_way(assay_crc32c_by_sse42);
}

static void test_avx512(void)
{
    if (assay_crc32c_has_avx512())
        check_way(assay_crc32c_by_avx512);
}

/* Bits within the mask count, others do not, wherever they are. */
static void test_alike(void)
{
    static uint8_t like[600], mask[600];
    for (size_t n = 0; n <= sizeof like; n += n < 80 ? 1 : 37) {
        uint32_t crc = 0;
        unsigned wrong = 0;
        memcpy(like, data, n);
        memset(mask, 0x0f, n);
        for (size_t at = 0; at < n; at++) {
            like[at] ^= 0x10;
            wrong += !assay_crc32c_alike(data, n, like, mask, &crc) || crc != assay_crc32c(0, data, n);
            like[at] ^= 0x11;
            wrong += assay_crc32c_alike(data, n, like, mask, &crc);
            like[at] ^= 0x01;
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

static void test_split(void)
{
    uint32_t whole = assay_crc32c(0, data, 20000);
    for (size_t cut = 0; cut <= 20000; cut += 37)
        CU_ASSERT_EQUAL(assay_crc32c(assay_crc32c(0, data, cut), data + cut, 20000 - cut), whole);
    for (size_t cut = 0; cut <= 20000; cut += 1999)
        CU_ASSERT_EQUAL(
            assay_crc32c_join(assay_crc32c(0, data, cut), assay_crc32c(0, data + cut, 20000 - cut), 20000 - cut),
            whole);
    uint32_t bytewise = 0;
    for (size_t i = 0; i < 20000; i++)
        bytewise = assay_crc32c(bytewise, data + i, 1);
    CU_ASSERT_EQUAL(bytewise, whole);
}

/* x^8n times the register is the register after n zero bytes. */
static void test_power(void)
{
    static const uint8_t zeros[16];
    CU_ASSERT_EQUAL(assay_crc32c_power(0), 0x80000000U);
    CU_ASSERT_EQUAL(assay_crc32c_power(31), 1);
    CU_ASSERT_EQUAL(assay_crc32c_power(32), 0x82f63b78U);
    CU_ASSERT_EQUAL(assay_crc32c_power(128), by_bits(0x80000000U, zeros, 16));
}

int main(void)
{
    CU_TestInfo tests[] = {{"published values", test_published},
                           {"mask", test_mask},
                           {"tables, every length and alignment", test_table},
                           {"instructions, every length and alignment", test_sse42},
                           {"wide products, every length and alignment", test_avx512},
                           {"beside a comparison", test_alike},
                           {"in pieces", test_split},
                           {"powers of x", test_power},
                           CU_TEST_INFO_NULL};
    fill();
    return unit_main("crc32c", tests);
}
