/* tokens.c - the yardstick of reading profiler data: a bare tokenizer of JSON. It reads the named files once and finds
 * where each string, number, word and bracket begins and ends; it converts nothing, keeps nothing, and checks nothing
 * else. Files named .gz are unpacked by zlib.
 *
 * Use: tokens FILE...     (or: find DIR -type f | tokens -)
 * Prints seconds of processor time, tokens, bytes and MB/s. One process, one core. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER = 1 << 18, NAME_ROOM = 4096 };

enum { OTHER, BLANK, QUOTE, DIGIT, LETTER, MARK };
static uint8_t kind[256];

/* Where the tokenizer is between two blocks. */
typedef struct scan {
    uint64_t tokens, bytes;
    int inside; /* QUOTE, DIGIT, LETTER; 0: between tokens */
    int escaped;
} scan;

static void fill_kinds(void)
{
    for (const char *c = " \t\r\n"; *c; c++)
        kind[(uint8_t)*c] = BLANK;
    for (const char *c = "-+.0123456789eE"; *c; c++)
        kind[(uint8_t)*c] = DIGIT;
    for (const char *c = "truefalsn"; *c; c++)
        if (kind[(uint8_t)*c] == OTHER)
            kind[(uint8_t)*c] = LETTER;
    for (const char *c = "{}[]:,"; *c; c++)
        kind[(uint8_t)*c] = MARK;
    kind['"'] = QUOTE;
}

static void take(scan *s, const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        if (s->inside == QUOTE) {
            while (at < end && (s->escaped || *at != '"')) {
                s->escaped = !s->escaped && *at == '\\';
                at++;
            }
            if (at == end)
                return;
            s->inside = 0;
            at++;
            continue;
        }
        if (s->inside == DIGIT || s->inside == LETTER) {
            while (at < end && (kind[*at] == DIGIT || kind[*at] == LETTER))
                at++;
            if (at == end)
                return;
            s->inside = 0;
            continue;
        }
        const int k = kind[*at++];
        if (k == BLANK)
            continue;
        s->tokens++;
        if (k != MARK) {
            s->inside = k;
            s->escaped = 0;
        }
    }
}

static void read_packed(scan *s, const char *name, uint8_t *buffer)
{
    gzFile file = gzopen(name, "rb");
    int got = 0;
    s->inside = 0;
    while (file && (got = gzread(file, buffer, BUFFER)) > 0) {
        take(s, buffer, buffer + got);
        s->bytes += (uint64_t)got;
    }
    if (!file || got < 0 || gzclose(file) != Z_OK) {
        fprintf(stderr, "%s: cannot be unpacked\n", name);
        exit(1);
    }
}

static void read_file(scan *s, const char *name, uint8_t *buffer)
{
    const size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".gz") == 0) {
        read_packed(s, name, buffer);
        return;
    }
    const int file = open(name, O_RDONLY);
    ssize_t got;
    if (file < 0) {
        perror(name);
        exit(1);
    }
    s->inside = 0;
    while ((got = read(file, buffer, BUFFER)) > 0) {
        take(s, buffer, buffer + got);
        s->bytes += (uint64_t)got;
    }
    close(file);
}

int main(int argc, char **argv)
{
    static uint8_t buffer[BUFFER];
    char name[NAME_ROOM];
    scan s = {0};
    struct timespec before, after;
    fill_kinds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    if (argc == 2 && strcmp(argv[1], "-") == 0)
        while (fgets(name, sizeof name, stdin)) {
            name[strcspn(name, "\n")] = '\0';
            read_file(&s, name, buffer);
        }
    else
        for (int i = 1; i < argc; i++)
            read_file(&s, argv[i], buffer);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double seconds = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    printf("%.3f s %llu tokens %llu bytes %.0f MB/s\n", seconds, (unsigned long long)s.tokens,
           (unsigned long long)s.bytes, (double)s.bytes / 1e6 / seconds);
    return 0;
}
