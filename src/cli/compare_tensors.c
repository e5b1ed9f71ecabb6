/* compare_tensors.c - see compare_tensors.h. The first line is the answer; then the tensors that differ, in the order
 * in which the first trial saved them, and the names that only one of the trials has. */
#include "cli/compare_tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "cli/s3.h"
#include "cli/terminal.h"
#include "diff/diff.h"
#include "report/report.h"

/* ---- rows ---- */

/* What all pairs come to. */
typedef struct tensors_summary {
    size_t unequal, apart, unread, shapes;  /* tensors */
    size_t retyped;                         /* tensors of another dtype in the second, whatever their values */
    size_t missing;                         /* names that only one has, of kinds that both have */
    size_t unsure;                          /* likewise, where the other one is damaged and may have them */
    size_t gone;                            /* workers that only one has, and whose part nothing else can be */
    uint64_t losses;                        /* damaged or missing parts of both trials */
    size_t left_out;                        /* files and checkpoints of both that were not read, and are no losses */
    const assay_diff_pair *first, *largest; /* NULL: none */
} tensors_summary;

static const char *tensors_verdict(const tensors_summary *s);

/* Is a pair listed? */
static bool tensors_differ(const assay_diff_pair *p)
{
    return p->state != ASSAY_DIFF_COMPARED || p->figures.unequal > 0;
}

#define FIGURE(name, ...)                                                                                              \
    {                                                                                                                  \
        name, .optional = true, __VA_ARGS__                                                                            \
    }
static const assay_listing_column OF_PAIRS[] = {{"step", "step", 'r'},
                                                {"worker", "worker", 'l'},
                                                {"other_worker"},
                                                {"tensor", "tensor", 'k'},
                                                {"other"},
                                                {"state"},
                                                FIGURE("text"),
                                                FIGURE("dtypes"),
                                                FIGURE("shapes", .json_alone = true),
                                                {NULL, "dtype", 'e'},
                                                FIGURE("elements", .head = "elements", .align = 'r'),
                                                FIGURE("unequal", .head = "unequal", .align = 'r'),
                                                FIGURE("apart"),
                                                {NULL, "apart", 'r'},
                                                FIGURE("first", .json_alone = true),
                                                FIGURE("largest", .head = "largest", .align = 'r'),
                                                FIGURE("relative", .head = "relative", .align = 'r'),
                                                FIGURE("cosine"),
                                                {NULL, "cosine", 'r'}};
enum { COLUMNS = sizeof OF_PAIRS / sizeof *OF_PAIRS, WORKER = 1 };

static bool has_workers(const assay_diff *d)
{
    return d->a.catalog.workers > 1 || d->b.catalog.workers > 1;
}

/* People see one worker: that of the first trial; if that has one only, that of the second one. */
static const char *worker_of(const assay_diff *d, const assay_diff_pair *p, assay_listing_form form)
{
    return form != ASSAY_LISTING_TEXT || d->a.catalog.workers > 1 ? d->a.catalog.worker[p->worker]
                                                                  : d->b.catalog.worker[p->other_worker];
}

static void put_shapes(const assay_diff_pair *p, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_array(&w, NULL);
    assay_jw_i64s(&w, NULL, p->shape_a, (size_t)p->dims_a);
    assay_jw_i64s(&w, NULL, p->shape_b, (size_t)p->dims_b);
    assay_jw_end(&w);
}

static void put_first_element(const assay_diff_figures *f, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    assay_jw_u64(&w, "element", f->first);
    assay_jw_numbers(&w, "values", (const double[]){f->first_a, f->first_b}, 2);
    assay_jw_end(&w);
}

static void put_kind(const assay_diff_pair *p, assay_listing *rows)
{
    assay_buf text = ASSAY_BUF(1 << 16);
    if (p->state == ASSAY_DIFF_UNREAD)
        assay_put_format(&text, "not read");
    else if (p->state == ASSAY_DIFF_SHAPE)
        assay_put_format(&text, "shape");
    else if (p->dtype_a != p->dtype_b)
        assay_put_format(&text, "%s, %s", assay_dtype_name(p->dtype_a), assay_dtype_name(p->dtype_b));
    else
        assay_put_format(&text, "%s", assay_dtype_name(p->dtype_a));
    assay_listing_take(rows, &text);
}

static void put_figures(const assay_diff_figures *f, assay_listing *rows)
{
    assay_buf *out;
    char share[32], cosine[32];
    snprintf(share, sizeof share, "%.3g%%", 100 * (double)f->apart / (double)f->elements);
    snprintf(cosine, sizeof cosine, "%.9g", assay_diff_cosine(f));
    assay_listing_u64(rows, f->elements);
    assay_listing_u64(rows, f->unequal);
    assay_listing_u64(rows, f->apart);
    assay_listing_text(rows, share);
    if ((out = assay_listing_value(rows)))
        put_first_element(f, out);
    assay_listing_number(rows, f->largest);
    assay_listing_number(rows, f->relative);
    assay_listing_number(rows, assay_diff_cosine(f));
    assay_listing_text(rows, cosine);
}

static void put_pair(const assay_diff *d, const assay_diff_pair *p, assay_listing *rows)
{
    static const char *const states[] = {"compared", "shape", "unread"};
    const bool read = p->state != ASSAY_DIFF_UNREAD;
    assay_listing_next(rows);
    assay_listing_i64(rows, p->step);
    assay_listing_text(rows, worker_of(d, p, rows->form));
    assay_listing_text(rows, d->b.catalog.worker[p->other_worker]);
    assay_listing_text(rows, p->name_a);
    assay_listing_text(rows, p->name_b);
    assay_listing_text(rows, states[p->state]);
    assay_listing_text(rows, read ? NULL : p->text ? p->text : "");
    if (read) {
        assay_listing_texts(rows, (const char *const[]){assay_dtype_name(p->dtype_a), assay_dtype_name(p->dtype_b)}, 2);
        assay_buf *out = assay_listing_value(rows);
        if (out)
            put_shapes(p, out);
    } else {
        assay_listing_none(rows);
        assay_listing_none(rows);
    }
    put_kind(p, rows);
    if (p->state == ASSAY_DIFF_COMPARED)
        put_figures(&p->figures, rows);
}

/* The tensors that differ, at most so many; returns how many more there are. */
static size_t put_pairs(const assay_diff *d, size_t most, assay_listing *rows)
{
    size_t differ = 0;
    for (size_t i = 0; i < d->pairs; i++)
        if (tensors_differ(&d->pair[i]) && differ++ < most)
            put_pair(d, &d->pair[i], rows);
    return differ > most ? differ - most : 0;
}

static void tensors_put_csv(const assay_diff *d, assay_buf *out)
{
    assay_listing rows;
    assay_listing_begin(&rows, ASSAY_LISTING_CSV, ASSAY_LISTED(OF_PAIRS), out);
    (void)put_pairs(d, SIZE_MAX, &rows);
    assay_listing_end(&rows, 0, NULL);
}

/* ---- JSON ---- */

static void put_json_singles(assay_jw *w, const char *key, const assay_diff_singles *singles)
{
    assay_jw_line(w, 2);
    assay_jw_array(w, key);
    for (size_t i = 0; i < singles->count; i++) {
        assay_jw_line(w, 4);
        ASSAY_JW_OBJECT(w, NULL, "step", singles->list[i].step, "tensor", singles->list[i].name);
    }
    assay_jw_end(w);
}

static void put_json_steps(assay_jw *w, const char *key, const int64_t *steps, size_t count)
{
    assay_jw_line(w, 2);
    assay_jw_i64s(w, key, steps, count);
}

static void put_json_workers(assay_jw *w, const char *key, const assay_catalog *own, const assay_catalog *other)
{
    assay_jw_line(w, 2);
    assay_jw_array(w, key);
    for (uint32_t i = 0; own->workers > 1 && other->workers > 1 && i < own->workers; i++)
        if (assay_catalog_worker(other, own->worker[i]) == ASSAY_NO_ID)
            assay_jw_text(w, NULL, own->worker[i]);
    assay_jw_end(w);
}

/* What was found when the trial was opened, and its records that could not be read. */
static void put_json_problems(assay_jw *w, const char *key, const assay_diff *d, const assay_trial_files *own,
                              uint32_t trial)
{
    assay_jw_line(w, 2);
    assay_jw_array(w, key);
    cli_put_json_problems(&own->problems, w);
    for (size_t i = 0; i < d->pairs; i++) {
        const assay_diff_pair *p = &d->pair[i];
        const assay_place *place = trial == 1 ? &p->a : &p->b;
        char room[ASSAY_PATH_ROOM];
        const char *path = place->entry ? assay_part_file(&own->catalog, place->part, place->entry->file, room) : NULL;
        if (p->state == ASSAY_DIFF_UNREAD && p->unread_of == trial)
            cli_put_json_problem(w, assay_problem_word(ASSAY_PROBLEM_RECORD), path ? path : "", -1,
                                 p->text ? p->text : "");
    }
    assay_jw_end(w);
}

/* Appends the whole document. */
static void tensors_put_json(const assay_diff *d, const tensors_summary *s, assay_buf *out)
{
    const char *const trials[] = {assay_store_location(d->a.store), assay_store_location(d->b.store)};
    assay_jw w = assay_jw_over(out);
    assay_listing rows;
    assay_jw_object(&w, NULL);
    assay_jw_line(&w, 2);
    assay_jw_text(&w, "schema", "assay-tensors/1");
    assay_jw_line(&w, 2);
    assay_jw_text(&w, "verdict", tensors_verdict(s));
    assay_jw_line(&w, 2);
    assay_jw_texts(&w, "trials", trials, 2);
    assay_jw_line(&w, 2);
    assay_jw_u64(&w, "tensors", d->pairs);
    assay_jw_line(&w, 2);
    assay_jw_u64(&w, "other_dtype", s->retyped);
    assay_jw_line(&w, 2);
    assay_jw_u64(&w, "steps", d->steps);
    assay_jw_line(&w, 2);
    assay_jw_u64(&w, "bytes", d->bytes);
    assay_jw_line(&w, 2);
    assay_jw_array(&w, "differences");
    assay_listing_begin_in(&rows, &w, 4, ASSAY_LISTED(OF_PAIRS));
    (void)put_pairs(d, SIZE_MAX, &rows);
    assay_listing_end(&rows, 0, NULL);
    assay_jw_end(&w);
    put_json_singles(&w, "only_in_first", &d->only_a);
    put_json_singles(&w, "only_in_second", &d->only_b);
    put_json_steps(&w, "steps_only_in_first", d->steps_a, d->steps_only_a);
    put_json_steps(&w, "steps_only_in_second", d->steps_b, d->steps_only_b);
    put_json_workers(&w, "workers_only_in_first", &d->a.catalog, &d->b.catalog);
    put_json_workers(&w, "workers_only_in_second", &d->b.catalog, &d->a.catalog);
    put_json_problems(&w, "problems_in_first", d, &d->a, 1);
    put_json_problems(&w, "problems_in_second", d, &d->b, 2);
    assay_jw_line(&w, 0);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
}

/* ---- compare tensors ---- */

enum { ROWS = 20, NAMES = 8 };

/* Has any tensor been compared whose name begins so? A trial without an optimizer lacks none of its tensors, and one
 * that only has numbers for them may have them all. */
static bool has_kind(const assay_diff *d, const char *kind)
{
    for (size_t i = 0; i < d->pairs; i++)
        if (strncmp(d->pair[i].name_a, kind, strlen(kind)) == 0)
            return true;
    return false;
}

/* Names of the list that the other trial ought to have. */
static size_t count_lacked(const assay_diff *d, const assay_diff_singles *singles)
{
    static const char *const kinds[] = {"optimizer/", "ema/"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    bool has[KINDS];
    size_t count = 0;
    for (int k = 0; k < KINDS; k++)
        has[k] = has_kind(d, kinds[k]);
    for (size_t i = 0; i < singles->count; i++) {
        bool lacked = true;
        for (int k = 0; k < KINDS; k++)
            lacked = lacked && (has[k] || strncmp(singles->list[i].name, kinds[k], strlen(kinds[k])) != 0);
        count += lacked;
    }
    return count;
}

/* Workers of a trial that the other one has not, each told to `put` (NULL: nobody); how many. */
static size_t each_gone(const assay_catalog *own, const assay_catalog *other,
                        void (*put)(const char *worker, size_t number, assay_buf *out), assay_buf *out)
{
    size_t count = 0;
    for (uint32_t w = 0; w < own->workers; w++)
        if (assay_catalog_worker(other, own->worker[w]) == ASSAY_NO_ID) {
            if (put)
                put(own->worker[w], count, out);
            count++;
        }
    return count;
}

/* Is the rank gone that only one trial has? Not where workers have other names altogether, or one has it whole, or a
 * topology says what of it the others have. */
static bool are_gone(const assay_diff *d)
{
    const assay_catalog *a = &d->a.catalog, *b = &d->b.catalog;
    bool unknown = !a->topology && !b->topology;
    if (a->workers < 2 || b->workers < 2 || each_gone(a, b, NULL, NULL) == a->workers)
        return false;
    for (size_t i = 0; i < d->pairs && !unknown; i++)
        unknown = d->pair[i].apart && !d->pair[i].unlike;
    return unknown;
}

/* Does it tell of what may hold tensors and was not read, though nothing is lost? */
static bool is_left_out(int kind)
{
    return kind == ASSAY_PROBLEM_UNFINISHED || kind == ASSAY_PROBLEM_SET_ASIDE || kind == ASSAY_PROBLEM_EVENTS_LEFT ||
           kind == ASSAY_PROBLEM_NAME;
}

static size_t count_left_out(const assay_problems *problems)
{
    size_t count = 0;
    for (size_t i = 0; i < problems->kept; i++)
        count += is_left_out(problems->list[i].kind);
    return count;
}

static tensors_summary summarize(const assay_diff *d)
{
    const uint64_t of_a = d->a.problems.losses, of_b = d->b.problems.losses;
    const size_t only_a = count_lacked(d, &d->only_a), only_b = count_lacked(d, &d->only_b);
    tensors_summary s = {.missing = (of_b ? 0 : only_a) + (of_a ? 0 : only_b),
                         .unsure = (of_b ? only_a : 0) + (of_a ? only_b : 0),
                         .losses = of_a + of_b,
                         .left_out = count_left_out(&d->a.problems) + count_left_out(&d->b.problems)};
    if (are_gone(d))
        s.gone =
            each_gone(&d->a.catalog, &d->b.catalog, NULL, NULL) + each_gone(&d->b.catalog, &d->a.catalog, NULL, NULL);
    for (size_t i = 0; i < d->pairs; i++) {
        const assay_diff_pair *p = &d->pair[i];
        const bool compared = p->state == ASSAY_DIFF_COMPARED;
        s.unequal += compared && p->figures.unequal > 0;
        s.retyped += compared && p->dtype_a != p->dtype_b;
        s.apart += compared && p->figures.apart > 0;
        s.unread += p->state == ASSAY_DIFF_UNREAD;
        s.shapes += p->state == ASSAY_DIFF_SHAPE;
        if (!s.first && (p->state == ASSAY_DIFF_SHAPE || (compared && p->figures.apart > 0)))
            s.first = p;
        if (compared && p->figures.largest > (s.largest ? s.largest->figures.largest : 0))
            s.largest = p;
    }
    return s;
}

static bool is_different(const tensors_summary *s)
{
    return s->apart + s->shapes + s->missing + s->gone > 0;
}

static const char *tensors_verdict(const tensors_summary *s)
{
    return is_different(s)                  ? "different"
           : s->unread > 0 || s->losses > 0 ? "unknown"
           : s->unequal > 0                 ? "close"
                                            : "equal";
}

/* ---- text ---- */

static void put_name(const assay_diff_pair *p, assay_buf *out)
{
    assay_text_put_clean(out, p->name_a, strlen(p->name_a));
    if (strcmp(p->name_a, p->name_b) != 0) {
        assay_put_format(out, " (");
        assay_text_put_clean(out, p->name_b, strlen(p->name_b));
        assay_put_format(out, ")");
    }
}

static void put_first(const tensors_summary *s, assay_buf *out)
{
    const assay_diff_pair *p = s->first;
    if (!p)
        return;
    assay_put_format(out, "; first ");
    put_name(p, out);
    assay_put_format(out, " at step %" PRId64, p->step);
    if (p->state == ASSAY_DIFF_SHAPE) {
        assay_put_format(out, ": ");
        cli_put_shape(out, p->shape_a, p->dims_a);
        assay_put_format(out, " against ");
        cli_put_shape(out, p->shape_b, p->dims_b);
        return;
    }
    assay_put_format(out, ", element %" PRIu64 ": ", p->figures.first);
    assay_text_put_full(out, p->figures.first_a);
    assay_put_format(out, " against ");
    assay_text_put_full(out, p->figures.first_b);
}

static void put_worker(const char *worker, size_t number, assay_buf *out)
{
    if (number < NAMES)
        assay_put_format(out, "%s%s", number ? ", " : "; ", worker);
}

/* "; rank_2, rank_5 only in the first" */
static void put_gone(const assay_trial_files *own, const assay_catalog *other, const char *which, assay_buf *out)
{
    const size_t count = each_gone(&own->catalog, other, put_worker, out);
    if (count > NAMES)
        assay_put_format(out, " and %zu more", count - NAMES);
    if (count > 0)
        assay_put_format(out, " only in the %s", which);
}

static void put_verdict(const assay_diff *d, const tensors_summary *s, assay_buf *out)
{
    const size_t differ = s->apart + s->shapes;
    assay_put_format(out, "%s: ", tensors_verdict(s));
    if (differ > 0)
        assay_put_format(out, "%zu of ", differ);
    assay_put_format(out, "%zu tensor%s at %zu step%s", d->pairs, assay_plural(d->pairs), d->steps,
                     assay_plural(d->steps));
    if (differ == 0 && s->unequal > 0)
        assay_put_format(out, ", %zu of them not bit for bit", s->unequal);
    else if (differ == 0 && s->unread == 0)
        assay_put_format(out, "%s, %s", s->missing + s->gone > 0 ? " equal" : "",
                         s->retyped > 0 ? "element for element" : "bit for bit");
    put_first(s, out);
    if (s->missing > 0)
        assay_put_format(out, "; %zu name%s only in one of them", s->missing, s->missing == 1 ? " is" : "s are");
    if (s->gone > 0) {
        put_gone(&d->a, &d->b.catalog, "first", out);
        put_gone(&d->b, &d->a.catalog, "second", out);
    }
    if (s->retyped > 0)
        assay_put_format(out, "; %zu %s another dtype", s->retyped, s->retyped == 1 ? "has" : "have");
    if (s->unread > 0)
        assay_put_format(out, "; %zu could not be read", s->unread);
    if (s->unsure > 0)
        assay_put_format(out, "; %zu name%s missing in a damaged trial", s->unsure, s->unsure == 1 ? " is" : "s are");
    if (s->losses > 0)
        assay_put_format(out, "; %" PRIu64 " part%s damaged or missing", s->losses, s->losses == 1 ? " is" : "s are");
    if (s->left_out > 0)
        assay_put_format(out, "; %zu part%s not read", s->left_out, s->left_out == 1 ? " was" : "s were");
}

/* What name maps have made, of the first pair of names that they changed. */
static void put_mapped(const assay_diff *d, assay_buf *out)
{
    const assay_diff_pair *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < d->pairs; i++) {
        if (!d->pair[i].map)
            continue;
        first = first ? first : &d->pair[i];
        count++;
    }
    if (!first)
        return;
    assay_put_format(out, "--map has paired %zu of %zu tensor%s, ", count, d->pairs, assay_plural(d->pairs));
    assay_text_put_clean(out, first->name_a, strlen(first->name_a));
    assay_put_format(out, " with ");
    assay_text_put_clean(out, first->name_b, strlen(first->name_b));
    assay_put_format(out, count > 1 ? " and so on." : ".");
}

static void put_largest(const tensors_summary *s, assay_buf *out)
{
    if (!s->largest)
        return;
    assay_put_format(out, "The largest difference is ");
    assay_text_put_number(out, s->largest->figures.largest);
    assay_put_format(out, ", in ");
    put_name(s->largest, out);
    assay_put_format(out, " at step %" PRId64 ", element %" PRIu64 ".", s->largest->step,
                     s->largest->figures.largest_at);
}

static void put_rows(const assay_diff *d, const tensors_summary *s, const assay_draw *draw, assay_buf *out)
{
    assay_listing_column columns[COLUMNS];
    assay_listing rows;
    if (s->unequal + s->shapes + s->unread == 0)
        return;
    memcpy(columns, OF_PAIRS, sizeof columns);
    if (!has_workers(d))
        columns[WORKER].head = NULL;
    assay_listing_begin(&rows, ASSAY_LISTING_TEXT, columns, COLUMNS, out);
    const size_t more = put_pairs(d, ROWS, &rows);
    assay_put_format(out, "\n");
    assay_listing_end(&rows, 0, draw);
    if (more > 0)
        assay_put_format(out, "and %zu more; --json lists all\n", more);
}

/* Why records could not be read; the first few. */
static void put_unread(const assay_diff *d, const assay_draw *draw, assay_buf *out)
{
    size_t said = 0;
    assay_buf line = ASSAY_BUF(1 << 20);
    for (size_t i = 0; i < d->pairs && said < NAMES; i++) {
        const assay_diff_pair *p = &d->pair[i];
        if (p->state != ASSAY_DIFF_UNREAD)
            continue;
        assay_put_format(out, said++ ? "" : "\n");
        assay_buf_clear(&line);
        assay_put_format(&line, "%s: %s", p->name_a, p->text ? p->text : "");
        assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
    }
    assay_buf_release(&line);
}

/* What was found when a trial was opened, losses or what is left out; the first few. How many. */
static size_t put_kinds(const assay_trial_files *own, bool kinds(int kind), const assay_draw *draw, assay_buf *out)
{
    const assay_problems *problems = &own->problems;
    size_t said = 0;
    assay_buf line = ASSAY_BUF(1 << 20);
    for (size_t i = 0; i < problems->kept && said < NAMES; i++) {
        const assay_problem *p = &problems->list[i];
        if (!kinds(p->kind))
            continue;
        assay_put_format(out, said++ ? "" : "\n");
        assay_buf_clear(&line);
        assay_put_format(&line, "%s: %s: %s", assay_store_location(own->store), assay_problem_word(p->kind), p->text);
        assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
    }
    assay_buf_release(&line);
    return said;
}

static void put_more_of(uint64_t more, assay_buf *out)
{
    if (more > 0)
        assay_put_format(out, "and %" PRIu64 " more; --json lists up to %d\n", more, ASSAY_PROBLEMS_KEPT);
}

static void put_problems(const assay_trial_files *own, const assay_draw *draw, assay_buf *out)
{
    const assay_problems *problems = &own->problems;
    const size_t said = put_kinds(own, assay_problem_is_loss, draw, out);
    if (problems->losses > 0 && said == 0) {
        assay_buf line = ASSAY_BUF(1 << 20);
        assay_put_format(&line, "%s: %" PRIu64 " problem%s with loss of data, behind the %d problems that are listed",
                         assay_store_location(own->store), problems->losses, assay_plural(problems->losses),
                         ASSAY_PROBLEMS_KEPT);
        assay_put_format(out, "\n");
        assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
        assay_buf_release(&line);
    } else {
        put_more_of(problems->losses - said, out);
    }
    put_more_of(count_left_out(problems) - put_kinds(own, is_left_out, draw, out), out);
}

static void put_singles(const assay_diff *d, const assay_diff_singles *singles, const assay_trial_files *own,
                        const assay_draw *draw, assay_buf *out)
{
    assay_buf text = ASSAY_BUF(1 << 20);
    if (singles->count == 0)
        return;
    assay_put_format(&text, "Only in %s (%zu%s): ", assay_store_location(own->store), singles->count,
                     count_lacked(d, singles) ? "" : ", of kinds that were not compared");
    for (size_t i = 0; i < singles->count && i < NAMES; i++)
        assay_put_format(&text, "%s%s at step %" PRId64, i ? ", " : "", singles->list[i].name, singles->list[i].step);
    if (singles->count > NAMES)
        assay_put_format(&text, " and %zu more", singles->count - NAMES);
    assay_put_format(out, "\n");
    assay_text_put_wrapped(out, draw, 0, NULL, (const char *)text.data, text.size);
    assay_buf_release(&text);
}

static void put_steps(const int64_t *steps, size_t count, const assay_trial_files *own, const assay_draw *draw,
                      assay_buf *out)
{
    assay_buf line = ASSAY_BUF(1 << 20);
    if (count == 0)
        return;
    assay_put_format(&line, "Steps only in %s (%zu, not compared):", assay_store_location(own->store), count);
    for (size_t i = 0; i < count && i < NAMES; i++)
        assay_put_format(&line, " %" PRId64, steps[i]);
    assay_put_format(&line, count > NAMES ? " ..." : "");
    assay_put_format(out, "\n");
    assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
    assay_buf_release(&line);
}

static void put_text(const assay_diff *d, const tensors_summary *s, const assay_draw *draw, assay_buf *out)
{
    assay_buf line = ASSAY_BUF(1 << 20);
    put_verdict(d, s, &line);
    assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
    assay_buf_clear(&line);
    put_largest(s, &line);
    if (line.size > 0)
        assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
    assay_buf_clear(&line);
    put_mapped(d, &line);
    if (line.size > 0)
        assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
    assay_buf_release(&line);
    put_rows(d, s, draw, out);
    put_unread(d, draw, out);
    put_problems(&d->a, draw, out);
    put_problems(&d->b, draw, out);
    put_singles(d, &d->only_a, &d->a, draw, out);
    put_singles(d, &d->only_b, &d->b, draw, out);
    put_steps(d->steps_a, d->steps_only_a, &d->a, draw, out);
    put_steps(d->steps_b, d->steps_only_b, &d->b, draw, out);
}

/* ---- the command ---- */

/* On rank 0: prints what was found. */
static int conclude(const assay_diff *d, assay_listing_form form)
{
    const tensors_summary s = summarize(d);
    assay_draw draw;
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (form == ASSAY_LISTING_JSON)
        tensors_put_json(d, &s, &out);
    else if (form == ASSAY_LISTING_CSV)
        tensors_put_csv(d, &out);
    else
        put_text(d, &s, cli_draw_style(CLI_DRAW_AUTO, &draw), &out);
    const bool different = is_different(&s);
    const bool damaged = s.unread > 0 || s.losses > 0;
    return cli_finish(&out, different ? CLI_FINDINGS : damaged ? CLI_LOSSES : CLI_DONE);
}

/* A job of both trials, for what commands do before they read. */
static int make_job(const char *const *trials, assay_job *job, assay_error *err)
{
    static const char text[] = "{\"trials\": [], \"rules\": [{\"rule\": \"MissingWorker\"}]}";
    int status = assay_job_parse("compare", text, sizeof text - 1, &assay_report_forms, job, err);
    const size_t count = strcmp(trials[0], trials[1]) == 0 ? 1 : 2; /* a trial is equal to itself */
    return status == ASSAY_OK ? assay_job_set_trials(job, trials, count, err) : status;
}

static int begin(const cli_context *context, const char *a, const char *b, assay_error *err)
{
    const char *const trials[] = {a, b};
    assay_job job = {0};
    int status = assay_comm_agree(context->comm, make_job(trials, &job, err), err);
    ASSAY_THEN(status, cli_s3_begin(context->comm, &job, NULL, err));
    assay_job_release(&job);
    return status;
}

/* 1, 0, or what is wrong with the trial. */
static int is_series(const char *location, assay_error *err)
{
    bool series = false;
    const int status = assay_trial_is_series(location, &series, err);
    return status == ASSAY_OK ? series : status;
}

int cli_are_checkpoints(const cli_context *context, const char *a, const char *b, assay_error *err)
{
    assay_error ignored = {""};
    int status = ASSAY_OK, both = 0;
    if (begin(context, a, b, &ignored) != ASSAY_OK)
        return 0;
    if (assay_comm_rank(context->comm) == 0) {
        const int of_a = is_series(a, err), of_b = is_series(b, of_a < 0 ? &ignored : err);
        both = of_a == 1 && of_b == 1;
        status = of_a == 1 && of_b < 0 ? of_b : of_b == 1 && of_a < 0 ? of_a : ASSAY_OK;
    }
    status = assay_comm_agree(context->comm, status, err);
    return status == ASSAY_OK ? cli_share_code(context->comm, both) : status;
}

int cli_compare_tensors(const cli_context *context, const char *a, const char *b, const tensors_options *options)
{
    assay_error err = {""};
    assay_diff diff = {0};
    const cli_shared *given = cli_given();
    assay_diff_options o = {.tolerance = {options->absolute, options->relative},
                            .from = given->steps.from,
                            .to = given->steps.to,
                            .topology = options->topology,
                            .memory = given->memory,
                            .progress = cli_progress()};
    assay_name_map *maps = assay_alloc_zeroed(options->maps.count + 1, sizeof *maps);
    int status = maps ? ASSAY_OK : ASSAY_ENOMEM;
    for (; status == ASSAY_OK && o.maps < options->maps.count; o.maps++)
        status = assay_name_map_parse(options->maps.text[o.maps], &maps[o.maps], &err);
    o.map = maps;
    status = assay_comm_agree(context->comm, status, &err);
    ASSAY_THEN(status, begin(context, a, b, &err));
    ASSAY_THEN(status, assay_diff_run(context->comm, a, b, &o, &diff, &err));
    const bool first = assay_comm_rank(context->comm) == 0;
    const int code = status != ASSAY_OK
                         ? cli_fail(status, &err)
                         : cli_share_code(context->comm, first ? conclude(&diff, options->form) : CLI_DONE);
    assay_diff_release(&diff);
    for (size_t i = 0; maps && i < options->maps.count; i++)
        assay_name_map_release(&maps[i]);
    free(maps);
    return code;
}
