/* What holds of every format of events, on the trial of its name below tests/data/events: the list of files survives
 * its way between ranks, every file says something, and every cut of one is read as less or named, never a crash. */
#include "trial/event_format.h"

#include "base/file.h"
#include "source/trial_files.h"
#include "trial/flight_row.h"
#include "unit.h"
#include "workspace.h"

typedef struct tally {
    uint64_t samples, spans, others, rows, problems;
} tally;

static int count_sample(void *context, const assay_event_sample *sample)
{
    CU_ASSERT(sample->node.bytes && sample->metric.bytes && sample->line > 0);
    ((tally *)context)->samples++;
    return 0;
}

static int count_span(void *context, const assay_event_span *span)
{
    CU_ASSERT(span->name.bytes && span->phase.bytes && span->duration >= 0 && span->line > 0);
    ((tally *)context)->spans++;
    return 0;
}

static int count_trace_event(void *context, const assay_trace_event *event)
{
    CU_ASSERT(event->rank_count == 0 || event->ranks != NULL);
    ((tally *)context)->spans++;
    return 0;
}

static void count_other(void *context)
{
    ((tally *)context)->others++;
}

static int count_row(void *context, assay_flight_row *row)
{
    CU_ASSERT(row->version && row->version[0]);
    ((tally *)context)->rows++;
    return 0;
}

static int count_problem(void *context, assay_event_problem problem, uint64_t line, const char *text)
{
    (void)line;
    CU_ASSERT(assay_event_problem_word((int)problem)[0] != '\0' && text[0] != '\0');
    ((tally *)context)->problems++;
    return 0;
}

static tally read_file(assay_store *store, const assay_event_file *file)
{
    tally t = {0};
    uint64_t bytes = 0;
    const assay_event_sink sink = {.context = &t,
                                   .sample = count_sample,
                                   .span = count_span,
                                   .other = count_other,
                                   .row = count_row,
                                   .problem = count_problem,
                                   .trace_event = count_trace_event};
    CU_ASSERT_EQUAL(assay_events_read(store, file, &sink, &bytes, NULL), 0);
    CU_ASSERT(file->unfinished || bytes >= file->size);
    return t;
}

/* Every cut of a file has no more in it than the whole; one within its last line is a problem. */
static void cut_law(assay_store *store, const assay_event_file *file, const tally *whole)
{
    workspace w;
    assay_store *cut_store = NULL;
    uint8_t *bytes = malloc(file->size + 1);
    assay_store_file *from = NULL;
    size_t got = 0;
    workspace_make(&w);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(w.root, &cut_store, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(assay_store_open_file(store, file->path, &from, NULL), 0);
    CU_ASSERT_EQUAL(assay_store_read_at(from, 0, bytes, file->size, &got, NULL), 0);
    assay_store_close_file(from);
    uint64_t before = 0;
    for (uint64_t size = 0; size < file->size; size += size < 64 || UNIT_SANITIZED == 0 ? 1 : 7) {
        assay_event_file cut = *file;
        char name[] = "cut_0"; /* a rank */
        workspace_write(&w, name, bytes, size);
        cut.path = name;
        cut.size = size;
        const tally t = read_file(cut_store, &cut);
        const uint64_t events = t.samples + t.spans + t.others + t.rows;
        CU_ASSERT(events <= whole->samples + whole->spans + whole->others + whole->rows && events >= before);
        CU_ASSERT(size > 0 || t.problems == 1);
        CU_ASSERT(t.problems <= 1);
        before = events;
    }
    free(bytes);
    assay_store_close(cut_store);
    workspace_remove(&w);
}

static void every_format_keeps_the_laws(void)
{
    for (unsigned i = 0; i < assay_event_format_count(); i++) {
        char path[512];
        assay_trial_files trial;
        tally all = {0};
        snprintf(path, sizeof path, ASSAY_TEST_DATA "/events/%s", assay_event_format_of(i)->name);
        CU_ASSERT_EQUAL_FATAL(assay_trial_open(path, &trial, NULL), 0);
        CU_ASSERT(trial.catalog.events.found && trial.catalog.events.count > 2 && trial.catalog.unit_count == 0);
        for (size_t k = 0; k < trial.catalog.events.count; k++) {
            const assay_event_file *file = &trial.catalog.events.list[k];
            const tally t = read_file(trial.store, file);
            CU_ASSERT(file->unfinished ? t.problems == 1 : t.problems == 0 && t.samples + t.spans + t.rows > 0);
            all.samples += t.samples;
            all.spans += t.spans;
            all.rows += t.rows;
            if (!file->unfinished)
                cut_law(trial.store, file, &t);
        }
        CU_ASSERT(all.samples + all.spans + all.rows > 3);
        assay_trial_release(&trial);
    }
}

static void lists_survive_packing(void)
{
    assay_trial_files trial;
    assay_buf packed, again;
    CU_ASSERT_EQUAL_FATAL(assay_trial_open(ASSAY_TEST_DATA "/events/profiler", &trial, NULL), 0);
    const assay_event_files *files = &trial.catalog.events;
    assay_buf_init(&packed, SIZE_MAX);
    assay_buf_init(&again, SIZE_MAX);
    assay_event_files_pack(files, &packed);
    for (size_t size = 0; size <= packed.size; size++) {
        assay_event_files copy = {0};
        assay_cursor in = assay_cursor_over(packed.data, size);
        const int status = assay_event_files_unpack(&in, &copy);
        CU_ASSERT_EQUAL(status == 0, size == packed.size);
        if (status == 0)
            assay_event_files_pack(&copy, &again);
        assay_event_files_release(&copy);
    }
    CU_ASSERT(again.size == packed.size && memcmp(again.data, packed.data, packed.size) == 0);
    /* In the order in which they count, with what their names say. */
    CU_ASSERT(files->ended && files->list[0].kind == ASSAY_EVENTS_SYSTEM &&
              files->list[0].time == INT64_C(1700006400000000));
    CU_ASSERT_STRING_EQUAL(files->list[0].source, "algo-1");
    CU_ASSERT_STRING_EQUAL(files->list[1].source, "algo-2");
    CU_ASSERT_EQUAL(files->list[2].time, INT64_C(1700006460000000));
    for (size_t i = 1; i < files->count; i++)
        CU_ASSERT(files->list[i - 1].kind <= files->list[i].kind);
    CU_ASSERT(files->list[4].unfinished && files->list[4].kind == ASSAY_EVENTS_PYTHON);
    assay_buf_release(&packed);
    assay_buf_release(&again);
    assay_trial_release(&trial);
}

static void names_in_natural_order(void)
{
    static const char *const ascending[] = {"",         "2",        "10",      "algo",      "algo-1", "algo-2",
                                            "algo-2-7", "algo-010", "algo-10", "algo-10-0", "b1",     "b-1"};
    enum { COUNT = sizeof ascending / sizeof *ascending };
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++) {
            const int order = assay_natural_order(ascending[i], ascending[k]);
            CU_ASSERT_EQUAL((order > 0) - (order < 0), (i > k) - (i < k));
        }
}

int main(void)
{
    CU_TestInfo tests[] = {{"every format of events keeps the laws", every_format_keeps_the_laws},
                           {"lists of event files survive packing", lists_survive_packing},
                           {"names in natural order", names_in_natural_order},
                           CU_TEST_INFO_NULL};
    return unit_main("event laws", tests);
}
