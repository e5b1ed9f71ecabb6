/* prefix.c - what stands in front of a line: who wrote it, where and when.
 *
 *   3: text                              srun -l
 *   [rank3]: [default7]: [n0123:rank3]:  PyTorch, torchrun, launchers of sites
 *   [1,3]<stderr>:                       mpirun --tag-output
 *   n0123:4711:4799 [3] NCCL WARN text   NCCL
 *   n0123: text                          pdsh, clush
 *   2026-11-27 03:12:07,123 text         logging; with T, zone, brackets, slashes
 *   2026-11-27T03:12:07.123Z stderr F    containers
 *   E1127 03:12:07.123456 4711 f.cpp:6]  glog; torchrun
 *   Nov 27 03:12:07 n0123 kernel: text   syslog; [Fri Nov 27 03:12:07 2026] of dmesg -T
 *   train-1  | text, [pod/train-1/pytorch] text    what Docker Compose and kubectl put in front
 *   ERROR:root:text,  - ERROR - text,  | ERROR    | a:b:12 - text    loggers, behind a time or without
 *   {"log":"text\n","stream":"stderr","time":"2026-11-27T03:12:07.1Z"}    Docker: read as the line of a container
 *
 * Several may follow one another; of what two of them say, the first counts. */
#include <math.h>
#include <string.h>

#include "base/path.h"
#include "format/joblog/joblog.h"
#include "format/joblog/text.h"

enum { PARTS_MOST = 6, BRACKET_MOST = 120, RANK_DIGITS = 6 };

/* ---- who ---- */

/* Behind a time of a container's log: which output it was, and whether the line is whole; or one blank. */
static void skip_stream(text *t)
{
    static const char *const streams[] = {" stdout F ", " stderr F ", " stdout P ", " stderr P "};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (skip_word(t, streams[i]))
            return;
    if (t->at[-1] == 'Z')
        (void)skip_byte(t, ' ');
}

/* Bits of '-', '.', digits, capitals, '_' and small letters: asked of many bytes. */
static bool is_name_byte(char c)
{
    static const uint64_t bits[4] = {UINT64_C(0x03ff600000000000), UINT64_C(0x07fffffe87fffffe)};
    return bits[(unsigned char)c / 64] >> ((unsigned char)c % 64) & 1;
}

static size_t name_length(const text *t)
{
    size_t length = 0;
    while (length < t->left && is_name_byte(t->at[length]))
        length++;
    return length;
}

/* Digits alone are no node: they are what is left of its name where a line was cut ("2:4711:4711 [2] NCCL INFO"). */
static void set_node(joblog_prefix *out, const char *name, size_t length)
{
    size_t digits = 0;
    while (digits < length && assay_is_digit(name[digits]))
        digits++;
    if (out->node[0] || digits == length || length >= sizeof out->node)
        return;
    memcpy(out->node, name, length);
    out->node[length] = '\0';
}

/* Is it what a host may be called: small letters, and a digit at its end? Words of progress are none. */
static bool is_host(const char *name, size_t length)
{
    static const char *const others[] = {"step", "epoch", "iter", "rank", "worker", "layer", "batch",
                                         "gpu",  "stage", "line", "cuda", "block",  "task",  "python"};
    if (length < 2 || length > 63 || !assay_is_digit(name[length - 1]) || !(name[0] >= 'a' && name[0] <= 'z'))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t word = strlen(others[i]);
        if (length >= word && memcmp(name, others[i], word) == 0)
            return false;
    }
    for (size_t i = 0; i < length; i++)
        if (!is_name_byte(name[i]) || name[i] == '_' || (name[i] >= 'A' && name[i] <= 'Z'))
            return false;
    return true;
}

/* "rank3", "Rank 3", "rank=3" anywhere in a few bytes. */
static bool find_rank(const char *s, size_t length, int64_t *rank)
{
    for (size_t i = 0; i + 4 < length; i++) {
        const bool word = (s[i] == 'r' || s[i] == 'R') && memcmp(s + i + 1, "ank", 3) == 0;
        const bool local = i > 0 && s[i - 1] == '_';
        if (!word || local)
            continue;
        text t = {s + i + 4, length - i - 4};
        if (t.left > 0 && (*t.at == ' ' || *t.at == '=' || *t.at == ':' || *t.at == '_'))
            skip(&t, 1);
        if (take_number(&t, 1, RANK_DIGITS, rank))
            return true;
    }
    return false;
}

/* What stands in brackets. False: nothing that is known. */
static bool read_bracket(const char *s, size_t length, bool first, joblog_prefix *out)
{
    static const char *const local[] = {"default", "trainer", "worker", "local_rank", "local_rank="};
    text t = {s, length};
    int64_t a, b;
    bool glog;
    if (joblog_take_time(&t, out, &glog))
        return true;
    if (find_rank(s, length, &a)) {
        const char *colon = memchr(s, ':', length);
        if (colon && is_host(s, (size_t)(colon - s)))
            set_node(out, s, (size_t)(colon - s));
        if (out->rank < 0)
            out->rank = a;
        return true;
    }
    t = (text){s, length};
    if (take_number(&t, 1, RANK_DIGITS, &a)) {
        if (t.left == 0) { /* "[3]" */
            if (first && out->rank < 0)
                out->rank = a;
            return first;
        }
        if (skip_byte(&t, ',') && take_number(&t, 1, RANK_DIGITS, &b) && t.left == 0) { /* "[1,3]" */
            if (out->rank < 0)
                out->rank = b;
            return true;
        }
        return t.left > 1 && (*t.at == '.' || t.at[1] == '.'); /* seconds since the machine began */
    }
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        t = (text){s, length};
        if (skip_word(&t, local[i]) && take_number(&t, 1, RANK_DIGITS, &a) && t.left == 0) {
            if (out->local_rank < 0)
                out->local_rank = a;
            return true;
        }
    }
    t = (text){s, length};
    const bool pod = skip_word(&t, "pod/"); /* "[pod/train-1/pytorch]" */
    if (pod)
        set_node(out, t.at, name_length(&t));
    for (size_t i = 0; i < length; i++) /* "[INFO]", "[trainer.py]" */
        if (!is_name_byte(s[i]) && s[i] != ' ' && s[i] != ':' && !(pod && s[i] == '/'))
            return false;
    const char *colon = memchr(s, ':', length); /* "[n0123:193313]", as Open MPI has it: a node and a process */
    t = (text){colon ? colon + 1 : s, colon ? length - (size_t)(colon + 1 - s) : 0};
    if (colon && is_host(s, (size_t)(colon - s)) && assay_is_digit(colon[-1]) && take_number(&t, 4, 8, &a) &&
        t.left == 0)
        set_node(out, s, (size_t)(colon - s));
    return true;
}

/* "[3]:" and nothing behind it: an item of a list. */
static bool is_number_alone(const char *line, size_t length, const char *end)
{
    for (const char *at = line + 1; at < end; at++)
        if (!assay_is_digit(*at))
            return false;
    size_t behind = (size_t)(end - line) + 1;
    while (behind < length && (line[behind] == ':' || line[behind] == ' ' || line[behind] == '\r'))
        behind++;
    return behind == length;
}

static bool take_bracket(text *t, bool first, joblog_prefix *out)
{
    if (t->left < 3 || *t->at != '[')
        return false;
    const char *end = memchr(t->at, ']', t->left < BRACKET_MOST ? t->left : BRACKET_MOST);
    if (!end || is_number_alone(t->at, t->left, end) || !read_bracket(t->at + 1, (size_t)(end - t->at - 1), first, out))
        return false;
    skip(t, (size_t)(end - t->at) + 1);
    if (!skip_word(t, "<stdout>"))
        (void)skip_word(t, "<stderr>");
    if (skip_byte(t, ':'))
        (void)skip_byte(t, ' '); /* what stands behind one blank is indented by its program */
    return true;
}

/* "n0123:4711:4799 [3] NCCL WARN", "n0123: text" */
static bool take_host(text *t, joblog_prefix *out)
{
    const size_t length = name_length(t);
    text ahead = *t;
    int64_t number;
    if (length == 0 || length + 1 >= t->left || t->at[length] != ':')
        return false;
    skip(&ahead, length + 1);
    if (take_number(&ahead, 1, 8, &number) && skip_byte(&ahead, ':') && take_number(&ahead, 1, 8, &number) &&
        skip_word(&ahead, " [")) {
        set_node(out, t->at, length);
        if (take_number(&ahead, 1, 3, &number) && skip_byte(&ahead, ']') && out->local_rank < 0)
            out->local_rank = number;
        *t = ahead;
        return true;
    }
    ahead = *t;
    skip(&ahead, length);
    static const char daemon[] = "slurmstepd-"; /* its name stays part of what it says */
    if (length > sizeof daemon - 1 && memcmp(t->at, daemon, sizeof daemon - 1) == 0) {
        set_node(out, t->at + sizeof daemon - 1, length - (sizeof daemon - 1));
        return false;
    }
    if (!is_host(t->at, length) || !skip_word(&ahead, ": "))
        return false;
    set_node(out, t->at, length);
    *t = ahead;
    return true;
}

/* "train-1  | text", "pod-0  text": columns of names of containers. */
static bool take_column(text *t, joblog_prefix *out)
{
    const size_t length = t->left > 0 && *t->at >= 'a' && *t->at <= 'z' ? name_length(t) : 0;
    text ahead = *t;
    size_t digits = 0, blanks = 0;
    while (digits < length && assay_is_digit(t->at[length - 1 - digits]))
        digits++;
    if (digits == 0 || digits + 1 >= length || !strchr("-_", t->at[length - 1 - digits]))
        return false;
    skip(&ahead, length);
    for (; ahead.left > 0 && *ahead.at == ' '; blanks++)
        skip(&ahead, 1);
    if (skip_byte(&ahead, '|')) {
        if (ahead.left > 0 && !skip_byte(&ahead, ' '))
            return false;
    } else if (blanks < 2 || !is_host(t->at, length)) {
        return false;
    }
    set_node(out, t->at, length);
    *t = ahead;
    return true;
}

static bool is_level(const char *word, size_t length)
{
    switch (length) { /* asked of many words */
    case 4:
        return memcmp(word, "INFO", 4) == 0 || memcmp(word, "WARN", 4) == 0;
    case 5:
        return memcmp(word, "ERROR", 5) == 0 || memcmp(word, "FATAL", 5) == 0 || memcmp(word, "DEBUG", 5) == 0 ||
               memcmp(word, "TRACE", 5) == 0;
    case 7:
        return memcmp(word, "WARNING", 7) == 0;
    case 8:
        return memcmp(word, "CRITICAL", 8) == 0;
    default:
        return false;
    }
}

/* The bytes of a level that goes before a byte of no name; 0: there is none. */
static size_t level_length(const char *word, size_t most)
{
    const bool may = most > 3 && strchr("ECFWIDT", *word); /* few words do */
    const size_t name = may ? name_length(&(text){word, most}) : 0;
    return is_level(word, name) ? name : 0;
}

/* A byte of a name of a logger, or of "module:<function>:12". */
static bool is_field_byte(char c)
{
    return is_name_byte(c) || c == ':' || c == '<' || c == '>';
}

/* " - ", " | " between fields of a logger. */
static bool skip_separator(text *t)
{
    text ahead = *t;
    skip_blanks(&ahead);
    if ((!skip_byte(&ahead, '-') && !skip_byte(&ahead, '|')) || !skip_byte(&ahead, ' '))
        return false;
    skip_blanks(&ahead);
    *t = ahead;
    return true;
}

/* "ERROR:root:", " - trainer - ERROR - ", " | ERROR    | a:b:12 - ", " ERROR " behind a time: what loggers put in front. */
static bool take_logger(text *t, bool timed)
{
    enum { FIELDS_MOST = 4 };
    text ahead = *t, end = *t;
    bool separated = skip_separator(&ahead), level = false;
    if (!separated && (t->left < 5 || *t->at < 'C' || *t->at > 'W')) /* most lines */
        return false;
    for (int field = 0; field < FIELDS_MOST; field++) {
        const char *const word = ahead.at;
        size_t length = 0;
        while (length < ahead.left && is_field_byte(word[length]))
            length++;
        const size_t name = !level && field == 0 ? level_length(word, length) : 0;
        if (length == 0 || (level && *word >= 'A' && *word <= 'Z')) /* which may be an exception */
            break;
        skip(&ahead, length);
        if (name > 0 && length > name + 1) { /* the text may follow at once */
            const char *colon = memchr(word + name + 1, ':', length - name - 1);
            if (colon)
                end = (text){colon + 1, t->left - (size_t)(colon + 1 - t->at)};
            level = colon != NULL;
            break;
        }
        const bool now = is_level(word, length);
        level = level || now;
        if (skip_separator(&ahead)) {
            separated = true;
            end = level ? ahead : end;
        } else {
            if (now && (timed || separated) && skip_byte(&ahead, ' '))
                end = ahead;
            break;
        }
    }
    if (end.at == t->at)
        return false;
    *t = end;
    return true;
}

/* Behind a time of syslog: "n0123 kernel: " */
static void take_syslog_host(text *t, joblog_prefix *out)
{
    text ahead = *t;
    skip_blanks(&ahead);
    const size_t length = name_length(&ahead);
    if (length == 0 || length + 2 >= ahead.left || ahead.at[length] != ' ')
        return;
    text behind = ahead;
    skip(&behind, length + 1);
    const size_t program = name_length(&behind);
    if (program == 0 || program + 1 >= behind.left)
        return;
    const char c = behind.at[program];
    const bool kernel = program == 6 && memcmp(behind.at, "kernel", 6) == 0 && c == ':';
    const char *pid = c == '[' ? memchr(behind.at, ']', behind.left) : NULL;
    const bool daemon =
        pid && (size_t)(pid - behind.at) + 1 < behind.left && pid[1] == ':' && assay_is_digit(behind.at[program + 1]);
    if (!kernel && !daemon)
        return;
    set_node(out, ahead.at, length);
    skip(&behind, kernel ? program + 1 : (size_t)(pid + 2 - behind.at));
    *t = behind;
}

static bool take_task(text *t, joblog_prefix *out)
{
    text ahead = *t;
    int64_t rank;
    if (t->left == 0 || (*t->at != ' ' && !assay_is_digit(*t->at))) /* most lines */
        return false;
    skip_blanks(&ahead);
    if (!take_number(&ahead, 1, RANK_DIGITS, &rank) || !skip_byte(&ahead, ':') || (ahead.left > 0 && *ahead.at != ' '))
        return false;
    out->rank = rank;
    (void)skip_byte(&ahead, ' ');
    *t = ahead;
    return true;
}

/* "(RayTrainWorker pid=4711, ip=10.0.0.5) ", which Ray and vLLM put in front. */
static bool take_process(text *t, joblog_prefix *out)
{
    static const char pid[] = " pid=", ip[] = " ip=";
    const char *end =
        t->left > 0 && *t->at == '(' ? memchr(t->at, ')', t->left < BRACKET_MOST ? t->left : BRACKET_MOST) : NULL;
    const size_t length = end ? (size_t)(end - t->at) : 0;
    const char *at = joblog_find(t->at, length, pid);
    if (!at)
        return false;
    text number = {at + sizeof pid - 1, (size_t)(end - at) - (sizeof pid - 1)};
    if (out->pid < 0)
        (void)take_number(&number, 1, 9, &out->pid);
    const char *rank = joblog_find(t->at, length, "rank=");
    text own = {rank ? rank + 5 : end, rank ? (size_t)(end - rank) - 5 : 0};
    if (out->rank < 0 && rank && (rank[-1] == ' ' || rank[-1] == '('))
        (void)take_number(&own, 1, RANK_DIGITS, &out->rank);
    at = joblog_find(t->at, length, ip);
    if (at)
        set_node(out, at + sizeof ip - 1,
                 name_length(&(text){at + sizeof ip - 1, (size_t)(end - at) - (sizeof ip - 1)}));
    skip(t, length + 1);
    (void)skip_byte(t, ' ');
    return true;
}

/* May a name of small letters be what take_host() or take_column() take? Mostly it is a word of a text. */
static bool may_be_name(const text *t)
{
    const size_t length = name_length(t);
    return length < t->left && (t->at[length] == ':' || assay_is_digit(t->at[length - 1]));
}

/* Takes what is in front; *who: it is of a launcher, which says who wrote the line. */
static bool take_part(text *t, bool first, bool *who, joblog_prefix *out)
{
    const int64_t rank = out->rank, local = out->local_rank;
    bool glog = false;
    *who = false;
    skip_blanks(t);
    if (t->left == 0 || (*t->at >= 'a' && *t->at <= 'z' && !may_be_name(t)) ||
        (!is_name_byte(*t->at) && !memchr("[(|", *t->at, 3)))
        return false;
    if (joblog_take_time(t, out, &glog)) {
        skip_stream(t);
        const char *end = glog ? memchr(t->at, ']', t->left < BRACKET_MOST ? t->left : BRACKET_MOST) : NULL;
        if (end)
            skip(t, (size_t)(end - t->at) + 1);
        else
            take_syslog_host(t, out);
        return true;
    }
    const bool bracket = t->left > 0 && *t->at == '[';
    const uint8_t timed = out->timed;
    if (!take_bracket(t, first, out) && !take_process(t, out) && !take_host(t, out) && !take_column(t, out))
        return take_logger(t, timed != ASSAY_LOG_UNTIMED);
    *who = bracket && (out->rank != rank || out->local_rank != local) && out->timed == timed;
    return true;
}

void joblog_prefix_read(const char *line, size_t length, joblog_prefix *out)
{
    text t = {line, length};
    bool own = true;
    *out = (joblog_prefix){.rank = -1, .local_rank = -1, .pid = -1, .agent = -1, .time = NAN};
    (void)take_task(&t, out);
    out->own = length - t.left;
    for (int part = 0; part < PARTS_MOST; part++) {
        text ahead = t;
        bool who = false;
        if (!take_part(&ahead, part == 0, &who, out))
            break;
        t = ahead;
        own = own && who;
        if (own)
            out->own = length - t.left;
    }
    out->length = length - t.left;
}

/* The local rank and the rank behind "6: ", where a launcher of a node stands in front. */
static void read_agent(const char *line, size_t length, int64_t *agent, int64_t *local, int64_t *rank)
{
    text t = {line, length};
    joblog_prefix first;
    *agent = *local = *rank = -1;
    if (!take_task(&t, &first))
        return;
    joblog_prefix behind = {.rank = -1, .local_rank = -1};
    *agent = first.rank;
    for (int part = 0; part < 2 && take_bracket(&t, false, &behind); part++)
        continue;
    *local = behind.local_rank;
    *rank = behind.rank;
}

void joblog_prefix_of(const char *line, size_t length, int64_t per_node, joblog_prefix *out)
{
    int64_t agent, local, rank;
    joblog_prefix_read(line, length, out);
    if (per_node == 0)
        return;
    read_agent(line, length, &agent, &local, &rank);
    if (agent < 0)
        return;
    out->agent = agent;
    out->rank = rank >= 0 ? rank : local >= 0 && local < per_node ? agent * per_node + local : -1;
}

size_t joblog_front_of(const char *line, size_t length, int64_t *rank, int64_t *local)
{
    text t = {line, length};
    *rank = *local = -1;
    if (length > 0 && *line == '[') {
        int64_t *number = skip_word(&t, "[rank") ? rank : skip_word(&t, "[default") ? local : NULL;
        if (!number || !take_number(&t, 1, RANK_DIGITS, number) || !skip_word(&t, "]:"))
            return 0;
    } else if (length == 0 || !assay_is_digit(*line) || !take_number(&t, 1, RANK_DIGITS, rank) || !skip_byte(&t, ':') ||
               (t.left > 0 && *t.at != ' ')) {
        return 0;
    }
    (void)skip_byte(&t, ' ');
    return length - t.left;
}

/* "[2026-11-27 03:12:07,123] [INFO] ": no rank is in front. Quick, for what loggers of whole trainings write. */
static bool is_dated_level(const char *line, size_t most)
{
    static const char form[] = "[0000-00-00 00:00:00";
    size_t at = 0;
    for (; at < sizeof form - 1 && at < most; at++)
        if (form[at] == '0' ? !assay_is_digit(line[at]) : line[at] != form[at])
            return false;
    if (at < most && (line[at] == ',' || line[at] == '.'))
        at++;
    while (at < most && assay_is_digit(line[at]))
        at++;
    if (at + 5 > most || memcmp(line + at, "] [", 3) != 0)
        return false;
    const size_t level = at += 3;
    while (at < most && line[at] >= 'A' && line[at] <= 'Z')
        at++;
    return at > level && at < most && line[at] == ']';
}

int64_t joblog_rank_of(const char *line, size_t length, int64_t per_node)
{
    const size_t most = length < 96 ? length : 96;
    int64_t rank, agent, local;
    if (per_node == 0 && length > 0 && *line != '[' && *line != ' ') { /* as most have it: "3: text", or no rank */
        size_t at = 0;
        for (rank = 0; at < most && at < RANK_DIGITS && assay_is_digit(line[at]); at++)
            rank = 10 * rank + (line[at] - '0');
        return at > 0 && at < most && line[at] == ':' && (at + 1 == most || line[at + 1] == ' ') ? rank : -1;
    }
    const size_t front = per_node == 0 ? joblog_front_of(line, most, &rank, &local) : 0;
    if (front > 0 && rank >= 0) /* as most have it */
        return rank;
    if (front > 0 && local >= 0 && front < most && line[front] != '[' &&
        line[front] != ' ') /* or so: "[default3]:text" */
        return local;
    text t = {line, most};
    joblog_prefix prefix = {.rank = -1, .local_rank = -1};
    if (per_node != 0) {
        read_agent(line, t.left, &agent, &local, &rank);
        return rank >= 0 ? rank : agent >= 0 && local >= 0 && local < per_node ? agent * per_node + local : -1;
    }
    if (take_task(&t, &prefix))
        return prefix.rank;
    if (length < 4 || line[0] != '[' || is_dated_level(line, most))
        return -1;
    for (int part = 0; part < 2 && take_bracket(&t, part == 0, &prefix) && prefix.rank < 0; part++)
        continue;
    return prefix.rank >= 0 ? prefix.rank : prefix.local_rank;
}

/* Does "ERROR:root:" end there? */
static bool is_behind_level(const char *line, size_t end)
{
    size_t from = end, word = 0;
    while (from > 0 && is_field_byte(line[from - 1]))
        from--;
    while (from < end && line[from] == ':') /* of "[default1]:" */
        from++;
    while (from + word < end && is_name_byte(line[from + word]))
        word++;
    return is_level(line + from, word);
}

/* May a time end with the digit before `end`: "03:12:07", "Fri Nov 27 03:12:07 2026"? */
static bool may_be_time(const char *line, size_t end)
{
    enum { CLOCK = 8, YEAR = 4 };
    size_t from = end;
    while (from > 0 && (assay_is_digit(line[from - 1]) || memchr(":.,+-", line[from - 1], 5) ||
                        (unsigned char)line[from - 1] < ' ')) /* which is cleaned out */
        from--;
    return end - from >= CLOCK ||
           (end - from == YEAR && from > 1 && line[from - 1] == ' ' && assay_is_digit(line[from - 2]));
}

bool joblog_may_be_first(const char *line, size_t at)
{
    while (at > 0 && is_name_byte(line[at - 1]))
        at--;
    const size_t word = at;
    while (at > 0 && (line[at - 1] == ' ' || line[at - 1] == '\t'))
        at--;
    if (at == 0)
        return true;
    const unsigned char c = (unsigned char)line[at - 1];
    if (c < 0x20 || c == 0x7f || c == '|' || (c == '-' && at > 1 && line[at - 2] == ' ') ||
        (assay_is_digit((char)c) && (word - at != 1 || may_be_time(line, at))) || /* "pod-0  text", too */
        memchr("])>ZCFP", c, 7))                                                  /* as take_part() has it */
        return true;
    if (c == ':' && at > 1 && /* "3:", "[rank3]:", "<stderr>:", "n0123:", "kernel:", "ERROR:root:" */
        (assay_is_digit(line[at - 2]) || memchr("]>l", line[at - 2], 4) || is_behind_level(line, at)))
        return true;
    size_t level = at;
    while (level > 0 && line[level - 1] >= 'A' && line[level - 1] <= 'Z')
        level--;
    return is_level(line + level, at - level) || memchr(line, 0x1b, at) || joblog_is_wrapped(line, at);
}

/* Does a line say what only the launcher of a node says? */
static bool is_of_launcher(const char *line, size_t length)
{
    static const char *const words[] = {"torch.distributed.elastic.multiprocessing.api:",
                                        "torch/distributed/elastic/multiprocessing/api.py:",
                                        "torch.distributed.run:",
                                        "torch/distributed/run.py:",
                                        "Root Cause (first observed failure)",
                                        "Setting OMP_NUM_THREADS environment variable for each process",
                                        "[launch.py:"};
    bool is = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !is; i++)
        is = joblog_find(line, length, words[i]) != NULL;
    return is;
}

int64_t joblog_per_node(const char *line, size_t length, int64_t *most)
{
    int64_t agent, local, rank;
    read_agent(line, length < 96 ? length : 96, &agent, &local, &rank);
    if (agent >= 0 && local < 0 && *most == 0 && is_of_launcher(line, length))
        *most = JOBLOG_AGENTS;
    if (agent < 0 || local < 0)
        return 0;
    *most = local + 1 > *most ? local + 1 : *most;
    return rank > local && agent > 0 && (rank - local) % agent == 0 ? (rank - local) / agent : 0;
}
