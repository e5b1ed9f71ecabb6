/* list.c - listings, page after page in the background.
 *
 * What a server says is not believed to end: a page that comes again, pages without anything in them, and more keys
 * than memory may hold end a listing with an error. */
#include <stdlib.h>
#include <string.h>

#include "base/activity.h"
#include "base/dict.h"
#include "base/fault.h"
#include "base/hash.h"
#include "s3/call.h"

/* A page is taken whole before its keys are looked at. */
enum {
    PAGE_MOST = 16 << 20, /* a page of 1000 keys of 1024 bytes, each byte escaped, is well below */
    LISTING_SHARE = 4,    /* as many times the memory of answers that were asked for ahead: half of --memory */
    EMPTY_MOST = 100      /* pages in a row without a key, as where many objects were deleted */
};

/* The answers of the pages so far. The pool's thread fills it; whoever waits for the call's end reads it then.
 * Invariant: page.token is that of the next page while page.more; `objects` has `count` rows, packed so that a
 * million keys take little more than their bytes. */
typedef struct pages {
    char *bucket, *prefix, *after; /* after: NULL: from the beginning */
    assay_s3_reach reach;
    s3_page page;
    assay_buf objects; /* packed: is_prefix, key, etag, size, time */
    size_t count;
    unsigned taken;      /* pages */
    unsigned empty;      /* pages without a key, the last ones */
    uint64_t last_token; /* its hash: a server that gives one twice would be asked for ever */
    assay_dict *seen;    /* hashes of pages: so would one that gives a page again with another token. Owned */
} pages;

struct assay_s3_listing {
    s3_call *call;
    pages *pages; /* the call's */
};

size_t assay_s3_listing_memory(void)
{
    return LISTING_SHARE * assay_s3_memory();
}

static void release_pages(void *context)
{
    pages *p = context;
    assay_buf_release(&p->page.token);
    assay_buf_release(&p->objects);
    assay_dict_free(p->seen);
    free(p->bucket);
    free(p->prefix);
    free(p->after);
    free(p);
}

static int keep(void *context, const assay_s3_object *object)
{
    pages *p = context;
    size_t length = strlen(p->prefix);
    /* A key outside the prefix would end up in another directory of the trial. */
    if (strncmp(object->key, p->prefix, length) != 0)
        return ASSAY_EFORMAT;
    assay_put_u8(&p->objects, object->is_prefix);
    assay_put_bytes(&p->objects, object->key, strlen(object->key) + 1);
    assay_put_bytes(&p->objects, object->etag, strlen(object->etag) + 1);
    assay_put_u64(&p->objects, object->size);
    assay_put_i64(&p->objects, object->time);
    p->count++;
    return assay_buf_status(&p->objects);
}

/* The query of the next page: parameters by name. */
static void put_query(const pages *p, assay_buf *out)
{
    assay_buf_clear(out);
    if (p->page.token.size > 0) {
        assay_put_format(out, "continuation-token=");
        assay_http_put_escaped(out, (const char *)p->page.token.data, p->page.token.size, false);
        assay_put_u8(out, '&');
    }
    assay_put_format(out, "%sencoding-type=url&list-type=2&max-keys=1000&prefix=",
                     p->reach == ASSAY_S3_LEVEL ? "delimiter=%2F&" : "");
    assay_http_put_escaped(out, p->prefix, strlen(p->prefix), false);
    if (p->after && p->page.token.size == 0) {
        assay_put_format(out, "&start-after=");
        assay_http_put_escaped(out, p->after, strlen(p->after), false);
    }
    assay_put_u8(out, '\0');
}

/* Has a page with these objects, packed, come before? 1, 0 or ASSAY_ENOMEM. Pages without objects are counted by
 * `empty`. */
static int is_repeated(pages *p, size_t from)
{
    if (from == p->objects.size)
        return 0;
    if (!p->seen && !(p->seen = assay_dict_new()))
        return ASSAY_ENOMEM;
    const uint64_t page = assay_hash_bytes(p->objects.data + from, p->objects.size - from);
    const uint32_t known = assay_dict_count(p->seen);
    const uint32_t id = assay_dict_add(p->seen, (const char *)&page, sizeof page);
    return id == ASSAY_NO_ID ? ASSAY_ENOMEM : id < known;
}

/* Runs on the pool's thread: 0 ends the call, 1 asks for the next page by the new query. */
static int take_page(void *context, const assay_http_answer *answer, assay_buf *query, assay_error *err)
{
    pages *p = context;
    uint64_t before = p->page.token.size > 0 ? p->last_token : 0;
    const size_t count = p->count, packed = p->objects.size;
    int status = s3_listing_parse(answer->body.data, answer->body.size, keep, p, &p->page, err);
    if (status == ASSAY_EBUDGET)
        return assay_fail(err, status,
                          "the listing has more than %zu keys and no end, as far as memory allows (--memory)", count);
    ASSAY_TRY(status);
    assay_activity_list(p->count - count);
    p->taken++;
    if (!p->page.more)
        return 0;
    /* This reach asks for a few pages only: the caller falls back to listing level by level. */
    if (p->reach == ASSAY_S3_DEEP_FEW && p->taken >= ASSAY_S3_FEW_PAGES)
        return assay_fail(err, ASSAY_EBUDGET, "the listing has more than %u pages", p->taken);
    p->empty = p->count > count ? 0 : p->empty + 1;
    if (p->empty > EMPTY_MOST)
        return assay_fail(err, ASSAY_EFORMAT,
                          "the server gives pages of the listing without any key, and no end of it");
    /* FNV-1a; a token is opaque, and only compared with the one before. */
    p->last_token = 14695981039346656037u;
    for (size_t i = 0; i < p->page.token.size; i++)
        p->last_token = (p->last_token ^ p->page.token.data[i]) * 1099511628211u;
    const int repeated = is_repeated(p, packed);
    if (repeated < 0)
        return assay_fail(err, repeated, "out of memory while it was listed");
    if (before == p->last_token || repeated)
        return assay_fail(err, ASSAY_EFORMAT, "the server gives the same page of the listing again and again");
    put_query(p, query);
    int made = assay_buf_status(query);
    return made == ASSAY_OK ? 1 : assay_fail(err, made, "out of memory while it was listed");
}

static pages *new_pages(const char *bucket, const char *prefix, assay_s3_reach reach, const char *after)
{
    pages *p = assay_alloc_zeroed(1, sizeof *p);
    if (!p)
        return NULL;
    p->bucket = assay_copy_text(bucket);
    p->prefix = assay_copy_text(prefix);
    p->after = after ? assay_copy_text(after) : NULL;
    p->reach = reach;
    assay_buf_init(&p->page.token, 64 << 10);
    assay_buf_init(&p->objects, assay_s3_listing_memory());
    if (p->bucket && p->prefix && !p->after == !after)
        return p;
    release_pages(p);
    return NULL;
}

assay_s3_listing *assay_s3_list_begin(const char *bucket, const char *prefix, assay_s3_reach reach, const char *after)
{
    assay_s3_listing *listing = assay_alloc_zeroed(1, sizeof *listing);
    pages *p = listing ? new_pages(bucket, prefix, reach, after) : NULL;
    if (!p) {
        free(listing);
        return NULL;
    }
    assay_buf query = ASSAY_BUF(64 << 10);
    put_query(p, &query);
    listing->pages = p;
    const s3_request request = {.method = "GET",
                                .bucket = bucket,
                                .query = query.data ? (const char *)query.data : "",
                                .most = PAGE_MOST,
                                .counter = &s3_counter.lists,
                                .answered = take_page,
                                .release = release_pages,
                                .context = p,
                                .urgent = true};
    listing->call = s3_call_begin(&request);
    assay_buf_release(&query);
    if (listing->call)
        return listing;
    free(listing);
    return NULL;
}

void assay_s3_list_drop(assay_s3_listing *listing)
{
    if (!listing)
        return;
    s3_call_end(listing->call);
    free(listing);
}

/* A text in the packed objects. */
static const char *next_text(assay_cursor *in)
{
    const char *text = (const char *)in->data + in->at;
    assay_get_bytes(in, strlen(text) + 1);
    return text;
}

int assay_s3_list_finish(assay_s3_listing *listing, assay_s3_visit *visit, void *context, assay_error *err)
{
    assay_http_answer *answer;
    int status = s3_call_wait(listing->call, &answer, err);
    const pages *p = listing->pages;
    assay_cursor in = assay_cursor_over(p->objects.data, p->objects.size);
    for (size_t i = 0; status == ASSAY_OK && i < p->count; i++) {
        assay_s3_object object = {.is_prefix = assay_get_u8(&in)};
        object.key = next_text(&in);
        object.etag = next_text(&in);
        object.size = assay_get_u64(&in);
        object.time = assay_get_i64(&in);
        status = visit(context, &object);
    }
    if (status != ASSAY_OK && status != ASSAY_ENOMEM && p->reach == ASSAY_S3_DEEP_FEW && p->taken > 0)
        status = ASSAY_EBUDGET;
    assay_s3_list_drop(listing);
    return status;
}
