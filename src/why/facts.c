/* facts.c - what Slurm says of the job: its nodes, how ranks lie on them, how it ended.
 *
 * Read are an environment (SLURM_JOB_NODELIST=...), `scontrol show job`, and tables of sacct with a line of names. Of this
 * process' own environment the same, where it is the job's. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "why/internal.h"

enum { NODES_MOST = 100000, FILE_MOST = 4 << 20, COLUMNS_MOST = 64 };

typedef struct said {
    char nodes[8192], per_node[1024], distribution[64];
    long long tasks;
} said;

void why_facts_release(why_facts *f)
{
    free(f->node);
    free(f->first);
    *f = (why_facts){.tasks = -1};
}

static void keep(char *to, size_t room, const char *value, size_t length)
{
    while (length > 0 && (*value == '"' || *value == '\'')) {
        value++;
        length--;
    }
    while (length > 0 && (value[length - 1] == '"' || value[length - 1] == '\'' || value[length - 1] == '\r'))
        length--;
    if (length > 0 && length < room && !(length == 6 && memcmp(value, "(null)", 6) == 0))
        snprintf(to, room, "%.*s", (int)length, value);
}

static void take(said *s, why_facts *f, const char *key, size_t key_length, const char *value, size_t length,
                 const char *file)
{
    static const struct {
        const char *key;
        int what;
    } KEYS[] = {{"SLURM_JOB_NODELIST", 0},
                {"SLURM_NODELIST", 0},
                {"NodeList", 0},
                {"SLURM_TASKS_PER_NODE", 1},
                {"SLURM_STEP_TASKS_PER_NODE", 1},
                {"SLURM_DISTRIBUTION", 2},
                {"SLURM_NTASKS", 3},
                {"SLURM_NPROCS", 3},
                {"NumTasks", 3},
                {"JobState", 4},
                {"State", 4},
                {"ExitCode", 5},
                {"DerivedExitCode", 6}};
    char number[32] = "";
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        if (strlen(KEYS[i].key) != key_length || memcmp(KEYS[i].key, key, key_length) != 0)
            continue;
        switch (KEYS[i].what) {
        case 0:
            keep(s->nodes, sizeof s->nodes, value, length);
            break;
        case 1:
            keep(s->per_node, sizeof s->per_node, value, length);
            break;
        case 2:
            keep(s->distribution, sizeof s->distribution, value, length);
            break;
        case 3:
            keep(number, sizeof number, value, length);
            s->tasks = number[0] ? strtoll(number, NULL, 10) : s->tasks;
            break;
        case 4:
            if (!f->state[0]) {
                keep(f->state, sizeof f->state, value, length);
                f->state[strcspn(f->state, " +")] = '\0'; /* "CANCELLED by 1000", "OUT_OF_ME+" */
                snprintf(f->file, sizeof f->file, "%s", file);
            }
            break;
        case 5:
            if (!f->exit_code[0])
                keep(f->exit_code, sizeof f->exit_code, value, length);
            break;
        default:
            break;
        }
    }
}

/* Words KEY=VALUE of a line; a value goes to the next blank, or to the end of a line that has one word. */
static void take_words(said *s, why_facts *f, const char *line, size_t length, const char *file)
{
    static const char *const fronts[] = {"export ", "declare -x "};
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        const size_t front = strlen(fronts[i]);
        if (length > front && memcmp(line, fronts[i], front) == 0) {
            line += front;
            length -= front;
        }
    }
    for (size_t at = 0; at < length;) {
        while (at < length && line[at] == ' ')
            at++;
        size_t end = at;
        while (end < length && line[end] != ' ')
            end++;
        const char *sign = memchr(line + at, '=', end - at);
        if (sign)
            take(s, f, line + at, (size_t)(sign - line) - at, sign + 1, end - (size_t)(sign + 1 - line), file);
        at = end;
    }
}

/* A table of sacct: names between bars, or in columns above "-----". */
typedef struct table {
    size_t columns, from[COLUMNS_MOST], end[COLUMNS_MOST];
    char name[COLUMNS_MOST][24];
    char job[32]; /* of the first row, as JobID has it */
    bool bars, widths, rows;
    char head[2048];
} table;

static void split_bars(table *t, const char *line, size_t length)
{
    size_t at = 0;
    t->columns = 0;
    while (at <= length && t->columns < COLUMNS_MOST) {
        size_t end = at;
        while (end < length && line[end] != '|')
            end++;
        t->from[t->columns] = at;
        t->end[t->columns++] = end;
        at = end + 1;
    }
}

static void split_widths(table *t, const char *line, size_t length)
{
    t->columns = 0;
    for (size_t at = 0; at < length && t->columns < COLUMNS_MOST;) {
        size_t end = at;
        while (end < length && line[end] == '-')
            end++;
        if (end > at) {
            t->from[t->columns] = at;
            t->end[t->columns++] = end;
        }
        at = end + 1;
    }
}

/* Leaves out blanks around what lies there in a line, and what lies behind it. */
static void trim(const char *line, size_t length, size_t *from, size_t *end)
{
    *from = *from < length ? *from : length;
    *end = *end < length ? *end : length;
    while (*from < *end && line[*from] == ' ')
        ++*from;
    while (*end > *from && line[*end - 1] == ' ')
        --*end;
}

static void name_columns(table *t, const char *line, size_t length)
{
    for (size_t c = 0; c < t->columns; c++) {
        size_t from = t->from[c], end = t->end[c];
        trim(line, length, &from, &end);
        snprintf(t->name[c], sizeof t->name[c], "%.*s", (int)(end - from), line + from);
    }
}

/* True when the line is part of a table. */
static bool take_row(table *t, said *s, why_facts *f, const char *line, size_t length, const char *file)
{
    if (t->columns == 0 && memchr(line, '|', length) && memmem(line, length, "State", 5)) {
        split_bars(t, line, length);
        name_columns(t, line, length);
        t->bars = true;
        return true;
    }
    if (t->columns == 0 && length > 4 && strspn(line, "- ") >= length && memmem(line, length, "---", 3)) {
        split_widths(t, line, length);
        name_columns(t, t->head, strlen(t->head));
        t->widths = true;
        return true;
    }
    if (t->columns == 0) {
        snprintf(t->head, sizeof t->head, "%.*s", (int)(length < sizeof t->head ? length : sizeof t->head - 1), line);
        return false;
    }
    table row = *t;
    if (t->bars)
        split_bars(&row, line, length);
    for (size_t c = 0; c < row.columns && c < t->columns; c++)
        trim(line, length, &row.from[c], &row.end[c]);
    const bool named = row.columns > 0 && strcmp(t->name[0], "JobID") == 0 && row.end[0] - row.from[0] < sizeof t->job;
    if (!t->rows && named)
        snprintf(t->job, sizeof t->job, "%.*s", (int)(row.end[0] - row.from[0]), line + row.from[0]);
    const bool again = t->rows && named && t->job[0] && row.end[0] - row.from[0] == strlen(t->job) &&
                       memcmp(line + row.from[0], t->job, strlen(t->job)) == 0;
    if (t->rows && !again) /* a step of the job, which stands behind it */
        return true;
    if (again) /* it was put back into the queue: how it ended then counts */
        f->state[0] = f->exit_code[0] = '\0';
    for (size_t c = 0; c < row.columns && c < t->columns; c++)
        take(s, f, t->name[c], strlen(t->name[c]), line + row.from[c], row.end[c] - row.from[c], file);
    t->rows = true;
    return true;
}

/* ---- nodes ---- */

static bool add_node(why_facts *f, assay_buf *names, const char *name, size_t length)
{
    if (length == 0 || f->nodes >= NODES_MOST)
        return false;
    assay_put_bytes(names, name, length);
    assay_put_u8(names, 0);
    f->nodes++;
    return true;
}

/* "n[0123-0125,0130],gpu7": calls add_node() for each. */
static void expand(why_facts *f, const char *list, assay_buf *names)
{
    while (*list) {
        const size_t stem = strcspn(list, "[,");
        char name[256];
        if (list[stem] != '[') {
            add_node(f, names, list, stem);
            list += stem + (list[stem] == ',');
            continue;
        }
        const char *at = list + stem + 1;
        while (*at && *at != ']') {
            const size_t digits = strspn(at, "0123456789");
            const long long first = strtoll(at, NULL, 10),
                            last = at[digits] == '-' ? strtoll(at + digits + 1, NULL, 10) : first;
            for (long long n = first; n <= last && n < LLONG_MAX && f->nodes < NODES_MOST; n++) {
                snprintf(name, sizeof name, "%.*s%0*lld", (int)(stem < 200 ? stem : 200), list,
                         (int)(digits < 20 ? digits : 20), n);
                add_node(f, names, name, strlen(name));
            }
            at += strcspn(at, ",]");
            at += *at == ',';
        }
        list = *at ? at + 1 : at;
        list += *list == ',';
    }
}

/* "8(x3),4": ranks of each node, where they are dealt out in blocks. */
static int place_ranks(why_facts *f, const said *s)
{
    int64_t rank = 0;
    size_t node = 0;
    const char *at = s->per_node;
    if (f->nodes == 0)
        return ASSAY_OK;
    f->first = assay_alloc_zeroed(f->nodes + 1, sizeof *f->first);
    ASSAY_HAVE(f->first);
    while (*at && node < f->nodes) {
        char *end = NULL;
        const long long tasks = strtoll(at, &end, 10);
        long long times = 1;
        if (end == at || tasks < 0 || tasks > 1 << 20)
            break;
        if (strncmp(end, "(x", 2) == 0) {
            times = strtoll(end + 2, &end, 10);
            end += *end == ')';
        }
        for (long long i = 0; i < times && node < f->nodes; i++) {
            f->first[node++] = rank;
            rank += tasks;
        }
        at = *end == ',' ? end + 1 : end;
        if (*end != ',')
            break;
    }
    if (node < f->nodes || f->nodes == 0) { /* not said of all of them */
        free(f->first);
        f->first = NULL;
        return ASSAY_OK;
    }
    f->first[f->nodes] = rank;
    return ASSAY_OK;
}

const char *why_node_of(const why_facts *f, int64_t rank)
{
    const char *name = f->node;
    if (!f->first || !f->block || rank < 0)
        return NULL;
    for (size_t i = 0; i < f->nodes; i++, name += strlen(name) + 1)
        if (rank >= f->first[i] && rank < f->first[i + 1])
            return name;
    return NULL;
}

int why_facts_read(assay_store *store, const why_places *places, why_facts *out)
{
    said s = {.tasks = -1};
    assay_buf names = ASSAY_BUF(64 << 20);
    int status = ASSAY_OK;
    *out = (why_facts){.tasks = -1};
    const char *own = getenv("SLURM_JOB_ID");
    if (own && places->job >= 0 && strtoll(own, NULL, 10) == places->job) {
        static const char *const keys[] = {"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_DISTRIBUTION",
                                           "SLURM_NTASKS"};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            const char *value = getenv(keys[i]);
            if (value)
                take(&s, out, keys[i], strlen(keys[i]), value, strlen(value), "");
        }
    }
    for (size_t i = 0; i < places->list.count && status == ASSAY_OK; i++) {
        const why_place *p = &places->list.list[i];
        table t = {0};
        assay_buf text = ASSAY_BUF(FILE_MOST);
        assay_error why = {""};
        if (p->kind != WHY_SLURM)
            continue;
        status = assay_store_read(store, p->path, FILE_MOST, &text, &why);
        status = status == ASSAY_ENOMEM ? status : ASSAY_OK;
        uint64_t number = 0;
        for (size_t at = 0; at < text.size;) {
            const char *line = (const char *)text.data + at, *end = memchr(line, '\n', text.size - at);
            const size_t length = end ? (size_t)(end - line) : text.size - at;
            char *copy = assay_copy_bytes_as_text(line, length);
            if (copy && !take_row(&t, &s, out, copy, strlen(copy), p->path))
                take_words(&s, out, copy, strlen(copy), p->path);
            free(copy);
            number++;
            out->line = out->state[0] && out->line == 0 ? number : out->line;
            at += length + 1;
        }
        assay_buf_release(&text);
    }
    expand(out, s.nodes, &names);
    if (assay_buf_status(&names) != ASSAY_OK)
        out->nodes = 0;
    if (status == ASSAY_OK && out->nodes > 0) {
        out->node = assay_alloc(names.size);
        if (out->node)
            memcpy(out->node, names.data, names.size);
        status = out->node ? place_ranks(out, &s) : ASSAY_ENOMEM;
    }
    assay_buf_release(&names);
    out->tasks = s.tasks;
    out->assumed = !s.distribution[0] && out->first && out->first[out->nodes] > (int64_t)out->nodes;
    out->block = out->assumed || strncmp(s.distribution, "block", 5) == 0;
    if (out->nodes == 1) /* any distribution over one node is the same */
        out->block = true;
    return status;
}
