/* law_tasks.c - equations of a step, summed up by threads while the training goes on.
 *
 * Equations are begun in the order in which they were taken, by whoever is free: the threads, and a caller that waits. One
 * that needs what another has made waits until all before it are done, so that what comes out does not depend on how many
 * there are. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "hook/laws.h"
#include "hook/sketch.h"
#include "hook/wait.h"
#include "tensor/measure.h"

enum {
    MOST_THREADS = 16,
    COLUMNS = ASSAY_LAW_NORM + 1, /* a kind: some tensors of assay_hook_laws_take_columns() */
    ELEMENTS_AT_ONCE = 1 << 18,   /* of such a task */
    MOST_WAITING = 64 << 20,      /* bytes of tensors that cannot be given back as long as they wait */
};

/* What is known of a weight or bias in a step. */
typedef struct law_parameter {
    double *of_weight; /* owned; its sums, for all passes of the step */
    size_t room;
    int64_t summed_by, told_by; /* the equation that makes them, the last one that adds to `expected`; below 0: none */
    bool is_summed, is_dropped; /* dropped: something that `expected` was made of was changed */
    hook_law_expected expected;
} law_parameter;

typedef struct law_task {
    assay_hook_law law;
    struct law_task *of;                /* OUTPUT: its pass */
    law_parameter *parameter, *of_bias; /* or NULL */
    int64_t after;                      /* so many have to be done before */
    size_t bytes;
    bool is_done, is_dropped, has_record, has_columns;
    double *columns; /* owned; LINEAR: of x, for the OUTPUT that follows */
    size_t room;
    int form; /* COLUMNS: tensors from begin to end */
    assay_hook_columns of_columns;
    size_t begin, end, stride;
    double *out;
    hook_law_record record; /* at the end, as it is large */
} law_task;

struct assay_hook_laws {
    assay_hook *hook;
    pthread_mutex_t lock; /* of all that follows; what a task makes is its own while it runs */
    pthread_cond_t work, done;
    law_task **task;                  /* [room], of which `count` were taken in this step; the others are used again */
    int64_t count, room, next, ended; /* next: not begun; ended: so many from the first one on are done */
    size_t waiting;
    law_parameter **parameter;
    size_t parameters;
    int threads;
    bool is_stopping;
    pthread_t thread[MOST_THREADS];
};

/* Room for so many numbers, whose content may be lost. */
static bool have_room(double **numbers, size_t *room, size_t count)
{
    if (count <= *room)
        return true;
    free(*numbers);
    *numbers = assay_realloc_array(NULL, count, sizeof **numbers);
    *room = *numbers ? count : 0;
    return *numbers;
}

/* ---- what a task does ---- */

static void run_linear(law_task *t)
{
    const assay_hook_law *law = &t->law;
    law_parameter *w = t->parameter;
    if (!w)
        return;
    if (!w->is_summed)
        w->is_summed = have_room(&w->of_weight, &w->room, 2 * (size_t)law->tiles * (size_t)law->inputs) &&
                       hook_law_sum_weight(law, w->of_weight);
    const size_t columns = 2 * (size_t)hook_law_column_groups(law->inputs) * (size_t)law->rows;
    t->has_columns = w->is_summed && law->of && have_room(&t->columns, &t->room, columns);
    t->has_record = w->is_summed && hook_law_linear(law, w->of_weight, t->has_columns ? t->columns : NULL, &t->record);
    t->has_columns = t->has_columns && t->has_record;
}

static void tell(law_parameter *p, const assay_hook_law *x, const assay_hook_law *y, int tiles, const double *of_x,
                 const double *of_y)
{
    double sums[3 * HOOK_LAW_CELLS];
    const int groups = hook_law_column_groups(y->outputs);
    hook_law_expected *e = &p->expected;
    if (assay_hook_law_products(of_x, of_y, x->rows, tiles, groups, sums) != ASSAY_OK ||
        !have_room(&e->sums, &e->room, 3 * HOOK_LAW_CELLS))
        return;
    e->groups = groups;
    e->tiles = tiles;
    e->places = 1;
    hook_law_expect(e, (int[]){of_x ? x->x.dtype : y->y.dtype, y->y.dtype}, x->rows, sums,
                    (size_t)groups * (size_t)tiles);
}

static void run_output(law_task *t)
{
    const assay_hook_law *y = &t->law, *x = &t->of->law;
    const int groups = hook_law_column_groups(y->outputs);
    if (!t->of->has_columns || y->rows != x->rows ||
        !have_room(&t->columns, &t->room, 2 * (size_t)groups * (size_t)y->rows))
        return;
    const hook_sketch_part part = {HOOK_SKETCH_COLUMNS, groups, t->columns};
    if (!hook_sketch_together(&(assay_hook_rows){y->y.values, NULL, y->y.dtype, y->rows, y->outputs}, &part, 1))
        return;
    if (t->parameter)
        tell(t->parameter, x, y, hook_law_column_groups(x->inputs), t->of->columns, t->columns);
    if (t->of_bias)
        tell(t->of_bias, x, y, 1, NULL, t->columns);
}

static void run_gradient(law_task *t)
{
    const assay_hook_law *law = &t->law;
    const hook_law_expected *e = t->parameter ? &t->parameter->expected : NULL;
    const uint64_t columns = law->inputs > 0 ? law->inputs : 1;
    const bool compares = e && e->products > 0 && e->places == 1 && (uint64_t)e->groups <= law->outputs;
    hook_sketch_part parts[2];
    size_t count = 0;
    double flat[2 * 256];
    if (law->cells > 0 && law->cells <= 256)
        parts[count++] = (hook_sketch_part){HOOK_SKETCH_FLAT, (int)law->cells, flat};
    if (compares && have_room(&t->columns, &t->room, 2 * (size_t)e->groups * (size_t)columns))
        parts[count++] = (hook_sketch_part){HOOK_SKETCH_ROWS, e->groups, t->columns};
    const bool are_summed =
        count > 0 &&
        hook_sketch_together(&(assay_hook_rows){law->weight.values, NULL, law->weight.dtype, law->outputs, columns},
                             parts, count);
    for (size_t kind = 0; are_summed && parts[0].kind == HOOK_SKETCH_FLAT && kind < 2; kind++)
        memcpy(law->sums + kind * law->stride, flat + kind * law->cells, law->cells * sizeof *flat);
    if (are_summed && parts[count - 1].kind == HOOK_SKETCH_ROWS)
        t->has_record = hook_law_gradient(law, t->columns, e, &t->record);
}

static void run(law_task *t)
{
    switch (t->law.kind) {
    case ASSAY_LAW_LINEAR:
        run_linear(t);
        break;
    case ASSAY_LAW_OUTPUT:
        run_output(t);
        break;
    case ASSAY_LAW_GRADIENT:
        run_gradient(t);
        break;
    case ASSAY_LAW_NORM:
        t->has_record = hook_law_norm(&t->law, &t->record);
        break;
    default:
        for (size_t i = t->begin; i < t->end; i++)
            hook_law_sum_columns(t->form, &t->of_columns, i, t->stride, t->out);
    }
}

/* ---- who does it ---- */

/* Does the next one that nobody has begun. The caller holds the lock. */
static void run_next(assay_hook_laws *laws)
{
    law_task *t = laws->task[laws->next++];
    while (laws->ended < t->after)
        pthread_cond_wait(&laws->done, &laws->lock);
    pthread_mutex_unlock(&laws->lock);
    run(t);
    pthread_mutex_lock(&laws->lock);
    t->is_done = true;
    laws->waiting -= t->bytes;
    while (laws->ended < laws->count && laws->task[laws->ended]->is_done)
        laws->ended++;
    pthread_cond_broadcast(&laws->done);
}

static void *serve(void *of)
{
    assay_hook_laws *laws = of;
    pthread_mutex_lock(&laws->lock);
    while (!laws->is_stopping)
        if (laws->next < laws->count)
            run_next(laws);
        else
            pthread_cond_wait(&laws->work, &laws->lock);
    pthread_mutex_unlock(&laws->lock);
    return NULL;
}

/* Until so many are done. The caller holds the lock. */
static void wait_for(assay_hook_laws *laws, int64_t count)
{
    while (laws->ended < count)
        if (laws->next < laws->count)
            run_next(laws);
        else
            pthread_cond_wait(&laws->done, &laws->lock);
}

static law_parameter *parameter_of(assay_hook_laws *laws, int number)
{
    enum { MOST = 1 << 24 };
    if (number < 0 || number >= MOST)
        return NULL;
    const size_t wanted = (size_t)number + 1, doubled = 2 * laws->parameters,
                 more = wanted > doubled ? wanted : doubled;
    if (wanted > laws->parameters) {
        law_parameter **grown = assay_realloc_array(laws->parameter, more, sizeof(law_parameter *));
        if (!grown)
            return NULL;
        memset(grown + laws->parameters, 0, (more - laws->parameters) * sizeof *grown);
        laws->parameter = grown;
        laws->parameters = more;
    }
    law_parameter *p = laws->parameter[number];
    if (!p && (p = assay_alloc_zeroed(1, sizeof *p))) {
        p->summed_by = p->told_by = -1;
        laws->parameter[number] = p;
    }
    return p;
}

/* The next task, as if nothing were known of it. The caller holds the lock. NULL without memory. */
static law_task *new_task(assay_hook_laws *laws)
{
    if (laws->count == laws->room) {
        const int64_t more = laws->room > 0 ? 2 * laws->room : 64;
        law_task **grown = assay_realloc_array(laws->task, (size_t)more, sizeof(law_task *));
        if (!grown)
            return NULL;
        memset(grown + laws->room, 0, (size_t)(more - laws->room) * sizeof *grown);
        laws->task = grown;
        laws->room = more;
    }
    law_task *t = laws->task[laws->count];
    double *columns = t ? t->columns : NULL;
    const size_t room = t ? t->room : 0;
    if (!t && !(t = assay_alloc(sizeof *t)))
        return NULL;
    memset(t, 0, offsetof(law_task, record));
    t->record.count = 0;
    t->columns = columns;
    t->room = room;
    laws->task[laws->count] = t;
    return t;
}

static size_t bytes_of(const assay_hook_law *law)
{
    const bool is_gradient = law->kind == ASSAY_LAW_GRADIENT;
    const uint64_t inputs = law->x.values ? law->inputs : 0, outputs = law->y.values ? law->outputs : 0;
    return is_gradient ? (size_t)(law->outputs * (law->inputs + 1)) * assay_dtype_size(law->weight.dtype)
                       : (size_t)law->rows * (size_t)(inputs + outputs) * 4;
}

/* Behind what has to be done before. */
static void put_in_order(law_task *t, int64_t number)
{
    law_parameter *both[] = {t->parameter, t->of_bias};
    t->after = t->law.kind == ASSAY_LAW_OUTPUT ? t->law.of + 1 : 0;
    if (t->law.kind == ASSAY_LAW_LINEAR && t->parameter) {
        t->after = t->parameter->summed_by + 1;
        if (t->parameter->summed_by < 0)
            t->parameter->summed_by = number;
    }
    for (int i = 0; t->law.kind != ASSAY_LAW_LINEAR && i < 2; i++)
        if (both[i]) {
            t->after = t->after > both[i]->told_by + 1 ? t->after : both[i]->told_by + 1;
            if (t->law.kind == ASSAY_LAW_OUTPUT)
                both[i]->told_by = number;
        }
}

int64_t assay_hook_laws_take(assay_hook_laws *laws, const assay_hook_law *law, int now)
{
    if (hook_forked(laws->hook)) /* there are no threads in a child, and the lock may be held for ever */
        return -1;
    pthread_mutex_lock(&laws->lock);
    const int64_t number = laws->count;
    const bool has_pass = law->kind != ASSAY_LAW_OUTPUT || (law->of >= 0 && law->of < number);
    law_task *t = has_pass ? new_task(laws) : NULL;
    if (t) {
        t->law = *law;
        t->parameter = parameter_of(laws, law->parameter);
        t->of_bias = parameter_of(laws, law->of_bias);
        t->of = law->kind == ASSAY_LAW_OUTPUT ? laws->task[law->of] : NULL;
        t->bytes = bytes_of(law);
        put_in_order(t, number);
        laws->waiting += t->bytes;
        laws->count++;
        if (now || laws->threads == 0 || laws->waiting > MOST_WAITING)
            wait_for(laws, laws->count);
        else
            pthread_cond_signal(&laws->work);
    }
    pthread_mutex_unlock(&laws->lock);
    return t ? number : -1;
}

int64_t assay_hook_laws_take_columns(assay_hook_laws *laws, int form, const assay_hook_columns *of, size_t stride,
                                     double *out)
{
    if (hook_forked(laws->hook))
        return -1;
    pthread_mutex_lock(&laws->lock);
    bool goes_on = true;
    for (size_t i = 0, end; goes_on && i < of->count; i = end) {
        law_task *t = new_task(laws);
        uint64_t elements = 0;
        for (end = i; end < of->count && elements < ELEMENTS_AT_ONCE; end++)
            elements += of->x[end] ? of->elements[end] : 0;
        goes_on = t;
        if (!t)
            break;
        t->law.kind = COLUMNS;
        t->form = form;
        t->of_columns = *of;
        t->begin = i;
        t->end = end;
        t->stride = stride;
        t->out = out;
        laws->count++;
        pthread_cond_signal(&laws->work);
    }
    const int64_t last = goes_on ? laws->count - 1 : -1;
    pthread_mutex_unlock(&laws->lock);
    return last;
}

int64_t assay_hook_laws_done(assay_hook_laws *laws)
{
    if (hook_forked(laws->hook))
        return 0;
    pthread_mutex_lock(&laws->lock);
    const int64_t ended = laws->ended;
    pthread_mutex_unlock(&laws->lock);
    return ended;
}

void assay_hook_laws_wait(assay_hook_laws *laws)
{
    if (hook_forked(laws->hook))
        return;
    pthread_mutex_lock(&laws->lock);
    wait_for(laws, laws->count);
    pthread_mutex_unlock(&laws->lock);
}

void assay_hook_laws_drop(assay_hook_laws *laws, int64_t number)
{
    if (hook_forked(laws->hook))
        return;
    pthread_mutex_lock(&laws->lock);
    if (number >= 0 && number < laws->count)
        laws->task[number]->is_dropped = true;
    pthread_mutex_unlock(&laws->lock);
}

/* ---- of a step ---- */

static void forget(assay_hook_laws *laws)
{
    for (size_t i = 0; i < laws->parameters; i++) {
        law_parameter *p = laws->parameter[i];
        if (!p)
            continue;
        p->summed_by = p->told_by = -1;
        p->is_summed = p->is_dropped = false;
        p->expected.products = 0;
    }
    laws->count = laws->next = laws->ended = 0;
}

int assay_hook_laws_finish(assay_hook_laws *laws)
{
    int status = ASSAY_OK;
    if (hook_forked(laws->hook))
        return status;
    pthread_mutex_lock(&laws->lock);
    wait_for(laws, laws->count);
    for (int64_t i = 0; i < laws->count; i++) {
        const law_task *t = laws->task[i];
        const bool is_output = t->law.kind == ASSAY_LAW_OUTPUT;
        law_parameter *both[] = {t->parameter, t->of_bias};
        for (int k = 0; is_output && (t->is_dropped || t->of->is_dropped) && k < 2; k++)
            if (both[k])
                both[k]->is_dropped = true;
    }
    for (int64_t i = 0; i < laws->count; i++) {
        const law_task *t = laws->task[i];
        const bool is_gradient = t->law.kind == ASSAY_LAW_GRADIENT;
        const int64_t shape[] = {(int64_t)t->record.count};
        if (t->has_record && !t->is_dropped && !(is_gradient && t->parameter->is_dropped))
            ASSAY_THEN(status, assay_hook_save(laws->hook, t->law.name, ASSAY_FLOAT32, 1, shape, t->record.number));
    }
    forget(laws);
    pthread_mutex_unlock(&laws->lock);
    return status;
}

int assay_hook_laws_expect(assay_hook_laws *laws, int parameter, const assay_hook_added *a)
{
    const size_t cells = (size_t)a->groups * (size_t)a->tiles * a->places;
    if (hook_forked(laws->hook))
        return -1;
    pthread_mutex_lock(&laws->lock);
    law_parameter *p = parameter_of(laws, parameter);
    hook_law_expected *e = p ? &p->expected : NULL;
    const bool fits =
        e && (e->products == 0 || (e->groups == a->groups && e->tiles == a->tiles && e->places == a->places)) &&
        have_room(&e->sums, &e->room, 3 * cells);
    if (fits) {
        e->groups = a->groups;
        e->tiles = a->tiles;
        e->places = a->places;
        hook_law_expect(e, a->dtypes, a->products, a->sums, cells);
    }
    pthread_mutex_unlock(&laws->lock);
    return fits ? ASSAY_OK : -1;
}

uint64_t assay_hook_laws_expected(assay_hook_laws *laws, int parameter, int dtypes[2], const double **sums)
{
    *sums = NULL;
    if (hook_forked(laws->hook))
        return 0;
    pthread_mutex_lock(&laws->lock);
    const law_parameter *p = parameter_of(laws, parameter);
    const uint64_t products = p ? p->expected.products : 0;
    *sums = products > 0 ? p->expected.sums : NULL;
    if (products > 0)
        memcpy(dtypes, p->expected.dtypes, sizeof p->expected.dtypes);
    pthread_mutex_unlock(&laws->lock);
    return products;
}

int assay_hook_laws_new(assay_hook *hook, int threads, assay_hook_laws **out)
{
    assay_hook_laws *laws = *out = assay_alloc_zeroed(1, sizeof *laws);
    ASSAY_HAVE(laws);
    laws->hook = hook;
    pthread_mutex_init(&laws->lock, NULL);
    pthread_cond_init(&laws->work, NULL);
    pthread_cond_init(&laws->done, NULL);
    while (laws->threads < threads && laws->threads < MOST_THREADS &&
           hook_start_thread(&laws->thread[laws->threads], serve, laws) == 0)
        laws->threads++;
    return ASSAY_OK;
}

void assay_hook_laws_free(assay_hook_laws *laws)
{
    if (!laws || hook_forked(laws->hook))
        return;
    pthread_mutex_lock(&laws->lock);
    wait_for(laws, laws->count);
    laws->is_stopping = true;
    pthread_cond_broadcast(&laws->work);
    pthread_mutex_unlock(&laws->lock);
    for (int i = 0; i < laws->threads; i++)
        pthread_join(laws->thread[i], NULL);
    for (int64_t i = 0; i < laws->room; i++)
        if (laws->task[i]) {
            free(laws->task[i]->columns);
            free(laws->task[i]);
        }
    for (size_t i = 0; i < laws->parameters; i++)
        if (laws->parameter[i]) {
            free(laws->parameter[i]->of_weight);
            free(laws->parameter[i]->expected.sums);
            free(laws->parameter[i]);
        }
    free(laws->task);
    free(laws->parameter);
    pthread_cond_destroy(&laws->done);
    pthread_cond_destroy(&laws->work);
    pthread_mutex_destroy(&laws->lock);
    free(laws);
}
