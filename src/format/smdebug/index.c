/* index.c - index files into shards: ranges checked, names numbered, doubles taken out. */
#include "format/smdebug/smdebug.h"

#include <assay/rule.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/path.h"
#include "mesh/topology.h"
#include "tfrecord/frame.h"
#include "tfrecord/recorded.h"
#include "format/smdebug/index_json.h"
#include "format/smdebug/reductions.h"
#include "trial/shard.h"

enum { PATH_ROOM = 768, FILE_MOST = 1 << 30, SHAPE_KIND = ASSAY_KINDS - 1 };

/* Memory that is kept from file to file. */
typedef struct parser {
    assay_index_doc doc;
    assay_index_marks marks;
    char *text; /* of the file, when it need not stay as it is; NULL: it must */
} parser;

/* What is being parsed. */
typedef struct job {
    parser *p;
    const char *path;
    int64_t step;
    assay_dict *dict;
    assay_shard *shard;
    assay_problems *problems;
} job;

static void parser_release(parser *p)
{
    assay_index_json_release(&p->doc);
    assay_index_marks_release(&p->marks);
}

/* Bounds how long a name gets in a message. */
static int shown(size_t length)
{
    return length < 200 ? (int)length : 200;
}

static void bad_item(const job *j, const assay_index_item *item, const char *what)
{
    assay_problems_add(j->problems, ASSAY_PROBLEM_INDEX, j->step, j->path, item->at,
                       "%s: offset %lld: \"%.*s\": %s; it is left out", j->path, (long long)item->at,
                       shown(item->length), item->name, what);
}

/* Numbers the item's own tensor. 1: the file has it already. */
static int number_item(const job *j, const assay_index_item *item, bool is_shape, uint32_t *tensor, int *kind)
{
    const char *base = NULL;
    size_t length = 0;
    *kind = assay_reduction_split(item->name, item->length, &base, &length);
    *tensor = assay_dict_add(j->dict, base, length);
    return *tensor == ASSAY_NO_ID ? ASSAY_ENOMEM
                                  : assay_index_marks_set(&j->p->marks, *tensor, is_shape ? SHAPE_KIND : *kind);
}

static const char *wrong_range(const assay_index_item *item)
{
    if (item->length == 0)
        return "a tensor without a name";
    if (item->start < 0)
        return "start_idx is negative";
    if (item->size < ASSAY_FRAME_BYTES)
        return "length is less than the 16 bytes of an empty record";
    if ((uint64_t)item->size > ASSAY_FRAME_MOST)
        return "length is more than 2 GiB, and no record is so large";
    if (item->start > INT64_MAX - item->size)
        return "start_idx and length together are beyond 64 bits";
    return NULL;
}

/* Gives back what the items before the i-th lie in, the first `done` of which were given back already. A large file's
 * text and items take more than what is made of them. Returns how many are given back now. */
static size_t forget_items(const job *j, size_t done, size_t i)
{
    enum { AT_ONCE = 1 << 15 };
    const assay_index_items *items = &j->p->doc.tensors;
    if (!j->p->text || i - done < AT_ONCE)
        return done;
    const uint32_t from = items->item[done].at, to = items->item[i].at;
    if (to > from) /* one list has them in order, and nothing else between them */
        assay_heap_forget(j->p->text + from, to - from);
    assay_heap_forget(&items->item[done], (i - done) * sizeof *items->item);
    return i;
}

/* A second pass over a step saves its tensors once more. Which ones are known already was said by their marks. */
static void saved_again(const job *j, const assay_index_item *item)
{
    assay_problems_add(j->problems, ASSAY_PROBLEM_AGAIN, j->step, j->path, item->at,
                       "%s: offset %lld: \"%.*s\" is listed twice: saved again at this step; the last one counts",
                       j->path, (long long)item->at, shown(item->length), item->name);
}

/* Of entries of one tensor and kind the last one stays. 0 or ASSAY_ENOMEM. */
static int keep_last(const job *j, assay_entry *entries, uint32_t *count)
{
    uint32_t kept = *count;
    assay_index_marks_next(&j->p->marks);
    for (uint32_t i = *count; i-- > 0;) {
        int status = assay_index_marks_set(&j->p->marks, entries[i].tensor, entries[i].kind);
        if (status < 0)
            return status;
        if (status == 0)
            entries[--kept] = entries[i];
    }
    *count -= kept;
    memmove(entries, entries + kept, *count * sizeof *entries);
    return ASSAY_OK;
}

static int add_entries(const job *j, assay_part *part)
{
    const assay_index_items *items = &j->p->doc.tensors;
    if (items->count == 0)
        return ASSAY_OK;
    assay_entry *to = j->shard->entries + part->first;
    bool sorted = true, again = false;
    for (size_t i = 0, done = 0; i < items->count; i++) {
        const assay_index_item *item = &items->item[i];
        done = forget_items(j, done, i);
        const char *wrong = wrong_range(item);
        uint32_t tensor = 0;
        int kind = 0, status = wrong ? 0 : number_item(j, item, false, &tensor, &kind);
        if (status < 0)
            return status;
        if (wrong) {
            bad_item(j, item, wrong);
            continue;
        }
        if (status == 1) {
            saved_again(j, item);
            again = true;
        }
        to[part->count] = (assay_entry){
            .offset = (uint64_t)item->start, .length = (uint64_t)item->size, .tensor = tensor, .kind = kind & 0xff};
        sorted = sorted && (part->count == 0 || to[part->count - 1].offset < to[part->count].offset);
        part->count++;
    }
    if (again && keep_last(j, to, &part->count) != ASSAY_OK)
        return ASSAY_ENOMEM;
    if (!sorted)
        qsort(to, part->count, sizeof *to, assay_entry_compare);
    return ASSAY_OK;
}

static int add_shapes(const job *j, assay_part *part)
{
    const assay_index_doc *doc = &j->p->doc;
    if (doc->shapes.count == 0)
        return ASSAY_OK;
    int64_t *block = assay_alloc_zeroed(doc->dim_count, sizeof *block);
    int status = block ? ASSAY_OK : ASSAY_ENOMEM;
    if (block && doc->dim_count)
        memcpy(block, doc->dims, doc->dim_count * sizeof *block);
    for (size_t i = 0; i < doc->shapes.count && status >= 0; i++) {
        const assay_index_item *item = &doc->shapes.item[i];
        uint32_t tensor = 0;
        int kind = 0;
        status = item->length ? number_item(j, item, true, &tensor, &kind) : 0;
        if (item->length == 0 || status == 1)
            bad_item(j, item, status == 1 ? "its shape is listed twice" : "a shape without a name");
        else if (status == 0)
            j->shard->shapes[part->first_shape + part->shapes++] =
                (assay_shape_entry){tensor, item->dims, block + item->first_dim};
    }
    if (status < 0 || part->shapes == 0) {
        free(block);
        part->shapes = 0;
        return status < 0 ? status : ASSAY_OK;
    }
    /* The first shape owns the block, so it has to start where the block does. */
    assay_shape_entry *first = &j->shard->shapes[part->first_shape];
    if (first->dim != block) {
        memmove(block, first->dim, first->dims * sizeof *block);
        first->dim = block;
    }
    return ASSAY_OK;
}

/* Does the name of the event file say that it is of another worker or step than the index file? Then the index file lies
 * in the place of another one. */
static bool is_of_another(const assay_index_doc *doc, const assay_catalog *catalog, const assay_part *part)
{
    const char *worker = NULL, *own = catalog->worker_key[part->worker];
    size_t length = 0;
    int64_t step = 0;
    return assay_recorded_event_name(doc->event, doc->event_length, &step, &worker, &length) &&
           (step != part->step || length != strlen(own) || memcmp(worker, own, length) != 0);
}

/* Keeps the event file's name unless it is the usual one. 1: the name is refused. */
static int set_event(const job *j, const assay_catalog *catalog, assay_part *part)
{
    const assay_index_doc *doc = &j->p->doc;
    char usual[PATH_ROOM];
    if (!doc->event)
        return ASSAY_OK;
    if (!assay_path_is_inside(doc->event, doc->event_length)) {
        assay_problems_add(j->problems, ASSAY_PROBLEM_INDEX, j->step, j->path, -1,
                           "%s: event_file_name \"%.*s\" is not a path inside the trial; the file is not used", j->path,
                           shown(doc->event_length), doc->event);
        return 1;
    }
    int length = assay_smdebug_event_path(catalog, part->step, part->worker, usual, sizeof usual);
    if (length > 0 && (size_t)length == doc->event_length && memcmp(usual, doc->event, doc->event_length) == 0)
        return ASSAY_OK;
    if (is_of_another(doc, catalog, part)) {
        assay_problems_add(j->problems, ASSAY_PROBLEM_INDEX, j->step, j->path, -1,
                           "%s: event_file_name \"%.*s\" is that of another worker or step: the file lies in the place "
                           "of another one, and is not used",
                           j->path, shown(doc->event_length), doc->event);
        return 1;
    }
    part->files = assay_files_new_one(doc->event, doc->event_length);
    return part->files ? ASSAY_OK : ASSAY_ENOMEM;
}

/* A trial's first index file has most of its names. */
static int expect_names(parser *p, assay_dict *dict)
{
    const assay_index_items *items = &p->doc.tensors;
    size_t bytes = 0;
    for (size_t i = 0; i < items->count; i++)
        bytes += items->item[i].length;
    if (assay_index_marks_reserve(&p->marks, items->count) != ASSAY_OK)
        return ASSAY_ENOMEM;
    return assay_dict_reserve(dict, items->count, bytes);
}

static int parse(parser *p, const assay_catalog *catalog, const assay_unit *name, const char *path,
                 const assay_buf *text, const assay_index_sink *into)
{
    assay_dict *dict = into->tensors;
    assay_shard *s = into->shard;
    const job j = {p, path, name->step, dict, s, into->problems};
    assay_part part = {.step = name->step, .worker = name->worker, .format = name->format};
    int status = assay_index_json_read(&p->doc, path, name->step, text->data, text->size, into->problems);
    if (status != ASSAY_OK)
        return status < 0 ? status : ASSAY_OK;
    status = set_event(&j, catalog, &part);
    if (status < 0 || (status > 0 && p->doc.event_length > 0))
        return status < 0 ? status : ASSAY_OK;
    if (status > 0) /* no name at all: its tensors are nowhere; which step of which mode it is of is still known */
        p->doc.tensors.count = p->doc.shapes.count = 0;
    part.mode_step = p->doc.mode_step;
    part.mode = (uint8_t)p->doc.mode;
    part.first = (uint32_t)s->entry_count;
    part.first_shape = (uint32_t)s->shape_count;
    assay_index_marks_next(&p->marks);
    status = assay_dict_count(dict) == 0 ? expect_names(p, dict) : ASSAY_OK;
    ASSAY_THEN(status, assay_shard_reserve(s, 1, p->doc.tensors.count, p->doc.shapes.count));
    ASSAY_THEN(status, add_entries(&j, &part));
    ASSAY_THEN(status, add_shapes(&j, &part));
    if (status != ASSAY_OK) {
        assay_files_release(part.files);
        return status;
    }
    s->entry_count += part.count;
    s->shape_count += part.shapes;
    s->parts[s->count++] = part;
    return ASSAY_OK;
}

int assay_smdebug_index_parse(const assay_catalog *catalog, const assay_unit *name, const void *text, size_t size,
                              const assay_index_sink *into)
{
    parser p = {0};
    const assay_buf bytes = {.data = (uint8_t *)(uintptr_t)text, .size = size};
    char path[PATH_ROOM];
    assay_smdebug_index_path(catalog, name, path, sizeof path);
    int status = parse(&p, catalog, name, path, &bytes, into);
    parser_release(&p);
    return status;
}

/* Asks for the index files behind the i-th that were not asked for yet. */
static void ask_ahead(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count, size_t i,
                      size_t *asked)
{
    enum { MOST = 1 << 20 }; /* of one file; a longer one is read ahead when it is its turn */
    size_t files;
    uint64_t bytes;
    assay_store_depth(store, &files, &bytes);
    size_t to = count - i > files ? i + 1 + files : count;
    for (size_t k = *asked > i ? *asked : i + 1; k < to && assay_store_waits(store); k++) {
        char path[PATH_ROOM];
        assay_smdebug_index_path(catalog, &units[k], path, sizeof path);
        assay_store_ahead(store, path, 0, MOST);
        *asked = k + 1;
    }
}

/* Names the file that says which pieces a worker has, where the index says that there are some, and the file is not
 * there. */
static void name_absent(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                        assay_problems *problems)
{
    char path[PATH_ROOM];
    if ((!catalog->topology || catalog->topology->derived) &&
        snprintf(path, sizeof path, "topology/%s.json", catalog->worker_key[unit->worker]) < (int)sizeof path &&
        assay_store_exists(store, path, NULL) == 0)
        assay_problems_add(problems, ASSAY_PROBLEM_UNSEEN, -1, path, -1,
                           "%s: does not exist, and the index says that this worker has pieces of tensors: which they "
                           "are is not known",
                           path);
}

int assay_smdebug_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                        const assay_index_sink *into)
{
    parser p = {0};
    assay_buf text = ASSAY_BUF(FILE_MOST);
    int status = ASSAY_OK;
    size_t asked = 0;
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        char path[PATH_ROOM];
        assay_error why = {{0}};
        assay_smdebug_index_path(catalog, &units[i], path, sizeof path);
        ask_ahead(store, catalog, units, count, i, &asked);
        status = assay_store_read(store, path, FILE_MOST, &text, &why);
        if (status == ASSAY_OK) {
            p.text = (char *)text.data;
            status = parse(&p, catalog, &units[i], path, &text, into);
            if (status == ASSAY_OK && p.doc.pieces)
                name_absent(store, catalog, &units[i], into->problems);
        } else if (status != ASSAY_ENOMEM) {
            status = ASSAY_OK;
            assay_problems_add(into->problems, ASSAY_PROBLEM_READ, units[i].step, path, -1,
                               "%s; this worker's step is not evaluated", why.text);
        }
    }
    assay_buf_release(&text);
    parser_release(&p);
    return status;
}
