/* wrong_predictions.c - the aggregation wrong_predictions: samples whose predicted class differs from their label, with
 * their input images. A job's "images" is short for it.
 *
 * Labels, predictions and images of a step are paired per worker, sample by sample. All wrong ones are counted, and the
 * first `most` in the order of (step, worker, sample) are kept with a small picture. Which samples are wrong is known
 * only after labels and predictions were read, so every image of a step is kept, but with few pixels (IMAGES). */
#include "shared/wrong_predictions.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modes.h"
#include "pairs.h"

enum { LABELS, PREDICTIONS, IMAGES }; /* slots */
enum { IMAGES_MEASURE = 3 };
static const class_slot LABEL_CLASSES = {LABELS, 0, 0}, PREDICTION_CLASSES = {PREDICTIONS, 1, 2};

static const assay_param_def params[] = {
    {.name = "tensor",
     .type = ASSAY_PARAM_TEXT,
     .flags = ASSAY_PARAM_REQUIRED,
     .help = "Name of the tensor of input images: [N, C, H, W], [N, H, W, C] or [N, H, W] with 1 or 3 channels."},
    ASSAY_TEXT_PARAM("labels", "labels", "Name of the tensor of labels."),
    ASSAY_TEXT_PARAM("predictions", "predictions",
                     "Name of the tensor of predictions: class numbers, or scores along an axis of classes."),
    ASSAY_CHOICE_PARAM("mode", NULL, MODE_CHOICES, "Only steps of this mode; by default all."),
    ASSAY_CHOICE_PARAM("channels", "first", "first|last",
                       "Whether the channels of an image are its first or its last axis."),
    ASSAY_REALS_PARAM(
        "mean", NULL, 0, 0,
        "What was subtracted from the images, per channel or once for all; x * std + mean is between 0 and 1."),
    ASSAY_REALS_PARAM("std", NULL, 0, 0, "What the images were divided by, per channel or once for all."),
    ASSAY_LIST_PARAM("classes", NULL, "Names of the classes from 0 on."),
    ASSAY_INT_PARAM("most", "24", 1, ASSAY_PICTURES_MOST,
                    "How many of the wrong predictions are kept with their images."),
    IGNORE_LABELS_PARAM,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    bool last = strcmp(assay_param_text(given, "channels"), "last") == 0;
    assay_slot slot = {
        .name = assay_param_text(given, "labels"), .modes = chosen_modes(given), .flags = ASSAY_SLOT_NO_STRINGS};
    assay_measure images = {.kind = ASSAY_MEASURE_IMAGES,
                            .form = last ? ASSAY_IMAGES_CHANNELS_LAST : ASSAY_IMAGES_CHANNELS_FIRST,
                            .numbers = 1,
                            .number = {ASSAY_PICTURE_SIDE}};
    int status = ignored_labels_check(given, "ignore_labels", err);
    ASSAY_THEN(status, class_slot_add(need, &slot, ASSAY_CLASS_ROUND, err));
    slot.name = assay_param_text(given, "predictions");
    ASSAY_THEN(status, class_slot_add(need, &slot, ASSAY_CLASS_AUTO, err));
    slot.name = assay_param_text(given, "tensor");
    int number = status ? status : assay_need_slot(need, &slot, err);
    status = number < 0 ? number : assay_need_measure(need, number, &images, err);
    return status < 0 ? status : ASSAY_OK;
}

/* ---- the state ---- */

static void *state_new(const assay_rule *rule)
{
    return calloc(1, sizeof(assay_wrong_predictions));
}

static void state_free(void *state)
{
    assay_wrong_predictions *s = state;
    for (uint32_t i = 0; s && i < s->count; i++)
        free(s->list[i].pixel);
    if (s)
        free(s->list);
    free(s);
}

static size_t pixel_bytes(const assay_picture *p)
{
    return (size_t)p->channels * p->height * p->width;
}

/* Appends a picture while there is room for one more; `pixel`, of pixel_bytes(), is copied. */
static int keep(assay_wrong_predictions *s, uint32_t most, const assay_picture *picture, const uint8_t *pixel)
{
    if (s->count >= most)
        return ASSAY_OK;
    if (s->count == s->room) {
        uint32_t room = s->room ? 2 * s->room : 8;
        assay_picture *list = realloc(s->list, room * sizeof *list);
        ASSAY_HAVE(list);
        s->list = list;
        s->room = room;
    }
    assay_picture *p = &s->list[s->count];
    *p = *picture;
    p->pixel = pixel_bytes(p) ? malloc(pixel_bytes(p)) : NULL;
    if (pixel_bytes(p) && !p->pixel)
        return ASSAY_ENOMEM;
    if (p->pixel)
        memcpy(p->pixel, pixel, pixel_bytes(p));
    s->count++;
    return ASSAY_OK;
}

static uint32_t most_of(const assay_rule *rule)
{
    return (uint32_t)assay_param_int(rule->params, "most");
}

static void note(assay_wrong_predictions *s, uint64_t times, const char *text)
{
    if (s->unfit == 0)
        snprintf(s->note, sizeof s->note, "%s", text);
    s->unfit += times;
}

static int combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    assay_wrong_predictions *to = earlier;
    const assay_wrong_predictions *from = later;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < from->count; i++)
        status = keep(to, most_of(rule), &from->list[i], from->list[i].pixel);
    to->samples += from->samples;
    to->wrong += from->wrong;
    if (from->unfit > 0)
        note(to, from->unfit, from->note);
    return status;
}

static int pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    const assay_wrong_predictions *s = state;
    assay_put_u64(out, s->samples);
    assay_put_u64(out, s->wrong);
    assay_put_u64(out, s->unfit);
    assay_put_text(out, s->note);
    assay_put_u32(out, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        const assay_picture *p = &s->list[i];
        assay_put_i64(out, p->step);
        assay_put_i64(out, p->label);
        assay_put_i64(out, p->prediction);
        assay_put_u64(out, p->sample);
        assay_put_u32(out, p->worker);
        assay_put_u8(out, (uint8_t)p->channels);
        assay_put_u8(out, (uint8_t)p->height);
        assay_put_u8(out, (uint8_t)p->width);
        assay_put_bytes(out, p->pixel, pixel_bytes(p));
    }
    return assay_buf_status(out);
}

static bool sound(const assay_rule *rule, const assay_picture *p)
{
    bool none = p->channels == 0 && p->height == 0 && p->width == 0;
    bool some = (p->channels == 1 || p->channels == 3) && p->height > 0 && p->height <= ASSAY_PICTURE_SIDE &&
                p->width > 0 && p->width <= ASSAY_PICTURE_SIDE;
    return (none || some) && p->worker < assay_trial_workers(rule->trial);
}

/* One picture at the cursor. */
static int unpack_picture(const assay_rule *rule, assay_cursor *in, assay_wrong_predictions *s)
{
    assay_picture p = {.step = assay_get_i64(in), .label = assay_get_i64(in)};
    p.prediction = assay_get_i64(in);
    p.sample = assay_get_u64(in);
    p.worker = assay_get_u32(in);
    p.channels = assay_get_u8(in);
    p.height = assay_get_u8(in);
    p.width = assay_get_u8(in);
    const uint8_t *pixel = sound(rule, &p) ? assay_get_bytes(in, pixel_bytes(&p)) : NULL;
    if (in->failed || !sound(rule, &p))
        return ASSAY_EFORMAT;
    return keep(s, most_of(rule), &p, pixel);
}

static int unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    assay_wrong_predictions *s = state_new(rule);
    size_t length;
    ASSAY_HAVE(s);
    s->samples = assay_get_u64(in);
    s->wrong = assay_get_u64(in);
    s->unfit = assay_get_u64(in);
    const char *text = assay_get_text(in, &length);
    uint32_t count = assay_get_u32(in);
    int status = length < sizeof s->note && count <= most_of(rule) && !in->failed ? ASSAY_OK : ASSAY_EFORMAT;
    if (status == ASSAY_OK)
        memcpy(s->note, text, length);
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++)
        status = unpack_picture(rule, in, s);
    if (status == ASSAY_OK && assay_cursor_bad(in))
        status = ASSAY_EFORMAT;
    if (status != ASSAY_OK) {
        state_free(s);
        return status == ASSAY_ENOMEM ? status : assay_fail(err, status, "the state of wrong_predictions is damaged");
    }
    *state = s;
    return ASSAY_OK;
}

/* ---- pictures ---- */

/* How the values of one image become 0 .. 255. */
typedef struct scale {
    double factor[3], offset[3];
} scale;

static double of_channel(const assay_params *given, const char *name, uint32_t channel, double otherwise)
{
    size_t count = assay_param_has(given, name) ? assay_param_count(given, name) : 0;
    return count == 0 ? otherwise : assay_param_number(given, name, count == 1 ? 0 : channel);
}

/* With mean or std, what they undo is taken to go from 0 to 1; bytes stay as they are; everything else is stretched
 * from the image's least to its largest value, which shows its shapes whatever the units. */
static scale scale_of(const assay_params *given, int dtype, const double *value, const assay_picture *p)
{
    scale s = {{1, 1, 1}, {0, 0, 0}};
    if (assay_param_has(given, "mean") || assay_param_has(given, "std")) {
        for (uint32_t c = 0; c < p->channels; c++) {
            s.factor[c] = 255 * of_channel(given, "std", c, 1);
            s.offset[c] = 255 * of_channel(given, "mean", c, 0);
        }
        return s;
    }
    if (dtype == ASSAY_UINT8)
        return s;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < pixel_bytes(p); i++) {
        low = isfinite(value[i]) && value[i] < low ? value[i] : low;
        high = isfinite(value[i]) && value[i] > high ? value[i] : high;
    }
    for (uint32_t c = 0; c < p->channels && low < high; c++) {
        s.factor[c] = 255 / (high - low);
        s.offset[c] = -low * s.factor[c];
    }
    return s;
}

static uint8_t byte_of(double x)
{
    return !(x > 0) ? 0 : x >= 255 ? 255 : (uint8_t)(x + 0.5); /* not a number: black */
}

static void draw(const assay_params *given, int dtype, const double *value, const assay_picture *p, uint8_t *pixel)
{
    const scale s = scale_of(given, dtype, value, p);
    size_t plane = (size_t)p->height * p->width;
    for (size_t i = 0; i < plane; i++) {
        for (uint32_t c = 0; c < p->channels; c++)
            pixel[i * p->channels + c] = byte_of(value[c * plane + i] * s.factor[c] + s.offset[c]);
    }
}

/* ---- map ---- */

static void put_shape(const assay_tensor_view *item, char *out, size_t room)
{
    size_t used = 0;
    for (int d = 0; d < item->dims && used + 24 < room; d++)
        used += (size_t)snprintf(out + used, room - used, "%s%" PRId64, d ? ", " : "", item->shape[d]);
    out[used] = '\0';
}

/* Is there a number for each channel? */
static bool counts_fit(const assay_params *given, const char *name, uint64_t channels)
{
    size_t count = assay_param_has(given, name) ? assay_param_count(given, name) : 1;
    return count == 1 || count == channels;
}

/* The images of the i-th labels, when they are as many; else NULL, and why is noted. */
static const assay_images *images_of(const assay_rule *rule, const assay_step_view *view, uint32_t i, uint64_t count,
                                     assay_wrong_predictions *s, const assay_tensor_view **item)
{
    uint32_t k = partner_number(&view->slot[LABELS], i, &view->slot[IMAGES]);
    char text[ASSAY_PICTURE_NOTE], shape[96];
    if (k == UINT32_MAX) {
        snprintf(text, sizeof text, "At step %" PRId64 " a worker has labels and no images.", view->step);
        note(s, 1, text);
        return NULL;
    }
    *item = view->slot[IMAGES].items[k];
    const assay_result *result = assay_view_result(view, IMAGES_MEASURE, *item);
    put_shape(*item, shape, sizeof shape);
    if (!result) {
        snprintf(text, sizeof text,
                 "At step %" PRId64 " the tensor has the shape [%s]: no images with 1 or 3 channels.", view->step,
                 shape);
    } else if (result->of.images.images != count) {
        snprintf(text, sizeof text, "At step %" PRId64 " there are %" PRIu64 " labels, and images of the shape [%s].",
                 view->step, count, shape);
    } else if (!counts_fit(rule->params, "mean", result->of.images.channels) ||
               !counts_fit(rule->params, "std", result->of.images.channels)) {
        snprintf(text, sizeof text,
                 "The images have %" PRIu64 " channels: mean and std need one number for each, or one for all.",
                 result->of.images.channels);
    } else {
        return &result->of.images;
    }
    note(s, 1, text);
    return NULL;
}

static int add_wrong(const assay_rule *rule, assay_wrong_predictions *s, const assay_images *images, int dtype,
                     assay_picture *picture)
{
    static const assay_images none = {0};
    uint8_t pixel[3 * ASSAY_PICTURE_SIDE * ASSAY_PICTURE_SIDE];
    images = images ? images : &none;
    picture->channels = (uint32_t)images->channels;
    picture->height = (uint32_t)images->height;
    picture->width = (uint32_t)images->width;
    if (s->count < most_of(rule) && pixel_bytes(picture) > 0)
        draw(rule->params, dtype, images->value + picture->sample * pixel_bytes(picture), picture, pixel);
    return keep(s, most_of(rule), picture, pixel);
}

/* The i-th labels of the step. */
static int map_labels(const assay_rule *rule, assay_wrong_predictions *s, const assay_step_view *view, uint32_t i)
{
    const assay_classes *l = classes_of(view, LABEL_CLASSES, i);
    const assay_classes *p = partner_of(rule->trial, view, LABEL_CLASSES, i, PREDICTION_CLASSES);
    const ignored_labels ignored = ignored_labels_of(rule->params, "ignore_labels");
    const assay_tensor_view *item = NULL;
    char text[ASSAY_PICTURE_NOTE];
    int status = ASSAY_OK;
    if (!l)
        return ASSAY_OK;
    if (!p) {
        snprintf(text, sizeof text, "At step %" PRId64 " %" PRIu64 " labels have no predictions of the same number.",
                 view->step, l->count);
        note(s, 1, text);
        return ASSAY_OK;
    }
    const assay_images *images = images_of(rule, view, i, l->count, s, &item);
    for (uint64_t k = 0; k < l->count && status == ASSAY_OK; k++) {
        if (l->value[k] == ASSAY_NO_CLASS || p->value[k] == ASSAY_NO_CLASS ||
            is_ignored_label(&ignored, (double)l->value[k]))
            continue;
        s->samples++;
        if (l->value[k] == p->value[k])
            continue;
        s->wrong++;
        assay_picture picture = {.step = view->step,
                                 .label = l->value[k],
                                 .prediction = p->value[k],
                                 .sample = k,
                                 .worker = view->slot[LABELS].items[i]->worker};
        status = add_wrong(rule, s, images, item ? item->dtype : -1, &picture);
    }
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[LABELS].count; i++)
        status = map_labels(rule, state, view, i);
    return status;
}

/* ---- the result ---- */

static void put_class(const assay_rule *rule, const char *key, int64_t class, assay_buf *json)
{
    assay_put_format(json, ", \"%s\": %" PRId64, key, class);
    if (assay_param_has(rule->params, "classes") && class >= 0 &&
        (uint64_t) class < assay_param_count(rule->params, "classes")) {
        assay_put_format(json, ", \"%s_name\": ", key);
        assay_json_put_text(json, assay_param_item(rule->params, "classes", (size_t) class));
    }
}

static void put_picture(const assay_rule *rule, const assay_picture *p, assay_buf *json, assay_buf *text)
{
    uint64_t at = assay_trial_find_step(rule->trial, p->step);
    const assay_step_info *step = at == UINT64_MAX ? NULL : assay_trial_step(rule->trial, at);
    const char *worker = assay_trial_worker(rule->trial, p->worker);
    assay_put_format(json,
                     "{\"step\": %" PRId64 ", \"mode\": \"%s\", \"mode_step\": %" PRId64 ", \"worker\": ", p->step,
                     step ? assay_mode_name(step->mode) : "", step ? step->mode_step : -1);
    assay_json_put_text(json, worker);
    assay_put_format(json, ", \"sample\": %" PRIu64, p->sample);
    put_class(rule, "label", p->label, json);
    put_class(rule, "predicted", p->prediction, json);
    assay_put_format(json, ", \"picture\": %s}", p->pixel ? "true" : "false");
    assay_put_format(text, "  step %" PRId64 ", %s, sample %" PRIu64 ": %" PRId64 " taken for %" PRId64 "\n", p->step,
                     worker, p->sample, p->label, p->prediction);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_wrong_predictions *s = state;
    assay_buf *json = assay_verdict_json(verdict), *text = assay_verdict_text(verdict);
    if (s->unfit > 0)
        assay_verdict_message(verdict,
                              "%" PRIu64 " times labels, predictions and images did not fit together. The first: %s",
                              s->unfit, s->note);
    assay_put_format(text, "  %" PRIu64 " of %" PRIu64 " predictions are wrong%s\n", s->wrong, s->samples,
                     s->wrong > s->count ? "; the first of them:" : "");
    assay_put_format(json, "\"samples\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"wrong_predictions\": [", s->samples,
                     s->wrong);
    for (uint32_t i = 0; i < s->count; i++) {
        assay_put_format(json, "%s\n     ", i ? "," : "");
        put_picture(rule, &s->list[i], json, text);
    }
    assay_put_format(json, "]");
    return ASSAY_OK;
}

const assay_rule_ops assay_rule_wrong_predictions = {
    ASSAY_RULE_HEAD,
    .name = "wrong_predictions",
    .summary = "Samples whose predicted class is not their label, the first of them with their input images.",
    .params = params,
    .traits = ASSAY_RULE_AGGREGATION | ASSAY_RULE_KEEPS_STATE,
    .setup = setup,
    .state_new = state_new,
    .state_free = state_free,
    .map = map,
    .combine = combine,
    .pack = pack,
    .unpack = unpack,
    .finalize = finalize,
};
