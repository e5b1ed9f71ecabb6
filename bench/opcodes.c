/* opcodes.c - the yardstick of reading dumps: reads the named files and walks the opcodes of their pickles. It keeps
 * nothing but how many there are; numbers and texts are passed over.
 *
 * Use: find DIR -type f | opcodes
 * Prints seconds of processor time, opcodes, bytes. One process, one core. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAME_ROOM = 4096 };

/* How many bytes follow each opcode; those with a length of their own are told apart in walk(). */
static uint8_t follow[256];

static void fill(void)
{
    static const struct {
        char code;
        uint8_t bytes;
    } known[] = {{'J', 4}, {'K', 1}, {'M', 2}, {'G', 8},    {'h', 1},
                 {'q', 1}, {'j', 4}, {'r', 4}, {'\x80', 1}, {'\x95', 8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        follow[(uint8_t)known[i].code] = known[i].bytes;
}

static uint64_t walk(const uint8_t *at, const uint8_t *end)
{
    uint64_t opcodes = 0;
    while (at < end) {
        const uint8_t code = *at++;
        uint32_t length = 0;
        opcodes++;
        if (code == 'X' && end - at >= 4) {
            memcpy(&length, at, 4);
            at += 4 + (size_t)length;
        } else if ((code == 0x8a || code == 0x8c) && at < end) {
            at += 1 + *at;
        } else {
            at += follow[code];
        }
    }
    return opcodes;
}

int main(void)
{
    char name[NAME_ROOM];
    uint8_t *buffer = NULL;
    uint64_t opcodes = 0, bytes = 0;
    struct timespec from, to;
    fill();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    while (fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = '\0';
        const int file = open(name, O_RDONLY | O_CLOEXEC);
        const off_t size = file < 0 ? -1 : lseek(file, 0, SEEK_END);
        uint8_t *more = size < 0 ? NULL : realloc(buffer, (size_t)size + 1);
        if (!more || pread(file, more, (size_t)size, 0) != size) {
            perror(name);
            return 2;
        }
        buffer = more;
        close(file);
        opcodes += walk(buffer, buffer + size);
        bytes += (uint64_t)size;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    free(buffer);
    const double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    printf("opcodes: %.4f s, %llu opcodes, %.1f MB\n", seconds, (unsigned long long)opcodes, 1e-6 * (double)bytes);
    return 0;
}
