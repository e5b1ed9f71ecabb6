/* machine.c - see machine.h. What /proc does not have is left out. */
#include "hook/machine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct instant {
    hook_machine *machine;
    const char *node;
    double time, passed; /* seconds since the last one */
    assay_buf *out;
} instant;

static void put(const instant *at, const char *type, const char *name, const char *dimension, double value)
{
    assay_put_format(at->out,
                     "{\"Type\":\"%s\",\"Name\":\"%s\",\"Dimension\":\"%s\",\"Value\":%.2f,\"NodeId\":\"%s\","
                     "\"Timestamp\":%.6f}\n",
                     type, name, dimension, value, at->node, at->time);
}

/* NULL where the kernel has none of that name. */
static FILE *open_counters(const instant *at, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", at->machine->proc ? at->machine->proc : "/proc", name);
    return fopen(path, "re");
}

/* What a counter grew by; 0 where it is less than before: it began anew, or the kernel took back what it had guessed
 * (time that waited for a disk). */
static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* What a counter grew by a second. */
static double rate(const instant *at, uint64_t now, uint64_t before)
{
    return at->passed > 0 ? (double)growth(now, before) / at->passed : 0;
}

static void put_core(const instant *at, unsigned core, const uint64_t ticks[8])
{
    char name[16];
    uint64_t all = 0;
    for (int i = 0; i < 8; i++)
        all += ticks[i];
    const uint64_t idle = ticks[3], waiting = ticks[4], passed = all - at->machine->core[core].all;
    snprintf(name, sizeof name, "cpu%u", core);
    if (at->machine->before && all > at->machine->core[core].all) {
        const uint64_t rest = growth(idle, at->machine->core[core].idle);
        const uint64_t waited = growth(waiting, at->machine->core[core].waiting);
        const double used = (double)passed - (double)rest - (double)waited;
        put(at, "cpu", name, "CPUUtilization", used > 0 ? 100 * used / (double)passed : 0);
        put(at, "cpu", name, "I/OWaitPercentage", waited <= passed ? 100 * (double)waited / (double)passed : 0);
    }
    at->machine->core[core].all = all;
    at->machine->core[core].idle = idle;
    at->machine->core[core].waiting = waiting;
}

static void sample_cores(const instant *at)
{
    char line[1024];
    FILE *file = open_counters(at, "stat");
    while (file && fgets(line, sizeof line, file)) {
        unsigned core = 0;
        uint64_t t[8] = {0};
        if (strncmp(line, "cpu", 3) != 0 || !isdigit((unsigned char)line[3])) /* "cpu " is the sum of all */
            continue;
        if (sscanf(line,
                   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                   &core, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) >= 6 &&
            core < MACHINE_CORES_MOST)
            put_core(at, core, t);
    }
    if (file)
        fclose(file);
}

static void sample_memory(const instant *at)
{
    char line[256];
    uint64_t total = 0, available = 0;
    FILE *file = open_counters(at, "meminfo");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "MemTotal: %" SCNu64, &total);
        sscanf(line, "MemAvailable: %" SCNu64, &available);
    }
    if (file)
        fclose(file);
    if (total > 0 && available <= total)
        put(at, "memory", "MemoryUsedPercent", "", 100 * (double)(total - available) / (double)total);
}

static void sample_network(const instant *at)
{
    char line[1024];
    uint64_t received = 0, sent = 0;
    FILE *file = open_counters(at, "net/dev");
    while (file && fgets(line, sizeof line, file)) {
        char *behind = strchr(line, ':');
        uint64_t in = 0, out = 0;
        if (!behind || strncmp(line + strspn(line, " "), "lo:", 3) == 0)
            continue;
        if (sscanf(behind + 1, "%" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &in, &out) == 2) {
            received += in;
            sent += out;
        }
    }
    if (file)
        fclose(file);
    if (at->machine->before) {
        put(at, "network", "ReceiveBytesPerSecond", "Algorithm", rate(at, received, at->machine->received));
        put(at, "network", "TransmitBytesPerSecond", "Algorithm", rate(at, sent, at->machine->sent));
    }
    at->machine->received = received;
    at->machine->sent = sent;
}

/* Is it a whole disk, neither a part of one nor made of others? */
static bool is_disk(const char *name)
{
    static const char *const virtual[] = {"loop", "ram", "zram", "dm-", "md", "sr"};
    char path[128];
    for (size_t i = 0; i < sizeof virtual / sizeof *virtual; i++)
        if (strncmp(name, virtual[i], strlen(virtual[i])) == 0)
            return false;
    return snprintf(path, sizeof path, "/sys/block/%s", name) < (int)sizeof path && access(path, F_OK) == 0;
}

static void sample_disks(const instant *at)
{
    enum { SECTOR = 512 };
    char line[512], name[64];
    uint64_t reads = 0, writes = 0, operations = 0;
    FILE *file = open_counters(at, "diskstats");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t n[4];
        if (sscanf(line, "%*u %*u %63s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64, name, &n[0], &n[1],
                   &n[2], &n[3]) != 5 ||
            !is_disk(name))
            continue;
        operations += n[0] + n[2];
        reads += n[1] * SECTOR;
        writes += n[3] * SECTOR;
    }
    if (file)
        fclose(file);
    if (at->machine->before) {
        put(at, "i/o", "disk", "ReadThroughputInBytesPerSecond", rate(at, reads, at->machine->reads));
        put(at, "i/o", "disk", "WriteThroughputInBytesPerSecond", rate(at, writes, at->machine->writes));
        put(at, "i/o", "disk", "IOPS", rate(at, operations, at->machine->operations));
    }
    at->machine->reads = reads;
    at->machine->writes = writes;
    at->machine->operations = operations;
}

static void sample_gpus(const instant *at)
{
    char name[16];
    for (unsigned i = 0; i < hook_gpus_count(at->machine->gpus); i++) {
        unsigned busy = 0, memory = 0;
        if (!hook_gpus_read(at->machine->gpus, i, &busy, &memory))
            continue;
        snprintf(name, sizeof name, "gpu%u", i);
        put(at, "gpu", name, "GPUUtilization", busy);
        put(at, "gpu", name, "GPUMemoryUtilization", memory);
    }
}

void hook_machine_sample(hook_machine *machine, const char *node, double time, assay_buf *out)
{
    const instant at = {machine, node, time, machine->before ? time - machine->time : 0, out};
    sample_cores(&at);
    sample_memory(&at);
    sample_network(&at);
    sample_disks(&at);
    sample_gpus(&at);
    machine->before = true;
    machine->time = time;
}
