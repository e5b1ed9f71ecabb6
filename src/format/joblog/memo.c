/* memo.c - lines that were judged already: most differ from others in digits only. */
#include <string.h>

#include "base/hash.h"
#include "base/path.h"
#include "format/joblog/joblog.h"

/* Who wrote a line, and how it says so. */
static uint64_t hash_writer(const joblog_reader *r, size_t from, size_t to, bool plain)
{
    joblog_line line;
    joblog_line_read(r, from, to, plain, &line);
    const joblog_prefix *p = &line.prefix;
    const uint64_t parts[] = {(uint64_t)p->rank,
                              (uint64_t)p->local_rank,
                              p->own,
                              p->length,
                              p->node[0] ? assay_hash_bytes(p->node, strlen(p->node)) : 0,
                              (uint64_t)joblog_rank_of(r->bytes + from, to - from, r->per_node)};
    return assay_hash_bytes(parts, sizeof parts);
}

/* The form of that shape, or the one in its place. */
static joblog_form *find_form(const joblog_reader *r, uint64_t shape)
{
    joblog_form *two = &r->form[shape / 2 & (r->forms - 1) & ~(uint64_t)1];
    return two[0].shape == shape ? &two[0] : two[1].shape == shape ? &two[1] : &two[0];
}

/* Takes the place of the older of two. */
static const joblog_form *keep_form(joblog_reader *r, const joblog_form *form)
{
    joblog_form *place = find_form(r, form->shape);
    if (place->shape && place->shape != form->shape)
        place[1] = place[0];
    *place = *form;
    return place;
}

/* Does the byte lie in a time that stands in front? It does not say who wrote the line. */
static bool is_in_time(const joblog_prefix *p, const char *byte)
{
    bool inside = false;
    for (size_t i = 0; i < sizeof p->times / sizeof *p->times; i++)
        inside = inside || (p->times[i][0] && byte >= p->times[i][0] && byte < p->times[i][1]);
    return inside;
}

/* Behind the escape for terminals that begins there, of those that set colors; `at` where none does. Its digits are no part of
 * what a line says. */
static size_t behind_colors(const char *bytes, size_t at, size_t to)
{
    size_t end = at + 2;
    if (end >= to || bytes[at] != 0x1b || bytes[at + 1] != '[')
        return at;
    while (end < to && (assay_is_digit(bytes[end]) || bytes[end] == ';'))
        end++;
    return end;
}

/* Where digits of the first bytes of a line may say who wrote it: all but those of times and of colors. */
static size_t list_digits(const joblog_reader *r, const joblog_line *line, size_t front, size_t most, uint8_t *at)
{
    const char *const bytes = r->bytes + line->place;
    const bool plain = line->text != r->clean;
    size_t count = 0;
    for (size_t i = 0; i < front && i <= UINT8_MAX && count < most; i++) {
        i = plain ? i : behind_colors(bytes, i, front);
        if (i < front && i <= UINT8_MAX && assay_is_digit(bytes[i]) && !(plain && is_in_time(&line->prefix, bytes + i)))
            at[count++] = (uint8_t)i;
    }
    return count;
}

/* Marks those digits that say who wrote the line where others are so: it reads differently when one of them is another. */
static void try_digits(joblog_reader *r, const joblog_line *line, size_t length, const uint8_t *at, size_t count,
                       bool *says)
{
    char *const bytes = r->bytes + line->place;
    const size_t from = line->place, to = from + length;
    const bool plain = line->text != r->clean;
    const uint64_t who = hash_writer(r, from, to, plain);
    for (size_t i = 0; i < count; i++) {
        char *byte = bytes + at[i];
        const char digit = *byte;
        *byte = digit == '0' ? '1' : '0';
        says[i] = says[i] || hash_writer(r, from, to, plain) != who;
        *byte = digit;
    }
}

/* Makes the form of lines whose shape is this one: which of the bytes in front say who wrote them is seen when another
 * digit stands there. What a digit says may depend on others ("1: [default5]:" is rank 13 of nodes with 8 ranks, and of none
 * with 2), so it is tried beside zeros and ones, too. Many have the same in front, which is tried once. */
static const joblog_form *make_form(joblog_reader *r, const joblog_line *line, size_t length, uint64_t shape)
{
    enum { DIGITS = 64 };
    char *const bytes = r->bytes + line->place;
    const size_t front = line->prefix.length + (length - line->length); /* with all escapes */
    joblog_form form = {.shape = joblog_shape(bytes, front) | 1};
    const joblog_form *known = find_form(r, form.shape);
    if (known->shape == form.shape) {
        form = *known;
    } else {
        uint8_t at[DIGITS];
        char own[DIGITS];
        bool says[DIGITS] = {false};
        const size_t count = list_digits(r, line, front, DIGITS, at);
        for (size_t i = 0; i < count; i++)
            own[i] = bytes[at[i]];
        if (count > 0 && count < DIGITS)
            try_digits(r, line, length, at, count, says);
        for (char other = '0'; other <= '1' && count > 1 && count < DIGITS; other++) {
            for (size_t i = 0; i < count; i++)
                bytes[at[i]] = other;
            try_digits(r, line, length, at, count, says);
        }
        for (size_t i = 0; i < count; i++)
            bytes[at[i]] = own[i];
        form.count = count < DIGITS && front <= UINT8_MAX ? 0 : sizeof form.at + 1;
        for (size_t i = 0; i < count && form.count <= sizeof form.at; i++)
            if (says[i] && form.count++ < sizeof form.at)
                form.at[form.count - 1] = at[i];
        keep_form(r, &form);
    }
    form.shape = shape;
    return keep_form(r, &form);
}

/* Where memos of a line of that form lie, at one of two places; NULL: nothing is kept of such lines. */
static joblog_memo *memos_of(const joblog_reader *r, size_t from, const joblog_form *form, uint64_t *key)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = form->shape;
    if (form->count > sizeof form->at)
        return NULL;
    for (size_t i = 0; i < form->count; i++) {
        hash = (hash ^ (unsigned char)r->bytes[from + form->at[i]]) * odd;
        hash ^= hash >> 29;
    }
    *key = hash | 1;
    return &r->memo[*key / 2 & (r->memos - 1) & ~(uint64_t)1];
}

const joblog_memo *joblog_memo_find(const joblog_reader *r, size_t from, uint64_t likeness)
{
    uint64_t key;
    const joblog_form *form = find_form(r, likeness);
    const joblog_memo *memo = form->shape == likeness ? memos_of(r, from, form, &key) : NULL;
    return !memo ? NULL : memo->key == key ? memo : memo[1].key == key ? memo + 1 : NULL;
}

int joblog_memo_keep(joblog_reader *r, const joblog_line *line, size_t length, uint64_t likeness, joblog_memo now)
{
    const size_t from = line->place, to = from + length;
    const joblog_form *form = find_form(r, likeness);
    if (form->shape != likeness)
        form = make_form(r, line, length, likeness);
    joblog_memo *memo = memos_of(r, from, form, &now.key);
    if (!memo)
        return ASSAY_OK;
    if (r->tracked && r->counted == from && to < r->have && r->bytes[to] == '\n') {
        const assay_log_rank *row = joblog_row_of(r, joblog_rank_of(r->bytes + from, length, r->per_node));
        ASSAY_HAVE(row);
        now.row = (uint32_t)(row - r->out->rank.list) + 1;
    }
    memo[1] = memo[0].key == now.key ? memo[1] : memo[0];
    memo[0] = now;
    return ASSAY_OK;
}
