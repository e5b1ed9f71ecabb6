/* elements.c - writes the elements of every tensor of a trial behind one another into a file, and says what they are:
 *
 *   elements TRIAL OUT        a line each: {"step": .., "worker": .., "tensor": .., "dtype": .., "shape": [..], "at":
 * .., "bytes": ..}
 *
 * For tests that hold a trial's bytes against those that were saved. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "source/trial_files.h"

static uint64_t at;

static void fail(const char *what)
{
    fprintf(stderr, "elements: %s\n", what);
    exit(1);
}

static void put_line(const assay_trial_files *t, const assay_part *part, const assay_entry *entry,
                     const assay_record *r, uint64_t bytes)
{
    assay_buf line;
    size_t length = 0;
    const char *name = assay_dict_name(t->tensors, entry->tensor, &length);
    assay_buf_init(&line, SIZE_MAX);
    assay_put_format(&line, "{\"step\": %" PRId64 ", \"worker\": ", part->step);
    assay_json_put_text(&line, t->catalog.worker[part->worker]);
    assay_put_format(&line, ", \"tensor\": ");
    assay_json_put_text_n(&line, name, length);
    assay_put_format(&line, ", \"dtype\": \"%s\", \"shape\": [", assay_dtype_name(r->dtype));
    for (int i = 0; i < r->dims; i++)
        assay_put_format(&line, "%s%" PRId64, i ? ", " : "", r->shape[i]);
    assay_put_format(&line, "], \"at\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", at, bytes);
    if (assay_buf_status(&line) != ASSAY_OK || fwrite(line.data, 1, line.size, stdout) != line.size)
        fail("out of memory");
    assay_buf_release(&line);
}

static void put_tensor(assay_trial_reader *reader, const assay_part *part, const assay_entry *entry, FILE *out)
{
    assay_record record;
    assay_error err = {{0}};
    const uint8_t *piece = NULL;
    size_t size = 1;
    uint64_t bytes = 0;
    int status = assay_trial_record(reader, part, entry, &record, &err);
    while (status == ASSAY_OK && size > 0) {
        status = assay_reader_content(reader->records, 0, &piece, &size, &err);
        if (status == ASSAY_OK && size > 0 && fwrite(piece, 1, size, out) != size)
            fail("the file cannot be written");
        bytes += status == ASSAY_OK ? size : 0;
    }
    if (status == ASSAY_OK)
        put_line(reader->trial, part, entry, &record, bytes);
    else
        fprintf(stderr, "%s\n", err.text);
    at += bytes;
}

int main(int argc, char **argv)
{
    assay_trial_files t;
    assay_error err = {{0}};
    FILE *out = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (!out)
        fail("usage: elements TRIAL OUT");
    if (assay_trial_open(argv[1], &t, &err) != ASSAY_OK)
        fail(err.text);
    assay_trial_reader reader = {.trial = &t};
    for (size_t p = 0; p < t.shard.count; p++)
        for (uint32_t i = 0; i < t.shard.parts[p].count; i++)
            if (t.shard.entries[t.shard.parts[p].first + i].kind == ASSAY_RAW) /* whole tensors, not pieces of them */
                put_tensor(&reader, &t.shard.parts[p], &t.shard.entries[t.shard.parts[p].first + i], out);
    assay_trial_reader_close(&reader);
    assay_trial_release(&t);
    return fclose(out) == 0 ? 0 : 1;
}
