/* decode.c - a record that is a TFRecord frame around an Event: frame, messages, name, values. */
#include "format/tfrecord/decode.h"

#include <assay/rule.h>

#include <string.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "tfrecord/frame.h"
#include "tfrecord/recorded.h"
#include "format/tfrecord/alike.h"
#include "format/tfrecord/typed.h"

enum { TAG_MOST = 64 << 10 };

/* The frame: the length before the payload; the checksum behind it, where it can be computed now. */
static int check_frame(assay_decoded *d, assay_view *view, assay_record *r, assay_error *err)
{
    uint8_t head[ASSAY_FRAME_HEAD], foot[ASSAY_FRAME_FOOT];
    const uint64_t payload = r->offset + ASSAY_FRAME_HEAD, end = r->offset + r->length - ASSAY_FRAME_FOOT;
    int status = assay_view_copy(view, r->offset, payload, head, err);
    ASSAY_THEN(status, assay_frame_check_head(head, r->length, view->path, r->offset, err));
    ASSAY_THEN(status, assay_view_copy(view, end, r->offset + r->length, foot, err));
    ASSAY_TRY(status);
    d->sum = (assay_running_sum){
        .said = assay_frame_foot(foot), .end = end, .feed = assay_crc32c, .check = assay_frame_check_foot};
    d->sum.on = d->sum.said != ASSAY_FRAME_CONSTANT;
    r->checksum = d->sum.on ? ASSAY_CHECKSUM_TRUE : ASSAY_CHECKSUM_CONSTANT;
    if (!d->sum.on || view->window_at + view->window_size < view->limit)
        return ASSAY_OK;
    return assay_decoded_sum(d, view, r, payload, end, err);
}

static int copy_tag(assay_decoded *d, assay_view *view, const assay_record_parts *p, assay_record *r, assay_error *err)
{
    const uint64_t length = p->tag_end - p->tag_at;
    if (length > TAG_MOST)
        return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the tensor's name has %llu bytes; %d are the most",
                          view->path, (unsigned long long)r->offset, (unsigned long long)length, TAG_MOST);
    if (length >= d->tag_room) {
        size_t room = 2 * (size_t)length + 128;
        char *grown = assay_realloc_array(d->tag, room, 1);
        if (!grown)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", view->path);
        d->tag = grown;
        d->tag_room = room;
    }
    r->tag = d->tag;
    r->name = d->tag;
    r->tag_length = r->name_length = (size_t)length;
    d->tag[length] = '\0';
    return assay_view_copy(view, p->tag_at, p->tag_end, d->tag, err);
}

/* A record may say which worker recorded it (as "worker_3"), and its file is called after one. TensorFlow has the names
 * of operations there. */
static int check_worker(assay_view *view, const assay_record_parts *p, const assay_record *r, assay_error *err)
{
    static const char start[] = "worker_";
    enum { NAME_MOST = 64 };
    char said[NAME_MOST];
    const char *worker = NULL;
    size_t length = 0;
    int64_t step;
    const uint64_t size = p->node_end - p->node_at;
    if (size < sizeof start || size > NAME_MOST ||
        !assay_recorded_event_name(view->path, strlen(view->path), &step, &worker, &length))
        return ASSAY_OK;
    ASSAY_TRY(assay_view_copy(view, p->node_at, p->node_end, said, err));
    if (memcmp(said, start, sizeof start - 1) != 0 || (size == length && memcmp(said, worker, length) == 0))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EFORMAT,
                      "%s: offset %llu: the record says that %.*s recorded it: the file is that of another worker",
                      view->path, (unsigned long long)r->offset, (int)size, said);
}

/* Typed values and strings are decoded now, from sound bytes only. */
static int decode_values(assay_decoded *d, assay_view *view, const assay_record_parts *p, assay_record *r,
                         size_t budget, assay_error *err)
{
    const uint64_t payload = r->offset + ASSAY_FRAME_HEAD;
    if (r->form == ASSAY_CONTENT_BYTES) {
        d->at = p->content_at;
        d->end = p->content_end;
        return assay_decoded_sum(d, view, r, payload, d->at, err);
    }
    ASSAY_TRY(assay_decoded_sum(d, view, r, payload, r->offset + r->length - ASSAY_FRAME_FOOT, err));
    return r->form == ASSAY_CONTENT_STRINGS ? assay_typed_strings(d, view, p, r, budget, err)
                                            : assay_typed_numbers(d, view, p, r, budget, err);
}

int assay_tfrecord_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *r, assay_error *err)
{
    assay_record_parts parts;
    int status = check_frame(d, view, r, err);
    ASSAY_THEN(status, assay_alike_walk(&d->kept, view, r->offset + ASSAY_FRAME_HEAD,
                                        r->offset + r->length - ASSAY_FRAME_FOOT, &parts, r, err));
    ASSAY_THEN(status, assay_record_describe(view, &parts, r, err));
    ASSAY_THEN(status, check_worker(view, &parts, r, err));
    ASSAY_THEN(status, copy_tag(d, view, &parts, r, err));
    return status == ASSAY_OK ? decode_values(d, view, &parts, r, budget, err) : status;
}
