/* read_events.h - any bytes as an event file, read, packed, joined and finished as a run does it. */
#ifndef ASSAY_TESTS_FUZZ_READ_EVENTS_H
#define ASSAY_TESTS_FUZZ_READ_EVENTS_H

#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "timeline/collect.h"

/* Reads the file twice, in collectors of their own that are joined, and makes the timeline. */
static inline void read_once(assay_store *store, const assay_event_file *file, bool exact)
{
    assay_event_file list[2] = {*file, *file};
    const assay_event_files files = {.list = list, .count = 2};
    assay_timeline_want want = {.cell_size = ASSAY_TIMELINE_MINUTE};
    assay_timeline_data *timeline = NULL;
    bool again = false;
    assay_collector *first = NULL, *second = NULL;
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    if (assay_timeline_want_add(&want, 7300000, -5, 1000) != ASSAY_OK || !(first = assay_collector_new(&want, exact)) ||
        !(second = assay_collector_new(&want, exact)))
        abort();
    if (assay_collector_read(first, store, file, 0, NULL) != ASSAY_OK ||
        assay_collector_read(second, store, file, 1, NULL) != ASSAY_OK ||
        assay_collector_pack(second, &bytes) != ASSAY_OK)
        abort();
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    if (assay_collector_join(first, &in, NULL) != ASSAY_OK || assay_cursor_bad(&in) ||
        assay_collector_finish(first, &files, &timeline, &again) != ASSAY_OK)
        abort();
    if (!timeline && (exact || !again))
        abort();
    assay_timeline_free(timeline);
    assay_collector_free(first);
    assay_collector_free(second);
    assay_buf_release(&bytes);
    assay_timeline_want_release(&want);
}

static inline void read_events(const uint8_t *data, size_t size, assay_event_kind kind)
{
    static assay_store *store;
    if (!store && assay_store_open("/proc/self/fd", &store, NULL) != ASSAY_OK)
        abort();
    int fd = memfd_create("fuzz", 0);
    char path[16], source[] = "7-algo-1";
    snprintf(path, sizeof path, "%d", fd);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
        abort();
    const assay_event_file file = {.path = path, .source = source, .kind = (uint8_t)kind, .size = size};
    read_once(store, &file, false);
    read_once(store, &file, true);
    close(fd);
}

#endif
