/* layout.c - lists a trial: collections/, index/ and its buckets, events/.
 *
 * 1. collections/: one small file a worker; equal ones are parsed once.
 * 2. index/: one directory read a bucket; only names are looked at.
 * 3. Workers are brought into natural order, files into the order (step, worker); doubles are taken out.
 * 4. events/: names of step directories, against the steps that have an index file. */
#include "trial/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/format/smdebug/layout_names.h"

enum { BUCKET_DIGITS = 9, STEP_DIGITS = 12, COLLECTIONS_MOST = 256 << 20, PATH_ROOM = 768 };

typedef struct lister {
    assay_store *store;
    assay_catalog *catalog;
    assay_dict *workers;  /* ids in order of occurrence until sort_workers() */
    size_t room;          /* of catalog->units */
    assay_buf before;     /* the collections file read last: workers normally agree to the byte */
    bool found;           /* one of the three directories is there */
    bool has_collections; /* some worker wrote a collections file */
    assay_error *err;
} lister;

static int no_memory(const lister *l)
{
    return assay_fail(l->err, ASSAY_ENOMEM, "%s: out of memory while listing the trial",
                      assay_store_location(l->store));
}

static void foreign(const lister *l, const char *directory, const char *name)
{
    char path[PATH_ROOM];
    if (assay_is_passing_name(name))
        return;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_NAME, -1, path, -1,
                       "%s: not a name that a trial has there; it is not looked at", path);
}

/* Lists one directory. 1: there is none, or it cannot be read (then a problem says so). */
static int list(lister *l, const char *directory, assay_names *names)
{
    assay_error why = {{0}};
    int status = assay_store_list(l->store, directory, names, &why);
    if (status == ASSAY_OK || status == ASSAY_ENOTFOUND)
        return status == ASSAY_OK ? 0 : 1;
    if (status == ASSAY_ENOMEM)
        return no_memory(l);
    l->found = true; /* it is there, and said no */
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_READ, -1, directory, -1,
                       "%s; what lies in it is missing from this analysis", why.text);
    return 1;
}

typedef int bucket_visitor(lister *l, const char *directory, uint32_t bucket, const assay_names *names);

/* Visits the numbered directories below `top`. */
static int visit_buckets(lister *l, const char *top, bucket_visitor *visit)
{
    assay_names buckets = {0};
    int status = list(l, top, &buckets);
    if (status != 0)
        return status < 0 ? status : ASSAY_OK;
    l->found = true;
    for (size_t i = 0; i < buckets.count && status == ASSAY_OK; i++) {
        char directory[64];
        int64_t bucket = 0;
        if (!assay_read_number_name(buckets.name[i], BUCKET_DIGITS, &bucket)) {
            foreign(l, top, buckets.name[i]);
            continue;
        }
        snprintf(directory, sizeof directory, "%s/%s", top, buckets.name[i]);
        assay_names names = {0};
        status = list(l, directory, &names);
        if (status == 0)
            status = visit(l, directory, (uint32_t)bucket, &names);
        else if (status > 0)
            status = ASSAY_OK;
        assay_names_release(&names);
    }
    assay_names_release(&buckets);
    return status;
}

static int read_collections(lister *l, const char *path)
{
    assay_buf text;
    assay_error why = {{0}};
    assay_buf_init(&text, COLLECTIONS_MOST);
    int status = assay_store_read(l->store, path, COLLECTIONS_MOST, &text, &why);
    if (status == ASSAY_OK) {
        if (text.size != l->before.size || text.size == 0 || memcmp(text.data, l->before.data, text.size) != 0)
            status = assay_collections_add(&l->catalog->collections, path, text.data, text.size, &l->catalog->problems);
        assay_buf_release(&l->before);
        l->before = text;
        return status == ASSAY_OK ? status : no_memory(l);
    }
    assay_buf_release(&text);
    if (status == ASSAY_ENOMEM)
        return no_memory(l);
    assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_READ, -1, path, -1, "%s; its collections are missing",
                       why.text);
    return ASSAY_OK;
}

static int visit_collections(lister *l, const char *directory, uint32_t bucket, const assay_names *names)
{
    (void)bucket;
    int status = ASSAY_OK;
    for (size_t i = 0; i < names->count && status == ASSAY_OK; i++) {
        char path[PATH_ROOM];
        const char *worker = NULL;
        size_t length = 0;
        if (assay_is_passing_name(names->name[i]))
            continue;
        if (!assay_read_collections_name(names->name[i], &worker, &length)) {
            foreign(l, directory, names->name[i]);
            continue;
        }
        if (assay_dict_add(l->workers, worker, length) == ASSAY_NO_ID)
            return no_memory(l);
        l->has_collections = true;
        snprintf(path, sizeof path, "%s/%s", directory, names->name[i]);
        status = read_collections(l, path);
    }
    return status;
}

static int add_file(lister *l, int64_t step, uint32_t worker, uint32_t bucket)
{
    assay_catalog *catalog = l->catalog;
    if (catalog->unit_count == l->room) {
        size_t room = l->room ? 2 * l->room : 256;
        assay_unit *files = assay_realloc_array(catalog->units, room, sizeof *files);
        if (!files)
            return no_memory(l);
        catalog->units = files;
        l->room = room;
    }
    catalog->units[catalog->unit_count++] = (assay_unit){step, worker, bucket};
    return ASSAY_OK;
}

static int visit_index(lister *l, const char *directory, uint32_t bucket, const assay_names *names)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < names->count && status == ASSAY_OK; i++) {
        int64_t step = 0;
        const char *worker = NULL;
        size_t length = 0;
        if (assay_is_passing_name(names->name[i]))
            continue;
        if (!assay_read_index_name(names->name[i], &step, &worker, &length)) {
            foreign(l, directory, names->name[i]);
            continue;
        }
        uint32_t id = assay_dict_add(l->workers, worker, length);
        status = id == ASSAY_NO_ID ? no_memory(l) : add_file(l, step, id, bucket);
    }
    return status;
}

typedef struct worker_name {
    char *file, *display;
    uint32_t id;
} worker_name;

static int compare_workers(const void *a, const void *b)
{
    return assay_worker_compare(((const worker_name *)a)->file, ((const worker_name *)b)->file);
}

/* Fills the listing's names from the sorted ones, which it takes over, and renumbers the files. */
static void place_workers(assay_catalog *catalog, worker_name *sorted, uint32_t count, uint32_t *new_id)
{
    for (uint32_t i = 0; i < count; i++) {
        catalog->worker_key[i] = sorted[i].file;
        catalog->worker[i] = sorted[i].display;
        new_id[sorted[i].id] = i;
    }
    catalog->workers = count;
    for (size_t i = 0; i < catalog->unit_count; i++)
        catalog->units[i].worker = new_id[catalog->units[i].worker];
}

static int sort_workers(lister *l)
{
    uint32_t count = assay_dict_count(l->workers), made = 0;
    worker_name *sorted = assay_alloc_zeroed(count, sizeof *sorted);
    uint32_t *new_id = assay_alloc_zeroed(count, sizeof *new_id);
    l->catalog->worker_key = assay_alloc_zeroed(count, sizeof(char *));
    l->catalog->worker = assay_alloc_zeroed(count, sizeof(char *));
    bool have = sorted && new_id && l->catalog->worker_key && l->catalog->worker;
    for (; have && made < count; made++) {
        size_t length = 0;
        const char *name = assay_dict_name(l->workers, made, &length);
        sorted[made] = (worker_name){assay_copy_bytes_as_text(name, length), assay_alloc(length + 1), made};
        have = sorted[made].file && sorted[made].display;
        if (have)
            assay_worker_display_name(name, length, sorted[made].display);
    }
    if (have) {
        if (count)
            qsort(sorted, count, sizeof *sorted, compare_workers);
        place_workers(l->catalog, sorted, count, new_id);
    }
    for (uint32_t i = 0; !have && i < made; i++) {
        free(sorted[i].file);
        free(sorted[i].display);
    }
    free(sorted);
    free(new_id);
    return have ? ASSAY_OK : no_memory(l);
}

static bool is_home(const assay_unit *f)
{
    return f->step / ASSAY_STEPS_A_BUCKET == f->place;
}

/* By (step, worker); of two files of one, the one in its proper bucket comes first. */
static int compare_files(const void *a, const void *b)
{
    const assay_unit *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (is_home(x) != is_home(y))
        return is_home(x) ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void sort_files(assay_catalog *catalog)
{
    assay_unit *f = catalog->units;
    size_t kept = 0;
    bool sorted = true;
    for (size_t i = 1; i < catalog->unit_count && sorted; i++)
        sorted = compare_files(&f[i - 1], &f[i]) < 0;
    if (!sorted)
        qsort(f, catalog->unit_count, sizeof *f, compare_files);
    for (size_t i = 0; i < catalog->unit_count; i++) {
        char path[PATH_ROOM];
        bool twice = kept > 0 && f[kept - 1].step == f[i].step && f[kept - 1].worker == f[i].worker;
        if (twice || !is_home(&f[i]))
            assay_index_path(catalog, &f[i], path, sizeof path);
        if (twice)
            assay_problems_add(
                &catalog->problems, ASSAY_PROBLEM_DUPLICATE, f[i].step, path, -1,
                "%s: step %lld of this worker has an index file in bucket %09u too; this one is not used", path,
                (long long)f[i].step, f[kept - 1].place);
        else if (!is_home(&f[i]))
            assay_problems_add(&catalog->problems, ASSAY_PROBLEM_NAME, f[i].step, path, -1,
                               "%s: step %lld belongs in bucket %09lld; it is read all the same", path,
                               (long long)f[i].step, (long long)(f[i].step / ASSAY_STEPS_A_BUCKET));
        if (!twice)
            f[kept++] = f[i];
    }
    catalog->unit_count = kept;
}

static int list_events(lister *l)
{
    const assay_catalog *catalog = l->catalog;
    assay_names steps = {0};
    int status = list(l, "events", &steps);
    if (status != 0)
        return status < 0 ? status : ASSAY_OK;
    l->found = true;
    size_t at = 0; /* both sides ascend: names of one width are in byte order */
    for (size_t i = 0; i < steps.count; i++) {
        char path[64];
        int64_t step = 0;
        if (!assay_read_number_name(steps.name[i], STEP_DIGITS, &step)) {
            foreign(l, "events", steps.name[i]);
            continue;
        }
        while (at < catalog->unit_count && catalog->units[at].step < step)
            at++;
        if (at < catalog->unit_count && catalog->units[at].step == step)
            continue;
        snprintf(path, sizeof path, "events/%s", steps.name[i]);
        assay_problems_add(&l->catalog->problems, ASSAY_PROBLEM_ORPHAN, step, path, -1,
                           "%s: step %lld has event files but no index file of any worker; it is not evaluated", path,
                           (long long)step);
    }
    assay_names_release(&steps);
    return ASSAY_OK;
}

/* What is known once all names are there. */
static int conclude(lister *l)
{
    assay_catalog *catalog = l->catalog;
    if (!l->found)
        return assay_fail(
            l->err, ASSAY_EFORMAT,
            "%s: not a trial: it has neither index/ nor events/ nor collections/; give the directory that "
            "the training's hook wrote to",
            assay_store_location(l->store));
    assay_error why = {{0}};
    int ended = assay_store_exists(l->store, "training_job_end.ts", &why);
    catalog->ended = ended == 1;
    if (ended < 0)
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_READ, -1, "training_job_end.ts", -1, "%s", why.text);
    uint32_t said = catalog->collections.num_workers;
    catalog->expected_workers = said > catalog->workers ? said : catalog->workers;
    if (!l->has_collections)
        assay_problems_add(
            &catalog->problems, ASSAY_PROBLEM_COLLECTIONS, -1, "collections", -1,
            "the trial has no collections file: rules that select by collection find nothing, and how many "
            "workers were expected is not known");
    if (catalog->unit_count == 0)
        assay_problems_add(&catalog->problems, ASSAY_PROBLEM_EMPTY, -1, "index", -1,
                           "the trial has no index file: no step was saved, or nothing has been written yet");
    return catalog->problems.status == ASSAY_OK ? ASSAY_OK : no_memory(l);
}

int assay_catalog_read(assay_store *store, assay_catalog *out, assay_error *err)
{
    assay_catalog catalog = {0};
    lister l = {.store = store, .catalog = &catalog, .workers = assay_dict_new(), .err = err};
    assay_buf_init(&l.before, COLLECTIONS_MOST);
    assay_problems_init(&catalog.problems);
    int status = l.workers ? visit_buckets(&l, "collections", visit_collections) : no_memory(&l);
    if (status == ASSAY_OK)
        status = visit_buckets(&l, "index", visit_index);
    if (status == ASSAY_OK)
        status = sort_workers(&l);
    if (status == ASSAY_OK) {
        sort_files(&catalog);
        status = list_events(&l);
    }
    if (status == ASSAY_OK && assay_run_facts_read(store, &catalog.facts, &catalog.problems) != ASSAY_OK)
        status = no_memory(&l);
    if (status == ASSAY_OK)
        status = conclude(&l);
    assay_dict_free(l.workers);
    assay_buf_release(&l.before);
    if (status != ASSAY_OK)
        assay_catalog_release(&catalog);
    else
        *out = catalog;
    return status;
}

/* Writes a number of exactly so many digits; a million file names cost more through printf than reading the files'
 * names. */
static char *put_digits(char *to, int64_t value, int digits)
{
    for (int i = digits; i-- > 0; value /= 10)
        to[i] = (char)('0' + value % 10);
    return to + digits;
}

static char *put_text(char *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

static bool is_plain(int64_t step, size_t length, size_t room)
{
    enum { BESIDE = 64 }; /* more than what stands beside the worker's name */
    return step >= 0 && step < INT64_C(1000000000000) && room >= BESIDE && length <= room - BESIDE;
}

int assay_index_path(const assay_catalog *catalog, const assay_unit *name, char *out, size_t room)
{
    const char *worker = catalog->worker_key[name->worker];
    size_t length = strlen(worker);
    if (is_plain(name->step, length, room) && name->place < 1000000000) {
        char *at = put_digits(put_text(out, "index/", 6), name->place, BUCKET_DIGITS);
        at = put_digits(put_text(at, "/", 1), name->step, STEP_DIGITS);
        at = put_text(put_text(at, "_", 1), worker, length);
        at = put_text(at, ".json", sizeof ".json");
        return (int)(at - out) - 1;
    }
    return snprintf(out, room, "index/%09u/%012lld_%s.json", name->place, (long long)name->step,
                    catalog->worker_key[name->worker]);
}

int assay_event_path(const assay_catalog *catalog, int64_t step, uint32_t worker, char *out, size_t room)
{
    const char *name = catalog->worker_key[worker];
    size_t length = strlen(name);
    if (is_plain(step, length, room)) {
        char *at = put_digits(put_text(out, "events/", 7), step, STEP_DIGITS);
        at = put_digits(put_text(at, "/", 1), step, STEP_DIGITS);
        at = put_text(put_text(at, "_", 1), name, length);
        at = put_text(at, ".tfevents", sizeof ".tfevents");
        return (int)(at - out) - 1;
    }
    return snprintf(out, room, "events/%012lld/%012lld_%s.tfevents", (long long)step, (long long)step,
                    catalog->worker_key[worker]);
}
