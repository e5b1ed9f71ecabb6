/* test_checkpoint_layouts.c - what each layout of checkpoints holds, without an engine: step, worker, tensor, dtype and
 * shape of every row of the index, and as many bytes as that takes. */
#include <stdlib.h>
#include <string.h>

#include "source/trial_files.h"
#include "unit.h"

typedef struct row {
    const char *tensor;
    int dtype, dims;
    int64_t shape[2];
} row;

enum { MOST = 10 };

/* Names are there once in a step of a worker. */
static const struct {
    const char *layout, *worker;
    int64_t step;
    row rows[MOST];
} cases[] = {
    {"one file of safetensors",
     "worker_0",
     10,
     {{"net.bias", ASSAY_FLOAT32, 1, {5}}, {"net.weight", ASSAY_FLOAT32, 2, {5, 4}}, {"scale", ASSAY_FLOAT16, 1, {3}}}},
    {"files with an index, as Hugging Face has them",
     "worker_0",
     20,
     {{"net.bias", ASSAY_FLOAT32, 1, {5}}, {"net.weight", ASSAY_FLOAT32, 2, {5, 4}}, {"scale", ASSAY_FLOAT16, 1, {3}}}},
    {"torch.save, with Adam's state and a tensor that is transposed",
     "worker_0",
     30,
     {{"net.bias", ASSAY_FLOAT32, 1, {5}},
      {"net.weight", ASSAY_FLOAT32, 2, {5, 4}},
      {"optimizer/net.bias/exp_avg", ASSAY_FLOAT32, 1, {5}},
      {"optimizer/net.bias/exp_avg_sq", ASSAY_FLOAT32, 1, {5}},
      {"optimizer/net.bias/step", ASSAY_FLOAT32, 0, {0}},
      {"optimizer/net.weight/exp_avg", ASSAY_FLOAT32, 2, {5, 4}},
      {"optimizer/net.weight/exp_avg_sq", ASSAY_FLOAT32, 2, {5, 4}},
      {"optimizer/net.weight/step", ASSAY_FLOAT32, 0, {0}},
      {"scale", ASSAY_FLOAT16, 1, {3}},
      {"turned", ASSAY_FLOAT32, 2, {4, 3}}}},
    {"NumPy's archive",
     "worker_0",
     40,
     {{"net.bias", ASSAY_FLOAT32, 1, {5}}, {"net.weight", ASSAY_FLOAT32, 2, {5, 4}}, {"scale", ASSAY_FLOAT16, 1, {3}}}},
    {"distributed safetensors: 3 rows in one file, 2 in the other",
     "worker_0",
     50,
     {{"net.bias", ASSAY_FLOAT32, 1, {5}}, {"net.weight", ASSAY_FLOAT32, 2, {5, 4}}, {"scale", ASSAY_FLOAT16, 1, {3}}}},
    {"a directory for each rank",
     "rank_0",
     60,
     {{"net.bias", ASSAY_FLOAT32, 1, {5}}, {"net.weight", ASSAY_FLOAT32, 2, {5, 4}}}},
    {"a directory for each rank",
     "rank_1",
     60,
     {{"net.bias", ASSAY_FLOAT32, 1, {5}}, {"net.weight", ASSAY_FLOAT32, 2, {5, 4}}}},
    {"torch.distributed.checkpoint",
     "worker_0",
     70,
     {{"net.bias", ASSAY_FLOAT32, 1, {5}},
      {"net.weight", ASSAY_FLOAT32, 2, {5, 4}},
      {"optimizer/net.weight/exp_avg", ASSAY_FLOAT32, 2, {5, 4}}}},
};
enum { CASES = sizeof cases / sizeof *cases };

static const assay_part *find_part(const assay_trial_files *trial, const char *worker, int64_t step)
{
    for (size_t i = 0; i < trial->shard.count; i++) {
        const assay_part *part = &trial->shard.parts[i];
        if (part->step == step && strcmp(trial->catalog.worker[part->worker], worker) == 0 && part->count > 0)
            return part;
    }
    return NULL;
}

static const assay_entry *find_entry(const assay_trial_files *trial, const assay_part *part, const char *tensor)
{
    for (size_t i = part->first; i < part->first + part->count; i++)
        if (strcmp(assay_dict_name(trial->tensors, trial->shard.entries[i].tensor, NULL), tensor) == 0)
            return &trial->shard.entries[i];
    return NULL;
}

/* Reads the record to its end; returns the bytes of its content. */
static uint64_t content_of(assay_trial_reader *reader, const assay_part *part, const assay_entry *entry,
                           assay_record *record)
{
    const uint8_t *piece;
    uint64_t bytes = 0;
    size_t size = 0;
    assay_error err = {""};
    int status = assay_trial_record(reader, part, entry, record, &err);
    while (status == ASSAY_OK && (status = assay_reader_content(reader->records, 0, &piece, &size, &err)) == ASSAY_OK &&
           size > 0)
        bytes += size;
    CU_ASSERT_EQUAL(status, ASSAY_OK);
    return bytes;
}

static void check_row(assay_trial_reader *reader, const assay_part *part, const row *wanted)
{
    assay_record record = {0};
    const assay_entry *entry = find_entry(reader->trial, part, wanted->tensor);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    const uint64_t bytes = content_of(reader, part, entry, &record);
    uint64_t elements = 1;
    CU_ASSERT_EQUAL(entry->kind, ASSAY_RAW);
    CU_ASSERT_EQUAL(record.dtype, wanted->dtype);
    CU_ASSERT_EQUAL_FATAL(record.dims, wanted->dims);
    for (int d = 0; d < wanted->dims; d++) {
        CU_ASSERT_EQUAL(record.shape[d], wanted->shape[d]);
        elements *= (uint64_t)wanted->shape[d];
    }
    CU_ASSERT_EQUAL(bytes, elements * assay_dtype_size(wanted->dtype));
}

static void test_layouts(void)
{
    assay_trial_files trial;
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(assay_trial_open(ASSAY_TEST_DATA "/formats/checkpoint", &trial, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(trial.problems.losses, 0);
    assay_trial_reader reader = {.trial = &trial};
    size_t left = 0;
    for (size_t i = 0; i < trial.shard.count; i++)
        left += trial.shard.parts[i].count;
    for (size_t c = 0; c < CASES; c++) {
        const assay_part *part = find_part(&trial, cases[c].worker, cases[c].step);
        size_t rows = 0;
        while (rows < MOST && cases[c].rows[rows].tensor)
            rows++;
        if (!part || part->count != rows)
            fprintf(stderr, "%s: %zu rows\n", cases[c].layout, part ? (size_t)part->count : 0);
        CU_ASSERT_FATAL(part && part->count == rows);
        for (size_t i = 0; i < rows; i++)
            check_row(&reader, part, &cases[c].rows[i]);
        left -= rows;
    }
    CU_ASSERT_EQUAL(left, 0); /* and there is nothing else */
    assay_trial_reader_close(&reader);
    assay_trial_release(&trial);
}

int main(void)
{
    CU_TestInfo tests[] = {{"rows of every layout", test_layouts}, CU_TEST_INFO_NULL};
    return unit_main("checkpoint layouts", tests);
}
