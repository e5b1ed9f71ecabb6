/* generate_profiler.c - writes profiler data for bench/profiler: what a large training records in an hour, or a long
 * timeline.
 *
 * Use: generate_profiler hour DIR NODES GPUS SECONDS   system metrics every 500 ms: a file a minute and node
 *      generate_profiler timeline DIR EVENTS           one worker's timeline: a step with nine operators, again and
 * again */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_ROOM = 4096, MINUTE = 60, CORES = 8, TIMES_A_SECOND = 2 };
static const long START = 1700006400; /* a full minute */

static uint32_t state = 1;
/* 0 to `most` - 1. */
static unsigned chance(unsigned most)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % most;
}

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void make_directories(const char *directory, const char *const *below)
{
    char path[PATH_ROOM];
    int length = snprintf(path, sizeof path, "%s", directory);
    mkdir(path, 0777);
    for (size_t i = 0; below[i]; i++) {
        length += snprintf(path + length, sizeof path - (size_t)length, "/%s", below[i]);
        mkdir(path, 0777);
    }
}

static void put(FILE *file, const char *type, const char *name, int number, const char *dimension, double value,
                int node, double time)
{
    char unit[64];
    snprintf(unit, sizeof unit, number < 0 ? "%s" : "%s%d", name, number);
    fprintf(file,
            "{\"Type\":\"%s\",\"Name\":\"%s\",\"Dimension\":\"%s\",\"Value\":%g,\"NodeId\":\"algo-%d\",\"Timestamp\":%."
            "6f}\n",
            type, unit, dimension, value, node, time);
}

static void put_instant(FILE *file, int node, int gpus, double time)
{
    for (int i = 0; i < CORES; i++) {
        put(file, "cpu", "cpu", i, "CPUUtilization", 0.01 * chance(10000), node, time);
        put(file, "cpu", "cpu", i, "I/OWaitPercentage", 0.01 * chance(500), node, time);
    }
    for (int i = 0; i < gpus; i++) {
        put(file, "gpu", "gpu", i, "GPUUtilization", 80 + chance(20), node, time + 0.002);
        put(file, "gpu", "gpu", i, "GPUMemoryUtilization", 60 + chance(5), node, time + 0.002);
    }
    put(file, "memory", "MemoryUsedPercent", -1, "", 0.01 * chance(5000), node, time + 0.004);
    put(file, "network", "ReceiveBytesPerSecond", -1, "Algorithm", chance(1 << 24), node, time + 0.006);
    put(file, "network", "TransmitBytesPerSecond", -1, "Algorithm", chance(1 << 24), node, time + 0.006);
}

static void write_hour(const char *directory, int nodes, int gpus, int seconds)
{
    static const char *const below[] = {"system", "incremental", "2023111500", NULL};
    char path[PATH_ROOM];
    make_directories(directory, below);
    for (int node = 1; node <= nodes; node++)
        for (int from = 0; from < seconds; from += MINUTE) {
            snprintf(path, sizeof path, "%s/system/incremental/2023111500/%ld.algo-%d.json", directory, START + from,
                     node);
            FILE *file = create(path);
            for (int i = 0; i < MINUTE * TIMES_A_SECOND && from + i / TIMES_A_SECOND < seconds; i++)
                put_instant(file, node, gpus, (double)(START + from) + (double)i / TIMES_A_SECOND);
            fclose(file);
        }
}

static void write_timeline(const char *directory, long events)
{
    static const char *const below[] = {"framework", "pevents", "2023111500", NULL};
    enum { PHASES = 2, OPERATORS = 9, STEP = 100000 };
    char path[PATH_ROOM];
    make_directories(directory, below);
    snprintf(path, sizeof path, "%s/framework/pevents/2023111500/%ld000000_151-algo-1_model_timeline.json", directory,
             START);
    FILE *file = create(path);
    fprintf(
        file,
        "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"start_time_since_epoch_in_micros\": "
        "%ld000000}},\n",
        START);
    fprintf(
        file,
        "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"Step:ModeKeys.TRAIN\"}},\n");
    fprintf(
        file,
        "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 2, \"args\": {\"name\": \"gpu_functions-dev:0\"}},\n");
    for (long i = 0; i < events; i++) {
        const long step = i / (OPERATORS + 1), at = step * STEP;
        const int which = (int)(i % (OPERATORS + 1));
        if (which == 0)
            fprintf(
                file,
                "{\"name\": \"Step:ModeKeys.TRAIN\", \"pid\": 1, \"ph\": \"X\", \"ts\": %ld, \"dur\": %u, \"args\": "
                "{\"step_num\": \"%ld\"}},\n",
                at, 90000 + chance(5000), step);
        else
            fprintf(file,
                    "{\"name\": \"aten::operator_%d\", \"pid\": 2, \"ph\": \"X\", \"ts\": %ld, \"dur\": %u, \"args\": "
                    "{\"tid\": %d}},\n",
                    which, at + which * 9000, 8000 + chance(900), which % PHASES);
    }
    fprintf(file, "]\n");
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "hour") == 0)
        write_hour(argv[2], (int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10),
                   (int)strtol(argv[5], NULL, 10));
    else if (argc == 4 && strcmp(argv[1], "timeline") == 0)
        write_timeline(argv[2], strtol(argv[3], NULL, 10));
    else
        return 2;
    return 0;
}
