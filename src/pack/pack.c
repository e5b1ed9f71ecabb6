/* pack.c - packs trials: lists them and reads the index, then writes each trial's file table, bytes and index tables.
 */
#include "pack/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/path.h"
#include "pack/pack_internal.h"

enum { FILE_CHUNK = 1 << 15, NAME_MOST = 200 };

/* What sources are made of, without rules. */
assay_job assay_pack_job(assay_job_trial *trials, size_t count)
{
    return (assay_job){.file = (char *)"pack", .trials = trials, .trial_count = count};
}

/* ---- the order of the bytes ---- */

typedef struct ordered {
    const char *name;
    uint64_t row;
} ordered;

static int compare_ordered(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    int order = assay_worker_compare(x->name, y->name);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Gives every file its place: steps in order, and within them workers in natural order, as they are read. Empty files
 * and those that could not be read have no bytes, hence none. */
static int place_files(assay_packing *p)
{
    assay_file_list *list = &p->list;
    ordered *sorted = assay_alloc_zeroed((size_t)list->count, sizeof *sorted);
    p->order = assay_alloc_zeroed((size_t)list->count, sizeof *p->order);
    if (!sorted || !p->order) {
        free(sorted);
        return ASSAY_ENOMEM;
    }
    for (uint64_t i = 0; i < list->count; i++)
        if (list->files[i].kind == ASSAY_PACKED_FILE && list->files[i].size > 0)
            sorted[p->ordered++] = (ordered){assay_file_name(list, i), i};
    qsort(sorted, (size_t)p->ordered, sizeof *sorted, compare_ordered);
    uint64_t at = 0;
    for (uint64_t i = 0; i < p->ordered; i++) {
        p->order[i] = sorted[i].row;
        list->files[sorted[i].row].at = at;
        at += list->files[sorted[i].row].size;
    }
    free(sorted);
    return ASSAY_OK;
}

static int put_files(assay_packing *p, assay_error *err)
{
    static const assay_column columns[] = {
        {"name_at", ASSAY_COLUMN_U64, offsetof(assay_packed_file, name_at), 0},
        {"name_length", ASSAY_COLUMN_U32, offsetof(assay_packed_file, name_length), 0},
        {"kind", ASSAY_COLUMN_U32, offsetof(assay_packed_file, kind), 0},
        {"at", ASSAY_COLUMN_U64, offsetof(assay_packed_file, at), 0},
        {"size", ASSAY_COLUMN_U64, offsetof(assay_packed_file, size), 0}};
    const assay_hdf5_layout rows = {columns, 5, 0, sizeof *p->list.files, p->list.count, FILE_CHUNK, false};
    const assay_hdf5_layout names = {.kind = ASSAY_COLUMN_U8, .row = 1, .rows = p->list.names.size, .chunk = 1 << 20};
    int status = assay_pack_put(p, "files", &rows, p->list.files, err);
    return status == ASSAY_OK ? assay_pack_put(p, "names", &names, p->list.names.data, err) : status;
}

static int put_workers(assay_packing *p, assay_error *err)
{
    const assay_catalog *catalog = &p->source->catalog;
    assay_buf names = ASSAY_BUF(SIZE_MAX);
    for (uint32_t w = 0; w < catalog->workers; w++)
        assay_put_bytes(&names, catalog->worker[w], strlen(catalog->worker[w]) + 1);
    int status = assay_comm_agree(p->comm, assay_buf_status(&names), err);
    const assay_hdf5_layout layout = {.kind = ASSAY_COLUMN_U8, .row = 1, .rows = names.size, .chunk = 1 << 20};
    ASSAY_THEN(status, assay_pack_put(p, "workers", &layout, names.data, err));
    assay_buf_release(&names);
    return status;
}

/* ---- one trial, and all ---- */

/* Collective, in this order: files first, as unpacking needs no more than them and the bytes; the sums last, as they
 * are of the tables before. */
static int pack_trial(assay_packing *p, assay_pack_figures *figures, assay_error *err)
{
    uint64_t records = 0, short_files = 0, damaged = 0;
    assay_error first = {""};
    assay_buf_init(&p->sums, SIZE_MAX);
    int status = assay_file_list_read(p->comm, p->source->store, &p->list, err);
    if (status == ASSAY_OK && !p->follow_links)
        status = assay_file_list_stays_inside(p->comm, p->source->store, &p->list, err);
    ASSAY_THEN(status, assay_comm_agree(p->comm, place_files(p), err));
    ASSAY_THEN(status, assay_hdf5_group(p->file, p->group, err));
    ASSAY_THEN(status, put_files(p, err));
    ASSAY_THEN(status, put_workers(p, err));
    ASSAY_THEN(status, assay_pack_check(p, &short_files, err));
    ASSAY_THEN(status, assay_pack_check_records(p, &damaged, &first, err));
    ASSAY_THEN(status, assay_pack_index(p, &records, err));
    ASSAY_THEN(status, assay_pack_bytes(p, err));
    ASSAY_THEN(status, assay_pack_sums(p, err));
    assay_buf_release(&p->sums);
    figures->trials++;
    figures->files += p->list.count;
    figures->bytes += p->list.bytes;
    figures->unreadable += p->list.unreadable;
    figures->records += records;
    /* Only the first reason is kept, for a message; the rest is a number. */
    if (figures->damaged == 0 && damaged > 0)
        figures->first_damaged = first;
    figures->damaged += damaged;
    figures->losses += p->source->problems.losses + short_files;
    free(p->order);
    assay_file_list_release(&p->list);
    return status;
}

static int put_head(assay_hdf5_file *file, assay_error *err)
{
    int status = assay_hdf5_put_text(file, "/", "format", ASSAY_PACKED_FORMAT, err);
    ASSAY_THEN(status, assay_hdf5_put_number(file, "/", "version", ASSAY_PACKED_VERSION, err));
    return status == ASSAY_OK ? assay_hdf5_group(file, "/trials", err) : status;
}

static int pack_all(assay_comm *comm, assay_sources *sources, const assay_pack_options *options, assay_hdf5_file *file,
                    assay_pack_figures *figures, assay_error *err)
{
    int status = put_head(file, err);
    for (uint32_t i = 0; status == ASSAY_OK && i < sources->count; i++) {
        char group[NAME_MOST + 16];
        snprintf(group, sizeof group, "/trials/%s", sources->list[i].name);
        assay_packing p = {.comm = comm,
                           .file = file,
                           .group = group,
                           .source = &sources->list[i],
                           .compress = options->compress,
                           .follow_links = options->follow_links};
        status = pack_trial(&p, figures, err);
    }
    return status == ASSAY_OK ? assay_hdf5_finish(file, err) : status;
}

/* Says what stands between a trial and being packed. A packed file with a trial less would not be what was asked for,
 * so one stops all. */
static int check_sources(const assay_sources *sources, assay_error *err)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        const assay_source *s = &sources->list[i];
        if (s->status != ASSAY_OK) {
            *err = s->error;
            return s->status;
        }
        if (!assay_path_is_name(s->name, strlen(s->name)) || strlen(s->name) > NAME_MOST)
            return assay_fail(err, ASSAY_EUSAGE,
                              "%.100s: not a name for a trial in a packed file; give NAME=PATH with another", s->name);
    }
    return ASSAY_OK;
}

static int read_sources(assay_comm *comm, const assay_job *job, assay_sources *sources, assay_error *err)
{
    int status = assay_comm_agree(comm, assay_sources_init(sources, job), err);
    /* Units and rows stay as the files say, on every rank: a packed file shows what was there. */
    sources->verbatim = true;
    ASSAY_THEN(status, assay_sources_list(comm, sources, err));
    ASSAY_THEN(status, assay_comm_agree(comm, check_sources(sources, err), err));
    return status == ASSAY_OK ? assay_sources_read(comm, sources, err) : status;
}

/* Where trial i lies in a packed file; the caller frees it. */
static char *place_in(const char *file, const assay_job_trial *trial)
{
    return assay_path_join(file, trial->name);
}

static int compare_all(assay_comm *comm, const assay_job *job, const char *file, assay_error *err)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < job->trial_count; i++) {
        char *place = place_in(file, &job->trials[i]);
        status = assay_comm_agree(comm, place ? ASSAY_OK : ASSAY_ENOMEM, err);
        ASSAY_THEN(status, assay_pack_compare(comm, job->trials[i].path, place, err));
        free(place);
    }
    return status;
}

/* Looks for a finished file with the same trials: --resume then leaves nothing to do. Collective; rank 0 looks at the
 * file system alone, so that all agree. */
static int look_for_file(assay_comm *comm, const assay_job *job, const char *output, assay_pack_figures *figures,
                         assay_error *err)
{
    uint64_t seen[2] = {0, 0};
    int status = ASSAY_OK;
    char part[4096];
    snprintf(part, sizeof part, "%s.part", output);
    if (assay_comm_rank(comm) == 0) {
        seen[0] = access(output, F_OK) == 0;
        seen[1] = access(part, F_OK) == 0;
    }
    status = assay_comm_sum(comm, seen, 2);
    figures->kept = seen[0] > 0;
    for (size_t i = 0; status == ASSAY_OK && figures->kept && i < job->trial_count; i++) {
        char *place = place_in(output, &job->trials[i]);
        status = assay_comm_agree(comm, place ? ASSAY_OK : ASSAY_ENOMEM, err);
        ASSAY_THEN(status, assay_pack_matches(comm, job->trials[i].path, place, &figures->kept, err));
        free(place);
    }
    figures->anew = !figures->kept && (seen[0] || seen[1]);
    return status;
}

/* Writes into a temporary file that gets its name at the end: nobody ever finds half a packed file. Verified before
 * that, so a file that differs is never seen. */
static int write_file(assay_comm *comm, const assay_job *job, const assay_pack_options *options,
                      assay_pack_figures *out, assay_error *err)
{
    assay_sources sources = {0};
    assay_hdf5_file *file = NULL;
    int status = read_sources(comm, job, &sources, err);
    ASSAY_THEN(status, assay_hdf5_create(comm, options->output, &options->hints, &file, err));
    ASSAY_THEN(status, pack_all(comm, &sources, options, file, out, err));
    assay_sources_release(&sources);
    if (status == ASSAY_OK && options->verify)
        status = compare_all(comm, job, assay_hdf5_temporary(file), err);
    if (status == ASSAY_OK)
        return assay_hdf5_rename(file, err);
    assay_hdf5_abandon(file);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "%s: out of memory while packing", options->output);
    return status;
}

int assay_pack(assay_comm *comm, const assay_job *job, const assay_pack_options *options, assay_pack_figures *out,
               assay_error *err)
{
    *out = (assay_pack_figures){0};
    int status = options->resume ? look_for_file(comm, job, options->output, out, err) : ASSAY_OK;
    if (status == ASSAY_OK && !out->kept)
        return write_file(comm, job, options, out, err);
    if (status == ASSAY_OK && options->verify)
        status = compare_all(comm, job, options->output, err);
    return status;
}
