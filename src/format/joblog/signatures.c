/* signatures.c - the table of signatures, and lines held against one of them. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/literals.h"
#include "base/path.h"
#include "format/joblog/joblog.h"

#define ROLE_CAUSE       ASSAY_LOG_CAUSE
#define ROLE_CONSEQUENCE ASSAY_LOG_CONSEQUENCE
#define ROLE_EITHER      ASSAY_LOG_EITHER
#define ROLE_NOISE       ASSAY_LOG_NOISE

static const assay_signature SIGNATURES[] = {
#define X(id, ending, role, scope, literal, expression, sentence)                                                      \
    {#id, ASSAY_ENDING_##ending, ROLE_##role, ASSAY_LOG_##scope, literal, expression, sentence},
#include "format/joblog/signatures.def"
#undef X
};
enum { COUNT = sizeof SIGNATURES / sizeof *SIGNATURES, SPANS = 16 /* groups of an expression, and itself */ };

const char *const joblog_group_names[JOBLOG_GROUPS] = {"size", "free", "rank", "node", "code",
                                                       "gpu",  "step", "pid",  "what"};

size_t assay_signature_count(void)
{
    return COUNT;
}

const assay_signature *assay_signature_of(size_t number)
{
    return number < COUNT ? &SIGNATURES[number] : NULL;
}

const char *assay_ending_name(assay_ending ending)
{
    static const char *const names[] = {
#define ASSAY_ENDING_NAME(name) #name,
        ASSAY_ENDING_LIST(ASSAY_ENDING_NAME)
#undef ASSAY_ENDING_NAME
    };
    return ending < ASSAY_ENDINGS ? names[ending] : "";
}

void joblog_signatures_release(joblog_signatures *s)
{
    for (size_t i = 0; s->regex && i < s->count; i++)
        assay_regex_free(s->regex[i]);
    free(s->regex);
    free(s->group);
    free(s->counts);
    free(s->first_word);
    assay_regex_room_free(s->room);
    assay_literals_free(s->parts);
    *s = (joblog_signatures){0};
}

/* Does an expression name digits, beside those of {1,9}? */
static bool names_digits(const char *expression)
{
    for (const char *at = expression; *at; at++) {
        if (*at == '{' && strchr(at, '}'))
            at = strchr(at, '}');
        else if (assay_is_digit(*at))
            return true;
    }
    return false;
}

/* Of a literal the longest part without digits; owned, NULL without memory. */
static char *part_of(const char *literal)
{
    size_t most = 0;
    const char *best = "";
    for (const char *at = literal; *at; at += strcspn(at, "0123456789"), at += strspn(at, "0123456789"))
        if (strcspn(at, "0123456789") > most) {
            most = strcspn(at, "0123456789");
            best = at;
        }
    return assay_copy_bytes_as_text(best, most);
}

/* The parts of literals with digits, to be found at once; NULL without memory. */
static assay_literals *new_parts(void)
{
    char *part[COUNT];
    size_t count = 0;
    bool whole = true;
    for (size_t i = 0; i < COUNT && whole; i++)
        if (names_digits(SIGNATURES[i].literal)) {
            part[count] = part_of(SIGNATURES[i].literal);
            whole = part[count] != NULL;
            count += whole;
        }
    assay_literals *parts = whole ? assay_literals_new((const char *const *)part, count) : NULL;
    while (count > 0)
        free(part[--count]);
    return parts;
}

bool joblog_may_have_other(const joblog_signatures *s, const char *line, size_t length)
{
    return assay_literals_next(s->parts, line, length, &(assay_literal_search){.at = 0});
}

int joblog_signatures_new(joblog_signatures *out, assay_error *err)
{
    int status = ASSAY_OK;
    *out = (joblog_signatures){.count = COUNT,
                               .regex = assay_alloc_zeroed(COUNT, sizeof *out->regex),
                               .group = assay_alloc_zeroed(COUNT, sizeof *out->group),
                               .counts = assay_alloc_zeroed(COUNT, sizeof *out->counts),
                               .first_word = assay_alloc_zeroed(COUNT, sizeof *out->first_word),
                               .room = assay_regex_room_new(SPANS),
                               .parts = new_parts()};
    if (!out->regex || !out->group || !out->counts || !out->first_word || !out->room || !out->parts)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for signatures");
    for (size_t i = 0; status == ASSAY_OK && i < COUNT; i++) {
        if (!SIGNATURES[i].expression[0])
            continue;
        out->counts[i] = names_digits(SIGNATURES[i].expression);
        out->first_word[i] = strncmp(SIGNATURES[i].expression, "^\\s{0,4}", 8) == 0;
        status = assay_regex_new_of_bytes(SIGNATURES[i].expression, &out->regex[i], err);
        if (status != ASSAY_OK && status != ASSAY_ENOMEM)
            status = ASSAY_EINTERNAL;
        if (status == ASSAY_OK && assay_regex_groups(out->regex[i]) >= SPANS)
            status = ASSAY_EINTERNAL;
        for (size_t g = 0; status == ASSAY_OK && g < JOBLOG_GROUPS; g++)
            out->group[i][g] = assay_regex_group_number(out->regex[i], joblog_group_names[g]);
    }
    if (status != ASSAY_OK)
        joblog_signatures_release(out);
    return status;
}

/* Does the byte lie in the first word? Or before it: there may be another one. */
static bool in_first_word(const char *line, size_t length, const char *at)
{
    size_t from = 0;
    while (from < length && line[from] == ' ')
        from++;
    return at < line + from || !memchr(line + from, ' ', (size_t)(at - (line + from)));
}

bool joblog_signature_match(const joblog_signatures *s, size_t number, const char *line, size_t length,
                            const char *literal, joblog_match *out)
{
    assay_regex_span span[SPANS];
    *out = (joblog_match){.literal = literal};
    if (!s->regex[number])
        return true;
    if ((s->first_word[number] && !in_first_word(line, length, literal)) ||
        assay_regex_spans(s->regex[number], s->room, line, length, span) != 1)
        return false;
    for (size_t g = 0; g < JOBLOG_GROUPS; g++) {
        const int group = s->group[number][g];
        if (group > 0 && span[group].from != SIZE_MAX) {
            out->text[g] = line + span[group].from;
            out->length[g] = span[group].to - span[group].from;
        }
    }
    return true;
}

/* The bytes up to the next border of a part, which is ", ", ": ", "; " or " (". */
static size_t part_length(const char *sentence)
{
    size_t at = sentence[0] ? 1 : 0;
    while (sentence[at] && !((strchr(",:;", sentence[at]) && sentence[at + 1] == ' ') ||
                             (sentence[at] == ' ' && sentence[at + 1] == '(')))
        at++;
    return at;
}

/* Which group {name} stands at the text; JOBLOG_GROUPS: none. *length gets its bytes. */
static size_t group_at(const char *text, size_t left, size_t *length)
{
    for (size_t g = 0; g < JOBLOG_GROUPS; g++) {
        const size_t name = strlen(joblog_group_names[g]);
        if (left >= name + 2 && text[0] == '{' && memcmp(text + 1, joblog_group_names[g], name) == 0 &&
            text[name + 1] == '}') {
            *length = name + 2;
            return g;
        }
    }
    return JOBLOG_GROUPS;
}

void joblog_put_sentence(const char *sentence, const joblog_match *match, assay_buf *out)
{
    enum { GROUP_MOST = 200 };
    const char *begin = sentence;
    while (*sentence) {
        const size_t length = part_length(sentence);
        bool whole = true;
        size_t skip = 0;
        for (size_t i = 0; i < length; i++) {
            const size_t g = group_at(sentence + i, length - i, &skip);
            whole = whole && (g == JOBLOG_GROUPS || match->length[g] > 0);
        }
        for (size_t i = 0; i < length && (whole || sentence == begin);) {
            const size_t g = group_at(sentence + i, length - i, &skip);
            if (g < JOBLOG_GROUPS) {
                assay_put_bytes(out, match->text[g], match->length[g] < GROUP_MOST ? match->length[g] : GROUP_MOST);
                i += skip;
            } else {
                assay_put_u8(out, (uint8_t)sentence[i++]);
            }
        }
        sentence += length;
    }
}
