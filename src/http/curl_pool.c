/* curl_pool.c - many requests at once: a thread that runs libcurl's multi handle, which keeps the connections.
 *
 * A call is in one of three lists: those that wait for a free handle, those that are under way, and those that wait for
 * their next attempt; when it is over it is in none. The lists and the states belong to the mutex; the handles belong
 * to the thread alone. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "http/curl_request.h"

enum { LARGE_BODY = 1 << 20 }; /* new memory for one costs about as much as its bytes do */

/* Lists and states: begin -> WAITING -> RUNNING -> OVER, or from RUNNING by way of RESTING back to WAITING when
 * judge() asks for another attempt. */
typedef enum call_state { WAITING, RUNNING, RESTING, OVER } call_state;

struct assay_http_call {
    assay_http_pool *pool;
    const assay_http_work *work;
    void *context;
    call_state state;
    bool dropped; /* nobody waits for it any more */
    /* `at` is where the list points to this call (a `next`, or the list's `first`): taking it out needs no search. */
    assay_http_call *next, **at; /* within the list of its state */
    unsigned attempt;
    double due; /* RESTING: when the next attempt begins */
    http_transfer transfer;
    assay_http_answer answer;
    int status;
    assay_error error;
};

typedef struct call_list {
    assay_http_call *first, **end;
} call_list;

/* Who touches what: `lock` guards the lists, the states, `slept`, `stop`, `news` and `spare`; `multi`, `idle` and the
 * handles are the thread's alone. */
struct assay_http_pool {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a call is over */
    pthread_t thread;
    /* A fork copies this struct without its thread: calls in the child see another process id, and leave everything
     * as it is. */
    pid_t owner; /* the process that has the thread */
    CURLM *multi;
    call_list waiting, running, resting;
    unsigned most, under_way;
    double slept;    /* seconds */
    bool stop, news; /* a call was over since `ended` was told */
    CURL **idle;     /* [most] handles that are free */
    unsigned idle_count;
    assay_buf *spare; /* [most] memory of large bodies that nobody needs any more */
    unsigned spare_count;
};

/* ---- lists ---- */

static void list_init(call_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static call_list *list_of(assay_http_pool *pool, call_state state)
{
    return state == WAITING ? &pool->waiting : state == RUNNING ? &pool->running : &pool->resting;
}

static void list_take(assay_http_call *call)
{
    *call->at = call->next;
    if (call->next)
        call->next->at = call->at;
    else
        list_of(call->pool, call->state)->end = call->at;
    call->next = NULL;
}

static void list_put(assay_http_call *call, call_state state, bool first)
{
    call_list *list = list_of(call->pool, state);
    call->state = state;
    call->at = first ? &list->first : list->end;
    call->next = *call->at;
    *call->at = call;
    if (call->next)
        call->next->at = &call->next;
    else
        list->end = &call->next;
}

/* ---- the thread ---- */

/* With the lock held. */
static void free_call(assay_http_call *call)
{
    assay_http_pool *pool = call->pool;
    call->work->release(call->context);
    if (call->answer.body.room >= LARGE_BODY && pool->spare_count < pool->most) {
        pool->spare[pool->spare_count++] = call->answer.body;
        call->answer.body = (assay_buf){0};
    }
    assay_http_answer_release(&call->answer);
    free(call);
}

/* Called by the thread while it takes a body in (curl_request.c), without the lock. */
bool http_pool_lend(assay_http_pool *pool, size_t size, assay_buf *body)
{
    pthread_mutex_lock(&pool->lock);
    /* "<=": the buffer needs a byte more than the body has (assay_buf reserves one for a terminator). */
    unsigned i = size >= LARGE_BODY && !body->data ? pool->spare_count : 0;
    while (i > 0 && pool->spare[i - 1].room <= size)
        i--;
    if (i > 0) {
        body->data = pool->spare[i - 1].data;
        body->room = pool->spare[i - 1].room;
        pool->spare[i - 1] = pool->spare[--pool->spare_count];
    }
    pthread_mutex_unlock(&pool->lock);
    return i > 0;
}

/* Called with the lock held. A dropped call has no owner left; others are freed by assay_http_end(). */
static void conclude(assay_http_call *call)
{
    call->state = OVER;
    if (call->dropped)
        free_call(call);
    else
        call->pool->news = true;
}

/* A handle goes back, or away: one whose transfer did not come to its end may have a buffer still, whose size libcurl
 * then refuses to set. Its connection is the multi handle's. */
static void give_handle(assay_http_pool *pool, CURL *curl, bool whole)
{
    if (whole)
        pool->idle[pool->idle_count++] = curl;
    else
        curl_easy_cleanup(curl);
    pool->under_way--;
}

/* Begins an attempt. With the lock held. */
static void start(assay_http_pool *pool, assay_http_call *call)
{
    assay_http_request request = {0};
    CURL *curl = pool->idle_count > 0 ? pool->idle[--pool->idle_count] : http_new_handle();
    list_take(call);
    if (!curl) {
        call->status = assay_fail(&call->error, ASSAY_ENOMEM, "libcurl is out of memory");
        conclude(call);
        return;
    }
    call->transfer = (http_transfer){.curl = curl, .answer = &call->answer, .pool = pool};
    pool->under_way++;
    call->status = call->work->prepare(call->context, ++call->attempt, &request, &call->error);
    if (call->status == ASSAY_OK)
        call->status = http_configure(&call->transfer, &request, &call->error);
    /* CURLOPT_PRIVATE leads from a finished transfer back to its call. */
    if (call->status == ASSAY_OK && (curl_easy_setopt(curl, CURLOPT_PRIVATE, call) != CURLE_OK ||
                                     curl_multi_add_handle(pool->multi, curl) != CURLM_OK)) {
        http_drop(&call->transfer);
        call->status = assay_fail(&call->error, ASSAY_ENOMEM, "libcurl is out of memory");
    }
    if (call->status == ASSAY_OK) {
        list_put(call, RUNNING, false);
        return;
    }
    give_handle(pool, curl, true);
    conclude(call);
}

/* After an attempt. With the lock held. */
static void finish(assay_http_pool *pool, assay_http_call *call, CURLcode code)
{
    curl_multi_remove_handle(pool->multi, call->transfer.curl);
    call->status = http_take(&call->transfer, code, &call->error);
    give_handle(pool, call->transfer.curl, code == CURLE_OK);
    list_take(call);
    /* A call that was dropped is not judged: its context may be about to go. */
    double wait = call->dropped ? -1 : call->work->judge(call->context, call->attempt, call->status, &call->answer);
    if (wait < 0) {
        conclude(call);
        return;
    }
    call->due = assay_clock_seconds() + wait;
    list_put(call, RESTING, false);
}

/* Ends what nobody waits for, begins what is due, and tells how long the thread may sleep. With the lock held. */
static int turn(assay_http_pool *pool)
{
    /* A second at most: a wake-up that is lost delays a call no longer than that. */
    double now = assay_clock_seconds(), least = 1;
    for (assay_http_call *call = pool->running.first, *next; call; call = next) {
        next = call->next;
        if (!call->dropped)
            continue;
        curl_multi_remove_handle(pool->multi, call->transfer.curl);
        http_drop(&call->transfer);
        give_handle(pool, call->transfer.curl, false);
        list_take(call);
        conclude(call);
    }
    for (assay_http_call *call = pool->resting.first, *next; call; call = next) {
        next = call->next;
        if (call->dropped) {
            list_take(call);
            conclude(call);
        } else if (call->due <= now) {
            list_take(call);
            /* Rested calls go first: somebody has waited for them longer than for those that were begun since. */
            list_put(call, WAITING, true);
        } else if (call->due - now < least) {
            least = call->due - now;
        }
    }
    while (pool->waiting.first && pool->under_way < pool->most)
        start(pool, pool->waiting.first);
    return (int)(least * 1000) + 1;
}

static void *serve(void *context)
{
    assay_http_pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        int running = 0, left = 0, sleep = turn(pool);
        /* Waiters are woken without the lock, so `news` is read with it. */
        const bool news = pool->news;
        pool->news = false;
        pthread_mutex_unlock(&pool->lock);
        if (news) /* without the lock, or who waits would wake up only to wait for that */
            pthread_cond_broadcast(&pool->ended);
        curl_multi_perform(pool->multi, &running);
        pthread_mutex_lock(&pool->lock);
        bool any = false;
        for (CURLMsg *message; (message = curl_multi_info_read(pool->multi, &left));) {
            assay_http_call *call = NULL;
            if (message->msg != CURLMSG_DONE)
                continue;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
            finish(pool, call, message->data.result);
            any = true;
        }
        if (any || pool->stop)
            continue;
        pthread_mutex_unlock(&pool->lock);
        const double from = assay_clock_seconds();
        curl_multi_poll(pool->multi, NULL, 0, sleep, NULL);
        const double slept = assay_clock_seconds() - from;
        pthread_mutex_lock(&pool->lock);
        pool->slept += slept;
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- the pool ---- */

static void free_pool(assay_http_pool *pool)
{
    for (unsigned i = 0; i < pool->idle_count; i++)
        curl_easy_cleanup(pool->idle[i]);
    for (unsigned i = 0; i < pool->spare_count; i++)
        assay_buf_release(&pool->spare[i]);
    if (pool->multi)
        curl_multi_cleanup(pool->multi);
    free(pool->spare);
    free(pool->idle);
    free(pool);
}

/* The thread takes no signal: they are the program's. */
static int start_thread(assay_http_pool *pool)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&pool->thread, NULL, serve, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

int assay_http_pool_new(unsigned most, assay_http_pool **out, assay_error *err)
{
    CURL *first = http_new_handle();
    assay_http_pool *pool = first ? assay_alloc_zeroed(1, sizeof *pool) : NULL;
    if (!pool) {
        curl_easy_cleanup(first);
        return assay_fail(err, ASSAY_ENOMEM, "libcurl cannot be started, or is out of memory");
    }
    pool->most = most;
    pool->owner = getpid();
    list_init(&pool->waiting);
    list_init(&pool->running);
    list_init(&pool->resting);
    pool->idle = assay_alloc_zeroed(most, sizeof(CURL *));
    pool->spare = assay_alloc_zeroed(most, sizeof *pool->spare);
    pool->multi = curl_multi_init();
    if (pool->idle)
        pool->idle[pool->idle_count++] = first;
    else
        curl_easy_cleanup(first);
    if (!pool->idle || !pool->spare || !pool->multi ||
        curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long)most) != CURLM_OK) {
        free_pool(pool);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory while connections were prepared");
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->ended, NULL);
    if (start_thread(pool) != 0) {
        free_pool(pool);
        return assay_fail(err, ASSAY_EIO, "the thread that serves connections cannot be started");
    }
    *out = pool;
    return ASSAY_OK;
}

bool assay_http_pool_serves(const assay_http_pool *pool)
{
    return pool->owner == getpid();
}

double assay_http_pool_slept(assay_http_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    const double slept = pool->slept;
    pthread_mutex_unlock(&pool->lock);
    return slept;
}

void assay_http_pool_free(assay_http_pool *pool)
{
    if (!pool || !assay_http_pool_serves(pool))
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_mutex_unlock(&pool->lock);
    curl_multi_wakeup(pool->multi);
    pthread_join(pool->thread, NULL);
    for (assay_http_call *call; (call = pool->running.first);) { /* all of them were dropped */
        curl_multi_remove_handle(pool->multi, call->transfer.curl);
        http_drop(&call->transfer);
        curl_easy_cleanup(call->transfer.curl);
        list_take(call);
        conclude(call);
    }
    for (assay_http_call *call; (call = pool->waiting.first ? pool->waiting.first : pool->resting.first);) {
        list_take(call);
        conclude(call);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->ended);
    free_pool(pool);
}

/* ---- calls ---- */

assay_http_call *assay_http_begin(assay_http_pool *pool, const assay_http_work *work, void *context, bool urgent)
{
    assay_http_call *call = assay_alloc_zeroed(1, sizeof *call);
    if (!call) {
        work->release(context);
        return NULL;
    }
    call->pool = pool;
    call->work = work;
    call->context = context;
    assay_http_answer_init(&call->answer);
    pthread_mutex_lock(&pool->lock);
    list_put(call, WAITING, urgent);
    bool free_handle = pool->under_way < pool->most;
    pthread_mutex_unlock(&pool->lock);
    /* The thread sleeps in curl_multi_poll(); without a free handle a wake-up would change nothing. */
    if (free_handle)
        curl_multi_wakeup(pool->multi);
    return call;
}

bool assay_http_is_over(assay_http_call *call)
{
    if (!assay_http_pool_serves(call->pool))
        return call->state == OVER;
    pthread_mutex_lock(&call->pool->lock);
    bool over = call->state == OVER;
    pthread_mutex_unlock(&call->pool->lock);
    return over;
}

int assay_http_wait(assay_http_call *call, assay_http_answer **answer, assay_error *err)
{
    assay_http_pool *pool = call->pool;
    *answer = &call->answer;
    const bool serves = assay_http_pool_serves(pool);
    if (serves)
        pthread_mutex_lock(&pool->lock);
    else if (call->state != OVER)
        return assay_fail(err, ASSAY_EINTERNAL, "the process was forked while it was asked for");
    /* Whoever waits for a call needs it now: it overtakes those that were begun ahead of time. */
    if (call->state == WAITING) { /* before those that nobody waits for yet */
        list_take(call);
        list_put(call, WAITING, true);
    }
    while (call->state != OVER)
        pthread_cond_wait(&pool->ended, &pool->lock);
    if (serves)
        pthread_mutex_unlock(&pool->lock);
    return call->status == ASSAY_OK ? ASSAY_OK : assay_fail(err, call->status, "%s", call->error.text);
}

void assay_http_end(assay_http_call *call)
{
    if (!call || !assay_http_pool_serves(call->pool))
        return;
    assay_http_pool *pool = call->pool;
    pthread_mutex_lock(&pool->lock);
    /* A call that runs or rests is in the thread's hands: it frees the call at its next turn. */
    bool wake = call->state == RUNNING || call->state == RESTING;
    call->dropped = true;
    if (call->state == WAITING)
        list_take(call);
    if (call->state == WAITING || call->state == OVER)
        free_call(call);
    pthread_mutex_unlock(&pool->lock);
    if (wake)
        curl_multi_wakeup(pool->multi);
}
