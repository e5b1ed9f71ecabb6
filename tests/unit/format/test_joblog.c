/* Lines of a job's output: who wrote them and when, without escapes and secrets, and which step they name. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/joblog/joblog.h"
#include "workspace.h"

typedef struct front {
    const char *line;
    int64_t rank, local_rank;
    const char *node, *body;
    uint8_t timed;
    double clock; /* seconds of the day */
} front;

#define AT (3 * 3600 + 12 * 60 + 7)
static const front FRONTS[] = {
    {"3: loss 1", 3, -1, "", "loss 1", ASSAY_LOG_UNTIMED, 0},
    {"  12: loss 1", 12, -1, "", "loss 1", ASSAY_LOG_UNTIMED, 0},
    {"[rank3]: Traceback", 3, -1, "", "Traceback", ASSAY_LOG_UNTIMED, 0},
    {"[rank3]:   File", 3, -1, "", "  File", ASSAY_LOG_UNTIMED, 0},
    {"[default7]:text", -1, 7, "", "text", ASSAY_LOG_UNTIMED, 0},
    {"[default7]:[rank15]: text", 15, 7, "", "text", ASSAY_LOG_UNTIMED, 0},
    {"[n0123:rank3]: text", 3, -1, "n0123", "text", ASSAY_LOG_UNTIMED, 0},
    {"[1,3]<stderr>:text", 3, -1, "", "text", ASSAY_LOG_UNTIMED, 0},
    {"n0123:4711:4799 [3] NCCL WARN x", -1, 3, "n0123", " NCCL WARN x", ASSAY_LOG_UNTIMED, 0},
    {"n0123: text", -1, -1, "n0123", "text", ASSAY_LOG_UNTIMED, 0},
    {"python3: a.c:7: f: text", -1, -1, "", "python3: a.c:7: f: text", ASSAY_LOG_UNTIMED, 0},
    {"epoch3: text", -1, -1, "", "epoch3: text", ASSAY_LOG_UNTIMED, 0},
    {"slurmstepd-n7: error: x", -1, -1, "n7", "slurmstepd-n7: error: x", ASSAY_LOG_UNTIMED, 0},
    {"2026-11-27 03:12:07,500 text", -1, -1, "", " text", ASSAY_LOG_DATED, AT + 0.5},
    {"[2026-11-27T03:12:07+01:00] text", -1, -1, "", " text", ASSAY_LOG_DATED, AT},
    {"2026-11-27T03:12:07.500000001Z stderr F text", -1, -1, "", "text", ASSAY_LOG_DATED, AT + 0.5},
    {"11/27/2026 03:12:07 - text", -1, -1, "", " - text", ASSAY_LOG_DATED, AT},
    {"Nov 27 03:12:07 n9 kernel: text", -1, -1, "n9", " text", ASSAY_LOG_YEARLESS, AT},
    {"[Fri Nov 27 03:12:07 2026] text", -1, -1, "", " text", ASSAY_LOG_DATED, AT},
    {"[rank3]:[E1127 03:12:07.000000 P.cpp:632] [Rank 3] text", 3, -1, "", " text", ASSAY_LOG_YEARLESS, AT},
    {"[rank3]:[E623 03:12:07.1 P.cpp:632] [Rank 1] text", 3, -1, "", " text", ASSAY_LOG_YEARLESS, AT + 0.1},
    {"2026-11-27T03:12:07.1Z stderr F   File", -1, -1, "", "  File", ASSAY_LOG_DATED, AT + 0.1},
    {"03:12:07 text", -1, -1, "", " text", ASSAY_LOG_CLOCK, AT},
    {"59: gpu-a12:4711:4711 [2] NCCL INFO x", 59, 2, "gpu-a12", " NCCL INFO x", ASSAY_LOG_UNTIMED, 0},
    {"59: 2:4711:4711 [2] NCCL INFO x", 59, 2, "", " NCCL INFO x", ASSAY_LOG_UNTIMED, 0},
    {"train-1  | ValueError: x", -1, -1, "train-1", "ValueError: x", ASSAY_LOG_UNTIMED, 0},
    {"train_12 |   File", -1, -1, "train_12", "  File", ASSAY_LOG_UNTIMED, 0},
    {"train-1 |", -1, -1, "train-1", "", ASSAY_LOG_UNTIMED, 0},
    {"train-1 |x", -1, -1, "", "train-1 |x", ASSAY_LOG_UNTIMED, 0},
    {"pod-0  ValueError: x", -1, -1, "pod-0", "ValueError: x", ASSAY_LOG_UNTIMED, 0},
    {"resnet-50 gained", -1, -1, "", "resnet-50 gained", ASSAY_LOG_UNTIMED, 0},
    {"[pod/train-1/torch] 2026-11-27T03:12:07.1Z x", -1, -1, "train-1", "x", ASSAY_LOG_DATED, AT + 0.1},
    {"[a/b] x", -1, -1, "", "[a/b] x", ASSAY_LOG_UNTIMED, 0},
    {"- ERROR - ValueError: x", -1, -1, "", "ValueError: x", ASSAY_LOG_UNTIMED, 0},
    {"ERROR:root:ValueError: x", -1, -1, "", "ValueError: x", ASSAY_LOG_UNTIMED, 0},
    {"[default1]:ERROR:root:x", -1, 1, "", "x", ASSAY_LOG_UNTIMED, 0},
    {"ERROR: x", -1, -1, "", "ERROR: x", ASSAY_LOG_UNTIMED, 0},
    {"ERROR ValueError: x", -1, -1, "", "ERROR ValueError: x", ASSAY_LOG_UNTIMED, 0},
    {"2026-11-27 03:12:07,500 ERROR ValueError: x", -1, -1, "", "ValueError: x", ASSAY_LOG_DATED, AT + 0.5},
    {"2026-11-27 03:12:07,500 - a.b - ERROR - ValueError - x", -1, -1, "", "ValueError - x", ASSAY_LOG_DATED, AT + 0.5},
    {"2026-11-27 03:12:07 | ERROR    | a:<module>:12 - x", -1, -1, "", "x", ASSAY_LOG_DATED, AT},
    {"3: 11/27/2026 03:12:07 - WARNING - __main__ -   x", 3, -1, "", "x", ASSAY_LOG_DATED, AT},
    {"E1127 03:12:07.500000 77 a.py:1] ValueError: x", -1, -1, "", " ValueError: x", ASSAY_LOG_YEARLESS, AT + 0.5},
    {"2026-13-27 03:12:07 text", -1, -1, "", "2026-13-27 03:12:07 text", ASSAY_LOG_UNTIMED, 0},
    {"99:99:99 text", -1, -1, "", "99:99:99 text", ASSAY_LOG_UNTIMED, 0},
    {"", -1, -1, "", "", ASSAY_LOG_UNTIMED, 0},
};

static void test_prefix(void)
{
    for (size_t i = 0; i < sizeof FRONTS / sizeof *FRONTS; i++) {
        const front *f = &FRONTS[i];
        joblog_prefix p;
        joblog_prefix_read(f->line, strlen(f->line), &p);
        const bool same = p.rank == f->rank && p.local_rank == f->local_rank && strcmp(p.node, f->node) == 0 &&
                          strcmp(f->line + p.length, f->body) == 0 && p.timed == f->timed &&
                          (p.timed == ASSAY_LOG_UNTIMED || fabs(fmod(p.time, 86400) - f->clock) < 0.001);
        CU_ASSERT_TRUE(same);
        if (!same)
            fprintf(stderr, "%s: rank %lld, local %lld, node %s, timed %d at %.3f, body \"%s\"\n", f->line,
                    (long long)p.rank, (long long)p.local_rank, p.node, p.timed, fmod(p.time, 86400),
                    f->line + p.length);
        CU_ASSERT_TRUE(joblog_may_be_first(f->line, p.length + strspn(f->line + p.length, " ")));
    }
}

static void test_find(void)
{
    static const char line[] = "ab[ra[rank3";
    CU_ASSERT_PTR_EQUAL(joblog_find(line, 11, "[rank"), line + 5);
    CU_ASSERT_PTR_EQUAL(joblog_find(line, 11, "rank3"), line + 6);
    CU_ASSERT_PTR_EQUAL(joblog_find(line, 11, ""), line);
    CU_ASSERT_PTR_EQUAL(joblog_find(line, 11, line), line);
    CU_ASSERT_PTR_NULL(joblog_find(line, 9, "[rank"));
    CU_ASSERT_PTR_NULL(joblog_find(line, 0, "a"));
    CU_ASSERT_PTR_NULL(joblog_find(line, 1, "ab"));
    char text[24], word[4];
    for (uint32_t number = 1; number < 4000; number++) { /* texts of two letters, as others find them */
        size_t length = 0, size = 0;
        for (uint32_t bits = number * 2654435761u; length < sizeof text; bits = bits >> 1 | bits << 31)
            text[length++] = (char)('a' + (bits & 1));
        for (; size < 1 + number % 3; size++)
            word[size] = (char)('a' + (number >> size & 1));
        word[size] = '\0';
        length -= number % 7;
        CU_ASSERT_PTR_EQUAL(joblog_find(text, length, word), memmem(text, length, word, size));
    }
}

/* Words that may be the first of their lines, and those that surely are not. */
static void test_first_words(void)
{
    static const char *const may[] = {
        "",           "    ",           "torch.cuda.", "\t",         "a\b",         "a \x1b[31m",
        "\x1b[31ma ", "3: [rank3]:my.", "train-1  | ", "- ERROR - ", "ERROR:root:", "{\"log\":\"\\u001b[31m",
        "03:12:07 ",  "07 2026 ",       "pod-0  ",     "03:12:\b07 "};
    static const char *const cannot[] = {"saw ", "MY ",   "a,",      "\"e\": \"", "caught a torch.cuda.",
                                         "(",    "a    ", "failed: "};
    for (size_t i = 0; i < sizeof may / sizeof *may; i++)
        CU_ASSERT_TRUE(joblog_may_be_first(may[i], strlen(may[i])));
    for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++)
        CU_ASSERT_FALSE(joblog_may_be_first(cannot[i], strlen(cannot[i])));
}

/* One launcher a node, in front of lines that have local ranks. */
static void test_agents(void)
{
    static const char own[] = "6: [default5]:text", agent[] = "6: text", both[] = "1: [default1]:[rank9]: text";
    joblog_prefix p;
    int64_t most = 0;
    CU_ASSERT_EQUAL(joblog_per_node(both, strlen(both), &most), 8);
    CU_ASSERT_EQUAL(joblog_per_node(own, strlen(own), &most), 0);
    CU_ASSERT_EQUAL(most, 6);
    joblog_prefix_of(own, strlen(own), 8, &p);
    CU_ASSERT(p.rank == 53 && p.agent == 6);
    joblog_prefix_of(agent, strlen(agent), 8, &p);
    CU_ASSERT(p.rank == -1 && p.agent == 6);
    CU_ASSERT_EQUAL(joblog_rank_of(own, strlen(own), 8), 53);
    CU_ASSERT_EQUAL(joblog_rank_of(both, strlen(both), 8), 9);
    CU_ASSERT_EQUAL(joblog_rank_of(agent, strlen(agent), 0), 6);
}

/* What exceptions are whose words no signature knows. */
static void test_kinds(void)
{
    static const struct {
        const char *line;
        assay_ending ending;
        assay_log_role role;
        bool guessed;
    } LINES[] = {
        {"MemoryError", ASSAY_ENDING_host_memory, ASSAY_LOG_CAUSE, false},
        {"a.b.ReadTimeout: x", ASSAY_ENDING_network, ASSAY_LOG_EITHER, true},
        {"botocore.exceptions.EndpointConnectionError: x", ASSAY_ENDING_network, ASSAY_LOG_EITHER, true},
        {"acme.TokenNotFoundError: x", ASSAY_ENDING_missing_file, ASSAY_LOG_CAUSE, true},
        {"omegaconf.errors.Interpolation: x", ASSAY_ENDING_arguments, ASSAY_LOG_CAUSE, true},
        {"lightning.SIGTERMException", ASSAY_ENDING_signal, ASSAY_LOG_EITHER, true},
        {"RuntimeError: level zero: device memory is gone", ASSAY_ENDING_gpu_memory, ASSAY_LOG_CAUSE, true},
        {"OSError: quota of /scratch used up", ASSAY_ENDING_disk, ASSAY_LOG_CAUSE, true},
        {"acme.Error: Connection to the store broke", ASSAY_ENDING_network, ASSAY_LOG_EITHER, true},
        {"ValueError: timed out", ASSAY_ENDING_exception, ASSAY_LOG_CAUSE, false},
        {"KeyError: 'quota'", ASSAY_ENDING_exception, ASSAY_LOG_CAUSE, false},
        {"RuntimeError: shapes differ", ASSAY_ENDING_exception, ASSAY_LOG_CAUSE, false},
    };
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        assay_log_event e = {.ending = ASSAY_ENDING_exception, .role = ASSAY_LOG_CAUSE};
        joblog_exception_class(LINES[i].line, strlen(LINES[i].line), &e);
        const bool same = e.ending == LINES[i].ending && e.role == LINES[i].role && e.guessed == LINES[i].guessed;
        CU_ASSERT_TRUE(same);
        if (!same)
            fprintf(stderr, "%s: %s, %d\n", LINES[i].line, assay_ending_name(e.ending), e.guessed);
    }
}

/* Lines behind which stands what a model wrote, and others that only begin like them. */
static void test_shown(void)
{
    static const char *const shows[] = {"=== sample 3 ===",         "prompt: why?", "Q: why?",
                                        "sampling after step 500:", "### Answer",   " completion: You see",
                                        "--- generated ---"};
    static const char *const others[] = {"samples per second: 12%",
                                         "sample=3",
                                         "answer_dropout: 0.1",
                                         "a tensor: 3",
                                         "prompts/second 12",
                                         "",
                                         "step 7 loss 2",
                                         "user:7 logged in",
                                         "===",
                                         "questions of all kinds that go on for more than forty bytes: 7"};
    for (size_t i = 0; i < sizeof shows / sizeof *shows; i++)
        CU_ASSERT_TRUE(joblog_shows_text(shows[i], strlen(shows[i])));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_FALSE(joblog_shows_text(others[i], strlen(others[i])));
        if (joblog_shows_text(others[i], strlen(others[i])))
            fprintf(stderr, "%s\n", others[i]);
    }
}

static void test_steps(void)
{
    static const struct {
        const char *line;
        int64_t step;
    } LINES[] = {{"step 41 loss 2", 41},
                 {"{'loss': 2.1, 'global_step': 500}", 500},
                 {"[batch=12/100]:", 12},
                 {"[batch=12]:", -1},
                 {"[epoch=2][batch=12/100]:", -1},
                 {" iteration      120/  5000 | consumed", 120},
                 {"Step=41,877 loss", 41877},
                 {" 12%|#2   | 123/1000 [00:07<01:01]", 123},
                 {"max_step: 1000", -1},
                 {"step 99999999999999", -1},
                 {"step time 0.3 s", -1},
                 {"*** STEP 4711.0 ON n1 CANCELLED", -1},
                 {"overstep 7", -1},
                 {"loss 2", -1}};
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++)
        CU_ASSERT_EQUAL(joblog_step_of(LINES[i].line, strlen(LINES[i].line)), LINES[i].step);
    for (size_t before = 1; before < 70; before++) /* wherever it stands, and whatever stands behind the line */
        for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
            char line[160];
            const int size = snprintf(line, sizeof line, "%*s%s step 7|", (int)before, " ", LINES[i].line);
            CU_ASSERT_EQUAL(joblog_step_of(line, (size_t)size - strlen(" step 7|")), LINES[i].step);
        }
}

static void test_last_begin(void)
{
    char bytes[80];
    memset(bytes, 'a', sizeof bytes);
    CU_ASSERT_EQUAL(joblog_last_begin(bytes, sizeof bytes), 0);
    for (size_t end = 0; end < sizeof bytes; end++) {
        bytes[end] = end % 2 ? '\n' : '\r';
        for (size_t length = 0; length <= sizeof bytes; length++)
            CU_ASSERT_EQUAL(joblog_last_begin(bytes, length), length > end ? end + 1 : 0);
        bytes[end] = 'a';
    }
}

static void test_clean(void)
{
    static const char line[] = "\x1b]0;title\a\x1b[1;31mred\x1b[0m\tb\0c\x7f\x1b[2Jd\x1b", cut[] = "a\x1b[3";
    char to[sizeof line];
    size_t size = joblog_clean(line, sizeof line - 1, to);
    CU_ASSERT(size == 7 && memcmp(to, "red bcd", 7) == 0);
    size = joblog_clean(cut, sizeof cut - 1, to);
    CU_ASSERT(size == 1 && to[0] == 'a');
}

/* What Docker keeps as JSON is read as the line of a container. */
static void test_wrapped(void)
{
    static const struct {
        const char *line, *text;
    } LINES[] = {
        {"{\"log\":\"  File \\\"a.py\\\"\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-27T03:12:07.1Z\"}",
         "2026-11-27T03:12:07.1Z stderr F   File \"a.py\""},
        {"{\"log\":\"1%\\r2%\\u001b[31m\\u00e9\\tx\\\\y\\r\\n\"}", "2%? x\\y"},
        {"{\"log\":\"\\u001b[1mab\\u001b[0mcdef\\u001b[31mghijkl\\u001b[0m\\tm\\n\"}", "abcdefghijkl m"},
        {"{\"log\":\"cut\\u12", "cut"},
        {"{\"log\":\"cut\\", "cut\\"},
        {"{\"log\":\"", ""},
        {"{\"log\":\"a\",\"time\":\"7", "7 stderr F a"},
    };
    char to[256];
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        const size_t length = strlen(LINES[i].line);
        CU_ASSERT_TRUE(joblog_is_wrapped(LINES[i].line, length));
        to[joblog_unwrap(LINES[i].line, length, to)] = '\0';
        CU_ASSERT_STRING_EQUAL(to, LINES[i].text);
    }
    CU_ASSERT_FALSE(joblog_is_wrapped("{\"log\":", 7));
    CU_ASSERT_FALSE(joblog_is_wrapped("{\"loss\":\"1\"}", 12));
}

static void test_sentence(void)
{
    static const char sentence[] = "ran out of memory: asked for {size}, {free} free";
    const joblog_match all = {.text = {[GROUP_size] = "2 GiB", [GROUP_free] = "1 GiB"},
                              .length = {[GROUP_size] = 5, [GROUP_free] = 5}},
                       one = {.text = {[GROUP_size] = "2 GiB"}, .length = {[GROUP_size] = 5}}, none = {.length = {0}};
    const joblog_match *const matches[] = {&all, &one, &none};
    static const char *const said[] = {"ran out of memory: asked for 2 GiB, 1 GiB free",
                                       "ran out of memory: asked for 2 GiB", "ran out of memory"};
    for (size_t i = 0; i < 3; i++) {
        assay_buf out;
        assay_buf_init(&out, 4096);
        joblog_put_sentence(sentence, matches[i], &out);
        CU_ASSERT(out.size == strlen(said[i]) && memcmp(out.data, said[i], out.size) == 0);
        assay_buf_release(&out);
    }
}

typedef struct outcome { /* of lines */
    const char *id;
    int64_t rank;
    uint64_t count;
    const char *place, *node;
} outcome;

/* Reads a text as an output, in pieces of so many bytes; 0: as one. */
static void read_text(const char *text, size_t size, uint64_t piece, assay_log_file *out)
{
    workspace w;
    const uint32_t pieces = piece ? assay_log_pieces(size, piece) : 1;
    assay_log_file *file = calloc(pieces, sizeof *file);
    CU_ASSERT_FATAL(file != NULL);
    assay_job_log *log = NULL;
    assay_store *store = NULL;
    workspace_make(&w);
    workspace_write(&w, "a.log", text, size);
    CU_ASSERT_EQUAL_FATAL(assay_job_log_new(&log, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(w.root, &store, NULL), ASSAY_OK);
    for (uint32_t k = 0; k < pieces; k++)
        CU_ASSERT_EQUAL(
            assay_job_log_read(
                log, store, "a.log",
                &(assay_log_part){.number = k, .pieces = pieces, .bytes = piece, .events = ASSAY_LOG_EVENTS_MOST},
                &file[k], NULL),
            ASSAY_OK);
    for (uint32_t k = 0; k < pieces; k++) /* ten thousand of them are kept */
        CU_ASSERT((file[k].event.count == 0 || file[k].event.room == file[k].event.count) &&
                  (file[k].rank.count == 0 || file[k].rank.room == file[k].rank.count));
    CU_ASSERT_EQUAL(assay_log_file_join(file, pieces), ASSAY_OK);
    *out = file[0];
    for (size_t i = out->event.count; i-- > 0;) /* words that no signature knows have tests of their own */
        if (out->event.list[i].signature == ASSAY_SIGNATURE_WORDS) {
            assay_log_event_release(&out->event.list[i]);
            out->event.count--;
            memmove(out->event.list + i, out->event.list + i + 1, (out->event.count - i) * sizeof *out->event.list);
        }
    free(file);
    assay_store_close(store);
    assay_job_log_free(log);
    workspace_remove(&w);
}

static void check_outcomes(const assay_log_file *file, const outcome *outcomes, size_t count)
{
    CU_ASSERT_EQUAL_FATAL(file->event.count, count);
    for (size_t i = 0; i < count; i++) {
        const assay_log_event *e = &file->event.list[i];
        CU_ASSERT_STRING_EQUAL(assay_signature_of(e->signature)->id, outcomes[i].id);
        CU_ASSERT_EQUAL(e->rank, outcomes[i].rank);
        CU_ASSERT_EQUAL(e->count, outcomes[i].count);
        CU_ASSERT_STRING_EQUAL(e->place ? e->place : "", outcomes[i].place);
        CU_ASSERT_STRING_EQUAL(e->node, outcomes[i].node);
    }
}

/* Exceptions of one name are not judged anew, unless what is behind the name says something. */
static void test_heads(void)
{
    static const char text[] =
        "[rank3]: ValueError: a\n[rank3]: ValueError: b c\n[rank3]: ValueError: loss is NaN\n"
        "[rank3]: ValueError: CUDA out of memory\n[rank4]: ValueError: d\n[rank3]: ValueError: 404 Client Error, e\n"
        "[rank3]: ValueError:f\n[rank3]: KeyError: info\n[rank5]: KeyError: info at g\n"
        "[rank3]: PermissionError: h\n[rank3]: PermissionError: [Errno 13] Permission denied: '/i'\n"
        "[rank3]: PermissionError: [Errno 13] Permission denied\n[rank6]: FileNotFoundError: j\n"
        "[rank6]: FileNotFoundError: [Errno 2] No such file or directory: '/k'\n[rank6]: FileNotFoundError: l\n"
        "[rank7]: my.LError: m\n[rank7]: my.lError: n\n[rank7]: saw my.LError: o\n[rank7]: my.LError: Bus error\n"
        "[rank8]: a: No such file or directory: '/1'\n[rank8]: a: No such file or directory\n"
        "[rank8]: a: No such file or directory: 'Bus error'\n"
        "[rank8]: a: No such file or directory, CUDA out of memory\n";
    static const outcome outcomes[] = {
        {"exception", 3, 4, "", ""},    {"nan_raised", 3, 1, "", ""},       {"cuda_oom_bare", 3, 1, "", ""},
        {"exception", 4, 1, "", ""},    {"exception", 3, 1, "", ""},        {"exception", 5, 1, "", ""},
        {"exception", 3, 1, "", ""},    {"permission_error", 3, 2, "", ""}, {"file_not_found", 6, 3, "", ""},
        {"exception", 7, 1, "", ""},    {"bus_error", 7, 1, "", ""},        {"file_missing", 8, 3, "", ""},
        {"cuda_oom_bare", 8, 1, "", ""}};
    assay_log_file file;
    read_text(text, sizeof text - 1, 0, &file);
    check_outcomes(&file, outcomes, sizeof outcomes / sizeof *outcomes);
    assay_log_file_release(&file);
}

static uint32_t pick(uint32_t *state, size_t count)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((*state >> 8) % count);
}

/* A line out of what stands in front of lines, words before an exception, and exceptions. */
static size_t write_random_line(uint32_t *state, char *to, size_t room)
{
    static const char *const words[] = {"",    "",  "",           "",         "saw ",       "a - ",
                                        "x: ", "(", "caught my.", "\x1b[31m", "{\"log\":\""};
    static const char *const heads[] = {"ValueError: sample 17",
                                        "my.mod.LError: y",
                                        "MemoryError",
                                        "FileNotFoundError: [Errno 2] No such file or directory: '/k'",
                                        "PermissionError: [Errno 13] Permission denied",
                                        "RuntimeError: loss is NaN",
                                        "RuntimeError: CUDA out of memory",
                                        "AssertionError",
                                        "SystemExit: 2",
                                        "socket.error: z",
                                        "KeyboardInterrupt",
                                        "a.TimeoutExpired: c",
                                        "Exception: x",
                                        "Bus error"};
    const front *f = &FRONTS[pick(state, sizeof FRONTS / sizeof *FRONTS)];
    const int size = (int)(strlen(f->line) - strlen(f->body));
    const bool word =
        size > 0 && strchr("0123456789", f->line[size - 1]); /* what ends in a digit has a blank behind it */
    return (size_t)snprintf(to, room, "%.*s%.*s%s%s\n", size, f->line, (int)pick(state, 4) + word, "    ",
                            words[pick(state, sizeof words / sizeof *words)],
                            heads[pick(state, sizeof heads / sizeof *heads)]);
}

/* The first signature that matches a line, found by nothing that is quick; the number of all where there is none. */
static size_t slow_match(const assay_job_log *log, const joblog_line *line)
{
    size_t i = 0;
    for (; i < log->signatures.count; i++) {
        const char *literal = assay_signature_of(i)->literal;
        const assay_regex *regex = log->signatures.regex[i];
        if (memmem(line->text, line->length, literal, strlen(literal)) &&
            (!regex || assay_regex_search(regex, line->own, line->own_length) == 1 ||
             assay_regex_search(regex, line->body, line->body_length) == 1))
            break;
    }
    return i;
}

/* What makes the search quick leaves nothing out, and adds nothing. */
static void test_slow(void)
{
    enum { LINES = 6000, ROOM = 200 * LINES };
    char *text = malloc(ROOM), clean[JOBLOG_LINE_MOST];
    uint64_t want[JOBLOG_NUMBERS] = {0}, got[JOBLOG_NUMBERS] = {0};
    uint32_t state = 7;
    size_t size = 0, found = 0;
    assay_job_log *log = NULL;
    assay_log_file file;
    CU_ASSERT_FATAL(text != NULL);
    CU_ASSERT_EQUAL_FATAL(assay_job_log_new(&log, NULL), ASSAY_OK);
    for (int i = 0; i < LINES; i++) {
        const size_t length = write_random_line(&state, text + size, ROOM - size);
        const joblog_reader r = {.log = log, .bytes = text, .clean = clean, .line = 1};
        joblog_line line;
        joblog_line_read(&r, size, size + length - 1, false, &line);
        want[slow_match(log, &line)]++;
        size += length;
    }
    read_text(text, size, 0, &file);
    for (size_t i = 0; i < file.event.count; i++)
        got[file.event.list[i].signature] += file.event.list[i].count;
    for (size_t i = 0; i < log->signatures.count; i++) {
        CU_ASSERT_EQUAL(got[i], want[i]);
        if (got[i] != want[i])
            fprintf(stderr, "%s: %llu of %llu\n", assay_signature_of(i)->id, (unsigned long long)got[i],
                    (unsigned long long)want[i]);
        found += want[i] > 0;
    }
    CU_ASSERT(found > 8 && want[log->signatures.count] > LINES / 20);
    assay_log_file_release(&file);
    assay_job_log_free(log);
    free(text);
}

static void test_fronts(void)
{
    static const struct {
        const char *line;
        int64_t rank, local_rank;
        size_t size;
    } LINES[] = {
        {"[rank3]: x", 3, -1, 9},  {"[rank3]:", 3, -1, 8},    {"[rank3] x", -1, -1, 0}, {"[default7]:x", -1, 7, 11},
        {"12:   x", 12, -1, 4},    {"12:30:07 x", -1, -1, 0}, {"", -1, -1, 0},          {"[rank1234567]: x", -1, -1, 0},
        {"[ranks]: x", -1, -1, 0}, {"  x", -1, -1, 0}};
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        int64_t rank, local;
        CU_ASSERT_EQUAL(joblog_front_of(LINES[i].line, strlen(LINES[i].line), &rank, &local), LINES[i].size);
        if (LINES[i].size > 0)
            CU_ASSERT(rank == LINES[i].rank && local == LINES[i].local_rank);
    }
}

/* Lines of a traceback that are passed over count to it: it is given up behind so many of its rank, and of no other. */
static void test_passed(void)
{
    enum { MOST = 400, ROOM = 100000 };
    static const char *const fronts[] = {"[rank3]: ", "[default3]:", "3: ", ""};
    char *text = malloc(ROOM);
    CU_ASSERT_FATAL(text != NULL);
    for (size_t f = 0; f < sizeof fronts / sizeof *fronts; f++)
        for (int lines = MOST - 2; lines < MOST + 2; lines++) {
            assay_log_file file;
            const char *own = fronts[f];
            size_t put = (size_t)snprintf(text, ROOM, "%sTraceback (most recent call last):\n", own);
            for (int i = 0; i < lines; i++)
                put += (size_t)snprintf(text + put, ROOM - put, "%s  %s\n[rank4]:   loss = 1\n", own,
                                        i == 1 ? "File \"/a/b.py\", line 7, in <module>" : "x = [1]");
            put += (size_t)snprintf(text + put, ROOM - put, "%sKeyError: 1\n", own);
            read_text(text, put, 0, &file);
            CU_ASSERT_EQUAL_FATAL(file.event.count, 1);
            CU_ASSERT_EQUAL(file.event.list[0].in_traceback, lines < MOST);
            CU_ASSERT_EQUAL(file.event.list[0].place != NULL, lines < MOST);
            CU_ASSERT_EQUAL(file.lines, 2 * (uint64_t)lines + 2);
            for (size_t i = 0; i < file.rank.count; i++)
                if (file.rank.list[i].rank == 4)
                    CU_ASSERT(file.rank.list[i].lines == (uint64_t)lines &&
                              file.rank.list[i].last_line == 2 * (uint64_t)lines + 1);
            assay_log_file_release(&file);
        }
    free(text);
}

/* What a number in front says may depend on another one: with 5 ranks a node "[default5]" is none of them, and then "2: " says
 * nothing. Lines of the same form whose numbers do are still told apart. */
static void test_mixed(void)
{
    static const char text[] =
        "2: [default5]:Killed\n1: [default2]:[rank7]: step 7\n1: [default1]:Killed\n2: [default1]:Killed\n"
        "1: [default1]:Killed\n0: [default1]:Killed\n";
    static const int64_t ranks[] = {-1, 6, 11, 1}, counts[] = {1, 2, 1, 1};
    assay_log_file file;
    read_text(text, sizeof text - 1, 0, &file);
    CU_ASSERT_EQUAL_FATAL(file.event.count, 4);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT(file.event.list[i].rank == ranks[i] && file.event.list[i].count == (uint64_t)counts[i]);
    assay_log_file_release(&file);
}

/* Lines that differ in numbers only are not judged anew, unless the numbers say something. */
static void test_alike(void)
{
#define TRACEBACK(rank, line, exception)                                                                               \
    "[rank" rank "]: Traceback (most recent call last):\n[rank" rank "]:   File \"/w/a.py\", line " line               \
    ", in f\n[rank" rank "]: " exception "\n"
    static const char text[] =
        "[rank3]: ValueError: sample 17\n[rank4]: ValueError: sample 18\n[rank3]: ValueError: sample 19\n"
        "n1 kernel: NVRM: Xid (PCI:0000:1b:00): 13, pid=1\nn1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1\n"
        "404 Client Error, ArrowInvalid: x\n401 Client Error, ArrowInvalid: x\n404 Client Error, ArrowInvalid: x\n"
        "loss 1\r[rank3]: Bus error\r[rank3]: Bus error, Segmentation fault\r[rank3]: Bus error\n"
        "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0\nn1:1:2 [0] NCCL INFO comm 0x1 rank 1 nranks 2 cudaDev 0\n"
        "2026-11-27 03:12:07,123 n1: Bus error\n2026-11-27 03:12:08,456 n2: Bus error\n2026-11-27 13:12:10,789 n1: Bus error\n" TRACEBACK(
            "6", "11", "OSError: 1") TRACEBACK("6", "12", "Bus error: 2") TRACEBACK("7", "13", "OSError: 3")
            TRACEBACK("6", "14",
                      "FileNotFoundError: x") "\x1b[31m[rank8]: \x1b[0mBus error\n\x1b[31m[rank9]: \x1b[0mBus error\n";
    static const outcome outcomes[] = {{"exception", 3, 2, "", ""},
                                       {"exception", 4, 1, "", ""},
                                       {"xid_13", -1, 1, "", "n1"},
                                       {"xid_79", -1, 1, "", "n1"},
                                       {"data_arrow", -1, 2, "", ""},
                                       {"permission_unauthorized", -1, 1, "", ""},
                                       {"bus_error", 3, 2, "", ""},
                                       {"segfault", 3, 1, "", ""},
                                       {"noise_nccl_info", 0, 1, "", "n1"},
                                       {"noise_nccl_info", 1, 1, "", "n1"},
                                       {"bus_error", -1, 2, "", "n1"},
                                       {"bus_error", -1, 1, "", "n2"},
                                       {"exception", 6, 1, "a.py:11 in f", ""},
                                       {"bus_error", 6, 1, "", ""},
                                       {"exception", 7, 1, "a.py:13 in f", ""},
                                       {"file_not_found", 6, 1, "a.py:14 in f", ""},
                                       {"bus_error", 8, 1, "", ""},
                                       {"bus_error", 9, 1, "", ""}};
    assay_log_file file;
    read_text(text, sizeof text - 1, 0, &file);
    check_outcomes(&file, outcomes, sizeof outcomes / sizeof *outcomes);
    CU_ASSERT_EQUAL(file.lines, 28);
    assay_log_file_release(&file);
}

/* An output in which lines of ranks stand between one another, many tracebacks among them, and progress bars. */
static size_t write_output(char *to, size_t room)
{
    static const char *const lines[] = {
        "Traceback (most recent call last):", "  File \"/w/train.py\", line 100, in step", "    loss = model(batch)",
        "ValueError: sample 1"};
    size_t put = 0;
    for (int i = 0; put + 1000 < room; i++) {
        const int rank = i * 7 % 11, part = i / 11 % 6;
        put += (size_t)snprintf(to + put, room - put, "[rank%d]: ", rank);
        if (part < 4)
            put += (size_t)snprintf(to + put, room - put, "%s", lines[part]);
        else if (part == 4)
            for (int k = 0; k < 8; k++)
                put += (size_t)snprintf(to + put, room - put, "%d%%|## | %d/100\r", k, k);
        else
            put += (size_t)snprintf(to + put, room - put, "2026-11-27 03:12:07 step %d loss 1.5", i);
        put += (size_t)snprintf(to + put, room - put, i % 100 ? "\n" : "\r\n");
    }
    return put;
}

/* Pieces of any size say together what the whole says. */
static void test_pieces(void)
{
    enum { ROOM = 300000 };
    char *text = malloc(ROOM);
    assay_log_file whole, joined;
    CU_ASSERT_FATAL(text != NULL);
    const size_t size = write_output(text, ROOM);
    read_text(text, size, 0, &whole);
    CU_ASSERT(whole.event.count > 10 && whole.rank.count >= 11);
    for (uint64_t piece = 997; piece < size; piece = piece * 5 / 2) {
        read_text(text, size, piece, &joined);
        CU_ASSERT_EQUAL(joined.lines, whole.lines);
        CU_ASSERT_EQUAL(joined.bytes, whole.bytes);
        CU_ASSERT_EQUAL_FATAL(joined.event.count, whole.event.count);
        for (size_t i = 0; i < whole.event.count; i++) {
            const assay_log_event *a = &whole.event.list[i], *b = &joined.event.list[i];
            CU_ASSERT(a->line == b->line && a->at == b->at && a->last_line == b->last_line && a->last_at == b->last_at);
            CU_ASSERT(a->signature == b->signature && a->rank == b->rank && a->count == b->count && a->step == b->step);
            CU_ASSERT_STRING_EQUAL(a->place ? a->place : "", b->place ? b->place : "");
            CU_ASSERT_STRING_EQUAL(a->text, b->text);
        }
        CU_ASSERT_EQUAL_FATAL(joined.rank.count, whole.rank.count);
        for (size_t i = 0; i < whole.rank.count; i++) {
            const assay_log_rank *a = &whole.rank.list[i], *b = &joined.rank.list[i];
            CU_ASSERT(a->rank == b->rank && a->lines == b->lines && a->last_at == b->last_at);
            CU_ASSERT(a->last_line == b->last_line && a->last_step == b->last_step &&
                      a->last_step_at == b->last_step_at);
        }
        assay_log_file_release(&joined);
    }
    assay_log_file_release(&whole);
    free(text);
}

/* Ranks that come up late have more of the end looked at than was in memory until then. */
static void test_late_ranks(void)
{
    enum { ROOM = 2 << 20, BEFORE = 700000, ALL = 1500000, RANKS = 1000 };
    char *text = malloc(ROOM);
    size_t put = 0;
    int64_t step = -1;
    assay_log_file file;
    CU_ASSERT_FATAL(text != NULL);
    while (put < BEFORE)
        put += (size_t)snprintf(text + put, ROOM - put, "[rank0]: reads on\n");
    put += (size_t)snprintf(text + put, ROOM - put, "[rank7]: step 9 loss 1.0\n");
    while (put < ALL)
        put += (size_t)snprintf(text + put, ROOM - put, "[rank0]: reads on\n");
    for (int rank = 0; rank < RANKS; rank++)
        put += (size_t)snprintf(text + put, ROOM - put, "[rank%d]: ends\n", rank);
    read_text(text, put, 0, &file);
    CU_ASSERT_EQUAL(file.rank.count, RANKS);
    for (size_t i = 0; i < file.rank.count; i++)
        step = file.rank.list[i].rank == 7 ? file.rank.list[i].last_step : step;
    CU_ASSERT_EQUAL(step, 9);
    assay_log_file_release(&file);
    free(text);
}

/* Lines none of which is like another: they are counted all the same, and what they say is kept of a part of them. */
static void test_unlike(void)
{
    enum { LINES = 20000, ROOM = 100 * LINES };
    char *text = malloc(ROOM);
    size_t put = 0;
    assay_log_file file;
    CU_ASSERT_FATAL(text != NULL);
    for (int i = 0; i < LINES; i++) {
        char word[16];
        for (int k = 0; k < 15; k++)
            word[k] = (char)('a' + (i >> k) % 2);
        put += (size_t)snprintf(text + put, ROOM - put,
                                "[rank%d]: ValueError: %.15s\nn1 kernel: NVRM: Xid (%.15s): 79\n", i % 3, word, word);
    }
    read_text(text, put, 0, &file);
    CU_ASSERT_EQUAL_FATAL(file.event.count, 3 + 16384 + 1);
    for (size_t i = 0, rank = 0; i < file.event.count; i++) {
        const assay_log_event *e = &file.event.list[i];
        const bool last = i + 1 == file.event.count;
        if (e->scope == ASSAY_LOG_RANK) {
            CU_ASSERT(e->rank == (int64_t)rank++ && e->count >= LINES / 3);
        } else {
            CU_ASSERT(e->count == (last ? LINES - 16384 : 1) && e->last_line == (last ? 2 * LINES : e->line));
        }
    }
    assay_log_file_release(&file);
    free(text);
}

/* The step of an event is looked for in 400 lines before it, however many events stand there. */
static void test_vain(void)
{
    enum { EVENTS = 450, LOOKED = 400, ROOM = 64 * 2 * EVENTS };
    char *text = malloc(ROOM);
    size_t put = 0;
    assay_log_file file;
    CU_ASSERT_FATAL(text != NULL);
    for (int i = 0; i < 2 * EVENTS; i++)
        put += (size_t)snprintf(text + put, ROOM - put, "%s[rank%d]: KeyError: 'x'\n",
                                i == 0        ? "step 7 loss 2\n"
                                : i == EVENTS ? "step 9 loss 2\n"
                                              : "",
                                i);
    read_text(text, put, 0, &file);
    CU_ASSERT_EQUAL_FATAL(file.event.count, 2 * EVENTS);
    for (int i = 0; i < 2 * EVENTS; i++)
        CU_ASSERT_EQUAL(file.event.list[i].step, i % EVENTS >= LOOKED ? -1 : i < EVENTS ? 7 : 9);
    assay_log_file_release(&file);
    free(text);
}

/* The digits of a color say nothing of who wrote a line; those behind it do. */
static void test_colors(void)
{
    static const outcome outcomes[] = {{"exception", 0, 100, "", ""},
                                       {"exception", 1, 100, "", ""},
                                       {"exception", 2, 100, "", ""},
                                       {"cuda_oom_bare", -1, 2, "", ""}};
    char text[16384];
    size_t put = 0;
    assay_log_file file;
    for (int i = 0; i < 300; i++)
        put += (size_t)snprintf(text + put, sizeof text - put, "\x1b[3%dm[rank%d]: \x1b[1mValueError: x\x1b[0m\n",
                                i % 7, i % 3);
    for (int i = 0; i < 2; i++) /* what an escape cuts is found once it is gone */
        put += (size_t)snprintf(text + put, sizeof text - put, "a:%d ValueError: CUDA out\x1b[0m of memory\n", i);
    read_text(text, put, 0, &file);
    check_outcomes(&file, outcomes, 4);
    assay_log_file_release(&file);
}

/* Lines that Docker keeps are not judged anew, unless what is escaped in them, or their time, says something. */
static void test_wrapped_alike(void)
{
    static const char *const others[] = {
        "\"log\":\"ValueError: \\u0043UDA out of memory\\n\",\"stream\":\"e\",\"time\":\"\"",
        "\"log\":\"ValueError: \\\"CUDA out of memory\\n\",\"stream\":\"e\",\"time\":\"\""};
    static const outcome outcomes[] = {{"exception", 0, 100, "", ""},
                                       {"exception", 1, 100, "", ""},
                                       {"exception", 2, 100, "", ""},
                                       {"cuda_oom_bare", -1, 2, "", ""}};
    char text[65536];
    size_t put = 0;
    assay_log_file file;
    for (int i = 0; i < 300; i++)
        put += (size_t)snprintf(text + put, sizeof text - put,
                                "{\"log\":\"[rank%d]: ValueError: %c%c\\n\",\"stream\":\"stderr\",\"time\":"
                                "\"2026-11-27T03:12:07.%06dZ\"}\n",
                                i % 3, 'a' + i % 7, 'a' + i % 11, i);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        put += (size_t)snprintf(text + put, sizeof text - put, "{%s}\n", others[i]);
    read_text(text, put, 0, &file);
    check_outcomes(&file, outcomes, 4);
    assay_log_file_release(&file);
}

int main(void)
{
    CU_TestInfo tests[] = {{"prefix", test_prefix},
                           {"vain", test_vain},
                           {"colors", test_colors},
                           {"wrapped_alike", test_wrapped_alike},
                           {"find", test_find},
                           {"first_words", test_first_words},
                           {"agents", test_agents},
                           {"kinds", test_kinds},
                           {"shown", test_shown},
                           {"steps", test_steps},
                           {"last_begin", test_last_begin},
                           {"clean", test_clean},
                           {"wrapped", test_wrapped},
                           {"slow", test_slow},
                           {"fronts", test_fronts},
                           {"passed", test_passed},
                           {"sentence", test_sentence},
                           {"heads", test_heads},
                           {"alike", test_alike},
                           {"mixed", test_mixed},
                           {"pieces", test_pieces},
                           {"unlike", test_unlike},
                           {"late_ranks", test_late_ranks},
                           CU_TEST_INFO_NULL};
    return unit_main("joblog", tests);
}
