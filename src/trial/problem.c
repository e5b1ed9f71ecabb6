/* problem.c - the list of what is damaged or missing. */
#include "trial/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/rule.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/path.h"
#include "base/vec.h"
#include "store/storage.h"
#include "trial/trial_format.h"

/* Longer sentences are cut at their end; file and place stand in front. */
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

/* Keeps one more; takes its texts, also when it fails. */
static int keep(assay_problems *p, const assay_problem *one)
{
    if (!one->file || !one->text || !assay_vec_reserve(&p->list, &p->room, p->kept + 1, sizeof *p->list)) {
        free(one->file);
        free(one->text);
        p->status = ASSAY_ENOMEM;
        return ASSAY_ENOMEM;
    }
    p->list[p->kept++] = *one;
    return ASSAY_OK;
}

/* Names from foreign bytes end up in sentences: a newline in one must not break a line of the report. */
static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

/* These are found by several formats, or again at each look: the same sentence is kept and counted once. */
static bool is_said_once(int kind)
{
    return kind == ASSAY_PROBLEM_UNSEEN || kind == ASSAY_PROBLEM_KEY;
}

static bool has_text(const assay_problems *p, int kind, const char *text)
{
    for (size_t i = 0; i < p->kept; i++)
        if (p->list[i].kind == kind && strcmp(p->list[i].text, text) == 0)
            return true;
    return false;
}

static void count(assay_problems *p, int kind)
{
    p->total++;
    p->losses += assay_problem_is_loss(kind);
}

/* Beyond ASSAY_PROBLEMS_KEPT only the count goes on: a trial with a million damaged records still fits a report. */
void assay_problems_add(assay_problems *p, int kind, int64_t step, const char *file, int64_t offset, const char *format,
                        ...)
{
    if (!is_said_once(kind))
        count(p, kind);
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
    if (is_said_once(kind)) {
        if (has_text(p, kind, text))
            return;
        count(p, kind);
    }
    const assay_problem one = {kind,           step, assay_copy_text(file ? file : ""), offset, assay_copy_text(text),
                               ASSAY_NO_TENSOR};
    keep(p, &one);
}

/* Called where a directory could not be listed: "not there" and "a file in its place" are different news. */
void assay_problems_name_file(assay_problems *p, struct assay_store *store, int64_t step, const char *path)
{
    if (assay_store_exists(store, path, NULL) == 1)
        assay_problems_add(p, ASSAY_PROBLEM_UNSEEN, step, path, -1,
                           "%s: a file, where a directory should be; what it had is missing from this analysis", path);
}

void assay_problems_name_directory(assay_problems *p, struct assay_store *store, const char *path)
{
    assay_names names = {0};
    assay_store_stamp stamp = {0};
    if (assay_store_exists(store, path, NULL) != 0)
        return;
    if (assay_store_list(store, path, &names, NULL) == ASSAY_OK)
        assay_problems_add(p, ASSAY_PROBLEM_UNSEEN, -1, path, -1,
                           "%s: a directory, where a file should be; what it had is missing from this analysis", path);
    else if (assay_store_stamp_of(store, path, &stamp, NULL) == 1) /* a pipe, a socket, a device */
        assay_problems_add(p, ASSAY_PROBLEM_UNSEEN, -1, path, -1,
                           "%s: no regular file, where one should be; what it had is missing from this analysis", path);
    assay_names_release(&names);
}

const char *assay_problems_unread(const assay_problems *p)
{
    for (size_t i = 0; i < p->kept; i++)
        if (p->list[i].kind == ASSAY_PROBLEM_READ || p->list[i].kind == ASSAY_PROBLEM_UNSEEN)
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

/* Only while all are kept: then the last of the list is the one that was just added. */
void assay_problems_set_tensor(assay_problems *p, uint32_t tensor)
{
    if (p->total <= ASSAY_PROBLEMS_KEPT && p->kept == p->total)
        p->list[p->kept - 1].tensor = tensor;
}

/* Order is that of ranks: the texts that are kept are the same at any number of them, as ranks have parts in order. */
int assay_problems_append(assay_problems *earlier, const assay_problems *later)
{
    earlier->total += later->total;
    earlier->losses += later->losses;
    if (later->status != ASSAY_OK)
        earlier->status = later->status;
    for (size_t i = 0; i < later->kept; i++) {
        const assay_problem *q = &later->list[i];
        const bool full = earlier->kept >= ASSAY_PROBLEMS_KEPT;
        if (is_said_once(q->kind) && (full || has_text(earlier, q->kind, q->text))) {
            earlier->total--;
            earlier->losses -= assay_problem_is_loss(q->kind);
            continue;
        }
        if (full)
            continue;
        assay_problem copy = *q;
        copy.file = assay_copy_text(q->file);
        copy.text = assay_copy_text(q->text);
        if (keep(earlier, &copy) != ASSAY_OK)
            break;
    }
    return earlier->status;
}

/* Notes are what storages could not tell their caller: see assay_store_take_note(). */
void assay_problems_take_notes(assay_problems *p, struct assay_store *store, int64_t step, const char *meaning)
{
    const char *path, *text;
    while (assay_store_take_note(store, &path, &text))
        assay_problems_add(p, ASSAY_PROBLEM_UNSEEN, step, path, -1, "%s; %s", text, meaning);
    if (assay_store_lacked_memory(store))
        p->status = ASSAY_ENOMEM;
}

/* "x.json.bak", "x.json~" and the like were x.json once. */
static bool was_called(const char *name, const char *known)
{
    const size_t before = assay_path_before_aside(name);
    return before > 0 && before == strlen(known) && memcmp(name, known, before) == 0;
}

/* Said only where the right name is missing: a copy beside the original is nobody's loss. */
void assay_problems_name_damaged(assay_problems *p, const struct assay_names *names, const char *directory,
                                 const char *const *known)
{
    for (size_t k = 0; known[k]; k++) {
        const char *off = NULL;
        bool there = false;
        for (size_t i = 0; i < names->count && !there; i++) {
            const char *name = names->name[i];
            there = strcmp(name, known[k]) == 0;
            off = assay_path_looks_like(name, known[k]) || was_called(name, known[k]) ? name : off;
        }
        if (off && !there)
            assay_problems_add(p, ASSAY_PROBLEM_NAME, -1, off, -1,
                               "%s%s%s: not looked at; there is no %s, which it may be", directory,
                               *directory ? "/" : "", off, known[k]);
    }
}

/* The name that a file had, before it was put aside or one byte of its ending became another; NULL: it had none with that
 * ending, or *memory is false. The caller frees it. */
static char *name_before(const char *name, const char *ending, bool *memory)
{
    const size_t aside = assay_path_before_aside(name), whole = strlen(name), end = strlen(ending);
    const size_t length = aside > 0 ? aside : whole;
    const bool off = aside == 0 && whole > end && assay_path_looks_like(name + whole - end, ending);
    const bool hidden = name[0] == '.' && name[1] != '_' && whole > end + 1; /* "._x.npy" is a file manager's */
    if ((name[0] == '.' && !hidden) ||
        !(off || (hidden && assay_path_ends(name, ending)) || (aside > 0 && assay_path_ends_n(name, length, ending))))
        return NULL;
    char *before = assay_copy_bytes_as_text(name + hidden, length - hidden);
    if (before && off)
        memcpy(before + whole - end - hidden, ending, end);
    *memory = *memory && before;
    return before;
}

void assay_problems_name_aside(assay_problems *p, int64_t step, const struct assay_names *names, const char *directory,
                               const char *ending)
{
    bool memory = true;
    for (size_t i = 0; i < names->count; i++) {
        char path[TEXT_MOST], *before = name_before(names->name[i], ending, &memory);
        snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", names->name[i]);
        if (before && !assay_names_have(names, before))
            assay_problems_add(p, ASSAY_PROBLEM_NAME, step, path, -1,
                               "%s: not looked at; there is no %s, which it may be", path, before);
        free(before);
    }
    if (!memory)
        p->status = ASSAY_ENOMEM;
}

static const assay_field problem_fields[] = {ASSAY_FIELD_MOST(assay_problem, kind, ASSAY_PROBLEM_KINDS - 1),
                                             ASSAY_FIELD(assay_problem, step),
                                             ASSAY_FIELD(assay_problem, file),
                                             ASSAY_FIELD(assay_problem, offset),
                                             ASSAY_FIELD(assay_problem, text),
                                             ASSAY_FIELD(assay_problem, tensor),
                                             {0}};
static const assay_field fields[] = {ASSAY_FIELD(assay_problems, total),
                                     ASSAY_FIELD(assay_problems, losses),
                                     ASSAY_FIELD(assay_problems, status),
                                     ASSAY_FIELD_ROWS(assay_problems, list, kept, problem_fields),
                                     {0}};

void assay_problems_pack(const assay_problems *p, assay_buf *out)
{
    assay_fields_pack(fields, p, out);
}

/* Counts from another rank bound loops and arrays here. */
static bool is_sound(const assay_problems *p)
{
    bool sound = p->kept <= ASSAY_PROBLEMS_KEPT && p->kept <= p->total && p->losses <= p->total &&
                 (p->status == ASSAY_OK || p->status == ASSAY_ENOMEM);
    for (size_t i = 0; i < p->kept; i++)
        sound = sound && p->list[i].file && p->list[i].text;
    return sound;
}

int assay_problems_unpack(assay_cursor *in, assay_problems *p, assay_error *err)
{
    assay_problems read = {0};
    int status = assay_fields_unpack(fields, in, &read);
    read.room = read.kept;
    if (status == ASSAY_OK && !is_sound(&read))
        status = ASSAY_EFORMAT;
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
