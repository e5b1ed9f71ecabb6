/* why.c - see why.h. */
#include "why/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

void assay_why_free(assay_why *why)
{
    if (!why)
        return;
    for (size_t i = 0; i < why->file.count; i++)
        assay_log_file_release(&why->file.list[i]);
    free(why->file.list);
    for (size_t i = 0; i < why->chain.count; i++) {
        free(why->chain.list[i].rank.list);
        free(why->chain.list[i].node.list);
    }
    free(why->chain.list);
    why_texts *const lists[] = {(why_texts *)&why->reason, (why_texts *)&why->verdict, (why_texts *)&why->missing,
                                (why_texts *)&why->problem};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        for (size_t i = 0; i < lists[k]->count; i++)
            free(lists[k]->list[i]);
        free(lists[k]->list);
    }
    for (size_t i = 0; i < why->note.count; i++) {
        free(why->note.list[i].path);
        free(why->note.list[i].text);
        free(why->note.list[i].entry);
    }
    free(why->note.list);
    free(why->line.list);
    free(why->hang_ranks.list);
    free(why->clock.list);
    free(why->unknown);
    free(why->hang);
    free(why->earlier);
    free(why->hang_file);
    free(why->resume);
    free(why->resume_state);
    free(why->verify);
    free(why->answer);
    free(why->directory);
    why_places_release(&why->places);
    why_facts_release(&why->facts);
    free(why);
}

bool assay_why_is_job(const char *directory)
{
    why_places places = {.job = -1};
    assay_error err = {""};
    bool found = false;
    if (!strstr(directory, "://") && why_find(directory, NULL, &places, &err) == ASSAY_OK)
        for (size_t i = 0; i < places.list.count && !found; i++)
            found = places.list.list[i].kind == WHY_OUTPUT;
    why_places_release(&places);
    return found;
}

bool assay_why_failed(const assay_why *why)
{
    return why->failed;
}

bool assay_why_has_losses(const assay_why *why)
{
    return why->losses;
}

/* Rank 0's list to everyone else: each has to read the same files, of which there may be a million. Collective. */
static int share_places(assay_comm *comm, const assay_why *why, why_places *out, assay_error *err)
{
    if (assay_comm_size(comm) == 1)
        return ASSAY_OK;
    assay_buf packed = ASSAY_BUF(SIZE_MAX / 4);
    if (why)
        why_places_pack(&why->places, &packed);
    int status = assay_comm_agree(comm, assay_buf_status(&packed), err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &packed));
    if (status == ASSAY_OK) {
        assay_cursor in = assay_cursor_over(packed.data, packed.size);
        const int unpacked = why ? ASSAY_OK : why_places_unpack(&in, out);
        status = assay_comm_agree(
            comm, unpacked == ASSAY_OK ? unpacked : assay_fail(err, unpacked, "out of memory for the files of a job"),
            err);
    }
    assay_buf_release(&packed);
    return status;
}

/* What was not there and would have said more. */
static int name_missing(assay_why *why)
{
    bool there[WHY_KINDS] = {false};
    bool made = true;
    for (size_t i = 0; i < why->places.list.count; i++)
        there[why->places.list.list[i].kind] = true;
    if (!there[WHY_OUTPUT])
        made = why_add_text(
            &why->missing, "outputs of ranks (slurm-%%j.out, logs/rank_*/, attempt_0/0/stderr.log of torchrun, *.log)");
    if (!there[WHY_SLURM] && why->facts.nodes == 0)
        made =
            made &&
            why_add_text(
                &why->missing,
                "what Slurm says: `sacct -j ID -P -o JobID,State,ExitCode,NodeList > sacct.txt`, `env | grep SLURM > slurm.env`");
    if (!there[WHY_DUMPS])
        made =
            made && why_add_text(&why->missing,
                                 "dumps of flight recorders (TORCH_FR_BUFFER_SIZE=2000, TORCH_NCCL_DUMP_ON_TIMEOUT=1)");
    if (!there[WHY_CHECKPOINTS])
        made = made && why_add_text(&why->missing, "checkpoints (checkpoint-*, global_step*, iter_*)");
    if (!there[WHY_METRICS] && !there[WHY_RECORDS])
        made = made && why_add_text(&why->missing, "logs of metrics or recorded tensors");
    if (why->places.other_jobs > 0)
        made = made && why_add_text(&why->missing,
                                    "%llu outputs of other jobs were left out: this is job %lld; --job says which",
                                    (unsigned long long)why->places.other_jobs, (long long)why->places.job);
    if (why->places.deep > 0)
        made = made && why_add_text(&why->missing, "%llu directories lie too deep, and were not looked into",
                                    (unsigned long long)why->places.deep);
    const why_passed *unknown = &why->places.unknown, *outside = &why->places.outside;
    if (unknown->count > 0)
        made = made &&
               why_add_text(&why->missing,
                            "%llu file%s not looked at, since outputs have other names (first %s); job.json "
                            "can say which are outputs",
                            (unsigned long long)unknown->count, unknown->count > 1 ? "s were" : " was", unknown->first);
    if (outside->count > 0)
        made = made &&
               why_add_text(
                   &why->missing,
                   "%llu link%s out of the directory, and %s not followed (first %s): give what lies there by itself",
                   (unsigned long long)outside->count, outside->count > 1 ? "s lead" : " leads",
                   outside->count > 1 ? "were" : "was", outside->first);
    return made ? ASSAY_OK : ASSAY_ENOMEM;
}

/* What could not be read, and how much was. */
static int take_figures(assay_why *why)
{
    bool made = true;
    for (size_t i = 0; i < why->places.problem.count && made; i++)
        made = why_add_text(&why->problem, "%s", why->places.problem.list[i]);
    for (size_t i = 0; i < why->file.count && made; i++) {
        const assay_log_file *file = &why->file.list[i];
        why->outputs++;
        why->output_bytes += file->bytes;
        why->lines += file->lines;
        why->left_out += file->left_out;
        if (file->problem)
            made = why_add_text(&why->problem, "%s", file->problem);
    }
    if (why->left_out > 0)
        made =
            made && why_add_text(&why->problem,
                                 "%llu events were left out, from the middle of outputs: --memory has no room for them",
                                 (unsigned long long)why->left_out);
    why->losses = why->problem.count > 0 || why->outputs == 0; /* nothing to look at is no pass */
    return made ? name_missing(why) : ASSAY_ENOMEM;
}

/* On rank 0, before anything is read. */
static int begin(const char *directory, const assay_why_options *options, assay_why **out, assay_error *err)
{
    assay_store *store = NULL;
    assay_why *why = assay_alloc_zeroed(1, sizeof *why);
    if (!why)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", directory);
    *out = why;
    why->directory = assay_copy_text(directory);
    int status = why->directory ? why_find(directory, options->job, &why->places, err)
                                : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", directory);
    ASSAY_THEN(status, assay_store_open(directory, &store, err));
    if (status == ASSAY_OK && why_facts_read(store, &why->places, &why->facts) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", directory);
    assay_store_close(store);
    return status;
}

static int explain(assay_comm *comm, const char *directory, const assay_why_options *options, assay_why **out,
                   assay_error *err)
{
    const bool first = assay_comm_rank(comm) == 0;
    assay_why *why = NULL;
    why_places received = {.job = -1};
    int status = assay_comm_agree(comm, first ? begin(directory, options, &why, err) : ASSAY_OK, err);
    ASSAY_THEN(status, share_places(comm, why, &received, err));
    const why_places *places = why ? &why->places : &received;
    ASSAY_THEN(status, why_read_outputs(comm, directory, places, options->memory, why, err));
    if (status == ASSAY_OK && !options->outputs_only)
        status = why_ask_others(comm, places, options, directory, why, err);
    if (status == ASSAY_OK) {
        int combined = first ? take_figures(why) : ASSAY_OK;
        if (first && combined == ASSAY_OK)
            combined = why_combine(why);
        status = assay_comm_agree(
            comm, combined == ASSAY_OK ? combined : assay_fail(err, combined, "%s: out of memory", directory), err);
    }
    why_places_release(&received);
    if (status != ASSAY_OK) {
        assay_why_free(why);
        return status;
    }
    *out = why;
    return ASSAY_OK;
}

/* The directory is opened for its outputs, for what other formats know, and for each trial and checkpoint in it. */
int assay_why_run(assay_comm *comm, const char *directory, const assay_why_options *options, assay_why **out,
                  assay_error *err)
{
    assay_store_share_listings(true);
    const int status = explain(comm, directory, options, out, err);
    assay_store_share_listings(false);
    return status;
}
