/* glob_s3.c - trials in S3 that a pattern stands for: the parts of the pattern are matched one after the other, each
 * against the common prefixes below what the parts before have found. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "store/storage.h"
#include "base/fault.h"
#include "base/vec.h"
#include "job/job_internal.h"
#include "s3/s3.h"

/* Shared with glob_files.c. The count grows only with a whole entry. */
int job_places_add(const job_reader *r, job_places *places, const char *place)
{
    if (!assay_vec_reserve(&places->place, &places->room, places->count + 1, sizeof *places->place))
        return job_no_memory(r);
    places->place[places->count] = assay_copy_text(place);
    return places->place[places->count] ? (places->count++, ASSAY_OK) : job_no_memory(r);
}

void job_places_release(job_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->place[i]);
    free(places->place);
    *places = (job_places){NULL, 0, 0};
}

bool job_is_in_s3(const char *path)
{
    return strncmp(path, "s3://", 5) == 0;
}

/* One part of the pattern at work. */
typedef struct matching {
    const job_reader *r;
    const char *pattern; /* of the part */
    bool last;           /* no other part follows: an object may be a packed trial */
    size_t below;        /* bytes of the prefix, before the part */
    job_places *found;   /* prefixes, each with its '/' */
} matching;

/* Keys come from a server: only the part up to the next '/' is matched and kept. */
static int match(void *context, const assay_s3_object *object)
{
    const matching *m = context;
    const char *name = object->key + m->below;
    size_t length = strcspn(name, "/");
    if (length == 0 || !(object->is_prefix || (m->last && assay_is_packed_name(name, length))))
        return ASSAY_OK;
    char *part = assay_copy_bytes_as_text(name, length),
         *place = assay_copy_bytes_as_text(object->key, m->below + length + 1);
    if (!part || !place) {
        free(part);
        free(place);
        return job_no_memory(m->r);
    }
    place[m->below + length] = '/';
    bool matches = fnmatch(m->pattern, part, FNM_PERIOD) == 0;
    int status = matches ? job_places_add(m->r, m->found, place) : ASSAY_OK;
    free(part);
    free(place);
    return status;
}

/* Finds what lies below `prefix` and matches. Asked for is what begins as the pattern does, since a bucket may hold
 * millions of keys. */
static int match_below(const job_reader *r, const char *bucket, const char *prefix, const char *pattern, bool last,
                       job_places *found)
{
    matching m = {r, pattern, last, strlen(prefix), found};
    assay_buf text = ASSAY_BUF(64 << 10);
    assay_put_format(&text, "%s%.*s", prefix, (int)strcspn(pattern, "*?[\\"), pattern);
    assay_put_u8(&text, '\0');
    assay_s3_listing *listing = assay_buf_status(&text) == ASSAY_OK
                                    ? assay_s3_list_begin(bucket, (const char *)text.data, ASSAY_S3_LEVEL, NULL)
                                    : NULL;
    assay_buf_release(&text);
    return listing ? assay_s3_list_finish(listing, match, &m, r->err) : job_no_memory(r);
}

/* Adds a part before all patterns as it is: nothing needs to be listed for it. */
static int append(const job_reader *r, const char *prefix, const char *part, job_places *found)
{
    assay_buf text = ASSAY_BUF(64 << 10);
    assay_put_format(&text, "%s%s/", prefix, part);
    assay_put_u8(&text, '\0');
    int status =
        assay_buf_status(&text) == ASSAY_OK ? job_places_add(r, found, (const char *)text.data) : job_no_memory(r);
    assay_buf_release(&text);
    return status;
}

/* Puts the bucket before the prefixes, and takes the last '/' away. */
static int name_places(const job_reader *r, const char *bucket, const job_places *prefixes, job_places *out)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < prefixes->count; i++) {
        assay_buf text = ASSAY_BUF(64 << 10);
        assay_put_format(&text, "s3://%s/%.*s", bucket, (int)strlen(prefixes->place[i]) - 1, prefixes->place[i]);
        assay_put_u8(&text, '\0');
        status =
            assay_buf_status(&text) == ASSAY_OK ? job_places_add(r, out, (const char *)text.data) : job_no_memory(r);
        assay_buf_release(&text);
    }
    return status;
}

/* Walks the parts of the pattern, which are cut out of `rest`. One listing for each prefix that matched so far. */
static int walk(const job_reader *r, const char *bucket, char *rest, job_places *found)
{
    int status = job_places_add(r, found, "");
    bool plain = true;
    for (char *part; status == ASSAY_OK && (part = strsep(&rest, "/"));) {
        job_places next = {NULL, 0, 0};
        if (!part[0] && !rest) /* the '/' at the end */
            break;
        const bool last = !rest || !rest[0];
        plain = plain && !strpbrk(part, "*?[");
        for (size_t i = 0; status == ASSAY_OK && i < found->count; i++)
            status = plain ? append(r, found->place[i], part, &next)
                           : match_below(r, bucket, found->place[i], part, last, &next);
        job_places_release(found);
        *found = next;
    }
    return status;
}

int job_glob_s3(const job_reader *r, const char *pattern, job_places *out)
{
    assay_s3_place place;
    assay_error why = {""};
    job_places found = {NULL, 0, 0};
    ASSAY_TRY(assay_s3_place_parse(pattern, &place, r->err));
    int status = assay_s3_open(&why);
    if (status != ASSAY_OK)
        assay_fail(r->err, status, "%.200s: %s", pattern, why.text);
    ASSAY_THEN(status, walk(r, place.bucket, place.prefix, &found));
    ASSAY_THEN(status, name_places(r, place.bucket, &found, out));
    job_places_release(&found);
    assay_s3_place_release(&place);
    return status;
}
