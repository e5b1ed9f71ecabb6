/* http.c - what of http.h needs no libcurl: answers, waits, URLs. */
#include "http/http.h"

#include <string.h>
#include <strings.h>

/* Servers send a few KiB of headers; one that sends without end must not fill memory. */
enum { HEAD_BYTES = 64 << 10 };

void assay_http_answer_init(assay_http_answer *answer)
{
    *answer = (assay_http_answer){.retry_after = -1};
    assay_buf_init(&answer->head, HEAD_BYTES);
    assay_buf_init(&answer->body, 0);
}

void assay_http_answer_release(assay_http_answer *answer)
{
    assay_buf_release(&answer->head);
    assay_buf_release(&answer->body);
}

const char *assay_http_header(const assay_http_answer *answer, const char *name)
{
    size_t length = strlen(name);
    /* head is a row of terminated lines (take_line). */
    for (size_t i = 0; i < answer->head.size;) {
        const char *line = (const char *)answer->head.data + i;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " \t");
        i += strlen(line) + 1;
    }
    return NULL;
}

/* Doubles with each attempt: 1, 2, 4 times `backoff`. */
double assay_http_backoff(double backoff, unsigned attempt, double asked, double most)
{
    double wait = backoff;
    for (unsigned i = 1; i < attempt && wait < most; i++)
        wait *= 2;
    wait = asked > wait ? asked : wait;
    return wait < most ? wait : most;
}

size_t assay_http_scheme(const char *url)
{
    return strncasecmp(url, "https://", 8) == 0 ? 8 : strncasecmp(url, "http://", 7) == 0 ? 7 : 0;
}

void assay_http_put_url(const char *url, bool host_only, assay_buf *out)
{
    size_t scheme = assay_http_scheme(url), length = strlen(url);
    const char *authority = url + scheme;
    size_t host = strcspn(authority, "/?#");
    /* The last @ ends user and password, which may have one in them. */
    for (size_t i = host; i > 0; i--) {
        if (authority[i - 1] == '@') {
            authority += i;
            host -= i;
            break;
        }
    }
    assay_put_bytes(out, url, scheme);
    assay_put_bytes(out, authority, host);
    const char *path = authority + host;
    if (host_only)
        assay_put_format(out, "%s", path < url + length ? "/..." : "");
    else
        assay_put_bytes(out, path, strcspn(path, "?#"));
}

/* Unreserved characters of RFC 3986, section 2.3. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

void assay_http_put_escaped(assay_buf *out, const char *text, size_t length, bool slashes)
{
    static const char digit[] = "0123456789ABCDEF";
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        const char escaped[] = {'%', digit[c >> 4], digit[c & 15]};
        if (is_plain(text[i]) || (slashes && c == '/'))
            assay_put_u8(out, c);
        else
            assay_put_bytes(out, escaped, sizeof escaped);
    }
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool assay_http_put_unescaped(assay_buf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            assay_put_u8(out, (uint8_t)text[i]);
            continue;
        }
        int high = length - i > 2 ? digit_of(text[i + 1]) : -1, low = length - i > 2 ? digit_of(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            return false;
        assay_put_u8(out, (uint8_t)(high << 4 | low));
        i += 2;
    }
    return true;
}
