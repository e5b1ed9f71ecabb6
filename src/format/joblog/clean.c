/* clean.c - lines as people may see them: no escapes for terminals, no secrets. */
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/fault.h"
#include "base/redact.h"
#include "format/joblog/joblog.h"

/* In each byte its highest bit, where the byte is less than `most`, of 128 or less, and has no highest bit itself. */
static uint64_t bytes_below(uint64_t eight, uint64_t most)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    return ~(((eight & ~high) + ones * (128 - most)) | eight) & high;
}

/* In each byte its highest bit, where the byte is `c`, of ASCII. */
static uint64_t bytes_like(uint64_t eight, char c)
{
    return bytes_below(eight ^ UINT64_C(0x0101010101010101) * (unsigned char)c, 1);
}

static uint64_t load_eight(const char *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    return eight;
}

/* Which of eight bytes is the first that has a bit; in a mask that is not 0. */
static size_t first_byte_of(uint64_t mask)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (size_t)__builtin_clzll(mask) / 8;
#else
    return (size_t)__builtin_ctzll(mask) / 8;
#endif
}

/* The end of an escape that begins at `at`: CSI to its final byte, OSC and its like to their terminator, else one more
 * byte. */
static size_t escape_end(const char *line, size_t length, size_t at)
{
    if (at + 1 >= length)
        return length;
    const char kind = line[at + 1];
    if (kind == '[') {
        for (at += 2; at < length; at++)
            if ((unsigned char)line[at] >= 0x40 && (unsigned char)line[at] <= 0x7e)
                return at + 1;
        return length;
    }
    if (kind == ']' || kind == 'P' || kind == '^' || kind == '_' || kind == 'X') {
        for (at += 2; at < length; at++) {
            if (line[at] == '\a')
                return at + 1;
            if (line[at] == 0x1b && at + 1 < length && line[at + 1] == '\\')
                return at + 2;
        }
        return length;
    }
    return at + 2;
}

size_t joblog_clean(const char *line, size_t length, char *to)
{
    const bool in_place = to == line;
    size_t put = 0;
    for (size_t at = 0; at < length;) {
        if (length - at >= 8) {
            const uint64_t eight = load_eight(line + at), control = bytes_below(eight, 0x20) | bytes_like(eight, 0x7f);
            const size_t run = control ? first_byte_of(control) : 8;
            memcpy(to + put, &eight, in_place ? run : sizeof eight); /* in place, what is behind is still to be read */
            put += run;
            at += run;
            if (run == 8)
                continue;
        }
        const unsigned char c = (unsigned char)line[at];
        if (c == 0x1b) {
            at = escape_end(line, length, at);
            continue;
        }
        if (c == '\t')
            to[put++] = ' ';
        else if (c >= 0x20 && c != 0x7f)
            to[put++] = (char)c;
        at++;
    }
    return put;
}

/* ---- lines that Docker keeps as JSON ---- */

static const char WRAP[] = "{\"log\":\"";

bool joblog_is_wrapped(const char *line, size_t length)
{
    return length >= sizeof WRAP - 1 && line[0] == '{' && memcmp(line, WRAP, sizeof WRAP - 1) == 0;
}

bool joblog_is_wrapped_plain(const char *line, size_t length)
{
    static const char end[] = "\\n\"";
    const char *at = memchr(line, '\\', length);
    const size_t left = at ? length - (size_t)(at - line) : 0;
    return left >= sizeof end - 1 && memcmp(at, end, sizeof end - 1) == 0 && !memchr(at + 1, '\\', left - 1) &&
           !memchr(line + sizeof WRAP - 1, '"', (size_t)(at - line) - (sizeof WRAP - 1));
}

/* A byte of a text of JSON, "\\n" and its like as one; what is no ASCII becomes '?'. *at goes behind it. */
static char next_byte_of(const char *line, size_t length, size_t *at)
{
    static const char names[] = "nrtbf", bytes[] = "\n\r\t\b\f";
    const char c = line[(*at)++];
    if (c != '\\' || *at >= length)
        return c;
    const char escaped = line[(*at)++], *name = memchr(names, escaped, sizeof names - 1);
    unsigned code = 0;
    if (escaped != 'u')
        return name ? bytes[name - names] : escaped;
    for (size_t digit = 0; digit < 4 && *at < length; digit++, (*at)++) {
        static const char digits[] = "0123456789abcdef";
        const char *value = memchr(digits, line[*at] | 0x20, sizeof digits - 1);
        if (!value)
            break;
        code = 16 * code + (unsigned)(value - digits);
    }
    return code < 0x80 ? (char)code : '?';
}

size_t joblog_unwrap(const char *line, size_t length, char *to)
{
    static const char time[] = "\"time\":\"", stream[] = " stderr F ";
    const char *said = joblog_find(line, length, time);
    size_t put = 0, at = sizeof WRAP - 1;
    for (const char *c = said ? said + sizeof time - 1 : line + length; c < line + length && *c != '"'; c++)
        to[put++] = *c;
    if (put > 0 && put + sizeof stream <= length) {
        memcpy(to + put, stream, sizeof stream - 1);
        put += sizeof stream - 1;
    }
    const size_t begin = put;
    while (at < length && put < length && line[at] != '"') {
        if (length - at >= 8 && length - put >= 8) {
            const uint64_t eight = load_eight(line + at),
                           other = bytes_like(eight, '"') | bytes_like(eight, '\\') | bytes_like(eight, '\r');
            const size_t run = other ? first_byte_of(other) : 8;
            memcpy(to + put, &eight, sizeof eight);
            put += run;
            at += run;
            if (run > 0)
                continue;
        }
        const char c = next_byte_of(line, length, &at);
        if (c == '\r' && at < length && line[at] != '"' && line[at] != '\\') /* what stands behind it is seen */
            put = begin;
        else
            to[put++] = c;
    }
    return joblog_clean(to, put, to);
}

uint64_t joblog_shape(const char *line, size_t length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), odd = UINT64_C(0x9e3779b97f4a7c15);
    enum { PART = 16 };
    char few[PART] = "";
    uint64_t hash[2] = {length, 0}; /* two, since each waits for its last product */
    if (length < PART) {
        memcpy(few, line, length);
        line = few;
        length = PART;
    }
    for (size_t at = 0; at < length; at += PART) {
        uint64_t eight[2];
        memcpy(eight, line + (length - at < PART ? length - PART : at), PART);
        for (size_t i = 0; i < 2; i++) {
            const uint64_t digits = bytes_below(eight[i] ^ ones * '0', 10) >> 7;
            hash[i] = (hash[i] ^ (eight[i] & ~(digits * 0x0f))) * odd;
            hash[i] ^= hash[i] >> 29;
        }
    }
    return (hash[0] * odd) ^ hash[1];
}

const char *joblog_find(const char *line, size_t length, const char *word)
{
    const size_t size = strlen(word);
    const char *at = line, *const end = line + length;
    if (size == 0)
        return line;
#ifdef __SSE2__
    const __m128i first = _mm_set1_epi8(word[0]), last = _mm_set1_epi8(word[size - 1]);
    for (; (size_t)(end - at) >= size + 15; at += 16) { /* where its first and its last byte are */
        const __m128i from = _mm_loadu_si128((const __m128i *)(const void *)at),
                      to = _mm_loadu_si128((const __m128i *)(const void *)(at + size - 1));
        unsigned both =
            (unsigned)_mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(from, first), _mm_cmpeq_epi8(to, last)));
        for (; both; both &= both - 1)
            if (memcmp(at + __builtin_ctz(both), word, size) == 0)
                return at + __builtin_ctz(both);
    }
#endif
    for (; size <= (size_t)(end - at); at++) {
        at = memchr(at, word[0], (size_t)(end - at) - size + 1);
        if (!at || memcmp(at, word, size) == 0)
            return at;
    }
    return NULL;
}

size_t joblog_first_control(const char *line, size_t length)
{
    size_t at = 0;
#ifdef __SSE2__
    while (length >= 16 && at < length) {
        const size_t from = at + 16 <= length ? at : length - 16;
        const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(line + from)),
                      low = _mm_cmpeq_epi8(_mm_min_epu8(part, _mm_set1_epi8(0x1f)), part),
                      control = _mm_or_si128(low, _mm_cmpeq_epi8(part, _mm_set1_epi8(0x7f)));
        const unsigned found = (unsigned)_mm_movemask_epi8(control);
        if (found)
            return from + (size_t)__builtin_ctz(found);
        at = from + 16;
    }
#endif
    for (; at + 8 <= length; at += 8) {
        const uint64_t eight = load_eight(line + at), control = bytes_below(eight, 0x20) | bytes_like(eight, 0x7f);
        if (control)
            return at + first_byte_of(control);
    }
    while (at < length && (unsigned char)line[at] >= 0x20 && line[at] != 0x7f)
        at++;
    return at;
}

size_t joblog_last_begin(const char *bytes, size_t length)
{
    size_t at = length;
#ifdef __SSE2__
    for (; at >= 16; at -= 16) {
        const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at - 16)),
                      feed = _mm_cmpeq_epi8(part, _mm_set1_epi8('\n')),
                      back = _mm_cmpeq_epi8(part, _mm_set1_epi8('\r'));
        const unsigned ends = (unsigned)_mm_movemask_epi8(_mm_or_si128(feed, back));
        if (ends)
            return at - 15 + (size_t)(31 - __builtin_clz(ends));
    }
#endif
    while (at > 0 && !joblog_is_end(bytes[at - 1]))
        at--;
    return at;
}

/* ---- secrets ---- */

struct joblog_masks {
    size_t count;
    assay_regex *regex[24];
};

/* What is replaced, and by what: what says that there was a secret stays. Values that are small numbers are counts
 * ("tokens: 4096"), and no secrets. Behind that: a text in which none of these stands, in small letters, has no such secret.
 * Most have none, and to look for all expressions takes longer than to read the line. */
static const struct {
    const char *secret, *by, *needs[10];
} MASKS[] = {
    {"(?i)(\\b(?:proxy-)?authorization[\"']?\\s*[:=]\\s*[\"']?(?:(?:bearer|basic|token)\\s+)?)[^\\s\"',;]+",
     "\\1" ASSAY_REDACTED,
     {"authorization"}},
    {"(?i)(\\bbearer\\s+)[A-Za-z0-9._~+/=-]{8,}", "\\1" ASSAY_REDACTED, {"bearer"}},
    {"(?i)((?:[\\w.-]*(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|access[_-]?key[_-]?id|private[_-]?key|credentials?|[_-]token|[_-]pat|[_-]pwd|[_-]key)|\\btoken|\\bpwd|\\bpass)[\"']?\\s*[=:]\\s*)"
     "(?!\\d{1,9}(?:[\\s,;)\\]}]|$)|none\\b|null\\b|true\\b|false\\b)(\"[^\"]*\"?|'[^']*'?|[^\\s\"',;]+)",
     "\\1" ASSAY_REDACTED,
     {"pass", "secret", "key", "credential", "token", "_pat", "-pat", "pwd"}},
    {"(?i)(--[\\w-]*(?:password|token|secret|api-?key|access-?key)[\\s=]+)(\"[^\"]*\"?|'[^']*'?|[^\\s\"',;]+)",
     "\\1" ASSAY_REDACTED,
     {"password", "token", "secret", "key"}},
    {"((?i)\\b[a-z][a-z0-9+.-]*://)[^/\\s@\"']+@", "\\1" ASSAY_REDACTED "@", {"://"}},
    {"(?i)([?&](?:[\\w.-]*(?:signature|token|credential|key|sig|password|secret))=)[^&\\s\"']+",
     "\\1" ASSAY_REDACTED,
     {"sig", "token", "credential", "key", "password", "secret"}},
    {"\\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}\\b", ASSAY_REDACTED, {"akia", "asia", "abia", "acca"}},
    {"\\b(?:hf|api_org)_[A-Za-z0-9]{16,}", ASSAY_REDACTED, {"hf_", "api_org_"}},
    {"\\bgh[pousr]_[A-Za-z0-9]{16,}|\\bgithub_pat_\\w{16,}|\\bglpat-[\\w-]{16,}",
     ASSAY_REDACTED,
     {"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"}},
    {"\\b(?:sk|pk|rk)-(?:[A-Za-z]+-)*[A-Za-z0-9_-]{16,}|\\bxox[a-z]-[\\w-]{8,}|\\bAIza[\\w-]{20,}|\\bnvapi-[\\w-]{16,}",
     ASSAY_REDACTED,
     {"sk-", "pk-", "rk-", "xox", "aiza", "nvapi-"}},
    {"\\beyJ[\\w-]{8,}\\.[\\w-]+(?:\\.[\\w-]*)?", ASSAY_REDACTED, {"eyj"}},
    {"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", ASSAY_REDACTED, {"-----begin "}},
    {"(?<![\\w/+.-])(?!(?:[^/\\s]*/){6})(?=[\\w+/]*[A-Z])(?=[\\w+/]*[a-z])(?=[\\w+/]*[0-9+])[A-Za-z0-9+][A-Za-z0-9+/]{59,}={0,2}(?![\\w/+.-])", /* a part of such a key, and no path */
     ASSAY_REDACTED,
     {""}},
    {"(?i)(\\bcookie[\"']?\\s*[:=]\\s*).+", "\\1" ASSAY_REDACTED, {"cookie"}},
    {"(?i)((?:[\\w.-]*(?:account|shared|shared[_-]?access|signing|encryption)[_-]?key|\\bx-(?:amz|goog)-(?:signature|credential|security-token)|(?-i:\\b[A-Z0-9_]*PASS))[\"']?\\s*[=:]\\s*)[^\\s\"',;&]+",
     "\\1" ASSAY_REDACTED,
     {"key", "x-amz-", "x-goog-", "pass"}},
    {"(\\s(?:-u|--user)[ =][\"']?[\\w.@-]+:)(?!\\d+(?:\\s|$))[^\\s\"']+", "\\1" ASSAY_REDACTED, {"-u", "--user"}},
    {"(?i)([\"']key[\"']\\s*:\\s*[\"']|\\bkey:? +)[a-z0-9_-]{32,}", "\\1" ASSAY_REDACTED, {"key"}},
    {"\\bpypi-[\\w-]{16,}|\\bdckr_[a-z]{3}_[\\w-]{10,}|\\bnpm_[A-Za-z0-9]{30,}|\\bhvs\\.[\\w-]{20,}|\\bdapi[0-9a-f]{32}|\\bya29\\.[\\w-]{20,}|\\bGOCSPX-[\\w-]{16,}|\\br8_[A-Za-z0-9]{30,}",
     ASSAY_REDACTED,
     {"pypi-", "dckr_", "npm_", "hvs.", "dapi", "ya29.", "gocspx-", "r8_"}},
    {"(?i)(hooks\\.slack\\.com/services/|discord(?:app)?\\.com/api/webhooks/|api\\.telegram\\.org/bot)[^\\s\"']+",
     "\\1" ASSAY_REDACTED,
     {"hooks.slack.com", "/api/webhooks/", "telegram.org/bot"}},
};
enum { MASK_COUNT = sizeof MASKS / sizeof *MASKS };

int joblog_masks_new(joblog_masks **out, assay_error *err)
{
    joblog_masks *m = assay_alloc_zeroed(1, sizeof *m);
    int status = m ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory for expressions");
    for (; status == ASSAY_OK && m->count < MASK_COUNT; m->count += status == ASSAY_OK)
        status = assay_regex_new_of_bytes(MASKS[m->count].secret, &m->regex[m->count], err);
    if (status != ASSAY_OK) {
        joblog_masks_free(m);
        return status == ASSAY_ENOMEM ? status : ASSAY_EINTERNAL;
    }
    *out = m;
    return ASSAY_OK;
}

void joblog_masks_free(joblog_masks *m)
{
    for (size_t i = 0; m && i < m->count; i++)
        assay_regex_free(m->regex[i]);
    free(m);
}

/* May a text have a secret that is masked so? */
static bool may_have(const char *text, size_t length, const char *const *needs)
{
    bool any = false;
    for (size_t i = 0; !any && needs[i]; i++)
        any = joblog_find(text, length, needs[i]) != NULL;
    return any;
}

void joblog_mask(const joblog_masks *m, const char *text, size_t length, assay_buf *out)
{
    enum { LOOK = 1 << 10 }; /* what is longer may have all of them */
    char small[LOOK];
    assay_buf from, to;
    int status = ASSAY_OK;
    (void)joblog_lower(text, length, small, sizeof small);
    assay_buf_init(&from, 1 << 20);
    assay_buf_init(&to, 1 << 20);
    assay_put_bytes(&from, text, length);
    for (size_t i = 0; i < m->count && status >= 0; i++) {
        if (length <= LOOK && !may_have(small, length, MASKS[i].needs))
            continue;
        assay_buf_clear(&to);
        status = assay_regex_replace(m->regex[i], (const char *)from.data, from.size, MASKS[i].by, &to);
        if (status > 0) {
            const assay_buf keep = from;
            from = to;
            to = keep;
        }
    }
    if (status >= 0 && assay_buf_status(&from) == ASSAY_OK)
        assay_put_bytes(out, from.data, from.size);
    else
        assay_put_format(out, "(a line that is not shown: it could not be searched for secrets)");
    if (status == ASSAY_ENOMEM && out->status == ASSAY_OK)
        out->status = ASSAY_ENOMEM;
    assay_buf_release(&from);
    assay_buf_release(&to);
}
