/* profiler.h - the format of SageMaker's profiler: system metrics, and timelines of frameworks (docs/profiler.md).
 *
 *   system/incremental/HOUR/SECONDS.NODE.json      one sample a line
 *   framework/pevents/HOUR/END_ID_KIND.json        one event of Chrome's trace format a line */
#pragma once

#include "base/json_form.h"
#include "trial/event_format.h"

/* A file while it is read. */
typedef struct assay_profiler_file {
    const assay_event_file *file;
    const assay_event_sink *sink;
    assay_lines *lines;
    assay_json_forms forms;
    uint64_t damaged; /* a line that cannot be used, of which is not known yet whether it is the last; 0: none */
    const char *what; /* is wrong with it */
    bool any;         /* it has had a line that is not blank */
    assay_error why;  /* why its lines ended */
} assay_profiler_file;

/* As the members of assay_event_format. */
bool assay_profiler_probe(const assay_names *top);
int assay_profiler_list(assay_event_lister *lister);
int assay_profiler_places(assay_store *store, assay_event_place_visit *visit, void *context);

/* Reads one file. As assay_event_format.read. */
int assay_profiler_read_system(assay_profiler_file *f, assay_error *err);
int assay_profiler_read_timeline(assay_profiler_file *f, assay_store *store, uint64_t *bytes, assay_error *err);

/* Notes a line that cannot be used; what was noted before it was not the last line. 0 or what the sink returned. */
int assay_profiler_damage(assay_profiler_file *f, uint64_t line, const char *what);
/* The file has another line that is not blank. */
int assay_profiler_go_on(assay_profiler_file *f);
/* The next line that is not blank, in *line. 1; 0 at the end, where a damaged last line and an empty file were told. */
int assay_profiler_next(assay_profiler_file *f, const char **line, size_t *length, assay_error *err);

/* What keys of samples and of events mean; as assay_json_field_of. */
uint8_t assay_profiler_system_field(uint8_t outer, const char *key, size_t length);
uint8_t assay_profiler_event_field(uint8_t outer, const char *key, size_t length);

/* One object of a timeline, as text. */
typedef struct assay_timeline_reader assay_timeline_reader;
int assay_timeline_reader_new(assay_profiler_file *f, assay_timeline_reader **out);
void assay_timeline_reader_free(assay_timeline_reader *r);
/* Takes one event of the file; false in *sound where it is none. */
int assay_timeline_reader_take(assay_timeline_reader *r, const char *text, size_t length, uint64_t line, bool *sound);
