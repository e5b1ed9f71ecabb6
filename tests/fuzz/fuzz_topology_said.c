/* Any bytes as what a worker says of its pieces, as a flight recorder's dump and as a trace: whatever comes of it is a
 * topology that can be read again. */
#include <stdlib.h>
#include <string.h>

#include "format/smdebug/topology_json.h"
#include "topology/group_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *const workers[] = {(char[]){"worker_0"}, (char[]){"worker_1"}, (char[]){"worker_2"}, (char[]){"worker_3"}};
enum { WORKERS = sizeof workers / sizeof *workers };

/* What is made has to be read, but for the entries that a file brought along as they were. */
static void read_again(const assay_said *said, const assay_buf *text)
{
    assay_topology *t = NULL;
    assay_error err = {""};
    int status = assay_topology_parse("made", text->data, text->size, &t, &err);
    if (status == ASSAY_OK)
        status = assay_topology_place(t, "made", workers, WORKERS, &err);
    if (status != ASSAY_OK && said->entry_count == 0)
        abort();
    assay_topology_free(t);
}

/* The bytes are a file of each of the workers, whose places are told apart by the number of the worker. */
static void as_said(const uint8_t *data, size_t size)
{
    assay_said said;
    assay_buf text, why, own;
    assay_problems problems;
    assay_problems_init(&problems);
    assay_buf_init(&text, SIZE_MAX);
    assay_buf_init(&why, SIZE_MAX);
    assay_buf_init(&own, SIZE_MAX);
    if (assay_said_init(&said, workers, WORKERS, WORKERS) != ASSAY_OK)
        abort();
    for (uint32_t w = 0; w < WORKERS; w++) {
        assay_buf_clear(&own);
        for (size_t i = 0; i < size; i++)
            assay_put_u8(&own, data[i] == '#' ? (uint8_t)('0' + w) : data[i] == '@' ? (uint8_t)('0' + w / 2) : data[i]);
        if (assay_topology_json_add(&said, w, "topology/worker.json", own.size ? (const char *)own.data : "", own.size,
                                    &problems) != ASSAY_OK)
            abort();
    }
    said.said = WORKERS;
    if (assay_said_put_topology(&said, &text, &why, &problems) != ASSAY_OK)
        abort();
    if (text.size > 0)
        read_again(&said, &text);
    assay_said_release(&said);
    assay_buf_release(&text);
    assay_buf_release(&why);
    assay_buf_release(&own);
    assay_problems_release(&problems);
}

static void as_groups(const uint8_t *data, size_t size)
{
    assay_said said;
    assay_buf text, why;
    assay_group_files files;
    assay_group_file kind;
    assay_problems problems;
    assay_error err = {""};
    assay_problems_init(&problems);
    assay_buf_init(&text, SIZE_MAX);
    assay_buf_init(&why, SIZE_MAX);
    if (assay_said_init(&said, workers, WORKERS, WORKERS) != ASSAY_OK)
        abort();
    said.mesh_alone = true;
    if (assay_group_files_init(&files) != ASSAY_OK)
        abort();
    const int status = assay_groups_read(&files, data, size, true, &kind, &err);
    if (status != ASSAY_OK && err.text[0] == '\0')
        abort(); /* whatever is wrong is said */
    if (assay_groups_read(&files, data, size, false, &kind, NULL) == ASSAY_ENOMEM ||
        assay_groups_add_all(&said.groups, &files.of_dumps) != ASSAY_OK ||
        assay_groups_add_all(&said.groups, &files.of_traces) != ASSAY_OK)
        abort();
    assay_group_files_release(&files);
    if (assay_said_put_topology(&said, &text, &why, &problems) != ASSAY_OK)
        abort();
    if (text.size > 0)
        read_again(&said, &text);
    assay_problems_release(&problems);
    assay_said_release(&said);
    assay_buf_release(&text);
    assay_buf_release(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_said(data, size);
    as_groups(data, size);
    return 0;
}
