/* Who hung, out of small dumps: one entry of a call is a few characters (see `put_entry`). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "container/flight_internal.h"
#include "format/flight/flight.h"
#include "hang/hang.h"
#include "unit.h"

typedef struct world {
    assay_flight_row row[16];
    size_t rows;
    assay_hang *hang;
} world;

enum { TEXT_MOST = 1 << 16 };

/* "g:number:state:operation:elements": group g of `groups`, state c (completed), s (scheduled) or r (started). A point-to-
 * point operation begins with its own number as "p". */
static void put_entry(assay_buf *out, const char *entry, int record)
{
    char group[8], operation[64] = "";
    char state = 's';
    int number = 0, elements = 8;
    CU_ASSERT_FATAL(sscanf(entry, "%7[^:]:%d:%c:%63[^:]:%d", group, &number, &state, operation, &elements) >= 4);
    const bool p2p = strncmp(operation, "send", 4) == 0 || strncmp(operation, "recv", 4) == 0;
    assay_put_format(out,
                     "%s{\"record_id\":%d,\"pg_id\":%s,\"process_group\":[\"%s\",\"%s\"],\"collective_seq_id\":%d,"
                     "\"p2p_seq_id\":%d,\"profiling_name\":\"nccl:%s\",\"time_created_ns\":%d,\"input_sizes\":[[%d]],"
                     "\"output_sizes\":[[%d]],\"input_dtypes\":[\"Float\"],\"output_dtypes\":[\"Float\"],"
                     "\"state\":\"%s\",\"is_p2p\":%s}",
                     record ? "," : "", record, group, group, group[0] == '0' ? "world" : "pair", p2p ? 0 : number,
                     p2p ? number : 0, operation, 1000 + record, elements, elements,
                     state == 'c'   ? "completed"
                     : state == 'r' ? "started"
                                    : "scheduled",
                     p2p ? "true" : "false");
}

/* Adds the dump of the next rank: its entries, with blanks between them. */
static void add_rank(world *w, const char *groups, const char *entries)
{
    char all[2048];
    assay_buf text;
    assay_flight_dump d;
    assay_error err = {{0}};
    int record = 0;
    assay_buf_init(&text, TEXT_MOST);
    assay_put_format(&text, "{\"entries\":[");
    snprintf(all, sizeof all, "%s", entries);
    char *save = NULL;
    for (char *p = strtok_r(all, "|", &save); p; p = strtok_r(NULL, "|", &save))
        put_entry(&text, p, record++);
    assay_put_format(&text, "],\"pg_config\":{%s},\"version\":\"2.10\"}", groups);
    assay_flight_file file = {.bytes = text.data, .left = text.size, .step = 64, .err = &err};
    CU_ASSERT_EQUAL_FATAL(assay_flight_dump_init(&d), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_flight_read_from(&d, &file), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_flight_fold(&d, &w->row[w->rows]), ASSAY_OK);
    w->rows++;
    assay_flight_dump_release(&d);
    assay_buf_release(&text);
}

static void find(world *w)
{
    assay_error err = {{0}};
    CU_ASSERT_EQUAL_FATAL(assay_hang_find_in(w->row, w->rows, 3600, &w->hang, &err), ASSAY_OK);
}

static void drop(world *w)
{
    assay_hang_free(w->hang);
    for (size_t i = 0; i < w->rows; i++)
        assay_fields_release(assay_flight_row_fields, &w->row[i]);
    *w = (world){.rows = 0};
}

static void is_cause(const world *w, size_t i, assay_hang_test test, int64_t rank, uint64_t waiting)
{
    CU_ASSERT_FATAL(i < w->hang->causes);
    CU_ASSERT_EQUAL(w->hang->cause[i].test, test);
    CU_ASSERT_EQUAL(w->hang->cause[i].rank, rank);
    CU_ASSERT_EQUAL(w->hang->cause[i].waiting, waiting);
}

#define WORLD4 "\"0\":{\"desc\":\"world\",\"name\":\"0\",\"ranks\":\"[0, 1, 2, 3]\"}"
#define PAIR   "\"1\":{\"desc\":\"pair\",\"name\":\"1\",\"ranks\":\"[0, 1]\"}"

static void names_who_has_not_called(void)
{
    world w = {.rows = 0};
    for (int r = 0; r < 4; r++) {
        add_rank(&w, WORLD4, r == 2 ? "0:1:c:all_reduce" : "0:1:c:all_reduce|0:2:s:all_reduce");
        w.row[r].rank = (uint32_t)r;
    }
    find(&w);
    CU_ASSERT_EQUAL(w.hang->causes, 1);
    is_cause(&w, 0, ASSAY_HANG_BEHIND, 2, 3);
    CU_ASSERT_STRING_EQUAL(w.hang->cause[0].text,
                           "rank 2 has not called all_reduce number 2 of world [0, 1, 2, 3]; ranks 0, 1, 3 wait for "
                           "it; it was last seen at all_reduce number 1 of world");
    drop(&w);
}

static void names_who_left_no_file(void)
{
    world w = {.rows = 0};
    for (int r = 0; r < 3; r++) {
        add_rank(&w, WORLD4, "0:1:c:all_reduce|0:2:s:all_reduce");
        w.row[r].rank = (uint32_t)r;
    }
    find(&w);
    CU_ASSERT_EQUAL(w.hang->causes, 1);
    is_cause(&w, 0, ASSAY_HANG_ABSENT, 3, 3);
    CU_ASSERT_EQUAL(w.hang->no_file.count, 1);
    drop(&w);
}

static void names_another_size(void)
{
    world w = {.rows = 0};
    for (int r = 0; r < 4; r++) {
        add_rank(&w, WORLD4, r == 1 ? "0:7:s:all_reduce:9" : "0:7:s:all_reduce:8");
        w.row[r].rank = (uint32_t)r;
    }
    find(&w);
    CU_ASSERT_EQUAL(w.hang->causes, 1);
    is_cause(&w, 0, ASSAY_HANG_MISMATCH, 1, 0);
    CU_ASSERT_EQUAL_FATAL(w.hang->mismatches, 1);
    CU_ASSERT_STRING_EQUAL(w.hang->mismatch[0].kind, "size");
    CU_ASSERT_EQUAL(w.hang->mismatch[0].named.rank[0], 1);
    drop(&w);
}

/* The same number of elements in another shape, and an exchange that is uneven by design, are no findings. */
static void takes_uneven_exchanges(void)
{
    world w = {.rows = 0};
    for (int r = 0; r < 4; r++) {
        add_rank(&w, WORLD4, r == 1 ? "0:7:c:all_to_all:9" : "0:7:c:all_to_all:8");
        w.row[r].rank = (uint32_t)r;
    }
    find(&w);
    CU_ASSERT_EQUAL(w.hang->causes, 0);
    CU_ASSERT_EQUAL(w.hang->mismatches, 0);
    CU_ASSERT_EQUAL(w.hang->compared, 1);
    drop(&w);
}

static void names_two_that_wait_for_each_other(void)
{
    world w = {.rows = 0};
    add_rank(&w, PAIR, "1:1:s:recv 0<-1");
    add_rank(&w, PAIR, "1:1:s:recv 1<-0");
    w.row[1].rank = 1;
    find(&w);
    CU_ASSERT_EQUAL(w.hang->causes, 2);
    is_cause(&w, 0, ASSAY_HANG_DEADLOCK, 0, 0);
    is_cause(&w, 1, ASSAY_HANG_DEADLOCK, 1, 0);
    const char *said = "ranks 0 and 1 hold up the training; rank 0 and others wait for each other";
    CU_ASSERT_EQUAL(strncmp(w.hang->cause[0].text, said, strlen(said)), 0);
    CU_ASSERT_EQUAL(strncmp(w.hang->cause[1].text, "rank 1 and others", strlen("rank 1 and others")), 0);
    drop(&w);
}

/* Rank 1 has finished what cannot end without rank 0. */
static void names_a_device(void)
{
    world w = {.rows = 0};
    add_rank(&w, PAIR, "1:1:s:all_reduce|1:2:s:all_reduce|1:3:s:all_reduce");
    add_rank(&w, PAIR, "1:1:c:all_reduce|1:2:c:all_reduce|1:3:s:all_reduce");
    w.row[1].rank = 1;
    find(&w);
    CU_ASSERT_EQUAL(w.hang->causes, 1);
    is_cause(&w, 0, ASSAY_HANG_DEVICE, 0, 1);
    CU_ASSERT_EQUAL(w.hang->cause[0].finished_by, 1);
    CU_ASSERT_EQUAL(w.hang->cause[0].finished_number, 2);
    drop(&w);
}

static void is_silent_when_all_has_ended(void)
{
    world w = {.rows = 0};
    add_rank(&w, PAIR, "1:1:c:all_reduce|1:2:c:all_reduce");
    add_rank(&w, PAIR, "1:1:c:all_reduce|1:2:c:all_reduce");
    w.row[1].rank = 1;
    find(&w);
    CU_ASSERT_EQUAL(w.hang->causes, 0);
    CU_ASSERT_EQUAL(w.hang->pending, 0);
    drop(&w);
}

/* Numbers that fall begin anew: what came before is forgotten. */
static void forgets_an_earlier_group(void)
{
    world w = {.rows = 0};
    for (int r = 0; r < 2; r++) {
        add_rank(&w, PAIR, r ? "1:7:s:all_reduce|1:1:c:barrier" : "1:1:c:barrier");
        w.row[r].rank = (uint32_t)r;
    }
    find(&w);
    CU_ASSERT_EQUAL(w.hang->causes, 0);
    drop(&w);
}

/* ---- readers ---- */

static int read_bytes(const void *bytes, size_t size, assay_error *err)
{
    assay_flight_dump d;
    assay_flight_file file = {.bytes = bytes, .left = size, .step = 3, .err = err};
    CU_ASSERT_EQUAL_FATAL(assay_flight_dump_init(&d), ASSAY_OK);
    const int status = assay_flight_read_from(&d, &file);
    assay_flight_dump_release(&d);
    return status;
}

static void refuses(const char *bytes, size_t size, const char *why)
{
    assay_error err = {{0}};
    CU_ASSERT_EQUAL(read_bytes(bytes, size, &err), ASSAY_EFORMAT);
    if (!strstr(err.text, why))
        printf("%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
}
#define REFUSES(bytes, why) refuses(bytes, sizeof bytes - 1, why)

static void refuses_what_is_no_dump(void)
{
    REFUSES("", "neither");
    REFUSES("<html>", "neither");
    REFUSES("\x80\x02"
            "cposix\nsystem\nX\x04\x00\x00\x00"
            "true\x85R.",
            "no dump");
    REFUSES("\x80\x02}.\xff", "offset 4: bytes follow");
    REFUSES("\x80\x02}(\xff", "offset 4: opcode 0xff");
    REFUSES("\x80\x02"
            "F1.5\n.",
            "opcode 0x46 (FLOAT)");
    REFUSES("\x80\x02h\x07.", "memo");
    REFUSES("\x80\x02X\xff\xff\xff\xff"
            "abc",
            "text of more than 16 MiB");
    REFUSES("\x80\x02\x8a\xff", "ends within");
    REFUSES("\x80\x02}(]X\x01\x00\x00\x00vu.", "a key is a list");
    REFUSES("\x80\x02}(X\x01\x00\x00\x00vu.", "a key without a value");
    REFUSES("{\"version\": \"3.1\", \"pg_config\": {}}", "3.1");
    REFUSES("{\"version\": 2, \"pg_config\": {}}", "version");
    REFUSES("{\"version\": \"2.9\"}", "pg_config");
    REFUSES("{\"version\": \"2.9\", \"pg_config\": {}, \"entries\": 7}", "entries is no list");
    REFUSES("{\"version\": \"2.9\", \"pg_config\": {}, \"entries\": [{}", "ends too early");
    REFUSES("{\"version\": \"2.9\", \"pg_config\": {}, \"entries\": []}\0{", "text follows");
    REFUSES("{\"version\": \"2.9\", \"pg_config\": {\"0\": {\"ranks\": \"[0, x]\"}}}", "ranks of a group");
    REFUSES("{\"version\": \"2.9\", \"pg_config\": {}} x", "follows the end");
}

static void takes_the_last_of_two(void)
{
    static const char text[] =
        "{\"version\": \"1.0\", \"version\": \"2.9\", \"pg_config\": {\"1\": {\"ranks\": \"[9]\"}}, "
        "\"pg_config\": {\"0\": {\"desc\": \"d\", \"ranks\": \"[0, 1]\"}}}";
    assay_error err = {{0}};
    CU_ASSERT_EQUAL(read_bytes(text, sizeof text - 1, &err), ASSAY_OK);
}

/* Four ranks in two pairs that ranks 1 and 2 join; the clock of rank r is r * 1.5 s ahead. `operation` is what the pairs call;
 * `jitter`: how far, in seconds, each other end of rank 1 is noted late. */
static size_t clocks_of(const char *operation, double jitter, uint32_t items, assay_hang_clock **clock)
{
    enum { ITEMS = 8, ROWS = 4 };
    static const uint32_t groups_of[ROWS][2] = {{0, 9}, {0, 1}, {1, 2}, {2, 9}};
    static char names[3][2] = {"5", "6", "7"};
    char name[32];
    assay_flight_signature signature = {.name = name};
    assay_flight_run run[3] = {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}};
    assay_flight_item item[ROWS][2][ITEMS] = {0};
    assay_flight_group group[ROWS][2] = {0};
    assay_flight_row row[ROWS] = {0};
    size_t count = 0;
    snprintf(name, sizeof name, "%s", operation);
    for (uint32_t r = 0; r < ROWS; r++) {
        row[r] = (assay_flight_row){.rank = r, .signature = &signature, .signatures = 1, .group = group[r]};
        for (int g = 0; g < 2 && groups_of[r][g] < 3; g++) {
            const uint32_t which = groups_of[r][g];
            group[r][row[r].groups++] = (assay_flight_group){
                .name = names[which], .run = &run[which], .runs = 1, .item = item[r][g], .items = items};
            for (uint32_t i = 0; i < items; i++) /* rank 1 has lost an early one */
                item[r][g][i] = (assay_flight_item){
                    .number = i + (r == 1),
                    .state = ASSAY_FLIGHT_COMPLETED,
                    .completed = INT64_C(1764000000000000000) +
                                 (int64_t)(1e9 * (10.0 * (i + (r == 1)) + 1.5 * r + (r == 1 && i % 2 ? jitter : 0)))};
        }
    }
    CU_ASSERT_EQUAL(assay_hang_clocks(row, ROWS, clock, &count), ASSAY_OK);
    return count;
}

static void compares_clocks(void)
{
    assay_hang_clock *clock = NULL;
    CU_ASSERT_EQUAL_FATAL(clocks_of("all_reduce", 0.1, 8, &clock), 4);
    for (int64_t r = 0; r < 4; r++)
        CU_ASSERT(clock[r].rank == r && clock[r].ahead > 1.5 * (double)r - 0.21 &&
                  clock[r].ahead < 1.5 * (double)r + 0.21);
    CU_ASSERT(clock[0].collectives == 0 && clock[1].collectives == 7 && clock[3].collectives == 8);
    free(clock);
    CU_ASSERT_EQUAL(clocks_of("broadcast", 0, 8, &clock), 0); /* its root is done before the others */
    CU_ASSERT_PTR_NULL(clock);
    CU_ASSERT_EQUAL(clocks_of("all_reduce", 9, 8, &clock), 0); /* what tells so many things tells none */
    CU_ASSERT_EQUAL(clocks_of("all_reduce", 0, 3, &clock), 0); /* two in common are too few */
    CU_ASSERT_PTR_NULL(clock);
}

int main(void)
{
    CU_TestInfo tests[] = {{"names who has not called", names_who_has_not_called},
                           {"names who left no file", names_who_left_no_file},
                           {"names another size", names_another_size},
                           {"takes uneven exchanges", takes_uneven_exchanges},
                           {"names two that wait for each other", names_two_that_wait_for_each_other},
                           {"names a device", names_a_device},
                           {"is silent when all has ended", is_silent_when_all_has_ended},
                           {"forgets an earlier group", forgets_an_earlier_group},
                           {"refuses what is no dump", refuses_what_is_no_dump},
                           {"takes the last of two", takes_the_last_of_two},
                           {"compares clocks", compares_clocks},
                           CU_TEST_INFO_NULL};
    return unit_main("hang", tests);
}
