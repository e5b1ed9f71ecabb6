/* Headers of checkpoints that are read in bulk: what is wrong first is said, and what lies together is read together.
 */
#include "container/safetensors.h"
#include "format/checkpoint/shard_map.h"
#include "container/zip.h"
#include "unit.h"

/* `^` stands where the fault is, and is taken out; `why` NULL: it is read. */
typedef struct header_case {
    const char *text, *why;
} header_case;

static size_t take_mark(const char *marked, char out[512])
{
    const char *mark = strchr(marked, '^');
    const size_t at = mark ? (size_t)(mark - marked) : 0;
    memcpy(out, marked, at);
    strcpy(out + at, marked + at + (mark != NULL));
    return at;
}

static void check(const header_case *c, int status, uint64_t at, uint64_t expected, const assay_error *err)
{
    CU_ASSERT_EQUAL(status, c->why ? ASSAY_EFORMAT : 0);
    if (c->why && (!strstr(err->text, c->why) || at != expected))
        fprintf(stderr, "%s\n: at %llu: %s\n", c->text, (unsigned long long)at, err->text);
    CU_ASSERT(!c->why || (strstr(err->text, c->why) && at == expected));
}

#define ENTRY "{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":"

static void test_safetensors(void)
{
    static const header_case cases[] = {
        {"{\"a\":" ENTRY "[0,4]},\"b\":" ENTRY "[4,8]}}", NULL},
        {"{\"a\":" ENTRY "[0,4]},^\"a\":" ENTRY "[4,8]}}", "a name stands twice"},
        {"{\"a\":" ENTRY "[0,4]},^\"\\u0061\":" ENTRY "[4,8]},\"b\":nothing", "a name stands twice"},
        {"{\"b\":" ENTRY "[0,4]},\"a\":" ENTRY "[4,8]},^ \"b\":{}}", "a name stands twice"},
        {"{\"a\":" ENTRY "[0,4]},^\"b\":{},\"a\":" ENTRY "[4,8]}}", "without dtype"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        assay_safetensors s;
        assay_error err = {{0}};
        uint64_t at = 0;
        const size_t expected = take_mark(cases[i].text, text);
        const int status = assay_safetensors_read(text, strlen(text), &s, &at, &err);
        check(&cases[i], status, at, expected, &err);
        assay_safetensors_release(&s);
    }
}

static void test_shard_map(void)
{
    static const header_case cases[] = {
        {"{\"weight_map\":{\"a\":\"1.st\",\"b\":\"2.st\"},\"metadata\":{\"total_size\":8}}", NULL},
        {"{\"weight_map\":{\"a\":\"1.st\",\"b\":\"2.st\",^\"a\":\"2.st\"}}", "a name stands twice"},
        {"{\"weight_map\":{\"a\":\"1.st\",^\"a\":\"2.st\"},\"weight_map\":{}}", "a name stands twice"},
        {"{\"weight_map\":{\"a\":\"1.st\",^\"b\":\"../2.st\",\"a\":\"2.st\"}}", "not the name of a file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        assay_shard_map map;
        assay_error err = {{0}};
        uint64_t at = 0;
        const size_t expected = take_mark(cases[i].text, text);
        const int status = assay_shard_map_read(text, strlen(text), &map, &at, &err);
        check(&cases[i], status, at, expected, &err);
        CU_ASSERT(status != 0 || (assay_dict_count(map.tensors) == 2 && map.total_size == 8));
        assay_shard_map_release(&map);
    }
}

/* ---- zip ---- */

typedef struct file {
    assay_buf bytes;
    int reads;
} file;

static int read_file(void *context, uint64_t at, void *bytes, size_t size, assay_error *err)
{
    file *f = context;
    f->reads++;
    if (at > f->bytes.size || size > f->bytes.size - at)
        return assay_fail(err, ASSAY_EIO, "beyond the end");
    memcpy(bytes, f->bytes.data + at, size);
    return ASSAY_OK;
}

static void put_zeros(assay_buf *out, size_t count)
{
    while (count-- > 0)
        assay_put_u8(out, 0);
}

/* What a local header and an entry of the directory have in common. */
static void put_common(assay_buf *out, uint32_t size, uint16_t name)
{
    put_zeros(out, 8); /* flags, method, time, date */
    put_zeros(out, 4); /* CRC-32 */
    assay_put_u32(out, size);
    assay_put_u32(out, size);
    assay_put_u8(out, (uint8_t)name);
    put_zeros(out, 3);
}

enum { ENTRIES = 40 };

/* A zip of entries n0, n1, ... of `size` bytes; `last` is the number that the last one is named by. */
static void make_zip(file *f, uint32_t size, bool turned, unsigned last)
{
    uint32_t header[ENTRIES];
    char name[ENTRIES][8];
    assay_buf_init(&f->bytes, SIZE_MAX);
    f->reads = 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        const uint16_t length = (uint16_t)sprintf(name[i], "n%u", i == ENTRIES - 1 ? last : i);
        header[i] = (uint32_t)f->bytes.size;
        assay_put_bytes(&f->bytes, "PK\3\4\24\0", 6);
        put_common(&f->bytes, size, length);
        assay_put_bytes(&f->bytes, name[i], length);
        put_zeros(&f->bytes, size);
    }
    const size_t directory = f->bytes.size;
    for (unsigned k = 0; k < ENTRIES; k++) {
        const unsigned i = turned ? ENTRIES - 1 - k : k;
        assay_put_bytes(&f->bytes, "PK\1\2\24\0\24\0", 8);
        put_common(&f->bytes, size, (uint16_t)strlen(name[i]));
        put_zeros(&f->bytes, 10);
        assay_put_u32(&f->bytes, header[i]);
        assay_put_bytes(&f->bytes, name[i], strlen(name[i]));
    }
    const size_t end = f->bytes.size;
    assay_put_bytes(&f->bytes, "PK\5\6\0\0\0\0", 8);
    assay_put_u32(&f->bytes, ENTRIES << 16 | ENTRIES);
    assay_put_u32(&f->bytes, (uint32_t)(end - directory));
    assay_put_u32(&f->bytes, (uint32_t)directory);
    put_zeros(&f->bytes, 2);
    CU_ASSERT_EQUAL_FATAL(assay_buf_status(&f->bytes), 0);
}

static void test_zip(void)
{
    static const struct {
        uint32_t size;
        bool turned;
        int most; /* reads */
    } cases[] = {{100, false, 3}, {100, true, 3}, {5000, false, ENTRIES + 2}, {4000, true, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file f;
        assay_zip zip;
        assay_error err = {{0}};
        make_zip(&f, cases[i].size, cases[i].turned, ENTRIES - 1);
        CU_ASSERT_EQUAL_FATAL(assay_zip_open(read_file, &f, f.bytes.size, "f", &zip, &err), 0);
        CU_ASSERT(f.reads <= cases[i].most);
        CU_ASSERT_EQUAL(assay_dict_count(zip.names), ENTRIES);
        for (unsigned k = 0; k < ENTRIES; k++) {
            char name[8];
            const uint32_t id = assay_dict_find(zip.names, name, (size_t)sprintf(name, "n%u", k));
            CU_ASSERT_FATAL(id != ASSAY_NO_ID);
            CU_ASSERT_EQUAL(zip.entry[id].data, zip.entry[id].header + 30 + strlen(name));
        }
        assay_zip_release(&zip);
        assay_buf_release(&f.bytes);
    }
}

static void test_zip_names(void)
{
    file f;
    assay_zip zip;
    assay_error err = {{0}};
    make_zip(&f, 10, false, 3);
    CU_ASSERT_EQUAL(assay_zip_open(read_file, &f, f.bytes.size, "f", &zip, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "two entries have one name"));
    f.bytes.data[30] = 'x'; /* the name in the first local header, which is read later */
    CU_ASSERT_EQUAL(assay_zip_open(read_file, &f, f.bytes.size, "f", &zip, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "two entries have one name"));
    assay_buf_release(&f.bytes);
    make_zip(&f, 10, false, ENTRIES - 1);
    f.bytes.data[30] = 'x';
    CU_ASSERT_EQUAL(assay_zip_open(read_file, &f, f.bytes.size, "f", &zip, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another name than the directory says"));
    assay_buf_release(&f.bytes);
}

int main(void)
{
    CU_TestInfo tests[] = {{"names that stand twice in a header", test_safetensors},
                           {"names that stand twice in an index", test_shard_map},
                           {"local headers are read together", test_zip},
                           {"names that stand twice in a zip", test_zip_names},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/checkpoint headers", tests);
}
