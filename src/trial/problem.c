/* problem.c - the list of what is damaged or missing. */
#include "trial/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/rule.h>

#include "base/fault.h"

enum { TEXT_MOST = 1024 }; /* a sentence, names in it included */

static const struct {
    const char *word;
    bool loss;
} kinds[ASSAY_PROBLEM_KINDS] = {
#define KIND_ENTRY(name, text, is_loss) [name] = {text, is_loss},
    ASSAY_PROBLEM_LIST(KIND_ENTRY)
#undef KIND_ENTRY
};

const char *assay_problem_word(int kind)
{
    return kind >= 0 && kind < ASSAY_PROBLEM_KINDS ? kinds[kind].word : "unknown";
}

bool assay_problem_is_loss(int kind)
{
    return kind >= 0 && kind < ASSAY_PROBLEM_KINDS && kinds[kind].loss;
}

void assay_problems_init(assay_problems *p)
{
    *p = (assay_problems){0};
}

void assay_problems_release(assay_problems *p)
{
    for (size_t i = 0; i < p->kept; i++) {
        free(p->list[i].file);
        free(p->list[i].text);
    }
    free(p->list);
    *p = (assay_problems){0};
}

/* Keeps one more; takes `file` and `text`, also when it fails. */
static int keep(assay_problems *p, int kind, int64_t step, char *file, int64_t offset, char *text, uint32_t tensor)
{
    if (p->kept == p->room) {
        size_t room = p->room ? 2 * p->room : 8;
        assay_problem *list = file && text ? assay_realloc_array(p->list, room, sizeof *list) : NULL;
        if (list) {
            p->list = list;
            p->room = room;
        }
    }
    if (!file || !text || p->kept == p->room) {
        free(file);
        free(text);
        p->status = ASSAY_ENOMEM;
        return ASSAY_ENOMEM;
    }
    p->list[p->kept++] = (assay_problem){kind, step, file, offset, text, tensor};
    return ASSAY_OK;
}

/* Names from foreign bytes end up in sentences: a newline in one must not break a line of the report. */
static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

void assay_problems_add(assay_problems *p, int kind, int64_t step, const char *file, int64_t offset, const char *format,
                        ...)
{
    p->total++;
    p->losses += assay_problem_is_loss(kind);
    if (p->kept >= ASSAY_PROBLEMS_KEPT)
        return;
    char text[TEXT_MOST];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        memcpy(text, "?", 2);
    one_line(text);
    keep(p, kind, step, assay_copy_text(file ? file : ""), offset, assay_copy_text(text), ASSAY_NO_TENSOR);
}

const char *assay_problems_unread(const assay_problems *p)
{
    for (size_t i = 0; i < p->kept; i++)
        if (p->list[i].kind == ASSAY_PROBLEM_READ)
            return p->list[i].text;
    return NULL;
}

const char *assay_problems_loss(const assay_problems *p)
{
    for (size_t i = 0; i < p->kept; i++)
        if (assay_problem_is_loss(p->list[i].kind))
            return p->list[i].text;
    return NULL;
}

bool assay_problems_have(const assay_problems *p, const char *text)
{
    for (size_t i = 0; i < p->kept; i++)
        if (strcmp(p->list[i].text, text) == 0)
            return true;
    return false;
}

void assay_problems_set_tensor(assay_problems *p, uint32_t tensor)
{
    if (p->total <= ASSAY_PROBLEMS_KEPT && p->kept == p->total)
        p->list[p->kept - 1].tensor = tensor;
}

int assay_problems_append(assay_problems *earlier, const assay_problems *later)
{
    earlier->total += later->total;
    earlier->losses += later->losses;
    if (later->status != ASSAY_OK)
        earlier->status = later->status;
    for (size_t i = 0; i < later->kept && earlier->kept < ASSAY_PROBLEMS_KEPT; i++) {
        const assay_problem *q = &later->list[i];
        if (keep(earlier, q->kind, q->step, assay_copy_text(q->file), q->offset, assay_copy_text(q->text), q->tensor) !=
            ASSAY_OK)
            break;
    }
    return earlier->status;
}

void assay_problems_pack(const assay_problems *p, assay_buf *out)
{
    assay_put_u64(out, p->total);
    assay_put_u64(out, p->losses);
    assay_put_i64(out, p->status);
    assay_put_u64(out, p->kept);
    for (size_t i = 0; i < p->kept; i++) {
        const assay_problem *q = &p->list[i];
        assay_put_u32(out, (uint32_t)q->kind);
        assay_put_i64(out, q->step);
        assay_put_text(out, q->file);
        assay_put_i64(out, q->offset);
        assay_put_text(out, q->text);
        assay_put_u32(out, q->tensor);
    }
}

static int unpack_one(assay_cursor *in, assay_problems *p)
{
    uint32_t kind = assay_get_u32(in);
    int64_t step = assay_get_i64(in);
    size_t file_length = 0, text_length = 0;
    const char *file = assay_get_text(in, &file_length);
    int64_t offset = assay_get_i64(in);
    const char *text = assay_get_text(in, &text_length);
    const uint32_t tensor = assay_get_u32(in);
    if (in->failed || kind >= ASSAY_PROBLEM_KINDS)
        return ASSAY_EFORMAT;
    return keep(p, (int)kind, step, assay_copy_bytes_as_text(file, file_length), offset,
                assay_copy_bytes_as_text(text, text_length), tensor);
}

int assay_problems_unpack(assay_cursor *in, assay_problems *p, assay_error *err)
{
    assay_problems read = {0};
    read.total = assay_get_u64(in);
    read.losses = assay_get_u64(in);
    int64_t said = assay_get_i64(in);
    uint64_t kept = assay_get_count(in, 4 + 8 + 4 + 8 + 4);
    bool sound = !in->failed && kept <= ASSAY_PROBLEMS_KEPT && kept <= read.total && read.losses <= read.total &&
                 (said == ASSAY_OK || said == ASSAY_ENOMEM);
    int status = sound ? ASSAY_OK : ASSAY_EFORMAT;
    read.status = (int)said;
    for (uint64_t i = 0; i < kept && status == ASSAY_OK; i++)
        status = unpack_one(in, &read);
    if (status != ASSAY_OK) {
        assay_problems_release(&read);
        return assay_fail(err, status,
                          status == ASSAY_ENOMEM ? "out of memory for the list of problems"
                                                 : "the packed list of problems is damaged");
    }
    assay_problems_release(p);
    *p = read;
    return ASSAY_OK;
}
