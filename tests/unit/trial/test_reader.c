/* Records of event files: every form of content. */
#include "reader_open.h"

static void test_plain(void)
{
    opened o;
    const float values[6] = {1, 2, 3, 4, 5, 6};
    const int64_t dim[2] = {2, 3};
    for (int true_crc = 0; true_crc < 2; true_crc++) {
        assay_buf tensor = tensor_bytes(ASSAY_FLOAT32, 2, dim, values, sizeof values);
        open_payload(&o, event_bytes("a/b", tensor), true_crc);
        CU_ASSERT_EQUAL(o.status, 0);
        CU_ASSERT_EQUAL(o.record.checksum, true_crc ? ASSAY_CHECKSUM_TRUE : ASSAY_CHECKSUM_CONSTANT);
        CU_ASSERT_STRING_EQUAL(o.record.tag, "a/b");
        CU_ASSERT_EQUAL(o.record.tag_length, 3);
        CU_ASSERT_EQUAL(o.record.mode, 2);
        CU_ASSERT_EQUAL(o.record.mode_step, 7);
        CU_ASSERT_EQUAL(o.record.step, 42);
        CU_ASSERT_EQUAL(o.record.wall_time, 1234.5);
        CU_ASSERT_EQUAL(o.record.dims, 2);
        CU_ASSERT(o.record.shape[0] == 2 && o.record.shape[1] == 3);
        CU_ASSERT_EQUAL(o.record.elements, 6);
        CU_ASSERT_EQUAL(o.record.form, ASSAY_CONTENT_BYTES);
        expect_content(&o, values, sizeof values);
    }
}

static void test_every_dtype(void)
{
    static const struct {
        int number;
        size_t size;
    } dtypes[] = {
#define ROW(name, number, size, text) {number, size},
        ASSAY_DTYPE_LIST(ROW)
#undef ROW
    };
    uint8_t content[48];
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i * 7 + 1);
    for (size_t i = 1; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (dtypes[i].number > ASSAY_FLOAT8_E4M3FN) /* checkpoints have it, records do not */
            continue;
        opened o;
        const int64_t three = 3;
        open_tensor(&o, tensor_bytes(dtypes[i].number, 1, &three, content, 3 * dtypes[i].size));
        CU_ASSERT_EQUAL(o.record.dtype, dtypes[i].number);
        CU_ASSERT_EQUAL(o.record.content_bytes, 3 * dtypes[i].size);
        expect_content(&o, content, 3 * dtypes[i].size);
    }
}

static void test_empty_and_scalar(void)
{
    opened o;
    const int64_t zero[3] = {INT64_MAX, 0, INT64_MAX};
    const double pi = 3.14;
    open_tensor(&o, tensor_bytes(ASSAY_FLOAT64, 3, zero, NULL, 0));
    CU_ASSERT_EQUAL(o.record.elements, 0);
    expect_content(&o, "", 0);
    open_tensor(&o, tensor_bytes(ASSAY_FLOAT64, 0, NULL, &pi, sizeof pi));
    CU_ASSERT_EQUAL(o.record.elements, 1);
    expect_content(&o, &pi, sizeof pi);
}

static void test_typed(void)
{
    static const struct {
        int dtype;
        unsigned field, type;
        uint64_t value[2];
        size_t size; /* of the two in memory */
        uint8_t bytes[16];
    } rows[] = {
        {ASSAY_FLOAT32, 5, 5, {0x3f800000, 0x40000000}, 8, {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}},
        {ASSAY_FLOAT64, 6, 1, {0x3ff0000000000000, 2}, 16, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 2}},
        {ASSAY_INT32, 7, 0, {(uint64_t)-1, 5}, 8, {255, 255, 255, 255, 5}},
        {ASSAY_INT16, 7, 0, {(uint64_t)-2, 300}, 4, {254, 255, 0x2c, 1}},
        {ASSAY_INT8, 7, 0, {(uint64_t)-128, 127}, 2, {128, 127}},
        {ASSAY_UINT8, 7, 0, {255, 1}, 2, {255, 1}},
        {ASSAY_UINT16, 7, 0, {65535, 1}, 4, {255, 255, 1, 0}},
        {ASSAY_INT64, 10, 0, {(uint64_t)-3, 1}, 16, {253, 255, 255, 255, 255, 255, 255, 255, 1}},
        {ASSAY_BOOL, 11, 0, {1, 0}, 2, {1, 0}},
        {ASSAY_FLOAT16, 13, 0, {0x3c00, 0x4000}, 4, {0, 0x3c, 0, 0x40}},
        {ASSAY_BFLOAT16, 13, 0, {0x3f80, 0x4000}, 4, {0x80, 0x3f, 0, 0x40}},
        {ASSAY_UINT32, 16, 0, {0xffffffff, 7}, 8, {255, 255, 255, 255, 7}},
        {ASSAY_UINT64, 17, 0, {UINT64_MAX, 7}, 16, {255, 255, 255, 255, 255, 255, 255, 255, 7}},
    };
    const int64_t two = 2;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        opened o;
        bool packed = i % 2;
        assay_buf t = tensor_bytes(rows[i / 2].dtype, 1, &two, NULL, 0);
        put_values(&t, rows[i / 2].field, rows[i / 2].type, rows[i / 2].value, 2, packed);
        open_tensor(&o, t);
        CU_ASSERT_EQUAL(o.record.form, ASSAY_CONTENT_TYPED);
        expect_content(&o, rows[i / 2].bytes, rows[i / 2].size);
    }
}

static void test_typed_complex(void)
{
    opened o;
    const int64_t three = 3;
    const uint64_t one_i[2] = {0x3f800000, 0x40000000};
    uint8_t wanted[24];
    for (int i = 0; i < 3; i++)
        memcpy(wanted + 8 * i, "\0\0\x80\x3f\0\0\0\x40", 8);
    assay_buf t = tensor_bytes(ASSAY_COMPLEX64, 1, &three, NULL, 0);
    put_values(&t, 9, 5, one_i, 2, true);
    open_tensor(&o, t); /* one element, which stands for all three */
    expect_content(&o, wanted, sizeof wanted);
}

static void test_single_value_repeats(void)
{
    opened o;
    const int64_t dim[2] = {1000, 77};
    const uint64_t value = 0x40490fdb;
    float *wanted = malloc(77000 * sizeof *wanted);
    for (int i = 0; i < 77000; i++)
        memcpy(&wanted[i], &(uint32_t){0x40490fdb}, 4);
    assay_buf t = tensor_bytes(ASSAY_FLOAT32, 2, dim, NULL, 0);
    put_values(&t, 5, 5, &value, 1, false);
    open_tensor(&o, t);
    expect_content(&o, wanted, 77000 * sizeof *wanted);
    free(wanted);
}

static void test_strings(void)
{
    opened o;
    size_t length = 0;
    assay_buf t = tensor_bytes(0, 1, &(int64_t){2}, NULL, 0);
    put_field(&t, 8, "nan", 3);
    put_field(&t, 8, "a\0b\n", 4);
    open_tensor(&o, t);
    CU_ASSERT_EQUAL_FATAL(o.status, 0);
    CU_ASSERT_EQUAL(o.record.form, ASSAY_CONTENT_STRINGS);
    CU_ASSERT_EQUAL(o.record.dtype, ASSAY_STRING);
    CU_ASSERT_EQUAL(o.record.content_bytes, 7);
    const char *text = assay_reader_string(o.file, 1, &length);
    CU_ASSERT(length == 4 && memcmp(text, "a\0b\n", 4) == 0);
    text = assay_reader_string(o.file, 0, &length);
    CU_ASSERT(length == 3 && memcmp(text, "nan", 3) == 0);
    shut(&o);
    t = tensor_bytes(7, 1, &(int64_t){3}, NULL, 0);
    put_field(&t, 8, "x", 1);
    put_field(&t, 8, "y", 1);
    open_tensor(&o, t);
    expect_damage(&o, "fewer strings");
}

static void test_budget(void)
{
    opened o;
    assay_buf file = bytes_new(), t = tensor_bytes(ASSAY_FLOAT32, 1, &(int64_t){1 << 16}, NULL, 0);
    put_values(&t, 5, 5, &(uint64_t){1}, 1, false);
    uint64_t length = put_record(&file, event_bytes("t", t), true);
    open_at(&o, &file, 0, length, (256 << 10) - 1);
    CU_ASSERT_EQUAL(o.status, ASSAY_EBUDGET);
    o.status = assay_reader_record(o.file, 0, length, 256 << 10, &o.record, &o.err);
    CU_ASSERT_EQUAL(o.status, 0);
    shut(&o);
    assay_buf_release(&file);
}

static void test_share(void)
{ /* one value for 2048 elements a byte of the record, and no more */
    opened o;
    assay_buf t = tensor_bytes(ASSAY_FLOAT32, 1, &(int64_t){1 << 20}, NULL, 0);
    put_values(&t, 5, 5, &(uint64_t){1}, 1, false);
    open_tensor(&o, t);
    expect_damage(&o, "stands for too many");
}

static void test_simple_value(void)
{
    opened o;
    assay_buf value = bytes_new(), summary = bytes_new(), event = bytes_new();
    put_field(&value, 1, "loss", 4);
    put_key(&value, 2, 5);
    assay_put_u32(&value, 0x40000000);
    put_message(&summary, 1, value);
    put_message(&event, 5, summary);
    open_payload(&o, event, true);
    CU_ASSERT_EQUAL(o.record.dtype, ASSAY_FLOAT32);
    CU_ASSERT_EQUAL(o.record.dims, 0);
    CU_ASSERT_EQUAL(o.record.elements, 1);
    CU_ASSERT_EQUAL(o.record.mode, 0);
    CU_ASSERT_EQUAL(o.record.mode_step, -1);
    expect_content(&o, "\0\0\0\x40", 4);
}

/* Of a large record only the head is in the buffer: content by pieces of every kind, metadata from the tail. */
static void test_large(void)
{
    const size_t elements = 300000;
    const int64_t dim = (int64_t)elements;
    static const size_t most[] = {0, 1, 17, 4096, 100000, 1 << 20};
    uint32_t *values = malloc(elements * 4);
    for (size_t i = 0; i < elements; i++)
        values[i] = (uint32_t)(i * 2654435761u);
    for (int true_crc = 0; true_crc < 2; true_crc++) {
        assay_buf file = bytes_new();
        put_record(&file, event_bytes("before", tensor_bytes(ASSAY_FLOAT32, 1, &(int64_t){2}, values, 8)), true);
        uint64_t at = file.size;
        uint64_t length =
            put_record(&file, event_bytes("big", tensor_bytes(ASSAY_FLOAT32, 1, &dim, values, elements * 4)), true_crc);
        uint64_t after = file.size;
        uint64_t last =
            put_record(&file, event_bytes("after", tensor_bytes(ASSAY_FLOAT32, 1, &(int64_t){2}, values, 8)), true);
        for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
            opened o;
            size_t size = 0, pieces = 0;
            open_at(&o, &file, at, length, 0);
            CU_ASSERT_EQUAL_FATAL(o.status, 0);
            if (i % 2)
                assay_reader_expect(o.file, 0, UINT64_MAX);
            CU_ASSERT_STRING_EQUAL(o.record.tag, "big");
            CU_ASSERT(o.record.mode == 2 && o.record.mode_step == 7);
            uint8_t *all = collect(&o, most[i], &size, &pieces);
            CU_ASSERT_EQUAL(o.status, 0);
            CU_ASSERT(size == elements * 4 && memcmp(all, values, size) == 0);
            CU_ASSERT(pieces > 1);
            free(all);
            expect_put(&o, values, elements * 4, most[i]);
            CU_ASSERT_EQUAL(assay_reader_record(o.file, after, last, 0, &o.record, &o.err), 0);
            CU_ASSERT_STRING_EQUAL(o.record.tag, "after");
            all = collect(&o, 0, &size, &pieces);
            CU_ASSERT(size == 8 && memcmp(all, values, 8) == 0);
            free(all);
            shut(&o);
        }
        assay_buf_release(&file);
    }
    free(values);
}

/* Contents of many sizes about those of the buffer and of twice the buffer, put elsewhere, where damage shows as well.
 */
static void test_put(void)
{
    enum { LONGEST = 300000 };
    uint8_t *values = malloc(LONGEST);
    for (size_t i = 0; i < LONGEST; i++)
        values[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t size = 65000; size < LONGEST; size += size < 66000 || (size > 130000 && size < 132000) ? 13 : 4099) {
        opened o;
        assay_buf file = bytes_new();
        uint64_t length =
            put_record(&file, event_bytes("t", tensor_bytes(ASSAY_UINT8, 1, &(int64_t){(int64_t)size}, values, size)),
                       size % 2 == 0);
        open_at(&o, &file, 0, length, 0);
        CU_ASSERT_EQUAL_FATAL(o.status, 0);
        expect_put(&o, values, size, size % 3 ? 0 : 1000);
        shut(&o);
        file.data[size / 2] ^= 1;
        open_at(&o, &file, 0, length, 0);
        uint8_t *to = malloc(size);
        const uint8_t *piece;
        size_t n = 1;
        if (o.status == 0)
            assay_reader_put_at(o.file, to);
        while (o.status == 0 && n > 0)
            o.status = assay_reader_content(o.file, 0, &piece, &n, &o.err);
        CU_ASSERT_EQUAL(o.status, size % 2 == 0 ? ASSAY_EFORMAT : ASSAY_OK);
        free(to);
        shut(&o);
        assay_buf_release(&file);
    }
    free(values);
}

/* Typed values and strings of a record that does not fit the buffer are decoded through blocks. */
static void test_large_typed(void)
{
    opened o;
    enum { COUNT = 150000 };
    uint64_t *values = malloc(COUNT * sizeof *values);
    int32_t *wanted = malloc(COUNT * sizeof *wanted);
    for (int i = 0; i < COUNT; i++) {
        wanted[i] = (i % 3 ? -1 : 1) * i;
        values[i] = (uint64_t)(int64_t)wanted[i];
    }
    for (int packed = 0; packed < 2; packed++) {
        assay_buf t = tensor_bytes(ASSAY_INT32, 1, &(int64_t){COUNT}, NULL, 0);
        put_values(&t, 7, 0, values, COUNT, packed);
        open_tensor(&o, t);
        expect_content(&o, wanted, COUNT * sizeof *wanted);
    }
    assay_buf t = tensor_bytes(0, 1, &(int64_t){20000}, NULL, 0);
    for (int i = 0; i < 20000; i++)
        put_field(&t, 8, values, 1 + i % 30);
    open_tensor(&o, t);
    CU_ASSERT_EQUAL_FATAL(o.status, 0);
    size_t length = 0;
    const char *text = assay_reader_string(o.file, 19999, &length);
    CU_ASSERT(length == 1 + 19999 % 30 && memcmp(text, values, length) == 0);
    shut(&o);
    free(values);
    free(wanted);
}

static void test_odd_tags(void)
{
    opened o;
    open_payload(&o, event_bytes("line\nbreak\xff\xfe", tensor_bytes(ASSAY_INT8, 0, NULL, "x", 1)), true);
    CU_ASSERT_EQUAL(o.status, 0);
    CU_ASSERT_STRING_EQUAL(o.record.tag, "line\nbreak\xff\xfe");
    shut(&o);
    char *tag = malloc(70000);
    memset(tag, 'a', 69999);
    tag[69999] = '\0';
    open_payload(&o, event_bytes(tag, tensor_bytes(ASSAY_INT8, 0, NULL, "x", 1)), true);
    expect_damage(&o, "name has 69999 bytes");
    free(tag);
}

/* Many records, in order and not, through one window; a missing file in between. */
static void test_many(void)
{
    enum { RECORDS = 3000 };
    opened o;
    assay_buf file = bytes_new();
    uint64_t *at = malloc((RECORDS + 1) * sizeof *at);
    for (int i = 0; i < RECORDS; i++) {
        char tag[16];
        at[i] = file.size;
        snprintf(tag, sizeof tag, "t%d", i);
        put_record(&file, event_bytes(tag, tensor_bytes(ASSAY_INT32, 1, &(int64_t){1}, &(int32_t){i}, 4)), i % 2);
    }
    at[RECORDS] = file.size;
    open_at(&o, &file, 0, at[1], 0);
    CU_ASSERT_EQUAL(assay_reader_open_path(&o.file, o.store, 0, "missing", 0, &o.err), ASSAY_ENOTFOUND);
    CU_ASSERT_EQUAL(assay_reader_record(o.file, 0, at[1], 0, &o.record, &o.err), ASSAY_EINTERNAL);
    CU_ASSERT_EQUAL_FATAL(assay_reader_open_path(&o.file, o.store, 0, "e.tfevents", 0, &o.err), 0);
    for (int round = 0; round < 2; round++) {
        assay_reader_expect(o.file, 0, round ? UINT64_MAX : 0);
        for (int k = 0; k < RECORDS; k++) {
            const uint8_t *piece = NULL;
            size_t size = 0;
            int32_t value = -1;
            int i = round ? k : (k * 1237) % RECORDS;
            CU_ASSERT_EQUAL_FATAL(assay_reader_record(o.file, at[i], at[i + 1] - at[i], 0, &o.record, &o.err), 0);
            CU_ASSERT_EQUAL_FATAL(assay_reader_content(o.file, 0, &piece, &size, &o.err), 0);
            CU_ASSERT_EQUAL_FATAL(size, 4);
            memcpy(&value, piece, 4);
            CU_ASSERT_EQUAL_FATAL(value, i);
        }
    }
    shut(&o);
    free(at);
    assay_buf_release(&file);
}

/* Records in order cost one read a window, not one each. */
static void test_reads(void)
{
    enum { RECORDS = 3000, WINDOW = 64 << 10 };
    opened o;
    char fault[32];
    assay_buf file = bytes_new();
    uint64_t *at = malloc((RECORDS + 1) * sizeof *at);
    for (int i = 0; i < RECORDS; i++) {
        at[i] = file.size;
        put_record(&file, event_bytes("t", tensor_bytes(ASSAY_INT32, 1, &(int64_t){1}, &(int32_t){i}, 4)), i % 2);
    }
    at[RECORDS] = file.size;
    open_at(&o, &file, 0, at[1], 0);
    CU_ASSERT_EQUAL_FATAL(assay_reader_open_path(&o.file, o.store, 0, "e.tfevents", 0, &o.err), 0);
    assay_reader_expect(o.file, 0, UINT64_MAX);
    snprintf(fault, sizeof fault, "read:%zu+", file.size / (WINDOW - 1024) + 2);
    setenv("ASSAY_FAULT", fault, 1);
    assay_fault_arm(0);
    for (int i = 0; i < RECORDS; i++)
        CU_ASSERT_EQUAL_FATAL(assay_reader_record(o.file, at[i], at[i + 1] - at[i], 0, &o.record, &o.err), 0);
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    shut(&o);
    free(at);
    assay_buf_release(&file);
}

int main(void)
{
    CU_TestInfo tests[] = {{"a float32 tensor, both checksums", test_plain},
                           {"every dtype as content", test_every_dtype},
                           {"empty tensors and scalars", test_empty_and_scalar},
                           {"typed values, packed and not", test_typed},
                           {"typed complex values", test_typed_complex},
                           {"a single value stands for all", test_single_value_repeats},
                           {"strings", test_strings},
                           {"the budget of typed values", test_budget},
                           {"a short record for many elements", test_share},
                           {"simple_value", test_simple_value},
                           {"a record larger than the buffer", test_large},
                           {"a content put elsewhere", test_put},
                           {"typed values in a large record", test_large_typed},
                           {"odd names", test_odd_tags},
                           {"thousands of records in one file", test_many},
                           {"few reads for many records", test_reads},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/event", tests);
}
