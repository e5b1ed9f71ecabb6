/* mapper.c - walks this rank's chunks: for each step the index files of all workers, for each of them the wanted
 * records in the order they lie in the event file. */
#include "engine/map/mapper.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "engine/map/lookahead.h"
#include "engine/map/step_sharing.h"
#include "engine/reduce/chunk_result.h"

/* What will be made for the largest of the sources when it is entered. */
static size_t look_ups(const assay_plan *plan, const assay_sources *sources)
{
    size_t most = 0;
    for (uint32_t s = 0; s < plan->source_count; s++) {
        size_t tensors = sources->list[s].info ? assay_dict_count(sources->list[s].info->tensors) : 0;
        size_t bytes = tensors * sizeof(uint32_t);
        if (plan->sources[s].looks_back)
            bytes += 8 * sources->list[s].shard.entry_count + 4 * tensors;
        most = bytes > most ? bytes : most;
    }
    return most;
}

int assay_mapper_init(assay_mapper *m, const assay_plan *plan, assay_sources *sources, const assay_rule *rules,
                      assay_progress *progress, size_t memory, const assay_budget *budget)
{
    *m = (assay_mapper){.plan = plan,
                        .sources = sources,
                        .rules = rules,
                        .progress = progress,
                        .source = ASSAY_NO_ID,
                        .value_budget = memory / 4};
    m->main = &m->files[0];
    m->arena = assay_arena_new(budget->step);
    enum { AHEAD = 8 }; /* the part of what may be kept that goes to measuring ahead, for each of two */
    size_t keep = assay_budget_keep(budget, memory, look_ups(plan, sources));
    m->kept = assay_reference_cache_new(keep - 2 * (keep / AHEAD));
    m->ahead = assay_lookahead_new(keep / AHEAD);
    return m->arena && m->kept && m->ahead ? ASSAY_OK : ASSAY_ENOMEM;
}

/* No file that is open may be taken for that of a part which comes to lie where one of these lay. */
static void forget_further(assay_mapper *m)
{
    for (int i = 0; m->further && i < ASSAY_REFERENCES; i++)
        m->reference[i].part = NULL;
    assay_lookback_index_free(m->further);
    m->further = NULL;
}

static void leave_source(assay_mapper *m)
{
    assay_demand_release(&m->wants);
    free(m->item_of);
    assay_history_free(m->history);
    forget_further(m);
    if (m->kept)
        assay_reference_cache_clear(m->kept);
    if (m->ahead)
        assay_lookahead_leave(m->ahead);
    m->item_of = NULL;
    m->history = NULL;
}

static void close_handle(assay_open_file *handle)
{
    if (handle->file)
        assay_reader_close(handle->file);
}

void assay_mapper_release(assay_mapper *m)
{
    leave_source(m);
    for (int i = 0; i < ASSAY_STRIP; i++)
        close_handle(&m->files[i]);
    for (int i = 0; i < ASSAY_REFERENCES; i++)
        close_handle(&m->reference[i]);
    assay_arena_free(m->arena);
    assay_reference_cache_free(m->kept);
    assay_lookahead_free(m->ahead);
    free(m->takings);
}

int assay_mapper_enter(assay_mapper *m, uint32_t source)
{
    if (m->source == source)
        return ASSAY_OK;
    leave_source(m);
    m->source = source;
    m->asked = 0;
    const assay_source_plan *plan = &m->plan->sources[source];
    uint32_t tensors = assay_dict_count(m->sources->list[source].info->tensors);
    m->item_of = assay_alloc_zeroed(tensors, sizeof *m->item_of);
    if (assay_demand_init(&m->wants, m->plan, source) != ASSAY_OK || !m->item_of ||
        assay_lookahead_enter(m) != ASSAY_OK)
        return ASSAY_ENOMEM;
    if (!plan->looks_back)
        return ASSAY_OK;
    return assay_history_new(&m->sources->list[source].shard, plan->looks_back, tensors, &m->history);
}

/* Decoded values may take a quarter of the memory, so of all files only the main one holds any. */
void assay_mapper_turn_to(assay_mapper *m, assay_open_file *handle)
{
    if (m->main != handle && m->main->file)
        assay_reader_let_go(m->main->file);
    m->main = handle;
}

assay_open_file *assay_mapper_file_of(assay_mapper *m, const assay_part *part)
{
    for (int i = 0; i < ASSAY_STRIP; i++)
        if (m->files[i].part == part)
            return &m->files[i];
    return NULL;
}

assay_tensor_result *assay_mapper_new_item(assay_mapper *m, uint32_t tensor, uint32_t worker)
{
    bool room = m->items && m->item_count < m->item_room;
    assay_tensor_result *item = room ? assay_arena_take_zeroed(m->arena, 1, sizeof *item) : NULL;
    if (!item)
        return NULL;
    item->view.tensor = tensor;
    item->view.worker = worker;
    item->view.name = assay_dict_name(m->sources->list[m->source].info->tensors, tensor, NULL);
    item->view.dtype = -1;
    m->items[m->item_count++] = item;
    return item;
}

/* The item of a tensor of the part under way. NULL when the step's memory is used up: that is named once. */
static assay_tensor_result *item_for(assay_mapper *m, const assay_part *part, uint32_t tensor)
{
    size_t at = m->item_of[tensor]; /* of an earlier part, or of nothing, it may be anything */
    if (at >= m->first_item && at < m->item_count && m->items[at]->view.tensor == tensor)
        return m->items[at];
    m->item_of[tensor] = (uint32_t)m->item_count;
    return assay_mapper_new_item(m, tensor, part->worker);
}

/* The first entry of a part that this rank reads, and the one behind the last. */
static size_t first_of(const assay_mapper *m, const assay_part *part)
{
    size_t p = (size_t)(part - m->sources->list[m->source].shard.parts);
    if (!m->stretch || part->step != m->step->step || p > m->stretch->first_part)
        return part->first;
    return p == m->stretch->first_part ? m->stretch->first : part->first + part->count;
}

static size_t end_of(const assay_mapper *m, const assay_part *part)
{
    size_t p = (size_t)(part - m->sources->list[m->source].shard.parts);
    if (!m->stretch || part->step != m->step->step || p < m->stretch->end_part)
        return part->first + part->count;
    return p == m->stretch->end_part ? m->stretch->end : part->first;
}

/* A record that a rule needed and that could not be read: counted once for each rule. */
static void count_unreadable(assay_mapper *m, const assay_part *part, const assay_entry *entry)
{
    const assay_source_plan *plan = &m->plan->sources[m->source];
    const assay_use_class *class = &plan->classes[plan->tensor_class[entry->tensor]];
    uint32_t last = ASSAY_NO_ID;
    for (uint32_t u = 0; u < class->uses; u++) {
        uint32_t instance = m->plan->uses[class->use[u]].instance;
        if (instance != last &&
            assay_scope_wants(&plan->scope[class->use[u]], part->step, m->step->mode, part->worker, entry->kind)) {
            m->node->rule[instance].unreadable++;
            last = instance;
        }
    }
}

static bool is_wanted(assay_mapper *m, const assay_part *part, int mode, const assay_entry *entry)
{
    return assay_demand_of(&m->wants, part, mode, entry->tensor)->kinds >> entry->kind & 1;
}

/* The end of the stretch from entry e on in which what is wanted of the part lies close together. */
static uint64_t end_of_run(assay_mapper *m, const assay_part *part, int mode, const assay_shard *shard, size_t e)
{
    enum { GAP = 1 << 16 };
    uint64_t end = shard->entries[e].offset + shard->entries[e].length;
    for (size_t k = e + 1; k < end_of(m, part); k++) {
        const assay_entry *next = &shard->entries[k];
        if (next->offset > end + GAP)
            break;
        if (assay_lookahead_has(m, next))
            break;
        if (is_wanted(m, part, mode, next))
            end = next->offset + next->length > end ? next->offset + next->length : end;
    }
    return end;
}

/* Tells the event file which stretch around entry e is wanted, so that neighbours come with one read. */
static void expect_run(assay_mapper *m, const assay_part *part, const assay_shard *shard, size_t e, uint64_t *expected)
{
    const assay_entry *entry = &shard->entries[e];
    if (entry->offset + entry->length <= *expected)
        return;
    *expected = end_of_run(m, part, m->step->mode, shard, e);
    assay_reader_expect(m->main->file, entry->offset, *expected);
}

/* Asks for the first stretch of a part's event file that will be read. */
static void ask_for(assay_mapper *m, const assay_part *part, const assay_shard *shard)
{
    enum { MOST = 2 << 20 }; /* of one file; then the kernel has seen that it is read from one end to the other */
    const assay_source *source = &m->sources->list[m->source];
    size_t e = first_of(m, part), end = end_of(m, part);
    char name[ASSAY_PATH_ROOM];
    const char *path = assay_part_path(source, part, name);
    assay_demand_next(&m->wants);
    while (e < end && !is_wanted(m, part, part->mode, &shard->entries[e]))
        e++;
    if (e >= end || !path)
        return;
    uint64_t from = shard->entries[e].offset, size = end_of_run(m, part, part->mode, shard, e) - from;
    assay_store_ahead(source->store, path, from, size < MOST ? size : MOST);
}

/* While reads have to wait: asks for the event files behind part p, as many as hold some mebibytes if they are like its
 * own. Without that, small files would be waited for one by one. */
static void ask_ahead(assay_mapper *m, const assay_shard *shard, size_t p)
{
    enum { BYTES = 8 << 20 };
    const assay_part *part = &shard->parts[p];
    if (part->count == 0 || !assay_store_waits(m->sources->list[m->source].store))
        return;
    const assay_entry *last = &shard->entries[part->first + part->count - 1];
    uint64_t files = BYTES / (last->offset + last->length - shard->entries[part->first].offset);
    files = files < 1 ? 1 : files < ASSAY_STORE_AHEAD ? files : ASSAY_STORE_AHEAD;
    if (m->asked <= p)
        m->asked = p + 1;
    for (; m->asked < shard->count && m->asked <= p + files; m->asked++)
        ask_for(m, &shard->parts[m->asked], shard);
}

/* Reads a record into its item, unless that was done before the step's turn. */
static int take_entry(assay_mapper *m, const assay_part *part, const assay_entry *entry,
                      const assay_record_demand *wanted, bool *taken)
{
    assay_tensor_result *item = item_for(m, part, entry->tensor);
    if (!item) {
        assay_note_problem(m, part, ASSAY_PROBLEM_BUDGET, (int64_t)entry->offset,
                           "the tensors of the step need more memory than the budget allows: raise --memory");
        return ASSAY_OK;
    }
    if (item->kinds == 0)
        item->view.order = (uint32_t)(entry - &m->sources->list[m->source].shard.entries[part->first]);
    int status = assay_lookahead_take(m, entry, item, taken);
    if (status != ASSAY_OK || *taken)
        return status;
    status = assay_record_measure(m, part, entry, wanted, item, taken);
    return status == ASSAY_OK && *taken ? assay_lookahead_measure(m, part, entry, wanted, item) : status;
}

static int read_part(assay_mapper *m, const assay_part *part, const assay_shard *shard)
{
    uint64_t expected = 0;
    int opened = 1, status = ASSAY_OK; /* opened 1: not tried */
    size_t first = first_of(m, part), end = end_of(m, part);
    m->first_item = m->item_count;
    if (first < end)
        ask_ahead(m, shard, (size_t)(part - shard->parts));
    assay_demand_next(&m->wants);
    for (size_t e = first; status == ASSAY_OK && e < end; e++) {
        const assay_entry *entry = &shard->entries[e];
        const assay_record_demand *wanted = assay_demand_of(&m->wants, part, m->step->mode, entry->tensor);
        if (!(wanted->kinds >> entry->kind & 1))
            continue;
        if (opened == 1) {
            assay_error err = {""};
            assay_open_file *open = assay_mapper_file_of(m, part);
            assay_mapper_turn_to(m, open ? open : m->main);
            opened = assay_file_pool_open(m, m->main, &m->sources->list[m->source], part, &err);
            if (opened == ASSAY_ENOMEM)
                return opened;
            m->alone |= opened != ASSAY_OK && first > part->first; /* the rank that has the beginning names it, too */
            if (opened != ASSAY_OK)
                assay_note_problem(m, part,
                                   opened == ASSAY_ENOTFOUND ? ASSAY_PROBLEM_EVENT_MISSING : ASSAY_PROBLEM_READ, -1,
                                   err.text);
        }
        bool taken = false;
        if (opened == ASSAY_OK) {
            if (!assay_lookahead_has(m, entry))
                expect_run(m, part, shard, e, &expected);
            status = take_entry(m, part, entry, wanted, &taken);
        }
        if (!taken)
            count_unreadable(m, part, entry);
    }
    return status;
}

/* Room for all items that the step can have. */
static void list_items(assay_mapper *m, const assay_shard *shard, size_t first)
{
    size_t most = 0;
    for (size_t p = first; p < shard->count && shard->parts[p].step == m->step->step; p++)
        most += shard->parts[p].count;
    m->items = assay_arena_take(m->arena, most * sizeof(assay_tensor_result *));
    m->item_room = most;
    m->item_count = 0;
}

int assay_mapper_read_step(assay_mapper *m)
{
    const assay_shard *shard = &m->sources->list[m->source].shard;
    int status = ASSAY_OK;
    assay_arena_clear(m->arena);
    size_t p = assay_shard_find(shard, m->step->step);
    list_items(m, shard, p);
    for (; status == ASSAY_OK && p < shard->count && shard->parts[p].step == m->step->step; p++)
        status = read_part(m, &shard->parts[p], shard);
    return status;
}

static int map_chunk(assay_mapper *m, uint64_t number, assay_error *err)
{
    const assay_chunk *chunk = &m->plan->chunks[number];
    uint64_t end = chunk->first_step + chunk->steps;
    int status = ASSAY_OK;
    for (uint64_t s = chunk->first_step; status == ASSAY_OK && s < end; s++) {
        m->step = &m->sources->list[chunk->source].info->steps[s];
        bool shared = m->lender && m->lender->share.chunk == number && s + 1 == end;
        status = shared ? assay_step_sharing_gather(m, err) : assay_lookahead_read_step(m);
        if (status == ASSAY_OK)
            status = assay_step_map(m);
        if (status == ASSAY_OK)
            status = m->node->problems.status;
    }
    return status;
}

int assay_mapper_no_memory(const assay_mapper *m, assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM,
                      "out of memory while reading step %lld: use fewer ranks a node or a smaller --memory",
                      m->step ? (long long)m->step->step : -1LL);
}

int assay_mapper_run(assay_mapper *m, uint64_t first_chunk, uint64_t end_chunk, assay_combiner *folds, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint64_t c = first_chunk; status == ASSAY_OK && c < end_chunk; c++) {
        const assay_chunk *chunk = &m->plan->chunks[c];
        assay_partial node;
        status = assay_mapper_enter(m, chunk->source);
        int made = assay_partial_init(&node, m->plan->instances);
        m->node = &node;
        status = status == ASSAY_OK ? made : status;
        if (status == ASSAY_OK)
            status = map_chunk(m, c, err);
        if (status == ASSAY_OK && m->mapped)
            status = assay_chunk_result_put(c, &node, m->rules + (size_t)chunk->source * m->plan->instances, m->mapped);
        if (status == ASSAY_OK)
            status = assay_combiner_add(&folds[chunk->source], c - m->plan->sources[chunk->source].first_chunk, &node);
        assay_partial_release(&node, m->rules + (size_t)chunk->source * m->plan->instances);
    }
    if (status == ASSAY_ENOMEM)
        assay_mapper_no_memory(m, err);
    if (err && m->observed.text[0])
        *err = m->observed;
    return status;
}
