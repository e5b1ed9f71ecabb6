/* The last lines of an output: what ranks said last of step and time is found, however far before the end it stands. */
#include "unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "format/joblog/joblog.h"
#include "workspace.h"

enum { ROOM = 600 << 10 };

static void put(char *text, size_t *size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(char *text, size_t *size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *size += (size_t)vsnprintf(text + *size, ROOM - *size, format, arguments);
    va_end(arguments);
}

static void read_text(const char *text, size_t size, assay_log_file *file)
{
    workspace w;
    assay_store *store = NULL;
    assay_job_log *log = NULL;
    assay_error err = {""};
    workspace_make(&w);
    workspace_write(&w, "a.log", text, size);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(w.root, &store, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_job_log_new(&log, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_job_log_read(log, store, "a.log", 0, &(assay_log_part){0, 1, 0}, 1000, file, &err),
                          ASSAY_OK);
    assay_job_log_free(log);
    assay_store_close(store);
    workspace_remove(&w);
}

static const assay_log_rank *row_of(const assay_log_file *file, int64_t rank)
{
    for (size_t i = 0; i < file->rank.count; i++)
        if (file->rank.list[i].rank == rank)
            return &file->rank.list[i];
    return NULL;
}

/* So many bytes of lines that say nothing. */
static void put_filler(char *text, size_t *size, const char *front, size_t bytes)
{
    const size_t stop = *size + bytes;
    for (int i = 0; *size < stop; i++)
        put(text, size, "%swords and words\n", i % 2 ? "" : front);
}

static void test_far(void)
{
    static const size_t far[] = {0, 1 << 10, 40 << 10, 200 << 10};
    char *text = malloc(ROOM);
    CU_ASSERT_FATAL(text != NULL);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        for (int timed = 0; timed < 2; timed++) {
            assay_log_file file;
            size_t size = 0, last = 0;
            put_filler(text, &size, "", 100 << 10);
            put(text, &size, "2026-11-27 03:12:07 begun\n");
            for (int step = 1; step <= 9; step++) {
                last = size;
                put(text, &size, "%sstep %d loss 2\n", timed ? "2026-11-27 03:12:09 " : "", step);
            }
            put_filler(text, &size, "", far[i]);
            read_text(text, size, &file);
            const assay_log_rank *row = row_of(&file, -1);
            CU_ASSERT_FATAL(row != NULL);
            CU_ASSERT_EQUAL(row->last_step, 9);
            CU_ASSERT_EQUAL(row->last_step_at, last);
            CU_ASSERT(row->step_at[0] == last && row->step_at[2] > 0 && row->step_at[2] < last);
            CU_ASSERT_EQUAL(row->timed, ASSAY_LOG_DATED);
            CU_ASSERT_EQUAL(row->step_timed, ASSAY_LOG_DATED);
            CU_ASSERT_EQUAL(fmod(row->step_time, 60), timed ? 9 : 7);
            assay_log_file_release(&file);
        }
    free(text);
}

/* Steps go on to the end, and the only time stands far before: it is still the last one. */
static void test_time(void)
{
    char *text = malloc(ROOM);
    assay_log_file file;
    size_t size = 0;
    CU_ASSERT_FATAL(text != NULL);
    put(text, &size, "2026-11-27 03:12:07 begun\n");
    for (int step = 1; size < 180 << 10; step++)
        put(text, &size, "step %d loss 2\n", step);
    read_text(text, size, &file);
    const assay_log_rank *row = row_of(&file, -1);
    CU_ASSERT_FATAL(row != NULL);
    CU_ASSERT(row->timed == ASSAY_LOG_DATED && row->step_timed == ASSAY_LOG_DATED);
    CU_ASSERT(fmod(row->last_time, 60) == 7 && fmod(row->step_time, 60) == 7);
    assay_log_file_release(&file);
    free(text);
}

/* One rank goes on, and another one named its steps long before. */
static void test_ranks(void)
{
    char *text = malloc(ROOM);
    assay_log_file file;
    size_t size = 0;
    CU_ASSERT_FATAL(text != NULL);
    for (int step = 1; step <= 40; step++)
        put(text, &size, "0: 03:12:%02d step %d\n1: 03:11:%02d step %d\n", step, step, step, step);
    for (int step = 41; size < 150 << 10; step++)
        put(text, &size, "0: 03:13:00 step %d\n", step);
    put_filler(text, &size, "1: ", 1 << 10);
    read_text(text, size, &file);
    const assay_log_rank *first = row_of(&file, 0), *second = row_of(&file, 1);
    CU_ASSERT_FATAL(first != NULL && second != NULL);
    CU_ASSERT(first->last_step > 1000 && fmod(first->last_time, 3600) == 13 * 60);
    CU_ASSERT(second->last_step == 40 && fmod(second->last_time, 3600) == 11 * 60 + 40);
    CU_ASSERT(second->step_at[2] > 0 && second->last_step_at < first->step_at[2]);
    CU_ASSERT(second->last_line >= file.lines - 1);
    assay_log_file_release(&file);
    free(text);
}

int main(void)
{
    CU_TestInfo tests[] = {{"far", test_far}, {"time", test_time}, {"ranks", test_ranks}, CU_TEST_INFO_NULL};
    return unit_main("joblog_end", tests);
}
