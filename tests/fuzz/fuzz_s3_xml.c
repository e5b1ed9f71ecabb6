/* Any bytes as a page of a listing, as a refusal, as an upload that began and as the answer of STS: read or refused,
 * and every key of a page that is read is a text that ends, with a size. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "s3/credentials.h"
#include "s3/listing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static int visit(void *context, const assay_s3_object *object)
{
    size_t *objects = context;
    must(object->key && object->etag && strlen(object->etag) < ASSAY_S3_ETAG);
    ++*objects;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s3_page page = {.more = false};
    s3_refusal refusal;
    s3_keys keys;
    assay_error err = {""};
    size_t objects = 0;
    assay_buf_init(&page.token, 64 << 10);
    int status = s3_listing_parse(data, size, visit, &objects, &page, &err);
    must(status == ASSAY_OK ? !page.more || page.token.size > 0 : status == ASSAY_EFORMAT && err.text[0]);
    assay_buf_release(&page.token);
    s3_refusal_parse(data, size, &refusal);
    for (const char *c = refusal.message; *c; c++)
        must(*c >= ' ' || *c < 0);
    assay_buf upload;
    assay_buf_init(&upload, 64 << 10);
    if (s3_upload_parse(data, size, &upload))
        must(upload.size > 1 && upload.data[upload.size - 1] == '\0' && strlen((char *)upload.data) == upload.size - 1);
    assay_buf_release(&upload);
    if (s3_keys_from_xml(data, size, &keys) == ASSAY_OK) {
        must(keys.key && keys.secret);
        s3_keys_release(&keys);
    }
    return 0;
}
