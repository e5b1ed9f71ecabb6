/* What holds of every format: each is tried on a trial of its own below tests/data/formats/NAME. */
#include "trial/trial_format.h"

#include "trial/places.h"
#include "trial/reader.h"
#include "trial/shard.h"
#include "source/trial_files.h"
#include "unit.h"
#include "workspace.h"

enum { MOST_FILES = 64 };

static const char *sample_of(const assay_trial_format *format)
{
    static char path[512];
    snprintf(path, sizeof path, ASSAY_TEST_DATA "/formats/%s", format->name);
    return path;
}

static void open_sample(const assay_trial_format *format, assay_trial_files *out)
{
    assay_error err = {{0}};
    int status = assay_trial_open(sample_of(format), out, &err);
    if (status != 0)
        fprintf(stderr, "a format needs a trial: %s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(status, 0);
    assay_catalog_release(&out->catalog); /* once more, with the numbers that the files have */
    CU_ASSERT_EQUAL_FATAL(assay_catalog_read(out->store, NULL, &out->catalog, &err), 0);
}

typedef void law(const assay_trial_format *format, assay_trial_files *trial);

static void for_every_format(law *holds)
{
    for (unsigned i = 0; i < assay_format_count(); i++) {
        assay_trial_files trial;
        open_sample(assay_format_of(i), &trial);
        CU_ASSERT(memchr(trial.catalog.formats, (int)i, trial.catalog.format_count) != NULL);
        holds(assay_format_of(i), &trial);
        assay_trial_release(&trial);
    }
}

/* ---- the catalog ---- */

static void catalog_law(const assay_trial_format *format, assay_trial_files *t)
{
    assay_buf packed, again;
    assay_catalog copy;
    (void)format;
    CU_ASSERT(t->catalog.workers > 1 && t->catalog.unit_count > 2 && t->catalog.problems.total == 0);
    assay_buf_init(&packed, SIZE_MAX);
    assay_buf_init(&again, SIZE_MAX);
    assay_catalog_pack(&t->catalog, &packed);
    assay_cursor in = assay_cursor_over(packed.data, packed.size);
    CU_ASSERT_EQUAL_FATAL(assay_catalog_unpack(&in, &copy, NULL), 0);
    assay_catalog_pack(&copy, &again);
    CU_ASSERT(packed.size == again.size && memcmp(packed.data, again.data, packed.size) == 0);
    for (size_t i = 0; i < t->catalog.unit_count; i++) { /* units are found without the list of them */
        const assay_unit *unit = &t->catalog.units[i];
        assay_unit found = assay_catalog_unit(&copy, unit->step, unit->mode, unit->worker, 0);
        CU_ASSERT(found.place == unit->place && assay_unit_compare(&found, unit) == 0);
    }
    assay_catalog_release(&copy);
    for (size_t size = 0; size < packed.size; size++) {
        in = assay_cursor_over(packed.data, size);
        CU_ASSERT_NOT_EQUAL(assay_catalog_unpack(&in, &copy, NULL), 0);
    }
    assay_buf_release(&packed);
    assay_buf_release(&again);
}

/* ---- the index ---- */

static void pack_rows(const assay_shard *s, assay_buf *out)
{
    assay_buf_init(out, SIZE_MAX);
    assay_shard_pack(s, 0, s->count, out);
}

/* However the units are cut into shares, the rows are the same. */
static void cut_law(const assay_trial_format *format, assay_trial_files *t)
{
    const size_t count = t->catalog.unit_count;
    assay_buf whole = {0};
    (void)format;
    for (size_t cut = 0; cut <= count; cut++) {
        assay_buf rows;
        assay_shard shard;
        assay_problems problems;
        assay_dict *names = assay_dict_new();
        assay_shard_init(&shard);
        assay_problems_init(&problems);
        const assay_index_sink into = {names, &shard, &problems};
        CU_ASSERT_EQUAL(assay_index_read(t->store, &t->catalog, t->catalog.units, cut, &into), 0);
        CU_ASSERT_EQUAL(assay_index_read(t->store, &t->catalog, t->catalog.units + cut, count - cut, &into), 0);
        CU_ASSERT(problems.total == 0 && shard.count == count && shard.entry_count > 0);
        pack_rows(&shard, cut == 0 ? &whole : &rows);
        CU_ASSERT(cut == 0 || (rows.size == whole.size && memcmp(rows.data, whole.data, whole.size) == 0));
        if (cut > 0)
            assay_buf_release(&rows);
        assay_shard_release(&shard);
        assay_problems_release(&problems);
        assay_dict_free(names);
    }
    for (size_t size = 0; size < whole.size; size += 7) { /* and what is cut short between ranks is refused */
        assay_shard shard;
        assay_shard_init(&shard);
        assay_cursor in = assay_cursor_over(whole.data, size);
        CU_ASSERT_NOT_EQUAL(assay_shard_unpack(&in, &shard, NULL), 0);
        assay_shard_release(&shard);
    }
    assay_shard copy;
    assay_buf rows;
    assay_shard_init(&copy);
    assay_cursor in = assay_cursor_over(whole.data, whole.size);
    CU_ASSERT_EQUAL(assay_shard_unpack(&in, &copy, NULL), 0);
    pack_rows(&copy, &rows);
    CU_ASSERT(rows.size == whole.size && memcmp(rows.data, whole.data, whole.size) == 0);
    assay_buf_release(&rows);
    assay_buf_release(&whole);
    assay_shard_release(&copy);
}

/* ---- records ---- */

/* The content in pieces of at most `most` bytes, at `to` when `put`. */
static int read_content(assay_reader *r, const assay_record *record, size_t most, bool put, uint8_t *to)
{
    const uint8_t *piece;
    size_t size = 0, at = 0;
    int status;
    if (put)
        assay_reader_put_at(r, to);
    while ((status = assay_reader_content(r, most, &piece, &size, NULL)) == 0 && size > 0) {
        CU_ASSERT_FATAL(at + size <= record->content_bytes);
        CU_ASSERT(!put || piece == to + at);
        if (!put)
            memcpy(to + at, piece, size);
        at += size;
    }
    CU_ASSERT(status != 0 || at == record->content_bytes);
    return status;
}

static void record_law_of(assay_trial_files *t, const assay_part *part, const assay_entry *entry)
{
    static const size_t sizes[] = {0, 16, 48};
    assay_reader *r = NULL;
    assay_record record, again;
    CU_ASSERT_EQUAL_FATAL(assay_reader_open(&r, t->store, &t->catalog, part, entry->file, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(assay_reader_record(r, entry->offset, entry->length, 1 << 20, &record, NULL), 0);
    CU_ASSERT(assay_dtype_known(record.dtype));
    CU_ASSERT(!record.tag || record.kind == (int)entry->kind);
    if (record.form != ASSAY_CONTENT_STRINGS) {
        uint8_t *first = calloc(1, record.content_bytes + 1), *other = calloc(1, record.content_bytes + 1);
        CU_ASSERT_EQUAL(read_content(r, &record, 0, false, first), 0);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int put = 0; put < 2; put++) {
                memset(other, 0xaa, record.content_bytes);
                CU_ASSERT_EQUAL(assay_reader_record(r, entry->offset, entry->length, 1 << 20, &again, NULL), 0);
                CU_ASSERT_EQUAL(read_content(r, &again, sizes[k], put, other), 0);
                CU_ASSERT(memcmp(first, other, record.content_bytes) == 0);
            }
        free(first);
        free(other);
    }
    for (uint64_t length = 0; length < entry->length; length++) { /* every cut is refused, with a reason */
        assay_error err = {{0}};
        CU_ASSERT_NOT_EQUAL(assay_reader_record(r, entry->offset, length, 1 << 20, &again, &err), 0);
        CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
    }
    assay_reader_close(r);
}

static void record_law(const assay_trial_format *format, assay_trial_files *t)
{
    (void)format;
    for (size_t p = 0; p < t->shard.count; p++)
        for (uint32_t i = 0; i < t->shard.parts[p].count; i++)
            record_law_of(t, &t->shard.parts[p], &t->shard.entries[t->shard.parts[p].first + i]);
}

/* ---- damage ---- */

typedef struct found_files {
    char path[MOST_FILES][256];
    size_t count;
} found_files;
static found_files found;

static int find_one(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    (void)about, (void)walk;
    if (type == FTW_F && found.count < MOST_FILES)
        snprintf(found.path[found.count++], sizeof found.path[0], "%s", path);
    return 0;
}

/* The trial of a workspace, read to its last record: how many records could be read, and what was wrong. */
static size_t read_all(const workspace *w, uint64_t *wrong)
{
    assay_trial_files t;
    assay_error err = {{0}};
    size_t read = 0;
    *wrong = 1;
    if (assay_trial_open(w->root, &t, &err) != 0) {
        CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
        return 0;
    }
    assay_trial_reader reader = {.trial = &t};
    *wrong = t.problems.total;
    for (size_t p = 0; p < t.shard.count; p++)
        for (uint32_t i = 0; i < t.shard.parts[p].count; i++) {
            assay_record record;
            err.text[0] = '\0';
            int status = assay_trial_record(&reader, &t.shard.parts[p], &t.shard.entries[t.shard.parts[p].first + i],
                                            &record, &err);
            read += status == 0;
            *wrong += status != 0;
            CU_ASSERT(status == 0 || err.text[0] != '\0');
        }
    assay_trial_reader_close(&reader);
    assay_trial_release(&t);
    return read;
}

static void damage_law(const assay_trial_format *format, assay_trial_files *t)
{
    workspace w;
    char command[1400];
    uint64_t wrong = 0;
    workspace_make(&w);
    snprintf(command, sizeof command, "cp -R '%s/.' '%s'", sample_of(format), w.root);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    CU_ASSERT_EQUAL(read_all(&w, &wrong), t->shard.entry_count);
    CU_ASSERT_EQUAL(wrong, 0);
    found.count = 0;
    nftw(w.root, find_one, 16, FTW_PHYS);
    CU_ASSERT(found.count > 1 && found.count < MOST_FILES);
    for (size_t i = 0; i < found.count; i++) {
        struct stat about;
        CU_ASSERT_EQUAL_FATAL(stat(found.path[i], &about), 0);
        off_t size = about.st_size;
        const char *path = found.path[i] + strlen(w.root) + 1;
        uint8_t *bytes = calloc(1, (size_t)size + 1);
        FILE *file = fopen(found.path[i], "rb");
        CU_ASSERT_FATAL(file && fread(bytes, 1, (size_t)size, file) == (size_t)size);
        fclose(file);
        for (off_t cut = 0; cut < size; cut += cut < 16 || cut > size - 16 ? 1 : 13) {
            CU_ASSERT_EQUAL(truncate(found.path[i], cut), 0);
            size_t read = read_all(&w, &wrong);
            /* Of what grows at its end less is there, and no more can be known. */
            bool told = wrong > 0 || (format->grows_at_end && read < t->shard.entry_count);
            if (!told || read > t->shard.entry_count)
                fprintf(stderr, "%s cut to %lld bytes: nothing is said of it\n", path, (long long)cut);
            CU_ASSERT(told && read <= t->shard.entry_count);
            workspace_write(&w, path, bytes, (size_t)size);
        }
        free(bytes);
    }
    CU_ASSERT_EQUAL(read_all(&w, &wrong), t->shard.entry_count);
    workspace_remove(&w);
}

/* ---- watching ---- */

static int count_place(void *context, const char *path)
{
    (void)path;
    ++*(size_t *)context;
    return 0;
}

static void places_law(const assay_trial_format *format, assay_trial_files *t)
{
    size_t places = 0;
    CU_ASSERT_EQUAL(format->places(t->store, count_place, &places), 0);
    CU_ASSERT(places > 0);
    for (size_t i = 0; i < t->catalog.unit_count; i++) {
        places = 0;
        CU_ASSERT_EQUAL(assay_unit_places(t->store, &t->catalog, &t->catalog.units[i], count_place, &places), 0);
        CU_ASSERT(places > 0);
    }
    for (size_t p = 0; p < t->shard.count; p++)
        CU_ASSERT_EQUAL(assay_part_is_whole(t->store, &t->catalog, &t->shard, &t->shard.parts[p]), 1);
}

static void test_catalog(void)
{
    for_every_format(catalog_law);
}

static void test_cuts(void)
{
    for_every_format(cut_law);
}

static void test_records(void)
{
    for_every_format(record_law);
}

static void test_damage(void)
{
    for_every_format(damage_law);
}

static void test_places(void)
{
    for_every_format(places_law);
}

int main(void)
{
    CU_TestInfo tests[] = {{"the catalog survives its way between ranks", test_catalog},
                           {"any cut of the index gives the same rows", test_cuts},
                           {"pieces make the content; every cut of a record is refused", test_records},
                           {"a file that is cut short is a problem", test_damage},
                           {"what is written is seen", test_places},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/format laws", tests);
}
