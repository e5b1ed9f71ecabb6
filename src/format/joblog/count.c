/* count.c - the number of each line, and where ranks wrote last. */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "format/joblog/joblog.h"

/* The ends of lines in 64 bytes: a bit for each. */
static uint64_t feeds_of(const char *bytes)
{
    uint64_t feeds = 0;
#ifdef __SSE2__
    const __m128i feed = _mm_set1_epi8('\n');
    for (unsigned i = 0; i < 64; i += 16) {
        const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i));
        feeds |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(part, feed)) << i;
    }
#else
    for (unsigned i = 0; i < 64; i++)
        feeds |= (uint64_t)(bytes[i] == '\n') << i;
#endif
    return feeds;
}

/* The same of fewer bytes. */
static uint64_t feeds_of_few(const char *bytes, size_t size)
{
    char few[64] = "";
    memcpy(few, bytes, size);
    return feeds_of(few);
}

static uint64_t count_lines(const char *bytes, size_t size)
{
    uint64_t lines = 0;
    for (; size > 64; bytes += 64, size -= 64)
        lines += (uint64_t)__builtin_popcountll(feeds_of(bytes));
    return lines + (uint64_t)__builtin_popcountll(feeds_of_few(bytes, size)); /* as of most lines */
}

/* Counts the line [r->counted, end), which has a line feed behind it or not. */
static bool count_next(joblog_reader *r, size_t end, bool feed)
{
    const char *const line = r->bytes + r->counted;
    const size_t length = end - r->counted;
    assay_log_rank *row =
        joblog_row_of(r, joblog_may_say_rank(line, length) ? joblog_rank_of(line, length, r->per_node) : -1);
    if (!row)
        return false;
    row->lines++;
    row->last_at = r->base + r->counted;
    row->last_line = r->line;
    r->line += feed;
    r->counted = end + feed;
    return true;
}

int joblog_count_to(joblog_reader *r, size_t to)
{
    if (!r->tracked) {
        if (to > r->counted)
            r->line += count_lines(r->bytes + r->counted, to - r->counted);
        r->counted = to > r->counted ? to : r->counted;
        return ASSAY_OK;
    }
    for (size_t at = r->counted; at < to; at += 64) {
        uint64_t feeds = to - at < 64 ? feeds_of_few(r->bytes + at, to - at) : feeds_of(r->bytes + at);
        for (; feeds; feeds &= feeds - 1)
            ASSAY_HAVE(count_next(r, at + (size_t)__builtin_ctzll(feeds), true));
    }
    return r->counted >= to || count_next(r, to, false) ? ASSAY_OK : ASSAY_ENOMEM;
}

void joblog_count_line(joblog_reader *r, assay_log_rank *row, size_t from, size_t to)
{
    if (r->counted != from || to >= r->have || r->bytes[to] != '\n')
        return;
    row->lines++;
    row->last_at = r->base + from;
    row->last_line = r->line++;
    r->counted = to + 1;
}
