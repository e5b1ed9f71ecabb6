/* session.c - credentials, region and endpoint: found once in the environment and the profiles; keys are renewed in
 * time. */
#include "s3/session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/redact.h"

/* EARLY seconds before keys expire new ones are fetched, so that none expires under a request that is on its way or
 * tried again. AGAIN: who gives keys out may be down, and is not asked at every request. LEARNED bounds what
 * redirects tell: a job reads few buckets. */
enum { REGION = 64, LEARNED = 64, EARLY = 300, AGAIN = 30, REQUESTS_MOST = 1024 };

typedef struct learned {
    char *bucket;
    char region[REGION];
} learned;

/* One session a process: ranks read the same trials with the same credentials. */
typedef struct session {
    bool open, secure, own_endpoint, path_style;
    char region[REGION];
    char *endpoint; /* "http://host:1/base" without the last '/'; NULL: Amazon's */
    char *ca_file;
    unsigned attempts, patience;
    int64_t next_try; /* of renewing, after one that failed */
    s3_keys keys;
    learned learned[LEARNED]; /* buckets elsewhere; when it is full, the first goes */
    unsigned learned_count;
    assay_http_pool *pool;
} session;

static assay_s3_options options = ASSAY_S3_DEFAULTS;
static session now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of keys and learned, which the pool's thread reads */
s3_counters s3_counter;

void assay_s3_configure(const assay_s3_options *given)
{
    /* Called before assay_s3_open(); options of a session that is open stay. */
    options = *given;
}

void assay_s3_set_memory(size_t memory)
{
    options.memory = memory;
}

void assay_s3_allow_unsigned(void)
{
    options.unsigned_requests = true;
}

size_t assay_s3_memory(void)
{
    return options.memory;
}

size_t assay_s3_requests(void)
{
    return options.requests;
}

assay_s3_counts assay_s3_count(void)
{
    return (assay_s3_counts){atomic_load(&s3_counter.gets), atomic_load(&s3_counter.lists),
                             atomic_load(&s3_counter.puts), atomic_load(&s3_counter.repeated),
                             atomic_load(&s3_counter.bytes)};
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* ---- settings ---- */

/* A setting of the environment's variables (up to two) or else of the profile; NULL in *out when there is none. The
 * caller frees it. */
static int find_setting(const s3_profiles *profiles, const char *first, const char *second, const char *key, char **out)
{
    const char *value = variable(first);
    value = value || !second ? value : variable(second);
    *out = NULL;
    if (value) {
        *out = assay_copy_text(value);
        return *out ? ASSAY_OK : ASSAY_ENOMEM;
    }
    int found = key ? s3_profiles_find(profiles, NULL, key, out) : 0;
    return found < 0 ? found : ASSAY_OK;
}

bool s3_is_region(const char *name)
{
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return length > 0 && length < REGION && name[length] == '\0';
}

static int set_region(session *s, const s3_profiles *profiles, assay_error *err)
{
    char *region = NULL;
    int status = find_setting(profiles, "AWS_REGION", "AWS_DEFAULT_REGION", "region", &region);
    /* us-east-1 answers for every bucket, and names the right region where it is another. */
    const char *name = region ? region : "us-east-1";
    if (status == ASSAY_OK && !s3_is_region(name))
        status = assay_fail(err, ASSAY_EUSAGE, "AWS_REGION: \"%.60s\" is not the name of a region", name);
    if (status == ASSAY_OK)
        snprintf(s->region, sizeof s->region, "%s", name);
    free(region);
    return status;
}

/* Why this is no endpoint; NULL when it is. */
static const char *endpoint_fault(const char *url)
{
    size_t scheme = assay_http_scheme(url), length = strlen(url);
    if (scheme == 0)
        return "it has to begin with http:// or https://";
    if (length > 1024 || url[scheme] == '/' || url[scheme] == ':' || url[scheme] == '\0')
        return "it has no host";
    /* Signatures are over the path: characters that libcurl or a proxy would rewrite break them. */
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)url[i] <= ' ' || (unsigned char)url[i] >= 0x7f || strchr("\"<>\\^`{|}#?@", url[i]))
            return "it has characters that do not belong in one: host, port and path are all";
    return NULL;
}

static int set_endpoint(session *s, const s3_profiles *profiles, assay_error *err)
{
    int status = find_setting(profiles, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "endpoint_url", &s->endpoint);
    if (status != ASSAY_OK || !s->endpoint)
        return status;
    const char *fault = endpoint_fault(s->endpoint);
    if (fault)
        return assay_fail(err, ASSAY_EUSAGE,
                          "the endpoint of S3 (AWS_ENDPOINT_URL, endpoint_url) is not a URL for assay: %s", fault);
    for (size_t length = strlen(s->endpoint); s->endpoint[length - 1] == '/'; length--)
        s->endpoint[length - 1] = '\0';
    s->own_endpoint = true;
    return ASSAY_OK;
}

static int set_style(session *s, const s3_profiles *profiles, assay_error *err)
{
    char *style = NULL;
    int found = s3_profiles_find(profiles, "s3", "addressing_style", &style), status = found < 0 ? found : ASSAY_OK;
    /* Servers of one's own rarely have a host name for each bucket. */
    s->path_style = s->own_endpoint;
    if (found == 1 && strcasecmp(style, "path") == 0)
        s->path_style = true;
    else if (found == 1 && strcasecmp(style, "virtual") == 0)
        s->path_style = false;
    else if (found == 1 && strcasecmp(style, "auto") != 0)
        status = assay_fail(err, ASSAY_EUSAGE,
                            "addressing_style of the profile \"%.80s\": \"%.40s\" is not one of path, virtual, auto",
                            profiles->name, style);
    free(style);
    return status;
}

/* A number from 1 to `most` of a variable, or what counts without it. */
static int set_number(const char *name, unsigned otherwise, unsigned most, unsigned *out, assay_error *err)
{
    const char *text = variable(name);
    char *end = NULL;
    unsigned long value = text ? strtoul(text, &end, 10) : otherwise;
    if (text && (*end || text[0] < '0' || text[0] > '9' || value < 1 || value > most))
        return assay_fail(err, ASSAY_EUSAGE, "%s: \"%.40s\" is not a number from 1 to %u", name, text, most);
    *out = (unsigned)value;
    return ASSAY_OK;
}

static int settle(session *s, const s3_profiles *profiles, assay_error *err)
{
    int status = set_region(s, profiles, err);
    ASSAY_THEN(status, set_endpoint(s, profiles, err));
    ASSAY_THEN(status, set_style(s, profiles, err));
    ASSAY_THEN(status, find_setting(profiles, "AWS_CA_BUNDLE", NULL, "ca_bundle", &s->ca_file));
    /* AWS_MAX_ATTEMPTS is the variable of AWS tools; ASSAY_S3_STALL is for tests, and slow lines. */
    ASSAY_THEN(status, set_number("AWS_MAX_ATTEMPTS", 5, 100, &s->attempts, err));
    return status == ASSAY_OK ? set_number("ASSAY_S3_STALL", 30, 3600, &s->patience, err) : status;
}

static void release(session *s)
{
    s3_keys_release(&s->keys);
    for (unsigned i = 0; i < s->learned_count; i++)
        free(s->learned[i].bucket);
    free(s->endpoint);
    free(s->ca_file);
    *s = (session){.open = false};
}

static int fail_memory(int status, assay_error *err)
{
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "out of memory while S3 was opened") : status;
}

/* Has the secrets taken out of whatever leaves the program. */
static int make_known(const s3_keys *keys)
{
    int status = keys->secret ? assay_redact_add(keys->secret) : ASSAY_OK;
    return status == ASSAY_OK && keys->token ? assay_redact_add(keys->token) : status;
}

/* The connections, without which nothing else is of use. After this, `now` owns what `fresh` had; after a failure
 * nothing is left of it. */
static int start(session *fresh, assay_error *err)
{
    int status = make_known(&fresh->keys);
    ASSAY_THEN(status, assay_http_pool_new((unsigned)options.requests, &fresh->pool, err));
    if (status != ASSAY_OK) {
        release(fresh);
        return fail_memory(status, err);
    }
    fresh->secure = !fresh->endpoint || assay_http_scheme(fresh->endpoint) == 8;
    fresh->open = true;
    now = *fresh;
    return ASSAY_OK;
}

/* Called on rank 0; the others get the session by assay_s3_unpack(), so that hundreds of ranks do not ask for keys at
 * once. */
int assay_s3_open(assay_error *err)
{
    s3_profiles profiles;
    session fresh = {.open = false};
    if (now.open)
        return ASSAY_OK;
    if (!assay_http_available())
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "this build has no libcurl and cannot read from S3: copy the trial to a "
                          "directory, or build assay with ASSAY_WITH_CURL");
    if (options.requests > REQUESTS_MOST)
        return assay_fail(err, ASSAY_EUSAGE, "--s3-requests %zu: at most %d are under way at a time", options.requests,
                          REQUESTS_MOST);
    ASSAY_TRY(s3_profiles_read(&profiles, err));
    int status = settle(&fresh, &profiles, err);
    ASSAY_THEN(status, s3_credentials_find(&profiles, fresh.region, fresh.ca_file, options.unsigned_requests,
                                           &fresh.keys, err));
    s3_profiles_release(&profiles);
    if (status == ASSAY_OK)
        return start(&fresh, err);
    release(&fresh);
    return fail_memory(status, err);
}

void assay_s3_close(void)
{
    if (!now.open)
        return;
    assay_http_pool_free(now.pool);
    release(&now);
}

/* ---- to other ranks ---- */

/* Secrets go to the ranks of this job only, by MPI, never into a file. */
static const assay_field session_fields[] = {ASSAY_FIELD(session, own_endpoint),
                                             ASSAY_FIELD(session, path_style),
                                             ASSAY_FIELD(session, attempts),
                                             ASSAY_FIELD(session, patience),
                                             ASSAY_FIELD_TEXT_IN(session, region),
                                             ASSAY_FIELD(session, endpoint),
                                             ASSAY_FIELD(session, ca_file),
                                             ASSAY_FIELD(session, keys.key),
                                             ASSAY_FIELD(session, keys.secret),
                                             ASSAY_FIELD(session, keys.token),
                                             ASSAY_FIELD(session, keys.expires),
                                             ASSAY_FIELD_TEXT_IN(session, keys.source),
                                             {0}};

void assay_s3_pack(assay_buf *out)
{
    assay_put_u8(out, now.open);
    if (now.open)
        assay_fields_pack(session_fields, &now, out);
}

int assay_s3_unpack(assay_cursor *in, assay_error *err)
{
    session fresh = {.open = false};
    /* Not open on rank 0, or open here already: nothing is to be done. */
    if (assay_get_u8(in) != 1 || now.open)
        return ASSAY_OK;
    const int status = assay_fields_unpack(session_fields, in, &fresh);
    if (status == ASSAY_OK)
        return start(&fresh, err);
    release(&fresh);
    return status == ASSAY_EFORMAT
               ? assay_fail(err, ASSAY_EINTERNAL, "the session of S3 was damaged on its way between ranks")
               : fail_memory(status, err);
}

/* ---- for requests ---- */

assay_http_pool *s3_session_pool(void)
{
    /* A child of fork has the struct but no thread: it needs a pool, and a lock that nobody holds. */
    if (!assay_http_pool_serves(now.pool)) { /* a fork leaves this thread alone */
        pthread_mutex_init(&lock, NULL);
        if (assay_http_pool_new((unsigned)options.requests, &now.pool, NULL) != ASSAY_OK)
            return NULL;
    }
    return now.pool;
}

double assay_s3_slept(void)
{
    return now.pool && assay_http_pool_serves(now.pool) ? assay_http_pool_slept(now.pool) : 0;
}

unsigned s3_session_attempts(void)
{
    return now.attempts;
}

unsigned s3_session_patience(void)
{
    return now.patience;
}

const char *s3_session_ca_file(void)
{
    return now.ca_file;
}

int s3_session_keys(s3_keys *out)
{
    pthread_mutex_lock(&lock);
    int status = s3_keys_copy(&now.keys, out);
    pthread_mutex_unlock(&lock);
    return status;
}

void s3_session_region(const char *bucket, char region[64])
{
    pthread_mutex_lock(&lock);
    /* Buckets that redirects told of go before the session's own region. */
    snprintf(region, REGION, "%s", now.region);
    for (unsigned i = 0; i < now.learned_count; i++)
        if (strcmp(now.learned[i].bucket, bucket) == 0)
            snprintf(region, REGION, "%s", now.learned[i].region);
    pthread_mutex_unlock(&lock);
}

void s3_session_learn_region(const char *bucket, const char *region)
{
    char *copy = assay_copy_text(bucket);
    if (!copy)
        return; /* the next request learns it again */
    pthread_mutex_lock(&lock);
    if (now.learned_count == LEARNED) {
        free(now.learned[0].bucket);
        memmove(now.learned, now.learned + 1, sizeof now.learned - sizeof *now.learned);
        now.learned_count--;
    }
    learned *last = &now.learned[now.learned_count++];
    last->bucket = copy;
    snprintf(last->region, sizeof last->region, "%s", region);
    pthread_mutex_unlock(&lock);
}

void s3_session_put_source(assay_buf *out)
{
    pthread_mutex_lock(&lock);
    assay_put_format(out, "%s", now.keys.source);
    pthread_mutex_unlock(&lock);
}

/* Walks the chain once more, and takes what it finds. This thread alone changes keys. Called on the thread that makes
 * requests; the pool's thread only copies keys, under the lock. */
static int renew(assay_error *err)
{
    s3_profiles profiles;
    s3_keys fresh = {.key = NULL}, old;
    ASSAY_TRY(s3_profiles_read(&profiles, err));
    int status = s3_credentials_find(&profiles, now.region, now.ca_file, false, &fresh, err);
    s3_profiles_release(&profiles);
    if (status == ASSAY_OK && (status = make_known(&fresh)) != ASSAY_OK)
        s3_keys_release(&fresh);
    if (status != ASSAY_OK)
        return fail_memory(status, err);
    pthread_mutex_lock(&lock);
    old = now.keys;
    now.keys = fresh;
    /* Requests remember by this number with which keys they were signed. */
    now.keys.renewal = old.renewal + 1;
    pthread_mutex_unlock(&lock);
    s3_keys_release(&old);
    return ASSAY_OK;
}

int s3_session_renew(assay_error *err)
{
    const int64_t clock = (int64_t)time(NULL);
    if (clock < now.keys.expires - EARLY || clock < now.next_try)
        return ASSAY_OK;
    /* Also after a success: keys without an end never come here. */
    now.next_try = clock + AGAIN;
    int status = renew(err);
    return clock < now.keys.expires ? ASSAY_OK : status; /* those that are there will do for a while */
}

int s3_session_replace(const s3_keys *expired, assay_error *err)
{
    /* Another request may have renewed them meanwhile. */
    return expired->renewal == now.keys.renewal ? renew(err) : ASSAY_OK;
}

/* ---- places ---- */

static void put_host(const char *bucket, bool path_style, assay_buf *out)
{
    char region[REGION];
    if (!path_style)
        assay_put_format(out, "%s.", bucket);
    if (now.endpoint) {
        const char *host = now.endpoint + assay_http_scheme(now.endpoint);
        assay_put_bytes(out, host, strcspn(host, "/"));
    } else {
        s3_session_region(bucket, region);
        assay_put_format(out, "s3.%s.amazonaws.com%s", region, strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
    }
    assay_put_u8(out, '\0');
}

static void put_path(const char *bucket, const char *key, bool path_style, assay_buf *out)
{
    if (now.endpoint) {
        const char *host = now.endpoint + assay_http_scheme(now.endpoint), *base = host + strcspn(host, "/");
        assay_put_bytes(out, base, strlen(base));
    }
    if (path_style)
        assay_put_format(out, "/%s", bucket);
    if (key || !path_style)
        assay_put_u8(out, '/');
    if (key)
        assay_http_put_escaped(out, key, strlen(key), true);
    assay_put_u8(out, '\0');
}

int s3_session_target(const char *bucket, const char *key, const char *query, s3_target *out)
{
    /* Certificates of Amazon are for *.s3.REGION.amazonaws.com: a bucket with a dot would be two levels. */
    bool path_style = now.path_style || (!now.own_endpoint && strchr(bucket, '.')); /* no certificate has two levels */
    assay_buf_clear(&out->url);
    assay_buf_clear(&out->host);
    assay_buf_clear(&out->path);
    out->secure = now.secure;
    put_host(bucket, path_style, &out->host);
    put_path(bucket, key, path_style, &out->path);
    int status = assay_buf_status(&out->host);
    ASSAY_TRY(status = status == ASSAY_OK ? assay_buf_status(&out->path) : status);
    /* `url` has the query, which `path` may not: signatures are over each by itself. */
    assay_put_format(&out->url, "%s://%s%s%s%s", now.secure ? "https" : "http", (const char *)out->host.data,
                     (const char *)out->path.data, query[0] ? "?" : "", query);
    assay_put_u8(&out->url, '\0');
    return assay_buf_status(&out->url);
}
