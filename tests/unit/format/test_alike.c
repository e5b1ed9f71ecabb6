/* A record that is taken to be like an earlier one has the parts that walking it finds, whatever of it is changed. */
#include "random.h"
#include "record_bytes.h"
#include "unit.h"

#include <stdlib.h>

#include "format/tfrecord/alike.h"

typedef struct found {
    int status;
    assay_record_parts parts;
    assay_record record;
} found;

/* What a record at `at` of a file comes to; `kept` NULL: walked. */
static found look(void **kept, const assay_buf *payload, uint64_t at)
{
    found f = {.record = {.offset = at}};
    assay_error err = {""};
    assay_view view = {.path = "e", .limit = at + payload->size, .window = payload->data, .window_at = at};
    view.window_size = payload->size;
    f.status = kept ? assay_alike_walk(kept, &view, at, view.limit, &f.parts, &f.record, &err)
                    : assay_record_walk(&view, at, view.limit, &f.parts, &f.record, &err);
    return f;
}

static bool agree(const found *a, const found *b)
{
    const assay_record_parts *p = &a->parts, *q = &b->parts;
    if (a->status != b->status)
        return false;
    if (a->status != ASSAY_OK)
        return true;
    bool same = p->tag_at == q->tag_at && p->tag_end == q->tag_end && p->has_tensor == q->has_tensor &&
                p->has_simple == q->has_simple && p->simple == q->simple && p->tensor_at == q->tensor_at &&
                p->tensor_end == q->tensor_end && p->content_at == q->content_at && p->content_end == q->content_end &&
                p->unknown_rank == q->unknown_rank && p->dtype == q->dtype && p->dims == q->dims;
    for (int d = 0; same && d < p->dims; d++)
        same = p->shape[d] == q->shape[d];
    return same && memcmp(&a->record.wall_time, &b->record.wall_time, sizeof(double)) == 0 &&
           a->record.step == b->record.step && a->record.mode == b->record.mode &&
           a->record.mode_step == b->record.mode_step;
}

static assay_buf usual(void)
{
    const float values[6] = {1, 2, 3, 4, 5, 6};
    const int64_t dim[2] = {2, 3};
    return event_bytes("layer/weight", tensor_bytes(ASSAY_FLOAT32, 2, dim, values, sizeof values));
}

/* An Event that says its step again behind everything, and one that says no step. */
static assay_buf step_twice(void)
{
    assay_buf event = usual();
    put_number(&event, 2, 43);
    return event;
}

static assay_buf no_step(void)
{
    assay_buf event = usual(), less = bytes_new();
    assay_put_bytes(&less, event.data, 9);
    assay_put_bytes(&less, event.data + 11, event.size - 11);
    assay_buf_release(&event);
    return less;
}

static assay_buf two_values(void)
{
    assay_buf event = usual(), second = usual();
    assay_put_bytes(&event, second.data + 11, second.size - 11);
    assay_buf_release(&second);
    return event;
}

/* The tensor's name behind its content. */
static assay_buf name_last(void)
{
    assay_buf value = bytes_new(), summary = bytes_new(), event = bytes_new();
    const float number = 1;
    put_message(&value, 8, tensor_bytes(ASSAY_FLOAT32, 0, NULL, &number, sizeof number));
    put_field(&value, 1, "late", 4);
    put_message(&summary, 1, value);
    put_key(&event, 1, 1);
    assay_put_f64(&event, 2);
    put_number(&event, 2, 42);
    put_message(&event, 5, summary);
    return event;
}

/* Each byte is changed in turn; what was remembered is that of the record as it was, and then that of changed ones. */
static void every_byte(void)
{
    assay_buf (*const kinds[])(void) = {bytes_new, usual, step_twice, no_step, two_values, name_last};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        assay_buf payload = kinds[kind]();
        void *kept = NULL;
        found first = look(&kept, &payload, 100), walked = look(NULL, &payload, 100);
        CU_ASSERT_TRUE(agree(&first, &walked));
        for (size_t i = 0; i < payload.size; i++)
            for (unsigned change = 1; change < 256; change++) {
                payload.data[i] ^= (uint8_t)change;
                found quick = look(&kept, &payload, 100), slow = look(NULL, &payload, 100);
                if (!agree(&quick, &slow))
                    CU_FAIL("a changed record is taken to be like the one before");
                payload.data[i] ^= (uint8_t)change;
                if (change % 16 == 0)
                    (void)look(&kept, &payload, 100);
            }
        free(kept);
        assay_buf_release(&payload);
    }
}

/* Records of many steps and sizes at places that collide in the table. */
static void many_records(void)
{
    uint64_t state = 5;
    void *kept = NULL;
    assay_buf payload = usual();
    for (int i = 0; i < 20000; i++) {
        uint64_t at = random_below(&state, 300) * 8;
        payload.data[10] = (uint8_t)random_below(&state, 128);     /* the step */
        payload.data[payload.size - 14] = (uint8_t)('0' + i % 12); /* behind mode_step: the tag of "mode" */
        payload.data[1 + random_below(&state, 8)] = (uint8_t)i;    /* the time */
        found quick = look(&kept, &payload, at), slow = look(NULL, &payload, at);
        CU_ASSERT_TRUE_FATAL(agree(&quick, &slow));
        payload.data[payload.size - 14] = 'm';
    }
    free(kept);
    assay_buf_release(&payload);
}

int main(void)
{
    CU_TestInfo tests[] = {{"every byte", every_byte}, {"many records", many_records}, CU_TEST_INFO_NULL};
    return unit_main("alike", tests);
}
