/* Any bytes as a bucket and as what its server does: a trial in S3 is opened, read and watched as a run does it, and
 * each object is read as a file of the store.
 *
 * An input is: settings (a byte), how many acts (a byte), the acts (three bytes each, s3_answers.h), and the objects as
 * read_trial.h has files. Settings: keys in a page of a listing (bits 0 to 2, plus 1), how long the zeros are (bits 3
 * to 5: 64 KiB times 2 to that power, at most 32 MiB in all), whether the trial is the first object instead of all (bit
 * 6), whether memory is scarce (bit 7).
 *
 * What is shown beside that nothing breaks: an object that is read to its end is one version of it as a whole, whatever
 * the server does, unless it lies so that nobody can tell. */
#include <stdio.h>

#include "read_trial.h"
#include "s3/s3.h"
#include "s3_answers.h"

static const char prefix[] = "t/";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static void set_environment(void)
{
    static const char *const set[][2] = {{"AWS_ENDPOINT_URL", "http://127.0.0.1:9"},
                                         {"AWS_ACCESS_KEY_ID", "key"},
                                         {"AWS_SECRET_ACCESS_KEY", "secret"},
                                         {"AWS_REGION", "us-east-1"},
                                         {"AWS_EC2_METADATA_DISABLED", "true"},
                                         {"AWS_MAX_ATTEMPTS", "3"},
                                         {"HOME", "/nonexistent"}};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        must(setenv(set[i][0], set[i][1], 1) == 0);
}

/* ---- the bucket ---- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const s3_object *)a)->key, ((const s3_object *)b)->key);
}

/* Makes the objects; of several with the same key the first stays. */
static void fill(s3_object *object, const uint8_t *data, size_t size, size_t zeros)
{
    size_t at = 0, count = 0, left = 32 << 20;
    member m;
    while (count < OBJECTS_MOST && next_member(data, size, &at, &m)) {
        s3_object *o = &object[count];
        *o = (s3_object){.bytes = m.bytes, .size = m.size, .zeros = m.zeros * zeros < left ? m.zeros * zeros : left};
        left -= o->zeros;
        const int length = snprintf(o->key, sizeof o->key, "%s%.*s", prefix, (int)m.length, m.path);
        for (size_t i = 0; i < count && o->key[0]; i++)
            if (strcmp(object[i].key, o->key) == 0)
                o->key[0] = '\0';
        count += o->key[0] && length < (int)sizeof o->key;
    }
    s3_now.object = object;
    s3_now.count = count;
}

/* ---- objects as files ---- */

/* A path that names one object only: "a//b", "../a", "a/" are passed over by the storage. */
static bool is_plain(const char *path)
{
    for (const char *part = path;;) {
        const size_t length = strcspn(part, "/");
        if (length == 0 || (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.'))))
            return false;
        if (!part[length])
            return true;
        part += length + 1;
    }
}

static bool equals(const s3_object *o, unsigned version, const assay_buf *read)
{
    if (read->size != o->size + o->zeros)
        return false;
    for (size_t i = 0; i < read->size; i++)
        if (read->data[i] != s3_object_byte(o, version, i))
            return false;
    return true;
}

/* Reads a file from its middle to its end and from its beginning, in pieces that fit nothing. */
static int read_file(assay_store_file *file, assay_buf *out, assay_error *err)
{
    static uint8_t piece[1000003];
    const uint64_t size = assay_store_file_size(file), middle = size / 2;
    size_t got = 0;
    uint64_t at = middle;
    int status = assay_store_read_at(file, middle, piece, sizeof piece, &got, err);
    at += got;
    for (at = 0; status == ASSAY_OK && at < size && at < CONTENT_MOST; at += got) {
        status = assay_store_read_at(file, at, piece, sizeof piece, &got, err);
        if (status == ASSAY_OK && got == 0)
            return assay_fail(err, ASSAY_EIO, "ended before its end");
        if (status == ASSAY_OK)
            assay_put_bytes(out, piece, got);
    }
    return status;
}

static void read_object(assay_store *store, const s3_object *o, const char *path)
{
    assay_store_file *file = NULL;
    assay_error err = {""};
    assay_buf read;
    uint64_t size = 0;
    assay_buf_init(&read, 2 * CONTENT_MOST);
    const int there = assay_store_size_of(store, path, &size, &err);
    int status = assay_store_open_file(store, path, &file, &err);
    if (status == ASSAY_OK)
        status = read_file(file, &read, &err);
    must(status == ASSAY_OK || err.text[0]);
    must(s3_now.acted || (there == 1 && size == o->size + o->zeros && status == ASSAY_OK));
    bool found = s3_now.lied || status != ASSAY_OK || o->size + o->zeros >= CONTENT_MOST;
    for (unsigned version = 0; version < VERSIONS && !found; version++)
        found = equals(o, version, &read);
    must(found);
    if (file)
        assay_store_close_file(file);
    assay_buf_release(&read);
}

static void read_objects(assay_store *store)
{
    for (size_t i = 0; i < s3_now.count; i++) {
        const char *path = s3_now.object[i].key + sizeof prefix - 1;
        if (!is_plain(path))
            continue;
        for (size_t k = i; k < s3_now.count && k < i + 3; k++) /* some of them are asked for and never opened */
            assay_store_ahead(store, s3_now.object[k].key + sizeof prefix - 1, k % 2 * ASSAY_S3_PIECE, 0);
        read_object(store, &s3_now.object[i], path);
        read_object(store, &s3_now.object[i], path);
    }
}

/* ---- who looks again, and other ranks ---- */

typedef struct trees {
    char path[8][64];
    const char *list[8];
    size_t count;
} trees;

static int add_tree(void *context, const char *path)
{
    trees *t = context;
    if (t->count == 8 || strlen(path) >= 64)
        return ASSAY_OK;
    memcpy(t->path[t->count], path, strlen(path) + 1);
    t->list[t->count] = t->path[t->count];
    t->count++;
    return ASSAY_OK;
}

static void look_at(assay_store *store)
{
    assay_error err = {""};
    assay_store_stamp stamp;
    for (size_t i = 0; i < s3_now.count; i++) {
        const char *path = s3_now.object[i].key + sizeof prefix - 1;
        char directory[KEY_ROOM];
        assay_names names = {0};
        snprintf(directory, sizeof directory, "%.*s", strrchr(path, '/') ? (int)(strrchr(path, '/') - path) : 0, path);
        assay_store_list_ahead(store, directory);
        must(assay_store_stamp_of(store, path, &stamp, &err) >= 0 || err.text[0]);
        must(assay_store_stamp_of(store, directory[0] ? directory : ".", &stamp, &err) >= 0 || err.text[0]);
        if (assay_store_list(store, directory, &names, &err) == ASSAY_OK)
            assay_names_release(&names);
    }
}

/* Looks three times, each from a later step on, as a watcher does, and hands to another rank's store what was learned.
 */
static void look_again(const char *location)
{
    assay_store *store = NULL, *before = NULL, *other = NULL;
    assay_buf listed;
    assay_buf_init(&listed, SIZE_MAX / 4);
    for (int look = 0; look < 3; look++) {
        trees t = {.count = 0};
        must(assay_store_open(location, &store, NULL) == ASSAY_OK);
        must(assay_trial_trees(look * 1000 - 1, add_tree, &t) == ASSAY_OK);
        must(assay_store_follow(store, before, t.list, t.count) == ASSAY_OK);
        assay_store_close(before);
        before = store;
        look_at(store);
    }
    assay_store_pack_listed(store, &listed);
    must(assay_buf_status(&listed) == ASSAY_OK && assay_store_open(location, &other, NULL) == ASSAY_OK);
    assay_cursor in = assay_cursor_over(listed.data, listed.size);
    must(assay_store_unpack_listed(other, &in) == ASSAY_OK && !assay_cursor_bad(&in));
    read_objects(other);
    assay_store_close(other);
    assay_store_close(store);
    assay_buf_release(&listed);
}

static void read_trial_in(const char *location)
{
    assay_trial_files t;
    assay_error err = {""};
    if (assay_trial_open(location, &t, &err) != ASSAY_OK) {
        must(err.text[0]);
        return;
    }
    read_trial(&t);
    assay_trial_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static s3_object object[OBJECTS_MOST];
    char location[KEY_ROOM + 16];
    if (size < 2 || size < 2 + 3 * (size_t)data[1])
        return 0;
    const uint8_t settings = data[0];
    s3_now = (s3_server){.acts = data + 2, .act_count = data[1], .page = settings % 8 + 1};
    const assay_s3_options options = {.requests = 4, .memory = settings & 0x80 ? 1 << 20 : 20 << 20};
    fill(object, data + 2 + 3 * s3_now.act_count, size - 2 - 3 * s3_now.act_count, (size_t)1 << (settings >> 3 & 7));
    snprintf(location, sizeof location, "s3://b/%s", settings & 0x40 && s3_now.count ? object[0].key : prefix);
    qsort(object, s3_now.count, sizeof *object, compare_keys);
    set_environment();
    assay_s3_configure(&options);
    must(assay_s3_open(NULL) == ASSAY_OK);
    read_trial_in(location);
    if (!(settings & 0x40))
        look_again(location);
    assay_s3_close();
    return 0;
}
