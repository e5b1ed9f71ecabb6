/* cuts.c - cuts the files of a trial short, one by one and at nearly every byte, and reads the trial to its last
 * element each time:
 *
 *   cuts TRIAL FILE...        FILEs are paths below TRIAL; before a path stands '+' where tensors of other files have
 * to be all there
 *
 * Every cut must be named, and what can be read must be what was read before the cut. The files are whole again at the
 * end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "source/trial_files.h"

enum { EVERY_BYTE = 600, EDGE = 160, STRIDE = 7 };

typedef struct kept { /* of the whole trial, by number in `keys` */
    char digest[65];
    char file[ASSAY_PATH_ROOM];
    bool met; /* in the reading under way */
} kept;

static assay_dict *keys;
static kept *list;
static uint64_t failures, cuts;

static void fail(const char *what)
{
    fprintf(stderr, "cuts: %s\n", what);
    exit(2);
}

/* The digest of a tensor's elements; false when it cannot be read. */
static bool digest_of(assay_trial_reader *reader, const assay_part *part, const assay_entry *entry, char digest[65])
{
    assay_record record;
    assay_error err = {{0}};
    assay_sha256 sum;
    const uint8_t *piece = NULL;
    size_t size = 1;
    int status = assay_trial_record(reader, part, entry, &record, &err);
    assay_sha256_init(&sum);
    while (status == ASSAY_OK && size > 0) {
        status = assay_reader_content(reader->records, 0, &piece, &size, &err);
        if (status == ASSAY_OK)
            assay_sha256_add(&sum, piece, size);
    }
    if (status == ASSAY_ENOMEM)
        fail("out of memory");
    if (status != ASSAY_OK && err.text[0] == '\0')
        fail("a tensor is refused without a reason");
    assay_sha256_hex(&sum, digest);
    return status == ASSAY_OK;
}

static uint32_t key_of(const assay_trial_files *t, const assay_part *part, const assay_entry *entry, bool add)
{
    char key[2 * ASSAY_PATH_ROOM];
    const int length = snprintf(key, sizeof key, "step %" PRId64 " of %s: %s", part->step,
                                t->catalog.worker[part->worker], assay_dict_name(t->tensors, entry->tensor, NULL));
    return add ? assay_dict_add(keys, key, (size_t)length) : assay_dict_find(keys, key, (size_t)length);
}

static void keep(const assay_trial_files *t, assay_trial_reader *reader, const assay_part *part,
                 const assay_entry *entry)
{
    const uint32_t id = key_of(t, part, entry, true);
    kept *grown = realloc(list, (id + 1) * sizeof *list);
    char room[ASSAY_PATH_ROOM];
    if (!grown)
        fail("out of memory");
    list = grown;
    snprintf(list[id].file, sizeof list[id].file, "%s", assay_part_file(&t->catalog, part, entry->file, room));
    if (!digest_of(reader, part, entry, list[id].digest))
        fail("a tensor of the whole trial cannot be read");
}

static void compare(const assay_trial_files *t, assay_trial_reader *reader, const assay_part *part,
                    const assay_entry *entry, uint64_t *wrong)
{
    char digest[65];
    const uint32_t id = key_of(t, part, entry, false);
    if (!digest_of(reader, part, entry, digest)) {
        ++*wrong;
        return;
    }
    if (id != ASSAY_NO_ID)
        list[id].met = true;
    if (id == ASSAY_NO_ID || strcmp(digest, list[id].digest) != 0) {
        failures++;
        fprintf(stderr, "%s has other elements\n", assay_dict_name(t->tensors, entry->tensor, NULL));
    }
}

/* Reads all of the trial; how much was wrong. Without `whole` it is held against what was kept. */
static uint64_t read_all(const char *root, bool whole)
{
    assay_trial_files t;
    assay_error err = {{0}};
    if (assay_trial_open(root, &t, &err) != ASSAY_OK) {
        if (whole || err.text[0] == '\0')
            fail(err.text);
        return 1;
    }
    assay_trial_reader reader = {.trial = &t};
    uint64_t wrong = t.problems.total;
    for (uint32_t i = 0; i < assay_dict_count(keys) && !whole; i++)
        list[i].met = false;
    for (size_t p = 0; p < t.shard.count; p++)
        for (uint32_t i = 0; i < t.shard.parts[p].count; i++) {
            const assay_entry *entry = &t.shard.entries[t.shard.parts[p].first + i];
            if (whole)
                keep(&t, &reader, &t.shard.parts[p], entry);
            else
                compare(&t, &reader, &t.shard.parts[p], entry, &wrong);
        }
    assay_trial_reader_close(&reader);
    assay_trial_release(&t);
    return wrong;
}

static void check_cut(const char *root, const char *file, bool rest)
{
    const uint64_t wrong = read_all(root, false);
    cuts++;
    if (wrong == 0) {
        failures++;
        fprintf(stderr, "%s: a cut is not named\n", file);
    }
    for (uint32_t i = 0; rest && i < assay_dict_count(keys); i++)
        if (!list[i].met && strcmp(list[i].file, file) != 0) {
            failures++;
            fprintf(stderr, "%s is cut, and %s is lost\n", file, assay_dict_name(keys, i, NULL));
        }
}

/* From the end to the beginning, so that each cut is one call. */
static void cut_file(const char *root, const char *file, bool rest)
{
    char path[2 * ASSAY_PATH_ROOM];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", root, file);
    FILE *in = stat(path, &about) == 0 ? fopen(path, "rb") : NULL;
    const size_t size = in ? (size_t)about.st_size : 0;
    uint8_t *bytes = malloc(size + 1);
    if (!in || !bytes || fread(bytes, 1, size, in) != size)
        fail("a file cannot be read");
    fclose(in);
    for (size_t at = size; at-- > 0;) {
        if ((size > EVERY_BYTE && at >= EDGE && size - at > EDGE && at % STRIDE != 0) || at % CUTS_APART != 0)
            continue;
        if (truncate(path, (off_t)at) != 0)
            fail("a file cannot be cut");
        check_cut(root, file, rest);
        if (failures > 20)
            fail("too much is wrong");
    }
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out) != 0)
        fail("a file cannot be written");
    free(bytes);
}

int main(int argc, char **argv)
{
    keys = assay_dict_new();
    if (argc < 3 || !keys)
        fail("usage: cuts TRIAL FILE...");
    if (read_all(argv[1], true) != 0)
        fail("something is wrong before anything was cut");
    for (int i = 2; i < argc; i++)
        cut_file(argv[1], argv[i] + (argv[i][0] == '+'), argv[i][0] == '+');
    printf("%" PRIu64 " cuts of %" PRIu32 " tensors, %" PRIu64 " wrong\n", cuts, assay_dict_count(keys), failures);
    assay_dict_free(keys);
    free(list);
    return failures > 0;
}
