/* lone.c - see lone.h. */
#include "trial/lone.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "trial/event_format.h"
#include "trial/trial_format.h"

/* What the formats say, those of events behind the others; NULL behind the last. */
static const assay_lone *lone_of(unsigned i)
{
    const unsigned formats = assay_format_count();
    if (i < formats)
        return &assay_format_of(i)->lone;
    return i - formats < assay_event_format_count() ? &assay_event_format_of(i - formats)->lone : NULL;
}

bool assay_lone_is_named(const char *place, assay_lone_kind kind)
{
    const char *const name = assay_path_name(place);
    const assay_lone *lone = NULL;
    for (unsigned i = 0; (lone = lone_of(i)); i++)
        if (lone->kind == kind && lone->named && lone->named(name))
            return true;
    return false;
}

bool assay_lone_is_sure(const char *place, assay_lone_kind kind)
{
    const char *const name = assay_path_name(place);
    const assay_lone *lone = NULL;
    for (unsigned i = 0; (lone = lone_of(i)); i++)
        if (lone->kind == kind && lone->sure && lone->sure(name))
            return true;
    return false;
}

/* The first bytes of a regular file, and a zero byte behind them; *size: of all of it. 0: it cannot be read. */
static size_t read_head(const char *place, uint8_t head[ASSAY_LONE_HEAD + 1], uint64_t *size)
{
    struct stat about = {0};
    const int number = assay_file_open(place, &about);
    const ssize_t got = number >= 0 ? pread(number, head, ASSAY_LONE_HEAD, 0) : 0;
    if (number >= 0)
        close(number);
    head[got > 0 ? got : 0] = 0;
    *size = (uint64_t)about.st_size;
    return got > 0 ? (size_t)got : 0;
}

bool assay_lone_has_begun(const uint8_t *head, size_t have, uint64_t size, assay_lone_kind kind)
{
    const assay_lone *lone = NULL;
    for (unsigned i = 0; have > 0 && (lone = lone_of(i)); i++)
        if (lone->kind == kind && lone->begins && lone->begins(head, have, size))
            return true;
    return false;
}

bool assay_lone_begins(const char *place, assay_lone_kind kind)
{
    uint8_t head[ASSAY_LONE_HEAD + 1];
    uint64_t size = 0;
    const size_t have = read_head(place, head, &size);
    return assay_lone_has_begun(head, have, size, kind);
}

/* Names first: they cost no look at the file. */
bool assay_is_lone_trial(const char *place)
{
    uint8_t head[ASSAY_LONE_HEAD + 1];
    uint64_t size = 0;
    bool is = false;
    for (assay_lone_kind kind = ASSAY_LONE_TENSORS; kind <= ASSAY_LONE_DUMP && !is; kind++)
        is = assay_lone_is_named(place, kind);
    const size_t have = is ? 0 : read_head(place, head, &size);
    for (assay_lone_kind kind = ASSAY_LONE_TENSORS; kind <= ASSAY_LONE_DUMP && !is; kind++)
        is = assay_lone_has_begun(head, have, size, kind);
    return is;
}
