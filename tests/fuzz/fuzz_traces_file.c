/* Any bytes as a trace of a rank (src/format/traces, src/trace): read by two collectors, joined and set side by side as
 * a run does it. */
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_twice(assay_store *store, const assay_event_files *files)
{
    assay_trace_collector *first = assay_trace_collector_new(), *second = assay_trace_collector_new();
    assay_trace_data *traces = NULL;
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    if (!first || !second || assay_trace_collector_read(first, store, &files->list[0], 0, NULL) != ASSAY_OK ||
        assay_trace_collector_read(second, store, &files->list[1], 1, NULL) != ASSAY_OK ||
        assay_trace_collector_pack(second, &bytes) != ASSAY_OK)
        abort();
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    if (assay_trace_collector_join(first, &in, NULL) != ASSAY_OK || assay_cursor_bad(&in) ||
        assay_trace_finish(first, files, &traces) != ASSAY_OK)
        abort();
    assay_trace_free(traces);
    assay_trace_collector_free(first);
    assay_trace_collector_free(second);
    assay_buf_release(&bytes);
}

/* Two files of the same bytes: of one rank where they say so, else of ranks by their numbers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_store *store;
    if (!store && assay_store_open("/proc/self/fd", &store, NULL) != ASSAY_OK)
        abort();
    char path[2][16];
    int fd[2];
    assay_event_file list[2];
    for (int i = 0; i < 2; i++) {
        fd[i] = memfd_create("fuzz", 0);
        if (fd[i] < 0 || (size && write(fd[i], data, size) != (ssize_t)size))
            abort();
        snprintf(path[i], sizeof path[i], "%d", fd[i]);
        list[i] = (assay_event_file){
            .path = path[i], .source = path[i], .kind = ASSAY_EVENTS_TRACE, .format = 1, .size = size};
    }
    read_twice(store, &(assay_event_files){.list = list, .count = 2});
    close(fd[0]);
    close(fd[1]);
    return 0;
}
