/* generate_flight.c - writes dumps of flight recorders as c10d does, for bench/run --part flight: a training of many
 * ranks whose rank 1 stopped.
 *
 * Use: generate_flight DIR WORLD RANKS ENTRIES [frames]
 * The first RANKS ranks of a world of WORLD leave dumps; tensor groups of 8, data groups across them, and all together.
 * With `frames` each entry has a stack. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_ROOM = 4096, TENSOR = 8, TEXTS = 256, DEPTH = 8, GROUPS = 3 };

typedef struct pickler {
    FILE *file;
    const char *text[TEXTS]; /* by memo slot; NULL: a frame */
    unsigned slots;
} pickler;

static void put_byte(pickler *p, int byte)
{
    putc(byte, p->file);
}

static void put_bytes(pickler *p, const void *bytes, size_t size)
{
    fwrite(bytes, 1, size, p->file); /* little-endian, as pickles are */
}

static void put_slot(pickler *p, char narrow, char wide, unsigned slot)
{
    put_byte(p, slot < 256 ? narrow : wide);
    put_bytes(p, &slot, slot < 256 ? 1 : 4);
}

static void put_number(pickler *p, int64_t n)
{
    if (n >= 0 && n < 256) {
        put_byte(p, 'K');
        put_bytes(p, &n, 1);
    } else if (n >= 0 && n < 65536) {
        put_byte(p, 'M');
        put_bytes(p, &n, 2);
    } else if (n >= INT32_MIN && n <= INT32_MAX) {
        put_byte(p, 'J');
        put_bytes(p, &n, 4);
    } else {
        put_byte(p, 0x8a);
        put_byte(p, 8);
        put_bytes(p, &n, 8);
    }
}

/* A text, memoised at its first use; `once` texts are not looked up. */
static void put_text(pickler *p, const char *text, bool once)
{
    const uint32_t length = (uint32_t)strlen(text);
    for (unsigned i = 0; i < p->slots && !once; i++)
        if (p->text[i] && strcmp(p->text[i], text) == 0) {
            put_slot(p, 'h', 'j', i);
            return;
        }
    put_byte(p, 'X');
    put_bytes(p, &length, 4);
    put_bytes(p, text, length);
    put_slot(p, 'q', 'r', p->slots);
    p->text[p->slots++] = once ? NULL : text;
}

static void put_pair(pickler *p, const char *key, int64_t number)
{
    put_text(p, key, false);
    put_number(p, number);
}

static void put_frames(pickler *p, unsigned first[DEPTH])
{
    put_text(p, "frames", false);
    put_byte(p, ']');
    put_byte(p, '(');
    for (unsigned i = 0; i < DEPTH; i++) {
        if (first[i]) {
            put_slot(p, 'h', 'j', first[i]);
            continue;
        }
        put_byte(p, '}');
        put_byte(p, '(');
        put_text(p, "name", false);
        put_text(p, i % 2 ? "wrapper" : "forward", false);
        put_text(p, "filename", false);
        put_text(p, "/jobs/train.py", false);
        put_pair(p, "line", 100 + i);
        put_byte(p, 'u');
        first[i] = p->slots;
        put_slot(p, 'q', 'r', p->slots);
        p->text[p->slots++] = NULL;
    }
    put_byte(p, 'e');
}

static void put_sizes(pickler *p, const char *sizes, const char *types, int rows)
{
    put_text(p, sizes, false);
    put_bytes(p, "](](", 4);
    put_number(p, rows);
    put_number(p, 1);
    put_number(p, 5120);
    put_bytes(p, "ee", 2);
    put_text(p, types, false);
    put_bytes(p, "](", 2);
    put_text(p, "BFloat16", false);
    put_byte(p, 'e');
}

typedef struct world {
    unsigned ranks, rank, entries;
    bool frames;
} world;

static const char *const group_names[GROUPS] = {"0", "1", "2"};
static const char *const group_texts[GROUPS] = {"default_pg", "TENSOR_MODEL_PARALLEL_GROUP",
                                                "DATA_PARALLEL_GROUP_WITH_CP"};

static void put_groups(pickler *p, const world *w)
{
    const size_t room = 16 + 12 * (size_t)w->ranks;
    char *text = malloc(room);
    put_text(p, "pg_config", false);
    put_bytes(p, "}(", 2);
    for (unsigned g = 0; g < GROUPS && text; g++) {
        size_t length = 0;
        for (unsigned r = 0; r < w->ranks; r++)
            if (g == 0 || (g == 1 ? r / TENSOR == w->rank / TENSOR : r % TENSOR == w->rank % TENSOR))
                length += (size_t)snprintf(text + length, room - length, "%s%u", length ? ", " : "[", r);
        text[length] = ']';
        text[length + 1] = '\0';
        put_text(p, group_names[g], false);
        put_bytes(p, "}(", 2);
        put_text(p, "name", false);
        put_text(p, group_names[g], false);
        put_text(p, "desc", false);
        put_text(p, group_texts[g], false);
        put_text(p, "ranks", false);
        put_text(p, text, true);
        put_byte(p, 'u');
    }
    put_byte(p, 'u');
    free(text);
}

/* Three of four calls are of the tensor group, every 64th and the last of all ranks. */
static int group_of(const world *w, unsigned i)
{
    return i % 64 == 63 || i + 1 == w->entries ? 0 : i % 4 == 3 ? 2 : 1;
}

static void put_entry(pickler *p, const world *w, unsigned i, const unsigned count[GROUPS], unsigned first[DEPTH])
{
    const int64_t begin = 1758610505000000000, created = begin + 100000 * (int64_t)i;
    const int g = group_of(w, i);
    const bool done = i + 1 < w->entries;
    put_bytes(p, "}(", 2);
    if (w->frames)
        put_frames(p, first);
    put_pair(p, "record_id", i);
    put_pair(p, "pg_id", g);
    put_text(p, "process_group", false);
    put_text(p, group_names[g], false);
    put_text(p, group_texts[g], false);
    put_byte(p, 0x86);
    put_text(p, "thread_name", false);
    put_text(p, i % 3 ? "pt_autograd_0" : "python3", false);
    put_text(p, "thread_id", false);
    put_text(p, i % 3 ? "23437656749760" : "23456244340032", false);
    put_pair(p, "collective_seq_id", 40000 + count[g]);
    put_pair(p, "p2p_seq_id", 0);
    put_pair(p, "op_id", 40000 + count[g]);
    put_text(p, "profiling_name", false);
    put_text(p, g == 0 ? "nccl:all_reduce" : i % 2 ? "nccl:_all_gather_base" : "nccl:_reduce_scatter_base", false);
    put_pair(p, "time_created_ns", created);
    put_sizes(p, "input_sizes", "input_dtypes", g == 0 ? 1 : i % 2 ? 4096 : 8192);
    put_sizes(p, "output_sizes", "output_dtypes", g == 0 ? 1 : i % 2 ? 8192 : 4096);
    put_text(p, "state", false);
    put_text(p, done ? "completed" : "scheduled", false);
    put_text(p, "time_discovered_started_ns", false);
    put_byte(p, 'N');
    put_text(p, "time_discovered_completed_ns", false);
    if (done)
        put_number(p, created + 50000);
    else
        put_byte(p, 'N');
    put_text(p, "retired", false);
    put_byte(p, done ? 0x88 : 0x89);
    put_pair(p, "timeout_ms", 600000);
    put_text(p, "is_p2p", false);
    put_bytes(p, "\x89u", 2);
}

static void put_dump(FILE *file, const world *w)
{
    pickler p = {.file = file};
    unsigned first[DEPTH] = {0}, count[GROUPS] = {0};
    const unsigned entries = w->entries - (w->rank == 1);
    put_bytes(&p, "\x80\x02}(", 4);
    put_text(&p, "version", false);
    put_text(&p, "2.9", false);
    put_groups(&p, w);
    put_text(&p, "nccl_version", false);
    put_text(&p, "2.27.3", false);
    put_text(&p, "entries", false);
    put_bytes(&p, "](", 2);
    for (unsigned i = 0; i < entries; i++) {
        count[group_of(w, i)]++;
        put_entry(&p, w, i, count, first);
    }
    put_bytes(&p, "eu.", 3);
}

int main(int argc, char **argv)
{
    char path[PATH_ROOM];
    if (argc < 5) {
        fprintf(stderr, "usage: generate_flight DIR WORLD RANKS ENTRIES [frames]\n");
        return 2;
    }
    world w = {.ranks = (unsigned)strtoul(argv[2], NULL, 10),
               .entries = (unsigned)strtoul(argv[4], NULL, 10),
               .frames = argc > 5};
    mkdir(argv[1], 0777);
    for (unsigned ranks = (unsigned)strtoul(argv[3], NULL, 10); w.rank < ranks; w.rank++) {
        snprintf(path, sizeof path, "%s/nccl_trace_rank_%u", argv[1], w.rank);
        FILE *file = fopen(path, "wb");
        if (!file) {
            perror(path);
            return 1;
        }
        put_dump(file, &w);
        if (fclose(file) != 0)
            return 1;
    }
    return 0;
}
