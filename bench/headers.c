/* The bound for opening checkpoints: goes over the headers of files once, in a bare loop that finds every name and
 * number and keeps them; nothing is checked, looked up or compared.
 *
 * Use: headers [parse] FILE...
 *   FILE.safetensors   the text of its header
 *   FILE.json          all of it: an index of shards
 *   others             a torch zip: its directory, and the opcodes of its data.pkl
 * With `parse` texts go through a checking parser instead, cJSON, and the loop walks over the tree that it makes.
 * Prints seconds, files, names, numbers and a sum of the numbers. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"

typedef struct name {
    const char *text;
    size_t length;
} name;

static name *names;
static uint64_t *numbers;
static size_t name_count, number_count, room;

static void fail(const char *path)
{
    fprintf(stderr, "headers: %s: cannot be read\n", path);
    exit(1);
}

static void reserve(void)
{
    if (name_count < room && number_count < room)
        return;
    room = room ? 2 * room : 1 << 16;
    names = realloc(names, room * sizeof *names);
    numbers = realloc(numbers, room * sizeof *numbers);
    if (!names || !numbers)
        fail("memory");
}

static void keep_name(const void *text, size_t length)
{
    reserve();
    names[name_count++] = (name){text, length};
}

static void keep_number(uint64_t number)
{
    reserve();
    numbers[number_count++] = number;
}

/* Little-endian. */
static uint64_t number_at(const uint8_t *p, unsigned width)
{
    uint64_t number = 0;
    memcpy(&number, p, width);
    return number;
}

/* Bytes of a file, which stay: names point into them. */
static uint8_t *read_bytes(int file, uint64_t at, uint64_t size, const char *path)
{
    uint8_t *bytes = size > 1u << 30 ? NULL : malloc(size + 1);
    if (!bytes || pread(file, bytes, size, (off_t)at) != (ssize_t)size)
        fail(path);
    bytes[size] = '\0';
    return bytes;
}

/* ---- texts ---- */

static void scan(const char *at, const char *end)
{
    while (at < end) {
        if (*at == '"') {
            const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
            if (!close)
                return;
            keep_name(at + 1, (size_t)(close - at - 1));
            at = close + 1;
        } else if (*at >= '0' && *at <= '9') {
            uint64_t number = 0;
            for (; at < end && *at >= '0' && *at <= '9'; at++)
                number = 10 * number + (uint64_t)(*at - '0');
            keep_number(number);
        } else {
            at++;
        }
    }
}

/* Names and numbers lie in the tree already: they are counted. */
static uint64_t walk(const cJSON *item)
{
    uint64_t sum = 0;
    for (; item; item = item->next) {
        name_count += (item->string != NULL) + (item->valuestring != NULL);
        number_count += cJSON_IsNumber(item) != 0;
        sum += (cJSON_IsNumber(item) ? (uint64_t)item->valuedouble : 0) + walk(item->child);
    }
    return sum;
}

static uint64_t read_text(int file, uint64_t at, uint64_t size, bool parse, const char *path)
{
    const char *text = (const char *)read_bytes(file, at, size, path);
    const cJSON *tree = parse ? cJSON_ParseWithLength(text, size) : NULL; /* it stays, too */
    if (parse && !tree)
        fail(path);
    if (!parse)
        scan(text, text + size);
    return walk(tree);
}

/* ---- torch ---- */

/* The bytes of an opcode's number, and of a text's length; what is in neither list stands alone. */
static const uint8_t number_width[256] = {
    ['K'] = 1, ['M'] = 2, ['J'] = 4, ['G'] = 8, ['q'] = 1, ['r'] = 4, ['h'] = 1, ['j'] = 4, [0x80] = 1, [0x95] = 8};
static const uint8_t length_width[256] = {
    ['X'] = 4, ['B'] = 4, ['C'] = 1, [0x8a] = 1, [0x8c] = 1, [0x8d] = 8, [0x8e] = 8, [0x96] = 8};

static void run_over(const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at != '.') {
        const uint8_t code = *at++, width = number_width[code], length = length_width[code];
        if (width) {
            keep_number(number_at(at, width));
            at += width;
        } else if (length) {
            const uint64_t size = number_at(at, length);
            keep_name(at + length, size);
            at += length + size;
        } else if (code == 'c') { /* two lines */
            for (int line = 0; line < 2; line++) {
                const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
                keep_name(at, (size_t)(stop - at));
                at = stop + 1;
            }
        }
    }
}

/* A number of an entry, or that of its zip64 field. */
static uint64_t wide_at(const uint8_t *p, const uint8_t **extra)
{
    const uint64_t number = number_at(p, 4);
    if (number != 0xffffffff)
        return number;
    *extra += 8;
    return number_at(*extra - 8, 8);
}

static void read_zip(int file, uint64_t size, const char *path)
{
    const uint64_t tail =
        size < 98 ? size : 98; /* the zip64 end record, its locator, the end record: without a comment */
    const uint8_t *end = read_bytes(file, size - tail, tail, path) + tail, *record = end - 98;
    const bool wide = tail == 98 && memcmp(record, "PK\6\6", 4) == 0;
    const uint64_t directory = wide ? number_at(record + 48, 8) : number_at(end - 6, 4);
    const uint64_t bytes = wide ? number_at(record + 40, 8) : number_at(end - 10, 4);
    const uint8_t *at = read_bytes(file, directory, bytes, path), *stop = at + bytes;
    while (at < stop) {
        const uint64_t length = number_at(at + 28, 2), more = number_at(at + 30, 2) + number_at(at + 32, 2);
        const uint8_t *text = at + 46, *extra = text + length + 4;
        const uint64_t unpacked = wide_at(at + 24, &extra), packed = wide_at(at + 20, &extra),
                       header = wide_at(at + 42, &extra);
        keep_name(text, length);
        keep_number(packed);
        keep_number(header);
        if (length >= 8 && memcmp(text + length - 8, "data.pkl", 8) == 0) {
            const uint8_t *local = read_bytes(file, header, 30, path);
            const uint64_t begin = header + 30 + number_at(local + 26, 2) + number_at(local + 28, 2);
            const uint8_t *pickle = read_bytes(file, begin, unpacked, path); /* torch packs nothing */
            run_over(pickle, pickle + unpacked);
        }
        at = text + length + more;
    }
}

static bool ends_with(const char *path, const char *with)
{
    const size_t length = strlen(path), size = strlen(with);
    return length >= size && strcmp(path + length - size, with) == 0;
}

static uint64_t read_headers(const char *path, bool parse)
{
    struct stat st;
    uint64_t length = 0, sum = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &st) != 0)
        fail(path);
    const uint64_t size = (uint64_t)st.st_size;
    if (ends_with(path, ".json"))
        sum = read_text(file, 0, size, parse, path);
    else if (!ends_with(path, ".safetensors"))
        read_zip(file, size, path);
    else if (pread(file, &length, 8, 0) == 8)
        sum = read_text(file, 8, length, parse, path);
    close(file);
    return sum;
}

int main(int argc, char **argv)
{
    struct timespec from, to;
    uint64_t sum = 0;
    const bool parse = argc > 1 && strcmp(argv[1], "parse") == 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 1 + parse; i < argc; i++)
        sum += read_headers(argv[i], parse);
    for (size_t i = 0; !parse && i < number_count; i++)
        sum += numbers[i];
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.4f s, %d files, %zu names, %zu numbers (sum %llu)\n",
           (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9, argc - 1 - parse, name_count,
           number_count, (unsigned long long)sum);
    return 0;
}
