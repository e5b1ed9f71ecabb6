/* dlfw.c - logs of nvidia-dlfw-inspect: `time - LEVEL - name TABS iteration=000123 TABS value=1.2345`, a file a rank. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "format/metrics/printed.h"

/* Four decimals are printed. */
#define RESOLUTION 5e-5

typedef struct entry {
    const char *name, *value;
    size_t name_length, value_length;
    int64_t step;
} entry;

/* A blank, tabulators and a word (with the blank before it); returns what is behind them, NULL: they do not stand there. */
static const char *take_word(const char *p, const char *end, const char *word)
{
    const size_t length = strlen(word);
    if (p == end || *p != ' ')
        return NULL;
    const char *tabs = ++p;
    while (p < end && *p == '\t')
        p++;
    return p > tabs && (size_t)(end - p) >= length && memcmp(p, word, length) == 0 ? p + length : NULL;
}

static bool take_entry(const char *line, size_t length, entry *out)
{
    const char *end = line + length, *tab = line;
    while ((tab = memchr(tab, '\t', (size_t)(end - tab)))) {
        const char *p = tab > line ? take_word(tab - 1, end, " iteration=") : NULL;
        if (p && p < end && assay_is_digit(*p) && metrics_take_digits(&p, end, &out->step) &&
            (p = take_word(p, end, " value="))) {
            out->value = p;
            out->value_length = (size_t)(end - p);
            metrics_trim(&out->value, &out->value_length);
            out->name = line;
            out->name_length = (size_t)(tab - 1 - line);
            for (size_t i = 0; i + 3 <= (size_t)(tab - 1 - line); i++)
                if (memcmp(line + i, " - ", 3) == 0) {
                    out->name = line + i + 3;
                    out->name_length = (size_t)(tab - 1 - out->name);
                }
            metrics_trim(&out->name, &out->name_length);
            return true;
        }
        tab++;
    }
    return false;
}

static bool test(const char *line, size_t length)
{
    entry e;
    return take_entry(line, length, &e);
}

static int take(void *context, const char *line, size_t length)
{
    metrics_log *log = context;
    entry e;
    double value = 0;
    if (!take_entry(line, length, &e))
        return 1;
    if (!metrics_number(e.value, e.value_length, &value)) {
        metrics_add(log, METRICS_TEXTS);
        return ASSAY_OK;
    }
    return metrics_put(log, e.name, e.name_length, ASSAY_MODE_TRAIN, e.step, value);
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    return metrics_has_line(store, file->path, test, err);
}

static int divide(metrics_place *place, assay_error *err)
{
    (void)err;
    return metrics_divide_whole(place, METRICS_DLFW);
}

/* The rank in a file's name; -1: there is none. */
static int64_t rank_in(const metrics_file *file)
{
    static const char word[] = "globalrank-";
    int64_t number = 0;
    const char *rank = strstr(metrics_base(file->path), word);
    rank = rank ? rank + sizeof word - 1 : NULL;
    return rank && metrics_take_digits(&rank, rank + strlen(rank), &number) ? number : -1;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    int status = ASSAY_OK;
    const bool ranked = metrics_is_ranked(run, rank_in);
    (void)place;
    log->falls = true;
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        char worker[32];
        const char *path = run->files[i]->path;
        const int64_t rank = rank_in(run->files[i]);
        if (ranked && rank < 0) {
            metrics_name_unranked(log, path, "globalrank-N in its name");
            continue;
        }
        snprintf(worker, sizeof worker, "worker_%lld", (long long)(rank < 0 ? 0 : rank));
        log->part = (uint32_t)i;
        status = metrics_set_worker(log, worker);
        ASSAY_THEN(status, metrics_read_lines(log, path, take, log, err));
    }
    return status;
}

const metrics_kind metrics_dlfw = {.name = "dlfw",
                                   .named = metrics_is_printed_name,
                                   .proven = proven,
                                   .divide = divide,
                                   .read = read,
                                   .resolution = RESOLUTION,
                                   .workers_known = true};
