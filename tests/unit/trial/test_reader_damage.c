/* Records of event files: every way in which one can be damaged. */
#include "reader_open.h"

static void test_typed_damage(void)
{
    opened o;
    const int64_t three = 3;
    const uint64_t two[2] = {1, 300}, four[4] = {1, 2, 3, 4};
    assay_buf t = tensor_bytes(ASSAY_INT32, 1, &three, NULL, 0);
    put_values(&t, 7, 0, two, 2, true);
    open_tensor(&o, t);
    expect_damage(&o, "fewer values");
    t = tensor_bytes(ASSAY_INT32, 1, &three, NULL, 0);
    put_values(&t, 7, 0, four, 4, true);
    open_tensor(&o, t);
    expect_damage(&o, "more values");
    t = tensor_bytes(ASSAY_UINT8, 1, &(int64_t){2}, NULL, 0);
    put_values(&t, 7, 0, two, 2, true);
    open_tensor(&o, t);
    expect_damage(&o, "does not fit its dtype");
    open_tensor(&o, tensor_bytes(ASSAY_FLOAT32, 1, &three, NULL, 0));
    expect_damage(&o, "no content");
    t = tensor_bytes(ASSAY_FLOAT32, 1, &three, NULL, 0);
    put_field(&t, 5, "abcdefghijk", 11);
    open_tensor(&o, t);
    expect_damage(&o, "cut within a value");
}

static void test_no_tensor(void)
{
    opened o;
    assay_buf value = bytes_new(), summary = bytes_new(), event = bytes_new();
    put_field(&value, 1, "h", 1);
    put_field(&value, 5, "histogram", 9);
    put_message(&summary, 1, value);
    put_message(&event, 5, summary);
    open_payload(&o, event, true);
    expect_damage(&o, "holds no tensor");
    event = bytes_new();
    put_field(&event, 3, "brain.Event:2", 13);
    open_payload(&o, event, true);
    expect_damage(&o, "holds no tensor");
    open_payload(&o, bytes_new(), false);
    expect_damage(&o, "holds no tensor");
}

/* In a large record with a true CRC, a flipped bit anywhere is found by the end of the content. */
static void test_large_flipped(void)
{
    const int64_t dim = 100000;
    uint8_t *zeros = calloc(1, 400000);
    assay_buf file = bytes_new();
    uint64_t length = put_record(&file, event_bytes("big", tensor_bytes(ASSAY_FLOAT32, 1, &dim, zeros, 400000)), true);
    const size_t at[] = {14, 100, 70000, 200000, 400020, (size_t)length - 8, (size_t)length - 1};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        opened o;
        size_t size = 0, pieces = 0;
        file.data[at[i]] ^= 0x10;
        open_at(&o, &file, 0, length, 1 << 20);
        if (o.status == 0)
            free(collect(&o, 0, &size, &pieces));
        CU_ASSERT_EQUAL(o.status, ASSAY_EFORMAT);
        shut(&o);
        file.data[at[i]] ^= 0x10;
    }
    assay_buf_release(&file);
    free(zeros);
}

static void test_flipped_bits(void)
{
    const float values[4] = {1, 2, 3, 4};
    assay_buf file = bytes_new();
    uint64_t length =
        put_record(&file, event_bytes("t", tensor_bytes(ASSAY_FLOAT32, 1, &(int64_t){4}, values, 16)), true);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        opened o;
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        open_at(&o, &file, 0, length, 1 << 20);
        expect_damage(&o, "checksum");
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assay_buf_release(&file);
}

static void test_wrong_range(void)
{
    opened o;
    assay_buf file = bytes_new();
    uint64_t length = put_record(&file, event_bytes("t", tensor_bytes(ASSAY_INT8, 1, &(int64_t){4}, "abcd", 4)), true);
    open_at(&o, &file, 0, length + 1, 0);
    expect_damage(&o, "end behind the end of the file");
    open_at(&o, &file, UINT64_MAX - 3, 20, 0);
    expect_damage(&o, "end behind the end of the file");
    open_at(&o, &file, 8, UINT64_MAX, 0);
    expect_damage(&o, "end behind the end of the file");
    open_at(&o, &file, 0, 15, 0);
    expect_damage(&o, "an empty one has 16");
    open_at(&o, &file, 0, length - 1, 0);
    expect_damage(&o, "the index says");
    open_at(&o, &file, 1, length - 1, 0);
    expect_damage(&o, "none begins here");
    /* cut in the middle of the record, and the index does not know */
    file.size -= 10;
    open_at(&o, &file, 0, length, 0);
    expect_damage(&o, "cut short");
    assay_buf_release(&file);
}

static void test_shape_damage(void)
{
    opened o;
    const float four[4] = {0};
    open_tensor(&o, tensor_bytes(ASSAY_FLOAT32, 1, &(int64_t){5}, four, 16));
    expect_damage(&o, "its content has 16 bytes");
    open_tensor(&o, tensor_bytes(ASSAY_FLOAT32, 1, &(int64_t){-1}, four, 16));
    expect_damage(&o, "is unknown (-1)");
    open_tensor(&o, tensor_bytes(ASSAY_FLOAT32, 3, (int64_t[]){INT64_MAX, 3, 3}, four, 16));
    expect_damage(&o, "more than 64 bits");
    open_tensor(&o, tensor_bytes(ASSAY_FLOAT32, 1, (int64_t[]){INT64_MAX / 2}, four, 16));
    expect_damage(&o, "more than 64 bits");
    open_tensor(&o, tensor_bytes(99, 1, &(int64_t){4}, four, 16));
    expect_damage(&o, "dtype 99 is not known");
    open_tensor(&o, tensor_bytes(0, 1, &(int64_t){4}, four, 16));
    expect_damage(&o, "its content has 16 bytes");
    int64_t many[65];
    for (int i = 0; i < 65; i++)
        many[i] = 1;
    open_tensor(&o, tensor_bytes(ASSAY_INT8, 65, many, four, 1));
    expect_damage(&o, "more than 64 dimensions");
    open_tensor(&o, tensor_bytes(ASSAY_INT8, 64, many, four, 1));
    expect_content(&o, four, 1);
}

static void test_protobuf_damage(void)
{
    opened o;
    assay_buf event = bytes_new();
    put_key(&event, 5, 2);
    put_varint(&event, UINT64_MAX); /* a length beyond everything */
    open_payload(&o, event, false);
    expect_damage(&o, "longer than the message");
    event = bytes_new();
    put_number(&event, 5, 3); /* a summary that is a number */
    open_payload(&o, event, false);
    expect_damage(&o, "wire type 0 where 2 belongs");
    event = bytes_new();
    put_key(&event, 1, 3); /* groups open and never close */
    open_payload(&o, event, false);
    expect_damage(&o, "a type that does not occur");
    event = bytes_new();
    assay_put_bytes(&event, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
    open_payload(&o, event, false);
    expect_damage(&o, "proper number");
    event = bytes_new();
    assay_put_bytes(&event, "\x09zzz", 4); /* wall_time, cut */
    open_payload(&o, event, false);
    expect_damage(&o, "cut short");
    assay_buf inner = bytes_new(); /* messages in messages, 5000 deep: only as deep as the schema is looked at */
    for (int i = 0; i < 5000; i++) {
        assay_buf outer = bytes_new();
        put_message(&outer, 1 + 4 * (i == 4999), inner);
        inner = outer;
    }
    open_payload(&o, inner, false);
    CU_ASSERT_EQUAL(o.status, ASSAY_EFORMAT);
    shut(&o);
}

int main(void)
{
    CU_TestInfo tests[] = {{"typed values that do not fit", test_typed_damage},
                           {"records without a tensor", test_no_tensor},
                           {"flipped bits in a large record", test_large_flipped},
                           {"every flipped bit of a small record", test_flipped_bits},
                           {"ranges that are no record", test_wrong_range},
                           {"shapes and dtypes that cannot be", test_shape_damage},
                           {"damaged protobuf", test_protobuf_damage},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/event damage", tests);
}
