/* metrics.c - the format's table, and what it makes of a log: units, rows, notes.
 *
 * The log is read once, while the trial is listed. Its values go to every rank as the catalog's only place of this
 * format: tables of tags and workers, the units in order, and their values. The index copies the values into notes, each
 * of a block of units, and a record is a place in a note. Which units are a block follows from the place alone: ranks
 * that read other units come to the same. Tensors of event files stay where they are. */
#include "format/metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/mask.h"
#include "base/path.h"
#include "base/search.h"
#include "format/metrics/locate.h"
#include "format/metrics/place.h"
#include "format/metrics/runs.h"
#include "format/metrics/stands.h"
#include "format/tfrecord/record.h"
#include "format/tfrecord/typed.h"
#include "trial/shard.h"

enum {
    VALUE_BYTES = 8,
    TAG_BYTES = METRICS_ROW_BYTES - VALUE_BYTES,
    BLOCK_ROWS = 512 /* that share a note: a block of steps is handed out as one */
};
static const char PREFIX[] = METRICS_PREFIX;

/* ---- listing ---- */

static int add_units(assay_lister *l, const metrics_log *log, const metrics_units *units, uint32_t place)
{
    uint32_t *worker = assay_alloc_zeroed(assay_dict_count(log->workers), sizeof *worker);
    int status = worker ? ASSAY_OK : assay_lister_no_memory(l);
    bool *used = worker ? assay_alloc_zeroed(assay_dict_count(log->workers), sizeof *used) : NULL;
    for (size_t i = 0; i < units->count && used; i++)
        used[units->list[i].worker] = true;
    for (uint32_t i = 0; used && i < assay_dict_count(log->workers); i++) {
        size_t length = 0;
        const char *name = assay_dict_name(log->workers, i, &length);
        worker[i] = used[i] ? assay_lister_worker(l, name, length) : 0;
        if (worker[i] == ASSAY_NO_ID)
            status = assay_lister_no_memory(l);
    }
    for (size_t i = 0; i < units->count && status == ASSAY_OK; i++)
        status = assay_lister_mode_unit(l, units->list[i].step, (int)units->list[i].mode, worker[units->list[i].worker],
                                        place);
    if (!used && status == ASSAY_OK)
        status = assay_lister_no_memory(l);
    free(used);
    free(worker);
    return status;
}

/* Numbers, switches, lists and what stands in angle brackets are no secrets: pad_token_id, <HUB_TOKEN>. */
static bool may_be_secret(const char *value)
{
    const size_t length = strlen(value);
    double number = 0;
    return length > 0 && !metrics_number(value, length, &number) && strcasecmp(value, "true") != 0 &&
           strcasecmp(value, "false") != 0 && !(value[0] == '<' && value[length - 1] == '>') &&
           !(value[0] == '[' && value[length - 1] == ']');
}

/* Secrets among the settings are known by their names, as those that the recording library writes. */
static int put_facts(assay_lister *l, assay_run_facts *from)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < from->count && status == ASSAY_OK; i++) {
        const assay_run_fact *fact = &from->list[i];
        const bool secret = assay_name_is_secret(fact->name, strlen(fact->name)) && may_be_secret(fact->value);
        status = assay_run_facts_put(&l->catalog->facts, assay_copy_text(fact->name),
                                     assay_copy_text(secret ? ASSAY_MASK : fact->value));
    }
    l->catalog->facts.files += from->count > 0;
    assay_run_facts_sort(&l->catalog->facts);
    return status == ASSAY_OK ? status : assay_lister_no_memory(l);
}

/* What belongs to no run: among the counts of the only one, else beside those of the first. */
static int put_around(const metrics_place *place, bool whole, assay_log_facts *out)
{
    int status = ASSAY_OK;
    for (int i = 0; i < METRICS_COUNTS && status == ASSAY_OK && !whole; i++)
        if (place->counts[i] > 0)
            status = assay_log_counts_add(&out->around, metrics_count_word(i), place->counts[i]);
    for (size_t i = 0; i < place->silent.count && status == ASSAY_OK; i++)
        status = assay_log_names_add(&out->logged_nothing, place->silent.list[i], strlen(place->silent.list[i]));
    for (size_t i = 0; i < place->unstarted.count && status == ASSAY_OK; i++)
        status = assay_log_names_add(&out->never_started, place->unstarted.list[i], strlen(place->unstarted.list[i]));
    return status;
}

/* The name of a tag's tensor; "" where there is none. */
static void put_tensor(const metrics_log *log, uint32_t tag, char *out, size_t room)
{
    size_t length;
    *out = '\0';
    if (tag == METRICS_NO_NUMBER)
        return;
    const char *text = assay_dict_name(log->tags, tag, &length);
    snprintf(out, room, METRICS_PREFIX "%.*s", (int)length, text);
}

static int put_range(const metrics_log *log, const metrics_range *range, assay_log_facts *out)
{
    enum { ROOM = sizeof METRICS_PREFIX + METRICS_TAG_MOST };
    char bad[ROOM], loss[ROOM];
    put_tensor(log, range->bad_tag, bad, sizeof bad);
    put_tensor(log, range->loss_tag, loss, sizeof loss);
    return assay_log_facts_range(
        out, &(assay_log_range){.first = range->first,
                                .last = range->last,
                                .values = range->values,
                                .worker = (char *)assay_dict_name(log->workers, range->worker, NULL),
                                .bad = bad,
                                .bad_step = range->bad_step,
                                .loss = loss,
                                .loss_step = range->loss_step,
                                .last_loss = range->loss});
}

static int put_log_facts(assay_lister *l, const metrics_place *place, const metrics_run *run, const metrics_log *log)
{
    assay_log_facts *out = &l->catalog->log;
    char also[128] = "";
    const bool whole = place->run_count <= 1 && !(l->catalog->options && l->catalog->options->run);
    for (int k = 0; k < METRICS_KINDS; k++)
        if ((place->kinds >> k & 1) && metrics_kinds[k] != place->kind)
            snprintf(also + strlen(also), sizeof also - strlen(also), "%s%s", *also ? "," : "", metrics_kinds[k]->name);
    out->kind = assay_copy_text(place->kind->name);
    out->also = assay_copy_text(also);
    out->unknown = assay_copy_text(log->unknown);
    out->files = log->file_count ? log->file_count : run ? run->count : 0;
    out->resolution = place->kind->resolution;
    out->output = log->output;
    out->running = log->running;
    out->workers_known = place->kind->workers_known;
    int status = out->kind && out->also && out->unknown ? ASSAY_OK : ASSAY_ENOMEM;
    for (int i = 0; i < METRICS_COUNTS && status == ASSAY_OK; i++) {
        const uint64_t count = log->counts[i] + (whole ? place->counts[i] : 0);
        if (count > 0)
            status = assay_log_counts_add(&out->counts, metrics_count_word(i), count);
    }
    ASSAY_THEN(status, put_around(place, whole, out));
    for (size_t i = 0; i < log->range_count && status == ASSAY_OK; i++)
        status = put_range(log, &log->ranges[i], out);
    ASSAY_THEN(status, metrics_judge(log, &out->judged));
    return status == ASSAY_OK ? status : assay_lister_no_memory(l);
}

/* Reads a run; what is damaged goes to `problems`. */
static int read_run(assay_lister *l, const metrics_place *place, const metrics_run *run, metrics_log *log,
                    assay_run_facts *facts, assay_problems *problems, const assay_trial_options *asked)
{
    int status = metrics_log_init(log, l->store, facts, problems);
    log->asked = asked;
    status = status == ASSAY_OK && run ? run->kind->read(log, place, run, l->err) : status;
    return status == ASSAY_OK ? metrics_log_finish(log) : status;
}

/* Reads a run and lists it. */
static int list_run(assay_lister *l, const metrics_place *place, const metrics_run *run)
{
    metrics_log log;
    assay_run_facts facts = {0};
    assay_problems problems;
    assay_buf bytes;
    metrics_units units = {0};
    assay_problems_init(&problems);
    assay_buf_init(&bytes, SIZE_MAX);
    int status = read_run(l, place, run, &log, &facts, &problems, l->catalog->options);
    if (status == METRICS_AGAIN) {
        metrics_log_release(&log);
        assay_run_facts_release(&facts);
        assay_problems_release(&problems);
        facts = (assay_run_facts){0};
        assay_problems_init(&problems);
        status = read_run(l, place, run, &log, &facts, &problems, NULL);
    }
    ASSAY_THEN(status, assay_problems_append(&l->catalog->problems, &problems));
    ASSAY_THEN(status, metrics_pack_place(&log, run && run->count ? run->files[0]->path : "", &units, &bytes));
    if (status == ASSAY_OK) {
        const uint32_t number = assay_lister_place(l, bytes.data, bytes.size);
        status = number == ASSAY_NO_ID ? ASSAY_ENOMEM : add_units(l, &log, &units, number);
    }
    ASSAY_THEN(status, put_log_facts(l, place, run, &log));
    ASSAY_THEN(status, put_facts(l, &facts));
    l->catalog->ended = l->catalog->ended || log.ended;
    free(units.list);
    assay_buf_release(&bytes);
    assay_problems_release(&problems);
    assay_run_facts_release(&facts);
    metrics_log_release(&log);
    return status == ASSAY_ENOMEM ? assay_lister_no_memory(l) : status;
}

/* Beside checkpoints only the trainer's own log belongs to the trial. */
static bool has_trainer_state(const assay_lister *l)
{
    char path[ASSAY_PATH_ROOM];
    for (size_t i = 0; i < l->top->count; i++) {
        const char *name = l->top->name[i];
        if (strcmp(name, "trainer_state.json") == 0)
            return true;
        snprintf(path, sizeof path, "%.4000s/trainer_state.json", name);
        if (strncmp(name, "checkpoint-", 11) == 0 && assay_store_exists(l->store, path, NULL) == 1)
            return true;
    }
    return false;
}

static int list(assay_lister *l)
{
    const assay_trial_options *options = l->catalog->options;
    metrics_place place;
    const metrics_run *run = NULL;
    const bool beside = l->catalog->unit_count > 0;
    int kind = beside ? METRICS_HF : options && options->log_kind ? metrics_kind_number(options->log_kind) : -1;
    if (beside && !has_trainer_state(l))
        return 1;
    int status = options && options->run ? metrics_run_unpack(l->store, options->run, options->run_size, &place, l->err)
                                         : metrics_place_read(l->store, kind, &place, l->err);
    if (status == ASSAY_OK && !place.kind) { /* what could not be looked at may have had a log */
        status = assay_problems_append(&l->catalog->problems, &place.problems);
        metrics_place_release(&place);
        if (status != ASSAY_OK)
            return assay_lister_no_memory(l);
        ASSAY_TRY(assay_lister_find_log_kind(l));
        return 1;
    }
    ASSAY_THEN(status, metrics_place_choose(&place, &run, l->err));
    if (status == ASSAY_OK && assay_problems_append(&l->catalog->problems, &place.problems) != ASSAY_OK)
        status = assay_lister_no_memory(l);
    ASSAY_THEN(status, list_run(l, &place, run));
    metrics_place_release(&place);
    return status;
}

static bool probe(const assay_names *top)
{
    return !(assay_names_have(top, "collections") && assay_names_have(top, "index"));
}

uint32_t metrics_kinds_named(const char *name)
{
    static const uint32_t packed =
        1u << METRICS_CSV | 1u << METRICS_MONITOR | 1u << METRICS_DLFW | 1u << METRICS_MEGATRON | 1u << METRICS_PRINTED;
    char plain[ASSAY_PATH_ROOM];
    const bool gzip = assay_path_ends(name, ".gz");
    uint32_t named = 0;
    snprintf(plain, sizeof plain, "%.*s", (int)(strlen(name) - (gzip ? 3 : 0)), name);
    for (int k = 0; k < METRICS_KINDS; k++)
        named |= (uint32_t)metrics_kinds[k]->named(plain) << k;
    return gzip ? named & packed : named;
}

/* Is a file of such a name a log by itself? */
static bool is_named(const char *name)
{
    return metrics_kinds_named(name) != 0;
}

static bool is_sure(const char *name)
{
    bool sure = false;
    for (int k = 0; k < METRICS_KINDS && !sure; k++)
        sure = metrics_kinds[k]->sure && metrics_kinds[k]->sure(name);
    return sure;
}

static int conclude(assay_lister *l)
{
    (void)l;
    return ASSAY_OK;
}

static void remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used)
{
    (void)used; /* every unit is listed once */
    assay_problems_add(&catalog->problems, ASSAY_PROBLEM_DUPLICATE, unit->step, "", -1,
                       "step %lld of %s is listed twice", (long long)unit->step, catalog->worker[unit->worker]);
}

/* ---- the place, as it was packed ---- */

typedef struct names {
    uint32_t count;
    const char **text;
    uint32_t *length;
} names;

typedef struct packed {
    names workers, tags, files;
    const char *path;
    size_t path_length;
    const uint8_t *vectors, *units, *rows;
    uint64_t vector_count, unit_count, row_count;
} packed;

static bool take_names(assay_cursor *in, names *out)
{
    out->count = (uint32_t)assay_get_u32(in);
    if (in->failed || out->count > assay_cursor_left(in) / 4)
        return false;
    out->text = assay_alloc_zeroed(out->count, sizeof *out->text);
    out->length = assay_alloc_zeroed(out->count, sizeof *out->length);
    for (uint32_t i = 0; out->text && out->length && i < out->count; i++) {
        size_t length = 0;
        out->text[i] = assay_get_text(in, &length);
        out->length[i] = (uint32_t)length;
    }
    return out->text && out->length && !in->failed;
}

static void release_packed(packed *p)
{
    names *const all[] = {&p->workers, &p->tags, &p->files};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->text);
        free(all[i]->length);
    }
}

/* Takes the place apart. False without memory, or where there is none. */
static bool open_packed(const assay_catalog *catalog, packed *out)
{
    const assay_dict *places = assay_format_places(&assay_format_metrics, catalog);
    size_t size = 0;
    *out = (packed){0};
    if (!places || assay_dict_count(places) == 0)
        return false;
    const char *bytes = assay_dict_name(places, 0, &size);
    assay_cursor in = assay_cursor_over(bytes, size);
    if (!take_names(&in, &out->workers) || !take_names(&in, &out->tags))
        return false;
    out->path = assay_get_text(&in, &out->path_length);
    if (!take_names(&in, &out->files))
        return false;
    out->vector_count = assay_get_count(&in, METRICS_VECTOR_BYTES);
    out->vectors = assay_get_bytes(&in, out->vector_count * METRICS_VECTOR_BYTES);
    out->unit_count = assay_get_count(&in, METRICS_UNIT_BYTES);
    out->units = assay_get_bytes(&in, out->unit_count * METRICS_UNIT_BYTES);
    out->row_count = assay_cursor_left(&in) / METRICS_ROW_BYTES;
    out->rows = assay_get_bytes(&in, out->row_count * METRICS_ROW_BYTES);
    return !in.failed;
}

static int compare_unit(const metrics_unit *u, int64_t step, uint32_t worker, uint32_t mode)
{
    int order = ASSAY_ORDER(u->step, step);
    order = order ? order : ASSAY_ORDER(u->worker, worker);
    return order ? order : ASSAY_ORDER(u->mode, mode);
}

/* Are the rows of the i-th unit there? Sets it. */
static bool take_unit(const packed *p, uint64_t i, metrics_unit *out)
{
    if (i >= p->unit_count)
        return false;
    *out = metrics_unit_at(p->units + i * METRICS_UNIT_BYTES);
    return out->count <= p->row_count && out->first <= p->row_count - out->count;
}

/* The unit of a step, a worker (as the place counts them) and a mode. *next: the number of the one that is likely, then
 * of the one behind it. */
static bool find_unit(const packed *p, int64_t step, uint32_t worker, uint32_t mode, uint64_t *next, metrics_unit *out)
{
    uint64_t low = *next;
    if (!take_unit(p, low, out) || compare_unit(out, step, worker, mode) != 0) {
        low = 0;
        for (uint64_t high = p->unit_count; low < high;) {
            const uint64_t middle = low + (high - low) / 2;
            const metrics_unit u = metrics_unit_at(p->units + middle * METRICS_UNIT_BYTES);
            if (compare_unit(&u, step, worker, mode) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (!take_unit(p, low, out) || compare_unit(out, step, worker, mode) != 0)
            return false;
    }
    *next = low + 1;
    return true;
}

/* So many words that are 0. */
static void put_counts(assay_buf *out, unsigned words)
{
    for (unsigned i = 0; i < words; i++)
        assay_put_u32(out, 0);
}

/* Of the place the path stays, which messages name. Without memory all of it does. */
static void forget_values(assay_catalog *catalog)
{
    packed p;
    assay_buf head;
    assay_dict *places = assay_dict_new();
    assay_buf_init(&head, SIZE_MAX);
    if (open_packed(catalog, &p) && places) {
        put_counts(&head, 2); /* workers, tags */
        assay_put_u32(&head, (uint32_t)p.path_length);
        assay_put_bytes(&head, p.path, p.path_length);
        put_counts(&head, 5); /* files, vectors, units */
        if (assay_buf_status(&head) == ASSAY_OK && assay_dict_add(places, (const char *)head.data, head.size) == 0)
            for (unsigned i = 0; i < assay_format_count(); i++)
                if (assay_format_of(i) == &assay_format_metrics) {
                    assay_dict *before = catalog->places[i];
                    catalog->places[i] = places;
                    places = before;
                }
    }
    release_packed(&p);
    assay_buf_release(&head);
    assay_dict_free(places);
}

static uint32_t place_of(const assay_catalog *catalog, const assay_unit *unit)
{
    (void)catalog;
    (void)unit;
    return 0;
}

static int index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room)
{
    packed p;
    (void)unit;
    int length = 0;
    if (open_packed(catalog, &p))
        length = snprintf(out, room, "%.*s", (int)p.path_length, p.path);
    else if (room > 0)
        *out = '\0';
    release_packed(&p);
    return length;
}

static int file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room)
{
    (void)part; /* parts list their files */
    (void)file;
    return index_path(catalog, NULL, out, room);
}

/* ---- index ---- */

typedef struct indexer {
    packed place;
    const assay_catalog *catalog;
    assay_dict *tensors;
    assay_shard *shard;
    uint32_t *tensor; /* by tag: its number, ASSAY_NO_ID: not asked for so far */
    uint32_t *worker; /* by the catalog's number: that of the place */
    char **name;      /* of the files of a part; owned */
    uint64_t next;    /* number of the unit that is likely to be asked for */
    uint64_t block;
    assay_files *files; /* of the parts of that block; NULL: of none so far */
    assay_buf note;     /* of the block under way */
} indexer;

static uint32_t tensor_of(indexer *x, uint32_t tag)
{
    char name[sizeof PREFIX + METRICS_TAG_MOST];
    if (x->tensor[tag] != ASSAY_NO_ID)
        return x->tensor[tag];
    const size_t length = x->place.tags.length[tag];
    memcpy(name, PREFIX, sizeof PREFIX - 1);
    if (length > METRICS_TAG_MOST)
        return ASSAY_NO_ID;
    memcpy(name + sizeof PREFIX - 1, x->place.tags.text[tag], length);
    return x->tensor[tag] = assay_dict_add(x->tensors, name, sizeof PREFIX - 1 + length);
}

static int add_entry(indexer *x, const metrics_unit *unit, uint64_t row)
{
    const uint8_t *at = x->place.rows + (unit->first + row) * METRICS_ROW_BYTES;
    const uint32_t word = metrics_word_at(at), tag = word & ~METRICS_VECTOR_BIT;
    const bool vector = (word & METRICS_VECTOR_BIT) != 0;
    const uint64_t bits = metrics_long_at(at + TAG_BYTES);
    assay_entry *to = &x->shard->entries[x->shard->entry_count];
    if (tag >= x->place.tags.count || (vector && bits >= x->place.vector_count))
        return ASSAY_OK;
    const uint32_t tensor = tensor_of(x, tag);
    if (tensor == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    *to = (assay_entry){.offset = (unit->first + row - x->block * BLOCK_ROWS) * VALUE_BYTES,
                        .length = VALUE_BYTES,
                        .tensor = tensor,
                        .kind = ASSAY_RAW};
    if (vector) {
        const uint8_t *of = x->place.vectors + bits * METRICS_VECTOR_BYTES;
        to->file = (1 + metrics_word_at(of)) & 0xffffff;
        to->offset = metrics_long_at(of + 4);
        to->length = metrics_long_at(of + 12);
    }
    x->shard->entry_count++;
    return ASSAY_OK;
}

/* The files of the parts of a block: the log, with the note of their values, then the files that tensors lie in. */
static assay_files *files_of(const indexer *x)
{
    const uint32_t count = 1 + x->place.files.count;
    assay_file *list = assay_alloc_zeroed(count, sizeof *list);
    assay_files *files = NULL;
    if (list && x->note.size <= UINT32_MAX) {
        for (uint32_t i = 0; i < count; i++)
            list[i].name = x->name[i];
        list[0].note = x->note.data ? x->note.data : (const uint8_t *)"";
        list[0].note_size = (uint32_t)x->note.size;
        files = assay_files_new(list, count);
    }
    free(list);
    return files;
}

static bool are_same(const assay_files *a, const assay_files *b)
{
    bool same = a->count == b->count && a->file[0].note && b->file[0].note &&
                a->file[0].note_size == b->file[0].note_size &&
                memcmp(a->file[0].note, b->file[0].note, a->file[0].note_size) == 0;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = strcmp(a->file[i].name, b->file[i].name) == 0;
    return same;
}

/* Where the units before were read by another call, the block may have begun there. */
static void share_begun(indexer *x)
{
    const assay_shard *s = x->shard;
    assay_files *begun = s->count > 0 ? s->parts[s->count - 1].files : NULL;
    if (!begun || begun->count == 0 || !are_same(begun, x->files))
        return;
    assay_files_release(x->files);
    x->files = assay_files_share(begun);
}

/* Makes the files of the block that the unit lies in, unless it is the one before; x->next is the unit behind it. The
 * block's rows are those from its number on up to the end of its last unit. 0 or ASSAY_ENOMEM. */
static int enter_block(indexer *x, const metrics_unit *unit)
{
    const uint64_t block = unit->first / BLOCK_ROWS;
    if (x->files && x->block == block)
        return ASSAY_OK;
    uint64_t end = unit->first + unit->count;
    metrics_unit later;
    for (uint64_t i = x->next; take_unit(&x->place, i, &later) && later.first / BLOCK_ROWS == block; i++)
        end = later.first + later.count > end ? later.first + later.count : end;
    assay_files_release(x->files);
    x->files = NULL;
    x->block = block;
    assay_buf_clear(&x->note);
    ASSAY_TRY(assay_buf_reserve(&x->note, (end - block * BLOCK_ROWS) * VALUE_BYTES));
    for (uint64_t row = block * BLOCK_ROWS; row < end; row++, x->note.size += VALUE_BYTES)
        memcpy(x->note.data + x->note.size, x->place.rows + row * METRICS_ROW_BYTES + TAG_BYTES, VALUE_BYTES);
    x->files = files_of(x);
    if (x->files)
        share_begun(x);
    return x->files ? ASSAY_OK : ASSAY_ENOMEM;
}

/* The names of those files, terminated. */
static bool copy_names(indexer *x)
{
    const uint32_t count = 1 + x->place.files.count;
    x->name = assay_alloc_zeroed(count, sizeof *x->name);
    bool good = x->name != NULL;
    for (uint32_t i = 0; good && i < count; i++) {
        x->name[i] = i == 0 ? assay_copy_bytes_as_text(x->place.path, x->place.path_length)
                            : assay_copy_bytes_as_text(x->place.files.text[i - 1], x->place.files.length[i - 1]);
        good = x->name[i] != NULL;
    }
    return good;
}

static int add_part(indexer *x, const assay_unit *unit)
{
    assay_shard *s = x->shard;
    metrics_unit own;
    if (x->worker[unit->worker] == ASSAY_NO_ID ||
        !find_unit(&x->place, unit->step, x->worker[unit->worker], unit->mode, &x->next, &own))
        return ASSAY_OK;
    int status = assay_shard_reserve(s, 1, own.count, 0);
    ASSAY_THEN(status, enter_block(x, &own));
    assay_part part = {.step = unit->step,
                       .mode_step = unit->step,
                       .worker = unit->worker,
                       .format = unit->format,
                       .mode = (uint8_t)unit->mode,
                       .first = (uint32_t)s->entry_count,
                       .first_shape = (uint32_t)s->shape_count};
    for (uint64_t i = 0; i < own.count && status == ASSAY_OK; i++)
        status = add_entry(x, &own, i);
    if (status != ASSAY_OK)
        return status;
    part.files = assay_files_share(x->files);
    part.count = (uint32_t)(s->entry_count - part.first);
    if (part.count > 1)
        qsort(&s->entries[part.first], part.count, sizeof *s->entries, assay_entry_compare);
    s->parts[s->count++] = part;
    return ASSAY_OK;
}

static bool map_workers(indexer *x)
{
    x->worker = assay_alloc_zeroed(x->catalog->workers, sizeof *x->worker);
    for (uint32_t w = 0; x->worker && w < x->catalog->workers; w++) {
        x->worker[w] = ASSAY_NO_ID;
        for (uint32_t i = 0; i < x->place.workers.count; i++)
            if (x->place.workers.length[i] == strlen(x->catalog->worker_key[w]) &&
                memcmp(x->place.workers.text[i], x->catalog->worker_key[w], x->place.workers.length[i]) == 0)
                x->worker[w] = i;
    }
    return x->worker != NULL;
}

static int index_units(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                       const assay_index_sink *into)
{
    indexer x = {.catalog = catalog, .tensors = into->tensors, .shard = into->shard};
    (void)store;
    assay_buf_init(&x.note, SIZE_MAX);
    int status = open_packed(catalog, &x.place) && map_workers(&x) && copy_names(&x) ? ASSAY_OK : ASSAY_ENOMEM;
    x.tensor = assay_alloc(((size_t)x.place.tags.count + 1) * sizeof *x.tensor);
    if (x.tensor)
        memset(x.tensor, 0xff, ((size_t)x.place.tags.count + 1) * sizeof *x.tensor);
    else
        status = ASSAY_ENOMEM;
    if (status == ASSAY_OK) /* of all units it is known how much they have: lists that grow are copied */
        status = assay_shard_reserve(into->shard, count, count == x.place.unit_count ? x.place.row_count : 0, 0);
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        status = add_part(&x, &units[i]);
    for (uint32_t i = 0; x.name && i <= x.place.files.count; i++)
        free(x.name[i]);
    free(x.name);
    free(x.tensor);
    free(x.worker);
    assay_files_release(x.files);
    assay_buf_release(&x.note);
    release_packed(&x.place);
    return status;
}

/* ---- records ---- */

static bool number(const uint8_t *note, size_t size, uint64_t offset, uint64_t length, double *value)
{
    if (length != VALUE_BYTES || offset > size || size - offset < VALUE_BYTES)
        return false;
    const uint64_t bits = metrics_long_at(note + offset);
    memcpy(value, &bits, sizeof *value);
    return true;
}

static int decode_value(assay_decoded *d, assay_record *r, assay_error *err)
{
    double value;
    if (!number(d->row.note, d->row.note_size, r->offset, r->length, &value))
        return assay_fail(err, ASSAY_EFORMAT, "a value lies outside of its note");
    if (assay_decoded_reserve(d, VALUE_BYTES) != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a value");
    memcpy(d->bytes, &value, sizeof value);
    d->size = VALUE_BYTES;
    r->dtype = ASSAY_FLOAT64;
    r->dims = 0;
    r->elements = 1;
    r->content_bytes = VALUE_BYTES;
    r->form = ASSAY_CONTENT_TYPED;
    r->checksum = ASSAY_CHECKSUM_TRUE; /* was checked where the log has one; the value is in memory since */
    return ASSAY_OK;
}

static int decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *r, assay_error *err)
{
    assay_record_parts parts;
    if (d->row.note)
        return decode_value(d, r, err);
    int status = assay_record_walk_tensor(view, r->offset, r->offset + r->length, &parts, err);
    ASSAY_THEN(status, assay_record_describe(view, &parts, r, err));
    if (status != ASSAY_OK)
        return status;
    if (r->form == ASSAY_CONTENT_STRINGS)
        return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: a tensor of texts", view->path,
                          (unsigned long long)r->offset);
    if (r->form != ASSAY_CONTENT_BYTES)
        return assay_typed_numbers(d, view, &parts, r, budget, err);
    d->at = parts.content_at;
    d->end = parts.content_end;
    return ASSAY_OK;
}

static int dims(const uint8_t *note, size_t size)
{
    (void)size;
    return note ? 0 : -1;
}

/* ---- watching ---- */

typedef struct visitor {
    assay_place_visit *visit;
    void *context;
} visitor;

/* Every log, and every directory in which there may be a new one. */
static int places(assay_store *store, assay_place_visit *visit, void *context)
{
    metrics_place place;
    char before[ASSAY_PATH_ROOM] = "";
    int status = visit(context, ".");
    if (status != ASSAY_OK)
        return status;
    if (metrics_place_read(store, -1, &place, NULL) == ASSAY_OK)
        for (size_t i = 0; i < place.count && status == ASSAY_OK; i++) {
            char directory[ASSAY_PATH_ROOM];
            snprintf(directory, sizeof directory, "%.*s", (int)metrics_directory(place.files[i].path),
                     place.files[i].path);
            if (*directory && strcmp(directory, before) != 0)
                status = visit(context, directory);
            memcpy(before, directory, sizeof before);
            ASSAY_THEN(status, visit(context, place.files[i].path));
            if (place.files[i].kind != METRICS_MLFLOW)
                continue;
            snprintf(directory, sizeof directory, "%.4000s-wal", place.files[i].path); /* a database grows there */
            ASSAY_THEN(status, visit(context, directory));
        }
    metrics_place_release(&place);
    return status;
}

static int unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                       assay_place_visit *visit, void *context)
{
    char path[ASSAY_PATH_ROOM];
    (void)store;
    index_path(catalog, unit, path, sizeof path);
    return visit(context, path);
}

const assay_trial_format assay_format_metrics = {
    .name = "metrics",
    .what = "a log of metrics (TensorBoard, W&B, MLflow, CSV, trainer_state.json, lines of names and numbers that a "
            "training prints)",
    .probe = probe,
    .runs = metrics_locate,
    .doubts = metrics_doubts,
    .stands = metrics_stands,

    .list = list,
    .conclude = conclude,
    .remark = remark,
    .place_of = place_of,
    .index_path = index_path,
    .file_path = file_path,
    .index = index_units,
    .indexed = forget_values,
    .decode = decode,
    .lone = {ASSAY_LONE_LOG, is_named, NULL, is_sure},
    .default_collections = true,
    .by_mode = true,
    .grows_at_end = true,
    .deep = true,
    .in_notes = true,
    .places = places,
    .unit_places = unit_places,
    .dims = dims,
    .number = number,
    .record_least = 1,
};
