/* test_http.c - requests against a small server of this test's own on loopback: methods, bodies, faults, and the pool.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http.h"
#include "unit.h"

/* ---- the server: what it answers follows from the path ---- */

static int listener = -1;
static unsigned port;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned connections, again_asked;

static void put(int to, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t n = send(to, text, left, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        text += n;
        left -= (size_t)n;
    }
}

/* Reads head and body of one request; false at the end of the connection. */
static bool take_request(int from, char *text, size_t room)
{
    size_t have = 0;
    text[0] = '\0';
    for (;;) {
        const char *body = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length: ");
        if (body && have >= (size_t)(body + 4 - text) + (length && length < body ? strtoul(length + 16, NULL, 10) : 0))
            return true;
        ssize_t n = recv(from, text + have, room - 1 - have, 0);
        if (n <= 0)
            return false;
        have += (size_t)n;
        text[have] = '\0';
    }
}

static bool answer(int to, const char *request)
{
    if (strncmp(request, "GET /cut", 8) == 0) {
        put(to, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
        return false;
    }
    if (strncmp(request, "GET /stall", 10) == 0) {
        put(to, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
        sleep(10);
        return false;
    }
    if (strncmp(request, "GET /never", 10) == 0)
        return false;
    pthread_mutex_lock(&lock);
    bool busy = strncmp(request, "GET /again", 10) == 0 && again_asked++ < 2;
    pthread_mutex_unlock(&lock);
    if (busy) {
        put(to, "HTTP/1.1 503 Slow Down\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
        return true;
    }
    char head[256];
    const char *body = request + strlen(request);
    if (strncmp(request, "PUT", 3) == 0 || strncmp(request, "POST", 4) == 0)
        body = strstr(request, "\r\n\r\n") + 4;
    else if (strncmp(request, "GET", 3) == 0)
        body = "hello";
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nX-Method: %.4s\r\nETag: \"e\"\r\nContent-Length: %zu\r\n\r\n",
             request, strlen(body));
    put(to, head);
    put(to, body);
    return true;
}

static void *serve_one(void *context)
{
    char text[8192];
    int number = (int)(intptr_t)context;
    pthread_mutex_lock(&lock);
    connections++;
    pthread_mutex_unlock(&lock);
    while (take_request(number, text, sizeof text) && answer(number, text))
        ;
    close(number);
    return NULL;
}

static void *serve(void *context)
{
    (void)context;
    for (int number; (number = accept(listener, NULL, NULL)) >= 0;) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)number);
        pthread_detach(thread);
    }
    return NULL;
}

static void start_server(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&here, size) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&here, &size) != 0)
        abort();
    port = ntohs(here.sin_port);
    pthread_create(&thread, NULL, serve, NULL);
    pthread_detach(thread);
}

/* ---- single requests ---- */

static assay_error said;

static int ask(const char *method, const char *path, const char *body, size_t most, assay_http_answer *out)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, path);
    const assay_http_request request = {.method = method,
                                        .url = url,
                                        .body = body,
                                        .size = body ? strlen(body) : 0,
                                        .most = most,
                                        .connect_seconds = 5,
                                        .stall_seconds = 1};
    assay_http_answer_release(out);
    assay_http_answer_init(out);
    said.text[0] = '\0';
    return assay_http_send(&request, out, &said);
}

static bool body_is(const assay_http_answer *answer, const char *text)
{
    size_t size = answer->body.size;
    return size == strlen(text) && (size == 0 || memcmp(answer->body.data, text, size) == 0);
}

static void test_methods(void)
{
    assay_http_answer a;
    assay_http_answer_init(&a);
    CU_ASSERT(ask("GET", "/x", NULL, 100, &a) == ASSAY_OK && a.code == 200 && body_is(&a, "hello"));
    CU_ASSERT_STRING_EQUAL(assay_http_header(&a, "etag"), "\"e\"");
    CU_ASSERT_STRING_EQUAL(assay_http_header(&a, "x-method"), "GET ");
    CU_ASSERT(assay_http_header(&a, "x-meth") == NULL);
    CU_ASSERT(ask("HEAD", "/x", NULL, 100, &a) == ASSAY_OK && a.body.size == 0);
    CU_ASSERT_STRING_EQUAL(assay_http_header(&a, "X-Method"), "HEAD");
    CU_ASSERT(ask("PUT", "/x", "a body", 100, &a) == ASSAY_OK && body_is(&a, "a body"));
    CU_ASSERT_STRING_EQUAL(assay_http_header(&a, "X-Method"), "PUT ");
    CU_ASSERT(ask("PUT", "/x", "", 100, &a) == ASSAY_OK && body_is(&a, ""));
    CU_ASSERT(ask("POST", "/x", "more", 100, &a) == ASSAY_OK && body_is(&a, "more"));
    CU_ASSERT(ask("DELETE", "/x", NULL, 100, &a) == ASSAY_OK && body_is(&a, ""));
    CU_ASSERT_STRING_EQUAL(assay_http_header(&a, "X-Method"), "DELE");
    assay_http_answer_release(&a);
}

static void test_faults(void)
{
    assay_http_answer a;
    assay_http_answer_init(&a);
    CU_ASSERT(ask("GET", "/x", NULL, 4, &a) == ASSAY_EIO && a.fault == ASSAY_HTTP_LONG);
    CU_ASSERT(ask("GET", "/x", NULL, 5, &a) == ASSAY_OK);
    CU_ASSERT(ask("GET", "/cut", NULL, 1000, &a) == ASSAY_EIO && a.fault == ASSAY_HTTP_BROKEN && !a.again);
    CU_ASSERT(ask("GET", "/stall", NULL, 1000, &a) == ASSAY_EIO && a.fault == ASSAY_HTTP_TIMEOUT);
    CU_ASSERT(ask("GET", "/never", NULL, 1000, &a) == ASSAY_EIO && a.fault == ASSAY_HTTP_BROKEN);
    again_asked = 0;
    CU_ASSERT(ask("GET", "/again", NULL, 1000, &a) == ASSAY_EIO && a.code == 503 && a.again && a.retry_after == 7);
    CU_ASSERT_STRING_EQUAL(said.text, "HTTP 503");
    const assay_http_request refused = {.method = "GET", .url = "http://127.0.0.1:1/", .connect_seconds = 5};
    CU_ASSERT(assay_http_send(&refused, &a, &said) == ASSAY_EIO && a.fault == ASSAY_HTTP_CONNECT && a.again);
    /* an address for documentation, which no request goes to: main has set ASSAY_TEST_LOOPBACK */
    const assay_http_request foreign = {.method = "GET", .url = "http://192.0.2.1/", .connect_seconds = 5};
    CU_ASSERT(assay_http_send(&foreign, &a, &said) == ASSAY_EIO && a.fault == ASSAY_HTTP_REFUSED && !a.sent);
    CU_ASSERT_PTR_NOT_NULL(strstr(said.text, "not a loopback address"));
    assay_http_answer_release(&a);
}

/* ---- the pool ---- */

typedef struct work_context {
    char url[128];
    unsigned attempts;
    unsigned *released;
} work_context;

static int prepare(void *context, unsigned attempt, assay_http_request *request, assay_error *err)
{
    work_context *w = context;
    w->attempts = attempt;
    if (!w->url[0])
        return assay_fail(err, ASSAY_EUSAGE, "no place");
    *request = (assay_http_request){.method = "GET", .url = w->url, .most = 1000, .connect_seconds = 5};
    return ASSAY_OK;
}

static double judge(void *context, unsigned attempt, int status, const assay_http_answer *a)
{
    (void)context;
    return status == ASSAY_OK || a->code != 503 || attempt > 4 ? -1 : 0.01;
}

static void release(void *context)
{
    work_context *w = context;
    pthread_mutex_lock(&lock);
    ++*w->released;
    pthread_mutex_unlock(&lock);
    free(w);
}

static const assay_http_work work = {prepare, judge, release};
static unsigned released;

static assay_http_call *begin(assay_http_pool *pool, const char *path, work_context **context)
{
    work_context *w = calloc(1, sizeof *w);
    w->released = &released;
    if (path)
        snprintf(w->url, sizeof w->url, "http://127.0.0.1:%u%s", port, path);
    if (context)
        *context = w;
    return assay_http_begin(pool, &work, w, false);
}

static void test_pool(void)
{
    enum { CALLS = 200, MOST = 4 };
    assay_http_pool *pool = NULL;
    assay_http_call *call[CALLS];
    assay_http_answer *a = NULL;
    work_context *context = NULL;
    released = 0;
    CU_ASSERT_FATAL(assay_http_pool_new(MOST, &pool, &said) == ASSAY_OK);
    connections = 0;
    for (int i = 0; i < CALLS; i++)
        call[i] = begin(pool, "/x", NULL);
    for (int i = CALLS - 1; i >= 0; i--) {
        CU_ASSERT(assay_http_wait(call[i], &a, &said) == ASSAY_OK && body_is(a, "hello"));
        CU_ASSERT(assay_http_is_over(call[i]));
        assay_http_end(call[i]);
    }
    CU_ASSERT_EQUAL(released, CALLS);
    CU_ASSERT(connections <= MOST); /* they are kept */
    again_asked = 0;
    assay_http_call *busy = begin(pool, "/again", &context);
    CU_ASSERT(assay_http_wait(busy, &a, &said) == ASSAY_OK && context->attempts == 3);
    assay_http_end(busy);
    CU_ASSERT(assay_http_pool_slept(pool) >= 0.01); /* between those attempts */
    assay_http_call *unprepared = begin(pool, NULL, NULL);
    CU_ASSERT(assay_http_wait(unprepared, &a, &said) == ASSAY_EUSAGE);
    CU_ASSERT_STRING_EQUAL(said.text, "no place");
    assay_http_end(unprepared);
    for (int i = 0; i < CALLS; i++) /* ended at every state */
        call[i] = begin(pool, i % 3 ? "/x" : "/stall", NULL);
    for (int i = 0; i < CALLS; i++)
        assay_http_end(call[i]);
    assay_http_end(NULL);
    assay_http_pool_free(pool);
    CU_ASSERT_EQUAL(released, 2 * CALLS + 2);
}

/* ---- texts ---- */

static const char *text_of(assay_buf *buf)
{
    static char text[1024];
    snprintf(text, sizeof text, "%.*s", (int)buf->size, buf->data ? (const char *)buf->data : "");
    assay_buf_release(buf);
    return text;
}

static const char *shown(const char *url, bool host_only)
{
    assay_buf out;
    assay_buf_init(&out, 1000);
    assay_http_put_url(url, host_only, &out);
    return text_of(&out);
}

static void test_urls(void)
{
    CU_ASSERT_STRING_EQUAL(shown("https://h:1/p/q?secret=1", false), "https://h:1/p/q");
    CU_ASSERT_STRING_EQUAL(shown("https://h:1/p/q?secret=1", true), "https://h:1/...");
    CU_ASSERT_STRING_EQUAL(shown("HTTP://u:p@h/p#f", false), "HTTP://h/p");
    CU_ASSERT_STRING_EQUAL(shown("http://u:p@x@h?q", false), "http://h");
    CU_ASSERT_STRING_EQUAL(shown("https://h", true), "https://h");
    CU_ASSERT_STRING_EQUAL(shown("https://h?k=v", true), "https://h/...");
}

static void test_escapes(void)
{
    static const char plain[] = "a b+c%d=e\xc3\xa9/f~-._&";
    assay_buf out;
    assay_buf_init(&out, 1000);
    assay_http_put_escaped(&out, plain, sizeof plain - 1, false);
    CU_ASSERT_STRING_EQUAL(text_of(&out), "a%20b%2Bc%25d%3De%C3%A9%2Ff~-._%26");
    assay_buf_init(&out, 1000);
    assay_http_put_escaped(&out, "a/b=c", 5, true);
    CU_ASSERT_STRING_EQUAL(text_of(&out), "a/b%3Dc");
    assay_buf_init(&out, 1000);
    CU_ASSERT(assay_http_put_unescaped(&out, "a%2fb%C3%A9+", 12));
    CU_ASSERT_STRING_EQUAL(text_of(&out), "a/b\xc3\xa9+");
    static const char *const bad[] = {"%", "%4", "%g0", "a%4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assay_buf_init(&out, 1000);
        CU_ASSERT(!assay_http_put_unescaped(&out, bad[i], strlen(bad[i])));
        assay_buf_release(&out);
    }
}

static void test_waits(void)
{
    static const double waits[] = {1, 2, 4, 8, 16, 32, 60, 60};
    for (unsigned n = 1; n <= 8; n++)
        CU_ASSERT_DOUBLE_EQUAL(assay_http_backoff(1, n, -1, 60), waits[n - 1], 0);
    CU_ASSERT_DOUBLE_EQUAL(assay_http_backoff(1, 1, 7, 60), 7, 0);
    CU_ASSERT_DOUBLE_EQUAL(assay_http_backoff(1, 4, 7, 60), 8, 0);
    CU_ASSERT_DOUBLE_EQUAL(assay_http_backoff(1, 1, 3600, 60), 60, 0);
    CU_ASSERT_DOUBLE_EQUAL(assay_http_backoff(0, 5, -1, 60), 0, 0);
}

static void test_without_curl(void)
{
    assay_http_answer a;
    assay_http_pool *pool = NULL;
    const assay_http_request request = {.method = "GET", .url = "http://127.0.0.1/"};
    assay_http_answer_init(&a);
    CU_ASSERT(assay_http_send(&request, &a, &said) == ASSAY_EUNSUPPORTED && strstr(said.text, "ASSAY_WITH_CURL"));
    CU_ASSERT(assay_http_pool_new(1, &pool, &said) == ASSAY_EUNSUPPORTED && pool == NULL);
    assay_http_answer_release(&a);
}

int main(void)
{
    static CU_TestInfo with[] = {{"methods", test_methods}, {"faults", test_faults},   {"pool", test_pool},
                                 {"urls", test_urls},       {"escapes", test_escapes}, {"waits", test_waits},
                                 CU_TEST_INFO_NULL};
    static CU_TestInfo without[] = {{"urls", test_urls},
                                    {"escapes", test_escapes},
                                    {"waits", test_waits},
                                    {"without libcurl", test_without_curl},
                                    CU_TEST_INFO_NULL};
    setenv("ASSAY_TEST_LOOPBACK", "1", 1);
    setenv("no_proxy", "*", 1);
    if (assay_http_available())
        start_server();
    return unit_main("http", assay_http_available() ? with : without);
}
