/* Lines of files of any length, packed or not. */
#include "container/lines.h"

#include <zlib.h>

#include "unit.h"
#include "workspace.h"

/* Reads a file to its end: how many lines, how many bytes they have, and what ended it. */
static int read_all(const workspace *w, const char *path, uint64_t *lines, uint64_t *bytes, uint64_t *missing)
{
    assay_store *store = NULL;
    assay_lines *l = NULL;
    const char *line = NULL;
    size_t length = 0;
    int status = 0;
    *lines = *bytes = *missing = 0;
    CU_ASSERT_EQUAL_FATAL(assay_store_open(w->root, &store, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(assay_lines_open(store, path, &l, NULL), 0);
    while ((status = assay_lines_next(l, &line, &length, NULL)) == 1) {
        ++*lines;
        *bytes += length;
        *missing += !line;
        CU_ASSERT_EQUAL(assay_lines_number(l), *lines);
    }
    assay_lines_close(l);
    assay_store_close(store);
    return status;
}

/* A text of numbered lines, of which every third is longer than a block. */
static char *make_text(size_t *size)
{
    enum { LINES = 40, LONGEST = 300 << 10 };
    char *text = malloc((size_t)LINES * LONGEST);
    *size = 0;
    for (int i = 0; i < LINES; i++) {
        const size_t length = i % 3 == 2 ? LONGEST - 1 - (size_t)i : (size_t)i * 7;
        memset(text + *size, 'a' + i % 26, length);
        *size += length;
        text[(*size)++] = '\n';
    }
    return text;
}

static void lines_of_any_length(void)
{
    workspace w;
    size_t size = 0;
    uint64_t lines = 0, bytes = 0, missing = 0;
    char *text = make_text(&size);
    workspace_make(&w);
    workspace_write(&w, "whole", text, size);
    CU_ASSERT_EQUAL(read_all(&w, "whole", &lines, &bytes, &missing), 0);
    CU_ASSERT(lines == 40 && bytes == size - 40 && missing == 0);
    workspace_write(&w, "no end", text, size - 1); /* the last line has no line feed */
    CU_ASSERT_EQUAL(read_all(&w, "no end", &lines, &bytes, &missing), 0);
    CU_ASSERT(lines == 40 && bytes == size - 40 && missing == 0);
    workspace_write(&w, "empty", text, 0);
    CU_ASSERT_EQUAL(read_all(&w, "empty", &lines, &bytes, &missing), 0);
    CU_ASSERT_EQUAL(lines, 0);
    free(text);
    text = malloc(ASSAY_LINE_MOST + 10);
    memset(text, 'x', ASSAY_LINE_MOST + 8);
    memcpy(text + ASSAY_LINE_MOST + 5, "\ny\n", 3);
    workspace_write(&w, "too long", text, ASSAY_LINE_MOST + 8);
    CU_ASSERT_EQUAL(read_all(&w, "too long", &lines, &bytes, &missing), 0);
    CU_ASSERT(lines == 2 && bytes == 1 && missing == 1);
    free(text);
    workspace_remove(&w);
}

/* Appends a member of gzip. */
static void pack_member(const char *text, size_t size, uint8_t *to, size_t *at, size_t room)
{
    z_stream s = {0};
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&s, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    s.next_in = (uint8_t *)(uintptr_t)text;
    s.avail_in = (uInt)size;
    s.next_out = to + *at;
    s.avail_out = (uInt)(room - *at);
    CU_ASSERT_EQUAL_FATAL(deflate(&s, Z_FINISH), Z_STREAM_END);
    *at += s.total_out;
    deflateEnd(&s);
}

static void packed_lines(void)
{
    enum { ROOM = 1 << 20, PADDING = 9 };
    workspace w;
    size_t size = 0, packed = 0;
    uint64_t lines = 0, bytes = 0, missing = 0;
    char *text = make_text(&size);
    uint8_t *gz = calloc(1, ROOM);
    workspace_make(&w);
    pack_member(text, size / 2, gz, &packed, ROOM);
    pack_member(text + size / 2, size - size / 2, gz, &packed, ROOM);
    workspace_write(&w, "packed", gz, packed + PADDING);
    CU_ASSERT_EQUAL(read_all(&w, "packed", &lines, &bytes, &missing), 0);
    CU_ASSERT(lines == 40 && bytes == size - 40 && missing == 0);
    for (size_t cut = 2; cut < packed; cut += packed / 50) { /* the lines before a cut are there, and it is told */
        uint64_t few = 0;
        workspace_write(&w, "cut", gz, cut);
        const int status = read_all(&w, "cut", &few, &bytes, &missing);
        CU_ASSERT(status == ASSAY_EFORMAT || few == 20); /* between the members nothing is missing */
        CU_ASSERT(few <= 40);
    }
    gz[packed / 3] ^= 0x55;
    workspace_write(&w, "damaged", gz, packed);
    CU_ASSERT_EQUAL(read_all(&w, "damaged", &lines, &bytes, &missing), ASSAY_EFORMAT);
    free(gz);
    free(text);
    workspace_remove(&w);
}

/* A thousand bytes for one: reading ends behind the first 64 MiB, which is told. */
static void far_more_than_was_packed(void)
{
    enum { LINE = 1024, SIZE = 80 << 20, ROOM = 1 << 20 };
    workspace w;
    size_t packed = 0;
    uint64_t lines = 0, bytes = 0, missing = 0;
    char *text = malloc(SIZE);
    uint8_t *gz = malloc(ROOM);
    memset(text, 'x', SIZE);
    for (size_t i = LINE - 1; i < SIZE; i += LINE)
        text[i] = '\n';
    workspace_make(&w);
    pack_member(text, SIZE, gz, &packed, ROOM);
    workspace_write(&w, "packed", gz, packed);
    CU_ASSERT_EQUAL(read_all(&w, "packed", &lines, &bytes, &missing), ASSAY_EFORMAT);
    CU_ASSERT(lines >= (64 << 20) / LINE && lines < (66 << 20) / LINE && missing == 0);
    free(gz);
    free(text);
    workspace_remove(&w);
}

/* Appends a unit of UTF-16. */
static void put_unit(uint8_t *to, size_t *at, bool big, unsigned unit)
{
    to[(*at)++] = (uint8_t)(big ? unit >> 8 : unit & 0xff);
    to[(*at)++] = (uint8_t)(big ? unit & 0xff : unit >> 8);
}

/* Lines of a letter of two bytes and a clef of four, over several blocks; half a pair is one of three, and half a letter at
 * the end is left out. A mark of UTF-8 is none of the text. */
static void in_other_encodings(void)
{
    enum { LINES = 50000, UNITS = 4, ROOM = 2 * (UNITS * LINES + 8) };
    workspace w;
    uint64_t lines = 0, bytes = 0, missing = 0;
    uint8_t *text = malloc(ROOM);
    workspace_make(&w);
    for (int big = 0; big < 2; big++) {
        size_t at = 0;
        put_unit(text, &at, big, 0xfeff);
        for (int i = 0; i < LINES; i++) {
            put_unit(text, &at, big, 0xe4);
            put_unit(text, &at, big, 0xd834);
            put_unit(text, &at, big, 0xdd1e);
            put_unit(text, &at, big, '\n');
        }
        put_unit(text, &at, big, 0xd834);
        put_unit(text, &at, big, '7');
        text[at++] = 'x';
        workspace_write(&w, "wide", text, at);
        CU_ASSERT_EQUAL(read_all(&w, "wide", &lines, &bytes, &missing), 0);
        CU_ASSERT(lines == LINES + 1 && bytes == 6 * LINES + 4 && missing == 0);
    }
    workspace_write(&w, "marked", "\xef\xbb\xbfone\ntwo\n", 11);
    CU_ASSERT_EQUAL(read_all(&w, "marked", &lines, &bytes, &missing), 0);
    CU_ASSERT(lines == 2 && bytes == 6);
    workspace_write(&w, "short", "a\n", 2);
    CU_ASSERT_EQUAL(read_all(&w, "short", &lines, &bytes, &missing), 0);
    CU_ASSERT(lines == 1 && bytes == 1);
    free(text);
    workspace_remove(&w);
}

int main(void)
{
    CU_TestInfo tests[] = {{"in other encodings", in_other_encodings},
                           {"lines of any length", lines_of_any_length},
                           {"lines of packed files", packed_lines},
                           {"far more than was packed", far_more_than_was_packed},
                           CU_TEST_INFO_NULL};
    return unit_main("lines", tests);
}
