/* save.c - steps and saving: the calls that a training makes all the time. */
#include "hook/internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "hook/layout.h"
#include "hook/reduce.h"

/* The lock is held. */
static int set_mode(assay_hook *hook, int mode)
{
    if (mode < ASSAY_HOOK_TRAIN || mode > ASSAY_HOOK_GLOBAL)
        return hook_failed(hook, ASSAY_EUSAGE, "assay_hook_set_mode: there is no such mode");
    hook->mode = mode - 1;
    return ASSAY_OK;
}

int assay_hook_set_mode(assay_hook *hook, int mode)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    int rc = set_mode(hook, mode);
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

/* The step that what is saved belongs to. The lock is held. */
static struct hook_place *place_now(assay_hook *hook)
{
    return &hook->begun_at[(hook->steps_begun - 1 - (uint64_t)hook->back) % (ASSAY_HOOK_FARTHEST_BACK + 1)];
}

void hook_take_mask(assay_hook *hook)
{
    const struct hook_place *at = place_now(hook);
    uint64_t mask = hook_config_step_mask(&hook->config, at->mode, at->mode_step);
    atomic_store_explicit(&hook->mask, mask, memory_order_relaxed);
}

static const char *mode_name(int mode)
{
    static const char *const names[HOOK_MODES] = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"};
    return names[mode];
}

/* The lock is held. */
static int next_step(assay_hook *hook)
{
    int rc = hook_begin(hook);
    if (!hook->off) {
        while (hook->waiting) /* their tensors belong to the step that ends */
            pthread_cond_wait(&hook->done, &hook->lock);
        hook->closed = hook->serial++;
        hook->step++;
        hook->mode_step[hook->mode]++;
        if (hook->mode != ASSAY_HOOK_GLOBAL - 1)
            hook->mode_step[ASSAY_HOOK_GLOBAL - 1] = hook->step;
        hook->steps_begun++;
        hook->back = 0;
        hook->again = false;
        *place_now(hook) = (struct hook_place){hook->step, hook->mode_step[hook->mode], hook->mode};
        hook_take_mask(hook);
        if (hook->profile)
            hook_profile_step(hook->profile, mode_name(hook->mode), hook->mode_step[hook->mode]);
        hook->recorded.passed[hook->mode]++;
        hook->recorded.saved[hook->mode] += atomic_load_explicit(&hook->mask, memory_order_relaxed) != 0;
        atomic_store_explicit(&hook->recording, true, memory_order_relaxed);
        if ((hook->queue.items || hook->writing) && (!hook->gathering || hook_hurries(hook)))
            pthread_cond_signal(&hook->work);
    }
    return rc;
}

int assay_hook_step(assay_hook *hook)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    int rc = next_step(hook);
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

/* The collections that want a tensor now. The lock is held. */
static uint64_t mask_of(assay_hook *hook, const char *tensor)
{
    hook_name *name;
    bool found = tensor && hook_names_find(&hook->names, &hook->config, tensor, &name, NULL) == ASSAY_OK;
    return found ? name->mask & atomic_load_explicit(&hook->mask, memory_order_relaxed) : 0;
}

uint64_t assay_hook_next(assay_hook *hook, int mode, size_t count, const char *const *tensors)
{
    uint64_t found = 0;
    if (!hook || hook_forked(hook))
        return found;
    pthread_mutex_lock(&hook->lock);
    int rc = mode ? set_mode(hook, mode) : ASSAY_OK;
    ASSAY_THEN(rc, next_step(hook));
    bool active = rc == ASSAY_OK && atomic_load_explicit(&hook->mask, memory_order_relaxed) != 0;
    for (size_t i = 0; active && i < count && i < 62; i++)
        found |= (uint64_t)(mask_of(hook, tensors[i]) != 0) << i;
    pthread_mutex_unlock(&hook->lock);
    return active ? found | ASSAY_HOOK_ACTIVE : found;
}

int assay_hook_step_end(assay_hook *hook)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    if (hook->profile)
        hook_profile_step_end(hook->profile);
    pthread_mutex_unlock(&hook->lock);
    return ASSAY_OK;
}

int64_t assay_hook_phase_begin(assay_hook *hook)
{
    int64_t now = 0;
    if (!hook || hook_forked(hook))
        return now;
    pthread_mutex_lock(&hook->lock);
    if (hook_begin(hook) == ASSAY_OK && !hook->off)
        hook_start_profile(hook);
    if (hook->profile)
        now = hook_profile_now(hook->profile);
    pthread_mutex_unlock(&hook->lock);
    return now;
}

int assay_hook_phase_end(assay_hook *hook, const char *name, int64_t begun)
{
    if (!hook || hook_forked(hook) || begun <= 0)
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    int rc = ASSAY_OK;
    if (!name || !*name)
        rc = hook_failed(hook, ASSAY_EUSAGE, "assay_hook_phase_end: the phase has no name");
    else if (hook->profile)
        hook_profile_phase(hook->profile, name, begun, hook_profile_now(hook->profile));
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

int assay_hook_event(assay_hook *hook, const char *phase, const char *name, int64_t begun, int64_t duration)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    int rc = ASSAY_OK;
    int64_t ended;
    if (!phase || !*phase || !name || !*name || begun <= 0 || duration < 0 ||
        __builtin_add_overflow(begun, duration, &ended))
        rc = hook_failed(hook, ASSAY_EUSAGE, "assay_hook_event: it has no name, or ends before it begins");
    else if (hook_begin(hook) == ASSAY_OK && !hook->off) {
        hook_start_profile(hook);
        if (hook->profile)
            hook_profile_event(hook->profile, phase, name, begun, ended);
    }
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

int assay_hook_seek(assay_hook *hook, int64_t global_step, int mode, int64_t mode_step)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    int rc = ASSAY_OK;
    if (mode < ASSAY_HOOK_TRAIN || mode > ASSAY_HOOK_GLOBAL || global_step < 0 || mode_step < 0)
        rc = hook_failed(hook, ASSAY_EUSAGE, "assay_hook_seek: a mode and steps from 0 are needed");
    else if (global_step <= hook->step && hook->serial > 0)
        rc = hook_failed(hook, ASSAY_EUSAGE,
                         "assay_hook_seek: steps that this run has recorded cannot be recorded again");
    else {
        hook->step = global_step - 1;
        hook->mode_step[mode - 1] = mode_step - 1;
    }
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

int assay_hook_go_back(assay_hook *hook, int back)
{
    if (!hook || hook_forked(hook))
        return ASSAY_OK;
    pthread_mutex_lock(&hook->lock);
    int rc = ASSAY_OK;
    if (back < 0 || back > ASSAY_HOOK_FARTHEST_BACK || (uint64_t)back >= hook->steps_begun)
        rc = hook_failed(hook, ASSAY_EUSAGE, "assay_hook_go_back: there was no such step, or it is too far back");
    else if (back != hook->back) {
        while (hook->waiting)
            pthread_cond_wait(&hook->done, &hook->lock);
        hook->closed = hook->serial++;
        hook->back = back;
        hook->again = true;
        hook_take_mask(hook);
        pthread_cond_signal(&hook->work);
    }
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

bool assay_hook_active(const assay_hook *hook)
{
    return hook && !hook_forked(hook) && atomic_load_explicit(&hook->mask, memory_order_relaxed) != 0;
}

/* The collections that want a tensor now. */
static uint64_t mask_now(assay_hook *hook, const char *tensor)
{
    if (!assay_hook_active(hook) || !tensor)
        return 0;
    pthread_mutex_lock(&hook->lock);
    uint64_t mask = mask_of(hook, tensor);
    pthread_mutex_unlock(&hook->lock);
    return mask;
}

bool assay_hook_wants(assay_hook *hook, const char *tensor)
{
    return mask_now(hook, tensor) != 0;
}

bool assay_hook_wants_statistics(assay_hook *hook, const char *tensor)
{
    uint64_t mask = mask_now(hook, tensor);
    bool enough = mask != 0;
    for (size_t i = 0; mask && enough && i < hook->config.count; i++) { /* fixed when a step has begun */
        const hook_reductions *r = &hook->config.collections[i].reduce;
        if (!(mask >> i & 1))
            continue;
        enough = r->form == HOOK_FORM_STATISTICS && !r->raw;
        for (size_t k = 0; enough && k < r->count; k++)
            enough = hook_is_given(r->codes[k]);
    }
    return enough;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Room for a tensor in the queue, waiting for it or not as configured; NULL when it is dropped. The lock is held. */
static hook_item *reserve(assay_hook *hook, int ndim, size_t bytes)
{
    hook_item *item;
    while (!(item = hook_queue_reserve(&hook->queue, ndim, bytes))) {
        if (hook->config.drop || hook->stalled) {
            hook->counts.dropped++;
            return NULL;
        }
        hook->waiting++;
        pthread_cond_signal(&hook->work);
        hook_wait(hook);
        if (--hook->waiting == 0)
            pthread_cond_broadcast(&hook->done); /* assay_hook_step() may go on */
    }
    const struct hook_place *at = place_now(hook);
    item->serial = hook->serial;
    item->step = at->step;
    item->mode = at->mode;
    item->mode_step = at->mode_step;
    item->again = hook->again;
    item->account = hook->account;
    item->wall_time = now();
    return item;
}

/* Hands an item over. The writer is woken when there is enough for it to do or somebody waits for it, not for every
 * small tensor: the end of the step wakes it anyway. The lock is held. */
static void publish(assay_hook *hook, hook_item *item)
{
    item->ready = true;
    if (hook_hurries(hook) || (item->serial <= hook->closed && !hook->gathering))
        pthread_cond_signal(&hook->work);
}

/* Copies a layout into the room that the item has for it. */
static void put_layout(hook_item *item, const assay_hook_layout *layout)
{
    const size_t size = (size_t)item->ndim * sizeof(int64_t);
    int64_t *whole = (int64_t *)(void *)(item + 1) + item->ndim, *offset = whole + item->ndim;
    if (size > 0) {
        memcpy(whole, layout->global_shape, size);
        memcpy(offset, layout->offset, size);
    }
    item->is_piece = true;
    item->layout = (assay_hook_layout){whole, offset, layout->replica, layout->partial};
}

/* Seconds of a clock that goes on evenly. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Queues a tensor whose collections want it. A tensor that is too large to be copied into the ring is lent to the
 * writer instead, and the caller waits: memory stays bounded. The lock is held, and let go while bytes are copied. */
static void enqueue(assay_hook *hook, const hook_name *name, uint64_t mask, const hook_item *what, const void *data,
                    size_t bytes)
{
    const int ndim = what->ndim, numbers = what->is_piece ? 3 * ndim : ndim;
    bool lent = hook_item_size(numbers, bytes) > hook->config.memory / 2;
    if (lent && hook->config.drop) {
        hook->counts.dropped++;
        return;
    }
    hook_item *item = reserve(hook, numbers, lent ? 0 : bytes);
    if (!item)
        return;
    item->name = name->text;
    item->mask = mask;
    item->dtype = what->dtype;
    item->ndim = ndim;
    item->given = what->given;
    if (what->wall_time > 0)
        item->wall_time = what->wall_time;
    if (ndim)
        memcpy((int64_t *)(void *)(item + 1), what->shape, (size_t)ndim * sizeof *what->shape);
    if (what->is_piece)
        put_layout(item, &what->layout);
    if (lent) {
        uint64_t ticket = hook->queue.pushed;
        item->data = data;
        item->bytes = bytes;
        hook->lent++;
        publish(hook, item);
        while (hook->queue.popped < ticket)
            pthread_cond_wait(&hook->done, &hook->lock);
        hook->lent--;
        return;
    }
    if (bytes) {
        void *place = (uint8_t *)(item + 1) + (size_t)numbers * sizeof *what->shape;
        pthread_mutex_unlock(&hook->lock);
        memcpy(place, data, bytes);
        pthread_mutex_lock(&hook->lock);
    }
    publish(hook, item);
}

/* 1 when there is something to do. 0: nothing is saved now. The lock is not held. */
static int worth_it(assay_hook *hook)
{
    if (!hook || hook_forked(hook))
        return 0;
    if (atomic_load_explicit(&hook->recording, memory_order_relaxed))
        return 1;
    pthread_mutex_lock(&hook->lock);
    int rc = 0;
    if (!hook->off && hook->serial == 0)
        rc = hook_failed(hook, ASSAY_EUSAGE, "a tensor was saved before the first assay_hook_step()");
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

static int check(const char *tensor, int dtype, int ndim, const int64_t *shape, const void *data, size_t *bytes,
                 assay_error *err)
{
    size_t size = assay_dtype_size(dtype);
    if (size == 0)
        return assay_fail(err, ASSAY_EUSAGE, "tensor %s: %d is not a dtype of numbers", tensor, dtype);
    if (ndim < 0 || ndim > ASSAY_MAX_DIMS || (ndim > 0 && !shape))
        return assay_fail(err, ASSAY_EUSAGE, "tensor %s: %d dimensions (0 to %d are possible)", tensor, ndim,
                          ASSAY_MAX_DIMS);
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0 || __builtin_mul_overflow(size, (size_t)shape[d], &size))
            return assay_fail(err, ASSAY_EUSAGE, "tensor %s: extent %d is %lld", tensor, d, (long long)shape[d]);
    }
    if (size && !data)
        return assay_fail(err, ASSAY_EUSAGE, "tensor %s: no data", tensor);
    *bytes = size;
    return ASSAY_OK;
}

/* What a program saves: a tensor, of which it has the elements or statistics, whole or a piece. */
typedef struct saved {
    const char *tensor;
    int dtype, ndim;
    const int64_t *shape;
    const void *data;
    const assay_hook_statistics *given; /* in place of the data; NULL: none */
    const assay_hook_layout *layout;    /* NULL: it is whole */
} saved;

static int save(assay_hook *hook, const saved *s)
{
    int rc = worth_it(hook);
    if (rc <= 0 || atomic_load_explicit(&hook->mask, memory_order_relaxed) == 0)
        return rc < 0 ? rc : ASSAY_OK;
    hook_name *name = NULL;
    size_t bytes = 0;
    assay_error err = {""};
    const double begun = seconds();
    const void *const from = s->given ? (const void *)s->given : s->data;
    hook_item what = {.dtype = s->dtype, .ndim = s->ndim, .shape = s->shape, .given = s->given != NULL};
    pthread_mutex_lock(&hook->lock);
    rc = s->tensor ? hook_names_find(&hook->names, &hook->config, s->tensor, &name, &err)
                   : assay_fail(&err, ASSAY_EUSAGE, "a tensor without a name");
    uint64_t mask = rc == ASSAY_OK ? name->mask & atomic_load_explicit(&hook->mask, memory_order_relaxed) : 0;
    if (mask)
        rc = check(s->tensor, s->dtype, s->ndim, s->shape, from, &bytes, &err);
    if (mask && rc == ASSAY_OK && s->layout) {
        rc = hook_layout_note(&hook->names, name, s->ndim, s->shape, s->layout, &err);
        what.is_piece = true;
        what.layout = *s->layout;
    }
    if (mask && rc == ASSAY_OK)
        enqueue(hook, name, mask, &what, from, s->given && bytes ? sizeof *s->given : bytes);
    if (rc < 0)
        hook_failed(hook, rc, err.text);
    if (mask)
        hook->calls_cost += seconds() - begun;
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

int assay_hook_save(assay_hook *hook, const char *tensor, int dtype, int ndim, const int64_t *shape, const void *data)
{
    return save(hook, &(saved){tensor, dtype, ndim, shape, .data = data});
}

int assay_hook_save_piece(assay_hook *hook, const char *tensor, int dtype, int ndim, const int64_t *shape,
                          const void *data, const assay_hook_layout *layout)
{
    return save(hook, &(saved){tensor, dtype, ndim, shape, .data = data, .layout = layout});
}

int assay_hook_save_statistics(assay_hook *hook, const char *tensor, int dtype, int ndim, const int64_t *shape,
                               const assay_hook_statistics *statistics)
{
    static const assay_hook_statistics none;
    if (hook && !hook_forked(hook) && !statistics) {
        pthread_mutex_lock(&hook->lock);
        int rc = hook_failed(hook, ASSAY_EUSAGE, "assay_hook_save_statistics: no statistics");
        pthread_mutex_unlock(&hook->lock);
        return rc;
    }
    return save(hook, &(saved){tensor, dtype, ndim, shape, .given = statistics ? statistics : &none});
}

/* Queues strings as (u64 length, bytes) each. The lock is held. */
static int enqueue_strings(assay_hook *hook, const hook_name *name, uint64_t mask, size_t count,
                           const char *const *texts, assay_error *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (!texts || !texts[i] || __builtin_add_overflow(bytes, 8 + strlen(texts[i]), &bytes))
            return assay_fail(err, ASSAY_EUSAGE, "tensor %s: text %zu is missing", name->text, i);
    }
    if (hook_item_size(1, bytes) > hook->config.memory / 2)
        return assay_fail(err, ASSAY_EBUDGET, "tensor %s: texts of %zu bytes need a larger queue_memory", name->text,
                          bytes);
    hook_item *item = reserve(hook, 1, bytes);
    if (!item)
        return ASSAY_OK;
    item->name = name->text;
    item->mask = mask;
    item->dtype = ASSAY_STRING;
    *(int64_t *)(void *)(item + 1) = (int64_t)count;
    uint8_t *at = (uint8_t *)(item + 1) + sizeof(int64_t);
    for (size_t i = 0; i < count; i++) {
        uint64_t length = strlen(texts[i]);
        memcpy(at, &length, sizeof length);
        memcpy(at + 8, texts[i], length);
        at += 8 + length;
    }
    publish(hook, item);
    return ASSAY_OK;
}

int assay_hook_save_strings(assay_hook *hook, const char *tensor, size_t count, const char *const *texts)
{
    int rc = worth_it(hook);
    if (rc <= 0 || atomic_load_explicit(&hook->mask, memory_order_relaxed) == 0)
        return rc < 0 ? rc : ASSAY_OK;
    hook_name *name = NULL;
    assay_error err = {""};
    const double begun = seconds();
    pthread_mutex_lock(&hook->lock);
    rc = tensor ? hook_names_find(&hook->names, &hook->config, tensor, &name, &err)
                : assay_fail(&err, ASSAY_EUSAGE, "a tensor without a name");
    uint64_t mask = rc == ASSAY_OK ? name->mask & atomic_load_explicit(&hook->mask, memory_order_relaxed) : 0;
    if (mask)
        rc = enqueue_strings(hook, name, mask, count, texts, &err);
    if (rc < 0)
        hook_failed(hook, rc, err.text);
    hook->calls_cost += seconds() - begun;
    pthread_mutex_unlock(&hook->lock);
    return rc;
}

/* Does some collection other than "all", which has everything, say at which steps this scalar is saved? The lock is
 * held. */
static bool is_thinned(const assay_hook *hook, const hook_name *name)
{
    const int all = hook_config_find(&hook->config, "all");
    return (name->mask & ~((uint64_t)(all >= 0) << (all >= 0 ? all : 0))) != 0;
}

int assay_hook_save_scalar(assay_hook *hook, const char *name, double value)
{
    return assay_hook_save_scalar_at(hook, name, value, now());
}

int assay_hook_save_scalar_at(assay_hook *hook, const char *name, double value, double wall_time)
{
    static const int64_t one = 1;
    int rc = worth_it(hook);
    if (rc <= 0)
        return rc;
    char tensor[HOOK_NAME_LENGTH + 1];
    hook_name *found = NULL;
    assay_error err = {""};
    const double begun = seconds();
    int length = snprintf(tensor, sizeof tensor, "scalar/%s", name ? name : "");
    pthread_mutex_lock(&hook->lock);
    if (!name || !*name || length >= (int)sizeof tensor)
        rc = assay_fail(&err, ASSAY_EUSAGE, "the name of a scalar has 1 to %d bytes", HOOK_NAME_LENGTH - 7);
    else
        rc = hook_names_find(&hook->names, &hook->config, tensor, &found, &err);
    if (rc == ASSAY_OK) {
        uint64_t mask = found->mask & atomic_load_explicit(&hook->mask, memory_order_relaxed);
        if (mask || !is_thinned(hook, found))
            enqueue(hook, found, mask,
                    &(hook_item){.dtype = ASSAY_FLOAT64, .ndim = 1, .shape = &one, .wall_time = wall_time}, &value,
                    sizeof value);
    } else
        hook_failed(hook, rc, err.text);
    hook->calls_cost += seconds() - begun;
    pthread_mutex_unlock(&hook->lock);
    return rc;
}
