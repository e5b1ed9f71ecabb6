/* generate_logs.c - writes metric logs, for bench/run --part logs.
 *
 * Use: generate_logs file DIR TAGS STEPS      one event file of TensorBoard: so many tags at so many steps, an event each
 *      generate_logs tensors DIR TAGS STEPS   the same as TensorFlow 2 writes it: each value a tensor, with its plugin
 *      generate_logs events DIR COUNT STEPS   so many runs of such a file each, of 12 or 13 tags: 12 345 in 1000 runs
 *      generate_logs runs DIR COUNT STEPS     so many runs, in turn a CSV, an event file and a trainer_state.json */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"

enum { PATH_ROOM = 4096, EVENT_ROOM = 256, FRAME_HEAD = 12 };

static FILE *begin(const char *folder, const char *name)
{
    char path[PATH_ROOM];
    mkdir(folder, 0777);
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        exit(2);
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void end(FILE *file)
{
    if (ferror(file) | fclose(file)) {
        perror("generate_logs");
        exit(1);
    }
}

/* It falls, and never the same way twice. */
static float loss_at(uint64_t run, uint64_t step)
{
    const double noise = sin(0.7 * (double)step + 1.3 * (double)(run % 1000));
    return (float)(1 + 7 * exp(-0.1 * (double)step) + 0.02 * noise + 0.01 * sin((double)run));
}

static void put_frame(FILE *file, uint8_t *frame, uint64_t size)
{
    const uint32_t head = assay_crc32c_mask((memcpy(frame, &size, sizeof size), assay_crc32c(0, frame, sizeof size)));
    const uint32_t foot = assay_crc32c_mask(assay_crc32c(0, frame + FRAME_HEAD, size));
    memcpy(frame + sizeof size, &head, sizeof head);
    memcpy(frame + FRAME_HEAD + size, &foot, sizeof foot);
    fwrite(frame, 1, FRAME_HEAD + size + sizeof foot, file);
}

/* What stands in an event before its float and behind it, less than 20 bytes each. */
typedef struct encoding {
    const char *before, *behind;
    uint8_t size_before, size_behind;
} encoding;

static const encoding simple = {"\x15", "", 1, 0},
                      tensor = {"\x42\x0a\x08\x01\x12\x00\x2a\x04", "\x4a\x0b\x0a\x09\x0a\x07scalars", 8, 13};

/* An event: wall time, step, and a summary of one value of a tag of less than 90 bytes. */
static void put_scalar(FILE *file, uint64_t step, const char *tag, float value, const encoding *how)
{
    uint8_t frame[EVENT_ROOM] = {0}, *p = frame + FRAME_HEAD;
    const double time = 1795000000 + (double)step;
    const size_t length = strlen(tag), more = how->size_before + sizeof value + how->size_behind;
    *p++ = 1 << 3 | 1;
    memcpy(p, &time, sizeof time);
    p += sizeof time;
    *p++ = 2 << 3;
    uint64_t rest = step;
    do {
        *p++ = (uint8_t)(rest & 127) | (rest > 127 ? 128 : 0);
        rest >>= 7;
    } while (rest > 0);
    *p++ = 5 << 3 | 2;
    *p++ = (uint8_t)(length + more + 4);
    *p++ = 1 << 3 | 2;
    *p++ = (uint8_t)(length + more + 2);
    *p++ = 1 << 3 | 2;
    *p++ = (uint8_t)length;
    memcpy(p, tag, length);
    p += length;
    memcpy(p, how->before, how->size_before);
    p += how->size_before;
    memcpy(p, &value, sizeof value);
    p += sizeof value;
    memcpy(p, how->behind, how->size_behind);
    p += how->size_behind;
    put_frame(file, frame, (uint64_t)(p - frame - FRAME_HEAD));
}

static FILE *begin_events(const char *folder)
{
    static const char version[] = "brain.Event:2";
    uint8_t frame[EVENT_ROOM] = {0}, *p = frame + FRAME_HEAD;
    const double time = 1795000000;
    FILE *file = begin(folder, "events.out.tfevents.1795000000.host.7.0");
    *p++ = 1 << 3 | 1;
    memcpy(p, &time, sizeof time);
    p += sizeof time;
    *p++ = 3 << 3 | 2;
    *p++ = sizeof version - 1;
    memcpy(p, version, sizeof version - 1);
    put_frame(file, frame, 11 + sizeof version - 1);
    return file;
}

static void write_file(const char *folder, uint64_t tags, uint64_t steps, const encoding *how)
{
    FILE *file = begin_events(folder);
    for (uint64_t step = 0; step < steps; step++)
        for (uint64_t tag = 0; tag < tags; tag++) {
            char name[64];
            snprintf(name, sizeof name, tag ? "layers/%04d/activation_norm" : "train/loss", (int)tag);
            put_scalar(file, step, name, loss_at(tag, step), how);
        }
    end(file);
}

static void write_run(const char *folder, uint64_t run, uint64_t steps)
{
    const int kind = (int)(run % 3);
    FILE *file = kind == 0   ? begin(folder, "metrics.csv")
                 : kind == 1 ? begin_events(folder)
                             : begin(folder, "trainer_state.json");
    fprintf(file, "%s", kind == 0 ? "step,train/loss,val/loss\n" : kind == 2 ? "{\"log_history\": [" : "");
    for (uint64_t step = 0; step < steps; step++) {
        const double loss = (double)loss_at(run, step);
        if (kind == 0) {
            fprintf(file, "%d,%.9g,%.9g\n", (int)step, loss, 1.05 * loss);
        } else if (kind == 1) {
            put_scalar(file, step, "train/loss", (float)loss, &simple);
            put_scalar(file, step, "val/loss", (float)(1.05 * loss), &simple);
        } else {
            fprintf(file, "%s{\"step\": %d, \"train/loss\": %.9g, \"val/loss\": %.9g}", step ? ", " : "", (int)step,
                    loss, 1.05 * loss);
        }
    }
    fprintf(file, "%s", kind == 2 ? "]}\n" : "");
    end(file);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "use: generate_logs file|tensors DIR TAGS STEPS | generate_logs events|runs DIR COUNT STEPS\n");
        return 2;
    }
    const uint64_t count = strtoull(argv[3], NULL, 10), steps = strtoull(argv[4], NULL, 10);
    const bool tensors = strcmp(argv[1], "tensors") == 0, events = strcmp(argv[1], "events") == 0;
    if (tensors || strcmp(argv[1], "file") == 0) {
        write_file(argv[2], count, steps, tensors ? &tensor : &simple);
        return 0;
    }
    mkdir(argv[2], 0777);
    for (uint64_t run = 0; run < count; run++) {
        char folder[PATH_ROOM];
        snprintf(folder, sizeof folder, "%s/run_%05d", argv[2], (int)run);
        if (events)
            write_file(folder, run % 200 < 69 ? 13 : 12, steps, &simple);
        else
            write_run(folder, run, steps);
    }
    return 0;
}
