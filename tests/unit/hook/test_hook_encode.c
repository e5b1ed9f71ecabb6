/* Records byte by byte against ones put together by hand, and the sizes at which they are refused. */
#include "unit.h"

#include <string.h>

#include "hook/encode.h"
#include "base/crc32c.h"

static void test_bytes(void)
{
    /* tag "ab", of worker "w7", step 5, mode TRAIN, mode step 3, float32 of shape (2), wall time 1.0 */
    static const uint8_t expected[] = {0x09, 0,    0,    0,    0,    0,    0,    0xf0, 0x3f, /* wall_time */
                                       0x10, 5,                                              /* step */
                                       0x2a, 0x41, 0x0a, 0x3f,                               /* summary, value */
                                       0x0a, 2,    'a',  'b',                                /* tag */
                                       0x3a, 2,    'w',  '7',                                /* node_name */
                                       0x42, 0x18, 0x08, 1,                                  /* tensor, dtype */
                                       0x12, 0x0a, 0x12, 8,    0x08, 2,    0x12, 4,    'a',  'b',  '_', '2', /* shape */
                                       0x22, 8,    0,    0,    0x80, 0x3f, 0,    0,    0,    0x40, /* content */
                                       0x4a, 0x1b, 0x0a, 0x0e, 0x0a, 9,    'm',  'o',  'd',  'e',  '_', 's',
                                       't',  'e',  'p',  0x12, 1,    '3',  0x0a, 0x09, 0x0a, 4,    'm', 'o',
                                       'd',  'e',  0x12, 1,    '1'};
    static const float content[2] = {1, 2};
    static const int64_t shape = 2;
    hook_record r = {"ab", "w7", 5, 3, 1, 1.0, 1, 1, &shape, sizeof content};
    assay_buf head, tail, all;
    assay_buf_init(&head, HOOK_RECORD_CEILING);
    assay_buf_init(&tail, HOOK_RECORD_CEILING);
    assay_buf_init(&all, HOOK_RECORD_CEILING);
    CU_ASSERT_EQUAL(hook_encode_tensor(&r, &head, &tail), sizeof expected);
    assay_put_bytes(&all, head.data + HOOK_FRAME_HEADER, head.size - HOOK_FRAME_HEADER);
    assay_put_bytes(&all, content, sizeof content);
    assay_put_bytes(&all, tail.data, tail.size);
    CU_ASSERT_EQUAL_FATAL(all.size, sizeof expected);
    CU_ASSERT_EQUAL(memcmp(all.data, expected, sizeof expected), 0);
    CU_ASSERT_EQUAL(head.data[0], sizeof expected);
    uint32_t crc = assay_crc32c_mask(assay_crc32c(0, expected, sizeof expected));
    CU_ASSERT_EQUAL(hook_encode_footer(&head, content, sizeof content, &tail, false), crc);
    CU_ASSERT_EQUAL(hook_encode_footer(&head, content, sizeof content, &tail, true),
                    0x062dc0b3); /* in every file of the reference */
    assay_buf_release(&head);
    assay_buf_release(&tail);
    assay_buf_release(&all);
}

static void test_limits(void)
{
    static const int64_t shape = 1;
    assay_buf head, tail;
    assay_buf_init(&head, HOOK_RECORD_CEILING);
    assay_buf_init(&tail, HOOK_RECORD_CEILING);
    hook_record r = {"a", NULL, 0, 0, 4, 0.0, 4, 1, &shape, HOOK_MESSAGE_CEILING - 1};
    CU_ASSERT_EQUAL(hook_encode_tensor(&r, &head, &tail), 0);
    r.content = HOOK_MESSAGE_CEILING - 1000;
    CU_ASSERT(hook_encode_tensor(&r, &head, &tail) > r.content);
    r.content = UINT64_MAX;
    CU_ASSERT_EQUAL(hook_encode_tensor(&r, &head, &tail), 0);
    uint64_t text = HOOK_MESSAGE_CEILING; /* the length of a string that is not there */
    CU_ASSERT_EQUAL(hook_encode_strings(&r, &text, &head, &tail), 0);
    assay_buf_release(&head);
    assay_buf_init(&head, 16); /* a buffer that gives up */
    r.content = 4;
    CU_ASSERT_EQUAL(hook_encode_tensor(&r, &head, &tail), 0);
    assay_buf_release(&head);
    assay_buf_release(&tail);
}

int main(void)
{
    CU_TestInfo tests[] = {{"bytes", test_bytes}, {"limits", test_limits}, CU_TEST_INFO_NULL};
    return unit_main("hook encode", tests);
}
