/* signatures.c - the table of signatures, and lines held against one of them. */
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

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
#define FIRST_WORD "^\\s{0,4}" /* in front of expressions */
enum { COUNT = sizeof SIGNATURES / sizeof *SIGNATURES, SPANS = 16 /* groups of an expression, and itself */ };

const char *const joblog_group_names[JOBLOG_GROUPS] = {"size", "free", "rank", "local", "node",
                                                       "code", "gpu",  "step", "pid",   "what"};

static size_t count_signatures(void)
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
    free(s->by_head);
    free(s->always);
    free(s->says_more);
    free(s->needs);
    assay_regex_room_free(s->room);
    assay_literals_free(s->parts);
    *s = (joblog_signatures){0};
}

/* Does an expression name digits in its first bytes, beside those of {1,9}? */
static bool names_digits(const char *expression, size_t length)
{
    for (const char *at = expression; at < expression + length; at++) {
        if (*at == '{' && strchr(at, '}'))
            at = strchr(at, '}');
        else if (assay_is_digit(*at))
            return true;
    }
    return false;
}

/* The bytes of an expression before a last group that may be missing; all where there is none. */
static size_t head_length(const char *expression)
{
    const size_t length = strlen(expression);
    const bool inside = length > 3 && strcmp(expression + length - 3, ")?)") == 0; /* of the group of what it says */
    size_t at = length - inside, depth = 0;
    if (at < 2 || memcmp(expression + at - 2, ")?", 2) != 0)
        return length;
    for (at--; at > 0 && (depth > 0 || at == length - inside - 1); at--)
        depth = expression[at - 1] == ')' ? depth + 1 : expression[at - 1] == '(' ? depth - 1 : depth;
    return at;
}

/* Does an expression ask for nothing behind the literal but ": ", and for a first word before it? */
static bool is_by_head(const assay_signature *s)
{
    static const char *const behind[] = {"", "(?=:|\\s*$)"};
    const size_t head = head_length(s->expression), literal = strlen(s->literal);
    bool found = false;
    for (size_t i = 0; i < sizeof behind / sizeof *behind && s->expression[head] && !found; i++) {
        const size_t size = strlen(behind[i]);
        found = head >= literal + size && memcmp(s->expression + head - size, behind[i], size) == 0 &&
                memcmp(s->expression + head - size - literal, s->literal, literal) == 0;
    }
    return found && strncmp(s->expression, FIRST_WORD, sizeof FIRST_WORD - 1) == 0;
}

/* Does an expression ask for nothing but the literal? */
static bool is_literal(const assay_signature *s)
{
    const size_t head = head_length(s->expression);
    return head == strlen(s->literal) && memcmp(s->expression, s->literal, head) == 0;
}

/* The words of a lookahead in front of an expression; none where there are more of them than there is room for. */
static joblog_needs needs_of(const char *expression)
{
    static const char front[] = FIRST_WORD "(?=.*(?i:";
    joblog_needs needs = {0};
    if (strncmp(expression, front, sizeof front - 1) != 0)
        return needs;
    for (const char *at = expression + sizeof front - 1; *at && *at != ')'; at += strcspn(at, "|)"), at += *at == '|') {
        if (needs.words == JOBLOG_NEEDS)
            return (joblog_needs){0};
        memcpy(needs.letter[needs.words++], at, sizeof *needs.letter);
    }
    return needs;
}

/* Do the first letters of one of the words lie there? */
static bool has_letters(const joblog_needs *needs, const char *at)
{
    bool found = false;
    for (size_t i = 0; i < needs->words && !found; i++)
        found = (at[0] | 0x20) == needs->letter[i][0] && (at[1] | 0x20) == needs->letter[i][1] &&
                (at[2] | 0x20) == needs->letter[i][2];
    return found;
}

bool joblog_may_match(const joblog_signatures *s, size_t number, const char *line, size_t length)
{
    const joblog_needs *needs = &s->needs[number];
    size_t at = 0;
    if (needs->words == 0)
        return true;
#ifdef __SSE2__
    enum { STEP = 16, LOOK = STEP + 2 };
    const __m128i small = _mm_set1_epi8(0x20);
    while (length >= LOOK && at + 2 < length) { /* mostly no first and last letter of a word are there */
        const char *from = line + (at + LOOK <= length ? at : length - LOOK);
        const __m128i first = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)from), small),
                      last = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)(from + 2)), small);
        __m128i any = _mm_setzero_si128();
        for (size_t i = 0; i < needs->words; i++)
            any = _mm_or_si128(any, _mm_and_si128(_mm_cmpeq_epi8(first, _mm_set1_epi8(needs->letter[i][0])),
                                                  _mm_cmpeq_epi8(last, _mm_set1_epi8(needs->letter[i][2]))));
        for (unsigned both = (unsigned)_mm_movemask_epi8(any); both; both &= both - 1)
            if (has_letters(needs, from + __builtin_ctz(both)))
                return true;
        at += STEP;
    }
#endif
    bool found = false;
    for (; at + 2 < length && !found; at++)
        found = has_letters(needs, line + at);
    return found;
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
        if (names_digits(SIGNATURES[i].literal, strlen(SIGNATURES[i].literal))) {
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

/* Are its events those of a rank whatever its groups say? */
static bool tells_none_apart(const assay_signature *s, const int *group)
{
    return s->scope == ASSAY_LOG_RANK && s->ending != ASSAY_ENDING_exception && group[GROUP_rank] < 0 &&
           group[GROUP_node] < 0;
}

int joblog_signatures_new(joblog_signatures *out, assay_error *err)
{
    int status = ASSAY_OK;
    *out = (joblog_signatures){.count = COUNT,
                               .regex = assay_alloc_zeroed(COUNT, sizeof *out->regex),
                               .group = assay_alloc_zeroed(COUNT, sizeof *out->group),
                               .counts = assay_alloc_zeroed(COUNT, sizeof *out->counts),
                               .first_word = assay_alloc_zeroed(COUNT, sizeof *out->first_word),
                               .by_head = assay_alloc_zeroed(COUNT, sizeof *out->by_head),
                               .always = assay_alloc_zeroed(COUNT, sizeof *out->always),
                               .says_more = assay_alloc_zeroed(COUNT, sizeof *out->says_more),
                               .needs = assay_alloc_zeroed(COUNT, sizeof *out->needs),
                               .room = assay_regex_room_new(SPANS),
                               .parts = new_parts()};
    if (!out->regex || !out->group || !out->counts || !out->first_word || !out->by_head || !out->always ||
        !out->says_more || !out->needs || !out->room || !out->parts)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for signatures");
    for (size_t i = 0; status == ASSAY_OK && i < COUNT; i++) {
        out->always[i] = true;
        if (!SIGNATURES[i].expression[0])
            continue;
        out->first_word[i] = strncmp(SIGNATURES[i].expression, FIRST_WORD, sizeof FIRST_WORD - 1) == 0;
        out->by_head[i] = is_by_head(&SIGNATURES[i]);
        out->needs[i] = needs_of(SIGNATURES[i].expression);
        out->always[i] = is_literal(&SIGNATURES[i]);
        out->counts[i] = !out->always[i] &&
                         names_digits(SIGNATURES[i].expression, out->by_head[i] ? head_length(SIGNATURES[i].expression)
                                                                                : strlen(SIGNATURES[i].expression));
        status = assay_regex_new_of_bytes(SIGNATURES[i].expression, &out->regex[i], err);
        if (status != ASSAY_OK && status != ASSAY_ENOMEM)
            status = ASSAY_EINTERNAL;
        if (status == ASSAY_OK && assay_regex_groups(out->regex[i]) >= SPANS)
            status = ASSAY_EINTERNAL;
        for (size_t g = 0; status == ASSAY_OK && g < JOBLOG_GROUPS; g++)
            out->group[i][g] = assay_regex_group_number(out->regex[i], joblog_group_names[g]);
        out->says_more[i] = status == ASSAY_OK && out->always[i] && tells_none_apart(&SIGNATURES[i], out->group[i]);
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

bool joblog_signature_search(const joblog_signatures *s, size_t number, const char *line, size_t length,
                             joblog_match *out)
{
    assay_regex_span span[SPANS];
    if (assay_regex_spans(s->regex[number], s->room, line, length, span) != 1)
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

bool joblog_signature_match(const joblog_signatures *s, size_t number, const char *line, size_t length,
                            const char *literal, joblog_match *out)
{
    *out = (joblog_match){.literal = literal};
    if (!s->regex[number])
        return true;
    return (!s->first_word[number] || in_first_word(line, length, literal)) &&
           joblog_signature_search(s, number, line, length, out);
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

/* ---- signatures, ready ---- */

/* Looks for literals, but for those that begin with another one, which is found with it; NULL without memory. */
static assay_literals *find_shorter(assay_job_log *log, const char *const *text, size_t count)
{
    const char *kept[JOBLOG_NUMBERS];
    size_t length[JOBLOG_NUMBERS], keep = 0;
    for (size_t i = 0; i < count; i++)
        length[i] = strlen(text[i]);
    for (size_t i = 0; i < count; i++) {
        size_t shorter = count;
        for (size_t k = 0; k < count; k++)
            if (text[k][0] == text[i][0] && k != i && log->only_first[k] == log->only_first[i] &&
                length[k] <= length[i] && memcmp(text[i], text[k], length[k]) == 0 &&
                (shorter == count || length[k] < length[shorter]))
                shorter = k;
        if (shorter == count) {
            log->searched[keep] = (uint16_t)i;
            kept[keep++] = text[i];
        } else {
            while (log->longer[shorter] > 0)
                shorter = log->longer[shorter] - 1u;
            log->longer[shorter] = (uint16_t)(i + 1);
        }
    }
    return assay_literals_new(kept, keep);
}

/* All literals, each once: several signatures may have the same one. */
static int make_literals(assay_job_log *log)
{
    static const char *const blocks[JOBLOG_BLOCK_KINDS] = {
        [JOBLOG_TRACEBACK] = "Traceback (most recent call last)",
        [JOBLOG_FAILURES] = "Failures:",
        [JOBLOG_ROOT_CAUSE] = "Root Cause (first observed failure)",
        [JOBLOG_CHAINED] = "above exception",
        [JOBLOG_IGNORED] = "Exception ignored in",
        [JOBLOG_THREAD] = "Exception in thread",
        [JOBLOG_ORIGINAL] = "Original Traceback",
    };
    const char *text[JOBLOG_NUMBERS];
    log->blocks = count_signatures();
    if (log->blocks + JOBLOG_BLOCK_KINDS > JOBLOG_NUMBERS)
        return ASSAY_EINTERNAL;
    log->literal_text = assay_dict_new();
    for (size_t i = log->blocks + JOBLOG_BLOCK_KINDS; i-- > 0;) {
        const char *literal = i < log->blocks ? assay_signature_of(i)->literal : blocks[i - log->blocks];
        const uint32_t id =
            log->literal_text ? assay_dict_add(log->literal_text, literal, strlen(literal)) : ASSAY_NO_ID;
        if (id == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        text[id] = literal;
        log->only_first[id] =
            i < log->blocks && log->signatures.first_word[i] && (log->first[id] == 0 || log->only_first[id]);
        log->next[i] = log->first[id];
        log->first[id] = (uint16_t)(i + 1);
    }
    log->literals = find_shorter(log, text, assay_dict_count(log->literal_text));
    return log->literals ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_job_log_new(assay_job_log **out, assay_error *err)
{
    assay_job_log *log = assay_alloc_zeroed(1, sizeof *log);
    int status = log ? joblog_signatures_new(&log->signatures, err)
                     : assay_fail(err, ASSAY_ENOMEM, "out of memory for signatures");
    if (status == ASSAY_OK && (status = make_literals(log)) != ASSAY_OK)
        assay_fail(err, status, "out of memory for signatures");
    ASSAY_THEN(status, joblog_masks_new(&log->masks, err));
    if (status != ASSAY_OK) {
        assay_job_log_free(log);
        return status;
    }
    *out = log;
    return ASSAY_OK;
}

void assay_job_log_free(assay_job_log *log)
{
    if (!log)
        return;
    joblog_signatures_release(&log->signatures);
    joblog_masks_free(log->masks);
    joblog_room_free(log->room);
    assay_literals_free(log->literals);
    assay_dict_free(log->literal_text);
    free(log);
}
