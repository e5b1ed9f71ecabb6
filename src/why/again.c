/* again.c - outputs that hold several runs of a program, one behind the other: the last one counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "why/combine.h"

enum { BYTES_MOST = 256 << 20 /* of an output that is read again for that */ };

/* Are steps behind an event? Then it ended nothing, whoever made them, and nobody has to ask. */
static bool has_steps_behind(const assay_log_file *file, const assay_log_event *e)
{
    enum { STEPS = sizeof file->rank.list->step_at / sizeof *file->rank.list->step_at };
    bool behind = false;
    for (size_t r = 0; r < file->rank.count; r++)
        behind = behind || file->rank.list[r].step_at[STEPS - 1] > e->last_at;
    return behind;
}

/* An event that may have ended a run that another one stands behind; NULL. */
static const assay_log_event *find_end_of_run(const assay_log_file *file)
{
    for (size_t n = 0; n < file->event.count; n++) {
        const assay_log_event *e = &file->event.list[n];
        if (e->role != ASSAY_LOG_NOISE && e->line + WHY_END_LINES < file->lines && !has_steps_behind(file, e))
            return e;
    }
    return NULL;
}

/* Did the scheduler end the job before that byte? Then another one wrote what is behind it. */
static bool has_job_ended(const assay_log_file *file, uint64_t at)
{
    for (size_t e = 0; e < file->event.count && file->event.list[e].at < at; e++)
        if (file->event.list[e].scope == ASSAY_LOG_JOB && why_is_external(file->event.list[e].ending))
            return true;
    return false;
}

/* Keeps what ended an earlier run, for who asks. */
static bool keep_earlier(assay_why *why, const assay_log_event *e)
{
    char said[512];
    snprintf(said, sizeof said, "%.200s (%.200s:%llu)", e->text, why->places.list.list[e->file].path,
             (unsigned long long)e->line);
    return why->earlier || (why->earlier = assay_copy_text(said));
}

/* A run has no more events than all of them together: --memory has room for these. */
static size_t events_of(const assay_log_file *file)
{
    return file->event.count > ASSAY_LOG_EVENTS_LEAST ? file->event.count : ASSAY_LOG_EVENTS_LEAST;
}

/* Does it say how the run ended, or enough to tell that it goes on? Of one that has just begun nobody knows. */
static bool says_enough(const assay_log_file *last, const assay_log_part *run)
{
    bool any = last->lines > run->lines + WHY_END_LINES;
    for (size_t e = 0; e < last->event.count && !any; e++)
        any = last->event.list[e].role != ASSAY_LOG_NOISE;
    return any && last->bytes > 0;
}

/* Puts what the last run said in the place of what all of them did. *left: it was done. */
static int take_last_run(assay_why *why, assay_job_log *log, assay_store *store, assay_log_file *file,
                         const assay_log_part *run, bool *left)
{
    const assay_log_event *first = find_end_of_run(file);
    assay_log_file last = {0};
    int status = assay_job_log_read(log, store, why->places.list.list[file->file].path, run, &last, NULL);
    const bool read = status == ASSAY_OK && (file->cut || !last.cut) && says_enough(&last, run);
    if (read && !keep_earlier(why, first))
        status = ASSAY_ENOMEM;
    last.bytes = file->bytes;
    assay_log_file_release(read ? file : &last);
    if (read)
        *file = last;
    *left = *left || read;
    return status;
}

bool why_leave_earlier_jobs(why_scene *s)
{
    bool made = true;
    for (size_t f = 0; f < s->why->file.count && made; f++) {
        const assay_log_file *file = &s->why->file.list[f];
        const assay_log_event *last = NULL, *other = NULL;
        for (size_t e = file->event.count; e-- > 0 && !other;) {
            const assay_log_event *i = &file->event.list[e];
            other = last && i->job > 0 && i->job != last->job ? i : NULL;
            last = !last && i->job > 0 ? i : last;
        }
        for (size_t k = 0; k < s->item.count && other; k++) {
            why_item *i = &s->item.list[k];
            i->old = i->old || (i->file == f && i->event->last_at <= other->last_at);
        }
        made = !other || keep_earlier(s->why, other);
    }
    return made;
}

/* Does torchrun say of one attempt that it failed, and not of all of them? */
static bool is_of_attempt(const assay_log_event *e)
{
    static const char *const ids[] = {"torchrun_crash",  "torchrun_abort",   "torchrun_killed",
                                      "torchrun_failed", "torchrun_closing", "torchrun_forced"};
    const assay_signature *signature = assay_signature_of(e->signature);
    bool is = false;
    for (size_t i = 0; signature && i < sizeof ids / sizeof *ids && !is; i++)
        is = strcmp(signature->id, ids[i]) == 0;
    return is;
}

/* Where torchrun gives up it says so in the end; what it says of processes of an output without that was of an attempt that another
 * one followed. */
static bool gives_up(const assay_log_file *file)
{
    bool any = false;
    for (size_t e = 0; e < file->event.count && !any; e++) {
        const assay_signature *signature = assay_signature_of(file->event.list[e].signature);
        any = file->event.list[e].signature == ASSAY_SIGNATURE_ROOT_CAUSE ||
              (signature &&
               (strcmp(signature->id, "torchrun_error") == 0 || strcmp(signature->id, "torchrun_death") == 0 ||
                strcmp(signature->id, "torchrun_got_signal") == 0));
    }
    return any;
}

void why_leave_earlier_attempts(why_scene *s)
{
    bool attempts = false;
    for (size_t f = 0; f < s->why->file.count; f++)
        attempts = attempts || s->why->places.list.list[s->why->file.list[f].file].attempt > 0;
    for (size_t k = 0; k < s->item.count && attempts; k++) {
        why_item *i = &s->item.list[k];
        i->old = i->old || (is_of_attempt(i->event) && !gives_up(&s->why->file.list[i->file]));
    }
}

bool why_leave_earlier_runs(assay_why *why, bool several, bool *left)
{
    assay_store *store = NULL;
    assay_job_log *log = NULL;
    int status = ASSAY_OK;
    *left = false;
    for (size_t f = 0; f < why->file.count && status == ASSAY_OK; f++) {
        assay_log_file *file = &why->file.list[f];
        assay_log_part run = {.file = file->file, .pieces = 1, .events = events_of(file)};
        if (file->bytes > BYTES_MOST || !find_end_of_run(file) || (several && !has_job_ended(file, UINT64_MAX)))
            continue;
        status = store ? ASSAY_OK : assay_store_open(why->directory, &store, NULL);
        ASSAY_THEN(status, assay_job_log_begins_again(store, why->places.list.list[file->file].path, &run, NULL));
        if (status == ASSAY_OK && find_end_of_run(file)->at < run.from && (!several || has_job_ended(file, run.from))) {
            status = log ? ASSAY_OK : assay_job_log_new(&log, NULL);
            ASSAY_THEN(status, take_last_run(why, log, store, file, &run, left));
        }
        status = status == ASSAY_ENOMEM ? status : ASSAY_OK; /* what cannot be read again stays as it was read */
    }
    assay_job_log_free(log);
    assay_store_close(store);
    return status == ASSAY_OK;
}
