/* run_output.c - see run_output.h. */
#include "cli/run_output.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

int run_output_begin(assay_comm *comm, const char *place, assay_output **out, assay_error *err)
{
    int status = ASSAY_OK;
    if (assay_comm_rank(comm) == 0) {
        status = assay_output_open(place, out, err);
        if (status == ASSAY_OK)
            status = assay_output_probe(*out, err);
    }
    return assay_comm_agree(comm, status, err);
}

int run_output_make(assay_comm *comm, assay_output *output, const char *name, char **path, assay_error *err)
{
    assay_buf text;
    assay_buf_init(&text, SIZE_MAX / 4);
    *path = NULL;
    int status = output ? assay_output_make(output, name, path, err) : ASSAY_OK;
    if (*path) {
        assay_put_text(&text, *path);
        status = assay_buf_status(&text);
    }
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK)
        status = assay_comm_broadcast(comm, &text);
    if (status == ASSAY_OK && !*path) {
        assay_cursor in = assay_cursor_over(text.data, text.size);
        size_t length;
        const char *there = assay_get_text(&in, &length);
        *path = assay_copy_bytes_as_text(there, length);
    }
    if (status == ASSAY_OK)
        status =
            assay_comm_agree(comm, *path ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name), err);
    assay_buf_release(&text);
    return status;
}

int run_output_take(assay_comm *comm, assay_output *output, const char *name, const char *path, assay_error *err)
{
    return assay_comm_agree(comm, output ? assay_output_take(output, name, path, err) : ASSAY_OK, err);
}

int run_output_end(assay_comm *comm, assay_output *output, int code)
{
    assay_error err = {""};
    bool done = code == CLI_DONE || code == CLI_FINDINGS || code == CLI_LOSSES;
    if (output && code == CLI_USAGE)
        assay_output_discard(output); /* nothing was read, and nothing written */
    if (!done)
        return code;
    int status = output ? assay_output_finish(output, &err) : ASSAY_OK;
    return cli_share_code(comm, status == ASSAY_OK ? code : cli_fail(status, &err));
}
