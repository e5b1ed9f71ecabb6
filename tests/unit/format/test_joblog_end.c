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
    CU_ASSERT_EQUAL_FATAL(
        assay_job_log_read(log, store, "a.log", &(assay_log_part){.pieces = 1, .events = 1000}, file, &err), ASSAY_OK);
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

/* Puts a text, with a digit of its own for each '?'. */
static void put_digits(char *text, size_t *size, unsigned *seed, const char *form)
{
    for (; *form; form++) {
        *seed = *seed * 1103515245 + 12345;
        put(text, size, "%c", *form == '?' ? (char)('0' + (*seed >> 16) % 10) : *form);
    }
}

/* A line of fronts and texts whose numbers differ: times that are none and words with numbers in them are among them. */
static void put_line(char *text, size_t *size, unsigned *seed, const char *control)
{
    static const char *const fronts[] = {"",
                                         "",
                                         "[rank?]: ",
                                         "?: ",
                                         "2026-11-27 03:12:0?,1?7 - trainer - INFO - ",
                                         "E1127 03:12:0?.12345? 47 a.cpp:6] ",
                                         "2?:12:0? ",
                                         "[2026-1?-27 03:12:0?] ",
                                         "n0?: ",
                                         "  ? "};
    static const char *const texts[] = {"step ?? loss ?.?",
                                        "iteration ?/ ??",
                                        "frame #?: x?",
                                        "words ?",
                                        "Training finished in ? s",
                                        "exitcode: ??",
                                        "exitcode  : -? (pid: ?)",
                                        "HTTP 40? Server Error",
                                        "Xid (PCI:0000:??:00): 7?",
                                        " 1?%|##  | ?/90 [00:0?<",
                                        "Signal ? received",
                                        "ValueError: ?"};
    *seed = *seed * 1103515245 + 12345;
    put_digits(text, size, seed, fronts[(*seed >> 16) % (sizeof fronts / sizeof *fronts)]);
    *seed = *seed * 1103515245 + 12345;
    put(text, size, "%s", control);
    put_digits(text, size, seed, texts[(*seed >> 16) % (sizeof texts / sizeof *texts)]);
    put(text, size, "\n");
}

/* Lines that differ in numbers only are read as lines that nothing is kept of: here those with a byte that is cleaned out. */
static void test_alike(void)
{
    char *text = malloc(ROOM);
    CU_ASSERT_FATAL(text != NULL);
    for (unsigned seed = 1; seed <= 40; seed++) {
        assay_log_file file[2];
        for (int k = 0; k < 2; k++) {
            size_t size = 0;
            unsigned numbers = seed;
            for (int i = 0; i < 300; i++)
                put_line(text, &size, &numbers, k ? "\x01" : "");
            read_text(text, size, &file[k]);
        }
        CU_ASSERT_EQUAL_FATAL(file[0].rank.count, file[1].rank.count);
        for (size_t i = 0; i < file[0].rank.count; i++) {
            const assay_log_rank *a = &file[0].rank.list[i], *b = &file[1].rank.list[i];
            CU_ASSERT(a->rank == b->rank && a->lines == b->lines && a->last_line == b->last_line);
            CU_ASSERT(a->last_step == b->last_step && a->finished == b->finished);
            CU_ASSERT(a->timed == b->timed && memcmp(&a->last_time, &b->last_time, sizeof a->last_time) == 0);
            CU_ASSERT(a->step_timed == b->step_timed && memcmp(&a->step_time, &b->step_time, sizeof a->step_time) == 0);
            CU_ASSERT((a->beat_at > 0) == (b->beat_at > 0));
        }
        assay_log_file_release(&file[0]);
        assay_log_file_release(&file[1]);
    }
    free(text);
}

/* What was read of one file is not taken for what another one says. */
static void test_files_in_a_row(void)
{
    static const char *const texts[] = {"2026-11-27 03:12:07 step 7 loss 2\nValueError: a\n",
                                        "step 8 loss 2\nValueError: a\n"};
    workspace w;
    assay_store *store = NULL;
    assay_job_log *log = NULL;
    assay_error err = {""};
    workspace_make(&w);
    workspace_text(&w, "0.log", texts[0]);
    workspace_text(&w, "1.log", texts[1]);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(w.root, &store, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_job_log_new(&log, &err), ASSAY_OK);
    for (int turn = 0; turn < 4; turn++) {
        assay_log_file file;
        CU_ASSERT_EQUAL_FATAL(assay_job_log_read(log, store, turn % 2 ? "1.log" : "0.log",
                                                 &(assay_log_part){.pieces = 1, .events = 1000}, &file, &err),
                              ASSAY_OK);
        CU_ASSERT_FATAL(file.event.count == 1 && file.rank.count == 1);
        CU_ASSERT_EQUAL(file.event.list[0].step, turn % 2 ? 8 : 7);
        CU_ASSERT_EQUAL(file.event.list[0].timed, turn % 2 ? ASSAY_LOG_UNTIMED : ASSAY_LOG_DATED);
        CU_ASSERT_EQUAL(file.rank.list[0].last_step, turn % 2 ? 8 : 7);
        assay_log_file_release(&file);
    }
    assay_job_log_free(log);
    assay_store_close(store);
    workspace_remove(&w);
}

/* The step before an event is the rank's own, where it says one; else that of the last line that says one. */
static void test_step_before(void)
{
    char *text = malloc(ROOM);
    CU_ASSERT_FATAL(text != NULL);
    for (int own = 0; own < 2; own++) {
        assay_log_file file;
        size_t size = 0;
        put(text, &size, own ? "[rank3]: step 5 loss 2\n" : "begun\n");
        for (int step = 6; step <= 105; step++)
            put(text, &size, "2026-11-27 03:12:%02d step %d loss 2\n", step % 60, step);
        put(text, &size, "[rank3]: ValueError: a\n");
        read_text(text, size, &file);
        CU_ASSERT_FATAL(file.event.count == 1);
        CU_ASSERT_EQUAL(file.event.list[0].step, own ? 5 : 105);
        CU_ASSERT_EQUAL(file.event.list[0].timed, ASSAY_LOG_DATED);
        assay_log_file_release(&file);
    }
    free(text);
}

/* Of an output that begins anew the last run is read as if it were all, but that its lines have their numbers in the file. */
static void test_last_run(void)
{
    static const char *const marks[] = {"", "\xef\xbb\xbf"};
    static const char head[] = "module python/3.11\nreading the data\nmodel of 125 M parameters\n";
    workspace w;
    assay_store *store = NULL;
    assay_job_log *log = NULL;
    assay_error err = {""};
    workspace_make(&w);
    CU_ASSERT_EQUAL_FATAL(assay_job_log_new(&log, &err), ASSAY_OK);
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        assay_log_part run = {.pieces = 1, .events = 1000};
        assay_log_file file;
        char text[1000];
        const size_t before = (size_t)snprintf(
            text, sizeof text, "%s%s2026-11-27 03:12:07 step 7 loss 2\nTraining finished\n\n\n", marks[m], head);
        snprintf(text + before, sizeof text - before, "%sValueError: a\n", head);
        workspace_text(&w, "a.log", text);
        CU_ASSERT_EQUAL_FATAL(assay_store_open(w.root, &store, &err), ASSAY_OK);
        CU_ASSERT_EQUAL_FATAL(assay_job_log_begins_again(store, "a.log", &run, &err), ASSAY_OK);
        CU_ASSERT(run.from == before && run.lines == 7);
        CU_ASSERT_EQUAL_FATAL(assay_job_log_read(log, store, "a.log", &run, &file, &err), ASSAY_OK);
        CU_ASSERT_FATAL(file.event.count == 1 && file.rank.count == 1 && file.lines == 11);
        CU_ASSERT(file.event.list[0].line == 11 && file.event.list[0].step == -1 &&
                  file.event.list[0].timed == ASSAY_LOG_UNTIMED);
        CU_ASSERT(file.rank.list[0].last_step == -1 && file.rank.list[0].timed == ASSAY_LOG_UNTIMED &&
                  !file.rank.list[0].finished);
        assay_log_file_release(&file);
        assay_store_close(store);
    }
    assay_job_log_free(log);
    workspace_remove(&w);
}

int main(void)
{
    CU_TestInfo tests[] = {{"far", test_far},
                           {"time", test_time},
                           {"ranks", test_ranks},
                           {"alike", test_alike},
                           {"step before", test_step_before},
                           {"files in a row", test_files_in_a_row},
                           {"last run", test_last_run},
                           CU_TEST_INFO_NULL};
    return unit_main("joblog_end", tests);
}
