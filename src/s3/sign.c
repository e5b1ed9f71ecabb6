/* sign.c - signature version 4: a chain of HMAC-SHA256 over day, region and service makes the key; it signs the digest
 * of the canonical request. */
#include "s3/sign.h"

#include <string.h>

#include "base/hash.h"

enum { BLOCK = 64, DIGEST = 32, DAY = 8 };

/* RFC 2104. */
static void hmac(const void *key, size_t key_size, const void *text, size_t size, uint8_t out[DIGEST])
{
    uint8_t inner[BLOCK] = {0}, outer[BLOCK] = {0};
    assay_sha256 h;
    assay_sha256_init(&h);
    if (key_size > BLOCK) {
        assay_sha256_add(&h, key, key_size);
        assay_sha256_bytes(&h, inner);
    } else {
        memcpy(inner, key, key_size);
    }
    for (int i = 0; i < BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    assay_sha256_init(&h);
    assay_sha256_add(&h, inner, BLOCK);
    assay_sha256_add(&h, text, size);
    assay_sha256_bytes(&h, out);
    assay_sha256_init(&h);
    assay_sha256_add(&h, outer, BLOCK);
    assay_sha256_add(&h, out, DIGEST);
    assay_sha256_bytes(&h, out);
}

static void hmac_text(uint8_t key[DIGEST], const char *text, size_t length)
{
    uint8_t out[DIGEST];
    hmac(key, DIGEST, text, length, out);
    memcpy(key, out, DIGEST);
}

/* "host;x-amz-content-sha256;...", in the order in which they are signed. */
static void put_signed_names(const s3_to_sign *r, assay_buf *out)
{
    for (size_t i = 0; i < r->header_count; i++)
        assay_put_format(out, "%s%s", i ? ";" : "", r->headers[i].name);
}

/* Adds formatted text to a digest by way of a buffer, which is empty before and after. */
static void add(assay_sha256 *h, assay_buf *text)
{
    if (text->size > 0)
        assay_sha256_add(h, text->data, text->size);
    assay_buf_clear(text);
}

/* The canonical request, as AWS's "Signature Version 4" has it, line by line. */
static void digest_request(const s3_to_sign *r, assay_buf *text, char hex[65])
{
    assay_sha256 h;
    assay_sha256_init(&h);
    assay_put_format(text, "%s\n%s\n%s\n", r->method, r->path, r->query);
    add(&h, text);
    for (size_t i = 0; i < r->header_count; i++) {
        assay_put_format(text, "%s:%s\n", r->headers[i].name, r->headers[i].value);
        add(&h, text);
    }
    assay_put_format(text, "\n");
    put_signed_names(r, text);
    assay_put_format(text, "\n%s", r->payload);
    add(&h, text);
    assay_sha256_hex(&h, hex);
}

/* The key's head "AWS4" + secret is too long for no secret that is: longer ones are hashed by the HMAC. */
static void make_key(const s3_to_sign *r, assay_buf *text, uint8_t key[DIGEST])
{
    assay_put_format(text, "AWS4%s", r->secret);
    hmac(text->data, text->size, r->time, DAY, key);
    if (text->data)
        explicit_bzero(text->data, text->size);
    assay_buf_clear(text);
    hmac_text(key, r->region, strlen(r->region));
    hmac_text(key, r->service, strlen(r->service));
    hmac_text(key, "aws4_request", sizeof "aws4_request" - 1);
}

void s3_put_authorization(const s3_to_sign *r, assay_buf *out)
{
    char hex[65];
    uint8_t key[DIGEST];
    assay_buf text = ASSAY_BUF(1 << 20);
    digest_request(r, &text, hex);
    make_key(r, &text, key);
    assay_put_format(&text, "AWS4-HMAC-SHA256\n%s\n%.*s/%s/%s/aws4_request\n%s", r->time, DAY, r->time, r->region,
                     r->service, hex);
    hmac_text(key, (const char *)text.data, text.size);
    assay_put_format(out, "AWS4-HMAC-SHA256 Credential=%s/%.*s/%s/%s/aws4_request, SignedHeaders=", r->key, DAY,
                     r->time, r->region, r->service);
    put_signed_names(r, out);
    assay_put_format(out, ", Signature=");
    for (int i = 0; i < DIGEST; i++)
        assay_put_format(out, "%02x", (unsigned)key[i]);
    if (assay_buf_status(&text) != ASSAY_OK)
        out->status = assay_buf_status(&text);
    explicit_bzero(key, sizeof key);
    assay_buf_release(&text);
}
