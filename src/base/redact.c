/* redact.c - see redact.h. The longest secrets go first, so that one that is part of another leaves no rest of it. */
#include "base/redact.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* One list for the process; threads add secrets while others write messages. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **known; /* by length, the longest first */
static size_t count;

static int add(const char *text, size_t length)
{
    int status = ASSAY_OK;
    if (length < ASSAY_SECRET_LEAST)
        return ASSAY_OK;
    pthread_mutex_lock(&lock);
    size_t at = 0;
    /* Longest first is kept by insertion: secrets are few. */
    while (at < count && strlen(known[at]) > length)
        at++;
    bool there = false;
    for (size_t i = at; i < count && strlen(known[i]) == length && !there; i++)
        there = memcmp(known[i], text, length) == 0;
    if (!there) {
        char *copy = assay_copy_bytes_as_text(text, length);
        char **list = copy ? assay_realloc_array(known, count + 1, sizeof *list) : NULL;
        if (list) {
            known = list;
            memmove(known + at + 1, known + at, (count - at) * sizeof *known);
            known[at] = copy;
            count++;
        } else {
            free(copy);
            status = ASSAY_ENOMEM;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int assay_redact_add(const char *secret)
{
    return add(secret, strlen(secret));
}

/* Each value of NAME=VALUE&NAME=VALUE, and the whole. */
static int add_query(const char *text, size_t length)
{
    int status = add(text, length);
    for (size_t at = 0; at < length && status == ASSAY_OK;) {
        const char *end = memchr(text + at, '&', length - at);
        size_t part = end ? (size_t)(end - text) - at : length - at;
        const char *value = memchr(text + at, '=', part);
        if (value)
            status = add(value + 1, part - (size_t)(value + 1 - (text + at)));
        at += part + 1;
    }
    return status;
}

/* `open`: the address itself is no secret, only what authenticates in it (base/redact.h). */
int assay_redact_add_url(const char *url, bool open)
{
    const char *scheme = strstr(url, "://"), *host = scheme ? scheme + 3 : url;
    size_t authority = strcspn(host, "/?#");
    const char *path = host + authority, *user = memchr(host, '@', authority);
    size_t path_length = strcspn(path, "?#"), query_length = 0;
    const char *query = path + path_length;
    int status = open ? ASSAY_OK : assay_redact_add(url);
    if (*query == '?')
        query_length = strcspn(++query, "#");
    if (status == ASSAY_OK && user) {
        const char *word = memchr(host, ':', (size_t)(user - host));
        status = add(host, (size_t)(user - host));
        if (status == ASSAY_OK && word)
            status = add(word + 1, (size_t)(user - word - 1));
    }
    ASSAY_THEN(status, add_query(query, query_length));
    if (open || status != ASSAY_OK)
        return status;
    host = user ? user + 1 : host;
    status = add(host, strcspn(host, ":/?#"));
    return status == ASSAY_OK ? add(path, path_length) : status;
}

/* Bytes of the secret at the beginning of the text: all, or those before the place where a message was cut; else 0. */
static size_t secret_at(const char *text, size_t left, const char *secret)
{
    static const char cut[] = "...";
    size_t same = 0;
    /* Letters of either case: hosts in messages of libraries come in small letters. */
    while (same < left && secret[same] && tolower((unsigned char)text[same]) == tolower((unsigned char)secret[same]))
        same++;
    const bool ends = left - same >= sizeof cut - 1 && memcmp(text + same, cut, sizeof cut - 1) == 0;
    return !secret[same] || (same >= ASSAY_SECRET_LEAST && ends) ? same : 0;
}

bool assay_redact_is_variable(const char *entry)
{
    /* Secrets of S3 that the environment has; programs that assay starts do not get them. */
    static const char *const names[] = {
        "AWS_SECRET_ACCESS_KEY=", "AWS_SESSION_TOKEN=", "AWS_CONTAINER_AUTHORIZATION_TOKEN=", NULL};
    for (const char *const *n = names; *n; n++)
        if (strncmp(entry, *n, strlen(*n)) == 0)
            return true;
    return false;
}

/* Takes one secret out; returns the new length. */
static size_t take_out(char *text, size_t length, const char *secret)
{
    const size_t put = sizeof ASSAY_REDACTED - 1;
    for (size_t at = 0; at < length;) {
        const size_t size = secret_at(text + at, length - at, secret);
        if (size == 0) {
            at++;
            continue;
        }
        /* Room is enough: no secret is shorter than what takes its place (ASSAY_SECRET_LEAST). */
        memcpy(text + at, ASSAY_REDACTED, put);
        memmove(text + at + put, text + at + size, length - at - size);
        length -= size - put;
        at += put;
    }
    return length;
}

/* Masks all secrets that are known; another thread may add one meanwhile. Returns the length that is left. */
static size_t take_all(char *text, size_t length)
{
    /* Under the lock for the whole pass: a secret that is added meanwhile is masked from the next text on. */
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        length = take_out(text, length, known[i]);
    pthread_mutex_unlock(&lock);
    return length;
}

void assay_redact_text(char *text)
{
    text[take_all(text, strlen(text))] = '\0';
}

void assay_redact_buf(assay_buf *buf, size_t from)
{
    if (assay_buf_status(buf) == ASSAY_OK && buf->size > from)
        buf->size = from + take_all((char *)buf->data + from, buf->size - from);
}
