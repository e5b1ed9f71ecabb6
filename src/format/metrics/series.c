/* series.c - see series.h. */
#include "format/metrics/series.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/search.h"

const char *metrics_count_word(int count)
{
    static const char *const words[] = {
#define METRICS_COUNT_WORD(name, word) word,
        METRICS_COUNT_LIST(METRICS_COUNT_WORD)
#undef METRICS_COUNT_WORD
    };
    return words[count];
}

int metrics_log_init(metrics_log *log, assay_store *store, assay_run_facts *facts, assay_problems *problems)
{
    *log = (metrics_log){.store = store,
                         .workers = assay_dict_new(),
                         .tags = assay_dict_new(),
                         .keys = assay_dict_new(),
                         .files = assay_dict_new(),
                         .facts = facts,
                         .problems = problems};
    return log->workers && log->tags && log->keys && log->files ? metrics_set_worker(log, "worker_0") : ASSAY_ENOMEM;
}

void metrics_log_forget(metrics_log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        log->series[i].count = log->series[i].steps.count = 0;
        log->series[i].dropped = 0;
        log->series[i].stride = 0;
    }
    log->range_count = log->vector_count = 0;
}

void metrics_log_release(metrics_log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        free(log->series[i].values);
        free(log->series[i].steps.list);
    }
    free(log->series);
    free(log->vectors);
    free(log->ranges);
    free(log->tag_mode);
    assay_dict_free(log->workers);
    assay_dict_free(log->tags);
    assay_dict_free(log->keys);
    assay_dict_free(log->files);
    *log = (metrics_log){0};
}

int metrics_set_worker(metrics_log *log, const char *name)
{
    log->worker = assay_dict_add(log->workers, name, strlen(name));
    return log->worker == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

void metrics_name_hole(metrics_log *log, const char *path, uint64_t line, const char *text, size_t length)
{
    /* Bytes: a disk loses no fewer of a longer text, and all of a short one; terminals leave no more than a few. */
    enum { SECTOR = 512, ALONE = 16 };
    char place[32] = "";
    const char *end = text + length;
    for (const char *p = text; p && (p = memchr(p, '\0', (size_t)(end - p)));) {
        const char *begin = p;
        while (p < end && *p == '\0')
            p++;
        if (p - begin < (line == 1 && (size_t)(p - begin) == length ? ALONE : SECTOR))
            continue;
        if (line > 0)
            snprintf(place, sizeof place, "line %" PRIu64 ": ", line);
        assay_problems_add(
            log->problems, ASSAY_PROBLEM_RECORD, -1, path, -1,
            "%s: %s%td zero bytes in a row, which nobody writes into a text; what stood there is missing "
            "from this analysis",
            path, place, p - begin);
        return;
    }
}

static void keep_line(metrics_log *log, const char *line, size_t length)
{
    snprintf(log->unknown, sizeof log->unknown, "%.*s", (int)(length < 120 ? length : 120), line);
}

void metrics_unknown(metrics_log *log, const char *line, size_t length)
{
    if (log->counts[METRICS_UNKNOWN]++ == 0 && line)
        keep_line(log, line, length);
}

void metrics_unread(metrics_log *log, uint64_t losses, const char *line, size_t length)
{
    log->counts[METRICS_UNREAD_LOSSES] += losses;
    if (losses > 0 && !*log->unknown)
        keep_line(log, line, length);
}

/* The number of a tag, whose mode is known then. */
static uint32_t tag_of(metrics_log *log, const char *tag, size_t length)
{
    const uint32_t known = assay_dict_count(log->tags), id = assay_dict_add(log->tags, tag, length);
    if (id == ASSAY_NO_ID || id < known)
        return id;
    size_t count = id;
    uint8_t *mode = assay_vec_add(&log->tag_mode, &count, &log->tag_room, 1);
    if (!mode)
        return ASSAY_NO_ID;
    *mode = (uint8_t)metrics_mode_of(tag, length);
    return id;
}

/* Does nobody ask for the values of a tag? Those of losses are judged in any case (judged.c). */
static bool is_unasked(const metrics_log *log, const char *tag, size_t length)
{
    static const char prefix[] = METRICS_PREFIX;
    char name[sizeof prefix + METRICS_TAG_MOST];
    if (!log->asked || !log->asked->asks || metrics_is_loss(tag, length))
        return false;
    memcpy(name, prefix, sizeof prefix - 1);
    memcpy(name + sizeof prefix - 1, tag, length);
    return !log->asked->asks(log->asked->asks_context, name, sizeof prefix - 1 + length);
}

/* The series; NULL without memory, or beyond the limit of series, which is counted. */
static metrics_series *series_of(metrics_log *log, const char *tag, size_t length, int mode, bool vectors, int *status)
{
    const uint32_t id = tag_of(log, tag, length);
    *status = ASSAY_ENOMEM;
    if (id == ASSAY_NO_ID)
        return NULL;
    const uint32_t key[3] = {id, log->worker, (uint32_t)(mode ? mode : log->tag_mode[id]) | (vectors ? 256u : 0)};
    if (log->count >= METRICS_SERIES_MOST && assay_dict_find(log->keys, (const char *)key, sizeof key) == ASSAY_NO_ID) {
        metrics_add(log, METRICS_SERIES_LEFT);
        *status = ASSAY_OK;
        return NULL;
    }
    const uint32_t number = assay_dict_add(log->keys, (const char *)key, sizeof key);
    if (number == ASSAY_NO_ID)
        return NULL;
    if (number == log->count) {
        metrics_series *series = assay_vec_add(&log->series, &log->count, &log->room, sizeof *series);
        if (!series)
            return NULL;
        *series = (metrics_series){.worker = log->worker,
                                   .tag = id,
                                   .mode = (uint8_t)(key[2] & 255),
                                   .vectors = vectors,
                                   .thin = !vectors && is_unasked(log, tag, length),
                                   .last = -1,
                                   .highest = -1};
    }
    *status = ASSAY_OK;
    return &log->series[number];
}

/* Notes that values of a series at these steps were dropped. The series of one restart come one after the other; a
 * series that comes again began anew once more. NULL without memory. */
static metrics_range *note_range(metrics_log *log, metrics_series *s, int64_t first, int64_t last, uint64_t values)
{
    enum { APART = 64 }; /* so many restarts are told apart */
    const bool again = s->dropped == log->range_count && log->range_count < APART;
    log->counts[METRICS_SUPERSEDED] += values;
    if (log->range_count > 0 && !again) {
        metrics_range *before = &log->ranges[log->range_count - 1];
        if (before->worker == log->worker && first <= before->last && before->first <= last) {
            s->dropped = (uint32_t)log->range_count;
            before->first = first < before->first ? first : before->first;
            before->last = last > before->last ? last : before->last;
            before->values += values;
            return before;
        }
    }
    metrics_range *range = assay_vec_add(&log->ranges, &log->range_count, &log->range_room, sizeof *range);
    if (range)
        *range = (metrics_range){.first = first,
                                 .last = last,
                                 .worker = log->worker,
                                 .values = values,
                                 .bad_tag = METRICS_NO_NUMBER,
                                 .loss_tag = METRICS_NO_NUMBER};
    s->dropped = (uint32_t)log->range_count;
    return range;
}

/* What an attempt came to has to be told though its values are dropped: where a loss was first not finite, and the last
 * one of TRAIN. `from`: the first value of the loss `s` that is dropped. */
static void note_dropped(const metrics_series *s, size_t from, metrics_range *range)
{
    for (size_t i = from; i < s->count; i++) {
        const int64_t step = s->values[i].step;
        const double value = s->values[i].number;
        if (!isfinite(value) && (range->bad_tag == METRICS_NO_NUMBER || step < range->bad_step)) {
            range->bad_tag = s->tag;
            range->bad_step = step;
        }
        if (s->mode == ASSAY_MODE_TRAIN && (range->loss_tag == METRICS_NO_NUMBER || step > range->loss_step)) {
            range->loss_tag = s->tag;
            range->loss_step = step;
            range->loss = value;
        }
    }
}

static int64_t last_of(const metrics_steps *steps)
{
    return steps->first + (int64_t)(steps->count - 1) * steps->stride;
}

/* Counts the steps that metrics_put_into() let a thin series go on by. */
static void settle(metrics_series *s)
{
    if (s->stride == 0)
        return;
    metrics_steps *steps = &s->steps.list[s->steps.count - 1];
    steps->count = (uint64_t)((s->last - steps->first) / s->stride) + 1;
    s->highest = s->last;
    s->stride = 0;
}

/* Likewise of a thin series. */
static int supersede_thin(metrics_log *log, metrics_series *s, int64_t step)
{
    const int64_t last = s->highest;
    int64_t first = INT64_MAX;
    uint64_t dropped = 0;
    while (s->steps.count > 0 && last_of(&s->steps.list[s->steps.count - 1]) >= step) {
        metrics_steps *steps = &s->steps.list[s->steps.count - 1];
        const int64_t before = step - steps->first;
        const uint64_t left = before > 0 ? (uint64_t)((before + steps->stride - 1) / steps->stride) : 0;
        first = steps->first + (int64_t)left * steps->stride;
        dropped += steps->count - left;
        steps->count = left;
        s->steps.count -= left == 0;
    }
    s->highest = s->last = s->steps.count ? last_of(&s->steps.list[s->steps.count - 1]) : -1;
    s->count = s->steps.count > 0;
    return dropped == 0 || note_range(log, s, first, last, dropped) ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Moves the values at steps >= `step` behind the others. Says how many others there are, and their highest step. */
static size_t part_from(metrics_series *s, int64_t step, int64_t *highest)
{
    size_t kept = s->count;
    *highest = -1;
    if (!s->unsorted) {
        while (kept > 0 && s->values[kept - 1].step >= step)
            kept--;
        *highest = kept > 0 ? s->values[kept - 1].step : -1;
        return kept;
    }
    kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        const metrics_value value = s->values[i];
        if (value.step >= step)
            continue;
        s->values[i] = s->values[kept];
        s->values[kept++] = value;
        *highest = value.step > *highest ? value.step : *highest;
    }
    return kept;
}

/* Drops the values at steps >= `step`. */
static int supersede(metrics_log *log, metrics_series *s, int64_t step)
{
    int64_t first = INT64_MAX, last = -1, highest;
    settle(s);
    if (step > s->highest)
        return ASSAY_OK;
    if (s->thin)
        return supersede_thin(log, s, step);
    const size_t kept = part_from(s, step, &highest), dropped = s->count - kept;
    for (size_t i = kept; i < s->count; i++) {
        first = s->values[i].step < first ? s->values[i].step : first;
        last = s->values[i].step > last ? s->values[i].step : last;
    }
    metrics_range *range = dropped > 0 ? note_range(log, s, first, last, dropped) : NULL;
    size_t length;
    const char *tag = assay_dict_name(log->tags, s->tag, &length);
    if (range && !s->vectors && metrics_is_loss(tag, length))
        note_dropped(s, kept, range);
    s->count = kept;
    s->highest = highest;
    s->last = kept > 0 ? s->values[kept - 1].step : -1;
    return dropped == 0 || range ? ASSAY_OK : ASSAY_ENOMEM;
}

void metrics_restart(metrics_log *log, int64_t step)
{
    for (size_t i = 0; i < log->count; i++)
        if (log->series[i].worker == log->worker)
            supersede(log, &log->series[i], step);
}

/* The step of a thin series, whose first value is kept. */
static int put_thin(metrics_series *s, const metrics_value *value)
{
    metrics_steps *steps = s->steps.count ? &s->steps.list[s->steps.count - 1] : NULL;
    const bool finite = isfinite(value->number);
    if (value->step <= s->highest)
        return METRICS_AGAIN;
    if (steps && steps->finite == finite && (steps->count == 1 || steps->stride == value->step - s->last)) {
        steps->stride = value->step - s->last;
        steps->count++;
        s->stride = finite ? steps->stride : 0;
    } else {
        metrics_value *first = steps ? s->values : assay_vec_add(&s->values, &s->count, &s->room, sizeof *first);
        metrics_steps *added = first ? ASSAY_VEC_ADD(&s->steps) : NULL;
        ASSAY_HAVE(added);
        *added = (metrics_steps){.first = value->step, .stride = 1, .count = 1, .finite = finite};
        if (!steps)
            *first = *value;
    }
    s->highest = s->last = value->step;
    return ASSAY_OK;
}

/* Notes the spot of a value that is sought. */
static void note_spot(const metrics_log *log, const metrics_series *s, int64_t step)
{
    metrics_sought *sought = log->sought;
    if (step != sought->step || !log->at.path)
        return;
    const bool whole = !*sought->tag || strcmp(sought->tag, assay_dict_name(log->tags, s->tag, NULL)) == 0;
    if (sought->any && (!whole || (sought->whole && !*sought->tag))) /* of any tag the first will do */
        return;
    sought->any = true;
    sought->whole = whole;
    sought->at = log->at;
    snprintf(sought->path, sizeof sought->path, "%s", log->at.path);
    sought->at.path = sought->path;
}

static int put_into(metrics_log *log, metrics_series *s, const metrics_value *value)
{
    int status = ASSAY_OK;
    if (log->sought) {
        note_spot(log, s, value->step);
        return ASSAY_OK;
    }
    settle(s);
    if (s->part != log->part || (log->falls && value->step < s->last))
        status = supersede(log, s, value->step);
    s->part = log->part;
    if (s->thin)
        return status == ASSAY_OK ? put_thin(s, value) : status;
    metrics_value *added = status == ASSAY_OK ? assay_vec_add(&s->values, &s->count, &s->room, sizeof *added) : NULL;
    ASSAY_HAVE(added);
    s->unsorted = s->unsorted || value->step <= s->highest;
    s->highest = value->step > s->highest ? value->step : s->highest;
    s->last = value->step;
    *added = *value;
    return ASSAY_OK;
}

static bool is_bad_step(metrics_log *log, int64_t step)
{
    if (step >= 0 && step < METRICS_STEP_END)
        return false;
    metrics_add(log, METRICS_BAD_STEPS);
    return true;
}

static int put(metrics_log *log, const char *tag, size_t length, int mode, bool vectors, metrics_value value)
{
    int status = ASSAY_OK;
    if (length > METRICS_TAG_MOST) {
        metrics_add(log, METRICS_LONG_NAMES);
        return ASSAY_OK;
    }
    if (is_bad_step(log, value.step))
        return ASSAY_OK;
    log->any = true;
    if (log->until_first) {
        log->first = value.step;
        return METRICS_ENOUGH;
    }
    metrics_series *s = series_of(log, tag, length, mode, vectors, &status);
    return s ? put_into(log, s, &value) : status;
}

int metrics_put(metrics_log *log, const char *tag, size_t length, int mode, int64_t step, double value)
{
    return put(log, tag, length, mode, false, (metrics_value){.step = step, .number = value});
}

uint32_t metrics_series_number(const metrics_log *log, const char *tag, size_t length)
{
    const uint32_t id = assay_dict_find(log->tags, tag, length);
    const uint32_t key[3] = {id, log->worker, id == ASSAY_NO_ID ? 0 : log->tag_mode[id]};
    return assay_dict_find(log->keys, (const char *)key, sizeof key);
}

int metrics_put_value(metrics_log *log, metrics_series *series, int64_t step, double value)
{
    const metrics_value one = {.step = step, .number = value};
    return is_bad_step(log, step) ? ASSAY_OK : put_into(log, series, &one);
}

int metrics_put_vector(metrics_log *log, const char *tag, size_t length, int64_t step, uint32_t file, uint64_t at,
                       uint64_t size)
{
    metrics_vector *vector = assay_vec_add(&log->vectors, &log->vector_count, &log->vector_room, sizeof *vector);
    ASSAY_HAVE(vector);
    *vector = (metrics_vector){file, at, size};
    return put(log, tag, length, 0, true, (metrics_value){.step = step, .vector = log->vector_count - 1});
}

/* ---- the end ---- */

typedef struct placed {
    metrics_value value;
    size_t place;
} placed;

ASSAY_ORDER_BY(by_step, placed, value.step, place)

static int sort_series(metrics_log *log, metrics_series *s)
{
    placed *list = s->unsorted ? assay_alloc_zeroed(s->count, sizeof *list) : NULL;
    if (!s->unsorted)
        return ASSAY_OK;
    ASSAY_HAVE(list);
    for (size_t i = 0; i < s->count; i++)
        list[i] = (placed){s->values[i], i};
    qsort(list, s->count, sizeof *list, by_step);
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (kept > 0 && s->values[kept - 1].step == list[i].value.step) {
            /* bits, not numbers: NaN repeats NaN */
            log->counts[METRICS_REPEATED] += s->vectors || s->values[kept - 1].vector != list[i].value.vector;
            kept--;
        }
        s->values[kept++] = list[i].value;
    }
    s->count = kept;
    s->unsorted = false;
    free(list);
    return ASSAY_OK;
}

/* The trainer's closing summary, as loggers write it beside the other tags. */
static bool is_closing_tag(const char *tag)
{
    static const char *const tags[] = {"train/train_loss", "train/train_runtime", "train/train_samples_per_second",
                                       "train/train_steps_per_second", "train/total_flos"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (strcmp(tags[i], tag) == 0)
            return true;
    return false;
}

static void move_summary(metrics_log *log)
{
    static const char proof[] = "train/train_runtime";
    if (assay_dict_find(log->tags, proof, sizeof proof - 1) == ASSAY_NO_ID)
        return;
    for (size_t i = 0; i < log->count; i++)
        if (log->series[i].mode == ASSAY_MODE_TRAIN &&
            is_closing_tag(assay_dict_name(log->tags, log->series[i].tag, NULL)))
            log->series[i].mode = ASSAY_MODE_GLOBAL;
}

int metrics_log_finish(metrics_log *log)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < log->count && status == ASSAY_OK; i++) {
        settle(&log->series[i]);
        status = sort_series(log, &log->series[i]);
    }
    move_summary(log);
    return status;
}

/* ---- settings ---- */

int metrics_fact(metrics_log *log, const char *name, const char *value, size_t length)
{
    if (!log->facts)
        return ASSAY_OK;
    assay_run_fact *known = NULL; /* later ones replace it */
    for (size_t i = 0; i < log->facts->count && !known; i++)
        if (strcmp(log->facts->list[i].name, name) == 0)
            known = &log->facts->list[i];
    char *copy = assay_copy_bytes_as_text(value, length);
    if (!known)
        return assay_run_facts_put(log->facts, assay_copy_text(name), copy);
    ASSAY_HAVE(copy);
    free(known->value);
    known->value = copy;
    return ASSAY_OK;
}

int metrics_fact_time(metrics_log *log, const char *name, int64_t seconds)
{
    char text[32];
    struct tm parts;
    const time_t time = (time_t)seconds;
    if (seconds <= 0 || seconds > INT64_C(253402300799) || !gmtime_r(&time, &parts)) /* of four digits a year */
        return ASSAY_OK;
    const size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return metrics_fact(log, name, text, length);
}
