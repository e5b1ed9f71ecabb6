/* finish.c - sets the ranks side by side: which files count, which steps all have, and then all that compares ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "trace/side.h"

const char *assay_trace_text(const assay_trace_data *data, uint32_t text)
{
    size_t length = 0;
    return text == ASSAY_NO_ID ? "" : assay_dict_name(data->texts, text, &length);
}

void assay_trace_free(assay_trace_data *d)
{
    if (!d)
        return;
    for (size_t i = 0; d->rank && i < d->ranks; i++) {
        free(d->rank[i].sum);
        free(d->rank[i].step);
    }
    for (size_t i = 0; d->group && i < d->groups; i++)
        free(d->group[i].member);
    for (size_t i = 0; d->problem && i < d->problems; i++)
        free(d->problem[i].text);
    free(d->rank);
    free(d->group);
    free(d->no_file);
    free(d->set_aside);
    free(d->step);
    free(d->step_duration);
    free(d->clock);
    free(d->late);
    free(d->work);
    free(d->kind);
    free(d->transfer);
    free(d->problem);
    assay_dict_free(d->texts);
    free(d);
}

/* ---- files ---- */

typedef struct listed { /* a file with its rows */
    const file_row *row;
    stretch rows;
} listed;

ASSAY_ORDER_BY(compare_listed, listed, row->rank, row->number)

static int add_problem(assay_trace_data *data, uint32_t file, char *text)
{
    data->problem[data->problems].file = file;
    data->problem[data->problems].text = text;
    data->problems += text != NULL;
    return text ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Tells whether a file has steps of its own behind those of the last one that counts of its rank. */
static bool goes_on(const side *s, const side_rank *rank, const listed *later)
{
    const file_row *last = &s->c->file.list[s->file.list[rank->first + rank->files - 1].file];
    if (last->whole_file || later->row->whole_file || later->row->begin <= last->end)
        return false;
    for (uint32_t f = 0; f < rank->files; f++) {
        const stretch *file = &s->file.list[rank->first + f];
        for (uint64_t i = 0; i < s->c->file.list[file->file].steps; i++)
            for (uint64_t k = 0; k < later->row->steps; k++)
                if (s->c->step.list[file->steps + i].number == s->c->step.list[later->rows.steps + k].number)
                    return false;
    }
    return true;
}

/* Files come sorted by rank, then as given: the first of a rank counts, and the rest only where it goes on. */
static int take_file(side *s, const listed *one, const assay_event_files *files)
{
    assay_trace_data *data = s->data;
    side_rank *rank = s->rank.count > 0 ? &s->rank.list[s->rank.count - 1] : NULL;
    if (rank && rank->rank == one->row->rank && !goes_on(s, rank, one)) {
        char text[512];
        const file_row *first = &s->c->file.list[s->file.list[rank->first].file];
        snprintf(text, sizeof text,
                 "rank %d has another file, %.300s, which counts; this one does not, for its steps do not lie behind "
                 "those of that one",
                 (int)rank->rank, files->list[first->number].path);
        return add_problem(data, one->row->number, assay_copy_text(text));
    }
    if (!rank || rank->rank != one->row->rank) {
        rank = ASSAY_VEC_ADD(&s->rank);
        ASSAY_HAVE(rank);
        *rank = (side_rank){.rank = one->row->rank, .first = (uint32_t)s->file.count};
    }
    stretch *file = ASSAY_VEC_ADD(&s->file);
    ASSAY_HAVE(file);
    *file = one->rows;
    rank->files++;
    return ASSAY_OK;
}

/* Measures what the names of files of one process have in common: without the time of the file, which torch.profiler
 * puts behind the last dot. */
static size_t process_length(const char *name)
{
    static const char *const suffixes[] = {".gz", ".json", ".trace", ".pt"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const size_t n = strlen(suffixes[i]);
        if (length > n && memcmp(name + length - n, suffixes[i], n) == 0)
            length -= n;
    }
    size_t digits = length;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    return digits > 1 && digits < length && name[digits - 1] == '.' ? digits - 1 : length;
}

/* Traces of which none says a rank are numbered by their names, so that each gets an answer alone. Which rank of a
 * group one is, is not known: its kernels of communication are in no group. Beside a trace that has a rank they
 * cannot be numbered. `kernel` runs along the collector's kernels, which lie file by file. */
static int number_files(side *s, const assay_event_files *files)
{
    assay_trace_collector *c = s->c;
    const char *last = NULL;
    int32_t rank = -1;
    bool has_rank = false;
    int status = ASSAY_OK;
    for (size_t i = 0; i < c->file.count; i++)
        has_rank = has_rank || c->file.list[i].rank >= 0;
    for (size_t i = 0, kernel = 0; i < c->file.count && status == ASSAY_OK;
         kernel += c->file.list[i++].communications) {
        file_row *row = &c->file.list[i];
        const char *path = files->list[row->number].path;
        char text[256] = "no rank: neither distributedInfo nor the name says whose it is, as those of other files do";
        if (row->state != FILE_NO_RANK)
            continue;
        if (!has_rank) {
            const size_t length = process_length(path);
            rank += !last || process_length(last) != length || memcmp(last, path, length) != 0;
            last = path;
            row->rank = rank;
            row->state = FILE_USED;
            snprintf(text, sizeof text,
                     "neither distributedInfo nor the name says whose it is: it is called worker_%d here, and its "
                     "collectives are compared with no other's",
                     (int)rank);
            for (size_t k = kernel; k < kernel + row->communications; k++)
                c->kernel.list[k].group = ASSAY_NO_ID;
        }
        s->data->problem[s->data->problems].used = row->state == FILE_USED;
        status = add_problem(s->data, row->number, assay_copy_text(text));
    }
    return status;
}

/* Names a file whose name has another rank than it says itself: it may lie in the place of another one. */
static int hold_names(side *s, const assay_event_files *files)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < s->c->file.count && status == ASSAY_OK; i++) {
        const file_row *row = &s->c->file.list[i];
        const int32_t named = trace_file_named_rank(files->list[row->number].path);
        char text[160];
        if (row->state != FILE_USED || row->rank < 0 || named < 0 || named == row->rank)
            continue;
        snprintf(text, sizeof text,
                 "its distributedInfo says rank %d, its name rank %d: it is taken for rank %d; it may lie in the place "
                 "of another file",
                 (int)row->rank, (int)named, (int)row->rank);
        s->data->problem[s->data->problems].used = true;
        status = add_problem(s->data, row->number, assay_copy_text(text));
    }
    return status;
}

static int choose_files(side *s, const assay_event_files *files)
{
    const assay_trace_collector *c = s->c;
    assay_trace_data *data = s->data;
    listed *list = assay_alloc((c->file.count + 1) * sizeof *list);
    stretch at = {0};
    size_t count = 0;
    int status = ASSAY_OK;
    /* Room for each problem of reading, and of each file for one of its rank (numbered, or another one in its name) and
     * one of choosing: add_problem does not grow it. */
    data->problem = assay_alloc_zeroed(c->problem.count + 2 * c->file.count + 1, sizeof *data->problem);
    data->set_aside = assay_alloc((c->file.count + 1) * sizeof *data->set_aside);
    if (!list || !data->problem || !data->set_aside) {
        free(list);
        return ASSAY_ENOMEM;
    }
    status = hold_names(s, files); /* of those that have a rank; the others are numbered */
    ASSAY_THEN(status, number_files(s, files));
    /* Rows of all files follow one another in the collector's lists: `at` runs along them, past files that do not
     * count as well. */
    for (size_t i = 0; i < c->file.count; i++) {
        const file_row *row = &c->file.list[i];
        at.file = (uint32_t)i;
        if (row->state == FILE_USED)
            list[count++] = (listed){row, at};
        else if (row->state == FILE_SET_ASIDE && row->rank >= 0)
            data->set_aside[data->sets_aside++] = row->rank;
        at.steps += row->steps;
        at.kernels += row->communications;
        at.sums += row->sums;
    }
    for (size_t i = 0; i < c->problem.count && status == ASSAY_OK; i++)
        status = add_problem(data, c->problem.list[i].file,
                             assay_copy_text(assay_trace_text(data, c->problem.list[i].text)));
    if (count > 1)
        qsort(list, count, sizeof *list, compare_listed);
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        status = take_file(s, &list[i], files);
    free(list);
    return status;
}

/* ---- steps ---- */

typedef struct numbered_step {
    int64_t number;
    uint32_t rank;
    uint64_t row;
} numbered_step;

ASSAY_ORDER_BY(compare_steps, numbered_step, number, rank, row)

/* Finds the end of the stretch of one number. */
static size_t end_of_number(const numbered_step *list, size_t count, size_t from)
{
    size_t to = from + 1;
    while (to < count && list[to].number == list[from].number)
        to++;
    return to;
}

/* Chooses steps that every rank has; without one, those of the ranks that have the lowest of the numbers that most
 * have. */
static void choose_ranks(side *s, const numbered_step *list, size_t count)
{
    size_t best = 0, most = 0;
    for (size_t from = 0, to; from < count; from = to) {
        to = end_of_number(list, count, from);
        if (to - from > most) {
            most = to - from;
            best = from;
        }
    }
    for (size_t r = 0; r < s->rank.count; r++)
        s->rank.list[r].evaluated = most == s->rank.count;
    for (size_t i = best; i < best + most; i++)
        s->rank.list[list[i].rank].evaluated = true;
}

/* A step that some evaluated rank lacks is not compared: its operations would miss a member. */
static int find_steps(side *s)
{
    const assay_trace_collector *c = s->c;
    assay_trace_data *data = s->data;
    numbered_step *list = assay_alloc((c->step.count + 1) * sizeof *list);
    int64_t *durations = assay_alloc((s->rank.count + 1) * sizeof *durations);
    size_t count = 0, evaluated = 0;
    s->step_of = assay_alloc((c->step.count + 1) * sizeof *s->step_of);
    data->step = assay_alloc((c->step.count + 1) * sizeof *data->step);
    data->step_duration = assay_alloc((c->step.count + 1) * sizeof *data->step_duration);
    const bool there = list && durations && s->step_of && data->step && data->step_duration;
    for (size_t i = 0; i < c->step.count && there; i++)
        s->step_of[i] = ASSAY_NO_ID;
    for (size_t r = 0; r < s->rank.count && there; r++)
        for (uint32_t f = 0; f < s->rank.list[r].files; f++) {
            const stretch *file = &s->file.list[s->rank.list[r].first + f];
            for (uint64_t i = 0; i < c->file.list[file->file].steps; i++)
                list[count++] = (numbered_step){c->step.list[file->steps + i].number, (uint32_t)r, file->steps + i};
        }
    if (there && count > 0) {
        qsort(list, count, sizeof *list, compare_steps);
        choose_ranks(s, list, count);
    }
    for (size_t r = 0; r < s->rank.count && there; r++)
        evaluated += s->rank.list[r].evaluated;
    for (size_t from = 0, to; there && from < count; from = to) {
        size_t n = 0;
        to = end_of_number(list, count, from);
        for (size_t i = from; i < to; i++)
            if (s->rank.list[list[i].rank].evaluated) {
                const step_row *row = &c->step.list[list[i].row];
                durations[n++] = row->end - row->begin;
            }
        if (n < evaluated || n == 0)
            continue;
        for (size_t i = from; i < to; i++)
            if (s->rank.list[list[i].rank].evaluated)
                s->step_of[list[i].row] = (uint32_t)data->steps;
        data->step[data->steps] = list[from].number;
        data->step_duration[data->steps++] = trace_lower_median(durations, n);
    }
    free(list);
    free(durations);
    return there ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Places the kernels of evaluated ranks, by rank in order of time. */
static int place_kernels(side *s)
{
    const assay_trace_collector *c = s->c;
    s->place = assay_alloc((c->kernel.count + 1) * sizeof *s->place);
    s->mark = assay_alloc((c->kernel.count + 1) * sizeof *s->mark);
    /* Kernels are named by 32 bits. */
    if (!s->place || !s->mark || c->kernel.count >= ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    for (size_t i = 0; i < c->kernel.count; i++)
        s->mark[i] = (kernel_mark){ASSAY_NO_ID, ASSAY_NO_ID, ASSAY_NO_ID, TRACE_NONE, TRACE_NONE};
    for (size_t r = 0; r < s->rank.count; r++) {
        side_rank *rank = &s->rank.list[r];
        rank->first_place = s->places;
        for (uint32_t f = 0; f < rank->files && rank->evaluated; f++) {
            const stretch *file = &s->file.list[rank->first + f];
            for (uint64_t i = 0; i < c->file.list[file->file].communications; i++) {
                const uint64_t kernel = file->kernels + i;
                const uint32_t step = c->kernel.list[kernel].step;
                s->mark[kernel].rank = (uint32_t)r;
                s->mark[kernel].step = step == ASSAY_NO_ID ? step : s->step_of[file->steps + step];
                s->place[s->places++] = (uint32_t)kernel;
                s->data->without_group += c->kernel.list[kernel].group == ASSAY_NO_ID;
            }
        }
        rank->kernels = s->places - rank->first_place;
    }
    return ASSAY_OK;
}

/* ---- what each rank alone tells ---- */

static void add_figures(assay_trace_figures *to, const assay_trace_figures *more)
{
    to->total = trace_add(to->total, more->total);
    to->computation = trace_add(to->computation, more->computation);
    to->exposed_communication = trace_add(to->exposed_communication, more->exposed_communication);
    to->exposed_copy = trace_add(to->exposed_copy, more->exposed_copy);
    to->busy = trace_add(to->busy, more->busy);
    to->idle = trace_add(to->idle, more->idle);
    to->communication = trace_add(to->communication, more->communication);
    to->copy = trace_add(to->copy, more->copy);
}

static int compare_gaps(const void *a, const void *b)
{
    const assay_trace_gap *x = a, *y = b;
    return ASSAY_ORDER(y->length, x->length);
}

static void add_alone(assay_trace_alone *to, const assay_trace_alone *more)
{
    /* Each side has at most ASSAY_TRACE_GAPS. */
    assay_trace_gap gaps[2 * ASSAY_TRACE_GAPS];
    uint32_t count = 0;
    to->activities += more->activities;
    to->launched_before += more->launched_before;
    add_figures(&to->figures, &more->figures);
    for (int cause = 0; cause < ASSAY_CAUSES; cause++)
        to->idle[cause] = trace_add(to->idle[cause], more->idle[cause]);
    for (uint32_t i = 0; i < to->gaps; i++)
        gaps[count++] = to->gap[i];
    for (uint32_t i = 0; i < more->gaps && i < ASSAY_TRACE_GAPS; i++)
        gaps[count++] = more->gap[i];
    for (uint32_t i = 1; i < count; i++) /* few: equal ones stay in their order */
        for (uint32_t k = i; k > 0 && compare_gaps(&gaps[k - 1], &gaps[k]) > 0; k--) {
            const assay_trace_gap swap = gaps[k];
            gaps[k] = gaps[k - 1];
            gaps[k - 1] = swap;
        }
    to->gaps = count < ASSAY_TRACE_GAPS ? count : ASSAY_TRACE_GAPS;
    memcpy(to->gap, gaps, to->gaps * sizeof *gaps);
}

ASSAY_ORDER_BY(compare_sum_names, assay_trace_sum, kind, name)

static const assay_trace_data *sorted_data; /* whose names the order below asks; one thread finishes */

static int compare_sums(const void *a, const void *b)
{
    const assay_trace_sum *x = a, *y = b;
    int order = ASSAY_ORDER(x->kind, y->kind);
    order = order ? order : ASSAY_ORDER(y->time, x->time);
    return order ? order : strcmp(assay_trace_text(sorted_data, x->name), assay_trace_text(sorted_data, y->name));
}

/* Files of one rank repeat names: equal ones are added up, then the longest come first. */
static int add_sums(const side *s, const side_rank *rank, assay_trace_rank *to)
{
    size_t count = 0, kept = 0;
    for (uint32_t f = 0; f < rank->files; f++)
        count += s->c->file.list[s->file.list[rank->first + f].file].sums;
    to->sum = assay_alloc((count + 1) * sizeof *to->sum);
    ASSAY_HAVE(to->sum);
    count = 0;
    for (uint32_t f = 0; f < rank->files; f++) {
        const stretch *file = &s->file.list[rank->first + f];
        const uint64_t more = s->c->file.list[file->file].sums;
        if (more > 0)
            memcpy(to->sum + count, s->c->sum.list + file->sums, more * sizeof *to->sum);
        count += more;
    }
    qsort(to->sum, count, sizeof *to->sum, compare_sum_names);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare_sum_names(&to->sum[kept - 1], &to->sum[i]) != 0) {
            to->sum[kept++] = to->sum[i];
            continue;
        }
        to->sum[kept - 1].count += to->sum[i].count;
        to->sum[kept - 1].time = trace_add(to->sum[kept - 1].time, to->sum[i].time);
    }
    to->sums = kept;
    sorted_data = s->data;
    qsort(to->sum, kept, sizeof *to->sum, compare_sums);
    return ASSAY_OK;
}

/* What a rank alone tells is kept of every rank, evaluated or not; only figures that are compared are of the
 * evaluated ones. */
static int add_rank(side *s, const side_rank *rank, assay_trace_rank *to)
{
    assay_trace_data *data = s->data;
    *to = (assay_trace_rank){
        .rank = rank->rank, .evaluated = rank->evaluated, .first_step = INT64_MAX, .last_step = INT64_MIN};
    to->step = assay_alloc(ASSAY_TRACE_STEPS_ALONE * sizeof *to->step);
    ASSAY_HAVE(to->step);
    for (uint32_t f = 0; f < rank->files; f++) {
        const stretch *file = &s->file.list[rank->first + f];
        const file_row *row = &s->c->file.list[file->file];
        to->whole_file = row->whole_file;
        to->has_launches = to->has_launches || row->has_launches;
        to->step_count += row->steps;
        add_alone(&to->alone, &row->alone);
        if (rank->evaluated) {
            data->events += row->events;
            data->kernels += row->kernels;
            data->without_description += row->without_description;
        }
        data->without_time += row->without_time;
        data->too_large += row->too_large;
        for (uint64_t i = 0; i < row->steps; i++) {
            const step_row *step = &s->c->step.list[file->steps + i];
            to->first_step = step->number < to->first_step ? step->number : to->first_step;
            to->last_step = step->number > to->last_step ? step->number : to->last_step;
            if (step->has_activities && to->steps < ASSAY_TRACE_STEPS_ALONE)
                to->step[to->steps++] = (assay_trace_step_alone){step->number, step->figures};
        }
    }
    return add_sums(s, rank, to);
}

static int add_ranks(side *s)
{
    assay_trace_data *data = s->data;
    data->rank = assay_alloc_zeroed(s->rank.count + 1, sizeof *data->rank);
    data->clock = assay_alloc_zeroed(s->rank.count + 1, sizeof *data->clock);
    int status = data->rank && data->clock ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t r = 0; r < s->rank.count && status == ASSAY_OK; r++) {
        data->ranks++;
        status = add_rank(s, &s->rank.list[r], &data->rank[r]);
    }
    return status;
}

static size_t sort_ranks(int32_t *list, size_t count)
{
    size_t kept = 0;
    if (count > 1)
        qsort(list, count, sizeof *list, assay_order_i32);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

/* Finds members of groups without a file. Ranks whose file was set aside are told of as such. */
static int find_missing(side *s)
{
    assay_trace_data *data = s->data;
    ASSAY_VEC(int32_t) missing = {0};
    data->sets_aside = sort_ranks(data->set_aside, data->sets_aside);
    for (size_t g = 0; g < data->groups; g++)
        for (uint32_t m = 0; m < data->group[g].members; m++) {
            const int32_t rank = data->group[g].member[m];
            if (side_find_rank(s, rank) ||
                bsearch(&rank, data->set_aside, data->sets_aside, sizeof rank, assay_order_i32))
                continue;
            int32_t *to = ASSAY_VEC_ADD(&missing);
            if (!to) {
                free(missing.list);
                return ASSAY_ENOMEM;
            }
            *to = rank;
        }
    data->no_files = sort_ranks(missing.list, missing.count);
    data->no_file = missing.list;
    return ASSAY_OK;
}

static void release(side *s)
{
    free(s->file.list);
    free(s->rank.list);
    free(s->step_of);
    free(s->place);
    free(s->mark);
    free(s->group);
    free(s->group_of);
    free(s->operation.list);
    free(s->member.list);
    free(s->transfer_goal);
}

/* Each pass takes what those before it left in `side` or in the data, so their order matters. */
int assay_trace_finish(assay_trace_collector *c, const assay_event_files *files, assay_trace_data **out)
{
    static int (*const passes[])(side *) = {find_steps,        add_ranks,       place_kernels,   trace_match,
                                            trace_find_clocks, trace_find_late, trace_find_work, trace_find_classes,
                                            trace_what_if,     find_missing};
    side s = {.c = c, .data = assay_alloc_zeroed(1, sizeof *s.data)};
    *out = NULL;
    ASSAY_HAVE(s.data);
    s.data->texts = c->texts;
    s.data->files = c->file.count;
    int status = choose_files(&s, files);
    for (size_t i = 0; i < sizeof passes / sizeof *passes && status == ASSAY_OK; i++)
        status = passes[i](&s);
    release(&s);
    if (status != ASSAY_OK) {
        s.data->texts = NULL; /* the collector's still */
        assay_trace_free(s.data);
        return status;
    }
    c->texts = NULL;
    *out = s.data;
    return ASSAY_OK;
}
