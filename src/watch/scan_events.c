/* scan_events.c - which event files a watched trial has, and how long those are that may still grow. */
#include <string.h>

#include "base/hash.h"
#include "watch/scan.h"

/* An evaluation reads the event files as a whole: it is made for their sake so often at most. */
static const double EVENTS_EVERY = 5.0;

/* So many files of a kind, the last ones by their times, are asked how long they are; and those that a writer has open.
 */
enum { GROWING = 64 };

void assay_watched_look_at_events(watched_source *source, double now, bool *changed)
{
    const assay_event_files *files = &source->catalog.events;
    uint64_t hash = 0;
    if (files->count == 0 || (source->events_at > 0 && now - source->events_at < EVENTS_EVERY))
        return;
    for (size_t i = 0; i < files->count; i++) {
        const assay_event_file *file = &files->list[i];
        const bool growing =
            file->unfinished || i + GROWING >= files->count || files->list[i + GROWING].kind != file->kind;
        assay_store_stamp stamp = {.size = file->size};
        if (growing && assay_store_stamp_of(source->store, file->path, &stamp, NULL) < 0)
            stamp = (assay_store_stamp){.size = file->size};
        const uint64_t numbers[] = {hash, assay_hash_bytes(file->path, strlen(file->path)), stamp.size,
                                    (uint64_t)stamp.time, stamp.node};
        hash = assay_hash_bytes(numbers, sizeof numbers);
    }
    *changed = *changed || hash != source->events;
    source->events = hash;
    source->events_at = now;
}
