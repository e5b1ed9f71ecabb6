/* s3.c - see s3.h. */
#include "cli/s3.h"

#include <ctype.h>
#include <string.h>

#include "container/pickle.h"

/* The place that stands in a word, as it is or behind "--option="; NULL: none. */
static const char *place_in(const char *word)
{
    const char *place = strstr(word, "://"), *end = place;
    while (place && place > word && (isalnum((unsigned char)place[-1]) || strchr("+-.", place[-1])))
        place--;
    return place != end ? place : NULL;
}

int cli_s3_refuse_keys(int argc, char **argv, assay_error *err)
{
    int status = ASSAY_OK;
    for (int i = 1; i < argc && status == ASSAY_OK; i++) {
        const char *place = place_in(argv[i]);
        if (place)
            status = assay_s3_place_refuse_keys(place, err);
    }
    return status;
}

static bool lies_there(const char *location)
{
    return location && strncmp(location, "s3://", 5) == 0;
}

static bool reads_there(const assay_job *job)
{
    for (size_t i = 0; i < job->trial_count; i++)
        if (lies_there(job->trials[i].path))
            return true;
    return false;
}

size_t cli_engine_memory(const assay_job *job, size_t memory)
{
    assay_pickle_set_memory(memory / 2);
    if (!reads_there(job))
        return memory;
    assay_s3_set_memory(memory / 8);
    return memory - memory / 8;
}

int cli_s3_begin(assay_comm *comm, const assay_job *job, const char *out, assay_error *err)
{
    if (!reads_there(job) && !lies_there(out))
        return ASSAY_OK;
    assay_buf session = ASSAY_BUF(1 << 20);
    int status = ASSAY_OK;
    if (assay_comm_rank(comm) == 0) {
        (void)assay_s3_open(NULL);
        assay_s3_pack(&session);
        status = assay_buf_status(&session);
    }
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &session));
    if (status == ASSAY_OK) {
        assay_cursor in = assay_cursor_over(session.data, session.size);
        status = assay_comm_agree(comm, assay_s3_unpack(&in, err), err);
    }
    if (session.data)
        explicit_bzero(session.data, session.size);
    assay_buf_release(&session);
    return status;
}
