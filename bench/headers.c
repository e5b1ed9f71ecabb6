/* The bound for opening checkpoints: reads the header of each safetensors file named and goes over its text once, in a
 * bare loop that finds every name and number and keeps them; nothing is checked, looked up or compared.
 *
 * Use: headers FILE...
 * Prints seconds, files, names, numbers and a sum of the numbers. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static void scan(const char *at, const char *end)
{
    while (at < end) {
        if (*at == '"') {
            const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
            if (!close)
                return;
            reserve();
            names[name_count++] = (name){at + 1, (size_t)(close - at - 1)};
            at = close + 1;
        } else if (*at >= '0' && *at <= '9') {
            uint64_t number = 0;
            for (; at < end && *at >= '0' && *at <= '9'; at++)
                number = 10 * number + (uint64_t)(*at - '0');
            reserve();
            numbers[number_count++] = number;
        } else {
            at++;
        }
    }
}

static void read_header(const char *path)
{
    uint64_t size = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    if (file < 0 || pread(file, &size, 8, 0) != 8 || size > 100000000 || !(text = malloc(size)) ||
        pread(file, text, size, 8) != (ssize_t)size)
        fail(path);
    close(file);
    scan(text, text + size); /* the text stays: names point into it */
}

int main(int argc, char **argv)
{
    struct timespec from, to;
    uint64_t sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 1; i < argc; i++)
        read_header(argv[i]);
    for (size_t i = 0; i < number_count; i++)
        sum += numbers[i];
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.4f s, %d files, %zu names, %zu numbers (sum %llu)\n",
           (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9, argc - 1, name_count,
           number_count, (unsigned long long)sum);
    return 0;
}
