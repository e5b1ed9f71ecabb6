/* restart_identity.c - the job, the options and the state of the trials that results of chunks belong to. */
#include <stdio.h>

#include "base/hash.h"
#include "engine/reduce/restart.h"
#include "rule/python_rule.h"

static void identify_job(const assay_job *job, const assay_engine_options *options, char hex[65])
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    assay_put_text(&text, options->job_digest);
    assay_put_u64(&text, options->memory);
    assay_put_i64(&text, options->from);
    assay_put_i64(&text, options->to);
    assay_put_u64(&text, job->max_findings);
    for (size_t i = 0; i < job->trial_count; i++) {
        assay_put_text(&text, job->trials[i].name);
        assay_put_text(&text, job->trials[i].path);
    }
    for (size_t i = 0; i < job->implicit_count; i++) { /* they depend on the formats and the number of trials */
        assay_put_text(&text, job->implicit[i]->name);
        assay_instance_put_parameters(job->implicit[i], &text);
    }
    for (size_t i = 0; i < job->rule_count; i++) {
        const char *digest = assay_python_rule_digest(job->rules[i]->ops);
        if (digest)
            assay_put_text(&text, digest);
    }
    assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, text.data, text.size);
    if (assay_buf_status(&text) == ASSAY_OK)
        assay_sha256_hex(&hash, hex);
    else
        hex[0] = '\0';
    assay_buf_release(&text);
}

/* A sum over the units that this rank read: whoever reads which, the sum over the ranks is the same. */
static int add_up_index(const assay_sources *sources, uint64_t *sum)
{
    assay_buf part = ASSAY_BUF(SIZE_MAX);
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < sources->count; s++) {
        const assay_shard *shard = &sources->list[s].shard;
        for (size_t p = 0; status == ASSAY_OK && p < shard->count; p++) {
            assay_buf_clear(&part);
            assay_put_u32(&part, s);
            assay_shard_pack(shard, p, 1, &part);
            status = assay_buf_status(&part);
            *sum += assay_hash_bytes(part.data, part.size);
        }
    }
    assay_buf_release(&part);
    return status;
}

/* Names and numbers of one trial: its listing, its tensors and its chunks. */
static void put_source(const assay_source *source, assay_buf *out)
{
    assay_put_i64(out, source->status);
    if (source->status != ASSAY_OK || !source->info)
        return;
    assay_catalog_pack(&source->catalog, out);
    for (uint32_t t = 0; t < assay_dict_count(source->info->tensors); t++)
        assay_put_text(out, assay_dict_name(source->info->tensors, t, NULL));
}

static int identify_trials(const assay_sources *sources, const assay_plan *plan, uint64_t index, char hex[65])
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    assay_sha256 hash;
    int status = ASSAY_OK;
    assay_sha256_init(&hash);
    assay_put_u64(&text, index);
    for (uint32_t s = 0; status == ASSAY_OK && s < sources->count; s++) {
        put_source(&sources->list[s], &text);
        status = assay_buf_status(&text);
        assay_sha256_add(&hash, text.data, text.size);
        assay_buf_clear(&text);
    }
    for (uint64_t c = 0; c < plan->chunk_count; c++) {
        const assay_chunk *chunk = &plan->chunks[c];
        uint64_t numbers[] = {chunk->source, chunk->first_step, chunk->steps,
                              chunk->bytes,  chunk->records,    chunk->cost};
        assay_sha256_add(&hash, numbers, sizeof numbers);
    }
    assay_buf_release(&text);
    assay_sha256_hex(&hash, hex);
    return status;
}

int assay_restart_identify(assay_comm *comm, const assay_sources *sources, const assay_plan *plan,
                           const assay_engine_options *options, assay_restart_identity *out, assay_error *err)
{
    uint64_t sum = 0;
    *out = (assay_restart_identity){.version = ""};
    snprintf(out->version, sizeof out->version, "%s", options->version);
    int status = add_up_index(sources, &sum);
    int summed = assay_comm_sum(comm, &sum, 1);
    status = status == ASSAY_OK ? summed : status;
    if (status == ASSAY_OK && assay_comm_rank(comm) == 0) {
        identify_job(plan->job, options, out->job);
        status = out->job[0] ? identify_trials(sources, plan, sum, out->trials) : ASSAY_ENOMEM;
    }
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory on rank %d for the checkpoint", assay_comm_rank(comm));
    return assay_comm_agree(comm, status, err);
}
