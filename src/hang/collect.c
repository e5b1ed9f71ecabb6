/* collect.c - see collect.h. */
#include "hang/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "hang/internal.h"
#include "trial/problem.h"

static const assay_field problem_fields[] = {ASSAY_FIELD(assay_hang_problem, file),
                                             ASSAY_FIELD(assay_hang_problem, loss),
                                             ASSAY_FIELD(assay_hang_problem, text),
                                             {0}};

void assay_hang_files_release(assay_hang_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->row.count; i++)
        assay_fields_release(assay_flight_row_fields, &files->row.list[i]);
    for (size_t i = 0; i < files->problem.count; i++)
        free(files->problem.list[i].text);
    free(files->row.list);
    free(files->problem.list);
    *files = (assay_hang_files){.passed_over = 0};
}

static int add_problem(assay_hang_files *files, uint32_t file, bool loss, const char *text)
{
    assay_hang_problem *to = ASSAY_VEC_ADD(&files->problem);
    if (to)
        *to = (assay_hang_problem){file, loss, assay_copy_text(text)};
    return to && to->text ? ASSAY_OK : ASSAY_ENOMEM;
}

/* ---- reading ---- */

typedef struct reading {
    assay_hang_files *files;
    uint32_t number;
} reading;

/* The row is taken over, so the reader gets an empty one back. */
static int take_row(void *context, assay_flight_row *row)
{
    reading *r = context;
    assay_flight_row *to = ASSAY_VEC_ADD(&r->files->row);
    ASSAY_HAVE(to);
    *to = *row;
    to->file = r->number;
    *row = (assay_flight_row){.rank = 0};
    return ASSAY_OK;
}

static void take_other(void *context)
{
    ((reading *)context)->files->passed_over++;
}

/* A problem of a dump is a loss in any case. */
static int take_problem(void *context, assay_event_problem problem, uint64_t line, const char *text)
{
    reading *r = context;
    (void)line;
    (void)problem;
    return add_problem(r->files, r->number, true, text);
}

int assay_hang_files_read(assay_hang_files *files, assay_store *store, const assay_event_file *file, uint32_t number,
                          assay_error *err)
{
    reading r = {files, number};
    const assay_event_sink sink = {.context = &r, .other = take_other, .row = take_row, .problem = take_problem};
    return assay_events_read(store, file, &sink, &files->bytes, err);
}

/* ---- joining ---- */

/* Joined on one rank, as assay_hang_find_in() needs all dumps at once. */
int assay_hang_files_pack(const assay_hang_files *files, assay_buf *out)
{
    assay_put_u64(out, files->passed_over);
    assay_put_u64(out, files->bytes);
    assay_fields_pack_rows(assay_flight_row_fields, files->row.list, files->row.count, sizeof *files->row.list, out);
    assay_fields_pack_rows(problem_fields, files->problem.list, files->problem.count, sizeof *files->problem.list, out);
    return assay_buf_status(out);
}

/* Moves rows behind others; what was moved is the list's no more. */
static bool append(void *to, size_t *count, size_t *room, void *from, size_t more, size_t size)
{
    if (!assay_vec_reserve(to, room, assay_vec_sum(*count, more), size))
        return false;
    if (more > 0)
        memcpy(*(char **)to + *count * size, from, more * size);
    *count += more;
    return true;
}

/* `more` keeps what was not moved, so releasing it is right after a failure as well. */
int assay_hang_files_join(assay_hang_files *earlier, assay_cursor *later, assay_error *err)
{
    assay_hang_files more = {.passed_over = assay_get_u64(later), .bytes = assay_get_u64(later)};
    void *rows = NULL, *problems = NULL;
    int status =
        assay_fields_unpack_rows(assay_flight_row_fields, later, sizeof *more.row.list, &rows, &more.row.count);
    more.row.list = rows;
    if (status == ASSAY_OK)
        status =
            assay_fields_unpack_rows(problem_fields, later, sizeof *more.problem.list, &problems, &more.problem.count);
    more.problem.list = problems;
    if (status == ASSAY_OK && !append(&earlier->row.list, &earlier->row.count, &earlier->row.room, more.row.list,
                                      more.row.count, sizeof *more.row.list))
        status = ASSAY_ENOMEM;
    else if (status == ASSAY_OK)
        more.row.count = 0;
    if (status == ASSAY_OK && !append(&earlier->problem.list, &earlier->problem.count, &earlier->problem.room,
                                      more.problem.list, more.problem.count, sizeof *more.problem.list))
        status = ASSAY_ENOMEM;
    else if (status == ASSAY_OK)
        more.problem.count = 0;
    earlier->passed_over += more.passed_over;
    earlier->bytes += more.bytes;
    assay_hang_files_release(&more);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "out of memory while dumps of several ranks were joined");
    return status == ASSAY_OK ? status : assay_fail(err, ASSAY_EINTERNAL, "dumps of another rank cannot be joined");
}

ASSAY_ORDER_BY(compare_rows, assay_flight_row, rank, file)

static int name_second(assay_hang_files *files, const assay_event_files *list, const assay_flight_row *first,
                       const assay_flight_row *second)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    assay_put_format(&text, "rank %u has another dump, %s, which counts: this one does not", first->rank,
                     list->list[first->file].path);
    assay_put_u8(&text, 0);
    const int status = assay_buf_status(&text) == ASSAY_OK
                           ? add_problem(files, second->file, false, (const char *)text.data)
                           : ASSAY_ENOMEM;
    assay_buf_release(&text);
    return status;
}

/* Called on the rank that has all rows. Rows are sorted by rank, then by file, so of two dumps of a rank always the
 * same one counts. */
int assay_hang_files_finish(assay_hang_files *files, const assay_event_files *list)
{
    size_t kept = 0;
    int status = ASSAY_OK;
    if (files->row.count > 1)
        qsort(files->row.list, files->row.count, sizeof *files->row.list, compare_rows);
    for (size_t i = 0; i < files->row.count; i++) {
        assay_flight_row *row = &files->row.list[i];
        if (kept == 0 || files->row.list[kept - 1].rank != row->rank) {
            files->row.list[kept++] = *row;
            continue;
        }
        ASSAY_THEN(status, name_second(files, list, &files->row.list[kept - 1], row));
        assay_fields_release(assay_flight_row_fields, row);
    }
    files->row.count = kept;
    return status;
}

static void name_ranks(const assay_hang_ranks *ranks, const char *what, assay_problems *problems)
{
    assay_buf text;
    if (ranks->count == 0)
        return;
    assay_buf_init(&text, SIZE_MAX);
    hang_put_ranks(ranks, &text);
    assay_put_u8(&text, 0);
    if (assay_buf_status(&text) == ASSAY_OK)
        assay_problems_add(problems, ASSAY_PROBLEM_EVENTS_LEFT, -1, "", -1, "%s %s", (const char *)text.data, what);
    else
        problems->status = ASSAY_ENOMEM;
    assay_buf_release(&text);
}

/* The hang is found once more here, as which ranks lack a dump follows from the groups of the others. */
int assay_hang_files_name_problems(assay_hang_files *files, const assay_event_files *list, assay_problems *problems)
{
    assay_hang *hang = NULL;
    assay_error why = {{0}};
    for (size_t i = 0; i < files->problem.count; i++) {
        const assay_hang_problem *p = &files->problem.list[i];
        const char *path = list->list[p->file].path;
        assay_problems_add(problems, p->loss ? ASSAY_PROBLEM_EVENTS : ASSAY_PROBLEM_EVENTS_LEFT, -1, path, -1, "%s: %s",
                           path, p->text);
    }
    if (files->passed_over > 0)
        assay_problems_add(problems, ASSAY_PROBLEM_EVENTS_LEFT, -1, "", -1,
                           "%llu file%s beside the dumps %s passed over", (unsigned long long)files->passed_over,
                           assay_plural(files->passed_over),
                           files->passed_over == 1 ? "is none, and is" : "are none, and are");
    const int status = assay_hang_find_in(files->row.list, files->row.count, ASSAY_HANG_AGE_MOST, &hang, &why);
    if (status != ASSAY_OK)
        return status;
    name_ranks(&hang->no_file, "left no dump that can be used, and groups of the others have them", problems);
    name_ranks(&hang->older, "left a dump that is older than those of the others: what they do now is not known",
               problems);
    assay_hang_free(hang);
    return problems->status;
}
