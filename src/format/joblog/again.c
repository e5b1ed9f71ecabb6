/* again.c - does an output begin anew? Who starts a program again may let it write behind what it wrote before: `nohup`, `>>`,
 * a job of the same name, or a logger that appends. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/path.h"
#include "container/utf8.h"
#include "format/joblog/joblog.h"

enum {
    HEAD = 3,     /* lines by which a beginning is known: the first of the output that are of different kinds */
    WORDS = 8,    /* bytes of such a line at least, numbers aside */
    LOOKED = 128, /* bytes of a line */
    READ = 64 << 10
};

typedef struct watch {
    uint64_t head[HEAD];
    size_t heads, met; /* how many are known; how many of them were met, one behind the other */
    uint64_t begin;    /* where the first of these is */
    uint64_t at;       /* where the line begins that is being read */
    char line[LOOKED];
    size_t length;
    uint64_t feeds;  /* lines before the one that is being read */
    uint64_t before; /* and before `begin` */
    bool number;     /* its last byte is a digit */
} watch;

/* Tracebacks of one process begin alike. */
static bool is_of_traceback(const watch *w)
{
    static const char head[] = "Traceback (most recent call last)";
    size_t blanks = 0;
    while (blanks < w->length && w->line[blanks] == ' ')
        blanks++;
    return blanks == 2 || blanks == 4 || joblog_find(w->line, w->length, head);
}

static void end_line(watch *w)
{
    if (w->length < WORDS || is_of_traceback(w))
        return;
    const uint64_t shape = assay_hash_bytes(w->line, w->length);
    if (w->heads < HEAD) {
        for (size_t i = 0; i < w->heads; i++)
            if (w->head[i] == shape)
                return;
        w->head[w->heads++] = shape;
    } else if (w->head[w->met] == shape) {
        if (w->met++ == 0) {
            w->begin = w->at;
            w->before = w->feeds;
        }
    } else {
        w->met = w->head[0] == shape;
        w->begin = w->at;
        w->before = w->feeds;
    }
}

/* Bytes of a mark of UTF-8: they are of the file, and of no line. */
static size_t mark_of(const char *bytes, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";
    return size >= strlen(mark) && memcmp(bytes, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
}

int assay_job_log_begins_again(assay_store *store, const char *path, assay_log_part *part, assay_error *err)
{
    assay_utf8 *file = NULL;
    watch w = {.heads = 0};
    uint64_t place = 0;
    size_t got = 1;
    part->from = part->lines = 0;
    char *bytes = assay_alloc(READ);
    int status = bytes ? assay_utf8_open(store, path, &file, err) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        (void)assay_utf8_seek(file, 0);
    while (status == ASSAY_OK && got > 0) {
        status = assay_utf8_read(file, bytes, READ, &got, err);
        for (size_t i = place == 0 ? mark_of(bytes, got) : 0; i < got && status == ASSAY_OK; i++) {
            const char *feed = w.length < LOOKED ? NULL : memchr(bytes + i, '\n', got - i);
            i = feed ? (size_t)(feed - bytes) : w.length < LOOKED ? i : got - 1;
            const char c = bytes[i];
            if (c == '\n') {
                end_line(&w);
                if (w.met == HEAD) {
                    part->from = w.begin;
                    part->lines = w.before;
                    w.met = 0;
                }
                w.feeds++;
                w.at = place + i + 1;
                w.length = 0;
                w.number = false;
            } else if (w.length < LOOKED && (!assay_is_digit(c) || !w.number)) {
                w.number = assay_is_digit(c);
                w.line[w.length++] = w.number ? '0' : c;
            }
        }
        place += got;
    }
    assay_utf8_close(file);
    free(bytes);
    return status == ASSAY_EFORMAT || status == ASSAY_EIO ? ASSAY_OK : status; /* what is damaged has an end, too */
}
