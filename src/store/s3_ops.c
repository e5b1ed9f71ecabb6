/* s3_ops.c - the S3 backend's calls, one at a time. Stores of several threads (include/assay/trial.h) share what is of
 * the process: the session, its requests, and the memory of what is under way. */
#include <pthread.h>

#include "store/s3_store.h"

/* One lock for all of S3, on purpose: requests run on the pool's thread meanwhile, and calls here only wait for
 * them. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool forks_safely;

static void take_turn(void)
{
    pthread_mutex_lock(&turn);
}

static void give_turn(void)
{
    pthread_mutex_unlock(&turn);
}

/* A fork waits for the call that another thread is in: the child would have its lock for ever, and half of its work. */
static void mind_forks(void)
{
    forks_safely = pthread_atfork(take_turn, give_turn, give_turn) == 0;
}

static int end_turn(int status)
{
    give_turn();
    return status;
}

static int open_in_turn(assay_store *store, const char *place, assay_error *err)
{
    pthread_once(&once, mind_forks);
    if (!forks_safely)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", store->location);
    take_turn();
    return end_turn(s3_open(store, place, err));
}

static void close_in_turn(assay_store *store)
{
    take_turn();
    s3_close(store);
    give_turn();
}

static int list_in_turn(assay_store *store, const char *directory, assay_names *out, assay_error *err)
{
    take_turn();
    return end_turn(s3_list(store, directory, out, err));
}

static void list_ahead_in_turn(assay_store *store, const char *directory)
{
    take_turn();
    s3_list_ahead(store, directory);
    give_turn();
}

static int size_of_in_turn(assay_store *store, const char *path, uint64_t *size, assay_error *err)
{
    take_turn();
    return end_turn(s3_size_of(store, path, size, err));
}

static int open_file_in_turn(assay_store *store, const char *path, assay_store_file *file, assay_error *err)
{
    take_turn();
    return end_turn(s3_open_file(store, path, file, err));
}

static void close_file_in_turn(assay_store_file *file)
{
    take_turn();
    s3_close_file(file);
    give_turn();
}

static int read_at_in_turn(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
                           assay_error *err)
{
    take_turn();
    return end_turn(s3_read_at(file, offset, bytes, size, got, err));
}

static int stamp_in_turn(assay_store *store, const char *path, assay_store_stamp *out, assay_error *err)
{
    take_turn();
    return end_turn(s3_stamp(store, path, out, err));
}

static int follow_in_turn(assay_store *store, assay_store *before, const char *const *from, size_t count)
{
    take_turn();
    return end_turn(s3_follow(store, before, from, count));
}

static void ahead_in_turn(assay_store *store, const char *path, uint64_t offset, uint64_t size)
{
    take_turn();
    s3_ahead(store, path, offset, size);
    give_turn();
}

void assay_store_share_listings(bool share)
{
    take_turn();
    s3_share(share);
    give_turn();
}

/* Reading from S3 always waits for a server. */
static bool always(const assay_store *store)
{
    return true;
}

const assay_store_ops assay_store_s3 = {
    .scheme = "s3://",
    .listed_whole = true,
    .open = open_in_turn,
    .close = close_in_turn,
    .list = list_in_turn,
    .list_ahead = list_ahead_in_turn,
    .size_of = size_of_in_turn,
    .open_file = open_file_in_turn,
    .close_file = close_file_in_turn,
    .read_at = read_at_in_turn,
    .stamp = stamp_in_turn,
    .follow = follow_in_turn,
    .waits = always,
    .depth = s3_depth,
    .ahead = ahead_in_turn,
    .pack = s3_pack,
    .unpack = s3_unpack,
};
